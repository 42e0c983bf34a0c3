// Pieces of a decoder block in fp16/bf16: embedding + RMSNorm, RoPE, QK^T on
// tensor cores, causal softmax, P*V, head transpose, SwiGLU, int8 row quant.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using bf16 = __nv_bfloat16;

constexpr int kTokens = 512;
constexpr int kHidden = 512;
constexpr int kHeads = 8;
constexpr int kHeadDim = kHidden / kHeads;
constexpr int kVocab = 2000;
constexpr int kFfn = 1536;

#define CUDA_CHECK(x)                                                                   \
  do {                                                                                  \
    cudaError_t _e = (x);                                                               \
    if (_e != cudaSuccess) {                                                            \
      printf("CUDA failure %s at %s:%d\n", cudaGetErrorString(_e), __FILE__, __LINE__); \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)

__device__ __forceinline__ float warpReduceSum(float v) {
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}

__device__ __forceinline__ float warpReduceMax(float v) {
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, m));
  return v;
}

// one block per token, each thread owns two half2
template <int THREADS>
__global__ void embed_rmsnorm_kernel(const int* __restrict__ ids, const half2* __restrict__ table,
                                     const half2* __restrict__ gamma, half2* __restrict__ out, float eps) {
  static_assert(THREADS * 4 == kHidden, "one pass per row");
  __shared__ float warp_sums[THREADS / 32];
  const int token = blockIdx.x;
  const half2* row = table + (size_t)ids[token] * (kHidden / 2);
  float2 v[2];
  float ss = 0.f;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    v[k] = __half22float2(row[threadIdx.x + k * THREADS]);
    ss += v[k].x * v[k].x + v[k].y * v[k].y;
  }
  ss = warpReduceSum(ss);
  if ((threadIdx.x & 31) == 0) warp_sums[threadIdx.x >> 5] = ss;
  __syncthreads();
  float total = 0.f;
#pragma unroll
  for (int w = 0; w < THREADS / 32; ++w) total += warp_sums[w];
  const float inv = rsqrtf(total / kHidden + eps);
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int c = threadIdx.x + k * THREADS;
    const float2 g = __half22float2(gamma[c]);
    out[token * (kHidden / 2) + c] = __floats2half2_rn(v[k].x * inv * g.x, v[k].y * inv * g.y);
  }
}

// NeoX style rotation: element d pairs with d + headDim/2
__global__ void rope_kernel(half* __restrict__ x, const float2* __restrict__ cos_sin) {
  const int token = blockIdx.x;
  for (int i = threadIdx.x; i < kHidden / 2; i += blockDim.x) {
    const int head = i / (kHeadDim / 2);
    const int d = i % (kHeadDim / 2);
    half* p = x + token * kHidden + head * kHeadDim + d;
    const float2 cs = cos_sin[token * (kHeadDim / 2) + d];
    const float a = __half2float(p[0]);
    const float b = __half2float(p[kHeadDim / 2]);
    p[0] = __float2half(a * cs.x - b * cs.y);
    p[kHeadDim / 2] = __float2half(a * cs.y + b * cs.x);
  }
}

// four warps per block, each computes a 16x16 tile of scores
__global__ void qk_wmma_kernel(const half* __restrict__ q, const half* __restrict__ k, float* __restrict__ scores,
                               float scale) {
  using namespace nvcuda;
  const int warp = threadIdx.x / 32;
  const int col = (blockIdx.x * 4 + warp) * 16;
  const int row = blockIdx.y * 16;
  const int head = blockIdx.z;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
#pragma unroll
  for (int d = 0; d < kHeadDim; d += 16) {
    wmma::load_matrix_sync(a, q + row * kHidden + head * kHeadDim + d, kHidden);
    wmma::load_matrix_sync(b, k + col * kHidden + head * kHeadDim + d, kHidden);
    wmma::mma_sync(acc, a, b, acc);
  }
  for (int i = 0; i < acc.num_elements; ++i) acc.x[i] *= scale;
  wmma::store_matrix_sync(scores + ((size_t)head * kTokens + row) * kTokens + col, acc, kTokens, wmma::mem_row_major);
}

// warp per row
__global__ void causal_softmax_kernel(const float* __restrict__ scores, half* __restrict__ probs) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int t = row % kTokens;
  const float* s = scores + (size_t)row * kTokens;
  float v[kTokens / 32];
  float mx = -INFINITY;
