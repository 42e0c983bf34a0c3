// prefix_sum_worklog.cu
// Exclusive prefix sum of N 32-bit integers; my notes while making it faster.
// Three-kernel scheme (tile scan -> scan of tile sums -> add) for most of the attempts,
// the last attempt is a single pass with look-back.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

typedef unsigned int u32;
typedef unsigned long long u64;

#define FULL 0xffffffffu
#define LOG_BANKS 5
#define PADDED(i) ((i) + ((i) >> LOG_BANKS))
#define IDX(i) (PAD ? PADDED(i) : (i))
#define CU(x)                                                                   \
    if (cudaError_t rc = (x)) {                                                 \
        printf("line %d: %s -> %s\n", __LINE__, #x, cudaGetErrorString(rc));     \
        exit(1);                                                                \
    }

// attempts 1 and 2: Blelloch up/down sweep, straight from the GPU Gems chapter, without and with padding
template <bool PAD>
__global__ void tile_blelloch(const u32* in, u32* out, u32* sums, int n)
{
    extern __shared__ u32 temp[];
    int t = threadIdx.x;
    int tile = 2 * blockDim.x;
    int base = blockIdx.x * tile;
    int a = PAD ? t : 2 * t;
    int b = PAD ? t + blockDim.x : 2 * t + 1;
    temp[IDX(a)] = base + a < n ? in[base + a] : 0;
    temp[IDX(b)] = base + b < n ? in[base + b] : 0;
    int offset = 1;
    for (int d = tile >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int ai = IDX(offset * (2 * t + 1) - 1);
            int bi = IDX(offset * (2 * t + 2) - 1);
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (t == 0) {
        sums[blockIdx.x] = temp[IDX(tile - 1)];
        temp[IDX(tile - 1)] = 0;
    }
    for (int d = 1; d < tile; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = IDX(offset * (2 * t + 1) - 1);
            int bi = IDX(offset * (2 * t + 2) - 1);
            u32 v = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += v;
        }
    }
    __syncthreads();
    if (base + a < n)
        out[base + a] = temp[IDX(a)];
    if (base + b < n)
        out[base + b] = temp[IDX(b)];
}

// attempt 3: coalesced copy to shared, every thread scans ITEMS consecutive words there
template <int TPB, int ITEMS, int PAD>
__global__ void tile_serial_smem(const u32* __restrict__ in, u32* __restrict__ out, u32* sums)
{
    __shared__ u32 buf[TPB * (ITEMS + PAD)];
    __shared__ u32 wsum[TPB / 32];
    int t = threadIdx.x;
    int base = blockIdx.x * TPB * ITEMS;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int k = i * TPB + t;
        buf[(k / ITEMS) * (ITEMS + PAD) + k % ITEMS] = in[base + k];
    }
    __syncthreads();
    u32* mine = buf + t * (ITEMS + PAD);
    u32 s = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        s += mine[i];
    u32 incl = s;
    int lane = t & 31;
    for (int d = 1; d < 32; d <<= 1) {
        u32 o = __shfl_up_sync(FULL, incl, d);
        if (lane >= d)
            incl += o;
    }
    if (lane == 31)
        wsum[t >> 5] = incl;
    __syncthreads();
    u32 run = incl - s;
    for (int w = 0; w < (t >> 5); w++)
        run += wsum[w];
    if (t == TPB - 1)
        sums[blockIdx.x] = run + s;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        u32 v = mine[i];
        mine[i] = run;
        run += v;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int k = i * TPB + t;
        out[base + k] = buf[(k / ITEMS) * (ITEMS + PAD) + k % ITEMS];
    }
}

// attempt 4: uint4 in registers, shuffles, nothing but warp totals in shared
__device__ __forceinline__ u32 block_exclusive(u32 s, u32* wsum, u32& total)
{
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    u32 incl = s;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        u32 o = __shfl_up_sync(FULL, incl, d);
        if (lane >= d)
            incl += o;
    }
    if (lane == 31)
        wsum[warp] = incl;
    __syncthreads();
    if (warp == 0) {
        int nw = blockDim.x >> 5;
        u32 w = lane < nw ? wsum[lane] : 0;
        for (int d = 1; d < 32; d <<= 1) {
            u32 o = __shfl_up_sync(FULL, w, d);
            if (lane >= d)
                w += o;
        }
        if (lane < nw)
            wsum[lane] = w;
    }
    __syncthreads();
    total = wsum[(blockDim.x >> 5) - 1];
    return incl - s + (warp ? wsum[warp - 1] : 0);
}

