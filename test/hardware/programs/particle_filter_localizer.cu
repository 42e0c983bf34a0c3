// Monte Carlo localization on an occupancy grid. All poses are fixed point (Q16 cells, 1/256 turn)
// so that host simulation and device agree bit for bit.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

#define RETURN_IF_CUDA_ERROR(expr)                                                     \
  do {                                                                                 \
    const cudaError_t status = (expr);                                                 \
    if (status != cudaSuccess) {                                                       \
      std::cerr << #expr << " -> " << cudaGetErrorString(status) << std::endl;         \
      std::exit(EXIT_FAILURE);                                                         \
    }                                                                                  \
  } while (0)

namespace localizer {

constexpr int kMapWidth = 203;
constexpr int kMapHeight = 160;
constexpr int kNumBeams = 31;
constexpr int kMaxSteps = 160;
constexpr int kNumParticles = 2048;
constexpr int kScoreCap = 400 * kNumBeams;

struct Pose {
  int32_t x, y;       // Q16 cells
  int32_t heading;    // 0..255
};

struct Odometry {
  int32_t forward;    // Q16
  int32_t turn;
};

struct Ray { int32_t dx, dy; };

__host__ __device__ inline uint32_t MixBits(uint32_t a, uint32_t b) {
  uint32_t h = a * 0x85EBCA6Bu + b * 0xC2B2AE35u + 0x27D4EB2Fu;
  h ^= h >> 16; h *= 0x7FEB352Du; h ^= h >> 15; h *= 0x846CA68Bu; h ^= h >> 16;
  return h;
}

// Number of half-cell steps until an occupied cell or the map border.
__host__ __device__ inline int CastRay(const uint8_t* map, Pose p, Ray dir) {
  int32_t x = p.x, y = p.y;
  int steps = 0;
  while (steps < kMaxSteps) {
    x += dir.dx;
    y += dir.dy;
    const int cx = x >> 16, cy = y >> 16;
    if (cx < 0 || cy < 0 || cx >= kMapWidth || cy >= kMapHeight) break;
    if (map[cy * kMapWidth + cx]) break;
    ++steps;
  }
  return steps;
}

__host__ __device__ inline Pose MovePose(Pose p, Odometry u, const Ray* rays, uint32_t id, uint32_t epoch) {
  const uint32_t r = MixBits(id, epoch);
  p.heading = (p.heading + u.turn + int(r % 7) - 3) & 255;
  const int64_t dist = u.forward + int32_t((r >> 8) & 0x7FFF) - 0x4000;
  p.x += int32_t((2 * dist * rays[p.heading].dx) >> 16);
  p.y += int32_t((2 * dist * rays[p.heading].dy) >> 16);
  return p;
}

__host__ __device__ inline int BeamHeading(int heading, int beam) { return (heading + beam * 4 - 60) & 255; }

__global__ void MotionUpdate(const Pose* in, Pose* out, Odometry u, const Ray* rays, uint32_t epoch, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = MovePose(in[i], u, rays, i, epoch);
}

// Persistent warps pull batches of 32 rays from a queue. Ray k = particle * kNumBeams + beam.
__global__ void RaycastWorker(const uint8_t* map, const Pose* poses, const Ray* rays, uint16_t* ranges,
                              unsigned* queue, unsigned total) {
  __shared__ Ray directions[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) directions[i] = rays[i];
  __syncthreads();
  const unsigned lane = threadIdx.x & 31u;
  for (;;) {
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(queue, 32u);
    first = __shfl_sync(0xffffffffu, first, 0);
    if (first >= total) return;
    const unsigned k = first + lane;
    if (k < total) {
      const Pose p = poses[k / kNumBeams];
      const int beam = k % kNumBeams;
      ranges[k] = static_cast<uint16_t>(CastRay(map, p, directions[BeamHeading(p.heading, beam)]));
    }
    __syncwarp();
  }
}

// One warp per particle, lane = beam (31 of 32 lanes in use).
__global__ void ScoreParticles(const uint16_t* ranges, const uint16_t* scan, uint32_t* weights, int n) {
  const int particle = blockIdx.x * blockDim.y + threadIdx.y;
  if (particle >= n) return;
  int err = 0;
  if (threadIdx.x < kNumBeams) {
    const int d = int(ranges[particle * kNumBeams + threadIdx.x]) - int(scan[threadIdx.x]);
    err = min(d * d, 400);
  }
  err = __reduce_add_sync(0xffffffffu, err);
  if (threadIdx.x == 0) weights[particle] = 1 + (kScoreCap - err) * (kScoreCap - err) / 4096;
}

// Single block. Every thread owns four consecutive weights.
__global__ void PrefixWeights(const uint32_t* weights, uint64_t* cumulative, int n) {
  __shared__ uint64_t partial[512];
  __shared__ uint32_t staged[2048];
  const int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) staged[i] = weights[i];
  __syncthreads();
  uint64_t local[4], sum = 0;
  for (int k = 0; k < 4; ++k) local[k] = sum += staged[4 * t + k];
  partial[t] = sum;
  __syncthreads();
  for (int d = 1; d < 512; d *= 2) {
    const uint64_t add = t >= d ? partial[t - d] : 0;
    __syncthreads();
    partial[t] += add;
    __syncthreads();
  }
  const uint64_t before = t ? partial[t - 1] : 0;
  for (int k = 0; k < 4; ++k) cumulative[4 * t + k] = before + local[k];
}

