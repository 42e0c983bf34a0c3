// Views with layouts, range / MD-range / team policies and reductions in the manner of Kokkos (CUDA backend).
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#define KOKKOS_FUNCTION __host__ __device__
#define KOKKOS_INLINE_FUNCTION __host__ __device__ inline
#define KOKKOS_FORCEINLINE_FUNCTION __host__ __device__ __forceinline__
#define KOKKOS_IMPL_CUDA_SAFE_CALL(call) Kokkos::Impl::cuda_internal_safe_call(call, #call, __FILE__, __LINE__)

namespace Kokkos {
namespace Impl {
inline void cuda_internal_safe_call(cudaError_t e, const char* name, const char* file, int line) {
  if (e != cudaSuccess) { std::fprintf(stderr, "%s error: %s %s:%d\n", name, cudaGetErrorString(e), file, line); std::abort(); }
}
}  // namespace Impl

struct LayoutLeft {
  template <int R> static KOKKOS_FUNCTION void strides(const int (&ext)[R], int64_t (&s)[R]) { int64_t p = 1; for (int r = 0; r < R; r++) { s[r] = p; p *= ext[r]; } }
};
struct LayoutRight {
  template <int R> static KOKKOS_FUNCTION void strides(const int (&ext)[R], int64_t (&s)[R]) { int64_t p = 1; for (int r = R - 1; r >= 0; r--) { s[r] = p; p *= ext[r]; } }
};

template <typename DataType, int Rank, typename Layout> class View {
 public:
  using value_type = DataType;
  using array_layout = Layout;
  View() = default;
  template <typename... Ext> explicit View(const std::string&, Ext... e) : ext_{int(e)...} {
    static_assert(sizeof...(Ext) == Rank, "rank mismatch");
    Layout::template strides<Rank>(ext_, stride_);
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaMalloc(&ptr_, std::max<size_t>(span(), 1) * sizeof(DataType)));
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaMemset(ptr_, 0, std::max<size_t>(span(), 1) * sizeof(DataType)));
  }
  template <typename... I> KOKKOS_FORCEINLINE_FUNCTION DataType& operator()(I... i) const {
    static_assert(sizeof...(I) == Rank, "rank mismatch");
    const int64_t idx[Rank] = {int64_t(i)...};
    int64_t off = 0;
#pragma unroll
    for (int r = 0; r < Rank; r++) off += idx[r] * stride_[r];
    return ptr_[off];
  }
  KOKKOS_INLINE_FUNCTION int extent(int r) const { return ext_[r]; }
  KOKKOS_INLINE_FUNCTION DataType* data() const { return ptr_; }
  size_t span() const { size_t n = 1; for (int e : ext_) n *= e; return n; }
  int64_t stride(int r) const { return stride_[r]; }
  void free() { KOKKOS_IMPL_CUDA_SAFE_CALL(cudaFree(ptr_)); ptr_ = nullptr; }
 private:
  DataType* ptr_ = nullptr;
  int ext_[Rank] = {};
  int64_t stride_[Rank] = {};
};
template <typename T, int R, typename L> void deep_copy(View<T, R, L> dst, const std::vector<T>& src) { KOKKOS_IMPL_CUDA_SAFE_CALL(cudaMemcpy(dst.data(), src.data(), dst.span() * sizeof(T), cudaMemcpyHostToDevice)); }
template <typename T, int R, typename L> void deep_copy(std::vector<T>& dst, View<T, R, L> src) { dst.resize(src.span()); KOKKOS_IMPL_CUDA_SAFE_CALL(cudaMemcpy(dst.data(), src.data(), src.span() * sizeof(T), cudaMemcpyDeviceToHost)); }

template <unsigned MaxThreads, unsigned MinBlocks> struct LaunchBounds { static constexpr unsigned maxTperB = MaxThreads, minBperSM = MinBlocks; };
template <typename Bounds = LaunchBounds<256, 1>> struct RangePolicy { using launch_bounds = Bounds; int begin, end; };
template <int Rank> struct MDRangePolicy { int lower[Rank], upper[Rank], tile[Rank]; };
struct TeamPolicy {
  int league_size, team_size, vector_length; size_t scratch = 0;
  TeamPolicy& set_scratch_size(size_t bytes) { scratch = bytes; return *this; }
};

