// nvcc: -std=c++17
// Entropic optimal transport: cost matrix, Sinkhorn scaling in the kernel and in the log domain, transport cost, barycentric map.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace ot {

struct Options {
  int n = 1024;
  int m = 768;
  int dim = 8;
  float eps = 0.25f;
  int iterations = 4;
  int batches = 16;
};

inline void throw_on_error(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

template <typename T>
class device_vector {
 public:
  explicit device_vector(size_t n, T value = T()) : size_(n) {
    throw_on_error(cudaMalloc(&ptr_, n * sizeof(T)), "malloc");
    std::vector<T> init(n, value);
    throw_on_error(cudaMemcpy(ptr_, init.data(), n * sizeof(T), cudaMemcpyHostToDevice), "fill");
  }
  explicit device_vector(const std::vector<T>& h) : size_(h.size()) {
    throw_on_error(cudaMalloc(&ptr_, size_ * sizeof(T)), "malloc");
    throw_on_error(cudaMemcpy(ptr_, h.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  device_vector(device_vector&& o) noexcept : ptr_(o.ptr_), size_(o.size_) { o.ptr_ = nullptr; }
  ~device_vector() {
    if (ptr_) cudaFree(ptr_);
  }
  T* get() const { return ptr_; }
  std::vector<T> copy() const {
    std::vector<T> h(size_);
    throw_on_error(cudaMemcpy(h.data(), ptr_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return h;
  }

 private:
  T* ptr_ = nullptr;
  size_t size_;
};

// squared distances; a tile of both point sets in shared memory, points stored row by row
template <int DIM>
__global__ void cost_matrix(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ C, int n, int m) {
  __shared__ float xs[16][DIM];
  __shared__ float ys[16][DIM];
  int tid = threadIdx.y * 16 + threadIdx.x;
  for (int k = tid; k < 16 * DIM; k += 256) {
    int row = k / DIM;
    int c = k % DIM;
    int gi = blockIdx.y * 16 + row;
    int gj = blockIdx.x * 16 + row;
    xs[row][c] = gi < n ? x[gi * DIM + c] : 0.0f;
    ys[row][c] = gj < m ? y[gj * DIM + c] : 0.0f;
  }
  __syncthreads();
  int i = blockIdx.y * 16 + threadIdx.y;
  int j = blockIdx.x * 16 + threadIdx.x;
  if (i >= n || j >= m) return;
  float s = 0.0f;
#pragma unroll
  for (int c = 0; c < DIM; ++c) {
    float d = xs[threadIdx.y][c] - ys[threadIdx.x][c];
    s += d * d;
  }
  C[i * m + j] = s;
}

__global__ void gibbs(const float* __restrict__ C, float* __restrict__ K, float inv_eps, int count) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < count) {
    float4 c = *reinterpret_cast<const float4*>(C + i);
    *reinterpret_cast<float4*>(K + i) =
        make_float4(expf(-c.x * inv_eps), expf(-c.y * inv_eps), expf(-c.z * inv_eps), expf(-c.w * inv_eps));
  }
}

// u = a / (K v): a warp a row
__global__ void scale_rows(const float* __restrict__ K, const float* __restrict__ v, float* __restrict__ u, float a, int n, int m) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  if (row >= n) return;
  float s = 0.0f;
  for (int j = lane; j < m; j += 32) s += K[row * m + j] * v[j];
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (lane == 0) u[row] = a / s;
}

// v = b / (K^T u): a thread a column, 8 row groups a block
__global__ void scale_cols(const float* __restrict__ K, const float* __restrict__ u, float* __restrict__ v, float b, int n, int m) {
  __shared__ float part[8][33];
  int j = blockIdx.x * 32 + threadIdx.x;
  float s = 0.0f;
  if (j < m) {
    for (int i = threadIdx.y; i < n; i += 8) s += K[i * m + j] * u[i];
  }
  part[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y == 0 && j < m) {
    float t = 0.0f;
    for (int k = 0; k < 8; ++k) t += part[k][threadIdx.x];
    v[j] = b / t;
  }
}

// log-domain update of the potential of the columns: every thread runs down its column with an online log-sum-exp
__global__ void log_update_cols(const float* __restrict__ C, const float* __restrict__ f, float* __restrict__ g, float eps, float logb,
                                int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  float mx = -INFINITY;
  float s = 0.0f;
  for (int i = 0; i < n; ++i) {
    float z = (f[i] - C[i * m + j]) / eps;
    float nm = fmaxf(mx, z);
    s = s * expf(mx - nm) + expf(z - nm);
    mx = nm;
  }
  g[j] = eps * (logb - mx - logf(s));
}

// transport cost <P, C>, block reduction and one atomic
__global__ void plan_cost(const float* __restrict__ K, const float* __restrict__ C, const float* __restrict__ u, const float* __restrict__ v,
                          double* total, int n, int m) {
  float s = 0.0f;
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n * m; k += gridDim.x * blockDim.x) s += u[k / m] * K[k] * v[k % m] * C[k];
  __shared__ float red[8];
  for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    double t = 0;
    for (int w = 0; w < 8; ++w) t += red[w];
    atomicAdd(total, t);
  }
}

// image of every source point: weighted mean of the targets; thread = (point, coordinate)
__global__ void barycentric_map(const float* __restrict__ K, const float* __restrict__ u, const float* __restrict__ v,
                                const float* __restrict__ y, float* __restrict__ out, int n, int m, int dim) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int i = t / dim;
  int c = t % dim;
  if (i >= n) return;
  float s = 0.0f;
  float w = 0.0f;
  for (int j = 0; j < m; ++j) {
    float p = K[i * m + j] * v[j];
    s += p * y[j * dim + c];
    w += p;
  }
  out[i * dim + c] = s / w;
}

}  // namespace ot

