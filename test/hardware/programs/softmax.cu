// Row-wise softmax: by thread, by warp, by block, and with the row cached in shared memory.
#include <cfloat>
#include "common.h"

__global__ void softmaxThread(const float *in, float *out, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float *x = in + row * cols;
        float *y = out + row * cols;
        float maxval = -INFINITY;
        double sum = 0.0;
        for (int j = 0; j < cols; j++)
            if (x[j] > maxval) maxval = x[j];
        for (int j = 0; j < cols; j++) {
            y[j] = expf(x[j] - maxval);
            sum += y[j];
        }
        for (int j = 0; j < cols; j++)
            y[j] /= (float)sum;
    }
}

__device__ float warpReduceMax(float val)
{
    for (int offset = 16; offset > 0; offset /= 2)
        val = fmaxf(val, __shfl_down_sync(0xFFFFFFFF, val, offset));
    return val;
}
__device__ float warpReduceSum(float val)
{
    for (int offset = 16; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xFFFFFFFF, val, offset);
    return val;
}

__global__ void softmaxWarp(const float *in, float *out, int cols)
{
    int row = blockIdx.x, tid = threadIdx.x;
    const float *x = in + row * cols;
    float maxval = -INFINITY;
    for (int i = tid; i < cols; i += blockDim.x)
        maxval = fmaxf(maxval, x[i]);
    maxval = warpReduceMax(maxval);
    float offset = __shfl_sync(0xFFFFFFFF, maxval, 0);
    for (int i = tid; i < cols; i += blockDim.x)
        out[row * cols + i] = expf(x[i] - offset);
    float sumval = 0.0f;
    for (int i = tid; i < cols; i += blockDim.x)
        sumval += out[row * cols + i];
    sumval = warpReduceSum(sumval);
    float sum = __shfl_sync(0xFFFFFFFF, sumval, 0);
    for (int i = tid; i < cols; i += blockDim.x)
        out[row * cols + i] = out[row * cols + i] / sum;
}

template <int BLOCK>
__global__ void softmaxBlockCached(const float4 *__restrict__ in, float4 *__restrict__ out, int cols4)
{
    extern __shared__ float4 row[];
    __shared__ float red[BLOCK / 32];
    const int t = threadIdx.x;
    float m = -FLT_MAX;
    for (int i = t; i < cols4; i += BLOCK) {
        float4 v = in[blockIdx.x * cols4 + i];
        row[i] = v;
        m = fmaxf(fmaxf(m, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
    }
    m = warpReduceMax(m);
    if (t % 32 == 0) red[t / 32] = m;
    __syncthreads();
    m = red[0];
    #pragma unroll
    for (int w = 1; w < BLOCK / 32; ++w) m = fmaxf(m, red[w]);
    __syncthreads();
    float s = 0;
    for (int i = t; i < cols4; i += BLOCK) {
        float4 v = row[i];
        v.x = __expf(v.x - m); v.y = __expf(v.y - m); v.z = __expf(v.z - m); v.w = __expf(v.w - m);
        s += v.x + v.y + v.z + v.w;
        row[i] = v;
    }
    s = warpReduceSum(s);
    if (t % 32 == 0) red[t / 32] = s;
    __syncthreads();
    s = 0;
    for (int w = 0; w < BLOCK / 32; ++w) s += red[w];
    const float inv = 1.0f / s;
    for (int i = t; i < cols4; i += BLOCK) {
        float4 v = row[i];
        v.x *= inv; v.y *= inv; v.z *= inv; v.w *= inv;
        out[blockIdx.x * cols4 + i] = v;
    }
}

// Over the channels of an N x C x S tensor: each thread strides through memory, the lanes stay together.
__global__ void softmaxChannels(const float *x, float *y, int C, int S)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= S) return;
    const int base = blockIdx.y * C * S + s;
    float m = -INFINITY, sum = 0;
    for (int c = 0; c < C; ++c) {
        float v = x[base + c * S], bigger = fmaxf(m, v);
        sum = sum * __expf(m - bigger) + __expf(v - bigger);
        m = bigger;
    }
    for (int c = 0; c < C; ++c)
        y[base + c * S] = __expf(x[base + c * S] - m) / sum;
}

static std::vector<float> reference(const std::vector<float> &x, int outer, int len, int inner)
{
    std::vector<float> y(x.size());
    for (int o = 0; o < outer; ++o)
        for (int i = 0; i < inner; ++i) {
            double sum = 0;
            for (int c = 0; c < len; ++c) sum += std::exp((double)x[(o * len + c) * inner + i]);
            for (int c = 0; c < len; ++c) y[(o * len + c) * inner + i] = (float)(std::exp((double)x[(o * len + c) * inner + i]) / sum);
        }
    return y;
}

int main()
{
    const int rows = 200, cols = 768, n = rows * cols;
    std::vector<float> x = randomFloats(n, 1);
    float *in = toDevice(x), *out = deviceZeros<float>(n);
    std::vector<float> want = reference(x, rows, cols, 1);
    bool ok = true;
    softmaxThread<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
    ok &= report("softmaxThread", allNear(toHost(out, n), want, 1e-5));
    softmaxWarp<<<rows, 32>>>(in, out, cols);
    ok &= report("softmaxWarp", allNear(toHost(out, n), want, 1e-5));
    softmaxBlockCached<128><<<rows, 128, cols * sizeof(float)>>>((float4 *)in, (float4 *)out, cols / 4);
    ok &= report("softmaxBlockCached<128>", allNear(toHost(out, n), want, 1e-5));
    const int N = 4, C = 48, S = 800;
    want = reference(x, N, C, S);
    softmaxChannels<<<dim3((S + 255) / 256, N), 256>>>(in, out, C, S);
    ok &= report("softmaxChannels", allNear(toHost(out, n), want, 1e-5));
    return ok ? 0 : 1;
}
