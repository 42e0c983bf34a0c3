// Oil reservoir simulation, two-phase waterflood (IMPES) on an NX x NY x NZ grid. Ported from our Fortran code: arrays keep the
// (i,j,k) order with i fastest, and indices are hidden in a macro.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define NX 96
#define NY 64
#define NZ 20
#define NC (NX * NY * NZ)
#define IX(i, j, k) ((i) + NX * ((j) + NY * (k)))

#define CK(x) ck((x), __LINE__)
static void ck(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        std::printf("CUDA error line %d: %s\n", line, cudaGetErrorString(e));
        std::exit(1);
    }
}

typedef double real;

struct Fluid {
    real muw, muo, swc, sor;
};

__host__ __device__ inline real krw(Fluid f, real s)
{
    real e = (s - f.swc) / (1.0 - f.swc - f.sor);
    e = e < 0.0 ? 0.0 : (e > 1.0 ? 1.0 : e);
    return 0.4 * e * e;
}

__host__ __device__ inline real kro(Fluid f, real s)
{
    real e = (1.0 - f.sor - s) / (1.0 - f.swc - f.sor);
    e = e < 0.0 ? 0.0 : (e > 1.0 ? 1.0 : e);
    return 0.9 * e * e;
}

// total mobility and fractional flow of every cell
__global__ void mobility(Fluid f, const real *sw, real *lam, real *fw)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= NC)
        return;
    real w = krw(f, sw[c]) / f.muw;
    real o = kro(f, sw[c]) / f.muo;
    lam[c] = w + o;
    fw[c] = w / (w + o);
}

// face transmissibilities: harmonic mean of the permeability, arithmetic mean of the mobility
__global__ void transmissibility(const real *perm, const real *lam, real *tx, real *ty, real *tz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= NX || j >= NY)
        return;
    int c = IX(i, j, k);
    real kc = perm[c];
    real lc = lam[c];
    int n = IX(i + 1, j, k);
    tx[c] = i + 1 < NX ? 2.0 * kc * perm[n] / (kc + perm[n]) * 0.5 * (lc + lam[n]) : 0.0;
    n = IX(i, j + 1, k);
    ty[c] = j + 1 < NY ? 2.0 * kc * perm[n] / (kc + perm[n]) * 0.5 * (lc + lam[n]) : 0.0;
    n = IX(i, j, k + 1);
    tz[c] = k + 1 < NZ ? 0.1 * 2.0 * kc * perm[n] / (kc + perm[n]) * 0.5 * (lc + lam[n]) : 0.0;
}

__host__ __device__ inline void gather(const real *tx, const real *ty, const real *tz, const real *p, int i, int j, int k, real &diag, real &sum)
{
    int c = IX(i, j, k);
    diag = 1e-12;
    sum = 0.0;
    if (i + 1 < NX) {
        diag += tx[c];
        sum += tx[c] * p[c + 1];
    }
    if (i > 0) {
        diag += tx[c - 1];
        sum += tx[c - 1] * p[c - 1];
    }
    if (j + 1 < NY) {
        diag += ty[c];
        sum += ty[c] * p[c + NX];
    }
    if (j > 0) {
        diag += ty[c - NX];
        sum += ty[c - NX] * p[c - NX];
    }
    if (k + 1 < NZ) {
        diag += tz[c];
        sum += tz[c] * p[c + NX * NY];
    }
    if (k > 0) {
        diag += tz[c - NX * NY];
        sum += tz[c - NX * NY] * p[c - NX * NY];
    }
}

// damped Jacobi on the pressure
__global__ void pressure_jacobi(const real *tx, const real *ty, const real *tz, const real *q, const real *p, real *pn)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= NX || j >= NY)
        return;
    real diag, sum;
    gather(tx, ty, tz, p, i, j, k, diag, sum);
    int c = IX(i, j, k);
    pn[c] = p[c] + 0.8 * ((sum + q[c]) / diag - p[c]);
}

// line relaxation along z: a thread solves one column with the Thomas algorithm
__global__ void pressure_zline(const real *tx, const real *ty, const real *tz, const real *q, const real *p, real *pn)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i >= NX)
        return;
    real cp[NZ], dp[NZ];
    for (int k = 0; k < NZ; k++) {
        int c = IX(i, j, k);
        real diag, sum;
        gather(tx, ty, tz, p, i, j, k, diag, sum);
        real up = k + 1 < NZ ? tz[c] : 0.0;
        real dn = k > 0 ? tz[c - NX * NY] : 0.0;
        if (k + 1 < NZ)
            sum -= up * p[c + NX * NY];
        if (k > 0)
            sum -= dn * p[c - NX * NY];
        real rhs = sum + q[c];
        real m = diag - (k > 0 ? dn * cp[k - 1] : 0.0);
        cp[k] = up / m;
        dp[k] = (rhs + (k > 0 ? dn * dp[k - 1] : 0.0)) / m;
    }
    real x = dp[NZ - 1];
    pn[IX(i, j, NZ - 1)] = x;
    for (int k = NZ - 2; k >= 0; k--) {
        x = dp[k] + cp[k] * x;
        pn[IX(i, j, k)] = x;
    }
}

