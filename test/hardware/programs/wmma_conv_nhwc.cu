// 3x3 convolution on tensor cores as an implicit GEMM, followed by bias + ReLU and a 2x2 max-pool.
//   activations   NCHW float (as the caller has them)  -> NHWC half, through a padded tile
//   weights       KCRS float                           -> [tap][C][K] half, gathered with plain strided reads
//   convolution   M = n*h*w pixels, N = K filters, depth = 9 taps * C channels
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

using namespace nvcuda;

#define ASSERT_CUDA(x)                                                                       \
    do                                                                                       \
    {                                                                                        \
        auto const result = (x);                                                             \
        if (result != cudaSuccess)                                                           \
        {                                                                                    \
            std::fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(result), __FILE__, __LINE__); \
            std::exit(2);                                                                    \
        }                                                                                    \
    } while (0)

struct ConvShape
{
    int n, c, h, w, k;
    __host__ __device__ int pixels() const
    {
        return n * h * w;
    }
};

template <int kCHANNELS, int kFILTERS>
struct TileTraits
{
    static constexpr int kPIXELS = 32;
    static constexpr int kWARPS = 4;
    static constexpr int kLDA = kCHANNELS + 8;  // halves, keeps 16-byte rows and breaks the bank period
    static constexpr int kLDB = kFILTERS + 8;
    static constexpr int kLDC = kFILTERS + 4;   // floats
    static constexpr int kM_FRAGS = kPIXELS / 16;
    static constexpr int kN_FRAGS = kFILTERS / 16 / (kWARPS / kM_FRAGS);
    static_assert(kCHANNELS % 16 == 0 && kFILTERS % 32 == 0, "tile must be whole fragments");
};

__global__ void nchwToNhwcHalf(float const* __restrict__ src, __half* __restrict__ dst, int channels, int plane)
{
    __shared__ float tile[32][33];
    int const p0 = blockIdx.x * 32, c0 = blockIdx.y * 32;
    size_t const image = size_t(blockIdx.z) * channels * plane;
    for (int r = threadIdx.y; r < 32; r += blockDim.y)
    {
        int const c = c0 + r, p = p0 + threadIdx.x;
        if (c < channels && p < plane)
        {
            tile[r][threadIdx.x] = src[image + size_t(c) * plane + p];
        }
    }
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += blockDim.y)
    {
        int const p = p0 + r, c = c0 + threadIdx.x;
        if (c < channels && p < plane)
        {
            dst[image + size_t(p) * channels + c] = __float2half_rn(tile[threadIdx.x][r]);
        }
    }
}

__global__ void packFilters(float const* __restrict__ kcrs, __half* __restrict__ packed, int filters, int channels)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= filters * channels * 9)
    {
        return;
    }
    int const k = i % filters, c = (i / filters) % channels, tap = i / (filters * channels);
    packed[i] = __float2half_rn(kcrs[(k * channels + c) * 9 + tap]);
}

