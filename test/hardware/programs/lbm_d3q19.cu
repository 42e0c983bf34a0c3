// Lattice Boltzmann D3Q19, pull scheme, in two data layouts; solid floor and lid, periodic sideways, a body force along x.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace lbm {

constexpr int Q = 19;

struct Domain {
  int nx, ny, nz;
  __host__ __device__ int cells() const { return nx * ny * nz; }
  __host__ __device__ int index(int x, int y, int z) const { return x + nx * (y + ny * z); }
};

struct SoA { static __host__ __device__ size_t at(const Domain& d, int cell, int q) { return (size_t)q * d.cells() + cell; } };
struct AoS { static __host__ __device__ size_t at(const Domain&, int cell, int q) { return (size_t)cell * Q + q; } };

struct Lattice {
  int cx[Q], cy[Q], cz[Q], opposite[Q];
  float w[Q];
};

constexpr Lattice makeLattice() {
  Lattice l{};
  int n = 0;
  for (int kind = 0; kind < 3; ++kind)
    for (int z = -1; z <= 1; ++z)
      for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
          if (x * x + y * y + z * z == kind) {
            l.cx[n] = x; l.cy[n] = y; l.cz[n] = z;
            l.w[n] = kind == 0 ? 1.0f / 3 : kind == 1 ? 1.0f / 18 : 1.0f / 36;
            ++n;
          }
  for (int a = 0; a < Q; ++a)
    for (int b = 0; b < Q; ++b)
      if (l.cx[a] == -l.cx[b] && l.cy[a] == -l.cy[b] && l.cz[a] == -l.cz[b]) l.opposite[a] = b;
  return l;
}

constexpr Lattice kLattice = makeLattice();
__constant__ Lattice dLattice;

__host__ __device__ inline float equilibrium(float w, float cu, float rho, float uu) {
  return w * rho * (1.0f + 3.0f * cu + 4.5f * cu * cu - 1.5f * uu);
}

// solid: one byte a cell
template <class Layout>
__global__ void streamCollide(Domain d, const float* __restrict__ in, float* __restrict__ out, const unsigned char* __restrict__ solid, float omega, float force) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= d.nx || y >= d.ny) return;
  const int cell = d.index(x, y, z);
  if (solid[cell]) return;
  float f[Q];
  float rho = 0, ux = 0, uy = 0, uz = 0;
#pragma unroll
  for (int q = 0; q < Q; ++q) {
    const int sx = (x - dLattice.cx[q] + d.nx) % d.nx, sy = (y - dLattice.cy[q] + d.ny) % d.ny, sz = z - dLattice.cz[q];
    const int from = d.index(sx, sy, sz);                 // floor and lid are solid, so sz stays inside
    f[q] = solid[from] ? in[Layout::at(d, cell, dLattice.opposite[q])] : in[Layout::at(d, from, q)];
    rho += f[q];
    ux += f[q] * dLattice.cx[q];
    uy += f[q] * dLattice.cy[q];
    uz += f[q] * dLattice.cz[q];
  }
  ux = ux / rho + force / omega;
  uy /= rho;
  uz /= rho;
  const float uu = ux * ux + uy * uy + uz * uz;
#pragma unroll
  for (int q = 0; q < Q; ++q) {
    const float cu = ux * dLattice.cx[q] + uy * dLattice.cy[q] + uz * dLattice.cz[q];
    out[Layout::at(d, cell, q)] = f[q] + omega * (equilibrium(dLattice.w[q], cu, rho, uu) - f[q]);
  }
}

template <class Layout>
__global__ void initialise(Domain d, float* f) {
  for (int cell = blockIdx.x * blockDim.x + threadIdx.x; cell < d.cells(); cell += blockDim.x * gridDim.x) {
    const float rho = 1.0f + 0.01f * ((cell * 7) % 13) / 13.0f;
    for (int q = 0; q < Q; ++q) f[Layout::at(d, cell, q)] = dLattice.w[q] * rho;
  }
}

