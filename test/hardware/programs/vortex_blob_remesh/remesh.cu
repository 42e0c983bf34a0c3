#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include "advect.h"
#include "biot_savart.cuh"

#define GPU(call)                                                            \
    do {                                                                     \
        cudaError_t e_ = (call);                                             \
        if (e_ != cudaSuccess) {                                             \
            std::fprintf(stderr, "remesh: %s\n", cudaGetErrorString(e_));    \
            std::exit(1);                                                    \
        }                                                                    \
    } while (0)

struct GridShape {
    int n;
    float origin, inv_h;
};
__constant__ GridShape k_grid;

__global__ void scatter_blobs(const Blob* __restrict__ b, int count, float* grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Blob p = b[i];
    float gx = (p.x - k_grid.origin) * k_grid.inv_h, gy = (p.y - k_grid.origin) * k_grid.inv_h;
    int ix = int(floorf(gx)), iy = int(floorf(gy));
    float wx[4], wy[4];
    for (int k = 0; k < 4; ++k) {
        wx[k] = m4prime(gx - float(ix - 1 + k));
        wy[k] = m4prime(gy - float(iy - 1 + k));
    }
    for (int r = 0; r < 4; ++r) {
        int yy = iy - 1 + r;
        if (yy < 0 || yy >= k_grid.n) continue;
        for (int c = 0; c < 4; ++c) {
            int xx = ix - 1 + c;
            if (xx >= 0 && xx < k_grid.n) atomicAdd(&grid[yy * k_grid.n + xx], p.gamma * wx[c] * wy[r]);
        }
    }
}

// number of strong cells in every grid row: one warp per row
__global__ void strong_cells_per_row(const float* __restrict__ grid, float tol, int* __restrict__ per_row) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= k_grid.n) return;
    int c = 0;
    for (int x = lane; x < k_grid.n; x += 32) c += fabsf(grid[row * k_grid.n + x]) > tol;
    for (int d = 16; d; d >>= 1) c += __shfl_xor_sync(0xffffffffu, c, d);
    if (lane == 0) per_row[row] = c;
}

// one thread per row writes the ids, rows are contiguous in the output
__global__ void list_strong_cells(const float* __restrict__ grid, float tol, const int* __restrict__ offset,
                                  int* __restrict__ out) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= k_grid.n) return;
    int o = offset[row];
    for (int x = 0; x < k_grid.n; ++x)
        if (fabsf(grid[row * k_grid.n + x]) > tol) out[o++] = row * k_grid.n + x;
}

int remesh(const DeviceFlow& f, const FlowConfig& c, float tol, std::vector<float>& grid, std::vector<int>& active) {
    GridShape s{c.grid, -c.half_width, float(c.grid - 1) / (2.0f * c.half_width)};
    GPU(cudaMemcpyToSymbol(k_grid, &s, sizeof s));
    float* d_grid;
    int *d_rows, *d_off, *d_list;
    size_t cells = size_t(c.grid) * c.grid;
    GPU(cudaMalloc(&d_grid, cells * sizeof(float)));
    GPU(cudaMalloc(&d_rows, c.grid * sizeof(int)));
    GPU(cudaMalloc(&d_off, c.grid * sizeof(int)));
    GPU(cudaMemset(d_grid, 0, cells * sizeof(float)));
    scatter_blobs<<<(c.blobs + 127) / 128, 128>>>(f.blobs, c.blobs, d_grid);
    strong_cells_per_row<<<(c.grid + 3) / 4, 128>>>(d_grid, tol, d_rows);

    std::vector<int> rows(c.grid), off(c.grid);
    GPU(cudaMemcpy(rows.data(), d_rows, c.grid * sizeof(int), cudaMemcpyDeviceToHost));
    int total = 0;
    for (int r = 0; r < c.grid; ++r) {
        off[r] = total;
        total += rows[r];
    }
    GPU(cudaMemcpy(d_off, off.data(), c.grid * sizeof(int), cudaMemcpyHostToDevice));
    GPU(cudaMalloc(&d_list, (total + 1) * sizeof(int)));
    list_strong_cells<<<(c.grid + 31) / 32, 32>>>(d_grid, tol, d_off, d_list);
    active.resize(total);
    grid.resize(cells);
    GPU(cudaMemcpy(active.data(), d_list, total * sizeof(int), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(grid.data(), d_grid, cells * sizeof(float), cudaMemcpyDeviceToHost));
    cudaFree(d_grid); cudaFree(d_rows); cudaFree(d_off); cudaFree(d_list);
    return total;
}
