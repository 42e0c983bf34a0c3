/* Batched Gauss-Jordan inverse: one warp-half per 8x8 matrix, and one thread per 4x4. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cuda_runtime.h>

#define N8 8
#define MATS_PER_BLOCK 6

static __device__ __forceinline__ void swap_f(float &a, float &b) { float t = a; a = b; b = t; }

/* adjugate inverse, one thread a matrix, array-of-matrices storage */
__global__ void inv4x4(const float *in, float *out, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    const float4 *p = (const float4 *)(in + id * 16);
    float m[16];
    for (int i = 0; i < 4; i++) {
        float4 r = p[i];
        m[4 * i] = r.x; m[4 * i + 1] = r.y; m[4 * i + 2] = r.z; m[4 * i + 3] = r.w;
    }
    float s0 = m[0] * m[5] - m[4] * m[1], s1 = m[0] * m[6] - m[4] * m[2], s2 = m[0] * m[7] - m[4] * m[3];
    float s3 = m[1] * m[6] - m[5] * m[2], s4 = m[1] * m[7] - m[5] * m[3], s5 = m[2] * m[7] - m[6] * m[3];
    float c5 = m[10] * m[15] - m[14] * m[11], c4 = m[9] * m[15] - m[13] * m[11], c3 = m[9] * m[14] - m[13] * m[10];
    float c2 = m[8] * m[15] - m[12] * m[11], c1 = m[8] * m[14] - m[12] * m[10], c0 = m[8] * m[13] - m[12] * m[9];
    float id_ = 1.0f / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
    float *q = out + id * 16;
    q[0] = (m[5] * c5 - m[6] * c4 + m[7] * c3) * id_;
    q[1] = (-m[1] * c5 + m[2] * c4 - m[3] * c3) * id_;
    q[2] = (m[13] * s5 - m[14] * s4 + m[15] * s3) * id_;
    q[3] = (-m[9] * s5 + m[10] * s4 - m[11] * s3) * id_;
    q[4] = (-m[4] * c5 + m[6] * c2 - m[7] * c1) * id_;
    q[5] = (m[0] * c5 - m[2] * c2 + m[3] * c1) * id_;
    q[6] = (-m[12] * s5 + m[14] * s2 - m[15] * s1) * id_;
    q[7] = (m[8] * s5 - m[10] * s2 + m[11] * s1) * id_;
    q[8] = (m[4] * c4 - m[5] * c2 + m[7] * c0) * id_;
    q[9] = (-m[0] * c4 + m[1] * c2 - m[3] * c0) * id_;
    q[10] = (m[12] * s4 - m[13] * s2 + m[15] * s0) * id_;
    q[11] = (-m[8] * s4 + m[9] * s2 - m[11] * s0) * id_;
    q[12] = (-m[4] * c3 + m[5] * c1 - m[6] * c0) * id_;
    q[13] = (m[0] * c3 - m[1] * c1 + m[2] * c0) * id_;
    q[14] = (-m[12] * s3 + m[13] * s1 - m[14] * s0) * id_;
    q[15] = (m[8] * s3 - m[9] * s1 + m[10] * s0) * id_;
}

/* blockDim = (16, MATS_PER_BLOCK): a column of [A | I] per thread x */
__global__ void gauss_jordan8(const float *__restrict__ in, float *__restrict__ out, int count)
{
    __shared__ float w[MATS_PER_BLOCK][N8][2 * N8 + 1];
    __shared__ int piv[MATS_PER_BLOCK];
    const int c = threadIdx.x, g = threadIdx.y;
    const int mat = blockIdx.x * MATS_PER_BLOCK + g;
    const bool live = mat < count;

    for (int r = 0; r < N8; r++) {
        float v = (c - N8 == r) ? 1.f : 0.f;
        if (c < N8) v = live ? in[mat * 64 + r * N8 + c] : (r == c);
        w[g][r][c] = v;
    }
    __syncthreads();

    for (int k = 0; k < N8; k++) {
        if (c == 0) {
            int best = k;
            for (int r = k + 1; r < N8; r++)
                if (fabsf(w[g][r][k]) > fabsf(w[g][best][k])) best = r;
            piv[g] = best;
        }
        __syncthreads();
        int p = piv[g];
        if (p != k) swap_f(w[g][p][c], w[g][k][c]);
        __syncthreads();
        float inv = 1.0f / w[g][k][k];
        __syncthreads();
        w[g][k][c] *= inv;
        __syncthreads();
        float f[N8];
        #pragma unroll
        for (int r = 0; r < N8; r++) f[r] = w[g][r][k];
        float mine = w[g][k][c];
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < N8; r++)
            if (r != k) w[g][r][c] -= f[r] * mine;
        __syncthreads();
    }
    if (live && c >= N8)
        for (int r = 0; r < N8; r++) out[mat * 64 + r * N8 + (c - N8)] = w[g][r][c];
}

/* max |A * inv(A) - I| */
__global__ void residual(const float *a, const float *b, int n, int count, int *worst)
{
    int mat = blockIdx.x;
    if (mat >= count) return;
    a += mat * n * n; b += mat * n * n;
    float e = 0.f;
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
        int r = i / n, c = i - r * n;
        float s = (r == c) ? -1.f : 0.f;
        for (int k = 0; k < n; k++) s += a[r * n + k] * b[k * n + c];
        e = fmaxf(e, fabsf(s));
    }
    atomicMax(worst, __float_as_int(e));
}

int main(void)
{
    const int n4 = 1000, n8 = 403;
    float *h4 = (float *)malloc(n4 * 16 * 4), *h8 = (float *)malloc(n8 * 64 * 4);
    srand(3);
    for (int i = 0; i < n4 * 16; i++) h4[i] = rand() / (float)RAND_MAX + ((i % 16) % 5 == 0 ? 3.f : 0.f);
    for (int i = 0; i < n8 * 64; i++) h8[i] = rand() / (float)RAND_MAX - 0.5f + ((i % 64) % 9 == 0 ? 4.f : 0.f);
    float *a4, *b4, *a8, *b8; int *w;
    cudaMalloc((void **)&a4, n4 * 64); cudaMalloc((void **)&b4, n4 * 64);
    cudaMalloc((void **)&a8, n8 * 256); cudaMalloc((void **)&b8, n8 * 256);
    cudaMalloc((void **)&w, 8);
    cudaMemcpy(a4, h4, n4 * 64, cudaMemcpyHostToDevice);
    cudaMemcpy(a8, h8, n8 * 256, cudaMemcpyHostToDevice);
    cudaMemset(w, 0, 8);
    inv4x4<<<(n4 + 127) / 128, 128>>>(a4, b4, n4);
    gauss_jordan8<<<(n8 + MATS_PER_BLOCK - 1) / MATS_PER_BLOCK, dim3(16, MATS_PER_BLOCK)>>>(a8, b8, n8);
    residual<<<n4, 16>>>(a4, b4, 4, n4, w);
    residual<<<n8, 64>>>(a8, b8, 8, n8, w + 1);
    int hw[2];
    cudaMemcpy(hw, w, 8, cudaMemcpyDeviceToHost);
    float e0, e1;
    memcpy(&e0, &hw[0], 4); memcpy(&e1, &hw[1], 4);
    printf("residual 4x4 %g  8x8 %g\n", e0, e1);
    return (e0 < 1e-3f && e1 < 1e-3f) ? 0 : 1;
}
