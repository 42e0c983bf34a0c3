/*
    Batched tall-skinny QR (communication avoiding), single precision.

    For every matrix A_k (m x n, column major, leading dimension ldda) of the batch:
      SGEQR2 of each nb-row tile in shared memory        -> small R factors
      binary tree of SGEQR2 on two stacked triangles     -> one R
      Q = A * inv(R) by forward substitution along rows  -> checked for orthogonality
    The batch has matrices of different heights; arguments are arrays of pointers and arrays of sizes.
*/
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define N_COLS 16
#define TILE_ROWS 64
#define NTHREADS 64

#define sA(i, j) sA[(i) + (j) * ldsa]
#define check_cuda(err) check_cuda_(err, __FILE__, __LINE__)
#define ceildiv(a, b) (((a) + (b) - 1) / (b))

static void check_cuda_(cudaError_t err, const char *file, int line)
{
    if (err != cudaSuccess) {
        fprintf(stderr, "%s (%d): %s\n", file, line, cudaGetErrorString(err));
        exit(EXIT_FAILURE);
    }
}

/***************************************************************************//**
    Householder QR of a rows x N_COLS matrix in shared memory, one thread per row
    for the updates. On exit the upper triangle holds R, with non-negative diagonal
    only by chance; callers fix signs when they compare.
*******************************************************************************/
template <int ROWS>
__device__ void sgeqr2_device(float *sA, const int ldsa, float *swork, const int tx)
{
    for (int j = 0; j < N_COLS; j++) {
        /* squared norm below the diagonal, tree over threads */
        float x = (tx > j && tx < ROWS) ? sA(tx, j) : 0.0f;
        swork[tx] = x * x;
        __syncthreads();
        for (int s = NTHREADS / 2; s > 0; s >>= 1) {
            if (tx < s) swork[tx] += swork[tx + s];
            __syncthreads();
        }
        const float xnorm2 = swork[0];
        const float alpha = sA(j, j);
        __syncthreads();
        if (xnorm2 == 0.0f) continue;
        const float beta = -copysignf(sqrtf(alpha * alpha + xnorm2), alpha);
        const float tau = (beta - alpha) / beta;
        const float scale = 1.0f / (alpha - beta);
        if (tx > j && tx < ROWS) sA(tx, j) = x * scale;
        if (tx == j) sA(j, j) = beta;
        __syncthreads();
        /* w_c = tau * (A(j,c) + v' A(j+1:,c)), a thread per column */
        if (tx > j && tx < N_COLS) {
            float w = sA(j, tx);
            for (int i = j + 1; i < ROWS; i++) w += sA(i, j) * sA(i, tx);
            swork[tx] = tau * w;
        }
        __syncthreads();
        /* A -= v w, a thread per row */
        if (tx >= j && tx < ROWS) {
            const float v = tx == j ? 1.0f : sA(tx, j);
            for (int c = j + 1; c < N_COLS; c++) sA(tx, c) -= v * swork[c];
        }
        __syncthreads();
    }
}

/* grid.x tiles of the tallest matrix, grid.y batch */
__global__ __launch_bounds__(NTHREADS)
void sgeqr2_tiles_vbatched_kernel(const int *m, float const *const *dA_array, const int *ldda, float **dR_array)
{
    __shared__ float sA[TILE_ROWS * N_COLS];
    __shared__ float swork[NTHREADS];
    const int ldsa = TILE_ROWS;
    const int tx = threadIdx.x;
    const int batchid = blockIdx.y;
    const int my_m = m[batchid];
    const int row0 = blockIdx.x * TILE_ROWS;
    if (row0 >= my_m) return;

    const float *dA = dA_array[batchid] + row0;
    const int lda = ldda[batchid];
    for (int j = 0; j < N_COLS; j++)
        sA(tx, j) = row0 + tx < my_m ? dA[tx + (size_t)j * lda] : 0.0f;
    __syncthreads();

    sgeqr2_device<TILE_ROWS>(sA, ldsa, swork, tx);

    float *dR = dR_array[batchid] + (size_t)blockIdx.x * N_COLS * N_COLS;
    for (int i = tx; i < N_COLS * N_COLS; i += NTHREADS) {
        const int r = i % N_COLS, c = i / N_COLS;
        dR[i] = r <= c ? sA(r, c) : 0.0f;
    }
}

