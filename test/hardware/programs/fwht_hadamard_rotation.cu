// Fast Hadamard rotation of activations before low-bit quantisation (QuaRot-like), several data paths.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#define CUDA_OK(x)                                                                   \
    if (auto e_ = (x); e_ != cudaSuccess) {                                          \
        std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); std::exit(2); \
    }

template <int kNThreads_, int kLogN_, typename elem_t_>
struct fht_traits {
    using elem_t = elem_t_;
    static constexpr int kNThreads = kNThreads_;
    static constexpr int kLogN = kLogN_;
    static constexpr int N = 1 << kLogN;
    static constexpr int kNBytes = sizeof(elem_t);
    static constexpr int kNElts = 16 / kNBytes;                 // one 128-bit access
    static constexpr int kNChunks = N / (kNElts * kNThreads);
    static constexpr int kNWarps = kNThreads / 32;
    static constexpr int kSmemExchange = N * int(sizeof(float));
    static_assert(kNChunks >= 1);
};

__host__ __device__ constexpr int cilog2(int v) { return v > 1 ? 1 + cilog2(v / 2) : 0; }

template <int kLog, int kChunks>
__device__ __forceinline__ void had_thread(float (&x)[kChunks][1 << kLog]) {
#pragma unroll
    for (int i = 0; i < kLog; ++i) {
        const int stride = 1 << i;
#pragma unroll
        for (int j = 0; j < (1 << kLog) / 2; ++j) {
            const int lo = j & (stride - 1);
            const int idx = (j - lo) * 2 + lo;
#pragma unroll
            for (int c = 0; c < kChunks; ++c) {
                const float a = x[c][idx], b = x[c][idx + stride];
                x[c][idx] = a + b;
                x[c][idx + stride] = a - b;
            }
        }
    }
}

template <int kLogLanes, int kChunks, int kItems>
__device__ __forceinline__ void had_warp(float (&x)[kChunks][kItems]) {
#pragma unroll
    for (int s = 0; s < kLogLanes; ++s) {
        const float sign = (threadIdx.x & (1 << s)) ? -1.f : 1.f;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
            for (int i = 0; i < kItems; ++i) {
                const float other = __shfl_xor_sync(0xffffffffu, x[c][i], 1 << s);
                x[c][i] = sign * x[c][i] + other;
            }
    }
}

// Load 16-byte vectors of fp16, butterflies in registers and over the lanes, then a transposing exchange
// through shared memory so that the warp index becomes a lane index.
template <typename Ktraits>
__global__ __launch_bounds__(Ktraits::kNThreads) void fht_kernel(const half* __restrict__ in, half* __restrict__ out,
                                                                 int rows, float scale) {
    constexpr int E = Ktraits::kNElts, C = Ktraits::kNChunks, T = Ktraits::kNThreads, W = Ktraits::kNWarps;
    extern __shared__ __align__(16) float exch[];
    const int row = blockIdx.x;
    if (row >= rows) return;
    const uint4* vin = reinterpret_cast<const uint4*>(in + size_t(row) * Ktraits::N);
    float x[C][E];
#pragma unroll
    for (int c = 0; c < C; ++c) {
        union { uint4 v; half2 h[4]; } u;
        u.v = vin[c * T + threadIdx.x];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 f = __half22float2(u.h[i]);
            x[c][2 * i] = f.x;
            x[c][2 * i + 1] = f.y;
        }
    }
    had_thread<cilog2(E), C>(x);
    had_warp<5, C, E>(x);
    // exchange: thread (warp w, lane l) <-> position; afterwards neighbouring lanes hold different warps' data
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
#pragma unroll
    for (int c = 0; c < C; ++c) {
#pragma unroll
        for (int i = 0; i < E; i += 4)
            *reinterpret_cast<float4*>(&exch[(c * T + threadIdx.x) * E + i]) = make_float4(x[c][i], x[c][i + 1], x[c][i + 2], x[c][i + 3]);
    }
    __syncthreads();
    const int w2 = lane % W, l2 = warp * (32 / W) + lane / W;    // thread takes lane l2 of warp w2
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
        for (int i = 0; i < E; ++i) x[c][i] = exch[(c * T + w2 * 32 + l2) * E + i];
    had_warp<cilog2(W), C, E>(x);
    // remaining log2(C) steps over the chunks, in registers
#pragma unroll
    for (int s = 1; s < C; s <<= 1)
#pragma unroll
        for (int c = 0; c < C; ++c)
            if (!(c & s))
