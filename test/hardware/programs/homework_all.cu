/*
   CS 484 - Parallel Programming - all homeworks
   name: (removed)
   compile: nvcc homework_all.cu -o hw
   run:     ./hw        (runs hw1 to hw6 and says PASS at the end)
*/
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define BLOCK 16
#define TILE_WIDTH 16
#define MASK_WIDTH 5
#define NUM_BINS 256

/* macro from the lecture slides */
#define wbCheck(stmt)                                                     \
    do {                                                                  \
        cudaError_t err = stmt;                                           \
        if (err != cudaSuccess) {                                         \
            printf("Failed to run stmt %s: %s\n", #stmt, cudaGetErrorString(err)); \
            printf("FAIL\n");                                             \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

int total_errors = 0;

void report(const char *name, int errors, float ms)
{
    printf("%-28s %s  (%.3f ms)\n", name, errors == 0 ? "ok" : "WRONG", ms);
    total_errors += errors;
}

float randf(unsigned int *s)
{
    *s = *s * 1103515245u + 12345u;
    return (float)((*s >> 16) & 0x7fff) / 32768.0f;
}

/* ---------------- HW1: saxpy and vector add ---------------- */
__global__ void vecAdd(float *in1, float *in2, float *out, int len)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < len)
        out[i] = in1[i] + in2[i];
}

// part b: "each thread should process 4 elements". I first did consecutive elements
__global__ void vecAdd4(float *in1, float *in2, float *out, int len)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int k = 0; k < 4; k++)
        if (i + k < len)
            out[i + k] = in1[i + k] + in2[i + k];
}

void hw1()
{
    int n = 100003;
    unsigned int s = 1;
    float *a = (float *)malloc(n * sizeof(float)), *b = (float *)malloc(n * sizeof(float));
    float *c = (float *)malloc(n * sizeof(float)), *d = (float *)malloc(n * sizeof(float));
    for (int i = 0; i < n; i++) { a[i] = randf(&s); b[i] = randf(&s); }
    float *da, *db, *dc, *dd;
    wbCheck(cudaMalloc((void **)&da, n * sizeof(float)));
    wbCheck(cudaMalloc((void **)&db, n * sizeof(float)));
    wbCheck(cudaMalloc((void **)&dc, n * sizeof(float)));
    wbCheck(cudaMalloc((void **)&dd, n * sizeof(float)));
    wbCheck(cudaMemcpy(da, a, n * sizeof(float), cudaMemcpyHostToDevice));
    wbCheck(cudaMemcpy(db, b, n * sizeof(float), cudaMemcpyHostToDevice));
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0); cudaEventCreate(&t1);
    cudaEventRecord(t0, 0);
    vecAdd<<<ceil(n / 256.0), 256>>>(da, db, dc, n);
    vecAdd4<<<ceil(n / 1024.0), 256>>>(da, db, dd, n);
    cudaEventRecord(t1, 0);
    wbCheck(cudaEventSynchronize(t1));
    float ms;
    cudaEventElapsedTime(&ms, t0, t1);
    wbCheck(cudaMemcpy(c, dc, n * sizeof(float), cudaMemcpyDeviceToHost));
    wbCheck(cudaMemcpy(d, dd, n * sizeof(float), cudaMemcpyDeviceToHost));
    int errors = 0;
    for (int i = 0; i < n; i++)
        if (c[i] != a[i] + b[i] || d[i] != c[i]) errors++;
    report("HW1 vector add", errors, ms);
    cudaEventDestroy(t0); cudaEventDestroy(t1);
    cudaFree(da); cudaFree(db); cudaFree(dc); cudaFree(dd);
    free(a); free(b); free(c); free(d);
}

/* ---------------- HW2: matrix multiply, basic and tiled ---------------- */
__global__ void matrixMultiply(float *A, float *B, float *C, int numARows, int numACols, int numBCols)
{
    // x and y the wrong way round cost me half of the points
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < numARows && col < numBCols) {
        float sum = 0;
        for (int k = 0; k < numACols; k++)
            sum += A[row * numACols + k] * B[k * numBCols + col];
        C[row * numBCols + col] = sum;
    }
}

__global__ void matrixMultiplyShared(float *A, float *B, float *C, int numARows, int numACols, int numBCols)
{
    __shared__ float ds_A[TILE_WIDTH][TILE_WIDTH];
    __shared__ float ds_B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int t = 0; t < (numACols - 1) / TILE_WIDTH + 1; t++) {
        if (row < numARows && t * TILE_WIDTH + tx < numACols)
            ds_A[ty][tx] = A[row * numACols + t * TILE_WIDTH + tx];
        else
            ds_A[ty][tx] = 0.0;
        if (t * TILE_WIDTH + ty < numACols && col < numBCols)
            ds_B[ty][tx] = B[(t * TILE_WIDTH + ty) * numBCols + col];
        else
            ds_B[ty][tx] = 0.0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            sum += ds_A[ty][k] * ds_B[k][tx];
        __syncthreads();
    }
    if (row < numARows && col < numBCols)
        C[row * numBCols + col] = sum;
}

