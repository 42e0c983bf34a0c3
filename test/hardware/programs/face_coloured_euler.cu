// Cell-centred finite volumes for the 2-D compressible Euler equations on an unstructured triangle mesh.
// Residuals are gathered face by face. Faces are ordered by colour so that two faces of a colour never share a cell
// and the increments need no atomics. Flux scheme is a template policy (CRTP).
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

typedef double scalar;
typedef int label;

#define CHECK_CUDA(stmt)                                                       \
    {                                                                          \
        cudaError_t rc = (stmt);                                               \
        if (rc != cudaSuccess)                                                 \
        {                                                                      \
            std::cerr << "--> FATAL : " << cudaGetErrorString(rc) << " at "    \
                      << __LINE__ << std::endl;                                \
            std::exit(1);                                                      \
        }                                                                      \
    }

constexpr int nEq = 4;
constexpr scalar gammaGas = 1.4;

// Mesh addressing as seen by a kernel. All pointers of one memory space.
struct MeshView
{
    label nCells, nFaces;
    const label* owner;
    const label* neighbour;  // -1 on the boundary
    const double2* Sf;       // area vector, out of the owner
    const scalar* V;
};

struct StateView
{
    scalar* U;    // [cell][nEq]
    scalar* res;  // [cell][nEq]
    scalar* lam;  // [cell] sum of face spectral radii
};

struct Prim
{
    scalar rho, u, v, p;
};

__host__ __device__ inline Prim primitive(const scalar* U)
{
    Prim w;
    w.rho = U[0];
    w.u = U[1] / U[0];
    w.v = U[2] / U[0];
    w.p = (gammaGas - 1) * (U[3] - 0.5 * w.rho * (w.u * w.u + w.v * w.v));
    return w;
}

__host__ __device__ inline void physicalFlux(const Prim& w, const scalar* U, double2 S, scalar* F)
{
    const scalar phi = w.u * S.x + w.v * S.y;
    F[0] = U[0] * phi;
    F[1] = U[1] * phi + w.p * S.x;
    F[2] = U[2] * phi + w.p * S.y;
    F[3] = (U[3] + w.p) * phi;
}

template<class Scheme>
struct FluxBase
{
    // returns the spectral radius times area
    __host__ __device__ scalar operator()(const scalar* UL, const scalar* UR, double2 S, scalar* F) const
    {
        const Prim l = primitive(UL), r = primitive(UR);
        const scalar mag = sqrt(S.x * S.x + S.y * S.y);
        return static_cast<const Scheme&>(*this).evaluate(UL, UR, l, r, S, mag, F);
    }
};

struct Rusanov : FluxBase<Rusanov>
{
    __host__ __device__ scalar evaluate(
        const scalar* UL, const scalar* UR, const Prim& l, const Prim& r, double2 S, scalar mag, scalar* F) const
    {
        scalar FL[nEq], FR[nEq];
        physicalFlux(l, UL, S, FL);
        physicalFlux(r, UR, S, FR);
        const scalar aL = fabs(l.u * S.x + l.v * S.y) + sqrt(gammaGas * l.p / l.rho) * mag;
        const scalar aR = fabs(r.u * S.x + r.v * S.y) + sqrt(gammaGas * r.p / r.rho) * mag;
        const scalar a = aL > aR ? aL : aR;
        for (int q = 0; q < nEq; q++) F[q] = 0.5 * (FL[q] + FR[q]) - 0.5 * a * (UR[q] - UL[q]);
        return a;
    }
};

__host__ __device__ inline void mirror(const scalar* UL, double2 S, scalar* UR)
{
    const scalar m2 = S.x * S.x + S.y * S.y;
    const scalar un = (UL[1] * S.x + UL[2] * S.y) / m2;
    UR[0] = UL[0];
    UR[1] = UL[1] - 2 * un * S.x;
    UR[2] = UL[2] - 2 * un * S.y;
    UR[3] = UL[3];
}

template<class Scheme>
__host__ __device__ inline void faceContribution(const MeshView& m, const StateView& s, label f, const Scheme& flux)
{
    const label P = m.owner[f], N = m.neighbour[f];
    const double2 S = m.Sf[f];
    scalar UL[nEq], UR[nEq], F[nEq];
    for (int q = 0; q < nEq; q++) UL[q] = s.U[P * nEq + q];
    if (N >= 0)
    {
        for (int q = 0; q < nEq; q++) UR[q] = s.U[N * nEq + q];
    }
    else
    {
        mirror(UL, S, UR);
    }
    const scalar a = flux(UL, UR, S, F);
    for (int q = 0; q < nEq; q++) s.res[P * nEq + q] -= F[q];
    s.lam[P] += a;
    if (N >= 0)
    {
        for (int q = 0; q < nEq; q++) s.res[N * nEq + q] += F[q];
        s.lam[N] += a;
    }
}

