// Direct J/K build for a cluster described by s-type Gaussians.
//   J_ij = sum_kl (ij|kl) D_kl        K_ik = sum_jl (ij|kl) D_jl
//   E2   = 1/2 sum_ij D_ij (J_ij - 1/2 K_ij)
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace cg = cooperative_groups;

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kBoysOrder = 7;      // Taylor terms
constexpr double kBoysStep = 0.1;
constexpr double kBoysMax = 30.0;
constexpr int kBoysRows = 302;

void cuda_try(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + " failed: " + cudaGetErrorString(e));
}

struct Shell {
  double x, y, z;
  double alpha, coef;
};

struct ShellPair {
  double px, py, pz;   // product centre
  double p;            // total exponent
  double pref;         // K_ab * c_a * c_b
  int i, j;
};

// ---------------------------------------------------------------- device ----
__device__ double boys0(const double* table, double t) {
  if (t >= kBoysMax) return 0.5 * sqrt(kPi / t);
  const int row = static_cast<int>(t / kBoysStep + 0.5);
  const double d = row * kBoysStep - t;
  const double* f = table + row * kBoysOrder;
  double sum = 0.0;
#pragma unroll
  for (int m = kBoysOrder - 1; m > 0; --m) sum = (sum + f[m]) * d / m;
  return sum + f[0];
}

__device__ double eri(const ShellPair& a, const ShellPair& b, const double* boys) {
  const double dx = a.px - b.px, dy = a.py - b.py, dz = a.pz - b.pz;
  const double psum = a.p + b.p, pprod = a.p * b.p;
  const double t = pprod / psum * (dx * dx + dy * dy + dz * dz);
  constexpr double two_pi_52 = 34.986836655249725;
  return two_pi_52 / (pprod * sqrt(psum)) * a.pref * b.pref * boys0(boys, t);
}

__device__ __forceinline__ int tri(int i, int j) { return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i; }

__global__ void make_pairs(const Shell* shells, int nbf, ShellPair* pairs) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= nbf || j > i) return;
  const Shell a = shells[i], b = shells[j];
  const double p = a.alpha + b.alpha;
  const double dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
  ShellPair sp;
  sp.px = (a.alpha * a.x + b.alpha * b.x) / p;
  sp.py = (a.alpha * a.y + b.alpha * b.y) / p;
  sp.pz = (a.alpha * a.z + b.alpha * b.z) / p;
  sp.p = p;
  sp.pref = exp(-a.alpha * b.alpha / p * (dx * dx + dy * dy + dz * dz)) * a.coef * b.coef;
  sp.i = i;
  sp.j = j;
  pairs[tri(i, j)] = sp;
}

__global__ void schwarz_bounds(const ShellPair* pairs, int npairs, const double* boys, double* q) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < npairs) q[t] = sqrt(fabs(eri(pairs[t], pairs[t], boys)));
}

// one block per bra pair
__global__ void coulomb(const ShellPair* __restrict__ pairs, int npairs, const double* __restrict__ q,
                        const double* __restrict__ boys, const double* __restrict__ dens, int nbf, double thresh,
                        double* __restrict__ J, unsigned long long* survivors) {
  extern __shared__ double s_boys[];
  __shared__ double s_part[8];
  for (int t = threadIdx.x; t < kBoysRows * kBoysOrder; t += blockDim.x) s_boys[t] = boys[t];
  __syncthreads();

  const ShellPair bra = pairs[blockIdx.x];
  const double qb = q[blockIdx.x];
  double acc = 0.0;
  unsigned kept = 0;
  for (int t = threadIdx.x; t < npairs; t += blockDim.x) {
    const ShellPair& ket = pairs[t];
    const double d = dens[ket.i * nbf + ket.j] * (ket.i == ket.j ? 1.0 : 2.0);
    if (qb * q[t] * fabs(d) < thresh) continue;
    acc += d * eri(bra, ket, s_boys);
    ++kept;
  }
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  acc = cg::reduce(warp, acc, cg::plus<double>());
  kept = cg::reduce(warp, kept, cg::plus<unsigned>());
  if (warp.thread_rank() == 0) {
    s_part[warp.meta_group_rank()] = acc;
    atomicAdd(survivors, static_cast<unsigned long long>(kept));
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0.0;
    for (unsigned w = 0; w < warp.meta_group_size(); ++w) total += s_part[w];
    J[bra.i * nbf + bra.j] = total;
    J[bra.j * nbf + bra.i] = total;
  }
}

