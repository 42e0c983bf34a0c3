// Translated from dyn_phys.f90. Array bounds (1:NX etc., first index fastest), routine names and
// the order of the sweeps are kept so that results can be compared with the Fortran version.
//
//   SUBROUTINE ADVECX / ADVECY   van Leer fluxes, periodic
//   SUBROUTINE VDIFF             implicit vertical mixing, Thomas algorithm per column
//   SUBROUTINE SATADJ            saturation adjustment (Newton)
//   SUBROUTINE PRECIP            column integrated condensate, zonal means
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <string>
#include <vector>
#include <random>
#include <algorithm>
#include <cuda_runtime.h>

typedef double real8;

#define CALL_CUDA(x) { cudaError_t ierr = (x); if (ierr != cudaSuccess) { \
    fprintf(stderr, " *** STOP in %s: %s\n", #x, cudaGetErrorString(ierr)); exit(1); } }

// ---------------------------------------------------------------- MODULE dims
struct Dims { int nx, ny, nz; };

// REAL*8 A(NX,NY,NZ)
struct Array3 {
    real8* p;
    int nx, ny, nz;
    __host__ __device__ real8& operator()(int i, int j, int k) const { return p[(i - 1) + (size_t)nx * ((j - 1) + (size_t)ny * (k - 1))]; }
};
// REAL*8 A(N1,N2)
struct Array2 {
    real8* p;
    int n1, n2;
    __host__ __device__ real8& operator()(int i, int j) const { return p[(i - 1) + (size_t)n1 * (j - 1)]; }
};

// ---------------------------------------------------------------- MODULE consts
namespace consts {
constexpr real8 cp = 1004.64, rv = 461.5, lv = 2.5008e6, t0 = 273.16, es0 = 610.78, eps = 0.622, grav = 9.80665;
}

__host__ __device__ inline int iwrap(int i, int n) { return i < 1 ? i + n : (i > n ? i - n : i); }

// limited slope
__host__ __device__ inline real8 vanleer(real8 qm, real8 q0, real8 qp) {
    const real8 a = q0 - qm, b = qp - q0;
    return a * b > 0.0 ? 2.0 * a * b / (a + b) : 0.0;
}
// upwind flux through the face between qm | q0, courant number c
__host__ __device__ inline real8 flux(real8 qmm, real8 qm, real8 q0, real8 qp, real8 c) {
    if (c >= 0.0) return c * (qm + 0.5 * (1.0 - c) * vanleer(qmm, qm, q0));
    return c * (q0 - 0.5 * (1.0 + c) * vanleer(qm, q0, qp));
}
__host__ __device__ inline real8 qsat(real8 t, real8 p) {
    using namespace consts;
    const real8 es = es0 * exp(lv / rv * (1.0 / t0 - 1.0 / t));
    return eps * es / (p - (1.0 - eps) * es);
}
__host__ __device__ inline void adjust(real8& t, real8& qv, real8& qc, real8 p) {
    using namespace consts;
    real8 dq = 0.0;
    for (int it = 1; it <= 4; it++) {
        const real8 tn = t + lv / cp * dq, qs = qsat(tn, p);
        const real8 f = qv - dq - qs, df = -1.0 - qs * lv / (rv * tn * tn) * lv / cp;
        dq = dq - f / df;
    }
    dq = fmax(dq, -qc);
    t += lv / cp * dq;
    qv -= dq;
    qc += dq;
}

// ---------------------------------------------------------------- SUBROUTINE ADVECX
// block = one row segment (+ 2 halo points each side in shared memory), loop over k
template <int NTHR>
__global__ void advecx(Dims d, Array3 q, Array3 cx, Array3 qnew) {
    __shared__ real8 sq[NTHR + 4], sf[NTHR + 1];
    const int i0 = blockIdx.x * NTHR, j = blockIdx.y + 1, t = threadIdx.x;
    const int i = i0 + t + 1;
    for (int k = 1; k <= d.nz; k++) {
        for (int s = t; s < NTHR + 4; s += NTHR) sq[s] = q(iwrap(min(i0 + s - 1, d.nx + 2), d.nx), j, k);
        __syncthreads();
        // sf(t) is the flux through the left face of point t
        if (i <= d.nx + 1) sf[t] = flux(sq[t], sq[t + 1], sq[t + 2], sq[t + 3], cx(iwrap(i, d.nx), j, k));
        if (t == 0 && i0 + NTHR < d.nx + 1)
            sf[NTHR] = flux(sq[NTHR], sq[NTHR + 1], sq[NTHR + 2], sq[NTHR + 3], cx(iwrap(i0 + NTHR + 1, d.nx), j, k));
        __syncthreads();
        if (i <= d.nx) qnew(i, j, k) = sq[t + 2] - (sf[t + 1] - sf[t]);
        __syncthreads();
    }
}

// ---------------------------------------------------------------- SUBROUTINE ADVECY
__global__ void advecy(Dims d, Array3 q, Array3 cy, Array3 qnew) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    const int k = blockIdx.z + 1;
    if (i > d.nx || j > d.ny) return;
    const int jmm = iwrap(j - 2, d.ny), jm = iwrap(j - 1, d.ny), jp = iwrap(j + 1, d.ny), jpp = iwrap(j + 2, d.ny);
    const real8 fs = flux(q(i, jmm, k), q(i, jm, k), q(i, j, k), q(i, jp, k), cy(i, j, k));
    const real8 fn = flux(q(i, jm, k), q(i, j, k), q(i, jp, k), q(i, jpp, k), cy(i, jp, k));
    qnew(i, j, k) = q(i, j, k) - (fn - fs);
}