__host__ __device__ inline real face_flux(real t, const real *p, const real *fw, int a, int b)
{
    real u = t * (p[a] - p[b]);
    return u * (u > 0.0 ? fw[a] : fw[b]);
}

// explicit upwind saturation update
__global__ void saturation(const real *tx, const real *ty, const real *tz, const real *p, const real *fw, const real *q, const real *sw, real *swn, real dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= NX || j >= NY)
        return;
    int c = IX(i, j, k);
    real acc = q[c] > 0.0 ? q[c] : q[c] * fw[c];
    if (i + 1 < NX)
        acc -= face_flux(tx[c], p, fw, c, c + 1);
    if (i > 0)
        acc += face_flux(tx[c - 1], p, fw, c - 1, c);
    if (j + 1 < NY)
        acc -= face_flux(ty[c], p, fw, c, c + NX);
    if (j > 0)
        acc += face_flux(ty[c - NX], p, fw, c - NX, c);
    if (k + 1 < NZ)
        acc -= face_flux(tz[c], p, fw, c, c + NX * NY);
    if (k > 0)
        acc += face_flux(tz[c - NX * NY], p, fw, c - NX * NY, c);
    swn[c] = sw[c] + dt * acc;
}

// mean saturation of each layer and of each (j,k) row
__global__ void layer_means(const real *sw, real *mean)
{
    __shared__ real red[128];
    real s = 0.0;
    for (int c = threadIdx.x; c < NX * NY; c += 128)
        s += sw[blockIdx.x * NX * NY + c];
    red[threadIdx.x] = s;
    __syncthreads();
    for (int h = 64; h > 0; h /= 2) {
        if (threadIdx.x < h)
            red[threadIdx.x] += red[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        mean[blockIdx.x] = red[0] / (NX * NY);
}

__global__ void row_means(const real *sw, real *mean)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= NY * NZ)
        return;
    real s = 0.0;
    for (int i = 0; i < NX; i++)
        s += sw[r * NX + i];
    mean[r] = s / NX;
}

