// Light transport in layered tissue (Monte Carlo, after MCML): photon packets, absorption scored in r-z, voxel and
// per-layer tallies, reflectance profile. The checks are energy balance plus a comparison with the host on a sample.
#include <cuda_runtime.h>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define GUARD(stmt)                                                              \
  do {                                                                           \
    if (cudaError_t e = (stmt)) {                                                \
      std::printf("%s (line %d): %s\n", #stmt, __LINE__, cudaGetErrorString(e)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

namespace mc {

struct Layer {
  float mua, mus, g;
  float z0, z1;
};

constexpr int kLayers = 3;
constexpr int kNr = 64;
constexpr int kNz = 128;
constexpr float kDr = 0.01f;
constexpr float kDz = 0.005f;
constexpr int kMaxSteps = 600;
constexpr float kScale = 65536.0f;  // fixed point of the tallies

__constant__ Layer c_layer[kLayers];

struct Rng {
  uint64_t s;
  __host__ __device__ explicit Rng(uint32_t id) : s(id * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull) { next(); }
  __host__ __device__ uint32_t next() {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t x = (uint32_t)(((s >> 18) ^ s) >> 27);
    uint32_t r = (uint32_t)(s >> 59);
    return (x >> r) | (x << ((32 - r) & 31));
  }
  __host__ __device__ float uniform() { return ((next() >> 8) + 0.5f) * (1.0f / 16777216.0f); }
};

struct Photon {
  float x, y, z;
  float ux, uy, uz;
  float w;
  int layer;
};

__host__ __device__ inline void spin(Photon& p, float g, Rng& rng) {
  float xi = rng.uniform();
  float ct;
  if (g == 0.0f) {
    ct = 2.0f * xi - 1.0f;
  } else {
    float t = (1.0f - g * g) / (1.0f - g + 2.0f * g * xi);
    ct = (1.0f + g * g - t * t) / (2.0f * g);
  }
  ct = fminf(1.0f, fmaxf(-1.0f, ct));
  float st = sqrtf(1.0f - ct * ct);
  float phi = 6.2831853f * rng.uniform();
  float cp = cosf(phi);
  float sp = sinf(phi);
  if (fabsf(p.uz) > 0.9999f) {
    p.ux = st * cp;
    p.uy = st * sp;
    p.uz = p.uz > 0 ? ct : -ct;
    return;
  }
  float d = sqrtf(1.0f - p.uz * p.uz);
  float nx = st * (p.ux * p.uz * cp - p.uy * sp) / d + p.ux * ct;
  float ny = st * (p.uy * p.uz * cp + p.ux * sp) / d + p.uy * ct;
  float nz = -st * cp * d + p.uz * ct;
  float inv = 1.0f / sqrtf(nx * nx + ny * ny + nz * nz);
  p.ux = nx * inv;
  p.uy = ny * inv;
  p.uz = nz * inv;
}

// Runs one packet; deposit(r-bin, z-bin, layer, weight) for absorbed weight. Returns 1 reflected, 2 transmitted, 0 absorbed.
template <class Deposit>
__host__ __device__ int track(const Layer* L, uint32_t id, Photon& p, Deposit deposit) {
  Rng rng(id);
  p = {0, 0, 1e-6f, 0, 0, 1, 1.0f, 0};
  float left = -logf(rng.uniform());
  for (int step = 0; step < kMaxSteps; ++step) {
    Layer l = L[p.layer];
    float mut = l.mua + l.mus;
    float s = left / mut;
    float db = 1e30f;
    if (p.uz > 0)
      db = (l.z1 - p.z) / p.uz;
    else if (p.uz < 0)
      db = (l.z0 - p.z) / p.uz;
    if (s >= db) {
      p.x += db * p.ux;
      p.y += db * p.uy;
      left = fmaxf(left - db * mut, 0.0f);
      if (p.uz > 0) {
        p.z = l.z1;
        if (++p.layer == kLayers) return 2;
      } else {
        p.z = l.z0;
        if (--p.layer < 0) return 1;
      }
      continue;
    }
    p.x += s * p.ux;
    p.y += s * p.uy;
    p.z += s * p.uz;
    float dw = p.w * l.mua / mut;
    p.w -= dw;
    int ir = (int)(sqrtf(p.x * p.x + p.y * p.y) / kDr);
    int iz = (int)(p.z / kDz);
    deposit(ir < kNr ? ir : kNr - 1, iz < kNz ? iz : kNz - 1, p.layer, dw);
    spin(p, l.g, rng);
    if (p.w < 0.01f) {
      if (rng.uniform() > 0.1f) {
        p.w = 0;
        return 0;
      }
      p.w *= 10.0f;
    }
    left = -logf(rng.uniform());
  }
  p.w = 0;
  return 0;
}

struct ScoreRz {
  unsigned long long* rz;
  __host__ __device__ void operator()(int ir, int iz, int, float w) const {
#ifdef __CUDA_ARCH__
    atomicAdd(&rz[iz * kNr + ir], (unsigned long long)(w * kScale));
#else
    rz[iz * kNr + ir] += (unsigned long long)(w * kScale);
#endif
  }
};

struct ScoreLayer {
  float* acc;
  __host__ __device__ void operator()(int, int, int layer, float w) const { acc[layer] += w; }
};

// every deposit goes to global memory
__global__ void simulate_global(int n, unsigned long long* rz, float* exitWeight, uint8_t* fate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Photon p;
  fate[i] = track(c_layer, i, p, ScoreRz{rz});
  exitWeight[i] = p.w;
}

// tallies of the layers per block in shared memory, grid stride over the packets
__global__ void simulate_layers(int n, unsigned long long* layers, Photon* last) {
  __shared__ unsigned long long sum[kLayers];
  if (threadIdx.x < kLayers) sum[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float acc[kLayers] = {};
    Photon p;
    track(c_layer, i, p, ScoreLayer{acc});
    last[i] = p;
    for (int k = 0; k < kLayers; ++k)
      if (acc[k] > 0) atomicAdd(&sum[k], (unsigned long long)(acc[k] * kScale));
  }
  __syncthreads();
  if (threadIdx.x < kLayers) atomicAdd(&layers[threadIdx.x], sum[threadIdx.x]);
}

__global__ void reflectance(const Photon* last, const uint8_t* fate, int n, float* profile) {
  __shared__ float h[kNr];
  for (int k = threadIdx.x; k < kNr; k += blockDim.x) h[k] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && fate[i] == 1) {
    Photon p = last[i];
    int ir = min((int)(sqrtf(p.x * p.x + p.y * p.y) / kDr), kNr - 1);
    atomicAdd(&h[ir], p.w);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < kNr; k += blockDim.x) atomicAdd(&profile[k], h[k]);
}

// radial sums: columns of the r-z table, one thread a depth, then the other way round
__global__ void depth_profile(const unsigned long long* rz, double* depth) {
  int iz = blockIdx.x * blockDim.x + threadIdx.x;
  if (iz >= kNz) return;
  unsigned long long s = 0;
  for (int ir = 0; ir < kNr; ++ir) s += rz[iz * kNr + ir];
  depth[iz] = s / (double)kScale;
}

__global__ void radial_profile(const unsigned long long* rz, double* radial) {
  int ir = threadIdx.x;
  unsigned long long s = 0;
  for (int iz = 0; iz < kNz; ++iz) s += rz[iz * kNr + ir];
  radial[ir] = s / (double)kScale;
}

}  // namespace mc

int main() {
  using namespace mc;
  const int n = 20000;
  const std::array<Layer, kLayers> layers = {Layer{1.0f, 60.0f, 0.8f, 0.0f, 0.1f}, Layer{2.0f, 90.0f, 0.85f, 0.1f, 0.3f}, Layer{0.5f, 40.0f, 0.7f, 0.3f, 0.6f}};
  GUARD(cudaMemcpyToSymbol(c_layer, layers.data(), sizeof(Layer) * kLayers));
  unsigned long long *rz, *lay;
  float *ew, *prof;
  uint8_t* fate;
  Photon* last;
  double *depth, *radial;
  GUARD(cudaMalloc(&rz, kNr * kNz * 8));
  GUARD(cudaMalloc(&lay, kLayers * 8));
  GUARD(cudaMalloc(&ew, n * 4));
  GUARD(cudaMalloc(&prof, kNr * 4));
  GUARD(cudaMalloc(&fate, n));
  GUARD(cudaMalloc(&last, n * sizeof(Photon)));
  GUARD(cudaMalloc(&depth, kNz * 8));
  GUARD(cudaMalloc(&radial, kNr * 8));
  GUARD(cudaMemset(rz, 0, kNr * kNz * 8));
  GUARD(cudaMemset(lay, 0, kLayers * 8));
  GUARD(cudaMemset(prof, 0, kNr * 4));

  simulate_global<<<(n + 127) / 128, 128>>>(n, rz, ew, fate);
  simulate_layers<<<132, 128>>>(n, lay, last);
  reflectance<<<(n + 255) / 256, 256>>>(last, fate, n, prof);
  depth_profile<<<kNz / 32, 32>>>(rz, depth);
  radial_profile<<<1, kNr>>>(rz, radial);
  GUARD(cudaGetLastError());
  GUARD(cudaDeviceSynchronize());

  std::vector<float> hew(n), hprof(kNr);
  std::vector<uint8_t> hf(n);
  std::vector<double> hd(kNz), hr(kNr);
  std::vector<unsigned long long> hl(kLayers);
  GUARD(cudaMemcpy(hew.data(), ew, n * 4, cudaMemcpyDeviceToHost));
  GUARD(cudaMemcpy(hprof.data(), prof, kNr * 4, cudaMemcpyDeviceToHost));
  GUARD(cudaMemcpy(hf.data(), fate, n, cudaMemcpyDeviceToHost));
  GUARD(cudaMemcpy(hd.data(), depth, kNz * 8, cudaMemcpyDeviceToHost));
  GUARD(cudaMemcpy(hr.data(), radial, kNr * 8, cudaMemcpyDeviceToHost));
  GUARD(cudaMemcpy(hl.data(), lay, kLayers * 8, cudaMemcpyDeviceToHost));
  double refl = 0, trans = 0;
  for (int i = 0; i < n; ++i) {
    if (hf[i] == 1) refl += hew[i];
    if (hf[i] == 2) trans += hew[i];
  }
  double absorbed = std::accumulate(hd.begin(), hd.end(), 0.0);
  double absorbed2 = std::accumulate(hr.begin(), hr.end(), 0.0);
  double byLayer = 0;
  for (auto v : hl) byLayer += v / (double)kScale;
  double profSum = std::accumulate(hprof.begin(), hprof.end(), 0.0);

  const int m = n;
  double hRefl = 0, hAbs = 0;
  for (int i = 0; i < m; ++i) {
    Photon p;
    float acc[kLayers] = {};
    int f = track(layers.data(), i, p, ScoreLayer{acc});
    for (float a : acc) hAbs += a;
    if (f == 1) hRefl += p.w;
  }
  std::printf("reflected %.4f transmitted %.4f absorbed %.4f | host reflected %.4f absorbed %.4f\n", refl / n, trans / n, absorbed / n, hRefl / m, hAbs / m);
  bool ok = true;
  ok &= std::fabs((refl + trans + absorbed) / n - 1.0) < 0.03;
  ok &= std::fabs(absorbed - absorbed2) < 1e-6 * absorbed;
  ok &= std::fabs(absorbed - byLayer) < 0.01 * absorbed;
  ok &= std::fabs(profSum - refl) < 0.01 * refl + 1e-3;
  ok &= std::fabs(refl - hRefl) / n < 0.01;
  ok &= std::fabs(absorbed - hAbs) / n < 0.02;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
