// Audio: stereo interleaved FIR (global / shared / constant taps), polyphase 3:2 resampler, biquad bank
#include <cuda_runtime.h>
#include <stdio.h>
#include <math.h>
#include <vector>
#define TAPS 96
#define BLOCK 256
#define NCH 2
__constant__ float c_taps[TAPS];
struct Biquad { float b0, b1, b2, a1, a2; };

__global__ void fir_global(const float *x, float *y, int frames)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, ch = blockIdx.y;
    if (i >= frames) return;
    float s = 0;
    for (int k = 0; k < TAPS; k++)
        if (i - k >= 0) s += c_taps[k] * x[(i - k) * NCH + ch];
    y[i * NCH + ch] = s;
}

__global__ void fir_shared(const float2 *__restrict__ x, float2 *__restrict__ y, int frames)
{
    extern __shared__ float sm[];
    float *l = sm, *r = sm + BLOCK + TAPS;
    const int base = blockIdx.x * BLOCK - TAPS;
    for (int t = threadIdx.x; t < BLOCK + TAPS; t += BLOCK) {
        int g = base + t;
        float2 v = (g >= 0 && g < frames) ? x[g] : make_float2(0.f, 0.f);
        l[t] = v.x; r[t] = v.y;
    }
    __syncthreads();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= frames) return;
    float2 s = make_float2(0.f, 0.f);
#pragma unroll 8
    for (int k = 0; k < TAPS; k++) {
        s.x = fmaf(c_taps[k], l[threadIdx.x + TAPS - k], s.x);
        s.y = fmaf(c_taps[k], r[threadIdx.x + TAPS - k], s.y);
    }
    y[i] = s;
}

// up 3, down 2; phase bank [3][TAPS/3] in global memory, divergent phase per lane
__global__ void resample_3_2(const float2 *x, float2 *y, const float *bank, int nin, int nout)
{
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= nout) return;
    int pos = o * 2, ph = pos % 3, n = pos / 3;
    float a = 0, b = 0;
    for (int k = 0; k < TAPS / 3; k++) {
        int j = n - k;
        if (j < 0 || j >= nin) continue;
        float c = bank[ph * (TAPS / 3) + k];
        a += c * x[j].x; b += c * x[j].y;
    }
    y[o] = make_float2(a, b);
}

// many independent mono tracks, one thread a track: track-major storage
__global__ void biquad_tracks(const float *in, float *out, const Biquad *coef, int ntracks, int len)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= ntracks) return;
    Biquad q = coef[t];
    float z1 = 0, z2 = 0;
    for (int i = 0; i < len; i++) {
        float v = in[t * len + i], w = q.b0 * v + z1;
        z1 = q.b1 * v - q.a1 * w + z2;
        z2 = q.b2 * v - q.a2 * w;
        out[t * len + i] = w;
    }
}

int main()
{
    const int F = 1000003, nout = F * 3 / 2, nt = 12000, len = 80;
    std::vector<float> x(F * 2), y(F * 2), z(nout * 2), bank(TAPS), taps(TAPS), tr(nt * len), to(nt * len); std::vector<Biquad> bq(nt);
    for (int i = 0; i < F; i++) { x[2 * i] = sinf(i * 0.031f) + 0.3f * ((i % 17) / 8.f - 1); x[2 * i + 1] = cosf(i * 0.017f); }
    for (int k = 0; k < TAPS; k++) { float m = k - (TAPS - 1) / 2.f; taps[k] = sinf(0.8f * m) / (3.14159265f * m) * (0.54f - 0.46f * cosf(6.2831853f * k / (TAPS - 1))); }
    for (int p = 0; p < 3; p++) for (int k = 0; k < TAPS / 3; k++) bank[p * (TAPS / 3) + k] = 3 * taps[k * 3 + p];
    for (int i = 0; i < nt * len; i++) tr[i] = ((i * 7919) % 1000) / 500.f - 1;
    for (int t = 0; t < nt; t++) { float g = 0.1f + 0.0001f * (t % 1000); bq[t] = {g, 2 * g, g, -0.9f + 0.0005f * (t % 300), 0.3f}; }
    cudaMemcpyToSymbol(c_taps, taps.data(), TAPS * 4);
    float *dx, *dy, *dz, *db, *dt, *dto; Biquad *dq;
    cudaMalloc(&dx, F * 8); cudaMalloc(&dy, F * 8); cudaMalloc(&dz, nout * 8); cudaMalloc(&db, TAPS * 4); cudaMalloc(&dt, tr.size() * 4); cudaMalloc(&dto, tr.size() * 4); cudaMalloc(&dq, nt * sizeof(Biquad));
    cudaMemcpy(dx, x.data(), F * 8, cudaMemcpyHostToDevice); cudaMemcpy(db, bank.data(), TAPS * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dt, tr.data(), tr.size() * 4, cudaMemcpyHostToDevice); cudaMemcpy(dq, bq.data(), nt * sizeof(Biquad), cudaMemcpyHostToDevice);
    double e[4] = {0, 0, 0, 0};
    for (int v = 0; v < 2; v++) {
        cudaMemset(dy, 0, F * 8);
        if (v == 0) fir_global<<<dim3((F + BLOCK - 1) / BLOCK, NCH), BLOCK>>>(dx, dy, F);
        else fir_shared<<<(F + BLOCK - 1) / BLOCK, BLOCK, 2 * (BLOCK + TAPS) * sizeof(float)>>>((float2 *)dx, (float2 *)dy, F);
        cudaMemcpy(y.data(), dy, F * 8, cudaMemcpyDeviceToHost);
        for (int i = 0; i < F; i += (i < 200 ? 1 : 37)) for (int c = 0; c < 2; c++) {
            double s = 0; for (int k = 0; k < TAPS && k <= i; k++) s += (double)taps[k] * x[(i - k) * 2 + c];
            e[v] = fmax(e[v], fabs(s - y[i * 2 + c]));
        }
    }
    resample_3_2<<<(nout + 127) / 128, 128>>>((float2 *)dx, (float2 *)dz, db, F, nout);
    biquad_tracks<<<(nt + 63) / 64, 64>>>(dt, dto, dq, nt, len);
    cudaMemcpy(z.data(), dz, nout * 8, cudaMemcpyDeviceToHost); cudaMemcpy(to.data(), dto, to.size() * 4, cudaMemcpyDeviceToHost);
    for (int o = 0; o < nout; o += 53) {
        double s = 0; int p = o * 2; for (int k = 0; k < TAPS / 3; k++) if (p / 3 - k >= 0) s += (double)bank[p % 3 * (TAPS / 3) + k] * x[(p / 3 - k) * 2];
        e[2] = fmax(e[2], fabs(s - z[o * 2]));
    }
    for (int t = 0; t < nt; t += 19) {
        double z1 = 0, z2 = 0; Biquad q = bq[t];
        for (int i = 0; i < len; i++) { double v = tr[t * len + i], w = q.b0 * v + z1; z1 = q.b1 * v - q.a1 * w + z2; z2 = q.b2 * v - q.a2 * w; e[3] = fmax(e[3], fabs(w - to[t * len + i])); }
    }
    printf("errs %g %g %g %g %s\n", e[0], e[1], e[2], e[3], cudaGetErrorString(cudaGetLastError()));
    puts(e[0] < 1e-4 && e[1] < 1e-4 && e[2] < 1e-4 && e[3] < 1e-3 ? "PASS" : "FAIL");
}
