// SGEMM, from the textbook version to register tiles with vector loads. Row-major, M = N = K = 512.
#include "common.h"

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

// threadIdx.x runs along the rows: neither C nor A is coalesced.
__global__ void sgemmWrongWay(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    const uint x = blockIdx.x * blockDim.x + threadIdx.x;
    const uint y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < M && y < N) {
        float tmp = 0.0f;
        for (int i = 0; i < K; ++i)
            tmp += A[x * K + i] * B[i * N + y];
        C[x * N + y] = alpha * tmp + beta * C[x * N + y];
    }
}

template <const int BLOCKSIZE>
__global__ void sgemmCoalesced(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    const int row = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
    const int col = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
    if (row < M && col < N) {
        float tmp = 0.0f;
        for (int i = 0; i < K; ++i)
            tmp += A[row * K + i] * B[i * N + col];
        C[row * N + col] = alpha * tmp + beta * C[row * N + col];
    }
}

// A column of 8 results a thread.
template <int BM, int BN, int BK, int TM>
__global__ void sgemmTile1D(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    const int threadCol = threadIdx.x % BN;
    const int threadRow = threadIdx.x / BN;

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;

    const int innerColA = threadIdx.x % BK, innerRowA = threadIdx.x / BK;
    const int innerColB = threadIdx.x % BN, innerRowB = threadIdx.x / BN;
    float results[TM] = {0.0f};

    for (int bk = 0; bk < K; bk += BK) {
        As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
        Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (int dot = 0; dot < BK; ++dot) {
            float b = Bs[dot * BN + threadCol];
            for (int r = 0; r < TM; ++r)
                results[r] += As[(threadRow * TM + r) * BK + dot] * b;
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; ++r)
        C[(threadRow * TM + r) * N + threadCol] = alpha * results[r] + beta * C[(threadRow * TM + r) * N + threadCol];
}

// 8 x 8 results a thread; A's tile stored transposed so that both operands are read as float4.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN))
sgemmVector(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    __shared__ float As[BK * BM];
    __shared__ float Bs[BK * BN];
    const int threadCol = threadIdx.x % (BN / TN);
    const int threadRow = threadIdx.x / (BN / TN);

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;

    const int innerRowA = threadIdx.x / (BK / 4), innerColA = threadIdx.x % (BK / 4);
    const int innerRowB = threadIdx.x / (BN / 4), innerColB = threadIdx.x % (BN / 4);

    float acc[TM * TN] = {0.0f};
    float regM[TM], regN[TN];

    for (int bk = 0; bk < K; bk += BK) {
        float4 tmp = reinterpret_cast<float4 *>(&A[innerRowA * K + innerColA * 4])[0];
        As[(innerColA * 4 + 0) * BM + innerRowA] = tmp.x;
        As[(innerColA * 4 + 1) * BM + innerRowA] = tmp.y;
        As[(innerColA * 4 + 2) * BM + innerRowA] = tmp.z;
        As[(innerColA * 4 + 3) * BM + innerRowA] = tmp.w;
        reinterpret_cast<float4 *>(&Bs[innerRowB * BN + innerColB * 4])[0] =
            reinterpret_cast<float4 *>(&B[innerRowB * N + innerColB * 4])[0];
        __syncthreads();
        A += BK;
        B += BK * N;

#pragma unroll
        for (int dot = 0; dot < BK; ++dot) {
#pragma unroll
            for (int i = 0; i < TM; ++i)
                regM[i] = As[dot * BM + threadRow * TM + i];
#pragma unroll
            for (int i = 0; i < TN; ++i)
                regN[i] = Bs[dot * BN + threadCol * TN + i];
#pragma unroll
            for (int m = 0; m < TM; ++m)
#pragma unroll
                for (int n = 0; n < TN; ++n)
                    acc[m * TN + n] += regM[m] * regN[n];
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < TM; ++m)
#pragma unroll
        for (int n = 0; n < TN; n += 4) {
            float4 *where = reinterpret_cast<float4 *>(&C[(threadRow * TM + m) * N + threadCol * TN + n]);
            float4 c = *where;
            c.x = alpha * acc[m * TN + n] + beta * c.x;
            c.y = alpha * acc[m * TN + n + 1] + beta * c.y;
            c.z = alpha * acc[m * TN + n + 2] + beta * c.z;
            c.w = alpha * acc[m * TN + n + 3] + beta * c.w;
            *where = c;
        }
}

int main()
{
    const int M = 512, N = 512, K = 512;
    const float alpha = 0.5f, beta = 3.0f;
    std::vector<float> a = randomFloats(M * K, 1), b = randomFloats(K * N, 2), c = randomFloats(M * N, 3);
    std::vector<float> want(M * N, 0.0f);
    for (int i = 0; i < M; ++i)
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < N; ++j)
                want[i * N + j] += a[i * K + k] * b[k * N + j];
    for (int i = 0; i < M * N; ++i)
        want[i] = alpha * want[i] + beta * c[i];

    float *A = toDevice(a), *B = toDevice(b), *C = toDevice(c);
    const size_t bytes = sizeof(float) * M * N;
    bool ok = true;

    sgemmWrongWay<<<dim3(CEIL_DIV(M, 32), CEIL_DIV(N, 8)), dim3(32, 8)>>>(M, N, K, alpha, A, B, beta, C);
    ok &= report("sgemmWrongWay", allNear(toHost(C, M * N), want, 1e-4));

    CUDA_OK(cudaMemcpy(C, c.data(), bytes, cudaMemcpyHostToDevice));
    sgemmCoalesced<32><<<dim3(CEIL_DIV(M, 32), CEIL_DIV(N, 32)), 32 * 32>>>(M, N, K, alpha, A, B, beta, C);
    ok &= report("sgemmCoalesced", allNear(toHost(C, M * N), want, 1e-4));

    CUDA_OK(cudaMemcpy(C, c.data(), bytes, cudaMemcpyHostToDevice));
    sgemmTile1D<64, 64, 8, 8><<<dim3(N / 64, M / 64), 512>>>(M, N, K, alpha, A, B, beta, C);
    ok &= report("sgemmTile1D", allNear(toHost(C, M * N), want, 1e-4));

    CUDA_OK(cudaMemcpy(C, c.data(), bytes, cudaMemcpyHostToDevice));
    sgemmVector<128, 128, 8, 8, 8><<<dim3(N / 128, M / 128), 256>>>(M, N, K, alpha, A, B, beta, C);
    ok &= report("sgemmVector", allNear(toHost(C, M * N), want, 1e-4));
    return ok ? 0 : 1;
}
