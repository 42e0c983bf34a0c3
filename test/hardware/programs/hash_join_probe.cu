// Database equi-join: open-addressing hash table (AoS of 64-bit slots) vs split key/value arrays, plus group-by aggregation.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdint>
#include <vector>
#include <unordered_map>

using u32 = std::uint32_t;
using u64 = unsigned long long;
constexpr u64 EMPTY = ~0ull;
constexpr u32 EMPTY32 = ~0u;

struct Murmur { __host__ __device__ u32 operator()(u32 k) const { k ^= k >> 16; k *= 0x85ebca6b; k ^= k >> 13; k *= 0xc2b2ae35; k ^= k >> 16; return k; } };
struct Fib { __host__ __device__ u32 operator()(u32 k) const { return (u32)((k * 2654435769u) >> 5); } };

__global__ void clear_slots(ulonglong2* p, int n2) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n2) p[i] = make_ulonglong2(EMPTY, EMPTY);
}

template <class H>
__global__ void build_packed(const u32* __restrict__ key, const u32* __restrict__ val, int n, u64* slots, u32 mask, H h) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    u64 kv = (u64)key[i] << 32 | val[i];
    for (u32 p = h(key[i]) & mask;; p = (p + 1) & mask)
        if (atomicCAS(slots + p, EMPTY, kv) == EMPTY) break;
}
template <class H>
__global__ void build_split(const u32* __restrict__ key, const u32* __restrict__ val, int n, u32* sk, u32* sv, u32 mask, H h) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    u32 p = h(key[i]) & mask;
    while (atomicCAS(sk + p, EMPTY32, key[i]) != EMPTY32) p = (p + 1) & mask;
    sv[p] = val[i];
}

// materialising probe: warp aggregated output cursor
template <class H>
__global__ void probe_packed(const u32* __restrict__ fk, const u32* __restrict__ amount, int n, const u64* __restrict__ slots, u32 mask,
                             uint2* out, int* cursor, H h) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    bool hit = false; u32 v = 0;
    if (i < n) {
        u32 k = fk[i];
        for (u32 p = h(k) & mask;; p = (p + 1) & mask) {
            u64 s = slots[p];
            if (s == EMPTY) break;
            if ((u32)(s >> 32) == k) { hit = true; v = (u32)s; break; }
        }
    }
    unsigned m = __ballot_sync(~0u, hit);
    int lane = threadIdx.x & 31, base = 0;
    if (m && lane == __ffs(m) - 1) base = atomicAdd(cursor, __popc(m));
    base = __shfl_sync(~0u, base, m ? __ffs(m) - 1 : 0);
    if (hit) out[base + __popc(m & ((1u << lane) - 1))] = make_uint2(v, amount[i]);
}
template <class H>
__global__ void probe_split_sum(const u32* __restrict__ fk, const u32* __restrict__ amount, int n, const u32* __restrict__ sk,
                                const u32* __restrict__ sv, u32 mask, u64* group, H h) {
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        u32 k = fk[i], p = h(k) & mask, s;
        while ((s = sk[p]) != EMPTY32 && s != k) p = (p + 1) & mask;
        if (s == k) atomicAdd(&group[sv[p] & 63], (u64)amount[i]);
    }
}
__global__ void group_shared(const uint2* rows, const int* count, u64* group) {
    __shared__ u64 g[64];
    if (threadIdx.x < 64) g[threadIdx.x] = 0;
    __syncthreads();
    int n = *count;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&g[rows[i].x & 63], (u64)rows[i].y);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(group + threadIdx.x, g[threadIdx.x]);
}

int main() {
    const int nb = 60000, np = 400003;
    const u32 cap = 1 << 17, mask = cap - 1;
    std::vector<u32> bk(nb), bv(nb), pk(np), pa(np);
    for (int i = 0; i < nb; ++i) { bk[i] = i * 7 + 3; bv[i] = (i * 2654435761u) >> 7; }
    u32 s = 1;
    for (int i = 0; i < np; ++i) {
        s = s * 1664525u + 1013904223u;
        pk[i] = (s >> 8) % (nb * 9); pa[i] = s >> 20;
    }
    u32 *dbk, *dbv, *dpk, *dpa, *sk, *sv; u64 *slots, *g0, *g1; uint2* out; int* cur;
    cudaMalloc(&dbk, nb * 4); cudaMalloc(&dbv, nb * 4); cudaMalloc(&dpk, np * 4); cudaMalloc(&dpa, np * 4);
    cudaMalloc(&slots, cap * 8); cudaMalloc(&sk, cap * 4); cudaMalloc(&sv, cap * 4);
    cudaMalloc(&g0, 512); cudaMalloc(&g1, 512); cudaMalloc(&out, np * 8); cudaMalloc(&cur, 4);
    cudaMemset(g0, 0, 512); cudaMemset(g1, 0, 512); cudaMemset(cur, 0, 4); cudaMemset(sk, 0xff, cap * 4);
    cudaMemcpy(dbk, bk.data(), nb * 4, cudaMemcpyHostToDevice); cudaMemcpy(dbv, bv.data(), nb * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dpk, pk.data(), np * 4, cudaMemcpyHostToDevice); cudaMemcpy(dpa, pa.data(), np * 4, cudaMemcpyHostToDevice);
    clear_slots<<<cap / 2 / 256, 256>>>((ulonglong2*)slots, cap / 2);
    build_packed<<<(nb + 255) / 256, 256>>>(dbk, dbv, nb, slots, mask, Murmur{});
    build_split<<<(nb + 255) / 256, 256>>>(dbk, dbv, nb, sk, sv, mask, Fib{});
    probe_packed<<<(np + 127) / 128, 128>>>(dpk, dpa, np, slots, mask, out, cur, Murmur{});
    probe_split_sum<<<200, 256>>>(dpk, dpa, np, sk, sv, mask, g1, Fib{});
    group_shared<<<64, 256>>>(out, cur, g0);
    u64 a[64], b[64], r[64] = {0}; int c;
    cudaMemcpy(a, g0, 512, cudaMemcpyDeviceToHost);
    cudaMemcpy(b, g1, 512, cudaMemcpyDeviceToHost);
    cudaMemcpy(&c, cur, 4, cudaMemcpyDeviceToHost);
    std::unordered_map<u32, u32> m;
    for (int i = 0; i < nb; ++i) m[bk[i]] = bv[i];
    int hits = 0;
    for (int i = 0; i < np; ++i) { auto it = m.find(pk[i]); if (it != m.end()) { ++hits; r[it->second & 63] += pa[i]; } }
    bool ok = c == hits && cudaGetLastError() == cudaSuccess;
    for (int i = 0; i < 64; ++i) if (a[i] != r[i] || b[i] != r[i]) { ok = false; printf("group %d %llu %llu %llu\n", i, a[i], b[i], r[i]); }
    printf("hits %d/%d\n%s\n", c, hits, ok ? "PASS" : "FAIL");
    return !ok;
}
