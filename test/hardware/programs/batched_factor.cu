/* Batched small-matrix factorisation: LU without pivoting (8x8) and
 * Cholesky (32x32).  Plain C style.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NS        8          /* LU order                 */
#define NB        32         /* Cholesky order           */
#define LU_BATCH  16384
#define CH_BATCH  2048
#define WARPS_PB  4

#define CUDA_CHECK(call)                                                   \
    do {                                                                   \
        cudaError_t e_ = (call);                                           \
        if (e_ != cudaSuccess) {                                           \
            fprintf(stderr, "%d %s\n", __LINE__, cudaGetErrorString(e_));  \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

#define IDX(i, j, ld) ((i) * (ld) + (j))

/* one thread owns one matrix, matrices stored one after another */
__global__ void lu_thread_contig(float *A, int batch)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch) return;
    float *a = A + (size_t)m * NS * NS;

    for (int k = 0; k < NS; k++) {
        float rp = 1.0f / a[IDX(k, k, NS)];
        for (int i = k + 1; i < NS; i++) {
            float l = a[IDX(i, k, NS)] * rp;
            a[IDX(i, k, NS)] = l;
            for (int j = k + 1; j < NS; j++)
                a[IDX(i, j, NS)] -= l * a[IDX(k, j, NS)];
        }
    }
}

/* same algorithm, element (i,j) of every matrix is adjacent in memory */
__global__ void lu_thread_interleaved(float *A, int batch)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch) return;
    float r[NS][NS];

#pragma unroll
    for (int e = 0; e < NS * NS; e++) r[e / NS][e % NS] = A[(size_t)e * batch + m];

#pragma unroll
    for (int k = 0; k < NS; k++) {
        float rp = 1.0f / r[k][k];
#pragma unroll
        for (int i = k + 1; i < NS; i++) {
            r[i][k] *= rp;
#pragma unroll
            for (int j = k + 1; j < NS; j++)
                r[i][j] -= r[i][k] * r[k][j];
        }
    }

#pragma unroll
    for (int e = 0; e < NS * NS; e++) A[(size_t)e * batch + m] = r[e / NS][e % NS];
}

/* one 32x8 block per matrix, whole matrix in shared memory */
__global__ void chol_block(float *A)
{
    __shared__ float s[NB][NB];
    float *a = A + (size_t)blockIdx.x * NB * NB;
    int tx = threadIdx.x, ty = threadIdx.y;

    for (int i = ty; i < NB; i += blockDim.y)
        s[i][tx] = a[IDX(i, tx, NB)];
    __syncthreads();

    for (int k = 0; k < NB; k++) {
        if (ty == 0) {
            float d = sqrtf(s[k][k]);
            __syncwarp();
            if (tx == k) s[k][k] = d;
            else if (tx > k) s[tx][k] /= d;
        }
        __syncthreads();
        for (int j = k + 1 + ty; j < NB; j += blockDim.y)
            if (tx >= j)
                s[tx][j] -= s[tx][k] * s[j][k];
        __syncthreads();
    }

    for (int i = ty; i < NB; i += blockDim.y)
        a[IDX(i, tx, NB)] = (tx <= i) ? s[i][tx] : 0.0f;
}

/* one warp per matrix; lane i keeps row i in registers, tile staged
 * through a padded buffer so global traffic is row by row */
__global__ void __launch_bounds__(32 * WARPS_PB) chol_warp(float *A, int batch)
{
    __shared__ float stage[WARPS_PB][NB][NB + 1];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    int m = blockIdx.x * WARPS_PB + w;
    if (m >= batch) return;
    float *a = A + (size_t)m * NB * NB;
    float r[NB];

    for (int i = 0; i < NB; i++) stage[w][i][lane] = a[IDX(i, lane, NB)];
    __syncwarp();
#pragma unroll
    for (int j = 0; j < NB; j++) r[j] = stage[w][lane][j];

#pragma unroll
    for (int k = 0; k < NB; k++) {
        float d = rsqrtf(__shfl_sync(0xffffffffu, r[k], k));
        r[k] *= d;
#pragma unroll
        for (int j = k + 1; j < NB; j++) {
            float ljk = __shfl_sync(0xffffffffu, r[k], j);
            r[j] -= r[k] * ljk;
        }
    }

    __syncwarp();
#pragma unroll
    for (int j = 0; j < NB; j++) stage[w][lane][j] = (j <= lane) ? r[j] : 0.0f;
    __syncwarp();
    for (int i = 0; i < NB; i++) a[IDX(i, lane, NB)] = stage[w][i][lane];
}

