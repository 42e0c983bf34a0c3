// Audio: the same biquad three ways (a thread per channel on planar and on interleaved samples, a channel cut in chunks
// with the state carried by 2 x 2 matrices), and a polyphase resampler 160 : 147.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
using std::vector;

enum { CHANNELS = 256, SAMPLES = 8192, CHUNK = 32, CHUNKS = SAMPLES / CHUNK };
enum { UP = 160, DOWN = 147, TAPS = 24 };          // taps per phase

struct Biquad { float b0, b1, b2, a1, a2; };
__constant__ Biquad kFilter;

// transposed direct form II
__host__ __device__ inline float tick(const Biquad &f, float x, float &s1, float &s2)
{
    float y = f.b0 * x + s1;
    s1 = f.b1 * x - f.a1 * y + s2;
    s2 = f.b2 * x - f.a2 * y;
    return y;
}

__global__ void biquad_planar(const float *in, float *out)
{
    int ch = blockIdx.x * blockDim.x + threadIdx.x;
    if (ch >= CHANNELS) return;
    float s1 = 0.f, s2 = 0.f;
    for (int t = 0; t < SAMPLES; t++)
        out[ch * SAMPLES + t] = tick(kFilter, in[ch * SAMPLES + t], s1, s2);
}

__global__ void biquad_interleaved(const float *__restrict__ in, float *__restrict__ out)
{
    int ch = blockIdx.x * blockDim.x + threadIdx.x;
    float s1 = 0.f, s2 = 0.f;
#pragma unroll 8
    for (int t = 0; t < SAMPLES; t++)
        out[t * CHANNELS + ch] = tick(kFilter, in[t * CHANNELS + ch], s1, s2);
}

struct Mat2 { float a, b, c, d; };
__host__ __device__ inline float2 apply(const Mat2 &m, float2 v) { return make_float2(m.a * v.x + m.b * v.y, m.c * v.x + m.d * v.y); }
__host__ __device__ inline Mat2 mul(const Mat2 &p, const Mat2 &q)
{
    return {p.a * q.a + p.b * q.c, p.a * q.b + p.b * q.d, p.c * q.a + p.d * q.c, p.c * q.b + p.d * q.d};
}

// powers[k] = A^(CHUNK * 2^k); one block a channel, one thread a chunk
__global__ void __launch_bounds__(CHUNKS) biquad_chunked(const float *in, float *out, const Mat2 *powers)
{
    __shared__ float samples[CHUNKS * (CHUNK + 1)];
    __shared__ float2 state[2][CHUNKS];
    const int t = threadIdx.x;
    const float *src = in + blockIdx.x * SAMPLES;
    for (int i = t; i < SAMPLES; i += CHUNKS) samples[i / CHUNK * (CHUNK + 1) + i % CHUNK] = src[i];
    __syncthreads();

    float *mine = samples + t * (CHUNK + 1);
    float s1 = 0.f, s2 = 0.f;
    for (int i = 0; i < CHUNK; i++) tick(kFilter, mine[i], s1, s2);     // state left by this chunk alone
    int cur = 0;
    state[0][t] = make_float2(s1, s2);
    __syncthreads();
    for (int k = 0, d = 1; d < CHUNKS; k++, d *= 2) {                   // inclusive scan of the states
        float2 v = state[cur][t];
        if (t >= d) {
            float2 w = apply(powers[k], state[cur][t - d]);
            v.x += w.x;
            v.y += w.y;
        }
        state[cur ^ 1][t] = v;
        cur ^= 1;
        __syncthreads();
    }
    float2 s = t ? state[cur][t - 1] : make_float2(0.f, 0.f);
    for (int i = 0; i < CHUNK; i++) mine[i] = tick(kFilter, mine[i], s.x, s.y);
    __syncthreads();
    float *dst = out + blockIdx.x * SAMPLES;
    for (int i = t; i < SAMPLES; i += CHUNKS) dst[i] = samples[i / CHUNK * (CHUNK + 1) + i % CHUNK];
}

// out[n] = sum_k h[phase + k UP] in[base - k]; the prototype filter is stored phase by phase
__global__ void resample(const float *in, int inLen, float *out, int outLen, const float *phases)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= outLen) return;
    const float *x = in + (size_t)blockIdx.y * inLen;
    int pos = n * DOWN, base = pos / UP, phase = pos % UP;
    const float *h = phases + phase * TAPS;
    float acc = 0.f;
    for (int k = 0; k < TAPS; k++) {
        int i = base - k;
        if (i >= 0 && i < inLen) acc += h[k] * x[i];
    }
    out[(size_t)blockIdx.y * outLen + n] = acc;
}

