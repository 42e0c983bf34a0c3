// nvcc: --extended-lambda
// Discrete-ordinates transport pieces written against a small portability layer:
//   View<T, Layout>   multi-dimensional non-owning view, the layout is any permutation of the index order
//                     or a two-level blocked one
//   forall<Policy>    flat, two- and three-dimensional device loops over lambdas
// The same lambdas (moments, scattering, source, 2-D wavefront sweep step) run on several data layouts.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace port {

#define PORT_HD __host__ __device__ __forceinline__

// ---- layouts -------------------------------------------------------------------------------------------------

template <int N, int... Perm>  // Perm lists dimensions from slowest to fastest
struct PermutedLayout {
  int extent[N];
  int stride[N];
  explicit PermutedLayout(std::array<int, N> e) {
    constexpr int order[N] = {Perm...};
    int run = 1;
    for (int i = N - 1; i >= 0; --i) {
      stride[order[i]] = run;
      run *= e[order[i]];
      extent[order[i]] = e[order[i]];
    }
  }
  int span() const { return std::accumulate(extent, extent + N, 1, [](int a, int b) { return a * b; }); }
  template <class... I>
  PORT_HD int operator()(I... idx) const {
    static_assert(sizeof...(I) == N, "rank");
    const int at[N] = {int(idx)...};
    int off = 0;
#pragma unroll
    for (int d = 0; d < N; ++d) off += at[d] * stride[d];
    return off;
  }
};

template <int B>  // last dimension cut in blocks of B, block index slowest, element in block fastest
struct BlockedLayout3 {
  int extent[3];
  explicit BlockedLayout3(std::array<int, 3> e) : extent{e[0], e[1], (e[2] + B - 1) / B * B} {}
  int span() const { return extent[0] * extent[1] * extent[2]; }
  PORT_HD int operator()(int i, int j, int k) const { return ((k / B * extent[0] + i) * extent[1] + j) * B + k % B; }
};

template <class T, class Layout>
struct View {
  T* data;
  Layout layout;
  template <class... I>
  PORT_HD T& operator()(I... idx) const { return data[layout(idx...)]; }
};

// ---- execution -----------------------------------------------------------------------------------------------

template <int BlockSize>
struct cuda_flat {};
template <int X, int Y>
struct cuda_2d {};
template <int X, int Y, int Z>
struct cuda_3d {};

template <class Body>
__global__ void flat_kernel(int n, Body body) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}

template <class Body>
__global__ void nested_kernel(int nx, int ny, int nz, Body body) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz) body(x, y, z);
}

inline void require(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

template <class Policy>
struct Launcher;

template <int B>
struct Launcher<cuda_flat<B>> {
  template <class Body>
  static void run(int n, Body body) {
    flat_kernel<<<(n + B - 1) / B, B>>>(n, body);
  }
};
template <int X, int Y>
struct Launcher<cuda_2d<X, Y>> {
  template <class Body>
  static void run(int nx, int ny, Body body) {
    auto drop = [=] __device__(int x, int y, int) { body(x, y); };
    dim3 const block(X, Y), grid((nx + X - 1) / X, (ny + Y - 1) / Y);
    nested_kernel<<<grid, block>>>(nx, ny, 1, drop);
  }
};
template <int X, int Y, int Z>
struct Launcher<cuda_3d<X, Y, Z>> {
  template <class Body>
  static void run(int nx, int ny, int nz, Body body) {
    dim3 const block(X, Y, Z), grid((nx + X - 1) / X, (ny + Y - 1) / Y, (nz + Z - 1) / Z);
    nested_kernel<<<grid, block>>>(nx, ny, nz, body);
  }
};

template <class Policy, class... Args>
void forall(Args... args) {
  Launcher<Policy>::run(args...);
  require(cudaGetLastError(), "forall");
}

template <class T>
class Buffer {
 public:
  explicit Buffer(size_t n) : n_(n) {
    require(cudaMalloc(&p_, n * sizeof(T)), "alloc");
    require(cudaMemset(p_, 0, n * sizeof(T)), "clear");
  }
  Buffer(Buffer&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_) {}
  ~Buffer() { cudaFree(p_); }
  T* get() const { return p_; }
  void put(const std::vector<T>& h) { require(cudaMemcpy(p_, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice), "put"); }
  std::vector<T> take() const {
    std::vector<T> h(n_);
    require(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "take");
    return h;
  }

 private:
  T* p_ = nullptr;
  size_t n_;
};

}  // namespace port

