// Columns of strings (offsets + characters + null mask) and operations on them,
// written the columnar-dataframe way: a functor is run once to size its output
// rows and once more to write them, with an exclusive scan in between.
#include <cuda_runtime.h>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using size_type = int32_t;
using bitmask_type = uint32_t;

#define CUDF_TRY(call)                                                                          \
  do {                                                                                          \
    cudaError_t const status = (call);                                                          \
    if (status != cudaSuccess)                                                                  \
      throw std::runtime_error(std::string(#call " at line ") + std::to_string(__LINE__) + ": " + \
                               cudaGetErrorString(status));                                     \
  } while (0)

// ------------------------------------------------------------ device views
class string_view {
 public:
  __device__ string_view(char const* p, size_type n) : _data(p), _bytes(n) {}
  __device__ char const* data() const { return _data; }
  __device__ size_type size_bytes() const { return _bytes; }
  __device__ char operator[](size_type i) const { return _data[i]; }
  __device__ size_type find(string_view const& t, size_type pos = 0) const
  {
    for (size_type i = pos; i + t._bytes <= _bytes; ++i) {
      bool match = true;
      for (size_type j = 0; match && j < t._bytes; ++j) match = _data[i + j] == t._data[j];
      if (match) return i;
    }
    return -1;
  }

 private:
  char const* _data;
  size_type _bytes;
};

struct column_device_view {
  size_type const* offsets;
  char const* chars;
  bitmask_type const* mask;      // may be null
  size_type size;
  __device__ bool is_valid(size_type i) const { return !mask || (mask[i >> 5] >> (i & 31)) & 1; }
  __device__ string_view element(size_type i) const
  {
    return string_view(chars + offsets[i], offsets[i + 1] - offsets[i]);
  }
};

// --------------------------------------------------------------- functors
// every functor writes sizes when d_chars is null, characters otherwise

struct upper_fn {
  column_device_view d;
  size_type* d_sizes;
  char* d_chars;
  size_type const* d_offsets;
  __device__ void operator()(size_type i) const
  {
    if (!d.is_valid(i)) { if (!d_chars) d_sizes[i] = 0; return; }
    string_view const s = d.element(i);
    if (!d_chars) { d_sizes[i] = s.size_bytes(); return; }
    char* out = d_chars + d_offsets[i];
    for (size_type k = 0; k < s.size_bytes(); ++k) {
      char const c = s[k];
      *out++ = (c >= 'a' && c <= 'z') ? c - 32 : c;
    }
  }
};

struct replace_fn {
  column_device_view d;
  char const* target; size_type target_len;
  char const* repl; size_type repl_len;
  size_type* d_sizes;
  char* d_chars;
  size_type const* d_offsets;
  __device__ void operator()(size_type i) const
  {
    if (!d.is_valid(i)) { if (!d_chars) d_sizes[i] = 0; return; }
    string_view const s = d.element(i), t(target, target_len);
    size_type bytes = s.size_bytes(), pos = s.find(t), last = 0;
    char* out = d_chars ? d_chars + d_offsets[i] : nullptr;
    while (pos >= 0) {
      if (out) {
        for (; last < pos; ++last) *out++ = s[last];
        for (size_type k = 0; k < repl_len; ++k) *out++ = repl[k];
      } else {
        bytes += repl_len - target_len;
      }
      last = pos + target_len;
      pos = s.find(t, last);
    }
    if (out) { for (; last < s.size_bytes(); ++last) *out++ = s[last]; }
    else d_sizes[i] = bytes;
  }
};

struct concat_fn {
  column_device_view a, b;
  char sep;
  size_type* d_sizes;
  char* d_chars;
  size_type const* d_offsets;
  __device__ void operator()(size_type i) const
  {
    if (!a.is_valid(i) || !b.is_valid(i)) { if (!d_chars) d_sizes[i] = 0; return; }
    string_view const x = a.element(i), y = b.element(i);
    if (!d_chars) { d_sizes[i] = x.size_bytes() + 1 + y.size_bytes(); return; }
    char* out = d_chars + d_offsets[i];
    for (size_type k = 0; k < x.size_bytes(); ++k) *out++ = x[k];
    *out++ = sep;
    for (size_type k = 0; k < y.size_bytes(); ++k) *out++ = y[k];
  }
};

template <typename SizeAndExecute>
__global__ void strings_for_each(SizeAndExecute fn, size_type n)
{
  auto const i = static_cast<size_type>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) fn(i);
}

