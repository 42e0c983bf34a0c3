// Decode-phase attention over a paged KV cache (fp16), plus reshape_and_cache; one query token a sequence
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cmath>
#include <vector>

struct __align__(16) Half8 { half2 v[4]; };
__device__ __forceinline__ float dot8(const Half8& a, const Half8& b) {
  float s = 0.f;
#pragma unroll
  for (int i = 0; i < 4; ++i) { float2 x = __half22float2(a.v[i]), y = __half22float2(b.v[i]); s = fmaf(x.x, y.x, fmaf(x.y, y.y, s)); }
  return s;
}

// k_cache: [blocks, kv_heads, D/8, PAGE, 8]   v_cache: [blocks, kv_heads, D, PAGE]
template <int D, int PAGE>
__global__ void reshape_and_cache(const half* __restrict__ key, const half* __restrict__ value, half* __restrict__ kc, half* __restrict__ vc, const int64_t* __restrict__ slot_mapping, int kvh) {
  const int64_t token = blockIdx.x, slot = slot_mapping[token];
  if (slot < 0) return;
  const int64_t page = slot / PAGE, off = slot % PAGE;
  for (int i = threadIdx.x; i < kvh * D; i += blockDim.x) {
    const int h = i / D, d = i % D;
    kc[((page * kvh + h) * (D / 8) + d / 8) * PAGE * 8 + off * 8 + d % 8] = key[token * kvh * D + i];
    vc[((page * kvh + h) * D + d) * PAGE + off] = value[token * kvh * D + i];
  }
}

template <int D, int PAGE, int THREADS>
__global__ void paged_attention_v1(half* __restrict__ out, const half* __restrict__ q, const half* __restrict__ kc, const half* __restrict__ vc, const int* __restrict__ tables, const int* __restrict__ lens, int max_pages, int heads, int kvh, float scale) {
  const int head = blockIdx.x, seq = blockIdx.y, len = lens[seq];
  const int kv = head / (heads / kvh);
  const int* table = tables + seq * max_pages;
  extern __shared__ float logits[];
  __shared__ float red[THREADS / 32];
  __shared__ Half8 sq[D / 8];
  if (threadIdx.x < D / 8) sq[threadIdx.x] = reinterpret_cast<const Half8*>(q + (seq * heads + head) * D)[threadIdx.x];
  __syncthreads();
  float mx = -1e30f;
  for (int t = threadIdx.x; t < len; t += THREADS) {
    const half* k = kc + ((int64_t)table[t / PAGE] * kvh + kv) * D * PAGE + (t % PAGE) * 8;
    float s = 0.f;
#pragma unroll
    for (int c = 0; c < D / 8; ++c) s += dot8(sq[c], *reinterpret_cast<const Half8*>(k + c * PAGE * 8));
    logits[t] = s * scale;
    mx = fmaxf(mx, s * scale);
  }
  for (int o = 16; o; o >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, o));
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = mx;
  __syncthreads();
  for (int w = 0; w < THREADS / 32; ++w) mx = fmaxf(mx, red[w]);
  __syncthreads();
  float sum = 0.f;
  for (int t = threadIdx.x; t < len; t += THREADS) { float e = __expf(logits[t] - mx); logits[t] = e; sum += e; }
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0.f;
  for (int w = 0; w < THREADS / 32; ++w) sum += red[w];
  const float inv = 1.f / (sum + 1e-6f);
  // values: 8 positions of a page by a Half8 load
  for (int d = threadIdx.x; d < D; d += THREADS) {
    float acc = 0.f;
    for (int p = 0; p * PAGE < len; ++p) {
      const half* v = vc + (((int64_t)table[p] * kvh + kv) * D + d) * PAGE;
#pragma unroll
      for (int j = 0; j < PAGE; j += 8) {
        Half8 hv = *reinterpret_cast<const Half8*>(v + j);
        const half* e = reinterpret_cast<const half*>(&hv);
#pragma unroll
        for (int i = 0; i < 8; ++i) { int t = p * PAGE + j + i; if (t < len) acc += logits[t] * __half2float(e[i]); }
      }
    }
    out[(seq * heads + head) * D + d] = __float2half(acc * inv);
  }
}

