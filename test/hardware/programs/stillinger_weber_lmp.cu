/* ----------------------------------------------------------------------
   pair_sw on the device, LAMMPS GPU-package manner: transposed neighbour
   list, double4-ish packed positions, separate two-body and three-body
   kernels (centre and end variants), lj-units-like toy parameters.
------------------------------------------------------------------------- */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

typedef float numtyp;
typedef float acctyp;
typedef float4 numtyp4;
typedef float4 acctyp4;

#define NEIGHMASK 0x1FFFFFFF
#define BLOCK_PAIR 128
#define THREADS_PER_ATOM 4
#define MAXNEIGH 48
#define ucl_abs fabsf
#define ucl_sqrt sqrtf
#define ucl_exp expf
#define UCL_H_(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "ERROR on line %d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

/* parameters by type pair, in constant memory: A, B, epsilon*A*B..., cut, gamma */
struct sw_param { float biga, bigb, sigma, cut, lambda, gamma, costheta, pad; };
__constant__ sw_param c_sw[4];

#define fetch4(v, i, arr) numtyp4 v = arr[i]

/* ---- minimum image in an orthogonal box ---- */
__device__ __host__ inline float mic(float d, float l) { return d > 0.5f * l ? d - l : (d < -0.5f * l ? d + l : d); }

/* ---------------------------------------------------------------------- */
/* cell binning is on the host; the list is built here, one thread per atom,
   neighbour jj of atom i at dev_nbor[i + jj*nbor_pitch] */
__global__ void k_build_nbor(const numtyp4 *__restrict__ x_, const int *__restrict__ cell_first, const int *__restrict__ cell_atom,
                             int *__restrict__ dev_nbor, int *__restrict__ numneigh, const int inum, const int nbor_pitch,
                             const int nc, const numtyp box, const numtyp cutsq)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= inum) return;
  fetch4(ix, i, x_);
  const numtyp inv = nc / box;
  const int cx = min((int)(ix.x * inv), nc - 1), cy = min((int)(ix.y * inv), nc - 1), cz = min((int)(ix.z * inv), nc - 1);
  int cnt = 0;
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int c = ((cz + dz + nc) % nc * nc + (cy + dy + nc) % nc) * nc + (cx + dx + nc) % nc;
        for (int q = cell_first[c]; q < cell_first[c + 1]; q++) {
          const int j = cell_atom[q];
          if (j == i) continue;
          fetch4(jx, j, x_);
          const numtyp delx = mic(ix.x - jx.x, box), dely = mic(ix.y - jx.y, box), delz = mic(ix.z - jx.z, box);
          if (delx * delx + dely * dely + delz * delz < cutsq && cnt < MAXNEIGH) {
            dev_nbor[i + cnt * nbor_pitch] = j;
            cnt++;
          }
        }
      }
  numneigh[i] = cnt;
}

/* ---------------------------------------------------------------------- */
__device__ __host__ inline void sw_two(const sw_param &p, float rsq, float &force, float &eng)
{
  const float r = sqrtf(rsq), rinvsq = 1.0f / rsq;
  const float rd = 1.0f / (r - p.cut), s2 = p.sigma * p.sigma * rinvsq, rp = s2 * s2;
  const float ex = expf(p.sigma * rd);
  eng = p.biga * (p.bigb * rp - 1.0f) * ex;
  force = p.biga * ex * (4.0f * p.bigb * rp * rinvsq + (p.bigb * rp - 1.0f) * p.sigma * rd * rd / r);
}

__device__ __host__ inline float sw_three(const sw_param &p, const float *d1, float r1sq, const float *d2, float r2sq, float *f1, float *f2)
{
  const float r1 = sqrtf(r1sq), r2 = sqrtf(r2sq);
  const float i1 = 1.0f / (r1 - p.cut), i2 = 1.0f / (r2 - p.cut);
  const float e = expf(p.gamma * (i1 + i2));
  const float rinv12 = 1.0f / (r1 * r2), cs = (d1[0] * d2[0] + d1[1] * d2[1] + d1[2] * d2[2]) * rinv12;
  const float delcs = cs - p.costheta, facexp = e * p.lambda;
  const float facrad = facexp * delcs * delcs;
  const float frad1 = facrad * p.gamma * i1 * i1 / r1, frad2 = facrad * p.gamma * i2 * i2 / r2;
  const float facang = 2.0f * facexp * delcs, fa12 = rinv12 * facang;
  const float c1 = facang * cs / r1sq, c2 = facang * cs / r2sq;
  for (int q = 0; q < 3; q++) {
    f1[q] = d1[q] * (frad1 + c1) - d2[q] * fa12;
    f2[q] = d2[q] * (frad2 + c2) - d1[q] * fa12;
  }
  return facrad;
}

