// Multi-level 2D Haar transform with ping-pong buffers and shrinking sizes; soft threshold.
#include <iostream>
#include <vector>
#include <cmath>
#include <memory>
#include <functional>
#include <cuda_runtime.h>

using uptr = std::unique_ptr<float, std::function<void(float*)>>;
static uptr device_array(size_t n) { float* p; cudaMalloc(&p, n * sizeof(float)); return uptr(p, [](float* q) { cudaFree(q); }); }

template <int Threads>
__global__ void haar_rows(float const* src, float* dst, int width, int height, int stride)
{
    __shared__ float line[2 * Threads];
    const int half = width / 2;
    float const* row = src + blockIdx.y * stride;
    const int first = blockIdx.x * 2 * Threads;
    for (int i = threadIdx.x; i < 2 * Threads && first + i < width; i += Threads) line[i] = row[first + i];
    __syncthreads();
    const int o = blockIdx.x * Threads + threadIdx.x;
    if (o >= half) return;
    const float2 v = reinterpret_cast<float2*>(line)[threadIdx.x];
    const float s = 0.70710678f;
    dst[blockIdx.y * stride + o] = (v.x + v.y) * s;
    dst[blockIdx.y * stride + o + half] = (v.x - v.y) * s;
}

__global__ void haar_cols(float const* __restrict__ src, float* __restrict__ dst, int width, int height, int stride)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    const int half = height >> 1;
    for (int y = threadIdx.y + blockIdx.y * blockDim.y; y < half; y += blockDim.y * gridDim.y) {
        float a = src[(2 * y) * stride + x], b = src[(2 * y + 1) * stride + x];
        dst[y * stride + x] = (a + b) * 0.70710678f;
        dst[(y + half) * stride + x] = (a - b) * 0.70710678f;
    }
}

__global__ void inverse_level(float const* __restrict__ src, float* __restrict__ dst, int width, int height, int stride)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int hw = width / 2, hh = height / 2;
    if (x >= hw || y >= hh) return;
    float ll = src[y * stride + x], hl = src[y * stride + x + hw];
    float lh = src[(y + hh) * stride + x], hhv = src[(y + hh) * stride + x + hw];
    float2* top = reinterpret_cast<float2*>(dst + 2 * y * stride) + x;
    float2* bottom = reinterpret_cast<float2*>(dst + (2 * y + 1) * stride) + x;
    *top = make_float2(0.5f * (ll + hl + lh + hhv), 0.5f * (ll - hl + lh - hhv));
    *bottom = make_float2(0.5f * (ll + hl - lh - hhv), 0.5f * (ll - hl - lh + hhv));
}

__global__ void soft_threshold(float* p, size_t n, float t)
{
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
        float v = p[i];
        p[i] = copysignf(fmaxf(fabsf(v) - t, 0.f), v);
    }
}

int main()
{
    const int W = 240, H = 160;
    std::vector<float> img(W * H), out(W * H);
    for (int i = 0; i < W * H; ++i) img[i] = std::sin((i % W) * 0.1f) + ((i / W) > 60 ? 2.f : 0.f);
    uptr a = device_array(W * H), b = device_array(W * H);
    cudaMemcpy(a.get(), img.data(), W * H * 4, cudaMemcpyHostToDevice);
    constexpr int T = 48;
    int w = W, h = H;
    for (int level = 0; level < 2; ++level, w /= 2, h /= 2) {
        haar_rows<T><<<dim3((w / 2 + T - 1) / T, h), T>>>(a.get(), b.get(), w, h, W);
        haar_cols<<<dim3((w + 31) / 32, 3), dim3(32, 6)>>>(b.get(), a.get(), w, h, W);
    }
    soft_threshold<<<16, 192>>>(a.get(), size_t(W) * H, 1e-6f);
    cudaMemcpy(b.get(), a.get(), W * H * 4, cudaMemcpyDeviceToDevice);
    for (int level = 1; level >= 0; --level) {
        w = W >> level; h = H >> level;
        inverse_level<<<dim3((w / 2 + 15) / 16, (h / 2 + 15) / 16), dim3(16, 16)>>>(a.get(), b.get(), w, h, W);
        std::swap(a, b);
        if (level) cudaMemcpy2D(b.get(), W * 4, a.get(), W * 4, w * 4, h, cudaMemcpyDeviceToDevice);
        if (level) std::swap(a, b), cudaDeviceSynchronize();
        if (level) {
            // detail bands of the finer level are still in the buffer now called a
        }
    }
    cudaMemcpy(out.data(), a.get(), W * H * 4, cudaMemcpyDeviceToHost);
    double err = 0;
    for (int i = 0; i < W * H; ++i) err = std::fmax(err, std::fabs(out[i] - img[i]));
    std::cout << "reconstruction error " << err << " " << cudaGetErrorString(cudaGetLastError()) << std::endl;
    return err < 1e-3 ? 0 : 1;
}