// ------------------------------------------------------------------- scan
constexpr int SCAN_BLOCK = 256, SCAN_ITEMS = 4, SCAN_TILE = SCAN_BLOCK * SCAN_ITEMS;

__device__ size_type block_exclusive_scan(size_type v, size_type* warp_sums, size_type& total)
{
  int const lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  size_type inc = v;
  for (int o = 1; o < 32; o <<= 1) {
    size_type const t = __shfl_up_sync(0xffffffffu, inc, o);
    if (lane >= o) inc += t;
  }
  if (lane == 31) warp_sums[warp] = inc;
  __syncthreads();
  size_type before = 0, all = 0;
  for (int w = 0; w < SCAN_BLOCK / 32; ++w) {
    if (w < warp) before += warp_sums[w];
    all += warp_sums[w];
  }
  __syncthreads();
  total = all;
  return before + inc - v;
}

__global__ void scan_tiles(size_type const* in, size_type* out, size_type* tile_sums, size_type n)
{
  __shared__ size_type warp_sums[SCAN_BLOCK / 32];
  size_type const base = blockIdx.x * SCAN_TILE + threadIdx.x * SCAN_ITEMS;
  size_type v[SCAN_ITEMS], sum = 0;
  for (int k = 0; k < SCAN_ITEMS; ++k) { v[k] = base + k < n ? in[base + k] : 0; sum += v[k]; }
  size_type total, run = block_exclusive_scan(sum, warp_sums, total);
  for (int k = 0; k < SCAN_ITEMS; ++k) { if (base + k < n) out[base + k] = run; run += v[k]; }
  if (threadIdx.x == 0) tile_sums[blockIdx.x] = total;
}

__global__ void scan_sums(size_type* sums, size_type tiles, size_type* grand_total)
{
  __shared__ size_type warp_sums[SCAN_BLOCK / 32];
  size_type carry = 0;
  for (size_type b = 0; b < tiles; b += SCAN_BLOCK) {
    size_type const i = b + threadIdx.x;
    size_type const v = i < tiles ? sums[i] : 0;
    size_type total;
    size_type const e = block_exclusive_scan(v, warp_sums, total);
    if (i < tiles) sums[i] = carry + e;
    carry += total;
  }
  if (threadIdx.x == 0) *grand_total = carry;
}

__global__ void scan_apply(size_type* out, size_type const* sums, size_type n)
{
  for (int k = 0; k < SCAN_ITEMS; ++k) {
    size_type const i = blockIdx.x * SCAN_TILE + k * SCAN_BLOCK + threadIdx.x;
    if (i < n) out[i] += sums[blockIdx.x];
  }
}

// ----------------------------------------------------------------- gather
__global__ void gather_sizes(column_device_view d, size_type const* __restrict__ map, size_type* sizes, size_type n)
{
  size_type const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  size_type const src = map[i];
  sizes[i] = d.is_valid(src) ? d.offsets[src + 1] - d.offsets[src] : 0;
}

