// cuda::pipeline double buffering, cuda::barrier with memcpy_async, raw cp.async intrinsics.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cstdio>
#include <cstdlib>

namespace cg = cooperative_groups;
#define TILE 256

__global__ void saxpy_pipeline(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, float a,
                               int tiles_per_block) {
  __shared__ alignas(16) float sx[2][TILE];
  __shared__ alignas(16) float sy[2][TILE];
  const int t = threadIdx.x;
  const int base = blockIdx.x * tiles_per_block * TILE;
  __pipeline_memcpy_async(&sx[0][t], &x[base + t], sizeof(float));
  __pipeline_memcpy_async(&sy[0][t], &y[base + t], sizeof(float));
  __pipeline_commit();
  for (int i = 0; i < tiles_per_block; ++i) {
    int cur = i & 1;
    if (i + 1 < tiles_per_block) {
      int next = base + (i + 1) * TILE;
      __pipeline_memcpy_async(&sx[cur ^ 1][t], &x[next + t], sizeof(float));
      __pipeline_memcpy_async(&sy[cur ^ 1][t], &y[next + t], sizeof(float));
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[base + i * TILE + t] = a * sx[cur][TILE - 1 - t] + sy[cur][t];
    __syncthreads();
  }
}

__global__ void vec_copy16(const float4* __restrict__ src, float4* __restrict__ dst, int n4) {
  __shared__ float4 stage[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) __pipeline_memcpy_async(&stage[threadIdx.x], &src[i], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i < n4) {
    float4 v = stage[threadIdx.x];
    v.x *= 2.f; v.y *= 2.f; v.z *= 2.f; v.w *= 2.f;
    dst[i] = v;
  }
}

__global__ void cg_staged(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  auto block = cg::this_thread_block();
  const int per_block = 2 * blockDim.x;
  for (int start = blockIdx.x * per_block; start < n; start += gridDim.x * per_block) {
    int count = min(per_block, n - start);
    cg::memcpy_async(block, smem, in + start, sizeof(float) * count);
    cg::wait(block);
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      float left = i > 0 ? smem[i - 1] : 0.f;
      out[start + i] = smem[i] + left;
    }
    block.sync();
  }
}

__global__ void barrier_copy(const int* in, int* out, int n) {
  using barrier_t = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier_t bar;
  __shared__ int buf[512];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) cuda::memcpy_async(&buf[threadIdx.x], &in[i], sizeof(int), bar);
  bar.arrive_and_wait();
  if (i < n) out[i] = buf[(threadIdx.x * 2) % blockDim.x];
}

int main(int argc, char** argv) {
  int tiles = argc > 1 ? atoi(argv[1]) : 6;
  int blocks = 20;
  int n = tiles * blocks * TILE;
  size_t bytes = n * sizeof(float);
  float *x, *y, *o;
  cudaMallocManaged(&x, bytes);
  cudaMallocManaged(&y, bytes);
  cudaMallocManaged(&o, bytes);
  for (int i = 0; i < n; i++) { x[i] = i % 31; y[i] = i % 17; }
  saxpy_pipeline<<<blocks, TILE>>>(x, y, o, 3.0f, tiles);
  vec_copy16<<<(n / 4 + 127) / 128, 128>>>((const float4*)x, (float4*)y, n / 4);
  cg_staged<<<16, 128, 2 * 128 * sizeof(float)>>>(x, o, n - 100);
  barrier_copy<<<(n + 255) / 256, 256>>>((const int*)x, (int*)o, n);
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) { printf("CUDA error: %s\n", cudaGetErrorString(e)); return 1; }
  printf("done %f\n", o[5]);
  cudaFree(x); cudaFree(y); cudaFree(o);
  return 0;
}
