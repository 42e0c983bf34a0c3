// W8A8 linear layer: per-row activation quantisation, int8 weights, dp4a GEMM (naive, tiled), fused bias+SiLU dequant.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <cstdint>

template <int BS>
__global__ void quantize_rows(const __half* __restrict__ x, int8_t* __restrict__ q, float* __restrict__ scale, int cols) {
    __shared__ float red[BS / 32];
    const __half2* row = reinterpret_cast<const __half2*>(x + (size_t)blockIdx.x * cols);
    float m = 0.f;
    for (int c = threadIdx.x; c < cols / 2; c += BS) {
        float2 v = __half22float2(row[c]);
        m = fmaxf(m, fmaxf(fabsf(v.x), fabsf(v.y)));
    }
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = m;
    __syncthreads();
    m = red[0];
#pragma unroll
    for (int i = 1; i < BS / 32; ++i) m = fmaxf(m, red[i]);
    float s = m / 127.f, inv = m > 0 ? 127.f / m : 0.f;
    if (threadIdx.x == 0) scale[blockIdx.x] = s;
    char2* out = reinterpret_cast<char2*>(q + (size_t)blockIdx.x * cols);
    for (int c = threadIdx.x; c < cols / 2; c += BS) {
        float2 v = __half22float2(row[c]);
        out[c] = make_char2((char)__float2int_rn(v.x * inv), (char)__float2int_rn(v.y * inv));
    }
}

// C[m][n] = sum_k A[m][k] W[n][k];  one thread per output, W rows read with stride K across a warp
__global__ void igemm_naive(const int* __restrict__ A, const int* __restrict__ W, int* C, int M, int N, int K4) {
    int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
    if (m >= M || n >= N) return;
    int acc = 0;
    for (int k = 0; k < K4; ++k) acc = __dp4a(A[m * K4 + k], W[n * K4 + k], acc);
    C[m * N + n] = acc;
}

template <int BM, int BN, int BK4, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
igemm_tiled(const int* __restrict__ A, const int* __restrict__ W, int* __restrict__ C, int M, int N, int K4) {
    constexpr int NT = (BM / TM) * (BN / TN);
    __shared__ int as[BK4][BM + 1], ws[BK4][BN + 1];
    const int tx = threadIdx.x % (BN / TN), ty = threadIdx.x / (BN / TN);
    int acc[TM][TN] = {};
    for (int k0 = 0; k0 < K4; k0 += BK4) {
        for (int i = threadIdx.x; i < BM * BK4; i += NT) {
            int r = i / BK4, c = i % BK4, gm = blockIdx.y * BM + r;
            as[c][r] = gm < M ? A[gm * K4 + k0 + c] : 0;
        }
        for (int i = threadIdx.x; i < BN * BK4; i += NT) {
            int r = i / BK4, c = i % BK4, gn = blockIdx.x * BN + r;
            ws[c][r] = gn < N ? W[gn * K4 + k0 + c] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK4; ++k) {
            int a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) a[i] = as[k][ty + i * (BM / TM)];
#pragma unroll
            for (int j = 0; j < TN; ++j) b[j] = ws[k][tx + j * (BN / TN)];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] = __dp4a(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            int m = blockIdx.y * BM + ty + i * (BM / TM), n = blockIdx.x * BN + tx + j * (BN / TN);
            if (m < M && n < N) C[m * N + n] = acc[i][j];
        }
}

__global__ void dequant_bias_silu(const int* __restrict__ C, const float* __restrict__ sa, const float* __restrict__ sw,
                                  const float* __restrict__ bias, __half* __restrict__ y, int M, int N) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    float w = sw[n], b = bias[n];
    for (int m = blockIdx.y; m < M; m += gridDim.y) {
        float v = C[m * N + n] * sa[m] * w + b;
        y[m * N + n] = __float2half(v / (1.f + __expf(-v)));
    }
}

int main() {
    const int M = 210, N = 520, K = 768;
    std::vector<__half> x(M * K);
    std::vector<int8_t> w(N * K);
    std::vector<float> sw(N), bias(N);
    uint32_t s = 12345;
    auto rnd = [&] { s = s * 1103515245u + 12345u; return ((s >> 9) & 0xffff) / 65536.f - 0.5f; };
    for (auto& v : x) v = __float2half(3.f * rnd());
    for (auto& v : w) v = (int8_t)(rnd() * 254.f);
    for (int i = 0; i < N; ++i) { sw[i] = 0.001f * (1.5f + rnd()); bias[i] = rnd(); }
    __half *dx, *dy; int8_t *dq, *dw; float *dsa, *dsw, *db; int *c0, *c1;
    cudaMalloc(&dx, M * K * 2); cudaMalloc(&dy, M * N * 2); cudaMalloc(&dq, M * K); cudaMalloc(&dw, N * K);
    cudaMalloc(&dsa, M * 4); cudaMalloc(&dsw, N * 4); cudaMalloc(&db, N * 4); cudaMalloc(&c0, M * N * 4); cudaMalloc(&c1, M * N * 4);
    cudaMemcpy(dx, x.data(), M * K * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dw, w.data(), N * K, cudaMemcpyHostToDevice);
    cudaMemcpy(dsw, sw.data(), N * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(db, bias.data(), N * 4, cudaMemcpyHostToDevice);
    quantize_rows<128><<<M, 128>>>(dx, dq, dsa, K);
    igemm_naive<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>((int*)dq, (int*)dw, c0, M, N, K / 4);
    igemm_tiled<64, 64, 16, 4, 4><<<dim3((N + 63) / 64, (M + 63) / 64), 256>>>((int*)dq, (int*)dw, c1, M, N, K / 4);
    dequant_bias_silu<<<dim3((N + 127) / 128, 32), 128>>>(c1, dsa, dsw, db, dy, M, N);
    std::vector<int8_t> q(M * K); std::vector<float> sa(M); std::vector<int> r0(M * N), r1(M * N); std::vector<__half> y(M * N);
    cudaMemcpy(q.data(), dq, M * K, cudaMemcpyDeviceToHost);
    cudaMemcpy(sa.data(), dsa, M * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(r0.data(), c0, M * N * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(r1.data(), c1, M * N * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(y.data(), dy, M * N * 2, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0;
    for (int i = 0; i < M * K; ++i)
        if (fabs(q[i] * sa[i / K] - __half2float(x[i])) > 0.51f * sa[i / K] + 1e-6f) ++bad;
    for (int m = 0; m < M; ++m) for (int n = 0; n < N; ++n) {
        int acc = 0;
        for (int k = 0; k < K; ++k) acc += (int)q[m * K + k] * w[n * K + k];
        if (acc != r0[m * N + n] || acc != r1[m * N + n]) ++bad;
        double v = (double)acc * sa[m] * sw[n] + bias[n], z = v / (1 + exp(-v));
        if (fabs(z - __half2float(y[m * N + n])) > 2e-3 * fabs(z) + 1e-3) ++bad;
    }
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
