// My SGEMM diary: day 1 (naive) to day 6 (producer warp + consumer warps, persistent tiles).
// C[M,N] = alpha * A[M,K] * B[K,N] + beta * C[M,N], row-major, sizes are multiples of 128.
#include <cuda/barrier>
#include <cuda_runtime.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

#define cudaCheck(x)                                                              \
  if (cudaError_t e = (x)) {                                                      \
    printf("%s (%s:%d)\n", cudaGetErrorString(e), __FILE__, __LINE__);            \
    exit(EXIT_FAILURE);                                                           \
  }

struct Gemm {
  int M = 512;
  int N = 512;
  int K = 512;
  float alpha = 0.5f;
  float beta = 2.0f;
  float *A = nullptr;
  float *B = nullptr;
  float *C = nullptr;
  int *tileCounter = nullptr;
};

// day 1: x indexes rows, every warp touches 32 rows of A and C
__global__ void day1_naive(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) {
      tmp += A[x * K + i] * B[i * N + y];
    }
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

// day 2: just swap the roles
template <const uint BS>
__global__ void day2_coalesced(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  const uint row = blockIdx.x * BS + (threadIdx.x / BS);
  const uint col = blockIdx.y * BS + (threadIdx.x % BS);
  if (row < M && col < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) {
      tmp += A[row * K + i] * B[i * N + col];
    }
    C[row * N + col] = alpha * tmp + beta * C[row * N + col];
  }
}

// day 3: 128x128 tile, 8x8 per thread, A transposed on the way into shared memory
__device__ __forceinline__ void tile128(int N, int K, float alpha, const float *A, const float *B, float beta, float *C,
                                        float (&As)[8][128], float (&Bs)[8][128]) {
  const int tid = threadIdx.x;
  const int tx = tid % 16;
  const int ty = tid / 16;
  const int rowA = tid / 2;
  const int colA = (tid % 2) * 4;
  const int rowB = tid / 32;
  const int colB = (tid % 32) * 4;
  float acc[8][8] = {};
  float regM[8], regN[8];
  for (int k0 = 0; k0 < K; k0 += 8) {
    float4 a = *reinterpret_cast<const float4 *>(A + rowA * K + k0 + colA);
    As[colA + 0][rowA] = a.x;
    As[colA + 1][rowA] = a.y;
    As[colA + 2][rowA] = a.z;
    As[colA + 3][rowA] = a.w;
    *reinterpret_cast<float4 *>(&Bs[rowB][colB]) = *reinterpret_cast<const float4 *>(B + (k0 + rowB) * N + colB);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        regM[i] = As[k][ty * 8 + i];
        regN[i] = Bs[k][tx * 8 + i];
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          acc[i][j] += regM[i] * regN[j];
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      float4 *dst = reinterpret_cast<float4 *>(&C[(ty * 8 + i) * N + tx * 8 + j]);
      float4 c = *dst;
      c.x = alpha * acc[i][j] + beta * c.x;
      c.y = alpha * acc[i][j + 1] + beta * c.y;
      c.z = alpha * acc[i][j + 2] + beta * c.z;
      c.w = alpha * acc[i][j + 3] + beta * c.w;
      *dst = c;
    }
  }
}

__global__ __launch_bounds__(256) void day3_2d_blocktile(int M, int N, int K, float alpha, const float *A, const float *B,
                                                         float beta, float *C) {
  __shared__ __align__(16) float As[8][128];
  __shared__ __align__(16) float Bs[8][128];
  const int r = blockIdx.y * 128;
  const int c = blockIdx.x * 128;
  tile128(N, K, alpha, A + r * K, B + c, beta, C + r * N + c, As, Bs);
}

