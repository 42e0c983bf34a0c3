// Elementwise / row ops of a decoder block, bf16 storage with fp32 math.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK_CUDA(call)                                                              \
    do {                                                                              \
        cudaError_t status_ = (call);                                                 \
        if (status_ != cudaSuccess) {                                                 \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            exit(2);                                                                  \
        }                                                                             \
    } while (0)

using bf16 = __nv_bfloat16;

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T v[N];
};

template <typename T>
__device__ __forceinline__ float to_f32(T x);
template <>
__device__ __forceinline__ float to_f32<bf16>(bf16 x) {
    return __bfloat162float(x);
}
template <>
__device__ __forceinline__ float to_f32<float>(float x) {
    return x;
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int m = 16; m > 0; m >>= 1) {
        x += __shfl_xor_sync(0xffffffffu, x, m);
    }
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int m = 16; m > 0; m >>= 1) {
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, m));
    }
    return x;
}

template <int kThreads>
__device__ float block_sum(float x) {
    __shared__ float partial[kThreads / 32];
    x = warp_sum(x);
    if ((threadIdx.x & 31) == 0) {
        partial[threadIdx.x >> 5] = x;
    }
    __syncthreads();
    float total = 0.f;
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w) {
        total += partial[w];
    }
    return total;
}

// one block per token; residual add fused
template <int kThreads, int kVec>
__global__ void fused_add_rmsnorm_kernel(bf16* __restrict__ out, bf16* __restrict__ residual,
                                         const bf16* __restrict__ input,
                                         const bf16* __restrict__ weight, int hidden, float eps) {
    using Vec = Pack<bf16, kVec>;
    extern __shared__ float row_cache[];
    const size_t row = blockIdx.x;
    const Vec* in_v = reinterpret_cast<const Vec*>(input + row * hidden);
    Vec* res_v = reinterpret_cast<Vec*>(residual + row * hidden);
    const int nvec = hidden / kVec;
    float ss = 0.f;
    for (int i = threadIdx.x; i < nvec; i += kThreads) {
        Vec a = in_v[i];
        Vec r = res_v[i];
#pragma unroll
        for (int k = 0; k < kVec; ++k) {
            r.v[k] = __float2bfloat16(to_f32(a.v[k]) + to_f32(r.v[k]));
            const float f = to_f32(r.v[k]);
            row_cache[i * kVec + k] = f;
            ss += f * f;
        }
        res_v[i] = r;
    }
    const float total = block_sum<kThreads>(ss);
    const float scale = rsqrtf(total / hidden + eps);
    const Vec* w_v = reinterpret_cast<const Vec*>(weight);
    Vec* out_v = reinterpret_cast<Vec*>(out + row * hidden);
    for (int i = threadIdx.x; i < nvec; i += kThreads) {
        Vec w = w_v[i];
        Vec o;
#pragma unroll
        for (int k = 0; k < kVec; ++k) {
            o.v[k] = __float2bfloat16(row_cache[i * kVec + k] * scale * to_f32(w.v[k]));
        }
        out_v[i] = o;
    }
}

// GPT-J style rotary embedding: (even, odd) pairs
__global__ void rope_interleaved_kernel(bf16* __restrict__ q, const int* __restrict__ positions,
                                        const float2* __restrict__ cos_sin, int num_heads,
                                        int head_dim) {
    const int token = blockIdx.x;
    const int pos = positions[token];
    const int half = head_dim / 2;
    bf16* base = q + static_cast<size_t>(token) * num_heads * head_dim;
    for (int i = threadIdx.x; i < num_heads * half; i += blockDim.x) {
        const int head = i / half;
        const int d = i % half;
        const float2 cs = cos_sin[pos * half + d];
        __nv_bfloat162* p = reinterpret_cast<__nv_bfloat162*>(base + head * head_dim) + d;
        const float2 x = __bfloat1622float2(*p);
        float2 y;
        y.x = x.x * cs.x - x.y * cs.y;
        y.y = x.x * cs.y + x.y * cs.x;
        *p = __float22bfloat162_rn(y);
    }
}

// NeoX style: first half rotated with second half
__global__ void rope_neox_kernel(bf16* __restrict__ q, const int* __restrict__ positions,
                                 const float2* __restrict__ cos_sin, int num_heads, int head_dim) {
    const int token = blockIdx.x;
    const int head = threadIdx.y;
    const int half = head_dim / 2;
    bf16* h = q + (static_cast<size_t>(token) * num_heads + head) * head_dim;
    for (int d = threadIdx.x; d < half; d += blockDim.x) {
        const float2 cs = cos_sin[positions[token] * half + d];
        const float a = to_f32(h[d]);
        const float b = to_f32(h[d + half]);
        h[d] = __float2bfloat16(a * cs.x - b * cs.y);
        h[d + half] = __float2bfloat16(b * cs.x + a * cs.y);
    }
}

