#include <cstdio>
#include <array>
#include <cuda_runtime.h>
constexpr int MAXD = 4;
struct Arr4 { int v[4]; __host__ __device__ constexpr int operator[](int i) const { return v[i]; } };
struct TensorInfo { int ndim; int sizes[MAXD]; long long strides[MAXD]; };
template <int D> struct Perm { int dims[D]; int srcStride[D]; };
template <typename T>
__global__ void permute_generic(const T* __restrict__ src, T* __restrict__ dst, TensorInfo ti, int total) {
  int idx = blockIdx.x*blockDim.x + threadIdx.x;
  if (idx >= total) return;
  int rem = idx; long long off = 0;
  for (int d = ti.ndim - 1; d >= 0; --d) { int c = rem % ti.sizes[d]; rem /= ti.sizes[d]; off += c*ti.strides[d]; }
  dst[idx] = src[off];
}
template <typename T, int D>
__global__ void permute_static(const T* __restrict__ src, T* __restrict__ dst, Perm<D> p, int total) {
  for (int idx = blockIdx.x*blockDim.x + threadIdx.x; idx < total; idx += gridDim.x*blockDim.x) {
    int rem = idx, off = 0;
#pragma unroll
    for (int d = D - 1; d > 0; --d) { int q = rem / p.dims[d]; off += (rem - q*p.dims[d])*p.srcStride[d]; rem = q; }
    off += rem*p.srcStride[0];
    dst[idx] = src[off];
  }
}
__global__ void flip_rows(const float* in, float* out, int w, int h) {
  int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y*blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y*w + x] = in[y*w + (w - 1 - x)];
}
__global__ void strided_copy(const double* a, ptrdiff_t sa, double* b, ptrdiff_t sb, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i < n) b[i*sb] = a[i*sa];
}
template <int TILE, int ROWS, int PAD, typename T>
__global__ void nhwc_to_nchw(const T* __restrict__ in, T* __restrict__ out, int C, int HW) {
  __shared__ T tile[TILE][TILE + PAD];
  size_t base = (size_t)blockIdx.z*C*HW;
  int c = blockIdx.x*TILE + threadIdx.x, p = blockIdx.y*TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) if (c < C && p + j < HW) tile[threadIdx.y + j][threadIdx.x] = in[base + (size_t)(p + j)*C + c];
  __syncthreads();
  p = blockIdx.y*TILE + threadIdx.x; c = blockIdx.x*TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) if (p < HW && c + j < C) out[base + (size_t)(c + j)*HW + p] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void int3_swizzle(const int3* in, int3* out, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i < n) { int3 v = in[i]; out[i] = make_int3(v.z, v.x, v.y); }
}
__global__ void array_gather(Arr4 off, const short* in, short* out, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i >= n) return;
  int s = 0;
  for (int k = 0; k < 4; ++k) s += in[i + off[k]];
  out[i] = (short)(s >> 2);
}
int main() {
  const int N = 4, C = 64, H = 56, W = 56, total = N*C*H*W;
  float *a, *b; double *da, *db; int3* i3; short* sh; 
  cudaMalloc(&a, total*4); cudaMalloc(&b, total*4); cudaMalloc(&da, total*8); cudaMalloc(&db, total*8); cudaMalloc(&i3, 1<<20); cudaMalloc(&sh, 1<<20);
  TensorInfo ti; ti.ndim = 4; ti.sizes[0]=N; ti.sizes[1]=H; ti.sizes[2]=W; ti.sizes[3]=C;
  ti.strides[0]=C*H*W; ti.strides[1]=W; ti.strides[2]=1; ti.strides[3]=H*W;
  permute_generic<float><<<(total+255)/256,256>>>(a, b, ti, total);
  Perm<3> p{{N, C, H*W}, {C*H*W, 1, C}};
  permute_static<float,3><<<1024,256>>>(b, a, p, total);
  flip_rows<<<dim3((W+31)/32,(C*H+7)/8), dim3(32,8)>>>(a, b, W, C*H);
  strided_copy<<<64,256>>>(da + 16383, -1, db, 1, 16384);
  strided_copy<<<64,256>>>(da, 5, db + 3*16383, -3, 16384);
  nhwc_to_nchw<32,8,1,float><<<dim3(C/32,(H*W+31)/32,N), dim3(32,8)>>>(a, b, C, H*W);
  nhwc_to_nchw<32,8,0,float><<<dim3(C/32,(H*W+31)/32,N), dim3(32,8)>>>(a, b, C, H*W);
  nhwc_to_nchw<16,16,1,double><<<dim3(C/16,(H*W+15)/16,N), dim3(16,16)>>>(da, db, C, H*W);
  int3_swizzle<<<64,256>>>(i3, i3, 16384);
  Arr4 off{{0, 3, 64, 67}};
  array_gather<<<64,256>>>(off, sh, sh + 65536, 16384);
  cudaDeviceSynchronize(); printf("%d\n", total);
}
