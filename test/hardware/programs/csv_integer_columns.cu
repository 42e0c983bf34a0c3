// Parse a CSV of signed integers on the device: newline index, field parsing, per-column aggregates.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace csv {

inline constexpr int kBlock = 128;
inline constexpr int kBytesPerThread = 16;
inline constexpr int kBytesPerBlock = kBlock * kBytesPerThread;
inline constexpr int kColumns = 5;

struct Summary {
  long long sum;
  int min, max;
  unsigned nulls;
};

[[noreturn]] void die(cudaError_t e, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: %s (%s)\n", file, line, cudaGetErrorName(e), cudaGetErrorString(e));
  std::exit(1);
}
#define CSV_CUDA(...)                                                              \
  do {                                                                             \
    if (auto e = (__VA_ARGS__); e != cudaSuccess) ::csv::die(e, __FILE__, __LINE__); \
  } while (false)

// number of '\n' bytes in a word
__device__ inline int newlines(std::uint32_t w) { return __popc(__vcmpeq4(w, 0x0a0a0a0au)) / 8; }

__global__ void count_newlines(const uint4* text, std::size_t vectors, std::uint32_t* per_block) {
  using Reduce = cub::BlockReduce<int, kBlock>;
  __shared__ typename Reduce::TempStorage tmp;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  int c = 0;
  if (i < vectors) {
    const uint4 v = text[i];
    c = newlines(v.x) + newlines(v.y) + newlines(v.z) + newlines(v.w);
  }
  const int total = Reduce(tmp).Sum(c);
  if (threadIdx.x == 0) per_block[blockIdx.x] = total;
}

// one block; running carry across chunks of 256
__global__ void scan_counts(std::uint32_t* counts, int n, std::uint32_t* total) {
  using Scan = cub::BlockScan<std::uint32_t, 256>;
  __shared__ typename Scan::TempStorage tmp;
  std::uint32_t carry = 0;
  for (int base = 0; base < n; base += 256) {
    const int i = base + threadIdx.x;
    std::uint32_t v = i < n ? counts[i] : 0, sum;
    Scan(tmp).ExclusiveSum(v, v, sum);
    if (i < n) counts[i] = carry + v;
    carry += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) *total = carry;
}

// line_end[k] = position of the k-th newline; bytes are fetched one at a time here
__global__ void index_lines(const char* text, std::size_t bytes, const std::uint32_t* offset, std::uint32_t* line_end) {
  using Scan = cub::BlockScan<int, kBlock>;
  __shared__ typename Scan::TempStorage tmp;
  const std::size_t first = std::size_t{blockIdx.x} * kBytesPerBlock + threadIdx.x * kBytesPerThread;
  unsigned mask = 0;
  for (int b = 0; b < kBytesPerThread; ++b)
    if (first + b < bytes && text[first + b] == '\n') mask |= 1u << b;
  int at;
  Scan(tmp).ExclusiveSum(__popc(mask), at);
  for (; mask; mask &= mask - 1) line_end[offset[blockIdx.x] + at++] = static_cast<std::uint32_t>(first + __ffs(mask) - 1);
}

// One thread per line. Empty field = null = INT_MIN. Columns are stored one after another.
__global__ void parse_lines(const char* text, const std::uint32_t* line_end, std::uint32_t lines, int* columns) {
  const std::uint32_t l = blockIdx.x * blockDim.x + threadIdx.x;
  if (l >= lines) return;
  std::uint32_t p = l ? line_end[l - 1] + 1 : 0;
  const std::uint32_t end = line_end[l];
  for (int c = 0; c < kColumns; ++c) {
    bool neg = false, any = false;
    int v = 0;
    while (p < end && text[p] != ',') {
      const char ch = text[p++];
      if (ch == '-') neg = true;
      else if (ch >= '0' && ch <= '9') { v = v * 10 + (ch - '0'); any = true; }
    }
    ++p;  // comma or newline
    columns[std::size_t(c) * lines + l] = any ? (neg ? -v : v) : INT_MIN;
  }
}

// field length histogram: lengths 0..15, one private row of 16 counters per warp
__global__ void field_lengths(const char* text, const std::uint32_t* line_end, std::uint32_t lines, unsigned* hist) {
  __shared__ unsigned priv[4][16];
  const int warp = threadIdx.x >> 5;
  if (threadIdx.x < 64) priv[threadIdx.x >> 4][threadIdx.x & 15] = 0;
  __syncthreads();
  for (std::uint32_t l = blockIdx.x * blockDim.x + threadIdx.x; l < lines; l += gridDim.x * blockDim.x) {
    int len = 0;
    for (std::uint32_t p = l ? line_end[l - 1] + 1 : 0; p <= line_end[l]; ++p) {
      const char ch = text[p];
      if (ch == ',' || ch == '\n') {
        atomicAdd(&priv[warp][min(len, 15)], 1u);
        len = 0;
      } else {
        ++len;
      }
    }
  }
  __syncthreads();
  if (threadIdx.x < 16)
    atomicAdd(&hist[threadIdx.x], priv[0][threadIdx.x] + priv[1][threadIdx.x] + priv[2][threadIdx.x] + priv[3][threadIdx.x]);
}

