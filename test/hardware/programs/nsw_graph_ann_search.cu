// Approximate nearest neighbours on a navigable graph (uint8 descriptors).
//
// The graph is built on the host in the usual way for flat graphs: insert the
// vectors one after the other, connect each to the best results of a beam
// search over what is there already, cap the degree by dropping the farthest
// link.  The device does batched queries: a warp owns a query, keeps a sorted
// beam and a visited hash in shared memory.  All distances are integers, so
// the host and the device must agree exactly.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

namespace ann {

constexpr int kDim = 64;             // bytes
constexpr int kWords = kDim / 4;
constexpr int kDegree = 16;
constexpr int kBeam = 32;
constexpr int kHash = 1024;          // visited table slots per query
constexpr int kMaxSteps = 40;
constexpr std::uint64_t kNone = ~std::uint64_t(0);

inline void ok(cudaError_t e, int line)
{
    if (e != cudaSuccess) throw std::runtime_error("line " + std::to_string(line) + ": " + cudaGetErrorString(e));
}
#define OK(e) ::ann::ok((e), __LINE__)

template <typename T>
struct device_vector {
    explicit device_vector(std::size_t n) : size(n) { OK(cudaMalloc(&data, n * sizeof(T))); }
    explicit device_vector(const std::vector<T>& v) : device_vector(v.size()) { OK(cudaMemcpy(data, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    ~device_vector() { cudaFree(data); }
    device_vector(const device_vector&) = delete;
    std::vector<T> copy() const { std::vector<T> v(size); OK(cudaMemcpy(v.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
    T* data = nullptr;
    std::size_t size = 0;
};

using Key = std::uint64_t;           // distance << 32 | id; the order breaks ties by id
__host__ __device__ constexpr Key makeKey(std::uint32_t d, std::uint32_t id) { return (Key(d) << 32) | id; }

inline std::uint32_t l2(const std::uint8_t* a, const std::uint8_t* b)
{
    int s = 0;
    for (int i = 0; i < kDim; ++i) { int d = int(a[i]) - int(b[i]); s += d * d; }
    return std::uint32_t(s);
}

__device__ __forceinline__ unsigned l2word(unsigned a, unsigned b, unsigned acc)
{
    unsigned s = acc;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        int d = int((a >> (8 * k)) & 255u) - int((b >> (8 * k)) & 255u);
        s += unsigned(d * d);
    }
    return s;
}

// ---------------------------------------------------------------- exact search
// One thread a query over the whole base; byte loads, as first written.
__global__ void exactBytes(int n, int nq, const std::uint8_t* base, const std::uint8_t* query, Key* best)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= nq) return;
    Key b = kNone;
    for (int i = 0; i < n; ++i) {
        int s = 0;
        for (int d = 0; d < kDim; ++d) {
            int e = int(query[q * kDim + d]) - int(base[i * kDim + d]);
            s += e * e;
        }
        Key k = makeKey(unsigned(s), unsigned(i));
        if (k < b) b = k;
    }
    best[q] = b;
}

// A block a query, vectors of 16 bytes, the identity |a-b|^2 = |a|^2 + |b|^2 - 2ab with dp4a
__global__ void squaredNorms(int n, const unsigned* base, unsigned* norms)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned s = 0;
    for (int w = 0; w < kWords; ++w) s = __dp4a(base[i * kWords + w], base[i * kWords + w], s);
    norms[i] = s;
}

__global__ void __launch_bounds__(128) exactBlock(int n, const uint4* __restrict__ base, const unsigned* __restrict__ norms,
                                                  const uint4* __restrict__ query, Key* best)
{
    __shared__ uint4 qv[kWords / 4];
    __shared__ Key part[4];
    if (threadIdx.x < kWords / 4) qv[threadIdx.x] = query[blockIdx.x * (kWords / 4) + threadIdx.x];
    __syncthreads();
    unsigned qn = 0;
    for (int w = 0; w < kWords / 4; ++w) {
        uint4 v = qv[w];
        qn = __dp4a(v.x, v.x, __dp4a(v.y, v.y, __dp4a(v.z, v.z, __dp4a(v.w, v.w, qn))));
    }
    Key b = kNone;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned dot = 0;
#pragma unroll
        for (int w = 0; w < kWords / 4; ++w) {
            uint4 v = base[i * (kWords / 4) + w], u = qv[w];
            dot = __dp4a(v.x, u.x, __dp4a(v.y, u.y, __dp4a(v.z, u.z, __dp4a(v.w, u.w, dot))));
        }
        Key k = makeKey(qn + norms[i] - 2u * dot, unsigned(i));
        b = k < b ? k : b;
    }
    for (int o = 16; o; o >>= 1) {
        Key k = __shfl_xor_sync(0xffffffffu, b, o);
        b = k < b ? k : b;
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = b;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 4; ++w) b = part[w] < b ? part[w] : b;
        best[blockIdx.x] = b;
    }
}

// ---------------------------------------------------------------- graph search
struct Scratch {                       // per warp, in dynamic shared memory
    Key beam[kBeam];
    Key fresh[kDegree];
    int hash[kHash];
    unsigned expanded;                 // bit i: beam[i] has been expanded
};

// Vector loads of a candidate are spread over `Lanes` lanes.
template <int Lanes>
__global__ void graphSearch(int nq, int entry, const unsigned* __restrict__ base, const int* __restrict__ graph,
                            const unsigned* __restrict__ query, Key* __restrict__ out, int* __restrict__ stepsOut)
{
    extern __shared__ __align__(16) unsigned char raw[];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto& s = reinterpret_cast<Scratch*>(raw)[warp.meta_group_rank()];
    const int q = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(), lane = warp.thread_rank();
    if (q >= nq) return;
    constexpr int kPer = kWords / Lanes;          // words of a vector per lane
    const int sub = lane / Lanes, part = lane % Lanes;
    unsigned mine[kPer];
    for (int w = 0; w < kPer; ++w) mine[w] = query[q * kWords + part + Lanes * w];
    for (int i = lane; i < kHash; i += 32) s.hash[i] = -1;
    for (int i = lane; i < kBeam; i += 32) s.beam[i] = kNone;
    if (lane == 0) s.expanded = 0;
    warp.sync();

    auto distance = [&](int id) {                 // lanes of a group call it together
        unsigned d = 0;
        for (int w = 0; w < kPer; ++w) d = l2word(mine[w], base[id * kWords + part + Lanes * w], d);
        for (int o = Lanes / 2; o; o >>= 1) d += warp.shfl_xor(d, o);
        return d;
    };
    {
        unsigned d = distance(entry);
        if (lane == 0) { s.beam[0] = makeKey(d, entry); s.hash[entry % kHash] = entry; }
    }
    warp.sync();

    int steps = 0;
    for (; steps < kMaxSteps; ++steps) {
        // nearest beam entry that has not been expanded
        bool open = s.beam[lane] != kNone && !((s.expanded >> lane) & 1u);
        unsigned ballot = warp.ballot(open);
        if (!ballot) break;
        int pick = __ffs(ballot) - 1;
        int node = int(unsigned(s.beam[pick]));
        warp.sync();
        if (lane == 0) s.expanded |= 1u << pick;
        // filter the neighbours through the visited table (lossless: linear probing)
        if (lane < kDegree) {
            int nb = graph[node * kDegree + lane];
            Key k = kNone;
            if (nb >= 0) {
                int h = nb % kHash;
                for (;;) {
                    int old = atomicCAS(&s.hash[h], -1, nb);
                    if (old == -1) { k = makeKey(0, unsigned(nb)); break; }
                    if (old == nb) break;
                    h = (h + 1) % kHash;
                }
            }
            s.fresh[lane] = k;
        }
        warp.sync();
        for (int c = 0; c < kDegree; c += 32 / Lanes) {
            Key k = s.fresh[c + sub];
            int id = k == kNone ? node : int(unsigned(k));
            unsigned d = distance(id);
            if (part == 0 && k != kNone) s.fresh[c + sub] = makeKey(d, unsigned(id));
            warp.sync();
        }
        // merge: rank every key among beam (sorted) + fresh, 48 keys for 32 lanes
        Key a = s.beam[lane], b = lane < kDegree ? s.fresh[lane] : kNone;
        bool ea = (s.expanded >> lane) & 1u;
        int ra = lane, rb = 0;
        for (int i = 0; i < kDegree; ++i) { Key f = s.fresh[i]; ra += f < a; rb += f < b; }
        for (int i = 0; i < kBeam; ++i) rb += s.beam[i] < b;
        unsigned bits = (ea && a != kNone && ra < kBeam) ? 1u << ra : 0u;
        for (int o = 16; o; o >>= 1) bits |= warp.shfl_xor(bits, o);
        warp.sync();
        s.beam[lane] = kNone;
        warp.sync();
        if (a != kNone && ra < kBeam) s.beam[ra] = a;
        if (b != kNone && rb < kBeam) s.beam[rb] = b;
        if (lane == 0) s.expanded = bits;
        warp.sync();
    }
    if (lane < 10) out[q * 10 + lane] = s.beam[lane];
    if (lane == 0) stepsOut[q] = steps;
}

// ---------------------------------------------------------------- host graph
struct Graph {
    std::vector<int> links;            // kDegree per node, -1 padded
    std::vector<int> degree;
    int entry = 0;
};

std::vector<Key> hostSearch(const std::uint8_t* q, const std::vector<std::uint8_t>& base, const Graph& g, int beamWidth, int* stepsOut = nullptr)
{
    std::vector<std::pair<Key, bool>> beam{{makeKey(l2(q, &base[std::size_t(g.entry) * kDim]), unsigned(g.entry)), false}};
    static std::vector<int> stamp;
    static int now = 0;
    stamp.resize(base.size() / kDim, 0);
    stamp[g.entry] = ++now;
    int steps = 0;
    for (; steps < kMaxSteps; ++steps) {
        auto it = std::find_if(beam.begin(), beam.end(), [](auto& b) { return !b.second; });
        if (it == beam.end()) break;
        it->second = true;
        int node = int(unsigned(it->first));
        for (int k = 0; k < g.degree[node]; ++k) {
            int nb = g.links[std::size_t(node) * kDegree + k];
            if (stamp[nb] == now) continue;
            stamp[nb] = now;
            beam.push_back({makeKey(l2(q, &base[std::size_t(nb) * kDim]), unsigned(nb)), false});
        }
        std::sort(beam.begin(), beam.end());
        if (int(beam.size()) > beamWidth) beam.resize(beamWidth);
    }
    if (stepsOut) *stepsOut = steps;
    std::vector<Key> r;
    for (auto& b : beam) r.push_back(b.first);
    return r;
}

Graph build(const std::vector<std::uint8_t>& base)
{
    const int n = int(base.size() / kDim);
    Graph g;
    g.links.assign(std::size_t(n) * kDegree, -1);
    g.degree.assign(n, 0);
    auto vec = [&](int i) { return &base[std::size_t(i) * kDim]; };
    auto link = [&](int from, int to) {
        int* l = &g.links[std::size_t(from) * kDegree];
        if (g.degree[from] < kDegree) { l[g.degree[from]++] = to; return; }
        int far = 0;
        std::uint32_t fd = 0, nd = l2(vec(from), vec(to));
        for (int k = 1; k < kDegree; ++k) {        // slot 0 is kept, it holds the way back
            std::uint32_t d = l2(vec(from), vec(l[k]));
            if (d > fd) { fd = d; far = k; }
        }
        if (nd < fd) l[far] = to;
    };
    for (int i = 1; i < n; ++i) {
        auto near = hostSearch(vec(i), base, g, 12);
        for (int k = 0; k < std::min<int>(8, int(near.size())); ++k) {
            int j = int(unsigned(near[k]));
            link(i, j);
            link(j, i);
        }
    }
    return g;
}

} // namespace ann

