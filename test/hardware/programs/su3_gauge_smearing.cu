// Pure gauge SU(3) measurements on an Nx*Ny*Nz*Nt lattice:
// plaquette, staples, one APE smearing step with reunitarisation, staggered D-slash.
//
// Links:    U[(mu*V + site)]            AoS, 18 doubles each
// Vectors:  chi[site]                   3 complex doubles
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define HD __host__ __device__ __forceinline__
#define checkCuda(ans) gpuAssert((ans), __FILE__, __LINE__)
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    exit(code);
  }
}

constexpr int Nd = 4, Nc = 3;

struct Complex {
  double re, im;
  HD Complex operator+(const Complex &b) const { return {re + b.re, im + b.im}; }
  HD Complex operator-(const Complex &b) const { return {re - b.re, im - b.im}; }
  HD Complex operator*(const Complex &b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  HD Complex operator*(double s) const { return {re * s, im * s}; }
  HD Complex &operator+=(const Complex &b) { re += b.re; im += b.im; return *this; }
};
HD Complex conj(const Complex &a) { return {a.re, -a.im}; }
HD double norm2(const Complex &a) { return a.re * a.re + a.im * a.im; }

struct ColorVector { Complex c[Nc]; };

struct SU3 {
  Complex e[Nc][Nc];
  HD SU3 operator*(const SU3 &b) const {
    SU3 r;
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j) {
        Complex s = {0, 0};
        for (int k = 0; k < Nc; ++k) s += e[i][k] * b.e[k][j];
        r.e[i][j] = s;
      }
    return r;
  }
  HD SU3 operator+(const SU3 &b) const {
    SU3 r;
    for (int i = 0; i < Nc; ++i) for (int j = 0; j < Nc; ++j) r.e[i][j] = e[i][j] + b.e[i][j];
    return r;
  }
  HD SU3 dagger() const {
    SU3 r;
    for (int i = 0; i < Nc; ++i) for (int j = 0; j < Nc; ++j) r.e[i][j] = conj(e[j][i]);
    return r;
  }
  HD double retrace() const { return e[0][0].re + e[1][1].re + e[2][2].re; }
  HD static SU3 zero() { SU3 r; for (int i = 0; i < 9; ++i) (&r.e[0][0])[i] = {0, 0}; return r; }
};

struct Lattice {
  int L[Nd];
  HD int volume() const { return L[0] * L[1] * L[2] * L[3]; }
  HD int neighbour(int site, int mu, int dir) const {
    int stride = 1;
    for (int d = 0; d < mu; ++d) stride *= L[d];
    const int x = (site / stride) % L[mu];
    const int y = dir > 0 ? (x + 1 == L[mu] ? 0 : x + 1) : (x == 0 ? L[mu] - 1 : x - 1);
    return site + (y - x) * stride;
  }
  HD double eta(int site, int mu) const {   // staggered phases
    int s = 0, r = site;
    for (int d = 0; d < mu; ++d) { s += r % L[d]; r /= L[d]; }
    return (s & 1) ? -1.0 : 1.0;
  }
};

HD double plaquetteSum(const SU3 *U, const Lattice &lat, int x)
{
  const int V = lat.volume();
  double p = 0;
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = 0; nu < mu; ++nu) {
      const SU3 a = U[mu * V + x] * U[nu * V + lat.neighbour(x, mu, 1)];
      const SU3 b = U[nu * V + x] * U[mu * V + lat.neighbour(x, nu, 1)];
      p += (a * b.dagger()).retrace();
    }
  return p;
}

HD SU3 stapleSum(const SU3 *U, const Lattice &lat, int x, int mu)
{
  const int V = lat.volume();
  SU3 s = SU3::zero();
  const int xpm = lat.neighbour(x, mu, 1);
  for (int nu = 0; nu < Nd; ++nu) {
    if (nu == mu) continue;
    const int xpn = lat.neighbour(x, nu, 1), xmn = lat.neighbour(x, nu, -1), xpmmn = lat.neighbour(xpm, nu, -1);
    s = s + U[nu * V + x] * U[mu * V + xpn] * U[nu * V + xpm].dagger();
    s = s + U[nu * V + xmn].dagger() * U[mu * V + xmn] * U[nu * V + xpmmn];
  }
  return s;
}