template <int kCHANNELS, int kFILTERS>
__global__ void __launch_bounds__(128) conv3x3Wmma(__half const* __restrict__ x, __half const* __restrict__ filters,
    float const* __restrict__ bias, __half* __restrict__ y, ConvShape shape)
{
    using T = TileTraits<kCHANNELS, kFILTERS>;
    union Smem
    {
        struct
        {
            __half a[T::kPIXELS * T::kLDA];
            __half b[kCHANNELS * T::kLDB];
        } in;
        float c[T::kPIXELS * T::kLDC];
        __device__ Smem() {}
    };
    __shared__ __align__(128) unsigned char raw[sizeof(Smem)];
    Smem& smem = *reinterpret_cast<Smem*>(raw);

    int const warp = threadIdx.x / 32;
    int const mFrag = warp % T::kM_FRAGS;
    int const nFirst = warp / T::kM_FRAGS * T::kN_FRAGS;
    int const pixel0 = blockIdx.x * T::kPIXELS;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[T::kN_FRAGS];
#pragma unroll
    for (int i = 0; i < T::kN_FRAGS; ++i)
    {
        wmma::fill_fragment(acc[i], 0.0f);
    }

    constexpr int kVEC = 8;
    for (int tap = 0; tap < 9; ++tap)
    {
        int const dy = tap / 3 - 1, dx = tap % 3 - 1;
        for (int i = threadIdx.x; i < T::kPIXELS * kCHANNELS / kVEC; i += blockDim.x)
        {
            int const row = i / (kCHANNELS / kVEC), col = i % (kCHANNELS / kVEC) * kVEC;
            int const pixel = pixel0 + row;
            int const px = pixel % shape.w, py = pixel / shape.w % shape.h;
            int4 v = make_int4(0, 0, 0, 0);
            if (pixel < shape.pixels() && unsigned(px + dx) < unsigned(shape.w) && unsigned(py + dy) < unsigned(shape.h))
            {
                v = *reinterpret_cast<int4 const*>(x + size_t(pixel + dy * shape.w + dx) * kCHANNELS + col);
            }
            *reinterpret_cast<int4*>(&smem.in.a[row * T::kLDA + col]) = v;
        }
        for (int i = threadIdx.x; i < kCHANNELS * kFILTERS / kVEC; i += blockDim.x)
        {
            int const row = i / (kFILTERS / kVEC), col = i % (kFILTERS / kVEC) * kVEC;
            *reinterpret_cast<int4*>(&smem.in.b[row * T::kLDB + col])
                = *reinterpret_cast<int4 const*>(filters + (size_t(tap) * kCHANNELS + row) * kFILTERS + col);
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < kCHANNELS; kk += 16)
        {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
            wmma::load_matrix_sync(fa, &smem.in.a[mFrag * 16 * T::kLDA + kk], T::kLDA);
#pragma unroll
            for (int i = 0; i < T::kN_FRAGS; ++i)
            {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
                wmma::load_matrix_sync(fb, &smem.in.b[kk * T::kLDB + (nFirst + i) * 16], T::kLDB);
                wmma::mma_sync(acc[i], fa, fb, acc[i]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < T::kN_FRAGS; ++i)
    {
        wmma::store_matrix_sync(&smem.c[mFrag * 16 * T::kLDC + (nFirst + i) * 16], acc[i], T::kLDC, wmma::mem_row_major);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < T::kPIXELS * kFILTERS / 2; i += blockDim.x)
    {
        int const row = i / (kFILTERS / 2), k = i % (kFILTERS / 2) * 2;
        if (pixel0 + row < shape.pixels())
        {
            float2 const b = *reinterpret_cast<float2 const*>(bias + k);
            float const v0 = fmaxf(smem.c[row * T::kLDC + k] + b.x, 0.f);
            float const v1 = fmaxf(smem.c[row * T::kLDC + k + 1] + b.y, 0.f);
            *reinterpret_cast<__half2*>(y + size_t(pixel0 + row) * kFILTERS + k) = __floats2half2_rn(v0, v1);
        }
    }
}

// half2 lanes along the filters, output goes back to NCHW float (scattered stores)
__global__ void maxPool2x2(__half2 const* __restrict__ y, float* __restrict__ out, ConvShape shape)
{
    int const ow = shape.w / 2, oh = shape.h / 2, k2 = shape.k / 2;
    int const kk = threadIdx.x;
    int const ox = blockIdx.x * blockDim.y + threadIdx.y;
    int const oy = blockIdx.y, img = blockIdx.z;
    if (ox >= ow)
    {
        return;
    }
    size_t const at = (size_t(img * shape.h + 2 * oy) * shape.w + 2 * ox) * k2 + kk;
    float2 const a = __half22float2(y[at]), b = __half22float2(y[at + k2]);
    float2 const c = __half22float2(y[at + size_t(shape.w) * k2]), d = __half22float2(y[at + size_t(shape.w) * k2 + k2]);
    size_t const to = (size_t(img * shape.k + 2 * kk) * oh + oy) * ow + ox;
    out[to] = fmaxf(fmaxf(a.x, b.x), fmaxf(c.x, d.x));
    out[to + size_t(oh) * ow] = fmaxf(fmaxf(a.y, b.y), fmaxf(c.y, d.y));
}

struct CudaFree
{
    void operator()(void* p) const
    {
        cudaFree(p);
    }
};

template <typename T>
std::unique_ptr<T, CudaFree> makeDevice(size_t count)
{
    void* p{nullptr};
    ASSERT_CUDA(cudaMalloc(&p, count * sizeof(T)));
    return std::unique_ptr<T, CudaFree>(static_cast<T*>(p));
}

int main()
{
    constexpr int kC = 32, kK = 64;
    ConvShape const shape{3, kC, 26, 30, kK};
    int const plane = shape.h * shape.w;
    std::mt19937 rng(11);
    std::uniform_real_distribution<float> uni(-1.f, 1.f);
    std::vector<float> x(size_t(shape.n) * kC * plane), f(kK * kC * 9), bias(kK);
    std::generate(x.begin(), x.end(), [&] { return uni(rng); });
    std::generate(f.begin(), f.end(), [&] { return 0.15f * uni(rng); });
    std::generate(bias.begin(), bias.end(), [&] { return 0.3f * uni(rng); });

    auto dX = makeDevice<float>(x.size()), dF = makeDevice<float>(f.size()), dBias = makeDevice<float>(kK);
    auto dXh = makeDevice<__half>(x.size()), dFh = makeDevice<__half>(f.size());
    auto dY = makeDevice<__half>(size_t(shape.pixels()) * kK);
    size_t const outCount = size_t(shape.n) * kK * (shape.h / 2) * (shape.w / 2);
    auto dOut = makeDevice<float>(outCount);
    cudaStream_t main, side;
    cudaEvent_t packed;
    ASSERT_CUDA(cudaStreamCreate(&main));
    ASSERT_CUDA(cudaStreamCreate(&side));
    ASSERT_CUDA(cudaEventCreateWithFlags(&packed, cudaEventDisableTiming));
    ASSERT_CUDA(cudaMemcpyAsync(dX.get(), x.data(), x.size() * 4, cudaMemcpyHostToDevice, main));
    ASSERT_CUDA(cudaMemcpyAsync(dBias.get(), bias.data(), kK * 4, cudaMemcpyHostToDevice, main));
    ASSERT_CUDA(cudaMemcpyAsync(dF.get(), f.data(), f.size() * 4, cudaMemcpyHostToDevice, side));

    packFilters<<<(int(f.size()) + 255) / 256, 256, 0, side>>>(dF.get(), dFh.get(), kK, kC);
    ASSERT_CUDA(cudaEventRecord(packed, side));
    nchwToNhwcHalf<<<dim3((plane + 31) / 32, (kC + 31) / 32, shape.n), dim3(32, 8), 0, main>>>(dX.get(), dXh.get(), kC, plane);
    ASSERT_CUDA(cudaStreamWaitEvent(main, packed, 0));
    int const blocks = (shape.pixels() + TileTraits<kC, kK>::kPIXELS - 1) / TileTraits<kC, kK>::kPIXELS;
    conv3x3Wmma<kC, kK><<<blocks, 128, 0, main>>>(dXh.get(), dFh.get(), dBias.get(), dY.get(), shape);
    maxPool2x2<<<dim3((shape.w / 2 + 3) / 4, shape.h / 2, shape.n), dim3(kK / 2, 4), 0, main>>>(
        reinterpret_cast<__half2 const*>(dY.get()), dOut.get(), shape);
    ASSERT_CUDA(cudaGetLastError());
    std::vector<float> out(outCount);
    ASSERT_CUDA(cudaMemcpyAsync(out.data(), dOut.get(), outCount * 4, cudaMemcpyDeviceToHost, main));
    ASSERT_CUDA(cudaStreamSynchronize(main));
    ASSERT_CUDA(cudaEventDestroy(packed));
    ASSERT_CUDA(cudaStreamDestroy(side));
    ASSERT_CUDA(cudaStreamDestroy(main));

    for (auto* v : {&x, &f})
    {
        for (float& e : *v)
        {
            e = __half2float(__float2half_rn(e));
        }
    }
    float worst = 0.f;
    std::vector<float> conv(plane);
    for (int n = 0; n < shape.n; ++n)
    {
        for (int k = 0; k < kK; ++k)
        {
            std::fill(conv.begin(), conv.end(), bias[k]);
            for (int c = 0; c < kC; ++c)
            {
                float const* in = &x[size_t(n * kC + c) * plane];
                float const* w = &f[(k * kC + c) * 9];
                for (int py = 0; py < shape.h; ++py)
                {
                    for (int px = 0; px < shape.w; ++px)
                    {
                        float s = 0.f;
                        for (int t = 0; t < 9; ++t)
                        {
                            int const yy = py + t / 3 - 1, xx = px + t % 3 - 1;
                            if (yy >= 0 && yy < shape.h && xx >= 0 && xx < shape.w)
                            {
                                s += w[t] * in[yy * shape.w + xx];
                            }
                        }
                        conv[py * shape.w + px] += s;
                    }
                }
            }
            for (int oy = 0; oy < shape.h / 2; ++oy)
            {
                for (int ox = 0; ox < shape.w / 2; ++ox)
                {
                    float const* q = &conv[2 * oy * shape.w + 2 * ox];
                    float const ref = std::max(0.f, std::max(std::max(q[0], q[1]), std::max(q[shape.w], q[shape.w + 1])));
                    float const got = out[(size_t(n * kK + k) * (shape.h / 2) + oy) * (shape.w / 2) + ox];
                    worst = std::max(worst, std::fabs(ref - got) / (1.f + std::fabs(ref)));
                }
            }
        }
    }
    std::printf("conv %dx%dx%dx%d -> %d filters, %d blocks, worst relative error %.3g\n", shape.n, kC, shape.h, shape.w, kK,
        blocks, worst);
    std::puts(worst < 2e-3f ? "PASS" : "FAIL");
    return worst < 2e-3f ? 0 : 1;
}
