// y = a * x + y in the usual spellings.
#include "common.h"

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void saxpyGridStride(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] += a * x[i];
}

__global__ void saxpyVec4(int n4, float a, const float4 *x, float4 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 xv = x[i];
    float4 yv = y[i];
    yv.x += a * xv.x;
    yv.y += a * xv.y;
    yv.z += a * xv.z;
    yv.w += a * xv.w;
    y[i] = yv;
}

// Four consecutive elements a thread, as scalars: stride 4 between lanes.
__global__ void saxpyChunk(int n, float a, const float *x, float *y)
{
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int k = 0; k < 4; k++) {
        if (base + k < n)
            y[base + k] = a * x[base + k] + y[base + k];
    }
}

int main()
{
    const int n = 1 << 20;
    const float a = 2.5f;
    std::vector<float> x = randomFloats(n, 1), y = randomFloats(n, 2), want(n);
    for (int i = 0; i < n; ++i)
        want[i] = a * x[i] + y[i];
    float *dx = toDevice(x), *dy = toDevice(y);
    const size_t bytes = n * sizeof(float);
    bool ok = true;

    saxpy<<<(n + 255) / 256, 256>>>(n, a, dx, dy);
    ok &= report("saxpy", allNear(toHost(dy, n), want, 1e-6));

    CUDA_OK(cudaMemcpy(dy, y.data(), bytes, cudaMemcpyHostToDevice));
    saxpyGridStride<<<264, 512>>>(n, a, dx, dy);
    ok &= report("saxpyGridStride", allNear(toHost(dy, n), want, 1e-6));

    CUDA_OK(cudaMemcpy(dy, y.data(), bytes, cudaMemcpyHostToDevice));
    saxpyVec4<<<n / 4 / 128, 128>>>(n / 4, a, reinterpret_cast<float4 *>(dx), reinterpret_cast<float4 *>(dy));
    ok &= report("saxpyVec4", allNear(toHost(dy, n), want, 1e-6));

    CUDA_OK(cudaMemcpy(dy, y.data(), bytes, cudaMemcpyHostToDevice));
    saxpyChunk<<<n / 4 / 256, 256>>>(n, a, dx, dy);
    ok &= report("saxpyChunk", allNear(toHost(dy, n), want, 1e-6));
    return ok ? 0 : 1;
}
