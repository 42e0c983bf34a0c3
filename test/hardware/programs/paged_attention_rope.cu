// Decode step of an LLM with a paged KV cache:
//   1. rotary embedding (neox style) on q and k
//   2. write the new k/v vectors of the step into the paged cache
//   3. single-query attention reading K/V through the block table (GQA)
//
// key_cache   [num_blocks, num_kv_heads, head_size/x, block_size, x]
// value_cache [num_blocks, num_kv_heads, head_size, block_size]
#include <cuda_fp16.h>
#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <random>
#include <vector>

#define CHECK(call)                                                                   \
  {                                                                                   \
    cudaError_t err = call;                                                           \
    if (err != cudaSuccess) {                                                         \
      fprintf(stderr, "[%s:%d] %s\n", __FILE__, __LINE__, cudaGetErrorString(err));   \
      return 2;                                                                       \
    }                                                                                 \
  }

#define DIVIDE_ROUND_UP(a, b) (((a) + (b)-1) / (b))
#define WARP_SIZE 32

namespace vllm_mini {

template <typename scalar_t, int VEC>
struct alignas(sizeof(scalar_t) * VEC) Vec {
  scalar_t v[VEC];
};

template <int VEC>
__device__ __forceinline__ float dot(const Vec<half, VEC>& a, const Vec<half, VEC>& b, float acc) {
#pragma unroll
  for (int i = 0; i < VEC; ++i) acc = fmaf(__half2float(a.v[i]), __half2float(b.v[i]), acc);
  return acc;
}

template <typename scalar_t>
inline __device__ void apply_token_rotary_embedding(scalar_t* __restrict__ arr,
                                                    const float* __restrict__ cos_ptr,
                                                    const float* __restrict__ sin_ptr,
                                                    int rot_offset, int embed_dim) {
  const int x_index = rot_offset;
  const int y_index = embed_dim + rot_offset;
  const float cos = __ldg(cos_ptr + x_index);
  const float sin = __ldg(sin_ptr + x_index);
  const float x = __half2float(arr[x_index]);
  const float y = __half2float(arr[y_index]);
  arr[x_index] = __float2half(x * cos - y * sin);
  arr[y_index] = __float2half(y * cos + x * sin);
}

template <typename scalar_t>
__global__ void rotary_embedding_kernel(const int64_t* __restrict__ positions,
                                        scalar_t* __restrict__ query, scalar_t* __restrict__ key,
                                        const float* __restrict__ cos_sin_cache, const int rot_dim,
                                        const int64_t query_stride, const int64_t key_stride,
                                        const int num_heads, const int num_kv_heads,
                                        const int head_size) {
  const int token_idx = blockIdx.x;
  const int64_t pos = positions[token_idx];
  const float* cache_ptr = cos_sin_cache + pos * rot_dim;
  const int embed_dim = rot_dim / 2;
  const float* cos_ptr = cache_ptr;
  const float* sin_ptr = cache_ptr + embed_dim;

  const int nq = num_heads * embed_dim;
  for (int i = threadIdx.x; i < nq; i += blockDim.x) {
    const int head_idx = i / embed_dim;
    const int64_t token_head = token_idx * query_stride + head_idx * head_size;
    apply_token_rotary_embedding(query + token_head, cos_ptr, sin_ptr, i % embed_dim, embed_dim);
  }
  const int nk = num_kv_heads * embed_dim;
  for (int i = threadIdx.x; i < nk; i += blockDim.x) {
    const int head_idx = i / embed_dim;
    const int64_t token_head = token_idx * key_stride + head_idx * head_size;
    apply_token_rotary_embedding(key + token_head, cos_ptr, sin_ptr, i % embed_dim, embed_dim);
  }
}

template <typename scalar_t>
__global__ void reshape_and_cache_kernel(const scalar_t* __restrict__ key,
                                         const scalar_t* __restrict__ value,
                                         scalar_t* __restrict__ key_cache,
                                         scalar_t* __restrict__ value_cache,
                                         const int64_t* __restrict__ slot_mapping,
                                         const int num_heads, const int head_size,
                                         const int block_size, const int x) {
  const int64_t token_idx = blockIdx.x;
  const int64_t slot_idx = slot_mapping[token_idx];
  if (slot_idx < 0) return;  // padding token
  const int64_t block_idx = slot_idx / block_size;
  const int64_t block_offset = slot_idx % block_size;
  const int n = num_heads * head_size;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int64_t src = token_idx * n + i;
    const int head_idx = i / head_size;
    const int head_offset = i % head_size;
    const int x_idx = head_offset / x;
    const int x_offset = head_offset % x;
    const int64_t tgt_key = block_idx * num_heads * (head_size / x) * block_size * x +
                            head_idx * (head_size / x) * block_size * x + x_idx * block_size * x +
                            block_offset * x + x_offset;
    const int64_t tgt_value = block_idx * num_heads * head_size * block_size +
                              head_idx * head_size * block_size + head_offset * block_size +
                              block_offset;
    key_cache[tgt_key] = key[src];
    value_cache[tgt_value] = value[src];
  }
}

