// Transposes of odd-sized matrices and of doubles; padding against an XOR swizzle.
#include "common.h"

template <int TILE, int ROWS>
__global__ void transposeGuarded(const float *__restrict__ src, float *__restrict__ dst, int width, int height)
{
    __shared__ float block[TILE][TILE + 1];
    unsigned int xIndex = blockIdx.x * TILE + threadIdx.x;
    unsigned int yIndex = blockIdx.y * TILE + threadIdx.y;
    for (int r = 0; r < TILE; r += ROWS)
        if (xIndex < width && yIndex + r < height)
            block[threadIdx.y + r][threadIdx.x] = src[(yIndex + r) * width + xIndex];
    __syncthreads();
    xIndex = blockIdx.y * TILE + threadIdx.x;
    yIndex = blockIdx.x * TILE + threadIdx.y;
    for (int r = 0; r < TILE; r += ROWS)
        if (xIndex < height && yIndex + r < width)
            dst[(yIndex + r) * height + xIndex] = block[threadIdx.x][threadIdx.y + r];
}

__device__ __forceinline__ int swizzle(int row, int col) { return row * 32 + (col ^ row); }

__global__ void transposeXor(const float *src, float *dst, int n)
{
    __shared__ float t[32 * 32];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32;
    const int tx = threadIdx.x, ty = threadIdx.y;
    #pragma unroll
    for (int k = 0; k < 32; k += 8)
        t[swizzle(ty + k, tx)] = src[(y + ty + k) * n + x + tx];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 32; k += 8)
        dst[(x + ty + k) * n + y + tx] = t[swizzle(tx, ty + k)];
}

#define TD 16
__global__ void transposeDouble(const double *a, double *b, int n)
{
    __shared__ double s[TD][TD];
    int i = blockIdx.y * TD + threadIdx.y, j = blockIdx.x * TD + threadIdx.x;
    s[threadIdx.y][threadIdx.x] = a[i * n + j];
    __syncthreads();
    i = blockIdx.x * TD + threadIdx.y;
    j = blockIdx.y * TD + threadIdx.x;
    b[i * n + j] = s[threadIdx.x][threadIdx.y];
}

// Reads float4 rows, scatters them into shared memory, writes float4 rows of the transpose.
__global__ void transposeFloat4(const float4 *src, float4 *dst, int n)
{
    __shared__ float tile[32][36];
    int row = threadIdx.y, quad = threadIdx.x;
    float4 v = src[((blockIdx.y * 32 + row) * n + blockIdx.x * 32) / 4 + quad];
    tile[quad * 4 + 0][row] = v.x;
    tile[quad * 4 + 1][row] = v.y;
    tile[quad * 4 + 2][row] = v.z;
    tile[quad * 4 + 3][row] = v.w;
    __syncthreads();
    dst[((blockIdx.x * 32 + row) * n + blockIdx.y * 32) / 4 + quad] = *(const float4 *)&tile[row][quad * 4];
}

template <typename T>
static bool transposed(const std::vector<T> &in, const std::vector<T> &out, int width, int height)
{
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            if (in[y * width + x] != out[x * height + y])
                return false;
    return true;
}

int main()
{
    bool ok = true;
    const int w = 1000, h = 1023;
    std::vector<float> odd = randomFloats(w * h, 1);
    float *dOdd = toDevice(odd), *dOddT = deviceZeros<float>(w * h);
    transposeGuarded<32, 8><<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 8)>>>(dOdd, dOddT, w, h);
    ok &= report("transposeGuarded", transposed(odd, toHost(dOddT, w * h), w, h));

    const int n = 512;
    std::vector<float> a = randomFloats(n * n, 2);
    float *da = toDevice(a), *db = deviceZeros<float>(n * n);
    transposeXor<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(da, db, n);
    ok &= report("transposeXor", transposed(a, toHost(db, n * n), n, n));

    CUDA_OK(cudaMemset(db, 0, n * n * sizeof(float)));
    transposeFloat4<<<dim3(n / 32, n / 32), dim3(8, 32)>>>((float4 *)da, (float4 *)db, n);
    ok &= report("transposeFloat4", transposed(a, toHost(db, n * n), n, n));

    std::vector<double> d(n * n);
    for (int i = 0; i < n * n; ++i) d[i] = i * 0.25;
    double *dd = toDevice(d), *ddT = deviceZeros<double>(n * n);
    transposeDouble<<<dim3(n / TD, n / TD), dim3(TD, TD)>>>(dd, ddT, n);
    ok &= report("transposeDouble", transposed(d, toHost(ddT, n * n), n, n));
    return ok ? 0 : 1;
}
