/// D2Q9 lattice Boltzmann, lid driven cavity, captured once into a CUDA graph and replayed.
/// Two layouts of the populations are compared: structure-of-arrays and cell-major.
#include <cuda_runtime.h>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define gpu(expr)                                                              \
  ([&] {                                                                       \
    const cudaError_t r = (expr);                                              \
    if (r != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s\n  -> %s\n", #expr, cudaGetErrorString(r));      \
      std::exit(1);                                                            \
    }                                                                          \
  }())

using Float = float;

constexpr int Q = 9;
constexpr int NX = 250, NY = 121;
constexpr Float OMEGA = 1.6f, U_LID = 0.08f;

__host__ __device__ constexpr int ex(int q) { constexpr int v[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}; return v[q]; }
__host__ __device__ constexpr int ey(int q) { constexpr int v[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1}; return v[q]; }
__host__ __device__ constexpr int opp(int q) { constexpr int v[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6}; return v[q]; }
__host__ __device__ constexpr Float wt(int q) { return q == 0 ? 4.f / 9 : q < 5 ? 1.f / 9 : 1.f / 36; }

struct SoA { __host__ __device__ static size_t at(int x, int y, int q) { return (size_t(q) * NY + y) * NX + x; } };
struct CellMajor { __host__ __device__ static size_t at(int x, int y, int q) { return (size_t(y) * NX + x) * Q + q; } };

__host__ __device__ inline Float feq(int q, Float rho, Float ux, Float uy) {
  const Float eu = ex(q) * ux + ey(q) * uy;
  return wt(q) * rho * (1 + 3 * eu + 4.5f * eu * eu - 1.5f * (ux * ux + uy * uy));
}

/// Pull streaming with half-way bounce back, then BGK collision, all for one cell.
template <class Layout>
__host__ __device__ inline void update_cell(const Float* src, Float* dst, int x, int y) {
  Float f[Q];
#pragma unroll
  for (int q = 0; q < Q; ++q) {
    const int xs = x - ex(q), ys = y - ey(q);
    if (xs < 0 || xs >= NX || ys < 0 || ys >= NY) {
      f[q] = src[Layout::at(x, y, opp(q))];
      if (ys >= NY) f[q] += 6 * wt(q) * ex(q) * U_LID;   // moving lid
    } else {
      f[q] = src[Layout::at(xs, ys, q)];
    }
  }
  Float rho = 0, mx = 0, my = 0;
#pragma unroll
  for (int q = 0; q < Q; ++q) { rho += f[q]; mx += ex(q) * f[q]; my += ey(q) * f[q]; }
  const Float ux = mx / rho, uy = my / rho;
#pragma unroll
  for (int q = 0; q < Q; ++q) dst[Layout::at(x, y, q)] = f[q] + OMEGA * (feq(q, rho, ux, uy) - f[q]);
}

template <class Layout>
__global__ void init(Float* f) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= NX || y >= NY) return;
  const Float rho = 1 + 0.01f * ((x * 7 + y * 3) % 13) / 13;
  for (int q = 0; q < Q; ++q) f[Layout::at(x, y, q)] = feq(q, rho, 0, 0);
}

template <class Layout>
__global__ void __launch_bounds__(384) stream_collide(const Float* __restrict__ src, Float* __restrict__ dst) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < NX && y < NY) update_cell<Layout>(src, dst, x, y);
}

/// macroscopic fields as an array of {rho, ux, uy}
struct Macro { Float rho, ux, uy; };

template <class Layout>
__global__ void macroscopic(const Float* __restrict__ f, Macro* __restrict__ out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= NX || y >= NY) return;
  Macro m{0, 0, 0};
  for (int q = 0; q < Q; ++q) {
    const Float v = f[Layout::at(x, y, q)];
    m.rho += v; m.ux += ex(q) * v; m.uy += ey(q) * v;
  }
  m.ux /= m.rho; m.uy /= m.rho;
  out[y * NX + x] = m;
}

/// vorticity on interior points with a tile of velocities in shared memory
__global__ void vorticity(const Macro* __restrict__ m, Float* __restrict__ w) {
  __shared__ Macro tile[10][34];
  const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
  for (int j = threadIdx.y; j < 10; j += 8)
    for (int i = threadIdx.x; i < 34; i += 32) {
      const int gx = min(max(x0 + i - 1, 0), NX - 1), gy = min(max(y0 + j - 1, 0), NY - 1);
      tile[j][i] = m[gy * NX + gx];
    }
  __syncthreads();
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y, i = threadIdx.x + 1, j = threadIdx.y + 1;
  if (x < NX && y < NY)
    w[y * NX + x] = 0.5f * (tile[j][i + 1].uy - tile[j][i - 1].uy) - 0.5f * (tile[j + 1][i].ux - tile[j - 1][i].ux);
}

