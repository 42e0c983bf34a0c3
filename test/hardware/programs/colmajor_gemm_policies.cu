// BLAS-flavoured column-major kernels: naive GEMM, tile-policy GEMM with double buffering,
// lower-triangular SYRK and a transposed GEMV. Leading dimensions are explicit.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define IDX(i, j, ld) ((size_t)(j) * (ld) + (i))

#define CUDA_TRY(e)                                                                     \
    if (cudaError_t err_ = (e)) {                                                       \
        fprintf(stderr, "%s failed at %d: %s\n", #e, __LINE__, cudaGetErrorString(err_)); \
        exit(-1);                                                                       \
    }

template <int BM_, int BN_, int BK_, int TM_, int TN_>
struct TilePolicy {
    enum { BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_ };
    enum { ThreadsM = BM / TM, ThreadsN = BN / TN, Threads = ThreadsM * ThreadsN };
    enum { LoadsA = BM * BK / 4 / Threads, LoadsB = BK * BN / 4 / Threads };
    static_assert(LoadsA * Threads * 4 == BM * BK, "A tile must split evenly");
    static_assert(LoadsB * Threads * 4 == BK * BN, "B tile must split evenly");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "float4 fragments");
};
typedef TilePolicy<64, 64, 16, 4, 4> SmallTile;
typedef TilePolicy<128, 64, 16, 8, 4> TallTile;

// first version everybody writes, row index on threadIdx.y although storage is column-major
__global__ void gemmNaive(int m, int n, int k, float alpha, const float* A, int lda, const float* B, int ldb,
                          float beta, float* C, int ldc) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) sum += A[IDX(row, p, lda)] * B[IDX(p, col, ldb)];
    C[IDX(row, col, ldc)] = alpha * sum + beta * C[IDX(row, col, ldc)];
}

template <class P>
__global__ void __launch_bounds__(P::Threads)
gemmTiled(int k, float alpha, const float* __restrict__ A, int lda, const float* __restrict__ B, int ldb,
          float beta, float* __restrict__ C, int ldc) {
    __shared__ __align__(16) float As[2][P::BK][P::BM];
    __shared__ __align__(16) float Bs[2][P::BK][P::BN + 4];

    const int tid = threadIdx.x;
    const int tm = tid % P::ThreadsM, tn = tid / P::ThreadsM;
    const int row0 = blockIdx.x * P::BM, col0 = blockIdx.y * P::BN;
    float4 ra[P::LoadsA], rb[P::LoadsB];
    float acc[P::TM][P::TN] = {};

    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < P::LoadsA; ++i) {
            const int v = tid + i * P::Threads, r = v % (P::BM / 4) * 4, kk = v / (P::BM / 4);
            ra[i] = *reinterpret_cast<const float4*>(&A[IDX(row0 + r, k0 + kk, lda)]);
        }
