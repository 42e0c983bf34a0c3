// Causal attention three ways: materialised scores, warp-per-query online softmax, and K/V tiles in shared memory (GQA).
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <cfloat>

constexpr int T = 320, D = 64, HQ = 6, HKV = 2;

// ---- version 1: scores matrix --------------------------------------------------
__global__ void scores_kernel(const float* q, const float* k, float* s, float scale) {
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y, h = blockIdx.z;
    if (i >= T || j >= T) return;
    float acc = -FLT_MAX;
    if (j <= i) {
        acc = 0;
        const float* a = q + (h * T + i) * D;
        const float* b = k + ((h / (HQ / HKV)) * T + j) * D;
        for (int d = 0; d < D; d++) acc += a[d] * b[d];
        acc *= scale;
    }
    s[(h * T + i) * T + j] = acc;
}
__global__ void softmax_inplace(float* s) {
    float* r = s + (size_t)blockIdx.x * T;
    int i = blockIdx.x % T;
    __shared__ float sh[2];
    if (threadIdx.x < 32) {
        float m = -FLT_MAX;
        for (int j = threadIdx.x; j <= i; j += 32) m = fmaxf(m, r[j]);
        for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
        float z = 0;
        for (int j = threadIdx.x; j <= i; j += 32) z += __expf(r[j] - m);
        for (int o = 16; o; o /= 2) z += __shfl_xor_sync(~0u, z, o);
        if (threadIdx.x == 0) { sh[0] = m; sh[1] = 1.f / z; }
    }
    __syncthreads();
    for (int j = threadIdx.x; j < T; j += blockDim.x) r[j] = j <= i ? __expf(r[j] - sh[0]) * sh[1] : 0.f;
}
__global__ void pv_kernel(const float* s, const float* v, float* o) {
    int d = threadIdx.x, i = blockIdx.x * blockDim.y + threadIdx.y, h = blockIdx.y;
    if (i >= T) return;
    float acc = 0;
    for (int j = 0; j <= i; j++) acc += s[(h * T + i) * T + j] * v[((h / (HQ / HKV)) * T + j) * D + d];
    o[(h * T + i) * D + d] = acc;
}

// ---- version 2: one warp owns one query, lanes own dims ------------------------
__global__ void warp_online(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* o, float scale) {
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (w >= HQ * T) return;
    int h = w / T, i = w % T, hk = h / (HQ / HKV);
    float2 qq = ((const float2*)(q + (size_t)w * D))[lane];
    float2 acc = make_float2(0, 0);
    float m = -FLT_MAX, z = 0;
    for (int j = 0; j <= i; j++) {
        float2 kk = ((const float2*)(k + (hk * T + j) * D))[lane];
        float s = qq.x * kk.x + qq.y * kk.y;
#pragma unroll
        for (int off = 16; off; off >>= 1) s += __shfl_xor_sync(~0u, s, off);
        s *= scale;
        float mn = fmaxf(m, s), c = __expf(m - mn), p = __expf(s - mn);
        float2 vv = ((const float2*)(v + (hk * T + j) * D))[lane];
        acc.x = acc.x * c + p * vv.x; acc.y = acc.y * c + p * vv.y;
        z = z * c + p; m = mn;
    }
    ((float2*)(o + (size_t)w * D))[lane] = make_float2(acc.x / z, acc.y / z);
}

