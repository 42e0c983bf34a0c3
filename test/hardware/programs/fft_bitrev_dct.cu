/* Lecture 9: butterflies.
 *   bitrev_permute   out[bitrev(i)] = in[i] for every row of a batch       (scattered writes)
 *   fft_radix2       in-place radix-2 FFT of 1024 points in shared memory  (expects permuted rows)
 *   dct8x8           separable 8x8 DCT-II of image blocks, 4 blocks per thread block
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define LOGN 10
#define NPT (1 << LOGN)
#define ROWS 1024
#define IMG_W 1024
#define IMG_H 512
#define PI_D 3.14159265358979323846

__constant__ float dctCoef[8][8];

__global__ void bitrev_permute(const float2 *in, float2 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    int j = (int)(__brev((unsigned)i) >> (32 - LOGN));
    out[row * NPT + j] = in[row * NPT + i];
}

__device__ inline float2 cmul(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* 512 threads, one butterfly per thread and stage; twiddles from a table of NPT/2 entries */
__global__ void fft_radix2(float2 *data, const float2 *twiddle)
{
    extern __shared__ float2 s[];
    float2 *row = data + (size_t)blockIdx.x * NPT;
    int t = threadIdx.x;

    s[t] = row[t];
    s[t + NPT / 2] = row[t + NPT / 2];
    __syncthreads();
    for (int half = 1; half < NPT; half <<= 1) {
        int k = t & (half - 1);                 /* position inside the butterfly group */
        int lo = ((t - k) << 1) + k;
        int hi = lo + half;
        float2 w = twiddle[k * (NPT / 2 / half)];
        float2 a = s[lo];
        float2 b = cmul(w, s[hi]);
        s[lo] = make_float2(a.x + b.x, a.y + b.y);
        s[hi] = make_float2(a.x - b.x, a.y - b.y);
        __syncthreads();
    }
    row[t] = s[t];
    row[t + NPT / 2] = s[t + NPT / 2];
}

/* block (8,8,4): z picks one of four neighbouring 8x8 tiles of the image */
__global__ void dct8x8(const float *img, float *out)
{
    __shared__ float a[4][8][8];
    __shared__ float b[4][8][8];
    int u = threadIdx.x, v = threadIdx.y, z = threadIdx.z;
    int x = (blockIdx.x * 4 + z) * 8 + u;
    int y = blockIdx.y * 8 + v;
    float acc = 0.0f;

    a[z][v][u] = img[y * IMG_W + x];
    __syncthreads();
    for (int k = 0; k < 8; k++)                 /* rows */
        acc += dctCoef[u][k] * a[z][v][k];      /* constant memory with a different word per lane */
    b[z][v][u] = acc;
    __syncthreads();
    acc = 0.0f;
    for (int k = 0; k < 8; k++)                 /* columns */
        acc += dctCoef[v][k] * b[z][k][u];
    out[y * IMG_W + x] = acc;
}

static void fft_cpu(std::vector<double> &re, std::vector<double> &im)
{
    for (int i = 1, j = 0; i < NPT; i++) {
        int bit = NPT >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) { std::swap(re[i], re[j]); std::swap(im[i], im[j]); }
    }
    for (int len = 2; len <= NPT; len <<= 1)
        for (int i = 0; i < NPT; i += len)
            for (int k = 0; k < len / 2; k++) {
                double c = cos(-2 * PI_D * k / len), d = sin(-2 * PI_D * k / len);
                int p = i + k, q = p + len / 2;
                double tr = c * re[q] - d * im[q], ti = c * im[q] + d * re[q];
                re[q] = re[p] - tr; im[q] = im[p] - ti;
                re[p] += tr;        im[p] += ti;
            }
}

int main()
{
    std::vector<float2> sig((size_t)ROWS * NPT), spec(sig.size()), tw(NPT / 2);
    std::vector<float> img((size_t)IMG_W * IMG_H), coef(img.size());
    float hc[8][8];
    int bad = 0;

    srand(3);
    for (auto &c : sig) { c.x = rand() / (float)RAND_MAX - 0.5f; c.y = rand() / (float)RAND_MAX - 0.5f; }
    for (auto &p : img) p = (float)(rand() % 256) - 128.0f;
    for (int k = 0; k < NPT / 2; k++)
        tw[k] = make_float2((float)cos(2 * PI_D * k / NPT), (float)-sin(2 * PI_D * k / NPT));
    for (int u = 0; u < 8; u++)
        for (int x = 0; x < 8; x++)
            hc[u][x] = (float)((u ? 0.5 : sqrt(0.125)) * cos((2 * x + 1) * u * PI_D / 16));

    float2 *d_in, *d_out, *d_tw;
    float *d_img, *d_coef;
    cudaMalloc(&d_in, sig.size() * sizeof(float2));
    cudaMalloc(&d_out, sig.size() * sizeof(float2));
    cudaMalloc(&d_tw, tw.size() * sizeof(float2));
    cudaMalloc(&d_img, img.size() * sizeof(float));
    cudaMalloc(&d_coef, img.size() * sizeof(float));
    cudaMemcpy(d_in, sig.data(), sig.size() * sizeof(float2), cudaMemcpyHostToDevice);
    cudaMemcpy(d_tw, tw.data(), tw.size() * sizeof(float2), cudaMemcpyHostToDevice);
    cudaMemcpy(d_img, img.data(), img.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(dctCoef, hc, sizeof(hc));

    bitrev_permute<<<dim3(NPT / 256, ROWS), 256>>>(d_in, d_out);
    fft_radix2<<<ROWS, NPT / 2, NPT * sizeof(float2)>>>(d_out, d_tw);
    dct8x8<<<dim3(IMG_W / 32, IMG_H / 8), dim3(8, 8, 4)>>>(d_img, d_coef);
    if (cudaDeviceSynchronize() != cudaSuccess) bad++;
    cudaMemcpy(spec.data(), d_out, spec.size() * sizeof(float2), cudaMemcpyDeviceToHost);
    cudaMemcpy(coef.data(), d_coef, coef.size() * sizeof(float), cudaMemcpyDeviceToHost);

    std::vector<double> re(NPT), im(NPT);
    for (int r = 0; r < ROWS; r += 13) {
        for (int i = 0; i < NPT; i++) { re[i] = sig[(size_t)r * NPT + i].x; im[i] = sig[(size_t)r * NPT + i].y; }
        fft_cpu(re, im);
        for (int i = 0; i < NPT; i++)
            if (!(fabs(re[i] - spec[(size_t)r * NPT + i].x) < 1e-3 && fabs(im[i] - spec[(size_t)r * NPT + i].y) < 1e-3)) bad++;
    }
    for (int by = 0; by < IMG_H; by += 24)
        for (int bx = 0; bx < IMG_W; bx += 8)
            for (int v = 0; v < 8; v++)
                for (int u = 0; u < 8; u++) {
                    double s = 0;
                    for (int y = 0; y < 8; y++)
                        for (int x = 0; x < 8; x++) s += (double)hc[v][y] * hc[u][x] * img[(by + y) * IMG_W + bx + x];
                    if (!(fabs(s - coef[(by + v) * IMG_W + bx + u]) < 1e-2)) bad++;
                }
    printf(bad ? "FAIL (%d)\n" : "PASS (%d bad)\n", bad);
    return bad ? 1 : 0;
}
