/*
 * tsne_forces.cu  --  exact t-SNE, GPU version for the course project
 *
 * Steps on the GPU:
 *   1. pairwise squared distances in the high dimensional space
 *   2. row-conditional gaussian affinities p(j|i)
 *   3. symmetrise
 *   4. normaliser Z of the student-t kernel (partial sums)
 *   5. gradient, first simple version
 *   6. gradient, tiled version with shared memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NPTS   1536
#define NDIM   48
#define TILE   16
#define BLOCK  128

#define CHECK(x)                                                              \
    do {                                                                      \
        cudaError_t err_ = (x);                                               \
        if (err_ != cudaSuccess) {                                            \
            printf("CUDA error %s at line %d\n", cudaGetErrorString(err_),    \
                   __LINE__);                                                 \
            printf("FAIL\n");                                                 \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

/* ---- 1. squared distances ------------------------------------------------ */
__global__ void pairwiseDist(const float *X, float *D, int n, int dim)
{
    __shared__ float A[TILE][TILE];
    __shared__ float B[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE + ty;
    int j = blockIdx.x * TILE + tx;
    int jload = blockIdx.x * TILE + ty;

    float sum = 0.0f;
    for (int k0 = 0; k0 < dim; k0 += TILE) {
        A[ty][tx] = (i < n && k0 + tx < dim) ? X[i * dim + k0 + tx] : 0.0f;
        B[ty][tx] = (jload < n && k0 + tx < dim) ? X[jload * dim + k0 + tx] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float d = A[ty][k] - B[tx][k];
            sum += d * d;
        }
        __syncthreads();
    }
    if (i < n && j < n)
        D[i * n + j] = sum;
}

/* ---- 2. gaussian affinities, one block per row --------------------------- */
__global__ void gaussianRows(const float *D, const float *beta, float *P, int n)
{
    __shared__ float red[BLOCK];
    int i = blockIdx.x;
    int tid = threadIdx.x;
    float b = beta[i];

    float s = 0.0f;
    for (int j = tid; j < n; j += BLOCK) {
        float p = 0.0f;
        if (j != i) p = expf(-b * D[i * n + j]);
        P[i * n + j] = p;
        s += p;
    }
    red[tid] = s;
    __syncthreads();
    for (int off = BLOCK / 2; off > 0; off /= 2) {
        if (tid < off) red[tid] += red[tid + off];
        __syncthreads();
    }
    float inv = 1.0f / red[0];
    for (int j = tid; j < n; j += BLOCK)
        P[i * n + j] *= inv;
}

/* ---- 3. P = (P + P^T) / 2n ------------------------------------------------ */
__global__ void symmetrise(const float *P, float *S, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n)
        S[i * n + j] = (P[i * n + j] + P[j * n + i]) / (2.0f * n);
}

