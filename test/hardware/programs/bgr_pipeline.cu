// A camera frame in 3-byte BGR, rows without padding: luma, histogram equalisation, Sobel, bilateral, box blur.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

namespace img {

class CudaError {
public:
    explicit CudaError(cudaError_t c) : code(c) {}
    cudaError_t code;
};

inline void operator||(cudaError_t e, int) { if (e != cudaSuccess) throw CudaError(e); }

template <typename T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(size_t count) : size_(count) { cudaMalloc(&data_, count * sizeof(T)) || 0; cudaMemset(data_, 0, count * sizeof(T)) || 0; }
    Buffer(const T* host, size_t count) : Buffer(count) { cudaMemcpy(data_, host, count * sizeof(T), cudaMemcpyHostToDevice) || 0; }
    Buffer(Buffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
    Buffer& operator=(Buffer&& o) noexcept { std::swap(data_, o.data_); std::swap(size_, o.size_); return *this; }
    ~Buffer() { if (data_) cudaFree(data_); }
    operator T*() const { return data_; }
    std::vector<T> host() const
    {
        std::vector<T> v(size_);
        cudaMemcpy(v.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost) || 0;
        return v;
    }

private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

using u8 = uint8_t;

__host__ __device__ inline u8 lumaOf(u8 b, u8 g, u8 r) { return static_cast<u8>((29 * b + 150 * g + 77 * r + 128) >> 8); }

__global__ void bgrToLuma(const uchar3* __restrict__ bgr, u8* __restrict__ luma, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) {
        const uchar3 p = bgr[y * w + x];
        luma[y * w + x] = lumaOf(p.x, p.y, p.z);
    }
}

__global__ void histogram(const u8* __restrict__ luma, unsigned* __restrict__ bins, int n)
{
    __shared__ unsigned local[4][256];                 // one copy for each warp of the block
    for (int i = threadIdx.x; i < 4 * 256; i += blockDim.x) (&local[0][0])[i] = 0;
    __syncthreads();
    const int warp = threadIdx.x / 32;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[warp][luma[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        atomicAdd(&bins[b], local[0][b] + local[1][b] + local[2][b] + local[3][b]);
}

__global__ void equalize(const u8* __restrict__ in, u8* __restrict__ out, const u8* __restrict__ lut, int n)
{
    __shared__ u8 table[256];
    table[threadIdx.x] = lut[threadIdx.x];
    __syncthreads();
    // four pixels a thread
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        const uchar4 p = *reinterpret_cast<const uchar4*>(in + i);
        *reinterpret_cast<uchar4*>(out + i) = make_uchar4(table[p.x], table[p.y], table[p.z], table[p.w]);
    } else {
        for (int k = i; k < n; ++k) out[k] = table[in[k]];
    }
}

template <int BX, int BY>
__global__ void sobel(const u8* __restrict__ in, u8* __restrict__ out, int w, int h)
{
    __shared__ u8 t[BY + 2][BX + 2];
    const int bx = blockIdx.x * BX - 1, by = blockIdx.y * BY - 1;
    for (int i = threadIdx.y * BX + threadIdx.x; i < (BX + 2) * (BY + 2); i += BX * BY) {
        const int lx = i % (BX + 2), ly = i / (BX + 2);
        const int gx = min(max(bx + lx, 0), w - 1), gy = min(max(by + ly, 0), h - 1);
        t[ly][lx] = in[gy * w + gx];
    }
    __syncthreads();
    const int x = bx + 1 + threadIdx.x, y = by + 1 + threadIdx.y;
    if (x >= w || y >= h) return;
    const int i = threadIdx.x, j = threadIdx.y;
    const int gx = t[j][i + 2] + 2 * t[j + 1][i + 2] + t[j + 2][i + 2] - t[j][i] - 2 * t[j + 1][i] - t[j + 2][i];
    const int gy = t[j + 2][i] + 2 * t[j + 2][i + 1] + t[j + 2][i + 2] - t[j][i] - 2 * t[j][i + 1] - t[j][i + 2];
    out[y * w + x] = static_cast<u8>(min(255, abs(gx) + abs(gy)));
}

// running sums; a thread a row, then a thread a column
__global__ void boxRows(const u8* in, unsigned short* out, int w, int h, int radius)
{
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= h) return;
    const u8* row = in + y * w;
    unsigned short* dst = out + y * w;
    int sum = 0;
    for (int x = -radius; x <= radius; ++x) sum += row[min(max(x, 0), w - 1)];
    for (int x = 0; x < w; ++x) {
        dst[x] = static_cast<unsigned short>(sum);
        sum += row[min(x + radius + 1, w - 1)] - row[max(x - radius, 0)];
    }
}

__global__ void boxColumns(const unsigned short* in, u8* out, int w, int h, int radius)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    const int area = (2 * radius + 1) * (2 * radius + 1);
    int sum = 0;
    for (int y = -radius; y <= radius; ++y) sum += in[min(max(y, 0), h - 1) * w + x];
    for (int y = 0; y < h; ++y) {
        out[y * w + x] = static_cast<u8>(sum / area);
        sum += in[min(y + radius + 1, h - 1) * w + x] - in[max(y - radius, 0) * w + x];
    }
}

}  // namespace img

