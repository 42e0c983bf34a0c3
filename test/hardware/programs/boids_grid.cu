// Flocking demo core: uniform grid boids, no rendering.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(x)                                                              \
    do {                                                                      \
        cudaError_t e_ = (x);                                                 \
        if (e_ != cudaSuccess) {                                              \
            printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            exit(2);                                                          \
        }                                                                     \
    } while (0)

struct Boid {
    float3 pos;
    float3 vel;
    float hunger;
    int flockId;
};

struct World {
    int count;
    int gridDim;
    float cellSize;
    float radius;
    float wSep, wAli, wCoh;
    float maxSpeed;
    float dt;
};

__constant__ World gWorld;

__device__ __forceinline__ int cellCoord(float x)
{
    int c = (int)floorf(x / gWorld.cellSize);
    return min(max(c, 0), gWorld.gridDim - 1);
}

__global__ void assignCells(const Boid* boids, int* cellOf, int* cellCount)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= gWorld.count)
        return;
    float3 p = boids[i].pos;
    int cx = cellCoord(p.x);
    int cy = cellCoord(p.y);
    int cz = cellCoord(p.z);
    int c = (cz * gWorld.gridDim + cy) * gWorld.gridDim + cx;
    cellOf[i] = c;
    atomicAdd(&cellCount[c], 1);
}

// exclusive scan with one block, every thread takes a contiguous chunk
__global__ void scanCells(const int* cellCount, int* cellStart, int n)
{
    __shared__ int sums[1024];
    int t = threadIdx.x;
    int per = (n + blockDim.x - 1) / blockDim.x;
    int lo = min(t * per, n);
    int hi = min(lo + per, n);
    int s = 0;
    for (int i = lo; i < hi; ++i)
        s += cellCount[i];
    sums[t] = s;
    __syncthreads();
    for (int off = 1; off < blockDim.x; off *= 2) {
        int v = 0;
        if (t >= off)
            v = sums[t - off];
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }
    int run = sums[t] - s;
    for (int i = lo; i < hi; ++i) {
        cellStart[i] = run;
        run += cellCount[i];
    }
    if (t == blockDim.x - 1)
        cellStart[n] = sums[t];
}

__global__ void reorder(const Boid* boids, const int* cellOf, const int* cellStart, int* cursor,
                        float4* sortedPos, float4* sortedVel, int* sortedIdx)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= gWorld.count)
        return;
    int c = cellOf[i];
    int slot = cellStart[c] + atomicAdd(&cursor[c], 1);
    Boid b = boids[i];
    sortedPos[slot] = make_float4(b.pos.x, b.pos.y, b.pos.z, b.hunger);
    sortedVel[slot] = make_float4(b.vel.x, b.vel.y, b.vel.z, __int_as_float(b.flockId));
    sortedIdx[slot] = i;
}

__global__ void steer(const float4* __restrict__ sortedPos, const float4* __restrict__ sortedVel,
                      const int* __restrict__ cellStart, const int* __restrict__ sortedIdx, Boid* out)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= gWorld.count)
        return;
    float4 p = sortedPos[s];
    float4 v = sortedVel[s];
    int cx = cellCoord(p.x);
    int cy = cellCoord(p.y);
    int cz = cellCoord(p.z);
    float3 sep = make_float3(0, 0, 0);
    float3 ali = make_float3(0, 0, 0);
    float3 coh = make_float3(0, 0, 0);
    int n = 0;
    int G = gWorld.gridDim;
    float r2 = gWorld.radius * gWorld.radius;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, G - 1); ++z) {
        for (int y = max(cy - 1, 0); y <= min(cy + 1, G - 1); ++y) {
            int rowBase = (z * G + y) * G;
            int first = cellStart[rowBase + max(cx - 1, 0)];
            int last = cellStart[rowBase + min(cx + 1, G - 1) + 1];
            for (int k = first; k < last; ++k) {
                if (k == s)
                    continue;
                float4 q = sortedPos[k];
                float dx = q.x - p.x;
                float dy = q.y - p.y;
                float dz = q.z - p.z;
                float d2 = dx * dx + dy * dy + dz * dz;
                if (d2 > r2)
                    continue;
                float inv = 1.0f / (d2 + 0.01f);
                sep.x -= dx * inv;
                sep.y -= dy * inv;
                sep.z -= dz * inv;
                float4 w = sortedVel[k];
                ali.x += w.x;
                ali.y += w.y;
                ali.z += w.z;
                coh.x += dx;
                coh.y += dy;
                coh.z += dz;
                ++n;
            }
        }
    }
    float3 a = make_float3(sep.x * gWorld.wSep, sep.y * gWorld.wSep, sep.z * gWorld.wSep);
    if (n > 0) {
        float in = 1.0f / n;
        a.x += gWorld.wAli * (ali.x * in - v.x) + gWorld.wCoh * coh.x * in;
        a.y += gWorld.wAli * (ali.y * in - v.y) + gWorld.wCoh * coh.y * in;
        a.z += gWorld.wAli * (ali.z * in - v.z) + gWorld.wCoh * coh.z * in;
    }
    Boid b;
    b.vel = make_float3(v.x + a.x * gWorld.dt, v.y + a.y * gWorld.dt, v.z + a.z * gWorld.dt);
    float sp = sqrtf(b.vel.x * b.vel.x + b.vel.y * b.vel.y + b.vel.z * b.vel.z);
    if (sp > gWorld.maxSpeed) {
        float k = gWorld.maxSpeed / sp;
        b.vel.x *= k;
        b.vel.y *= k;
        b.vel.z *= k;
    }
    b.pos = make_float3(p.x + b.vel.x * gWorld.dt, p.y + b.vel.y * gWorld.dt, p.z + b.vel.z * gWorld.dt);
    b.hunger = p.w;
    b.flockId = __float_as_int(v.w);
    out[sortedIdx[s]] = b;
}

