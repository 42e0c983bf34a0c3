/*
 * Batched softmax, optimised step by step (companion code of the lecture notes, part 4)
 *
 *   step 1 : one thread handles a row, three passes over global memory
 *   step 2 : one block handles a row, interleaved tree reduction in shared memory
 *   step 3 : one warp handles a row, the row lives in registers
 *   step 4 : block per row, online normaliser, float4
 *   step 5 : softmax over dim 0 (columns), 32x8 block, partial results combined in shared memory
 *   step 6 : fp16 scores with causal mask, half2, tiled cooperative groups
 */
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

#define cudaCheck(err) (cudaCheckImpl((err), __FILE__, __LINE__))
static void cudaCheckImpl(cudaError_t e, const char *file, int line)
{
    if (e != cudaSuccess) {
        printf("[CUDA] %s at %s:%d\n", cudaGetErrorString(e), file, line);
        exit(EXIT_FAILURE);
    }
}

__global__ void softmax_step1(float *out, const float *in, int N, int C)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        const float *in_row = in + i * C;
        float *out_row = out + i * C;
        float maxval = -INFINITY;
        for (int j = 0; j < C; j++) {
            maxval = fmaxf(maxval, in_row[j]);
        }
        float sum = 0.0f;
        for (int j = 0; j < C; j++) {
            out_row[j] = expf(in_row[j] - maxval);
            sum += out_row[j];
        }
        for (int j = 0; j < C; j++) {
            out_row[j] /= sum;
        }
    }
}

__global__ void softmax_step2(float *out, const float *in, int N, int C)
{
    __shared__ float buf[256];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    const float *x = in + row * C;
    float *y = out + row * C;

    float m = -FLT_MAX;
    for (int j = tid; j < C; j += blockDim.x) {
        m = fmaxf(m, x[j]);
    }
    buf[tid] = m;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int idx = 2 * s * tid;
        if (idx < blockDim.x) {
            buf[idx] = fmaxf(buf[idx], buf[idx + s]);
        }
        __syncthreads();
    }
    float maxval = buf[0];
    __syncthreads();

    float sum = 0.f;
    for (int j = tid; j < C; j += blockDim.x) {
        float e = expf(x[j] - maxval);
        y[j] = e;
        sum += e;
    }
    buf[tid] = sum;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int idx = 2 * s * tid;
        if (idx < blockDim.x) {
            buf[idx] += buf[idx + s];
        }
        __syncthreads();
    }
    float total = buf[0];
    for (int j = tid; j < C; j += blockDim.x) {
        y[j] = y[j] / total;
    }
}

template <int PER_LANE>
__global__ void softmax_step3(float *__restrict__ out, const float *__restrict__ in, int N, int C)
{
    int lane = threadIdx.x & 31;
    int row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= N) {
        return;
    }
    float r[PER_LANE];
    float m = -INFINITY;
#pragma unroll
    for (int t = 0; t < PER_LANE; t++) {
        int j = t * 32 + lane;
        r[t] = j < C ? in[row * C + j] : -INFINITY;
        m = fmaxf(m, r[t]);
    }
    for (int o = 16; o > 0; o /= 2) {
        m = fmaxf(m, __shfl_xor_sync(0xFFFFFFFF, m, o));
    }
    float sum = 0.f;
#pragma unroll
    for (int t = 0; t < PER_LANE; t++) {
        r[t] = __expf(r[t] - m);
        sum += r[t];
    }
    for (int o = 16; o > 0; o /= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, o);
    }
    float inv = 1.f / sum;
#pragma unroll
    for (int t = 0; t < PER_LANE; t++) {
        int j = t * 32 + lane;
        if (j < C) {
            out[row * C + j] = r[t] * inv;
        }
    }
}

struct __align__(8) MD {
    float m;
    float d;
};

__device__ __forceinline__ MD md_join(MD a, MD b)
{
    float m = fmaxf(a.m, b.m);
    MD r;
    r.m = m;
    r.d = a.d * __expf(a.m - m) + b.d * __expf(b.m - m);
    return r;
}

