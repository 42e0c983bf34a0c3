// Image filters on pitched 8-bit images: bilateral, sobel, dilate. CPU check included.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>

typedef unsigned char uchar;
#define RADIUS 4
#define BX 32
#define BY 8

__constant__ float cGauss[(2 * RADIUS + 1) * (2 * RADIUS + 1)];
__constant__ float cRange[256];

static inline int divUp(int a, int b) { return (a + b - 1) / b; }

__device__ __forceinline__ int clampi(int v, int lo, int hi) { return max(lo, min(v, hi)); }

__global__ void bilateralKernel(uchar *dst, size_t dpitch, const uchar *src, size_t spitch, int w, int h)
{
    __shared__ uchar tile[BY + 2 * RADIUS][BX + 2 * RADIUS];
    const int x0 = blockIdx.x * BX - RADIUS, y0 = blockIdx.y * BY - RADIUS;
    for (int ty = threadIdx.y; ty < BY + 2 * RADIUS; ty += BY)
        for (int tx = threadIdx.x; tx < BX + 2 * RADIUS; tx += BX)
            tile[ty][tx] = src[clampi(y0 + ty, 0, h - 1) * spitch + clampi(x0 + tx, 0, w - 1)];
    __syncthreads();
    const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    if (x >= w || y >= h) return;
    const int c = tile[threadIdx.y + RADIUS][threadIdx.x + RADIUS];
    float sum = 0.f, norm = 0.f;
    for (int dy = 0; dy <= 2 * RADIUS; dy++)
        for (int dx = 0; dx <= 2 * RADIUS; dx++) {
            int v = tile[threadIdx.y + dy][threadIdx.x + dx];
            float wgt = cGauss[dy * (2 * RADIUS + 1) + dx] * cRange[abs(v - c)];
            sum += wgt * v;
            norm += wgt;
        }
    dst[y * dpitch + x] = (uchar)(sum / norm + 0.5f);
}

// four pixels a thread, uchar4 store
__global__ void sobelKernel(uchar *dst, size_t dpitch, const uchar *src, size_t spitch, int w, int h)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const uchar *r0 = src + (size_t)max(y - 1, 0) * spitch;
    const uchar *r1 = src + (size_t)y * spitch;
    const uchar *r2 = src + (size_t)min(y + 1, h - 1) * spitch;
    uchar out[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int xm = max(x + k - 1, 0), xc = min(x + k, w - 1), xp = min(x + k + 1, w - 1);
        int gx = -r0[xm] - 2 * r1[xm] - r2[xm] + r0[xp] + 2 * r1[xp] + r2[xp];
        int gy = -r0[xm] - 2 * r0[xc] - r0[xp] + r2[xm] + 2 * r2[xc] + r2[xp];
        out[k] = min(255, (abs(gx) + abs(gy)) >> 1);
    }
    *(uchar4 *)(dst + y * dpitch + x) = make_uchar4(out[0], out[1], out[2], out[3]);
}

// separable dilation, vertical pass walks down columns; one thread a column segment
__global__ void dilateV(uchar *dst, size_t dpitch, const uchar *src, size_t spitch, int w, int h, int r, int seg)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    int yb = blockIdx.y * seg, ye = min(h, yb + seg);
    for (int y = yb; y < ye; y++) {
        uchar m = 0;
        for (int k = -r; k <= r; k++) {
            int yy = y + k;
            if (yy >= 0 && yy < h) m = max(m, src[yy * spitch + x]);
        }
        dst[y * dpitch + x] = m;
    }
}

int main(int argc, char **argv)
{
    const int w = 1918, h = 1081;
    std::vector<uchar> img(w * h), o1(w * h), o2(w * h), o3(w * h);
    unsigned s = 17;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            s = s * 1103515245 + 12345;
            int v = (int)(128 + 90 * sin(x * 0.02) * cos(y * 0.015)) + ((s >> 20) & 31) - 16;
            if (((x / 100) + (y / 80)) % 5 == 0) v += 40;
            img[y * w + x] = std::min(255, std::max(0, v));
        }
    float g[(2 * RADIUS + 1) * (2 * RADIUS + 1)], rg[256];
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++)
            g[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS] = expf(-(dx * dx + dy * dy) / (2 * 2.5f * 2.5f));
    for (int i = 0; i < 256; i++) rg[i] = expf(-i * i / (2 * 25.f * 25.f));
    cudaMemcpyToSymbol(cGauss, g, sizeof(g));
    cudaMemcpyToSymbol(cRange, rg, sizeof(rg));
    uchar *d0, *d1, *d2, *d3; size_t p0, p1, p2, p3;
    cudaMallocPitch(&d0, &p0, w, h); cudaMallocPitch(&d1, &p1, w, h);
    cudaMallocPitch(&d2, &p2, w, h); cudaMallocPitch(&d3, &p3, w, h);
    cudaMemcpy2D(d0, p0, img.data(), w, w, h, cudaMemcpyHostToDevice);
    dim3 b(BX, BY);
    bilateralKernel<<<dim3(divUp(w, BX), divUp(h, BY)), b>>>(d1, p1, d0, p0, w, h);
    sobelKernel<<<dim3(divUp(w, BX * 4), divUp(h, BY)), b>>>(d2, p2, d1, p1, w, h);
    dilateV<<<dim3(divUp(w, 128), divUp(h, 32)), 128>>>(d3, p3, d2, p2, w, h, 3, 32);
    cudaMemcpy2D(o1.data(), w, d1, p1, w, h, cudaMemcpyDeviceToHost);
    cudaMemcpy2D(o2.data(), w, d2, p2, w, h, cudaMemcpyDeviceToHost);
    cudaMemcpy2D(o3.data(), w, d3, p3, w, h, cudaMemcpyDeviceToHost);
    int bad1 = 0, bad2 = 0, bad3 = 0;
    auto at = [&](const std::vector<uchar> &v, int x, int y) { return (int)v[std::clamp(y, 0, h - 1) * w + std::clamp(x, 0, w - 1)]; };
    for (int y = 0; y < h; y += 11)
        for (int x = 0; x < w; x++) {
            float sum = 0, nrm = 0;
            int c = at(img, x, y);
            for (int dy = -RADIUS; dy <= RADIUS; dy++)
                for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                    int v = at(img, x + dx, y + dy);
                    float q = g[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS] * rg[abs(v - c)];
                    sum += q * v; nrm += q;
                }
            if (abs((int)(sum / nrm + 0.5f) - o1[y * w + x]) > 1) bad1++;
            int gx = -at(o1, x - 1, y - 1) - 2 * at(o1, x - 1, y) - at(o1, x - 1, y + 1) + at(o1, x + 1, y - 1) + 2 * at(o1, x + 1, y) + at(o1, x + 1, y + 1);
            int gy = -at(o1, x - 1, y - 1) - 2 * at(o1, x, y - 1) - at(o1, x + 1, y - 1) + at(o1, x - 1, y + 1) + 2 * at(o1, x, y + 1) + at(o1, x + 1, y + 1);
            if (std::min(255, (abs(gx) + abs(gy)) >> 1) != o2[y * w + x]) bad2++;
            int m = 0;
            for (int k = -3; k <= 3; k++) m = std::max(m, at(o2, x, y + k));
            if (m != o3[y * w + x]) bad3++;
        }
    printf("%s bad: %d %d %d\n", cudaGetErrorString(cudaGetLastError()), bad1, bad2, bad3);
    puts(bad1 + bad2 + bad3 ? "FAIL" : "PASS");
    return 0;
}
