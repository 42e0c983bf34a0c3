// Column-chunk decoding for a Parquet-like file held in memory: RLE / bit-packed hybrid runs for definition
// levels and dictionary indices, dictionary gather for fixed-width and string columns, DELTA_BINARY_PACKED
// integers, and byte-stream-split floats. One block per page, the way a GPU reader does it.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#define CUDF_CUDA_TRY(call)                                                                     \
  do {                                                                                          \
    cudaError_t const status = (call);                                                          \
    if (cudaSuccess != status) { std::fprintf(stderr, "CUDA error %s:%d\n", __FILE__, __LINE__); std::abort(); } \
  } while (0)

namespace io::parquet::gpu {

using size_type = int32_t;

struct run_header { int32_t out_begin; int32_t count; int32_t byte_offset; uint32_t value; };  // byte_offset < 0: RLE of value
struct page_info {
  int32_t first_run, num_runs;   // runs of this page
  int32_t first_row, num_rows;
  int32_t bit_width;
};
struct delta_block { int32_t out_begin, count, bit_width, byte_offset; int64_t min_delta, first_value; };

// Unaligned little-endian bit field out of a byte stream
__device__ __forceinline__ uint32_t read_bits(uint8_t const* __restrict__ p, uint32_t bit, int width)
{
  uint8_t const* q = p + (bit >> 3);
  uint64_t w = 0;
#pragma unroll
  for (int i = 0; i < 5; i++) w |= static_cast<uint64_t>(q[i]) << (8 * i);
  return static_cast<uint32_t>(w >> (bit & 7)) & (width == 32 ? 0xffffffffu : (1u << width) - 1);
}

// runs are found by a binary search over a shared copy of the run starts
template <int BLOCK, int MAX_RUNS>
__global__ void __launch_bounds__(BLOCK) decode_hybrid(page_info const* __restrict__ pages, run_header const* __restrict__ runs,
                                                       uint8_t const* __restrict__ data, int32_t* __restrict__ out)
{
  __shared__ int32_t starts[MAX_RUNS];
  __shared__ page_info page;
  if (threadIdx.x == 0) page = pages[blockIdx.x];
  __syncthreads();
  for (int i = threadIdx.x; i < page.num_runs; i += BLOCK) starts[i] = runs[page.first_run + i].out_begin;
  __syncthreads();
  for (int i = threadIdx.x; i < page.num_rows; i += BLOCK) {
    int lo = 0, hi = page.num_runs - 1;
    while (lo < hi) {
      int const mid = (lo + hi + 1) >> 1;
      if (starts[mid] <= i) lo = mid; else hi = mid - 1;
    }
    run_header const r = runs[page.first_run + lo];
    out[page.first_row + i] = r.byte_offset < 0 ? static_cast<int32_t>(r.value)
                                                : static_cast<int32_t>(read_bits(data + r.byte_offset, (i - r.out_begin) * page.bit_width, page.bit_width));
  }
}

// definition levels -> validity bitmask words plus the rank of each valid row inside its page
template <int BLOCK>
__global__ void validity_and_rank(page_info const* __restrict__ pages, int32_t const* __restrict__ levels, uint32_t* __restrict__ bitmask,
                                  int32_t* __restrict__ rank, int32_t* __restrict__ page_valid)
{
  __shared__ int32_t warp_count[BLOCK / 32];
  __shared__ int32_t base;
  page_info const page = pages[blockIdx.x];
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) base = 0;
  for (int start = 0; start < page.num_rows; start += BLOCK) {
    int const i = start + threadIdx.x;
    bool const valid = i < page.num_rows && levels[page.first_row + i] == 1;
    uint32_t const b = __ballot_sync(0xffffffffu, valid);
    if (lane == 0) {
      warp_count[warp] = __popc(b);
      if (i < page.num_rows) bitmask[(page.first_row + i) / 32] = b;  // pages hold a multiple of 32 rows, except the last
    }
    __syncthreads();
    int before = base;
    for (int w = 0; w < warp; w++) before += warp_count[w];
    if (i < page.num_rows) rank[page.first_row + i] = valid ? before + __popc(b & ((1u << lane) - 1)) : -1;
    __syncthreads();
    if (threadIdx.x == 0) for (int w = 0; w < BLOCK / 32; w++) base += warp_count[w];
    __syncthreads();
  }
  if (threadIdx.x == 0) page_valid[blockIdx.x] = base;
}

struct row_value { double price; int32_t qty; int32_t code; };  // 16-byte dictionary entries

template <typename T>
__global__ void gather_dictionary(T const* __restrict__ dict, int32_t const* __restrict__ index, int32_t const* __restrict__ rank,
                                  page_info const* __restrict__ pages, int rows_per_page, T* __restrict__ out, int n, T null_value)
{
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int const r = rank[i];
  out[i] = r < 0 ? null_value : dict[index[pages[i / rows_per_page].first_row + r]];
}

