// Half GEMM staged with cp.async inline PTX, xor swizzle on 16-byte chunks, scalar math; K loop with stage ring.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <int kM, int kN, int kK, int kStages>
struct Config {
  static constexpr int M = kM, N = kN, K = kK, Stages = kStages;
  static constexpr int Threads = 128;
  static constexpr int ChunksPerRow = K / 8;
  static constexpr int ATile = M * K, BTile = N * K;
  static constexpr int SmemBytes = Stages * (ATile + BTile) * (int)sizeof(half);
};

__device__ __forceinline__ void cp_async16(void* smem, const void* gmem) {
  uint32_t s = static_cast<uint32_t>(__cvta_generic_to_shared(smem));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(s), "l"(gmem));
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::); }
template <int n> __device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(n)); }

template <class C>
__device__ __forceinline__ int swizzle(int row, int chunk) { return row * C::K + ((chunk ^ (row % C::ChunksPerRow)) * 8); }

template <class C>
__device__ void load_tile(half* dst, const half* src, int rows, int ld) {
  for (int i = threadIdx.x; i < rows * C::ChunksPerRow; i += C::Threads) {
    int r = i / C::ChunksPerRow, c = i % C::ChunksPerRow;
    cp_async16(dst + swizzle<C>(r, c), src + (size_t)r * ld + c * 8);
  }
}

// A: M x K row-major, B: N x K row-major (transposed)
template <class C>
__global__ void __launch_bounds__(C::Threads) hgemm(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ D,
                                                    int M, int N, int K) {
  extern __shared__ __align__(128) half smem[];
  half* sA = smem;
  half* sB = smem + C::Stages * C::ATile;
  const int m0 = blockIdx.y * C::M, n0 = blockIdx.x * C::N;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  constexpr int RM = C::M / 8, RN = C::N / 16;
  float acc[RM][RN] = {};
  const int tiles = K / C::K;
#pragma unroll
  for (int s = 0; s < C::Stages - 1; ++s) {
    if (s < tiles) {
      load_tile<C>(sA + s * C::ATile, A + (size_t)m0 * K + s * C::K, C::M, K);
      load_tile<C>(sB + s * C::BTile, B + (size_t)n0 * K + s * C::K, C::N, K);
    }
    cp_commit();
  }
  for (int t = 0; t < tiles; ++t) {
    cp_wait<C::Stages - 2>();
    __syncthreads();
    int nt = t + C::Stages - 1;
    if (nt < tiles) {
      int s = nt % C::Stages;
      load_tile<C>(sA + s * C::ATile, A + (size_t)m0 * K + nt * C::K, C::M, K);
      load_tile<C>(sB + s * C::BTile, B + (size_t)n0 * K + nt * C::K, C::N, K);
    }
    cp_commit();
    const half* a = sA + (t % C::Stages) * C::ATile;
    const half* b = sB + (t % C::Stages) * C::BTile;
#pragma unroll
    for (int c = 0; c < C::ChunksPerRow; ++c) {
#pragma unroll
      for (int i = 0; i < RM; ++i) {
        int r = ty + i * 8;
        uint4 av = *reinterpret_cast<const uint4*>(a + swizzle<C>(r, c));
        const half2* ah = reinterpret_cast<const half2*>(&av);
#pragma unroll
        for (int j = 0; j < RN; ++j) {
          int q = tx + j * 16;
          uint4 bv = *reinterpret_cast<const uint4*>(b + swizzle<C>(q, c));
          const half2* bh = reinterpret_cast<const half2*>(&bv);
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            float2 x = __half22float2(ah[k]), y = __half22float2(bh[k]);
            acc[i][j] += x.x * y.x + x.y * y.y;
          }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < RM; ++i)
#pragma unroll
    for (int j = 0; j < RN; ++j) D[(size_t)(m0 + ty + i * 8) * N + n0 + tx + j * 16] = acc[i][j];
}

template <class C>
cudaError_t launch(const half* a, const half* b, float* d, int M, int N, int K, cudaStream_t s) {
  auto kernel = hgemm<C>;
  if (C::SmemBytes > 48 * 1024) {
    cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::SmemBytes);
    if (e != cudaSuccess) return e;
  }
  kernel<<<dim3(N / C::N, M / C::M), C::Threads, C::SmemBytes, s>>>(a, b, d, M, N, K);
  return cudaGetLastError();
}

int main(int argc, char** argv) {
  int M = 128, N = 192, K = argc > 1 ? atoi(argv[1]) : 256;
  std::vector<half> a(M * K), b(N * K);
  for (int i = 0; i < M * K; ++i) a[i] = __float2half((i % 5) * 0.25f);
  for (int i = 0; i < N * K; ++i) b[i] = __float2half((i % 3) * 0.5f);
  half *da, *db;
  float* dd;
  cudaMalloc(&da, a.size() * sizeof(half));
  cudaMalloc(&db, b.size() * sizeof(half));
  cudaMalloc(&dd, M * N * sizeof(float));
  cudaMemcpy(da, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice);
  cudaStream_t st;
  cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking);
  cudaError_t e = launch<Config<32, 32, 32, 3>>(da, db, dd, M, N, K, st);
  if (e == cudaSuccess) e = launch<Config<64, 64, 64, 4>>(da, db, dd, M, N, K, st);
  cudaStreamSynchronize(st);
  std::vector<float> d(M * N);
  cudaMemcpy(d.data(), dd, d.size() * 4, cudaMemcpyDeviceToHost);
  float ref = 0;
  for (int k = 0; k < K; ++k) ref += (k % 5) * 0.25f * ((k % 3) * 0.5f);
  printf("%s: %f (%f)\n", cudaGetErrorString(e), d[0], ref);
  return e != cudaSuccess;
}