void hw2()
{
    int m = 211, k = 173, n = 197;
    unsigned int s = 2;
    float *A = (float *)malloc(m * k * 4), *B = (float *)malloc(k * n * 4);
    float *C1 = (float *)malloc(m * n * 4), *C2 = (float *)malloc(m * n * 4);
    for (int i = 0; i < m * k; i++) A[i] = randf(&s) - 0.5f;
    for (int i = 0; i < k * n; i++) B[i] = randf(&s) - 0.5f;
    float *dA, *dB, *dC1, *dC2;
    wbCheck(cudaMalloc((void **)&dA, m * k * 4));
    wbCheck(cudaMalloc((void **)&dB, k * n * 4));
    wbCheck(cudaMalloc((void **)&dC1, m * n * 4));
    wbCheck(cudaMalloc((void **)&dC2, m * n * 4));
    wbCheck(cudaMemcpy(dA, A, m * k * 4, cudaMemcpyHostToDevice));
    wbCheck(cudaMemcpy(dB, B, k * n * 4, cudaMemcpyHostToDevice));
    dim3 block(BLOCK, BLOCK, 1);
    dim3 grid1((m - 1) / BLOCK + 1, (n - 1) / BLOCK + 1, 1);
    dim3 grid2((n - 1) / TILE_WIDTH + 1, (m - 1) / TILE_WIDTH + 1, 1);
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0); cudaEventCreate(&t1);
    cudaEventRecord(t0, 0);
    matrixMultiply<<<grid1, block>>>(dA, dB, dC1, m, k, n);
    matrixMultiplyShared<<<grid2, block>>>(dA, dB, dC2, m, k, n);
    cudaEventRecord(t1, 0);
    wbCheck(cudaEventSynchronize(t1));
    float ms;
    cudaEventElapsedTime(&ms, t0, t1);
    wbCheck(cudaMemcpy(C1, dC1, m * n * 4, cudaMemcpyDeviceToHost));
    wbCheck(cudaMemcpy(C2, dC2, m * n * 4, cudaMemcpyDeviceToHost));
    int errors = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float r = 0;
            for (int q = 0; q < k; q++) r += A[i * k + q] * B[q * n + j];
            if (fabs(r - C1[i * n + j]) > 1e-3 || fabs(r - C2[i * n + j]) > 1e-3) errors++;
        }
    report("HW2 matrix multiply", errors, ms);
    cudaEventDestroy(t0); cudaEventDestroy(t1);
    cudaFree(dA); cudaFree(dB); cudaFree(dC1); cudaFree(dC2);
    free(A); free(B); free(C1); free(C2);
}

/* ---------------- HW3: image convolution on RGB ---------------- */
__constant__ float M[MASK_WIDTH * MASK_WIDTH];
#define O_TILE 12
#define W (O_TILE + MASK_WIDTH - 1)

__global__ void convolution(float *I, float *P, int channels, int width, int height)
{
    __shared__ float Ns[W][W];
    int radius = MASK_WIDTH / 2;
    for (int c = 0; c < channels; c++) {
        int xo = blockIdx.x * O_TILE + threadIdx.x, yo = blockIdx.y * O_TILE + threadIdx.y;
        int xi = xo - radius, yi = yo - radius;
        if (xi >= 0 && xi < width && yi >= 0 && yi < height)
            Ns[threadIdx.y][threadIdx.x] = I[(yi * width + xi) * channels + c];
        else
            Ns[threadIdx.y][threadIdx.x] = 0;
        __syncthreads();
        if (threadIdx.x < O_TILE && threadIdx.y < O_TILE && xo < width && yo < height) {
            float accum = 0;
            for (int y = 0; y < MASK_WIDTH; y++)
                for (int x = 0; x < MASK_WIDTH; x++)
                    accum += Ns[threadIdx.y + y][threadIdx.x + x] * M[y * MASK_WIDTH + x];
            P[(yo * width + xo) * channels + c] = fminf(fmaxf(accum, 0.0f), 1.0f);
        }
        __syncthreads();
    }
}

