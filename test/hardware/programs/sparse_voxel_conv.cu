// Submanifold sparse 3-D convolution: hash table of active voxels, rulebook
// build, gather-GEMM-scatter, batch norm.  Library-author style.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

namespace svc {

using vkey = uint32_t;
static constexpr vkey kEmpty = 0xffffffffu;

inline void throw_on(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <class T>
class buffer {
 public:
  explicit buffer(size_t n) : n_(n) { throw_on(cudaMalloc(&p_, n * sizeof(T))); }
  explicit buffer(const std::vector<T>& h) : buffer(h.size()) {
    throw_on(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  buffer(const buffer&) = delete;
  ~buffer() { cudaFree(p_); }
  T* get() { return p_; }
  void fill(int byte) { throw_on(cudaMemset(p_, byte, n_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> v(n_);
    throw_on(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  T* p_ = nullptr;
  size_t n_;
};

struct coord {
  int x, y, z;
};

__host__ __device__ inline vkey pack(int x, int y, int z) { return (vkey)((z << 20) | (y << 10) | x); }

__device__ inline uint32_t mix(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  return h;
}

struct table_view {
  vkey* keys;
  int* vals;
  uint32_t mask;
  __device__ int find(vkey k) const {
    uint32_t slot = mix(k) & mask;
    while (true) {
      vkey cur = keys[slot];
      if (cur == k) return vals[slot];
      if (cur == kEmpty) return -1;
      slot = (slot + 1) & mask;
    }
  }
};

__global__ void insert_keys(table_view t, const coord* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  coord v = c[i];
  vkey k = pack(v.x, v.y, v.z);
  uint32_t slot = mix(k) & t.mask;
  while (atomicCAS(&t.keys[slot], kEmpty, k) != kEmpty) {
    slot = (slot + 1) & t.mask;
  }
  t.vals[slot] = i;
}

// rules[k][i] = input voxel for kernel offset k and output i (or -1)
__global__ void build_rulebook(table_view t, const coord* __restrict__ c, int* __restrict__ rules,
                               int* __restrict__ count, int n, int extent) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int k = blockIdx.y;
  int hit = -1;
  if (i < n) {
    coord v = c[i];
    int x = v.x + k % 3 - 1;
    int y = v.y + (k / 3) % 3 - 1;
    int z = v.z + k / 9 - 1;
    bool inside = x >= 0 && y >= 0 && z >= 0 && x < extent && y < extent && z < extent;
    if (inside) hit = t.find(pack(x, y, z));
    rules[(size_t)k * n + i] = hit;
  }
  unsigned m = __ballot_sync(0xffffffffu, hit >= 0);
  if ((threadIdx.x & 31) == 0 && m) atomicAdd(&count[k], __popc(m));
}

// output-stationary conv: block = (Cout, 8 voxels)
template <int Cin, int Cout>
__global__ void conv_rulebook(const float* __restrict__ feat, const float* __restrict__ w,
                              const int* __restrict__ rules, float* __restrict__ out, int n) {
  __shared__ float ws[Cin][Cout];
  int co = threadIdx.x;
  int i = blockIdx.x * blockDim.y + threadIdx.y;
  float acc = 0.f;
  for (int k = 0; k < 27; ++k) {
    __syncthreads();
    for (int r = threadIdx.y; r < Cin; r += blockDim.y) ws[r][co] = w[(k * Cin + r) * Cout + co];
    __syncthreads();
    int src = i < n ? rules[(size_t)k * n + i] : -1;
    if (src >= 0) {
      const float* f = feat + (size_t)src * Cin;
#pragma unroll
      for (int ci = 0; ci < Cin; ++ci) acc += f[ci] * ws[ci][co];
    }
  }
  if (i < n) out[(size_t)i * Cout + co] = acc;
}

// input-stationary scatter, thread per voxel, strided features
template <int Cin, int Cout>
__global__ void conv_scatter(const float* __restrict__ feat, const float* __restrict__ w,
                             const int* __restrict__ rules, float* __restrict__ out, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int src = rules[(size_t)k * n + i];
  if (src < 0) return;
  float f[Cin];
#pragma unroll
  for (int ci = 0; ci < Cin; ++ci) f[ci] = feat[(size_t)src * Cin + ci];
  for (int co = 0; co < Cout; ++co) {
    float acc = 0.f;
#pragma unroll
    for (int ci = 0; ci < Cin; ++ci) acc += f[ci] * w[(k * Cin + ci) * Cout + co];
    out[(size_t)i * Cout + co] += acc;
  }
}

// column statistics, one block per channel, stride-C reads
template <int C, int Threads>
__global__ void channel_stats(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ var, int n) {
  __shared__ float a[Threads];
  __shared__ float b[Threads];
  int c = blockIdx.x;
  float s = 0.f;
  float q = 0.f;
  for (int i = threadIdx.x; i < n; i += Threads) {
    float v = x[(size_t)i * C + c];
    s += v;
    q += v * v;
  }
  a[threadIdx.x] = s;
  b[threadIdx.x] = q;
  for (int h = Threads / 2; h > 0; h >>= 1) {
    __syncthreads();
    if (threadIdx.x < h) {
      a[threadIdx.x] += a[threadIdx.x + h];
      b[threadIdx.x] += b[threadIdx.x + h];
    }
  }
  if (threadIdx.x == 0) {
    mean[c] = a[0] / n;
    var[c] = b[0] / n - mean[c] * mean[c];
  }
}

template <int C>
__global__ void bn_relu(float4* __restrict__ x, const float* __restrict__ mean, const float* __restrict__ var, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  int c = (i * 4) % C;
  float4 v = x[i];
  v.x = fmaxf(0.f, (v.x - mean[c]) * rsqrtf(var[c] + 1e-3f));
  v.y = fmaxf(0.f, (v.y - mean[c + 1]) * rsqrtf(var[c + 1] + 1e-3f));
  v.z = fmaxf(0.f, (v.z - mean[c + 2]) * rsqrtf(var[c + 2] + 1e-3f));
  v.w = fmaxf(0.f, (v.w - mean[c + 3]) * rsqrtf(var[c + 3] + 1e-3f));
  x[i] = v;
}

}  // namespace svc

static int run() {
  using namespace svc;
  constexpr int Cin = 16, Cout = 32, extent = 64;
  std::mt19937 rng(5);
  std::set<vkey> seen;
  std::vector<coord> coords;
  while (coords.size() < 12000) {
    int x = rng() % extent;
    int y = rng() % extent;
    int z = std::min(extent - 1, (x + y) / 4 + (int)(rng() % 6));
    if (seen.insert(pack(x, y, z)).second) coords.push_back({x, y, z});
  }
  const int n = (int)coords.size();
  std::uniform_real_distribution<float> u(-1.f, 1.f);
  std::vector<float> f((size_t)n * Cin), w(27 * Cin * Cout);
  for (auto& v : f) v = u(rng);
  for (auto& v : w) v = 0.2f * u(rng);

  constexpr uint32_t cap = 1u << 15;
  buffer<vkey> keys(cap);
  buffer<int> vals(cap), rules((size_t)27 * n), count(27);
  buffer<coord> dc(coords);
  buffer<float> df(f), dw(w), out((size_t)n * Cout), out2((size_t)n * Cout), mean(Cout), var(Cout);
  keys.fill(0xff);
  count.fill(0);
  out2.fill(0);
  table_view t{keys.get(), vals.get(), cap - 1};
  insert_keys<<<(n + 255) / 256, 256>>>(t, dc.get(), n);
  build_rulebook<<<dim3((n + 127) / 128, 27), 128>>>(t, dc.get(), rules.get(), count.get(), n, extent);
  conv_rulebook<Cin, Cout><<<(n + 7) / 8, dim3(Cout, 8)>>>(df.get(), dw.get(), rules.get(), out.get(), n);
  for (int k = 9; k < 18; ++k)
    conv_scatter<Cin, Cout><<<(n + 127) / 128, 128>>>(df.get(), dw.get(), rules.get(), out2.get(), n, k);
  auto conv = out.host();
  channel_stats<Cout, 256><<<Cout, 256>>>(out.get(), mean.get(), var.get(), n);
  bn_relu<Cout><<<(n * Cout / 4 + 255) / 256, 256>>>(reinterpret_cast<float4*>(out.get()), mean.get(), var.get(),
                                                     n * Cout / 4);
  throw_on(cudaGetLastError());
  throw_on(cudaDeviceSynchronize());

  std::vector<int> dense(extent * extent * extent, -1);
  for (int i = 0; i < n; ++i) dense[(coords[i].z * extent + coords[i].y) * extent + coords[i].x] = i;
  auto part = out2.host();
  auto fin = out.host();
  auto cnt = count.host();
  std::vector<int> rc(27, 0);
  std::vector<double> ref((size_t)n * Cout, 0.0), mid((size_t)n * Cout, 0.0);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 27; ++k) {
      int x = coords[i].x + k % 3 - 1, y = coords[i].y + k / 3 % 3 - 1, z = coords[i].z + k / 9 - 1;
      if (x < 0 || y < 0 || z < 0 || x >= extent || y >= extent || z >= extent) continue;
      int s = dense[(z * extent + y) * extent + x];
      if (s < 0) continue;
      rc[k]++;
      for (int ci = 0; ci < Cin; ++ci)
        for (int co = 0; co < Cout; ++co) {
          double p = (double)f[(size_t)s * Cin + ci] * w[(k * Cin + ci) * Cout + co];
          ref[(size_t)i * Cout + co] += p;
          if (k >= 9 && k < 18) mid[(size_t)i * Cout + co] += p;
        }
    }
  double e1 = 0, e2 = 0, e3 = 0;
  for (size_t i = 0; i < ref.size(); ++i) {
    e1 = std::max(e1, std::fabs(ref[i] - conv[i]));
    e2 = std::max(e2, std::fabs(mid[i] - part[i]));
  }
  for (int c = 0; c < Cout; ++c) {
    double s = 0, q = 0;
    for (int i = 0; i < n; ++i) s += ref[(size_t)i * Cout + c];
    s /= n;
    for (int i = 0; i < n; ++i) q += (ref[(size_t)i * Cout + c] - s) * (ref[(size_t)i * Cout + c] - s);
    double inv = 1 / std::sqrt(q / n + 1e-3);
    for (int i = 0; i < n; ++i)
      e3 = std::max(e3, std::fabs(std::max(0.0, (ref[(size_t)i * Cout + c] - s) * inv) - fin[(size_t)i * Cout + c]));
  }
  bool good = rc == cnt && e1 < 1e-3 && e2 < 1e-3 && e3 < 5e-3;
  std::printf("conv %g scatter %g bn %g\n%s\n", e1, e2, e3, good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}

int main() {
  try {
    return run();
  } catch (const std::exception& e) {
    std::printf("exception: %s\nFAIL\n", e.what());
    return 2;
  }
}
