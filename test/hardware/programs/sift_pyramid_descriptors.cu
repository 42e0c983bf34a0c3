// Small SIFT-like feature extractor: gaussian pyramid, DoG, extrema, orientation-free descriptors.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t e_ = (call);                                                 \
        if (e_ != cudaSuccess) {                                                 \
            std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            std::exit(2);                                                        \
        }                                                                        \
    } while (0)

constexpr int kRadius = 6;
constexpr int kTaps = 2 * kRadius + 1;
constexpr int kScales = 4;
constexpr int kMaxKeys = 4096;

__constant__ float c_gauss[kScales][kTaps];

struct ImageView {
    float* data;
    int width;
    int height;
    size_t pitch;  // in bytes
};

__device__ __forceinline__ float* rowPtr(const ImageView& im, int y)
{
    return reinterpret_cast<float*>(reinterpret_cast<char*>(im.data) + y * im.pitch);
}

template <int TX, int TY>
__global__ void blurRows(ImageView src, ImageView dst, int scale)
{
    __shared__ float tile[TY][TX + 2 * kRadius];
    const int x0 = blockIdx.x * TX;
    const int y = blockIdx.y * TY + threadIdx.y;
    const int yc = min(y, src.height - 1);
    const float* in = rowPtr(src, yc);
    for (int i = threadIdx.x; i < TX + 2 * kRadius; i += TX) {
        int gx = x0 + i - kRadius;
        gx = min(max(gx, 0), src.width - 1);
        tile[threadIdx.y][i] = in[gx];
    }
    __syncthreads();
    const int x = x0 + threadIdx.x;
    if (x < src.width && y < src.height) {
        float acc = 0.f;
#pragma unroll
        for (int k = 0; k < kTaps; ++k)
            acc += c_gauss[scale][k] * tile[threadIdx.y][threadIdx.x + k];
        rowPtr(dst, y)[x] = acc;
    }
}

template <int TX, int TY>
__global__ void blurCols(ImageView src, ImageView dst, int scale)
{
    // column-major tile: every thread walks along its own column
    __shared__ float tile[TX][TY + 2 * kRadius];
    const int x = blockIdx.x * TX + threadIdx.x;
    const int y0 = blockIdx.y * TY;
    const int xc = min(x, src.width - 1);
    for (int j = threadIdx.y; j < TY + 2 * kRadius; j += blockDim.y) {
        int gy = min(max(y0 + j - kRadius, 0), src.height - 1);
        tile[threadIdx.x][j] = rowPtr(src, gy)[xc];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < TY; j += blockDim.y) {
        const int y = y0 + j;
        if (x < src.width && y < src.height) {
            float acc = 0.f;
            for (int k = 0; k < kTaps; ++k)
                acc += c_gauss[scale][k] * tile[threadIdx.x][j + k];
            rowPtr(dst, y)[x] = acc;
        }
    }
}

__global__ void subtractDoG(ImageView a, ImageView b, ImageView out)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= a.width || y >= a.height)
        return;
    rowPtr(out, y)[x] = rowPtr(b, y)[x] - rowPtr(a, y)[x];
}

__global__ void decimate(ImageView src, ImageView dst)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= dst.width || y >= dst.height)
        return;
    const float v = rowPtr(src, 2 * y)[2 * x];
    rowPtr(dst, y)[x] = v;
}

struct Keypoint {
    int x;
    int y;
    float response;
    int kind;
};

__global__ void findExtrema(ImageView lo, ImageView mid, ImageView hi, float thr, Keypoint* keys, int* count)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 16 || y < 16 || x >= mid.width - 16 || y >= mid.height - 16)
        return;
    const float v = rowPtr(mid, y)[x];
    if (fabsf(v) < thr)
        return;
    bool isMax = true;
    bool isMin = true;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            const float a = rowPtr(lo, y + dy)[x + dx];
            const float b = rowPtr(hi, y + dy)[x + dx];
            const float c = rowPtr(mid, y + dy)[x + dx];
            const bool centre = (dx == 0 && dy == 0);
            isMax = isMax && v > a && v > b && (centre || v > c);
            isMin = isMin && v < a && v < b && (centre || v < c);
        }
    }
    if (isMax || isMin) {
        const int slot = atomicAdd(count, 1);
        if (slot < kMaxKeys) {
            Keypoint k;
            k.x = x;
            k.y = y;
            k.response = v;
            k.kind = isMax ? 1 : -1;
            keys[slot] = k;
        }
    }
}

