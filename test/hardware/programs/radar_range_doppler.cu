/**
 * Pulse-Doppler chain: window + zero-pad, range FFT (radix-2 in shared memory, one block a pulse), corner turn,
 * Doppler DFT of a short dwell by matrix, magnitude, cell-averaging CFAR.
 */
#include <cuComplex.h>
#include <cuda_runtime.h>

#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define PULSES 24
#define SAMPLES 200
#define NFFT 256
#define LOG2N 8
#define GUARD 2
#define TRAIN 8
#define PI_F 3.14159265358979f

#define CHECK(call) if (cudaError_t e = (call)) { printf("FAIL %s: %s\n", #call, cudaGetErrorString(e)); exit(1); }

__constant__ float c_window[SAMPLES];

static __device__ __host__ inline cuFloatComplex cis(float a) { return make_cuFloatComplex(cosf(a), sinf(a)); }

__device__ inline unsigned int reverse_bits(unsigned int v, int bits) { return __brev(v) >> (32 - bits); }

// Interleaved short I/Q from the ADC, bit-reversed on the way into shared memory
__global__ void range_fft(const short2 *__restrict__ iq, cuFloatComplex *__restrict__ spec)
{
    __shared__ cuFloatComplex s[NFFT];
    const int p = blockIdx.x;
    const int t = threadIdx.x;     // NFFT / 2 threads

    for (int k = t; k < NFFT; k += blockDim.x) {
        cuFloatComplex v = make_cuFloatComplex(0.0f, 0.0f);
        if (k < SAMPLES) {
            const short2 q = iq[p * SAMPLES + k];
            v.x = q.x * c_window[k] * (1.0f / 2048.0f);
            v.y = q.y * c_window[k] * (1.0f / 2048.0f);
        }
        s[reverse_bits(k, LOG2N)] = v;
    }
    __syncthreads();

    for (int len = 1; len < NFFT; len <<= 1) {
        const int k = t & (len - 1);
        const int lo = ((t - k) << 1) + k;
        const cuFloatComplex w = cis(-PI_F * k / len);
        const cuFloatComplex a = s[lo];
        const cuFloatComplex b = cuCmulf(w, s[lo + len]);
        s[lo] = cuCaddf(a, b);
        s[lo + len] = cuCsubf(a, b);
        __syncthreads();
    }

    spec[p * NFFT + t] = s[t];
    spec[p * NFFT + t + NFFT / 2] = s[t + NFFT / 2];
}

// The same transform with the real and the imaginary plane apart (planar shared memory), decimation in frequency
__global__ void range_fft_planar(const short2 *__restrict__ iq, cuFloatComplex *__restrict__ spec)
{
    extern __shared__ float planes[];
    float *re = planes, *im = planes + NFFT;
    const int p = blockIdx.x, t = threadIdx.x;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int k = t + h * (NFFT / 2);
        const bool in = k < SAMPLES;
        const short2 q = in ? iq[p * SAMPLES + k] : make_short2(0, 0);
        const float w = in ? c_window[k] * (1.0f / 2048.0f) : 0.0f;
        re[k] = q.x * w;
        im[k] = q.y * w;
    }
#pragma unroll
    for (int len = NFFT / 2; len >= 1; len >>= 1) {
        __syncthreads();
        const int k = t % len, lo = 2 * (t - k) + k, hi = lo + len;
        const float ar = re[lo], ai = im[lo], br = re[hi], bi = im[hi];
        float sn, cs;
        __sincosf(-PI_F * k / len, &sn, &cs);
        re[lo] = ar + br;
        im[lo] = ai + bi;
        re[hi] = (ar - br) * cs - (ai - bi) * sn;
        im[hi] = (ar - br) * sn + (ai - bi) * cs;
    }
    __syncthreads();
    for (int k = t; k < NFFT; k += NFFT / 2) {
        const unsigned r = reverse_bits(k, LOG2N);
        spec[p * NFFT + k] = make_cuFloatComplex(re[r], im[r]);
    }
}

__global__ void corner_turn(const cuFloatComplex *__restrict__ in, cuFloatComplex *__restrict__ out)
{
    __shared__ cuFloatComplex tile[PULSES][33];
    const int r0 = blockIdx.x * 32;
    for (int p = threadIdx.y; p < PULSES; p += blockDim.y)
        tile[p][threadIdx.x] = in[p * NFFT + r0 + threadIdx.x];
    __syncthreads();
    const int flat = threadIdx.y * 32 + threadIdx.x;
    for (int i = flat; i < 32 * PULSES; i += 32 * blockDim.y)
        out[r0 * PULSES + i] = tile[i % PULSES][i / PULSES];
}

// rows of 24 pulses: direct DFT with a table of twiddles in shared memory; 24 x 10 threads
__global__ void doppler_dft(const cuFloatComplex *__restrict__ turned, float *__restrict__ power)
{
    __shared__ cuFloatComplex tw[PULSES];
    __shared__ cuFloatComplex row[10][PULSES];
    const int d = threadIdx.x, ry = threadIdx.y;
    const int r = blockIdx.x * 10 + ry;
    if (ry == 0) tw[d] = cis(-2.0f * PI_F * d / PULSES);
    if (r < NFFT) row[ry][d] = turned[r * PULSES + d];
    __syncthreads();
    if (r >= NFFT) return;
    cuFloatComplex acc = make_cuFloatComplex(0.0f, 0.0f);
    int ph = 0;
    for (int p = 0; p < PULSES; ++p) {
        acc = cuCfmaf(row[ry][p], tw[ph], acc);
        ph += d;
        if (ph >= PULSES) ph -= PULSES;
    }
    power[d * NFFT + r] = acc.x * acc.x + acc.y * acc.y;
}

