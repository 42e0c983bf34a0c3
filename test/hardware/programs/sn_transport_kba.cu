// sn_transport_kba.cu -- discrete ordinates (Sn) transport sweep, KBA style.
//
// Unknown: angular flux psi(direction, group, zone).  The question this mini
// app was written to answer is which nesting of the three indices suits the
// sweep and which suits the moments; the nesting is therefore a policy.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <random>
#include <algorithm>
#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

namespace kba {

#define KBA_CHECK(expr)                                                              \
    do {                                                                             \
        cudaError_t err__ = (expr);                                                  \
        if (err__ != cudaSuccess) {                                                  \
            std::printf("%s failed: %s\nFAIL\n", #expr, cudaGetErrorString(err__));  \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

constexpr int kOctants = 8;

struct Dims {
    int nx, ny, nz, groups, dirs;            // dirs: per octant
    __host__ __device__ int zones() const { return nx * ny * nz; }
    __host__ __device__ int total() const { return zones() * groups * dirs * kOctants; }
};

struct Quadrature {
    double mu[4], eta[4], xi[4], w[4];
};
__constant__ Quadrature c_quad;

// --------------------------------------------------------------- layouts (CRTP)
template <class Derived>
struct Layout {
    __host__ __device__ static int at(const Dims& d, int oct, int dir, int g, int z)
    {
        return Derived::index(d, oct * d.dirs + dir, g, z);
    }
};
struct DGZ : Layout<DGZ> {
    static constexpr const char* name = "DGZ";
    __host__ __device__ static int index(const Dims& d, int m, int g, int z) { return (m * d.groups + g) * d.zones() + z; }
};
struct ZDG : Layout<ZDG> {
    static constexpr const char* name = "ZDG";
    __host__ __device__ static int index(const Dims& d, int m, int g, int z) { return (z * d.dirs * kOctants + m) * d.groups + g; }
};
struct GZD : Layout<GZD> {
    static constexpr const char* name = "GZD";
    __host__ __device__ static int index(const Dims& d, int m, int g, int z) { return (g * d.zones() + z) * d.dirs * kOctants + m; }
};

// zone of an octant's own (i,j,k): the axis is flipped where the octant runs backwards
__host__ __device__ inline int mirrored(const Dims& d, int oct, int i, int j, int k)
{
    if (oct & 1) i = d.nx - 1 - i;
    if (oct & 2) j = d.ny - 1 - j;
    if (oct & 4) k = d.nz - 1 - k;
    return (k * d.ny + j) * d.nx + i;
}

struct Faces {                      // incoming/outgoing face fluxes, overwritten as the front moves
    double *x, *y, *z;
};

template <class L>
__host__ __device__ inline void solveZone(const Dims& d, const Quadrature& q, int oct, int dir, int g, int i, int j, int k,
                                          const double* sigt, const double* rhs, double* psi, Faces f)
{
    const int zone = mirrored(d, oct, i, j, k);
    const int m = (oct * d.dirs + dir) * d.groups + g;
    double& fx = f.x[(m * d.nz + k) * d.ny + j];
    double& fy = f.y[(m * d.nz + k) * d.nx + i];
    double& fz = f.z[(m * d.ny + j) * d.nx + i];
    const double cx = 2.0 * q.mu[dir] * d.nx, cy = 2.0 * q.eta[dir] * d.ny, cz = 2.0 * q.xi[dir] * d.nz;
    const double v = (rhs[g * d.zones() + zone] + cx * fx + cy * fy + cz * fz) / (cx + cy + cz + sigt[g * d.zones() + zone]);
    psi[L::at(d, oct, dir, g, zone)] = v;
    fx = 2.0 * v - fx;
    fy = 2.0 * v - fy;
    fz = 2.0 * v - fz;
}

// --------------------------------------------------------------- kernels
// One front: the zones of plane i+j+k == p are listed in `front`.
// x: zone of the front, y: group, z: octant and direction
template <class L>
__global__ void sweepFront(Dims d, const int3* front, int count, const double* sigt, const double* rhs, double* psi, Faces f)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int g = blockIdx.y * blockDim.y + threadIdx.y;
    if (n >= count || g >= d.groups) return;
    int oct = blockIdx.z / d.dirs, dir = blockIdx.z % d.dirs;
    int3 c = front[n];
    solveZone<L>(d, c_quad, oct, dir, g, c.x, c.y, c.z, sigt, rhs, psi, f);
}

// Same work, group index fastest over the threads.
template <class L>
__global__ void sweepFrontGroups(Dims d, const int3* front, int count, const double* sigt, const double* rhs, double* psi, Faces f)
{
    const int work = count * d.groups * d.dirs * kOctants;
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < work; t += gridDim.x * blockDim.x) {
        int g = t % d.groups, r = t / d.groups;
        int m = r % (d.dirs * kOctants), n = r / (d.dirs * kOctants);
        int3 c = front[n];
        solveZone<L>(d, c_quad, m / d.dirs, m % d.dirs, g, c.x, c.y, c.z, sigt, rhs, psi, f);
    }
}

// All fronts in one cooperative launch.
template <class L>
__global__ void sweepPersistent(Dims d, const int3* zones, const int* frontPtr, int fronts, const double* sigt,
                                const double* rhs, double* psi, Faces f)
{
    cg::grid_group grid = cg::this_grid();
    const int lanes = int(grid.size()), me = int(grid.thread_rank());
    for (int p = 0; p < fronts; ++p) {
        const int first = frontPtr[p], count = frontPtr[p + 1] - first;
        const int work = count * d.groups * d.dirs * kOctants;
        for (int t = me; t < work; t += lanes) {
            int m = t % (d.dirs * kOctants), r = t / (d.dirs * kOctants);
            int n = r % count, g = r / count;
            int3 c = zones[first + n];
            solveZone<L>(d, c_quad, m / d.dirs, m % d.dirs, g, c.x, c.y, c.z, sigt, rhs, psi, f);
        }
        grid.sync();
    }
}

// scalar flux phi(g, z) = sum_m w_m psi
template <class L>
__global__ void scalarFlux(Dims d, const double* psi, double* phi)
{
    int z = blockIdx.x * blockDim.x + threadIdx.x, g = blockIdx.y;
    if (z >= d.zones()) return;
    double s = 0;
    for (int o = 0; o < kOctants; ++o)
        for (int m = 0; m < d.dirs; ++m) s += c_quad.w[m] * psi[L::at(d, o, m, g, z)];
    phi[g * d.zones() + z] = s;
}

// directions are contiguous: a warp per (g, z), a lane per direction
__global__ void scalarFluxWarp(Dims d, const double* psi, double* phi)
{
    int gz = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (gz >= d.groups * d.zones()) return;
    double s = 0;
    for (int m = lane; m < d.dirs * kOctants; m += 32) s += c_quad.w[m % d.dirs] * psi[gz * d.dirs * kOctants + m];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (lane == 0) phi[gz] = s;
}

// rhs(g,z) = q + sum_g' sigs(g'->g) phi(g',z);  the scattering matrix is staged in shared memory
__global__ void scatter(Dims d, const double* sigs, const double* phi, const double* q, double* rhs)
{
    extern __shared__ double s[];
    for (int t = threadIdx.x; t < d.groups * d.groups; t += blockDim.x) s[t] = sigs[t];
    __syncthreads();
    int z = blockIdx.x * blockDim.x + threadIdx.x;
    if (z >= d.zones()) return;
    for (int g = 0; g < d.groups; ++g) {
        double a = q[g * d.zones() + z];
        for (int h = 0; h < d.groups; ++h) a += s[h * d.groups + g] * phi[h * d.zones() + z];
        rhs[g * d.zones() + z] = a;
    }
}

struct Problem {
    Dims d{8, 7, 8, 12, 4};
    Quadrature quad{};
    std::vector<double> sigt, sigs, q;
    std::vector<int3> zones;
    std::vector<int> frontPtr;

    explicit Problem(unsigned seed)
    {
        std::mt19937 rng(seed);
        std::uniform_real_distribution<double> u(0.0, 1.0);
        for (int m = 0; m < d.dirs; ++m) {
            double a = u(rng) + 0.1, b = u(rng) + 0.1, c = u(rng) + 0.1, n = std::sqrt(a * a + b * b + c * c);
            quad.mu[m] = a / n; quad.eta[m] = b / n; quad.xi[m] = c / n; quad.w[m] = 1.0 / (8 * d.dirs);
        }
        sigt.resize(d.groups * d.zones());
        q.resize(sigt.size());
        for (auto& s : sigt) s = 20 + 30 * u(rng);
        for (auto& s : q) s = u(rng);
        sigs.assign(d.groups * d.groups, 0.0);
        for (int g = 0; g < d.groups; ++g) for (int h = g; h < d.groups; ++h) sigs[g * d.groups + h] = 4.0 * u(rng) / (1 + h - g);
        for (int p = 0; p <= d.nx + d.ny + d.nz - 3; ++p) {
            frontPtr.push_back(int(zones.size()));
            for (int k = 0; k < d.nz; ++k)
                for (int j = 0; j < d.ny; ++j) {
                    int i = p - j - k;
                    if (i >= 0 && i < d.nx) zones.push_back(make_int3(i, j, k));
                }
        }
        frontPtr.push_back(int(zones.size()));
    }
    int fronts() const { return int(frontPtr.size()) - 1; }
    std::size_t faceX() const { return std::size_t(kOctants) * d.dirs * d.groups * d.nz * d.ny; }
    std::size_t faceY() const { return std::size_t(kOctants) * d.dirs * d.groups * d.nz * d.nx; }
    std::size_t faceZ() const { return std::size_t(kOctants) * d.dirs * d.groups * d.ny * d.nx; }
};

template <class T>
T* device(const std::vector<T>& h)
{
    T* p;
    KBA_CHECK(cudaMalloc(&p, h.size() * sizeof(T)));
    KBA_CHECK(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

class Solver {
public:
    explicit Solver(const Problem& p) : p_(p)
    {
        sigt_ = device(p.sigt); sigs_ = device(p.sigs); q_ = device(p.q); rhs_ = device(p.q);
        zones_ = device(p.zones); ptr_ = device(p.frontPtr);
        KBA_CHECK(cudaMalloc(&psi_, p.d.total() * sizeof(double)));
        KBA_CHECK(cudaMalloc(&phi_, p.sigt.size() * sizeof(double)));
        KBA_CHECK(cudaMalloc(&f_.x, p.faceX() * sizeof(double)));
        KBA_CHECK(cudaMalloc(&f_.y, p.faceY() * sizeof(double)));
        KBA_CHECK(cudaMalloc(&f_.z, p.faceZ() * sizeof(double)));
        KBA_CHECK(cudaMemcpyToSymbol(c_quad, &p.quad, sizeof(Quadrature)));
    }
    ~Solver() { for (void* v : {(void*)sigt_, (void*)sigs_, (void*)q_, (void*)rhs_, (void*)zones_, (void*)ptr_, (void*)psi_, (void*)phi_, (void*)f_.x, (void*)f_.y, (void*)f_.z}) cudaFree(v); }

    template <class L> void sweepByFronts(bool groupsFastest)
    {
        reset();
        for (int s = 0; s < p_.fronts(); ++s) {
            int first = p_.frontPtr[s], count = p_.frontPtr[s + 1] - first;
            if (groupsFastest) {
                int work = count * p_.d.groups * p_.d.dirs * kOctants;
                sweepFrontGroups<L><<<std::min(264, (work + 127) / 128), 128>>>(p_.d, zones_ + first, count, sigt_, rhs_, psi_, f_);
            } else {
                dim3 b(16, 4), g((count + 15) / 16, (p_.d.groups + 3) / 4, kOctants * p_.d.dirs);
                sweepFront<L><<<g, b>>>(p_.d, zones_ + first, count, sigt_, rhs_, psi_, f_);
            }
        }
        KBA_CHECK(cudaGetLastError());
    }
    template <class L> void sweepCooperative()
    {
        reset();
        int perSm = 0, sms = 0, dev = 0;
        KBA_CHECK(cudaGetDevice(&dev));
        KBA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev));
        KBA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, sweepPersistent<L>, 128, 0));
        int blocks = std::min(64, perSm * sms), fronts = p_.fronts();
        Dims d = p_.d;
        void* args[] = {&d, &zones_, &ptr_, &fronts, &sigt_, &rhs_, &psi_, &f_};
        KBA_CHECK(cudaLaunchCooperativeKernel(sweepPersistent<L>, dim3(blocks), dim3(128), args, std::size_t(0), cudaStream_t(0)));
    }
    template <class L> void moments()
    {
        scalarFlux<L><<<dim3((p_.d.zones() + 127) / 128, p_.d.groups), 128>>>(p_.d, psi_, phi_);
    }
    void momentsWarp()
    {
        scalarFluxWarp<<<(p_.d.zones() * p_.d.groups + 3) / 4, 128>>>(p_.d, psi_, phi_);
    }
    void source()
    {
        scatter<<<(p_.d.zones() + 63) / 64, 64, p_.d.groups * p_.d.groups * sizeof(double)>>>(p_.d, sigs_, phi_, q_, rhs_);
        KBA_CHECK(cudaGetLastError());
    }
    std::vector<double> phi() const
    {
        std::vector<double> h(p_.sigt.size());
        KBA_CHECK(cudaMemcpy(h.data(), phi_, h.size() * sizeof(double), cudaMemcpyDeviceToHost));
        return h;
    }
private:
    void reset()
    {
        KBA_CHECK(cudaMemset(f_.x, 0, p_.faceX() * sizeof(double)));
        KBA_CHECK(cudaMemset(f_.y, 0, p_.faceY() * sizeof(double)));
        KBA_CHECK(cudaMemset(f_.z, 0, p_.faceZ() * sizeof(double)));
    }
    const Problem& p_;
    double *sigt_, *sigs_, *q_, *rhs_, *psi_, *phi_;
    int3* zones_;
    int* ptr_;
    Faces f_;
};