/* two-body: THREADS_PER_ATOM lanes share an atom and fold their sums by shuffles */
__global__ void k_sw(const numtyp4 *__restrict__ x_, const int *__restrict__ dev_nbor, const int *__restrict__ numneigh,
                     acctyp4 *__restrict__ ans, const int inum, const int nbor_pitch, const numtyp box)
{
  const int tid = threadIdx.x, offset = tid & (THREADS_PER_ATOM - 1);
  const int ii = blockIdx.x * (BLOCK_PAIR / THREADS_PER_ATOM) + tid / THREADS_PER_ATOM;
  acctyp4 f = make_float4(0, 0, 0, 0);
  if (ii < inum) {
    fetch4(ix, ii, x_);
    const int itype = (int)ix.w, n = numneigh[ii];
    for (int nb = offset; nb < n; nb += THREADS_PER_ATOM) {
      const int j = dev_nbor[ii + nb * nbor_pitch] & NEIGHMASK;
      fetch4(jx, j, x_);
      const sw_param p = c_sw[itype * 2 + (int)jx.w];
      const numtyp delx = mic(ix.x - jx.x, box), dely = mic(ix.y - jx.y, box), delz = mic(ix.z - jx.z, box);
      const numtyp rsq = delx * delx + dely * dely + delz * delz;
      if (rsq < p.cut * p.cut) {
        numtyp force, e;
        sw_two(p, rsq, force, e);
        f.x += delx * force; f.y += dely * force; f.z += delz * force; f.w += 0.5f * e;
      }
    }
  }
  for (int s = THREADS_PER_ATOM / 2; s > 0; s >>= 1) {
    f.x += __shfl_xor_sync(0xffffffff, f.x, s);
    f.y += __shfl_xor_sync(0xffffffff, f.y, s);
    f.z += __shfl_xor_sync(0xffffffff, f.z, s);
    f.w += __shfl_xor_sync(0xffffffff, f.w, s);
  }
  if (ii < inum && offset == 0) ans[ii] = f;
}

/* compress: keep only the neighbours inside the SW cutoff, in place of the long list */
__global__ void k_sw_short_nbor(const numtyp4 *__restrict__ x_, const int *__restrict__ dev_nbor, const int *__restrict__ numneigh,
                                int *__restrict__ dev_short, int *__restrict__ numshort, const int inum, const int nbor_pitch,
                                const numtyp box)
{
  const int ii = blockIdx.x * blockDim.x + threadIdx.x;
  if (ii >= inum) return;
  fetch4(ix, ii, x_);
  int k = 0;
  for (int nb = 0; nb < numneigh[ii]; nb++) {
    const int j = dev_nbor[ii + nb * nbor_pitch];
    fetch4(jx, j, x_);
    const numtyp c = c_sw[(int)ix.w * 2 + (int)jx.w].cut;
    const numtyp delx = mic(ix.x - jx.x, box), dely = mic(ix.y - jx.y, box), delz = mic(ix.z - jx.z, box);
    if (delx * delx + dely * dely + delz * delz < c * c) dev_short[ii * MAXNEIGH + k++] = j;   /* row-major, unlike dev_nbor */
  }
  numshort[ii] = k;
}

/* three-body centred on i: force on i is minus the sum of the end forces, ends by atomics */
__global__ void k_sw_three_center(const numtyp4 *__restrict__ x_, const int *__restrict__ dev_short, const int *__restrict__ numshort,
                                  float *__restrict__ fsoa, const int inum, const int fpitch, const numtyp box)
{
  const int ii = blockIdx.x * blockDim.x + threadIdx.x;
  if (ii >= inum) return;
  fetch4(ix, ii, x_);
  const int n = numshort[ii];
  float fi[3] = {0, 0, 0}, eng = 0;
  for (int a = 0; a + 1 < n; a++) {
    const int j = dev_short[ii * MAXNEIGH + a];
    fetch4(jx, j, x_);
    const float d1[3] = {mic(jx.x - ix.x, box), mic(jx.y - ix.y, box), mic(jx.z - ix.z, box)};
    const float r1 = d1[0] * d1[0] + d1[1] * d1[1] + d1[2] * d1[2];
    for (int b = a + 1; b < n; b++) {
      const int k = dev_short[ii * MAXNEIGH + b];
      fetch4(kx, k, x_);
      const float d2[3] = {mic(kx.x - ix.x, box), mic(kx.y - ix.y, box), mic(kx.z - ix.z, box)};
      const float r2 = d2[0] * d2[0] + d2[1] * d2[1] + d2[2] * d2[2];
      float fj[3], fk[3];
      eng += sw_three(c_sw[(int)ix.w * 3], d1, r1, d2, r2, fj, fk);
      for (int q = 0; q < 3; q++) {
        fi[q] -= fj[q] + fk[q];
        atomicAdd(&fsoa[q * fpitch + j], fj[q]);
        atomicAdd(&fsoa[q * fpitch + k], fk[q]);
      }
    }
  }
  for (int q = 0; q < 3; q++) atomicAdd(&fsoa[q * fpitch + ii], fi[q]);
  fsoa[3 * fpitch + ii] = eng;
}

