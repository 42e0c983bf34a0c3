// Matrix product with tiles fetched by asynchronous copies, double buffered.
#include <cuda_pipeline.h>
#include "common.h"

constexpr int BM = 64, BN = 64, BK = 16, PAD = 4;

struct alignas(16) Stage {
    float a[BM][BK + PAD];
    float b[BK][BN];
};

__device__ void fetch(Stage &s, const float *A, const float *B, int k0, int K, int N)
{
    const int t = threadIdx.x;
    const int ar = t / 4, ac = t % 4 * 4;
    __pipeline_memcpy_async(&s.a[ar][ac], A + (blockIdx.y * BM + ar) * K + k0 + ac, 16);
    const int br = t / 16, bc = t % 16 * 4;
    __pipeline_memcpy_async(&s.b[br][bc], B + (k0 + br) * N + blockIdx.x * BN + bc, 16);
    __pipeline_commit();
}

__global__ void __launch_bounds__(256) gemmAsync(const float *A, const float *B, float *C, int N, int K)
{
    __shared__ Stage stages[2];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float acc[4][4] = {};

    fetch(stages[0], A, B, 0, K, N);
    const int steps = K / BK;
    for (int step = 0; step < steps; ++step) {
        if (step + 1 < steps) {
            fetch(stages[(step + 1) & 1], A, B, (step + 1) * BK, K, N);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        const Stage &s = stages[step & 1];
        for (int k = 0; k < BK; ++k) {
            float4 b = *reinterpret_cast<const float4 *>(&s.b[k][tx * 4]);
            for (int i = 0; i < 4; ++i) {
                float a = s.a[ty * 4 + i][k];
                acc[i][0] += a * b.x;
                acc[i][1] += a * b.y;
                acc[i][2] += a * b.z;
                acc[i][3] += a * b.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        float4 r = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        *reinterpret_cast<float4 *>(&C[(blockIdx.y * BM + ty * 4 + i) * N + blockIdx.x * BN + tx * 4]) = r;
    }
}

// The copy alone, 4 bytes at a time, with a stride between the lanes' source words.
__global__ void asyncGather(const float *in, float *out, int pitch)
{
    __shared__ float column[128];
    __pipeline_memcpy_async(&column[threadIdx.x], &in[threadIdx.x * pitch + blockIdx.x], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[blockIdx.x * 128 + threadIdx.x] = column[127 - threadIdx.x];
}

int main()
{
    const int M = 256, N = 384, K = 320;
    std::vector<float> a = randomFloats(M * K, 1), b = randomFloats(K * N, 2), want(M * N, 0.0f);
    for (int i = 0; i < M; ++i)
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < N; ++j)
                want[i * N + j] += a[i * K + k] * b[k * N + j];
    float *A = toDevice(a), *B = toDevice(b), *C = deviceZeros<float>(M * N);
    bool ok = true;
    gemmAsync<<<dim3(N / BN, M / BM), 256>>>(A, B, C, N, K);
    ok &= report("gemmAsync", allNear(toHost(C, M * N), want, 1e-4));

    std::vector<float> gathered(200 * 128);
    for (int c = 0; c < 200; ++c)
        for (int t = 0; t < 128; ++t)
            gathered[c * 128 + t] = a[(127 - t) * K + c];
    asyncGather<<<200, 128>>>(A, C, K);
    ok &= report("asyncGather", allNear(toHost(C, gathered.size()), gathered, 0));
    return ok ? 0 : 1;
}
