// Lagrangian hydrodynamics on an unstructured hexahedral mesh (point blast).
// Proxy-app style: gather nodes of an element, volume derivatives, corner
// forces, scatter to nodes, move nodes, equation of state, new time step.
//
// Build: nvcc -O3 -arch=sm_90 lagrangian_hex_blast.cu
#include <cuda_runtime.h>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

typedef double Real_t;
typedef int Index_t;

#define CHECK(call)                                                                             \
  do {                                                                                          \
    cudaError_t e = (call);                                                                     \
    if (e != cudaSuccess) { fprintf(stderr, "CUDA: %s (%s:%d)\n", cudaGetErrorString(e), __FILE__, __LINE__); exit(1); } \
  } while (0)

#define GAMMA 1.4
#define CFL 0.3

// ------------------------------------------------------------------ geometry
// Volume of a hexahedron and its derivative with respect to one corner
__host__ __device__ static inline Real_t TripleProduct(Real_t x1, Real_t y1, Real_t z1, Real_t x2, Real_t y2, Real_t z2,
                                                       Real_t x3, Real_t y3, Real_t z3)
{
  return x1 * (y2 * z3 - z2 * y3) + x2 * (z1 * y3 - y1 * z3) + x3 * (y1 * z2 - z1 * y2);
}

__host__ __device__ static Real_t CalcElemVolume(const Real_t *x, const Real_t *y, const Real_t *z)
{
#define D(a, b, c) c##a##b = c[a] - c[b]
#define D3(a, b) Real_t D(a, b, x), D(a, b, y), D(a, b, z)
  D3(6, 1); D3(7, 0); D3(6, 3); D3(2, 0); D3(5, 0); D3(6, 4); D3(3, 1); D3(7, 2); D3(4, 3); D3(5, 7); D3(1, 4); D3(2, 5);
#undef D3
#undef D
  return (TripleProduct(x31 + x72, x63, x20, y31 + y72, y63, y20, z31 + z72, z63, z20) +
          TripleProduct(x43 + x57, x64, x70, y43 + y57, y64, y70, z43 + z57, z64, z70) +
          TripleProduct(x14 + x25, x61, x50, y14 + y25, y61, y50, z14 + z25, z61, z50)) * (1.0 / 12.0);
}

__host__ __device__ static inline void VoluDer(int a, int b, int c, int d, int e, int f, const Real_t *x, const Real_t *y,
                                               const Real_t *z, Real_t *dx, Real_t *dy, Real_t *dz)
{
  *dx = ((y[b] + y[c]) * (z[a] + z[b]) - (y[a] + y[b]) * (z[b] + z[c]) + (y[a] + y[e]) * (z[d] + z[e]) -
         (y[d] + y[e]) * (z[a] + z[e]) - (y[c] + y[f]) * (z[d] + z[f]) + (y[d] + y[f]) * (z[c] + z[f])) * (1.0 / 12.0);
  *dy = (-(x[b] + x[c]) * (z[a] + z[b]) + (x[a] + x[b]) * (z[b] + z[c]) - (x[a] + x[e]) * (z[d] + z[e]) +
         (x[d] + x[e]) * (z[a] + z[e]) + (x[c] + x[f]) * (z[d] + z[f]) - (x[d] + x[f]) * (z[c] + z[f])) * (1.0 / 12.0);
  *dz = (-(y[b] + y[c]) * (x[a] + x[b]) + (y[a] + y[b]) * (x[b] + x[c]) - (y[a] + y[e]) * (x[d] + x[e]) +
         (y[d] + y[e]) * (x[a] + x[e]) + (y[c] + y[f]) * (x[d] + x[f]) - (y[d] + y[f]) * (x[c] + x[f])) * (1.0 / 12.0);
}

