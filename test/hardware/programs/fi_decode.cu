// Paged-KV batch decode attention, split along the kv axis, plus the small kernels that
// live around it in a serving engine (append + rope, state merge, fused add rmsnorm,
// silu_and_mul, greedy sampling).
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
#define FI_CUDA_CALL(func)                                                              \
  do {                                                                                  \
    cudaError_t e = (func);                                                             \
    if (e != cudaSuccess) {                                                             \
      fprintf(stderr, "CUDA Error %s at %s:%d\n", cudaGetErrorString(e), __FILE__, __LINE__); \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)
#define DISPATCH_HEAD_DIM(head_dim, HEAD_DIM, ...)      \
  switch (head_dim) {                                   \
    case 64: {                                          \
      constexpr uint32_t HEAD_DIM = 64;                 \
      __VA_ARGS__                                       \
      break;                                            \
    }                                                   \
    case 128: {                                         \
      constexpr uint32_t HEAD_DIM = 128;                \
      __VA_ARGS__                                       \
      break;                                            \
    }                                                   \
    default:                                            \
      throw std::invalid_argument("unsupported head_dim"); \
  }
#define DISPATCH_GROUP_SIZE(group_size, GROUP_SIZE, ...) \
  if (group_size == 1) {                                 \
    constexpr uint32_t GROUP_SIZE = 1;                   \
    __VA_ARGS__                                          \
  } else if (group_size == 4) {                          \
    constexpr uint32_t GROUP_SIZE = 4;                   \
    __VA_ARGS__                                          \
  } else {                                               \
    throw std::invalid_argument("unsupported group_size"); \
  }
namespace fi {
template <typename T, uint32_t N>
struct vec_t;
template <uint32_t N>
struct vec_t<float, N> {
  static_assert(N % 4 == 0, "float vectors are multiples of float4");
  float4 data[N / 4];
  __device__ __forceinline__ float& operator[](uint32_t i) { return ((float*)data)[i]; }
  __device__ __forceinline__ const float& operator[](uint32_t i) const { return ((const float*)data)[i]; }
  __device__ __forceinline__ void fill(float v) {
#pragma unroll
    for (uint32_t i = 0; i < N / 4; ++i) data[i] = make_float4(v, v, v, v);
  }
  __device__ __forceinline__ void load(const float* ptr) {
#pragma unroll
    for (uint32_t i = 0; i < N / 4; ++i) data[i] = ((const float4*)ptr)[i];
  }
  __device__ __forceinline__ void store(float* ptr) const {
#pragma unroll
    for (uint32_t i = 0; i < N / 4; ++i) ((float4*)ptr)[i] = data[i];
  }
  __device__ __forceinline__ void cast_load(const half* ptr);
  __device__ __forceinline__ void cast_store(half* ptr) const;
};
template <>
struct vec_t<half, 8> {
  uint4 data;
  __device__ __forceinline__ half& operator[](uint32_t i) { return ((half*)(&data))[i]; }
  __device__ __forceinline__ void load(const half* ptr) { data = *((const uint4*)ptr); }
  __device__ __forceinline__ void store(half* ptr) const { *((uint4*)ptr) = data; }
};
template <uint32_t N>
__device__ __forceinline__ void vec_t<float, N>::cast_load(const half* ptr) {
  static_assert(N % 8 == 0, "");
#pragma unroll
  for (uint32_t i = 0; i < N / 8; ++i) {
    vec_t<half, 8> h;
    h.load(ptr + i * 8);
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      float2 f = __half22float2(((half2*)(&h.data))[j]);
      (*this)[i * 8 + 2 * j] = f.x;
      (*this)[i * 8 + 2 * j + 1] = f.y;
    }
  }
}
template <uint32_t N>
__device__ __forceinline__ void vec_t<float, N>::cast_store(half* ptr) const {
#pragma unroll
  for (uint32_t i = 0; i < N / 8; ++i) {
    vec_t<half, 8> h;
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j)
      ((half2*)(&h.data))[j] = __floats2half2_rn((*this)[i * 8 + 2 * j], (*this)[i * 8 + 2 * j + 1]);
    h.store(ptr + i * 8);
  }
}
namespace cp_async {
__device__ __forceinline__ void commit_group() { asm volatile("cp.async.commit_group;\n" ::); }
template <int n>
__device__ __forceinline__ void wait_group() { asm volatile("cp.async.wait_group %0;\n" ::"n"(n)); }
__device__ __forceinline__ void pred_load_128b(void* smem, const void* gmem, bool p) {
  uint32_t s = (uint32_t)__cvta_generic_to_shared(smem);
  int bytes = p ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(s), "l"(gmem), "r"(bytes));
}
}  // namespace cp_async
struct paged_kv_t {
  uint32_t page_size, num_heads, head_dim, batch_size;
  half *k_data, *v_data;  // [page, page_size, num_heads, head_dim]  (NHD)
  int32_t *indices, *indptr, *last_page_len;
  __device__ __forceinline__ size_t get_elem_offset(size_t page, size_t head, size_t entry, size_t feat) const {
    return ((page * page_size + entry) * num_heads + head) * head_dim + feat;
  }
  __device__ __forceinline__ uint32_t get_length(uint32_t b) const {
    return (indptr[b + 1] - indptr[b] - 1) * page_size + last_page_len[b];
  }
  // offset of token `pos` of request b
  __device__ __forceinline__ size_t token_offset(uint32_t b, uint32_t pos, uint32_t head, uint32_t feat) const {
    uint32_t pg = pos / page_size, e = pos - pg * page_size;
    return get_elem_offset(__ldg(indices + indptr[b] + pg), head, e, feat);
  }
};
template <uint32_t vec_size>
struct state_t {
  vec_t<float, vec_size> o;
  float m, d;
  __device__ __forceinline__ void init() { o.fill(0.f); m = -5e4f; d = 1.f; d = 0.f; }
  __device__ __forceinline__ float get_lse() const { return m + log2f(d); }
  __device__ __forceinline__ void merge(const vec_t<float, vec_size>& other_o, float other_m, float other_d) {
    float m_prev = m, d_prev = d;
    m = fmaxf(m_prev, other_m);
    float a = exp2f(m_prev - m), b = exp2f(other_m - m);
    d = d_prev * a + other_d * b;
#pragma unroll
    for (uint32_t i = 0; i < vec_size; ++i) o[i] = o[i] * a + other_o[i] * b;
  }
  __device__ __forceinline__ void normalize() {
    float inv = d > 0.f ? 1.f / d : 0.f;
#pragma unroll
    for (uint32_t i = 0; i < vec_size; ++i) o[i] *= inv;
  }
};
// one new token per request; K rotated (half-split), V copied as it is
template <uint32_t head_dim, uint32_t vec_size>
__global__ void AppendPagedKVCacheDecodeKernel(paged_kv_t kv, const half* __restrict__ key,
                                               const half* __restrict__ value, float rope_rcp_theta_log2) {
  const uint32_t tx = threadIdx.x, head = threadIdx.y, b = blockIdx.x;
  const uint32_t pos = kv.get_length(b) - 1;
  const size_t dst = kv.token_offset(b, pos, head, tx * vec_size);
  const half* src = key + ((size_t)b * kv.num_heads + head) * head_dim;
  vec_t<float, vec_size> x, y;
  x.cast_load(src + tx * vec_size);
  const bool lo = tx * vec_size < head_dim / 2;
  y.cast_load(src + (lo ? tx * vec_size + head_dim / 2 : tx * vec_size - head_dim / 2));
#pragma unroll
  for (uint32_t i = 0; i < vec_size; ++i) {
    uint32_t f = (tx * vec_size + i) % (head_dim / 2);
    float ang = float(pos) * exp2f(rope_rcp_theta_log2 * float(2 * f) / float(head_dim));
    float c, s;
    sincosf(ang, &s, &c);
    x[i] = x[i] * c + (lo ? -y[i] : y[i]) * s;
  }
  x.cast_store(kv.k_data + dst);
  vec_t<half, 8> v;
  v.load(value + ((size_t)b * kv.num_heads + head) * head_dim + tx * vec_size);
  v.store(kv.v_data + dst);
}
template <uint32_t vec_size, uint32_t bdx, uint32_t bdy, uint32_t bdz, uint32_t tile, uint32_t stages>
__global__ void BatchDecodeWithPagedKVCacheKernel(const half* __restrict__ q, paged_kv_t kv,
                                                  const int* __restrict__ request_indices,
                                                  const int* __restrict__ kv_tile_indices, uint32_t kv_chunk_size,
                                                  float* __restrict__ tmp_o, float* __restrict__ tmp_lse,
                                                  float sm_scale_log2) {
  constexpr uint32_t head_dim = bdx * vec_size;
  constexpr uint32_t rows = bdz * bdy * tile;
  extern __shared__ uint8_t smem[];
  half* k_smem = (half*)smem;
  half* v_smem = k_smem + stages * rows * head_dim;
  float* sync_smem = (float*)smem;
  const uint32_t tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
  const uint32_t kv_head = blockIdx.y, qo_head = kv_head * bdy + ty, num_qo = gridDim.y * bdy;
  const uint32_t b = request_indices[blockIdx.x];
  const uint32_t kv_len = kv.get_length(b);
  const uint32_t start = kv_tile_indices[blockIdx.x] * kv_chunk_size;
  const uint32_t end = min(start + kv_chunk_size, kv_len);
  const uint32_t chunk = end - start;
  vec_t<float, vec_size> q_vec;
  q_vec.cast_load(q + ((size_t)b * num_qo + qo_head) * head_dim + tx * vec_size);
#pragma unroll
  for (uint32_t i = 0; i < vec_size; ++i) q_vec[i] *= sm_scale_log2;
  const uint32_t num_iter = (chunk + rows - 1) / rows;
  auto issue = [&](uint32_t iter) {
    const uint32_t stage = iter % stages;
#pragma unroll
    for (uint32_t j = 0; j < tile; ++j) {
      uint32_t r = (tz * bdy + ty) * tile + j;
      uint32_t pos = start + iter * rows + r;
      bool ok = pos < end;
      size_t off = kv.token_offset(b, ok ? pos : start, kv_head, tx * vec_size);
      cp_async::pred_load_128b(k_smem + (stage * rows + r) * head_dim + tx * vec_size, kv.k_data + off, ok);
      cp_async::pred_load_128b(v_smem + (stage * rows + r) * head_dim + tx * vec_size, kv.v_data + off, ok);
    }
  };
#pragma unroll
  for (uint32_t s = 0; s < stages - 1; ++s) {
    if (s < num_iter) issue(s);
    cp_async::commit_group();
  }
  state_t<vec_size> st;
  st.init();
  float s[bdy * tile];
  for (uint32_t iter = 0; iter < num_iter; ++iter) {
    if (iter + stages - 1 < num_iter) issue(iter + stages - 1);
    cp_async::commit_group();
    cp_async::wait_group<stages - 1>();
    __syncthreads();
    const half* ks = k_smem + ((iter % stages) * rows + tz * bdy * tile) * head_dim;
    const half* vs = v_smem + ((iter % stages) * rows + tz * bdy * tile) * head_dim;
    float m_prev = st.m;
#pragma unroll
    for (uint32_t j = 0; j < bdy * tile; ++j) {
      vec_t<float, vec_size> k_vec;
      k_vec.cast_load(ks + j * head_dim + tx * vec_size);
      float acc = 0.f;
#pragma unroll
      for (uint32_t i = 0; i < vec_size; ++i) acc += q_vec[i] * k_vec[i];
#pragma unroll
      for (uint32_t o = bdx / 2; o > 0; o /= 2) acc += __shfl_xor_sync(0xffffffffu, acc, o);
      s[j] = (iter * rows + tz * bdy * tile + j < chunk) ? acc : -5e4f;
      st.m = fmaxf(st.m, s[j]);
    }
    float scale = exp2f(m_prev - st.m);
    st.d *= scale;
#pragma unroll
    for (uint32_t i = 0; i < vec_size; ++i) st.o[i] *= scale;
#pragma unroll
    for (uint32_t j = 0; j < bdy * tile; ++j) {
      bool ok = iter * rows + tz * bdy * tile + j < chunk;
      float p = ok ? exp2f(s[j] - st.m) : 0.f;
      st.d += p;
      vec_t<float, vec_size> v_vec;
      v_vec.cast_load(vs + j * head_dim + tx * vec_size);
#pragma unroll
      for (uint32_t i = 0; i < vec_size; ++i) st.o[i] += p * v_vec[i];
    }
    __syncthreads();
  }
  cp_async::wait_group<0>();
  __syncthreads();
  // merge over tz
  float* md = sync_smem + bdz * bdy * head_dim;
  if constexpr (bdz > 1) {
    st.o.store(sync_smem + (tz * bdy + ty) * head_dim + tx * vec_size);
    md[(tz * bdy + ty) * 2] = st.m;
    md[(tz * bdy + ty) * 2 + 1] = st.d;
    __syncthreads();
    st.init();
#pragma unroll
    for (uint32_t j = 0; j < bdz; ++j) {
      vec_t<float, vec_size> oz;
      oz.load(sync_smem + (j * bdy + ty) * head_dim + tx * vec_size);
      st.merge(oz, md[(j * bdy + ty) * 2], md[(j * bdy + ty) * 2 + 1]);
    }
  }
  st.normalize();
  if (tz == 0) {
    st.o.store(tmp_o + ((size_t)blockIdx.x * num_qo + qo_head) * head_dim + tx * vec_size);
    if (tx == 0) tmp_lse[blockIdx.x * num_qo + qo_head] = st.get_lse();
  }
}
template <uint32_t vec_size, uint32_t bdx, uint32_t bdy>
__global__ void VariableLengthMergeStatesKernel(const float* __restrict__ tmp_o, const float* __restrict__ tmp_lse,
                                                const int* __restrict__ o_indptr, half* __restrict__ out,
                                                uint32_t num_heads, uint32_t total) {
  constexpr uint32_t head_dim = bdx * vec_size;
  const uint32_t tx = threadIdx.x, ty = threadIdx.y;
  for (uint32_t i = blockIdx.x * bdy + ty; i < total; i += gridDim.x * bdy) {
    const uint32_t b = i / num_heads, h = i % num_heads;
    state_t<vec_size> st;
    st.init();
    for (int t = o_indptr[b]; t < o_indptr[b + 1]; ++t) {
      vec_t<float, vec_size> v;
      v.load(tmp_o + ((size_t)t * num_heads + h) * head_dim + tx * vec_size);
      st.merge(v, tmp_lse[t * num_heads + h], 1.f);
    }
    st.normalize();
    st.o.cast_store(out + (size_t)i * head_dim + tx * vec_size);
  }
}
// residual += x ; x = rmsnorm(residual) * w
template <uint32_t vec_size>
__global__ void FusedAddRMSNormKernel(half* __restrict__ x, half* __restrict__ residual, const half* __restrict__ w,
                                      uint32_t d, float eps) {
  extern __shared__ float smem_x[];  // [d] + 32
  float* red = smem_x + d;
  const uint32_t tid = threadIdx.x, warp = tid / 32, lane = tid % 32, nwarps = blockDim.x / 32;
  half* xr = x + (size_t)blockIdx.x * d;
  half* rr = residual + (size_t)blockIdx.x * d;
  float ss = 0.f;
  for (uint32_t i = tid * vec_size; i < d; i += blockDim.x * vec_size) {
    vec_t<float, vec_size> a, r;
    a.cast_load(xr + i);
    r.cast_load(rr + i);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j) { a[j] += r[j]; ss += a[j] * a[j]; }
    a.cast_store(rr + i);
    a.store(smem_x + i);
  }
  for (uint32_t o = 16; o > 0; o /= 2) ss += __shfl_xor_sync(0xffffffffu, ss, o);
  if (lane == 0) red[warp] = ss;
  __syncthreads();
  if (warp == 0) {
    ss = lane < nwarps ? red[lane] : 0.f;
    for (uint32_t o = 16; o > 0; o /= 2) ss += __shfl_xor_sync(0xffffffffu, ss, o);
    if (lane == 0) red[0] = ss;
  }
  __syncthreads();
  const float rcp = rsqrtf(red[0] / float(d) + eps);
  for (uint32_t i = tid * vec_size; i < d; i += blockDim.x * vec_size) {
    vec_t<float, vec_size> a, ww;
    a.load(smem_x + i);
    ww.cast_load(w + i);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j) a[j] = a[j] * rcp * ww[j];
    a.cast_store(xr + i);
  }
}
template <typename T>
__global__ void act_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, const int d) {
  const int64_t token_idx = blockIdx.x;
  for (int64_t idx = threadIdx.x; idx < d; idx += blockDim.x) {
    const float x = __half2float(__ldg(&input[token_idx * 2 * d + idx]));
    const float y = __half2float(__ldg(&input[token_idx * 2 * d + d + idx]));
    out[token_idx * d + idx] = __float2half(x / (1.0f + __expf(-x)) * y);
  }
}
template <uint32_t BLOCK>
__global__ void GreedySampleKernel(const half* __restrict__ logits, int* __restrict__ out, uint32_t vocab) {
  __shared__ float sv[BLOCK];
  __shared__ int si[BLOCK];
  float best = -INFINITY;
  int bi = 0x7fffffff;
  for (uint32_t i = threadIdx.x; i < vocab; i += BLOCK) {
    float v = __half2float(logits[(size_t)blockIdx.x * vocab + i]);
    if (v > best) { best = v; bi = i; }
  }
  sv[threadIdx.x] = best;
  si[threadIdx.x] = bi;
  __syncthreads();
  for (uint32_t s = BLOCK / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) {
      float o = sv[threadIdx.x + s];
      int oi = si[threadIdx.x + s];
      if (o > sv[threadIdx.x] || (o == sv[threadIdx.x] && oi < si[threadIdx.x])) {
        sv[threadIdx.x] = o;
        si[threadIdx.x] = oi;
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = si[0];
}
}  // namespace fi
static uint32_t g_seed = 20240611u;
static float frand() {
  g_seed = g_seed * 1664525u + 1013904223u;
  return float(g_seed >> 8) / float(1 << 24) * 2.f - 1.f;
}
static std::vector<half> hrand(size_t n, float s = 1.f) {
  std::vector<half> v(n);
  for (auto& x : v) x = __float2half(frand() * s);
  return v;
}
template <typename T>
static T* to_dev(const std::vector<T>& v) {
  T* p;
  FI_CUDA_CALL(cudaMalloc(&p, v.size() * sizeof(T)));
  FI_CUDA_CALL(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <typename T>
static std::vector<T> to_host(const T* p, size_t n) {
  std::vector<T> v(n);
  FI_CUDA_CALL(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}
static bool run_decode(uint32_t head_dim, uint32_t group_size, uint32_t num_kv, std::vector<int> lens, uint32_t page_size,
                       uint32_t chunk_size) {
  const uint32_t batch = lens.size(), num_qo = num_kv * group_size;
  std::vector<int> indptr{0}, last, indices, req, tilei, oindptr{0};
  for (int l : lens) {
    int np = (l + page_size - 1) / page_size;
    indptr.push_back(indptr.back() + np);
    last.push_back(l - (np - 1) * (int)page_size);
    int nt = (l + chunk_size - 1) / chunk_size;
    for (int t = 0; t < nt; ++t) { req.push_back((int)last.size() - 1); tilei.push_back(t); }
    oindptr.push_back(oindptr.back() + nt);
  }
  const int npages = indptr.back();
  for (int i = 0; i < npages; ++i) indices.push_back(i);
  for (int i = npages - 1; i > 0; --i) std::swap(indices[i], indices[int((frand() * .5f + .5f) * i)]);
  const size_t cache = (size_t)npages * page_size * num_kv * head_dim;
  auto hk = hrand(cache), hv = hrand(cache), hq = hrand((size_t)batch * num_qo * head_dim, 2.f);
  auto nk = hrand((size_t)batch * num_kv * head_dim), nv = hrand((size_t)batch * num_kv * head_dim);
  fi::paged_kv_t kv{page_size, num_kv, head_dim, batch, to_dev(hk), to_dev(hv), to_dev(indices), to_dev(indptr), to_dev(last)};
  half *dq = to_dev(hq), *dnk = to_dev(nk), *dnv = to_dev(nv), *dout;
  int *dreq = to_dev(req), *dtile = to_dev(tilei), *dop = to_dev(oindptr);
  float *tmp_o, *tmp_lse;
  FI_CUDA_CALL(cudaMalloc(&tmp_o, req.size() * num_qo * head_dim * 4));
  FI_CUDA_CALL(cudaMalloc(&tmp_lse, req.size() * num_qo * 4));
  FI_CUDA_CALL(cudaMalloc(&dout, (size_t)batch * num_qo * head_dim * 2));
  const float rlog = -log2f(10000.f), scale = 1.f / sqrtf((float)head_dim);
  DISPATCH_HEAD_DIM(head_dim, HEAD_DIM, {
    DISPATCH_GROUP_SIZE(group_size, GROUP_SIZE, {
      constexpr uint32_t vec = 8, bdx = HEAD_DIM / vec, bdy = GROUP_SIZE, bdz = 128 / (bdx * bdy);
      constexpr uint32_t tile = GROUP_SIZE == 1 ? 4 : 1, stages = 2;
      fi::AppendPagedKVCacheDecodeKernel<HEAD_DIM, vec><<<batch, dim3(bdx, num_kv)>>>(kv, dnk, dnv, rlog);
      auto kernel = fi::BatchDecodeWithPagedKVCacheKernel<vec, bdx, bdy, bdz, tile, stages>;
      const uint32_t kv_bytes = 2 * stages * bdz * bdy * tile * HEAD_DIM * sizeof(half);
      const uint32_t md_bytes = bdz * bdy * (HEAD_DIM + 2) * sizeof(float);
      const uint32_t smem = kv_bytes > md_bytes ? kv_bytes : md_bytes;
      FI_CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
      kernel<<<dim3(req.size(), num_kv), dim3(bdx, bdy, bdz), smem>>>(dq, kv, dreq, dtile, chunk_size, tmp_o, tmp_lse,
                                                                     scale * 1.44269504f);
      constexpr uint32_t mbdy = 128 / bdx;
      fi::VariableLengthMergeStatesKernel<vec, bdx, mbdy>
          <<<(batch * num_qo + mbdy - 1) / mbdy, dim3(bdx, mbdy)>>>(tmp_o, tmp_lse, dop, dout, num_qo, batch * num_qo);
    })
  })
  FI_CUDA_CALL(cudaGetLastError());
  FI_CUDA_CALL(cudaDeviceSynchronize());
  auto got = to_host(dout, (size_t)batch * num_qo * head_dim);
  double worst = 0;
  for (uint32_t b = 0; b < batch; ++b)
    for (uint32_t h = 0; h < num_qo; ++h) {
      const uint32_t kh = h / group_size;
      const int L = lens[b];
      std::vector<float> p(L), newk(head_dim), ref(head_dim, 0.f);
      const half* k0 = &nk[((size_t)b * num_kv + kh) * head_dim];
      for (uint32_t f = 0; f < head_dim; ++f) {
        uint32_t hd = head_dim / 2, ff = f % hd;
        float ang = (L - 1) * powf(10000.f, -float(2 * ff) / head_dim);
        float o = f < hd ? -__half2float(k0[f + hd]) : __half2float(k0[f - hd]);
        newk[f] = __half2float(k0[f]) * cosf(ang) + o * sinf(ang);
      }
      float mx = -1e30f, sum = 0;
      auto off = [&](int t) { return (((size_t)indices[indptr[b] + t / page_size] * page_size + t % page_size) * num_kv + kh) * head_dim; };
      for (int t = 0; t < L; ++t) {
        float a = 0;
        for (uint32_t f = 0; f < head_dim; ++f)
          a += __half2float(hq[((size_t)b * num_qo + h) * head_dim + f]) * (t == L - 1 ? newk[f] : __half2float(hk[off(t) + f]));
        p[t] = a * scale;
        mx = fmaxf(mx, p[t]);
      }
      for (int t = 0; t < L; ++t) { p[t] = expf(p[t] - mx); sum += p[t]; }
      for (int t = 0; t < L; ++t)
        for (uint32_t f = 0; f < head_dim; ++f)
          ref[f] += p[t] / sum * __half2float(t == L - 1 ? nv[((size_t)b * num_kv + kh) * head_dim + f] : hv[off(t) + f]);
      for (uint32_t f = 0; f < head_dim; ++f)
        worst = fmax(worst, fabs(ref[f] - __half2float(got[((size_t)b * num_qo + h) * head_dim + f])));
    }
  printf("decode head_dim=%u group=%u batch=%u: max err %.5f\n", head_dim, group_size, batch, worst);
  return worst < 2e-2;
}
int main() {
  bool ok = true;
  ok &= run_decode(128, 4, 2, {1, 17, 333, 128, 640, 95, 512}, 16, 128);
  ok &= run_decode(64, 1, 6, {255, 64, 7, 481}, 8, 192);
  {  // norm + activation + sampling
    const uint32_t tokens = 37, d = 1544, inter = 1376, vocab = 5003;
    auto x = hrand(tokens * d), r = hrand(tokens * d), w = hrand(d), gu = hrand(tokens * 2 * inter, 3.f), lg = hrand(tokens * vocab, 8.f);
    half *dx = to_dev(x), *dr = to_dev(r), *dw = to_dev(w), *dg = to_dev(gu), *dl = to_dev(lg), *da;
    int* ds;
    FI_CUDA_CALL(cudaMalloc(&da, tokens * inter * 2));
    FI_CUDA_CALL(cudaMalloc(&ds, tokens * 4));
    fi::FusedAddRMSNormKernel<8><<<tokens, 128, (d + 32) * 4>>>(dx, dr, dw, d, 1e-5f);
    fi::act_and_mul_kernel<half><<<tokens, 1024>>>(da, dg, inter);
    fi::GreedySampleKernel<256><<<tokens, 256>>>(dl, ds, vocab);
    FI_CUDA_CALL(cudaDeviceSynchronize());
    auto gx = to_host(dx, tokens * d);
    auto ga = to_host(da, tokens * inter);
    auto gs = to_host(ds, tokens);
    double e1 = 0, e2 = 0;
    int bad = 0;
    for (uint32_t t = 0; t < tokens; ++t) {
      double ss = 0;
      for (uint32_t i = 0; i < d; ++i) { double v = __half2float(x[t * d + i]) + __half2float(r[t * d + i]); ss += v * v; }
      double rc = 1.0 / sqrt(ss / d + 1e-5);
      for (uint32_t i = 0; i < d; ++i) {
        double v = (__half2float(x[t * d + i]) + __half2float(r[t * d + i])) * rc * __half2float(w[i]);
        e1 = fmax(e1, fabs(v - __half2float(gx[t * d + i])));
      }
      for (uint32_t i = 0; i < inter; ++i) {
        double a = __half2float(gu[t * 2 * inter + i]), b = __half2float(gu[t * 2 * inter + inter + i]);
        e2 = fmax(e2, fabs(a / (1 + exp(-a)) * b - __half2float(ga[t * inter + i])));
      }
      float best = -1e30f;
      int bi = -1;
      for (uint32_t i = 0; i < vocab; ++i)
        if (__half2float(lg[t * vocab + i]) > best) { best = __half2float(lg[t * vocab + i]); bi = i; }
      bad += gs[t] != bi;
    }
    printf("rmsnorm err %.5f  silu err %.5f  argmax mismatches %d\n", e1, e2, bad);
    ok &= e1 < 2e-2 && e2 < 3e-2 && bad == 0;
  }
  printf(ok ? "PASS\n" : "FAIL\n");
  return ok ? 0 : 1;
}
