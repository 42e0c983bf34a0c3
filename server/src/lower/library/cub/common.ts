/** What CUB's collectives have in common: the number of a thread, values from other lanes, how a raking grid lies in memory, vectors. */

/** A class of CUB whose temporary storage the user hands in, or leaves to it. */
export const collective = (name: string, parameters: string, storage: string, body: string): string => `
template <${parameters}> class ${name} {
public:
  ${storage}
  TempStorage* storage;
  __device__ ${name}() { __shared__ TempStorage unnamed; this->storage = &unnamed; }
  __device__ ${name}(TempStorage& storage) { this->storage = &storage; }
  __device__ ${name}(TempStorage& storage, int linear) { this->storage = &storage; }
  ${body}
};`;

/** Of a block: its threads, the thread's own number among them, its warp and lane. */
export const ofBlock = `
  static constexpr int THREADS = X * Y * Z;
  static constexpr int WARPS = (THREADS + 31) / 32;
  __device__ int thread() { return (Z == 1 ? 0 : threadIdx.z * (X * Y)) + (Y == 1 ? 0 : threadIdx.y * X) + threadIdx.x; }`;

export const common = `
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <size_t N> struct __bits { using type = unsigned char; };
template <> struct __bits<2> { using type = unsigned short; };
template <> struct __bits<4> { using type = unsigned int; };
template <> struct __bits<8> { using type = unsigned long long; };
template <class T> struct Traits {
  using UnsignedBits = typename __bits<sizeof(T)>::type;
  static UnsignedBits TwiddleIn(UnsignedBits x) { return __warplens_unknown<UnsignedBits>(x); }
  static UnsignedBits TwiddleOut(UnsignedBits x) { return __warplens_unknown<UnsignedBits>(x); }
};
template <class T> struct NumericTraits : Traits<T> {};
struct NullType {};
struct Sum { template <class A, class B> __host__ __device__ A operator()(A a, B b) const { return a + b; } };
struct Max { template <class A, class B> __host__ __device__ A operator()(A a, B b) const { return a > b ? a : b; } };
struct Min { template <class A, class B> __host__ __device__ A operator()(A a, B b) const { return a < b ? a : b; } };
struct Equality { template <class A, class B> __host__ __device__ bool operator()(A a, B b) const { return a == b; } };
struct Inequality { template <class A, class B> __host__ __device__ bool operator()(A a, B b) const { return a != b; } };
struct Difference { template <class A, class B> __host__ __device__ A operator()(A a, B b) const { return a - b; } };
struct __Greater { template <class A, class B> __host__ __device__ bool operator()(A a, B b) const { return a > b; } };
template <class K, class V> struct KeyValuePair { typedef K Key; typedef V Value; K key; V value; };
struct ArgMax { template <class P> __host__ __device__ P operator()(const P& a, const P& b) const { return b.value > a.value ? b : a; } };
struct ArgMin { template <class P> __host__ __device__ P operator()(const P& a, const P& b) const { return b.value < a.value ? b : a; } };

__device__ inline unsigned LaneId() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }
__device__ inline unsigned WarpId() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32; }
__device__ inline int RowMajorTid(int x, int y, int z) { return (z == 1 ? 0 : threadIdx.z * (x * y)) + (y == 1 ? 0 : threadIdx.y * x) + threadIdx.x; }

// what another lane holds; of records not followed
template <int W, class T> __device__ T __below(T x, int by) { if constexpr (__is_class(T)) return __warplens_unknown<T>(x); else return __shfl_up_sync(0xffffffff, x, by, W); }
template <int W, class T> __device__ T __above(T x, int by) { if constexpr (__is_class(T)) return __warplens_unknown<T>(x); else return __shfl_down_sync(0xffffffff, x, by, W); }
template <int W, class T> __device__ T __from(T x, int lane) { if constexpr (__is_class(T)) return __warplens_unknown<T>(x); else return __shfl_sync(0xffffffff, x, lane, W); }
template <int W> __device__ int __lane() { return LaneId() & (W - 1); }
constexpr int __roundedUp(int n) { return n <= 1 ? 1 : n <= 2 ? 2 : n <= 4 ? 4 : n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : 64; }

// the storage of a warp that shuffles is empty; one whose size is no power of two goes by shared memory
template <class T, int W, bool SHUFFLES> struct __WarpReduceStorage { unsigned char none; };
template <class T, int W> struct __WarpReduceStorage<T, W, false> { T values[W + __roundedUp(W) / 2]; unsigned char flags[W]; };
template <class T, int W, bool SHUFFLES> struct __WarpScanStorage { unsigned char none; };
template <class T, int W> struct __WarpScanStorage<T, W, false> { T values[W + __roundedUp(W) / 2]; };

// N values of which the threads of one warp take a segment each
template <class T, int N> struct __Raking {
  static constexpr int MOST = N < 32 ? N : 32;
  static constexpr int SEGMENT = (N + MOST - 1) / MOST;
  static constexpr int THREADS = (N + SEGMENT - 1) / SEGMENT;
  static constexpr int PAD = SEGMENT % 2 == 0 && SEGMENT > 2 ? 1 : 0;
  static constexpr bool UNGUARDED = N % THREADS == 0;
  struct alignas(16) Grid { T values[THREADS * (SEGMENT + PAD)]; };
  __device__ static T* place(Grid& grid, unsigned thread) { return grid.values + (PAD ? thread + thread / SEGMENT : thread); }
  __device__ static T* segment(Grid& grid, unsigned thread) { return grid.values + thread * (SEGMENT + PAD); }
};
template <class A, class Op> __device__ auto ThreadReduce(const A& items, Op op) {
  auto sum = items[0];
  #pragma unroll
  for (int i = 1; i < sizeof(A) / sizeof(sum); i++) sum = op(sum, items[i]);
  return sum;
}
template <size_t WORD, int N> struct __Vector { using type = typename __bits<WORD>::type; };
template <> struct __Vector<1, 2> { using type = uchar2; };
template <> struct __Vector<1, 4> { using type = uchar4; };
template <> struct __Vector<2, 2> { using type = ushort2; };
template <> struct __Vector<2, 4> { using type = ushort4; };
template <> struct __Vector<4, 2> { using type = uint2; };
template <> struct __Vector<4, 4> { using type = uint4; };
template <> struct __Vector<8, 2> { using type = ulonglong2; };
template <> struct __Vector<8, 4> { using type = ulonglong4; };
template <> struct __Vector<16, 1> { using type = ulonglong2; };
template <> struct __Vector<16, 2> { using type = ulonglong4; };
`;
