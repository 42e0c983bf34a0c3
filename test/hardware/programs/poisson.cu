/*
 * Homework 4: solving the 2-D Poisson equation  -lap(u) = f
 *
 *  part (a)  Jacobi, one thread per point, everything from global memory
 *  part (b)  Jacobi with a shared memory tile
 *  part (c)  red-black SOR, in place
 *  part (d)  residual norm by reduction
 *
 * The grid is N x N including a fixed boundary of zeros.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#define N 1026
#define TILE 16
#define OMEGA 1.5f
#define at(u, i, j) u[(i) * N + (j)]

void die(cudaError_t err, const char *what)
{
    if (err != cudaSuccess) {
        printf("error in %s: %s\n", what, cudaGetErrorString(err));
        exit(1);
    }
}

// part (a): i follows threadIdx.x  (as in the lecture's first attempt)
__global__ void jacobi_global(float *unew, float *u, float *f, float h2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < N - 1 && j < N - 1) {
        at(unew, i, j) = 0.25f * (at(u, i - 1, j) + at(u, i + 1, j) +
                                  at(u, i, j - 1) + at(u, i, j + 1) +
                                  h2 * at(f, i, j));
    }
}

// part (b)
__global__ void jacobi_shared(float *unew, float *u, float *f, float h2)
{
    __shared__ float t[TILE + 2][TILE + 2];
    int j = blockIdx.x * TILE + threadIdx.x + 1;
    int i = blockIdx.y * TILE + threadIdx.y + 1;
    int li = threadIdx.y + 1;
    int lj = threadIdx.x + 1;

    t[li][lj] = at(u, i, j);
    if (threadIdx.y == 0)        t[0][lj]        = at(u, i - 1, j);
    if (threadIdx.y == TILE - 1) t[TILE + 1][lj] = at(u, i + 1, j);
    if (threadIdx.x == 0)        t[li][0]        = at(u, i, j - 1);
    if (threadIdx.x == TILE - 1) t[li][TILE + 1] = at(u, i, j + 1);
    __syncthreads();

    at(unew, i, j) = 0.25f * (t[li - 1][lj] + t[li + 1][lj] +
                              t[li][lj - 1] + t[li][lj + 1] +
                              h2 * at(f, i, j));
}

// part (c): each thread handles one point of the given colour,
// so a warp touches every second element of a row
__global__ void sor_colour(float *u, float *f, float h2, int colour)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N - 1) return;
    int j = 1 + 2 * k + ((i + 1 + colour) & 1);
    if (j >= N - 1) return;

    float old = at(u, i, j);
    float gs = 0.25f * (at(u, i - 1, j) + at(u, i + 1, j) +
                        at(u, i, j - 1) + at(u, i, j + 1) +
                        h2 * at(f, i, j));
    at(u, i, j) = old + OMEGA * (gs - old);
}

// part (d): interleaved addressing reduction, from the slides
__global__ void residual(float *u, float *f, float h2, double *partial)
{
    __shared__ double s[256];
    int tid = threadIdx.x;
    double sum = 0.0;
    for (int p = blockIdx.x * blockDim.x + tid; p < (N - 2) * (N - 2);
         p += gridDim.x * blockDim.x) {
        int i = p / (N - 2) + 1;
        int j = p % (N - 2) + 1;
        float r = h2 * at(f, i, j) + at(u, i - 1, j) + at(u, i + 1, j) +
                  at(u, i, j - 1) + at(u, i, j + 1) - 4.0f * at(u, i, j);
        sum += (double)r * r;
    }
    s[tid] = sum;
    __syncthreads();
    for (int step = 1; step < (int)blockDim.x; step *= 2) {
        int idx = 2 * step * tid;
        if (idx < (int)blockDim.x)
            s[idx] += s[idx + step];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = s[0];
}

static void cpu_jacobi(float *unew, const float *u, const float *f, float h2)
{
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            at(unew, i, j) = 0.25f * (at(u, i - 1, j) + at(u, i + 1, j) +
                                      at(u, i, j - 1) + at(u, i, j + 1) +
                                      h2 * at(f, i, j));
}

static void cpu_sor(float *u, const float *f, float h2, int colour)
{
    for (int i = 1; i < N - 1; i++)
        for (int j = 1 + ((i + 1 + colour) & 1); j < N - 1; j += 2) {
            float gs = 0.25f * (at(u, i - 1, j) + at(u, i + 1, j) +
                                at(u, i, j - 1) + at(u, i, j + 1) +
                                h2 * at(f, i, j));
            at(u, i, j) += OMEGA * (gs - at(u, i, j));
        }
}

int main(void)
{
    size_t bytes = sizeof(float) * N * N;
    float h2 = 1.0f / ((N - 1.0f) * (N - 1.0f));
    float *u = (float *)calloc(1, bytes), *v = (float *)calloc(1, bytes);
    float *f = (float *)malloc(bytes), *back = (float *)malloc(bytes);
    float *du, *dv, *df;
    double *dpart, part[64];

    srand(4);
    for (int p = 0; p < N * N; p++)
        f[p] = 1000.0f * (rand() / (float)RAND_MAX);
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            at(u, i, j) = (rand() % 1000) * 0.001f;

    die(cudaMalloc((void **)&du, bytes), "malloc u");
    die(cudaMalloc((void **)&dv, bytes), "malloc v");
    die(cudaMalloc((void **)&df, bytes), "malloc f");
    die(cudaMalloc((void **)&dpart, sizeof(part)), "malloc partial");
    cudaMemcpy(du, u, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(dv, v, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(df, f, bytes, cudaMemcpyHostToDevice);

    // one sweep of each Jacobi, then two full SOR iterations
    dim3 block(TILE, TILE), grid((N - 2) / TILE, (N - 2) / TILE);
    jacobi_global<<<grid, block>>>(dv, du, df, h2);
    jacobi_shared<<<grid, block>>>(du, dv, df, h2);
    dim3 cblock(64, 4), cgrid((N - 2) / 2 / 64, (N - 2) / 4);
    for (int it = 0; it < 2; it++) {
        sor_colour<<<cgrid, cblock>>>(du, df, h2, 0);
        sor_colour<<<cgrid, cblock>>>(du, df, h2, 1);
    }
    residual<<<64, 256>>>(du, df, h2, dpart);
    die(cudaGetLastError(), "launch");
    die(cudaMemcpy(back, du, bytes, cudaMemcpyDeviceToHost), "copy u");
    die(cudaMemcpy(part, dpart, sizeof(part), cudaMemcpyDeviceToHost), "copy partial");

    cpu_jacobi(v, u, f, h2);
    cpu_jacobi(u, v, f, h2);
    for (int it = 0; it < 2; it++) {
        cpu_sor(u, f, h2, 0);
        cpu_sor(u, f, h2, 1);
    }
    double want = 0.0, have = 0.0, worst = 0.0;
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++) {
            float r = h2 * at(f, i, j) + at(u, i - 1, j) + at(u, i + 1, j) +
                      at(u, i, j - 1) + at(u, i, j + 1) - 4.0f * at(u, i, j);
            want += (double)r * r;
            double d = fabs((double)at(u, i, j) - at(back, i, j));
            if (!(d <= worst)) worst = d;
        }
    for (int b = 0; b < 64; b++) have += part[b];
    printf("max |gpu-cpu| = %g   residual^2 gpu %g cpu %g\n", worst, have, want);

    int pass = worst < 1e-4 && fabs(have - want) < 1e-3 * want;
    printf("%s\n", pass ? "PASS" : "FAIL");
    cudaFree(du); cudaFree(dv); cudaFree(df); cudaFree(dpart);
    free(u); free(v); free(f); free(back);
    return pass ? 0 : 1;
}