template <typename T> struct Sum { using value_type = T; static KOKKOS_FUNCTION void init(T& v) { v = T(); } static KOKKOS_FUNCTION void join(T& a, const T& b) { a += b; } };
template <typename T> struct MinLocScalar { T val; int loc; };
template <typename T> struct MinLoc {
  using value_type = MinLocScalar<T>;
  static KOKKOS_FUNCTION void init(value_type& v) { v.val = T(1e30); v.loc = -1; }
  static KOKKOS_FUNCTION void join(value_type& a, const value_type& b) { if (b.val < a.val || (b.val == a.val && (unsigned)b.loc < (unsigned)a.loc)) a = b; }
};

class TeamMember {
 public:
  __device__ TeamMember(char* scratch) : scratch_(scratch) {}
  __device__ int league_rank() const { return blockIdx.x; }
  __device__ int league_size() const { return gridDim.x; }
  __device__ int team_rank() const { return threadIdx.y; }
  __device__ int team_size() const { return blockDim.y; }
  __device__ void team_barrier() const { __syncthreads(); }
  template <typename T> __device__ T* team_scratch() const { return reinterpret_cast<T*>(scratch_); }
 private:
  char* scratch_;
};
template <typename F> __device__ __forceinline__ void team_thread_range(const TeamMember& m, int n, const F& f) { for (int i = m.team_rank(); i < n; i += m.team_size()) f(i); }
template <typename T, typename F> __device__ __forceinline__ void thread_vector_reduce(const TeamMember&, int begin, int end, const F& f, T& result) {
  T local = T();
  for (int i = begin + threadIdx.x; i < end; i += blockDim.x) f(i, local);
  for (int o = blockDim.x / 2; o > 0; o /= 2) local += __shfl_xor_sync(0xffffffffu, local, o, blockDim.x);
  result = local;
}

