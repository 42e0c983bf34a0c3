// State-vector simulator: H / RZ / general 1-qubit, CNOT, blocked low-qubit layer in shared memory, probabilities.
#include <cuda_runtime.h>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

using cplx = std::complex<double>;

namespace qs {

inline void guard(cudaError_t e) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "cuda error: %s\n", cudaGetErrorString(e));
  std::abort();
}

struct Gate2x2 {
  double2 m[4];
};

__host__ __device__ inline double2 cmul(double2 a, double2 b) {
  return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__host__ __device__ inline double2 cadd(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }

__device__ inline unsigned insertZero(unsigned i, int bit) {
  unsigned low = i & ((1u << bit) - 1);
  return ((i >> bit) << (bit + 1)) | low;
}

__global__ void initState(double2* psi, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) psi[i] = make_double2(i == 0 ? 1.0 : 0.0, 0.0);
}

// one thread per amplitude pair; stride 2^q between the pair
__global__ void applyGate(double2* psi, Gate2x2 g, int q, unsigned pairs) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= pairs) return;
  unsigned i0 = insertZero(t, q);
  unsigned i1 = i0 | (1u << q);
  double2 a = psi[i0];
  double2 b = psi[i1];
  psi[i0] = cadd(cmul(g.m[0], a), cmul(g.m[1], b));
  psi[i1] = cadd(cmul(g.m[2], a), cmul(g.m[3], b));
}

__global__ void applyCnot(double2* psi, int control, int target, unsigned quads) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= quads) return;
  int lo = min(control, target);
  int hi = max(control, target);
  unsigned base = insertZero(insertZero(t, lo), hi);
  unsigned i0 = base | (1u << control);
  unsigned i1 = i0 | (1u << target);
  double2 tmp = psi[i0];
  psi[i0] = psi[i1];
  psi[i1] = tmp;
}

__global__ void applyPhase(double2* psi, double angle, int q, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double s, c;
    sincos((i >> q & 1) ? 0.5 * angle : -0.5 * angle, &s, &c);
    psi[i] = cmul(psi[i], make_double2(c, s));
  }
}

// a whole layer of gates on the LOW lowest qubits while the tile stays in shared memory
template <int LOW>
__global__ void lowLayer(double2* psi, const Gate2x2* gates) {
  __shared__ double2 tile[1 << LOW];
  double2* mine = psi + (size_t)blockIdx.x * (1 << LOW);
  for (int i = threadIdx.x; i < (1 << LOW); i += blockDim.x) tile[i] = mine[i];
  __syncthreads();
  for (int q = 0; q < LOW; ++q) {
    Gate2x2 g = gates[q];
    for (int t = threadIdx.x; t < (1 << (LOW - 1)); t += blockDim.x) {
      int i0 = insertZero(t, q);
      int i1 = i0 | (1 << q);
      double2 a = tile[i0];
      double2 b = tile[i1];
      tile[i0] = cadd(cmul(g.m[0], a), cmul(g.m[1], b));
      tile[i1] = cadd(cmul(g.m[2], a), cmul(g.m[3], b));
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < (1 << LOW); i += blockDim.x) mine[i] = tile[i];
}

// <Z_q> for all qubits: each block makes partial sums, warp per group of qubits
__global__ void expectZ(const double2* psi, int nq, unsigned n, double* out) {
  __shared__ double part[8];
  int q = blockIdx.y;
  double s = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double2 a = psi[i];
    double p = a.x * a.x + a.y * a.y;
    s += (i >> q & 1) ? -p : p;
  }
  for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) s += part[w];
    atomicAdd(&out[q], s);
  }
}

