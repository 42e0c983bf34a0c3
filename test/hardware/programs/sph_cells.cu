// Smoothed particle hydrodynamics on a uniform grid: cell counts, scan, counting sort, density and forces.
#include <cuda_runtime.h>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

typedef unsigned int uint;

struct SimParams {
    uint3 gridSize;
    uint numCells, numBodies;
    float cellSize, h, mass, restDensity, stiffness, viscosity, poly6, spikyGrad, viscLap;
    float3 gravity;
};
__constant__ SimParams params;

#define checkCudaErrors(val) do { cudaError_t r = (val); if (r != cudaSuccess) { \
    fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\"\n", __FILE__, __LINE__, (int)r, #val); exit(EXIT_FAILURE); } } while (0)

__host__ __device__ inline int3 calcGridPos(float4 p, const SimParams &q)
{
    return make_int3((int)floorf(p.x / q.cellSize), (int)floorf(p.y / q.cellSize), (int)floorf(p.z / q.cellSize));
}
__host__ __device__ inline bool inGrid(int3 c, const SimParams &q)
{
    return c.x >= 0 && c.y >= 0 && c.z >= 0 && c.x < (int)q.gridSize.x && c.y < (int)q.gridSize.y && c.z < (int)q.gridSize.z;
}
__host__ __device__ inline uint calcCell(int3 c, const SimParams &q) { return (c.z * q.gridSize.y + c.y) * q.gridSize.x + c.x; }

__global__ void countCells(const float4 *pos, uint *cellOf, uint *slot, uint *counts)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= params.numBodies) return;
    uint c = calcCell(calcGridPos(pos[i], params), params);
    cellOf[i] = c;
    slot[i] = atomicAdd(&counts[c], 1u);
}

// Exclusive scan by one block, several cells per thread.
__global__ void scanCells(const uint *counts, uint *start)
{
    __shared__ uint sums[1024];
    const uint per = (params.numCells + blockDim.x - 1) / blockDim.x, first = threadIdx.x * per;
    uint s = 0;
    for (uint k = 0; k < per; k++)
        if (first + k < params.numCells) s += counts[first + k];
    sums[threadIdx.x] = s;
    __syncthreads();
    for (uint off = 1; off < blockDim.x; off <<= 1) {
        uint v = threadIdx.x >= off ? sums[threadIdx.x - off] : 0;
        __syncthreads();
        sums[threadIdx.x] += v;
        __syncthreads();
    }
    uint run = sums[threadIdx.x] - s;
    for (uint k = 0; k < per; k++)
        if (first + k < params.numCells) {
            start[first + k] = run;
            run += counts[first + k];
        }
    if (threadIdx.x == blockDim.x - 1) start[params.numCells] = run;
}

__global__ void reorder(const float4 *pos, const float4 *vel, const uint *cellOf, const uint *slot, const uint *start,
                        float4 *sortedPos, float4 *sortedVel, uint *origin)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= params.numBodies) return;
    uint to = start[cellOf[i]] + slot[i];
    sortedPos[to] = pos[i];
    sortedVel[to] = vel[i];
    origin[to] = i;
}

__global__ void computeDensity(const float4 *sortedPos, const uint *start, float2 *densityPressure)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= params.numBodies) return;
    float4 p = sortedPos[i];
    int3 g = calcGridPos(p, params);
    float h2 = params.h * params.h, sum = 0.f;
    for (int z = -1; z <= 1; z++)
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++) {
                int3 n = make_int3(g.x + x, g.y + y, g.z + z);
                if (!inGrid(n, params)) continue;
                uint c = calcCell(n, params);
                for (uint j = start[c]; j < start[c + 1]; j++) {
                    float4 q = sortedPos[j];
                    float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z, r2 = dx * dx + dy * dy + dz * dz;
                    if (r2 < h2) {
                        float d = h2 - r2;
                        sum += d * d * d;
                    }
                }
            }
    float rho = params.mass * params.poly6 * sum;
    densityPressure[i] = make_float2(rho, params.stiffness * (rho - params.restDensity));
}