#pragma unroll
                for (int i = 0; i < E; ++i) {
                    const float a = x[c][i], b = x[c + s][i];
                    x[c][i] = a + b;
                    x[c + s][i] = a - b;
                }
    half* o = out + size_t(row) * Ktraits::N;
#pragma unroll
    for (int c = 0; c < C; ++c) {
        union { uint4 v; half2 h[4]; } u;
#pragma unroll
        for (int i = 0; i < 4; ++i) u.h[i] = __floats2half2_rn(x[c][2 * i] * scale, x[c][2 * i + 1] * scale);
        *reinterpret_cast<uint4*>(o + (c * T + w2 * 32 + l2) * E) = u.v;
    }
}

// Textbook version: everything in shared memory, radix 2, block per row of 2^L floats.
template <int L>
__global__ void fwht_shared_radix2(float* __restrict__ data, float scale) {
    __shared__ float s[1 << L];
    float* row = data + (size_t(blockIdx.x) << L);
    for (int i = threadIdx.x; i < (1 << L); i += blockDim.x) s[i] = row[i];
    for (int stride = 1; stride < (1 << L); stride <<= 1) {
        __syncthreads();
        for (int p = threadIdx.x; p < (1 << (L - 1)); p += blockDim.x) {
            const int lo = p & (stride - 1);
            const int i0 = ((p - lo) << 1) + lo, i1 = i0 + stride;
            const float a = s[i0], b = s[i1];
            s[i0] = a + b;
            s[i1] = a - b;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (1 << L); i += blockDim.x) row[i] = s[i] * scale;
}

// One radix-4 stage over global memory (the SDK way for long vectors).
__global__ void fwht_global_radix4(const float* __restrict__ src, float* __restrict__ dst, int log_stride) {
    const int pos = blockIdx.x * blockDim.x + threadIdx.x;
    const int stride = 1 << log_stride;
    const int lo = pos & (stride - 1);
    const int i0 = ((pos - lo) << 2) + lo;
    const int i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
    const float d0 = src[i0], d1 = src[i1], d2 = src[i2], d3 = src[i3];
    const float t0 = d0 + d2, t1 = d0 - d2, t2 = d1 + d3, t3 = d1 - d3;
    dst[i0] = t0 + t2;
    dst[i1] = t0 - t2;
    dst[i2] = t1 + t3;
    dst[i3] = t1 - t3;
}

// Row-wise int8 quantisation of the rotated activations: a warp per row, char4 stores.
template <int N>
__global__ void quantize_rows(const half* __restrict__ x, char4* __restrict__ q, float* __restrict__ scales, int rows) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const half2* p = reinterpret_cast<const half2*>(x + size_t(row) * N);
    float m = 0.f;
    for (int i = lane; i < N / 2; i += 32) {
        const float2 f = __half22float2(p[i]);
        m = fmaxf(m, fmaxf(fabsf(f.x), fabsf(f.y)));
    }
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    const float inv = m > 0.f ? 127.f / m : 0.f;
    for (int i = lane; i < N / 4; i += 32) {
        const float2 a = __half22float2(p[2 * i]), b = __half22float2(p[2 * i + 1]);
        q[size_t(row) * (N / 4) + i] = make_char4((signed char)__float2int_rn(a.x * inv), (signed char)__float2int_rn(a.y * inv),
                                                  (signed char)__float2int_rn(b.x * inv), (signed char)__float2int_rn(b.y * inv));
    }
    if (lane == 0) scales[row] = m / 127.f;
}

static void cpu_fwht(std::vector<double>& v, size_t at, int n) {
    for (int s = 1; s < n; s *= 2)
        for (int i = 0; i < n; ++i)
            if (!(i & s)) { const double a = v[at + i], b = v[at + i + s]; v[at + i] = a + b; v[at + i + s] = a - b; }
}