#pragma unroll
        for (int i = 0; i < P::LoadsB; ++i) {
            const int v = tid + i * P::Threads, kk = v % (P::BK / 4) * 4, c = v / (P::BK / 4);
            rb[i] = *reinterpret_cast<const float4*>(&B[IDX(k0 + kk, col0 + c, ldb)]);
        }
    };
    auto stash = [&](int buf) {
#pragma unroll
        for (int i = 0; i < P::LoadsA; ++i) {
            const int v = tid + i * P::Threads, r = v % (P::BM / 4) * 4, kk = v / (P::BM / 4);
            *reinterpret_cast<float4*>(&As[buf][kk][r]) = ra[i];
        }
#pragma unroll
        for (int i = 0; i < P::LoadsB; ++i) {
            const int v = tid + i * P::Threads, kk = v % (P::BK / 4) * 4, c = v / (P::BK / 4);
            Bs[buf][kk + 0][c] = rb[i].x;
            Bs[buf][kk + 1][c] = rb[i].y;
            Bs[buf][kk + 2][c] = rb[i].z;
            Bs[buf][kk + 3][c] = rb[i].w;
        }
    };

    fetch(0);
    stash(0);
    __syncthreads();
    int buf = 0;
    for (int k0 = 0; k0 < k; k0 += P::BK) {
        const bool more = k0 + P::BK < k;
        if (more) fetch(k0 + P::BK);
#pragma unroll
        for (int kk = 0; kk < P::BK; ++kk) {
            __align__(16) float a[P::TM];
            __align__(16) float b[P::TN];
#pragma unroll
            for (int i = 0; i < P::TM; i += 4)
                *reinterpret_cast<float4*>(&a[i]) = *reinterpret_cast<const float4*>(&As[buf][kk][tm * P::TM + i]);
#pragma unroll
            for (int j = 0; j < P::TN; j += 4)
                *reinterpret_cast<float4*>(&b[j]) = *reinterpret_cast<const float4*>(&Bs[buf][kk][tn * P::TN + j]);
#pragma unroll
            for (int i = 0; i < P::TM; ++i)
#pragma unroll
                for (int j = 0; j < P::TN; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
        if (more) stash(buf ^ 1);
        __syncthreads();
        buf ^= 1;
    }

#pragma unroll
    for (int j = 0; j < P::TN; ++j) {
        float* c = &C[IDX(row0 + tm * P::TM, col0 + tn * P::TN + j, ldc)];
#pragma unroll
        for (int i = 0; i < P::TM; i += 4) {
            float4 o = *reinterpret_cast<float4*>(c + i);
            o.x = alpha * acc[i + 0][j] + beta * o.x;
            o.y = alpha * acc[i + 1][j] + beta * o.y;
            o.z = alpha * acc[i + 2][j] + beta * o.z;
            o.w = alpha * acc[i + 3][j] + beta * o.w;
            *reinterpret_cast<float4*>(c + i) = o;
        }
    }
}

// S = A * A^T, lower part only. 16x16 tiles, blocks above the diagonal leave at once.
__global__ void syrkLower(int n, int k, const float* A, int lda, float* S, int lds) {
    if (blockIdx.y > blockIdx.x) return;
    __shared__ float L[16][16], R[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
    float s = 0.f;
    for (int p = 0; p < k; p += 16) {
        L[tx][ty] = A[IDX(i, p + ty, lda)];
        R[ty][tx] = A[IDX(blockIdx.y * 16 + tx, p + ty, lda)];
        __syncthreads();
        for (int q = 0; q < 16; ++q) s += L[tx][q] * R[q][ty];
        __syncthreads();
    }
    if (i >= j) S[IDX(i, j, lds)] = s;
}

// y = A^T x, a warp per column
__global__ void gemvT(int m, int n, const float* __restrict__ A, int lda, const float* __restrict__ x, float* __restrict__ y) {
    const int col = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (col >= n) return;
    float s = 0.f;
    for (int i = lane; i < m; i += 32) s += A[IDX(i, col, lda)] * x[i];
    for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffff, s, o);
    if (lane == 0) y[col] = s;
}

enum Variant { NAIVE, SMALL, TALL };

static void launchGemm(Variant v, int m, int n, int k, float alpha, const float* A, int lda, const float* B, int ldb,
                       float beta, float* C, int ldc) {
    switch (v) {
    case NAIVE:
        gemmNaive<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8)>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
        break;
    case SMALL:
        gemmTiled<SmallTile><<<dim3(m / SmallTile::BM, n / SmallTile::BN), SmallTile::Threads>>>(k, alpha, A, lda, B, ldb, beta, C, ldc);
        break;
    case TALL:
        gemmTiled<TallTile><<<dim3(m / TallTile::BM, n / TallTile::BN), TallTile::Threads>>>(k, alpha, A, lda, B, ldb, beta, C, ldc);
        break;
    }
    CUDA_TRY(cudaGetLastError());
}

