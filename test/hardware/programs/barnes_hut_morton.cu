// Barnes-Hut gravity on a uniform octree addressed by Morton codes.  No pointers and
// no stack: a cell is (level, code), "next" is code + 1 and climbing while the last
// octal digit wraps.
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

namespace cfg {
constexpr int Bodies = 20000;
constexpr int LeafLevel = 4;                       // 16^3 leaves
constexpr int Leaves = 1 << (3 * LeafLevel);
constexpr float Theta = 0.5f;
constexpr float Soft2 = 1e-4f;
constexpr int Block = 256;
constexpr int ScanThreads = 1024;
}
__host__ __device__ constexpr int levelOffset(int l) { return ((1 << (3 * l)) - 1) / 7; }
constexpr int TotalCells = levelOffset(cfg::LeafLevel + 1);

struct Body { float x, y, z, mass; float vx, vy, vz; int id; };   // what the game keeps
struct Box { float lo[3]; float hi[3]; };
struct Grid { float ox, oy, oz, size, inv; };
static void ok(cudaError_t e, const char *msg)
{
    if (e != cudaSuccess) { std::printf("%s: %s\n", msg, cudaGetErrorString(e)); std::exit(1); }
}
// order-preserving float <-> uint so that atomicMin/atomicMax work
union FloatBits { float f; uint32_t u; };
__device__ inline uint32_t orderBits(float f)
{
    FloatBits c = {f};
    return (c.u & 0x80000000u) ? ~c.u : (c.u | 0x80000000u);
}
static float unorderBits(uint32_t u)
{
    FloatBits c;
    c.u = (u & 0x80000000u) ? (u & 0x7fffffffu) : ~u;
    return c.f;
}

struct MinOp { __device__ float operator()(float a, float b) const { return fminf(a, b); } };
struct MaxOp { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };
template <class Op>
__device__ float blockReduce(float v, float *sh, Op op)
{
    sh[threadIdx.x] = v;
    __syncthreads();
    for (int s = cfg::Block / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) sh[threadIdx.x] = op(sh[threadIdx.x], sh[threadIdx.x + s]);
        __syncthreads();
    }
    float r = sh[0];
    __syncthreads();
    return r;
}

