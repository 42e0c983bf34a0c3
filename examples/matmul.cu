// C = A * B for square matrices of floats, without and with tiles in shared memory.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(2);                                                               \
        }                                                                               \
    } while (0)

#define TILE 16

// Every thread walks a whole row of A and a whole column of B in global memory.
__global__ void matmulNaive(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;

    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

// The block fetches a tile of A and one of B together, and every element is used sixteen times.
__global__ void matmulTiled(const float *A, const float *B, float *C, int n)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int t = 0; t < n / TILE; ++t) {
        As[ty][tx] = A[row * n + t * TILE + tx];
        Bs[ty][tx] = B[(t * TILE + ty) * n + col];
        __syncthreads();

        for (int k = 0; k < TILE; ++k)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

static bool isProduct(const std::vector<float> &expected, const float *dC, const char *name)
{
    CHECK(cudaGetLastError());
    std::vector<float> c(expected.size());
    CHECK(cudaMemcpy(c.data(), dC, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < c.size(); ++i)
        if (!(std::fabs(c[i] - expected[i]) <= 1e-3f)) {
            std::printf("%-12s FAIL at %zu: %g, not %g\n", name, i, c[i], expected[i]);
            return false;
        }
    std::printf("%-12s PASS\n", name);
    return true;
}

int main()
{
    const int n = 512;
    std::vector<float> a(n * n), b(n * n), expected(n * n, 0.0f);
    for (int i = 0; i < n * n; ++i) {
        a[i] = static_cast<float>(i % 17) / 16.0f - 0.5f;
        b[i] = static_cast<float>(i % 13) / 16.0f - 0.25f;
    }
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j)
                expected[i * n + j] += a[i * n + k] * b[k * n + j];

    const size_t bytes = a.size() * sizeof(float);
    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, bytes));
    CHECK(cudaMalloc(&dB, bytes));
    CHECK(cudaMalloc(&dC, bytes));
    CHECK(cudaMemcpy(dA, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, b.data(), bytes, cudaMemcpyHostToDevice));

    dim3 block(TILE, TILE);
    dim3 grid(n / TILE, n / TILE);
    bool ok = true;

    matmulNaive<<<grid, block>>>(dA, dB, dC, n);
    ok &= isProduct(expected, dC, "matmulNaive");

    CHECK(cudaMemset(dC, 0xff, bytes));
    matmulTiled<<<grid, block>>>(dA, dB, dC, n);
    ok &= isProduct(expected, dC, "matmulTiled");

    CHECK(cudaFree(dA));
    CHECK(cudaFree(dB));
    CHECK(cudaFree(dC));
    return ok ? 0 : 1;
}
