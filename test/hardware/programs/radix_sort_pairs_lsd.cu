// LSD radix sort of (key, payload) pairs, 4 bits a pass, two passes shown on 8-bit keys. Stable ranks by ballot matching.
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cstdint>

constexpr int BS = 256;
constexpr int ITEMS = 4;
constexpr int TILE = BS * ITEMS;
constexpr int R = 16;

struct Rec {
    uint32_t key;
    uint32_t val;
};

__global__ void digit_counts(const Rec* in, int n, int shift, int* counts, int blocks) {
    __shared__ int h[R];
    if (threadIdx.x < R) h[threadIdx.x] = 0;
    __syncthreads();
    int base = blockIdx.x * TILE;
    for (int k = 0; k < ITEMS; ++k) {
        int i = base + k * BS + threadIdx.x;
        if (i < n) atomicAdd(&h[in[i].key >> shift & (R - 1)], 1);
    }
    __syncthreads();
    // digit-major so that one scan gives global offsets
    if (threadIdx.x < R) counts[threadIdx.x * blocks + blockIdx.x] = h[threadIdx.x];
}

__global__ void scan_counts(int* c, int n) {
    __shared__ int s[1024];
    __shared__ int carry;
    if (threadIdx.x == 0) carry = 0;
    for (int base = 0; base < n; base += 1024) {
        int i = base + threadIdx.x, v = i < n ? c[i] : 0;
        s[threadIdx.x] = v;
        __syncthreads();
        for (int o = 1; o < 1024; o <<= 1) {
            int t = threadIdx.x >= o ? s[threadIdx.x - o] : 0;
            __syncthreads();
            s[threadIdx.x] += t;
            __syncthreads();
        }
        int c0 = carry;
        if (i < n) c[i] = c0 + s[threadIdx.x] - v;
        __syncthreads();
        if (threadIdx.x == 1023) carry = c0 + s[1023];
        __syncthreads();
    }
}

__global__ void scatter_stable(const Rec* __restrict__ in, Rec* __restrict__ out, int n, int shift, const int* __restrict__ offs, int blocks) {
    __shared__ int run[R];
    __shared__ int wc[BS / 32][R];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    if (threadIdx.x < R) run[threadIdx.x] = offs[threadIdx.x * blocks + blockIdx.x];
    for (int k = 0; k < ITEMS; ++k) {
        if (threadIdx.x < R * (BS / 32)) wc[threadIdx.x / R][threadIdx.x % R] = 0;
        __syncthreads();
        int i = blockIdx.x * TILE + k * BS + threadIdx.x;
        bool in_range = i < n;
        Rec r = in_range ? in[i] : Rec{0, 0};
        unsigned d = in_range ? r.key >> shift & (R - 1) : R;
        unsigned peers = __match_any_sync(0xffffffffu, d);
        int rank = __popc(peers & ((1u << lane) - 1));
        if (in_range && rank == 0) wc[w][d] = __popc(peers);
        __syncthreads();
        if (in_range) {
            int p = run[d] + rank;
            for (int u = 0; u < w; ++u) p += wc[u][d];
            out[p] = r;
        }
        __syncthreads();
        if (threadIdx.x < R) for (int u = 0; u < BS / 32; ++u) run[threadIdx.x] += wc[u][threadIdx.x];
        __syncthreads();
    }
}

__global__ void check_sorted(const Rec* r, int n, int* bad) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool b = i + 1 < n && (r[i].key > r[i + 1].key || (r[i].key == r[i + 1].key && r[i].val > r[i + 1].val));
    if (__syncthreads_or(b) && threadIdx.x == 0) atomicAdd(bad, 1);
}

int main() {
    const int n = 500009, blocks = (n + TILE - 1) / TILE;
    std::vector<Rec> h(n), o(n);
    uint32_t s = 3;
    for (int i = 0; i < n; ++i) { s = s * 1664525u + 1013904223u; h[i] = {s >> 24, (uint32_t)i}; }
    Rec *a, *b; int *c, *bad;
    cudaMalloc(&a, n * sizeof(Rec)); cudaMalloc(&b, n * sizeof(Rec)); cudaMalloc(&c, R * blocks * 4); cudaMalloc(&bad, 4);
    cudaMemset(bad, 0, 4);
    cudaMemcpy(a, h.data(), n * sizeof(Rec), cudaMemcpyHostToDevice);
    for (int shift = 0; shift < 8; shift += 4) {
        digit_counts<<<blocks, BS>>>(a, n, shift, c, blocks);
        scan_counts<<<1, 1024>>>(c, R * blocks);
        scatter_stable<<<blocks, BS>>>(a, b, n, shift, c, blocks);
        std::swap(a, b);
    }
    check_sorted<<<(n + 255) / 256, 256>>>(a, n, bad);
    int hb = -1, mism = 0;
    cudaMemcpy(&hb, bad, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(o.data(), a, n * sizeof(Rec), cudaMemcpyDeviceToHost);
    std::stable_sort(h.begin(), h.end(), [](const Rec& x, const Rec& y) { return x.key < y.key; });
    for (int i = 0; i < n; ++i) mism += h[i].key != o[i].key || h[i].val != o[i].val;
    bool ok = hb == 0 && mism == 0 && cudaGetLastError() == cudaSuccess;
    printf("device check %d mismatches %d\n%s\n", hb, mism, ok ? "PASS" : "FAIL");
    return !ok;
}
