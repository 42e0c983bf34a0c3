/* =====================================================================
 *  sparse_formats_jacobi
 *
 *  y = A x with A held in CSR, ELLPACK (both storage orders) and
 *  coordinate form, a couple of Jacobi sweeps, and the dot products
 *  needed for the residual.  All arithmetic in real*8.
 *
 *  Translated from an older F90 code; two-dimensional arrays are kept
 *  in one-dimensional storage, first index fastest unless noted.
 * ===================================================================== */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <map>
#include <vector>

typedef double real8;
typedef int    integer;

/* first index fastest, as in Fortran A(i,k) with leading dimension ld */
#define FIDX(i, k, ld) ((i) + (size_t)(k) * (ld))
/* the transposed storage */
#define CIDX(i, k, ld) ((size_t)(i) * (ld) + (k))

static void stop_on(cudaError_t ierr, const char *where)
{
    if (ierr != cudaSuccess) {
        printf(" *** %s : %s\n", where, cudaGetErrorString(ierr));
        exit(1);
    }
}

/* --------------------------------------------------------------------- */
__global__ void spmv_csr_row(integer n, const integer *ia, const integer *ja, const real8 *a,
                             const real8 *x, real8 *y)
{
    integer i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        real8 s = 0.0;
        for (integer k = ia[i]; k < ia[i + 1]; k++) s += a[k] * x[ja[k]];
        y[i] = s;
    }
}

/* VL lanes together work on one row */
template <int VL>
__global__ void spmv_csr_lanes(integer n, const integer *__restrict__ ia, const integer *__restrict__ ja,
                               const real8 *__restrict__ a, const real8 *__restrict__ x, real8 *y)
{
    const integer tid  = blockIdx.x * blockDim.x + threadIdx.x;
    const integer lane = tid % VL;
    const integer nvec = gridDim.x * blockDim.x / VL;
    /* every lane makes the same number of trips so that the shuffles are complete */
    const integer trips = (n + nvec - 1) / nvec;
    for (integer t = 0; t < trips; t++) {
        const integer i = tid / VL + t * nvec;
        real8 s = 0.0;
        if (i < n) {
            const integer ke = __ldg(ia + i + 1);
            for (integer k = __ldg(ia + i) + lane; k < ke; k += VL) s += a[k] * __ldg(x + ja[k]);
        }
        for (int off = VL / 2; off > 0; off >>= 1) s += __shfl_down_sync(0xffffffffu, s, off, VL);
        if (lane == 0 && i < n) y[i] = s;
    }
}

/* ELLPACK; COLMAJOR selects (n,w) Fortran order, otherwise w entries of a row are adjacent */
template <bool COLMAJOR>
__global__ void spmv_ell(integer n, integer ldn, integer w, const integer *jc, const real8 *ac,
                         const real8 *x, real8 *y)
{
    integer i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    real8 s = 0.0;
    for (integer k = 0; k < w; k++) {
        size_t p = COLMAJOR ? FIDX(i, k, ldn) : CIDX(i, k, w);
        integer j = jc[p];
        if (j >= 0) s += ac[p] * x[j];
    }
    y[i] = s;
}

/* triplets come sorted by column (the way the assembly made them) */
struct triplet { integer i, j; real8 v; };

__global__ void spmv_coo(integer nnz, const triplet *t, const real8 *x, real8 *y)
{
    for (integer k = blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += gridDim.x * blockDim.x) {
        triplet e = t[k];
        atomicAdd(&y[e.i], e.v * x[e.j]);
    }
}

/* xnew = x + D^{-1} (b - A x), A in ELL Fortran order */
__global__ void jacobi_sweep(integer n, integer ldn, integer w, const integer *__restrict__ jc,
                             const real8 *__restrict__ ac, const real8 *__restrict__ diag,
                             const real8 *__restrict__ b, const real8 *__restrict__ x, real8 *__restrict__ xnew)
{
    integer i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    real8 r = b[i];
    for (integer k = 0; k < w; k++) {
        integer j = jc[FIDX(i, k, ldn)];
        if (j >= 0) r -= ac[FIDX(i, k, ldn)] * x[j];
    }
    xnew[i] = x[i] + r / diag[i];
}

