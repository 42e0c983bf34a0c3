// pulsar_dedispersion.cu -- incoherent dedispersion of a 4-bit filterbank and boxcar search
//
// usage: pulsar_dedispersion [ndm] [ntime_out]
//
// data order on disk: time-major, two channels per byte (low nibble first), highest frequency first.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <algorithm>
#include <vector>

#define NCHAN      128
#define FCH1       1500.0      // MHz
#define FOFF       (-2.0)      // MHz
#define TSAMP      0.00032     // s
#define DM_STEP    3.0
#define MAX_DM     64

__constant__ float c_delay_per_dm[NCHAN];       // delay in samples for DM = 1

static void gpu_assert(cudaError_t code, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "CUDA problem near line %d: %s\n", line, cudaGetErrorString(code));
        exit(EXIT_FAILURE);
    }
}
#define GPU(call) gpu_assert(call, __LINE__)

/* 4-bit, time-major  ->  8-bit, channel-major (corner turn).
   A block turns 32 samples x 64 channels (32 bytes). */
__global__ void unpack_and_turn(const uint8_t *raw, uint8_t *fil, int nsamp, int pitch)
{
    __shared__ uint8_t tile[64][32];
    const int t0 = blockIdx.x * 32, c0 = blockIdx.y * 64;
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        const int t = t0 + r;
        const uint8_t b = t < nsamp ? raw[(size_t)t * (NCHAN / 2) + c0 / 2 + threadIdx.x] : 0;
        tile[2 * threadIdx.x][r] = b & 15;
        tile[2 * threadIdx.x + 1][r] = b >> 4;
    }
    __syncthreads();
    for (int c = threadIdx.y; c < 64; c += blockDim.y)
        if (t0 + threadIdx.x < nsamp) fil[(size_t)(c0 + c) * pitch + t0 + threadIdx.x] = tile[c][threadIdx.x];
}

/* zero-DM filter: the channel mean of every sample, times NCHAN (kept integer) */
__global__ void zero_dm(const uint8_t *fil, int *zdm, int nsamp, int pitch)
{
    const int t = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (t >= nsamp) return;
    int s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int c = 0; c < NCHAN; c++) {
        const uchar4 v = *(const uchar4 *)(fil + (size_t)c * pitch + t);
        s0 += v.x; s1 += v.y; s2 += v.z; s3 += v.w;
    }
    zdm[t] = s0;
    if (t + 1 < nsamp) zdm[t + 1] = s1;
    if (t + 2 < nsamp) zdm[t + 2] = s2;
    if (t + 3 < nsamp) zdm[t + 3] = s3;
}

/* direct dedispersion; result is NCHAN*sum(data) - sum(zdm) so everything is exact */
__global__ void dedisperse(const uint8_t *fil, const int *zdm, int *out, int nout, int pitch)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int idm = blockIdx.y;
    if (t >= nout) return;
    const float dm = (float)(idm * DM_STEP);
    int sum = 0, zsum = 0;
    for (int c = 0; c < NCHAN; c++) {
        const int d = __float2int_rn(__fmul_rn(c_delay_per_dm[c], dm));
        sum += fil[(size_t)c * pitch + t + d];
        zsum += zdm[t + d];
    }
    out[(size_t)idm * nout + t] = NCHAN * sum - zsum;
}

/* best boxcar of width 1,2,4..32 in a window of 256 start positions, prefix sums in shared memory */
struct cand_t {
    float snr;
    int   width;
    int   start;
};