// Low-variance resampling: new particle i takes the first j with cumulative[j] > threshold(i).
__global__ void Resample(const uint64_t* cumulative, const Pose* in, Pose* out, int* parent, uint32_t epoch, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t total = cumulative[n - 1], jitter = MixBits(epoch, 77u) % (total / n);
  const uint64_t target = total * i / n + jitter;
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    if (cumulative[mid] > target) hi = mid;
    else lo = mid + 1;
  }
  out[i] = in[lo];
  parent[i] = lo;
}

// Sum of positions and a 16-bin heading histogram.
__global__ void Estimate(const Pose* poses, long long* sums, unsigned* heading_bins, int n) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long x = 0, y = 0;
  if (i < n) {
    const Pose p = poses[i];
    x = p.x;
    y = p.y;
    atomicAdd(&bins[p.heading >> 4], 1u);
  }
  for (int d = 16; d > 0; d >>= 1) {
    x += __shfl_down_sync(0xffffffffu, x, d);
    y += __shfl_down_sync(0xffffffffu, y, d);
  }
  if ((threadIdx.x & 31) == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums[0]), static_cast<unsigned long long>(x));
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums[1]), static_cast<unsigned long long>(y));
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&heading_bins[threadIdx.x], bins[threadIdx.x]);
}

