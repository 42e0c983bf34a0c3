#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include "../include/scanner.hpp"
#include "../include/traverse.cuh"

namespace {

inline void check(cudaError_t e) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "scanner: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

__device__ inline bool blocks_ray(unsigned char v) { return v != 0; }
__device__ inline bool blocks_ray(float density) { return density > 0.5f; }

template <class Cell, class Layout>
__global__ void shoot(GridDims g, Vec3 origin, const Vec3* __restrict__ dirs, int rays, const Cell* __restrict__ world,
                      RayHit* __restrict__ hits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rays) return;
    RayHit h{-1.0f, -1, 0};
    traverse(g, origin, dirs[i], [&](int x, int y, int z, float t) {
        ++h.steps;
        if (!blocks_ray(world[Layout::at(g, x, y, z)])) return true;
        h.range = t;
        h.cell = RowMajor::at(g, x, y, z);
        return false;
    });
    hits[i] = h;
}

template <class Cell>
Cell as_cell(bool solid);
template <>
unsigned char as_cell<unsigned char>(bool solid) { return solid ? 1 : 0; }
template <>
float as_cell<float>(bool solid) { return solid ? 0.9f : 0.1f; }

}  // namespace

template <class Cell, class Layout>
Scanner<Cell, Layout>::Scanner(const GridDims& g, const std::vector<Vec3>& dirs) : g_(g), rays_(int(dirs.size())) {
    std::vector<Cell> w(g.cells());
    for (int z = 0; z < g.nz; ++z)
        for (int y = 0; y < g.ny; ++y)
            for (int x = 0; x < g.nx; ++x) w[Layout::at(g, x, y, z)] = as_cell<Cell>(solid_at(g, x, y, z));
    check(cudaMalloc(&world_, w.size() * sizeof(Cell)));
    check(cudaMalloc(&dirs_, rays_ * sizeof(Vec3)));
    check(cudaMalloc(&hits_, rays_ * sizeof(RayHit)));
    check(cudaMemcpy(world_, w.data(), w.size() * sizeof(Cell), cudaMemcpyHostToDevice));
    check(cudaMemcpy(dirs_, dirs.data(), rays_ * sizeof(Vec3), cudaMemcpyHostToDevice));
}

template <class Cell, class Layout>
Scanner<Cell, Layout>::~Scanner() {
    cudaFree(world_);
    cudaFree(dirs_);
    cudaFree(hits_);
}

template <class Cell, class Layout>
std::vector<RayHit> Scanner<Cell, Layout>::scan(const Pose& pose) {
    const int block = 128;
    shoot<Cell, Layout><<<(rays_ + block - 1) / block, block>>>(g_, pose.origin, dirs_, rays_, world_, hits_);
    check(cudaGetLastError());
    std::vector<RayHit> h(rays_);
    check(cudaMemcpy(h.data(), hits_, rays_ * sizeof(RayHit), cudaMemcpyDeviceToHost));
    return h;
}

template class Scanner<unsigned char, RowMajor>;
template class Scanner<unsigned char, Bricks>;
template class Scanner<float, RowMajor>;
