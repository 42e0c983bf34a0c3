// A U-Net decoder block, inference: nearest upsample + concat (NCHW), 3x3 convolution by implicit GEMM with a choice of
// tiles, GroupNorm + SiLU, 1x1 convolution with int8 weights (per-channel scales), pixel shuffle, max pool.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstdint>
#include <algorithm>
#include <vector>

#define CUDA_ASSERT(x) do { auto e = (x); if (e) { printf("%s:%d %s\nFAIL\n", __FILE__, __LINE__, cudaGetErrorString((cudaError_t)e)); exit(1); } } while (0)

struct Tensor4 { int n, c, h, w; __host__ __device__ int size() const { return n * c * h * w; } };

__host__ __device__ inline int divUp(int a, int b) { return (a + b - 1) / b; }

__global__ void upsampleConcat(const float* __restrict__ low, const float* __restrict__ skip, float* __restrict__ out, Tensor4 lo, int skipC)
{
    const Tensor4 o{lo.n, lo.c + skipC, lo.h * 2, lo.w * 2};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < o.size(); i += blockDim.x * gridDim.x) {
        const int x = i % o.w, y = i / o.w % o.h, c = i / (o.w * o.h) % o.c, b = i / (o.w * o.h * o.c);
        out[i] = c < lo.c ? low[((b * lo.c + c) * lo.h + y / 2) * lo.w + x / 2]
                          : skip[((b * skipC + c - lo.c) * o.h + y) * o.w + x];
    }
}

// C[K_out x pixels] = W[K_out x CRS] * im2col[CRS x pixels]; BM x BN block tile, BK deep, TM x TN a thread
template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
convImplicit(const float* __restrict__ in, const float* __restrict__ wgt, const float* __restrict__ bias, float* __restrict__ out, Tensor4 s, int K)
{
    constexpr int THREADS = (BM / TM) * (BN / TN);
    __shared__ float As[BK][BM + 4];
    __shared__ float Bs[BK][BN];
    const int crs = s.c * 9, pixels = s.h * s.w;
    const int tid = threadIdx.x;
    const int tr = tid / (BN / TN), tc = tid % (BN / TN);
    const int m0 = blockIdx.y * BM, p0 = blockIdx.x * BN;
    const float* img = in + (size_t)blockIdx.z * s.c * pixels;
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < crs; k0 += BK) {
        for (int e = tid; e < BM * BK; e += THREADS) {
            const int m = e / BK, k = e % BK;
            As[k][m] = m0 + m < K && k0 + k < crs ? wgt[(m0 + m) * crs + k0 + k] : 0.f;
        }
        for (int e = tid; e < BN * BK; e += THREADS) {
            const int p = p0 + e % BN, k = k0 + e / BN;
            const int c = k / 9, r = k % 9 / 3 - 1, q = k % 3 - 1;
            const int y = p / s.w + r, x = p % s.w + q;
            const bool in_image = p < pixels && k < crs && y >= 0 && y < s.h && x >= 0 && x < s.w;
            Bs[e / BN][e % BN] = in_image ? img[(c * s.h + y) * s.w + x] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) a[i] = As[k][tr * TM + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][tc + j * (BN / TN)];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        const int m = m0 + tr * TM + i;
        if (m >= K) break;
        for (int j = 0; j < TN; ++j) {
            const int p = p0 + tc + j * (BN / TN);
            if (p < pixels) out[((size_t)blockIdx.z * K + m) * pixels + p] = acc[i][j] + bias[m];
        }
    }
}

// a block normalises one group of one image, in place
__global__ void groupNormSilu(float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta, int channels, int groups, int pixels)
{
    __shared__ float2 part[8];
    const int perGroup = channels / groups, g = blockIdx.x % groups, b = blockIdx.x / groups;
    float* base = x + ((size_t)b * channels + g * perGroup) * pixels;
    const int count = perGroup * pixels;
    float2 s = make_float2(0.f, 0.f);
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const float v = base[i];
        s.x += v;
        s.y += v * v;
    }
    for (int m = 16; m; m >>= 1) {
        s.x += __shfl_xor_sync(~0u, s.x, m);
        s.y += __shfl_xor_sync(~0u, s.y, m);
    }
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
    __syncthreads();
    float2 t = make_float2(0.f, 0.f);
    for (int w = 0; w < blockDim.x / 32; ++w) {
        t.x += part[w].x;
        t.y += part[w].y;
    }
    const float mean = t.x / count, inv = rsqrtf(t.y / count - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int c = g * perGroup + i / pixels;
        const float v = (base[i] - mean) * inv * gamma[c] + beta[c];
        base[i] = v / (1.f + expf(-v));
    }
}

