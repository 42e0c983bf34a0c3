// Split-K attention decode with online softmax, KV cache append, rotary embedding. bf16 cache.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace cfg {
constexpr int kHeads = 6, kKvHeads = 2, kDim = 64, kMaxSeq = 320, kSplit = 4;
}
using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;

struct DecodeParams {
    const float* q;        // [batch][heads][dim]
    const bf16* kcache;    // [batch][kv][maxseq][dim]
    const bf16* vcache;
    const int* lens;
    float* part_o;         // [batch][heads][split][dim]
    float2* part_ml;       // [batch][heads][split]
    float scale;
};

__global__ void rope_inplace(float* x, const int* __restrict__ pos, int heads)
{
    const int b = blockIdx.y, h = blockIdx.x, i = threadIdx.x;      // dim/2 threads
    float* v = x + (b * heads + h) * cfg::kDim;
    float ang = pos[b] * __powf(10000.f, -2.f * i / cfg::kDim);
    float s, c;
    __sincosf(ang, &s, &c);
    float a = v[i], d = v[i + cfg::kDim / 2];
    v[i] = a * c - d * s;
    v[i + cfg::kDim / 2] = a * s + d * c;
}

__global__ void append_kv(const float2* __restrict__ k, const float2* __restrict__ v, bf162* kc, bf162* vc, const int* lens)
{
    int b = blockIdx.x, t = lens[b] - 1;
    for (int i = threadIdx.x; i < cfg::kKvHeads * cfg::kDim / 2; i += blockDim.x) {
        int h = i / (cfg::kDim / 2), d = i % (cfg::kDim / 2);
        size_t o = (size_t(b * cfg::kKvHeads + h) * cfg::kMaxSeq + t) * (cfg::kDim / 2) + d;
        kc[o] = __float22bfloat162_rn(k[b * cfg::kKvHeads * cfg::kDim / 2 + i]);
        vc[o] = __float22bfloat162_rn(v[b * cfg::kKvHeads * cfg::kDim / 2 + i]);
    }
}

// grid (split, heads, batch), 4 warps; each warp strides over tokens, two dims per lane
__global__ void __launch_bounds__(128) decode_split(const DecodeParams p)
{
    __shared__ float so[4][cfg::kDim];
    __shared__ float sm[4], sl[4];
    const int split = blockIdx.x, h = blockIdx.y, b = blockIdx.z;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int len = p.lens[b], chunk = (len + cfg::kSplit - 1) / cfg::kSplit;
    const int t0 = split * chunk, t1 = min(len, t0 + chunk);
    const int kvh = h / (cfg::kHeads / cfg::kKvHeads);
    const size_t base = size_t(b * cfg::kKvHeads + kvh) * cfg::kMaxSeq * cfg::kDim;
    const bf162* K = reinterpret_cast<const bf162*>(p.kcache + base) + lane;
    const bf162* V = reinterpret_cast<const bf162*>(p.vcache + base) + lane;
    float2 q = reinterpret_cast<const float2*>(p.q + (b * cfg::kHeads + h) * cfg::kDim)[lane];
    float m = -INFINITY, l = 0.f;
    float2 o = {0.f, 0.f};
    for (int t = t0 + warp; t < t1; t += 4) {
        float2 k = __bfloat1622float2(K[t * (cfg::kDim / 2)]);
        float s = q.x * k.x + q.y * k.y;
        #pragma unroll
        for (int off = 16; off; off >>= 1) s += __shfl_xor_sync(0xffffffff, s, off);
        s *= p.scale;
        float mn = fmaxf(m, s), corr = __expf(m - mn), w = __expf(s - mn);
        float2 v = __bfloat1622float2(V[t * (cfg::kDim / 2)]);
        o.x = o.x * corr + w * v.x;
        o.y = o.y * corr + w * v.y;
        l = l * corr + w;
        m = mn;
    }
    so[warp][2 * lane] = o.x;
    so[warp][2 * lane + 1] = o.y;
    if (lane == 0) { sm[warp] = m; sl[warp] = l; }
    __syncthreads();
    if (threadIdx.x < cfg::kDim) {
        float M = fmaxf(fmaxf(sm[0], sm[1]), fmaxf(sm[2], sm[3])), L = 0.f, O = 0.f;
        for (int w = 0; w < 4; ++w) {
            float e = sm[w] == -INFINITY ? 0.f : __expf(sm[w] - M);
            L += e * sl[w];
            O += e * so[w][threadIdx.x];
        }
        int slot = (b * cfg::kHeads + h) * cfg::kSplit + split;
        p.part_o[slot * cfg::kDim + threadIdx.x] = O;
        if (threadIdx.x == 0) p.part_ml[slot] = make_float2(M, L);
    }
}

