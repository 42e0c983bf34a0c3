// Register-blocked GEMM with a traits struct, several instantiations.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t err_ = (call);                                                   \
    if (err_ != cudaSuccess) {                                                   \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      exit(EXIT_FAILURE);                                                        \
    }                                                                            \
  } while (0)

template <int BM_, int BN_, int BK_, int TM_, int TN_>
struct GemmTraits {
  static constexpr int BM = BM_;
  static constexpr int BN = BN_;
  static constexpr int BK = BK_;
  static constexpr int TM = TM_;
  static constexpr int TN = TN_;
  static constexpr int THREADS_X = BN / TN;
  static constexpr int THREADS_Y = BM / TM;
  static constexpr int THREADS = THREADS_X * THREADS_Y;
  static constexpr int PAD = 4;
};

template <typename Traits>
__global__ void __launch_bounds__(Traits::THREADS)
gemm_blocked(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
             int M, int N, int K, float alpha, float beta) {
  constexpr int BM = Traits::BM, BN = Traits::BN, BK = Traits::BK;
  constexpr int TM = Traits::TM, TN = Traits::TN;
  __shared__ float As[BK][BM + Traits::PAD];
  __shared__ float Bs[BK][BN];

  const int tx = threadIdx.x % Traits::THREADS_X;
  const int ty = threadIdx.x / Traits::THREADS_X;
  const int rowBase = blockIdx.y * BM;
  const int colBase = blockIdx.x * BN;

  float acc[TM][TN] = {};
  float a_frag[TM];
  float b_frag[TN];

  for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
    for (int i = threadIdx.x; i < BM * BK; i += Traits::THREADS) {
      int r = i / BK, c = i % BK;
      int gr = rowBase + r, gc = k0 + c;
      As[c][r] = (gr < M && gc < K) ? A[gr * K + gc] : 0.0f;
    }
#pragma unroll
    for (int i = threadIdx.x; i < BK * BN; i += Traits::THREADS) {
      int r = i / BN, c = i % BN;
      int gr = k0 + r, gc = colBase + c;
      Bs[r][c] = (gr < K && gc < N) ? B[gr * N + gc] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; ++i) a_frag[i] = As[k][ty * TM + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) b_frag[j] = Bs[k][tx + j * Traits::THREADS_X];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    int gr = rowBase + ty * TM + i;
    if (gr >= M) continue;
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      int gc = colBase + tx + j * Traits::THREADS_X;
      if (gc < N) C[gr * N + gc] = alpha * acc[i][j] + beta * C[gr * N + gc];
    }
  }
}

template <typename Traits>
float run_gemm(const float* dA, const float* dB, float* dC, int M, int N, int K) {
  dim3 grid((N + Traits::BN - 1) / Traits::BN, (M + Traits::BM - 1) / Traits::BM);
  cudaEvent_t t0, t1;
  CHECK(cudaEventCreate(&t0));
  CHECK(cudaEventCreate(&t1));
  CHECK(cudaEventRecord(t0));
  gemm_blocked<Traits><<<grid, Traits::THREADS>>>(dA, dB, dC, M, N, K, 1.0f, 0.0f);
  CHECK(cudaEventRecord(t1));
  CHECK(cudaEventSynchronize(t1));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, t0, t1));
  return ms;
}

int main(int argc, char** argv) {
  int M = argc > 1 ? atoi(argv[1]) : 200;
  int N = argc > 2 ? atoi(argv[2]) : 264;
  int K = argc > 3 ? atoi(argv[3]) : 96;
  int which = argc > 4 ? atoi(argv[4]) : 0;
  std::vector<float> A(M * K), B(K * N), C(M * N), R(M * N, 0.f);
  for (int i = 0; i < M * K; ++i) A[i] = (float)((i * 7) % 13) * 0.1f;
  for (int i = 0; i < K * N; ++i) B[i] = (float)((i * 5) % 11) * 0.1f;
  float *dA, *dB, *dC;
  CHECK(cudaMalloc(&dA, A.size() * sizeof(float)));
  CHECK(cudaMalloc(&dB, B.size() * sizeof(float)));
  CHECK(cudaMalloc(&dC, C.size() * sizeof(float)));
  CHECK(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(dC, 0, C.size() * sizeof(float)));
  using Small = GemmTraits<32, 32, 8, 2, 2>;
  using Large = GemmTraits<64, 64, 16, 4, 4>;
  float ms = 0;
  switch (which) {
    case 0:
      ms += run_gemm<Small>(dA, dB, dC, M, N, K);
      ms += run_gemm<Large>(dA, dB, dC, M, N, K);
      break;
    case 1: ms = run_gemm<Small>(dA, dB, dC, M, N, K); break;
    default: ms = run_gemm<Large>(dA, dB, dC, M, N, K); break;
  }
  CHECK(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));
  double maxErr = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double s = 0;
      for (int k = 0; k < K; ++k) s += A[i * K + k] * B[k * N + j];
      maxErr = fmax(maxErr, fabs(s - C[i * N + j]));
    }
  printf("gemm %dx%dx%d: %.3f ms, max error %g\n", M, N, K, ms, maxErr);
  cudaFree(dA); cudaFree(dB); cudaFree(dC);
  return maxErr > 1e-2;
}