__global__ void boundingBox(const Body *bodies, uint32_t *box, int n)
{
    __shared__ float sh[cfg::Block];
    float lo[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, hi[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float p[3] = {bodies[i].x, bodies[i].y, bodies[i].z};
        for (int a = 0; a < 3; ++a) {
            lo[a] = fminf(lo[a], p[a]);
            hi[a] = fmaxf(hi[a], p[a]);
        }
    }
    for (int a = 0; a < 3; ++a) {
        const float l = blockReduce(lo[a], sh, MinOp()), h = blockReduce(hi[a], sh, MaxOp());
        if (threadIdx.x == 0) {
            atomicMin(&box[a], orderBits(l));
            atomicMax(&box[3 + a], orderBits(h));
        }
    }
}
__host__ __device__ inline uint32_t spread3(uint32_t v)
{
    v &= 0x3ff;
    v = (v | (v << 16)) & 0x030000ff;
    v = (v | (v << 8)) & 0x0300f00f;
    v = (v | (v << 4)) & 0x030c30c3;
    v = (v | (v << 2)) & 0x09249249;
    return v;
}
__host__ __device__ inline int axisCell(float p, float o, float inv)
{
    int c = (int)((p - o) * inv);
    const int top = (1 << cfg::LeafLevel) - 1;
    return c < 0 ? 0 : (c > top ? top : c);
}
__host__ __device__ inline uint32_t mortonOf(float x, float y, float z, const Grid &g)
{
    const int cx = axisCell(x, g.ox, g.inv), cy = axisCell(y, g.oy, g.inv), cz = axisCell(z, g.oz, g.inv);
    return spread3(cx) | (spread3(cy) << 1) | (spread3(cz) << 2);
}

// code per body, and its slot within the leaf
__global__ void mortonCount(const Body *bodies, Grid g, uint2 *codeSlot, int *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Body b = bodies[i];
    const uint32_t code = mortonOf(b.x, b.y, b.z, g);
    const int slot = atomicAdd(&count[code], 1);
    codeSlot[i] = make_uint2(code, slot);
}

// exclusive prefix sum over the leaves: one block, four neighbouring counters each
__global__ void leafScan(const int *count, int *start)
{
    __shared__ int sums[cfg::ScanThreads];
    const int t = threadIdx.x;
    constexpr int Per = cfg::Leaves / cfg::ScanThreads;
    int local[Per];
    int total = 0;
    for (int k = 0; k < Per; ++k) {
        local[k] = total;
        total += count[t * Per + k];
    }
    sums[t] = total;
    __syncthreads();
    for (int d = 1; d < cfg::ScanThreads; d <<= 1) {          // Hillis-Steele
        int v = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }
    const int before = sums[t] - total;
    for (int k = 0; k < Per; ++k) start[t * Per + k] = before + local[k];
    if (t == cfg::ScanThreads - 1) start[cfg::Leaves] = sums[t];
}

__global__ void reorder(const Body *bodies, const uint2 *codeSlot, const int *start,
                        float4 *sorted, int *sortedId, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint2 cs = codeSlot[i];
    const int dst = start[cs.x] + (int)cs.y;
    sorted[dst] = make_float4(bodies[i].x, bodies[i].y, bodies[i].z, bodies[i].mass);
    sortedId[dst] = bodies[i].id;
}

__host__ __device__ inline float4 finishCentre(float x, float y, float z, float m)
{
    const float inv = m > 0.f ? 1.f / m : 0.f;
    return make_float4(x * inv, y * inv, z * inv, m);
}

__global__ void leafCentres(const float4 *sorted, const int *start, float4 *cells)
{
    const int leaf = blockIdx.x * blockDim.x + threadIdx.x;
    if (leaf >= cfg::Leaves) return;
    float x = 0, y = 0, z = 0, m = 0;
    for (int b = start[leaf]; b < start[leaf + 1]; ++b) {
        const float4 p = sorted[b];
        x += p.x * p.w;
        y += p.y * p.w;
        z += p.z * p.w;
        m += p.w;
    }
    cells[levelOffset(cfg::LeafLevel) + leaf] = finishCentre(x, y, z, m);
}

// all the inner levels, a single block going up
__global__ void upsweep(float4 *cells)
{
    for (int l = cfg::LeafLevel - 1; l >= 0; --l) {
        const int n = 1 << (3 * l);
        for (int c = threadIdx.x; c < n; c += blockDim.x) {
            float x = 0, y = 0, z = 0, m = 0;
            for (int k = 0; k < 8; ++k) {
                const float4 ch = cells[levelOffset(l + 1) + 8 * c + k];
                x += ch.x * ch.w;
                y += ch.y * ch.w;
                z += ch.z * ch.w;
                m += ch.w;
            }
            cells[levelOffset(l) + c] = finishCentre(x, y, z, m);
        }
        __syncthreads();
    }
}

__host__ __device__ inline void attract(float4 src, float px, float py, float pz, float3 &a)
{
    const float dx = src.x - px, dy = src.y - py, dz = src.z - pz;
    const float r2 = dx * dx + dy * dy + dz * dz + cfg::Soft2;
    const float inv = 1.f / sqrtf(r2);
    const float f = src.w * inv * inv * inv;
    a.x += f * dx;
    a.y += f * dy;
    a.z += f * dz;
}

__host__ __device__ inline float3 walk(const float4 *cells, const float4 *sorted, const int *start,
                                       float px, float py, float pz, float rootSize)
{
    float3 a = {0.f, 0.f, 0.f};
    int level = 1;
    uint32_t code = 0;
    while (level > 0) {
        const float4 c = cells[levelOffset(level) + code];
        bool down = false;
        if (c.w > 0.f) {
            const float dx = c.x - px, dy = c.y - py, dz = c.z - pz;
            const float r2 = dx * dx + dy * dy + dz * dz;
            const float size = rootSize / (float)(1 << level);
            if (size * size < cfg::Theta * cfg::Theta * r2) {
                attract(c, px, py, pz, a);
            } else if (level == cfg::LeafLevel) {
                const int end = start[code + 1];
                for (int b = start[code]; b < end; ++b)
                    attract(sorted[b], px, py, pz, a);
            } else {
                down = true;
            }
        }
        if (down) {
            ++level;
            code <<= 3;
        } else {
            ++code;
            for (; level > 0 && (code & 7u) == 0u; --level) code >>= 3;
        }
    }
    return a;
}

__global__ void treeForces(const float4 *__restrict__ cells, const float4 *__restrict__ sorted,
                           const int *__restrict__ start, const int *__restrict__ sortedId,
                           float *__restrict__ acc, float rootSize, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 p = sorted[i];
    const float3 a = walk(cells, sorted, start, p.x, p.y, p.z, rootSize);
    float *out = acc + 3 * sortedId[i];              // back in the original order
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
}

template <class T> T *gpuNew(size_t n) { T *p; ok(cudaMalloc(&p, n * sizeof(T)), "cudaMalloc"); return p; }
template <class T> std::vector<T> toHost(const T *d, size_t n)
{
    std::vector<T> h(n);
    ok(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost), "copy back");
    return h;
}