// mean velocity per flock (8 flocks) for the HUD
__global__ void flockStats(const Boid* boids, float* stats)
{
    __shared__ float acc[8 * 4];
    if (threadIdx.x < 32)
        acc[threadIdx.x] = 0.0f;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < gWorld.count; i += gridDim.x * blockDim.x) {
        int f = boids[i].flockId;
        atomicAdd(&acc[f * 4 + 0], boids[i].vel.x);
        atomicAdd(&acc[f * 4 + 1], boids[i].vel.y);
        atomicAdd(&acc[f * 4 + 2], boids[i].vel.z);
        atomicAdd(&acc[f * 4 + 3], 1.0f);
    }
    __syncthreads();
    if (threadIdx.x < 32)
        atomicAdd(&stats[threadIdx.x], acc[threadIdx.x]);
}

static void cpuStep(const World& w, const std::vector<Boid>& in, int i, Boid& out)
{
    double sx = 0, sy = 0, sz = 0, ax = 0, ay = 0, az = 0, cx = 0, cy = 0, cz = 0;
    int n = 0;
    for (int k = 0; k < w.count; ++k) {
        if (k == i)
            continue;
        float dx = in[k].pos.x - in[i].pos.x;
        float dy = in[k].pos.y - in[i].pos.y;
        float dz = in[k].pos.z - in[i].pos.z;
        float d2 = dx * dx + dy * dy + dz * dz;
        if (d2 > w.radius * w.radius)
            continue;
        double inv = 1.0 / (d2 + 0.01);
        sx -= dx * inv; sy -= dy * inv; sz -= dz * inv;
        ax += in[k].vel.x; ay += in[k].vel.y; az += in[k].vel.z;
        cx += dx; cy += dy; cz += dz;
        ++n;
    }
    double fx = sx * w.wSep, fy = sy * w.wSep, fz = sz * w.wSep;
    if (n) {
        fx += w.wAli * (ax / n - in[i].vel.x) + w.wCoh * cx / n;
        fy += w.wAli * (ay / n - in[i].vel.y) + w.wCoh * cy / n;
        fz += w.wAli * (az / n - in[i].vel.z) + w.wCoh * cz / n;
    }
    double vx = in[i].vel.x + fx * w.dt, vy = in[i].vel.y + fy * w.dt, vz = in[i].vel.z + fz * w.dt;
    double sp = sqrt(vx * vx + vy * vy + vz * vz);
    double k = sp > w.maxSpeed ? w.maxSpeed / sp : 1.0;
    out.vel = make_float3(vx * k, vy * k, vz * k);
    out.pos = make_float3(in[i].pos.x + vx * k * w.dt, in[i].pos.y + vy * k * w.dt, in[i].pos.z + vz * k * w.dt);
}

