/* Structured-grid semicoarsening multigrid pieces in the hypre "struct_ls" manner: index boxes,
 * BoxLoop macros that expand to a device lambda-free kernel body, strided boxes for red/black and
 * for coarse points, one-dimensional launches over the box volume. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

typedef int HYPRE_Int;
typedef double HYPRE_Real;
typedef HYPRE_Int hypre_Index[3];
#define hypre_IndexD(i, d) ((i)[d])
#define hypre_min(a, b) ((a) < (b) ? (a) : (b))

typedef struct { hypre_Index imin, imax; } hypre_Box;
#define hypre_BoxIMinD(b, d) ((b)->imin[d])
#define hypre_BoxIMaxD(b, d) ((b)->imax[d])
#define hypre_BoxSizeD(b, d) ((b)->imax[d] - (b)->imin[d] + 1)
#define hypre_BoxVolume(b) (hypre_BoxSizeD(b, 0) * hypre_BoxSizeD(b, 1) * hypre_BoxSizeD(b, 2))

/* what a loop needs about one data box: loop size, strides, start offset */
typedef struct {
    HYPRE_Int lsize0, lsize1, lsize2;
    HYPRE_Int s0, s1, s2, start;
} hypre_Boxloop;

#define HYPRE_BLOCK 256
#define CUDA_CALL(c) do { cudaError_t e_ = (c); if (e_ != cudaSuccess) { printf("CUDA ERROR (%s:%d) %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

static hypre_Boxloop make_loop(const hypre_Box *data, const HYPRE_Int *start, const HYPRE_Int *size, const HYPRE_Int *stride)
{
    hypre_Boxloop l;
    HYPRE_Int n0 = hypre_BoxSizeD(data, 0), n1 = hypre_BoxSizeD(data, 1);
    l.lsize0 = size[0]; l.lsize1 = size[1]; l.lsize2 = size[2];
    l.s0 = stride[0]; l.s1 = stride[1] * n0; l.s2 = stride[2] * n0 * n1;
    l.start = (start[0] - data->imin[0]) + n0 * ((start[1] - data->imin[1]) + n1 * (start[2] - data->imin[2]));
    return l;
}

