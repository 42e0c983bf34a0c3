// TWO-STREAM RADIATION, ported from the Fortran column physics (double prec).
// Index macros keep the Fortran order: first index fastest.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NCOL 2048
#define NLEV 40
#define NBND 14

/* tau(icol, ilev, ibnd) : columns fastest */
#define TCF(i, k, b) ((i) + NCOL * ((k) + NLEV * (b)))
/* tau(ibnd, ilev, icol) : bands fastest */
#define TBF(b, k, i) ((b) + NBND * ((k) + NLEV * (i)))
/* flux(icol, ilev+1) */
#define FLX(i, k) ((i) + NCOL * (k))

__constant__ double c_kabs[NBND];
__constant__ double c_wgt[NBND];

#define SAFE(x) { cudaError_t ierr = x; if (ierr != cudaSuccess) { printf("ERROR %d %s\n", (int)ierr, cudaGetErrorString(ierr)); exit(8); } }

/* optical depth, columns fastest */
__global__ void optics_cf(const double *q, const double *dp, double *tau)
{
    int icol = blockIdx.x * blockDim.x + threadIdx.x;
    int ilev = blockIdx.y;
    if (icol >= NCOL) return;
    double path = q[FLX(icol, ilev)] * dp[FLX(icol, ilev)];
    for (int ib = 0; ib < NBND; ib++)
        tau[TCF(icol, ilev, ib)] = c_kabs[ib] * path;
}

/* optical depth, bands fastest, thread per column: stride NBND*NLEV */
__global__ void optics_bf(const double *q, const double *dp, double *tau)
{
    int icol = blockIdx.x * blockDim.x + threadIdx.x;
    int ilev = blockIdx.y;
    if (icol >= NCOL) return;
    double path = q[FLX(icol, ilev)] * dp[FLX(icol, ilev)];
    for (int ib = 0; ib < NBND; ib++)
        tau[TBF(ib, ilev, icol)] = c_kabs[ib] * path;
}

__device__ double planck(double t, int ib)
{
    double r = t / 250.0;
    return (1.0 + 0.1 * ib) * r * r * r * r;
}

/* thread = column, loops over bands and levels (downward then upward) */
__global__ void sweep_cf(const double *tau, const double *temp, const double *ts, double *fdn, double *fup)
{
    int icol = blockIdx.x * blockDim.x + threadIdx.x;
    if (icol >= NCOL) return;
    for (int ib = 0; ib < NBND; ib++)
    {
        double w = c_wgt[ib];
        double f = 0.0;
        for (int k = 0; k < NLEV; k++)
        {
            double tr = exp(-1.66 * tau[TCF(icol, k, ib)]);
            f = f * tr + planck(temp[FLX(icol, k)], ib) * (1.0 - tr);
            fdn[FLX(icol, k + 1)] += w * f;
        }
        f = planck(ts[icol], ib);
        fup[FLX(icol, NLEV)] += w * f;
        for (int k = NLEV - 1; k >= 0; k--)
        {
            double tr = exp(-1.66 * tau[TCF(icol, k, ib)]);
            f = f * tr + planck(temp[FLX(icol, k)], ib) * (1.0 - tr);
            fup[FLX(icol, k)] += w * f;
        }
    }
}

/* thread = (band, column); 16 lanes per column, reduce over the bands */
__global__ void sweep_bf(const double *tau, const double *temp, const double *ts, double *fdn, double *fup)
{
    int ib = threadIdx.x;
    int icol = blockIdx.x * blockDim.y + threadIdx.y;
    bool act = ib < NBND;
    int jb = act ? ib : 0;
    double w = act ? c_wgt[jb] : 0.0;
    double f = 0.0;
    for (int k = 0; k < NLEV; k++)
    {
        double tr = exp(-1.66 * tau[TBF(jb, k, icol)]);
        f = f * tr + planck(temp[FLX(icol, k)], jb) * (1.0 - tr);
        double s = w * f;
        for (int o = 8; o > 0; o /= 2)
            s += __shfl_down_sync(0xffffffffu, s, o, 16);
        if (ib == 0) fdn[FLX(icol, k + 1)] = s;
    }
    f = planck(ts[icol], jb);
    for (int k = NLEV; k >= 0; k--)
    {
        if (k < NLEV)
        {
            double tr = exp(-1.66 * tau[TBF(jb, k, icol)]);
            f = f * tr + planck(temp[FLX(icol, k)], jb) * (1.0 - tr);
        }
        double s = w * f;
        for (int o = 8; o > 0; o /= 2)
            s += __shfl_down_sync(0xffffffffu, s, o, 16);
        if (ib == 0) fup[FLX(icol, k)] = s;
    }
}

