// Open-addressing hash table, linear probing.
// Two storage policies: packed 64-bit slots, and split key / value arrays.
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

inline void check(cudaError_t e, int line) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "CUDA error line %d: %s\n", line, cudaGetErrorString(e));
        std::exit(1);
    }
}
#define CUDA_OK(x) check((x), __LINE__)

constexpr uint32_t kEmpty = 0xffffffffu;
constexpr uint32_t kNotFound = 0xfffffffeu;
constexpr uint32_t kCapacity = 1u << 20;
constexpr uint32_t kMask = kCapacity - 1;
constexpr uint32_t kKeys = 600'000;
constexpr uint32_t kQueries = 1u << 20;

__host__ __device__ constexpr uint32_t fmix32(uint32_t h) {
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}

// distinct for distinct i below 2^31, never kEmpty
constexpr uint32_t key_of(uint32_t i) { return (i * 2654435761u + 12345u) & 0x7fffffffu; }
constexpr uint32_t val_of(uint32_t i) { return (i * 7u + 3u) & 0x00ffffffu; }

struct alignas(8) Slot {
    uint32_t key;
    uint32_t val;
};
static_assert(sizeof(Slot) == sizeof(unsigned long long));

struct PackedTable {
    unsigned long long* slots;

    __device__ static unsigned long long pack(uint32_t k, uint32_t v) {
        return (static_cast<unsigned long long>(v) << 32) | k;
    }
    __device__ bool insert(uint32_t k, uint32_t v) {
        const auto empty = pack(kEmpty, kEmpty);
        const auto wanted = pack(k, v);
        uint32_t pos = fmix32(k) & kMask;
        for (uint32_t tries = 0; tries < kCapacity; ++tries) {
            const auto seen = atomicCAS(&slots[pos], empty, wanted);
            if (seen == empty || static_cast<uint32_t>(seen) == k) return true;
            pos = (pos + 1) & kMask;
        }
        return false;
    }
};

struct SplitTable {
    uint32_t* keys;
    uint32_t* vals;

    __device__ bool insert(uint32_t k, uint32_t v) {
        uint32_t pos = fmix32(k) & kMask;
        for (uint32_t tries = 0; tries < kCapacity; ++tries) {
            uint32_t seen = keys[pos];                      // peek before the atomic
            if (seen == kEmpty) seen = atomicCAS(&keys[pos], kEmpty, k);
            if (seen == kEmpty || seen == k) {
                vals[pos] = v;
                return true;
            }
            pos = (pos + 1) & kMask;
        }
        return false;
    }
};

template <class Table>
__global__ void insert_kernel(Table table, const uint2* __restrict__ pairs, uint32_t n, int* failures) {
    const uint32_t stride = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const uint2 kv = pairs[i];
        if (!table.insert(kv.x, kv.y)) atomicAdd(failures, 1);
    }
}

// one thread per query over the split arrays
__global__ void __launch_bounds__(256)
lookup_thread(const uint32_t* __restrict__ keys, const uint32_t* __restrict__ vals,
              const uint32_t* __restrict__ queries, uint32_t* __restrict__ out, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint32_t k = queries[i];
    uint32_t result = kNotFound;
    for (uint32_t pos = fmix32(k) & kMask;; pos = (pos + 1) & kMask) {
        const uint32_t seen = keys[pos];
        if (seen == k) {
            result = vals[pos];
            break;
        }
        if (seen == kEmpty) break;
    }
    out[i] = result;
}

// a tile of lanes probes a window of consecutive slots together
template <int TileSize>
__global__ void lookup_tile(const Slot* __restrict__ slots, const uint32_t* __restrict__ queries,
                            uint32_t* __restrict__ out, uint32_t n) {
    auto tile = cg::tiled_partition<TileSize>(cg::this_thread_block());
    const uint32_t q = blockIdx.x * (blockDim.x / TileSize) + tile.meta_group_rank();
    if (q >= n) return;
    const uint32_t k = queries[q];
    const uint32_t home = fmix32(k) & kMask;
    uint32_t result = kNotFound;
    for (uint32_t step = 0; step < kCapacity; step += TileSize) {
        const Slot s = slots[(home + step + tile.thread_rank()) & kMask];
        const unsigned hit = tile.ballot(s.key == k);
        if (hit) {
            result = tile.shfl(s.val, __ffs(static_cast<int>(hit)) - 1);
            break;
        }
        if (tile.any(s.key == kEmpty)) break;
    }
    if (tile.thread_rank() == 0) out[q] = result;
}