using namespace port;

struct Problem {
  int groups, dirs, moments, nx, ny;
  int zones() const { return nx * ny; }
};

// psi(d,g,z), phi(m,g,z), ell(m,d), sigs(g,g',m); returns the worst error against the plain loops
template <class PsiLayout, class PhiLayout, class ZonePolicy>
double run_variant(const Problem& p, const std::vector<double>& psi_in, const std::vector<double>& ell_in,
                   const std::vector<double>& sig_in, const std::vector<int>& material, const char* name) {
  const int D = p.dirs, G = p.groups, M = p.moments, Z = p.zones();
  PsiLayout psi_l({D, G, Z});
  PhiLayout phi_l({M, G, Z});
  PermutedLayout<2, 0, 1> ell_l({M, D});
  std::vector<double> packed(psi_l.span(), 0.0);
  for (int d = 0; d < D; ++d)
    for (int g = 0; g < G; ++g)
      for (int z = 0; z < Z; ++z) packed[psi_l(d, g, z)] = psi_in[(d * G + g) * Z + z];
  Buffer<double> b_psi(psi_l.span()), b_phi(phi_l.span()), b_out(phi_l.span()), b_ell(ell_in.size()), b_sig(sig_in.size());
  Buffer<int> b_mat(material.size());
  b_psi.put(packed);
  b_ell.put(ell_in);
  b_sig.put(sig_in);
  b_mat.put(material);
  View<double, PsiLayout> psi{b_psi.get(), psi_l};
  View<double, PhiLayout> phi{b_phi.get(), phi_l}, phi_out{b_out.get(), phi_l};
  View<double, PermutedLayout<2, 0, 1>> ell{b_ell.get(), ell_l};
  View<double, PermutedLayout<4, 0, 1, 2, 3>> sigs{b_sig.get(), PermutedLayout<4, 0, 1, 2, 3>({2, M, G, G})};
  const int* mat = b_mat.get();

  // moments
  forall<ZonePolicy>(Z, G, [=] __device__(int z, int g) {
    for (int m = 0; m < M; ++m) {
      double s = 0;
      for (int d = 0; d < D; ++d) s += ell(m, d) * psi(d, g, z);
      phi(m, g, z) = s;
    }
  });
  // scattering, material picked per zone
  forall<cuda_3d<32, 2, 2>>(Z, G, M, [=] __device__(int z, int g, int m) {
    double s = 0;
    for (int gp = 0; gp < G; ++gp) s += sigs(mat[z], m, g, gp) * phi(m, gp, z);
    phi_out(m, g, z) = s;
  });
  // fixed source in the zones of material 1, isotropic moment only
  forall<cuda_flat<128>>(Z, [=] __device__(int z) {
    if (mat[z] == 1)
      for (int g = 0; g < G; ++g) phi_out(0, g, z) += 1.0 / (1 + g);
  });
  // back to angles: psi += ell^T phi_out
  forall<ZonePolicy>(Z, G, [=] __device__(int z, int g) {
    for (int d = 0; d < D; ++d) {
      double s = 0;
      for (int m = 0; m < M; ++m) s += ell(m, d) * phi_out(m, g, z);
      psi(d, g, z) += s;
    }
  });
  // one upwind relaxation step in x and y, from the old field to a copy in the other layout
  PermutedLayout<3, 2, 1, 0> swept_l({D, G, Z});
  Buffer<double> b_swept(swept_l.span());
  View<double, PermutedLayout<3, 2, 1, 0>> swept{b_swept.get(), swept_l};
  const int nx = p.nx;
  forall<cuda_3d<8, 4, 4>>(D, G, Z, [=] __device__(int d, int g, int z) {
    const int x = z % nx, y = z / nx;
    const double west = x > 0 ? psi(d, g, z - 1) : 0.0, south = y > 0 ? psi(d, g, z - nx) : 0.0;
    const double mu = 0.1 + 0.05 * d, eta = 0.3 - 0.02 * d;
    swept(d, g, z) = (psi(d, g, z) + mu * west + eta * south) / (1.0 + mu + eta);
  });
  const std::vector<double> got = b_swept.take();

  std::vector<double> ref = psi_in, ph(M * G * Z), po(M * G * Z);
  for (int m = 0; m < M; ++m)
    for (int g = 0; g < G; ++g)
      for (int z = 0; z < Z; ++z) {
        double s = 0;
        for (int d = 0; d < D; ++d) s += ell_in[m * D + d] * psi_in[(d * G + g) * Z + z];
        ph[(m * G + g) * Z + z] = s;
      }
  for (int m = 0; m < M; ++m)
    for (int g = 0; g < G; ++g)
      for (int z = 0; z < Z; ++z) {
        double s = 0;
        for (int gp = 0; gp < G; ++gp) s += sig_in[((material[z] * M + m) * G + g) * G + gp] * ph[(m * G + gp) * Z + z];
        po[(m * G + g) * Z + z] = s + (m == 0 && material[z] == 1 ? 1.0 / (1 + g) : 0.0);
      }
  for (int d = 0; d < D; ++d)
    for (int g = 0; g < G; ++g)
      for (int z = 0; z < Z; ++z)
        for (int m = 0; m < M; ++m) ref[(d * G + g) * Z + z] += ell_in[m * D + d] * po[(m * G + g) * Z + z];
  double worst = 0;
  for (int d = 0; d < D; ++d)
    for (int g = 0; g < G; ++g)
      for (int z = 0; z < Z; ++z) {
        const double* r = &ref[(d * G + g) * Z];
        const double mu = 0.1 + 0.05 * d, eta = 0.3 - 0.02 * d;
        const double want = (r[z] + mu * (z % nx ? r[z - 1] : 0.0) + eta * (z >= nx ? r[z - nx] : 0.0)) / (1 + mu + eta);
        worst = std::max(worst, std::abs(want - got[swept_l(d, g, z)]));
      }
  std::printf("  %-22s worst %.2e\n", name, worst);
  return worst;
}

