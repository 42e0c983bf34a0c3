// nvcc: -std=c++17
// mini block-collective library: load/store, scan, reduce and sort, each with selectable policies.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

namespace blk {

enum class ScanAlgo { WarpShuffle, Raking, HillisSteele };
enum class LoadAlgo { Direct, Transpose };

template <int THREADS_, int ITEMS_, ScanAlgo SCAN_, LoadAlgo LOAD_>
struct Policy {
    static constexpr int THREADS = THREADS_;
    static constexpr int ITEMS = ITEMS_;
    static constexpr int TILE = THREADS_ * ITEMS_;
    static constexpr ScanAlgo SCAN = SCAN_;
    static constexpr LoadAlgo LOAD = LOAD_;
};

// ------------------------------------------------------------------ load / store
template <typename T, typename P>
struct BlockIO {
    struct Storage {
        T buf[P::LOAD == LoadAlgo::Transpose ? P::TILE : 1];
    };

    static __device__ void load(Storage& st, const T* g, T (&items)[P::ITEMS])
    {
        if constexpr (P::LOAD == LoadAlgo::Direct) {
#pragma unroll
            for (int i = 0; i < P::ITEMS; ++i) {
                items[i] = g[threadIdx.x * P::ITEMS + i];
            }
        } else {
#pragma unroll
            for (int i = 0; i < P::ITEMS; ++i) {
                st.buf[i * P::THREADS + threadIdx.x] = g[i * P::THREADS + threadIdx.x];
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < P::ITEMS; ++i) {
                items[i] = st.buf[threadIdx.x * P::ITEMS + i];
            }
            __syncthreads();
        }
    }