void hw3()
{
    int w = 250, h = 187, ch = 3;
    unsigned int s = 3;
    float mask[MASK_WIDTH * MASK_WIDTH];
    for (int i = 0; i < MASK_WIDTH * MASK_WIDTH; i++) mask[i] = (randf(&s) - 0.2f) / 12;
    float *img = (float *)malloc(w * h * ch * 4), *out = (float *)malloc(w * h * ch * 4);
    for (int i = 0; i < w * h * ch; i++) img[i] = randf(&s);
    float *dI, *dP;
    wbCheck(cudaMalloc((void **)&dI, w * h * ch * 4));
    wbCheck(cudaMalloc((void **)&dP, w * h * ch * 4));
    wbCheck(cudaMemcpy(dI, img, w * h * ch * 4, cudaMemcpyHostToDevice));
    wbCheck(cudaMemcpyToSymbol(M, mask, sizeof(mask)));
    dim3 block(W, W), grid((w - 1) / O_TILE + 1, (h - 1) / O_TILE + 1);
    convolution<<<grid, block>>>(dI, dP, ch, w, h);
    wbCheck(cudaGetLastError());
    wbCheck(cudaMemcpy(out, dP, w * h * ch * 4, cudaMemcpyDeviceToHost));
    int errors = 0;
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) for (int c = 0; c < ch; c++) {
        float r = 0;
        for (int j = -2; j <= 2; j++) for (int i = -2; i <= 2; i++)
            if (y + j >= 0 && y + j < h && x + i >= 0 && x + i < w)
                r += img[((y + j) * w + x + i) * ch + c] * mask[(j + 2) * MASK_WIDTH + i + 2];
        r = r < 0 ? 0 : (r > 1 ? 1 : r);
        if (fabs(r - out[(y * w + x) * ch + c]) > 1e-3) errors++;
    }
    report("HW3 convolution", errors, 0);
    cudaFree(dI); cudaFree(dP); free(img); free(out);
}

