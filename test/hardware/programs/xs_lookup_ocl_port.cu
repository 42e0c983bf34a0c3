/*
 * xs_lookup_ocl_port.cu
 *
 * Macroscopic neutron cross section lookups, the inner loop of a Monte Carlo
 * reactor code.  Ported by hand from our OpenCL mini-app (that is why the
 * kernels still look the way they look; the macros below replace cl_*).
 *
 *   usage: xs [lookups] [gridpoints per nuclide]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

/* ---- OpenCL -> CUDA shims ------------------------------------------------ */
#define KERNEL           extern "C" __global__ void
#define GLOBAL
#define LOCAL            __shared__
#define get_global_id(d) ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define get_local_id(d)  ((int)threadIdx.x)
#define get_local_size(d) ((int)blockDim.x)
#define barrier_local()  __syncthreads()

#define CL(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)
#define LAUNCH(k, n, wg, ...) do { k<<<((n) + (wg) - 1) / (wg), (wg)>>>(__VA_ARGS__); CL(cudaGetLastError()); } while (0)

#define N_ISO   48
#define N_MAT   12
#define N_XS    5
#define HBINS   1024
#define MAXNUC  48

typedef struct {
    double energy;
    double total, elastic, absorb, fission, nufission;
} GridPoint;                      /* 48 bytes, as in the original code */

typedef struct { double e; int mat; int pad; } Sample;

static const int num_nucs[N_MAT] = { 34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9 };

__constant__ int    c_num_nucs[N_MAT];
__constant__ double c_mat_cdf[N_MAT];

/* ---- RNG: the usual 63 bit LCG with skip ahead ---------------------------- */
#define LCG_M (1ULL << 63)
__host__ __device__ static double lcg_double(unsigned long long *seed)
{
    *seed = (2806196910506780709ULL * (*seed) + 1ULL) % LCG_M;
    return (double)(*seed) / (double)LCG_M;
}
__host__ __device__ static unsigned long long lcg_skip(unsigned long long seed, unsigned long long n)
{
    unsigned long long a = 2806196910506780709ULL, c = 1ULL, an = 1, cn = 0;
    n %= LCG_M;
    while (n > 0) {
        if (n & 1) { an *= a; cn = cn * a + c; }
        c *= (a + 1);
        a *= a;
        n >>= 1;
    }
    return (an * seed + cn) % LCG_M;
}

/* ---- device helpers -------------------------------------------------------- */
__host__ __device__ static int search_grid(const GridPoint *g, int n, double q)
{
    int lo = 0, hi = n - 1;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (g[mid].energy > q) hi = mid; else lo = mid;
    }
    return lo;
}

__host__ __device__ static void add_micro(const GridPoint *p, double e, double conc, double *xs)
{
    const GridPoint *l = p, *h = p + 1;
    double f = (h->energy - e) / (h->energy - l->energy);
    xs[0] += conc * (h->total     - f * (h->total     - l->total));
    xs[1] += conc * (h->elastic   - f * (h->elastic   - l->elastic));
    xs[2] += conc * (h->absorb    - f * (h->absorb    - l->absorb));
    xs[3] += conc * (h->fission   - f * (h->fission   - l->fission));
    xs[4] += conc * (h->nufission - f * (h->nufission - l->nufission));
}

/* ---- kernels --------------------------------------------------------------- */
KERNEL make_samples(GLOBAL Sample *s, int n, unsigned long long seed0)
{
    int i = get_global_id(0);
    if (i >= n) return;
    unsigned long long seed = lcg_skip(seed0, 2ULL * i);
    double e = lcg_double(&seed);
    double roll = lcg_double(&seed);
    int m = 0;
    while (m < N_MAT - 1 && roll > c_mat_cdf[m]) m++;
    s[i].e = e;
    s[i].mat = m;
    s[i].pad = 0;
}

KERNEL count_materials(GLOBAL const Sample *s, int n, GLOBAL int *counts)
{
    LOCAL int tally[N_MAT];
    int l = get_local_id(0);
    if (l < N_MAT) tally[l] = 0;
    barrier_local();
    int i = get_global_id(0);
    if (i < n) atomicAdd(&tally[s[i].mat], 1);
    barrier_local();
    if (l < N_MAT && tally[l]) atomicAdd(&counts[l], tally[l]);
}

