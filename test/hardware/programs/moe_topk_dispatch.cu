// Mixture-of-experts layer: router logits, top-2 gating, token permutation by expert, grouped expert matvec, combine.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#define E 16
#define DM 96
#define DF 160

__global__ void router(const float* __restrict__ x, const float* __restrict__ wr, float* logits, int n) {
    // blockDim = (E, 8): 8 tokens a block
    __shared__ float xs[8][DM];
    int tok0 = blockIdx.x * 8;
    for (int i = threadIdx.y * E + threadIdx.x; i < 8 * DM; i += 8 * E) {
        int t = tok0 + i / DM;
        xs[i / DM][i % DM] = t < n ? x[t * DM + i % DM] : 0.f;
    }
    __syncthreads();
    int t = tok0 + threadIdx.y;
    float a = 0;
    for (int d = 0; d < DM; ++d) a = fmaf(xs[threadIdx.y][d], wr[d * E + threadIdx.x], a);
    if (t < n) logits[t * E + threadIdx.x] = a;
}

__global__ void top2(const float* logits, int2* pick, float2* gate, int* load, int n) {
    __shared__ int l[E];
    if (threadIdx.x < E) l[threadIdx.x] = 0;
    __syncthreads();
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        int a = -1, b = -1; float va = -1e30f, vb = -1e30f;
        for (int e = 0; e < E; ++e) {
            float v = logits[t * E + e];
            if (v > va) { vb = va; b = a; va = v; a = e; }
            else if (v > vb) { vb = v; b = e; }
        }
        float g = 1.f / (1.f + expf(vb - va));
        pick[t] = make_int2(a, b);
        gate[t] = make_float2(g, 1.f - g);
        atomicAdd(&l[a], 1); atomicAdd(&l[b], 1);
    }
    __syncthreads();
    if (threadIdx.x < E && l[threadIdx.x]) atomicAdd(&load[threadIdx.x], l[threadIdx.x]);
}