__global__ void fill_half(half* p, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    unsigned h = (unsigned)i * 2654435761u + seed; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
    p[i] = __float2half((h & 4095) / 2048.f - 1.f);
  }
}

int main() {
  constexpr int D = 128, PAGE = 16;
  const int seqs = 48, heads = 16, kvh = 4, maxlen = 700, mp = (maxlen + PAGE - 1) / PAGE;
  std::vector<int> lens(seqs), tab(seqs * mp); std::vector<int64_t> slots;
  std::vector<int> start(seqs + 1, 0);
  for (int s = 0; s < seqs; ++s) {
    lens[s] = 50 + (s * 137) % (maxlen - 49);
    for (int p = 0; p < mp; ++p) tab[s * mp + p] = (int)(((long long)(s * mp + p) * 7919) % (seqs * mp));
    for (int t = 0; t < lens[s]; ++t) slots.push_back((int64_t)tab[s * mp + t / PAGE] * PAGE + t % PAGE);
    start[s + 1] = slots.size();
  }
  const size_t T = slots.size(), cache = (size_t)seqs * mp * kvh * D * PAGE;
  half *k, *v, *q, *kc, *vc, *o; int *dt, *dl; int64_t* ds;
  cudaMalloc(&k, T * kvh * D * 2); cudaMalloc(&v, T * kvh * D * 2); cudaMalloc(&q, seqs * heads * D * 2); cudaMalloc(&o, seqs * heads * D * 2);
  cudaMalloc(&kc, cache * 2); cudaMalloc(&vc, cache * 2); cudaMalloc(&dt, tab.size() * 4); cudaMalloc(&dl, seqs * 4); cudaMalloc(&ds, T * 8);
  cudaMemset(kc, 0, cache * 2); cudaMemset(vc, 0, cache * 2);
  cudaMemcpy(dt, tab.data(), tab.size() * 4, cudaMemcpyHostToDevice); cudaMemcpy(dl, lens.data(), seqs * 4, cudaMemcpyHostToDevice); cudaMemcpy(ds, slots.data(), T * 8, cudaMemcpyHostToDevice);
  fill_half<<<512, 256>>>(k, T * kvh * D, 1); fill_half<<<512, 256>>>(v, T * kvh * D, 99); fill_half<<<64, 256>>>(q, seqs * heads * D, 7);
  reshape_and_cache<D, PAGE><<<T, 256>>>(k, v, kc, vc, ds, kvh);
  const float scale = 1.f / sqrtf(D);
  paged_attention_v1<D, PAGE, 128><<<dim3(heads, seqs), 128, maxlen * sizeof(float)>>>(o, q, kc, vc, dt, dl, mp, heads, kvh, scale);
  std::vector<half> hk(T * kvh * D), hv(hk.size()), hq(seqs * heads * D), ho(hq.size());
  cudaMemcpy(hk.data(), k, hk.size() * 2, cudaMemcpyDeviceToHost); cudaMemcpy(hv.data(), v, hv.size() * 2, cudaMemcpyDeviceToHost);
  cudaMemcpy(hq.data(), q, hq.size() * 2, cudaMemcpyDeviceToHost); cudaMemcpy(ho.data(), o, ho.size() * 2, cudaMemcpyDeviceToHost);
  double err = 0;
  for (int s = 0; s < seqs; s += 5) for (int h = 0; h < heads; h += 3) {
    std::vector<double> w(lens[s]), r(D, 0.0); double sum = 0;
    for (int t = 0; t < lens[s]; ++t) {
      double x = 0; const half* kk = &hk[((start[s] + t) * kvh + h / (heads / kvh)) * D];
      for (int d = 0; d < D; ++d) x += (double)__half2float(kk[d]) * __half2float(hq[(s * heads + h) * D + d]);
      w[t] = exp(x * scale); sum += w[t];
      const half* vv = &hv[((start[s] + t) * kvh + h / (heads / kvh)) * D];
      for (int d = 0; d < D; ++d) r[d] += w[t] * __half2float(vv[d]);
    }
    for (int d = 0; d < D; ++d) err = fmax(err, fabs(r[d] / sum - __half2float(ho[(s * heads + h) * D + d])));
  }
  printf("tokens %zu err %g %s\n%s\n", T, err, cudaGetErrorString(cudaGetLastError()), err < 5e-3 ? "PASS" : "FAIL");
}
