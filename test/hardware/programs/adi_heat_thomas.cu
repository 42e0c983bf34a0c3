// ADI for the 2-D heat equation. Row sweeps and column sweeps with the Thomas algorithm:
// one thread per line (row sweep is uncoalesced), and parallel cyclic reduction in shared memory for rows.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <cstring>
#include <vector>
typedef double real;
constexpr int NXX = 256, NYY = 200;

struct Line { int count, stride_line, stride_elem, len; };   // generic strided batches

__global__ void explicit_half(const real* __restrict__ u, real* rhs, real r, bool alongY) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= NXX || j >= NYY) return;
    int id = j * NXX + i;
    real lo, hi;
    if (alongY) { lo = j ? u[id - NXX] : 0.0; hi = j < NYY - 1 ? u[id + NXX] : 0.0; }
    else { lo = i ? u[id - 1] : 0.0; hi = i < NXX - 1 ? u[id + 1] : 0.0; }
    rhs[id] = u[id] + r * (lo - 2.0 * u[id] + hi);
}

__global__ void thomas_strided(const real* d, real* x, real* cp, Line L, real r) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= L.count) return;
    size_t o = (size_t)t * L.stride_line;
    real b = 1.0 + 2.0 * r, a = -r;
    real c = a / b, y = d[o] / b;
    cp[o] = c; x[o] = y;
    for (int k = 1; k < L.len; ++k) {
        size_t q = o + (size_t)k * L.stride_elem;
        real m = 1.0 / (b - a * c);
        c = a * m;
        y = (d[q] - a * y) * m;
        cp[q] = c; x[q] = y;
    }
    for (int k = L.len - 2; k >= 0; --k) {
        size_t q = o + (size_t)k * L.stride_elem;
        y = x[q] - cp[q] * y;
        x[q] = y;
    }
}

// one block per row, one thread per unknown (len <= 256)
__global__ void pcr_rows(const real* __restrict__ d, real* __restrict__ x, int len, real r) {
    extern __shared__ real sh[];
    real *A = sh, *B = A + len, *C = B + len, *D = C + len;
    int i = threadIdx.x, o = blockIdx.x * len;
    A[i] = i ? -r : 0.0; B[i] = 1.0 + 2.0 * r; C[i] = i < len - 1 ? -r : 0.0; D[i] = d[o + i];
    __syncthreads();
    for (int s = 1; s < len; s <<= 1) {
        int lo = i - s, hi = i + s;
        real a = 0, c = 0, b = B[i], dd = D[i];
        if (lo >= 0) { real k = A[i] / B[lo]; a = -k * A[lo]; b -= k * C[lo]; dd -= k * D[lo]; }
        if (hi < len) { real k = C[i] / B[hi]; c = -k * C[hi]; b -= k * A[hi]; dd -= k * D[hi]; }
        __syncthreads();
        A[i] = a; B[i] = b; C[i] = c; D[i] = dd;
        __syncthreads();
    }
    x[o + i] = D[i] / B[i];
}

__global__ void max_abs_diff(const real* a, const real* b, int n, unsigned long long* out) {
    real m = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) m = fmax(m, fabs(a[i] - b[i]));
    for (int o = 16; o; o >>= 1) m = fmax(m, __shfl_down_sync(~0u, m, o));
    if ((threadIdx.x & 31) == 0) atomicMax(out, (unsigned long long)__double_as_longlong(m));
}

static void cpu_line(const real* d, real* x, int len, int st, real r) {
    std::vector<real> c(len), y(len);
    real b = 1 + 2 * r, a = -r;
    c[0] = a / b; y[0] = d[0] / b;
    for (int k = 1; k < len; ++k) { real m = 1 / (b - a * c[k - 1]); c[k] = a * m; y[k] = (d[k * st] - a * y[k - 1]) * m; }
    x[(len - 1) * st] = y[len - 1];
    for (int k = len - 2; k >= 0; --k) x[k * st] = y[k] - c[k] * x[(k + 1) * st];
}

int main() {
    const int N = NXX * NYY; const real r = 0.8;
    std::vector<real> u(N), rhs(N), w(N), out(N);
    for (int j = 0; j < NYY; ++j) for (int i = 0; i < NXX; ++i) u[j * NXX + i] = sin(M_PI * (i + 1) / (NXX + 1)) * (((j / 25) & 1) ? 1.0 : 0.3);
    real *du, *drhs, *dx, *dx2, *dcp; unsigned long long *dm, hm = 0;
    cudaMalloc(&du, N * 8); cudaMalloc(&drhs, N * 8); cudaMalloc(&dx, N * 8); cudaMalloc(&dx2, N * 8); cudaMalloc(&dcp, N * 8); cudaMalloc(&dm, 8);
    cudaMemset(dm, 0, 8);
    cudaMemcpy(du, u.data(), N * 8, cudaMemcpyHostToDevice);
    dim3 tb(32, 4), gb(NXX / 32, NYY / 4);
    Line rows{NYY, NXX, 1, NXX}, cols{NXX, 1, NXX, NYY};
    for (int step = 0; step < 2; ++step) {
        explicit_half<<<gb, tb>>>(du, drhs, r, true);
        if (step == 0) {
            thomas_strided<<<(NYY + 63) / 64, 64>>>(drhs, dx2, dcp, rows, r);
        }
        pcr_rows<<<NYY, NXX, 4 * NXX * sizeof(real)>>>(drhs, dx, NXX, r);
        if (step == 0) max_abs_diff<<<16, 256>>>(dx, dx2, N, dm);
        explicit_half<<<gb, tb>>>(dx, drhs, r, false);
        thomas_strided<<<(NXX + 63) / 64, 64>>>(drhs, du, dcp, cols, r);
    }
    cudaMemcpy(out.data(), du, N * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(&hm, dm, 8, cudaMemcpyDeviceToHost);
    auto at = [&](std::vector<real>& v, int i, int j) { return (i < 0 || j < 0 || i >= NXX || j >= NYY) ? 0.0 : v[j * NXX + i]; };
    for (int step = 0; step < 2; ++step) {
        for (int j = 0; j < NYY; ++j) for (int i = 0; i < NXX; ++i) rhs[j * NXX + i] = at(u, i, j) + r * (at(u, i, j - 1) - 2 * at(u, i, j) + at(u, i, j + 1));
        for (int j = 0; j < NYY; ++j) cpu_line(&rhs[j * NXX], &w[j * NXX], NXX, 1, r);
        for (int j = 0; j < NYY; ++j) for (int i = 0; i < NXX; ++i) rhs[j * NXX + i] = at(w, i, j) + r * (at(w, i - 1, j) - 2 * at(w, i, j) + at(w, i + 1, j));
        for (int i = 0; i < NXX; ++i) cpu_line(&rhs[i], &u[i], NYY, NXX, r);
    }
    real e = 0, d; memcpy(&d, &hm, 8);
    for (int i = 0; i < N; ++i) e = fmax(e, fabs(out[i] - u[i]));
    printf("pcr vs thomas %g, gpu vs cpu %g\n", d, e);
    bool ok = cudaGetLastError() == cudaSuccess && d < 1e-11 && e < 1e-11;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
