// Building blocks of a toy coupled-cluster doubles iteration:
//   permute      W[d,b,c,a] <- V[a,b,c,d]           (generic gather and a tiled variant)
//   ladder       R[a,b,i,j] = sum_cd V[a,b,c,d] T[c,d,i,j]
//   antisym      A[ab, i<j] = R[a,b,i,j] - R[a,b,j,i]  with packed lower triangle
//   energy       E = sum T * R / (e_i + e_j - e_a - e_b)
// First index slowest, last index fastest.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int nvir = 14;
constexpr int nocc = 9;
constexpr int npair = nocc * (nocc - 1) / 2;

void cuda(cudaError_t e)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
    std::exit(2);
}

// ---- compile time shapes ------------------------------------------------------
template <int... D> struct Shape {
    static constexpr int rank = sizeof...(D);
    static constexpr int size = (D * ...);
    __host__ __device__ static constexpr int dim(int k) { constexpr int d[] = {D...}; return d[k]; }
    __host__ __device__ static constexpr int stride(int k) {
        int s = 1;
        for (int i = rank - 1; i > k; --i) s *= dim(i);
        return s;
    }
    template <class... I> __host__ __device__ static constexpr int at(I... idx) {
        const int v[] = {static_cast<int>(idx)...};
        int o = 0;
        for (int k = 0; k < rank; ++k) o = o * dim(k) + v[k];
        return o;
    }
};

using Vabcd = Shape<nvir, nvir, nvir, nvir>;
using Tcdij = Shape<nvir, nvir, nocc, nocc>;

// ---- permutation: output mode m is input mode P[m] -------------------------------
template <class In, int... P>
__global__ void permute_gather(const double* __restrict__ in, double* __restrict__ out)
{
    constexpr int perm[] = {P...};
    int rest = blockIdx.x * blockDim.x + threadIdx.x;
    if (rest >= In::size) return;
    const int to = rest;
    int from = 0;
#pragma unroll
    for (int m = In::rank - 1; m >= 0; --m) {
        const int d = In::dim(perm[m]);
        from += (rest % d) * In::stride(perm[m]);
        rest /= d;
    }
    out[to] = in[from];
}

// swap first and last mode of [n0][mid][n3] through a shared tile; blockIdx.z enumerates mid
template <int N0, int MID, int N3>
__global__ void permute_outer_tiled(const double* __restrict__ in, double* __restrict__ out)
{
    __shared__ double tile[16][16];
    const int mid = blockIdx.z;
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i < N0 && j < N3) tile[threadIdx.y][threadIdx.x] = in[(i * MID + mid) * N3 + j];
    __syncthreads();
    i = blockIdx.y * 16 + threadIdx.x;
    j = blockIdx.x * 16 + threadIdx.y;
    if (i < N0 && j < N3) out[(j * MID + mid) * N0 + i] = tile[threadIdx.x][threadIdx.y];
}

// One block per (a,b). Threads: x over j (9), y over i (9), z splits the c loop in three.
// V[a,b,:,:] (196 doubles) is staged; the z slices are summed at the end.
constexpr int ZS = 3;
__global__ void __launch_bounds__(nocc * nocc * ZS) ladder(const double* __restrict__ V, const double* __restrict__ T, double* __restrict__ R)
{
    __shared__ double v[nvir][nvir];
    __shared__ double part[nocc][nocc][ZS];
    const int a = blockIdx.y, b = blockIdx.x;
    const int i = threadIdx.y, j = threadIdx.x, z = threadIdx.z;
    const int flat = (z * nocc + i) * nocc + j;
    for (int k = flat; k < nvir * nvir; k += nocc * nocc * ZS) v[k / nvir][k % nvir] = V[Vabcd::at(a, b, 0, 0) + k];
    __syncthreads();
    double s = 0;
    for (int c = z; c < nvir; c += ZS)
        for (int d = 0; d < nvir; ++d) s += v[c][d] * T[Tcdij::at(c, d, i, j)];
    part[i][j][z] = s;
    __syncthreads();
    if (z == 0) R[Tcdij::at(a, b, i, j)] = part[i][j][0] + part[i][j][1] + part[i][j][2];
}

// packed pair index p = i*(i-1)/2 + j, j < i
__global__ void antisymmetrise(const double* __restrict__ R, double* __restrict__ A)
{
    const int p = threadIdx.x;
    const int ab = blockIdx.x * blockDim.y + threadIdx.y;
    if (p >= npair || ab >= nvir * nvir) return;
    int i = 1;
    while (i * (i + 1) / 2 <= p) ++i;
    const int j = p - i * (i - 1) / 2;
    const double* r = R + ab * nocc * nocc;
    A[ab * npair + p] = r[i * nocc + j] - r[j * nocc + i];
}

struct Orbitals { double eo[nocc], ev[nvir]; };   // passed by value

__global__ void energy(const double* __restrict__ T, const double* __restrict__ R, Orbitals e, double* __restrict__ result)
{
    __shared__ double red[256];
    double s = 0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < Tcdij::size; k += gridDim.x * blockDim.x) {
        const int j = k % nocc, i = k / nocc % nocc, b = k / (nocc * nocc) % nvir, a = k / (nocc * nocc * nvir);
        s += T[k] * R[k] / (e.eo[i] + e.eo[j] - e.ev[a] - e.ev[b]);
    }
    red[threadIdx.x] = s;
    for (int w = blockDim.x / 2; w > 0; w >>= 1) {
        __syncthreads();
        if (threadIdx.x < w) red[threadIdx.x] += red[threadIdx.x + w];
    }
    if (threadIdx.x == 0) atomicAdd(result, red[0]);
}