template<class Scheme>
__global__ void faceLoop(const MeshView m, const StateView s, const label start, const label end, const Scheme flux)
{
    const label f = start + blockIdx.x * blockDim.x + threadIdx.x;
    if (f < end) faceContribution(m, s, f, flux);
}

// smallest stable step, as an ordered integer so that atomicMin does
__global__ void courantStep(const MeshView m, const StateView s, unsigned long long* dtBits)
{
    __shared__ scalar smallest[128];
    scalar dt = 1e30;
    for (label c = blockIdx.x * blockDim.x + threadIdx.x; c < m.nCells; c += gridDim.x * blockDim.x)
        dt = fmin(dt, m.V[c] / s.lam[c]);
    smallest[threadIdx.x] = dt;
    __syncthreads();
    for (int w = blockDim.x / 2; w > 0; w /= 2)
    {
        if (threadIdx.x < w) smallest[threadIdx.x] = fmin(smallest[threadIdx.x], smallest[threadIdx.x + w]);
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicMin(dtBits, *reinterpret_cast<unsigned long long*>(&smallest[0]));
}

__global__ void advance(const MeshView m, const StateView s, const scalar* dt, const scalar courant)
{
    const label i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m.nCells * nEq) return;
    const label c = i / nEq;
    s.U[i] += courant * *dt / m.V[c] * s.res[i];
    s.res[i] = 0;
    if (i % nEq == 0) s.lam[c] = 0;
}

class HostMesh
{
public:
    std::vector<label> owner, neighbour, colourStart;
    std::vector<double2> Sf;
    std::vector<scalar> V;
    std::vector<double2> C;

    explicit HostMesh(int n, unsigned seed)
    {
        std::mt19937 rng(seed);
        std::uniform_real_distribution<scalar> jitter(-0.2, 0.2);
        std::vector<double2> pts;
        for (int j = 0; j <= n; j++)
            for (int i = 0; i <= n; i++)
            {
                const bool inner = i > 0 && i < n && j > 0 && j < n;
                pts.push_back({(i + (inner ? jitter(rng) : 0)) / n, (j + (inner ? jitter(rng) : 0)) / n});
            }
        std::vector<std::array<label, 3>> tri;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
            {
                const label a = j * (n + 1) + i, b = a + 1, c = a + n + 2, d = a + n + 1;
                if (rng() & 1) { tri.push_back({a, b, c}); tri.push_back({a, c, d}); }
                else { tri.push_back({a, b, d}); tri.push_back({b, c, d}); }
            }
        // a mild renumbering: cells are shuffled within windows, as after partition-local sorting
        for (size_t w = 0; w < tri.size(); w += 96)
            std::shuffle(tri.begin() + w, tri.begin() + std::min(tri.size(), w + 96), rng);
        std::map<std::pair<label, label>, label> edgeToFace;
        for (label c = 0; c < (label)tri.size(); c++)
        {
            const double2 p0 = pts[tri[c][0]], p1 = pts[tri[c][1]], p2 = pts[tri[c][2]];
            V.push_back(0.5 * ((p1.x - p0.x) * (p2.y - p0.y) - (p2.x - p0.x) * (p1.y - p0.y)));
            C.push_back({(p0.x + p1.x + p2.x) / 3, (p0.y + p1.y + p2.y) / 3});
            for (int k = 0; k < 3; k++)
            {
                const label a = tri[c][k], b = tri[c][(k + 1) % 3];
                auto [it, fresh] = edgeToFace.insert({std::minmax(a, b), (label)owner.size()});
                if (fresh)
                {
                    owner.push_back(c);
                    neighbour.push_back(-1);
                    Sf.push_back({pts[b].y - pts[a].y, pts[a].x - pts[b].x});
                }
                else neighbour[it->second] = c;
            }
        }
        colour();
    }

private:
    void colour()
    {
        std::vector<unsigned> used(V.size(), 0);
        std::vector<int> col(owner.size());
        int nCol = 0;
        for (size_t f = 0; f < owner.size(); f++)
        {
            const unsigned mask = used[owner[f]] | (neighbour[f] >= 0 ? used[neighbour[f]] : 0u);
            int c = 0;
            while (mask >> c & 1u) c++;
            col[f] = c;
            nCol = std::max(nCol, c + 1);
            used[owner[f]] |= 1u << c;
            if (neighbour[f] >= 0) used[neighbour[f]] |= 1u << c;
        }
        std::vector<label> perm(owner.size());
        std::iota(perm.begin(), perm.end(), 0);
        std::stable_sort(perm.begin(), perm.end(), [&](label a, label b) { return col[a] < col[b]; });
        auto apply = [&](auto& v) { auto o = v; for (size_t i = 0; i < perm.size(); i++) v[i] = o[perm[i]]; };
        apply(owner);
        apply(neighbour);
        apply(Sf);
        apply(col);
        for (int c = 0; c <= nCol; c++)
            colourStart.push_back((label)(std::lower_bound(col.begin(), col.end(), c) - col.begin()));
    }
};