// day 4: double buffering through registers, 64x64 tile, 4x4 per thread
__global__ __launch_bounds__(256) void day4_double_buffer(int M, int N, int K, float alpha, const float *__restrict__ A,
                                                          const float *__restrict__ B, float beta, float *__restrict__ C) {
  __shared__ __align__(16) float As[2][8][68];
  __shared__ __align__(16) float Bs[2][8][64];
  const int tid = threadIdx.x;
  const bool loadsA = tid < 128;
  const int q = tid & 127;
  const int ar = q / 2;
  const int ac = (q % 2) * 4;
  const int br = q / 16;
  const int bc = (q % 16) * 4;
  const int tx = tid % 16;
  const int ty = tid / 16;
  A += blockIdx.y * 64 * K;
  B += blockIdx.x * 64;
  C += blockIdx.y * 64 * N + blockIdx.x * 64;
  float4 next = loadsA ? *reinterpret_cast<const float4 *>(A + ar * K + ac) : *reinterpret_cast<const float4 *>(B + br * N + bc);
  float acc[4][4] = {};
  const int steps = K / 8;
  for (int t = 0; t <= steps; ++t) {
    if (t < steps) {
      const int buf = t & 1;
      if (loadsA) {
        As[buf][ac][ar] = next.x;
        As[buf][ac + 1][ar] = next.y;
        As[buf][ac + 2][ar] = next.z;
        As[buf][ac + 3][ar] = next.w;
      } else {
        *reinterpret_cast<float4 *>(&Bs[buf][br][bc]) = next;
      }
      if (t + 1 < steps) {
        const int k0 = (t + 1) * 8;
        next = loadsA ? *reinterpret_cast<const float4 *>(A + ar * K + k0 + ac)
                      : *reinterpret_cast<const float4 *>(B + (k0 + br) * N + bc);
      }
    }
    if (t > 0) {
      const int buf = (t - 1) & 1;
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        float4 a = *reinterpret_cast<const float4 *>(&As[buf][k][ty * 4]);
        float4 b = *reinterpret_cast<const float4 *>(&Bs[buf][k][tx * 4]);
        const float av[4] = {a.x, a.y, a.z, a.w};
        const float bv[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            acc[i][j] += av[i] * bv[j];
          }
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float4 *dst = reinterpret_cast<float4 *>(&C[(ty * 4 + i) * N + tx * 4]);
    float4 c = *dst;
    *dst = make_float4(alpha * acc[i][0] + beta * c.x, alpha * acc[i][1] + beta * c.y, alpha * acc[i][2] + beta * c.z,
                       alpha * acc[i][3] + beta * c.w);
  }
}

// day 5: warp 0 copies, warps 1-4 compute; two stages with ready/filled barriers
constexpr int PC_BK = 16;
__global__ __launch_bounds__(160) void day5_producer_consumer(int M, int N, int K, float alpha, const float *A,
                                                              const float *B, float beta, float *C) {
  __shared__ __align__(16) float As[2][64][PC_BK];
  __shared__ __align__(16) float Bs[2][PC_BK][64];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ block_barrier ready[2];
  __shared__ block_barrier filled[2];
  if (threadIdx.x < 2) {
    init(&ready[threadIdx.x], blockDim.x);
    init(&filled[threadIdx.x], blockDim.x);
  }
  __syncthreads();
  A += blockIdx.y * 64 * K;
  B += blockIdx.x * 64;
  C += blockIdx.y * 64 * N + blockIdx.x * 64;
  const int steps = K / PC_BK;
  if (threadIdx.x < 32) {
    const int lane = threadIdx.x;
    for (int t = 0; t < steps; ++t) {
      const int s = t & 1;
      ready[s].arrive_and_wait();
      for (int i = lane; i < 256; i += 32) {
        const int ar = i / 4;
        const int ac = (i % 4) * 4;
        cuda::memcpy_async(&As[s][ar][ac], A + ar * K + t * PC_BK + ac, cuda::aligned_size_t<16>(16), filled[s]);
        const int br = i / 16;
        const int bc = (i % 16) * 4;
        cuda::memcpy_async(&Bs[s][br][bc], B + (t * PC_BK + br) * N + bc, cuda::aligned_size_t<16>(16), filled[s]);
      }
      (void)filled[s].arrive();
    }
  } else {
    const int c = threadIdx.x - 32;
    const int tx = c % 16;
    const int ty = c / 16;
    float acc[8][4] = {};
    (void)ready[0].arrive();
    (void)ready[1].arrive();
    for (int t = 0; t < steps; ++t) {
      const int s = t & 1;
      filled[s].arrive_and_wait();
#pragma unroll
      for (int k = 0; k < PC_BK; ++k) {
        float4 b = *reinterpret_cast<float4 *>(&Bs[s][k][tx * 4]);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float a = As[s][ty * 8 + i][k];
          acc[i][0] += a * b.x;
          acc[i][1] += a * b.y;
          acc[i][2] += a * b.z;
          acc[i][3] += a * b.w;
        }
      }
      if (t + 2 < steps) (void)ready[s].arrive();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float4 *dst = reinterpret_cast<float4 *>(&C[(ty * 8 + i) * N + tx * 4]);
      float4 o = *dst;
      o.x = alpha * acc[i][0] + beta * o.x;
      o.y = alpha * acc[i][1] + beta * o.y;
      o.z = alpha * acc[i][2] + beta * o.z;
      o.w = alpha * acc[i][3] + beta * o.w;
      *dst = o;
    }
  }
}

