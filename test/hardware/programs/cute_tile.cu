// Tile layouts as compile-time Layout<Shape, Stride> objects with composition-lite, swizzles and
// thread/value partitions; used for transposes, an sgemm and a tensor core hgemm.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ct {
template <int N> struct Int { static constexpr int value = N; __host__ __device__ constexpr operator int() const { return N; } };
template <int M, int N> struct Shape { static constexpr int m = M, n = N; };
template <int A, int B> struct Stride { static constexpr int a = A, b = B; };

template <class S, class D>
struct Layout {
  using shape = S; using stride = D;
  static constexpr int size = S::m * S::n;
  static constexpr int cosize = (S::m - 1) * D::a + (S::n - 1) * D::b + 1;
  __host__ __device__ static constexpr int at(int i, int j) { return i * D::a + j * D::b; }
  __host__ __device__ constexpr int operator()(int i, int j) const { return at(i, j); }
  __host__ __device__ static constexpr int row(int idx) { return idx % S::m; }      // colex order
  __host__ __device__ static constexpr int col(int idx) { return idx / S::m; }
};
template <int M, int N> using RowMajor = Layout<Shape<M, N>, Stride<N, 1>>;
template <int M, int N> using ColMajor = Layout<Shape<M, N>, Stride<1, M>>;
template <int M, int N, int P> using PaddedRow = Layout<Shape<M, N>, Stride<N + P, 1>>;
template <int M, int N, int P> using PaddedCol = Layout<Shape<M, N>, Stride<1, M + P>>;

// Swizzle<B, M, S>: xor B bits at position M with the B bits S above
template <int B, int M, int S>
struct Swizzle {
  static constexpr int mask = ((1 << B) - 1) << (M + S);
  __host__ __device__ static constexpr int apply(int o) { return o ^ ((o & mask) >> S); }
};
template <class Sw, class L>
struct ComposedLayout {
  using shape = typename L::shape;
  static constexpr int size = L::size, cosize = L::cosize;
  __host__ __device__ constexpr int operator()(int i, int j) const { return Sw::apply(L::at(i, j)); }
};

template <class T, class L>
struct Tensor {
  T* ptr; L layout;
  __host__ __device__ T& operator()(int i, int j) const { return ptr[layout(i, j)]; }
};
template <class T> struct DynLayoutTensor {        // gmem, strides known at run time
  T* ptr; int rows, cols; int64_t sa, sb;
  __host__ __device__ T& operator()(int i, int j) const { return ptr[i * sa + j * sb]; }
  __host__ __device__ bool in(int i, int j) const { return i < rows && j < cols; }
  __host__ __device__ DynLayoutTensor tile(int ti, int tj, int bm, int bn) const { return {ptr + ti * bm * sa + tj * bn * sb, rows - ti * bm, cols - tj * bn, sa, sb}; }
};
template <class L, class T> __host__ __device__ Tensor<T, L> make_tensor(T* p) { return {p, L{}}; }

// cooperative copy with thread layout TL over a (M,N) tile, predicated
template <class TL, int M, int N, class Src, class Dst>
__device__ __forceinline__ void copy_if(int tid, const Src& src, const Dst& dst, int mlim, int nlim) {
  const int ti = TL::row(tid), tj = TL::col(tid);
#pragma unroll
  for (int i = 0; i < M; i += TL::shape::m)
#pragma unroll
    for (int j = 0; j < N; j += TL::shape::n) {
      if (i + ti < mlim && j + tj < nlim) dst(i + ti, j + tj) = src(i + ti, j + tj);
    }
}
template <class TL, int M, int N, class Src, class Dst, class T>
__device__ __forceinline__ void copy_zfill(int tid, const Src& src, const Dst& dst, T zero) {
  const int ti = TL::row(tid), tj = TL::col(tid);
#pragma unroll
  for (int i = 0; i < M; i += TL::shape::m)
#pragma unroll
    for (int j = 0; j < N; j += TL::shape::n)
      dst(i + ti, j + tj) = src.in(i + ti, j + tj) ? src(i + ti, j + tj) : zero;
}
}  // namespace ct
using namespace ct;

