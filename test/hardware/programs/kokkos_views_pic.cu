// A 2d3v electromagnetic particle-in-cell mini app on top of a tiny "performance portability"
// layer: Views with layouts, RangePolicy / MDRangePolicy / TeamPolicy, parallel_for and
// parallel_reduce with functors. The whole simulation is templated on the memory layout.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>
#include <cuda_runtime.h>

namespace pp {

#define PP_INLINE __host__ __device__ inline

inline void cuda_internal_safe_call(cudaError_t e, const char* name, int line) {
  if (cudaSuccess != e) {
    std::cerr << name << " error( " << cudaGetErrorName(e) << "): " << cudaGetErrorString(e) << " line " << line << "\n";
    std::abort();
  }
}
#define PP_CUDA_SAFE_CALL(call) ::pp::cuda_internal_safe_call(call, #call, __LINE__)

struct LayoutLeft {};
struct LayoutRight {};

template <class T, int Rank, class Layout>
class View {
  std::string m_label;  // host only use
  std::shared_ptr<T> m_own;

 public:
  struct Handle {  // what kernels see
    T* ptr;
    int64_t ext[Rank], str[Rank];
    template <class... I>
    PP_INLINE T& operator()(I... idx) const {
      const int64_t ii[] = {static_cast<int64_t>(idx)...};
      int64_t off = 0;
#pragma unroll
      for (int r = 0; r < Rank; ++r) off += ii[r] * str[r];
      return ptr[off];
    }
    PP_INLINE int64_t extent(int r) const { return ext[r]; }
  };
  Handle h;

  View() = default;
  template <class... N>
  View(const std::string& label, N... n) : m_label(label) {
    const int64_t e[] = {static_cast<int64_t>(n)...};
    int64_t s = 1;
    for (int k = 0; k < Rank; ++k) {
      const int r = std::is_same<Layout, LayoutLeft>::value ? k : Rank - 1 - k;
      h.ext[r] = e[r];
      h.str[r] = s;
      s *= e[r];
    }
    T* p = nullptr;
    PP_CUDA_SAFE_CALL(cudaMalloc(&p, s * sizeof(T)));
    PP_CUDA_SAFE_CALL(cudaMemset(p, 0, s * sizeof(T)));
    m_own = std::shared_ptr<T>(p, [](T* q) { cudaFree(q); });
    h.ptr = p;
  }
  int64_t span() const {
    int64_t s = 1;
    for (int r = 0; r < Rank; ++r) s *= h.ext[r];
    return s;
  }
  void deep_copy_from(const std::vector<T>& v) { PP_CUDA_SAFE_CALL(cudaMemcpy(h.ptr, v.data(), span() * sizeof(T), cudaMemcpyHostToDevice)); }
  std::vector<T> mirror() const {
    std::vector<T> v(span());
    PP_CUDA_SAFE_CALL(cudaMemcpy(v.data(), h.ptr, span() * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
  template <class... I>
  int64_t offset(I... idx) const {
    const int64_t ii[] = {static_cast<int64_t>(idx)...};
    int64_t off = 0;
    for (int r = 0; r < Rank; ++r) off += ii[r] * h.str[r];
    return off;
  }
};

struct RangePolicy { int64_t begin, end; };
template <int TX, int TY>
struct MDRangePolicy { int64_t n0, n1; };
struct TeamPolicy { int league_size, team_size; size_t scratch; };

struct TeamMember {
  char* m_scratch;
  __device__ int league_rank() const { return blockIdx.x; }
  __device__ int league_size() const { return gridDim.x; }
  __device__ int team_rank() const { return threadIdx.x; }
  __device__ int team_size() const { return blockDim.x; }
  __device__ void team_barrier() const { __syncthreads(); }
  template <class T> __device__ T* team_scratch() const { return reinterpret_cast<T*>(m_scratch); }
};

namespace Impl {
template <class Functor>
__global__ void cuda_parallel_launch_range(const Functor f, int64_t begin, int64_t end) {
  const int64_t work_stride = static_cast<int64_t>(blockDim.x) * gridDim.x;
  for (int64_t iwork = begin + threadIdx.x + static_cast<int64_t>(blockDim.x) * blockIdx.x; iwork < end; iwork += work_stride) f(iwork);
}

template <class Functor>
__global__ void cuda_parallel_launch_md(const Functor f, int64_t n0, int64_t n1) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t j = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  if (i < n0 && j < n1) f(i, j);
}

template <class Functor>
__global__ void cuda_parallel_launch_team(const Functor f) {
  extern __shared__ double team_shared[];
  f(TeamMember{reinterpret_cast<char*>(team_shared)});
}

template <class Functor>
__global__ void cuda_parallel_reduce(const Functor f, int64_t n, double* result) {
  __shared__ double shared[128];
  double update = 0;
  for (int64_t i = threadIdx.x + static_cast<int64_t>(blockDim.x) * blockIdx.x; i < n; i += static_cast<int64_t>(blockDim.x) * gridDim.x) f(i, update);
  shared[threadIdx.x] = update;
  for (int w = 64; w > 0; w >>= 1) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < w) shared[threadIdx.x] += shared[threadIdx.x + w];
  }
  if (threadIdx.x == 0) atomicAdd(result, shared[0]);
}
}  // namespace Impl

template <class Functor>
void parallel_for(const RangePolicy& p, const Functor& f) {
  const int64_t n = p.end - p.begin;
  const int block = 192, grid = static_cast<int>(std::min<int64_t>((n + block - 1) / block, 2048));
  Impl::cuda_parallel_launch_range<<<grid, block>>>(f, p.begin, p.end);
  PP_CUDA_SAFE_CALL(cudaGetLastError());
}
template <int TX, int TY, class Functor>
void parallel_for(const MDRangePolicy<TX, TY>& p, const Functor& f) {
  const dim3 block(TX, TY), grid((p.n0 + TX - 1) / TX, (p.n1 + TY - 1) / TY);
  Impl::cuda_parallel_launch_md<<<grid, block>>>(f, p.n0, p.n1);
  PP_CUDA_SAFE_CALL(cudaGetLastError());
}
template <class Functor>
void parallel_for(const TeamPolicy& p, const Functor& f) {
  Impl::cuda_parallel_launch_team<<<p.league_size, p.team_size, p.scratch>>>(f);
  PP_CUDA_SAFE_CALL(cudaGetLastError());
}
template <class Functor>
double parallel_reduce(int64_t n, const Functor& f) {
  View<double, 1, LayoutLeft> r("result", 1);
  Impl::cuda_parallel_reduce<<<96, 128>>>(f, n, r.h.ptr);
  PP_CUDA_SAFE_CALL(cudaGetLastError());
  return r.mirror()[0];
}
}  // namespace pp

