// DEM of spheres, spring-dashpot contacts. Ported from the old F77 code (arrays are SoA, 3 per particle
// stored as x(1:n), y(1:n), z(1:n) in one long vector, as in the common block).
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NP 4096
#define NCX 18
#define NCELL (NCX * NCX * NCX)
#define MAXNB 40

#define CUERR(c) { cudaError_t istat = (c); if (istat != cudaSuccess) { printf(" *** CUDA ERROR %s LINE %d\n", cudaGetErrorString(istat), __LINE__); exit(8); } }

struct Params {
    double kn, gn, gt, dt, g, box, cut;
};
__constant__ Params prm;

__device__ int icell(double x) {
    int i = (int)(x / prm.cut);
    if (i < 0) i = 0;
    if (i > NCX - 1) i = NCX - 1;
    return i;
}

// linked cells: head(icell), list(i)
__global__ void links(const double *r, int *head, int *list) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= NP) return;
    int ic = icell(r[i]) + NCX * (icell(r[NP + i]) + NCX * icell(r[2 * NP + i]));
    list[i] = atomicExch(&head[ic], i);
}

// neighbour table nb(i,k), leading dimension NP
__global__ void nbtable(const double *r, const int *head, const int *list, int *nnb, int *nb, int *ierr) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= NP) return;
    double xi = r[i];
    double yi = r[NP + i];
    double zi = r[2 * NP + i];
    int cx = icell(xi);
    int cy = icell(yi);
    int cz = icell(zi);
    int n = 0;
    for (int kz = max(cz - 1, 0); kz <= min(cz + 1, NCX - 1); kz++)
        for (int ky = max(cy - 1, 0); ky <= min(cy + 1, NCX - 1); ky++)
            for (int kx = max(cx - 1, 0); kx <= min(cx + 1, NCX - 1); kx++) {
                int j = head[kx + NCX * (ky + NCX * kz)];
                while (j >= 0) {
                    if (j != i) {
                        double dx = r[j] - xi;
                        double dy = r[NP + j] - yi;
                        double dz = r[2 * NP + j] - zi;
                        if (dx * dx + dy * dy + dz * dz < prm.cut * prm.cut) {
                            if (n < MAXNB)
                                nb[n * NP + i] = j;
                            else
                                *ierr = 1;
                            n++;
                        }
                    }
                    j = list[j];
                }
            }
    nnb[i] = min(n, MAXNB);
}

__host__ __device__ inline void contact(const Params &q, double dx, double dy, double dz, double dvx, double dvy, double dvz,
                                        double rsum, double *fx, double *fy, double *fz) {
    double d2 = dx * dx + dy * dy + dz * dz;
    if (d2 >= rsum * rsum) return;
    double d = sqrt(d2);
    double nx = dx / d;
    double ny = dy / d;
    double nz = dz / d;
    double vn = dvx * nx + dvy * ny + dvz * nz;
    double fn = -q.kn * (rsum - d) + q.gn * vn;
    *fx += fn * nx + q.gt * (dvx - vn * nx);
    *fy += fn * ny + q.gt * (dvy - vn * ny);
    *fz += fn * nz + q.gt * (dvz - vn * nz);
}

__global__ void forces(const double *r, const double *v, const double *rad, const int *nnb, const int *nb, double *f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= NP) return;
    double fx = 0.0, fy = 0.0, fz = 0.0;
    double xi = r[i], yi = r[NP + i], zi = r[2 * NP + i];
    double ui = v[i], vi = v[NP + i], wi = v[2 * NP + i];
    int n = nnb[i];
    for (int k = 0; k < n; k++) {
        int j = nb[k * NP + i];
        contact(prm, r[j] - xi, r[NP + j] - yi, r[2 * NP + j] - zi, v[j] - ui, v[NP + j] - vi, v[2 * NP + j] - wi,
                rad[i] + rad[j], &fx, &fy, &fz);
    }
    f[i] = fx;
    f[NP + i] = fy;
    f[2 * NP + i] = fz;
}