template <int NUM_WARPS>
inline __device__ float block_sum(float* red_smem, float sum) {
  const int warp = threadIdx.x / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= 1; mask /= 2) sum += __shfl_xor_sync(uint32_t(-1), sum, mask);
  if (lane == 0) red_smem[warp] = sum;
  __syncthreads();
  if (lane < NUM_WARPS) sum = red_smem[lane];
#pragma unroll
  for (int mask = NUM_WARPS / 2; mask >= 1; mask /= 2) sum += __shfl_xor_sync(uint32_t(-1), sum, mask);
  return __shfl_sync(uint32_t(-1), sum, 0);
}

// grid: (num_heads, num_seqs)
template <int HEAD_SIZE, int BLOCK_SIZE, int NUM_THREADS>
__global__ void paged_attention_v1_kernel(half* __restrict__ out, const half* __restrict__ q,
                                          const half* __restrict__ k_cache,
                                          const half* __restrict__ v_cache, const int num_kv_heads,
                                          const float scale, const int* __restrict__ block_tables,
                                          const int* __restrict__ seq_lens,
                                          const int max_num_blocks_per_seq) {
  constexpr int THREAD_GROUP_SIZE = WARP_SIZE / BLOCK_SIZE;  // lanes cooperating on one token
  constexpr int NUM_WARPS = NUM_THREADS / WARP_SIZE;
  constexpr int VEC_SIZE = 16 / (THREAD_GROUP_SIZE * sizeof(half));
  constexpr int NUM_ELEMS_PER_THREAD = HEAD_SIZE / THREAD_GROUP_SIZE;
  constexpr int NUM_VECS_PER_THREAD = NUM_ELEMS_PER_THREAD / VEC_SIZE;
  constexpr int x = 16 / sizeof(half);
  using K_vec = Vec<half, VEC_SIZE>;

  const int seq_idx = blockIdx.y;
  const int head_idx = blockIdx.x;
  const int num_heads = gridDim.x;
  const int kv_head_idx = head_idx / (num_heads / num_kv_heads);
  const int seq_len = seq_lens[seq_idx];
  const int num_seq_blocks = DIVIDE_ROUND_UP(seq_len, BLOCK_SIZE);
  const int warp_idx = threadIdx.x / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
  const int thread_group_idx = lane / THREAD_GROUP_SIZE;
  const int thread_group_offset = lane % THREAD_GROUP_SIZE;

  __shared__ K_vec q_vecs[THREAD_GROUP_SIZE][NUM_VECS_PER_THREAD];
  __shared__ float red_smem[2 * NUM_WARPS];
  extern __shared__ float logits[];

  const half* q_ptr = q + (seq_idx * num_heads + head_idx) * HEAD_SIZE;
  for (int i = threadIdx.x; i < THREAD_GROUP_SIZE * NUM_VECS_PER_THREAD; i += NUM_THREADS) {
    const int off = i % THREAD_GROUP_SIZE, vec = i / THREAD_GROUP_SIZE;
    q_vecs[off][vec] =
        *reinterpret_cast<const K_vec*>(q_ptr + (off + vec * THREAD_GROUP_SIZE) * VEC_SIZE);
  }
  __syncthreads();

  const int* block_table = block_tables + seq_idx * max_num_blocks_per_seq;
  float qk_max = -FLT_MAX;
  for (int block_idx = warp_idx; block_idx < num_seq_blocks; block_idx += NUM_WARPS) {
    const int64_t physical_block = static_cast<int64_t>(block_table[block_idx]);
    const int token_in_block = thread_group_idx;
    const int token_idx = block_idx * BLOCK_SIZE + token_in_block;
    const half* k_ptr = k_cache + (physical_block * num_kv_heads + kv_head_idx) * HEAD_SIZE * BLOCK_SIZE +
                        token_in_block * x;
    float qk = 0.f;
#pragma unroll
    for (int j = 0; j < NUM_VECS_PER_THREAD; j++) {
      const int vec_idx = thread_group_offset + j * THREAD_GROUP_SIZE;
      const int offset1 = (vec_idx * VEC_SIZE) / x;
      const int offset2 = (vec_idx * VEC_SIZE) % x;
      K_vec k = *reinterpret_cast<const K_vec*>(k_ptr + offset1 * BLOCK_SIZE * x + offset2);
      qk = dot(q_vecs[thread_group_offset][j], k, qk);
    }
#pragma unroll
    for (int mask = THREAD_GROUP_SIZE / 2; mask >= 1; mask /= 2)
      qk += __shfl_xor_sync(uint32_t(-1), qk, mask);
    qk *= scale;
    if (thread_group_offset == 0) {
      const bool masked = token_idx >= seq_len;
      logits[token_idx] = masked ? 0.f : qk;
      qk_max = masked ? qk_max : fmaxf(qk_max, qk);
    }
  }
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= THREAD_GROUP_SIZE; mask /= 2)
    qk_max = fmaxf(qk_max, __shfl_xor_sync(uint32_t(-1), qk_max, mask));
  if (lane == 0) red_smem[warp_idx] = qk_max;
  __syncthreads();
  qk_max = lane < NUM_WARPS ? red_smem[lane] : -FLT_MAX;
