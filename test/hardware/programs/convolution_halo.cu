/* 2-D convolution, clamp-to-edge borders, single channel float image.
 *   conv_direct   - filter in constant memory, everything from global
 *   conv_tiled    - same filter, halo tile in shared memory
 *   sep_rows/cols - separable Gaussian, one pass per axis
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define IMG_W 1600
#define IMG_H 900

#define FR 2                       /* 2-D filter radius */
#define FD (2 * FR + 1)
#define SR 6                       /* separable radius  */
#define SD (2 * SR + 1)

#define TX 32
#define TY 8
#define ROWS_BX 64
#define ROWS_BY 4
#define ROWS_PER_THREAD 4
#define COLS_BX 16
#define COLS_BY 16
#define COLS_PER_THREAD 4

__constant__ float c_filter[FD * FD];
__constant__ float c_gauss[SD];

#define GPU_CHECK(stmt)                                                    \
    if ((stmt) != cudaSuccess) {                                           \
        fprintf(stderr, "CUDA failure at line %d: %s\n", __LINE__,         \
                cudaGetErrorString(cudaGetLastError()));                   \
        exit(1);                                                           \
    }

#define CLAMP(v, lo, hi) ((v) < (lo) ? (lo) : ((v) > (hi) ? (hi) : (v)))

__global__ void conv_direct(const float *src, float *dst, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;

    float acc = 0.0f;
    for (int j = -FR; j <= FR; ++j)
        for (int i = -FR; i <= FR; ++i) {
            int sx = CLAMP(x + i, 0, w - 1);
            int sy = CLAMP(y + j, 0, h - 1);
            acc += c_filter[(j + FR) * FD + (i + FR)] * src[sy * w + sx];
        }
    dst[y * w + x] = acc;
}

__global__ void conv_tiled(const float *__restrict__ src, float *__restrict__ dst,
                           int w, int h)
{
    __shared__ float tile[TY + 2 * FR][TX + 2 * FR];

    const int x0 = blockIdx.x * TX - FR;
    const int y0 = blockIdx.y * TY - FR;

    /* the block walks the (TX+2FR) x (TY+2FR) window as a flat list */
    for (int k = threadIdx.y * TX + threadIdx.x;
         k < (TX + 2 * FR) * (TY + 2 * FR); k += TX * TY) {
        int ty = k / (TX + 2 * FR);
        int tx = k % (TX + 2 * FR);
        int sx = CLAMP(x0 + tx, 0, w - 1);
        int sy = CLAMP(y0 + ty, 0, h - 1);
        tile[ty][tx] = src[sy * w + sx];
    }
    __syncthreads();

    const int x = blockIdx.x * TX + threadIdx.x;
    const int y = blockIdx.y * TY + threadIdx.y;
    if (x >= w || y >= h) return;

    float acc = 0.0f;
#pragma unroll
    for (int j = 0; j < FD; ++j)
#pragma unroll
        for (int i = 0; i < FD; ++i)
            acc += c_filter[j * FD + i] * tile[threadIdx.y + j][threadIdx.x + i];
    dst[y * w + x] = acc;
}

/* each thread makes ROWS_PER_THREAD neighbouring pixels of one row */
__global__ void sep_rows(const float *__restrict__ src, float *__restrict__ dst,
                         int w, int h)
{
    __shared__ float line[ROWS_BY][ROWS_BX * ROWS_PER_THREAD + 2 * SR];

    const int y  = blockIdx.y * ROWS_BY + threadIdx.y;
    const int x0 = blockIdx.x * ROWS_BX * ROWS_PER_THREAD;
    const int yc = CLAMP(y, 0, h - 1);

    for (int k = threadIdx.x; k < ROWS_BX * ROWS_PER_THREAD + 2 * SR; k += ROWS_BX) {
        int sx = CLAMP(x0 - SR + k, 0, w - 1);
        line[threadIdx.y][k] = src[yc * w + sx];
    }
    __syncthreads();
    if (y >= h) return;

    for (int p = 0; p < ROWS_PER_THREAD; ++p) {
        int lx = threadIdx.x * ROWS_PER_THREAD + p;   /* stride-4 per lane */
        if (x0 + lx >= w) break;
        float acc = 0.0f;
#pragma unroll
        for (int i = 0; i < SD; ++i)
            acc += c_gauss[i] * line[threadIdx.y][lx + i];
        dst[y * w + x0 + lx] = acc;
    }
}

/* each thread makes COLS_PER_THREAD pixels of one column, COLS_BY apart */
__global__ void sep_cols(const float *__restrict__ src, float *__restrict__ dst,
                         int w, int h)
{
    __shared__ float tile[COLS_BX][COLS_BY * COLS_PER_THREAD + 2 * SR];

    const int x  = blockIdx.x * COLS_BX + threadIdx.x;
    const int y0 = blockIdx.y * COLS_BY * COLS_PER_THREAD;
    const int xc = CLAMP(x, 0, w - 1);

    for (int k = threadIdx.y; k < COLS_BY * COLS_PER_THREAD + 2 * SR; k += COLS_BY) {
        int sy = CLAMP(y0 - SR + k, 0, h - 1);
        tile[threadIdx.x][k] = src[sy * w + xc];
    }
    __syncthreads();
    if (x >= w) return;

#pragma unroll
    for (int p = 0; p < COLS_PER_THREAD; ++p) {
        int ly = p * COLS_BY + threadIdx.y;
        if (y0 + ly < h) {
            float acc = 0.0f;
#pragma unroll
            for (int i = 0; i < SD; ++i)
                acc += c_gauss[i] * tile[threadIdx.x][ly + i];
            dst[(y0 + ly) * w + x] = acc;
        }
    }
}

