#include "stages.hpp"

namespace {

constexpr int kTile = 16;
constexpr int kMaxRadius = 8;
constexpr int kSpan = kTile + 2 * kMaxRadius;

dim3 grid_for(int w, int h) { return dim3((w + kTile - 1) / kTile, (h + kTile - 1) / kTile); }

__device__ __forceinline__ int clamp_to(int v, int hi) { return v < 0 ? 0 : (v > hi ? hi : v); }

// Loads a tile with its apron of per pixel channel minima and erodes it.
__global__ void dark_channel_tile(const Rgb8* __restrict__ img, std::uint8_t* __restrict__ dark, int w, int h,
                                  int radius) {
    __shared__ std::uint8_t tile[kSpan][kSpan];
    __shared__ std::uint8_t rows[kSpan][kTile];
    int x0 = blockIdx.x * kTile - radius, y0 = blockIdx.y * kTile - radius;
    int span = kTile + 2 * radius;
    int tid = threadIdx.y * kTile + threadIdx.x;
    for (int i = tid; i < span * span; i += kTile * kTile) {
        int ty = i / span, tx = i % span;
        Rgb8 c = img[clamp_to(y0 + ty, h - 1) * w + clamp_to(x0 + tx, w - 1)];
        std::uint8_t m = c.r < c.g ? c.r : c.g;
        tile[ty][tx] = m < c.b ? m : c.b;
    }
    __syncthreads();
    for (int ty = threadIdx.y; ty < span; ty += kTile) {
        std::uint8_t m = 255;
        for (int k = 0; k <= 2 * radius; ++k) {
            std::uint8_t v = tile[ty][threadIdx.x + k];
            m = v < m ? v : m;
        }
        rows[ty][threadIdx.x] = m;
    }
    __syncthreads();
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < w && y < h) {
        std::uint8_t m = 255;
        for (int k = 0; k <= 2 * radius; ++k) {
            std::uint8_t v = rows[threadIdx.y + k][threadIdx.x];
            m = v < m ? v : m;
        }
        dark[y * w + x] = m;
    }
}

}  // namespace

Buffer<std::uint8_t> dark_channel(const Buffer<Rgb8>& img, const DehazeParams& p) {
    if (p.patch_radius > kMaxRadius) {
        std::fprintf(stderr, "patch radius above %d\n", kMaxRadius);
        std::exit(1);
    }
    Buffer<std::uint8_t> dark(img.size());
    dark_channel_tile<<<grid_for(p.width, p.height), dim3(kTile, kTile)>>>(img.data(), dark.data(), p.width, p.height,
                                                                          p.patch_radius);
    CHECK(cudaGetLastError());
    return dark;
}
