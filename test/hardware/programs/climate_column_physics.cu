/* ---------------------------------------------------------------------
 * Column physics driver, ported from the F77 code (PHYSDRV, LWSWEEP,
 * VDIFF, SATADJ, ADVECT, ZMEAN).  Arrays keep their Fortran index order
 * through the macros below: first index runs fastest.
 *
 *   Q(K,I,J)   "column" layout of the dynamics core
 *   F(I,J,K)   "slab"  layout used by the radiation
 * ------------------------------------------------------------------- */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NI 144
#define NJ 72
#define NK 40
#define NCOL (NI * NJ)
#define NTOT (NI * NJ * NK)

#define KIJ(k, i, j) ((k) + NK * ((i) + NI * (j)))
#define IJK(i, j, k) ((i) + NI * ((j) + NJ * (k)))
#define IJ(i, j) ((i) + NI * (j))

#define GRAV 9.80616
#define RDRY 287.04
#define CPD 1004.64
#define SIGMA 5.67e-8
#define LVAP 2.501e6

#define CHK(c) chk((c), __LINE__)
static void chk(cudaError_t rc, int line)
{
    if (rc != cudaSuccess) {
        printf("CUDA rc=%d (%s) at line %d\n", (int)rc, cudaGetErrorString(rc), line);
        exit(4);
    }
}

/* ---- hydrostatic height, integrated from the surface upwards --------- */
__global__ void hydro(const double *t, const double *ps, double *phi)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= NCOL) return;
    double z = 0.0;
    double pb = ps[col];
    double pt;
    for (int k = NK - 1; k >= 0; k--) {
        pt = ps[col] * ((double)k + 0.5) / (NK + 0.5);
        z = z + RDRY / GRAV * t[col * NK + k] * log(pb / pt);
        phi[col * NK + k] = z;
        pb = pt;
    }
}

/* ---- K-first to I-first reordering ------------------------------------ */
__global__ void kij2ijk(const double *a, double *b)
{
    int k = threadIdx.x;
    int i = blockIdx.x * blockDim.y + threadIdx.y;
    int j = blockIdx.y;
    if (k < NK && i < NI)
        b[IJK(i, j, k)] = a[KIJ(k, i, j)];
}

/* ---- grey longwave, down sweep then up sweep -------------------------- */
__global__ void lwsweep(const double *t, const double *qv, const double *ts, double *heat)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i >= NI) return;
    double down = 0.0;
    for (int k = 0; k < NK; k++) {
        double em = 1.0 - exp(-0.02 - 12.0 * qv[IJK(i, j, k)]);
        double tk = t[IJK(i, j, k)];
        double src = SIGMA * tk * tk * tk * tk;
        double out = down * (1.0 - em) + em * src;
        heat[IJK(i, j, k)] = down - out;
        down = out;
    }
    double up = SIGMA * pow(ts[IJ(i, j)], 4.0);
    for (int k = NK - 1; k >= 0; k--) {
        double em = 1.0 - exp(-0.02 - 12.0 * qv[IJK(i, j, k)]);
        double tk = t[IJK(i, j, k)];
        double src = SIGMA * tk * tk * tk * tk;
        double out = up * (1.0 - em) + em * src;
        heat[IJK(i, j, k)] = heat[IJK(i, j, k)] + up - out;
        up = out;
    }
}

/* ---- implicit vertical diffusion, Thomas algorithm --------------------
 * work arrays of the block in shared memory, one column of NK per thread */
#define VB 32
__global__ void vdiff(double *q, double kdt)
{
    __shared__ double cp[VB * NK];
    __shared__ double dp[VB * NK];
    int l = threadIdx.x;
    int col = blockIdx.x * VB + l;
    if (col >= NCOL) return;
    double a = -kdt;
    double b = 1.0 + kdt;
    cp[l * NK] = -kdt / b;
    dp[l * NK] = q[col * NK] / b;
    for (int k = 1; k < NK; k++) {
        b = (k == NK - 1) ? 1.0 + kdt : 1.0 + 2.0 * kdt;
        double m = 1.0 / (b - a * cp[l * NK + k - 1]);
        cp[l * NK + k] = -kdt * m;
        dp[l * NK + k] = (q[col * NK + k] - a * dp[l * NK + k - 1]) * m;
    }
    double x = dp[l * NK + NK - 1];
    q[col * NK + NK - 1] = x;
    for (int k = NK - 2; k >= 0; k--) {
        x = dp[l * NK + k] - cp[l * NK + k] * x;
        q[col * NK + k] = x;
    }
}

