/*
 * hough_lines_ncc_template.cu -- course project, part 3
 * edges -> hough accumulator -> peaks, and NCC template matching
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cuda_runtime.h>

#define W 640
#define H 480
#define NTHETA 180
#define NRHO 1600
#define RHO0 800
#define TW 16
#define TH 16
#define DIVUP(a, b) (((a) + (b) - 1) / (b))
#define CUDA_OK(x) do { cudaError_t err = (x); if (err != cudaSuccess) { fprintf(stderr, "cuda: %s at line %d\n", cudaGetErrorString(err), __LINE__); exit(1); } } while (0)

typedef unsigned char uchar;

__constant__ float d_tmpl[TH * TW];
__constant__ float d_cos[NTHETA];
__constant__ float d_sin[NTHETA];

/* byte image -> edge map with integer sobel */
__global__ void sobel_edges(const uchar *img, uchar *edge, int thr)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    if (x == 0 || y == 0 || x == W - 1 || y == H - 1) {
        edge[y * W + x] = 0;
        return;
    }
    const uchar *p = img + y * W + x;
    int gx = p[-W + 1] + 2 * p[1] + p[W + 1] - p[-W - 1] - 2 * p[-1] - p[W - 1];
    int gy = p[W - 1] + 2 * p[W] + p[W + 1] - p[-W - 1] - 2 * p[-W] - p[-W + 1];
    edge[y * W + x] = (abs(gx) + abs(gy) > thr) ? 1 : 0;
}

/* compact edge pixels, one atomic per block */
__global__ void collect_edges(const uchar *edge, int2 *list, int *count)
{
    __shared__ int local_n;
    __shared__ int base;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) local_n = 0;
    __syncthreads();
    int mine = -1;
    if (i < W * H && edge[i])
        mine = atomicAdd(&local_n, 1);
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(count, local_n);
    __syncthreads();
    if (mine >= 0) {
        int2 e;
        e.x = i % W;
        e.y = i / W;
        list[base + mine] = e;
    }
}

/* one block per angle, whole rho line in shared memory */
__global__ void hough_vote(const int2 *list, const int *count, int *acc)
{
    __shared__ int line[NRHO];
    int theta = blockIdx.x;
    int n = *count;
    for (int r = threadIdx.x; r < NRHO; r += blockDim.x)
        line[r] = 0;
    __syncthreads();
    float c = d_cos[theta];
    float s = d_sin[theta];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int2 e = list[i];
        int rho = (int)floorf(__fadd_rn(__fmul_rn((float)e.x, c), __fmul_rn((float)e.y, s)) + 0.5f) + RHO0;
        if (rho >= 0 && rho < NRHO)
            atomicAdd(&line[rho], 1);
    }
    __syncthreads();
    /* stored rho-major so that a peak finder can go along theta */
    for (int r = threadIdx.x; r < NRHO; r += blockDim.x)
        acc[r * NTHETA + theta] = line[r];
}

__global__ void hough_max(const int *acc, unsigned long long *best)
{
    unsigned long long v = 0;
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NRHO * NTHETA; i += stride) {
        unsigned long long key = ((unsigned long long)acc[i] << 32) | (unsigned)i;
        if (key > v) v = key;
    }
    for (int o = 16; o; o >>= 1) {
        unsigned long long u = __shfl_down_sync(0xffffffffu, v, o);
        if (u > v) v = u;
    }
    if ((threadIdx.x & 31) == 0) atomicMax(best, v);
}

/* naive version: everything from global memory */
__global__ void ncc_naive(const uchar *img, float *score, float tnorm)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > W - TW || y > H - TH) return;
    float sum = 0.0f, sum2 = 0.0f, dot = 0.0f;
    for (int j = 0; j < TH; j++) {
        for (int i = 0; i < TW; i++) {
            float v = (float)img[(y + j) * W + x + i];
            sum += v;
            sum2 += v * v;
            dot += v * d_tmpl[j * TW + i];
        }
    }
    float var = sum2 - sum * sum / (TW * TH);
    score[y * W + x] = dot / sqrtf(var * tnorm + 1.0f);
}

