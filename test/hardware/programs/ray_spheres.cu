// A small ray caster: spheres in constant memory and as an array of structures in global memory.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define SPHERES 20
#define DIM 256
#define INF 2e10f

struct Sphere {
    float r, b, g;
    float radius;
    float x, y, z;
    __host__ __device__ float hit(float ox, float oy, float *n) const
    {
        float dx = ox - x;
        float dy = oy - y;
        if (dx * dx + dy * dy < radius * radius) {
            float dz = sqrtf(radius * radius - dx * dx - dy * dy);
            *n = dz / sqrtf(radius * radius);
            return dz + z;
        }
        return -INF;
    }
};

__constant__ Sphere s[SPHERES];

template <typename List>
__host__ __device__ inline uchar4 shade(const List &list, int x, int y)
{
    float ox = (x - DIM / 2), oy = (y - DIM / 2);
    float r = 0, g = 0, b = 0;
    float maxz = -INF;
    for (int i = 0; i < SPHERES; i++) {
        float n;
        float t = list[i].hit(ox, oy, &n);
        if (t > maxz) {
            r = list[i].r * n;
            g = list[i].g * n;
            b = list[i].b * n;
            maxz = t;
        }
    }
    uchar4 c;
    c.x = (int)(r * 255); c.y = (int)(g * 255); c.z = (int)(b * 255); c.w = 255;
    return c;
}

__global__ void castConstant(unsigned char *ptr)
{
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    int offset = x + y * blockDim.x * gridDim.x;
    uchar4 c = shade(s, x, y);
    ptr[offset * 4 + 0] = c.x;
    ptr[offset * 4 + 1] = c.y;
    ptr[offset * 4 + 2] = c.z;
    ptr[offset * 4 + 3] = 255;
}

__global__ void castGlobal(const Sphere *list, uchar4 *out)
{
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    out[x + y * DIM] = shade(list, x, y);
}

int main()
{
    std::vector<Sphere> list(SPHERES);
    for (int i = 0; i < SPHERES; i++)
        list[i] = {i % 5 / 5.f, i % 3 / 3.f, i % 7 / 7.f, 15.f + i % 6 * 4, (i * 37 % 200) - 100.f, (i * 59 % 200) - 100.f, i * 11 % 100 - 50.f};
    std::vector<uchar4> want(DIM * DIM), got(DIM * DIM);
    for (int i = 0; i < DIM * DIM; i++) want[i] = shade(list.data(), i % DIM, i / DIM);
    Sphere *ds;
    unsigned char *bitmap;
    if (cudaMalloc(&ds, sizeof(Sphere) * SPHERES) || cudaMalloc(&bitmap, DIM * DIM * 4)) return 2;
    cudaMemcpy(ds, list.data(), sizeof(Sphere) * SPHERES, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(s, list.data(), sizeof(Sphere) * SPHERES);
    int failed = 0;
    auto verify = [&](const char *name) {
        int off = 0;
        if (cudaMemcpy(got.data(), bitmap, DIM * DIM * 4, cudaMemcpyDeviceToHost)) off = 1 << 20;
        for (int i = 0; i < DIM * DIM; i++)
            off += abs(got[i].x - want[i].x) > 1 || abs(got[i].y - want[i].y) > 1 || abs(got[i].z - want[i].z) > 1;
        printf("%s %s\n", name, off < 20 ? "PASS" : "FAIL");
        failed += off >= 20;
        cudaMemset(bitmap, 0, DIM * DIM * 4);
    };
    dim3 grids(DIM / 16, DIM / 16);
    dim3 threads(16, 16);
    castConstant<<<grids, threads>>>(bitmap);
    verify("castConstant");
    castGlobal<<<grids, threads>>>(ds, (uchar4 *)bitmap);
    verify("castGlobal");
    return failed;
}