/* R[p] <- qr([R[p]; R[p + stride]]) for p = 0, 2*stride, 4*stride, ... below count */
__global__ __launch_bounds__(NTHREADS)
void sgeqr2_tree_vbatched_kernel(const int *m, float **dR_array, int stride)
{
    __shared__ float sA[(2 * N_COLS + 1) * N_COLS];
    __shared__ float swork[NTHREADS];
    const int ldsa = 2 * N_COLS + 1;
    const int tx = threadIdx.x;
    const int count = ceildiv(m[blockIdx.y], TILE_ROWS);
    const int p = blockIdx.x * 2 * stride;
    if (p + stride >= count) return;

    float *upper = dR_array[blockIdx.y] + (size_t)p * N_COLS * N_COLS;
    const float *lower = upper + (size_t)stride * N_COLS * N_COLS;
    for (int i = tx; i < N_COLS * N_COLS; i += NTHREADS) {
        const int r = i % N_COLS, c = i / N_COLS;
        sA(r, c) = upper[i];
        sA(r + N_COLS, c) = lower[i];
    }
    __syncthreads();
    sgeqr2_device<2 * N_COLS>(sA, ldsa, swork, tx);
    for (int i = tx; i < N_COLS * N_COLS; i += NTHREADS) {
        const int r = i % N_COLS, c = i / N_COLS;
        upper[i] = r <= c ? sA(r, c) : 0.0f;
    }
}

/* Q(i,:) R = A(i,:), one thread per row, result row-major (a contiguous row per thread) */
__global__
void strsm_rows_vbatched_kernel(const int *m, float const *const *dA_array, const int *ldda,
                                float const *const *dR_array, float **dQ_array)
{
    __shared__ float sR[N_COLS][N_COLS];
    const int batchid = blockIdx.y;
    for (int i = threadIdx.x; i < N_COLS * N_COLS; i += blockDim.x)
        sR[i % N_COLS][i / N_COLS] = dR_array[batchid][i];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m[batchid]) return;
    const float *a = dA_array[batchid] + i;
    float q[N_COLS];
#pragma unroll
    for (int j = 0; j < N_COLS; j++) {
        float v = a[(size_t)j * ldda[batchid]];
#pragma unroll
        for (int k = 0; k < j; k++) v -= q[k] * sR[k][j];
        q[j] = v / sR[j][j];
    }
    float4 *out = reinterpret_cast<float4 *>(dQ_array[batchid] + (size_t)i * N_COLS);
#pragma unroll
    for (int j = 0; j < N_COLS / 4; j++)
        out[j] = make_float4(q[4 * j], q[4 * j + 1], q[4 * j + 2], q[4 * j + 3]);
}

/* G = Q' Q, block (N_COLS, N_COLS), each block a slab of rows */
__global__
void gram_vbatched_kernel(const int *m, float const *const *dQ_array, float *dG, int slab)
{
    const int bx = blockIdx.x, batchid = blockIdx.y;
    const int begin = bx * slab, end = min(begin + slab, m[batchid]);
    if (begin >= end) return;
    const float *Q = dQ_array[batchid];
    float sum = 0.0f;
    for (int i = begin; i < end; i++)
        sum += Q[i * N_COLS + threadIdx.x] * Q[i * N_COLS + threadIdx.y];
    atomicAdd(&dG[(batchid * N_COLS + threadIdx.y) * N_COLS + threadIdx.x], sum);
}

/* reference R in double by Householder, signs fixed to a positive diagonal */
static std::vector<double> host_r(const std::vector<float> &A, int m, int lda)
{
    std::vector<double> W(m * N_COLS), R(N_COLS * N_COLS, 0.0);
    for (int j = 0; j < N_COLS; j++)
        for (int i = 0; i < m; i++) W[i + j * m] = A[i + (size_t)j * lda];
    for (int j = 0; j < N_COLS; j++) {
        double s = 0;
        for (int i = j; i < m; i++) s += W[i + j * m] * W[i + j * m];
        const double alpha = W[j + j * m], beta = alpha > 0 ? -std::sqrt(s) : std::sqrt(s);
        std::vector<double> v(m, 0.0);
        v[j] = alpha - beta;
        for (int i = j + 1; i < m; i++) v[i] = W[i + j * m];
        double vv = 0;
        for (double t : v) vv += t * t;
        for (int c = j; c < N_COLS && vv > 0; c++) {
            double d = 0;
            for (int i = j; i < m; i++) d += v[i] * W[i + c * m];
            for (int i = j; i < m; i++) W[i + c * m] -= 2 * d / vv * v[i];
        }
    }
    for (int r = 0; r < N_COLS; r++)
        for (int c = r; c < N_COLS; c++) R[r + c * N_COLS] = W[r + c * m] * (W[r + r * m] < 0 ? -1 : 1);
    return R;
}

