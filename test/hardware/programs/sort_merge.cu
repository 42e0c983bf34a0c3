// Sorting: register bitonic per warp, shared-memory bitonic per tile, then merge
// passes (rank-based for short runs, merge-path for long runs).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace sorting {

inline void require(cudaError_t status, const char* where) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

template <int Threads_, int Tile_>
struct TilePolicy {
    static constexpr int Threads = Threads_;
    static constexpr int Tile = Tile_;
    static_assert(Tile == 2 * Threads, "one compare-exchange per thread and step");
    static_assert((Tile & (Tile - 1)) == 0, "power of two");
};
using Policy = TilePolicy<1024, 2048>;

struct Less {
    template <class T>
    __host__ __device__ constexpr bool operator()(T a, T b) const { return a < b; }
};

// Every warp sorts 32 keys without touching shared memory.
template <class Key, class Compare>
__global__ void warp_bitonic(const Key* __restrict__ in, Key* __restrict__ out, Compare less) {
    const int gid = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;
    Key key = in[gid];
#pragma unroll
    for (int size = 2; size <= 32; size <<= 1) {
#pragma unroll
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            const Key other = __shfl_xor_sync(0xffffffffu, key, stride);
            const bool ascending = (lane & size) == 0 || size == 32;
            const bool lower = (lane & stride) == 0;
            const bool take_min = ascending == lower;
            const bool other_first = less(other, key);
            const bool key_first = less(key, other);
            if (take_min ? other_first : key_first) key = other;
        }
    }
    out[gid] = key;
}

template <class P, class Key, class Compare>
__global__ void __launch_bounds__(P::Threads) tile_bitonic(const Key* __restrict__ in, Key* __restrict__ out, Compare less) {
    __shared__ Key tile[P::Tile];
    const int t = threadIdx.x;
    const size_t base = static_cast<size_t>(blockIdx.x) * P::Tile;
    tile[t] = in[base + t];
    tile[t + P::Threads] = in[base + t + P::Threads];

    for (int size = 2; size <= P::Tile; size <<= 1) {
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            __syncthreads();
            const int pos = 2 * t - (t & (stride - 1));
            const bool up = (pos & size) == 0 || size == P::Tile;
            const Key a = tile[pos], b = tile[pos + stride];
            if (up ? less(b, a) : less(a, b)) {
                tile[pos] = b;
                tile[pos + stride] = a;
            }
        }
    }
    __syncthreads();
    out[base + t] = tile[t];
    out[base + t + P::Threads] = tile[t + P::Threads];
}

// Each element finds its place by a binary search in the sister run, then scatters.
template <class Key, class Compare>
__global__ void merge_by_rank(const Key* __restrict__ in, Key* __restrict__ out, int n, int run, Compare less) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int pair = i / (2 * run) * (2 * run);
    const int local = i - pair;
    const bool in_left = local < run;
    const Key key = in[i];
    const Key* sister = in + pair + (in_left ? run : 0);
    int lo = 0, hi = run;
    while (lo < hi) {
        const int mid = (lo + hi) >> 1;
        const bool go_right = in_left ? less(sister[mid], key) : !less(key, sister[mid]);
        if (go_right) lo = mid + 1;
        else hi = mid;
    }
    const int own = in_left ? local : local - run;
    out[pair + own + lo] = key;
}

// Merge path: each thread owns Items consecutive outputs.
template <int Items, class Key, class Compare>
__global__ void merge_path(const Key* __restrict__ in, Key* __restrict__ out, int n, int run, Compare less) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * Items;
    if (first >= n) return;
    const int pair = first / (2 * run) * (2 * run);
    const Key* a = in + pair;
    const Key* b = a + run;
    const int diag = first - pair;
    int lo = max(0, diag - run), hi = min(diag, run);
    while (lo < hi) {
        const int mid = (lo + hi) >> 1;
        if (!less(b[diag - 1 - mid], a[mid])) lo = mid + 1;
        else hi = mid;
    }
    int i = lo, j = diag - lo;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
        const bool from_b = i >= run || (j < run && less(b[j], a[i]));
        out[first + k] = from_b ? b[j++] : a[i++];
    }
}

template <class Key>
class DoubleBuffer {
public:
    explicit DoubleBuffer(size_t n) : bytes_(n * sizeof(Key)) {
        for (auto& p : buf_) require(cudaMalloc(reinterpret_cast<void**>(&p), bytes_), "cudaMalloc");
    }
    ~DoubleBuffer() { for (auto p : buf_) cudaFree(p); }
    DoubleBuffer(const DoubleBuffer&) = delete;
    DoubleBuffer& operator=(const DoubleBuffer&) = delete;

    Key* current() const { return buf_[0]; }
    Key* spare() const { return buf_[1]; }
    void flip() { std::swap(buf_[0], buf_[1]); }
    void upload(const std::vector<Key>& v) {
        require(cudaMemcpy(buf_[0], v.data(), bytes_, cudaMemcpyHostToDevice), "upload");
    }
    std::vector<Key> download() const {
        std::vector<Key> v(bytes_ / sizeof(Key));
        require(cudaMemcpy(v.data(), buf_[0], bytes_, cudaMemcpyDeviceToHost), "download");
        return v;
    }
private:
    Key* buf_[2] = {nullptr, nullptr};
    size_t bytes_;
};

}  // namespace sorting

int main() {
    using namespace sorting;
    using Key = std::uint32_t;
    constexpr int n = 1 << 18;
    constexpr int kRankLimit = 16384;   // runs shorter than this are merged by rank
    constexpr int kItems = 8;

    std::vector<Key> host(n);
    std::uint64_t state = 0x9e3779b97f4a7c15ull;
    for (auto& k : host) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        k = static_cast<Key>(state >> 36);       // 28 bits: a few duplicates
    }
    DoubleBuffer<Key> data(n);

    // 32-key segments
    data.upload(host);
    warp_bitonic<<<n / 256, 256>>>(data.current(), data.spare(), Less{});
    require(cudaGetLastError(), "warp_bitonic");
    data.flip();
    auto segments = data.download();
    auto expect = host;
    for (int s = 0; s < n; s += 32) std::sort(expect.begin() + s, expect.begin() + s + 32);
    const bool ok_segments = segments == expect;

    // whole array
    data.upload(host);
    tile_bitonic<Policy><<<n / Policy::Tile, Policy::Threads>>>(data.current(), data.spare(), Less{});
    require(cudaGetLastError(), "tile_bitonic");
    data.flip();
    for (int run = Policy::Tile; run < n; run *= 2) {
        if (run < kRankLimit)
            merge_by_rank<<<n / 256, 256>>>(data.current(), data.spare(), n, run, Less{});
        else
            merge_path<kItems><<<n / (128 * kItems), 128>>>(data.current(), data.spare(), n, run, Less{});
        require(cudaGetLastError(), "merge");
        data.flip();
    }
    const auto sorted = data.download();
    expect = host;
    std::sort(expect.begin(), expect.end());
    const bool ok_sorted = sorted == expect;

    std::printf("segments %s, full sort %s\n", ok_segments ? "ok" : "wrong", ok_sorted ? "ok" : "wrong");
    std::puts(ok_segments && ok_sorted ? "PASS" : "FAIL");
    return ok_segments && ok_sorted ? 0 : 1;
}