// int8 weights, four input channels a word; activations quantised on the fly per tensor
__global__ void quantise(const float* __restrict__ x, int8_t* __restrict__ q, float scale, int channels, int pixels)
{
    // NCHW float -> [pixel][channel] int8
    const int p = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    if (p < pixels) q[p * channels + c] = (int8_t)max(-127, min(127, __float2int_rn(x[c * pixels + p] * scale)));
}

__global__ void conv1x1Int8(const int* __restrict__ q, const int* __restrict__ w, const float* __restrict__ wscale, float* __restrict__ out, float xscale, int c4, int K, int pixels)
{
    extern __shared__ int sw[];     // K x c4
    for (int i = threadIdx.x; i < K * c4; i += blockDim.x) sw[i] = w[i];
    __syncthreads();
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels) return;
    for (int k = 0; k < K; ++k) {
        int acc = 0;
        for (int c = 0; c < c4; ++c) acc = __dp4a(q[p * c4 + c], sw[k * c4 + c], acc);
        out[k * pixels + p] = acc * wscale[k] * xscale;
    }
}

// [4C][H][W] -> [C][2H][2W]
__global__ void pixelShuffle(const float* __restrict__ in, float* __restrict__ out, int C, int H, int W)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
    if (x < 2 * W && y < 2 * H)
        out[(c * 2 * H + y) * 2 * W + x] = in[((c * 4 + (y & 1) * 2 + (x & 1)) * H + y / 2) * W + x / 2];
}

void runConv(int tile, const float* in, const float* w, const float* b, float* out, Tensor4 s, int K)
{
    const int pixels = s.h * s.w;
    switch (tile) {
    case 0: convImplicit<32, 64, 8, 4, 4><<<dim3(divUp(pixels, 64), divUp(K, 32), s.n), 128>>>(in, w, b, out, s, K); break;
    case 1: convImplicit<32, 32, 16, 2, 4><<<dim3(divUp(pixels, 32), divUp(K, 32), s.n), 128>>>(in, w, b, out, s, K); break;
    default: printf("tile?\nFAIL\n"); exit(1);
    }
    CUDA_ASSERT(cudaGetLastError());
}

static float* dev(const std::vector<float>& v)
{
    float* p;
    CUDA_ASSERT(cudaMalloc(&p, v.size() * 4));
    CUDA_ASSERT(cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice));
    return p;
}
static std::vector<float> fetch(const float* p, size_t n)
{
    std::vector<float> v(n);
    CUDA_ASSERT(cudaMemcpy(v.data(), p, n * 4, cudaMemcpyDeviceToHost));
    return v;
}

