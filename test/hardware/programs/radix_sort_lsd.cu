// LSD radix sort, 4 bits a pass, with per-block histogram, scan and stable scatter. 64-bit keys truncated to 8 bits of work.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <utility>
#include <cuda_runtime.h>

using u64 = unsigned long long;
using u32 = unsigned int;

namespace radix {
constexpr int BITS = 4, BINS = 1 << BITS, THREADS = 128, ITEMS = 3, TILE = THREADS * ITEMS;

__device__ __forceinline__ u32 digit(u64 k, int shift) { return (u32)(k >> shift) & (BINS - 1); }

__global__ void upsweep(const u64* __restrict__ keys, u32* __restrict__ counts, int n, int shift)
{
    __shared__ u32 h[BINS];
    if (threadIdx.x < BINS) h[threadIdx.x] = 0;
    __syncthreads();
    int base = blockIdx.x * TILE;
    #pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        int p = base + i * THREADS + threadIdx.x;
        if (p < n) atomicAdd(&h[digit(keys[p], shift)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < BINS) counts[threadIdx.x * gridDim.x + blockIdx.x] = h[threadIdx.x];
}

// single block exclusive scan, Hillis-Steele with running carry
__global__ void scan_counts(u32* data, int n)
{
    __shared__ u32 buf[2][256];
    u32 carry = 0;
    for (int base = 0; base < n; base += 256) {
        int i = base + threadIdx.x, cur = 0;
        u32 x = i < n ? data[i] : 0;
        buf[0][threadIdx.x] = x;
        __syncthreads();
        for (int off = 1; off < 256; off <<= 1, cur ^= 1) {
            u32 v = buf[cur][threadIdx.x];
            if (threadIdx.x >= off) v += buf[cur][threadIdx.x - off];
            buf[cur ^ 1][threadIdx.x] = v;
            __syncthreads();
        }
        if (i < n) data[i] = carry + buf[cur][threadIdx.x] - x;
        carry += buf[cur][255];
        __syncthreads();
    }
}

__global__ void downsweep(const u64* __restrict__ kin, const u32* __restrict__ vin, u64* __restrict__ kout, u32* __restrict__ vout,
                          const u32* __restrict__ offsets, int n, int shift)
{
    __shared__ u32 warp_cnt[THREADS / 32][BINS + 1];
    __shared__ u32 global_base[BINS];
    const int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x < BINS) global_base[threadIdx.x] = offsets[threadIdx.x * gridDim.x + blockIdx.x];
    for (int it = 0; it < ITEMS; ++it) {
        for (int i = lane; i < BINS; i += 32) warp_cnt[w][i] = 0;
        __syncthreads();
        int p = blockIdx.x * TILE + it * THREADS + threadIdx.x;
        bool ok = p < n;
        u64 key = ok ? kin[p] : ~0ull;
        u32 d = ok ? digit(key, shift) : BINS;
        u32 peers = __match_any_sync(~0u, d);
        u32 rank = __popc(peers & ((1u << lane) - 1));
        if (rank == 0 && d < BINS) warp_cnt[w][d] = __popc(peers);
        __syncthreads();
        if (ok) {
            u32 pos = global_base[d] + rank;
            for (int q = 0; q < w; ++q) pos += warp_cnt[q][d];
            kout[pos] = key;
            vout[pos] = vin[p];
        }
        __syncthreads();
        if (threadIdx.x < BINS) {
            u32 s = 0;
            #pragma unroll
            for (int q = 0; q < THREADS / 32; ++q) s += warp_cnt[q][threadIdx.x];
            global_base[threadIdx.x] += s;
        }
        __syncthreads();
    }
}
}  // namespace radix

int main()
{
    const int n = 10007;
    std::vector<u64> k(n), ko(n);
    std::vector<u32> v(n), vo(n);
    u64 s = 0x9E3779B97F4A7C15ull;
    for (int i = 0; i < n; ++i) { s ^= s << 7; s ^= s >> 9; k[i] = s % 4096; v[i] = i; }
    u64 *d0, *d1; u32 *v0, *v1, *cnt;
    int blocks = (n + radix::TILE - 1) / radix::TILE;
    cudaMalloc(&d0, n * 8); cudaMalloc(&d1, n * 8); cudaMalloc(&v0, n * 4); cudaMalloc(&v1, n * 4);
    cudaMalloc(&cnt, blocks * radix::BINS * 4);
    cudaMemcpy(d0, k.data(), n * 8, cudaMemcpyHostToDevice);
    cudaMemcpy(v0, v.data(), n * 4, cudaMemcpyHostToDevice);
    for (int shift = 0; shift < 12; shift += radix::BITS) {
        radix::upsweep<<<blocks, radix::THREADS>>>(d0, cnt, n, shift);
        radix::scan_counts<<<1, 256>>>(cnt, blocks * radix::BINS);
        radix::downsweep<<<blocks, radix::THREADS>>>(d0, v0, d1, v1, cnt, n, shift);
        std::swap(d0, d1);
        std::swap(v0, v1);
    }
    cudaMemcpy(ko.data(), d0, n * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(vo.data(), v0, n * 4, cudaMemcpyDeviceToHost);
    std::stable_sort(v.begin(), v.end(), [&](u32 a, u32 b) { return k[a] < k[b]; });
    int bad = 0;
    for (int i = 0; i < n; ++i) bad += (vo[i] != v[i]) + (ko[i] != k[v[i]]);
    printf("radix sort mismatches: %d\n", bad);
    return bad != 0;
}
