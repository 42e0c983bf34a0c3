// Histograms of an image's grey values: copies of the bins for each warp, and quads of pixels at a time.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

typedef unsigned int u32;
typedef unsigned char u8;

static void die(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    exit(2);
}
#define DIE(x) die((x), __LINE__)

#define NBINS 64
#define WARP_COUNT 6
#define TPB (WARP_COUNT * 32)

__device__ inline void addByte(u32 *warpHist, u32 value)
{
    atomicAdd(warpHist + (value >> 2), 1);
}

__device__ inline void addWord(u32 *warpHist, u32 word)
{
    addByte(warpHist, (word >> 0) & 0xFF);
    addByte(warpHist, (word >> 8) & 0xFF);
    addByte(warpHist, (word >> 16) & 0xFF);
    addByte(warpHist, (word >> 24) & 0xFF);
}

__global__ void histWarps(u32 *partial, const u32 *data, u32 words)
{
    __shared__ u32 hist[WARP_COUNT * NBINS];
    u32 *warpHist = hist + (threadIdx.x >> 5) * NBINS;

#pragma unroll
    for (u32 i = 0; i < (WARP_COUNT * NBINS) / TPB; i++)
        hist[threadIdx.x + i * TPB] = 0;
    __syncthreads();

    for (u32 pos = blockIdx.x * blockDim.x + threadIdx.x; pos < words; pos += blockDim.x * gridDim.x)
        addWord(warpHist, data[pos]);
    __syncthreads();

    for (u32 bin = threadIdx.x; bin < NBINS; bin += TPB) {
        u32 sum = 0;
        for (u32 i = 0; i < WARP_COUNT; i++)
            sum += hist[bin + i * NBINS];
        partial[blockIdx.x * NBINS + bin] = sum;
    }
}

// One block a bin adds the partial histograms up.
__global__ void mergePartials(u32 *final, const u32 *partial, u32 count)
{
    u32 sum = 0;
    for (u32 i = threadIdx.x; i < count; i += 128)
        sum += partial[blockIdx.x + i * NBINS];

    __shared__ u32 data[128];
    data[threadIdx.x] = sum;
    for (u32 stride = 64; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride)
            data[threadIdx.x] += data[threadIdx.x + stride];
    }
    if (threadIdx.x == 0)
        final[blockIdx.x] = data[0];
}

// Each thread has its own column of bins: byte counters, no atomics.
__global__ void histThreads(u32 *bins, const uchar4 *data, int quads)
{
    __shared__ u8 mine[NBINS][32];
    const int lane = threadIdx.x;
    for (int b = 0; b < NBINS; b++)
        mine[b][lane] = 0;
    for (int i = blockIdx.x * 32 + lane; i < quads; i += gridDim.x * 32) {
        uchar4 q = data[i];
        mine[q.x >> 2][lane]++;
        mine[q.y >> 2][lane]++;
        mine[q.z >> 2][lane]++;
        mine[q.w >> 2][lane]++;
    }
    __syncwarp();
    for (int b = lane; b < NBINS; b += 32) {
        u32 sum = 0;
        for (int t = 0; t < 32; t++)
            sum += mine[b][t];
        atomicAdd(&bins[b], sum);
    }
}

int main()
{
    const u32 bytes = 640 * 480, words = bytes / 4;
    u8 *image = (u8 *)malloc(bytes);
    u32 want[NBINS] = {0}, got[NBINS];
    u32 x = 1;
    for (u32 i = 0; i < bytes; i++) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        image[i] = (u8)(x & (x >> 8));
        want[image[i] >> 2]++;
    }
    u32 *dImage, *dPartial, *dFinal;
    DIE(cudaMalloc(&dImage, bytes));
    DIE(cudaMalloc(&dPartial, 240 * NBINS * sizeof(u32)));
    DIE(cudaMalloc(&dFinal, NBINS * sizeof(u32)));
    DIE(cudaMemcpy(dImage, image, bytes, cudaMemcpyHostToDevice));

    histWarps<<<240, TPB>>>(dPartial, dImage, words);
    mergePartials<<<NBINS, 128>>>(dFinal, dPartial, 240);
    DIE(cudaMemcpy(got, dFinal, sizeof(got), cudaMemcpyDeviceToHost));
    bool a = memcmp(got, want, sizeof(got)) == 0;
    printf("histWarps, mergePartials: %s\n", a ? "PASS" : "FAIL");

    DIE(cudaMemset(dFinal, 0, sizeof(got)));
    histThreads<<<100, 32>>>(dFinal, (uchar4 *)dImage, words);
    DIE(cudaMemcpy(got, dFinal, sizeof(got), cudaMemcpyDeviceToHost));
    bool b = memcmp(got, want, sizeof(got)) == 0;
    printf("histThreads: %s\n", b ? "PASS" : "FAIL");
    free(image);
    return a && b ? 0 : 1;
}