int main()
{
    Fluid f = {0.5, 2.0, 0.2, 0.15};
    std::vector<real> perm(NC), sw(NC), p(NC), q(NC, 0.0);
    unsigned s = 4711;
    for (int c = 0; c < NC; c++) {
        s = s * 1664525u + 1013904223u;
        perm[c] = std::exp(2.0 * ((s >> 8) / 16777216.0) - 1.0) * (1.0 + 0.5 * ((c / (NX * NY)) % 3));
        sw[c] = 0.2 + 0.4 * ((c * 7 % 101) / 101.0);
        p[c] = 1.0 - (c % NX) / (real)NX;
    }
    for (int k = 0; k < NZ; k++) {
        q[IX(0, 0, k)] = 0.01;
        q[IX(NX - 1, NY - 1, k)] = -0.01;
    }
    real *d[14];
    for (int a = 0; a < 14; a++)
        CK(cudaMalloc(&d[a], NC * sizeof(real)));
    real *dperm = d[0], *dsw = d[1], *dp = d[2], *dq = d[3], *dlam = d[4], *dfw = d[5], *dtx = d[6], *dty = d[7], *dtz = d[8];
    real *dp1 = d[9], *dp2 = d[10], *dswn = d[11], *dlm = d[12], *drm = d[13];
    size_t bytes = NC * sizeof(real);
    CK(cudaMemcpy(dperm, perm.data(), bytes, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(dsw, sw.data(), bytes, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(dp, p.data(), bytes, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(dq, q.data(), bytes, cudaMemcpyHostToDevice));

    dim3 blk(32, 4, 1), grd(NX / 32, NY / 4, NZ);
    const real dt = 0.05;
    mobility<<<(NC + 127) / 128, 128>>>(f, dsw, dlam, dfw);
    transmissibility<<<grd, blk>>>(dperm, dlam, dtx, dty, dtz);
    pressure_jacobi<<<grd, blk>>>(dtx, dty, dtz, dq, dp, dp1);
    pressure_jacobi<<<grd, blk>>>(dtx, dty, dtz, dq, dp1, dp2);
    pressure_zline<<<dim3(NX / 32, NY), 32>>>(dtx, dty, dtz, dq, dp2, dp1);
    saturation<<<grd, blk>>>(dtx, dty, dtz, dp1, dfw, dq, dsw, dswn, dt);
    layer_means<<<NZ, 128>>>(dswn, dlm);
    row_means<<<(NY * NZ + 63) / 64, 64>>>(dswn, drm);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    std::vector<real> gp(NC), gs(NC), lm(NZ), rm(NY * NZ), g2(NC);
    CK(cudaMemcpy(gp.data(), dp1, bytes, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(g2.data(), dp2, bytes, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(gs.data(), dswn, bytes, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(lm.data(), dlm, NZ * sizeof(real), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(rm.data(), drm, NY * NZ * sizeof(real), cudaMemcpyDeviceToHost));

    std::vector<real> lam(NC), fw(NC), tx(NC, 0.0), ty(NC, 0.0), tz(NC, 0.0);
    for (int c = 0; c < NC; c++) {
        real w = krw(f, sw[c]) / f.muw, o = kro(f, sw[c]) / f.muo;
        lam[c] = w + o;
        fw[c] = w / (w + o);
    }
    auto T = [&](int a, int b) { return 2.0 * perm[a] * perm[b] / (perm[a] + perm[b]) * 0.5 * (lam[a] + lam[b]); };
    for (int k = 0; k < NZ; k++)
        for (int j = 0; j < NY; j++)
            for (int i = 0; i < NX; i++) {
                int c = IX(i, j, k);
                if (i + 1 < NX)
                    tx[c] = T(c, c + 1);
                if (j + 1 < NY)
                    ty[c] = T(c, c + NX);
                if (k + 1 < NZ)
                    tz[c] = 0.1 * T(c, c + NX * NY);
            }
    std::vector<real> pa = p, pb(NC);
    for (int it = 0; it < 2; it++) {
        for (int c = 0; c < NC; c++) {
            real diag, sum;
            gather(tx.data(), ty.data(), tz.data(), pa.data(), c % NX, c / NX % NY, c / (NX * NY), diag, sum);
            pb[c] = pa[c] + 0.8 * ((sum + q[c]) / diag - pa[c]);
        }
        pa.swap(pb);
    }
    int bad = 0;
    for (int c = 0; c < NC; c++)
        bad += std::fabs(pa[c] - g2[c]) > 1e-9;
    // the line solve must leave no residual along the columns (with the old pressures in the other directions)
    for (int c = 0; c < NC; c++) {
        int k = c / (NX * NY);
        real diag, sum;
        gather(tx.data(), ty.data(), tz.data(), g2.data(), c % NX, c / NX % NY, k, diag, sum);
        if (k + 1 < NZ)
            sum += tz[c] * (gp[c + NX * NY] - g2[c + NX * NY]);
        if (k > 0)
            sum += tz[c - NX * NY] * (gp[c - NX * NY] - g2[c - NX * NY]);
        bad += std::fabs(diag * gp[c] - sum - q[c]) > 1e-8;
    }
    real total = 0.0;
    for (int c = 0; c < NC; c++) {
        int i = c % NX, j = c / NX % NY, k = c / (NX * NY);
        const real *P = gp.data();
        real acc = q[c] > 0.0 ? q[c] : q[c] * fw[c];
        if (i + 1 < NX)
            acc -= face_flux(tx[c], P, fw.data(), c, c + 1);
        if (i > 0)
            acc += face_flux(tx[c - 1], P, fw.data(), c - 1, c);
        if (j + 1 < NY)
            acc -= face_flux(ty[c], P, fw.data(), c, c + NX);
        if (j > 0)
            acc += face_flux(ty[c - NX], P, fw.data(), c - NX, c);
        if (k + 1 < NZ)
            acc -= face_flux(tz[c], P, fw.data(), c, c + NX * NY);
        if (k > 0)
            acc += face_flux(tz[c - NX * NY], P, fw.data(), c - NX * NY, c);
        bad += std::fabs(sw[c] + dt * acc - gs[c]) > 1e-8;
        total += gs[c];
    }
    real l = 0.0, r = 0.0;
    for (int k = 0; k < NZ; k++)
        l += lm[k] * NX * NY;
    for (int k = 0; k < NY * NZ; k++)
        r += rm[k] * NX;
    bad += std::fabs(l - total) > 1e-6 * total;
    bad += std::fabs(r - total) > 1e-6 * total;
    std::printf("%d cells differ, mean Sw %.6f\n", bad, total / NC);
    std::puts(bad ? "FAIL" : "PASS");
    for (int a = 0; a < 14; a++)
        cudaFree(d[a]);
    return bad ? 1 : 0;
}
