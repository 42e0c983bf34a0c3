// 2-D CDF 5/3 wavelet shrinkage denoising (VisuShrink style threshold)
// Three decomposition levels, MAD noise estimate from the HH1 band.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <random>
#include <cuda_runtime.h>

#define CK(call)                                                         \
    do {                                                                 \
        cudaError_t e_ = (call);                                         \
        if (e_ != cudaSuccess) {                                         \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,            \
                    cudaGetErrorString(e_));                             \
            exit(2);                                                     \
        }                                                                \
    } while (0)

static const int N = 1024;      // image is N x N
static const int LEVELS = 3;
static const int NBINS = 512;
static const float BIN_WIDTH = 0.25f;

// One block per image row. The whole row sits in shared memory, the lifting
// steps touch even and odd samples alternately.
__global__ void rows_forward(const float *src, float *dst, int w, int pitch)
{
    extern __shared__ float s[];
    int row = blockIdx.x;
    int half = w / 2;

    for (int x = threadIdx.x; x < w; x += blockDim.x)
        s[x] = src[row * pitch + x];
    __syncthreads();

    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        float left = s[2 * i];
        float right = (2 * i + 2 < w) ? s[2 * i + 2] : left;
        s[2 * i + 1] -= 0.5f * (left + right);
    }
    __syncthreads();

    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        float dr = s[2 * i + 1];
        float dl = (i > 0) ? s[2 * i - 1] : dr;
        s[2 * i] += 0.25f * (dl + dr);
    }
    __syncthreads();

    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        dst[row * pitch + i] = s[2 * i];
        dst[row * pitch + half + i] = s[2 * i + 1];
    }
}

// One thread per column, marching down the image and carrying the previous
// detail coefficient in a register.
__global__ void cols_forward(const float *src, float *dst, int w, int h, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w)
        return;
    int half = h / 2;
    float even = src[x];
    float dprev = 0.0f;
    for (int i = 0; i < half; i++) {
        float odd = src[(2 * i + 1) * pitch + x];
        float next = even;
        if (2 * i + 2 < h)
            next = src[(2 * i + 2) * pitch + x];
        float d = odd - 0.5f * (even + next);
        if (i == 0)
            dprev = d;
        dst[i * pitch + x] = even + 0.25f * (dprev + d);
        dst[(half + i) * pitch + x] = d;
        dprev = d;
        even = next;
    }
}

// histogram of |HH1|
__global__ void detail_histogram(const float *coef, unsigned int *hist, int n, float inv_width)
{
    __shared__ unsigned int local[512];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int nt = blockDim.x * blockDim.y;
    for (int b = tid; b < 512; b += nt)
        local[b] = 0;
    __syncthreads();

    int half = n / 2;
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < half; y += gridDim.y * blockDim.y) {
        if (x < half) {
            float v = fabsf(coef[(half + y) * n + half + x]);
            int bin = (int)(v * inv_width);
            if (bin > 511)
                bin = 511;
            atomicAdd(&local[bin], 1u);
        }
    }
    __syncthreads();
    for (int b = tid; b < 512; b += nt) {
        if (local[b] > 0)
            atomicAdd(&hist[b], local[b]);
    }
}

__global__ void soft_threshold(float4 *coef, int n, int keep, float t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = n * n / 4;
    if (i >= total)
        return;
    int y = (i * 4) / n;
    int x = (i * 4) % n;
    if (y < keep && x < keep)
        return;                       // approximation band stays as it is
    float4 v = coef[i];
    v.x = copysignf(fmaxf(fabsf(v.x) - t, 0.0f), v.x);
    v.y = copysignf(fmaxf(fabsf(v.y) - t, 0.0f), v.y);
    v.z = copysignf(fmaxf(fabsf(v.z) - t, 0.0f), v.z);
    v.w = copysignf(fmaxf(fabsf(v.w) - t, 0.0f), v.w);
    coef[i] = v;
}

