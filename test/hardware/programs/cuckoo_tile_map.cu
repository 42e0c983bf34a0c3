// A bucketed cuckoo map with cooperative access: a tile of eight lanes owns one 64-byte bucket.
// Insert / find / erase are bulk operations. A slot is one 64-bit word (key in the low half), so a single CAS
// or exchange moves a pair. Chains that grow too long end in a small linear stash.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cg = cooperative_groups;

#define CU_TRY(expr) ::detail::check((expr), #expr, __LINE__)

namespace detail {
inline void check(cudaError_t e, char const* what, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "line %d: %s -> %s\n", line, what, cudaGetErrorString(e));
    std::abort();
  }
}
}  // namespace detail

namespace cuckoo {

using pair_type = unsigned long long;
using key_type = std::uint32_t;
using mapped_type = std::uint32_t;

inline constexpr key_type empty_key = 0xffffffffu;
inline constexpr key_type erased_key = 0xfffffffeu;
inline constexpr pair_type empty_pair = ~0ull;
inline constexpr mapped_type not_found = 0xdeadbeefu;
inline constexpr int bucket_size = 8;
inline constexpr int num_hashes = 3;
inline constexpr int max_chain = 48;
inline constexpr int stash_size = 64;

struct hash_coefficients {
  std::uint32_t a, b;
};
__constant__ hash_coefficients coefficients[num_hashes];

__host__ __device__ constexpr key_type key_of(pair_type p) { return static_cast<key_type>(p); }
__host__ __device__ constexpr mapped_type value_of(pair_type p) { return static_cast<mapped_type>(p >> 32); }
__host__ __device__ constexpr pair_type make_pair(key_type k, mapped_type v) {
  return (static_cast<pair_type>(v) << 32) | k;
}

struct device_view {
  pair_type* slots;
  std::uint32_t num_buckets;
  pair_type* stash;
  unsigned int* stash_count;

  __device__ std::uint32_t bucket(key_type k, int h) const {
    std::uint64_t const x = static_cast<std::uint64_t>(coefficients[h].a ^ k) * 0x9E3779B97F4A7C15ull + coefficients[h].b;
    return static_cast<std::uint32_t>((x >> 32) % num_buckets);
  }

  template <class Tile>
  __device__ void insert(Tile const& tile, pair_type item) {
    int which = 0;
    for (int step = 0; step < max_chain; ++step) {
      std::uint32_t const b = bucket(key_of(item), which);
      pair_type* const slot = slots + static_cast<std::size_t>(b) * bucket_size + tile.thread_rank();
      pair_type const seen = *slot;
      unsigned free_mask = tile.ballot(key_of(seen) >= erased_key);
      while (free_mask != 0) {
        int const leader = __ffs(free_mask) - 1;
        bool won = false;
        if (static_cast<int>(tile.thread_rank()) == leader) won = atomicCAS(slot, seen, item) == seen;
        if (tile.any(won)) return;
        free_mask &= free_mask - 1;
      }
      // full: push one resident out and carry on with it
      unsigned const victim = (key_of(item) * 2654435761u + step * 5u) >> 29;
      pair_type evicted = 0;
      if (tile.thread_rank() == victim) evicted = atomicExch(slot, item);
      item = tile.shfl(evicted, victim);
      if (key_of(item) >= erased_key) return;  // someone erased it meanwhile
      which = next_choice(key_of(item), b);
    }
    if (tile.thread_rank() == 0) {
      unsigned const at = atomicAdd(stash_count, 1u);
      if (at < stash_size) stash[at] = item;
    }
  }

  // the choice after the one that led to bucket b
  __device__ int next_choice(key_type k, std::uint32_t b) const {
    int next = 0;
    for (int h = 0; h < num_hashes; ++h)
      if (bucket(k, h) == b) next = (h + 1) % num_hashes;
    return next;
  }

