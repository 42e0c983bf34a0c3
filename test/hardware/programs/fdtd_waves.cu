// Finite-difference time domain: two half steps of Yee's scheme in 2-D, fields with padded pitch.
#include "common.h"

template <typename T>
struct Field {
    T *data;
    size_t pitch;   // bytes
    int nx, ny;
    __device__ T &operator()(int x, int y) const { return *((T *)((char *)data + y * pitch) + x); }
};

__global__ void updateH(Field<float> hx, Field<float> hy, Field<float> ez, float c)
{
    int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
    if (x < ez.nx - 1 && y < ez.ny - 1) {
        hx(x, y) -= c * (ez(x, y + 1) - ez(x, y));
        hy(x, y) += c * (ez(x + 1, y) - ez(x, y));
    }
}

__global__ void updateE(Field<float> hx, Field<float> hy, Field<float> ez, const float *__restrict__ eps)
{
    int x = blockDim.x * blockIdx.x + threadIdx.x + 1, y = blockDim.y * blockIdx.y + threadIdx.y + 1;
    if (x >= ez.nx - 1 || y >= ez.ny - 1) return;
    ez(x, y) += eps[y * ez.nx + x] * ((hy(x, y) - hy(x - 1, y)) - (hx(x, y) - hx(x, y - 1)));
}

int main()
{
    const int nx = 301, ny = 200;
    std::vector<float> h[3], eps = randomFloats(nx * ny, 9);
    Field<float> f[3];
    for (int i = 0; i < 3; ++i) {
        h[i] = randomFloats(nx * ny, i + 1);
        f[i].nx = nx;
        f[i].ny = ny;
        CUDA_OK(cudaMallocPitch(&f[i].data, &f[i].pitch, nx * sizeof(float), ny));
        CUDA_OK(cudaMemcpy2D(f[i].data, f[i].pitch, h[i].data(), nx * 4, nx * 4, ny, cudaMemcpyHostToDevice));
    }
    auto same = [&](int i) {
        std::vector<float> got(nx * ny);
        CUDA_OK(cudaMemcpy2D(got.data(), nx * 4, f[i].data, f[i].pitch, nx * 4, ny, cudaMemcpyDeviceToHost));
        return allNear(got, h[i], 1e-5);
    };
    std::vector<float> &hx = h[0], &hy = h[1], &ez = h[2];
    dim3 block(32, 16);
    bool ok = true;
    updateH<<<dim3((nx + 31) / 32, (ny + 15) / 16), block>>>(f[0], f[1], f[2], 0.5f);
    for (int y = 0; y < ny - 1; ++y)
        for (int x = 0; x < nx - 1; ++x) {
            hx[y * nx + x] -= 0.5f * (ez[(y + 1) * nx + x] - ez[y * nx + x]);
            hy[y * nx + x] += 0.5f * (ez[y * nx + x + 1] - ez[y * nx + x]);
        }
    ok &= report("updateH", same(0) && same(1));
    updateE<<<dim3((nx + 31) / 32, (ny + 15) / 16), block>>>(f[0], f[1], f[2], toDevice(eps));
    for (int y = 1; y < ny - 1; ++y)
        for (int x = 1; x < nx - 1; ++x)
            ez[y * nx + x] += eps[y * nx + x] * ((hy[y * nx + x] - hy[y * nx + x - 1]) - (hx[y * nx + x] - hx[(y - 1) * nx + x]));
    ok &= report("updateE", same(2));
    return ok ? 0 : 1;
}
