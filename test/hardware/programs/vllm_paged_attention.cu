// Paged KV cache attention and the fused ops around it, in the manner of vLLM csrc/.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define WARP_SIZE 32
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define DIVIDE_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define VLLM_SHFL_XOR_SYNC(var, lane_mask) __shfl_xor_sync(uint32_t(-1), var, lane_mask)
#define VLLM_SHFL_SYNC(var, src_lane) __shfl_sync(uint32_t(-1), var, src_lane)
#define CUDA_CHECK(cmd) do { cudaError_t e_ = (cmd); if (e_ != cudaSuccess) { \
  fprintf(stderr, "Failed: %s at %s:%d\n", cudaGetErrorString(e_), __FILE__, __LINE__); exit(1); } } while (0)

namespace vllm {

template <typename scalar_t, int VEC_SIZE> struct alignas(sizeof(scalar_t) * VEC_SIZE) Vec { scalar_t data[VEC_SIZE]; };

template <int VEC_SIZE> __device__ __forceinline__ float vec_dot(const Vec<__half, VEC_SIZE>& a, const Vec<__half, VEC_SIZE>& b) {
  float s = 0.f;
#pragma unroll
  for (int i = 0; i < VEC_SIZE; ++i) s = fmaf(__half2float(a.data[i]), __half2float(b.data[i]), s);
  return s;
}

template <int THREAD_GROUP_SIZE, typename VecT, int N> __device__ __forceinline__ float qk_dot(const VecT (&q)[N], const VecT (&k)[N]) {
  float qk = 0.f;
#pragma unroll
  for (int i = 0; i < N; ++i) qk += vec_dot(q[i], k[i]);
#pragma unroll
  for (int mask = THREAD_GROUP_SIZE / 2; mask >= 1; mask /= 2) qk += VLLM_SHFL_XOR_SYNC(qk, mask);
  return qk;
}

template <int NUM_WARPS> __device__ __forceinline__ float block_sum(float* red_smem, float sum) {
  int warp = threadIdx.x / WARP_SIZE;
  int lane = threadIdx.x % WARP_SIZE;
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= 1; mask /= 2) sum += VLLM_SHFL_XOR_SYNC(sum, mask);
  if (lane == 0) red_smem[warp] = sum;
  __syncthreads();
  if (lane < NUM_WARPS) sum = red_smem[lane];
#pragma unroll
  for (int mask = NUM_WARPS / 2; mask >= 1; mask /= 2) sum += VLLM_SHFL_XOR_SYNC(sum, mask);
  return VLLM_SHFL_SYNC(sum, 0);
}

