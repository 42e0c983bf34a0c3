// Stream-K work decomposition vs. data-parallel and split-K, fp32, row-major A(MxK) B(KxN).
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr int M = 384;
constexpr int N = 448;
constexpr int K = 768;
constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 16;
constexpr int NT = 256;
constexpr int TILES_M = M / BM;
constexpr int TILES_N = N / BN;
constexpr int TILES = TILES_M * TILES_N;
constexpr int ITERS_PER_TILE = K / BK;
constexpr int STREAMK_CTAS = 96;
constexpr int SPLITS = 4;

#define CUDACHECK(cmd)                                                         \
  do {                                                                         \
    cudaError_t e = cmd;                                                       \
    if (e != cudaSuccess) {                                                    \
      printf("Failed: %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(EXIT_FAILURE);                                                      \
    }                                                                          \
  } while (0)

struct Smem {
  float a[BK][BM];
  float b[BK][BN];
};

// acc += A[tile rows, k0:k1) * B[k0:k1), tile cols)
__device__ __forceinline__ void mac_loop(Smem &s, const float *A, const float *B, int tm, int tn,
                                         int it0, int it1, float (&acc)[4][4]) {
  const int tid = threadIdx.x;
  const int tx = tid & 15;
  const int ty = tid >> 4;
  for (int it = it0; it < it1; ++it) {
    const int k0 = it * BK;
    // A: each thread fetches four consecutive k of one row, stores them transposed
    const int ar = tid >> 2;
    const int ak = (tid & 3) * 4;
    const float4 va = *reinterpret_cast<const float4 *>(A + (tm * BM + ar) * K + k0 + ak);
    s.a[ak + 0][ar] = va.x;
    s.a[ak + 1][ar] = va.y;
    s.a[ak + 2][ar] = va.z;
    s.a[ak + 3][ar] = va.w;
    const int br = tid >> 4;
    const int bc = (tid & 15) * 4;
    *reinterpret_cast<float4 *>(&s.b[br][bc]) =
        *reinterpret_cast<const float4 *>(B + (k0 + br) * N + tn * BN + bc);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float4 fa = *reinterpret_cast<const float4 *>(&s.a[k][ty * 4]);
      const float4 fb = *reinterpret_cast<const float4 *>(&s.b[k][tx * 4]);
      const float ra[4] = {fa.x, fa.y, fa.z, fa.w};
      const float rb[4] = {fb.x, fb.y, fb.z, fb.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          acc[i][j] += ra[i] * rb[j];
        }
      }
    }
    __syncthreads();
  }
}

__device__ __forceinline__ void store_tile(float *C, int tm, int tn, const float (&acc)[4][4]) {
  const int tx = threadIdx.x & 15;
  const int ty = threadIdx.x >> 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float4 v = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    *reinterpret_cast<float4 *>(C + (tm * BM + ty * 4 + i) * N + tn * BN + tx * 4) = v;
  }
}

__global__ void __launch_bounds__(NT) gemm_data_parallel(const float *A, const float *B, float *C) {
  __shared__ __align__(16) Smem s;
  float acc[4][4] = {};
  mac_loop(s, A, B, blockIdx.y, blockIdx.x, 0, ITERS_PER_TILE, acc);
  store_tile(C, blockIdx.y, blockIdx.x, acc);
}

// split-K, partial sums to a workspace [split][M][N]
__global__ void __launch_bounds__(NT) gemm_splitk(const float *A, const float *B, float *ws) {
  __shared__ __align__(16) Smem s;
  float acc[4][4] = {};
  const int per = ITERS_PER_TILE / SPLITS;
  mac_loop(s, A, B, blockIdx.y, blockIdx.x, blockIdx.z * per, (blockIdx.z + 1) * per, acc);
  store_tile(ws + (size_t)blockIdx.z * M * N, blockIdx.y, blockIdx.x, acc);
}

__global__ void splitk_reduce(const float *ws, float *C) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M * N / 4) {
    float4 r = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int s = 0; s < SPLITS; ++s) {
      const float4 v = reinterpret_cast<const float4 *>(ws + (size_t)s * M * N)[i];
      r.x += v.x;
      r.y += v.y;
      r.z += v.z;
      r.w += v.w;
    }
    reinterpret_cast<float4 *>(C)[i] = r;
  }
}

// split-K with atomics straight into C (scalar, four columns apart per lane)
__global__ void __launch_bounds__(NT) gemm_splitk_atomic(const float *A, const float *B, float *C) {
  __shared__ __align__(16) Smem s;
  float acc[4][4] = {};
  const int per = ITERS_PER_TILE / SPLITS;
  mac_loop(s, A, B, blockIdx.y, blockIdx.x, blockIdx.z * per, (blockIdx.z + 1) * per, acc);
  const int tx = threadIdx.x & 15;
  const int ty = threadIdx.x >> 4;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      atomicAdd(C + (blockIdx.y * BM + ty * 4 + i) * N + blockIdx.x * BN + tx * 4 + j, acc[i][j]);
    }
  }
}

__host__ __device__ inline int streamk_begin(int cta) {
  const long total = (long)TILES * ITERS_PER_TILE;
  return (int)(total * cta / STREAMK_CTAS);
}

