// Half precision, element by element: bias and GELU, and a residual in half2.
#include <cuda_fp16.h>
#include "common.h"

__device__ __forceinline__ float gelu(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__global__ void biasGelu(const __half *__restrict__ x, const __half *__restrict__ bias, __half *__restrict__ y, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y;
    if (c < cols) {
        float v = __half2float(x[r * cols + c]) + __half2float(bias[c]);
        y[r * cols + c] = __float2half(gelu(v));
    }
}

__global__ void residualHalf2(const half2 *a, const half2 *b, half2 *y, int n2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n2)
        y[i] = __hadd2(a[i], __ldg(&b[i]));
}

// Eight halves in one 16-byte access.
__global__ void scaleHalf8(const half *in, half *out, half scale, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i + 7 >= n)
        return;
    uint4 raw = *reinterpret_cast<const uint4 *>(in + i);
    half2 *h = reinterpret_cast<half2 *>(&raw);
    half2 s = __half2half2(scale);
#pragma unroll
    for (int k = 0; k < 4; ++k)
        h[k] = __hmul2(h[k], s);
    *reinterpret_cast<uint4 *>(out + i) = raw;
}

int main()
{
    const int rows = 300, cols = 1000, n = rows * cols;
    std::vector<float> x = randomFloats(n, 3), b = randomFloats(cols, 4);
    std::vector<half> hx(n), hb(cols);
    for (int i = 0; i < n; ++i) hx[i] = __float2half(x[i]);
    for (int i = 0; i < cols; ++i) hb[i] = __float2half(b[i]);
    half *dx = toDevice(hx), *db = toDevice(hb), *dy = deviceZeros<half>(n);
    auto result = [&] {
        std::vector<half> h = toHost(dy, n);
        std::vector<float> f(n);
        for (int i = 0; i < n; ++i) f[i] = __half2float(h[i]);
        return f;
    };
    std::vector<float> want(n);
    bool ok = true;

    for (int i = 0; i < n; ++i) {
        float v = __half2float(hx[i]) + __half2float(hb[i % cols]);
        want[i] = 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
    biasGelu<<<dim3((cols + 127) / 128, rows), 128>>>(dx, db, dy, rows, cols);
    ok &= report("biasGelu", allNear(result(), want, 2e-3));

    for (int i = 0; i < n; ++i) want[i] = 2 * __half2float(hx[i]);
    residualHalf2<<<(n / 2 + 255) / 256, 256>>>((half2 *)dx, (half2 *)dx, (half2 *)dy, n / 2);
    ok &= report("residualHalf2", allNear(result(), want, 2e-3));

    for (int i = 0; i < n; ++i) want[i] = 3 * __half2float(hx[i]);
    scaleHalf8<<<(n / 8 + 255) / 256, 256>>>(dx, dy, __float2half(3.0f), n);
    ok &= report("scaleHalf8", allNear(result(), want, 2e-3));
    return ok ? 0 : 1;
}
