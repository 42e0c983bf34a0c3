/* ------------------------------------------------------------------
   DC power flow with line-outage sweep.
   B theta = P by conjugate gradients (CSR), then a batch of outage
   cases relaxed with Jacobi sweeps.  Translated from our FORTRAN code,
   hence the names.
   ------------------------------------------------------------------ */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define NX 96
#define NY 80
#define NB (NX * NY)
#define NCASE 32
#define NTPB 128

typedef double REAL8;

static void CUERR(cudaError_t ierr, const char *sub)
{
    if (ierr != cudaSuccess) {
        printf(" *** %s : %s\nFAIL\n", sub, cudaGetErrorString(ierr));
        exit(1);
    }
}

/* y = A x, scalar CSR, one row a thread */
__global__ void spmv_scalar(int n, const int *ia, const int *ja, const REAL8 *a, const REAL8 *x, REAL8 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        REAL8 s = 0.0;
        for (int k = ia[i]; k < ia[i + 1]; k++)
            s += a[k] * x[ja[k]];
        y[i] = s;
    }
}

/* y = A x, ELL stored by columns */
__global__ void spmv_ell(int n, int width, const int *__restrict__ ja, const REAL8 *__restrict__ a,
                         const REAL8 *__restrict__ x, REAL8 *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    REAL8 s = 0.0;
    for (int k = 0; k < width; k++) {
        int j = ja[k * n + i];
        if (j >= 0)
            s += a[k * n + i] * x[j];
    }
    y[i] = s;
}

/* the whole CG iteration in one block: vectors live in global memory, sums in shared */
__global__ void cg_one_block(int n, int width, const int *ja, const REAL8 *a, const REAL8 *b, REAL8 *x, REAL8 *r,
                             REAL8 *p, REAL8 *q, int niter, REAL8 *resid)
{
    __shared__ REAL8 red[32];
    __shared__ REAL8 bcast;
    int tid = threadIdx.x;
    int lane = tid & 31;
    int wid = tid >> 5;
    int nw = blockDim.x >> 5;
    REAL8 rho = 0.0;

#define BLOCK_SUM(val, res)                                 \
    {                                                       \
        REAL8 v_ = (val);                                   \
        for (int o_ = 16; o_ > 0; o_ >>= 1)                 \
            v_ += __shfl_down_sync(0xffffffffu, v_, o_);    \
        if (lane == 0)                                      \
            red[wid] = v_;                                  \
        __syncthreads();                                    \
        if (tid == 0) {                                     \
            REAL8 t_ = 0.0;                                 \
            for (int w_ = 0; w_ < nw; w_++)                 \
                t_ += red[w_];                              \
            bcast = t_;                                     \
        }                                                   \
        __syncthreads();                                    \
        (res) = bcast;                                      \
        __syncthreads();                                    \
    }

    REAL8 s = 0.0;
    for (int i = tid; i < n; i += blockDim.x) {
        x[i] = 0.0;
        r[i] = b[i];
        p[i] = b[i];
        s += b[i] * b[i];
    }
    BLOCK_SUM(s, rho)
    for (int it = 0; it < niter; it++) {
        s = 0.0;
        for (int i = tid; i < n; i += blockDim.x) {
            REAL8 t = 0.0;
            for (int k = 0; k < width; k++) {
                int j = ja[k * n + i];
                if (j >= 0)
                    t += a[k * n + i] * p[j];
            }
            q[i] = t;
            s += t * p[i];
        }
        REAL8 pq;
        BLOCK_SUM(s, pq)
        REAL8 alpha = rho / pq;
        s = 0.0;
        for (int i = tid; i < n; i += blockDim.x) {
            x[i] += alpha * p[i];
            REAL8 t = r[i] - alpha * q[i];
            r[i] = t;
            s += t * t;
        }
        REAL8 rhonew;
        BLOCK_SUM(s, rhonew)
        REAL8 beta = rhonew / rho;
        rho = rhonew;
        for (int i = tid; i < n; i += blockDim.x)
            p[i] = r[i] + beta * p[i];
        __syncthreads();
    }
    if (tid == 0)
        *resid = rho;
}

/* outage sweep, case index fastest: th(case,bus) like the Fortran array */
__global__ void jacobi_cases(int n, int width, const int *ja, const REAL8 *a, const REAL8 *diag, const REAL8 *b,
                             const int2 *outage, const REAL8 *thold, REAL8 *thnew)
{
    int icase = threadIdx.x;
    int i = blockIdx.x * blockDim.y + threadIdx.y;
    if (i >= n)
        return;
    int2 out = outage[icase];
    REAL8 d = diag[i];
    REAL8 s = b[i];
    for (int k = 0; k < width; k++) {
        int j = ja[k * n + i];
        if (j < 0 || j == i)
            continue;
        REAL8 v = a[k * n + i];
        bool dead = (i == out.x && j == out.y) || (i == out.y && j == out.x);
        if (dead)
            d += v;
        else
            s -= v * thold[j * NCASE + icase];
    }
    thnew[i * NCASE + icase] = s / d;
}

