// Prefix sums within blocks: Hillis-Steele, Blelloch plain and padded, and by warp shuffles.
#include "common.h"

#define LOG_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_BANKS)

__global__ void scanHillisSteele(int *out, const int *in)
{
    __shared__ int temp[2][256];
    int t = threadIdx.x, current = 0;
    temp[0][t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int offset = 1; offset < 256; offset <<= 1) {
        int next = 1 - current;
        if (t >= offset)
            temp[next][t] = temp[current][t] + temp[current][t - offset];
        else
            temp[next][t] = temp[current][t];
        current = next;
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = temp[current][t];
}

// Work-efficient; exclusive. Two elements a thread.
__global__ void scanBlelloch(int *g_odata, const int *g_idata, int n)
{
    extern __shared__ int temp[];
    int thid = threadIdx.x;
    int offset = 1;
    g_idata += blockIdx.x * n;
    g_odata += blockIdx.x * n;
    temp[2 * thid] = g_idata[2 * thid];
    temp[2 * thid + 1] = g_idata[2 * thid + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (thid == 0) temp[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            int t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    g_odata[2 * thid] = temp[2 * thid];
    g_odata[2 * thid + 1] = temp[2 * thid + 1];
}

__global__ void scanBlellochPadded(int *g_odata, const int *g_idata, int n)
{
    extern __shared__ int temp[];
    int thid = threadIdx.x, offset = 1;
    int base = blockIdx.x * n;
    int ai = thid, bi = thid + (n / 2);
    int bankOffsetA = CONFLICT_FREE_OFFSET(ai);
    int bankOffsetB = CONFLICT_FREE_OFFSET(bi);
    temp[ai + bankOffsetA] = g_idata[base + ai];
    temp[bi + bankOffsetB] = g_idata[base + bi];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            ai += CONFLICT_FREE_OFFSET(ai);
            bi += CONFLICT_FREE_OFFSET(bi);
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (thid == 0) temp[n - 1 + CONFLICT_FREE_OFFSET(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            ai += CONFLICT_FREE_OFFSET(ai);
            bi += CONFLICT_FREE_OFFSET(bi);
            int t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    g_odata[base + ai] = temp[ai + bankOffsetA];
    g_odata[base + bi] = temp[bi + bankOffsetB];
}

__device__ __forceinline__ int warpInclusive(int v)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        int up = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += up;
    }
    return v;
}

__global__ void scanShuffle(int *out, const int *in)
{
    __shared__ int warpSums[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int v = warpInclusive(in[i]);
    if (lane == 31) warpSums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < blockDim.x / 32 ? warpSums[lane] : 0;
        warpSums[lane] = warpInclusive(s);
    }
    __syncthreads();
    if (warp > 0) v += warpSums[warp - 1];
    out[i] = v;
}

// Adds the block's offset to four elements a thread.
__global__ void addOffsets(int4 *data, const int *offsets)
{
    int4 v = data[blockIdx.x * blockDim.x + threadIdx.x];
    const int o = offsets[blockIdx.x];
    v.x += o; v.y += o; v.z += o; v.w += o;
    data[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

int main()
{
    const int n = 256 * 128;
    std::vector<int> in(n), inclusive(n), exclusive(n);
    for (int i = 0; i < n; ++i) in[i] = i * 13 % 29;
    auto scan = [&](int size) {
        for (int i = 0; i < n; ++i) {
            exclusive[i] = i % size ? inclusive[i - 1] : 0;
            inclusive[i] = exclusive[i] + in[i];
        }
    };
    int *din = toDevice(in), *dout = deviceZeros<int>(n);
    bool ok = true;
    scan(256);
    scanHillisSteele<<<n / 256, 256>>>(dout, din);
    ok &= report("scanHillisSteele", toHost(dout, n) == inclusive);
    scan(512);
    scanBlelloch<<<n / 512, 256, 512 * sizeof(int)>>>(dout, din, 512);
    ok &= report("scanBlelloch", toHost(dout, n) == exclusive);
    scanBlellochPadded<<<n / 512, 256, (512 + 512 / 32) * sizeof(int)>>>(dout, din, 512);
    ok &= report("scanBlellochPadded", toHost(dout, n) == exclusive);
    scan(1024);
    scanShuffle<<<n / 1024, 1024>>>(dout, din);
    std::vector<int> got = toHost(dout, n);
    ok &= report("scanShuffle", got == inclusive);
    std::vector<int> offsets(n / 1024);
    for (size_t b = 0; b < offsets.size(); ++b) offsets[b] = 1000 * (int)b;
    for (int i = 0; i < n; ++i) inclusive[i] += offsets[i / 1024];
    addOffsets<<<n / 1024, 256>>>((int4 *)dout, toDevice(offsets));
    ok &= report("addOffsets", toHost(dout, n) == inclusive);
    return ok ? 0 : 1;
}
