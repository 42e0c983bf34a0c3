// Elementwise pieces of a transformer block in bf16: RMSNorm, RoPE (both conventions), SwiGLU.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;

#define CUDA_CHECK(expr)                                                                          \
    do {                                                                                          \
        cudaError_t err__ = (expr);                                                               \
        if (err__ != cudaSuccess) {                                                               \
            std::fprintf(stderr, "[%s:%d] %s\n", __FILE__, __LINE__, cudaGetErrorString(err__));  \
            std::abort();                                                                         \
        }                                                                                         \
    } while (0)

struct ModelShape {
    static constexpr int tokens = 1024;
    static constexpr int heads = 16;
    static constexpr int head_dim = 128;
    static constexpr int hidden = heads * head_dim;   // 2048
    static constexpr int inter = 5632;
    static constexpr float eps = 1e-5f;
    static constexpr float theta = 10000.f;
};

// 16-byte pack of bf16 values
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T v[N];
    __device__ __forceinline__ static Pack load(const T* p) { return *reinterpret_cast<const Pack*>(p); }
    __device__ __forceinline__ void store(T* p) const { *reinterpret_cast<Pack*>(p) = *this; }
};
using Pack8 = Pack<bf16, 8>;

// One block per token; residual add fused in front of the norm, residual updated in place.
template <int kThreads, int kHidden>
__global__ void __launch_bounds__(kThreads)
fused_add_rmsnorm(const bf16* __restrict__ x, bf16* __restrict__ residual, const bf16* __restrict__ weight,
                  bf16* __restrict__ out, float eps) {
    static_assert(kHidden == kThreads * 8, "one pack per thread");
    __shared__ float warp_sum[kThreads / 32];
    const size_t off = static_cast<size_t>(blockIdx.x) * kHidden + threadIdx.x * 8;
    const Pack8 a = Pack8::load(x + off);
    Pack8 r = Pack8::load(residual + off);
    float f[8], ss = 0.f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        r.v[i] = __float2bfloat16(__bfloat162float(a.v[i]) + __bfloat162float(r.v[i]));
        f[i] = __bfloat162float(r.v[i]);
        ss += f[i] * f[i];
    }
    r.store(residual + off);
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) ss += __shfl_xor_sync(0xffffffffu, ss, d);
    if ((threadIdx.x & 31) == 0) warp_sum[threadIdx.x >> 5] = ss;
    __syncthreads();
    float total = 0.f;
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w) total += warp_sum[w];
    const float scale = rsqrtf(total / kHidden + eps);
    const Pack8 g = Pack8::load(weight + threadIdx.x * 8);
    Pack8 o;
#pragma unroll
    for (int i = 0; i < 8; ++i) o.v[i] = __float2bfloat16(f[i] * scale * __bfloat162float(g.v[i]));
    o.store(out + off);
}

// GPT-NeoX style: element i pairs with i + head_dim/2; angles recomputed for every head.
__global__ void rope_neox(bf16* q, const int* positions, int heads, int head_dim, float log2_theta) {
    const int token = blockIdx.x;
    const int half = head_dim / 2;
    for (int idx = threadIdx.x; idx < heads * half; idx += blockDim.x) {
        const int head = idx / half;
        const int i = idx % half;
        const float freq = exp2f(-log2_theta * 2.f * i / head_dim);
        float s, c;
        sincosf(positions[token] * freq, &s, &c);
        bf16* base = q + (static_cast<size_t>(token) * heads + head) * head_dim;
        const float x0 = __bfloat162float(base[i]);
        const float x1 = __bfloat162float(base[i + half]);
        base[i] = __float2bfloat16(x0 * c - x1 * s);
        base[i + half] = __float2bfloat16(x1 * c + x0 * s);
    }
}

// GPT-J style: even/odd pairs, angles from a (cos, sin) table.
__global__ void rope_interleaved(bf162* __restrict__ q, const float2* __restrict__ table,
                                 const int* __restrict__ positions, int heads, int half, int total) {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    const int i = idx % half;
    const int token = idx / (half * heads);
    const float2 cs = table[positions[token] * half + i];
    const float2 v = __bfloat1622float2(q[idx]);
    q[idx] = __floats2bfloat162_rn(v.x * cs.x - v.y * cs.y, v.y * cs.x + v.x * cs.y);
}

// gate_up holds [gate | up] per token.
__global__ void __launch_bounds__(256)
swiglu(const bf16* __restrict__ gate_up, bf16* __restrict__ out, int inter) {
    const bf16* gate = gate_up + static_cast<size_t>(blockIdx.y) * 2 * inter;
    const bf16* up = gate + inter;
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i >= inter) return;
    const Pack8 g = Pack8::load(gate + i), u = Pack8::load(up + i);
    Pack8 o;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float gf = __bfloat162float(g.v[k]);
        o.v[k] = __float2bfloat16(gf / (1.f + __expf(-gf)) * __bfloat162float(u.v[k]));
    }
    o.store(out + static_cast<size_t>(blockIdx.y) * inter + i);
}

struct CudaFree { void operator()(void* p) const { cudaFree(p); } };
template <typename T>
using DevPtr = std::unique_ptr<T[], CudaFree>;

