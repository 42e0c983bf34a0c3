// Space surveillance: Kepler propagation of a catalogue (double precision), ephemeris tables in two layouts, altitude sieve,
// pairwise closest approach, ground-station visibility windows, and debris flux per shell.
#include <cuda_runtime.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace astro {

constexpr double kMu = 398600.4418;
constexpr double kTwoPi = 6.283185307179586;

struct Elements {
  double a, e, i, raan, argp, m0;
};

struct alignas(16) State {
  double x, y, z;
  double r;
};

struct Station {
  double lat, lon;
  double min_elevation;
  int first_sat;
};

struct Config {
  int sats = 1500;
  int steps = 96;
  double dt = 60.0;
  int stations = 16;
};

inline void require(cudaError_t e, const char* msg) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", msg, cudaGetErrorString(e));
  std::exit(1);
}

__host__ __device__ inline State propagate(const Elements& k, double t) {
  double n = sqrt(kMu / (k.a * k.a * k.a));
  double M = k.m0 + n * t;
  M -= kTwoPi * floor(M / kTwoPi);
  double E = M;
  for (int it = 0; it < 8; ++it) E -= (E - k.e * sin(E) - M) / (1.0 - k.e * cos(E));
  double xp = k.a * (cos(E) - k.e);
  double yp = k.a * sqrt(1.0 - k.e * k.e) * sin(E);
  double cw = cos(k.argp), sw = sin(k.argp);
  double co = cos(k.raan), so = sin(k.raan);
  double ci = cos(k.i), si = sin(k.i);
  double u = xp * cw - yp * sw;
  double v = xp * sw + yp * cw;
  State s;
  s.x = co * u - so * ci * v;
  s.y = so * u + co * ci * v;
  s.z = si * v;
  s.r = k.a * (1.0 - k.e * cos(E));
  return s;
}

// records [sat][step]
__global__ void ephemeris_by_satellite(Config c, const Elements* __restrict__ cat, State* __restrict__ eph) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= c.sats) return;
  Elements k = cat[s];
  for (int t = blockIdx.y; t < c.steps; t += gridDim.y) eph[s * c.steps + t] = propagate(k, t * c.dt);
}

// planes [coordinate][step][sat]
__global__ void ephemeris_planes(Config c, const Elements* __restrict__ cat, float* __restrict__ xyz) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  int t = blockIdx.y;
  if (s >= c.sats) return;
  State p = propagate(cat[s], t * c.dt);
  size_t plane = (size_t)c.steps * c.sats;
  xyz[t * c.sats + s] = (float)p.x;
  xyz[plane + t * c.sats + s] = (float)p.y;
  xyz[2 * plane + t * c.sats + s] = (float)p.z;
}

// perigee/apogee sieve over the pairs, candidates appended with one atomic a warp
__global__ void sieve_pairs(Config c, const Elements* __restrict__ cat, double pad, int2* __restrict__ pairs, int* __restrict__ count, int cap) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y;
  bool take = false;
  if (j < c.sats && j > i) {
    double pi = cat[i].a * (1 - cat[i].e), ai = cat[i].a * (1 + cat[i].e);
    double pj = cat[j].a * (1 - cat[j].e), aj = cat[j].a * (1 + cat[j].e);
    take = fmax(pi, pj) - fmin(ai, aj) < pad;
  }
  unsigned mask = __ballot_sync(0xffffffffu, take);
  int lane = threadIdx.x & 31;
  int base = 0;
  if (lane == 0 && mask) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(0xffffffffu, base, 0);
  int at = base + __popc(mask & ((1u << lane) - 1));
  if (take && at < cap) pairs[at] = make_int2(i, j);
}

// smallest distance of each candidate pair: thread a pair, both rows of records
__global__ void closest_records(Config c, const int2* __restrict__ pairs, int n, const State* __restrict__ eph, float* __restrict__ dmin) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  int2 p = pairs[k];
  double best = 1e30;
  for (int t = 0; t < c.steps; ++t) {
    State a = eph[p.x * c.steps + t];
    State b = eph[p.y * c.steps + t];
    double d = (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z);
    best = fmin(best, d);
  }
  dmin[k] = (float)sqrt(best);
}

