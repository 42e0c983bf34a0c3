/*
 * 2-D compressible Euler, first order Godunov with Rusanov fluxes, dimensional splitting.
 * Ported from the Fortran 77 version; arrays keep one layer of ghost cells and their names.
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <algorithm>

#define NX 190
#define NY 94
#define NG 1
#define LDX (NX + 2 * NG)
#define LDY (NY + 2 * NG)
#define IDX(i, j) ((j) * LDX + (i))
#define NCELL (LDX * LDY)
#define GAMMA 1.4
#define RHO(u, i, j) (u)[0 * NCELL + IDX(i, j)]
#define MX(u, i, j)  (u)[1 * NCELL + IDX(i, j)]
#define MY(u, i, j)  (u)[2 * NCELL + IDX(i, j)]
#define EN(u, i, j)  (u)[3 * NCELL + IDX(i, j)]
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s line %d: %s\n", #x, __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)
#define BX 32
#define BY 8

typedef double real;

__host__ __device__ static inline real pressure(real r, real mx, real my, real e)
{
    return (GAMMA - 1.0) * (e - 0.5 * (mx * mx + my * my) / r);
}

/* reflecting walls in both directions; first NX+2 threads do bottom/top, next NY+2 do left/right */
__global__ void bcfill(real *u)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < LDX) {
        RHO(u, t, 0) = RHO(u, t, 1);
        MX(u, t, 0) = MX(u, t, 1);
        MY(u, t, 0) = -MY(u, t, 1);
        EN(u, t, 0) = EN(u, t, 1);
        RHO(u, t, NY + 1) = RHO(u, t, NY);
        MX(u, t, NY + 1) = MX(u, t, NY);
        MY(u, t, NY + 1) = -MY(u, t, NY);
        EN(u, t, NY + 1) = EN(u, t, NY);
    } else if (t < LDX + NY) {
        const int j = t - LDX + 1;
        RHO(u, 0, j) = RHO(u, 1, j);
        MX(u, 0, j) = -MX(u, 1, j);
        MY(u, 0, j) = MY(u, 1, j);
        EN(u, 0, j) = EN(u, 1, j);
        RHO(u, NX + 1, j) = RHO(u, NX, j);
        MX(u, NX + 1, j) = -MX(u, NX, j);
        MY(u, NX + 1, j) = MY(u, NX, j);
        EN(u, NX + 1, j) = EN(u, NX, j);
    }
}

/* largest signal speed: block maxima */
__global__ void cflmax(const real *__restrict__ u, real *__restrict__ smax)
{
    __shared__ real wk[BX * BY];
    const int i = blockIdx.x * BX + threadIdx.x + 1;
    const int j = blockIdx.y * BY + threadIdx.y + 1;
    const int t = threadIdx.y * BX + threadIdx.x;
    real s = 0.0;
    if (i <= NX && j <= NY) {
        const real r = RHO(u, i, j), vx = MX(u, i, j) / r, vy = MY(u, i, j) / r;
        const real p = pressure(r, MX(u, i, j), MY(u, i, j), EN(u, i, j));
        s = sqrt(GAMMA * p / r) + fmax(fabs(vx), fabs(vy));
    }
    wk[t] = s;
    __syncthreads();
    for (int h = BX * BY / 2; h >= 1; h >>= 1) {
        if (t < h) wk[t] = fmax(wk[t], wk[t + h]);
        __syncthreads();
    }
    if (t == 0) smax[blockIdx.y * gridDim.x + blockIdx.x] = wk[0];
}

struct State { real q[4]; };

__host__ __device__ static State rusanov(const State &l, const State &r, int dir)
{
    const real pl = pressure(l.q[0], l.q[1], l.q[2], l.q[3]);
    const real pr = pressure(r.q[0], r.q[1], r.q[2], r.q[3]);
    const real ul = l.q[1 + dir] / l.q[0], ur = r.q[1 + dir] / r.q[0];
    const real al = fabs(ul) + sqrt(GAMMA * pl / l.q[0]);
    const real ar = fabs(ur) + sqrt(GAMMA * pr / r.q[0]);
    const real a = al > ar ? al : ar;
    State f;
    for (int k = 0; k < 4; ++k)
        f.q[k] = 0.5 * (l.q[k] * ul + r.q[k] * ur) - 0.5 * a * (r.q[k] - l.q[k]);
    f.q[1 + dir] += 0.5 * (pl + pr);
    f.q[3] += 0.5 * (pl * ul + pr * ur);
    return f;
}

/* x sweep: a row piece with its two neighbours in shared memory, all four fields */
__global__ void xsweep(const real *__restrict__ u, real *__restrict__ v, real dtdx)
{
    __shared__ real s[4][BY][BX + 2];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * BX + tx + 1, j = blockIdx.y * BY + ty + 1;
    const bool live = i <= NX && j <= NY;
    for (int k = 0; k < 4; ++k) {
        if (live) s[k][ty][tx + 1] = u[k * NCELL + IDX(i, j)];
        if (tx == 0 && j <= NY) s[k][ty][0] = u[k * NCELL + IDX(i - 1, j)];
        if ((tx == BX - 1 || i == NX) && live) s[k][ty][tx + 2] = u[k * NCELL + IDX(i + 1, j)];
    }
    __syncthreads();
    if (!live) return;
    State l, c, r;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        l.q[k] = s[k][ty][tx];
        c.q[k] = s[k][ty][tx + 1];
        r.q[k] = s[k][ty][tx + 2];
    }
    const State fl = rusanov(l, c, 0), fr = rusanov(c, r, 0);
