// Grouped-query attention decode step over a bf16 KV cache: rotary append, split-KV partial
// attention and the combine. Lengths differ from sequence to sequence.
#include <cuda_bf16.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using bf16 = __nv_bfloat16;

template <int HeadDim_, int Group_, int Chunk_, int Tile_>
struct DecodeTraits {
    static constexpr int HeadDim = HeadDim_;
    static constexpr int Group = Group_;      // query heads per KV head == warps in the block
    static constexpr int Chunk = Chunk_;      // keys handled by one block
    static constexpr int Tile = Tile_;        // keys staged at once
    static constexpr int Pad = 8;
    static constexpr int Threads = Group * 32;
    static_assert(Tile == 32 && HeadDim == 128);
};
using Traits = DecodeTraits<128, 4, 128, 32>;

struct Dims {
    int batch, kvHeads, maxSeq, splits;
};

// thread per rotated pair; blockIdx = (head over q heads then kv heads, batch)
__global__ void ropeAppend(float* __restrict__ q, const float* __restrict__ kNew, const float* __restrict__ vNew,
                           bf16* __restrict__ kCache, bf16* __restrict__ vCache, const int* __restrict__ lens, Dims d,
                           int qHeads) {
    const int D = Traits::HeadDim, i = threadIdx.x, b = blockIdx.y;
    const int pos = lens[b] - 1;
    float s, c;
    sincosf(pos * exp2f(-(float)i / (D / 2) * 13.2877124f), &s, &c);   // base 10000
    if ((int)blockIdx.x < qHeads) {
        float* h = q + ((size_t)b * qHeads + blockIdx.x) * D;
        const float x = h[i], y = h[i + D / 2];
        h[i] = x * c - y * s;
        h[i + D / 2] = x * s + y * c;
    } else {
        const int kvh = blockIdx.x - qHeads;
        const size_t src = ((size_t)b * d.kvHeads + kvh) * D;
        const size_t dst = (((size_t)b * d.kvHeads + kvh) * d.maxSeq + pos) * D;
        const float x = kNew[src + i], y = kNew[src + i + D / 2];
        kCache[dst + i] = __float2bfloat16(x * c - y * s);
        kCache[dst + i + D / 2] = __float2bfloat16(x * s + y * c);
        vCache[dst + i] = __float2bfloat16(vNew[src + i]);
        vCache[dst + i + D / 2] = __float2bfloat16(vNew[src + i + D / 2]);
    }
}

__device__ __forceinline__ float2 unpack(uint32_t w) {
    return make_float2(__uint_as_float(w << 16), __uint_as_float(w & 0xffff0000u));
}

