// Sequential-impulse rigid body solver on the GPU.  Contacts are partitioned on
// the host into independent batches (graph colouring); large batches get a
// launch each, the tail of small ones is solved by a single block which walks
// the remaining batches.  Bodies are grouped in islands for the sleep test.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

typedef uint32_t PxU32;
typedef float PxReal;

#define PX_CUDA(x) pxCheck((x), __FILE__, __LINE__)
static void pxCheck(cudaError_t e, const char* f, int l)
{
    if(e != cudaSuccess)
    {
        fprintf(stderr, "%s(%d): %s\n", f, l, cudaGetErrorString(e));
        exit(1);
    }
}

struct PxgSolverBody              // 64 bytes
{
    float4 linearVelocity_invMass;
    float4 angularVelocity_invInertia;
    float4 position_radius;
    PxU32  islandId;
    PxU32  pad[3];
};

struct PxgContact                 // input from the narrow phase
{
    PxU32 bodyA, bodyB;           // bodyB == STATIC for the ground
    float friction;
};

static const PxU32 STATIC_BODY = 0xffffffffu;

struct PxgConstraint              // prepared row block: 80 bytes
{
    PxU32  bodyA, bodyB;
    float  friction, bias;
    float4 normal_effMass;
    float4 t0_effMass;
    float4 t1_effMass;
    float  impulse[3];
    float  pad;
};

struct PxgSolverParams { float dt, gravity, erp, slop, restitution; };
__constant__ PxgSolverParams c_params;

