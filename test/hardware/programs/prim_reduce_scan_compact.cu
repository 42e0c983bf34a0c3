// prim: a header-style collection of block primitives and the device-wide algorithms on top of
// them (reduce / exclusive scan / stream compaction), with a self test in main().
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>

namespace prim {

// ============================================================ policies
template <int BlockThreads, int ItemsPerThread>
struct AgentPolicy {
    static constexpr int kBlock = BlockThreads;
    static constexpr int kItems = ItemsPerThread;
    static constexpr int kTile  = BlockThreads * ItemsPerThread;
    static_assert((BlockThreads & (BlockThreads - 1)) == 0, "block must be a power of two");
};
struct NoPadding {
    static constexpr __host__ __device__ int at(int i) { return i; }
    static constexpr __host__ __device__ int extent(int n) { return n; }
};
struct Pad32 {
    static constexpr __host__ __device__ int at(int i) { return i + (i >> 5); }
    static constexpr __host__ __device__ int extent(int n) { return n + (n >> 5); }
};
enum class LoadAlgorithm { Direct, Transpose };

// ============================================================ operators
template <class T> struct Maximum {
    T id;
    __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

// ============================================================ warp / block level
template <class T, class Op>
__device__ __forceinline__ T warp_reduce(T v, Op op)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) v = op(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
template <class T, int Block>
class BlockReduce {
    static constexpr int kWarps = Block / 32;
public:
    struct Storage { T warp[kWarps]; };
    __device__ explicit BlockReduce(Storage &s) : s_(s) {}
    // the result is valid in warp 0
    template <class Op> __device__ T operator()(T v, T identity, Op op)
    {
        v = warp_reduce(v, op);
        if ((threadIdx.x & 31) == 0) s_.warp[threadIdx.x >> 5] = v;
        __syncthreads();
        if (threadIdx.x < 32) {
            v = threadIdx.x < kWarps ? s_.warp[threadIdx.x] : identity;
            v = warp_reduce(v, op);
        }
        return v;
    }
private:
    Storage &s_;
};
// work-efficient (Blelloch) scan of one value a thread
template <class T, int Block, class Padding>
class BlockScan {
public:
    struct Storage { T cell[Padding::extent(Block)]; };
    __device__ explicit BlockScan(Storage &s) : s_(s) {}
    __device__ T exclusive_sum(T v, T &total)
    {
        const int t = threadIdx.x;
        at(t) = v;
#pragma unroll
        for (int d = 1; d < Block; d <<= 1) {
            __syncthreads();
            const int i = (t + 1) * 2 * d - 1;
            if (i < Block) at(i) += at(i - d);
        }
        __syncthreads();
        total = at(Block - 1);
        __syncthreads();
        if (t == 0) at(Block - 1) = T(0);
#pragma unroll
        for (int d = Block / 2; d > 0; d >>= 1) {
            __syncthreads();
            const int i = (t + 1) * 2 * d - 1;
            if (i < Block) {
                const T left = at(i - d);
                at(i - d) = at(i);
                at(i) += left;
            }
        }
        __syncthreads();
        return at(t);
    }
private:
    __device__ T &at(int i) { return s_.cell[Padding::at(i)]; }
    Storage &s_;
};
// blocked arrangement <-> global memory
template <class T, class Policy, LoadAlgorithm Algo, class Padding>
struct BlockIO {
    struct Empty {};
    struct Buffer { T cell[Padding::extent(Policy::kTile)]; };
    using Storage = std::conditional_t<Algo == LoadAlgorithm::Transpose, Buffer, Empty>;
    static __device__ void load(Storage &s, const T *in, int base, int n, T fill, T (&item)[Policy::kItems])
    {
        if constexpr (Algo == LoadAlgorithm::Direct) {
            const int first = base + threadIdx.x * Policy::kItems;
#pragma unroll
            for (int k = 0; k < Policy::kItems; ++k) item[k] = first + k < n ? in[first + k] : fill;
        } else {
#pragma unroll
            for (int k = 0; k < Policy::kItems; ++k) {
                const int j = k * Policy::kBlock + threadIdx.x;
                s.cell[Padding::at(j)] = base + j < n ? in[base + j] : fill;
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < Policy::kItems; ++k)
                item[k] = s.cell[Padding::at(threadIdx.x * Policy::kItems + k)];
            __syncthreads();
        }
    }
    static __device__ void store(Storage &s, T *out, int base, int n, const T (&item)[Policy::kItems])
    {
        if constexpr (Algo == LoadAlgorithm::Direct) {
            const int first = base + threadIdx.x * Policy::kItems;
#pragma unroll
            for (int k = 0; k < Policy::kItems; ++k)
                if (first + k < n) out[first + k] = item[k];
        } else {
            __syncthreads();
            for (int k = 0; k < Policy::kItems; ++k)
                s.cell[Padding::at(threadIdx.x * Policy::kItems + k)] = item[k];
            __syncthreads();
#pragma unroll
            for (int k = 0; k < Policy::kItems; ++k) {
                const int j = k * Policy::kBlock + threadIdx.x;
                if (base + j < n) out[base + j] = s.cell[Padding::at(j)];
            }
        }
    }
};

// ============================================================ kernels
template <class Policy, class T, class Op>
__global__ void __launch_bounds__(Policy::kBlock) reduce_kernel(const T *in, int n, T *out, T identity, Op op)
{
    using Reduce = BlockReduce<T, Policy::kBlock>;
    __shared__ typename Reduce::Storage smem;
    T v = identity;
    for (int base = blockIdx.x * Policy::kTile; base < n; base += gridDim.x * Policy::kTile) {
#pragma unroll
        for (int k = 0; k < Policy::kItems; ++k) {
            const int j = base + k * Policy::kBlock + threadIdx.x;
            if (j < n) v = op(v, in[j]);
        }
    }
    v = Reduce(smem)(v, identity, op);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}
template <class Policy, LoadAlgorithm Algo, class Padding, class T>
__global__ void __launch_bounds__(Policy::kBlock) scan_tile_kernel(const T *in, int n, T *out, T *tile_sum)
{
    using IO   = BlockIO<T, Policy, Algo, Padding>;
    using Scan = BlockScan<T, Policy::kBlock, Padding>;
    __shared__ struct { typename IO::Storage io; typename Scan::Storage scan; } smem;
    T item[Policy::kItems];
    const int base = blockIdx.x * Policy::kTile;
    IO::load(smem.io, in, base, n, T(0), item);
    T mine = T(0);
#pragma unroll
    for (int k = 0; k < Policy::kItems; ++k) { const T x = item[k]; item[k] = mine; mine += x; }
    T total;
    const T before = Scan(smem.scan).exclusive_sum(mine, total);
#pragma unroll
    for (int k = 0; k < Policy::kItems; ++k) item[k] += before;
    IO::store(smem.io, out, base, n, item);
    if (tile_sum && threadIdx.x == 0) tile_sum[blockIdx.x] = total;
}
template <class Policy, class T>
__global__ void add_tile_base_kernel(T *data, int n, const T *base_of_tile)
{
    const T b = base_of_tile[blockIdx.x];
    const int base = blockIdx.x * Policy::kTile;
    for (int j = threadIdx.x; j < Policy::kTile && base + j < n; j += blockDim.x) data[base + j] += b;
}
template <class Policy, class T, class Pred>
__global__ void __launch_bounds__(Policy::kBlock) count_if_kernel(const T *in, int n, uint32_t *tile_count, Pred pred)
{
    __shared__ uint32_t count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int k = 0; k < Policy::kItems; ++k) {
        const int j = blockIdx.x * Policy::kTile + k * Policy::kBlock + threadIdx.x;
        if (j < n && pred(in[j])) atomicAdd(&count, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) tile_count[blockIdx.x] = count;
}
template <class Policy, class Padding, class T, class Pred>
__global__ void __launch_bounds__(Policy::kBlock)
copy_if_kernel(const T *in, int n, const uint32_t *tile_offset, T *out, Pred pred)
{
    using IO   = BlockIO<T, Policy, LoadAlgorithm::Direct, Padding>;
    using Scan = BlockScan<uint32_t, Policy::kBlock, Padding>;
    __shared__ typename Scan::Storage smem;
    typename IO::Storage nothing;
    T item[Policy::kItems];
    const int base = blockIdx.x * Policy::kTile, first = base + threadIdx.x * Policy::kItems;
    IO::load(nothing, in, base, n, T(0), item);
    uint32_t flags = 0;
#pragma unroll
    for (int k = 0; k < Policy::kItems; ++k) flags |= uint32_t(first + k < n && pred(item[k])) << k;
    uint32_t total, pos = Scan(smem).exclusive_sum(__popc(flags), total) + tile_offset[blockIdx.x];
#pragma unroll
    for (int k = 0; k < Policy::kItems; ++k)
        if (flags >> k & 1u) out[pos++] = item[k];
}

// ============================================================ host side
inline void throw_if(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(std::string("cuda: ") + cudaGetErrorString(e));
}
template <class T> class Vector {
public:
    explicit Vector(size_t n) : n_(n) { throw_if(cudaMalloc(&p_, n * sizeof(T))); throw_if(cudaMemset(p_, 0, n * sizeof(T))); }
    explicit Vector(const std::vector<T> &h) : Vector(h.size())
    {
        throw_if(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Vector(const Vector &) = delete;
    ~Vector() { cudaFree(p_); }
    std::vector<T> host() const
    {
        std::vector<T> h(n_);
        throw_if(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }
    T *get() { return p_; }
private:
    T *p_ = nullptr; size_t n_;
};
}  // namespace prim
struct IsInteresting {
    uint32_t mask;
    __host__ __device__ bool operator()(uint32_t x) const { return (x & mask) == 0 || x % 5 == 1; }
};

int main(int argc, char **argv)
try {
    using namespace prim;
    const int n = argc > 1 ? std::atoi(argv[1]) : 1000003;
    using P    = AgentPolicy<256, 8>;
    using Pbig = AgentPolicy<512, 4>;
    const int tiles = (n + P::kTile - 1) / P::kTile;
    if (n < 1 || tiles > Pbig::kTile) { std::puts("n out of range for the two-level scan"); return 1; }
    std::vector<uint32_t> h(n);
    for (int i = 0; i < n; ++i) { uint32_t x = i * 2654435761u; h[i] = (x ^ x >> 15) % 1000u; }
    Vector<uint32_t> in(h), out(n), sums(tiles), bases(tiles), one(1);
    bool ok = true;
    auto expect = [&ok](bool c, const char *name) { std::printf("%-16s %s\n", name, c ? "ok" : "WRONG"); ok = ok && c; };
    // max, two passes
    reduce_kernel<P><<<132, P::kBlock>>>(in.get(), n, out.get(), 0u, Maximum<uint32_t>{0u}); throw_if(cudaGetLastError());
    reduce_kernel<Pbig><<<1, Pbig::kBlock>>>(out.get(), 132, one.get(), 0u, Maximum<uint32_t>{0u}); throw_if(cudaGetLastError());
    uint32_t mx = 0;
    for (uint32_t v : h) mx = Maximum<uint32_t>{0u}(mx, v);
    expect(one.host()[0] == mx, "reduce max");
    // exclusive scan; tiles go through shared memory, tile sums are read directly
    scan_tile_kernel<P, LoadAlgorithm::Transpose, NoPadding><<<tiles, P::kBlock>>>(in.get(), n, out.get(), sums.get()); throw_if(cudaGetLastError());
    scan_tile_kernel<Pbig, LoadAlgorithm::Direct, Pad32><<<1, Pbig::kBlock>>>(sums.get(), tiles, bases.get(), (uint32_t *)nullptr); throw_if(cudaGetLastError());
    add_tile_base_kernel<P><<<tiles, 128>>>(out.get(), n, bases.get()); throw_if(cudaGetLastError());
    {
        const auto got = out.host();
        uint32_t run = 0; int bad = 0;
        for (int i = 0; i < n; ++i) { bad += got[i] != run; run += h[i]; }
        expect(bad == 0, "exclusive scan");
    }
    // compaction
    const IsInteresting pred{7u};
    count_if_kernel<P><<<tiles, P::kBlock>>>(in.get(), n, sums.get(), pred); throw_if(cudaGetLastError());
    scan_tile_kernel<Pbig, LoadAlgorithm::Direct, Pad32><<<1, Pbig::kBlock>>>(sums.get(), tiles, bases.get(), one.get()); throw_if(cudaGetLastError());
    copy_if_kernel<P, Pad32><<<tiles, P::kBlock>>>(in.get(), n, bases.get(), out.get(), pred); throw_if(cudaGetLastError());
    {
        const auto got = out.host();
        size_t m = 0; int bad = 0;
        for (uint32_t v : h)
            if (pred(v)) bad += got[m++] != v;
        expect(bad == 0 && one.host()[0] == m, "copy_if");
    }
    std::puts(ok ? "PASS" : "FAIL"); return ok ? 0 : 1;
} catch (const std::exception &e) {
    std::printf("%s\nFAIL\n", e.what());
    return 1;
}
