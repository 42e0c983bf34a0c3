// C = A * B and friends with register blocking; A may come transposed.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace blas {

enum class Trans { No, Yes };

template <int BM_, int BN_, int BK_, int TM_, int TN_>
struct Tiling {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
    static constexpr int kThreads = (BM / TM) * (BN / TN);
    static_assert(BM * BK % kThreads == 0 && BN * BK % kThreads == 0);
};

// m, n, k are multiples of the tile
template <class Tile, Trans TA>
__global__ __launch_bounds__(Tile::kThreads) void gemm(int m, int n, int k, float alpha, const float *__restrict__ A, const float *__restrict__ B,
                                                       float beta, float *__restrict__ C)
{
    using T = Tile;
    __shared__ float As[T::BK][T::BM];
    __shared__ float Bs[T::BK][T::BN];
    const int tid = threadIdx.x;
    const int tx = tid % (T::BN / T::TN), ty = tid / (T::BN / T::TN);
    const int m0 = blockIdx.y * T::BM, n0 = blockIdx.x * T::BN;

    float acc[T::TM][T::TN] = {};
    for (int kk = 0; kk < k; kk += T::BK) {
#pragma unroll
        for (int e = tid; e < T::BM * T::BK; e += T::kThreads) {
            if constexpr (TA == Trans::No) {
                const int row = e / T::BK, col = e % T::BK;
                As[col][row] = A[(m0 + row) * k + kk + col];
            } else {
                const int row = e % T::BM, col = e / T::BM;
                As[col][row] = A[(kk + col) * m + m0 + row];
            }
        }
#pragma unroll
        for (int e = tid; e < T::BN * T::BK; e += T::kThreads)
            Bs[e / T::BN][e % T::BN] = B[(kk + e / T::BN) * n + n0 + e % T::BN];
        __syncthreads();
#pragma unroll
        for (int p = 0; p < T::BK; ++p) {
            float a[T::TM], b[T::TN];
#pragma unroll
            for (int i = 0; i < T::TM; ++i) a[i] = As[p][ty * T::TM + i];
#pragma unroll
            for (int j = 0; j < T::TN; ++j) b[j] = Bs[p][tx * T::TN + j];
#pragma unroll
            for (int i = 0; i < T::TM; ++i)
#pragma unroll
                for (int j = 0; j < T::TN; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
        float *row = C + (m0 + ty * T::TM + i) * n + n0 + tx * T::TN;
#pragma unroll
        for (int j = 0; j < T::TN; ++j) row[j] = alpha * acc[i][j] + beta * row[j];
    }
}

// y = A x, a warp a row, four at a time
__global__ void gemvRow(int m, int n, const float *__restrict__ A, const float *__restrict__ x, float *__restrict__ y)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (row >= m) return;
    const float4 *a4 = reinterpret_cast<const float4 *>(A + static_cast<size_t>(row) * n);
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    float s = 0;
    for (int i = lane; i < n / 4; i += 32) {
        const float4 a = a4[i], v = x4[i];
        s += a.x * v.x + a.y * v.y + a.z * v.z + a.w * v.w;
    }
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
    if (lane == 0) y[row] = s;
}

// y = A^T x, a thread a column, partial sums over a slab of rows
template <int SLAB>
__global__ void gemvColumn(int m, int n, const float *__restrict__ A, const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float xs[SLAB];
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int r0 = blockIdx.y * SLAB;
    for (int i = threadIdx.x; i < SLAB; i += blockDim.x) xs[i] = r0 + i < m ? x[r0 + i] : 0.0f;
    __syncthreads();
    if (col >= n) return;
    float s = 0;
    const int last = min(SLAB, m - r0);
    for (int i = 0; i < last; ++i) s += A[static_cast<size_t>(r0 + i) * n + col] * xs[i];
    atomicAdd(&y[col], s);
}

template <class Tile, Trans TA>
void launchGemm(int m, int n, int k, float alpha, const float *A, const float *B, float beta, float *C)
{
    gemm<Tile, TA><<<dim3(n / Tile::BN, m / Tile::BM), Tile::kThreads>>>(m, n, k, alpha, A, B, beta, C);
}

}  // namespace blas

