/* EE5322 assignment 2 - port four PolyBench programs to the GPU.
 * kernels: gemver, mvt, doitgen, gramschmidt.  One thread per output, no tuning yet
 * (that is assignment 3). Sizes are not powers of two on purpose. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define DATA_TYPE float
#define DIM_THREAD_BLOCK_X 256
#define DIM_THREAD_BLOCK_Y 1

#define N  700          /* gemver, mvt */
#define NR 20
#define NQ 24
#define NP 60           /* doitgen */
#define GM 150
#define GN 5            /* gramschmidt columns: one launch triple per column */

#define GPU_ARGC_CHECK(e) do { cudaError_t _e = (e); if (_e != cudaSuccess) { \
        fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(_e)); exit(2); } } while (0)

/* ---------------- gemver ---------------- */
__global__ void gemver_kernel1(int n, DATA_TYPE *a, DATA_TYPE *v1, DATA_TYPE *v2, DATA_TYPE *u1, DATA_TYPE *u2)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n)
        a[i * N + j] += u1[i] * v1[j] + u2[i] * v2[j];
}

__global__ void gemver_kernel2(int n, DATA_TYPE beta, DATA_TYPE *a, DATA_TYPE *x, DATA_TYPE *y, DATA_TYPE *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int j;
        for (j = 0; j < n; j++)
            x[i] += beta * a[j * N + i] * y[j];
        x[i] += z[i];
    }
}

__global__ void gemver_kernel3(int n, DATA_TYPE alpha, DATA_TYPE *a, DATA_TYPE *x, DATA_TYPE *w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int j;
        for (j = 0; j < n; j++)
            w[i] += alpha * a[i * N + j] * x[j];
    }
}

/* ---------------- mvt: the second one is my "try to be clever" version ---------------- */
__global__ void mvt_kernel1(int n, DATA_TYPE *a, DATA_TYPE *x1, DATA_TYPE *y_1)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int j;
        for (j = 0; j < n; j++)
            x1[i] += a[i * N + j] * y_1[j];
    }
}

/* the same as mvt_kernel1, but a 32x32 tile of A goes through shared memory first.
 * TA said: "look at how the threads read the tile back". Did not get to it. */
__global__ void mvt_kernel1_tiled(int n, const DATA_TYPE *a, DATA_TYPE *x1, const DATA_TYPE *y_1)
{
    __shared__ DATA_TYPE tile[32][32];
    __shared__ DATA_TYPE ys[32];
    int t = threadIdx.x;
    int row0 = blockIdx.x * 32;
    DATA_TYPE sum = 0;
    for (int c0 = 0; c0 < n; c0 += 32) {
        for (int r = 0; r < 32; r++)
            tile[r][t] = (row0 + r < n && c0 + t < n) ? a[(row0 + r) * N + c0 + t] : 0.0f;
        ys[t] = c0 + t < n ? y_1[c0 + t] : 0.0f;
        __syncthreads();
        for (int c = 0; c < 32; c++)
            sum += tile[t][c] * ys[c];
        __syncthreads();
    }
    if (row0 + t < n)
        x1[row0 + t] += sum;
}

__global__ void mvt_kernel2(int n, DATA_TYPE *a, DATA_TYPE *x2, DATA_TYPE *y_2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int j;
        for (j = 0; j < n; j++)
            x2[i] += a[j * N + i] * y_2[j];
    }
}

/* ---------------- doitgen: A[r][q][p] = sum_s A[r][q][s] * C4[s][p] ---------------- */
__global__ void doitgen_kernel1(int r, const DATA_TYPE *A, const DATA_TYPE *C4, DATA_TYPE *sum)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int q = blockIdx.y * blockDim.y + threadIdx.y;
    for (; r < NR; r++) {
        if (p < NP && q < NQ) {
            DATA_TYPE s_ = 0;
            for (int s = 0; s < NP; s++)
                s_ += A[r * (NQ * NP) + q * NP + s] * C4[s * NP + p];
            sum[r * (NQ * NP) + q * NP + p] = s_;
        }
    }
}

/* wrong way round: x runs over q */
__global__ void doitgen_kernel2(DATA_TYPE *A, const DATA_TYPE *sum)
{
    int q = threadIdx.x;
    int p = threadIdx.y + blockIdx.y * blockDim.y;
    int r = blockIdx.z;
    if (p < NP && q < NQ)
        A[r * (NQ * NP) + q * NP + p] = sum[r * (NQ * NP) + q * NP + p];
}

