// Lid driven cavity, vorticity / stream function form.
// Ported from my old F77 code: arrays are column major and start at 1, hence the macros.
// The first index (i, x direction) is contiguous, as it was in Fortran.
//
//      omega_t + u omega_x + v omega_y = (1/Re) lap(omega)
//      lap(psi) = -omega ,  u = psi_y , v = -psi_x
//
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <cuda_runtime.h>

#define NI 130
#define NJ 98
#define LDI NI
#define IDX(i, j)  (((j) - 1) * LDI + ((i) - 1))
#define PSI(i, j)  psi[IDX(i, j)]
#define OM(i, j)   om[IDX(i, j)]
#define OMN(i, j)  omn[IDX(i, j)]

#define NSTEP   3
#define MAXSOR  2

__device__ double g_psi[NI * NJ];
__device__ double g_om[2][NI * NJ];
__device__ double g_part[64];

__constant__ struct { double h, dt, re, lid, relax; } par;

typedef struct { double h, dt, re, lid, relax; } params_t;

static void ck(cudaError_t e, const char *s)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "CUDA: %s in %s\n", cudaGetErrorString(e), s);
    exit(1);
}

// subroutine initial(psi, om): smooth start field
__global__ void initial(double *psi, double *om)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > NI || j > NJ) return;
    double x = (double)(i - 1) / (NI - 1), y = (double)(j - 1) / (NJ - 1);
    double a = x * (1.0 - x) * y * (1.0 - y);
    PSI(i, j) = -a * a;
    OM(i, j) = 8.0 * a * (x - y * y);
}

// subroutine walls: Thom's formula. Bottom and top are contiguous, left and right have stride LDI.
__global__ void walls(const double *psi, double *om)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x + 1;
    double h2 = par.h * par.h;
    if (k >= 1 && k <= NI) {
        OM(k, 1) = -2.0 * PSI(k, 2) / h2;
        OM(k, NJ) = -2.0 * (PSI(k, NJ - 1) + par.h * par.lid) / h2;
    }
    if (k >= 2 && k <= NJ - 1) {
        OM(1, k) = -2.0 * PSI(2, k) / h2;
        OM(NI, k) = -2.0 * PSI(NI - 1, k) / h2;
    }
}

// subroutine transport: forward Euler, upwind differences
__global__ void transport(const double *psi, const double *om, double *omn)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > NI || j > NJ) return;
    double w = OM(i, j);
    if (i == 1 || j == 1 || i == NI || j == NJ) { OMN(i, j) = w; return; }
    double r2h = 0.5 / par.h;
    double u = (PSI(i, j + 1) - PSI(i, j - 1)) * r2h;
    double v = -(PSI(i + 1, j) - PSI(i - 1, j)) * r2h;
    double wx = u > 0.0 ? w - OM(i - 1, j) : OM(i + 1, j) - w;
    double wy = v > 0.0 ? w - OM(i, j - 1) : OM(i, j + 1) - w;
    double lap = OM(i - 1, j) + OM(i + 1, j) + OM(i, j - 1) + OM(i, j + 1) - 4.0 * w;
    OMN(i, j) = w - par.dt / par.h * (u * wx + v * wy) + par.dt / (par.re * par.h * par.h) * lap;
}

// subroutine sor(colour): one colour of the red black sweep; threads only for this colour, so stride 2
__global__ void sor(double *psi, const double *om, int colour)
{
    int j = blockIdx.y * blockDim.y + threadIdx.y + 2;
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 2 + ((j + colour) & 1);
    if (i > NI - 1 || j > NJ - 1) return;
    double gs = 0.25 * (PSI(i - 1, j) + PSI(i + 1, j) + PSI(i, j - 1) + PSI(i, j + 1) + par.h * par.h * OM(i, j));
    PSI(i, j) = PSI(i, j) + par.relax * (gs - PSI(i, j));
}

