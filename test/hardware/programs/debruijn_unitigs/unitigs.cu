#include <utility>
#include "device_steps.hpp"

namespace asmx {
namespace {

struct Degrees { unsigned char in, out; };

__global__ void count_degrees(TableView t, const Key* __restrict__ solid, int n, int k, Degrees* __restrict__ deg) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Key me = solid[i], kmask = (1ull << (2 * k)) - 1;
    Degrees d{0, 0};
    for (int b = 0; b < 4; ++b) {
        d.out += lookup(t, successor(me, b, kmask)) >= 0;
        d.in += lookup(t, predecessor(me, b, k)) >= 0;
    }
    deg[i] = d;
}

// link[i] = {previous k-mer in the same unitig or itself, steps}
__global__ void link_back(TableView t, const Key* __restrict__ solid, const Degrees* __restrict__ deg, int n, int k,
                          int2* __restrict__ link) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int2 l = make_int2(i, 0);
    if (deg[i].in == 1) {
        for (int b = 0; b < 4; ++b) {
            int p = lookup(t, predecessor(solid[i], b, k));
            if (p >= 0 && p != i && deg[p].out == 1) l = make_int2(p, 1);
        }
    }
    link[i] = l;
}

__global__ void jump(const int2* __restrict__ from, int2* __restrict__ to, int n, int* moved) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int2 a = from[i], b = from[a.x];
    to[i] = make_int2(b.x, a.y + b.y);
    if (b.x != a.x) *moved = 1;
}

__global__ void longest_per_head(const int2* __restrict__ link, int n, int* __restrict__ length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMax(&length[link[i].x], link[i].y + 1);
}

int grid_for(int n) { return (n + 127) / 128; }

}  // namespace

Chains chain_kmers(TableView t, const Key* solid, int n, int k) {
    Degrees* deg;
    int2 *a, *b;
    int *moved, *length;
    verify(cudaMalloc(&deg, n * sizeof(Degrees)), "degrees");
    verify(cudaMalloc(&a, n * sizeof(int2)), "links");
    verify(cudaMalloc(&b, n * sizeof(int2)), "links");
    verify(cudaMalloc(&moved, sizeof(int)), "flag");
    verify(cudaMalloc(&length, n * sizeof(int)), "length");
    count_degrees<<<grid_for(n), 128>>>(t, solid, n, k, deg);
    link_back<<<grid_for(n), 128>>>(t, solid, deg, n, k, a);
    for (int round = 0; round < 14; ++round) {
        int again = 0;
        verify(cudaMemset(moved, 0, sizeof(int)), "flag");
        jump<<<grid_for(n), 128>>>(a, b, n, moved);
        std::swap(a, b);
        verify(cudaMemcpy(&again, moved, sizeof(int), cudaMemcpyDeviceToHost), "flag");
        if (!again) break;
    }
    verify(cudaMemset(length, 0, n * sizeof(int)), "length");
    longest_per_head<<<grid_for(n), 128>>>(a, n, length);
    Chains c;
    c.length_at_head.resize(n);
    std::vector<int2> h(n);
    verify(cudaMemcpy(c.length_at_head.data(), length, n * sizeof(int), cudaMemcpyDeviceToHost), "length");
    verify(cudaMemcpy(h.data(), a, n * sizeof(int2), cudaMemcpyDeviceToHost), "links");
    for (auto& l : h) c.head.push_back(l.x);
    cudaFree(deg); cudaFree(a); cudaFree(b); cudaFree(moved); cudaFree(length);
    return c;
}

}  // namespace asmx