// ------------------------------------------------------------------------------------------
enum { PX, PY, VX, VY, VZ, NCOMP };

template <class T>
PP_INLINE void cic(T x, T y, int nx, int ny, int* ii, int* jj, T* w) {
  int i = static_cast<int>(floor(x)), j = static_cast<int>(floor(y));
  const T fx = x - i, fy = y - j;
  i = i >= nx ? i - nx : i;
  j = j >= ny ? j - ny : j;
  ii[0] = i; ii[1] = i + 1 == nx ? 0 : i + 1;
  jj[0] = j; jj[1] = j + 1 == ny ? 0 : j + 1;
  w[0] = (1 - fx) * (1 - fy); w[1] = fx * (1 - fy); w[2] = (1 - fx) * fy; w[3] = fx * fy;
}

template <class Part, class Field>
struct PushBoris {
  Part p; Field E, B;
  float qmdt2, dt;
  PP_INLINE void operator()(int64_t n) const {
    const int nx = static_cast<int>(E.extent(0)), ny = static_cast<int>(E.extent(1));
    auto x = p(n, PX), y = p(n, PY);
    using T = decltype(x + 0);
    int ii[2], jj[2];
    T w[4], e[3] = {0, 0, 0}, b[3] = {0, 0, 0};
    cic<T>(x, y, nx, ny, ii, jj, w);
    for (int k = 0; k < 4; ++k)
      for (int c = 0; c < 3; ++c) {
        e[c] += w[k] * E(ii[k & 1], jj[k >> 1], c);
        b[c] += w[k] * B(ii[k & 1], jj[k >> 1], c);
      }
    T um[3], up[3], t[3], t2 = 0;
    for (int c = 0; c < 3; ++c) {
      um[c] = p(n, VX + c) + qmdt2 * e[c];
      t[c] = qmdt2 * b[c];
      t2 += t[c] * t[c];
    }
    for (int c = 0; c < 3; ++c) up[c] = um[c] + um[(c + 1) % 3] * t[(c + 2) % 3] - um[(c + 2) % 3] * t[(c + 1) % 3];
    const T s = 2 / (1 + t2);
    T v[3];
    for (int c = 0; c < 3; ++c) {
      v[c] = um[c] + s * (up[(c + 1) % 3] * t[(c + 2) % 3] - up[(c + 2) % 3] * t[(c + 1) % 3]) + qmdt2 * e[c];
      p(n, VX + c) = v[c];
    }
    x += dt * v[0];
    y += dt * v[1];
    x = x < 0 ? x + nx : (x >= nx ? x - nx : x);
    y = y < 0 ? y + ny : (y >= ny ? y - ny : y);
    p(n, PX) = x;
    p(n, PY) = y;
  }
};

