// nvcc: -std=c++17
// A static-capacity concurrent hash map in the spirit of the usual GPU
// container libraries: probing schemes as policies, cooperative tiles,
// packed 64-bit slots, and a bucketed variant where a tile reads a bucket.
#include <cooperative_groups.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <unordered_map>
#include <vector>

namespace cg = cooperative_groups;

#define GPU_TRY(expr)                                                                     \
  do {                                                                                    \
    if (cudaError_t const err = (expr); err != cudaSuccess) {                             \
      std::fprintf(stderr, "%s failed: %s (%d)\n", #expr, cudaGetErrorString(err), __LINE__); \
      std::exit(3);                                                                       \
    }                                                                                     \
  } while (false)

namespace gmap {

using key_type    = std::uint32_t;
using mapped_type = std::uint32_t;
using slot_type   = unsigned long long;

inline constexpr key_type empty_key     = 0xFFFFFFFFu;
inline constexpr mapped_type empty_val  = 0xFFFFFFFFu;
inline constexpr slot_type empty_slot   = ~0ull;

__host__ __device__ constexpr slot_type make_slot(key_type k, mapped_type v)
{
  return (static_cast<slot_type>(v) << 32) | k;
}
__host__ __device__ constexpr key_type slot_key(slot_type s) { return static_cast<key_type>(s); }
__host__ __device__ constexpr mapped_type slot_val(slot_type s) { return static_cast<mapped_type>(s >> 32); }

struct murmur_finalizer {
  __host__ __device__ constexpr std::uint32_t operator()(key_type h) const
  {
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
  }
};

template <class Hash>
struct linear_probing {
  std::uint32_t mask;
  __device__ std::uint32_t start(key_type k) const { return Hash{}(k) & mask; }
  __device__ std::uint32_t next(std::uint32_t pos, key_type) const { return (pos + 1) & mask; }
};

template <class Hash>
struct double_hashing {
  std::uint32_t mask;
  __device__ std::uint32_t start(key_type k) const { return Hash{}(k) & mask; }
  __device__ std::uint32_t next(std::uint32_t pos, key_type k) const
  {
    return (pos + ((Hash{}(k ^ 0x9e3779b9u) << 1) | 1u)) & mask;
  }
};

template <class Probe>
struct map_ref {
  slot_type* slots;
  Probe probe;

  __device__ bool insert(key_type k, mapped_type v) const
  {
    auto pos          = probe.start(k);
    slot_type desired = make_slot(k, v);
    while (true) {
      slot_type seen = slots[pos];
      if (seen == empty_slot) {
        seen = atomicCAS(&slots[pos], empty_slot, desired);
        if (seen == empty_slot) { return true; }
      }
      if (slot_key(seen) == k) { return false; }
      pos = probe.next(pos, k);
    }
  }

  __device__ mapped_type find(key_type k) const
  {
    auto pos = probe.start(k);
    while (true) {
      slot_type const seen = slots[pos];
      if (slot_key(seen) == k) { return slot_val(seen); }
      if (seen == empty_slot) { return empty_val; }
      pos = probe.next(pos, k);
    }
  }
};

template <int BucketSize>
struct bucket_ref {
  slot_type* slots;
  std::uint32_t bucket_mask;
};

}  // namespace gmap

using namespace gmap;

__global__ void fill_slots(slot_type* slots, std::size_t n)
{
  std::size_t const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
    slots[i] = empty_slot;
  }
}

template <class Ref>
__global__ void insert_kernel(Ref ref, uint2 const* __restrict__ pairs, int n, unsigned* inserted)
{
  int const tid = blockIdx.x * blockDim.x + threadIdx.x;
  bool fresh    = false;
  if (tid < n) {
    uint2 const kv = pairs[tid];
    fresh          = ref.insert(kv.x, kv.y);
  }
  unsigned const ballot = __ballot_sync(0xffffffffu, fresh);
  if ((threadIdx.x & 31) == 0 && ballot != 0) { atomicAdd(inserted, __popc(ballot)); }
}

template <class Ref>
__global__ void find_kernel(Ref ref, key_type const* keys, mapped_type* out, int n)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = ref.find(keys[i]);
  }
}

