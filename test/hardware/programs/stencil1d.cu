// A wide 1-D stencil, staged in shared memory with its halo.
#include "common.h"

#define RADIUS 7
#define BLOCK_SIZE 192

__constant__ float coef[RADIUS + 1];

__global__ void stencil_1d(const float *in, float *out)
{
    __shared__ float temp[BLOCK_SIZE + 2 * RADIUS];
    int gindex = threadIdx.x + blockIdx.x * blockDim.x;
    int lindex = threadIdx.x + RADIUS;

    temp[lindex] = in[gindex];
    if (threadIdx.x < RADIUS) {
        temp[lindex - RADIUS] = in[gindex - RADIUS];
        temp[lindex + BLOCK_SIZE] = in[gindex + BLOCK_SIZE];
    }
    __syncthreads();

    float result = coef[0] * temp[lindex];
    for (int offset = 1; offset <= RADIUS; offset++)
        result += coef[offset] * (temp[lindex - offset] + temp[lindex + offset]);
    out[gindex] = result;
}

// The same without shared memory: overlapping misaligned loads.
template <int R>
__global__ void stencil_direct(const float *__restrict__ in, float *__restrict__ out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < R || i >= n - R)
        return;
    float sum = 0.0f;
    #pragma unroll
    for (int k = -R; k <= R; ++k)
        sum += in[i + k];
    out[i] = sum / (2 * R + 1);
}

// Four neighbours a thread, kept in registers while sliding.
__global__ void stencil_sliding(const float *in, float *out, int n)
{
    int start = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (start == 0 || start + 4 >= n) return;
    float left = in[start - 1], here = in[start];
    for (int k = 0; k < 4; k++) {
        float right = in[start + k + 1];
        out[start + k] = 0.25f * left + 0.5f * here + 0.25f * right;
        left = here;
        here = right;
    }
}

int main()
{
    const int blocks = 500, n = blocks * BLOCK_SIZE;
    const float c[RADIUS + 1] = {1.0f, 0.5f, 0.25f, 0.125f, 0.1f, 0.05f, 0.02f, 0.01f};
    CUDA_OK(cudaMemcpyToSymbol(coef, c, sizeof(c)));
    std::vector<float> in = randomFloats(n + 2 * RADIUS, 3), want(n);
    float *din = toDevice(in), *dout = deviceZeros<float>(n);
    bool ok = true;

    for (int i = 0; i < n; i++) {
        want[i] = c[0] * in[i + RADIUS];
        for (int o = 1; o <= RADIUS; o++)
            want[i] += c[o] * (in[i + RADIUS - o] + in[i + RADIUS + o]);
    }
    stencil_1d<<<blocks, BLOCK_SIZE>>>(din + RADIUS, dout);
    ok &= report("stencil_1d", allNear(toHost(dout, n), want, 1e-4));

    CUDA_OK(cudaMemset(dout, 0, n * sizeof(float)));
    for (int i = 0; i < n; i++) {
        want[i] = 0;
        if (i >= 3 && i < n - 3) {
            for (int k = -3; k <= 3; k++) want[i] += in[i + k];
            want[i] /= 7;
        }
    }
    stencil_direct<3><<<(n + 255) / 256, 256>>>(din, dout, n);
    ok &= report("stencil_direct<3>", allNear(toHost(dout, n), want, 1e-4));

    CUDA_OK(cudaMemset(dout, 0, n * sizeof(float)));
    for (int i = 0; i < n; i++) {
        int start = i / 4 * 4;
        want[i] = start == 0 || start + 4 >= n ? 0 : 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
    }
    stencil_sliding<<<n / 4 / 128 + 1, 128>>>(din, dout, n);
    ok &= report("stencil_sliding", allNear(toHost(dout, n), want, 1e-4));
    return ok ? 0 : 1;
}
