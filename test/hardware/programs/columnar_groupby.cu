/*
 * Columnar dataframe primitives: fixed width columns with validity bitmaps, predicate ->
 * stream compaction, gather with null propagation, murmur3 row hashing of a string column and
 * a hash based group-by aggregation.
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDF_CUDA_TRY(call)                                                                          \
  do {                                                                                               \
    cudaError_t const status = (call);                                                               \
    if (cudaSuccess != status) {                                                                     \
      throw std::runtime_error(std::string{"CUDA error at: "} + __FILE__ + ":" +                     \
                               std::to_string(__LINE__) + ": " + cudaGetErrorString(status));        \
    }                                                                                                \
  } while (0)

namespace mini_df {

using size_type    = int32_t;
using bitmask_type = uint32_t;

namespace detail {
constexpr size_type warp_size{32};

template <typename T>
struct device_buffer {
  T* ptr{nullptr};
  std::size_t n{0};
  device_buffer() = default;
  explicit device_buffer(std::size_t n_) : n(n_) { CUDF_CUDA_TRY(cudaMalloc(&ptr, std::max<std::size_t>(n, 1) * sizeof(T))); }
  explicit device_buffer(std::vector<T> const& h) : device_buffer(h.size())
  {
    CUDF_CUDA_TRY(cudaMemcpy(ptr, h.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  device_buffer(device_buffer&& o) noexcept : ptr(o.ptr), n(o.n) { o.ptr = nullptr; }
  device_buffer(device_buffer const&) = delete;
  ~device_buffer() { cudaFree(ptr); }
  std::vector<T> to_host() const
  {
    std::vector<T> h(n);
    CUDF_CUDA_TRY(cudaMemcpy(h.data(), ptr, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
};
}  // namespace detail

constexpr __host__ __device__ size_type word_index(size_type bit) { return bit / 32; }
constexpr __host__ __device__ size_type num_bitmask_words(size_type bits) { return (bits + 31) / 32; }

/// Non-owning view of a fixed width column
template <typename T>
struct column_device_view {
  T* _data;
  bitmask_type* _null_mask;
  size_type _size;

  __device__ T element(size_type i) const noexcept { return _data[i]; }
  __device__ bool is_valid(size_type i) const noexcept { return (_null_mask[word_index(i)] >> (i % 32)) & 1u; }
  __device__ bool is_null(size_type i) const noexcept { return !is_valid(i); }
  __host__ __device__ size_type size() const noexcept { return _size; }
};

struct string_view {
  char const* data;
  size_type bytes;
};

struct strings_column_device_view {
  char const* chars;
  size_type const* offsets;
  size_type _size;
  __device__ string_view element(size_type i) const { return {chars + offsets[i], offsets[i + 1] - offsets[i]}; }
};

// ------------------------------------------------------------------ predicates
struct greater_than {
  int32_t threshold;
  __device__ bool operator()(int32_t v) const { return v > threshold; }
};

/// Evaluates the predicate and packs the result with ballots, also counts per block
template <int block_size, typename T, typename Predicate>
__global__ void valid_if_kernel(column_device_view<T> in, Predicate p, bitmask_type* out, size_type* block_counts)
{
  static_assert(block_size % detail::warp_size == 0, "");
  constexpr int num_warps = block_size / detail::warp_size;
  __shared__ size_type warp_counts[num_warps];
  size_type const i   = threadIdx.x + blockIdx.x * block_size;
  int const lane      = threadIdx.x % detail::warp_size;
  bool const selected = i < in.size() && in.is_valid(i) && p(in.element(i));

  bitmask_type const word = __ballot_sync(0xffff'ffffu, selected);
  if (lane == 0) {
    if (i < in.size()) { out[word_index(i)] = word; }
    warp_counts[threadIdx.x / detail::warp_size] = __popc(word);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    size_type sum{0};
    for (int w = 0; w < num_warps; ++w) sum += warp_counts[w];
    block_counts[blockIdx.x] = sum;
  }
}

/// Writes the indices of the selected rows; block_offsets holds the exclusive scan of the counts
template <int block_size>
__global__ void scatter_indices_kernel(bitmask_type const* __restrict__ mask,
                                       size_type const* __restrict__ block_offsets,
                                       size_type size,
                                       size_type* __restrict__ gather_map)
{
  constexpr int words_per_block = block_size / detail::warp_size;
  __shared__ size_type word_offsets[words_per_block];
  size_type const i = threadIdx.x + blockIdx.x * block_size;
  size_type const w = word_index(i);
  bitmask_type const word = i < size ? mask[w] : 0u;
  int const lane = threadIdx.x % detail::warp_size, wid = threadIdx.x / detail::warp_size;
  if (lane == 0) word_offsets[wid] = __popc(word);
  __syncthreads();
  size_type offset = block_offsets[blockIdx.x];
  for (int k = 0; k < wid; ++k) offset += word_offsets[k];
  if ((word >> lane) & 1u) { gather_map[offset + __popc(word & ((1u << lane) - 1u))] = i; }
}

template <typename T>
__global__ void gather_kernel(column_device_view<T const> src_, bitmask_type const* src_mask, size_type const* gather_map, column_device_view<T> dst)
{
  size_type i = threadIdx.x + blockIdx.x * blockDim.x;
  auto active = __ballot_sync(0xffff'ffffu, i < dst.size());
  if (i < dst.size()) {
    auto const src_row = gather_map[i];
    dst._data[i]       = src_._data[src_row];
    bool const valid   = (src_mask[word_index(src_row)] >> (src_row % 32)) & 1u;
    auto const word    = __ballot_sync(active, valid);
    if (threadIdx.x % detail::warp_size == 0) dst._null_mask[word_index(i)] = word;
  }
}

// ------------------------------------------------------------------ murmur3 over strings
__host__ __device__ inline uint32_t rotl32(uint32_t x, int8_t r) { return (x << r) | (x >> (32 - r)); }
__host__ __device__ inline uint32_t fmix32(uint32_t h)
{
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  h ^= h >> 16;
  return h;
}

__host__ __device__ inline uint32_t murmur3_32(char const* data, size_type len, uint32_t seed)
{
  constexpr uint32_t c1 = 0xcc9e2d51, c2 = 0x1b873593;
  auto const getblock32 = [](uint8_t const* q) {
    return uint32_t{q[0]} | (uint32_t{q[1]} << 8) | (uint32_t{q[2]} << 16) | (uint32_t{q[3]} << 24);
  };
  auto const* bytes       = reinterpret_cast<uint8_t const*>(data);
  size_type const nblocks = len / 4;
  uint32_t h1             = seed;
  for (size_type i = 0; i < nblocks; ++i) {
    uint32_t k1 = getblock32(bytes + i * 4);
    k1 *= c1;
    k1 = rotl32(k1, 15);
    k1 *= c2;
    h1 ^= k1;
    h1 = rotl32(h1, 13);
    h1 = h1 * 5 + 0xe6546b64;
  }
  uint32_t k1 = 0;
  for (size_type t = len & 3; t > 0; --t) k1 = (k1 << 8) | bytes[nblocks * 4 + t - 1];
  if (len & 3) {
    k1 *= c1;
    k1 = rotl32(k1, 15);
    k1 *= c2;
    h1 ^= k1;
  }
  h1 ^= static_cast<uint32_t>(len);
  return fmix32(h1);
}

__global__ void hash_strings_kernel(strings_column_device_view col, uint32_t seed, uint32_t* out)
{
  auto const stride = static_cast<size_type>(blockDim.x * gridDim.x);
  for (size_type i = threadIdx.x + blockIdx.x * blockDim.x; i < col._size; i += stride) {
    auto const s = col.element(i);
    out[i]       = murmur3_32(s.data, s.bytes, seed);
  }
}

// ------------------------------------------------------------------ hash group by
struct alignas(16) agg_result {
  unsigned long long sum;
  int32_t count;
  int32_t max;
};

constexpr int64_t unused_key = std::numeric_limits<int64_t>::max();

__global__ void initialize_table(int64_t* keys, agg_result* aggs, size_type capacity)
{
  size_type i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < capacity) {
    keys[i] = unused_key;
    aggs[i] = agg_result{0ull, 0, INT32_MIN};
  }
}

__device__ inline size_type find_or_insert(int64_t* keys, size_type capacity, int64_t key)
{
  auto slot = static_cast<size_type>(fmix32(static_cast<uint32_t>(key ^ (key >> 32))) & (capacity - 1));
  while (true) {
    int64_t const existing = static_cast<int64_t>(
      atomicCAS(reinterpret_cast<unsigned long long*>(&keys[slot]), static_cast<unsigned long long>(unused_key), static_cast<unsigned long long>(key)));
    if (existing == unused_key || existing == key) return slot;
    slot = (slot + 1) & (capacity - 1);
  }
}

__global__ void groupby_aggregate_kernel(column_device_view<int64_t> keys_col,
                                         column_device_view<int32_t> values,
                                         int64_t* table_keys,
                                         agg_result* table_aggs,
                                         size_type capacity)
{
  for (size_type i = threadIdx.x + blockIdx.x * blockDim.x; i < keys_col.size(); i += blockDim.x * gridDim.x) {
    if (keys_col.is_null(i)) continue;
    auto const slot = find_or_insert(table_keys, capacity, keys_col.element(i));
    if (values.is_valid(i)) {
      int32_t const v = values.element(i);
      atomicAdd(&table_aggs[slot].sum, static_cast<unsigned long long>(static_cast<long long>(v)));
      atomicAdd(&table_aggs[slot].count, 1);
      atomicMax(&table_aggs[slot].max, v);
    }
  }
}

}  // namespace mini_df

using namespace mini_df;
using detail::device_buffer;

int main(int argc, char** argv)
{
  try {
    size_type const num_rows = argc > 1 ? std::atoi(argv[1]) : 150001;
    constexpr int block_size = 256;
    auto const grid          = [](size_type n) { return (n + block_size - 1) / block_size; };

    std::mt19937 eng(42);
    std::vector<int64_t> h_keys(num_rows);
    std::vector<int32_t> h_vals(num_rows);
    std::vector<bitmask_type> h_kmask(num_bitmask_words(num_rows), 0), h_vmask(num_bitmask_words(num_rows), 0);
    std::vector<size_type> h_offsets{0};
    std::string h_chars;
    for (size_type i = 0; i < num_rows; ++i) {
      h_keys[i] = (static_cast<int64_t>(eng() % 5000) * 1000003LL) << (eng() % 2);
      h_vals[i] = static_cast<int32_t>(eng() % 20001) - 10000;
      if (eng() % 16) h_kmask[word_index(i)] |= 1u << (i % 32);
      if (eng() % 8) h_vmask[word_index(i)] |= 1u << (i % 32);
      for (unsigned k = eng() % 20; k > 0; --k) h_chars.push_back(static_cast<char>('a' + eng() % 26));
      h_offsets.push_back(static_cast<size_type>(h_chars.size()));
    }
    auto const bit = [](std::vector<bitmask_type> const& m, size_type i) { return (m[i / 32] >> (i % 32)) & 1u; };

    device_buffer<int64_t> d_keys(h_keys);
    device_buffer<int32_t> d_vals(h_vals);
    device_buffer<bitmask_type> d_kmask(h_kmask), d_vmask(h_vmask);
    device_buffer<size_type> d_offsets(h_offsets);
    device_buffer<char> d_chars(std::vector<char>(h_chars.begin(), h_chars.end()));
    column_device_view<int64_t> keys{d_keys.ptr, d_kmask.ptr, num_rows};
    column_device_view<int32_t> vals{d_vals.ptr, d_vmask.ptr, num_rows};

    // filter: value > 2500 and not null
    device_buffer<bitmask_type> d_sel(num_bitmask_words(num_rows));
    device_buffer<size_type> d_counts(grid(num_rows));
    valid_if_kernel<block_size><<<grid(num_rows), block_size>>>(vals, greater_than{2500}, d_sel.ptr, d_counts.ptr);
    CUDF_CUDA_TRY(cudaGetLastError());
    auto counts = d_counts.to_host();
    size_type total = 0;
    for (auto& c : counts) { size_type const t = c; c = total; total += t; }
    device_buffer<size_type> d_block_offsets(counts), d_map(total);
    scatter_indices_kernel<block_size><<<grid(num_rows), block_size>>>(d_sel.ptr, d_block_offsets.ptr, num_rows, d_map.ptr);

    // gather the key column through the map
    device_buffer<int64_t> d_gk(total);
    device_buffer<bitmask_type> d_gmask(num_bitmask_words(total));
    gather_kernel<int64_t><<<grid(total), block_size>>>(column_device_view<int64_t const>{d_keys.ptr, nullptr, num_rows}, d_kmask.ptr, d_map.ptr, column_device_view<int64_t>{d_gk.ptr, d_gmask.ptr, total});
    CUDF_CUDA_TRY(cudaGetLastError());

    // hash
    device_buffer<uint32_t> d_hash(num_rows);
    hash_strings_kernel<<<120, block_size>>>(strings_column_device_view{d_chars.ptr, d_offsets.ptr, num_rows}, 0x1234u, d_hash.ptr);

    // group by
    size_type const capacity = 1 << 15;
    device_buffer<int64_t> t_keys(capacity);
    device_buffer<agg_result> t_aggs(capacity);
    initialize_table<<<grid(capacity), block_size>>>(t_keys.ptr, t_aggs.ptr, capacity);
    groupby_aggregate_kernel<<<200, block_size>>>(keys, vals, t_keys.ptr, t_aggs.ptr, capacity);
    CUDF_CUDA_TRY(cudaGetLastError());
    CUDF_CUDA_TRY(cudaDeviceSynchronize());

    std::size_t errors = 0;
    auto const map = d_map.to_host();
    auto const gk  = d_gk.to_host();
    auto const gm  = d_gmask.to_host();
    size_type pos  = 0;
    for (size_type i = 0; i < num_rows; ++i) {
      if (!(bit(h_vmask, i) && h_vals[i] > 2500)) continue;
      if (pos >= total || map[pos] != i || gk[pos] != h_keys[i] || bit(gm, pos) != bit(h_kmask, i)) ++errors;
      ++pos;
    }
    if (pos != total) ++errors;
    auto const hashes = d_hash.to_host();
    for (size_type i = 0; i < num_rows; ++i)
      errors += hashes[i] != murmur3_32(h_chars.data() + h_offsets[i], h_offsets[i + 1] - h_offsets[i], 0x1234u);

    struct ref_t { long long sum = 0; int32_t count = 0, max = INT32_MIN; };
    std::map<int64_t, ref_t> ref;
    for (size_type i = 0; i < num_rows; ++i) {
      if (!bit(h_kmask, i)) continue;
      auto& r = ref[h_keys[i]];
      if (!bit(h_vmask, i)) continue;
      r.sum += h_vals[i];
      r.count++;
      r.max = std::max(r.max, h_vals[i]);
    }
    auto const rk = t_keys.to_host();
    auto const ra = t_aggs.to_host();
    std::size_t groups = 0;
    for (size_type s = 0; s < capacity; ++s) {
      if (rk[s] == unused_key) continue;
      ++groups;
      auto it = ref.find(rk[s]);
      if (it == ref.end() || it->second.sum != static_cast<long long>(ra[s].sum) || it->second.count != ra[s].count || it->second.max != ra[s].max) ++errors;
    }
    if (groups != ref.size()) ++errors;
    std::cout << "rows " << num_rows << " selected " << total << " groups " << groups << " errors " << errors << std::endl;
    std::cout << (errors == 0 ? "PASS" : "FAIL") << std::endl;
    return errors == 0 ? 0 : 1;
  } catch (std::exception const& e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
}
