// Single-token decode path for a small GQA-free transformer block.
//   rmsnorm -> W4A16 qkv projection -> rope -> attention over int8 KV cache -> silu*up + int8 requant
// Weights: int4, symmetric around 8, group size 128, fp16 scales, 32 nibbles per 16-byte load.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CUDA_CHECK(call)                                                                   \
  do {                                                                                     \
    cudaError_t err_ = (call);                                                             \
    if (err_ != cudaSuccess) {                                                             \
      fprintf(stderr, "[CUDA] %s at %s:%d\n", cudaGetErrorString(err_), __FILE__, __LINE__); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

constexpr int kHidden = 1024;
constexpr int kHeads = 8;
constexpr int kHeadDim = 128;
constexpr int kGroup = 128;
constexpr int kCtx = 333;
constexpr int kTokens = 3;  // speculative batch

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}
__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
  return v;
}

// one block per token
__global__ void rmsnorm_kernel(const half2* __restrict__ x, const half2* __restrict__ gamma,
                               half2* __restrict__ y, int hidden2, float eps) {
  __shared__ float red[8];
  const half2* row = x + (size_t)blockIdx.x * hidden2;
  float ss = 0.f;
  for (int i = threadIdx.x; i < hidden2; i += blockDim.x) {
    float2 f = __half22float2(row[i]);
    ss += f.x * f.x + f.y * f.y;
  }
  ss = warp_sum(ss);
  if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = ss;
  __syncthreads();
  ss = 0.f;
  for (int w = 0; w < (int)(blockDim.x >> 5); ++w) ss += red[w];
  const float inv = rsqrtf(ss / (2 * hidden2) + eps);
  for (int i = threadIdx.x; i < hidden2; i += blockDim.x) {
    float2 f = __half22float2(row[i]), g = __half22float2(gamma[i]);
    y[(size_t)blockIdx.x * hidden2 + i] = __floats2half2_rn(f.x * inv * g.x, f.y * inv * g.y);
  }
}

// One warp computes one output row for one token. Activations are staged in shared memory;
// each lane owns 32 consecutive k per step, matching one uint4 of packed nibbles.
template <int WARPS>
__global__ void gemv_w4a16_kernel(const uint4* __restrict__ qweight, const half* __restrict__ scales,
                                  const half* __restrict__ x, half* __restrict__ out, int n_out) {
  __shared__ __align__(16) half xs[kHidden];
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int tid = warp * 32 + lane;
  const float4* xg = reinterpret_cast<const float4*>(x + (size_t)blockIdx.y * kHidden);
  for (int i = tid; i < kHidden / 8; i += WARPS * 32) reinterpret_cast<float4*>(xs)[i] = xg[i];
  __syncthreads();

  const int row = blockIdx.x * WARPS + warp;
  if (row >= n_out) return;
  float acc = 0.f;
  constexpr int kVecs = kHidden / 32;
#pragma unroll
  for (int v = lane; v < kVecs; v += 32) {
    const uint4 q = qweight[(size_t)row * kVecs + v];
    const float s = __half2float(scales[row * (kHidden / kGroup) + v * 32 / kGroup]);
    const uint32_t w[4] = {q.x, q.y, q.z, q.w};
    float part = 0.f;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const uint4 xv = *reinterpret_cast<const uint4*>(&xs[v * 32 + j * 8]);
      const half2* xh = reinterpret_cast<const half2*>(&xv);
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float2 f = __half22float2(xh[p]);
        part += f.x * ((int)((w[j] >> (8 * p)) & 15) - 8);
        part += f.y * ((int)((w[j] >> (8 * p + 4)) & 15) - 8);
      }
    }
    acc += part * s;
  }
  acc = warp_sum(acc);
  if (lane == 0) out[(size_t)blockIdx.y * n_out + row] = __float2half(acc);
}

// half-split ("neox") rotary embedding on q; grid (heads, tokens), 64 threads
__global__ void rope_neox_kernel(half* __restrict__ q, const int* __restrict__ positions) {
  half* h = q + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * kHeadDim;
  const int i = threadIdx.x;
  const float theta = positions[blockIdx.y] * powf(10000.f, -2.f * i / kHeadDim);
  float s, c;
  sincosf(theta, &s, &c);
  const float a = __half2float(h[i]), b = __half2float(h[i + kHeadDim / 2]);
  h[i] = __float2half(a * c - b * s);
  h[i + kHeadDim / 2] = __float2half(a * s + b * c);
}

