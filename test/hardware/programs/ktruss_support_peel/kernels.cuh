#pragma once
// Edge support kernels: each triangle u<v<w increments its three edges.

namespace truss {

struct View {
    const int* offset;
    const int* target;
    const int* source;
    const unsigned char* alive;
    int edges;
};

// two sorted lists, one thread per edge
__global__ void support_merge(View g, int* support) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= g.edges || !g.alive[e]) return;
    int u = g.source[e], v = g.target[e];
    int i = e + 1, iend = g.offset[u + 1], j = g.offset[v], jend = g.offset[v + 1];
    int mine = 0;
    while (i < iend && j < jend) {
        int a = g.target[i], b = g.target[j];
        if (a == b) {
            if (g.alive[i] && g.alive[j]) {
                ++mine;
                atomicAdd(&support[i], 1);
                atomicAdd(&support[j], 1);
            }
            ++i;
            ++j;
        } else if (a < b) {
            ++i;
        } else {
            ++j;
        }
    }
    if (mine) atomicAdd(&support[e], mine);
}

__device__ inline int find_in(const int* list, int lo, int hi, int key) {
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (list[mid] < key) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// one warp per edge, lanes search the neighbours of v in the list of u
__global__ void support_warp_search(View g, int* support) {
    int e = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (e >= g.edges || !g.alive[e]) return;
    int u = g.source[e], v = g.target[e];
    int lo = e + 1, hi = g.offset[u + 1];
    int mine = 0;
    for (int j = g.offset[v] + lane; j < g.offset[v + 1]; j += 32) {
        int w = g.target[j];
        int at = find_in(g.target, lo, hi, w);
        if (at < hi && g.target[at] == w && g.alive[at] && g.alive[j]) {
            ++mine;
            atomicAdd(&support[at], 1);
            atomicAdd(&support[j], 1);
        }
    }
    for (int d = 16; d > 0; d >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, d);
    if (lane == 0 && mine) atomicAdd(&support[e], mine);
}

// one block per vertex u, its list goes to a small shared hash table
constexpr int kSlots = 1024;
__global__ void support_block_hash(View g, int vertices, int* support) {
    __shared__ int key[kSlots];
    __shared__ int edge[kSlots];
    for (int u = blockIdx.x; u < vertices; u += gridDim.x) {
        int b = g.offset[u], deg = g.offset[u + 1] - b;
        for (int s = threadIdx.x; s < kSlots; s += blockDim.x) key[s] = -1;
        __syncthreads();
        for (int i = threadIdx.x; i < deg; i += blockDim.x) {
            if (!g.alive[b + i]) continue;
            int w = g.target[b + i];
            unsigned h = (unsigned(w) * 2654435761u) % kSlots;
            while (atomicCAS(&key[h], -1, w) != -1) h = (h + 1) % kSlots;
            edge[h] = b + i;
        }
        __syncthreads();
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
        for (int i = warp; i < deg; i += warps) {
            int e = b + i;
            if (!g.alive[e]) continue;
            int v = g.target[e], mine = 0;
            for (int j = g.offset[v] + lane; j < g.offset[v + 1]; j += 32) {
                if (!g.alive[j]) continue;
                int w = g.target[j];
                unsigned h = (unsigned(w) * 2654435761u) % kSlots;
                while (key[h] != -1 && key[h] != w) h = (h + 1) % kSlots;
                if (key[h] == w) {
                    ++mine;
                    atomicAdd(&support[edge[h]], 1);
                    atomicAdd(&support[j], 1);
                }
            }
            if (mine) atomicAdd(&support[e], mine);
        }
        __syncthreads();
    }
}

__global__ void peel(const int* __restrict__ support, unsigned char* __restrict__ alive, int edges, int need,
                     int* removed) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    bool kill = false;
    if (e < edges && alive[e] && support[e] < need) {
        alive[e] = 0;
        kill = true;
    }
    int n = __syncthreads_count(kill);
    if (threadIdx.x == 0 && n) atomicAdd(removed, n);
}

}  // namespace truss
