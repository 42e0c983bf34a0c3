// legtrans_f77_port.cu
//
// Legendre transforms of a spectral atmosphere model.  Ported from LEGINV.F
// and LEGDIR.F (1991); arrays keep their Fortran shape and their one-based,
// column-major subscripts through the macros below.
//
//      PARAMETER (NSMAX=42, NDGL=64, NFLEV=19)
//      REAL*8 PLEG(NDGL/2, NLEI3), SPEC(2*NFLEV, NSPEC2), FOUR(2*NFLEV, NDGL, 0:NSMAX)
//
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <random>
#include <algorithm>
#include <cuda_runtime.h>

#define NSMAX 42                            /* triangular truncation            */
#define NDGL  64                            /* Gaussian latitudes               */
#define NDGNH (NDGL / 2)                    /* ... of one hemisphere            */
#define NFLEV 19
#define NFLD  (2 * NFLEV)                   /* real and imaginary part per level */
#define NSPEC ((NSMAX + 1) * (NSMAX + 2) / 2)

/* position of the pair (n,m), m = 0..NSMAX, n = m..NSMAX, one-based */
#define NASM0(m)      ((m) * (NSMAX + 1) - (m) * ((m) - 1) / 2)
#define NMN(n, m)     (NASM0(m) + (n) - (m) + 1)

#define PLEG(j, k)    pleg[((k) - 1) * NDGNH + (j) - 1]
#define SPEC(f, k)    spec[((k) - 1) * NFLD + (f) - 1]
#define FOUR(f, j, m) four[((m) * NDGL + (j) - 1) * NFLD + (f) - 1]
/* an alternative with the latitude first, as the vector machine wanted it */
#define FOURV(j, f, m) four[((m) * NFLD + (f) - 1) * NDGL + (j) - 1]

#define CUDACHK(ierr) if ((ierr) != cudaSuccess) { printf(" CUDA ERROR %s AT LINE %d\nFAIL\n", cudaGetErrorString(ierr), __LINE__); exit(1); }

__constant__ double c_gw[NDGNH];            /* Gaussian weights  */
__constant__ double c_mu[NDGNH];            /* sine of latitude  */

/* ------------------------------------------------------------------ LEGPOL
 * normalised associated Legendre functions by the column recurrence,
 * one thread per latitude and wave number */
__global__ void legpol(double *pleg)
{
    int j = threadIdx.x + 1, m = blockIdx.x;
    if (j > NDGNH) return;
    double mu = c_mu[j - 1], c = sqrt(1.0 - mu * mu);
    double pmm = sqrt(0.5);
    for (int i = 1; i <= m; i++) pmm *= c * sqrt((2.0 * i + 1.0) / (2.0 * i));
    PLEG(j, NMN(m, m)) = pmm;
    double p2 = pmm, p1 = mu * sqrt(2.0 * m + 3.0) * pmm;
    if (m < NSMAX) PLEG(j, NMN(m + 1, m)) = p1;
    for (int n = m + 2; n <= NSMAX; n++) {
        double a = sqrt((4.0 * n * n - 1.0) / ((double)n * n - (double)m * m));
        double b = sqrt(((double)(n - 1) * (n - 1) - (double)m * m) / (4.0 * (n - 1.0) * (n - 1.0) - 1.0));
        double p = a * (mu * p1 - b * p2);
        PLEG(j, NMN(n, m)) = p;
        p2 = p1;
        p1 = p;
    }
}

/* ------------------------------------------------------------------ LEGINV
 * FOUR(f,j,m) = sum_n P(j,n,m) * SPEC(f,n,m)
 * First version: the DO loops over latitude and field become the threads,
 * latitude fastest, which was right for the vector machine. */
__global__ void leginv_v1(const double *pleg, const double *spec, double *four)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int f = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int m = blockIdx.z;
    if (j > NDGL || f > NFLD) return;
    int jn = j <= NDGNH ? j : NDGL + 1 - j;
    double zs = 0.0, sgn = 1.0;
    for (int n = m; n <= NSMAX; n++) {
        zs += sgn * PLEG(jn, NMN(n, m)) * SPEC(f, NMN(n, m));
        if (j > NDGNH) sgn = -sgn;
    }
    FOUR(f, j, m) = zs;
}

