// Quantised weights in blocks of 32: 4-bit and 8-bit formats, dequantised and multiplied.
#include <cuda_fp16.h>
#include <cstdint>
#include "common.h"

#define QK 32

typedef struct {
    half d;                 // scale
    uint8_t qs[QK / 2];     // two 4-bit values a byte
} block_q4;                 // 18 bytes
static_assert(sizeof(block_q4) == 18, "wrong block size");

typedef struct {
    float d;
    int8_t qs[QK];
} block_q8;                 // 36 bytes

__global__ void dequantizeQ4(const block_q4 *x, float *y, int k)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i >= k) return;
    const int ib = i / (QK / 2);
    const int iqs = i % (QK / 2);
    const float d = __half2float(x[ib].d);
    const int vui = x[ib].qs[iqs];
    y[ib * QK + iqs] = ((vui & 0xF) - 8) * d;
    y[ib * QK + iqs + QK / 2] = ((vui >> 4) - 8) * d;
}

__global__ void quantizeQ8(const float *x, block_q8 *y, int k)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= k) return;
    const float xi = x[i];
    float amax = fabsf(xi);
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1)
        amax = fmaxf(amax, __shfl_xor_sync(0xffffffff, amax, mask, 32));
    const float d = amax / 127;
    y[i / QK].qs[i % QK] = amax == 0.0f ? 0 : roundf(xi / d);
    if (i % QK == 0)
        y[i / QK].d = d;
}

// A row by a warp; each lane takes whole blocks: stride of 36 bytes.
__global__ void mulMatVecQ8(const block_q8 *vx, const float *y, float *dst, int blocksPerRow, int rows)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const block_q8 *x = vx + row * blocksPerRow;
    float sum = 0.0f;
    for (int ib = threadIdx.x; ib < blocksPerRow; ib += 32) {
        float part = 0.0f;
        for (int j = 0; j < QK; ++j)
            part += x[ib].qs[j] * y[ib * QK + j];
        sum += part * x[ib].d;
    }
    for (int mask = 16; mask > 0; mask >>= 1)
        sum += __shfl_xor_sync(0xffffffff, sum, mask, 32);
    if (threadIdx.x == 0) dst[row] = sum;
}

static __device__ __forceinline__ int get_int_from_int8(const int8_t *x8, const int &i32)
{
    return *((const int *)(x8 + sizeof(int) * i32));
}

// Integer dot products: both sides quantised, four values at a time.
__global__ void mulVecDp4a(const block_q8 *__restrict__ a, const block_q8 *__restrict__ b, float *__restrict__ dst, int blocksPerRow)
{
    const int row = blockIdx.x;
    float sum = 0;
    for (int i = threadIdx.x; i < blocksPerRow * (QK / 4); i += blockDim.x) {
        const int ib = i / (QK / 4), k = i % (QK / 4);
        const int dot = __dp4a(get_int_from_int8(a[row * blocksPerRow + ib].qs, k), get_int_from_int8(b[ib].qs, k), 0);
        sum += dot * a[row * blocksPerRow + ib].d * b[ib].d;
    }
    __shared__ float s[64];
    s[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = s[threadIdx.x] + s[threadIdx.x + 32];
        for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask);
        if (threadIdx.x == 0) dst[row] = sum;
    }
}

int main()
{
    const int rows = 200, cols = 1024, n = rows * cols;
    std::vector<float> x = randomFloats(n, 1), want(n);
    std::vector<block_q4> q4(n / QK);
    Random r(2);
    for (size_t b = 0; b < q4.size(); ++b) {
        q4[b].d = __float2half(0.01f * (b % 7 + 1));
        for (int j = 0; j < QK / 2; ++j) {
            q4[b].qs[j] = (uint8_t)r.below(256);
            want[b * QK + j] = ((q4[b].qs[j] & 15) - 8) * __half2float(q4[b].d);
            want[b * QK + j + QK / 2] = ((q4[b].qs[j] >> 4) - 8) * __half2float(q4[b].d);
        }
    }
    float *dy = deviceZeros<float>(n);
    bool ok = true;
    dequantizeQ4<<<(n / 2 + 255) / 256, 256>>>(toDevice(q4), dy, n);
    ok &= report("dequantizeQ4", allNear(toHost(dy, n), want, 1e-6));

    block_q8 *dq = deviceZeros<block_q8>(n / QK);
    quantizeQ8<<<n / 128, 128>>>(toDevice(x), dq, n);
    std::vector<block_q8> q8 = toHost(dq, n / QK);
    bool good = true;
    for (int i = 0; i < n; ++i) good = good && std::fabs(q8[i / QK].d * q8[i / QK].qs[i % QK] - x[i]) < 0.005f;
    ok &= report("quantizeQ8", good);

    std::vector<float> v = randomFloats(cols, 3), dots(rows), dotsQ(rows);
    for (int row = 0; row < rows; ++row)
        for (int c = 0; c < cols; ++c) {
            float value = q8[(row * cols + c) / QK].d * q8[(row * cols + c) / QK].qs[c % QK];
            dots[row] += value * v[c];
            dotsQ[row] += value * q8[c / QK].d * q8[c / QK].qs[c % QK];
        }
    mulMatVecQ8<<<rows / 4, dim3(32, 4)>>>(dq, toDevice(v), dy, cols / QK, rows);
    ok &= report("mulMatVecQ8", allNear(toHost(dy, rows), dots, 1e-3));
    mulVecDp4a<<<rows, 64>>>(dq, dq, dy, cols / QK);
    ok &= report("mulVecDp4a", allNear(toHost(dy, rows), dotsQ, 1e-3));
    return ok ? 0 : 1;
}
