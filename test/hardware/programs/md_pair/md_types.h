#pragma once
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDACHK(call) do { cudaError_t err_ = (call); if (err_ != cudaSuccess) { \
    fprintf(stderr, "CUDA ERROR %s at %s line %d\n", cudaGetErrorString(err_), __FILE__, __LINE__); exit(1); } } while (0)

#define MAXTYPES 4
#define NEIGHMASK 0x1FFFFFFF

typedef float numtyp;
typedef double acctyp;

struct Box { float lo[3], len[3]; };

// everything a pair style needs on the device
struct AtomData {
  int nlocal;
  float4 *xt;        // x y z, type in w (as bits)
  float  *q;
  float  *v;         // [n][3], array of structures like the host code
  float  *f;         // [n][3]
  float  *rmass;     // per atom inverse mass
  int2   *bonds; int nbonds;
};

struct NeighList {
  int maxneigh;
  int transposed;    // 1: neigh[j*nlocal+i]   0: neigh[i*maxneigh+j]
  int *numneigh;
  int *neigh;
  int *overflow;
  // bins
  int nbx, nby, nbz, maxbin;
  int *bincount, *binatoms;
};

// (ntypes+1)^2 matrices as in the host pair style
struct PairCoeffs {
  int ntypes;
  float cutsq[MAXTYPES * MAXTYPES];
  float4 lj[MAXTYPES * MAXTYPES];   // lj1 lj2 lj3 lj4
  float cut_coulsq, qqrd2e;
};

// neigh.cu
void neigh_alloc(NeighList &nl, const AtomData &a, const Box &box, float cutneigh, int maxneigh, int transposed);
void neigh_build(NeighList &nl, const AtomData &a, const Box &box, float cutneigh);
// pair.cu
void pair_init(const PairCoeffs &pc);
void pair_compute(const AtomData &a, const NeighList &nl, const Box &box, const PairCoeffs &pc, int eflag, int tpa, double *d_ev);
void bond_harmonic_compute(const AtomData &a, const Box &box, float k, float r0, double *d_ev);
// integrate.cu
void nve_initial(const AtomData &a, const Box &box, float dt);
void nve_final(const AtomData &a, float dt);
void compute_ke(const AtomData &a, double *d_ke);
