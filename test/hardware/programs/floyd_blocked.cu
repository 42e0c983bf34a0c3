// All-pairs shortest paths: naive Floyd-Warshall loop step, and the three-phase blocked algorithm
#include <iostream>
#include <vector>
#include <algorithm>
#include <random>
#include <cuda_runtime.h>

using weight_t = int;
constexpr weight_t INF = 1 << 28;
constexpr int B = 20;       // tile edge, not a power of two

static_assert(B * B <= 1024, "");

__device__ __forceinline__ void relax(weight_t& c, weight_t a, weight_t b) { c = min(c, a + b); }

__global__ void phase1(weight_t* d, int n, int k)
{
    __shared__ weight_t t[B][B];
    const int x = threadIdx.x, y = threadIdx.y, o = (k * B + y) * n + k * B + x;
    t[y][x] = d[o];
    __syncthreads();
    for (int m = 0; m < B; ++m) {
        weight_t via = t[y][m] + t[m][x];
        __syncthreads();
        if (via < t[y][x]) t[y][x] = via;
        __syncthreads();
    }
    d[o] = t[y][x];
}

__global__ void phase2(weight_t* d, int n, int k)
{
    if (blockIdx.x == k) return;
    __shared__ weight_t pivot[B][B], t[B][B];
    int x = threadIdx.x, y = threadIdx.y;
    pivot[y][x] = d[(k * B + y) * n + k * B + x];
    const bool row = blockIdx.y == 0;
    size_t o = row ? (size_t)(k * B + y) * n + blockIdx.x * B + x : (size_t)(blockIdx.x * B + y) * n + k * B + x;
    weight_t c = d[o];
    t[y][x] = c;
    __syncthreads();
    if (row) {
        for (int m = 0; m < B; ++m) { relax(c, pivot[y][m], t[m][x]); __syncthreads(); t[y][x] = c; __syncthreads(); }
    } else {
        for (int m = 0; m < B; ++m) { relax(c, t[y][m], pivot[m][x]); __syncthreads(); t[y][x] = c; __syncthreads(); }
    }
    d[o] = c;
}

__global__ void phase3(weight_t* __restrict__ d, int n, int k)
{
    if (blockIdx.x == k || blockIdx.y == k) return;
    __shared__ weight_t left[B][B + 1], top[B][B];
    const int x = threadIdx.x, y = threadIdx.y;
    left[y][x] = d[(blockIdx.y * B + y) * n + k * B + x];
    top[y][x] = d[(k * B + y) * n + blockIdx.x * B + x];
    __syncthreads();
    weight_t& out = d[(blockIdx.y * B + y) * n + blockIdx.x * B + x];
    weight_t c = out;
#pragma unroll 5
    for (int m = 0; m < B; ++m) relax(c, left[y][m], top[m][x]);
    out = c;
}

// whole small graph in one block with bytes of hop count too
__global__ void fw_small(weight_t* d, unsigned char* hops, int n)
{
    extern __shared__ weight_t s[];
    unsigned char* h = (unsigned char*)(s + n * n);
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) { s[i] = d[i]; h[i] = d[i] < INF ? 1 : 255; }
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
            int r = i / n, c = i % n;
            weight_t v = s[r * n + k] + s[k * n + c];
            if (v < s[i]) { s[i] = v; h[i] = h[r * n + k] + h[k * n + c]; }
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) { d[i] = s[i]; hops[i] = h[i]; }
}

static std::vector<weight_t> reference(std::vector<weight_t> d, int n)
{
    for (int k = 0; k < n; ++k) for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j)
        d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
    return d;
}

int main()
{
    const int n = 3 * B, small = 50;
    std::mt19937 rng(77);
    auto gen = [&](int m) {
        std::vector<weight_t> v(m * m, INF);
        for (int i = 0; i < m; ++i) { v[i * m + i] = 0; for (int e = 0; e < 5; ++e) v[i * m + rng() % m] = 1 + rng() % 100; v[i * m + i] = 0; }
        return v;
    };
    auto big = gen(n), sm = gen(small);
    weight_t *d, *ds; unsigned char* h;
    cudaMalloc(&d, big.size() * 4); cudaMalloc(&ds, sm.size() * 4); cudaMalloc(&h, sm.size());
    cudaMemcpy(d, big.data(), big.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(ds, sm.data(), sm.size() * 4, cudaMemcpyHostToDevice);
    dim3 t(B, B);
    for (int k = 0; k < n / B; ++k) {
        phase1<<<1, t>>>(d, n, k);
        phase2<<<dim3(n / B, 2), t>>>(d, n, k);
        phase3<<<dim3(n / B, n / B), t>>>(d, n, k);
    }
    fw_small<<<1, 250, small * small * 5>>>(ds, h, small);
    auto r1 = reference(big, n), r2 = reference(sm, small);
    std::vector<weight_t> g1(big.size()), g2(sm.size()); std::vector<unsigned char> hh(sm.size());
    cudaMemcpy(g1.data(), d, g1.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(g2.data(), ds, g2.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hh.data(), h, hh.size(), cudaMemcpyDeviceToHost);
    std::cout << "blocked " << (g1 == r1 ? "ok" : "WRONG") << ", small " << (g2 == r2 ? "ok" : "WRONG") << ", longest hops " << (int)*std::max_element(hh.begin(), hh.end()) << std::endl;
    return g1 == r1 && g2 == r2 ? 0 : 1;
}