// day 6: day 3 as a persistent kernel
__global__ __launch_bounds__(256) void day6_persistent(int M, int N, int K, float alpha, const float *A, const float *B,
                                                       float beta, float *C, int *counter) {
  __shared__ __align__(16) float As[8][128];
  __shared__ __align__(16) float Bs[8][128];
  __shared__ int tile;
  const int tilesN = N / 128;
  const int tiles = tilesN * (M / 128);
  while (true) {
    if (threadIdx.x == 0) {
      tile = atomicAdd(counter, 1);
    }
    __syncthreads();
    const int mine = tile;
    __syncthreads();
    if (mine >= tiles) {
      return;
    }
    const int r = mine / tilesN * 128;
    const int c = mine % tilesN * 128;
    tile128(N, K, alpha, A + r * K, B + c, beta, C + r * N + c, As, Bs);
  }
}

void run_kernel(int day, const Gemm &g) {
  switch (day) {
  case 1:
    day1_naive<<<dim3(g.M / 32, g.N / 8), dim3(32, 8)>>>(g.M, g.N, g.K, g.alpha, g.A, g.B, g.beta, g.C);
    break;
  case 2:
    day2_coalesced<32><<<dim3(g.M / 32, g.N / 32), 32 * 32>>>(g.M, g.N, g.K, g.alpha, g.A, g.B, g.beta, g.C);
    break;
  case 3:
    day3_2d_blocktile<<<dim3(g.N / 128, g.M / 128), 256>>>(g.M, g.N, g.K, g.alpha, g.A, g.B, g.beta, g.C);
    break;
  case 4:
    day4_double_buffer<<<dim3(g.N / 64, g.M / 64), 256>>>(g.M, g.N, g.K, g.alpha, g.A, g.B, g.beta, g.C);
    break;
  case 5:
    day5_producer_consumer<<<dim3(g.N / 64, g.M / 64), 160>>>(g.M, g.N, g.K, g.alpha, g.A, g.B, g.beta, g.C);
    break;
  case 6:
    day6_persistent<<<12, 256>>>(g.M, g.N, g.K, g.alpha, g.A, g.B, g.beta, g.C, g.tileCounter);
    break;
  default:
    assert(false);
  }
}

int main(int argc, char **argv) {
  Gemm g;
  if (argc > 1) {
    g.M = g.N = g.K = (atoi(argv[1]) + 127) / 128 * 128;
  }
  const size_t na = (size_t)g.M * g.K;
  const size_t nb = (size_t)g.K * g.N;
  const size_t nc = (size_t)g.M * g.N;
  std::vector<float> A(na), B(nb), C(nc), ref(nc), out(nc);
  unsigned seed = 4711;
  auto frand = [&seed]() {
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 9) / 4194304.0f - 1.0f;
  };
  for (auto &v : A) v = frand();
  for (auto &v : B) v = frand();
  for (auto &v : C) v = frand();
  for (int i = 0; i < g.M; ++i) {
    std::vector<float> row(g.N, 0.0f);
    for (int k = 0; k < g.K; ++k) {
      const float a = A[(size_t)i * g.K + k];
      const float *b = &B[(size_t)k * g.N];
      for (int j = 0; j < g.N; ++j) row[j] += a * b[j];
    }
    for (int j = 0; j < g.N; ++j) ref[(size_t)i * g.N + j] = g.alpha * row[j] + g.beta * C[(size_t)i * g.N + j];
  }
  cudaCheck(cudaMalloc(&g.A, na * sizeof(float)));
  cudaCheck(cudaMalloc(&g.B, nb * sizeof(float)));
  cudaCheck(cudaMalloc(&g.C, nc * sizeof(float)));
  cudaCheck(cudaMalloc(&g.tileCounter, sizeof(int)));
  cudaCheck(cudaMemset(g.tileCounter, 0, sizeof(int)));
  cudaCheck(cudaMemcpy(g.A, A.data(), na * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(g.B, B.data(), nb * sizeof(float), cudaMemcpyHostToDevice));
  int failures = 0;
  for (int day = 1; day <= 6; ++day) {
    cudaCheck(cudaMemcpy(g.C, C.data(), nc * sizeof(float), cudaMemcpyHostToDevice));
    run_kernel(day, g);
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaMemcpy(out.data(), g.C, nc * sizeof(float), cudaMemcpyDeviceToHost));
    float worst = 0;
    for (size_t i = 0; i < nc; ++i) worst = fmaxf(worst, fabsf(out[i] - ref[i]));
    printf("day %d: max diff %g\n", day, worst);
    if (!(worst < 1e-3f)) failures++;
  }
  printf("%s\n", failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