static unsigned rng_state = 12345u;
static float frand(void)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return (float)(rng_state >> 8) / 16777216.0f - 0.5f;
}

static double compare(const char *name, const float *x, const float *y, size_t n)
{
    double worst = 0.0, d;
    for (size_t i = 0; i < n; i++)
        if (!((d = fabs((double)x[i] - y[i])) <= worst)) worst = d;
    printf("%-24s max abs err %.3e\n", name, worst);
    return worst;
}

int main(void)
{
    const size_t nlu = (size_t)LU_BATCH * NS * NS, nch = (size_t)CH_BATCH * NB * NB;
    float *lu = (float *)malloc(nlu * 4), *luT = (float *)malloc(nlu * 4);
    float *ch = (float *)malloc(nch * 4), *got = (float *)malloc(nch * 4);
    float *d_lu, *d_luT, *d_c1, *d_c2;

    for (int m = 0; m < LU_BATCH; m++)
        for (int e = 0; e < NS * NS; e++) {
            float v = frand() + ((e / NS == e % NS) ? 6.0f : 0.0f);
            lu[(size_t)m * NS * NS + e] = v;
            luT[(size_t)e * LU_BATCH + m] = v;
        }
    for (int m = 0; m < CH_BATCH; m++)
        for (int i = 0; i < NB; i++)
            for (int j = 0; j <= i; j++) {
                float v = (i == j) ? 20.0f + frand() : frand(), *c = ch + (size_t)m * NB * NB;
                c[IDX(i, j, NB)] = c[IDX(j, i, NB)] = v;
            }

#define UPLOAD(dev, host, n)                                               \
    CUDA_CHECK(cudaMalloc((void **)&dev, (n) * 4));                        \
    CUDA_CHECK(cudaMemcpy(dev, host, (n) * 4, cudaMemcpyHostToDevice))
    UPLOAD(d_lu, lu, nlu); UPLOAD(d_luT, luT, nlu);
    UPLOAD(d_c1, ch, nch); UPLOAD(d_c2, ch, nch);

    lu_thread_contig<<<LU_BATCH / 128, 128>>>(d_lu, LU_BATCH);
    lu_thread_interleaved<<<LU_BATCH / 128, 128>>>(d_luT, LU_BATCH);
    chol_block<<<CH_BATCH, dim3(32, 8)>>>(d_c1);
    chol_warp<<<CH_BATCH / WARPS_PB, 32 * WARPS_PB>>>(d_c2, CH_BATCH);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    /* CPU reference, in place */
    for (int m = 0; m < LU_BATCH; m++) {
        float *a = lu + (size_t)m * NS * NS;
        for (int k = 0; k < NS; k++)
            for (int i = k + 1; i < NS; i++) {
                a[IDX(i, k, NS)] /= a[IDX(k, k, NS)];
                for (int j = k + 1; j < NS; j++)
                    a[IDX(i, j, NS)] -= a[IDX(i, k, NS)] * a[IDX(k, j, NS)];
            }
        for (int e = 0; e < NS * NS; e++) luT[(size_t)e * LU_BATCH + m] = a[e];
    }
    for (int m = 0; m < CH_BATCH; m++) {
        float *a = ch + (size_t)m * NB * NB;
        for (int j = 0; j < NB; j++) {
            float d = a[IDX(j, j, NB)];
            for (int k = 0; k < j; k++) d -= a[IDX(j, k, NB)] * a[IDX(j, k, NB)];
            d = sqrtf(d);
            for (int i = j; i < NB; i++) {
                float v = a[IDX(i, j, NB)];
                for (int k = 0; k < j; k++) v -= a[IDX(i, k, NB)] * a[IDX(j, k, NB)];
                a[IDX(i, j, NB)] = (i == j) ? d : v / d;
            }
            for (int i = 0; i < j; i++) a[IDX(i, j, NB)] = 0.0f;
        }
    }

    int ok = 1;
#define VERIFY(dev, ref, n)                                                \
    CUDA_CHECK(cudaMemcpy(got, dev, (n) * 4, cudaMemcpyDeviceToHost));     \
    ok &= compare(#dev, got, ref, n) < 1e-4
    VERIFY(d_lu, lu, nlu); VERIFY(d_luT, luT, nlu);
    VERIFY(d_c1, ch, nch); VERIFY(d_c2, ch, nch);

    cudaFree(d_lu); cudaFree(d_luT); cudaFree(d_c1); cudaFree(d_c2);
    free(lu); free(luT); free(ch); free(got);
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
