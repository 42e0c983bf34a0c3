/*
 * COMP 4510 - GPU Programming, Homework 4
 * Image smoothing (direct and separable) + histogram equalization
 *
 * Compile:  nvcc -O3 -arch=sm_90 hw4_separable_conv.cu -o hw4
 * Run:      ./hw4 [width height]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

#define R      4
#define KLEN   (2 * R + 1)
#define TX     16
#define TY     16
#define NBINS  256

__constant__ float d_filter[KLEN];

static void check(cudaError_t e, const char *what, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
        exit(1);
    }
}
#define CHECK(x) check((x), #x, __LINE__)

__host__ __device__ static int clampi(int v, int lo, int hi)
{
    return v < lo ? lo : (v > hi ? hi : v);
}

/* Part A: the obvious version, 81 global loads per pixel */
__global__ void conv2d_naive(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int dx, dy;
    float sum = 0.0f;

    if (x >= w || y >= h)
        return;
    for (dy = -R; dy <= R; dy++)
        for (dx = -R; dx <= R; dx++)
            sum += d_filter[dy + R] * d_filter[dx + R] *
                   in[clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)];
    out[y * w + x] = sum;
}

/* Part B: horizontal pass with a shared tile */
__global__ void conv_rows(const float *in, float *out, int w, int h)
{
    __shared__ float tile[TY][TX + 2 * R];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TX + tx;
    int y = blockIdx.y * TY + ty;
    int yy = clampi(y, 0, h - 1);
    int k;

    tile[ty][tx + R] = in[yy * w + clampi(x, 0, w - 1)];
    if (tx < R) {
        tile[ty][tx] = in[yy * w + clampi(x - R, 0, w - 1)];
        tile[ty][tx + TX + R] = in[yy * w + clampi(x + TX, 0, w - 1)];
    }
    __syncthreads();

    if (x < w && y < h) {
        float s = 0.0f;
        for (k = 0; k < KLEN; k++)
            s += d_filter[k] * tile[ty][tx + k];
        out[y * w + x] = s;
    }
}

/* Part C: vertical pass.  The tile is stored "on its side" so that each
 * thread convolves along a row of the shared array. */
__global__ void conv_cols(const float *in, float *out, int w, int h)
{
    __shared__ float tile[TX][TY + 2 * R];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TX + tx;
    int y = blockIdx.y * TY + ty;
    int xx = clampi(x, 0, w - 1);
    int k;

    tile[tx][ty + R] = in[clampi(y, 0, h - 1) * w + xx];
    if (ty < R) {
        tile[tx][ty] = in[clampi(y - R, 0, h - 1) * w + xx];
        tile[tx][ty + TY + R] = in[clampi(y + TY, 0, h - 1) * w + xx];
    }
    __syncthreads();

    if (x < w && y < h) {
        float s = 0.0f;
        for (k = 0; k < KLEN; k++)
            s += d_filter[k] * tile[tx][ty + k];
        out[y * w + x] = s;
    }
}

/* Part D: float image -> 8 bit */
__global__ void quantize(const float *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = in[i];
        if (v < 0.0f) v = 0.0f;
        if (v > 255.0f) v = 255.0f;
        out[i] = (unsigned char)(v + 0.5f > 255.0f ? 255.0f : v + 0.5f);
    }
}

/* Part E: privatized histogram */
__global__ void histogram(const unsigned char *img, unsigned int *hist, int n)
{
    __shared__ unsigned int bins[NBINS];
    int i;
    for (i = threadIdx.x; i < NBINS; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[img[i]], 1u);
    __syncthreads();
    for (i = threadIdx.x; i < NBINS; i += blockDim.x)
        if (bins[i] != 0)
            atomicAdd(&hist[i], bins[i]);
}

/* Part F: each thread rebuilds a bit of the CDF, then everybody maps pixels */
__global__ void equalize(const unsigned char *img, unsigned char *out,
                         const unsigned int *hist, int n)
{
    __shared__ unsigned int cdf[2][NBINS];
    int t = threadIdx.x, cur = 0, off, i;

    cdf[0][t] = hist[t];
    __syncthreads();
    for (off = 1; off < NBINS; off *= 2) {
        unsigned int v = cdf[cur][t];
        if (t >= off)
            v += cdf[cur][t - off];
        cdf[1 - cur][t] = v;
        cur = 1 - cur;
        __syncthreads();
    }
    for (i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long c = cdf[cur][img[i]];
        out[i] = (unsigned char)(c * 255ull / (unsigned int)n);
    }
}

