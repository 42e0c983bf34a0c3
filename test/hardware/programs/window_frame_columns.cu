// SQL window functions over nullable columns:
//   min(v)  over (partition by g order by ts range between W preceding and current row)
//   sum(v)  over (same frame),  count(v) over (same frame),  lag(v, 3) over (partition by g order by ts)
// Rows come unsorted; the sort permutation is made on the host, the device gathers through it.
// Validity is one bit per row in 32-bit words. The minimum uses a sparse table (doubling), the sum walks its frame.
#include <cuda_runtime.h>
#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

using size_type    = int32_t;
using bitmask_type = uint32_t;

#define DF_TRY(call)                                                              \
  do {                                                                                   \
    cudaError_t const status = (call);                                                   \
    if (cudaSuccess != status) {                                                         \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorName(status));      \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

template <typename T>
struct column_view {
  T const* data;
  bitmask_type const* mask;
  size_type size;
  __device__ bool is_valid(size_type i) const { return (mask[i >> 5] >> (i & 31)) & 1u; }
  __device__ T element(size_type i) const { return data[i]; }
};

template <typename T>
struct mutable_column {
  T* data{};
  bitmask_type* mask{};
  size_type size{};
  explicit mutable_column(size_type n, cudaStream_t s) : size(n)
  {
    DF_TRY(cudaMallocAsync(&data, sizeof(T) * n, s));
    DF_TRY(cudaMallocAsync(&mask, sizeof(bitmask_type) * ((n + 31) / 32), s));
    DF_TRY(cudaMemsetAsync(mask, 0, sizeof(bitmask_type) * ((n + 31) / 32), s));
  }
  void release(cudaStream_t s)
  {
    cudaFreeAsync(data, s);
    cudaFreeAsync(mask, s);
  }
  column_view<T> view() const { return {data, mask, size}; }
};

// out[i] = in[map[i]]; the warp assembles one word of the output mask
template <typename T>
__global__ void gather_kernel(column_view<T> in, size_type const* __restrict__ map, T* out, bitmask_type* out_mask)
{
  size_type const i = blockIdx.x * blockDim.x + threadIdx.x;
  bool valid        = false;
  if (i < in.size) {
    size_type const from = map[i];
    valid                = in.is_valid(from);
    out[i]               = in.element(from);
  }
  bitmask_type const word = __ballot_sync(0xffffffffu, valid);
  if ((threadIdx.x & 31) == 0 && i < in.size) out_mask[i >> 5] = word;
}

// first row of the frame of each row, and the group's first row
__global__ void frame_start_kernel(int64_t const* __restrict__ ts, size_type const* __restrict__ group_offsets,
                                   size_type num_groups, int64_t preceding, size_type* frame, size_type* group_start,
                                   size_type n)
{
  size_type const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  size_type lo = 0, hi = num_groups;
  while (lo + 1 < hi) {
    size_type const mid = (lo + hi) >> 1;
    (group_offsets[mid] <= i ? lo : hi) = mid;
  }
  size_type const first = group_offsets[lo];
  int64_t const low     = ts[i] - preceding;
  size_type a = first, b = i;
  while (a < b) {
    size_type const mid = a + (b - a) / 2;
    if (ts[mid] < low) a = mid + 1; else b = mid;
  }
  frame[i]       = a;
  group_start[i] = first;
}

// level k of the table holds the minimum of 2^k rows that end at i
__global__ void sparse_level_kernel(column_view<int32_t> v, int32_t* table, size_type level, size_type n)
{
  size_type const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (level == 0) {
    table[i] = v.is_valid(i) ? v.element(i) : INT_MAX;
    return;
  }
  int32_t const* below  = table + (int64_t)(level - 1) * n;
  size_type const other = i - (1 << (level - 1));
  int32_t const here    = below[i];
  table[(int64_t)level * n + i] = other >= 0 ? min(here, below[other]) : here;
}

struct window_output {
  int32_t* min_data;
  bitmask_type* min_mask;
  int64_t* sum_data;
  size_type* count;
  int32_t* lag_data;
  bitmask_type* lag_mask;
};

__global__ void window_kernel(column_view<int32_t> v, size_type const* __restrict__ frame,
                              size_type const* __restrict__ group_start, int32_t const* __restrict__ table,
                              size_type lag, window_output out)
{
  size_type const n = v.size;
  size_type const i = blockIdx.x * blockDim.x + threadIdx.x;
  bool min_valid = false, lag_valid = false;
  if (i < n) {
    size_type const f = frame[i];
    size_type const k = 31 - __clz(i - f + 1);
    int32_t const m   = min(table[(int64_t)k * n + i], table[(int64_t)k * n + f + (1 << k) - 1]);
    int64_t sum       = 0;
    size_type count   = 0;
    for (size_type j = f; j <= i; ++j) {
      if (v.is_valid(j)) {
        sum += v.element(j);
        ++count;
      }
    }
    min_valid       = count > 0;
    out.min_data[i] = min_valid ? m : 0;
    out.sum_data[i] = sum;
    out.count[i]    = count;
    size_type const src = i - lag;
    lag_valid           = src >= group_start[i] && v.is_valid(src);
    out.lag_data[i]     = lag_valid ? v.element(src) : -1;
  }
  bitmask_type const a = __ballot_sync(0xffffffffu, min_valid);
  bitmask_type const b = __ballot_sync(0xffffffffu, lag_valid);
  if ((threadIdx.x & 31) == 0 && i < n) {
    out.min_mask[i >> 5] = a;
    out.lag_mask[i >> 5] = b;
  }
}

// results back to the order the rows came in
__global__ void scatter_back_kernel(int64_t const* in, size_type const* __restrict__ map, int64_t* out, size_type n)
{
  size_type const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[map[i]] = in[i];
}

int main()
{
  size_type const n = 50000;
  size_type const groups = 300, lag = 3;
  int64_t const preceding = 900;
  std::mt19937 rng(42);
  std::vector<size_type> key(n);
  std::vector<int64_t> ts(n);
  std::vector<int32_t> val(n);
  std::vector<bitmask_type> valid((n + 31) / 32, 0);
  for (size_type i = 0; i < n; ++i) {
    key[i] = std::min<size_type>(rng() % groups, rng() % groups);
    ts[i]  = 1700000000LL + rng() % 20000;
    val[i] = (int32_t)(rng() % 100000) - 50000;
    if (rng() % 8) valid[i >> 5] |= 1u << (i & 31);
  }
  std::vector<size_type> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_type a, size_type b) {
    if (key[a] != key[b]) return key[a] < key[b];
    return ts[a] != ts[b] ? ts[a] < ts[b] : a < b;
  });
  std::vector<size_type> offsets;
  std::vector<int64_t> sorted_ts(n);
  for (size_type i = 0; i < n; ++i) {
    if (i == 0 || key[order[i]] != key[order[i - 1]]) offsets.push_back(i);
    sorted_ts[i] = ts[order[i]];
  }
  size_type const num_groups = (size_type)offsets.size();
  offsets.push_back(n);
  size_type largest = 0;
  for (size_type g = 0; g < num_groups; ++g) largest = std::max(largest, offsets[g + 1] - offsets[g]);
  size_type levels = 1;
  while ((1 << levels) <= largest) ++levels;

  cudaStream_t stream;
  DF_TRY(cudaStreamCreate(&stream));
  auto to_device = [&](auto const& h) {
    std::remove_cv_t<std::remove_reference_t<decltype(h[0])>>* p{};
    DF_TRY(cudaMallocAsync(&p, h.size() * sizeof(h[0]), stream));
    DF_TRY(cudaMemcpyAsync(p, h.data(), h.size() * sizeof(h[0]), cudaMemcpyHostToDevice, stream));
    return p;
  };
  auto* d_val = to_device(val);
  auto* d_valid = to_device(valid);
  auto* d_order = to_device(order);
  auto* d_offsets = to_device(offsets);
  auto* d_ts = to_device(sorted_ts);
  mutable_column<int32_t> sorted(n, stream), out_min(n, stream), out_lag(n, stream);
  mutable_column<int64_t> out_sum(n, stream), back(n, stream);
  mutable_column<size_type> out_count(n, stream), frame(n, stream), start(n, stream);
  int32_t* table{};
  DF_TRY(cudaMallocAsync(&table, sizeof(int32_t) * (size_t)levels * n, stream));

  int const block = 256, grid = (n + block - 1) / block;
  gather_kernel<<<grid, block, 0, stream>>>(column_view<int32_t>{d_val, d_valid, n}, d_order, sorted.data, sorted.mask);
  frame_start_kernel<<<grid, block, 0, stream>>>(d_ts, d_offsets, num_groups, preceding, frame.data, start.data, n);
  for (size_type k = 0; k < levels; ++k) sparse_level_kernel<<<grid, block, 0, stream>>>(sorted.view(), table, k, n);
  window_output const out{out_min.data, out_min.mask, out_sum.data, out_count.data, out_lag.data, out_lag.mask};
  window_kernel<<<grid, block, 0, stream>>>(sorted.view(), frame.data, start.data, table, lag, out);
  scatter_back_kernel<<<grid, block, 0, stream>>>(out_sum.data, d_order, back.data, n);
  DF_TRY(cudaGetLastError());

  std::vector<int32_t> h_min(n), h_lag(n);
  std::vector<int64_t> h_sum(n);
  std::vector<size_type> h_count(n);
  std::vector<bitmask_type> h_mm(valid.size()), h_lm(valid.size());
  auto fetch = [&](auto& h, auto const* d) {
    DF_TRY(cudaMemcpyAsync(h.data(), d, h.size() * sizeof(h[0]), cudaMemcpyDeviceToHost, stream));
  };
  fetch(h_min, out_min.data);
  fetch(h_lag, out_lag.data);
  fetch(h_sum, back.data);
  fetch(h_count, out_count.data);
  fetch(h_mm, out_min.mask);
  fetch(h_lm, out_lag.mask);
  DF_TRY(cudaStreamSynchronize(stream));

  auto bit = [](std::vector<bitmask_type> const& m, size_type i) { return (m[i >> 5] >> (i & 31)) & 1u; };
  int64_t bad = 0;
  for (size_type g = 0; g < num_groups; ++g) {
    size_type f = offsets[g];
    for (size_type i = offsets[g]; i < offsets[g + 1]; ++i) {
      while (sorted_ts[f] < sorted_ts[i] - preceding) ++f;
      int32_t mn = INT_MAX;
      int64_t sum = 0;
      size_type cnt = 0;
      for (size_type j = f; j <= i; ++j)
        if (bit(valid, order[j])) mn = std::min(mn, val[order[j]]), sum += val[order[j]], ++cnt;
      bool const lv = i - lag >= offsets[g] && bit(valid, order[i - lag]);
      bad += h_count[i] != cnt || h_sum[order[i]] != sum || bit(h_mm, i) != (cnt > 0) || (cnt && h_min[i] != mn);
      bad += bit(h_lm, i) != lv || (lv && h_lag[i] != val[order[i - lag]]);
    }
  }
  for (void* p : {(void*)d_val, (void*)d_valid, (void*)d_order, (void*)d_offsets, (void*)d_ts, (void*)table})
    cudaFreeAsync(p, stream);
  for (auto* c : {&sorted, &out_min, &out_lag, &out_count, &frame, &start}) c->release(stream);
  out_sum.release(stream);
  back.release(stream);
  cudaStreamDestroy(stream);
  printf("%d rows, %d groups (largest %d), %d levels, %lld differences\n", n, num_groups, largest, levels, (long long)bad);
  puts(bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
