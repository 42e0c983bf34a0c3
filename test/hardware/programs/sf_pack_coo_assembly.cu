/*
   SF pack/unpack with index plans and COO matrix assembly, PETSc manner: macros stamp out the kernels
   for (type, block size, operation); a "plan" recognises contiguous 3-D sub-boxes of a grid and avoids
   the index array; MatSetValuesCOO on the device uses jmap/perm from a host preprocessing step.
*/
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int    PetscInt;
typedef double PetscScalar;
typedef int    PetscErrorCode;

#define PetscCallCUDA(...) do { cudaError_t _p_e = __VA_ARGS__; if (_p_e != cudaSuccess) { \
    fprintf(stderr, "[0]PETSC ERROR: line %d: %s\n", __LINE__, cudaGetErrorString(_p_e)); exit(76); } } while (0)
#define PetscMin(a, b) ((a) < (b) ? (a) : (b))

/* up to n sub-boxes inside (X, Y, *) boxes: first index, extents, strides */
typedef struct {
  PetscInt n;
  PetscInt offset[8], start[8], dx[8], dy[8], dz[8], X[8], Y[8];
} SFPackPlan;

__device__ __forceinline__ PetscInt MapTidToIndex(const SFPackPlan &opt, PetscInt tid)
{
  PetscInt m = 0, r = 0;
  for (r = 0; r < opt.n; r++)
    if (tid < opt.offset[r + 1]) break;
  tid -= opt.offset[r];
  m = tid % (opt.dx[r] * opt.dy[r]);
  return opt.start[r] + (tid / (opt.dx[r] * opt.dy[r])) * opt.X[r] * opt.Y[r] + (m / opt.dx[r]) * opt.X[r] + m % opt.dx[r];
}

/* BS: compile-time block size; EQ: the real block size is exactly BS (else a multiple of it at run time) */
template <class Type, PetscInt BS, PetscInt EQ>
__global__ static void d_Pack(PetscInt bs, PetscInt count, PetscInt start, int use_opt, SFPackPlan opt, const PetscInt *idx, const Type *data, Type *buf)
{
  PetscInt       tid = blockIdx.x * blockDim.x + threadIdx.x;
  const PetscInt grid_size = gridDim.x * blockDim.x;
  const PetscInt M = (EQ) ? 1 : bs / BS, MBS = M * BS;
  for (; tid < count; tid += grid_size) {
    const PetscInt t = (use_opt ? MapTidToIndex(opt, tid) : (idx ? idx[tid] : start + tid)) * MBS;
    const PetscInt s = tid * MBS;
    for (PetscInt i = 0; i < M; i++)
      for (PetscInt k = 0; k < BS; k++) buf[s + i * BS + k] = data[t + i * BS + k];
  }
}

template <class Type> struct Insert { __device__ void operator()(Type &x, Type y) const { x = y; } };
template <class Type> struct Add    { __device__ void operator()(Type &x, Type y) const { x += y; } };
template <class Type> struct Max    { __device__ void operator()(Type &x, Type y) const { x = x < y ? y : x; } };
struct AtomicAddD { __device__ void operator()(PetscScalar &x, PetscScalar y) const { atomicAdd(&x, y); } };

template <class Type, class Op, PetscInt BS, PetscInt EQ>
__global__ static void d_UnpackAndOp(PetscInt bs, PetscInt count, PetscInt start, int use_opt, SFPackPlan opt, const PetscInt *idx, Type *data, const Type *buf)
{
  PetscInt       tid = blockIdx.x * blockDim.x + threadIdx.x;
  const PetscInt grid_size = gridDim.x * blockDim.x;
  const PetscInt M = (EQ) ? 1 : bs / BS, MBS = M * BS;
  Op op;
  for (; tid < count; tid += grid_size) {
    const PetscInt t = (use_opt ? MapTidToIndex(opt, tid) : (idx ? idx[tid] : start + tid)) * MBS;
    const PetscInt s = tid * MBS;
    for (PetscInt i = 0; i < M; i++)
      for (PetscInt k = 0; k < BS; k++) op(data[t + i * BS + k], buf[s + i * BS + k]);
  }
}

