// Haar wavelet levels on rows/columns, 8x8 DCT with shared tile and constant table, zig-zag quantisation, YUV split.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__constant__ float c_dct[64];
__constant__ unsigned char c_zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
                                           41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
                                           30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
__device__ const int d_quant[8] = {16, 11, 10, 16, 24, 40, 51, 61};

__global__ void haar_rows(const float* in, float* out, int w, int len) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (i < len / 2) {
    float a = in[y * w + 2 * i], b = in[y * w + 2 * i + 1];
    out[y * w + i] = (a + b) * 0.70710678f;
    out[y * w + len / 2 + i] = (a - b) * 0.70710678f;
  }
}

__global__ void haar_cols(const float* in, float* out, int w, int len) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && i < len / 2) {
    float a = in[(2 * i) * w + x], b = in[(2 * i + 1) * w + x];
    out[i * w + x] = (a + b) * 0.70710678f;
    out[(len / 2 + i) * w + x] = (a - b) * 0.70710678f;
  }
}

__global__ void dct8(const float* __restrict__ src, short* __restrict__ dst, int w) {
  __shared__ float blk[4][8][9];
  __shared__ float tmp[4][8][9];
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const int bx = blockIdx.x * 4 + z;
  blk[z][y][x] = src[(blockIdx.y * 8 + y) * w + bx * 8 + x] - 128.f;
  __syncthreads();
  float s = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) s += c_dct[x * 8 + k] * blk[z][y][k];
  tmp[z][y][x] = s;
  __syncthreads();
  s = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) s += c_dct[y * 8 + k] * tmp[z][k][x];
  int q = (int)rintf(s / d_quant[x]);
  dst[(blockIdx.y * (w / 8) + bx) * 64 + c_zigzag[y * 8 + x]] = q;
}

__global__ void rgb_planes(const unsigned char* __restrict__ rgb, float* __restrict__ yy, unsigned char* __restrict__ u, unsigned char* __restrict__ v, int w, int h) {
  int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x), y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
  if (x + 1 >= w || y + 1 >= h) return;
  float su = 0, sv = 0;
#pragma unroll
  for (int dy = 0; dy < 2; ++dy)
#pragma unroll
    for (int dx = 0; dx < 2; ++dx) {
      const unsigned char* p = rgb + ((y + dy) * w + x + dx) * 3;
      float r = p[0], g = p[1], b = p[2];
      yy[(y + dy) * w + x + dx] = 0.299f * r + 0.587f * g + 0.114f * b;
      su += -0.169f * r - 0.331f * g + 0.5f * b;
      sv += 0.5f * r - 0.419f * g - 0.081f * b;
    }
  u[(y / 2) * (w / 2) + x / 2] = (unsigned char)(su * 0.25f + 128.f);
  v[(y / 2) * (w / 2) + x / 2] = (unsigned char)(sv * 0.25f + 128.f);
}

__global__ void count_nonzero(const short* __restrict__ q, int* __restrict__ counts) {
  const short4* p = reinterpret_cast<const short4*>(q) + blockIdx.x * 16;
  int n = 0;
  if (threadIdx.x < 16) {
    short4 v = p[threadIdx.x];
    n = (v.x != 0) + (v.y != 0) + (v.z != 0) + (v.w != 0);
  }
  for (int o = 16; o; o >>= 1) n += __shfl_down_sync(0xffffffffu, n, o);
  if (threadIdx.x == 0) counts[blockIdx.x] = n;
}

int main(int argc, char** argv) {
  int w = argc > 1 ? atoi(argv[1]) : 256, h = argc > 2 ? atoi(argv[2]) : 128;
  unsigned char* hrgb = (unsigned char*)malloc(w * h * 3);
  for (int i = 0; i < w * h * 3; ++i) hrgb[i] = (unsigned char)(i * 13);
  float table[64];
  for (int u = 0; u < 8; ++u)
    for (int k = 0; k < 8; ++k) table[u * 8 + k] = (u ? 0.5f : 0.35355339f) * cosf((2 * k + 1) * u * 3.14159265f / 16);
  cudaMemcpyToSymbol(c_dct, table, sizeof table);
  unsigned char *rgb, *u, *v;
  float *y, *a, *b;
  short* q;
  int* counts;
  cudaMalloc(&rgb, w * h * 3); cudaMalloc(&u, w * h / 4); cudaMalloc(&v, w * h / 4);
  cudaMalloc(&y, w * h * 4); cudaMalloc(&a, w * h * 4); cudaMalloc(&b, w * h * 4);
  cudaMalloc(&q, w * h * 2); cudaMalloc(&counts, w * h / 64 * 4);
  cudaMemcpy(rgb, hrgb, w * h * 3, cudaMemcpyHostToDevice);
  rgb_planes<<<dim3((w / 2 + 31) / 32, (h / 2 + 3) / 4), dim3(32, 4)>>>(rgb, y, u, v, w, h);
  dct8<<<dim3(w / 32, h / 8), dim3(8, 8, 4)>>>(y, q, w);
  count_nonzero<<<w * h / 64, 32>>>(q, counts);
  cudaMemcpy(a, y, w * h * 4, cudaMemcpyDeviceToDevice);
  for (int lw = w, lh = h; lw >= 64 && lh >= 32; lw /= 2, lh /= 2) {
    haar_rows<<<dim3((lw / 2 + 127) / 128, lh), 128>>>(a, b, w, lw);
    haar_cols<<<dim3((lw + 31) / 32, (lh / 2 + 7) / 8), dim3(32, 8)>>>(b, a, w, lh);
  }
  int c0;
  cudaMemcpy(&c0, counts, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", c0);
  free(hrgb);
  return 0;
}
