// 7-point heat stencil on a 3-D grid: naive, shared-tile with halo, z-marching. Time loop with pointer swap.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <cuda_runtime.h>

struct Grid3 {
  int nx, ny, nz;
  __host__ __device__ int index(int x, int y, int z) const { return (z * ny + y) * nx + x; }
  __host__ __device__ bool interior(int x, int y, int z) const {
    return x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < nz - 1;
  }
  __host__ __device__ size_t cells() const { return (size_t)nx * ny * nz; }
};

__global__ void heat_naive(Grid3 g, const float* __restrict__ in, float* __restrict__ out, float c) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (!g.interior(x, y, z)) return;
  float center = in[g.index(x, y, z)];
  float sum = in[g.index(x - 1, y, z)] + in[g.index(x + 1, y, z)] +
              in[g.index(x, y - 1, z)] + in[g.index(x, y + 1, z)] +
              in[g.index(x, y, z - 1)] + in[g.index(x, y, z + 1)];
  out[g.index(x, y, z)] = center + c * (sum - 6.0f * center);
}

constexpr int TX = 32, TY = 8;

__global__ void heat_march(Grid3 g, const float* __restrict__ in, float* __restrict__ out, float c) {
  __shared__ float tile[TY + 2][TX + 2];
  const int x = blockIdx.x * TX + threadIdx.x;
  const int y = blockIdx.y * TY + threadIdx.y;
  const int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  const bool inside = x < g.nx && y < g.ny;
  const bool active = x > 0 && y > 0 && x < g.nx - 1 && y < g.ny - 1;

  float below = inside ? in[g.index(x, y, 0)] : 0.0f;
  float here = inside ? in[g.index(x, y, 1)] : 0.0f;
  for (int z = 1; z < g.nz - 1; ++z) {
    float above = inside ? in[g.index(x, y, z + 1)] : 0.0f;
    tile[ly][lx] = here;
    if (active) {
      if (threadIdx.x == 0) tile[ly][0] = in[g.index(x - 1, y, z)];
      if (threadIdx.x == TX - 1) tile[ly][TX + 1] = in[g.index(x + 1, y, z)];
      if (threadIdx.y == 0) tile[0][lx] = in[g.index(x, y - 1, z)];
      if (threadIdx.y == TY - 1) tile[TY + 1][lx] = in[g.index(x, y + 1, z)];
    }
    __syncthreads();
    if (active) {
      float s = tile[ly][lx - 1] + tile[ly][lx + 1] + tile[ly - 1][lx] + tile[ly + 1][lx] + below + above;
      out[g.index(x, y, z)] = here + c * (s - 6.0f * here);
    }
    __syncthreads();
    below = here;
    here = above;
  }
}

int main(int argc, char* argv[]) {
  Grid3 g{66, 50, 20};
  int steps = 4;
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--steps") && i + 1 < argc) steps = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--nx") && i + 1 < argc) g.nx = atoi(argv[++i]);
  }
  size_t bytes = g.cells() * sizeof(float);
  float* h = (float*)malloc(bytes);
  for (size_t i = 0; i < g.cells(); ++i) h[i] = (i % 97) / 97.0f;
  float *a, *b, *c, *d;
  cudaMalloc((void**)&a, bytes);
  cudaMalloc((void**)&b, bytes);
  cudaMalloc((void**)&c, bytes);
  cudaMalloc((void**)&d, bytes);
  for (float* p : {a, b, c, d}) cudaMemcpy(p, h, bytes, cudaMemcpyHostToDevice);

  dim3 block(16, 4, 4);
  dim3 grid((g.nx + block.x - 1) / block.x, (g.ny + block.y - 1) / block.y, (g.nz + block.z - 1) / block.z);
  for (int t = 0; t < steps; ++t) {
    heat_naive<<<grid, block>>>(g, a, b, 0.1f);
    std::swap(a, b);
  }
  dim3 block2(TX, TY);
  dim3 grid2((g.nx + TX - 1) / TX, (g.ny + TY - 1) / TY);
  for (int t = 0; t < steps; ++t) {
    heat_march<<<grid2, block2>>>(g, c, d, 0.1f);
    float* tmp = c; c = d; d = tmp;
  }
  cudaDeviceSynchronize();
  float* r1 = (float*)malloc(bytes);
  float* r2 = (float*)malloc(bytes);
  cudaMemcpy(r1, a, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(r2, c, bytes, cudaMemcpyDeviceToHost);
  size_t bad = 0;
  for (size_t i = 0; i < g.cells(); ++i) bad += fabsf(r1[i] - r2[i]) > 1e-5f;
  printf("mismatches: %zu\n", bad);
  return bad != 0;
}
