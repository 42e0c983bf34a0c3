// fv_transport_lattice3d
//
// Double precision transport of a scalar on a periodic box:
//   * second-order upwind finite volumes (minmod), one flux array per direction
//   * explicit diffusion, plane by plane in z
//   * the same diffusion as a D3Q7 lattice model, two storage orders
//   * packing of the two outermost x layers for a neighbour rank
// Fields carry two ghost layers; i is the fastest index.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CK(e) do { cudaError_t r_ = (e); if (r_ != cudaSuccess) { \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(r_)); std::exit(1); } } while (0)

constexpr int NG = 2;

struct Grid {
    int nx, ny, nz;
    __host__ __device__ int px() const { return nx + 2 * NG; }
    __host__ __device__ int py() const { return ny + 2 * NG; }
    __host__ __device__ int pz() const { return nz + 2 * NG; }
    __host__ __device__ int n(int dir) const { return dir == 0 ? nx : dir == 1 ? ny : nz; }
    __host__ __device__ int stride(int dir) const { return dir == 0 ? 1 : dir == 1 ? px() : px() * py(); }
    __host__ __device__ int at(int i, int j, int k) const { return (i + NG) + px() * ((j + NG) + py() * (k + NG)); }
    size_t padded() const { return (size_t)px() * py() * pz(); }
    size_t cells() const { return (size_t)nx * ny * nz; }
};

struct Params {
    double vel[3];   // sign decides the upwind side
    double lam;      // dt / dx
    double kap;      // diffusion number
    double omega;    // lattice relaxation
};

__host__ __device__ inline double minmod(double a, double b)
{
    return a * b <= 0.0 ? 0.0 : (fabs(a) < fabs(b) ? a : b);
}

__host__ __device__ inline double face_flux(double cm, double c0, double c1, double c2, double a)
{
    const double left  = c0 + 0.5 * minmod(c0 - cm, c1 - c0);
    const double right = c1 - 0.5 * minmod(c1 - c0, c2 - c1);
    return a > 0.0 ? a * left : a * right;
}

// face velocities wiggle a little with the position
__host__ __device__ inline double face_velocity(double v, int i, int j, int k)
{
    return v * (0.75 + 0.125 * ((i + 2 * j + 3 * k) & 3));
}

// The sweep index s runs with threadIdx.x in every direction (the 1-D solver was written
// first); flux[cell] belongs to the face on the high side of that cell, s = -1 .. n-1.
template <int DIR>
__global__ void flux_sweep(Grid g, Params p, const double *__restrict__ c, double *__restrict__ flux)
{
    constexpr int D1 = DIR == 0 ? 1 : 0, D2 = DIR == 2 ? 1 : 2;
    const int s = (int)(blockIdx.x * blockDim.x + threadIdx.x) - 1;
    const int a = blockIdx.y * blockDim.y + threadIdx.y;
    const int b = blockIdx.z;
    if (s >= g.n(DIR) || a >= g.n(D1) || b >= g.n(D2)) return;
    int ijk[3];
    ijk[DIR] = s; ijk[D1] = a; ijk[D2] = b;
    const int m = g.at(ijk[0], ijk[1], ijk[2]), st = g.stride(DIR);
    flux[m] = face_flux(c[m - st], c[m], c[m + st], c[m + 2 * st],
                        face_velocity(p.vel[DIR], ijk[0], ijk[1], ijk[2]));
}

__global__ void conservative_update(Grid g, double lam, const double *__restrict__ c, const double *__restrict__ fx,
                                    const double *__restrict__ fy, const double *__restrict__ fz, double *__restrict__ out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= g.nx || j >= g.ny || k >= g.nz) return;
    const int m = g.at(i, j, k), sy = g.stride(1), sz = g.stride(2);
    out[m] = c[m] - lam * ((fx[m] - fx[m - 1]) + (fy[m] - fy[m - sy]) + (fz[m] - fz[m - sz]));
}

// 7-point stencil; a plane in shared memory, the z neighbours ride in registers
template <int BX, int BY>
__global__ void __launch_bounds__(BX * BY) diffuse_planes(Grid g, double kap, const double *__restrict__ c, double *__restrict__ out)
{
    __shared__ double plane[BY + 2][BX + 2];
    const int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y;
    const bool mine = i < g.nx && j < g.ny;
    const int ci = min(i, g.nx), cj = min(j, g.ny);   // ghost cells at n are there
    const int lin = threadIdx.y * BX + threadIdx.x;
    double below = c[g.at(ci, cj, -1)], here = c[g.at(ci, cj, 0)];
    for (int k = 0; k < g.nz; ++k) {
        const double above = c[g.at(ci, cj, k + 1)];
        for (int t = lin; t < (BX + 2) * (BY + 2); t += BX * BY) {
            const int lx = t % (BX + 2), ly = t / (BX + 2);
            const int gi = min((int)blockIdx.x * BX + lx - 1, g.nx), gj = min((int)blockIdx.y * BY + ly - 1, g.ny);
            plane[ly][lx] = c[g.at(gi, gj, k)];
        }
        __syncthreads();
        if (mine) {
            const int x = threadIdx.x + 1, y = threadIdx.y + 1;
            out[g.at(i, j, k)] = here + kap * (plane[y][x - 1] + plane[y][x + 1] + plane[y - 1][x] + plane[y + 1][x]
                                              + below + above - 6.0 * here);
        }
        below = here;
        here = above;
        __syncthreads();
    }
}

