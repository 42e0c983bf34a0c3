// Frame-of-reference integer compression in blocks of 128 values (one warp a block):
// analyse -> offsets -> pack -> unpack, plus a ballot compaction of outliers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace codec {

using u32 = std::uint32_t;

constexpr u32 kFull = 0xffffffffu;
constexpr int kBlock = 128;        // values in a block
constexpr int kWarps = 4;          // blocks handled by one CTA

struct Header {
    u32 base;
    u32 bits;
};

__device__ __forceinline__ u32 laneId() {
    u32 l;
    asm("mov.u32 %0, %%laneid;" : "=r"(l));
    return l;
}

__global__ void analyse(const uint4* __restrict__ values, Header* __restrict__ headers, int blocks) {
    const int b = blockIdx.x * kWarps + threadIdx.x / 32;
    if (b >= blocks) return;
    const uint4 v = values[b * 32 + laneId()];
    const u32 lo = __reduce_min_sync(kFull, min(min(v.x, v.y), min(v.z, v.w)));
    const u32 hi = __reduce_max_sync(kFull, max(max(v.x, v.y), max(v.z, v.w)));
    if (laneId() == 0) headers[b] = Header{lo, 32u - __clz(hi - lo)};
}

// exclusive sum of the packed word counts; a single CTA walks everything with a running carry
template <int THREADS>
__global__ void __launch_bounds__(THREADS) offsets(const Header* __restrict__ headers, u32* __restrict__ start, int blocks) {
    __shared__ u32 warpSum[THREADS / 32];
    __shared__ u32 carry;
    const u32 lane = laneId(), warp = threadIdx.x / 32;
    if (threadIdx.x == 0) carry = 0;
    for (int base = 0; base < blocks; base += THREADS) {
        const int i = base + threadIdx.x;
        const u32 mine = i < blocks ? headers[i].bits * (kBlock / 32) : 0;
        u32 incl = mine;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const u32 up = __shfl_up_sync(kFull, incl, d);
            if (lane >= (u32)d) incl += up;
        }
        if (lane == 31) warpSum[warp] = incl;
        __syncthreads();
        if (warp == 0) {
            u32 s = lane < THREADS / 32 ? warpSum[lane] : 0;
#pragma unroll
            for (int d = 1; d < 32; d *= 2) {
                const u32 up = __shfl_up_sync(kFull, s, d);
                if (lane >= (u32)d) s += up;
            }
            if (lane < THREADS / 32) warpSum[lane] = s;
        }
        __syncthreads();
        const u32 before = carry + (warp ? warpSum[warp - 1] : 0);
        if (i < blocks) start[i] = before + incl - mine;
        __syncthreads();
        if (threadIdx.x == 0) carry += warpSum[THREADS / 32 - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) start[blocks] = carry;
}

__global__ void pack(const u32* __restrict__ values, const Header* __restrict__ headers, const u32* __restrict__ start,
                     u32* __restrict__ out, int blocks) {
    __shared__ u32 stage[kWarps][kBlock + 1];
    const int w = threadIdx.x / 32, b = blockIdx.x * kWarps + w;
    if (b >= blocks) return;
    const u32 lane = laneId();
    const Header h = headers[b];
#pragma unroll
    for (int k = 0; k < 4; ++k) stage[w][k * 32 + lane] = 0;
    if (lane == 0) stage[w][kBlock] = 0;
    __syncwarp();
    if (h.bits) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const u32 idx = k * 32 + lane, v = values[b * kBlock + idx] - h.base;
            const u32 pos = idx * h.bits, word = pos / 32, sh = pos % 32;
            atomicOr(&stage[w][word], v << sh);
            if (sh + h.bits > 32) atomicOr(&stage[w][word + 1], v >> (32 - sh));
        }
    }
    __syncwarp();
    for (u32 i = lane; i < h.bits * 4; i += 32) out[start[b] + i] = stage[w][i];
}

