// Physical operators of a column store, GPU back end (prototype).
//   Q: SELECT region, store, day, amount,
//             SUM(amount) OVER (PARTITION BY store ORDER BY day ROWS UNBOUNDED PRECEDING),
//             ROW_NUMBER() OVER (...), AVG over a sliding frame of 7 rows
//      FROM sales WHERE product LIKE '%ing%' AND amount BETWEEN a AND b
// Strings are dictionary encoded, predicates produce bitmaps, bitmaps are compacted, and the
// partitions are sorted with cub before the window functions run.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace db {

#define DB_CHECK(expr)                                                                 \
  if (cudaError_t err__ = (expr); err__ != cudaSuccess) {                              \
    std::printf("%s failed: %s\nFAIL\n", #expr, cudaGetErrorString(err__));            \
    std::exit(1);                                                                      \
  }

template <typename T>
class Column {
 public:
  explicit Column(size_t rows) : rows_(rows) { DB_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<size_t>(rows, 1) * sizeof(T))); }
  explicit Column(const std::vector<T>& host) : Column(host.size()) {
    DB_CHECK(cudaMemcpy(data_, host.data(), rows_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Column(Column&& o) noexcept : data_(std::exchange(o.data_, nullptr)), rows_(o.rows_) {}
  Column(const Column&) = delete;
  ~Column() { cudaFree(data_); }
  T* get() const { return data_; }
  size_t rows() const { return rows_; }
  void zero() { DB_CHECK(cudaMemset(data_, 0, rows_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> v(rows_);
    DB_CHECK(cudaMemcpy(v.data(), data_, rows_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  T* data_ = nullptr;
  size_t rows_;
};

// Variable-length dictionary: characters back to back and offsets
struct DictView {
  const char* chars;
  const int* offsets;
  int size;
};

// Evaluates LIKE '%pattern%' for each entry of the dictionary, a thread per entry: byte loads at
// unaligned, data dependent addresses.
__global__ void dict_contains(DictView dict, const char* __restrict__ pattern, int plen, uint8_t* __restrict__ match) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= dict.size) return;
  const int b = dict.offsets[e], n = dict.offsets[e + 1] - b;
  uint8_t hit = 0;
  for (int i = 0; i + plen <= n && !hit; ++i) {
    int k = 0;
    while (k < plen && dict.chars[b + i + k] == pattern[k]) ++k;
    hit = k == plen;
  }
  match[e] = hit;
}

// bitmap[w] bit i = row 32*w+i satisfies the string predicate
__global__ void filter_dict(const uint16_t* __restrict__ codes, const uint8_t* __restrict__ match, int rows,
                            uint32_t* __restrict__ bitmap) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const bool p = row < rows && match[codes[row]];
  const uint32_t w = __ballot_sync(0xffffffffu, p);
  if ((threadIdx.x & 31) == 0 && row < rows) bitmap[row >> 5] = w;
}

// one thread makes a whole word: 32 rows each, warps read with a stride of 128 bytes
__global__ void filter_between(const int32_t* __restrict__ v, int rows, int32_t lo, int32_t hi, uint32_t* __restrict__ bitmap) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w * 32 >= rows) return;
  uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) {
    const int row = w * 32 + i;
    if (row < rows && v[row] >= lo && v[row] <= hi) bits |= 1u << i;
  }
  bitmap[w] = bits;
}

__global__ void bitmap_and_count(const uint32_t* __restrict__ a, uint32_t* __restrict__ b, int words, int* __restrict__ counts) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage tmp;
  const int w = blockIdx.x * 128 + threadIdx.x;
  uint32_t x = 0;
  if (w < words) b[w] = x = a[w] & b[w];
  const int total = Reduce(tmp).Sum(__popc(x));
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// rows of the bitmap -> row ids, each block covers 128 words (4096 rows)
__global__ void materialize(const uint32_t* __restrict__ bitmap, int words, const int* __restrict__ block_offset, int* __restrict__ ids) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage tmp;
  const int w = blockIdx.x * 128 + threadIdx.x;
  uint32_t x = w < words ? bitmap[w] : 0u;
  int at;
  Scan(tmp).ExclusiveSum(__popc(x), at);
  at += block_offset[blockIdx.x];
  while (x) {
    const int bit = __ffs((int)x) - 1;
    ids[at++] = w * 32 + bit;
    x &= x - 1;
  }
}

__global__ void build_keys(const int* __restrict__ ids, int n, const uint16_t* __restrict__ store, const uint16_t* __restrict__ day,
                           uint32_t* __restrict__ keys) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keys[i] = (uint32_t)store[ids[i]] << 16 | day[ids[i]];
}