/* MatSetValuesCOO, sequential part: a thread per unique nonzero */
__global__ static void MatAddCOOValues(const PetscScalar kv[], PetscInt nnz, const PetscInt jmap[], const PetscInt perm[], PetscScalar a[])
{
  PetscInt       i = blockIdx.x * blockDim.x + threadIdx.x;
  const PetscInt grid_size = gridDim.x * blockDim.x;
  for (; i < nnz; i += grid_size) {
    PetscScalar sum = 0.0;
    for (PetscInt k = jmap[i]; k < jmap[i + 1]; k++) sum += kv[perm[k]];
    a[i] += sum;
  }
}

/* element matrices of Q1 quads, produced element by element: COO values are 16 per element (AoS) */
__global__ static void ElementStiffness(PetscInt nex, PetscInt ney, const PetscScalar *__restrict__ kappa, PetscScalar *__restrict__ coo)
{
  __shared__ PetscScalar ref[16];
  if (threadIdx.x < 16) {
    const PetscInt r = threadIdx.x / 4, c = threadIdx.x % 4;
    ref[threadIdx.x] = r == c ? 4.0 / 6 : ((r + c) % 2 ? -1.0 / 6 : -2.0 / 6);
  }
  __syncthreads();
  const PetscInt e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < nex * ney)
    for (PetscInt q = 0; q < 16; q++) coo[e * 16 + q] = kappa[e] * ref[q];
}

/* the same with 16 lanes per element: the stores become contiguous */
__global__ static void ElementStiffnessLanes(PetscInt nelem, const PetscScalar *__restrict__ kappa, PetscScalar *__restrict__ coo)
{
  const PetscInt t = blockIdx.x * blockDim.x + threadIdx.x, e = t >> 4, q = t & 15, r = q >> 2, c = q & 3;
  if (e < nelem) coo[t] = kappa[e] * (r == c ? 4.0 / 6 : ((r + c) % 2 ? -1.0 / 6 : -2.0 / 6));
}

__global__ static void MatMultSeqAIJ(PetscInt m, const PetscInt *__restrict__ ai, const PetscInt *__restrict__ aj, const PetscScalar *__restrict__ aa, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y)
{
  const PetscInt row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, l = threadIdx.x % 8;   /* 8 lanes per row */
  PetscScalar    s = 0.0;
  if (row < m) for (PetscInt k = ai[row] + l; k < ai[row + 1]; k += 8) s += aa[k] * x[aj[k]];
  s += __shfl_down_sync(0xffffffff, s, 4, 8);
  s += __shfl_down_sync(0xffffffff, s, 2, 8);
  s += __shfl_down_sync(0xffffffff, s, 1, 8);
  if (row < m && l == 0) y[row] = s;
}

/* ------------------------------------------------------------------------------------------- host */
#define DEV(T, name, host, n) T *name; PetscCallCUDA(cudaMalloc((void **)&name, (n) * sizeof(T))); PetscCallCUDA(cudaMemcpy(name, host, (n) * sizeof(T), cudaMemcpyHostToDevice))