#define PX_FN __host__ __device__ __forceinline__
PX_FN float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
PX_FN float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
PX_FN float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
PX_FN float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
PX_FN float3 cross(float3 a, float3 b) { return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
PX_FN float3 xyz(float4 v) { return make_float3(v.x, v.y, v.z); }
PX_FN float4 pack(float3 v, float w) { return make_float4(v.x, v.y, v.z, w); }

PX_FN void applyGravity(PxgSolverBody& b, const PxgSolverParams& p)
{
    if(b.linearVelocity_invMass.w > 0.0f) b.linearVelocity_invMass.y -= p.gravity * p.dt;
}

PX_FN PxgConstraint prepContact(const PxgContact& c, const PxgSolverBody* bodies, const PxgSolverParams& p)
{
    PxgConstraint r;
    r.bodyA = c.bodyA; r.bodyB = c.bodyB; r.friction = c.friction;
    const PxgSolverBody& a = bodies[c.bodyA];
    float3 n; float sep, imB = 0.0f, iiB = 0.0f, rb = 0.0f;
    const float ra = a.position_radius.w;
    if(c.bodyB == STATIC_BODY)
    {
        n = make_float3(0.0f, 1.0f, 0.0f);
        sep = a.position_radius.y - ra;
    }
    else
    {
        const PxgSolverBody& b = bodies[c.bodyB];
        const float3 d = xyz(a.position_radius) - xyz(b.position_radius);
        const float len = sqrtf(dot(d, d));
        n = d * (1.0f / len);
        rb = b.position_radius.w;
        sep = len - ra - rb;
        imB = b.linearVelocity_invMass.w;
        iiB = b.angularVelocity_invInertia.w;
    }
    const float im = a.linearVelocity_invMass.w + imB;
    // tangent frame
    const float3 up = fabsf(n.y) < 0.7f ? make_float3(0.0f, 1.0f, 0.0f) : make_float3(1.0f, 0.0f, 0.0f);
    float3 t0 = cross(n, up);
    t0 = t0 * (1.0f / sqrtf(dot(t0, t0)));
    const float3 t1 = cross(n, t0);
    const float tm = im + a.angularVelocity_invInertia.w * ra * ra + iiB * rb * rb;
    r.normal_effMass = pack(n, 1.0f / im);
    r.t0_effMass = pack(t0, 1.0f / tm);
    r.t1_effMass = pack(t1, 1.0f / tm);
    r.bias = p.erp / p.dt * fminf(sep + p.slop, 0.0f);
    r.impulse[0] = r.impulse[1] = r.impulse[2] = 0.0f;
    r.pad = 0.0f;
    return r;
}

// normal row, then the two friction rows clamped by the normal impulse
PX_FN void solveContact(PxgConstraint& c, PxgSolverBody* bodies)
{
    PxgSolverBody& A = bodies[c.bodyA];
    float4 lvA = A.linearVelocity_invMass, avA = A.angularVelocity_invInertia;
    const float ra = A.position_radius.w;
    const bool dynamicB = c.bodyB != STATIC_BODY;
    float4 lvB = make_float4(0, 0, 0, 0), avB = lvB;
    float rb = 0.0f;
    if(dynamicB)
    {
        lvB = bodies[c.bodyB].linearVelocity_invMass;
        avB = bodies[c.bodyB].angularVelocity_invInertia;
        rb = bodies[c.bodyB].position_radius.w;
    }
    const float3 n = xyz(c.normal_effMass);
    float3 vA = xyz(lvA), vB = xyz(lvB), wA = xyz(avA), wB = xyz(avB);
    {
        const float vn = dot(n, vA - vB);
        const float old = c.impulse[0];
        const float total = fmaxf(old - (vn + c.bias) * c.normal_effMass.w, 0.0f);
        c.impulse[0] = total;
        vA = vA + n * ((total - old) * lvA.w);
        vB = vB - n * ((total - old) * lvB.w);
    }
    const float limit = c.friction * c.impulse[0];
    const float3 armA = n * -ra, armB = n * rb;
    for(int k = 0; k < 2; k++)
    {
        const float4 tm = k == 0 ? c.t0_effMass : c.t1_effMass;
        const float3 t = xyz(tm);
        const float3 rel = vA + cross(wA, armA) - vB - cross(wB, armB);
        const float old = c.impulse[1 + k];
        const float total = fmaxf(fminf(old - dot(rel, t) * tm.w, limit), -limit);
        c.impulse[1 + k] = total;
        const float dl = total - old;
        vA = vA + t * (dl * lvA.w);
        vB = vB - t * (dl * lvB.w);
        wA = wA + cross(armA, t) * (dl * avA.w);
        wB = wB - cross(armB, t) * (dl * avB.w);
    }
    A.linearVelocity_invMass = pack(vA, lvA.w);
    A.angularVelocity_invInertia = pack(wA, avA.w);
    if(dynamicB)
    {
        bodies[c.bodyB].linearVelocity_invMass = pack(vB, lvB.w);
        bodies[c.bodyB].angularVelocity_invInertia = pack(wB, avB.w);
    }
}

// ---------------------------------------------------------------- kernels
extern "C" __global__ void preIntegration(PxgSolverBody* bodies, PxU32 n)
{
    const PxU32 i = threadIdx.x + blockIdx.x * blockDim.x;
    if(i < n) applyGravity(bodies[i], c_params);
}

extern "C" __global__ void contactPrep(const PxgContact* contacts, const PxU32* order, const PxgSolverBody* bodies,
                                       PxgConstraint* out, PxU32 n)
{
    const PxU32 i = threadIdx.x + blockIdx.x * blockDim.x;
    if(i < n) out[i] = prepContact(contacts[order[i]], bodies, c_params);
}

// independent by construction: no two constraints of a batch share a body
extern "C" __global__ void __launch_bounds__(128)
solveBatch(PxgConstraint* constraints, PxgSolverBody* bodies, PxU32 start, PxU32 end)
{
    const PxU32 i = start + threadIdx.x + blockIdx.x * blockDim.x;
    if(i < end) solveContact(constraints[i], bodies);
}

extern "C" __global__ void solveTail(PxgConstraint* constraints, PxgSolverBody* bodies, const PxU32* batchOffsets,
                                     PxU32 firstBatch, PxU32 numBatches)
{
    extern __shared__ PxU32 sOffsets[];
    for(PxU32 i = threadIdx.x; i <= numBatches - firstBatch; i += blockDim.x) sOffsets[i] = batchOffsets[firstBatch + i];
    __syncthreads();
    for(PxU32 b = 0; b < numBatches - firstBatch; ++b)
    {
        for(PxU32 i = sOffsets[b] + threadIdx.x; i < sOffsets[b + 1]; i += blockDim.x) solveContact(constraints[i], bodies);
        __syncthreads();
    }
}

extern "C" __global__ void integratePose(PxgSolverBody* bodies, PxU32 n)
{
    const PxU32 i = threadIdx.x + blockIdx.x * blockDim.x;
    if(i >= n) return;
    const float4 v = bodies[i].linearVelocity_invMass;
    float4 p = bodies[i].position_radius;
    p.x += v.x * c_params.dt; p.y += v.y * c_params.dt; p.z += v.z * c_params.dt;
    bodies[i].position_radius = p;
}

// a block per island: twice the kinetic energy over the members
template<int TPB>
__global__ void islandEnergy(const PxgSolverBody* bodies, const PxU32* islandOffsets, const PxU32* members, float* energy)
{
    __shared__ float sWarp[TPB / 32];
    const PxU32 begin = islandOffsets[blockIdx.x], end = islandOffsets[blockIdx.x + 1];
    float e = 0.0f;
    for(PxU32 k = begin + threadIdx.x; k < end; k += TPB)
    {
        const PxgSolverBody& b = bodies[members[k]];
        const float4 v = b.linearVelocity_invMass, w = b.angularVelocity_invInertia;
        if(v.w > 0.0f) e += (v.x * v.x + v.y * v.y + v.z * v.z) / v.w + (w.x * w.x + w.y * w.y + w.z * w.z) / w.w;
    }
    for(int o = 16; o; o >>= 1) e += __shfl_down_sync(0xffffffff, e, o);
    if((threadIdx.x & 31) == 0) sWarp[threadIdx.x >> 5] = e;
    __syncthreads();
    if(threadIdx.x < 32)
    {
        e = threadIdx.x < TPB / 32 ? sWarp[threadIdx.x] : 0.0f;
        for(int o = TPB / 64; o; o >>= 1) e += __shfl_down_sync(0xffffffff, e, o);
        if(threadIdx.x == 0) energy[blockIdx.x] = e;
    }
}

// ------------------------------------------------------------------- host
template<class T> class PxgCudaBuffer
{
public:
    explicit PxgCudaBuffer(size_t n) : mSize(n) { PX_CUDA(cudaMalloc(&mPtr, std::max<size_t>(n, 1) * sizeof(T))); }
    explicit PxgCudaBuffer(const std::vector<T>& v) : PxgCudaBuffer(v.size()) { PX_CUDA(cudaMemcpy(mPtr, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    PxgCudaBuffer(PxgCudaBuffer&& o) noexcept : mPtr(std::exchange(o.mPtr, nullptr)), mSize(o.mSize) {}
    PxgCudaBuffer(const PxgCudaBuffer&) = delete;
    ~PxgCudaBuffer() { cudaFree(mPtr); }
    T* get() { return mPtr; }
    std::vector<T> download() const { std::vector<T> h(mSize); PX_CUDA(cudaMemcpy(h.data(), mPtr, mSize * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
private:
    T* mPtr = nullptr; size_t mSize;
};

struct Partition { std::vector<PxU32> order, offsets; };

// greedy colouring with a 64-bit mask per body; the ground never conflicts
static Partition partitionContacts(const std::vector<PxgContact>& c, PxU32 nbBodies)
{
    std::vector<uint64_t> used(nbBodies, 0);
    std::vector<std::vector<PxU32>> batches;
    for(PxU32 i = 0; i < c.size(); i++)
    {
        uint64_t m = used[c[i].bodyA] | (c[i].bodyB == STATIC_BODY ? 0 : used[c[i].bodyB]);
        PxU32 k = 0;
        while(m & 1) { m >>= 1; k++; }
        if(k >= batches.size()) batches.resize(k + 1);
        batches[k].push_back(i);
        used[c[i].bodyA] |= 1ull << k;
        if(c[i].bodyB != STATIC_BODY) used[c[i].bodyB] |= 1ull << k;
    }
    std::stable_sort(batches.begin(), batches.end(), [](const std::vector<PxU32>& a, const std::vector<PxU32>& b) { return a.size() > b.size(); });
    Partition p;
    p.offsets.push_back(0);
    for(auto& b : batches)
    {
        p.order.insert(p.order.end(), b.begin(), b.end());
        p.offsets.push_back((PxU32)p.order.size());
    }
    return p;
}

static std::vector<PxgContact> narrowPhase(const std::vector<PxgSolverBody>& b, float cell, std::mt19937& rng)
{
    std::unordered_map<uint64_t, std::vector<PxU32>> grid;
    auto key = [](int x, int y, int z) { return ((uint64_t)(x & 0x1fffff) << 42) | ((uint64_t)(y & 0x1fffff) << 21) | (uint64_t)(z & 0x1fffff); };
    auto coord = [cell](float v) { return (int)std::floor(v / cell); };
    for(PxU32 i = 0; i < b.size(); i++)
        grid[key(coord(b[i].position_radius.x), coord(b[i].position_radius.y), coord(b[i].position_radius.z))].push_back(i);
    std::vector<PxgContact> out;
    for(PxU32 i = 0; i < b.size(); i++)
    {
        const float4 p = b[i].position_radius;
        if(p.y - p.w < 0.01f) out.push_back({i, STATIC_BODY, 0.6f});
        for(int dz = -1; dz <= 1; dz++) for(int dy = -1; dy <= 1; dy++) for(int dx = -1; dx <= 1; dx++)
        {
            auto it = grid.find(key(coord(p.x) + dx, coord(p.y) + dy, coord(p.z) + dz));
            if(it == grid.end()) continue;
            for(PxU32 j : it->second)
            {
                if(j <= i) continue;
                const float3 d = xyz(p) - xyz(b[j].position_radius);
                const float r = p.w + b[j].position_radius.w + 0.01f;
                if(dot(d, d) < r * r) out.push_back({i, j, 0.3f + 0.1f * (rng() % 4)});
            }
        }
    }
    return out;
}

int main()
{
    std::mt19937 rng(77);
    std::uniform_real_distribution<float> U(-1.0f, 1.0f);
    std::vector<PxgSolverBody> bodies;
    // several separate piles of touching spheres
    for(int pile = 0; pile < 24; pile++)
        for(int y = 0; y < 6; y++) for(int z = 0; z < 6; z++) for(int x = 0; x < 6; x++)
        {
            PxgSolverBody b = {};
            const float r = 0.48f + 0.04f * std::fabs(U(rng));
            b.position_radius = make_float4(pile % 6 * 20.0f + x + 0.02f * U(rng), 0.5f + y * 0.97f, pile / 6 * 20.0f + z + 0.02f * U(rng), r);
            const float im = 1.0f / (0.5f + 0.5f * std::fabs(U(rng)));
            b.linearVelocity_invMass = make_float4(U(rng), U(rng), U(rng), im);
            b.angularVelocity_invInertia = make_float4(U(rng), U(rng), U(rng), im / (0.4f * r * r));
            bodies.push_back(b);
        }
    std::shuffle(bodies.begin(), bodies.end(), rng);      // scattered body indices
    const PxU32 n = (PxU32)bodies.size();
    std::vector<PxgContact> contacts = narrowPhase(bodies, 1.1f, rng);
    Partition part = partitionContacts(contacts, n);
    const PxU32 nbBatches = (PxU32)part.offsets.size() - 1, m = (PxU32)contacts.size();
    PxU32 firstSmall = 0;
    while(firstSmall < nbBatches && firstSmall < 9 && part.offsets[firstSmall + 1] - part.offsets[firstSmall] > 600) firstSmall++;

    // islands by union-find, then a counting sort of the members
    std::vector<PxU32> uf(n), islandOffsets, members(n);
    std::iota(uf.begin(), uf.end(), 0u);
    auto find = [&](PxU32 x) { while(uf[x] != x) x = uf[x] = uf[uf[x]]; return x; };
    for(auto& c : contacts) if(c.bodyB != STATIC_BODY) uf[find(c.bodyA)] = find(c.bodyB);
    std::unordered_map<PxU32, PxU32> ids;
    for(PxU32 i = 0; i < n; i++) bodies[i].islandId = ids.emplace(find(i), (PxU32)ids.size()).first->second;
    islandOffsets.assign(ids.size() + 1, 0);
    for(auto& b : bodies) islandOffsets[b.islandId + 1]++;
    std::partial_sum(islandOffsets.begin(), islandOffsets.end(), islandOffsets.begin());
    std::vector<PxU32> cursor(islandOffsets.begin(), islandOffsets.end() - 1);
    for(PxU32 i = 0; i < n; i++) members[cursor[bodies[i].islandId]++] = i;
    printf("%u bodies, %u contacts, %u batches (%u large), %zu islands\n", n, m, nbBatches, firstSmall, ids.size());

    const PxgSolverParams params = {1.0f / 60.0f, 9.81f, 0.2f, 0.005f, 0.0f};
    PX_CUDA(cudaMemcpyToSymbol(c_params, &params, sizeof params));
    PxgCudaBuffer<PxgSolverBody> dBodies(bodies);
    PxgCudaBuffer<PxgContact> dContacts(contacts);
    PxgCudaBuffer<PxU32> dOrder(part.order), dOffsets(part.offsets), dIslands(islandOffsets), dMembers(members);
    PxgCudaBuffer<PxgConstraint> dConstraints(m);
    PxgCudaBuffer<float> dEnergy(ids.size());
    const int iterations = 4;
    preIntegration<<<(n + 255) / 256, 256>>>(dBodies.get(), n);
    contactPrep<<<(m + 127) / 128, 128>>>(dContacts.get(), dOrder.get(), dBodies.get(), dConstraints.get(), m);
    for(int it = 0; it < iterations; it++)
    {
        for(PxU32 b = 0; b < firstSmall; b++)
        {
            const PxU32 count = part.offsets[b + 1] - part.offsets[b];
            solveBatch<<<(count + 127) / 128, 128>>>(dConstraints.get(), dBodies.get(), part.offsets[b], part.offsets[b + 1]);
        }
        if(firstSmall < nbBatches)
            solveTail<<<1, 256, (nbBatches - firstSmall + 1) * sizeof(PxU32)>>>(dConstraints.get(), dBodies.get(), dOffsets.get(), firstSmall, nbBatches);
    }
    integratePose<<<(n + 255) / 256, 256>>>(dBodies.get(), n);
    islandEnergy<128><<<(unsigned)ids.size(), 128>>>(dBodies.get(), dIslands.get(), dMembers.get(), dEnergy.get());
    PX_CUDA(cudaGetLastError());
    PX_CUDA(cudaDeviceSynchronize());

    // the same on the host, batch after batch
    std::vector<PxgSolverBody> ref = bodies;
    for(auto& b : ref) applyGravity(b, params);
    std::vector<PxgConstraint> rc;
    for(PxU32 o : part.order) rc.push_back(prepContact(contacts[o], ref.data(), params));
    for(int it = 0; it < iterations; it++) for(auto& c : rc) solveContact(c, ref.data());
    std::vector<double> refE(ids.size(), 0.0);
    for(auto& b : ref)
    {
        const float4 v = b.linearVelocity_invMass, w = b.angularVelocity_invInertia;
        b.position_radius.x += v.x * params.dt; b.position_radius.y += v.y * params.dt; b.position_radius.z += v.z * params.dt;
        refE[b.islandId] += (v.x * v.x + v.y * v.y + v.z * v.z) / v.w + (w.x * w.x + w.y * w.y + w.z * w.z) / w.w;
    }
    auto got = dBodies.download();
    auto e = dEnergy.download();
    double worst = 0, worstE = 0;
    for(PxU32 i = 0; i < n; i++)
    {
        const float* a = &got[i].linearVelocity_invMass.x;
        const float* b = &ref[i].linearVelocity_invMass.x;
        for(int k = 0; k < 12; k++) worst = std::max(worst, (double)std::fabs(a[k] - b[k]) / (1.0 + std::fabs(b[k])));
    }
    for(size_t i = 0; i < e.size(); i++) worstE = std::max(worstE, std::fabs(e[i] - refE[i]) / (1.0 + refE[i]));
    printf("worst body %.2e, worst island energy %.2e\n", worst, worstE);
    const bool ok = worst < 2e-3 && worstE < 2e-3;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