// one block per (i, k), y dimension of the block walks j, x walks l
__global__ void exchange(const ShellPair* __restrict__ pairs, const double* __restrict__ boys,
                         const double* __restrict__ dens, int nbf, double* __restrict__ K) {
  const int i = blockIdx.y, k = blockIdx.x;
  if (k > i) return;
  double acc = 0.0;
  for (int j = threadIdx.y; j < nbf; j += blockDim.y) {
    const ShellPair bra = pairs[tri(i, j)];
    for (int l = threadIdx.x; l < nbf; l += blockDim.x)
      acc += dens[j * nbf + l] * eri(bra, pairs[tri(k, l)], boys);
  }
  __shared__ double s[256];
  const int tid = threadIdx.y * blockDim.x + threadIdx.x;
  s[tid] = acc;
  __syncthreads();
  for (int h = blockDim.x * blockDim.y / 2; h > 0; h >>= 1) {
    if (tid < h) s[tid] += s[tid + h];
    __syncthreads();
  }
  if (tid == 0) K[i * nbf + k] = K[k * nbf + i] = s[0];
}

__global__ void two_electron_energy(const double* dens, const double* J, const double* K, int n, double* energy) {
  auto block = cg::this_thread_block();
  double e = 0.0;
  for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < n; t += gridDim.x * blockDim.x)
    e += 0.5 * dens[t] * (J[t] - 0.5 * K[t]);
  auto tile = cg::tiled_partition<32>(block);
  e = cg::reduce(tile, e, cg::plus<double>());
  if (tile.thread_rank() == 0) atomicAdd(energy, e);
}

// ------------------------------------------------------------------ host ----
std::vector<double> boys_table() {
  std::vector<double> tab(kBoysRows * kBoysOrder);
  for (int r = 0; r < kBoysRows; ++r) {
    const double t = r * kBoysStep, et = std::exp(-t);
    const int top = kBoysOrder - 1;
    double term = 1.0 / (2 * top + 1), sum = term;
    for (int k = 1; k < 400 && term > 1e-18 * sum; ++k) {
      term *= 2.0 * t / (2 * (top + k) + 1);
      sum += term;
    }
    double f = et * sum;
    tab[r * kBoysOrder + top] = f;
    for (int m = top; m > 0; --m) tab[r * kBoysOrder + m - 1] = f = (2.0 * t * f + et) / (2 * m - 1);
  }
  return tab;
}

template <class T>
struct Managed {
  T* ptr{};
  std::size_t n;
  explicit Managed(std::size_t count) : n(count) {
    cuda_try(cudaMallocManaged(&ptr, n * sizeof(T)), "cudaMallocManaged");
    std::fill_n(ptr, n, T{});
  }
  ~Managed() { cudaFree(ptr); }
  Managed(const Managed&) = delete;
  T& operator[](std::size_t i) { return ptr[i]; }
};