// ---------------------------------------------------------------- SUBROUTINE VDIFF
// work arrays in global memory exactly like the original  E(NX,NY,NZ), F(NX,NY,NZ)
__global__ void vdiff(Dims d, Array3 q, const real8* rk, Array2 sflx, Array3 e, Array3 f) {
    const int ij = blockIdx.x * blockDim.x + threadIdx.x;
    if (ij >= d.nx * d.ny) return;
    const int i = ij % d.nx + 1, j = ij / d.nx + 1;
    // rk(k) couples k and k+1
    real8 b = 1.0 + rk[0];
    e(i, j, 1) = rk[0] / b;
    f(i, j, 1) = (q(i, j, 1) + sflx(i, j)) / b;
    for (int k = 2; k <= d.nz; k++) {
        const real8 a = rk[k - 2], c = k < d.nz ? rk[k - 1] : 0.0;
        b = 1.0 + a + c - a * e(i, j, k - 1);
        e(i, j, k) = c / b;
        f(i, j, k) = (q(i, j, k) + a * f(i, j, k - 1)) / b;
    }
    q(i, j, d.nz) = f(i, j, d.nz);
    for (int k = d.nz - 1; k >= 1; k--) q(i, j, k) = f(i, j, k) + e(i, j, k) * q(i, j, k + 1);
}

// ---------------------------------------------------------------- SUBROUTINE SATADJ
__global__ void satadj(Dims d, Array3 t, Array3 qv, Array3 qc, const real8* pres) {
    const size_t n = (size_t)d.nx * d.ny * d.nz;
    for (size_t l = blockIdx.x * (size_t)blockDim.x + threadIdx.x; l < n; l += (size_t)gridDim.x * blockDim.x) {
        const real8 p = pres[l / ((size_t)d.nx * d.ny)];
        if (qv.p[l] > qsat(t.p[l], p) || qc.p[l] > 0.0) adjust(t.p[l], qv.p[l], qc.p[l], p);
    }
}

