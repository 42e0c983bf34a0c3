// Bits of a decoder-only transformer's inference path, each against a CPU reference:
// layer norm (fp32 -> fp16), rotary embedding, single-token attention over a KV cache
// (contiguous and paged), per-row int8 quantisation, W8A8 matmul with dp4a, top-k sampling.
#include <cuda_fp16.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CU(expr) \
  if (cudaError_t e__ = (expr)) { std::printf("%s failed: %s (line %d)\n", #expr, cudaGetErrorString(e__), __LINE__); std::exit(1); }
namespace cfg {
constexpr int kTokens = 256, kHidden = 768, kHeads = 12, kHeadDim = 64, kOut = 1000;
constexpr int kBatch = 8, kMaxLen = 320, kPage = 16, kPagesPerSeq = kMaxLen / kPage;
constexpr int kVocab = 4099, kRows = 16, kTopK = 8;
}  // namespace cfg
using namespace cfg;

// ---- helpers ----------------------------------------------------------------------------
struct SumOp { __device__ float operator()(float a, float b) const { return a + b; } };
struct MaxOp { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };
template <class Op>
__device__ float warp_all(float v, Op op) {
  for (int m = 16; m > 0; m /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
  return v;
}
template <class Op>
__device__ float block_all(float v, Op op, float* red) {  // red: one float a warp
  v = warp_all(v, op);
  __syncthreads();
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = v;
  __syncthreads();
  v = red[0];
  for (int w = 1; w < (int)blockDim.x / 32; ++w) v = op(v, red[w]);
  return v;
}

// ---- layer norm: a warp per token --------------------------------------------------------
__global__ void layernorm_f16(const float* __restrict__ x, const float* __restrict__ gamma,
                              const float* __restrict__ beta, __half* __restrict__ y, int rows, float eps) {
  constexpr int kVec = kHidden / 4 / 32;
  const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;  // whole warps leave
  const float4* xr = reinterpret_cast<const float4*>(x + (size_t)row * kHidden);
  float4 v[kVec];
  float s = 0.f;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    v[i] = xr[i * 32 + lane]; s += v[i].x + v[i].y + v[i].z + v[i].w;
  }
  const float mean = warp_all(s, SumOp()) / kHidden;
  float q = 0.f;
  for (int i = 0; i < kVec; ++i) {
    v[i].x -= mean; v[i].y -= mean; v[i].z -= mean; v[i].w -= mean;
    q += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
  }
  const float inv = rsqrtf(warp_all(q, SumOp()) / kHidden + eps);
  __half2* yr = reinterpret_cast<__half2*>(y + (size_t)row * kHidden);
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    const float4 g = reinterpret_cast<const float4*>(gamma)[i * 32 + lane];
    const float4 b = reinterpret_cast<const float4*>(beta)[i * 32 + lane];
    yr[2 * (i * 32 + lane)] = __floats2half2_rn(v[i].x * inv * g.x + b.x, v[i].y * inv * g.y + b.y);
    yr[2 * (i * 32 + lane) + 1] = __floats2half2_rn(v[i].z * inv * g.z + b.z, v[i].w * inv * g.w + b.w);
  }
}

// ---- rotary embedding, rotate-half convention ---------------------------------------------
__global__ void rope(float* q, const float2* __restrict__ cos_sin, int tokens) {
  const int half = kHeadDim / 2;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < tokens * kHeads * half; i += gridDim.x * blockDim.x) {
    const int tok = i / (kHeads * half), head = i / half % kHeads, p = i % half;
    float* base = q + ((size_t)tok * kHeads + head) * kHeadDim;
    const float2 cs = cos_sin[tok * half + p];
    const float a = base[p], b = base[p + half];
    base[p] = a * cs.x - b * cs.y; base[p + half] = b * cs.x + a * cs.y;
  }
}