// B = A^T through shared memory of any layout
template <class SmemLayout, class LoadTL, class StoreTL, int BM, int BN>
__global__ void transpose_kernel(DynLayoutTensor<const float> A, DynLayoutTensor<float> Bt) {
  __shared__ float smem[((SmemLayout::cosize + 31) / 32) * 32];
  auto s = make_tensor<SmemLayout>(smem);
  auto gA = A.tile(blockIdx.y, blockIdx.x, BM, BN);
  auto gB = Bt.tile(blockIdx.x, blockIdx.y, BN, BM);
  copy_if<LoadTL, BM, BN>(threadIdx.x, gA, s, gA.rows, gA.cols);
  __syncthreads();
  struct TransposedView { Tensor<float, SmemLayout> t; __device__ float operator()(int i, int j) const { return t(j, i); } } sT{s};
  copy_if<StoreTL, BN, BM>(threadIdx.x, sT, gB, gB.rows, gB.cols);
}

__global__ void transpose_naive(DynLayoutTensor<const float> A, DynLayoutTensor<float> Bt) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (A.in(i, j)) Bt(j, i) = A(i, j);
}

// C = A * B, all strides dynamic; SA holds (BM,BK), SB holds (BN,BK)
template <int BM, int BN, int BK, int TM, int TN, class SA, class SB, class TLA, class TLB>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
gemm_device(DynLayoutTensor<const float> A, DynLayoutTensor<const float> B /* (N,K) */, DynLayoutTensor<float> C, int K) {
  __shared__ float smemA[SA::cosize], smemB[SB::cosize];
  auto sA = make_tensor<SA>(smemA);
  auto sB = make_tensor<SB>(smemB);
  auto gC = C.tile(blockIdx.y, blockIdx.x, BM, BN);
  using TC = RowMajor<BM / TM, BN / TN>;
  const int tr = threadIdx.x / TC::shape::n, tc = threadIdx.x % TC::shape::n;
  float acc[TM][TN] = {};
  for (int kt = 0; kt * BK < K; ++kt) {
    copy_zfill<TLA, BM, BK>(threadIdx.x, A.tile(blockIdx.y, kt, BM, BK), sA, 0.f);
    copy_zfill<TLB, BN, BK>(threadIdx.x, B.tile(blockIdx.x, kt, BN, BK), sB, 0.f);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float ra[TM], rb[TN];
#pragma unroll
      for (int m = 0; m < TM; ++m) ra[m] = sA(tr + m * TC::shape::m, k);
#pragma unroll
      for (int n = 0; n < TN; ++n) rb[n] = sB(tc + n * TC::shape::n, k);
#pragma unroll
      for (int m = 0; m < TM; ++m)
#pragma unroll
        for (int n = 0; n < TN; ++n) acc[m][n] += ra[m] * rb[n];
    }
    __syncthreads();
  }
#pragma unroll
  for (int m = 0; m < TM; ++m)
#pragma unroll
    for (int n = 0; n < TN; ++n) {
      int i = tr + m * TC::shape::m, j = tc + n * TC::shape::n;
      if (gC.in(i, j)) gC(i, j) = acc[m][n];
    }
}

// fp16 tensor core gemm: A (M,K) row major, B (N,K) row major; ldmatrix out of a swizzled or plain tile
template <class SL, int BM, int BN, int BK>
__global__ void __launch_bounds__(128) hgemm_mma(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
  __shared__ alignas(128) half sA[BM * BK];
  __shared__ alignas(128) half sB[BN * BK];
  SL lay;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int wm = (warp / 2) * (BM / 2), wn = (warp % 2) * (BN / 2);
  constexpr int MT = BM / 2 / 16, NT = BN / 2 / 8;
  float acc[MT][NT][4] = {};
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int v = threadIdx.x; v < BM * BK / 8; v += 128) {
      int r = v / (BK / 8), c = v % (BK / 8) * 8;
      uint4 x = make_uint4(0, 0, 0, 0), y = x;
      if (m0 + r < M) x = *reinterpret_cast<const uint4*>(A + (size_t)(m0 + r) * K + k0 + c);
      if (r < BN && n0 + r < N) y = *reinterpret_cast<const uint4*>(B + (size_t)(n0 + r) * K + k0 + c);
      *reinterpret_cast<uint4*>(sA + lay(r, c)) = x;
      if (r < BN) *reinterpret_cast<uint4*>(sB + lay(r, c)) = y;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      uint32_t a[MT][4], b[NT][2];
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        uint32_t addr = (uint32_t)__cvta_generic_to_shared(sA + lay(wm + m * 16 + lane % 16, k + lane / 16 * 8));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[m][0]), "=r"(a[m][1]), "=r"(a[m][2]), "=r"(a[m][3]) : "r"(addr));
      }