/* variant 0: binary search in every nuclide's own grid */
KERNEL lookup_nuclide(GLOBAL const Sample *s, GLOBAL const int *order, int n, GLOBAL const GridPoint *grid, int ngp,
                      GLOBAL const int *mats, GLOBAL const double *concs, GLOBAL double *out)
{
    int t = get_global_id(0);
    if (t >= n) return;
    int i = order ? order[t] : t;
    double e = s[i].e;
    int m = s[i].mat;
    double xs[N_XS] = { 0, 0, 0, 0, 0 };
    for (int j = 0; j < c_num_nucs[m]; j++) {
        int nuc = mats[m * MAXNUC + j];
        double conc = concs[m * MAXNUC + j];
        const GridPoint *g = grid + (size_t)nuc * ngp;
        int k = search_grid(g, ngp, e);
        add_micro(g + k, e, conc, xs);
    }
    for (int k = 0; k < N_XS; k++) out[i * N_XS + k] = xs[k];
}

/* variant 1: one search in the unionised grid, then an index row */
KERNEL lookup_union(GLOBAL const Sample *s, GLOBAL const int *order, int n, GLOBAL const GridPoint *grid, int ngp,
                    GLOBAL const double *ugrid, GLOBAL const int *uindex, int nu,
                    GLOBAL const int *mats, GLOBAL const double *concs, GLOBAL double *out)
{
    int t = get_global_id(0);
    if (t >= n) return;
    int i = order ? order[t] : t;
    double e = s[i].e;
    int m = s[i].mat;
    int lo = 0, hi = nu - 1;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (ugrid[mid] > e) hi = mid; else lo = mid;
    }
    double xs[N_XS] = { 0, 0, 0, 0, 0 };
    for (int j = 0; j < c_num_nucs[m]; j++) {
        int nuc = mats[m * MAXNUC + j];
        int k = uindex[(size_t)lo * N_ISO + nuc];
        add_micro(grid + (size_t)nuc * ngp + k, e, concs[m * MAXNUC + j], xs);
    }
    for (int k = 0; k < N_XS; k++) out[i * N_XS + k] = xs[k];
}

/* variant 2: hash of the energy gives a starting row, result stored transposed */
KERNEL lookup_hash(GLOBAL const Sample *s, int n, GLOBAL const GridPoint *grid, int ngp, GLOBAL const int *hstart,
                   GLOBAL const int *mats, GLOBAL const double *concs, GLOBAL double *out_t)
{
    int i = get_global_id(0);
    if (i >= n) return;
    double e = s[i].e;
    int m = s[i].mat;
    int bin = (int)(e * HBINS);
    if (bin > HBINS - 1) bin = HBINS - 1;
    double xs[N_XS] = { 0, 0, 0, 0, 0 };
    for (int j = 0; j < c_num_nucs[m]; j++) {
        int nuc = mats[m * MAXNUC + j];
        const GridPoint *g = grid + (size_t)nuc * ngp;
        int k = hstart[bin * N_ISO + nuc];
        while (k < ngp - 2 && g[k + 1].energy <= e) k++;
        add_micro(g + k, e, concs[m * MAXNUC + j], xs);
    }
    for (int k = 0; k < N_XS; k++) out_t[(size_t)k * n + i] = xs[k];
}