// cell averaging CFAR along range; a block holds its piece and the training cells on both sides
__global__ void cfar(const float *__restrict__ power, unsigned char *__restrict__ hits, unsigned int *count, float factor)
{
    const int HALO = GUARD + TRAIN;
    __shared__ float seg[64 + 2 * (GUARD + TRAIN)];
    const int d = blockIdx.y, r0 = blockIdx.x * 64, t = threadIdx.x;
    for (int i = t; i < 64 + 2 * HALO; i += 64)
        seg[i] = power[d * NFFT + ((r0 + i - HALO) & (NFFT - 1))];
    __syncthreads();
    float noise = 0.0f;
#pragma unroll
    for (int k = 1; k <= TRAIN; ++k)
        noise += seg[t + HALO - GUARD - k] + seg[t + HALO + GUARD + k];
    const bool hit = seg[t + HALO] > factor * noise / (2 * TRAIN);
    hits[d * NFFT + r0 + t] = hit;
    const unsigned int ballot = __ballot_sync(~0u, hit);
    if ((t & 31) == 0 && ballot) atomicAdd(count, __popc(ballot));
}

int main()
{
    std::vector<short2> iq(PULSES * SAMPLES);
    std::vector<float> window(SAMPLES);
    for (int k = 0; k < SAMPLES; ++k) window[k] = 0.54f - 0.46f * cosf(2 * PI_F * k / (SAMPLES - 1));
    unsigned int seed = 17;
    for (int p = 0; p < PULSES; ++p)
        for (int k = 0; k < SAMPLES; ++k) {
            seed = seed * 1103515245u + 12345u;
            const float noise = ((seed >> 16) & 255) - 128.0f;
            const float a = 2 * PI_F * (0.17f * k + 0.21f * p), b = 2 * PI_F * (0.36f * k - 0.08f * p);
            iq[p * SAMPLES + k] = make_short2((short)(900 * cosf(a) + 300 * cosf(b) + noise), (short)(900 * sinf(a) + 300 * sinf(b) - noise));
        }
    short2 *d_iq; cuFloatComplex *d_spec, *d_spec2, *d_turn; float *d_pow; unsigned char *d_hits; unsigned int *d_count;
    CHECK(cudaMalloc(&d_iq, iq.size() * sizeof(short2)));
    CHECK(cudaMalloc(&d_spec, PULSES * NFFT * sizeof(cuFloatComplex)));
    CHECK(cudaMalloc(&d_spec2, PULSES * NFFT * sizeof(cuFloatComplex)));
    CHECK(cudaMalloc(&d_turn, PULSES * NFFT * sizeof(cuFloatComplex)));
    CHECK(cudaMalloc(&d_pow, PULSES * NFFT * sizeof(float)));
    CHECK(cudaMalloc(&d_hits, PULSES * NFFT));
    CHECK(cudaMalloc(&d_count, sizeof(unsigned int)));
    CHECK(cudaMemset(d_count, 0, sizeof(unsigned int)));
    CHECK(cudaMemcpy(d_iq, iq.data(), iq.size() * sizeof(short2), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(c_window, window.data(), SAMPLES * sizeof(float)));

    range_fft<<<PULSES, NFFT / 2>>>(d_iq, d_spec);
    range_fft_planar<<<PULSES, NFFT / 2, 2 * NFFT * sizeof(float)>>>(d_iq, d_spec2);
    corner_turn<<<NFFT / 32, dim3(32, 6)>>>(d_spec, d_turn);
    doppler_dft<<<(NFFT + 9) / 10, dim3(PULSES, 10)>>>(d_turn, d_pow);
    cfar<<<dim3(NFFT / 64, PULSES), 64>>>(d_pow, d_hits, d_count, 12.0f);
    CHECK(cudaDeviceSynchronize());

    std::vector<std::complex<float>> spec(PULSES * NFFT), spec2(PULSES * NFFT);
    std::vector<float> power(PULSES * NFFT);
    std::vector<unsigned char> hits(PULSES * NFFT);
    unsigned int count;
    CHECK(cudaMemcpy(spec.data(), d_spec, spec.size() * 8, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(spec2.data(), d_spec2, spec.size() * 8, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(power.data(), d_pow, power.size() * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hits.data(), d_hits, hits.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&count, d_count, 4, cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int p = 0; p < PULSES; p += 5)
        for (int f = 0; f < NFFT; ++f) {
            std::complex<double> sum = 0;
            for (int k = 0; k < SAMPLES; ++k)
                sum += std::complex<double>(iq[p * SAMPLES + k].x, iq[p * SAMPLES + k].y) * (window[k] / 2048.0) * std::polar(1.0, -2 * M_PI * f * k / NFFT);
            if (std::abs(std::complex<double>(spec[p * NFFT + f]) - sum) > 1e-3 * (1 + std::abs(sum))) ++bad;
            if (std::abs(std::complex<double>(spec2[p * NFFT + f]) - sum) > 1e-2 * (1 + std::abs(sum))) ++bad;
        }
    unsigned int total = 0;
    for (int d = 0; d < PULSES; ++d)
        for (int r = 0; r < NFFT; ++r) {
            std::complex<double> sum = 0;
            for (int p = 0; p < PULSES; ++p) sum += std::complex<double>(spec[p * NFFT + r]) * std::polar(1.0, -2 * M_PI * d * p / PULSES);
            if (std::abs(std::norm(sum) - power[d * NFFT + r]) > 1e-2 * (1 + std::norm(sum))) ++bad;
            total += hits[d * NFFT + r];
        }
    if (total != count) ++bad;
    printf("%u detections, %d errors\n%s\n", count, bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
