/******************************************************************************
 *
 * Setup and one two-grid cycle of a classical (Ruge-Stueben) algebraic multigrid:
 *   - strength of connection on the device, thread per row
 *   - PMIS-like C/F splitting on the host (needs a priority order, small)
 *   - direct interpolation weights on the device, written in a row-compressed P
 *   - Galerkin triple product on the host
 *   - relaxation, residual (sub-warp per row), restriction by scatter, prolongation
 *
 *****************************************************************************/
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

typedef double Real;
typedef int Int;

#define AMG_SAFE_CALL(call)                                                                     \
   do {                                                                                         \
      cudaError_t ierr_ = (call);                                                               \
      if (ierr_ != cudaSuccess) {                                                               \
         fprintf(stderr, "CUDA error %d (%s) at line %d\n", (int) ierr_, cudaGetErrorString(ierr_), __LINE__); \
         exit(1);                                                                               \
      }                                                                                         \
   } while (0)

#define AMG_BLOCK 128
#define NBLOCKS(n) (((n) + AMG_BLOCK - 1) / AMG_BLOCK)

/* host matrix */
typedef struct
{
   Int               nrows, ncols;
   std::vector<Int>  i, j;
   std::vector<Real> a;
} CsrHost;

/* device matrix, passed to kernels by value */
typedef struct
{
   Int         nrows, ncols, nnz;
   const Int  *i, *j;
   const Real *a;
} CsrDev;

template <typename T>
static T *DevCopy(const std::vector<T> &v)
{
   T *p = NULL;
   AMG_SAFE_CALL(cudaMalloc((void **) &p, sizeof(T) * std::max<size_t>(1, v.size())));
   AMG_SAFE_CALL(cudaMemcpy(p, v.data(), sizeof(T) * v.size(), cudaMemcpyHostToDevice));
   return p;
}

static CsrDev DevMatrix(const CsrHost &A)
{
   CsrDev d = {A.nrows, A.ncols, A.i[A.nrows], DevCopy(A.i), DevCopy(A.j), DevCopy(A.a)};
   return d;
}

/*--------------------------------------------------------------------------
 * strong[k] = 1 when entry k is a strong off-diagonal of its row
 *--------------------------------------------------------------------------*/
__global__ void StrengthKernel(CsrDev A, Real theta, unsigned char *strong, Int *nstrong)
{
   const Int row = blockIdx.x * blockDim.x + threadIdx.x;
   if (row >= A.nrows) { return; }
   Real most = 0.0;
   for (Int k = A.i[row]; k < A.i[row + 1]; k++)
   {
      if (A.j[k] != row) { most = fmax(most, -A.a[k]); }
   }
   Int count = 0;
   for (Int k = A.i[row]; k < A.i[row + 1]; k++)
   {
      const unsigned char s = A.j[k] != row && -A.a[k] >= theta * most && most > 0.0;
      strong[k] = s;
      count += s;
   }
   nstrong[row] = count;
}

/*--------------------------------------------------------------------------
 * Direct interpolation. C rows are injected; for F rows
 *    w_ij = - (a_ij / a_ii) * sum_{k != i} a_ik / sum_{k strong C} a_ik
 *--------------------------------------------------------------------------*/
__global__ void DirectInterpKernel(CsrDev A, const unsigned char *strong, const Int *cf, const Int *p_i, Int *p_j, Real *p_a)
{
   const Int row = blockIdx.x * blockDim.x + threadIdx.x;
   if (row >= A.nrows) { return; }
   Int at = p_i[row];
   if (cf[row] >= 0)
   {
      p_j[at] = cf[row];
      p_a[at] = 1.0;
      return;
   }
   Real diag = 0.0, all = 0.0, interp = 0.0;
   for (Int k = A.i[row]; k < A.i[row + 1]; k++)
   {
      const Int  col = A.j[k];
      const Real v = A.a[k];
      if (col == row) { diag = v; }
      else
      {
         all += v;
         if (strong[k] && cf[col] >= 0) { interp += v; }
      }
   }
   if (interp == 0.0) { return; }
   const Real scale = -all / (interp * diag);
   for (Int k = A.i[row]; k < A.i[row + 1]; k++)
   {
      const Int col = A.j[k];
      if (strong[k] && cf[col] >= 0)
      {
         p_j[at] = cf[col];
         p_a[at] = A.a[k] * scale;
         at++;
      }
   }
}

/*--------------------------------------------------------------------------
 * y = f - A u (mode 0), or one weighted Jacobi update in y = u + w D^{-1}(f - A u) (mode 1).
 * GROUP lanes share a row.
 *--------------------------------------------------------------------------*/
