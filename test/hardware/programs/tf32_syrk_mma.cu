// SYRK on tensor cores, C = A * A^T for a tall row-major A (covariance / Gram matrices).
// Performance log, one kernel per entry:
//   v0  fragments straight from global memory
//   v1  tile in shared memory, no padding   (BK = 32 floats per row)
//   v2  cp.async, two stages, rows padded to BK + 4
//   v3  ldmatrix on an XOR-swizzled tile, 16-byte chunks
// plus the mirror of the lower triangle and a diagonal normalisation (Gram -> correlation).
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cmath>
#include <vector>

#define CHECK(call)                                                                           \
  do {                                                                                        \
    cudaError_t err_ = (call);                                                                \
    if (err_ != cudaSuccess) {                                                                \
      std::printf("%s at line %d: %s\nFAIL\n", #call, __LINE__, cudaGetErrorString(err_));    \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)

namespace ptx {

__device__ __forceinline__ void mma_m16n8k8_tf32(float* d, const uint32_t* a, const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void ldmatrix_x4(uint32_t* r, const void* p) {
  uint32_t addr = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(addr));
}

__device__ __forceinline__ void cp_async16(void* dst, const void* src) {
  uint32_t addr = static_cast<uint32_t>(__cvta_generic_to_shared(dst));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(addr), "l"(src));
}

__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::); }

template <int N>
__device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N)); }

__device__ __forceinline__ uint32_t to_tf32(float x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(r) : "f"(x));
  return r;
}

}  // namespace ptx

constexpr int BM = 64, BN = 64, BK = 32;
constexpr int kThreads = 128;  // 2 x 2 warps, each 32 x 32

struct WarpCoord {
  int lane, wm, wn, g, t;
  __device__ WarpCoord() {
    lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    wm = (warp >> 1) * 32;
    wn = (warp & 1) * 32;
    g = lane >> 2;
    t = lane & 3;
  }
};

// linear block -> lower-triangular tile (bi >= bj)
__device__ __forceinline__ void tri_tile(int b, int& bi, int& bj) {
  bi = static_cast<int>((sqrtf(8.0f * b + 1.0f) - 1.0f) * 0.5f);
  while (bi * (bi + 1) / 2 > b) --bi;
  while ((bi + 1) * (bi + 2) / 2 <= b) ++bi;
  bj = b - bi * (bi + 1) / 2;
}

__device__ __forceinline__ void store_tile(float* C, int n, int row0, int col0, const WarpCoord& w, float (*acc)[4][4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int r = row0 + w.wm + i * 16 + w.g, c = col0 + w.wn + j * 8 + w.t * 2;
      *reinterpret_cast<float2*>(&C[(size_t)r * n + c]) = make_float2(acc[i][j][0], acc[i][j][1]);
      *reinterpret_cast<float2*>(&C[(size_t)(r + 8) * n + c]) = make_float2(acc[i][j][2], acc[i][j][3]);
    }
}