static double frand(unsigned long long *s) { return lcg_double(s); }
static int cmp_gp(const void *a, const void *b)
{
    double x = ((const GridPoint *)a)->energy, y = ((const GridPoint *)b)->energy;
    return (x > y) - (x < y);
}
static int cmp_d(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare(const char *what, const double *got, const double *ref, int n)
{
    double worst = 0;
    for (int i = 0; i < n * N_XS; i++) {
        double d = fabs(got[i] - ref[i]) / (fabs(ref[i]) + 1e-9);
        if (!(d <= worst)) worst = d;
    }
    int ok = worst < 1e-9;
    printf("  %-22s max rel err %.2e %s\n", what, worst, ok ? "ok" : "WRONG");
    return ok;
}

int main(int argc, char **argv)
{
    int n   = argc > 1 ? atoi(argv[1]) : 60000;
    int ngp = argc > 2 ? atoi(argv[2]) : 400;
    int nu = N_ISO * ngp, ok = 1;
    unsigned long long seed = 42;

    GridPoint *grid = (GridPoint *)malloc(sizeof(GridPoint) * nu);
    for (int i = 0; i < nu; i++) {
        grid[i].energy = frand(&seed);  grid[i].total = frand(&seed);  grid[i].elastic = frand(&seed);
        grid[i].absorb = frand(&seed);  grid[i].fission = frand(&seed); grid[i].nufission = frand(&seed);
    }
    for (int i = 0; i < N_ISO; i++) {
        qsort(grid + (size_t)i * ngp, ngp, sizeof(GridPoint), cmp_gp);
        grid[(size_t)i * ngp].energy = 0.0;                /* cover [0,1] */
        grid[(size_t)i * ngp + ngp - 1].energy = 1.0;
    }
    double *ugrid = (double *)malloc(sizeof(double) * nu);
    for (int i = 0; i < nu; i++) ugrid[i] = grid[i].energy;
    qsort(ugrid, nu, sizeof(double), cmp_d);
    int *uindex = (int *)malloc(sizeof(int) * (size_t)nu * N_ISO);
    int cur[N_ISO];
    memset(cur, 0, sizeof cur);
    for (int u = 0; u < nu; u++)
        for (int k = 0; k < N_ISO; k++) {
            const GridPoint *g = grid + (size_t)k * ngp;
            while (cur[k] < ngp - 2 && g[cur[k] + 1].energy <= ugrid[u]) cur[k]++;
            uindex[(size_t)u * N_ISO + k] = cur[k];
        }
    int *hstart = (int *)malloc(sizeof(int) * HBINS * N_ISO);
    for (int b = 0; b < HBINS; b++)
        for (int k = 0; k < N_ISO; k++)
            hstart[b * N_ISO + k] = search_grid(grid + (size_t)k * ngp, ngp, (double)b / HBINS);

    int mats[N_MAT * MAXNUC];
    double concs[N_MAT * MAXNUC], cdf[N_MAT];
    memset(mats, 0, sizeof mats);
    memset(concs, 0, sizeof concs);
    const double dist[N_MAT] = { .140, .052, .275, .134, .154, .064, .066, .055, .008, .015, .025, .013 };
    double acc = 0;
    for (int m = 0; m < N_MAT; m++) {
        acc += dist[m];
        cdf[m] = acc;
        int first = (m * 7) % N_ISO;
        for (int j = 0; j < num_nucs[m]; j++) {
            mats[m * MAXNUC + j] = (first + j * 5) % N_ISO;    /* 5 is coprime to 48 */
            concs[m * MAXNUC + j] = frand(&seed);
        }
    }

    GridPoint *d_grid; double *d_ugrid, *d_concs, *d_out; int *d_uindex, *d_h, *d_mats, *d_order, *d_counts; Sample *d_s;
    CL(cudaMalloc(&d_grid, sizeof(GridPoint) * nu));      CL(cudaMalloc(&d_ugrid, sizeof(double) * nu));
    CL(cudaMalloc(&d_uindex, sizeof(int) * (size_t)nu * N_ISO));
    CL(cudaMalloc(&d_h, sizeof(int) * HBINS * N_ISO));    CL(cudaMalloc(&d_mats, sizeof mats));
    CL(cudaMalloc(&d_concs, sizeof concs));               CL(cudaMalloc(&d_out, sizeof(double) * n * N_XS));
    CL(cudaMalloc(&d_order, sizeof(int) * n));            CL(cudaMalloc(&d_counts, sizeof(int) * N_MAT));
    CL(cudaMalloc(&d_s, sizeof(Sample) * n));
    CL(cudaMemcpy(d_grid, grid, sizeof(GridPoint) * nu, cudaMemcpyHostToDevice));
    CL(cudaMemcpy(d_ugrid, ugrid, sizeof(double) * nu, cudaMemcpyHostToDevice));
    CL(cudaMemcpy(d_uindex, uindex, sizeof(int) * (size_t)nu * N_ISO, cudaMemcpyHostToDevice));
    CL(cudaMemcpy(d_h, hstart, sizeof(int) * HBINS * N_ISO, cudaMemcpyHostToDevice));
    CL(cudaMemcpy(d_mats, mats, sizeof mats, cudaMemcpyHostToDevice));
    CL(cudaMemcpy(d_concs, concs, sizeof concs, cudaMemcpyHostToDevice));
    CL(cudaMemcpyToSymbol(c_num_nucs, num_nucs, sizeof num_nucs));
    CL(cudaMemcpyToSymbol(c_mat_cdf, cdf, sizeof cdf));
    CL(cudaMemset(d_counts, 0, sizeof(int) * N_MAT));

    LAUNCH(make_samples, n, 256, d_s, n, 1070ULL);
    LAUNCH(count_materials, n, 256, d_s, n, d_counts);
    Sample *s = (Sample *)malloc(sizeof(Sample) * n);
    int counts[N_MAT], check[N_MAT], off[N_MAT + 1];
    CL(cudaMemcpy(s, d_s, sizeof(Sample) * n, cudaMemcpyDeviceToHost));
    CL(cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost));

    /* reference, and the permutation that groups the particles by material */
    double *ref = (double *)calloc((size_t)n * N_XS, sizeof(double));
    double *got = (double *)malloc(sizeof(double) * n * N_XS), *tr = (double *)malloc(sizeof(double) * n * N_XS);
    int *order = (int *)malloc(sizeof(int) * n);
    memset(check, 0, sizeof check);
    for (int i = 0; i < n; i++) {
        unsigned long long q = lcg_skip(1070ULL, 2ULL * i);
        double e = lcg_double(&q);
        if (e != s[i].e || s[i].mat < 0 || s[i].mat >= N_MAT) { printf("sample %d differs\nFAIL\n", i); return 1; }
        check[s[i].mat]++;
        for (int j = 0; j < num_nucs[s[i].mat]; j++) {
            const GridPoint *g = grid + (size_t)mats[s[i].mat * MAXNUC + j] * ngp;
            add_micro(g + search_grid(g, ngp, e), e, concs[s[i].mat * MAXNUC + j], ref + (size_t)i * N_XS);
        }
    }
    ok &= memcmp(check, counts, sizeof counts) == 0;
    off[0] = 0;
    for (int m = 0; m < N_MAT; m++) off[m + 1] = off[m] + check[m];
    for (int i = 0; i < n; i++) order[off[s[i].mat]++] = i;
    CL(cudaMemcpy(d_order, order, sizeof(int) * n, cudaMemcpyHostToDevice));

#define RUN(name, call, post) do { CL(cudaMemset(d_out, 0, sizeof(double) * n * N_XS)); call; \
        CL(cudaMemcpy(got, d_out, sizeof(double) * n * N_XS, cudaMemcpyDeviceToHost)); post; ok &= compare(name, got, ref, n); } while (0)
    const int *none = NULL;
    RUN("nuclide grid", LAUNCH(lookup_nuclide, n, 128, d_s, none, n, d_grid, ngp, d_mats, d_concs, d_out), );
    RUN("nuclide grid, sorted", LAUNCH(lookup_nuclide, n, 128, d_s, d_order, n, d_grid, ngp, d_mats, d_concs, d_out), );
    RUN("unionised", LAUNCH(lookup_union, n, 256, d_s, none, n, d_grid, ngp, d_ugrid, d_uindex, nu, d_mats, d_concs, d_out), );
    RUN("unionised, sorted", LAUNCH(lookup_union, n, 256, d_s, d_order, n, d_grid, ngp, d_ugrid, d_uindex, nu, d_mats, d_concs, d_out), );
    RUN("hashed", LAUNCH(lookup_hash, n, 256, d_s, n, d_grid, ngp, d_h, d_mats, d_concs, d_out),
        { memcpy(tr, got, sizeof(double) * n * N_XS);
          for (int i = 0; i < n; i++) for (int k = 0; k < N_XS; k++) got[i * N_XS + k] = tr[(size_t)k * n + i]; });

    printf("%d lookups: %s\n", n, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
