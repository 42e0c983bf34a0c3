// Toy JPEG-like luma path: RGBA -> Y, 8x8 forward DCT, quantise, zigzag + run-length statistics.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>
typedef unsigned char u8;

__constant__ float kDct[64];
__constant__ u8 kZig[64] = {
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
__constant__ u8 kQ[64] = {
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};

__global__ void rgba_to_luma(const uchar4* src, size_t spitch, float* dst, size_t dpitch, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const uchar4* row = (const uchar4*)((const char*)src + y * spitch);
    uchar4 c = row[x];
    float* drow = (float*)((char*)dst + y * dpitch);
    drow[x] = (77 * c.x + 150 * c.y + 29 * c.z) * (1.0f / 256.0f) - 128.0f;
}

// 4 DCT blocks side by side per CUDA block. The unpadded variant has column conflicts.
template <int PAD>
__global__ void fdct8x8(const float* src, size_t pitch, float* coef, int bw) {
    __shared__ float t[4][8][8 + PAD];
    __shared__ float u[4][8][8 + PAD];
    int c = threadIdx.x, r = threadIdx.y, k = threadIdx.z;
    int bx = blockIdx.x * 4 + k, by = blockIdx.y;
    const float* row = (const float*)((const char*)src + (by * 8 + r) * pitch);
    t[k][r][c] = row[bx * 8 + c];
    __syncthreads();
    float s = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) s += kDct[c * 8 + i] * t[k][r][i];
    u[k][r][c] = s;
    __syncthreads();
    s = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) s += kDct[r * 8 + i] * u[k][i][c];
    coef[((size_t)by * bw + bx) * 64 + r * 8 + c] = s;
}

__global__ void quant_zigzag(const float* __restrict__ coef, short* __restrict__ q, int nblk) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nblk * 64) return;
    int b = t >> 6, i = t & 63;
    int src = kZig[i];
    q[t] = (short)__float2int_rn(coef[(b << 6) + src] / (float)kQ[src]);
}

// one warp per block: zero run lengths by ballot
__global__ void rle_stats(const short* q, int* hist, int nblk) {
    __shared__ int sh[64];
    for (int i = threadIdx.x; i < 64; i += blockDim.x) sh[i] = 0;
    __syncthreads();
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (warp < nblk) {
        const short2* p = reinterpret_cast<const short2*>(q) + (size_t)warp * 32;
        short2 v = p[lane];
        unsigned even = __ballot_sync(~0u, v.x != 0), odd = __ballot_sync(~0u, v.y != 0);
        // coefficient 2*lane -> even bit, 2*lane+1 -> odd bit
        auto prevNZ = [&](int pos) {
            for (int k = pos - 1; k >= 0; --k)
                if (((k & 1) ? odd : even) >> (k >> 1) & 1) return k;
            return -1;
        };
        if (v.x) atomicAdd(&sh[2 * lane - 1 - prevNZ(2 * lane)], 1);
        if (v.y) atomicAdd(&sh[2 * lane - prevNZ(2 * lane + 1)], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += blockDim.x) if (sh[i]) atomicAdd(&hist[i], sh[i]);
}

int main(int argc, char** argv) {
    int w = 1024, h = 512;
    std::vector<uchar4> img(w * h);
    unsigned s = 7;
    for (int y = 0; y < h; ++y) for (int x = 0; x < w; ++x) {
        s = s * 1664525u + 1013904223u;
        img[y * w + x] = make_uchar4((x * 3 + y) & 255, (u8)(128 + 100 * sin(x * 0.05) * cos(y * 0.03)), (s >> 27) + 100, 255);
    }
    float dct[64];
    for (int k = 0; k < 8; ++k) for (int i = 0; i < 8; ++i)
        dct[k * 8 + i] = (k ? 0.5 : sqrt(0.125)) * cos((2 * i + 1) * k * M_PI / 16);
    cudaMemcpyToSymbol(kDct, dct, sizeof dct);
    uchar4* dsrc; float *dy, *c0, *c1; short* dq; int* dh; size_t sp, yp;
    cudaMallocPitch(&dsrc, &sp, w * 4, h);
    cudaMallocPitch(&dy, &yp, w * 4, h);
    cudaMalloc(&c0, w * h * 4); cudaMalloc(&c1, w * h * 4); cudaMalloc(&dq, w * h * 2); cudaMalloc(&dh, 256);
    cudaMemset(dh, 0, 256);
    cudaMemcpy2D(dsrc, sp, img.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice);
    rgba_to_luma<<<dim3((w + 31) / 32, (h + 5) / 6), dim3(32, 6)>>>(dsrc, sp, dy, yp, w, h);
    int bw = w / 8, bh = h / 8, nblk = bw * bh;
    fdct8x8<0><<<dim3(bw / 4, bh), dim3(8, 8, 4)>>>(dy, yp, c0, bw);
    fdct8x8<1><<<dim3(bw / 4, bh), dim3(8, 8, 4)>>>(dy, yp, c1, bw);
    quant_zigzag<<<(nblk * 64 + 255) / 256, 256>>>(c1, dq, nblk);
    rle_stats<<<(nblk + 6) / 7, 224>>>(dq, dh, nblk);
    std::vector<float> a(w * h), b(w * h); std::vector<short> q(w * h); int hist[64];
    cudaMemcpy(a.data(), c0, w * h * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), c1, w * h * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(q.data(), dq, w * h * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(hist, dh, 256, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0;
    for (int B = 0; B < nblk; B += 5) {
        int bx = B % bw, by = B / bw;
        double t[64], u[64];
        for (int r = 0; r < 8; ++r) for (int c = 0; c < 8; ++c) {
            uchar4 p = img[(by * 8 + r) * w + bx * 8 + c];
            t[r * 8 + c] = (77 * p.x + 150 * p.y + 29 * p.z) / 256.0 - 128;
        }
        for (int r = 0; r < 8; ++r) for (int k = 0; k < 8; ++k) {
            u[r * 8 + k] = 0; for (int i = 0; i < 8; ++i) u[r * 8 + k] += dct[k * 8 + i] * t[r * 8 + i];
        }
        for (int k = 0; k < 8; ++k) for (int c = 0; c < 8; ++c) {
            double v = 0; for (int i = 0; i < 8; ++i) v += dct[k * 8 + i] * u[i * 8 + c];
            if (fabs(v - a[B * 64 + k * 8 + c]) > 0.01 || fabs(v - b[B * 64 + k * 8 + c]) > 0.01) ++bad;
        }
    }
    int ref[64] = {0};
    for (int B = 0; B < nblk; ++B) { int run = 0; for (int i = 0; i < 64; ++i) if (q[B * 64 + i]) { ref[run]++; run = 0; } else ++run; }
    for (int i = 0; i < 64; ++i) if (ref[i] != hist[i]) { ++bad; printf("run %d: %d vs %d\n", i, ref[i], hist[i]); }
    printf("bad=%d nz0=%d\n%s\n", bad, ref[0], bad ? "FAIL" : "PASS");
    return bad != 0;
}
