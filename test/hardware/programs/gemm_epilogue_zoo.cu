// gemm_epilogue_zoo: a small family of single-precision GEMM kernels
//   C[M,N] = epilogue( A[M,K] * B[K,N] ),  row-major, leading dims == widths
// Variants: thread-per-element baseline, square smem tile with B given transposed,
// register-tiled with vector loads, split-K into a workspace + fused reduce/epilogue,
// and an fp16-storage variant accumulating in fp32.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); std::exit(1); }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

namespace epi {
struct Identity {
  __host__ __device__ float operator()(float acc, int, int) const { return acc; }
};
struct BiasGelu {
  const float* bias;
  __host__ __device__ float operator()(float acc, int, int n) const {
    float x = acc + bias[n];
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
  }
};
struct ScaleResidual {
  const float* res; int ld; float alpha;
  __host__ __device__ float operator()(float acc, int m, int n) const { return alpha * acc + res[(size_t)m * ld + n]; }
};
}  // namespace epi

struct Problem { int M, N, K; };

// --- 1. baseline; note which index threadIdx.x walks along -----------------------------
template <class Epi>
__global__ void gemm_baseline(Problem p, const float* __restrict__ A, const float* __restrict__ B,
                              float* __restrict__ C, Epi epilogue) {
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= p.M || n >= p.N) return;
  float acc = 0.f;
  for (int k = 0; k < p.K; ++k) acc += A[m * p.K + k] * B[k * p.N + n];
  C[m * p.N + n] = epilogue(acc, m, n);
}

// --- 2. square tile, B^T stored row-major (N x K): inner product reads columns of a tile ---
template <int T, class Epi>
__global__ void __launch_bounds__(T* T) gemm_nt_tile(Problem p, const float* __restrict__ A,
                                                     const float* __restrict__ Bt, float* __restrict__ C,
                                                     Epi epilogue) {
  __shared__ float sa[T][T];
  __shared__ float sb[T][T];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int m = blockIdx.y * T + ty, n = blockIdx.x * T + tx;
  const int nrow = blockIdx.x * T + ty;
  float acc = 0.f;
  for (int k0 = 0; k0 < p.K; k0 += T) {
    const int k = k0 + tx;
    sa[ty][tx] = (m < p.M && k < p.K) ? A[m * p.K + k] : 0.f;
    sb[ty][tx] = (nrow < p.N && k < p.K) ? Bt[nrow * p.K + k] : 0.f;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < T; ++kk) acc += sa[ty][kk] * sb[tx][kk];
    __syncthreads();
  }
  if (m < p.M && n < p.N) C[m * p.N + n] = epilogue(acc, m, n);
}

// --- 3. register tile policy ---------------------------------------------------------------
template <int BM_, int BN_, int BK_, int TM_, int TN_>
struct TilePolicy {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
  static constexpr int kThreads = (BM / TM) * (BN / TN);
  static_assert(TM == 4 && TN == 4, "vector path is written for 4x4");
  static_assert(BM * BK == 4 * kThreads && BK * BN == 4 * kThreads, "one float4 per thread and operand");
};

template <class P>
struct TileStorage {
  float a[P::BK][P::BM];  // transposed on the way in
  float b[P::BK][P::BN];
};

template <class P>
__device__ __forceinline__ void mainloop(const Problem& p, const float* A, const float* B, int m0, int n0, int kbeg,
                                         int kend, TileStorage<P>& s, float (&acc)[P::TM][P::TN]) {
  const int t = threadIdx.x;
  const int arow = t / (P::BK / 4), acol = (t % (P::BK / 4)) * 4;
  const int brow = t / (P::BN / 4), bcol = (t % (P::BN / 4)) * 4;
  const int ty = t / (P::BN / P::TN), tx = t % (P::BN / P::TN);
  for (int k0 = kbeg; k0 < kend; k0 += P::BK) {
    float4 va = make_float4(0, 0, 0, 0), vb = va;
    if (m0 + arow < p.M && k0 + acol < kend)
      va = *reinterpret_cast<const float4*>(A + (size_t)(m0 + arow) * p.K + k0 + acol);
    if (k0 + brow < kend && n0 + bcol < p.N)
      vb = *reinterpret_cast<const float4*>(B + (size_t)(k0 + brow) * p.N + n0 + bcol);
    s.a[acol + 0][arow] = va.x;
    s.a[acol + 1][arow] = va.y;
    s.a[acol + 2][arow] = va.z;
    s.a[acol + 3][arow] = va.w;
    *reinterpret_cast<float4*>(&s.b[brow][bcol]) = vb;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < P::BK; ++k) {
      const float4 ra = *reinterpret_cast<const float4*>(&s.a[k][ty * 4]);
      const float4 rb = *reinterpret_cast<const float4*>(&s.b[k][tx * 4]);
      const float xa[4] = {ra.x, ra.y, ra.z, ra.w}, xb[4] = {rb.x, rb.y, rb.z, rb.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += xa[i] * xb[j];
    }
    __syncthreads();
  }
}

