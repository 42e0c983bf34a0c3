/*
 * CS 5220 - Homework 3: "Ten small kernels"
 * Every kernel is checked against a plain loop on the CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cuda_runtime.h>

#define N      (1 << 20)
#define WIDTH  1024
#define HEIGHT 768
#define MSIZE  256
#define TILE   16
#define TDIM   32
#define NBINS  64
#define SCAN_N 1024

#define CHECK(call)                                                     \
    do {                                                                \
        cudaError_t err_ = (call);                                      \
        if (err_ != cudaSuccess) {                                      \
            printf("line %d: %s\n", __LINE__, cudaGetErrorString(err_)); \
            exit(2);                                                    \
        }                                                               \
    } while (0)

/* 1. c = a + b */
__global__ void vecAdd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

/* 2. saxpy where every thread does 4 neighbours (my first try) */
__global__ void saxpyChunk(float alpha, const float *x, float *y, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int start = t * 4;
    for (int k = 0; k < 4; k++) {
        int i = start + k;
        if (i < n) {
            y[i] = alpha * x[i] + y[i];
        }
    }
}

/* 3. copy with stride */
__global__ void stridedCopy(const float *in, float *out, int n, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i * stride < n) {
        out[i] = in[i * stride];
    }
}

/* 4. transpose without shared memory */
__global__ void transposeNaive(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * TDIM + threadIdx.x;
    int y = blockIdx.y * TDIM + threadIdx.y;
    if (x < w && y < h) {
        out[x * h + y] = in[y * w + x];
    }
}

/* 5. transpose with shared memory, no padding */
__global__ void transposeShared(const float *in, float *out, int w, int h)
{
    __shared__ float tile[TDIM][TDIM];
    int x = blockIdx.x * TDIM + threadIdx.x;
    int y = blockIdx.y * TDIM + threadIdx.y;
    if (x < w && y < h) {
        tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    }
    __syncthreads();
    int ox = blockIdx.y * TDIM + threadIdx.x;
    int oy = blockIdx.x * TDIM + threadIdx.y;
    if (ox < h && oy < w) {
        out[oy * h + ox] = tile[threadIdx.x][threadIdx.y];
    }
}

/* 6. transpose with the +1 trick from the lecture */
__global__ void transposePadded(const float *in, float *out, int w, int h)
{
    __shared__ float tile[TDIM][TDIM + 1];
    int x = blockIdx.x * TDIM + threadIdx.x;
    int y = blockIdx.y * TDIM + threadIdx.y;
    if (x < w && y < h) {
        tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    }
    __syncthreads();
    int ox = blockIdx.y * TDIM + threadIdx.x;
    int oy = blockIdx.x * TDIM + threadIdx.y;
    if (ox < h && oy < w) {
        out[oy * h + ox] = tile[threadIdx.x][threadIdx.y];
    }
}

/* 7. sum of one block, interleaved addressing */
__global__ void blockSum(const float *in, float *partial, int n)
{
    __shared__ float s[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    s[tid] = (i < n) ? in[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int idx = 2 * d * tid;
        if (idx + d < blockDim.x) {
            s[idx] += s[idx + d];
        }
        __syncthreads();
    }
    if (tid == 0) {
        partial[blockIdx.x] = s[0];
    }
}

/* 8. histogram: global atomics */
__global__ void histogram(const unsigned char *data, unsigned int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int step = blockDim.x * gridDim.x;
    while (i < n) {
        atomicAdd(&bins[data[i] % NBINS], 1u);
        i += step;
    }
}

/* 9. Hillis-Steele inclusive scan, one block per row */
__global__ void scanRows(const int *in, int *out)
{
    __shared__ int buf[2][SCAN_N];
    int tid = threadIdx.x;
    int src = 0;
    int dst = 1;
    buf[src][tid] = in[blockIdx.x * SCAN_N + tid];
    __syncthreads();
    for (int off = 1; off < SCAN_N; off <<= 1) {
        if (tid >= off) {
            buf[dst][tid] = buf[src][tid] + buf[src][tid - off];
        } else {
            buf[dst][tid] = buf[src][tid];
        }
        __syncthreads();
        int tmp = src;
        src = dst;
        dst = tmp;
    }
    out[blockIdx.x * SCAN_N + tid] = buf[src][tid];
}

/* 10a. tiled matmul */
__global__ void matmulTiled(const float *A, const float *B, float *C, int n)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    for (int t = 0; t < n / TILE; t++) {
        As[threadIdx.y][threadIdx.x] = A[row * n + t * TILE + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        }
        __syncthreads();
    }
    C[row * n + col] = acc;
}

/* 10b. 3 tap stencil */
__global__ void stencil3(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) {
        out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
    }
}

static int failures = 0;

static void report(const char *name, int ok)
{
    printf("%-18s %s\n", name, ok ? "ok" : "WRONG");
    if (!ok) {
        failures++;
    }
}