// Unified-memory vector, just enough for this program.
template <typename T>
class Managed {
 public:
  explicit Managed(size_t n) : size_(n) {
    RETURN_IF_CUDA_ERROR(cudaMallocManaged(&data_, n * sizeof(T)));
    for (size_t i = 0; i < n; ++i) data_[i] = T{};
  }
  ~Managed() { cudaFree(data_); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  T* get() { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_;
};

class ParticleFilter {
 public:
  ParticleFilter()
      : map_(kMapWidth * kMapHeight), rays_(256), poses_(kNumParticles), moved_(kNumParticles), parent_(kNumParticles),
        ranges_(kNumParticles * kNumBeams), scan_(kNumBeams), weights_(kNumParticles), cumulative_(kNumParticles),
        sums_(2), bins_(16), queue_(1) {
    for (int i = 0; i < 256; ++i) {
      rays_[i].dx = int32_t(std::lround(32768.0 * std::cos(i * 2 * M_PI / 256)));
      rays_[i].dy = int32_t(std::lround(32768.0 * std::sin(i * 2 * M_PI / 256)));
    }
    for (int y = 0; y < kMapHeight; ++y)
      for (int x = 0; x < kMapWidth; ++x) {
        const bool wall = x < 2 || y < 2 || x >= kMapWidth - 2 || y >= kMapHeight - 2 || (x % 50 == 0 && (y / 20) % 3 != 1) ||
                          (y % 53 == 0 && (x / 17) % 4 != 2);
        const bool pillar = MixBits(x / 3, y / 3) % 97 == 0;
        map_[y * kMapWidth + x] = wall || pillar;
      }
    for (int i = 0; i < kNumParticles; ++i) {
      const uint32_t r = MixBits(i, 1), s = MixBits(i, 2);
      poses_[i] = {int32_t(r % (kMapWidth << 16)), int32_t(s % (kMapHeight << 16)), int32_t((r ^ s) >> 24)};
    }
  }

  // Runs one cycle on the device and replays it on the host; true if both agree.
  bool Step(const Pose& truth, const Odometry& u, uint32_t epoch) {
    for (int b = 0; b < kNumBeams; ++b)
      scan_[b] = uint16_t(CastRay(map_.get(), truth, rays_[BeamHeading(truth.heading, b)]));
    queue_[0] = 0;
    sums_[0] = sums_[1] = 0;
    for (int i = 0; i < 16; ++i) bins_[i] = 0;
    const std::vector<Pose> before(poses_.get(), poses_.get() + kNumParticles);

    const int n = kNumParticles;
    MotionUpdate<<<(n + 95) / 96, 96>>>(poses_.get(), moved_.get(), u, rays_.get(), epoch, n);
    RaycastWorker<<<64, 128>>>(map_.get(), moved_.get(), rays_.get(), ranges_.get(), queue_.get(), n * kNumBeams);
    ScoreParticles<<<n / 4, dim3(32, 4)>>>(ranges_.get(), scan_.get(), weights_.get(), n);
    PrefixWeights<<<1, 512>>>(weights_.get(), cumulative_.get(), n);
    Resample<<<(n + 127) / 128, 128>>>(cumulative_.get(), moved_.get(), poses_.get(), parent_.get(), epoch, n);
    Estimate<<<(n + 255) / 256, 256>>>(poses_.get(), sums_.get(), bins_.get(), n);
    RETURN_IF_CUDA_ERROR(cudaGetLastError());
    RETURN_IF_CUDA_ERROR(cudaDeviceSynchronize());
    return Verify(before, u, epoch);
  }

  double x() { return sums_[0] / 65536.0 / kNumParticles; }
  double y() { return sums_[1] / 65536.0 / kNumParticles; }
  const Ray* rays() { return rays_.get(); }

 private:
  bool Verify(const std::vector<Pose>& before, const Odometry& u, uint32_t epoch) {
    std::vector<Pose> moved(kNumParticles);
    std::vector<uint64_t> cum(kNumParticles);
    uint64_t run = 0;
    int bad = 0;
    for (int i = 0; i < kNumParticles; ++i) {
      moved[i] = MovePose(before[i], u, rays_.get(), i, epoch);
      int err = 0;
      for (int b = 0; b < kNumBeams; ++b) {
        const int r = CastRay(map_.get(), moved[i], rays_[BeamHeading(moved[i].heading, b)]);
        bad += ranges_[i * kNumBeams + b] != r;
        const int d = r - scan_[b];
        err += d * d < 400 ? d * d : 400;
      }
      const uint32_t w = 1 + (kScoreCap - err) * (kScoreCap - err) / 4096;
      bad += weights_[i] != w;
      cum[i] = run += w;
      bad += cumulative_[i] != run;
    }
    const uint64_t jitter = MixBits(epoch, 77u) % (run / kNumParticles);
    long long sx = 0, sy = 0;
    std::vector<unsigned> bins(16, 0u);
    for (int i = 0, j = 0; i < kNumParticles; ++i) {
      while (j < kNumParticles - 1 && cum[j] <= run * i / kNumParticles + jitter) ++j;
      bad += parent_[i] != j || poses_[i].x != moved[j].x || poses_[i].y != moved[j].y || poses_[i].heading != moved[j].heading;
      sx += moved[j].x;
      sy += moved[j].y;
      ++bins[moved[j].heading >> 4];
    }
    bad += sums_[0] != sx || sums_[1] != sy;
    for (int i = 0; i < 16; ++i) bad += bins_[i] != bins[i];
    if (bad) std::cerr << "epoch " << epoch << ": " << bad << " differences\n";
    return bad == 0;
  }

  Managed<uint8_t> map_;
  Managed<Ray> rays_;
  Managed<Pose> poses_, moved_;
  Managed<int> parent_;
  Managed<uint16_t> ranges_, scan_;
  Managed<uint32_t> weights_;
  Managed<uint64_t> cumulative_;
  Managed<long long> sums_;
  Managed<unsigned> bins_, queue_;
};

}  // namespace localizer

int main() {
  using namespace localizer;
  ParticleFilter filter;
  Pose truth{70 << 16, 80 << 16, 20};
  const Odometry u{3 << 16, 5};
  bool ok = true;
  for (uint32_t epoch = 1; epoch <= 3; ++epoch) {
    truth.heading = (truth.heading + u.turn) & 255;
    truth.x += 6 * filter.rays()[truth.heading].dx;
    truth.y += 6 * filter.rays()[truth.heading].dy;
    ok = filter.Step(truth, u, epoch) && ok;
    std::cout << "epoch " << epoch << " mean pose " << filter.x() << ", " << filter.y() << "  truth " << truth.x / 65536.0
              << ", " << truth.y / 65536.0 << "\n";
  }
  std::cout << (ok ? "PASS" : "FAIL") << std::endl;
  return ok ? 0 : 1;
}
