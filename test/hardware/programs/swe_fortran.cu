/*
 *  SWEQN  --  shallow water equations on a C grid, linearised drag, leapfrog-free
 *             forward-backward scheme.  Ported from sweqn.f (1987) by hand.
 *             Arrays keep the FORTRAN ordering:  A(I,J) with I running fastest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NI 514
#define NJ 386
#define NIJ (NI * NJ)
#define IX(i, j) (((i) - 1) + ((j) - 1) * NI)
#define H(i, j) h[IX(i, j)]
#define U(i, j) u[IX(i, j)]
#define V(i, j) v[IX(i, j)]
#define HN(i, j) hn[IX(i, j)]
#define UN(i, j) un[IX(i, j)]
#define VN(i, j) vn[IX(i, j)]
#define NSTEP 4

static const double DX = 1000.0;
static const double DT = 4.0;
static const double GRAV = 9.81;
static const double FCOR = 1.0e-4;
static const double DRAG = 1.0e-5;
static const double HBAR = 100.0;

static void chk(cudaError_t ierr, int line)
{
    if (ierr != cudaSuccess) {
        fprintf(stderr, " *** CUDA ERROR %s AT LINE %d\n", cudaGetErrorString(ierr), line);
        exit(3);
    }
}
#define CHK(x) chk((x), __LINE__)

/*  SUBROUTINE UVSTEP  */
__global__ void uvstep(const double *h, const double *u, const double *v,
                       double *un, double *vn, double dtdx, double grav,
                       double dt, double fcor, double drag)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 2;
    if (i <= NI - 1 && j <= NJ - 1) {
        double vbar = 0.25 * (V(i, j) + V(i - 1, j) + V(i, j + 1) + V(i - 1, j + 1));
        double ubar = 0.25 * (U(i, j) + U(i + 1, j) + U(i, j - 1) + U(i + 1, j - 1));
        double px = grav * dtdx * (H(i, j) - H(i - 1, j));
        double py = grav * dtdx * (H(i, j) - H(i, j - 1));
        UN(i, j) = U(i, j) - px + dt * (fcor * vbar - drag * U(i, j));
        VN(i, j) = V(i, j) - py - dt * (fcor * ubar + drag * V(i, j));
    }
}

/*  SUBROUTINE HSTEP -- the original had  DO 20 I / DO 10 J  (inner loop over J), and the
 *  first porter gave J to the fastest thread index.  */
__global__ void hstep(const double *h, const double *un, const double *vn, double *hn,
                      double dtdx, double hbar)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 2;
    int i = blockIdx.y * blockDim.y + threadIdx.y + 2;
    if (i <= NI - 1 && j <= NJ - 1) {
        double div = UN(i + 1, j) - UN(i, j) + VN(i, j + 1) - VN(i, j);
        HN(i, j) = H(i, j) - hbar * dtdx * div;
    }
}

/*  SUBROUTINE BNDRY -- closed basin.  Threads 1..NI do south and north,
 *  threads NI+1..NI+NJ do west and east.  */
__global__ void bndry(double *hn, double *un, double *vn)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (n <= NI) {
        int i = n;
        if (i > 1 && i < NI) {
            HN(i, 1) = HN(i, 2);
            HN(i, NJ) = HN(i, NJ - 1);
        }
        VN(i, 1) = 0.0;
        VN(i, 2) = 0.0;
        VN(i, NJ) = 0.0;
    } else if (n <= NI + NJ) {
        int j = n - NI;
        if (j > 1 && j < NJ) {
            HN(1, j) = HN(2, j);
            HN(NI, j) = HN(NI - 1, j);
        }
        UN(1, j) = 0.0;
        UN(2, j) = 0.0;
        UN(NI, j) = 0.0;
    }
}

/*  SUBROUTINE SHAP -- 1-D Shapiro filter along J of the height, one thread per column of J.
 *  Consecutive threads own consecutive I, so this sweep is fine.  */
__global__ void shapj(const double *hn, double *h, double eps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i > NI) return;
    double hm = HN(i, 1);
    double h0 = HN(i, 2);
    H(i, 1) = hm;
    for (int j = 2; j <= NJ - 1; j++) {
        double hp = HN(i, j + 1);
        H(i, j) = h0 + 0.25 * eps * (hp - 2.0 * h0 + hm);
        hm = h0;
        h0 = hp;
    }
    H(i, NJ) = h0;
}

/*  SUBROUTINE SHAPI -- same thing along I, one thread per J.  Strided by NI between threads. */
__global__ void shapi(const double *h, double *hn, double eps)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (j > NJ) return;
    double hm = H(1, j);
    double h0 = H(2, j);
    HN(1, j) = hm;
    for (int i = 2; i <= NI - 1; i++) {
        double hp = H(i + 1, j);
        HN(i, j) = h0 + 0.25 * eps * (hp - 2.0 * h0 + hm);
        hm = h0;
        h0 = hp;
    }
    HN(NI, j) = h0;
}

/*  REAL FUNCTION ENERGY  */
__global__ void energy(const double *h, const double *u, const double *v, double *part,
                       double grav, double hbar)
{
    extern __shared__ double sh[];
    double e = 0.0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < NIJ; k += gridDim.x * blockDim.x) {
        e += 0.5 * hbar * (u[k] * u[k] + v[k] * v[k]) + 0.5 * grav * h[k] * h[k];
    }
    sh[threadIdx.x] = e;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int k = 2 * s * threadIdx.x;
        if (k + s < blockDim.x) {
            sh[k] += sh[k + s];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sh[0];
    }
}

