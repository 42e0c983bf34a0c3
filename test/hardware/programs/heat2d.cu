// Nine-point smoothing on a 1023 x 511 grid whose description travels as a struct.
#include "common.h"

struct Grid {
    int nx, ny, pitch;
    __host__ __device__ int index(int x, int y) const { return y * pitch + x; }
};

struct Weights { float centre, edge, corner; };

__global__ void smooth9(Grid g, Weights w, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= g.nx - 1 || y >= g.ny - 1)
        return;
    float edges = in[g.index(x - 1, y)] + in[g.index(x + 1, y)] + in[g.index(x, y - 1)] + in[g.index(x, y + 1)];
    float corners = in[g.index(x - 1, y - 1)] + in[g.index(x + 1, y - 1)] + in[g.index(x - 1, y + 1)] + in[g.index(x + 1, y + 1)];
    out[g.index(x, y)] = w.centre * in[g.index(x, y)] + w.edge * edges + w.corner * corners;
}

// The whole tile with halo is loaded by a loop over its linear index.
template <int BX, int BY>
__global__ void smooth9Tile(Grid g, Weights w, const float *in, float *out)
{
    constexpr int TW = BX + 2, TH = BY + 2;
    __shared__ float t[TH][TW];
    const int x0 = blockIdx.x * BX - 1, y0 = blockIdx.y * BY - 1;
    for (int i = threadIdx.y * BX + threadIdx.x; i < TW * TH; i += BX * BY) {
        int lx = i % TW, ly = i / TW;
        int gx = min(max(x0 + lx, 0), g.nx - 1), gy = min(max(y0 + ly, 0), g.ny - 1);
        t[ly][lx] = in[g.index(gx, gy)];
    }
    __syncthreads();
    int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    if (x < 1 || y < 1 || x >= g.nx - 1 || y >= g.ny - 1)
        return;
    float sum = 0;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) {
            float k = dx == 1 && dy == 1 ? w.centre : (dx == 1 || dy == 1 ? w.edge : w.corner);
            sum += k * t[threadIdx.y + dy][threadIdx.x + dx];
        }
    out[g.index(x, y)] = sum;
}

int main()
{
    Grid g = {1023, 511, 1023};
    Weights w = {0.5f, 0.1f, 0.025f};
    const int n = g.pitch * g.ny;
    std::vector<float> in = randomFloats(n, 4), want(n, 0.0f);
    for (int y = 1; y < g.ny - 1; ++y)
        for (int x = 1; x < g.nx - 1; ++x) {
            float s = 0;
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx)
                    s += (dx && dy ? w.corner : dx || dy ? w.edge : w.centre) * in[g.index(x + dx, y + dy)];
            want[g.index(x, y)] = s;
        }
    float *din = toDevice(in), *dout = deviceZeros<float>(n);
    bool ok = true;
    dim3 block(64, 4);
    smooth9<<<dim3((1023 + 63) / 64, (511 + 3) / 4), block>>>(g, w, din, dout);
    ok &= report("smooth9", allNear(toHost(dout, n), want, 1e-5));
    CUDA_OK(cudaMemset(dout, 0, n * sizeof(float)));
    smooth9Tile<16, 16><<<dim3(64, 32), dim3(16, 16)>>>(g, w, din, dout);
    ok &= report("smooth9Tile", allNear(toHost(dout, n), want, 1e-5));
    return ok ? 0 : 1;
}