/* ---- first order upwind advection on one level, periodic in I --------- */
#define BI 48
#define BJ 6
__global__ void advect(const double *f, const double *u, const double *v, double *fn, double dtdx, double dtdy)
{
    __shared__ double s[BJ + 2][BI + 2];
    int i = blockIdx.x * BI + threadIdx.x;
    int j = blockIdx.y * BJ + threadIdx.y;
    int k = blockIdx.z;
    int im = (i == 0) ? NI - 1 : i - 1;
    int ip = (i == NI - 1) ? 0 : i + 1;
    int jm = (j == 0) ? 0 : j - 1;
    int jp = (j == NJ - 1) ? NJ - 1 : j + 1;
    int li = threadIdx.x + 1;
    int lj = threadIdx.y + 1;
    s[lj][li] = f[IJK(i, j, k)];
    if (li == 1) s[lj][0] = f[IJK(im, j, k)];
    if (li == BI) s[lj][BI + 1] = f[IJK(ip, j, k)];
    if (lj == 1) s[0][li] = f[IJK(i, jm, k)];
    if (lj == BJ) s[BJ + 1][li] = f[IJK(i, jp, k)];
    __syncthreads();
    double uu = u[IJK(i, j, k)];
    double vv = v[IJK(i, j, k)];
    double c = s[lj][li];
    double dx = (uu > 0.0) ? c - s[lj][li - 1] : s[lj][li + 1] - c;
    double dy = (vv > 0.0) ? c - s[lj - 1][li] : s[lj + 1][li] - c;
    fn[IJK(i, j, k)] = c - dtdx * uu * dx - dtdy * vv * dy;
}

/* ---- saturation adjustment, fixed number of Newton steps --------------- */
__host__ __device__ inline double qsat(double t, double p)
{
    double es = 611.2 * exp(17.67 * (t - 273.15) / (t - 29.65));
    return 0.622 * es / (p - 0.378 * es);
}

__host__ __device__ inline void adjust(double *t, double *q, double p)
{
    double t0 = *t, q0 = *q;
    double tn = t0;
    double h = LVAP / CPD;
    for (int it = 0; it < 6; it++) {
        double qs = qsat(tn, p);
        double dq = qs * 4097.8 / ((tn - 29.65) * (tn - 29.65));
        double r = tn - t0 - h * (q0 - qs);
        tn = tn - r / (1.0 + h * dq);
    }
    if (tn > t0) {
        *t = tn;
        *q = q0 - (tn - t0) / h;
    }
}

__global__ void satadj(double *t, double *q, const double *ps)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= NTOT) return;
    int ij = n % NCOL;
    int k = n / NCOL;
    double p = ps[ij] * ((double)k + 1.0) / (NK + 0.5);
    double tt = t[n];
    double qq = q[n];
    adjust(&tt, &qq, p);
    t[n] = tt;
    q[n] = qq;
}

/* ---- zonal mean: one warp per (j,k) ------------------------------------ */
__global__ void zmean(const double *f, double *zm)
{
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (w >= NJ * NK) return;
    double s = 0.0;
    for (int i = lane; i < NI; i += 32)
        s += f[w * NI + i];
    for (int m = 16; m >= 1; m /= 2)
        s += __shfl_xor_sync(0xffffffff, s, m);
    if (lane == 0)
        zm[w] = s / NI;
}

static double *dalloc(size_t n, const double *src)
{
    double *p;
    CHK(cudaMalloc((void **)&p, n * sizeof(double)));
    if (src)
        CHK(cudaMemcpy(p, src, n * sizeof(double), cudaMemcpyHostToDevice));
    return p;
}

