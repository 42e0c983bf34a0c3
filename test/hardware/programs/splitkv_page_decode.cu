// Batched decode attention over a paged fp16 KV cache.
// Pages of a request are a CSR row (page_indptr / page_indices / last_page_len), data is [page][k|v][slot][kv head][dim].
// Long requests are cut in chunks; each chunk leaves an unnormalised state (o, m, d), a second kernel merges states.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#define GPU(call)                                                                      \
  if (cudaError_t e_ = (call); e_ != cudaSuccess) {                                    \
    std::printf("%s failed (%s:%d): %s\nFAIL\n", #call, __FILE__, __LINE__, cudaGetErrorString(e_)); \
    std::exit(1);                                                                      \
  }

static constexpr int HEAD_DIM = 64;
static constexpr int PAGE = 16;
static constexpr int GROUP = 4;        // query heads per kv head
static constexpr int VEC = 8;          // halves per 16-byte access
static constexpr int BDX = HEAD_DIM / VEC;
static constexpr int BDZ = 4;          // kv positions worked on side by side
static constexpr int TILE = 16;        // kv positions per pipeline stage

struct paged_kv_t {
  __half* data;
  const int* page_indptr;
  const int* page_indices;
  const int* last_page_len;
  int kv_heads;

  __host__ __device__ size_t stride_slot() const { return (size_t)kv_heads * HEAD_DIM; }
  __host__ __device__ size_t stride_kv() const { return PAGE * stride_slot(); }
  __host__ __device__ size_t offset(int page, int kv, int slot, int head) const {
    return (size_t)page * 2 * stride_kv() + kv * stride_kv() + slot * stride_slot() + (size_t)head * HEAD_DIM;
  }
  __host__ __device__ int length(int req) const {
    const int pages = page_indptr[req + 1] - page_indptr[req];
    return pages == 0 ? 0 : (pages - 1) * PAGE + last_page_len[req];
  }
};

struct chunk_t {
  int request, begin, end;
};

// writes the newest K and V of every request in its last slot
__global__ void append_kernel(paged_kv_t kv, const __half* __restrict__ k_new, const __half* __restrict__ v_new) {
  const int req = blockIdx.x, head = threadIdx.y;
  const int pos = kv.length(req) - 1;
  const int page = kv.page_indices[kv.page_indptr[req] + pos / PAGE];
  const size_t src = ((size_t)req * kv.kv_heads + head) * HEAD_DIM + threadIdx.x * VEC;
  *reinterpret_cast<int4*>(kv.data + kv.offset(page, 0, pos % PAGE, head) + threadIdx.x * VEC) =
      *reinterpret_cast<const int4*>(k_new + src);
  *reinterpret_cast<int4*>(kv.data + kv.offset(page, 1, pos % PAGE, head) + threadIdx.x * VEC) =
      *reinterpret_cast<const int4*>(v_new + src);
}

__device__ __forceinline__ void load8(float (&r)[VEC], const __half* p) {
  const uint4 raw = *reinterpret_cast<const uint4*>(p);
  const __half2* h = reinterpret_cast<const __half2*>(&raw);
#pragma unroll
  for (int i = 0; i < VEC / 2; ++i) {
    const float2 f = __half22float2(h[i]);
    r[2 * i] = f.x;
    r[2 * i + 1] = f.y;
  }
}

// grid (chunks, kv heads), block (BDX, GROUP, BDZ) = 128 threads
__global__ void __launch_bounds__(BDX* GROUP* BDZ)
    decode_chunk_kernel(paged_kv_t kv, const __half* __restrict__ q, const chunk_t* __restrict__ chunks,
                        float* __restrict__ part_o, float2* __restrict__ part_md, float sm_scale) {
  __shared__ __align__(16) __half smem_k[2][TILE][HEAD_DIM];
  __shared__ __align__(16) __half smem_v[2][TILE][HEAD_DIM];
  __shared__ float merge_o[BDZ][GROUP][HEAD_DIM];
  __shared__ float2 merge_md[BDZ][GROUP];

  const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
  const int lin = (tz * GROUP + ty) * BDX + tx;
  const int head = blockIdx.y;
  const chunk_t c = chunks[blockIdx.x];
  const int* pages = kv.page_indices + kv.page_indptr[c.request];

  auto prefetch = [&](int stage, int tile_begin) {
    const int row = lin / BDX, col = (lin % BDX) * VEC;  // 16 rows of 8 lanes
    const int pos = tile_begin + row;
    const bool in = pos < c.end;
    const int safe = in ? pos : c.begin;
    const int page = pages[safe / PAGE];
    const size_t zfill = in ? 0 : 16;
    __pipeline_memcpy_async(&smem_k[stage][row][col], kv.data + kv.offset(page, 0, safe % PAGE, head) + col, 16, zfill);
    __pipeline_memcpy_async(&smem_v[stage][row][col], kv.data + kv.offset(page, 1, safe % PAGE, head) + col, 16, zfill);
    __pipeline_commit();
  };

  float qv[VEC], o[VEC] = {};
  load8(qv, q + ((size_t)c.request * kv.kv_heads * GROUP + head * GROUP + ty) * HEAD_DIM + tx * VEC);
  float m = -1e30f, d = 0.f;
  const int tiles = (c.end - c.begin + TILE - 1) / TILE;
  prefetch(0, c.begin);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      prefetch((t + 1) & 1, c.begin + (t + 1) * TILE);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE / BDZ; ++j) {
      const int row = j * BDZ + tz;
      float kvec[VEC], s = 0.f;
      load8(kvec, &smem_k[t & 1][row][tx * VEC]);
#pragma unroll
      for (int i = 0; i < VEC; ++i) s += qv[i] * kvec[i];
#pragma unroll
      for (int off = BDX / 2; off > 0; off >>= 1) s += __shfl_xor_sync(0xffffffffu, s, off);
      s = c.begin + t * TILE + row < c.end ? s * sm_scale : -1e30f;
      const float m_new = fmaxf(m, s);
      const float corr = __expf(m - m_new);
      const float p = s > -1e29f ? __expf(s - m_new) : 0.f;
      load8(kvec, &smem_v[t & 1][row][tx * VEC]);
#pragma unroll
      for (int i = 0; i < VEC; ++i) o[i] = o[i] * corr + p * kvec[i];
      d = d * corr + p;
      m = m_new;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < VEC; ++i) merge_o[tz][ty][tx * VEC + i] = o[i];
  if (tx == 0) merge_md[tz][ty] = make_float2(m, d);
  __syncthreads();
  if (tz == 0) {
    for (int z = 1; z < BDZ; ++z) {
      const float2 md = merge_md[z][ty];
      const float m_new = fmaxf(m, md.x);
      const float a = __expf(m - m_new), b = __expf(md.x - m_new);
#pragma unroll
      for (int i = 0; i < VEC; ++i) o[i] = o[i] * a + merge_o[z][ty][tx * VEC + i] * b;
      d = d * a + md.y * b;
      m = m_new;
    }
    const size_t row = ((size_t)blockIdx.x * kv.kv_heads + head) * GROUP + ty;
    float4* dst = reinterpret_cast<float4*>(part_o + row * HEAD_DIM + tx * VEC);
    dst[0] = make_float4(o[0], o[1], o[2], o[3]);
    dst[1] = make_float4(o[4], o[5], o[6], o[7]);
    if (tx == 0) part_md[row] = make_float2(m, d);
  }
}

