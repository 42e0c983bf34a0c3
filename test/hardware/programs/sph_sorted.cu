/*
 * Smoothed particle hydrodynamics, one density/force step with a counting-sort grid.
 * Particles live in an array of structures; the neighbour search works on a sorted float4 copy.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float mass;
    int   id;
};

struct SimParams {
    int   grid;        /* cells a side */
    int   count;
    float h, h2;
    float poly6;
    float dt;
    float gravity;
};

__constant__ SimParams P;

#define GRID 24
#define NCELL (GRID * GRID * GRID)
#define SCAN_THREADS 1024
#define PER_THREAD ((NCELL + SCAN_THREADS - 1) / SCAN_THREADS)

#define cudaOk(expr) cudaOk_((expr), #expr, __LINE__)
static void cudaOk_(cudaError_t e, const char* s, int l)
{
    if (e != cudaSuccess) { fprintf(stderr, "%s @%d: %s\n", s, l, cudaGetErrorString(e)); exit(1); }
}

__host__ __device__ static inline int cellCoord(float v, int grid)
{
    int c = (int)(v * grid);
    return c < 0 ? 0 : (c >= grid ? grid - 1 : c);
}

__global__ void countCells(const Particle* particles, int* cellOf, int* rankInCell, int* cellCount)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= P.count) return;
    const Particle& p = particles[i];
    int c = (cellCoord(p.z, P.grid) * P.grid + cellCoord(p.y, P.grid)) * P.grid + cellCoord(p.x, P.grid);
    cellOf[i] = c;
    rankInCell[i] = atomicAdd(&cellCount[c], 1);
}

/* exclusive scan of all cells by one block; each thread owns PER_THREAD consecutive cells */
__global__ void __launch_bounds__(SCAN_THREADS) scanCells(const int* cellCount, int* cellStart)
{
    __shared__ int sums[SCAN_THREADS];
    int local[PER_THREAD];
    int base = threadIdx.x * PER_THREAD, s = 0;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        local[k] = base + k < NCELL ? cellCount[base + k] : 0;
        s += local[k];
    }
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int off = 1; off < SCAN_THREADS; off <<= 1) {
        int v = threadIdx.x >= off ? sums[threadIdx.x - off] : 0;
        __syncthreads();
        sums[threadIdx.x] += v;
        __syncthreads();
    }
    int run = sums[threadIdx.x] - s;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        if (base + k < NCELL) cellStart[base + k] = run;
        run += local[k];
    }
    if (threadIdx.x == SCAN_THREADS - 1) cellStart[NCELL] = sums[threadIdx.x];
}

__global__ void scatterSorted(const Particle* __restrict__ particles, const int* __restrict__ cellOf,
                              const int* __restrict__ rankInCell, const int* __restrict__ cellStart,
                              float4* __restrict__ posMass, int* __restrict__ sortedId)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= P.count) return;
    int slot = cellStart[cellOf[i]] + rankInCell[i];
    Particle p = particles[i];
    posMass[slot] = make_float4(p.x, p.y, p.z, p.mass);
    sortedId[slot] = p.id;
}

__global__ void __launch_bounds__(128)
density(const float4* __restrict__ posMass, const int* __restrict__ cellStart, const int* __restrict__ sortedId,
        float* __restrict__ rho)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= P.count) return;
    float4 me = posMass[i];
    int cx = cellCoord(me.x, P.grid), cy = cellCoord(me.y, P.grid), cz = cellCoord(me.z, P.grid);
    int x0 = max(cx - 1, 0), x1 = min(cx + 1, P.grid - 1);
    float sum = 0.0f;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, P.grid - 1); z++)
        for (int y = max(cy - 1, 0); y <= min(cy + 1, P.grid - 1); y++) {
            /* the three x-neighbours are contiguous after sorting */
            int row = (z * P.grid + y) * P.grid;
            for (int j = cellStart[row + x0]; j < cellStart[row + x1 + 1]; j++) {
                float4 o = posMass[j];
                float dx = me.x - o.x, dy = me.y - o.y, dz = me.z - o.z;
                float d = P.h2 - (dx * dx + dy * dy + dz * dz);
                if (d > 0.0f) sum += o.w * d * d * d;
            }
        }
    rho[sortedId[i]] = P.poly6 * sum;
}

/* structure-of-fields update straight on the array of structures */
__global__ void integrate(Particle* particles, const float* rho)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= P.count) return;
    float drag = 1.0f / (1.0f + P.dt * rho[i]);
    particles[i].vx *= drag;
    particles[i].vy = particles[i].vy * drag - P.gravity * P.dt;
    particles[i].vz *= drag;
    particles[i].x += particles[i].vx * P.dt;
    particles[i].y += particles[i].vy * P.dt;
    particles[i].z += particles[i].vz * P.dt;
    if (particles[i].y < 0.0f) {
        particles[i].y = -particles[i].y;
        particles[i].vy *= -0.5f;
    }
}

