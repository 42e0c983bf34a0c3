#include <cstdio>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
template <typename scalar_t, int HEAD, int BLK, int NT>
__global__ void paged_attention(scalar_t* __restrict__ out, const scalar_t* __restrict__ q, const scalar_t* __restrict__ kc, const scalar_t* __restrict__ vc, const int* __restrict__ tables, const int* __restrict__ lens, float scale, int maxBlocks, int nHeads) {
  extern __shared__ float logits[];
  __shared__ float red[NT/32];
  __shared__ float qs[HEAD];
  const int seq = blockIdx.y, head = blockIdx.x, tid = threadIdx.x, len = lens[seq];
  const int* table = tables + seq*maxBlocks;
  for (int i = tid; i < HEAD; i += NT) qs[i] = (float)q[(seq*nHeads + head)*HEAD + i];
  __syncthreads();
  float mx = -1e30f;
  for (int t = tid; t < len; t += NT) {
    int b = table[t / BLK], o = t % BLK;
    const scalar_t* k = kc + ((size_t)(b*nHeads + head)*HEAD)*BLK + o;
    float s = 0;
#pragma unroll 4
    for (int d = 0; d < HEAD; ++d) s += qs[d]*(float)k[d*BLK];
    s *= scale; logits[t] = s; mx = fmaxf(mx, s);
  }
  for (int o = 16; o; o >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, o));
  if ((tid & 31) == 0) red[tid >> 5] = mx;
  __syncthreads();
  mx = red[0];
#pragma unroll
  for (int i = 1; i < NT/32; ++i) mx = fmaxf(mx, red[i]);
  float sum = 0;
  for (int t = tid; t < len; t += NT) { float e = __expf(logits[t] - mx); logits[t] = e; sum += e; }
  __syncthreads();
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if ((tid & 31) == 0) red[tid >> 5] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < NT/32; ++i) sum += red[i];
  for (int d = tid; d < HEAD; d += NT) {
    float acc = 0;
    for (int t = 0; t < len; ++t) acc += logits[t]*(float)vc[((size_t)(table[t/BLK]*nHeads + head)*HEAD + d)*BLK + t%BLK];
    out[(seq*nHeads + head)*HEAD + d] = (scalar_t)(acc/sum);
  }
}
template <typename T>
__global__ void reshape_and_cache(const T* __restrict__ key, T* __restrict__ kc, const long* __restrict__ slots, int heads, int hs, int bs, int x) {
  long slot = slots[blockIdx.x]; if (slot < 0) return;
  long blk = slot / bs, off = slot % bs;
  for (int i = threadIdx.x; i < heads*hs; i += blockDim.x) {
    int h = i / hs, d = i % hs, xi = d / x, xo = d % x;
    kc[blk*heads*(hs/x)*bs*x + h*(hs/x)*bs*x + xi*bs*x + off*x + xo] = key[blockIdx.x*heads*hs + i];
  }
}
__global__ void copy_blocks(float4* cache, const int2* __restrict__ map, int vecPerBlock) {
  int2 m = map[blockIdx.x];
  auto* src = cache + (long)m.x*vecPerBlock; auto* dst = cache + (long)m.y*vecPerBlock;
  for (int i = threadIdx.x; i < vecPerBlock; i += blockDim.x) dst[i] = src[i];
}
int main() {
  half *q, *k, *v, *o; int *tb, *ln; long* sl; int2* mp;
  cudaMalloc(&q, 64*32*128*2); cudaMalloc(&k, 1<<26); cudaMalloc(&v, 1<<26); cudaMalloc(&o, 64*32*128*2); cudaMalloc(&tb, 64*128*4); cudaMalloc(&ln, 64*4); cudaMalloc(&sl, 64*8); cudaMalloc(&mp, 64*8);
  paged_attention<half,128,16,128><<<dim3(32,64), 128, 2048*sizeof(float)>>>(o, q, k, v, tb, ln, 0.088f, 128, 32);
  paged_attention<float,64,16,64><<<dim3(32,64), 64, 2048*sizeof(float)>>>((float*)o, (float*)q, (float*)k, (float*)v, tb, ln, 0.125f, 128, 32);
  reshape_and_cache<half><<<64, 512>>>(q, k, sl, 32, 128, 16, 8);
  copy_blocks<<<64, 256>>>((float4*)k, mp, 16*128*32*2/16);
  cudaDeviceSynchronize(); puts("ok");
}
