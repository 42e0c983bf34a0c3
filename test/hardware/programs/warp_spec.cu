#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <int STAGES, int TILE>
__global__ void producer_consumer(const float* __restrict__ in, float* __restrict__ out, int tiles) {
  __shared__ float ring[STAGES][TILE];
  __shared__ volatile int full[STAGES];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float acc[TILE/32] = {};
  if (threadIdx.x < STAGES) full[threadIdx.x] = 0;
  __syncthreads();
  for (int t = 0; t < tiles; ++t) {
    int s = t % STAGES;
    if (warp == 0) {
      for (int i = lane; i < TILE; i += 32) ring[s][i] = in[((size_t)blockIdx.x*tiles + t)*TILE + i];
      if (lane == 0) full[s] = t + 1;
    }
    __syncthreads();
    if (warp != 0) {
#pragma unroll
      for (int i = 0; i < TILE/32; ++i) acc[i] += ring[s][i*32 + lane];
    }
    __syncthreads();
  }
  if (warp == 1)
#pragma unroll
    for (int i = 0; i < TILE/32; ++i) out[blockIdx.x*TILE + i*32 + lane] = acc[i];
}
template <int N>
__global__ void named_barriers(const float4* __restrict__ in, float4* __restrict__ out, int iters) {
  __shared__ float4 buf[2][N];
  const bool producer = threadIdx.x >= N;
  const int t = threadIdx.x % N;
  if (producer) {
    for (int i = 0; i < iters; ++i) {
      int b = i & 1;
      asm volatile("bar.sync %0, %1;" :: "r"(1 + b), "r"(2*N));
      buf[b][t] = in[(blockIdx.x*iters + i)*N + t];
      asm volatile("bar.arrive %0, %1;" :: "r"(3 + b), "r"(2*N));
    }
  } else {
    asm volatile("bar.arrive %0, %1;" :: "r"(1), "r"(2*N)); asm volatile("bar.arrive %0, %1;" :: "r"(2), "r"(2*N));
    for (int i = 0; i < iters; ++i) {
      int b = i & 1;
      asm volatile("bar.sync %0, %1;" :: "r"(3 + b), "r"(2*N));
      float4 v = buf[b][t]; v.x *= 2.f; v.w += 1.f;
      out[(blockIdx.x*iters + i)*N + t] = v;
      if (i + 2 < iters) asm volatile("bar.arrive %0, %1;" :: "r"(1 + b), "r"(2*N));
    }
  }
}
__global__ void pipe_memcpy(const float* __restrict__ g, float* __restrict__ out, int n, int batches) {
  extern __shared__ float sm[];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline();
  int base = blockIdx.x*n*batches;
  for (int b = 0; b < batches; ++b) {
    pipe.producer_acquire();
    cuda::memcpy_async(sm + threadIdx.x, g + base + b*n + threadIdx.x, sizeof(float), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    block.sync();
    out[base + b*n + threadIdx.x] = sm[n - 1 - threadIdx.x];
    pipe.consumer_release();
    block.sync();
  }
}
__global__ void tile_reduce(const int* in, int* out, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = 0;
  for (int i = block.group_index().x*block.size() + block.thread_rank(); i < n; i += gridDim.x*block.size()) v += in[i];
  for (int o = tile.size()/2; o > 0; o /= 2) v += tile.shfl_down(v, o);
  if (tile.thread_rank() == 0) out[blockIdx.x*tile.meta_group_size() + tile.meta_group_rank()] = v;
}
int main() {
  float *a, *b; cudaMalloc(&a, 1<<24); cudaMalloc(&b, 1<<24);
  cudaStream_t st[3]; for (auto& s : st) cudaStreamCreate(&s);
  producer_consumer<3,256><<<64, 160, 0, st[0]>>>(a, b, 32);
  named_barriers<64><<<64, 128, 0, st[1]>>>((float4*)a, (float4*)b, 16);
  pipe_memcpy<<<64, 256, 256*4, st[2]>>>(a, b, 256, 8);
  for (int i = 0; i < 3; ++i) tile_reduce<<<32, 128, 0, st[i]>>>((int*)a + i*65536, (int*)b + i*4096, 65536);
  cudaDeviceSynchronize(); puts("ok");
}
