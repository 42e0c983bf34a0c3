// OFDM burst receiver: CP removal + 64-pt FFT, LS channel estimate, equaliser / soft demapper with
// deinterleaver, K=7 (133,171) Viterbi decoder.  Everything single precision, frames in parallel.
#include <cuda_runtime.h>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

typedef std::complex<float> cf;

enum {
    NFFT = 64,
    NCP = 16,
    NDATA = 48,
    NPILOT = 2,
    NSYM = 24,
    SYMS = NPILOT + NSYM,
    BURST = SYMS * (NFFT + NCP),
    CBITS_SYM = 2 * NDATA,
    CBITS = CBITS_SYM * NSYM,
    IBITS = CBITS / 2,
    FRAMES = 96
};

#define CUDA_OK(x)                                                                    \
    if (cudaError_t rc_ = (x)) {                                                      \
        std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(rc_));         \
        std::exit(1);                                                                 \
    }

__host__ __device__ inline int carrier(int k)   // data index -> fft bin (skips DC and guard bins)
{
    return k < 24 ? 1 + k : NFFT - NDATA + k;
}

__host__ __device__ inline int interleave(int k)
{
    return (k % 16) * 6 + k / 16;
}

__host__ __device__ inline float pilotSign(int bin)
{
    return ((bin * 7 + 3) >> 1) & 1 ? -1.0f : 1.0f;
}

// grid (SYMS, FRAMES), 32 threads, radix-2 DIT in shared memory
__global__ void fft64_kernel(const float2 *rx, float2 *freq)
{
    __shared__ float re[NFFT];
    __shared__ float im[NFFT];
    const float2 *sym = rx + blockIdx.y * BURST + blockIdx.x * (NFFT + NCP) + NCP;
    int t = threadIdx.x;
    for (int h = 0; h < 2; h++) {
        int i = t + 32 * h;
        int r = __brev((unsigned)i) >> 26;
        float2 v = sym[i];
        re[r] = v.x;
        im[r] = v.y;
    }
    __syncthreads();
    for (int len = 2; len <= NFFT; len <<= 1) {
        int half = len >> 1;
        int pos = t & (half - 1);
        int i0 = (t / half) * len + pos;
        int i1 = i0 + half;
        float s, c;
        sincospif(-2.0f * pos / len, &s, &c);
        float xr = re[i1] * c - im[i1] * s;
        float xi = re[i1] * s + im[i1] * c;
        float ur = re[i0];
        float ui = im[i0];
        re[i0] = ur + xr;
        im[i0] = ui + xi;
        re[i1] = ur - xr;
        im[i1] = ui - xi;
        __syncthreads();
    }
    float2 *o = freq + (blockIdx.y * SYMS + blockIdx.x) * NFFT;
    o[t] = make_float2(re[t], im[t]);
    o[t + 32] = make_float2(re[t + 32], im[t + 32]);
}

// thread per bin, average over the pilots
__global__ void channel_estimate(const float2 *freq, float2 *chan)
{
    int bin = threadIdx.x;
    int f = blockIdx.x;
    float2 h = make_float2(0.f, 0.f);
    for (int p = 0; p < NPILOT; p++) {
        float2 y = freq[(f * SYMS + p) * NFFT + bin];
        float s = pilotSign(bin) / NPILOT;
        h.x += y.x * s;
        h.y += y.y * s;
    }
    chan[f * NFFT + bin] = h;
}

// one thread per data carrier of the whole burst; LLRs are scattered through the interleaver
__global__ void equalise_demap(const float2 *freq, const float2 *chan, float *llr)
{
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    if (gid >= FRAMES * NSYM * NDATA)
        return;
    int k = gid % NDATA;
    int s = (gid / NDATA) % NSYM;
    int f = gid / (NDATA * NSYM);
    int bin = carrier(k);
    float2 y = freq[(f * SYMS + NPILOT + s) * NFFT + bin];
    float2 h = chan[f * NFFT + bin];
    // matched filter, no division: LLR is weighted by |h|^2
    float i = y.x * h.x + y.y * h.y;
    float q = y.y * h.x - y.x * h.y;
    float *dst = llr + f * CBITS + s * CBITS_SYM;
    // position p on air carries coded bit k with interleave(k) == p
    int p0 = 2 * k;
    int p1 = 2 * k + 1;
    dst[(p0 % 6) * 16 + p0 / 6] = i;
    dst[(p1 % 6) * 16 + p1 / 6] = q;
}