static void cpu_conv(const float *src, float *dst, const float *f, int rx, int ry)
{
    for (int y = 0; y < IMG_H; ++y)
        for (int x = 0; x < IMG_W; ++x) {
            float acc = 0.0f;
            for (int j = -ry; j <= ry; ++j) {
                const float *row = src + CLAMP(y + j, 0, IMG_H - 1) * IMG_W;
                for (int i = -rx; i <= rx; ++i)
                    acc += f[(j + ry) * (2 * rx + 1) + i + rx] * row[CLAMP(x + i, 0, IMG_W - 1)];
            }
            dst[y * IMG_W + x] = acc;
        }
}

static int verify(const char *what, const float *dev, const float *ref, float *tmp)
{
    size_t n = (size_t)IMG_W * IMG_H;
    float worst = 0.0f;
    GPU_CHECK(cudaMemcpy(tmp, dev, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; ++i) {
        float d = fabsf(tmp[i] - ref[i]);
        if (!(d <= worst)) worst = d;
    }
    printf("%-12s max error %g\n", what, worst);
    return worst <= 1e-3f ? 0 : 1;
}

int main()
{
    const size_t n = (size_t)IMG_W * IMG_H, bytes = n * sizeof(float);
    float *img = (float *)malloc(bytes), *ref = (float *)malloc(bytes);
    float *mid = (float *)malloc(bytes), *tmp = (float *)malloc(bytes);
    float filt[FD * FD], gauss[SD], norm = 0.0f;

    srand(1234);
    for (size_t i = 0; i < n; ++i) img[i] = (float)(rand() & 255) / 255.0f;
    for (int i = 0; i < FD * FD; ++i) filt[i] = (float)((i * 7) % 11 - 5) * 0.1f;
    for (int i = 0; i < SD; ++i) norm += gauss[i] = expf(-(float)((i - SR) * (i - SR)) / 8.0f);
    for (int i = 0; i < SD; ++i) gauss[i] /= norm;

    float *d_src, *d_dst, *d_mid;
    GPU_CHECK(cudaMalloc(&d_src, bytes));
    GPU_CHECK(cudaMalloc(&d_dst, bytes));
    GPU_CHECK(cudaMalloc(&d_mid, bytes));
    GPU_CHECK(cudaMemcpy(d_src, img, bytes, cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpyToSymbol(c_filter, filt, sizeof(filt)));
    GPU_CHECK(cudaMemcpyToSymbol(c_gauss, gauss, sizeof(gauss)));

    int fails = 0;
    cpu_conv(img, ref, filt, FR, FR);
    dim3 square(16, 16), sgrid((IMG_W + 15) / 16, (IMG_H + 15) / 16);
    dim3 block(TX, TY), grid((IMG_W + TX - 1) / TX, (IMG_H + TY - 1) / TY);
    conv_direct<<<sgrid, square>>>(d_src, d_dst, IMG_W, IMG_H);
    GPU_CHECK(cudaGetLastError());
    fails += verify("direct", d_dst, ref, tmp);

    GPU_CHECK(cudaMemset(d_dst, 0, bytes));
    conv_tiled<<<grid, block>>>(d_src, d_dst, IMG_W, IMG_H);
    GPU_CHECK(cudaGetLastError());
    fails += verify("tiled", d_dst, ref, tmp);

    dim3 rblock(ROWS_BX, ROWS_BY), cblock(COLS_BX, COLS_BY);
    dim3 rgrid((IMG_W + ROWS_BX * ROWS_PER_THREAD - 1) / (ROWS_BX * ROWS_PER_THREAD), (IMG_H + ROWS_BY - 1) / ROWS_BY);
    dim3 cgrid((IMG_W + COLS_BX - 1) / COLS_BX, (IMG_H + COLS_BY * COLS_PER_THREAD - 1) / (COLS_BY * COLS_PER_THREAD));
    sep_rows<<<rgrid, rblock>>>(d_src, d_mid, IMG_W, IMG_H);
    sep_cols<<<cgrid, cblock>>>(d_mid, d_dst, IMG_W, IMG_H);
    GPU_CHECK(cudaGetLastError());
    cpu_conv(img, mid, gauss, SR, 0);
    cpu_conv(mid, ref, gauss, 0, SR);
    fails += verify("separable", d_dst, ref, tmp);

    cudaFree(d_src); cudaFree(d_dst); cudaFree(d_mid);
    printf("%s\n", fails ? "FAIL" : "PASS");
    return fails ? 1 : 0;
}
