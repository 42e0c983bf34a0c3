// 2-D Ising: checkerboard Metropolis with per-site hash RNG (byte spins) and a two-sublattice packed layout. Exact replay on the CPU.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <cstdint>

#define LX 512
#define LY 256
#define HALF (LX / 2)

__constant__ uint32_t c_accept[10];   // index (dE/2 + 4): acceptance threshold

__host__ __device__ inline uint32_t rnd(uint32_t site, uint32_t sweep) {
    uint32_t h = site * 0xcc9e2d51u ^ (sweep * 0x1b873593u + 0x9747b28cu);
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16;
    return h;
}

__global__ void init_spins(signed char* s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < LX * LY) s[i] = rnd(i, 12345) & 1 ? 1 : -1;
}

// full lattice, half of the threads idle: x parity test diverges
__global__ void sweep_full(signed char* s, int color, uint32_t sweep) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (((x + y) & 1) != color) return;
    int nn = s[y * LX + (x + 1) % LX] + s[y * LX + (x + LX - 1) % LX] + s[(y + 1) % LY * LX + x] + s[(y + LY - 1) % LY * LX + x];
    int m = s[y * LX + x] * nn;            // dE = 2 m
    if (rnd(y * LX + x, sweep) <= c_accept[m + 4]) s[y * LX + x] = -s[y * LX + x];
}

__global__ void split_colors(const signed char* s, signed char* a, signed char* b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    signed char v = s[y * LX + x];
    if ((x + y) & 1) b[y * HALF + x / 2] = v;
    else a[y * HALF + x / 2] = v;
}

// color-split, four sites (char4) per thread
__global__ void sweep_split(char4* __restrict__ me, const signed char* __restrict__ other, int color, uint32_t sweep) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= LY * HALF / 4) return;
    int y = t / (HALF / 4), k0 = t % (HALF / 4) * 4;
    char4 v = me[t];
    signed char c[4] = {v.x, v.y, v.z, v.w};
    const signed char *mid = other + y * HALF, *up = other + (y + LY - 1) % LY * HALF, *dn = other + (y + 1) % LY * HALF;
    int par = (y + color) & 1;               // x = 2k + par
#pragma unroll
    for (int q = 0; q < 4; ++q) {
        int k = k0 + q, x = 2 * k + par;
        int side = par ? (k + 1) % HALF : (k + HALF - 1) % HALF;
        int nn = mid[k] + mid[side] + up[k] + dn[k];
        int m = c[q] * nn;
        if (rnd(y * LX + x, sweep) <= c_accept[m + 4]) c[q] = -c[q];
    }
    me[t] = make_char4(c[0], c[1], c[2], c[3]);
}

__global__ void observables(const signed char* s, int* out) {
    int mag = 0, en = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < LX * LY; i += gridDim.x * blockDim.x) {
        int x = i % LX, y = i / LX;
        mag += s[i];
        en -= s[i] * (s[y * LX + (x + 1) % LX] + s[(y + 1) % LY * LX + x]);
    }
    mag = __reduce_add_sync(~0u, mag);
    en = __reduce_add_sync(~0u, en);
    if ((threadIdx.x & 31) == 0) { atomicAdd(out, mag); atomicAdd(out + 1, en); }
}

int main() {
    const int n = LX * LY;
    double beta = 0.43;
    uint32_t acc[10] = {0};
    for (int m = -4; m <= 4; ++m) acc[m + 4] = m <= 0 ? 0xffffffffu : (uint32_t)(exp(-2 * beta * m) * 4294967295.0);
    cudaMemcpyToSymbol(c_accept, acc, sizeof acc);
    signed char *s, *a, *b; int* ob;
    cudaMalloc(&s, n); cudaMalloc(&a, n / 2); cudaMalloc(&b, n / 2); cudaMalloc(&ob, 8); cudaMemset(ob, 0, 8);
    init_spins<<<n / 256, 256>>>(s);
    split_colors<<<dim3(LX / 128, LY), 128>>>(s, a, b);
    std::vector<signed char> h(n), o(n), oa(n / 2), obh(n / 2);
    for (int i = 0; i < n; ++i) h[i] = rnd(i, 12345) & 1 ? 1 : -1;
    for (uint32_t sw = 0; sw < 2; ++sw)
        for (int col = 0; col < 2; ++col) {
            sweep_full<<<dim3(LX / 32, LY / 8), dim3(32, 8)>>>(s, col, sw);
            sweep_split<<<(n / 8 + 127) / 128, 128>>>((char4*)(col ? b : a), col ? a : b, col, sw);
            for (int y = 0; y < LY; ++y)
                for (int x = (y + col) & 1; x < LX; x += 2) {
                    int nn = h[y * LX + (x + 1) % LX] + h[y * LX + (x + LX - 1) % LX] + h[(y + 1) % LY * LX + x] + h[(y + LY - 1) % LY * LX + x];
                    if (rnd(y * LX + x, sw) <= acc[h[y * LX + x] * nn + 4]) h[y * LX + x] = -h[y * LX + x];
                }
        }
    observables<<<32, 256>>>(s, ob);
    int g[2], bad = 0, mag = 0, en = 0;
    cudaMemcpy(o.data(), s, n, cudaMemcpyDeviceToHost); cudaMemcpy(oa.data(), a, n / 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(obh.data(), b, n / 2, cudaMemcpyDeviceToHost); cudaMemcpy(g, ob, 8, cudaMemcpyDeviceToHost);
    for (int y = 0; y < LY; ++y) for (int x = 0; x < LX; ++x) {
        int i = y * LX + x;
        bad += o[i] != h[i];
        bad += ((x + y) & 1 ? obh : oa)[y * HALF + x / 2] != h[i];
        mag += h[i];
        en -= h[i] * (h[y * LX + (x + 1) % LX] + h[(y + 1) % LY * LX + x]);
    }
    printf("m %d e %d bad %d\n", mag, en, bad);
    bool ok = !bad && g[0] == mag && g[1] == en && cudaGetLastError() == cudaSuccess;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