// a warp per string: offsets are known already, bytes are copied lane by lane
__global__ void copy_strings(char const* __restrict__ dict_chars, int32_t const* __restrict__ dict_offsets, int32_t const* __restrict__ index,
                             int32_t const* __restrict__ rank, page_info const* __restrict__ pages, int rows_per_page,
                             int32_t const* __restrict__ out_offsets, char* __restrict__ out, int n)
{
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i >= n || rank[i] < 0) return;
  int const d = index[pages[i / rows_per_page].first_row + rank[i]];
  char const* src = dict_chars + dict_offsets[d];
  int const len = dict_offsets[d + 1] - dict_offsets[d];
  char* dst = out + out_offsets[i];
  for (int k = lane; k < len; k += 32) dst[k] = src[k];
}

// DELTA_BINARY_PACKED: a warp per mini block of 32 deltas, inclusive scan over the lanes
__global__ void decode_delta(delta_block const* __restrict__ blocks, int num_blocks, uint8_t const* __restrict__ data, int64_t* __restrict__ out)
{
  int const b = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (b >= num_blocks) return;
  delta_block const db = blocks[b];
  int64_t v = lane < db.count ? db.min_delta + read_bits(data + db.byte_offset, lane * db.bit_width, db.bit_width) : 0;
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    int64_t const u = __shfl_up_sync(0xffffffffu, static_cast<long long>(v), o);
    if (lane >= o) v += u;
  }
  if (lane < db.count) out[db.out_begin + lane] = db.first_value + v;
}

// BYTE_STREAM_SPLIT: the four byte planes of n floats
__global__ void byte_stream_split(uint8_t const* __restrict__ planes, float* __restrict__ out, int n)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint32_t w = 0;
    for (int k = 0; k < 4; k++) w |= static_cast<uint32_t>(planes[static_cast<size_t>(k) * n + i]) << (8 * k);
    out[i] = __uint_as_float(w);
  }
}

}  // namespace io::parquet::gpu