/* heating rate, one thread per layer and column */
__global__ void heating(const double *fdn, const double *fup, const double *dp, double *hr)
{
    int icol = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.y * blockDim.y + threadIdx.y;
    if (icol >= NCOL || k >= NLEV) return;
    double net0 = fdn[FLX(icol, k)] - fup[FLX(icol, k)];
    double net1 = fdn[FLX(icol, k + 1)] - fup[FLX(icol, k + 1)];
    hr[FLX(icol, k)] = 8.44 * (net0 - net1) / dp[FLX(icol, k)];
}

/* column mean heating per level: one block per level */
__global__ void level_mean(const double *hr, double *avg)
{
    __shared__ double s[256];
    int k = blockIdx.x;
    double a = 0.0;
    for (int i = threadIdx.x; i < NCOL; i += blockDim.x)
        a += hr[FLX(i, k)];
    s[threadIdx.x] = a;
    __syncthreads();
    for (int n = 128; n > 0; n /= 2)
    {
        if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n];
        __syncthreads();
    }
    if (threadIdx.x == 0) avg[k] = s[0] / NCOL;
}

static double h_q[NCOL * NLEV], h_dp[NCOL * NLEV], h_t[NCOL * NLEV], h_ts[NCOL];
static double h_fdn[NCOL * (NLEV + 1)], h_fup[NCOL * (NLEV + 1)], h_fdn2[NCOL * (NLEV + 1)], h_fup2[NCOL * (NLEV + 1)];
static double r_dn[NCOL * (NLEV + 1)], r_up[NCOL * (NLEV + 1)];

