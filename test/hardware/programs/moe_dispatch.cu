/*
 * Mixture-of-experts routing path:
 *   topk gating -> align block size -> grouped expert GEMM -> weighted combine
 *
 * Layout conventions
 *   hidden_states      [num_tokens, hidden_size]           fp16
 *   gating_output      [num_tokens, num_experts]           fp32
 *   expert weights     [num_experts, inter_size, hidden]   fp16
 *   sorted_token_ids   padded so that every expert owns a multiple of BLOCK_M slots
 */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CUDA_CHECK(cmd)                                                        \
  do {                                                                         \
    cudaError_t e_ = (cmd);                                                    \
    if (e_ != cudaSuccess) {                                                   \
      printf("Failed: Cuda error %s:%d '%s'\n", __FILE__, __LINE__,            \
             cudaGetErrorString(e_));                                          \
      exit(EXIT_FAILURE);                                                      \
    }                                                                          \
  } while (0)

#define CEILDIV(x, y) (((x) + (y) - 1) / (y))
#define WARP_SIZE 32

namespace moe {

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T val[N];
  __device__ __forceinline__ T& operator[](int i) { return val[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return val[i]; }
};

// One warp handles one token. Every lane keeps NUM_EXPERTS / 32 logits.
template <int NUM_EXPERTS, int WARPS_PER_CTA>
__launch_bounds__(WARPS_PER_CTA* WARP_SIZE) __global__
    void topk_gating_kernel(const float* __restrict__ gating, float* __restrict__ topk_weights,
                            int32_t* __restrict__ topk_ids, const int num_tokens, const int topk,
                            const bool renormalize) {
  constexpr int VPT = NUM_EXPERTS / WARP_SIZE;
  const int warp_id = threadIdx.y;
  const int lane = threadIdx.x;
  const int row = blockIdx.x * WARPS_PER_CTA + warp_id;
  if (row >= num_tokens) return;

  float logits[VPT];
  const float* row_ptr = gating + (int64_t)row * NUM_EXPERTS;
#pragma unroll
  for (int i = 0; i < VPT; ++i) logits[i] = row_ptr[i * WARP_SIZE + lane];

  float thread_max = logits[0];
#pragma unroll
  for (int i = 1; i < VPT; ++i) thread_max = fmaxf(thread_max, logits[i]);
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask > 0; mask /= 2)
    thread_max = fmaxf(thread_max, __shfl_xor_sync(0xffffffff, thread_max, mask));

  float denom = 0.f;
#pragma unroll
  for (int i = 0; i < VPT; ++i) denom += expf(logits[i] - thread_max);
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask > 0; mask /= 2)
    denom += __shfl_xor_sync(0xffffffff, denom, mask);

  float selected_sum = 0.f;
  for (int k = 0; k < topk; ++k) {
    float best = logits[0];
    int best_expert = lane;
#pragma unroll
    for (int i = 1; i < VPT; ++i) {
      if (logits[i] > best) {
        best = logits[i];
        best_expert = i * WARP_SIZE + lane;
      }
    }
#pragma unroll
    for (int mask = WARP_SIZE / 2; mask > 0; mask /= 2) {
      const float other = __shfl_xor_sync(0xffffffff, best, mask);
      const int other_expert = __shfl_xor_sync(0xffffffff, best_expert, mask);
      // lower expert index wins in case of a tie
      if (other > best || (other == best && other_expert < best_expert)) {
        best = other;
        best_expert = other_expert;
      }
    }
    const float prob = expf(best - thread_max) / denom;
    selected_sum += prob;
    if (lane == 0) {
      topk_weights[row * topk + k] = prob;
      topk_ids[row * topk + k] = best_expert;
    }
    // blank out the winner for the next round
    if (best_expert % WARP_SIZE == lane) {
#pragma unroll
      for (int i = 0; i < VPT; ++i)
        if (i == best_expert / WARP_SIZE) logits[i] = -10000.f;
    }
  }
  if (renormalize && lane == 0) {
    for (int k = 0; k < topk; ++k) topk_weights[row * topk + k] /= selected_sum;
  }
}

__device__ __forceinline__ int32_t index(int32_t total_col, int32_t row, int32_t col) {
  return row * total_col + col;
}

