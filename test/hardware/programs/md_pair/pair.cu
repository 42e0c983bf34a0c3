// lj/cut/coul/cut with per type-pair coefficients; bond_harmonic
#include "md_types.h"

__constant__ float c_cutsq[MAXTYPES * MAXTYPES];
__constant__ float4 c_lj[MAXTYPES * MAXTYPES];

static __device__ __forceinline__ float minimg(float d, float L) { return d - L * rintf(d / L); }

#define BLOCK_PAIR 128

static __device__ __forceinline__ void block_accumulate(double e, double *d_ev)
{
  __shared__ double red[BLOCK_PAIR];
  red[threadIdx.x] = e;
  for (int s = BLOCK_PAIR / 2; s > 0; s >>= 1) {
    __syncthreads();
    if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
  }
  if (threadIdx.x == 0) atomicAdd(d_ev, red[0]);
}

// thread per atom, coefficients staged in shared memory
template <int EFLAG, int TRANSPOSED>
__global__ void k_lj_cut_coul(int nlocal, const float4 *__restrict__ xt, const float *__restrict__ q, float *__restrict__ f, Box box,
                              const int *__restrict__ numneigh, const int *__restrict__ neigh, int maxneigh, int ntypes,
                              float cut_coulsq, float qqrd2e, double *d_ev)
{
  __shared__ float4 lj[MAXTYPES * MAXTYPES];
  __shared__ float cutsq[MAXTYPES * MAXTYPES];
  if (threadIdx.x < MAXTYPES * MAXTYPES) {
    lj[threadIdx.x] = c_lj[threadIdx.x];
    cutsq[threadIdx.x] = c_cutsq[threadIdx.x];
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0.f;
  if (i < nlocal) {
    const float4 xi = xt[i];
    const int itype = __float_as_int(xi.w);
    const float qi = q[i];
    float fx = 0.f, fy = 0.f, fz = 0.f;
    const int n = numneigh[i];
    for (int jj = 0; jj < n; jj++) {
      int j = TRANSPOSED ? neigh[jj * nlocal + i] : neigh[i * maxneigh + jj];
      j &= NEIGHMASK;
      const float4 xj = xt[j];
      const float dx = minimg(xi.x - xj.x, box.len[0]), dy = minimg(xi.y - xj.y, box.len[1]), dz = minimg(xi.z - xj.z, box.len[2]);
      const float rsq = dx * dx + dy * dy + dz * dz;
      const int mtype = itype * ntypes + __float_as_int(xj.w);
      if (rsq < fmaxf(cutsq[mtype], cut_coulsq)) {
        const float r2inv = 1.0f / rsq;
        float forcelj = 0.f, forcecoul = 0.f;
        if (rsq < cutsq[mtype]) {
          const float r6inv = r2inv * r2inv * r2inv;
          forcelj = r6inv * (lj[mtype].x * r6inv - lj[mtype].y);
          if (EFLAG) e += 0.5f * r6inv * (lj[mtype].z * r6inv - lj[mtype].w);
        }
        if (rsq < cut_coulsq) {
          forcecoul = qqrd2e * qi * q[j] * sqrtf(r2inv);
          if (EFLAG) e += 0.5f * forcecoul;
        }
        const float fpair = (forcecoul + forcelj) * r2inv;
        fx += dx * fpair; fy += dy * fpair; fz += dz * fpair;
      }
    }
    f[3 * i + 0] = fx; f[3 * i + 1] = fy; f[3 * i + 2] = fz;
  }
  if (EFLAG) block_accumulate(e, d_ev);
}

// TPA threads per atom, coefficients straight from constant memory (divergent indices)
template <int EFLAG, int TPA>
__global__ void k_lj_cut_coul_tpa(int nlocal, const float4 *__restrict__ xt, const float *__restrict__ q, float *__restrict__ f, Box box,
                                  const int *__restrict__ numneigh, const int *__restrict__ neigh, int maxneigh, int transposed, int ntypes,
                                  float cut_coulsq, float qqrd2e, double *d_ev)
{
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, i = tid / TPA, offset = tid % TPA;
  float fx = 0.f, fy = 0.f, fz = 0.f, e = 0.f;
  if (i < nlocal) {
    const float4 xi = xt[i];
    const int itype = __float_as_int(xi.w), n = numneigh[i];
    const float qi = q[i];
    for (int jj = offset; jj < n; jj += TPA) {
      const int j = (transposed ? neigh[jj * nlocal + i] : neigh[i * maxneigh + jj]) & NEIGHMASK;
      const float4 xj = __ldg(&xt[j]);
      const float dx = minimg(xi.x - xj.x, box.len[0]), dy = minimg(xi.y - xj.y, box.len[1]), dz = minimg(xi.z - xj.z, box.len[2]);
      const float rsq = dx * dx + dy * dy + dz * dz;
      const int mtype = itype * ntypes + __float_as_int(xj.w);
      const float r2inv = 1.0f / rsq;
      float fpair = 0.f;
      if (rsq < c_cutsq[mtype]) {
        const float4 c = c_lj[mtype];
        const float r6inv = r2inv * r2inv * r2inv;
        fpair = r6inv * (c.x * r6inv - c.y);
        if (EFLAG) e += 0.5f * r6inv * (c.z * r6inv - c.w);
      }
      if (rsq < cut_coulsq) {
        const float fc = qqrd2e * qi * q[j] * rsqrtf(rsq);
        fpair += fc;
        if (EFLAG) e += 0.5f * fc;
      }
      fpair *= r2inv;
      fx += dx * fpair; fy += dy * fpair; fz += dz * fpair;
    }
  }
#pragma unroll
  for (int s = TPA / 2; s > 0; s >>= 1) {
    fx += __shfl_xor_sync(0xffffffffu, fx, s, TPA);
    fy += __shfl_xor_sync(0xffffffffu, fy, s, TPA);
    fz += __shfl_xor_sync(0xffffffffu, fz, s, TPA);
  }
  if (i < nlocal && offset == 0) { f[3 * i + 0] = fx; f[3 * i + 1] = fy; f[3 * i + 2] = fz; }
  if (EFLAG) block_accumulate(e, d_ev);
}

__global__ void k_bond_harmonic(int nbonds, const int2 *__restrict__ bonds, const float4 *__restrict__ xt, float *f, Box box, float k, float r0, double *d_ev)
{
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  double e = 0.0;
  if (n < nbonds) {
    const int2 b = bonds[n];
    const float4 x1 = xt[b.x], x2 = xt[b.y];
    const float dx = minimg(x1.x - x2.x, box.len[0]), dy = minimg(x1.y - x2.y, box.len[1]), dz = minimg(x1.z - x2.z, box.len[2]);
    const float r = sqrtf(dx * dx + dy * dy + dz * dz), dr = r - r0, rk = k * dr;
    const float fbond = r > 0.f ? -2.0f * rk / r : 0.f;
    atomicAdd(&f[3 * b.x + 0], dx * fbond); atomicAdd(&f[3 * b.x + 1], dy * fbond); atomicAdd(&f[3 * b.x + 2], dz * fbond);
    atomicAdd(&f[3 * b.y + 0], -dx * fbond); atomicAdd(&f[3 * b.y + 1], -dy * fbond); atomicAdd(&f[3 * b.y + 2], -dz * fbond);
    e = rk * dr;
  }
  block_accumulate(e, d_ev);
}

void pair_init(const PairCoeffs &pc)
{
  CUDACHK(cudaMemcpyToSymbol(c_cutsq, pc.cutsq, sizeof(pc.cutsq)));
  CUDACHK(cudaMemcpyToSymbol(c_lj, pc.lj, sizeof(pc.lj)));
}

void pair_compute(const AtomData &a, const NeighList &nl, const Box &box, const PairCoeffs &pc, int eflag, int tpa, double *d_ev)
{
  const int B = (int)(((size_t)a.nlocal * tpa + BLOCK_PAIR - 1) / BLOCK_PAIR);
#define PARGS a.nlocal, a.xt, a.q, a.f, box, nl.numneigh, nl.neigh, nl.maxneigh
#define TAIL pc.ntypes, pc.cut_coulsq, pc.qqrd2e, d_ev
  if (tpa == 1) {
    if (eflag) { if (nl.transposed) k_lj_cut_coul<1, 1><<<B, BLOCK_PAIR>>>(PARGS, TAIL); else k_lj_cut_coul<1, 0><<<B, BLOCK_PAIR>>>(PARGS, TAIL); }
    else       { if (nl.transposed) k_lj_cut_coul<0, 1><<<B, BLOCK_PAIR>>>(PARGS, TAIL); else k_lj_cut_coul<0, 0><<<B, BLOCK_PAIR>>>(PARGS, TAIL); }
  } else if (tpa == 4) {
    if (eflag) k_lj_cut_coul_tpa<1, 4><<<B, BLOCK_PAIR>>>(PARGS, nl.transposed, TAIL); else k_lj_cut_coul_tpa<0, 4><<<B, BLOCK_PAIR>>>(PARGS, nl.transposed, TAIL);
  } else {
    if (eflag) k_lj_cut_coul_tpa<1, 16><<<B, BLOCK_PAIR>>>(PARGS, nl.transposed, TAIL); else k_lj_cut_coul_tpa<0, 16><<<B, BLOCK_PAIR>>>(PARGS, nl.transposed, TAIL);
  }
#undef PARGS
#undef TAIL
  CUDACHK(cudaGetLastError());
}

void bond_harmonic_compute(const AtomData &a, const Box &box, float k, float r0, double *d_ev)
{
  k_bond_harmonic<<<(a.nbonds + BLOCK_PAIR - 1) / BLOCK_PAIR, BLOCK_PAIR>>>(a.nbonds, a.bonds, a.xt, a.f, box, k, r0, d_ev);
  CUDACHK(cudaGetLastError());
}
