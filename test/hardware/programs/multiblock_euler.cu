// nvcc: -std=c++20
// 2-D compressible Euler solver on a patchwork of structured blocks of unequal size.
// First order Rusanov fluxes, two ghost layers, halo exchange through packed buffers:
// every connection carries a pair of index functors (pack / unpack) built on the host.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cfd {

using real = double;
inline constexpr int NG = 2;      // ghost layers
inline constexpr int NV = 4;      // rho, rho*u, rho*v, E
inline constexpr real GAMMA = 1.4;

inline void must(cudaError_t e, std::string_view what) {
  if (e == cudaSuccess) return;
  std::printf("%.*s: %s\nFAIL\n", (int)what.size(), what.data(), cudaGetErrorString(e));
  std::exit(1);
}

enum class Side { West, East, South, North };

// device view of a block: variable-major, rows padded to `pitch`
struct BlockView {
  real* q;
  int nx, ny, pitch, plane;
  __host__ __device__ real& at(int v, int i, int j) const { return q[v * plane + (j + NG) * pitch + i + NG]; }
};

// strip of NG layers along a side; `inner` selects cells to send, otherwise ghosts to fill
struct StripIndex {
  Side side;
  bool inner;
  int nx, ny;
  __host__ __device__ int length() const { return side == Side::West || side == Side::East ? ny : nx; }
  __host__ __device__ void cell(int layer, int k, int& i, int& j) const {
    // layer 0 is next to the face on both sides
    const int d = inner ? layer : -1 - layer;
    switch (side) {
      case Side::West:  i = d;          j = k; break;
      case Side::East:  i = nx - 1 - d; j = k; break;
      case Side::South: i = k; j = d;          break;
      default:          i = k; j = ny - 1 - d; break;
    }
  }
};

struct Reflect {          // wall: mirror the normal momentum
  Side side;
  __host__ __device__ real operator()(int v, real x) const {
    const bool normal = (side == Side::West || side == Side::East) ? v == 1 : v == 2;
    return normal ? -x : x;
  }
};

__host__ __device__ inline real initial(int v, real x, real y) {
  const real r2 = (x - 0.4) * (x - 0.4) + (y - 0.55) * (y - 0.55);
  const real p = 1.0 + 4.0 * exp(-60.0 * r2), rho = 1.0 + 0.5 * exp(-30.0 * r2), u = 0.2, w = -0.1 * y;
  switch (v) {
    case 0: return rho;
    case 1: return rho * u;
    case 2: return rho * w;
    default: return p / (GAMMA - 1) + 0.5 * rho * (u * u + w * w);
  }
}

__host__ __device__ inline real pressure(const real* q) { return (GAMMA - 1) * (q[3] - 0.5 * (q[1] * q[1] + q[2] * q[2]) / q[0]); }

template <int DIR>
__host__ __device__ inline void rusanov(const real* L, const real* R, real* f) {
  const real pl = pressure(L), pr = pressure(R);
  const real ul = L[1 + DIR] / L[0], ur = R[1 + DIR] / R[0];
  const real al = fabs(ul) + sqrt(GAMMA * pl / L[0]), ar = fabs(ur) + sqrt(GAMMA * pr / R[0]);
  const real a = al > ar ? al : ar;
  for (int v = 0; v < NV; ++v) {
    real fl = L[v] * ul, fr = R[v] * ur;
    if (v == 1 + DIR) { fl += pl; fr += pr; }
    if (v == 3) { fl += pl * ul; fr += pr * ur; }
    f[v] = 0.5 * (fl + fr) - 0.5 * a * (R[v] - L[v]);
  }
}

// ------------------------------------------------------------------ kernels
__global__ void initialise(BlockView b, int i0, int j0, real h) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= b.nx || j >= b.ny) return;
  for (int v = 0; v < NV; ++v) b.at(v, i, j) = initial(v, (i0 + i + 0.5) * h, (j0 + j + 0.5) * h);
}

// buffer order: [k][layer][variable], as the message format prescribes
__global__ void packStrip(BlockView b, StripIndex s, real* __restrict__ buf) {
  const int n = s.length() * NG * NV;
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const int v = t % NV, layer = t / NV % NG, k = t / (NV * NG);
  int i, j;
  s.cell(layer, k, i, j);
  buf[t] = b.at(v, i, j);
}