// a warp per row: head to alignment of the destination, then words, then the tail
__global__ void gather_chars_warp(column_device_view d, size_type const* map, char* out, size_type const* out_offsets, size_type n)
{
  int const lane = threadIdx.x % 32;
  for (size_type row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < n; row += gridDim.x * blockDim.x / 32) {
    size_type const begin = out_offsets[row], bytes = out_offsets[row + 1] - begin;
    if (bytes == 0) continue;
    char const* src = d.chars + d.offsets[map[row]];
    char* dst = out + begin;
    int const head = min(bytes, (4 - (begin & 3)) & 3);
    if (lane < head) dst[lane] = src[lane];
    int const words = (bytes - head) / 4;
    for (int w = lane; w < words; w += 32) {
      // the source may be misaligned: two aligned loads and a funnel shift
      auto const p = reinterpret_cast<uintptr_t>(src + head + 4 * w);
      auto const* q = reinterpret_cast<uint32_t const*>(p & ~uintptr_t{3});
      uint32_t const shift = (p & 3) * 8;
      uint32_t v = q[0];
      if (shift) v = __funnelshift_r(v, q[1], shift);
      *reinterpret_cast<uint32_t*>(dst + head + 4 * w) = v;
    }
    int const done = head + words * 4;
    if (lane < bytes - done) dst[done + lane] = src[done + lane];
  }
}

// a thread per output character: binary search of its row
__global__ void gather_chars_balanced(column_device_view d, size_type const* map, char* out, size_type const* out_offsets,
                                      size_type n, size_type total)
{
  extern __shared__ size_type s_offsets[];
  // the rows this block's characters can come from
  __shared__ size_type first_row, last_row;
  size_type const c0 = blockIdx.x * blockDim.x, c1 = min(c0 + (size_type)blockDim.x, total);
  auto upper = [&](size_type const* o, size_type lo, size_type hi, size_type x) {
    while (lo < hi) { size_type const m = (lo + hi) / 2; if (o[m] <= x) lo = m + 1; else hi = m; }
    return lo;
  };
  if (threadIdx.x == 0) first_row = upper(out_offsets, 0, n + 1, c0) - 1;
  if (threadIdx.x == 32) last_row = upper(out_offsets, 0, n + 1, c1 - 1) - 1;
  __syncthreads();
  size_type const rows = last_row - first_row + 1;
  bool const staged = rows <= 512;
  if (staged) for (size_type r = threadIdx.x; r < rows; r += blockDim.x) s_offsets[r] = out_offsets[first_row + r];
  __syncthreads();
  size_type const c = c0 + threadIdx.x;
  if (c >= total) return;
  size_type const row = staged ? first_row + upper(s_offsets, 0, rows, c) - 1 : upper(out_offsets, first_row, last_row + 1, c) - 1;
  out[c] = d.chars[d.offsets[map[row]] + (c - out_offsets[row])];
}

// --------------------------------------------------- conversions, predicates
__global__ void to_integers(column_device_view d, int64_t* out, bitmask_type* out_mask, size_type* null_count)
{
  size_type const i = blockIdx.x * blockDim.x + threadIdx.x;
  bool valid = false;
  if (i < d.size) {
    int64_t value = 0;
    if (d.is_valid(i)) {
      string_view const s = d.element(i);
      size_type k = 0;
      int sign = 1;
      if (s.size_bytes() && (s[0] == '-' || s[0] == '+')) { sign = s[0] == '-' ? -1 : 1; k = 1; }
      valid = k < s.size_bytes();
      for (; k < s.size_bytes(); ++k) {
        if (s[k] < '0' || s[k] > '9') { valid = false; break; }
        value = value * 10 + (s[k] - '0');
      }
      value *= sign;
    }
    out[i] = valid ? value : 0;
  }
  bitmask_type const word = __ballot_sync(0xffffffffu, valid);
  if ((threadIdx.x & 31) == 0 && i < d.size) {
    out_mask[i / 32] = word;
    int const rows = min(32, d.size - i);
    atomicAdd(null_count, rows - __popc(word));
  }
}

