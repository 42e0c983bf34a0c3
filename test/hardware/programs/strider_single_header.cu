// strider - a tiny policy based array library, single-file amalgamation plus self test.
//
//   iterators      counting / strided / permutation / transform
//   expressions    CRTP, lazily evaluated by one kernel, vectorised when the operands allow it
//   algorithms     reduce, transpose (swizzle policies), segmented sort (constexpr Batcher network),
//                  FIR filter (staging policies: plain or cp.async double buffering)
#include <cuda_runtime.h>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <type_traits>
#include <vector>

#define STRIDER_HD __host__ __device__ __forceinline__
#define STRIDER_D __device__ __forceinline__

namespace strider {
namespace cg = cooperative_groups;

// ------------------------------------------------------------------ errors
inline void ensure(cudaError_t e) {
  if (e != cudaSuccess) {
    std::printf("strider: %s\nFAIL\n", cudaGetErrorString(e));
    std::exit(1);
  }
}

// ------------------------------------------------------------------ policies
template <int Threads, int Items> struct tuning {
  static constexpr int threads = Threads;
  static constexpr int items = Items;
  static constexpr int tile = Threads * Items;
  static int grid(int n) { return (n + tile - 1) / tile; }
};
using default_tuning = tuning<256, 4>;

// ------------------------------------------------------------------ iterators
struct contiguous_tag {};
struct indexed_tag {};

template <class T> struct pointer_iterator {
  using value_type = T; using category = contiguous_tag;
  const T* p;
  STRIDER_HD T operator[](int i) const { return p[i]; }
};
template <class T> struct counting_iterator {
  using value_type = T; using category = indexed_tag;
  T first;
  STRIDER_HD T operator[](int i) const { return first + T(i); }
};
template <class It> struct strided_iterator {
  using value_type = typename It::value_type; using category = indexed_tag;
  It it; int stride;
  STRIDER_HD value_type operator[](int i) const { return it[i * stride]; }
};
template <class It, class Index> struct permutation_iterator {
  using value_type = typename It::value_type; using category = indexed_tag;
  It it; Index ix;
  STRIDER_HD value_type operator[](int i) const { return it[ix[i]]; }
};
template <class F, class It> struct transform_iterator {
  using value_type = decltype(std::declval<F>()(std::declval<typename It::value_type>())); using category = indexed_tag;
  F f;
  It it;
  STRIDER_HD value_type operator[](int i) const { return f(it[i]); }
};
template <class F, class It> transform_iterator<F, It> make_transform(F f, It it) { return {f, it}; }
template <class It> strided_iterator<It> make_strided(It it, int s) { return {it, s}; }
template <class It, class Ix> permutation_iterator<It, Ix> make_permutation(It it, Ix ix) { return {it, ix}; }

// ------------------------------------------------------------------ expressions
template <class D> struct expression {
  STRIDER_HD const D& self() const { return static_cast<const D&>(*this); }
};
struct vec4 { float v[4]; };
struct view : expression<view> {
  float* p;
  explicit view(float* q) : p(q) {}
  STRIDER_HD float at(int i) const { return p[i]; }
  STRIDER_D vec4 at4(int i) const {
    const float4 f = *reinterpret_cast<const float4*>(p + 4 * i);
    return {{f.x, f.y, f.z, f.w}};
  }
  bool aligned() const { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }
};
struct scalar : expression<scalar> {
  float s; explicit scalar(float x) : s(x) {}
  STRIDER_HD float at(int) const { return s; }
  STRIDER_D vec4 at4(int) const { return {{s, s, s, s}}; }
  bool aligned() const { return true; }
};
struct add { STRIDER_HD static float apply(float a, float b) { return a + b; } };
struct mul { STRIDER_HD static float apply(float a, float b) { return a * b; } };
struct maxi { STRIDER_HD static float apply(float a, float b) { return a > b ? a : b; } };
template <class Op, class A, class B> struct binary : expression<binary<Op, A, B>> {
  A a; B b;
  binary(const A& x, const B& y) : a(x), b(y) {}
  STRIDER_HD float at(int i) const { return Op::apply(a.at(i), b.at(i)); }
  STRIDER_D vec4 at4(int i) const {
    const vec4 x = a.at4(i), y = b.at4(i);
    vec4 r;
#pragma unroll
    for (int k = 0; k < 4; ++k) r.v[k] = Op::apply(x.v[k], y.v[k]);
    return r;
  }
  bool aligned() const { return a.aligned() && b.aligned(); }
};
template <class A, class B> binary<add, A, B> operator+(const expression<A>& a, const expression<B>& b) { return {a.self(), b.self()}; }
template <class A, class B> binary<mul, A, B> operator*(const expression<A>& a, const expression<B>& b) { return {a.self(), b.self()}; }
template <class A, class B> binary<maxi, A, B> maximum(const expression<A>& a, const expression<B>& b) { return {a.self(), b.self()}; }

// ------------------------------------------------------------------ kernels
namespace detail {

template <class P, class E> __global__ void __launch_bounds__(P::threads) eval_scalar(float* __restrict__ dst, E e, int n) {
#pragma unroll
  for (int k = 0; k < P::items; ++k) {
    const int i = blockIdx.x * P::tile + k * P::threads + threadIdx.x;
    if (i < n) dst[i] = e.at(i);
  }
}

template <class P, class E> __global__ void __launch_bounds__(P::threads) eval_vector(float* __restrict__ dst, E e, int n) {
  const int q = blockIdx.x * P::threads + threadIdx.x;
  if (4 * q + 3 < n) {
    const vec4 r = e.at4(q);
    *reinterpret_cast<float4*>(dst + 4 * q) = make_float4(r.v[0], r.v[1], r.v[2], r.v[3]);
  } else {
    for (int i = 4 * q; i < n; ++i) dst[i] = e.at(i);
  }
}

// blocked items for iterators that must be called element by element, striped float loads otherwise
template <class P, class It, class T>
STRIDER_D T thread_sum(It it, int n, contiguous_tag) {
  T s{};
#pragma unroll
  for (int k = 0; k < P::items; ++k) {
    const int i = blockIdx.x * P::tile + k * P::threads + threadIdx.x;
    if (i < n) s += it[i];
  }
  return s;
}
template <class P, class It, class T>
STRIDER_D T thread_sum(It it, int n, indexed_tag) {
  T s{};
  const int base = (blockIdx.x * P::threads + threadIdx.x) * P::items;
  for (int k = 0; k < P::items; ++k)
    if (base + k < n) s += it[base + k];
  return s;
}

template <class P, class It, class T>
__global__ void __launch_bounds__(P::threads) reduce_kernel(It it, int n, T* out) {
  __shared__ T partial[P::threads / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  T s = thread_sum<P, It, T>(it, n, typename It::category{});
  s = cg::reduce(warp, s, cg::plus<T>());
  if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = s;
  block.sync();
  if (warp.meta_group_rank() == 0) {
    T v = warp.thread_rank() < P::threads / 32 ? partial[warp.thread_rank()] : T{};
    v = cg::reduce(warp, v, cg::plus<T>());
    if (warp.thread_rank() == 0) atomicAdd(out, v);
  }
}

// ---- transpose with a swizzle policy: where does element (r, c) of a 32x32 tile live?
template <class Derived> struct swizzle_base {
  STRIDER_D static int index(int r, int c) { return r * Derived::pitch + Derived::column(r, c); }
};
struct no_swizzle : swizzle_base<no_swizzle> {
  static constexpr int pitch = 32; STRIDER_D static int column(int, int c) { return c; }
};
struct padded : swizzle_base<padded> {
  static constexpr int pitch = 33; STRIDER_D static int column(int, int c) { return c; }
};
struct xor_swizzle : swizzle_base<xor_swizzle> {
  static constexpr int pitch = 32; STRIDER_D static int column(int r, int c) { return c ^ r; }
};
template <class Swizzle, class T>
__global__ void __launch_bounds__(256) transpose_kernel(const T* __restrict__ in, T* __restrict__ out, int rows, int cols, int in_pitch, int out_pitch) {
  __shared__ T tile[32 * Swizzle::pitch];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 32; k += 8)
    if (c < cols && r + k < rows) tile[Swizzle::index(threadIdx.y + k, threadIdx.x)] = in[(r + k) * in_pitch + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 32; k += 8)
    if (c < rows && r + k < cols) out[(r + k) * out_pitch + c] = tile[Swizzle::index(threadIdx.x, threadIdx.y + k)];
}

// ---- Batcher odd-even merge sort network, computed at compile time
template <int N> struct batcher {
  int lo[N * 8]{}, hi[N * 8]{}, size = 0;
  STRIDER_HD constexpr batcher() {
    for (int p = 1; p < N; p *= 2)
      for (int k = p; k >= 1; k /= 2)
        for (int j = k % p; j + k < N; j += 2 * k)
          for (int i = 0; i < k && i + j + k < N; ++i)
            if ((i + j) / (2 * p) == (i + j + k) / (2 * p)) {
              lo[size] = i + j; hi[size++] = i + j + k;
            }
  }
};
struct segment_rows {      // segment s occupies N neighbouring elements
  STRIDER_D static int index(int s, int k, int N, int) { return s * N + k; }
};
struct segment_columns {   // element k of all segments is contiguous
  STRIDER_D static int index(int s, int k, int, int segments) { return k * segments + s; }
};
template <int N, class Layout, class T>
__global__ void sort_segments_kernel(T* data, int segments) {
  constexpr batcher<N> net{};
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= segments) return;
  T x[N];
#pragma unroll
  for (int k = 0; k < N; ++k) x[k] = data[Layout::index(s, k, N, segments)];
#pragma unroll
  for (int q = 0; q < net.size; ++q) {
    const T a = x[net.lo[q]], b = x[net.hi[q]];
    x[net.lo[q]] = a < b ? a : b;
    x[net.hi[q]] = a < b ? b : a;
  }
#pragma unroll
  for (int k = 0; k < N; ++k) data[Layout::index(s, k, N, segments)] = x[k];
}

// ---- FIR filter; the block walks along its row, a tile at a time
STRIDER_D unsigned lane_id() {
  unsigned r;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(r));
  return r;
}
struct plain_staging {
  static constexpr int stages = 1; STRIDER_D static void copy(float* dst, const float* src) { *dst = *src; }
  STRIDER_D static void commit() {}
  STRIDER_D static void wait(bool) {}
};
struct async_staging {
  static constexpr int stages = 2; STRIDER_D static void copy(float* dst, const float* src) { __pipeline_memcpy_async(dst, src, sizeof(float)); }
  STRIDER_D static void commit() { __pipeline_commit(); }
  STRIDER_D static void wait(bool more) {
    if (more) __pipeline_wait_prior(1); else __pipeline_wait_prior(0);
  }
};
template <int Taps, int Tile, class Staging>
__global__ void __launch_bounds__(Tile) fir_kernel(const float* __restrict__ in, float* __restrict__ out, const float* __restrict__ taps, int length, int pitch) {
  __shared__ float buf[Staging::stages][Tile + Taps - 1];
  __shared__ float h[Taps];
  const float* row = in + (size_t)blockIdx.x * pitch;
  float* dst = out + (size_t)blockIdx.x * pitch;
  if (threadIdx.x < Taps) h[threadIdx.x] = taps[threadIdx.x];
  const int tiles = (length + Tile - 1) / Tile;
  auto stage = [&](int t) {
    float* b = buf[t % Staging::stages];
    for (int i = threadIdx.x; i < Tile + Taps - 1; i += Tile) {
      const int g = t * Tile + i - (Taps - 1);
      if (g >= 0 && g < length) Staging::copy(&b[i], &row[g]);
      else b[i] = 0.0f;
    }
    Staging::commit();
  };
  stage(0);
  for (int t = 0; t < tiles; ++t) {
    const bool more = Staging::stages > 1 && t + 1 < tiles;
    if (more) stage(t + 1);
    Staging::wait(more);
    __syncthreads();
    const float* b = buf[t % Staging::stages];
    float s = 0.0f;
#pragma unroll
    for (int k = 0; k < Taps; ++k) s = fmaf(h[k], b[threadIdx.x + Taps - 1 - k], s);
    const int g = t * Tile + threadIdx.x;
    if (g < length) dst[g] = lane_id() == 0 ? s + 0.0f : s;
    __syncthreads();
    if (Staging::stages == 1 && t + 1 < tiles) stage(t + 1);
  }
}

}  // namespace detail