// mean velocity of each layer z; one block a layer
template <class Layout>
__global__ void profile(Domain d, const float* __restrict__ f, float* __restrict__ mean) {
  extern __shared__ float partial[];
  float s = 0;
  const int layer = d.nx * d.ny;
  for (int i = threadIdx.x; i < layer; i += blockDim.x) {
    const int cell = blockIdx.x * layer + i;
    for (int q = 0; q < Q; ++q)
      if (dLattice.cx[q] != 0) s += dLattice.cx[q] * f[Layout::at(d, cell, q)];
  }
  partial[threadIdx.x] = s;
  for (int h = blockDim.x / 2; h > 0; h /= 2) {
    __syncthreads();
    if (threadIdx.x < h) partial[threadIdx.x] += partial[threadIdx.x + h];
  }
  if (threadIdx.x == 0) mean[blockIdx.x] = partial[0] / layer;
}

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <class Layout>
class Simulation {
 public:
  explicit Simulation(Domain d, const std::vector<unsigned char>& solid) : d_(d) {
    check(cudaMalloc(&a_, bytes()));
    check(cudaMalloc(&b_, bytes()));
    check(cudaMalloc(&solid_, solid.size()));
    check(cudaMalloc(&mean_, d.nz * sizeof(float)));
    check(cudaMemcpy(solid_, solid.data(), solid.size(), cudaMemcpyHostToDevice));
    initialise<Layout><<<128, 256>>>(d_, a_);
    initialise<Layout><<<128, 256>>>(d_, b_);
  }
  ~Simulation() { cudaFree(a_); cudaFree(b_); cudaFree(solid_); cudaFree(mean_); }
  void step(float omega, float force) {
    const dim3 block(32, 4), grid((d_.nx + 31) / 32, (d_.ny + 3) / 4, d_.nz);
    streamCollide<Layout><<<grid, block>>>(d_, a_, b_, solid_, omega, force);
    check(cudaGetLastError());
    float* t = a_; a_ = b_; b_ = t;
  }
  std::vector<float> velocities() {
    profile<Layout><<<d_.nz, 128, 128 * sizeof(float)>>>(d_, a_, mean_);
    std::vector<float> v(d_.nz);
    check(cudaMemcpy(v.data(), mean_, v.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return v;
  }
  std::vector<float> state() const {
    std::vector<float> v(bytes() / sizeof(float));
    check(cudaMemcpy(v.data(), a_, bytes(), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  size_t bytes() const { return (size_t)d_.cells() * Q * sizeof(float); }
  Domain d_;
  float *a_, *b_, *mean_;
  unsigned char* solid_;
};

// the same on the host, structure of arrays
std::vector<float> reference(Domain d, const std::vector<unsigned char>& solid, int steps, float omega, float force) {
  std::vector<float> a((size_t)d.cells() * Q);
  const Lattice& l = kLattice;
  for (int c = 0; c < d.cells(); ++c)
    for (int q = 0; q < Q; ++q) a[SoA::at(d, c, q)] = l.w[q] * (1.0f + 0.01f * ((c * 7) % 13) / 13.0f);
  std::vector<float> b = a;
  for (int s = 0; s < steps; ++s, a.swap(b))
    for (int z = 0; z < d.nz; ++z)
      for (int y = 0; y < d.ny; ++y)
        for (int x = 0; x < d.nx; ++x) {
          const int cell = d.index(x, y, z);
          if (solid[cell]) continue;
          float f[Q], rho = 0, u[3] = {};
          for (int q = 0; q < Q; ++q) {
            const int from = d.index((x - l.cx[q] + d.nx) % d.nx, (y - l.cy[q] + d.ny) % d.ny, z - l.cz[q]);
            f[q] = solid[from] ? a[SoA::at(d, cell, l.opposite[q])] : a[SoA::at(d, from, q)];
            rho += f[q];
            u[0] += f[q] * l.cx[q]; u[1] += f[q] * l.cy[q]; u[2] += f[q] * l.cz[q];
          }
          u[0] = u[0] / rho + force / omega; u[1] /= rho; u[2] /= rho;
          const float uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
          for (int q = 0; q < Q; ++q)
            b[SoA::at(d, cell, q)] = f[q] + omega * (equilibrium(l.w[q], u[0] * l.cx[q] + u[1] * l.cy[q] + u[2] * l.cz[q], rho, uu) - f[q]);
        }
  return a;
}

template <class Layout>
bool run(const char* name, Domain d, const std::vector<unsigned char>& solid, const std::vector<float>& want, int steps, float omega, float force) {
  Simulation<Layout> sim(d, solid);
  for (int s = 0; s < steps; ++s) sim.step(omega, force);
  const auto got = sim.state();
  double worst = 0;
  for (int c = 0; c < d.cells(); ++c)
    for (int q = 0; q < Q; ++q) worst = std::fmax(worst, std::fabs(got[Layout::at(d, c, q)] - want[SoA::at(d, c, q)]));
  double off = 0;
  const auto v = sim.velocities();
  for (int z = 0; z < d.nz; ++z) {
    double s = 0;
    for (int i = 0; i < d.nx * d.ny; ++i)
      for (int q = 0; q < Q; ++q) s += kLattice.cx[q] * want[SoA::at(d, z * d.nx * d.ny + i, q)];
    off = std::fmax(off, std::fabs(v[z] - s / (d.nx * d.ny)));
  }
  std::printf("%s: populations %.2e, profile %.2e\n", name, worst, off);
  return worst < 1e-5 && off < 1e-5;
}

}  // namespace lbm

int main() try {
  using namespace lbm;
  const Domain d{60, 44, 32};
  std::vector<unsigned char> solid(d.cells(), 0);
  for (int y = 0; y < d.ny; ++y)
    for (int x = 0; x < d.nx; ++x) {
      solid[d.index(x, y, 0)] = solid[d.index(x, y, d.nz - 1)] = 1;
      for (int z = 10; z < 20; ++z)
        if ((x - 20) * (x - 20) + (y - 22) * (y - 22) < 36) solid[d.index(x, y, z)] = 1;
    }
  check(cudaMemcpyToSymbol(dLattice, &kLattice, sizeof kLattice));
  const int steps = 2;
  const float omega = 1.3f, force = 1e-4f;
  const auto want = reference(d, solid, steps, omega, force);
  bool ok = run<SoA>("SoA", d, solid, want, steps, omega, force);
  ok = run<AoS>("AoS", d, solid, want, steps, omega, force) && ok;
  std::puts(ok ? "OK" : "FAIL");
  return ok ? 0 : 1;
} catch (const std::exception& e) {
  std::puts(e.what());
  return 2;
}
