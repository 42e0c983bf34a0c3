// CS 533 Parallel Programming -- Homework 3
// Matrix multiplication of rectangular matrices: C (MxN) = A (MxK) * B (KxN)
// Part A: naive kernel   Part B: shared memory   Part C: A is stored transposed
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define TILE_WIDTH 16

#define CHECK(call)                                                        \
    {                                                                      \
        cudaError_t err = call;                                            \
        if (err != cudaSuccess) {                                          \
            printf("CUDA error %s at line %d\n", cudaGetErrorString(err), __LINE__); \
            exit(1);                                                       \
        }                                                                  \
    }

// Part A. NOTE: x is row here!! (my first version)
__global__ void matMulNaive(float *A, float *B, float *C, int M, int K, int N)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int i = 0; i < K; i++) {
            sum += A[row * K + i] * B[i * N + col];
        }
        C[row * N + col] = sum;
    }
}

// Part B
__global__ void matMulTiled(float *A, float *B, float *C, int M, int K, int N)
{
    __shared__ float ds_A[TILE_WIDTH][TILE_WIDTH];
    __shared__ float ds_B[TILE_WIDTH][TILE_WIDTH];

    int bx = blockIdx.x, by = blockIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = by * TILE_WIDTH + ty;
    int col = bx * TILE_WIDTH + tx;
    float Cvalue = 0;

    for (int t = 0; t < (K - 1) / TILE_WIDTH + 1; t++) {
        if (row < M && t * TILE_WIDTH + tx < K)
            ds_A[ty][tx] = A[row * K + t * TILE_WIDTH + tx];
        else
            ds_A[ty][tx] = 0.0;
        if (t * TILE_WIDTH + ty < K && col < N)
            ds_B[ty][tx] = B[(t * TILE_WIDTH + ty) * N + col];
        else
            ds_B[ty][tx] = 0.0;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; i++)
            Cvalue += ds_A[ty][i] * ds_B[i][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = Cvalue;
}

// Part C: At is K x M
__global__ void matMulTransA(const float *At, const float *B, float *C, int M, int K, int N)
{
    __shared__ float a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float b[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float acc = 0;
    for (int k0 = 0; k0 < K; k0 += TILE_WIDTH) {
        // element (k, row) is loaded into a[tx][ty]
        a[tx][ty] = (row < M && k0 + tx < K) ? At[(k0 + tx) * M + row] : 0.f;
        b[ty][tx] = (col < N && k0 + ty < K) ? B[(k0 + ty) * N + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; i++)
            acc += a[i][ty] * b[i][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

__global__ void transposeSimple(float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < cols && r < rows)
        out[c * rows + r] = in[r * cols + c];
}

int compare(float *A, float *B, float *C, int M, int K, int N, const char *name)
{
    int bad = 0;
    // checking every element on the CPU is slow, so check some of the rows
    for (int r = 0; r < M; r += 37) {
        for (int c = 0; c < N; c++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[r * K + k] * B[k * N + c];
            if (fabs(s - C[r * N + c]) > 1e-2) bad++;
        }
    }
    printf("%s: %d mismatches\n", name, bad);
    return bad;
}

int main(int argc, char **argv)
{
    int M = 500, K = 333, N = 701;
    if (argc == 4) { M = atoi(argv[1]); K = atoi(argv[2]); N = atoi(argv[3]); }
    float *h_A = (float *)malloc(M * K * sizeof(float));
    float *h_B = (float *)malloc(K * N * sizeof(float));
    float *h_C = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) h_A[i] = (i % 17) * 0.1f - 0.8f;
    for (int i = 0; i < K * N; i++) h_B[i] = (i % 23) * 0.05f - 0.5f;

    float *d_A, *d_At, *d_B, *d_C;
    CHECK(cudaMalloc((void **)&d_A, M * K * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_At, M * K * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_B, K * N * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_C, M * N * sizeof(float)));
    CHECK(cudaMemcpy(d_A, h_A, M * K * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, K * N * sizeof(float), cudaMemcpyHostToDevice));

    int bad = 0;
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH);
    dim3 gridNaive((M - 1) / TILE_WIDTH + 1, (N - 1) / TILE_WIDTH + 1);
    matMulNaive<<<gridNaive, dimBlock>>>(d_A, d_B, d_C, M, K, N);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    bad += compare(h_A, h_B, h_C, M, K, N, "naive");

    CHECK(cudaMemset(d_C, 0, M * N * sizeof(float)));
    dim3 dimGrid((N - 1) / TILE_WIDTH + 1, (M - 1) / TILE_WIDTH + 1);
    matMulTiled<<<dimGrid, dimBlock>>>(d_A, d_B, d_C, M, K, N);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    bad += compare(h_A, h_B, h_C, M, K, N, "tiled");

    dim3 gt((K + 31) / 32, (M + 7) / 8), bt(32, 8);
    transposeSimple<<<gt, bt>>>(d_A, d_At, M, K);
    CHECK(cudaMemset(d_C, 0, M * N * sizeof(float)));
    matMulTransA<<<dimGrid, dimBlock>>>(d_At, d_B, d_C, M, K, N);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    bad += compare(h_A, h_B, h_C, M, K, N, "transA");

    printf("%s\n", bad ? "FAIL" : "PASS");
    cudaFree(d_A); cudaFree(d_At); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C);
    return bad != 0;
}