template <class Layout>
class Cavity {
 public:
  Cavity() {
    for (auto& p : f_) gpu(cudaMalloc(&p, kBytes));
    gpu(cudaMalloc(&macro_, sizeof(Macro) * NX * NY));
    gpu(cudaMalloc(&vort_, sizeof(Float) * NX * NY));
    gpu(cudaStreamCreate(&stream_));
    init<Layout><<<grid(), block(), 0, stream_>>>(f_[0]);
    record();
  }
  ~Cavity() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
    cudaStreamDestroy(stream_);
    for (auto p : f_) cudaFree(p);
    cudaFree(macro_);
    cudaFree(vort_);
  }
  /// two time steps per replay
  void advance(int replays) {
    for (int i = 0; i < replays; ++i) gpu(cudaGraphLaunch(exec_, stream_));
    gpu(cudaStreamSynchronize(stream_));
  }
  auto fields() const {
    std::vector<Macro> m(NX * NY);
    std::vector<Float> w(NX * NY);
    gpu(cudaMemcpy(m.data(), macro_, m.size() * sizeof(Macro), cudaMemcpyDeviceToHost));
    gpu(cudaMemcpy(w.data(), vort_, w.size() * sizeof(Float), cudaMemcpyDeviceToHost));
    return std::pair(m, w);
  }

 private:
  static constexpr size_t kBytes = sizeof(Float) * Q * NX * NY;
  static dim3 block() { return {192, 2}; }
  static dim3 grid() { return {(NX + 191) / 192, (NY + 1) / 2}; }

  void record() {
    gpu(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    stream_collide<Layout><<<grid(), block(), 0, stream_>>>(f_[0], f_[1]);
    stream_collide<Layout><<<grid(), block(), 0, stream_>>>(f_[1], f_[0]);
    macroscopic<Layout><<<dim3((NX + 63) / 64, (NY + 3) / 4), dim3(64, 4), 0, stream_>>>(f_[0], macro_);
    vorticity<<<dim3((NX + 31) / 32, (NY + 7) / 8), dim3(32, 8), 0, stream_>>>(macro_, vort_);
    gpu(cudaStreamEndCapture(stream_, &graph_));
    gpu(cudaGraphInstantiate(&exec_, graph_, 0));
  }

  std::array<Float*, 2> f_{};
  Macro* macro_ = nullptr;
  Float* vort_ = nullptr;
  cudaStream_t stream_{};
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
};

int main() {
  constexpr int kReplays = 2;
  std::vector<Float> a(Q * NX * NY), b(a.size());
  for (int y = 0; y < NY; ++y)
    for (int x = 0; x < NX; ++x)
      for (int q = 0; q < Q; ++q) a[SoA::at(x, y, q)] = feq(q, 1 + 0.01f * ((x * 7 + y * 3) % 13) / 13, 0, 0);
  for (int s = 0; s < 2 * kReplays; ++s) {
    for (int y = 0; y < NY; ++y)
      for (int x = 0; x < NX; ++x) update_cell<SoA>(a.data(), b.data(), x, y);
    a.swap(b);
  }
  std::vector<Macro> ref(NX * NY);
  double mass = 0;
  for (int y = 0; y < NY; ++y)
    for (int x = 0; x < NX; ++x) {
      Macro m{0, 0, 0};
      for (int q = 0; q < Q; ++q) {
        const Float v = a[SoA::at(x, y, q)];
        m.rho += v; m.ux += ex(q) * v; m.uy += ey(q) * v;
      }
      mass += m.rho;
      m.ux /= m.rho; m.uy /= m.rho;
      ref[y * NX + x] = m;
    }

  Cavity<SoA> soa;
  Cavity<CellMajor> cells;
  soa.advance(kReplays);
  cells.advance(kReplays);

  bool ok = true;
  for (const auto& [m, w] : {soa.fields(), cells.fields()}) {
    double err = 0, werr = 0;
    for (int y = 0; y < NY; ++y)
      for (int x = 0; x < NX; ++x) {
        const int c = y * NX + x;
        const double d = std::fabs(m[c].rho - ref[c].rho) + std::fabs(m[c].ux - ref[c].ux) + std::fabs(m[c].uy - ref[c].uy);
        auto clampx = [](int v) { return v < 0 ? 0 : v >= NX ? NX - 1 : v; };
        auto clampy = [](int v) { return v < 0 ? 0 : v >= NY ? NY - 1 : v; };
        const double wr = 0.5 * (ref[y * NX + clampx(x + 1)].uy - ref[y * NX + clampx(x - 1)].uy)
                        - 0.5 * (ref[clampy(y + 1) * NX + x].ux - ref[clampy(y - 1) * NX + x].ux);
        const double e = std::fabs(w[c] - wr);
        if (!(d < 1e-4) || !(e < 1e-4)) ok = false;
        err = std::fmax(err, d);
        werr = std::fmax(werr, e);
      }
    std::printf("max error %.2e, vorticity %.2e, mass %.3f\n", err, werr, mass);
  }
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
