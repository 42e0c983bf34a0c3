#include <cstdio>
#include <cuda_runtime.h>
using uchar = unsigned char;
struct Img { uchar* p; int w, h, pitch; __device__ uchar& operator()(int x, int y) const { return p[y*pitch + x]; } };
__global__ void integral_rows(const uchar* __restrict__ in, int* __restrict__ out, int w) {
  __shared__ int s[256]; int carry = 0, y = blockIdx.x, t = threadIdx.x;
  for (int b = 0; b < w; b += 256) { int v = b + t < w ? in[y*w + b + t] : 0; s[t] = v; __syncthreads();
    for (int o = 1; o < 256; o <<= 1) { int a = t >= o ? s[t - o] : 0; __syncthreads(); s[t] += a; __syncthreads(); }
    if (b + t < w) out[y*w + b + t] = s[t] + carry; carry += s[255]; __syncthreads(); }
}
__global__ void integral_cols(int* __restrict__ io, int w, int h) { int x = blockIdx.x*blockDim.x + threadIdx.x; if (x >= w) return; int a = 0; for (int y = 0; y < h; ++y) { a += io[y*w + x]; io[y*w + x] = a; } }
__global__ void resize_bilinear(const uchar3* __restrict__ in, uchar3* __restrict__ out, int sw, int sh, int dw, int dh) {
  int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y*blockDim.y + threadIdx.y; if (x >= dw || y >= dh) return;
  float fx = (x + 0.5f)*sw/dw - 0.5f, fy = (y + 0.5f)*sh/dh - 0.5f;
  int x0 = max(0, (int)floorf(fx)), y0 = max(0, (int)floorf(fy)), x1 = min(x0 + 1, sw - 1), y1 = min(y0 + 1, sh - 1); float a = fx - x0, b = fy - y0;
  uchar3 p = in[y0*sw + x0], q = in[y0*sw + x1], r = in[y1*sw + x0], s = in[y1*sw + x1];
  auto mix = [=](uchar u, uchar v, uchar m, uchar n) { return (uchar)((1-b)*((1-a)*u + a*v) + b*((1-a)*m + a*n)); };
  out[y*dw + x] = make_uchar3(mix(p.x,q.x,r.x,s.x), mix(p.y,q.y,r.y,s.y), mix(p.z,q.z,r.z,s.z));
}
__global__ void resize_half(const Img src, Img dst) {
  int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y*blockDim.y + threadIdx.y; if (x >= dst.w || y >= dst.h) return;
  dst(x, y) = (src(2*x, 2*y) + src(2*x+1, 2*y) + src(2*x, 2*y+1) + src(2*x+1, 2*y+1) + 2) >> 2;
}
__global__ void rgb_to_planar(const uchar* __restrict__ rgb, float* __restrict__ out, int n) { int i = blockIdx.x*blockDim.x + threadIdx.x; if (i < n) for (int c = 0; c < 3; ++c) out[c*n + i] = rgb[3*i + c]/255.f; }
__global__ void rotate90(const ushort2* in, ushort2* out, int w, int h) { int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y*blockDim.y + threadIdx.y; if (x < w && y < h) out[x*h + (h - 1 - y)] = in[y*w + x]; }
__global__ void ccl_init(const uchar* im, int* lab, int n) { int i = blockIdx.x*blockDim.x + threadIdx.x; if (i < n) lab[i] = im[i] ? i : -1; }
__device__ int find_root(const int* l, int i) { while (l[i] != i) i = l[i]; return i; }
__global__ void ccl_merge(const uchar* __restrict__ im, int* lab, int w, int h) {
  int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y*blockDim.y + threadIdx.y; if (x >= w || y >= h) return;
  int i = y*w + x; if (!im[i]) return;
  if (x > 0 && im[i-1]) { int a = find_root(lab, i), b = find_root(lab, i-1); while (a != b) { if (a < b) { int t = a; a = b; b = t; } int o = atomicMin(&lab[a], b); a = o == a ? b : o; } }
}
__global__ void median3(const Img in, Img out) {
  int x = blockIdx.x*blockDim.x + threadIdx.x + 1, y = blockIdx.y*blockDim.y + threadIdx.y + 1; if (x >= in.w - 1 || y >= in.h - 1) return;
  uchar v[9]; int k = 0;
  for (int j = -1; j <= 1; ++j) for (int i = -1; i <= 1; ++i) v[k++] = in(x + i, y + j);
#pragma unroll
  for (int a = 0; a < 5; ++a)
#pragma unroll
    for (int b = a + 1; b < 9; ++b) if (v[b] < v[a]) { uchar t = v[a]; v[a] = v[b]; v[b] = t; }
  out(x, y) = v[4];
}
__global__ void hist_rows(const uchar4* __restrict__ im, unsigned* __restrict__ h, int n4) {
  __shared__ unsigned s[4][256]; for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[0][i] = 0; __syncthreads();
  for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < n4; i += blockDim.x*gridDim.x) { uchar4 v = im[i]; unsigned* b = s[threadIdx.x & 3]; atomicAdd(b + v.x, 1); atomicAdd(b + v.y, 1); atomicAdd(b + v.z, 1); atomicAdd(b + v.w, 1); }
  __syncthreads(); if (threadIdx.x < 256) atomicAdd(&h[threadIdx.x], s[0][threadIdx.x] + s[1][threadIdx.x] + s[2][threadIdx.x] + s[3][threadIdx.x]);
}
int main() {
  int w = 1000, h = 750, n = w*h; uchar *a, *b; int* c; float* f; cudaMalloc(&a, n*4); cudaMalloc(&b, n*4); cudaMalloc(&c, n*4); cudaMalloc(&f, n*12); cudaMemset(a, 1, n*4);
  dim3 t(32,8), g((w+31)/32, (h+7)/8);
  integral_rows<<<h,256>>>(a, c, w); integral_cols<<<(w+127)/128,128>>>(c, w, h);
  resize_bilinear<<<dim3(20,60),t>>>((uchar3*)a, (uchar3*)b, w, h, 640, 480);
  Img src{a, w, h, 1024}, dst{b, w/2, h/2, 512}; resize_half<<<dim3(16,47),t>>>(src, dst);
  rgb_to_planar<<<(n+255)/256,256>>>(a, f, n); rotate90<<<g,t>>>((ushort2*)a, (ushort2*)b, w, h);
  ccl_init<<<(n+255)/256,256>>>(a, c, n); ccl_merge<<<g,t>>>(a, c, w, h);
  Img o{b, w, h, 1024}; median3<<<g,t>>>(src, o); hist_rows<<<60,256>>>((uchar4*)a, (unsigned*)c, n/4);
  cudaDeviceSynchronize(); puts("ok");
}
