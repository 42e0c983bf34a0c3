#include "stages.hpp"

namespace {

constexpr int kThreads = 256;

int grid_for(int n, int per_thread) { return (n + kThreads * per_thread - 1) / (kThreads * per_thread); }

__global__ void histogram256(const std::uint8_t* __restrict__ v, int n, unsigned* __restrict__ bins) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    // four bytes at a time, the tail is done by the last block
    int words = n / 4;
    const uchar4* v4 = reinterpret_cast<const uchar4*>(v);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        uchar4 q = v4[i];
        atomicAdd(&local[q.x], 1u);
        atomicAdd(&local[q.y], 1u);
        atomicAdd(&local[q.z], 1u);
        atomicAdd(&local[q.w], 1u);
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < n % 4) atomicAdd(&local[v[words * 4 + threadIdx.x]], 1u);
    __syncthreads();
    if (local[threadIdx.x]) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void collect_bright(const std::uint8_t* __restrict__ dark, int n, int threshold, int* __restrict__ list,
                               int* __restrict__ count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool take = i < n && dark[i] >= threshold;
    unsigned votes = __ballot_sync(0xffffffffu, take);
    int lane = threadIdx.x & 31, base = 0;
    if (lane == 0 && votes) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (take) list[base + __popc(votes & ((1u << lane) - 1u))] = i;
}

__global__ void sum_colours(const Rgb8* __restrict__ img, const int* __restrict__ list, int count,
                            unsigned* __restrict__ total) {
    __shared__ unsigned acc[kThreads * 3];
    unsigned r = 0, g = 0, b = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        Rgb8 c = img[list[i]];
        r += c.r; g += c.g; b += c.b;
    }
    acc[threadIdx.x * 3 + 0] = r;
    acc[threadIdx.x * 3 + 1] = g;
    acc[threadIdx.x * 3 + 2] = b;
    __syncthreads();
    for (int s = kThreads / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            for (int k = 0; k < 3; ++k) acc[threadIdx.x * 3 + k] += acc[(threadIdx.x + s) * 3 + k];
        __syncthreads();
    }
    if (threadIdx.x < 3) atomicAdd(&total[threadIdx.x], acc[threadIdx.x]);
}

}  // namespace

Airlight estimate_airlight(const Buffer<Rgb8>& img, const Buffer<std::uint8_t>& dark, const DehazeParams& p) {
    int n = int(dark.size());
    Buffer<unsigned> bins(256);
    bins.zero();
    histogram256<<<grid_for(n, 16), kThreads>>>(dark.data(), n, bins.data());

    Airlight a;
    std::vector<unsigned> h = bins.host();
    a.threshold = bright_threshold(h, n, p.bright_fraction);
    int capacity = 0;
    for (int v = a.threshold; v < 256; ++v) capacity += int(h[v]);

    Buffer<int> list(capacity), count(1);
    count.zero();
    collect_bright<<<grid_for(n, 1), kThreads>>>(dark.data(), n, a.threshold, list.data(), count.data());
    a.samples = count.host()[0];

    Buffer<unsigned> total(3);
    total.zero();
    sum_colours<<<grid_for(a.samples, 4), kThreads>>>(img.data(), list.data(), a.samples, total.data());
    CHECK(cudaGetLastError());
    auto t = total.host();
    for (int k = 0; k < 3; ++k) a.colour[k] = float(t[k]) / float(a.samples);
    return a;
}