// ------------------------------------------------------------------ front ends
template <class P = default_tuning, class E>
void assign(view dst, const expression<E>& e, int n) {
  if (dst.aligned() && e.self().aligned()) {
    const int g = (n + 4 * P::threads - 1) / (4 * P::threads);
    detail::eval_vector<P, E><<<g, P::threads>>>(dst.p, e.self(), n);
  } else {
    detail::eval_scalar<P, E><<<P::grid(n), P::threads>>>(dst.p, e.self(), n);
  }
  ensure(cudaGetLastError());
}

template <class P = default_tuning, class It>
typename It::value_type sum(It it, int n) {
  using T = typename It::value_type;
  T *d, r{};
  ensure(cudaMalloc(&d, sizeof(T)));
  ensure(cudaMemset(d, 0, sizeof(T)));
  detail::reduce_kernel<P, It, T><<<P::grid(n), P::threads>>>(it, n, d);
  ensure(cudaMemcpy(&r, d, sizeof(T), cudaMemcpyDeviceToHost));
  ensure(cudaFree(d));
  return r;
}
template <class Swizzle, class T>
void transpose(const T* in, T* out, int rows, int cols, int in_pitch, int out_pitch) {
  const dim3 grid((cols + 31) / 32, (rows + 31) / 32);
  detail::transpose_kernel<Swizzle, T><<<grid, dim3(32, 8)>>>(in, out, rows, cols, in_pitch, out_pitch);
  ensure(cudaGetLastError());
}
template <int N, class Layout, class T>
void sort_segments(T* data, int segments) {
  detail::sort_segments_kernel<N, Layout, T><<<(segments + 127) / 128, 128>>>(data, segments);
  ensure(cudaGetLastError());
}
template <int Taps, class Staging>
void fir(const float* in, float* out, const float* taps, int rows, int length, int pitch) {
  detail::fir_kernel<Taps, 192, Staging><<<rows, 192>>>(in, out, taps, length, pitch);
  ensure(cudaGetLastError());
}
template <class T> struct array {
  T* p = nullptr;
  int n;
  explicit array(int n_) : n(n_) { ensure(cudaMalloc(&p, sizeof(T) * n)); ensure(cudaMemset(p, 0, sizeof(T) * n)); }
  explicit array(const std::vector<T>& v) : array((int)v.size()) { ensure(cudaMemcpy(p, v.data(), sizeof(T) * n, cudaMemcpyHostToDevice)); }
  array(const array&) = delete;
  ~array() { cudaFree(p); }
  std::vector<T> host() const { std::vector<T> v(n); ensure(cudaMemcpy(v.data(), p, sizeof(T) * n, cudaMemcpyDeviceToHost)); return v; }
};

}  // namespace strider