/* partial(blockIdx) = sum of u*v; interleaved pairing of the partial sums */
__global__ void dot_partial(integer n, const real8 *u, const real8 *v, real8 *partial)
{
    extern __shared__ real8 work[];
    real8 s = 0.0;
    for (integer i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += u[i] * v[i];
    work[threadIdx.x] = s;
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned k = 2 * stride * threadIdx.x;
        if (k + stride < blockDim.x) work[k] += work[k + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = work[0];
}

/* --------------------------------------------------------------------- */
template <class T> static T *push(const std::vector<T> &h)
{
    T *d = nullptr;
    stop_on(cudaMalloc((void **)&d, sizeof(T) * h.size()), "cudaMalloc");
    stop_on(cudaMemcpy(d, h.data(), sizeof(T) * h.size(), cudaMemcpyHostToDevice), "copy in");
    return d;
}

static real8 compare(const char *tag, const std::vector<real8> &ref, const real8 *d)
{
    std::vector<real8> h(ref.size());
    stop_on(cudaGetLastError(), tag);
    stop_on(cudaMemcpy(h.data(), d, sizeof(real8) * h.size(), cudaMemcpyDeviceToHost), tag);
    real8 e = 0.0;
    for (size_t i = 0; i < h.size(); i++) {
        real8 q = fabs(h[i] - ref[i]);
        if (!(q <= e)) e = q;
    }
    printf(" %-24s max error %10.3e\n", tag, e);
    return e;
}

int main(int argc, char **argv)
{
    const integer nx = argc > 1 ? atoi(argv[1]) : 173;
    const integer ny = argc > 2 ? atoi(argv[2]) : 151;
    const integer n = nx * ny;

    /* ---- assemble: five-point star, some far couplings, a few crowded rows ---- */
    std::vector<integer> ia(n + 1, 0), ja;
    std::vector<real8> a, diag(n);
    std::vector<triplet> coo;
    unsigned long long seed = 88172645463325252ull;
    auto rnd = [&seed]() { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed; };
    integer width = 0;
    for (integer i = 0; i < n; i++) {
        std::map<integer, real8> row;
        integer ix = i % nx, iy = i / nx;
        if (ix > 0) row[i - 1] = -1.0;
        if (ix < nx - 1) row[i + 1] = -1.0;
        if (iy > 0) row[i - nx] = -0.8;
        if (iy < ny - 1) row[i + nx] = -0.8;
        int extra = (i % 97 == 0) ? 14 : (i % 7 == 0 ? 2 : 0);
        for (int k = 0; k < extra; k++) {
            integer j = (integer)(rnd() % (unsigned long long)n);
            if (j != i) row[j] = 0.1 * (real8)(rnd() % 8) - 0.35;
        }
        real8 s = 0.5;
        for (auto &e : row) s += fabs(e.second);
        row[i] = s;
        diag[i] = s;
        for (auto &e : row) {
            ja.push_back(e.first);
            a.push_back(e.second);
            coo.push_back({i, e.first, e.second});
        }
        ia[i + 1] = (integer)ja.size();
        width = std::max(width, (integer)row.size());
    }
    const integer nnz = ia[n];
    std::stable_sort(coo.begin(), coo.end(), [](const triplet &p, const triplet &q) { return p.j < q.j; });

    const integer ldn = (n + 31) / 32 * 32;
    std::vector<integer> jf((size_t)ldn * width, -1), jr((size_t)n * width, -1);
    std::vector<real8> af((size_t)ldn * width, 0.0), ar((size_t)n * width, 0.0);
    for (integer i = 0; i < n; i++)
        for (integer k = ia[i]; k < ia[i + 1]; k++) {
            integer c = k - ia[i];
            jf[FIDX(i, c, ldn)] = jr[CIDX(i, c, width)] = ja[k];
            af[FIDX(i, c, ldn)] = ar[CIDX(i, c, width)] = a[k];
        }
    std::vector<real8> x(n), b(n), y(n), xj(n), xt(n);
    for (integer i = 0; i < n; i++) {
        x[i] = sin(0.01 * i) + 0.25 * (i % 3);
        b[i] = 1.0 + 0.001 * (i % 101);
    }
    printf(" n = %d  nnz = %d  ell width = %d\n", n, nnz, width);

    /* ---- reference ---- */
    for (integer i = 0; i < n; i++) {
        y[i] = 0.0;
        for (integer k = ia[i]; k < ia[i + 1]; k++) y[i] += a[k] * x[ja[k]];
    }
    xj = x;
    for (int it = 0; it < 2; it++) {
        for (integer i = 0; i < n; i++) {
            real8 r = b[i];
            for (integer k = ia[i]; k < ia[i + 1]; k++) r -= a[k] * xj[ja[k]];
            xt[i] = xj[i] + r / diag[i];
        }
        xj.swap(xt);
    }
    real8 dref = 0.0;
    for (integer i = 0; i < n; i++) dref += xj[i] * b[i];

    /* ---- device ---- */
    integer *d_ia = push(ia), *d_ja = push(ja), *d_jf = push(jf), *d_jr = push(jr);
    real8 *d_a = push(a), *d_af = push(af), *d_ar = push(ar), *d_diag = push(diag);
    real8 *d_x = push(x), *d_b = push(b), *d_x2 = push(x);
    triplet *d_coo = push(coo);
    real8 *d_y;
    stop_on(cudaMalloc((void **)&d_y, n * sizeof(real8)), "y");
    const integer nt = 128, nb = (n + nt - 1) / nt;
    real8 worst = 0.0;

    spmv_csr_row<<<nb, nt>>>(n, d_ia, d_ja, d_a, d_x, d_y);
    worst = std::max(worst, compare("csr, thread per row", y, d_y));
    spmv_csr_lanes<8><<<264, 256>>>(n, d_ia, d_ja, d_a, d_x, d_y);
    worst = std::max(worst, compare("csr, 8 lanes per row", y, d_y));
    spmv_ell<true><<<nb, nt>>>(n, ldn, width, d_jf, d_af, d_x, d_y);
    worst = std::max(worst, compare("ell, fortran order", y, d_y));
    spmv_ell<false><<<nb, nt>>>(n, ldn, width, d_jr, d_ar, d_x, d_y);
    worst = std::max(worst, compare("ell, row order", y, d_y));
    stop_on(cudaMemset(d_y, 0, n * sizeof(real8)), "memset");
    spmv_coo<<<200, 256>>>(nnz, d_coo, d_x, d_y);
    worst = std::max(worst, compare("coo, atomics", y, d_y));

    real8 *p_old = d_x, *p_new = d_x2;
    for (int it = 0; it < 2; it++) {
        jacobi_sweep<<<nb, nt>>>(n, ldn, width, d_jf, d_af, d_diag, d_b, p_old, p_new);
        stop_on(cudaGetLastError(), "jacobi");
        std::swap(p_old, p_new);
    }
    worst = std::max(worst, compare("jacobi, two sweeps", xj, p_old));

    const integer ndb = 48;
    std::vector<real8> part(ndb, 0.0);
    real8 *d_part = push(part);
    dot_partial<<<ndb, 256, 256 * sizeof(real8)>>>(n, p_old, d_b, d_part);
    stop_on(cudaGetLastError(), "dot");
    stop_on(cudaMemcpy(part.data(), d_part, ndb * sizeof(real8), cudaMemcpyDeviceToHost), "dot");
    real8 dgpu = 0.0;
    for (real8 v : part) dgpu += v;
    printf(" dot %22.14e  reference %22.14e\n", dgpu, dref);

    bool ok = worst < 1e-10 && fabs(dgpu - dref) < 1e-8 * (1.0 + fabs(dref));
    void *all[] = {d_ia, d_ja, d_jf, d_jr, d_a, d_af, d_ar, d_diag, d_x, d_b, d_x2, d_coo, d_y, d_part};
    for (void *q : all) cudaFree(q);
    printf(ok ? " PASS\n" : " FAIL\n");
    return ok ? 0 : 1;
}
