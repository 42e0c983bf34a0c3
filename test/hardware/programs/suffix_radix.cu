// suffix_radix.cu -- first step of a prefix-doubling suffix array: sort all suffixes
// of a DNA text by their first eight symbols.  LSD radix sort of (key, value) pairs,
// eight bits a pass: per-tile digit histogram, scan of the digit-major count table,
// stable scatter with match-any ranking.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define REQUIRE_CUDA(expr)                                                              \
    do {                                                                                \
        const cudaError_t status_ = (expr);                                             \
        if (status_ != cudaSuccess) {                                                   \
            std::fprintf(stderr, "[%s:%d] %s failed: %s\n", __FILE__, __LINE__, #expr,  \
                         cudaGetErrorString(status_));                                  \
            std::exit(3);                                                               \
        }                                                                               \
    } while (0)

namespace radix {

using key_type = std::uint32_t;
using value_type = std::uint32_t;

struct DefaultPolicy {
    static constexpr int kBits = 8;
    static constexpr int kDigits = 1 << kBits;
    static constexpr int kThreads = 256;
    static constexpr int kItems = 8;                     // per thread
    static constexpr int kTile = kThreads * kItems;
    static constexpr int kWarps = kThreads / 32;
};

constexpr int kScanThreads = 1024;

template <class P>
__host__ __device__ constexpr int tiles_for(int n) { return (n + P::kTile - 1) / P::kTile; }

template <class P>
__device__ __forceinline__ unsigned digit_of(key_type k, int shift) {
    return (k >> shift) & (P::kDigits - 1);
}

// Per-tile histogram.  The table is digit-major (table[digit][tile]), so the write
// at the end is strided by the number of tiles.
template <class P>
__global__ void histogram(const key_type *__restrict__ keys, unsigned *__restrict__ table,
                          int n, int shift) {
    __shared__ unsigned hist[P::kDigits];
    for (int d = threadIdx.x; d < P::kDigits; d += P::kThreads) hist[d] = 0;
    __syncthreads();
    const int base = blockIdx.x * P::kTile;
#pragma unroll
    for (int it = 0; it < P::kItems; ++it) {
        const int i = base + it * P::kThreads + threadIdx.x;
        if (i < n) {
            const key_type k = keys[i];
            atomicAdd(&hist[digit_of<P>(k, shift)], 1u);
        }
    }
    __syncthreads();
    for (int d = threadIdx.x; d < P::kDigits; d += P::kThreads)
        table[d * gridDim.x + blockIdx.x] = hist[d];
}

// Exclusive scan of the whole table by a single block; every thread owns a
// contiguous chunk and goes over it twice.
__global__ void scan_table(unsigned *table, int n) {
    __shared__ unsigned warp_total[32];
    const auto block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const int chunk = (n + kScanThreads - 1) / kScanThreads;
    const int lo = min(n, static_cast<int>(threadIdx.x) * chunk);
    const int hi = min(n, lo + chunk);

    unsigned mine = 0;
    for (int i = lo; i < hi; ++i) mine += table[i];

    unsigned inc = mine;
    for (int off = 1; off < 32; off <<= 1) {
        const unsigned v = warp.shfl_up(inc, off);
        if (warp.thread_rank() >= off) inc += v;
    }
    if (warp.thread_rank() == 31) warp_total[warp.meta_group_rank()] = inc;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        unsigned t = warp_total[warp.thread_rank()];
        const unsigned own = t;
        for (int off = 1; off < 32; off <<= 1) {
            const unsigned v = warp.shfl_up(t, off);
            if (warp.thread_rank() >= off) t += v;
        }
        warp_total[warp.thread_rank()] = t - own;
    }
    block.sync();
    unsigned run = warp_total[warp.meta_group_rank()] + inc - mine;
    for (int i = lo; i < hi; ++i) {
        const unsigned c = table[i];
        table[i] = run;
        run += c;
    }
}

