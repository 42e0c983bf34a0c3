/*
 * JPEG front end: RGB -> YCbCr planes, 8x8 DCT (matrix form and AAN-like separable),
 * quantisation with zigzag order and count of non-zero coefficients.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

#define BLOCK_SIZE 8
#define IMG_W 1600
#define IMG_H 1208

__constant__ float DCTv8matrix[64];
__constant__ unsigned char c_zigzag[64];
__constant__ float c_quant[64];

static const unsigned char Q50[64] = {
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};
static const unsigned char ZZ[64] = {
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

typedef struct { unsigned char r, g, b; } RGB;   // 3-byte pixels

__global__ void rgb2ycc(const RGB *in, float *Y, float *Cb, float *Cr, int npix)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= npix) return;
    RGB p = in[i];
    float r = p.r, g = p.g, b = p.b;
    Y[i] = 0.299f * r + 0.587f * g + 0.114f * b - 128.0f;
    Cb[i] = -0.168736f * r - 0.331264f * g + 0.5f * b;
    Cr[i] = 0.5f * r - 0.418688f * g - 0.081312f * b;
}

// one 8x8 thread block per 8x8 pixel block
__global__ void dctMatrix(const float *src, float *dst, int width)
{
    __shared__ float X[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float T[BLOCK_SIZE * BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int off = (blockIdx.y * BLOCK_SIZE + ty) * width + blockIdx.x * BLOCK_SIZE + tx;
    X[ty][tx] = src[off];
    __syncthreads();
    float acc = 0;
#pragma unroll
    for (int i = 0; i < BLOCK_SIZE; i++) acc += DCTv8matrix[ty * 8 + i] * X[i][tx];
    T[ty * 8 + tx] = acc;
    __syncthreads();
    acc = 0;
#pragma unroll
    for (int i = 0; i < BLOCK_SIZE; i++) acc += T[ty * 8 + i] * DCTv8matrix[tx * 8 + i];
    dst[off] = acc;
}

__device__ void dct8(float *v, int step)
{
    float x[8], o[8];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = v[i * step];
#pragma unroll
    for (int u = 0; u < 8; u++) {
        float a = 0;
#pragma unroll
        for (int i = 0; i < 8; i++) a += DCTv8matrix[u * 8 + i] * x[i];
        o[u] = a;
    }
#pragma unroll
    for (int u = 0; u < 8; u++) v[u * step] = o[u];
}

#define WX 32
#define WY 16
// 32x16 pixels per block; each thread first does a row of 8, then a column
__global__ void dctRows(const float *src, float *dst, int width, int height)
{
    __shared__ float s[WY * (WX + 1)];
    const int x0 = blockIdx.x * WX, y0 = blockIdx.y * WY;
    const int tid = threadIdx.x;       // 64 threads
    for (int i = tid; i < WX * WY; i += 64) {
        int x = i % WX, y = i / WX;
        s[y * (WX + 1) + x] = (y0 + y < height && x0 + x < width) ? src[(y0 + y) * width + x0 + x] : 0.f;
    }
    __syncthreads();
    dct8(&s[(tid / 4) * (WX + 1) + (tid % 4) * 8], 1);
    __syncthreads();
    dct8(&s[(tid / 32) * 8 * (WX + 1) + tid % 32], WX + 1);
    __syncthreads();
    for (int i = tid; i < WX * WY; i += 64) {
        int x = i % WX, y = i / WX;
        if (y0 + y < height && x0 + x < width) dst[(y0 + y) * width + x0 + x] = s[y * (WX + 1) + x];
    }
}

// thread per block of 64 coefficients: zigzag gather and quantise
__global__ void quantZigzag(const float *coef, short *out, int *nnz, int width, int nblk)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= nblk) return;
    int bw = width / 8;
    const float *p = coef + (b / bw) * 8 * width + (b % bw) * 8;
    int cnt = 0;
    for (int k = 0; k < 64; k++) {
        int z = c_zigzag[k];
        float q = rintf(p[(z >> 3) * width + (z & 7)] * c_quant[z]);
        out[b * 64 + k] = (short)q;
        if (q != 0.0f) cnt++;
    }
    nnz[b] = cnt;
}

int main()
{
    const int npix = IMG_W * IMG_H, nblk = npix / 64;
    std::vector<RGB> img(npix);
    for (int i = 0; i < npix; i++) {
        int x = i % IMG_W, y = i / IMG_W;
        img[i].r = (unsigned char)(127 + 100 * sin(x * 0.05) + (x * y) % 7);
        img[i].g = (unsigned char)(127 + 90 * cos(y * 0.03 + x * 0.01));
        img[i].b = (unsigned char)((x ^ y) & 255);
    }
    float D[64], iq[64];
    for (int u = 0; u < 8; u++) for (int i = 0; i < 8; i++)
        D[u * 8 + i] = (u ? 0.5 : sqrt(0.125)) * cos((2 * i + 1) * u * M_PI / 16);
    for (int i = 0; i < 64; i++) iq[i] = 1.0f / Q50[i];
    cudaMemcpyToSymbol(DCTv8matrix, D, sizeof(D));
    cudaMemcpyToSymbol(c_zigzag, ZZ, 64);
    cudaMemcpyToSymbol(c_quant, iq, sizeof(iq));
    RGB *dI; float *dY, *dCb, *dCr, *dT, *dT2; short *dQ; int *dN;
    cudaMalloc(&dI, npix * sizeof(RGB));
    cudaMalloc(&dY, npix * 4); cudaMalloc(&dCb, npix * 4); cudaMalloc(&dCr, npix * 4);
    cudaMalloc(&dT, npix * 4); cudaMalloc(&dT2, npix * 4); cudaMalloc(&dQ, npix * 2); cudaMalloc(&dN, nblk * 4);
    cudaMemcpy(dI, img.data(), npix * sizeof(RGB), cudaMemcpyHostToDevice);
    rgb2ycc<<<(npix + 255) / 256, 256>>>(dI, dY, dCb, dCr, npix);
    dctMatrix<<<dim3(IMG_W / 8, IMG_H / 8), dim3(8, 8)>>>(dY, dT, IMG_W);
    dctRows<<<dim3((IMG_W + WX - 1) / WX, (IMG_H + WY - 1) / WY), 64>>>(dY, dT2, IMG_W, IMG_H);
    quantZigzag<<<(nblk + 127) / 128, 128>>>(dT2, dQ, dN, IMG_W, nblk);
    std::vector<float> Y(npix), t1(npix), t2(npix); std::vector<short> q(npix); std::vector<int> nz(nblk);
    cudaMemcpy(Y.data(), dY, npix * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(t1.data(), dT, npix * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(t2.data(), dT2, npix * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(q.data(), dQ, npix * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(nz.data(), dN, nblk * 4, cudaMemcpyDeviceToHost);
    double e = 0; int bad = 0;
    for (int i = 0; i < npix; i++) e = fmax(e, fabs(t1[i] - t2[i]));
    for (int b = 0; b < nblk; b += 29) {
        int bx = b % (IMG_W / 8) * 8, by = b / (IMG_W / 8) * 8, cnt = 0;
        for (int u = 0; u < 8; u++) for (int v = 0; v < 8; v++) {
            double a = 0;
            for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) a += (double)D[u * 8 + i] * D[v * 8 + j] * Y[(by + i) * IMG_W + bx + j];
            e = fmax(e, fabs(a - t2[(by + u) * IMG_W + bx + v]));
        }
        for (int k = 0; k < 64; k++) { int z = ZZ[k]; float c = t2[(by + z / 8) * IMG_W + bx + z % 8] * iq[z];
            bad += abs((int)rintf(c) - q[b * 64 + k]) > 0; cnt += q[b * 64 + k] != 0; }
        bad += cnt != nz[b];
    }
    printf("%s max err %g, bad %d\n%s\n", cudaGetErrorString(cudaGetLastError()), e, bad, e < 1e-2 && !bad ? "PASS" : "FAIL");
    return 0;
}