// ---- KV cache layouts ----------------------------------------------------------------------
struct ContiguousKV {  // [batch][head][pos][dim]
  const __half *k, *v;
  __device__ size_t at(int b, int h, int t) const {
    return (((size_t)b * kHeads + h) * kMaxLen + t) * kHeadDim;
  }
};
struct PagedKV {  // [page][slot][head][dim] behind a block table
  const __half *k, *v;
  const int* table;
  __device__ size_t at(int b, int h, int t) const {
    const int page = table[b * kPagesPerSeq + t / kPage];
    return (((size_t)page * kPage + t % kPage) * kHeads + h) * kHeadDim;
  }
};
// one block per (head, sequence); thread-per-key for the scores, thread-per-dim for the values
template <class KV>
__global__ void attend_one_token(const float* __restrict__ q, int q_stride, KV kv, const int* __restrict__ len,
                                 float* __restrict__ out, float scale) {
  extern __shared__ float smem[];  // query | probabilities | partial outputs | warp results
  float *sq = smem, *prob = sq + kHeadDim, *part = prob + kMaxLen, *red = part + blockDim.x;
  const int h = blockIdx.x, b = blockIdx.y, tid = threadIdx.x, n = len[b];
  if (tid < kHeadDim) sq[tid] = q[(size_t)b * q_stride + h * kHeadDim + tid];
  __syncthreads();
  float mx = -INFINITY;
  for (int t = tid; t < n; t += blockDim.x) {
    const __half2* key = reinterpret_cast<const __half2*>(kv.k + kv.at(b, h, t));
    float s = 0.f;
    for (int d = 0; d < kHeadDim / 2; ++d) {
      const float2 kk = __half22float2(key[d]); s += kk.x * sq[2 * d] + kk.y * sq[2 * d + 1];
    }
    prob[t] = s * scale; mx = fmaxf(mx, prob[t]);
  }
  mx = block_all(mx, MaxOp(), red);
  float sum = 0.f;
  for (int t = tid; t < n; t += blockDim.x) sum += prob[t] = __expf(prob[t] - mx);
  sum = block_all(sum, SumOp(), red);
  const int groups = blockDim.x / kHeadDim, g = tid / kHeadDim, d = tid % kHeadDim;
  float acc = 0.f;
  for (int t = g; t < n; t += groups) acc += prob[t] * __half2float(kv.v[kv.at(b, h, t) + d]);
  part[tid] = acc;
  __syncthreads();
  if (g == 0) {
    for (int j = 1; j < groups; ++j) acc += part[j * kHeadDim + d];
    out[((size_t)b * kHeads + h) * kHeadDim + d] = acc / sum;
  }
}

// ---- int8 -----------------------------------------------------------------------------------
__global__ void quantize_rows(const __half* __restrict__ x, int8_t* __restrict__ q, float* __restrict__ scale, int cols) {
  __shared__ float red[32];
  const __half* xr = x + (size_t)blockIdx.x * cols;
  float m = 1e-8f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, fabsf(__half2float(xr[c])));
  m = block_all(m, MaxOp(), red);
  const float inv = 127.f / m;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    q[(size_t)blockIdx.x * cols + c] = (int8_t)rintf(__half2float(xr[c]) * inv);
  if (threadIdx.x == 0) scale[blockIdx.x] = m / 127.f;
}
// a thread per output; both operands are K-contiguous, so neighbours in x are a full row apart
__global__ void matmul_w8a8(const int* __restrict__ a, const int* __restrict__ w, const float* __restrict__ sa,
                            float sw, float* __restrict__ out, int rows, int n, int k4) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= n || r >= rows) return;
  int acc = 0;
  for (int k = 0; k < k4; ++k) acc = __dp4a(a[r * k4 + k], w[c * k4 + k], acc);
  out[(size_t)r * n + c] = (float)acc * sa[r] * sw;
}

// ---- top-k by repeated arg-max, then inverse-CDF sampling -----------------------------------
struct Best { float v; int i; };
__device__ bool better(const Best& a, const Best& b) { return a.v > b.v || (a.v == b.v && a.i < b.i); }
__global__ void topk_sample(const float* __restrict__ logits, const float* __restrict__ u, int* ids, float* probs, int* token) {
  extern __shared__ float s[];
  __shared__ Best cand[256], win[kTopK];
  for (int i = threadIdx.x; i < kVocab; i += 256) s[i] = logits[(size_t)blockIdx.x * kVocab + i];
  __syncthreads();
  for (int k = 0; k < kTopK; ++k) {
    Best b{-INFINITY, kVocab};
    for (int i = threadIdx.x; i < kVocab; i += 256)
      if (const Best c{s[i], i}; better(c, b)) b = c;
    cand[threadIdx.x] = b;
    for (int d = 128; d > 0; d >>= 1) {
      __syncthreads();
      if (threadIdx.x < d && better(cand[threadIdx.x + d], cand[threadIdx.x])) cand[threadIdx.x] = cand[threadIdx.x + d];
    }
    if (threadIdx.x == 0) { win[k] = cand[0]; s[cand[0].i] = -INFINITY; }
    __syncthreads();
  }
  if (threadIdx.x) return;
  float z = 0.f, c = 0.f, e[kTopK];
  for (int k = 0; k < kTopK; ++k) z += e[k] = expf(win[k].v - win[0].v);
  int pick = kTopK - 1;
  for (int k = kTopK - 1; k >= 0; --k) { ids[blockIdx.x * kTopK + k] = win[k].i; probs[blockIdx.x * kTopK + k] = e[k] / z; }
  for (int k = 0; k < kTopK; ++k)
    if ((c += e[k] / z) > u[blockIdx.x]) { pick = k; break; }
  token[blockIdx.x] = win[pick].i;
}

