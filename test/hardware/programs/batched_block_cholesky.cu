/*
 * Batched Cholesky of 64x64 SPD matrices, processed as 2x2 blocks of 32:
 *   potrf(A11); trsm(A21); syrk(A22); potrf(A22)
 * then a forward substitution with NRHS right-hand sides. One thread block per matrix.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N       64
#define NB      32
#define BATCH   400
#define NRHS    64
#define A_(p, i, j)   (p)[(i) * N + (j)]
#define MAT(p)        ((p) + (size_t)blockIdx.x * N * N)

/* one warp, diagonal tile at (off, off); the column scale and update read down columns of an unpadded tile */
__global__ void potrf32(float *a, int off)
{
    __shared__ float t[NB][NB];
    float *m = MAT(a);
    const int lane = threadIdx.x;
    int i, j, k;

    for (i = 0; i < NB; i++)
        t[i][lane] = A_(m, off + i, off + lane);
    __syncwarp();
    for (k = 0; k < NB; k++) {
        float d = sqrtf(t[k][k]);
        __syncwarp();
        if (lane == k)     t[k][k] = d;
        else if (lane > k) t[lane][k] /= d;
        __syncwarp();
        if (lane > k)
            for (j = k + 1; j <= lane; j++)
                t[lane][j] -= t[lane][k] * t[j][k];
        __syncwarp();
    }
    for (i = 0; i < NB; i++)
        A_(m, off + i, off + lane) = (lane <= i) ? t[i][lane] : 0.0f;
}

/* L21 = A21 * inv(L11)^T : each thread solves one row of A21 straight in global memory */
__global__ void trsm32(float *a)
{
    __shared__ float l[NB][NB + 1];
    float *m = MAT(a);
    float x[NB];
    const int r = threadIdx.x;
    int i, k;

    for (i = 0; i < NB; i++)
        l[i][r] = A_(m, i, r);
    __syncthreads();
#pragma unroll
    for (i = 0; i < NB; i++) {
        float s = A_(m, NB + r, i);      /* stride N between lanes */
#pragma unroll
        for (k = 0; k < i; k++)
            s -= x[k] * l[i][k];
        x[i] = s / l[i][i];
        A_(m, NB + r, i) = x[i];
    }
}

/* A22 -= L21 * L21^T, 32x8 threads, four rows each; clears A12 on the way */
__global__ void syrk32(float *a)
{
    __shared__ float p[NB][NB + 1];
    float *m = MAT(a);
    const int tx = threadIdx.x, ty = threadIdx.y;
    int i, k;

    for (i = ty; i < NB; i += 8) {
        p[i][tx] = A_(m, NB + i, tx);
        A_(m, i, NB + tx) = 0.0f;
    }
    __syncthreads();
    for (i = ty; i < NB; i += 8) {
        float s = 0.0f;
        for (k = 0; k < NB; k++)
            s += p[i][k] * p[tx][k];
        if (tx <= i)
            A_(m, NB + i, NB + tx) -= s;
    }
}

/* solve L Y = B, B is N x NRHS row-major, a thread per column of B */
__global__ void forward_solve(const float *a, float *b)
{
    __shared__ float row[N];
    const float *m = MAT(a);
    float *rhs = b + (size_t)blockIdx.x * N * NRHS;
    const int c = threadIdx.x;
    int i, k;

    for (i = 0; i < N; i++) {
        float s = rhs[i * NRHS + c];
        row[c] = A_(m, i, c);
        __syncthreads();
        for (k = 0; k < i; k++)
            s -= row[k] * rhs[k * NRHS + c];
        rhs[i * NRHS + c] = s / row[i];
        __syncthreads();
    }
}

int main(void)
{
    const size_t na = (size_t)BATCH * N * N, nb = (size_t)BATCH * N * NRHS;
    float *ha = (float *)malloc(na * sizeof(float)), *hl = (float *)malloc(na * sizeof(float));
    float *hb = (float *)malloc(nb * sizeof(float)), *hy = (float *)malloc(nb * sizeof(float));
    float *da, *db;
    int bad = 0, s, i, j, k;

    srand(11);
    for (s = 0; s < BATCH; s++) {
        float *m = ha + (size_t)s * N * N;
        for (i = 0; i < N; i++)
            for (j = 0; j <= i; j++)
                m[i * N + j] = m[j * N + i] = (i == j) ? N + (rand() % 100) * 0.1f : (rand() % 2001 - 1000) * 1e-3f;
    }
    for (size_t e = 0; e < nb; e++) hb[e] = (rand() % 2001 - 1000) * 1e-3f;

    cudaMalloc(&da, na * sizeof(float)); cudaMalloc(&db, nb * sizeof(float));
    cudaMemcpy(da, ha, na * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, hb, nb * sizeof(float), cudaMemcpyHostToDevice);
    potrf32<<<BATCH, NB>>>(da, 0);
    trsm32<<<BATCH, NB>>>(da);
    syrk32<<<BATCH, dim3(NB, 8)>>>(da);
    potrf32<<<BATCH, NB>>>(da, NB);
    forward_solve<<<BATCH, NRHS>>>(da, db);
    bad += cudaDeviceSynchronize() != cudaSuccess;
    cudaMemcpy(hl, da, na * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(hy, db, nb * sizeof(float), cudaMemcpyDeviceToHost);

    for (s = 0; s < BATCH; s += 3) {
        static double L[N][N], Y[N][NRHS];
        const float *m = ha + (size_t)s * N * N;
        memset(L, 0, sizeof(L));
        for (i = 0; i < N; i++)
            for (j = 0; j <= i; j++) {
                double v = m[i * N + j];
                for (k = 0; k < j; k++) v -= L[i][k] * L[j][k];
                L[i][j] = (i == j) ? sqrt(v) : v / L[j][j];
            }
        for (i = 0; i < N; i++)
            for (j = 0; j < NRHS; j++) {
                double v = hb[(size_t)s * N * NRHS + i * NRHS + j];
                for (k = 0; k < i; k++) v -= L[i][k] * Y[k][j];
                Y[i][j] = v / L[i][i];
                if (!(fabs(Y[i][j] - hy[(size_t)s * N * NRHS + i * NRHS + j]) < 1e-4)) bad++;
                if (!(fabs(L[i][j] - hl[(size_t)s * N * N + i * N + j]) < 1e-3)) bad++;
            }
    }
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
