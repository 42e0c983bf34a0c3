// Half-precision matrix product on the tensor cores through the WMMA interface.
#include <mma.h>
#include "common.h"
using namespace nvcuda;

const int WM = 16, WN = 16, WK = 16;

// One warp a 16 x 16 tile of C, straight from global memory.
__global__ void wmmaGlobal(const half *a, const half *b, float *c, int M, int N, int K)
{
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int warpN = blockIdx.y * blockDim.y + threadIdx.y;

    wmma::fragment<wmma::matrix_a, WM, WN, WK, half, wmma::row_major> aFrag;
    wmma::fragment<wmma::matrix_b, WM, WN, WK, half, wmma::row_major> bFrag;
    wmma::fragment<wmma::accumulator, WM, WN, WK, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += WK) {
        wmma::load_matrix_sync(aFrag, a + warpM * WM * K + k, K);
        wmma::load_matrix_sync(bFrag, b + k * N + warpN * WN, N);
        wmma::mma_sync(acc, aFrag, bFrag, acc);
    }
    wmma::store_matrix_sync(c + warpM * WM * N + warpN * WN, acc, N, wmma::mem_row_major);
}

// The block stages both operands in padded shared memory.
#define SKEW 8
__global__ void wmmaShared(const half *a, const half *b, float *c, int N, int K)
{
    __shared__ __align__(32) half sa[64][WK + SKEW];
    __shared__ __align__(32) half sb[WK][64 + SKEW];
    int warp = threadIdx.x / 32;
    int rowTile = warp / 4, colTile = warp % 4;

    wmma::fragment<wmma::accumulator, WM, WN, WK, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += WK) {
        if (threadIdx.x < 128)
            *(uint4 *)&sa[threadIdx.x / 2][threadIdx.x % 2 * 8] =
                *(const uint4 *)&a[(blockIdx.y * 64 + threadIdx.x / 2) * K + k + threadIdx.x % 2 * 8];
        else if (threadIdx.x < 256) {
            int t = threadIdx.x - 128;
            *(uint4 *)&sb[t / 8][t % 8 * 8] = *(const uint4 *)&b[(k + t / 8) * N + blockIdx.x * 64 + t % 8 * 8];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, WM, WN, WK, half, wmma::row_major> aFrag;
        wmma::fragment<wmma::matrix_b, WM, WN, WK, half, wmma::row_major> bFrag;
        wmma::load_matrix_sync(aFrag, &sa[rowTile * 16][0], WK + SKEW);
        wmma::load_matrix_sync(bFrag, &sb[0][colTile * 16], 64 + SKEW);
        wmma::mma_sync(acc, aFrag, bFrag, acc);
        __syncthreads();
    }
    wmma::store_matrix_sync(c + (blockIdx.y * 64 + rowTile * 16) * N + blockIdx.x * 64 + colTile * 16, acc, N, wmma::mem_row_major);
}

int main()
{
    const int M = 128, N = 256, K = 192;
    std::vector<float> a = randomFloats(M * K, 1), b = randomFloats(K * N, 2), want(M * N, 0.0f);
    std::vector<half> ha(M * K), hb(K * N);
    for (int i = 0; i < M * K; ++i) { ha[i] = __float2half(a[i]); a[i] = __half2float(ha[i]); }
    for (int i = 0; i < K * N; ++i) { hb[i] = __float2half(b[i]); b[i] = __half2float(hb[i]); }
    for (int i = 0; i < M; ++i)
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < N; ++j)
                want[i * N + j] += a[i * K + k] * b[k * N + j];
    half *A = toDevice(ha), *B = toDevice(hb);
    float *C = deviceZeros<float>(M * N);
    bool ok = true;
    wmmaGlobal<<<dim3(M / 16 / 4, N / 16 / 2), dim3(128, 2)>>>(A, B, C, M, N, K);
    ok &= report("wmmaGlobal", allNear(toHost(C, M * N), want, 1e-3));
    CUDA_OK(cudaMemset(C, 0, M * N * sizeof(float)));
    wmmaShared<<<dim3(N / 64, M / 64), 512>>>(A, B, C, N, K);
    ok &= report("wmmaShared", allNear(toHost(C, M * N), want, 1e-3));
    return ok ? 0 : 1;
}