/* final sum of both answers into AoS of three floats (host layout of LAMMPS) */
__global__ void k_merge(const acctyp4 *__restrict__ ans, const float *__restrict__ fsoa, float *__restrict__ f3, float *__restrict__ e,
                        const int inum, const int fpitch)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < inum) {
    acctyp4 a = ans[i];
    f3[3 * i + 0] = a.x + fsoa[i];
    f3[3 * i + 1] = a.y + fsoa[fpitch + i];
    f3[3 * i + 2] = a.z + fsoa[2 * fpitch + i];
    e[i] = a.w + fsoa[3 * fpitch + i];
  }
}

static unsigned long long rs = 88172645463325252ULL;
static float uni() { rs ^= rs << 13; rs ^= rs >> 7; rs ^= rs << 17; return (rs >> 40) / 16777216.0f; }

int main(int argc, char **argv)
{
  const int m = argc > 1 ? atoi(argv[1]) : 6;              /* diamond cells per side, 8 atoms each */
  const float a0 = 2.4f, box = a0 * m;
  const int n = 8 * m * m * m, pitch = (n + 31) / 32 * 32;
  static const float b[8][3] = {{0,0,0},{.5f,.5f,0},{.5f,0,.5f},{0,.5f,.5f},{.25f,.25f,.25f},{.75f,.75f,.25f},{.75f,.25f,.75f},{.25f,.75f,.75f}};
  sw_param sp[4];
  for (int t = 0; t < 4; t++) {
    sp[t].biga = 7.0496f; sp[t].bigb = 0.60222f; sp[t].sigma = 1.0f; sp[t].cut = 1.8f - 0.05f * (t == 1 || t == 2);
    sp[t].lambda = 21.0f - t; sp[t].gamma = 1.2f; sp[t].costheta = -1.0f / 3; sp[t].pad = 0;
  }
  UCL_H_(cudaMemcpyToSymbol(c_sw, sp, sizeof(sp)));
  std::vector<float4> x(n);
  int at = 0;
  for (int k = 0; k < m; k++) for (int j = 0; j < m; j++) for (int i = 0; i < m; i++) for (int q = 0; q < 8; q++) {
    float4 p;
    p.x = (i + b[q][0]) * a0 + 0.1f * uni() + 0.01f; p.y = (j + b[q][1]) * a0 + 0.1f * uni() + 0.01f; p.z = (k + b[q][2]) * a0 + 0.1f * uni() + 0.01f;
    p.w = uni() < 0.3f ? 1.0f : 0.0f;
    x[at++] = p;
  }
  for (int i = n - 1; i > 0; i--) { int j = (int)(uni() * (i + 1)); float4 t = x[i]; x[i] = x[j]; x[j] = t; }   /* no spatial order */
  const int nc = (int)(box / 2.0f);
  std::vector<int> first(nc * nc * nc + 1, 0), atoms(n), cell(n);
  for (int i = 0; i < n; i++) {
    int c[3] = {(int)(x[i].x * nc / box), (int)(x[i].y * nc / box), (int)(x[i].z * nc / box)};
    for (int q = 0; q < 3; q++) if (c[q] > nc - 1) c[q] = nc - 1;
    cell[i] = (c[2] * nc + c[1]) * nc + c[0];
    first[cell[i] + 1]++;
  }
  for (int c = 0; c < nc * nc * nc; c++) first[c + 1] += first[c];
  std::vector<int> cur(first);
  for (int i = 0; i < n; i++) atoms[cur[cell[i]]++] = i;

  float4 *dx, *dans; int *dfirst, *datoms, *dn, *dnn, *ds, *dns; float *dsoa, *df3, *de;
  UCL_H_(cudaMalloc(&dx, n * 16)); UCL_H_(cudaMalloc(&dans, n * 16));
  UCL_H_(cudaMalloc(&dfirst, first.size() * 4)); UCL_H_(cudaMalloc(&datoms, n * 4));
  UCL_H_(cudaMalloc(&dn, pitch * MAXNEIGH * 4)); UCL_H_(cudaMalloc(&dnn, n * 4));
  UCL_H_(cudaMalloc(&ds, n * MAXNEIGH * 4)); UCL_H_(cudaMalloc(&dns, n * 4));
  UCL_H_(cudaMalloc(&dsoa, pitch * 16)); UCL_H_(cudaMalloc(&df3, n * 12)); UCL_H_(cudaMalloc(&de, n * 4));
  UCL_H_(cudaMemcpy(dx, x.data(), n * 16, cudaMemcpyHostToDevice));
  UCL_H_(cudaMemcpy(dfirst, first.data(), first.size() * 4, cudaMemcpyHostToDevice));
  UCL_H_(cudaMemcpy(datoms, atoms.data(), n * 4, cudaMemcpyHostToDevice));
  UCL_H_(cudaMemset(dsoa, 0, pitch * 16));
  const int gx = (n + BLOCK_PAIR - 1) / BLOCK_PAIR;
  k_build_nbor<<<gx, BLOCK_PAIR>>>(dx, dfirst, datoms, dn, dnn, n, pitch, nc, box, 2.0f * 2.0f);
  k_sw<<<(n * THREADS_PER_ATOM + BLOCK_PAIR - 1) / BLOCK_PAIR, BLOCK_PAIR>>>(dx, dn, dnn, dans, n, pitch, box);
  k_sw_short_nbor<<<gx, BLOCK_PAIR>>>(dx, dn, dnn, ds, dns, n, pitch, box);
  k_sw_three_center<<<gx, BLOCK_PAIR>>>(dx, ds, dns, dsoa, n, pitch, box);
  k_merge<<<gx, BLOCK_PAIR>>>(dans, dsoa, df3, de, n, pitch);
  UCL_H_(cudaDeviceSynchronize());

  std::vector<double> f(3 * n, 0.0), e(n, 0.0);
  for (int i = 0; i < n; i++) {
    std::vector<int> nb;
    for (int j = 0; j < n; j++) {
      if (j == i) continue;
      const float d[3] = {mic(x[i].x - x[j].x, box), mic(x[i].y - x[j].y, box), mic(x[i].z - x[j].z, box)};
      const float r = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      const sw_param &p = sp[(int)x[i].w * 2 + (int)x[j].w];
      if (r < p.cut * p.cut) {
        float fo, en;
        sw_two(p, r, fo, en);
        for (int q = 0; q < 3; q++) f[3 * i + q] += d[q] * fo;
        e[i] += 0.5 * en;
        nb.push_back(j);
      }
    }
    for (size_t s = 0; s < nb.size(); s++) for (size_t t = s + 1; t < nb.size(); t++) {
      const float4 J = x[nb[s]], K = x[nb[t]];
      const float d1[3] = {mic(J.x - x[i].x, box), mic(J.y - x[i].y, box), mic(J.z - x[i].z, box)};
      const float d2[3] = {mic(K.x - x[i].x, box), mic(K.y - x[i].y, box), mic(K.z - x[i].z, box)};
      float fj[3], fk[3];
      e[i] += sw_three(sp[(int)x[i].w * 3], d1, d1[0]*d1[0] + d1[1]*d1[1] + d1[2]*d1[2], d2, d2[0]*d2[0] + d2[1]*d2[1] + d2[2]*d2[2], fj, fk);
      for (int q = 0; q < 3; q++) { f[3 * nb[s] + q] += fj[q]; f[3 * nb[t] + q] += fk[q]; f[3 * i + q] -= (double)fj[q] + fk[q]; }
    }
  }
  std::vector<float> gf(3 * n), ge(n);
  UCL_H_(cudaMemcpy(gf.data(), df3, n * 12, cudaMemcpyDeviceToHost));
  UCL_H_(cudaMemcpy(ge.data(), de, n * 4, cudaMemcpyDeviceToHost));
  double wf = 0, we = 0, net = 0;
  for (int i = 0; i < 3 * n; i++) { wf = fmax(wf, fabs(gf[i] - f[i]) / (1 + fabs(f[i]))); net += gf[i]; }
  for (int i = 0; i < n; i++) we = fmax(we, fabs(ge[i] - e[i]) / (1 + fabs(e[i])));
  printf("atoms %d  force err %.2e  energy err %.2e  net force %.2e\n", n, wf, we, net);
  const int ok = wf < 2e-3 && we < 1e-3 && fabs(net) < 0.5;
  printf("%s\n", ok ? "PASS" : "FAIL");
  return !ok;
}