/* ---- 4. partial sums of Z -------------------------------------------------- */
__global__ void studentZ(const float2 *Y, float *partial, int n)
{
    __shared__ float2 tile[BLOCK];
    __shared__ float red[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * BLOCK + tid;
    float2 yi = make_float2(0.0f, 0.0f);
    if (i < n) yi = Y[i];

    float z = 0.0f;
    for (int t = 0; t < n; t += BLOCK) {
        if (t + tid < n) tile[tid] = Y[t + tid];
        __syncthreads();
        int lim = min(BLOCK, n - t);
        for (int k = 0; k < lim; k++) {
            float dx = yi.x - tile[k].x;
            float dy = yi.y - tile[k].y;
            if (t + k != i) z += 1.0f / (1.0f + dx * dx + dy * dy);
        }
        __syncthreads();
    }
    red[tid] = (i < n) ? z : 0.0f;
    __syncthreads();
    for (int off = BLOCK / 2; off > 0; off >>= 1) {
        if (tid < off) red[tid] += red[tid + off];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = red[0];
}

/* ---- 5. gradient, first version -------------------------------------------- */
__global__ void gradientSimple(const float *S, const float2 *Y, float invZ,
                               float2 *grad, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gx = 0.0f, gy = 0.0f;
    for (int j = 0; j < n; j++) {
        float dx = Y[i].x - Y[j].x;
        float dy = Y[i].y - Y[j].y;
        float w = 1.0f / (1.0f + dx * dx + dy * dy);
        float f = (S[i * n + j] - w * invZ) * w;   /* i == j gives dx = dy = 0 */
        gx += f * dx;
        gy += f * dy;
    }
    grad[i] = make_float2(4.0f * gx, 4.0f * gy);
}

/* ---- 6. gradient, Y tiled and S read down the column (S is symmetric) -------- */
__global__ void gradientTiled(const float *S, const float2 *Y, float invZ,
                              float *gradX, float *gradY, int n)
{
    __shared__ float sx[BLOCK];
    __shared__ float sy[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * BLOCK + tid;
    float xi = 0.0f, yi = 0.0f;
    if (i < n) { xi = Y[i].x; yi = Y[i].y; }

    float gx = 0.0f, gy = 0.0f;
    for (int t = 0; t < n; t += BLOCK) {
        if (t + tid < n) {
            float2 v = Y[t + tid];
            sx[tid] = v.x;
            sy[tid] = v.y;
        }
        __syncthreads();
        if (i < n) {
            int lim = min(BLOCK, n - t);
            for (int k = 0; k < lim; k++) {
                float dx = xi - sx[k];
                float dy = yi - sy[k];
                float w = 1.0f / (1.0f + dx * dx + dy * dy);
                float f = (S[(t + k) * n + i] - w * invZ) * w;
                gx += f * dx;
                gy += f * dy;
            }
        }
        __syncthreads();
    }
    if (i < n) {
        gradX[i] = 4.0f * gx;
        gradY[i] = 4.0f * gy;
    }
}

/* ----------------------------------------------------------------------------- */
static float frand(void) { return rand() / (float)RAND_MAX; }

int main(void)
{
    const int n = NPTS, dim = NDIM;
    size_t nn = (size_t)n * n;
    srand(7);

    float *hX = (float *)malloc(sizeof(float) * n * dim);
    float *hBeta = (float *)malloc(sizeof(float) * n);
    float2 *hY = (float2 *)malloc(sizeof(float2) * n);
    for (int i = 0; i < n; i++) {
        int cluster = i % 5;
        for (int k = 0; k < dim; k++)
            hX[i * dim + k] = 0.3f * cluster * ((k % 5) == cluster) + frand();
        hBeta[i] = 0.3f + 0.4f * frand();
        hY[i].x = 6.0f * (frand() - 0.5f);
        hY[i].y = 6.0f * (frand() - 0.5f);
    }

    float *dX, *dBeta, *dD, *dP, *dS, *dPart, *dGx, *dGy;
    float2 *dY, *dG;
    int nblk = (n + BLOCK - 1) / BLOCK;
    CHECK(cudaMalloc(&dX, sizeof(float) * n * dim));
    CHECK(cudaMalloc(&dBeta, sizeof(float) * n));
    CHECK(cudaMalloc(&dD, sizeof(float) * nn));
    CHECK(cudaMalloc(&dP, sizeof(float) * nn));
    CHECK(cudaMalloc(&dS, sizeof(float) * nn));
    CHECK(cudaMalloc(&dPart, sizeof(float) * nblk));
    CHECK(cudaMalloc(&dGx, sizeof(float) * n));
    CHECK(cudaMalloc(&dGy, sizeof(float) * n));
    CHECK(cudaMalloc(&dY, sizeof(float2) * n));
    CHECK(cudaMalloc(&dG, sizeof(float2) * n));
    CHECK(cudaMemcpy(dX, hX, sizeof(float) * n * dim, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dBeta, hBeta, sizeof(float) * n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dY, hY, sizeof(float2) * n, cudaMemcpyHostToDevice));

    dim3 thr(TILE, TILE);
    dim3 grd((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    pairwiseDist<<<grd, thr>>>(dX, dD, n, dim);
    CHECK(cudaGetLastError());
    gaussianRows<<<n, BLOCK>>>(dD, dBeta, dP, n);
    CHECK(cudaGetLastError());
    symmetrise<<<grd, thr>>>(dP, dS, n);
    CHECK(cudaGetLastError());
    studentZ<<<nblk, BLOCK>>>(dY, dPart, n);
    CHECK(cudaGetLastError());

    float *hPart = (float *)malloc(sizeof(float) * nblk);
    CHECK(cudaMemcpy(hPart, dPart, sizeof(float) * nblk, cudaMemcpyDeviceToHost));
    double Z = 0.0;
    for (int b = 0; b < nblk; b++) Z += hPart[b];
    float invZ = (float)(1.0 / Z);

    gradientSimple<<<nblk, BLOCK>>>(dS, dY, invZ, dG, n);
    CHECK(cudaGetLastError());
    gradientTiled<<<nblk, BLOCK>>>(dS, dY, invZ, dGx, dGy, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    float2 *hG = (float2 *)malloc(sizeof(float2) * n);
    float *hGx = (float *)malloc(sizeof(float) * n);
    float *hGy = (float *)malloc(sizeof(float) * n);
    float *hS = (float *)malloc(sizeof(float) * nn);
    CHECK(cudaMemcpy(hG, dG, sizeof(float2) * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hGx, dGx, sizeof(float) * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hGy, dGy, sizeof(float) * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hS, dS, sizeof(float) * nn, cudaMemcpyDeviceToHost));

    /* CPU reference in double */
    double *rP = (double *)malloc(sizeof(double) * nn);
    double Zref = 0.0;
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        for (int j = 0; j < n; j++) {
            double d2 = 0.0;
            for (int k = 0; k < dim; k++) {
                double d = (double)hX[i * dim + k] - hX[j * dim + k];
                d2 += d * d;
            }
            double p = (i == j) ? 0.0 : exp(-hBeta[i] * d2);
            rP[(size_t)i * n + j] = p;
            s += p;
        }
        for (int j = 0; j < n; j++) rP[(size_t)i * n + j] /= s;
        for (int j = 0; j < n; j++) {
            double dx = (double)hY[i].x - hY[j].x, dy = (double)hY[i].y - hY[j].y;
            if (i != j) Zref += 1.0 / (1.0 + dx * dx + dy * dy);
        }
    }
    double maxg = 0.0, err1 = 0.0, err2 = 0.0, errS = 0.0, maxS = 0.0;
    for (int i = 0; i < n; i++) {
        double gx = 0.0, gy = 0.0;
        for (int j = 0; j < n; j++) {
            double s = (rP[(size_t)i * n + j] + rP[(size_t)j * n + i]) / (2.0 * n);
            double dx = (double)hY[i].x - hY[j].x, dy = (double)hY[i].y - hY[j].y;
            double w = 1.0 / (1.0 + dx * dx + dy * dy);
            double f = (s - w / Zref) * w;
            gx += f * dx;
            gy += f * dy;
            maxS = fmax(maxS, s);
            errS = fmax(errS, fabs(s - hS[(size_t)i * n + j]));
        }
        gx *= 4.0;
        gy *= 4.0;
        maxg = fmax(maxg, fmax(fabs(gx), fabs(gy)));
        err1 = fmax(err1, fmax(fabs(gx - hG[i].x), fabs(gy - hG[i].y)));
        err2 = fmax(err2, fmax(fabs(gx - hGx[i]), fabs(gy - hGy[i])));
        if (hG[i].x != hG[i].x || hGx[i] != hGx[i]) err1 = 1e30;
    }
    double errZ = fabs(Z - Zref) / Zref;
    printf("Z rel err %.2e, S rel err %.2e, grad rel err %.2e / %.2e\n",
           errZ, errS / maxS, err1 / maxg, err2 / maxg);
    int ok = errZ < 1e-4 && errS / maxS < 1e-3 && err1 / maxg < 2e-3 && err2 / maxg < 2e-3;
    printf(ok ? "PASS\n" : "FAIL\n");

    cudaFree(dX); cudaFree(dBeta); cudaFree(dD); cudaFree(dP); cudaFree(dS);
    cudaFree(dPart); cudaFree(dGx); cudaFree(dGy); cudaFree(dY); cudaFree(dG);
    free(hX); free(hBeta); free(hY); free(hPart); free(hG); free(hGx); free(hGy);
    free(hS); free(rP);
    return ok ? 0 : 1;
}