#pragma unroll
    for (int k = 0; k < 4; ++k)
        v[k * NCELL + IDX(i, j)] = c.q[k] - dtdx * (fr.q[k] - fl.q[k]);
}

/* y sweep: one thread a column, marching upward (as the original did, loop order i outer) */
__global__ void ysweep(const real *__restrict__ u, real *__restrict__ v, real dtdy)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i > NX) return;
    State lo, c;
    for (int k = 0; k < 4; ++k) {
        lo.q[k] = u[k * NCELL + IDX(i, 0)];
        c.q[k] = u[k * NCELL + IDX(i, 1)];
    }
    State f = rusanov(lo, c, 1);
    for (int j = 1; j <= NY; ++j) {
        State up;
        for (int k = 0; k < 4; ++k) up.q[k] = u[k * NCELL + IDX(i, j + 1)];
        const State g = rusanov(c, up, 1);
        for (int k = 0; k < 4; ++k)
            v[k * NCELL + IDX(i, j)] = c.q[k] - dtdy * (g.q[k] - f.q[k]);
        f = g;
        c = up;
    }
}

static void hostStep(real *u, real *v, real dt, int dir)
{
    for (int i = 0; i < LDX; ++i) {
        for (int k = 0; k < 4; ++k) {
            real sgn = k == 2 ? -1.0 : 1.0;
            u[k * NCELL + IDX(i, 0)] = sgn * u[k * NCELL + IDX(i, 1)];
            u[k * NCELL + IDX(i, NY + 1)] = sgn * u[k * NCELL + IDX(i, NY)];
        }
    }
    for (int j = 1; j <= NY; ++j)
        for (int k = 0; k < 4; ++k) {
            real sgn = k == 1 ? -1.0 : 1.0;
            u[k * NCELL + IDX(0, j)] = sgn * u[k * NCELL + IDX(1, j)];
            u[k * NCELL + IDX(NX + 1, j)] = sgn * u[k * NCELL + IDX(NX, j)];
        }
    const int off = dir == 0 ? 1 : LDX;
    for (int j = 1; j <= NY; ++j)
        for (int i = 1; i <= NX; ++i) {
            State s[3];
            for (int k = 0; k < 4; ++k)
                for (int d = -1; d <= 1; ++d) s[d + 1].q[k] = u[k * NCELL + IDX(i, j) + d * off];
            const State a = rusanov(s[0], s[1], dir), b = rusanov(s[1], s[2], dir);
            for (int k = 0; k < 4; ++k) v[k * NCELL + IDX(i, j)] = s[1].q[k] - dt * (b.q[k] - a.q[k]);
        }
}

int main()
{
    const size_t bytes = 4 * NCELL * sizeof(real);
    real *h = (real *)malloc(bytes), *w = (real *)malloc(bytes), *back = (real *)malloc(bytes);
    memset(h, 0, bytes);
    for (int j = 0; j < LDY; ++j)
        for (int i = 0; i < LDX; ++i) {
            const real dx = i - NX / 3.0, dy = j - NY / 2.0;
            const bool in = dx * dx + dy * dy < 200.0;
            RHO(h, i, j) = in ? 2.0 : 1.0;
            EN(h, i, j) = (in ? 4.0 : 1.0) / (GAMMA - 1.0);
        }
    real *du, *dv, *ds;
    const dim3 blk(BX, BY), grd((NX + BX - 1) / BX, (NY + BY - 1) / BY);
    const int nb = grd.x * grd.y;
    CK(cudaMalloc(&du, bytes));
    CK(cudaMalloc(&dv, bytes));
    CK(cudaMalloc(&ds, nb * sizeof(real)));
    CK(cudaMemcpy(du, h, bytes, cudaMemcpyHostToDevice));
    CK(cudaMemset(dv, 0, bytes));
    real *hs = (real *)malloc(nb * sizeof(real));
    memcpy(w, h, bytes);

    for (int step = 0; step < 2; ++step) {
        const int nbc = (LDX + NY + 127) / 128;
        bcfill<<<nbc, 128>>>(du);
        cflmax<<<grd, blk>>>(du, ds);
        CK(cudaMemcpy(hs, ds, nb * sizeof(real), cudaMemcpyDeviceToHost));
        const real dt = 0.4 / *std::max_element(hs, hs + nb);
        xsweep<<<grd, blk>>>(du, dv, dt);
        bcfill<<<nbc, 128>>>(dv);
        ysweep<<<(NX + 63) / 64, 64>>>(dv, du, dt);
        hostStep(h, w, dt, 0);
        hostStep(w, h, dt, 1);
    }
    CK(cudaMemcpy(back, du, bytes, cudaMemcpyDeviceToHost));
    real worst = 0.0;
    for (int k = 0; k < 4; ++k)
        for (int j = 1; j <= NY; ++j)
            for (int i = 1; i <= NX; ++i)
                worst = std::max(worst, fabs(back[k * NCELL + IDX(i, j)] - h[k * NCELL + IDX(i, j)]));
    printf("largest difference %g\n%s\n", worst, worst < 1e-9 ? "PASS" : "FAIL");
    cudaFree(du); cudaFree(dv); cudaFree(ds);
    return worst < 1e-9 ? 0 : 1;
}
