// Airfoil-like 2D Euler solver on an unstructured quad mesh, with a tiny
// "parallel loop" layer: user kernels are function objects, the execution
// plan (partition -> blocks -> colours) is made on the host.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>
#include <cuda_runtime.h>

using real = float;
static constexpr real kGam = 1.4f, kGm1 = 0.4f, kCfl = 0.5f, kEps = 0.05f;

static void gpu(cudaError_t e)
{
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <class T>
class Dat {                                   // host and device copy of one data set
public:
    Dat(std::vector<T> h) : host_(std::move(h))
    {
        T* p = nullptr;
        gpu(cudaMalloc(&p, host_.size() * sizeof(T)));
        dev_.reset(p, [](T* q) { cudaFree(q); });
        push();
    }
    void push() { gpu(cudaMemcpy(dev_.get(), host_.data(), host_.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    void pull() { gpu(cudaMemcpy(host_.data(), dev_.get(), host_.size() * sizeof(T), cudaMemcpyDeviceToHost)); }
    T* dev() const { return dev_.get(); }
    std::vector<T>& host() { return host_; }
    std::size_t size() const { return host_.size(); }
private:
    std::vector<T> host_;
    std::shared_ptr<T> dev_;
};

// ------------------------------------------------------------------ user kernels
struct AdtCalc {                              // over cells
    const real* x; const int* cell2node; const real* q; real* adt;
    __host__ __device__ void operator()(int c) const
    {
        real ri = 1.f / q[4 * c], u = ri * q[4 * c + 1], v = ri * q[4 * c + 2];
        real p = kGm1 * (q[4 * c + 3] - 0.5f * q[4 * c] * (u * u + v * v));
        real a = sqrtf(kGam * p * ri), s = 0.f;
        for (int k = 0; k < 4; ++k) {
            int n0 = cell2node[4 * c + k], n1 = cell2node[4 * c + (k + 1) % 4];
            real dx = x[2 * n1] - x[2 * n0], dy = x[2 * n1 + 1] - x[2 * n0 + 1];
            s += fabsf(u * dy - v * dx) + a * sqrtf(dx * dx + dy * dy);
        }
        adt[c] = s / kCfl;
    }
};

struct Flux { real f[4]; };

__host__ __device__ inline Flux edgeFlux(const real* xa, const real* xb, const real* q1, const real* q2, real adt1, real adt2)
{
    real dx = xa[0] - xb[0], dy = xa[1] - xb[1];
    real ri = 1.f / q1[0];
    real p1 = kGm1 * (q1[3] - 0.5f * ri * (q1[1] * q1[1] + q1[2] * q1[2])), vol1 = ri * (q1[1] * dy - q1[2] * dx);
    ri = 1.f / q2[0];
    real p2 = kGm1 * (q2[3] - 0.5f * ri * (q2[1] * q2[1] + q2[2] * q2[2])), vol2 = ri * (q2[1] * dy - q2[2] * dx);
    real mu = 0.5f * (adt1 + adt2) * kEps;
    Flux r;
    r.f[0] = 0.5f * (vol1 * q1[0] + vol2 * q2[0]) + mu * (q1[0] - q2[0]);
    r.f[1] = 0.5f * (vol1 * q1[1] + p1 * dy + vol2 * q2[1] + p2 * dy) + mu * (q1[1] - q2[1]);
    r.f[2] = 0.5f * (vol1 * q1[2] - p1 * dx + vol2 * q2[2] - p2 * dx) + mu * (q1[2] - q2[2]);
    r.f[3] = 0.5f * (vol1 * (q1[3] + p1) + vol2 * (q2[3] + p2)) + mu * (q1[3] - q2[3]);
    return r;
}

struct Update {                               // over cells
    const real* qold; real* q; real* res; const real* adt;
    __host__ __device__ real operator()(int c) const
    {
        real rms = 0.f, a = 1.f / adt[c];
        for (int k = 0; k < 4; ++k) {
            real del = a * res[4 * c + k];
            q[4 * c + k] = qold[4 * c + k] - del;
            res[4 * c + k] = 0.f;
            rms += del * del;
        }
        return rms;
    }
};

// ------------------------------------------------------------------ loops
template <class K>
__global__ void loopDirect(int n, K kernel)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) kernel(i);
}

template <class K>
__global__ void loopReduce(int n, K kernel, real* total)
{
    extern __shared__ real red[];
    real s = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += kernel(i);
    red[threadIdx.x] = s;
    for (int h = blockDim.x / 2; h > 0; h /= 2) {
        __syncthreads();
        if (threadIdx.x < h) red[threadIdx.x] += red[threadIdx.x + h];
    }
    if (threadIdx.x == 0) atomicAdd(total, red[0]);
}

struct EdgeSet {                              // raw views for the edge loops
    const real *x, *q, *adt;
    const int *edge2node, *edge2cell;
    real* res;
};

__global__ void resAtomic(int edges, EdgeSet s)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int c1 = s.edge2cell[2 * e], c2 = s.edge2cell[2 * e + 1];
    Flux f = edgeFlux(s.x + 2 * s.edge2node[2 * e], s.x + 2 * s.edge2node[2 * e + 1], s.q + 4 * c1, s.q + 4 * c2, s.adt[c1], s.adt[c2]);
    for (int k = 0; k < 4; ++k) {
        atomicAdd(s.res + 4 * c1 + k, f.f[k]);
        atomicAdd(s.res + 4 * c2 + k, -f.f[k]);
    }
}

// edges of one global colour, listed: no two of them share a cell
__global__ void resColour(int first, int count, const int* __restrict__ list, EdgeSet s)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    int e = list[first + t];
    int2 c = reinterpret_cast<const int2*>(s.edge2cell)[e], n = reinterpret_cast<const int2*>(s.edge2node)[e];
    Flux f = edgeFlux(s.x + 2 * n.x, s.x + 2 * n.y, s.q + 4 * c.x, s.q + 4 * c.y, s.adt[c.x], s.adt[c.y]);
    float4* r = reinterpret_cast<float4*>(s.res);
    float4 a = r[c.x], b = r[c.y];
    a.x += f.f[0]; a.y += f.f[1]; a.z += f.f[2]; a.w += f.f[3];
    b.x -= f.f[0]; b.y -= f.f[1]; b.z -= f.f[2]; b.w -= f.f[3];
    r[c.x] = a;
    r[c.y] = b;
}

