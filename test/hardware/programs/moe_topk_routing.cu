// MoE gate: softmax + top-2 of 64 experts, token counting, offsets, permutation of rows, un-permute with weights
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cstdio>
#include <cmath>
#include <cstdint>
#include <vector>
#include <algorithm>

using bf16 = __nv_bfloat16;
constexpr int E = 64, TOPK = 2;

template <int VPT>   // values per thread; 32*VPT experts, warp a token
__global__ void topk_gating_softmax(const float* __restrict__ logits, float* __restrict__ w, int* __restrict__ sel, int tokens) {
  const int warp = threadIdx.y + blockIdx.x * blockDim.y, lane = threadIdx.x;
  if (warp >= tokens) return;
  float v[VPT], mx = -INFINITY, sum = 0.f;
  const float* row = logits + warp * (32 * VPT);
#pragma unroll
  for (int i = 0; i < VPT; ++i) { v[i] = row[lane * VPT + i]; mx = fmaxf(mx, v[i]); }
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, m));
#pragma unroll
  for (int i = 0; i < VPT; ++i) { v[i] = expf(v[i] - mx); sum += v[i]; }
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) sum += __shfl_xor_sync(~0u, sum, m);
  for (int k = 0; k < TOPK; ++k) {
    float best = v[0];
    int arg = lane * VPT;
#pragma unroll
    for (int i = 1; i < VPT; ++i) if (v[i] > best) { best = v[i]; arg = lane * VPT + i; }
#pragma unroll
    for (int m = 16; m > 0; m >>= 1) {
      float ob = __shfl_xor_sync(~0u, best, m);
      int oa = __shfl_xor_sync(~0u, arg, m);
      if (ob > best || (ob == best && oa < arg)) { best = ob; arg = oa; }
    }
    if (lane == 0) { w[warp * TOPK + k] = best / sum; sel[warp * TOPK + k] = arg; }
    if (arg / VPT == lane) {
#pragma unroll
      for (int i = 0; i < VPT; ++i) if (arg % VPT == i) v[i] = -1.f;
    }
  }
}

__global__ void count_experts(const int* __restrict__ sel, int n, int* __restrict__ counts) {
  __shared__ int c[E];
  for (int i = threadIdx.x; i < E; i += blockDim.x) c[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(c + sel[i], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < E; i += blockDim.x) atomicAdd(counts + i, c[i]);
}

// offsets padded to 16 rows for the grouped GEMM
__global__ void expert_offsets(const int* counts, int* offs, int* cursor) {
  const int lane = threadIdx.x;
  int carry = 0;
  for (int b = 0; b < E; b += 32) {
    int v = (counts[b + lane] + 15) & ~15, s = v;
    for (int d = 1; d < 32; d *= 2) { int t = __shfl_up_sync(~0u, s, d); if (lane >= d) s += t; }
    offs[b + lane] = cursor[b + lane] = carry + s - v;
    carry += __shfl_sync(~0u, s, 31);
  }
  if (lane == 0) offs[E] = carry;
}

// one block a (token, k): copies the row to its slot, 16-byte vectors
__global__ void permute_rows(const uint4* __restrict__ x, uint4* __restrict__ xp, const int* __restrict__ sel, int* cursor, int* __restrict__ slot, int vec) {
  __shared__ int s;
  const int a = blockIdx.x;
  if (threadIdx.x == 0) { s = atomicAdd(&cursor[sel[a]], 1); slot[a] = s; }
  __syncthreads();
  for (int i = threadIdx.x; i < vec; i += blockDim.x) xp[(size_t)s * vec + i] = x[(size_t)(a / TOPK) * vec + i];
}

__global__ void unpermute_combine(const bf16* __restrict__ yp, const float* __restrict__ w, const int* __restrict__ slot, bf16* __restrict__ y, int hidden) {
  const int t = blockIdx.y, d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= hidden) return;
  float acc = 0.f, norm = 0.f;
#pragma unroll
  for (int k = 0; k < TOPK; ++k) {
    float g = w[t * TOPK + k];
    acc += g * __bfloat162float(yp[(size_t)slot[t * TOPK + k] * hidden + d]);
    norm += g;
  }
  y[(size_t)t * hidden + d] = __float2bfloat16(acc / norm);
}

