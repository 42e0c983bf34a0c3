// Half precision GEMM, step by step (companion code of a blog series).
//   C[M,N] = relu(A[M,K] * B[K,N] + bias)       row major, fp16 in, fp32 accumulate
//   step 0  thread per element
//   step 1  shared tiles, fp32 conversion on the fly
//   step 2  ldmatrix + mma.sync, padded tiles
//   step 3  + cp.async, three stages, xor swizzle
//   step 4  split-K with a reduction kernel
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { std::printf("%s:%d %s\nFAIL\n", __FILE__, __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

constexpr int cdiv(int a, int b) { return (a + b - 1) / b; }

__host__ __device__ inline float pattern(unsigned i, unsigned salt) {
  unsigned h = (i + salt) * 0x9E3779B1u;
  h ^= h >> 15; h *= 0x85EBCA77u; h ^= h >> 13;
  return (float)((int)(h & 255) - 128) / 256.0f;
}

__global__ void init_half(half* p, int n, unsigned salt) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) p[i] = __float2half(pattern(i, salt));
}

// ---------------------------------------------------------------- step 0
__global__ void gemm_naive(const half* A, const half* B, const half* bias, half* C, int M, int N, int K) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;
  float s = __half2float(bias[n]);
  for (int k = 0; k < K; ++k) s += __half2float(A[m * K + k]) * __half2float(B[k * N + n]);
  C[m * N + n] = __float2half(fmaxf(s, 0.f));
}

// ---------------------------------------------------------------- step 1
template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
gemm_shared(const half* __restrict__ A, const half* __restrict__ B, const half* __restrict__ bias, half* __restrict__ C, int M, int N, int K) {
  constexpr int NT = (BM / TM) * (BN / TN);
  __shared__ float sA[BK][BM];   // transposed on the way in; stores hit the same bank
  __shared__ float sB[BK][BN];
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  const int tx = threadIdx.x % (BN / TN), ty = threadIdx.x / (BN / TN);
  float acc[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += NT) {
      int m = i / BK, k = i % BK;
      sA[k][m] = (m0 + m < M && k0 + k < K) ? __half2float(A[(m0 + m) * K + k0 + k]) : 0.f;
    }
    for (int i = threadIdx.x; i < BK * BN; i += NT) {
      int k = i / BN, n = i % BN;
      sB[k][n] = (k0 + k < K && n0 + n < N) ? __half2float(B[(k0 + k) * N + n0 + n]) : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) a[i] = sA[k][ty * TM + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) b[j] = sB[k][tx + j * (BN / TN)];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      int m = m0 + ty * TM + i, n = n0 + tx + j * (BN / TN);
      if (m < M && n < N) C[m * N + n] = __float2half(fmaxf(acc[i][j] + __half2float(bias[n]), 0.f));
    }
}

// ---------------------------------------------------------------- PTX helpers
__device__ __forceinline__ uint32_t smem_addr(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem_addr(p)));
}
__device__ __forceinline__ void ldmatrix_x2_trans(uint32_t (&r)[2], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(smem_addr(p)));
}
__device__ __forceinline__ void mma_16816(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// 16 bytes, or zeros when !valid
__device__ __forceinline__ void cp_async16(void* dst, const void* src, bool valid) {
  int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smem_addr(dst)), "l"(src), "r"(bytes));
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;"); }
template <int N> __device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }

// accumulator fragments -> global, with bias and relu (OutT half) or raw partial sums (OutT float)
template <typename OutT>
__device__ __forceinline__ void store_frag(OutT* C, const half* bias, const float (&c)[4], int m, int n, int M, int N) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    int row = m + 8 * h;
    if (row >= M || n >= N) continue;             // N is even, so a pair is never split
    float x = c[2 * h], y = c[2 * h + 1];
    if constexpr (sizeof(OutT) == 2) {
      x = fmaxf(x + __half2float(bias[n]), 0.f);
      y = fmaxf(y + __half2float(bias[n + 1]), 0.f);
      *reinterpret_cast<half2*>(&C[row * N + n]) = __floats2half2_rn(x, y);
    } else {
      *reinterpret_cast<float2*>(&C[row * N + n]) = make_float2(x, y);
    }
  }
}

