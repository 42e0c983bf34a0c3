// Conditions around accesses: uniform, by warp, by lane, nested, with early return and with a switch.
#include "common.h"

__global__ void byLane(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x % 2 == 0)
        out[i] = in[i] + 1;
    else
        out[i] = in[i] * in[i ^ 1];
}

__global__ void byWarp(const int *in, int *out)
{
    __shared__ int s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t / 32 < 4)
        s[t] = in[i];
    else
        s[t] = -in[i - 128];
    __syncthreads();
    if (t < 100)
        out[i] = s[t * 2];
    else if (t < 200)
        out[i] = s[(t * 33) % 256];
    else
        out[i] = 0;
}

enum Shape { POINT, LINE, TRIANGLE, QUAD };

__global__ void bySwitch(const unsigned char *kind, const float *x, const float *y, float *area, int n)
{
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) {
        float r = 0;
        switch (kind[i]) {
        case POINT: break;
        case LINE: r = x[i]; break;
        case TRIANGLE: r = 0.5f * x[i] * y[i]; break;
        default: r = x[i] * y[i]; break;
        }
        area[i] = r;
    }
}

// Each thread sums a triangle's row: the trip count differs between lanes.
__global__ void triangleSums(const float *m, float *out, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float s = 0;
    for (int c = 0; c <= row; ++c)
        s += m[c * n + row];
    out[row] = s;
}

// A halo copy with ternaries and &&: predicated rather than branched.
__global__ void clampedNeighbours(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float left = i > 0 && i <= n ? in[i - 1] : 0.0f;
    float right = i < n - 1 ? in[i + 1] : 0.0f;
    if (i < n) out[i] = right - left;
}

__global__ void collatzSteps(int *steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 || i >= n) return;
    long long v = i;
    int k = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        ++k;
    }
    steps[i] = k;
}

int main()
{
    bool ok = true;
    const int n = 20000;
    std::vector<int> in(n), want(n, 0);
    for (int i = 0; i < n; ++i) in[i] = i % 321 - 100;
    int *din = toDevice(in), *dout = deviceZeros<int>(n + 256);
    for (int i = 0; i < n; ++i) want[i] = i % 2 == 0 ? in[i] + 1 : in[i] * in[i ^ 1];
    byLane<<<(n + 127) / 128, 128>>>(din, dout, n);
    ok &= report("byLane", toHost(dout, n) == want);
    const int m = 256 * 70;
    std::vector<int> w2(m);
    for (int b = 0; b < 70; ++b) {
        int s[256];
        for (int t = 0; t < 256; ++t) s[t] = t < 128 ? in[b * 256 + t] : -in[b * 256 + t - 128];
        for (int t = 0; t < 256; ++t) w2[b * 256 + t] = t < 100 ? s[2 * t] : t < 200 ? s[t * 33 % 256] : 0;
    }
    byWarp<<<70, 256>>>(din, dout);
    ok &= report("byWarp", toHost(dout, m) == w2);

    std::vector<unsigned char> kind(n);
    std::vector<float> x = randomFloats(n, 1), y = randomFloats(n, 2), area(n);
    for (int i = 0; i < n; ++i) {
        kind[i] = (unsigned char)(i / 5 % 4);
        area[i] = kind[i] == 0 ? 0 : kind[i] == 1 ? x[i] : kind[i] == 2 ? 0.5f * x[i] * y[i] : x[i] * y[i];
    }
    float *dx = toDevice(x), *df = deviceZeros<float>(n + 256);
    bySwitch<<<50, 128>>>(toDevice(kind), dx, toDevice(y), df, n);
    ok &= report("bySwitch", allNear(toHost(df, n), area, 1e-6));

    const int side = 140;
    std::vector<float> sums(side, 0.0f);
    for (int r = 0; r < side; ++r) for (int c = 0; c <= r; ++c) sums[r] += x[c * side + r];
    triangleSums<<<3, 64>>>(dx, df, side);
    ok &= report("triangleSums", allNear(toHost(df, side), sums, 1e-4));

    std::vector<float> diff(n);
    for (int i = 0; i < n; ++i) diff[i] = (i < n - 1 ? x[i + 1] : 0) - (i ? x[i - 1] : 0);
    clampedNeighbours<<<(n + 255) / 256, 256>>>(dx, df, n);
    ok &= report("clampedNeighbours", allNear(toHost(df, n), diff, 0));

    std::vector<int> steps(5000, 0);
    for (int i = 1; i < 5000; ++i) for (long long v = i; v != 1; v = v & 1 ? 3 * v + 1 : v / 2) ++steps[i];
    int *ds = deviceZeros<int>(5000);
    collatzSteps<<<(5000 + 95) / 96, 96>>>(ds, 5000);
    ok &= report("collatzSteps", toHost(ds, 5000) == steps);
    return ok ? 0 : 1;
}