// ---------------------------------------------------------------- SUBROUTINE PRECIP
// one block per latitude row; zonal(j,1) = mean column condensate, zonal(j,2) = max column condensate
__global__ void precip(Dims d, Array3 qc, const real8* dp, Array2 zonal) {
    extern __shared__ real8 buf[];
    real8 *ssum = buf, *smax = buf + blockDim.x;
    const int j = blockIdx.x + 1;
    real8 tot = 0.0, mx = 0.0;
    for (int i = threadIdx.x + 1; i <= d.nx; i += blockDim.x) {
        real8 col = 0.0;
        for (int k = 1; k <= d.nz; k++) col += qc(i, j, k) * dp[k - 1] / consts::grav;
        tot += col;
        mx = fmax(mx, col);
    }
    ssum[threadIdx.x] = tot;
    smax[threadIdx.x] = mx;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h /= 2) {
        if (threadIdx.x < h) {
            ssum[threadIdx.x] += ssum[threadIdx.x + h];
            smax[threadIdx.x] = fmax(smax[threadIdx.x], smax[threadIdx.x + h]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        zonal(j, 1) = ssum[0] / d.nx;
        zonal(j, 2) = smax[0];
    }
}

// ---------------------------------------------------------------- host side storage
struct HostField {
    std::vector<real8> v;
    Dims d;
    explicit HostField(Dims dd) : v((size_t)dd.nx * dd.ny * dd.nz, 0.0), d(dd) {}
    Array3 a() { return {v.data(), d.nx, d.ny, d.nz}; }
    Array3 device() const {
        Array3 r = {nullptr, d.nx, d.ny, d.nz};
        CALL_CUDA(cudaMalloc(&r.p, v.size() * sizeof(real8)));
        CALL_CUDA(cudaMemcpy(r.p, v.data(), v.size() * sizeof(real8), cudaMemcpyHostToDevice));
        return r;
    }
};
static real8* device_vec(const std::vector<real8>& v) {
    real8* p;
    CALL_CUDA(cudaMalloc(&p, v.size() * sizeof(real8)));
    CALL_CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(real8), cudaMemcpyHostToDevice));
    return p;
}
static real8 maxdiff(const char* name, const real8* dev, const std::vector<real8>& ref) {
    std::vector<real8> h(ref.size());
    CALL_CUDA(cudaMemcpy(h.data(), dev, h.size() * sizeof(real8), cudaMemcpyDeviceToHost));
    real8 e = 0.0, m = 1e-30;
    for (size_t l = 0; l < h.size(); l++) {
        m = std::max(m, std::fabs(ref[l]));
        e = std::fabs(h[l] - ref[l]) <= e ? e : std::fabs(h[l] - ref[l]);
    }
    printf(" %-8s MAXVAL = %12.5E   REL DIFF = %9.2E\n", name, m, e / m);
    return e / m;
}