/* ---- host reference: the FORTRAN loops ---- */
static void cpu_step(double *h, double *u, double *v, double *hn, double *un, double *vn)
{
    double dtdx = DT / DX;
    int i, j;
    for (j = 2; j <= NJ - 1; j++)
        for (i = 2; i <= NI - 1; i++) {
            double vbar = 0.25 * (V(i, j) + V(i - 1, j) + V(i, j + 1) + V(i - 1, j + 1));
            double ubar = 0.25 * (U(i, j) + U(i + 1, j) + U(i, j - 1) + U(i + 1, j - 1));
            UN(i, j) = U(i, j) - GRAV * dtdx * (H(i, j) - H(i - 1, j)) + DT * (FCOR * vbar - DRAG * U(i, j));
            VN(i, j) = V(i, j) - GRAV * dtdx * (H(i, j) - H(i, j - 1)) - DT * (FCOR * ubar + DRAG * V(i, j));
        }
    for (j = 2; j <= NJ - 1; j++)
        for (i = 2; i <= NI - 1; i++)
            HN(i, j) = H(i, j) - HBAR * dtdx * (UN(i + 1, j) - UN(i, j) + VN(i, j + 1) - VN(i, j));
    for (i = 1; i <= NI; i++) {
        if (i > 1 && i < NI) {
            HN(i, 1) = HN(i, 2);
            HN(i, NJ) = HN(i, NJ - 1);
        }
        VN(i, 1) = VN(i, 2) = VN(i, NJ) = 0.0;
    }
    for (j = 1; j <= NJ; j++) {
        if (j > 1 && j < NJ) {
            HN(1, j) = HN(2, j);
            HN(NI, j) = HN(NI - 1, j);
        }
        UN(1, j) = UN(2, j) = UN(NI, j) = 0.0;
    }
    for (i = 1; i <= NI; i++) {
        H(i, 1) = HN(i, 1);
        H(i, NJ) = HN(i, NJ);
        for (j = 2; j <= NJ - 1; j++)
            H(i, j) = HN(i, j) + 0.25 * 0.1 * (HN(i, j + 1) - 2.0 * HN(i, j) + HN(i, j - 1));
    }
    for (j = 1; j <= NJ; j++) {
        HN(1, j) = H(1, j);
        HN(NI, j) = H(NI, j);
        for (i = 2; i <= NI - 1; i++)
            HN(i, j) = H(i, j) + 0.25 * 0.1 * (H(i + 1, j) - 2.0 * H(i, j) + H(i - 1, j));
    }
}

int main(void)
{
    size_t nb = NIJ * sizeof(double);
    double *w[6], *d[6], *dpart;
    for (int k = 0; k < 6; k++) {
        w[k] = (double *)calloc(NIJ, sizeof(double));
        CHK(cudaMalloc(&d[k], nb));
        CHK(cudaMemset(d[k], 0, nb));
    }
    CHK(cudaMalloc(&dpart, 64 * sizeof(double)));
    for (int j = 1; j <= NJ; j++)
        for (int i = 1; i <= NI; i++) {
            double x = (i - 200.0) / 30.0;
            double y = (j - 150.0) / 30.0;
            w[0][IX(i, j)] = 2.0 * exp(-x * x - y * y);
        }
    CHK(cudaMemcpy(d[0], w[0], nb, cudaMemcpyHostToDevice));

    dim3 blk(32, 8);
    dim3 guv((NI + 29) / 32, (NJ + 5) / 8);
    dim3 ghs((NJ + 29) / 32, (NI + 5) / 8);
    double dtdx = DT / DX;
    for (int n = 0; n < NSTEP; n++) {
        uvstep<<<guv, blk>>>(d[0], d[1], d[2], d[4], d[5], dtdx, GRAV, DT, FCOR, DRAG);
        hstep<<<ghs, blk>>>(d[0], d[4], d[5], d[3], dtdx, HBAR);
        bndry<<<(NI + NJ + 127) / 128, 128>>>(d[3], d[4], d[5]);
        shapj<<<(NI + 63) / 64, 64>>>(d[3], d[0], 0.1);
        shapi<<<(NJ + 63) / 64, 64>>>(d[0], d[3], 0.1);
        for (int k = 0; k < 3; k++) {
            double *t = d[k];
            d[k] = d[k + 3];
            d[k + 3] = t;
        }
        cpu_step(w[0], w[1], w[2], w[3], w[4], w[5]);
        for (int k = 0; k < 3; k++) {
            double *t = w[k];
            w[k] = w[k + 3];
            w[k + 3] = t;
        }
    }
    energy<<<64, 256, 256 * sizeof(double)>>>(d[0], d[1], d[2], dpart, GRAV, HBAR);
    CHK(cudaGetLastError());
    CHK(cudaDeviceSynchronize());
    double part[64], eg = 0.0, ec = 0.0, err = 0.0;
    CHK(cudaMemcpy(part, dpart, sizeof(part), cudaMemcpyDeviceToHost));
    for (int k = 0; k < 64; k++) eg += part[k];
    for (int k = 0; k < NIJ; k++)
        ec += 0.5 * HBAR * (w[1][k] * w[1][k] + w[2][k] * w[2][k]) + 0.5 * GRAV * w[0][k] * w[0][k];
    double *tmp = (double *)malloc(nb);
    for (int f = 0; f < 3; f++) {
        CHK(cudaMemcpy(tmp, d[f], nb, cudaMemcpyDeviceToHost));
        for (int k = 0; k < NIJ; k++) {
            double e = fabs(tmp[k] - w[f][k]);
            if (!(e <= err)) err = e;
        }
    }
    int ok = err < 1e-9 && fabs(eg - ec) < 1e-9 * fabs(ec);
    printf(" ENERGY %22.14e %22.14e  MAXERR %g\n", eg, ec, err);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
