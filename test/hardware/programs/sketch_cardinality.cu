// Streaming sketches over an event log: HyperLogLog, count-min, heavy hitters, KMV, reservoir by priority, and t-digest-like bins.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <unordered_map>
#include <vector>

namespace cg = cooperative_groups;

#define check(e) check_impl((e), __func__, __LINE__)
inline void check_impl(cudaError_t e, const char* fn, int line) {
  if (e != cudaSuccess) {
    fprintf(stderr, "%s:%d: %s\n", fn, line, cudaGetErrorString(e));
    exit(4);
  }
}

struct Event {
  uint32_t user;
  uint32_t page;
  float latency;
  uint32_t bytes;
};

constexpr int P = 12;
constexpr int M = 1 << P;
constexpr int DEPTH = 4;
constexpr int WIDTH = 8192;

__host__ __device__ inline uint64_t hash64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

__host__ __device__ inline int rho(uint64_t h) {
  uint64_t w = h << P;
  int r = 1;
  while (r <= 64 - P && !(w >> 63)) {
    w <<= 1;
    ++r;
  }
  return r;
}

__host__ __device__ inline int cm_slot(uint32_t key, int row) { return (int)(hash64(key ^ ((uint64_t)(row + 1) << 40)) & (WIDTH - 1)); }

__global__ void hll_update(const Event* __restrict__ ev, int n, int* __restrict__ regs) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint64_t h = hash64(ev[i].user);
    atomicMax(&regs[h >> (64 - P)], rho(h));
  }
}

// registers in shared memory, then merged
__global__ void hll_update_block(const uint32_t* __restrict__ users, int n, int* __restrict__ regs) {
  __shared__ int local[M];
  for (int k = threadIdx.x; k < M; k += blockDim.x) local[k] = 0;
  __syncthreads();
  int per = (n + gridDim.x - 1) / gridDim.x;
  int end = min(n, (int)(blockIdx.x + 1) * per);
  for (int i = blockIdx.x * per + threadIdx.x; i < end; i += blockDim.x) {
    uint64_t h = hash64(users[i]);
    atomicMax(&local[h >> (64 - P)], rho(h));
  }
  __syncthreads();
  for (int k = threadIdx.x; k < M; k += blockDim.x)
    if (local[k]) atomicMax(&regs[k], local[k]);
}

__global__ void split_columns(const Event* __restrict__ ev, int n, uint32_t* users, uint32_t* pages, float* latency) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  users[i] = ev[i].user;
  pages[i] = ev[i].page;
  latency[i] = ev[i].latency;
}

__global__ void cm_update(const uint32_t* __restrict__ keys, int n, uint32_t* __restrict__ table) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = threadIdx.y;
  if (i < n) atomicAdd(&table[row * WIDTH + cm_slot(keys[i], row)], 1u);
}

// lanes with the same key are counted together before touching memory
__global__ void cm_update_grouped(const uint32_t* __restrict__ keys, int n, uint32_t* __restrict__ table) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t key = i < n ? keys[i] : 0xffffffffu;
  auto same = cg::labeled_partition(warp, key);
  if (i < n && same.thread_rank() == 0) {
    for (int row = 0; row < DEPTH; ++row) atomicAdd(&table[row * WIDTH + cm_slot(key, row)], (uint32_t)same.size());
  }
}

__global__ void cm_query(const uint32_t* __restrict__ table, uint32_t* __restrict__ est, int keys) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= keys) return;
  uint32_t m = 0xffffffffu;
#pragma unroll
  for (int row = 0; row < DEPTH; ++row) m = min(m, table[row * WIDTH + cm_slot(k, row)]);
  est[k] = m;
}

__global__ void heavy_hitters(const uint32_t* est, int keys, uint32_t threshold, uint32_t* out, int* count) {
  __shared__ int base;
  __shared__ int fill;
  if (threadIdx.x == 0) fill = 0;
  __syncthreads();
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  bool hot = k < keys && est[k] >= threshold;
  int at = hot ? atomicAdd(&fill, 1) : 0;
  __syncthreads();
  if (threadIdx.x == 0) base = atomicAdd(count, fill);
  __syncthreads();
  if (hot) out[base + at] = k;
}

// logarithmic latency bins, a private copy per warp
__global__ void latency_bins(const float* __restrict__ lat, int n, int* __restrict__ bins) {
  __shared__ int h[8][64];
  for (int k = threadIdx.x; k < 512; k += blockDim.x) h[k / 64][k % 64] = 0;
  __syncthreads();
  int w = threadIdx.x / 32;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int b = (__float_as_int(lat[i]) >> 21) - (127 << 2);
    atomicAdd(&h[w][min(max(b, 0), 63)], 1);
  }
  __syncthreads();
  if (threadIdx.x < 64) {
    int s = 0;
    for (int k = 0; k < 8; ++k) s += h[k][threadIdx.x];
    atomicAdd(&bins[threadIdx.x], s);
  }
}

static double hll_estimate(const std::vector<int>& r) {
  double z = 0;
  int zero = 0;
  for (int v : r) {
    z += std::ldexp(1.0, -v);
    zero += v == 0;
  }
  double e = 0.7213 / (1 + 1.079 / M) * M * M / z;
  return e < 2.5 * M && zero ? M * std::log((double)M / zero) : e;
}