template <Int GROUP>
__global__ void ResidualOrRelaxKernel(CsrDev A, const Real *f, const Real *u, Real *y, Real weight, Int mode)
{
   const Int lane = threadIdx.x & (GROUP - 1);
   const Int row = (blockIdx.x * blockDim.x + threadIdx.x) / GROUP;
   Real      sum = 0.0, diag = 0.0;
   if (row < A.nrows)
   {
      for (Int k = A.i[row] + lane; k < A.i[row + 1]; k += GROUP)
      {
         const Int col = __ldg(A.j + k);
         sum += __ldg(A.a + k) * __ldg(u + col);
         if (col == row) { diag = A.a[k]; }
      }
   }
#pragma unroll
   for (Int d = GROUP / 2; d > 0; d >>= 1)
   {
      sum += __shfl_down_sync(0xffffffff, sum, d, GROUP);
      diag += __shfl_down_sync(0xffffffff, diag, d, GROUP);
   }
   if (lane == 0 && row < A.nrows)
   {
      const Real r = f[row] - sum;
      y[row] = mode ? u[row] + weight * r / diag : r;
   }
}

/* rc += P^T r, column scatter */
__global__ void RestrictKernel(CsrDev P, const Real *r, Real *rc)
{
   const Int row = blockIdx.x * blockDim.x + threadIdx.x;
   if (row >= P.nrows) { return; }
   const Real v = r[row];
   for (Int k = P.i[row]; k < P.i[row + 1]; k++) { atomicAdd(&rc[P.j[k]], P.a[k] * v); }
}

__global__ void ProlongKernel(CsrDev P, const Real *ec, Real *u)
{
   const Int row = blockIdx.x * blockDim.x + threadIdx.x;
   if (row >= P.nrows) { return; }
   Real v = 0.0;
   for (Int k = P.i[row]; k < P.i[row + 1]; k++) { v += P.a[k] * ec[P.j[k]]; }
   u[row] += v;
}

/* 5-point diffusion with jumping coefficients, rows renumbered at random */
static CsrHost BuildProblem(Int n, unsigned seed)
{
   std::mt19937 rng(seed);
   std::vector<Int> id(n * n);
   for (Int k = 0; k < n * n; k++) { id[k] = k; }
   for (Int k = 0; k + 64 < n * n; k += 64) { std::shuffle(id.begin() + k, id.begin() + k + 64, rng); }
   std::vector<std::vector<std::pair<Int, Real>>> rows(n * n);
   std::vector<Real> diag(n * n, 0.01);
   auto edge = [&](Int a, Int b, Real c) {
      rows[id[a]].push_back({id[b], -c});
      rows[id[b]].push_back({id[a], -c});
      diag[id[a]] += c;
      diag[id[b]] += c;
   };
   for (Int y = 0; y < n; y++)
   {
      for (Int x = 0; x < n; x++)
      {
         const Real c = (x / 16 + y / 16) % 3 == 0 ? 20.0 : 1.0;
         if (x + 1 < n) { edge(y * n + x, y * n + x + 1, c * (1.0 + 0.1 * (rng() % 8))); }
         if (y + 1 < n) { edge(y * n + x, y * n + x + n, c * 0.5); }
         if (x + 1 < n && y + 1 < n && rng() % 5 == 0) { edge(y * n + x, y * n + x + n + 1, 0.2); }
      }
   }
   CsrHost A;
   A.nrows = A.ncols = n * n;
   A.i.push_back(0);
   for (Int r = 0; r < n * n; r++)
   {
      rows[r].push_back({r, diag[r]});
      std::sort(rows[r].begin(), rows[r].end());
      for (auto &e : rows[r]) { A.j.push_back(e.first); A.a.push_back(e.second); }
      A.i.push_back((Int) A.j.size());
   }
   return A;
}

static CsrHost Galerkin(const CsrHost &A, const CsrHost &P)
{
   std::vector<std::unordered_map<Int, Real>> rows(P.ncols);
   for (Int r = 0; r < A.nrows; r++)
      for (Int k = A.i[r]; k < A.i[r + 1]; k++)
         for (Int p = P.i[r]; p < P.i[r + 1]; p++)
            for (Int q = P.i[A.j[k]]; q < P.i[A.j[k] + 1]; q++) { rows[P.j[p]][P.j[q]] += P.a[p] * A.a[k] * P.a[q]; }
   CsrHost C;
   C.nrows = C.ncols = P.ncols;
   C.i.push_back(0);
   for (auto &row : rows)
   {
      std::vector<std::pair<Int, Real>> s(row.begin(), row.end());
      std::sort(s.begin(), s.end());
      for (auto &e : s) { C.j.push_back(e.first); C.a.push_back(e.second); }
      C.i.push_back((Int) C.j.size());
   }
   return C;
}

