// One training step of a toy conv layer, the way a framework backend would write it:
// im2col -> gemm -> batchnorm -> relu+dropout -> (softmax xent) -> dW gemm -> Adam.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
namespace mini {

#define MINI_CHECK(...)                                                                        \
    do {                                                                                       \
        cudaError_t s_ = (__VA_ARGS__);                                                        \
        if (s_ != cudaSuccess) { fprintf(stderr, "MINI_CHECK %s:%d %s\n", __FILE__, __LINE__,  \
                                         cudaGetErrorString(s_)); exit(1); }                   \
    } while (false)

struct Shape4 { int n, c, h, w; __host__ __device__ int size() const { return n * c * h * w; } };

struct ConvParams { Shape4 in; int k_out, ksize, pad, stride, oh, ow; };

template <typename T>
struct Tensor {
    T* ptr = nullptr;
    size_t numel = 0;
    explicit Tensor(size_t n) : numel(n) { MINI_CHECK(cudaMalloc(&ptr, n * sizeof(T))); MINI_CHECK(cudaMemset(ptr, 0, n * sizeof(T))); }
    explicit Tensor(const std::vector<T>& v) : Tensor(v.size()) { MINI_CHECK(cudaMemcpy(ptr, v.data(), numel * sizeof(T), cudaMemcpyHostToDevice)); }
    ~Tensor() { cudaFree(ptr); }
    Tensor(const Tensor&) = delete;
    Tensor& operator=(const Tensor&) = delete;
    std::vector<T> cpu() const { std::vector<T> v(numel); MINI_CHECK(cudaMemcpy(v.data(), ptr, numel * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
};

// Philox-flavoured counter hash; identical on host and device.
__host__ __device__ inline uint32_t counter_hash(uint32_t i, uint32_t seed) {
    uint32_t x = i * 0x9E3779B9u ^ seed;
    x ^= x >> 16; x *= 0x85EBCA6Bu; x ^= x >> 13; x *= 0xC2B2AE35u; x ^= x >> 16;
    return x;
}

#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

// col[(c*kh*kw), (n*oh*ow)]
template <typename T, int K>
__global__ void im2col_kernel(const T* __restrict__ x, T* __restrict__ col, ConvParams p) {
    const int P = p.in.n * p.oh * p.ow, total = p.in.c * P;
    CUDA_KERNEL_LOOP(idx, total) {
        const int ow = idx % p.ow, oh = idx / p.ow % p.oh, n = idx / (p.ow * p.oh) % p.in.n, c = idx / P;
        const T* img = x + (size_t)(n * p.in.c + c) * p.in.h * p.in.w;
        T* dst = col + (size_t)c * K * K * P + idx % P;
#pragma unroll
        for (int i = 0; i < K; ++i)
#pragma unroll
            for (int j = 0; j < K; ++j) {
                const int r = oh * p.stride - p.pad + i, s = ow * p.stride - p.pad + j;
                dst[(size_t)(i * K + j) * P] = (r >= 0 && s >= 0 && r < p.in.h && s < p.in.w) ? img[r * p.in.w + s] : T(0);
            }
    }
}

// C[M,N] = A[M,K] * op(B); TB: B is stored [N,K]
template <bool TB, int TILE>
__global__ void gemm_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        as[ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.f;
        if constexpr (TB) {
            const int bc = blockIdx.x * TILE + ty;                 // coalesced read, transposed (conflicting) store
            bs[tx][ty] = (bc < N && k0 + tx < K) ? B[bc * K + k0 + tx] : 0.f;
        } else {
            bs[ty][tx] = (k0 + ty < K && col < N) ? B[(k0 + ty) * N + col] : 0.f;
        }
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; ++k) acc += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

__device__ float block_sum(float v, float* scratch) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    float r = 0.f;
    for (int i = 0; i < (int)blockDim.x / 32; ++i) r += scratch[i];
    __syncthreads();
    return r;
}

// y is [C, P]; one block per channel, two reads for the statistics and one more to normalise
__global__ void __launch_bounds__(512) batchnorm_kernel(float* y, const float* gamma, const float* beta, int P, float eps,
                                                        float2* saved) {
    __shared__ float scratch[16];
    float* row = y + (size_t)blockIdx.x * P;
    float s = 0.f, q = 0.f;
    for (int i = threadIdx.x; i < P; i += blockDim.x) s += row[i];
    const float mean = block_sum(s, scratch) / P;
    for (int i = threadIdx.x; i < P; i += blockDim.x) { float d = row[i] - mean; q += d * d; }
    const float inv = rsqrtf(block_sum(q, scratch) / P + eps);
    const float g = gamma[blockIdx.x], b = beta[blockIdx.x];
    for (int i = threadIdx.x; i < P; i += blockDim.x) row[i] = (row[i] - mean) * inv * g + b;
    if (threadIdx.x == 0) saved[blockIdx.x] = make_float2(mean, inv);
}

__global__ void relu_dropout_kernel(const float4* in, float4* out, uint8_t* mask, int n4, uint32_t seed, uint32_t thresh, float scale) {
    CUDA_KERNEL_LOOP(i, n4) {
        float4 v = in[i];
        float* f = reinterpret_cast<float*>(&v);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const bool keep = counter_hash(4 * i + k, seed) >= thresh;
            mask[4 * i + k] = keep;                                  // byte stores, stride 4 between lanes
            f[k] = keep && f[k] > 0.f ? f[k] * scale : 0.f;
        }
        out[i] = v;
    }
}

template <int TILE>
__global__ void softmax_xent_kernel(const __nv_bfloat16* logits, const int* label, int rows, int classes, float* loss, float* grad) {
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    const int r = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (r >= rows) return;
    const __nv_bfloat16* z = logits + (size_t)r * classes;
    float m = -INFINITY, s = 0.f;
    for (int c = tile.thread_rank(); c < classes; c += TILE) m = fmaxf(m, __bfloat162float(z[c]));
    for (int o = TILE / 2; o > 0; o /= 2) m = fmaxf(m, tile.shfl_xor(m, o));
    for (int c = tile.thread_rank(); c < classes; c += TILE) s += expf(__bfloat162float(z[c]) - m);
    for (int o = TILE / 2; o > 0; o /= 2) s += tile.shfl_xor(s, o);
    const int y = label[r];
    for (int c = tile.thread_rank(); c < classes; c += TILE)
        grad[(size_t)r * classes + c] = expf(__bfloat162float(z[c]) - m) / s - (c == y ? 1.f : 0.f);
    if (tile.thread_rank() == 0) loss[r] = logf(s) + m - __bfloat162float(z[y]);
}

struct AdamState { float w, m, v; };         // AoS, 12-byte stride
struct AdamHyper { float lr, b1, b2, eps, c1, c2; };
__host__ __device__ inline void adam_update(AdamState& s, float g, const AdamHyper& h) {
    s.m = h.b1 * s.m + (1.f - h.b1) * g;
    s.v = h.b2 * s.v + (1.f - h.b2) * g * g;
    s.w -= h.lr * (s.m / h.c1) / (sqrtf(s.v / h.c2) + h.eps);
}
__global__ void adam_kernel(AdamState* st, const float* g, int n, AdamHyper h) {
    CUDA_KERNEL_LOOP(i, n) adam_update(st[i], g[i], h);
}

inline bool close(const char* what, const std::vector<float>& a, const std::function<double(size_t)>& ref, double tol) {
    for (size_t i = 0; i < a.size(); ++i) {
        double r = ref(i);
        if (!(std::fabs(a[i] - r) <= tol * (1.0 + std::fabs(r)))) { printf("%s[%zu]: %g vs %g\n", what, i, a[i], r); return false; }
    }
    return true;
}
}  // namespace mini

int main(int argc, char** argv) {
    using namespace mini;
    const int N = argc > 1 ? atoi(argv[1]) : 16, C = 8, H = 20, W = 20, KO = 24, KS = 3;
    ConvParams p{{N, C, H, W}, KO, KS, 1, 1, H, W};
    const int P = N * p.oh * p.ow, R = C * KS * KS, ROWS = 777, CLS = 1001;
    auto val = [](uint32_t i, uint32_t s) { return (int)(counter_hash(i, s) % 2001) / 1000.0f - 1.0f; };

    std::vector<float> x(p.in.size()), w(KO * R), gamma(KO), beta(KO);
    for (size_t i = 0; i < x.size(); ++i) x[i] = val(i, 1);
    for (size_t i = 0; i < w.size(); ++i) w[i] = 0.3f * val(i, 2);
    for (int k = 0; k < KO; ++k) { gamma[k] = 1.f + 0.02f * k; beta[k] = 0.01f * (k - 10); }
    std::vector<__nv_bfloat16> z((size_t)ROWS * CLS); std::vector<int> lab(ROWS);
    for (size_t i = 0; i < z.size(); ++i) z[i] = __float2bfloat16(4.f * val(i, 3));
    for (int r = 0; r < ROWS; ++r) lab[r] = counter_hash(r, 4) % CLS;
    std::vector<AdamState> st(KO * R);
    for (int i = 0; i < KO * R; ++i) st[i] = {w[i], 0.1f * val(i, 5), 0.5f + 0.4f * val(i, 6)};
    const AdamHyper hy{1e-2f, 0.9f, 0.999f, 1e-8f, 0.271f, 0.002997f};

    Tensor<float> dx(x), dw(w), dcol((size_t)R * P), dy((size_t)KO * P), da((size_t)KO * P), dgm(gamma), dbt(beta), ddw(KO * R);
    Tensor<float2> saved(KO); Tensor<uint8_t> mask((size_t)KO * P);
    Tensor<__nv_bfloat16> dz(z); Tensor<int> dl(lab); Tensor<float> loss(ROWS), gz((size_t)ROWS * CLS); Tensor<AdamState> dst(st);

    const dim3 t16(16, 16);
    const uint32_t seed = 99, thresh = 0x40000000u; const float scale = 1.f / 0.75f;
    im2col_kernel<float, 3><<<(C * P + 255) / 256, 256>>>(dx.ptr, dcol.ptr, p);
    gemm_kernel<false, 16><<<dim3((P + 15) / 16, (KO + 15) / 16), t16>>>(dw.ptr, dcol.ptr, dy.ptr, KO, P, R);
    MINI_CHECK(cudaGetLastError());
    auto conv = dy.cpu();
    batchnorm_kernel<<<KO, 512>>>(dy.ptr, dgm.ptr, dbt.ptr, P, 1e-5f, saved.ptr);
    relu_dropout_kernel<<<100, 192>>>((const float4*)dy.ptr, (float4*)da.ptr, mask.ptr, KO * P / 4, seed, thresh, scale);
    softmax_xent_kernel<16><<<(ROWS + 7) / 8, 128>>>(dz.ptr, dl.ptr, ROWS, CLS, loss.ptr, gz.ptr);
    gemm_kernel<true, 16><<<dim3((R + 15) / 16, (KO + 15) / 16), t16>>>(da.ptr, dcol.ptr, ddw.ptr, KO, R, P);
    adam_kernel<<<(KO * R + 127) / 128, 128>>>(dst.ptr, ddw.ptr, KO * R, hy);
    MINI_CHECK(cudaGetLastError());
    MINI_CHECK(cudaDeviceSynchronize());

    bool ok = close("conv", conv, [&](size_t i) {
        int k = i / P, q = i % P, n = q / (H * W), oh = q / W % H, ow = q % W; double a = 0;
        for (int c = 0; c < C; ++c) for (int u = 0; u < 3; ++u) for (int v = 0; v < 3; ++v) {
            int r = oh + u - 1, s = ow + v - 1;
            if (r >= 0 && s >= 0 && r < H && s < W) a += (double)x[((n * C + c) * H + r) * W + s] * w[(k * C + c) * 9 + u * 3 + v];
        }
        return a; }, 1e-4);
    auto act = da.cpu(); auto mk = mask.cpu();
    for (int k = 0; ok && k < KO; ++k) {
        double s = 0, q = 0;
        for (int i = 0; i < P; ++i) s += conv[(size_t)k * P + i];
        s /= P;
        for (int i = 0; i < P; ++i) { double d = conv[(size_t)k * P + i] - s; q += d * d; }
        double inv = 1 / std::sqrt(q / P + 1e-5);
        for (int i = 0; i < P; ++i) {
            size_t id = (size_t)k * P + i; bool keep = counter_hash(id, seed) >= thresh;
            double v = (conv[id] - s) * inv * gamma[k] + beta[k]; v = keep && v > 0 ? v * scale : 0;
            if (mk[id] != keep || std::fabs(act[id] - v) > 2e-3) { printf("act[%zu] %g vs %g\n", id, act[id], v); ok = false; break; }
        }
    }
    auto gl = loss.cpu(); auto gg = gz.cpu();
    for (int r = 0; ok && r < ROWS; ++r) {
        double m = -1e30, s = 0;
        for (int c = 0; c < CLS; ++c) m = std::fmax(m, __bfloat162float(z[(size_t)r * CLS + c]));
        for (int c = 0; c < CLS; ++c) s += std::exp(__bfloat162float(z[(size_t)r * CLS + c]) - m);
        if (std::fabs(gl[r] - (std::log(s) + m - __bfloat162float(z[(size_t)r * CLS + lab[r]]))) > 1e-3) { printf("loss %d\n", r); ok = false; }
        for (int c = 0; c < CLS; ++c) {
            double g = std::exp(__bfloat162float(z[(size_t)r * CLS + c]) - m) / s - (c == lab[r]);
            if (std::fabs(g - gg[(size_t)r * CLS + c]) > 1e-4) { printf("grad %d,%d\n", r, c); ok = false; break; }
        }
    }
    auto col = dcol.cpu(); auto gw = ddw.cpu();
    ok = ok && close("dW", gw, [&](size_t i) { double a = 0; const float* u = &act[i / R * P]; const float* v = &col[i % R * P];
        for (int q = 0; q < P; ++q) a += (double)u[q] * v[q]; return a; }, 3e-3);
    auto fin = dst.cpu();
    for (int i = 0; ok && i < KO * R; ++i) { AdamState s = st[i]; adam_update(s, gw[i], hy);
        if (std::fabs(s.w - fin[i].w) > 1e-3f * (1 + std::fabs(s.w))) { printf("adam %d %g %g\n", i, s.w, fin[i].w); ok = false; } }
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