// one block of 256 threads per keypoint: 16x16 window, 4x4 cells, 8 bins
__global__ void describe(ImageView im, const Keypoint* keys, const int* count, float* desc)
{
    __shared__ float hist[128];
    __shared__ float warpSum[8];
    const int n = min(*count, kMaxKeys);
    const int t = threadIdx.x;
    for (int k = blockIdx.x; k < n; k += gridDim.x) {
        if (t < 128)
            hist[t] = 0.f;
        __syncthreads();
        const int lx = t & 15;
        const int ly = t >> 4;
        const int x = keys[k].x + lx - 8;
        const int y = keys[k].y + ly - 8;
        const float gx = rowPtr(im, y)[x + 1] - rowPtr(im, y)[x - 1];
        const float gy = rowPtr(im, y + 1)[x] - rowPtr(im, y - 1)[x];
        const float mag = sqrtf(gx * gx + gy * gy);
        const float ang = atan2f(gy, gx) + 3.14159265f;
        int bin = static_cast<int>(ang * (8.f / 6.2831853f));
        bin = min(max(bin, 0), 7);
        atomicAdd(&hist[((ly >> 2) * 4 + (lx >> 2)) * 8 + bin], mag);
        __syncthreads();
        float h = t < 128 ? hist[t] : 0.f;
        float s = h * h;
        for (int o = 16; o > 0; o >>= 1)
            s += __shfl_xor_sync(0xffffffffu, s, o);
        if ((t & 31) == 0)
            warpSum[t >> 5] = s;
        __syncthreads();
        float total = 0.f;
        for (int w = 0; w < 8; ++w)
            total += warpSum[w];
        if (t < 128)
            desc[(size_t)k * 128 + t] = h * rsqrtf(total + 1e-12f);
        __syncthreads();
    }
}

static ImageView makeImage(int w, int h)
{
    ImageView im{};
    im.width = w;
    im.height = h;
    void* p = nullptr;
    CHECK(cudaMallocPitch(&p, &im.pitch, w * sizeof(float), h));
    im.data = static_cast<float*>(p);
    return im;
}

static std::vector<float> pull(const ImageView& im)
{
    std::vector<float> h((size_t)im.width * im.height);
    CHECK(cudaMemcpy2D(h.data(), im.width * sizeof(float), im.data, im.pitch, im.width * sizeof(float), im.height,
                       cudaMemcpyDeviceToHost));
    return h;
}

static void cpuBlur(const std::vector<float>& in, std::vector<float>& out, int w, int h, const float* g)
{
    std::vector<float> tmp(in.size());
    out.resize(in.size());
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            float a = 0.f;
            for (int k = 0; k < kTaps; ++k) {
                int xx = std::min(std::max(x + k - kRadius, 0), w - 1);
                a += g[k] * in[(size_t)y * w + xx];
            }
            tmp[(size_t)y * w + x] = a;
        }
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            float a = 0.f;
            for (int k = 0; k < kTaps; ++k) {
                int yy = std::min(std::max(y + k - kRadius, 0), h - 1);
                a += g[k] * tmp[(size_t)yy * w + x];
            }
            out[(size_t)y * w + x] = a;
        }
}