/* Second version: the field index is the fast one, symmetric and antisymmetric
 * parts are summed once for both hemispheres. */
__global__ void leginv_v2(const double *pleg, const double *spec, double *four)
{
    int f = threadIdx.x + 1, m = blockIdx.y;
    int j = blockIdx.x * blockDim.y + threadIdx.y + 1;
    if (f > NFLD || j > NDGNH) return;
    double zsym = 0.0, zasm = 0.0;
    for (int n = m; n <= NSMAX; n += 2) zsym += PLEG(j, NMN(n, m)) * SPEC(f, NMN(n, m));
    for (int n = m + 1; n <= NSMAX; n += 2) zasm += PLEG(j, NMN(n, m)) * SPEC(f, NMN(n, m));
    FOUR(f, j, m) = zsym + zasm;
    FOUR(f, NDGL + 1 - j, m) = zsym - zasm;
}

/* Third version: a block does one m.  P of eight latitudes and the spectral
 * column block go through shared memory; blocks in `order` are sorted so that
 * the long columns (small m) start first. */
#define KT 16
__global__ void __launch_bounds__(320) leginv_v3(const double *__restrict__ pleg, const double *__restrict__ spec, const int *order, double *four)
{
    __shared__ double sp[KT][NFLD + 1];
    __shared__ double pl[KT][8];
    int m = order[blockIdx.y], j0 = blockIdx.x * 8;
    int f = threadIdx.x + 1, jl = threadIdx.y;
    int tid = threadIdx.y * blockDim.x + threadIdx.x, nt = blockDim.x * blockDim.y;
    double zsym = 0.0, zasm = 0.0;
    for (int n0 = m; n0 <= NSMAX; n0 += KT) {
        int kn = min(KT, NSMAX - n0 + 1);
        for (int t = tid; t < kn * NFLD; t += nt) sp[t / NFLD][t % NFLD] = SPEC(t % NFLD + 1, NMN(n0 + t / NFLD, m));
        for (int t = tid; t < kn * 8; t += nt) pl[t / 8][t % 8] = PLEG(j0 + t % 8 + 1, NMN(n0 + t / 8, m));
        __syncthreads();
        if (f <= NFLD)
            for (int k = 0; k < kn; k++) {                    /* KT is even: parity of k is parity of n-m */
                double v = pl[k][jl] * sp[k][f - 1];
                if (k & 1) zasm += v; else zsym += v;
            }
        __syncthreads();
    }
    if (f <= NFLD) {
        FOUR(f, j0 + jl + 1, m) = zsym + zasm;
        FOUR(f, NDGL - j0 - jl, m) = zsym - zasm;
    }
}

/* change of storage, latitude first */
__global__ void relayout(const double *in, double *four)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= NFLD * NDGL * (NSMAX + 1)) return;
    int f = t % NFLD + 1, j = t / NFLD % NDGL + 1, m = t / (NFLD * NDGL);
    FOURV(j, f, m) = in[t];
}

/* ------------------------------------------------------------------ LEGDIR
 * SPEC(f,n,m) = sum_j w(j) P(j,n,m) FOUR(f,j,m) over both hemispheres */
__global__ void legdir_v1(const double *pleg, const double *four, double *spec)
{
    int f = threadIdx.x + 1, k = blockIdx.x * blockDim.y + threadIdx.y + 1;
    if (f > NFLD || k > NSPEC) return;
    int m = 0;
    while (m < NSMAX && k >= NMN(m + 1, m + 1)) m++;
    int n = k - NASM0(m) - 1 + m;
    double z = 0.0;
    for (int j = 1; j <= NDGNH; j++) {
        double a = FOUR(f, j, m), b = FOUR(f, NDGL + 1 - j, m);
        z += c_gw[j - 1] * PLEG(j, k) * ((n - m) % 2 ? a - b : a + b);
    }
    SPEC(f, k) = z;
}

