// Mixture-of-experts plumbing in bfloat16 (gate softmax and top-k, expert offsets, dispatch, gated activation, combine),
// then nucleus (top-p) sampling of the next token.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

using bf16 = __nv_bfloat16;

namespace moe {

inline constexpr int kTokens = 2048;
inline constexpr int kExperts = 64;
inline constexpr int kTopK = 4;
inline constexpr int kHidden = 512;
inline constexpr int kSlots = kTokens * kTopK;
inline constexpr int kVocab = 8000;

struct CudaDeleter { void operator()(void *p) const { cudaFree(p); } };
template <class T> using dev_ptr = std::unique_ptr<T[], CudaDeleter>;

inline void expect(cudaError_t e) { if (e != cudaSuccess) { std::cerr << cudaGetErrorString(e) << std::endl; std::exit(1); } }

template <class T> dev_ptr<T> make(size_t n) { T *p; expect(cudaMalloc(reinterpret_cast<void **>(&p), n * sizeof(T))); expect(cudaMemset(p, 0, n * sizeof(T))); return dev_ptr<T>(p); }
template <class T> dev_ptr<T> make(const std::vector<T> &v) { auto p = make<T>(v.size()); expect(cudaMemcpy(p.get(), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
template <class T> std::vector<T> fetch(const dev_ptr<T> &p, size_t n) { std::vector<T> v(n); expect(cudaMemcpy(v.data(), p.get(), n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }

template <class T, class Op> __device__ __forceinline__ T warpReduce(T v, Op op)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}

// One warp a token; every lane holds kExperts / 32 logits.
template <int WARPS>
__global__ void gateTopK(const float *__restrict__ logits, int *__restrict__ ids, float *__restrict__ weights, int *__restrict__ counts)
{
    constexpr int PER = kExperts / 32;
    const int lane = threadIdx.x, token = blockIdx.x * WARPS + threadIdx.y;
    if (token >= kTokens) return;
    float v[PER];
#pragma unroll
    for (int k = 0; k < PER; ++k) v[k] = logits[token * kExperts + k * 32 + lane];
    float chosen[kTopK], total = 0.f, top = 0.f;
    int id[kTopK];
#pragma unroll
    for (int n = 0; n < kTopK; ++n) {
        float best = v[0];
        int at = lane;
#pragma unroll
        for (int k = 1; k < PER; ++k)
            if (v[k] > best) { best = v[k]; at = k * 32 + lane; }
#pragma unroll
        for (int o = 16; o > 0; o >>= 1) {
            const float ob = __shfl_xor_sync(0xffffffffu, best, o);
            const int oa = __shfl_xor_sync(0xffffffffu, at, o);
            if (ob > best || (ob == best && oa < at)) { best = ob; at = oa; }
        }
        if (n == 0) top = best;
        chosen[n] = expf(best - top);
        total += chosen[n];
        id[n] = at;
        if (at % 32 == lane) {
#pragma unroll
            for (int k = 0; k < PER; ++k)
                if (k == at / 32) v[k] = -INFINITY;
        }
    }
    if (lane == 0) {
#pragma unroll
        for (int n = 0; n < kTopK; ++n) {
            ids[token * kTopK + n] = id[n];
            weights[token * kTopK + n] = chosen[n] / total;
            atomicAdd(&counts[id[n]], 1);
        }
    }
}

// Offsets of the experts (one warp, two per lane), then places for all slots.
__global__ void assignSlots(const int *ids, const int *counts, int *offsets, int *cursor, int *slotOf, int *tokenOf)
{
    __shared__ int base[kExperts];
    if (threadIdx.x < 32) {
        const int2 c = reinterpret_cast<const int2 *>(counts)[threadIdx.x];
        int run = c.x + c.y;
        for (int o = 1; o < 32; o *= 2) {
            const int t = __shfl_up_sync(0xffffffffu, run, o);
            if (threadIdx.x >= o) run += t;
        }
        base[2 * threadIdx.x] = run - c.x - c.y;
        base[2 * threadIdx.x + 1] = run - c.y;
        if (blockIdx.x == 0) {
            offsets[2 * threadIdx.x] = run - c.x - c.y;
            offsets[2 * threadIdx.x + 1] = run - c.y;
            if (threadIdx.x == 31) offsets[kExperts] = run;
        }
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kSlots; i += gridDim.x * blockDim.x) {
        const int e = ids[i], s = base[e] + atomicAdd(&cursor[e], 1);
        slotOf[i] = s;
        tokenOf[s] = i / kTopK;
    }
}

// Rows gathered to the experts' order and through the gate: out = silu(x) * x * (1 + expert / 64)
template <typename Vec>
__global__ void dispatchAct(const bf16 *x, const int *tokenOf, const int *offsets, bf16 *rows)
{
    constexpr int N = sizeof(Vec) / sizeof(bf16);
    const int slot = blockIdx.x;
    __shared__ int expert;
    if (threadIdx.x < kExperts && slot >= offsets[threadIdx.x] && slot < offsets[threadIdx.x + 1]) expert = threadIdx.x;
    __syncthreads();
    const float gain = 1.f + expert / 64.f;
    const Vec *src = reinterpret_cast<const Vec *>(x + static_cast<size_t>(tokenOf[slot]) * kHidden);
    Vec *dst = reinterpret_cast<Vec *>(rows + static_cast<size_t>(slot) * kHidden);
    for (int i = threadIdx.x; i < kHidden / N; i += blockDim.x) {
        union { Vec v; __nv_bfloat162 h[N / 2]; } u;
        u.v = src[i];
#pragma unroll
        for (int k = 0; k < N / 2; ++k) {
            float2 f = __bfloat1622float2(u.h[k]);
            f.x = f.x / (1.f + __expf(-f.x)) * f.x * gain;
            f.y = f.y / (1.f + __expf(-f.y)) * f.y * gain;
            u.h[k] = __float22bfloat162_rn(f);
        }
        dst[i] = u.v;
    }
}

__global__ void combine(const bf16 *__restrict__ rows, const int *__restrict__ slotOf, const float *__restrict__ weights, float *__restrict__ out)
{
    const int token = blockIdx.x;
    for (int i = threadIdx.x; i < kHidden; i += blockDim.x) {
        float acc = 0.f;
        for (int k = 0; k < kTopK; ++k)
            acc += weights[token * kTopK + k] * __bfloat162float(rows[static_cast<size_t>(slotOf[token * kTopK + k]) * kHidden + i]);
        out[token * kHidden + i] = acc;
    }
}

// One block a row. The threshold of the nucleus is found by bisection, the sample by a scan over the vocabulary.
template <int BLOCK>
__global__ __launch_bounds__(BLOCK) void sampleTopP(const float *logits, const float *uniform, float temperature, float topP, int *tokens)
{
    extern __shared__ float prob[];
    __shared__ float red[BLOCK / 32];
    __shared__ int found;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    auto blockReduce = [&](float v, auto op) {
        v = warpReduce(v, op);
        __syncthreads();
        if (lane == 0) red[warp] = v;
        __syncthreads();
        v = red[0];
        for (int w = 1; w < BLOCK / 32; ++w) v = op(v, red[w]);
        return v;
    };
    auto plus = [](float a, float b) { return a + b; };
    auto larger = [](float a, float b) { return fmaxf(a, b); };
    const float *row = logits + static_cast<size_t>(blockIdx.x) * kVocab;

    float m = -INFINITY;
    for (int i = threadIdx.x; i < kVocab; i += BLOCK) {
        prob[i] = row[i] / temperature;
        m = fmaxf(m, prob[i]);
    }
    m = blockReduce(m, larger);
    float s = 0.f;
    for (int i = threadIdx.x; i < kVocab; i += BLOCK) s += prob[i] = __expf(prob[i] - m);
    s = blockReduce(s, plus);
    float lo = 0.f, hi = 1.f, mass = s;              // probabilities are relative to the largest
    for (int it = 0; it < 22; ++it) {
        const float mid = 0.5f * (lo + hi);
        float part = 0.f;
        for (int i = threadIdx.x; i < kVocab; i += BLOCK) part += prob[i] >= mid ? prob[i] : 0.f;
        part = blockReduce(part, plus);
        if (part >= topP * s) { lo = mid; mass = part; } else hi = mid;
    }
    if (threadIdx.x == 0) found = kVocab - 1;
    __syncthreads();
    const float target = uniform[blockIdx.x] * mass;
    float before = 0.f;
    for (int chunk = 0; chunk < kVocab; chunk += BLOCK) {
        const int i = chunk + threadIdx.x;
        const float p = i < kVocab && prob[i] >= lo ? prob[i] : 0.f;
        float inc = p;
        for (int o = 1; o < 32; o *= 2) {
            const float t = __shfl_up_sync(0xffffffffu, inc, o);
            if (lane >= o) inc += t;
        }
        __syncthreads();
        if (lane == 31) red[warp] = inc;
        __syncthreads();
        float all = 0.f, off = 0.f;
        for (int w = 0; w < BLOCK / 32; ++w) {
            if (w < warp) off += red[w];
            all += red[w];
        }
        if (p > 0.f && before + off + inc > target) atomicMin(&found, i);
        before += all;
        if (before > target) break;                  // the same for all threads
    }
    __syncthreads();
    if (threadIdx.x == 0) tokens[blockIdx.x] = found;
}

} // namespace moe

int main()
{
    using namespace moe;
    uint64_t state = 0x1234567;
    auto uniform = [&state] { state = state * 6364136223846793005ull + 1442695040888963407ull; return static_cast<float>(state >> 40) / 16777216.f; };
    std::vector<float> gate(kTokens * kExperts);
    std::vector<bf16> x(kTokens * kHidden);
    for (int i = 0; i < kTokens * kExperts; ++i) gate[i] = 3.f * uniform() + (i % kExperts < 8 ? 1.f : 0.f);
    for (auto &v : x) v = __float2bfloat16(2.f * uniform() - 1.f);

    auto dGate = make(gate); auto dX = make(x);
    auto ids = make<int>(kSlots), counts = make<int>(kExperts), offsets = make<int>(kExperts + 1), cursor = make<int>(kExperts), slotOf = make<int>(kSlots), tokenOf = make<int>(kSlots);
    auto weights = make<float>(kSlots), out = make<float>(kTokens * kHidden);
    auto rows = make<bf16>(static_cast<size_t>(kSlots) * kHidden);
    gateTopK<4><<<kTokens / 4, dim3(32, 4)>>>(dGate.get(), ids.get(), weights.get(), counts.get());
    assignSlots<<<16, 256>>>(ids.get(), counts.get(), offsets.get(), cursor.get(), slotOf.get(), tokenOf.get());
    dispatchAct<uint4><<<kSlots, 64>>>(dX.get(), tokenOf.get(), offsets.get(), rows.get());
    combine<<<kTokens, 256>>>(rows.get(), slotOf.get(), weights.get(), out.get());
    expect(cudaGetLastError());

    int bad = 0;
    auto gotIds = fetch(ids, kSlots); auto gotW = fetch(weights, kSlots); auto got = fetch(out, kTokens * kHidden);
    for (int t = 0; t < kTokens; ++t) {
        std::array<int, kExperts> order;
        std::iota(order.begin(), order.end(), 0);
        const float *g = &gate[t * kExperts];
        std::stable_sort(order.begin(), order.end(), [g](int a, int b) { return g[a] > g[b]; });
        double sum = 0, w[kTopK];
        for (int k = 0; k < kTopK; ++k) sum += w[k] = std::exp(static_cast<double>(g[order[k]]) - g[order[0]]);
        for (int k = 0; k < kTopK; ++k) bad += gotIds[t * kTopK + k] != order[k] || std::fabs(gotW[t * kTopK + k] - w[k] / sum) > 1e-5;
        for (int i = 0; i < kHidden; ++i) {
            double v = __bfloat162float(x[t * kHidden + i]), want = 0;
            for (int k = 0; k < kTopK; ++k) want += w[k] / sum * v * v / (1 + std::exp(-v)) * (1 + order[k] / 64.0);
            bad += !(std::fabs(got[t * kHidden + i] - want) < 0.01 * std::fabs(want) + 1e-4);
        }
    }
    std::cout << "moe: " << bad << " wrong\n";

    constexpr int batch = 128;
    const float temperature = 0.8f, topP = 0.9f;
    std::vector<float> logits(static_cast<size_t>(batch) * kVocab), u(batch);
    for (auto &l : logits) l = 5.f * uniform() * uniform();
    for (auto &v : u) v = 0.98f * uniform() + 0.01f;
    auto dLogits = make(logits); auto dU = make(u); auto tokens = make<int>(batch);
    sampleTopP<512><<<batch, 512, kVocab * sizeof(float)>>>(dLogits.get(), dU.get(), temperature, topP, tokens.get());
    expect(cudaGetLastError());
    auto gotTok = fetch(tokens, batch);
    int wrong = 0;
    for (int b = 0; b < batch; ++b) {
        const float *row = &logits[static_cast<size_t>(b) * kVocab];
        std::vector<double> p(kVocab);
        const double m = *std::max_element(row, row + kVocab);
        double sum = 0, kept = 0, cdf = 0;
        for (int i = 0; i < kVocab; ++i) sum += p[i] = std::exp((row[i] - m) / temperature);
        auto sorted = p;
        std::sort(sorted.begin(), sorted.end(), std::greater<double>());
        double cut = 0;
        for (double q : sorted) { kept += q; cut = q; if (kept >= topP * sum) break; }
        const int tok = gotTok[b];
        wrong += tok < 0 || tok >= kVocab || p[tok] < cut * 0.999;
        for (int i = 0; i < tok; ++i) cdf += p[i] >= cut ? p[i] : 0;
        const double eps = 1e-3 * kept;
        wrong += !(cdf <= u[b] * kept + eps && cdf + p[tok] >= u[b] * kept - eps);
    }
    std::cout << "top-p: " << wrong << " wrong\n";
    return bad || wrong ? 1 : 0;
}
