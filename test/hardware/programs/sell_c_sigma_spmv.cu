/* Sparse matrix-vector products on a 7-point stencil with random extra entries.
   CSR scalar, CSR vector (sub-warp), ELL row-major (bad), SELL-32-sigma column-major; then 3 Jacobi sweeps on SELL. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <algorithm>
#include <numeric>
#include <cuda_runtime.h>
typedef double T;
enum { C = 32 };

__global__ void csr_scalar(int n, const int* rp, const int* ci, const T* v, const T* x, T* y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        T s = 0;
        for (int k = rp[r]; k < rp[r + 1]; k++) s += v[k] * x[ci[k]];
        y[r] = s;
    }
}
template <int LANES>
__global__ void csr_vector(int n, const int* __restrict__ rp, const int* __restrict__ ci, const T* __restrict__ v, const T* __restrict__ x, T* __restrict__ y) {
    int g = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    T s = 0;
    if (g < n) for (int k = rp[g] + lane; k < rp[g + 1]; k += LANES) s += v[k] * __ldg(x + ci[k]);
#pragma unroll
    for (int o = LANES / 2; o; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o, LANES);
    if (g < n && lane == 0) y[g] = s;
}
__global__ void ell_rowmajor(int n, int width, const int* ci, const T* v, const T* x, T* y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    T s = 0;
    for (int k = 0; k < width; k++) {
        int c = ci[r * width + k];
        if (c >= 0) s += v[r * width + k] * x[c];
    }
    y[r] = s;
}
__global__ void sell_spmv(int n, const int* __restrict__ cptr, const int* __restrict__ ci, const T* __restrict__ v, const int* __restrict__ perm, const T* __restrict__ x, T* __restrict__ y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    int c = r / C, base = cptr[c] + r % C, w = (cptr[c + 1] - cptr[c]) / C;
    T s = 0;
    for (int k = 0; k < w; k++) s += v[base + k * C] * x[ci[base + k * C]];
    y[perm[r]] = s;
}
__global__ void sell_jacobi(int n, const int* __restrict__ cptr, const int* __restrict__ ci, const T* __restrict__ v, const int* __restrict__ perm,
                            const T* __restrict__ dinv, const T* __restrict__ b, const T* __restrict__ x, T* __restrict__ xn) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    int c = r / C, base = cptr[c] + (r & (C - 1)), w = (cptr[c + 1] - cptr[c]) >> 5, row = perm[r];
    T s = b[row];
    for (int k = 0; k < w; k++) s -= v[base + k * C] * x[ci[base + k * C]];
    xn[row] = x[row] + 0.7 * s * dinv[row];
}
template <class V> static V* up(const std::vector<V>& h) {
    V* d; if (cudaMalloc(&d, h.size() * sizeof(V))) exit(3);
    cudaMemcpy(d, h.data(), h.size() * sizeof(V), cudaMemcpyHostToDevice);
    return d;
}

int main(void) {
    const int nx = 40, ny = 36, nz = 31, n = nx * ny * nz;
    std::vector<int> rp(1, 0), ci; std::vector<T> v, dinv(n);
    unsigned s = 1u;
    for (int r = 0; r < n; r++) {
        int x = r % nx, y = r / nx % ny, z = r / (nx * ny);
        std::vector<int> cs;
        if (z) cs.push_back(r - nx * ny); if (y) cs.push_back(r - nx); if (x) cs.push_back(r - 1);
        if (x < nx - 1) cs.push_back(r + 1); if (y < ny - 1) cs.push_back(r + nx); if (z < nz - 1) cs.push_back(r + nx * ny);
        s = s * 1664525u + 1013904223u;
        int extra = (s >> 28) == 0 ? 12 : 0;
        for (int k = 0; k < extra; k++) { s = s * 1664525u + 1013904223u; cs.push_back((s >> 8) % n); }
        cs.push_back(r);
        std::sort(cs.begin(), cs.end()); cs.erase(std::unique(cs.begin(), cs.end()), cs.end());
        T d = cs.size() + 0.5; dinv[r] = 1 / d;
        for (int c : cs) { ci.push_back(c); v.push_back(c == r ? d : -1.0); }
        rp.push_back(ci.size());
    }
    int width = 0;
    for (int r = 0; r < n; r++) width = std::max(width, rp[r + 1] - rp[r]);
    std::vector<int> eci((size_t)n * width, -1); std::vector<T> ev((size_t)n * width, 0);
    for (int r = 0; r < n; r++) for (int k = rp[r]; k < rp[r + 1]; k++) { eci[r * width + k - rp[r]] = ci[k]; ev[r * width + k - rp[r]] = v[k]; }
    std::vector<int> perm(n); std::iota(perm.begin(), perm.end(), 0);
    const int sigma = 1024;
    for (int b = 0; b < n; b += sigma) std::stable_sort(perm.begin() + b, perm.begin() + std::min(n, b + sigma), [&](int p, int q) { return rp[p + 1] - rp[p] > rp[q + 1] - rp[q]; });
    int nch = (n + C - 1) / C; std::vector<int> cptr(nch + 1, 0), sci; std::vector<T> sv;
    for (int c = 0; c < nch; c++) {
        int w = 0;
        for (int q = c * C; q < std::min(n, (c + 1) * C); q++) w = std::max(w, rp[perm[q] + 1] - rp[perm[q]]);
        cptr[c + 1] = cptr[c] + w * C;
        sci.resize(cptr[c + 1], 0); sv.resize(cptr[c + 1], 0);
        for (int q = c * C; q < std::min(n, (c + 1) * C); q++) for (int k = rp[perm[q]]; k < rp[perm[q] + 1]; k++) { int p = cptr[c] + (k - rp[perm[q]]) * C + q % C; sci[p] = ci[k]; sv[p] = v[k]; }
    }
    std::vector<T> x(n), b(n), ref(n), o(n);
    for (int i = 0; i < n; i++) { x[i] = sin(0.01 * i); b[i] = cos(0.02 * i); }
    int *drp = up(rp), *dci = up(ci), *deci = up(eci), *dcp = up(cptr), *dsci = up(sci), *dperm = up(perm);
    T *dv = up(v), *dev = up(ev), *dsv = up(sv), *dx = up(x), *db = up(b), *ddi = up(dinv), *y[4], *x2 = up(x);
    for (int k = 0; k < 4; k++) cudaMalloc(&y[k], n * sizeof(T));
    csr_scalar<<<(n + 127) / 128, 128>>>(n, drp, dci, dv, dx, y[0]);
    csr_vector<8><<<(n * 8 + 255) / 256, 256>>>(n, drp, dci, dv, dx, y[1]);
    ell_rowmajor<<<(n + 127) / 128, 128>>>(n, width, deci, dev, dx, y[2]);
    sell_spmv<<<(n + 127) / 128, 128>>>(n, dcp, dsci, dsv, dperm, dx, y[3]);
    double err = 0;
    for (int r = 0; r < n; r++) { ref[r] = 0; for (int k = rp[r]; k < rp[r + 1]; k++) ref[r] += v[k] * x[ci[k]]; }
    for (int k = 0; k < 4; k++) {
        cudaMemcpy(o.data(), y[k], n * sizeof(T), cudaMemcpyDeviceToHost);
        for (int r = 0; r < n; r++) err = fmax(err, fabs(o[r] - ref[r]));
    }
    for (int it = 0; it < 3; it++) {
        sell_jacobi<<<(n + 95) / 96, 96>>>(n, dcp, dsci, dsv, dperm, ddi, db, dx, x2);
        std::swap(dx, x2);
        for (int r = 0; r < n; r++) { T q = b[r]; for (int k = rp[r]; k < rp[r + 1]; k++) q -= v[k] * x[ci[k]]; ref[r] = x[r] + 0.7 * q * dinv[r]; }
        x = ref;
    }
    cudaMemcpy(o.data(), dx, n * sizeof(T), cudaMemcpyDeviceToHost);
    for (int r = 0; r < n; r++) err = fmax(err, fabs(o[r] - x[r]));
    printf("n %d nnz %zu width %d err %g\n", n, ci.size(), width, err);
    int ok = err < 1e-11 && cudaGetLastError() == cudaSuccess;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
