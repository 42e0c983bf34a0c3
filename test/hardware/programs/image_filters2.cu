// Bilateral, Sobel, box filter by running sums, uchar4 to grey, 3x3 median on a shared tile.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))
#define R 3

struct Image {
  unsigned char* data;
  int width, height;
  size_t pitch;
  __device__ unsigned char& at(int x, int y) { return data[y * pitch + x]; }
  __device__ unsigned char clamped(int x, int y) const {
    x = min(max(x, 0), width - 1);
    y = min(max(y, 0), height - 1);
    return data[y * pitch + x];
  }
};

__global__ void to_grey(const uchar4* __restrict__ rgba, Image out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < out.width && y < out.height) {
    uchar4 p = rgba[y * out.width + x];
    out.at(x, y) = (unsigned char)(0.299f * p.x + 0.587f * p.y + 0.114f * p.z);
  }
}

__global__ void sobel(Image in, Image out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= in.width || y >= in.height) return;
  int gx = -in.clamped(x - 1, y - 1) - 2 * in.clamped(x - 1, y) - in.clamped(x - 1, y + 1)
         + in.clamped(x + 1, y - 1) + 2 * in.clamped(x + 1, y) + in.clamped(x + 1, y + 1);
  int gy = -in.clamped(x - 1, y - 1) - 2 * in.clamped(x, y - 1) - in.clamped(x + 1, y - 1)
         + in.clamped(x - 1, y + 1) + 2 * in.clamped(x, y + 1) + in.clamped(x + 1, y + 1);
  int m = abs(gx) + abs(gy);
  out.at(x, y) = m > 255 ? 255 : m;
}

__global__ void bilateral(Image in, Image out, float sr) {
  extern __shared__ unsigned char tile[];
  const int tw = blockDim.x + 2 * R, th = blockDim.y + 2 * R;
  const int x0 = blockIdx.x * blockDim.x - R, y0 = blockIdx.y * blockDim.y - R;
  for (int ty = threadIdx.y; ty < th; ty += blockDim.y)
    for (int tx = threadIdx.x; tx < tw; tx += blockDim.x) tile[ty * tw + tx] = in.clamped(x0 + tx, y0 + ty);
  __syncthreads();
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= in.width || y >= in.height) return;
  float c = tile[(threadIdx.y + R) * tw + threadIdx.x + R], num = 0.f, den = 0.f;
  for (int dy = -R; dy <= R; dy++)
    for (int dx = -R; dx <= R; dx++) {
      float v = tile[(threadIdx.y + R + dy) * tw + threadIdx.x + R + dx];
      float w = __expf(-(dx * dx + dy * dy) * 0.1f - (v - c) * (v - c) * sr);
      num += w * v;
      den += w;
    }
  out.at(x, y) = (unsigned char)(num / den);
}

__global__ void box_columns(Image in, Image out, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= in.width) return;
  int sum = 0;
  for (int y = -r; y <= r; ++y) sum += in.clamped(x, y);
  for (int y = 0; y < in.height; ++y) {
    out.at(x, y) = sum / (2 * r + 1);
    sum += in.clamped(x, y + r + 1) - in.clamped(x, y - r);
  }
}

__device__ inline void cswap(int& a, int& b) { int t = min(a, b); b = max(a, b); a = t; }

template <int BX, int BY>
__global__ void median3(Image in, Image out) {
  __shared__ int s[BY + 2][BX + 2];
  int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  s[threadIdx.y + 1][threadIdx.x + 1] = in.clamped(x, y);
  if (threadIdx.x == 0) s[threadIdx.y + 1][0] = in.clamped(x - 1, y);
  if (threadIdx.x == BX - 1) s[threadIdx.y + 1][BX + 1] = in.clamped(x + 1, y);
  if (threadIdx.y == 0) {
    s[0][threadIdx.x + 1] = in.clamped(x, y - 1);
    if (threadIdx.x == 0) s[0][0] = in.clamped(x - 1, y - 1);
    if (threadIdx.x == BX - 1) s[0][BX + 1] = in.clamped(x + 1, y - 1);
  }
  if (threadIdx.y == BY - 1) {
    s[BY + 1][threadIdx.x + 1] = in.clamped(x, y + 1);
    if (threadIdx.x == 0) s[BY + 1][0] = in.clamped(x - 1, y + 1);
    if (threadIdx.x == BX - 1) s[BY + 1][BX + 1] = in.clamped(x + 1, y + 1);
  }
  __syncthreads();
  int v[9];
#pragma unroll
  for (int i = 0; i < 9; i++) v[i] = s[threadIdx.y + i / 3][threadIdx.x + i % 3];
#pragma unroll
  for (int i = 0; i < 5; i++)
#pragma unroll
    for (int j = 8; j > i; j--) cswap(v[j - 1], v[j]);
  if (x < in.width && y < in.height) out.at(x, y) = v[4];
}

int main(int argc, char** argv) {
  int w = argc > 1 ? atoi(argv[1]) : 250, h = argc > 2 ? atoi(argv[2]) : 131;
  uchar4* hp = new uchar4[w * h];
  for (int i = 0; i < w * h; i++) hp[i] = make_uchar4(i, i * 3, i * 7, 255);
  uchar4* dp;
  cudaMalloc(&dp, w * h * sizeof(uchar4));
  cudaMemcpy(dp, hp, w * h * sizeof(uchar4), cudaMemcpyHostToDevice);
  Image a{nullptr, w, h, 0}, b = a;
  cudaMallocPitch(&a.data, &a.pitch, w, h);
  cudaMallocPitch(&b.data, &b.pitch, w, h);
  dim3 block(16, 16), grid(DIV_UP(w, 16), DIV_UP(h, 16));
  to_grey<<<grid, block>>>(dp, a);
  bilateral<<<grid, block, (16 + 2 * R) * (16 + 2 * R)>>>(a, b, 0.001f);
  median3<32, 8><<<dim3(DIV_UP(w, 32), DIV_UP(h, 8)), dim3(32, 8)>>>(b, a);
  box_columns<<<DIV_UP(w, 64), 64>>>(a, b, 4);
  sobel<<<grid, block>>>(b, a);
  unsigned char* out = new unsigned char[w * h];
  cudaMemcpy2D(out, w, a.data, a.pitch, w, h, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < w * h; i++) sum += out[i];
  printf("checksum %ld\n", sum);
  return 0;
}