struct SiluOp {
    __device__ static float apply(float x) { return x / (1.f + __expf(-x)); }
};
struct GeluTanhOp {
    __device__ static float apply(float x) {
        const float u = 0.7978845608f * (x + 0.044715f * x * x * x);
        return 0.5f * x * (1.f + tanhf(u));
    }
};

// input is [tokens, 2 * d], gate first and up second
template <class Act>
__global__ void act_and_mul_kernel(bf16* __restrict__ out, const bf16* __restrict__ input, int d) {
    const size_t token = blockIdx.x;
    for (int i = threadIdx.x; i < d; i += blockDim.x) {
        const float g = to_f32(__ldg(&input[token * 2 * d + i]));
        const float u = to_f32(__ldg(&input[token * 2 * d + d + i]));
        out[token * d + i] = __float2bfloat16(Act::apply(g) * u);
    }
}

// key cache laid out [block, head, head_dim/x, block_size, x], x = 8
__global__ void reshape_and_cache_kernel(const bf16* __restrict__ key, bf16* __restrict__ key_cache,
                                         const int* __restrict__ slot_mapping, int num_heads,
                                         int head_dim, int block_size, int x) {
    const int token = blockIdx.x;
    const int slot = slot_mapping[token];
    if (slot < 0) {
        return;
    }
    const int block_idx = slot / block_size;
    const int block_off = slot % block_size;
    const int n = num_heads * head_dim;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int head = i / head_dim;
        const int off = i % head_dim;
        const int x_idx = off / x;
        const int x_off = off % x;
        const size_t dst = ((static_cast<size_t>(block_idx) * num_heads + head) * (head_dim / x) + x_idx) *
                               block_size * x +
                           block_off * x + x_off;
        key_cache[dst] = key[static_cast<size_t>(token) * n + i];
    }
}

// symmetric per-token int8
__global__ void dynamic_quant_kernel(const bf16* __restrict__ in, int8_t* __restrict__ out,
                                     float* __restrict__ scales, int tokens, int hidden) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (warp >= tokens) {
        return;
    }
    const __nv_bfloat162* src = reinterpret_cast<const __nv_bfloat162*>(in + static_cast<size_t>(warp) * hidden);
    float amax = 0.f;
    for (int i = lane; i < hidden / 2; i += 32) {
        const float2 f = __bfloat1622float2(src[i]);
        amax = fmaxf(amax, fmaxf(fabsf(f.x), fabsf(f.y)));
    }
    amax = warp_max(amax);
    const float inv = amax > 0.f ? 127.f / amax : 0.f;
    char2* dst = reinterpret_cast<char2*>(out + static_cast<size_t>(warp) * hidden);
    for (int i = lane; i < hidden / 2; i += 32) {
        const float2 f = __bfloat1622float2(src[i]);
        dst[i] = make_char2(static_cast<signed char>(__float2int_rn(f.x * inv)),
                            static_cast<signed char>(__float2int_rn(f.y * inv)));
    }
    if (lane == 0) {
        scales[warp] = amax / 127.f;
    }
}