// SplitK == true writes raw accumulators to slice blockIdx.z of the workspace
template <class P, bool SplitK, class Epi>
__global__ void __launch_bounds__(P::kThreads) gemm_regtile(Problem p, const float* __restrict__ A,
                                                            const float* __restrict__ B, float* __restrict__ out,
                                                            int k_per_slice, Epi epilogue) {
  __shared__ __align__(16) TileStorage<P> storage;
  const int m0 = blockIdx.y * P::BM, n0 = blockIdx.x * P::BN;
  const int kbeg = SplitK ? blockIdx.z * k_per_slice : 0;
  const int kend = SplitK ? min(kbeg + k_per_slice, p.K) : p.K;
  float acc[P::TM][P::TN] = {};
  mainloop<P>(p, A, B, m0, n0, kbeg, kend, storage, acc);
  const int ty = threadIdx.x / (P::BN / P::TN), tx = threadIdx.x % (P::BN / P::TN);
  float* dst = SplitK ? out + (size_t)blockIdx.z * p.M * p.N : out;
  const int n = n0 + tx * 4;
  if (n >= p.N) return;
#pragma unroll
  for (int i = 0; i < P::TM; ++i) {
    const int m = m0 + ty * 4 + i;
    if (m >= p.M) break;
    float4 v;
    v.x = epilogue(acc[i][0], m, n);
    v.y = epilogue(acc[i][1], m, n + 1);
    v.z = epilogue(acc[i][2], m, n + 2);
    v.w = epilogue(acc[i][3], m, n + 3);
    *reinterpret_cast<float4*>(dst + (size_t)m * p.N + n) = v;
  }
}

template <class Epi>
__global__ void splitk_reduce(Problem p, const float* __restrict__ ws, int slices, float* __restrict__ C, Epi epilogue) {
  const int total = p.M * p.N;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    float acc = 0.f;
    for (int s = 0; s < slices; ++s) acc += ws[(size_t)s * total + i];
    C[i] = epilogue(acc, i / p.N, i % p.N);
  }
}

// --- 4. half storage: one warp per output row strip, two columns per lane -------------------
template <class Epi>
__global__ void gemm_half2_strip(Problem p, const __half* __restrict__ A, const __half2* __restrict__ B,
                                 float* __restrict__ C, Epi epilogue) {
  extern __shared__ __half arow_s[];  // blockDim.y rows of A, K long
  const int m = blockIdx.y * blockDim.y + threadIdx.y;
  for (int k = threadIdx.x; k < p.K; k += blockDim.x)
    arow_s[threadIdx.y * p.K + k] = m < p.M ? A[m * p.K + k] : __float2half(0.f);
  __syncthreads();
  const int n2 = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= p.M || n2 >= p.N / 2) return;
  float2 acc = make_float2(0.f, 0.f);
  for (int k = 0; k < p.K; ++k) {
    const float a = __half2float(arow_s[threadIdx.y * p.K + k]);
    const float2 b = __half22float2(B[k * (p.N / 2) + n2]);
    acc.x += a * b.x;
    acc.y += a * b.y;
  }
  float2* dst = reinterpret_cast<float2*>(C + (size_t)m * p.N) + n2;
  *dst = make_float2(epilogue(acc.x, m, 2 * n2), epilogue(acc.y, m, 2 * n2 + 1));
}