// Gram-Schmidt on the first two rows, third row from the cross product
HD void reunitarise(SU3 &m)
{
  double n = 0;
  for (int j = 0; j < Nc; ++j) n += norm2(m.e[0][j]);
  n = 1.0 / sqrt(n);
  for (int j = 0; j < Nc; ++j) m.e[0][j] = m.e[0][j] * n;
  Complex d = {0, 0};
  for (int j = 0; j < Nc; ++j) d += conj(m.e[0][j]) * m.e[1][j];
  n = 0;
  for (int j = 0; j < Nc; ++j) { m.e[1][j] = m.e[1][j] - d * m.e[0][j]; n += norm2(m.e[1][j]); }
  n = 1.0 / sqrt(n);
  for (int j = 0; j < Nc; ++j) m.e[1][j] = m.e[1][j] * n;
  for (int j = 0; j < Nc; ++j) {
    const int a = (j + 1) % Nc, b = (j + 2) % Nc;
    m.e[2][j] = conj(m.e[0][a] * m.e[1][b] - m.e[0][b] * m.e[1][a]);
  }
}

// ------------------------------- kernels --------------------------------------
template <int BS>
__global__ void plaquetteKernel(const SU3 *U, Lattice lat, double *partial)
{
  __shared__ double s[BS];
  const int x = blockIdx.x * BS + threadIdx.x;
  s[threadIdx.x] = x < lat.volume() ? plaquetteSum(U, lat, x) : 0.0;
  __syncthreads();
  for (int h = BS / 2; h > 0; h /= 2) {
    if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
}

__global__ void stapleKernel(const SU3 *U, Lattice lat, SU3 *staples)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x, mu = blockIdx.y;
  if (x < lat.volume()) staples[mu * lat.volume() + x] = stapleSum(U, lat, x, mu);
}

// The block's links are copied in flat 16 byte pieces through shared memory, then every
// thread reunitarises its own matrix there.
__global__ void apeProjectKernel(const SU3 *U, const SU3 *staples, double alpha, SU3 *V, int nlinks)
{
  __shared__ SU3 tile[64];
  const int first = blockIdx.x * 64, count = min(64, nlinks - first);
  const Complex *src = reinterpret_cast<const Complex *>(U + first);
  const Complex *stp = reinterpret_cast<const Complex *>(staples + first);
  Complex *flat = &tile[0].e[0][0];
  for (int i = threadIdx.x; i < count * 9; i += blockDim.x) flat[i] = src[i] * (1.0 - alpha) + stp[i] * (alpha / 6.0);
  __syncthreads();
  if (threadIdx.x < count) reunitarise(tile[threadIdx.x]);
  __syncthreads();
  Complex *dst = reinterpret_cast<Complex *>(V + first);
  for (int i = threadIdx.x; i < count * 9; i += blockDim.x) dst[i] = flat[i];
}

// out(x) = m chi(x) + 1/2 sum_mu eta [ U_mu(x) chi(x+mu) - U_mu(x-mu)^dag chi(x-mu) ]
HD void dslashSite(const SU3 *U, const ColorVector *chi, const Lattice &lat, double mass, int x, ColorVector &r)
{
  const int V = lat.volume();
  for (int i = 0; i < Nc; ++i) r.c[i] = chi[x].c[i] * mass;
  for (int mu = 0; mu < Nd; ++mu) {
    const double h = 0.5 * lat.eta(x, mu);
    const int f = lat.neighbour(x, mu, 1), b = lat.neighbour(x, mu, -1);
    const SU3 &uf = U[mu * V + x], &ub = U[mu * V + b];
    for (int i = 0; i < Nc; ++i) {
      Complex s = {0, 0};
      for (int j = 0; j < Nc; ++j) s = s + uf.e[i][j] * chi[f].c[j] - conj(ub.e[j][i]) * chi[b].c[j];
      r.c[i] += s * h;
    }
  }
}

__global__ void dslashKernel(const SU3 *U, const ColorVector *chi, Lattice lat, double mass, ColorVector *out)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= lat.volume()) return;
  ColorVector r;
  dslashSite(U, chi, lat, mass, x, r);
  out[x] = r;
}