// Grid: (num_heads, num_seqs).
template <typename scalar_t, int HEAD_SIZE, int BLOCK_SIZE, int NUM_THREADS>
__global__ void paged_attention_v1_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ q, const scalar_t* __restrict__ k_cache,
                                          const scalar_t* __restrict__ v_cache, const int num_kv_heads, const float scale,
                                          const int* __restrict__ block_tables, const int* __restrict__ seq_lens,
                                          const int max_num_blocks_per_seq, const int q_stride, const int kv_block_stride, const int kv_head_stride) {
  const int seq_idx = blockIdx.y;
  const int seq_len = seq_lens[seq_idx];
  const int num_seq_blocks = DIVIDE_ROUND_UP(seq_len, BLOCK_SIZE);

  constexpr int THREAD_GROUP_SIZE = MAX(WARP_SIZE / BLOCK_SIZE, 1);
  constexpr int NUM_TOKENS_PER_THREAD_GROUP = DIVIDE_ROUND_UP(BLOCK_SIZE, WARP_SIZE);
  constexpr int NUM_WARPS = NUM_THREADS / WARP_SIZE;
  const int thread_idx = threadIdx.x;
  const int warp_idx = thread_idx / WARP_SIZE;
  const int lane = thread_idx % WARP_SIZE;
  const int head_idx = blockIdx.x;
  const int num_heads = gridDim.x;
  const int kv_head_idx = head_idx / (num_heads / num_kv_heads);

  constexpr int VEC_SIZE = MAX(16 / (THREAD_GROUP_SIZE * sizeof(scalar_t)), 1);
  using K_vec = Vec<scalar_t, VEC_SIZE>;
  constexpr int NUM_ELEMS_PER_THREAD = HEAD_SIZE / THREAD_GROUP_SIZE;
  constexpr int NUM_VECS_PER_THREAD = NUM_ELEMS_PER_THREAD / VEC_SIZE;
  const int thread_group_idx = thread_idx / THREAD_GROUP_SIZE;
  const int thread_group_offset = thread_idx % THREAD_GROUP_SIZE;

  const scalar_t* q_ptr = q + seq_idx * q_stride + head_idx * HEAD_SIZE;
  __shared__ K_vec q_vecs[THREAD_GROUP_SIZE][NUM_VECS_PER_THREAD];
  constexpr int NUM_THREAD_GROUPS = NUM_THREADS / THREAD_GROUP_SIZE;
  for (int i = thread_group_idx; i < NUM_VECS_PER_THREAD; i += NUM_THREAD_GROUPS) {
    const int vec_idx = thread_group_offset + i * THREAD_GROUP_SIZE;
    q_vecs[thread_group_offset][i] = *reinterpret_cast<const K_vec*>(q_ptr + vec_idx * VEC_SIZE);
  }
  __syncthreads();

  extern __shared__ __align__(16) char shared_mem[];
  float* logits = reinterpret_cast<float*>(shared_mem);
  __shared__ float red_smem[2 * NUM_WARPS];
  constexpr int x = 16 / sizeof(scalar_t);
  float qk_max = -FLT_MAX;
  const int* block_table = block_tables + seq_idx * max_num_blocks_per_seq;

  for (int block_idx = warp_idx; block_idx < num_seq_blocks; block_idx += NUM_WARPS) {
    const int64_t physical_block_number = static_cast<int64_t>(block_table[block_idx]);
    for (int i = 0; i < NUM_TOKENS_PER_THREAD_GROUP; i++) {
      const int physical_block_offset = (thread_group_idx + i * WARP_SIZE) % BLOCK_SIZE;
      const int token_idx = block_idx * BLOCK_SIZE + physical_block_offset;
      K_vec q_local[NUM_VECS_PER_THREAD], k_vecs[NUM_VECS_PER_THREAD];
#pragma unroll
      for (int j = 0; j < NUM_VECS_PER_THREAD; j++) {
        const scalar_t* k_ptr = k_cache + physical_block_number * kv_block_stride + kv_head_idx * kv_head_stride + physical_block_offset * x;
        const int vec_idx = thread_group_offset + j * THREAD_GROUP_SIZE;
        const int offset1 = (vec_idx * VEC_SIZE) / x;
        const int offset2 = (vec_idx * VEC_SIZE) % x;
        k_vecs[j] = *reinterpret_cast<const K_vec*>(k_ptr + offset1 * BLOCK_SIZE * x + offset2);
        q_local[j] = q_vecs[thread_group_offset][j];
      }
      const float qk = scale * qk_dot<THREAD_GROUP_SIZE>(q_local, k_vecs);
      if (thread_group_offset == 0) {
        const bool mask = token_idx >= seq_len;
        logits[token_idx] = mask ? 0.f : qk;
        qk_max = mask ? qk_max : fmaxf(qk_max, qk);
      }
    }
  }
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= THREAD_GROUP_SIZE; mask /= 2) qk_max = fmaxf(qk_max, VLLM_SHFL_XOR_SYNC(qk_max, mask));
  if (lane == 0) red_smem[warp_idx] = qk_max;
  __syncthreads();
  qk_max = lane < NUM_WARPS ? red_smem[lane] : -FLT_MAX;
#pragma unroll
  for (int mask = NUM_WARPS / 2; mask >= 1; mask /= 2) qk_max = fmaxf(qk_max, VLLM_SHFL_XOR_SYNC(qk_max, mask));
  qk_max = VLLM_SHFL_SYNC(qk_max, 0);

  float exp_sum = 0.f;
  for (int i = thread_idx; i < seq_len; i += NUM_THREADS) {
    float val = __expf(logits[i] - qk_max);
    logits[i] = val;
    exp_sum += val;
  }
  exp_sum = block_sum<NUM_WARPS>(&red_smem[NUM_WARPS], exp_sum);
  const float inv_sum = __fdividef(1.f, exp_sum + 1e-6f);
  for (int i = thread_idx; i < seq_len; i += NUM_THREADS) logits[i] *= inv_sum;
  __syncthreads();

  constexpr int V_VEC_SIZE = MIN(16 / sizeof(scalar_t), BLOCK_SIZE);
  using V_vec = Vec<scalar_t, V_VEC_SIZE>;
  constexpr int NUM_V_VECS_PER_ROW = BLOCK_SIZE / V_VEC_SIZE;
  constexpr int NUM_ROWS_PER_ITER = WARP_SIZE / NUM_V_VECS_PER_ROW;
  constexpr int NUM_ROWS_PER_THREAD = DIVIDE_ROUND_UP(HEAD_SIZE, NUM_ROWS_PER_ITER);
  float accs[NUM_ROWS_PER_THREAD];