int main(void)
{
    double kabs[NBND], wgt[NBND];
    unsigned iseed = 4711;
    for (int ib = 0; ib < NBND; ib++)
    {
        kabs[ib] = 0.002 * pow(1.9, ib);
        wgt[ib] = 1.0 / (2.0 + ib);
    }
    for (int i = 0; i < NCOL; i++)
    {
        iseed = iseed * 69069u + 1u;
        h_ts[i] = 270.0 + 30.0 * (iseed / 4294967296.0);
        for (int k = 0; k < NLEV; k++)
        {
            iseed = iseed * 69069u + 1u;
            double r = iseed / 4294967296.0;
            h_dp[FLX(i, k)] = 20.0 + r;
            h_t[FLX(i, k)] = 200.0 + 2.0 * k + 5.0 * r;
            h_q[FLX(i, k)] = 0.0005 * (k + 1) * (0.5 + r);
        }
    }
    SAFE(cudaMemcpyToSymbol(c_kabs, kabs, sizeof kabs));
    SAFE(cudaMemcpyToSymbol(c_wgt, wgt, sizeof wgt));
    double *q, *dp, *t, *ts, *tau1, *tau2, *fdn1, *fup1, *fdn2, *fup2, *hr, *avg;
    size_t nl = sizeof h_q, nf = sizeof h_fdn;
    SAFE(cudaMalloc(&q, nl));
    SAFE(cudaMalloc(&dp, nl));
    SAFE(cudaMalloc(&t, nl));
    SAFE(cudaMalloc(&hr, nl));
    SAFE(cudaMalloc(&ts, sizeof h_ts));
    SAFE(cudaMalloc(&tau1, nl * NBND));
    SAFE(cudaMalloc(&tau2, nl * NBND));
    SAFE(cudaMalloc(&fdn1, nf));
    SAFE(cudaMalloc(&fup1, nf));
    SAFE(cudaMalloc(&fdn2, nf));
    SAFE(cudaMalloc(&fup2, nf));
    SAFE(cudaMalloc(&avg, NLEV * sizeof(double)));
    SAFE(cudaMemcpy(q, h_q, nl, cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(dp, h_dp, nl, cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(t, h_t, nl, cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(ts, h_ts, sizeof h_ts, cudaMemcpyHostToDevice));
    SAFE(cudaMemset(fdn1, 0, nf));
    SAFE(cudaMemset(fup1, 0, nf));
    SAFE(cudaMemset(fdn2, 0, nf));
    SAFE(cudaMemset(fup2, 0, nf));

    optics_cf<<<dim3(NCOL / 128, NLEV), 128>>>(q, dp, tau1);
    optics_bf<<<dim3(NCOL / 128, NLEV), 128>>>(q, dp, tau2);
    sweep_cf<<<NCOL / 32, 32>>>(tau1, t, ts, fdn1, fup1);
    sweep_bf<<<NCOL / 8, dim3(16, 8)>>>(tau2, t, ts, fdn2, fup2);
    heating<<<dim3(NCOL / 64, (NLEV + 3) / 4), dim3(64, 4)>>>(fdn2, fup2, dp, hr);
    level_mean<<<NLEV, 256>>>(hr, avg);
    SAFE(cudaGetLastError());
    SAFE(cudaDeviceSynchronize());
    double h_avg[NLEV];
    SAFE(cudaMemcpy(h_fdn, fdn1, nf, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(h_fup, fup1, nf, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(h_fdn2, fdn2, nf, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(h_fup2, fup2, nf, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(h_avg, avg, sizeof h_avg, cudaMemcpyDeviceToHost));

    for (int i = 0; i < NCOL; i++)
        for (int ib = 0; ib < NBND; ib++)
        {
            double f = 0.0;
            for (int k = 0; k < NLEV; k++)
            {
                double tr = exp(-1.66 * kabs[ib] * h_q[FLX(i, k)] * h_dp[FLX(i, k)]);
                double b = (1.0 + 0.1 * ib) * pow(h_t[FLX(i, k)] / 250.0, 4);
                f = f * tr + b * (1.0 - tr);
                r_dn[FLX(i, k + 1)] += wgt[ib] * f;
            }
            f = (1.0 + 0.1 * ib) * pow(h_ts[i] / 250.0, 4);
            r_up[FLX(i, NLEV)] += wgt[ib] * f;
            for (int k = NLEV - 1; k >= 0; k--)
            {
                double tr = exp(-1.66 * kabs[ib] * h_q[FLX(i, k)] * h_dp[FLX(i, k)]);
                double b = (1.0 + 0.1 * ib) * pow(h_t[FLX(i, k)] / 250.0, 4);
                f = f * tr + b * (1.0 - tr);
                r_up[FLX(i, k)] += wgt[ib] * f;
            }
        }
    double err = 0.0;
    for (int n = 0; n < NCOL * (NLEV + 1); n++)
    {
        err = fmax(err, fabs(r_dn[n] - h_fdn[n]));
        err = fmax(err, fabs(r_up[n] - h_fup[n]));
        err = fmax(err, fabs(r_dn[n] - h_fdn2[n]));
        err = fmax(err, fabs(r_up[n] - h_fup2[n]));
    }
    for (int k = 0; k < NLEV; k++)
    {
        double a = 0.0;
        for (int i = 0; i < NCOL; i++)
            a += 8.44 * ((r_dn[FLX(i, k)] - r_up[FLX(i, k)]) - (r_dn[FLX(i, k + 1)] - r_up[FLX(i, k + 1)])) / h_dp[FLX(i, k)];
        err = fmax(err, fabs(a / NCOL - h_avg[k]));
    }
    printf(" MAX ERROR %12.4e\n", err);
    if (err < 1.0e-9)
    {
        printf(" PASS\n");
        return 0;
    }
    printf(" FAIL\n");
    return 1;
}