// a block per part: its cells accumulate in shared memory, cut edges are done on both sides
struct PartPlan { const int *cellPtr, *cells, *edgePtr, *edges, *slot1, *slot2; };

__global__ void __launch_bounds__(128) resParts(PartPlan p, EdgeSet s)
{
    extern __shared__ real acc[];             // 4 x cells, component major
    int b = blockIdx.x, nc = p.cellPtr[b + 1] - p.cellPtr[b];
    for (int t = threadIdx.x; t < 4 * nc; t += blockDim.x) acc[t] = 0.f;
    __syncthreads();
    for (int t = p.edgePtr[b] + threadIdx.x; t < p.edgePtr[b + 1]; t += blockDim.x) {
        int e = p.edges[t], c1 = s.edge2cell[2 * e], c2 = s.edge2cell[2 * e + 1];
        Flux f = edgeFlux(s.x + 2 * s.edge2node[2 * e], s.x + 2 * s.edge2node[2 * e + 1], s.q + 4 * c1, s.q + 4 * c2, s.adt[c1], s.adt[c2]);
        int l1 = p.slot1[t], l2 = p.slot2[t];
        for (int k = 0; k < 4; ++k) {
            if (l1 >= 0) atomicAdd(&acc[k * nc + l1], f.f[k]);
            if (l2 >= 0) atomicAdd(&acc[k * nc + l2], -f.f[k]);
        }
    }
    __syncthreads();
    for (int t = threadIdx.x; t < 4 * nc; t += blockDim.x) s.res[4 * p.cells[p.cellPtr[b] + t / 4] + t % 4] = acc[(t % 4) * nc + t / 4];
}

// ------------------------------------------------------------------ mesh and plans
struct Mesh {
    int nodes = 0, cells = 0, edges = 0;
    std::vector<real> x;
    std::vector<int> cell2node, edge2node, edge2cell;
};

// O-grid around a cylinder-ish body; interior edges only (walls carry no flux here)
static Mesh makeMesh(int ni, int nj, std::mt19937& rng)
{
    Mesh m;
    m.nodes = ni * (nj + 1);
    m.cells = ni * nj;
    std::vector<int> nn(m.nodes), cn(m.cells);
    std::iota(nn.begin(), nn.end(), 0);
    std::iota(cn.begin(), cn.end(), 0);
    std::shuffle(nn.begin(), nn.end(), rng);
    std::shuffle(cn.begin(), cn.end(), rng);
    auto node = [&](int i, int j) { return nn[j * ni + (i + ni) % ni]; };
    auto cell = [&](int i, int j) { return cn[j * ni + (i + ni) % ni]; };
    m.x.resize(2 * m.nodes);
    m.cell2node.resize(4 * m.cells);
    for (int j = 0; j <= nj; ++j)
        for (int i = 0; i < ni; ++i) {
            double r = 1.0 + 3.0 * j / nj, a = 2 * M_PI * i / ni;
            m.x[2 * node(i, j)] = real(r * std::cos(a));
            m.x[2 * node(i, j) + 1] = real(0.6 * r * std::sin(a));
        }
    for (int j = 0; j < nj; ++j)
        for (int i = 0; i < ni; ++i) {
            int* c = &m.cell2node[4 * cell(i, j)];
            c[0] = node(i, j); c[1] = node(i + 1, j); c[2] = node(i + 1, j + 1); c[3] = node(i, j + 1);
            m.edge2node.insert(m.edge2node.end(), {node(i + 1, j), node(i + 1, j + 1)});
            m.edge2cell.insert(m.edge2cell.end(), {cell(i, j), cell(i + 1, j)});
            if (j + 1 < nj) {
                m.edge2node.insert(m.edge2node.end(), {node(i + 1, j + 1), node(i, j + 1)});
                m.edge2cell.insert(m.edge2cell.end(), {cell(i, j), cell(i, j + 1)});
            }
        }
    m.edges = int(m.edge2cell.size() / 2);
    return m;
}

