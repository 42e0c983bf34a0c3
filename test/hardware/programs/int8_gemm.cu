// int8 matrix product with tiles packed four values to a word.
#include <cstdint>
#include "common.h"

#define T 16

__global__ void gemmInt8Tiled(const int8_t *A, const int8_t *B, int32_t *C, int M, int N, int K)
{
    // A row-major, B column-major; both tiles hold 16 rows of 16 words of 4 values
    __shared__ int As[T][T];
    __shared__ int Bs[T][T + 1];
    const int m = blockIdx.y * T + threadIdx.y;
    const int n = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < K / 4; k += T) {
        As[threadIdx.y][threadIdx.x] = reinterpret_cast<const int *>(A + m * K)[k + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = reinterpret_cast<const int *>(B + (blockIdx.x * T + threadIdx.y) * K)[k + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < T; ++i)
            sum = __dp4a(As[threadIdx.y][i], Bs[threadIdx.x][i], sum);
        __syncthreads();
    }
    C[m * N + n] = sum;
}

// Bytes one by one.
__global__ void gemmInt8Naive(const int8_t *A, const int8_t *B, int32_t *C, int N, int K)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
    int sum = 0;
    for (int k = 0; k < K; ++k)
        sum += A[m * K + k] * B[n * K + k];
    C[m * N + n] = sum;
}

int main()
{
    const int M = 96, N = 128, K = 256;
    std::vector<int8_t> a(M * K), b(N * K);
    std::vector<int32_t> want(M * N, 0);
    Random r(1);
    for (auto &v : a) v = (int8_t)(r.below(255) - 127);
    for (auto &v : b) v = (int8_t)(r.below(255) - 127);
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n)
            for (int k = 0; k < K; ++k) want[m * N + n] += a[m * K + k] * b[n * K + k];
    int8_t *dA = toDevice(a), *dB = toDevice(b);
    int32_t *dC = deviceZeros<int32_t>(M * N);
    bool ok = true;
    gemmInt8Tiled<<<dim3(N / T, M / T), dim3(T, T)>>>(dA, dB, dC, M, N, K);
    ok &= report("gemmInt8Tiled", toHost(dC, M * N) == want);
    CUDA_OK(cudaMemset(dC, 0, M * N * 4));
    gemmInt8Naive<<<dim3(N / 64, M), 64>>>(dA, dB, dC, N, K);
    ok &= report("gemmInt8Naive", toHost(dC, M * N) == want);
    return ok ? 0 : 1;
}
