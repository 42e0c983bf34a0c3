// Geometric multigrid V-cycle for -Laplace(u)=f on the unit square, cell sizes 2^k+1
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#define ID(i, j, n) ((i) * ((n) + 1) + (j))

struct Level { int n; double h; double *u, *f, *r; };

__global__ void rbgs(double *u, const double *f, int n, double h2, int color)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < n && j < n && ((i + j) & 1) == color)
        u[ID(i, j, n)] = 0.25 * (u[ID(i - 1, j, n)] + u[ID(i + 1, j, n)] + u[ID(i, j - 1, n)] + u[ID(i, j + 1, n)] + h2 * f[ID(i, j, n)]);
}

// residual on the fine grid and full weighting, fused; result is right-hand side of the coarse level
__global__ void residual_restrict(Level fine, Level coarse)
{
    int J = blockIdx.x * blockDim.x + threadIdx.x, I = blockIdx.y * blockDim.y + threadIdx.y;
    int nc = coarse.n, n = fine.n;
    if (I > nc || J > nc) return;
    coarse.u[ID(I, J, nc)] = 0.0;
    if (I == 0 || J == 0 || I == nc || J == nc) { coarse.f[ID(I, J, nc)] = 0.0; return; }
    const double w[3] = {0.25, 0.5, 0.25};
    double s = 0, ih2 = 1.0 / (fine.h * fine.h);
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++) {
            int i = 2 * I + a, j = 2 * J + b;
            if (i <= 0 || j <= 0 || i >= n || j >= n) continue;
            double *u = fine.u;
            double r = fine.f[ID(i, j, n)] - (4 * u[ID(i, j, n)] - u[ID(i - 1, j, n)] - u[ID(i + 1, j, n)] - u[ID(i, j - 1, n)] - u[ID(i, j + 1, n)]) * ih2;
            s += w[a + 1] * w[b + 1] * r;
        }
    coarse.f[ID(I, J, nc)] = s;
}

__global__ void prolong(Level fine, Level coarse)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1, i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int n = fine.n, nc = coarse.n;
    if (i >= n || j >= n) return;
    const double *c = coarse.u;
    int I = i >> 1, J = j >> 1;
    double v;
    if ((i & 1) == 0 && (j & 1) == 0) v = c[ID(I, J, nc)];
    else if ((i & 1) == 0) v = 0.5 * (c[ID(I, J, nc)] + c[ID(I, J + 1, nc)]);
    else if ((j & 1) == 0) v = 0.5 * (c[ID(I, J, nc)] + c[ID(I + 1, J, nc)]);
    else v = 0.25 * (c[ID(I, J, nc)] + c[ID(I + 1, J, nc)] + c[ID(I, J + 1, nc)] + c[ID(I + 1, J + 1, nc)]);
    fine.u[ID(i, j, n)] += v;
}

// the coarse solve: one block, whole grid in shared, many sweeps
__global__ void coarse_solve(Level L, int sweeps)
{
    extern __shared__ double s[];
    int n = L.n, tot = (n + 1) * (n + 1);
    double *u = s, *f = s + tot;
    for (int t = threadIdx.x; t < tot; t += blockDim.x) { u[t] = L.u[t]; f[t] = L.f[t]; }
    __syncthreads();
    double h2 = L.h * L.h;
    for (int it = 0; it < 2 * sweeps; it++) {
        for (int t = threadIdx.x; t < tot; t += blockDim.x) {
            int i = t / (n + 1), j = t % (n + 1);
            if (i > 0 && j > 0 && i < n && j < n && ((i + j) & 1) == (it & 1))
                u[t] = 0.25 * (u[t - 1] + u[t + 1] + u[t - n - 1] + u[t + n + 1] + h2 * f[t]);
        }
        __syncthreads();
    }
    for (int t = threadIdx.x; t < tot; t += blockDim.x) L.u[t] = u[t];
}

static std::vector<Level> lv;
static void smooth(Level &L)
{
    dim3 b(32, 8), g((L.n + 31) / 32, (L.n + 7) / 8);
    for (int c = 0; c < 2; c++) rbgs<<<g, b>>>(L.u, L.f, L.n, L.h * L.h, c);
}
static void vcycle(size_t l)
{
    if (l + 1 == lv.size()) {
        size_t sh = 2 * (lv[l].n + 1) * (lv[l].n + 1) * sizeof(double);
        cudaFuncSetAttribute(coarse_solve, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
        coarse_solve<<<1, 1024, sh>>>(lv[l], 2000);
        return;
    }
    smooth(lv[l]);
    dim3 b(16, 16), g((lv[l + 1].n + 16) / 16, (lv[l + 1].n + 16) / 16);
    residual_restrict<<<g, b>>>(lv[l], lv[l + 1]);
    vcycle(l + 1);
    dim3 g2((lv[l].n + 15) / 16, (lv[l].n + 15) / 16);
    prolong<<<g2, b>>>(lv[l], lv[l + 1]);
    smooth(lv[l]);
}

static double resnorm(const Level &L, double *maxerr)
{
    int n = L.n; std::vector<double> u((n + 1) * (n + 1)), f(u.size());
    cudaMemcpy(u.data(), L.u, u.size() * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(f.data(), L.f, u.size() * 8, cudaMemcpyDeviceToHost);
    double s = 0, e = 0;
    for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) {
        double r = f[ID(i, j, n)] - (4 * u[ID(i, j, n)] - u[ID(i - 1, j, n)] - u[ID(i + 1, j, n)] - u[ID(i, j - 1, n)] - u[ID(i, j + 1, n)]) / (L.h * L.h);
        s += r * r;
        e = fmax(e, fabs(u[ID(i, j, n)] - sin(M_PI * i * L.h) * sin(2 * M_PI * j * L.h)));
    }
    *maxerr = e;
    return sqrt(s) / n;
}

int main()
{
    for (int n = 128; n >= 64; n /= 2) {
        Level L; L.n = n; L.h = 1.0 / n; size_t b = (n + 1) * (n + 1) * sizeof(double);
        cudaMalloc(&L.u, b); cudaMalloc(&L.f, b); cudaMalloc(&L.r, b);
        cudaMemset(L.u, 0, b); cudaMemset(L.f, 0, b);
        lv.push_back(L);
    }
    int n = lv[0].n; std::vector<double> f((n + 1) * (n + 1));
    for (int i = 0; i <= n; i++) for (int j = 0; j <= n; j++) f[ID(i, j, n)] = 5 * M_PI * M_PI * sin(M_PI * i / n) * sin(2 * M_PI * j / n);
    cudaMemcpy(lv[0].f, f.data(), f.size() * 8, cudaMemcpyHostToDevice);
    double e, r0 = resnorm(lv[0], &e);
    vcycle(0);
    double r1 = resnorm(lv[0], &e);
    printf("residual %g -> %g, error %g %s\n", r0, r1, e, cudaGetErrorString(cudaGetLastError()));
    puts(r1 < 0.35 * r0 && e < 0.3 ? "PASS" : "FAIL");
    return 0;
}
