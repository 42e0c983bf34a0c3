// Sparse pyramidal Lucas-Kanade, two frames, two levels.
// frame A/B (packed RGB) -> gray -> half-res -> gradients -> corner score ->
// best corner per 16x16 cell -> track coarse -> track fine.
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define W0 512
#define H0 384
#define W1 (W0 / 2)
#define H1 (H0 / 2)
#define CELL 16
#define CELLS_X (W0 / CELL)
#define CELLS_Y (H0 / CELL)
#define NPTS (CELLS_X * CELLS_Y)
#define WIN_R 7
#define WIN (2 * WIN_R + 1)
#define LK_ITERS 8

static void cudaCheck(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    printf("CUDA error line %d: %s\n", line, cudaGetErrorString(e));
    exit(1);
}
#define CC(x) cudaCheck((x), __LINE__)

struct Image   { const float  *px; int w, h; };
struct GradImg { const float2 *px; int w, h; };
struct Corner  { float score; int x, y; };
struct Tensor  { float xx, xy, yy; };

__host__ __device__ inline int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__host__ __device__ inline float sampleBilinear(const Image &im, float x, float y)
{
    float fx = floorf(x), fy = floorf(y);
    float ax = x - fx, ay = y - fy;
    int x0 = clampi((int)fx, 0, im.w - 1), x1 = clampi((int)fx + 1, 0, im.w - 1);
    int y0 = clampi((int)fy, 0, im.h - 1), y1 = clampi((int)fy + 1, 0, im.h - 1);
    float a = im.px[y0 * im.w + x0];
    float b = im.px[y0 * im.w + x1];
    float c = im.px[y1 * im.w + x0];
    float d = im.px[y1 * im.w + x1];
    return (a * (1 - ax) + b * ax) * (1 - ay) + (c * (1 - ax) + d * ax) * ay;
}

__host__ __device__ inline float2 sampleGrad(const GradImg &g, float x, float y)
{
    int xi = clampi((int)(x + 0.5f), 0, g.w - 1);
    int yi = clampi((int)(y + 0.5f), 0, g.h - 1);
    return g.px[yi * g.w + xi];
}

__host__ __device__ inline float minEigen(Tensor t)
{
    float tr = 0.5f * (t.xx + t.yy);
    float df = 0.5f * (t.xx - t.yy);
    return tr - sqrtf(df * df + t.xy * t.xy);
}

__global__ void rgbToGray(const uchar3 *rgb, float *gray)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int f = blockIdx.z;
    if (x >= W0 || y >= H0) return;
    int i = (f * H0 + y) * W0 + x;
    uchar3 c = rgb[i];
    gray[i] = 0.299f * c.x + 0.587f * c.y + 0.114f * c.z;
}

// 5-tap binomial, separable through shared memory, 16x16 output pixels
__global__ void pyrDown(const float *src, float *dst, int sw, int sh)
{
    const int T = 16, S = 2 * T + 3;
    __shared__ float in[S][S];
    __shared__ float mid[S][T];
    int dw = sw / 2, dh = sh / 2;
    src += (size_t)blockIdx.z * sw * sh;
    dst += (size_t)blockIdx.z * dw * dh;
    int bx = blockIdx.x * 2 * T - 2;
    int by = blockIdx.y * 2 * T - 2;
    for (int y = threadIdx.y; y < S; y += T)
        for (int x = threadIdx.x; x < S; x += T)
            in[y][x] = src[clampi(by + y, 0, sh - 1) * sw + clampi(bx + x, 0, sw - 1)];
    __syncthreads();
    for (int y = threadIdx.y; y < S; y += T) {
        int x = 2 * threadIdx.x;
        mid[y][threadIdx.x] = (in[y][x] + in[y][x + 4]
                               + 4.0f * (in[y][x + 1] + in[y][x + 3])
                               + 6.0f * in[y][x + 2]) * (1.0f / 16.0f);
    }
    __syncthreads();
    int ox = blockIdx.x * T + threadIdx.x;
    int oy = blockIdx.y * T + threadIdx.y;
    if (ox < dw && oy < dh) {
        int y = 2 * threadIdx.y;
        dst[oy * dw + ox] = (mid[y][threadIdx.x] + mid[y + 4][threadIdx.x]
                             + 4.0f * (mid[y + 1][threadIdx.x] + mid[y + 3][threadIdx.x])
                             + 6.0f * mid[y + 2][threadIdx.x]) * (1.0f / 16.0f);
    }
}

