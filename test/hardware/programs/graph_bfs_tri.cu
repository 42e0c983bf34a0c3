// Graph kernels on a CSR graph: frontier BFS, Bellman-Ford relaxations, Luby colouring step, triangle counting by binary search
#include <cstdio>
#include <vector>
#include <set>
#include <queue>
#include <algorithm>
#include <climits>
#include <cuda_runtime.h>

class Graph {
public:
    int nv = 0, ne = 0;
    int *rowptr = nullptr, *adj = nullptr; short* wt = nullptr;
    std::vector<int> hp, ha; std::vector<short> hw;
    void build(int n, unsigned seed) {
        std::vector<std::set<int>> s(n);
        for (int i = 0; i < n * 4; ++i) {
            seed = seed * 1103515245u + 12345u; int a = (seed >> 8) % n;
            seed = seed * 1103515245u + 12345u; int b = ((seed >> 8) % 37 == 0) ? 0 : (a + (seed >> 12) % 60) % n;
            if (a != b) { s[a].insert(b); s[b].insert(a); }
        }
        nv = n; hp.push_back(0);
        for (auto& r : s) { for (int v : r) ha.push_back(v); hp.push_back((int)ha.size()); }
        ne = (int)ha.size();
        hw.resize(ne);
        for (int u = 0; u < n; ++u) for (int k = hp[u]; k < hp[u + 1]; ++k) hw[k] = 1 + (u * ha[k] + u + ha[k]) % 9;
        cudaMalloc(&rowptr, hp.size() * 4); cudaMalloc(&adj, ne * 4); cudaMalloc(&wt, ne * 2);
        cudaMemcpy(rowptr, hp.data(), hp.size() * 4, cudaMemcpyHostToDevice);
        cudaMemcpy(adj, ha.data(), ne * 4, cudaMemcpyHostToDevice);
        cudaMemcpy(wt, hw.data(), ne * 2, cudaMemcpyHostToDevice);
    }
    ~Graph() { cudaFree(rowptr); cudaFree(adj); cudaFree(wt); }
};

__global__ void bfs_frontier(const int* __restrict__ rowptr, const int* __restrict__ adj, int* level, const int* frontier, int nf, int* next, int* nnext, int depth)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (warp >= nf) return;
    int u = frontier[warp];
    for (int e = rowptr[u] + lane; e < rowptr[u + 1]; e += 32) {
        int v = adj[e];
        if (level[v] == -1 && atomicCAS(&level[v], -1, depth) == -1)
            next[atomicAdd(nnext, 1)] = v;
    }
}

// whole SSSP in one block: distances in shared memory, iterate until no change
__global__ void sssp_block(const int* rowptr, const int* adj, const short* wt, int* dist, int nv, int src)
{
    extern __shared__ int d[];
    __shared__ bool changed;
    for (int i = threadIdx.x; i < nv; i += blockDim.x) d[i] = i == src ? 0 : INT_MAX / 2;
    do {
        __syncthreads();
        if (threadIdx.x == 0) changed = false;
        __syncthreads();
        for (int u = threadIdx.x; u < nv; u += blockDim.x) {
            int du = d[u];
            if (du == INT_MAX / 2) continue;
            for (int e = rowptr[u]; e < rowptr[u + 1]; ++e) {
                int nd = du + wt[e];
                if (nd < d[adj[e]]) { atomicMin(&d[adj[e]], nd); changed = true; }
            }
        }
        __syncthreads();
    } while (changed);
    for (int i = threadIdx.x; i < nv; i += blockDim.x) dist[i] = d[i];
}

__device__ unsigned hash32(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ (x >> 16); }

__global__ void luby_round(const int* rowptr, const int* adj, signed char* colour, int nv, signed char c)
{
    int u = blockIdx.x * blockDim.x + threadIdx.x;
    if (u >= nv || colour[u] != -1) return;
    unsigned pu = hash32(u);
    for (int e = rowptr[u]; e < rowptr[u + 1]; ++e) {
        int v = adj[e];
        signed char cv = colour[v];
        if ((cv == -1 || cv == c) && hash32(v) > pu) return;
    }
    colour[u] = c;
}

__device__ bool has_edge(const int* a, int lo, int hi, int key)
{
    while (lo < hi) {
        int m = lo + (hi - lo) / 2;
        if (a[m] == key) return true;
        if (a[m] < key) lo = m + 1; else hi = m;
    }
    return false;
}