bool same(const char* what, const std::vector<double>& got, const std::vector<double>& want, double tol)
{
    double worst = 0;
    bool good = true;
    for (std::size_t k = 0; k < want.size(); ++k) {
        const double d = std::fabs(got[k] - want[k]);
        if (!(d <= tol)) good = false;
        worst = std::fmax(worst, d);
    }
    std::printf("%-22s %9zu elements, max deviation %.2e %s\n", what, want.size(), worst, good ? "" : "<---");
    return good;
}

} // namespace

int main()
{
    std::vector<double> V(Vabcd::size), T(Tcdij::size), R(T.size()), got(V.size()), want(V.size());
    for (int k = 0; k < Vabcd::size; ++k) V[k] = std::sin(0.37 * k) / (1 + k % 17);
    for (int k = 0; k < Tcdij::size; ++k) T[k] = std::cos(0.11 * k) / (2 + k % 23);
    Orbitals orb;
    for (int i = 0; i < nocc; ++i) orb.eo[i] = -2.0 + 0.11 * i;
    for (int a = 0; a < nvir; ++a) orb.ev[a] = 0.3 + 0.17 * a;

    double *dV, *dW, *dT, *dR, *dA, *dE;
    cuda(cudaMalloc(&dV, sizeof(double) * V.size()));
    cuda(cudaMalloc(&dW, sizeof(double) * V.size()));
    cuda(cudaMalloc(&dT, sizeof(double) * T.size()));
    cuda(cudaMalloc(&dR, sizeof(double) * T.size()));
    cuda(cudaMalloc(&dA, sizeof(double) * nvir * nvir * npair));
    cuda(cudaMalloc(&dE, sizeof(double)));
    cuda(cudaMemcpy(dV, V.data(), sizeof(double) * V.size(), cudaMemcpyHostToDevice));
    cuda(cudaMemcpy(dT, T.data(), sizeof(double) * T.size(), cudaMemcpyHostToDevice));
    cuda(cudaMemset(dE, 0, sizeof(double)));
    auto fetch = [](const double* d, std::size_t n) {
        std::vector<double> h(n);
        cuda(cudaMemcpy(h.data(), d, n * sizeof(double), cudaMemcpyDeviceToHost));
        return h;
    };
    bool ok = true;

    for (int a = 0; a < nvir; ++a) for (int b = 0; b < nvir; ++b) for (int c = 0; c < nvir; ++c) for (int d = 0; d < nvir; ++d)
        want[Vabcd::at(d, b, c, a)] = V[Vabcd::at(a, b, c, d)];
    permute_gather<Vabcd, 3, 1, 2, 0><<<(Vabcd::size + 95) / 96, 96>>>(dV, dW);
    cuda(cudaGetLastError());
    ok &= same("permute abcd->dbca", fetch(dW, V.size()), want, 0.0);
    cuda(cudaMemset(dW, 0, sizeof(double) * V.size()));
    permute_outer_tiled<nvir, nvir * nvir, nvir><<<dim3(1, 1, nvir * nvir), dim3(16, 16)>>>(dV, dW);
    cuda(cudaGetLastError());
    ok &= same("same, tiled", fetch(dW, V.size()), want, 0.0);

    std::vector<double> wantT(T.size());
    for (int a = 0; a < nvir; ++a) for (int b = 0; b < nvir; ++b) for (int i = 0; i < nocc; ++i) for (int j = 0; j < nocc; ++j)
        wantT[((i * nvir + a) * nocc + j) * nvir + b] = T[Tcdij::at(a, b, i, j)];
    permute_gather<Tcdij, 2, 0, 3, 1><<<(Tcdij::size + 127) / 128, 128>>>(dT, dR);
    cuda(cudaGetLastError());
    ok &= same("permute abij->iajb", fetch(dR, T.size()), wantT, 0.0);

    ladder<<<dim3(nvir, nvir), dim3(nocc, nocc, ZS)>>>(dV, dT, dR);
    cuda(cudaGetLastError());
    for (int a = 0; a < nvir; ++a) for (int b = 0; b < nvir; ++b) for (int i = 0; i < nocc; ++i) for (int j = 0; j < nocc; ++j) {
        double s = 0;
        for (int c = 0; c < nvir; ++c) for (int d = 0; d < nvir; ++d) s += V[Vabcd::at(a, b, c, d)] * T[Tcdij::at(c, d, i, j)];
        R[Tcdij::at(a, b, i, j)] = s;
    }
    ok &= same("ladder", fetch(dR, R.size()), R, 1e-11);

    antisymmetrise<<<(nvir * nvir + 6) / 7, dim3(npair, 7)>>>(dR, dA);
    cuda(cudaGetLastError());
    std::vector<double> A(nvir * nvir * npair);
    for (int ab = 0; ab < nvir * nvir; ++ab)
        for (int i = 1, p = 0; i < nocc; ++i)
            for (int j = 0; j < i; ++j, ++p) A[ab * npair + p] = R[ab * nocc * nocc + i * nocc + j] - R[ab * nocc * nocc + j * nocc + i];
    ok &= same("antisymmetrise", fetch(dA, A.size()), A, 1e-11);

    energy<<<12, 256>>>(dT, dR, orb, dE);
    cuda(cudaGetLastError());
    double E = 0;
    for (int k = 0; k < Tcdij::size; ++k)
        E += T[k] * R[k] / (orb.eo[k / nocc % nocc] + orb.eo[k % nocc] - orb.ev[k / (nocc * nocc * nvir)] - orb.ev[k / (nocc * nocc) % nvir]);
    ok &= same("energy", fetch(dE, 1), {E}, 1e-9);

    for (double* p : {dV, dW, dT, dR, dA, dE}) cudaFree(p);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
