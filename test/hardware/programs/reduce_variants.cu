// Sums, maxima and dot products, as different authors write them.
#include <cooperative_groups.h>
#include <cfloat>
#include "common.h"
namespace cg = cooperative_groups;

struct Add { __device__ float operator()(float a, float b) const { return a + b; } static constexpr float zero = 0.0f; };
struct Max { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } static constexpr float zero = -FLT_MAX; };

template <typename Op, int THREADS>
__global__ void blockReduce(const float *in, float *out, int n, Op op)
{
    static_assert(THREADS % 32 == 0);
    __shared__ float s[THREADS];
    float v = Op::zero;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        v = op(v, in[i]);
    s[threadIdx.x] = v;
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half >= 32; half /= 2) {
        if (threadIdx.x < half)
            s[threadIdx.x] = v = op(v, s[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        for (int d = 16; d > 0; d /= 2)
            v = op(v, __shfl_down_sync(0xffffffff, v, d));
        if (threadIdx.x == 0)
            out[blockIdx.x] = v;
    }
}

__global__ void sumGroups(const float4 *in, float *total, int n4)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    __shared__ float partial[32];
    float sum = 0.0f;
    for (int i = block.group_index().x * block.size() + block.thread_rank(); i < n4; i += gridDim.x * block.size()) {
        float4 v = in[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int d = warp.size() / 2; d > 0; d >>= 1)
        sum += warp.shfl_down(sum, d);
    if (warp.thread_rank() == 0)
        partial[warp.meta_group_rank()] = sum;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        sum = warp.thread_rank() < warp.meta_group_size() ? partial[warp.thread_rank()] : 0.0f;
        for (int d = 16; d > 0; d >>= 1)
            sum += warp.shfl_xor(sum, d);
        if (warp.thread_rank() == 0)
            atomicAdd(total, sum);
    }
}

// The last block to finish adds the partial sums up.
__device__ unsigned int blocksDone = 0;

__global__ void dotLastBlock(const float *a, const float *b, int n, float *partial, float *result)
{
    __shared__ float cache[256];
    __shared__ bool last;
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    float temp = 0;
    while (tid < n) {
        temp += a[tid] * b[tid];
        tid += blockDim.x * gridDim.x;
    }
    cache[threadIdx.x] = temp;
    __syncthreads();
    int i = blockDim.x / 2;
    while (i != 0) {
        if (threadIdx.x < i)
            cache[threadIdx.x] += cache[threadIdx.x + i];
        __syncthreads();
        i /= 2;
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = cache[0];
        __threadfence();
        last = atomicInc(&blocksDone, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float sum = 0;
        for (int k = threadIdx.x; k < gridDim.x; k += blockDim.x)
            sum += ((volatile float *)partial)[k];
        cache[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int k = 1; k < blockDim.x; k++)
                sum += cache[k];
            *result = sum;
        }
    }
}

// Index of the maximum: pairs in shared memory.
struct Best { float value; int index; };

__global__ void argMaxRows(const float *m, int cols, int *where)
{
    __shared__ Best best[128];
    Best mine = {-FLT_MAX, -1};
    for (int c = threadIdx.x; c < cols; c += 128) {
        float v = m[blockIdx.x * cols + c];
        if (v > mine.value) { mine.value = v; mine.index = c; }
    }
    best[threadIdx.x] = mine;
    for (int s = 64; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) {
            Best other = best[threadIdx.x + s];
            if (other.value > best[threadIdx.x].value || (other.value == best[threadIdx.x].value && other.index < best[threadIdx.x].index))
                best[threadIdx.x] = other;
        }
    }
    if (threadIdx.x == 0) where[blockIdx.x] = best[0].index;
}

int main()
{
    const int n = 300000, blocks = 120;
    std::vector<float> a = randomFloats(n, 1), b = randomFloats(n, 2);
    double sum = 0, dot = 0;
    float top = -FLT_MAX;
    for (int i = 0; i < n; ++i) { sum += a[i]; dot += (double)a[i] * b[i]; top = std::fmax(top, a[i]); }
    float *da = toDevice(a), *db = toDevice(b), *partial = deviceZeros<float>(blocks), *one = deviceZeros<float>(1);
    bool ok = true;

    blockReduce<Add, 256><<<blocks, 256>>>(da, partial, n, Add());
    double total = 0;
    for (float p : toHost(partial, blocks)) total += p;
    ok &= report("blockReduce<Add>", std::fabs(total - sum) < 0.05);
    blockReduce<Max, 128><<<blocks, 128>>>(da, partial, n, Max());
    float best = -FLT_MAX;
    for (float p : toHost(partial, blocks)) best = std::fmax(best, p);
    ok &= report("blockReduce<Max>", best == top);

    sumGroups<<<64, 512>>>((const float4 *)da, one, n / 4);
    ok &= report("sumGroups", std::fabs(toHost(one, 1)[0] - sum) < 0.05);
    dotLastBlock<<<blocks, 256>>>(da, db, n, partial, one);
    ok &= report("dotLastBlock", std::fabs(toHost(one, 1)[0] - dot) < 0.05);

    const int rows = 300, cols = 1000;
    std::vector<int> want(rows);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c)
            if (a[r * cols + c] > a[r * cols + want[r]]) want[r] = c;
    int *where = deviceZeros<int>(rows);
    argMaxRows<<<rows, 128>>>(da, cols, where);
    ok &= report("argMaxRows", toHost(where, rows) == want);
    return ok ? 0 : 1;
}