template <class Part, class Field>
struct DepositCurrent {
  Part p; Field J;
  float q;
  __device__ void operator()(int64_t n) const {
    int ii[2], jj[2];
    float w[4];
    cic<float>(p(n, PX), p(n, PY), static_cast<int>(J.extent(0)), static_cast<int>(J.extent(1)), ii, jj, w);
    for (int c = 0; c < 3; ++c) {
      const float qv = q * p(n, VX + c);
      for (int k = 0; k < 4; ++k) atomicAdd(&J(ii[k & 1], jj[k >> 1], c), w[k] * qv);
    }
  }
};

template <class Field>
struct AdvanceB {
  Field E, B;
  float hdt;
  PP_INLINE void operator()(int64_t i, int64_t j) const {
    const int64_t ip = i + 1 == E.extent(0) ? 0 : i + 1, jp = j + 1 == E.extent(1) ? 0 : j + 1;
    B(i, j, 0) -= hdt * (E(i, jp, 2) - E(i, j, 2));
    B(i, j, 1) += hdt * (E(ip, j, 2) - E(i, j, 2));
    B(i, j, 2) -= hdt * ((E(ip, j, 1) - E(i, j, 1)) - (E(i, jp, 0) - E(i, j, 0)));
  }
};

template <class Field>
struct AdvanceE {
  Field E, B, J;
  float dt;
  PP_INLINE void operator()(int64_t i, int64_t j) const {
    const int64_t im = i == 0 ? E.extent(0) - 1 : i - 1, jm = j == 0 ? E.extent(1) - 1 : j - 1;
    E(i, j, 0) += dt * ((B(i, j, 2) - B(i, jm, 2)) - J(i, j, 0));
    E(i, j, 1) += dt * (-(B(i, j, 2) - B(im, j, 2)) - J(i, j, 1));
    E(i, j, 2) += dt * ((B(i, j, 1) - B(im, j, 1)) - (B(i, j, 0) - B(i, jm, 0)) - J(i, j, 2));
    J(i, j, 0) = J(i, j, 1) = J(i, j, 2) = 0;  // ready for the next deposit
  }
};

template <class Part>
struct KineticEnergy {
  Part p;
  __device__ void operator()(int64_t n, double& upd) const {
    for (int c = VX; c <= VZ; ++c) upd += 0.5 * static_cast<double>(p(n, c)) * p(n, c);
  }
};

// density profile along x, private histogram in team scratch
template <class Part, class Hist>
struct DensityProfile {
  Part p; Hist hist;
  int64_t np;
  __device__ void operator()(const pp::TeamMember& team) const {
    int* bins = team.team_scratch<int>();
    const int nb = static_cast<int>(hist.extent(0));
    for (int b = team.team_rank(); b < nb; b += team.team_size()) bins[b] = 0;
    team.team_barrier();
    const int64_t chunk = (np + team.league_size() - 1) / team.league_size();
    const int64_t lo = chunk * team.league_rank(), hi = lo + chunk < np ? lo + chunk : np;
    for (int64_t n = lo + team.team_rank(); n < hi; n += team.team_size()) {
      int b = static_cast<int>(p(n, PX));
      atomicAdd(&bins[b < nb ? b : nb - 1], 1);
    }
    team.team_barrier();
    for (int b = team.team_rank(); b < nb; b += team.team_size())
      if (bins[b]) atomicAdd(&hist(b), bins[b]);
  }
};

// plain host arrays for the reference, same accessor interface
struct HostField {
  double* d; int64_t nx, ny;
  PP_INLINE double& operator()(int64_t i, int64_t j, int c) const { return d[(i * ny + j) * 3 + c]; }
  PP_INLINE int64_t extent(int r) const { return r == 0 ? nx : ny; }
};
struct HostPart {
  double* d;
  PP_INLINE double& operator()(int64_t n, int c) const { return d[n * NCOMP + c]; }
};