static std::vector<Real> HostApply(const CsrHost &A, const std::vector<Real> &f, const std::vector<Real> &u, Real w, bool relax)
{
   std::vector<Real> y(A.nrows);
   for (Int r = 0; r < A.nrows; r++)
   {
      Real s = f[r], d = 1.0;
      for (Int k = A.i[r]; k < A.i[r + 1]; k++)
      {
         s -= A.a[k] * u[A.j[k]];
         if (A.j[k] == r) { d = A.a[k]; }
      }
      y[r] = relax ? u[r] + w * s / d : s;
   }
   return y;
}

int main(int argc, char *argv[])
{
   Int n = 96, coarse_sweeps = 4;
   Real theta = 0.25, w = 0.7;
   for (int a = 1; a + 1 < argc; a += 2)
   {
      if (strcmp(argv[a], "-n") == 0) { n = atoi(argv[a + 1]); }
      else if (strcmp(argv[a], "-th") == 0) { theta = atof(argv[a + 1]); }
   }
   CsrHost A = BuildProblem(n, 8);
   CsrDev  dA = DevMatrix(A);
   const Int N = A.nrows;

   unsigned char *d_strong;
   Int *d_nstrong;
   AMG_SAFE_CALL(cudaMalloc((void **) &d_strong, dA.nnz));
   AMG_SAFE_CALL(cudaMalloc((void **) &d_nstrong, sizeof(Int) * N));
   StrengthKernel<<<NBLOCKS(N), AMG_BLOCK>>>(dA, theta, d_strong, d_nstrong);
   AMG_SAFE_CALL(cudaGetLastError());
   std::vector<unsigned char> strong(dA.nnz);
   std::vector<Int> nstrong(N);
   AMG_SAFE_CALL(cudaMemcpy(strong.data(), d_strong, dA.nnz, cudaMemcpyDeviceToHost));
   AMG_SAFE_CALL(cudaMemcpy(nstrong.data(), d_nstrong, sizeof(Int) * N, cudaMemcpyDeviceToHost));

   /* greedy splitting, most connected rows first */
   std::vector<Int> cf(N, -2);
   std::priority_queue<std::pair<Int, Int>> todo;
   for (Int r = 0; r < N; r++) { todo.push({nstrong[r], -r}); }
   Int nc = 0;
   for (; !todo.empty(); todo.pop())
   {
      const Int r = -todo.top().second;
      if (cf[r] != -2) { continue; }
      cf[r] = nc++;
      for (Int k = A.i[r]; k < A.i[r + 1]; k++)
         if (strong[k] && cf[A.j[k]] == -2) { cf[A.j[k]] = -1; }
   }
   CsrHost P;
   P.nrows = N;
   P.ncols = nc;
   P.i.assign(1, 0);
   Int bad = 0;
   for (Int r = 0; r < N; r++)
   {
      Int cnt = cf[r] >= 0 ? 1 : 0, s_ref = 0;
      Real most = 0.0;
      for (Int k = A.i[r]; k < A.i[r + 1]; k++) { if (A.j[k] != r) { most = std::max(most, -A.a[k]); } }
      for (Int k = A.i[r]; k < A.i[r + 1]; k++)
      {
         s_ref += A.j[k] != r && -A.a[k] >= theta * most;
         if (cf[r] < 0 && strong[k] && cf[A.j[k]] >= 0) { cnt++; }
      }
      bad += s_ref != nstrong[r];
      P.i.push_back(P.i.back() + cnt);
   }
   Int *d_cf = DevCopy(cf), *d_pi = DevCopy(P.i), *d_pj;
   Real *d_pa;
   AMG_SAFE_CALL(cudaMalloc((void **) &d_pj, sizeof(Int) * P.i[N]));
   AMG_SAFE_CALL(cudaMalloc((void **) &d_pa, sizeof(Real) * P.i[N]));
   DirectInterpKernel<<<NBLOCKS(N), AMG_BLOCK>>>(dA, d_strong, d_cf, d_pi, d_pj, d_pa);
   AMG_SAFE_CALL(cudaGetLastError());
   P.j.resize(P.i[N]);
   P.a.resize(P.i[N]);
   AMG_SAFE_CALL(cudaMemcpy(P.j.data(), d_pj, sizeof(Int) * P.i[N], cudaMemcpyDeviceToHost));
   AMG_SAFE_CALL(cudaMemcpy(P.a.data(), d_pa, sizeof(Real) * P.i[N], cudaMemcpyDeviceToHost));
   for (Int r = 0; r < N; r++) /* rows of P sum to -offdiag/diag for F, 1 for C */
   {
      Real sum = 0.0, off = 0.0, d = 1.0;
      for (Int k = P.i[r]; k < P.i[r + 1]; k++) { sum += P.a[k]; bad += P.j[k] < 0 || P.j[k] >= nc; }
      for (Int k = A.i[r]; k < A.i[r + 1]; k++) { if (A.j[k] == r) { d = A.a[k]; } else { off += A.a[k]; } }
      bad += fabs(sum - (cf[r] >= 0 ? 1.0 : P.i[r + 1] > P.i[r] ? -off / d : 0.0)) > 1e-12;
   }

   CsrHost C = Galerkin(A, P);
   CsrDev dC = DevMatrix(C), dP = {N, nc, P.i[N], d_pi, d_pj, d_pa};
   std::vector<Real> f(N), u(N, 0.0);
   std::mt19937 rng(5);
   for (auto &x : f) { x = (Real) (rng() % 2001) / 1000.0 - 1.0; }
   Real *d_f = DevCopy(f), *d_u = DevCopy(u), *d_t = DevCopy(u);
   std::vector<Real> zero(nc, 0.0);
   Real *d_rc = DevCopy(zero), *d_e0 = DevCopy(zero), *d_e1 = DevCopy(zero);

   ResidualOrRelaxKernel<4><<<NBLOCKS(N * 4), AMG_BLOCK>>>(dA, d_f, d_u, d_t, w, 1);
   ResidualOrRelaxKernel<4><<<NBLOCKS(N * 4), AMG_BLOCK>>>(dA, d_f, d_t, d_u, w, 1);
   ResidualOrRelaxKernel<4><<<NBLOCKS(N * 4), AMG_BLOCK>>>(dA, d_f, d_u, d_t, w, 0);
   RestrictKernel<<<NBLOCKS(N), AMG_BLOCK>>>(dP, d_t, d_rc);
   for (Int s = 0; s < coarse_sweeps; s++)
   {
      ResidualOrRelaxKernel<8><<<NBLOCKS(nc * 8), AMG_BLOCK>>>(dC, d_rc, d_e0, d_e1, w, 1);
      std::swap(d_e0, d_e1);
   }
   ProlongKernel<<<NBLOCKS(N), AMG_BLOCK>>>(dP, d_e0, d_u);
   ResidualOrRelaxKernel<4><<<NBLOCKS(N * 4), AMG_BLOCK>>>(dA, d_f, d_u, d_t, w, 1);
   AMG_SAFE_CALL(cudaGetLastError());
   std::vector<Real> got(N);
   AMG_SAFE_CALL(cudaMemcpy(got.data(), d_t, sizeof(Real) * N, cudaMemcpyDeviceToHost));

   u = HostApply(A, f, u, w, true);
   u = HostApply(A, f, u, w, true);
   std::vector<Real> r = HostApply(A, f, u, w, false), rc(nc, 0.0), ec(nc, 0.0);
   for (Int i = 0; i < N; i++)
      for (Int k = P.i[i]; k < P.i[i + 1]; k++) { rc[P.j[k]] += P.a[k] * r[i]; }
   for (Int s = 0; s < coarse_sweeps; s++) { ec = HostApply(C, rc, ec, w, true); }
   for (Int i = 0; i < N; i++)
      for (Int k = P.i[i]; k < P.i[i + 1]; k++) { u[i] += P.a[k] * ec[P.j[k]]; }
   u = HostApply(A, f, u, w, true);
   Real err = 0.0, mx = 0.0;
   for (Int i = 0; i < N; i++) { err = std::max(err, fabs(u[i] - got[i])); mx = std::max(mx, fabs(u[i])); }
   const int ok = bad == 0 && err <= 1e-10 * std::max(1.0, mx);
   printf("rows %d, coarse %d, nnz(A) %d, nnz(P) %d, nnz(Ac) %d, error %.2e, bad %d\n%s\n", N, nc, A.i[N], P.i[N],
          C.i[nc], err, bad, ok ? "PASS" : "FAIL");
   return ok ? 0 : 1;
}