class Simulator {
 public:
  explicit Simulator(int nq) : nq_(nq), n_(1u << nq) {
    guard(cudaMalloc(&psi_, n_ * sizeof(double2)));
    initState<<<(n_ + 255) / 256, 256>>>(psi_, n_);
  }
  ~Simulator() { cudaFree(psi_); }
  void gate(const Gate2x2& g, int q) { applyGate<<<n_ / 2 / 256, 256>>>(psi_, g, q, n_ / 2); }
  void cnot(int c, int t) { applyCnot<<<n_ / 4 / 128, 128>>>(psi_, c, t, n_ / 4); }
  void rz(double a, int q) { applyPhase<<<264, 256>>>(psi_, a, q, n_); }
  template <int LOW>
  void low(const std::vector<Gate2x2>& gs) {
    Gate2x2* d;
    guard(cudaMalloc(&d, sizeof(Gate2x2) * LOW));
    guard(cudaMemcpy(d, gs.data(), sizeof(Gate2x2) * LOW, cudaMemcpyHostToDevice));
    lowLayer<LOW><<<n_ >> LOW, 256>>>(psi_, d);
    guard(cudaDeviceSynchronize());
    cudaFree(d);
  }
  std::vector<double> z() {
    double* d;
    guard(cudaMalloc(&d, nq_ * sizeof(double)));
    guard(cudaMemset(d, 0, nq_ * sizeof(double)));
    expectZ<<<dim3(32, nq_), 256>>>(psi_, nq_, n_, d);
    std::vector<double> h(nq_);
    guard(cudaMemcpy(h.data(), d, nq_ * sizeof(double), cudaMemcpyDeviceToHost));
    cudaFree(d);
    return h;
  }
  std::vector<cplx> state() {
    std::vector<cplx> h(n_);
    guard(cudaMemcpy(h.data(), psi_, n_ * sizeof(double2), cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  int nq_;
  unsigned n_;
  double2* psi_ = nullptr;
};

}  // namespace qs

static qs::Gate2x2 u3(double th, double ph, double la) {
  double c = std::cos(th / 2), s = std::sin(th / 2);
  qs::Gate2x2 g;
  g.m[0] = make_double2(c, 0);
  g.m[1] = make_double2(-std::cos(la) * s, -std::sin(la) * s);
  g.m[2] = make_double2(std::cos(ph) * s, std::sin(ph) * s);
  g.m[3] = make_double2(std::cos(ph + la) * c, std::sin(ph + la) * c);
  return g;
}

static void hostGate(std::vector<cplx>& v, const qs::Gate2x2& g, int q) {
  for (size_t i = 0; i < v.size(); ++i) {
    if (i >> q & 1) continue;
    size_t j = i | (size_t(1) << q);
    cplx a = v[i], b = v[j];
    auto m = [&](int k) { return cplx(g.m[k].x, g.m[k].y); };
    v[i] = m(0) * a + m(1) * b;
    v[j] = m(2) * a + m(3) * b;
  }
}

int main() {
  const int NQ = 18;
  constexpr int LOW = 10;
  qs::Simulator sim(NQ);
  std::vector<cplx> ref(size_t(1) << NQ, 0.0);
  ref[0] = 1.0;

  std::vector<qs::Gate2x2> layer;
  for (int q = 0; q < LOW; ++q) layer.push_back(u3(0.3 + 0.2 * q, 0.1 * q, -0.4 + 0.05 * q));
  sim.low<LOW>(layer);
  for (int q = 0; q < LOW; ++q) hostGate(ref, layer[q], q);
  for (int q : {0, 3, 11, 17, 14}) {
    auto g = u3(1.1 + q * 0.07, 0.5, 0.2 * q);
    sim.gate(g, q);
    hostGate(ref, g, q);
  }
  const int pairs[6][2] = {{0, 1}, {5, 2}, {3, 12}, {17, 4}, {11, 16}, {14, 13}};
  for (auto& p : pairs) {
    sim.cnot(p[0], p[1]);
    for (size_t i = 0; i < ref.size(); ++i)
      if ((i >> p[0] & 1) && !(i >> p[1] & 1)) std::swap(ref[i], ref[i | (size_t(1) << p[1])]);
  }
  for (int q : {1, 9, 16}) {
    double a = 0.7 * q;
    sim.rz(a, q);
    for (size_t i = 0; i < ref.size(); ++i) ref[i] *= std::polar(1.0, (i >> q & 1) ? a / 2 : -a / 2);
  }
  sim.low<LOW>(layer);
  for (int q = 0; q < LOW; ++q) hostGate(ref, layer[q], q);

  auto got = sim.state();
  auto z = sim.z();
  double err = 0, norm = 0, ez = 0;
  for (size_t i = 0; i < ref.size(); ++i) {
    err = std::max(err, std::abs(ref[i] - got[i]));
    norm += std::norm(got[i]);
  }
  for (int q = 0; q < NQ; ++q) {
    double s = 0;
    for (size_t i = 0; i < ref.size(); ++i) s += (i >> q & 1) ? -std::norm(ref[i]) : std::norm(ref[i]);
    ez = std::max(ez, std::fabs(s - z[q]));
  }
  bool ok = err < 1e-9 && std::fabs(norm - 1) < 1e-9 && ez < 1e-9;
  std::printf("amplitude err %.2e, norm %.12f, <Z> err %.2e\n%s\n", err, norm, ez, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
