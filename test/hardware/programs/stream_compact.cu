// Keeping the elements that pass a test: global counter, warp-aggregated counter, block scan.
#include <algorithm>
#include "common.h"

struct Positive { __device__ bool operator()(int v) const { return v > 0; } };
struct MultipleOf { int m; __device__ bool operator()(int v) const { return v % m == 0; } };

template <typename Predicate>
__global__ void compactAtomic(const int *in, int n, int *out, int *count, Predicate keep)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && keep(in[i]))
        out[atomicAdd(count, 1)] = in[i];
}

template <typename Predicate>
__global__ void compactBallot(const int *in, int n, int *out, int *count, Predicate keep)
{
    const int lane = threadIdx.x % 32;
    for (int base = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32; base < n; base += gridDim.x * blockDim.x) {
        int v = base + lane < n ? in[base + lane] : 0;
        bool pick = base + lane < n && keep(v);
        unsigned int votes = __ballot_sync(0xffffffff, pick);
        int start = 0;
        if (lane == 0)
            start = atomicAdd(count, __popc(votes));
        start = __shfl_sync(0xffffffff, start, 0);
        if (pick)
            out[start + __popc(votes & ((1u << lane) - 1))] = v;
    }
}

// Each block writes its survivors, in order, into its own segment.
__global__ void compactBlock(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ kept, int threshold)
{
    __shared__ int flags[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const int v = in[i];
    const int flag = v >= threshold;
    flags[t] = flag;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int add = t >= d ? flags[t - d] : 0;
        __syncthreads();
        flags[t] += add;
        __syncthreads();
    }
    if (flag)
        out[blockIdx.x * 256 + flags[t] - 1] = v;
    if (t == 255)
        kept[blockIdx.x] = flags[255];
}

int main()
{
    const int n = 256 * 300;
    std::vector<int> in(n);
    Random r(6);
    for (int &v : in) v = r.below(2001) - 1000;
    int *din = toDevice(in), *dout = deviceZeros<int>(n), *count = deviceZeros<int>(1), *kept = deviceZeros<int>(300);
    bool ok = true;
    auto sortedEqual = [&](std::vector<int> want) {
        int c = toHost(count, 1)[0];
        std::vector<int> got = toHost(dout, n);
        got.resize(c < n ? c : 0);
        std::sort(got.begin(), got.end());
        std::sort(want.begin(), want.end());
        CUDA_OK(cudaMemset(count, 0, sizeof(int)));
        return got == want;
    };
    std::vector<int> want;
    for (int v : in) if (v > 0) want.push_back(v);
    compactAtomic<<<n / 256, 256>>>(din, n, dout, count, Positive());
    ok &= report("compactAtomic", sortedEqual(want));
    want.clear();
    for (int v : in) if (v % 3 == 0) want.push_back(v);
    compactBallot<<<100, 128>>>(din, n, dout, count, MultipleOf{3});
    ok &= report("compactBallot", sortedEqual(want));
    compactBlock<<<300, 256>>>(din, dout, kept, 500);
    std::vector<int> got = toHost(dout, n), k = toHost(kept, 300);
    bool good = true;
    for (int b = 0; b < 300; ++b) {
        int c = 0;
        for (int i = 0; i < 256; ++i)
            if (in[b * 256 + i] >= 500) good = good && got[b * 256 + c++] == in[b * 256 + i];
        good = good && k[b] == c;
    }
    ok &= report("compactBlock", good);
    return ok ? 0 : 1;
}
