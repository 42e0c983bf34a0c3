// Micro-benchmarks of shared memory patterns, with a macro for launching and timing.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define LAUNCH(kernel, grid, block, smem, ...)                       \
  do {                                                               \
    cudaEventRecord(start);                                          \
    kernel<<<grid, block, smem>>>(__VA_ARGS__);                      \
    cudaEventRecord(stop);                                           \
    cudaEventSynchronize(stop);                                      \
    float ms;                                                        \
    cudaEventElapsedTime(&ms, start, stop);                          \
    printf("%-28s %8.4f ms\n", #kernel, ms);                         \
  } while (0)

__global__ void stride_rw(float* out, int stride, int rounds) {
  extern __shared__ float buf[];
  int idx = (threadIdx.x * stride) % 1024;
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) buf[i] = i;
  __syncthreads();
  float acc = 0;
  for (int r = 0; r < rounds; ++r) {
    acc += buf[(idx + r) & 1023];
    buf[(idx + r) & 1023] = acc;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = acc;
}

__global__ void wide_double(double* out) {
  __shared__ double d[64][33];
  int x = threadIdx.x, y = threadIdx.y;
  d[y][x] = x + y;
  d[y + 32][x] = x - y;
  __syncthreads();
  out[(blockIdx.x * 32 + y) * 32 + x] = d[x][y] + d[x + 32][y];
}

struct Rec12 { int a, b, c; };
struct Rec16 { int a, b, c, d; };

template <typename R>
__global__ void records(int* out) {
  __shared__ R r[128];
  r[threadIdx.x].a = threadIdx.x;
  r[threadIdx.x].b = threadIdx.x * 2;
  r[threadIdx.x].c = threadIdx.x * 3;
  __syncthreads();
  int o = 127 - threadIdx.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = r[o].a + r[o].c;
}

__global__ void bytes_col(unsigned char* out) {
  __shared__ unsigned char m[64][64];
  for (int r = threadIdx.y; r < 64; r += blockDim.y) m[r][threadIdx.x] = r ^ threadIdx.x;
  __syncthreads();
  for (int r = threadIdx.y; r < 64; r += blockDim.y) out[r * 64 + threadIdx.x] = m[threadIdx.x][r];
}

__global__ void broadcast(const float* __restrict__ w, float* out, int n) {
  __shared__ float sw[64];
  if (threadIdx.x < 64) sw[threadIdx.x] = w[threadIdx.x];
  __syncthreads();
  float acc = 0;
  int warp = threadIdx.x / 32;
  for (int k = 0; k < n; ++k) acc += sw[(warp * 8 + k) % 64] * k;
  out[blockIdx.x * blockDim.x + threadIdx.x] = acc;
}

__global__ void short_pairs(short2* out) {
  __shared__ short2 sp[32 * 17];
  int lane = threadIdx.x % 32, w = threadIdx.x / 32;
  for (int i = w; i < 17; i += blockDim.x / 32) sp[lane * 17 + i] = make_short2(lane, i);
  __syncthreads();
  short2 a = sp[threadIdx.x], b = sp[(threadIdx.x * 2 + 1) % (32 * 17)];
  out[blockIdx.x * blockDim.x + threadIdx.x] = make_short2(a.x + b.x, a.y - b.y);
}

__global__ void float4_reversed(float4* out, const float4* __restrict__ in) {
  __shared__ float4 s[256];
  s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  float4 a = s[255 - threadIdx.x];
  float b = reinterpret_cast<float*>(s)[threadIdx.x * 4 + 1];
  out[blockIdx.x * 256 + threadIdx.x] = make_float4(a.x + b, a.y, a.z, a.w);
}

int main(int argc, char** argv) {
  int max_stride = argc > 1 ? atoi(argv[1]) : 32;
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  float* d;
  cudaMalloc(&d, 1 << 22);
  cudaMemset(d, 0, 1 << 22);
  for (int stride = 1; stride <= max_stride; stride *= 2) LAUNCH(stride_rw, 8, 256, 1024 * sizeof(float), d, stride, 20);
  LAUNCH(stride_rw, 8, 256, 4096, d, 33, 7);
  LAUNCH(wide_double, 4, dim3(32, 32), 0, (double*)d);
  LAUNCH(records<Rec12>, 10, 128, 0, (int*)d);
  LAUNCH(records<Rec16>, 10, 128, 0, (int*)d);
  LAUNCH(bytes_col, 1, dim3(64, 4), 0, (unsigned char*)d);
  LAUNCH(broadcast, 10, 128, 0, d, d + 4096, 100);
  LAUNCH(short_pairs, 10, 128, 0, (short2*)d);
  LAUNCH(float4_reversed, 10, 256, 0, (float4*)d, (const float4*)(d + 65536));
  return cudaDeviceSynchronize() != cudaSuccess;
}