__global__ __launch_bounds__(128) void softmax_step4(float *__restrict__ out, const float *__restrict__ in, int N, int C)
{
    __shared__ MD warp_md[4];
    const float4 *x = reinterpret_cast<const float4 *>(in + (size_t)blockIdx.x * C);
    float4 *y = reinterpret_cast<float4 *>(out + (size_t)blockIdx.x * C);
    MD acc = {-1e30f, 0.f};
    for (int j = threadIdx.x; j < C / 4; j += blockDim.x) {
        float4 v = x[j];
        float lm = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
        MD loc;
        loc.m = lm;
        loc.d = __expf(v.x - lm) + __expf(v.y - lm) + __expf(v.z - lm) + __expf(v.w - lm);
        acc = md_join(acc, loc);
    }
    for (int o = 16; o > 0; o >>= 1) {
        MD other;
        other.m = __shfl_down_sync(0xffffffff, acc.m, o);
        other.d = __shfl_down_sync(0xffffffff, acc.d, o);
        acc = md_join(acc, other);
    }
    if ((threadIdx.x & 31) == 0) {
        warp_md[threadIdx.x >> 5] = acc;
    }
    __syncthreads();
    MD tot = warp_md[0];
    for (int w = 1; w < 4; w++) {
        tot = md_join(tot, warp_md[w]);
    }
    float inv = 1.f / tot.d;
    for (int j = threadIdx.x; j < C / 4; j += blockDim.x) {
        float4 v = x[j];
        v.x = __expf(v.x - tot.m) * inv;
        v.y = __expf(v.y - tot.m) * inv;
        v.z = __expf(v.z - tot.m) * inv;
        v.w = __expf(v.w - tot.m) * inv;
        y[j] = v;
    }
}

__global__ void softmax_step5_dim0(float *out, const float *in, int N, int C)
{
    __shared__ float red_m[32][8];
    __shared__ float red_d[32][8];
    int col = blockIdx.x * 32 + threadIdx.x;
    float m = -1e30f;
    float d = 0.f;
    if (col < C) {
        for (int r = threadIdx.y; r < N; r += 8) {
            float v = in[(size_t)r * C + col];
            float nm = fmaxf(m, v);
            d = d * __expf(m - nm) + __expf(v - nm);
            m = nm;
        }
    }
    red_m[threadIdx.x][threadIdx.y] = m;
    red_d[threadIdx.x][threadIdx.y] = d;
    __syncthreads();
    m = -1e30f;
    for (int k = 0; k < 8; k++) {
        m = fmaxf(m, red_m[threadIdx.x][k]);
    }
    d = 0.f;
    for (int k = 0; k < 8; k++) {
        d += red_d[threadIdx.x][k] * __expf(red_m[threadIdx.x][k] - m);
    }
    if (col < C) {
        for (int r = threadIdx.y; r < N; r += 8) {
            out[(size_t)r * C + col] = __expf(in[(size_t)r * C + col] - m) / d;
        }
    }
}

__global__ void softmax_step6_causal(half2 *scores, int T, float scale)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int q = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (q >= T) {
        return;
    }
    half2 *row = scores + ((size_t)blockIdx.y * T + q) * (T / 2);
    float m = -1e30f;
    for (int j = warp.thread_rank(); j <= q / 2; j += 32) {
        float2 v = __half22float2(row[j]);
        m = fmaxf(m, v.x);
        if (2 * j + 1 <= q) {
            m = fmaxf(m, v.y);
        }
    }
    m = cg::reduce(warp, m, cg::greater<float>());
    float s = 0.f;
    for (int j = warp.thread_rank(); j <= q / 2; j += 32) {
        float2 v = __half22float2(row[j]);
        s += __expf((v.x - m) * scale);
        if (2 * j + 1 <= q) {
            s += __expf((v.y - m) * scale);
        }
    }
    s = cg::reduce(warp, s, cg::plus<float>());
    float inv = 1.f / s;
    for (int j = warp.thread_rank(); j < T / 2; j += 32) {
        float2 v = __half22float2(row[j]);
        v.x = 2 * j <= q ? __expf((v.x - m) * scale) * inv : 0.f;
        v.y = 2 * j + 1 <= q ? __expf((v.y - m) * scale) * inv : 0.f;
        row[j] = __float22half2_rn(v);
    }
}