int main()
{
  const Lattice lat = {{6, 6, 8, 10}};
  const int V = lat.volume(), NL = Nd * V;
  std::vector<SU3> U(NL), W(NL), Wref(NL);
  std::vector<ColorVector> chi(V), out(V);

  unsigned long long seed = 4321;
  auto rnd = [&]() { seed = seed * 6364136223846793005ull + 1442695040888963407ull; return (double)(seed >> 11) / 9007199254740992.0 - 0.5; };
  for (SU3 &u : U) {
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j) u.e[i][j] = {(i == j) + 0.8 * rnd(), 0.8 * rnd()};
    reunitarise(u);
  }
  for (ColorVector &c : chi) for (Complex &z : c.c) z = {rnd(), rnd()};

  SU3 *dU, *dS, *dW;
  ColorVector *dChi, *dOut;
  double *dP;
  const int BS = 64, nblk = (V + BS - 1) / BS;
  checkCuda(cudaMalloc(&dU, NL * sizeof(SU3)));
  checkCuda(cudaMalloc(&dS, NL * sizeof(SU3)));
  checkCuda(cudaMalloc(&dW, NL * sizeof(SU3)));
  checkCuda(cudaMalloc(&dChi, V * sizeof(ColorVector)));
  checkCuda(cudaMalloc(&dOut, V * sizeof(ColorVector)));
  checkCuda(cudaMalloc(&dP, nblk * sizeof(double)));
  checkCuda(cudaMemcpy(dU, U.data(), NL * sizeof(SU3), cudaMemcpyHostToDevice));
  checkCuda(cudaMemcpy(dChi, chi.data(), V * sizeof(ColorVector), cudaMemcpyHostToDevice));

  bool ok = true;
  std::vector<double> part(nblk);
  auto plaq = [&](const SU3 *d, const std::vector<SU3> &h, const char *tag) {
    plaquetteKernel<BS><<<nblk, BS>>>(d, lat, dP);
    checkCuda(cudaGetLastError());
    checkCuda(cudaMemcpy(part.data(), dP, nblk * sizeof(double), cudaMemcpyDeviceToHost));
    double g = 0, c = 0;
    for (double v : part) g += v;
    for (int x = 0; x < V; ++x) c += plaquetteSum(h.data(), lat, x);
    printf("%s plaquette %.12f (cpu %.12f)\n", tag, g / (6.0 * Nc * V), c / (6.0 * Nc * V));
    ok = ok && std::fabs(g - c) < 1e-9 * V;
  };

  plaq(dU, U, "bare   ");
  stapleKernel<<<dim3((V + 95) / 96, Nd), 96>>>(dU, lat, dS);
  checkCuda(cudaGetLastError());
  apeProjectKernel<<<(NL + 63) / 64, 64>>>(dU, dS, 0.55, dW, NL);
  checkCuda(cudaGetLastError());
  checkCuda(cudaMemcpy(W.data(), dW, NL * sizeof(SU3), cudaMemcpyDeviceToHost));
  for (int mu = 0; mu < Nd; ++mu)
    for (int x = 0; x < V; ++x) {
      const SU3 s = stapleSum(U.data(), lat, x, mu);
      SU3 m;
      for (int i = 0; i < Nc; ++i)
        for (int j = 0; j < Nc; ++j) m.e[i][j] = U[mu * V + x].e[i][j] * 0.45 + s.e[i][j] * (0.55 / 6.0);
      reunitarise(m);
      Wref[mu * V + x] = m;
      double d = 0;
      for (int i = 0; i < 9; ++i) d += norm2((&m.e[0][0])[i] - (&W[mu * V + x].e[0][0])[i]);
      if (!(d < 1e-16)) ok = false;
    }
  plaq(dW, Wref, "smeared");

  dslashKernel<<<(V + 127) / 128, 128>>>(dU, dChi, lat, 0.07, dOut);
  checkCuda(cudaGetLastError());
  checkCuda(cudaMemcpy(out.data(), dOut, V * sizeof(ColorVector), cudaMemcpyDeviceToHost));
  for (int x = 0; x < V; ++x) {
    ColorVector r;
    dslashSite(U.data(), chi.data(), lat, 0.07, x, r);
    for (int i = 0; i < Nc; ++i)
      if (!(norm2(r.c[i] - out[x].c[i]) < 1e-20)) ok = false;
  }

  cudaFree(dU); cudaFree(dS); cudaFree(dW); cudaFree(dChi); cudaFree(dOut); cudaFree(dP);
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
