#include "md_types.h"

static __device__ __forceinline__ float minimg(float d, float L) { return d - L * rintf(d / L); }

static __device__ __forceinline__ int coord2bin(float x, float lo, float len, int nb)
{
  int b = (int)((x - lo) / len * nb);
  return b < 0 ? 0 : (b >= nb ? nb - 1 : b);
}

__global__ void k_bin_atoms(int nlocal, const float4 *__restrict__ xt, Box box, int nbx, int nby, int nbz, int maxbin,
                            int *__restrict__ bincount, int *__restrict__ binatoms, int *__restrict__ overflow)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nlocal) return;
  const float4 p = xt[i];
  const int b = (coord2bin(p.z, box.lo[2], box.len[2], nbz) * nby + coord2bin(p.y, box.lo[1], box.len[1], nby)) * nbx +
                coord2bin(p.x, box.lo[0], box.len[0], nbx);
  const int slot = atomicAdd(&bincount[b], 1);
  if (slot < maxbin) binatoms[b * maxbin + slot] = i;
  else atomicMax(overflow, slot + 1);
}

// full list, one thread an atom
template <int TRANSPOSED>
__global__ void k_build_full(int nlocal, const float4 *__restrict__ xt, Box box, float cutsq, int nbx, int nby, int nbz, int maxbin,
                             const int *__restrict__ bincount, const int *__restrict__ binatoms, int maxneigh,
                             int *__restrict__ numneigh, int *__restrict__ neigh, int *__restrict__ overflow)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nlocal) return;
  const float4 xi = xt[i];
  const int bx = coord2bin(xi.x, box.lo[0], box.len[0], nbx);
  const int by = coord2bin(xi.y, box.lo[1], box.len[1], nby);
  const int bz = coord2bin(xi.z, box.lo[2], box.len[2], nbz);
  int n = 0;
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int cx = (bx + dx + nbx) % nbx, cy = (by + dy + nby) % nby, cz = (bz + dz + nbz) % nbz;
        const int b = (cz * nby + cy) * nbx + cx;
        const int cnt = min(bincount[b], maxbin);
        for (int m = 0; m < cnt; m++) {
          const int j = binatoms[b * maxbin + m];
          if (j == i) continue;
          const float4 xj = xt[j];
          const float ddx = minimg(xi.x - xj.x, box.len[0]);
          const float ddy = minimg(xi.y - xj.y, box.len[1]);
          const float ddz = minimg(xi.z - xj.z, box.len[2]);
          if (ddx * ddx + ddy * ddy + ddz * ddz < cutsq) {
            if (n < maxneigh) {
              if (TRANSPOSED) neigh[n * nlocal + i] = j;
              else neigh[i * maxneigh + n] = j;
            }
            n++;
          }
        }
      }
  if (n > maxneigh) { atomicMax(overflow, n); n = maxneigh; }
  numneigh[i] = n;
}

void neigh_alloc(NeighList &nl, const AtomData &a, const Box &box, float cutneigh, int maxneigh, int transposed)
{
  nl.maxneigh = maxneigh; nl.transposed = transposed; nl.maxbin = 64;
  int *nb[3] = {&nl.nbx, &nl.nby, &nl.nbz};
  for (int d = 0; d < 3; d++) { *nb[d] = (int)(box.len[d] / cutneigh); if (*nb[d] < 3) { fprintf(stderr, "box too small\n"); exit(1); } }
  const int nbins = nl.nbx * nl.nby * nl.nbz;
  CUDACHK(cudaMalloc(&nl.numneigh, a.nlocal * sizeof(int)));
  CUDACHK(cudaMalloc(&nl.neigh, (size_t)a.nlocal * maxneigh * sizeof(int)));
  CUDACHK(cudaMalloc(&nl.overflow, sizeof(int)));
  CUDACHK(cudaMalloc(&nl.bincount, nbins * sizeof(int)));
  CUDACHK(cudaMalloc(&nl.binatoms, nbins * nl.maxbin * sizeof(int)));
}

void neigh_build(NeighList &nl, const AtomData &a, const Box &box, float cutneigh)
{
  const int nbins = nl.nbx * nl.nby * nl.nbz, T = 128, B = (a.nlocal + T - 1) / T;
  CUDACHK(cudaMemset(nl.bincount, 0, nbins * sizeof(int)));
  CUDACHK(cudaMemset(nl.overflow, 0, sizeof(int)));
  k_bin_atoms<<<B, T>>>(a.nlocal, a.xt, box, nl.nbx, nl.nby, nl.nbz, nl.maxbin, nl.bincount, nl.binatoms, nl.overflow);
  if (nl.transposed)
    k_build_full<1><<<B, T>>>(a.nlocal, a.xt, box, cutneigh * cutneigh, nl.nbx, nl.nby, nl.nbz, nl.maxbin, nl.bincount, nl.binatoms,
                              nl.maxneigh, nl.numneigh, nl.neigh, nl.overflow);
  else
    k_build_full<0><<<B, T>>>(a.nlocal, a.xt, box, cutneigh * cutneigh, nl.nbx, nl.nby, nl.nbz, nl.maxbin, nl.bincount, nl.binatoms,
                              nl.maxneigh, nl.numneigh, nl.neigh, nl.overflow);
  CUDACHK(cudaGetLastError());
  int o;
  CUDACHK(cudaMemcpy(&o, nl.overflow, sizeof(int), cudaMemcpyDeviceToHost));
  if (o) { fprintf(stderr, "neighbor list or bin overflow (%d)\n", o); exit(1); }
}