static PetscInt compare(const char *what, const PetscScalar *dev, const PetscScalar *ref, size_t n)
{
  PetscScalar *h = (PetscScalar *)malloc(n * sizeof(*h));
  PetscInt     bad = 0;
  PetscCallCUDA(cudaMemcpy(h, dev, n * sizeof(*h), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < n; i++) if (!(fabs(h[i] - ref[i]) <= 1e-12 * (1 + fabs(ref[i])))) bad++;
  printf("  %-22s %s\n", what, bad ? "DIFFERS" : "matches");
  free(h);
  return bad != 0;
}

typedef struct { PetscInt i, j, k; } Triple;
static int cmp_triple(const void *a, const void *b)
{
  const Triple *x = (const Triple *)a, *y = (const Triple *)b;
  if (x->i != y->i) return x->i < y->i ? -1 : 1;
  if (x->j != y->j) return x->j < y->j ? -1 : 1;
  return x->k < y->k ? -1 : x->k > y->k;
}

int main(int argc, char **argv)
{
  PetscInt err = 0, i, j, k, q;
  /* ---- SF: pack the six faces' two-deep boxes of an X*Y*Z grid with bs dofs ---- */
  const PetscInt X = argc > 1 ? atoi(argv[1]) : 42, Y = 30, Z = 26, npts = X * Y * Z;
  SFPackPlan     opt;
  const PetscInt box[6][6] = {{0, 0, 0, 2, Y, Z}, {X - 2, 0, 0, 2, Y, Z}, {0, 0, 0, X, 2, Z}, {0, Y - 2, 0, X, 2, Z}, {0, 0, 0, X, Y, 2}, {0, 0, Z - 2, X, Y, 2}};
  memset(&opt, 0, sizeof(opt));
  opt.n = 6;
  for (i = 0; i < 6; i++) {
    opt.start[i] = (box[i][2] * Y + box[i][1]) * X + box[i][0];
    opt.dx[i] = box[i][3]; opt.dy[i] = box[i][4]; opt.dz[i] = box[i][5]; opt.X[i] = X; opt.Y[i] = Y;
    opt.offset[i + 1] = opt.offset[i] + opt.dx[i] * opt.dy[i] * opt.dz[i];
  }
  const PetscInt count = opt.offset[6];
  PetscInt      *idx = (PetscInt *)malloc(count * sizeof(PetscInt));
  for (q = 0, i = 0; i < 6; i++)
    for (k = 0; k < opt.dz[i]; k++) for (j = 0; j < opt.dy[i]; j++) for (PetscInt l = 0; l < opt.dx[i]; l++) idx[q++] = opt.start[i] + (k * Y + j) * X + l;
  const PetscInt BSMAX = 6;
  PetscScalar   *data = (PetscScalar *)malloc(npts * BSMAX * sizeof(PetscScalar)), *buf = (PetscScalar *)malloc(count * BSMAX * sizeof(PetscScalar));
  for (i = 0; i < npts * BSMAX; i++) data[i] = (PetscScalar)((i * 7919LL) % 1009) - 500;
  DEV(PetscInt, d_idx, idx, count);
  DEV(PetscScalar, d_data, data, npts * BSMAX);
  PetscScalar *d_buf;
  PetscCallCUDA(cudaMalloc((void **)&d_buf, count * BSMAX * sizeof(PetscScalar)));
  const int blk = 256, grd = PetscMin((count + blk - 1) / blk, 100);
  for (int v = 0; v < 4; v++) {
    const PetscInt bs = v == 0 ? 1 : v == 1 ? 4 : v == 2 ? 6 : 1;
    PetscCallCUDA(cudaMemset(d_buf, 0, count * BSMAX * sizeof(PetscScalar)));
    if (v == 0) d_Pack<PetscScalar, 1, 1><<<grd, blk>>>(bs, count, 0, 0, opt, d_idx, d_data, d_buf);
    if (v == 1) d_Pack<PetscScalar, 4, 1><<<grd, blk>>>(bs, count, 0, 0, opt, d_idx, d_data, d_buf);
    if (v == 2) d_Pack<PetscScalar, 2, 0><<<grd, blk>>>(bs, count, 0, 1, opt, NULL, d_data, d_buf);
    if (v == 3) d_Pack<PetscScalar, 1, 1><<<grd, blk>>>(bs, count, 37, 0, opt, NULL, d_data, d_buf);
    for (i = 0; i < count; i++) for (k = 0; k < bs; k++) buf[i * bs + k] = data[(v == 3 ? 37 + i : idx[i]) * bs + k];
    err |= compare(v == 0 ? "pack idx bs=1" : v == 1 ? "pack idx bs=4" : v == 2 ? "pack plan bs=6" : "pack contiguous", d_buf, buf, (size_t)count * bs);
  }
  /* unpack: duplicates exist (box edges), so Add must be atomic with idx; Insert uses the first box only */
  PetscScalar *work = (PetscScalar *)malloc(npts * sizeof(PetscScalar));
  memcpy(work, data, npts * sizeof(PetscScalar));
  for (i = 0; i < count; i++) work[idx[i]] += buf[i];
  d_UnpackAndOp<PetscScalar, AtomicAddD, 1, 1><<<grd, blk>>>(1, count, 0, 0, opt, d_idx, d_data, d_buf);
  err |= compare("unpack atomic add", d_data, work, npts);
  const PetscInt c0 = opt.offset[1];
  for (i = 0; i < c0; i++) work[idx[i]] = buf[i];
  d_UnpackAndOp<PetscScalar, Insert<PetscScalar>, 1, 1><<<(c0 + blk - 1) / blk, blk>>>(1, c0, 0, 1, opt, NULL, d_data, d_buf);
  err |= compare("unpack plan insert", d_data, work, npts);
  for (i = 0; i < count; i++) work[11 + i] = work[11 + i] < buf[i] ? buf[i] : work[11 + i];
  d_UnpackAndOp<PetscScalar, Max<PetscScalar>, 1, 1><<<grd, blk>>>(1, count, 11, 0, opt, NULL, d_data, d_buf);
  err |= compare("unpack max", d_data, work, npts);

  /* ---- COO assembly of a Q1 mesh ---- */
  const PetscInt nex = 61, ney = 47, ne = nex * ney, nv = (nex + 1) * (ney + 1), ncoo = ne * 16;
  Triple        *tr = (Triple *)malloc(ncoo * sizeof(Triple));
  PetscScalar   *kap = (PetscScalar *)malloc(ne * sizeof(PetscScalar)), *ref = (PetscScalar *)calloc(ncoo, sizeof(PetscScalar));
  for (i = 0; i < ne; i++) {
    const PetscInt ex = i % nex, ey = i / nex, v[4] = {ey * (nex + 1) + ex, ey * (nex + 1) + ex + 1, (ey + 1) * (nex + 1) + ex + 1, (ey + 1) * (nex + 1) + ex};
    kap[i] = 1.0 + (i * 37 % 11) * 0.25;
    for (q = 0; q < 16; q++) { tr[i * 16 + q].i = v[q / 4]; tr[i * 16 + q].j = v[q % 4]; tr[i * 16 + q].k = i * 16 + q; }
  }
  qsort(tr, ncoo, sizeof(Triple), cmp_triple);
  PetscInt *jmap = (PetscInt *)malloc((ncoo + 1) * sizeof(PetscInt)), *perm = (PetscInt *)malloc(ncoo * sizeof(PetscInt)), *ai = (PetscInt *)calloc(nv + 1, sizeof(PetscInt)), *aj = (PetscInt *)malloc(ncoo * sizeof(PetscInt)), nnz = 0;
  for (i = 0; i < ncoo; i++) {
    if (!i || tr[i].i != tr[i - 1].i || tr[i].j != tr[i - 1].j) { jmap[nnz] = i; aj[nnz] = tr[i].j; ai[tr[i].i + 1]++; nnz++; }
    const PetscInt r = tr[i].k % 16 / 4, c = tr[i].k % 4;
    perm[i] = tr[i].k;
    ref[nnz - 1] += kap[tr[i].k / 16] * (r == c ? 4.0 / 6 : ((r + c) % 2 ? -1.0 / 6 : -2.0 / 6));
  }
  jmap[nnz] = ncoo;
  for (i = 0; i < nv; i++) ai[i + 1] += ai[i];
  PetscScalar *x = (PetscScalar *)malloc(nv * sizeof(PetscScalar)), *y = (PetscScalar *)calloc(nv, sizeof(PetscScalar)), *zero = (PetscScalar *)calloc(ncoo, sizeof(PetscScalar));
  for (i = 0; i < nv; i++) x[i] = sin(0.1 * i);
  for (i = 0; i < nv; i++) for (k = ai[i]; k < ai[i + 1]; k++) y[i] += ref[k] * x[aj[k]];
  DEV(PetscInt, d_jmap, jmap, nnz + 1); DEV(PetscInt, d_perm, perm, ncoo); DEV(PetscInt, d_ai, ai, nv + 1); DEV(PetscInt, d_aj, aj, nnz);
  DEV(PetscScalar, d_kap, kap, ne); DEV(PetscScalar, d_coo, zero, ncoo); DEV(PetscScalar, d_a, zero, nnz); DEV(PetscScalar, d_x, x, nv); DEV(PetscScalar, d_y, zero, nv);
  for (int v = 0; v < 2; v++) {
    PetscCallCUDA(cudaMemset(d_a, 0, nnz * sizeof(PetscScalar)));
    if (v == 0) ElementStiffness<<<(ne + 127) / 128, 128>>>(nex, ney, d_kap, d_coo);
    else ElementStiffnessLanes<<<(ncoo + 127) / 128, 128>>>(ne, d_kap, d_coo);
    MatAddCOOValues<<<(nnz + 255) / 256, 256>>>(d_coo, nnz, d_jmap, d_perm, d_a);
    err |= compare(v ? "COO (lanes)" : "COO (thread/element)", d_a, ref, nnz);
  }
  MatMultSeqAIJ<<<(nv * 8 + 255) / 256, 256>>>(nv, d_ai, d_aj, d_a, d_x, d_y);
  err |= compare("MatMult", d_y, y, nv);
  printf("%s\n", err ? "FAIL" : "PASS");
  return err;
}
