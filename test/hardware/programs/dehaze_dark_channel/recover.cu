#include "stages.hpp"

namespace {

__constant__ float c_air[3];
__constant__ float c_limits[2];  // omega, t_min

dim3 grid_for(int w, int h, dim3 b) { return dim3((w + b.x - 1) / b.x, (h + b.y - 1) / b.y); }

__global__ void ratio_plane(const Rgb8* __restrict__ img, float* __restrict__ ratio, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Rgb8 c = img[i];
    ratio[i] = fminf(fminf(c.r / c_air[0], c.g / c_air[1]), c.b / c_air[2]);
}

__global__ void min_along_row(const float* __restrict__ in, float* __restrict__ out, int w, int h, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float m = in[y * w + x];
    for (int k = -radius; k <= radius; ++k) m = fminf(m, in[y * w + min(max(x + k, 0), w - 1)]);
    out[y * w + x] = m;
}

__global__ void min_down_column(const float* __restrict__ in, float* __restrict__ t, int w, int h, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float m = in[y * w + x];
    for (int k = -radius; k <= radius; ++k) m = fminf(m, in[min(max(y + k, 0), h - 1) * w + x]);
    t[y * w + x] = 1.0f - c_limits[0] * m;
}

// One thread slides a running sum along a full row.
__global__ void box_rows(const float* __restrict__ in, float* __restrict__ out, int w, int h, int radius) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= h) return;
    const float* src = in + y * w;
    float s = 0.0f;
    for (int k = -radius; k <= radius; ++k) s += src[min(max(k, 0), w - 1)];
    float inv = 1.0f / float(2 * radius + 1);
    for (int x = 0; x < w; ++x) {
        out[y * w + x] = s * inv;
        s += src[min(x + radius + 1, w - 1)] - src[max(x - radius, 0)];
    }
}

__global__ void box_columns(const float* __restrict__ in, float* __restrict__ out, int w, int h, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    float s = 0.0f;
    for (int k = -radius; k <= radius; ++k) s += in[min(max(k, 0), h - 1) * w + x];
    float inv = 1.0f / float(2 * radius + 1);
    for (int y = 0; y < h; ++y) {
        out[y * w + x] = s * inv;
        s += in[min(y + radius + 1, h - 1) * w + x] - in[max(y - radius, 0) * w + x];
    }
}

__device__ unsigned char restore(float v, float air, float t) {
    float r = (v - air) / t + air;
    return static_cast<unsigned char>(fminf(fmaxf(r, 0.0f), 255.0f) + 0.5f);
}

__global__ void restore_pixels(const Rgb8* __restrict__ img, const float* __restrict__ t, uchar4* __restrict__ out,
                               int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float tt = fmaxf(t[i], c_limits[1]);
    Rgb8 c = img[i];
    out[i] = make_uchar4(restore(c.r, c_air[0], tt), restore(c.g, c_air[1], tt), restore(c.b, c_air[2], tt), 255);
}

}  // namespace

Buffer<float> transmission_map(const Buffer<Rgb8>& img, const Airlight& a, const DehazeParams& p) {
    int w = p.width, h = p.height, n = w * h;
    float limits[2] = {p.omega, p.t_min};
    CHECK(cudaMemcpyToSymbol(c_air, a.colour.data(), sizeof(float) * 3));
    CHECK(cudaMemcpyToSymbol(c_limits, limits, sizeof limits));
    Buffer<float> ping(n), pong(n);
    dim3 flat(32, 8);
    ratio_plane<<<(n + 255) / 256, 256>>>(img.data(), ping.data(), n);
    min_along_row<<<grid_for(w, h, flat), flat>>>(ping.data(), pong.data(), w, h, p.patch_radius);
    min_down_column<<<grid_for(w, h, flat), flat>>>(pong.data(), ping.data(), w, h, p.patch_radius);
    box_rows<<<(h + 63) / 64, 64>>>(ping.data(), pong.data(), w, h, p.smooth_radius);
    box_columns<<<(w + 63) / 64, 64>>>(pong.data(), ping.data(), w, h, p.smooth_radius);
    CHECK(cudaGetLastError());
    return ping;
}

Buffer<Rgba8> recover_scene(const Buffer<Rgb8>& img, const Buffer<float>& t, const Airlight&, const DehazeParams& p) {
    int n = p.width * p.height;
    Buffer<Rgba8> out(n);
    restore_pixels<<<(n + 127) / 128, 128>>>(img.data(), t.data(), reinterpret_cast<uchar4*>(out.data()), n);
    CHECK(cudaGetLastError());
    return out;
}
