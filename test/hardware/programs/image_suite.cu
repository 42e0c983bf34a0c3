// 8-bit image filters: sobel (shared tile, short gradients), 3x3 median network, bilateral with LUT,
// separable gaussian with constant taps, and connected components via union-find.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <set>
#include <cuda_runtime.h>

typedef unsigned char u8;
#define MAXR 4
__constant__ float c_taps[2 * MAXR + 1];
__constant__ float c_range[256];

static inline int divup(int a, int b) { return (a + b - 1) / b; }
__device__ inline int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__global__ void sobel(const u8 *src, short2 *grad, int w, int h)
{
    __shared__ u8 t[18][34];
    int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 16 - 1;
    for (int j = threadIdx.y; j < 18; j += 8)
        for (int i = threadIdx.x; i < 34; i += 32)
            t[j][i] = src[clampi(y0 + j, 0, h - 1) * w + clampi(x0 + i, 0, w - 1)];
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 2; k++) {
        int ly = threadIdx.y + 8 * k, y = blockIdx.y * 16 + ly, lx = threadIdx.x;
        if (x < w && y < h) {
            int gx = t[ly][lx + 2] + 2 * t[ly + 1][lx + 2] + t[ly + 2][lx + 2] - t[ly][lx] - 2 * t[ly + 1][lx] - t[ly + 2][lx];
            int gy = t[ly + 2][lx] + 2 * t[ly + 2][lx + 1] + t[ly + 2][lx + 2] - t[ly][lx] - 2 * t[ly][lx + 1] - t[ly][lx + 2];
            grad[y * w + x] = make_short2((short)gx, (short)gy);
        }
    }
}

#define SORT2(a, b) { u8 m_ = min(a, b); b = max(a, b); a = m_; }
__global__ void median3(const u8 *__restrict__ src, u8 *__restrict__ dst, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    u8 p[9];
    #pragma unroll
    for (int k = 0; k < 9; k++) p[k] = src[clampi(y + k / 3 - 1, 0, h - 1) * w + clampi(x + k % 3 - 1, 0, w - 1)];
    SORT2(p[1], p[2]) SORT2(p[4], p[5]) SORT2(p[7], p[8]) SORT2(p[0], p[1]) SORT2(p[3], p[4]) SORT2(p[6], p[7])
    SORT2(p[1], p[2]) SORT2(p[4], p[5]) SORT2(p[7], p[8]) SORT2(p[0], p[3]) SORT2(p[5], p[8]) SORT2(p[4], p[7])
    SORT2(p[3], p[6]) SORT2(p[1], p[4]) SORT2(p[2], p[5]) SORT2(p[4], p[7]) SORT2(p[4], p[2]) SORT2(p[6], p[4])
    SORT2(p[4], p[2])
    dst[y * w + x] = p[4];
}

template <bool VERT>
__global__ void gauss(const float *in, float *out, int w, int h, int r)
{
    extern __shared__ float line[];
    const int n = VERT ? h : w, step = VERT ? w : 1;
    const float *base = in + (VERT ? blockIdx.y : blockIdx.y * w);
    int s0 = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x + 2 * r; i += blockDim.x) line[i] = base[clampi(s0 + i - r, 0, n - 1) * step];
    __syncthreads();
    int p = s0 + threadIdx.x;
    if (p < n) {
        float s = 0;
        for (int k = -r; k <= r; k++) s += c_taps[k + MAXR] * line[threadIdx.x + r + k];
        out[(VERT ? blockIdx.y : blockIdx.y * w) + p * step] = s;
    }
}

__global__ void bilateral(const u8 *img, float *out, int w, int h)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < w && y < h) {
        int c = img[y * w + x];
        float num = 0, den = 0;
        for (int dy = -2; dy <= 2; ++dy)
            for (int dx = -2; dx <= 2; ++dx) {
                int q = img[clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)];
                float wgt = c_range[abs(q - c)] * c_taps[dx + MAXR] * c_taps[dy + MAXR];
                num += wgt * q; den += wgt;
            }
        out[y * w + x] = num / den;
    }
}