// block = frame, thread = trellis state
__global__ void viterbi_acs(const float *llr, unsigned *dec)
{
    __shared__ float pm[2][64];
    int ns = threadIdx.x;
    const float *L = llr + blockIdx.x * CBITS;
    unsigned *D = dec + blockIdx.x * IBITS * 2;
    int p0 = (ns << 1) & 63;
    int p1 = p0 | 1;
    int r0 = ((ns >> 5) << 6) | p0;
    int r1 = ((ns >> 5) << 6) | p1;
    float a0 = (__popc(r0 & 0133) & 1) ? -1.f : 1.f;
    float b0 = (__popc(r0 & 0171) & 1) ? -1.f : 1.f;
    float a1 = (__popc(r1 & 0133) & 1) ? -1.f : 1.f;
    float b1 = (__popc(r1 & 0171) & 1) ? -1.f : 1.f;
    pm[0][ns] = ns == 0 ? 0.f : -1e9f;
    __syncthreads();
    int cur = 0;
    for (int t = 0; t < IBITS; t++) {
        float la = L[2 * t];
        float lb = L[2 * t + 1];
        float m0 = pm[cur][p0] + a0 * la + b0 * lb;
        float m1 = pm[cur][p1] + a1 * la + b1 * lb;
        bool take1 = m1 > m0;
        pm[cur ^ 1][ns] = take1 ? m1 : m0;
        unsigned w = __ballot_sync(0xffffffffu, take1);
        if ((ns & 31) == 0)
            D[2 * t + (ns >> 5)] = w;
        cur ^= 1;
        __syncthreads();
    }
}

// thread = frame. Pointer chasing backwards through the decisions.
__global__ void viterbi_traceback(const unsigned *dec, unsigned char *bits)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= FRAMES)
        return;
    int state = 0;
    for (int t = IBITS - 1; t >= 0; t--) {
        bits[f * IBITS + t] = state >> 5;
        unsigned w = dec[f * IBITS * 2 + 2 * t + (state >> 5)];
        int d = (w >> (state & 31)) & 1;
        state = ((state << 1) & 63) | d;
    }
}

// compare with the transmitted bits 4 at a time
__global__ void bit_errors(const uchar4 *a, const uchar4 *b, int n4, int *errs)
{
    int e = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        uchar4 x = a[i];
        uchar4 y = b[i];
        e += (x.x != y.x) + (x.y != y.y) + (x.z != y.z) + (x.w != y.w);
    }
    e = __reduce_add_sync(0xffffffffu, e);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(errs, e);
}