template <class Op>
  requires std::invocable<Op, int, real>
__global__ void unpackStrip(BlockView b, StripIndex s, const real* __restrict__ buf, Op op) {
  const int n = s.length() * NG * NV;
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const int v = t % NV, layer = t / NV % NG, k = t / (NV * NG);
  int i, j;
  s.cell(layer, k, i, j);
  b.at(v, i, j) = op(v, buf[t]);
}

struct Copy { __host__ __device__ real operator()(int, real x) const { return x; } };

// straightforward: every cell reads its own 5-point neighbourhood and computes all four fluxes
__global__ void updateNaive(BlockView in, BlockView out, real lambda) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= in.nx || j >= in.ny) return;
  real c[NV], w[NV], e[NV], s[NV], n[NV], fw[NV], fe[NV], fs[NV], fn[NV];
  for (int v = 0; v < NV; ++v) {
    c[v] = in.at(v, i, j);
    w[v] = in.at(v, i - 1, j); e[v] = in.at(v, i + 1, j);
    s[v] = in.at(v, i, j - 1); n[v] = in.at(v, i, j + 1);
  }
  rusanov<0>(w, c, fw); rusanov<0>(c, e, fe);
  rusanov<1>(s, c, fs); rusanov<1>(c, n, fn);
  for (int v = 0; v < NV; ++v) out.at(v, i, j) = c[v] - lambda * (fe[v] - fw[v] + fn[v] - fs[v]);
}

// tile with one ghost layer in shared memory
template <int TX, int TY>
__global__ void __launch_bounds__(TX * TY) updateTiled(BlockView in, BlockView out, real lambda) {
  __shared__ real t[NV][TY + 2][TX + 2];
  const int bi = blockIdx.x * TX, bj = blockIdx.y * TY;
  for (int k = threadIdx.y * TX + threadIdx.x; k < (TX + 2) * (TY + 2); k += TX * TY) {
    const int li = k % (TX + 2), lj = k / (TX + 2);
    const int gi = min(bi + li - 1, in.nx), gj = min(bj + lj - 1, in.ny);
#pragma unroll
    for (int v = 0; v < NV; ++v) t[v][lj][li] = in.at(v, gi, gj);
  }
  __syncthreads();
  const int i = bi + threadIdx.x, j = bj + threadIdx.y;
  if (i >= in.nx || j >= in.ny) return;
  const int li = threadIdx.x + 1, lj = threadIdx.y + 1;
  auto load = [&](int x, int y, real* q) {
#pragma unroll
    for (int v = 0; v < NV; ++v) q[v] = t[v][y][x];
  };
  real c[NV], o[NV], f[NV], sum[NV] = {0, 0, 0, 0};
  load(li, lj, c);
  load(li - 1, lj, o); rusanov<0>(o, c, f); for (int v = 0; v < NV; ++v) sum[v] -= f[v];
  load(li + 1, lj, o); rusanov<0>(c, o, f); for (int v = 0; v < NV; ++v) sum[v] += f[v];
  load(li, lj - 1, o); rusanov<1>(o, c, f); for (int v = 0; v < NV; ++v) sum[v] -= f[v];
  load(li, lj + 1, o); rusanov<1>(c, o, f); for (int v = 0; v < NV; ++v) sum[v] += f[v];
#pragma unroll
  for (int v = 0; v < NV; ++v) out.at(v, i, j) = c[v] - lambda * sum[v];
}

