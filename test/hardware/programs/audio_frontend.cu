// Audio front end: FIR bank, biquad cascades in two layouts, short-time FFT
// (Stockham radix-2 / radix-4 in shared memory), triangular band energies, polyphase resampler.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

static void must(cudaError_t e, int line) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(2);
}
#define MUST(x) must((x), __LINE__)

template <class T> struct CudaDelete { void operator()(T* p) const { cudaFree(p); } };
template <class T> using dev_ptr = std::unique_ptr<T[], CudaDelete<T>>;
template <class T> dev_ptr<T> dev_zero(size_t n) {
    T* p = nullptr;
    MUST(cudaMalloc(&p, n * sizeof(T))); MUST(cudaMemset(p, 0, n * sizeof(T)));
    return dev_ptr<T>(p);
}
template <class T> dev_ptr<T> dev_copy(const std::vector<T>& v) {
    auto p = dev_zero<T>(v.size());
    MUST(cudaMemcpy(p.get(), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> std::vector<T> host_copy(const dev_ptr<T>& p, size_t n) {
    std::vector<T> v(n);
    MUST(cudaMemcpy(v.data(), p.get(), n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

struct cplx { float re, im; };
__device__ __forceinline__ cplx operator+(cplx a, cplx b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ cplx operator-(cplx a, cplx b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ cplx operator*(cplx a, cplx b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ __forceinline__ cplx minus_i(cplx a) { return {a.im, -a.re}; }

constexpr int kTaps = 33, kFirChannels = 8, kFirBlock = 192;
__constant__ float c_fir[kFirChannels][kTaps];

__global__ void __launch_bounds__(kFirBlock) fir_bank(const float* __restrict__ x, int n, float* __restrict__ y) {
    __shared__ float s[kFirBlock + kTaps - 1];
    const int base = blockIdx.x * kFirBlock, ch = blockIdx.y;
    for (int i = threadIdx.x; i < kFirBlock + kTaps - 1; i += kFirBlock) {
        int g = base + i - (kTaps - 1);
        s[i] = g >= 0 && g < n ? x[g] : 0.f;
    }
    __syncthreads();
    float acc = 0.f;
#pragma unroll 11
    for (int k = 0; k < kTaps; ++k) acc = fmaf(c_fir[ch][k], s[threadIdx.x + kTaps - 1 - k], acc);
    const int i = base + threadIdx.x;
    if (i < n) y[(size_t)ch * n + i] = acc;
}

struct Biquad { float b0, b1, b2, a1, a2; };
template <int SECTIONS> struct Cascade { Biquad q[SECTIONS]; };

template <bool CHANNEL_MAJOR, int SECTIONS>
__global__ void biquad_bank(const float* x, float* y, const Cascade<SECTIONS>* coef, int channels, int n) {
    int ch = blockIdx.x * blockDim.x + threadIdx.x;
    if (ch >= channels) return;
    Cascade<SECTIONS> c = coef[ch];
    float z1[SECTIONS] = {}, z2[SECTIONS] = {};
    for (int i = 0; i < n; ++i) {
        const size_t at = CHANNEL_MAJOR ? (size_t)ch * n + i : (size_t)i * channels + ch;
        float v = x[at];
#pragma unroll
        for (int s = 0; s < SECTIONS; ++s) {
            float o = c.q[s].b0 * v + z1[s];
            z1[s] = c.q[s].b1 * v - c.q[s].a1 * o + z2[s];
            z2[s] = c.q[s].b2 * v - c.q[s].a2 * o;
            v = o;
        }
        y[at] = v;
    }
}

template <int R> __device__ __forceinline__ void butterfly(cplx (&v)[R]) {
    if constexpr (R == 2) {
        cplx a = v[0], b = v[1];
        v[0] = a + b; v[1] = a - b;
    } else {
        cplx s02 = v[0] + v[2], d02 = v[0] - v[2], s13 = v[1] + v[3], d13 = minus_i(v[1] - v[3]);
        v[0] = s02 + s13; v[1] = d02 + d13; v[2] = s02 - s13; v[3] = d02 - d13;
    }
}

// one frame per block, N/R threads
template <int N, int R>
__global__ void __launch_bounds__(N / R) stft_power(const float* __restrict__ x, int hop, float* __restrict__ power) {
    static_assert(R == 2 || R == 4, "radix");
    __shared__ cplx buf[N];
    constexpr int T = N / R;
    const int t = threadIdx.x;
    const float* frame = x + (size_t)blockIdx.x * hop;
    for (int i = t; i < N; i += T) buf[i] = {frame[i] * (0.5f - 0.5f * cospif(2.f * i / N)), 0.f};
    __syncthreads();
    for (int ns = 1; ns < N; ns *= R) {
        cplx v[R];
        const int k = t % ns;
        const float ang = -2.f * k / (ns * R);
#pragma unroll
        for (int r = 0; r < R; ++r) {
            float sn, cs;
            sincospif(ang * r, &sn, &cs);
            v[r] = buf[t + r * T] * cplx{cs, sn};
        }
        butterfly<R>(v);
        __syncthreads();
        const int dst = (t / ns) * ns * R + k;
#pragma unroll
        for (int r = 0; r < R; ++r) buf[dst + r * ns] = v[r];
        __syncthreads();
    }
    float* out = power + (size_t)blockIdx.x * (N / 2 + 1);
    for (int i = t; i <= N / 2; i += T) out[i] = buf[i].re * buf[i].re + buf[i].im * buf[i].im;
}

struct Band { short lo, mid, hi; };            // 6-byte records

__host__ __device__ inline float band_weight(const Band& b, int k) {
    return k < b.mid ? float(k - b.lo) / (b.mid - b.lo) : float(b.hi - k) / (b.hi - b.mid);
}

__global__ void band_energy(const float* power, const Band* bands, int nbands, int frames, int bins, float* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int frame = blockIdx.x;
    for (int b = warp.meta_group_rank(); b < nbands; b += warp.meta_group_size()) {
        const Band bd = bands[b];
        float e = 0.f;
        for (int k = bd.lo + warp.thread_rank(); k < bd.hi; k += 32) e += band_weight(bd, k) * power[(size_t)frame * bins + k];
        for (int o = 16; o; o >>= 1) e += warp.shfl_down(e, o);
        if (warp.thread_rank() == 0) out[(size_t)b * frames + frame] = logf(e + 1e-6f);   // transposed output
    }
}

template <int UP, int DOWN, int LEN>
__global__ void resample_poly(const short* __restrict__ pcm, int n, const float* __restrict__ h, float* __restrict__ y, int m) {
    for (int o = blockIdx.x * blockDim.x + threadIdx.x; o < m; o += gridDim.x * blockDim.x) {
        const long long pos = (long long)o * DOWN;
        const int phase = int(pos % UP), idx = int(pos / UP);
        float acc = 0.f;
        for (int k = 0; k < LEN; ++k) {
            int j = idx - k;
            if (j >= 0 && j < n) acc += h[phase + k * UP] * pcm[j];
        }
        y[o] = acc * (1.f / 32768.f);
    }
}

static void fft_ref(std::vector<std::complex<double>>& a) {
    const size_t n = a.size();
    if (n == 1) return;
    std::vector<std::complex<double>> e(n / 2), o(n / 2);
    for (size_t i = 0; i < n / 2; ++i) { e[i] = a[2 * i]; o[i] = a[2 * i + 1]; }
    fft_ref(e); fft_ref(o);
    for (size_t k = 0; k < n / 2; ++k) {
        auto t = std::polar(1.0, -2 * M_PI * double(k) / double(n)) * o[k];
        a[k] = e[k] + t; a[k + n / 2] = e[k] - t;
    }
}

template <int N, int R>
static bool run_stft(const std::vector<float>& x, const dev_ptr<float>& dx, int hop, dev_ptr<float>& dp, int& frames) {
    frames = (int(x.size()) - N) / hop + 1;
    const int bins = N / 2 + 1;
    dp = dev_zero<float>((size_t)frames * bins);
    stft_power<N, R><<<frames, N / R>>>(dx.get(), hop, dp.get());
    MUST(cudaGetLastError());
    auto p = host_copy(dp, (size_t)frames * bins);
    std::vector<std::complex<double>> a(N);
    for (int f = 0; f < frames; ++f) {
        for (int i = 0; i < N; ++i) a[i] = x[(size_t)f * hop + i] * (0.5 - 0.5 * std::cos(2 * M_PI * i / N));
        fft_ref(a);
        double peak = 0;
        for (int k = 0; k < bins; ++k) peak = std::max(peak, std::norm(a[k]));
        for (int k = 0; k < bins; ++k)
            if (!(std::fabs(p[(size_t)f * bins + k] - std::norm(a[k])) <= 1e-4 * peak)) { std::printf("stft<%d,%d> frame %d bin %d\n", N, R, f, k); return false; }
    }
    return true;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::max(4096, std::atoi(argv[1])) : 100003;
    std::vector<float> x(n);
    unsigned seed = 7;
    auto noise = [&] { seed = seed * 1103515245u + 12345u; return float(int(seed >> 16 & 0x7fff) - 16384) / 16384.f; };
    for (int i = 0; i < n; ++i) x[i] = 0.6f * sinf(0.05f * (i % 5000)) + 0.3f * sinf(0.7f * (i % 3331)) + 0.1f * noise();
    bool ok = true;
    auto dx = dev_copy(x);

    float fir[kFirChannels][kTaps];
    for (int c = 0; c < kFirChannels; ++c) for (int k = 0; k < kTaps; ++k)
        fir[c][k] = cosf(0.3f * (c + 1) * (k - kTaps / 2)) / kTaps;
    MUST(cudaMemcpyToSymbol(c_fir, fir, sizeof fir));
    auto dy = dev_zero<float>((size_t)n * kFirChannels);
    fir_bank<<<dim3((n + kFirBlock - 1) / kFirBlock, kFirChannels), kFirBlock>>>(dx.get(), n, dy.get());
    MUST(cudaGetLastError());
    auto y = host_copy(dy, (size_t)n * kFirChannels);
    for (int c = 0; ok && c < kFirChannels; ++c) for (int i = 0; ok && i < n; ++i) {
        double a = 0;
        for (int k = 0; k < kTaps && k <= i; ++k) a += double(fir[c][k]) * x[i - k];
        if (!(std::fabs(a - y[(size_t)c * n + i]) < 1e-4)) { std::printf("fir %d %d\n", c, i); ok = false; }
    }

    constexpr int CH = 500, LEN = 700, SEC = 2;
    std::vector<Cascade<SEC>> cas(CH);
    for (int c = 0; c < CH; ++c) for (int s = 0; s < SEC; ++s) {
        float r = 0.6f + 0.3f * s, th = 0.1f + 2.5f * c / CH;
        cas[c].q[s] = {0.2f, 0.1f, -0.05f, -2 * r * cosf(th), r * r};
    }
    std::vector<float> xm((size_t)CH * LEN), xt((size_t)CH * LEN), ref((size_t)CH * LEN);
    for (int c = 0; c < CH; ++c) {
        double z1[SEC] = {}, z2[SEC] = {};
        for (int i = 0; i < LEN; ++i) {
            float v0 = noise(); double v = v0;
            xm[(size_t)c * LEN + i] = xt[(size_t)i * CH + c] = v0;
            for (int s = 0; s < SEC; ++s) {
                const Biquad& b = cas[c].q[s];
                double o = b.b0 * v + z1[s]; z1[s] = b.b1 * v - b.a1 * o + z2[s]; z2[s] = b.b2 * v - b.a2 * o; v = o;
            }
            ref[(size_t)c * LEN + i] = float(v);
        }
    }
    auto dc = dev_copy(cas); auto dm = dev_copy(xm), dt = dev_copy(xt);
    auto om = dev_zero<float>(xm.size()), ot = dev_zero<float>(xt.size());
    biquad_bank<true, SEC><<<(CH + 63) / 64, 64>>>(dm.get(), om.get(), dc.get(), CH, LEN);
    biquad_bank<false, SEC><<<(CH + 63) / 64, 64>>>(dt.get(), ot.get(), dc.get(), CH, LEN);
    MUST(cudaGetLastError());
    auto hm = host_copy(om, xm.size()), ht = host_copy(ot, xt.size());
    for (int c = 0; ok && c < CH; ++c) for (int i = 0; ok && i < LEN; ++i) {
        float r = ref[(size_t)c * LEN + i];
        const float tol = 2e-3f * (1.f + std::fabs(r));
        if (!(std::fabs(hm[(size_t)c * LEN + i] - r) < tol && std::fabs(ht[(size_t)i * CH + c] - r) < tol)) { std::printf("iir %d %d\n", c, i); ok = false; }
    }

    dev_ptr<float> p4, p2; int f4 = 0, f2 = 0;
    ok &= run_stft<1024, 4>(x, dx, 256, p4, f4);
    ok &= run_stft<512, 2>(x, dx, 333, p2, f2);

    constexpr int NB = 40, BINS = 513;
    std::vector<Band> bands(NB);
    for (int b = 0; b < NB; ++b) { short lo = short(b * (b + 8) / 4); bands[b] = {lo, short(lo + 3 + b / 4), short(lo + 7 + b / 2)}; }
    auto db = dev_copy(bands); auto de = dev_zero<float>((size_t)NB * f4);
    band_energy<<<f4, 128>>>(p4.get(), db.get(), NB, f4, BINS, de.get());
    MUST(cudaGetLastError());
    auto e = host_copy(de, (size_t)NB * f4); auto pw = host_copy(p4, (size_t)f4 * BINS);
    for (int f = 0; ok && f < f4; ++f) for (int b = 0; ok && b < NB; ++b) {
        double a = 0;
        for (int k = bands[b].lo; k < bands[b].hi; ++k) a += double(band_weight(bands[b], k)) * pw[(size_t)f * BINS + k];
        if (!(std::fabs(std::log(a + 1e-6) - e[(size_t)b * f4 + f]) < 1e-3)) { std::printf("band %d frame %d\n", b, f); ok = false; }
    }

    constexpr int UP = 3, DOWN = 2, PL = 12;
    std::vector<short> pcm(n); std::vector<float> h(UP * PL);
    for (int i = 0; i < n; ++i) pcm[i] = short(30000 * x[i] / 1.1f);
    for (int i = 0; i < UP * PL; ++i) { double u = (i - UP * PL / 2 + 0.5) / UP; h[i] = float(std::sin(M_PI * u) / (M_PI * u)); }
    const int m = int((long long)n * UP / DOWN);
    auto dpc = dev_copy(pcm); auto dh = dev_copy(h); auto dr = dev_zero<float>(m);
    resample_poly<UP, DOWN, PL><<<200, 256>>>(dpc.get(), n, dh.get(), dr.get(), m);
    MUST(cudaGetLastError());
    auto hr = host_copy(dr, m);
    for (int o = 0; ok && o < m; ++o) {
        double a = 0; long long pos = (long long)o * DOWN;
        for (int k = 0; k < PL; ++k) { long long j = pos / UP - k; if (j >= 0 && j < n) a += double(h[pos % UP + k * UP]) * pcm[j]; }
        if (!(std::fabs(a / 32768 - hr[o]) < 1e-4)) { std::printf("resample %d\n", o); ok = false; }
    }
    std::printf("%d samples, %d+%d frames\n%s\n", n, f4, f2, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