template <typename T>
struct DeviceTensor {
    T* ptr = nullptr;
    size_t n = 0;
    explicit DeviceTensor(size_t count) : n(count) { CHECK_CUDA(cudaMalloc(&ptr, count * sizeof(T))); }
    explicit DeviceTensor(const std::vector<T>& h) : DeviceTensor(h.size()) { upload(h); }
    ~DeviceTensor() { cudaFree(ptr); }
    void upload(const std::vector<T>& h) {
        CHECK_CUDA(cudaMemcpy(ptr, h.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> host() const {
        std::vector<T> h(n);
        CHECK_CUDA(cudaMemcpy(h.data(), ptr, n * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }
};

static float h2f(bf16 b) { return __bfloat162float(b); }

static bool close_enough(float got, float want) {
    return std::fabs(got - want) <= 0.02f * std::fabs(want) + 0.02f;
}

static std::vector<bf16> random_bf16(size_t n, std::mt19937& rng) {
    std::uniform_real_distribution<float> u(-1.f, 1.f);
    std::vector<bf16> v(n);
    for (auto& e : v) {
        e = __float2bfloat16(u(rng));
    }
    return v;
}

int main() {
    constexpr int tokens = 512, heads = 8, head_dim = 128, hidden = heads * head_dim;
    constexpr int block_size = 16, x = 8, inter = 1376, max_pos = 1024;
    std::mt19937 rng(1234);
    auto h_in = random_bf16(size_t(tokens) * hidden, rng);
    auto h_res = random_bf16(size_t(tokens) * hidden, rng);
    auto h_w = random_bf16(hidden, rng);
    auto h_gu = random_bf16(size_t(tokens) * 2 * inter, rng);
    std::vector<int> h_pos(tokens), h_slot(tokens);
    std::vector<float2> h_cs(size_t(max_pos) * head_dim / 2);
    for (int t = 0; t < tokens; ++t) {
        h_pos[t] = (t * 37) % max_pos;
        h_slot[t] = (t * 5 + 3) % tokens;
        if (t % 61 == 60) {
            h_slot[t] = -1;
        }
    }
    for (int p = 0; p < max_pos; ++p) {
        for (int d = 0; d < head_dim / 2; ++d) {
            const double a = p * std::pow(10000.0, -2.0 * d / head_dim);
            h_cs[size_t(p) * head_dim / 2 + d] = make_float2(float(std::cos(a)), float(std::sin(a)));
        }
    }
    DeviceTensor<bf16> d_in(h_in), d_res(h_res), d_w(h_w), d_gu(h_gu), d_q1(h_in), d_q2(h_in);
    DeviceTensor<bf16> d_norm(h_in.size()), d_silu(size_t(tokens) * inter), d_gelu(size_t(tokens) * inter);
    DeviceTensor<bf16> d_cache(h_in.size());
    DeviceTensor<int> d_pos(h_pos), d_slot(h_slot);
    DeviceTensor<float2> d_cs(h_cs);
    DeviceTensor<int8_t> d_q8(h_in.size());
    DeviceTensor<float> d_scale(tokens);
    CHECK_CUDA(cudaMemset(d_cache.ptr, 0, d_cache.n * sizeof(bf16)));

    fused_add_rmsnorm_kernel<128, 8><<<tokens, 128, hidden * sizeof(float)>>>(
        d_norm.ptr, d_res.ptr, d_in.ptr, d_w.ptr, hidden, 1e-5f);
    rope_interleaved_kernel<<<tokens, 256>>>(d_q1.ptr, d_pos.ptr, d_cs.ptr, heads, head_dim);
    rope_neox_kernel<<<tokens, dim3(32, heads)>>>(d_q2.ptr, d_pos.ptr, d_cs.ptr, heads, head_dim);
    act_and_mul_kernel<SiluOp><<<tokens, 256>>>(d_silu.ptr, d_gu.ptr, inter);
    act_and_mul_kernel<GeluTanhOp><<<tokens, 256>>>(d_gelu.ptr, d_gu.ptr, inter);
    reshape_and_cache_kernel<<<tokens, 512>>>(d_in.ptr, d_cache.ptr, d_slot.ptr, heads, head_dim, block_size, x);
    dynamic_quant_kernel<<<(tokens * 32 + 127) / 128, 128>>>(d_in.ptr, d_q8.ptr, d_scale.ptr, tokens, hidden);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());

    long bad = 0;
    auto norm = d_norm.host(), q1 = d_q1.host(), q2 = d_q2.host(), silu = d_silu.host(), gelu = d_gelu.host();
    auto cache = d_cache.host();
    auto q8 = d_q8.host();
    auto scale = d_scale.host();
    for (int t = 0; t < tokens; ++t) {
        std::vector<float> r(hidden);
        double ss = 0;
        for (int i = 0; i < hidden; ++i) {
            r[i] = h2f(__float2bfloat16(h2f(h_in[size_t(t) * hidden + i]) + h2f(h_res[size_t(t) * hidden + i])));
            ss += double(r[i]) * r[i];
        }
        const float s = float(1.0 / std::sqrt(ss / hidden + 1e-5));
        for (int i = 0; i < hidden; ++i) {
            const size_t g = size_t(t) * hidden + i;
            const int h = i / head_dim, o = i % head_dim, half = head_dim / 2;
            bad += !close_enough(h2f(norm[g]), r[i] * s * h2f(h_w[i]));
            const float2 c1 = h_cs[size_t(h_pos[t]) * half + o / 2];
            const float self = h2f(h_in[g]), buddy = h2f(h_in[g ^ 1]);
            bad += !close_enough(h2f(q1[g]), (o & 1) ? buddy * c1.y + self * c1.x : self * c1.x - buddy * c1.y);
            const float2 c2 = h_cs[size_t(h_pos[t]) * half + o % half];
            const float mate = h2f(h_in[o < half ? g + half : g - half]);
            bad += !close_enough(h2f(q2[g]), o < half ? self * c2.x - mate * c2.y : self * c2.x + mate * c2.y);
            if (h_slot[t] >= 0) {
                const int b = h_slot[t] / block_size, bo = h_slot[t] % block_size;
                const size_t dst = ((size_t(b) * heads + h) * (head_dim / x) + o / x) * block_size * x + bo * x + o % x;
                bad += h2f(cache[dst]) != self;
            }
            bad += std::fabs(q8[g] * scale[t] - self) > 0.51f * scale[t];
        }
        for (int i = 0; i < inter; ++i) {
            const float g = h2f(h_gu[size_t(t) * 2 * inter + i]), u = h2f(h_gu[size_t(t) * 2 * inter + inter + i]);
            bad += !close_enough(h2f(silu[size_t(t) * inter + i]), g / (1.f + std::exp(-g)) * u);
            const float k = 0.7978845608f * (g + 0.044715f * g * g * g);
            bad += !close_enough(h2f(gelu[size_t(t) * inter + i]), 0.5f * g * (1.f + std::tanh(k)) * u);
        }
    }
    printf("mismatches %ld\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