// K,V cache: int8 [head][ctx][128], one fp32 scale per (head, ctx). One block per (head, token).
__global__ void attn_decode_i8_kernel(const half* __restrict__ q, const int8_t* __restrict__ kc,
                                      const int8_t* __restrict__ vc, const float* __restrict__ kscale,
                                      const float* __restrict__ vscale, half* __restrict__ out, int ctx) {
  extern __shared__ float smem[];
  float* qf = smem;                  // [128]
  float* sc = smem + kHeadDim;       // [ctx]
  float* red = sc + ctx;             // [8]
  const int head = blockIdx.x, tok = blockIdx.y;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, nwarp = blockDim.x >> 5;
  const half* qh = q + ((size_t)tok * kHeads + head) * kHeadDim;
  if (tid < kHeadDim) qf[tid] = __half2float(qh[tid]);
  __syncthreads();

  // scores: each thread walks a whole key row (128 B) in 16-byte chunks
  const int8_t* kb = kc + (size_t)head * ctx * kHeadDim;
  float mx = -1e30f;
  for (int t = tid; t < ctx; t += blockDim.x) {
    const int4* kr = reinterpret_cast<const int4*>(kb + (size_t)t * kHeadDim);
    float d = 0.f;
#pragma unroll
    for (int c = 0; c < kHeadDim / 16; ++c) {
      const int4 pk = kr[c];
      const int8_t* b = reinterpret_cast<const int8_t*>(&pk);
#pragma unroll
      for (int e = 0; e < 16; ++e) d += qf[c * 16 + e] * (float)b[e];
    }
    d *= kscale[head * ctx + t] * 0.08838834764f;
    sc[t] = d;
    mx = fmaxf(mx, d);
  }
  mx = warp_max(mx);
  if (lane == 0) red[warp] = mx;
  __syncthreads();
  mx = red[0];
  for (int w = 1; w < nwarp; ++w) mx = fmaxf(mx, red[w]);
  __syncthreads();
  float sum = 0.f;
  for (int t = tid; t < ctx; t += blockDim.x) {
    const float e = __expf(sc[t] - mx);
    sc[t] = e * vscale[head * ctx + t];
    sum += e;
  }
  sum = warp_sum(sum);
  if (lane == 0) red[warp] = sum;
  __syncthreads();
  sum = 0.f;
  for (int w = 0; w < nwarp; ++w) sum += red[w];

  if (tid < kHeadDim) {
    float o = 0.f;
    for (int t = 0; t < ctx; ++t) o += sc[t] * (float)vc[((size_t)head * ctx + t) * kHeadDim + tid];
    out[((size_t)tok * kHeads + head) * kHeadDim + tid] = __float2half(o / sum);
  }
}

// gate/up are the two halves of each row. Every warp quantizes 32 consecutive outputs.
__global__ void silu_mul_quant_kernel(const half* __restrict__ gate_up, int8_t* __restrict__ q8,
                                      float* __restrict__ qs, int inter) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const half* row = gate_up + (size_t)blockIdx.y * 2 * inter;
  const float g = __half2float(row[i]), u = __half2float(row[inter + i]);
  const float v = g / (1.f + __expf(-g)) * u;
  const float amax = warp_max(fabsf(v));
  const float scale = amax / 127.f;
  q8[(size_t)blockIdx.y * inter + i] = (int8_t)__float2int_rn(amax > 0.f ? v / scale : 0.f);
  if ((threadIdx.x & 31) == 0) qs[blockIdx.y * (inter / 32) + i / 32] = scale;
}

