// LSD radix sort, 4 bits per pass, key/value.  Runs two passes (8 low bits):
// first pass uses the straightforward scatter, second pass reorders inside
// the block first so the writes leave in runs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

typedef unsigned int uint;

#define RADIX_BITS 4
#define RADIX (1 << RADIX_BITS)
#define THREADS 256
#define WARPS (THREADS / 32)
#define ITEMS 4
#define TILE (THREADS * ITEMS)

static void check(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        printf("line %d: %s\n", line, cudaGetErrorString(e));
        exit(1);
    }
}
#define CHECK(x) check((x), __LINE__)

__device__ __forceinline__ uint digit_of(uint key, int shift)
{
    return (key >> shift) & (RADIX - 1);
}

// hist layout is digit-major: hist[digit * numTiles + tile]
__global__ void radix_histogram(const uint *__restrict__ keys, uint *__restrict__ hist, int shift)
{
    __shared__ uint bins[RADIX];
    if (threadIdx.x < RADIX) bins[threadIdx.x] = 0;
    __syncthreads();

    uint base = blockIdx.x * TILE;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        uint k = keys[base + i * THREADS + threadIdx.x];
        atomicAdd(&bins[digit_of(k, shift)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < RADIX)
        hist[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

// Exclusive scan of the whole table by one block: every thread takes a
// contiguous chunk (so the chunk reads are strided across the warp).
__global__ void scan_table(uint *data, int n)
{
    __shared__ uint sums[1024];
    int t = threadIdx.x;
    int per = (n + blockDim.x - 1) / blockDim.x;
    int lo = min(t * per, n), hi = min(lo + per, n);

    uint acc = 0;
    for (int i = lo; i < hi; i++) acc += data[i];
    sums[t] = acc;
    __syncthreads();

    // Hillis-Steele
    for (int off = 1; off < (int)blockDim.x; off <<= 1) {
        uint v = (t >= off) ? sums[t - off] : 0;
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }

    uint run = (t == 0) ? 0 : sums[t - 1];
    for (int i = lo; i < hi; i++) {
        uint v = data[i];
        data[i] = run;
        run += v;
    }
}

// Stable rank of each of the tile's items; warpCount[w][d] is running state.
__device__ uint rank_in_tile(uint d, uint (*warpCount)[RADIX], uint *tileCount)
{
    uint lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    if (threadIdx.x < WARPS * RADIX) (&warpCount[0][0])[threadIdx.x] = 0;
    __syncthreads();

    uint peers = __match_any_sync(0xffffffffu, d);
    uint below = __popc(peers & ((1u << lane) - 1u));
    if (below == 0) warpCount[w][d] = __popc(peers);
    __syncthreads();

    if (threadIdx.x < RADIX) {       // per digit: exclusive over warps
        uint run = tileCount[threadIdx.x];
        for (int i = 0; i < WARPS; i++) {
            uint c = warpCount[i][threadIdx.x];
            warpCount[i][threadIdx.x] = run;
            run += c;
        }
        tileCount[threadIdx.x] = run;
    }
    __syncthreads();
    uint r = warpCount[w][d] + below;
    __syncthreads();
    return r;
}

__global__ void scatter_direct(const uint *keysIn, const uint *valsIn, uint *keysOut, uint *valsOut,
                               const uint *offsets, int shift)
{
    __shared__ uint warpCount[WARPS][RADIX];
    __shared__ uint tileCount[RADIX];
    if (threadIdx.x < RADIX)
        tileCount[threadIdx.x] = offsets[threadIdx.x * gridDim.x + blockIdx.x];

    uint base = blockIdx.x * TILE;
    for (int i = 0; i < ITEMS; i++) {
        uint src = base + i * THREADS + threadIdx.x;
        uint k = keysIn[src];
        uint dst = rank_in_tile(digit_of(k, shift), warpCount, tileCount);
        keysOut[dst] = k;
        valsOut[dst] = valsIn[src];
    }
}

__global__ void scatter_staged(const uint *__restrict__ keysIn, const uint *__restrict__ valsIn,
                               uint *__restrict__ keysOut, uint *__restrict__ valsOut,
                               const uint *__restrict__ offsets, int shift)
{
    __shared__ uint warpCount[WARPS][RADIX];
    __shared__ uint tileCount[RADIX], tileStart[RADIX], globalStart[RADIX];
    __shared__ uint2 stage[TILE];
    uint t = threadIdx.x, base = blockIdx.x * TILE;
    uint k[ITEMS], v[ITEMS], rank[ITEMS];

    if (t < RADIX) {
        tileCount[t] = 0;
        globalStart[t] = offsets[t * gridDim.x + blockIdx.x];
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        k[i] = keysIn[base + i * THREADS + t];
        v[i] = valsIn[base + i * THREADS + t];
        rank[i] = rank_in_tile(digit_of(k[i], shift), warpCount, tileCount);
    }
    if (t == 0) {
        uint run = 0;
        for (int d = 0; d < RADIX; d++) { tileStart[d] = run; run += tileCount[d]; }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        stage[tileStart[digit_of(k[i], shift)] + rank[i]] = make_uint2(k[i], v[i]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        uint p = i * THREADS + t;
        uint2 kv = stage[p];
        uint d = digit_of(kv.x, shift);
        uint dst = globalStart[d] + p - tileStart[d];
        keysOut[dst] = kv.x;
        valsOut[dst] = kv.y;
    }
}

int main()
{
    const int n = 1 << 19, tiles = n / TILE;
    std::vector<uint> keys(n), vals(n), outK(n), outV(n);
    uint s = 77u;
    for (int i = 0; i < n; i++) {
        s = s * 747796405u + 2891336453u;
        keys[i] = s ^ (s >> 15);
        vals[i] = i;
    }

    uint *k0, *k1, *v0, *v1, *hist;
    const size_t bytes = n * sizeof(uint);
    CHECK(cudaMalloc(&k0, bytes)); CHECK(cudaMalloc(&k1, bytes));
    CHECK(cudaMalloc(&v0, bytes)); CHECK(cudaMalloc(&v1, bytes));
    CHECK(cudaMalloc(&hist, RADIX * tiles * sizeof(uint)));
    CHECK(cudaMemcpy(k0, keys.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(v0, vals.data(), bytes, cudaMemcpyHostToDevice));

    radix_histogram<<<tiles, THREADS>>>(k0, hist, 0);
    scan_table<<<1, 1024>>>(hist, RADIX * tiles);
    scatter_direct<<<tiles, THREADS>>>(k0, v0, k1, v1, hist, 0);

    radix_histogram<<<tiles, THREADS>>>(k1, hist, RADIX_BITS);
    scan_table<<<1, 1024>>>(hist, RADIX * tiles);
    scatter_staged<<<tiles, THREADS>>>(k1, v1, k0, v0, hist, RADIX_BITS);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(outK.data(), k0, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(outV.data(), v0, bytes, cudaMemcpyDeviceToHost));

    std::vector<uint> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint a, uint b) { return (keys[a] & 255u) < (keys[b] & 255u); });
    int bad = 0;
    for (int i = 0; i < n; i++)
        if (outV[i] != order[i] || outK[i] != keys[order[i]]) bad++;

    cudaFree(k0); cudaFree(k1); cudaFree(v0); cudaFree(v1); cudaFree(hist);
    printf("%d mismatches of %d\n%s\n", bad, n, bad ? "FAIL" : "PASS");
    return bad != 0;
}