int main()
{
    std::mt19937 gen(31337);
    std::vector<unsigned char> bits(FRAMES * IBITS);
    std::vector<float2> tx(FRAMES * BURST);
    std::vector<cf> spec(FRAMES * SYMS * NFFT);
    std::vector<cf> tw(NFFT);
    for (int i = 0; i < NFFT; i++)
        tw[i] = cf(std::cos(2 * M_PI * i / NFFT), std::sin(2 * M_PI * i / NFFT));

    for (int f = 0; f < FRAMES; f++) {
        std::vector<int> coded(CBITS);
        int state = 0;
        for (int t = 0; t < IBITS; t++) {
            int b = t < IBITS - 6 ? (gen() >> 13) & 1 : 0;
            bits[f * IBITS + t] = b;
            int reg = (b << 6) | state;
            coded[2 * t] = __builtin_popcount(reg & 0133) & 1;
            coded[2 * t + 1] = __builtin_popcount(reg & 0171) & 1;
            state = reg >> 1;
        }
        // two-tap channel, different for every frame, shorter than the cyclic prefix
        float ph = 0.1f * (gen() % 60);
        cf tap0 = std::polar(1.0f, ph);
        cf tap1 = std::polar(0.4f, 2.0f * ph);
        int delay = 1 + gen() % 8;
        for (int s = 0; s < SYMS; s++) {
            cf X[NFFT];
            for (int b = 0; b < NFFT; b++)
                X[b] = s < NPILOT ? cf(pilotSign(b), 0) : cf(0, 0);
            if (s >= NPILOT) {
                int onair[CBITS_SYM];
                for (int k = 0; k < CBITS_SYM; k++)
                    onair[interleave(k)] = coded[(s - NPILOT) * CBITS_SYM + k];
                for (int k = 0; k < NDATA; k++)
                    X[carrier(k)] = cf(onair[2 * k] ? -1.f : 1.f, onair[2 * k + 1] ? -1.f : 1.f);
            }
            for (int b = 0; b < NFFT; b++) {
                cf Hc = tap0 + tap1 * std::conj(tw[(b * delay) % NFFT]);
                X[b] *= Hc;
                spec[(f * SYMS + s) * NFFT + b] = X[b];
            }
            cf x[NFFT];
            for (int n = 0; n < NFFT; n++) {
                cf acc(0, 0);
                for (int b = 0; b < NFFT; b++)
                    acc += X[b] * tw[(b * n) % NFFT];
                x[n] = acc * (1.0f / NFFT);
            }
            float2 *o = &tx[f * BURST + s * (NFFT + NCP)];
            for (int n = 0; n < NFFT + NCP; n++) {
                cf v = x[(n + NFFT - NCP) % NFFT];
                float n1 = ((gen() & 1023) / 1023.0f - 0.5f) * 0.02f;
                float n2 = ((gen() & 1023) / 1023.0f - 0.5f) * 0.02f;
                o[n] = make_float2(v.real() + n1, v.imag() + n2);
            }
        }
    }

    float2 *rx, *freq, *chan;
    float *llr;
    unsigned *dec;
    unsigned char *out, *sent;
    int *errs;
    CUDA_OK(cudaMalloc(&rx, tx.size() * sizeof(float2)));
    CUDA_OK(cudaMalloc(&freq, spec.size() * sizeof(float2)));
    CUDA_OK(cudaMalloc(&chan, FRAMES * NFFT * sizeof(float2)));
    CUDA_OK(cudaMalloc(&llr, FRAMES * CBITS * sizeof(float)));
    CUDA_OK(cudaMalloc(&dec, FRAMES * IBITS * 2 * sizeof(unsigned)));
    CUDA_OK(cudaMalloc(&out, FRAMES * IBITS));
    CUDA_OK(cudaMalloc(&sent, FRAMES * IBITS));
    CUDA_OK(cudaMalloc(&errs, sizeof(int)));
    CUDA_OK(cudaMemset(errs, 0, sizeof(int)));
    CUDA_OK(cudaMemcpy(rx, tx.data(), tx.size() * sizeof(float2), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(sent, bits.data(), bits.size(), cudaMemcpyHostToDevice));

    fft64_kernel<<<dim3(SYMS, FRAMES), 32>>>(rx, freq);
    channel_estimate<<<FRAMES, NFFT>>>(freq, chan);
    equalise_demap<<<(FRAMES * NSYM * NDATA + 127) / 128, 128>>>(freq, chan, llr);
    viterbi_acs<<<FRAMES, 64>>>(llr, dec);
    viterbi_traceback<<<(FRAMES + 31) / 32, 32>>>(dec, out);
    bit_errors<<<16, 256>>>((const uchar4 *)out, (const uchar4 *)sent, FRAMES * IBITS / 4, errs);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());

    int gpuErrs = -1;
    std::vector<unsigned char> got(bits.size());
    std::vector<float2> hf(spec.size());
    CUDA_OK(cudaMemcpy(&gpuErrs, errs, sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(got.data(), out, got.size(), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(hf.data(), freq, hf.size() * sizeof(float2), cudaMemcpyDeviceToHost));
    int errors = 0;
    float worst = 0;
    for (size_t i = 0; i < bits.size(); i++)
        errors += bits[i] != got[i];
    for (size_t i = 0; i < spec.size(); i++) {
        float d = std::abs(spec[i] - cf(hf[i].x, hf[i].y));
        if (!(d <= worst))
            worst = d;
    }
    bool ok = errors == 0 && gpuErrs == 0 && worst < 1.0f;   // noise: |n| < 0.015 * 64 in the worst case
    std::printf("bit errors %d/%d, worst spectrum deviation %g\n%s\n", errors, gpuErrs, worst, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