#define hypre_BoxLoopBegin(l)                                             \
    HYPRE_Int idx_ = blockIdx.x * blockDim.x + threadIdx.x;               \
    if (idx_ < (l).lsize0 * (l).lsize1 * (l).lsize2) {                    \
        HYPRE_Int i_ = idx_ % (l).lsize0; HYPRE_Int r_ = idx_ / (l).lsize0; \
        HYPRE_Int j_ = r_ % (l).lsize1;   HYPRE_Int k_ = r_ / (l).lsize1;
#define hypre_BoxLoopIndex(l) ((l).start + i_ * (l).s0 + j_ * (l).s1 + k_ * (l).s2)
#define hypre_BoxLoopEnd }

#define hypre_Launch(kernel, l, ...)                                                              \
    do {                                                                                          \
        HYPRE_Int tot_ = (l).lsize0 * (l).lsize1 * (l).lsize2;                                    \
        if (tot_ > 0) kernel<<<(tot_ + HYPRE_BLOCK - 1) / HYPRE_BLOCK, HYPRE_BLOCK>>>(__VA_ARGS__); \
        CUDA_CALL(cudaGetLastError());                                                            \
    } while (0)

__global__ void k_set(hypre_Boxloop lx, HYPRE_Real *x, HYPRE_Real v)
{
    hypre_BoxLoopBegin(lx)
        x[hypre_BoxLoopIndex(lx)] = v;
    hypre_BoxLoopEnd
}

/* r = b - A x, 7-point symmetric stencil stored as 4 arrays (diag, west, south, below) */
__global__ void k_resid(hypre_Boxloop lx, HYPRE_Int oy, HYPRE_Int oz, const HYPRE_Real *__restrict__ Ap, const HYPRE_Real *__restrict__ Aw,
                        const HYPRE_Real *__restrict__ As, const HYPRE_Real *__restrict__ Ab, const HYPRE_Real *__restrict__ x,
                        const HYPRE_Real *__restrict__ b, HYPRE_Real *__restrict__ r)
{
    hypre_BoxLoopBegin(lx)
        HYPRE_Int xi = hypre_BoxLoopIndex(lx);
        HYPRE_Real t = Ap[xi] * x[xi];
        t += Aw[xi] * x[xi - 1];
        t += Aw[xi + 1] * x[xi + 1];
        t += As[xi] * x[xi - oy];
        t += As[xi + oy] * x[xi + oy];
        t += Ab[xi] * x[xi - oz];
        t += Ab[xi + oz] * x[xi + oz];
        r[xi] = b[xi] - t;
    hypre_BoxLoopEnd
}

/* red/black Gauss-Seidel as hypre's redblack kernels do it: half the i-extent, offset by parity */
__global__ void k_rbgs(HYPRE_Int ni, HYPRE_Int nj, HYPRE_Int nk, HYPRE_Int start, HYPRE_Int oy, HYPRE_Int oz, HYPRE_Int redblack,
                       const HYPRE_Real *__restrict__ Ap, const HYPRE_Real *__restrict__ Aw, const HYPRE_Real *__restrict__ As,
                       const HYPRE_Real *__restrict__ Ab, const HYPRE_Real *__restrict__ b, HYPRE_Real *x)
{
    HYPRE_Int half = (ni + 1) / 2;
    HYPRE_Int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < half * nj * nk)
    {
        HYPRE_Int ii = idx % half, jj = idx / half % nj, kk = idx / (half * nj);
        HYPRE_Int i = 2 * ii + (redblack + jj + kk) % 2;
        if (i < ni)
        {
            HYPRE_Int xi = start + i + jj * oy + kk * oz;
            x[xi] = (b[xi] - Aw[xi] * x[xi - 1] - Aw[xi + 1] * x[xi + 1] - As[xi] * x[xi - oy] - As[xi + oy] * x[xi + oy]
                     - Ab[xi] * x[xi - oz] - Ab[xi + oz] * x[xi + oz]) / Ap[xi];
        }
    }
}

/* semirestriction along cdir with weights 1/2: fine loop has stride 2 in cdir */
__global__ void k_semi_restrict(hypre_Boxloop lf, hypre_Boxloop lc, HYPRE_Int off, const HYPRE_Real *__restrict__ r, HYPRE_Real *__restrict__ rc)
{
    hypre_BoxLoopBegin(lc)
        HYPRE_Int fi = hypre_BoxLoopIndex(lf);
        HYPRE_Int ci = hypre_BoxLoopIndex(lc);
        rc[ci] = r[fi] + 0.5 * (r[fi - off] + r[fi + off]);
    hypre_BoxLoopEnd
}

/* semi-interpolation, odd points: average of the two coarse neighbours; even points: copy */
__global__ void k_semi_interp(hypre_Boxloop lf, hypre_Boxloop lc, HYPRE_Int offc, HYPRE_Int odd, const HYPRE_Real *__restrict__ xc, HYPRE_Real *__restrict__ x)
{
    hypre_BoxLoopBegin(lf)
        HYPRE_Int fi = hypre_BoxLoopIndex(lf);
        HYPRE_Int ci = hypre_BoxLoopIndex(lc);
        x[fi] += odd ? 0.5 * (xc[ci] + xc[ci + offc]) : xc[ci];
    hypre_BoxLoopEnd
}