/* tiled version, dynamic shared memory */
__global__ void ncc_tiled(const uchar *img, float *score, float tnorm)
{
    extern __shared__ float sm[];
    const int sw = blockDim.x + TW;
    const int sh = blockDim.y + TH;
    int bx = blockIdx.x * blockDim.x;
    int by = blockIdx.y * blockDim.y;
    for (int j = threadIdx.y; j < sh; j += blockDim.y) {
        for (int i = threadIdx.x; i < sw; i += blockDim.x) {
            int gx = min(bx + i, W - 1);
            int gy = min(by + j, H - 1);
            sm[j * sw + i] = (float)img[gy * W + gx];
        }
    }
    __syncthreads();
    int x = bx + threadIdx.x;
    int y = by + threadIdx.y;
    if (x > W - TW || y > H - TH) return;
    float sum = 0.0f, sum2 = 0.0f, dot = 0.0f;
    for (int j = 0; j < TH; j++) {
        const float *row = sm + (threadIdx.y + j) * sw + threadIdx.x;
        for (int i = 0; i < TW; i++) {
            float v = row[i];
            sum += v;
            sum2 += v * v;
            dot += v * d_tmpl[j * TW + i];
        }
    }
    float var = sum2 - sum * sum / (TW * TH);
    score[y * W + x] = dot / sqrtf(var * tnorm + 1.0f);
}

static unsigned lcg = 12345u;
static int rnd(void)
{
    lcg = lcg * 1664525u + 1013904223u;
    return (int)(lcg >> 16);
}