template <typename scalar_t>
__global__ void moe_align_block_size_kernel(const scalar_t* __restrict__ topk_ids,
                                            int32_t* sorted_token_ids, int32_t* expert_ids,
                                            int32_t* total_tokens_post_pad, int32_t num_experts,
                                            int32_t block_size, size_t numel) {
  const size_t tokens_per_thread = CEILDIV(numel, blockDim.x);
  const size_t start_idx = threadIdx.x * tokens_per_thread;

  extern __shared__ int32_t shared_mem[];
  int32_t* tokens_cnts = shared_mem;  // (blockDim.x + 1, num_experts)
  int32_t* cumsum = shared_mem + (blockDim.x + 1) * num_experts;  // (num_experts + 1)

  for (int i = 0; i < num_experts; ++i) tokens_cnts[index(num_experts, threadIdx.x + 1, i)] = 0;

  for (size_t i = start_idx; i < numel && i < start_idx + tokens_per_thread; ++i)
    ++tokens_cnts[index(num_experts, threadIdx.x + 1, topk_ids[i])];
  __syncthreads();

  if ((int)threadIdx.x < num_experts) {
    tokens_cnts[index(num_experts, 0, threadIdx.x)] = 0;
    for (int i = 1; i <= (int)blockDim.x; ++i)
      tokens_cnts[index(num_experts, i, threadIdx.x)] +=
          tokens_cnts[index(num_experts, i - 1, threadIdx.x)];
  }
  __syncthreads();

  if (threadIdx.x == 0) {
    cumsum[0] = 0;
    for (int i = 1; i <= num_experts; ++i)
      cumsum[i] = cumsum[i - 1] +
                  CEILDIV(tokens_cnts[index(num_experts, blockDim.x, i - 1)], block_size) *
                      block_size;
    *total_tokens_post_pad = cumsum[num_experts];
  }
  __syncthreads();

  if ((int)threadIdx.x < num_experts) {
    for (int i = cumsum[threadIdx.x]; i < cumsum[threadIdx.x + 1]; i += block_size)
      expert_ids[i / block_size] = threadIdx.x;
  }

  for (size_t i = start_idx; i < numel && i < start_idx + tokens_per_thread; ++i) {
    const int32_t expert_id = topk_ids[i];
    const int32_t rank_post_pad =
        tokens_cnts[index(num_experts, threadIdx.x, expert_id)] + cumsum[expert_id];
    sorted_token_ids[rank_post_pad] = (int32_t)i;
    ++tokens_cnts[index(num_experts, threadIdx.x, expert_id)];
  }
}

// C[slot, n] = A[token(slot), :] . B[expert, n, :]
template <int BLOCK_M, int BLOCK_N, int BLOCK_K>
__global__ void grouped_gemm_kernel(const half* __restrict__ A, const half* __restrict__ B,
                                    float* __restrict__ C, const int32_t* __restrict__ sorted_ids,
                                    const int32_t* __restrict__ expert_ids,
                                    const int32_t* __restrict__ num_post_pad, int topk,
                                    int num_valid, int N, int K) {
  using Vec = Pack<half, 8>;
  const int m0 = blockIdx.y * BLOCK_M;
  if (m0 >= *num_post_pad) return;
  const int n0 = blockIdx.x * BLOCK_N;
  const int expert = expert_ids[blockIdx.y];

  __shared__ __align__(16) half As[BLOCK_M][BLOCK_K];
  __shared__ __align__(16) half Bs[BLOCK_N][BLOCK_K];
  __shared__ int rows[BLOCK_M];

  const int tid = threadIdx.x;
  if (tid < BLOCK_M) rows[tid] = sorted_ids[m0 + tid];
  __syncthreads();

  // 128 threads, each one owns a 4 x 2 patch of the 16 x 64 tile
  const int tm = (tid / 32) * 4;
  const int tn = (tid % 32) * 2;
  float acc[4][2] = {};

  constexpr int VEC_PER_ROW = BLOCK_K / 8;
  for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
    for (int v = tid; v < BLOCK_M * VEC_PER_ROW; v += blockDim.x) {
      const int r = v / VEC_PER_ROW, c = (v % VEC_PER_ROW) * 8;
      Vec x;
      if (rows[r] < num_valid) {
        x = *reinterpret_cast<const Vec*>(A + (int64_t)(rows[r] / topk) * K + k0 + c);
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) x[i] = __float2half(0.f);
      }
      *reinterpret_cast<Vec*>(&As[r][c]) = x;
    }
    for (int v = tid; v < BLOCK_N * VEC_PER_ROW; v += blockDim.x) {
      const int r = v / VEC_PER_ROW, c = (v % VEC_PER_ROW) * 8;
      *reinterpret_cast<Vec*>(&Bs[r][c]) = *reinterpret_cast<const Vec*>(
          B + ((int64_t)expert * N + n0 + r) * K + k0 + c);
    }
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < BLOCK_K; ++k) {
      float b0 = __half2float(Bs[tn][k]), b1 = __half2float(Bs[tn + 1][k]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float a = __half2float(As[tm + i][k]);
        acc[i][0] += a * b0;
        acc[i][1] += a * b1;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int slot = rows[tm + i];
    if (slot >= num_valid) continue;
    float2 out = make_float2(acc[i][0], acc[i][1]);
    *reinterpret_cast<float2*>(C + (int64_t)slot * N + n0 + tn) = out;
  }
}

