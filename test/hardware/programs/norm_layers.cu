// LayerNorm (fp16, half2, warp per row), GroupNorm (block per group), BatchNorm stats (Welford), RMSNorm (float4)
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define WARP 32
#define DIVUP(a, b) (((a) + (b) - 1) / (b))

struct Welford {
    float mean, m2, count;
    __device__ void push(float v) { count += 1.f; float d = v - mean; mean += d / count; m2 += d * (v - mean); }
    __device__ void merge(const Welford& o) {
        if (o.count == 0.f) return;
        float n = count + o.count, d = o.mean - mean;
        mean += d * o.count / n;
        m2 += o.m2 + d * d * count * o.count / n;
        count = n;
    }
};

template <int MAXV>
__global__ void layernorm_h2(const half2* __restrict__ in, const half2* __restrict__ gamma, const half2* __restrict__ beta,
                             half2* __restrict__ out, int rows, int cols2, float eps)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (warp >= rows) return;
    const half2* src = in + (size_t)warp * cols2;
    float2 v[MAXV];
    float s = 0.f, q = 0.f;
#pragma unroll
    for (int i = 0; i < MAXV; i++) {
        int c = lane + i * WARP;
        v[i] = c < cols2 ? __half22float2(src[c]) : make_float2(0.f, 0.f);
        s += v[i].x + v[i].y;
        q += v[i].x * v[i].x + v[i].y * v[i].y;
    }
    for (int m = 16; m > 0; m /= 2) { s += __shfl_xor_sync(0xffffffffu, s, m); q += __shfl_xor_sync(0xffffffffu, q, m); }
    float mean = s / (2 * cols2), rstd = rsqrtf(q / (2 * cols2) - mean * mean + eps);
#pragma unroll
    for (int i = 0; i < MAXV; i++) {
        int c = lane + i * WARP;
        if (c < cols2) {
            float2 g = __half22float2(gamma[c]), b = __half22float2(beta[c]);
            out[(size_t)warp * cols2 + c] = __floats2half2_rn((v[i].x - mean) * rstd * g.x + b.x, (v[i].y - mean) * rstd * g.y + b.y);
        }
    }
}

__global__ void groupnorm(float* data, int channels, int groups, int hw)
{
    __shared__ Welford part[WARP];
    int per = channels / groups;
    float* base = data + ((size_t)blockIdx.y * channels + blockIdx.x * per) * hw;
    int n = per * hw;
    Welford w{0, 0, 0};
    for (int i = threadIdx.x; i < n; i += blockDim.x) w.push(base[i]);
    for (int o = 1; o < WARP; o <<= 1) {
        Welford t{__shfl_xor_sync(~0u, w.mean, o), __shfl_xor_sync(~0u, w.m2, o), __shfl_xor_sync(~0u, w.count, o)};
        w.merge(t);
    }
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = w;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 1; i < blockDim.x / WARP; i++) part[0].merge(part[i]);
    __syncthreads();
    float mean = part[0].mean, r = rsqrtf(part[0].m2 / part[0].count + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) base[i] = (base[i] - mean) * r;
}