// warp a pair, lanes along time
__global__ void closest_warp(Config c, const int2* __restrict__ pairs, int n, const State* __restrict__ eph, float* __restrict__ dmin) {
  int k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (k >= n) return;
  int2 p = pairs[k];
  double best = 1e30;
  for (int t = lane; t < c.steps; t += 32) {
    State a = eph[p.x * c.steps + t];
    State b = eph[p.y * c.steps + t];
    double d = (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z);
    best = fmin(best, d);
  }
  for (int o = 16; o; o >>= 1) best = fmin(best, __shfl_xor_sync(0xffffffffu, best, o));
  if (lane == 0) dmin[k] = (float)sqrt(best);
}

// number of satellites above the horizon of a station at each step: block = (step, station)
__global__ void visibility(Config c, const Station* __restrict__ st, const float* __restrict__ xyz, int* __restrict__ seen) {
  int t = blockIdx.x;
  Station q = st[blockIdx.y];
  float lon = (float)(q.lon + 7.2921159e-5 * t * c.dt);
  float cl = cosf((float)q.lat);
  float ux = cl * cosf(lon), uy = cl * sinf(lon), uz = sinf((float)q.lat);
  float sel = sinf((float)q.min_elevation);
  size_t plane = (size_t)c.steps * c.sats;
  int total = 0;
  for (int s0 = 0; s0 < c.sats; s0 += blockDim.x) {
    int s = s0 + threadIdx.x;
    bool up = false;
    if (s < c.sats) {
      float dx = xyz[t * c.sats + s] - 6378.137f * ux;
      float dy = xyz[plane + t * c.sats + s] - 6378.137f * uy;
      float dz = xyz[2 * plane + t * c.sats + s] - 6378.137f * uz;
      float inv = rsqrtf(dx * dx + dy * dy + dz * dz);
      up = (dx * ux + dy * uy + dz * uz) * inv > sel;
    }
    total += __syncthreads_count(up);
  }
  if (threadIdx.x == 0) seen[blockIdx.y * c.steps + t] = total;
}

// occupancy of altitude shells of 25 km
__global__ void shell_flux(Config c, const State* __restrict__ eph, int* __restrict__ shells) {
  __shared__ int h[128];
  if (threadIdx.x < 128) h[threadIdx.x] = 0;
  __syncthreads();
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < c.sats * c.steps; k += gridDim.x * blockDim.x) {
    int b = (int)((eph[k].r - 6378.137) / 25.0);
    atomicAdd(&h[min(max(b, 0), 127)], 1);
  }
  __syncthreads();
  if (threadIdx.x < 128) atomicAdd(&shells[threadIdx.x], h[threadIdx.x]);
}

template <class T>
struct Buffer {
  T* d = nullptr;
  size_t n;
  explicit Buffer(size_t count) : n(count) {
    require(cudaMalloc(&d, n * sizeof(T)), "malloc");
    require(cudaMemset(d, 0, n * sizeof(T)), "memset");
  }
  Buffer(const std::vector<T>& h) : Buffer(h.size()) { require(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice), "h2d"); }
  ~Buffer() { cudaFree(d); }
  std::vector<T> get() const {
    std::vector<T> h(n);
    require(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
    return h;
  }
};

}  // namespace astro