// Stable scatter.  A warp owns 32 * kItems consecutive elements of the tile and
// ranks them round by round with __match_any_sync.
template <class P>
__global__ void __launch_bounds__(P::kThreads)
scatter(const key_type *__restrict__ keys_in, const value_type *__restrict__ vals_in,
        key_type *__restrict__ keys_out, value_type *__restrict__ vals_out,
        const unsigned *__restrict__ table, int n, int shift) {
    __shared__ unsigned offs[P::kWarps][P::kDigits];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const unsigned lt = (1u << lane) - 1u;
    for (int i = threadIdx.x; i < P::kWarps * P::kDigits; i += P::kThreads)
        (&offs[0][0])[i] = 0;
    __syncthreads();

    const int base = blockIdx.x * P::kTile + warp * 32 * P::kItems;
    key_type key[P::kItems];
    unsigned rank[P::kItems];
#pragma unroll
    for (int it = 0; it < P::kItems; ++it) {
        const int i = base + it * 32 + lane;
        const bool valid = i < n;
        key[it] = valid ? keys_in[i] : 0u;
        const unsigned d = digit_of<P>(key[it], shift);
        const unsigned peers = __match_any_sync(0xffffffffu, valid ? d : 0xffffffffu);
        const unsigned before = __popc(peers & lt);
        rank[it] = offs[warp][d] + before;
        __syncwarp();
        if (valid && before == 0) offs[warp][d] += __popc(peers);
        __syncwarp();
    }
    __syncthreads();

    // one thread per digit: prefix over the warps, starting at the tile's offset
    for (int d = threadIdx.x; d < P::kDigits; d += P::kThreads) {
        unsigned run = table[d * gridDim.x + blockIdx.x];
#pragma unroll
        for (int w = 0; w < P::kWarps; ++w) {
            const unsigned c = offs[w][d];
            offs[w][d] = run;
            run += c;
        }
    }
    __syncthreads();

#pragma unroll
    for (int it = 0; it < P::kItems; ++it) {
        const int i = base + it * 32 + lane;
        if (i < n) {
            const unsigned dst = offs[warp][digit_of<P>(key[it], shift)] + rank[it];
            keys_out[dst] = key[it];
            vals_out[dst] = vals_in[i];
        }
    }
}

template <class P = DefaultPolicy>
class PairSorter {
public:
    explicit PairSorter(int n) : n_(n), tiles_(tiles_for<P>(n)) {
        REQUIRE_CUDA(cudaMalloc(&table_, sizeof(unsigned) * P::kDigits * tiles_));
    }
    ~PairSorter() { cudaFree(table_); }
    PairSorter(const PairSorter &) = delete;
    PairSorter &operator=(const PairSorter &) = delete;

    // ping-pongs between the two buffers; the result is left in keys/vals
    void sort(key_type *&keys, value_type *&vals, key_type *&keys_alt, value_type *&vals_alt, int bits) {
        for (int shift = 0; shift < bits; shift += P::kBits) {
            histogram<P><<<tiles_, P::kThreads>>>(keys, table_, n_, shift);
            scan_table<<<1, kScanThreads>>>(table_, P::kDigits * tiles_);
            scatter<P><<<tiles_, P::kThreads>>>(keys, vals, keys_alt, vals_alt, table_, n_, shift);
            std::swap(keys, keys_alt);
            std::swap(vals, vals_alt);
        }
    }

private:
    int n_, tiles_;
    unsigned *table_ = nullptr;
};

}  // namespace radix

constexpr int kSymbols = 8;      // symbols per key, two bits each

__host__ __device__ inline unsigned symbol_code(char c) {
    switch (c) {
        case 'C': return 1;
        case 'G': return 2;
        case 'T': return 3;
        default:  return 0;
    }
}

// keys from the text; positions past the end count as 'A'
__global__ void make_keys(const char *__restrict__ text, radix::key_type *keys,
                          radix::value_type *vals, int n) {
    extern __shared__ unsigned char codes[];
    const int start = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < static_cast<int>(blockDim.x) + kSymbols - 1; i += blockDim.x)
        codes[i] = (start + i < n) ? symbol_code(text[start + i]) : 0;
    __syncthreads();
    const int pos = start + threadIdx.x;
    if (pos >= n) return;
    radix::key_type k = 0;
#pragma unroll
    for (int j = 0; j < kSymbols; ++j) k = (k << 2) | codes[threadIdx.x + j];
    keys[pos] = k;
    vals[pos] = pos;
}