template <class T>
__global__ void __launch_bounds__(T::Threads)
splitAttention(const float* __restrict__ q, const bf16* __restrict__ kCache, const bf16* __restrict__ vCache,
               const int* __restrict__ lens, float4* __restrict__ partAcc, float2* __restrict__ partML, Dims d) {
    __shared__ __align__(16) bf16 ks[T::Tile][T::HeadDim + T::Pad];
    __shared__ __align__(16) bf16 vs[T::Tile][T::HeadDim];
    __shared__ __align__(16) float qs[T::Group][T::HeadDim];

    const int split = blockIdx.x, kvh = blockIdx.y, b = blockIdx.z;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int len = lens[b];
    const int begin = split * T::Chunk, end = min(len, begin + T::Chunk);
    const size_t kvBase = ((size_t)b * d.kvHeads + kvh) * d.maxSeq * T::HeadDim;
    const size_t head = ((size_t)b * d.kvHeads + kvh) * T::Group + warp;

    reinterpret_cast<float4*>(qs[warp])[lane] = reinterpret_cast<const float4*>(q + head * T::HeadDim)[lane];

    float m = -INFINITY, l = 0.f;
    float4 acc = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int t0 = begin; t0 < end; t0 += T::Tile) {
        __syncthreads();
        constexpr int VecPerRow = T::HeadDim / 8;
        for (int i = threadIdx.x; i < T::Tile * VecPerRow; i += T::Threads) {
            const int r = i / VecPerRow, c = i % VecPerRow;
            uint4 kv = make_uint4(0, 0, 0, 0), vv = kv;
            if (t0 + r < end) {
                const size_t at = kvBase + (size_t)(t0 + r) * T::HeadDim + c * 8;
                kv = *reinterpret_cast<const uint4*>(kCache + at);
                vv = *reinterpret_cast<const uint4*>(vCache + at);
            }
            *reinterpret_cast<uint4*>(&ks[r][c * 8]) = kv;
            *reinterpret_cast<uint4*>(&vs[r][c * 8]) = vv;
        }
        __syncthreads();

        // a lane per key
        float s = 0.f;
#pragma unroll 4
        for (int c = 0; c < T::HeadDim; c += 8) {
            const uint4 k8 = *reinterpret_cast<const uint4*>(&ks[lane][c]);
            const float4 qa = *reinterpret_cast<const float4*>(&qs[warp][c]);
            const float4 qb = *reinterpret_cast<const float4*>(&qs[warp][c + 4]);
            const float2 k0 = unpack(k8.x), k1 = unpack(k8.y), k2 = unpack(k8.z), k3 = unpack(k8.w);
            s += qa.x * k0.x + qa.y * k0.y + qa.z * k1.x + qa.w * k1.y;
            s += qb.x * k2.x + qb.y * k2.y + qb.z * k3.x + qb.w * k3.y;
        }
        s = t0 + lane < end ? s * 0.08838834764f : -INFINITY;

        float tm = s;
#pragma unroll
        for (int o = 16; o; o >>= 1) tm = fmaxf(tm, __shfl_xor_sync(~0u, tm, o));
        const float nm = fmaxf(m, tm), rescale = __expf(m - nm), p = __expf(s - nm);
        float ps = p;
#pragma unroll
        for (int o = 16; o; o >>= 1) ps += __shfl_xor_sync(~0u, ps, o);
        l = l * rescale + ps;
        m = nm;
        acc.x *= rescale; acc.y *= rescale; acc.z *= rescale; acc.w *= rescale;
        // a lane per four output dims
#pragma unroll 8
        for (int j = 0; j < T::Tile; ++j) {
            const float pj = __shfl_sync(~0u, p, j);
            const uint2 raw = *reinterpret_cast<const uint2*>(&vs[j][lane * 4]);
            const float2 v0 = unpack(raw.x), v1 = unpack(raw.y);
            acc.x += pj * v0.x; acc.y += pj * v0.y; acc.z += pj * v1.x; acc.w += pj * v1.y;
        }
    }
    const size_t slot = head * d.splits + split;
    partAcc[slot * 32 + lane] = acc;
    if (lane == 0) partML[slot] = make_float2(m, l);
}

// block per head, thread per dim; partials of empty splits carry l = 0
__global__ void combineSplits(const float* __restrict__ partAcc, const float2* __restrict__ partML,
                              bf16* __restrict__ out, int splits) {
    const size_t head = blockIdx.x;
    float m = -INFINITY;
    for (int s = 0; s < splits; ++s) m = fmaxf(m, partML[head * splits + s].x);
    float l = 0.f, o = 0.f;
    for (int s = 0; s < splits; ++s) {
        const float2 ml = partML[head * splits + s];
        const float w = ml.y > 0.f ? __expf(ml.x - m) : 0.f;
        l += w * ml.y;
        o += w * partAcc[(head * splits + s) * blockDim.x + threadIdx.x];
    }
    out[head * blockDim.x + threadIdx.x] = __float2bfloat16(o / l);
}