    static __device__ void store(Storage& st, T* g, const T (&items)[P::ITEMS])
    {
        if constexpr (P::LOAD == LoadAlgo::Direct) {
#pragma unroll
            for (int i = 0; i < P::ITEMS; ++i) {
                g[threadIdx.x * P::ITEMS + i] = items[i];
            }
        } else {
            __syncthreads();
#pragma unroll
            for (int i = 0; i < P::ITEMS; ++i) {
                st.buf[threadIdx.x * P::ITEMS + i] = items[i];
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < P::ITEMS; ++i) {
                g[i * P::THREADS + threadIdx.x] = st.buf[i * P::THREADS + threadIdx.x];
            }
        }
    }
};

// ------------------------------------------------------------------ exclusive scan of one value per thread
template <typename T, int THREADS, ScanAlgo A>
struct BlockScan;

template <typename T, int THREADS>
struct BlockScan<T, THREADS, ScanAlgo::WarpShuffle> {
    struct Storage {
        T warp[THREADS / 32];
    };
    static __device__ T exclusive(Storage& st, T v, T& total)
    {
        const int lane = threadIdx.x & 31;
        const int wid = threadIdx.x >> 5;
        T inc = v;
#pragma unroll
        for (int o = 1; o < 32; o <<= 1) {
            T n = __shfl_up_sync(0xffffffffu, inc, o);
            if (lane >= o) {
                inc += n;
            }
        }
        if (lane == 31) {
            st.warp[wid] = inc;
        }
        __syncthreads();
        T base = 0;
        total = 0;
#pragma unroll
        for (int w = 0; w < THREADS / 32; ++w) {
            T s = st.warp[w];
            if (w < wid) {
                base += s;
            }
            total += s;
        }
        return base + inc - v;
    }
};

template <typename T, int THREADS>
struct BlockScan<T, THREADS, ScanAlgo::Raking> {
    static constexpr int SEG = THREADS / 32;
    struct Storage {
        T grid[THREADS];
        T total;
    };
    // the first warp rakes SEG consecutive values per lane
    static __device__ T exclusive(Storage& st, T v, T& total)
    {
        st.grid[threadIdx.x] = v;
        __syncthreads();
        if (threadIdx.x < 32) {
            T sum = 0;
            for (int i = 0; i < SEG; ++i) {
                sum += st.grid[threadIdx.x * SEG + i];
            }
            T inc = sum;
            for (int o = 1; o < 32; o <<= 1) {
                T n = __shfl_up_sync(0xffffffffu, inc, o);
                if (threadIdx.x >= o) {
                    inc += n;
                }
            }
            T run = inc - sum;
            for (int i = 0; i < SEG; ++i) {
                T t = st.grid[threadIdx.x * SEG + i];
                st.grid[threadIdx.x * SEG + i] = run;
                run += t;
            }
            if (threadIdx.x == 31) {
                st.total = inc;
            }
        }
        __syncthreads();
        total = st.total;
        return st.grid[threadIdx.x];
    }
};

template <typename T, int THREADS>
struct BlockScan<T, THREADS, ScanAlgo::HillisSteele> {
    struct Storage {
        T a[2][THREADS];
    };
    static __device__ T exclusive(Storage& st, T v, T& total)
    {
        int src = 0;
        st.a[0][threadIdx.x] = v;
        __syncthreads();
        for (int o = 1; o < THREADS; o <<= 1) {
            T x = st.a[src][threadIdx.x];
            if (threadIdx.x >= o) {
                x += st.a[src][threadIdx.x - o];
            }
            st.a[src ^ 1][threadIdx.x] = x;
            src ^= 1;
            __syncthreads();
        }
        total = st.a[src][THREADS - 1];
        return st.a[src][threadIdx.x] - v;
    }
};

// ------------------------------------------------------------------ kernels
template <typename P, typename T>
__global__ void __launch_bounds__(P::THREADS) scanTiles(const T* in, T* out, T* tileSums)
{
    using IO = BlockIO<T, P>;
    using Scan = BlockScan<T, P::THREADS, P::SCAN>;
    __shared__ typename IO::Storage io;
    __shared__ typename Scan::Storage sc;
    T items[P::ITEMS];
    const size_t base = static_cast<size_t>(blockIdx.x) * P::TILE;
    IO::load(io, in + base, items);
    T sum = 0;
#pragma unroll
    for (int i = 0; i < P::ITEMS; ++i) {
        sum += items[i];
    }
    T total;
    T run = Scan::exclusive(sc, sum, total);
#pragma unroll
    for (int i = 0; i < P::ITEMS; ++i) {
        T t = items[i];
        items[i] = run;
        run += t;
    }
    IO::store(io, out + base, items);
    if (threadIdx.x == 0) {
        tileSums[blockIdx.x] = total;
    }
}

template <typename T>
__global__ void addTileOffsets(T* data, const T* tileOffsets, int tile)
{
    const T off = tileOffsets[blockIdx.x];
    for (int i = threadIdx.x; i < tile; i += blockDim.x) {
        data[blockIdx.x * tile + i] += off;
    }
}

// reduce policies
struct InterleavedTree {};
struct SequentialTree {};

template <typename Policy_, typename T, int THREADS>
__global__ void reduceTiles(const T* in, T* out, int n)
{
    __shared__ T s[THREADS];
    T acc = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        acc = max(acc, in[i]);
    }
    s[threadIdx.x] = acc;
    __syncthreads();
    if constexpr (std::is_same_v<Policy_, InterleavedTree>) {
        for (int o = 1; o < THREADS; o *= 2) {
            const int k = threadIdx.x * 2 * o;
            if (k + o < THREADS) {
                s[k] = max(s[k], s[k + o]);
            }
            __syncthreads();
        }
    } else {
        for (int o = THREADS / 2; o > 0; o /= 2) {
            if (threadIdx.x < o) {
                s[threadIdx.x] = max(s[threadIdx.x], s[threadIdx.x + o]);
            }
            __syncthreads();
        }
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = s[0];
    }
}

// bitonic sort of a 1024-key tile by 512 threads
template <int TILE>
__global__ void __launch_bounds__(TILE / 2) bitonicTiles(unsigned* keys)
{
    __shared__ unsigned s[TILE];
    unsigned* g = keys + blockIdx.x * TILE;
    s[threadIdx.x] = g[threadIdx.x];
    s[threadIdx.x + TILE / 2] = g[threadIdx.x + TILE / 2];
    for (int k = 2; k <= TILE; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            __syncthreads();
            const int lo = 2 * threadIdx.x - (threadIdx.x & (j - 1));
            const int hi = lo + j;
            const bool up = (lo & k) == 0;
            const unsigned a = s[lo];
            const unsigned b = s[hi];
            if ((a > b) == up) {
                s[lo] = b;
                s[hi] = a;
            }
        }
    }
    __syncthreads();
    g[threadIdx.x] = s[threadIdx.x];
    g[threadIdx.x + TILE / 2] = s[threadIdx.x + TILE / 2];
}

} // namespace blk

