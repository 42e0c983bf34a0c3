// Layer norm and RMS norm, forward.
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "common.h"
namespace cg = cooperative_groups;

// One warp a row, through cooperative groups.
__global__ void layernormWarp(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                              const float *__restrict__ inp, const float *__restrict__ weight,
                              const float *__restrict__ bias, int N, int C)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= N) return;
    const float *x = inp + idx * C;

    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size())
        sum += x[i];
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    float m = sum / C;
    if (warp.thread_rank() == 0 && mean != nullptr)
        __stcs(mean + idx, m);

    sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) {
        float diff = x[i] - m;
        sum += diff * diff;
    }
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    float s = rsqrtf(sum / C + 1e-5f);
    if (warp.thread_rank() == 0 && rstd != nullptr)
        __stcs(rstd + idx, s);

    float *o = out + idx * C;
    for (int c = warp.thread_rank(); c < C; c += warp.size()) {
        float n = s * (__ldcs(x + c) - m);
        __stcs(o + c, n * weight[c] + bias[c]);
    }
}

// One block a row; each thread keeps its 4 values in registers.
__global__ void layernormBlock(const float4 *x, const float4 *gamma, const float4 *beta, float4 *y, float eps)
{
    __shared__ float2 partial[32];
    __shared__ float2 stats;
    const int hidden = blockDim.x * 4;
    float4 v = x[blockIdx.x * blockDim.x + threadIdx.x];
    float2 acc = make_float2(v.x + v.y + v.z + v.w, v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
    for (int mask = 16; mask > 0; mask >>= 1) {
        acc.x += __shfl_xor_sync(0xffffffff, acc.x, mask);
        acc.y += __shfl_xor_sync(0xffffffff, acc.y, mask);
    }
    if ((threadIdx.x & 31) == 0)
        partial[threadIdx.x >> 5] = acc;
    __syncthreads();
    if (threadIdx.x == 0) {
        float2 total = make_float2(0, 0);
        for (int w = 0; w < blockDim.x / 32; ++w) {
            total.x += partial[w].x;
            total.y += partial[w].y;
        }
        float mu = total.x / hidden;
        stats = make_float2(mu, rsqrtf(total.y / hidden - mu * mu + eps));
    }
    __syncthreads();
    float mu = stats.x, rs = stats.y;
    float4 g = gamma[threadIdx.x], b = beta[threadIdx.x];
    v.x = (v.x - mu) * rs * g.x + b.x;
    v.y = (v.y - mu) * rs * g.y + b.y;
    v.z = (v.z - mu) * rs * g.z + b.z;
    v.w = (v.w - mu) * rs * g.w + b.w;
    y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

__global__ void rmsNormHalf(const half *x, const half *w, half *y, int cols)
{
    extern __shared__ float sums[];
    const half2 *row = reinterpret_cast<const half2 *>(x + (size_t)blockIdx.x * cols);
    float s = 0.f;
    for (int i = threadIdx.x; i < cols / 2; i += blockDim.x) {
        float2 f = __half22float2(row[i]);
        s += f.x * f.x + f.y * f.y;
    }
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) sums[threadIdx.x] += sums[threadIdx.x + k];
        __syncthreads();
    }
    const float r = rsqrtf(sums[0] / cols + 1e-6f);
    half2 *out = reinterpret_cast<half2 *>(y + (size_t)blockIdx.x * cols);
    for (int i = threadIdx.x; i < cols / 2; i += blockDim.x) {
        float2 f = __half22float2(row[i]);
        float2 g = __half22float2(reinterpret_cast<const half2 *>(w)[i]);
        out[i] = __floats2half2_rn(f.x * r * g.x, f.y * r * g.y);
    }
}

int main()
{
    const int N = 500, C = 512;
    std::vector<float> x = randomFloats(N * C, 1), g = randomFloats(C, 2), b = randomFloats(C, 3), want(N * C), rms(N * C);
    for (int r = 0; r < N; ++r) {
        double m = 0, v = 0, q = 0;
        for (int c = 0; c < C; ++c) { m += x[r * C + c]; q += x[r * C + c] * x[r * C + c]; }
        m /= C;
        for (int c = 0; c < C; ++c) v += (x[r * C + c] - m) * (x[r * C + c] - m);
        double rs = 1 / std::sqrt(v / C + 1e-5), rr = 1 / std::sqrt(q / C + 1e-6);
        for (int c = 0; c < C; ++c) {
            want[r * C + c] = (float)((x[r * C + c] - m) * rs * g[c] + b[c]);
            rms[r * C + c] = (float)(x[r * C + c] * rr * g[c]);
        }
    }
    float *dx = toDevice(x), *dg = toDevice(g), *db = toDevice(b), *dy = deviceZeros<float>(N * C);
    float *mean = deviceZeros<float>(N), *rstd = deviceZeros<float>(N);
    bool ok = true;
    layernormWarp<<<(N + 7) / 8, 256>>>(dy, mean, rstd, dx, dg, db, N, C);
    ok &= report("layernormWarp", allNear(toHost(dy, N * C), want, 1e-4));
    CUDA_OK(cudaMemset(dy, 0, N * C * sizeof(float)));
    layernormBlock<<<N, C / 4>>>((float4 *)dx, (float4 *)dg, (float4 *)db, (float4 *)dy, 1e-5f);
    ok &= report("layernormBlock", allNear(toHost(dy, N * C), want, 1e-3));
    std::vector<half> hx(N * C), hw(C);
    for (int i = 0; i < N * C; ++i) hx[i] = __float2half(x[i]);
    for (int i = 0; i < C; ++i) hw[i] = __float2half(g[i]);
    half *dhx = toDevice(hx), *dhw = toDevice(hw), *dhy = deviceZeros<half>(N * C);
    rmsNormHalf<<<N, 128, 128 * sizeof(float)>>>(dhx, dhw, dhy, C);
    std::vector<half> hy = toHost(dhy, N * C);
    std::vector<float> got(N * C);
    for (int i = 0; i < N * C; ++i) got[i] = __half2float(hy[i]);
    ok &= report("rmsNormHalf", allNear(got, rms, 3e-3));
    return ok ? 0 : 1;
}