__global__ void boxcar_search(const int *series, cand_t *best, int nout, float sigma)
{
    __shared__ int    csum[2][288 + 1];
    __shared__ cand_t top[288];
    const int t = threadIdx.x;                        // 288 threads = 256 starts + 32 tail samples
    const int base = blockIdx.x * 256;
    const int *row = series + (size_t)blockIdx.y * nout;
    csum[0][t + 1] = base + t < nout ? row[base + t] : 0;
    if (t == 0) csum[0][0] = csum[1][0] = 0;
    __syncthreads();
    int p = 0;
    for (int s = 1; s < 288; s *= 2) {
        int v = csum[p][t + 1];
        if (t + 1 > s) v += csum[p][t + 1 - s];
        csum[p ^ 1][t + 1] = v;
        p ^= 1;
        __syncthreads();
    }
    cand_t mine = { -1e30f, 0, 0 };
    if (t < 256)
        for (int w = 1; w <= 32; w *= 2)
            if (base + t + w <= nout) {
                const float snr = (csum[p][t + w] - csum[p][t]) / (sigma * sqrtf((float)w));
                if (snr > mine.snr) { mine.snr = snr; mine.width = w; mine.start = base + t; }
            }
    top[t] = mine;
    __syncthreads();
    for (int n = 288; n > 1; n = (n + 1) / 2) {
        const int half = (n + 1) / 2;
        if (t + half < n && top[t + half].snr > top[t].snr) top[t] = top[t + half];
        __syncthreads();
    }
    if (t == 0) best[blockIdx.y * gridDim.x + blockIdx.x] = top[0];
}

/* quick-look image: 8 samples averaged, stored as bytes [dm][t/8] */
__global__ void scrunch8(const int *series, uint8_t *img, int ndm, int nout, int nimg, int lo, int hi)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, d = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nimg || d >= ndm) return;
    int s = 0;
    for (int k = 0; k < 8; k++) s += series[(size_t)d * nout + 8 * i + k];
    s = (s / 8 - lo) * 255 / (hi - lo);
    img[d * nimg + i] = (uint8_t)min(max(s, 0), 255);
}

