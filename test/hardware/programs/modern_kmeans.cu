// k-means with C++17: RAII buffers, functors, constexpr if
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cu {
inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
template <class T>
class buffer {
  T* p_ = nullptr;
  std::size_t n_ = 0;
public:
  explicit buffer(std::size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T)), "malloc"); }
  explicit buffer(const std::vector<T>& v) : buffer(v.size()) {
    check(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "h2d");
  }
  buffer(const buffer&) = delete;
  buffer(buffer&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
  ~buffer() { cudaFree(p_); }
  T* get() const { return p_; }
  void zero() { check(cudaMemset(p_, 0, n_ * sizeof(T)), "memset"); }
  [[nodiscard]] std::vector<T> host() const {
    std::vector<T> v(n_);
    check(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
    return v;
  }
};
}  // namespace cu

struct l2 {
  template <int D>
  static __device__ float eval(const float* a, const float* b) {
    float s = 0;
#pragma unroll
    for (int d = 0; d < D; ++d) { float t = a[d] - b[d]; s = fmaf(t, t, s); }
    return s;
  }
};
struct l1 {
  template <int D>
  static __device__ float eval(const float* a, const float* b) {
    float s = 0;
#pragma unroll
    for (int d = 0; d < D; ++d) s += fabsf(a[d] - b[d]);
    return s;
  }
};

template <class Metric, int D, bool UseShared>
__global__ void assign(const float* __restrict__ pts, const float* __restrict__ cent, int* __restrict__ label, int n, int k) {
  extern __shared__ float sc[];
  const float* c = cent;
  if constexpr (UseShared) {
    for (int i = threadIdx.x; i < k * D; i += blockDim.x) sc[i] = cent[i];
    __syncthreads();
    c = sc;
  }
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float p[D];
#pragma unroll
  for (int d = 0; d < D; ++d) p[d] = pts[i * D + d];
  float best = 3.4e38f;
  int arg = 0;
  for (int j = 0; j < k; ++j) {
    const float dist = Metric::template eval<D>(p, c + j * D);
    if (dist < best) { best = dist; arg = j; }
  }
  label[i] = arg;
}

template <int D>
__global__ void accumulate(const float* __restrict__ pts, const int* __restrict__ label, float* sums, int* counts, int n, int k) {
  extern __shared__ float s[];
  int* cnt = reinterpret_cast<int*>(s + k * D);
  for (int t = threadIdx.x; t < k * D; t += blockDim.x) s[t] = 0.f;
  for (int t = threadIdx.x; t < k; t += blockDim.x) cnt[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int l = label[i];
    for (int d = 0; d < D; ++d) atomicAdd(&s[l * D + d], pts[i * D + d]);
    atomicAdd(&cnt[l], 1);
  }
  __syncthreads();
  for (int t = threadIdx.x; t < k * D; t += blockDim.x) atomicAdd(&sums[t], s[t]);
  for (int t = threadIdx.x; t < k; t += blockDim.x) atomicAdd(&counts[t], cnt[t]);
}

template <int D>
__global__ void update(float* cent, const float* sums, const int* counts, int k) {
  const int j = threadIdx.x / D;
  if (j < k && counts[j] > 0) cent[threadIdx.x] = sums[threadIdx.x] / counts[j];
}

template <int D>
std::pair<std::vector<int>, int> cpu_assign(const std::vector<float>& pts, const std::vector<float>& cent, const std::vector<int>& gpu) {
  const int k = cent.size() / D;
  std::vector<int> out;
  int bad = 0;
  for (std::size_t i = 0; i < gpu.size(); i += 61) {
    double best = std::numeric_limits<double>::max(), mine = 0;
    int arg = -1;
    for (int j = 0; j < k; ++j) {
      double s = 0;
      for (int d = 0; d < D; ++d) { double t = pts[i * D + d] - cent[j * D + d]; s += t * t; }
      if (s < best) best = s, arg = j;
      if (j == gpu[i]) mine = s;
    }
    out.push_back(arg);
    bad += mine > best * 1.0001 + 1e-6;
  }
  return {out, bad};
}

int main() try {
  constexpr int D = 12, K = 40;
  const int n = 300'007;
  std::mt19937 rng(2024);
  std::normal_distribution<float> noise(0.f, 0.4f);
  std::uniform_real_distribution<float> uni(-5.f, 5.f);
  std::vector<float> true_c(K * D), pts(std::size_t(n) * D);
  std::generate(true_c.begin(), true_c.end(), [&] { return uni(rng); });
  for (int i = 0; i < n; ++i)
    for (int d = 0; d < D; ++d) pts[i * D + d] = true_c[(i % K) * D + d] + noise(rng);
  std::vector<float> init(pts.begin(), pts.begin() + K * D);

  cu::buffer<float> dp(pts), dc(init), sums(K * D);
  cu::buffer<int> label(n), counts(K);
  const int block = 192, grid = (n + block - 1) / block;
  const std::size_t sh = K * D * sizeof(float);
  for (int it = 0; it < 2; ++it) {
    assign<l2, D, true><<<grid, block, sh>>>(dp.get(), dc.get(), label.get(), n, K);
    sums.zero(); counts.zero();
    accumulate<D><<<264, 256, sh + K * sizeof(int)>>>(dp.get(), label.get(), sums.get(), counts.get(), n, K);
    update<D><<<1, K * D>>>(dc.get(), sums.get(), counts.get(), K);
  }
  assign<l2, D, false><<<grid, block>>>(dp.get(), dc.get(), label.get(), n, K);
  cu::check(cudaDeviceSynchronize(), "sync");
  auto lab = label.host();
  auto cnt = counts.host();
  auto [ref, bad] = cpu_assign<D>(pts, dc.host(), lab);
  int total = 0;
  for (int c : cnt) total += c;
  assign<l1, D, true><<<grid, block, sh>>>(dp.get(), dc.get(), label.get(), n, K);
  cu::check(cudaDeviceSynchronize(), "sync");
  auto lab1 = label.host();
  int agree = 0;
  for (int i = 0; i < n; ++i) agree += lab[i] == lab1[i];
  std::printf("checked %zu, wrong %d, total %d, L1 agreement %.3f\n", ref.size(), bad, total, double(agree) / n);
  const bool ok = bad == 0 && total == n && agree > n / 2;
  std::puts(ok ? "PASS" : "FAIL");
  return !ok;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\nFAIL\n", e.what());
  return 2;
}