__global__ void decode_merge(const float* part_o, const float2* part_ml, float* out)
{
    int bh = blockIdx.x * blockDim.y + threadIdx.y, d = threadIdx.x;
    float M = -INFINITY, L = 0, O = 0;
    for (int s = 0; s < cfg::kSplit; ++s) M = fmaxf(M, part_ml[bh * cfg::kSplit + s].x);
    for (int s = 0; s < cfg::kSplit; ++s) {
        float2 ml = part_ml[bh * cfg::kSplit + s];
        float e = __expf(ml.x - M);
        L += e * ml.y;
        O += e * part_o[(bh * cfg::kSplit + s) * cfg::kDim + d];
    }
    out[bh * cfg::kDim + d] = O / L;
}

int main()
{
    using namespace cfg;
    const int B = 5;
    std::vector<int> lens{320, 17, 130, 201, 64}, pos(B);
    for (int i = 0; i < B; ++i) pos[i] = lens[i] - 1;
    std::vector<float> q(B * kHeads * kDim), k(B * kKvHeads * kDim), v(k.size());
    std::vector<bf16> kc((size_t)B * kKvHeads * kMaxSeq * kDim), vc(kc.size());
    for (size_t i = 0; i < q.size(); ++i) q[i] = sinf(i * 0.3f);
    for (size_t i = 0; i < k.size(); ++i) { k[i] = cosf(i * 0.2f); v[i] = sinf(i * 1.3f); }
    for (size_t i = 0; i < kc.size(); ++i) { kc[i] = __float2bfloat16(sinf(i * 0.017f)); vc[i] = __float2bfloat16(cosf(i * 0.029f)); }
    float *dq, *dk, *dv, *po, *out; float2* ml; bf16 *dkc, *dvc; int *dl, *dp;
    cudaMalloc(&dq, q.size() * 4); cudaMalloc(&dk, k.size() * 4); cudaMalloc(&dv, v.size() * 4);
    cudaMalloc(&dkc, kc.size() * 2); cudaMalloc(&dvc, vc.size() * 2); cudaMalloc(&dl, B * 4); cudaMalloc(&dp, B * 4);
    cudaMalloc(&po, q.size() * kSplit * 4); cudaMalloc(&ml, B * kHeads * kSplit * 8); cudaMalloc(&out, q.size() * 4);
    cudaMemcpy(dq, q.data(), q.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dk, k.data(), k.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dv, v.data(), v.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dkc, kc.data(), kc.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dvc, vc.data(), vc.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dl, lens.data(), B * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dp, pos.data(), B * 4, cudaMemcpyHostToDevice);
    rope_inplace<<<dim3(kHeads, B), kDim / 2>>>(dq, dp, kHeads);
    rope_inplace<<<dim3(kKvHeads, B), kDim / 2>>>(dk, dp, kKvHeads);
    append_kv<<<B, 48>>>((float2*)dk, (float2*)dv, (bf162*)dkc, (bf162*)dvc, dl);
    DecodeParams p{dq, dkc, dvc, dl, po, ml, 0.125f};
    decode_split<<<dim3(kSplit, kHeads, B), 128>>>(p);
    decode_merge<<<B * kHeads / 2, dim3(kDim, 2)>>>(po, ml, out);
    std::vector<float> o(q.size());
    cudaMemcpy(q.data(), dq, q.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(kc.data(), dkc, kc.size() * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(vc.data(), dvc, vc.size() * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(o.data(), out, o.size() * 4, cudaMemcpyDeviceToHost);
    double err = 0;
    for (int b = 0; b < B; ++b) for (int h = 0; h < kHeads; ++h) {
        size_t base = size_t(b * kKvHeads + h / 3) * kMaxSeq * kDim;
        double L = 0; std::vector<double> acc(kDim, 0.0);
        for (int t = 0; t < lens[b]; ++t) {
            double s = 0;
            for (int d = 0; d < kDim; ++d) s += q[(b * kHeads + h) * kDim + d] * __bfloat162float(kc[base + t * kDim + d]);
            double w = exp(s * 0.125);
            L += w;
            for (int d = 0; d < kDim; ++d) acc[d] += w * __bfloat162float(vc[base + t * kDim + d]);
        }
        for (int d = 0; d < kDim; ++d) err = fmax(err, fabs(acc[d] / L - o[(b * kHeads + h) * kDim + d]));
    }
    printf("attention err %g\n", err);
    return err < 1e-3 ? 0 : 1;
}
