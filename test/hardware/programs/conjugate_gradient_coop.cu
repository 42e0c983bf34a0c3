// Matrix-free CG on a 3-D Poisson problem: one cooperative-groups persistent kernel vs separate launches for one step.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>
namespace cg = cooperative_groups;

struct Grid3 {
    int nx, ny, nz;
    __host__ __device__ int size() const { return nx * ny * nz; }
    template <class P> __host__ __device__ double apply(const P& p, int i) const {
        int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
        double s = 6.1 * p[i];
        if (x > 0) s -= p[i - 1];
        if (x < nx - 1) s -= p[i + 1];
        if (y > 0) s -= p[i - nx];
        if (y < ny - 1) s -= p[i + nx];
        if (z > 0) s -= p[i - nx * ny];
        if (z < nz - 1) s -= p[i + nx * ny];
        return s;
    }
};

__device__ double block_sum(double v) {
    __shared__ double s[32];
    auto blk = cg::this_thread_block();
    auto w = cg::tiled_partition<32>(blk);
    for (int o = 16; o; o >>= 1) v += w.shfl_down(v, o);
    blk.sync();
    if (w.thread_rank() == 0) s[threadIdx.x / 32] = v;
    blk.sync();
    v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0.0;
    if (threadIdx.x < 32) for (int o = 16; o; o >>= 1) v += w.shfl_down(v, o);
    return v;    // valid in thread 0
}

__global__ void cg_persistent(Grid3 g, const double* b, double* x, double* r, double* p, double* q, double* dots, int iters) {
    cg::grid_group grid = cg::this_grid();
    int t0 = grid.thread_rank(), nt = grid.size(), n = g.size();
    double s = 0;
    for (int i = t0; i < n; i += nt) { x[i] = 0; r[i] = p[i] = b[i]; s += b[i] * b[i]; }
    s = block_sum(s);
    if (threadIdx.x == 0) atomicAdd(dots, s);
    grid.sync();
    for (int it = 0; it < iters; ++it) {
        double rr = ((volatile double*)dots)[2 * it];
        s = 0;
        for (int i = t0; i < n; i += nt) { double v = g.apply(p, i); q[i] = v; s += v * p[i]; }
        s = block_sum(s);
        if (threadIdx.x == 0) atomicAdd(dots + 2 * it + 1, s);
        grid.sync();
        double alpha = rr / ((volatile double*)dots)[2 * it + 1];
        s = 0;
        for (int i = t0; i < n; i += nt) { x[i] += alpha * p[i]; double v = r[i] - alpha * q[i]; r[i] = v; s += v * v; }
        s = block_sum(s);
        if (threadIdx.x == 0) atomicAdd(dots + 2 * it + 2, s);
        grid.sync();
        double beta = ((volatile double*)dots)[2 * it + 2] / rr;
        for (int i = t0; i < n; i += nt) p[i] = r[i] + beta * p[i];
        grid.sync();
    }
}

// plain kernels to measure the true residual
__global__ void residual(Grid3 g, const double* __restrict__ b, const double* __restrict__ x, double* __restrict__ r) {
    int x0 = blockIdx.x * blockDim.x + threadIdx.x, y0 = blockIdx.y * blockDim.y + threadIdx.y, z0 = blockIdx.z * blockDim.z + threadIdx.z;
    if (x0 >= g.nx || y0 >= g.ny || z0 >= g.nz) return;
    int i = (z0 * g.ny + y0) * g.nx + x0;
    r[i] = b[i] - g.apply(x, i);
}
__global__ void norm2(const double* r, int n, double* out) {
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += r[i] * r[i];
    s = block_sum(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

int main() {
    Grid3 g{50, 44, 38};
    int n = g.size(), iters = 25;
    std::vector<double> b(n), x(n, 0), r, p, q(n), hx(n);
    for (int i = 0; i < n; ++i) b[i] = sin(0.001 * i) + ((i * 7919) % 13) * 0.1;
    double *db, *dx, *dr, *dp, *dq, *dd;
    for (double** v : {&db, &dx, &dr, &dp, &dq}) cudaMalloc(v, n * 8);
    cudaMalloc(&dd, 128 * 8); cudaMemset(dd, 0, 128 * 8);
    cudaMemcpy(db, b.data(), n * 8, cudaMemcpyHostToDevice);
    int per = 0, sms = 0;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, cg_persistent, 256, 0);
    int blocks = std::min(sms * std::min(per, 2), (n + 255) / 256);
    void* args[] = {&g, &db, &dx, &dr, &dp, &dq, &dd, &iters};
    cudaLaunchCooperativeKernel((void*)cg_persistent, dim3(blocks), dim3(256), args, 0, 0);
    residual<<<dim3((50 + 9) / 10, (44 + 5) / 6, (38 + 3) / 4), dim3(10, 6, 4)>>>(g, db, dx, dr);
    norm2<<<60, 256>>>(dr, n, dd + 127);
    double h[128];
    cudaMemcpy(h, dd, sizeof h, cudaMemcpyDeviceToHost); cudaMemcpy(hx.data(), dx, n * 8, cudaMemcpyDeviceToHost);
    r = p = b;
    double rr = 0, e = 0;
    for (double v : b) rr += v * v;
    double r0 = rr;
    for (int it = 0; it < iters; ++it) {
        double pq = 0, rn = 0;
        for (int i = 0; i < n; ++i) { q[i] = g.apply(p, i); pq += q[i] * p[i]; }
        for (int i = 0; i < n; ++i) { x[i] += rr / pq * p[i]; r[i] -= rr / pq * q[i]; rn += r[i] * r[i]; }
        for (int i = 0; i < n; ++i) p[i] = r[i] + rn / rr * p[i];
        rr = rn;
    }
    for (int i = 0; i < n; ++i) e = fmax(e, fabs(x[i] - hx[i]));
    printf("|r|/|b| %g (true %g, cpu %g) err %g\n", sqrt(h[2 * iters] / r0), sqrt(h[127] / r0), sqrt(rr / r0), e);
    bool ok = cudaGetLastError() == cudaSuccess && e < 1e-8 && fabs(h[127] - rr) < 1e-6 * rr + 1e-12 * r0;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
