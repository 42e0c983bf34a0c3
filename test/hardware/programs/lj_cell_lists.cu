// Lennard-Jones fluid with linked cells: binning, counting sort, two force
// kernels (particle-per-thread and cell-per-block), velocity Verlet half step.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace md {

constexpr int kSide = 32;
constexpr int kN = kSide * kSide * kSide;
constexpr int kCells = 16;
constexpr int kCells3 = kCells * kCells * kCells;
constexpr float kSpacing = 1.2f;
constexpr float kBox = kSide * kSpacing;
constexpr float kCell = kBox / kCells;
constexpr float kRc2 = 2.3f * 2.3f;
constexpr int kMaxPerCell = 64;

struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float mass;
    int type;
};

__host__ __device__ inline float wrap(float d)
{
    if (d > 0.5f * kBox)
        d -= kBox;
    if (d < -0.5f * kBox)
        d += kBox;
    return d;
}

// LJ force magnitude over r, times a smooth switch that vanishes at the cutoff
__host__ __device__ inline float ljOverR(float r2)
{
    float inv2 = 1.0f / r2;
    float inv6 = inv2 * inv2 * inv2;
    float s = 1.0f - r2 / kRc2;
    return 24.0f * inv2 * inv6 * (2.0f * inv6 - 1.0f) * s * s;
}

__device__ inline int cellIndex(float x, float y, float z)
{
    int cx = min(max(int(x / kCell), 0), kCells - 1);
    int cy = min(max(int(y / kCell), 0), kCells - 1);
    int cz = min(max(int(z / kCell), 0), kCells - 1);
    return (cz * kCells + cy) * kCells + cx;
}

__global__ void countCells(const Particle* __restrict__ p, int* __restrict__ cellOf,
                           int* __restrict__ slot, int* __restrict__ count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kN)
        return;
    const int c = cellIndex(p[i].x, p[i].y, p[i].z);
    cellOf[i] = c;
    slot[i] = atomicAdd(&count[c], 1);
}

// exclusive scan of the 4096 cell counts by one block; every thread owns four
// consecutive cells
__global__ void scanCells(const int* __restrict__ count, int* __restrict__ start)
{
    __shared__ int warpTotals[32];
    const int t = threadIdx.x;
    const int lane = t & 31;
    const int wid = t >> 5;
    int v[4];
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = count[t * 4 + k];
        sum += v[k];
    }
    int inc = sum;
    for (int o = 1; o < 32; o <<= 1) {
        int other = __shfl_up_sync(0xffffffffu, inc, o);
        if (lane >= o)
            inc += other;
    }
    if (lane == 31)
        warpTotals[wid] = inc;
    __syncthreads();
    if (wid == 0) {
        int w = warpTotals[lane];
        for (int o = 1; o < 32; o <<= 1) {
            int other = __shfl_up_sync(0xffffffffu, w, o);
            if (lane >= o)
                w += other;
        }
        warpTotals[lane] = w;
    }
    __syncthreads();
    int base = inc - sum;
    if (wid > 0)
        base += warpTotals[wid - 1];
    for (int k = 0; k < 4; ++k) {
        start[t * 4 + k] = base;
        base += v[k];
    }
    if (t == blockDim.x - 1)
        start[kCells3] = base;
}

__global__ void scatterSorted(const Particle* __restrict__ p, const int* __restrict__ cellOf,
                              const int* __restrict__ slot, const int* __restrict__ start,
                              float4* __restrict__ sorted)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kN)
        return;
    const int dst = start[cellOf[i]] + slot[i];
    sorted[dst] = make_float4(p[i].x, p[i].y, p[i].z, __int_as_float(i));
}

// baseline: thread per (unsorted) particle, neighbours gathered from the
// sorted array
__global__ void forceParticle(const Particle* __restrict__ p, const float4* __restrict__ sorted,
                              const int* __restrict__ start, const int* __restrict__ cellOf,
                              float* __restrict__ force)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kN)
        return;
    const float px = p[i].x;
    const float py = p[i].y;
    const float pz = p[i].z;
    const int c = cellOf[i];
    const int cx = c % kCells;
    const int cy = (c / kCells) % kCells;
    const int cz = c / (kCells * kCells);
    float fx = 0.f, fy = 0.f, fz = 0.f;
    for (int dz = -1; dz <= 1; ++dz) {
        for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
                const int nx = (cx + dx + kCells) % kCells;
                const int ny = (cy + dy + kCells) % kCells;
                const int nz = (cz + dz + kCells) % kCells;
                const int n = (nz * kCells + ny) * kCells + nx;
                const int end = start[n + 1];
                for (int j = start[n]; j < end; ++j) {
                    const float4 q = sorted[j];
                    const float rx = wrap(px - q.x);
                    const float ry = wrap(py - q.y);
                    const float rz = wrap(pz - q.z);
                    const float r2 = rx * rx + ry * ry + rz * rz;
                    if (r2 < kRc2 && r2 > 1e-6f) {
                        const float f = ljOverR(r2);
                        fx += f * rx;
                        fy += f * ry;
                        fz += f * rz;
                    }
                }
            }
        }
    }
    force[3 * i + 0] = fx;
    force[3 * i + 1] = fy;
    force[3 * i + 2] = fz;
}