// Rows of three cells in x are consecutive in the sorted order: one range each. Result goes back to the particle's own place.
__global__ void __launch_bounds__(128) computeForces(const float4 *__restrict__ pos, const float4 *__restrict__ vel,
                                                     const float2 *__restrict__ rhoP, const uint *__restrict__ start,
                                                     const uint *__restrict__ origin, float4 *__restrict__ accel)
{
    const uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= params.numBodies) return;
    const float4 p = pos[i], v = vel[i];
    const float2 self = rhoP[i];
    const int3 g = calcGridPos(p, params);
    const int x0 = max(g.x - 1, 0), x1 = min(g.x + 1, (int)params.gridSize.x - 1);
    float3 f = make_float3(0.f, 0.f, 0.f);
    for (int z = max(g.z - 1, 0); z <= min(g.z + 1, (int)params.gridSize.z - 1); z++)
        for (int y = max(g.y - 1, 0); y <= min(g.y + 1, (int)params.gridSize.y - 1); y++) {
            const uint begin = start[calcCell(make_int3(x0, y, z), params)], end = start[calcCell(make_int3(x1, y, z), params) + 1];
            for (uint j = begin; j < end; j++) {
                if (j == i) continue;
                const float4 q = pos[j];
                const float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z, r2 = dx * dx + dy * dy + dz * dz;
                if (r2 >= params.h * params.h || r2 < 1e-12f) continue;
                const float r = sqrtf(r2), w = params.h - r;
                const float2 other = rhoP[j];
                const float4 u = vel[j];
                const float pressure = -params.mass * 0.5f * (self.y + other.y) / other.x * params.spikyGrad * w * w / r;
                const float visc = params.viscosity * params.mass / other.x * params.viscLap * w;
                f.x += pressure * dx + visc * (u.x - v.x);
                f.y += pressure * dy + visc * (u.y - v.y);
                f.z += pressure * dz + visc * (u.z - v.z);
            }
        }
    accel[origin[i]] = make_float4(f.x / self.x + params.gravity.x, f.y / self.x + params.gravity.y, f.z / self.x + params.gravity.z, self.x);
}