// the tile inspects a whole bucket at once and elects a lane for the CAS
template <int B>
__global__ void bucket_insert_kernel(bucket_ref<B> ref, uint2 const* __restrict__ pairs, int n, unsigned* inserted)
{
  auto const tile = cg::tiled_partition<B>(cg::this_thread_block());
  int const item  = (blockIdx.x * blockDim.x + threadIdx.x) / B;
  if (item >= n) { return; }
  uint2 const kv    = pairs[item];
  std::uint32_t bkt = murmur_finalizer{}(kv.x) & ref.bucket_mask;
  while (true) {
    slot_type* const where = ref.slots + static_cast<std::size_t>(bkt) * B + tile.thread_rank();
    slot_type const seen   = *static_cast<slot_type volatile*>(where);
    if (tile.any(slot_key(seen) == kv.x)) { return; }
    unsigned const vacant = tile.ballot(seen == empty_slot);
    if (vacant == 0) {
      bkt = (bkt + 1) & ref.bucket_mask;
      continue;
    }
    int const leader = __ffs(vacant) - 1;
    int outcome      = 0;  // 0: lost, 1: won, 2: duplicate
    if (tile.thread_rank() == leader) {
      slot_type const old = atomicCAS(where, empty_slot, make_slot(kv.x, kv.y));
      outcome             = old == empty_slot ? 1 : (slot_key(old) == kv.x ? 2 : 0);
    }
    outcome = tile.shfl(outcome, leader);
    if (outcome == 1 && tile.thread_rank() == 0) { atomicAdd(inserted, 1u); }
    if (outcome != 0) { return; }
  }
}

template <int B>
__global__ void bucket_find_kernel(bucket_ref<B> ref, key_type const* __restrict__ keys, mapped_type* __restrict__ out, int n)
{
  auto const tile = cg::tiled_partition<B>(cg::this_thread_block());
  int const item  = (blockIdx.x * blockDim.x + threadIdx.x) / B;
  if (item >= n) { return; }
  key_type const k  = keys[item];
  std::uint32_t bkt = murmur_finalizer{}(k) & ref.bucket_mask;
  mapped_type res   = empty_val;
  while (true) {
    slot_type const seen = ref.slots[static_cast<std::size_t>(bkt) * B + tile.thread_rank()];
    unsigned const hit   = tile.ballot(slot_key(seen) == k);
    if (hit != 0) {
      res = slot_val(tile.shfl(seen, __ffs(hit) - 1));
      break;
    }
    if (tile.any(seen == empty_slot)) { break; }
    bkt = (bkt + 1) & ref.bucket_mask;
  }
  if (tile.thread_rank() == 0) { out[item] = res; }
}

// dump the occupied slots to a dense array, warp-aggregated
__global__ void retrieve_all_kernel(slot_type const* slots, std::size_t capacity, uint2* out, unsigned* cursor)
{
  std::size_t const i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  bool const live     = i < capacity && slots[i] != empty_slot;
  if (live) {
    auto const active = cg::coalesced_threads();
    unsigned base     = 0;
    if (active.thread_rank() == 0) { base = atomicAdd(cursor, active.size()); }
    base                                = active.shfl(base, 0);
    slot_type const s                   = slots[i];
    out[base + active.thread_rank()].x = slot_key(s);
    out[base + active.thread_rank()].y = slot_val(s);
  }
}

// histogram of run lengths of occupied slots ahead of each position
template <int MaxLen>
__global__ void cluster_histogram_kernel(slot_type const* slots, std::uint32_t capacity, unsigned* hist)
{
  __shared__ unsigned local[MaxLen];
  for (int i = threadIdx.x; i < MaxLen; i += blockDim.x) { local[i] = 0; }
  __syncthreads();
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < capacity; i += gridDim.x * blockDim.x) {
    int run = 0;
    while (run < MaxLen - 1 && slots[(i + run) & (capacity - 1)] != empty_slot) { ++run; }
    atomicAdd(&local[run], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < MaxLen; i += blockDim.x) { atomicAdd(&hist[i], local[i]); }
}