// function resid: maximum norm, one value per block
__global__ void resid(const double *psi, const double *om, double *part)
{
    __shared__ double s[256];
    double m = 0.0;
    for (int k = blockIdx.x * 256 + threadIdx.x; k < (NI - 2) * (NJ - 2); k += gridDim.x * 256) {
        int i = k % (NI - 2) + 2, j = k / (NI - 2) + 2;
        double r = PSI(i - 1, j) + PSI(i + 1, j) + PSI(i, j - 1) + PSI(i, j + 1) - 4.0 * PSI(i, j)
                 + par.h * par.h * OM(i, j);
        m = fmax(m, fabs(r));
    }
    s[threadIdx.x] = m;
    __syncthreads();
    for (int w = 128; w > 0; w /= 2) {
        if (threadIdx.x < w) s[threadIdx.x] = fmax(s[threadIdx.x], s[threadIdx.x + w]);
        __syncthreads();
    }
    if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}

// subroutine profile: u along the vertical centre line, a strided gather
__global__ void profile(const double *psi, double *u)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (j < 2 || j > NJ - 1) return;
    u[j - 1] = (PSI(NI / 2, j + 1) - PSI(NI / 2, j - 1)) / (2.0 * par.h);
}

// ----------------------------------------------------------------------
static params_t hp;
static double psi[NI * NJ], om_a[NI * NJ], om_b[NI * NJ], chk[NI * NJ];

static void host_walls(double *om)
{
    double h2 = hp.h * hp.h;
    for (int k = 1; k <= NI; k++) {
        OM(k, 1) = -2.0 * PSI(k, 2) / h2;
        OM(k, NJ) = -2.0 * (PSI(k, NJ - 1) + hp.h * hp.lid) / h2;
    }
    for (int k = 2; k <= NJ - 1; k++) {
        OM(1, k) = -2.0 * PSI(2, k) / h2;
        OM(NI, k) = -2.0 * PSI(NI - 1, k) / h2;
    }
}
static void host_transport(const double *om, double *omn)
{
    for (int j = 1; j <= NJ; j++)
        for (int i = 1; i <= NI; i++) {
            double w = OM(i, j);
            OMN(i, j) = w;
            if (i == 1 || j == 1 || i == NI || j == NJ) continue;
            double u = (PSI(i, j + 1) - PSI(i, j - 1)) * 0.5 / hp.h;
            double v = -(PSI(i + 1, j) - PSI(i - 1, j)) * 0.5 / hp.h;
            double wx = u > 0.0 ? w - OM(i - 1, j) : OM(i + 1, j) - w;
            double wy = v > 0.0 ? w - OM(i, j - 1) : OM(i, j + 1) - w;
            double lap = OM(i - 1, j) + OM(i + 1, j) + OM(i, j - 1) + OM(i, j + 1) - 4.0 * w;
            OMN(i, j) = w - hp.dt / hp.h * (u * wx + v * wy) + hp.dt / (hp.re * hp.h * hp.h) * lap;
        }
}
static void host_sor(const double *om)
{
    for (int colour = 0; colour < 2; colour++)
        for (int j = 2; j <= NJ - 1; j++)
            for (int i = 2 + ((j + colour) & 1); i <= NI - 1; i += 2) {
                double gs = 0.25 * (PSI(i - 1, j) + PSI(i + 1, j) + PSI(i, j - 1) + PSI(i, j + 1)
                                    + hp.h * hp.h * OM(i, j));
                PSI(i, j) += hp.relax * (gs - PSI(i, j));
            }
}
static double host_resid(const double *om)
{
    double m = 0.0;
    for (int j = 2; j <= NJ - 1; j++)
        for (int i = 2; i <= NI - 1; i++)
            m = fmax(m, fabs(PSI(i - 1, j) + PSI(i + 1, j) + PSI(i, j - 1) + PSI(i, j + 1) - 4.0 * PSI(i, j)
                             + hp.h * hp.h * OM(i, j)));
    return m;
}

