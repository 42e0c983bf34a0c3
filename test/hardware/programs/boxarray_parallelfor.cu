// nvcc: --extended-lambda
// Block-structured grid code with Box / Array4 / FArrayBox / MultiFab and
// ParallelFor lambdas: ghost exchange by copy tags, an upwind advection-diffusion
// update, refinement tagging, average-down, particle deposition and norms.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#define AMREX_GPU_SAFE_CALL(call)                                                           \
    {                                                                                       \
        cudaError_t amrex_i_err = call;                                                     \
        if (cudaSuccess != amrex_i_err) {                                                   \
            std::fprintf(stderr, "GPU error %d in %s:%d: %s\n", amrex_i_err, __FILE__, __LINE__, \
                         cudaGetErrorString(amrex_i_err));                                  \
            std::exit(1);                                                                   \
        }                                                                                   \
    }
#define GPU_HOST_DEVICE __host__ __device__
#define FORCE_INLINE __forceinline__

using Real = double;
using Long = long long;

struct Dim3 { int x, y, z; };

struct Box {
    Dim3 lo, hi;                                      // inclusive
    GPU_HOST_DEVICE int length(int d) const { return d == 0 ? hi.x - lo.x + 1 : d == 1 ? hi.y - lo.y + 1 : hi.z - lo.z + 1; }
    GPU_HOST_DEVICE Long numPts() const { return Long(length(0)) * length(1) * length(2); }
    bool ok() const { return lo.x <= hi.x && lo.y <= hi.y && lo.z <= hi.z; }
    Box grow(int n) const { return {{lo.x - n, lo.y - n, lo.z - n}, {hi.x + n, hi.y + n, hi.z + n}}; }
    Box shift(Dim3 s) const { return {{lo.x + s.x, lo.y + s.y, lo.z + s.z}, {hi.x + s.x, hi.y + s.y, hi.z + s.z}}; }
    Box operator&(const Box& b) const {
        return {{std::max(lo.x, b.lo.x), std::max(lo.y, b.lo.y), std::max(lo.z, b.lo.z)},
                {std::min(hi.x, b.hi.x), std::min(hi.y, b.hi.y), std::min(hi.z, b.hi.z)}};
    }
    Box coarsen(int r) const { return {{lo.x / r, lo.y / r, lo.z / r}, {hi.x / r, hi.y / r, hi.z / r}}; }
};

template <typename T>
struct Array4 {
    T* p = nullptr;
    Long jstride = 0, kstride = 0, nstride = 0;
    Dim3 begin{0, 0, 0};
    GPU_HOST_DEVICE FORCE_INLINE T& operator()(int i, int j, int k, int n = 0) const noexcept {
        return p[(i - begin.x) + (j - begin.y) * jstride + (k - begin.z) * kstride + n * nstride];
    }
};

// ----------------------------------------------------------- ParallelFor
constexpr int MAX_THREADS = 256;

template <class L>
__global__ void __launch_bounds__(MAX_THREADS) launch_global(L f0) { f0(); }

template <typename F>
void ParallelFor(Box const& box, F f)
{
    if (!box.ok()) return;
    const int ncells = int(box.numPts()), lenx = box.length(0), lenxy = lenx * box.length(1);
    const Dim3 lo = box.lo;
    const int nblocks = std::min((ncells + MAX_THREADS - 1) / MAX_THREADS, 2112);
    launch_global<<<nblocks, MAX_THREADS>>>([=] __device__ () noexcept {
        for (int icell = blockDim.x * blockIdx.x + threadIdx.x, stride = blockDim.x * gridDim.x; icell < ncells; icell += stride) {
            int k = icell / lenxy;
            int j = (icell - k * lenxy) / lenx;
            int i = (icell - k * lenxy) - j * lenx;
            f(i + lo.x, j + lo.y, k + lo.z);
        }
    });
    AMREX_GPU_SAFE_CALL(cudaGetLastError());
}