// ---- lattice -------------------------------------------------------------------------------
constexpr int Q = 7;
constexpr int h_dir[Q][3] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
constexpr double h_w[Q] = {0.25, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125};
__constant__ int d_dir[Q][3];
__constant__ double d_w[Q];

struct CellMajor { __host__ __device__ static size_t at(size_t cell, int q, size_t) { return cell * Q + q; } };
struct PopMajor  { __host__ __device__ static size_t at(size_t cell, int q, size_t n) { return q * n + cell; } };

template <class Layout>
__global__ void lattice_step(Grid g, double omega, const double *__restrict__ fin, double *__restrict__ fout)
{
    const size_t n = (size_t)g.nx * g.ny * g.nz;
    for (size_t cell = blockIdx.x * (size_t)blockDim.x + threadIdx.x; cell < n; cell += (size_t)gridDim.x * blockDim.x) {
        const int i = cell % g.nx, j = cell / g.nx % g.ny, k = cell / ((size_t)g.nx * g.ny);
        double f[Q], rho = 0.0;
#pragma unroll
        for (int q = 0; q < Q; ++q) {                       // pull
            const int si = (i - d_dir[q][0] + g.nx) % g.nx, sj = (j - d_dir[q][1] + g.ny) % g.ny, sk = (k - d_dir[q][2] + g.nz) % g.nz;
            f[q] = fin[Layout::at(si + (size_t)g.nx * (sj + (size_t)g.ny * sk), q, n)];
            rho += f[q];
        }
#pragma unroll
        for (int q = 0; q < Q; ++q) fout[Layout::at(cell, q, n)] = f[q] - omega * (f[q] - d_w[q] * rho);
    }
}

// both outermost x layers of each side, j fastest in the message
__global__ void pack_x_layers(Grid g, const double *c, double *lo, double *hi)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
    if (j >= g.ny) return;
    for (int l = 0; l < NG; ++l) {
        lo[(k * NG + l) * g.ny + j] = c[g.at(l, j, k)];
        hi[(k * NG + l) * g.ny + j] = c[g.at(g.nx - NG + l, j, k)];
    }
}

// ---- host ----------------------------------------------------------------------------------
class Field {
public:
    explicit Field(size_t n) : n_(n) { CK(cudaMalloc(&d_, n * sizeof(double))); CK(cudaMemset(d_, 0, n * sizeof(double))); }
    explicit Field(const std::vector<double> &h) : Field(h.size()) { CK(cudaMemcpy(d_, h.data(), n_ * sizeof(double), cudaMemcpyHostToDevice)); }
    Field(const Field &) = delete;
    Field &operator=(const Field &) = delete;
    ~Field() { cudaFree(d_); }
    operator double *() { return d_; }
    std::vector<double> host() const
    {
        std::vector<double> h(n_);
        CK(cudaMemcpy(h.data(), d_, n_ * sizeof(double), cudaMemcpyDeviceToHost));
        return h;
    }
private:
    double *d_ = nullptr;
    size_t n_;
};

template <int DIR> void launch_flux(const Grid &g, const Params &p, Field &c, Field &f)
{
    const dim3 b(32, 4);
    const int n1 = g.n(DIR == 0 ? 1 : 0), n2 = g.n(DIR == 2 ? 1 : 2);
    flux_sweep<DIR><<<dim3((g.n(DIR) + 1 + b.x - 1) / b.x, (n1 + b.y - 1) / b.y, n2), b>>>(g, p, c, f);
    CK(cudaGetLastError());
}