// grid (requests, query heads), one thread per dimension
__global__ void merge_states_kernel(const float* __restrict__ part_o, const float2* __restrict__ part_md,
                                    const int* __restrict__ chunk_indptr, __half* __restrict__ out, int q_heads) {
  const int req = blockIdx.x, head = blockIdx.y;
  float m = -1e30f, d = 0.f, o = 0.f;
  for (int c = chunk_indptr[req]; c < chunk_indptr[req + 1]; ++c) {
    const size_t row = (size_t)c * q_heads + head;
    const float2 md = part_md[row];
    const float m_new = fmaxf(m, md.x);
    const float a = __expf(m - m_new), b = __expf(md.x - m_new);
    o = o * a + part_o[row * HEAD_DIM + threadIdx.x] * b;
    d = d * a + md.y * b;
    m = m_new;
  }
  out[((size_t)req * q_heads + head) * HEAD_DIM + threadIdx.x] = __float2half(o / d);
}

template <class T>
static T* dup(const std::vector<T>& v) {
  T* p;
  GPU(cudaMalloc(&p, v.size() * sizeof(T)));
  GPU(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

int main(int argc, char** argv) {
  int requests = 13, chunk_size = 128;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--requests")) requests = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--chunk")) chunk_size = std::atoi(argv[i + 1]);
  }
  const int kv_heads = 4, q_heads = kv_heads * GROUP;
  std::mt19937 rng(99);
  std::vector<int> len(requests), indptr(1, 0), last(requests), cindptr(1, 0);
  std::vector<chunk_t> chunks;
  for (int r = 0; r < requests; ++r) {
    len[r] = 1 + rng() % (r % 3 == 0 ? 900 : 200);
    indptr.push_back(indptr.back() + (len[r] + PAGE - 1) / PAGE);
    last[r] = (len[r] - 1) % PAGE + 1;
    for (int b = 0; b < len[r]; b += chunk_size) chunks.push_back({r, b, std::min(len[r], b + chunk_size)});
    cindptr.push_back((int)chunks.size());
  }
  const int pool = indptr.back() + 37;
  std::vector<int> ids(pool);
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), rng);
  ids.resize(indptr.back());

  std::uniform_real_distribution<float> u(-1.f, 1.f);
  auto fill = [&](size_t n) {
    std::vector<__half> v(n);
    for (auto& h : v) h = __float2half(u(rng));
    return v;
  };
  auto cache = fill((size_t)pool * 2 * PAGE * kv_heads * HEAD_DIM);
  auto q = fill((size_t)requests * q_heads * HEAD_DIM);
  auto kn = fill((size_t)requests * kv_heads * HEAD_DIM), vn = fill((size_t)requests * kv_heads * HEAD_DIM);

  paged_kv_t kv{dup(cache), dup(indptr), dup(ids), dup(last), kv_heads};
  __half *dq = dup(q), *dkn = dup(kn), *dvn = dup(vn), *dout;
  chunk_t* dchunks = dup(chunks);
  int* dcindptr = dup(cindptr);
  float* dpo;
  float2* dmd;
  GPU(cudaMalloc(&dpo, chunks.size() * q_heads * HEAD_DIM * sizeof(float)));
  GPU(cudaMalloc(&dmd, chunks.size() * q_heads * sizeof(float2)));
  GPU(cudaMalloc(&dout, q.size() * sizeof(__half)));

  const float scale = 1.f / std::sqrt((float)HEAD_DIM);
  append_kernel<<<requests, dim3(BDX, kv_heads)>>>(kv, dkn, dvn);
  decode_chunk_kernel<<<dim3(chunks.size(), kv_heads), dim3(BDX, GROUP, BDZ)>>>(kv, dq, dchunks, dpo, dmd, scale);
  merge_states_kernel<<<dim3(requests, q_heads), HEAD_DIM>>>(dpo, dmd, dcindptr, dout, q_heads);
  GPU(cudaGetLastError());
  std::vector<__half> out(q.size());
  GPU(cudaMemcpy(out.data(), dout, out.size() * sizeof(__half), cudaMemcpyDeviceToHost));

  double worst = 0;
  paged_kv_t host{cache.data(), indptr.data(), ids.data(), last.data(), kv_heads};
  for (int r = 0; r < requests; ++r)
    for (int h = 0; h < q_heads; ++h) {
      const int kh = h / GROUP;
      std::vector<double> s(len[r]);
      auto at = [&](int which, int pos, int i) {
        if (pos == len[r] - 1) return (double)__half2float((which ? vn : kn)[((size_t)r * kv_heads + kh) * HEAD_DIM + i]);
        return (double)__half2float(cache[host.offset(ids[indptr[r] + pos / PAGE], which, pos % PAGE, kh) + i]);
      };
      double mx = -1e300, den = 0;
      for (int p = 0; p < len[r]; ++p) {
        for (int i = 0; i < HEAD_DIM; ++i) s[p] += at(0, p, i) * __half2float(q[((size_t)r * q_heads + h) * HEAD_DIM + i]);
        mx = std::max(mx, s[p] *= scale);
      }
      for (double& x : s) den += x = std::exp(x - mx);
      for (int i = 0; i < HEAD_DIM; ++i) {
        double o = 0;
        for (int p = 0; p < len[r]; ++p) o += s[p] * at(1, p, i);
        worst = std::max(worst, std::abs(o / den - __half2float(out[((size_t)r * q_heads + h) * HEAD_DIM + i])));
      }
    }
  std::printf("%d requests, %zu chunks, %d pages, max |err| %.3g\n", requests, chunks.size(), indptr.back(), worst);
  for (void* p : {(void*)kv.data, (void*)dq, (void*)dkn, (void*)dvn, (void*)dout, (void*)dchunks, (void*)dcindptr,
                  (void*)dpo, (void*)dmd, (void*)kv.page_indptr, (void*)kv.page_indices, (void*)kv.last_page_len})
    cudaFree(p);
  std::puts(worst < 2e-3 ? "PASS" : "FAIL");
  return worst < 2e-3 ? 0 : 1;
}