// Stream-K: every CTA owns an equal share of all MAC iterations. All CTAs are co-resident.
__global__ void __launch_bounds__(NT) gemm_streamk(const float *A, const float *B, float *C,
                                                   float *partials, volatile int *flags) {
  __shared__ __align__(16) Smem s;
  const int cta = blockIdx.x;
  const int end = streamk_begin(cta + 1);
  int it = streamk_begin(cta);
  while (it < end) {
    const int tile = it / ITERS_PER_TILE;
    const int k0 = it - tile * ITERS_PER_TILE;
    const int k1 = min(ITERS_PER_TILE, k0 + end - it);
    const int tm = tile / TILES_N;
    const int tn = tile % TILES_N;
    float acc[4][4] = {};
    mac_loop(s, A, B, tm, tn, k0, k1, acc);
    if (k0 != 0) {
      // somebody else owns the tile: publish. Layout [cta][thread][16].
      float *p = partials + ((size_t)cta * NT + threadIdx.x) * 16;
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          p[i * 4 + j] = acc[i][j];
        }
      }
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) {
        flags[cta] = 1;
      }
    } else {
      const int tileEnd = (tile + 1) * ITERS_PER_TILE;
      for (int peer = cta + 1; peer < STREAMK_CTAS && streamk_begin(peer) < tileEnd; ++peer) {
        if (threadIdx.x == 0) {
          while (flags[peer] == 0) {
          }
          __threadfence();
        }
        __syncthreads();
        const float *p = partials + ((size_t)peer * NT + threadIdx.x) * 16;
        for (int i = 0; i < 4; ++i) {
          for (int j = 0; j < 4; ++j) {
            acc[i][j] += __ldcg(p + i * 4 + j);
          }
        }
      }
      store_tile(C, tm, tn, acc);
    }
    it += k1 - k0;
  }
}

// epilogue: C = relu(C + bias[row]); row handled by blockIdx.y
__global__ void bias_relu(float *C, const float *bias) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (col < N) {
    C[row * N + col] = fmaxf(C[row * N + col] + bias[row], 0.f);
  }
}

int main() {
  std::mt19937 gen(123);
  std::uniform_real_distribution<float> dist(-1.f, 1.f);
  std::vector<float> a(M * K), b(K * N), bias(M);
  for (float &v : a) v = dist(gen);
  for (float &v : b) v = dist(gen);
  for (float &v : bias) v = dist(gen);

  std::vector<double> ref(M * N, 0.0);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k) {
      const double x = a[i * K + k];
      for (int j = 0; j < N; ++j) ref[i * N + j] += x * b[k * N + j];
    }

  float *dA, *dB, *dC, *dWs, *dPart, *dBias;
  int *dFlags;
  CUDACHECK(cudaMalloc(&dA, sizeof(float) * M * K));
  CUDACHECK(cudaMalloc(&dB, sizeof(float) * K * N));
  CUDACHECK(cudaMalloc(&dC, sizeof(float) * M * N));
  CUDACHECK(cudaMalloc(&dWs, sizeof(float) * M * N * SPLITS));
  CUDACHECK(cudaMalloc(&dPart, sizeof(float) * STREAMK_CTAS * NT * 16));
  CUDACHECK(cudaMalloc(&dFlags, sizeof(int) * STREAMK_CTAS));
  CUDACHECK(cudaMalloc(&dBias, sizeof(float) * M));
  CUDACHECK(cudaMemcpy(dA, a.data(), sizeof(float) * M * K, cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemcpy(dB, b.data(), sizeof(float) * K * N, cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemcpy(dBias, bias.data(), sizeof(float) * M, cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemset(dFlags, 0, sizeof(int) * STREAMK_CTAS));

  std::vector<float> c(M * N);
  bool all = true;
  auto verify = [&](const char *what, bool epilogue) {
    CUDACHECK(cudaGetLastError());
    CUDACHECK(cudaMemcpy(c.data(), dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int i = 0; i < M * N; ++i) {
      double r = epilogue ? std::max(ref[i] + bias[i / N], 0.0) : ref[i];
      double d = std::fabs(r - c[i]);
      if (!(d <= worst)) worst = d;
    }
    printf("%-16s max abs error %.3e\n", what, worst);
    all = all && worst < 5e-3;
    CUDACHECK(cudaMemset(dC, 0, sizeof(float) * M * N));
  };

  const dim3 grid(TILES_N, TILES_M);
  const dim3 gridK(TILES_N, TILES_M, SPLITS);
  gemm_data_parallel<<<grid, NT>>>(dA, dB, dC);
  verify("data-parallel", false);
  gemm_splitk<<<gridK, NT>>>(dA, dB, dWs);
  splitk_reduce<<<(M * N / 4 + 255) / 256, 256>>>(dWs, dC);
  verify("split-k", false);
  gemm_splitk_atomic<<<gridK, NT>>>(dA, dB, dC);
  verify("split-k atomic", false);
  gemm_streamk<<<STREAMK_CTAS, NT>>>(dA, dB, dC, dPart, dFlags);
  bias_relu<<<dim3((N + 127) / 128, M), 128>>>(dC, dBias);
  verify("stream-k + bias", true);
  printf("%s\n", all ? "PASS" : "FAIL");
  return all ? 0 : 1;
}
