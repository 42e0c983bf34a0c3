// Double/triple buffered SGEMM with cp.async, register tile 8x8
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

constexpr int BM = 128, BN = 128, BK = 16, TM = 8, TN = 8;
constexpr int NT = (BM / TM) * (BN / TN);  // 256

__device__ __forceinline__ void cp_async16(void* dst, const void* src, bool pred) {
  uint32_t d = static_cast<uint32_t>(__cvta_generic_to_shared(dst));
  int bytes = pred ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(d), "l"(src), "r"(bytes));
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::); }
template <int N>
__device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N)); }

template <int STAGES>
__global__ void __launch_bounds__(NT) sgemm_async(const float* __restrict__ A, const float* __restrict__ B,
                                                  float* __restrict__ C, int M, int N, int K) {
  extern __shared__ __align__(16) float smem[];
  float* As = smem;                      // [STAGES][BM][BK+4]
  float* Bs = smem + STAGES * BM * (BK + 4);  // [STAGES][BK][BN]
  const int tid = threadIdx.x;
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  const int tr = tid / (BN / TN), tc = tid % (BN / TN);

  auto load = [&](int stage, int k0) {
#pragma unroll
    for (int i = tid; i < BM * BK / 4; i += NT) {
      int r = i / (BK / 4), c = (i % (BK / 4)) * 4;
      bool p = m0 + r < M && k0 + c < K;
      const float* src = p ? A + (size_t)(m0 + r) * K + k0 + c : A;
      cp_async16(&As[(stage * BM + r) * (BK + 4) + c], src, p);
    }
#pragma unroll
    for (int i = tid; i < BK * BN / 4; i += NT) {
      int r = i / (BN / 4), c = (i % (BN / 4)) * 4;
      bool p = k0 + r < K && n0 + c < N;
      const float* src = p ? B + (size_t)(k0 + r) * N + n0 + c : B;
      cp_async16(&Bs[(stage * BK + r) * BN + c], src, p);
    }
    cp_commit();
  };

  float acc[TM][TN] = {};
  const int nk = (K + BK - 1) / BK;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < nk) load(s, s * BK); else cp_commit();
  }
  for (int t = 0; t < nk; ++t) {
    cp_wait<STAGES - 2>();
    __syncthreads();
    if (t + STAGES - 1 < nk) load((t + STAGES - 1) % STAGES, (t + STAGES - 1) * BK);
    else cp_commit();
    const float* a = As + (t % STAGES) * BM * (BK + 4);
    const float* b = Bs + (t % STAGES) * BK * BN;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float ra[TM], rb[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) ra[i] = a[(tr * TM + i) * (BK + 4) + k];
      *(float4*)&rb[0] = *(const float4*)&b[k * BN + tc * 4];
      *(float4*)&rb[4] = *(const float4*)&b[k * BN + 64 + tc * 4];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    int row = m0 + tr * TM + i;
    if (row >= M) continue;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      int col = n0 + h * 64 + tc * 4;
      if (col < N)
        *(float4*)&C[(size_t)row * N + col] =
            make_float4(acc[i][h * 4], acc[i][h * 4 + 1], acc[i][h * 4 + 2], acc[i][h * 4 + 3]);
    }
  }
}

__global__ void init_matrix(float* p, int rows, int cols, unsigned seed) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y;
  if (c >= cols) return;
  unsigned h = (r * cols + c) * 2654435761u ^ seed;
  h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
  p[(size_t)r * cols + c] = (h & 0xffff) / 65536.0f - 0.5f;
}

int main() {
  const int M = 1000, N = 1100, K = 780;
  float *A, *B, *C;
  cudaMalloc(&A, sizeof(float) * M * K);
  cudaMalloc(&B, sizeof(float) * K * N);
  cudaMalloc(&C, sizeof(float) * M * N);
  init_matrix<<<dim3((K + 127) / 128, M), 128>>>(A, M, K, 1);
  init_matrix<<<dim3((N + 127) / 128, K), 128>>>(B, K, N, 77);
  std::vector<float> hA(M * K), hB(K * N), hC(M * N);
  cudaMemcpy(hA.data(), A, hA.size() * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(hB.data(), B, hB.size() * 4, cudaMemcpyDeviceToHost);
  dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  bool ok = true;
  for (int st = 2; st <= 4; st += 2) {
    size_t sh = st * (BM * (BK + 4) + BK * BN) * sizeof(float);
    auto kern = st == 2 ? sgemm_async<2> : sgemm_async<4>;
    cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
    cudaMemset(C, 0xff, sizeof(float) * M * N);
    kern<<<grid, NT, sh>>>(A, B, C, M, N, K);
    cudaError_t e = cudaDeviceSynchronize();
    cudaMemcpy(hC.data(), C, hC.size() * 4, cudaMemcpyDeviceToHost);
    double err = 0;
    for (int t = 0; t < 5000; ++t) {
      int i = (t * 7919) % M, j = (t * 104729) % N;
      double s = 0;
      for (int k = 0; k < K; ++k) s += (double)hA[i * K + k] * hB[k * N + j];
      double d = fabs(s - hC[i * N + j]);
      if (!(d <= err)) err = d;
    }
    printf("stages %d: max err %g %s\n", st, err, cudaGetErrorString(e));
    ok = ok && err < 1e-3;
  }
  puts(ok ? "PASS" : "FAIL");
  return !ok;
}
