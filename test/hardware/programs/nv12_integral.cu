// Camera pipeline: NV12 -> RGBA, integral image of the luma, box mean from the integral,
// adaptive threshold packed to one bit a pixel.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cuda_runtime.h>

using byte = uint8_t;

inline void gpuAssert(cudaError_t code, int line) {
    if (code != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(code));
        exit(code);
    }
}
#define gpu(x) gpuAssert((x), __LINE__)

struct Frame {
    int w, h;
    int pitchI() const { return w + 1; }   // the integral has one extra row and column
};

__host__ __device__ inline int clamp255(int v) { return v < 0 ? 0 : (v > 255 ? 255 : v); }

__host__ __device__ inline uchar4 yuvToRgba(int y, int u, int v) {
    const int c = 298 * (y - 16) + 128, d = u - 128, e = v - 128;
    return make_uchar4((byte)clamp255((c + 409 * e) >> 8), (byte)clamp255((c - 100 * d - 208 * e) >> 8),
                       (byte)clamp255((c + 516 * d) >> 8), 255);
}

// each thread converts a 2x2 quad that shares one chroma pair
__global__ void nv12ToRgba(const byte* __restrict__ luma, const uchar2* __restrict__ chroma,
                           uchar4* __restrict__ rgba, int w, int h) {
    const int qx = blockIdx.x * blockDim.x + threadIdx.x;
    const int qy = blockIdx.y * blockDim.y + threadIdx.y;
    if (2 * qx >= w || 2 * qy >= h) return;
    const uchar2 uv = chroma[qy * (w / 2) + qx];
#pragma unroll
    for (int dy = 0; dy < 2; ++dy) {
        const int row = 2 * qy + dy;
        const uchar2 y2 = *reinterpret_cast<const uchar2*>(luma + row * w + 2 * qx);
        union { uchar4 px[2]; uint2 raw; } out;
        out.px[0] = yuvToRgba(y2.x, uv.x, uv.y);
        out.px[1] = yuvToRgba(y2.y, uv.x, uv.y);
        *reinterpret_cast<uint2*>(rgba + row * w + 2 * qx) = out.raw;
    }
}

// inclusive prefix along a row; one block per row, carry between chunks
template <int BLOCK>
__global__ void integralRows(const byte* __restrict__ luma, unsigned* __restrict__ integral, int w) {
    __shared__ unsigned warpTotals[BLOCK / 32];
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    const byte* src = luma + (size_t)blockIdx.x * w;
    unsigned* dst = integral + (size_t)(blockIdx.x + 1) * (w + 1) + 1;
    unsigned carry = 0;
    if (threadIdx.x == 0) dst[-1] = 0;
    for (int base = 0; base < w; base += BLOCK) {
        const int x = base + threadIdx.x;
        unsigned v = x < w ? src[x] : 0;
#pragma unroll
        for (int o = 1; o < 32; o <<= 1) {
            const unsigned n = __shfl_up_sync(~0u, v, o);
            if (lane >= o) v += n;
        }
        if (lane == 31) warpTotals[wid] = v;
        __syncthreads();
        unsigned before = 0, total = 0;
#pragma unroll
        for (int k = 0; k < BLOCK / 32; ++k) {
            const unsigned t = warpTotals[k];
            if (k < wid) before += t;
            total += t;
        }
        if (x < w) dst[x] = carry + before + v;
        carry += total;
        __syncthreads();
    }
}

// running sums down the columns, in place; row 0 of the integral is cleared by the host
__global__ void integralCols(unsigned* integral, int pitch, int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= pitch) return;
    unsigned acc = 0;
    for (int y = 1; y < rows; ++y) {
        acc += integral[(size_t)y * pitch + x];
        integral[(size_t)y * pitch + x] = acc;
    }
}

__host__ __device__ inline byte boxMeanAt(const unsigned* I, int pitch, int w, int h, int x, int y, int r) {
    const int x0 = x - r < 0 ? 0 : x - r, x1 = x + r + 1 > w ? w : x + r + 1;
    const int y0 = y - r < 0 ? 0 : y - r, y1 = y + r + 1 > h ? h : y + r + 1;
    const unsigned s = I[y1 * pitch + x1] - I[y0 * pitch + x1] - I[y1 * pitch + x0] + I[y0 * pitch + x0];
    return (byte)(s / (unsigned)((x1 - x0) * (y1 - y0)));
}

__global__ void boxMean(const unsigned* __restrict__ I, byte* __restrict__ mean, int w, int h, int r) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < w && y < h) mean[y * w + x] = boxMeanAt(I, w + 1, w, h, x, y, r);
}

