// Transposes: naive, tiled without padding, padded, xor-swizzled, float4 rows, diagonal blocks. Launched from a table.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { TILE_DIM = 32, BLOCK_ROWS = 8 };

__global__ void t_naive(float* out, const float* in, int w, int h) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < w && y + j < h) out[x * h + y + j] = in[(y + j) * w + x];
}

template <int PAD>
__global__ void t_tiled(float* out, const float* in, int w, int h) {
  __shared__ float tile[TILE_DIM][TILE_DIM + PAD];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

__device__ __forceinline__ int swz(int r, int c) { return r * TILE_DIM + (c ^ r); }

__global__ void t_swizzled(float* out, const float* in, int w, int h) {
  __shared__ float tile[TILE_DIM * TILE_DIM];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = threadIdx.y; j < TILE_DIM; j += BLOCK_ROWS) {
    int gy = blockIdx.y * TILE_DIM + j;
    if (x < w && gy < h) tile[swz(j, threadIdx.x)] = in[gy * w + x];
  }
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  for (int j = threadIdx.y; j < TILE_DIM; j += BLOCK_ROWS) {
    y = blockIdx.x * TILE_DIM + j;
    if (x < h && y < w) out[y * h + x] = tile[swz(threadIdx.x, j)];
  }
}

// every thread moves a 4x4 sub-tile through float4
__global__ void t_vec4(float* __restrict__ out, const float* __restrict__ in, int w, int h) {
  __shared__ float tile[32][36];
  int tx = threadIdx.x, ty = threadIdx.y;  // 8 x 32
  int gx = blockIdx.x * 32 + tx * 4, gy = blockIdx.y * 32 + ty;
  float4 v = *reinterpret_cast<const float4*>(&in[gy * w + gx]);
  *reinterpret_cast<float4*>(&tile[ty][tx * 4]) = v;
  __syncthreads();
  float4 o;
  o.x = tile[tx * 4 + 0][ty];
  o.y = tile[tx * 4 + 1][ty];
  o.z = tile[tx * 4 + 2][ty];
  o.w = tile[tx * 4 + 3][ty];
  *reinterpret_cast<float4*>(&out[(blockIdx.x * 32 + ty) * h + blockIdx.y * 32 + tx * 4]) = o;
}

__global__ void t_diagonal(float* out, const float* in, int w, int h) {
  __shared__ float tile[TILE_DIM][TILE_DIM + 1];
  int by = blockIdx.x, bx = (blockIdx.x + blockIdx.y) % gridDim.x;
  int x = bx * TILE_DIM + threadIdx.x, y = by * TILE_DIM + threadIdx.y;
  int in_idx = x + y * w;
  int ox = by * TILE_DIM + threadIdx.x, oy = bx * TILE_DIM + threadIdx.y;
  int out_idx = ox + oy * h;
  for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS) tile[threadIdx.y + i][threadIdx.x] = in[in_idx + i * w];
  __syncthreads();
  for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS) out[out_idx + i * h] = tile[threadIdx.x][threadIdx.y + i];
}

typedef void (*Kernel)(float*, const float*, int, int);
struct Variant { const char* name; Kernel fn; dim3 block; };

int main(int argc, char** argv) {
  int w = argc > 1 ? atoi(argv[1]) : 256, h = argc > 2 ? atoi(argv[2]) : 256;
  size_t bytes = sizeof(float) * w * h;
  float *h_in = (float*)malloc(bytes), *h_out = (float*)malloc(bytes), *d_in, *d_out;
  for (int i = 0; i < w * h; i++) h_in[i] = (float)i;
  cudaMalloc(&d_in, bytes);
  cudaMalloc(&d_out, bytes);
  cudaMemcpy(d_in, h_in, bytes, cudaMemcpyHostToDevice);
  Variant variants[] = {
      {"naive", t_naive, dim3(TILE_DIM, BLOCK_ROWS)},
      {"tiled", t_tiled<0>, dim3(TILE_DIM, BLOCK_ROWS)},
      {"padded", t_tiled<1>, dim3(TILE_DIM, BLOCK_ROWS)},
      {"swizzled", t_swizzled, dim3(TILE_DIM, BLOCK_ROWS)},
      {"vec4", t_vec4, dim3(8, 32)},
      {"diagonal", t_diagonal, dim3(TILE_DIM, BLOCK_ROWS)},
  };
  dim3 grid((w + TILE_DIM - 1) / TILE_DIM, (h + TILE_DIM - 1) / TILE_DIM);
  int errors = 0;
  for (const Variant& v : variants) {
    cudaMemset(d_out, 0, bytes);
    v.fn<<<grid, v.block>>>(d_out, d_in, w, h);
    cudaMemcpy(h_out, d_out, bytes, cudaMemcpyDeviceToHost);
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        if (h_out[x * h + y] != h_in[y * w + x]) { errors++; }
    printf("%-10s %s\n", v.name, errors ? "FAIL" : "ok");
  }
  return errors;
}
