// One decode step of grouped-query attention with a paged fp16 KV cache.
//
//   q        [seq][q_head][D]                       fp16, RoPE applied in place (interleaved pairs)
//   k_cache  [page][kv_head][slot][D]               fp16, rotated keys
//   v_cache  [page][kv_head][D][slot]               fp16, values, token index fastest
//   table    [seq][max_pages]                       logical page -> physical page
// Attention twice: one block per query head, and split-KV (a group shares the staged pages) + combine.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

static void cuda_check(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  printf("line %d: %s\nFAIL\n", line, cudaGetErrorString(e));
  exit(EXIT_FAILURE);
}
#define CUDA_CHECK(cmd) cuda_check((cmd), __LINE__)

constexpr int PAGE = 16, GROUP = 4;   // tokens per page, query heads per kv head
constexpr int SPLITS = 6, ATTN_THREADS = 128;
static_assert(ATTN_THREADS == 32 * GROUP, "split kernel: one warp per query head of the group");

struct AttnParams {
  const __half *q, *k_cache, *v_cache;
  const int* table;
  const int* seq_len;     // tokens in the cache, including the one just appended
  __half* out;            // [seq][q_head][D]
  float* part_acc;        // [seq][q_head][split][D]
  float2* part_ml;        // [seq][q_head][split]  (max, sum)
  int q_heads, kv_heads, max_pages;
  float scale;
};