// ---------------------------------------------------------------- step 2: 64x64 tile, 4 warps of 32x32
__global__ void __launch_bounds__(128)
gemm_mma_padded(const half* __restrict__ A, const half* __restrict__ B, const half* __restrict__ bias, half* __restrict__ C, int M, int N, int K) {
  constexpr int BM = 64, BN = 64, BK = 32, PAD = 8;
  __shared__ __align__(16) half sA[BM][BK + PAD];
  __shared__ __align__(16) half sB[BK][BN + PAD];
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
  float acc[2][4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK / 8; i += 128) {
      int m = i / (BK / 8), k = i % (BK / 8) * 8;
      uint4 v = make_uint4(0, 0, 0, 0);
      if (m0 + m < M && k0 + k < K) v = *reinterpret_cast<const uint4*>(&A[(m0 + m) * K + k0 + k]);
      *reinterpret_cast<uint4*>(&sA[m][k]) = v;
    }
    for (int i = threadIdx.x; i < BK * BN / 8; i += 128) {
      int k = i / (BN / 8), n = i % (BN / 8) * 8;
      uint4 v = make_uint4(0, 0, 0, 0);
      if (k0 + k < K && n0 + n < N) v = *reinterpret_cast<const uint4*>(&B[(k0 + k) * N + n0 + n]);
      *reinterpret_cast<uint4*>(&sB[k][n]) = v;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
      uint32_t a[2][4], b[4][2];
      for (int i = 0; i < 2; ++i) ldmatrix_x4(a[i], &sA[wm + 16 * i + lane % 16][kk + lane / 16 * 8]);
      for (int j = 0; j < 4; ++j) ldmatrix_x2_trans(b[j], &sB[kk + lane % 16][wn + 8 * j]);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) mma_16816(acc[i][j], a[i], b[j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) store_frag(C, bias, acc[i][j], m0 + wm + 16 * i + lane / 4, n0 + wn + 8 * j + lane % 4 * 2, M, N);
}

// ---------------------------------------------------------------- step 3 / 4
// 128x64 tile, BK 32, 8 warps (4x2) of 32x32. Rows of A hold four 16-byte chunks, rows of B eight.
constexpr int P_BM = 128, P_BN = 64, P_BK = 32, P_STAGES = 3;
constexpr int P_STAGE_HALVES = P_BM * P_BK + P_BK * P_BN;

__device__ __forceinline__ int swz_a(int m, int chunk) { return m * P_BK + ((chunk ^ (m >> 1 & 3)) * 8); }
__device__ __forceinline__ int swz_b(int k, int chunk) { return k * P_BN + ((chunk ^ (k & 7)) * 8); }

template <typename OutT>
__global__ void __launch_bounds__(256)
gemm_mma_async(const half* __restrict__ A, const half* __restrict__ B, const half* __restrict__ bias, OutT* __restrict__ C, int M, int N, int K, int k_per_split) {
  extern __shared__ __align__(128) half smem[];
  auto block = cg::this_thread_block();
  const int tid = block.thread_rank(), lane = tid % 32, warp = tid / 32;
  const int m0 = blockIdx.y * P_BM, n0 = blockIdx.x * P_BN, wm = warp / 2 * 32, wn = warp % 2 * 32;
  const int k_begin = blockIdx.z * k_per_split, k_end = min(K, k_begin + k_per_split);
  const int steps = (k_end - k_begin + P_BK - 1) / P_BK;
  if constexpr (sizeof(OutT) == 4) C += (size_t)blockIdx.z * M * N;

  auto load = [&](int step) {
    half* sA = smem + step % P_STAGES * P_STAGE_HALVES;
    half* sB = sA + P_BM * P_BK;
    const int k0 = k_begin + step * P_BK;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      int i = tid + 256 * r, m = i / 4, c = i % 4;
      bool ok = m0 + m < M && k0 + c * 8 < k_end;
      cp_async16(&sA[swz_a(m, c)], ok ? &A[(m0 + m) * K + k0 + c * 8] : A, ok);
    }
    int k = tid / 8, c = tid % 8;
    bool ok = k0 + k < k_end && n0 + c * 8 < N;
    cp_async16(&sB[swz_b(k, c)], ok ? &B[(k0 + k) * N + n0 + c * 8] : B, ok);
  };

  float acc[2][4][4] = {};
  for (int s = 0; s < P_STAGES - 1; ++s) {
    if (s < steps) load(s);
    cp_commit();
  }
  for (int s = 0; s < steps; ++s) {
    cp_wait<P_STAGES - 2>();
    block.sync();
    if (s + P_STAGES - 1 < steps) load(s + P_STAGES - 1);
    cp_commit();
    const half* sA = smem + s % P_STAGES * P_STAGE_HALVES;
    const half* sB = sA + P_BM * P_BK;
#pragma unroll
    for (int kk = 0; kk < P_BK; kk += 16) {
      uint32_t a[2][4], b[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) ldmatrix_x4(a[i], &sA[swz_a(wm + 16 * i + lane % 16, kk / 8 + lane / 16)]);
#pragma unroll
      for (int j = 0; j < 4; ++j) ldmatrix_x2_trans(b[j], &sB[swz_b(kk + lane % 16, wn / 8 + j)]);
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_16816(acc[i][j], a[i], b[j]);
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) store_frag(C, bias, acc[i][j], m0 + wm + 16 * i + lane / 4, n0 + wn + 8 * j + lane % 4 * 2, M, N);
}

__global__ void splitk_reduce(const float4* __restrict__ part, const half* __restrict__ bias, half* __restrict__ C, int quads, int N, int splits) {
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= quads) return;
  float4 s = part[q];
  for (int z = 1; z < splits; ++z) {
    float4 o = part[(size_t)z * quads + q];
    s.x += o.x; s.y += o.y; s.z += o.z; s.w += o.w;
  }
  int n = q * 4 % N;
  half2 lo = __floats2half2_rn(fmaxf(s.x + __half2float(bias[n]), 0.f), fmaxf(s.y + __half2float(bias[n + 1]), 0.f));
  half2 hi = __floats2half2_rn(fmaxf(s.z + __half2float(bias[n + 2]), 0.f), fmaxf(s.w + __half2float(bias[n + 3]), 0.f));
  reinterpret_cast<half2*>(C)[2 * q] = lo;
  reinterpret_cast<half2*>(C)[2 * q + 1] = hi;
}