__device__ int find_root(const int *parent, int i) { while (parent[i] != i) i = parent[i]; return i; }
__device__ void unite(int *parent, int a, int b)
{
    bool done;
    do {
        a = find_root(parent, a); b = find_root(parent, b);
        if (a < b) { int old = atomicMin(&parent[b], a); done = old == b; b = old; }
        else if (b < a) { int old = atomicMin(&parent[a], b); done = old == a; a = old; }
        else done = true;
    } while (!done);
}
__global__ void ccl_init_merge(const u8 *img, int *parent, int w, int h, int phase)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int i = y * w + x;
    bool fg = img[i] > 128;
    switch (phase) {
    case 0: parent[i] = i; break;
    case 1:
        if (x + 1 < w && (img[i + 1] > 128) == fg) unite(parent, i, i + 1);
        if (y + 1 < h && (img[i + w] > 128) == fg) unite(parent, i, i + w);
        break;
    case 2: parent[i] = find_root(parent, i); break;
    }
}

int main(void)
{
    const int w = 170, h = 94, n = w * h;
    std::vector<u8> img(n), med(n);
    for (int i = 0; i < n; i++) img[i] = (u8)(128 + 100 * sin(i % w * 0.15) * sin(i / w * 0.2) + rand() % 20);
    float taps[9], range[256]; double s = 0;
    for (int k = 0; k < 9; k++) s += taps[k] = expf(-(k - 4) * (k - 4) / 4.5f);
    for (float &t : taps) t /= s;
    for (int k = 0; k < 256; k++) range[k] = expf(-k * k / 800.f);
    cudaMemcpyToSymbol(c_taps, taps, sizeof taps); cudaMemcpyToSymbol(c_range, range, sizeof range);
    u8 *d, *m; short2 *g; float *a, *b; int *par;
    cudaMalloc(&d, n); cudaMalloc(&m, n); cudaMalloc(&g, n * 4); cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&par, n * 4);
    cudaMemcpy(d, img.data(), n, cudaMemcpyHostToDevice);
    sobel<<<dim3(divup(w, 32), divup(h, 16)), dim3(32, 8)>>>(d, g, w, h);
    median3<<<dim3(divup(w, 32), divup(h, 4)), dim3(32, 4)>>>(d, m, w, h);
    bilateral<<<dim3(divup(w, 8), divup(h, 8)), dim3(8, 8)>>>(m, a, w, h);
    gauss<false><<<dim3(divup(w, 64), h), 64, (64 + 8) * 4>>>(a, b, w, h, 4);
    gauss<true><<<dim3(divup(h, 48), w), 48, (48 + 8) * 4>>>(b, a, w, h, 4);
    for (int p = 0; p < 3; p++) ccl_init_merge<<<dim3(divup(w, 16), divup(h, 16)), dim3(16, 16)>>>(m, par, w, h, p);
    std::vector<float> f(n); std::vector<short2> hg(n); std::vector<int> hp(n);
    cudaMemcpy(f.data(), a, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hg.data(), g, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hp.data(), par, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(med.data(), m, n, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int y = 1; y < h - 1; y++) for (int x = 1; x < w - 1; x++) {
        const u8 *p = &img[y * w + x];
        int gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[-1 + w];
        bad += hg[y * w + x].x != gx;
        int less = 0, leq = 0;
        for (int k = 0; k < 9; k++) { u8 q = p[(k / 3 - 1) * w + k % 3 - 1]; less += q < med[y * w + x]; leq += q <= med[y * w + x]; }
        bad += !(less <= 4 && leq >= 5);
    }
    std::set<int> comps(hp.begin(), hp.end());
    for (int y = 0; y < h; y++) for (int x = 0; x + 1 < w; x++) if ((med[y * w + x] > 128) == (med[y * w + x + 1] > 128)) bad += hp[y * w + x] != hp[y * w + x + 1];
    double cs = 0; for (float v : f) cs += v;
    printf("bad %d, components %zu, mean %.3f\n", bad, comps.size(), cs / n);
    return bad != 0;
}