static double *fetch(const double *d, size_t n)
{
    double *h = (double *)malloc(n * sizeof(double));
    CHK(cudaMemcpy(h, d, n * sizeof(double), cudaMemcpyDeviceToHost));
    return h;
}

static double worst(const double *a, const double *b, size_t n)
{
    double m = 0.0;
    for (size_t i = 0; i < n; i++) {
        double e = fabs(a[i] - b[i]) / (1.0 + fabs(b[i]));
        if (!(e <= m)) m = e;
    }
    return m;
}

int main(void)
{
    double *t = (double *)malloc(NTOT * sizeof(double));
    double *q = (double *)malloc(NTOT * sizeof(double));
    double *u = (double *)malloc(NTOT * sizeof(double));
    double *v = (double *)malloc(NTOT * sizeof(double));
    double *r = (double *)malloc(NTOT * sizeof(double));
    double *x = (double *)malloc(NTOT * sizeof(double));
    double *ps = (double *)malloc(NCOL * sizeof(double));
    double *ts = (double *)malloc(NCOL * sizeof(double));
    unsigned int seed = 4711u;
    const double kdt = 0.4, dtdx = 0.004, dtdy = 0.006;

    for (int j = 0; j < NJ; j++) {
        for (int i = 0; i < NI; i++) {
            ts[IJ(i, j)] = 300.0 - 40.0 * pow(sin((j - 35.5) / 72.0 * 3.14159), 2.0);
            ps[IJ(i, j)] = 101325.0 - 500.0 * cos(i * 0.13) * sin(j * 0.2);
            for (int k = 0; k < NK; k++) {
                seed = seed * 1664525u + 1013904223u;
                double w = (seed >> 8) / 16777216.0;
                double sig = (k + 1.0) / (NK + 0.5);
                t[KIJ(k, i, j)] = ts[IJ(i, j)] - 75.0 * (1.0 - sig) + w;
                q[KIJ(k, i, j)] = 0.018 * sig * sig * sig * (0.6 + 0.6 * w);
                u[IJK(i, j, k)] = 30.0 * sin(0.1 * j + 0.2 * k) + 1.0;
                v[IJK(i, j, k)] = 12.0 * cos(0.15 * i - 0.1 * k);
            }
        }
    }

    double *dt = dalloc(NTOT, t), *dq = dalloc(NTOT, q);
    double *du = dalloc(NTOT, u), *dv = dalloc(NTOT, v);
    double *dps = dalloc(NCOL, ps), *dts = dalloc(NCOL, ts);
    double *dphi = dalloc(NTOT, 0), *dtr = dalloc(NTOT, 0), *dqr = dalloc(NTOT, 0);
    double *dheat = dalloc(NTOT, 0), *dqn = dalloc(NTOT, 0), *dzm = dalloc(NJ * NK, 0);

    hydro<<<(NCOL + 127) / 128, 128>>>(dt, dps, dphi);
    vdiff<<<(NCOL + VB - 1) / VB, VB>>>(dq, kdt);
    dim3 rb(NK, 8), rg((NI + 7) / 8, NJ);
    kij2ijk<<<rg, rb>>>(dt, dtr);
    kij2ijk<<<rg, rb>>>(dq, dqr);
    lwsweep<<<dim3((NI + 47) / 48, NJ), 48>>>(dtr, dqr, dts, dheat);
    advect<<<dim3(NI / BI, NJ / BJ, NK), dim3(BI, BJ)>>>(dqr, du, dv, dqn, dtdx, dtdy);
    double *tr0 = fetch(dtr, NTOT);
    double *qn0 = fetch(dqn, NTOT);
    satadj<<<(NTOT + 255) / 256, 256>>>(dtr, dqn, dps);
    zmean<<<(NJ * NK * 32 + 255) / 256, 256>>>(dqn, dzm);
    CHK(cudaGetLastError());
    CHK(cudaDeviceSynchronize());

    double *phi = fetch(dphi, NTOT), *qd = fetch(dq, NTOT), *qr = fetch(dqr, NTOT);
    double *heat = fetch(dheat, NTOT), *ta = fetch(dtr, NTOT), *qa = fetch(dqn, NTOT);
    double *zm = fetch(dzm, NJ * NK);
    double err[6];

    /* HYDRO */
    for (int c = 0; c < NCOL; c++) {
        double z = 0.0, pb = ps[c];
        for (int k = NK - 1; k >= 0; k--) {
            double pt = ps[c] * (k + 0.5) / (NK + 0.5);
            z += RDRY / GRAV * t[c * NK + k] * log(pb / pt);
            r[c * NK + k] = z;
            pb = pt;
        }
    }
    err[0] = worst(phi, r, NTOT);

    /* VDIFF: apply the tridiagonal operator to the answer, compare with the input */
    for (int c = 0; c < NCOL; c++) {
        for (int k = 0; k < NK; k++) {
            double s = qd[c * NK + k];
            if (k > 0) s += kdt * (qd[c * NK + k] - qd[c * NK + k - 1]);
            if (k < NK - 1) s += kdt * (qd[c * NK + k] - qd[c * NK + k + 1]);
            r[c * NK + k] = s;
        }
    }
    err[1] = worst(r, q, NTOT);

    /* reorder + LWSWEEP */
    err[2] = 0.0;
    for (int j = 0; j < NJ; j++) {
        for (int i = 0; i < NI; i++) {
            double dn = 0.0;
            for (int k = 0; k < NK; k++) {
                if (qr[IJK(i, j, k)] != qd[KIJ(k, i, j)] || tr0[IJK(i, j, k)] != t[KIJ(k, i, j)]) err[2] = 1.0;
                double em = 1.0 - exp(-0.02 - 12.0 * qr[IJK(i, j, k)]);
                double o = dn * (1.0 - em) + em * SIGMA * pow(tr0[IJK(i, j, k)], 4.0);
                r[IJK(i, j, k)] = dn - o;
                dn = o;
            }
            double up = SIGMA * pow(ts[IJ(i, j)], 4.0);
            for (int k = NK - 1; k >= 0; k--) {
                double em = 1.0 - exp(-0.02 - 12.0 * qr[IJK(i, j, k)]);
                double o = up * (1.0 - em) + em * SIGMA * pow(tr0[IJK(i, j, k)], 4.0);
                r[IJK(i, j, k)] += up - o;
                up = o;
            }
        }
    }
    err[2] += worst(heat, r, NTOT);

    /* ADVECT */
    for (int k = 0; k < NK; k++) {
        for (int j = 0; j < NJ; j++) {
            for (int i = 0; i < NI; i++) {
                double c = qr[IJK(i, j, k)], uu = u[IJK(i, j, k)], vv = v[IJK(i, j, k)];
                double w = qr[IJK((i + NI - 1) % NI, j, k)], e = qr[IJK((i + 1) % NI, j, k)];
                double s = qr[IJK(i, j > 0 ? j - 1 : 0, k)], n = qr[IJK(i, j < NJ - 1 ? j + 1 : NJ - 1, k)];
                x[IJK(i, j, k)] = c - dtdx * uu * (uu > 0 ? c - w : e - c) - dtdy * vv * (vv > 0 ? c - s : n - c);
            }
        }
    }
    err[3] = worst(qn0, x, NTOT);

    /* SATADJ */
    for (int n = 0; n < NTOT; n++) {
        r[n] = tr0[n];
        x[n] = qn0[n];
        adjust(&r[n], &x[n], ps[n % NCOL] * (n / NCOL + 1.0) / (NK + 0.5));
    }
    err[4] = worst(ta, r, NTOT) + worst(qa, x, NTOT);

    /* ZMEAN */
    err[5] = 0.0;
    for (int w = 0; w < NJ * NK; w++) {
        double s = 0.0;
        for (int i = 0; i < NI; i++)
            s += qa[w * NI + i];
        if (fabs(s / NI - zm[w]) > 1e-12) err[5] = 1.0;
    }

    int bad = 0;
    const char *name[6] = {"HYDRO", "VDIFF", "LWSWEEP", "ADVECT", "SATADJ", "ZMEAN"};
    for (int n = 0; n < 6; n++) {
        printf("%-8s %.3e\n", name[n], err[n]);
        if (!(err[n] < 1e-9)) bad++;
    }
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