template <class Layout>
int run(const char* name, int nx, int ny, int64_t np, int nsteps) {
  const float dt = 0.4f, q = -0.02f, qmdt2 = -0.5f * dt;
  using FieldView = pp::View<float, 3, Layout>;
  using PartView = pp::View<float, 2, Layout>;
  FieldView E("E", nx, ny, 3), B("B", nx, ny, 3), J("J", nx, ny, 3);
  PartView P("particles", np, NCOMP);
  pp::View<int, 1, Layout> hist("hist", nx);

  std::vector<float> hp(np * NCOMP), hb(static_cast<size_t>(nx) * ny * 3);
  std::vector<double> rp(np * NCOMP), re(hb.size(), 0.0), rb(hb.size()), rj(hb.size(), 0.0);
  uint64_t s = 0x9E3779B97F4A7C15ull;
  auto uni = [&]() { s ^= s >> 12; s ^= s << 25; s ^= s >> 27; return static_cast<float>((s * 2685821657736338717ull) >> 40) / 16777216.0f; };
  for (int64_t n = 0; n < np; ++n) {
    const float v[NCOMP] = {uni() * nx * 0.999f, uni() * ny * 0.999f, uni() - 0.5f, uni() - 0.5f, uni() - 0.5f};
    for (int c = 0; c < NCOMP; ++c) rp[n * NCOMP + c] = hp[P.offset(n, c)] = v[c];
  }
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int c = 0; c < 3; ++c) rb[(i * ny + j) * 3 + c] = hb[B.offset(i, j, c)] = c == 2 ? 0.5f : 0.1f * std::sin(2 * 3.14159265f * (i + 2 * j) / nx);
  P.deep_copy_from(hp);
  B.deep_copy_from(hb);

  using PH = typename PartView::Handle;
  using FH = typename FieldView::Handle;
  const pp::MDRangePolicy<16, 8> cells{nx, ny};
  for (int step = 0; step < nsteps; ++step) {
    pp::parallel_for(pp::RangePolicy{0, np}, PushBoris<PH, FH>{P.h, E.h, B.h, qmdt2, dt});
    pp::parallel_for(pp::RangePolicy{0, np}, DepositCurrent<PH, FH>{P.h, J.h, q});
    pp::parallel_for(cells, AdvanceB<FH>{E.h, B.h, 0.5f * dt});
    pp::parallel_for(cells, AdvanceE<FH>{E.h, B.h, J.h, dt});
    pp::parallel_for(cells, AdvanceB<FH>{E.h, B.h, 0.5f * dt});
  }
  pp::parallel_for(pp::TeamPolicy{64, 128, nx * sizeof(int)}, DensityProfile<PH, typename pp::View<int, 1, Layout>::Handle>{P.h, hist.h, np});
  const double ke = pp::parallel_reduce(np, KineticEnergy<PH>{P.h});
  PP_CUDA_SAFE_CALL(cudaDeviceSynchronize());

  HostField hE{re.data(), nx, ny}, hB{rb.data(), nx, ny}, hJ{rj.data(), nx, ny};
  HostPart hP{rp.data()};
  double ke_ref = 0;
  for (int step = 0; step < nsteps; ++step) {
    PushBoris<HostPart, HostField> push{hP, hE, hB, qmdt2, dt};
    for (int64_t n = 0; n < np; ++n) {
      push(n);
      int ii[2], jj[2];
      double w[4];
      cic<double>(hP(n, PX), hP(n, PY), nx, ny, ii, jj, w);
      for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 4; ++k) hJ(ii[k & 1], jj[k >> 1], c) += w[k] * q * hP(n, VX + c);
    }
    AdvanceB<HostField> ab{hE, hB, 0.5f * dt};
    AdvanceE<HostField> ae{hE, hB, hJ, dt};
    for (int i = 0; i < nx; ++i) for (int j = 0; j < ny; ++j) ab(i, j);
    for (int i = 0; i < nx; ++i) for (int j = 0; j < ny; ++j) ae(i, j);
    for (int i = 0; i < nx; ++i) for (int j = 0; j < ny; ++j) ab(i, j);
  }
  const auto gp = P.mirror(), ge = E.mirror(), gb = B.mirror();
  const auto gh = hist.mirror();
  double ep = 0, ef = 0;
  std::vector<int> rh(nx, 0);
  for (int64_t n = 0; n < np; ++n) {
    for (int c = VX; c <= VZ; ++c) {
      ep = std::max(ep, std::fabs(gp[P.offset(n, c)] - rp[n * NCOMP + c]));
      ke_ref += 0.5 * rp[n * NCOMP + c] * rp[n * NCOMP + c];
    }
    rh[std::min(static_cast<int>(gp[P.offset(n, static_cast<int>(PX))]), nx - 1)]++;
  }
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int c = 0; c < 3; ++c) ef = std::max({ef, std::fabs(ge[E.offset(i, j, c)] - hE(i, j, c)), std::fabs(gb[B.offset(i, j, c)] - hB(i, j, c))});
  const bool ok = ep < 1e-3 && ef < 1e-3 && rh == gh && std::fabs(ke - ke_ref) < 1e-4 * ke_ref;
  std::cout << name << ": velocity err " << ep << " field err " << ef << " kinetic " << ke << " ref " << ke_ref << (ok ? " ok" : " MISMATCH") << "\n";
  return ok ? 0 : 1;
}

int main(int argc, char* argv[]) {
  const int nx = argc > 1 ? std::atoi(argv[1]) : 90, ny = argc > 2 ? std::atoi(argv[2]) : 70;
  int bad = run<pp::LayoutLeft>("LayoutLeft", nx, ny, 50000, 3);
  bad += run<pp::LayoutRight>("LayoutRight", nx, ny, 50000, 3);
  std::cout << (bad ? "FAIL" : "PASS") << std::endl;
  return bad ? 1 : 0;
}