__global__ void partition_starts(const uint32_t* __restrict__ keys, int n, int* __restrict__ start, int* __restrict__ num) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (i == 0 || keys[i] >> 16 != keys[i - 1] >> 16)) {
    start[keys[i] >> 16] = i;
    atomicAdd(num, 1);
  }
}

struct WindowRow {       // result rows of 24 bytes, row format for the client
  int64_t running;
  int32_t row_number;
  int32_t avg7;
  int32_t amount;
  int32_t id;
};

// one warp per partition; a partition is scanned 32 rows at a time with a carry
__global__ void window_warp(const uint32_t* __restrict__ keys, const int* __restrict__ ids, const int32_t* __restrict__ amount, int n,
                            const int* __restrict__ start, int stores, WindowRow* __restrict__ out) {
  const int part = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const int lane = threadIdx.x & 31;
  if (part >= stores) return;
  const int b = start[part];
  if (b < 0) return;
  long long carry = 0;
  for (int base = b;; base += 32) {
    const int i = base + lane;
    const bool in = i < n && (int)(keys[i] >> 16) == part;
    const int32_t a = in ? amount[ids[i]] : 0;
    long long s = a;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
      const long long o = __shfl_up_sync(0xffffffffu, s, d);
      if (lane >= d) s += o;
    }
    if (in) {
      WindowRow r;
      r.running = carry + s;
      r.row_number = i - b + 1;
      r.amount = a;
      r.id = ids[i];
      int32_t sum = 0, cnt = 0;
      for (int k = i < b + 6 ? b : i - 6; k <= i; ++k, ++cnt) sum += amount[ids[k]];
      r.avg7 = sum / cnt;
      out[i] = r;
    }
    carry += __shfl_sync(0xffffffffu, s, 31);
    if (!__all_sync(0xffffffffu, in)) break;
  }
}

// textbook version: every row goes back to the start of its partition by itself (quadratic)
__global__ void window_rowwise(const uint32_t* __restrict__ keys, const int* __restrict__ ids, const int32_t* __restrict__ amount, int n,
                               const int* __restrict__ start, int64_t* __restrict__ running) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t s = 0;
  for (int k = start[keys[i] >> 16]; k <= i; ++k) s += amount[ids[k]];
  running[i] = s;
}

template <typename Kernel, typename... Args>
void launch(Kernel kernel, int items, int block, Args... args) {
  if (items <= 0) return;
  kernel<<<(items + block - 1) / block, block>>>(args...);
  DB_CHECK(cudaGetLastError());
}

class StringDictionary {
 public:
  int encode(const std::string& s) { return codes_.try_emplace(s, (int)codes_.size()).first->second; }
  // flattened in code order
  std::pair<std::vector<char>, std::vector<int>> flatten() const {
    std::vector<const std::string*> order(codes_.size());
    for (const auto& [s, c] : codes_) order[c] = &s;
    std::vector<char> chars;
    std::vector<int> off{0};
    for (auto* s : order) {
      chars.insert(chars.end(), s->begin(), s->end());
      off.push_back((int)chars.size());
    }
    return {chars, off};
  }
  size_t size() const { return codes_.size(); }

 private:
  std::map<std::string, int> codes_;
};

}  // namespace db

