/*
 * b01_spmv.cu - sparse matrix times vector: CSR (thread per row, warp per row)
 * and ELLPACK stored both ways round.  Plain C style.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NROWS   (1 << 17)
#define ELL_W   32
#define BLOCK   256
#define WARP    32
#define FULL    0xffffffffu
#define DIVUP(a, b) (((a) + (b) - 1) / (b))

#define CK(call)                                                              \
    do {                                                                      \
        cudaError_t e_ = (call);                                              \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                 \
                    cudaGetErrorString(e_));                                  \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

/* one thread walks one row; neighbours walk different rows */
__global__ void csr_scalar(int n, const int *rowptr, const int *col,
                           const float *val, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        float sum = 0.0f;
        int lo = rowptr[row];
        int hi = rowptr[row + 1];
        for (int j = lo; j < hi; j++)
            sum += val[j] * x[col[j]];
        y[row] = sum;
    }
}

/* one warp per row, lanes stride through the row */
__global__ void csr_vector(int n, const int *__restrict__ rowptr,
                           const int *__restrict__ col,
                           const float *__restrict__ val,
                           const float *__restrict__ x, float *__restrict__ y)
{
    int gtid = blockIdx.x * blockDim.x + threadIdx.x;
    int row  = gtid / WARP;
    int lane = threadIdx.x & (WARP - 1);
    if (row >= n)
        return;

    float sum = 0.0f;
    for (int j = rowptr[row] + lane; j < rowptr[row + 1]; j += WARP)
        sum += val[j] * __ldg(&x[col[j]]);

    for (int off = WARP / 2; off > 0; off >>= 1)
        sum += __shfl_down_sync(FULL, sum, off);
    if (lane == 0)
        y[row] = sum;
}

/* ELL, slot-major: slot k of all rows is contiguous */
__global__ void ell_colmajor(int n, int width, const int *__restrict__ col,
                             const float *__restrict__ val,
                             const float *__restrict__ x, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) {
        int c = col[k * n + row];
        if (c >= 0)
            sum += val[k * n + row] * x[c];
    }
    y[row] = sum;
}

/* ELL, row-major: the layout a CPU person would choose */
__global__ void ell_rowmajor(int n, int width, const int *__restrict__ col,
                             const float *__restrict__ val,
                             const float *__restrict__ x, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) {
        int c = col[row * width + k];
        if (c < 0)
            break;
        sum += val[row * width + k] * x[c];
    }
    y[row] = sum;
}

static unsigned rng_state = 20240607u;
static unsigned rng(void)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return rng_state >> 8;
}

static int compare(const char *name, const float *d_y, const float *ref, float *tmp)
{
    int bad = 0;
    CK(cudaMemcpy(tmp, d_y, NROWS * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < NROWS; i++)
        if (!(fabsf(tmp[i] - ref[i]) <= 1e-4f + 1e-4f * fabsf(ref[i])))
            bad++;
    printf("%-14s mismatches %d\n", name, bad);
    return bad;
}

int main(void)
{
    int *rowptr = (int *)malloc((NROWS + 1) * sizeof(int));
    rowptr[0] = 0;
    for (int i = 0; i < NROWS; i++) {
        int len = 4 + (int)(rng() % 21u);
        if (i % 97 == 0)
            len = ELL_W;
        rowptr[i + 1] = rowptr[i] + len;
    }
    int nnz = rowptr[NROWS];
    int   *col  = (int *)malloc(nnz * sizeof(int));
    float *val  = (float *)malloc(nnz * sizeof(float));
    size_t ell  = (size_t)NROWS * ELL_W;
    int   *ecm  = (int *)malloc(ell * sizeof(int));
    int   *erm  = (int *)malloc(ell * sizeof(int));
    float *vcm  = (float *)calloc(ell, sizeof(float));
    float *vrm  = (float *)calloc(ell, sizeof(float));
    float *x    = (float *)malloc(NROWS * sizeof(float));
    float *ref  = (float *)malloc(NROWS * sizeof(float));
    float *tmp  = (float *)malloc(NROWS * sizeof(float));

    for (size_t i = 0; i < ell; i++)
        ecm[i] = erm[i] = -1;
    for (int i = 0; i < NROWS; i++)
        x[i] = (float)(rng() % 1000u) / 1000.0f;
    for (int i = 0; i < NROWS; i++) {
        double s = 0.0;
        for (int j = rowptr[i]; j < rowptr[i + 1]; j++) {
            int k = j - rowptr[i];
            /* mostly banded, every fourth entry anywhere */
            int c = (k % 4 == 3) ? (int)(rng() % NROWS)
                                 : (int)((i + NROWS - 1024 + rng() % 2048u) % NROWS);
            float v = (float)(rng() % 2001u) / 1000.0f - 1.0f;
            col[j] = c;
            val[j] = v;
            ecm[(size_t)k * NROWS + i] = c;
            vcm[(size_t)k * NROWS + i] = v;
            erm[(size_t)i * ELL_W + k] = c;
            vrm[(size_t)i * ELL_W + k] = v;
            s += (double)v * x[c];
        }
        ref[i] = (float)s;
    }

    int *d_rowptr, *d_col, *d_ecm, *d_erm;
    float *d_val, *d_vcm, *d_vrm, *d_x, *d_y;
#define UP(dst, src, bytes)                                                   \
    CK(cudaMalloc((void **)&dst, bytes));                                     \
    CK(cudaMemcpy(dst, src, bytes, cudaMemcpyHostToDevice))
    UP(d_rowptr, rowptr, (NROWS + 1) * sizeof(int));
    UP(d_col, col, nnz * sizeof(int));
    UP(d_val, val, nnz * sizeof(float));
    UP(d_ecm, ecm, ell * sizeof(int));
    UP(d_erm, erm, ell * sizeof(int));
    UP(d_vcm, vcm, ell * sizeof(float));
    UP(d_vrm, vrm, ell * sizeof(float));
    UP(d_x, x, NROWS * sizeof(float));
    CK(cudaMalloc((void **)&d_y, NROWS * sizeof(float)));

    int bad = 0;
#define RUN(name, launch)                                                     \
    CK(cudaMemset(d_y, 0xff, NROWS * sizeof(float)));                         \
    launch;                                                                   \
    CK(cudaGetLastError());                                                   \
    bad += compare(name, d_y, ref, tmp)

    RUN("csr_scalar", (csr_scalar<<<DIVUP(NROWS, BLOCK), BLOCK>>>(NROWS, d_rowptr, d_col, d_val, d_x, d_y)));
    RUN("csr_vector", (csr_vector<<<DIVUP(NROWS * WARP, BLOCK), BLOCK>>>(NROWS, d_rowptr, d_col, d_val, d_x, d_y)));
    RUN("ell_colmajor", (ell_colmajor<<<DIVUP(NROWS, BLOCK), BLOCK>>>(NROWS, ELL_W, d_ecm, d_vcm, d_x, d_y)));
    RUN("ell_rowmajor", (ell_rowmajor<<<DIVUP(NROWS, BLOCK), BLOCK>>>(NROWS, ELL_W, d_erm, d_vrm, d_x, d_y)));

    cudaFree(d_rowptr); cudaFree(d_col); cudaFree(d_val);
    cudaFree(d_ecm); cudaFree(d_erm); cudaFree(d_vcm); cudaFree(d_vrm);
    cudaFree(d_x); cudaFree(d_y);
    free(rowptr); free(col); free(val); free(ecm); free(erm);
    free(vcm); free(vrm); free(x); free(ref); free(tmp);
    puts(bad ? "FAIL" : "PASS");
    return bad != 0;
}
