// Log-mel spectrogram: windowed frames -> radix-4 Stockham FFT in shared memory -> power ->
// triangular mel filters -> [mel][frame] layout.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CU(stmt) if (cudaError_t rc = (stmt); rc != cudaSuccess) { std::printf("%s -> %s\n", #stmt, cudaGetErrorString(rc)); return 9; }

static constexpr int N = 1024;        // points, 4^5
static constexpr int HOP = 256;
static constexpr int BINS = N / 2 + 1;
static constexpr int MELS = 40;

__constant__ float kWindow[N];
__constant__ int kMelEdge[MELS + 2];

struct cf {
    float re, im;
};
__device__ __forceinline__ cf operator+(cf a, cf b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ cf operator-(cf a, cf b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ cf operator*(cf a, cf b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ __forceinline__ cf mulNegI(cf a) { return {a.im, -a.re}; }

__device__ __forceinline__ void dft4(cf (&v)[4]) {
    const cf a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = mulNegI(v[1] - v[3]);
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
}

template <int NS>
__device__ __forceinline__ void stage(cf (&v)[4], float* sre, float* sim, int j) {
    const int k = j & (NS - 1);
    if constexpr (NS > 1) {
        float s, c;
        sincospif(-2.0f * (float)k / (float)(NS * 4), &s, &c);
        const cf w{c, s}, w2 = w * w;
        v[1] = v[1] * w;
        v[2] = v[2] * w2;
        v[3] = v[3] * (w2 * w);
    }
    dft4(v);
    const int base = ((j / NS) * NS * 4) + k;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        sre[base + r * NS] = v[r].re;
        sim[base + r * NS] = v[r].im;
    }
    __syncthreads();
    if constexpr (NS * 4 < N) {
#pragma unroll
        for (int r = 0; r < 4; ++r) v[r] = {sre[j + r * (N / 4)], sim[j + r * (N / 4)]};
        __syncthreads();
    }
}

// one frame per block, 256 threads, four points each
__global__ void __launch_bounds__(N / 4)
framePowerSpectrum(const float* __restrict__ pcm, float* __restrict__ power) {
    __shared__ float sre[N], sim[N];
    const int j = threadIdx.x;
    const float* frame = pcm + (size_t)blockIdx.x * HOP;
    cf v[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int i = j + r * (N / 4);
        v[r] = {frame[i] * kWindow[i], 0.f};
    }
    stage<1>(v, sre, sim, j);
    stage<4>(v, sre, sim, j);
    stage<16>(v, sre, sim, j);
    stage<64>(v, sre, sim, j);
    stage<256>(v, sre, sim, j);
    for (int b = j; b < BINS; b += N / 4)
        power[(size_t)blockIdx.x * BINS + b] = sre[b] * sre[b] + sim[b] * sim[b];
}

// thread per (mel, frame): x walks mels, every thread loops over its own band
__global__ void melBands(const float* __restrict__ power, float* __restrict__ mel, int frames) {
    const int m = threadIdx.x;
    const int f = blockIdx.x * blockDim.y + threadIdx.y;
    if (m >= MELS || f >= frames) return;
    const int lo = kMelEdge[m], mid = kMelEdge[m + 1], hi = kMelEdge[m + 2];
    const float up = 1.f / (mid - lo), down = 1.f / (hi - mid);
    float acc = 0.f;
    for (int b = lo; b < hi; ++b) {
        const float wgt = b < mid ? (b - lo) * up : (hi - b) * down;
        acc += wgt * power[(size_t)f * BINS + b];
    }
    mel[f * MELS + m] = __logf(acc + 1e-4f);
}

// [frames][40] -> [40][frames], rectangular tile
__global__ void transposeMel(const float* __restrict__ in, float* __restrict__ out, int frames) {
    __shared__ float tile[32][MELS + 1];
    const int f0 = blockIdx.x * 32;
    for (int i = threadIdx.x; i < 32 * MELS; i += blockDim.x) {
        const int f = i / MELS, m = i % MELS;
        if (f0 + f < frames) tile[f][m] = in[f0 * MELS + i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * MELS; i += blockDim.x) {
        const int m = i >> 5, f = i & 31;
        if (f0 + f < frames) out[m * frames + f0 + f] = tile[f][m];
    }
}

static void fftRef(std::vector<std::complex<double>>& a) {
    const int n = (int)a.size();
    for (int i = 1, j = 0; i < n; ++i) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(a[i], a[j]);
    }
    for (int len = 2; len <= n; len <<= 1) {
        const std::complex<double> wl = std::polar(1.0, -2.0 * M_PI / len);
        for (int i = 0; i < n; i += len) {
            std::complex<double> w = 1.0;
            for (int k = 0; k < len / 2; ++k, w *= wl) {
                const auto u = a[i + k], t = a[i + k + len / 2] * w;
                a[i + k] = u + t;
                a[i + k + len / 2] = u - t;
            }
        }
    }
}

int main() {
    const int frames = 1000;
    const size_t samples = (size_t)frames * HOP + N;
    std::vector<float> pcm(samples), win(N);
    for (size_t i = 0; i < samples; ++i)
        pcm[i] = 0.6f * std::sin(0.03f * (float)(i % 6000)) + 0.3f * (float)((i * 7919) % 1013) / 1013.f - 0.15f;
    for (int i = 0; i < N; ++i) win[i] = 0.5f - 0.5f * std::cos(2.0f * (float)M_PI * i / N);
    int edge[MELS + 2];
    for (int m = 0; m < MELS + 2; ++m) {
        const double mmax = 2595.0 * std::log10(1.0 + 8000.0 / 700.0);
        const double hz = 700.0 * (std::pow(10.0, mmax * m / (MELS + 1) / 2595.0) - 1.0);
        edge[m] = std::min((int)(hz / 8000.0 * (BINS - 1)), BINS - 1);
        if (m && edge[m] <= edge[m - 1]) edge[m] = edge[m - 1] + 1;
    }

    float *dPcm, *dPow, *dMel, *dOut;
    CU(cudaMalloc(&dPcm, samples * sizeof(float)));
    CU(cudaMalloc(&dPow, (size_t)frames * BINS * sizeof(float)));
    CU(cudaMalloc(&dMel, frames * MELS * sizeof(float)));
    CU(cudaMalloc(&dOut, frames * MELS * sizeof(float)));
    CU(cudaMemcpy(dPcm, pcm.data(), samples * sizeof(float), cudaMemcpyHostToDevice));
    CU(cudaMemcpyToSymbol(kWindow, win.data(), sizeof(float) * N));
    CU(cudaMemcpyToSymbol(kMelEdge, edge, sizeof(edge)));

    framePowerSpectrum<<<frames, N / 4>>>(dPcm, dPow);
    melBands<<<(frames + 3) / 4, dim3(64, 4)>>>(dPow, dMel, frames);
    transposeMel<<<(frames + 31) / 32, 256>>>(dMel, dOut, frames);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    std::vector<float> out(frames * MELS);
    CU(cudaMemcpy(out.data(), dOut, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int bad = 0;
    double worst = 0;
    std::vector<std::complex<double>> a(N);
    for (int f = 0; f < frames; ++f) {
        for (int i = 0; i < N; ++i) a[i] = (double)pcm[(size_t)f * HOP + i] * win[i];
        fftRef(a);
        for (int m = 0; m < MELS; ++m) {
            double acc = 0;
            for (int b = edge[m]; b < edge[m + 2]; ++b) {
                const double w = b < edge[m + 1] ? (double)(b - edge[m]) / (edge[m + 1] - edge[m])
                                                 : (double)(edge[m + 2] - b) / (edge[m + 2] - edge[m + 1]);
                acc += w * std::norm(a[b]);
            }
            const double e = std::fabs(std::log(acc + 1e-4) - out[m * frames + f]);
            worst = std::max(worst, e);
            if (!(e < 2e-2)) ++bad;
        }
    }
    cudaFree(dPcm); cudaFree(dPow); cudaFree(dMel); cudaFree(dOut);
    if (bad) { std::printf("FAIL %d worst %g\n", bad, worst); return 1; }
    std::printf("OK worst %g\n", worst);
    return 0;
}
