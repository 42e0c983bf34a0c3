// The sum of four million integers, in seven steps from slow to fast.
//
// Each kernel leaves one partial sum a block; the host adds those up. What changes from one
// to the next is only how the threads of a block work together.
//
//   reduce1   neighbours first, chosen by a modulo: divergent in every warp
//   reduce2   the active threads packed together, but their stride grows: bank conflicts
//   reduce3   sequential addressing: no conflicts
//   reduce4   the first addition while loading: no thread idle from the start
//   reduce5   the last warp without barriers
//   reduce6   every step unrolled by a template on the block size
//   reduce7   several elements a thread, in a grid-stride loop

#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(2);                                                               \
        }                                                                               \
    } while (0)

constexpr unsigned int COUNT = 1u << 22;
constexpr unsigned int BLOCK = 256;

__global__ void reduce1(const int *v, int *partial)
{
    extern __shared__ int sv[];

    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sv[tid] = v[i];
    __syncthreads();

    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            sv[tid] += sv[tid + s];
        __syncthreads();
    }

    if (tid == 0)
        partial[blockIdx.x] = sv[0];
}

__global__ void reduce2(const int *v, int *partial)
{
    extern __shared__ int sv[];

    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sv[tid] = v[i];
    __syncthreads();

    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        unsigned int index = 2 * s * tid;
        if (index < blockDim.x)
            sv[index] += sv[index + s];
        __syncthreads();
    }

    if (tid == 0)
        partial[blockIdx.x] = sv[0];
}

__global__ void reduce3(const int *v, int *partial)
{
    extern __shared__ int sv[];

    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sv[tid] = v[i];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            sv[tid] += sv[tid + s];
        __syncthreads();
    }

    if (tid == 0)
        partial[blockIdx.x] = sv[0];
}

__global__ void reduce4(const int *v, int *partial)
{
    extern __shared__ int sv[];

    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (2 * blockDim.x) + tid;
    sv[tid] = v[i] + v[i + blockDim.x];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            sv[tid] += sv[tid + s];
        __syncthreads();
    }

    if (tid == 0)
        partial[blockIdx.x] = sv[0];
}

// Since Volta the lanes of a warp may drift apart: each step reads, waits, writes and waits again.
__device__ void reduceLastWarp(volatile int *sv, unsigned int tid)
{
    int sum = sv[tid];
    sum += sv[tid + 32]; __syncwarp(); sv[tid] = sum; __syncwarp();
    sum += sv[tid + 16]; __syncwarp(); sv[tid] = sum; __syncwarp();
    sum += sv[tid + 8];  __syncwarp(); sv[tid] = sum; __syncwarp();
    sum += sv[tid + 4];  __syncwarp(); sv[tid] = sum; __syncwarp();
    sum += sv[tid + 2];  __syncwarp(); sv[tid] = sum; __syncwarp();
    sum += sv[tid + 1];  __syncwarp(); sv[tid] = sum;
}

__global__ void reduce5(const int *v, int *partial)
{
    extern __shared__ int sv[];

    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (2 * blockDim.x) + tid;
    sv[tid] = v[i] + v[i + blockDim.x];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s)
            sv[tid] += sv[tid + s];
        __syncthreads();
    }

    if (tid < 32)
        reduceLastWarp(sv, tid);
    if (tid == 0)
        partial[blockIdx.x] = sv[0];
}

template <unsigned int blockSize>
__device__ void reduceUnrolled(volatile int *sv, unsigned int tid)
{
    if (blockSize >= 512) { if (tid < 256) sv[tid] += sv[tid + 256]; __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) sv[tid] += sv[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64)  sv[tid] += sv[tid + 64];  __syncthreads(); }
    if (tid < 32)
        reduceLastWarp(sv, tid);
}

template <unsigned int blockSize>
__global__ void reduce6(const int *v, int *partial)
{
    extern __shared__ int sv[];

    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (2 * blockSize) + tid;
    sv[tid] = v[i] + v[i + blockSize];
    __syncthreads();

    reduceUnrolled<blockSize>(sv, tid);
    if (tid == 0)
        partial[blockIdx.x] = sv[0];
}

template <unsigned int blockSize>
__global__ void reduce7(const int *v, int *partial, unsigned int n)
{
    extern __shared__ int sv[];

    unsigned int tid = threadIdx.x;
    unsigned int stride = 2 * blockSize * gridDim.x;
    int sum = 0;
    for (unsigned int i = blockIdx.x * (2 * blockSize) + tid; i < n; i += stride)
        sum += v[i] + v[i + blockSize];
    sv[tid] = sum;
    __syncthreads();

    reduceUnrolled<blockSize>(sv, tid);
    if (tid == 0)
        partial[blockIdx.x] = sv[0];
}

static bool sumsTo(long long expected, const int *dPartial, unsigned int blocks, const char *name)
{
    CHECK(cudaGetLastError());
    std::vector<int> partial(blocks);
    CHECK(cudaMemcpy(partial.data(), dPartial, blocks * sizeof(int), cudaMemcpyDeviceToHost));
    long long sum = 0;
    for (int p : partial)
        sum += p;
    std::printf("%-8s %s\n", name, sum == expected ? "PASS" : "FAIL");
    return sum == expected;
}

int main()
{
    std::vector<int> v(COUNT);
    long long expected = 0;
    for (unsigned int i = 0; i < COUNT; ++i) {
        v[i] = static_cast<int>((i * 2654435761u) >> 24);
        expected += v[i];
    }

    int *dV, *dPartial;
    CHECK(cudaMalloc(&dV, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&dPartial, COUNT / BLOCK * sizeof(int)));
    CHECK(cudaMemcpy(dV, v.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice));

    const unsigned int blocks = COUNT / BLOCK;
    const unsigned int halved = blocks / 2;
    const unsigned int fewer = 512;
    const size_t shared = BLOCK * sizeof(int);
    bool ok = true;

    reduce1<<<blocks, BLOCK, shared>>>(dV, dPartial);
    ok &= sumsTo(expected, dPartial, blocks, "reduce1");

    reduce2<<<blocks, BLOCK, shared>>>(dV, dPartial);
    ok &= sumsTo(expected, dPartial, blocks, "reduce2");

    reduce3<<<blocks, BLOCK, shared>>>(dV, dPartial);
    ok &= sumsTo(expected, dPartial, blocks, "reduce3");

    reduce4<<<halved, BLOCK, shared>>>(dV, dPartial);
    ok &= sumsTo(expected, dPartial, halved, "reduce4");

    reduce5<<<halved, BLOCK, shared>>>(dV, dPartial);
    ok &= sumsTo(expected, dPartial, halved, "reduce5");

    reduce6<BLOCK><<<halved, BLOCK, shared>>>(dV, dPartial);
    ok &= sumsTo(expected, dPartial, halved, "reduce6");

    reduce7<BLOCK><<<fewer, BLOCK, shared>>>(dV, dPartial, COUNT);
    ok &= sumsTo(expected, dPartial, fewer, "reduce7");

    CHECK(cudaFree(dV));
    CHECK(cudaFree(dPartial));
    return ok ? 0 : 1;
}