int main() {
  using namespace astro;
  Config cfg;
  unsigned s = 42;
  auto u = [&s] {
    s = s * 1664525u + 1013904223u;
    return (s >> 8) / 16777216.0;
  };
  std::vector<Elements> cat(cfg.sats);
  for (auto& k : cat) k = {6800.0 + 1400.0 * u() * u(), 0.02 * u(), 0.3 + 1.5 * u(), kTwoPi * u(), kTwoPi * u(), kTwoPi * u()};
  std::vector<Station> st(cfg.stations);
  for (auto& q : st) q = {2.4 * (u() - 0.5), kTwoPi * u(), 0.09 + 0.2 * u(), 0};
  const int cap = 200000;
  Buffer<Elements> dcat(cat);
  Buffer<Station> dst(st);
  Buffer<State> eph((size_t)cfg.sats * cfg.steps);
  Buffer<float> xyz((size_t)3 * cfg.sats * cfg.steps), d1(cap), d2(cap);
  Buffer<int2> pairs(cap);
  Buffer<int> count(1), seen(cfg.stations * cfg.steps), shells(128);

  cudaEvent_t a, b;
  require(cudaEventCreate(&a), "event");
  require(cudaEventCreate(&b), "event");
  require(cudaEventRecord(a), "record");
  ephemeris_by_satellite<<<dim3((cfg.sats + 63) / 64, 24), 64>>>(cfg, dcat.d, eph.d);
  ephemeris_planes<<<dim3((cfg.sats + 127) / 128, cfg.steps), 128>>>(cfg, dcat.d, xyz.d);
  sieve_pairs<<<dim3((cfg.sats + 127) / 128, cfg.sats), 128>>>(cfg, dcat.d, -120.0, pairs.d, count.d, cap);
  const int found = count.get()[0];
  const int n = std::min(found, 20000);
  if (n == 0) {
    std::puts("FAIL: no pairs");
    return 1;
  }
  closest_records<<<(n + 127) / 128, 128>>>(cfg, pairs.d, n, eph.d, d1.d);
  closest_warp<<<(n + 3) / 4, 128>>>(cfg, pairs.d, n, eph.d, d2.d);
  visibility<<<dim3(cfg.steps, cfg.stations), 256>>>(cfg, dst.d, xyz.d, seen.d);
  shell_flux<<<64, 256>>>(cfg, eph.d, shells.d);
  require(cudaEventRecord(b), "record");
  require(cudaEventSynchronize(b), "kernels");
  require(cudaGetLastError(), "launch");
  float ms = 0;
  require(cudaEventElapsedTime(&ms, a, b), "elapsed");

  auto he = eph.get();
  auto hx = xyz.get();
  auto hp = pairs.get();
  auto h1 = d1.get();
  auto h2 = d2.get();
  auto hs = seen.get();
  auto hf = shells.get();
  int bad = 0;
  const size_t plane = (size_t)cfg.sats * cfg.steps;
  for (int i = 0; i < cfg.sats; i += 3) {
    for (int t = 0; t < cfg.steps; t += 5) {
      State w = propagate(cat[i], t * cfg.dt);
      const State& g = he[i * cfg.steps + t];
      bad += std::fabs(w.x - g.x) > 1e-5 || std::fabs(w.y - g.y) > 1e-5 || std::fabs(w.z - g.z) > 1e-5 || std::fabs(w.r - g.r) > 1e-5;
      bad += std::fabs(w.x - hx[t * cfg.sats + i]) > 0.01 || std::fabs(w.z - hx[2 * plane + t * cfg.sats + i]) > 0.01;
    }
  }
  int want = 0;
  for (int i = 0; i < cfg.sats; ++i) {
    for (int j = i + 1; j < cfg.sats; ++j) {
      double gap = std::max(cat[i].a * (1 - cat[i].e), cat[j].a * (1 - cat[j].e)) - std::min(cat[i].a * (1 + cat[i].e), cat[j].a * (1 + cat[j].e));
      want += gap < -120.0;
    }
  }
  bad += std::abs(want - found) > 3;
  for (int k = 0; k < n; ++k) {
    int2 p = hp[k];
    double best = 1e30;
    for (int t = 0; t < cfg.steps; ++t) {
      const State &x = he[p.x * cfg.steps + t], &y = he[p.y * cfg.steps + t];
      best = std::min(best, (x.x - y.x) * (x.x - y.x) + (x.y - y.y) * (x.y - y.y) + (x.z - y.z) * (x.z - y.z));
    }
    bad += std::fabs(std::sqrt(best) - h1[k]) > 1e-2 || std::fabs(std::sqrt(best) - h2[k]) > 1e-2;
  }
  int soft = 0;
  for (int q = 0; q < cfg.stations; ++q) {
    for (int t = 0; t < cfg.steps; t += 4) {
      double lon = st[q].lon + 7.2921159e-5 * t * cfg.dt;
      double ux = std::cos(st[q].lat) * std::cos(lon), uy = std::cos(st[q].lat) * std::sin(lon), uz = std::sin(st[q].lat);
      int total = 0;
      for (int i = 0; i < cfg.sats; ++i) {
        const State& g = he[i * cfg.steps + t];
        double dx = g.x - 6378.137 * ux, dy = g.y - 6378.137 * uy, dz = g.z - 6378.137 * uz;
        total += (dx * ux + dy * uy + dz * uz) / std::sqrt(dx * dx + dy * dy + dz * dz) > std::sin(st[q].min_elevation);
      }
      soft += std::abs(total - hs[q * cfg.steps + t]);
    }
  }
  bad += soft > 20;
  std::vector<int> ref(128, 0);
  for (auto& g : he) ref[std::min(std::max((int)((g.r - 6378.137) / 25.0), 0), 127)]++;
  int moved = 0;
  for (int k = 0; k < 128; ++k) moved += std::abs(ref[k] - hf[k]);
  bad += moved > 4;
  std::printf("%d candidate pairs, %d soft, %d bad, %.3f ms\n%s\n", found, soft, bad, ms, bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