int main()
{
    const int W = 1000;
    const int H = 720;
    std::mt19937 rng(77);
    std::uniform_real_distribution<float> uni(0.f, 1.f);
    std::vector<float> img((size_t)W * H);
    for (auto& v : img)
        v = 0.1f * uni(rng);
    for (int b = 0; b < 300; ++b) {
        const int cx = 20 + (int)(uni(rng) * (W - 40));
        const int cy = 20 + (int)(uni(rng) * (H - 40));
        const float amp = uni(rng) * 2.f - 1.f;
        for (int dy = -7; dy <= 7; ++dy)
            for (int dx = -7; dx <= 7; ++dx)
                img[(size_t)(cy + dy) * W + cx + dx] += amp * std::exp(-(dx * dx + dy * dy) / 8.f);
    }
    float g[kScales][kTaps];
    for (int s = 0; s < kScales; ++s) {
        const float sigma = 1.0f * std::pow(1.35f, (float)s);
        float sum = 0.f;
        for (int k = 0; k < kTaps; ++k) {
            const float d = (float)(k - kRadius);
            g[s][k] = std::exp(-d * d / (2.f * sigma * sigma));
            sum += g[s][k];
        }
        for (int k = 0; k < kTaps; ++k)
            g[s][k] /= sum;
    }
    CHECK(cudaMemcpyToSymbol(c_gauss, g, sizeof(g)));

    ImageView src = makeImage(W, H);
    ImageView tmp = makeImage(W, H);
    ImageView half = makeImage(W / 2, H / 2);
    ImageView blur[kScales];
    ImageView dog[kScales - 1];
    for (auto& b : blur)
        b = makeImage(W, H);
    for (auto& d : dog)
        d = makeImage(W, H);
    CHECK(cudaMemcpy2D(src.data, src.pitch, img.data(), W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
    Keypoint* dKeys;
    int* dCount;
    float* dDesc;
    CHECK(cudaMalloc(&dKeys, kMaxKeys * sizeof(Keypoint)));
    CHECK(cudaMalloc(&dCount, sizeof(int)));
    CHECK(cudaMalloc(&dDesc, (size_t)kMaxKeys * 128 * sizeof(float)));
    CHECK(cudaMemset(dCount, 0, sizeof(int)));

    const dim3 block(32, 8);
    const dim3 grid((W + 31) / 32, (H + 7) / 8);
    const dim3 gridTall((W + 31) / 32, (H + 31) / 32);
    for (int s = 0; s < kScales; ++s) {
        blurRows<32, 8><<<grid, block>>>(src, tmp, s);
        blurCols<32, 32><<<gridTall, block>>>(tmp, blur[s], s);
    }
    for (int s = 0; s + 1 < kScales; ++s)
        subtractDoG<<<grid, block>>>(blur[s], blur[s + 1], dog[s]);
    decimate<<<dim3((W / 2 + 31) / 32, (H / 2 + 7) / 8), block>>>(blur[2], half);
    findExtrema<<<grid, block>>>(dog[0], dog[1], dog[2], 0.02f, dKeys, dCount);
    describe<<<264, 256>>>(blur[1], dKeys, dCount, dDesc);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    bool ok = true;
    std::vector<float> b2;
    cpuBlur(img, b2, W, H, g[2]);
    std::vector<float> gb2 = pull(blur[2]);
    std::vector<float> gh = pull(half);
    for (size_t i = 0; i < b2.size(); ++i)
        ok = ok && std::fabs(b2[i] - gb2[i]) < 1e-4f;
    for (int y = 0; y < H / 2; ++y)
        for (int x = 0; x < W / 2; ++x)
            ok = ok && gh[(size_t)y * (W / 2) + x] == gb2[(size_t)2 * y * W + 2 * x];
    // extrema are recounted on the host from the device DoG images, so comparisons are exact
    std::vector<float> d0 = pull(dog[0]);
    std::vector<float> d1 = pull(dog[1]);
    std::vector<float> d2 = pull(dog[2]);
    int expect = 0;
    for (int y = 16; y < H - 16; ++y)
        for (int x = 16; x < W - 16; ++x) {
            const float v = d1[(size_t)y * W + x];
            if (std::fabs(v) < 0.02f)
                continue;
            bool mx = true;
            bool mn = true;
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    const size_t i = (size_t)(y + dy) * W + x + dx;
                    const bool c = dx == 0 && dy == 0;
                    mx = mx && v > d0[i] && v > d2[i] && (c || v > d1[i]);
                    mn = mn && v < d0[i] && v < d2[i] && (c || v < d1[i]);
                }
            expect += (mx || mn) ? 1 : 0;
        }
    int count = 0;
    CHECK(cudaMemcpy(&count, dCount, sizeof(int), cudaMemcpyDeviceToHost));
    ok = ok && count == expect;
    const int n = std::min(count, kMaxKeys);
    std::vector<float> desc((size_t)kMaxKeys * 128);
    CHECK(cudaMemcpy(desc.data(), dDesc, desc.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int k = 0; k < n; ++k) {
        float s = 0.f;
        for (int i = 0; i < 128; ++i)
            s += desc[(size_t)k * 128 + i] * desc[(size_t)k * 128 + i];
        ok = ok && std::fabs(s - 1.f) < 1e-3f;
    }
    std::printf("keypoints %d (host %d)\n%s\n", count, expect, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