// ------------------------------------------------------------------- host
struct rmm_free { void operator()(void* p) const noexcept { cudaFree(p); } };
template <typename T> class device_buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(size_t n) : _n(n)
  {
    T* p; CUDF_TRY(cudaMalloc(&p, (n + 1) * sizeof(T) + 16)); _p.reset(p);
    CUDF_TRY(cudaMemset(p, 0, (n + 1) * sizeof(T) + 16));
  }
  explicit device_buffer(std::vector<T> const& h) : device_buffer(h.size()) { CUDF_TRY(cudaMemcpy(_p.get(), h.data(), _n * sizeof(T), cudaMemcpyHostToDevice)); }
  T* data() const { return _p.get(); }
  std::vector<T> host() const { std::vector<T> h(_n); CUDF_TRY(cudaMemcpy(h.data(), _p.get(), _n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
 private:
  std::unique_ptr<T, rmm_free> _p; size_t _n = 0;
};

using host_column = std::vector<std::optional<std::string>>;

struct strings_column {
  device_buffer<size_type> offsets; device_buffer<char> chars; device_buffer<bitmask_type> mask;
  size_type size = 0;
  strings_column() = default;
  explicit strings_column(host_column const& h) : size((size_type)h.size())
  {
    std::vector<size_type> o{0}; std::vector<char> c; std::vector<bitmask_type> m((h.size() + 31) / 32, 0);
    for (size_t i = 0; i < h.size(); ++i) {
      if (h[i]) { c.insert(c.end(), h[i]->begin(), h[i]->end()); m[i / 32] |= 1u << (i % 32); }
      o.push_back((size_type)c.size());
    }
    offsets = device_buffer<size_type>(o); chars = device_buffer<char>(c); mask = device_buffer<bitmask_type>(m);
  }
  column_device_view view() const { return {offsets.data(), chars.data(), mask.data(), size}; }
};

// sizes -> offsets (n + 1 of them); returns the number of characters
static size_type sizes_to_offsets(device_buffer<size_type> const& sizes, device_buffer<size_type>& offsets, size_type n)
{
  size_type const tiles = (n + SCAN_TILE - 1) / SCAN_TILE;
  device_buffer<size_type> sums(tiles);
  scan_tiles<<<tiles, SCAN_BLOCK>>>(sizes.data(), offsets.data(), sums.data(), n);
  scan_sums<<<1, SCAN_BLOCK>>>(sums.data(), tiles, offsets.data() + n);
  scan_apply<<<tiles, SCAN_BLOCK>>>(offsets.data(), sums.data(), n);
  size_type total;
  CUDF_TRY(cudaMemcpy(&total, offsets.data() + n, sizeof total, cudaMemcpyDeviceToHost));
  return total;
}

template <typename Fn> static std::vector<std::string> make_strings(Fn fn, size_type n)
{
  device_buffer<size_type> sizes(n), offsets(n + 1);
  fn.d_sizes = sizes.data(); fn.d_chars = nullptr; fn.d_offsets = offsets.data();
  int const tb = 128;
  strings_for_each<<<(n + tb - 1) / tb, tb>>>(fn, n);
  size_type const total = sizes_to_offsets(sizes, offsets, n);
  device_buffer<char> chars(total);
  fn.d_chars = chars.data();
  strings_for_each<<<(n + tb - 1) / tb, tb>>>(fn, n);
  CUDF_TRY(cudaGetLastError());
  auto o = offsets.host(); auto c = chars.host();
  std::vector<std::string> r(n);
  for (size_type i = 0; i < n; ++i) r[i].assign(c.data() + o[i], o[i + 1] - o[i]);
  return r;
}

int main()
{
  std::mt19937 rng(2020);
  size_type const n = 30011;
  host_column a(n), b(n);
  for (size_type i = 0; i < n; ++i) {
    if (rng() % 13) {
      std::string s;
      int const words = rng() % 6 + (rng() % 100 == 0 ? 30 : 0);
      for (int w = 0; w < words; ++w) {
        if (w) s += ' ';
        if (rng() % 4 == 0) s += "the";
        else for (int k = 1 + rng() % 9; k > 0; --k) s += char('a' + rng() % 26);
      }
      a[i] = s;
    }
    if (rng() % 17) {
      std::string s = std::to_string((long long)(int)rng() * (long long)(rng() % 3000));
      if (rng() % 10 == 0) s += 'x';
      b[i] = s;
    }
  }
  bool ok = true;
  auto report = [&](char const* what, size_t bad) { std::printf("%-20s %zu wrong rows\n", what, bad); ok &= bad == 0; };
  try {
    strings_column A(a), B(b);
    size_t bad = 0;
    auto up = make_strings(upper_fn{A.view()}, n);
    for (size_type i = 0; i < n; ++i) {
      std::string w = a[i].value_or("");
      for (char& c : w) c = (char)std::toupper((unsigned char)c);
      bad += w != up[i];
    }
    report("upper", bad);

    std::string const target = "the", repl = "some";
    device_buffer<char> dt(std::vector<char>(target.begin(), target.end())), dr(std::vector<char>(repl.begin(), repl.end()));
    auto rep = make_strings(replace_fn{A.view(), dt.data(), 3, dr.data(), 4}, n);
    bad = 0;
    for (size_type i = 0; i < n; ++i) {
      std::string w = a[i].value_or("");
      for (size_t p = w.find(target); p != std::string::npos; p = w.find(target, p + repl.size())) w.replace(p, 3, repl);
      bad += w != rep[i];
    }
    report("replace", bad);

    auto cat = make_strings(concat_fn{A.view(), B.view(), ';'}, n);
    bad = 0;
    for (size_type i = 0; i < n; ++i) bad += cat[i] != (a[i] && b[i] ? *a[i] + ";" + *b[i] : std::string());
    report("concatenate", bad);

    // gather through a permutation followed by random repeats
    std::vector<size_type> map(n);
    for (size_type i = 0; i < n; ++i) map[i] = i;
    std::shuffle(map.begin(), map.end(), rng);
    for (int i = 0; i < 5000; ++i) map.push_back((size_type)(rng() % n));
    size_type const m = (size_type)map.size();
    device_buffer<size_type> dmap(map), sizes(m), offsets(m + 1);
    gather_sizes<<<(m + 255) / 256, 256>>>(A.view(), dmap.data(), sizes.data(), m);
    size_type const total = sizes_to_offsets(sizes, offsets, m);
    auto o = offsets.host();
    for (int variant = 0; variant < 2; ++variant) {
      device_buffer<char> chars(total);
      if (variant == 0) gather_chars_warp<<<264, 256>>>(A.view(), dmap.data(), chars.data(), offsets.data(), m);
      else gather_chars_balanced<<<(total + 255) / 256, 256, 512 * sizeof(size_type)>>>(A.view(), dmap.data(), chars.data(), offsets.data(), m, total);
      CUDF_TRY(cudaGetLastError());
      auto c = chars.host();
      bad = 0;
      for (size_type i = 0; i < m; ++i) bad += std::string(c.data() + o[i], o[i + 1] - o[i]) != a[map[i]].value_or("");
      report(variant ? "gather, balanced" : "gather, warp", bad);
    }

    device_buffer<int64_t> ints(n);
    device_buffer<bitmask_type> imask((n + 31) / 32);
    device_buffer<size_type> nulls(1);
    to_integers<<<(n + 255) / 256, 256>>>(B.view(), ints.data(), imask.data(), nulls.data());
    CUDF_TRY(cudaGetLastError());
    auto hi = ints.host(); auto hm = imask.host();
    bad = 0;
    size_type want_nulls = 0;
    for (size_type i = 0; i < n; ++i) {
      bool const v = b[i] && b[i]->back() != 'x';
      want_nulls += !v;
      bad += v != (bool)((hm[i / 32] >> (i % 32)) & 1) || hi[i] != (v ? std::stoll(*b[i]) : 0);
    }
    bad += nulls.host()[0] != want_nulls;
    report("to_integers", bad);
    CUDF_TRY(cudaDeviceSynchronize());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