int main(int argc, char **argv)
{
    const int side = argc > 1 ? atoi(argv[1]) : 32;
    SimParams h = {};
    h.gridSize = make_uint3(side / 2, side / 2, side / 2);
    h.numCells = h.gridSize.x * h.gridSize.y * h.gridSize.z;
    h.numBodies = side * side * side;
    h.h = h.cellSize = 2.0f / side;
    h.mass = 1000.f / h.numBodies;
    h.restDensity = 1000.f;
    h.stiffness = 3.f;
    h.viscosity = 0.5f;
    h.poly6 = 315.f / (64.f * (float)M_PI * powf(h.h, 9));
    h.spikyGrad = -45.f / ((float)M_PI * powf(h.h, 6));
    h.viscLap = 45.f / ((float)M_PI * powf(h.h, 6));
    h.gravity = make_float3(0, -9.81f, 0);
    checkCudaErrors(cudaMemcpyToSymbol(params, &h, sizeof h));

    const uint n = h.numBodies;
    std::vector<float4> pos(n), vel(n);
    uint lcg = 9;
    auto jitter = [&lcg]() { lcg = lcg * 1664525u + 1013904223u; return ((lcg >> 9) & 1023) / 1024.f; };
    for (uint i = 0; i < n; i++) {
        uint k = (i * 12289u) % n;                // particles come in a shuffled order (n is a power of two)
        pos[i] = make_float4((k % side + 0.1f + 0.8f * jitter()) / side, (k / side % side + 0.1f + 0.8f * jitter()) / side,
                             (k / side / side + 0.1f + 0.8f * jitter()) / side, 1.f);
        vel[i] = make_float4(sinf(6 * pos[i].y), -cosf(5 * pos[i].x), 0.3f * jitter(), 0.f);
    }
    float4 *dPos, *dVel, *dSPos, *dSVel, *dAcc;
    float2 *dRho;
    uint *dCell, *dSlot, *dCount, *dStart, *dOrigin;
    for (float4 **p : {&dPos, &dVel, &dSPos, &dSVel, &dAcc}) checkCudaErrors(cudaMalloc(p, n * sizeof(float4)));
    for (uint **p : {&dCell, &dSlot, &dOrigin}) checkCudaErrors(cudaMalloc(p, n * sizeof(uint)));
    checkCudaErrors(cudaMalloc(&dRho, n * sizeof(float2)));
    checkCudaErrors(cudaMalloc(&dCount, h.numCells * sizeof(uint)));
    checkCudaErrors(cudaMalloc(&dStart, (h.numCells + 1) * sizeof(uint)));
    checkCudaErrors(cudaMemset(dCount, 0, h.numCells * sizeof(uint)));
    checkCudaErrors(cudaMemcpy(dPos, pos.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    checkCudaErrors(cudaMemcpy(dVel, vel.data(), n * sizeof(float4), cudaMemcpyHostToDevice));

    const uint threads = 128, blocks = (n + threads - 1) / threads;
    countCells<<<blocks, threads>>>(dPos, dCell, dSlot, dCount);
    scanCells<<<1, 1024>>>(dCount, dStart);
    reorder<<<blocks, threads>>>(dPos, dVel, dCell, dSlot, dStart, dSPos, dSVel, dOrigin);
    computeDensity<<<blocks, threads>>>(dSPos, dStart, dRho);
    computeForces<<<blocks, threads>>>(dSPos, dSVel, dRho, dStart, dOrigin, dAcc);
    checkCudaErrors(cudaGetLastError());
    std::vector<float4> got(n);
    checkCudaErrors(cudaMemcpy(got.data(), dAcc, n * sizeof(float4), cudaMemcpyDeviceToHost));

    // the host keeps lists of the particles of each cell
    std::vector<std::vector<uint>> cells(h.numCells);
    for (uint i = 0; i < n; i++) cells[calcCell(calcGridPos(pos[i], h), h)].push_back(i);
    auto neighbours = [&](uint i, auto visit) {
        int3 g = calcGridPos(pos[i], h);
        for (int k = 0; k < 27; k++) {
            int3 c = make_int3(g.x + k % 3 - 1, g.y + k / 3 % 3 - 1, g.z + k / 9 - 1);
            if (!inGrid(c, h)) continue;
            for (uint j : cells[calcCell(c, h)]) {
                double dx = pos[i].x - pos[j].x, dy = pos[i].y - pos[j].y, dz = pos[i].z - pos[j].z, r2 = dx * dx + dy * dy + dz * dz;
                if (r2 < (double)h.h * h.h) visit(j, dx, dy, dz, r2);
            }
        }
    };
    std::vector<double> rho(n);
    for (uint i = 0; i < n; i++) {
        double s = 0;
        neighbours(i, [&](uint, double, double, double, double r2) { s += pow((double)h.h * h.h - r2, 3); });
        rho[i] = h.mass * h.poly6 * s;
    }
    int bad = 0;
    for (uint i = 0; i < n; i++) {
        double f[3] = {0, 0, 0}, scale = 0;
        neighbours(i, [&](uint j, double dx, double dy, double dz, double r2) {
            if (j == i || r2 < 1e-12) return;
            double r = sqrt(r2), w = h.h - r;
            double pr = -h.mass * 0.5 * h.stiffness * (rho[i] + rho[j] - 2 * h.restDensity) / rho[j] * h.spikyGrad * w * w / r;
            double vi = h.viscosity * h.mass / rho[j] * h.viscLap * w;
            f[0] += pr * dx + vi * (vel[j].x - vel[i].x);
            f[1] += pr * dy + vi * (vel[j].y - vel[i].y);
            f[2] += pr * dz + vi * (vel[j].z - vel[i].z);
            scale += fabs(pr) * r + vi;
        });
        double e = fmax(fabs(f[0] / rho[i] - got[i].x), fmax(fabs(f[1] / rho[i] + h.gravity.y - got[i].y), fabs(f[2] / rho[i] - got[i].z)));
        if (!(e < 1e-3 * (scale / rho[i] + 10)) || !(fabs(rho[i] - got[i].w) < 1e-3 * rho[i])) bad++;
    }
    double mean = std::accumulate(rho.begin(), rho.end(), 0.0) / n;
    printf("mean density %.2f, %d of %u particles wrong\n", mean, bad, n);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