#pragma unroll
  for (int k = 0; k < kTokens / 32; ++k) {
    const int c = lane + 32 * k;
    v[k] = c <= t ? s[c] : -INFINITY;
    mx = fmaxf(mx, v[k]);
  }
  mx = warpReduceMax(mx);
  float sum = 0.f;
#pragma unroll
  for (int k = 0; k < kTokens / 32; ++k) {
    v[k] = __expf(v[k] - mx);
    sum += v[k];
  }
  sum = warpReduceSum(sum);
  const float inv = 1.f / sum;
#pragma unroll
  for (int k = 0; k < kTokens / 32; ++k) probs[(size_t)row * kTokens + lane + 32 * k] = __float2half(v[k] * inv);
}

// [token][head*dim] -> [head*dim][token], half tile padded by one element
__global__ void transpose_v_kernel(const half* __restrict__ v, half* __restrict__ vt) {
  __shared__ half tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  int t = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = v[(t + j) * kHidden + c];
  __syncthreads();
  c = blockIdx.x * 32 + threadIdx.y;
  t = blockIdx.y * 32 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 32; j += 8) vt[(c + j) * kTokens + t] = tile[threadIdx.x][threadIdx.y + j];
}

// each thread one output channel, dot product of two contiguous rows
__global__ void pv_kernel(const half* __restrict__ probs, const half* __restrict__ vt, half* __restrict__ out) {
  const int c = threadIdx.x;
  const int t = blockIdx.x;
  const int head = c / kHeadDim;
  const uint4* p = reinterpret_cast<const uint4*>(probs + ((size_t)head * kTokens + t) * kTokens);
  const uint4* w = reinterpret_cast<const uint4*>(vt + (size_t)c * kTokens);
  float acc = 0.f;
  for (int k = 0; k <= t / 8; ++k) {
    uint4 pu = p[k];
    uint4 wu = w[k];
    const half2* ph = reinterpret_cast<const half2*>(&pu);
    const half2* wh = reinterpret_cast<const half2*>(&wu);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float2 a = __half22float2(ph[j]);
      float2 b = __half22float2(wh[j]);
      acc = fmaf(a.x, b.x, acc);
      acc = fmaf(a.y, b.y, acc);
    }
  }
  out[t * kHidden + c] = __float2half(acc);
}

// gate and up projections packed as [token][2*ffn], 8 bf16 per thread
__global__ void swiglu_bf16_kernel(const bf16* __restrict__ gate_up, bf16* __restrict__ out) {
  const int idx = blockIdx.x * blockDim.x + threadIdx.x;
  const int per_row = kFfn / 8;
  if (idx >= kTokens * per_row) return;
  const int t = idx / per_row;
  const int c = (idx % per_row) * 8;
  uint4 g = *reinterpret_cast<const uint4*>(gate_up + (size_t)t * 2 * kFfn + c);
  uint4 u = *reinterpret_cast<const uint4*>(gate_up + (size_t)t * 2 * kFfn + kFfn + c);
  uint4 r;
  const __nv_bfloat162* g2 = reinterpret_cast<const __nv_bfloat162*>(&g);
  const __nv_bfloat162* u2 = reinterpret_cast<const __nv_bfloat162*>(&u);
  __nv_bfloat162* r2 = reinterpret_cast<__nv_bfloat162*>(&r);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float2 a = __bfloat1622float2(g2[j]);
    float2 b = __bfloat1622float2(u2[j]);
    a.x = a.x / (1.f + __expf(-a.x)) * b.x;
    a.y = a.y / (1.f + __expf(-a.y)) * b.y;
    r2[j] = __floats2bfloat162_rn(a.x, a.y);
  }
  *reinterpret_cast<uint4*>(out + (size_t)t * kFfn + c) = r;
}