__global__ void build_perm(const int2* pick, const int* load, int* cursor, int* perm, int* inv, int n) {
    __shared__ int base[E + 1];
    if (threadIdx.x == 0) {
        base[0] = 0;
        for (int e = 0; e < E; ++e) base[e + 1] = base[e] + load[e];
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;   // slot index 2*t + which
    if (i >= 2 * n) return;
    int e = (i & 1) ? pick[i >> 1].y : pick[i >> 1].x;
    int p = base[e] + atomicAdd(&cursor[e], 1);
    perm[p] = i >> 1;
    inv[i] = p;
}

// grid.y = expert, each block takes 32-row chunks of that expert's slice
__global__ void expert_ffn(const float* __restrict__ x, const float* __restrict__ w1, const float* __restrict__ w2,
                           const int* __restrict__ perm, const int* __restrict__ load, float* __restrict__ y) {
    extern __shared__ float smem[];
    float* xs = smem;            // 4 x DM
    float* hs = smem + 4 * DM;   // 4 x DF
    int e = blockIdx.y, beg = 0;
    for (int k = 0; k < e; ++k) beg += load[k];
    int cnt = load[e];
    const float* a = w1 + (size_t)e * DM * DF;
    const float* b = w2 + (size_t)e * DF * DM;
    for (int r0 = blockIdx.x * 4; r0 < cnt; r0 += gridDim.x * 4) {
        int rows = min(4, cnt - r0);
        for (int i = threadIdx.x; i < rows * DM; i += blockDim.x)
            xs[i] = x[perm[beg + r0 + i / DM] * DM + i % DM];
        __syncthreads();
        for (int f = threadIdx.x; f < DF; f += blockDim.x) {
            float s[4] = {0, 0, 0, 0};
            for (int d = 0; d < DM; ++d) {
                float w = a[d * DF + f];
#pragma unroll
                for (int r = 0; r < 4; ++r) s[r] += (r < rows ? xs[r * DM + d] : 0.f) * w;
            }
            for (int r = 0; r < rows; ++r) hs[r * DF + f] = fmaxf(s[r], 0.f);
        }
        __syncthreads();
        for (int c = threadIdx.x; c < rows * DM; c += blockDim.x) {
            int r = c / DM, d = c % DM;
            float s = 0;
            for (int f = 0; f < DF; ++f) s += hs[r * DF + f] * b[f * DM + d];
            y[(size_t)(beg + r0) * DM + c] = s;
        }
        __syncthreads();
    }
}

__global__ void combine(const float* y, const float2* gate, const int* inv, float* out, int n) {
    int d = threadIdx.x;
    for (int t = blockIdx.x; t < n; t += gridDim.x) {
        float2 g = gate[t];
        out[t * DM + d] = g.x * y[inv[2 * t] * DM + d] + g.y * y[inv[2 * t + 1] * DM + d];
    }
}

int main() {
    const int n = 3001;
    std::vector<float> x(n * DM), wr(DM * E), w1(E * DM * DF), w2(E * DF * DM), out(n * DM), lg(n * E);
    unsigned s = 31337;
    auto r = [&] { s = s * 1664525u + 1013904223u; return (float)(s >> 8) / 16777216.f - 0.5f; };
    for (auto* v : {&x, &wr, &w1, &w2}) for (auto& f : *v) f = r();
    for (auto& f : w1) f *= 0.3f;
    float *dx, *dwr, *dw1, *dw2, *dl, *dy, *dout; int2* dp; float2* dg; int *dload, *dperm, *dinv;
    auto up = [](float** p, const std::vector<float>& v) { cudaMalloc(p, v.size() * 4); cudaMemcpy(*p, v.data(), v.size() * 4, cudaMemcpyHostToDevice); };
    up(&dx, x); up(&dwr, wr); up(&dw1, w1); up(&dw2, w2);
    cudaMalloc(&dl, n * E * 4); cudaMalloc(&dy, 2 * n * DM * 4); cudaMalloc(&dout, n * DM * 4);
    cudaMalloc(&dp, n * 8); cudaMalloc(&dg, n * 8); cudaMalloc(&dload, 2 * E * 4); cudaMalloc(&dperm, 2 * n * 4); cudaMalloc(&dinv, 2 * n * 4);
    cudaMemset(dload, 0, 2 * E * 4);
    router<<<(n + 7) / 8, dim3(E, 8)>>>(dx, dwr, dl, n);
    top2<<<(n + 191) / 192, 192>>>(dl, dp, dg, dload, n);
    build_perm<<<(2 * n + 255) / 256, 256>>>(dp, dload, dload + E, dperm, dinv, n);
    expert_ffn<<<dim3(24, E), 160, 4 * (DM + DF) * sizeof(float)>>>(dx, dw1, dw2, dperm, dload, dy);
    combine<<<512, DM>>>(dy, dg, dinv, dout, n);
    cudaMemcpy(out.data(), dout, n * DM * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(lg.data(), dl, n * E * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0;
    for (int i = 0; i < n * E; ++i) {
        double a = 0; for (int d = 0; d < DM; ++d) a += (double)x[i / E * DM + d] * wr[d * E + i % E];
        if (fabs(a - lg[i]) > 1e-4) ++bad;
    }
    for (int t = 0; t < n; ++t) {
        int a = -1, b = -1; float va = -1e30f, vb = -1e30f;
        for (int e = 0; e < E; ++e) { float v = lg[t * E + e]; if (v > va) { vb = va; b = a; va = v; a = e; } else if (v > vb) { vb = v; b = e; } }
        float g = 1 / (1 + expf(vb - va)), acc[DM] = {0};
        for (int k = 0; k < 2; ++k) {
            int e = k ? b : a; float h[DF] = {0}, gg = k ? 1 - g : g;
            for (int d = 0; d < DM; ++d) for (int f = 0; f < DF; ++f) h[f] += x[t * DM + d] * w1[(e * DM + d) * DF + f];
            for (int f = 0; f < DF; ++f) { float hv = fmaxf(h[f], 0) * gg; for (int d = 0; d < DM; ++d) acc[d] += hv * w2[(e * DF + f) * DM + d]; }
        }
        for (int d = 0; d < DM; ++d) if (fabsf(acc[d] - out[t * DM + d]) > 2e-4f) ++bad;
    }
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