int main(int argc, char** argv) {
  Problem p{6, 8, 4, 40, 30};
  for (int i = 1; i < argc; ++i) {
    const std::string a(argv[i]);
    const auto eq = a.find('=');
    if (eq == std::string::npos) continue;
    const int v = std::stoi(a.substr(eq + 1));
    if (a.substr(0, eq) == "--groups") p.groups = v;
    if (a.substr(0, eq) == "--nx") p.nx = v;
    if (a.substr(0, eq) == "--ny") p.ny = v;
  }
  std::mt19937 rng(271828);
  std::uniform_real_distribution<double> u(0.0, 1.0);
  std::vector<double> psi(p.dirs * p.groups * p.zones()), ell(p.moments * p.dirs), sig(2 * p.moments * p.groups * p.groups);
  for (auto* v : {&psi, &ell, &sig})
    for (double& x : *v) x = u(rng) - 0.25;
  std::vector<int> material(p.zones());
  for (int z = 0; z < p.zones(); ++z) {
    const int x = z % p.nx - p.nx / 2, y = z / p.nx - p.ny / 2;
    material[z] = x * x + y * y < p.nx * p.nx / 16;
  }
  std::printf("zones %d, groups %d, directions %d, moments %d\n", p.zones(), p.groups, p.dirs, p.moments);
  double worst = 0;
  worst = std::max(worst, run_variant<PermutedLayout<3, 0, 1, 2>, PermutedLayout<3, 0, 1, 2>, cuda_2d<64, 2>>(
                              p, psi, ell, sig, material, "DGZ / MGZ"));
  worst = std::max(worst, run_variant<PermutedLayout<3, 2, 1, 0>, PermutedLayout<3, 2, 1, 0>, cuda_2d<16, 8>>(
                              p, psi, ell, sig, material, "ZGD / ZGM"));
  worst = std::max(worst, run_variant<BlockedLayout3<32>, PermutedLayout<3, 1, 2, 0>, cuda_2d<32, 4>>(
                              p, psi, ell, sig, material, "blocked Z / GZM"));
  const bool good = worst < 1e-11;
  std::printf("%s\n", good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
