// Cooperative groups with small tiles, and half-precision tiles in shared memory.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include "common.h"

using namespace cooperative_groups;

// Eight lanes a row of 48 floats.
__global__ void rowNorms(const float *m, float *norms, int rows, int cols)
{
    auto tile = tiled_partition<8>(this_thread_block());
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    if (row >= rows) return;
    float s = 0;
    for (int c = tile.thread_rank(); c < cols; c += tile.size()) {
        const float v = m[row * cols + c];
        s += v * v;
    }
    for (int d = tile.size() / 2; d > 0; d /= 2) s += tile.shfl_down(s, d);
    if (tile.thread_rank() == 0) norms[row] = sqrtf(s);
}

// Transpose of halves: a tile row is 64 bytes, two lanes share a word.
__global__ void transposeHalf(const half *in, half *out, int n)
{
    __shared__ half t[32][32];
    __shared__ half padded[32][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        half v = in[(y + k) * n + x];
        t[threadIdx.y + k][threadIdx.x] = v;
        padded[threadIdx.y + k][threadIdx.x] = v;
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        half a = t[threadIdx.x][threadIdx.y + k];
        half b = padded[threadIdx.x][threadIdx.y + k];
        out[(y + k) * n + x] = __hmul(__float2half(0.5f), __hadd(a, b));
    }
}

// half2 dot products of rows with a vector held in shared memory.
__global__ void halfGemv(const half2 *A, const half2 *x, float *y, int cols2)
{
    __shared__ half2 sx[256];
    for (int i = threadIdx.x; i < cols2; i += blockDim.x) sx[i] = x[i];
    __syncthreads();
    auto warp = tiled_partition<32>(this_thread_block());
    int row = blockIdx.x * (blockDim.x / 32) + warp.meta_group_rank();
    float s = 0;
    for (int i = warp.thread_rank(); i < cols2; i += 32) {
        half2 p = __hmul2(A[row * cols2 + i], sx[i]);
        s += __low2float(p) + __high2float(p);
    }
    for (int d = 16; d; d >>= 1) s += warp.shfl_xor(s, d);
    if (warp.thread_rank() == 0) y[row] = s;
}

int main()
{
    bool ok = true;
    const int rows = 1000, cols = 48;
    std::vector<float> m = randomFloats(rows * cols, 1), norms(rows);
    for (int r = 0; r < rows; ++r) { double s = 0; for (int c = 0; c < cols; ++c) s += m[r * cols + c] * m[r * cols + c]; norms[r] = (float)std::sqrt(s); }
    float *dn = deviceZeros<float>(rows);
    rowNorms<<<(rows * 8 + 127) / 128, 128>>>(toDevice(m), dn, rows, cols);
    ok &= report("rowNorms", allNear(toHost(dn, rows), norms, 1e-5));

    const int n = 192;
    std::vector<half> a(n * n), x(n);
    for (int i = 0; i < n * n; ++i) a[i] = __float2half(float(i % 500) / 64);
    for (int i = 0; i < n; ++i) x[i] = __float2half(float(i % 7) / 8);
    half *da = toDevice(a), *db = deviceZeros<half>(n * n);
    transposeHalf<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(da, db, n);
    std::vector<half> b = toHost(db, n * n);
    bool good = true;
    for (int y = 0; y < n; ++y) for (int c = 0; c < n; ++c) good = good && __half2float(b[c * n + y]) == __half2float(a[y * n + c]);
    ok &= report("transposeHalf", good);

    std::vector<float> y(n, 0.0f);
    for (int r = 0; r < n; ++r) for (int c = 0; c < n; ++c) y[r] += __half2float(a[r * n + c]) * __half2float(x[c]);
    float *dy = deviceZeros<float>(n);
    halfGemv<<<n / 4, 128>>>((half2 *)da, (half2 *)toDevice(x), dy, n / 2);
    ok &= report("halfGemv", allNear(toHost(dy, n), y, 5e-3));
    return ok ? 0 : 1;
}