// inverse permutation plus bucket count; a suffix starts a bucket if its key differs
// from the one before
__global__ void rank_suffixes(const radix::key_type *__restrict__ keys,
                              const radix::value_type *__restrict__ sa,
                              unsigned *__restrict__ isa, unsigned *n_buckets, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool head = false;
    if (i < n) {
        head = (i == 0) || keys[i] != keys[i - 1];
        isa[sa[i]] = i;
    }
    const unsigned votes = __ballot_sync(0xffffffffu, head);
    if ((threadIdx.x & 31) == 0 && votes) atomicAdd(n_buckets, __popc(votes));
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 300000;
    std::mt19937 gen(99);
    std::vector<char> text(n);
    for (int i = 0; i < n; ++i) {
        // some repeats so the digit distribution is not flat
        if (i > 1000 && gen() % 4 == 0) text[i] = text[i - 777];
        else text[i] = "AACGT"[gen() % 5];
    }

    char *d_text;
    radix::key_type *k0, *k1;
    radix::value_type *v0, *v1;
    unsigned *d_isa, *d_buckets;
    REQUIRE_CUDA(cudaMalloc(&d_text, n));
    REQUIRE_CUDA(cudaMalloc(&k0, n * sizeof(*k0)));
    REQUIRE_CUDA(cudaMalloc(&k1, n * sizeof(*k1)));
    REQUIRE_CUDA(cudaMalloc(&v0, n * sizeof(*v0)));
    REQUIRE_CUDA(cudaMalloc(&v1, n * sizeof(*v1)));
    REQUIRE_CUDA(cudaMalloc(&d_isa, n * sizeof(unsigned)));
    REQUIRE_CUDA(cudaMalloc(&d_buckets, sizeof(unsigned)));
    REQUIRE_CUDA(cudaMemset(d_buckets, 0, sizeof(unsigned)));
    REQUIRE_CUDA(cudaMemcpy(d_text, text.data(), n, cudaMemcpyHostToDevice));

    const int threads = 256, blocks = (n + threads - 1) / threads;
    make_keys<<<blocks, threads, threads + kSymbols>>>(d_text, k0, v0, n);
    radix::PairSorter<> sorter(n);
    sorter.sort(k0, v0, k1, v1, 2 * kSymbols);
    rank_suffixes<<<blocks, threads>>>(k0, v0, d_isa, d_buckets, n);
    REQUIRE_CUDA(cudaGetLastError());
    REQUIRE_CUDA(cudaDeviceSynchronize());

    std::vector<radix::key_type> keys(n);
    std::vector<radix::value_type> sa(n);
    std::vector<unsigned> isa(n);
    unsigned buckets = 0;
    REQUIRE_CUDA(cudaMemcpy(keys.data(), k0, n * sizeof(keys[0]), cudaMemcpyDeviceToHost));
    REQUIRE_CUDA(cudaMemcpy(sa.data(), v0, n * sizeof(sa[0]), cudaMemcpyDeviceToHost));
    REQUIRE_CUDA(cudaMemcpy(isa.data(), d_isa, n * sizeof(isa[0]), cudaMemcpyDeviceToHost));
    REQUIRE_CUDA(cudaMemcpy(&buckets, d_buckets, sizeof(buckets), cudaMemcpyDeviceToHost));

    std::vector<radix::key_type> ref_key(n);
    for (int i = 0; i < n; ++i) {
        radix::key_type k = 0;
        for (int j = 0; j < kSymbols; ++j) k = (k << 2) | (i + j < n ? symbol_code(text[i + j]) : 0u);
        ref_key[i] = k;
    }
    std::vector<radix::value_type> ref_sa(n);
    std::iota(ref_sa.begin(), ref_sa.end(), 0u);
    std::stable_sort(ref_sa.begin(), ref_sa.end(),
                     [&](radix::value_type a, radix::value_type b) { return ref_key[a] < ref_key[b]; });

    int errors = 0;
    unsigned ref_buckets = 0;
    for (int i = 0; i < n; ++i) {
        ref_buckets += (i == 0) || ref_key[ref_sa[i]] != ref_key[ref_sa[i - 1]];
        if (sa[i] != ref_sa[i] || keys[i] != ref_key[ref_sa[i]] || isa[ref_sa[i]] != static_cast<unsigned>(i)) {
            if (errors++ < 4)
                std::printf("slot %d: got suffix %u key %x, want %u key %x\n", i, sa[i], keys[i], ref_sa[i],
                            ref_key[ref_sa[i]]);
        }
    }
    if (buckets != ref_buckets) ++errors;
    std::printf("%d suffixes, %u buckets (want %u), %d errors\n", n, buckets, ref_buckets, errors);

    for (void *p : {(void *)d_text, (void *)k0, (void *)k1, (void *)v0, (void *)v1, (void *)d_isa, (void *)d_buckets})
        cudaFree(p);
    std::printf("%s\n", errors ? "FAIL" : "PASS");
    return errors ? 1 : 0;
}