__host__ __device__ static void CornerForces(const Real_t *x, const Real_t *y, const Real_t *z, Real_t p, Real_t *fx, Real_t *fy, Real_t *fz)
{
  Real_t dx, dy, dz;
#define CORNER(n, a, b, c, d, e, f) VoluDer(a, b, c, d, e, f, x, y, z, &dx, &dy, &dz); fx[n] = p * dx; fy[n] = p * dy; fz[n] = p * dz
  CORNER(0, 1, 2, 3, 4, 5, 7);
  CORNER(3, 0, 1, 2, 7, 4, 6);
  CORNER(2, 3, 0, 1, 6, 7, 5);
  CORNER(1, 2, 3, 0, 5, 6, 4);
  CORNER(4, 7, 6, 5, 0, 3, 1);
  CORNER(5, 4, 7, 6, 1, 0, 2);
  CORNER(6, 5, 4, 7, 2, 1, 3);
  CORNER(7, 6, 5, 4, 3, 2, 0);
#undef CORNER
}

// ------------------------------------------------------------------ mesh
struct Mesh {
  Index_t edge, numElem, numNode;
  std::vector<Index_t> nodelist;                 // 8 per element
  std::vector<Index_t> cornerPtr, cornerList;    // node -> element*8+corner
  std::vector<Index_t> symX, symY, symZ;
  std::vector<Real_t> x, y, z;
};

static uint32_t SpreadBits(uint32_t v)
{
  uint32_t r = 0;
  for (int b = 0; b < 10; ++b) r |= ((v >> b) & 1u) << (3 * b);
  return r;
}

static Mesh BuildMesh(Index_t edge, bool morton, unsigned seed)
{
  Mesh m;
  m.edge = edge;
  m.numElem = edge * edge * edge;
  Index_t en = edge + 1;
  m.numNode = en * en * en;
  std::vector<Index_t> order(m.numElem);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 rng(seed);
  std::shuffle(order.begin(), order.end(), rng);
  if (morton) {
    auto code = [edge](Index_t e) {
      return SpreadBits(e % edge) | SpreadBits(e / edge % edge) << 1 | SpreadBits(e / (edge * edge)) << 2;
    };
    std::sort(order.begin(), order.end(), [&](Index_t a, Index_t b) { return code(a) < code(b); });
  }
  m.nodelist.resize(8 * m.numElem);
  for (Index_t e = 0; e < m.numElem; ++e) {
    Index_t i = order[e] % edge, j = order[e] / edge % edge, k = order[e] / (edge * edge);
    Index_t n = (k * en + j) * en + i, *l = &m.nodelist[8 * e];
    l[0] = n; l[1] = n + 1; l[2] = n + en + 1; l[3] = n + en;
    for (int c = 0; c < 4; ++c) l[c + 4] = l[c] + en * en;
  }
  m.x.resize(m.numNode); m.y.resize(m.numNode); m.z.resize(m.numNode);
  for (Index_t n = 0; n < m.numNode; ++n) {
    Index_t i = n % en, j = n / en % en, k = n / (en * en);
    m.x[n] = 1.125 * i / edge; m.y[n] = 1.125 * j / edge; m.z[n] = 1.125 * k / edge;
    if (i == 0) m.symX.push_back(n);
    if (j == 0) m.symY.push_back(n);
    if (k == 0) m.symZ.push_back(n);
  }
  m.cornerPtr.assign(m.numNode + 1, 0);
  for (Index_t n : m.nodelist) ++m.cornerPtr[n + 1];
  std::partial_sum(m.cornerPtr.begin(), m.cornerPtr.end(), m.cornerPtr.begin());
  m.cornerList.resize(m.nodelist.size());
  std::vector<Index_t> at(m.cornerPtr.begin(), m.cornerPtr.end() - 1);
  for (size_t c = 0; c < m.nodelist.size(); ++c) m.cornerList[at[m.nodelist[c]]++] = (Index_t)c;
  return m;
}