int main(int argc, char **argv)
{
    const int batch = argc > 1 ? atoi(argv[1]) : 12;
    std::mt19937 rng(1066);
    std::normal_distribution<float> gauss(0.0f, 1.0f);

    std::vector<int> m(batch), ldda(batch);
    std::vector<std::vector<float>> A(batch);
    std::vector<float *> hA(batch), hR(batch), hQ(batch);
    int max_m = 0;
    for (int k = 0; k < batch; k++) {
        m[k] = 100 + rng() % 1900;
        ldda[k] = ceildiv(m[k], 32) * 32;
        max_m = std::max(max_m, m[k]);
        A[k].resize((size_t)ldda[k] * N_COLS);
        for (auto &a : A[k]) a = gauss(rng);
        for (int i = 0; i < m[k]; i++) A[k][i + 3 * ldda[k]] += 2.0f * A[k][i + 1 * ldda[k]];  /* some correlation */
        check_cuda(cudaMalloc((void **)&hA[k], A[k].size() * sizeof(float)));
        check_cuda(cudaMalloc((void **)&hR[k], sizeof(float) * ceildiv(m[k], TILE_ROWS) * N_COLS * N_COLS));
        check_cuda(cudaMalloc((void **)&hQ[k], sizeof(float) * m[k] * N_COLS));
        check_cuda(cudaMemcpy2D(hA[k], ldda[k] * sizeof(float), A[k].data(), ldda[k] * sizeof(float),
                                m[k] * sizeof(float), N_COLS, cudaMemcpyHostToDevice));
    }
    int *d_m, *d_ldda;
    float **dA_array, **dR_array, **dQ_array, *dG;
    check_cuda(cudaMalloc((void **)&d_m, batch * sizeof(int)));
    check_cuda(cudaMalloc((void **)&d_ldda, batch * sizeof(int)));
    check_cuda(cudaMalloc((void **)&dA_array, batch * sizeof(float *)));
    check_cuda(cudaMalloc((void **)&dR_array, batch * sizeof(float *)));
    check_cuda(cudaMalloc((void **)&dQ_array, batch * sizeof(float *)));
    check_cuda(cudaMalloc((void **)&dG, batch * N_COLS * N_COLS * sizeof(float)));
    check_cuda(cudaMemcpy(d_m, m.data(), batch * sizeof(int), cudaMemcpyHostToDevice));
    check_cuda(cudaMemcpy(d_ldda, ldda.data(), batch * sizeof(int), cudaMemcpyHostToDevice));
    check_cuda(cudaMemcpy(dA_array, hA.data(), batch * sizeof(float *), cudaMemcpyHostToDevice));
    check_cuda(cudaMemcpy(dR_array, hR.data(), batch * sizeof(float *), cudaMemcpyHostToDevice));
    check_cuda(cudaMemcpy(dQ_array, hQ.data(), batch * sizeof(float *), cudaMemcpyHostToDevice));
    check_cuda(cudaMemset(dG, 0, batch * N_COLS * N_COLS * sizeof(float)));

    const int max_tiles = ceildiv(max_m, TILE_ROWS);
    sgeqr2_tiles_vbatched_kernel<<<dim3(max_tiles, batch), NTHREADS>>>(d_m, dA_array, d_ldda, dR_array);
    for (int stride = 1; stride < max_tiles; stride *= 2)
        sgeqr2_tree_vbatched_kernel<<<dim3(ceildiv(max_tiles, 2 * stride), batch), NTHREADS>>>(d_m, dR_array, stride);
    strsm_rows_vbatched_kernel<<<dim3(ceildiv(max_m, 128), batch), 128>>>(d_m, dA_array, d_ldda, dR_array, dQ_array);
    gram_vbatched_kernel<<<dim3(ceildiv(max_m, 128), batch), dim3(N_COLS, N_COLS)>>>(d_m, dQ_array, dG, 128);
    check_cuda(cudaGetLastError());
    check_cuda(cudaDeviceSynchronize());

    std::vector<float> R(N_COLS * N_COLS), G(batch * N_COLS * N_COLS);
    check_cuda(cudaMemcpy(G.data(), dG, G.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double r_err = 0, orth = 0;
    for (int k = 0; k < batch; k++) {
        check_cuda(cudaMemcpy(R.data(), hR[k], R.size() * sizeof(float), cudaMemcpyDeviceToHost));
        const std::vector<double> ref = host_r(A[k], m[k], ldda[k]);
        for (int r = 0; r < N_COLS; r++)
            for (int c = r; c < N_COLS; c++) {
                const double s = R[r + r * N_COLS] < 0 ? -1 : 1;
                r_err = std::max(r_err, std::fabs(s * R[r + c * N_COLS] - ref[r + c * N_COLS]) / ref[r + r * N_COLS]);
            }
        for (int i = 0; i < N_COLS * N_COLS; i++)
            orth = std::max(orth, std::fabs(G[k * N_COLS * N_COLS + i] - (i % (N_COLS + 1) == 0 ? 1.0 : 0.0)));
        check_cuda(cudaFree(hA[k]));
        check_cuda(cudaFree(hR[k]));
        check_cuda(cudaFree(hQ[k]));
    }
    check_cuda(cudaFree(d_m));
    check_cuda(cudaFree(d_ldda));
    check_cuda(cudaFree(dA_array));
    check_cuda(cudaFree(dR_array));
    check_cuda(cudaFree(dQ_array));
    check_cuda(cudaFree(dG));
    const bool okay = r_err < 1e-4 && orth < 1e-4;
    printf("%% batch %d, tallest %d, tiles %d, |R - Rref| %.2e, |Q'Q - I| %.2e\n", batch, max_m, max_tiles, r_err, orth);
    printf("%s\n", okay ? "PASS" : "FAIL");
    return okay ? EXIT_SUCCESS : EXIT_FAILURE;
}