int main(int argc, char *argv[])
{
    const int ndm = argc > 1 ? atoi(argv[1]) : 36;
    const int nout = argc > 2 ? atoi(argv[2]) : 4001;
    if (ndm > MAX_DM) return 1;

    std::vector<float> delay(NCHAN);
    for (int c = 0; c < NCHAN; c++) {
        const double f = FCH1 + c * FOFF;
        delay[c] = (float)(4148.808 * (1.0 / (f * f) - 1.0 / (FCH1 * FCH1)) / TSAMP);
    }
    auto shift = [&](int c, int idm) { const float d = delay[c] * (float)(idm * DM_STEP); return (int)nearbyintf(d); };
    const int maxdelay = shift(NCHAN - 1, ndm - 1);
    const int nsamp = nout + maxdelay + 1;
    const int pitch = (nsamp + 3) / 4 * 4;
    printf("nsamp %d, maximum delay %d samples\n", nsamp, maxdelay);

    // noise + a dispersed pulse at DM index 20
    std::vector<uint8_t> chan((size_t)NCHAN * pitch, 0), raw((size_t)nsamp * NCHAN / 2);
    uint32_t x = 123456789u;
    for (int t = 0; t < nsamp; t++)
        for (int c = 0; c < NCHAN; c++) {
            x ^= x << 13; x ^= x >> 17; x ^= x << 5;
            int v = 4 + (x & 3) + (x >> 8 & 3);
            const int tt = t - shift(c, 20);
            if (tt >= 1500 && tt < 1508) v += 3;
            chan[(size_t)c * pitch + t] = (uint8_t)v;
        }
    for (int t = 0; t < nsamp; t++)
        for (int c = 0; c < NCHAN; c += 2)
            raw[((size_t)t * NCHAN + c) / 2] = chan[(size_t)c * pitch + t] | chan[(size_t)(c + 1) * pitch + t] << 4;

    uint8_t *d_raw, *d_fil, *d_img;
    int *d_zdm, *d_out;
    cand_t *d_best;
    const int nwin = (nout + 255) / 256, nimg = nout / 8;
    GPU(cudaMalloc(&d_raw, raw.size()));
    GPU(cudaMalloc(&d_fil, chan.size()));
    GPU(cudaMalloc(&d_img, ndm * nimg));
    GPU(cudaMalloc(&d_zdm, nsamp * sizeof(int)));
    GPU(cudaMalloc(&d_out, (size_t)ndm * nout * sizeof(int)));
    GPU(cudaMalloc(&d_best, ndm * nwin * sizeof(cand_t)));
    GPU(cudaMemset(d_fil, 0, chan.size()));
    GPU(cudaMemcpy(d_raw, raw.data(), raw.size(), cudaMemcpyHostToDevice));
    GPU(cudaMemcpyToSymbol(c_delay_per_dm, delay.data(), NCHAN * sizeof(float)));

    const float sigma = 128.f * sqrtf(128.f * 2.5f);
    const int lo = -20000, hi = 60000;
    unpack_and_turn<<<dim3((nsamp + 31) / 32, NCHAN / 64), dim3(32, 8)>>>(d_raw, d_fil, nsamp, pitch);
    zero_dm<<<(nsamp / 4 + 128) / 128, 128>>>(d_fil, d_zdm, nsamp, pitch);
    dedisperse<<<dim3((nout + 191) / 192, ndm), 192>>>(d_fil, d_zdm, d_out, nout, pitch);
    boxcar_search<<<dim3(nwin, ndm), 288>>>(d_out, d_best, nout, sigma);
    scrunch8<<<dim3((nimg + 31) / 32, (ndm + 4) / 5), dim3(32, 5)>>>(d_out, d_img, ndm, nout, nimg, lo, hi);
    GPU(cudaGetLastError());
    GPU(cudaDeviceSynchronize());

    std::vector<uint8_t> fil(chan.size()), img(ndm * nimg);
    std::vector<int> out((size_t)ndm * nout), zdm(nsamp, 0);
    std::vector<cand_t> best(ndm * nwin);
    GPU(cudaMemcpy(fil.data(), d_fil, fil.size(), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(img.data(), d_img, img.size(), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(best.data(), d_best, best.size() * sizeof(cand_t), cudaMemcpyDeviceToHost));

    int nerr = 0;
    if (fil != chan) { printf("corner turn wrong\n"); nerr++; }
    for (int c = 0; c < NCHAN; c++) for (int t = 0; t < nsamp; t++) zdm[t] += chan[(size_t)c * pitch + t];
    for (int d = 0; d < ndm; d++)
        for (int t = 0; t < nout; t++) {
            int s = 0, z = 0;
            for (int c = 0; c < NCHAN; c++) {
                const int k = t + shift(c, d);
                s += chan[(size_t)c * pitch + k];
                z += zdm[k];
            }
            if (out[(size_t)d * nout + t] != NCHAN * s - z) nerr++;
        }
    if (nerr) printf("%d errors after dedispersion\n", nerr);
    float gbest = -1;
    int gd = 0, gw = 0, gs = 0;
    for (int d = 0; d < ndm; d++)
        for (int w = 0; w < nwin; w++) {
            float ref = -1e30f;
            for (int s = w * 256; s < std::min(nout, w * 256 + 256); s++) {
                long sum = 0;
                for (int k = 0; k < 32 && s + k < nout; k++) {
                    sum += out[(size_t)d * nout + s + k];
                    const int width = k + 1;
                    if ((width & (width - 1)) == 0) ref = fmaxf(ref, sum / (sigma * sqrtf((float)width)));
                }
            }
            const cand_t b = best[d * nwin + w];
            if (!(fabsf(b.snr - ref) <= 1e-4f * (1 + fabsf(ref)))) nerr++;
            if (b.snr > gbest) { gbest = b.snr; gd = d; gw = b.width; gs = b.start; }
        }
    for (int d = 0; d < ndm; d++)
        for (int i = 0; i < nimg; i++) {
            int s = 0;
            for (int k = 0; k < 8; k++) s += out[(size_t)d * nout + 8 * i + k];
            s = std::min(std::max((s / 8 - lo) * 255 / (hi - lo), 0), 255);
            if (img[d * nimg + i] != s) nerr++;
        }
    printf("best candidate: DM %.1f  S/N %.1f  width %d  sample %d\n", gd * DM_STEP, gbest, gw, gs);

    cudaFree(d_raw); cudaFree(d_fil); cudaFree(d_img); cudaFree(d_zdm); cudaFree(d_out); cudaFree(d_best);
    puts(nerr ? "FAIL" : "PASS");
    return nerr != 0;
}
