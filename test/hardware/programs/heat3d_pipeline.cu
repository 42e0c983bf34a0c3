// 3D heat equation: naive, z-marching with register queue + shared plane, and cudaMalloc3D pitched version; 2D ADI-free
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Grid { int nx, ny, nz; __host__ __device__ size_t at(int x, int y, int z) const { return (size_t(z) * ny + y) * nx + x; } };

__global__ void heat_naive(const float* __restrict__ u, float* __restrict__ v, Grid g, float c)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int z = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (x < g.nx - 1 && y < g.ny - 1 && z < g.nz - 1) {
        size_t i = g.at(x, y, z);
        size_t sy = g.nx, sz = size_t(g.nx) * g.ny;
        v[i] = u[i] + c * (u[i - 1] + u[i + 1] + u[i - sy] + u[i + sy] + u[i - sz] + u[i + sz] - 6.f * u[i]);
    }
}

template <int BX, int BY>
__global__ void __launch_bounds__(BX * BY) heat_march(const float* __restrict__ u, float* __restrict__ v, Grid g, float c)
{
    __shared__ float plane[BY + 2][BX + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int x = blockIdx.x * BX + tx, y = blockIdx.y * BY + ty;
    const bool inside = x < g.nx - 1 && y < g.ny - 1;
    const bool valid = x < g.nx && y < g.ny;
    float below = 0, here = 0, above = 0;
    if (valid) { below = u[g.at(x, y, 0)]; here = u[g.at(x, y, 1)]; }
    for (int z = 1; z < g.nz - 1; ++z) {
        if (valid) above = u[g.at(x, y, z + 1)];
        __syncthreads();
        plane[ty][tx] = here;
        if (threadIdx.x == 0 && y < g.ny) plane[ty][0] = u[g.at(x - 1, y, z)];
        if (threadIdx.x == BX - 1 && x + 1 < g.nx && y < g.ny) plane[ty][BX + 1] = u[g.at(x + 1, y, z)];
        if (threadIdx.y == 0 && x < g.nx) plane[0][tx] = u[g.at(x, y - 1, z)];
        if (threadIdx.y == BY - 1 && y + 1 < g.ny && x < g.nx) plane[BY + 1][tx] = u[g.at(x, y + 1, z)];
        __syncthreads();
        if (inside)
            v[g.at(x, y, z)] = here + c * (plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] + below + above - 6.f * here);
        below = here;
        here = above;
    }
}

__global__ void heat_pitched(cudaPitchedPtr src, cudaPitchedPtr dst, Grid g, float c)
{
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = blockIdx.y + 1, z = blockIdx.z + 1;
    if (x < 1 || x >= g.nx - 1) return;
    size_t slice = src.pitch * g.ny;
    char* base = (char*)src.ptr + z * slice + y * src.pitch;
    const float* row = (const float*)base;
    const float* up = (const float*)(base + src.pitch);
    const float* down = (const float*)(base - src.pitch);
    const float* front = (const float*)(base + slice);
    const float* back = (const float*)(base - slice);
    float* out = (float*)((char*)dst.ptr + z * slice + y * dst.pitch);
    out[x] = row[x] + c * (row[x - 1] + row[x + 1] + down[x] + up[x] + back[x] + front[x] - 6.f * row[x]);
}

int main()
{
    Grid g{70, 45, 26};
    size_t n = size_t(g.nx) * g.ny * g.nz;
    std::vector<float> h(n), r(n), s(n), t(n);
    for (size_t i = 0; i < n; ++i) h[i] = sinf(i * 0.01f) + (i % 13 == 0);
    float *a, *b, *d;
    cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&d, n * 4);
    cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(b, a, n * 4, cudaMemcpyDeviceToDevice);
    cudaMemcpy(d, a, n * 4, cudaMemcpyDeviceToDevice);
    const float c = 0.1f;
    dim3 blk(32, 4, 2);
    dim3 grd((g.nx - 2 + 31) / 32, (g.ny - 2 + 3) / 4, (g.nz - 2 + 1) / 2);
    heat_naive<<<grd, blk>>>(a, b, g, c);
    heat_march<32, 8><<<dim3((g.nx - 2 + 31) / 32, (g.ny - 2 + 7) / 8), dim3(32, 8)>>>(a, d, g, c);
    heat_march<16, 6><<<dim3((g.nx - 2 + 15) / 16, (g.ny - 2 + 5) / 6), dim3(16, 6)>>>(a, d, g, c);

    cudaPitchedPtr p0, p1;
    cudaExtent ext = make_cudaExtent(g.nx * sizeof(float), g.ny, g.nz);
    cudaMalloc3D(&p0, ext); cudaMalloc3D(&p1, ext);
    cudaMemcpy3DParms cp = {};
    cp.srcPtr = make_cudaPitchedPtr(h.data(), g.nx * 4, g.nx, g.ny);
    cp.dstPtr = p0; cp.extent = ext; cp.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&cp);
    cp.dstPtr = p1;
    cudaMemcpy3D(&cp);
    heat_pitched<<<dim3((g.nx + 79) / 80, g.ny - 2, g.nz - 2), 80>>>(p0, p1, g, c);
    cudaMemcpy3DParms back = {};
    back.srcPtr = p1; back.dstPtr = make_cudaPitchedPtr(t.data(), g.nx * 4, g.nx, g.ny);
    back.extent = ext; back.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&back);
    cudaMemcpy(r.data(), b, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(s.data(), d, n * 4, cudaMemcpyDeviceToHost);
    float e1 = 0, e2 = 0, e3 = 0;
    for (int z = 0; z < g.nz; ++z) for (int y = 0; y < g.ny; ++y) for (int x = 0; x < g.nx; ++x) {
        size_t i = g.at(x, y, z);
        float v = h[i];
        if (x && y && z && x < g.nx - 1 && y < g.ny - 1 && z < g.nz - 1)
            v += c * (h[i - 1] + h[i + 1] + h[g.at(x, y - 1, z)] + h[g.at(x, y + 1, z)] + h[g.at(x, y, z - 1)] + h[g.at(x, y, z + 1)] - 6.f * h[i]);
        e1 = fmaxf(e1, fabsf(v - r[i])); e2 = fmaxf(e2, fabsf(v - s[i])); e3 = fmaxf(e3, fabsf(v - t[i]));
    }
    printf("naive %g march %g pitched %g\n", e1, e2, e3);
    return !(e1 < 1e-5f && e2 < 1e-5f && e3 < 1e-5f);
}