/* ---------------- HW4: reduction, three versions ---------------- */
__global__ void reduce0(float *in, float *out, int n)      // divergent
{
    __shared__ float sdata[256];
    int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce1(float *in, float *out, int n)      // bank conflicts
{
    __shared__ float sdata[256];
    int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int index = 2 * s * tid;
        if (index < blockDim.x) sdata[index] += sdata[index + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce2(float *in, float *out, int n)      // sequential addressing, two loads
{
    __shared__ float sdata[256];
    int tid = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    float v = 0;
    if (i < n) v = in[i];
    if (i + blockDim.x < n) v += in[i + blockDim.x];
    sdata[tid] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

void hw4()
{
    int n = 123457;
    unsigned int s = 4;
    float *a, *part;                                 // managed, because the TA said it is easier
    wbCheck(cudaMallocManaged((void **)&a, n * sizeof(float)));
    wbCheck(cudaMallocManaged((void **)&part, 1024 * sizeof(float)));
    double ref = 0;
    for (int i = 0; i < n; i++) { a[i] = randf(&s); ref += a[i]; }
    int errors = 0;
    for (int v = 0; v < 3; v++) {
        int per = v == 2 ? 512 : 256;
        int blocks = (n + per - 1) / per;
        if (v == 0) reduce0<<<blocks, 256>>>(a, part, n);
        if (v == 1) reduce1<<<blocks, 256>>>(a, part, n);
        if (v == 2) reduce2<<<blocks, 256>>>(a, part, n);
        wbCheck(cudaDeviceSynchronize());
        double sum = 0;
        for (int b = 0; b < blocks; b++) sum += part[b];
        if (fabs(sum - ref) > 1e-4 * ref) errors++;
    }
    report("HW4 reduction", errors, 0);
    cudaFree(a); cudaFree(part);
}

/* ---------------- HW5: scan (Brent-Kung) ---------------- */
#define SECTION 512
__global__ void scanBlock(int *in, int *out, int *sums, int n)
{
    __shared__ int T[2 * SECTION];
    int start = 2 * blockIdx.x * SECTION, t = threadIdx.x;
    T[t] = start + t < n ? in[start + t] : 0;
    T[t + SECTION] = start + t + SECTION < n ? in[start + t + SECTION] : 0;
    for (int stride = 1; stride < 2 * SECTION; stride *= 2) {
        __syncthreads();
        int index = (t + 1) * stride * 2 - 1;
        if (index < 2 * SECTION) T[index] += T[index - stride];
    }
    for (int stride = SECTION / 2; stride > 0; stride /= 2) {
        __syncthreads();
        int index = (t + 1) * stride * 2 - 1;
        if (index + stride < 2 * SECTION) T[index + stride] += T[index];
    }
    __syncthreads();
    if (start + t < n) out[start + t] = T[t];
    if (start + t + SECTION < n) out[start + t + SECTION] = T[t + SECTION];
    if (sums != NULL && t == 0) sums[blockIdx.x] = T[2 * SECTION - 1];
}

__global__ void addSums(int *out, int *sums, int n)
{
    int i = blockIdx.x * 2 * SECTION + threadIdx.x;
    if (blockIdx.x == 0) return;
    if (i < n) out[i] += sums[blockIdx.x - 1];
    if (i + SECTION < n) out[i + SECTION] += sums[blockIdx.x - 1];
}

void hw5()
{
    int n = 200500, blocks = (n - 1) / (2 * SECTION) + 1;
    int *h = (int *)malloc(n * 4), *r = (int *)malloc(n * 4);
    for (int i = 0; i < n; i++) h[i] = (i * 7) % 13 - 3;
    int *din, *dout, *dsum, *dsum2;
    wbCheck(cudaMalloc((void **)&din, n * 4));
    wbCheck(cudaMalloc((void **)&dout, n * 4));
    wbCheck(cudaMalloc((void **)&dsum, blocks * 4));
    wbCheck(cudaMalloc((void **)&dsum2, blocks * 4));
    wbCheck(cudaMemcpy(din, h, n * 4, cudaMemcpyHostToDevice));
    scanBlock<<<blocks, SECTION>>>(din, dout, dsum, n);
    scanBlock<<<1, SECTION>>>(dsum, dsum2, (int *)NULL, blocks);
    addSums<<<blocks, SECTION>>>(dout, dsum2, n);
    wbCheck(cudaGetLastError());
    wbCheck(cudaMemcpy(r, dout, n * 4, cudaMemcpyDeviceToHost));
    int errors = 0, sum = 0;
    for (int i = 0; i < n; i++) { sum += h[i]; if (r[i] != sum) errors++; }
    report("HW5 scan", errors, 0);
    cudaFree(din); cudaFree(dout); cudaFree(dsum); cudaFree(dsum2); free(h); free(r);
}

/* ---------------- HW6: histogram equalization ---------------- */
__global__ void rgb2gray(unsigned char *rgb, unsigned char *gray, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        int idx = y * width + x;
        unsigned char r = rgb[3 * idx], g = rgb[3 * idx + 1], b = rgb[3 * idx + 2];
        gray[idx] = (unsigned char)((21 * r + 71 * g + 8 * b) / 100);
    }
}

__global__ void histoGlobal(unsigned char *buf, int size, unsigned int *histo)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < size) { atomicAdd(&histo[buf[i]], 1); i += stride; }
}

__global__ void histoShared(unsigned char *buf, int size, unsigned int *histo)
{
    __shared__ unsigned int priv[NUM_BINS];
    if (threadIdx.x < NUM_BINS) priv[threadIdx.x] = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    while (i < size) { atomicAdd(&priv[buf[i]], 1); i += blockDim.x * gridDim.x; }
    __syncthreads();
    if (threadIdx.x < NUM_BINS) atomicAdd(&histo[threadIdx.x], priv[threadIdx.x]);
}

void hw6()
{
    int w = 421, h = 283, n = w * h;
    unsigned char *rgb = (unsigned char *)malloc(3 * n);
    unsigned int s = 6;
    for (int i = 0; i < 3 * n; i++) rgb[i] = (unsigned char)(255 * randf(&s) * randf(&s));
    unsigned char *d_rgb, *d_gray;
    unsigned int *d_h, hist[2][NUM_BINS], ref[NUM_BINS] = {0};
    wbCheck(cudaMalloc((void **)&d_rgb, 3 * n));
    wbCheck(cudaMalloc((void **)&d_gray, n));
    wbCheck(cudaMalloc((void **)&d_h, 2 * NUM_BINS * sizeof(unsigned int)));
    wbCheck(cudaMemset(d_h, 0, 2 * NUM_BINS * sizeof(unsigned int)));
    wbCheck(cudaMemcpy(d_rgb, rgb, 3 * n, cudaMemcpyHostToDevice));
    rgb2gray<<<dim3((w - 1) / 16 + 1, (h - 1) / 16 + 1), dim3(16, 16)>>>(d_rgb, d_gray, w, h);
    histoGlobal<<<60, 256>>>(d_gray, n, d_h);
    histoShared<<<60, 256>>>(d_gray, n, d_h + NUM_BINS);
    wbCheck(cudaGetLastError());
    wbCheck(cudaMemcpy(hist, d_h, sizeof(hist), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) ref[(21 * rgb[3 * i] + 71 * rgb[3 * i + 1] + 8 * rgb[3 * i + 2]) / 100]++;
    int errors = 0;
    for (int b = 0; b < NUM_BINS; b++) if (hist[0][b] != ref[b] || hist[1][b] != ref[b]) errors++;
    report("HW6 histogram", errors, 0);
    cudaFree(d_rgb); cudaFree(d_gray); cudaFree(d_h); free(rgb);
}

int main(int argc, char **argv)
{
    hw1();
    hw2();
    hw3();
    hw4();
    hw5();
    hw6();
    wbCheck(cudaDeviceReset());
    if (total_errors) printf("FAIL\n");
    else printf("PASS\n");
    return total_errors ? 1 : 0;
}