// symmetric int8, one scale per row
__global__ void quantize_rows_kernel(const bf16* __restrict__ x, int8_t* __restrict__ q, float* __restrict__ scale) {
  __shared__ float s_max[8];
  const int t = blockIdx.x;
  float m = 0.f;
  for (int c = threadIdx.x; c < kFfn; c += blockDim.x) m = fmaxf(m, fabsf(__bfloat162float(x[t * kFfn + c])));
  m = warpReduceMax(m);
  if (threadIdx.x % 32 == 0) s_max[threadIdx.x / 32] = m;
  __syncthreads();
  m = s_max[0];
  for (int w = 1; w < 8; ++w) m = fmaxf(m, s_max[w]);
  const float inv = m > 0.f ? 127.f / m : 0.f;
  if (threadIdx.x == 0) scale[t] = m / 127.f;
  for (int c = threadIdx.x * 2; c < kFfn; c += blockDim.x * 2) {
    const __nv_bfloat162 v = *reinterpret_cast<const __nv_bfloat162*>(x + t * kFfn + c);
    char2 o;
    o.x = (signed char)__float2int_rn(__bfloat162float(v.x) * inv);
    o.y = (signed char)__float2int_rn(__bfloat162float(v.y) * inv);
    *reinterpret_cast<char2*>(q + t * kFfn + c) = o;
  }
}

static uint32_t g_lcg = 2463534242u;
static float nextf() {
  g_lcg ^= g_lcg << 13;
  g_lcg ^= g_lcg >> 17;
  g_lcg ^= g_lcg << 5;
  return (g_lcg >> 8) / 8388608.0f - 1.0f;
}

