// Stream compaction four ways, plus partition and run-length encoding of packed 12-byte records.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

struct Rec { float x, y; int tag; };    // 12 bytes
static_assert(sizeof(Rec) == 12, "");

struct IsPositive { __device__ bool operator()(const Rec& r) const { return r.x > 0.f && r.tag % 3 != 0; } };
struct TagBelow { int lim; __device__ bool operator()(const Rec& r) const { return r.tag < lim; } };

template <class Pred>
__global__ void compact_atomic(const Rec* in, Rec* out, int n, int* count, Pred pred)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && pred(in[i])) {
        auto g = cg::coalesced_threads();
        int base;
        if (g.thread_rank() == 0) base = atomicAdd(count, (int)g.size());
        out[g.shfl(base, 0) + g.thread_rank()] = in[i];
    }
}

template <class Pred, int BLOCK>
__global__ void compact_block(const Rec* __restrict__ in, Rec* __restrict__ out, int n, int* count, Pred pred)
{
    __shared__ Rec stage[BLOCK];
    __shared__ int warp_off[BLOCK / 32], base, total;
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    for (int start = blockIdx.x * BLOCK; start < n; start += gridDim.x * BLOCK) {
        int i = start + threadIdx.x;
        Rec r;
        int keep = 0;
        if (i < n) { r = in[i]; keep = pred(r); }
        int rank = cg::exclusive_scan(warp, keep, cg::plus<int>());
        if (warp.thread_rank() == 31) warp_off[warp.meta_group_rank()] = rank + keep;
        block.sync();
        if (threadIdx.x == 0) {
            int s = 0;
            for (int w = 0; w < BLOCK / 32; ++w) { int c = warp_off[w]; warp_off[w] = s; s += c; }
            total = s;
            base = atomicAdd(count, s);
        }
        block.sync();
        if (keep) stage[warp_off[warp.meta_group_rank()] + rank] = r;
        block.sync();
        // copy as words for coalescing
        const int* src = reinterpret_cast<const int*>(stage);
        int* dst = reinterpret_cast<int*>(out + base);
        for (int k = threadIdx.x; k < total * 3; k += BLOCK) dst[k] = src[k];
        block.sync();
    }
}

__global__ void mark_runs(const Rec* in, int n, unsigned char* head)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    head[i] = (i == 0) || in[i].tag != in[i - 1].tag;
}

// one block walks the array, writing run starts
__global__ void run_starts(const unsigned char* head, int n, int* starts, int* nruns)
{
    __shared__ int sums[32];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5, carry = 0;
    for (int b = 0; b < n; b += blockDim.x) {
        int i = b + threadIdx.x;
        bool f = i < n && head[i];
        unsigned m = __ballot_sync(~0u, f);
        if (lane == 0) sums[w] = __popc(m);
        __syncthreads();
        int off = carry, all = 0;
        for (int k = 0; k < blockDim.x / 32; ++k) { if (k < w) off += sums[k]; all += sums[k]; }
        if (f) starts[off + __popc(m & ((1u << lane) - 1))] = i;
        carry += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) *nruns = carry;
}

int main()
{
    const int n = 12345;
    std::vector<Rec> h(n);
    for (int i = 0; i < n; ++i) h[i] = {float((i * 7919) % 1000 - 400), float(i), (i / 7) % 50};
    Rec *din, *o1, *o2, *o3; int* cnt; unsigned char* head; int* starts;
    cudaMalloc(&din, n * sizeof(Rec)); cudaMalloc(&o1, n * sizeof(Rec)); cudaMalloc(&o2, n * sizeof(Rec)); cudaMalloc(&o3, n * sizeof(Rec));
    cudaMalloc(&cnt, 16); cudaMemset(cnt, 0, 16); cudaMalloc(&head, n); cudaMalloc(&starts, n * 4);
    cudaMemcpy(din, h.data(), n * sizeof(Rec), cudaMemcpyHostToDevice);
    compact_atomic<<<(n + 159) / 160, 160>>>(din, o1, n, cnt, IsPositive{});
    compact_block<IsPositive, 128><<<30, 128>>>(din, o2, n, cnt + 1, IsPositive{});
    compact_block<TagBelow, 256><<<30, 256>>>(din, o3, n, cnt + 2, TagBelow{20});
    mark_runs<<<(n + 255) / 256, 256>>>(din, n, head);
    run_starts<<<1, 512>>>(head, n, starts, cnt + 3);
    int c[4]; cudaMemcpy(c, cnt, 16, cudaMemcpyDeviceToHost);
    std::vector<Rec> r1(c[0]), r2(c[1]);
    std::vector<int> st(c[3]);
    cudaMemcpy(r1.data(), o1, c[0] * sizeof(Rec), cudaMemcpyDeviceToHost);
    cudaMemcpy(r2.data(), o2, c[1] * sizeof(Rec), cudaMemcpyDeviceToHost);
    cudaMemcpy(st.data(), starts, c[3] * 4, cudaMemcpyDeviceToHost);
    int e1 = 0, e3 = 0, runs = 0, bad = 0;
    double s = 0, s1 = 0, s2 = 0;
    for (int i = 0; i < n; ++i) {
        if (h[i].x > 0 && h[i].tag % 3) { ++e1; s += h[i].y; }
        e3 += h[i].tag < 20;
        if (i == 0 || h[i].tag != h[i - 1].tag) { bad += runs >= c[3] || st[runs] != i; ++runs; }
    }
    for (auto& r : r1) s1 += r.y;
    for (auto& r : r2) s2 += r.y;
    printf("counts %d %d %d %d expected %d %d %d %d\n", c[0], c[1], c[2], c[3], e1, e1, e3, runs);
    return !(c[0] == e1 && c[1] == e1 && c[2] == e3 && c[3] == runs && s == s1 && s == s2 && !bad);
}