// all boxes of a MultiFab in one launch: blockIdx.y picks the box
template <typename F>
__global__ void multi_box_kernel(Box const* boxes, F f)
{
    const Box b = boxes[blockIdx.y];
    const int lenx = b.length(0), leny = b.length(1), ncells = int(b.numPts());
    for (int icell = blockIdx.x * blockDim.x + threadIdx.x; icell < ncells; icell += gridDim.x * blockDim.x) {
        const int i = icell % lenx, jk = icell / lenx;
        f(int(blockIdx.y), i + b.lo.x, jk % leny + b.lo.y, jk / leny + b.lo.z);
    }
}

// ------------------------------------------------------------- tag copies
struct CopyTag {
    Array4<Real> dst;
    Array4<Real const> src;
    Box dbox;
    Dim3 offset;                                        // dst index + offset = src index
};

__global__ void copy_tags(CopyTag const* tags, int const* block_start, int ntags, int ncomp)
{
    int lo = 0, hi = ntags;
    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        if (block_start[mid] <= int(blockIdx.x)) lo = mid; else hi = mid;
    }
    const CopyTag tag = tags[lo];
    const int icell = (blockIdx.x - block_start[lo]) * blockDim.x + threadIdx.x;
    if (icell >= tag.dbox.numPts()) return;
    const int lenx = tag.dbox.length(0), leny = tag.dbox.length(1);
    const int i = icell % lenx + tag.dbox.lo.x, j = icell / lenx % leny + tag.dbox.lo.y, k = icell / lenx / leny + tag.dbox.lo.z;
    for (int n = 0; n < ncomp; ++n)
        tag.dst(i, j, k, n) = tag.src(i + tag.offset.x, j + tag.offset.y, k + tag.offset.z, n);
}