namespace Impl {
template <typename Driver, unsigned Max, unsigned Min> __global__ __launch_bounds__(Max, Min) void cuda_parallel_launch_local_memory(const Driver driver) { driver(); }

template <typename Functor, typename Policy> struct ParallelForRange {
  Functor f; Policy p;
  __device__ void operator()() const {
    const int work_stride = blockDim.y * gridDim.x;
    for (int i = p.begin + threadIdx.y + blockDim.y * blockIdx.x; i < p.end; i = i < p.end - work_stride ? i + work_stride : p.end) f(i);
  }
};
template <typename Functor> struct ParallelForMD3 {
  Functor f; MDRangePolicy<3> p;
  __device__ void operator()() const {
    const int i = p.lower[0] + blockIdx.x * blockDim.x + threadIdx.x, j = p.lower[1] + blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= p.upper[0] || j >= p.upper[1]) return;
    for (int k = p.lower[2] + blockIdx.z * blockDim.z + threadIdx.z; k < p.upper[2]; k += gridDim.z * blockDim.z) f(i, j, k);
  }
};
template <typename Functor> struct ParallelForTeam {
  Functor f;
  __device__ void operator()() const { extern __shared__ __align__(16) char team_shmem[]; f(TeamMember(team_shmem)); }
};
template <typename Functor, typename Policy, typename Reducer> struct ParallelReduceRange {
  using value_type = typename Reducer::value_type;
  Functor f; Policy p; value_type* scratch; unsigned* flags; value_type* result;
  __device__ bool block_join(value_type& v) const {
    extern __shared__ __align__(16) char reduce_shmem[];
    value_type* s = reinterpret_cast<value_type*>(reduce_shmem);
    s[threadIdx.y] = v;
    __syncthreads();
    for (int o = blockDim.y / 2; o > 0; o /= 2) {
      if ((int)threadIdx.y < o) Reducer::join(s[threadIdx.y], s[threadIdx.y + o]);
      __syncthreads();
    }
    v = s[0];
    __syncthreads();
    return threadIdx.y == 0;
  }
  __device__ void operator()() const {
    value_type v;
    Reducer::init(v);
    for (int i = p.begin + threadIdx.y + blockDim.y * blockIdx.x; i < p.end; i += blockDim.y * gridDim.x) f(i, v);
    __shared__ int is_last;
    if (block_join(v)) {
      scratch[blockIdx.x] = v;
      __threadfence();
      is_last = atomicInc(flags, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    Reducer::init(v);
    for (int b = threadIdx.y; b < (int)gridDim.x; b += blockDim.y) { const value_type t = scratch[b]; Reducer::join(v, t); }
    if (block_join(v)) *result = v;
  }
};
}  // namespace Impl

template <typename Bounds, typename Functor> void parallel_for(const std::string&, const RangePolicy<Bounds>& p, const Functor& f) {
  using D = Impl::ParallelForRange<Functor, RangePolicy<Bounds>>;
  const int block = Bounds::maxTperB, grid = std::min((p.end - p.begin + block - 1) / block, 65535);
  Impl::cuda_parallel_launch_local_memory<D, Bounds::maxTperB, Bounds::minBperSM><<<grid, dim3(1, block)>>>(D{f, p});
  KOKKOS_IMPL_CUDA_SAFE_CALL(cudaGetLastError());
}
template <typename Functor> void parallel_for(const std::string&, const MDRangePolicy<3>& p, const Functor& f) {
  using D = Impl::ParallelForMD3<Functor>;
  const dim3 block(p.tile[0], p.tile[1], p.tile[2]);
  auto n = [&](int r) { return (p.upper[r] - p.lower[r] + p.tile[r] - 1) / p.tile[r]; };
  Impl::cuda_parallel_launch_local_memory<D, 1024, 1><<<dim3(n(0), n(1), n(2)), block>>>(D{f, p});
  KOKKOS_IMPL_CUDA_SAFE_CALL(cudaGetLastError());
}
template <typename Functor> void parallel_for(const std::string&, const TeamPolicy& p, const Functor& f) {
  using D = Impl::ParallelForTeam<Functor>;
  Impl::cuda_parallel_launch_local_memory<D, 512, 1><<<p.league_size, dim3(p.vector_length, p.team_size), p.scratch>>>(D{f});
  KOKKOS_IMPL_CUDA_SAFE_CALL(cudaGetLastError());
}
template <typename Reducer, typename Bounds, typename Functor> void parallel_reduce(const std::string&, const RangePolicy<Bounds>& p, const Functor& f, typename Reducer::value_type& result) {
  using V = typename Reducer::value_type;
  using D = Impl::ParallelReduceRange<Functor, RangePolicy<Bounds>, Reducer>;
  const int block = Bounds::maxTperB, grid = std::max(1, std::min((p.end - p.begin + block - 1) / block, 512));
  View<V, 1, LayoutRight> scratch("scratch", grid + 1);
  View<unsigned, 1, LayoutRight> flags("flags", 1);
  Impl::cuda_parallel_launch_local_memory<D, Bounds::maxTperB, Bounds::minBperSM><<<grid, dim3(1, block), block * sizeof(V)>>>(D{f, p, scratch.data(), flags.data(), scratch.data() + grid});
  KOKKOS_IMPL_CUDA_SAFE_CALL(cudaGetLastError());
  KOKKOS_IMPL_CUDA_SAFE_CALL(cudaMemcpy(&result, scratch.data() + grid, sizeof(V), cudaMemcpyDeviceToHost));
  scratch.free();
  flags.free();
}
}  // namespace Kokkos

