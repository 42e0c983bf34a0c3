// CS 5220 - Assignment 3: climbing the matmul ladder
// Each step is a kernel that computes C = A * B for N x N row-major floats.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define N 512
#define TILE 16

#define CHECK(x)                                                         \
    do {                                                                 \
        cudaError_t e = (x);                                             \
        if (e != cudaSuccess) {                                          \
            printf("CUDA error %s line %d\n", cudaGetErrorString(e), __LINE__); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

// Step 0: my first try. I mapped threadIdx.x to the row (like in math class).
__global__ void step0_naive_rows(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++) {
            float a = A[row * n + k];
            float b = B[k * n + col];
            sum += a * b;
        }
        C[row * n + col] = sum;
    }
}

// Step 1: swap x and y like the TA said.
__global__ void step1_naive_cols(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++) {
            float a = A[row * n + k];
            float b = B[k * n + col];
            sum += a * b;
        }
        C[row * n + col] = sum;
    }
}

// Step 2: shared memory tiles
__global__ void step2_tiled(const float *A, const float *B, float *C, int n)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < n / TILE; t++) {
        As[ty][tx] = A[row * n + t * TILE + tx];
        Bs[ty][tx] = B[(t * TILE + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            sum += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// Step 3a: transpose B first so that both operands are read along rows
__global__ void transpose_simple(const float *in, float *out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}

// Step 3b: C = A * BT^T using 32x32 tiles. The second tile is read down a column
// of shared memory (I found out later that this is bad).
__global__ void step3_tiled_bt(const float *A, const float *BT, float *C, int n)
{
    __shared__ float As[32][32];
    __shared__ float Bs[32][32];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty;
    int col = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int t = 0; t < n; t += 32) {
        As[ty][tx] = A[row * n + t + tx];
        Bs[ty][tx] = BT[(blockIdx.x * 32 + ty) * n + t + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k++) {
            sum += As[ty][k] * Bs[tx][k];
        }
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// Step 4: every thread computes 8 results in a column (64x64 block, 512 threads)
__global__ void step4_regtile_1d(const float *A, const float *B, float *C, int n)
{
    const int BM = 64;
    const int BN = 64;
    const int BK = 8;
    const int TM = 8;
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    int tid = threadIdx.x;
    int tcol = tid % BN;
    int trow = tid / BN;
    int aRow = tid / BK;
    int aCol = tid % BK;
    int bRow = tid / BN;
    int bCol = tid % BN;
    const float *Ab = A + blockIdx.y * BM * n;
    const float *Bb = B + blockIdx.x * BN;
    float acc[TM] = {0.0f};
    for (int t = 0; t < n; t += BK) {
        As[aRow * BK + aCol] = Ab[aRow * n + t + aCol];
        Bs[bRow * BN + bCol] = Bb[(t + bRow) * n + bCol];
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float b = Bs[k * BN + tcol];
            for (int i = 0; i < TM; i++) {
                acc[i] += As[(trow * TM + i) * BK + k] * b;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++) {
        C[(blockIdx.y * BM + trow * TM + i) * n + blockIdx.x * BN + tcol] = acc[i];
    }
}

// Step 5: 4x4 per thread, float4 loads, A stored transposed in shared
__global__ void step5_vectorised(const float *A, const float *B, float *C, int n)
{
    const int BM = 64;
    const int BN = 64;
    const int BK = 16;
    __shared__ float As[BK][BM];
    __shared__ float Bs[BK][BN];
    int tid = threadIdx.x;
    int tx = tid % 16;
    int ty = tid / 16;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;
    int ar = tid / 4;
    int ac = (tid % 4) * 4;
    int br = tid / 16;
    int bc = (tid % 16) * 4;
    float acc[4][4] = {};
    for (int t = 0; t < n; t += BK) {
        float4 a4 = *reinterpret_cast<const float4 *>(&A[(row0 + ar) * n + t + ac]);
        float4 b4 = *reinterpret_cast<const float4 *>(&B[(t + br) * n + col0 + bc]);
        As[ac + 0][ar] = a4.x;
        As[ac + 1][ar] = a4.y;
        As[ac + 2][ar] = a4.z;
        As[ac + 3][ar] = a4.w;
        *reinterpret_cast<float4 *>(&Bs[br][bc]) = b4;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float ra[4];
            float rb[4];
            for (int i = 0; i < 4; i++) {
                ra[i] = As[k][ty * 4 + i];
            }
            for (int j = 0; j < 4; j++) {
                rb[j] = Bs[k][tx * 4 + j];
            }
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 4; j++) {
                    acc[i][j] += ra[i] * rb[j];
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        float4 v = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        *reinterpret_cast<float4 *>(&C[(row0 + ty * 4 + i) * n + col0 + tx * 4]) = v;
    }
}

bool verify(const char *name, float *dC, const std::vector<float> &ref)
{
    std::vector<float> h(N * N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h.data(), dC, N * N * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(dC, 0, N * N * sizeof(float)));
    float worst = 0.0f;
    for (int i = 0; i < N * N; i++) {
        float d = fabsf(h[i] - ref[i]);
        if (!(d <= worst)) {
            worst = d;
        }
    }
    bool ok = worst < 1e-2f;
    printf("%-20s max err %g  %s\n", name, worst, ok ? "ok" : "WRONG");
    return ok;
}

int main()
{
    std::vector<float> hA(N * N), hB(N * N), ref(N * N, 0.0f);
    unsigned s = 12345;
    for (int i = 0; i < N * N; i++) {
        s = s * 1664525u + 1013904223u;
        hA[i] = (float)(s >> 8) / (1 << 24) - 0.5f;
        s = s * 1664525u + 1013904223u;
        hB[i] = (float)(s >> 8) / (1 << 24) - 0.5f;
    }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            float a = hA[i * N + k];
            for (int j = 0; j < N; j++) {
                ref[i * N + j] += a * hB[k * N + j];
            }
        }
    }
    float *A, *B, *C, *BT;
    size_t bytes = N * N * sizeof(float);
    CHECK(cudaMalloc(&A, bytes));
    CHECK(cudaMalloc(&B, bytes));
    CHECK(cudaMalloc(&C, bytes));
    CHECK(cudaMalloc(&BT, bytes));
    CHECK(cudaMemcpy(A, hA.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(B, hB.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(C, 0, bytes));

    dim3 b16(TILE, TILE);
    dim3 g16(N / TILE, N / TILE);
    dim3 b32(32, 32);
    dim3 g32(N / 32, N / 32);
    dim3 g64(N / 64, N / 64);
    bool ok = true;
    step0_naive_rows<<<g16, b16>>>(A, B, C, N);
    ok &= verify("naive rows", C, ref);
    step1_naive_cols<<<g16, b16>>>(A, B, C, N);
    ok &= verify("naive cols", C, ref);
    step2_tiled<<<g16, b16>>>(A, B, C, N);
    ok &= verify("tiled", C, ref);
    transpose_simple<<<g16, b16>>>(B, BT, N);
    step3_tiled_bt<<<g32, b32>>>(A, BT, C, N);
    ok &= verify("tiled B^T", C, ref);
    step4_regtile_1d<<<g64, 512>>>(A, B, C, N);
    ok &= verify("register tile", C, ref);
    step5_vectorised<<<g64, 256>>>(A, B, C, N);
    ok &= verify("vectorised", C, ref);

    cudaFree(A);
    cudaFree(B);
    cudaFree(C);
    cudaFree(BT);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
