// graph_rank_triangles.cu
// Undirected graph in CSR: one PageRank sweep two ways, triangle counting, one round of label spreading.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <set>
#include <vector>

#define SAFE(call)                                                              \
    {                                                                           \
        const cudaError_t status = call;                                        \
        if (status != cudaSuccess) {                                            \
            printf("CUDA: %s (line %d)\n", cudaGetErrorString(status), __LINE__); \
            exit(EXIT_FAILURE);                                                 \
        }                                                                       \
    }

using vid_t = int32_t;

struct Graph {
    vid_t n;
    std::vector<vid_t> off, dst, src;   // src is the expanded row of every edge
};

struct GraphView {
    vid_t n;
    int64_t m;
    const vid_t* __restrict__ off;
    const vid_t* __restrict__ dst;
    const vid_t* __restrict__ src;
};

__global__ void contribution(GraphView g, const float* __restrict__ rank, float* __restrict__ contrib) {
    const vid_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < g.n) {
        const vid_t deg = g.off[v + 1] - g.off[v];
        contrib[v] = deg ? __fdividef(rank[v], (float)deg) : 0.0f;
    }
}

// one vertex a thread
__global__ void pullThread(GraphView g, const float* __restrict__ contrib, float* __restrict__ next, float damp) {
    const vid_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= g.n) return;
    float s = 0.0f;
    for (vid_t e = g.off[v], end = g.off[v + 1]; e != end; ++e) s += contrib[g.dst[e]];
    next[v] = (1.0f - damp) / g.n + damp * s;
}

// G lanes share a vertex
template <int G>
__global__ void pullGroup(GraphView g, const float* __restrict__ contrib, float* __restrict__ next, float damp) {
    const int tid = blockIdx.x * blockDim.x + threadIdx.x;
    const vid_t v = tid / G;
    const int sub = tid % G;
    float s = 0.0f;
    if (v < g.n)
        for (vid_t e = g.off[v] + sub; e < g.off[v + 1]; e += G) s += contrib[g.dst[e]];
    for (int o = G / 2; o; o /= 2) s += __shfl_down_sync(0xffffffff, s, o, G);
    if (v < g.n && sub == 0) next[v] = (1.0f - damp) / g.n + damp * s;
}

// one edge a thread, merge of two sorted lists; u < v < w so that a triangle counts once
__global__ void triangles(GraphView g, unsigned long long* total) {
    unsigned count = 0;
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < g.m; e += (int64_t)gridDim.x * blockDim.x) {
        const vid_t u = g.src[e], v = g.dst[e];
        if (u >= v) continue;
        vid_t i = g.off[u], iEnd = g.off[u + 1], j = g.off[v], jEnd = g.off[v + 1];
        while (i < iEnd && j < jEnd) {
            const vid_t a = g.dst[i], b = g.dst[j];
            if (a == b && a > v) ++count;
            i += a <= b;
            j += b <= a;
        }
    }
    count = __reduce_add_sync(0xffffffffu, count);
    if ((threadIdx.x & 31) == 0 && count) atomicAdd(total, (unsigned long long)count);
}

// label[] starts as the vertex id hashed; a vertex takes the least label in its neighbourhood
__global__ void spreadLabels(GraphView g, const uint32_t* __restrict__ labelIn, uint32_t* labelOut) {
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < g.m; e += (int64_t)gridDim.x * blockDim.x) {
        const uint32_t mine = labelIn[g.src[e]], theirs = labelIn[g.dst[e]];
        if (theirs < mine) atomicMin(&labelOut[g.src[e]], theirs);
    }
}

static Graph make(vid_t n, int perVertex) {
    uint64_t s = 88172645463325252ull;
    auto next = [&s]() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; };
    std::vector<std::set<vid_t>> adj(n);
    for (vid_t u = 0; u < n; ++u)
        for (int k = 0; k < perVertex; ++k) {
            vid_t v;
            switch (next() % 3) {
                case 0: v = (vid_t)(next() % n); break;
                case 1: v = (vid_t)((u + 1 + next() % 20) % n); break;
                default: v = (vid_t)(next() % 64 * (next() % 16)); break;   // hubs
            }
            if (v != u) { adj[u].insert(v); adj[v].insert(u); }
        }
    Graph g;
    g.n = n;
    g.off.push_back(0);
    for (vid_t u = 0; u < n; ++u) {
        for (vid_t v : adj[u]) { g.dst.push_back(v); g.src.push_back(u); }
        g.off.push_back((vid_t)g.dst.size());
    }
    return g;
}

template <typename T> T* upload(const std::vector<T>& v) {
    T* d;
    SAFE(cudaMalloc((void**)&d, v.size() * sizeof(T)));
    SAFE(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <typename T> std::vector<T> download(const T* d, size_t n) {
    std::vector<T> v(n);
    SAFE(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

int main(int argc, char* argv[]) {
    const vid_t n = argc > 1 ? atoi(argv[1]) : 12000;
    const Graph G = make(n, 6);
    std::vector<float> rank(n);
    std::vector<uint32_t> label(n);
    for (vid_t v = 0; v < n; ++v) { rank[v] = (1.0f + v % 7) / (4.0f * n); label[v] = (uint32_t)v * 2654435769u; }

    GraphView g{G.n, (int64_t)G.dst.size(), upload(G.off), upload(G.dst), upload(G.src)};
    float *dRank = upload(rank), *dContrib = upload(rank), *dA = upload(rank), *dB = upload(rank);
    uint32_t *dLabel = upload(label), *dLabelOut = upload(label);
    unsigned long long* dTotal = upload(std::vector<unsigned long long>{0ull});

    const int tpb = 256;
    auto grid = [tpb](int64_t work) { return (unsigned)((work + tpb - 1) / tpb); };
    const float damp = 0.85f;
    contribution<<<grid(n), tpb>>>(g, dRank, dContrib);
    pullThread<<<grid(n), tpb>>>(g, dContrib, dA, damp);
    pullGroup<8><<<grid((int64_t)n * 8), tpb>>>(g, dContrib, dB, damp);
    triangles<<<grid(g.m), tpb>>>(g, dTotal);
    spreadLabels<<<grid(g.m / 4), tpb>>>(g, dLabel, dLabelOut);
    SAFE(cudaGetLastError());
    SAFE(cudaDeviceSynchronize());

    const auto a = download(dA, n), b = download(dB, n);
    const auto lab = download(dLabelOut, n);
    const unsigned long long tri = download(dTotal, 1)[0];

    int errors = 0;
    unsigned long long want = 0;
    for (vid_t v = 0; v < n; ++v) {
        double s = 0;
        uint32_t best = label[v];
        for (vid_t e = G.off[v]; e < G.off[v + 1]; ++e) {
            const vid_t u = G.dst[e];
            s += (double)rank[u] / (G.off[u + 1] - G.off[u]);
            best = std::min(best, label[u]);
            if (u > v) {
                for (vid_t i = G.off[u]; i < G.off[u + 1]; ++i)
                    if (G.dst[i] > u && std::binary_search(G.dst.begin() + G.off[v], G.dst.begin() + G.off[v + 1], G.dst[i])) ++want;
            }
        }
        const double r = 0.15 / n + 0.85 * s;
        if (std::fabs(r - a[v]) > 1e-4 * r) ++errors;
        if (std::fabs(r - b[v]) > 1e-4 * r) ++errors;
        if (best != lab[v]) ++errors;
    }
    if (tri != want) ++errors;
    printf("edges %zu triangles %llu\n", G.dst.size(), tri);
    if (errors) { printf("%d errors\n", errors); return 1; }
    printf("OK\n");
    return 0;
}