template <int LogN, int Threads>
static bool run_fht(int rows, std::mt19937& rng) {
    using Tr = fht_traits<Threads, LogN, half>;
    std::uniform_int_distribution<int> d(-64, 64);
    std::vector<half> h(size_t(rows) * Tr::N), g(h.size());
    std::vector<double> ref(h.size());
    for (size_t i = 0; i < h.size(); ++i) { h[i] = __float2half(d(rng) / 64.f); ref[i] = __half2float(h[i]); }
    half *in, *out;
    char4* q;
    float* sc;
    CUDA_OK(cudaMalloc(&in, h.size() * 2));
    CUDA_OK(cudaMalloc(&out, h.size() * 2));
    CUDA_OK(cudaMalloc(&q, h.size()));
    CUDA_OK(cudaMalloc(&sc, rows * 4));
    CUDA_OK(cudaMemcpy(in, h.data(), h.size() * 2, cudaMemcpyHostToDevice));
    const float scale = 1.f / std::sqrt(float(Tr::N));
    CUDA_OK(cudaFuncSetAttribute(fht_kernel<Tr>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tr::kSmemExchange));
    fht_kernel<Tr><<<rows, Threads, Tr::kSmemExchange>>>(in, out, rows, scale);
    quantize_rows<Tr::N><<<(rows + 3) / 4, 128>>>(out, q, sc, rows);
    CUDA_OK(cudaDeviceSynchronize());
    std::vector<signed char> hq(h.size());
    std::vector<float> hs(rows);
    CUDA_OK(cudaMemcpy(g.data(), out, g.size() * 2, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(hq.data(), q, hq.size(), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(hs.data(), sc, rows * 4, cudaMemcpyDeviceToHost));
    size_t bad = 0, badq = 0;
    for (int r = 0; r < rows; ++r) {
        cpu_fwht(ref, size_t(r) * Tr::N, Tr::N);
        for (int i = 0; i < Tr::N; ++i) {
            const size_t k = size_t(r) * Tr::N + i;
            const double want = ref[k] * scale, have = __half2float(g[k]);
            bad += !(std::fabs(want - have) <= 2e-3 * (1 + std::fabs(want)));
            badq += !(std::fabs(hq[k] * double(hs[r]) - have) <= 0.51 * hs[r] + 1e-6);
        }
    }
    std::printf("fht N=%d rows=%d: %zu bad, quant %zu bad\n", Tr::N, rows, bad, badq);
    cudaFree(in); cudaFree(out); cudaFree(q); cudaFree(sc);
    return bad + badq == 0;
}

int main() {
    std::mt19937 rng(77);
    bool ok = true;
    const std::array<std::function<bool()>, 3> cases{[&] { return run_fht<10, 128>(37, rng); },
                                                     [&] { return run_fht<11, 256>(20, rng); },
                                                     [&] { return run_fht<12, 256>(9, rng); }};
    for (auto& c : cases) ok = c() && ok;

    // shared-memory radix 2, 10 rows of 2048, and one long vector of 2^18 by radix 4 stages
    constexpr int L = 11, LL = 18, rows = 10;
    std::vector<float> v(size_t(rows) << L), w(size_t(1) << LL), got;
    for (auto* p : {&v, &w}) for (auto& e : *p) e = float(int(rng() % 17) - 8);
    std::vector<double> rv(v.begin(), v.end()), rw(w.begin(), w.end());
    for (int r = 0; r < rows; ++r) cpu_fwht(rv, size_t(r) << L, 1 << L);
    cpu_fwht(rw, 0, 1 << LL);
    float *dv, *da, *db;
    CUDA_OK(cudaMalloc(&dv, v.size() * 4));
    CUDA_OK(cudaMalloc(&da, w.size() * 4));
    CUDA_OK(cudaMalloc(&db, w.size() * 4));
    CUDA_OK(cudaMemcpy(dv, v.data(), v.size() * 4, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(da, w.data(), w.size() * 4, cudaMemcpyHostToDevice));
    fwht_shared_radix2<L><<<rows, 256>>>(dv, 1.0f);
    for (int ls = 0; ls < LL; ls += 2) {
        fwht_global_radix4<<<(1 << LL) / 4 / 256, 256>>>(da, db, ls);
        std::swap(da, db);
    }
    CUDA_OK(cudaDeviceSynchronize());
    size_t bad = 0;
    got.resize(v.size());
    CUDA_OK(cudaMemcpy(got.data(), dv, v.size() * 4, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < v.size(); ++i) bad += got[i] != float(rv[i]);
    std::printf("shared radix 2: %zu bad\n", bad);
    got.resize(w.size());
    CUDA_OK(cudaMemcpy(got.data(), da, w.size() * 4, cudaMemcpyDeviceToHost));
    size_t bad2 = 0;
    for (size_t i = 0; i < w.size(); ++i) bad2 += got[i] != float(rw[i]);
    std::printf("global radix 4: %zu bad\n", bad2);
    ok = ok && bad == 0 && bad2 == 0;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