static void ok(cudaError_t e)
{
    if (e != cudaSuccess) { std::printf("cuda: %s\n", cudaGetErrorString(e)); std::exit(9); }
}

int main()
{
    const int m = 256, n = 384, k = 320;
    auto fill = [](std::vector<float> &v, uint32_t seed) {
        for (auto &f : v) { seed = seed * 1664525u + 1013904223u; f = static_cast<int>(seed >> 24) / 128.0f - 1.0f; }
    };
    std::vector<float> A(m * k), At(m * k), B(k * n), C(m * n), got(m * n), want(m * n);
    fill(A, 1); fill(B, 2); fill(C, 3);
    for (int i = 0; i < m; ++i)
        for (int p = 0; p < k; ++p) At[p * m + i] = A[i * k + p];
    for (int i = 0; i < m; ++i)
        for (int p = 0; p < k; ++p)
            for (int j = 0; j < n; ++j) want[i * n + j] += A[i * k + p] * B[p * n + j];

    float *dA, *dAt, *dB, *dC, *dy;
    ok(cudaMalloc(&dA, A.size() * 4)); ok(cudaMalloc(&dAt, At.size() * 4)); ok(cudaMalloc(&dB, B.size() * 4));
    ok(cudaMalloc(&dC, C.size() * 4)); ok(cudaMalloc(&dy, n * 4));
    ok(cudaMemcpy(dA, A.data(), A.size() * 4, cudaMemcpyHostToDevice));
    ok(cudaMemcpy(dAt, At.data(), At.size() * 4, cudaMemcpyHostToDevice));
    ok(cudaMemcpy(dB, B.data(), B.size() * 4, cudaMemcpyHostToDevice));

    int failures = 0;
    auto run = [&](const char *name, auto launch) {
        ok(cudaMemcpy(dC, C.data(), C.size() * 4, cudaMemcpyHostToDevice));
        launch();
        ok(cudaGetLastError());
        ok(cudaMemcpy(got.data(), dC, got.size() * 4, cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int i = 0; i < m * n; ++i) worst = std::fmax(worst, std::fabs(got[i] - (0.5f * want[i] - 0.25f * C[i])));
        std::printf("%-14s %.2e\n", name, worst);
        failures += !(worst < 1e-3);
    };
    using Small = blas::Tiling<64, 64, 8, 4, 4>;
    using Large = blas::Tiling<128, 64, 8, 8, 8>;
    run("64x64 4x4", [&] { blas::launchGemm<Small, blas::Trans::No>(m, n, k, 0.5f, dA, dB, -0.25f, dC); });
    run("128x64 8x8", [&] { blas::launchGemm<Large, blas::Trans::No>(m, n, k, 0.5f, dA, dB, -0.25f, dC); });
    run("128x64 8x8 T", [&] { blas::launchGemm<Large, blas::Trans::Yes>(m, n, k, 0.5f, dAt, dB, -0.25f, dC); });

    // B is k x n: y1 = B x (length k), y2 = B^T z (length n)
    std::vector<float> y(n);
    blas::gemvRow<<<(k * 32 + 255) / 256, 256>>>(k, n, dB, dC, dy);
    std::vector<float> x(n);
    ok(cudaMemcpy(x.data(), dC, n * 4, cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(y.data(), dy, k * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < k; ++i) {
        double s = 0;
        for (int j = 0; j < n; ++j) s += double(B[i * n + j]) * x[j];
        failures += !(std::fabs(s - y[i]) < 1e-2);
    }
    ok(cudaMemset(dy, 0, n * 4));
    blas::gemvColumn<96><<<dim3((n + 127) / 128, (k + 95) / 96), 128>>>(k, n, dB, dC, dy);
    ok(cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost));
    for (int j = 0; j < n; ++j) {
        double s = 0;
        for (int i = 0; i < k; ++i) s += double(B[i * n + j]) * x[i];
        failures += !(std::fabs(s - y[j]) < 1e-2);
    }
    std::printf("%s\n", failures == 0 ? "OK" : "FAILED");
    return failures ? 1 : 0;
}