/* same thing with th(bus,case): one block row per case */
__global__ void spread_base(int n, const REAL8 *x, REAL8 *th)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int icase = blockIdx.y;
    if (i < n)
        th[i * NCASE + icase] = x[i];
}

/* worst line loading per case, horizontal lines */
__global__ void line_flows(const REAL8 *th, const REAL8 *y, int *worst)
{
    __shared__ int smax[NCASE];
    int icase = threadIdx.x;
    if (threadIdx.y == 0)
        smax[icase] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.y + threadIdx.y;
    if (i < NB && i % NX != NX - 1) {
        REAL8 f = y[i] * (th[i * NCASE + icase] - th[(i + 1) * NCASE + icase]);
        atomicMax(&smax[icase], (int)(fabs(f) * 1.0e4));
    }
    __syncthreads();
    if (threadIdx.y == 0)
        atomicMax(&worst[icase], smax[icase]);
}

static unsigned iseed = 4711;
static REAL8 RAN(void)
{
    iseed = iseed * 69069u + 1u;
    return (iseed >> 8) / 16777216.0;
}

int main()
{
    const int width = 5;
    std::vector<REAL8> yh(NB), yv(NB), b(NB), diag(NB), ell(width * NB, 0.0), acsr;
    std::vector<int> jell(width * NB, -1), ia(NB + 1, 0), jcsr;
    for (int i = 0; i < NB; i++) {
        yh[i] = 1.0 + RAN();
        yv[i] = 1.0 + RAN();
        b[i] = RAN() - 0.5;
    }
    for (int i = 0; i < NB; i++) {
        int ix = i % NX;
        int iy = i / NX;
        int k = 1;
        REAL8 d = 0.05; /* shunt keeps it definite */
        int jn[4] = {ix > 0 ? i - 1 : -1, ix < NX - 1 ? i + 1 : -1, iy > 0 ? i - NX : -1, iy < NY - 1 ? i + NX : -1};
        REAL8 yn[4] = {ix > 0 ? yh[i - 1] : 0.0, yh[i], iy > 0 ? yv[i - NX] : 0.0, yv[i]};
        for (int m = 0; m < 4; m++)
            if (jn[m] >= 0) {
                jell[k * NB + i] = jn[m];
                ell[k * NB + i] = -yn[m];
                d += yn[m];
                k++;
            }
        jell[i] = i;
        ell[i] = d;
        diag[i] = d;
        for (int m = 0; m < width; m++)
            if (jell[m * NB + i] >= 0) {
                jcsr.push_back(jell[m * NB + i]);
                acsr.push_back(ell[m * NB + i]);
            }
        ia[i + 1] = (int)jcsr.size();
    }
    std::vector<int2> outage(NCASE);
    for (int c = 0; c < NCASE; c++) {
        int i = (c * 211 + 17) % NB;
        if (i % NX == NX - 1)
            i--;
        outage[c] = make_int2(i, i + 1);
    }

    int *dia, *djc, *dje, *dworst;
    REAL8 *dac, *dae, *ddiag, *db, *dx, *dr, *dp, *dq, *dres, *dy1, *dy2, *dth0, *dth1, *dyh;
    int2 *dout;
    size_t nv = NB * sizeof(REAL8);
    CUERR(cudaMalloc(&dia, (NB + 1) * sizeof(int)), "ia");
    CUERR(cudaMalloc(&djc, jcsr.size() * sizeof(int)), "ja");
    CUERR(cudaMalloc(&dje, jell.size() * sizeof(int)), "je");
    CUERR(cudaMalloc(&dworst, NCASE * sizeof(int)), "worst");
    CUERR(cudaMalloc(&dac, acsr.size() * sizeof(REAL8)), "a");
    CUERR(cudaMalloc(&dae, ell.size() * sizeof(REAL8)), "ell");
    CUERR(cudaMalloc(&dout, NCASE * sizeof(int2)), "out");
    REAL8 **vecs[] = {&ddiag, &db, &dx, &dr, &dp, &dq, &dres, &dy1, &dy2, &dyh};
    for (REAL8 **v : vecs)
        CUERR(cudaMalloc(v, nv), "vector");
    CUERR(cudaMalloc(&dth0, nv * NCASE), "th0");
    CUERR(cudaMalloc(&dth1, nv * NCASE), "th1");
    CUERR(cudaMemcpy(dia, ia.data(), ia.size() * sizeof(int), cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(djc, jcsr.data(), jcsr.size() * sizeof(int), cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(dje, jell.data(), jell.size() * sizeof(int), cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(dac, acsr.data(), acsr.size() * sizeof(REAL8), cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(dae, ell.data(), ell.size() * sizeof(REAL8), cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(ddiag, diag.data(), nv, cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(db, b.data(), nv, cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(dyh, yh.data(), nv, cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemcpy(dout, outage.data(), NCASE * sizeof(int2), cudaMemcpyHostToDevice), "h2d");
    CUERR(cudaMemset(dworst, 0, NCASE * sizeof(int)), "memset");

    int nblk = (NB + NTPB - 1) / NTPB;
    cg_one_block<<<1, 1024>>>(NB, width, dje, dae, db, dx, dr, dp, dq, 100, dres);
    spmv_scalar<<<nblk, NTPB>>>(NB, dia, djc, dac, dx, dy1);
    spmv_ell<<<nblk, NTPB>>>(NB, width, dje, dae, dx, dy2);
    spread_base<<<dim3(nblk, NCASE), NTPB>>>(NB, dx, dth0);
    dim3 tb(NCASE, 8);
    for (int sweep = 0; sweep < 4; sweep++) {
        jacobi_cases<<<NB / 8, tb>>>(NB, width, dje, dae, ddiag, db, dout, sweep % 2 ? dth1 : dth0,
                                     sweep % 2 ? dth0 : dth1);
    }
    line_flows<<<NB / 8, tb>>>(dth0, dyh, dworst);
    CUERR(cudaGetLastError(), "launch");
    CUERR(cudaDeviceSynchronize(), "sync");

    std::vector<REAL8> x(NB), y1(NB), y2(NB), th(NB * NCASE);
    std::vector<int> worst(NCASE);
    CUERR(cudaMemcpy(x.data(), dx, nv, cudaMemcpyDeviceToHost), "d2h");
    CUERR(cudaMemcpy(y1.data(), dy1, nv, cudaMemcpyDeviceToHost), "d2h");
    CUERR(cudaMemcpy(y2.data(), dy2, nv, cudaMemcpyDeviceToHost), "d2h");
    CUERR(cudaMemcpy(th.data(), dth0, nv * NCASE, cudaMemcpyDeviceToHost), "d2h");
    CUERR(cudaMemcpy(worst.data(), dworst, NCASE * sizeof(int), cudaMemcpyDeviceToHost), "d2h");
    int nbad = 0;
    REAL8 rr = 0.0, bb = 0.0;
    for (int i = 0; i < NB; i++) {
        REAL8 s = 0.0;
        for (int k = ia[i]; k < ia[i + 1]; k++)
            s += acsr[k] * x[jcsr[k]];
        if (fabs(s - y1[i]) > 1e-9 || fabs(s - y2[i]) > 1e-9)
            nbad++;
        rr += (s - b[i]) * (s - b[i]);
        bb += b[i] * b[i];
    }
    if (!(rr < 1e-4 * bb))
        nbad++;
    for (int c = 0; c < NCASE; c++) {
        std::vector<REAL8> t0(x), t1(NB);
        for (int sweep = 0; sweep < 4; sweep++) {
            for (int i = 0; i < NB; i++) {
                REAL8 d = diag[i];
                REAL8 s = b[i];
                for (int k = 1; k < width; k++) {
                    int j = jell[k * NB + i];
                    if (j < 0)
                        continue;
                    bool dead = (i == outage[c].x && j == outage[c].y) || (i == outage[c].y && j == outage[c].x);
                    if (dead)
                        d += ell[k * NB + i];
                    else
                        s -= ell[k * NB + i] * t0[j];
                }
                t1[i] = s / d;
            }
            t0.swap(t1);
        }
        REAL8 w = 0.0;
        for (int i = 0; i < NB; i++) {
            if (fabs(t0[i] - th[i * NCASE + c]) > 1e-9)
                nbad++;
            if (i % NX != NX - 1)
                w = fmax(w, fabs(yh[i] * (t0[i] - t0[i + 1])));
        }
        if (fabs(w * 1.0e4 - worst[c]) > 1.5)
            nbad++;
    }
    printf(" residual ratio %12.4e   nbad %d\n", sqrt(rr / bb), nbad);
    printf("%s\n", nbad == 0 ? "PASS" : "FAIL");
    return nbad == 0 ? 0 : 1;
}
