// Photo mode post-processing: split, luma, histogram equalize, summed-area table, thumbnail.
// Everything is fixed point so the CPU path must match bit for bit.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <vector>
#include <algorithm>
#include <functional>
#include <cuda_runtime.h>

typedef uint8_t  u8;
typedef uint32_t u32;

#define GPU(x) do { cudaError_t e = (x); if (e) { fprintf(stderr, "%s:%d %s -> %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e)); exit(1); } } while (0)

constexpr int kBins = 256;
constexpr int kFix  = 11;           // fraction bits for the resampler

struct ImageView {                  // passed by value
    u8 *px;
    int w, h, pitch;                // pitch in bytes
    __host__ __device__ u8 *row(int y) const { return px + (size_t)y * pitch; }
};

struct alignas(4) Lut { u8 v[kBins]; };

__host__ __device__ inline int luma(int r, int g, int b) { return (r * 77 + g * 150 + b * 29 + 128) >> 8; }
__host__ __device__ inline int lerpFix(int a, int b, int f) { return a * ((1 << kFix) - f) + b * f; }

// -------- packed RGB -> luma plus three planes (byte loads, stride 3)
__global__ void k_split(ImageView rgb, ImageView y, u8 *planes)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= rgb.w || py >= rgb.h) return;
    const u8 *p = rgb.row(py) + px * 3;
    int r = p[0], g = p[1], b = p[2];
    y.row(py)[px] = (u8)luma(r, g, b);
    size_t plane = (size_t)rgb.w * rgb.h, at = (size_t)py * rgb.w + px;
    planes[at] = (u8)r;
    planes[plane + at] = (u8)g;
    planes[2 * plane + at] = (u8)b;
}

// -------- 256-bin histogram, one private copy per block
__global__ void k_histogram(ImageView y, u32 *hist)
{
    __shared__ u32 bin[kBins];
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) bin[i] = 0;
    __syncthreads();
    for (int row = blockIdx.x; row < y.h; row += gridDim.x) {
        const u8 *p = y.row(row);
        for (int x = threadIdx.x; x < y.w; x += blockDim.x) atomicAdd(&bin[p[x]], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kBins; i += blockDim.x)
        if (bin[i]) atomicAdd(&hist[i], bin[i]);
}

// -------- one block: inclusive scan of the bins, then build and apply is split over the next kernel
__global__ void k_buildLut(const u32 *hist, u32 total, Lut *lut)
{
    __shared__ u32 cdf[2][kBins];
    int t = threadIdx.x, cur = 0;
    cdf[0][t] = hist[t];
    __syncthreads();
    for (int d = 1; d < kBins; d *= 2) {
        cdf[1 - cur][t] = cdf[cur][t] + (t >= d ? cdf[cur][t - d] : 0u);
        cur = 1 - cur;
        __syncthreads();
    }
    lut->v[t] = (u8)((cdf[cur][t] * 255ull + total / 2) / total);
}

// -------- four pixels a thread, table in shared memory
__global__ void k_applyLut(ImageView y, ImageView out, const Lut *lut)
{
    __shared__ Lut s;
    for (int i = threadIdx.x + threadIdx.y * blockDim.x; i < kBins / 4; i += blockDim.x * blockDim.y)
        reinterpret_cast<u32 *>(s.v)[i] = reinterpret_cast<const u32 *>(lut->v)[i];
    __syncthreads();
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (q * 4 >= y.w || py >= y.h) return;
    uchar4 c = reinterpret_cast<const uchar4 *>(y.row(py))[q];     // rows are padded to 4
    c.x = s.v[c.x]; c.y = s.v[c.y]; c.z = s.v[c.z]; c.w = s.v[c.w];
    reinterpret_cast<uchar4 *>(out.row(py))[q] = c;
}

