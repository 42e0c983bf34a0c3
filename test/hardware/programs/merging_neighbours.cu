// Neighbouring scalars that a compiler may or may not join into wider accesses.
#include "common.h"

// Two consecutive floats of an index times two: alignment is provable.
__global__ void pairsFromGlobal(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[2 * i] + in[2 * i + 1];
}

// Consecutive elements of a shared row: the base is aligned, the offset a multiple of four.
__global__ void quadsFromShared(const float *in, float *out)
{
    __shared__ float s[512];
    int t = threadIdx.x;
    for (int k = 0; k < 4; k++)
        s[k * 128 + t] = in[blockIdx.x * 512 + k * 128 + t];
    __syncthreads();
    float a = s[4 * t], b = s[4 * t + 1], c = s[4 * t + 2], d = s[4 * t + 3];
    out[blockIdx.x * 128 + t] = (a - b) * (c - d);
}

// The same shifted by one: no alignment.
__global__ void quadsShifted(const float *in, float *out)
{
    __shared__ float s[516];
    int t = threadIdx.x;
    for (int k = t; k < 516; k += 128)
        s[k] = in[blockIdx.x * 512 + k];
    __syncthreads();
    out[blockIdx.x * 128 + t] = s[4 * t + 1] * s[4 * t + 2] + s[4 * t + 3] * s[4 * t + 4];
}

// A row of an 8-wide tile, uniform over the warp or not, in an unrolled loop.
__global__ void rowsOfTile(const float *in, float *out)
{
    __shared__ float tile[32][8];
    tile[threadIdx.y][threadIdx.x] = in[blockIdx.x * 256 + threadIdx.y * 8 + threadIdx.x];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        sum += tile[threadIdx.y][k] * tile[(threadIdx.x * 4) % 32][k];
    out[blockIdx.x * 256 + threadIdx.y * 8 + threadIdx.x] = sum;
}

struct Complex { float re, im; };
struct __align__(8) ComplexA { float re, im; };

template <typename C>
__global__ void multiplyComplex(const C *a, const C *b, C *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    C r;
    r.re = a[i].re * b[i].re - a[i].im * b[i].im;
    r.im = a[i].re * b[i].im + a[i].im * b[i].re;
    c[i] = r;
}

// Stores of neighbours, and the same words read back in another order.
__global__ void storeNeighbours(const float2 *in, float *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    float2 v = i < n ? in[i] : make_float2(0, 0);
    s[2 * t] = v.x;
    s[2 * t + 1] = v.y;
    __syncthreads();
    if (i < n) {
        out[2 * i] = s[2 * t + 1];
        out[2 * i + 1] = s[2 * t];
    }
}

// The load does not change in the loop; the pointers may alias in the first, not in the second.
__global__ void invariantAliased(const float *scale, float *x, int n)
{
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        x[i] *= *scale;
}
__global__ void invariantRestrict(const float *__restrict__ scale, float *__restrict__ x, int n)
{
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        x[i] *= *scale;
}

// Reads the same element thrice; computes one value that nobody needs.
__global__ void repeatedAndDead(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float unused = b[i * 3];
        if (a[i] > 0.0f)
            out[i] = a[i] * a[i];
        else
            out[i] = -a[i];
        unused += 1.0f;
        (void)unused;
    }
}

int main()
{
    bool ok = true;
    const int n = 51200;
    std::vector<float> in = randomFloats(2 * n + 16, 1), want(n);
    float *din = toDevice(in), *dout = deviceZeros<float>(2 * n);
    auto verify = [&](const char *name, size_t count) {
        std::vector<float> w(want.begin(), want.begin() + count);
        ok &= report(name, allNear(toHost(dout, count), w, 1e-5));
        CUDA_OK(cudaMemset(dout, 0, 2 * n * sizeof(float)));
    };
    for (int i = 0; i < n; ++i) want[i] = in[2 * i] + in[2 * i + 1];
    pairsFromGlobal<<<n / 256, 256>>>(din, dout, n);
    verify("pairsFromGlobal", n);
    for (int i = 0; i < 12800; ++i) want[i] = (in[4 * i] - in[4 * i + 1]) * (in[4 * i + 2] - in[4 * i + 3]);
    quadsFromShared<<<100, 128>>>(din, dout);
    verify("quadsFromShared", 12800);
    for (int i = 0; i < 12800; ++i) want[i] = in[4 * i + 1] * in[4 * i + 2] + in[4 * i + 3] * in[4 * i + 4];
    quadsShifted<<<100, 128>>>(din, dout);
    verify("quadsShifted", 12800);
    for (int i = 0; i < 12800; ++i) {
        const float *tile = &in[i / 256 * 256];
        int y = i % 256 / 8, x = i % 8;
        want[i] = 0;
        for (int k = 0; k < 8; ++k) want[i] += tile[y * 8 + k] * tile[x * 4 % 32 * 8 + k];
    }
    rowsOfTile<<<50, dim3(8, 32)>>>(din, dout);
    verify("rowsOfTile", 12800);
    for (int i = 0; i < 10000; ++i) {
        want[2 * i] = in[2 * i] * in[2 * i] - in[2 * i + 1] * in[2 * i + 1];
        want[2 * i + 1] = 2 * in[2 * i] * in[2 * i + 1];
    }
    multiplyComplex<<<79, 128>>>((Complex *)din, (Complex *)din, (Complex *)dout, 10000);
    verify("multiplyComplex<Complex>", 20000);
    multiplyComplex<<<79, 128>>>((ComplexA *)din, (ComplexA *)din, (ComplexA *)dout, 10000);
    verify("multiplyComplex<ComplexA>", 20000);
    for (int i = 0; i < 20000; ++i) want[i] = in[i ^ 1];
    storeNeighbours<<<79, 128>>>((float2 *)din, dout, 10000);
    verify("storeNeighbours", 20000);

    for (int i = 0; i < n; ++i) want[i] = in[i] * in[2 * n];
    CUDA_OK(cudaMemcpy(dout, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    invariantAliased<<<40, 128>>>(din + 2 * n, dout, n);
    verify("invariantAliased", n);
    CUDA_OK(cudaMemcpy(dout, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    invariantRestrict<<<40, 128>>>(din + 2 * n, dout, n);
    verify("invariantRestrict", n);
    for (int i = 0; i < 30000; ++i) want[i] = in[i] > 0 ? in[i] * in[i] : -in[i];
    repeatedAndDead<<<(30000 + 255) / 256, 256>>>(din, din, dout, 30000);
    verify("repeatedAndDead", 30000);
    return ok ? 0 : 1;
}