// greedy edge colouring with a bit mask per cell
static std::vector<int> colourEdges(const Mesh& m, std::vector<int>& list)
{
    std::vector<std::uint32_t> used(m.cells, 0);
    std::vector<int> colour(m.edges);
    int colours = 0;
    for (int e = 0; e < m.edges; ++e) {
        std::uint32_t free = ~(used[m.edge2cell[2 * e]] | used[m.edge2cell[2 * e + 1]]);
        int c = 0;
        while (!(free >> c & 1u)) ++c;
        colour[e] = c;
        colours = std::max(colours, c + 1);
        used[m.edge2cell[2 * e]] |= 1u << c;
        used[m.edge2cell[2 * e + 1]] |= 1u << c;
    }
    std::vector<int> ptr(colours + 1, 0);
    for (int c : colour) ++ptr[c + 1];
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    list.resize(m.edges);
    std::vector<int> at(ptr.begin(), ptr.end() - 1);
    for (int e = 0; e < m.edges; ++e) list[at[colour[e]]++] = e;
    return ptr;
}

// recursive coordinate bisection of the cell centres
static void bisect(const Mesh& m, std::vector<int>::iterator a, std::vector<int>::iterator b, int limit, int& part, std::vector<int>& of)
{
    if (b - a <= limit) {
        for (auto i = a; i != b; ++i) of[*i] = part;
        ++part;
        return;
    }
    auto centre = [&](int c, int k) { real s = 0; for (int n = 0; n < 4; ++n) s += m.x[2 * m.cell2node[4 * c + n] + k]; return s; };
    real lo[2] = {1e30f, 1e30f}, hi[2] = {-1e30f, -1e30f};
    for (auto i = a; i != b; ++i) for (int k = 0; k < 2; ++k) { lo[k] = std::min(lo[k], centre(*i, k)); hi[k] = std::max(hi[k], centre(*i, k)); }
    int axis = hi[1] - lo[1] > hi[0] - lo[0];
    auto mid = a + (b - a) / 2;
    std::nth_element(a, mid, b, [&](int p, int q) { return centre(p, axis) < centre(q, axis); });
    bisect(m, a, mid, limit, part, of);
    bisect(m, mid, b, limit, part, of);
}