template <typename T>
static T* upload(const std::vector<T>& v) {
  T* d;
  CUDA_CHECK(cudaMalloc(&d, v.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

template <typename T>
static std::vector<T> download(const T* d, size_t n) {
  std::vector<T> v(n);
  CUDA_CHECK(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

static int g_bad = 0;
static void expect(const char* what, double got, double want, double tol) {
  if (std::fabs(got - want) <= tol * (1.0 + std::fabs(want))) return;
  if (g_bad++ < 10) printf("%s: got %g want %g\n", what, got, want);
}

int main() {
  const size_t TH = (size_t)kTokens * kHidden;
  std::vector<int> ids(kTokens);
  for (auto& i : ids) i = (int)((nextf() + 1.f) * 0.5f * (kVocab - 1));
  std::vector<half> table((size_t)kVocab * kHidden), gamma(kHidden), q(TH);
  for (auto& x : table) x = __float2half(nextf());
  for (auto& x : gamma) x = __float2half(1.f + 0.2f * nextf());
  for (auto& x : q) x = __float2half(2.f * nextf());
  std::vector<float2> cs(kTokens * kHeadDim / 2);
  for (int t = 0; t < kTokens; ++t) {
    for (int d = 0; d < kHeadDim / 2; ++d) {
      double a = t * std::pow(10000.0, -2.0 * d / kHeadDim);
      cs[t * kHeadDim / 2 + d] = make_float2((float)std::cos(a), (float)std::sin(a));
    }
  }
  std::vector<bf16> gu((size_t)kTokens * 2 * kFfn);
  for (auto& x : gu) x = __float2bfloat16(3.f * nextf());

  int* d_ids = upload(ids);
  half* d_table = upload(table);
  half* d_gamma = upload(gamma);
  half* d_q = upload(q);
  float2* d_cs = upload(cs);
  bf16* d_gu = upload(gu);
  half *d_x, *d_probs, *d_vt, *d_out;
  float *d_scores, *d_scale;
  bf16* d_ffn;
  int8_t* d_q8;
  const size_t S = (size_t)kHeads * kTokens * kTokens;
  CUDA_CHECK(cudaMalloc(&d_x, TH * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&d_vt, TH * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&d_out, TH * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&d_probs, S * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&d_scores, S * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_scale, kTokens * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_ffn, (size_t)kTokens * kFfn * sizeof(bf16)));
  CUDA_CHECK(cudaMalloc(&d_q8, (size_t)kTokens * kFfn));

  const float scale = 1.0f / std::sqrt((float)kHeadDim);
  embed_rmsnorm_kernel<128><<<kTokens, 128>>>(d_ids, (const half2*)d_table, (const half2*)d_gamma, (half2*)d_x, 1e-5f);
  CUDA_CHECK(cudaGetLastError());
  transpose_v_kernel<<<dim3(kHidden / 32, kTokens / 32), dim3(32, 8)>>>(d_x, d_vt);
  auto x = download(d_x, TH);
  rope_kernel<<<kTokens, 128>>>(d_q, d_cs);
  rope_kernel<<<kTokens, 128>>>(d_x, d_cs);
  qk_wmma_kernel<<<dim3(kTokens / 64, kTokens / 16, kHeads), 128>>>(d_q, d_x, d_scores, scale);
  causal_softmax_kernel<<<kHeads * kTokens / 4, 128>>>(d_scores, d_probs);
  pv_kernel<<<kTokens, kHidden>>>(d_probs, d_vt, d_out);
  swiglu_bf16_kernel<<<(kTokens * kFfn / 8 + 255) / 256, 256>>>(d_gu, d_ffn);
  quantize_rows_kernel<<<kTokens, 256>>>(d_ffn, d_q8, d_scale);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());

  auto qr = download(d_q, TH);
  auto kr = download(d_x, TH);
  auto vt = download(d_vt, TH);
  auto sc = download(d_scores, S);
  auto pr = download(d_probs, S);
  auto at = download(d_out, TH);
  auto ff = download(d_ffn, (size_t)kTokens * kFfn);
  auto q8 = download(d_q8, (size_t)kTokens * kFfn);
  auto s8 = download(d_scale, kTokens);

  for (int t = 0; t < kTokens; t += 3) {
    double ss = 0;
    for (int c = 0; c < kHidden; ++c) {
      double v = __half2float(table[(size_t)ids[t] * kHidden + c]);
      ss += v * v;
    }
    double inv = 1.0 / std::sqrt(ss / kHidden + 1e-5);
    for (int c = 0; c < kHidden; ++c) {
      double v = __half2float(table[(size_t)ids[t] * kHidden + c]);
      expect("rmsnorm", __half2float(x[t * kHidden + c]), v * inv * __half2float(gamma[c]), 2e-3);
      expect("transpose", __half2float(vt[c * kTokens + t]), __half2float(x[t * kHidden + c]), 0.0);
      int d = c % kHeadDim;
      if (d < kHeadDim / 2) {
        float2 w = cs[t * kHeadDim / 2 + d];
        double a = __half2float(q[t * kHidden + c]), b = __half2float(q[t * kHidden + c + kHeadDim / 2]);
        expect("rope", __half2float(qr[t * kHidden + c]), a * w.x - b * w.y, 2e-3);
        expect("rope2", __half2float(qr[t * kHidden + c + kHeadDim / 2]), a * w.y + b * w.x, 2e-3);
      }
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int t = h; t < kTokens; t += 61) {
      const float* s = &sc[((size_t)h * kTokens + t) * kTokens];
      const half* p = &pr[((size_t)h * kTokens + t) * kTokens];
      double mx = -1e30, sum = 0;
      for (int u = 0; u < kTokens; ++u) {
        double dot = 0;
        for (int d = h * kHeadDim; d < (h + 1) * kHeadDim; ++d)
          dot += (double)__half2float(qr[t * kHidden + d]) * __half2float(kr[u * kHidden + d]);
        expect("qk", s[u], dot * scale, 2e-3);
        if (u <= t) mx = std::max(mx, (double)s[u]);
      }
      for (int u = 0; u <= t; ++u) sum += std::exp(s[u] - mx);
      for (int u = 0; u < kTokens; ++u)
        expect("softmax", __half2float(p[u]), u <= t ? std::exp(s[u] - mx) / sum : 0.0, 2e-3);
      for (int d = h * kHeadDim; d < (h + 1) * kHeadDim; ++d) {
        double o = 0;
        for (int u = 0; u <= t; ++u) o += (double)__half2float(p[u]) * __half2float(vt[d * kTokens + u]);
        expect("pv", __half2float(at[t * kHidden + d]), o, 4e-3);
      }
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    float m = 0;
    for (int c = 0; c < kFfn; ++c) {
      double g = __bfloat162float(gu[(size_t)t * 2 * kFfn + c]), u = __bfloat162float(gu[(size_t)t * 2 * kFfn + kFfn + c]);
      float f = __bfloat162float(ff[t * kFfn + c]);
      expect("swiglu", f, g / (1 + std::exp(-g)) * u, 1e-2);
      m = std::max(m, std::fabs(f));
    }
    expect("scale", s8[t], m / 127.f, 1e-6);
    for (int c = 0; c < kFfn; c += 5)
      expect("int8", q8[t * kFfn + c] * s8[t], __bfloat162float(ff[t * kFfn + c]), 0.51 * m / 127.f + 1e-4);
  }
  printf("mismatches: %d\n%s\n", g_bad, g_bad ? "FAIL" : "PASS");
  return g_bad ? 1 : 0;
}
