// gauss_seidel_redblack_mg.cu
//
// Pieces of a geometric multigrid V-cycle for  -Laplace(u) = f  on the unit square, Dirichlet boundary.
// Vertex-centred grids with (n+1)^2 points, n a power of two; row-major, i = row (y), j = column (x).
// One cycle of the two-grid skeleton is executed and compared with a serial version:
//
//    fill rhs -> red sweep -> black sweep -> residual -> restrict (+ one coarse Jacobi update)
//             -> prolongate and correct -> residual norm
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

using real = double;

#define IDX(i, j, ld) ((size_t)(i) * (ld) + (j))
#define CUDA_SAFE(stmt)                                                             \
    {                                                                               \
        cudaError_t rc = (stmt);                                                    \
        if (rc != cudaSuccess) {                                                    \
            fprintf(stderr, "[%d] %s: %s\n", __LINE__, #stmt, cudaGetErrorString(rc)); \
            printf("FAIL\n");                                                       \
            exit(EXIT_FAILURE);                                                     \
        }                                                                           \
    }

__host__ __device__ inline real rhs_value(real x, real y)
{
    return 10.0 * x * (1.0 - x) + 4.0 * y * y * x - 3.0 * y;
}

// x index of the thread grid runs over rows (carried over from the column-major Fortran code)
__global__ void fill_rhs(real* f, int n, real h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i <= n && j <= n)
        f[IDX(i, j, n + 1)] = rhs_value(j * h, i * h);
}

// one half sweep; every thread handles one point of the given colour
__global__ void smooth_colour(real* __restrict__ u, const real* __restrict__ f, int n, real h2, int colour)
{
    const int ld = n + 1;
    const int i = 1 + blockIdx.y * blockDim.y + threadIdx.y;
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = 1 + 2 * t + ((i + 1 + colour) & 1);
    if (i >= n || j >= n) return;
    u[IDX(i, j, ld)] = 0.25 * (u[IDX(i - 1, j, ld)] + u[IDX(i + 1, j, ld)] +
                               u[IDX(i, j - 1, ld)] + u[IDX(i, j + 1, ld)] + h2 * f[IDX(i, j, ld)]);
}

// r = f + Laplace_h(u), shared tile with halo
template <int TX, int TY>
__global__ void residual(const real* __restrict__ u, const real* __restrict__ f, real* __restrict__ r,
                         int n, real inv_h2)
{
    __shared__ real s[TY + 2][TX + 2];
    const int ld = n + 1;
    const int j = blockIdx.x * TX + threadIdx.x;
    const int i = blockIdx.y * TY + threadIdx.y;
    const int lj = threadIdx.x + 1, li = threadIdx.y + 1;
    const bool in = (i <= n && j <= n);

    if (in) {
        s[li][lj] = u[IDX(i, j, ld)];
        if (threadIdx.x == 0 && j > 0)                   s[li][0] = u[IDX(i, j - 1, ld)];
        if (threadIdx.x == TX - 1 && j < n)              s[li][TX + 1] = u[IDX(i, j + 1, ld)];
        if (threadIdx.y == 0 && i > 0)                   s[0][lj] = u[IDX(i - 1, j, ld)];
        if (threadIdx.y == TY - 1 && i < n)              s[TY + 1][lj] = u[IDX(i + 1, j, ld)];
    }
    __syncthreads();
    if (!in) return;
    real v = 0.0;
    if (i > 0 && i < n && j > 0 && j < n)
        v = f[IDX(i, j, ld)] - inv_h2 * (4.0 * s[li][lj] - s[li - 1][lj] - s[li + 1][lj] - s[li][lj - 1] - s[li][lj + 1]);
    r[IDX(i, j, ld)] = v;
}

// full weighting; the coarse correction starts from zero and gets one damped Jacobi update right away
__global__ void restrict_full_weight(const real* __restrict__ rf, real* __restrict__ rc, real* __restrict__ ec,
                                     int nc, real h2c, real omega)
{
    const int J = blockIdx.x * blockDim.x + threadIdx.x;
    const int I = blockIdx.y * blockDim.y + threadIdx.y;
    if (I > nc || J > nc) return;
    const int lf = 2 * nc + 1;
    real v = 0.0;
    if (I > 0 && I < nc && J > 0 && J < nc) {
        const int i = 2 * I, j = 2 * J;
        v = 0.25 * rf[IDX(i, j, lf)]
          + 0.125 * (rf[IDX(i - 1, j, lf)] + rf[IDX(i + 1, j, lf)] + rf[IDX(i, j - 1, lf)] + rf[IDX(i, j + 1, lf)])
          + 0.0625 * (rf[IDX(i - 1, j - 1, lf)] + rf[IDX(i - 1, j + 1, lf)] +
                      rf[IDX(i + 1, j - 1, lf)] + rf[IDX(i + 1, j + 1, lf)]);
    }
    rc[IDX(I, J, nc + 1)] = v;
    ec[IDX(I, J, nc + 1)] = omega * 0.25 * h2c * v;
}