#pragma unroll
  for (int i = 0; i < NUM_ROWS_PER_THREAD; i++) accs[i] = 0.f;

  for (int block_idx = warp_idx; block_idx < num_seq_blocks; block_idx += NUM_WARPS) {
    const int64_t physical_block_number = static_cast<int64_t>(block_table[block_idx]);
    const int physical_block_offset = (lane % NUM_V_VECS_PER_ROW) * V_VEC_SIZE;
    const int token_idx = block_idx * BLOCK_SIZE + physical_block_offset;
    const scalar_t* v_ptr = v_cache + physical_block_number * kv_block_stride + kv_head_idx * kv_head_stride;
#pragma unroll
    for (int i = 0; i < NUM_ROWS_PER_THREAD; i++) {
      const int row_idx = lane / NUM_V_VECS_PER_ROW + i * NUM_ROWS_PER_ITER;
      if (row_idx < HEAD_SIZE) {
        V_vec v_vec = *reinterpret_cast<const V_vec*>(v_ptr + row_idx * BLOCK_SIZE + physical_block_offset);
#pragma unroll
        for (int j = 0; j < V_VEC_SIZE; j++) accs[i] += (token_idx + j < seq_len ? __half2float(v_vec.data[j]) : 0.f) * logits[token_idx + j];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < NUM_ROWS_PER_THREAD; i++) {
    float acc = accs[i];
#pragma unroll
    for (int mask = NUM_V_VECS_PER_ROW / 2; mask >= 1; mask /= 2) acc += VLLM_SHFL_XOR_SYNC(acc, mask);
    accs[i] = acc;
  }
  __syncthreads();

  float* out_smem = reinterpret_cast<float*>(shared_mem);
#pragma unroll
  for (int i = NUM_WARPS; i > 1; i /= 2) {
    int mid = i / 2;
    if (warp_idx >= mid && warp_idx < i) {
      float* dst = &out_smem[(warp_idx - mid) * HEAD_SIZE];
#pragma unroll
      for (int r = 0; r < NUM_ROWS_PER_THREAD; r++) {
        const int row_idx = lane / NUM_V_VECS_PER_ROW + r * NUM_ROWS_PER_ITER;
        if (row_idx < HEAD_SIZE && lane % NUM_V_VECS_PER_ROW == 0) dst[row_idx] = accs[r];
      }
    }
    __syncthreads();
    if (warp_idx < mid) {
      const float* src = &out_smem[warp_idx * HEAD_SIZE];
#pragma unroll
      for (int r = 0; r < NUM_ROWS_PER_THREAD; r++) {
        const int row_idx = lane / NUM_V_VECS_PER_ROW + r * NUM_ROWS_PER_ITER;
        if (row_idx < HEAD_SIZE && lane % NUM_V_VECS_PER_ROW == 0) accs[r] += src[row_idx];
      }
    }
    __syncthreads();
  }
  if (warp_idx == 0) {
    scalar_t* out_ptr = out + seq_idx * num_heads * HEAD_SIZE + head_idx * HEAD_SIZE;
#pragma unroll
    for (int i = 0; i < NUM_ROWS_PER_THREAD; i++) {
      const int row_idx = lane / NUM_V_VECS_PER_ROW + i * NUM_ROWS_PER_ITER;
      if (row_idx < HEAD_SIZE && lane % NUM_V_VECS_PER_ROW == 0) out_ptr[row_idx] = __float2half(accs[i]);
    }
  }
}

template <typename scalar_t>
__global__ void reshape_and_cache_kernel(const scalar_t* __restrict__ key, const scalar_t* __restrict__ value, scalar_t* __restrict__ key_cache,
                                         scalar_t* __restrict__ value_cache, const int64_t* __restrict__ slot_mapping, const int key_stride,
                                         const int value_stride, const int num_heads, const int head_size, const int block_size, const int x) {
  const int64_t token_idx = blockIdx.x;
  const int64_t slot_idx = slot_mapping[token_idx];
  if (slot_idx < 0) return;
  const int64_t block_idx = slot_idx / block_size;
  const int64_t block_offset = slot_idx % block_size;
  const int n = num_heads * head_size;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int head_idx = i / head_size, head_offset = i % head_size;
    const int x_idx = head_offset / x, x_offset = head_offset % x;
    const int64_t tgt_key_idx = block_idx * num_heads * (head_size / x) * block_size * x + head_idx * (head_size / x) * block_size * x +
                                x_idx * block_size * x + block_offset * x + x_offset;
    const int64_t tgt_value_idx = block_idx * num_heads * head_size * block_size + head_idx * head_size * block_size + head_offset * block_size + block_offset;
    key_cache[tgt_key_idx] = key[token_idx * key_stride + i];
    value_cache[tgt_value_idx] = value[token_idx * value_stride + i];
  }
}