int main()
try {
    using namespace img;
    constexpr int w = 1021, h = 613, n = w * h, radius = 5;
    std::vector<uchar3> frame(n);
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            const unsigned noise = (x * 2654435761u ^ y * 40503u * 977u) >> 27;
            frame[y * w + x] = make_uchar3((x / 8 + noise) & 127, (y / 4 + 2 * noise) & 127, ((x * y) >> 11) & 127);
        }

    Buffer<uchar3> dFrame(frame.data(), n);
    Buffer<u8> dLuma(n), dEqual(n), dEdges(n), dBlur(n);
    Buffer<unsigned short> dSums(n);
    Buffer<unsigned> dBins(256);

    const dim3 block(32, 8), grid((w + 31) / 32, (h + 7) / 8);
    bgrToLuma<<<grid, block>>>(dFrame, dLuma, w, h);
    histogram<<<120, 128>>>(dLuma, dBins, n);
    const auto bins = dBins.host();
    std::array<u8, 256> lut{};
    unsigned long long running = 0;
    for (int b = 0; b < 256; ++b) {
        running += bins[b];
        lut[b] = static_cast<u8>(running * 255 / n);
    }
    Buffer<u8> dLut(lut.data(), lut.size());
    equalize<<<(n / 4 + 256) / 256, 256>>>(dLuma, dEqual, dLut, n);
    sobel<32, 8><<<grid, block>>>(dEqual, dEdges, w, h);
    boxRows<<<(h + 63) / 64, 64>>>(dEqual, dSums, w, h, radius);
    boxColumns<<<(w + 63) / 64, 64>>>(dSums, dBlur, w, h, radius);
    cudaDeviceSynchronize() || 0;

    std::vector<u8> luma(n), equal(n);
    std::vector<unsigned> want(256);
    for (int i = 0; i < n; ++i) {
        luma[i] = lumaOf(frame[i].x, frame[i].y, frame[i].z);
        ++want[luma[i]];
    }
    for (int i = 0; i < n; ++i) equal[i] = lut[luma[i]];
    int wrong = (want != bins) + (luma != dLuma.host()) + (equal != dEqual.host());
    const auto edges = dEdges.host(), blur = dBlur.host();
    auto at = [&](int x, int y) { return int(equal[std::min(std::max(y, 0), h - 1) * w + std::min(std::max(x, 0), w - 1)]); };
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            const int gx = at(x + 1, y - 1) + 2 * at(x + 1, y) + at(x + 1, y + 1) - at(x - 1, y - 1) - 2 * at(x - 1, y) - at(x - 1, y + 1);
            const int gy = at(x - 1, y + 1) + 2 * at(x, y + 1) + at(x + 1, y + 1) - at(x - 1, y - 1) - 2 * at(x, y - 1) - at(x + 1, y - 1);
            wrong += edges[y * w + x] != std::min(255, std::abs(gx) + std::abs(gy));
            int sum = 0;
            for (int j = -radius; j <= radius; ++j)
                for (int i = -radius; i <= radius; ++i) sum += at(x + i, y + j);
            wrong += blur[y * w + x] != sum / ((2 * radius + 1) * (2 * radius + 1));
        }
    std::printf("%d x %d, %d wrong: %s\n", w, h, wrong, wrong ? "FAIL" : "OK");
    return wrong ? 1 : 0;
} catch (const img::CudaError& e) {
    std::printf("CUDA error: %s\n", cudaGetErrorString(e.code));
    return 2;
}
