#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include "../include/scanner.hpp"
#include "../include/traverse.cuh"

namespace {

inline void check(cudaError_t e) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "carving: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

// Scatter: every cell a ray passes loses a little, the last one gains.
__global__ void accumulate(GridDims g, Vec3 origin, const Vec3* __restrict__ dirs, const RayHit* __restrict__ hits,
                           int rays, int* __restrict__ evidence) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rays) return;
    int left = hits[i].steps;
    int hit = hits[i].cell;
    traverse(g, origin, dirs[i], [&](int x, int y, int z, float) {
        int at = RowMajor::at(g, x, y, z);
        atomicAdd(&evidence[at], at == hit ? kHitWeight : -kMissWeight);
        return --left > 0;
    });
}

__global__ void count_occupied(const int4* __restrict__ evidence, int n4, int* total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int c = 0;
    if (i < n4) {
        int4 e = evidence[i];
        c = (e.x >= kOccupiedAt) + (e.y >= kOccupiedAt) + (e.z >= kOccupiedAt) + (e.w >= kOccupiedAt);
    }
    for (int d = 16; d > 0; d >>= 1) c += __shfl_down_sync(0xffffffffu, c, d);
    if ((threadIdx.x & 31) == 0 && c) atomicAdd(total, c);
}

__global__ void emit_occupied(const int* __restrict__ evidence, int n, int* cursor, int* __restrict__ list) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && evidence[i] >= kOccupiedAt) list[atomicAdd(cursor, 1)] = i;
}

}  // namespace

CarvedMap carve(const GridDims& g, const std::vector<Vec3>& dirs, const std::vector<Pose>& poses,
                const std::vector<std::vector<RayHit>>& hits) {
    int rays = int(dirs.size()), cells = g.cells();
    Vec3* d_dirs;
    RayHit* d_hits;
    int *evidence, *counters, *list;
    check(cudaMalloc(&d_dirs, rays * sizeof(Vec3)));
    check(cudaMalloc(&d_hits, rays * sizeof(RayHit)));
    check(cudaMalloc(&evidence, cells * sizeof(int)));
    check(cudaMalloc(&counters, 2 * sizeof(int)));
    check(cudaMemset(evidence, 0, cells * sizeof(int)));
    check(cudaMemset(counters, 0, 2 * sizeof(int)));
    check(cudaMemcpy(d_dirs, dirs.data(), rays * sizeof(Vec3), cudaMemcpyHostToDevice));
    for (size_t p = 0; p < poses.size(); ++p) {
        check(cudaMemcpy(d_hits, hits[p].data(), rays * sizeof(RayHit), cudaMemcpyHostToDevice));
        accumulate<<<(rays + 191) / 192, 192>>>(g, poses[p].origin, d_dirs, d_hits, rays, evidence);
    }
    count_occupied<<<(cells / 4 + 255) / 256, 256>>>(reinterpret_cast<const int4*>(evidence), cells / 4, counters);
    int occupied = 0;
    check(cudaMemcpy(&occupied, counters, sizeof(int), cudaMemcpyDeviceToHost));
    check(cudaMalloc(&list, std::max(1, occupied) * sizeof(int)));
    emit_occupied<<<(cells + 255) / 256, 256>>>(evidence, cells, counters + 1, list);
    CarvedMap m;
    m.evidence.resize(cells);
    m.occupied.resize(occupied);
    check(cudaMemcpy(m.evidence.data(), evidence, cells * sizeof(int), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(m.occupied.data(), list, occupied * sizeof(int), cudaMemcpyDeviceToHost));
    std::sort(m.occupied.begin(), m.occupied.end());
    cudaFree(d_dirs); cudaFree(d_hits); cudaFree(evidence); cudaFree(counters); cudaFree(list);
    return m;
}