/* ---------------- gramschmidt ---------------- */
__global__ void gramschmidt_kernel1(DATA_TYPE *a, DATA_TYPE *r, int k)
{
    __shared__ DATA_TYPE part[128];
    DATA_TYPE nrm = 0.0;
    for (int i = threadIdx.x; i < GM; i += blockDim.x)
        nrm += a[i * GN + k] * a[i * GN + k];
    part[threadIdx.x] = nrm;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {           /* interleaved addressing from the lecture */
        int idx = 2 * s * threadIdx.x;
        if (idx < blockDim.x)
            part[idx] += part[idx + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        r[k * GN + k] = sqrtf(part[0]);
}

__global__ void gramschmidt_kernel2(DATA_TYPE *a, DATA_TYPE *r, DATA_TYPE *q, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < GM)
        q[i * GN + k] = a[i * GN + k] / r[k * GN + k];
}

__global__ void gramschmidt_kernel3(DATA_TYPE *a, DATA_TYPE *r, DATA_TYPE *q, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j > k && j < GN) {
        r[k * GN + j] = 0.0;
        int i;
        for (i = 0; i < GM; i++)
            r[k * GN + j] += q[i * GN + k] * a[i * GN + j];
        for (i = 0; i < GM; i++)
            a[i * GN + j] -= q[i * GN + k] * r[k * GN + j];
    }
}

/* ---------------- host ---------------- */
static DATA_TYPE *up(const DATA_TYPE *h, size_t n)
{
    DATA_TYPE *d;
    GPU_ARGC_CHECK(cudaMalloc((void **)&d, n * sizeof(DATA_TYPE)));
    GPU_ARGC_CHECK(cudaMemcpy(d, h, n * sizeof(DATA_TYPE), cudaMemcpyHostToDevice));
    return d;
}
static int differ(const char *nm, const DATA_TYPE *d, const double *ref, size_t n)
{
    DATA_TYPE *h = (DATA_TYPE *)malloc(n * sizeof(DATA_TYPE));
    size_t i, bad = 0;
    GPU_ARGC_CHECK(cudaMemcpy(h, d, n * sizeof(DATA_TYPE), cudaMemcpyDeviceToHost));
    for (i = 0; i < n; i++)
        if (!(fabs(h[i] - ref[i]) <= 2e-3 * (1.0 + fabs(ref[i])))) bad++;
    printf("%-12s non-matching: %zu\n", nm, bad);
    free(h);
    return bad != 0;
}

static DATA_TYPE A[N * N], u1[N], u2[N], v1[N], v2[N], y[N], z[N], zero[N];
static double rA[N * N], rx[N], rw[N];
static DATA_TYPE A3[NR * NQ * NP], C4[NP * NP];
static double rA3[NR * NQ * NP];
static DATA_TYPE ga[GM * GN], gz[GM * GN];
static double ra[GM * GN], rr[GN * GN], rq[GM * GN];

