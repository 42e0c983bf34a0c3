// The reduction ladder, from the worst rung to the best one.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

#define GUARD(call)                                                                 \
    if (cudaError_t rc_ = (call); rc_ != cudaSuccess) {                             \
        std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc_));        \
        std::exit(1);                                                               \
    }

constexpr unsigned kThreads = 256;

// Rung 1: interleaved addressing, the stride doubles every step.
__global__ void reduceInterleaved(const float* in, float* partial, unsigned n)
{
    __shared__ float s[kThreads];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
        unsigned index = 2 * step * tid;
        if (index < blockDim.x) s[index] += s[index + step];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = s[0];
}

// Rung 2: sequential addressing, first addition while loading.
__global__ void reduceSequential(const float* in, float* partial, unsigned n)
{
    extern __shared__ float s[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + tid;
    float v = i < n ? in[i] : 0.0f;
    if (i + blockDim.x < n) v += in[i + blockDim.x];
    s[tid] = v;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (tid < half) s[tid] += s[tid + half];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = s[0];
}

// Rung 3: grid-stride over float4, shuffles inside a warp, one atomic per block.
template <unsigned Threads>
__global__ void __launch_bounds__(Threads, 8)
reduceShuffle(const float4* __restrict__ in, float* __restrict__ total, unsigned n4)
{
    static_assert(Threads % 32 == 0 && Threads <= 1024);
    __shared__ float warpSum[Threads / 32];
    float v = 0.0f;
    for (unsigned i = blockIdx.x * Threads + threadIdx.x; i < n4; i += gridDim.x * Threads) {
        const float4 q = in[i];
        v += (q.x + q.y) + (q.z + q.w);
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) warpSum[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < Threads / 32 ? warpSum[threadIdx.x] : 0.0f;
#pragma unroll
        for (int d = Threads / 64; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (threadIdx.x == 0) atomicAdd(total, v);
    }
}

// Rung 4: cooperative groups; every thread takes a contiguous chunk (a common slip).
__global__ void reduceGroupsChunked(const float* __restrict__ in, float* __restrict__ total, unsigned n)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const unsigned threads = gridDim.x * block.size();
    const unsigned chunk = (n + threads - 1) / threads;
    const unsigned begin = (blockIdx.x * block.size() + block.thread_rank()) * chunk;
    const unsigned end = min(begin + chunk, n);
    float v = 0.0f;
    for (unsigned i = begin; i < end; ++i) v += in[i];
    v = cg::reduce(warp, v, cg::plus<float>());
    if (warp.thread_rank() == 0) atomicAdd(total, v);
}

// Last rung: one block sums the partials.
__global__ void finish(const float* partial, float* total, unsigned n)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float s[32];
    float v = 0.0f;
    for (unsigned i = block.thread_rank(); i < n; i += block.size()) v += partial[i];
    v = cg::reduce(warp, v, cg::plus<float>());
    if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = v;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        v = warp.thread_rank() < warp.meta_group_size() ? s[warp.thread_rank()] : 0.0f;
        v = cg::reduce(warp, v, cg::plus<float>());
        if (warp.thread_rank() == 0) *total = v;
    }
}

int main()
{
    const unsigned n = 1u << 23;
    std::vector<float> host(n);
    unsigned state = 2463534242u;
    double expected = 0.0;
    for (auto& h : host) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        h = static_cast<float>(state >> 16) / 65536.0f;
        expected += h;
    }

    float *in, *partial, *total;
    const unsigned blocks1 = (n + kThreads - 1) / kThreads;
    GUARD(cudaMalloc(&in, n * sizeof(float)));
    GUARD(cudaMalloc(&partial, blocks1 * sizeof(float)));
    GUARD(cudaMalloc(&total, sizeof(float)));
    GUARD(cudaMemcpy(in, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    bool ok = true;
    auto rung = [&](const std::string& name, const std::function<void()>& launch) {
        float got = 0.0f;
        GUARD(cudaMemset(total, 0, sizeof(float)));
        launch();
        GUARD(cudaGetLastError());
        GUARD(cudaMemcpy(&got, total, sizeof(float), cudaMemcpyDeviceToHost));
        const double rel = std::fabs(got - expected) / expected;
        std::printf("%-12s %.1f (relative error %.1e)\n", name.c_str(), got, rel);
        ok = ok && rel < 1e-4;
    };

    rung("interleaved", [&] {
        reduceInterleaved<<<blocks1, kThreads>>>(in, partial, n);
        finish<<<1, 1024>>>(partial, total, blocks1);
    });
    rung("sequential", [&] {
        const unsigned blocks = (n + 2 * kThreads - 1) / (2 * kThreads);
        reduceSequential<<<blocks, kThreads, kThreads * sizeof(float)>>>(in, partial, n);
        finish<<<1, 1024>>>(partial, total, blocks);
    });
    rung("shuffle", [&] {
        reduceShuffle<kThreads><<<132 * 4, kThreads>>>(reinterpret_cast<const float4*>(in), total, n / 4);
    });
    rung("chunked", [&] { reduceGroupsChunked<<<132 * 2, kThreads>>>(in, total, n); });

    GUARD(cudaFree(in));
    GUARD(cudaFree(partial));
    GUARD(cudaFree(total));
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