// walls of the box: plane contacts, one thread per component
__global__ void walls(const double *r, const double *v, const double *rad, double *f) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= 3 * NP) return;
    int i = k % NP;
    double lo = rad[i] - r[k];
    double hi = r[k] + rad[i] - prm.box;
    if (lo > 0.0)
        f[k] += prm.kn * lo - prm.gn * v[k];
    if (hi > 0.0)
        f[k] -= prm.kn * hi + prm.gn * v[k];
    if (k >= 2 * NP)
        f[k] -= prm.g;
}

__global__ void integrate(double *r, double *v, const double *f) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < 3 * NP; k += gridDim.x * blockDim.x) {
        v[k] += prm.dt * f[k];
        r[k] += prm.dt * v[k];
    }
}

// kinetic and elastic measures, tree reduction with the classic interleaved addressing
__global__ void energy(const double *v, const int *nnb, double *ekin, int *ncont) {
    __shared__ double s[256];
    __shared__ int c[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    double e = 0.0;
    for (int k = 0; k < 3; k++)
        e += 0.5 * v[k * NP + i] * v[k * NP + i];
    s[threadIdx.x] = e;
    c[threadIdx.x] = nnb[i];
    __syncthreads();
    for (int st = 1; st < 256; st *= 2) {
        int idx = 2 * st * threadIdx.x;
        if (idx < 256) {
            s[idx] += s[idx + st];
            c[idx] += c[idx + st];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(ekin, s[0]);
        atomicAdd(ncont, c[0]);
    }
}

static double rnd(void) {
    static unsigned long long s = 20011ULL;
    s = s * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(s >> 33) / 2147483648.0;
}

int main(void) {
    static double r[3 * NP], v[3 * NP], rad[NP], f[3 * NP], r2[3 * NP], v2[3 * NP];
    Params p;
    p.kn = 800.0;
    p.gn = 2.0;
    p.gt = 0.7;
    p.dt = 1.0e-3;
    p.g = 9.81;
    p.box = 16.6;
    p.cut = 1.3;
    for (int i = 0; i < NP; i++) {
        r[i] = 0.8 + (i % 16) + 0.1 * (rnd() - 0.5);
        r[NP + i] = 0.8 + (i / 16 % 16) + 0.1 * (rnd() - 0.5);
        r[2 * NP + i] = 0.6 + (i / 256) + 0.1 * (rnd() - 0.5);
        rad[i] = 0.5 + 0.08 * rnd();
        for (int k = 0; k < 3; k++) v[k * NP + i] = 2.0 * rnd() - 1.0;
    }
    double *dr, *dv, *df, *drad, *dek;
    int *dhead, *dlist, *dnnb, *dnb, *derr, *dnc;
    CUERR(cudaMalloc(&dr, sizeof(r)));
    CUERR(cudaMalloc(&dv, sizeof(v)));
    CUERR(cudaMalloc(&df, sizeof(f)));
    CUERR(cudaMalloc(&drad, sizeof(rad)));
    CUERR(cudaMalloc(&dek, sizeof(double)));
    CUERR(cudaMalloc(&dhead, NCELL * sizeof(int)));
    CUERR(cudaMalloc(&dlist, NP * sizeof(int)));
    CUERR(cudaMalloc(&dnnb, NP * sizeof(int)));
    CUERR(cudaMalloc(&dnb, NP * MAXNB * sizeof(int)));
    CUERR(cudaMalloc(&derr, sizeof(int)));
    CUERR(cudaMalloc(&dnc, sizeof(int)));
    CUERR(cudaMemcpyToSymbol(prm, &p, sizeof(p)));
    CUERR(cudaMemcpy(dr, r, sizeof(r), cudaMemcpyHostToDevice));
    CUERR(cudaMemcpy(dv, v, sizeof(v), cudaMemcpyHostToDevice));
    CUERR(cudaMemcpy(drad, rad, sizeof(rad), cudaMemcpyHostToDevice));
    CUERR(cudaMemset(dhead, 0xff, NCELL * sizeof(int)));
    CUERR(cudaMemset(derr, 0, sizeof(int)));
    CUERR(cudaMemset(dnc, 0, sizeof(int)));
    CUERR(cudaMemset(dek, 0, sizeof(double)));

    const int nstep = 5;
    int nblk = (NP + 127) / 128;
    links<<<nblk, 128>>>(dr, dhead, dlist);
    nbtable<<<nblk, 128>>>(dr, dhead, dlist, dnnb, dnb, derr);
    for (int is = 0; is < nstep; is++) {
        forces<<<nblk, 128>>>(dr, dv, drad, dnnb, dnb, df);
        walls<<<(3 * NP + 255) / 256, 256>>>(dr, dv, drad, df);
        integrate<<<24, 256>>>(dr, dv, df);
    }
    energy<<<NP / 256, 256>>>(dv, dnnb, dek, dnc);
    CUERR(cudaGetLastError());
    CUERR(cudaDeviceSynchronize());
    double ek;
    int ierr, nc;
    CUERR(cudaMemcpy(r2, dr, sizeof(r), cudaMemcpyDeviceToHost));
    CUERR(cudaMemcpy(v2, dv, sizeof(v), cudaMemcpyDeviceToHost));
    CUERR(cudaMemcpy(&ek, dek, sizeof(ek), cudaMemcpyDeviceToHost));
    CUERR(cudaMemcpy(&ierr, derr, sizeof(int), cudaMemcpyDeviceToHost));
    CUERR(cudaMemcpy(&nc, dnc, sizeof(int), cudaMemcpyDeviceToHost));

    // host: brute force candidate pairs once, then the same steps
    static int nb[NP][MAXNB], nn[NP];
    int total = 0;
    for (int i = 0; i < NP; i++) {
        nn[i] = 0;
        for (int j = 0; j < NP; j++) {
            double dx = r[j] - r[i], dy = r[NP + j] - r[NP + i], dz = r[2 * NP + j] - r[2 * NP + i];
            if (j != i && dx * dx + dy * dy + dz * dz < p.cut * p.cut && nn[i] < MAXNB) nb[i][nn[i]++] = j;
        }
        total += nn[i];
    }
    for (int is = 0; is < nstep; is++) {
        for (int i = 0; i < NP; i++) {
            double fx = 0, fy = 0, fz = 0;
            for (int k = 0; k < nn[i]; k++) {
                int j = nb[i][k];
                contact(p, r[j] - r[i], r[NP + j] - r[NP + i], r[2 * NP + j] - r[2 * NP + i], v[j] - v[i], v[NP + j] - v[NP + i],
                        v[2 * NP + j] - v[2 * NP + i], rad[i] + rad[j], &fx, &fy, &fz);
            }
            f[i] = fx;
            f[NP + i] = fy;
            f[2 * NP + i] = fz;
        }
        for (int k = 0; k < 3 * NP; k++) {
            double lo = rad[k % NP] - r[k], hi = r[k] + rad[k % NP] - p.box;
            if (lo > 0) f[k] += p.kn * lo - p.gn * v[k];
            if (hi > 0) f[k] -= p.kn * hi + p.gn * v[k];
            if (k >= 2 * NP) f[k] -= p.g;
        }
        for (int k = 0; k < 3 * NP; k++) {
            v[k] += p.dt * f[k];
            r[k] += p.dt * v[k];
        }
    }
    double er = 0, ev = 0, eref = 0;
    for (int k = 0; k < 3 * NP; k++) {
        er = fmax(er, fabs(r[k] - r2[k]));
        ev = fmax(ev, fabs(v[k] - v2[k]));
        eref += 0.5 * v[k] * v[k];
    }
    printf(" pairs %d / %d  err r %.3e v %.3e  ekin %.8f / %.8f\n", nc, total, er, ev, ek, eref);
    int ok = ierr == 0 && abs(nc - total) <= 2 && er < 1e-8 && ev < 1e-6 && fabs(ek - eref) < 1e-6 * eref;
    printf(ok ? " PASS\n" : " FAIL\n");
    return ok ? 0 : 1;
}