// ---- version 3: thread per query row, K/V tile broadcast from shared -----------
template <int BR, int BC>
__global__ void __launch_bounds__(BR) tiled_online(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* o, float scale) {
    __shared__ float4 ks[BC][D / 4], vs[BC][D / 4];
    int h = blockIdx.y, hk = h / (HQ / HKV), i = blockIdx.x * BR + threadIdx.x;
    float4 qr[D / 4], acc[D / 4];
#pragma unroll
    for (int d = 0; d < D / 4; d++) {
        qr[d] = i < T ? ((const float4*)(q + (h * T + i) * D))[d] : make_float4(0, 0, 0, 0);
        acc[d] = make_float4(0, 0, 0, 0);
    }
    float m = -FLT_MAX, z = 0;
    int last = min(T, (int)(blockIdx.x + 1) * BR);
    for (int j0 = 0; j0 < last; j0 += BC) {
        __syncthreads();
        for (int t = threadIdx.x; t < BC * D / 4; t += BR) {
            int r = t / (D / 4), c = t % (D / 4);
            bool in = j0 + r < T;
            ks[r][c] = in ? ((const float4*)(k + (hk * T + j0 + r) * D))[c] : make_float4(0, 0, 0, 0);
            vs[r][c] = in ? ((const float4*)(v + (hk * T + j0 + r) * D))[c] : make_float4(0, 0, 0, 0);
        }
        __syncthreads();
        int lim = min(BC, i - j0 + 1);
        for (int r = 0; r < lim; r++) {
            float s = 0;
#pragma unroll
            for (int d = 0; d < D / 4; d++)
                s += qr[d].x * ks[r][d].x + qr[d].y * ks[r][d].y + qr[d].z * ks[r][d].z + qr[d].w * ks[r][d].w;
            s *= scale;
            float mn = fmaxf(m, s), c = __expf(m - mn), p = __expf(s - mn);
            z = z * c + p; m = mn;
#pragma unroll
            for (int d = 0; d < D / 4; d++) {
                float4 x = vs[r][d];
                acc[d].x = acc[d].x * c + p * x.x; acc[d].y = acc[d].y * c + p * x.y;
                acc[d].z = acc[d].z * c + p * x.z; acc[d].w = acc[d].w * c + p * x.w;
            }
        }
    }
    if (i < T)
#pragma unroll
        for (int d = 0; d < D / 4; d++)
            ((float4*)(o + (h * T + i) * D))[d] = make_float4(acc[d].x / z, acc[d].y / z, acc[d].z / z, acc[d].w / z);
}

int main() {
    const size_t nq = HQ * T * D, nk = HKV * T * D;
    std::vector<float> q(nq), k(nk), v(nk), o(nq), ref(nq);
    unsigned s = 99;
    auto r = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 8388608.f - 1.f; };
    for (auto& x : q) x = 2 * r();
    for (auto& x : k) x = 2 * r();
    for (auto& x : v) x = r();
    float *dq, *dk, *dv, *ds, *d[3];
    cudaMalloc(&dq, nq * 4); cudaMalloc(&dk, nk * 4); cudaMalloc(&dv, nk * 4); cudaMalloc(&ds, (size_t)HQ * T * T * 4);
    for (auto& p : d) cudaMalloc(&p, nq * 4);
    cudaMemcpy(dq, q.data(), nq * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dk, k.data(), nk * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dv, v.data(), nk * 4, cudaMemcpyHostToDevice);
    const float sc = 1.f / sqrtf(D);
    scores_kernel<<<dim3(T / 16, T / 16, HQ), dim3(16, 16)>>>(dq, dk, ds, sc);
    softmax_inplace<<<HQ * T, 64>>>(ds);
    pv_kernel<<<dim3((T + 2) / 3, HQ), dim3(D, 3)>>>(ds, dv, d[0]);
    warp_online<<<(HQ * T + 3) / 4, 128>>>(dq, dk, dv, d[1], sc);
    tiled_online<64, 32><<<dim3((T + 63) / 64, HQ), 64>>>(dq, dk, dv, d[2], sc);
    for (int h = 0; h < HQ; h++) for (int i = 0; i < T; i++) {
        std::vector<double> p(i + 1); double m = -1e30, z = 0;
        for (int j = 0; j <= i; j++) {
            double a = 0;
            for (int e = 0; e < D; e++) a += (double)q[(h * T + i) * D + e] * k[((h / 3) * T + j) * D + e];
            p[j] = a * sc; m = fmax(m, p[j]);
        }
        for (auto& x : p) z += (x = exp(x - m));
        for (int e = 0; e < D; e++) {
            double a = 0;
            for (int j = 0; j <= i; j++) a += p[j] * v[((h / 3) * T + j) * D + e];
            ref[(h * T + i) * D + e] = a / z;
        }
    }
    bool ok = true;
    for (int c = 0; c < 3; c++) {
        cudaMemcpy(o.data(), d[c], nq * 4, cudaMemcpyDeviceToHost);
        double e = 0;
        for (size_t i = 0; i < nq; i++) e = fmax(e, fabs(o[i] - ref[i]));
        printf("variant %d err %g\n", c, e);
        if (!(e < 1e-3)) ok = false;
    }
    ok = ok && cudaGetLastError() == cudaSuccess;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