__global__ void tile_vec4_shuffle(const uint4* __restrict__ in, uint4* __restrict__ out, u32* sums)
{
    __shared__ u32 wsum[32];
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 v = in[idx];
    u32 total;
    u32 ex = block_exclusive(v.x + v.y + v.z + v.w, wsum, total);
    out[idx] = make_uint4(ex, ex + v.x, ex + v.x + v.y, ex + v.x + v.y + v.z);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}

// helper kernels of the three-kernel scheme
__global__ void scan_sums_one_block(u32* sums, int m)
{
    __shared__ u32 wsum[32];
    u32 carry = 0;
    for (int b = 0; b < m; b += blockDim.x) {
        int i = b + threadIdx.x;
        u32 v = i < m ? sums[i] : 0;
        u32 total;
        u32 ex = block_exclusive(v, wsum, total);
        if (i < m)
            sums[i] = carry + ex;
        carry += total;
        __syncthreads();
    }
}

__global__ void add_tile_offset(u32* out, const u32* sums, int tile, int n)
{
    u32 add = sums[blockIdx.x];
    for (int i = threadIdx.x; i < tile; i += blockDim.x) {
        int g = blockIdx.x * tile + i;
        if (g < n)
            out[g] += add;
    }
}

// attempt 0 (the baseline): a contiguous chunk per thread
__global__ void chunk_sum(const u32* in, u32* sums, int chunk, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int from = t * chunk;
    u32 s = 0;
    for (int i = from; i < from + chunk && i < n; i++)
        s += in[i];
    sums[t] = s;
}

__global__ void chunk_write(const u32* in, u32* out, const u32* sums, int chunk, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int from = t * chunk;
    u32 run = sums[t];
    for (int i = from; i < from + chunk && i < n; i++) {
        out[i] = run;
        run += in[i];
    }
}

// attempt 5: single pass, decoupled look-back; status = flag << 32 | value
#define ST_AGG (1ull << 32)
#define ST_INC (2ull << 32)
__global__ void single_pass(const uint4* __restrict__ in, uint4* __restrict__ out, volatile u64* state, u32* ticket)
{
    __shared__ u32 wsum[32];
    __shared__ u32 s_tile;
    __shared__ u32 s_prefix;
    if (threadIdx.x == 0)
        s_tile = atomicAdd(ticket, 1);
    __syncthreads();
    int tile = s_tile;
    size_t idx = (size_t)tile * blockDim.x * 2 + threadIdx.x * 2;
    uint4 a = in[idx];
    uint4 b = in[idx + 1];
    u32 sa = a.x + a.y + a.z + a.w;
    u32 sb = b.x + b.y + b.z + b.w;
    u32 total;
    u32 ex = block_exclusive(sa + sb, wsum, total);
    if (threadIdx.x < 32) {
        int lane = threadIdx.x;
        u32 prefix = 0;
        if (tile > 0) {
            if (lane == 0)
                state[tile] = ST_AGG | total;
            int look = tile - 1;
            while (true) {
                int k = look - lane;
                u64 st;
                do {
                    st = k >= 0 ? state[k] : ST_INC;
                } while (__any_sync(FULL, (st >> 32) == 0));
                u32 done = __ballot_sync(FULL, (st >> 32) == 2);
                u32 v = (u32)st;
                if (done && lane > __ffs(done) - 1)
                    v = 0;
                for (int d = 16; d > 0; d >>= 1)
                    v += __shfl_xor_sync(FULL, v, d);
                prefix += v;
                if (done)
                    break;
                look -= 32;
            }
        }
        if (lane == 0) {
            state[tile] = ST_INC | (u64)(prefix + total);
            s_prefix = prefix;
        }
    }
    __syncthreads();
    u32 r = s_prefix + ex;
    out[idx] = make_uint4(r, r + a.x, r + a.x + a.y, r + a.x + a.y + a.z);
    r += sa;
    out[idx + 1] = make_uint4(r, r + b.x, r + b.x + b.y, r + b.x + b.y + b.z);
}

