// GroupNorm forward/backward-ish for NHWC and NCHW half tensors, with Welford merges.
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cstdio>
#include <cmath>
#include <vector>

using bf16 = __nv_bfloat16;

struct Welford {
    float mean, m2, n;
    __device__ void push(float x) { n += 1.f; float d = x - mean; mean += d / n; m2 += d * (x - mean); }
    __device__ void merge(const Welford& o) {
        if (o.n == 0.f) return;
        float t = n + o.n, d = o.mean - mean, f = o.n / t;
        mean += d * f; m2 += o.m2 + d * d * n * f; n = t;
    }
    __device__ Welford shfl(int off) const {
        Welford w;
        w.mean = __shfl_down_sync(~0u, mean, off); w.m2 = __shfl_down_sync(~0u, m2, off); w.n = __shfl_down_sync(~0u, n, off);
        return w;
    }
};

template <int THREADS> __device__ Welford block_merge(Welford w) {
    __shared__ Welford sh[THREADS / 32];
    for (int o = 16; o; o >>= 1) w.merge(w.shfl(o));
    if (threadIdx.x % 32 == 0) sh[threadIdx.x / 32] = w;
    __syncthreads();
    if (threadIdx.x == 0) { for (int i = 1; i < THREADS / 32; ++i) w.merge(sh[i]); sh[0] = w; }
    __syncthreads();
    return sh[0];
}

// NCHW: contiguous group slab; NHWC: group channels are a short run every C elements
template <int THREADS, bool NHWC>
__global__ void gn_stats(const bf16* __restrict__ x, float2* stats, int C, int HW, int G) {
    int n = blockIdx.y, g = blockIdx.x, cg = C / G;
    Welford w{0.f, 0.f, 0.f};
    for (int i = threadIdx.x; i < HW * cg; i += THREADS) {
        size_t a = NHWC ? ((size_t)n * HW + i / cg) * C + g * cg + i % cg : ((size_t)n * C + g * cg) * HW + i;
        w.push(__bfloat162float(x[a]));
    }
    w = block_merge<THREADS>(w);
    if (threadIdx.x == 0) stats[n * G + g] = make_float2(w.mean, rsqrtf(w.m2 / w.n + 1e-5f));
}

template <bool NHWC>
__global__ void gn_apply(const bf16* __restrict__ x, const float2* __restrict__ stats, const float* __restrict__ gamma,
                         const float* __restrict__ beta, bf16* __restrict__ y, int C, int HW, int G, size_t total) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int c = NHWC ? i % C : (i / HW) % C, n = i / ((size_t)C * HW);
    float2 s = stats[n * G + c / (C / G)];
    float v = (__bfloat162float(x[i]) - s.x) * s.y * gamma[c] + beta[c];
    y[i] = __float2bfloat16(v / (1.f + __expf(-v)));   // fused swish
}

// vectorised NHWC: each thread keeps its channel pair and walks pixels
__global__ void gn_apply_nhwc_vec(const __nv_bfloat162* __restrict__ x, const float2* __restrict__ stats, const float2* __restrict__ gamma,
                                  const float2* __restrict__ beta, __nv_bfloat162* __restrict__ y, int C2, int HW, int G) {
    int c2 = threadIdx.x, n = blockIdx.y, cg2 = C2 / G;
    float2 s = stats[n * G + c2 / cg2], ga = gamma[c2], be = beta[c2];
    float a0 = s.y * ga.x, a1 = s.y * ga.y, b0 = be.x - s.x * a0, b1 = be.y - s.x * a1;
    for (int p = blockIdx.x * blockDim.y + threadIdx.y; p < HW; p += gridDim.x * blockDim.y) {
        size_t i = ((size_t)n * HW + p) * C2 + c2;
        float2 v = __bfloat1622float2(x[i]);
        v.x = v.x * a0 + b0; v.y = v.y * a1 + b1;
        v.x /= 1.f + __expf(-v.x); v.y /= 1.f + __expf(-v.y);
        y[i] = __floats2bfloat162_rn(v.x, v.y);
    }
}

// gamma/beta gradients: column sums over pixels with dy = y (toy), block = 64 channels x 4 rows
__global__ void gn_param_grad(const bf16* __restrict__ x, const bf16* __restrict__ dy, const float2* stats, float* dgamma, float* dbeta, int C, int HW, int G, int N) {
    __shared__ float sg[4][64], sb[4][64];
    int c = blockIdx.x * 64 + threadIdx.x;
    float g = 0, b = 0;
    for (int p = blockIdx.y * 4 + threadIdx.y; p < N * HW; p += gridDim.y * 4) {
        float2 s = stats[p / HW * G + c / (C / G)];
        float d = __bfloat162float(dy[(size_t)p * C + c]);
        g += d * (__bfloat162float(x[(size_t)p * C + c]) - s.x) * s.y;
        b += d;
    }
    sg[threadIdx.y][threadIdx.x] = g; sb[threadIdx.y][threadIdx.x] = b;
    __syncthreads();
    if (threadIdx.y == 0) {
        for (int k = 1; k < 4; ++k) { g += sg[k][threadIdx.x]; b += sb[k][threadIdx.x]; }
        atomicAdd(dgamma + c, g); atomicAdd(dbeta + c, b);
    }
}