static int run(const ot::Options& opt) {
  using namespace ot;
  const int n = opt.n, m = opt.m, d = opt.dim;
  std::mt19937 rng(8);
  auto uni = [&] { return (rng() >> 8) / 16777216.0f; };
  std::vector<float> x(n * d), y(m * d);
  for (auto& e : x) e = 0.7f * uni();
  for (auto& e : y) e = 0.3f + 0.7f * uni();
  device_vector<float> dx(x), dy(y), C(n * m), K(n * m), u(n, 1.0f), v(m, 1.0f), f(n), g(m), map(n * d);
  device_vector<double> total(1);
  dim3 tile(16, 16);
  cost_matrix<8><<<dim3((m + 15) / 16, (n + 15) / 16), tile>>>(dx.get(), dy.get(), C.get(), n, m);
  gibbs<<<(n * m / 4 + 255) / 256, 256>>>(C.get(), K.get(), 1.0f / opt.eps, n * m);
  for (int it = 0; it < opt.iterations; ++it) {
    scale_rows<<<(n + 7) / 8, 256>>>(K.get(), v.get(), u.get(), 1.0f / n, n, m);
    scale_cols<<<(m + 31) / 32, dim3(32, 8)>>>(K.get(), u.get(), v.get(), 1.0f / m, n, m);
  }
  log_update_cols<<<(m + 63) / 64, 64>>>(C.get(), f.get(), g.get(), opt.eps, -std::log((float)m), n, m);
  plan_cost<<<132, 256>>>(K.get(), C.get(), u.get(), v.get(), total.get(), n, m);
  barycentric_map<<<(n * d + 127) / 128, 128>>>(K.get(), u.get(), v.get(), dy.get(), map.get(), n, m, d);
  throw_on_error(cudaGetLastError(), "launch");
  throw_on_error(cudaDeviceSynchronize(), "sync");

  std::vector<double> k(n * m), c(n * m), hu(n, 1.0), hv(m, 1.0);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      double s = 0;
      for (int q = 0; q < d; ++q) s += (double)(x[i * d + q] - y[j * d + q]) * (x[i * d + q] - y[j * d + q]);
      c[i * m + j] = s;
      k[i * m + j] = std::exp(-s / opt.eps);
    }
  }
  for (int it = 0; it < opt.iterations; ++it) {
    for (int i = 0; i < n; ++i) {
      double s = 0;
      for (int j = 0; j < m; ++j) s += k[i * m + j] * hv[j];
      hu[i] = 1.0 / n / s;
    }
    std::vector<double> t(m, 0.0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j) t[j] += k[i * m + j] * hu[i];
    for (int j = 0; j < m; ++j) hv[j] = 1.0 / m / t[j];
  }
  double want = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) want += hu[i] * k[i * m + j] * hv[j] * c[i * m + j];
  int bad = 0;
  double got = total.copy()[0];
  bad += std::fabs(got / want - 1.0) > 1e-3;
  auto gu = u.copy();
  auto gv = v.copy();
  for (int i = 0; i < n; ++i) bad += std::fabs(gu[i] / hu[i] - 1.0) > 2e-3;
  for (int j = 0; j < m; ++j) bad += std::fabs(gv[j] / hv[j] - 1.0) > 2e-3;
  auto gg = g.copy();
  for (int j = 0; j < m; ++j) {
    double s = 0;
    for (int i = 0; i < n; ++i) s += k[i * m + j];
    double w = opt.eps * (-std::log((double)m) - std::log(s));
    bad += std::fabs(gg[j] - w) > 1e-3;
  }
  auto gm = map.copy();
  for (int i = 0; i < n; i += 7) {
    for (int q = 0; q < d; ++q) {
      double s = 0, w = 0;
      for (int j = 0; j < m; ++j) {
        s += k[i * m + j] * hv[j] * y[j * d + q];
        w += k[i * m + j] * hv[j];
      }
      bad += std::fabs(s / w - gm[i * d + q]) > 1e-3;
    }
  }
  std::printf("cost %.6f (host %.6f), %d bad\n", got, want, bad);
  return bad;
}

int main() {
  try {
    int bad = run(ot::Options{});
    std::puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
  } catch (const std::exception& e) {
    std::printf("%s\nFAIL\n", e.what());
    return 2;
  }
}
