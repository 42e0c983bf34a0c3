/*
 * Approximate nearest neighbours: balanced k-means step, IVF-Flat with interleaved lists,
 * IVF-PQ lookup tables, and a greedy graph search with a shared-memory visited hash table.
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#define RAFT_CUDA_TRY(call)                                                                    \
  do {                                                                                         \
    cudaError_t const status = call;                                                           \
    if (status != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s at %s:%d: %s\n", #call, __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(EXIT_FAILURE);                                                                 \
    }                                                                                          \
  } while (0)

namespace ann {

constexpr int kWarpSize = 32;
constexpr int kIndexGroupSize = 32;
template <typename T> __host__ __device__ constexpr T ceildiv(T a, T b) { return (a + b - 1) / b; }

// ------------------------------------------------------------------ warp-level priority queue
template <typename V, typename I> __device__ inline bool is_ordered(V va, I ia, V vb, I ib) { return va < vb || (va == vb && ia < ib); }

// one (value, index) per lane, ascending after each bitonic merge
struct warp_sort32 {
  float val; uint32_t idx;
  __device__ warp_sort32() : val(INFINITY), idx(0xffffffffu) {}
  __device__ static void sort(float& v, uint32_t& i) {
    const int lane = threadIdx.x % kWarpSize;
#pragma unroll
    for (int k = 2; k <= 32; k <<= 1)
#pragma unroll
      for (int j = k >> 1; j > 0; j >>= 1) cmp_swap(v, i, j, (lane & k) == 0 || k == 32);
  }
  __device__ static void cmp_swap(float& v, uint32_t& i, int j, bool asc) {
    const int lane = threadIdx.x % kWarpSize;
    float ov = __shfl_xor_sync(0xffffffffu, v, j);
    uint32_t oi = __shfl_xor_sync(0xffffffffu, i, j);
    bool lower = (lane & j) == 0;
    bool take = is_ordered(ov, oi, v, i) == (lower == asc);
    if (ov == v && oi == i) take = false;
    if (take) { v = ov; i = oi; }
  }
  __device__ void add(float v, uint32_t i) {
    float worst = __shfl_sync(0xffffffffu, val, 31);
    if (!__any_sync(0xffffffffu, v < worst)) return;
    sort(v, i);
    // merge: keep the smaller half of (ours ascending) against (new descending)
    const int lane = threadIdx.x % kWarpSize;
    float rv = __shfl_sync(0xffffffffu, v, 31 - lane);
    uint32_t ri = __shfl_sync(0xffffffffu, i, 31 - lane);
    if (is_ordered(rv, ri, val, idx)) { val = rv; idx = ri; }
#pragma unroll
    for (int j = 16; j > 0; j >>= 1) cmp_swap(val, idx, j, true);
  }
};

// ------------------------------------------------------------------ k-means pieces
template <int TPB> __global__ void row_norms_kernel(float* __restrict__ out, const float* __restrict__ x, int n, int dim) {
  int row = (blockIdx.x * TPB + threadIdx.x) / kWarpSize, lane = threadIdx.x % kWarpSize;
  if (row >= n) return;
  float s = 0;
  for (int d = lane; d < dim; d += kWarpSize) { float v = x[(size_t)row * dim + d]; s += v * v; }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (lane == 0) out[row] = s;
}

// fused L2 + argmin, 32x32 tile of (points x centers), K tiled by 16
__global__ void fused_l2_nn_kernel(uint32_t* __restrict__ labels, float* __restrict__ mind, const float* __restrict__ x, const float* __restrict__ c, const float* __restrict__ xn, const float* __restrict__ cn, int n, int k, int dim) {
  constexpr int T = 32, KB = 16;
  __shared__ float sx[T][KB + 1], sc[T][KB + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;  // 32 x 8
  const int p0 = blockIdx.x * T;
  float best[4]; uint32_t bidx[4];
  for (int r = 0; r < 4; r++) { best[r] = INFINITY; bidx[r] = 0; }
  for (int c0 = 0; c0 < k; c0 += T) {
    float acc[4] = {0, 0, 0, 0};
    for (int d0 = 0; d0 < dim; d0 += KB) {
      for (int e = ty * 32 + tx; e < T * KB; e += 256) {
        int r = e / KB, d = e % KB;
        sx[r][d] = (p0 + r < n && d0 + d < dim) ? x[(size_t)(p0 + r) * dim + d0 + d] : 0.f;
        sc[r][d] = (c0 + r < k && d0 + d < dim) ? c[(size_t)(c0 + r) * dim + d0 + d] : 0.f;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < KB; d++) {
        float cv = sc[tx][d];
#pragma unroll
        for (int r = 0; r < 4; r++) acc[r] += sx[ty + r * 8][d] * cv;
      }
      __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
      int p = p0 + ty + r * 8, cc = c0 + tx;
      float v = (p < n && cc < k) ? xn[p] + cn[cc] - 2.f * acc[r] : INFINITY;
      uint32_t i = cc;
      for (int o = 16; o; o >>= 1) {
        float ov = __shfl_xor_sync(0xffffffffu, v, o);
        uint32_t oi = __shfl_xor_sync(0xffffffffu, i, o);
        if (is_ordered(ov, oi, v, i)) { v = ov; i = oi; }
      }
      if (v < best[r]) { best[r] = v; bidx[r] = i; }
    }
  }
  if (tx == 0)
    for (int r = 0; r < 4; r++) { int p = p0 + ty + r * 8; if (p < n) { labels[p] = bidx[r]; mind[p] = best[r]; } }
}

__global__ void accumulate_centers_kernel(float* __restrict__ sums, uint32_t* __restrict__ sizes, const float* __restrict__ x, const uint32_t* __restrict__ labels, int n, int dim) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= (size_t)n * dim) return;
  int row = i / dim, d = i % dim;
  uint32_t l = labels[row];
  atomicAdd(&sums[(size_t)l * dim + d], x[i]);
  if (d == 0) atomicAdd(&sizes[l], 1u);
}

// ------------------------------------------------------------------ IVF-flat, lists interleaved by 32 rows x VECLEN
template <int VECLEN>
__global__ void build_index_kernel(const uint32_t* __restrict__ labels, const float* __restrict__ src, float* __restrict__ data, uint32_t* __restrict__ ids, const uint32_t* __restrict__ list_offsets, uint32_t* __restrict__ cursor, int n, int dim) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto list = labels[i];
  auto in_list = atomicAdd(&cursor[list], 1u);
  ids[list_offsets[list] + in_list] = i;
  const size_t group = (list_offsets[list] + in_list) / kIndexGroupSize * kIndexGroupSize, lane = in_list % kIndexGroupSize * VECLEN;
  float* dst = data + group * dim;
  const float* s = src + (size_t)i * dim;
  for (int l = 0; l < dim; l += VECLEN)
    for (int j = 0; j < VECLEN; j++) dst[l * kIndexGroupSize + lane + j] = s[l + j];
}

template <int VECLEN>
__global__ void interleaved_scan_kernel(const float* __restrict__ queries, const float* __restrict__ data, const uint32_t* __restrict__ ids, const uint32_t* __restrict__ list_offsets, const uint32_t* __restrict__ list_sizes, const uint32_t* __restrict__ probes, int n_probes, int dim, float* __restrict__ out_d, uint32_t* __restrict__ out_i) {
  extern __shared__ __align__(16) float query_shared[];
  __shared__ float md[8][32]; __shared__ uint32_t mi[8][32];
  const int q = blockIdx.x, warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize, n_warps = blockDim.x / kWarpSize;
  for (int d = threadIdx.x; d < dim; d += blockDim.x) query_shared[d] = queries[(size_t)q * dim + d];
  __syncthreads();
  warp_sort32 queue;
  for (int p = 0; p < n_probes; p++) {
    const uint32_t list = probes[q * n_probes + p], len = list_sizes[list], off = list_offsets[list];
    for (uint32_t g = warp; g < ceildiv<uint32_t>(len, kIndexGroupSize); g += n_warps) {
      const float* base = data + ((size_t)off + g * kIndexGroupSize) * dim;
      float dist = 0;
#pragma unroll 2
      for (int l = 0; l < dim; l += VECLEN) {
        float v[VECLEN];
        if constexpr (VECLEN == 4) {
          float4 t = *reinterpret_cast<const float4*>(base + l * kIndexGroupSize + lane * VECLEN);
          v[0] = t.x; v[1] = t.y; v[2] = t.z; v[3] = t.w;
        } else {
          for (int j = 0; j < VECLEN; j++) v[j] = base[l * kIndexGroupSize + lane * VECLEN + j];
        }
#pragma unroll
        for (int j = 0; j < VECLEN; j++) { float t = query_shared[l + j] - v[j]; dist += t * t; }
      }
      const bool valid = g * kIndexGroupSize + lane < len;
      queue.add(valid ? dist : INFINITY, valid ? ids[off + g * kIndexGroupSize + lane] : 0xffffffffu);
    }
  }
  md[warp][lane] = queue.val; mi[warp][lane] = queue.idx;
  __syncthreads();
  if (warp == 0) {
    for (int w = 1; w < n_warps; w++) queue.add(md[w][lane], mi[w][lane]);
    out_d[q * 32 + lane] = queue.val; out_i[q * 32 + lane] = queue.idx;
  }
}

__global__ void select_probes_kernel(const float* __restrict__ queries, const float* __restrict__ centers, int k, int dim, int n_probes, uint32_t* __restrict__ probes) {
  const int q = blockIdx.x * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  warp_sort32 queue;
  for (int c0 = 0; c0 < k; c0 += 32) {
    float d = INFINITY;
    if (c0 + lane < k) { d = 0; for (int j = 0; j < dim; j++) { float t = queries[(size_t)q * dim + j] - centers[(size_t)(c0 + lane) * dim + j]; d += t * t; } }
    queue.add(d, c0 + lane);
  }
  if (lane < n_probes) probes[q * n_probes + lane] = queue.idx;
}

// ------------------------------------------------------------------ PQ: 8-bit codes, LUT in shared memory
template <typename LutT>
__global__ void pq_lut_scan_kernel(const float* __restrict__ queries, const float* __restrict__ books, const uint8_t* __restrict__ codes, int n, int dim, int pq_dim, float* __restrict__ dist) {
  extern __shared__ __align__(16) uint8_t smem[];
  LutT* lut = reinterpret_cast<LutT*>(smem);
  const int q = blockIdx.y, pq_len = dim / pq_dim;
  for (int i = threadIdx.x; i < pq_dim * 256; i += blockDim.x) {
    const int s = i / 256, code = i % 256;
    float acc = 0;
    for (int j = 0; j < pq_len; j++) { float t = queries[(size_t)q * dim + s * pq_len + j] - books[((size_t)s * pq_len + j) * 256 + code]; acc += t * t; }
    lut[i] = acc;
  }
  __syncthreads();
  for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < n; r += gridDim.x * blockDim.x) {
    float acc = 0;
    for (int s = 0; s < pq_dim; s++) acc += lut[s * 256 + codes[(size_t)r * pq_dim + s]];
    dist[(size_t)q * n + r] = acc;
  }
}

// ------------------------------------------------------------------ graph search, one warp per query
template <int ITOPK, int DEGREE, int HASH_BITS>
__global__ void graph_search_kernel(const float* __restrict__ queries, const float* __restrict__ dataset, const uint32_t* __restrict__ graph, int n, int dim, int max_iter, float* __restrict__ out_d, uint32_t* __restrict__ out_i) {
  __shared__ uint32_t visited[1 << HASH_BITS];
  extern __shared__ float sq[];
  const int q = blockIdx.x, lane = threadIdx.x;
  for (int i = lane; i < (1 << HASH_BITS); i += 32) visited[i] = 0xffffffffu;
  for (int i = lane; i < dim; i += 32) sq[i] = queries[(size_t)q * dim + i];
  __syncwarp();
  auto insert = [&](uint32_t key) {
    uint32_t b = (key * 2654435761u) >> (32 - HASH_BITS);
    for (int t = 0; t < (1 << HASH_BITS); t++) {
      uint32_t old = atomicCAS(&visited[b], 0xffffffffu, key);
      if (old == 0xffffffffu) return true;
      if (old == key) return false;
      b = (b + 1) & ((1 << HASH_BITS) - 1);
    }
    return false;
  };
  auto team_distance = [&](uint32_t id) {       // 8 lanes a vector would be usual; here the whole warp
    float s = 0;
    for (int d = lane; d < dim; d += 32) { float t = sq[d] - dataset[(size_t)id * dim + d]; s += t * t; }
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    return s;
  };
  warp_sort32 queue;
  uint32_t parent_flag = 0;    // bit l: lane l's node was expanded; kept per index through the msb
  auto expand = [&](uint32_t cand) {
    bool fresh = cand < (uint32_t)n && insert(cand);
    float d = INFINITY;
    for (int l = 0; l < 32; l++) {
      uint32_t id = __shfl_sync(0xffffffffu, cand, l);
      bool f = __shfl_sync(0xffffffffu, (int)fresh, l);
      if (!f) continue;
      float t = team_distance(id);
      if (lane == l) d = t;
    }
    queue.add(d, fresh ? cand : 0x7fffffffu);
  };
  expand((uint32_t)(lane * 7919 + q * 104729) % n);
  for (int it = 0; it < max_iter; it++) {
    unsigned open = __ballot_sync(0xffffffffu, !(queue.idx & 0x80000000u) && queue.val < INFINITY && lane < ITOPK);
    if (!open) break;
    int p = __ffs(open) - 1;
    uint32_t parent = __shfl_sync(0xffffffffu, queue.idx, p);
    if (lane == p) queue.idx |= 0x80000000u;
    parent_flag++;
    uint32_t c = lane < DEGREE ? graph[(size_t)parent * DEGREE + lane] : 0xffffffffu;
    expand(c);
  }
  out_d[q * 32 + lane] = queue.val;
  out_i[q * 32 + lane] = queue.idx & 0x7fffffffu;
}
}  // namespace ann
using namespace ann;

template <typename T> struct device_uvector {
  T* p; size_t n;
  explicit device_uvector(size_t n) : n(n) { RAFT_CUDA_TRY(cudaMalloc(&p, n * sizeof(T))); RAFT_CUDA_TRY(cudaMemset(p, 0, n * sizeof(T))); }
  explicit device_uvector(const std::vector<T>& h) : device_uvector(h.size()) { RAFT_CUDA_TRY(cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  ~device_uvector() { cudaFree(p); }
  device_uvector(const device_uvector&) = delete;
  T* data() { return p; }
  std::vector<T> host() const { std::vector<T> h(n); RAFT_CUDA_TRY(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
};
static uint32_t seed = 99;
static float rnd() { seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return (seed >> 8) / 16777216.f; }
static float l2(const float* a, const float* b, int d) { float s = 0; for (int i = 0; i < d; i++) s += (a[i] - b[i]) * (a[i] - b[i]); return s; }

int main() {
  const int n = 4000, dim = 40, k = 50, nq = 64, n_probes = 8;
  bool ok = true;
  std::vector<float> blobs(k * dim), x(n * dim), q(nq * dim), cent(k * dim);
  for (auto& v : blobs) v = rnd() * 4;
  for (int i = 0; i < n; i++) { int b = (int)(rnd() * rnd() * k); for (int d = 0; d < dim; d++) x[i * dim + d] = blobs[b * dim + d] + rnd() * 1.5f; }
  for (int i = 0; i < nq; i++) for (int d = 0; d < dim; d++) q[i * dim + d] = x[(i * 61 % n) * dim + d] + rnd() * 0.3f;
  for (int i = 0; i < k; i++) for (int d = 0; d < dim; d++) cent[i * dim + d] = x[(i * 79 % n) * dim + d];
  device_uvector<float> d_x(x), d_q(q), d_c(cent), d_xn(n), d_cn(k), d_md(n), d_sums(k * dim);
  device_uvector<uint32_t> d_l(n), d_sz(k);

  row_norms_kernel<128><<<ceildiv(n, 4), 128>>>(d_xn.data(), d_x.data(), n, dim);
  for (int it = 0; it < 2; it++) {
    row_norms_kernel<128><<<ceildiv(k, 4), 128>>>(d_cn.data(), d_c.data(), k, dim);
    fused_l2_nn_kernel<<<ceildiv(n, 32), dim3(32, 8)>>>(d_l.data(), d_md.data(), d_x.data(), d_c.data(), d_xn.data(), d_cn.data(), n, k, dim);
    if (it == 0) {
      accumulate_centers_kernel<<<ceildiv(n * dim, 256), 256>>>(d_sums.data(), d_sz.data(), d_x.data(), d_l.data(), n, dim);
      auto s = d_sums.host(); auto z = d_sz.host();
      auto lab = d_l.host();
      std::vector<float> rs(k * dim, 0.f);
      for (int i = 0; i < n; i++) for (int d = 0; d < dim; d++) rs[lab[i] * dim + d] += x[i * dim + d];
      double e = 0;
      for (int i = 0; i < k * dim; i++) { e = std::max(e, (double)std::fabs(rs[i] - s[i]) / (1 + std::fabs(rs[i]))); if (z[i / dim]) cent[i] = s[i] / z[i / dim]; }
      printf("center sums rel err %.2e\n", e); ok &= e < 1e-4 && std::accumulate(z.begin(), z.end(), 0u) == (uint32_t)n;
      RAFT_CUDA_TRY(cudaMemcpy(d_c.data(), cent.data(), cent.size() * 4, cudaMemcpyHostToDevice));
    }
  }
  RAFT_CUDA_TRY(cudaGetLastError());
  auto lab = d_l.host();
  int wrong = 0;
  for (int i = 0; i < n; i++) { float best = 1e30f; for (int c = 0; c < k; c++) best = std::min(best, l2(&x[i * dim], &cent[c * dim], dim)); wrong += lab[i] >= (uint32_t)k || l2(&x[i * dim], &cent[lab[i] * dim], dim) > best * 1.001f + 1e-3f; }
  printf("assignments off: %d\n", wrong); ok &= wrong == 0;

  std::vector<uint32_t> sizes(k, 0), offs(k + 1, 0);
  for (auto l : lab) sizes[l]++;
  for (int i = 0; i < k; i++) offs[i + 1] = offs[i] + ceildiv<uint32_t>(sizes[i], 32) * 32;
  device_uvector<uint32_t> d_off(offs), d_size(sizes), d_pr(nq * n_probes), d_oi(nq * 32), d_ids(offs[k]);
  device_uvector<float> d_data((size_t)offs[k] * dim), d_od(nq * 32);
  select_probes_kernel<<<nq / 4, 128>>>(d_q.data(), d_c.data(), k, dim, n_probes, d_pr.data());
  auto pr = d_pr.host();
  auto scan_check = [&](const char* name) {
    RAFT_CUDA_TRY(cudaGetLastError());
    auto od = d_od.host(); auto oi = d_oi.host();
    int bad = 0;
    for (int i = 0; i < nq; i++) {
      std::vector<float> ref;
      for (int j = 0; j < n; j++) for (int p = 0; p < n_probes; p++) if (pr[i * n_probes + p] == lab[j]) ref.push_back(l2(&q[i * dim], &x[j * dim], dim));
      std::sort(ref.begin(), ref.end());
      for (size_t r = 0; r < 32 && r < ref.size(); r++) bad += std::fabs(ref[r] - od[i * 32 + r]) > 1e-3f * (1 + ref[r]) || oi[i * 32 + r] >= (uint32_t)n || std::fabs(l2(&q[i * dim], &x[oi[i * 32 + r] * dim], dim) - od[i * 32 + r]) > 1e-3f * (1 + ref[r]);
    }
    printf("%s: %d bad neighbours\n", name, bad); ok &= bad == 0;
  };
  for (int v = 0; v < 2; v++) {
    device_uvector<uint32_t> cur(k);
    if (v) {
      build_index_kernel<4><<<ceildiv(n, 128), 128>>>(d_l.data(), d_x.data(), d_data.data(), d_ids.data(), d_off.data(), cur.data(), n, dim);
      interleaved_scan_kernel<4><<<nq, 128, dim * 4>>>(d_q.data(), d_data.data(), d_ids.data(), d_off.data(), d_size.data(), d_pr.data(), n_probes, dim, d_od.data(), d_oi.data());
      scan_check("ivf-flat veclen 4");
    } else {
      build_index_kernel<1><<<ceildiv(n, 128), 128>>>(d_l.data(), d_x.data(), d_data.data(), d_ids.data(), d_off.data(), cur.data(), n, dim);
      interleaved_scan_kernel<1><<<nq, 64, dim * 4>>>(d_q.data(), d_data.data(), d_ids.data(), d_off.data(), d_size.data(), d_pr.data(), n_probes, dim, d_od.data(), d_oi.data());
      scan_check("ivf-flat veclen 1");
    }
  }
  {
    const int pq_dim = 10, pl = dim / pq_dim, nq2 = 16;
    std::vector<float> books(dim * 256); std::vector<uint8_t> codes(n * pq_dim);
    for (auto& b : books) b = rnd() * 5;
    for (int i = 0; i < n; i++) for (int s = 0; s < pq_dim; s++) codes[i * pq_dim + s] = (i * 37 + s * 101 + (i >> 5)) & 255;
    device_uvector<float> d_b(books), d_d((size_t)nq2 * n); device_uvector<uint8_t> d_co(codes);
    pq_lut_scan_kernel<float><<<dim3(4, nq2), 256, pq_dim * 256 * 4>>>(d_q.data(), d_b.data(), d_co.data(), n, dim, pq_dim, d_d.data());
    RAFT_CUDA_TRY(cudaGetLastError());
    auto dd = d_d.host(); double e = 0;
    for (int i = 0; i < nq2; i++) for (int r = 0; r < n; r += 3) { float a = 0; for (int s = 0; s < pq_dim; s++) for (int j = 0; j < pl; j++) { float t = q[i * dim + s * pl + j] - books[(s * pl + j) * 256 + codes[r * pq_dim + s]]; a += t * t; } e = std::max(e, (double)std::fabs(a - dd[(size_t)i * n + r]) / (1 + a)); }
    printf("pq err %.2e\n", e); ok &= e < 1e-4;
  }
  {  // graph: 12 ring/long-range links + 12 neighbours of the own list
    constexpr int DEG = 24;
    std::vector<uint32_t> g(n * DEG); std::vector<std::vector<uint32_t>> mem(k);
    for (int i = 0; i < n; i++) mem[lab[i]].push_back(i);
    for (int i = 0; i < n; i++) {
      auto& m = mem[lab[i]];
      for (int j = 0; j < DEG; j++) g[i * DEG + j] = j < 12 ? (uint32_t)((i + (j + 1) * (j + 1) * 23) % n) : m[(i + j * 7) % m.size()];
    }
    device_uvector<uint32_t> d_g(g);
    graph_search_kernel<32, DEG, 11><<<nq, 32, dim * 4>>>(d_q.data(), d_x.data(), d_g.data(), n, dim, 40, d_od.data(), d_oi.data());
    RAFT_CUDA_TRY(cudaGetLastError());
    auto od = d_od.host(); auto oi = d_oi.host();
    int bad = 0, hit = 0;
    for (int i = 0; i < nq; i++) {
      float best = 1e30f; for (int j = 0; j < n; j++) best = std::min(best, l2(&q[i * dim], &x[j * dim], dim));
      hit += od[i * 32] <= best * 1.5f + 1e-3f;
      for (int r = 0; r < 32; r++) {
        bad += r && od[i * 32 + r] < od[i * 32 + r - 1];
        bad += oi[i * 32 + r] >= (uint32_t)n || std::fabs(l2(&q[i * dim], &x[oi[i * 32 + r] * dim], dim) - od[i * 32 + r]) > 1e-3f * (1 + od[i * 32 + r]);
        for (int s = 0; s < r; s++) bad += oi[i * 32 + r] == oi[i * 32 + s];
      }
    }
    printf("graph search: %d violations, %d of %d queries near the optimum\n", bad, hit, nq); ok &= bad == 0;
  }
  RAFT_CUDA_TRY(cudaDeviceSynchronize());
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
