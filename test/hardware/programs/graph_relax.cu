// Graph kernels over one undirected CSR graph:
//   pull-style Bellman-Ford rounds, connected components (union-find), triangle counting, neighbourhood maxima
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <queue>
#include <vector>

#include <cuda_runtime.h>

constexpr int kInf = 1 << 29;

struct Graph {
    int n = 0;
    std::vector<int> offset, target, weight;
};

struct GpuGraph {
    int n;
    int *offset, *target, *weight;
};

void must(cudaError_t result)
{
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(result));
    std::exit(1);
}

__global__ void pullRelax(GpuGraph g, const int *distIn, int *distOut, int *changed)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= g.n) return;
    int old = distIn[v];
    int best = old;
    for (int e = g.offset[v]; e < g.offset[v + 1]; e++) {
        int d = distIn[g.target[e]] + g.weight[e];
        if (d < best) best = d;
    }
    distOut[v] = best;
    if (best != old) atomicAdd(changed, 1);
}

__device__ int findRoot(int *parent, int v)
{
    int p = __ldcg(parent + v);
    while (p != v) {
        int up = __ldcg(parent + p);
        v = p;
        p = up;
    }
    return v;
}

__global__ void ccHook(GpuGraph g, int *parent)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= g.n) return;
    for (int e = g.offset[v]; e < g.offset[v + 1]; e++) {
        int u = g.target[e];
        if (u > v) continue;
        int a = findRoot(parent, v), b = findRoot(parent, u);
        while (a != b) {
            if (a < b) { int t = a; a = b; b = t; }
            int seen = atomicCAS(&parent[a], a, b);
            if (seen == a) break;
            a = findRoot(parent, seen);
            b = findRoot(parent, b);
        }
    }
}

__global__ void ccFlatten(int n, int *parent, int *sizes)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int root = v;
    while (parent[root] != root) root = parent[root];
    parent[v] = root;
    atomicAdd(&sizes[root], 1);
}

// one warp a vertex; lanes over its neighbours, each intersecting two sorted lists
__global__ void triangles(GpuGraph g, unsigned long long *total)
{
    __shared__ unsigned long long blockTotal;
    if (threadIdx.x == 0) blockTotal = 0;
    __syncthreads();
    int lane = threadIdx.x & 31;
    int v = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    unsigned int count = 0;
    if (v < g.n) {
        int b = g.offset[v], e = g.offset[v + 1];
        for (int p = b + lane; p < e; p += 32) {
            int u = g.target[p];
            if (u <= v) continue;
            int i = b, j = g.offset[u], je = g.offset[u + 1];
            while (i < e && j < je) {
                int x = g.target[i], y = g.target[j];
                if (x == y) {
                    count += x > u;
                    i++;
                    j++;
                } else if (x < y) {
                    i++;
                } else {
                    j++;
                }
            }
        }
    }
    count = __reduce_add_sync(0xffffffffu, count);
    if (lane == 0 && count) atomicAdd(&blockTotal, (unsigned long long)count);
    __syncthreads();
    if (threadIdx.x == 0 && blockTotal) atomicAdd(total, blockTotal);
}

// eight lanes a vertex: largest degree in the neighbourhood
__global__ void maxNeighbourDegree(GpuGraph g, int *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int v = t / 8, sub = t % 8;
    int best = 0;
    if (v < g.n)
        for (int e = g.offset[v] + sub; e < g.offset[v + 1]; e += 8) {
            int u = g.target[e];
            best = max(best, g.offset[u + 1] - g.offset[u]);
        }
    best = max(best, __shfl_xor_sync(0xffffffffu, best, 4));
    best = max(best, __shfl_xor_sync(0xffffffffu, best, 2));
    best = max(best, __shfl_xor_sync(0xffffffffu, best, 1));
    if (v < g.n && sub == 0) out[v] = best;
}

