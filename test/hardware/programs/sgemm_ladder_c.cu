// C = alpha * A * B for row-major single precision matrices, five kernels from naive to
// double-buffered.   usage: ./sgemm_ladder_c [m] [n] [k] [repetitions]
// m and n must be multiples of 128, k a multiple of 32.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_TRY(expr)                                                             \
  {                                                                                \
    const cudaError_t status = (expr);                                             \
    if (status != cudaSuccess) {                                                   \
      printf("%s(%d): %s -> %s\n", __FILE__, __LINE__, #expr,                      \
             cudaGetErrorString(status));                                          \
      exit(1);                                                                     \
    }                                                                              \
  }

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

// ---- step 1: one thread per output, x runs down the rows (every access of A and C is strided)
__global__ void sgemm_naive(int M, int N, int K, float alpha, const float* A, const float* B,
                            float* C) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= M || col >= N) return;
  float acc = 0.f;
  for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
  C[row * N + col] = alpha * acc;
}

// ---- step 2: square tiles in shared memory
template <int T>
__global__ void sgemm_shared(int M, int N, int K, float alpha, const float* A, const float* B,
                             float* C) {
  __shared__ float As[T][T];
  __shared__ float Bs[T][T];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  float acc = 0.f;
  for (int k0 = 0; k0 < K; k0 += T) {
    As[ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.f;
    Bs[ty][tx] = (k0 + ty < K && col < N) ? B[(k0 + ty) * N + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < T; ++k) acc += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = alpha * acc;
}

// ---- step 3: each thread owns a column strip of TM outputs
template <int BM, int BN, int BK, int TM>
__global__ void __launch_bounds__(BM* BN / TM)
    sgemm_strip(int N, int K, float alpha, const float* A, const float* B, float* C) {
  static_assert(BM * BK == BM * BN / TM && BK * BN == BM * BN / TM, "one load per thread");
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const int t = threadIdx.x;
  const int tcol = t % BN, trow = t / BN;
  const int aRow = t / BK, aCol = t % BK;
  const int bRow = t / BN, bCol = t % BN;
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  float acc[TM] = {0.f};
  for (int k0 = 0; k0 < K; k0 += BK) {
    As[aRow * BK + aCol] = A[aRow * K + aCol];
    Bs[bRow * BN + bCol] = B[bRow * N + bCol];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int k = 0; k < BK; ++k) {
      const float b = Bs[k * BN + tcol];
#pragma unroll
      for (int i = 0; i < TM; ++i) acc[i] += As[(trow * TM + i) * BK + k] * b;
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) C[(trow * TM + i) * N + tcol] = alpha * acc[i];
}

// ---- step 4: 128x128 tile, 8x8 outputs per thread, float4 everywhere, A is transposed on the way in
__global__ void __launch_bounds__(256)
    sgemm_vec4(int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
               float* __restrict__ C) {
  constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
  __shared__ __align__(16) float As[BK][BM];
  __shared__ __align__(16) float Bs[BK][BN];
  const int t = threadIdx.x;
  const int ty = t / (BN / TN), tx = t % (BN / TN);
  const int aRow = t / 2, aCol = (t % 2) * 4;
  const int bRow = t / 32, bCol = (t % 32) * 4;
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;

  float acc[TM][TN] = {};
  float ra[TM], rb[TN];
  for (int k0 = 0; k0 < K; k0 += BK) {
    const float4 a = *(const float4*)&A[aRow * K + k0 + aCol];
    As[aCol + 0][aRow] = a.x;
    As[aCol + 1][aRow] = a.y;
    As[aCol + 2][aRow] = a.z;
    As[aCol + 3][aRow] = a.w;
    *(float4*)&Bs[bRow][bCol] = *(const float4*)&B[(k0 + bRow) * N + bCol];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; i += 4) *(float4*)&ra[i] = *(const float4*)&As[k][ty * TM + i];
#pragma unroll
      for (int j = 0; j < TN; j += 4) *(float4*)&rb[j] = *(const float4*)&Bs[k][tx * TN + j];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += ra[i] * rb[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *(float4*)&C[(ty * TM + i) * N + tx * TN + j] =
          make_float4(alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2],
                      alpha * acc[i][j + 3]);
}

// ---- step 5: two shared buffers, next tile travels through registers while this one is used
__global__ void __launch_bounds__(256)
    sgemm_double_buffer(int N, int K, float alpha, const float* __restrict__ A,
                        const float* __restrict__ B, float* __restrict__ C) {
  constexpr int BM = 64, BN = 64, BK = 16;
  __shared__ __align__(16) float As[2][BK][BM + 4];
  __shared__ __align__(16) float Bs[2][BK][BN];
  const int t = threadIdx.x, ty = t / 16, tx = t % 16;
  const int aRow = t / 4, aCol = (t % 4) * 4;
  const int bRow = t / 16, bCol = (t % 16) * 4;
  const float* pa = A + (blockIdx.y * BM + aRow) * K + aCol;
  const float* pb = B + bRow * N + blockIdx.x * BN + bCol;

  float4 na = *(const float4*)pa, nb = *(const float4*)pb;
  float acc[4][4] = {};
  auto stash = [&](int buf) {
    As[buf][aCol + 0][aRow] = na.x;
    As[buf][aCol + 1][aRow] = na.y;
    As[buf][aCol + 2][aRow] = na.z;
    As[buf][aCol + 3][aRow] = na.w;
    *(float4*)&Bs[buf][bRow][bCol] = nb;
  };
  stash(0);
  __syncthreads();
  const int tiles = K / BK;
  for (int kt = 0; kt < tiles; ++kt) {
    const int cur = kt & 1;
    if (kt + 1 < tiles) {
      na = *(const float4*)(pa + (kt + 1) * BK);
      nb = *(const float4*)(pb + (kt + 1) * BK * N);
    }
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float4 a = *(const float4*)&As[cur][k][ty * 4];
      const float4 b = *(const float4*)&Bs[cur][k][tx * 4];
      const float av[4] = {a.x, a.y, a.z, a.w}, bv[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += av[i] * bv[j];
    }
    if (kt + 1 < tiles) stash(cur ^ 1);
    __syncthreads();
  }
  float* pc = C + (blockIdx.y * BM + ty * 4) * N + blockIdx.x * BN + tx * 4;
  for (int i = 0; i < 4; ++i)
    *(float4*)(pc + i * N) = make_float4(alpha * acc[i][0], alpha * acc[i][1], alpha * acc[i][2],
                                         alpha * acc[i][3]);
}

static const char* run_step(int step, int M, int N, int K, float alpha, const float* A,
                            const float* B, float* C, cudaStream_t s) {
  const char* name = "?";
  if (step == 1) {
    name = "naive";
    dim3 block(32, 8), grid(CEIL_DIV(M, 32), CEIL_DIV(N, 8));
    sgemm_naive<<<grid, block, 0, s>>>(M, N, K, alpha, A, B, C);
  } else if (step == 2) {
    name = "shared 16x16";
    dim3 block(16, 16), grid(CEIL_DIV(N, 16), CEIL_DIV(M, 16));
    sgemm_shared<16><<<grid, block, 0, s>>>(M, N, K, alpha, A, B, C);
  } else if (step == 3) {
    name = "register strip";
    sgemm_strip<64, 64, 8, 8><<<dim3(N / 64, M / 64), 512, 0, s>>>(N, K, alpha, A, B, C);
  } else if (step == 4) {
    name = "8x8 float4";
    sgemm_vec4<<<dim3(N / 128, M / 128), 256, 0, s>>>(N, K, alpha, A, B, C);
  } else {
    name = "double buffer";
    sgemm_double_buffer<<<dim3(N / 64, M / 64), 256, 0, s>>>(N, K, alpha, A, B, C);
  }
  CUDA_TRY(cudaGetLastError());
  return name;
}

int main(int argc, char** argv) {
  const int M = argc > 1 ? atoi(argv[1]) : 512;
  const int N = argc > 2 ? atoi(argv[2]) : 640;
  const int K = argc > 3 ? atoi(argv[3]) : 384;
  const int reps = argc > 4 ? atoi(argv[4]) : 1;
  if (M <= 0 || N <= 0 || K <= 0 || M % 128 || N % 128 || K % 32 || reps < 1) {
    printf("bad sizes\n");
    return 1;
  }
  const float alpha = 0.5f;
  std::vector<float> A(size_t(M) * K), B(size_t(K) * N), C(size_t(M) * N), ref(size_t(M) * N, 0.f);
  for (size_t i = 0; i < A.size(); ++i) A[i] = float(int(i * 7 % 23) - 11) / 16.f;
  for (size_t i = 0; i < B.size(); ++i) B[i] = float(int(i * 13 % 31) - 15) / 16.f;
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k) {
      const float a = alpha * A[size_t(i) * K + k];
      for (int j = 0; j < N; ++j) ref[size_t(i) * N + j] += a * B[size_t(k) * N + j];
    }

  float *dA, *dB, *dC;
  cudaStream_t s;
  cudaEvent_t e0, e1;
  CUDA_TRY(cudaMalloc(&dA, A.size() * sizeof(float)));
  CUDA_TRY(cudaMalloc(&dB, B.size() * sizeof(float)));
  CUDA_TRY(cudaMalloc(&dC, C.size() * sizeof(float)));
  CUDA_TRY(cudaStreamCreate(&s));
  CUDA_TRY(cudaEventCreate(&e0));
  CUDA_TRY(cudaEventCreate(&e1));
  CUDA_TRY(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_TRY(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));

  bool pass = true;
  for (int step = 1; step <= 5; ++step) {
    CUDA_TRY(cudaMemsetAsync(dC, 0xff, C.size() * sizeof(float), s));
    run_step(step, M, N, K, alpha, dA, dB, dC, s);  // warm-up
    CUDA_TRY(cudaEventRecord(e0, s));
    const char* name = "";
    for (int r = 0; r < reps; ++r) name = run_step(step, M, N, K, alpha, dA, dB, dC, s);
    CUDA_TRY(cudaEventRecord(e1, s));
    CUDA_TRY(cudaEventSynchronize(e1));
    float ms = 0.f;
    CUDA_TRY(cudaEventElapsedTime(&ms, e0, e1));
    ms /= reps;
    CUDA_TRY(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (size_t i = 0; i < C.size(); ++i) bad += !(std::fabs(C[i] - ref[i]) <= 1e-3f);
    printf("%d %-16s %8.4f ms %9.1f GFLOP/s  wrong: %d\n", step, name, ms, 2e-6 * M * N * K / ms, bad);
    pass = pass && bad == 0;
  }
  cudaEventDestroy(e0);
  cudaEventDestroy(e1);
  cudaStreamDestroy(s);
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  printf(pass ? "PASS\n" : "FAIL\n");
  return pass ? 0 : 1;
}