__host__ __device__ inline float2 scharrAt(const float *im, int w, int h, int x, int y)
{
    int xm = clampi(x - 1, 0, w - 1), xp = clampi(x + 1, 0, w - 1);
    int ym = clampi(y - 1, 0, h - 1), yp = clampi(y + 1, 0, h - 1);
    float nw = im[ym * w + xm], n = im[ym * w + x], ne = im[ym * w + xp];
    float we = im[y * w + xm], ea = im[y * w + xp];
    float sw = im[yp * w + xm], s = im[yp * w + x], se = im[yp * w + xp];
    float2 g;
    g.x = (3.0f * (ne - nw) + 10.0f * (ea - we) + 3.0f * (se - sw)) / 32.0f;
    g.y = (3.0f * (sw - nw) + 10.0f * (s - n) + 3.0f * (se - ne)) / 32.0f;
    return g;
}

__global__ void scharr(const float *im, float2 *grad, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        grad[y * w + x] = scharrAt(im, w, h, x, y);
}

// 5x5 window sums of the gradient products, tile of structs in shared memory
__global__ void cornerScore(const float2 *grad, float *score, int w, int h)
{
    __shared__ Tensor tile[20][20];
    int bx = blockIdx.x * 16 - 2, by = blockIdx.y * 16 - 2;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 400; i += 256) {
        int ty = i / 20, tx = i % 20;
        float2 g = grad[clampi(by + ty, 0, h - 1) * w + clampi(bx + tx, 0, w - 1)];
        tile[ty][tx].xx = g.x * g.x;
        tile[ty][tx].xy = g.x * g.y;
        tile[ty][tx].yy = g.y * g.y;
    }
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h) return;
    Tensor sum = {0, 0, 0};
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++) {
            sum.xx += tile[threadIdx.y + dy][threadIdx.x + dx].xx;
            sum.xy += tile[threadIdx.y + dy][threadIdx.x + dx].xy;
            sum.yy += tile[threadIdx.y + dy][threadIdx.x + dx].yy;
        }
    score[y * w + x] = minEigen(sum);
}