double ref_eri(const Shell& a, const Shell& b, const Shell& c, const Shell& d) {
  auto sq = [](double v) { return v * v; };
  const double p = a.alpha + b.alpha, q = c.alpha + d.alpha;
  const double ab2 = sq(a.x - b.x) + sq(a.y - b.y) + sq(a.z - b.z);
  const double cd2 = sq(c.x - d.x) + sq(c.y - d.y) + sq(c.z - d.z);
  const double pq2 = sq((a.alpha * a.x + b.alpha * b.x) / p - (c.alpha * c.x + d.alpha * d.x) / q) +
                     sq((a.alpha * a.y + b.alpha * b.y) / p - (c.alpha * c.y + d.alpha * d.y) / q) +
                     sq((a.alpha * a.z + b.alpha * b.z) / p - (c.alpha * c.z + d.alpha * d.z) / q);
  const double t = p * q / (p + q) * pq2;
  const double f0 = t < 1e-12 ? 1.0 - t / 3.0 : 0.5 * std::sqrt(kPi / t) * std::erf(std::sqrt(t));
  return 2.0 * std::pow(kPi, 2.5) / (p * q * std::sqrt(p + q)) *
         std::exp(-a.alpha * b.alpha / p * ab2 - c.alpha * d.alpha / q * cd2) * a.coef * b.coef * c.coef * d.coef * f0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int natoms = argc > 1 ? std::stoi(argv[1]) : 16;
    const std::vector<double> exps{0.35, 1.1, 4.7};
    const int nbf = natoms * static_cast<int>(exps.size());
    const int npairs = nbf * (nbf + 1) / 2;

    std::mt19937_64 rng(6);
    std::normal_distribution<double> jitter(0.0, 0.25);
    Managed<Shell> shells(nbf);
    for (int a = 0, s = 0; a < natoms; ++a) {
      const double x = 2.3 * (a % 3) + jitter(rng), y = 2.1 * (a / 3 % 3) + jitter(rng), z = 2.5 * (a / 9) + jitter(rng);
      for (double e : exps) shells[s++] = {x, y, z, e, std::pow(2.0 * e / kPi, 0.75)};
    }
    Managed<double> dens(nbf * nbf), J(nbf * nbf), K(nbf * nbf), q(npairs), boys(kBoysRows * kBoysOrder), energy(1);
    std::uniform_real_distribution<double> uni(-0.4, 0.8);
    for (int i = 0; i < nbf; ++i)
      for (int j = 0; j <= i; ++j) dens[i * nbf + j] = dens[j * nbf + i] = uni(rng) * std::exp(-0.03 * (i - j)) + (i == j);
    const auto table = boys_table();
    std::copy(table.begin(), table.end(), boys.ptr);
    Managed<ShellPair> pairs(npairs);
    Managed<unsigned long long> survivors(1);

    const dim3 tb(16, 16), tg((nbf + 15) / 16, (nbf + 15) / 16);
    make_pairs<<<tg, tb>>>(shells.ptr, nbf, pairs.ptr);
    schwarz_bounds<<<(npairs + 63) / 64, 64>>>(pairs.ptr, npairs, boys.ptr, q.ptr);
    coulomb<<<npairs, 128, kBoysRows * kBoysOrder * sizeof(double)>>>(pairs.ptr, npairs, q.ptr, boys.ptr, dens.ptr, nbf,
                                                                     1e-11, J.ptr, survivors.ptr);
    cuda_try(cudaGetLastError(), "coulomb launch");
    exchange<<<dim3(nbf, nbf), dim3(16, 8)>>>(pairs.ptr, boys.ptr, dens.ptr, nbf, K.ptr);
    cuda_try(cudaGetLastError(), "exchange launch");
    two_electron_energy<<<4, 256>>>(dens.ptr, J.ptr, K.ptr, nbf * nbf, energy.ptr);
    cuda_try(cudaDeviceSynchronize(), "kernels");

    std::vector<double> Jr(nbf * nbf, 0.0), Kr(nbf * nbf, 0.0);
    for (int i = 0; i < nbf; ++i)
      for (int j = 0; j <= i; ++j)
        for (int k = 0; k < nbf; ++k)
          for (int l = 0; l <= k; ++l) {
            const double v = ref_eri(shells[i], shells[j], shells[k], shells[l]);
            Jr[i * nbf + j] += v * dens[k * nbf + l] * (k == l ? 1.0 : 2.0);
            // every distinct ordering of the bra and of the ket contributes to K
            Kr[i * nbf + k] += v * dens[j * nbf + l];
            if (i != j) Kr[j * nbf + k] += v * dens[i * nbf + l];
            if (k != l) Kr[i * nbf + l] += v * dens[j * nbf + k];
            if (i != j && k != l) Kr[j * nbf + l] += v * dens[i * nbf + k];
          }
    double Er = 0.0, scaleJ = 0.0, scaleK = 0.0, errJ = 0.0, errK = 0.0;
    for (int i = 0; i < nbf; ++i)
      for (int j = 0; j < nbf; ++j) {
        const double jr = i >= j ? Jr[i * nbf + j] : Jr[j * nbf + i], kr = Kr[i * nbf + j];
        Er += 0.5 * dens[i * nbf + j] * (jr - 0.5 * kr);
        scaleJ = std::max(scaleJ, std::abs(jr));
        scaleK = std::max(scaleK, std::abs(kr));
        errJ = std::max(errJ, std::abs(jr - J[i * nbf + j]));
        errK = std::max(errK, std::abs(kr - K[i * nbf + j]));
      }
    const double errE = std::abs(Er - energy[0]) / std::max(1.0, std::abs(Er));
    std::cout << nbf << " functions, " << npairs << " pairs, " << std::fixed << std::setprecision(1)
              << 100.0 * survivors[0] / (double(npairs) * npairs) << "% of Coulomb quartets kept\n"
              << std::scientific << std::setprecision(3) << "E2 = " << energy[0] << " (ref " << Er << ")  err J "
              << errJ / scaleJ << "  K " << errK / scaleK << "  E " << errE << "\n";
    const bool pass = errJ < 1e-7 * scaleJ && errK < 1e-7 * scaleK && errE < 1e-6;
    std::cout << (pass ? "PASS" : "FAIL") << std::endl;
    return pass ? 0 : 1;
  } catch (const std::exception& ex) {
    std::cerr << ex.what() << "\nFAIL\n";
    return 1;
  }
}
