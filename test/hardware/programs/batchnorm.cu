// Batch normalisation: statistics of a channel over N x C x S, one block a channel, and column sums of a matrix.
#include "common.h"

struct Stats { float mean, invStd; };

__global__ void channelStats(const float *x, Stats *stats, int N, int C, int S)
{
    __shared__ float sum[256], square[256];
    const int c = blockIdx.x, t = threadIdx.x;
    float a = 0, b = 0;
    for (int n = 0; n < N; ++n)
        for (int s = t; s < S; s += 256) {
            float v = x[(n * C + c) * S + s];
            a += v;
            b += v * v;
        }
    sum[t] = a;
    square[t] = b;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if (t < k) {
            sum[t] += sum[t + k];
            square[t] += square[t + k];
        }
        __syncthreads();
    }
    if (t == 0) {
        float mean = sum[0] / (N * S);
        stats[c] = {mean, rsqrtf(square[0] / (N * S) - mean * mean + 1e-5f)};
    }
}

__global__ void normalise(float *x, const Stats *__restrict__ stats, const float *gamma, const float *beta, int C, int S)
{
    const int c = blockIdx.y, n = blockIdx.z;
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= S) return;
    const Stats st = stats[c];
    float *p = &x[(n * C + c) * S + s];
    *p = (*p - st.mean) * st.invStd * gamma[c] + beta[c];
}

// Bias gradient: each block owns 32 columns; 8 rows of threads sum down and meet in shared memory.
__global__ void columnSums(const float *m, float *out, int rows, int cols)
{
    __shared__ float part[8][32];
    int col = blockIdx.x * 32 + threadIdx.x;
    float s = 0;
    if (col < cols)
        for (int r = threadIdx.y; r < rows; r += 8)
            s += m[r * cols + col];
    part[threadIdx.y][threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        for (int r = 1; r < 8; ++r)
            s += part[r][threadIdx.x];
        out[col] = s;
    }
}

int main()
{
    const int N = 6, C = 20, S = 35 * 35;
    std::vector<float> x = randomFloats(N * C * S, 1), g = randomFloats(C, 2), b = randomFloats(C, 3), want(x.size());
    for (int c = 0; c < C; ++c) {
        double m = 0, q = 0;
        for (int n = 0; n < N; ++n) for (int s = 0; s < S; ++s) { double v = x[(n * C + c) * S + s]; m += v; q += v * v; }
        m /= N * S;
        double inv = 1 / std::sqrt(q / (N * S) - m * m + 1e-5);
        for (int n = 0; n < N; ++n) for (int s = 0; s < S; ++s) want[(n * C + c) * S + s] = (float)((x[(n * C + c) * S + s] - m) * inv * g[c] + b[c]);
    }
    float *dx = toDevice(x);
    Stats *ds = deviceZeros<Stats>(C);
    channelStats<<<20, 256>>>(dx, ds, N, C, S);
    normalise<<<dim3((S + 255) / 256, C, N), 256>>>(dx, ds, toDevice(g), toDevice(b), C, S);
    bool ok = report("channelStats, normalise", allNear(toHost(dx, x.size()), want, 1e-3));
    const int rows = 700, cols = 100;
    std::vector<float> sums(cols, 0.0f);
    for (int r = 0; r < rows; ++r) for (int c = 0; c < cols; ++c) sums[c] += x[r * cols + c];
    float *out = deviceZeros<float>(cols);
    columnSums<<<(cols + 31) / 32, dim3(32, 8)>>>(toDevice(x), out, rows, cols);
    ok &= report("columnSums", allNear(toHost(out, cols), sums, 1e-3));
    return ok ? 0 : 1;
}