// block per cell: home particles in registers, neighbour cells staged through
// shared memory one after the other
__global__ void __launch_bounds__(kMaxPerCell)
forceCell(const float4* __restrict__ sorted, const int* __restrict__ start, float4* __restrict__ force)
{
    __shared__ float4 tile[kMaxPerCell];
    const int home = (blockIdx.z * kCells + blockIdx.y) * kCells + blockIdx.x;
    const int first = start[home];
    const int mine = min(start[home + 1] - first, kMaxPerCell);
    float4 me = make_float4(0.f, 0.f, 0.f, 0.f);
    if (threadIdx.x < mine)
        me = sorted[first + threadIdx.x];
    float fx = 0.f, fy = 0.f, fz = 0.f;
    for (int k = 0; k < 27; ++k) {
        const int nx = (blockIdx.x + k % 3 + kCells - 1) % kCells;
        const int ny = (blockIdx.y + (k / 3) % 3 + kCells - 1) % kCells;
        const int nz = (blockIdx.z + k / 9 + kCells - 1) % kCells;
        const int n = (nz * kCells + ny) * kCells + nx;
        const int s = start[n];
        const int cnt = min(start[n + 1] - s, kMaxPerCell);
        __syncthreads();
        if (threadIdx.x < cnt)
            tile[threadIdx.x] = sorted[s + threadIdx.x];
        __syncthreads();
        if (threadIdx.x < mine) {
            for (int j = 0; j < cnt; ++j) {
                const float rx = wrap(me.x - tile[j].x);
                const float ry = wrap(me.y - tile[j].y);
                const float rz = wrap(me.z - tile[j].z);
                const float r2 = rx * rx + ry * ry + rz * rz;
                if (r2 < kRc2 && r2 > 1e-6f) {
                    const float f = ljOverR(r2);
                    fx += f * rx;
                    fy += f * ry;
                    fz += f * rz;
                }
            }
        }
    }
    if (threadIdx.x < mine)
        force[__float_as_int(me.w)] = make_float4(fx, fy, fz, 0.f);
}

__global__ void kick(Particle* p, const float4* force, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kN)
        return;
    const float4 f = force[i];
    const float s = 0.5f * dt / p[i].mass;
    p[i].vx += s * f.x;
    p[i].vy += s * f.y;
    p[i].vz += s * f.z;
}

__global__ void kineticEnergy(const Particle* p, double* out)
{
    __shared__ double part[128];
    double e = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kN; i += gridDim.x * blockDim.x) {
        double v2 = (double)p[i].vx * p[i].vx + (double)p[i].vy * p[i].vy + (double)p[i].vz * p[i].vz;
        e += 0.5 * p[i].mass * v2;
    }
    part[threadIdx.x] = e;
    __syncthreads();
    for (int s = 1; s < 128; s *= 2) {
        int idx = 2 * s * threadIdx.x;
        if (idx + s < 128)
            part[idx] += part[idx + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(out, part[0]);
}

}  // namespace md

#define GPU(x)                                                                      \
    if (cudaError_t err = (x); err != cudaSuccess) {                                \
        std::printf("CUDA error %s line %d\n", cudaGetErrorString(err), __LINE__);  \
        return 2;                                                                   \
    }