#define RT(x) do { cudaError_t r = (x); if (r) { fprintf(stderr, #x ": %s\n", cudaGetErrorString(r)); exit(1); } } while (0)
template <class T> T* toGpu(const std::vector<T>& h) {
    T* p;
    RT(cudaMalloc((void**)&p, h.size() * sizeof(T)));
    RT(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

int main() {
    constexpr int D = Traits::HeadDim, G = Traits::Group;
    const Dims d{4, 4, 1024, 1024 / Traits::Chunk};
    const int qHeads = d.kvHeads * G, heads = d.batch * qHeads;
    const std::vector<int> lens = {1024, 777, 130, 901};
    uint32_t s = 99;
    auto rnd = [&s] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return (float)(s & 0xffff) / 32768.f - 1.f; };
    std::vector<bf16> K((size_t)d.batch * d.kvHeads * d.maxSeq * D), V(K.size());
    for (auto& v : K) v = __float2bfloat16(rnd());
    for (auto& v : V) v = __float2bfloat16(rnd());
    std::vector<float> q((size_t)heads * D), kn((size_t)d.batch * d.kvHeads * D), vn(kn.size());
    for (auto* a : {&q, &kn, &vn}) for (auto& v : *a) v = rnd();

    bf16 *dK = toGpu(K), *dV = toGpu(V), *dO = toGpu(std::vector<bf16>(q.size()));
    float *dq = toGpu(q), *dkn = toGpu(kn), *dvn = toGpu(vn);
    int* dLens = toGpu(lens);
    float* dAcc = toGpu(std::vector<float>(q.size() * d.splits, 0.f));
    float2* dML = toGpu(std::vector<float2>((size_t)heads * d.splits));

    ropeAppend<<<dim3(qHeads + d.kvHeads, d.batch), D / 2>>>(dq, dkn, dvn, dK, dV, dLens, d, qHeads);
    splitAttention<Traits><<<dim3(d.splits, d.kvHeads, d.batch), Traits::Threads>>>(
        dq, dK, dV, dLens, reinterpret_cast<float4*>(dAcc), dML, d);
    combineSplits<<<heads, D>>>(dAcc, dML, dO, d.splits);
    RT(cudaGetLastError());
    RT(cudaDeviceSynchronize());
    std::vector<bf16> out(q.size());
    RT(cudaMemcpy(out.data(), dO, out.size() * sizeof(bf16), cudaMemcpyDeviceToHost));

    auto rope = [&](float* h, int pos) {
        for (int i = 0; i < D / 2; ++i) {
            const double a = pos * std::pow(10000.0, -(double)i / (D / 2)), x = h[i], y = h[i + D / 2];
            h[i] = (float)(x * std::cos(a) - y * std::sin(a));
            h[i + D / 2] = (float)(x * std::sin(a) + y * std::cos(a));
        }
    };
    int bad = 0;
    for (int b = 0; b < d.batch; ++b)
        for (int kv = 0; kv < d.kvHeads; ++kv) {
            const size_t src = ((size_t)b * d.kvHeads + kv) * D, base = ((size_t)b * d.kvHeads + kv) * d.maxSeq * D;
            rope(&kn[src], lens[b] - 1);
            for (int i = 0; i < D; ++i) {
                K[base + (size_t)(lens[b] - 1) * D + i] = __float2bfloat16(kn[src + i]);
                V[base + (size_t)(lens[b] - 1) * D + i] = __float2bfloat16(vn[src + i]);
            }
            for (int g = 0; g < G; ++g) {
                float* h = &q[(((size_t)b * d.kvHeads + kv) * G + g) * D];
                rope(h, lens[b] - 1);
                std::vector<double> p(lens[b]), o(D, 0.0);
                double mx = -1e30, z = 0;
                for (int t = 0; t < lens[b]; ++t) {
                    double a = 0;
                    for (int i = 0; i < D; ++i) a += (double)h[i] * __bfloat162float(K[base + (size_t)t * D + i]);
                    p[t] = a / std::sqrt((double)D);
                    mx = std::max(mx, p[t]);
                }
                for (auto& v : p) z += (v = std::exp(v - mx));
                for (int t = 0; t < lens[b]; ++t)
                    for (int i = 0; i < D; ++i) o[i] += p[t] / z * __bfloat162float(V[base + (size_t)t * D + i]);
                for (int i = 0; i < D; ++i) {
                    const float got = __bfloat162float(out[(((size_t)b * d.kvHeads + kv) * G + g) * D + i]);
                    if (!(std::fabs(got - o[i]) < 4e-3 + 0.01 * std::fabs(o[i]))) ++bad;
                }
            }
        }
    for (void* p : std::initializer_list<void*>{dK, dV, dO, dq, dkn, dvn, dLens, dAcc, dML}) cudaFree(p);
    puts(bad ? "MISMATCH" : "OK");
    return bad ? 1 : 0;
}