// the reference: plain loops in sweep order, `iters` source iterations
std::vector<std::vector<double>> reference(const Problem& p, int iters)
{
    const Dims& d = p.d;
    std::vector<double> psi(d.total()), rhs = p.q;
    std::vector<std::vector<double>> out;
    for (int it = 0; it < iters; ++it) {
        std::vector<double> x(p.faceX(), 0.0), y(p.faceY(), 0.0), z(p.faceZ(), 0.0), phi(p.sigt.size(), 0.0);
        Faces f{x.data(), y.data(), z.data()};
        for (int o = 0; o < kOctants; ++o) for (int m = 0; m < d.dirs; ++m) for (int g = 0; g < d.groups; ++g)
            for (int k = 0; k < d.nz; ++k) for (int j = 0; j < d.ny; ++j) for (int i = 0; i < d.nx; ++i)
                solveZone<DGZ>(d, p.quad, o, m, g, i, j, k, p.sigt.data(), rhs.data(), psi.data(), f);
        for (int o = 0; o < kOctants; ++o) for (int m = 0; m < d.dirs; ++m) for (int g = 0; g < d.groups; ++g)
            for (int c = 0; c < d.zones(); ++c) phi[g * d.zones() + c] += p.quad.w[m] * psi[DGZ::at(d, o, m, g, c)];
        for (int g = 0; g < d.groups; ++g) for (int c = 0; c < d.zones(); ++c) {
            double a = p.q[g * d.zones() + c];
            for (int h = 0; h < d.groups; ++h) a += p.sigs[h * d.groups + g] * phi[h * d.zones() + c];
            rhs[g * d.zones() + c] = a;
        }
        out.push_back(phi);
    }
    return out;
}