// ------------------------------------------------------------------ kernels
__global__ void InitMass(Index_t numElem, const Index_t *nodelist, const Real_t *x, const Real_t *y, const Real_t *z,
                         Real_t *vol, Real_t *elemMass, Real_t *nodalMass)
{
  Index_t e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numElem) return;
  Real_t lx[8], ly[8], lz[8];
  for (int c = 0; c < 8; ++c) {
    Index_t n = nodelist[8 * e + c];
    lx[c] = x[n]; ly[c] = y[n]; lz[c] = z[n];
  }
  Real_t v = CalcElemVolume(lx, ly, lz);
  vol[e] = v;
  elemMass[e] = v;                         // density 1
  for (int c = 0; c < 8; ++c) atomicAdd(&nodalMass[nodelist[8 * e + c]], v / 8.0);
}

// corner forces, element-major: fx[8*e + c]
__global__ void ForceToCorners(Index_t numElem, const Index_t *nodelist, const Real_t *x, const Real_t *y, const Real_t *z,
                               const Real_t *p, Real_t *fx, Real_t *fy, Real_t *fz)
{
  Index_t e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numElem) return;
  Real_t lx[8], ly[8], lz[8], gx[8], gy[8], gz[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    Index_t n = nodelist[8 * e + c];
    lx[c] = x[n]; ly[c] = y[n]; lz[c] = z[n];
  }
  CornerForces(lx, ly, lz, p[e], gx, gy, gz);
#pragma unroll
  for (int c = 0; c < 8; ++c) { fx[8 * e + c] = gx[c]; fy[8 * e + c] = gy[c]; fz[8 * e + c] = gz[c]; }
}

// the same with corner-major storage, fx[c*numElem + e], and a transposed node list
__global__ void __launch_bounds__(128) ForceToCornersT(Index_t numElem, const Index_t *nodelistT, const Real_t *x, const Real_t *y,
                                const Real_t *z, const Real_t *p, Real_t *fx, Real_t *fy, Real_t *fz)
{
  Index_t e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numElem) return;
  Real_t lx[8], ly[8], lz[8], gx[8], gy[8], gz[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    Index_t n = nodelistT[c * numElem + e];
    lx[c] = x[n]; ly[c] = y[n]; lz[c] = z[n];
  }
  CornerForces(lx, ly, lz, p[e], gx, gy, gz);
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    fx[c * numElem + e] = gx[c]; fy[c * numElem + e] = gy[c]; fz[c * numElem + e] = gz[c];
  }
}

__global__ void ForceAtomic(Index_t numElem, const Index_t *nodelist, const Real_t *x, const Real_t *y, const Real_t *z,
                            const Real_t *p, Real_t *nodeF /* 3 per node */)
{
  Index_t e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numElem) return;
  Real_t lx[8], ly[8], lz[8], gx[8], gy[8], gz[8];
  for (int c = 0; c < 8; ++c) {
    Index_t n = nodelist[8 * e + c];
    lx[c] = x[n]; ly[c] = y[n]; lz[c] = z[n];
  }
  CornerForces(lx, ly, lz, p[e], gx, gy, gz);
  for (int c = 0; c < 8; ++c) {
    Real_t *f = nodeF + 3 * nodelist[8 * e + c];
    atomicAdd(f + 0, gx[c]); atomicAdd(f + 1, gy[c]); atomicAdd(f + 2, gz[c]);
  }
}

// sum the corners of a node; `stride8` tells the storage of the corner forces
__global__ void GatherToNodes(Index_t numNode, Index_t numElem, bool cornerMajor, const Index_t *ptr, const Index_t *list,
                              const Real_t *fx, const Real_t *fy, const Real_t *fz, Real_t *nodeF)
{
  Index_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= numNode) return;
  Real_t sx = 0, sy = 0, sz = 0;
  for (Index_t k = ptr[n]; k < ptr[n + 1]; ++k) {
    Index_t c = list[k];
    if (cornerMajor) c = (c & 7) * numElem + (c >> 3);
    sx += fx[c]; sy += fy[c]; sz += fz[c];
  }
  nodeF[3 * n] = sx; nodeF[3 * n + 1] = sy; nodeF[3 * n + 2] = sz;
}

__global__ void ZeroSymmetry(Index_t count, const Index_t *list, int axis, Real_t *nodeF)
{
  Index_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) nodeF[3 * list[i] + axis] = 0.0;
}

