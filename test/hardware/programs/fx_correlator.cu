// FX correlator: int8 antenna streams -> polyphase filterbank (64 coarse channels) -> corner turn ->
// 1024 point fine FFT -> cross power for all baselines.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#define CUDA_CHECK(e) check_impl((e), #e, __LINE__)
static void check_impl(cudaError_t err, const char* expr, int line) {
    if (err == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s: %s\n", line, expr, cudaGetErrorString(err));
    std::exit(1);
}

constexpr int kChan = 64;     // coarse channels, also the coarse FFT length
constexpr int kTaps = 8;
constexpr int kFine = 1024;   // frames per integration, fine FFT length

__constant__ float c_proto[kChan * kTaps];

__device__ __forceinline__ float2 cmul(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }

// ---------------------------------------------------------------------------
// y[ant][t][m] = sum_p h[p*M + m] * x[ant][(t + p)*M + m]
__global__ void pfb_fir(const char2* __restrict__ x, float2* __restrict__ y, int samples, int frames, int frames_per_thread) {
    const int m = threadIdx.x, ant = blockIdx.y;
    const int t0 = (blockIdx.x * blockDim.y + threadIdx.y) * frames_per_thread;
    const char2* xa = x + size_t(ant) * samples;
    float2 hist[kTaps];
#pragma unroll
    for (int p = 0; p < kTaps - 1; ++p) {
        hist[p + 1] = make_float2(0.f, 0.f);
        if (t0 < frames) {
            const char2 c = xa[(t0 + p) * kChan + m];
            hist[p + 1] = make_float2(c.x, c.y);
        }
    }
    for (int t = t0; t < min(t0 + frames_per_thread, frames); ++t) {
#pragma unroll
        for (int p = 0; p < kTaps - 1; ++p) hist[p] = hist[p + 1];
        const char2 c = xa[(t + kTaps - 1) * kChan + m];
        hist[kTaps - 1] = make_float2(c.x, c.y);
        float2 acc = {0.f, 0.f};
#pragma unroll
        for (int p = 0; p < kTaps; ++p) {
            const float h = c_proto[p * kChan + m];
            acc.x += h * hist[p].x;
            acc.y += h * hist[p].y;
        }
        y[(size_t(ant) * frames + t) * kChan + m] = acc;
    }
}

// Stockham radix-4, one buffer in shared memory, values pass through registers.
template <int N, int BATCH>
__global__ void __launch_bounds__(N / 4 * BATCH) fft_radix4(const float2* __restrict__ in, float2* __restrict__ out,
                                                           const float2* __restrict__ tw, int count, float scale) {
    __shared__ float2 buf[BATCH][N];
    const int j = threadIdx.x;
    const int row = blockIdx.x * BATCH + threadIdx.y;
    const bool live = row < count;
    float2* s = buf[threadIdx.y];
    float2 v[4];

#pragma unroll
    for (int r = 0; r < 4; ++r) v[r] = live ? in[size_t(row) * N + j + r * (N / 4)] : float2{0.f, 0.f};

#pragma unroll
    for (int ns = 1; ns < N; ns *= 4) {
        const int k = j % ns;
        if (ns > 1) {
            const int step = k * (N / (4 * ns));
#pragma unroll
            for (int r = 1; r < 4; ++r) v[r] = cmul(v[r], tw[r * step]);
        }
        const float2 a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
        v[0] = a + c;
        v[1] = {b.x + d.y, b.y - d.x};
        v[2] = a - c;
        v[3] = {b.x - d.y, b.y + d.x};
        const int base = (j / ns) * ns * 4 + k;
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; ++r) s[base + r * ns] = v[r];
        __syncthreads();
        if (ns * 4 < N) {
#pragma unroll
            for (int r = 0; r < 4; ++r) v[r] = s[j + r * (N / 4)];
        }
    }
    if (!live) return;
    for (int i = j; i < N; i += N / 4) {
        const float2 q = s[i];
        out[size_t(row) * N + i] = make_float2(q.x * scale, q.y * scale);
    }
}

// [ant][frame][chan] -> [ant][chan][frame]
__global__ void corner_turn(const float2* __restrict__ in, float2* __restrict__ out, int frames, int chans) {
    __shared__ float2 tile[32][33];
    const size_t plane = size_t(blockIdx.z) * frames * chans;
    const int c0 = blockIdx.x * 32, f0 = blockIdx.y * 32;
    for (int r = threadIdx.y; r < 32; r += blockDim.y) tile[r][threadIdx.x] = in[plane + size_t(f0 + r) * chans + c0 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += blockDim.y) out[plane + size_t(c0 + r) * frames + f0 + threadIdx.x] = tile[threadIdx.x][r];
}

