// Mixture-of-experts feed-forward, inference path:
//   gate -> top-k -> per-expert counts -> offsets -> permute rows -> grouped matmul -> unpermute.
// Row order inside one expert is whatever the atomics give; the combined output does not depend on it.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#define MOE_CUDA_CHECK(expr)                                                              \
  do {                                                                                    \
    cudaError_t err__ = (expr);                                                           \
    if (err__ != cudaSuccess)                                                             \
      throw std::runtime_error(std::string(#expr) + ": " + cudaGetErrorString(err__));    \
  } while (0)

namespace moe {

constexpr int kWarp = 32;
constexpr int kRowsPerTile = 16;
constexpr int kColsPerTile = 64;
constexpr int kDepthPerStep = 32;

template <typename T>
class DeviceTensor {
 public:
  explicit DeviceTensor(int64_t numel) : numel_(numel) { MOE_CUDA_CHECK(cudaMalloc(&ptr_, numel * sizeof(T))); }
  explicit DeviceTensor(const std::vector<T>& host) : DeviceTensor(static_cast<int64_t>(host.size())) {
    MOE_CUDA_CHECK(cudaMemcpy(ptr_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;
  ~DeviceTensor() { cudaFree(ptr_); }
  T* data_ptr() const { return ptr_; }
  void zero_() { MOE_CUDA_CHECK(cudaMemset(ptr_, 0, numel_ * sizeof(T))); }
  std::vector<T> cpu() const {
    std::vector<T> out(numel_);
    MOE_CUDA_CHECK(cudaMemcpy(out.data(), ptr_, numel_ * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  T* ptr_ = nullptr;
  int64_t numel_ = 0;
};

// One warp looks at one token. NUM_EXPERTS is a multiple of the warp width; each lane keeps a strided slice.
template <int NUM_EXPERTS, int TOPK>
__global__ void topk_softmax_kernel(const float* __restrict__ gating, float* __restrict__ topk_weights,
                                    int* __restrict__ topk_ids, int* __restrict__ expert_counts, int num_tokens) {
  constexpr int VPT = NUM_EXPERTS / kWarp;
  __shared__ int local_counts[NUM_EXPERTS];
  for (int e = threadIdx.x; e < NUM_EXPERTS; e += blockDim.x) local_counts[e] = 0;
  __syncthreads();

  const int lane = threadIdx.x % kWarp;
  const int token = blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (token < num_tokens) {
    float vals[VPT];
    float row_max = -INFINITY;
#pragma unroll
    for (int i = 0; i < VPT; ++i) {
      vals[i] = gating[(int64_t)token * NUM_EXPERTS + i * kWarp + lane];
      row_max = fmaxf(row_max, vals[i]);
    }
    for (int m = kWarp / 2; m > 0; m >>= 1) row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, m));
    float chosen_sum = 0.f;
    float chosen[TOPK];
    int ids[TOPK];
#pragma unroll
    for (int k = 0; k < TOPK; ++k) {
      float best = -INFINITY;
      int best_id = NUM_EXPERTS;
#pragma unroll
      for (int i = 0; i < VPT; ++i) {
        if (vals[i] > best) {
          best = vals[i];
          best_id = i * kWarp + lane;
        }
      }
      for (int m = kWarp / 2; m > 0; m >>= 1) {
        const float other = __shfl_xor_sync(0xffffffffu, best, m);
        const int other_id = __shfl_xor_sync(0xffffffffu, best_id, m);
        if (other > best || (other == best && other_id < best_id)) {
          best = other;
          best_id = other_id;
        }
      }
      ids[k] = best_id;
      chosen[k] = __expf(best - row_max);
      chosen_sum += chosen[k];
#pragma unroll
      for (int i = 0; i < VPT; ++i)
        if (best_id == i * kWarp + lane) vals[i] = -INFINITY;
    }
    if (lane == 0) {
#pragma unroll
      for (int k = 0; k < TOPK; ++k) {
        topk_ids[token * TOPK + k] = ids[k];
        topk_weights[token * TOPK + k] = chosen[k] / chosen_sum;
        atomicAdd(&local_counts[ids[k]], 1);
      }
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < NUM_EXPERTS; e += blockDim.x)
    if (local_counts[e]) atomicAdd(&expert_counts[e], local_counts[e]);
}

// A single warp turns counts into row offsets and into tile offsets (rows rounded up to full tiles).
__global__ void expert_offsets_kernel(const int* counts, int* row_offsets, int* tile_offsets, int num_experts) {
  int row_base = 0, tile_base = 0;
  for (int start = 0; start < num_experts; start += kWarp) {
    const int e = start + threadIdx.x;
    const int c = e < num_experts ? counts[e] : 0;
    const int t = (c + kRowsPerTile - 1) / kRowsPerTile;
    int cs = c, ts = t;
    for (int d = 1; d < kWarp; d <<= 1) {
      const int a = __shfl_up_sync(0xffffffffu, cs, d);
      const int b = __shfl_up_sync(0xffffffffu, ts, d);
      if (threadIdx.x >= d) {
        cs += a;
        ts += b;
      }
    }
    if (e < num_experts) {
      row_offsets[e] = row_base + cs - c;
      tile_offsets[e] = tile_base + ts - t;
    }
    row_base += __shfl_sync(0xffffffffu, cs, kWarp - 1);
    tile_base += __shfl_sync(0xffffffffu, ts, kWarp - 1);
  }
  if (threadIdx.x == 0) {
    row_offsets[num_experts] = row_base;
    tile_offsets[num_experts] = tile_base;
  }
}

__global__ void permute_rows_kernel(const float* __restrict__ hidden, const int* __restrict__ topk_ids,
                                    const int* __restrict__ row_offsets, int* __restrict__ cursors,
                                    int* __restrict__ slot_of_pair, float* __restrict__ permuted, int hidden_size,
                                    int topk) {
  const int pair = blockIdx.x;
  __shared__ int slot;
  if (threadIdx.x == 0) {
    const int e = topk_ids[pair];
    slot = row_offsets[e] + atomicAdd(&cursors[e], 1);
    slot_of_pair[pair] = slot;
  }
  __syncthreads();
  const float4* src = reinterpret_cast<const float4*>(hidden + (int64_t)(pair / topk) * hidden_size);
  float4* dst = reinterpret_cast<float4*>(permuted + (int64_t)slot * hidden_size);
  for (int i = threadIdx.x; i < hidden_size / 4; i += blockDim.x) dst[i] = src[i];
}

__global__ __launch_bounds__(256) void grouped_linear_silu_kernel(
    const float* __restrict__ x, const float* __restrict__ weights, const int* __restrict__ row_offsets,
    const int* __restrict__ tile_offsets, float* __restrict__ y, int num_experts, int in_dim, int out_dim) {
  __shared__ float xs[kRowsPerTile][kDepthPerStep];
  __shared__ float ws[kDepthPerStep][kColsPerTile + 1];
  const int tile = blockIdx.y;
  if (tile >= tile_offsets[num_experts]) return;
  int lo = 0, hi = num_experts;  // last expert whose tile offset is <= tile
  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;
    if (tile_offsets[mid] <= tile) lo = mid; else hi = mid;
  }
  const int expert = lo;
  const int row0 = row_offsets[expert] + (tile - tile_offsets[expert]) * kRowsPerTile;
  const int row_end = row_offsets[expert + 1];
  const int col0 = blockIdx.x * kColsPerTile;
  const float* w = weights + (int64_t)expert * out_dim * in_dim;  // [out, in], as nn.Linear keeps it

  const int tx = threadIdx.x % kColsPerTile;
  const int ty = threadIdx.x / kColsPerTile;  // 0..3, each owns 4 rows
  float acc[4] = {0.f, 0.f, 0.f, 0.f};
  for (int k0 = 0; k0 < in_dim; k0 += kDepthPerStep) {
    for (int i = threadIdx.x; i < kRowsPerTile * kDepthPerStep; i += blockDim.x) {
      const int r = i / kDepthPerStep, k = i % kDepthPerStep;
      xs[r][k] = row0 + r < row_end ? x[(int64_t)(row0 + r) * in_dim + k0 + k] : 0.f;
    }
    for (int i = threadIdx.x; i < kColsPerTile * kDepthPerStep; i += blockDim.x) {
      const int c = i / kDepthPerStep, k = i % kDepthPerStep;
      ws[k][c] = w[(int64_t)(col0 + c) * in_dim + k0 + k];
    }
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < kDepthPerStep; ++k) {
      const float b = ws[k][tx];
#pragma unroll
      for (int r = 0; r < 4; ++r) acc[r] += xs[ty * 4 + r][k] * b;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = row0 + ty * 4 + r;
    if (row < row_end) y[(int64_t)row * out_dim + col0 + tx] = acc[r] / (1.f + __expf(-acc[r]));
  }
}

template <int TOPK>
__global__ void unpermute_combine_kernel(const float* __restrict__ y, const int* __restrict__ slot_of_pair,
                                         const float* __restrict__ topk_weights, float* __restrict__ out, int out_dim) {
  const int token = blockIdx.x;
  for (int c = threadIdx.x; c < out_dim; c += blockDim.x) {
    float v = 0.f;
#pragma unroll
    for (int k = 0; k < TOPK; ++k)
      v += topk_weights[token * TOPK + k] * y[(int64_t)slot_of_pair[token * TOPK + k] * out_dim + c];
    out[(int64_t)token * out_dim + c] = v;
  }
}

}  // namespace moe

int main(int argc, char** argv) try {
  using namespace moe;
  constexpr int E = 64, K = 2;
  const int tokens = argc > 1 ? std::atoi(argv[1]) : 1500;
  const int hidden = 128, out_dim = 192;

  std::mt19937 rng(20240611);
  std::normal_distribution<float> gauss(0.f, 1.f);
  std::vector<float> h_x((size_t)tokens * hidden), h_gate((size_t)tokens * E), h_w((size_t)E * out_dim * hidden);
  for (auto& v : h_x) v = gauss(rng);
  for (auto& v : h_w) v = gauss(rng) * 0.09f;
  for (int t = 0; t < tokens; ++t)
    for (int e = 0; e < E; ++e) h_gate[(size_t)t * E + e] = gauss(rng) + (e % 7 == 0 ? 1.3f : 0.f);  // popular experts

  DeviceTensor<float> x(h_x), gate(h_gate), w(h_w), topk_w(tokens * K), perm((int64_t)tokens * K * hidden),
      y((int64_t)tokens * K * out_dim), out((int64_t)tokens * out_dim);
  DeviceTensor<int> ids(tokens * K), counts(E), row_off(E + 1), tile_off(E + 1), cursors(E), slots(tokens * K);
  counts.zero_();
  cursors.zero_();

  topk_softmax_kernel<E, K><<<(tokens + 3) / 4, 128>>>(gate.data_ptr(), topk_w.data_ptr(), ids.data_ptr(),
                                                       counts.data_ptr(), tokens);
  expert_offsets_kernel<<<1, kWarp>>>(counts.data_ptr(), row_off.data_ptr(), tile_off.data_ptr(), E);
  permute_rows_kernel<<<tokens * K, 32>>>(x.data_ptr(), ids.data_ptr(), row_off.data_ptr(), cursors.data_ptr(),
                                          slots.data_ptr(), perm.data_ptr(), hidden, K);
  const int max_tiles = tokens * K / kRowsPerTile + E;  // upper bound, surplus blocks leave at once
  grouped_linear_silu_kernel<<<dim3(out_dim / kColsPerTile, max_tiles), 256>>>(
      perm.data_ptr(), w.data_ptr(), row_off.data_ptr(), tile_off.data_ptr(), y.data_ptr(), E, hidden, out_dim);
  unpermute_combine_kernel<K><<<tokens, 96>>>(y.data_ptr(), slots.data_ptr(), topk_w.data_ptr(), out.data_ptr(), out_dim);
  MOE_CUDA_CHECK(cudaGetLastError());
  MOE_CUDA_CHECK(cudaDeviceSynchronize());

  const std::vector<float> got = out.cpu();
  const std::vector<int> got_off = row_off.cpu();
  double worst = 0.0;
  std::vector<int> order(E), ref_counts(E, 0);
  for (int t = 0; t < tokens; ++t) {
    const float* g = &h_gate[(size_t)t * E];
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + K, order.end(), [g](int a, int b) { return g[a] > g[b]; });
    float p[K], sum = 0.f;
    for (int k = 0; k < K; ++k) sum += p[k] = std::exp(g[order[k]] - g[order[0]]);
    for (int k = 0; k < K; ++k) ++ref_counts[order[k]];
    for (int c = 0; c < out_dim; ++c) {
      double ref = 0.0;
      for (int k = 0; k < K; ++k) {
        const float* wr = &h_w[((size_t)order[k] * out_dim + c) * hidden];
        float a = 0.f;
        for (int i = 0; i < hidden; ++i) a += wr[i] * h_x[(size_t)t * hidden + i];
        ref += p[k] / sum * (a / (1.f + std::exp(-a)));
      }
      worst = std::max(worst, std::abs(ref - got[(size_t)t * out_dim + c]));
    }
  }
  bool ok = worst < 2e-4 && got_off[E] == tokens * K;
  for (int e = 0; e < E; ++e) ok = ok && got_off[e + 1] - got_off[e] == ref_counts[e];
  std::printf("tokens=%d experts=%d topk=%d max_abs_err=%.3g\n%s\n", tokens, E, K, worst, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\nFAIL\n", e.what());
  return 1;
}