static bool compare(const char* name, u32* d_out, const std::vector<u32>& ref, int n)
{
    std::vector<u32> h(n);
    CU(cudaGetLastError());
    CU(cudaMemcpy(h.data(), d_out, n * sizeof(u32), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        if (h[i] != ref[i]) {
            printf("%-22s wrong at %d: %u != %u\n", name, i, h[i], ref[i]);
            return false;
        }
    }
    printf("%-22s ok\n", name);
    CU(cudaMemset(d_out, 0xff, n * sizeof(u32)));
    return true;
}

static void finish(u32* d_out, u32* d_sums, int tile, int np, int n)
{
    scan_sums_one_block<<<1, 1024>>>(d_sums, np / tile);
    add_tile_offset<<<np / tile, 256>>>(d_out, d_sums, tile, n);
}

int main(int argc, char** argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2000000;
    int np = (n + 4095) / 4096 * 4096;
    std::vector<u32> h(np, 0), ref(np);
    u64 s = 88172645463325252ull;
    for (int i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        h[i] = (u32)(s >> 40) % 1000u;
    }
    u32 acc = 0;
    for (int i = 0; i < np; i++) {
        ref[i] = acc;
        acc += h[i];
    }
    u32 *d_in, *d_out, *d_sums, *d_ticket;
    u64* d_state;
    CU(cudaMalloc(&d_in, np * sizeof(u32)));
    CU(cudaMalloc(&d_out, np * sizeof(u32)));
    CU(cudaMalloc(&d_sums, (np / 32 + 1024) * sizeof(u32)));
    CU(cudaMalloc(&d_state, (np / 2048 + 1) * sizeof(u64)));
    CU(cudaMalloc(&d_ticket, sizeof(u32)));
    CU(cudaMemcpy(d_in, h.data(), np * sizeof(u32), cudaMemcpyHostToDevice));
    CU(cudaMemset(d_state, 0, (np / 2048 + 1) * sizeof(u64)));
    CU(cudaMemset(d_ticket, 0, sizeof(u32)));
    bool ok = true;

    const int chunk = 64;
    int workers = (np / chunk + 127) / 128 * 128;
    chunk_sum<<<workers / 128, 128>>>(d_in, d_sums, chunk, n);
    scan_sums_one_block<<<1, 1024>>>(d_sums, workers);
    chunk_write<<<workers / 128, 128>>>(d_in, d_out, d_sums, chunk, n);
    ok &= compare("0 chunk per thread", d_out, ref, n);

    int tiles = np / 1024;
    tile_blelloch<false><<<tiles, 512, 1024 * sizeof(u32)>>>(d_in, d_out, d_sums, n);
    finish(d_out, d_sums, 1024, np, n);
    ok &= compare("1 blelloch", d_out, ref, n);

    tile_blelloch<true><<<tiles, 512, PADDED(1024) * sizeof(u32)>>>(d_in, d_out, d_sums, n);
    finish(d_out, d_sums, 1024, np, n);
    ok &= compare("2 blelloch padded", d_out, ref, n);

    tiles = np / 2048;
    tile_serial_smem<128, 16, 0><<<tiles, 128>>>(d_in, d_out, d_sums);
    finish(d_out, d_sums, 2048, np, n);
    ok &= compare("3a serial in smem", d_out, ref, n);

    tile_serial_smem<128, 16, 1><<<tiles, 128>>>(d_in, d_out, d_sums);
    finish(d_out, d_sums, 2048, np, n);
    ok &= compare("3b serial, padded", d_out, ref, n);

    tiles = np / 1024;
    tile_vec4_shuffle<<<tiles, 256>>>((const uint4*)d_in, (uint4*)d_out, d_sums);
    finish(d_out, d_sums, 1024, np, n);
    ok &= compare("4 vec4 shuffle", d_out, ref, n);

    single_pass<<<np / 2048, 256>>>((const uint4*)d_in, (uint4*)d_out, d_state, d_ticket);
    ok &= compare("5 single pass", d_out, ref, n);

    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