/* a warp per (f,k), lanes over the 32 latitudes of a hemisphere, FOURV storage */
__global__ void legdir_v2(const double *pleg, const double *four, const int2 *nm, double *spec)
{
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, j = threadIdx.x % 32 + 1;
    if (w >= NFLD * NSPEC) return;
    int f = w % NFLD + 1, k = w / NFLD + 1;
    int n = nm[k - 1].x, m = nm[k - 1].y;
    double a = FOURV(j, f, m), b = FOURV(NDGL + 1 - j, f, m);
    double z = c_gw[j - 1] * PLEG(j, k) * ((n - m) & 1 ? a - b : a + b);
    for (int o = 16; o; o >>= 1) z += __shfl_down_sync(0xffffffffu, z, o);
    if (j == 1) SPEC(f, k) = z;
}

/* ------------------------------------------------------------------ GAUAW */
static void gauaw(double *mu, double *w)
{
    for (int i = 0; i < NDGNH; i++) {
        double x = cos(M_PI * (i + 0.75) / (NDGL + 0.5)), d = 0;
        for (int it = 0; it < 20; it++) {
            double p0 = 1, p1 = x;
            for (int n = 2; n <= NDGL; n++) { double p = ((2 * n - 1) * x * p1 - (n - 1) * p0) / n; p0 = p1; p1 = p; }
            d = NDGL * (x * p1 - p0) / (x * x - 1);
            double dx = p1 / d;
            x -= dx;
            if (fabs(dx) < 1e-15) break;
        }
        mu[i] = x;
        w[i] = 2.0 / ((1 - x * x) * d * d);
    }
}

static double maxdiff(const std::vector<double> &a, const std::vector<double> &b)
{
    double d = 0;
    for (size_t i = 0; i < a.size(); i++) { double e = fabs(a[i] - b[i]); if (!(e <= d)) d = e; }
    return d;
}

static int report(const char *name, double d)
{
    int good = d < 1e-10;
    printf(" %-26s MAX DIFFERENCE %10.3E %s\n", name, d, good ? "" : "****");
    return good;
}