__global__ void __launch_bounds__(kThreads) syrk_v0_global(const float* __restrict__ A, float* __restrict__ C, int n, int k) {
  int bi, bj;
  tri_tile(blockIdx.x, bi, bj);
  WarpCoord w;
  float acc[2][4][4] = {};
  const float* Ar = A + (size_t)(bi * BM + w.wm) * k;
  const float* Br = A + (size_t)(bj * BN + w.wn) * k;
  for (int kk = 0; kk < k; kk += 8) {
    uint32_t a[2][4], b[4][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a[i][0] = ptx::to_tf32(Ar[(size_t)(i * 16 + w.g) * k + kk + w.t]);
      a[i][1] = ptx::to_tf32(Ar[(size_t)(i * 16 + w.g + 8) * k + kk + w.t]);
      a[i][2] = ptx::to_tf32(Ar[(size_t)(i * 16 + w.g) * k + kk + w.t + 4]);
      a[i][3] = ptx::to_tf32(Ar[(size_t)(i * 16 + w.g + 8) * k + kk + w.t + 4]);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      b[j][0] = ptx::to_tf32(Br[(size_t)(j * 8 + w.g) * k + kk + w.t]);
      b[j][1] = ptx::to_tf32(Br[(size_t)(j * 8 + w.g) * k + kk + w.t + 4]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) ptx::mma_m16n8k8_tf32(acc[i][j], a[i], b[j]);
  }
  store_tile(C, n, bi * BM, bj * BN, w, acc);
}

template <int LD>
__device__ __forceinline__ void mma_slab(const float* sA, const float* sB, const WarpCoord& w, float (*acc)[4][4]) {
#pragma unroll
  for (int kk = 0; kk < BK; kk += 8) {
    uint32_t a[2][4], b[4][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float* p = sA + (w.wm + i * 16 + w.g) * LD + kk + w.t;
      a[i][0] = ptx::to_tf32(p[0]);
      a[i][1] = ptx::to_tf32(p[8 * LD]);
      a[i][2] = ptx::to_tf32(p[4]);
      a[i][3] = ptx::to_tf32(p[8 * LD + 4]);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float* p = sB + (w.wn + j * 8 + w.g) * LD + kk + w.t;
      b[j][0] = ptx::to_tf32(p[0]);
      b[j][1] = ptx::to_tf32(p[4]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) ptx::mma_m16n8k8_tf32(acc[i][j], a[i], b[j]);
  }
}

__global__ void __launch_bounds__(kThreads) syrk_v1_flat(const float* __restrict__ A, float* __restrict__ C, int n, int k) {
  __shared__ __align__(16) float sA[BM * BK];
  __shared__ __align__(16) float sB[BN * BK];
  int bi, bj;
  tri_tile(blockIdx.x, bi, bj);
  WarpCoord w;
  float acc[2][4][4] = {};
  for (int k0 = 0; k0 < k; k0 += BK) {
    for (int e = threadIdx.x; e < BM * BK / 4; e += kThreads) {
      const int r = e / (BK / 4), c = e % (BK / 4) * 4;
      *reinterpret_cast<float4*>(&sA[r * BK + c]) = *reinterpret_cast<const float4*>(&A[(size_t)(bi * BM + r) * k + k0 + c]);
      *reinterpret_cast<float4*>(&sB[r * BK + c]) = *reinterpret_cast<const float4*>(&A[(size_t)(bj * BN + r) * k + k0 + c]);
    }
    __syncthreads();
    mma_slab<BK>(sA, sB, w, acc);
    __syncthreads();
  }
  store_tile(C, n, bi * BM, bj * BN, w, acc);
}

constexpr int LDP = BK + 4;

__device__ __forceinline__ void stage_padded(float* s, const float* A, int row0, int k, int k0) {
#pragma unroll
  for (int e = threadIdx.x; e < BM * BK / 4; e += kThreads) {
    const int r = e >> 3, c = (e & 7) * 4;
    ptx::cp_async16(s + r * LDP + c, A + (size_t)(row0 + r) * k + k0 + c);
  }
}

__global__ void __launch_bounds__(kThreads) syrk_v2_async(const float* __restrict__ A, float* __restrict__ C, int n, int k) {
  extern __shared__ __align__(16) float dyn[];
  int bi, bj;
  tri_tile(blockIdx.x, bi, bj);
  WarpCoord w;
  float acc[2][4][4] = {};
  float* sA = dyn;
  float* sB = dyn + 2 * BM * LDP;
  stage_padded(sA, A, bi * BM, k, 0);
  stage_padded(sB, A, bj * BN, k, 0);
  ptx::cp_commit();
  int buf = 0;
  for (int k0 = 0; k0 < k; k0 += BK) {
    if (k0 + BK < k) {
      stage_padded(sA + (buf ^ 1) * BM * LDP, A, bi * BM, k, k0 + BK);
      stage_padded(sB + (buf ^ 1) * BN * LDP, A, bj * BN, k, k0 + BK);
    }
    ptx::cp_commit();
    ptx::cp_wait<1>();
    __syncthreads();
    mma_slab<LDP>(sA + buf * BM * LDP, sB + buf * BN * LDP, w, acc);
    __syncthreads();
    buf ^= 1;
  }
  store_tile(C, n, bi * BM, bj * BN, w, acc);
}

// 8 chunks of 16 bytes per row, chunk index XOR (row & 7)
__device__ __forceinline__ int swz(int r, int chunk) { return r * BK + ((chunk ^ (r & 7)) << 2); }

__global__ void __launch_bounds__(kThreads) syrk_v3_ldmatrix(const float* __restrict__ A, float* __restrict__ C, int n, int k) {
  __shared__ __align__(128) float sA[BM * BK];
  __shared__ __align__(128) float sB[BN * BK];
  int bi, bj;
  tri_tile(blockIdx.x, bi, bj);
  WarpCoord w;
  float acc[2][4][4] = {};
  for (int k0 = 0; k0 < k; k0 += BK) {
    for (int e = threadIdx.x; e < BM * BK / 4; e += kThreads) {
      const int r = e >> 3, c = e & 7;
      ptx::cp_async16(&sA[swz(r, c)], &A[(size_t)(bi * BM + r) * k + k0 + c * 4]);
      ptx::cp_async16(&sB[swz(r, c)], &A[(size_t)(bj * BN + r) * k + k0 + c * 4]);
    }
    ptx::cp_commit();
    ptx::cp_wait<0>();
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK / 8; ++kk) {
      uint32_t a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i)  // matrices: rows 0-7 / 8-15 of chunk 2kk, then of chunk 2kk+1
        ptx::ldmatrix_x4(a[i], &sA[swz(w.wm + i * 16 + (w.lane & 15), kk * 2 + (w.lane >> 4))]);
#pragma unroll
      for (int j = 0; j < 2; ++j)  // two n-tiles of 8: (tile 0, k lo), (tile 0, k hi), (tile 1, k lo), (tile 1, k hi)
        ptx::ldmatrix_x4(b[j], &sB[swz(w.wn + j * 16 + (w.lane & 7) + ((w.lane >> 4) << 3), kk * 2 + ((w.lane >> 3) & 1))]);
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) ptx::mma_m16n8k8_tf32(acc[i][j], a[i], &b[j >> 1][(j & 1) * 2]);
    }
    __syncthreads();
  }
  store_tile(C, n, bi * BM, bj * BN, w, acc);
}

