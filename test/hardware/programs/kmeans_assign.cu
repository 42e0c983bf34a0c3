// One Lloyd iteration of k-means, several assignment kernels and a
// shared-atomic accumulation.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

namespace km {

inline constexpr int kDim = 8;
inline constexpr int kClusters = 32;
inline constexpr int kPoints = 1 << 18;

struct Point { float c[kDim]; };   // 32 bytes

template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T))); zero(); }
  explicit DeviceBuffer(const std::vector<T>& v) : DeviceBuffer(v.size()) {
    check(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(p_); }
  void zero() { check(cudaMemset(p_, 0, n_ * sizeof(T))); }
  T* get() { return p_; }
  std::vector<T> host() const {
    std::vector<T> v(n_);
    check(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
  static void check(cudaError_t e) {
    if (e != cudaSuccess) {
      std::fprintf(stderr, "%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e));
      std::exit(1);
    }
  }

 private:
  T* p_ = nullptr;
  size_t n_;
};

// Array-of-points input; centroids straight from global memory.
__global__ void assign_aos(const Point* points, const Point* centroids, int* label, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = FLT_MAX;
  int who = 0;
  for (int k = 0; k < kClusters; ++k) {
    float d = 0.f;
    for (int j = 0; j < kDim; ++j) {
      const float t = points[i].c[j] - centroids[k].c[j];
      d += t * t;
    }
    if (d < best) { best = d; who = k; }
  }
  label[i] = who;
}

// Dimension-major input, centroids broadcast from shared memory as float4.
__global__ void __launch_bounds__(256)
assign_soa(const float* __restrict__ coords, const float4* __restrict__ centroids,
           int* __restrict__ label, int n) {
  __shared__ float4 cent[kClusters * kDim / 4];
  for (int t = threadIdx.x; t < kClusters * kDim / 4; t += blockDim.x) cent[t] = centroids[t];
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x[kDim];
#pragma unroll
    for (int j = 0; j < kDim; ++j) x[j] = coords[j * n + i];
    float best = FLT_MAX;
    int who = 0;
#pragma unroll 4
    for (int k = 0; k < kClusters; ++k) {
      float d = 0.f;
#pragma unroll
      for (int q = 0; q < kDim / 4; ++q) {
        const float4 c = cent[k * (kDim / 4) + q];
        const float a0 = x[4 * q] - c.x, a1 = x[4 * q + 1] - c.y;
        const float a2 = x[4 * q + 2] - c.z, a3 = x[4 * q + 3] - c.w;
        d += a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3;
      }
      if (d < best) { best = d; who = k; }
    }
    label[i] = who;
  }
}

// Sums per cluster in shared memory.  Stride is the row pitch of the table:
// with kStride = 8 the clusters fall on four distinct bank groups, with 9
// they spread over all banks.
template <int kStride>
__global__ void accumulate(const float* __restrict__ coords, const int* __restrict__ label,
                           float* sums, int* counts, int n) {
  static_assert(kStride >= kDim);
  __shared__ float acc[kClusters * kStride];
  __shared__ int cnt[kClusters];
  for (int t = threadIdx.x; t < kClusters * kStride; t += blockDim.x) acc[t] = 0.f;
  if (threadIdx.x < kClusters) cnt[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int k = label[i];
    atomicAdd(&cnt[k], 1);
#pragma unroll
    for (int j = 0; j < kDim; ++j) atomicAdd(&acc[k * kStride + j], coords[j * n + i]);
  }
  __syncthreads();
  for (int t = threadIdx.x; t < kClusters * kDim; t += blockDim.x)
    atomicAdd(&sums[t], acc[t / kDim * kStride + t % kDim]);
  if (threadIdx.x < kClusters) atomicAdd(&counts[threadIdx.x], cnt[threadIdx.x]);
}

}  // namespace km

int main() {
  using namespace km;
  std::mt19937 rng(271828);
  auto unit = [&rng] { return float(rng() >> 8) * (1.0f / 16777216.0f); };
  std::vector<Point> centers(kClusters), pts(kPoints);
  std::vector<float> soa(size_t(kPoints) * kDim);
  for (auto& c : centers) for (float& v : c.c) v = 10.f * unit();
  for (int i = 0; i < kPoints; ++i) {
    const Point& c = centers[rng() % kClusters];
    for (int j = 0; j < kDim; ++j) soa[size_t(j) * kPoints + i] = pts[i].c[j] = c.c[j] + 3.f * (unit() - 0.5f);
  }

  DeviceBuffer<Point> dPts(pts), dCent(centers);
  DeviceBuffer<float> dSoa(soa), dSums(kClusters * kDim), dSums9(kClusters * kDim);
  DeviceBuffer<int> dLabA(kPoints), dLabS(kPoints), dCnt(kClusters), dCnt9(kClusters);

  assign_aos<<<kPoints / 256, 256>>>(dPts.get(), dCent.get(), dLabA.get(), kPoints);
  assign_soa<<<264, 256>>>(dSoa.get(), reinterpret_cast<const float4*>(dCent.get()), dLabS.get(), kPoints);
  accumulate<8><<<264, 256>>>(dSoa.get(), dLabS.get(), dSums.get(), dCnt.get(), kPoints);
  accumulate<9><<<264, 256>>>(dSoa.get(), dLabS.get(), dSums9.get(), dCnt9.get(), kPoints);
  DeviceBuffer<int>::check(cudaGetLastError());

  const auto labA = dLabA.host(), labS = dLabS.host(), cnt = dCnt.host(), cnt9 = dCnt9.host();
  const auto sums = dSums.host(), sums9 = dSums9.host();

  // Labels may legitimately differ on near ties, so compare distances.
  auto dist = [&](int i, int k) {
    double d = 0;
    for (int j = 0; j < kDim; ++j) {
      const double t = double(pts[i].c[j]) - centers[k].c[j];
      d += t * t;
    }
    return d;
  };
  int bad = 0;
  for (int i = 0; i < kPoints; i += 5) {
    double best = 1e300;
    for (int k = 0; k < kClusters; ++k) best = std::min(best, dist(i, k));
    for (int k : {labA[i], labS[i]})
      bad += k < 0 || k >= kClusters || dist(i, k) > best + 1e-4 * (1 + best);
  }
  if (bad == 0) {
    std::vector<double> ref(kClusters * kDim, 0.0);
    std::vector<int> refCnt(kClusters, 0);
    for (int i = 0; i < kPoints; ++i) {
      if (labS[i] < 0 || labS[i] >= kClusters) { ++bad; continue; }
      ++refCnt[labS[i]];
      for (int j = 0; j < kDim; ++j) ref[labS[i] * kDim + j] += pts[i].c[j];
    }
    for (int k = 0; k < kClusters; ++k) bad += cnt[k] != refCnt[k] || cnt9[k] != refCnt[k];
    for (int t = 0; t < kClusters * kDim; ++t) {
      const double tol = 1e-3 * (1.0 + std::fabs(ref[t])) + 1e-4 * refCnt[t / kDim];
      bad += !(std::fabs(sums[t] - ref[t]) < tol);
      bad += !(std::fabs(sums9[t] - ref[t]) < tol);
    }
  }
  std::printf("%d discrepancies\n%s\n", bad, bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
