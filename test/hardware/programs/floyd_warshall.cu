// All-pairs shortest paths: one relaxation step, and the first phase of the blocked version.
#include "common.h"

#define BLK 16

__global__ void relaxThrough(int *dist, int n, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j >= n) return;
    __shared__ int best;
    if (threadIdx.x == 0)
        best = dist[n * i + k];
    __syncthreads();
    int candidate = best + dist[k * n + j];
    if (dist[i * n + j] > candidate)
        dist[i * n + j] = candidate;
}

__global__ void blockedPhase1(int *dist, int n, int block)
{
    __shared__ int d[BLK][BLK];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int index = (block * BLK + ty) * n + block * BLK + tx;
    d[ty][tx] = dist[index];
    __syncthreads();
    for (int k = 0; k < BLK; ++k) {
        int through = d[ty][k] + d[k][tx];
        __syncthreads();
        if (through < d[ty][tx])
            d[ty][tx] = through;
        __syncthreads();
    }
    dist[index] = d[ty][tx];
}

// The remaining tiles of the pivot row, with the pivot tile; threads transposed by mistake.
__global__ void blockedPhase3Swapped(int *dist, int n, int block)
{
    __shared__ int row[BLK][BLK], col[BLK][BLK];
    const int x = threadIdx.y, y = threadIdx.x;
    const int gy = blockIdx.y * BLK + y, gx = blockIdx.x * BLK + x;
    row[y][x] = dist[(block * BLK + y) * n + gx];
    col[y][x] = dist[gy * n + block * BLK + x];
    __syncthreads();
    int best = dist[gy * n + gx];
#pragma unroll
    for (int k = 0; k < BLK; ++k)
        best = min(best, col[y][k] + row[k][x]);
    dist[gy * n + gx] = best;
}

int main()
{
    const int n = 480;
    std::vector<int> d(n * n), want;
    Random r(4);
    for (int &v : d) v = 1 + r.below(1000);
    int *dev = toDevice(d);
    bool ok = true;
    want = d;
    const int k = 37;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            want[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
    relaxThrough<<<dim3((n + 255) / 256, n), 256>>>(dev, n, k);
    std::vector<int> got = toHost(dev, n * n);
    // Row and column k may already be relaxed when others read them; with positive weights they do not change.
    ok &= report("relaxThrough", got == want);

    CUDA_OK(cudaMemcpy(dev, d.data(), n * n * sizeof(int), cudaMemcpyHostToDevice));
    const int b = 3;
    want = d;
    for (int kk = 0; kk < BLK; ++kk)
        for (int i = 0; i < BLK; ++i)
            for (int j = 0; j < BLK; ++j) {
                int &w = want[(b * BLK + i) * n + b * BLK + j];
                w = std::min(w, want[(b * BLK + i) * n + b * BLK + kk] + want[(b * BLK + kk) * n + b * BLK + j]);
            }
    blockedPhase1<<<1, dim3(BLK, BLK)>>>(dev, n, b);
    got = toHost(dev, n * n);
    ok &= report("blockedPhase1", got == want);

    // Only tiles away from the pivot row and column, so that the order of blocks does not matter.
    std::vector<int> far = d;
    CUDA_OK(cudaMemcpy(dev, d.data(), n * n * sizeof(int), cudaMemcpyHostToDevice));
    for (int i = 0; i < BLK * 10; ++i)
        for (int j = 0; j < BLK * 12; ++j)
            for (int kk = 0; kk < BLK; ++kk)
                far[i * n + j] = std::min(far[i * n + j], d[i * n + 20 * BLK + kk] + d[(20 * BLK + kk) * n + j]);
    blockedPhase3Swapped<<<dim3(12, 10), dim3(BLK, BLK)>>>(dev, n, 20);
    ok &= report("blockedPhase3Swapped", toHost(dev, n * n) == far);
    return ok ? 0 : 1;
}
