// Synthetic CDO tranches under a one-factor Gaussian copula.
//   * conditional default probabilities on a quadrature grid
//   * loss distribution per quadrature node by recursion over the names
//   * mixing over the factor, tranche expected losses, single-name sensitivities
//   * Monte Carlo cross check with a recovery policy
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#define CUDA_OK(expr)                                                                    \
  do {                                                                                   \
    cudaError_t e_ = (expr);                                                             \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(3);                                                                      \
    }                                                                                    \
  } while (0)

struct DeviceDeleter {
  void operator()(void* p) const { cudaFree(p); }
};
template <class T>
using device_ptr = std::unique_ptr<T[], DeviceDeleter>;

template <class T>
device_ptr<T> make_device(std::size_t n) {
  void* p = nullptr;
  CUDA_OK(cudaMalloc(&p, n * sizeof(T)));
  return device_ptr<T>(static_cast<T*>(p));
}

template <class T>
device_ptr<T> to_device(const std::vector<T>& h) {
  auto d = make_device<T>(h.size());
  CUDA_OK(cudaMemcpy(d.get(), h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

template <class T>
std::vector<T> to_host(const device_ptr<T>& d, std::size_t n) {
  std::vector<T> h(n);
  CUDA_OK(cudaMemcpy(h.data(), d.get(), n * sizeof(T), cudaMemcpyDeviceToHost));
  return h;
}

// One record per obligor, as it comes out of the trade system.
struct Obligor {
  double barrier;       // inverse normal of the default probability
  double correlation;   // factor loading squared
  double notional;
  int loss_units;       // loss given default in units
};

struct Tranche {
  float attach;
  float detach;
};

enum class RecoveryKind { fixed, stochastic };
struct FixedRecovery {
  __host__ __device__ int loss(int units, std::uint32_t) const { return units; }
};

struct StochasticRecovery {
  __host__ __device__ int loss(int units, std::uint32_t h) const {
    return (h >> 9) & 1u ? units : (units + 1) / 2;
  }
};

__host__ __device__ inline std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

__host__ __device__ inline double normal_cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

// p[node][name]: names are contiguous for the recursion that follows.
__global__ void conditional_default(const Obligor* __restrict__ book, const double* __restrict__ nodes,
                                    int names, int node_count, double* __restrict__ p) {
  const int name = blockIdx.x * blockDim.x + threadIdx.x;
  const int node = blockIdx.y;
  if (name >= names || node >= node_count) return;
  const Obligor o = book[name];
  const double arg = (o.barrier - sqrt(o.correlation) * nodes[node]) / sqrt(1.0 - o.correlation);
  p[node * names + name] = normal_cdf(arg);
}

// One block per node. Two buffers of the loss distribution in dynamic shared memory.
__global__ void loss_recursion(const double* __restrict__ p, const Obligor* __restrict__ book, int names,
                               int buckets, double* __restrict__ dist) {
  extern __shared__ double work[];
  double* current = work;
  double* next = work + buckets;
  for (int k = threadIdx.x; k < buckets; k += blockDim.x)
    current[k] = k == 0 ? 1.0 : 0.0;
  __syncthreads();
  const double* row = p + blockIdx.x * names;
  for (int i = 0; i < names; ++i) {
    const double q = row[i];
    const int w = book[i].loss_units;
    for (int k = threadIdx.x; k < buckets; k += blockDim.x) {
      const double moved = k >= w ? current[k - w] * q : 0.0;
      next[k] = current[k] * (1.0 - q) + moved;
    }
    __syncthreads();
    double* t = current;
    current = next;
    next = t;
  }
  // bucket-major so that a node is a column of the result
  for (int k = threadIdx.x; k < buckets; k += blockDim.x)
    dist[k * gridDim.x + blockIdx.x] = current[k];
}

// One warp per loss bucket, lanes over the nodes.
__global__ void mix_factor(const double* __restrict__ dist, const double* __restrict__ weights, int node_count,
                           int buckets, double* __restrict__ unconditional) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (warp >= buckets) return;
  double sum = 0.0;
  for (int m = lane; m < node_count; m += 32)
    sum += weights[m] * dist[warp * node_count + m];
  for (int s = 16; s; s >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, s);
  if (lane == 0)
    unconditional[warp] = sum;
}

template <int Threads>
__global__ void tranche_losses(const double* __restrict__ unconditional, const Tranche* __restrict__ tranches,
                               int buckets, double* __restrict__ expected) {
  __shared__ double partial[Threads];
  const Tranche t = tranches[blockIdx.x];
  double acc = 0.0;
  for (int k = threadIdx.x; k < buckets; k += Threads) {
    const double loss = static_cast<double>(k) / (buckets - 1);
    const double hit = fmin(fmax(loss - t.attach, 0.0), static_cast<double>(t.detach) - t.attach);
    acc += hit * unconditional[k];
  }
  partial[threadIdx.x] = acc;
  __syncthreads();
  for (int s = 1; s < Threads; s *= 2) {
    const int slot = 2 * s * threadIdx.x;
    if (slot + s < Threads)
      partial[slot] += partial[slot + s];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    expected[blockIdx.x] = partial[0];
}

// d E[L] / d barrier: one thread per name, walking down its column of p.
__global__ void name_sensitivity(const Obligor* __restrict__ book, const double* __restrict__ nodes,
                                 const double* __restrict__ weights, const double* __restrict__ p, int names,
                                 int node_count, double2* __restrict__ out) {
  const int name = blockIdx.x * blockDim.x + threadIdx.x;
  if (name >= names) return;
  const Obligor o = book[name];
  const double inv = 1.0 / sqrt(1.0 - o.correlation);
  double expected = 0.0;
  double slope = 0.0;
  for (int m = 0; m < node_count; ++m) {
    const double a = (o.barrier - sqrt(o.correlation) * nodes[m]) * inv;
    expected += weights[m] * p[m * names + name];
    slope += weights[m] * exp(-0.5 * a * a) * 0.39894228040143267794 * inv;
  }
  out[name] = make_double2(expected * o.loss_units, slope * o.loss_units);
}

// Conditional simulation: uniforms against the conditional probabilities.
template <class Recovery>
__global__ void simulate_losses(const double* __restrict__ p, const Obligor* __restrict__ book, int names,
                                int node_count, int paths, Recovery recovery, int* __restrict__ histogram,
                                int buckets) {
  extern __shared__ int bins[];
  for (int k = threadIdx.x; k < buckets; k += blockDim.x)
    bins[k] = 0;
  __syncthreads();
  for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += gridDim.x * blockDim.x) {
    const double* row = p + (path % node_count) * names;
    int loss = 0;
    for (int i = 0; i < names; ++i) {
      const std::uint32_t h = mix(path * 7919u + mix(i + 1u));
      if (h * (1.0 / 4294967296.0) < row[i])
        loss += recovery.loss(book[i].loss_units, mix(h));
    }
    atomicAdd(&bins[loss], 1);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < buckets; k += blockDim.x) {
    if (bins[k] != 0)
      atomicAdd(&histogram[k], bins[k]);
  }
}

class PortfolioBuilder {
 public:
  PortfolioBuilder& sector(int count, double pd_low, double pd_high, double rho) {
    std::uniform_real_distribution<double> pd(pd_low, pd_high);
    for (int i = 0; i < count; ++i)
      book_.push_back({inverse_normal(pd(rng_)), rho, 1e6, 1 + static_cast<int>(rng_() % 3)});
    return *this;
  }
  std::vector<Obligor> build() { return std::move(book_); }

 private:
  static double inverse_normal(double p) {
    double lo = -8.0;
    double hi = 8.0;
    for (int it = 0; it < 80; ++it) {
      const double mid = 0.5 * (lo + hi);
      (normal_cdf(mid) < p ? lo : hi) = mid;
    }
    return 0.5 * (lo + hi);
  }
  std::mt19937 rng_{20240607u};
  std::vector<Obligor> book_;
};

template <class Recovery>
long long mc_difference(const device_ptr<double>& p, const device_ptr<Obligor>& d_book, const std::vector<Obligor>& book,
                        const std::vector<double>& p_ref, int nodes, int buckets, int paths, Recovery r) {
  const int names = static_cast<int>(book.size());
  auto hist = make_device<int>(buckets);
  CUDA_OK(cudaMemset(hist.get(), 0, buckets * sizeof(int)));
  simulate_losses<<<64, 128, buckets * sizeof(int)>>>(p.get(), d_book.get(), names, nodes, paths, r, hist.get(), buckets);
  CUDA_OK(cudaGetLastError());
  const auto got = to_host(hist, buckets);
  std::vector<int> want(buckets, 0);
  for (int path = 0; path < paths; ++path) {
    int loss = 0;
    for (int i = 0; i < names; ++i) {
      const std::uint32_t h = mix(path * 7919u + mix(i + 1u));
      if (h * (1.0 / 4294967296.0) < p_ref[(path % nodes) * names + i])
        loss += r.loss(book[i].loss_units, mix(h));
    }
    ++want[loss];
  }
  long long d = 0;
  for (int k = 0; k < buckets; ++k)
    d += std::abs(got[k] - want[k]);
  return d;
}

int main() {
  const std::vector<Obligor> book = PortfolioBuilder()
                                        .sector(40, 0.005, 0.02, 0.20)
                                        .sector(45, 0.01, 0.05, 0.35)
                                        .sector(40, 0.02, 0.12, 0.15)
                                        .build();
  const int names = static_cast<int>(book.size());
  const int total_units = std::accumulate(book.begin(), book.end(), 0, [](int s, const Obligor& o) { return s + o.loss_units; });
  const int buckets = total_units + 1;
  constexpr int node_count = 96;
  std::vector<double> nodes(node_count);
  std::vector<double> weights(node_count);
  double wsum = 0.0;
  for (int m = 0; m < node_count; ++m) {
    nodes[m] = -5.0 + 10.0 * (m + 0.5) / node_count;
    weights[m] = std::exp(-0.5 * nodes[m] * nodes[m]);
    wsum += weights[m];
  }
  for (double& w : weights) w /= wsum;
  const std::vector<Tranche> tranches = {{0.0f, 0.03f}, {0.03f, 0.07f}, {0.07f, 0.10f}, {0.10f, 0.15f}, {0.15f, 0.30f}, {0.30f, 1.0f}};

  auto d_book = to_device(book);
  auto d_nodes = to_device(nodes);
  auto d_weights = to_device(weights);
  auto d_tranches = to_device(tranches);
  auto d_p = make_device<double>(node_count * names);
  auto d_dist = make_device<double>(node_count * buckets);
  auto d_loss = make_device<double>(buckets);
  auto d_expected = make_device<double>(tranches.size());
  auto d_sens = make_device<double2>(names);

  conditional_default<<<dim3((names + 63) / 64, node_count), 64>>>(d_book.get(), d_nodes.get(), names, node_count, d_p.get());
  loss_recursion<<<node_count, 128, 2 * buckets * sizeof(double)>>>(d_p.get(), d_book.get(), names, buckets, d_dist.get());
  mix_factor<<<(buckets * 32 + 127) / 128, 128>>>(d_dist.get(), d_weights.get(), node_count, buckets, d_loss.get());
  tranche_losses<128><<<static_cast<unsigned>(tranches.size()), 128>>>(d_loss.get(), d_tranches.get(), buckets, d_expected.get());
  name_sensitivity<<<(names + 31) / 32, 32>>>(d_book.get(), d_nodes.get(), d_weights.get(), d_p.get(), names, node_count, d_sens.get());
  CUDA_OK(cudaDeviceSynchronize());

  std::vector<double> p(node_count * names);
  std::vector<double> loss(buckets, 0.0);
  std::vector<double2> sens(names, make_double2(0.0, 0.0));
  for (int m = 0; m < node_count; ++m) {
    std::vector<double> dist(buckets, 0.0);
    dist[0] = 1.0;
    for (int i = 0; i < names; ++i) {
      const Obligor& o = book[i];
      const double inv = 1.0 / std::sqrt(1.0 - o.correlation);
      const double a = (o.barrier - std::sqrt(o.correlation) * nodes[m]) * inv;
      const double q = normal_cdf(a);
      p[m * names + i] = q;
      sens[i].x += weights[m] * q * o.loss_units;
      sens[i].y += weights[m] * std::exp(-0.5 * a * a) * 0.39894228040143267794 * inv * o.loss_units;
      for (int k = buckets - 1; k >= 0; --k)
        dist[k] = dist[k] * (1.0 - q) + (k >= o.loss_units ? dist[k - o.loss_units] * q : 0.0);
    }
    for (int k = 0; k < buckets; ++k)
      loss[k] += weights[m] * dist[k];
  }
  const auto got_loss = to_host(d_loss, buckets);
  const auto got_el = to_host(d_expected, tranches.size());
  const auto got_sens = to_host(d_sens, names);
  double err = 0.0;
  for (int k = 0; k < buckets; ++k)
    err = std::max(err, std::fabs(loss[k] - got_loss[k]));
  for (std::size_t t = 0; t < tranches.size(); ++t) {
    double el = 0.0;
    for (int k = 0; k < buckets; ++k) {
      const double l = static_cast<double>(k) / (buckets - 1);
      const double width = static_cast<double>(tranches[t].detach) - tranches[t].attach;
      el += std::min(std::max(l - tranches[t].attach, 0.0), width) * loss[k];
    }
    err = std::max(err, std::fabs(el - got_el[t]));
    std::printf("tranche %4.2f-%4.2f expected loss %.6f\n", tranches[t].attach, tranches[t].detach, got_el[t]);
  }
  for (int i = 0; i < names; ++i) {
    err = std::max(err, std::fabs(sens[i].x - got_sens[i].x));
    err = std::max(err, std::fabs(sens[i].y - got_sens[i].y));
  }
  long long mc = 0;
  for (RecoveryKind kind : {RecoveryKind::fixed, RecoveryKind::stochastic}) {
    switch (kind) {
      case RecoveryKind::fixed:
        mc += mc_difference(d_p, d_book, book, p, node_count, buckets, 30000, FixedRecovery{});
        break;
      case RecoveryKind::stochastic:
        mc += mc_difference(d_p, d_book, book, p, node_count, buckets, 30000, StochasticRecovery{});
        break;
    }
  }
  const bool ok = err < 1e-9 && mc <= 8;
  std::printf("%d names, %d buckets, error %.3e, simulation mismatches %lld: %s\n", names, buckets, err, mc, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
