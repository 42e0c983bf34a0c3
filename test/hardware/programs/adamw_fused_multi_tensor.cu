// Optimiser zoo: multi-tensor AdamW through a chunk table, LAMB-like trust ratio, per-element bf16 copy, global-norm clipping.
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <cstdint>

constexpr int MAXT = 12, CHUNK = 4096;
struct TensorList { float* p[MAXT]; float* g[MAXT]; float* m[MAXT]; float* v[MAXT]; __nv_bfloat16* lo[MAXT]; int n[MAXT]; };
struct Hyper { float lr, b1, b2, eps, wd, c1, c2; };
struct Chunk { short tensor; short pad; int first; };

__global__ void fill_gradients(TensorList L, const Chunk* ch, uint32_t seed) {
    Chunk c = ch[blockIdx.x];
    for (int i = c.first + threadIdx.x; i < min(L.n[c.tensor], c.first + CHUNK); i += blockDim.x) {
        uint32_t h = (i + 1) * 0x9E3779B1u + c.tensor * 0x85EBCA77u + seed;
        h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; h ^= h >> 16;
        L.g[c.tensor][i] = (h >> 8) * (2.0f / 16777216.f) - 1.0f;
    }
}
__global__ void sq_norms(TensorList L, const Chunk* ch, double* total, bool grads) {
    __shared__ double s[8];
    Chunk c = ch[blockIdx.x];
    const float* q = grads ? L.g[c.tensor] : L.p[c.tensor];
    float a = 0;
    for (int i = c.first + threadIdx.x; i < min(L.n[c.tensor], c.first + CHUNK); i += blockDim.x) a += q[i] * q[i];
    double d = a;
    for (int o = 16; o; o >>= 1) d += __shfl_down_sync(~0u, d, o);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = d;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; ++w) d += s[w];
        atomicAdd(total + (grads ? 0 : c.tensor), d);
    }
}
template <class Op>
__global__ void multi_tensor_apply(TensorList L, const Chunk* ch, Op op) {
    Chunk c = ch[blockIdx.x];
    int t = c.tensor, end = min(L.n[t], c.first + CHUNK);
    int i = c.first + threadIdx.x * 4;
    for (; i + 3 < end; i += blockDim.x * 4) {
        float4 p = *(float4*)(L.p[t] + i), g = *(float4*)(L.g[t] + i), m = *(float4*)(L.m[t] + i), v = *(float4*)(L.v[t] + i);
        op(p.x, g.x, m.x, v.x, t); op(p.y, g.y, m.y, v.y, t); op(p.z, g.z, m.z, v.z, t); op(p.w, g.w, m.w, v.w, t);
        *(float4*)(L.p[t] + i) = p; *(float4*)(L.m[t] + i) = m; *(float4*)(L.v[t] + i) = v;
        __nv_bfloat162* lo = (__nv_bfloat162*)(L.lo[t] + i);
        lo[0] = __floats2bfloat162_rn(p.x, p.y); lo[1] = __floats2bfloat162_rn(p.z, p.w);
    }
    for (; i < end; ++i) {
        op(L.p[t][i], L.g[t][i], L.m[t][i], L.v[t][i], t);
        L.lo[t][i] = __float2bfloat16(L.p[t][i]);
    }
}
struct AdamW {
    Hyper h; const double* gnorm2; float maxnorm;
    __device__ void operator()(float& p, float g, float& m, float& v, int) const {
        float gn = sqrtf((float)*gnorm2), sc = gn > maxnorm ? maxnorm / gn : 1.f;
        g *= sc;
        m = h.b1 * m + (1 - h.b1) * g;
        v = h.b2 * v + (1 - h.b2) * g * g;
        p -= h.lr * (m * h.c1 / (sqrtf(v * h.c2) + h.eps) + h.wd * p);
    }
};
struct SgdTrust {   // uses v as scratch velocity
    float lr, mom; const double* pnorm2; const int* n;
    __device__ void operator()(float& p, float g, float& m, float& v, int t) const {
        float trust = sqrtf((float)pnorm2[t] / n[t]) + 0.01f;
        m = mom * m + g;
        v += 0.f;
        p -= lr * trust * m;
    }
};
// straw man: one launch per tensor, scalar, strided so that a warp touches 32 separate lines
__global__ void adamw_strided(float* p, const float* g, float* m, float* v, int n, Hyper h, const double* gn2, float maxnorm) {
    int nt = gridDim.x * blockDim.x, per = (n + nt - 1) / nt, t = blockIdx.x * blockDim.x + threadIdx.x;
    AdamW op{h, gn2, maxnorm};
    for (int i = t * per; i < min(n, (t + 1) * per); ++i) op(p[i], g[i], m[i], v[i], 0);
}

