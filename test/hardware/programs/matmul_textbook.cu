// Tiled matrix products: rectangular with boundary checks, 32 x 32 tiles in a struct, B transposed (conflicts), half tiles.
#include "common.h"

typedef struct {
    int width;
    int height;
    int stride;
    float *elements;
} Matrix;

#define BLOCK_SIZE 16

__device__ float GetElement(const Matrix A, int row, int col) { return A.elements[row * A.stride + col]; }
__device__ void SetElement(Matrix A, int row, int col, float value) { A.elements[row * A.stride + col] = value; }
__device__ Matrix GetSubMatrix(Matrix A, int row, int col)
{
    Matrix Asub;
    Asub.width = BLOCK_SIZE;
    Asub.height = BLOCK_SIZE;
    Asub.stride = A.stride;
    Asub.elements = &A.elements[A.stride * BLOCK_SIZE * row + BLOCK_SIZE * col];
    return Asub;
}

__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C)
{
    int blockRow = blockIdx.y, blockCol = blockIdx.x;
    Matrix Csub = GetSubMatrix(C, blockRow, blockCol);
    float Cvalue = 0;
    int row = threadIdx.y, col = threadIdx.x;
    for (int m = 0; m < (A.width / BLOCK_SIZE); ++m) {
        Matrix Asub = GetSubMatrix(A, blockRow, m);
        Matrix Bsub = GetSubMatrix(B, m, blockCol);
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[row][col] = GetElement(Asub, row, col);
        Bs[row][col] = GetElement(Bsub, row, col);
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e)
            Cvalue += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    SetElement(Csub, row, col, Cvalue);
}

#define TILE_WIDTH 32
__global__ void matrixMultiplyShared(const float *A, const float *B, float *C, int numARows, int numAColumns, int numBColumns)
{
    __shared__ float ds_M[TILE_WIDTH][TILE_WIDTH];
    __shared__ float ds_N[TILE_WIDTH][TILE_WIDTH];
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y, Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float Pvalue = 0;
    for (int m = 0; m < (numAColumns - 1) / TILE_WIDTH + 1; ++m) {
        if (Row < numARows && m * TILE_WIDTH + threadIdx.x < numAColumns)
            ds_M[threadIdx.y][threadIdx.x] = A[Row * numAColumns + m * TILE_WIDTH + threadIdx.x];
        else
            ds_M[threadIdx.y][threadIdx.x] = 0;
        if (Col < numBColumns && m * TILE_WIDTH + threadIdx.y < numAColumns)
            ds_N[threadIdx.y][threadIdx.x] = B[(m * TILE_WIDTH + threadIdx.y) * numBColumns + Col];
        else
            ds_N[threadIdx.y][threadIdx.x] = 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += ds_M[threadIdx.y][k] * ds_N[k][threadIdx.x];
        __syncthreads();
    }
    if (Row < numARows && Col < numBColumns)
        C[Row * numBColumns + Col] = Pvalue;
}

// C = A * B^T with both tiles read by row index threadIdx.x: every lane its own row of a 32-wide tile.
template <int T>
__global__ void matmulTransposedB(const double *A, const double *B, double *C, int n, int k)
{
    __shared__ double a[T][T];
    __shared__ double b[T][T];
    const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    double acc = 0;
    for (int k0 = 0; k0 < k; k0 += T) {
        a[threadIdx.y][threadIdx.x] = A[row * k + k0 + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(blockIdx.x * T + threadIdx.y) * k + k0 + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < T; ++i)
            acc = fma(a[threadIdx.y][i], b[threadIdx.x][i], acc);
        __syncthreads();
    }
    C[row * n + col] = acc;
}

// Two results a thread, the block wider than tall.
__global__ void matmulTwoRows(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int N, int K)
{
    __shared__ float sA[16][17];
    const int col = blockIdx.x * 64 + threadIdx.x;
    const int row0 = blockIdx.y * 16 + threadIdx.y * 2;
    float c0 = 0, c1 = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        int t = threadIdx.y * 64 + threadIdx.x;
        if (t < 256)
            sA[t / 16][t % 16] = A[(blockIdx.y * 16 + t / 16) * K + k0 + t % 16];
        __syncthreads();
        #pragma unroll 8
        for (int k = 0; k < 16; ++k) {
            float b = B[(k0 + k) * N + col];
            c0 += sA[threadIdx.y * 2][k] * b;
            c1 += sA[threadIdx.y * 2 + 1][k] * b;
        }
        __syncthreads();
    }
    C[row0 * N + col] = c0;
    C[(row0 + 1) * N + col] = c1;
}

template <typename T>
static std::vector<T> product(const std::vector<T> &a, const std::vector<T> &b, int M, int N, int K, bool bT = false)
{
    std::vector<T> c(M * N, T(0));
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j)
            for (int k = 0; k < K; ++k)
                c[i * N + j] += a[i * K + k] * (bT ? b[j * K + k] : b[k * N + j]);
    return c;
}

int main()
{
    bool ok = true;
    {
        const int M = 160, N = 192, K = 128;
        std::vector<float> a = randomFloats(M * K, 1), b = randomFloats(K * N, 2);
        Matrix A = {K, M, K, toDevice(a)}, B = {N, K, N, toDevice(b)}, C = {N, M, N, deviceZeros<float>(M * N)};
        MatMulKernel<<<dim3(N / BLOCK_SIZE, M / BLOCK_SIZE), dim3(BLOCK_SIZE, BLOCK_SIZE)>>>(A, B, C);
        ok &= report("MatMulKernel", allNear(toHost(C.elements, M * N), product(a, b, M, N, K), 1e-4));
        CUDA_OK(cudaMemset(C.elements, 0, M * N * sizeof(float)));
        matmulTwoRows<<<dim3(N / 64, M / 16), dim3(64, 8)>>>(A.elements, B.elements, C.elements, N, K);
        ok &= report("matmulTwoRows", allNear(toHost(C.elements, M * N), product(a, b, M, N, K), 1e-4));
    }
    {
        const int M = 100, N = 150, K = 75;
        std::vector<float> a = randomFloats(M * K, 3), b = randomFloats(K * N, 4);
        float *c = deviceZeros<float>(M * N);
        matrixMultiplyShared<<<dim3((N - 1) / 32 + 1, (M - 1) / 32 + 1), dim3(32, 32)>>>(toDevice(a), toDevice(b), c, M, K, N);
        ok &= report("matrixMultiplyShared", allNear(toHost(c, M * N), product(a, b, M, N, K), 1e-4));
    }
    {
        const int n = 128, k = 64;
        std::vector<double> a(n * k), b(n * k);
        for (int i = 0; i < n * k; ++i) { a[i] = i % 13 - 6; b[i] = i % 7 - 3; }
        double *c = deviceZeros<double>(n * n);
        matmulTransposedB<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(toDevice(a), toDevice(b), c, n, k);
        ok &= report("matmulTransposedB", allNear(toHost(c, n * n), product(a, b, n, n, k, true), 1e-9));
    }
    return ok ? 0 : 1;
}
