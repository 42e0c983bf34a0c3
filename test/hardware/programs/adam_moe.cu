// Training-step pieces: AdamW with float4 and mixed precision copy, dropout with stored byte mask, MoE top-1 routing
// (count, offsets, scatter, per-expert matvec, gather), cross entropy with online softmax, gradient clipping.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

struct AdamArgs { float lr, beta1, beta2, eps, wd, bc1, bc2; };
struct ParamSet { float* w; const float* g; float* m; float* v; __nv_bfloat16* half_copy; int n; };

__device__ __forceinline__ void adam1(float& w, float g, float& m, float& v, const AdamArgs& a)
{
    m = a.beta1 * m + (1 - a.beta1) * g;
    v = a.beta2 * v + (1 - a.beta2) * g * g;
    w -= a.lr * (m / a.bc1 / (sqrtf(v / a.bc2) + a.eps) + a.wd * w);
}

__global__ void adamw(ParamSet p, AdamArgs a, const float* __restrict__ norm)
{
    const float scale = fminf(1.f, 1.f / (sqrtf(*norm) + 1e-6f));
    const int n4 = p.n / 4;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 w = reinterpret_cast<float4*>(p.w)[i], m = reinterpret_cast<float4*>(p.m)[i], v = reinterpret_cast<float4*>(p.v)[i];
        float4 g = reinterpret_cast<const float4*>(p.g)[i];
        adam1(w.x, g.x * scale, m.x, v.x, a); adam1(w.y, g.y * scale, m.y, v.y, a);
        adam1(w.z, g.z * scale, m.z, v.z, a); adam1(w.w, g.w * scale, m.w, v.w, a);
        reinterpret_cast<float4*>(p.w)[i] = w; reinterpret_cast<float4*>(p.m)[i] = m; reinterpret_cast<float4*>(p.v)[i] = v;
        __nv_bfloat162* h = reinterpret_cast<__nv_bfloat162*>(p.half_copy) + 2 * i;
        h[0] = __floats2bfloat162_rn(w.x, w.y);
        h[1] = __floats2bfloat162_rn(w.z, w.w);
    }
    if (blockIdx.x == 0 && threadIdx.x < p.n - 4 * n4) {
        int i = 4 * n4 + threadIdx.x;
        adam1(p.w[i], p.g[i] * scale, p.m[i], p.v[i], a);
        p.half_copy[i] = __float2bfloat16(p.w[i]);
    }
}

__global__ void sq_norm(const float* g, int n, float* out)
{
    float s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += g[i] * g[i];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, s);
}

__global__ void dropout(const float* __restrict__ x, float* __restrict__ y, uint8_t* __restrict__ mask, int n, float keep, unsigned seed)
{
    int i0 = (blockIdx.x * blockDim.x + threadIdx.x) * 3;       // three per thread, awkward on purpose
    unsigned r = seed ^ (i0 * 0x9E3779B1u);
    #pragma unroll
    for (int k = 0; k < 3; ++k) {
        r ^= r << 13; r ^= r >> 17; r ^= r << 5;
        if (i0 + k < n) {
            bool on = (r >> 8) * 5.9604645e-8f < keep;
            mask[i0 + k] = on;
            y[i0 + k] = on ? x[i0 + k] / keep : 0.f;
        }
    }
}

template <int E>
__global__ void moe_route(const float* __restrict__ tokens, const float* __restrict__ gate, int nt, int d, int* expert, int* counts, float* prob)
{
    extern __shared__ float sg[];                   // E x d
    __shared__ int local[E];
    for (int i = threadIdx.x; i < E * d; i += blockDim.x) sg[i] = gate[i];
    if (threadIdx.x < E) local[threadIdx.x] = 0;
    __syncthreads();
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < nt) {
        float lg[E];
        for (int e = 0; e < E; ++e) lg[e] = 0;
        for (int k = 0; k < d; ++k) {
            float v = tokens[t * d + k];
            #pragma unroll
            for (int e = 0; e < E; ++e) lg[e] += v * sg[e * d + k];
        }
        int b = 0; float mx = lg[0], den = 0;
        for (int e = 1; e < E; ++e) if (lg[e] > mx) { mx = lg[e]; b = e; }
        for (int e = 0; e < E; ++e) den += __expf(lg[e] - mx);
        expert[t] = b; prob[t] = 1.f / den;
        atomicAdd(&local[b], 1);
    }
    __syncthreads();
    if (threadIdx.x < E && local[threadIdx.x]) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

__global__ void moe_scatter(const int* expert, const int* counts, int* cursor, int* slot_of, int* token_at, int nt)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nt) return;
    int e = expert[t], base = 0;
    for (int k = 0; k < e; ++k) base += counts[k];
    int s = base + atomicAdd(&cursor[e], 1);
    slot_of[t] = s;
    token_at[s] = t;
}