__global__ void maxWaveSpeed(BlockView b, unsigned long long* out) {
  __shared__ real red[256];
  real m = 0;
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < b.nx * b.ny; k += gridDim.x * blockDim.x) {
    real q[NV];
    for (int v = 0; v < NV; ++v) q[v] = b.at(v, k % b.nx, k / b.nx);
    const real c = sqrt(GAMMA * pressure(q) / q[0]);
    m = fmax(m, fmax(fabs(q[1] / q[0]), fabs(q[2] / q[0])) + c);
  }
  red[threadIdx.x] = m;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) red[threadIdx.x] = fmax(red[threadIdx.x], red[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicMax(out, (unsigned long long)__double_as_longlong(red[0]));
}

// ------------------------------------------------------------------ host
struct CudaDelete { void operator()(void* p) const { cudaFree(p); } };
using DevPtr = std::unique_ptr<real, CudaDelete>;
static DevPtr allocate(size_t n) {
  real* p = nullptr;
  must(cudaMalloc(&p, n * sizeof(real)), "malloc");
  must(cudaMemset(p, 0, n * sizeof(real)), "memset");
  return DevPtr(p);
}

struct Block {
  int i0, j0, nx, ny, pitch;
  DevPtr a, b;
  cudaStream_t stream{};
  Block(int i0_, int j0_, int nx_, int ny_) : i0(i0_), j0(j0_), nx(nx_), ny(ny_), pitch(nx_ + 2 * NG) {
    a = allocate(size_t(NV) * plane());
    b = allocate(size_t(NV) * plane());
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  }
  ~Block() { cudaStreamDestroy(stream); }
  Block(Block&& o) noexcept = delete;
  int plane() const { return pitch * (ny + 2 * NG); }
  BlockView view() const { return {a.get(), nx, ny, pitch, plane()}; }
  BlockView other() const { return {b.get(), nx, ny, pitch, plane()}; }
};

}  // namespace cfd

