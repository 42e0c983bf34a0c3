// Histograms: global atomics, shared privatised, per-warp copies, byte input via uint4 loads.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

static constexpr int BINS = 256;

__global__ void histo_global(const uint8_t* data, size_t n, unsigned* bins) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  size_t stride = blockDim.x * gridDim.x;
  while (i < n) {
    atomicAdd(&bins[data[i]], 1u);
    i += stride;
  }
}

__global__ void histo_shared(const uint8_t* data, size_t n, unsigned* bins) {
  __shared__ unsigned local[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(local + data[i], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    if (local[b]) atomicAdd(bins + b, local[b]);
}

template <int WARPS>
__global__ void __launch_bounds__(WARPS * 32) histo_warp(const uint4* __restrict__ data, int n16, unsigned* __restrict__ bins) {
  __shared__ unsigned sub[WARPS][BINS];
  unsigned* mine = sub[threadIdx.x >> 5];
  for (int i = threadIdx.x & 31; i < BINS; i += 32) mine[i] = 0;
  __syncwarp();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n16; i += blockDim.x * gridDim.x) {
    uint4 v = data[i];
    auto add4 = [&](unsigned w) {
      atomicAdd(&mine[w & 0xff], 1u);
      atomicAdd(&mine[(w >> 8) & 0xff], 1u);
      atomicAdd(&mine[(w >> 16) & 0xff], 1u);
      atomicAdd(&mine[w >> 24], 1u);
    };
    add4(v.x);
    add4(v.y);
    add4(v.z);
    add4(v.w);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += WARPS * 32) {
    unsigned s = 0;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) s += sub[w][b];
    atomicAdd(&bins[b], s);
  }
}

int main(int argc, char** argv) {
  size_t n = 1 << 16;
  if (argc > 1) n = strtoull(argv[1], nullptr, 10);
  uint8_t* h = (uint8_t*)malloc(n);
  uint32_t lcg = 7;
  for (size_t i = 0; i < n; ++i) {
    lcg = lcg * 1103515245u + 12345u;
    h[i] = (lcg >> 16) & 0xff;
  }
  uint8_t* d;
  unsigned* bins;
  cudaMalloc(&d, n);
  cudaMalloc(&bins, BINS * sizeof(unsigned));
  cudaMemcpy(d, h, n, cudaMemcpyHostToDevice);
  unsigned ref[BINS] = {0};
  for (size_t i = 0; i < n; i++) ref[h[i]]++;
  unsigned got[BINS];
  int rc = 0;
  for (int v = 0; v < 3; v++) {
    cudaMemset(bins, 0, sizeof(got));
    if (v == 0) histo_global<<<32, 256>>>(d, n, bins);
    else if (v == 1) histo_shared<<<32, 256>>>(d, n, bins);
    else histo_warp<6><<<16, 6 * 32>>>(reinterpret_cast<const uint4*>(d), (int)(n / 16), bins);
    cudaMemcpy(got, bins, sizeof(got), cudaMemcpyDeviceToHost);
    if (memcmp(got, ref, sizeof got)) { printf("variant %d wrong\n", v); rc = 1; }
  }
  free(h);
  cudaFree(d);
  cudaFree(bins);
  return rc;
}