int main(int argc, char** argv) {
    const int scale = argc > 1 ? atoi(argv[1]) : 4;
    const int M = 128 * scale, N = 128 * scale, K = 64 * scale;
    const int lda = M + 8, ldb = K + 4, ldc = M;
    const float alpha = 1.5f, beta = -0.5f;
    std::vector<float> A((size_t)lda * K), B((size_t)ldb * N), C((size_t)ldc * N), x(M);
    for (size_t i = 0; i < A.size(); ++i) A[i] = (float)((i * 37 + 11) % 101) / 50.f - 1.f;
    for (size_t i = 0; i < B.size(); ++i) B[i] = (float)((i * 53 + 29) % 97) / 48.f - 1.f;
    for (size_t i = 0; i < C.size(); ++i) C[i] = (float)(i % 13) / 13.f;
    for (int i = 0; i < M; ++i) x[i] = (float)(i % 9) - 4.f;

    float *dA, *dB, *dC, *dS, *dx, *dy;
    CUDA_TRY(cudaMalloc(&dA, A.size() * sizeof(float)));
    CUDA_TRY(cudaMalloc(&dB, B.size() * sizeof(float)));
    CUDA_TRY(cudaMalloc(&dC, C.size() * sizeof(float)));
    CUDA_TRY(cudaMalloc(&dS, (size_t)M * M * sizeof(float)));
    CUDA_TRY(cudaMalloc(&dx, M * sizeof(float)));
    CUDA_TRY(cudaMalloc(&dy, K * sizeof(float)));
    CUDA_TRY(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(dx, x.data(), M * sizeof(float), cudaMemcpyHostToDevice));

    std::vector<double> ref(C.size(), 0.0);
    for (int j = 0; j < N; ++j)
        for (int p = 0; p < K; ++p) {
            const double b = B[IDX(p, j, ldb)];
            for (int i = 0; i < M; ++i) ref[IDX(i, j, ldc)] += A[IDX(i, p, lda)] * b;
        }
    int bad = 0;
    std::vector<float> got(C.size());
    for (Variant v : {NAIVE, SMALL, TALL}) {
        CUDA_TRY(cudaMemcpy(dC, C.data(), C.size() * sizeof(float), cudaMemcpyHostToDevice));
        launchGemm(v, M, N, K, alpha, dA, lda, dB, ldb, beta, dC, ldc);
        CUDA_TRY(cudaMemcpy(got.data(), dC, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < got.size(); ++i) bad += !(fabs(alpha * ref[i] + beta * C[i] - got[i]) < 5e-3);
    }

    syrkLower<<<dim3(M / 16, M / 16), dim3(16, 16)>>>(M, K, dA, lda, dS, M);
    gemvT<<<(K + 7) / 8, 256>>>(M, K, dA, lda, dx, dy);
    CUDA_TRY(cudaGetLastError());
    std::vector<float> S((size_t)M * M), y(K);
    CUDA_TRY(cudaMemcpy(S.data(), dS, S.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(y.data(), dy, K * sizeof(float), cudaMemcpyDeviceToHost));
    for (int j = 0; j < M; j += 7)
        for (int i = j; i < M; ++i) {
            double s = 0;
            for (int p = 0; p < K; ++p) s += (double)A[IDX(i, p, lda)] * A[IDX(j, p, lda)];
            bad += !(fabs(s - S[IDX(i, j, M)]) < 5e-3);
        }
    for (int p = 0; p < K; ++p) {
        double s = 0;
        for (int i = 0; i < M; ++i) s += (double)A[IDX(i, p, lda)] * x[i];
        bad += !(fabs(s - y[p]) < 1e-2);
    }
    cudaFree(dA); cudaFree(dB); cudaFree(dC); cudaFree(dS); cudaFree(dx); cudaFree(dy);
    if (bad) { printf("FAILED (%d)\n", bad); return 1; }
    printf("OK\n");
    return 0;
}