/* inner product, ReduceSum manner: block tree with a volatile-free last warp */
__global__ void k_innerprod(hypre_Boxloop lx, const HYPRE_Real *__restrict__ x, const HYPRE_Real *__restrict__ y, HYPRE_Real *out)
{
    __shared__ HYPRE_Real sh[HYPRE_BLOCK];
    HYPRE_Real s = 0.0;
    hypre_BoxLoopBegin(lx)
        HYPRE_Int xi = hypre_BoxLoopIndex(lx);
        s = x[xi] * y[xi];
    hypre_BoxLoopEnd
    sh[threadIdx.x] = s;
    __syncthreads();
    for (HYPRE_Int o = HYPRE_BLOCK / 2; o >= 32; o >>= 1)
    {
        if (threadIdx.x < o) sh[threadIdx.x] += sh[threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x < 32)
    {
        s = sh[threadIdx.x];
        for (HYPRE_Int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
        if (threadIdx.x == 0) atomicAdd(out, s);
    }
}

static HYPRE_Real *dev_copy(const HYPRE_Real *h, size_t n)
{
    HYPRE_Real *d;
    CUDA_CALL(cudaMalloc((void **)&d, n * sizeof(HYPRE_Real)));
    CUDA_CALL(cudaMemcpy(d, h, n * sizeof(HYPRE_Real), cudaMemcpyHostToDevice));
    return d;
}

static HYPRE_Int compare(const char *what, const HYPRE_Real *d, const HYPRE_Real *ref, size_t n)
{
    HYPRE_Real *h = (HYPRE_Real *)malloc(n * sizeof(HYPRE_Real)), worst = 0.0;
    size_t i;
    CUDA_CALL(cudaMemcpy(h, d, n * sizeof(HYPRE_Real), cudaMemcpyDeviceToHost));
    for (i = 0; i < n; i++) { HYPRE_Real e = fabs(h[i] - ref[i]); if (!(e <= worst)) worst = e; }
    printf("  %-10s max diff %.2e\n", what, worst);
    free(h);
    return !(worst < 1e-10);
}

int main(int argc, char **argv)
{
    const HYPRE_Int nx = argc > 1 ? atoi(argv[1]) : 45, ny = 37, nz = 33;   /* nz odd: coarse z points 0,2,..32 */
    HYPRE_Int i, j, k, c, fail = 0;
    hypre_Box data = {{-1, -1, -1}, {nx, ny, nz}};                          /* one ghost layer */
    const HYPRE_Int ncz = (nz + 1) / 2;
    hypre_Box cdata = {{-1, -1, -1}, {nx, ny, ncz}};
    const size_t vol = hypre_BoxVolume(&data), cvol = hypre_BoxVolume(&cdata);
    const HYPRE_Int oy = hypre_BoxSizeD(&data, 0), oz = oy * hypre_BoxSizeD(&data, 1);
    HYPRE_Real *A[4], *x = (HYPRE_Real *)calloc(vol, 8), *b = (HYPRE_Real *)calloc(vol, 8), *r = (HYPRE_Real *)calloc(vol, 8);
    HYPRE_Real *rc = (HYPRE_Real *)calloc(cvol, 8);
    for (c = 0; c < 4; c++) A[c] = (HYPRE_Real *)calloc(vol, 8);
#define AT(i, j, k) ((i) + 1 + oy * ((j) + 1) + oz * ((k) + 1))
    for (k = 0; k <= nz; k++) for (j = 0; j <= ny; j++) for (i = 0; i <= nx; i++) {
        A[1][AT(i, j, k)] = -1.0 - 0.01 * ((i + j) % 5); A[2][AT(i, j, k)] = -1.0 - 0.02 * ((j + k) % 3); A[3][AT(i, j, k)] = -0.1 - 0.005 * (i % 4);
    }
    for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) {
        HYPRE_Int q = AT(i, j, k);
        A[0][q] = 0.05 - (A[1][q] + A[1][q + 1] + A[2][q] + A[2][q + oy] + A[3][q] + A[3][q + oz]);
        b[q] = sin(0.3 * i) + 0.01 * ((i * 7 + j * 3 + k) % 11);
    }
    HYPRE_Real *dA[4], *dx = dev_copy(x, vol), *db = dev_copy(b, vol), *dr = dev_copy(r, vol), *drc = dev_copy(rc, cvol), *ddot, dot;
    for (c = 0; c < 4; c++) dA[c] = dev_copy(A[c], vol);
    CUDA_CALL(cudaMalloc((void **)&ddot, sizeof(HYPRE_Real)));

    hypre_Index zero = {0, 0, 0}, unit = {1, 1, 1}, size = {nx, ny, nz}, csize = {nx, ny, ncz}, st2 = {1, 1, 2}, osize = {nx, ny, nz / 2}, one_z = {0, 0, 1};
    hypre_Boxloop lx = make_loop(&data, zero, size, unit);
    hypre_Boxloop lf = make_loop(&data, zero, csize, st2), lc = make_loop(&cdata, zero, csize, unit);
    hypre_Boxloop lfo = make_loop(&data, one_z, osize, st2), lco = make_loop(&cdata, zero, osize, unit);

    hypre_Launch(k_set, lx, lx, dx, 0.25);
    HYPRE_Int nrb = (nx + 1) / 2 * ny * nz;
    for (c = 0; c < 4; c++)
        k_rbgs<<<(nrb + 127) / 128, 128>>>(nx, ny, nz, AT(0, 0, 0), oy, oz, c & 1, dA[0], dA[1], dA[2], dA[3], db, dx);
    hypre_Launch(k_resid, lx, lx, oy, oz, dA[0], dA[1], dA[2], dA[3], dx, db, dr);
    hypre_Launch(k_semi_restrict, lc, lf, lc, oz, dr, drc);
    hypre_Launch(k_semi_interp, lf, lf, lc, oz, 0, drc, dx);
    hypre_Launch(k_semi_interp, lfo, lfo, lco, oz, 1, drc, dx);
    CUDA_CALL(cudaMemset(ddot, 0, sizeof(HYPRE_Real)));
    hypre_Launch(k_innerprod, lx, lx, dr, dx, ddot);
    CUDA_CALL(cudaDeviceSynchronize());
    CUDA_CALL(cudaMemcpy(&dot, ddot, sizeof(HYPRE_Real), cudaMemcpyDeviceToHost));

    /* serial reference */
    for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) x[AT(i, j, k)] = 0.25;
#define OFFD(q) (A[1][q] * x[(q) - 1] + A[1][(q) + 1] * x[(q) + 1] + A[2][q] * x[(q) - oy] + A[2][(q) + oy] * x[(q) + oy] + A[3][q] * x[(q) - oz] + A[3][(q) + oz] * x[(q) + oz])
    for (c = 0; c < 4; c++)
        for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++)
            if ((i + j + k) % 2 == (c & 1)) { HYPRE_Int q = AT(i, j, k); x[q] = (b[q] - OFFD(q)) / A[0][q]; }
    for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) { HYPRE_Int q = AT(i, j, k); r[q] = b[q] - A[0][q] * x[q] - OFFD(q); }
    for (k = 0; k < ncz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) rc[AT(i, j, k)] = r[AT(i, j, 2 * k)] + 0.5 * (r[AT(i, j, 2 * k - 1)] + r[AT(i, j, 2 * k + 1)]);
    for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++)
        x[AT(i, j, k)] += k % 2 ? 0.5 * (rc[AT(i, j, k / 2)] + rc[AT(i, j, k / 2 + 1)]) : rc[AT(i, j, k / 2)];
    HYPRE_Real ref = 0.0, mag = 0.0;
    for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) { ref += r[AT(i, j, k)] * x[AT(i, j, k)]; mag += fabs(r[AT(i, j, k)] * x[AT(i, j, k)]); }
    fail |= compare("residual", dr, r, vol);
    fail |= compare("restricted", drc, rc, cvol);
    fail |= compare("corrected", dx, x, vol);
    printf("  <r,x> %.12e (%.12e)\n", dot, ref);
    if (!(fabs(dot - ref) <= 1e-11 * mag + 1e-11)) fail = 1;
    printf("%s\n", fail ? "FAIL" : "PASS");
    return fail;
}