template<class T>
T* managedCopy(const std::vector<T>& v)
{
    T* p = nullptr;
    CHECK_CUDA(cudaMallocManaged(&p, v.size() * sizeof(T)));
    std::copy(v.begin(), v.end(), p);
    return p;
}

int main(int argc, char* argv[])
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 110;
    const int nSteps = 2;
    const scalar courant = 0.4;
    HostMesh mesh(n, 4711);
    const label nCells = (label)mesh.V.size(), nFaces = (label)mesh.owner.size();
    std::vector<scalar> U0(nCells * nEq);
    for (label c = 0; c < nCells; c++)
    {
        const scalar dx = mesh.C[c].x - 0.5, dy = mesh.C[c].y - 0.45;
        const scalar blob = exp(-40 * (dx * dx + dy * dy));
        const scalar rho = 1 + 0.5 * blob, u = 0.3, v = -0.1, p = 1 + 2 * blob;
        U0[c * nEq] = rho;
        U0[c * nEq + 1] = rho * u;
        U0[c * nEq + 2] = rho * v;
        U0[c * nEq + 3] = p / (gammaGas - 1) + 0.5 * rho * (u * u + v * v);
    }
    MeshView dm{nCells, nFaces, managedCopy(mesh.owner), managedCopy(mesh.neighbour), managedCopy(mesh.Sf), managedCopy(mesh.V)};
    StateView ds{managedCopy(U0), managedCopy(std::vector<scalar>(nCells * nEq, 0.0)), managedCopy(std::vector<scalar>(nCells, 0.0))};
    scalar* dt = managedCopy(std::vector<scalar>(nSteps, 1e30));

    const int nCol = (int)mesh.colourStart.size() - 1;
    for (int step = 0; step < nSteps; step++)
    {
        for (int c = 0; c < nCol; c++)
        {
            const label b = mesh.colourStart[c], e = mesh.colourStart[c + 1];
            faceLoop<<<(e - b + 127) / 128, 128>>>(dm, ds, b, e, Rusanov());
        }
        courantStep<<<64, 128>>>(dm, ds, reinterpret_cast<unsigned long long*>(dt + step));
        advance<<<(nCells * nEq + 255) / 256, 256>>>(dm, ds, dt + step, courant);
    }
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());

    std::vector<scalar> U = U0, res(nCells * nEq, 0.0), lam(nCells, 0.0);
    MeshView hm{nCells, nFaces, mesh.owner.data(), mesh.neighbour.data(), mesh.Sf.data(), mesh.V.data()};
    StateView hs{U.data(), res.data(), lam.data()};
    scalar err = 0, mass0 = 0, mass1 = 0;
    for (int step = 0; step < nSteps; step++)
    {
        for (label f = 0; f < nFaces; f++) faceContribution(hm, hs, f, Rusanov());
        scalar h = 1e30;
        for (label c = 0; c < nCells; c++) h = std::min(h, mesh.V[c] / lam[c]);
        err = std::max(err, std::fabs(h - dt[step]) / h);
        for (label i = 0; i < nCells * nEq; i++) U[i] += courant * h / mesh.V[i / nEq] * res[i];
        std::fill(res.begin(), res.end(), 0.0);
        std::fill(lam.begin(), lam.end(), 0.0);
    }
    for (label i = 0; i < nCells * nEq; i++) err = std::max(err, std::fabs(U[i] - ds.U[i]));
    for (label c = 0; c < nCells; c++) mass0 += U0[c * nEq] * mesh.V[c], mass1 += ds.U[c * nEq] * mesh.V[c];
    const bool ok = err < 1e-10 && std::fabs(mass1 - mass0) < 1e-9;
    std::cout << nCells << " cells, " << nFaces << " faces, " << nCol << " colours, error " << err << ", mass change "
              << mass1 - mass0 << "\n" << (ok ? "PASS" : "FAIL") << std::endl;
    for (const void* p : {(const void*)dm.owner, (const void*)dm.neighbour, (const void*)dm.Sf, (const void*)dm.V})
        cudaFree(const_cast<void*>(p));
    cudaFree(ds.U); cudaFree(ds.res); cudaFree(ds.lam); cudaFree(dt);
    return ok ? 0 : 1;
}