int main(int argc, char **argv)
{
    Grid g{70, 58, 50};
    if (argc > 3) g = Grid{std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3])};
    const Params p{{0.9, -0.7, 0.4}, 0.2, 0.11, 1.3};

    std::vector<double> c(g.padded());
    auto wrap = [](int a, int n) { return (a % n + n) % n; };
    for (int k = -NG; k < g.nz + NG; ++k)
        for (int j = -NG; j < g.ny + NG; ++j)
            for (int i = -NG; i < g.nx + NG; ++i) {
                const double x = double(wrap(i, g.nx)) / g.nx, y = double(wrap(j, g.ny)) / g.ny, z = double(wrap(k, g.nz)) / g.nz;
                c[g.at(i, j, k)] = 1.0 + 0.5 * std::sin(6.283185307 * x) * std::cos(6.283185307 * (y + 2 * z)) + (x > 0.4 && x < 0.6 ? 0.7 : 0.0);
            }
    const size_t n = g.cells();
    auto for_cells = [&](const std::function<void(int, int, int)> &fn) {
        for (int k = 0; k < g.nz; ++k) for (int j = 0; j < g.ny; ++j) for (int i = 0; i < g.nx; ++i) fn(i, j, k);
    };
    auto cell_of = [&](int i, int j, int k) { return i + (size_t)g.nx * (j + (size_t)g.ny * k); };
    std::vector<double> fa(n * Q), fs(n * Q);
    for_cells([&](int i, int j, int k) {
        for (int q = 0; q < Q; ++q) {
            const size_t m = cell_of(i, j, k);
            fa[CellMajor::at(m, q, n)] = fs[PopMajor::at(m, q, n)] = h_w[q] * c[g.at(i, j, k)] * (1.0 + 0.01 * q);
        }
    });
    CK(cudaMemcpyToSymbol(d_dir, h_dir, sizeof h_dir));
    CK(cudaMemcpyToSymbol(d_w, h_w, sizeof h_w));

    Field dc(c), dfx(g.padded()), dfy(g.padded()), dfz(g.padded()), dnew(g.padded()), ddif(g.padded());
    Field la(fa), la2(fa.size()), ls(fs), ls2(fs.size()), lo((size_t)g.ny * g.nz * NG), hi((size_t)g.ny * g.nz * NG);

    launch_flux<0>(g, p, dc, dfx);
    launch_flux<1>(g, p, dc, dfy);
    launch_flux<2>(g, p, dc, dfz);
    const dim3 ub(16, 4, 4), ug((g.nx + 15) / 16, (g.ny + 3) / 4, (g.nz + 3) / 4);
    conservative_update<<<ug, ub>>>(g, p.lam, dc, dfx, dfy, dfz, dnew);                       CK(cudaGetLastError());
    diffuse_planes<32, 8><<<dim3((g.nx + 31) / 32, (g.ny + 7) / 8), dim3(32, 8)>>>(g, p.kap, dc, ddif); CK(cudaGetLastError());
    lattice_step<CellMajor><<<264, 192>>>(g, p.omega, la, la2);                               CK(cudaGetLastError());
    lattice_step<PopMajor><<<264, 192>>>(g, p.omega, ls, ls2);                                CK(cudaGetLastError());
    pack_x_layers<<<dim3((g.ny + 63) / 64, g.nz), 64>>>(g, dnew, lo, hi);                     CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    const auto gnew = dnew.host(), gdif = ddif.host(), ga = la2.host(), gs = ls2.host(), glo = lo.host(), ghi = hi.host();
    double eFv = 0, eDif = 0, eLat = 0, ePack = 0;
    auto worst = [](double &w, double a, double b) { const double d = std::fabs(a - b); if (!(d <= w)) w = d; };
    for_cells([&](int i, int j, int k) {
        const int m = g.at(i, j, k);
        double div = 0, lap = -6.0 * c[m];
        for (int dir = 0; dir < 3; ++dir) {
            const int s = g.stride(dir);
            const double hiF = face_flux(c[m - s], c[m], c[m + s], c[m + 2 * s], face_velocity(p.vel[dir], i, j, k));
            const double loF = face_flux(c[m - 2 * s], c[m - s], c[m], c[m + s],
                                         face_velocity(p.vel[dir], i - (dir == 0), j - (dir == 1), k - (dir == 2)));
            div += hiF - loF;
            lap += c[m - s] + c[m + s];
        }
        worst(eFv, gnew[m], c[m] - p.lam * div);
        worst(eDif, gdif[m], c[m] + p.kap * lap);
        double f[Q], rho = 0;
        for (int q = 0; q < Q; ++q) {
            f[q] = fs[PopMajor::at(cell_of(wrap(i - h_dir[q][0], g.nx), wrap(j - h_dir[q][1], g.ny), wrap(k - h_dir[q][2], g.nz)), q, n)];
            rho += f[q];
        }
        for (int q = 0; q < Q; ++q) {
            const double want = f[q] - p.omega * (f[q] - h_w[q] * rho);
            worst(eLat, ga[CellMajor::at(cell_of(i, j, k), q, n)], want);
            worst(eLat, gs[PopMajor::at(cell_of(i, j, k), q, n)], want);
        }
        if (i < NG) worst(ePack, glo[(k * NG + i) * g.ny + j], gnew[m]);
        if (i >= g.nx - NG) worst(ePack, ghi[(k * NG + i - (g.nx - NG)) * g.ny + j], gnew[m]);
    });
    std::printf("fv %.2e  diffusion %.2e  lattice %.2e  pack %.2e\n", eFv, eDif, eLat, ePack);
    const bool ok = eFv < 1e-12 && eDif < 1e-12 && eLat < 1e-12 && ePack == 0.0;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
