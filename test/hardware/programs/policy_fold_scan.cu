// kx: a miniature header-style library for tiled folds and scans.
// Everything in one translation unit so that it can be pasted into Compiler Explorer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>

namespace kx {

struct cuda_failure : std::runtime_error { using std::runtime_error::runtime_error; };

inline void expect(cudaError_t e) {
  if (e != cudaSuccess) throw cuda_failure{cudaGetErrorString(e)};
}

template <class T>
class device_buffer {
  T* ptr_ = nullptr;
  std::size_t size_ = 0;

 public:
  explicit device_buffer(std::size_t n) : size_{n} { expect(cudaMalloc(&ptr_, n * sizeof(T))); }
  explicit device_buffer(std::vector<T> const& host) : device_buffer(host.size()) {
    expect(cudaMemcpy(ptr_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  device_buffer(device_buffer const&) = delete;
  device_buffer(device_buffer&& o) noexcept
      : ptr_{std::exchange(o.ptr_, nullptr)}, size_{std::exchange(o.size_, 0)} {}
  ~device_buffer() { cudaFree(ptr_); }

  [[nodiscard]] auto data() const noexcept { return ptr_; }
  [[nodiscard]] auto size() const noexcept { return size_; }
  [[nodiscard]] auto to_host() const {
    std::vector<T> h(size_);
    expect(cudaMemcpy(h.data(), ptr_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
};
template <class T> device_buffer(std::vector<T> const&) -> device_buffer<T>;

enum class arrangement { blocked, striped };

template <int Threads, int Items, arrangement A>
struct tile_policy {
  static constexpr int threads = Threads;
  static constexpr int items = Items;
  static constexpr int tile = Threads * Items;
  static constexpr arrangement layout = A;

  __device__ static constexpr int slot(int tid, int item) {
    if constexpr (A == arrangement::blocked) return tid * Items + item;
    else return item * Threads + tid;
  }
};

struct geometry { unsigned blocks; unsigned threads; std::size_t tail; };

template <class Policy>
constexpr geometry geometry_for(std::size_t n) {
  return {static_cast<unsigned>((n + Policy::tile - 1) / Policy::tile), Policy::threads, n % Policy::tile};
}

// ---- value types -----------------------------------------------------------
template <class T> struct extent_of { T lo, hi, sum; };   // 12 or 24 bytes

// ---- operations and their identities ---------------------------------------
struct plus {
  template <class T> __host__ __device__ constexpr T operator()(T a, T b) const { return a + b; }
  template <class T> __host__ __device__ static constexpr T identity() { return T{}; }
};
struct merge_extent {
  template <class T>
  __host__ __device__ constexpr extent_of<T> operator()(extent_of<T> a, extent_of<T> b) const {
    return {a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.sum + b.sum};
  }
  template <class E> __host__ __device__ static constexpr E identity() {
    using V = decltype(E::lo);
    return {V(1e30), V(-1e30), V(0)};
  }
};

// ---- maps, composed left to right ------------------------------------------
template <class... Fs> struct pipeline;
template <> struct pipeline<> {
  template <class T> __host__ __device__ constexpr auto operator()(T v) const { return v; }
};
template <class F, class... Rest>
struct pipeline<F, Rest...> {
  F head;
  pipeline<Rest...> rest;
  template <class T> __host__ __device__ constexpr auto operator()(T v) const { return rest(head(v)); }
};
template <class... Fs> __host__ constexpr auto pipe(Fs... fs) {
  if constexpr (sizeof...(Fs) == 0) return pipeline<>{};
  else return [](auto f, auto... r) { return pipeline<decltype(f), decltype(r)...>{f, pipe(r...)}; }(fs...);
}
struct square { template <class T> __host__ __device__ constexpr T operator()(T v) const { return v * v; } };
template <class S> struct scale_by {
  S s;
  template <class T> __host__ __device__ constexpr T operator()(T v) const { return T(v * s); }
};
struct to_extent { template <class T> __host__ __device__ constexpr extent_of<T> operator()(T v) const { return {v, v, v}; } };

// ---- block level fold: shuffles for scalars, shared tree for anything else ---
template <int Threads, class T, class Op>
__device__ T block_fold(T v, Op op) {
  const int tid = threadIdx.x;
  if constexpr (std::is_arithmetic_v<T> && Threads % 32 == 0) {
    __shared__ T lane_zero[Threads / 32];
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) v = op(v, __shfl_down_sync(0xffffffffu, v, d));
    if (tid % 32 == 0) lane_zero[tid / 32] = v;
    __syncthreads();
    if (tid == 0)
      for (int w = 1; w < Threads / 32; ++w) v = op(v, lane_zero[w]);
    return v;
  } else {
    __shared__ T tree[Threads];
    tree[tid] = v;
    __syncthreads();
    for (int s = 1; s < Threads; s *= 2) {
      const int i = 2 * s * tid;
      if (i + s < Threads) tree[i] = op(tree[i], tree[i + s]);
      __syncthreads();
    }
    return tree[0];
  }
}

template <class Policy, class In, class Out, class Op, class Map>
__global__ void __launch_bounds__(Policy::threads)
fold_tiles(In const* __restrict__ in, std::size_t n, Out* __restrict__ out, Op op, Map map) {
  const std::size_t base = std::size_t{blockIdx.x} * Policy::tile;
  Out acc = Op::template identity<Out>();
#pragma unroll
  for (int i = 0; i < Policy::items; ++i) {
    const std::size_t at = base + Policy::slot(threadIdx.x, i);
    if (at < n) acc = op(acc, static_cast<Out>(map(in[at])));
  }
  acc = block_fold<Policy::threads>(acc, op);
  if (threadIdx.x == 0) out[blockIdx.x] = acc;
}

// Inclusive scan of one tile. Loads are always striped; shared memory turns the
// tile into a blocked arrangement, a Hillis-Steele pass links the threads.
template <class Policy, class T>
__global__ void scan_tiles(T const* __restrict__ in, T* __restrict__ out, T* __restrict__ totals, std::size_t n) {
  constexpr int kThreads = Policy::threads, kItems = Policy::items;
  __shared__ T stage[Policy::tile];
  __shared__ T carry[2][kThreads];
  const int tid = threadIdx.x;
  const std::size_t base = std::size_t{blockIdx.x} * Policy::tile;

#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int s = i * kThreads + tid;
    stage[s] = base + s < n ? in[base + s] : T{};
  }
  __syncthreads();

  T run{};
  T local[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) local[i] = run = run + stage[tid * kItems + i];
  carry[0][tid] = run;
  __syncthreads();

  int src = 0;
  for (int d = 1; d < kThreads; d <<= 1, src ^= 1) {
    T v = carry[src][tid];
    if (tid >= d) v += carry[src][tid - d];
    carry[src ^ 1][tid] = v;
    __syncthreads();
  }
  const T before = tid ? carry[src][tid - 1] : T{};
#pragma unroll
  for (int i = 0; i < kItems; ++i) stage[tid * kItems + i] = local[i] + before;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int s = i * kThreads + tid;
    if (base + s < n) out[base + s] = stage[s];
  }
  if (tid == kThreads - 1) totals[blockIdx.x] = local[kItems - 1] + before;
}

template <class Policy, class T>
__global__ void add_prefix(T* data, T const* __restrict__ scanned_totals, std::size_t n) {
  if (blockIdx.x == 0) return;
  const T off = scanned_totals[blockIdx.x - 1];
#pragma unroll
  for (int i = 0; i < Policy::items; ++i) {
    const std::size_t at = std::size_t{blockIdx.x} * Policy::tile + Policy::slot(threadIdx.x, i);
    if (at < n) data[at] += off;
  }
}

template <class Policy, class Out, class In, class Op, class Map>
Out fold(device_buffer<In> const& in, Op op, Map map) {
  const auto [blocks, threads, tail] = geometry_for<Policy>(in.size());
  (void)tail;
  device_buffer<Out> partial(blocks);
  fold_tiles<Policy><<<blocks, threads>>>(in.data(), in.size(), partial.data(), op, map);
  expect(cudaGetLastError());
  const auto h = partial.to_host();
  return std::accumulate(h.begin(), h.end(), Op::template identity<Out>(), op);
}

template <class Policy, class T>
auto inclusive_scan(device_buffer<T> const& in) {
  const auto [blocks, threads, tail] = geometry_for<Policy>(in.size());
  (void)tail;
  if (blocks > unsigned(Policy::tile)) throw cuda_failure{"input too long for a two level scan"};
  device_buffer<T> out(in.size()), totals(blocks), scanned(blocks), sink(1);
  scan_tiles<Policy><<<blocks, threads>>>(in.data(), out.data(), totals.data(), in.size());
  scan_tiles<Policy><<<1, threads>>>(totals.data(), scanned.data(), sink.data(), std::size_t{blocks});
  add_prefix<Policy><<<blocks, threads>>>(out.data(), scanned.data(), in.size());
  expect(cudaGetLastError());
  return out.to_host();
}

}  // namespace kx

namespace {

template <class T> std::vector<T> make_input(std::size_t n) {
  std::vector<T> v(n);
  std::uint32_t s = 12345u;
  for (auto& x : v) {
    s = s * 1664525u + 1013904223u;
    x = T(int(s >> 22) - 512) / (std::is_integral_v<T> ? T(1) : T(64));
  }
  return v;
}

template <class Policy, class T>
bool check_fold(std::size_t n) {
  const auto host = make_input<T>(n);
  kx::device_buffer dev{host};
  const auto map = kx::pipe(kx::scale_by<T>{T(3)}, kx::square{});
  const auto got = kx::fold<Policy, double>(dev, kx::plus{}, map);
  double want = 0;
  for (auto v : host) want += double(map(v));
  const bool ok = std::abs(got - want) <= 1e-6 * std::abs(want) + 1e-6;
  if (!ok) std::printf("fold: got %.9g want %.9g\n", got, want);

  const auto e = kx::fold<Policy, kx::extent_of<T>>(dev, kx::merge_extent{}, kx::pipe(kx::to_extent{}));
  T lo = host[0], hi = host[0]; double s = 0;
  for (auto v : host) { lo = v < lo ? v : lo; hi = v > hi ? v : hi; s += double(v); }
  const bool ok2 = e.lo == lo && e.hi == hi && std::abs(double(e.sum) - s) <= 1e-3 * double(n);
  if (!ok2) std::printf("extent: %g %g %g\n", double(e.lo), double(e.hi), double(e.sum));
  return ok && ok2;
}

template <class Policy, class T>
bool check_scan(std::size_t n) {
  const auto host = make_input<T>(n);
  const auto got = kx::inclusive_scan<Policy>(kx::device_buffer{host});
  double run = 0, worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    run += double(host[i]);
    worst = std::fmax(worst, std::abs(double(got[i]) - run));
  }
  if (worst > 1e-6) std::printf("scan: worst %g\n", worst);
  return worst <= 1e-6;
}

template <class T, class... Policies> bool all_folds(std::size_t n) { return (check_fold<Policies, T>(n) && ...); }
template <class T, class... Policies> bool all_scans(std::size_t n) { return (check_scan<Policies, T>(n) && ...); }

}  // namespace

int main() try {
  using kx::arrangement;
  using wide = kx::tile_policy<256, 8, arrangement::striped>;
  using deep = kx::tile_policy<128, 12, arrangement::blocked>;
  using odd = kx::tile_policy<96, 5, arrangement::blocked>;

  bool ok = all_folds<float, wide, deep>(300'001);
  ok = all_folds<double, odd>(40'000) && ok;
  ok = all_scans<int, kx::tile_policy<256, 8, arrangement::striped>, kx::tile_policy<192, 7, arrangement::blocked>>(500'123) && ok;
  ok = all_scans<double, kx::tile_policy<128, 4, arrangement::striped>>(77'777) && ok;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
} catch (std::exception const& e) {
  std::printf("exception: %s\nFAIL\n", e.what());
  return 1;
}
