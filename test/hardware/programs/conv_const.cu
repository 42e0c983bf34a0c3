// Separable convolution with filters in constant memory and a direct 2-D one; pitched memory.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

constexpr int RADIUS = 4;
constexpr int KLEN = 2 * RADIUS + 1;
__constant__ float c_filter[KLEN];
__constant__ float c_filter2d[5 * 5];

template <int BX, int BY, int STEPS>
__global__ void conv_rows(float* dst, const float* src, int width, int height, size_t pitch) {
  __shared__ float s[BY][(STEPS + 2) * BX];
  const int baseX = (blockIdx.x * STEPS - 1) * BX + threadIdx.x;
  const int y = blockIdx.y * BY + threadIdx.y;
  if (y >= height) return;
  src += y * pitch;
  dst += y * pitch;
#pragma unroll
  for (int i = 0; i < STEPS + 2; i++) {
    int x = baseX + i * BX;
    s[threadIdx.y][threadIdx.x + i * BX] = (x >= 0 && x < width) ? src[x] : 0.f;
  }
  __syncthreads();
#pragma unroll
  for (int i = 1; i <= STEPS; i++) {
    float acc = 0;
#pragma unroll
    for (int j = -RADIUS; j <= RADIUS; j++) acc += c_filter[RADIUS - j] * s[threadIdx.y][threadIdx.x + i * BX + j];
    int x = baseX + i * BX;
    if (x < width) dst[x] = acc;
  }
}

template <int BX, int BY>
__global__ void conv_cols(float* dst, const float* src, int width, int height, size_t pitch) {
  __shared__ float s[BX][BY + 2 * RADIUS + 1];
  const int x = blockIdx.x * BX + threadIdx.x;
  const int y0 = blockIdx.y * BY;
  for (int i = threadIdx.y; i < BY + 2 * RADIUS; i += blockDim.y) {
    int y = y0 + i - RADIUS;
    y = y < 0 ? 0 : (y >= height ? height - 1 : y);
    s[threadIdx.x][i] = x < width ? src[y * pitch + x] : 0.f;
  }
  __syncthreads();
  for (int i = threadIdx.y; i < BY; i += blockDim.y) {
    float acc = 0;
#pragma unroll
    for (int j = 0; j < KLEN; ++j) acc = fmaf(c_filter[j], s[threadIdx.x][i + j], acc);
    if (x < width && y0 + i < height) dst[(y0 + i) * pitch + x] = acc;
  }
}

__global__ void conv2d_direct(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0.f;
  for (int fy = -2; fy <= 2; ++fy)
    for (int fx = -2; fx <= 2; ++fx) {
      int xx = min(max(x + fx, 0), w - 1), yy = min(max(y + fy, 0), h - 1);
      sum += in[yy * w + xx] * c_filter2d[(fy + 2) * 5 + fx + 2];
    }
  out[y * w + x] = sum;
}

int main(int argc, char** argv) {
  int w = 300, h = 200;
  if (argc == 3) { w = atoi(argv[1]); h = atoi(argv[2]); }
  float filter[KLEN], f2[25], norm = 0;
  for (int i = 0; i < KLEN; i++) { filter[i] = expf(-0.5f * (i - RADIUS) * (i - RADIUS) / 4.f); norm += filter[i]; }
  for (int i = 0; i < KLEN; i++) filter[i] /= norm;
  for (int i = 0; i < 25; i++) f2[i] = 1.f / 25;
  cudaMemcpyToSymbol(c_filter, filter, sizeof(filter));
  cudaMemcpyToSymbol(c_filter2d, f2, sizeof(f2));
  float *img = new float[w * h];
  for (int i = 0; i < w * h; i++) img[i] = (i * 31 % 255) / 255.f;
  float *d_a, *d_b, *d_c;
  size_t pitchBytes;
  cudaMallocPitch((void**)&d_a, &pitchBytes, w * sizeof(float), h);
  cudaMallocPitch((void**)&d_b, &pitchBytes, w * sizeof(float), h);
  cudaMalloc(&d_c, w * h * sizeof(float));
  cudaMemcpy2D(d_a, pitchBytes, img, w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice);
  cudaMemcpy(d_c, img, w * h * sizeof(float), cudaMemcpyHostToDevice);
  size_t pitch = pitchBytes / sizeof(float);
  {
    dim3 block(16, 4);
    dim3 grid((w + 16 * 8 - 1) / (16 * 8), (h + 3) / 4);
    conv_rows<16, 4, 8><<<grid, block>>>(d_b, d_a, w, h, pitch);
  }
  {
    dim3 block(32, 8), grid((w + 31) / 32, (h + 31) / 32);
    conv_cols<32, 32><<<grid, block>>>(d_a, d_b, w, h, pitch);
  }
  float* d_o;
  cudaMalloc(&d_o, w * h * sizeof(float));
  dim3 b(32, 4);
  conv2d_direct<<<dim3((w + b.x - 1) / b.x, (h + b.y - 1) / b.y), b>>>(d_c, d_o, w, h);
  float* res = new float[w * h];
  cudaMemcpy2D(res, w * sizeof(float), d_a, pitchBytes, w * sizeof(float), h, cudaMemcpyDeviceToHost);
  printf("%f\n", res[w * h / 2]);
  delete[] img; delete[] res;
  return cudaDeviceReset() != cudaSuccess;
}