template <int TOPK>
__global__ void moe_sum_kernel(float* __restrict__ out, const float* __restrict__ input,
                               const float* __restrict__ topk_weights, const int d) {
  const int64_t token_idx = blockIdx.x;
  for (int64_t idx = threadIdx.x; idx < d; idx += blockDim.x) {
    float x = 0.f;
#pragma unroll
    for (int k = 0; k < TOPK; ++k)
      x += topk_weights[token_idx * TOPK + k] * __ldg(&input[token_idx * TOPK * d + k * d + idx]);
    out[token_idx * d + idx] = x;
  }
}

}  // namespace moe

int main() {
  constexpr int kExperts = 64, kTopk = 2, kHidden = 256, kInter = 128, kTokens = 1000;
  constexpr int kBlockM = 16, kBlockN = 64, kBlockK = 64;
  const int numel = kTokens * kTopk;
  const int max_padded = numel + kExperts * (kBlockM - 1);
  const int max_blocks = CEILDIV(max_padded, kBlockM);

  std::mt19937 gen(2024);
  std::normal_distribution<float> nd(0.f, 1.f);
  std::vector<float> gating((size_t)kTokens * kExperts);
  std::vector<half> hidden((size_t)kTokens * kHidden), weights((size_t)kExperts * kInter * kHidden);
  for (auto& g : gating) g = nd(gen);
  for (auto& h : hidden) h = __float2half(nd(gen));
  for (auto& w : weights) w = __float2half(0.05f * nd(gen));

  float *d_gating, *d_topk_w, *d_inter, *d_out;
  int32_t *d_topk_ids, *d_sorted, *d_expert_ids, *d_post_pad;
  half *d_hidden, *d_weights;
  CUDA_CHECK(cudaMalloc(&d_gating, gating.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_topk_w, numel * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_topk_ids, numel * sizeof(int32_t)));
  CUDA_CHECK(cudaMalloc(&d_sorted, max_blocks * kBlockM * sizeof(int32_t)));
  CUDA_CHECK(cudaMalloc(&d_expert_ids, max_blocks * sizeof(int32_t)));
  CUDA_CHECK(cudaMalloc(&d_post_pad, sizeof(int32_t)));
  CUDA_CHECK(cudaMalloc(&d_hidden, hidden.size() * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&d_weights, weights.size() * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&d_inter, (size_t)numel * kInter * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_out, (size_t)kTokens * kInter * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(d_gating, gating.data(), gating.size() * 4, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_hidden, hidden.data(), hidden.size() * 2, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_weights, weights.data(), weights.size() * 2, cudaMemcpyHostToDevice));
  // padding slots point past the last valid (token, k) pair
  std::vector<int32_t> fill(max_blocks * kBlockM, numel);
  CUDA_CHECK(cudaMemcpy(d_sorted, fill.data(), fill.size() * 4, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(d_expert_ids, 0, max_blocks * sizeof(int32_t)));

  {
    constexpr int kWarps = 4;
    dim3 block(WARP_SIZE, kWarps);
    moe::topk_gating_kernel<kExperts, kWarps><<<CEILDIV(kTokens, kWarps), block>>>(
        d_gating, d_topk_w, d_topk_ids, kTokens, kTopk, true);
  }
  {
    const int num_thread = kExperts;
    const size_t smem = ((num_thread + 1) * kExperts + (kExperts + 1)) * sizeof(int32_t);
    moe::moe_align_block_size_kernel<int32_t><<<1, num_thread, smem>>>(
        d_topk_ids, d_sorted, d_expert_ids, d_post_pad, kExperts, kBlockM, numel);
  }
  {
    dim3 grid(kInter / kBlockN, max_blocks);
    moe::grouped_gemm_kernel<kBlockM, kBlockN, kBlockK><<<grid, 128>>>(
        d_hidden, d_weights, d_inter, d_sorted, d_expert_ids, d_post_pad, kTopk, numel, kInter,
        kHidden);
  }
  moe::moe_sum_kernel<kTopk><<<kTokens, kInter>>>(d_out, d_inter, d_topk_w, kInter);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());

  std::vector<float> out((size_t)kTokens * kInter), topk_w(numel);
  std::vector<int32_t> topk_ids(numel), sorted(fill.size());
  int32_t post_pad = 0;
  CUDA_CHECK(cudaMemcpy(out.data(), d_out, out.size() * 4, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(topk_w.data(), d_topk_w, numel * 4, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(topk_ids.data(), d_topk_ids, numel * 4, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(sorted.data(), d_sorted, sorted.size() * 4, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(&post_pad, d_post_pad, 4, cudaMemcpyDeviceToHost));

  int errors = 0;
  std::vector<float> hid_f(hidden.size()), w_f(weights.size());
  for (size_t i = 0; i < hidden.size(); ++i) hid_f[i] = __half2float(hidden[i]);
  for (size_t i = 0; i < weights.size(); ++i) w_f[i] = __half2float(weights[i]);
  std::vector<int> per_expert(kExperts, 0);
  for (int t = 0; t < kTokens; ++t) {
    const float* g = &gating[(size_t)t * kExperts];
    int ids[kTopk];
    double w[kTopk], sum = 0;
    std::vector<bool> used(kExperts, false);
    for (int k = 0; k < kTopk; ++k) {
      int b = -1;
      for (int e = 0; e < kExperts; ++e)
        if (!used[e] && (b < 0 || g[e] > g[b])) b = e;
      used[b] = true;
      ids[k] = b;
      per_expert[b]++;
      w[k] = std::exp((double)g[b] - g[ids[0]]);
      sum += w[k];
    }
    for (int k = 0; k < kTopk; ++k) {
      w[k] /= sum;
      if (ids[k] != topk_ids[t * kTopk + k]) ++errors;
      if (std::fabs(w[k] - topk_w[t * kTopk + k]) > 1e-4) ++errors;
    }
    for (int n = 0; n < kInter; ++n) {
      double ref = 0;
      for (int k = 0; k < kTopk; ++k) {
        const float* wr = &w_f[((size_t)ids[k] * kInter + n) * kHidden];
        const float* hr = &hid_f[(size_t)t * kHidden];
        float dot = 0.f;
        for (int c = 0; c < kHidden; ++c) dot += hr[c] * wr[c];
        ref += w[k] * dot;
      }
      if (std::fabs(ref - out[(size_t)t * kInter + n]) > 2e-3 * (1.0 + std::fabs(ref))) ++errors;
    }
  }
  int expect_pad = 0;
  for (int e = 0; e < kExperts; ++e) expect_pad += CEILDIV(per_expert[e], kBlockM) * kBlockM;
  if (expect_pad != post_pad) ++errors;
  std::vector<int> seen(numel, 0);
  for (int i = 0; i < post_pad; ++i)
    if (sorted[i] < numel) seen[sorted[i]]++;
  for (int i = 0; i < numel; ++i) errors += seen[i] != 1;

  printf("tokens %d, padded %d, errors %d\n", numel, post_pad, errors);
  printf("%s\n", errors ? "FAIL" : "PASS");
  return errors ? 1 : 0;
}