// -------- summed-area table: pass 1 runs along rows (a thread owns a row), pass 2 down columns
template <bool Rows>
__global__ void k_sat(ImageView src, u32 *sat)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if constexpr (Rows) {
        if (i >= src.h) return;
        const u8 *p = src.row(i);
        u32 run = 0;
        for (int x = 0; x < src.w; x++) { run += p[x]; sat[(size_t)i * src.w + x] = run; }
    } else {
        if (i >= src.w) return;
        u32 run = 0;
        for (int y = 0; y < src.h; y++) { run += sat[(size_t)y * src.w + i]; sat[(size_t)y * src.w + i] = run; }
    }
}

// -------- bilinear thumbnail from the three planes to packed RGBA
__global__ void k_thumb(const u8 *__restrict__ planes, int sw, int sh, uchar4 *dst, int dw, int dh, int stepX, int stepY)
{
    int dx = blockIdx.x * 16 + threadIdx.x % 16;
    int dy = blockIdx.y * 16 + threadIdx.x / 16;
    if (dx >= dw || dy >= dh) return;
    int fx = dx * stepX, fy = dy * stepY;
    int x0 = fx >> kFix, y0 = fy >> kFix;
    int x1 = min(x0 + 1, sw - 1), y1 = min(y0 + 1, sh - 1);
    fx &= (1 << kFix) - 1; fy &= (1 << kFix) - 1;
    int v[3];
    for (int c = 0; c < 3; c++) {
        const u8 *p = planes + (size_t)c * sw * sh;
        int top = lerpFix(p[y0 * sw + x0], p[y0 * sw + x1], fx) >> 4;
        int bot = lerpFix(p[y1 * sw + x0], p[y1 * sw + x1], fx) >> 4;
        v[c] = lerpFix(top, bot, fy) >> (2 * kFix - 4);
    }
    dst[dy * dw + dx] = make_uchar4((u8)v[0], (u8)v[1], (u8)v[2], 255);
}

struct Arena {                       // frees it all at the end
    std::vector<void *> blocks;
    ~Arena() { for (void *b : blocks) cudaFree(b); }
    template <class T> T *take(size_t n) {
        void *p; GPU(cudaMalloc(&p, n * sizeof(T))); GPU(cudaMemset(p, 0, n * sizeof(T)));
        blocks.push_back(p);
        return (T *)p;
    }
};