#pragma unroll
      for (int n = 0; n < NT; ++n) {
        uint32_t addr = (uint32_t)__cvta_generic_to_shared(sB + lay(wn + n * 8 + lane % 8, k + (lane / 8 % 2) * 8));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b[n][0]), "=r"(b[n][1]) : "r"(addr));
      }
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < NT; ++n)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                       : "+f"(acc[m][n][0]), "+f"(acc[m][n][1]), "+f"(acc[m][n][2]), "+f"(acc[m][n][3])
                       : "r"(a[m][0]), "r"(a[m][1]), "r"(a[m][2]), "r"(a[m][3]), "r"(b[n][0]), "r"(b[n][1]));
    }
    __syncthreads();
  }
#pragma unroll
  for (int m = 0; m < MT; ++m)
#pragma unroll
    for (int n = 0; n < NT; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        int i = m0 + wm + m * 16 + lane / 4 + h * 8, j = n0 + wn + n * 8 + lane % 4 * 2;
        if (i < M && j < N) { C[(size_t)i * N + j] = acc[m][n][2 * h]; if (j + 1 < N) C[(size_t)i * N + j + 1] = acc[m][n][2 * h + 1]; }
      }
}

// 8 x 32 threads, consecutive threads along a row
struct ByRow { using shape = Shape<8, 32>; static constexpr int size = 256; __host__ __device__ static constexpr int row(int t) { return t / 32; } __host__ __device__ static constexpr int col(int t) { return t % 32; } };

// 32 x 8 threads, consecutive threads along k
struct KFast { using shape = Shape<32, 8>; __host__ __device__ static constexpr int row(int t) { return t / 8; } __host__ __device__ static constexpr int col(int t) { return t % 8; } };

