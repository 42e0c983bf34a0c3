/*
 * Hand written block primitives (BlockLoad, BlockExchange, BlockScan, BlockRadixRank) and
 * device-wide algorithms on top of them: single-pass scan and stream compaction with
 * decoupled look-back, LSD radix sort of key/value pairs, run-length encode, segmented reduce.
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CubDebugExit(e) do { cudaError_t _e = (e); if (_e != cudaSuccess) { printf("error %d: %s (line %d)\n", _e, cudaGetErrorString(_e), __LINE__); exit(1); } } while (0)

namespace blk {

enum LoadAlgorithm { LOAD_DIRECT, LOAD_TRANSPOSE, LOAD_WARP_TRANSPOSE };

template <typename T, int THREADS, int ITEMS, bool PADDED = true>
struct BlockExchange {
    static constexpr int TILE = THREADS * ITEMS;
    static constexpr bool INSERT_PADDING = PADDED && (ITEMS > 4) && ((ITEMS & (ITEMS - 1)) == 0);
    struct TempStorage { T buff[TILE + (INSERT_PADDING ? TILE / 32 : 0)]; };
    TempStorage& s; int tid;
    __device__ BlockExchange(TempStorage& t) : s(t), tid(threadIdx.x) {}
    static __device__ __forceinline__ int pad(int i) { return INSERT_PADDING ? i + (i >> 5) : i; }
    __device__ void StripedToBlocked(T (&items)[ITEMS]) {
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) s.buff[pad(i * THREADS + tid)] = items[i];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) items[i] = s.buff[pad(tid * ITEMS + i)];
    }
    __device__ void BlockedToStriped(T (&items)[ITEMS]) {
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) s.buff[pad(tid * ITEMS + i)] = items[i];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) items[i] = s.buff[pad(i * THREADS + tid)];
    }
    __device__ void WarpStripedToBlocked(T (&items)[ITEMS]) {
        const int lane = tid & 31, base = (tid >> 5) * 32 * ITEMS;
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) s.buff[pad(base + i * 32 + lane)] = items[i];
        __syncwarp();
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) items[i] = s.buff[pad(base + lane * ITEMS + i)];
    }
    __device__ void ScatterToStriped(T (&items)[ITEMS], int (&ranks)[ITEMS]) {
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) s.buff[pad(ranks[i])] = items[i];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) items[i] = s.buff[pad(i * THREADS + tid)];
    }
};

template <typename T, int THREADS, int ITEMS, LoadAlgorithm ALG, bool PADDED = true>
struct BlockLoad {
    using Exchange = BlockExchange<T, THREADS, ITEMS, PADDED>;
    using TempStorage = typename Exchange::TempStorage;
    TempStorage& s;
    __device__ BlockLoad(TempStorage& t) : s(t) {}
    template <typename It>
    __device__ void Load(It in, T (&items)[ITEMS], int valid, T oob) {
        if constexpr (ALG == LOAD_DIRECT) {
            #pragma unroll
            for (int i = 0; i < ITEMS; i++) { int p = threadIdx.x * ITEMS + i; items[i] = p < valid ? in[p] : oob; }
        } else if constexpr (ALG == LOAD_TRANSPOSE) {
            #pragma unroll
            for (int i = 0; i < ITEMS; i++) { int p = i * THREADS + threadIdx.x; items[i] = p < valid ? in[p] : oob; }
            Exchange(s).StripedToBlocked(items);
        } else {
            const int base = (threadIdx.x >> 5) * 32 * ITEMS + (threadIdx.x & 31);
            #pragma unroll
            for (int i = 0; i < ITEMS; i++) { int p = base + i * 32; items[i] = p < valid ? in[p] : oob; }
            Exchange(s).WarpStripedToBlocked(items);
        }
    }
};

template <typename T, int THREADS>
struct BlockScan {
    static constexpr int WARPS = THREADS / 32;
    struct TempStorage { T warp_aggregates[WARPS]; };
    TempStorage& s;
    __device__ BlockScan(TempStorage& t) : s(t) {}
    __device__ void ExclusiveSum(T in, T& out, T& aggregate) {
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        T inc = in;
        #pragma unroll
        for (int d = 1; d < 32; d <<= 1) { T o = __shfl_up_sync(~0u, inc, d); if (lane >= d) inc += o; }
        if (lane == 31) s.warp_aggregates[warp] = inc;
        __syncthreads();
        T prefix = 0; aggregate = 0;
        #pragma unroll
        for (int w = 0; w < WARPS; w++) { T a = s.warp_aggregates[w]; if (w == warp) prefix = aggregate; aggregate += a; }
        out = prefix + inc - in;
    }
};

}  // namespace blk

// ---- decoupled look-back -------------------------------------------------------------------
enum : uint32_t { TILE_INVALID = 0, TILE_PARTIAL = 1, TILE_INCLUSIVE = 2 };
struct ScanTileState {
    unsigned long long* d_tiles;    // [status:32 | value:32], 32 padding entries in front
    __device__ void Set(int tile, uint32_t status, uint32_t v) {
        __threadfence();
        atomicExch(&d_tiles[32 + tile], (unsigned long long)status << 32 | v);
    }
    __device__ unsigned long long Wait(int tile) {
        volatile unsigned long long* p = d_tiles + 32 + tile;
        unsigned long long d = *p;
        while (__any_sync(~0u, (uint32_t)(d >> 32) == TILE_INVALID)) d = *p;
        return d;
    }
};
// to be called by the whole first warp; returns exclusive prefix of the tile
__device__ uint32_t tile_prefix(ScanTileState st, int tile, uint32_t aggregate) {
    const int lane = threadIdx.x;
    if (lane == 0) st.Set(tile, tile == 0 ? TILE_INCLUSIVE : TILE_PARTIAL, aggregate);
    if (tile == 0) return 0;
    uint32_t prefix = 0;
    int pred = tile - 1 - lane;
    while (true) {
        unsigned long long d = st.Wait(pred);
        uint32_t status = d >> 32, v = (uint32_t)d;
        unsigned inc = __ballot_sync(~0u, status == TILE_INCLUSIVE);
        int stop = inc ? __ffs(inc) - 1 : 31;
        uint32_t c = lane <= stop ? v : 0;
        #pragma unroll
        for (int o = 16; o; o >>= 1) c += __shfl_xor_sync(~0u, c, o);
        prefix += c;
        if (inc) break;
        pred -= 32;
    }
    if (lane == 0) st.Set(tile, TILE_INCLUSIVE, prefix + aggregate);
    return prefix;
}

__global__ void DeviceScanInitKernel(ScanTileState st, int* counter, int num_tiles) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num_tiles) st.d_tiles[32 + i] = 0;
    if (i < 32) st.d_tiles[i] = (unsigned long long)TILE_INCLUSIVE << 32;  // before the first tile
    if (i == 0) *counter = 0;
}

template <int THREADS, int ITEMS, blk::LoadAlgorithm ALG, bool PADDED>
__global__ void __launch_bounds__(THREADS) DeviceScanKernel(const uint32_t* __restrict__ in, uint32_t* __restrict__ out, ScanTileState st, int* counter, int n) {
    using Load = blk::BlockLoad<uint32_t, THREADS, ITEMS, ALG, PADDED>;
    using Scan = blk::BlockScan<uint32_t, THREADS>;
    using Exch = blk::BlockExchange<uint32_t, THREADS, ITEMS, PADDED>;
    __shared__ union { typename Load::TempStorage load; typename Exch::TempStorage store; } u;
    __shared__ typename Scan::TempStorage scan;
    __shared__ uint32_t s_prefix; __shared__ int s_tile;
    if (threadIdx.x == 0) s_tile = atomicAdd(counter, 1);
    __syncthreads();
    const int tile = s_tile, base = tile * THREADS * ITEMS, valid = min(n - base, THREADS * ITEMS);
    uint32_t items[ITEMS];
    Load(u.load).Load(in + base, items, valid, 0u);
    uint32_t sum = 0;
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) sum += items[i];
    uint32_t excl, agg;
    Scan(scan).ExclusiveSum(sum, excl, agg);
    if (threadIdx.x < 32) { uint32_t p = tile_prefix(st, tile, agg); if (threadIdx.x == 0) s_prefix = p; }
    __syncthreads();
    excl += s_prefix;
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) { uint32_t v = items[i]; items[i] = excl; excl += v; }
    if constexpr (ALG == blk::LOAD_DIRECT) {
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) { int p = threadIdx.x * ITEMS + i; if (p < valid) out[base + p] = items[i]; }
    } else {
        Exch(u.store).BlockedToStriped(items);
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) { int p = i * THREADS + threadIdx.x; if (p < valid) out[base + p] = items[i]; }
    }
}

struct IsMultiple { uint32_t m; __device__ __host__ bool operator()(uint32_t x) const { return x % m == 0; } };

template <int THREADS, int ITEMS, typename Op>
__global__ void __launch_bounds__(THREADS) DeviceSelectIfKernel(const uint32_t* __restrict__ in, uint32_t* __restrict__ out, int* num_selected, ScanTileState st, int* counter, int n, Op op) {
    using Load = blk::BlockLoad<uint32_t, THREADS, ITEMS, blk::LOAD_WARP_TRANSPOSE>;
    using Scan = blk::BlockScan<uint32_t, THREADS>;
    __shared__ union { typename Load::TempStorage load; uint32_t compact[THREADS * ITEMS]; } u;
    __shared__ typename Scan::TempStorage scan;
    __shared__ uint32_t s_prefix; __shared__ int s_tile;
    if (threadIdx.x == 0) s_tile = atomicAdd(counter, 1);
    __syncthreads();
    const int tile = s_tile, base = tile * THREADS * ITEMS, valid = min(n - base, THREADS * ITEMS);
    uint32_t items[ITEMS], flags = 0;
    Load(u.load).Load(in + base, items, valid, 0u);
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) if (threadIdx.x * ITEMS + i < valid && op(items[i])) flags |= 1u << i;
    uint32_t rank, agg;
    Scan(scan).ExclusiveSum(__popc(flags), rank, agg);
    if (threadIdx.x < 32) { uint32_t p = tile_prefix(st, tile, agg); if (threadIdx.x == 0) s_prefix = p; }
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) if (flags >> i & 1) u.compact[rank++] = items[i];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < agg; i += THREADS) out[s_prefix + i] = u.compact[i];
    if (base + valid == n && threadIdx.x == 0) *num_selected = s_prefix + agg;
}

// ---- radix sort: upsweep / scan bins (reuses DeviceScanKernel) / downsweep -------------------
template <int BITS, int THREADS, int ITEMS>
__global__ void DeviceRadixSortUpsweepKernel(const uint32_t* __restrict__ keys, uint32_t* __restrict__ spine, int n, int shift) {
    constexpr int RADIX = 1 << BITS;
    __shared__ uint32_t hist[RADIX];
    for (int i = threadIdx.x; i < RADIX; i += THREADS) hist[i] = 0;
    __syncthreads();
    const int base = blockIdx.x * THREADS * ITEMS;
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) { int p = base + i * THREADS + threadIdx.x; if (p < n) atomicAdd(&hist[(keys[p] >> shift) & (RADIX - 1)], 1u); }
    __syncthreads();
    for (int i = threadIdx.x; i < RADIX; i += THREADS) spine[i * gridDim.x + blockIdx.x] = hist[i];
}

// packed 16-bit digit counters, [lane][thread], as in the classic "rank" of 4-bit digits
template <int THREADS, int ITEMS, int BITS>
struct BlockRadixRank {
    static constexpr int RADIX = 1 << BITS, LANES = RADIX / 2;
    struct TempStorage { union { uint16_t digit[LANES][THREADS][2]; uint32_t raking[LANES * THREADS]; }; typename blk::BlockScan<uint32_t, THREADS>::TempStorage scan; };
    TempStorage& s;
    __device__ BlockRadixRank(TempStorage& t) : s(t) {}
    __device__ void RankKeys(uint32_t (&keys)[ITEMS], int (&ranks)[ITEMS], int shift, uint32_t& digit_excl) {
        const int tid = threadIdx.x;
        #pragma unroll
        for (int l = 0; l < LANES; l++) s.raking[l * THREADS + tid] = 0;
        uint16_t prefix[ITEMS]; uint16_t* ptr[ITEMS];
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            uint32_t d = (keys[i] >> shift) & (RADIX - 1);
            ptr[i] = &s.digit[d & (LANES - 1)][tid][d / LANES];
            prefix[i] = *ptr[i];
            *ptr[i] = prefix[i] + 1;
        }
        __syncthreads();
        uint32_t part = 0;
        #pragma unroll
        for (int l = 0; l < LANES; l++) part += s.raking[tid * LANES + l];
        uint32_t excl, agg;
        blk::BlockScan<uint32_t, THREADS>(s.scan).ExclusiveSum(part, excl, agg);
        excl += agg << 16;          // high halves start behind all the low ones
        #pragma unroll
        for (int l = 0; l < LANES; l++) { uint32_t c = s.raking[tid * LANES + l]; s.raking[tid * LANES + l] = excl; excl += c; }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) ranks[i] = prefix[i] + *ptr[i];
        if (tid < RADIX) digit_excl = s.digit[tid & (LANES - 1)][0][tid / LANES];
    }
};

template <int BITS, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS) DeviceRadixSortDownsweepKernel(const uint32_t* __restrict__ kin, const uint32_t* __restrict__ vin, uint32_t* __restrict__ kout, uint32_t* __restrict__ vout, const uint32_t* __restrict__ spine, int n, int shift) {
    constexpr int RADIX = 1 << BITS;
    using Load = blk::BlockLoad<uint32_t, THREADS, ITEMS, blk::LOAD_TRANSPOSE>;
    using Exch = blk::BlockExchange<uint32_t, THREADS, ITEMS>;
    using Rank = BlockRadixRank<THREADS, ITEMS, BITS>;
    __shared__ union { typename Load::TempStorage load; typename Exch::TempStorage exch; typename Rank::TempStorage rank; } u;
    __shared__ uint32_t rel[RADIX];
    const int base = blockIdx.x * THREADS * ITEMS, valid = min(n - base, THREADS * ITEMS);
    uint32_t keys[ITEMS], vals[ITEMS]; int ranks[ITEMS];
    Load(u.load).Load(kin + base, keys, valid, 0xffffffffu);
    __syncthreads();
    Load(u.load).Load(vin + base, vals, valid, 0u);
    __syncthreads();
    uint32_t digit_excl = 0;
    Rank(u.rank).RankKeys(keys, ranks, shift, digit_excl);
    if (threadIdx.x < RADIX) rel[threadIdx.x] = spine[threadIdx.x * gridDim.x + blockIdx.x] - digit_excl;
    __syncthreads();
    Exch(u.exch).ScatterToStriped(keys, ranks);
    __syncthreads();
    Exch(u.exch).ScatterToStriped(vals, ranks);
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int p = i * THREADS + threadIdx.x;
        if (p < valid) { uint32_t o = rel[(keys[i] >> shift) & (RADIX - 1)] + p; kout[o] = keys[i]; vout[o] = vals[i]; }
    }
}

// ---- run starts of a sorted sequence, then a warp-per-segment reduction ----------------------
__global__ void HeadFlagsKernel(const uint32_t* __restrict__ keys, uint32_t* __restrict__ flags, int n, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) flags[i] = (i == 0 || (keys[i] >> shift) != (keys[i - 1] >> shift)) ? 1u : 0u;
}
__global__ void ScatterOffsetsKernel(const uint32_t* __restrict__ flags, const uint32_t* __restrict__ scan, int* __restrict__ offsets, int* __restrict__ num_runs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (flags[i]) offsets[scan[i]] = i;
    if (i == n - 1) { int r = scan[i] + flags[i]; *num_runs = r; offsets[r] = n; }
}
template <typename ReductionOp>
__global__ void DeviceSegmentedReduceWarpKernel(const uint32_t* __restrict__ vals, const int* __restrict__ offsets, const int* __restrict__ num_runs, uint32_t* __restrict__ out, ReductionOp op, uint32_t identity) {
    const int warps = gridDim.x * blockDim.x / 32, lane = threadIdx.x & 31;
    for (int seg = (blockIdx.x * blockDim.x + threadIdx.x) / 32; seg < *num_runs; seg += warps) {
        uint32_t acc = identity;
        for (int i = offsets[seg] + lane; i < offsets[seg + 1]; i += 32) acc = op(acc, vals[i]);
        #pragma unroll
        for (int o = 16; o; o >>= 1) acc = op(acc, __shfl_down_sync(~0u, acc, o));
        if (lane == 0) out[seg] = acc;
    }
}
struct MaxOp { __device__ __host__ uint32_t operator()(uint32_t a, uint32_t b) const { return a > b ? a : b; } };

template <int THREADS, int ITEMS, blk::LoadAlgorithm ALG, bool PADDED = true>
void ExclusiveScan(const uint32_t* in, uint32_t* out, int n, ScanTileState st, int* counter) {
    int tiles = (n + THREADS * ITEMS - 1) / (THREADS * ITEMS);
    DeviceScanInitKernel<<<(tiles + 127 + 32) / 128, 128>>>(st, counter, tiles);
    DeviceScanKernel<THREADS, ITEMS, ALG, PADDED><<<tiles, THREADS>>>(in, out, st, counter, n);
    CubDebugExit(cudaGetLastError());
}

int main() {
    const int n = 200003;
    std::vector<uint32_t> h(n), vals(n);
    uint32_t s = 12345;
    for (int i = 0; i < n; i++) { s = s * 1664525u + 1013904223u; h[i] = (s >> 12) & 0xffff; vals[i] = i; }
    uint32_t *d_in, *d_val, *d_a, *d_b, *d_k2, *d_v2, *d_spine, *d_seg; int *d_counter, *d_num, *d_off; ScanTileState st;
    for (uint32_t** p : {&d_in, &d_val, &d_a, &d_b, &d_k2, &d_v2, &d_spine, &d_seg}) CubDebugExit(cudaMalloc(p, (n + 64) * 4));
    CubDebugExit(cudaMalloc(&d_counter, 4)); CubDebugExit(cudaMalloc(&d_num, 4)); CubDebugExit(cudaMalloc(&d_off, (n + 1) * 4));
    CubDebugExit(cudaMalloc(&st.d_tiles, 8 * (32 + 4096)));
    CubDebugExit(cudaMemcpy(d_in, h.data(), n * 4, cudaMemcpyHostToDevice));
    CubDebugExit(cudaMemcpy(d_val, vals.data(), n * 4, cudaMemcpyHostToDevice));
    bool ok = true;
    std::vector<uint32_t> got(n), ref(n);
    std::exclusive_scan(h.begin(), h.end(), ref.begin(), 0u);
    auto check = [&](const char* name, uint32_t* d, const std::vector<uint32_t>& r) {
        got.assign(r.size(), 0);
        CubDebugExit(cudaMemcpy(got.data(), d, r.size() * 4, cudaMemcpyDeviceToHost));
        bool good = got == r; printf("%-28s %s\n", name, good ? "ok" : "MISMATCH"); ok &= good;
    };
    ExclusiveScan<128, 16, blk::LOAD_DIRECT>(d_in, d_a, n, st, d_counter);            check("scan direct", d_a, ref);
    ExclusiveScan<128, 16, blk::LOAD_TRANSPOSE, false>(d_in, d_b, n, st, d_counter);  check("scan transpose, no padding", d_b, ref);
    ExclusiveScan<128, 16, blk::LOAD_TRANSPOSE, true>(d_in, d_a, n, st, d_counter);   check("scan transpose, padded", d_a, ref);
    ExclusiveScan<256, 9, blk::LOAD_WARP_TRANSPOSE>(d_in, d_b, n, st, d_counter);     check("scan warp transpose x9", d_b, ref);

    {
        constexpr int T = 128, I = 12; IsMultiple op{3};
        int tiles = (n + T * I - 1) / (T * I);
        DeviceScanInitKernel<<<(tiles + 127 + 32) / 128, 128>>>(st, d_counter, tiles);
        DeviceSelectIfKernel<T, I><<<tiles, T>>>(d_in, d_a, d_num, st, d_counter, n, op);
        std::vector<uint32_t> r; std::copy_if(h.begin(), h.end(), std::back_inserter(r), op);
        int cnt; CubDebugExit(cudaMemcpy(&cnt, d_num, 4, cudaMemcpyDeviceToHost));
        ok &= cnt == (int)r.size(); check("select_if", d_a, r);
    }
    {   // 16-bit keys, 4 bits a pass
        constexpr int B = 4, T = 128, I = 11;
        int blocks = (n + T * I - 1) / (T * I), bins = blocks << B;
        uint32_t *ki = d_in, *vi = d_val, *ko = d_k2, *vo = d_v2;
        for (int shift = 0; shift < 16; shift += B) {
            DeviceRadixSortUpsweepKernel<B, T, I><<<blocks, T>>>(ki, d_spine, n, shift);
            ExclusiveScan<256, 4, blk::LOAD_TRANSPOSE>(d_spine, d_spine, bins, st, d_counter);
            DeviceRadixSortDownsweepKernel<B, T, I><<<blocks, T>>>(ki, vi, ko, vo, d_spine, n, shift);
            CubDebugExit(cudaGetLastError());
            std::swap(ki, ko); std::swap(vi, vo);
        }
        std::vector<uint32_t> id(n), sk(n);
        std::iota(id.begin(), id.end(), 0u);
        std::stable_sort(id.begin(), id.end(), [&](uint32_t a, uint32_t b) { return h[a] < h[b]; });
        for (int i = 0; i < n; i++) sk[i] = h[id[i]];
        check("radix sort keys", ki, sk); check("radix sort values", vi, id);

        HeadFlagsKernel<<<(n + 255) / 256, 256>>>(ki, d_a, n, 6);
        ExclusiveScan<128, 8, blk::LOAD_TRANSPOSE>(d_a, d_b, n, st, d_counter);
        ScatterOffsetsKernel<<<(n + 255) / 256, 256>>>(d_a, d_b, d_off, d_num, n);
        DeviceSegmentedReduceWarpKernel<<<64, 256>>>(vi, d_off, d_num, d_seg, MaxOp(), 0u);
        std::vector<uint32_t> mx;
        for (int i = 0; i < n; i++) { if (i == 0 || sk[i] >> 6 != sk[i - 1] >> 6) mx.push_back(0); mx.back() = std::max(mx.back(), id[i]); }
        int runs; CubDebugExit(cudaMemcpy(&runs, d_num, 4, cudaMemcpyDeviceToHost));
        ok &= runs == (int)mx.size(); check("segmented max", d_seg, mx);
    }
    CubDebugExit(cudaDeviceSynchronize());
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