int main() {
  struct Shape { int M, N, K; };
  const std::vector<Shape> shapes = {{333, 264, 328}, {150, 72, 1000}};
  bool good = true;
  for (const auto& [M, N, K] : shapes) {
    const int splits = K >= 3 * M ? 4 : 2, k_per_split = cdiv(cdiv(K, P_BK), splits) * P_BK;
    half *A, *B, *bias, *C;
    float* part;
    CHECK(cudaMalloc(&A, M * K * sizeof(half)));
    CHECK(cudaMalloc(&B, K * N * sizeof(half)));
    CHECK(cudaMalloc(&bias, N * sizeof(half)));
    CHECK(cudaMalloc(&C, M * N * sizeof(half)));
    CHECK(cudaMalloc(&part, (size_t)splits * M * N * sizeof(float)));
    init_half<<<64, 256>>>(A, M * K, 1u);
    init_half<<<64, 256>>>(B, K * N, 777777u);
    init_half<<<1, 128>>>(bias, N, 5u);

    std::vector<float> ref(M * N), a(M * K), b(K * N);
    for (int i = 0; i < M * K; ++i) a[i] = pattern(i, 1u);
    for (int i = 0; i < K * N; ++i) b[i] = pattern(i, 777777u);
    for (int m = 0; m < M; ++m) {
      float* row = &ref[m * N];
      for (int n = 0; n < N; ++n) row[n] = pattern(n, 5u);
      for (int k = 0; k < K; ++k)
        for (int n = 0; n < N; ++n) row[n] += a[m * K + k] * b[k * N + n];
      for (int n = 0; n < N; ++n) row[n] = std::fmax(row[n], 0.f);
    }

    const size_t smem = P_STAGES * P_STAGE_HALVES * sizeof(half);
    CHECK(cudaFuncSetAttribute(gemm_mma_async<half>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem));
    CHECK(cudaFuncSetAttribute(gemm_mma_async<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem));
    const std::vector<std::pair<std::string, std::function<void()>>> steps = {
        {"naive", [&, M = M, N = N, K = K] { gemm_naive<<<dim3(cdiv(N, 32), cdiv(M, 8)), dim3(32, 8)>>>(A, B, bias, C, M, N, K); }},
        {"shared", [&, M = M, N = N, K = K] { gemm_shared<64, 64, 16, 4, 4><<<dim3(cdiv(N, 64), cdiv(M, 64)), 256>>>(A, B, bias, C, M, N, K); }},
        {"mma padded", [&, M = M, N = N, K = K] { gemm_mma_padded<<<dim3(cdiv(N, 64), cdiv(M, 64)), 128>>>(A, B, bias, C, M, N, K); }},
        {"mma async", [&, M = M, N = N, K = K] {
           gemm_mma_async<half><<<dim3(cdiv(N, P_BN), cdiv(M, P_BM)), 256, smem>>>(A, B, bias, C, M, N, K, K);
         }},
        {"split-k", [&, M = M, N = N, K = K] {
           gemm_mma_async<float><<<dim3(cdiv(N, P_BN), cdiv(M, P_BM), splits), 256, smem>>>(A, B, bias, part, M, N, K, k_per_split);
           splitk_reduce<<<cdiv(M * N / 4, 128), 128>>>((const float4*)part, bias, C, M * N / 4, N, splits);
         }},
    };
    for (const auto& [name, run] : steps) {
      CHECK(cudaMemset(C, 0xff, M * N * sizeof(half)));
      run();
      CHECK(cudaGetLastError());
      std::vector<half> h(M * N);
      CHECK(cudaMemcpy(h.data(), C, h.size() * sizeof(half), cudaMemcpyDeviceToHost));
      double worst = 0;
      for (int i = 0; i < M * N; ++i) {
        double d = std::fabs(__half2float(h[i]) - ref[i]) / (1.0 + std::fabs(ref[i]));
        if (!(d <= worst)) worst = d;               // also catches NaN
      }
      const bool ok = worst < 1e-2;
      std::printf("%4dx%4dx%4d %-11s max rel err %.2e %s\n", M, N, K, name.c_str(), worst, ok ? "" : "<-- bad");
      good = good && ok;
    }
    for (void* p : {(void*)A, (void*)B, (void*)bias, (void*)C, (void*)part}) CHECK(cudaFree(p));
  }
  std::puts(good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
