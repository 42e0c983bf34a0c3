// y = A x, and y = A^T x, in several ways.
#include <cstdio>
#include <cmath>
#include <cuda_runtime.h>

#define ROWS 1000
#define COLS 768

// One thread a row: lanes are COLS floats apart.
__global__ void gemv_row_per_thread(const float* A, const float* x, float* y)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= ROWS) return;
    float dot = 0;
    for (int c = 0; c < COLS; ++c) dot += A[r*COLS + c] * x[c];
    y[r] = dot;
}

// One warp a row.
__global__ void gemv_row_per_warp(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y)
{
    const int lane = threadIdx.x & 31;
    const int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (r >= ROWS) return;
    float dot = 0;
    for (int c = lane; c < COLS; c += 32) dot += A[r*COLS + c] * x[c];
    for (int offset = 16; offset; offset >>= 1) dot += __shfl_xor_sync(0xffffffff, dot, offset);
    if (lane == 0) y[r] = dot;
}

// One block a row, float4 loads, x staged in shared memory.
__global__ void gemv_row_per_block(const float4* A, const float4* x, float* y)
{
    __shared__ float4 xs[COLS/4];
    __shared__ float sums[2];
    const int t = threadIdx.x;
    for (int i = t; i < COLS/4; i += blockDim.x) xs[i] = x[i];
    __syncthreads();
    float dot = 0;
    for (int i = t; i < COLS/4; i += blockDim.x) {
        float4 a = A[blockIdx.x*(COLS/4) + i], b = xs[i];
        dot += a.x*b.x + a.y*b.y + a.z*b.z + a.w*b.w;
    }
    for (int offset = 16; offset; offset >>= 1) dot += __shfl_down_sync(~0u, dot, offset);
    if (t % 32 == 0) sums[t / 32] = dot;
    __syncthreads();
    if (t == 0) y[blockIdx.x] = sums[0] + sums[1];
}

// Transposed: one thread a column, coalesced by nature.
__global__ void gemv_transposed(const float* A, const float* x, float* y)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float dot = 0.f;
#pragma unroll 4
    for (int r = 0; r < ROWS; ++r) dot = fmaf(A[r*COLS + c], x[r], dot);
    y[c] = dot;
}

static float A[ROWS*COLS], x[ROWS], y[ROWS], want[ROWS], wantT[COLS];

static int check(const char* name, const float* expected, float* dy, int n)
{
    if (cudaMemcpy(y, dy, n*sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) { printf("%s FAIL\n", name); return 1; }
    cudaMemset(dy, 0, ROWS*sizeof(float));
    for (int i = 0; i < n; ++i)
        if (!(fabsf(y[i] - expected[i]) < 1e-3f)) { printf("%s FAIL at %d\n", name, i); return 1; }
    printf("%s PASS\n", name);
    return 0;
}

int main()
{
    for (int i = 0; i < ROWS*COLS; ++i) A[i] = (i * 37 % 101 - 50) / 100.f;
    for (int i = 0; i < ROWS; ++i) x[i] = (i * 11 % 31 - 15) / 30.f;
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLS; ++c) { want[r] += A[r*COLS+c]*x[c]; wantT[c] += A[r*COLS+c]*x[r]; }
    float *dA, *dx, *dy;
    cudaMalloc(&dA, sizeof A); cudaMalloc(&dx, sizeof x); cudaMalloc(&dy, sizeof y);
    cudaMemcpy(dA, A, sizeof A, cudaMemcpyHostToDevice);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    int bad = 0;
    gemv_row_per_thread<<<(ROWS + 127)/128, 128>>>(dA, dx, dy);
    bad += check("gemv_row_per_thread", want, dy, ROWS);
    gemv_row_per_warp<<<(ROWS*32 + 255)/256, 256>>>(dA, dx, dy);
    bad += check("gemv_row_per_warp", want, dy, ROWS);
    gemv_row_per_block<<<ROWS, 64>>>((float4*)dA, (float4*)dx, dy);
    bad += check("gemv_row_per_block", want, dy, ROWS);
    gemv_transposed<<<COLS/96, 96>>>(dA, dx, dy);
    bad += check("gemv_transposed", wantT, dy, COLS);
    return bad != 0;
}
