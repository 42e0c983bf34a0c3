// CS 434 Homework 4 - matrix statistics on the GPU
// Usage: ./hw4 [rows] [cols]
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda.h>

#define TILE_WIDTH 16
#define BLOCK 256

// Part A: sum of every row, one thread per row
__global__ void rowSumNaive(float *A, float *sums, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows)
    {
        float sum = 0;
        for (int j = 0; j < cols; j++)
        {
            sum += A[row * cols + j];
        }
        sums[row] = sum;
    }
}

// Part B: sum of every row, one block per row, tree reduction from the lecture slides
__global__ void rowSumTree(float *A, float *sums, int rows, int cols)
{
    __shared__ float sdata[BLOCK];
    int tid = threadIdx.x;
    int row = blockIdx.x;

    float mine = 0;
    for (int j = tid; j < cols; j += blockDim.x)
        mine += A[row * cols + j];
    sdata[tid] = mine;
    __syncthreads();

    for (unsigned int s = 1; s < blockDim.x; s *= 2)
    {
        int index = 2 * s * tid;
        if (index < blockDim.x)
        {
            sdata[index] += sdata[index + s];
        }
        __syncthreads();
    }

    if (tid == 0)
        sums[row] = sdata[0];
}

// Part C: column means, one thread per column
__global__ void colMean(float *A, float *means, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    float sum = 0;
    for (int i = 0; i < rows; i++)
        sum += A[i * cols + col];
    means[col] = sum / rows;
}

// Part D: subtract the mean
__global__ void center(float *A, float *means, int rows, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;   // row !
    int j = blockIdx.y * blockDim.y + threadIdx.y;   // col !
    if (i < rows && j < cols)
        A[i * cols + j] -= means[j];
}

// Part E: covariance, C = A^T A / (n - 1), tiled
__global__ void covarianceTiled(float *A, float *C, int rows, int cols)
{
    __shared__ float tileA[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tileB[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int c1 = blockIdx.y * TILE_WIDTH + ty;
    int c2 = blockIdx.x * TILE_WIDTH + tx;
    float value = 0;

    for (int m = 0; m < (rows - 1) / TILE_WIDTH + 1; ++m)
    {
        // tileA holds the transposed piece
        if (c1 < cols && m * TILE_WIDTH + tx < rows)
            tileA[ty][tx] = A[(m * TILE_WIDTH + tx) * cols + c1];
        else
            tileA[ty][tx] = 0;
        if (c2 < cols && m * TILE_WIDTH + ty < rows)
            tileB[ty][tx] = A[(m * TILE_WIDTH + ty) * cols + c2];
        else
            tileB[ty][tx] = 0;
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k)
            value += tileA[ty][k] * tileB[k][tx];
        __syncthreads();
    }

    if (c1 < cols && c2 < cols)
        C[c1 * cols + c2] = value / (rows - 1);
}

// Extra credit: correlation from covariance, with the diagonal in shared memory
__global__ void correlation(float *C, float *R, int cols)
{
    extern __shared__ float diag[];
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    for (int d = t; d < cols; d += blockDim.x * blockDim.y)
        diag[d] = sqrtf(C[d * cols + d]);
    __syncthreads();

    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < cols)
        R[y * cols + x] = C[y * cols + x] / (diag[x] * diag[y]);
}

int checkArray(const char *what, float *got, float *want, int n, float tol)
{
    for (int i = 0; i < n; i++)
    {
        if (fabs(got[i] - want[i]) > tol * (1 + fabs(want[i])))
        {
            printf("%s: mismatch at %d: %f != %f\n", what, i, got[i], want[i]);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    int rows = 500;
    int cols = 150;
    if (argc > 1) rows = atoi(argv[1]);
    if (argc > 2) cols = atoi(argv[2]);

    size_t bytesA = rows * cols * sizeof(float);
    size_t bytesC = cols * cols * sizeof(float);
    float *h_A = (float *)malloc(bytesA);
    float *h_R = (float *)malloc(bytesC);
    float *h_sum1 = (float *)malloc(rows * sizeof(float));
    float *h_sum2 = (float *)malloc(rows * sizeof(float));
    srand(42);
    for (int i = 0; i < rows * cols; i++)
        h_A[i] = (float)(rand() % 1000) / 1000.0f;

    float *d_A, *d_C, *d_R, *d_sum1, *d_sum2, *d_mean;
    cudaMalloc((void **)&d_A, bytesA);
    cudaMalloc((void **)&d_C, bytesC);
    cudaMalloc((void **)&d_R, bytesC);
    cudaMalloc((void **)&d_sum1, rows * sizeof(float));
    cudaMalloc((void **)&d_sum2, rows * sizeof(float));
    cudaMalloc((void **)&d_mean, cols * sizeof(float));
    cudaMemcpy(d_A, h_A, bytesA, cudaMemcpyHostToDevice);

    rowSumNaive<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(d_A, d_sum1, rows, cols);
    rowSumTree<<<rows, BLOCK>>>(d_A, d_sum2, rows, cols);
    colMean<<<(cols + BLOCK - 1) / BLOCK, BLOCK>>>(d_A, d_mean, rows, cols);

    dim3 block(16, 16);
    dim3 gridCenter((rows + 15) / 16, (cols + 15) / 16);
    center<<<gridCenter, block>>>(d_A, d_mean, rows, cols);
    dim3 gridCov((cols + TILE_WIDTH - 1) / TILE_WIDTH, (cols + TILE_WIDTH - 1) / TILE_WIDTH);
    covarianceTiled<<<gridCov, block>>>(d_A, d_C, rows, cols);
    correlation<<<gridCov, block, cols * sizeof(float)>>>(d_C, d_R, cols);
    cudaDeviceSynchronize();

    cudaMemcpy(h_sum1, d_sum1, rows * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(h_sum2, d_sum2, rows * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(h_R, d_R, bytesC, cudaMemcpyDeviceToHost);

    // CPU reference
    float *r_sum = (float *)calloc(rows, sizeof(float));
    double *mean = (double *)calloc(cols, sizeof(double));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
        {
            r_sum[i] += h_A[i * cols + j];
            mean[j] += h_A[i * cols + j] / rows;
        }
    double *cov = (double *)calloc(cols * cols, sizeof(double));
    for (int i = 0; i < rows; i++)
        for (int a = 0; a < cols; a++)
            for (int b = 0; b < cols; b++)
                cov[a * cols + b] += (h_A[i * cols + a] - mean[a]) * (h_A[i * cols + b] - mean[b]) / (rows - 1);
    float *r_R = (float *)malloc(bytesC);
    for (int a = 0; a < cols; a++)
        for (int b = 0; b < cols; b++)
            r_R[a * cols + b] = cov[a * cols + b] / sqrt(cov[a * cols + a] * cov[b * cols + b]);

    int ok = checkArray("row sums (naive)", h_sum1, r_sum, rows, 1e-3f);
    ok &= checkArray("row sums (tree)", h_sum2, r_sum, rows, 1e-3f);
    ok &= checkArray("correlation", h_R, r_R, cols * cols, 1e-2f);
    printf("%s\n", ok ? "PASS" : "FAIL");

    cudaFree(d_A); cudaFree(d_C); cudaFree(d_R);
    cudaFree(d_sum1); cudaFree(d_sum2); cudaFree(d_mean);
    free(h_A); free(h_R); free(h_sum1); free(h_sum2); free(r_sum); free(mean); free(cov); free(r_R);
    return ok ? 0 : 1;
}