static int compare(const char *name, const float *a, const float *b, int n, float tol)
{
    int i, bad = 0;
    for (i = 0; i < n; i++)
        if (fabsf(a[i] - b[i]) > tol)
            bad++;
    printf("%-12s mismatches: %d\n", name, bad);
    return bad;
}

int main(int argc, char **argv)
{
    int w = 701, h = 467, x, y, k, i, bad = 0;
    float hf[KLEN], sum = 0.0f;

    if (argc == 3) {
        w = atoi(argv[1]);
        h = atoi(argv[2]);
    }
    int n = w * h;

    for (k = 0; k < KLEN; k++) {
        hf[k] = expf(-(k - R) * (k - R) / (2.0f * 1.7f * 1.7f));
        sum += hf[k];
    }
    for (k = 0; k < KLEN; k++)
        hf[k] /= sum;

    float *img  = (float *)malloc(n * sizeof(float));
    float *tmp  = (float *)malloc(n * sizeof(float));
    float *ref  = (float *)malloc(n * sizeof(float));
    float *got  = (float *)malloc(n * sizeof(float));
    unsigned char *q  = (unsigned char *)malloc(n);
    unsigned char *eq = (unsigned char *)malloc(n);
    unsigned int hist[NBINS], hh[NBINS];

    srand(4510);
    for (y = 0; y < h; y++)
        for (x = 0; x < w; x++)
            img[y * w + x] = 90.0f + 60.0f * sinf(x * 0.031f) * cosf(y * 0.023f) + rand() % 40;

    /* CPU reference */
    for (y = 0; y < h; y++)
        for (x = 0; x < w; x++) {
            float s = 0.0f;
            for (k = -R; k <= R; k++)
                s += hf[k + R] * img[y * w + clampi(x + k, 0, w - 1)];
            tmp[y * w + x] = s;
        }
    for (y = 0; y < h; y++)
        for (x = 0; x < w; x++) {
            float s = 0.0f;
            for (k = -R; k <= R; k++)
                s += hf[k + R] * tmp[clampi(y + k, 0, h - 1) * w + x];
            ref[y * w + x] = s;
        }

    float *d_img, *d_tmp, *d_out;
    unsigned char *d_q, *d_eq;
    unsigned int *d_hist;
    CHECK(cudaMalloc((void **)&d_img, n * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_tmp, n * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_out, n * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_q, n));
    CHECK(cudaMalloc((void **)&d_eq, n));
    CHECK(cudaMalloc((void **)&d_hist, sizeof(hist)));
    CHECK(cudaMemcpyToSymbol(d_filter, hf, sizeof(hf)));
    CHECK(cudaMemcpy(d_img, img, n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_hist, 0, sizeof(hist)));

    dim3 block(TX, TY);
    dim3 grid((w + TX - 1) / TX, (h + TY - 1) / TY);

    conv2d_naive<<<grid, block>>>(d_img, d_out, w, h);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
    bad += compare("direct", got, ref, n, 1e-2f);

    conv_rows<<<grid, block>>>(d_img, d_tmp, w, h);
    CHECK(cudaGetLastError());
    conv_cols<<<grid, block>>>(d_tmp, d_out, w, h);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
    bad += compare("separable", got, ref, n, 1e-2f);

    quantize<<<(n + 255) / 256, 256>>>(d_out, d_q, n);
    CHECK(cudaGetLastError());
    histogram<<<24, 192>>>(d_q, d_hist, n);
    CHECK(cudaGetLastError());
    equalize<<<40, NBINS>>>(d_q, d_eq, d_hist, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(q, d_q, n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(eq, d_eq, n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hist, d_hist, sizeof(hist), cudaMemcpyDeviceToHost));

    memset(hh, 0, sizeof(hh));
    for (i = 0; i < n; i++) {
        if (fabsf((float)q[i] - ref[i]) > 0.6f)
            bad++;
        hh[q[i]]++;
    }
    for (i = 0; i < NBINS; i++)
        if (hh[i] != hist[i])
            bad++;
    for (i = 1; i < NBINS; i++)
        hh[i] += hh[i - 1];
    for (i = 0; i < n; i++)
        if (eq[i] != (unsigned char)((unsigned long long)hh[q[i]] * 255ull / (unsigned int)n))
            bad++;

    cudaFree(d_img); cudaFree(d_tmp); cudaFree(d_out);
    cudaFree(d_q); cudaFree(d_eq); cudaFree(d_hist);
    free(img); free(tmp); free(ref); free(got); free(q); free(eq);

    printf("%s\n", bad == 0 ? "PASS" : "FAIL");
    return bad == 0 ? 0 : 1;
}