int main() {
    const int N = 4, C = 128, HW = 33 * 31, G = 8;
    const size_t tot = (size_t)N * C * HW;
    std::vector<bf16> hwc(tot), chw(tot), y0(tot), y1(tot), y2(tot);
    std::vector<float> ga(C), be(C), dg(C), db(C);
    unsigned s = 11;
    auto r = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 8388608.f - 1.f; };
    for (int c = 0; c < C; ++c) { ga[c] = 1 + 0.3f * r(); be[c] = r() * 0.5f; }
    for (int n = 0; n < N; ++n) for (int p = 0; p < HW; ++p) for (int c = 0; c < C; ++c) {
        bf16 v = __float2bfloat16(3 * r() + 2.f + 0.01f * c);
        hwc[((size_t)n * HW + p) * C + c] = v; chw[((size_t)n * C + c) * HW + p] = v;
    }
    bf16 *a, *b, *o0, *o1, *o2; float2 *s0, *s1; float *dga, *dbe, *gg, *gb;
    for (bf16** p : {&a, &b, &o0, &o1, &o2}) cudaMalloc(p, tot * 2);
    cudaMalloc(&s0, N * G * 8); cudaMalloc(&s1, N * G * 8);
    for (float** p : {&dga, &dbe, &gg, &gb}) { cudaMalloc(p, C * 4); cudaMemset(*p, 0, C * 4); }
    cudaMemcpy(a, chw.data(), tot * 2, cudaMemcpyHostToDevice); cudaMemcpy(b, hwc.data(), tot * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dga, ga.data(), C * 4, cudaMemcpyHostToDevice); cudaMemcpy(dbe, be.data(), C * 4, cudaMemcpyHostToDevice);
    gn_stats<256, false><<<dim3(G, N), 256>>>(a, s0, C, HW, G);
    gn_stats<512, true><<<dim3(G, N), 512>>>(b, s1, C, HW, G);
    gn_apply<false><<<(tot + 255) / 256, 256>>>(a, s0, dga, dbe, o0, C, HW, G, tot);
    gn_apply<true><<<(tot + 255) / 256, 256>>>(b, s1, dga, dbe, o1, C, HW, G, tot);
    gn_apply_nhwc_vec<<<dim3(40, N), dim3(C / 2, 4)>>>((__nv_bfloat162*)b, s1, (float2*)dga, (float2*)dbe, (__nv_bfloat162*)o2, C / 2, HW, G);
    gn_param_grad<<<dim3(C / 64, 32), dim3(64, 4)>>>(b, o1, s1, gg, gb, C, HW, G, N);
    cudaMemcpy(y0.data(), o0, tot * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(y1.data(), o1, tot * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(y2.data(), o2, tot * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(dg.data(), gg, C * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(db.data(), gb, C * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0; std::vector<double> rg(C, 0), rb(C, 0);
    for (int n = 0; n < N; ++n) for (int g = 0; g < G; ++g) {
        double m = 0, v = 0; int cg = C / G;
        for (int c = g * cg; c < (g + 1) * cg; ++c) for (int p = 0; p < HW; ++p) { double t = __bfloat162float(chw[((size_t)n * C + c) * HW + p]); m += t; v += t * t; }
        m /= HW * cg; v = v / (HW * cg) - m * m; double is = 1 / sqrt(v + 1e-5);
        for (int c = g * cg; c < (g + 1) * cg; ++c) for (int p = 0; p < HW; ++p) {
            size_t i = ((size_t)n * C + c) * HW + p, k = ((size_t)n * HW + p) * C + c;
            double xh = (__bfloat162float(chw[i]) - m) * is, z = xh * ga[c] + be[c]; z /= 1 + exp(-z);
            double tol = 0.01 * fabs(z) + 1e-3;
            if (fabs(z - __bfloat162float(y0[i])) > tol || fabs(z - __bfloat162float(y1[k])) > tol || fabs(z - __bfloat162float(y2[k])) > tol) ++bad;
            double d = __bfloat162float(y1[k]); rg[c] += d * xh; rb[c] += d;
        }
    }
    for (int c = 0; c < C; ++c) if (fabs(rg[c] - dg[c]) > 1e-3 * fabs(rg[c]) + 0.2 || fabs(rb[c] - db[c]) > 1e-3 * fabs(rb[c]) + 0.2) ++bad;
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