// Each thread rebuilds one even/odd pair of a column. blockDim = (8, 32):
// threads run down the column quickly so that the neighbours are cached.
__global__ void cols_inverse(const float *src, float *dst, int w, int h, int pitch)
{
    int i = blockIdx.x * blockDim.y + threadIdx.y;
    int x = blockIdx.y * blockDim.x + threadIdx.x;
    int half = h / 2;
    if (i >= half || x >= w)
        return;
    int im = (i > 0) ? i - 1 : 0;
    float d0 = src[(half + im) * pitch + x];
    float d1 = src[(half + i) * pitch + x];
    float e0 = src[i * pitch + x] - 0.25f * (d0 + d1);
    float e1 = e0;
    if (i + 1 < half) {
        float d2 = src[(half + i + 1) * pitch + x];
        e1 = src[(i + 1) * pitch + x] - 0.25f * (d1 + d2);
    }
    dst[2 * i * pitch + x] = e0;
    dst[(2 * i + 1) * pitch + x] = d1 + 0.5f * (e0 + e1);
}

__global__ void rows_inverse(const float *src, float *dst, int w, int pitch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    int half = w / 2;
    if (i >= half)
        return;
    const float *lo = src + row * pitch;
    const float *hi = lo + half;
    float d1 = hi[i];
    float d0 = (i > 0) ? hi[i - 1] : d1;
    float e0 = lo[i] - 0.25f * (d0 + d1);
    float e1 = e0;
    if (i + 1 < half)
        e1 = lo[i + 1] - 0.25f * (d1 + hi[i + 1]);
    dst[row * pitch + 2 * i] = e0;
    dst[row * pitch + 2 * i + 1] = d1 + 0.5f * (e0 + e1);
}

// ---------------- CPU reference ----------------
static void line_forward(std::vector<float> &a)
{
    int w = (int)a.size();
    int h = w / 2;
    for (int i = 0; i < h; i++) {
        float r = (2 * i + 2 < w) ? a[2 * i + 2] : a[2 * i];
        a[2 * i + 1] -= 0.5f * (a[2 * i] + r);
    }
    for (int i = 0; i < h; i++) {
        float l = (i > 0) ? a[2 * i - 1] : a[2 * i + 1];
        a[2 * i] += 0.25f * (l + a[2 * i + 1]);
    }
    std::vector<float> t(w);
    for (int i = 0; i < h; i++) {
        t[i] = a[2 * i];
        t[h + i] = a[2 * i + 1];
    }
    a.swap(t);
}

static void line_inverse(std::vector<float> &a)
{
    int w = (int)a.size();
    int h = w / 2;
    std::vector<float> t(w);
    for (int i = 0; i < h; i++) {
        float l = (i > 0) ? a[h + i - 1] : a[h];
        t[2 * i] = a[i] - 0.25f * (l + a[h + i]);
    }
    for (int i = 0; i < h; i++) {
        float r = (2 * i + 2 < w) ? t[2 * i + 2] : t[2 * i];
        t[2 * i + 1] = a[h + i] + 0.5f * (t[2 * i] + r);
    }
    a.swap(t);
}

static void cpu_pass(std::vector<float> &img, int size, bool forward)
{
    std::vector<float> line(size);
    for (int pass = 0; pass < 2; pass++) {
        bool rows = forward ? (pass == 0) : (pass == 1);
        for (int k = 0; k < size; k++) {
            for (int i = 0; i < size; i++)
                line[i] = rows ? img[k * N + i] : img[i * N + k];
            if (forward)
                line_forward(line);
            else
                line_inverse(line);
            for (int i = 0; i < size; i++) {
                if (rows)
                    img[k * N + i] = line[i];
                else
                    img[i * N + k] = line[i];
            }
        }
    }
}