int main()
{
    const Tensor4 lo{2, 8, 13, 15};
    const int skipC = 4, K = 40, groups = 8, H = lo.h * 2, W = lo.w * 2, P = H * W, C = lo.c + skipC;
    unsigned seed = 77;
    auto noise = [&](size_t n, float a) { std::vector<float> v(n); for (auto& x : v) { seed = seed * 69069u + 1u; x = a * ((seed >> 8) / 8388608.f - 1.f); } return v; };
    auto low = noise(lo.size(), 1), skip = noise(lo.n * skipC * P, 1), wgt = noise(K * C * 9, 0.2f), bias = noise(K, 0.5f), gamma = noise(K, 1), beta = noise(K, 1);
    float *dLow = dev(low), *dSkip = dev(skip), *dW = dev(wgt), *dB = dev(bias), *dG = dev(gamma), *dBe = dev(beta);
    float *dCat = dev(std::vector<float>(lo.n * C * P)), *dC0 = dev(std::vector<float>(lo.n * K * P)), *dC1 = dev(std::vector<float>(lo.n * K * P));
    upsampleConcat<<<30, 256>>>(dLow, dSkip, dCat, lo, skipC);
    const Tensor4 full{lo.n, C, H, W};
    runConv(0, dCat, dW, dB, dC0, full, K);
    runConv(1, dCat, dW, dB, dC1, full, K);
    auto conv0 = fetch(dC0, lo.n * K * P), conv1 = fetch(dC1, lo.n * K * P);
    groupNormSilu<<<lo.n * groups, 256>>>(dC0, dG, dBe, K, groups, P);
    auto norm = fetch(dC0, lo.n * K * P);

    const int K2 = 12;
    int8_t* dQ;
    CUDA_ASSERT(cudaMalloc(&dQ, P * K));
    std::vector<int8_t> w8(K2 * K);
    for (auto& v : w8) { seed = seed * 69069u + 1u; v = (int8_t)(seed >> 24); }
    auto ws = noise(K2, 0.01f);
    int* dW8;
    CUDA_ASSERT(cudaMalloc(&dW8, w8.size()));
    CUDA_ASSERT(cudaMemcpy(dW8, w8.data(), w8.size(), cudaMemcpyHostToDevice));
    float *dWs = dev(ws), *dPw = dev(std::vector<float>(K2 * P)), *dShuf = dev(std::vector<float>(K2 * P));
    quantise<<<dim3(divUp(P, 128), K), 128>>>(dC0, dQ, 40.f, K, P);
    conv1x1Int8<<<divUp(P, 64), 64, K2 * K>>>((const int*)dQ, dW8, dWs, dPw, 1.f / 40.f, K / 4, K2, P);
    pixelShuffle<<<dim3(divUp(2 * W, 32), divUp(2 * H, 8), K2 / 4), dim3(32, 8)>>>(dPw, dShuf, K2 / 4, H, W);
    CUDA_ASSERT(cudaDeviceSynchronize());
    auto shuf = fetch(dShuf, K2 * P);

    int bad = 0;
    auto cat = [&](int b, int c, int y, int x) { return y < 0 || x < 0 || y >= H || x >= W ? 0.f : c < lo.c ? low[((b * lo.c + c) * lo.h + y / 2) * lo.w + x / 2] : skip[((b * skipC + c - lo.c) * H + y) * W + x]; };
    for (int b = 0; b < lo.n; ++b)
        for (int k = 0; k < K; ++k)
            for (int p = 0; p < P; p += 3) {
                double a = bias[k];
                for (int c = 0; c < C; ++c)
                    for (int t = 0; t < 9; ++t) a += wgt[(k * C + c) * 9 + t] * cat(b, c, p / W + t / 3 - 1, p % W + t % 3 - 1);
                const size_t i = ((size_t)b * K + k) * P + p;
                if (fabs(conv0[i] - a) > 1e-3 || fabs(conv1[i] - a) > 1e-3) ++bad;
            }
    for (int g = 0; g < lo.n * groups; ++g) {
        const int n = K / groups * P;
        const float* v = &conv0[(size_t)g * n];
        double m = 0, q = 0;
        for (int i = 0; i < n; ++i) { m += v[i] / n; q += (double)v[i] * v[i] / n; }
        for (int i = 0; i < n; i += 5) {
            const int c = g % groups * (K / groups) + i / P;
            const double y = (v[i] - m) / sqrt(q - m * m + 1e-5) * gamma[c] + beta[c];
            if (fabs(norm[(size_t)g * n + i] - y / (1 + exp(-y))) > 1e-3) ++bad;
        }
    }
    for (int k = 0; k < K2; ++k)
        for (int p = 0; p < P; ++p) {
            int a = 0;
            for (int c = 0; c < K; ++c) a += (int)w8[k * K + c] * std::max(-127, std::min(127, (int)lrintf(norm[c * P + p] * 40.f)));
            const int y = 2 * (p / W) + (k % 4) / 2, x = 2 * (p % W) + k % 2;
            if (fabs(shuf[(k / 4 * 2 * H + y) * 2 * W + x] - a * ws[k] / 40.f) > 1e-3) ++bad;
        }
    printf("%d bad values\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