#pragma unroll
  for (int mask = NUM_WARPS / 2; mask >= 1; mask /= 2)
    qk_max = fmaxf(qk_max, __shfl_xor_sync(uint32_t(-1), qk_max, mask));
  qk_max = __shfl_sync(uint32_t(-1), qk_max, 0);

  float exp_sum = 0.f;
  for (int i = threadIdx.x; i < seq_len; i += NUM_THREADS) {
    float val = __expf(logits[i] - qk_max);
    logits[i] = val;
    exp_sum += val;
  }
  exp_sum = block_sum<NUM_WARPS>(&red_smem[NUM_WARPS], exp_sum);
  const float inv_sum = __fdividef(1.f, exp_sum + 1e-6f);
  for (int i = threadIdx.x; i < seq_len; i += NUM_THREADS) logits[i] *= inv_sum;
  __syncthreads();

  // Each thread produces one row (head channel) at a time, warps split the blocks.
  constexpr int ROWS_PER_THREAD = DIVIDE_ROUND_UP(HEAD_SIZE, WARP_SIZE / 2);
  constexpr int V_VEC = BLOCK_SIZE / 2;
  using V_vec = Vec<half, V_VEC>;
  float accs[ROWS_PER_THREAD];
#pragma unroll
  for (int i = 0; i < ROWS_PER_THREAD; i++) accs[i] = 0.f;
  for (int block_idx = warp_idx; block_idx < num_seq_blocks; block_idx += NUM_WARPS) {
    const int64_t physical_block = static_cast<int64_t>(block_table[block_idx]);
    const int offs = (lane % 2) * V_VEC;
    const int token_idx = block_idx * BLOCK_SIZE + offs;
    const half* v_ptr = v_cache + (physical_block * num_kv_heads + kv_head_idx) * HEAD_SIZE * BLOCK_SIZE;
#pragma unroll
    for (int i = 0; i < ROWS_PER_THREAD; i++) {
      const int row_idx = lane / 2 + i * (WARP_SIZE / 2);
      if (row_idx < HEAD_SIZE) {
        V_vec v = *reinterpret_cast<const V_vec*>(v_ptr + row_idx * BLOCK_SIZE + offs);
#pragma unroll
        for (int j = 0; j < V_VEC; j++)
          if (token_idx + j < seq_len) accs[i] += logits[token_idx + j] * __half2float(v.v[j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < ROWS_PER_THREAD; i++) accs[i] += __shfl_xor_sync(uint32_t(-1), accs[i], 1);
  __syncthreads();  // logits are dead, reuse the buffer

  float* out_smem = logits;
#pragma unroll
  for (int i = NUM_WARPS; i > 1; i /= 2) {
    const int mid = i / 2;
    if (warp_idx >= mid && warp_idx < i && lane % 2 == 0) {
      float* dst = &out_smem[(warp_idx - mid) * HEAD_SIZE];
#pragma unroll
      for (int r = 0; r < ROWS_PER_THREAD; r++) dst[lane / 2 + r * (WARP_SIZE / 2)] = accs[r];
    }
    __syncthreads();
    if (warp_idx < mid && lane % 2 == 0) {
      const float* src = &out_smem[warp_idx * HEAD_SIZE];
#pragma unroll
      for (int r = 0; r < ROWS_PER_THREAD; r++) accs[r] += src[lane / 2 + r * (WARP_SIZE / 2)];
    }
    __syncthreads();
  }
  if (warp_idx == 0 && lane % 2 == 0) {
    half* out_ptr = out + (seq_idx * num_heads + head_idx) * HEAD_SIZE;
#pragma unroll
    for (int r = 0; r < ROWS_PER_THREAD; r++)
      out_ptr[lane / 2 + r * (WARP_SIZE / 2)] = __float2half(accs[r]);
  }
}

}  // namespace vllm_mini

int main() {
  const int num_seqs = 24, num_heads = 16, num_kv_heads = 4, block_size = 16, x = 8;
  constexpr int head_size = 64;
  const int max_blocks_per_seq = 20, num_blocks = num_seqs * max_blocks_per_seq;
  const int max_pos = max_blocks_per_seq * block_size;
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> uni(-1.f, 1.f);

  const size_t qn = (size_t)num_seqs * num_heads * head_size;
  const size_t kn = (size_t)num_seqs * num_kv_heads * head_size;
  const size_t cn = (size_t)num_blocks * num_kv_heads * head_size * block_size;
  std::vector<half> q(qn), k(kn), v(kn), kc(cn), vc(cn), out(qn);
  for (auto* vec : {&q, &k, &v, &kc, &vc})
    for (auto& e : *vec) e = __float2half(uni(rng));

  std::vector<int> seq_lens(num_seqs), tables(num_seqs * max_blocks_per_seq), perm(num_blocks);
  std::vector<int64_t> positions(num_seqs), slots(num_seqs);
  for (int i = 0; i < num_blocks; i++) perm[i] = i;
  std::shuffle(perm.begin(), perm.end(), rng);
  for (int i = 0; i < num_blocks; i++) tables[i] = perm[i];
  for (int s = 0; s < num_seqs; s++) {
    seq_lens[s] = 1 + rng() % max_pos;
    positions[s] = seq_lens[s] - 1;
    slots[s] = (int64_t)tables[s * max_blocks_per_seq + positions[s] / block_size] * block_size +
               positions[s] % block_size;
  }
  std::vector<float> cs((size_t)max_pos * head_size);
  for (int p = 0; p < max_pos; p++)
    for (int i = 0; i < head_size / 2; i++) {
      float inv = std::pow(10000.f, -2.f * i / head_size);
      cs[p * head_size + i] = std::cos(p * inv);
      cs[p * head_size + head_size / 2 + i] = std::sin(p * inv);
    }

  half *dq, *dk, *dv, *dkc, *dvc, *dout;
  float* dcs;
  int *dlens, *dtab;
  int64_t *dpos, *dslots;
  CHECK(cudaMalloc(&dq, qn * 2)); CHECK(cudaMalloc(&dk, kn * 2)); CHECK(cudaMalloc(&dv, kn * 2));
  CHECK(cudaMalloc(&dkc, cn * 2)); CHECK(cudaMalloc(&dvc, cn * 2)); CHECK(cudaMalloc(&dout, qn * 2));
  CHECK(cudaMalloc(&dcs, cs.size() * 4)); CHECK(cudaMalloc(&dlens, num_seqs * 4));
  CHECK(cudaMalloc(&dtab, tables.size() * 4)); CHECK(cudaMalloc(&dpos, num_seqs * 8));
  CHECK(cudaMalloc(&dslots, num_seqs * 8));
  CHECK(cudaMemcpy(dq, q.data(), qn * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dk, k.data(), kn * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dv, v.data(), kn * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dkc, kc.data(), cn * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dvc, vc.data(), cn * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dcs, cs.data(), cs.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dlens, seq_lens.data(), num_seqs * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dtab, tables.data(), tables.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dpos, positions.data(), num_seqs * 8, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dslots, slots.data(), num_seqs * 8, cudaMemcpyHostToDevice));

  vllm_mini::rotary_embedding_kernel<half><<<num_seqs, std::min(num_heads * head_size / 2, 512)>>>(
      dpos, dq, dk, dcs, head_size, num_heads * head_size, num_kv_heads * head_size, num_heads,
      num_kv_heads, head_size);
  vllm_mini::reshape_and_cache_kernel<half><<<num_seqs, std::min(num_kv_heads * head_size, 512)>>>(
      dk, dv, dkc, dvc, dslots, num_kv_heads, head_size, block_size, x);
  const float scale = 1.f / std::sqrt((float)head_size);
  constexpr int NT = 128;
  const size_t smem = std::max(max_pos * sizeof(float), (size_t)(NT / WARP_SIZE / 2) * head_size * sizeof(float));
  vllm_mini::paged_attention_v1_kernel<head_size, 16, NT><<<dim3(num_heads, num_seqs), NT, smem>>>(
      dout, dq, dkc, dvc, num_kv_heads, scale, dtab, dlens, max_blocks_per_seq);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(out.data(), dout, qn * 2, cudaMemcpyDeviceToHost));

  // ---- reference ----
  auto rope = [&](std::vector<half>& a, int heads) {
    std::vector<float> r(a.size());
    for (int s = 0; s < num_seqs; s++)
      for (int h = 0; h < heads; h++)
        for (int i = 0; i < head_size / 2; i++) {
          size_t b = ((size_t)s * heads + h) * head_size;
          float c = cs[positions[s] * head_size + i], sn = cs[positions[s] * head_size + head_size / 2 + i];
          float x0 = __half2float(a[b + i]), y0 = __half2float(a[b + i + head_size / 2]);
          r[b + i] = __half2float(__float2half(x0 * c - y0 * sn));
          r[b + i + head_size / 2] = __half2float(__float2half(y0 * c + x0 * sn));
        }
    return r;
  };
  std::vector<float> qr = rope(q, num_heads), kr = rope(k, num_kv_heads);
  double max_err = 0;
  for (int s = 0; s < num_seqs; s++)
    for (int h = 0; h < num_heads; h++) {
      const int kvh = h / (num_heads / num_kv_heads), L = seq_lens[s];
      std::vector<double> p(L), o(head_size, 0.0);
      double mx = -1e30, sum = 0;
      auto K = [&](int t, int d) -> float {
        if (t == L - 1) return kr[((size_t)s * num_kv_heads + kvh) * head_size + d];
        size_t pb = tables[s * max_blocks_per_seq + t / block_size];
        return __half2float(kc[(((pb * num_kv_heads + kvh) * (head_size / x) + d / x) * block_size + t % block_size) * x + d % x]);
      };
      auto V = [&](int t, int d) -> float {
        if (t == L - 1) return __half2float(v[((size_t)s * num_kv_heads + kvh) * head_size + d]);
        size_t pb = tables[s * max_blocks_per_seq + t / block_size];
        return __half2float(vc[((pb * num_kv_heads + kvh) * head_size + d) * block_size + t % block_size]);
      };
      for (int t = 0; t < L; t++) {
        double acc = 0;
        for (int d = 0; d < head_size; d++) acc += (double)qr[((size_t)s * num_heads + h) * head_size + d] * K(t, d);
        p[t] = acc * scale;
        mx = std::max(mx, p[t]);
      }
      for (auto& e : p) sum += (e = std::exp(e - mx));
      for (int t = 0; t < L; t++)
        for (int d = 0; d < head_size; d++) o[d] += p[t] / sum * V(t, d);
      for (int d = 0; d < head_size; d++)
        max_err = std::max(max_err, std::fabs(o[d] - (double)__half2float(out[((size_t)s * num_heads + h) * head_size + d])));
    }
  printf("paged attention max abs err %.3e\n", max_err);
  const bool ok = max_err < 4e-3;
  printf(ok ? "PASS\n" : "FAIL\n");
  return ok ? 0 : 1;
}