// ==================================================================== self test
namespace {
int failures = 0;
void expect(bool ok, const char* what) {
  std::printf("%-28s %s\n", what, ok ? "ok" : "failed");
  failures += !ok;
}
struct square { STRIDER_HD unsigned long long operator()(int x) const { return (unsigned long long)x * x; } };
template <class F> std::vector<float> table(int n, F f) {
  std::vector<float> v(n);
  for (int i = 0; i < n; ++i) v[i] = f(i);
  return v;
}
void test_expressions() {
  using namespace strider;
  const int n = 250007;
  const auto a = table(n + 4, [](int i) { return (i % 97) * 0.25f; }), b = table(n + 4, [](int i) { return 3.0f - (i % 31); });
  array<float> da(a), db(b), r0(n + 4), r1(n + 4);
  assign(view(r0.p), maximum(view(da.p) * view(db.p) + scalar(1.5f), view(db.p)), n);
  // shifted by one element: not aligned any more, falls back to scalar code
  assign<tuning<128, 8>>(view(r1.p), view(da.p + 1) * scalar(2.0f) + view(db.p + 3), n);
  const auto h0 = r0.host(), h1 = r1.host();
  bool ok = true;
  for (int i = 0; i < n; ++i) {
    ok &= std::fabs(h0[i] - std::max(a[i] * b[i] + 1.5f, b[i])) < 1e-3f;
    ok &= std::fabs(h1[i] - (a[i + 1] * 2.0f + b[i + 3])) < 1e-3f;
  }
  expect(ok, "expressions");
}
void test_sums() {
  using namespace strider;
  const int n = 130001;
  std::vector<int> v(n), ix(n);
  for (int i = 0; i < n; ++i) { v[i] = (i * 37) % 1009 - 400; ix[i] = (int)((i * 48271LL) % n); }
  array<int> dv(v), dix(ix);
  const pointer_iterator<int> pv{dv.p}, pix{dix.p};
  long long plain = std::accumulate(v.begin(), v.end(), 0LL), perm = 0, strided = 0;
  unsigned long long sq = 0;
  for (int i = 0; i < n; ++i) perm += v[ix[i]];
  for (int i = 0; i < n / 7; ++i) strided += v[7 * i];
  for (int i = 0; i < 4000; ++i) sq += (unsigned long long)(5 + i) * (5 + i);
  expect(sum(pv, n) == (int)plain, "sum contiguous");
  expect(sum(make_permutation(pv, pix), n) == (int)perm, "sum permutation");
  expect(sum<tuning<128, 7>>(make_strided(pv, 7), n / 7) == (int)strided, "sum strided");
  expect(sum<tuning<64, 3>>(make_transform(square{}, counting_iterator<int>{5}), 4000) == sq, "sum of squares");
}
template <class Swizzle> bool transposes(int rows, int cols) {
  using namespace strider;
  const int ip = cols + 3, op = rows + 1;
  const auto a = table(rows * ip, [](int i) { return (float)(i % 10007); });
  array<float> in(a), out(cols * op);
  transpose<Swizzle>(in.p, out.p, rows, cols, ip, op);
  const auto h = out.host();
  bool ok = true;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) ok &= h[c * op + r] == a[r * ip + c];
  return ok;
}
void test_sort() {
  using namespace strider;
  constexpr int N = 16, segments = 4999;
  std::vector<int> v(N * segments);
  unsigned s = 1;
  for (int& x : v) { s = s * 1664525u + 1013904223u; x = (int)(s >> 12); }
  array<int> rows(v), cols(v);
  sort_segments<N, detail::segment_rows>(rows.p, segments);
  sort_segments<N, detail::segment_columns>(cols.p, segments);
  const auto hr = rows.host(), hc = cols.host();
  bool okr = true, okc = true;
  std::array<int, N> x, y;
  for (int g = 0; g < segments; ++g) {
    for (int k = 0; k < N; ++k) { x[k] = v[g * N + k]; y[k] = v[k * segments + g]; }
    std::sort(x.begin(), x.end());
    std::sort(y.begin(), y.end());
    for (int k = 0; k < N; ++k) { okr &= x[k] == hr[g * N + k]; okc &= y[k] == hc[k * segments + g]; }
  }
  expect(okr, "sort, segments in rows");
  expect(okc, "sort, segments in columns");
}
void test_fir() {
  using namespace strider;
  constexpr int T = 21, rows = 150, length = 1001, pitch = 1003;
  const auto in = table(rows * pitch, [](int i) { return std::sin(0.01f * (i % 5003)); }), taps = table(T, [](int i) { return 1.0f / (i + 2); });
  array<float> di(in), dt(taps), o0(rows * pitch), o1(rows * pitch);
  fir<T, detail::plain_staging>(di.p, o0.p, dt.p, rows, length, pitch);
  fir<T, detail::async_staging>(di.p, o1.p, dt.p, rows, length, pitch);
  const auto a = o0.host(), b = o1.host();
  double worst = 0;
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < length; ++i) {
      double s = 0;
      for (int k = 0; k < T && k <= i; ++k) s += (double)taps[k] * in[r * pitch + i - k];
      worst = std::max({worst, std::fabs(s - a[r * pitch + i]), std::fabs(s - b[r * pitch + i])});
    }
  expect(worst < 1e-3, "fir, plain and staged");
}
}  // namespace
int main() {
  test_expressions();
  test_sums();
  expect(transposes<strider::detail::no_swizzle>(300, 451), "transpose, naive tile");
  expect(transposes<strider::detail::padded>(300, 451), "transpose, padded tile");
  expect(transposes<strider::detail::xor_swizzle>(451, 300), "transpose, xor swizzle");
  test_sort();
  test_fir();
  strider::ensure(cudaDeviceSynchronize());
  std::puts(failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