// one block per cell, tree arg-max over an array of structs
__global__ void bestPerCell(const float *score, Corner *out)
{
    __shared__ Corner best[CELL * CELL];
    int t = threadIdx.x;
    int x = blockIdx.x * CELL + t % CELL;
    int y = blockIdx.y * CELL + t / CELL;
    best[t].score = score[y * W0 + x];
    best[t].x = x;
    best[t].y = y;
    __syncthreads();
    for (int s = CELL * CELL / 2; s > 0; s >>= 1) {
        if (t < s && best[t + s].score > best[t].score)
            best[t] = best[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.y * CELLS_X + blockIdx.x] = best[0];
}

__device__ inline float warpSum(float v)
{
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}

// one warp per point
__global__ void lkTrack(Image I, Image J, GradImg G, const Corner *pts, float2 *flow,
                        int npts, float posScale, float flowScale)
{
    int p = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (p >= npts) return;
    float cx = pts[p].x * posScale;
    float cy = pts[p].y * posScale;
    float2 uv = flow[p];
    uv.x *= flowScale;
    uv.y *= flowScale;

    const int PER_LANE = (WIN * WIN + 31) / 32;
    float  tmpl[PER_LANE];
    float2 gr[PER_LANE];
    float gxx = 0, gxy = 0, gyy = 0;
#pragma unroll
    for (int k = 0; k < PER_LANE; k++) {
        int i = lane + 32 * k;
        tmpl[k] = 0;
        gr[k] = make_float2(0, 0);
        if (i < WIN * WIN) {
            float wx = cx + (i % WIN - WIN_R), wy = cy + (i / WIN - WIN_R);
            tmpl[k] = sampleBilinear(I, wx, wy);
            gr[k] = sampleGrad(G, wx, wy);
        }
        gxx += gr[k].x * gr[k].x;
        gxy += gr[k].x * gr[k].y;
        gyy += gr[k].y * gr[k].y;
    }
    gxx = warpSum(gxx) + 1e-3f; gxy = warpSum(gxy); gyy = warpSum(gyy) + 1e-3f;
    float inv = 1.0f / (gxx * gyy - gxy * gxy);

    for (int it = 0; it < LK_ITERS; it++) {
        float bx = 0, by = 0;
#pragma unroll
        for (int k = 0; k < PER_LANE; k++) {
            int i = lane + 32 * k;
            if (i < WIN * WIN) {
                float wx = cx + (i % WIN - WIN_R) + uv.x, wy = cy + (i / WIN - WIN_R) + uv.y;
                float diff = tmpl[k] - sampleBilinear(J, wx, wy);
                bx += diff * gr[k].x;
                by += diff * gr[k].y;
            }
        }
        bx = warpSum(bx);
        by = warpSum(by);
        uv.x += (gyy * bx - gxy * by) * inv;
        uv.y += (gxx * by - gxy * bx) * inv;
    }
    if (lane == 0) flow[p] = uv;
}

static float2 cpuTrack(Image I, Image J, GradImg G, float cx, float cy, float2 uv)
{
    double gxx = 1e-3, gxy = 0, gyy = 1e-3;
    for (int i = 0; i < WIN * WIN; i++) {
        float2 g = sampleGrad(G, cx + (i % WIN - WIN_R), cy + (i / WIN - WIN_R));
        gxx += g.x * g.x; gxy += g.x * g.y; gyy += g.y * g.y;
    }
    double inv = 1.0 / (gxx * gyy - gxy * gxy);
    for (int it = 0; it < LK_ITERS; it++) {
        double bx = 0, by = 0;
        for (int i = 0; i < WIN * WIN; i++) {
            float wx = cx + (i % WIN - WIN_R), wy = cy + (i / WIN - WIN_R);
            float2 g = sampleGrad(G, wx, wy);
            float d = sampleBilinear(I, wx, wy) - sampleBilinear(J, wx + uv.x, wy + uv.y);
            bx += d * g.x; by += d * g.y;
        }
        uv.x += (float)((gyy * bx - gxy * by) * inv);
        uv.y += (float)((gxx * by - gxy * bx) * inv);
    }
    return uv;
}

static unsigned char pattern(float x, float y, float phase)
{
    float v = 127.f + 45.f * sinf(0.11f * x + 0.05f * y + phase) + 40.f * cosf(0.07f * x - 0.13f * y)
            + 30.f * sinf(0.21f * x) * cosf(0.19f * y + phase);
    return (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v);
}

template <typename T> static std::vector<T> fetch(const T *d, size_t n)
{
    std::vector<T> h(n);
    CC(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
}

int main()
{
    const float SX = 2.4f, SY = -1.7f;
    const size_t N0 = W0 * H0, N1 = W1 * H1;
    std::vector<uchar3> rgb(2 * N0);
    for (int f = 0; f < 2; f++)
        for (int y = 0; y < H0; y++)
            for (int x = 0; x < W0; x++) {
                float u = x - f * SX, v = y - f * SY;
                rgb[f * N0 + y * W0 + x] = make_uchar3(pattern(u, v, 0.f), pattern(u, v, 0.6f), pattern(u, v, 1.1f));
            }
    uchar3 *dRgb; float *dG0, *dG1, *dScore; float2 *dGr0, *dGr1, *dFlow; Corner *dPts;
    CC(cudaMalloc(&dRgb, 2 * N0 * sizeof(uchar3)));
    CC(cudaMalloc(&dG0, 2 * N0 * sizeof(float)));
    CC(cudaMalloc(&dG1, 2 * N1 * sizeof(float)));
    CC(cudaMalloc(&dScore, N0 * sizeof(float)));
    CC(cudaMalloc(&dGr0, N0 * sizeof(float2)));
    CC(cudaMalloc(&dGr1, N1 * sizeof(float2)));
    CC(cudaMalloc(&dFlow, NPTS * sizeof(float2)));
    CC(cudaMalloc(&dPts, NPTS * sizeof(Corner)));
    CC(cudaMemcpy(dRgb, rgb.data(), 2 * N0 * sizeof(uchar3), cudaMemcpyHostToDevice));
    CC(cudaMemset(dFlow, 0, NPTS * sizeof(float2)));

    dim3 b32(32, 8), b16(16, 16);
    rgbToGray<<<dim3(W0 / 32, H0 / 8, 2), b32>>>(dRgb, dG0);
    pyrDown<<<dim3(W1 / 16, H1 / 16, 2), b16>>>(dG0, dG1, W0, H0);
    scharr<<<dim3(W0 / 32, H0 / 8), b32>>>(dG0, dGr0, W0, H0);
    scharr<<<dim3(W1 / 32, H1 / 8), b32>>>(dG1, dGr1, W1, H1);
    cornerScore<<<dim3(W0 / 16, H0 / 16), b16>>>(dGr0, dScore, W0, H0);
    bestPerCell<<<dim3(CELLS_X, CELLS_Y), CELL * CELL>>>(dScore, dPts);
    Image I1 = {dG1, W1, H1}, J1 = {dG1 + N1, W1, H1}, I0 = {dG0, W0, H0}, J0 = {dG0 + N0, W0, H0};
    GradImg Q1 = {dGr1, W1, H1}, Q0 = {dGr0, W0, H0};
    lkTrack<<<(NPTS + 3) / 4, 128>>>(I1, J1, Q1, dPts, dFlow, NPTS, 0.5f, 1.0f);
    lkTrack<<<(NPTS + 3) / 4, 128>>>(I0, J0, Q0, dPts, dFlow, NPTS, 1.0f, 2.0f);
    CC(cudaGetLastError());
    CC(cudaDeviceSynchronize());
    std::vector<float> g0 = fetch(dG0, 2 * N0), g1 = fetch(dG1, 2 * N1), sc = fetch(dScore, N0);
    std::vector<float2> gr0 = fetch(dGr0, N0), gr1 = fetch(dGr1, N1), flow = fetch(dFlow, (size_t)NPTS);
    std::vector<Corner> pts = fetch(dPts, (size_t)NPTS);
    int bad = 0;
    for (size_t i = 0; i < 2 * N0; i++)
        bad += !(fabsf(g0[i] - (0.299f * rgb[i].x + 0.587f * rgb[i].y + 0.114f * rgb[i].z)) < 1e-3f);
    const float k5[5] = {1, 4, 6, 4, 1};
    for (int y = 0; y < H1; y++)
        for (int x = 0; x < W1; x++) {
            float s = 0;
            for (int j = 0; j < 5; j++)
                for (int i = 0; i < 5; i++)
                    s += k5[i] * k5[j] / 256.f * g0[clampi(2 * y + j - 2, 0, H0 - 1) * W0 + clampi(2 * x + i - 2, 0, W0 - 1)];
            float2 g = scharrAt(g1.data(), W1, H1, x, y);
            bad += !(fabsf(s - g1[y * W1 + x]) < 2e-3f);
            bad += !(fabsf(g.x - gr1[y * W1 + x].x) < 2e-3f && fabsf(g.y - gr1[y * W1 + x].y) < 2e-3f);
        }
    for (int y = 0; y < H0; y++)
        for (int x = 0; x < W0; x++) {
            Tensor t = {0, 0, 0};
            for (int j = -2; j <= 2; j++)
                for (int i = -2; i <= 2; i++) {
                    float2 g = gr0[clampi(y + j, 0, H0 - 1) * W0 + clampi(x + i, 0, W0 - 1)];
                    t.xx += g.x * g.x; t.xy += g.x * g.y; t.yy += g.y * g.y;
                }
            bad += !(fabsf(minEigen(t) - sc[y * W0 + x]) < 1e-3f * (1.f + t.xx + t.yy));
            const Corner &c = pts[(y / CELL) * CELLS_X + x / CELL];
            bad += (sc[y * W0 + x] > c.score) || sc[c.y * W0 + c.x] != c.score;
        }
    printf("image stages: %d bad values\n", bad);
    Image hI1 = {g1.data(), W1, H1}, hJ1 = {g1.data() + N1, W1, H1}, hI0 = {g0.data(), W0, H0}, hJ0 = {g0.data() + N0, W0, H0};
    GradImg hQ1 = {gr1.data(), W1, H1}, hQ0 = {gr0.data(), W0, H0};
    int off = 0, wrong = 0, inner = 0;
    for (int p = 0; p < NPTS; p++) {
        if (pts[p].x < 16 || pts[p].y < 16 || pts[p].x >= W0 - 16 || pts[p].y >= H0 - 16) continue;
        inner++;
        float2 r = cpuTrack(hI1, hJ1, hQ1, pts[p].x * 0.5f, pts[p].y * 0.5f, make_float2(0, 0));
        r = cpuTrack(hI0, hJ0, hQ0, (float)pts[p].x, (float)pts[p].y, make_float2(2 * r.x, 2 * r.y));
        off   += !(fabsf(r.x - flow[p].x) < 0.02f && fabsf(r.y - flow[p].y) < 0.02f);
        wrong += !(fabsf(flow[p].x - SX) < 0.3f && fabsf(flow[p].y - SY) < 0.3f);
    }
    printf("%d points, %d differ from the CPU, %d far from (%.1f, %.1f)\n", inner, off, wrong, SX, SY);
    bool ok = bad == 0 && off * 50 <= inner && wrong * 20 <= inner;
    printf("%s\n", ok ? "PASS" : "FAIL");
    cudaDeviceReset();
    return ok ? 0 : 1;
}