template <typename T> __device__ __forceinline__ T silu_kernel(const T& x) { return (T)(((float)x) / (1.0f + expf((float)-x))); }
template <typename scalar_t, scalar_t (*ACT_FN)(const scalar_t&)>
__global__ void act_and_mul_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ input, const int d) {
  const int64_t token_idx = blockIdx.x;
  for (int64_t idx = threadIdx.x; idx < d; idx += blockDim.x) {
    const scalar_t x = __ldg(&input[token_idx * 2 * d + idx]);
    const scalar_t y = __ldg(&input[token_idx * 2 * d + d + idx]);
    out[token_idx * d + idx] = ACT_FN(x) * y;
  }
}

}  // namespace vllm

#define LAUNCH_PAGED_ATTENTION_V1(HEAD_SIZE)                                                                                       \
  vllm::paged_attention_v1_kernel<__half, HEAD_SIZE, BLOCK_SIZE, NUM_THREADS><<<grid, block, shared_mem_size>>>(                   \
      out, query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, max_blocks, num_heads * head_size,          \
      num_kv_heads * head_size * BLOCK_SIZE, head_size * BLOCK_SIZE);

template <int BLOCK_SIZE, int NUM_THREADS = 128>
void paged_attention_v1_launcher(__half* out, const __half* query, const __half* key_cache, const __half* value_cache, int num_seqs, int num_heads, int num_kv_heads,
                                 int head_size, float scale, const int* block_tables, const int* seq_lens, int max_blocks, int max_seq_len) {
  constexpr int NUM_WARPS = NUM_THREADS / WARP_SIZE;
  int padded_max_seq_len = DIVIDE_ROUND_UP(max_seq_len, BLOCK_SIZE) * BLOCK_SIZE;
  int logits_size = padded_max_seq_len * sizeof(float);
  int outputs_size = (NUM_WARPS / 2) * head_size * sizeof(float);
  int shared_mem_size = std::max(logits_size, outputs_size);
  dim3 grid(num_heads, num_seqs, 1), block(NUM_THREADS);
  switch (head_size) {
    case 64: LAUNCH_PAGED_ATTENTION_V1(64); break;
    case 80: LAUNCH_PAGED_ATTENTION_V1(80); break;
    case 128: LAUNCH_PAGED_ATTENTION_V1(128); break;
    default: fprintf(stderr, "Unsupported head size: %d\n", head_size); exit(1);
  }
  CUDA_CHECK(cudaGetLastError());
}