int main()
{
    const int N = 2048;
    const int C = 1000;
    std::mt19937 gen(1337);
    std::normal_distribution<float> dist(0.f, 2.f);
    std::vector<float> x((size_t)N * C), y(x.size()), ref(x.size()), ref0(x.size());
    for (auto &v : x) {
        v = dist(gen);
    }
    for (int i = 0; i < N; i++) {
        double m = *std::max_element(&x[(size_t)i * C], &x[(size_t)i * C] + C);
        double s = 0;
        for (int j = 0; j < C; j++) {
            s += exp(x[(size_t)i * C + j] - m);
        }
        for (int j = 0; j < C; j++) {
            ref[(size_t)i * C + j] = (float)(exp(x[(size_t)i * C + j] - m) / s);
        }
    }
    std::vector<double> colsum(C, 0.0);
    for (size_t p = 0; p < x.size(); p++) {
        colsum[p % C] += exp((double)x[p]);
    }
    for (size_t p = 0; p < x.size(); p++) {
        ref0[p] = (float)(exp((double)x[p]) / colsum[p % C]);
    }
    float *d_in, *d_out;
    cudaCheck(cudaMalloc(&d_in, x.size() * sizeof(float)));
    cudaCheck(cudaMalloc(&d_out, x.size() * sizeof(float)));
    cudaCheck(cudaMemcpy(d_in, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));

    std::vector<std::pair<std::string, std::function<void()>>> steps = {
        {"step1", [&] { softmax_step1<<<(N + 127) / 128, 128>>>(d_out, d_in, N, C); }},
        {"step2", [&] { softmax_step2<<<N, 256>>>(d_out, d_in, N, C); }},
        {"step3", [&] { softmax_step3<32><<<(N + 3) / 4, 128>>>(d_out, d_in, N, C); }},
        {"step4", [&] { softmax_step4<<<N, 128>>>(d_out, d_in, N, C); }},
        {"step5", [&] { softmax_step5_dim0<<<(C + 31) / 32, dim3(32, 8)>>>(d_out, d_in, N, C); }},
    };
    bool pass = true;
    for (size_t k = 0; k < steps.size(); k++) {
        cudaCheck(cudaMemset(d_out, 0, y.size() * sizeof(float)));
        steps[k].second();
        cudaCheck(cudaGetLastError());
        cudaCheck(cudaMemcpy(y.data(), d_out, y.size() * sizeof(float), cudaMemcpyDeviceToHost));
        const std::vector<float> &want = k == 4 ? ref0 : ref;
        double worst = 0;
        for (size_t i = 0; i < y.size(); i++) {
            worst = std::max(worst, (double)fabsf(y[i] - want[i]) / (1e-4 + want[i]));
        }
        printf("%s  rel err %.2e\n", steps[k].first.c_str(), worst);
        pass = pass && worst < 2e-3;
    }

    const int T = 512;
    const int heads = 6;
    std::vector<half> h((size_t)heads * T * T), o(h.size());
    for (auto &v : h) {
        v = __float2half(4.f * dist(gen));
    }
    half2 *d_h;
    cudaCheck(cudaMalloc(&d_h, h.size() * sizeof(half)));
    cudaCheck(cudaMemcpy(d_h, h.data(), h.size() * sizeof(half), cudaMemcpyHostToDevice));
    softmax_step6_causal<<<dim3(T / 8, heads), 256>>>(d_h, T, 0.125f);
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaMemcpy(o.data(), d_h, o.size() * sizeof(half), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int r = 0; r < heads * T; r++) {
        int q = r % T;
        double s = 0;
        for (int j = 0; j <= q; j++) {
            s += exp(0.125 * __half2float(h[(size_t)r * T + j]));
        }
        for (int j = 0; j < T; j++) {
            double want = j <= q ? exp(0.125 * __half2float(h[(size_t)r * T + j])) / s : 0.0;
            worst = std::max(worst, fabs(__half2float(o[(size_t)r * T + j]) - want));
        }
    }
    printf("step6  abs err %.2e\n", worst);
    pass = pass && worst < 2e-3;
    puts(pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