int main(int argc, char** argv) {
    const Dims d = {argc > 1 ? atoi(argv[1]) : 180, argc > 2 ? atoi(argv[2]) : 94, argc > 3 ? atoi(argv[3]) : 30};
    HostField t(d), qv(d), qc(d), cx(d), cy(d), w(d);
    std::vector<real8> pres(d.nz), dp(d.nz), rk(d.nz), sflx(d.nx * d.ny);
    std::mt19937 gen(1997);
    std::uniform_real_distribution<real8> ran(0.0, 1.0);
    for (int k = 1; k <= d.nz; k++) {
        pres[k - 1] = 100000.0 - 80000.0 * (k - 1) / d.nz;
        dp[k - 1] = 80000.0 / d.nz;
        rk[k - 1] = 0.8 * std::exp(-3.0 * k / d.nz) + 0.05;
    }
    for (auto& s : sflx) s = 4.0e-4 * ran(gen);
    Array3 T = t.a(), QV = qv.a(), QC = qc.a(), CX = cx.a(), CY = cy.a();
    for (int k = 1; k <= d.nz; k++)
        for (int j = 1; j <= d.ny; j++)
            for (int i = 1; i <= d.nx; i++) {
                const real8 lat = M_PI * (j - 0.5) / d.ny, lon = 2 * M_PI * i / d.nx;
                T(i, j, k) = 262.0 + 38.0 * std::sin(lat) - 55.0 * (k - 1) / d.nz + ran(gen);
                QV(i, j, k) = qsat(T(i, j, k), pres[k - 1]) * (0.55 + 0.35 * std::sin(3 * lon) + 0.2 * ran(gen));
                QC(i, j, k) = ran(gen) < 0.2 ? 2.0e-4 * ran(gen) : 0.0;
                CX(i, j, k) = 0.6 * std::sin(2 * lat + 0.1 * k) * (1 + 0.3 * std::cos(lon));
                CY(i, j, k) = 0.4 * std::sin(2 * lon) * std::sin(lat);
            }

    Array3 dt = t.device(), dqv = qv.device(), dqc = qc.device(), dcx = cx.device(), dcy = cy.device(), dw = w.device(), de = w.device(), df = w.device();
    real8 *dpres = device_vec(pres), *ddp = device_vec(dp), *drk = device_vec(rk);
    Array2 dsf = {device_vec(sflx), d.nx, d.ny}, dzon = {device_vec(std::vector<real8>(2 * d.ny, 0.0)), d.ny, 2};

    // CALL ADVECX / ADVECY for both tracers, ping-pong with the work array
    for (Array3 q : {dqv, dqc}) {
        advecx<64><<<dim3((d.nx + 63) / 64, d.ny), 64>>>(d, q, dcx, dw);
        advecy<<<dim3((d.ny + 15) / 16, (d.nx + 7) / 8, d.nz), dim3(16, 8)>>>(d, dw, dcy, q);
    }
    vdiff<<<(d.nx * d.ny + 127) / 128, 128>>>(d, dqv, drk, dsf, de, df);
    satadj<<<256, 192>>>(d, dt, dqv, dqc, dpres);
    precip<<<d.ny, 128, 2 * 128 * sizeof(real8)>>>(d, dqc, ddp, dzon);
    CALL_CUDA(cudaGetLastError());
    CALL_CUDA(cudaDeviceSynchronize());

    // ------------------------------------------------ same on the host
    Array3 W = w.a();
    for (Array3 Q : {QV, QC}) {
        auto sweep = [&](Array3 in, Array3 out, Array3 c, int di, int dj) {
            for (int k = 1; k <= d.nz; k++)
                for (int j = 1; j <= d.ny; j++)
                    for (int i = 1; i <= d.nx; i++) {
                        auto at = [&](int s) -> real8 { return in(iwrap(i + s * di, d.nx), iwrap(j + s * dj, d.ny), k); };
                        const real8 fl = flux(at(-2), at(-1), at(0), at(1), c(i, j, k));
                        const real8 fr = flux(at(-1), at(0), at(1), at(2), c(iwrap(i + di, d.nx), iwrap(j + dj, d.ny), k));
                        out(i, j, k) = at(0) - (fr - fl);
                    }
        };
        sweep(Q, W, CX, 1, 0);
        sweep(W, Q, CY, 0, 1);
    }
    std::vector<real8> E(d.nz + 1), F(d.nz + 1), zon(2 * d.ny, 0.0);
    for (int j = 1; j <= d.ny; j++)
        for (int i = 1; i <= d.nx; i++) {
            for (int k = 1; k <= d.nz; k++) {
                const real8 a = k > 1 ? rk[k - 2] : 0.0, c = k < d.nz ? rk[k - 1] : 0.0;
                const real8 b = 1.0 + a + c - a * E[k - 1];
                E[k] = c / b;
                F[k] = (QV(i, j, k) + (k == 1 ? sflx[(i - 1) + d.nx * (j - 1)] : 0.0) + a * F[k - 1]) / b;
            }
            for (int k = d.nz; k >= 1; k--) QV(i, j, k) = F[k] + (k < d.nz ? E[k] * QV(i, j, k + 1) : 0.0);
            real8 col = 0.0;
            for (int k = 1; k <= d.nz; k++) {
                const real8 p = pres[k - 1];
                if (QV(i, j, k) > qsat(T(i, j, k), p) || QC(i, j, k) > 0.0) adjust(T(i, j, k), QV(i, j, k), QC(i, j, k), p);
                col += QC(i, j, k) * dp[k - 1] / consts::grav;
            }
            zon[j - 1] += col / d.nx;
            zon[d.ny + j - 1] = std::max(zon[d.ny + j - 1], col);
        }

    bool ok = true;
    ok &= maxdiff("T", dt.p, t.v) < 1e-7;
    ok &= maxdiff("QV", dqv.p, qv.v) < 1e-6;
    ok &= maxdiff("QC", dqc.p, qc.v) < 1e-6;
    ok &= maxdiff("ZONAL", dzon.p, zon) < 1e-6;
    printf(" %s\n", ok ? "PASS" : "FAIL");
    for (real8* p : {dt.p, dqv.p, dqc.p, dcx.p, dcy.p, dw.p, de.p, df.p, dpres, ddp, drk, dsf.p, dzon.p}) cudaFree(p);
    return ok ? 0 : 1;
}
