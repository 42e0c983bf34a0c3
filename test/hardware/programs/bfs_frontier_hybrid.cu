/* BFS on a synthetic power-ish graph (CSR). Topology-driven pass, queue-driven pass, warp-per-vertex pass. */
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <queue>
#include <algorithm>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

struct Csr { const int* row; const int* col; int n; };

__global__ void fill_int(int* p, int v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = v;
}

__global__ void bfs_topology(Csr g, int* dist, int level, int* changed) {
    int u = blockIdx.x * blockDim.x + threadIdx.x;
    if (u >= g.n || dist[u] != level) return;
    for (int e = g.row[u]; e < g.row[u + 1]; ++e) {
        int v = g.col[e];
        if (dist[v] < 0) { dist[v] = level + 1; *changed = 1; }
    }
}

__global__ void bfs_queue(Csr g, int* dist, const int* q, int nq, int* nextq, int* nnext, int level) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nq) return;
    int u = q[t];
    for (int e = g.row[u]; e < g.row[u + 1]; ++e) {
        int v = g.col[e];
        if (atomicCAS(&dist[v], -1, level + 1) == -1) nextq[atomicAdd(nnext, 1)] = v;
    }
}

__global__ void bfs_warp(Csr g, int* dist, const int* q, int nq, int* nextq, int* nnext, int level) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, nw = gridDim.x * blockDim.x / 32;
    for (; w < nq; w += nw) {
        int u = q[w], beg = g.row[u], end = g.row[u + 1];
        for (int e0 = beg; e0 < end; e0 += 32) {
            int e = e0 + warp.thread_rank(), v = -1;
            bool won = false;
            if (e < end) { v = g.col[e]; won = dist[v] < 0 && atomicCAS(&dist[v], -1, level + 1) == -1; }
            unsigned m = warp.ballot(won);
            int base = 0;
            if (warp.thread_rank() == 0 && m) base = atomicAdd(nnext, __popc(m));
            base = warp.shfl(base, 0);
            if (won) nextq[base + __popc(m & ((1u << warp.thread_rank()) - 1))] = v;
        }
    }
}

__global__ void level_histogram(const int* dist, int n, int* hist) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (dist[i] >= 0) atomicAdd(&hist[dist[i] & 31], 1);
}

int main() {
    const int n = 40000;
    std::vector<std::pair<int, int>> ed;
    unsigned long long s = 5;
    auto rnd = [&] { s = s * 6364136223846793005ull + 1442695040888963407ull; return (unsigned)(s >> 33); };
    for (int i = 1; i < n; ++i) {
        int k = 1 + (rnd() % 9 == 0) * 20;
        for (int j = 0; j < k; ++j) {
            double f = (rnd() % 100000) / 100000.0;
            int t = (int)(f * f * i);
            ed.push_back({i, t}); ed.push_back({t, i});
        }
    }
    std::sort(ed.begin(), ed.end());
    ed.erase(std::unique(ed.begin(), ed.end()), ed.end());
    std::vector<int> row(n + 1, 0), col(ed.size());
    for (size_t i = 0; i < ed.size(); ++i) { row[ed[i].first + 1]++; col[i] = ed[i].second; }
    for (int i = 0; i < n; ++i) row[i + 1] += row[i];
    const int src = n - 1;
    std::vector<int> ref(n, -1); ref[src] = 0;
    std::queue<int> Q; Q.push(src);
    int maxd = 0;
    while (!Q.empty()) { int u = Q.front(); Q.pop(); maxd = std::max(maxd, ref[u]); for (int e = row[u]; e < row[u + 1]; ++e) if (ref[col[e]] < 0) { ref[col[e]] = ref[u] + 1; Q.push(col[e]); } }

    int *dr, *dc, *d0, *d1, *q0, *q1, *cnt, *hist;
    cudaMalloc(&dr, (n + 1) * 4); cudaMalloc(&dc, col.size() * 4); cudaMalloc(&d0, n * 4); cudaMalloc(&d1, n * 4);
    cudaMalloc(&q0, n * 4); cudaMalloc(&q1, n * 4); cudaMallocManaged(&cnt, 4); cudaMalloc(&hist, 128);
    cudaMemcpy(dr, row.data(), (n + 1) * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dc, col.data(), col.size() * 4, cudaMemcpyHostToDevice);
    cudaMemset(hist, 0, 128);
    Csr g{dr, dc, n};
    fill_int<<<(n + 511) / 512, 512>>>(d0, -1, n);
    fill_int<<<(n + 511) / 512, 512>>>(d1, -1, n);
    int zero = 0;
    cudaMemcpy(d0 + src, &zero, 4, cudaMemcpyHostToDevice);
    cudaMemcpy(d1 + src, &zero, 4, cudaMemcpyHostToDevice);
    cudaMemcpy(q0, &src, 4, cudaMemcpyHostToDevice);
    for (int lev = 0; lev < 3; ++lev) bfs_topology<<<(n + 255) / 256, 256>>>(g, d0, lev, cnt);   // first levels only
    int nq = 1;
    for (int lev = 0; nq > 0 && lev < 64; ++lev) {
        cudaDeviceSynchronize();
        *cnt = 0;
        if (nq < 64) bfs_queue<<<(nq + 31) / 32, 32>>>(g, d1, q0, nq, q1, cnt, lev);
        else bfs_warp<<<132, 256>>>(g, d1, q0, nq, q1, cnt, lev);
        cudaDeviceSynchronize();
        nq = *cnt;
        std::swap(q0, q1);
    }
    level_histogram<<<40, 256>>>(d1, n, hist);
    std::vector<int> a(n), b(n); int h[32], rh[32] = {0};
    cudaMemcpy(a.data(), d0, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), d1, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(h, hist, 128, cudaMemcpyDeviceToHost);
    int bad = cudaGetLastError() != cudaSuccess;
    for (int i = 0; i < n; ++i) {
        if (ref[i] >= 0) rh[ref[i] & 31]++;
        if (b[i] != ref[i]) ++bad;
        if (a[i] != (ref[i] <= 3 ? ref[i] : -1)) ++bad;
    }
    for (int i = 0; i < 32; ++i) bad += h[i] != rh[i];
    printf("edges %zu depth %d bad %d\n%s\n", col.size(), maxd, bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