int main()
{
    double mu[NDGNH], gw[NDGNH];
    gauaw(mu, gw);
    CUDACHK(cudaMemcpyToSymbol(c_mu, mu, sizeof mu));
    CUDACHK(cudaMemcpyToSymbol(c_gw, gw, sizeof gw));

    std::vector<double> hspec((size_t)NFLD * NSPEC), hpleg((size_t)NDGNH * NSPEC), ref((size_t)NFLD * NDGL * (NSMAX + 1)), got(ref.size()), back(hspec.size());
    std::mt19937 gen(1991);
    std::normal_distribution<double> gauss(0.0, 1.0);
    std::vector<int2> nm(NSPEC);
    for (int m = 0; m <= NSMAX; m++)
        for (int n = m; n <= NSMAX; n++) {
            nm[NMN(n, m) - 1] = make_int2(n, m);
            double *spec = hspec.data();
            for (int f = 1; f <= NFLD; f++) SPEC(f, NMN(n, m)) = gauss(gen) / (1.0 + n);
        }
    std::vector<int> order(NSMAX + 1);
    for (int m = 0; m <= NSMAX; m++) order[m] = m;
    std::stable_sort(order.begin(), order.end(), [](int a, int b) { return NSMAX - a > NSMAX - b; });

    double *pleg, *spec, *four, *fourv, *spec2;
    int *dorder;
    int2 *dnm;
    CUDACHK(cudaMalloc(&pleg, hpleg.size() * 8));
    CUDACHK(cudaMalloc(&spec, hspec.size() * 8));
    CUDACHK(cudaMalloc(&spec2, hspec.size() * 8));
    CUDACHK(cudaMalloc(&four, ref.size() * 8));
    CUDACHK(cudaMalloc(&fourv, ref.size() * 8));
    CUDACHK(cudaMalloc(&dorder, order.size() * sizeof(int)));
    CUDACHK(cudaMalloc(&dnm, nm.size() * sizeof(int2)));
    CUDACHK(cudaMemcpy(spec, hspec.data(), hspec.size() * 8, cudaMemcpyHostToDevice));
    CUDACHK(cudaMemcpy(dorder, order.data(), order.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDACHK(cudaMemcpy(dnm, nm.data(), nm.size() * sizeof(int2), cudaMemcpyHostToDevice));

    legpol<<<NSMAX + 1, NDGNH>>>(pleg);
    CUDACHK(cudaGetLastError());
    CUDACHK(cudaMemcpy(hpleg.data(), pleg, hpleg.size() * 8, cudaMemcpyDeviceToHost));

    int ok = 1;
    {   /* orthonormality of the device's own polynomials, a few wave numbers */
        double worst = 0;
        const double *pleg = hpleg.data();
        for (int m = 0; m <= NSMAX; m += 7)
            for (int n = m; n <= NSMAX; n++)
                for (int l = n; l <= NSMAX; l += 2) {
                    double s = 0;
                    for (int j = 1; j <= NDGNH; j++) s += 2.0 * gw[j - 1] * PLEG(j, NMN(n, m)) * PLEG(j, NMN(l, m));
                    worst = std::max(worst, fabs(s - (n == l)));
                }
        ok &= report("ORTHONORMALITY", worst);
    }
    {
        const double *pleg = hpleg.data(), *spec = hspec.data();
        double *four = ref.data();
        for (int m = 0; m <= NSMAX; m++)
            for (int j = 1; j <= NDGL; j++)
                for (int n = m; n <= NSMAX; n++) {
                    double p = j <= NDGNH ? PLEG(j, NMN(n, m)) : ((n - m) % 2 ? -1.0 : 1.0) * PLEG(NDGL + 1 - j, NMN(n, m));
                    for (int f = 1; f <= NFLD; f++) FOUR(f, j, m) += p * SPEC(f, NMN(n, m));
                }
    }
    const char *names[3] = { "LEGINV LATITUDE FASTEST", "LEGINV FIELD FASTEST", "LEGINV SHARED" };
    for (int v = 0; v < 3; v++) {
        CUDACHK(cudaMemset(four, 0, ref.size() * 8));
        if (v == 0) leginv_v1<<<dim3(NDGL / 32, (NFLD + 7) / 8, NSMAX + 1), dim3(32, 8)>>>(pleg, spec, four);
        if (v == 1) leginv_v2<<<dim3(NDGNH / 4, NSMAX + 1), dim3(64, 4)>>>(pleg, spec, four);
        if (v == 2) leginv_v3<<<dim3(NDGNH / 8, NSMAX + 1), dim3(40, 8)>>>(pleg, spec, dorder, four);
        CUDACHK(cudaGetLastError());
        CUDACHK(cudaMemcpy(got.data(), four, got.size() * 8, cudaMemcpyDeviceToHost));
        ok &= report(names[v], maxdiff(got, ref));
    }
    /* and back: Gaussian quadrature is exact for this truncation */
    relayout<<<(NFLD * NDGL * (NSMAX + 1) + 255) / 256, 256>>>(four, fourv);
    for (int v = 0; v < 2; v++) {
        CUDACHK(cudaMemset(spec2, 0, back.size() * 8));
        if (v == 0) legdir_v1<<<(NSPEC + 3) / 4, dim3(64, 4)>>>(pleg, four, spec2);
        else        legdir_v2<<<(NFLD * NSPEC + 7) / 8, 256>>>(pleg, fourv, dnm, spec2);
        CUDACHK(cudaGetLastError());
        CUDACHK(cudaMemcpy(back.data(), spec2, back.size() * 8, cudaMemcpyDeviceToHost));
        ok &= report(v ? "LEGDIR WARP, ROUND TRIP" : "LEGDIR, ROUND TRIP", maxdiff(back, hspec));
    }
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