int main(int argc, char** argv)
try {
    int ni = argc > 1 ? std::atoi(argv[1]) : 160, nj = argc > 2 ? std::atoi(argv[2]) : 60;
    std::mt19937 rng(12);
    Mesh m = makeMesh(ni, nj, rng);

    std::vector<int> list;
    auto colourPtr = colourEdges(m, list);
    std::vector<int> of(m.cells), order(m.cells);
    std::iota(order.begin(), order.end(), 0);
    int parts = 0;
    bisect(m, order.begin(), order.end(), 200, parts, of);
    std::vector<std::vector<int>> pc(parts), pe(parts);
    std::vector<int> slot(m.cells);
    for (int c = 0; c < m.cells; ++c) { slot[c] = int(pc[of[c]].size()); pc[of[c]].push_back(c); }
    for (int e = 0; e < m.edges; ++e) {
        int a = of[m.edge2cell[2 * e]], b = of[m.edge2cell[2 * e + 1]];
        pe[a].push_back(e);
        if (b != a) pe[b].push_back(e);
    }
    std::vector<int> cellPtr{0}, cells, edgePtr{0}, edges, s1, s2;
    std::size_t largest = 0;
    for (int p = 0; p < parts; ++p) {
        cells.insert(cells.end(), pc[p].begin(), pc[p].end());
        cellPtr.push_back(int(cells.size()));
        largest = std::max(largest, pc[p].size());
        for (int e : pe[p]) {
            int c1 = m.edge2cell[2 * e], c2 = m.edge2cell[2 * e + 1];
            edges.push_back(e);
            s1.push_back(of[c1] == p ? slot[c1] : -1);
            s2.push_back(of[c2] == p ? slot[c2] : -1);
        }
        edgePtr.push_back(int(edges.size()));
    }
    std::printf("%d cells, %d edges, %zu colours, %d parts (%zu duplicated edges)\n", m.cells, m.edges, colourPtr.size() - 1, parts, edges.size() - m.edges);

    std::vector<real> q0(4 * m.cells);
    std::uniform_real_distribution<real> u(-0.02f, 0.02f);
    for (int c = 0; c < m.cells; ++c) {
        real r = 1.f + u(rng), vx = 0.4f + u(rng), vy = u(rng), p = 1.f + u(rng);
        q0[4 * c] = r; q0[4 * c + 1] = r * vx; q0[4 * c + 2] = r * vy; q0[4 * c + 3] = p / kGm1 + 0.5f * r * (vx * vx + vy * vy);
    }
    Dat<real> x(m.x), q(q0), qold(q0), res(std::vector<real>(4 * m.cells, 0.f)), adt(std::vector<real>(m.cells, 0.f)), rms(std::vector<real>(3, 0.f));
    Dat<int> c2n(m.cell2node), e2n(m.edge2node), e2c(m.edge2cell), dl(list), dcp(cellPtr), dcl(cells), dep(edgePtr), del(edges), ds1(s1), ds2(s2);

    EdgeSet view{x.dev(), q.dev(), adt.dev(), e2n.dev(), e2c.dev(), res.dev()};
    for (int it = 0; it < 3; ++it) {
        gpu(cudaMemcpy(qold.dev(), q.dev(), 4 * m.cells * sizeof(real), cudaMemcpyDeviceToDevice));
        loopDirect<<<(m.cells + 127) / 128, 128>>>(m.cells, AdtCalc{x.dev(), c2n.dev(), q.dev(), adt.dev()});
        if (it == 0) resAtomic<<<(m.edges + 255) / 256, 256>>>(m.edges, view);
        else if (it == 1)
            for (std::size_t c = 0; c + 1 < colourPtr.size(); ++c) {
                int n = colourPtr[c + 1] - colourPtr[c];
                resColour<<<(n + 127) / 128, 128>>>(colourPtr[c], n, dl.dev(), view);
            }
        else resParts<<<parts, 128, 4 * largest * sizeof(real)>>>(PartPlan{dcp.dev(), dcl.dev(), dep.dev(), del.dev(), ds1.dev(), ds2.dev()}, view);
        loopReduce<<<32, 128, 128 * sizeof(real)>>>(m.cells, Update{qold.dev(), q.dev(), res.dev(), adt.dev()}, rms.dev() + it);
        gpu(cudaGetLastError());
    }

    // reference
    std::vector<real> rq = q0, ro, rres(4 * m.cells, 0.f), radt(m.cells);
    std::array<double, 3> rr{};
    for (int it = 0; it < 3; ++it) {
        ro = rq;
        AdtCalc a{m.x.data(), m.cell2node.data(), rq.data(), radt.data()};
        for (int c = 0; c < m.cells; ++c) a(c);
        for (int e = 0; e < m.edges; ++e) {
            int c1 = m.edge2cell[2 * e], c2 = m.edge2cell[2 * e + 1];
            Flux f = edgeFlux(&m.x[2 * m.edge2node[2 * e]], &m.x[2 * m.edge2node[2 * e + 1]], &rq[4 * c1], &rq[4 * c2], radt[c1], radt[c2]);
            for (int k = 0; k < 4; ++k) { rres[4 * c1 + k] += f.f[k]; rres[4 * c2 + k] -= f.f[k]; }
        }
        Update up{ro.data(), rq.data(), rres.data(), radt.data()};
        for (int c = 0; c < m.cells; ++c) rr[it] += up(c);
    }
    q.pull();
    rms.pull();
    double worst = 0;
    bool ok = true;
    for (std::size_t i = 0; i < rq.size(); ++i) { double d = std::fabs(double(q.host()[i]) - rq[i]); if (!(d <= worst)) worst = d; }
    for (int it = 0; it < 3; ++it) {
        std::printf("iteration %d rms %.6e (host %.6e)\n", it, std::sqrt(rms.host()[it]), std::sqrt(rr[it]));
        ok &= std::fabs(rms.host()[it] - rr[it]) <= 2e-3 * rr[it] + 1e-9;
    }
    ok &= worst < 2e-4;
    std::printf("max difference %.2e\n%s\n", worst, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
} catch (const std::exception& e) {
    std::printf("error: %s\nFAIL\n", e.what());
    return 2;
}
