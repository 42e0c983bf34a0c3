// The parts of one radix sort pass: digit counts, a scan over them, and the scatter.
#include "common.h"

#define RADIX_BITS 4
#define RADIX (1 << RADIX_BITS)
#define PASS_THREADS 256

__global__ void countDigits(const unsigned int *keys, int *counts, int n, int shift)
{
    __shared__ int hist[RADIX];
    if (threadIdx.x < RADIX) hist[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * PASS_THREADS + threadIdx.x;
    if (i < n) atomicAdd(&hist[(keys[i] >> shift) & (RADIX - 1)], 1);
    __syncthreads();
    if (threadIdx.x < RADIX)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = hist[threadIdx.x];
}

// One block scans everything, 8 values a thread.
__global__ void scanCounts(int *counts, int n)
{
    __shared__ int sums[512];
    const int t = threadIdx.x;
    int local[8], sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        int at = t * 8 + k;
        local[k] = at < n ? counts[at] : 0;
        sum += local[k];
    }
    sums[t] = sum;
    __syncthreads();
    for (int d = 1; d < 512; d <<= 1) {
        int v = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }
    int running = t ? sums[t - 1] : 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        int at = t * 8 + k;
        if (at < n) counts[at] = running;
        running += local[k];
    }
}

__global__ void scatterKeys(const unsigned int *keys, unsigned int *out, const int *offsets, int n, int shift)
{
    __shared__ unsigned char digit[PASS_THREADS];
    const int t = threadIdx.x, i = blockIdx.x * PASS_THREADS + t;
    unsigned int key = i < n ? keys[i] : 0xffffffffu;
    int d = (key >> shift) & (RADIX - 1);
    digit[t] = i < n ? d : 255;
    __syncthreads();
    int rank = 0;
    for (int k = 0; k < t; ++k)
        rank += digit[k] == d;
    if (i < n)
        out[offsets[d * gridDim.x + blockIdx.x] + rank] = key;
}

int main()
{
    const int n = 60000, blocks = (n + PASS_THREADS - 1) / PASS_THREADS, shift = 8;
    std::vector<unsigned int> keys(n), want;
    Random r(9);
    for (auto &k : keys) k = r.bits();
    for (unsigned int d = 0; d < RADIX; ++d)
        for (auto k : keys) if (((k >> shift) & (RADIX - 1)) == d) want.push_back(k);
    unsigned int *dk = toDevice(keys), *dout = deviceZeros<unsigned int>(n);
    int *counts = deviceZeros<int>(RADIX * blocks);
    countDigits<<<(60000 + PASS_THREADS - 1) / PASS_THREADS, PASS_THREADS>>>(dk, counts, n, shift);
    scanCounts<<<1, 512>>>(counts, RADIX * blocks);
    scatterKeys<<<(60000 + PASS_THREADS - 1) / PASS_THREADS, PASS_THREADS>>>(dk, dout, counts, n, shift);
    return report("radix pass", toHost(dout, n) == want) ? 0 : 1;
}