static std::vector<uint32_t> cpu_reference(const std::vector<uint2>& pairs, const std::vector<uint32_t>& queries) {
    std::vector<Slot> table(kCapacity, Slot{kEmpty, kEmpty});
    for (auto kv : pairs) {
        uint32_t p = fmix32(kv.x) & kMask;
        while (table[p].key != kEmpty && table[p].key != kv.x) p = (p + 1) & kMask;
        table[p] = Slot{kv.x, kv.y};
    }
    std::vector<uint32_t> out;
    out.reserve(queries.size());
    for (auto k : queries) {
        uint32_t p = fmix32(k) & kMask;
        while (table[p].key != kEmpty && table[p].key != k) p = (p + 1) & kMask;
        out.push_back(table[p].key == k ? table[p].val : kNotFound);
    }
    return out;
}

template <class T>
T* upload(const std::vector<T>& v) {
    T* p = nullptr;
    CUDA_OK(cudaMalloc(&p, v.size() * sizeof(T)));
    CUDA_OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

int main() {
    std::vector<uint2> pairs(kKeys);
    for (uint32_t i = 0; i < kKeys; ++i) pairs[i] = make_uint2(key_of(i), val_of(i));
    std::vector<uint32_t> queries(kQueries);
    uint32_t s = 99u;
    for (auto& q : queries) {
        s = s * 1664525u + 1013904223u;
        q = key_of((s >> 4) % (2 * kKeys));     // about half are absent
    }
    const auto expected = cpu_reference(pairs, queries);

    uint2* d_pairs = upload(pairs);
    uint32_t* d_queries = upload(queries);
    uint32_t *d_keys, *d_vals, *d_out;
    unsigned long long* d_slots;
    int* d_fail;
    CUDA_OK(cudaMalloc(&d_keys, kCapacity * sizeof(uint32_t)));
    CUDA_OK(cudaMalloc(&d_vals, kCapacity * sizeof(uint32_t)));
    CUDA_OK(cudaMalloc(&d_slots, kCapacity * sizeof(unsigned long long)));
    CUDA_OK(cudaMalloc(&d_out, kQueries * sizeof(uint32_t)));
    CUDA_OK(cudaMalloc(&d_fail, sizeof(int)));
    CUDA_OK(cudaMemset(d_keys, 0xff, kCapacity * sizeof(uint32_t)));
    CUDA_OK(cudaMemset(d_slots, 0xff, kCapacity * sizeof(unsigned long long)));
    CUDA_OK(cudaMemset(d_fail, 0, sizeof(int)));

    insert_kernel<<<528, 256>>>(PackedTable{d_slots}, d_pairs, kKeys, d_fail);
    CUDA_OK(cudaGetLastError());
    insert_kernel<<<(kKeys + 255) / 256, 256>>>(SplitTable{d_keys, d_vals}, d_pairs, kKeys, d_fail);
    CUDA_OK(cudaGetLastError());

    std::vector<uint32_t> got(kQueries);
    size_t bad = 0;
    auto verify = [&](const char* name) {
        CUDA_OK(cudaGetLastError());
        CUDA_OK(cudaMemcpy(got.data(), d_out, kQueries * sizeof(uint32_t), cudaMemcpyDeviceToHost));
        size_t b = 0;
        for (uint32_t i = 0; i < kQueries; ++i) b += got[i] != expected[i];
        std::printf("%s: %zu wrong\n", name, b);
        bad += b;
    };
    lookup_thread<<<kQueries / 256, 256>>>(d_keys, d_vals, d_queries, d_out, kQueries);
    verify("lookup_thread");
    CUDA_OK(cudaMemset(d_out, 0, kQueries * sizeof(uint32_t)));
    constexpr int kTile = 8;
    lookup_tile<kTile><<<kQueries / (256 / kTile), 256>>>(reinterpret_cast<const Slot*>(d_slots), d_queries, d_out, kQueries);
    verify("lookup_tile");

    int fail = 0;
    CUDA_OK(cudaMemcpy(&fail, d_fail, sizeof fail, cudaMemcpyDeviceToHost));
    const bool ok = bad == 0 && fail == 0;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