static int same(const float *a, const float *b, int n, float tol)
{
    for (int i = 0; i < n; i++) {
        if (fabsf(a[i] - b[i]) > tol) {
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    size_t bytes = N * sizeof(float);
    float *a = (float *)malloc(bytes);
    float *b = (float *)malloc(bytes);
    float *c = (float *)malloc(bytes);
    float *ref = (float *)malloc(bytes);
    unsigned char *bytesIn = (unsigned char *)malloc(N);
    unsigned int seed = 12345;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        a[i] = (float)(seed >> 16) / 65536.0f;
        seed = seed * 1664525u + 1013904223u;
        b[i] = (float)(seed >> 16) / 65536.0f;
        bytesIn[i] = (unsigned char)(seed >> 20);
    }

    float *da, *db, *dc;
    CHECK(cudaMalloc(&da, bytes));
    CHECK(cudaMalloc(&db, bytes));
    CHECK(cudaMalloc(&dc, bytes));
    CHECK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));

    int threads = 256;
    int blocks = (N + threads - 1) / threads;

    vecAdd<<<blocks, threads>>>(da, db, dc, N);
    CHECK(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) ref[i] = a[i] + b[i];
    report("vecAdd", same(c, ref, N, 1e-6f));

    CHECK(cudaMemcpy(dc, b, bytes, cudaMemcpyHostToDevice));
    saxpyChunk<<<blocks / 4, threads>>>(2.5f, da, dc, N);
    CHECK(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) ref[i] = 2.5f * a[i] + b[i];
    report("saxpyChunk", same(c, ref, N, 1e-5f));

    int stride = 7;
    int outN = (N + stride - 1) / stride;
    stridedCopy<<<(outN + threads - 1) / threads, threads>>>(da, dc, N, stride);
    CHECK(cudaMemcpy(c, dc, outN * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < outN; i++) ref[i] = a[i * stride];
    report("stridedCopy", same(c, ref, outN, 0.0f));

    dim3 tb(TDIM, TDIM);
    dim3 tg((WIDTH + TDIM - 1) / TDIM, (HEIGHT + TDIM - 1) / TDIM);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            ref[x * HEIGHT + y] = a[y * WIDTH + x];
        }
    }
    for (int version = 0; version < 3; version++) {
        CHECK(cudaMemset(dc, 0, bytes));
        if (version == 0) transposeNaive<<<tg, tb>>>(da, dc, WIDTH, HEIGHT);
        if (version == 1) transposeShared<<<tg, tb>>>(da, dc, WIDTH, HEIGHT);
        if (version == 2) transposePadded<<<tg, tb>>>(da, dc, WIDTH, HEIGHT);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(c, dc, WIDTH * HEIGHT * sizeof(float), cudaMemcpyDeviceToHost));
        report("transpose", same(c, ref, WIDTH * HEIGHT, 0.0f));
    }

    blockSum<<<blocks, threads>>>(da, dc, N);
    CHECK(cudaMemcpy(c, dc, blocks * sizeof(float), cudaMemcpyDeviceToHost));
    double gpuSum = 0.0, cpuSum = 0.0;
    for (int i = 0; i < blocks; i++) gpuSum += c[i];
    for (int i = 0; i < N; i++) cpuSum += a[i];
    report("blockSum", fabs(gpuSum - cpuSum) < 1e-5 * cpuSum);

    unsigned char *dBytes;
    unsigned int *dBins;
    unsigned int bins[NBINS], refBins[NBINS];
    CHECK(cudaMalloc(&dBytes, N));
    CHECK(cudaMalloc(&dBins, sizeof(bins)));
    CHECK(cudaMemcpy(dBytes, bytesIn, N, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dBins, 0, sizeof(bins)));
    histogram<<<264, threads>>>(dBytes, dBins, N);
    CHECK(cudaMemcpy(bins, dBins, sizeof(bins), cudaMemcpyDeviceToHost));
    memset(refBins, 0, sizeof(refBins));
    for (int i = 0; i < N; i++) refBins[bytesIn[i] % NBINS]++;
    report("histogram", memcmp(bins, refBins, sizeof(bins)) == 0);

    int *hi = (int *)malloc(N * sizeof(int));
    int *ho = (int *)malloc(N * sizeof(int));
    for (int i = 0; i < N; i++) hi[i] = bytesIn[i] - 100;
    CHECK(cudaMemcpy(db, hi, N * sizeof(int), cudaMemcpyHostToDevice));
    scanRows<<<N / SCAN_N, SCAN_N>>>((int *)db, (int *)dc);
    CHECK(cudaMemcpy(ho, dc, N * sizeof(int), cudaMemcpyDeviceToHost));
    int ok = 1;
    for (int r = 0; r < N / SCAN_N; r++) {
        int run = 0;
        for (int i = 0; i < SCAN_N; i++) {
            run += hi[r * SCAN_N + i];
            if (ho[r * SCAN_N + i] != run) ok = 0;
        }
    }
    report("scanRows", ok);

    CHECK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
    matmulTiled<<<dim3(MSIZE / TILE, MSIZE / TILE), dim3(TILE, TILE)>>>(da, db, dc, MSIZE);
    CHECK(cudaMemcpy(c, dc, MSIZE * MSIZE * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < MSIZE; i++) {
        for (int j = 0; j < MSIZE; j++) {
            float s = 0.0f;
            for (int k = 0; k < MSIZE; k++) s += a[i * MSIZE + k] * b[k * MSIZE + j];
            ref[i * MSIZE + j] = s;
        }
    }
    report("matmulTiled", same(c, ref, MSIZE * MSIZE, 1e-2f));

    stencil3<<<blocks, threads>>>(da, dc, N);
    CHECK(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
    for (int i = 1; i < N - 1; i++) ref[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
    report("stencil3", same(c + 1, ref + 1, N - 2, 1e-5f));

    printf("%s\n", failures == 0 ? "PASS" : "FAIL");
    return failures == 0 ? 0 : 1;
}
