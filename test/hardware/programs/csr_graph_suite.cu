// Vertex-centric graph kernels on one CSR graph (pull style, so results and access order
// never depend on scheduling): BFS with frontier bitmaps, Bellman-Ford rounds, PageRank
// with a sub-warp per vertex, triangle counting on the oriented graph, label propagation.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

#define CUDA_DO(stmt) do { auto rc = (stmt); if (rc != cudaSuccess) { \
    fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); abort(); } } while (0)

using vid = int32_t;
using eid = int32_t;
constexpr int kInf = 0x3fffffff;

// a tiny span, and a graph of spans that travels to kernels by value
template <class T> struct span {
    T* p; int n;
    __host__ __device__ T& operator[](int i) const { return p[i]; }
    __host__ __device__ int size() const { return n; }
    __host__ __device__ T* begin() const { return p; }
    __host__ __device__ T* end() const { return p + n; }
};
struct Edge { vid to; uint16_t weight; uint16_t kind; };      // 8 bytes; most kernels want only `to`
struct GraphView {
    span<const eid> row;
    span<const Edge> adj;
    __host__ __device__ int order() const { return row.size() - 1; }
    __host__ __device__ span<const Edge> out(vid v) const { return {adj.p + row[v], row[v + 1] - row[v]}; }
};

