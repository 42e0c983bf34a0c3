/* The classical reduction ladder plus vectorised, min/max with index, and last-block-done single pass */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <float.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void reduce0(int *g_in, int *g_out, unsigned n)
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = (i < n) ? g_in[i] : 0;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_out[blockIdx.x] = sdata[0];
}

__global__ void reduce1(int *g_in, int *g_out, unsigned n)
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = (i < n) ? g_in[i] : 0;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned index = 2 * s * tid;
        if (index < blockDim.x) sdata[index] += sdata[index + s];
        __syncthreads();
    }
    if (tid == 0) g_out[blockIdx.x] = sdata[0];
}

__global__ void reduce3(int *g_in, int *g_out, unsigned n)
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    int mySum = (i < n) ? g_in[i] : 0;
    if (i + blockDim.x < n) mySum += g_in[i + blockDim.x];
    sdata[tid] = mySum;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = mySum = mySum + sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_out[blockIdx.x] = mySum;
}

template <unsigned blockSize>
__device__ void warpReduce(volatile int *sdata, unsigned tid)
{
    if (blockSize >= 64) sdata[tid] += sdata[tid + 32];
    __syncwarp(); sdata[tid] += sdata[tid + 16];
    __syncwarp(); sdata[tid] += sdata[tid + 8];
    __syncwarp(); sdata[tid] += sdata[tid + 4];
    __syncwarp(); sdata[tid] += sdata[tid + 2];
    __syncwarp(); sdata[tid] += sdata[tid + 1];
}

template <unsigned blockSize, bool nIsPow2>
__global__ void reduce6(int *g_in, int *g_out, unsigned n)
{
    __shared__ int sdata[blockSize + 32];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockSize * 2 + tid, gridSize = blockSize * 2 * gridDim.x;
    int sum = 0;
    while (i < n) {
        sum += g_in[i];
        if (nIsPow2 || i + blockSize < n) sum += g_in[i + blockSize];
        i += gridSize;
    }
    sdata[tid] = sum;
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) sdata[tid] += sdata[tid + 256]; __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) g_out[blockIdx.x] = sdata[0];
}

__global__ void reduce_vec(const int4 *__restrict__ in, int n4, int *out)
{
    cg::thread_block cta = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cta);
    __shared__ int part[16];
    int s = 0;
    #pragma unroll 4
    for (int i = cta.group_index().x * cta.size() + cta.thread_rank(); i < n4; i += cta.size() * gridDim.x) {
        int4 v = __ldg(in + i);
        s += (v.x + v.y) + (v.z + v.w);
    }
    for (int o = tile.size() / 2; o > 0; o >>= 1) s += tile.shfl_down(s, o);
    if (tile.thread_rank() == 0) part[cta.thread_rank() / 16] = s;
    cg::sync(cta);
    if (cta.thread_rank() == 0) {
        int t = 0;
        for (unsigned k = 0; k < cta.size() / 16; k++) t += part[k];
        atomicAdd(out, t);
    }
}

struct MinLoc { float v; int i; };
__device__ unsigned int done_blocks = 0;

__device__ MinLoc better(MinLoc a, MinLoc b) { return (b.v < a.v || (b.v == a.v && b.i < a.i)) ? b : a; }

__global__ void argmin_onepass(const float *x, int n, MinLoc *partial, MinLoc *result)
{
    __shared__ MinLoc s[96];
    __shared__ bool last;
    MinLoc m = {FLT_MAX, 0x7fffffff};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { MinLoc c = {x[i], i}; m = better(m, c); }
    s[threadIdx.x] = m;
    __syncthreads();
    for (int k = 48; k >= 3; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] = better(s[threadIdx.x], s[threadIdx.x + k]);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = better(better(s[0], s[1]), s[2]);
        __threadfence();
        last = atomicInc(&done_blocks, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        MinLoc b = partial[0];
        for (int k = 1; k < gridDim.x; k++) b = better(b, partial[k]);
        *result = b;
    }
}

int main(void)
{
    const unsigned n = 50000;
    int *h = (int *)malloc(n * 4); float *hf = (float *)malloc(n * 4);
    long ref = 0; float mn = FLT_MAX; int mi = 0;
    for (unsigned i = 0; i < n; i++) { h[i] = rand() % 100 - 30; ref += h[i]; hf[i] = sinf(i * 0.37f) * (i % 977); if (hf[i] < mn) { mn = hf[i]; mi = i; } }
    int *d, *o; float *df; MinLoc *pl, *res;
    cudaMalloc(&d, n * 4); cudaMalloc(&o, 5 * 512 * 4); cudaMalloc(&df, n * 4); cudaMalloc(&pl, 64 * sizeof(MinLoc)); cudaMalloc(&res, sizeof(MinLoc));
    cudaMemset(o, 0, 5 * 512 * 4);
    cudaMemcpy(d, h, n * 4, cudaMemcpyHostToDevice); cudaMemcpy(df, hf, n * 4, cudaMemcpyHostToDevice);
    int g = (n + 127) / 128;
    reduce0<<<g, 128, 128 * 4>>>(d, o, n);
    reduce1<<<g, 128, 128 * 4>>>(d, o + 512, n);
    reduce3<<<(n + 511) / 512, 256, 256 * 4>>>(d, o + 1024, n);
    reduce6<128, false><<<40, 128>>>(d, o + 1536, n);
    reduce_vec<<<20, 160>>>((const int4 *)d, n / 4, o + 2048);
    argmin_onepass<<<30, 96>>>(df, n, pl, res);
    int ho[5 * 512]; MinLoc r;
    cudaMemcpy(ho, o, sizeof ho, cudaMemcpyDeviceToHost); cudaMemcpy(&r, res, sizeof r, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int k = 0; k < 5; k++) { long s = 0; for (int i = 0; i < 512; i++) s += ho[k * 512 + i]; bad += s != ref; printf("variant %d: %ld (want %ld)\n", k, s, ref); }
    printf("argmin %d (%f), host %d (%f)\n", r.i, r.v, mi, mn);
    return bad || r.i != mi;
}
