/* ----------------------------------------------------------------------
   Embedded-atom potential on an fcc crystal with thermal noise.
   Bin atoms -> full neighbour list (neighbour-major, pitched) -> density
   -> embedding derivative -> force. Tables are cubic splines with seven
   coefficients per knot (three for the derivative, four for the value).
------------------------------------------------------------------------- */
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <algorithm>
#include <vector>

#define MAXNEIGH 96
#define BINCAP 24

#define CUCHECK(x)                                                              \
  do {                                                                          \
    cudaError_t _e = (x);                                                       \
    if (_e != cudaSuccess) {                                                    \
      fprintf(stderr, "ERROR on line %d: %s\n", __LINE__, cudaGetErrorString(_e)); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

struct SplineDev {
  const double *c;  // [n+1][7]
  int n;
  double rdelta;    // 1/spacing
};

struct Domain {
  double boxhi;     // cubic, [0,boxhi), periodic
  int nbin;         // per edge
  double cutsq;
};

__host__ __device__ static inline double minimum_image(double d, double L)
{
  if (d > 0.5 * L) return d - L;
  if (d < -0.5 * L) return d + L;
  return d;
}

__host__ __device__ static inline const double *locate(const SplineDev &s, double x, double &p)
{
  p = x * s.rdelta + 1.0;
  int m = (int) p;
  m = m < s.n - 1 ? m : s.n - 1;
  if (m < 1) m = 1;
  p -= m;
  if (p > 1.0) p = 1.0;
  return s.c + 7 * m;
}

__host__ __device__ static inline double spline_value(const SplineDev &s, double x)
{
  double p;
  const double *c = locate(s, x, p);
  return ((c[3] * p + c[4]) * p + c[5]) * p + c[6];
}

__host__ __device__ static inline double spline_deriv(const SplineDev &s, double x)
{
  double p;
  const double *c = locate(s, x, p);
  return (c[0] * p + c[1]) * p + c[2];
}

/* ---------------------------------------------------------------------- */

__global__ void k_bin_atoms(int natoms, const double *__restrict__ x, Domain dom, int *bincount, int *bins)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= natoms) return;
  const double s = dom.nbin / dom.boxhi;
  const int bx = min((int) (x[3 * i] * s), dom.nbin - 1);
  const int by = min((int) (x[3 * i + 1] * s), dom.nbin - 1);
  const int bz = min((int) (x[3 * i + 2] * s), dom.nbin - 1);
  const int b = (bz * dom.nbin + by) * dom.nbin + bx;
  const int k = atomicAdd(&bincount[b], 1);
  if (k < BINCAP) bins[b * BINCAP + k] = i;
}

__global__ void k_build_full(int natoms, const double *__restrict__ x, Domain dom, const int *__restrict__ bincount,
                             const int *__restrict__ bins, int *numneigh, char *neigh, size_t pitch)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= natoms) return;
  const double xi = x[3 * i], yi = x[3 * i + 1], zi = x[3 * i + 2];
  const double s = dom.nbin / dom.boxhi;
  const int bx = min((int) (xi * s), dom.nbin - 1), by = min((int) (yi * s), dom.nbin - 1), bz = min((int) (zi * s), dom.nbin - 1);
  int n = 0;
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int cx = (bx + dx + dom.nbin) % dom.nbin;
        const int cy = (by + dy + dom.nbin) % dom.nbin;
        const int cz = (bz + dz + dom.nbin) % dom.nbin;
        const int b = (cz * dom.nbin + cy) * dom.nbin + cx;
        const int cnt = min(bincount[b], BINCAP);
        for (int k = 0; k < cnt; k++) {
          const int j = bins[b * BINCAP + k];
          if (j == i) continue;
          const double delx = minimum_image(xi - x[3 * j], dom.boxhi);
          const double dely = minimum_image(yi - x[3 * j + 1], dom.boxhi);
          const double delz = minimum_image(zi - x[3 * j + 2], dom.boxhi);
          if (delx * delx + dely * dely + delz * delz < dom.cutsq) {
            if (n < MAXNEIGH) ((int *) (neigh + n * pitch))[i] = j;
            n++;
          }
        }
      }
  numneigh[i] = n;
}