__global__ void MoveNodes(Index_t numNode, const Real_t *dtPtr, const Real_t *nodeF, const Real_t *mass, Real_t *vel, Real_t *x, Real_t *y, Real_t *z)
{
  Index_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= numNode) return;
  Real_t dt = *dtPtr, im = 1.0 / mass[n];
  Real_t u = vel[3 * n] + dt * nodeF[3 * n] * im;
  Real_t v = vel[3 * n + 1] + dt * nodeF[3 * n + 1] * im;
  Real_t w = vel[3 * n + 2] + dt * nodeF[3 * n + 2] * im;
  vel[3 * n] = u; vel[3 * n + 1] = v; vel[3 * n + 2] = w;
  x[n] += dt * u; y[n] += dt * v; z[n] += dt * w;
}

// p dV work, ideal gas, and the Courant limit (positive doubles order like integers)
__global__ void UpdateState(Index_t numElem, const Index_t *nodelist, const Real_t *x, const Real_t *y, const Real_t *z,
                            const Real_t *mass, Real_t *vol, Real_t *e, Real_t *p, unsigned long long *dtNext)
{
  __shared__ Real_t warpMin[32];
  Index_t i = blockIdx.x * blockDim.x + threadIdx.x;
  Real_t dt = 1.0e+10;
  if (i < numElem) {
    Real_t lx[8], ly[8], lz[8];
    for (int c = 0; c < 8; ++c) {
      Index_t n = nodelist[8 * i + c];
      lx[c] = x[n]; ly[c] = y[n]; lz[c] = z[n];
    }
    Real_t v = CalcElemVolume(lx, ly, lz);
    Real_t energy = e[i] - p[i] * (v - vol[i]) / mass[i];
    if (energy < 1e-6) energy = 1e-6;
    Real_t rho = mass[i] / v, pr = (GAMMA - 1.0) * rho * energy;
    vol[i] = v; e[i] = energy; p[i] = pr;
    dt = CFL * cbrt(v) / sqrt(GAMMA * pr / rho);
  }
  for (int o = 16; o > 0; o >>= 1) dt = fmin(dt, __shfl_xor_sync(0xffffffffu, dt, o));
  if ((threadIdx.x & 31) == 0) warpMin[threadIdx.x >> 5] = dt;
  __syncthreads();
  if (threadIdx.x < 32) {
    dt = threadIdx.x < (blockDim.x >> 5) ? warpMin[threadIdx.x] : 1.0e+10;
    for (int o = 16; o > 0; o >>= 1) dt = fmin(dt, __shfl_xor_sync(0xffffffffu, dt, o));
    if (threadIdx.x == 0) atomicMin(dtNext, (unsigned long long)__double_as_longlong(dt));
  }
}

// ------------------------------------------------------------------ reference
struct HostState { std::vector<Real_t> x, y, z, vel, e, p, vol, mass, nmass; };

static void HostSteps(const Mesh &m, HostState &s, const std::vector<Real_t> &dts)
{
  std::vector<Real_t> F(3 * m.numNode);
  Real_t lx[8], ly[8], lz[8], gx[8], gy[8], gz[8];
  auto gather = [&](Index_t e) { for (int c = 0; c < 8; ++c) { Index_t n = m.nodelist[8 * e + c]; lx[c] = s.x[n]; ly[c] = s.y[n]; lz[c] = s.z[n]; } };
  for (Real_t dt : dts) {
    std::fill(F.begin(), F.end(), 0.0);
    for (Index_t e = 0; e < m.numElem; ++e) {
      gather(e);
      CornerForces(lx, ly, lz, s.p[e], gx, gy, gz);
      for (int c = 0; c < 8; ++c) { Real_t *f = &F[3 * m.nodelist[8 * e + c]]; f[0] += gx[c]; f[1] += gy[c]; f[2] += gz[c]; }
    }
    for (Index_t n : m.symX) F[3 * n] = 0;
    for (Index_t n : m.symY) F[3 * n + 1] = 0;
    for (Index_t n : m.symZ) F[3 * n + 2] = 0;
    for (Index_t n = 0; n < m.numNode; ++n) {
      for (int a = 0; a < 3; ++a) s.vel[3 * n + a] += dt * F[3 * n + a] / s.nmass[n];
      s.x[n] += dt * s.vel[3 * n]; s.y[n] += dt * s.vel[3 * n + 1]; s.z[n] += dt * s.vel[3 * n + 2];
    }
    for (Index_t e = 0; e < m.numElem; ++e) {
      gather(e);
      Real_t v = CalcElemVolume(lx, ly, lz);
      s.e[e] = std::max(1e-6, s.e[e] - s.p[e] * (v - s.vol[e]) / s.mass[e]);
      s.p[e] = (GAMMA - 1.0) * s.mass[e] / v * s.e[e];
      s.vol[e] = v;
    }
  }
}

