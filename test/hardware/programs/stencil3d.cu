// Seven-point stencils in three dimensions.
#include "common.h"

#define NX 96
#define NY 66
#define NZ 50
#define AT(x, y, z) ((z) * NX * NY + (y) * NX + (x))

__global__ void laplace3d(const float *u, float *v)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    const int j = threadIdx.y + blockIdx.y * blockDim.y;
    const int k = threadIdx.z + blockIdx.z * blockDim.z;
    if (i == 0 || j == 0 || k == 0 || i >= NX - 1 || j >= NY - 1 || k >= NZ - 1)
        return;
    v[AT(i, j, k)] = u[AT(i - 1, j, k)] + u[AT(i + 1, j, k)] + u[AT(i, j - 1, k)] + u[AT(i, j + 1, k)]
                   + u[AT(i, j, k - 1)] + u[AT(i, j, k + 1)] - 6.0f * u[AT(i, j, k)];
}

// Columns march through z; the plane in work lies in shared memory, its neighbours in registers.
__global__ void laplaceMarching(const float *__restrict__ u, float *__restrict__ v)
{
    constexpr int W = 32, H = 8;
    __shared__ float plane[H + 2][W + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * W + threadIdx.x;
    const int j = blockIdx.y * H + threadIdx.y + 1;
    const bool inside = i > 0 && i < NX - 1 && j < NY - 1;
    const int layer = NX * NY;
    int at = j * NX + i;

    float below = j < NY ? u[at] : 0.0f;
    float here = j < NY ? u[at + layer] : 0.0f;
    for (int k = 1; k < NZ - 1; ++k) {
        at += layer;
        float above = j < NY ? u[at + layer] : 0.0f;
        plane[ty][tx] = here;
        if (threadIdx.x == 0 && i > 0) plane[ty][0] = u[at - 1];
        if (threadIdx.x == W - 1 && i < NX - 1) plane[ty][W + 1] = u[at + 1];
        if (threadIdx.y == 0) plane[0][tx] = u[at - NX];
        if (threadIdx.y == H - 1 && j < NY - 1) plane[H + 1][tx] = u[at + NX];
        __syncthreads();
        if (inside)
            v[at] = plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] + below + above - 6.0f * here;
        __syncthreads();
        below = here;
        here = above;
    }
}

// The lanes run along z: the classic mistake.
__global__ void laplaceWrongAxis(const float *u, float *v)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int i = blockIdx.z;
    if (i > 0 && i < NX - 1 && j > 0 && j < NY - 1 && k > 0 && k < NZ - 1) {
        float c = u[AT(i, j, k)];
        float s = u[AT(i - 1, j, k)] + u[AT(i + 1, j, k)] + u[AT(i, j - 1, k)] + u[AT(i, j + 1, k)];
        s += u[AT(i, j, k - 1)] + u[AT(i, j, k + 1)];
        v[AT(i, j, k)] = s - 6.0f * c;
    }
}

int main()
{
    const int n = NX * NY * NZ;
    std::vector<float> u = randomFloats(n, 9), want(n, 0.0f);
    for (int k = 1; k < NZ - 1; ++k)
        for (int j = 1; j < NY - 1; ++j)
            for (int i = 1; i < NX - 1; ++i)
                want[AT(i, j, k)] = u[AT(i - 1, j, k)] + u[AT(i + 1, j, k)] + u[AT(i, j - 1, k)] + u[AT(i, j + 1, k)] +
                                    u[AT(i, j, k - 1)] + u[AT(i, j, k + 1)] - 6.0f * u[AT(i, j, k)];
    float *du = toDevice(u), *dv = deviceZeros<float>(n);
    bool ok = true;
    dim3 block(32, 4, 2);
    laplace3d<<<dim3((NX + 31) / 32, (NY + 3) / 4, (NZ + 1) / 2), block>>>(du, dv);
    ok &= report("laplace3d", allNear(toHost(dv, n), want, 1e-5));
    CUDA_OK(cudaMemset(dv, 0, n * sizeof(float)));
    laplaceMarching<<<dim3(NX / 32, (NY - 2) / 8), dim3(32, 8)>>>(du, dv);
    ok &= report("laplaceMarching", allNear(toHost(dv, n), want, 1e-5));
    CUDA_OK(cudaMemset(dv, 0, n * sizeof(float)));
    laplaceWrongAxis<<<dim3((NZ + 15) / 16, (NY + 7) / 8, NX), dim3(16, 8)>>>(du, dv);
    ok &= report("laplaceWrongAxis", allNear(toHost(dv, n), want, 1e-5));
    return ok ? 0 : 1;
}
