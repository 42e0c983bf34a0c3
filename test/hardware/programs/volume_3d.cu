// Work on volumes with 3-D blocks: downsampling, an axis sum, and a gather by trilinear weights.
#include "common.h"

struct Extent3 { int x, y, z; };

__device__ __host__ inline size_t flat(const Extent3 &e, int x, int y, int z) { return (size_t)x + e.x * ((size_t)y + (size_t)e.y * z); }

__global__ void downsample(const unsigned short *in, unsigned short *out, Extent3 big, Extent3 small)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= small.x || y >= small.y || z >= small.z) return;
    unsigned int sum = 0;
    for (int dz = 0; dz < 2; ++dz)
        for (int dy = 0; dy < 2; ++dy)
            for (int dx = 0; dx < 2; ++dx)
                sum += in[flat(big, 2 * x + dx, 2 * y + dy, 2 * z + dz)];
    out[flat(small, x, y, z)] = (unsigned short)(sum / 8);
}

// Sum along x: a block of 8 x 4 x 4 threads takes 16 rows, eight threads a row.
__global__ void sumAlongX(const float *in, float *out, Extent3 e)
{
    __shared__ float part[4][4][8];
    int y = blockIdx.x * 4 + threadIdx.y, z = blockIdx.y * 4 + threadIdx.z;
    float s = 0;
    if (y < e.y && z < e.z)
        for (int x = threadIdx.x; x < e.x; x += 8)
            s += in[flat(e, x, y, z)];
    part[threadIdx.z][threadIdx.y][threadIdx.x] = s;
    __syncthreads();
    for (int d = 4; d > 0; d >>= 1) {
        if (threadIdx.x < d)
            part[threadIdx.z][threadIdx.y][threadIdx.x] += part[threadIdx.z][threadIdx.y][threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0 && y < e.y && z < e.z)
        out[z * e.y + y] = part[threadIdx.z][threadIdx.y][0];
}

__global__ void shiftVolume(const float *in, float *out, Extent3 e, float sx, float sy, float sz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= e.x - 1 || y >= e.y - 1 || z >= e.z - 1) return;
    float c00 = (1 - sx) * in[flat(e, x, y, z)] + sx * in[flat(e, x + 1, y, z)];
    float c10 = (1 - sx) * in[flat(e, x, y + 1, z)] + sx * in[flat(e, x + 1, y + 1, z)];
    float c01 = (1 - sx) * in[flat(e, x, y, z + 1)] + sx * in[flat(e, x + 1, y, z + 1)];
    float c11 = (1 - sx) * in[flat(e, x, y + 1, z + 1)] + sx * in[flat(e, x + 1, y + 1, z + 1)];
    out[flat(e, x, y, z)] = (1 - sz) * ((1 - sy) * c00 + sy * c10) + sz * ((1 - sy) * c01 + sy * c11);
}

int main()
{
    bool ok = true;
    const Extent3 big = {100, 60, 40}, small = {50, 30, 20};
    std::vector<unsigned short> v(100 * 60 * 40), half(50 * 30 * 20);
    Random r(1);
    for (auto &s : v) s = (unsigned short)r.below(4000);
    for (int z = 0; z < 20; ++z) for (int y = 0; y < 30; ++y) for (int x = 0; x < 50; ++x) {
        unsigned int sum = 0;
        for (int k = 0; k < 8; ++k) sum += v[flat(big, 2 * x + (k & 1), 2 * y + (k >> 1 & 1), 2 * z + (k >> 2))];
        half[flat(small, x, y, z)] = (unsigned short)(sum / 8);
    }
    unsigned short *dh = deviceZeros<unsigned short>(half.size());
    downsample<<<dim3((50 + 15) / 16, (30 + 3) / 4, (20 + 3) / 4), dim3(16, 4, 4)>>>(toDevice(v), dh, big, small);
    ok &= report("downsample", toHost(dh, half.size()) == half);

    const Extent3 e = {90, 45, 30};
    const int n = 90 * 45 * 30;
    std::vector<float> f = randomFloats(n, 2), sums(45 * 30, 0.0f), shifted(n, 0.0f);
    for (int z = 0; z < 30; ++z) for (int y = 0; y < 45; ++y) for (int x = 0; x < 90; ++x) sums[z * 45 + y] += f[flat(e, x, y, z)];
    float *df = toDevice(f), *ds = deviceZeros<float>(n);
    sumAlongX<<<dim3((45 + 3) / 4, (30 + 3) / 4), dim3(8, 4, 4)>>>(df, ds, e);
    ok &= report("sumAlongX", allNear(toHost(ds, sums.size()), sums, 1e-4));
    CUDA_OK(cudaMemset(ds, 0, n * sizeof(float)));
    const float s[3] = {0.25f, 0.5f, 0.75f};
    for (int z = 0; z < 29; ++z) for (int y = 0; y < 44; ++y) for (int x = 0; x < 89; ++x)
        for (int k = 0; k < 8; ++k)
            shifted[flat(e, x, y, z)] += ((k & 1) ? s[0] : 1 - s[0]) * ((k & 2) ? s[1] : 1 - s[1]) * ((k & 4) ? s[2] : 1 - s[2]) *
                                         f[flat(e, x + (k & 1), y + (k >> 1 & 1), z + (k >> 2))];
    shiftVolume<<<dim3((90 + 31) / 32, 45, 30), 32>>>(df, ds, e, s[0], s[1], s[2]);
    ok &= report("shiftVolume", allNear(toHost(ds, n), shifted, 1e-5));
    return ok ? 0 : 1;
}