// ---- application functors ----
template <typename ViewType> struct HeatStep {
  ViewType u, un; double dt;
  KOKKOS_INLINE_FUNCTION void operator()(int i, int j, int k) const {
    const double c = u(i, j, k);
    un(i, j, k) = c + dt * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1) - 6.0 * c);
  }
};
template <typename ViewType> struct SquaredNorm { ViewType x; KOKKOS_INLINE_FUNCTION void operator()(int i, double& s) const { const double v = x.data()[i]; s += v * v; } };
struct FindMin { Kokkos::View<float, 1, Kokkos::LayoutRight> x; KOKKOS_INLINE_FUNCTION void operator()(int i, Kokkos::MinLocScalar<float>& m) const { if (x(i) < m.val) { m.val = x(i); m.loc = i; } } };
struct SpmvFunctor {
  using VI = Kokkos::View<int, 1, Kokkos::LayoutRight>;
  using VF = Kokkos::View<float, 1, Kokkos::LayoutRight>;
  VI rowptr, col; VF val, x, y; int rows_per_team;
  __device__ void operator()(const Kokkos::TeamMember& team) const {
    const int first = team.league_rank() * rows_per_team, n = min(rows_per_team, y.extent(0) - first);
    Kokkos::team_thread_range(team, n, [&](int r) {
      float sum;
      Kokkos::thread_vector_reduce(team, rowptr(first + r), rowptr(first + r + 1), [&](int e, float& s) { s += val(e) * x(col(e)); }, sum);
      if (threadIdx.x == 0) y(first + r) = sum;
    });
  }
};
template <typename InView, typename OutView> struct TeamTranspose {
  InView in; OutView out; int tile, tiles_per_row;
  __device__ void operator()(const Kokkos::TeamMember& team) const {
    double* s = team.team_scratch<double>();
    const int ti = (team.league_rank() / tiles_per_row) * tile, tj = (team.league_rank() % tiles_per_row) * tile;
    Kokkos::team_thread_range(team, tile, [&](int r) { for (int c = threadIdx.x; c < tile; c += blockDim.x) if (ti + r < in.extent(0) && tj + c < in.extent(1)) s[r * tile + c] = in(ti + r, tj + c); });
    team.team_barrier();
    Kokkos::team_thread_range(team, tile, [&](int r) { for (int c = threadIdx.x; c < tile; c += blockDim.x) if (tj + r < in.extent(1) && ti + c < in.extent(0)) out(tj + r, ti + c) = s[c * tile + r]; });
  }
};
struct Axpby { Kokkos::View<float, 1, Kokkos::LayoutRight> x, y; float a, b; KOKKOS_INLINE_FUNCTION void operator()(int i) const { y(i) = a * x(i) + b * y(i); } };

template <typename Layout> bool test_heat(int nx, int ny, int nz, std::mt19937& rng) {
  using V = Kokkos::View<double, 3, Layout>;
  V u("u", nx, ny, nz), un("un", nx, ny, nz);
  std::vector<double> h(u.span()), got;
  for (auto& v : h) v = (rng() % 1000) / 1000.0;
  Kokkos::deep_copy(u, h);
  Kokkos::deep_copy(un, h);
  std::vector<double> a = h, b = h;
  const int64_t s0 = u.stride(0), s1 = u.stride(1), s2 = u.stride(2);
  for (int t = 0; t < 2; t++) {
    Kokkos::parallel_for("heat", Kokkos::MDRangePolicy<3>{{1, 1, 1}, {nx - 1, ny - 1, nz - 1}, {32, 4, 2}}, HeatStep<V>{u, un, 0.1});
    std::swap(u, un);
    for (int i = 1; i < nx - 1; i++) for (int j = 1; j < ny - 1; j++) for (int k = 1; k < nz - 1; k++) {
      const int64_t c = i * s0 + j * s1 + k * s2;
      b[c] = a[c] + 0.1 * (a[c - s0] + a[c + s0] + a[c - s1] + a[c + s1] + a[c - s2] + a[c + s2] - 6.0 * a[c]);
    }
    std::swap(a, b);
  }
  Kokkos::deep_copy(got, u);
  double norm = 0, ref = 0;
  Kokkos::parallel_reduce<Kokkos::Sum<double>>("norm", Kokkos::RangePolicy<>{0, (int)u.span()}, SquaredNorm<V>{u}, norm);
  bool ok = true;
  for (size_t i = 0; i < a.size(); i++) { ok &= std::fabs(a[i] - got[i]) < 1e-9; ref += a[i] * a[i]; }
  ok &= std::fabs(norm - ref) < 1e-9 * ref;
  std::printf("heat %s: %s\n", std::is_same<Layout, Kokkos::LayoutLeft>::value ? "LayoutLeft" : "LayoutRight", ok ? "ok" : "BAD");
  u.free(); un.free();
  return ok;
}