Graph makeGraph(int n)
{
    unsigned s = 88172645u;
    auto next = [&s] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; };
    std::vector<std::vector<int>> adj(n);
    for (int v = 0; v < n; ++v) {
        int island = v / 1000;                       // edges stay inside an island of 1000, but for a few bridges
        int degree = 1 + next() % 5 + (v % 97 == 0 ? 60 : 0);
        for (int i = 0; i < degree; ++i) {
            int u = island * 1000 + next() % 1000;
            if (next() % 4000 == 0) u = next() % n;
            if (u < n && u != v) { adj[v].push_back(u); adj[u].push_back(v); }
        }
    }
    Graph g;
    g.n = n;
    g.offset.push_back(0);
    for (int v = 0; v < n; ++v) {
        auto &a = adj[v];
        std::sort(a.begin(), a.end());
        a.erase(std::unique(a.begin(), a.end()), a.end());
        for (int u : a) {
            g.target.push_back(u);
            g.weight.push_back(1 + (std::min(u, v) * 31 + std::max(u, v) * 17) % 20);
        }
        g.offset.push_back(int(g.target.size()));
    }
    return g;
}

int *upload(const std::vector<int> &v)
{
    int *d;
    must(cudaMalloc(&d, v.size() * sizeof(int)));
    must(cudaMemcpy(d, v.data(), v.size() * sizeof(int), cudaMemcpyHostToDevice));
    return d;
}

std::vector<int> download(const int *d, int n)
{
    std::vector<int> v(n);
    must(cudaMemcpy(v.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost));
    return v;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 20000;
    const int rounds = 4;
    Graph g = makeGraph(n);
    GpuGraph d{n, upload(g.offset), upload(g.target), upload(g.weight)};
    const int block = 256, grid = (n + block - 1) / block;

    std::vector<int> dist(n, kInf), ids(n);
    dist[0] = 0;
    std::iota(ids.begin(), ids.end(), 0);
    int *a = upload(dist), *b = upload(dist), *changed = upload({0});
    for (int r = 0; r < rounds; ++r) {
        pullRelax<<<grid, block>>>(d, a, b, changed);
        std::swap(a, b);
    }
    int *parent = upload(ids), *sizes = upload(std::vector<int>(n, 0)), *degree = upload(std::vector<int>(n, 0));
    ccHook<<<grid, block>>>(d, parent);
    ccFlatten<<<grid, block>>>(n, parent, sizes);
    unsigned long long *dTotal, total;
    must(cudaMalloc(&dTotal, sizeof total));
    must(cudaMemset(dTotal, 0, sizeof total));
    triangles<<<(n * 32 + 127) / 128, 128>>>(d, dTotal);
    maxNeighbourDegree<<<(n * 8 + 127) / 128, 128>>>(d, degree);
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(&total, dTotal, sizeof total, cudaMemcpyDeviceToHost));

    bool ok = true;
    int changes = 0;
    for (int r = 0; r < rounds; ++r) {
        std::vector<int> next = dist;
        for (int v = 0; v < n; ++v) {
            for (int e = g.offset[v]; e < g.offset[v + 1]; ++e)
                next[v] = std::min(next[v], dist[g.target[e]] + g.weight[e]);
            changes += next[v] != dist[v];
        }
        dist = next;
    }
    ok &= download(a, n) == dist && download(changed, 1)[0] == changes;
    std::printf("relax %s\n", ok ? "agrees" : "differs");

    std::vector<int> label(n, -1), count(n, 0);
    for (int v = 0; v < n; ++v) {
        if (label[v] >= 0) continue;
        std::queue<int> todo;
        todo.push(v);
        label[v] = v;
        while (!todo.empty()) {
            int u = todo.front();
            todo.pop();
            ++count[v];
            for (int e = g.offset[u]; e < g.offset[u + 1]; ++e)
                if (label[g.target[e]] < 0) { label[g.target[e]] = v; todo.push(g.target[e]); }
        }
    }
    ok &= download(parent, n) == label && download(sizes, n) == count;

    unsigned long long want = 0;
    std::vector<int> deg(n, 0);
    for (int v = 0; v < n; ++v)
        for (int e = g.offset[v]; e < g.offset[v + 1]; ++e) {
            int u = g.target[e];
            deg[v] = std::max(deg[v], g.offset[u + 1] - g.offset[u]);
            if (u <= v) continue;
            for (int f = e + 1; f < g.offset[v + 1]; ++f)
                want += std::binary_search(g.target.begin() + g.offset[u], g.target.begin() + g.offset[u + 1], g.target[f]);
        }
    ok &= total == want && download(degree, n) == deg;
    std::printf("%llu triangles, expected %llu\n%s\n", total, want, ok ? "OK" : "FAIL");
    return ok ? 0 : 1;
}