template <typename Op>
__device__ __forceinline__ float warp_reduce(float v, Op op) {
#pragma unroll
  for (int m = 16; m >= 1; m /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
  return v;
}
struct MaxOp { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };
struct SumOp { __device__ float operator()(float a, float b) const { return a + b; } };

template <typename Op>
__device__ float block_reduce(float v, Op op, float identity) {
  __shared__ float s[32];
  const int lane = threadIdx.x % 32;
  v = warp_reduce(v, op);
  __syncthreads();
  if (lane == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = lane < blockDim.x / 32 ? s[lane] : identity;
  return warp_reduce(v, op);
}

__device__ __forceinline__ __half2 rotate_pair(__half2 v, float2 cs) {
  const float2 f = __half22float2(v);
  return __floats2half2_rn(f.x * cs.x - f.y * cs.y, f.x * cs.y + f.y * cs.x);
}

// grid (q_heads / blockDim.y, seqs), block (D/2, heads per block)
__global__ void rope_query_kernel(__half2* __restrict__ q, const float2* __restrict__ cos_sin,
                                  const int* __restrict__ seq_len, int q_heads, int half_dim) {
  const int head = blockIdx.x * blockDim.y + threadIdx.y;
  const int seq = blockIdx.y;
  if (head >= q_heads) return;
  const int pos = seq_len[seq] - 1;
  const size_t at = (size_t)(seq * q_heads + head) * half_dim + threadIdx.x;
  q[at] = rotate_pair(q[at], cos_sin[(size_t)pos * half_dim + threadIdx.x]);
}

// grid (seqs), block (D/2, kv_heads)
__global__ void append_kv_kernel(const __half2* __restrict__ k_new, const __half2* __restrict__ v_new,
                                 const float2* __restrict__ cos_sin, const int* __restrict__ table,
                                 const int* __restrict__ seq_len, __half* __restrict__ k_cache,
                                 __half* __restrict__ v_cache, int max_pages) {
  const int half_dim = blockDim.x, kv_heads = blockDim.y;
  const int seq = blockIdx.x, h = threadIdx.y, i = threadIdx.x;
  const int pos = seq_len[seq] - 1;
  const int page = table[seq * max_pages + pos / PAGE];
  const int slot = pos % PAGE;
  const size_t src = (size_t)(seq * kv_heads + h) * half_dim + i;
  const size_t ph = (size_t)page * kv_heads + h;
  __half2* kdst = reinterpret_cast<__half2*>(k_cache) + (ph * PAGE + slot) * half_dim;
  kdst[i] = rotate_pair(k_new[src], cos_sin[(size_t)pos * half_dim + i]);

  const __half2 v = v_new[src];
  __half* vdst = v_cache + ph * (2 * half_dim) * PAGE + slot;
  vdst[(2 * i) * PAGE] = __low2half(v);
  vdst[(2 * i + 1) * PAGE] = __high2half(v);
}

// one block per (query head, sequence); scores for the whole context in dynamic shared memory
template <int D>
__global__ void __launch_bounds__(ATTN_THREADS) decode_attention_kernel(const AttnParams p) {
  extern __shared__ float scores[];
  const int head = blockIdx.x, seq = blockIdx.y;
  const int kvh = head / GROUP;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int len = p.seq_len[seq];
  const int* pages = p.table + seq * p.max_pages;

  float2 qf[D / 64];
  const __half2* q2 = reinterpret_cast<const __half2*>(p.q + (size_t)(seq * p.q_heads + head) * D);
#pragma unroll
  for (int i = 0; i < D / 64; ++i) qf[i] = __half22float2(q2[lane + 32 * i]);

  float mx = -FLT_MAX;
  for (int t = warp; t < len; t += ATTN_THREADS / 32) {
    const size_t row = ((size_t)pages[t / PAGE] * p.kv_heads + kvh) * PAGE + t % PAGE;
    const __half2* k2 = reinterpret_cast<const __half2*>(p.k_cache + row * D);
    float dot = 0.f;
#pragma unroll
    for (int i = 0; i < D / 64; ++i) {
      const float2 kf = __half22float2(k2[lane + 32 * i]);
      dot += qf[i].x * kf.x + qf[i].y * kf.y;
    }
    dot = warp_reduce(dot, SumOp()) * p.scale;
    if (lane == 0) scores[t] = dot;
    mx = fmaxf(mx, dot);
  }
  mx = block_reduce(mx, MaxOp(), -FLT_MAX);   // also orders the score writes

  float sum = 0.f;
  for (int t = threadIdx.x; t < len; t += ATTN_THREADS) {
    const float e = __expf(scores[t] - mx);
    scores[t] = e;
    sum += e;
  }
  const float inv = 1.f / block_reduce(sum, SumOp(), 0.f);
  for (int d = threadIdx.x; d < D; d += ATTN_THREADS) {
    float acc = 0.f;
    for (int t0 = 0; t0 < len; t0 += PAGE) {
      const __half* v = p.v_cache + (((size_t)pages[t0 / PAGE] * p.kv_heads + kvh) * D + d) * PAGE;
      const int lim = min(PAGE, len - t0);
      for (int s = 0; s < lim; ++s) acc += scores[t0 + s] * __half2float(v[s]);
    }
    p.out[(size_t)(seq * p.q_heads + head) * D + d] = __float2half(acc * inv);
  }
}

// grid (kv_heads, splits, seqs); pages staged in shared memory, warp w handles query head kvh*GROUP + w
template <int D>
__global__ void __launch_bounds__(ATTN_THREADS, 8) decode_split_kernel(const AttnParams p) {
  constexpr int VP = PAGE + 2;      // padded row of the transposed V page
  __shared__ __align__(16) __half2 sk[PAGE][D / 2];
  __shared__ __align__(16) __half sv[D][VP];

  const int kvh = blockIdx.x, split = blockIdx.y, seq = blockIdx.z;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int head = kvh * GROUP + warp;
  const int len = p.seq_len[seq];
  const int n_pages = (len + PAGE - 1) / PAGE;
  const int per_split = (n_pages + SPLITS - 1) / SPLITS;
  const int pg0 = split * per_split;
  const int pg1 = min(n_pages, pg0 + per_split);

  float2 qf[D / 64];
  const __half2* q2 = reinterpret_cast<const __half2*>(p.q + (size_t)(seq * p.q_heads + head) * D);
#pragma unroll
  for (int i = 0; i < D / 64; ++i) qf[i] = __half22float2(q2[lane + 32 * i]);

  float m = -INFINITY, l = 0.f;
  float acc[D / 32] = {};

  for (int pg = pg0; pg < pg1; ++pg) {
    const size_t base = ((size_t)p.table[seq * p.max_pages + pg] * p.kv_heads + kvh) * PAGE * D;
    const uint4* ksrc = reinterpret_cast<const uint4*>(p.k_cache + base);
    for (int i = threadIdx.x; i < PAGE * D / 8; i += ATTN_THREADS)
      reinterpret_cast<uint4*>(&sk[0][0])[i] = ksrc[i];
    const __half2* vsrc = reinterpret_cast<const __half2*>(p.v_cache + base);
    for (int i = threadIdx.x; i < PAGE * D / 2; i += ATTN_THREADS) {
      const int d = i / (PAGE / 2), s = 2 * (i % (PAGE / 2));
      *reinterpret_cast<__half2*>(&sv[d][s]) = vsrc[i];
    }
    __syncthreads();

    const int lim = min(PAGE, len - pg * PAGE);
    for (int s = 0; s < lim; ++s) {
      float x = 0.f;
#pragma unroll
      for (int i = 0; i < D / 64; ++i) {
        const float2 kf = __half22float2(sk[s][lane + 32 * i]);
        x += qf[i].x * kf.x + qf[i].y * kf.y;
      }
      x = warp_reduce(x, SumOp()) * p.scale;
      const float m_new = fmaxf(m, x);
      const float corr = __expf(m - m_new);
      const float w = __expf(x - m_new);
      l = l * corr + w;
#pragma unroll
      for (int i = 0; i < D / 32; ++i) acc[i] = acc[i] * corr + w * __half2float(sv[lane + 32 * i][s]);
      m = m_new;
    }
    __syncthreads();
  }
  const size_t slot = (size_t)(seq * p.q_heads + head) * SPLITS + split;
  for (int i = 0; i < D / 32; ++i) p.part_acc[slot * D + lane + 32 * i] = acc[i];
  if (lane == 0) p.part_ml[slot] = make_float2(m, l);
}

// grid (seqs * q_heads), block (D)
__global__ void combine_splits_kernel(const float* __restrict__ part_acc, const float2* __restrict__ part_ml,
                                      __half* __restrict__ out) {
  const int row = blockIdx.x, d = threadIdx.x, dim = blockDim.x;
  float M = -INFINITY;
  for (int s = 0; s < SPLITS; ++s) M = fmaxf(M, part_ml[row * SPLITS + s].x);
  float den = 0.f, num = 0.f;
  for (int s = 0; s < SPLITS; ++s) {
    const float2 ml = part_ml[row * SPLITS + s];
    const float w = __expf(ml.x - M);
    den += w * ml.y;
    num += w * part_acc[((size_t)row * SPLITS + s) * dim + d];
  }
  out[(size_t)row * dim + d] = __float2half(num / den);
}

template <int D>
void launch_attention(AttnParams p, int seqs, int max_len, __half* out_single) {
  AttnParams a = p;
  a.out = out_single;
  decode_attention_kernel<D><<<dim3(p.q_heads, seqs), ATTN_THREADS, max_len * sizeof(float)>>>(a);
  decode_split_kernel<D><<<dim3(p.kv_heads, SPLITS, seqs), ATTN_THREADS>>>(p);
  combine_splits_kernel<<<seqs * p.q_heads, D>>>(p.part_acc, p.part_ml, p.out);
  CUDA_CHECK(cudaGetLastError());
}

template <typename T>
T* to_device(const std::vector<T>& v) {   // released with the context
  T* p;
  CUDA_CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <typename T>
std::vector<T> to_host(const T* p, size_t n) {
  std::vector<T> v(n);
  CUDA_CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

int main(int argc, char** argv) {
  const int D = argc > 1 ? atoi(argv[1]) : 128;
  const int seqs = 8, kv_heads = 4, q_heads = kv_heads * GROUP, max_pages = 48;
  const int hd = D / 2;
  std::mt19937 rng(11);
  std::normal_distribution<float> nd(0.f, 1.f);
  auto randh = [&](size_t n) { std::vector<__half> v(n); for (auto& x : v) x = __float2half(nd(rng)); return v; };

  std::vector<int> len(seqs), table(seqs * max_pages);
  for (auto& l : len) l = 257 + static_cast<int>(rng() % 480);   // <= 736 < 768
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), rng);
  const int max_len = *std::max_element(len.begin(), len.end());
  const size_t cache_n = (size_t)seqs * max_pages * kv_heads * PAGE * D;
  auto q = randh((size_t)seqs * q_heads * D), kn = randh((size_t)seqs * kv_heads * D), vn = randh(kn.size());
  auto kc = randh(cache_n), vc = randh(cache_n);
  std::vector<float2> cs((size_t)max_len * hd);
  for (size_t i = 0; i < cs.size(); ++i) {
    const double ang = (i / hd) * std::pow(10000.0, -2.0 * (i % hd) / D);
    cs[i] = make_float2((float)std::cos(ang), (float)std::sin(ang));
  }

  __half *d_q = to_device(q), *d_kn = to_device(kn), *d_vn = to_device(vn), *d_kc = to_device(kc), *d_vc = to_device(vc);
  float2* d_cs = to_device(cs);
  int *d_len = to_device(len), *d_table = to_device(table);
  __half* d_out1;
  AttnParams p{d_q, d_kc, d_vc, d_table, d_len, nullptr, nullptr, nullptr, q_heads, kv_heads, max_pages,
               1.f / std::sqrt((float)D)};
  const size_t rows = (size_t)seqs * q_heads;
  CUDA_CHECK(cudaMalloc(&d_out1, rows * D * sizeof(__half)));
  CUDA_CHECK(cudaMalloc(&p.out, rows * D * sizeof(__half)));
  CUDA_CHECK(cudaMalloc(&p.part_acc, rows * SPLITS * D * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&p.part_ml, rows * SPLITS * sizeof(float2)));

  rope_query_kernel<<<dim3(q_heads / 4, seqs), dim3(hd, 4)>>>((__half2*)d_q, d_cs, d_len, q_heads, hd);
  append_kv_kernel<<<seqs, dim3(hd, kv_heads)>>>((const __half2*)d_kn, (const __half2*)d_vn, d_cs, d_table, d_len,
                                                d_kc, d_vc, max_pages);
  switch (D) {
    case 64: launch_attention<64>(p, seqs, max_len, d_out1); break;
    case 128: launch_attention<128>(p, seqs, max_len, d_out1); break;
    default: printf("unsupported head dim %d\nFAIL\n", D); return 1;
  }
  CUDA_CHECK(cudaDeviceSynchronize());

  // reference: rotate on the host, then plain attention in double
  auto rot = [&](__half* v, int pos) {
    for (int i = 0; i < hd; ++i) {
      const float2 c = cs[(size_t)pos * hd + i];
      const float a = __half2float(v[2 * i]), b = __half2float(v[2 * i + 1]);
      v[2 * i] = __float2half(a * c.x - b * c.y);
      v[2 * i + 1] = __float2half(a * c.y + b * c.x);
    }
  };
  for (int s = 0; s < seqs; ++s) {
    const int pos = len[s] - 1;
    for (int h = 0; h < q_heads; ++h) rot(&q[(size_t)(s * q_heads + h) * D], pos);
    for (int h = 0; h < kv_heads; ++h) {
      __half* k = &kn[(size_t)(s * kv_heads + h) * D];
      rot(k, pos);
      const size_t ph = (size_t)table[s * max_pages + pos / PAGE] * kv_heads + h;
      for (int d = 0; d < D; ++d) {
        kc[(ph * PAGE + pos % PAGE) * D + d] = k[d];
        vc[(ph * D + d) * PAGE + pos % PAGE] = vn[(size_t)(s * kv_heads + h) * D + d];
      }
    }
  }
  auto gk = to_host(d_kc, cache_n), gv = to_host(d_vc, cache_n);
  auto o1 = to_host(d_out1, rows * D), o2 = to_host(p.out, rows * D);
  double ek = 0, ev = 0, e1 = 0, e2 = 0;
  auto worst = [](double& w, double d) { if (!(d <= w)) w = d; };
  for (size_t i = 0; i < cache_n; ++i) worst(ek, std::fabs(__half2float(gk[i]) - __half2float(kc[i])));
  for (size_t i = 0; i < cache_n; ++i) worst(ev, std::fabs(__half2float(gv[i]) - __half2float(vc[i])));
  std::vector<double> sc(max_len), o(D);
  for (int s = 0; s < seqs; ++s)
    for (int h = 0; h < q_heads; ++h) {
      const __half* qr = &q[(size_t)(s * q_heads + h) * D];
      double mx = -1e300, sum = 0;
      for (int t = 0; t < len[s]; ++t) {
        const size_t ph = (size_t)table[s * max_pages + t / PAGE] * kv_heads + h / GROUP;
        double x = 0;
        for (int d = 0; d < D; ++d) x += (double)__half2float(qr[d]) * __half2float(kc[(ph * PAGE + t % PAGE) * D + d]);
        sc[t] = x / std::sqrt((double)D);
        mx = std::max(mx, sc[t]);
      }
      std::fill(o.begin(), o.end(), 0.0);
      for (int t = 0; t < len[s]; ++t) {
        const size_t ph = (size_t)table[s * max_pages + t / PAGE] * kv_heads + h / GROUP;
        const double w = std::exp(sc[t] - mx);
        sum += w;
        for (int d = 0; d < D; ++d) o[d] += w * __half2float(vc[(ph * D + d) * PAGE + t % PAGE]);
      }
      for (int d = 0; d < D; ++d) {
        const size_t at = (size_t)(s * q_heads + h) * D + d;
        worst(e1, std::fabs(__half2float(o1[at]) - o[d] / sum));
        worst(e2, std::fabs(__half2float(o2[at]) - o[d] / sum));
      }
    }
  printf("cache k %.1e v %.1e   attention %.1e   split %.1e\n", ek, ev, e1, e2);
  const bool ok = ek < 5e-3 && ev == 0.0 && e1 < 3e-3 && e2 < 3e-3;
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