static void must(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

static bool compare(const char *name, const vector<float> &got, const vector<double> &want, double tol)
{
    double worst = 0;
    for (size_t i = 0; i < want.size(); i++) worst = std::fmax(worst, std::fabs(got[i] - want[i]));
    printf("%-20s %.3g\n", name, worst);
    return worst < tol;
}

int main()
{
    const size_t total = (size_t)CHANNELS * SAMPLES;
    vector<float> planar(total), inter(total), got(total);
    for (int c = 0; c < CHANNELS; c++)
        for (int t = 0; t < SAMPLES; t++) {
            float v = 0.6f * sinf(0.001f * (c + 3) * t) + 0.3f * (((t * 7919 + c * 104729) % 2003) / 1001.5f - 1.f);
            planar[(size_t)c * SAMPLES + t] = v;
            inter[(size_t)t * CHANNELS + c] = v;
        }
    const double w0 = 2 * 3.14159265358979 * 900.0 / 48000.0, q = 0.9, alpha = sin(w0) / (2 * q), a0 = 1 + alpha;
    Biquad f = {(float)((1 - cos(w0)) / 2 / a0), (float)((1 - cos(w0)) / a0), (float)((1 - cos(w0)) / 2 / a0),
                (float)(-2 * cos(w0) / a0), (float)((1 - alpha) / a0)};
    must(cudaMemcpyToSymbol(kFilter, &f, sizeof f), "filter");

    Mat2 A = {-f.a1, 1.f, -f.a2, 0.f}, p = A;       // state update with no input
    for (int d = 1; d < CHUNK; d *= 2) p = mul(p, p);
    vector<Mat2> powers;
    for (int d = 1; d < CHUNKS; d *= 2) { powers.push_back(p); p = mul(p, p); }

    vector<float> phases(UP * TAPS);
    for (int ph = 0; ph < UP; ph++)
        for (int k = 0; k < TAPS; k++) {
            double x = (ph + k * UP - UP * TAPS / 2.0) / UP;
            double win = 0.5 - 0.5 * cos(2 * 3.14159265358979 * (ph + k * UP) / (UP * TAPS));
            phases[ph * TAPS + k] = (float)(win * (fabs(x) < 1e-9 ? 1.0 : sin(3.14159265358979 * x) / (3.14159265358979 * x)));
        }
    const int outLen = SAMPLES * UP / DOWN;

    float *dPlanar, *dInter, *dOut, *dPhases, *dRes;
    Mat2 *dPowers;
    must(cudaMalloc(&dPlanar, total * 4), "malloc"); must(cudaMalloc(&dInter, total * 4), "malloc"); must(cudaMalloc(&dOut, total * 4), "malloc");
    must(cudaMalloc(&dPhases, phases.size() * 4), "malloc"); must(cudaMalloc(&dRes, (size_t)CHANNELS * outLen * 4), "malloc");
    must(cudaMalloc(&dPowers, powers.size() * sizeof(Mat2)), "malloc");
    must(cudaMemcpy(dPlanar, planar.data(), total * 4, cudaMemcpyHostToDevice), "copy");
    must(cudaMemcpy(dInter, inter.data(), total * 4, cudaMemcpyHostToDevice), "copy");
    must(cudaMemcpy(dPhases, phases.data(), phases.size() * 4, cudaMemcpyHostToDevice), "copy");
    must(cudaMemcpy(dPowers, powers.data(), powers.size() * sizeof(Mat2), cudaMemcpyHostToDevice), "copy");

    vector<double> want(total), wantInter(total);
    for (int c = 0; c < CHANNELS; c++) {
        double s1 = 0, s2 = 0;
        for (int t = 0; t < SAMPLES; t++) {
            double x = planar[(size_t)c * SAMPLES + t], y = f.b0 * x + s1;
            s1 = f.b1 * x - f.a1 * y + s2;
            s2 = f.b2 * x - f.a2 * y;
            want[(size_t)c * SAMPLES + t] = wantInter[(size_t)t * CHANNELS + c] = y;
        }
    }
    bool ok = true;
    biquad_planar<<<CHANNELS / 64, 64>>>(dPlanar, dOut);
    must(cudaMemcpy(got.data(), dOut, total * 4, cudaMemcpyDeviceToHost), "planar");
    ok &= compare("planar", got, want, 2e-3);
    biquad_interleaved<<<CHANNELS / 32, 32>>>(dInter, dOut);
    must(cudaMemcpy(got.data(), dOut, total * 4, cudaMemcpyDeviceToHost), "interleaved");
    ok &= compare("interleaved", got, wantInter, 2e-3);
    biquad_chunked<<<CHANNELS, CHUNKS>>>(dPlanar, dOut, dPowers);
    must(cudaMemcpy(got.data(), dOut, total * 4, cudaMemcpyDeviceToHost), "chunked");
    ok &= compare("chunked", got, want, 2e-3);

    resample<<<dim3((outLen + 255) / 256, CHANNELS), 256>>>(dPlanar, SAMPLES, dRes, outLen, dPhases);
    vector<float> res((size_t)CHANNELS * outLen);
    must(cudaMemcpy(res.data(), dRes, res.size() * 4, cudaMemcpyDeviceToHost), "resample");
    vector<double> wantRes(res.size(), 0.0);
    for (int c = 0; c < CHANNELS; c++)
        for (int n = 0; n < outLen; n++)
            for (int k = 0; k < TAPS; k++) {
                int i = n * DOWN / UP - k;
                if (i >= 0 && i < SAMPLES) wantRes[(size_t)c * outLen + n] += (double)phases[n * DOWN % UP * TAPS + k] * planar[(size_t)c * SAMPLES + i];
            }
    ok &= compare("resample", res, wantRes, 1e-4);
    return ok ? 0 : 1;
}