#define CK(x) do { cudaError_t e_ = (x); if (e_) { fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)
static std::vector<float> gen(size_t n, int mul) { std::vector<float> v(n); for (size_t i = 0; i < n; i++) v[i] = float((i * mul + 11) % 31) / 16.f - 1.f; return v; }
template <class T> static T* dev(const std::vector<T>& h) { T* p; CK(cudaMalloc(&p, h.size() * sizeof(T))); CK(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
static bool all_ok = true;
static void check(const char* name, float* d, const std::vector<float>& ref, float tol) {
  std::vector<float> h(ref.size());
  CK(cudaGetLastError());
  CK(cudaMemcpy(h.data(), d, h.size() * 4, cudaMemcpyDeviceToHost));
  double w = 0;
  for (size_t i = 0; i < h.size(); i++) w = fmax(w, fabs(h[i] - ref[i]));
  printf("%-40s %.3g %s\n", name, w, w <= tol ? "ok" : "WRONG");
  all_ok &= w <= tol;
  CK(cudaMemset(d, 0xff, h.size() * 4));
}

int main() {
  {
    const int R = 517, Ccols = 390;
    auto a = gen((size_t)R * Ccols, 17);
    std::vector<float> ref(a.size());
    for (int i = 0; i < R; i++) for (int j = 0; j < Ccols; j++) ref[(size_t)j * R + i] = a[(size_t)i * Ccols + j];
    float* da = dev(a); float* db = dev(a);
    DynLayoutTensor<const float> A{da, R, Ccols, Ccols, 1};
    DynLayoutTensor<float> B{db, Ccols, R, R, 1};
    dim3 grid((Ccols + 31) / 32, (R + 31) / 32);
    // thread layouts run along columns first: <8,32> with the fast index over n
    using TL = Layout<Shape<8, 32>, Stride<32, 1>>;
    transpose_naive<<<dim3(grid.x, (R + 7) / 8), dim3(32, 8)>>>(A, B);                                  check("transpose naive", db, ref, 0);
    transpose_kernel<RowMajor<32, 32>, ByRow, ByRow, 32, 32><<<grid, 256>>>(A, B);                     check("transpose smem row-major", db, ref, 0);
    transpose_kernel<PaddedRow<32, 32, 1>, ByRow, ByRow, 32, 32><<<grid, 256>>>(A, B);                 check("transpose smem padded", db, ref, 0);
    transpose_kernel<ComposedLayout<Swizzle<5, 0, 5>, RowMajor<32, 32>>, ByRow, ByRow, 32, 32><<<grid, 256>>>(A, B); check("transpose smem swizzled", db, ref, 0);
    transpose_kernel<PaddedRow<32, 32, 1>, TL, ByRow, 32, 32><<<grid, 256>>>(A, B);                    check("transpose colex load partition", db, ref, 0);
    cudaFree(da); cudaFree(db);
  }
  {
    const int M = 250, N = 199, K = 133;
    auto a = gen((size_t)M * K, 7), b = gen((size_t)K * N, 5);     // A row major, B (K,N) row major -> (N,K) strides (1,N)
    std::vector<float> ref((size_t)M * N, 0.f);
    for (int i = 0; i < M; i++) for (int k = 0; k < K; k++) for (int j = 0; j < N; j++) ref[i * N + j] += a[i * K + k] * b[k * N + j];
    float *da = dev(a), *db = dev(b), *dc = dev(ref);
    CK(cudaMemset(dc, 0xff, ref.size() * 4));
    DynLayoutTensor<const float> A{da, M, K, K, 1}, B{db, N, K, 1, N};
    DynLayoutTensor<float> C{dc, M, N, N, 1};
    using NFast = Layout<Shape<64, 4>, Stride<1, 64>>;             // colex: consecutive threads along n
    dim3 grid((N + 63) / 64, (M + 63) / 64);
    gemm_device<64, 64, 8, 4, 4, ColMajor<64, 8>, ColMajor<64, 8>, KFast, NFast><<<grid, 256>>>(A, B, C, K);            check("sgemm col-major smem", dc, ref, 1e-3f);
    gemm_device<64, 64, 16, 4, 4, RowMajor<64, 16>, RowMajor<64, 16>, KFast, NFast><<<grid, 256>>>(A, B, C, K);         check("sgemm row-major smem", dc, ref, 1e-3f);
    gemm_device<64, 64, 16, 4, 4, PaddedCol<64, 16, 4>, PaddedCol<64, 16, 4>, KFast, NFast><<<grid, 256>>>(A, B, C, K); check("sgemm padded col-major smem", dc, ref, 1e-3f);
  }
  {
    const int M = 200, N = 171, K = 192;
    std::vector<half> a((size_t)M * K), b((size_t)N * K);
    auto fa = gen(a.size(), 13), fb = gen(b.size(), 19);
    for (size_t i = 0; i < a.size(); i++) a[i] = __float2half(fa[i]);
    for (size_t i = 0; i < b.size(); i++) b[i] = __float2half(fb[i]);
    std::vector<float> ref((size_t)M * N);
    for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) { float s = 0; for (int k = 0; k < K; k++) s += fa[i * K + k] * fb[j * K + k]; ref[i * N + j] = s; }
    half *da = dev(a), *db = dev(b);
    float* dc = dev(ref);
    CK(cudaMemset(dc, 0xff, ref.size() * 4));
    dim3 grid((N + 63) / 64, (M + 63) / 64);
    hgemm_mma<RowMajor<64, 64>, 64, 64, 64><<<grid, 128>>>(da, db, dc, M, N, K);                                   check("hgemm plain tile", dc, ref, 1e-2f);
    hgemm_mma<ComposedLayout<Swizzle<3, 3, 3>, RowMajor<64, 64>>, 64, 64, 64><<<grid, 128>>>(da, db, dc, M, N, K);  check("hgemm Swizzle<3,3,3>", dc, ref, 1e-2f);
    hgemm_mma<ComposedLayout<Swizzle<2, 3, 3>, RowMajor<64, 32>>, 64, 64, 32><<<grid, 128>>>(da, db, dc, M, N, K);  check("hgemm BK=32 Swizzle<2,3,3>", dc, ref, 1e-2f);
  }
  CK(cudaDeviceSynchronize());
  puts(all_ok ? "PASS" : "FAIL");
  return !all_ok;
}
