// Shallow water (Lax-Friedrichs), struct-of-three cell, plus a leapfrog wave equation on 8th-order stencil in x
#include <iostream>
#include <vector>
#include <cmath>
#include <cstring>
#include <cuda_runtime.h>

namespace swe {
struct Cell { float h, hu, hv; };
inline __device__ Cell operator+(const Cell& a, const Cell& b) { return {a.h + b.h, a.hu + b.hu, a.hv + b.hv}; }
inline __device__ Cell operator-(const Cell& a, const Cell& b) { return {a.h - b.h, a.hu - b.hu, a.hv - b.hv}; }
inline __device__ Cell operator*(float s, const Cell& a) { return {s * a.h, s * a.hu, s * a.hv}; }
constexpr float kG = 9.81f;

__device__ inline Cell fluxX(const Cell& c) { float u = c.hu / c.h; return {c.hu, c.hu * u + 0.5f * kG * c.h * c.h, c.hv * u}; }
__device__ inline Cell fluxY(const Cell& c) { float v = c.hv / c.h; return {c.hv, c.hu * v, c.hv * v + 0.5f * kG * c.h * c.h}; }

class Field {
public:
    Field(int nx, int ny) : nx_(nx), ny_(ny) { cudaMalloc(&data_, sizeof(Cell) * nx * ny); }
    Field(const Field&) = delete;
    ~Field() { cudaFree(data_); }
    Cell* data() const { return data_; }
    int nx() const { return nx_; }
    int ny() const { return ny_; }
private:
    int nx_, ny_;
    Cell* data_;
};

__global__ void advance(const Cell* __restrict__ in, Cell* __restrict__ out, int nx, int ny, float lam)
{
    __shared__ Cell tile[10][18];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    auto clampx = [=](int v) { return v < 0 ? 0 : (v >= nx ? nx - 1 : v); };
    auto clampy = [=](int v) { return v < 0 ? 0 : (v >= ny ? ny - 1 : v); };
    for (int t = threadIdx.y * 16 + threadIdx.x; t < 180; t += 128) {
        int ty = t / 18, tx = t % 18;
        tile[ty][tx] = in[clampy(blockIdx.y * 8 + ty - 1) * nx + clampx(blockIdx.x * 16 + tx - 1)];
    }
    __syncthreads();
    if (x >= nx || y >= ny) return;
    const Cell &w = tile[threadIdx.y + 1][threadIdx.x], &e = tile[threadIdx.y + 1][threadIdx.x + 2];
    const Cell &s = tile[threadIdx.y][threadIdx.x + 1], &n = tile[threadIdx.y + 2][threadIdx.x + 1];
    Cell r = 0.25f * (w + e + s + n) - (0.5f * lam) * (fluxX(e) - fluxX(w)) - (0.5f * lam) * (fluxY(n) - fluxY(s));
    out[y * nx + x] = r;
}

__global__ void max_speed(const Cell* c, int n, int* out)
{
    float m = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Cell v = c[i];
        m = fmaxf(m, fabsf(v.hu / v.h) + sqrtf(kG * v.h));
    }
    atomicMax(out, __float_as_int(m));
}
}  // namespace swe

__constant__ float kStencil[5] = {-205.f / 72, 8.f / 5, -1.f / 5, 8.f / 315, -1.f / 560};

__global__ void wave8(float* __restrict__ prev, const float* __restrict__ cur, int nx, int ny, float c2)
{
    extern __shared__ float row[];            // blockDim.x + 8
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = 4 + blockIdx.y; y < ny - 4; y += gridDim.y) {
        const float* line = cur + y * nx;
        if (x < nx) row[threadIdx.x + 4] = line[x];
        if (threadIdx.x < 4 && x >= 4) row[threadIdx.x] = line[x - 4];
        if (threadIdx.x >= blockDim.x - 4 && x + 4 < nx) row[threadIdx.x + 8] = line[x + 4];
        __syncthreads();
        if (x >= 4 && x < nx - 4) {
            float l = 2 * kStencil[0] * row[threadIdx.x + 4];
#pragma unroll
            for (int k = 1; k <= 4; ++k)
                l += kStencil[k] * (row[threadIdx.x + 4 - k] + row[threadIdx.x + 4 + k] + line[x - k * nx] + line[x + k * nx]);
            prev[y * nx + x] = 2 * line[x] - prev[y * nx + x] + c2 * l;
        }
        __syncthreads();
    }
}

int main()
{
    using namespace swe;
    Field a(101, 67), b(101, 67);
    const int nx = a.nx(), ny = a.ny();
    std::vector<Cell> h(nx * ny);
    for (int y = 0; y < ny; ++y) for (int x = 0; x < nx; ++x) h[y * nx + x] = {1.f + 0.5f * std::exp(-0.01f * ((x - 50) * (x - 50) + (y - 33) * (y - 33))), 0.f, 0.f};
    cudaMemcpy(a.data(), h.data(), h.size() * sizeof(Cell), cudaMemcpyHostToDevice);
    int* sp; cudaMalloc(&sp, 4); cudaMemset(sp, 0, 4);
    dim3 blk(16, 8), grd((nx + 15) / 16, (ny + 7) / 8);
    const Field *src = &a, *dst = &b;
    for (int t = 0; t < 4; ++t) {
        advance<<<grd, blk>>>(src->data(), dst->data(), nx, ny, 0.1f);
        std::swap(src, dst);
    }
    max_speed<<<9, 80>>>(src->data(), nx * ny, sp);
    std::vector<Cell> o(h.size());
    cudaMemcpy(o.data(), src->data(), o.size() * sizeof(Cell), cudaMemcpyDeviceToHost);
    double m0 = 0, m1 = 0, asym = 0;
    for (auto& c : h) m0 += c.h;
    for (auto& c : o) m1 += c.h;
    for (int y = 0; y < ny; ++y) for (int x = 0; x < nx; ++x) asym = std::max(asym, (double)std::fabs(o[y * nx + x].h - o[y * nx + nx - 1 - x].h));
    int is; cudaMemcpy(&is, sp, 4, cudaMemcpyDeviceToHost);
    float fs; memcpy(&fs, &is, 4);

    const int wx = 150, wy = 90;
    std::vector<float> w(wx * wy, 0.f);
    w[45 * wx + 75] = 1.f;
    float *p, *q;
    cudaMalloc(&p, w.size() * 4); cudaMalloc(&q, w.size() * 4);
    cudaMemcpy(p, w.data(), w.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(q, w.data(), w.size() * 4, cudaMemcpyHostToDevice);
    for (int t = 0; t < 3; ++t) {
        wave8<<<dim3((wx + 63) / 64, 20), 64, (64 + 8) * sizeof(float)>>>(p, q, wx, wy, 0.1f);
        std::swap(p, q);
    }
    cudaMemcpy(w.data(), q, w.size() * 4, cudaMemcpyDeviceToHost);
    double ws = 0;
    for (float v : w) ws += v;
    std::cout << "mass " << m0 << " -> " << m1 << " asym " << asym << " speed " << fs << " wave sum " << ws << "\n";
    return !(std::fabs(m0 - m1) < 0.01 * m0 && asym < 1e-4 && std::isfinite(ws));
}