namespace {
using namespace io::parquet::gpu;

struct hybrid_writer {
  std::vector<uint8_t> bytes;
  std::vector<run_header> runs;
  void pack(std::vector<uint32_t> const& v, int width)
  {
    size_t const at = bytes.size();
    bytes.resize(at + (v.size() * width + 7) / 8, 0);
    for (size_t i = 0; i < v.size(); i++) for (int b = 0; b < width; b++) if (v[i] >> b & 1) bytes[at + (i * width + b) / 8] |= 1u << ((i * width + b) % 8);
  }
  page_info page(std::vector<uint32_t> const& v, int first_row, int width)
  {
    page_info p{static_cast<int32_t>(runs.size()), 0, first_row, static_cast<int32_t>(v.size()), width};
    for (size_t i = 0; i < v.size();) {
      size_t j = i;
      while (j < v.size() && v[j] == v[i]) ++j;
      if (j - i >= 8) { runs.push_back({int32_t(i), int32_t(j - i), -1, v[i]}); i = j; continue; }
      size_t e = std::min(v.size(), i + 40);
      runs.push_back({int32_t(i), int32_t(e - i), int32_t(bytes.size()), 0});
      pack({v.begin() + i, v.begin() + e}, width);
      i = e;
    }
    p.num_runs = static_cast<int32_t>(runs.size()) - p.first_run;
    return p;
  }
};

template <typename T> T* to_device(std::vector<T> const& h)
{
  T* d;
  CUDF_CUDA_TRY(cudaMalloc(&d, (h.size() + 16) * sizeof(T)));
  CUDF_CUDA_TRY(cudaMemset(d, 0, (h.size() + 16) * sizeof(T)));
  CUDF_CUDA_TRY(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}
template <typename T> bool same(char const* what, T const* d, std::vector<T> const& ref)
{
  std::vector<T> h(ref.size());
  CUDF_CUDA_TRY(cudaMemcpy(h.data(), d, h.size() * sizeof(T), cudaMemcpyDeviceToHost));
  bool const ok = std::memcmp(h.data(), ref.data(), h.size() * sizeof(T)) == 0;
  std::printf("%-12s %zu values %s\n", what, ref.size(), ok ? "ok" : "DIFFER");
  return ok;
}
}  // namespace

int main(int argc, char** argv)
{
  int const n = argc > 1 ? std::atoi(argv[1]) : 50003, page_rows = 1984, D = 300;
  std::mt19937 rng(123);
  std::vector<std::optional<uint32_t>> col(n);
  for (int i = 0; i < n; i++) if (rng() % 6) col[i] = i && rng() % 3 && col[i - 1] ? *col[i - 1] : rng() % D;
  hybrid_writer lw, iw;
  std::vector<page_info> lp, ip;
  std::vector<int32_t> levels(n), index(n, 0), rank(n), valid_per_page;
  std::vector<uint32_t> mask((n + 31) / 32, 0);
  for (int f = 0; f < n; f += page_rows) {
    std::vector<uint32_t> l, x;
    for (int i = f; i < std::min(n, f + page_rows); i++) {
      l.push_back(col[i].has_value()); levels[i] = col[i].has_value(); rank[i] = col[i] ? int(x.size()) : -1;
      if (col[i]) { index[f + x.size()] = *col[i]; x.push_back(*col[i]); mask[i / 32] |= 1u << (i % 32); }
    }
    valid_per_page.push_back(int(x.size()));
    lp.push_back(lw.page(l, f, 1));
    ip.push_back(iw.page(x, f, 9));
  }
  std::vector<row_value> dict(D);
  std::string chars;
  std::vector<int32_t> doff{0};
  for (int d = 0; d < D; d++) { dict[d] = {d * 1.25, d * 3, d ^ 77}; chars += std::string(1 + d * 7 % 45, char('a' + d % 26)); doff.push_back(int(chars.size())); }

  int const pages = int(lp.size());
  auto *d_lp = to_device(lp), *d_ip = to_device(ip);
  auto *d_lr = to_device(lw.runs), *d_ir = to_device(iw.runs);
  auto *d_lb = to_device(lw.bytes), *d_ib = to_device(iw.bytes);
  auto *d_lev = to_device(std::vector<int32_t>(n)), *d_idx = to_device(std::vector<int32_t>(n)), *d_rank = to_device(std::vector<int32_t>(n));
  auto *d_mask = to_device(std::vector<uint32_t>(mask.size())); auto *d_pv = to_device(std::vector<int32_t>(pages));
  auto *d_dict = to_device(dict); auto *d_fix = to_device(std::vector<row_value>(n));
  row_value const nul{0.0, -1, -1};
  decode_hybrid<256, 2048><<<pages, 256>>>(d_lp, d_lr, d_lb, d_lev);
  decode_hybrid<256, 2048><<<pages, 256>>>(d_ip, d_ir, d_ib, d_idx);
  validity_and_rank<128><<<pages, 128>>>(d_lp, d_lev, d_mask, d_rank, d_pv);
  gather_dictionary<row_value><<<(n + 127) / 128, 128>>>(d_dict, d_idx, d_rank, d_lp, page_rows, d_fix, n, nul);

  std::vector<row_value> fix(n);
  std::vector<int32_t> soff{0};
  std::vector<char> sref;
  for (int i = 0; i < n; i++) {
    fix[i] = col[i] ? dict[*col[i]] : nul;
    if (col[i]) sref.insert(sref.end(), chars.begin() + doff[*col[i]], chars.begin() + doff[*col[i] + 1]);
    soff.push_back(int(sref.size()));
  }
  auto *d_chars = to_device(std::vector<char>(chars.begin(), chars.end())); auto *d_doff = to_device(doff), *d_soff = to_device(soff);
  auto *d_str = to_device(std::vector<char>(sref.size()));
  copy_strings<<<(n + 7) / 8, 256>>>(d_chars, d_doff, d_idx, d_rank, d_lp, page_rows, d_soff, d_str, n);

  std::vector<int64_t> ints(n);
  int64_t cur = 1700000000000LL;
  for (auto& v : ints) v = cur += int(rng() % 2000) - 300;
  hybrid_writer dw;
  std::vector<delta_block> blocks;
  for (int f = 1; f < n; f += 32) {   // value 0 lives in the page header
    int const c = std::min(32, n - f);
    int64_t mn = INT64_MAX, mx = INT64_MIN;
    for (int i = f; i < f + c; i++) { mn = std::min(mn, ints[i] - ints[i - 1]); mx = std::max(mx, ints[i] - ints[i - 1]); }
    int width = 1;
    while ((mx - mn) >> width) ++width;
    blocks.push_back({f, c, width, int(dw.bytes.size()), mn, ints[f - 1]});
    std::vector<uint32_t> dl;
    for (int i = f; i < f + c; i++) dl.push_back(uint32_t(ints[i] - ints[i - 1] - mn));
    dw.pack(dl, width);
  }
  auto *d_db = to_device(blocks); auto *d_dbytes = to_device(dw.bytes); auto *d_int = to_device(std::vector<int64_t>(1, ints[0]));
  cudaFree(d_int);
  d_int = to_device(std::vector<int64_t>(n, ints[0]));
  decode_delta<<<(int(blocks.size()) + 3) / 4, 128>>>(d_db, int(blocks.size()), d_dbytes, d_int);

  std::vector<float> fl(n);
  std::vector<uint8_t> planes(size_t(n) * 4);
  for (int i = 0; i < n; i++) { fl[i] = float(rng() % 100000) / 7.f; uint32_t w; std::memcpy(&w, &fl[i], 4); for (int k = 0; k < 4; k++) planes[size_t(k) * n + i] = uint8_t(w >> (8 * k)); }
  auto *d_pl = to_device(planes); auto *d_fl = to_device(std::vector<float>(n));
  byte_stream_split<<<48, 192>>>(d_pl, d_fl, n);
  CUDF_CUDA_TRY(cudaDeviceSynchronize());

  bool ok = same("levels", d_lev, levels);
  ok &= same("indices", d_idx, index);
  ok &= same("rank", d_rank, rank);
  ok &= same("bitmask", d_mask, mask);
  ok &= same("page valid", d_pv, valid_per_page);
  ok &= same("fixed", d_fix, fix);
  ok &= same("strings", d_str, sref);
  ok &= same("delta", d_int, ints);
  ok &= same("bss", d_fl, fl);
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