  template <class Tile>
  __device__ pair_type* locate(Tile const& tile, key_type key, mapped_type& value) const {
    for (int h = 0; h < num_hashes; ++h) {
      std::uint32_t const b = bucket(key, h);
      pair_type* const slot = slots + static_cast<std::size_t>(b) * bucket_size + tile.thread_rank();
      pair_type const p = *slot;
      unsigned const hit = tile.ballot(key_of(p) == key);
      if (hit) {
        int const lane = __ffs(hit) - 1;
        value = tile.shfl(value_of(p), lane);
        return slots + static_cast<std::size_t>(b) * bucket_size + lane;
      }
    }
    unsigned const n = min(*stash_count, static_cast<unsigned>(stash_size));
    for (unsigned i = 0; i < n; ++i) {
      if (key_of(stash[i]) == key) {
        value = value_of(stash[i]);
        return stash + i;
      }
    }
    return nullptr;
  }
};

__global__ void fill_empty(pair_type* slots, std::size_t n) {
  auto* wide = reinterpret_cast<ulonglong2*>(slots);
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x)
    wide[i] = make_ulonglong2(empty_pair, empty_pair);
}

__global__ void bulk_insert(device_view map, key_type const* keys, mapped_type const* values, int n) {
  auto const tile = cg::tiled_partition<bucket_size>(cg::this_thread_block());
  int const tiles = gridDim.x * blockDim.x / bucket_size;
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) / bucket_size; i < n; i += tiles)
    map.insert(tile, make_pair(keys[i], values[i]));
}

__global__ void bulk_find(device_view map, key_type const* queries, mapped_type* out, int n) {
  auto const tile = cg::tiled_partition<bucket_size>(cg::this_thread_block());
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) / bucket_size;
  if (i >= n) return;
  mapped_type v = not_found;
  map.locate(tile, queries[i], v);
  if (tile.thread_rank() == 0) out[i] = v;
}

__global__ void bulk_erase(device_view map, key_type const* keys, int n, unsigned int* erased) {
  auto const tile = cg::tiled_partition<bucket_size>(cg::this_thread_block());
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) / bucket_size;
  if (i >= n) return;
  mapped_type v;
  pair_type* const where = map.locate(tile, keys[i], v);
  if (where != nullptr && tile.thread_rank() == 0) {
    *where = make_pair(erased_key, 0);
    atomicAdd(erased, 1u);
  }
}

// histogram of how many slots of a bucket are in use, straight (uncoalesced) walk by one thread per bucket
__global__ void occupancy(device_view map, unsigned int* histogram) {
  __shared__ unsigned int local[bucket_size + 1];
  if (threadIdx.x <= bucket_size) local[threadIdx.x] = 0;
  __syncthreads();
  std::uint32_t const b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b < map.num_buckets) {
    int used = 0;
    for (int s = 0; s < bucket_size; ++s) used += key_of(map.slots[static_cast<std::size_t>(b) * bucket_size + s]) < erased_key;
    atomicAdd(&local[used], 1u);
  }
  __syncthreads();
  if (threadIdx.x <= bucket_size) atomicAdd(&histogram[threadIdx.x], local[threadIdx.x]);
}

class map_owner {
 public:
  map_owner(std::size_t capacity, double load) {
    view_.num_buckets = static_cast<std::uint32_t>(capacity / load / bucket_size) + 1;
    CU_TRY(cudaMalloc(&view_.slots, slot_count() * sizeof(pair_type)));
    CU_TRY(cudaMalloc(&view_.stash, stash_size * sizeof(pair_type)));
    CU_TRY(cudaMalloc(&view_.stash_count, sizeof(unsigned int)));
    CU_TRY(cudaMemset(view_.stash, 0xff, stash_size * sizeof(pair_type)));
    CU_TRY(cudaMemset(view_.stash_count, 0, sizeof(unsigned int)));
    fill_empty<<<64, 256>>>(view_.slots, slot_count());
    CU_TRY(cudaGetLastError());
  }
  map_owner(map_owner const&) = delete;
  ~map_owner() {
    cudaFree(view_.slots);
    cudaFree(view_.stash);
    cudaFree(view_.stash_count);
  }
  std::size_t slot_count() const { return static_cast<std::size_t>(view_.num_buckets) * bucket_size; }
  device_view view() const { return view_; }

 private:
  device_view view_{};
};

}  // namespace cuckoo

