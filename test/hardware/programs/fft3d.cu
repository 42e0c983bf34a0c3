#include <cstdio>
#include <cuda_runtime.h>
#include <cuComplex.h>
#define PI2 6.283185307179586f
__device__ inline float2 cmul(float2 a, float2 b) { return {a.x*b.x - a.y*b.y, a.x*b.y + a.y*b.x}; }
__device__ inline float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ inline float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
template <int N, int AXIS>
__global__ void fft_axis(float2* __restrict__ data) {
  __shared__ float2 s[N][8 + 1];
  const int col = threadIdx.x, t = threadIdx.y;
  const int outer = blockIdx.y, inner = blockIdx.x*8 + col;
  const size_t stride = AXIS == 0 ? 1 : AXIS == 1 ? N : N*N;
  size_t base;
  if (AXIS == 0) base = ((size_t)outer*N + inner)*N; else if (AXIS == 1) base = (size_t)outer*N*N + inner; else base = (size_t)outer*N + inner;
  for (int k = t; k < N; k += blockDim.y) s[__brev(k) >> (32 - __ffs(N) + 1)][col] = data[base + k*stride];
  __syncthreads();
  for (int len = 2; len <= N; len <<= 1) {
    int half = len >> 1;
    for (int k = t; k < N/2; k += blockDim.y) {
      int g = k / half, j = k % half;
      float sn, cs; __sincosf(-PI2*j/len, &sn, &cs);
      float2 u = s[g*len + j][col], v = cmul(s[g*len + j + half][col], make_float2(cs, sn));
      s[g*len + j][col] = u + v; s[g*len + j + half][col] = u - v;
    }
    __syncthreads();
  }
  for (int k = t; k < N; k += blockDim.y) data[base + k*stride] = s[k][col];
}
__global__ void radix4_step(const cuFloatComplex* __restrict__ in, cuFloatComplex* __restrict__ out, int n, int ns) {
  int j = blockIdx.x*blockDim.x + threadIdx.x; if (j >= n/4) return;
  cuFloatComplex v[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) v[r] = in[j + r*n/4];
  cuFloatComplex a = cuCaddf(v[0], v[2]), b = cuCsubf(v[0], v[2]), c = cuCaddf(v[1], v[3]), d = cuCsubf(v[1], v[3]);
  int id = (j/ns)*ns*4 + j % ns;
  out[id] = cuCaddf(a, c); out[id + ns] = make_cuFloatComplex(b.x + d.y, b.y - d.x); out[id + 2*ns] = cuCsubf(a, c); out[id + 3*ns] = make_cuFloatComplex(b.x - d.y, b.y + d.x);
}
__global__ void pointwise(cuDoubleComplex* a, const cuDoubleComplex* b, int n) { int i = blockIdx.x*blockDim.x + threadIdx.x; if (i < n) a[i] = cuCmul(a[i], b[i]); }
__global__ void fftshift3(const float2* in, float2* out, int n) {
  int x = threadIdx.x + blockIdx.x*blockDim.x, y = threadIdx.y + blockIdx.y*blockDim.y, z = blockIdx.z, h = n/2;
  out[((z + h) % n*n + (y + h) % n)*n + (x + h) % n] = in[(z*n + y)*n + x];
}
int main() {
  const int N = 64; float2 *a, *b; cudaMalloc(&a, N*N*N*8*2); cudaMalloc(&b, N*N*N*8*2);
  fft_axis<N,0><<<dim3(N/8,N), dim3(8,16)>>>(a);
  fft_axis<N,1><<<dim3(N/8,N), dim3(8,16)>>>(a);
  fft_axis<N,2><<<dim3(N/8,N), dim3(8,16)>>>(a);
  int n = N*N*N; for (int ns = 1; ns < n; ns *= 4) { radix4_step<<<n/4/128,128>>>(a, b, n, ns); float2* t = a; a = b; b = t; }
  pointwise<<<n/256,256>>>((cuDoubleComplex*)a, (cuDoubleComplex*)b, n);
  fftshift3<<<dim3(N/16,N/4,N), dim3(16,4)>>>(a, b, N);
  cudaDeviceSynchronize(); puts("ok");
}
