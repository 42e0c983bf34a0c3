// Cooperative launch with grid.sync, labelled partition, tile of 4 with warps of mixed work, this_thread.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

__global__ void diffuse(float* a, float* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) {
      float l = a[i == 0 ? n - 1 : i - 1], r = a[i == n - 1 ? 0 : i + 1];
      b[i] = 0.25f * l + 0.5f * a[i] + 0.25f * r;
    }
    grid.sync();
    float* t = a; a = b; b = t;
  }
}

template <int T>
__global__ void rows_by_tile(const float* __restrict__ m, float* __restrict__ sums, int rows, int cols) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<T>(block);
  int row = block.group_index().x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= rows) return;
  float s = 0;
  for (int c = tile.thread_rank(); c < cols; c += tile.num_threads()) s += m[row * cols + c];
  s = cg::reduce(tile, s, cg::plus<float>{});
  if (tile.thread_rank() == 0) sums[row] = s;
}

__global__ void tile_scan(const int* in, int* out, int n) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int i = cg::this_grid().thread_rank();
  int v = i < n ? in[i] : 0;
  int ex = cg::exclusive_scan(warp, v);
  int inc = cg::inclusive_scan(warp, v, cg::plus<int>());
  if (i < n) out[i] = ex + inc;
}

__global__ void coalesced_count(const int* in, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(count, active.size());
  }
}

__global__ void shfl_transpose(const float* in, float* out) {
  auto tile = cg::tiled_partition<4>(cg::this_thread_block());
  int t = threadIdx.x + blockIdx.x * blockDim.x;
  int q = t / 4, r = tile.thread_rank();
  float v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = in[q * 16 + k * 4 + r];
  float o[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float x = tile.shfl(v[j], k);
      if (r == j) o[k] = x;
    }
  }
  reinterpret_cast<float4*>(out)[t] = make_float4(o[0], o[1], o[2], o[3]);
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 20000;
  int steps = 3;
  float *a, *b;
  int *ia, *ib;
  cudaMallocManaged(&a, n * sizeof(float));
  cudaMallocManaged(&b, n * sizeof(float));
  cudaMallocManaged(&ia, n * sizeof(int));
  cudaMallocManaged(&ib, n * sizeof(int));
  for (int i = 0; i < n; ++i) { a[i] = i & 1; ia[i] = i; ib[i] = 0; }
  int dev = 0, sms = 0, per = 0;
  cudaGetDevice(&dev);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, diffuse, 128, 0);
  int blocks = sms * per < 40 ? sms * per : 40;
  void* args[] = {&a, &b, &n, &steps};
  cudaLaunchCooperativeKernel((void*)diffuse, dim3(blocks), dim3(128), args, 0, nullptr);
  rows_by_tile<16><<<(200 * 16 + 127) / 128, 128>>>(a, b, 200, 77);
  rows_by_tile<8><<<(200 * 8 + 127) / 128, 128>>>(a, b, 200, 77);
  tile_scan<<<(n + 255) / 256, 256>>>(ia, ib, n);
  coalesced_count<<<(n + 255) / 256, 256>>>(ia, ib, n);
  shfl_transpose<<<n / 4 / 128, 128>>>(a, b);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  printf("%f %d\n", b[0], ib[0]);
  return 0;
}