int main() {
  std::mt19937 rng(3);
  bool ok = test_heat<Kokkos::LayoutLeft>(66, 50, 40, rng);
  ok &= test_heat<Kokkos::LayoutRight>(66, 50, 40, rng);
  { // spmv + axpby + minloc
    const int n = 20000;
    std::vector<int> rp{0}, col;
    std::vector<float> val, x(n), y;
    for (int i = 0; i < n; i++) { const int d = 5 + rng() % 40; for (int k = 0; k < d; k++) { col.push_back(rng() % n); val.push_back((int)(rng() % 200) / 100.f - 1.f); } rp.push_back(col.size()); x[i] = (rng() % 1000) / 500.f - 1.f; }
    SpmvFunctor f;
    f.rowptr = SpmvFunctor::VI("rowptr", n + 1); f.col = SpmvFunctor::VI("col", col.size()); f.val = SpmvFunctor::VF("val", val.size());
    f.x = SpmvFunctor::VF("x", n); f.y = SpmvFunctor::VF("y", n); f.rows_per_team = 64;
    Kokkos::deep_copy(f.rowptr, rp); Kokkos::deep_copy(f.col, col); Kokkos::deep_copy(f.val, val); Kokkos::deep_copy(f.x, x);
    Kokkos::parallel_for("spmv", Kokkos::TeamPolicy{(n + 63) / 64, 32, 8}, f);
    Kokkos::parallel_for("axpby", Kokkos::RangePolicy<Kokkos::LaunchBounds<128, 4>>{0, n}, Axpby{f.x, f.y, 2.0f, -0.5f});
    Kokkos::MinLocScalar<float> m{};
    Kokkos::parallel_reduce<Kokkos::MinLoc<float>>("min", Kokkos::RangePolicy<Kokkos::LaunchBounds<512, 2>>{0, n}, FindMin{f.y}, m);
    Kokkos::deep_copy(y, f.y);
    bool good = true;
    for (int i = 0; i < n; i++) { double s = 0; for (int e = rp[i]; e < rp[i + 1]; e++) s += val[e] * x[col[e]]; good &= std::fabs(y[i] - (2.0 * x[i] - 0.5 * s)) < 1e-3; }
    const auto it = std::min_element(y.begin(), y.end());
    good &= m.val == *it && m.loc == it - y.begin();
    std::printf("spmv/axpby/minloc: %s\n", good ? "ok" : "BAD");
    ok &= good;
  }
  { // tiled transpose between layouts
    const int r = 500, c = 333, tile = 32;
    Kokkos::View<double, 2, Kokkos::LayoutRight> in("in", r, c);
    Kokkos::View<double, 2, Kokkos::LayoutRight> out("out", c, r);
    std::vector<double> h(r * c), t;
    for (auto& v : h) v = rng() % 100000;
    Kokkos::deep_copy(in, h);
    const int tr = (r + tile - 1) / tile, tc = (c + tile - 1) / tile;
    Kokkos::parallel_for("transpose", Kokkos::TeamPolicy{tr * tc, 8, 32}.set_scratch_size(tile * tile * sizeof(double)), TeamTranspose<decltype(in), decltype(out)>{in, out, tile, tc});
    Kokkos::deep_copy(t, out);
    bool good = true;
    for (int i = 0; i < r; i++) for (int j = 0; j < c; j++) good &= t[j * r + i] == h[i * c + j];
    std::printf("transpose: %s\n", good ? "ok" : "BAD");
    ok &= good;
  }
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
