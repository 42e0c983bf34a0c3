#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
__constant__ uint32_t K256[64];
__device__ __forceinline__ uint32_t rotr(uint32_t x, int n) { return __funnelshift_r(x, x, n); }
__global__ void sha256_many(const uint32_t* __restrict__ msg, uint32_t* __restrict__ dig, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= n) return;
  uint32_t w[16], h[8] = {0x6a09e667,0xbb67ae85,0x3c6ef372,0xa54ff53a,0x510e527f,0x9b05688c,0x1f83d9ab,0x5be0cd19};
#pragma unroll
  for (int j = 0; j < 16; ++j) w[j] = __byte_perm(msg[i*16 + j], 0, 0x0123);
  uint32_t a=h[0],b=h[1],c=h[2],d=h[3],e=h[4],f=h[5],g=h[6],hh=h[7];
#pragma unroll
  for (int t = 0; t < 64; ++t) {
    if (t >= 16) { uint32_t s0 = w[(t+1)&15], s1 = w[(t+14)&15]; s0 = rotr(s0,7)^rotr(s0,18)^(s0>>3); s1 = rotr(s1,17)^rotr(s1,19)^(s1>>10); w[t&15] += s0 + s1 + w[(t+9)&15]; }
    uint32_t t1 = hh + (rotr(e,6)^rotr(e,11)^rotr(e,25)) + ((e&f)^(~e&g)) + K256[t] + w[t&15];
    uint32_t t2 = (rotr(a,2)^rotr(a,13)^rotr(a,22)) + ((a&b)^(a&c)^(b&c));
    hh=g; g=f; f=e; e=d+t1; d=c; c=b; b=a; a=t1+t2;
  }
  dig[i*8+0]=a+h[0]; dig[i*8+1]=b+h[1]; dig[i*8+2]=c+h[2]; dig[i*8+3]=d+h[3]; dig[i*8+4]=e+h[4]; dig[i*8+5]=f+h[5]; dig[i*8+6]=g+h[6]; dig[i*8+7]=hh+h[7];
}
__global__ void crc32_chunks(const uint8_t* __restrict__ d, uint32_t* __restrict__ crc, const uint32_t* __restrict__ tab, int len, int n) {
  __shared__ uint32_t t[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) t[i] = tab[i];
  __syncthreads();
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= n) return;
  uint32_t c = ~0u; const uint8_t* p = d + (size_t)i*len;
  for (int k = 0; k < len; ++k) c = t[(c ^ p[k]) & 0xff] ^ (c >> 8);
  crc[i] = ~c;
}
__global__ void aes_shift_rows(const uchar4* __restrict__ in, uchar4* __restrict__ out, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= n) return;
  int b = i & ~3, c = i & 3;
  uchar4 r; r.x = in[i].x; r.y = in[b + ((c + 1) & 3)].y; r.z = in[b + ((c + 2) & 3)].z; r.w = in[b + ((c + 3) & 3)].w;
  out[i] = r;
}
__global__ void bitplane_encode(const uint32_t* __restrict__ in, uint32_t* __restrict__ planes, int nw) {
  int w = (blockIdx.x*blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31; if (w >= nw) return;
  uint32_t v = in[w*32 + lane];
#pragma unroll
  for (int b = 0; b < 32; ++b) { uint32_t m = __ballot_sync(~0u, (v >> b) & 1); if (lane == b) planes[b*nw + w] = m; }
}
__global__ void xor_stream(const ulonglong2* __restrict__ p, ulonglong2* __restrict__ c, unsigned long long key, int n) {
  for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < n; i += gridDim.x*blockDim.x) { ulonglong2 v = __ldcs(p + i); unsigned long long k = key + i; k ^= k >> 33; k *= 0xff51afd7ed558ccdULL; v.x ^= k; v.y ^= ~k; __stcg(c + i, v); }
}
__global__ void rle_flags(const short* in, unsigned char* flag, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i < n) flag[i] = i == 0 || in[i] != in[i-1];
}
__global__ void hex_encode(const unsigned char* in, char* out, int n) { const char* digits = "0123456789abcdef"; int i = blockIdx.x*blockDim.x + threadIdx.x; if (i < n) { out[2*i] = digits[in[i] >> 4]; out[2*i + 1] = digits[in[i] & 15]; } }
int main() {
  uint32_t *a, *b, *t; cudaMalloc(&a, 1<<24); cudaMalloc(&b, 1<<24); cudaMalloc(&t, 1024); cudaMemset(a, 0, 1 << 24);
  uint32_t k[64]; for (int i = 0; i < 64; ++i) k[i] = i*0x9e3779b9u; cudaMemcpyToSymbol(K256, k, sizeof k);
  sha256_many<<<256,128>>>(a, b, 32768);
  crc32_chunks<<<64,128>>>((uint8_t*)a, b, t, 64, 8192);
  aes_shift_rows<<<1024,256>>>((uchar4*)a, (uchar4*)b, 262144);
  bitplane_encode<<<1024,256>>>(a, b, 8192);
  xor_stream<<<256,256>>>((ulonglong2*)a, (ulonglong2*)b, 77, 1 << 20);
  rle_flags<<<1024,256>>>((short*)a, (unsigned char*)b, 262144);
  hex_encode<<<1024,256>>>((unsigned char*)a, (char*)b, 262144);
  cudaDeviceSynchronize(); puts("ok");
}