// ------------------------------------------------------------------------------------------
struct DevDelete { void operator()(void* p) const { cudaFree(p); } };
template <class T> using DevPtr = std::unique_ptr<T[], DevDelete>;
template <class T> DevPtr<T> dev_alloc(size_t n) {
  T* p = nullptr;
  check(cudaMalloc(&p, n * sizeof(T)), "malloc");
  return DevPtr<T>(p);
}
template <class T> DevPtr<T> dev_copy(const std::vector<T>& v) {
  auto p = dev_alloc<T>(v.size());
  check(cudaMemcpy(p.get(), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "h2d");
  return p;
}

template <class Epi>
bool verify(const char* name, const Problem& p, const std::vector<float>& ref, const float* dev, Epi e) {
  check(cudaGetLastError(), name);
  std::vector<float> got(ref.size());
  check(cudaMemcpy(got.data(), dev, got.size() * sizeof(float), cudaMemcpyDeviceToHost), name);
  int bad = 0;
  for (int m = 0; m < p.M; ++m)
    for (int n = 0; n < p.N; ++n) {
      const float want = e(ref[(size_t)m * p.N + n], m, n), have = got[(size_t)m * p.N + n];
      if (!(std::fabs(want - have) <= 2e-3f + 1e-3f * std::fabs(want))) ++bad;
    }
  std::printf("%-18s %s (%d off)\n", name, bad ? "bad" : "ok", bad);
  return bad == 0;
}

int main(int argc, char** argv) {
  Problem p{500, 388, 644};
  if (argc == 4) p = Problem{std::atoi(argv[1]), std::atoi(argv[2]) & ~3, std::atoi(argv[3]) & ~3};
  std::vector<float> A((size_t)p.M * p.K), B((size_t)p.K * p.N), Bt(B.size()), bias(p.N), res((size_t)p.M * p.N);
  // multiples of 1/16 in [-1,1): exactly representable in half as well
  uint32_t h = 2463534242u;
  auto next = [&h] { h ^= h << 13; h ^= h >> 17; h ^= h << 5; return (float)(int)(h % 32u) / 16.f - 1.f; };
  for (auto& x : A) x = next();
  for (auto& x : B) x = next() * 0.25f;
  for (auto& x : bias) x = next();
  for (auto& x : res) x = next();
  for (int k = 0; k < p.K; ++k)
    for (int n = 0; n < p.N; ++n) Bt[(size_t)n * p.K + k] = B[(size_t)k * p.N + n];
  std::vector<__half> Ah(A.size()), Bh(B.size());
  for (size_t i = 0; i < A.size(); ++i) Ah[i] = __float2half(A[i]);
  for (size_t i = 0; i < B.size(); ++i) Bh[i] = __float2half(B[i]);
  std::vector<float> ref((size_t)p.M * p.N, 0.f);
  for (int m = 0; m < p.M; ++m)
    for (int k = 0; k < p.K; ++k) {
      const float a = A[(size_t)m * p.K + k];
      for (int n = 0; n < p.N; ++n) ref[(size_t)m * p.N + n] += a * B[(size_t)k * p.N + n];
    }

  auto dA = dev_copy(A), dB = dev_copy(B), dBt = dev_copy(Bt), dbias = dev_copy(bias), dres = dev_copy(res);
  auto dAh = dev_copy(Ah), dBh = dev_copy(Bh);
  auto dC = dev_alloc<float>(ref.size());
  const epi::BiasGelu gelu_d{dbias.get()}, gelu_h{bias.data()};
  const epi::ScaleResidual sr_d{dres.get(), p.N, 0.5f}, sr_h{res.data(), p.N, 0.5f};
  bool ok = true;

  gemm_baseline<<<dim3(ceil_div(p.M, 32), ceil_div(p.N, 8)), dim3(32, 8)>>>(p, dA.get(), dB.get(), dC.get(), epi::Identity{});
  ok &= verify("baseline", p, ref, dC.get(), epi::Identity{});

  gemm_nt_tile<32><<<dim3(ceil_div(p.N, 32), ceil_div(p.M, 32)), dim3(32, 32)>>>(p, dA.get(), dBt.get(), dC.get(), sr_d);
  ok &= verify("nt tile", p, ref, dC.get(), sr_h);

  using Pol = TilePolicy<64, 64, 16, 4, 4>;
  const dim3 g(ceil_div(p.N, Pol::BN), ceil_div(p.M, Pol::BM));
  gemm_regtile<Pol, false><<<g, Pol::kThreads>>>(p, dA.get(), dB.get(), dC.get(), 0, gelu_d);
  ok &= verify("regtile+gelu", p, ref, dC.get(), gelu_h);

  const int slices = 4, kps = ceil_div(ceil_div(p.K, slices), 4) * 4;
  auto ws = dev_alloc<float>((size_t)slices * p.M * p.N);
  gemm_regtile<Pol, true><<<dim3(g.x, g.y, slices), Pol::kThreads>>>(p, dA.get(), dB.get(), ws.get(), kps, epi::Identity{});
  check(cudaGetLastError(), "split-k");
  splitk_reduce<<<ceil_div(p.M * p.N, 4 * 256), 256>>>(p, ws.get(), slices, dC.get(), gelu_d);
  ok &= verify("split-k+gelu", p, ref, dC.get(), gelu_h);

  const dim3 hb(64, 4);
  gemm_half2_strip<<<dim3(ceil_div(p.N / 2, 64), ceil_div(p.M, 4)), hb, hb.y * p.K * sizeof(__half)>>>(
      p, dAh.get(), reinterpret_cast<const __half2*>(dBh.get()), dC.get(), sr_d);
  ok &= verify("half2 strip", p, ref, dC.get(), sr_h);

  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