__global__ void unpack(const u32* __restrict__ in, const Header* __restrict__ headers, const u32* __restrict__ start,
                       u32* __restrict__ values, int blocks) {
    const int b = blockIdx.x * kWarps + threadIdx.x / 32;
    if (b >= blocks) return;
    const u32 lane = laneId(), off = start[b];
    const Header h = headers[b];
    const u32 mask = h.bits == 32 ? ~0u : (1u << h.bits) - 1u;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const u32 idx = k * 32 + lane, pos = idx * h.bits, word = pos / 32, sh = pos % 32;
        u32 v = 0;
        if (h.bits) {
            const u32 lo = in[off + word], hi = sh + h.bits > 32 ? in[off + word + 1] : 0;
            v = __funnelshift_r(lo, hi, sh) & mask;
        }
        values[b * kBlock + idx] = v + h.base;
    }
}

// indices of values above a limit, warp-aggregated append
__global__ void outliers(const u32* __restrict__ values, int n, u32 limit, u32* __restrict__ index, u32* counter) {
    for (int base = blockIdx.x * blockDim.x; base < n; base += gridDim.x * blockDim.x) {
        const int i = base + threadIdx.x;
        const bool take = i < n && values[i] > limit;
        const u32 votes = __ballot_sync(kFull, take);
        u32 at = 0;
        if (votes && laneId() == 0) at = atomicAdd(counter, __popc(votes));
        at = __shfl_sync(kFull, at, 0);
        if (take) index[at + __popc(votes & ((1u << laneId()) - 1u))] = i;
    }
}

}  // namespace codec

static void check(cudaError_t e, const char* where) {
    if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

template <class T>
struct Vec {
    T* d = nullptr;
    size_t n;
    explicit Vec(size_t count) : n(count) {
        check(cudaMalloc(&d, n * sizeof(T)), "malloc");
        check(cudaMemset(d, 0, n * sizeof(T)), "memset");
    }
    ~Vec() { cudaFree(d); }
    void put(const std::vector<T>& h) { check(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice), "put"); }
    std::vector<T> get() const {
        std::vector<T> h(n);
        check(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost), "get");
        return h;
    }
};

static int run(int blocks) {
    using namespace codec;
    const int n = blocks * kBlock;
    std::vector<u32> src(n);
    u32 s = 1;
    for (int i = 0; i < n; ++i) {
        s = s * 1664525u + 1013904223u;
        const int b = i / kBlock, width = b % 37 == 0 ? 0 : (b % 101 == 5 ? 32 : 3 + b % 17);
        const u32 r = width == 0 ? 0 : (s ^ (s >> 15)) >> (32 - width);
        src[i] = width == 32 ? r : (u32)b * 50u + r;
    }
    const u32 limit = 600000u;

    Vec<u32> values(n), start(blocks + 1), packed(n + 1), back(n), index(n), counter(1);
    Vec<Header> headers(blocks);
    values.put(src);

    const int grid = (blocks + kWarps - 1) / kWarps, tpb = kWarps * 32;
    analyse<<<grid, tpb>>>(reinterpret_cast<const uint4*>(values.d), headers.d, blocks);
    offsets<1024><<<1, 1024>>>(headers.d, start.d, blocks);
    pack<<<grid, tpb>>>(values.d, headers.d, start.d, packed.d, blocks);
    unpack<<<grid, tpb>>>(packed.d, headers.d, start.d, back.d, blocks);
    outliers<<<264, 256>>>(values.d, n, limit, index.d, counter.d);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "sync");

    int errors = 0;
    const auto hs = headers.get();
    const auto st = start.get();
    u32 total = 0;
    for (int b = 0; b < blocks; ++b) {
        const auto [lo, hi] = std::minmax_element(src.begin() + b * kBlock, src.begin() + (b + 1) * kBlock);
        u32 bits = 0;
        while (bits < 32 && ((*hi - *lo) >> bits)) ++bits;
        errors += hs[b].base != *lo || hs[b].bits != bits || st[b] != total;
        total += bits * 4;
    }
    errors += st[blocks] != total;
    errors += back.get() != src;

    std::vector<u32> want;
    for (int i = 0; i < n; ++i) if (src[i] > limit) want.push_back(i);
    auto got = index.get();
    const u32 found = counter.get()[0];
    if (found != want.size()) ++errors;
    else {
        got.resize(found);
        std::sort(got.begin(), got.end());
        errors += got != want;
    }
    std::printf("%u words for %d values, %u outliers\n", total, n, found);
    return errors;
}

int main() {
    try {
        const int errors = run(8000);
        std::puts(errors ? "FAIL" : "OK");
        return errors ? 1 : 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}