// blockIdx.x = column
__global__ void summarise(const int* columns, std::uint32_t lines, Summary* out) {
  __shared__ Summary part[kBlock];
  const int* col = columns + std::size_t(blockIdx.x) * lines;
  Summary s{0, INT_MAX, INT_MIN, 0};
  for (std::uint32_t i = threadIdx.x; i < lines; i += kBlock) {
    const int v = col[i];
    if (v == INT_MIN) { ++s.nulls; continue; }
    s.sum += v;
    s.min = min(s.min, v);
    s.max = max(s.max, v);
  }
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = kBlock / 2; d > 0; d >>= 1) {
    if (threadIdx.x < d) {
      const Summary o = part[threadIdx.x + d];
      Summary& m = part[threadIdx.x];
      m.sum += o.sum;
      m.min = min(m.min, o.min);
      m.max = max(m.max, o.max);
      m.nulls += o.nulls;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

struct Table {
  std::vector<std::optional<int>> cells;
  std::string text;
};

Table make_table(int lines) {
  Table t;
  std::uint32_t s = 20230917u;
  auto next = [&] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; };
  for (int l = 0; l < lines; ++l)
    for (int c = 0; c < kColumns; ++c) {
      std::optional<int> v;
      if (next() % 17 != 0) {
        const int digits[] = {10, 1000, 100000, 1000000000, 7};
        v = int(next() % std::uint32_t(digits[c])) * (next() % 3 == 0 ? -1 : 1);
      }
      t.cells.push_back(v);
      if (v) t.text += std::to_string(*v);
      t.text += c + 1 < kColumns ? ',' : '\n';
    }
  return t;
}

}  // namespace csv

int main(int argc, char** argv) {
  using namespace csv;
  const int lines = argc > 1 ? std::atoi(argv[1]) : 9007;
  const Table table = make_table(lines);
  const std::size_t bytes = table.text.size(), padded = (bytes + 15) / 16 * 16;
  const int blocks = int((padded + kBytesPerBlock - 1) / kBytesPerBlock);

  char* d_text;
  std::uint32_t *d_counts, *d_total, *d_ends;
  int* d_cols;
  unsigned* d_hist;
  Summary* d_sum;
  CSV_CUDA(cudaMalloc(&d_text, padded));
  CSV_CUDA(cudaMalloc(&d_counts, blocks * sizeof(std::uint32_t)));
  CSV_CUDA(cudaMalloc(&d_total, sizeof(std::uint32_t)));
  CSV_CUDA(cudaMemset(d_text, 0, padded));
  CSV_CUDA(cudaMemcpy(d_text, table.text.data(), bytes, cudaMemcpyHostToDevice));

  count_newlines<<<blocks, kBlock>>>(reinterpret_cast<const uint4*>(d_text), padded / 16, d_counts);
  scan_counts<<<1, 256>>>(d_counts, blocks, d_total);
  CSV_CUDA(cudaGetLastError());
  std::uint32_t found = 0;
  CSV_CUDA(cudaMemcpy(&found, d_total, sizeof found, cudaMemcpyDeviceToHost));
  std::printf("%zu bytes, %u lines\n", bytes, found);
  if (found != std::uint32_t(lines)) { std::puts("FAIL"); return 1; }

  CSV_CUDA(cudaMalloc(&d_ends, found * sizeof(std::uint32_t)));
  CSV_CUDA(cudaMalloc(&d_cols, std::size_t(found) * kColumns * sizeof(int)));
  CSV_CUDA(cudaMalloc(&d_hist, 16 * sizeof(unsigned)));
  CSV_CUDA(cudaMalloc(&d_sum, kColumns * sizeof(Summary)));
  CSV_CUDA(cudaMemset(d_hist, 0, 16 * sizeof(unsigned)));
  index_lines<<<blocks, kBlock>>>(d_text, bytes, d_counts, d_ends);
  parse_lines<<<(found + 95) / 96, 96>>>(d_text, d_ends, found, d_cols);
  field_lengths<<<18, 128>>>(d_text, d_ends, found, d_hist);
  summarise<<<kColumns, kBlock>>>(d_cols, found, d_sum);
  CSV_CUDA(cudaGetLastError());

  std::vector<int> cols(std::size_t(found) * kColumns);
  std::vector<unsigned> hist(16), want_hist(16, 0u);
  std::vector<Summary> sums(kColumns);
  CSV_CUDA(cudaMemcpy(cols.data(), d_cols, cols.size() * sizeof(int), cudaMemcpyDeviceToHost));
  CSV_CUDA(cudaMemcpy(hist.data(), d_hist, 16 * sizeof(unsigned), cudaMemcpyDeviceToHost));
  CSV_CUDA(cudaMemcpy(sums.data(), d_sum, kColumns * sizeof(Summary), cudaMemcpyDeviceToHost));

  bool ok = true;
  std::vector<Summary> want(kColumns, Summary{0, INT_MAX, INT_MIN, 0});
  for (int l = 0; l < lines; ++l)
    for (int c = 0; c < kColumns; ++c) {
      const auto& v = table.cells[std::size_t(l) * kColumns + c];
      ok = ok && cols[std::size_t(c) * found + l] == v.value_or(INT_MIN);
      ++want_hist[v ? std::to_string(*v).size() : 0];
      Summary& w = want[c];
      if (!v) { ++w.nulls; continue; }
      w.sum += *v;
      w.min = std::min(w.min, *v);
      w.max = std::max(w.max, *v);
    }
  if (!ok) std::puts("parsed values differ");
  if (hist != want_hist) { ok = false; std::puts("length histogram differs"); }
  for (int c = 0; c < kColumns; ++c) {
    std::printf("col %d: sum %lld min %d max %d nulls %u\n", c, sums[c].sum, sums[c].min, sums[c].max, sums[c].nulls);
    ok = ok && sums[c].sum == want[c].sum && sums[c].min == want[c].min && sums[c].max == want[c].max && sums[c].nulls == want[c].nulls;
  }
  for (void* p : {(void*)d_text, (void*)d_counts, (void*)d_total, (void*)d_ends, (void*)d_cols, (void*)d_hist, (void*)d_sum}) cudaFree(p);
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
