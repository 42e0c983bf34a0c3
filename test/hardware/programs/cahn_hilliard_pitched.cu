// Spinodal decomposition, explicit Cahn-Hilliard in 2-D with periodic walls.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>
#include <cuda_runtime.h>

#define NX 384
#define NY 256
#define STEPS 6

#define OK(c)                                               \
    if ((c) != cudaSuccess) {                               \
        printf("CUDA failure, line %d\n", __LINE__);        \
        exit(2);                                            \
    }

struct Field {
    float *p;
    size_t pitch;
};

__constant__ float prm[3];   // mobility*dt, kappa, well height

__device__ __forceinline__ float &at(Field f, int x, int y)
{
    return *((float *)((char *)f.p + y * f.pitch) + x);
}

__global__ void potential(Field c, Field mu)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY)
        return;
    int xl = (x + NX - 1) % NX;
    int xr = (x + 1) % NX;
    int yd = (y + NY - 1) % NY;
    int yu = (y + 1) % NY;
    float v = at(c, x, y);
    float lap = at(c, xl, y) + at(c, xr, y) + at(c, x, yd) + at(c, x, yu) - 4.0f * v;
    at(mu, x, y) = prm[2] * (v * v * v - v) - prm[1] * lap;
}

__global__ void advance(Field c, Field mu)
{
    __shared__ float s[18][18];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int x = blockIdx.x * 16 + tx;
    int y = blockIdx.y * 16 + ty;
    s[ty + 1][tx + 1] = at(mu, x, y);
    if (ty == 0)
        s[0][tx + 1] = at(mu, x, (y + NY - 1) % NY);
    if (ty == 15)
        s[17][tx + 1] = at(mu, x, (y + 1) % NY);
    if (tx == 0)
        s[ty + 1][0] = at(mu, (x + NX - 1) % NX, y);
    if (tx == 15)
        s[ty + 1][17] = at(mu, (x + 1) % NX, y);
    __syncthreads();
    float lap = s[ty + 1][tx] + s[ty + 1][tx + 2] + s[ty][tx + 1] + s[ty + 2][tx + 1];
    lap -= 4.0f * s[ty + 1][tx + 1];
    at(c, x, y) += prm[0] * lap;
}

// mean of each row: a thread walks along its own row
__global__ void rowMean(Field c, float *mean)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < NY) {
        float s = 0.0f;
        for (int x = 0; x < NX; x++)
            s += at(c, x, y);
        mean[y] = s / NX;
    }
}

// mean of each column: a thread walks down
__global__ void colMean(Field c, float *mean)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < NX) {
        float s = 0.0f;
        for (int y = 0; y < NY; y++)
            s += at(c, x, y);
        mean[x] = s / NY;
    }
}

int main()
{
    std::vector<float> c(NX * NY), mu(NX * NY), got(NX * NY), m(NX + NY);
    unsigned s = 7;
    for (auto &v : c) {
        s = s * 1664525u + 1013904223u;
        v = 0.2f * ((s >> 16) / 65536.0f - 0.5f);
    }
    float h[3] = {0.01f, 1.0f, 1.0f};
    Field dc, dm;
    float *mean;
    OK(cudaMallocPitch((void **)&dc.p, &dc.pitch, NX * 4, NY));
    OK(cudaMallocPitch((void **)&dm.p, &dm.pitch, NX * 4, NY));
    OK(cudaMalloc((void **)&mean, (NX + NY) * 4));
    OK(cudaMemcpyToSymbol(prm, h, sizeof(h)));
    OK(cudaMemcpy2D(dc.p, dc.pitch, c.data(), NX * 4, NX * 4, NY, cudaMemcpyHostToDevice));
    for (int t = 0; t < STEPS; t++) {
        potential<<<dim3(NX / 32, NY / 8), dim3(32, 8)>>>(dc, dm);
        advance<<<dim3(NX / 16, NY / 16), dim3(16, 16)>>>(dc, dm);
    }
    rowMean<<<NY / 64, 64>>>(dc, mean);
    colMean<<<NX / 64, 64>>>(dc, mean + NY);
    OK(cudaGetLastError());
    OK(cudaMemcpy2D(got.data(), NX * 4, dc.p, dc.pitch, NX * 4, NY, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(m.data(), mean, (NX + NY) * 4, cudaMemcpyDeviceToHost));

    auto lap = [](const std::vector<float> &f, int x, int y) {
        float n = f[y * NX + (x + NX - 1) % NX] + f[y * NX + (x + 1) % NX];
        n += f[(y + NY - 1) % NY * NX + x] + f[(y + 1) % NY * NX + x];
        return n - 4.0f * f[y * NX + x];
    };
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < NX * NY; i++)
            mu[i] = h[2] * (c[i] * c[i] * c[i] - c[i]) - h[1] * lap(c, i % NX, i / NX);
        for (int i = 0; i < NX * NY; i++)
            c[i] += h[0] * lap(mu, i % NX, i / NX);
    }
    std::vector<double> ref(NX + NY, 0.0);
    int bad = 0;
    for (int i = 0; i < NX * NY; i++) {
        ref[i / NX] += c[i] / (double)NX;
        ref[NY + i % NX] += c[i] / (double)NY;
        bad += !(fabsf(got[i] - c[i]) < 1e-4f);
    }
    for (int i = 0; i < NX + NY; i++)
        bad += !(fabs(m[i] - ref[i]) < 1e-4);
    printf("%s (%d bad)\n", bad ? "FAIL" : "PASS", bad);
    return bad ? 1 : 0;
}