// bilinear interpolation; one thread per coarse cell updates the 2x2 fine points at its lower-left corner
__global__ void prolong_correct(const real* __restrict__ ec, real* __restrict__ uf, int nc)
{
    const int J = blockIdx.x * blockDim.x + threadIdx.x;
    const int I = blockIdx.y * blockDim.y + threadIdx.y;
    if (I >= nc || J >= nc) return;
    const int lc = nc + 1, lf = 2 * nc + 1;
    const real e00 = ec[IDX(I, J, lc)], e01 = ec[IDX(I, J + 1, lc)];
    const real e10 = ec[IDX(I + 1, J, lc)], e11 = ec[IDX(I + 1, J + 1, lc)];
    real* p = &uf[IDX(2 * I, 2 * J, lf)];
    if (I > 0 && J > 0) p[0] += e00;
    if (I > 0)          p[1] += 0.5 * (e00 + e01);
    if (J > 0)          p[lf] += 0.5 * (e00 + e10);
    p[lf + 1] += 0.25 * (e00 + e01 + e10 + e11);
}

// sum of squares, grid-stride, one partial per block
__global__ void sum_squares(const real* __restrict__ r, real* __restrict__ partial, int total)
{
    extern __shared__ real buf[];
    real s = 0.0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += blockDim.x * gridDim.x)
        s += r[k] * r[k];
    buf[threadIdx.x] = s;
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        const unsigned k = 2 * stride * threadIdx.x;
        if (k < blockDim.x) buf[k] += buf[k + stride];
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = buf[0];
}

// ------------------------------------------------------------------------------------------------
struct Level {
    int n;
    real h;
    size_t points() const { return (size_t)(n + 1) * (n + 1); }
    size_t bytes() const { return points() * sizeof(real); }
};

static void serial_cycle(const Level& F, const Level& C, std::vector<real>& u, std::vector<real>& f,
                         std::vector<real>& r, std::vector<real>& rc, real omega)
{
    const int n = F.n, ld = n + 1, nc = C.n, lc = nc + 1;
    for (int i = 0; i <= n; ++i)
        for (int j = 0; j <= n; ++j) f[IDX(i, j, ld)] = rhs_value(j * F.h, i * F.h);
    for (int colour = 0; colour < 2; ++colour)
        for (int i = 1; i < n; ++i)
            for (int j = 1; j < n; ++j)
                if (((i + j) & 1) == colour)
                    u[IDX(i, j, ld)] = 0.25 * (u[IDX(i - 1, j, ld)] + u[IDX(i + 1, j, ld)] + u[IDX(i, j - 1, ld)] +
                                               u[IDX(i, j + 1, ld)] + F.h * F.h * f[IDX(i, j, ld)]);
    for (int i = 1; i < n; ++i)
        for (int j = 1; j < n; ++j)
            r[IDX(i, j, ld)] = f[IDX(i, j, ld)] - (4.0 * u[IDX(i, j, ld)] - u[IDX(i - 1, j, ld)] - u[IDX(i + 1, j, ld)] -
                                                   u[IDX(i, j - 1, ld)] - u[IDX(i, j + 1, ld)]) / (F.h * F.h);
    std::vector<real> e(C.points(), 0.0);
    for (int I = 1; I < nc; ++I)
        for (int J = 1; J < nc; ++J) {
            real v = 0.0;
            for (int a = -1; a <= 1; ++a)
                for (int b = -1; b <= 1; ++b)
                    v += r[IDX(2 * I + a, 2 * J + b, ld)] * (2 - abs(a)) * (2 - abs(b)) / 16.0;
            rc[IDX(I, J, lc)] = v;
            e[IDX(I, J, lc)] = omega * 0.25 * C.h * C.h * v;
        }
    for (int i = 1; i < n; ++i)
        for (int j = 1; j < n; ++j) {
            const int I = i / 2, J = j / 2, oi = i & 1, oj = j & 1;
            u[IDX(i, j, ld)] += 0.25 * (e[IDX(I, J, lc)] + e[IDX(I + oi, J, lc)] + e[IDX(I, J + oj, lc)] +
                                        e[IDX(I + oi, J + oj, lc)]);
        }
}