template <class T>
struct buffer {
  T* p{};
  std::size_t n{};
  explicit buffer(std::size_t count) : n{count} { GPU_TRY(cudaMalloc(&p, n * sizeof(T))); }
  buffer(std::vector<T> const& v) : buffer(v.size())
  {
    GPU_TRY(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~buffer() { cudaFree(p); }
  void zero() { GPU_TRY(cudaMemset(p, 0, n * sizeof(T))); }
  std::vector<T> get() const
  {
    std::vector<T> v(n);
    GPU_TRY(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
};

int main()
{
  constexpr std::uint32_t capacity = 1u << 19;
  constexpr int n_pairs            = 350000;
  constexpr int n_query            = 400000;
  constexpr int hist_len           = 64;
  std::mt19937 gen{20240229};
  std::vector<uint2> pairs(n_pairs);
  std::unordered_map<key_type, mapped_type> truth;
  for (auto& p : pairs) {
    p.x = gen() % 900000u;
    p.y = p.x * 2654435761u >> 3;  // the value depends on the key: duplicates agree
    truth.emplace(p.x, p.y);
  }
  std::vector<key_type> queries(n_query);
  for (auto& q : queries) { q = gen() % 1000000u; }

  buffer<uint2> d_pairs{pairs};
  buffer<key_type> d_queries{queries};
  buffer<mapped_type> d_found{std::size_t{n_query}};
  buffer<slot_type> d_slots{std::size_t{capacity}};
  buffer<unsigned> d_count{std::size_t{1}};
  buffer<uint2> d_dump{truth.size()};
  buffer<unsigned> d_hist{std::size_t{hist_len}};
  bool pass = true;

  auto check_found = [&](char const* what) {
    auto const found = d_found.get();
    long wrong       = 0;
    for (int i = 0; i < n_query; ++i) {
      auto const it = truth.find(queries[i]);
      wrong += found[i] != (it == truth.end() ? empty_val : it->second);
    }
    auto const count = d_count.get()[0];
    std::printf("%-16s inserted %u of %zu, wrong lookups %ld\n", what, count, truth.size(), wrong);
    pass = pass && wrong == 0 && count == truth.size();
  };

  auto run_open_addressing = [&](auto probe, char const* what) {
    map_ref<decltype(probe)> ref{d_slots.p, probe};
    d_count.zero();
    fill_slots<<<264, 256>>>(d_slots.p, capacity);
    insert_kernel<<<(n_pairs + 127) / 128, 128>>>(ref, d_pairs.p, n_pairs, d_count.p);
    find_kernel<<<528, 256>>>(ref, d_queries.p, d_found.p, n_query);
    GPU_TRY(cudaDeviceSynchronize());
    check_found(what);
  };

  auto run_bucket = [&](auto tag, char const* what) {
    constexpr int B = decltype(tag)::value;
    bucket_ref<B> ref{d_slots.p, capacity / B - 1};
    d_count.zero();
    fill_slots<<<264, 256>>>(d_slots.p, capacity);
    bucket_insert_kernel<B><<<(n_pairs * B + 255) / 256, 256>>>(ref, d_pairs.p, n_pairs, d_count.p);
    bucket_find_kernel<B><<<(n_query * B + 255) / 256, 256>>>(ref, d_queries.p, d_found.p, n_query);
    GPU_TRY(cudaDeviceSynchronize());
    check_found(what);
  };

  run_open_addressing(double_hashing<murmur_finalizer>{capacity - 1}, "double hashing");
  run_bucket(std::integral_constant<int, 16>{}, "bucket 16");
  run_bucket(std::integral_constant<int, 4>{}, "bucket 4");
  run_open_addressing(linear_probing<murmur_finalizer>{capacity - 1}, "linear probing");

  d_count.zero();
  d_hist.zero();
  retrieve_all_kernel<<<capacity / 256, 256>>>(d_slots.p, capacity, d_dump.p, d_count.p);
  cluster_histogram_kernel<hist_len><<<132, 256>>>(d_slots.p, capacity, d_hist.p);
  GPU_TRY(cudaDeviceSynchronize());

  auto const dump = d_dump.get();
  auto const n_out = d_count.get()[0];
  bool dump_ok    = n_out == truth.size();
  std::vector<key_type> seen_keys;
  for (auto const& kv : dump) {
    auto const it = truth.find(kv.x);
    dump_ok       = dump_ok && it != truth.end() && it->second == kv.y;
    seen_keys.push_back(kv.x);
  }
  std::sort(seen_keys.begin(), seen_keys.end());
  dump_ok = dump_ok && std::adjacent_find(seen_keys.begin(), seen_keys.end()) == seen_keys.end();

  auto const slots = d_slots.get();
  std::vector<unsigned> hist_ref(hist_len, 0);
  for (std::uint32_t i = 0; i < capacity; ++i) {
    int run = 0;
    while (run < hist_len - 1 && slots[(i + run) & (capacity - 1)] != empty_slot) { ++run; }
    ++hist_ref[run];
  }
  bool const hist_ok = hist_ref == d_hist.get();
  std::printf("dump %s, histogram %s\n", dump_ok ? "ok" : "bad", hist_ok ? "ok" : "bad");
  pass = pass && dump_ok && hist_ok;
  std::printf("%s\n", pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