// vis[baseline][chan] = sum_f X_a[chan][f] * conj(X_b[chan][f]);  one warp per (baseline, chan)
__global__ void correlate(const float2* __restrict__ spec, const short2* __restrict__ baselines, int nbl, float2* vis) {
    const int chan = blockIdx.x;
    const int bl = blockIdx.y * blockDim.y + threadIdx.y;
    if (bl >= nbl) return;
    const short2 ab = baselines[bl];
    const float4* pa = reinterpret_cast<const float4*>(spec + (size_t(ab.x) * kChan + chan) * kFine);
    const float4* pb = reinterpret_cast<const float4*>(spec + (size_t(ab.y) * kChan + chan) * kFine);
    float re = 0.f, im = 0.f;
    for (int i = threadIdx.x; i < kFine / 2; i += 32) {
        const float4 a = pa[i], b = pb[i];
        re += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
        im += a.y * b.x - a.x * b.y + a.w * b.z - a.z * b.w;
    }
    for (int o = 16; o > 0; o /= 2) {
        re += __shfl_down_sync(0xffffffff, re, o);
        im += __shfl_down_sync(0xffffffff, im, o);
    }
    if (threadIdx.x == 0) vis[size_t(bl) * kChan + chan] = make_float2(re, im);
}

// ---------------------------------------------------------------------------
using cplx = std::complex<double>;

static void host_fft(std::vector<cplx>& a) {
    const size_t n = a.size();
    for (size_t i = 1, j = 0; i < n; ++i) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(a[i], a[j]);
    }
    for (size_t len = 2; len <= n; len <<= 1)
        for (size_t k = 0; k < len / 2; ++k) {
            const cplx w = std::polar(1.0, -2.0 * M_PI * double(k) / double(len));
            for (size_t i = 0; i < n; i += len) {
                const cplx u = a[i + k], v = a[i + k + len / 2] * w;
                a[i + k] = u + v;
                a[i + k + len / 2] = u - v;
            }
        }
}

static std::vector<float2> twiddles(int n) {
    std::vector<float2> t(n);
    for (int i = 0; i < n; ++i) t[i] = {float(std::cos(2 * M_PI * i / n)), float(-std::sin(2 * M_PI * i / n))};
    return t;
}

template <class T>
auto gpu_array(size_t n, const T* init = nullptr) {
    auto del = [](T* p) { cudaFree(p); };
    T* p = nullptr;
    CUDA_CHECK(cudaMalloc(&p, n * sizeof(T)));
    if (init) CUDA_CHECK(cudaMemcpy(p, init, n * sizeof(T), cudaMemcpyHostToDevice));
    return std::unique_ptr<T, decltype(del)>(p, del);
}

struct Error { double worst = 0, peak = 0; };
static Error compare(const std::vector<float2>& g, const std::vector<cplx>& r) {
    Error e;
    for (size_t i = 0; i < g.size(); ++i) {
        const double d = std::abs(cplx(g[i].x, g[i].y) - r[i]);
        if (!(d <= e.worst)) e.worst = d;
        e.peak = std::max(e.peak, std::abs(r[i]));
    }
    e.worst /= e.peak;
    return e;
}

