/* Right-looking blocked Cholesky, lower triangle, column major like LAPACK.
 *   potrf_tile   factor the NB x NB diagonal tile in shared memory
 *   trsm_panel   solve X * L^T = B for the rows below it
 *   syrk_update  trailing matrix -= panel * panel^T  (lower tiles only)
 *   copy_lower   clean copy, zeros above the diagonal
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N    256
#define LDA  257            /* leading dimension, one more than needed */
#define NB   64
#define TS   32

#define A_(i, j) a[(i) + (size_t)(j) * LDA]

#define CHK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    fprintf(stderr, "CUDA %s at line %d\n", cudaGetErrorString(e_), __LINE__); exit(3); } } while (0)

__global__ void potrf_tile(float *a, int k)
{
    __shared__ float s[NB * (NB + 1)];
#define S_(i, j) s[(i) * (NB + 1) + (j)]
    int t = threadIdx.x;
    int j, c;

    for (j = 0; j < NB; j++)
        S_(t, j) = A_(k + t, k + j);
    __syncthreads();

    for (j = 0; j < NB; j++) {
        if (t == j)
            S_(j, j) = sqrtf(S_(j, j));
        __syncthreads();
        if (t > j)
            S_(t, j) /= S_(j, j);
        __syncthreads();
        if (t > j)
            for (c = j + 1; c <= t; c++)
                S_(t, c) -= S_(t, j) * S_(c, j);
        __syncthreads();
    }

    for (j = 0; j <= t; j++)
        A_(k + t, k + j) = S_(t, j);
#undef S_
}

__global__ void trsm_panel(float *a, int k)
{
    __shared__ float l[NB][NB];
    __shared__ float x[NB][NB];
    int t = threadIdx.x;
    int row = k + NB + blockIdx.x * NB + t;

    for (int j = 0; j < NB; j++) {
        l[j][t] = A_(k + t, k + j);     /* l[col][row] */
        x[t][j] = A_(row, k + j);
    }
    __syncthreads();

    for (int j = 0; j < NB; j++) {
        float sum = x[t][j];
        for (int c = 0; c < j; c++)
            sum -= x[t][c] * l[c][j];
        x[t][j] = sum / l[j][j];
    }
    for (int j = 0; j < NB; j++)
        A_(row, k + j) = x[t][j];
}

__global__ void syrk_update(float *a, int k)
{
    if (blockIdx.y > blockIdx.x)        /* x: tile row, y: tile column */
        return;
    __shared__ float pr[NB][TS];
    __shared__ float pc[NB][TS];

    int base = k + NB;
    int i0 = base + blockIdx.x * TS, j0 = base + blockIdx.y * TS;
    int tx = threadIdx.x, ty = threadIdx.y;
    int tid = ty * blockDim.x + tx;

    for (int q = tid; q < TS * NB; q += blockDim.x * blockDim.y) {
        int r = q % TS, c = q / TS;
        pr[c][r] = A_(i0 + r, k + c);
        pc[c][r] = A_(j0 + r, k + c);
    }
    __syncthreads();

    float c00 = 0, c01 = 0, c10 = 0, c11 = 0;
    for (int c = 0; c < NB; c++) {
        float r0 = pr[c][tx], r1 = pr[c][tx + 16];
        float q0 = pc[c][ty], q1 = pc[c][ty + 16];
        c00 += r0 * q0;
        c01 += r0 * q1;
        c10 += r1 * q0;
        c11 += r1 * q1;
    }
    int i = i0 + tx, j = j0 + ty;
    if (i >= j)           A_(i, j)           -= c00;
    if (i >= j + 16)      A_(i, j + 16)      -= c01;
    if (i + 16 >= j)      A_(i + 16, j)      -= c10;
    if (i + 16 >= j + 16) A_(i + 16, j + 16) -= c11;
}

__global__ void copy_lower(const float *a, float *out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < N && j < N)
        out[i * N + j] = (i >= j) ? A_(i, j) : 0.0f;
}

int main(void)
{
    size_t bytes = (size_t)LDA * N * sizeof(float);
    float *a = (float *)calloc((size_t)LDA * N, sizeof(float));
    double *ref = (double *)calloc((size_t)N * N, sizeof(double));
    float *got = (float *)malloc((size_t)N * N * sizeof(float));
    float *da, *dout;

    /* symmetric, diagonally dominant */
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) {
            float v = (float)((i * 37 + j * 101 + (i ^ j) * 13) % 97) / 97.0f - 0.5f;
            if (i == j)
                v = 40.0f + (float)(i % 7);
            A_(i, j) = v;
            A_(j, i) = v;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            ref[i * N + j] = A_(i, j);

    CHK(cudaMalloc(&da, bytes));
    CHK(cudaMalloc(&dout, (size_t)N * N * sizeof(float)));
    CHK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));

    for (int k = 0; k < N; k += NB) {
        int rem = N - k - NB;
        potrf_tile<<<1, NB>>>(da, k);
        if (rem > 0) {
            trsm_panel<<<rem / NB, NB>>>(da, k);
            syrk_update<<<dim3(rem / TS, rem / TS), dim3(16, 16)>>>(da, k);
        }
    }
    copy_lower<<<dim3(N / 32, N / 8), dim3(32, 8)>>>(da, dout);
    CHK(cudaGetLastError());
    CHK(cudaMemcpy(got, dout, (size_t)N * N * sizeof(float), cudaMemcpyDeviceToHost));

    for (int j = 0; j < N; j++) {
        for (int c = 0; c < j; c++)
            for (int i = j; i < N; i++)
                ref[i * N + j] -= ref[i * N + c] * ref[j * N + c];
        ref[j * N + j] = sqrt(ref[j * N + j]);
        for (int i = j + 1; i < N; i++)
            ref[i * N + j] /= ref[j * N + j];
    }
    double worst = 0;
    for (int i = 0; i < N * N; i++) {
        double d = fabs(got[i] - ref[i]);
        if (!(d <= worst))
            worst = d;
    }
    printf("cholesky %d, largest difference %g\n", N, worst);
    int ok = worst < 1e-4;
    puts(ok ? "OK" : "WRONG");
    cudaFree(da);
    cudaFree(dout);
    free(a); free(ref); free(got);
    return ok ? 0 : 1;
}