bool same(const char* what, const std::vector<double>& a, const std::vector<double>& b)
{
    double worst = 0, top = 0;
    for (std::size_t i = 0; i < a.size(); ++i) { worst = std::max(worst, std::abs(a[i] - b[i])); top = std::max(top, std::abs(b[i])); }
    bool ok = worst <= 1e-10 * top && top > 0;
    std::printf("%-28s max diff %.2e of %.2e  %s\n", what, worst, top, ok ? "ok" : "BAD");
    return ok;
}

} // namespace kba

int main()
{
    using namespace kba;
    Problem p(314);
    Solver s(p);
    auto ref = reference(p, 3);
    bool ok = true;
    // three source iterations, each with another layout
    s.sweepByFronts<DGZ>(false);
    s.moments<DGZ>();
    ok &= same("DGZ, launch per front", s.phi(), ref[0]);
    s.source();
    s.sweepByFronts<ZDG>(true);
    s.moments<ZDG>();
    ok &= same("ZDG, launch per front", s.phi(), ref[1]);
    s.source();
    s.sweepCooperative<GZD>();
    s.moments<GZD>();
    ok &= same("GZD, cooperative", s.phi(), ref[2]);
    s.momentsWarp();
    ok &= same("GZD, warp moments", s.phi(), ref[2]);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
