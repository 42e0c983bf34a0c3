// The 8 x 8 discrete cosine transform of an image, a block of pixels a thread block and eight at a time.
#include "common.h"

#define C_PI 3.14159265358979f
#define BS 8

__constant__ float basis[64];

__global__ void dctSimple(const float *src, float *dst, int stride)
{
    __shared__ float cur[BS * BS], tmp[BS * BS];
    const int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    cur[(ty << 3) + tx] = src[(by * BS + ty) * stride + bx * BS + tx];
    __syncthreads();
    float e = 0;
    int u = ty << 3, v = tx;
#pragma unroll
    for (int i = 0; i < BS; i++) {
        e += basis[u + i] * cur[v];
        v += BS;
    }
    tmp[(ty << 3) + tx] = e;
    __syncthreads();
    e = 0;
    u = ty << 3;
    v = tx << 3;
#pragma unroll
    for (int i = 0; i < BS; i++)
        e += tmp[u + i] * basis[v + i];
    dst[(by * BS + ty) * stride + bx * BS + tx] = e;
}

// Eight blocks of pixels together; rows by one pass, columns by the other, the tile padded by one.
__global__ void dctStrips(const float *src, float *dst, int stride)
{
    __shared__ float tile[8][8 * 8 + 1];
    const int t = threadIdx.x, b = threadIdx.y;            // 8 x 8 threads
    const float *from = src + blockIdx.y * 8 * stride + blockIdx.x * 64 + b * 8;
    float row[8];
    for (int k = 0; k < 8; ++k)
        tile[k][b * 8 + t] = from[k * stride + t];
    __syncthreads();
    for (int x = 0; x < 8; ++x) row[x] = tile[t][b * 8 + x];
    for (int v = 0; v < 8; ++v) {
        float s = 0;
        for (int x = 0; x < 8; ++x) s += basis[v * 8 + x] * row[x];
        tile[t][b * 8 + v] = s;
    }
    __syncthreads();
    for (int y = 0; y < 8; ++y) row[y] = tile[y][b * 8 + t];
    float *to = dst + blockIdx.y * 8 * stride + blockIdx.x * 64 + b * 8;
    for (int u = 0; u < 8; ++u) {
        float s = 0;
        for (int y = 0; y < 8; ++y) s += basis[u * 8 + y] * row[y];
        to[u * stride + t] = s;
    }
}

int main()
{
    const int w = 512, h = 128;
    float m[64];
    for (int u = 0; u < 8; u++)
        for (int x = 0; x < 8; x++)
            m[u * 8 + x] = (u ? 0.5f : 0.353553391f) * std::cos((2 * x + 1) * u * C_PI / 16);
    CUDA_OK(cudaMemcpyToSymbol(basis, m, sizeof(m)));
    std::vector<float> img = randomFloats(w * h, 1), want(w * h);
    for (int by = 0; by < h; by += 8)
        for (int bx = 0; bx < w; bx += 8)
            for (int u = 0; u < 8; u++)
                for (int v = 0; v < 8; v++) {
                    float s = 0;
                    for (int y = 0; y < 8; y++) for (int x = 0; x < 8; x++) s += m[u * 8 + y] * m[v * 8 + x] * img[(by + y) * w + bx + x];
                    want[(by + u) * w + bx + v] = s;
                }
    float *src = toDevice(img), *dst = deviceZeros<float>(w * h);
    bool ok = true;
    dctSimple<<<dim3(w / 8, h / 8), dim3(8, 8)>>>(src, dst, w);
    ok &= report("dctSimple", allNear(toHost(dst, w * h), want, 1e-4));
    CUDA_OK(cudaMemset(dst, 0, w * h * sizeof(float)));
    dctStrips<<<dim3(w / 64, h / 8), dim3(8, 8)>>>(src, dst, w);
    ok &= report("dctStrips", allNear(toHost(dst, w * h), want, 1e-4));
    return ok ? 0 : 1;
}