__global__ void mirror_lower(float* C, int n) {
  __shared__ float t[32][33];
  const int bx = blockIdx.x, by = blockIdx.y;
  if (bx > by) return;
  for (int r = threadIdx.y; r < 32; r += blockDim.y) t[r][threadIdx.x] = C[(size_t)(by * 32 + r) * n + bx * 32 + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += blockDim.y)
    if (bx * 32 + r < by * 32 + (int)threadIdx.x) C[(size_t)(bx * 32 + r) * n + by * 32 + threadIdx.x] = t[threadIdx.x][r];
}

__global__ void correlation_from_gram(const float* __restrict__ C, float* __restrict__ R, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= n) return;
  const float di = C[(size_t)i * n + i], dj = C[(size_t)j * n + j];  // dj: stride n + 1
  R[(size_t)i * n + j] = C[(size_t)i * n + j] * rsqrtf(di) * rsqrtf(dj);
}

using SyrkFn = void (*)(const float*, float*, int, int);

int main(int argc, char** argv) {
  const int n = 384, k = argc > 1 ? std::atoi(argv[1]) / BK * BK : 160;
  std::vector<float> hA((size_t)n * k);
  uint32_t s = 12345;
  for (auto& v : hA) {
    s = s * 1103515245u + 12345u;
    v = static_cast<float>(static_cast<int>((s >> 16) % 33) - 16) / 8.0f;  // exact in tf32, exact sums
  }
  std::vector<float> ref((size_t)n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double acc = 0;
      for (int q = 0; q < k; ++q) acc += (double)hA[(size_t)i * k + q] * hA[(size_t)j * k + q];
      ref[(size_t)i * n + j] = ref[(size_t)j * n + i] = (float)acc;
    }
  float *A, *C, *R;
  CHECK(cudaMalloc(&A, hA.size() * 4));
  CHECK(cudaMalloc(&C, ref.size() * 4));
  CHECK(cudaMalloc(&R, ref.size() * 4));
  CHECK(cudaMemcpy(A, hA.data(), hA.size() * 4, cudaMemcpyHostToDevice));
  const int tiles = n / BM, blocks = tiles * (tiles + 1) / 2;
  const int dyn = 2 * (BM + BN) * LDP * 4;
  CHECK(cudaFuncSetAttribute(syrk_v2_async, cudaFuncAttributeMaxDynamicSharedMemorySize, dyn));
  bool ok = true;
  std::vector<float> got(ref.size());
  for (int v = 0; v < 4; ++v) {
    CHECK(cudaMemset(C, 0, ref.size() * 4));
    switch (v) {
      case 0: syrk_v0_global<<<blocks, kThreads>>>(A, C, n, k); break;
      case 1: syrk_v1_flat<<<blocks, kThreads>>>(A, C, n, k); break;
      case 2: syrk_v2_async<<<blocks, kThreads, dyn>>>(A, C, n, k); break;
      default: syrk_v3_ldmatrix<<<blocks, kThreads>>>(A, C, n, k); break;
    }
    CHECK(cudaGetLastError());
    mirror_lower<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(C, n);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got.data(), C, got.size() * 4, cudaMemcpyDeviceToHost));
    size_t bad = 0;
    for (size_t i = 0; i < ref.size(); ++i) bad += got[i] != ref[i];
    std::printf("syrk v%d: %zu wrong\n", v, bad);
    ok = ok && bad == 0;
  }
  correlation_from_gram<<<dim3((n + 127) / 128, n), 128>>>(C, R, n);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(got.data(), R, got.size() * 4, cudaMemcpyDeviceToHost));
  double worst = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const double e = ref[(size_t)i * n + j] / std::sqrt((double)ref[(size_t)i * n + i] * ref[(size_t)j * n + j]);
      worst = std::fmax(worst, std::fabs(e - got[(size_t)i * n + j]));
    }
  std::printf("correlation: max err %.2e\n", worst);
  ok = ok && worst < 1e-5;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
