// 1 V-cycle of multigrid for the 2D Poisson problem on (2^k+1)^2 grids, red-black smoother
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define IDX(i, j, n) ((j) * (n) + (i))

struct Level { int n; double h; double *u, *f, *r; };

__global__ void smooth_rb(double *u, const double *f, int n, double h2, int colour)
{
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((j + colour) & 1);
    if (i < n - 1 && j < n - 1)
        u[IDX(i, j, n)] = 0.25 * (u[IDX(i - 1, j, n)] + u[IDX(i + 1, j, n)] + u[IDX(i, j - 1, n)] + u[IDX(i, j + 1, n)] + h2 * f[IDX(i, j, n)]);
}

__global__ void residual(const double *__restrict__ u, const double *__restrict__ f, double *__restrict__ r, int n, double ih2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    double v = 0;
    if (i > 0 && j > 0 && i < n - 1 && j < n - 1) {
        const double *c = u + IDX(i, j, n);
        v = f[IDX(i, j, n)] - ih2 * (4 * c[0] - c[-1] - c[1] - c[-n] - c[n]);
    }
    r[IDX(i, j, n)] = v;
}

__global__ void restrict_fw(const double *fine, double *coarse, int nc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= nc - 1 || j >= nc - 1) return;
    int nf = 2 * nc - 1;
    const double *p = fine + IDX(2 * i, 2 * j, nf);
    double corners = p[-nf - 1] + p[-nf + 1] + p[nf - 1] + p[nf + 1];
    double edges = p[-1] + p[1] + p[-nf] + p[nf];
    coarse[IDX(i, j, nc)] = (corners + 2 * edges + 4 * p[0]) / 16;
}

__global__ void prolong_add(const double *__restrict__ coarse, double *fine, int nc)
{
    int nf = 2 * nc - 1;
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < nf * nf; t += blockDim.x * gridDim.x) {
        int j = t / nf, i = t % nf, ic = i >> 1, jc = j >> 1;
        double v;
        switch ((i & 1) | (j & 1) << 1) {
        case 0: v = coarse[IDX(ic, jc, nc)]; break;
        case 1: v = 0.5 * (coarse[IDX(ic, jc, nc)] + coarse[IDX(ic + 1, jc, nc)]); break;
        case 2: v = 0.5 * (coarse[IDX(ic, jc, nc)] + coarse[IDX(ic, jc + 1, nc)]); break;
        default:
            v = 0.25 * (coarse[IDX(ic, jc, nc)] + coarse[IDX(ic + 1, jc, nc)] + coarse[IDX(ic, jc + 1, nc)] + coarse[IDX(ic + 1, jc + 1, nc)]);
        }
        fine[t] += v;
    }
}

// coarse solve: a whole 9x9 problem in one block with Jacobi in shared memory
__global__ void coarse_solve(double *u, const double *f, double h2, int iters)
{
    const int N = 9;
    __shared__ double a[2][N][N];
    int i = threadIdx.x, j = threadIdx.y, p = 0;
    a[0][j][i] = a[1][j][i] = 0;
    double rhs = h2 * f[j * N + i];
    bool in = i > 0 && j > 0 && i < N - 1 && j < N - 1;
    __syncthreads();
    while (iters-- > 0) {
        if (in) a[p ^ 1][j][i] = 0.25 * (a[p][j][i - 1] + a[p][j][i + 1] + a[p][j - 1][i] + a[p][j + 1][i] + rhs);
        p ^= 1;
        __syncthreads();
    }
    u[j * N + i] = a[p][j][i];
}

static dim3 cover(int nx, int ny, dim3 b) { return dim3((nx + b.x - 1) / b.x, (ny + b.y - 1) / b.y); }

static double norm(const double *d, int n)
{
    std::vector<double> h(n * n);
    cudaMemcpy(h.data(), d, n * n * 8, cudaMemcpyDeviceToHost);
    double s = 0;
    for (double v : h) s += v * v;
    return sqrt(s);
}

int main()
{
    Level lv[2];
    int sizes[2] = {17, 9};
    // fine problem is deliberately 17: the second level is the 9x9 coarse solve
    for (int l = 0; l < 2; l++) {
        Level &L = lv[l];
        L.n = sizes[l]; L.h = 1.0 / (L.n - 1);
        size_t b = L.n * L.n * sizeof(double);
        cudaMalloc(&L.u, b); cudaMalloc(&L.f, b); cudaMalloc(&L.r, b);
        cudaMemset(L.u, 0, b); cudaMemset(L.f, 0, b); cudaMemset(L.r, 0, b);
    }
    Level &F = lv[0], &C = lv[1];
    std::vector<double> rhs(F.n * F.n);
    for (int j = 0; j < F.n; j++) for (int i = 0; i < F.n; i++) rhs[IDX(i, j, F.n)] = 2 * M_PI * M_PI * sin(M_PI * i * F.h) * sin(M_PI * j * F.h) + (i % 3);
    cudaMemcpy(F.f, rhs.data(), rhs.size() * 8, cudaMemcpyHostToDevice);
    dim3 b(8, 8);
    residual<<<cover(F.n, F.n, b), b>>>(F.u, F.f, F.r, F.n, 1 / (F.h * F.h));
    double r0 = norm(F.r, F.n);
    for (int c = 0; c < 2; c++) smooth_rb<<<cover(F.n / 2, F.n - 2, b), b>>>(F.u, F.f, F.n, F.h * F.h, c);
    residual<<<cover(F.n, F.n, b), b>>>(F.u, F.f, F.r, F.n, 1 / (F.h * F.h));
    restrict_fw<<<cover(C.n - 2, C.n - 2, dim3(7, 7)), dim3(7, 7)>>>(F.r, C.f, C.n);
    coarse_solve<<<1, dim3(9, 9)>>>(C.u, C.f, C.h * C.h, 200);
    prolong_add<<<3, 100>>>(C.u, F.u, C.n);
    for (int c = 0; c < 2; c++) smooth_rb<<<cover(F.n / 2, F.n - 2, b), b>>>(F.u, F.f, F.n, F.h * F.h, c);
    residual<<<cover(F.n, F.n, dim3(32, 4)), dim3(32, 4)>>>(F.u, F.f, F.r, F.n, 1 / (F.h * F.h));
    double r1 = norm(F.r, F.n);
    printf("residual %g -> %g (factor %.3f) %s\n", r0, r1, r1 / r0, cudaGetErrorString(cudaGetLastError()));
    return r1 / r0 < 0.6 ? 0 : 1;
}