// block per slot; out[slot] = prob * W_e x
__global__ void moe_expert(const float* __restrict__ tokens, const __nv_bfloat16* __restrict__ W, const int* expert, const int* token_at, const float* prob, float* __restrict__ out, int d)
{
    __shared__ float x[64];
    int t = token_at[blockIdx.x], e = expert[t];
    for (int k = threadIdx.x; k < d; k += blockDim.x) x[k] = tokens[t * d + k];
    __syncthreads();
    for (int r = threadIdx.x; r < d; r += blockDim.x) {
        float s = 0;
        const __nv_bfloat16* w = W + ((size_t)e * d + r) * d;
        for (int k = 0; k < d; ++k) s += __bfloat162float(w[k]) * x[k];
        out[t * d + r] = s * prob[t];
    }
}

__global__ void cross_entropy(const float* logits, const short* target, int classes, float* loss)
{
    const float* row = logits + blockIdx.x * classes;
    float m = -1e30f, l = 0;
    for (int c = threadIdx.x; c < classes; c += 32) {
        float v = row[c], nm = fmaxf(m, v);
        l = l * __expf(m - nm) + __expf(v - nm);
        m = nm;
    }
    for (int o = 16; o; o >>= 1) {
        float om = __shfl_xor_sync(~0u, m, o), ol = __shfl_xor_sync(~0u, l, o), nm = fmaxf(m, om);
        l = l * __expf(m - nm) + ol * __expf(om - nm);
        m = nm;
    }
    if (threadIdx.x == 0) loss[blockIdx.x] = logf(l) + m - row[target[blockIdx.x]];
}

int main()
{
    constexpr int E = 6;
    const int d = 50, nt = 333, n = E * d * d + 3;
    std::vector<float> w(n), g(n), tok(nt * d), gate(E * d), zero(n, 0.f);
    for (int i = 0; i < n; ++i) { w[i] = 0.1f * sinf(i * 0.7f); g[i] = cosf(i * 0.3f); }
    for (size_t i = 0; i < tok.size(); ++i) tok[i] = sinf(i * 0.17f);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = cosf(i * 0.9f);
    std::vector<short> tgt(nt); for (int i = 0; i < nt; ++i) tgt[i] = i % d;
    auto up = [](const std::vector<float>& v) { float* p; cudaMalloc(&p, v.size() * 4); cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice); return p; };
    ParamSet p{up(w), up(g), up(zero), up(zero), nullptr, n}; cudaMalloc(&p.half_copy, n * 2);
    float *norm = up({0.f}), *dt = up(tok), *dg = up(gate), *drop = up(tok), *out = up(tok), *prob, *loss; uint8_t* mask; short* dtg; int *expert, *cnt, *slot, *tat;
    cudaMalloc(&prob, nt * 4); cudaMalloc(&loss, nt * 4); cudaMalloc(&mask, nt * d); cudaMalloc(&dtg, nt * 2);
    cudaMalloc(&expert, nt * 4); cudaMalloc(&cnt, 2 * E * 4); cudaMalloc(&slot, nt * 4); cudaMalloc(&tat, nt * 4); cudaMemset(cnt, 0, 2 * E * 4);
    cudaMemcpy(dtg, tgt.data(), nt * 2, cudaMemcpyHostToDevice);
    sq_norm<<<10, 96>>>(p.g, n, norm);
    adamw<<<12, 128>>>(p, AdamArgs{1e-2f, 0.9f, 0.999f, 1e-8f, 0.01f, 0.1f, 0.001f}, norm);
    dropout<<<(nt * d / 3 + 128) / 128, 128>>>(dt, drop, mask, nt * d, 0.8f, 42u);
    moe_route<E><<<(nt + 63) / 64, 64, E * d * 4>>>(dt, dg, nt, d, expert, cnt, prob);
    moe_scatter<<<(nt + 63) / 64, 64>>>(expert, cnt, cnt + E, slot, tat, nt);
    moe_expert<<<nt, 40>>>(dt, p.half_copy, expert, tat, prob, out, d);
    cross_entropy<<<nt, 32>>>(out, dtg, d, loss);
    std::vector<float> hw(n), ho(nt * d), hl(nt), hd(nt * d); std::vector<uint8_t> hm(nt * d); std::vector<int> hc(2 * E);
    cudaMemcpy(hw.data(), p.w, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(ho.data(), out, ho.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hl.data(), loss, nt * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hd.data(), drop, hd.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hm.data(), mask, hm.size(), cudaMemcpyDeviceToHost); cudaMemcpy(hc.data(), cnt, 2 * E * 4, cudaMemcpyDeviceToHost);
    int bad = 0, kept = 0, tot = 0; double le = 0, step = 0;
    for (int e = 0; e < E; ++e) { bad += hc[e] != hc[E + e]; tot += hc[e]; }
    for (int i = 0; i < nt; ++i) { double s = 0; for (int c = 0; c < d; ++c) s += exp(ho[i * d + c]); le = fmax(le, fabs(log(s) - ho[i * d + tgt[i]] - hl[i])); }
    for (int i = 0; i < nt * d; ++i) { kept += hm[i]; bad += fabs(hd[i] - (hm[i] ? tok[i] / 0.8f : 0.f)) > 1e-5; }
    for (int i = 0; i < n; ++i) step = fmax(step, fabs(hw[i] - w[i]));
    printf("bad %d tokens %d kept %.3f loss err %g max step %g\n", bad, tot, kept / (double)(nt * d), le, step);
    return bad || tot != nt || le > 1e-3 || step > 0.02;
}
