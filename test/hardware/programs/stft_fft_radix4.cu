// Audio: Hann-windowed STFT frames, 1024-point radix-4 Stockham FFT in shared memory, mel filterbank, log compression, spectral flux.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <complex>
#include <vector>
constexpr int NF = 1024, HOP = 384, MEL = 40, NT = NF / 4;

__host__ __device__ inline float2 cadd(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__host__ __device__ inline float2 csub(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__host__ __device__ inline float2 cmul(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

__global__ void synth(float* pcm, int n, float sr) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float t = i / sr, f = 220.f + 400.f * t;
    unsigned h = i * 2654435761u; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
    pcm[i] = 0.6f * sinpif(2.f * f * t) + 0.3f * sinpif(2.f * 3000.f * t) + 0.02f * ((h & 0xffff) / 32768.f - 1.f);
}
__global__ void make_twiddles(float2* tw) {
    int k = threadIdx.x + blockIdx.x * blockDim.x;
    if (k < NF) { float s, c; sincospif(-2.f * k / NF, &s, &c); tw[k] = {c, s}; }
}

// one frame per block of 256 threads, 5 radix-4 passes, ping-pong buffers
__global__ void stft_power(const float* __restrict__ pcm, const float2* __restrict__ tw, float* __restrict__ pw, int frames) {
    __shared__ float2 buf[2][NF];
    int f = blockIdx.x, t = threadIdx.x;
    for (int i = t; i < NF; i += NT) {
        float w = 0.5f - 0.5f * cospif(2.f * i / NF);
        buf[0][i] = {pcm[f * HOP + i] * w, 0.f};
    }
    __syncthreads();
    int src = 0;
    for (int l = 1; l < NF; l *= 4) {
        int j = t / l, k = t % l;                    // l = current sub-transform length
        (void)j;
        float2 a = buf[src][t], b = buf[src][t + NT], c = buf[src][t + 2 * NT], d = buf[src][t + 3 * NT];
        int step = NF / (4 * l);
        b = cmul(b, tw[k * step]); c = cmul(c, tw[2 * k * step]); d = cmul(d, tw[3 * k * step]);
        float2 s0 = cadd(a, c), s1 = csub(a, c), s2 = cadd(b, d), s3 = csub(b, d);
        float2 m = {s3.y, -s3.x};                    // -i * s3
        int o = (t / l) * 4 * l + k;
        buf[src ^ 1][o] = cadd(s0, s2);
        buf[src ^ 1][o + l] = cadd(s1, m);
        buf[src ^ 1][o + 2 * l] = csub(s0, s2);
        buf[src ^ 1][o + 3 * l] = csub(s1, m);
        src ^= 1;
        __syncthreads();
    }
    for (int i = t; i <= NF / 2; i += NT) {
        float2 z = buf[src][i];
        pw[(size_t)f * (NF / 2 + 1) + i] = z.x * z.x + z.y * z.y;
    }
}

__constant__ int c_edge[MEL + 2];
__global__ void mel_bands(const float* __restrict__ pw, float* __restrict__ mel, int frames) {   // 2-D block: x = band, y = frame
    int m = threadIdx.x, f = blockIdx.x * blockDim.y + threadIdx.y;
    if (f >= frames) return;
    int a = c_edge[m], b = c_edge[m + 1], c = c_edge[m + 2];
    const float* p = pw + (size_t)f * (NF / 2 + 1);
    float s = 0;
    for (int k = a + 1; k <= b; ++k) s += p[k] * float(k - a) / float(b - a);
    for (int k = b + 1; k < c; ++k) s += p[k] * float(c - k) / float(c - b);
    mel[f * MEL + m] = log10f(s + 1e-6f);
}
__global__ void flux(const float* mel, float* out, int frames) {     // warp per frame
    int f = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), l = threadIdx.x & 31;
    if (f >= frames) return;
    float s = 0;
    if (f) for (int m = l; m < MEL; m += 32) s += fmaxf(0.f, mel[f * MEL + m] - mel[(f - 1) * MEL + m]);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (!l) out[f] = s;
}

static void fft(std::vector<std::complex<double>>& a) {
    int n = a.size();
    for (int i = 1, j = 0; i < n; ++i) { int b = n >> 1; for (; j & b; b >>= 1) j ^= b; j ^= b; if (i < j) std::swap(a[i], a[j]); }
    for (int len = 2; len <= n; len <<= 1) for (int i = 0; i < n; i += len) for (int k = 0; k < len / 2; ++k) {
        auto w = std::polar(1.0, -2 * M_PI * k / len), u = a[i + k], v = a[i + k + len / 2] * w;
        a[i + k] = u + v; a[i + k + len / 2] = u - v;
    }
}
int main() {
    const float sr = 22050; const int frames = 501, n = (frames - 1) * HOP + NF;
    int edge[MEL + 2];
    auto mel = [](double f) { return 2595 * log10(1 + f / 700); };
    for (int i = 0; i < MEL + 2; ++i) {
        double m = mel(60) + (mel(10000) - mel(60)) * i / (MEL + 1), f = 700 * (pow(10, m / 2595) - 1);
        edge[i] = (int)(f * NF / sr);
        if (i && edge[i] <= edge[i - 1]) edge[i] = edge[i - 1] + 1;
    }
    cudaMemcpyToSymbol(c_edge, edge, sizeof edge);
    float *pcm, *pw, *dm, *df; float2* tw;
    cudaMalloc(&pcm, n * 4); cudaMalloc(&pw, frames * (NF / 2 + 1) * 4); cudaMalloc(&dm, frames * MEL * 4); cudaMalloc(&df, frames * 4); cudaMalloc(&tw, NF * 8);
    synth<<<(n + 255) / 256, 256>>>(pcm, n, sr);
    make_twiddles<<<4, 256>>>(tw);
    stft_power<<<frames, NT>>>(pcm, tw, pw, frames);
    mel_bands<<<(frames + 5) / 6, dim3(MEL, 6)>>>(pw, dm, frames);
    flux<<<(frames + 3) / 4, 128>>>(dm, df, frames);
    std::vector<float> hp(n), hw(frames * (NF / 2 + 1)), hm(frames * MEL), hf(frames);
    cudaMemcpy(hp.data(), pcm, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hw.data(), pw, hw.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hm.data(), dm, hm.size() * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hf.data(), df, frames * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0; double peak = 0;
    for (int f = 0; f < frames; f += 5) {
        std::vector<std::complex<double>> a(NF);
        for (int i = 0; i < NF; ++i) a[i] = hp[f * HOP + i] * (0.5 - 0.5 * cos(2 * M_PI * i / NF));
        fft(a);
        for (int k = 0; k <= NF / 2; ++k) { double p = std::norm(a[k]); peak = fmax(peak, p); if (fabs(p - hw[f * (NF / 2 + 1) + k]) > 1e-3 * p + 0.05) ++bad; }
    }
    for (int f = 0; f < frames; ++f) {
        double fl = 0;
        for (int m = 0; m < MEL; ++m) {
            double s = 0;
            for (int k = edge[m]; k < edge[m + 2]; ++k) { double w = k <= edge[m + 1] ? double(k - edge[m]) / (edge[m + 1] - edge[m]) : double(edge[m + 2] - k) / (edge[m + 2] - edge[m + 1]); s += w * hw[f * (NF / 2 + 1) + k]; }
            if (fabs(log10(s + 1e-6) - hm[f * MEL + m]) > 1e-3) ++bad;
            if (f) fl += fmax(0.0, (double)hm[f * MEL + m] - hm[(f - 1) * MEL + m]);
        }
        if (fabs(fl - hf[f]) > 1e-3) ++bad;
    }
    printf("peak %g bad %d\n%s\n", peak, bad, bad || peak < 100 ? "FAIL" : "PASS");
    return bad || peak < 100;
}
