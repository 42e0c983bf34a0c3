// Reductions and scans over ragged segments.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#define GPU(call) [&] { auto status = call; if (status != cudaSuccess) { std::printf("%s: %s\n", #call, cudaGetErrorString(status)); std::exit(4); } }()

template <class T>
struct Sum {
    static constexpr T identity = T(0);
    __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

template <class T>
struct Max {
    static constexpr T identity = T(-1e30f);
    __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

// one thread a segment
template <class T, class Op>
__global__ void segReduceThread(const T *values, const int *offsets, int segments, T *out, Op op)
{
    auto s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= segments) return;
    T acc = Op::identity;
    for (auto i = offsets[s]; i < offsets[s + 1]; ++i)
        acc = op(acc, values[i]);
    out[s] = acc;
}

// one warp a segment
template <class T, class Op>
__global__ void segReduceWarp(const T *__restrict__ values, const int *__restrict__ offsets, int segments, T *__restrict__ out, Op op)
{
    const int warpsPerBlock = blockDim.x / warpSize;
    const int lane = threadIdx.x % warpSize;
    for (int s = blockIdx.x * warpsPerBlock + threadIdx.x / warpSize; s < segments; s += gridDim.x * warpsPerBlock) {
        const auto begin = __ldg(offsets + s), end = __ldg(offsets + s + 1);
        T acc = Op::identity;
        for (int i = begin + lane; i < end; i += warpSize)
            acc = op(acc, __ldg(values + i));
#pragma unroll
        for (int d = 16; d; d /= 2)
            acc = op(acc, __shfl_xor_sync(~0u, acc, d));
        if (lane == 0) out[s] = acc;
    }
}

// heads[i] = 1 where a segment starts
__global__ void markHeads(const int *offsets, int segments, unsigned char *heads)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < segments && offsets[s] < offsets[s + 1])
        heads[offsets[s]] = 1;
}

// inclusive scan that restarts at heads and at block boundaries
template <int BLOCK>
__global__ void segScanBlock(const int *values, const unsigned char *heads, int n, int *out)
{
    __shared__ int carry[BLOCK / 32];
    __shared__ int anyHead[BLOCK / 32];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = i < n ? values[i] : 0;
    const bool head = i < n && heads[i] != 0;

    const unsigned flags = __ballot_sync(~0u, head);
    const unsigned upTo = flags & (0xffffffffu >> (31 - lane));
    const int first = upTo ? 31 - __clz(upTo) : 0;     // lane where my segment starts inside this warp
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(~0u, v, d);
        if (lane - d >= first) v += other;
    }
    if (lane == 31) {
        carry[warp] = v;
        anyHead[warp] = flags != 0;
    }
    __syncthreads();
    if (!upTo) {
        for (int w = warp - 1; w >= 0; --w) {
            v += carry[w];
            if (anyHead[w]) break;
        }
    }
    if (i < n) out[i] = v;
}

// per segment, the index of the largest value: packed into 64 bits
__global__ void segArgmax(const float *values, const int *segmentOf, int n, unsigned long long *best)
{
    const int stride = blockDim.x * gridDim.x;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += stride) {
        unsigned bits = __float_as_uint(values[i]);
        bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        atomicMax(&best[segmentOf[i]], (static_cast<unsigned long long>(bits) << 32) | static_cast<unsigned>(i));
    }
}

template <class T>
T *toGpu(const std::vector<T> &v)
{
    T *p;
    GPU(cudaMalloc(&p, v.size() * sizeof(T)));
    GPU(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

template <class T>
std::vector<T> fromGpu(const T *p, size_t n)
{
    std::vector<T> v(n);
    GPU(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

auto makeSegments(int segments)
{
    std::mt19937 gen(7);
    std::vector<int> offsets(segments + 1), owner;
    for (int s = 0; s < segments; ++s) {
        int len = gen() % 9 == 0 ? gen() % 700 : gen() % 40;      // some are empty, some long
        offsets[s + 1] = offsets[s] + len;
        owner.insert(owner.end(), len, s);
    }
    std::vector<float> values(owner.size());
    for (auto &v : values) v = float(int(gen() % 20001) - 10000) / 1024.0f;
    return std::make_tuple(offsets, owner, values);
}

int main()
{
    constexpr int segments = 5000, kBlock = 256;
    const auto [offsets, owner, values] = makeSegments(segments);
    const int n = static_cast<int>(values.size());
    std::vector<int> ints(n);
    std::transform(values.begin(), values.end(), ints.begin(), [](float v) { return static_cast<int>(v * 3.0f); });

    auto *dOffsets = toGpu(offsets), *dOwner = toGpu(owner), *dInts = toGpu(ints);
    auto *dValues = toGpu(values);
    auto *dSum = toGpu(std::vector<float>(segments)), *dMax = toGpu(std::vector<float>(segments));
    auto *dHeads = toGpu(std::vector<unsigned char>(n));
    auto *dScan = toGpu(std::vector<int>(n));
    auto *dBest = toGpu(std::vector<unsigned long long>(segments));

    segReduceThread<<<(segments + 127) / 128, 128>>>(dValues, dOffsets, segments, dSum, Sum<float>{});
    segReduceWarp<<<160, 256>>>(dValues, dOffsets, segments, dMax, Max<float>{});
    markHeads<<<(segments + 255) / 256, 256>>>(dOffsets, segments, dHeads);
    segScanBlock<kBlock><<<(n + kBlock - 1) / kBlock, kBlock>>>(dInts, dHeads, n, dScan);
    segArgmax<<<64, 256>>>(dValues, dOwner, n, dBest);
    GPU(cudaDeviceSynchronize());

    const auto sum = fromGpu(dSum, segments), top = fromGpu(dMax, segments);
    const auto scan = fromGpu(dScan, n);
    const auto best = fromGpu(dBest, segments);
    int wrong = 0;
    for (int s = 0; s < segments; ++s) {
        const auto b = values.begin() + offsets[s], e = values.begin() + offsets[s + 1];
        const float want = std::accumulate(b, e, 0.0f);
        wrong += !(std::fabs(want - sum[s]) < 1e-2f);
        wrong += top[s] != (b == e ? -1e30f : *std::max_element(b, e));
        if (b != e) {
            const auto at = static_cast<unsigned>(best[s]);
            wrong += static_cast<int>(at) >= n || values[at] != *std::max_element(b, e) || owner[at] != s;
        }
        int run = 0;
        for (int i = offsets[s]; i < offsets[s + 1]; ++i) {
            if (i % kBlock == 0) run = 0;
            run += ints[i];
            wrong += run != scan[i];
        }
    }
    std::printf("%d values in %d segments, %d wrong\n%s\n", n, segments, wrong, wrong ? "FAIL" : "OK");
    return wrong != 0;
}