template <class T>
struct device_vector {
  T* p{};
  std::size_t n;
  explicit device_vector(std::vector<T> const& h) : n(h.size()) {
    CU_TRY(cudaMalloc(&p, n * sizeof(T)));
    CU_TRY(cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  device_vector(device_vector const&) = delete;
  ~device_vector() { cudaFree(p); }
  std::vector<T> host() const {
    std::vector<T> h(n);
    CU_TRY(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
};

int main(int argc, char** argv) {
  using namespace cuckoo;
  int const n = argc > 1 ? std::atoi(argv[1]) : 16000;
  double const load = argc > 2 ? std::atof(argv[2]) : 0.82;

  std::mt19937 rng(600613);
  hash_coefficients coef[num_hashes];
  for (auto& c : coef) c = {static_cast<std::uint32_t>(rng()) | 1u, static_cast<std::uint32_t>(rng())};
  CU_TRY(cudaMemcpyToSymbol(coefficients, coef, sizeof coef));

  std::unordered_set<key_type> distinct;
  while (static_cast<int>(distinct.size()) < n) {
    key_type const k = rng();
    if (k < erased_key) distinct.insert(k);
  }
  std::vector<key_type> keys(distinct.begin(), distinct.end());
  std::sort(keys.begin(), keys.end());
  std::shuffle(keys.begin(), keys.end(), rng);
  std::vector<mapped_type> values(n);
  for (auto& v : values) v = rng() >> 1;
  std::vector<key_type> gone(keys.begin(), keys.begin() + n / 4);
  std::shuffle(gone.begin(), gone.end(), rng);
  std::vector<key_type> queries(keys);
  for (int i = 0; i < n / 2; ++i) queries.push_back(rng() % erased_key);
  std::shuffle(queries.begin(), queries.end(), rng);

  std::unordered_map<key_type, mapped_type> reference;
  for (int i = 0; i < n; ++i) reference.emplace(keys[i], values[i]);
  auto count_wrong = [&](std::vector<mapped_type> const& got) {
    int wrong = 0;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      auto const it = reference.find(queries[i]);
      wrong += got[i] != (it == reference.end() ? not_found : it->second);
    }
    return wrong;
  };

  map_owner map(n, load);
  device_vector<key_type> d_keys(keys), d_queries(queries), d_gone(gone);
  device_vector<mapped_type> d_values(values), d_found(std::vector<mapped_type>(queries.size(), 0u));
  device_vector<unsigned int> d_erased(std::vector<unsigned int>(1, 0u)), d_hist(std::vector<unsigned int>(bucket_size + 1, 0u));
  int const q = static_cast<int>(queries.size());

  bulk_insert<<<96, 256>>>(map.view(), d_keys.p, d_values.p, n);
  occupancy<<<(map.view().num_buckets + 127) / 128, 128>>>(map.view(), d_hist.p);
  bulk_find<<<(q * bucket_size + 255) / 256, 256>>>(map.view(), d_queries.p, d_found.p, q);
  CU_TRY(cudaGetLastError());
  int wrong = count_wrong(d_found.host());

  int const g = static_cast<int>(gone.size());
  bulk_erase<<<(g * bucket_size + 127) / 128, 128>>>(map.view(), d_gone.p, g, d_erased.p);
  bulk_find<<<(q * bucket_size + 255) / 256, 256>>>(map.view(), d_queries.p, d_found.p, q);
  CU_TRY(cudaGetLastError());
  for (key_type k : gone) reference.erase(k);
  wrong += count_wrong(d_found.host());

  unsigned int stashed = 0;
  CU_TRY(cudaMemcpy(&stashed, map.view().stash_count, sizeof stashed, cudaMemcpyDeviceToHost));
  auto const hist = d_hist.host();
  std::size_t in_buckets = 0;
  for (int i = 0; i <= bucket_size; ++i) in_buckets += static_cast<std::size_t>(i) * hist[i];
  bool const ok = wrong == 0 && d_erased.host()[0] == gone.size() && stashed <= stash_size &&
                  in_buckets + stashed == static_cast<std::size_t>(n);
  std::printf("keys %d, buckets %u, stash %u, full buckets %u, wrong %d\n", n, map.view().num_buckets, stashed,
              hist[bucket_size], wrong);
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