int main()
{
    const int n = cfg::Bodies;
    std::vector<Body> bodies(n);
    std::mt19937 rng(5);
    std::normal_distribution<float> gauss;
    std::uniform_real_distribution<float> uni(0.f, 1.f);
    for (int i = 0; i < n; ++i) {                    // two clumps and a background
        Body &b = bodies[i];
        auto place = [&](float cx, float cy, float cz, float s) {
            b.x = cx + s * gauss(rng); b.y = cy + s * gauss(rng); b.z = cz + s * gauss(rng);
        };
        if (i % 4 == 0) place(0.3f, 0.35f, 0.4f, 0.12f);
        else if (i % 4 == 1) place(0.8f, 0.6f, 0.7f, 0.15f);
        else { b.x = uni(rng); b.y = uni(rng); b.z = uni(rng); }
        b.mass = (0.5f + uni(rng)) / n;
        b.vx = b.vy = b.vz = 0.f;
        b.id = i;
    }
    Body *dBodies = gpuNew<Body>(n);
    uint32_t *dBox = gpuNew<uint32_t>(6);
    uint2 *dCode = gpuNew<uint2>(n);
    int *dCount = gpuNew<int>(cfg::Leaves), *dStart = gpuNew<int>(cfg::Leaves + 1), *dId = gpuNew<int>(n);
    float4 *dSorted = gpuNew<float4>(n), *dCells = gpuNew<float4>(TotalCells);
    float *dAcc = gpuNew<float>(3 * (size_t)n);
    ok(cudaMemcpy(dBodies, bodies.data(), n * sizeof(Body), cudaMemcpyHostToDevice), "bodies");
    ok(cudaMemset(dBox, 0xff, 3 * sizeof(uint32_t)), "box min");
    ok(cudaMemset(dBox + 3, 0, 3 * sizeof(uint32_t)), "box max");
    ok(cudaMemset(dCount, 0, cfg::Leaves * sizeof(int)), "count");
    const int blocks = (n + cfg::Block - 1) / cfg::Block;
    boundingBox<<<32, cfg::Block>>>(dBodies, dBox, n);
    ok(cudaGetLastError(), "boundingBox");
    const std::vector<uint32_t> bits = toHost(dBox, 6);
    Box box;
    for (int a = 0; a < 3; ++a) { box.lo[a] = unorderBits(bits[a]); box.hi[a] = unorderBits(bits[3 + a]); }
    float size = 0.f;
    for (int a = 0; a < 3; ++a) size = std::fmax(size, 1.0001f * (box.hi[a] - box.lo[a]));
    const Grid grid = {box.lo[0], box.lo[1], box.lo[2], size, (1 << cfg::LeafLevel) / size};
    mortonCount<<<blocks, cfg::Block>>>(dBodies, grid, dCode, dCount, n);
    leafScan<<<1, cfg::ScanThreads>>>(dCount, dStart);
    reorder<<<blocks, cfg::Block>>>(dBodies, dCode, dStart, dSorted, dId, n);
    leafCentres<<<cfg::Leaves / 128, 128>>>(dSorted, dStart, dCells);
    upsweep<<<1, 512>>>(dCells);
    treeForces<<<(n + 127) / 128, 128>>>(dCells, dSorted, dStart, dId, dAcc, size, n);
    ok(cudaGetLastError(), "launch");
    ok(cudaDeviceSynchronize(), "run");
    const auto start = toHost(dStart, cfg::Leaves + 1), ids = toHost(dId, n);
    const auto sorted = toHost(dSorted, n), cells = toHost(dCells, TotalCells);
    const auto acc = toHost(dAcc, 3 * (size_t)n);
    // box, counts, order
    int errors = 0;
    std::vector<int> ref(cfg::Leaves, 0), seen(n, 0);
    for (const Body &b : bodies) {
        errors += b.x < box.lo[0] || b.y < box.lo[1] || b.z < box.lo[2] || b.x > box.hi[0] || b.y > box.hi[1];
        ref[mortonOf(b.x, b.y, b.z, grid)]++;
    }
    for (int c = 0; c < cfg::Leaves; ++c) {
        errors += start[c + 1] - start[c] != ref[c];
        for (int s = start[c]; s < start[c + 1] && s >= 0 && s < n; ++s) {
            if (ids[s] < 0 || ids[s] >= n) { ++errors; continue; }
            const Body &b = bodies[ids[s]];
            errors += mortonOf(b.x, b.y, b.z, grid) != (uint32_t)c || sorted[s].x != b.x || seen[b.id]++ != 0;
        }
    }
    double mass = 0;
    for (const Body &b : bodies) mass += b.mass;
    errors += !(std::fabs(cells[0].w - mass) < 1e-4);
    std::printf("tree: %d errors, mass %.6f (%.6f)\n", errors, cells[0].w, mass);
    // same walk on the host, and direct summation
    double num = 0, den = 0;
    int differ = 0, checked = 0;
    for (int i = 0; i < n && errors == 0; i += 41, ++checked) {
        const Body &b = bodies[i];
        const float *g = &acc[3 * (size_t)i];
        const float3 w = walk(cells.data(), sorted.data(), start.data(), b.x, b.y, b.z, size);
        double ax = 0, ay = 0, az = 0;
        for (const Body &o : bodies) {
            const double dx = o.x - b.x, dy = o.y - b.y, dz = o.z - b.z;
            const double r2 = dx * dx + dy * dy + dz * dz + cfg::Soft2, f = o.mass / (r2 * std::sqrt(r2));
            ax += f * dx; ay += f * dy; az += f * dz;
        }
        const double norm = std::sqrt(ax * ax + ay * ay + az * az);
        const double d = std::fabs(w.x - g[0]) + std::fabs(w.y - g[1]) + std::fabs(w.z - g[2]);
        differ += !(d < 1e-3 * (0.1 + norm));
        num += (g[0] - ax) * (g[0] - ax) + (g[1] - ay) * (g[1] - ay) + (g[2] - az) * (g[2] - az);
        den += norm * norm;
    }
    const double rel = std::sqrt(num / (den > 0 ? den : 1));
    std::printf("%d bodies checked, %d off the host walk, error against direct sum %.4f\n", checked, differ, rel);
    const bool pass = errors == 0 && checked > 0 && differ * 50 <= checked && rel < 0.03;
    cudaDeviceReset();
    std::puts(pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