template <class T> static std::vector<T> fetch(const T *p, size_t n) {
    std::vector<T> v(n);
    GPU(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

int main(int argc, char **argv)
{
    int W = 1283, H = 721;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "-w")) W = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "-h")) H = atoi(argv[i + 1]);
    }
    const int pitchY = (W + 3) & ~3, pitchRGB = W * 3;
    const int dw = W * 2 / 5, dh = H * 2 / 5;
    const int stepX = (int)(((long long)(W - 1) << kFix) / std::max(dw - 1, 1));
    const int stepY = (int)(((long long)(H - 1) << kFix) / std::max(dh - 1, 1));

    std::vector<u8> rgb((size_t)pitchRGB * H);
    u32 noise = 1;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            noise = noise * 1103515245u + 12345u;
            int n = (noise >> 16) & 15;
            u8 *p = &rgb[(size_t)y * pitchRGB + x * 3];
            p[0] = (u8)(40 + (x * 100) / W + n);
            p[1] = (u8)(60 + (y * 90) / H + n);
            p[2] = (u8)(((x / 16) ^ (y / 16)) & 1 ? 120 + n : 50 + n);
        }

    Arena mem;
    ImageView dRGB{mem.take<u8>(rgb.size()), W, H, pitchRGB};
    ImageView dY{mem.take<u8>((size_t)pitchY * H), W, H, pitchY};
    ImageView dEq{mem.take<u8>((size_t)pitchY * H), W, H, pitchY};
    u8  *dPlanes = mem.take<u8>((size_t)3 * W * H);
    u32 *dHist = mem.take<u32>(kBins), *dSat = mem.take<u32>((size_t)W * H);
    Lut *dLut = mem.take<Lut>(1);
    uchar4 *dThumb = mem.take<uchar4>((size_t)dw * dh);
    GPU(cudaMemcpy(dRGB.px, rgb.data(), rgb.size(), cudaMemcpyHostToDevice));

    struct Pass { const char *name; std::function<void()> go; };
    auto cover = [](int w, int h, dim3 b) { return dim3((w + b.x - 1) / b.x, (h + b.y - 1) / b.y); };
    const dim3 b2(32, 8);
    const Pass passes[] = {
        {"split",     [&] { k_split<<<cover(W, H, b2), b2>>>(dRGB, dY, dPlanes); }},
        {"histogram", [&] { k_histogram<<<120, 192>>>(dY, dHist); }},
        {"lut",       [&] { k_buildLut<<<1, kBins>>>(dHist, (u32)(W * H), dLut); }},
        {"equalize",  [&] { k_applyLut<<<cover((W + 3) / 4, H, b2), b2>>>(dY, dEq, dLut); }},
        {"sat rows",  [&] { k_sat<true><<<(H + 63) / 64, 64>>>(dEq, dSat); }},
        {"sat cols",  [&] { k_sat<false><<<(W + 63) / 64, 64>>>(dEq, dSat); }},
        {"thumbnail", [&] { k_thumb<<<dim3((dw + 15) / 16, (dh + 15) / 16), 256>>>(dPlanes, W, H, dThumb, dw, dh, stepX, stepY); }},
    };
    for (const Pass &p : passes) {
        p.go();
        cudaError_t e = cudaGetLastError();
        if (e) { printf("pass %s: %s\nFAIL\n", p.name, cudaGetErrorString(e)); return 1; }
    }
    GPU(cudaDeviceSynchronize());

    // ---- CPU
    std::vector<u8> y((size_t)W * H), eq((size_t)W * H);
    u32 hist[kBins] = {}, cdf = 0;
    for (int i = 0; i < W * H; i++) { y[i] = (u8)luma(rgb[i * 3], rgb[i * 3 + 1], rgb[i * 3 + 2]); hist[y[i]]++; }
    u8 lut[kBins];
    for (int b = 0; b < kBins; b++) { cdf += hist[b]; lut[b] = (u8)((cdf * 255ull + (u32)(W * H) / 2) / (u32)(W * H)); }
    for (int i = 0; i < W * H; i++) eq[i] = lut[y[i]];

    int badEq = 0, badSat = 0, badThumb = 0;
    auto gEq = fetch(dEq.px, (size_t)pitchY * H);
    auto gSat = fetch(dSat, (size_t)W * H);
    auto gThumb = fetch(dThumb, (size_t)dw * dh);
    std::vector<u32> col(W, 0);
    for (int yy = 0; yy < H; yy++) {
        u32 run = 0;
        for (int x = 0; x < W; x++) {
            badEq += gEq[(size_t)yy * pitchY + x] != eq[(size_t)yy * W + x];
            run += eq[(size_t)yy * W + x];
            col[x] += run;
            badSat += gSat[(size_t)yy * W + x] != col[x];
        }
    }
    for (int dy = 0; dy < dh; dy++)
        for (int dx = 0; dx < dw; dx++) {
            int fx = dx * stepX, fy = dy * stepY, x0 = fx >> kFix, y0 = fy >> kFix;
            int x1 = std::min(x0 + 1, W - 1), y1 = std::min(y0 + 1, H - 1);
            fx &= (1 << kFix) - 1; fy &= (1 << kFix) - 1;
            uchar4 g = gThumb[dy * dw + dx];
            const int have[3] = {g.x, g.y, g.z};
            for (int c = 0; c < 3; c++) {
                auto at = [&](int xx, int yy) { return (int)rgb[(size_t)yy * pitchRGB + xx * 3 + c]; };
                int top = lerpFix(at(x0, y0), at(x1, y0), fx) >> 4, bot = lerpFix(at(x0, y1), at(x1, y1), fx) >> 4;
                badThumb += have[c] != (lerpFix(top, bot, fy) >> (2 * kFix - 4));
            }
        }
    bool ok = !badEq && !badSat && !badThumb;
    printf("equalized %d  sat %d  thumb %d mismatches\n%s\n", badEq, badSat, badThumb, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