int main(void)
{
    static uchar img[W * H];
    static uchar edge_ref[W * H], edge_gpu[W * H];
    static int acc_ref[NRHO * NTHETA], acc_gpu[NRHO * NTHETA];
    static float sc1[W * H], sc2[W * H];
    float tmpl[TW * TH], hc[NTHETA], hs[NTHETA];
    int i, x, y, t, fail = 0;

    for (i = 0; i < W * H; i++) img[i] = (uchar)(60 + rnd() % 12);
    for (x = 20; x < 600; x++) {
        y = 60 + x / 2;
        for (t = 0; t < 4; t++) img[(y + t) * W + x] = 220;
    }
    for (y = 10; y < 470; y++) img[y * W + 333] = 250;
    for (y = 0; y < TH; y++)
        for (x = 0; x < TW; x++)
            img[(400 + y) * W + 100 + x] = (uchar)(40 + rnd() % 200);

    float mean = 0.0f, tnorm = 0.0f;
    for (y = 0; y < TH; y++)
        for (x = 0; x < TW; x++) {
            tmpl[y * TW + x] = img[(400 + y) * W + 100 + x];
            mean += tmpl[y * TW + x];
        }
    mean /= TW * TH;
    for (i = 0; i < TW * TH; i++) {
        tmpl[i] -= mean;
        tnorm += tmpl[i] * tmpl[i];
    }
    for (t = 0; t < NTHETA; t++) {
        hc[t] = (float)cos(t * M_PI / NTHETA);
        hs[t] = (float)sin(t * M_PI / NTHETA);
    }
    CUDA_OK(cudaMemcpyToSymbol(d_tmpl, tmpl, sizeof(tmpl)));
    CUDA_OK(cudaMemcpyToSymbol(d_cos, hc, sizeof(hc)));
    CUDA_OK(cudaMemcpyToSymbol(d_sin, hs, sizeof(hs)));

    uchar *d_img, *d_edge;
    int2 *d_list;
    int *d_count, *d_acc;
    float *d_s1, *d_s2;
    unsigned long long *d_best;
    CUDA_OK(cudaMalloc((void **)&d_img, W * H));
    CUDA_OK(cudaMalloc((void **)&d_edge, W * H));
    CUDA_OK(cudaMalloc((void **)&d_list, W * H * sizeof(int2)));
    CUDA_OK(cudaMalloc((void **)&d_count, sizeof(int)));
    CUDA_OK(cudaMalloc((void **)&d_acc, sizeof(acc_gpu)));
    CUDA_OK(cudaMalloc((void **)&d_s1, sizeof(sc1)));
    CUDA_OK(cudaMalloc((void **)&d_s2, sizeof(sc2)));
    CUDA_OK(cudaMalloc((void **)&d_best, 8));
    CUDA_OK(cudaMemcpy(d_img, img, W * H, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemset(d_count, 0, sizeof(int)));
    CUDA_OK(cudaMemset(d_best, 0, 8));
    CUDA_OK(cudaMemset(d_s1, 0, sizeof(sc1)));
    CUDA_OK(cudaMemset(d_s2, 0, sizeof(sc2)));

    dim3 blk(16, 16);
    dim3 grd(DIVUP(W, 16), DIVUP(H, 16));
    sobel_edges<<<grd, blk>>>(d_img, d_edge, 150);
    collect_edges<<<DIVUP(W * H, 256), 256>>>(d_edge, d_list, d_count);
    hough_vote<<<NTHETA, 256>>>(d_list, d_count, d_acc);
    hough_max<<<64, 256>>>(d_acc, d_best);
    ncc_naive<<<grd, blk>>>(d_img, d_s1, tnorm);
    dim3 blk2(32, 8);
    dim3 grd2(DIVUP(W, 32), DIVUP(H, 8));
    size_t shbytes = (32 + TW) * (8 + TH) * sizeof(float);
    ncc_tiled<<<grd2, blk2, shbytes>>>(d_img, d_s2, tnorm);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());

    unsigned long long best;
    CUDA_OK(cudaMemcpy(edge_gpu, d_edge, W * H, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(acc_gpu, d_acc, sizeof(acc_gpu), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(sc1, d_s1, sizeof(sc1), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(sc2, d_s2, sizeof(sc2), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(&best, d_best, 8, cudaMemcpyDeviceToHost));

    memset(edge_ref, 0, sizeof(edge_ref));
    for (y = 1; y < H - 1; y++)
        for (x = 1; x < W - 1; x++) {
            uchar *p = img + y * W + x;
            int gx = p[-W + 1] + 2 * p[1] + p[W + 1] - p[-W - 1] - 2 * p[-1] - p[W - 1];
            int gy = p[W - 1] + 2 * p[W] + p[W + 1] - p[-W - 1] - 2 * p[-W] - p[-W + 1];
            edge_ref[y * W + x] = (abs(gx) + abs(gy) > 150) ? 1 : 0;
        }
    if (memcmp(edge_ref, edge_gpu, W * H)) {
        printf("edge mismatch\n");
        fail = 1;
    }
    for (i = 0; i < W * H; i++) {
        if (!edge_ref[i]) continue;
        for (t = 0; t < NTHETA; t++) {
            volatile float a = (float)(i % W) * hc[t];
            volatile float b = (float)(i / W) * hs[t];
            volatile float s = a + b;
            int rho = (int)floorf(s + 0.5f) + RHO0;
            if (rho >= 0 && rho < NRHO) acc_ref[rho * NTHETA + t]++;
        }
    }
    long diff = 0;
    unsigned long long bref = 0;
    for (i = 0; i < NRHO * NTHETA; i++) {
        diff += labs((long)acc_ref[i] - acc_gpu[i]);
        unsigned long long k = ((unsigned long long)acc_gpu[i] << 32) | (unsigned)i;
        if (k > bref) bref = k;
    }
    if (diff > 8 || best != bref) {
        printf("hough mismatch %ld\n", diff);
        fail = 1;
    }
    int bx = 0, by = 0;
    float bs = -10.0f;
    for (y = 0; y <= H - TH; y++)
        for (x = 0; x <= W - TW; x++) {
            if (fabsf(sc1[y * W + x] - sc2[y * W + x]) > 2e-3f) fail = 1;
            if (sc2[y * W + x] > bs) {
                bs = sc2[y * W + x];
                bx = x;
                by = y;
            }
        }
    if (bx != 100 || by != 400 || fabsf(bs - 1.0f) > 1e-2f) {
        printf("template at %d %d score %f\n", bx, by, bs);
        fail = 1;
    }
    printf("peak votes %d\n%s\n", (int)(best >> 32), fail ? "FAIL" : "PASS");
    return fail;
}
