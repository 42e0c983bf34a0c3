// Shared memory with all sorts of strides and element widths, one pattern a kernel.
#include "common.h"

#define WARPS 4
#define THREADS (WARPS * 32)

// Stride STRIDE in 4-byte words; odd ones are free of conflicts.
template <int STRIDE>
__global__ void strided(const int *in, int *out)
{
    __shared__ int s[THREADS * STRIDE];
    int t = threadIdx.x;
    s[t * STRIDE] = in[blockIdx.x * THREADS + t];
    __syncthreads();
    int partner = THREADS - 1 - t;
    out[blockIdx.x * THREADS + t] = s[partner * STRIDE];
}

struct Pair { float a, b; };
struct Triple { float a, b, c; };
struct __align__(16) Quad { float a, b, c, d; };

template <typename S>
__global__ void records(const float *in, float *out)
{
    __shared__ S box[THREADS];
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    S mine = {};
    mine.a = in[i];
    mine.b = 2.0f * in[i];
    box[t] = mine;
    __syncthreads();
    const S other = box[t ^ 1];
    out[i] = other.a + other.b;
}

__global__ void bytesAndDoubles(const double *in, double *out)
{
    __shared__ double d[THREADS];
    __shared__ unsigned char c[THREADS * 4], near[THREADS];
    int t = threadIdx.x;
    double v = in[blockIdx.x * THREADS + t];
    d[t] = v;
    near[t] = (unsigned char)t;
    c[4 * t + 3] = (unsigned char)(t + 1);
    __syncthreads();
    // columns of a 4 x 32 view, by half-warps on the same double
    double w = d[(t * 32) % THREADS + (t / 4) % 32];
    out[blockIdx.x * THREADS + t] = w + d[t / 2] + (c[4 * t + 3] - near[t ^ 1]);
}

// Broadcasts of all kinds: the whole warp on one word, quads on one word, a window.
__global__ void broadcasts(const float *in, float *out)
{
    __shared__ float4 v4[THREADS];
    __shared__ float2 v2[THREADS];
    int t = threadIdx.x, g = blockIdx.x * THREADS + t;
    float x = in[g];
    v4[t] = make_float4(x, x + 1, x + 2, x + 3);
    v2[t] = make_float2(x, -x);
    __syncthreads();
    float4 one = v4[t / 32];
    float4 quad = v4[t / 4 * 4];
    float4 wide = v4[(t * 4) % THREADS];
    float2 half = v2[t / 2];
    float2 mirrored = v2[THREADS - 1 - t];
    out[g] = one.x + one.w + quad.y + quad.z + wide.x + wide.y + wide.z + wide.w + half.x + half.y * 0.5f + mirrored.x + mirrored.y;
}

int main()
{
    const int blocks = 64, n = blocks * THREADS;
    std::vector<int> in(n), want(n);
    for (int i = 0; i < n; i++) in[i] = i * 7 % 1001;
    for (int b = 0; b < blocks; b++)
        for (int t = 0; t < THREADS; t++)
            want[b * THREADS + t] = in[b * THREADS + THREADS - 1 - t];
    int *din = toDevice(in), *dout = deviceZeros<int>(n);
    bool ok = true;

    strided<1><<<blocks, THREADS>>>(din, dout);
    ok &= report("strided<1>", toHost(dout, n) == want);
    strided<2><<<blocks, THREADS>>>(din, dout);
    ok &= report("strided<2>", toHost(dout, n) == want);
    strided<3><<<blocks, THREADS>>>(din, dout);
    ok &= report("strided<3>", toHost(dout, n) == want);
    strided<8><<<blocks, THREADS>>>(din, dout);
    ok &= report("strided<8>", toHost(dout, n) == want);
    strided<32><<<blocks, THREADS>>>(din, dout);
    ok &= report("strided<32>", toHost(dout, n) == want);

    std::vector<float> f = randomFloats(n, 5), fw(n);
    for (int i = 0; i < n; i++) fw[i] = 3.0f * f[i ^ 1];
    float *df = toDevice(f), *dfo = deviceZeros<float>(n);
    records<Pair><<<blocks, THREADS>>>(df, dfo);
    ok &= report("records<Pair>", allNear(toHost(dfo, n), fw, 1e-5));
    records<Triple><<<blocks, THREADS>>>(df, dfo);
    ok &= report("records<Triple>", allNear(toHost(dfo, n), fw, 1e-5));
    records<Quad><<<blocks, THREADS>>>(df, dfo);
    ok &= report("records<Quad>", allNear(toHost(dfo, n), fw, 1e-5));

    std::vector<double> d(n), dw(n);
    for (int i = 0; i < n; i++) d[i] = f[i];
    for (int b = 0; b < blocks; b++)
        for (int t = 0; t < THREADS; t++) {
            const double *base = &d[b * THREADS];
            dw[b * THREADS + t] = base[(t * 32) % THREADS + (t / 4) % 32] + base[t / 2] + (t + 1 - (t ^ 1));
        }
    double *dd = toDevice(d), *ddo = deviceZeros<double>(n);
    bytesAndDoubles<<<blocks, THREADS>>>(dd, ddo);
    ok &= report("bytesAndDoubles", allNear(toHost(ddo, n), dw, 1e-12));

    for (int b = 0; b < blocks; b++)
        for (int t = 0; t < THREADS; t++) {
            const float *x = &f[b * THREADS];
            float s = x[t / 32] * 2 + 3 + x[t / 4 * 4] * 2 + 3 + x[(t * 4) % THREADS] * 4 + 6;
            s += x[t / 2] * 0.5f;
            fw[b * THREADS + t] = s;
        }
    broadcasts<<<blocks, THREADS>>>(df, dfo);
    ok &= report("broadcasts", allNear(toHost(dfo, n), fw, 1e-5));
    return ok ? 0 : 1;
}