int main()
{
    World w;
    w.count = 16384;
    w.gridDim = 20;
    w.cellSize = 5.0f;
    w.radius = 4.5f;
    w.wSep = 0.4f;
    w.wAli = 0.3f;
    w.wCoh = 0.1f;
    w.maxSpeed = 6.0f;
    w.dt = 0.05f;
    std::mt19937 rng(2024);
    std::uniform_real_distribution<float> up(0.5f, 99.5f), uv(-3.0f, 3.0f);
    std::vector<Boid> h(w.count);
    for (int i = 0; i < w.count; ++i) {
        h[i].pos = make_float3(up(rng), up(rng), up(rng));
        h[i].vel = make_float3(uv(rng), uv(rng), uv(rng));
        h[i].hunger = up(rng);
        h[i].flockId = rng() & 7;
    }
    CHECK(cudaMemcpyToSymbol(gWorld, &w, sizeof(w)));
    int cells = w.gridDim * w.gridDim * w.gridDim;
    Boid *dA, *dB;
    int *dCell, *dCount, *dStart, *dCursor, *dIdx;
    float4 *dP, *dV;
    float* dStats;
    CHECK(cudaMalloc(&dA, w.count * sizeof(Boid)));
    CHECK(cudaMalloc(&dB, w.count * sizeof(Boid)));
    CHECK(cudaMalloc(&dCell, w.count * sizeof(int)));
    CHECK(cudaMalloc(&dIdx, w.count * sizeof(int)));
    CHECK(cudaMalloc(&dCount, cells * sizeof(int)));
    CHECK(cudaMalloc(&dCursor, cells * sizeof(int)));
    CHECK(cudaMalloc(&dStart, (cells + 1) * sizeof(int)));
    CHECK(cudaMalloc(&dP, w.count * sizeof(float4)));
    CHECK(cudaMalloc(&dV, w.count * sizeof(float4)));
    CHECK(cudaMalloc(&dStats, 32 * sizeof(float)));
    CHECK(cudaMemcpy(dA, h.data(), w.count * sizeof(Boid), cudaMemcpyHostToDevice));
    const int T = 128;
    int B = (w.count + T - 1) / T;
    std::vector<Boid> prev(w.count), cur(w.count);
    for (int frame = 0; frame < 3; ++frame) {
        CHECK(cudaMemcpy(prev.data(), dA, w.count * sizeof(Boid), cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(dCount, 0, cells * sizeof(int)));
        CHECK(cudaMemset(dCursor, 0, cells * sizeof(int)));
        assignCells<<<B, T>>>(dA, dCell, dCount);
        scanCells<<<1, 1024>>>(dCount, dStart, cells);
        reorder<<<B, T>>>(dA, dCell, dStart, dCursor, dP, dV, dIdx);
        steer<<<B, T>>>(dP, dV, dStart, dIdx, dB);
        CHECK(cudaGetLastError());
        std::swap(dA, dB);
    }
    CHECK(cudaMemset(dStats, 0, 32 * sizeof(float)));
    flockStats<<<32, 256>>>(dA, dStats);
    CHECK(cudaMemcpy(cur.data(), dA, w.count * sizeof(Boid), cudaMemcpyDeviceToHost));
    float stats[32];
    CHECK(cudaMemcpy(stats, dStats, sizeof(stats), cudaMemcpyDeviceToHost));
    int checked = 0, bad = 0;
    for (int i = 0; i < w.count; i += 11) {
        Boid r;
        cpuStep(w, prev, i, r);
        float d = fabsf(r.pos.x - cur[i].pos.x) + fabsf(r.vel.x - cur[i].vel.x) + fabsf(r.vel.y - cur[i].vel.y) + fabsf(r.vel.z - cur[i].vel.z);
        if (!(d < 5e-3f) || cur[i].flockId != h[i].flockId)
            ++bad;
        ++checked;
    }
    double ref[32] = {0};
    for (auto& b : cur) {
        ref[b.flockId * 4] += b.vel.x;
        ref[b.flockId * 4 + 1] += b.vel.y;
        ref[b.flockId * 4 + 2] += b.vel.z;
        ref[b.flockId * 4 + 3] += 1;
    }
    for (int i = 0; i < 32; ++i)
        if (!(fabs(ref[i] - stats[i]) < 0.5))
            bad += 100;
    bool ok = bad <= checked / 200;
    printf("boids: %d of %d off\n%s\n", bad, checked, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