int main()
{
    std::mt19937 gen(1234);
    std::vector<float> clean(N * N), noisy(N * N);
    for (int y = 0; y < N; y++) {
        for (int x = 0; x < N; x++) {
            float v = 100.0f + 50.0f * sinf(x * 0.013f) * cosf(y * 0.009f);
            if ((x - 600) * (x - 600) + (y - 400) * (y - 400) < 150 * 150)
                v += 40.0f;
            float noise = 0.0f;
            for (int k = 0; k < 6; k++)
                noise += (float)(gen() & 0xffff) / 65536.0f - 0.5f;
            clean[y * N + x] = v;
            noisy[y * N + x] = v + 14.0f * noise;
        }
    }

    float *d_a, *d_b;
    unsigned int *d_hist;
    size_t bytes = (size_t)N * N * sizeof(float);
    CK(cudaMalloc(&d_a, bytes));
    CK(cudaMalloc(&d_b, bytes));
    CK(cudaMalloc(&d_hist, NBINS * sizeof(unsigned int)));
    CK(cudaMemcpy(d_a, noisy.data(), bytes, cudaMemcpyHostToDevice));
    CK(cudaMemset(d_hist, 0, NBINS * sizeof(unsigned int)));

    for (int l = 0; l < LEVELS; l++) {
        int s = N >> l;
        rows_forward<<<s, 256, s * sizeof(float)>>>(d_a, d_b, s, N);
        cols_forward<<<(s + 127) / 128, 128>>>(d_b, d_a, s, s, N);
    }
    CK(cudaGetLastError());

    dim3 hb(32, 8);
    dim3 hg(N / 2 / 32, 8);
    detail_histogram<<<hg, hb>>>(d_a, d_hist, N, 1.0f / BIN_WIDTH);
    std::vector<unsigned int> hist(NBINS);
    CK(cudaMemcpy(hist.data(), d_hist, NBINS * sizeof(unsigned int), cudaMemcpyDeviceToHost));

    unsigned int total = 0;
    for (int b = 0; b < NBINS; b++)
        total += hist[b];
    unsigned int run = 0;
    int med = 0;
    for (; med < NBINS; med++) {
        run += hist[med];
        if (run * 2 >= total)
            break;
    }
    float mad = (med + 0.5f) * BIN_WIDTH;
    float thr = 2.5f * mad / 0.6745f;

    int nq = N * N / 4;
    soft_threshold<<<(nq + 255) / 256, 256>>>((float4 *)d_a, N, N >> LEVELS, thr);

    for (int l = LEVELS - 1; l >= 0; l--) {
        int s = N >> l;
        dim3 cb(8, 32);
        dim3 cg((s / 2 + 31) / 32, (s + 7) / 8);
        cols_inverse<<<cg, cb>>>(d_a, d_b, s, s, N);
        dim3 rg((s / 2 + 127) / 128, s);
        rows_inverse<<<rg, 128>>>(d_b, d_a, s, N);
    }
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    std::vector<float> out(N * N);
    CK(cudaMemcpy(out.data(), d_a, bytes, cudaMemcpyDeviceToHost));

    // reference
    std::vector<float> ref = noisy;
    for (int l = 0; l < LEVELS; l++)
        cpu_pass(ref, N >> l, true);
    std::vector<float> hh;
    for (int y = N / 2; y < N; y++)
        for (int x = N / 2; x < N; x++)
            hh.push_back(fabsf(ref[y * N + x]));
    std::nth_element(hh.begin(), hh.begin() + hh.size() / 2, hh.end());
    float cpu_mad = hh[hh.size() / 2];
    int keep = N >> LEVELS;
    for (int y = 0; y < N; y++) {
        for (int x = 0; x < N; x++) {
            if (y < keep && x < keep)
                continue;
            float v = ref[y * N + x];
            ref[y * N + x] = copysignf(std::max(fabsf(v) - thr, 0.0f), v);
        }
    }
    for (int l = LEVELS - 1; l >= 0; l--)
        cpu_pass(ref, N >> l, false);

    double maxerr = 0, mse_noisy = 0, mse_out = 0;
    for (int i = 0; i < N * N; i++) {
        maxerr = std::max(maxerr, (double)fabsf(out[i] - ref[i]));
        mse_noisy += (noisy[i] - clean[i]) * (noisy[i] - clean[i]);
        mse_out += (out[i] - clean[i]) * (out[i] - clean[i]);
    }
    bool ok = total == (unsigned)(N / 2) * (N / 2) && maxerr < 0.02 &&
              fabsf(mad - cpu_mad) < 2 * BIN_WIDTH && mse_out < mse_noisy;
    printf("mad %.3f (cpu %.3f) maxerr %g mse %.2f -> %.2f : %s\n", mad, cpu_mad, maxerr,
           mse_noisy / (N * N), mse_out / (N * N), ok ? "PASS" : "FAIL");
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_hist);
    return ok ? 0 : 1;
}
