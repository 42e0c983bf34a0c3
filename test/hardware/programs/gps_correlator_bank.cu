// GPS L1 C/A acquisition (code x doppler search) and an early/prompt/late correlator bank.
//
//   channel  -> blockIdx.y
//   doppler  -> blockIdx.x
//
#include <cuComplex.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NCHIP 1023
#define SPC 2
#define NSAMP (NCHIP * SPC)
#define NSV 8
#define NDOPP 16
#define NMS 10
#define FS 2046000.0
#define PI2 6.283185307179586

typedef struct {
    int sv;
    int codePhase;   /* in samples */
    float doppler;   /* Hz */
    int pad;
} Channel;

typedef struct {
    float2 early;
    float2 prompt;
    float2 late;
} Epl;

__constant__ Channel c_chan[NSV];

#define GPU(call) gpuAssert((call), __LINE__)
static void gpuAssert(cudaError_t rc, int line)
{
    if (rc != cudaSuccess) {
        printf("line %d: %s\nFAIL\n", line, cudaGetErrorString(rc));
        exit(1);
    }
}

/* expand chips (+1/-1 bytes) to samples, one extra period for cheap wrap around */
__global__ void resample_code(const int8_t* chips, int8_t* code)
{
    int sv = blockIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 2 * NSAMP)
        code[sv * 2 * NSAMP + i] = chips[sv * NCHIP + (i % NSAMP) / SPC];
}

/* carrier wipe-off: IQ bytes interleaved -> complex float, one row per doppler bin */
__global__ void wipe_off(const char2* __restrict__ iq, float2* __restrict__ base, float f0, float df)
{
    int bin = blockIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= NSAMP)
        return;
    float f = f0 + df * bin;
    float s, c;
    sincospif(-2.0f * f * ((float)i / (float)FS), &s, &c);
    char2 v = iq[i];
    float2 r;
    r.x = v.x * c - v.y * s;
    r.y = v.x * s + v.y * c;
    base[bin * NSAMP + i] = r;
}

/* brute force circular correlation; each thread one code phase, samples staged through shared */
__global__ void acquire(const float2* __restrict__ base, const int8_t* __restrict__ code, float* __restrict__ power)
{
    __shared__ float2 sig[256];
    __shared__ int8_t chip[512];
    const int bin = blockIdx.y;
    const int sv = blockIdx.z;
    const int tau0 = blockIdx.x * 256;
    const int tau = tau0 + threadIdx.x;
    const int8_t* cd = code + sv * 2 * NSAMP;
    float re = 0.0f;
    float im = 0.0f;
    for (int n0 = 0; n0 < NSAMP; n0 += 256) {
        int n = n0 + threadIdx.x;
        sig[threadIdx.x] = n < NSAMP ? base[bin * NSAMP + n] : make_float2(0.0f, 0.0f);
        /* need code[(n - tau) mod NSAMP] for n in [n0, n0+256), tau in [tau0, tau0+256) */
        for (int j = threadIdx.x; j < 512; j += 256) {
            int idx = n0 - tau0 - 255 + j;
            idx %= NSAMP;
            if (idx < 0)
                idx += NSAMP;
            chip[j] = cd[idx];
        }
        __syncthreads();
        for (int k = 0; k < 256; k++) {
            float c = (float)chip[k - (int)threadIdx.x + 255];
            re += c * sig[k].x;
            im += c * sig[k].y;
        }
        __syncthreads();
    }
    if (tau < NSAMP)
        power[(sv * NDOPP + bin) * NSAMP + tau] = re * re + im * im;
}

/* peak per satellite: value and flat index packed, float bits are monotone when positive */
__global__ void find_peak(const float* power, unsigned long long* peak)
{
    __shared__ unsigned long long red[512];
    int sv = blockIdx.x;
    unsigned long long best = 0;
    for (int i = threadIdx.x; i < NDOPP * NSAMP; i += blockDim.x) {
        unsigned bits = __float_as_uint(power[sv * NDOPP * NSAMP + i]);
        unsigned long long key = ((unsigned long long)bits << 32) | (unsigned)i;
        best = key > best ? key : best;
    }
    red[threadIdx.x] = best;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) {
            unsigned long long o = red[threadIdx.x + s];
            if (o > red[threadIdx.x])
                red[threadIdx.x] = o;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        peak[sv] = red[0];
}