int main() {
  const int T = 4099, H = 1536, cap = T * TOPK + E * 16;
  std::vector<float> lg(T * E); std::vector<bf16> x((size_t)T * H), y(x.size());
  for (int i = 0; i < T * E; ++i) { uint32_t h = i * 2654435761u; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13; lg[i] = (h & 0xfffff) / 262144.f - (i % E) * 0.02f; }
  for (size_t i = 0; i < x.size(); ++i) x[i] = __float2bfloat16(((i * 37) % 201) * 0.01f - 1.f);
  float *dl, *dw; int *ds, *dc, *doff, *dcur, *dslot; bf16 *dx, *dp, *dy;
  cudaMalloc(&dl, lg.size() * 4); cudaMalloc(&dw, T * TOPK * 4); cudaMalloc(&ds, T * TOPK * 4); cudaMalloc(&dslot, T * TOPK * 4);
  cudaMalloc(&dc, E * 4); cudaMalloc(&doff, (E + 1) * 4); cudaMalloc(&dcur, E * 4);
  cudaMalloc(&dx, x.size() * 2); cudaMalloc(&dy, x.size() * 2); cudaMalloc(&dp, (size_t)cap * H * 2);
  cudaMemset(dc, 0, E * 4); cudaMemset(dp, 0, (size_t)cap * H * 2);
  cudaMemcpy(dl, lg.data(), lg.size() * 4, cudaMemcpyHostToDevice); cudaMemcpy(dx, x.data(), x.size() * 2, cudaMemcpyHostToDevice);
  topk_gating_softmax<E / 32><<<(T + 3) / 4, dim3(32, 4)>>>(dl, dw, ds, T);
  count_experts<<<16, 256>>>(ds, T * TOPK, dc);
  expert_offsets<<<1, 32>>>(dc, doff, dcur);
  permute_rows<<<T * TOPK, 128>>>((uint4*)dx, (uint4*)dp, ds, dcur, dslot, H / 8);
  unpermute_combine<<<dim3((H + 255) / 256, T), 256>>>(dp, dw, dslot, dy, H);
  std::vector<float> w(T * TOPK); std::vector<int> s(T * TOPK), c(E), off(E + 1), slot(T * TOPK);
  cudaMemcpy(w.data(), dw, w.size() * 4, cudaMemcpyDeviceToHost); cudaMemcpy(s.data(), ds, s.size() * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(c.data(), dc, E * 4, cudaMemcpyDeviceToHost); cudaMemcpy(off.data(), doff, (E + 1) * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(slot.data(), dslot, slot.size() * 4, cudaMemcpyDeviceToHost); cudaMemcpy(y.data(), dy, y.size() * 2, cudaMemcpyDeviceToHost);
  int bad = 0; double e = 0, ew = 0;
  std::vector<int> rc(E, 0); std::vector<char> used(cap, 0);
  for (int t = 0; t < T; ++t) {
    const float* r = &lg[t * E]; double sum = 0; std::vector<int> o(E);
    for (int i = 0; i < E; ++i) { o[i] = i; sum += exp(r[i]); }
    std::partial_sort(o.begin(), o.begin() + 2, o.end(), [&](int a, int b) { return r[a] != r[b] ? r[a] > r[b] : a < b; });
    for (int k = 0; k < TOPK; ++k) {
      int a = s[t * TOPK + k]; rc[a]++;
      if (a != o[k] && fabs(r[a] - r[o[k]]) > 1e-5) bad++;
      ew = std::max(ew, fabs(exp(r[a]) / sum - w[t * TOPK + k]));
      int sl = slot[t * TOPK + k];
      bad += sl < off[a] || sl >= off[a + 1] || used[sl]; used[sl] = 1;
    }
  }
  for (int i = 0; i < E; ++i) bad += rc[i] != c[i];
  for (size_t i = 0; i < x.size(); ++i) e = std::max(e, (double)fabsf(__bfloat162float(x[i]) - __bfloat162float(y[i])));
  printf("bad %d, weight err %g, row err %g %s\n%s\n", bad, ew, e, cudaGetErrorString(cudaGetLastError()), !bad && ew < 1e-5 && e < 0.01 ? "PASS" : "FAIL");
}