// NHWC batch statistics: x over channels, y over pixels
__global__ void batchnorm_stats(const float* __restrict__ x, float2* __restrict__ stats, int pixels, int channels)
{
    __shared__ float ssum[8][33], ssq[8][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    float s = 0, q = 0;
    if (c < channels)
        for (int p = threadIdx.y; p < pixels; p += 8) {
            float v = x[p * channels + c];
            s += v; q += v * v;
        }
    ssum[threadIdx.y][threadIdx.x] = s;
    ssq[threadIdx.y][threadIdx.x] = q;
    __syncthreads();
    if (threadIdx.y == 0 && c < channels) {
#pragma unroll
        for (int j = 1; j < 8; j++) { s += ssum[j][threadIdx.x]; q += ssq[j][threadIdx.x]; }
        stats[c] = make_float2(s / pixels, q / pixels - (s / pixels) * (s / pixels));
    }
}

__global__ void rmsnorm_f4(float4* x, const float4* __restrict__ w, int d4)
{
    extern __shared__ float red[];
    float4* row = x + (size_t)blockIdx.x * d4;
    float s = 0;
    for (int i = threadIdx.x; i < d4; i += blockDim.x) {
        float4 v = row[i];
        s += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    red[threadIdx.x] = s;
    __syncthreads();
    for (int k = blockDim.x; k > 1;) {
        int h = (k + 1) / 2;
        if (threadIdx.x < k - h) red[threadIdx.x] += red[threadIdx.x + h];
        __syncthreads();
        k = h;
    }
    float r = rsqrtf(red[0] / (4 * d4) + 1e-6f);
    for (int i = threadIdx.x; i < d4; i += blockDim.x) {
        float4 v = row[i], g = w[i];
        row[i] = {v.x * r * g.x, v.y * r * g.y, v.z * r * g.z, v.w * r * g.w};
    }
}

int main()
{
    const int rows = 130, cols = 154, N = 3, C = 24, HW = 77, D = 300;
    std::vector<half> hx(rows * cols), hg(cols, __float2half(1.f)), hb(cols, __float2half(0.f)), ho(rows * cols);
    for (size_t i = 0; i < hx.size(); i++) hx[i] = __float2half(sinf(i * 0.21f) * 2 + 0.5f);
    std::vector<float> gx(N * C * HW), rx(rows * D), rw(D, 1.5f);
    for (size_t i = 0; i < gx.size(); i++) gx[i] = (float)(i * 37 % 101) * 0.03f;
    for (size_t i = 0; i < rx.size(); i++) rx[i] = cosf(i * 0.05f);
    half *dx, *dg, *db, *dout; float *dgx, *drx, *drw; float2* dst;
    cudaMalloc(&dx, hx.size() * 2); cudaMalloc(&dg, cols * 2); cudaMalloc(&db, cols * 2); cudaMalloc(&dout, hx.size() * 2);
    cudaMalloc(&dgx, gx.size() * 4); cudaMalloc(&drx, rx.size() * 4); cudaMalloc(&drw, D * 4); cudaMalloc(&dst, C * HW * 8);
    cudaMemcpy(dx, hx.data(), hx.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dg, hg.data(), cols * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(db, hb.data(), cols * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dgx, gx.data(), gx.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(drx, rx.data(), rx.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(drw, rw.data(), D * 4, cudaMemcpyHostToDevice);
    layernorm_h2<3><<<DIVUP(rows, 4), 128>>>((half2*)dx, (half2*)dg, (half2*)db, (half2*)dout, rows, cols / 2, 1e-5f);
    batchnorm_stats<<<DIVUP(C, 32), dim3(32, 8)>>>(dgx, dst, N * HW, C);
    groupnorm<<<dim3(6, N), 160>>>(dgx, C, 6, HW);
    batchnorm_stats<<<DIVUP(4 * HW, 32), dim3(32, 8)>>>(dgx, dst, N * 6, 4 * HW);
    rmsnorm_f4<<<rows, 48, 48 * 4>>>((float4*)drx, (float4*)drw, D / 4);
    cudaMemcpy(ho.data(), dout, ho.size() * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(gx.data(), dgx, gx.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(rx.data(), drx, rx.size() * 4, cudaMemcpyDeviceToHost);
    double m = 0, v = 0, rr = 0, gm = 0;
    for (int i = 0; i < cols; i++) m += __half2float(ho[cols * 5 + i]);
    for (int i = 0; i < cols; i++) v += pow(__half2float(ho[cols * 5 + i]), 2);
    for (int i = 0; i < D; i++) rr += rx[7 * D + i] * rx[7 * D + i];
    for (int i = 0; i < 4 * HW; i++) gm += gx[i];
    printf("ln mean %.4f var %.4f, rms %.4f, gn mean %.5f\n", m / cols, v / cols, sqrt(rr / D), gm / (4 * HW));
    return !(fabs(m / cols) < 0.01 && fabs(v / cols - 1) < 0.02 && fabs(sqrt(rr / D) - 1.5) < 0.01 && fabs(gm) < 0.1);
}