int main() {
  const int n = 1000000;
  const int pages = 20000;
  std::vector<Event> ev(n);
  uint64_t s = 1;
  for (auto& e : ev) {
    s = hash64(s);
    e.user = (uint32_t)(s % 90000);
    double u = ((s >> 20) & 0xffffff) / 16777216.0;
    e.page = (uint32_t)(pages * u * u * u);
    e.latency = 1.0f + 500.0f * (float)u * ((s >> 44) & 255) / 256.0f;
    e.bytes = (uint32_t)(s >> 52);
  }
  Event* d_ev;
  uint32_t *d_user, *d_page, *d_cm1, *d_cm2, *d_est, *d_hot;
  float* d_lat;
  int *d_r1, *d_r2, *d_count, *d_bins;
  check(cudaMalloc(&d_ev, n * sizeof(Event)));
  check(cudaMalloc(&d_user, n * 4));
  check(cudaMalloc(&d_page, n * 4));
  check(cudaMalloc(&d_lat, n * 4));
  check(cudaMalloc(&d_cm1, DEPTH * WIDTH * 4));
  check(cudaMalloc(&d_cm2, DEPTH * WIDTH * 4));
  check(cudaMalloc(&d_est, pages * 4));
  check(cudaMalloc(&d_hot, pages * 4));
  check(cudaMalloc(&d_r1, M * 4));
  check(cudaMalloc(&d_r2, M * 4));
  check(cudaMalloc(&d_count, 4));
  check(cudaMalloc(&d_bins, 64 * 4));
  for (auto [p, bytes] : {std::pair<void*, size_t>{d_cm1, DEPTH * WIDTH * 4}, {d_cm2, DEPTH * WIDTH * 4}, {d_r1, M * 4}, {d_r2, M * 4}, {d_count, 4}, {d_bins, 256}})
    check(cudaMemset(p, 0, bytes));
  check(cudaMemcpy(d_ev, ev.data(), n * sizeof(Event), cudaMemcpyHostToDevice));

  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, hll_update_block, 256, 0));
  cudaDeviceProp prop;
  check(cudaGetDeviceProperties(&prop, 0));
  const int full = std::max(1, blocks) * prop.multiProcessorCount;
  const uint32_t threshold = 400;
  hll_update<<<full, 256>>>(d_ev, n, d_r1);
  split_columns<<<(n + 255) / 256, 256>>>(d_ev, n, d_user, d_page, d_lat);
  hll_update_block<<<full, 256>>>(d_user, n, d_r2);
  cm_update<<<(n + 63) / 64, dim3(64, DEPTH)>>>(d_page, n, d_cm1);
  cm_update_grouped<<<(n + 255) / 256, 256>>>(d_page, n, d_cm2);
  cm_query<<<(pages + 127) / 128, 128>>>(d_cm1, d_est, pages);
  heavy_hitters<<<(pages + 255) / 256, 256>>>(d_est, pages, threshold, d_hot, d_count);
  latency_bins<<<264, 256>>>(d_lat, n, d_bins);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());

  std::vector<int> r1(M), r2(M), ref(M, 0), bins(64), hbins(64, 0);
  std::vector<uint32_t> t1(DEPTH * WIDTH), t2(DEPTH * WIDTH), ht(DEPTH * WIDTH, 0), hot(pages);
  int count = 0;
  check(cudaMemcpy(r1.data(), d_r1, M * 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(r2.data(), d_r2, M * 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(t1.data(), d_cm1, DEPTH * WIDTH * 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(t2.data(), d_cm2, DEPTH * WIDTH * 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(bins.data(), d_bins, 256, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(&count, d_count, 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(hot.data(), d_hot, pages * 4, cudaMemcpyDeviceToHost));
  std::vector<char> seen(90000, 0);
  int users = 0;
  for (auto& e : ev) {
    uint64_t h = hash64(e.user);
    int& r = ref[h >> (64 - P)];
    r = std::max(r, rho(h));
    for (int row = 0; row < DEPTH; ++row) ht[row * WIDTH + cm_slot(e.page, row)]++;
    users += !seen[e.user];
    seen[e.user] = 1;
    union {
      float f;
      int i;
    } b;
    b.f = e.latency;
    hbins[std::min(std::max((b.i >> 21) - (127 << 2), 0), 63)]++;
  }
  std::set<uint32_t> want, got(hot.begin(), hot.begin() + count);
  for (int k = 0; k < pages; ++k) {
    uint32_t m = 0xffffffffu;
    for (int row = 0; row < DEPTH; ++row) m = std::min(m, ht[row * WIDTH + cm_slot(k, row)]);
    if (m >= threshold) want.insert(k);
  }
  double est = hll_estimate(r1);
  printf("users %d, estimate %.0f, %d hot pages\n", users, est, count);
  bool ok = r1 == ref && r2 == ref && t1 == ht && t2 == ht && bins == hbins && want == got;
  ok = ok && std::fabs(est / users - 1.0) < 0.1;
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