int main()
{
    hp.h = 1.0 / (NI - 1); hp.dt = 2.0e-4; hp.re = 100.0; hp.lid = 1.0; hp.relax = 1.5;
    ck(cudaMemcpyToSymbol(par, &hp, sizeof(hp)), "par");

    double *d_psi, *d_om, *d_base, *d_part, *d_omn, *d_u;
    ck(cudaGetSymbolAddress((void **)&d_psi, g_psi), "psi");
    ck(cudaGetSymbolAddress((void **)&d_base, g_om), "om");
    ck(cudaGetSymbolAddress((void **)&d_part, g_part), "part");
    ck(cudaMalloc((void **)&d_u, NJ * sizeof(double)), "u");
    d_om = d_base;
    d_omn = d_base + NI * NJ;

    dim3 tb(32, 4), gb((NI + 31) / 32, (NJ + 3) / 4), gs((NI / 2 + 31) / 32, (NJ + 3) / 4);
    initial<<<gb, tb>>>(d_psi, d_om);
    ck(cudaMemcpy(psi, d_psi, sizeof(psi), cudaMemcpyDeviceToHost), "start psi");
    ck(cudaMemcpy(om_a, d_om, sizeof(om_a), cudaMemcpyDeviceToHost), "start omega");

    double *hom = om_a, *homn = om_b, part[64], worst = 0.0;
    for (int step = 1; step <= NSTEP; step++) {
        walls<<<(NI + 63) / 64, 64>>>(d_psi, d_om);
        transport<<<gb, tb>>>(d_psi, d_om, d_omn);
        double *sw = d_om; d_om = d_omn; d_omn = sw;
        host_walls(hom);
        host_transport(hom, homn);
        sw = hom; hom = homn; homn = sw;

        for (int it = 0; it < MAXSOR; it++) {
            sor<<<gs, tb>>>(d_psi, d_om, 0);
            sor<<<gs, tb>>>(d_psi, d_om, 1);
            host_sor(hom);
        }
        resid<<<16, 256>>>(d_psi, d_om, d_part);
        ck(cudaMemcpy(part, d_part, 16 * sizeof(double), cudaMemcpyDeviceToHost), "resid");
        double r = 0.0;
        for (int k = 0; k < 16; k++) r = fmax(r, part[k]);
        double hr = host_resid(hom);
        printf(" step %2d   residual %12.5e\n", step, r);
        worst = fmax(worst, fabs(r - hr));
        if (r < 1e-9) break;
    }
    profile<<<(NJ + 31) / 32, 32>>>(d_psi, d_u);
    ck(cudaGetLastError(), "launches");
    ck(cudaDeviceSynchronize(), "sync");

    double u[NJ];
    ck(cudaMemcpy(u, d_u, sizeof(u), cudaMemcpyDeviceToHost), "u");
    for (int j = 2; j <= NJ - 1; j++)
        worst = fmax(worst, 1e-3 * fabs(u[j - 1] - (PSI(NI / 2, j + 1) - PSI(NI / 2, j - 1)) / (2.0 * hp.h)));
    ck(cudaMemcpy(chk, d_psi, sizeof(chk), cudaMemcpyDeviceToHost), "psi");
    for (int k = 0; k < NI * NJ; k++) worst = fmax(worst, fabs(chk[k] - psi[k]));
    ck(cudaMemcpy(chk, d_om, sizeof(chk), cudaMemcpyDeviceToHost), "omega");
    for (int k = 0; k < NI * NJ; k++) worst = fmax(worst, 1e-3 * fabs(chk[k] - hom[k]));
    int bad = !(worst < 1e-9) || psi[IDX(NI / 2, NJ / 2)] == 0.0;
    printf(" largest difference %12.5e\n %s\n", worst, bad ? "FAIL" : "PASS");
    cudaFree(d_u);
    return bad;
}