static real max_err(const std::vector<real>& a, const std::vector<real>& b)
{
    real m = 0.0, scale = 0.0;
    for (size_t k = 0; k < a.size(); ++k) {
        const real d = fabs(a[k] - b[k]);
        if (!(d <= m)) m = d;
        scale = fmax(scale, fabs(b[k]));
    }
    return m / (scale + 1e-300);
}

int main(int argc, char** argv)
{
    const int n = (argc > 1) ? atoi(argv[1]) : 1024;
    const Level fine{n, 1.0 / n}, coarse{n / 2, 2.0 / n};
    const real omega = 0.8;

    std::vector<real> u(fine.points(), 0.0), f(fine.points(), 0.0), r(fine.points(), 0.0), rc(coarse.points(), 0.0);
    for (int i = 1; i < n; ++i)
        for (int j = 1; j < n; ++j) u[IDX(i, j, n + 1)] = 0.05 * sin(7.0 * i * fine.h) * cos(11.0 * j * fine.h);

    real *d_u, *d_f, *d_r, *d_rc, *d_ec, *d_part;
    const int red_blocks = 132, red_threads = 256;
    CUDA_SAFE(cudaMalloc(&d_u, fine.bytes()));
    CUDA_SAFE(cudaMalloc(&d_f, fine.bytes()));
    CUDA_SAFE(cudaMalloc(&d_r, fine.bytes()));
    CUDA_SAFE(cudaMalloc(&d_rc, coarse.bytes()));
    CUDA_SAFE(cudaMalloc(&d_ec, coarse.bytes()));
    CUDA_SAFE(cudaMalloc(&d_part, red_blocks * sizeof(real)));
    CUDA_SAFE(cudaMemcpy(d_u, u.data(), fine.bytes(), cudaMemcpyHostToDevice));

    const dim3 b16(16, 16), b32(32, 8);
    const dim3 g16((n + 1 + 15) / 16, (n + 1 + 15) / 16);
    fill_rhs<<<g16, b16>>>(d_f, n, fine.h);
    CUDA_SAFE(cudaGetLastError());

    const dim3 gs((n / 2 + b32.x - 1) / b32.x, (n - 1 + b32.y - 1) / b32.y);
    for (int colour = 0; colour < 2; ++colour)
        smooth_colour<<<gs, b32>>>(d_u, d_f, n, fine.h * fine.h, colour);
    CUDA_SAFE(cudaGetLastError());

    residual<32, 8><<<dim3((n + 1 + 31) / 32, (n + 1 + 7) / 8), b32>>>(d_u, d_f, d_r, n, 1.0 / (fine.h * fine.h));
    CUDA_SAFE(cudaGetLastError());

    const int nc = coarse.n;
    const dim3 gc((nc + 1 + b32.x - 1) / b32.x, (nc + 1 + b32.y - 1) / b32.y);
    restrict_full_weight<<<gc, b32>>>(d_r, d_rc, d_ec, nc, coarse.h * coarse.h, omega);
    prolong_correct<<<gc, b32>>>(d_ec, d_u, nc);
    sum_squares<<<red_blocks, red_threads, red_threads * sizeof(real)>>>(d_r, d_part, (int)fine.points());
    CUDA_SAFE(cudaGetLastError());
    CUDA_SAFE(cudaDeviceSynchronize());

    std::vector<real> gu(fine.points()), gr(fine.points()), grc(coarse.points()), gp(red_blocks);
    CUDA_SAFE(cudaMemcpy(gu.data(), d_u, fine.bytes(), cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(gr.data(), d_r, fine.bytes(), cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(grc.data(), d_rc, coarse.bytes(), cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(gp.data(), d_part, red_blocks * sizeof(real), cudaMemcpyDeviceToHost));

    serial_cycle(fine, coarse, u, f, r, rc, omega);
    real norm = 0.0, norm_ref = 0.0;
    for (real v : gp) norm += v;
    for (real v : r) norm_ref += v * v;
    norm = sqrt(norm) * fine.h;
    norm_ref = sqrt(norm_ref) * fine.h;

    const real eu = max_err(gu, u), er = max_err(gr, r), erc = max_err(grc, rc);
    const real en = fabs(norm - norm_ref) / norm_ref;
    printf("n = %d  |r| = %.6e  errors: u %.1e  r %.1e  rc %.1e  norm %.1e\n", n, norm, eu, er, erc, en);
    const bool ok = eu < 1e-9 && er < 1e-8 && erc < 1e-8 && en < 1e-8;
    printf("%s\n", ok ? "PASS" : "FAIL");

    cudaFree(d_u); cudaFree(d_f); cudaFree(d_r);
    cudaFree(d_rc); cudaFree(d_ec); cudaFree(d_part);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