int main(int argc, char** argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 30000;
    std::vector<Particle> host(n);
    unsigned s = 17;
    for (int i = 0; i < n; i++) {
        float r[6];
        for (int k = 0; k < 6; k++) { s = s * 1103515245u + 12345u; r[k] = (float)((s >> 8) & 0xffff) / 65536.0f; }
        host[i] = { r[0], r[1] * r[1], r[2], r[3] - 0.5f, r[4] - 0.5f, r[5] - 0.5f, 0.5f + (i % 5) * 0.25f, i };
    }
    SimParams prm;
    prm.grid = GRID; prm.count = n; prm.h = 1.0f / GRID; prm.h2 = prm.h * prm.h;
    prm.poly6 = 315.0f / (64.0f * 3.14159265f * powf(prm.h, 9.0f)) / (float)n;
    prm.dt = 0.001f; prm.gravity = 9.81f;
    cudaOk(cudaMemcpyToSymbol(P, &prm, sizeof prm));

    Particle* dp; int *cellOf, *rank, *count, *start, *sid; float4* pm; float* rho;
    cudaOk(cudaMalloc(&dp, n * sizeof(Particle)));
    cudaOk(cudaMalloc(&cellOf, n * sizeof(int)));
    cudaOk(cudaMalloc(&rank, n * sizeof(int)));
    cudaOk(cudaMalloc(&sid, n * sizeof(int)));
    cudaOk(cudaMalloc(&count, NCELL * sizeof(int)));
    cudaOk(cudaMalloc(&start, (NCELL + 1) * sizeof(int)));
    cudaOk(cudaMalloc(&pm, n * sizeof(float4)));
    cudaOk(cudaMalloc(&rho, n * sizeof(float)));
    cudaOk(cudaMemcpy(dp, host.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
    cudaOk(cudaMemset(count, 0, NCELL * sizeof(int)));

    int tpb = 128, nb = (n + tpb - 1) / tpb;
    countCells<<<nb, tpb>>>(dp, cellOf, rank, count);
    scanCells<<<1, SCAN_THREADS>>>(count, start);
    scatterSorted<<<nb, tpb>>>(dp, cellOf, rank, start, pm, sid);
    density<<<nb, tpb>>>(pm, start, sid, rho);
    integrate<<<nb, tpb>>>(dp, rho);
    cudaOk(cudaGetLastError());

    std::vector<float> hrho(n);
    std::vector<Particle> out(n);
    cudaOk(cudaMemcpy(hrho.data(), rho, n * sizeof(float), cudaMemcpyDeviceToHost));
    cudaOk(cudaMemcpy(out.data(), dp, n * sizeof(Particle), cudaMemcpyDeviceToHost));

    std::vector<std::vector<int>> bins(NCELL);
    for (int i = 0; i < n; i++)
        bins[(cellCoord(host[i].z, GRID) * GRID + cellCoord(host[i].y, GRID)) * GRID + cellCoord(host[i].x, GRID)].push_back(i);
    int bad = 0;
    for (int i = 0; i < n; i++) {
        const Particle& p = host[i];
        int c[3] = { cellCoord(p.x, GRID), cellCoord(p.y, GRID), cellCoord(p.z, GRID) };
        double sum = 0;
        for (int k = 0; k < 27; k++) {
            int x = c[0] + k % 3 - 1, y = c[1] + k / 3 % 3 - 1, z = c[2] + k / 9 - 1;
            if (x < 0 || y < 0 || z < 0 || x >= GRID || y >= GRID || z >= GRID) continue;
            for (int j : bins[(z * GRID + y) * GRID + x]) {
                double dx = p.x - host[j].x, dy = p.y - host[j].y, dz = p.z - host[j].z;
                double d = (double)prm.h2 - (dx * dx + dy * dy + dz * dz);
                if (d > 0) sum += host[j].mass * d * d * d;
            }
        }
        double want = sum * prm.poly6;
        if (!(fabs(want - hrho[i]) <= 1e-3 * want + 1e-4)) bad++;
        double drag = 1.0 / (1.0 + prm.dt * want), vy = p.vy * drag - prm.gravity * prm.dt;
        double y = p.y + vy * prm.dt;
        if (!(fabs(fabs(y) - out[i].y) < 1e-5)) bad++;
        if (!(fabs(p.x + p.vx * drag * prm.dt - out[i].x) < 1e-5)) bad++;
    }
    cudaFree(dp); cudaFree(cellOf); cudaFree(rank); cudaFree(sid);
    cudaFree(count); cudaFree(start); cudaFree(pm); cudaFree(rho);
    if (bad) { printf("FAIL: %d\n", bad); return 1; }
    printf("OK\n");
    return 0;
}