// ---- host --------------------------------------------------------------------------------------
template <class T> struct Buf {
  T* d = nullptr; size_t n;
  explicit Buf(size_t n_) : n(n_) { CU(cudaMalloc(&d, n * sizeof(T))); CU(cudaMemset(d, 0, n * sizeof(T))); }
  explicit Buf(const std::vector<T>& h) : Buf(h.size()) { CU(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  ~Buf() { cudaFree(d); }
  Buf(const Buf&) = delete;
  std::vector<T> get() const { std::vector<T> h(n); CU(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
};
static bool report(const char* what, double err, double tol) {
  CU(cudaGetLastError());
  std::printf("%-12s err %.3g\n", what, err);
  return err <= tol;
}

int main() {
  uint64_t st = 42;
  auto rnd = [&st] { st = st * 6364136223846793005ull + 1442695040888963407ull; return (float)(int)(st >> 40) / 8388608.f - 1.f; };
  auto fill = [&](size_t n) { std::vector<float> v(n); for (auto& x : v) x = rnd(); return v; };
  bool ok = true; auto x = fill((size_t)kTokens * kHidden), gamma = fill(kHidden), beta = fill(kHidden);
  Buf<float> dx(x), dg(gamma), db(beta);
  Buf<__half> dy((size_t)kTokens * kHidden);
  layernorm_f16<<<(kTokens + 3) / 4, dim3(32, 4)>>>(dx.d, dg.d, db.d, dy.d, kTokens, 1e-5f);
  auto y = dy.get(); double err = 0;
  for (int r = 0; r < kTokens; ++r) {
    const float* p = &x[(size_t)r * kHidden];
    double m = std::accumulate(p, p + kHidden, 0.0) / kHidden, v = 0;
    for (int c = 0; c < kHidden; ++c) v += (p[c] - m) * (p[c] - m);
    for (int c = 0; c < kHidden; ++c)
      err = std::max(err, std::fabs((p[c] - m) / std::sqrt(v / kHidden + 1e-5) * gamma[c] + beta[c] - __half2float(y[(size_t)r * kHidden + c])));
  }
  ok &= report("layernorm", err, 5e-3);
  auto q = fill((size_t)kTokens * kHidden);
  std::vector<float2> cs(kTokens * kHeadDim / 2);
  for (int t = 0; t < kTokens; ++t)
    for (int p = 0; p < kHeadDim / 2; ++p) {
      const double ang = t * std::pow(10000.0, -2.0 * p / kHeadDim);
      cs[t * (kHeadDim / 2) + p] = make_float2((float)std::cos(ang), (float)std::sin(ang));
    }
  Buf<float> dq(q); Buf<float2> dcs(cs);
  rope<<<200, 256>>>(dq.d, dcs.d, kTokens);
  for (int t = 0; t < kTokens; ++t)
    for (int h = 0; h < kHeads; ++h)
      for (int p = 0; p < kHeadDim / 2; ++p) {
        float *a = &q[((size_t)t * kHeads + h) * kHeadDim + p], *b = a + kHeadDim / 2, a0 = *a, b0 = *b;
        const float2 c = cs[t * (kHeadDim / 2) + p];
        *a = a0 * c.x - b0 * c.y; *b = b0 * c.x + a0 * c.y;
      }
  auto gq = dq.get(); err = 0; for (size_t i = 0; i < q.size(); ++i) err = std::max(err, (double)std::fabs(q[i] - gq[i]));
  ok &= report("rope", err, 1e-5);
  const size_t cache = (size_t)kBatch * kHeads * kMaxLen * kHeadDim;
  std::vector<__half> k(cache), v(cache), kp(cache), vp(cache);
  std::vector<int> table(kBatch * kPagesPerSeq), len(kBatch);
  for (size_t i = 0; i < table.size(); ++i) table[i] = (int)((i * 37 + 11) % table.size());  // 37 is coprime to 160
  for (int b = 0; b < kBatch; ++b) len[b] = kMaxLen - 3 - 23 * b;
  std::vector<float> ref((size_t)kBatch * kHidden);
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < kHeads; ++h) {
      std::vector<double> s(len[b]), o(kHeadDim, 0.0);
      double z = 0;
      for (int t = 0; t < kMaxLen; ++t)
        for (int d = 0; d < kHeadDim; ++d) {
          const size_t c = (((size_t)b * kHeads + h) * kMaxLen + t) * kHeadDim + d;
          const size_t g = (((size_t)table[b * kPagesPerSeq + t / kPage] * kPage + t % kPage) * kHeads + h) * kHeadDim + d;
          kp[g] = k[c] = __float2half(rnd()); vp[g] = v[c] = __float2half(rnd());
          if (t < len[b]) s[t] += q[(size_t)b * 32 * kHidden + h * kHeadDim + d] * __half2float(k[c]);
        }
      for (int t = 0; t < len[b]; ++t) {
        const double e = std::exp(s[t] * 0.125);
        z += e; for (int d = 0; d < kHeadDim; ++d) o[d] += e * __half2float(v[(((size_t)b * kHeads + h) * kMaxLen + t) * kHeadDim + d]);
      }
      for (int d = 0; d < kHeadDim; ++d) ref[((size_t)b * kHeads + h) * kHeadDim + d] = (float)(o[d] / z);
    }
  Buf<__half> dk(k), dv(v), dkp(kp), dvp(vp); Buf<int> dlen(len), dtab(table);
  const size_t sm = (kHeadDim + kMaxLen + 128 + 32) * sizeof(float);
  for (int paged = 0; paged < 2; ++paged) {
    Buf<float> dout(ref.size());
    if (paged) attend_one_token<<<dim3(kHeads, kBatch), 128, sm>>>(dq.d, 32 * kHidden, PagedKV{dkp.d, dvp.d, dtab.d}, dlen.d, dout.d, 0.125f);
    else attend_one_token<<<dim3(kHeads, kBatch), 128, sm>>>(dq.d, 32 * kHidden, ContiguousKV{dk.d, dv.d}, dlen.d, dout.d, 0.125f);
    auto o = dout.get();
    err = 0; for (size_t i = 0; i < o.size(); ++i) err = std::max(err, (double)std::fabs(o[i] - ref[i]));
    ok &= report(paged ? "attn paged" : "attn dense", err, 1e-4);
  }
  std::vector<int8_t> w((size_t)kOut * kHidden);
  for (auto& b : w) b = (int8_t)(rnd() * 127.f);
  Buf<int8_t> dw(w), dqx((size_t)kTokens * kHidden);
  Buf<float> dsc(kTokens), dlog((size_t)kTokens * kOut);
  quantize_rows<<<kTokens, 160>>>(dy.d, dqx.d, dsc.d, kHidden);
  auto qx = dqx.get(); auto sc = dsc.get(); err = 0; for (size_t i = 0; i < qx.size(); ++i) err = std::max(err, (double)std::fabs(qx[i] * sc[i / kHidden] - __half2float(y[i])) / sc[i / kHidden]);
  ok &= report("quantize", err, 0.501);
  matmul_w8a8<<<dim3((kOut + 31) / 32, kTokens / 8), dim3(32, 8)>>>((const int*)dqx.d, (const int*)dw.d, dsc.d, 0.01f, dlog.d, kTokens, kOut, kHidden / 4);
  auto lg = dlog.get();
  err = 0; for (int r = 0; r < kTokens; ++r)
    for (int c = 0; c < kOut; ++c) {
      int acc = 0;
      for (int kk = 0; kk < kHidden; ++kk) acc += qx[(size_t)r * kHidden + kk] * w[(size_t)c * kHidden + kk];
      const float want = (float)acc * sc[r] * 0.01f;
      err = std::max(err, (double)std::fabs(want - lg[(size_t)r * kOut + c]) / (1.0 + std::fabs(want)));
    }
  ok &= report("w8a8", err, 1e-5);
  auto logit = fill((size_t)kRows * kVocab), u = fill(kRows);
  for (auto& f : logit) f *= 9.f;
  for (auto& f : u) f = 0.5f * (f + 1.f);
  Buf<float> dl(logit), du(u), dp(kRows * kTopK); Buf<int> did(kRows * kTopK), dtok(kRows);
  topk_sample<<<kRows, 256, kVocab * sizeof(float)>>>(dl.d, du.d, did.d, dp.d, dtok.d);
  auto id = did.get(), tok = dtok.get(); auto pr = dp.get();
  err = 0; for (int r = 0; r < kRows; ++r) {
    std::vector<int> ord(kVocab); std::iota(ord.begin(), ord.end(), 0);
    std::stable_sort(ord.begin(), ord.end(), [&](int a, int b) { return logit[r * kVocab + a] > logit[r * kVocab + b]; });
    float c = 0.f; int pick = kTopK - 1;
    for (int j = 0; j < kTopK; ++j) err += id[r * kTopK + j] != ord[j];
    for (int j = 0; j < kTopK; ++j) if ((c += pr[r * kTopK + j]) > u[r]) { pick = j; break; }
    err += tok[r] != ord[pick];
  }
  ok &= report("top-k", err, 0);
  std::puts(ok ? "PASS" : "FAIL"); return ok ? 0 : 1;
}
