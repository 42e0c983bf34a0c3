// Dynamic shared memory carved by offsets, three arrays of different types; attention-like per-head kernel.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
#include <cuda_bf16.h>

struct Params {
  const float* q;
  const float* k;
  const float* v;
  float* o;
  int seq, dim, heads;
  float scale;
};

static size_t smem_bytes(int dim, int tile) {
  return (size_t)tile * (dim + 1) * sizeof(float) * 2 + dim * sizeof(float) + tile * sizeof(float);
}

__global__ void attn_row(const Params p, int tile) {
  extern __shared__ char smem[];
  const int ld = p.dim + 1;
  float* ks = reinterpret_cast<float*>(smem);
  float* vs = ks + tile * ld;
  float* qs = vs + tile * ld;
  float* sc = qs + p.dim;
  const int row = blockIdx.x, head = blockIdx.y, t = threadIdx.x;
  const size_t base = (size_t)head * p.seq * p.dim;
  for (int d = t; d < p.dim; d += blockDim.x) qs[d] = p.q[base + row * p.dim + d] * p.scale;
  float m = -1e30f, l = 0.f, acc = 0.f;
  for (int k0 = 0; k0 < p.seq; k0 += tile) {
    __syncthreads();
    for (int i = t; i < tile * p.dim; i += blockDim.x) {
      int r = i / p.dim, c = i % p.dim;
      ks[r * ld + c] = p.k[base + (k0 + r) * p.dim + c];
      vs[r * ld + c] = p.v[base + (k0 + r) * p.dim + c];
    }
    __syncthreads();
    if (t < tile) {
      float s = 0.f;
      for (int d = 0; d < p.dim; ++d) s += qs[d] * ks[t * ld + d];
      sc[t] = s;
    }
    __syncthreads();
    float nm = m;
    for (int j = 0; j < tile; ++j) nm = fmaxf(nm, sc[j]);
    float corr = __expf(m - nm);
    l *= corr;
    acc *= corr;
    for (int j = 0; j < tile; ++j) {
      float e = __expf(sc[j] - nm);
      l += e;
      if (t < p.dim) acc += e * vs[j * ld + t];
    }
    m = nm;
  }
  if (t < p.dim) p.o[base + row * p.dim + t] = acc / l;
}

__global__ void mixed_types(const double* in, unsigned short* out16, int n) {
  extern __shared__ __align__(16) unsigned char pool[];
  double* d = (double*)pool;
  int* idx = (int*)(d + blockDim.x);
  unsigned char* flags = (unsigned char*)(idx + blockDim.x);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  d[threadIdx.x] = i < n ? in[i] : 0.0;
  idx[threadIdx.x] = (threadIdx.x * 5) % blockDim.x;
  flags[threadIdx.x] = (threadIdx.x & 3) == 0;
  __syncthreads();
  double v = d[(threadIdx.x * 5) % blockDim.x];
  if (flags[threadIdx.x]) v += 1.0;
  if (i < n) out16[i] = (unsigned short)v;
}

__global__ void bf16_scale(const __nv_bfloat162* __restrict__ in, __nv_bfloat162* __restrict__ out, float s, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n2) {
    float2 f = __bfloat1622float2(in[i]);
    f.x *= s;
    f.y *= s;
    out[i] = __float22bfloat162_rn(f);
  }
}

int main(int argc, char** argv) {
  int seq = argc > 1 ? atoi(argv[1]) : 128, dim = 48, heads = 3, tile = 32;
  size_t cnt = (size_t)seq * dim * heads;
  float *q, *k, *v, *o;
  for (float** p : {&q, &k, &v, &o}) cudaMallocManaged(p, cnt * sizeof(float));
  for (size_t i = 0; i < cnt; ++i) { q[i] = (i % 7) * .1f; k[i] = (i % 5) * .1f; v[i] = (i % 3) * .1f; }
  Params p{q, k, v, o, seq, dim, heads, 1.f / sqrtf((float)dim)};
  size_t bytes = smem_bytes(dim, tile);
  cudaFuncSetAttribute(attn_row, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  dim3 grid(seq, heads);
  attn_row<<<grid, 64, bytes>>>(p, tile);
  double* din;
  unsigned short* dout;
  cudaMallocManaged(&din, 1000 * sizeof(double));
  cudaMallocManaged(&dout, 1000 * sizeof(unsigned short));
  for (int i = 0; i < 1000; ++i) din[i] = i;
  int thr = 128;
  mixed_types<<<(1000 + thr - 1) / thr, thr, thr * (sizeof(double) + sizeof(int) + 1)>>>(din, dout, 1000);
  void* args[4];
  const __nv_bfloat162* bi = (const __nv_bfloat162*)q;
  __nv_bfloat162* bo = (__nv_bfloat162*)o;
  float s = 2.0f;
  int n2 = (int)cnt / 2;
  args[0] = &bi; args[1] = &bo; args[2] = &s; args[3] = &n2;
  cudaLaunchKernel((void*)bf16_scale, dim3((n2 + 255) / 256), dim3(256), args, 0, 0);
  cudaDeviceSynchronize();
  printf("%f\n", o[0]);
  return 0;
}