int main(int argc, char** argv) {
    const int ants = argc > 1 ? std::clamp(std::atoi(argv[1]), 1, 12) : 5;
    const int frames = kFine, samples = (frames + kTaps - 1) * kChan;

    std::vector<float> proto(kChan * kTaps);
    for (int i = 0; i < kChan * kTaps; ++i) {                       // hamming windowed sinc
        const double x = (i + 0.5 - kChan * kTaps / 2) / kChan;
        proto[i] = float(std::sin(M_PI * x) / (M_PI * x) * (0.54 - 0.46 * std::cos(2 * M_PI * (i + 0.5) / (kChan * kTaps))));
    }
    std::mt19937 rng(1420);
    std::normal_distribution<double> noise(0, 12);
    std::vector<char2> x(size_t(ants) * samples);
    std::vector<cplx> sky(samples);
    for (int i = 0; i < samples; ++i) sky[i] = std::polar(30.0, 2 * M_PI * 0.1371 * i) + std::polar(18.0, -2 * M_PI * 0.3123 * i + 0.4);
    for (int a = 0; a < ants; ++a)
        for (int i = 0; i < samples; ++i) {
            const cplx s = sky[std::max(0, i - 3 * a)] + cplx(noise(rng), noise(rng));
            auto quant = [](double v) { return (signed char)std::clamp(std::lround(v), -127L, 127L); };
            x[size_t(a) * samples + i] = make_char2(quant(s.real()), quant(s.imag()));
        }
    std::vector<short2> baselines;
    for (short a = 0; a < ants; ++a)
        for (short b = 0; b <= a; ++b) baselines.push_back({a, b});
    const int nbl = int(baselines.size());

    const size_t total = size_t(ants) * frames * kChan;
    const auto tw64 = twiddles(kChan), tw1k = twiddles(kFine);
    auto d_x = gpu_array(x.size(), x.data());
    auto d_a = gpu_array<float2>(total), d_b = gpu_array<float2>(total);
    auto d_t64 = gpu_array(tw64.size(), tw64.data()), d_t1k = gpu_array(tw1k.size(), tw1k.data());
    auto d_bl = gpu_array(baselines.size(), baselines.data());
    auto d_vis = gpu_array<float2>(size_t(nbl) * kChan);
    CUDA_CHECK(cudaMemcpyToSymbol(c_proto, proto.data(), proto.size() * sizeof(float)));

    const auto t0 = std::chrono::high_resolution_clock::now();
    const int fpt = 12;
    pfb_fir<<<dim3((frames + 4 * fpt - 1) / (4 * fpt), ants), dim3(kChan, 4)>>>(d_x.get(), d_a.get(), samples, frames, fpt);
    fft_radix4<kChan, 12><<<(ants * frames + 11) / 12, dim3(kChan / 4, 12)>>>(d_a.get(), d_b.get(), d_t64.get(), ants * frames, 1.0f / 8);
    corner_turn<<<dim3(kChan / 32, frames / 32, ants), dim3(32, 8)>>>(d_b.get(), d_a.get(), frames, kChan);
    fft_radix4<kFine, 1><<<ants * kChan, dim3(kFine / 4, 1)>>>(d_a.get(), d_b.get(), d_t1k.get(), ants * kChan, 1.0f / 32);
    correlate<<<dim3(kChan, (nbl + 3) / 4), dim3(32, 4)>>>(d_b.get(), d_bl.get(), nbl, d_vis.get());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::high_resolution_clock::now() - t0).count();

    std::vector<float2> coarse(total), fine(total), vis(size_t(nbl) * kChan);
    CUDA_CHECK(cudaMemcpy(coarse.data(), d_a.get(), total * sizeof(float2), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(fine.data(), d_b.get(), total * sizeof(float2), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(vis.data(), d_vis.get(), vis.size() * sizeof(float2), cudaMemcpyDeviceToHost));

    // ---- reference chain in double precision
    std::vector<cplx> rc(total), rf(total), rv(vis.size());
    for (int a = 0; a < ants; ++a) {
        std::vector<cplx> frame(kChan), line(kFine);
        for (int t = 0; t < frames; ++t) {
            for (int m = 0; m < kChan; ++m) {
                frame[m] = 0;
                for (int p = 0; p < kTaps; ++p) {
                    const char2 c = x[size_t(a) * samples + (t + p) * kChan + m];
                    frame[m] += double(proto[p * kChan + m]) * cplx(c.x, c.y);
                }
            }
            host_fft(frame);
            for (int m = 0; m < kChan; ++m) rc[(size_t(a) * kChan + m) * frames + t] = frame[m] / 8.0;
        }
        for (int m = 0; m < kChan; ++m) {
            auto first = rc.begin() + (size_t(a) * kChan + m) * frames;
            std::copy(first, first + frames, line.begin());
            host_fft(line);
            std::transform(line.begin(), line.end(), rf.begin() + (size_t(a) * kChan + m) * frames, [](cplx v) { return v / 32.0; });
        }
    }
    for (int b = 0; b < nbl; ++b)
        for (int m = 0; m < kChan; ++m) {
            const cplx* pa = &rf[(size_t(baselines[b].x) * kChan + m) * kFine];
            const cplx* pb = &rf[(size_t(baselines[b].y) * kChan + m) * kFine];
            cplx s = 0;
            for (int f = 0; f < kFine; ++f) s += pa[f] * std::conj(pb[f]);
            rv[size_t(b) * kChan + m] = s;
        }

    const Error ec = compare(coarse, rc), ef = compare(fine, rf), ev = compare(vis, rv);
    std::printf("%d antennas, %d baselines, %.3f ms\ncoarse %.2e  fine %.2e  vis %.2e (relative to peak)\n", ants, nbl, ms, ec.worst, ef.worst, ev.worst);
    const bool ok = ec.worst < 1e-4 && ef.worst < 1e-4 && ev.worst < 1e-3;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
