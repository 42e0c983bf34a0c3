// int8 GEMM with dp4a and a 4x4 register tile, plus a requantisation epilogue.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t err__ = (call);                                                \
    if (err__ != cudaSuccess) {                                                \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err__)); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK4 = 8;       // 8 packed words = 32 int8 values
constexpr int TM = 4;
constexpr int TN = 4;

// pack a row-major float matrix to int8, four consecutive k per word
__global__ void quantize_rows(const float* __restrict__ src, int* __restrict__ dst,
                              int rows, int k4, float inv_scale)
{
    int row = blockIdx.y;
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < k4; c += gridDim.x * blockDim.x) {
        float4 v = reinterpret_cast<const float4*>(src)[row * k4 + c];
        int a = max(-127, min(127, __float2int_rn(v.x * inv_scale)));
        int b = max(-127, min(127, __float2int_rn(v.y * inv_scale)));
        int g = max(-127, min(127, __float2int_rn(v.z * inv_scale)));
        int d = max(-127, min(127, __float2int_rn(v.w * inv_scale)));
        dst[row * k4 + c] = (a & 0xff) | ((b & 0xff) << 8) | ((g & 0xff) << 16) | (d << 24);
    }
}

// C[m][n] = sum_k A[m][k] * B[n][k]   (both K-major)
__global__ void __launch_bounds__(256) igemm_nt(const int* __restrict__ A, const int* __restrict__ B,
                                               int* __restrict__ C, int M, int N, int K4)
{
    __shared__ int As[BK4][BM + 1];
    __shared__ int Bs[BK4][BN + 1];

    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN);
    const int ty = tid / (BN / TN);
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;

    int acc[TM][TN] = {};

    for (int k0 = 0; k0 < K4; k0 += BK4) {
        #pragma unroll
        for (int i = tid; i < BM * BK4; i += 256) {
            int kk = i % BK4, r = i / BK4;
            As[kk][r] = (m0 + r < M && k0 + kk < K4) ? A[(m0 + r) * K4 + k0 + kk] : 0;
            Bs[kk][r] = (n0 + r < N && k0 + kk < K4) ? B[(n0 + r) * K4 + k0 + kk] : 0;
        }
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < BK4; ++kk) {
            int a[TM], b[TN];
            #pragma unroll
            for (int i = 0; i < TM; ++i) a[i] = As[kk][ty * TM + i];
            #pragma unroll
            for (int j = 0; j < TN; ++j) b[j] = Bs[kk][tx + j * (BN / TN)];
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; ++j)
                    acc[i][j] = __dp4a(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        int m = m0 + ty * TM + i;
        if (m >= M) break;
        for (int j = 0; j < TN; ++j) {
            int n = n0 + tx + j * (BN / TN);
            if (n < N) C[m * N + n] = acc[i][j];
        }
    }
}

__global__ void requant(const int* __restrict__ acc, const int* __restrict__ bias,
                        signed char* __restrict__ out, int M, int N, float scale)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    int b = bias[n];
    for (int m = blockIdx.y; m < M; m += gridDim.y) {
        float f = (acc[m * N + n] + b) * scale;
        out[m * N + n] = (signed char)max(-128, min(127, __float2int_rn(f)));
    }
}

int main()
{
    const int M = 200, N = 136, K = 224, K4 = K / 4;
    std::vector<float> a(M * K), b(N * K);
    std::vector<int> bias(N);
    srand(7);
    for (auto& x : a) x = (rand() % 2001 - 1000) * 0.001f;
    for (auto& x : b) x = (rand() % 2001 - 1000) * 0.001f;
    for (auto& x : bias) x = rand() % 512 - 256;
    float *dA, *dB; int *qA, *qB, *dC, *dBias; signed char* dO;
    CHECK(cudaMalloc(&dA, a.size() * 4)); CHECK(cudaMalloc(&dB, b.size() * 4));
    CHECK(cudaMalloc(&qA, M * K)); CHECK(cudaMalloc(&qB, N * K));
    CHECK(cudaMalloc(&dC, M * N * 4)); CHECK(cudaMalloc(&dBias, N * 4)); CHECK(cudaMalloc(&dO, M * N));
    CHECK(cudaMemcpy(dA, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, b.data(), b.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dBias, bias.data(), N * 4, cudaMemcpyHostToDevice));

    quantize_rows<<<dim3(1, M), 64>>>(dA, qA, M, K4, 127.f);
    quantize_rows<<<dim3(1, N), 32>>>(dB, qB, N, K4, 127.f);
    igemm_nt<<<dim3((N + BN - 1) / BN, (M + BM - 1) / BM), 256>>>(qA, qB, dC, M, N, K4);
    requant<<<dim3((N + 95) / 96, 25), 96>>>(dC, dBias, dO, M, N, 1.f / 2048.f);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    std::vector<int> c(M * N);
    std::vector<signed char> qa(M * K), qb(N * K), o(M * N);
    CHECK(cudaMemcpy(c.data(), dC, M * N * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(qa.data(), qA, M * K, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(qb.data(), qB, N * K, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(o.data(), dO, M * N, cudaMemcpyDeviceToHost));
    int bad = 0; long sum = 0;
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            int s = 0;
            for (int k = 0; k < K; ++k) s += int(qa[m * K + k]) * int(qb[n * K + k]);
            if (s != c[m * N + n]) ++bad;
            sum += o[m * N + n];
        }
    printf("mismatches %d, checksum %ld\n", bad, sum);
    return bad ? 1 : 0;
}