int main() {
    int sizes[MAXT] = {30000, 17, 4096, 100001, 64, 65536, 1, 12345, 50000, 255, 8193, 70002};
    TensorList L{}; std::vector<Chunk> ch; std::vector<std::vector<float>> P(MAXT), M(MAXT), V(MAXT), G(MAXT);
    for (int t = 0; t < MAXT; ++t) {
        int n = sizes[t]; L.n[t] = n;
        P[t].resize(n); M[t].assign(n, 0); V[t].assign(n, 0); G[t].resize(n);
        for (int i = 0; i < n; ++i) P[t][i] = 0.5f * sinf(i * 0.1f + t);
        for (float** q : {&L.p[t], &L.g[t], &L.m[t], &L.v[t]}) { cudaMalloc(q, n * 4); cudaMemset(*q, 0, n * 4); }
        cudaMalloc(&L.lo[t], n * 2);
        cudaMemcpy(L.p[t], P[t].data(), n * 4, cudaMemcpyHostToDevice);
        for (int f = 0; f < n; f += CHUNK) ch.push_back({(short)t, 0, f});
    }
    Chunk* dc; double* dn; int* dsz;
    cudaMalloc(&dc, ch.size() * sizeof(Chunk)); cudaMalloc(&dn, 16 * 8 * 2); cudaMalloc(&dsz, sizeof sizes);
    cudaMemcpy(dc, ch.data(), ch.size() * sizeof(Chunk), cudaMemcpyHostToDevice);
    cudaMemcpy(dsz, sizes, sizeof sizes, cudaMemcpyHostToDevice);
    int nb = ch.size();
    Hyper h{1e-2f, 0.9f, 0.99f, 1e-8f, 0.05f, 0, 0};
    for (int step = 1; step <= 2; ++step) {
        cudaMemset(dn, 0, 256);
        fill_gradients<<<nb, 128>>>(L, dc, step * 777);
        sq_norms<<<nb, 256>>>(L, dc, dn, true);
        h.c1 = 1 / (1 - powf(h.b1, step)); h.c2 = 1 / (1 - powf(h.b2, step));
        if (step == 1) multi_tensor_apply<<<nb, 256>>>(L, dc, AdamW{h, dn, 100.f});
        else for (int t = 0; t < MAXT; t += 3) adamw_strided<<<4, 64>>>(L.p[t], L.g[t], L.m[t], L.v[t], L.n[t], h, dn, 100.f);
        double g2 = 0;
        for (int t = 0; t < MAXT; ++t) { cudaMemcpy(G[t].data(), L.g[t], sizes[t] * 4, cudaMemcpyDeviceToHost); for (float x : G[t]) g2 += (double)x * x; }
        double sc = sqrt(g2) > 100 ? 100 / sqrt(g2) : 1;
        for (int t = 0; t < MAXT; t += step == 1 ? 1 : 3) for (int i = 0; i < sizes[t]; ++i) {
            double g = G[t][i] * sc;
            M[t][i] = h.b1 * M[t][i] + (1 - h.b1) * g; V[t][i] = h.b2 * V[t][i] + (1 - h.b2) * g * g;
            P[t][i] -= h.lr * (M[t][i] * h.c1 / (sqrt((double)V[t][i] * h.c2) + h.eps) + h.wd * P[t][i]);
        }
    }
    sq_norms<<<nb, 256>>>(L, dc, dn + 16, false);
    multi_tensor_apply<<<nb, 128>>>(L, dc, SgdTrust{0.05f, 0.8f, dn + 16, dsz});
    int bad = 0;
    for (int t = 0; t < MAXT; ++t) {
        double p2 = 0;
        for (float x : P[t]) p2 += (double)x * x;
        double trust = sqrt(p2 / sizes[t]) + 0.01;
        std::vector<float> o(sizes[t]); std::vector<__nv_bfloat16> lo(sizes[t]);
        cudaMemcpy(o.data(), L.p[t], sizes[t] * 4, cudaMemcpyDeviceToHost);
        cudaMemcpy(lo.data(), L.lo[t], sizes[t] * 2, cudaMemcpyDeviceToHost);
        for (int i = 0; i < sizes[t]; ++i) {
            double r = P[t][i] - 0.05 * trust * (0.8 * M[t][i] + G[t][i]);
            if (fabs(r - o[i]) > 2e-4 || fabs(__bfloat162float(lo[i]) - o[i]) > 0.005 * fabs(o[i]) + 1e-6) ++bad;
        }
    }
    if (cudaGetLastError() != cudaSuccess) ++bad;
    printf("chunks %d bad %d\n%s\n", nb, bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
