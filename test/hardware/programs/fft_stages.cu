// Fourier transforms: a radix-2 FFT of 512 points in shared memory, and one Stockham radix-4 step.
#include "common.h"

#define FFT_N 512
#define FFT_LOG 9
#define TWO_PI 6.283185307179586f

__device__ static float2 cmul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ static float2 cadd(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ static float2 csub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

__global__ void fftShared(const float2 *in, float2 *out)
{
    __shared__ float2 x[FFT_N];
    const int t = threadIdx.x;
    in += blockIdx.x * FFT_N;
    out += blockIdx.x * FFT_N;
    for (int i = t; i < FFT_N; i += FFT_N / 2)
        x[__brev(i) >> (32 - FFT_LOG)] = in[i];
    for (int half = 1; half < FFT_N; half *= 2) {
        __syncthreads();
        int k = t % half;
        int even = (t / half) * 2 * half + k;
        float s, c;
        __sincosf(-TWO_PI * k / (2 * half), &s, &c);
        float2 odd = cmul(make_float2(c, s), x[even + half]);
        float2 e = x[even];
        x[even] = cadd(e, odd);
        x[even + half] = csub(e, odd);
    }
    __syncthreads();
    for (int i = t; i < FFT_N; i += FFT_N / 2)
        out[i] = x[i];
}

// One pass of a radix-4 Stockham transform over the whole array: reads n/4 apart, writes stride times 4 apart.
__global__ void stockham4(const float2 *src, float2 *dst, int n, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int quarter = n / 4;
    if (i >= quarter) return;
    int k = i & (stride - 1);
    float angle = -TWO_PI * k / (4 * stride);
    float2 v0 = src[i];
    float2 v1 = cmul(src[i + quarter], make_float2(cosf(angle), sinf(angle)));
    float2 v2 = cmul(src[i + 2 * quarter], make_float2(cosf(2 * angle), sinf(2 * angle)));
    float2 v3 = cmul(src[i + 3 * quarter], make_float2(cosf(3 * angle), sinf(3 * angle)));
    float2 a = cadd(v0, v2), b = csub(v0, v2), c = cadd(v1, v3), d = csub(v1, v3);
    int o = (i - k) * 4 + k;
    dst[o] = cadd(a, c);
    dst[o + stride] = make_float2(b.x + d.y, b.y - d.x);
    dst[o + 2 * stride] = csub(a, c);
    dst[o + 3 * stride] = make_float2(b.x - d.y, b.y + d.x);
}

// Separate arrays for real and imaginary parts in shared memory.
__global__ void multiplySpectra(const float *re, const float *im, float *outRe, float *outIm, float scale)
{
    extern __shared__ float shared[];
    float *sr = shared, *si = shared + blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sr[threadIdx.x] = re[i];
    si[threadIdx.x] = im[i];
    __syncthreads();
    int mirror = (blockDim.x - threadIdx.x) % blockDim.x;
    float a = sr[threadIdx.x], b = si[threadIdx.x], c = sr[mirror], d = -si[mirror];
    outRe[i] = scale * (a * c - b * d);
    outIm[i] = scale * (a * d + b * c);
}

int main()
{
    const int batch = 16, n = FFT_N * batch;
    std::vector<float> re = randomFloats(n, 1), im = randomFloats(n, 2);
    std::vector<float2> in(n);
    for (int i = 0; i < n; ++i) in[i] = make_float2(re[i], im[i]);
    float2 *din = toDevice(in), *dout = deviceZeros<float2>(n);
    bool ok = true;

    fftShared<<<batch, FFT_N / 2>>>(din, dout);
    std::vector<float2> got = toHost(dout, n);
    double worst = 0;
    for (int b = 0; b < batch; b += 5)
        for (int f = 0; f < FFT_N; ++f) {
            double sr = 0, si = 0;
            for (int i = 0; i < FFT_N; ++i) {
                double angle = -2 * M_PI * ((long)f * i % FFT_N) / FFT_N;
                float2 v = in[b * FFT_N + i];
                sr += v.x * cos(angle) - v.y * sin(angle);
                si += v.x * sin(angle) + v.y * cos(angle);
            }
            worst = fmax(worst, fabs(sr - got[b * FFT_N + f].x) + fabs(si - got[b * FFT_N + f].y));
        }
    ok &= report("fftShared", worst < 1e-2);

    const int stride = 16;
    stockham4<<<(n / 4 + 127) / 128, 128>>>(din, dout, n, stride);
    got = toHost(dout, n);
    worst = 0;
    for (int i = 0; i < n / 4; ++i) {
        int k = i % stride;
        double vr[4], vi[4];
        for (int m = 0; m < 4; ++m) {
            double angle = -2 * M_PI * k * m / (4 * stride);
            float2 v = in[i + m * (n / 4)];
            vr[m] = v.x * cos(angle) - v.y * sin(angle);
            vi[m] = v.x * sin(angle) + v.y * cos(angle);
        }
        for (int f = 0; f < 4; ++f) {
            double sr = 0, si = 0;
            for (int m = 0; m < 4; ++m) {
                double angle = -2 * M_PI * m * f / 4;
                sr += vr[m] * cos(angle) - vi[m] * sin(angle);
                si += vr[m] * sin(angle) + vi[m] * cos(angle);
            }
            float2 g = got[(i - k) * 4 + k + f * stride];
            worst = fmax(worst, fabs(g.x - sr) + fabs(g.y - si));
        }
    }
    ok &= report("stockham4", worst < 1e-3);

    float *dre = toDevice(re), *dim = toDevice(im), *ore = deviceZeros<float>(n), *oim = deviceZeros<float>(n);
    multiplySpectra<<<n / 256, 256, 2 * 256 * sizeof(float)>>>(dre, dim, ore, oim, 0.5f);
    std::vector<float> wr(n), wi(n);
    for (int i = 0; i < n; ++i) {
        int m = i / 256 * 256 + (256 - i % 256) % 256;
        wr[i] = 0.5f * (re[i] * re[m] + im[i] * im[m]);
        wi[i] = 0.5f * (-re[i] * im[m] + im[i] * re[m]);
    }
    ok &= report("multiplySpectra", allNear(toHost(ore, n), wr, 1e-5) && allNear(toHost(oim, n), wi, 1e-5));
    return ok ? 0 : 1;
}