static void must(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::printf("FAIL: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

template <typename P>
static bool testScan(const char* name, const std::vector<unsigned>& h, const unsigned* dIn, unsigned* dOut, unsigned* dSums)
{
    const int n = static_cast<int>(h.size());
    const int tiles = n / P::TILE;
    blk::scanTiles<P, unsigned><<<tiles, P::THREADS>>>(dIn, dOut, dSums);
    must(cudaGetLastError());
    std::vector<unsigned> sums(tiles), out(n);
    must(cudaMemcpy(sums.data(), dSums, tiles * sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::exclusive_scan(sums.begin(), sums.end(), sums.begin(), 0u);
    must(cudaMemcpy(dSums, sums.data(), tiles * sizeof(unsigned), cudaMemcpyHostToDevice));
    blk::addTileOffsets<<<tiles, 256>>>(dOut, dSums, P::TILE);
    must(cudaGetLastError());
    must(cudaMemcpy(out.data(), dOut, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    unsigned run = 0;
    bool ok = true;
    for (int i = 0; i < n; ++i) {
        ok = ok && out[i] == run;
        run += h[i];
    }
    std::printf("scan %-24s %s\n", name, ok ? "ok" : "MISMATCH");
    return ok;
}

int main()
{
    using namespace blk;
    const int n = 1 << 20;
    std::mt19937 rng(5);
    std::vector<unsigned> h(n);
    for (auto& v : h) {
        v = rng() & 0xffff;
    }
    unsigned *in, *out, *sums;
    must(cudaMalloc(&in, n * sizeof(unsigned)));
    must(cudaMalloc(&out, n * sizeof(unsigned)));
    must(cudaMalloc(&sums, 65536 * sizeof(unsigned)));
    must(cudaMemcpy(in, h.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));

    bool ok = true;
    ok &= testScan<Policy<256, 4, ScanAlgo::WarpShuffle, LoadAlgo::Transpose>>("shuffle/transpose", h, in, out, sums);
    ok &= testScan<Policy<128, 8, ScanAlgo::Raking, LoadAlgo::Direct>>("raking/direct", h, in, out, sums);
    ok &= testScan<Policy<256, 8, ScanAlgo::Raking, LoadAlgo::Transpose>>("raking/transpose", h, in, out, sums);
    ok &= testScan<Policy<256, 1, ScanAlgo::HillisSteele, LoadAlgo::Direct>>("hillis/direct", h, in, out, sums);

    const unsigned want = *std::max_element(h.begin(), h.end());
    std::vector<unsigned> part(132);
    reduceTiles<InterleavedTree, unsigned, 256><<<132, 256>>>(in, sums, n);
    must(cudaMemcpy(part.data(), sums, 132 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    ok &= *std::max_element(part.begin(), part.end()) == want;
    reduceTiles<SequentialTree, unsigned, 512><<<132, 512>>>(in, sums, n);
    must(cudaMemcpy(part.data(), sums, 132 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    ok &= *std::max_element(part.begin(), part.end()) == want;

    must(cudaMemcpy(out, in, n * sizeof(unsigned), cudaMemcpyDeviceToDevice));
    bitonicTiles<1024><<<n / 1024, 512>>>(out);
    must(cudaGetLastError());
    std::vector<unsigned> sorted(n);
    must(cudaMemcpy(sorted.data(), out, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::vector<unsigned> ref = h;
    for (int t = 0; t < n; t += 1024) {
        std::sort(ref.begin() + t, ref.begin() + t + 1024);
    }
    ok &= ref == sorted;
    must(cudaDeviceSynchronize());
    cudaFree(in);
    cudaFree(out);
    cudaFree(sums);
    std::printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