template <class T>
T* upload(const std::vector<T>& v) {
  T* p;
  CUDA_CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
std::vector<T> download(const T* p, size_t n) {
  std::vector<T> v(n);
  CUDA_CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}
static bool near(float a, float b, float tol, const char* what) {
  if (std::fabs(a - b) <= tol * (1.f + std::fabs(b))) return true;
  static int shown = 0;
  if (shown++ < 10) printf("  %s: %f vs %f\n", what, a, b);
  return false;
}

int main() {
  std::mt19937 rng(7);
  auto uni = [&](float a, float b) { return a + (b - a) * (rng() >> 8) / 16777216.f; };
  const int n_out = kHidden;

  std::vector<half> x(kTokens * kHidden), gamma(kHidden), scales(n_out * kHidden / kGroup);
  for (auto& v : x) v = __float2half(uni(-2, 2));
  for (auto& v : gamma) v = __float2half(uni(0.5f, 1.5f));
  for (auto& v : scales) v = __float2half(uni(0.002f, 0.01f));
  std::vector<uint32_t> qw((size_t)n_out * kHidden / 8);
  for (auto& v : qw) v = rng();
  std::vector<int8_t> kc((size_t)kHeads * kCtx * kHeadDim), vc(kc.size());
  for (auto& v : kc) v = (int8_t)((int)(rng() % 255) - 127);
  for (auto& v : vc) v = (int8_t)((int)(rng() % 255) - 127);
  std::vector<float> ks(kHeads * kCtx), vs(kHeads * kCtx);
  for (auto& v : ks) v = uni(0.004f, 0.012f);
  for (auto& v : vs) v = uni(0.004f, 0.012f);
  std::vector<int> pos = {kCtx, kCtx + 1, kCtx + 2};

  half *dx = upload(x), *dg = upload(gamma), *ds = upload(scales);
  uint32_t* dqw = upload(qw);
  int8_t *dk = upload(kc), *dv = upload(vc), *dq8;
  float *dks = upload(ks), *dvs = upload(vs), *dqs;
  int* dpos = upload(pos);
  half *dn, *dq, *dattn;
  const int inter = kHidden / 2;
  CUDA_CHECK(cudaMalloc(&dn, x.size() * 2));
  CUDA_CHECK(cudaMalloc(&dq, x.size() * 2));
  CUDA_CHECK(cudaMalloc(&dattn, x.size() * 2));
  CUDA_CHECK(cudaMalloc(&dq8, kTokens * inter));
  CUDA_CHECK(cudaMalloc(&dqs, kTokens * inter / 32 * sizeof(float)));

  rmsnorm_kernel<<<kTokens, 256>>>((half2*)dx, (half2*)dg, (half2*)dn, kHidden / 2, 1e-5f);
  gemv_w4a16_kernel<4><<<dim3(n_out / 4, kTokens), dim3(32, 4)>>>((const uint4*)dqw, ds, dn, dq, n_out);
  CUDA_CHECK(cudaGetLastError());
  const auto hn = download(dn, x.size());
  const auto hq = download(dq, x.size());
  rope_neox_kernel<<<dim3(kHeads, kTokens), kHeadDim / 2>>>(dq, dpos);
  const auto hr = download(dq, x.size());
  const size_t smem = (kHeadDim + kCtx + 8) * sizeof(float);
  attn_decode_i8_kernel<<<dim3(kHeads, kTokens), 160, smem>>>(dq, dk, dv, dks, dvs, dattn, kCtx);
  CUDA_CHECK(cudaGetLastError());
  const auto ha = download(dattn, x.size());
  silu_mul_quant_kernel<<<dim3(inter / 128, kTokens), 128>>>(dq, dq8, dqs, inter);
  CUDA_CHECK(cudaGetLastError());
  const auto h8 = download(dq8, kTokens * inter);
  const auto hs = download(dqs, kTokens * inter / 32);

  bool ok = true;
  for (int t = 0; t < kTokens; ++t) {
    double ss = 0;
    for (int i = 0; i < kHidden; ++i) ss += std::pow(__half2float(x[t * kHidden + i]), 2.0);
    const float inv = 1.f / std::sqrt((float)(ss / kHidden) + 1e-5f);
    for (int i = 0; i < kHidden; ++i)
      ok &= near(__half2float(hn[t * kHidden + i]), __half2float(x[t * kHidden + i]) * inv * __half2float(gamma[i]), 3e-3f, "rmsnorm");
    for (int r = 0; r < n_out; ++r) {
      double acc = 0;
      for (int k = 0; k < kHidden; ++k) {
        const int nib = (qw[((size_t)r * kHidden + k) / 8] >> (4 * (k % 8))) & 15;
        acc += (double)__half2float(hn[t * kHidden + k]) * (nib - 8) * __half2float(scales[r * (kHidden / kGroup) + k / kGroup]);
      }
      ok &= near(__half2float(hq[t * n_out + r]), (float)acc, 4e-3f, "gemv");
    }
    for (int h = 0; h < kHeads; ++h) {
      const int o = (t * kHeads + h) * kHeadDim;
      for (int i = 0; i < kHeadDim / 2; ++i) {
        const double th = pos[t] * std::pow(10000.0, -2.0 * i / kHeadDim);
        const double a = __half2float(hq[o + i]), b = __half2float(hq[o + i + 64]);
        ok &= near(__half2float(hr[o + i]), (float)(a * cos(th) - b * sin(th)), 5e-3f, "rope");
        ok &= near(__half2float(hr[o + i + 64]), (float)(a * sin(th) + b * cos(th)), 5e-3f, "rope");
      }
      std::vector<double> p(kCtx), acc(kHeadDim, 0.0);
      double mx = -1e30, sum = 0;
      for (int c = 0; c < kCtx; ++c) {
        double d = 0;
        for (int e = 0; e < kHeadDim; ++e) d += (double)__half2float(hr[o + e]) * kc[((size_t)h * kCtx + c) * kHeadDim + e];
        p[c] = d * ks[h * kCtx + c] / std::sqrt(128.0);
        mx = std::max(mx, p[c]);
      }
      for (int c = 0; c < kCtx; ++c) {
        p[c] = std::exp(p[c] - mx);
        sum += p[c];
        for (int e = 0; e < kHeadDim; ++e) acc[e] += p[c] * vs[h * kCtx + c] * vc[((size_t)h * kCtx + c) * kHeadDim + e];
      }
      for (int e = 0; e < kHeadDim; ++e) ok &= near(__half2float(ha[o + e]), (float)(acc[e] / sum), 5e-3f, "attn");
    }
    for (int i = 0; i < inter; ++i) {
      const float g = __half2float(hr[t * kHidden + i]), u = __half2float(hr[t * kHidden + inter + i]);
      const float v = g / (1.f + std::exp(-g)) * u, s = hs[t * (inter / 32) + i / 32];
      ok &= std::fabs(h8[t * inter + i] * s - v) <= 0.52f * s + 1e-4f;
    }
  }
  for (void* p : {(void*)dx, (void*)dg, (void*)ds, (void*)dqw, (void*)dk, (void*)dv, (void*)dks, (void*)dvs, (void*)dpos,
                  (void*)dn, (void*)dq, (void*)dattn, (void*)dq8, (void*)dqs})
    CUDA_CHECK(cudaFree(p));
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
