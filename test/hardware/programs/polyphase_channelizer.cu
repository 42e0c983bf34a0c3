// polyphase_channelizer.cu
//
// 64-channel critically sampled polyphase filter bank followed by power detection,
// plus a decimate-by-4 FIR of the raw stream and one long 1024-point FFT
// used as a "zoom" on the first block.  Real input, complex output.
//
// Matlab prototype:
//    h  = fir1(M*T-1, 1/M);
//    y  = fft(squeeze(sum(reshape(x.*h, M, T), 2)));
#include <cuda_runtime.h>
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

static constexpr int M = 64;        // channels
static constexpr int T = 8;         // taps per branch
static constexpr int NFFT = 1024;   // zoom FFT
static constexpr int DEC = 4;
static constexpr int NTAP = 41;     // decimation filter

typedef float2 cf32;

__device__ __forceinline__ cf32 cadd(cf32 a, cf32 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ cf32 csub(cf32 a, cf32 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ cf32 cmul(cf32 a, cf32 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ cf32 cmulmj(cf32 a)       { return make_float2(a.y, -a.x); }   // * -j
__device__ __forceinline__ cf32 twid(float turns)
{
    float s, c;
    sincospif(-2.0f * turns, &s, &c);
    return make_float2(c, s);
}

__constant__ float c_dec[NTAP];

// filter branch outputs: branch[frame*M + ch] = sum_t h[t*M+ch] * x[(frame+t)*M+ch]
__global__ void pfb_branches(const float* __restrict__ x, const float* __restrict__ h, float* __restrict__ branch, int nframes)
{
    const int ch = threadIdx.x;                                  // 0..63
    const int frame = blockIdx.x * blockDim.y + threadIdx.y;
    if (frame >= nframes) return;
    float acc = 0.0f;
#pragma unroll
    for (int t = 0; t < T; ++t)
        acc = fmaf(h[t * M + ch], x[(frame + t) * M + ch], acc);
    branch[frame * M + ch] = acc;
}

// 64-point Stockham, radix 2. 32 threads per transform, blockDim.y transforms per block.
template <int FPB>
__global__ void fft64_frames(const float* __restrict__ branch, cf32* __restrict__ spec, int nframes)
{
    __shared__ cf32 buf[2][FPB][M];
    const int j = threadIdx.x, ty = threadIdx.y;
    const int frame = blockIdx.x * FPB + ty;
    const bool live = frame < nframes;

    buf[0][ty][j]      = make_float2(live ? branch[frame * M + j] : 0.0f, 0.0f);
    buf[0][ty][j + 32] = make_float2(live ? branch[frame * M + j + 32] : 0.0f, 0.0f);
    __syncthreads();

    int src = 0;
    for (int ns = 1; ns < M; ns <<= 1) {
        const int k = j & (ns - 1);
        const cf32 a = buf[src][ty][j];
        const cf32 b = cmul(buf[src][ty][j + M / 2], twid(float(k) / float(2 * ns)));
        const int dst = ((j - k) << 1) + k;
        buf[src ^ 1][ty][dst]      = cadd(a, b);
        buf[src ^ 1][ty][dst + ns] = csub(a, b);
        src ^= 1;
        __syncthreads();
    }
    if (live) {
        spec[frame * M + j]      = buf[src][ty][j];
        spec[frame * M + j + 32] = buf[src][ty][j + 32];
    }
}

// integrate power over `nint` frames; output is channel-major so that each channel is a time series
__global__ void detect_integrate(const cf32* __restrict__ spec, float* __restrict__ power, int nint, int nout)
{
    const int ch = threadIdx.x;
    const int o = blockIdx.x * blockDim.y + threadIdx.y;
    if (o >= nout) return;
    float p = 0.0f;
    for (int i = 0; i < nint; ++i) {
        const cf32 v = spec[(o * nint + i) * M + ch];
        p += v.x * v.x + v.y * v.y;
    }
    power[ch * nout + o] = p;
}

// y[n] = sum_k c[k] x[4n + k]; input window of the block staged in shared memory
__global__ void fir_decimate(const float* __restrict__ x, float* __restrict__ y, int nout)
{
    extern __shared__ float win[];
    const int span = (blockDim.x - 1) * DEC + NTAP;
    const int first = blockIdx.x * blockDim.x * DEC;
    const int total = (nout - 1) * DEC + NTAP;
    for (int i = threadIdx.x; i < span; i += blockDim.x)
        win[i] = first + i < total ? x[first + i] : 0.0f;
    __syncthreads();
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < nout) {
        float s = 0.0f;
        for (int k = 0; k < NTAP; ++k) s += c_dec[k] * win[threadIdx.x * DEC + k];
        y[n] = s;
    }
}

// 1024-point radix-4 Stockham, 256 threads, one exchange buffer (real and imaginary planes)
__global__ void __launch_bounds__(256) fft1024_radix4(const float* __restrict__ x, cf32* __restrict__ out)
{
    __shared__ float re[NFFT], im[NFFT];
    const int j = threadIdx.x;
    cf32 v[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) v[r] = make_float2(x[blockIdx.x * NFFT + j + r * 256], 0.0f);

    for (int ns = 1; ns < NFFT; ns *= 4) {
        const int k = j % ns;
        if (ns > 1) {
#pragma unroll
            for (int r = 0; r < 4; ++r) v[r] = make_float2(re[j + r * 256], im[j + r * 256]);
            __syncthreads();
        }
#pragma unroll
        for (int r = 1; r < 4; ++r) v[r] = cmul(v[r], twid(float(k * r) / float(4 * ns)));
        const cf32 s02 = cadd(v[0], v[2]), d02 = csub(v[0], v[2]), s13 = cadd(v[1], v[3]), d13 = cmulmj(csub(v[1], v[3]));
        const cf32 o[4] = { cadd(s02, s13), cadd(d02, d13), csub(s02, s13), csub(d02, d13) };
        const int base = (j / ns) * ns * 4 + k;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            re[base + r * ns] = o[r].x;
            im[base + r * ns] = o[r].y;
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) out[blockIdx.x * NFFT + j + r * 256] = make_float2(re[j + r * 256], im[j + r * 256]);
}

static void must(cudaError_t e) { if (e != cudaSuccess) { std::printf("cuda: %s\nFAIL\n", cudaGetErrorString(e)); std::exit(1); } }

int main()
{
    const int nframes = 1237, nsamp = (nframes + T - 1) * M;
    const int nint = 16, nout = nframes / nint;
    const int ndec = (nsamp - NTAP) / DEC + 1;
    const int nzoom = 5;

    std::vector<float> x(nsamp), h(M * T), dec(NTAP);
    unsigned lfsr = 0xACE1u;
    for (int n = 0; n < nsamp; ++n) {
        lfsr = (lfsr >> 1) ^ (-(lfsr & 1u) & 0xB400u);
        x[n] = 0.8f * std::sin(2 * M_PI * 0.123 * n) + 0.3f * std::cos(2 * M_PI * 0.0407 * n) + (lfsr & 255) / 1024.0f - 0.125f;
    }
    for (int i = 0; i < M * T; ++i) {
        const double t = (i - 0.5 * (M * T - 1)) / M, w = 0.54 - 0.46 * std::cos(2 * M_PI * i / (M * T - 1));
        h[i] = float(w * (std::fabs(t) < 1e-9 ? 1.0 : std::sin(M_PI * t) / (M_PI * t)));
    }
    for (int k = 0; k < NTAP; ++k) {
        const double t = (k - 20) / double(DEC);
        dec[k] = float((t == 0 ? 1.0 : std::sin(M_PI * t) / (M_PI * t)) * (0.5 + 0.5 * std::cos(M_PI * (k - 20) / 21.0)) / DEC);
    }

    float *d_x, *d_h, *d_branch, *d_power, *d_dec;
    cf32 *d_spec, *d_zoom;
    must(cudaMalloc(&d_x, nsamp * sizeof(float)));
    must(cudaMalloc(&d_h, h.size() * sizeof(float)));
    must(cudaMalloc(&d_branch, nframes * M * sizeof(float)));
    must(cudaMalloc(&d_spec, nframes * M * sizeof(cf32)));
    must(cudaMalloc(&d_power, nout * M * sizeof(float)));
    must(cudaMalloc(&d_dec, ndec * sizeof(float)));
    must(cudaMalloc(&d_zoom, nzoom * NFFT * sizeof(cf32)));
    must(cudaMemcpy(d_x, x.data(), nsamp * sizeof(float), cudaMemcpyHostToDevice));
    must(cudaMemcpy(d_h, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
    must(cudaMemcpyToSymbol(c_dec, dec.data(), sizeof(float) * NTAP));

    pfb_branches<<<(nframes + 3) / 4, dim3(M, 4)>>>(d_x, d_h, d_branch, nframes);
    fft64_frames<6><<<(nframes + 5) / 6, dim3(32, 6)>>>(d_branch, d_spec, nframes);
    detect_integrate<<<(nout + 2) / 3, dim3(M, 3)>>>(d_spec, d_power, nint, nout);
    const int bs = 192;
    fir_decimate<<<(ndec + bs - 1) / bs, bs, ((bs - 1) * DEC + NTAP) * sizeof(float)>>>(d_x, d_dec, ndec);
    fft1024_radix4<<<nzoom, 256>>>(d_x, d_zoom);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());

    std::vector<float> power(nout * M), ydec(ndec);
    std::vector<std::complex<float>> spec(nframes * M), zoom(nzoom * NFFT);
    must(cudaMemcpy(power.data(), d_power, power.size() * sizeof(float), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(ydec.data(), d_dec, ydec.size() * sizeof(float), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(spec.data(), d_spec, spec.size() * sizeof(cf32), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(zoom.data(), d_zoom, zoom.size() * sizeof(cf32), cudaMemcpyDeviceToHost));

    double e_spec = 0, e_pow = 0, e_dec = 0, e_zoom = 0;
    std::vector<std::complex<double>> w(NFFT);
    for (int i = 0; i < NFFT; ++i) w[i] = std::polar(1.0, -2 * M_PI * i / NFFT);
    for (int f = 0; f < nframes; ++f) {
        double b[M];
        for (int c = 0; c < M; ++c) {
            b[c] = 0;
            for (int t = 0; t < T; ++t) b[c] += double(h[t * M + c]) * x[(f + t) * M + c];
        }
        for (int k = 0; k < M; ++k) {
            std::complex<double> s = 0;
            for (int c = 0; c < M; ++c) s += b[c] * w[(k * c % M) * (NFFT / M)];
            e_spec = std::fmax(e_spec, std::abs(s - std::complex<double>(spec[f * M + k])));
        }
    }
    for (int c = 0; c < M; ++c) for (int o = 0; o < nout; ++o) {
        double p = 0;
        for (int i = 0; i < nint; ++i) p += std::norm(std::complex<double>(spec[(o * nint + i) * M + c]));
        e_pow = std::fmax(e_pow, std::fabs(p - power[c * nout + o]) / (1 + p));
    }
    for (int n = 0; n < ndec; ++n) {
        double s = 0;
        for (int k = 0; k < NTAP; ++k) s += double(dec[k]) * x[n * DEC + k];
        e_dec = std::fmax(e_dec, std::fabs(s - ydec[n]));
    }
    for (int z = 0; z < nzoom; ++z) for (int k = 0; k < NFFT; ++k) {
        std::complex<double> s = 0;
        for (int n = 0; n < NFFT; ++n) s += double(x[z * NFFT + n]) * w[(k * n) & (NFFT - 1)];
        e_zoom = std::fmax(e_zoom, std::abs(s - std::complex<double>(zoom[z * NFFT + k])));
    }
    std::printf("spec %.2e  power %.2e  dec %.2e  zoom %.2e\n", e_spec, e_pow, e_dec, e_zoom);
    const bool ok = e_spec < 1e-3 && e_pow < 1e-4 && e_dec < 1e-4 && e_zoom < 5e-3;

    cudaFree(d_x); cudaFree(d_h); cudaFree(d_branch); cudaFree(d_spec); cudaFree(d_power); cudaFree(d_dec); cudaFree(d_zoom);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