__global__ void triangles(const int* rowptr, const int* adj, int nv, unsigned long long* total)
{
    unsigned cnt = 0;
    for (int u = blockIdx.x; u < nv; u += gridDim.x)
        for (int e = rowptr[u] + threadIdx.y; e < rowptr[u + 1]; e += blockDim.y) {
            int v = adj[e];
            if (v <= u) continue;
            for (int f = rowptr[v] + threadIdx.x; f < rowptr[v + 1]; f += blockDim.x) {
                int w = adj[f];
                if (w > v && has_edge(adj, rowptr[u], rowptr[u + 1], w)) ++cnt;
            }
        }
    if (cnt) atomicAdd(total, (unsigned long long)cnt);
}

int main()
{
    Graph g; g.build(900, 4);
    int n = g.nv, *level, *fr, *nx, *cnt, *dist; signed char* col; unsigned long long* tri;
    cudaMalloc(&level, n * 4); cudaMalloc(&fr, n * 4); cudaMalloc(&nx, n * 4); cudaMalloc(&cnt, 4); cudaMalloc(&dist, n * 4);
    cudaMalloc(&col, n); cudaMalloc(&tri, 8);
    cudaMemset(level, 0xff, n * 4); cudaMemset(col, 0xff, n); cudaMemset(tri, 0, 8);
    int zero = 0, nf = 1;
    cudaMemcpy(level, &zero, 4, cudaMemcpyHostToDevice);
    cudaMemcpy(fr, &zero, 4, cudaMemcpyHostToDevice);
    for (int depth = 1; nf > 0 && depth <= 4; ++depth) {
        cudaMemset(cnt, 0, 4);
        bfs_frontier<<<(nf + 3) / 4, 128>>>(g.rowptr, g.adj, level, fr, nf, nx, cnt, depth);
        cudaMemcpy(&nf, cnt, 4, cudaMemcpyDeviceToHost);
        std::swap(fr, nx);
    }
    sssp_block<<<1, 320, n * 4>>>(g.rowptr, g.adj, g.wt, dist, n, 0);
    for (int r = 0; r < 3; ++r) luby_round<<<(n + 95) / 96, 96>>>(g.rowptr, g.adj, col, n, (signed char)r);
    triangles<<<60, dim3(8, 8)>>>(g.rowptr, g.adj, n, tri);
    std::vector<int> hl(n), hd(n); unsigned long long t;
    cudaMemcpy(hl.data(), level, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hd.data(), dist, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&t, tri, 8, cudaMemcpyDeviceToHost);
    std::vector<int> ref(n, -1), rd(n, INT_MAX / 2); std::queue<int> q; q.push(0); ref[0] = 0;
    while (!q.empty()) { int u = q.front(); q.pop(); for (int k = g.hp[u]; k < g.hp[u + 1]; ++k) if (ref[g.ha[k]] < 0) { ref[g.ha[k]] = ref[u] + 1; q.push(g.ha[k]); } }
    rd[0] = 0;
    for (bool ch = true; ch;) { ch = false; for (int u = 0; u < n; ++u) if (rd[u] < INT_MAX / 2) for (int k = g.hp[u]; k < g.hp[u + 1]; ++k) if (rd[u] + g.hw[k] < rd[g.ha[k]]) { rd[g.ha[k]] = rd[u] + g.hw[k]; ch = true; } }
    unsigned long long rt = 0;
    for (int u = 0; u < n; ++u) for (int e = g.hp[u]; e < g.hp[u + 1]; ++e) if (g.ha[e] > u) for (int f = g.hp[g.ha[e]]; f < g.hp[g.ha[e] + 1]; ++f)
        if (g.ha[f] > g.ha[e]) rt += std::binary_search(g.ha.begin() + g.hp[u], g.ha.begin() + g.hp[u + 1], g.ha[f]);
    int bad = 0;
    for (int i = 0; i < n; ++i) { if (ref[i] <= 4) bad += hl[i] != ref[i]; bad += hd[i] != rd[i]; }
    printf("V=%d E=%d bad=%d triangles=%llu (%llu)\n", n, g.ne, bad, t, rt);
    return bad || t != rt;
}