template <typename T> struct GpuDelete { void operator()(T* p) const { cudaFree(p); } };
template <typename T> struct DeviceVector {
    std::unique_ptr<T, GpuDelete<T>> p;
    size_t n = 0;
    explicit DeviceVector(size_t n_) : n(n_) { T* q; AMREX_GPU_SAFE_CALL(cudaMalloc(&q, n * sizeof(T))); p.reset(q); }
    explicit DeviceVector(std::vector<T> const& h) : DeviceVector(h.size()) { AMREX_GPU_SAFE_CALL(cudaMemcpy(p.get(), h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    T* data() const { return p.get(); }
};

class FArrayBox {
public:
    FArrayBox(Box const& b, int nc) : domain(b), ncomp(nc), store(size_t(b.numPts()) * nc) {
        AMREX_GPU_SAFE_CALL(cudaMemset(store.data(), 0, store.n * sizeof(Real)));
    }
    Array4<Real> array() const { return make<Real>(store.data()); }
    Array4<Real const> const_array() const { return make<Real const>(store.data()); }
    Array4<Real> host_array(std::vector<Real>& h) const {
        h.resize(store.n);
        AMREX_GPU_SAFE_CALL(cudaMemcpy(h.data(), store.data(), store.n * sizeof(Real), cudaMemcpyDeviceToHost));
        return make<Real>(h.data());
    }
    Box domain;
    int ncomp;
private:
    template <typename T> Array4<T> make(T* p) const {
        Array4<T> a;
        a.p = p; a.jstride = domain.length(0); a.kstride = a.jstride * domain.length(1);
        a.nstride = a.kstride * domain.length(2); a.begin = domain.lo;
        return a;
    }
    DeviceVector<Real> store;
};

class MultiFab {
public:
    MultiFab(std::vector<Box> const& ba, int nc, int ng) : boxes(ba), ncomp(nc), ngrow(ng), dboxes(ba) {
        for (auto const& b : ba) fabs.emplace_back(b.grow(ng), nc);
        std::vector<Array4<Real>> h;
        for (auto const& f : fabs) h.push_back(f.array());
        arrays = std::make_unique<DeviceVector<Array4<Real>>>(h);
    }
    void buildFillBoundary(Dim3 n) {                    // periodic over the domain [0, n)
        std::vector<CopyTag> tags;
        std::vector<int> start{0};
        for (size_t d = 0; d < boxes.size(); ++d)
            for (size_t s = 0; s < boxes.size(); ++s)
                for (int c = -1; c <= 1; ++c) for (int b = -1; b <= 1; ++b) for (int a = -1; a <= 1; ++a) {
                    if (d == s && !a && !b && !c) continue;
                    const Dim3 sh{a * n.x, b * n.y, c * n.z};
                    const Box isect = boxes[d].grow(ngrow) & boxes[s].shift(sh);
                    if (!isect.ok()) continue;
                    tags.push_back({fabs[d].array(), fabs[s].const_array(), isect, {-sh.x, -sh.y, -sh.z}});
                    start.push_back(start.back() + int((isect.numPts() + 127) / 128));
                }
        ntags = int(tags.size());
        nblocks = start.back();
        dtags = std::make_unique<DeviceVector<CopyTag>>(tags);
        dstart = std::make_unique<DeviceVector<int>>(start);
    }
    void FillBoundary() const { copy_tags<<<nblocks, 128>>>(dtags->data(), dstart->data(), ntags, ncomp); AMREX_GPU_SAFE_CALL(cudaGetLastError()); }
    std::vector<Box> boxes;
    int ncomp, ngrow, ntags = 0, nblocks = 0;
    std::vector<FArrayBox> fabs;
    DeviceVector<Box> dboxes;
    std::unique_ptr<DeviceVector<Array4<Real>>> arrays;
    std::unique_ptr<DeviceVector<CopyTag>> dtags;
    std::unique_ptr<DeviceVector<int>> dstart;
};

// ---------------------------------------------------------------- physics
struct StepParams { Real cx, cy, cz, nu; };

GPU_HOST_DEVICE FORCE_INLINE Real update(Array4<Real const> const& u, int i, int j, int k, int n, StepParams p)
{
    const Real c = u(i, j, k, n);
    const Real adv = p.cx * (c - u(i - 1, j, k, n)) + p.cy * (c - u(i, j - 1, k, n)) + p.cz * (c - u(i, j, k - 1, n));
    const Real dif = u(i - 1, j, k, n) + u(i + 1, j, k, n) + u(i, j - 1, k, n) + u(i, j + 1, k, n) + u(i, j, k - 1, n) + u(i, j, k + 1, n) - 6.0 * c;
    return c - adv + p.nu * (n + 1) * dif;
}

void advance_per_box(MultiFab const& uold, MultiFab const& unew, StepParams p)
{
    for (size_t b = 0; b < uold.boxes.size(); ++b) {
        auto const in = uold.fabs[b].const_array();
        auto const out = unew.fabs[b].array();
        const int nc = uold.ncomp;
        ParallelFor(uold.boxes[b], [=] __device__ (int i, int j, int k) noexcept {
            for (int n = 0; n < nc; ++n) out(i, j, k, n) = update(in, i, j, k, n, p);
        });
    }
}

void advance_fused(MultiFab const& uold, MultiFab const& unew, StepParams p)
{
    const Array4<Real>* in = uold.arrays->data();
    const Array4<Real>* out = unew.arrays->data();
    const int nc = uold.ncomp;
    dim3 grid(24, unsigned(uold.boxes.size()));
    multi_box_kernel<<<grid, MAX_THREADS>>>(uold.dboxes.data(), [=] __device__ (int b, int i, int j, int k) noexcept {
        const Array4<Real> w = in[b];
        const Array4<Real const> r{w.p, w.jstride, w.kstride, w.nstride, w.begin};
        for (int n = 0; n < nc; ++n) out[b](i, j, k, n) = update(r, i, j, k, n, p);
    });
    AMREX_GPU_SAFE_CALL(cudaGetLastError());
}

// grid point is tagged where the undivided gradient is large; counts per box
void tag_cells(MultiFab const& u, Real threshold, int* counts)
{
    const Array4<Real>* in = u.arrays->data();
    dim3 grid(16, unsigned(u.boxes.size()));
    multi_box_kernel<<<grid, 128>>>(u.dboxes.data(), [=] __device__ (int b, int i, int j, int k) noexcept {
        auto const& a = in[b];
        const Real g = fmax(fabs(a(i + 1, j, k) - a(i - 1, j, k)), fmax(fabs(a(i, j + 1, k) - a(i, j - 1, k)), fabs(a(i, j, k + 1) - a(i, j, k - 1))));
        if (g > threshold) atomicAdd(&counts[b], 1);
    });
    AMREX_GPU_SAFE_CALL(cudaGetLastError());
}

void average_down(FArrayBox const& fine, Box const& fbox, FArrayBox const& crse)
{
    auto const f = fine.const_array();
    auto const c = crse.array();
    const int nc = fine.ncomp;
    ParallelFor(fbox.coarsen(2), [=] __device__ (int i, int j, int k) noexcept {
        for (int n = 0; n < nc; ++n) {
            Real s = 0;
            for (int kk = 0; kk < 2; ++kk) for (int jj = 0; jj < 2; ++jj) for (int ii = 0; ii < 2; ++ii)
                s += f(2 * i + ii, 2 * j + jj, 2 * k + kk, n);
            c(i, j, k, n) = s * 0.125;
        }
    });
}

// max of |u| over component 0 with a shared tree, positive doubles order as integers
__global__ void max_norm(Box box, Array4<Real const> a, unsigned long long* result)
{
    extern __shared__ Real red[];
    const int ncells = int(box.numPts()), lenx = box.length(0), leny = box.length(1);
    Real m = 0;
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < ncells; c += gridDim.x * blockDim.x)
        m = fmax(m, fabs(a(c % lenx + box.lo.x, c / lenx % leny + box.lo.y, c / lenx / leny + box.lo.z)));
    red[threadIdx.x] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (int(threadIdx.x) < s) red[threadIdx.x] = fmax(red[threadIdx.x], red[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicMax(result, (unsigned long long)__double_as_longlong(red[0]));
}

struct ParticleSoA { DeviceVector<Real> x, y, z, w; int np; };

void deposit(ParticleSoA const& p, Array4<Real> rho)
{
    const Real *x = p.x.data(), *y = p.y.data(), *z = p.z.data(), *w = p.w.data();
    ParallelFor(Box{{0, 0, 0}, {p.np - 1, 0, 0}}, [=] __device__ (int ip, int, int) noexcept {
        const Real lx = x[ip] - 0.5, ly = y[ip] - 0.5, lz = z[ip] - 0.5;
        const int i = int(floor(lx)), j = int(floor(ly)), k = int(floor(lz));
        const Real sx[2] = {1.0 - (lx - i), lx - i}, sy[2] = {1.0 - (ly - j), ly - j}, sz[2] = {1.0 - (lz - k), lz - k};
        for (int kk = 0; kk < 2; ++kk) for (int jj = 0; jj < 2; ++jj) for (int ii = 0; ii < 2; ++ii)
            atomicAdd(&rho(i + ii, j + jj, k + kk), w[ip] * sx[ii] * sy[jj] * sz[kk]);
    });
}

int main()
{
    const Dim3 n{50, 44, 38};
    std::vector<Box> ba;                                // uneven cuts, even corners for coarsening
    const int cx[] = {0, 18, 50}, cy[] = {0, 24, 44}, cz[] = {0, 20, 38};
    for (int c = 0; c < 2; ++c) for (int b = 0; b < 2; ++b) for (int a = 0; a < 2; ++a)
        ba.push_back({{cx[a], cy[b], cz[c]}, {cx[a + 1] - 1, cy[b + 1] - 1, cz[c + 1] - 1}});
    const int ncomp = 2;
    MultiFab A(ba, ncomp, 1), B(ba, ncomp, 1);
    A.buildFillBoundary(n);
    B.buildFillBoundary(n);
    std::vector<Real> global(size_t(n.x) * n.y * n.z * ncomp);
    auto gi = [&](int i, int j, int k, int c) { return ((size_t(c) * n.z + k) * n.y + j) * n.x + i; };
    std::mt19937 rng(8);
    for (int c = 0; c < ncomp; ++c) for (int k = 0; k < n.z; ++k) for (int j = 0; j < n.y; ++j) for (int i = 0; i < n.x; ++i)
        global[gi(i, j, k, c)] = std::sin(0.3 * i + c) * std::cos(0.2 * j) + 0.1 * k + (rng() % 1000) * 1e-3;
    {
        DeviceVector<Real> dglobal(global);
        const Real* g = dglobal.data();
        for (size_t b = 0; b < ba.size(); ++b) {
            auto const a = A.fabs[b].array();
            const Dim3 nn = n;
            ParallelFor(ba[b], [=] __device__ (int i, int j, int k) noexcept {
                for (int c = 0; c < 2; ++c) a(i, j, k, c) = g[((size_t(c) * nn.z + k) * nn.y + j) * nn.x + i];
            });
        }
        AMREX_GPU_SAFE_CALL(cudaDeviceSynchronize());
    }
    const StepParams p{0.2, 0.15, 0.1, 0.02};
    MultiFab *uo = &A, *un = &B;
    for (int step = 0; step < 4; ++step) {
        uo->FillBoundary();
        if (step == 1) advance_per_box(*uo, *un, p); else advance_fused(*uo, *un, p);
        std::swap(uo, un);
        std::vector<Real> next(global.size());
        auto w = [](int i, int m) { return (i + m) % m; };
        for (int c = 0; c < ncomp; ++c) for (int k = 0; k < n.z; ++k) for (int j = 0; j < n.y; ++j) for (int i = 0; i < n.x; ++i) {
            auto u = [&](int a, int b, int d) { return global[gi(w(a, n.x), w(b, n.y), w(d, n.z), c)]; };
            const Real v = u(i, j, k);
            next[gi(i, j, k, c)] = v - (p.cx * (v - u(i - 1, j, k)) + p.cy * (v - u(i, j - 1, k)) + p.cz * (v - u(i, j, k - 1)))
                + p.nu * (c + 1) * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1) - 6.0 * v);
        }
        global.swap(next);
    }
    uo->FillBoundary();
    const Real threshold = 1.25;
    DeviceVector<int> counts(ba.size());
    AMREX_GPU_SAFE_CALL(cudaMemset(counts.data(), 0, ba.size() * sizeof(int)));
    tag_cells(*uo, threshold, counts.data());
    FArrayBox crse(ba[3].coarsen(2), ncomp);
    average_down(uo->fabs[3], ba[3], crse);
    DeviceVector<unsigned long long> norm(1);
    AMREX_GPU_SAFE_CALL(cudaMemset(norm.data(), 0, sizeof(unsigned long long)));
    for (size_t b = 0; b < ba.size(); ++b) max_norm<<<20, 128, 128 * sizeof(Real)>>>(ba[b], uo->fabs[b].const_array(), norm.data());

    const int np = 60000;
    std::vector<Real> px(np), py(np), pz(np), pw(np);
    std::uniform_real_distribution<Real> U(0.0, 1.0);
    for (int i = 0; i < np; ++i) { px[i] = U(rng) * 32; py[i] = U(rng) * U(rng) * 32; pz[i] = U(rng) * 32; pw[i] = U(rng); }
    ParticleSoA particles{DeviceVector<Real>(px), DeviceVector<Real>(py), DeviceVector<Real>(pz), DeviceVector<Real>(pw), np};
    FArrayBox rho(Box{{0, 0, 0}, {31, 31, 31}}.grow(1), 1);
    deposit(particles, rho.array());
    AMREX_GPU_SAFE_CALL(cudaDeviceSynchronize());

    // ---- checks
    double worst = 0, wantNorm = 0;
    int tagsBad = 0;
    std::vector<int> hc(ba.size());
    AMREX_GPU_SAFE_CALL(cudaMemcpy(hc.data(), counts.data(), ba.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (size_t b = 0; b < ba.size(); ++b) {
        std::vector<Real> h;
        auto a = uo->fabs[b].host_array(h);
        int sure = 0, maybe = 0;
        for (int k = ba[b].lo.z; k <= ba[b].hi.z; ++k) for (int j = ba[b].lo.y; j <= ba[b].hi.y; ++j) for (int i = ba[b].lo.x; i <= ba[b].hi.x; ++i) {
            for (int c = 0; c < ncomp; ++c) worst = std::max(worst, std::fabs(a(i, j, k, c) - global[gi(i, j, k, c)]));
            wantNorm = std::max(wantNorm, std::fabs(a(i, j, k)));
            const double g = std::max(std::fabs(a(i + 1, j, k) - a(i - 1, j, k)), std::max(std::fabs(a(i, j + 1, k) - a(i, j - 1, k)), std::fabs(a(i, j, k + 1) - a(i, j, k - 1))));
            sure += g > threshold + 1e-9; maybe += g > threshold - 1e-9;
        }
        tagsBad += hc[b] < sure || hc[b] > maybe;
    }
    unsigned long long bits; double gotNorm;
    AMREX_GPU_SAFE_CALL(cudaMemcpy(&bits, norm.data(), sizeof bits, cudaMemcpyDeviceToHost));
    std::copy_n(reinterpret_cast<const char*>(&bits), sizeof bits, reinterpret_cast<char*>(&gotNorm));
    std::vector<Real> hcr, hrho, hf;
    auto c4 = crse.host_array(hcr), f4 = uo->fabs[3].host_array(hf), r4 = rho.host_array(hrho);
    double worstAvg = 0, worstRho = 0;
    for (int k = crse.domain.lo.z; k <= crse.domain.hi.z; ++k) for (int j = crse.domain.lo.y; j <= crse.domain.hi.y; ++j) for (int i = crse.domain.lo.x; i <= crse.domain.hi.x; ++i) {
        double s = 0;
        for (int q = 0; q < 8; ++q) s += f4(2 * i + (q & 1), 2 * j + (q >> 1 & 1), 2 * k + (q >> 2), 1);
        worstAvg = std::max(worstAvg, std::fabs(s / 8 - c4(i, j, k, 1)));
    }
    std::vector<double> wr(hrho.size(), 0.0);
    Array4<Real> w4 = r4; w4.p = wr.data();
    for (int ip = 0; ip < np; ++ip) {
        const double l[3] = {px[ip] - 0.5, py[ip] - 0.5, pz[ip] - 0.5};
        int o[3]; for (int d = 0; d < 3; ++d) o[d] = (int)std::floor(l[d]);
        for (int q = 0; q < 8; ++q) {
            double v = pw[ip];
            for (int d = 0; d < 3; ++d) v *= (q >> d & 1) ? l[d] - o[d] : 1.0 - (l[d] - o[d]);
            w4(o[0] + (q & 1), o[1] + (q >> 1 & 1), o[2] + (q >> 2)) += v;
        }
    }
    for (size_t i = 0; i < wr.size(); ++i) worstRho = std::max(worstRho, std::fabs(wr[i] - hrho[i]));
    std::printf("state %.2e  average %.2e  rho %.2e  norm %.6f/%.6f  tag errors %d  tags %d\n", worst, worstAvg, worstRho, gotNorm, wantNorm, tagsBad, hc[0]);
    const bool ok = worst < 1e-10 && worstAvg < 1e-12 && worstRho < 1e-9 && gotNorm == wantNorm && tagsBad == 0;
    std::printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