template <typename T>
DevPtr<T> to_device(const std::vector<T>& h) {
    void* p = nullptr;
    CUDA_CHECK(cudaMalloc(&p, h.size() * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return DevPtr<T>(static_cast<T*>(p));
}

static std::vector<bf16> random_bf16(size_t n, uint32_t seed, float scale) {
    std::vector<bf16> v(n);
    for (auto& e : v) {
        seed = seed * 1664525u + 1013904223u;
        e = __float2bfloat16(scale * (static_cast<float>(seed >> 8) / 8388608.f - 1.f));
    }
    return v;
}

static bool same(const char* name, const bf16* dev, const std::vector<float>& ref) {
    std::vector<bf16> got(ref.size());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(got.data(), dev, got.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
    size_t bad = 0;
    for (size_t i = 0; i < ref.size(); ++i)
        bad += !(std::fabs(__bfloat162float(got[i]) - ref[i]) <= 0.01f + 0.01f * std::fabs(ref[i]));
    std::printf("%-18s %zu of %zu differ\n", name, bad, ref.size());
    return bad == 0;
}

int main() {
    using S = ModelShape;
    const size_t n = static_cast<size_t>(S::tokens) * S::hidden;
    const int half = S::head_dim / 2;
    const auto x = random_bf16(n, 1, 1.f), res = random_bf16(n, 2, 1.f), w = random_bf16(S::hidden, 3, 1.f);
    const auto gu = random_bf16(static_cast<size_t>(S::tokens) * 2 * S::inter, 4, 3.f);
    auto f = [](bf16 b) { return __bfloat162float(b); };
    std::vector<int> pos(S::tokens);
    for (int t = 0; t < S::tokens; ++t) pos[t] = (t * 37) % S::tokens;
    std::vector<float2> table(static_cast<size_t>(S::tokens) * half);
    for (int p = 0; p < S::tokens; ++p)
        for (int i = 0; i < half; ++i) {
            const double a = p * std::pow(static_cast<double>(S::theta), -2.0 * i / S::head_dim);
            table[static_cast<size_t>(p) * half + i] = make_float2(static_cast<float>(std::cos(a)), static_cast<float>(std::sin(a)));
        }

    auto d_x = to_device(x), d_res = to_device(res), d_w = to_device(w), d_out = to_device(x);
    auto d_q1 = to_device(x), d_q2 = to_device(x), d_gu = to_device(gu);
    auto d_act = to_device(std::vector<bf16>(static_cast<size_t>(S::tokens) * S::inter));
    auto d_pos = to_device(pos);
    auto d_table = to_device(table);

    fused_add_rmsnorm<256, S::hidden><<<S::tokens, 256>>>(d_x.get(), d_res.get(), d_w.get(), d_out.get(), S::eps);
    rope_neox<<<S::tokens, 128>>>(d_q1.get(), d_pos.get(), S::heads, S::head_dim, std::log2(S::theta));
    const int pairs = static_cast<int>(n / 2);
    rope_interleaved<<<(pairs + 255) / 256, 256>>>(reinterpret_cast<bf162*>(d_q2.get()), d_table.get(), d_pos.get(), S::heads, half, pairs);
    swiglu<<<dim3((S::inter / 8 + 255) / 256, S::tokens), 256>>>(d_gu.get(), d_act.get(), S::inter);

    std::vector<float> norm(n), neox(n), gptj(n), act(static_cast<size_t>(S::tokens) * S::inter);
    for (int t = 0; t < S::tokens; ++t) {
        double ss = 0;
        const size_t row = static_cast<size_t>(t) * S::hidden;
        for (int i = 0; i < S::hidden; ++i) {
            norm[row + i] = f(__float2bfloat16(f(x[row + i]) + f(res[row + i])));
            ss += static_cast<double>(norm[row + i]) * norm[row + i];
        }
        const float scale = static_cast<float>(1.0 / std::sqrt(ss / S::hidden + S::eps));
        for (int i = 0; i < S::hidden; ++i) norm[row + i] *= scale * f(w[i]);
        for (int h = 0; h < S::heads; ++h)
            for (int i = 0; i < half; ++i) {
                const size_t b = row + h * S::head_dim;
                const float2 cs = table[static_cast<size_t>(pos[t]) * half + i];
                neox[b + i] = f(x[b + i]) * cs.x - f(x[b + i + half]) * cs.y;
                neox[b + i + half] = f(x[b + i + half]) * cs.x + f(x[b + i]) * cs.y;
                gptj[b + 2 * i] = f(x[b + 2 * i]) * cs.x - f(x[b + 2 * i + 1]) * cs.y;
                gptj[b + 2 * i + 1] = f(x[b + 2 * i + 1]) * cs.x + f(x[b + 2 * i]) * cs.y;
            }
        for (int i = 0; i < S::inter; ++i) {
            const float g = f(gu[static_cast<size_t>(t) * 2 * S::inter + i]), u = f(gu[(static_cast<size_t>(t) * 2 + 1) * S::inter + i]);
            act[static_cast<size_t>(t) * S::inter + i] = g / (1.f + std::exp(-g)) * u;
        }
    }
    bool ok = same("add + rmsnorm", d_out.get(), norm);
    ok &= same("rope neox", d_q1.get(), neox);
    ok &= same("rope interleaved", d_q2.get(), gptj);
    ok &= same("swiglu", d_act.get(), act);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
