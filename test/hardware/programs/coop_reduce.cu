// Reductions with cooperative groups: tiles, cg::reduce, grid-stride and a final kernel.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <iostream>
#include <numeric>
#include <vector>

namespace cg = cooperative_groups;

template <typename T, unsigned TileSize>
__device__ T tile_sum(cg::thread_block_tile<TileSize> tile, T v) {
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) v += tile.shfl_down(v, offset);
  return v;
}

template <typename T>
__global__ void reduce_partial(const T* __restrict__ in, T* __restrict__ partial, size_t n) {
  extern __shared__ unsigned char raw[];
  T* warp_sums = reinterpret_cast<T*>(raw);
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  T sum = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) sum += in[i];
  sum = tile_sum<T, 32>(warp, sum);
  if (warp.thread_rank() == 0) warp_sums[warp.meta_group_rank()] = sum;
  block.sync();
  if (warp.meta_group_rank() == 0) {
    T v = warp.thread_rank() < warp.meta_group_size() ? warp_sums[warp.thread_rank()] : T(0);
    v = cg::reduce(warp, v, cg::plus<T>());
    if (block.thread_rank() == 0) partial[block.group_index().x] = v;
  }
}

__global__ void reduce_final(const float* partial, float* out, int count) {
  auto block = cg::this_thread_block();
  __shared__ float buf[256];
  unsigned r = block.thread_rank();
  buf[r] = r < count ? partial[r] : 0.f;
  cg::sync(block);
  for (unsigned s = block.size() / 2; s > 0; s >>= 1) {
    if (r < s) buf[r] += buf[r + s];
    block.sync();
  }
  if (r == 0) *out = buf[0];
}

// interleaved addressing with growing strides: conflicts
__global__ void reduce_strided(const float* in, float* out) {
  __shared__ float s[256];
  const unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    unsigned i = 2 * stride * t;
    if (i < blockDim.x) s[i] += s[i + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void tile_max(const int* in, int* out, int n) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : INT_MIN;
  int m = cg::reduce(tile, v, cg::greater<int>());
  if (tile.thread_rank() == 0 && i < n) out[i / 8] = m;
}

int main(int argc, char** argv) {
  const size_t n = argc > 1 ? std::stoul(argv[1]) : 100000;
  const int blocks = 48, threads = 256;
  std::vector<float> h(n);
  for (size_t i = 0; i < n; ++i) h[i] = static_cast<float>(i & 15);
  float *d_in, *d_partial, *d_out;
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_partial, blocks * sizeof(float));
  cudaMalloc(&d_out, sizeof(float));
  cudaMemcpy(d_in, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  reduce_partial<float><<<blocks, threads, (threads / 32) * sizeof(float)>>>(d_in, d_partial, n);
  reduce_final<<<1, 256>>>(d_partial, d_out, blocks);
  float got = 0;
  cudaMemcpy(&got, d_out, sizeof(float), cudaMemcpyDeviceToHost);
  reduce_strided<<<blocks, threads>>>(d_in, d_partial);

  std::vector<int> hi(n);
  std::iota(hi.begin(), hi.end(), 0);
  int *d_i, *d_m;
  cudaMalloc(&d_i, n * sizeof(int));
  cudaMalloc(&d_m, (n / 8 + 1) * sizeof(int));
  cudaMemcpy(d_i, hi.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  tile_max<<<(n + 127) / 128, 128>>>(d_i, d_m, (int)n);
  cudaDeviceSynchronize();
  double want = std::accumulate(h.begin(), h.end(), 0.0);
  std::cout << "got " << got << " want " << want << std::endl;
  return std::abs(got - want) < 1 ? 0 : 1;
}
