#include <cstdio>
#include <cfloat>
#include <cuda_runtime.h>
template <int E, int K, int WARPS>
__global__ void route_topk(const float* __restrict__ logits, float* __restrict__ w, int* __restrict__ idx, int T) {
  static_assert(E % 32 == 0, "");
  constexpr int V = E/32;
  int tok = blockIdx.x*WARPS + threadIdx.y;
  if (tok >= T) return;
  const float* row = logits + tok*E;
  float r[V];
#pragma unroll
  for (int i = 0; i < V; ++i) r[i] = row[i*32 + threadIdx.x];
  for (int k = 0; k < K; ++k) {
    float best = -FLT_MAX; int bi = 0;
#pragma unroll
    for (int i = 0; i < V; ++i) if (r[i] > best) { best = r[i]; bi = i*32 + threadIdx.x; }
    for (int o = 16; o; o >>= 1) { float ob = __shfl_xor_sync(~0u, best, o); int oi = __shfl_xor_sync(~0u, bi, o); if (ob > best || (ob == best && oi < bi)) { best = ob; bi = oi; } }
    if (threadIdx.x == 0) { w[tok*K + k] = best; idx[tok*K + k] = bi; }
#pragma unroll
    for (int i = 0; i < V; ++i) if (i*32 + (int)threadIdx.x == bi) r[i] = -FLT_MAX;
  }
}
__global__ void expert_count(const int* __restrict__ idx, int* __restrict__ cnt, int n, int E) {
  extern __shared__ int h[];
  for (int i = threadIdx.x; i < E; i += blockDim.x) h[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < n; i += gridDim.x*blockDim.x) atomicAdd(&h[idx[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < E; i += blockDim.x) if (h[i]) atomicAdd(cnt + i, h[i]);
}
__global__ void permute_tokens(const float4* __restrict__ x, float4* __restrict__ y, const int* __restrict__ src, int H4) {
  int s = src[blockIdx.x];
  for (int i = threadIdx.x; i < H4; i += blockDim.x) y[(size_t)blockIdx.x*H4 + i] = x[(size_t)s*H4 + i];
}
__global__ void unpermute_reduce(const float* __restrict__ y, float* __restrict__ out, const int* __restrict__ inv, const float* __restrict__ w, int H, int K) {
  int t = blockIdx.x;
  for (int c = threadIdx.x; c < H; c += blockDim.x) {
    float a = 0;
    for (int k = 0; k < K; ++k) a += w[t*K + k]*y[(size_t)inv[t*K + k]*H + c];
    out[(size_t)t*H + c] = a;
  }
}
template <int N>
__global__ void bitonic_topk(const float* __restrict__ in, float* __restrict__ out, int k) {
  __shared__ float s[N]; __shared__ unsigned short id[N];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x*N + t]; s[t + N/2] = in[blockIdx.x*N + t + N/2]; id[t] = t; id[t + N/2] = t + N/2;
  for (int size = 2; size <= N; size <<= 1)
    for (int stride = size/2; stride > 0; stride >>= 1) {
      __syncthreads();
      int pos = 2*t - (t & (stride - 1));
      bool desc = (t & (size/2)) == 0;
      float a = s[pos], b = s[pos + stride];
      if ((a < b) == desc) { s[pos] = b; s[pos + stride] = a; unsigned short x = id[pos]; id[pos] = id[pos + stride]; id[pos + stride] = x; }
    }
  __syncthreads();
  if (t < k) out[blockIdx.x*k + t] = s[t];
}
__global__ void silu_and_mul(float* __restrict__ out, const float* __restrict__ in, int d) {
  const int64_t t = blockIdx.x;
  for (int64_t i = threadIdx.x; i < d; i += blockDim.x) { float x = __ldg(&in[t*2*d + i]); float y = __ldg(&in[t*2*d + d + i]); out[t*d + i] = x/(1.f + expf(-x))*y; }
}
int main() {
  int T = 2048, E = 64, H = 1024; float *l, *w, *x, *y; int *ix, *c;
  cudaMalloc(&l, T*256*4); cudaMalloc(&w, T*8*4); cudaMalloc(&ix, T*8*4); cudaMalloc(&c, 1024); cudaMalloc(&x, T*H*4*8); cudaMalloc(&y, T*H*4*8);
  route_topk<64,2,4><<<T/4, dim3(32,4)>>>(l, w, ix, T);
  route_topk<256,8,8><<<T/8, dim3(32,8)>>>(l, w, ix, T);
  expert_count<<<32, 256, E*sizeof(int)>>>(ix, c, T*2, E);
  permute_tokens<<<T*2, 256>>>((float4*)x, (float4*)y, ix, H/4);
  unpermute_reduce<<<T, 256>>>(y, x, ix, w, H, 2);
  bitonic_topk<1024><<<64, 512>>>(x, y, 16);
  silu_and_mul<<<T, 256>>>(y, x, H);
  cudaDeviceSynchronize(); puts("ok");
}
