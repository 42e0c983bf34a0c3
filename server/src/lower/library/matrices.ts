/** wmma fragments: elements a lane (crt/mma.h of CUDA 13.0: 16 of half operands, else the matrix divided by the lanes). Layouts are complete here. */
export const matrices = `
namespace nvcuda { namespace wmma {
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32 { float bits; }; }
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
template <class Use, int M, int N, int K, class T> struct __elements { static constexpr int count = M * N / 32; };
template <int M, int N, int K, class T> struct __elements<matrix_a, M, N, K, T> { static constexpr int count = M * K / 32; };
template <int M, int N, int K, class T> struct __elements<matrix_b, M, N, K, T> { static constexpr int count = N * K / 32; };
template <int M, int N, int K> struct __elements<matrix_a, M, N, K, __half> { static constexpr int count = 16; };
template <int M, int N, int K> struct __elements<matrix_b, M, N, K, __half> { static constexpr int count = 16; };
template <class T> struct __held { using type = T; };
template <> struct __held<precision::tf32> { using type = float; };
template <class Use, int M, int N, int K, class T, class Layout = void> class fragment {
public:
  static constexpr int num_elements = __elements<Use, M, N, K, T>::count;
  using element_type = T;
  using storage_element_type = typename __held<T>::type;
  typename __held<T>::type x[__elements<Use, M, N, K, T>::count];
};
template <class F, class V> __device__ void fill_fragment(F& f, V v) { for (int i = 0; i < F::num_elements; i++) f.x[i] = v; }
template <class D, class A, class B, class C> __device__ void mma_sync(D& d, const A& a, const B& b, const C& c) { __warplens_use(a, b, c); __warplens_change(d); }
__device__ float __float_to_tf32(float x) { return x; }
} }
`;