static __device__ float warp_sum(float v)
{
    v += __shfl_xor_sync(0xffffffff, v, 16);
    v += __shfl_xor_sync(0xffffffff, v, 8);
    v += __shfl_xor_sync(0xffffffff, v, 4);
    v += __shfl_xor_sync(0xffffffff, v, 2);
    v += __shfl_xor_sync(0xffffffff, v, 1);
    return v;
}

/* early / prompt / late accumulators, one block per (ms, channel) */
__global__ void track_epl(const char2* __restrict__ iq, const int8_t* __restrict__ code, Epl* out)
{
    __shared__ float part[6][8];
    const int ms = blockIdx.x;
    const Channel ch = c_chan[blockIdx.y];
    const int8_t* cd = code + ch.sv * 2 * NSAMP;
    float acc[6] = {0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
    for (int i = threadIdx.x; i < NSAMP; i += blockDim.x) {
        char2 v = iq[ms * NSAMP + i];
        float s, c;
        sincospif(-2.0f * ch.doppler * ((float)i / (float)FS), &s, &c);
        float x = v.x * c - v.y * s;
        float y = v.x * s + v.y * c;
        int p = i - ch.codePhase;
        if (p < 0)
            p += NSAMP;
        float e = (float)cd[p + 1];
        float q = (float)cd[p];
        float l = (float)cd[p + NSAMP - 1];
        acc[0] += e * x;
        acc[1] += e * y;
        acc[2] += q * x;
        acc[3] += q * y;
        acc[4] += l * x;
        acc[5] += l * y;
    }
    for (int k = 0; k < 6; k++) {
        float w = warp_sum(acc[k]);
        if ((threadIdx.x & 31) == 0)
            part[k][threadIdx.x >> 5] = w;
    }
    __syncthreads();
    if (threadIdx.x < 6) {
        float t = 0.0f;
        for (int w = 0; w < 8; w++)
            t += part[threadIdx.x][w];
        float* o = (float*)(out + blockIdx.y * NMS + ms);
        o[threadIdx.x] = t;
    }
}

static void make_code(int sv, int8_t* chips)
{
    static const int tap[NSV][2] = {{2, 6}, {3, 7}, {4, 8}, {5, 9}, {1, 9}, {2, 10}, {1, 8}, {2, 9}};
    int g1[11], g2[11];
    for (int i = 1; i <= 10; i++)
        g1[i] = g2[i] = 1;
    for (int n = 0; n < NCHIP; n++) {
        int o = g1[10] ^ g2[tap[sv][0]] ^ g2[tap[sv][1]];
        chips[n] = o ? -1 : 1;
        int f1 = g1[3] ^ g1[10];
        int f2 = g2[2] ^ g2[3] ^ g2[6] ^ g2[8] ^ g2[9] ^ g2[10];
        for (int i = 10; i > 1; i--) {
            g1[i] = g1[i - 1];
            g2[i] = g2[i - 1];
        }
        g1[1] = f1;
        g2[1] = f2;
    }
}

int main(void)
{
    static int8_t chips[NSV * NCHIP];
    static char2 iq[NMS * NSAMP];
    Channel ch[NSV];
    uint32_t seed = 31337;
    for (int sv = 0; sv < NSV; sv++) {
        make_code(sv, chips + sv * NCHIP);
        ch[sv].sv = sv;
        ch[sv].codePhase = (211 * sv + 97) % NSAMP;
        ch[sv].doppler = -4000.0f + 500.0f * ((sv * 3 + 1) % NDOPP);
        ch[sv].pad = 0;
    }
    for (int i = 0; i < NMS * NSAMP; i++) {
        double re = 0, im = 0;
        int n = i % NSAMP;
        for (int sv = 0; sv < NSV; sv++) {
            int p = (n - ch[sv].codePhase + NSAMP) % NSAMP;
            double a = PI2 * ch[sv].doppler * n / FS + sv;
            re += 9.0 * chips[sv * NCHIP + p / SPC] * cos(a);
            im += 9.0 * chips[sv * NCHIP + p / SPC] * sin(a);
        }
        seed = seed * 1664525u + 1013904223u;
        re += (int)((seed >> 24) & 31) - 16;
        seed = seed * 1664525u + 1013904223u;
        im += (int)((seed >> 24) & 31) - 16;
        iq[i].x = (signed char)lrint(fmax(-120.0, fmin(120.0, re)));
        iq[i].y = (signed char)lrint(fmax(-120.0, fmin(120.0, im)));
    }
    GPU(cudaMemcpyToSymbol(c_chan, ch, sizeof(ch)));

    int8_t *d_chips, *d_code;
    char2* d_iq;
    float2* d_base;
    float* d_power;
    unsigned long long* d_peak;
    Epl* d_epl;
    GPU(cudaMalloc(&d_chips, sizeof(chips)));
    GPU(cudaMalloc(&d_code, NSV * 2 * NSAMP));
    GPU(cudaMalloc(&d_iq, sizeof(iq)));
    GPU(cudaMalloc(&d_base, NDOPP * NSAMP * sizeof(float2)));
    GPU(cudaMalloc(&d_power, NSV * NDOPP * NSAMP * sizeof(float)));
    GPU(cudaMalloc(&d_peak, NSV * sizeof(unsigned long long)));
    GPU(cudaMalloc(&d_epl, NSV * NMS * sizeof(Epl)));
    GPU(cudaMemcpy(d_chips, chips, sizeof(chips), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(d_iq, iq, sizeof(iq), cudaMemcpyHostToDevice));

    resample_code<<<dim3((2 * NSAMP + 255) / 256, NSV), 256>>>(d_chips, d_code);
    wipe_off<<<dim3((NSAMP + 127) / 128, NDOPP), 128>>>(d_iq, d_base, -4000.0f, 500.0f);
    acquire<<<dim3((NSAMP + 255) / 256, NDOPP, NSV), 256>>>(d_base, d_code, d_power);
    find_peak<<<NSV, 512>>>(d_power, d_peak);
    track_epl<<<dim3(NMS, NSV), 256>>>(d_iq, d_code, d_epl);
    GPU(cudaGetLastError());
    GPU(cudaDeviceSynchronize());

    unsigned long long peak[NSV];
    static Epl epl[NSV * NMS];
    static float power[NSV * NDOPP * NSAMP];
    GPU(cudaMemcpy(peak, d_peak, sizeof(peak), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(epl, d_epl, sizeof(epl), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(power, d_power, sizeof(power), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int sv = 0; sv < NSV; sv++) {
        unsigned idx = (unsigned)peak[sv];
        int bin = idx / NSAMP;
        int tau = idx % NSAMP;
        int wantBin = (sv * 3 + 1) % NDOPP;
        if (bin != wantBin || abs(tau - ch[sv].codePhase) > 1) {
            printf("sv %d found bin %d tau %d, wanted %d %d\n", sv, bin, tau, wantBin, ch[sv].codePhase);
            bad++;
        }
        double re = 0, im = 0;
        double e6[6] = {0, 0, 0, 0, 0, 0};
        for (int n = 0; n < NSAMP; n++) {
            double a = -PI2 * ch[sv].doppler * n / FS;
            double x = iq[n].x * cos(a) - iq[n].y * sin(a);
            double y = iq[n].x * sin(a) + iq[n].y * cos(a);
            int p = (n - ch[sv].codePhase + NSAMP) % NSAMP;
            double c0 = chips[sv * NCHIP + p / SPC];
            double ce = chips[sv * NCHIP + ((p + 1) % NSAMP) / SPC];
            double cl = chips[sv * NCHIP + ((p + NSAMP - 1) % NSAMP) / SPC];
            re += c0 * x;
            im += c0 * y;
            e6[0] += ce * x;
            e6[1] += ce * y;
            e6[4] += cl * x;
            e6[5] += cl * y;
        }
        e6[2] = re;
        e6[3] = im;
        double want = re * re + im * im;
        double got = power[(sv * NDOPP + wantBin) * NSAMP + ch[sv].codePhase];
        if (fabs(want - got) > 2e-3 * want) {
            printf("sv %d power %g want %g\n", sv, got, want);
            bad++;
        }
        const float* o = (const float*)&epl[sv * NMS];
        for (int k = 0; k < 6; k++)
            if (fabs(o[k] - e6[k]) > 2.0 + 1e-3 * fabs(e6[k]))
                bad++;
    }
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