__global__ void thresholdPack(const byte* __restrict__ luma, const byte* __restrict__ mean,
                              uint32_t* __restrict__ bits, int n, int bias) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool on = i < n && (int)luma[i] + bias > (int)mean[i];
    const uint32_t word = __ballot_sync(0xffffffffu, on);
    if ((threadIdx.x & 31) == 0 && i < n) bits[i >> 5] = word;
}

struct Free { void operator()(void* p) const { cudaFree(p); } };
template <class T> using Dev = std::unique_ptr<T[], Free>;
template <class T> Dev<T> alloc(size_t n) {
    T* p = nullptr;
    gpu(cudaMalloc(&p, n * sizeof(T)));
    return Dev<T>(p);
}

int main() {
    const Frame f{1280, 720};
    const int n = f.w * f.h, radius = 7, bias = 5;
    std::vector<byte> luma(n);
    std::vector<uchar2> chroma(n / 4);
    for (int y = 0; y < f.h; ++y)
        for (int x = 0; x < f.w; ++x) luma[y * f.w + x] = (byte)(16 + ((x * 3 + y * 5) ^ (x * y >> 4)) % 220);
    for (int i = 0; i < n / 4; ++i) chroma[i] = make_uchar2((byte)(i * 7 % 251), (byte)(i * 13 % 241));

    auto dl = alloc<byte>(n), dm = alloc<byte>(n);
    auto dc = alloc<uchar2>(n / 4);
    auto dr = alloc<uchar4>(n);
    auto di = alloc<unsigned>((size_t)f.pitchI() * (f.h + 1));
    auto db = alloc<uint32_t>(n / 32);
    gpu(cudaMemcpy(dl.get(), luma.data(), n, cudaMemcpyHostToDevice));
    gpu(cudaMemcpy(dc.get(), chroma.data(), n / 4 * sizeof(uchar2), cudaMemcpyHostToDevice));
    gpu(cudaMemset(di.get(), 0, f.pitchI() * sizeof(unsigned)));

    nv12ToRgba<<<dim3((f.w / 2 + 31) / 32, (f.h / 2 + 7) / 8), dim3(32, 8)>>>(dl.get(), dc.get(), dr.get(), f.w, f.h);
    integralRows<256><<<f.h, 256>>>(dl.get(), di.get(), f.w);
    integralCols<<<(f.pitchI() + 63) / 64, 64>>>(di.get(), f.pitchI(), f.h + 1);
    boxMean<<<dim3((f.w + 31) / 32, (f.h + 7) / 8), dim3(32, 8)>>>(di.get(), dm.get(), f.w, f.h, radius);
    thresholdPack<<<(n + 255) / 256, 256>>>(dl.get(), dm.get(), db.get(), n, bias);
    gpu(cudaGetLastError());
    gpu(cudaDeviceSynchronize());

    std::vector<uchar4> rgba(n);
    std::vector<uint32_t> bits(n / 32);
    std::vector<unsigned> I((size_t)f.pitchI() * (f.h + 1), 0), G(I.size());
    gpu(cudaMemcpy(rgba.data(), dr.get(), n * sizeof(uchar4), cudaMemcpyDeviceToHost));
    gpu(cudaMemcpy(bits.data(), db.get(), bits.size() * 4, cudaMemcpyDeviceToHost));
    gpu(cudaMemcpy(G.data(), di.get(), G.size() * 4, cudaMemcpyDeviceToHost));

    long bad = 0;
    for (int y = 0; y < f.h; ++y) {
        unsigned run = 0;
        for (int x = 0; x < f.w; ++x) {
            run += luma[y * f.w + x];
            I[(y + 1) * f.pitchI() + x + 1] = I[y * f.pitchI() + x + 1] + run;
            const uchar2 uv = chroma[(y / 2) * (f.w / 2) + x / 2];
            const uchar4 e = yuvToRgba(luma[y * f.w + x], uv.x, uv.y), g = rgba[y * f.w + x];
            bad += e.x != g.x || e.y != g.y || e.z != g.z || e.w != g.w;
        }
    }
    for (size_t i = 0; i < I.size(); ++i) bad += I[i] != G[i];
    for (int i = 0; i < n; ++i) {
        const bool e = luma[i] + bias > boxMeanAt(I.data(), f.pitchI(), f.w, f.h, i % f.w, i / f.w, radius);
        bad += e != (((bits[i >> 5] >> (i & 31)) & 1) != 0);
    }
    if (bad) { printf("%ld wrong\n", bad); return 1; }
    puts("OK");
    return 0;
}