int main(int argc, char** argv)
try {
    using namespace ann;
    const int n = argc > 1 ? std::atoi(argv[1]) : 4000, nq = argc > 2 ? std::atoi(argv[2]) : 200;
    std::mt19937 rng(8);
    std::normal_distribution<double> noise(0.0, 14.0);
    std::uniform_int_distribution<int> byte(40, 215);
    std::vector<std::uint8_t> centres(30 * kDim), base(std::size_t(n) * kDim), query(std::size_t(nq) * kDim);
    for (auto& c : centres) c = std::uint8_t(byte(rng));
    auto fill = [&](std::vector<std::uint8_t>& v) {
        for (std::size_t i = 0; i < v.size() / kDim; ++i) {
            int c = int(rng() % 30), o = int(rng() % 30);         // between two centres, so that the graph connects
            double t = (rng() % 1000) / 1000.0;
            for (int d = 0; d < kDim; ++d) {
                double x = centres[c * kDim + d] * (1 - t) + centres[o * kDim + d] * t + noise(rng);
                v[i * kDim + d] = std::uint8_t(std::min(255.0, std::max(0.0, x)));
            }
        }
    };
    fill(base);
    fill(query);
    auto t0 = std::chrono::steady_clock::now();
    Graph g = build(base);
    std::printf("graph of %d nodes built in %.0f ms\n", n, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());

    device_vector<std::uint8_t> db(base), dq(query);
    device_vector<int> dg(g.links), steps(nq);
    device_vector<unsigned> norms(n);
    device_vector<Key> best(nq), top(std::size_t(nq) * 10);
    auto words = [](device_vector<std::uint8_t>& v) { return reinterpret_cast<const unsigned*>(v.data); };
    auto quads = [](device_vector<std::uint8_t>& v) { return reinterpret_cast<const uint4*>(v.data); };

    exactBytes<<<(nq + 63) / 64, 64>>>(n, nq, db.data, dq.data, best.data);
    OK(cudaGetLastError());
    auto exact1 = best.copy();
    squaredNorms<<<(n + 255) / 256, 256>>>(n, words(db), norms.data);
    exactBlock<<<nq, 128>>>(n, quads(db), norms.data, quads(dq), best.data);
    OK(cudaGetLastError());
    auto exact2 = best.copy();

    std::vector<Key> want(std::size_t(nq) * 10, kNone), truth(nq, kNone);
    std::vector<int> wantSteps(nq);
    for (int q = 0; q < nq; ++q) {
        auto r = hostSearch(&query[std::size_t(q) * kDim], base, g, kBeam, &wantSteps[q]);
        for (std::size_t k = 0; k < r.size() && k < 10; ++k) want[std::size_t(q) * 10 + k] = r[k];
        if (q % 4 == 0)
            for (int i = 0; i < n; ++i) truth[q] = std::min(truth[q], makeKey(l2(&query[std::size_t(q) * kDim], &base[std::size_t(i) * kDim]), unsigned(i)));
    }
    bool good = exact1 == exact2;
    for (int q = 0; q < nq; q += 4) good &= truth[q] == exact1[q];
    std::printf("exact search: %s\n", good ? "agrees" : "DIFFERS");

    const std::size_t smem = 4 * sizeof(Scratch);
    for (int lanes : {4, 8, 16}) {
        OK(cudaMemset(top.data, 0, top.size * sizeof(Key)));
        int blocks = (nq + 3) / 4;
        switch (lanes) {
        case 4:  graphSearch<4><<<blocks, 128, smem>>>(nq, g.entry, words(db), dg.data, words(dq), top.data, steps.data); break;
        case 8:  graphSearch<8><<<blocks, 128, smem>>>(nq, g.entry, words(db), dg.data, words(dq), top.data, steps.data); break;
        default: graphSearch<16><<<blocks, 128, smem>>>(nq, g.entry, words(db), dg.data, words(dq), top.data, steps.data); break;
        }
        OK(cudaGetLastError());
        auto got = top.copy();
        int hits = 0;
        for (int q = 0; q < nq; ++q) hits += got[std::size_t(q) * 10] == exact1[q];
        bool same = got == want && steps.copy() == wantSteps;
        std::printf("graph search, %2d lanes a vector: recall@1 %.3f, %s\n", lanes, double(hits) / nq, same ? "as the host" : "NOT as the host");
        good &= same && hits > nq / 3;
    }
    std::puts(good ? "PASS" : "FAIL");
    return good ? 0 : 1;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::puts("FAIL");
    return 3;
}
