// Persistent blocks with a work counter, mandelbrot tiles, warp-aggregated queue, last-block reduction with threadfence.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

__device__ unsigned int g_next;
__device__ unsigned int g_done;

__global__ void reset() { g_next = 0; g_done = 0; }

__global__ void mandel_tiles(unsigned short* img, int w, int h, int tile, int maxit) {
  __shared__ unsigned s_tile;
  const int tx = (w + tile - 1) / tile, ty = (h + tile - 1) / tile;
  while (true) {
    if (threadIdx.x == 0 && threadIdx.y == 0) s_tile = atomicAdd(&g_next, 1u);
    __syncthreads();
    unsigned t = s_tile;
    __syncthreads();
    if (t >= (unsigned)(tx * ty)) return;
    int bx = (t % tx) * tile, by = (t / tx) * tile;
    for (int y = by + threadIdx.y; y < min(by + tile, h); y += blockDim.y)
      for (int x = bx + threadIdx.x; x < min(bx + tile, w); x += blockDim.x) {
        float cr = -2.f + 3.f * x / w, ci = -1.f + 2.f * y / h, zr = 0, zi = 0;
        int it = 0;
        while (it < maxit && zr * zr + zi * zi < 4.f) {
          float t2 = zr * zr - zi * zi + cr;
          zi = 2 * zr * zi + ci;
          zr = t2;
          ++it;
        }
        img[y * w + x] = it;
      }
  }
}

__global__ void sum_last_block(const unsigned short* __restrict__ img, int n, unsigned long long* partial, unsigned long long* total) {
  __shared__ unsigned long long s[256];
  __shared__ bool last;
  unsigned long long a = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a += img[i];
  s[threadIdx.x] = a;
  __syncthreads();
  for (int k = 128; k > 0; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&g_done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    unsigned long long v = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) v += partial[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
      if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
      __syncthreads();
    }
    if (threadIdx.x == 0) *total = s[0];
  }
}

__global__ void filter_queue(const unsigned short* img, int n, int* queue, unsigned* size, int limit) {
  __shared__ int local[256];
  __shared__ unsigned count, base;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && img[i] >= limit) {
    unsigned p = atomicAdd(&count, 1u);
    local[p] = i;
  }
  __syncthreads();
  if (threadIdx.x == 0) base = atomicAdd(size, count);
  __syncthreads();
  for (unsigned k = threadIdx.x; k < count; k += blockDim.x) queue[base + k] = local[k];
}

__global__ void row_any(const unsigned short* img, int w, int* flags, int limit) {
  int any = 0;
  for (int x0 = 0; x0 < w; x0 += blockDim.x) {
    int x = x0 + threadIdx.x;
    any |= __syncthreads_or(x < w && img[blockIdx.x * w + x] >= limit);
  }
  if (threadIdx.x == 0) flags[blockIdx.x] = any;
}

int main(int argc, char** argv) {
  int w = argc > 1 ? atoi(argv[1]) : 200, h = argc > 2 ? atoi(argv[2]) : 130;
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int blocks = prop.multiProcessorCount < 24 ? prop.multiProcessorCount : 24;
  unsigned short* img;
  unsigned long long *part, *total, ht = 0;
  int *queue, *flags;
  unsigned* size;
  cudaMalloc(&img, w * h * 2);
  cudaMalloc(&part, 64 * 8);
  cudaMalloc(&total, 8);
  cudaMalloc(&queue, w * h * 4);
  cudaMalloc(&flags, h * 4);
  cudaMalloc(&size, 4);
  cudaMemset(size, 0, 4);
  reset<<<1, 1>>>();
  mandel_tiles<<<blocks, dim3(16, 8)>>>(img, w, h, 16, 60);
  sum_last_block<<<40, 256>>>(img, w * h, part, total);
  filter_queue<<<(w * h + 255) / 256, 256>>>(img, w * h, queue, size, 60);
  row_any<<<h, 64>>>(img, w, flags, 60);
  cudaMemcpy(&ht, total, 8, cudaMemcpyDeviceToHost);
  std::vector<unsigned short> hi(w * h);
  cudaMemcpy(hi.data(), img, w * h * 2, cudaMemcpyDeviceToHost);
  unsigned long long ref = 0;
  for (auto v : hi) ref += v;
  printf("%llu %llu\n", ht, ref);
  return ht != ref;
}