/* density at each atom, then its embedding energy and derivative */

__global__ void k_density(int natoms, const double *__restrict__ x, Domain dom, const int *__restrict__ numneigh,
                          const char *__restrict__ neigh, size_t pitch, SplineDev rhor, SplineDev frho, double *fp,
                          double *energy)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double e = 0.0;
  if (i < natoms) {
    double rho = 0.0;
    const int jnum = min(numneigh[i], MAXNEIGH);
    for (int jj = 0; jj < jnum; jj++) {
      const int j = ((const int *) (neigh + jj * pitch))[i];
      const double delx = minimum_image(x[3 * i] - x[3 * j], dom.boxhi);
      const double dely = minimum_image(x[3 * i + 1] - x[3 * j + 1], dom.boxhi);
      const double delz = minimum_image(x[3 * i + 2] - x[3 * j + 2], dom.boxhi);
      rho += spline_value(rhor, sqrt(delx * delx + dely * dely + delz * delz));
    }
    fp[i] = spline_deriv(frho, rho);
    e = spline_value(frho, rho);
  }
  __shared__ double buf[128];
  buf[threadIdx.x] = e;
  __syncthreads();
  for (int w = 64; w > 0; w >>= 1) {
    if (threadIdx.x < w) buf[threadIdx.x] += buf[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(energy, buf[0]);
}

/* force, four lanes on an atom, each takes every fourth neighbour */

__global__ void k_force(int natoms, const double *__restrict__ x, Domain dom, const int *__restrict__ numneigh,
                        const char *__restrict__ neigh, size_t pitch, SplineDev rhor, SplineDev phi,
                        const double *__restrict__ fp, double *__restrict__ f, double *energy)
{
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = t >> 2, lane = t & 3;
  double fx = 0.0, fy = 0.0, fz = 0.0, e = 0.0;
  if (i < natoms) {
    const double xi = x[3 * i], yi = x[3 * i + 1], zi = x[3 * i + 2], fpi = fp[i];
    const int jnum = min(numneigh[i], MAXNEIGH);
    for (int jj = lane; jj < jnum; jj += 4) {
      const int j = ((const int *) (neigh + jj * pitch))[i];
      const double delx = minimum_image(xi - x[3 * j], dom.boxhi);
      const double dely = minimum_image(yi - x[3 * j + 1], dom.boxhi);
      const double delz = minimum_image(zi - x[3 * j + 2], dom.boxhi);
      const double r = sqrt(delx * delx + dely * dely + delz * delz);
      const double psip = (fpi + fp[j]) * spline_deriv(rhor, r) + spline_deriv(phi, r);
      const double fpair = -psip / r;
      fx += delx * fpair;
      fy += dely * fpair;
      fz += delz * fpair;
      e += 0.5 * spline_value(phi, r);
    }
  }
  for (int d = 2; d > 0; d >>= 1) {
    fx += __shfl_down_sync(0xffffffffu, fx, d, 4);
    fy += __shfl_down_sync(0xffffffffu, fy, d, 4);
    fz += __shfl_down_sync(0xffffffffu, fz, d, 4);
  }
  for (int d = 16; d > 0; d >>= 1) e += __shfl_xor_sync(0xffffffffu, e, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(energy, e);
  if (i < natoms && lane == 0) {
    f[3 * i] = fx;
    f[3 * i + 1] = fy;
    f[3 * i + 2] = fz;
  }
}

/* ---------------------------------------------------------------------- */

struct Spline {
  std::vector<double> c;
  int n;
  double delta;

  Spline(int n_, double top, const std::function<double(double)> &fn) : c(7 * (n_ + 1), 0.0), n(n_), delta(top / (n_ - 1))
  {
    for (int m = 1; m <= n; m++) c[7 * m + 6] = fn((m - 1) * delta);
    auto v = [&](int m) { return c[7 * m + 6]; };
    c[7 + 5] = v(2) - v(1);
    c[14 + 5] = 0.5 * (v(3) - v(1));
    c[7 * (n - 1) + 5] = 0.5 * (v(n) - v(n - 2));
    c[7 * n + 5] = v(n) - v(n - 1);
    for (int m = 3; m <= n - 2; m++) c[7 * m + 5] = ((v(m - 2) - v(m + 2)) + 8.0 * (v(m + 1) - v(m - 1))) / 12.0;
    for (int m = 1; m <= n - 1; m++) {
      c[7 * m + 4] = 3.0 * (v(m + 1) - v(m)) - 2.0 * c[7 * m + 5] - c[7 * (m + 1) + 5];
      c[7 * m + 3] = c[7 * m + 5] + c[7 * (m + 1) + 5] - 2.0 * (v(m + 1) - v(m));
    }
    for (int m = 1; m <= n; m++) {
      c[7 * m + 2] = c[7 * m + 5] / delta;
      c[7 * m + 1] = 2.0 * c[7 * m + 4] / delta;
      c[7 * m + 0] = 3.0 * c[7 * m + 3] / delta;
    }
  }
  SplineDev host() const { return {c.data(), n, 1.0 / delta}; }
  SplineDev device() const
  {
    double *d;
    CUCHECK(cudaMalloc(&d, c.size() * sizeof(double)));
    CUCHECK(cudaMemcpy(d, c.data(), c.size() * sizeof(double), cudaMemcpyHostToDevice));
    return {d, n, 1.0 / delta};
  }
};

int main(int argc, char **argv)
{
  int cells = 9, seed = 482748;
  for (int a = 1; a < argc - 1; a++) {
    if (strcmp(argv[a], "-cells") == 0) cells = atoi(argv[a + 1]);
    if (strcmp(argv[a], "-seed") == 0) seed = atoi(argv[a + 1]);
  }
  const double lattice = 3.615, cut = 4.8;
  std::mt19937 rng(seed);
  std::normal_distribution<double> noise(0.0, 0.06);
  std::vector<double> x;
  const double basis[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
  Domain dom;
  dom.boxhi = cells * lattice;
  dom.nbin = (int) (dom.boxhi / cut);
  dom.cutsq = cut * cut;
  for (int k = 0; k < cells; k++)
    for (int j = 0; j < cells; j++)
      for (int i = 0; i < cells; i++)
        for (auto &b : basis)
          for (double v : {i + b[0], j + b[1], k + b[2]}) {
            const double w = v * lattice + noise(rng);
            x.push_back(w - dom.boxhi * std::floor(w / dom.boxhi));
          }
  const int natoms = (int) x.size() / 3;
  for (int i = natoms - 1; i > 0; i--) {  // atoms wander: half of the ids are swapped with a near one
    const int j = std::max(0, i - (int) (rng() % 200));
    if (rng() & 1)
      for (int k = 0; k < 3; k++) std::swap(x[3 * i + k], x[3 * j + k]);
  }
  Spline rho(500, cut, [=](double r) { return r < cut ? std::exp(-1.1 * (r - 2.5)) * (cut - r) * (cut - r) / 5.0 : 0.0; });
  Spline phi(700, cut, [=](double r) { return r < cut ? 0.8 * std::exp(-1.7 * (r - 2.4)) * (cut - r) * (cut - r) : 0.0; });
  Spline emb(400, 60.0, [](double s) { return -1.2 * std::sqrt(s + 0.05); });

  double *d_x, *d_f, *d_fp, *d_e;
  int *d_count, *d_bins, *d_num;
  char *d_neigh;
  size_t pitch;
  const int nb3 = dom.nbin * dom.nbin * dom.nbin;
  CUCHECK(cudaMalloc(&d_x, x.size() * sizeof(double)));
  CUCHECK(cudaMalloc(&d_f, x.size() * sizeof(double)));
  CUCHECK(cudaMalloc(&d_fp, natoms * sizeof(double)));
  CUCHECK(cudaMalloc(&d_e, 2 * sizeof(double)));
  CUCHECK(cudaMalloc(&d_count, nb3 * sizeof(int)));
  CUCHECK(cudaMalloc(&d_bins, (size_t) nb3 * BINCAP * sizeof(int)));
  CUCHECK(cudaMalloc(&d_num, natoms * sizeof(int)));
  CUCHECK(cudaMallocPitch((void **) &d_neigh, &pitch, natoms * sizeof(int), MAXNEIGH));
  CUCHECK(cudaMemcpy(d_x, x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice));
  CUCHECK(cudaMemset(d_count, 0, nb3 * sizeof(int)));
  CUCHECK(cudaMemset(d_e, 0, 2 * sizeof(double)));
  const SplineDev drho = rho.device(), dphi = phi.device(), demb = emb.device();

  const int nblk = (natoms + 127) / 128;
  k_bin_atoms<<<nblk, 128>>>(natoms, d_x, dom, d_count, d_bins);
  k_build_full<<<nblk, 128>>>(natoms, d_x, dom, d_count, d_bins, d_num, d_neigh, pitch);
  k_density<<<nblk, 128>>>(natoms, d_x, dom, d_num, d_neigh, pitch, drho, demb, d_fp, d_e);
  k_force<<<(4 * natoms + 127) / 128, 128>>>(natoms, d_x, dom, d_num, d_neigh, pitch, drho, dphi, d_fp, d_f, d_e + 1);
  CUCHECK(cudaGetLastError());
  std::vector<double> f(x.size());
  std::vector<int> num(natoms), count(nb3);
  double eng[2];
  CUCHECK(cudaMemcpy(f.data(), d_f, f.size() * sizeof(double), cudaMemcpyDeviceToHost));
  CUCHECK(cudaMemcpy(num.data(), d_num, natoms * sizeof(int), cudaMemcpyDeviceToHost));
  CUCHECK(cudaMemcpy(count.data(), d_count, nb3 * sizeof(int), cudaMemcpyDeviceToHost));
  CUCHECK(cudaMemcpy(eng, d_e, sizeof(eng), cudaMemcpyDeviceToHost));

  /* all pairs on the host */
  struct Pair { int i, j; double d[3], r; };
  std::vector<Pair> pairs;
  std::vector<int> nref(natoms, 0);
  std::vector<double> dens(natoms, 0.0), fpr(natoms), fref(x.size(), 0.0);
  const SplineDev hrho = rho.host(), hphi = phi.host(), hemb = emb.host();
  double eref[2] = {0, 0};
  for (int i = 0; i < natoms; i++)
    for (int j = i + 1; j < natoms; j++) {
      Pair p{i, j, {}, 0.0};
      double rsq = 0.0;
      for (int k = 0; k < 3; k++) {
        p.d[k] = minimum_image(x[3 * i + k] - x[3 * j + k], dom.boxhi);
        rsq += p.d[k] * p.d[k];
      }
      if (rsq >= dom.cutsq) continue;
      p.r = std::sqrt(rsq);
      nref[i]++, nref[j]++;
      const double v = spline_value(hrho, p.r);
      dens[i] += v, dens[j] += v;
      pairs.push_back(p);
    }
  for (int i = 0; i < natoms; i++) fpr[i] = spline_deriv(hemb, dens[i]), eref[0] += spline_value(hemb, dens[i]);
  for (const Pair &p : pairs) {
    const double fpair = -((fpr[p.i] + fpr[p.j]) * spline_deriv(hrho, p.r) + spline_deriv(hphi, p.r)) / p.r;
    for (int k = 0; k < 3; k++) fref[3 * p.i + k] += p.d[k] * fpair, fref[3 * p.j + k] -= p.d[k] * fpair;
    eref[1] += spline_value(hphi, p.r);
  }
  double worst = 0.0;
  int most = 0, badn = 0;
  for (size_t k = 0; k < f.size(); k++) worst = std::max(worst, std::fabs(f[k] - fref[k]));
  for (int i = 0; i < natoms; i++) badn += num[i] != nref[i], most = std::max(most, num[i]);
  const int fullest = *std::max_element(count.begin(), count.end());
  const bool ok = worst < 1e-9 && badn == 0 && most <= MAXNEIGH && fullest <= BINCAP &&
      std::fabs(eng[0] - eref[0]) < 1e-8 * std::fabs(eref[0]) && std::fabs(eng[1] - eref[1]) < 1e-8 * std::fabs(eref[1]);
  printf("%d atoms, %d bins (fullest %d), max neighbours %d, E = %.6f + %.6f, force error %.2e, list errors %d\n", natoms,
         nb3, fullest, most, eng[0], eng[1], worst, badn);
  printf(ok ? "PASS\n" : "FAIL\n");
  return ok ? 0 : 1;
}