int main(void)
{
    int i, j, k, fail = 0;
    const DATA_TYPE alpha = 1.5f, beta = 1.2f;
    for (i = 0; i < N; i++) {
        u1[i] = (float)i / N; u2[i] = (i + 1) / (2.0f * N); v1[i] = (i + 1) / (4.0f * N);
        v2[i] = (i + 1) / (6.0f * N); y[i] = (i % 13 + 1) / 80.0f; z[i] = (i + 1) / (9.0f * N);
        for (j = 0; j < N; j++) A[i * N + j] = (float)((i * j) % 97) / 97.0f / 16;
    }
    dim3 block2(32, 8), grid2((N + 31) / 32, (N + 7) / 8);
    dim3 block1(DIM_THREAD_BLOCK_X, DIM_THREAD_BLOCK_Y), grid1((N + DIM_THREAD_BLOCK_X - 1) / DIM_THREAD_BLOCK_X, 1);
    DATA_TYPE *dA = up(A, N * N), *du1 = up(u1, N), *du2 = up(u2, N), *dv1 = up(v1, N), *dv2 = up(v2, N), *dy = up(y, N), *dz = up(z, N);
    DATA_TYPE *dx = up(zero, N), *dw = up(zero, N), *m1 = up(zero, N), *m2 = up(zero, N), *m1t = up(zero, N);
    gemver_kernel1<<<grid2, block2>>>(N, dA, dv1, dv2, du1, du2);
    gemver_kernel2<<<grid1, block1>>>(N, beta, dA, dx, dy, dz);
    gemver_kernel3<<<grid1, block1>>>(N, alpha, dA, dx, dw);
    mvt_kernel1<<<grid1, block1>>>(N, dA, m1, dy);
    mvt_kernel1_tiled<<<(N + 31) / 32, 32>>>(N, dA, m1t, dy);
    mvt_kernel2<<<grid1, block1>>>(N, dA, m2, dz);
    GPU_ARGC_CHECK(cudaDeviceSynchronize());
    for (i = 0; i < N; i++) for (j = 0; j < N; j++) rA[i * N + j] = A[i * N + j] + (double)u1[i] * v1[j] + (double)u2[i] * v2[j];
    for (i = 0; i < N; i++) { rx[i] = 0; for (j = 0; j < N; j++) rx[i] += beta * rA[j * N + i] * y[j]; rx[i] += z[i]; }
    for (i = 0; i < N; i++) { rw[i] = 0; for (j = 0; j < N; j++) rw[i] += alpha * rA[i * N + j] * rx[j]; }
    fail |= differ("gemver A", dA, rA, N * N);
    fail |= differ("gemver x", dx, rx, N);
    fail |= differ("gemver w", dw, rw, N);
    for (i = 0; i < N; i++) { rw[i] = 0; for (j = 0; j < N; j++) rw[i] += rA[i * N + j] * y[j]; }
    fail |= differ("mvt x1", m1, rw, N);
    fail |= differ("mvt x1 tile", m1t, rw, N);
    for (i = 0; i < N; i++) { rw[i] = 0; for (j = 0; j < N; j++) rw[i] += rA[j * N + i] * z[j]; }
    fail |= differ("mvt x2", m2, rw, N);

    /* doitgen */
    for (i = 0; i < NR * NQ * NP; i++) A3[i] = (float)((i * 7) % 31) / 31.0f;
    for (i = 0; i < NP * NP; i++) C4[i] = (float)((i * 5) % 29) / 29.0f - 0.5f;
    DATA_TYPE *dA3 = up(A3, NR * NQ * NP), *dC4 = up(C4, NP * NP), *dsum = up(A3, NR * NQ * NP);
    doitgen_kernel1<<<dim3((NP + 31) / 32, (NQ + 3) / 4), dim3(32, 4)>>>(0, dA3, dC4, dsum);
    doitgen_kernel2<<<dim3(1, (NP + 7) / 8, NR), dim3(NQ, 8)>>>(dA3, dsum);
    GPU_ARGC_CHECK(cudaDeviceSynchronize());
    for (i = 0; i < NR * NQ; i++) for (j = 0; j < NP; j++) {
        double s = 0;
        for (k = 0; k < NP; k++) s += (double)A3[i * NP + k] * C4[k * NP + j];
        rA3[i * NP + j] = s;
    }
    fail |= differ("doitgen", dA3, rA3, NR * NQ * NP);

    /* gramschmidt */
    for (i = 0; i < GM * GN; i++) { ga[i] = (float)((i * 37 + i / 7) % 101) / 101.0f + 0.1f; ra[i] = ga[i]; }
    DATA_TYPE *dga = up(ga, GM * GN), *dq = up(gz, GM * GN), *dr = up(gz, GN * GN);
    for (k = 0; k < GN; k++) {
        gramschmidt_kernel1<<<1, 128>>>(dga, dr, k);
        gramschmidt_kernel2<<<(GM + 63) / 64, 64>>>(dga, dr, dq, k);
        if (k + 1 < GN) gramschmidt_kernel3<<<1, 32>>>(dga, dr, dq, k);
    }
    GPU_ARGC_CHECK(cudaDeviceSynchronize());
    for (k = 0; k < GN; k++) {
        double nrm = 0;
        for (i = 0; i < GM; i++) nrm += ra[i * GN + k] * ra[i * GN + k];
        rr[k * GN + k] = sqrt(nrm);
        for (i = 0; i < GM; i++) rq[i * GN + k] = ra[i * GN + k] / rr[k * GN + k];
        for (j = k + 1; j < GN; j++) {
            double s = 0;
            for (i = 0; i < GM; i++) s += rq[i * GN + k] * ra[i * GN + j];
            rr[k * GN + j] = s;
            for (i = 0; i < GM; i++) ra[i * GN + j] -= rq[i * GN + k] * s;
        }
    }
    fail |= differ("gs Q", dq, rq, GM * GN);
    fail |= differ("gs R", dr, rr, GN * GN);
    printf("%s\n", fail ? "FAIL" : "PASS");
    return fail;
}