template <typename T> T* dev_alloc(size_t n, const T* src = nullptr) {
  T* p;
  CUDA_CHECK(cudaMalloc(&p, n * sizeof(T)));
  if (src) CUDA_CHECK(cudaMemcpy(p, src, n * sizeof(T), cudaMemcpyHostToDevice));
  else CUDA_CHECK(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}
static std::vector<__half> rand_half(size_t n, std::mt19937& g) {
  std::normal_distribution<float> nd;
  std::vector<__half> v(n);
  for (auto& e : v) e = __float2half(nd(g));
  return v;
}

template <int BLOCK_SIZE> bool test_attention(int num_heads, int num_kv_heads, int head_size, std::vector<int> seq_lens, std::mt19937& g) {
  const int num_seqs = seq_lens.size(), max_len = *std::max_element(seq_lens.begin(), seq_lens.end());
  const int max_blocks = DIVIDE_ROUND_UP(max_len, BLOCK_SIZE), num_blocks = num_seqs * max_blocks, x = 8;
  std::vector<int> perm(num_blocks), first(num_seqs);
  for (int i = 0; i < num_blocks; i++) perm[i] = i;
  std::shuffle(perm.begin(), perm.end(), g);
  std::vector<int64_t> slots;
  for (int s = 0; s < num_seqs; s++) {
    first[s] = slots.size();
    for (int t = 0; t < seq_lens[s]; t++) slots.push_back((int64_t)perm[s * max_blocks + t / BLOCK_SIZE] * BLOCK_SIZE + t % BLOCK_SIZE);
  }
  const int num_tokens = slots.size(), kvw = num_kv_heads * head_size, qw = num_heads * head_size;
  auto key = rand_half((size_t)num_tokens * kvw, g), value = rand_half((size_t)num_tokens * kvw, g), query = rand_half((size_t)num_seqs * qw, g);
  __half *dk = dev_alloc(key.size(), key.data()), *dv = dev_alloc(value.size(), value.data()), *dq = dev_alloc(query.size(), query.data());
  __half *kc = dev_alloc<__half>((size_t)num_blocks * kvw * BLOCK_SIZE), *vc = dev_alloc<__half>((size_t)num_blocks * kvw * BLOCK_SIZE), *dout = dev_alloc<__half>(query.size());
  int64_t* dslots = dev_alloc(slots.size(), slots.data());
  int *dbt = dev_alloc(perm.size(), perm.data()), *dlens = dev_alloc(seq_lens.size(), seq_lens.data());
  vllm::reshape_and_cache_kernel<__half><<<num_tokens, std::min(kvw, 512)>>>(dk, dv, kc, vc, dslots, kvw, kvw, num_kv_heads, head_size, BLOCK_SIZE, x);
  CUDA_CHECK(cudaGetLastError());
  const float scale = 1.f / sqrtf((float)head_size);
  paged_attention_v1_launcher<BLOCK_SIZE>(dout, dq, kc, vc, num_seqs, num_heads, num_kv_heads, head_size, scale, dbt, dlens, max_blocks, max_len);
  std::vector<__half> out(query.size());
  CUDA_CHECK(cudaMemcpy(out.data(), dout, out.size() * sizeof(__half), cudaMemcpyDeviceToHost));
  double max_err = 0;
  for (int s = 0; s < num_seqs; s++) for (int h = 0; h < num_heads; h++) {
    const int kvh = h / (num_heads / num_kv_heads), len = seq_lens[s];
    std::vector<float> p(len), acc(head_size, 0.f);
    float m = -1e30f, sum = 0;
    for (int t = 0; t < len; t++) {
      float dot = 0;
      for (int d = 0; d < head_size; d++) dot += __half2float(query[s * qw + h * head_size + d]) * __half2float(key[(size_t)(first[s] + t) * kvw + kvh * head_size + d]);
      m = std::max(m, p[t] = dot * scale);
    }
    for (auto& e : p) sum += (e = expf(e - m));
    for (int t = 0; t < len; t++) for (int d = 0; d < head_size; d++) acc[d] += p[t] / sum * __half2float(value[(size_t)(first[s] + t) * kvw + kvh * head_size + d]);
    for (int d = 0; d < head_size; d++) {
      const double e = std::fabs(acc[d] - __half2float(out[s * qw + h * head_size + d]));
      max_err = std::max(max_err, std::isfinite(e) ? e : 1e9);
    }
  }
  printf("paged_attention hs=%d bs=%d max_err=%.2e\n", head_size, BLOCK_SIZE, max_err);
  for (void* p : {(void*)dk, (void*)dv, (void*)dq, (void*)kc, (void*)vc, (void*)dout, (void*)dslots, (void*)dbt, (void*)dlens}) CUDA_CHECK(cudaFree(p));
  return max_err < 5e-3;
}

int main() {
  std::mt19937 g(7);
  bool ok = test_attention<16>(8, 8, 64, {1, 17, 300, 512}, g);
  ok &= test_attention<16>(16, 4, 128, {77, 640, 250}, g);
  ok &= test_attention<32>(8, 2, 80, {33, 31, 420, 128}, g);
  ok &= test_attention<8>(4, 4, 64, {9, 200}, g);

  const int tokens = 96, d = 1376;
  std::normal_distribution<float> nd;
  std::vector<float> in((size_t)tokens * 2 * d), out((size_t)tokens * d);
  for (auto& v : in) v = nd(g);
  float *din = dev_alloc(in.size(), in.data()), *dout = dev_alloc<float>(out.size());
  vllm::act_and_mul_kernel<float, vllm::silu_kernel<float>><<<tokens, std::min(d, 1024)>>>(dout, din, d);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(out.data(), dout, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int t = 0; t < tokens; t++) for (int i = 0; i < d; i++) {
    const double a = in[(size_t)t * 2 * d + i], b = in[(size_t)t * 2 * d + d + i], ref = a / (1 + std::exp(-a)) * b;
    ok &= std::fabs(ref - out[(size_t)t * d + i]) <= 1e-4 * (1 + std::fabs(ref));
  }
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