template <class T> static T *Up(const std::vector<T> &h)
{
  T *d;
  CHECK(cudaMalloc(&d, h.size() * sizeof(T)));
  CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

int main(int argc, char *argv[])
{
  Index_t edge = argc > 1 ? atoi(argv[1]) : 22;
  const int steps = 3;
  bool ok = true;
  for (int pass = 0; pass < 2; ++pass) {                     // shuffled elements, then Morton order
    Mesh m = BuildMesh(edge, pass == 1, 99);
    std::vector<Index_t> nlT(m.nodelist.size());
    for (Index_t e = 0; e < m.numElem; ++e) for (int c = 0; c < 8; ++c) nlT[c * m.numElem + e] = m.nodelist[8 * e + c];
    HostState h;
    h.x = m.x; h.y = m.y; h.z = m.z;
    h.vel.assign(3 * m.numNode, 0.0);
    h.e.assign(m.numElem, 1e-2); h.p.assign(m.numElem, 0.0); h.vol.assign(m.numElem, 0.0); h.mass = h.vol;
    h.nmass.assign(m.numNode, 0.0);
    for (Index_t e = 0; e < m.numElem; ++e) {
      Real_t lx[8], ly[8], lz[8];
      for (int c = 0; c < 8; ++c) { Index_t n = m.nodelist[8 * e + c]; lx[c] = m.x[n]; ly[c] = m.y[n]; lz[c] = m.z[n]; }
      h.vol[e] = h.mass[e] = CalcElemVolume(lx, ly, lz);
      if (lx[0] * lx[0] + ly[0] * ly[0] + lz[0] * lz[0] < 0.04) h.e[e] = 3.0;
      h.p[e] = (GAMMA - 1.0) * h.e[e];
      for (int c = 0; c < 8; ++c) h.nmass[m.nodelist[8 * e + c]] += h.vol[e] / 8.0;
    }
    Index_t *nl = Up(m.nodelist), *nt = Up(nlT), *cp = Up(m.cornerPtr), *cl = Up(m.cornerList);
    Index_t *sx = Up(m.symX), *sy = Up(m.symY), *sz = Up(m.symZ);
    Real_t *x = Up(m.x), *y = Up(m.y), *z = Up(m.z), *vel = Up(h.vel), *en = Up(h.e), *p = Up(h.p);
    Real_t *vol, *em, *nm, *fx, *fy, *fz, *F, *dt;
    unsigned long long *dtNext;
    CHECK(cudaMalloc(&vol, m.numElem * sizeof(Real_t))); CHECK(cudaMalloc(&em, m.numElem * sizeof(Real_t)));
    CHECK(cudaMalloc(&nm, m.numNode * sizeof(Real_t)));  CHECK(cudaMalloc(&F, 3 * m.numNode * sizeof(Real_t)));
    CHECK(cudaMalloc(&fx, 8 * m.numElem * sizeof(Real_t))); CHECK(cudaMalloc(&fy, 8 * m.numElem * sizeof(Real_t)));
    CHECK(cudaMalloc(&fz, 8 * m.numElem * sizeof(Real_t)));
    CHECK(cudaMalloc(&dt, sizeof(Real_t))); CHECK(cudaMalloc(&dtNext, sizeof(unsigned long long)));
    CHECK(cudaMemset(nm, 0, m.numNode * sizeof(Real_t)));
    const int eb = (m.numElem + 127) / 128, nb = (m.numNode + 127) / 128;
    InitMass<<<eb, 128>>>(m.numElem, nl, x, y, z, vol, em, nm);
    std::vector<Real_t> dts;
    Real_t now = 1.0e-3;
    for (int s = 0; s < steps; ++s) {
      dts.push_back(now);
      CHECK(cudaMemcpy(dt, &now, sizeof now, cudaMemcpyHostToDevice));
      if (s == 0) {
        CHECK(cudaMemset(F, 0, 3 * m.numNode * sizeof(Real_t)));
        ForceAtomic<<<eb, 128>>>(m.numElem, nl, x, y, z, p, F);
      } else {
        if (s == 1) ForceToCorners<<<eb, 128>>>(m.numElem, nl, x, y, z, p, fx, fy, fz);
        else ForceToCornersT<<<eb, 128>>>(m.numElem, nt, x, y, z, p, fx, fy, fz);
        GatherToNodes<<<nb, 128>>>(m.numNode, m.numElem, s != 1, cp, cl, fx, fy, fz, F);
      }
      ZeroSymmetry<<<((int)m.symX.size() + 127) / 128, 128>>>((Index_t)m.symX.size(), sx, 0, F);
      ZeroSymmetry<<<((int)m.symY.size() + 127) / 128, 128>>>((Index_t)m.symY.size(), sy, 1, F);
      ZeroSymmetry<<<((int)m.symZ.size() + 127) / 128, 128>>>((Index_t)m.symZ.size(), sz, 2, F);
      MoveNodes<<<nb, 128>>>(m.numNode, dt, F, nm, vel, x, y, z);
      CHECK(cudaMemset(dtNext, 0x7f, sizeof *dtNext));        // a huge positive double
      UpdateState<<<(m.numElem + 255) / 256, 256>>>(m.numElem, nl, x, y, z, em, vol, en, p, dtNext);
      CHECK(cudaGetLastError());
      Real_t limit;
      CHECK(cudaMemcpy(&limit, dtNext, sizeof limit, cudaMemcpyDeviceToHost));
      now = std::min(limit, 1.1 * now);
    }
    HostSteps(m, h, dts);
    std::vector<Real_t> gx(m.numNode), ge(m.numElem);
    CHECK(cudaMemcpy(gx.data(), x, gx.size() * sizeof(Real_t), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(ge.data(), en, ge.size() * sizeof(Real_t), cudaMemcpyDeviceToHost));
    Real_t ex = 0, ee = 0, moved = 0;
    for (Index_t n = 0; n < m.numNode; ++n) { ex = std::max(ex, std::fabs(gx[n] - h.x[n])); moved = std::max(moved, std::fabs(gx[n] - m.x[n])); }
    for (Index_t e = 0; e < m.numElem; ++e) ee = std::max(ee, std::fabs(ge[e] - h.e[e]));
    bool good = ex < 1e-10 && ee < 1e-8 && moved > 1e-6 && now > 0;
    printf("%s order: dx %.2e de %.2e moved %.2e dt %.3e %s\n", pass ? "morton" : "random", ex, ee, moved, now, good ? "ok" : "BAD");
    ok = ok && good;
    for (void *q : {(void *)nl, (void *)nt, (void *)cp, (void *)cl, (void *)sx, (void *)sy, (void *)sz, (void *)x, (void *)y, (void *)z, (void *)vel, (void *)en,
                    (void *)p, (void *)vol, (void *)em, (void *)nm, (void *)fx, (void *)fy, (void *)fz, (void *)F, (void *)dt, (void *)dtNext}) cudaFree(q);
  }
  printf("%s\n", ok ? "PASS" : "FAIL");
  return !ok;
}
