// Small matrix jobs: upper triangle packing, row swaps, Kronecker product, power iteration step, batched 4x4.
#include "common.h"

__global__ void packUpper(const float *full, float *packed, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n && col >= row)
        packed[row * n - row * (row - 1) / 2 + col - row] = full[row * n + col];
}

__global__ void swapRows(double *a, int ld, int cols, const int *pivot, int count)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    for (int i = 0; i < count; ++i) {
        int p = pivot[i];
        if (p != i) {
            double t = a[i * ld + c];
            a[i * ld + c] = a[p * ld + c];
            a[p * ld + c] = t;
        }
    }
}

struct Mat4 { float m[16]; };

// One product of two 4 x 4 matrices a thread: 64 bytes between lanes.
__global__ void mul4x4PerThread(const Mat4 *a, const Mat4 *b, Mat4 *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int r = 0; r < 4; ++r)
        for (int k = 0; k < 4; ++k) {
            float s = 0;
            for (int j = 0; j < 4; ++j)
                s += a[i].m[4 * r + j] * b[i].m[4 * j + k];
            c[i].m[4 * r + k] = s;
        }
}

// Sixteen threads a product, operands in shared memory.
__global__ void mul4x4PerGroup(const float *a, const float *b, float *c)
{
    __shared__ float sa[128], sb[128];
    int t = threadIdx.x, g = blockIdx.x * 128 + t;
    sa[t] = a[g];
    sb[t] = b[g];
    __syncthreads();
    int base = t & ~15, r = t >> 2 & 3, k = t & 3;
    float s = 0;
    #pragma unroll
    for (int j = 0; j < 4; ++j)
        s += sa[base + 4 * r + j] * sb[base + 4 * j + k];
    c[g] = s;
}

__global__ void transformVertices(const float4 *__restrict__ v, float4 *__restrict__ out, Mat4 m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 p = v[i];
        out[i] = make_float4(m.m[0] * p.x + m.m[1] * p.y + m.m[2] * p.z + m.m[3] * p.w,
                             m.m[4] * p.x + m.m[5] * p.y + m.m[6] * p.z + m.m[7] * p.w,
                             m.m[8] * p.x + m.m[9] * p.y + m.m[10] * p.z + m.m[11] * p.w,
                             m.m[12] * p.x + m.m[13] * p.y + m.m[14] * p.z + m.m[15] * p.w);
    }
}

int main()
{
    bool ok = true;
    const int n = 250;
    std::vector<float> full = randomFloats(n * n, 1), packed(n * (n + 1) / 2);
    for (int r = 0, k = 0; r < n; ++r) for (int c = r; c < n; ++c) packed[k++] = full[r * n + c];
    float *dp = deviceZeros<float>(packed.size());
    packUpper<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(toDevice(full), dp, n);
    ok &= report("packUpper", toHost(dp, packed.size()) == packed);

    std::vector<double> a(100 * 301);
    for (size_t i = 0; i < a.size(); ++i) a[i] = (double)i;
    std::vector<int> pivot(20);
    Random r(2);
    for (int i = 0; i < 20; ++i) pivot[i] = i + r.below(100 - i);
    double *da = toDevice(a);
    swapRows<<<(300 + 127) / 128, 128>>>(da, 301, 300, toDevice(pivot), 20);
    for (int i = 0; i < 20; ++i) for (int c = 0; c < 300; ++c) if (pivot[i] != i) std::swap(a[i * 301 + c], a[pivot[i] * 301 + c]);
    ok &= report("swapRows", toHost(da, a.size()) == a);

    const int m = 8000;
    std::vector<float> x = randomFloats(m * 16, 3), y = randomFloats(m * 16, 4), z(m * 16, 0.0f);
    for (int i = 0; i < m; ++i)
        for (int e = 0; e < 16; ++e)
            for (int j = 0; j < 4; ++j) z[i * 16 + e] += x[i * 16 + e / 4 * 4 + j] * y[i * 16 + 4 * j + e % 4];
    float *dx = toDevice(x), *dy = toDevice(y), *dz = deviceZeros<float>(m * 16);
    mul4x4PerThread<<<(m + 127) / 128, 128>>>((Mat4 *)dx, (Mat4 *)dy, (Mat4 *)dz, m);
    ok &= report("mul4x4PerThread", allNear(toHost(dz, m * 16), z, 1e-5));
    CUDA_OK(cudaMemset(dz, 0, m * 16 * sizeof(float)));
    mul4x4PerGroup<<<m / 8, 128>>>(dx, dy, dz);
    ok &= report("mul4x4PerGroup", allNear(toHost(dz, m * 16), z, 1e-5));

    Mat4 t;
    for (int e = 0; e < 16; ++e) t.m[e] = 0.1f * e;
    transformVertices<<<(m * 4 + 255) / 256, 256>>>((float4 *)dx, (float4 *)dz, t, m * 4);
    for (int i = 0; i < m * 4; ++i)
        for (int e = 0; e < 4; ++e) { z[i * 4 + e] = 0; for (int j = 0; j < 4; ++j) z[i * 4 + e] += t.m[4 * e + j] * x[i * 4 + j]; }
    ok &= report("transformVertices", allNear(toHost(dz, m * 16), z, 1e-5));
    return ok ? 0 : 1;
}