template <class T> class buffer {
    T* p_ = nullptr; int n_ = 0;
public:
    buffer(int n, T fill) : buffer(std::vector<T>(n, fill)) {}
    explicit buffer(const std::vector<T>& v) : n_(int(v.size())) {
        CUDA_DO(cudaMalloc(&p_, v.size() * sizeof(T)));
        CUDA_DO(cudaMemcpy(p_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    buffer(const buffer&) = delete;
    buffer(buffer&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_) {}
    ~buffer() { if (p_) cudaFree(p_); }
    void swap(buffer& o) { std::swap(p_, o.p_); std::swap(n_, o.n_); }
    span<T> view() { return {p_, n_}; }
    span<const T> cview() const { return {p_, n_}; }
    std::vector<T> get() const { std::vector<T> v(n_); CUDA_DO(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
};

// ------------------------------------------------------------------ BFS (bottom-up)
__global__ void bfs_pull(GraphView g, span<const uint32_t> frontier, span<uint32_t> next, span<int> level, int depth) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    bool found = false;
    if (v < g.order() && level[v] < 0) {
        for (const Edge& e : g.out(v))
            if ((frontier[e.to >> 5] >> (e.to & 31)) & 1u) { found = true; break; }
        if (found) level[v] = depth;
    }
    const unsigned m = __ballot_sync(0xffffffffu, found);
    if ((threadIdx.x & 31) == 0 && v < g.order()) next[v >> 5] = m;
}

// ------------------------------------------------------------------ generic pull step
struct MinPlus {                                   // shortest paths
    __host__ __device__ int map(int x, const Edge& e) const { return x + e.weight; }
    __host__ __device__ int reduce(int a, int b) const { return a < b ? a : b; }
};
struct MinLabel {                                  // connected components, only along even kinds
    __host__ __device__ int map(int x, const Edge& e) const { return (e.kind & 1) ? kInf : x; }
    __host__ __device__ int reduce(int a, int b) const { return a < b ? a : b; }
};
template <class Op>
__global__ void __launch_bounds__(128) pull_step(GraphView g, span<const int> in, span<int> out, Op op) {
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < g.order(); v += gridDim.x * blockDim.x) {
        int best = in[v];
        for (const Edge& e : g.out(v)) best = op.reduce(best, op.map(in[e.to], e));
        out[v] = best;
    }
}

// ------------------------------------------------------------------ PageRank
template <int LANES>
__global__ void pagerank_pull(GraphView g, span<const float> rank, span<float> out, float damp) {
    auto tile = cg::tiled_partition<LANES>(cg::this_thread_block());
    const int v = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    if (v >= g.order()) return;
    const auto nb = g.out(v);
    float s = 0.f;
    for (int i = tile.thread_rank(); i < nb.size(); i += LANES) {
        const vid u = nb[i].to;
        s += rank[u] / float(g.row[u + 1] - g.row[u]);         // two dependent gathers
    }
    for (int d = LANES / 2; d > 0; d >>= 1) s += tile.shfl_down(s, d);
    if (tile.thread_rank() == 0) out[v] = (1.f - damp) / g.order() + damp * s;
}

// ------------------------------------------------------------------ triangles
__global__ void triangle_merge(span<const eid> row, span<const vid> adj, span<const int2> edges, unsigned long long* total) {
    unsigned long long mine = 0;
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < edges.size()) {
        const int2 uv = edges[e];
        int i = row[uv.x], ie = row[uv.x + 1], j = row[uv.y], je = row[uv.y + 1];
        while (i < ie && j < je) {
            const int a = adj[i], b = adj[j];
            if (a == b) { ++mine; ++i; ++j; }
            else if (a < b) ++i;
            else ++j;
        }
    }
    for (int d = 16; d > 0; d >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, d);
    if ((threadIdx.x & 31) == 0 && mine) atomicAdd(total, mine);
}

// ------------------------------------------------------------------ degree histogram
template <int BINS>
__global__ void degree_histogram(GraphView g, unsigned* hist) {
    __shared__ unsigned h[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) h[i] = 0;
    __syncthreads();
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < g.order(); v += gridDim.x * blockDim.x) {
        const int d = g.out(v).size();
        const int bin = d == 0 ? 0 : 32 - __clz(d);
        atomicAdd(&h[bin < BINS ? bin : BINS - 1], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) if (h[i]) atomicAdd(&hist[i], h[i]);
}

static bool report(const char* name, bool good) {
    std::printf("  %-12s %s\n", name, good ? "ok" : "WRONG");
    return good;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::max(100, std::atoi(argv[1])) : 20011;
    const int m = 8 * n;

    // skewed random graph, undirected, no loops, no multi-edges
    uint64_t s = 0x123456789abcdefull;
    auto rnd = [&s] { s = s * 6364136223846793005ull + 1442695040888963407ull; return uint32_t(s >> 33); };
    auto skew = [&] { double u = rnd() / 2147483648.0; return vid(std::min<double>(n - 1, n * u * u * u)); };
    std::vector<std::pair<vid, vid>> und;
    for (int i = 0; i < m; ++i) {
        vid a = (skew() * 7919ll + 13) % n, b = vid(rnd() % n);
        if (a != b) { und.push_back({a, b}); und.push_back({b, a}); }
    }
    std::sort(und.begin(), und.end());
    und.erase(std::unique(und.begin(), und.end()), und.end());
    std::vector<eid> row(n + 1, 0); std::vector<Edge> adj;
    for (auto [a, b] : und) {
        row[a + 1]++;
        uint32_t h = (std::min(a, b) * 2654435761u) ^ (std::max(a, b) * 40503u);
        adj.push_back({b, uint16_t(1 + h % 97), uint16_t((h >> 9) & 7)});
    }
    std::partial_sum(row.begin(), row.end(), row.begin());

    buffer<eid> d_row(row); buffer<Edge> d_adj(adj);
    const GraphView g{d_row.cview(), d_adj.cview()};
    const GraphView hg{{row.data(), n + 1}, {adj.data(), int(adj.size())}};
    const int B = 192, G = (n + B - 1) / B, words = (n + 31) / 32, rounds = 2;
    bool ok = true;
    std::printf("n=%d arcs=%d\n", n, int(adj.size()));

    {   // BFS, three levels
        const vid root = und[0].first;
        std::vector<int> lev(n, -1); lev[root] = 0;
        std::vector<uint32_t> f0(words, 0); f0[root >> 5] |= 1u << (root & 31);
        buffer<int> d_lev(lev); buffer<uint32_t> cur(f0), nxt(words, 0u);
        for (int d = 1; d <= 3; ++d) {
            bfs_pull<<<G, B>>>(g, cur.cview(), nxt.view(), d_lev.view(), d);
            CUDA_DO(cudaGetLastError());
            cur.swap(nxt);
        }
        for (int d = 1; d <= 3; ++d)
            for (int v = 0; v < n; ++v) if (lev[v] == d - 1) for (const Edge& e : hg.out(v)) if (lev[e.to] < 0) lev[e.to] = d;
        ok &= report("bfs", d_lev.get() == lev);
    }
    {   // SSSP and label propagation share pull_step
        std::vector<int> dist(n, kInf), lab(n), tmp(n);
        for (int i = 0; i < n; i += 611) dist[i] = 0;
        for (int i = 0; i < n; ++i) lab[i] = int((i * 48271ll) % n);
        buffer<int> da(dist), db(n, 0), la(lab), lb(n, 0);
        for (int r = 0; r < rounds; ++r) {
            pull_step<<<60, 128>>>(g, da.cview(), db.view(), MinPlus{}); da.swap(db);
            pull_step<<<(n + 127) / 128, 128>>>(g, la.cview(), lb.view(), MinLabel{}); la.swap(lb);
            CUDA_DO(cudaGetLastError());
        }
        auto host = [&](std::vector<int>& x, auto op) {
            for (int r = 0; r < rounds; ++r) {
                for (int v = 0; v < n; ++v) {
                    int b = x[v];
                    for (const Edge& e : hg.out(v)) { int c = op.map(x[e.to], e); b = c < b ? c : b; }
                    tmp[v] = b;
                }
                x.swap(tmp);
            }
        };
        host(dist, MinPlus{}); host(lab, MinLabel{});
        ok &= report("sssp", da.get() == dist);
        ok &= report("labels", la.get() == lab);
    }
    {   // PageRank
        std::vector<float> r0(n, 1.f / n);
        buffer<float> ra(r0), rb(n, 0.f);
        std::vector<double> x(n, 1.0 / n), y(n);
        for (int r = 0; r < rounds; ++r) {
            pagerank_pull<8><<<(n * 8 + 255) / 256, 256>>>(g, ra.cview(), rb.view(), 0.85f);
            CUDA_DO(cudaGetLastError());
            ra.swap(rb);
            for (int v = 0; v < n; ++v) {
                double a = 0;
                for (const Edge& e : hg.out(v)) a += x[e.to] / (row[e.to + 1] - row[e.to]);
                y[v] = 0.15 / n + 0.85 * a;
            }
            x.swap(y);
        }
        auto got = ra.get(); bool good = true;
        for (int v = 0; v < n; ++v) good &= std::fabs(got[v] - x[v]) <= 1e-4 * x[v] + 1e-9;
        ok &= report("pagerank", good);
    }
    {   // triangles: orient every edge from lower to higher (degree, id)
        auto deg = [&](vid v) { return row[v + 1] - row[v]; };
        std::vector<eid> orow(n + 1, 0); std::vector<vid> oadj; std::vector<int2> edges;
        for (vid v = 0; v < n; ++v) {
            for (const Edge& e : hg.out(v))
                if (std::make_pair(deg(v), v) < std::make_pair(deg(e.to), e.to)) { oadj.push_back(e.to); edges.push_back(make_int2(v, e.to)); }
            orow[v + 1] = int(oadj.size());
        }
        buffer<eid> dr(orow); buffer<vid> da(oadj); buffer<int2> de(edges); buffer<unsigned long long> dt(1, 0ull);
        triangle_merge<<<(int(edges.size()) + 255) / 256, 256>>>(dr.cview(), da.cview(), de.cview(), dt.view().p);
        CUDA_DO(cudaGetLastError());
        std::vector<int> mark(n, -1); unsigned long long want = 0;
        for (vid v = 0; v < n; ++v) {
            for (int i = orow[v]; i < orow[v + 1]; ++i) mark[oadj[i]] = v;
            for (int i = orow[v]; i < orow[v + 1]; ++i) for (int j = orow[oadj[i]]; j < orow[oadj[i] + 1]; ++j) want += mark[oadj[j]] == v;
        }
        std::printf("  %llu triangles\n", want);
        ok &= report("triangles", dt.get()[0] == want);
    }
    {
        constexpr int BINS = 12;
        buffer<unsigned> dh(BINS, 0u);
        degree_histogram<BINS><<<20, 256>>>(g, dh.view().p);
        CUDA_DO(cudaGetLastError());
        std::vector<unsigned> h(BINS, 0);
        for (int v = 0; v < n; ++v) { int d = row[v + 1] - row[v], b = 0; while (d) { ++b; d >>= 1; } h[std::min(b, BINS - 1)]++; }
        ok &= report("degrees", dh.get() == h);
    }
    CUDA_DO(cudaDeviceSynchronize());
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