int main() {
  using namespace cfd;
  constexpr int NX = 230, NY = 141, STEPS = 2;
  constexpr real h = 1.0 / NX;
  const std::array<int, 3> cutsX{0, 131, NX};
  const std::array<int, 2> cutsY{0, NY};

  std::vector<std::unique_ptr<Block>> blocks;
  for (size_t y = 0; y + 1 < cutsY.size(); ++y)
    for (size_t x = 0; x + 1 < cutsX.size(); ++x)
      blocks.push_back(std::make_unique<Block>(cutsX[x], cutsY[y], cutsX[x + 1] - cutsX[x], cutsY[y + 1] - cutsY[y]));

  unsigned long long* dMax;
  must(cudaMalloc(&dMax, sizeof(*dMax)), "malloc");
  must(cudaMemset(dMax, 0, sizeof(*dMax)), "memset");
  must(cudaDeviceSynchronize(), "memsets done");     // blocks work in non-blocking streams

  const dim3 tile(32, 8);
  auto gridFor = [](const Block& b, dim3 t) { return dim3((b.nx + t.x - 1) / t.x, (b.ny + t.y - 1) / t.y); };
  for (auto& b : blocks) {
    initialise<<<gridFor(*b, tile), tile, 0, b->stream>>>(b->view(), b->i0, b->j0, h);
    maxWaveSpeed<<<16, 256, 0, b->stream>>>(b->view(), dMax);
  }
  must(cudaDeviceSynchronize(), "init");
  unsigned long long bits;
  must(cudaMemcpy(&bits, dMax, sizeof(bits), cudaMemcpyDeviceToHost), "copy");
  real smax;
  static_assert(sizeof(smax) == sizeof(bits));
  std::copy_n(reinterpret_cast<const char*>(&bits), sizeof(bits), reinterpret_cast<char*>(&smax));
  const real lambda = 0.4 / smax;
  std::printf("max wave speed %.6f, dt/h %.6f\n", smax, lambda);

  // exchange list: closures that know their block, side and operation
  std::vector<DevPtr> buffers;
  std::vector<std::function<void()>> packs, unpacks;
  auto strip = [](const Block& b, Side s, bool inner) { return StripIndex{s, inner, b.nx, b.ny}; };
  auto addWall = [&](Block* b, Side s) {
    const auto n = strip(*b, s, true).length() * NG * NV;
    buffers.push_back(allocate(n));
    real* buf = buffers.back().get();
    const int g = (n + 127) / 128;
    packs.push_back([=] { packStrip<<<g, 128, 0, b->stream>>>(b->view(), strip(*b, s, true), buf); });
    unpacks.push_back([=] { unpackStrip<<<g, 128, 0, b->stream>>>(b->view(), strip(*b, s, false), buf, Reflect{s}); });
  };
  auto addLink = [&](Block* l, Side ls, Block* r, Side rs) {
    const auto n = strip(*l, ls, true).length() * NG * NV;
    buffers.push_back(allocate(n));
    real* buf = buffers.back().get();
    const int g = (n + 127) / 128;
    packs.push_back([=] { packStrip<<<g, 128, 0, l->stream>>>(l->view(), strip(*l, ls, true), buf); });
    unpacks.push_back([=] { unpackStrip<<<g, 128, 0, r->stream>>>(r->view(), strip(*r, rs, false), buf, Copy{}); });
  };
  Block *L = blocks[0].get(), *R = blocks[1].get();
  addLink(L, Side::East, R, Side::West);
  addLink(R, Side::West, L, Side::East);
  addWall(L, Side::West);
  addWall(R, Side::East);
  for (auto& b : blocks) { addWall(b.get(), Side::South); addWall(b.get(), Side::North); }
  must(cudaDeviceSynchronize(), "buffers");

  for (int step = 0; step < STEPS; ++step) {
    for (auto& f : packs) f();
    must(cudaDeviceSynchronize(), "pack");
    for (auto& f : unpacks) f();
    for (auto& b : blocks) {
      if (step % 2 == 0) updateNaive<<<gridFor(*b, dim3(16, 16)), dim3(16, 16), 0, b->stream>>>(b->view(), b->other(), lambda);
      else updateTiled<32, 8><<<gridFor(*b, tile), tile, 0, b->stream>>>(b->view(), b->other(), lambda);
      must(cudaGetLastError(), "update");
    }
    must(cudaDeviceSynchronize(), "step");
    for (auto& b : blocks) std::swap(b->a, b->b);
  }

  // reference: one undivided domain with one ghost layer
  const int P = NX + 2;
  std::vector<std::array<real, NV>> q(size_t(P) * (NY + 2)), qn(q.size());
  auto Q = [&](int i, int j) -> std::array<real, NV>& { return q[size_t(j + 1) * P + i + 1]; };
  real refMax = 0;
  for (int j = 0; j < NY; ++j)
    for (int i = 0; i < NX; ++i) {
      for (int v = 0; v < NV; ++v) Q(i, j)[v] = initial(v, (i + 0.5) * h, (j + 0.5) * h);
      auto& c = Q(i, j);
      refMax = std::max(refMax, std::max(std::fabs(c[1] / c[0]), std::fabs(c[2] / c[0])) + std::sqrt(GAMMA * pressure(c.data()) / c[0]));
    }
  for (int step = 0; step < STEPS; ++step) {
    for (int j = 0; j < NY; ++j) {
      Q(-1, j) = Q(0, j); Q(-1, j)[1] *= -1;
      Q(NX, j) = Q(NX - 1, j); Q(NX, j)[1] *= -1;
    }
    for (int i = 0; i < NX; ++i) {
      Q(i, -1) = Q(i, 0); Q(i, -1)[2] *= -1;
      Q(i, NY) = Q(i, NY - 1); Q(i, NY)[2] *= -1;
    }
    for (int j = 0; j < NY; ++j)
      for (int i = 0; i < NX; ++i) {
        real fw[NV], fe[NV], fs[NV], fn[NV];
        rusanov<0>(Q(i - 1, j).data(), Q(i, j).data(), fw); rusanov<0>(Q(i, j).data(), Q(i + 1, j).data(), fe);
        rusanov<1>(Q(i, j - 1).data(), Q(i, j).data(), fs); rusanov<1>(Q(i, j).data(), Q(i, j + 1).data(), fn);
        for (int v = 0; v < NV; ++v) qn[size_t(j + 1) * P + i + 1][v] = Q(i, j)[v] - lambda * (fe[v] - fw[v] + fn[v] - fs[v]);
      }
    q.swap(qn);
  }
  double worst = std::fabs(refMax - smax);
  for (auto& b : blocks) {
    std::vector<real> host(size_t(NV) * b->plane());
    must(cudaMemcpy(host.data(), b->a.get(), host.size() * sizeof(real), cudaMemcpyDeviceToHost), "D2H");
    BlockView hv{host.data(), b->nx, b->ny, b->pitch, b->plane()};
    for (int j = 0; j < b->ny; ++j)
      for (int i = 0; i < b->nx; ++i)
        for (int v = 0; v < NV; ++v) worst = std::max(worst, std::fabs(hv.at(v, i, j) - Q(b->i0 + i, b->j0 + j)[v]));
  }
  const bool ok = worst < 1e-10;
  std::printf("largest difference %.3e\n%s\n", worst, ok ? "PASS" : "FAIL");
  cudaFree(dMax);
  return ok ? 0 : 1;
}