int main()
{
    using namespace md;
    uint32_t state = 987654321u;
    auto rnd = [&state]() {
        state = state * 1664525u + 1013904223u;
        return (state >> 8) * (1.0f / 16777216.0f) - 0.5f;
    };
    std::vector<Particle> hp(kN);
    // shuffle the ids with an odd multiplier so neighbours are far in memory
    for (int k = 0; k < kN; ++k) {
        Particle& q = hp[(k * 12289) % kN];
        q.x = (k % kSide + 0.5f) * kSpacing + 0.2f * rnd();
        q.y = (k / kSide % kSide + 0.5f) * kSpacing + 0.2f * rnd();
        q.z = (k / kSide / kSide + 0.5f) * kSpacing + 0.2f * rnd();
        q.vx = rnd();
        q.vy = rnd();
        q.vz = rnd();
        q.type = k & 1;
        q.mass = q.type ? 1.0f : 1.5f;
    }

    Particle* dp;
    int *dCellOf, *dSlot, *dCount, *dStart;
    float4 *dSorted, *dForce4;
    float* dForce3;
    double* dKe;
    GPU(cudaMalloc(&dp, kN * sizeof(Particle)));
    GPU(cudaMalloc(&dCellOf, kN * sizeof(int)));
    GPU(cudaMalloc(&dSlot, kN * sizeof(int)));
    GPU(cudaMalloc(&dCount, kCells3 * sizeof(int)));
    GPU(cudaMalloc(&dStart, (kCells3 + 1) * sizeof(int)));
    GPU(cudaMalloc(&dSorted, kN * sizeof(float4)));
    GPU(cudaMalloc(&dForce4, kN * sizeof(float4)));
    GPU(cudaMalloc(&dForce3, 3 * kN * sizeof(float)));
    GPU(cudaMalloc(&dKe, sizeof(double)));
    GPU(cudaMemcpy(dp, hp.data(), kN * sizeof(Particle), cudaMemcpyHostToDevice));
    GPU(cudaMemset(dCount, 0, kCells3 * sizeof(int)));
    GPU(cudaMemset(dForce4, 0, kN * sizeof(float4)));
    GPU(cudaMemset(dKe, 0, sizeof(double)));

    const int tpb = 128;
    const int nb = (kN + tpb - 1) / tpb;
    const float dt = 0.002f;
    countCells<<<nb, tpb>>>(dp, dCellOf, dSlot, dCount);
    scanCells<<<1, kCells3 / 4>>>(dCount, dStart);
    scatterSorted<<<nb, tpb>>>(dp, dCellOf, dSlot, dStart, dSorted);
    forceParticle<<<nb, tpb>>>(dp, dSorted, dStart, dCellOf, dForce3);
    forceCell<<<dim3(kCells, kCells, kCells), kMaxPerCell>>>(dSorted, dStart, dForce4);
    kick<<<nb, tpb>>>(dp, dForce4, dt);
    kineticEnergy<<<64, 128>>>(dp, dKe);
    GPU(cudaGetLastError());
    GPU(cudaDeviceSynchronize());

    std::vector<float> f3(3 * kN);
    std::vector<float4> f4(kN);
    std::vector<int> start(kCells3 + 1);
    std::vector<Particle> after(kN);
    double ke = 0;
    GPU(cudaMemcpy(f3.data(), dForce3, f3.size() * sizeof(float), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(f4.data(), dForce4, f4.size() * sizeof(float4), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(start.data(), dStart, start.size() * sizeof(int), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(after.data(), dp, kN * sizeof(Particle), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(&ke, dKe, sizeof(double), cudaMemcpyDeviceToHost));

    int bad = 0;
    if (start[kCells3] != kN)
        ++bad;
    for (int i = 0; i < kN; ++i) {
        float tol = 1e-2f + 1e-3f * std::fabs(f3[3 * i]);
        if (std::fabs(f3[3 * i] - f4[i].x) > tol)
            ++bad;
    }
    for (int i = 5; i < kN; i += 97) {
        double fx = 0, fy = 0, fz = 0;
        double mag = 0;
        for (int j = 0; j < kN; ++j) {
            float rx = wrap(hp[i].x - hp[j].x);
            float ry = wrap(hp[i].y - hp[j].y);
            float rz = wrap(hp[i].z - hp[j].z);
            float r2 = rx * rx + ry * ry + rz * rz;
            if (j != i && r2 < kRc2) {
                float f = ljOverR(r2);
                fx += f * rx;
                fy += f * ry;
                fz += f * rz;
                mag += std::fabs(f) * std::sqrt(r2);
            }
        }
        double tol = 1e-3 + 1e-3 * mag;
        if (std::fabs(fx - f3[3 * i]) > tol || std::fabs(fy - f3[3 * i + 1]) > tol ||
            std::fabs(fz - f3[3 * i + 2]) > tol)
            ++bad;
        float vx = hp[i].vx + 0.5f * dt / hp[i].mass * (float)fx;
        if (std::fabs(vx - after[i].vx) > 1e-3)
            ++bad;
    }
    double keRef = 0;
    for (const Particle& q : after)
        keRef += 0.5 * q.mass * ((double)q.vx * q.vx + (double)q.vy * q.vy + (double)q.vz * q.vz);
    if (std::fabs(ke - keRef) > 1e-6 * keRef)
        ++bad;
    std::printf("ke %.6f ref %.6f bad %d\n%s\n", ke, keRef, bad, bad == 0 ? "PASS" : "FAIL");
    return bad == 0 ? 0 : 1;
}