int main() {
  using namespace db;
  constexpr int rows = 150011, stores = 700;
  const char* stems[] = {"box", "ring", "spring roll", "lamp", "sling", "paint", "string beans", "cup", "baking tray", "sofa", "ink"};
  const char* colors[] = {"red", "light green", "blue", "shining black", "white"};

  // table
  StringDictionary dict;
  std::vector<uint16_t> product(rows), store(rows), day(rows);
  std::vector<int32_t> amount(rows);
  std::vector<std::string> plain(rows);
  uint32_t seed = 12345;
  auto rnd = [&] { seed = seed * 1664525u + 1013904223u; return seed >> 8; };
  for (int i = 0; i < rows; ++i) {
    std::string s = std::string(colors[rnd() % 5]) + " " + stems[rnd() % 11] + " #" + std::to_string(rnd() % 60);
    product[i] = (uint16_t)dict.encode(s);
    plain[i] = std::move(s);
    const uint32_t u = rnd() % stores, v = rnd() % stores;
    store[i] = (uint16_t)std::min(u, v);              // skewed partitions
    day[i] = (uint16_t)(rnd() % 365);
    amount[i] = (int32_t)(rnd() % 20000) - 500;
  }
  auto [chars, offsets] = dict.flatten();
  const std::string needle = "ing";
  const int lo = 100, hi = 16000;

  Column<char> dChars(chars), dPattern(std::vector<char>(needle.begin(), needle.end()));
  Column<int> dOffsets(offsets);
  Column<uint8_t> dMatch(dict.size());
  Column<uint16_t> dProduct(product), dStore(store), dDay(day);
  Column<int32_t> dAmount(amount);
  const int words = (rows + 31) / 32, blocks = (words + 127) / 128;
  Column<uint32_t> bmA(words), bmB(words);
  Column<int> counts(blocks), blockOff(blocks);

  const DictView view{dChars.get(), dOffsets.get(), (int)dict.size()};
  launch(dict_contains, view.size, 64, view, (const char*)dPattern.get(), (int)needle.size(), dMatch.get());
  launch(filter_dict, rows, 256, (const uint16_t*)dProduct.get(), (const uint8_t*)dMatch.get(), rows, bmA.get());
  launch(filter_between, words, 128, (const int32_t*)dAmount.get(), rows, lo, hi, bmB.get());
  launch(bitmap_and_count, words, 128, (const uint32_t*)bmA.get(), bmB.get(), words, counts.get());

  std::vector<int> c = counts.host(), off(blocks);
  std::exclusive_scan(c.begin(), c.end(), off.begin(), 0);     // tiny, the host does it
  const int n = off.back() + c.back();
  DB_CHECK(cudaMemcpy(blockOff.get(), off.data(), blocks * sizeof(int), cudaMemcpyHostToDevice));

  Column<int> ids(n), idsSorted(n), start(stores), numParts(1);
  Column<uint32_t> keys(n), keysSorted(n);
  Column<WindowRow> result(n);
  Column<int64_t> running(n);
  numParts.zero();
  DB_CHECK(cudaMemset(start.get(), 0xff, stores * sizeof(int)));
  launch(materialize, words, 128, (const uint32_t*)bmB.get(), words, (const int*)blockOff.get(), ids.get());
  launch(build_keys, n, 256, (const int*)ids.get(), n, (const uint16_t*)dStore.get(), (const uint16_t*)dDay.get(), keys.get());

  size_t bytes = 0;
  DB_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys.get(), keysSorted.get(), ids.get(), idsSorted.get(), n, 0, 26));
  Column<char> temp(bytes);
  DB_CHECK(cub::DeviceRadixSort::SortPairs(temp.get(), bytes, keys.get(), keysSorted.get(), ids.get(), idsSorted.get(), n, 0, 26));

  launch(partition_starts, n, 256, (const uint32_t*)keysSorted.get(), n, start.get(), numParts.get());
  launch(window_warp, stores * 32, 128, (const uint32_t*)keysSorted.get(), (const int*)idsSorted.get(), (const int32_t*)dAmount.get(), n,
         (const int*)start.get(), stores, result.get());
  launch(window_rowwise, n, 256, (const uint32_t*)keysSorted.get(), (const int*)idsSorted.get(), (const int32_t*)dAmount.get(), n,
         (const int*)start.get(), running.get());
  DB_CHECK(cudaDeviceSynchronize());

  // reference plan
  std::vector<int> ref;
  for (int i = 0; i < rows; ++i)
    if (plain[i].find(needle) != std::string::npos && amount[i] >= lo && amount[i] <= hi) ref.push_back(i);
  std::stable_sort(ref.begin(), ref.end(), [&](int a, int b) { return std::pair(store[a], day[a]) < std::pair(store[b], day[b]); });
  int errors = n == (int)ref.size() ? 0 : 1;
  std::printf("dictionary %zu entries, %d of %d rows selected, %d partitions\n", dict.size(), n, rows, numParts.host()[0]);

  if (!errors) {
    const auto got = result.host();
    const auto run = running.host();
    int64_t sum = 0;
    int first = 0, parts = 0;
    for (int i = 0; i < n; ++i) {
      if (i == 0 || store[ref[i]] != store[ref[i - 1]]) { sum = 0; first = i; ++parts; }
      sum += amount[ref[i]];
      int32_t s7 = 0, k7 = 0;
      for (int k = std::max(first, i - 6); k <= i; ++k, ++k7) s7 += amount[ref[k]];
      const WindowRow& r = got[i];
      if (r.id != ref[i] || r.running != sum || run[i] != sum || r.row_number != i - first + 1 || r.avg7 != s7 / k7 || r.amount != amount[ref[i]])
        if (++errors < 5) std::printf("row %d: id %d/%d sum %lld/%lld\n", i, r.id, ref[i], (long long)r.running, (long long)sum);
    }
    if (parts != numParts.host()[0]) ++errors;
  }
  std::puts(errors ? "FAIL" : "PASS");
  return errors ? 1 : 0;
}
