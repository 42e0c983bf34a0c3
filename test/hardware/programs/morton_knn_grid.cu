// Points are put in Morton order by a device bitonic network, then each point scans
// a window of its Z-order neighbours (the approximate "shifted list" kNN idea).
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdint>
#include <cmath>
#include <algorithm>
#include <vector>
using u64 = unsigned long long;

struct Pt { float x, y, z; };

__host__ __device__ constexpr uint32_t spread3(uint32_t v) {
    v &= 0x3ff;
    v = (v | v << 16) & 0x030000ffu;
    v = (v | v << 8) & 0x0300f00fu;
    v = (v | v << 4) & 0x030c30c3u;
    v = (v | v << 2) & 0x09249249u;
    return v;
}
__host__ __device__ inline uint32_t morton(Pt p) {
    return spread3((uint32_t)(p.x * 1023.f)) | spread3((uint32_t)(p.y * 1023.f)) << 1 | spread3((uint32_t)(p.z * 1023.f)) << 2;
}

__global__ void make_keys(const Pt* pts, u64* keys, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) keys[i] = (u64)morton(pts[i]) << 32 | (uint32_t)i;
}

constexpr int CH = 2048; // keys sorted in shared memory per block of 1024

__global__ void bitonic_local_sort(u64* keys) {
    __shared__ u64 s[CH];
    int base = blockIdx.x * CH, t = threadIdx.x;
    s[t] = keys[base + t];
    s[t + 1024] = keys[base + t + 1024];
    for (int k = 2; k <= CH; k <<= 1)
        for (int j = k >> 1; j; j >>= 1) {
            __syncthreads();
            int i = 2 * t - (t & (j - 1));
            bool up = ((base + i) & k) == 0;
            u64 a = s[i], b = s[i + j];
            if ((a > b) == up) { s[i] = b; s[i + j] = a; }
        }
    __syncthreads();
    keys[base + t] = s[t];
    keys[base + t + 1024] = s[t + 1024];
}
__global__ void bitonic_global_step(u64* keys, int k, int j) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 2 * t - (t & (j - 1));
    bool up = (i & k) == 0;
    u64 a = keys[i], b = keys[i + j];
    if ((a > b) == up) { keys[i] = b; keys[i + j] = a; }
}
__global__ void bitonic_local_merge(u64* keys, int k) {
    __shared__ u64 s[CH];
    int base = blockIdx.x * CH, t = threadIdx.x;
    s[t] = keys[base + t];
    s[t + 1024] = keys[base + t + 1024];
    bool up = (base & k) == 0;
    for (int j = CH >> 1; j; j >>= 1) {
        __syncthreads();
        int i = 2 * t - (t & (j - 1));
        u64 a = s[i], b = s[i + j];
        if ((a > b) == up) { s[i] = b; s[i + j] = a; }
    }
    __syncthreads();
    keys[base + t] = s[t];
    keys[base + t + 1024] = s[t + 1024];
}

__global__ void gather_points(const u64* __restrict__ keys, const Pt* __restrict__ in, Pt* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(uint32_t)keys[i]];
}

template <int W>
__global__ void window_nn(const Pt* __restrict__ p, float* best, int* who, int n) {
    extern __shared__ float sm[];
    float *sx = sm, *sy = sx + blockDim.x + 2 * W, *sz = sy + blockDim.x + 2 * W;
    int b0 = blockIdx.x * blockDim.x;
    for (int t = threadIdx.x; t < blockDim.x + 2 * W; t += blockDim.x) {
        int g = b0 + t - W;
        bool in = g >= 0 && g < n;
        sx[t] = in ? p[g].x : 1e18f;
        sy[t] = in ? p[g].y : 1e18f;
        sz[t] = in ? p[g].z : 1e18f;
    }
    __syncthreads();
    int me = threadIdx.x + W;
    float bd = 3.0e38f; int bw = -1;
    float x = sx[me], y = sy[me], z = sz[me];
    for (int d = -W; d <= W; ++d) {
        if (!d) continue;
        float dx = sx[me + d] - x, dy = sy[me + d] - y, dz = sz[me + d] - z;
        float q = fmaf(dx, dx, fmaf(dy, dy, dz * dz));
        if (q < bd) { bd = q; bw = b0 + threadIdx.x + d; }
    }
    if (b0 + threadIdx.x < n) { best[b0 + threadIdx.x] = bd; who[b0 + threadIdx.x] = bw; }
}

int main() {
    const int n = 1 << 13, W = 24;
    std::vector<Pt> h(n);
    uint64_t st = 88172645463325252ull;
    auto r = [&] { st = st * 6364136223846793005ull + 1442695040888963407ull; return (float)((st >> 40) / 16777216.0); };
    for (auto& p : h) p = {r(), r(), r()};
    Pt *dp, *ds; u64* dk; float* db; int* dw;
    cudaMalloc(&dp, n * sizeof(Pt)); cudaMalloc(&ds, n * sizeof(Pt)); cudaMalloc(&dk, n * 8); cudaMalloc(&db, n * 4); cudaMalloc(&dw, n * 4);
    cudaMemcpy(dp, h.data(), n * sizeof(Pt), cudaMemcpyHostToDevice);
    make_keys<<<n / 256, 256>>>(dp, dk, n);
    bitonic_local_sort<<<n / CH, 1024>>>(dk);
    for (int k = CH * 2; k <= n; k <<= 1) {
        for (int j = k >> 1; j >= CH; j >>= 1) bitonic_global_step<<<n / 512, 256>>>(dk, k, j);
        bitonic_local_merge<<<n / CH, 1024>>>(dk, k);
    }
    gather_points<<<n / 256, 256>>>(dk, dp, ds, n);
    const int bs = 160;
    window_nn<W><<<(n + bs - 1) / bs, bs, 3 * (bs + 2 * W) * sizeof(float)>>>(ds, db, dw, n);
    std::vector<u64> keys(n); std::vector<float> best(n); std::vector<int> who(n);
    cudaMemcpy(keys.data(), dk, n * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(best.data(), db, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(who.data(), dw, n * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    std::vector<u64> ref(n);
    for (int i = 0; i < n; ++i) ref[i] = (u64)morton(h[i]) << 32 | (uint32_t)i;
    std::sort(ref.begin(), ref.end());
    int bad = 0;
    for (int i = 0; i < n; ++i) bad += ref[i] != keys[i];
    for (int i = 0; i < n; ++i) {
        Pt a = h[(uint32_t)ref[i]]; double m = 1e30;
        for (int d = -W; d <= W; ++d) if (d && i + d >= 0 && i + d < n) {
            Pt b = h[(uint32_t)ref[i + d]];
            double q = pow(a.x - b.x, 2) + pow(a.y - b.y, 2) + pow(a.z - b.z, 2);
            m = std::min(m, q);
        }
        if (fabs(m - best[i]) > 1e-5 * m + 1e-9 || who[i] < 0 || who[i] >= n) ++bad;
    }
    printf("%d bad\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
