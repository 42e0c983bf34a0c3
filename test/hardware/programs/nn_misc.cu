#include <cstdio>
#include <cuda_runtime.h>
__device__ __forceinline__ float sig(float x) { return 1.f/(1.f + __expf(-x)); }
__global__ void lstm_cell(const float* __restrict__ gates, const float* __restrict__ cprev, float* __restrict__ c, float* __restrict__ h, int B, int H) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= B*H) return;
  int b = i / H, j = i - b*H; const float* g = gates + b*4*H + j;
  float ig = sig(g[0]), fg = sig(g[H]), gg = tanhf(g[2*H]), og = sig(g[3*H]); float cc = fg*cprev[i] + ig*gg; c[i] = cc; h[i] = og*tanhf(cc);
}
template <int VEC>
__global__ void embedding_bag(const float* __restrict__ table, const int* __restrict__ idx, const int* __restrict__ off, float* __restrict__ out, int D) {
  int bag = blockIdx.x*blockDim.y + threadIdx.y; int s = off[bag], e = off[bag + 1];
  for (int d = threadIdx.x*VEC; d < D; d += blockDim.x*VEC) { float a[VEC] = {}; for (int k = s; k < e; ++k) { const float* r = table + (size_t)idx[k]*D + d;
#pragma unroll
      for (int v = 0; v < VEC; ++v) a[v] += r[v]; }
#pragma unroll
    for (int v = 0; v < VEC; ++v) out[(size_t)bag*D + d + v] = a[v]; }
}
template <int BLOCK>
__global__ void group_norm(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta, float* __restrict__ y, int C, int HW, int G) {
  __shared__ float s1[BLOCK], s2[BLOCK]; int n = blockIdx.x / G, g = blockIdx.x % G, cpg = C/G, m = cpg*HW; const float* p = x + ((size_t)n*C + g*cpg)*HW; float* q = y + ((size_t)n*C + g*cpg)*HW; float a = 0, b = 0;
  for (int i = threadIdx.x; i < m; i += BLOCK) { float v = p[i]; a += v; b += v*v; }
  s1[threadIdx.x] = a; s2[threadIdx.x] = b; __syncthreads();
#pragma unroll
  for (int s = BLOCK/2; s > 0; s >>= 1) { if (threadIdx.x < s) { s1[threadIdx.x] += s1[threadIdx.x + s]; s2[threadIdx.x] += s2[threadIdx.x + s]; } __syncthreads(); }
  float mean = s1[0]/m, inv = rsqrtf(s2[0]/m - mean*mean + 1e-5f);
  for (int i = threadIdx.x; i < m; i += BLOCK) { int c = g*cpg + i/HW; q[i] = (p[i] - mean)*inv*gamma[c] + beta[c]; }
}
__global__ void beam_gather(const float* __restrict__ cache, float* __restrict__ out, const int* __restrict__ beam, int beams, int L, int D) {
  int b = blockIdx.x, t = blockIdx.y, src = beam[b]; for (int d = threadIdx.x; d < D; d += blockDim.x) out[((size_t)b*L + t)*D + d] = cache[((size_t)src*L + t)*D + d];
}
__global__ void max_pool_idx(const float* __restrict__ in, float* __restrict__ out, int* __restrict__ ix, int C, int H, int W) {
  int ox = threadIdx.x + blockIdx.x*blockDim.x, oy = threadIdx.y + blockIdx.y*blockDim.y, c = threadIdx.z + blockIdx.z*blockDim.z; if (ox >= W/2 || oy >= H/2 || c >= C) return;
  float best = -1e30f; int bi = -1;
  for (int j = 0; j < 2; ++j) for (int i = 0; i < 2; ++i) { int k = (c*H + 2*oy + j)*W + 2*ox + i; float v = in[k]; if (v > best) { best = v; bi = k; } }
  int o = (c*(H/2) + oy)*(W/2) + ox; out[o] = best; ix[o] = bi;
}
__global__ void pixel_shuffle(const float* __restrict__ in, float* __restrict__ out, int C, int H, int W, int r, int n) {
  for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < n; i += gridDim.x*blockDim.x) { int x = i % (W*r), y = i/(W*r) % (H*r), c = i/(W*r)/(H*r); out[i] = in[((c*r*r + (y % r)*r + x % r)*H + y/r)*W + x/r]; }
}
__global__ void sobol_price(const unsigned* __restrict__ dirs, float* __restrict__ payoff, int paths, int dims, float s0, float k, float vol) {
  extern __shared__ unsigned v[]; for (int i = threadIdx.x; i < dims*32; i += blockDim.x) v[i] = dirs[i]; __syncthreads();
  for (int p = blockIdx.x*blockDim.x + threadIdx.x; p < paths; p += gridDim.x*blockDim.x) { unsigned g = p ^ (p >> 1); float s = s0;
    for (int d = 0; d < dims; ++d) { unsigned x = 0; for (unsigned b = 0, gg = g; gg; ++b, gg >>= 1) if (gg & 1) x ^= v[d*32 + b]; s *= __expf(vol*normcdfinvf((x + 0.5f)*2.3283064e-10f)); }
    payoff[p] = fmaxf(s - k, 0.f); }
}
__global__ void ga_crossover(const unsigned char* __restrict__ pop, unsigned char* __restrict__ next, const int2* __restrict__ parents, const int* __restrict__ cut, int L) {
  int2 pr = parents[blockIdx.x]; int c = cut[blockIdx.x]; for (int g = threadIdx.x; g < L; g += blockDim.x) next[blockIdx.x*L + g] = pop[(g < c ? pr.x : pr.y)*L + g];
}
__global__ void match_naive(const char* __restrict__ text, int n, const char* __restrict__ pat, int m, int* __restrict__ hits) {
  extern __shared__ char tile[]; int b = blockIdx.x*blockDim.x; for (int i = threadIdx.x; i < blockDim.x + m - 1; i += blockDim.x) tile[i] = b + i < n ? text[b + i] : 0; __syncthreads();
  int i = b + threadIdx.x; if (i + m > n) return; bool ok = true; for (int j = 0; j < m && ok; ++j) ok = tile[threadIdx.x + j] == pat[j]; hits[i] = ok;
}
__global__ void suffix_keys(const int* __restrict__ rank, uint2* __restrict__ keys, int n, int h) { int i = blockIdx.x*blockDim.x + threadIdx.x; if (i < n) keys[i] = make_uint2(rank[i], i + h < n ? rank[i + h] + 1 : 0); }
template <int N>
__global__ void matpow_small(const float* __restrict__ A, float* __restrict__ R, int pw) {
  __shared__ float a[N][N], b[N][N], r[N][N]; int x = threadIdx.x, y = threadIdx.y; a[y][x] = A[blockIdx.x*N*N + y*N + x]; r[y][x] = x == y; __syncthreads();
  while (pw) { if (pw & 1) { float s = 0; for (int k = 0; k < N; ++k) s += r[y][k]*a[k][x]; __syncthreads(); r[y][x] = s; } float s = 0; for (int k = 0; k < N; ++k) s += a[y][k]*a[k][x]; b[y][x] = s; __syncthreads(); a[y][x] = b[y][x]; pw >>= 1; __syncthreads(); }
  R[blockIdx.x*N*N + y*N + x] = r[y][x];
}
struct Sphere { float3 c; float r; int mat; };
__global__ void trace(const Sphere* __restrict__ sp, int ns, float4* __restrict__ img, int w, int h) {
  int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y*blockDim.y + threadIdx.y; if (x >= w || y >= h) return;
  float3 d = make_float3((x - w*0.5f)/w, (y - h*0.5f)/h, 1.f); float tb = 1e20f; int id = -1;
  for (int i = 0; i < ns; ++i) { Sphere s = sp[i]; float b = d.x*s.c.x + d.y*s.c.y + d.z*s.c.z, c = s.c.x*s.c.x + s.c.y*s.c.y + s.c.z*s.c.z - s.r*s.r, q = b*b - c; if (q > 0) { float t = b - sqrtf(q); if (t > 0 && t < tb) { tb = t; id = s.mat; } } }
  img[y*w + x] = make_float4(tb, id, 0, 1);
}
int main() {
  float *a, *b; int* i; cudaMalloc(&a, 1<<26); cudaMalloc(&b, 1<<26); cudaMalloc(&i, 1<<22); cudaMemset(i, 0, 1 << 22);
  lstm_cell<<<64*512/256,256>>>(a, b, b + 65536, b + 131072, 64, 512);
  embedding_bag<1><<<64,dim3(32,4)>>>(a, i, i + 65536, b, 128); embedding_bag<4><<<64,dim3(32,4)>>>(a, i, i + 65536, b, 128);
  group_norm<256><<<4*8,256>>>(a, b, b + 64, b + 128, 64, 28*28, 8); beam_gather<<<dim3(8,64),128>>>(a, b, i, 8, 64, 256);
  max_pool_idx<<<dim3(2,7,8),dim3(16,4,4)>>>(a, b, i, 32, 56, 56); pixel_shuffle<<<128,256>>>(a, b, 16, 32, 32, 3, 16*9*1024);
  sobol_price<<<64,128,8*32*4>>>((unsigned*)a, b, 1 << 14, 8, 100, 100, 0.2f); ga_crossover<<<256,128>>>((unsigned char*)a, (unsigned char*)b, (int2*)i, i + 4096, 500);
  match_naive<<<256,256,256+15>>>((char*)a, 65536, (char*)b, 16, i); suffix_keys<<<256,256>>>(i, (uint2*)b, 65536, 8); matpow_small<16><<<64,dim3(16,16)>>>(a, b, 10);
  trace<<<dim3(20,60),dim3(32,8)>>>((Sphere*)a, 20, (float4*)b, 640, 480); cudaDeviceSynchronize(); puts("ok");
}
