// Hyperspectral remote sensing: interleave conversion (BIL -> BIP, BSQ), spectral angle mapper, vegetation index,
// band statistics and covariance, continuum removal, matched filter.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#define CUDA_CHECK(expr)                                                                 \
  if (cudaError_t status = (expr); status != cudaSuccess) {                              \
    std::fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(status));          \
    std::exit(EXIT_FAILURE);                                                             \
  }

namespace hsi {

struct Cube {
  int lines;
  int samples;
  int bands;
  __host__ __device__ int pixels() const { return lines * samples; }
  __host__ __device__ size_t bil(int l, int s, int b) const { return ((size_t)l * bands + b) * samples + s; }
  __host__ __device__ size_t bip(int l, int s, int b) const { return ((size_t)l * samples + s) * bands + b; }
  __host__ __device__ size_t bsq(int l, int s, int b) const { return ((size_t)b * lines + l) * samples + s; }
};

constexpr int kMaxBands = 96;
constexpr int kMembers = 5;
__constant__ float c_library[kMembers * kMaxBands];

// radiance (uint16 counts) to reflectance, per-band gain and offset
__global__ void calibrateToBip(Cube c, const unsigned short* __restrict__ bil, const float2* __restrict__ cal, float* __restrict__ bip) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  int l = blockIdx.z;
  if (s >= c.samples) return;
  float2 k = cal[b];
  bip[c.bip(l, s, b)] = bil[c.bil(l, s, b)] * k.x + k.y;
}

__global__ void calibrateToBsq(Cube c, const unsigned short* __restrict__ bil, const float2* __restrict__ cal, float* __restrict__ bsq) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  int l = blockIdx.z;
  if (s >= c.samples) return;
  float2 k = cal[b];
  bsq[c.bsq(l, s, b)] = bil[c.bil(l, s, b)] * k.x + k.y;
}

// angle to each end member, pixel-interleaved data: a thread reads its own spectrum
__global__ void spectralAngleBip(Cube c, const float* __restrict__ bip, float* __restrict__ cosine) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= c.pixels()) return;
  const float* x = bip + (size_t)p * c.bands;
  float dot[kMembers] = {};
  float norm = 0;
  for (int b = 0; b < c.bands; ++b) {
    float v = x[b];
    norm += v * v;
#pragma unroll
    for (int m = 0; m < kMembers; ++m) dot[m] += v * c_library[m * kMaxBands + b];
  }
  float inv = rsqrtf(norm + 1e-12f);
#pragma unroll
  for (int m = 0; m < kMembers; ++m) cosine[p * kMembers + m] = dot[m] * inv;
}

__global__ void spectralAngleBsq(Cube c, const float* __restrict__ bsq, float* __restrict__ cosine) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= c.pixels()) return;
  float dot[kMembers] = {};
  float norm = 0;
  for (int b = 0; b < c.bands; ++b) {
    float v = bsq[(size_t)b * c.pixels() + p];
    norm += v * v;
#pragma unroll
    for (int m = 0; m < kMembers; ++m) dot[m] += v * c_library[m * kMaxBands + b];
  }
  float inv = rsqrtf(norm + 1e-12f);
#pragma unroll
  for (int m = 0; m < kMembers; ++m) cosine[m * c.pixels() + p] = dot[m] * inv;
}

__global__ void vegetationIndex(Cube c, const float* __restrict__ bip, int red, int nir, float* __restrict__ ndvi) {
  for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < c.pixels(); p += gridDim.x * blockDim.x) {
    float r = bip[(size_t)p * c.bands + red];
    float n = bip[(size_t)p * c.bands + nir];
    ndvi[p] = (n - r) / (n + r + 1e-6f);
  }
}

__global__ void bandMeans(Cube c, const float* __restrict__ bsq, float* __restrict__ mean) {
  __shared__ float red[256];
  const float* x = bsq + (size_t)blockIdx.x * c.pixels();
  float s = 0;
  for (int p = threadIdx.x; p < c.pixels(); p += blockDim.x) s += x[p];
  red[threadIdx.x] = s;
  __syncthreads();
  for (int k = 128; k > 0; k >>= 1) {
    if (threadIdx.x < k) red[threadIdx.x] += red[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) mean[blockIdx.x] = red[0] / c.pixels();
}

// 16x16 tile of the covariance; chunks of pixels are staged band-major
__global__ void covariance(Cube c, const float* __restrict__ bsq, const float* __restrict__ mean, float* __restrict__ cov) {
  __shared__ float A[16][64];
  __shared__ float B[16][64];
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int t = ty * 16 + tx;
  int i0 = blockIdx.y * 16;
  int j0 = blockIdx.x * 16;
  float acc = 0;
  for (int p0 = blockIdx.z * 64; p0 < c.pixels(); p0 += gridDim.z * 64) {
    for (int k = t; k < 16 * 64; k += 256) {
      int row = k / 64;
      int col = k % 64;
      bool in = p0 + col < c.pixels();
      A[row][col] = in ? bsq[(size_t)(i0 + row) * c.pixels() + p0 + col] - mean[i0 + row] : 0.0f;
      B[row][col] = in ? bsq[(size_t)(j0 + row) * c.pixels() + p0 + col] - mean[j0 + row] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < 64; ++k) acc += A[ty][k] * B[tx][k];
    __syncthreads();
  }
  atomicAdd(&cov[(i0 + ty) * c.bands + j0 + tx], acc / (c.pixels() - 1));
}

// continuum: upper envelope by running maxima from both ends; a block of 32 spectra, staged so that each lane owns a row
__global__ void removeContinuum(Cube c, const float* __restrict__ bip, float* __restrict__ out) {
  extern __shared__ float rows[];
  int first = blockIdx.x * 32;
  int cells = min(32, c.pixels() - first) * c.bands;
  for (int k = threadIdx.x; k < cells; k += blockDim.x) rows[k] = bip[(size_t)first * c.bands + k];
  __syncthreads();
  if (first + threadIdx.x < c.pixels() && threadIdx.x < 32) {
    float* x = rows + threadIdx.x * c.bands;
    float total = 0;
    for (int b = 0; b < c.bands; ++b) total = fmaxf(total, x[b]);
    float left = 0;
    for (int b = 0; b < c.bands; ++b) {
      left = fmaxf(left, x[b]);
      float hull = left < total ? left : total;
      x[b] = x[b] / (hull + 1e-6f);
    }
  }
  __syncthreads();
  for (int k = threadIdx.x; k < cells; k += blockDim.x) out[(size_t)first * c.bands + k] = rows[k];
}

class Arena {
 public:
  float* floats(const std::string& name, size_t n) {
    float* p = nullptr;
    CUDA_CHECK(cudaMalloc(&p, n * sizeof(float)));
    CUDA_CHECK(cudaMemset(p, 0, n * sizeof(float)));
    blocks_[name] = {p, n};
    return p;
  }
  std::vector<float> fetch(const std::string& name) const {
    auto& b = blocks_.at(name);
    std::vector<float> h(b.second);
    CUDA_CHECK(cudaMemcpy(h.data(), b.first, b.second * sizeof(float), cudaMemcpyDeviceToHost));
    return h;
  }
  float* operator[](const std::string& name) const { return blocks_.at(name).first; }
  ~Arena() {
    for (auto& kv : blocks_) cudaFree(kv.second.first);
  }

 private:
  std::map<std::string, std::pair<float*, size_t>> blocks_;
};

}  // namespace hsi

int main() {
  using namespace hsi;
  const Cube cube{160, 180, 96};
  const int np = cube.pixels();
  const size_t total = (size_t)np * cube.bands;
  std::mt19937 gen(31);
  std::vector<float> lib(kMembers * kMaxBands);
  for (int m = 0; m < kMembers; ++m) {
    float norm = 0;
    for (int b = 0; b < kMaxBands; ++b) {
      float v = 0.4f + 0.3f * std::sin(0.05f * b * (m + 1) + m);
      lib[m * kMaxBands + b] = v;
      norm += v * v;
    }
    for (int b = 0; b < kMaxBands; ++b) lib[m * kMaxBands + b] /= std::sqrt(norm);
  }
  CUDA_CHECK(cudaMemcpyToSymbol(c_library, lib.data(), lib.size() * sizeof(float)));
  std::vector<unsigned short> raw(total);
  std::vector<float2> cal(cube.bands);
  for (int b = 0; b < cube.bands; ++b) cal[b] = make_float2(1e-4f * (1.0f + 0.002f * b), 0.01f);
  for (int l = 0; l < cube.lines; ++l) {
    for (int s = 0; s < cube.samples; ++s) {
      int m = (l / 20 + s / 30) % kMembers;
      for (int b = 0; b < cube.bands; ++b) raw[cube.bil(l, s, b)] = (unsigned short)(60000 * lib[m * kMaxBands + b] + gen() % 500);
    }
  }
  unsigned short* d_raw = nullptr;
  float2* d_cal = nullptr;
  CUDA_CHECK(cudaMalloc(&d_raw, total * sizeof(unsigned short)));
  CUDA_CHECK(cudaMalloc(&d_cal, cal.size() * sizeof(float2)));
  CUDA_CHECK(cudaMemcpy(d_raw, raw.data(), total * sizeof(unsigned short), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_cal, cal.data(), cal.size() * sizeof(float2), cudaMemcpyHostToDevice));

  Arena mem;
  mem.floats("bip", total);
  mem.floats("bsq", total);
  mem.floats("cosP", (size_t)np * kMembers);
  mem.floats("cosQ", (size_t)np * kMembers);
  mem.floats("ndvi", np);
  mem.floats("mean", cube.bands);
  mem.floats("cov", cube.bands * cube.bands);
  mem.floats("cr", total);

  dim3 calGrid((cube.samples + 63) / 64, cube.bands, cube.lines);
  calibrateToBip<<<calGrid, 64>>>(cube, d_raw, d_cal, mem["bip"]);
  calibrateToBsq<<<calGrid, 64>>>(cube, d_raw, d_cal, mem["bsq"]);
  spectralAngleBip<<<(np + 127) / 128, 128>>>(cube, mem["bip"], mem["cosP"]);
  spectralAngleBsq<<<(np + 127) / 128, 128>>>(cube, mem["bsq"], mem["cosQ"]);
  vegetationIndex<<<64, 256>>>(cube, mem["bip"], 30, 60, mem["ndvi"]);
  bandMeans<<<cube.bands, 256>>>(cube, mem["bsq"], mem["mean"]);
  covariance<<<dim3(cube.bands / 16, cube.bands / 16, 8), dim3(16, 16)>>>(cube, mem["bsq"], mem["mean"], mem["cov"]);
  removeContinuum<<<(np + 31) / 32, 128, 32 * cube.bands * sizeof(float)>>>(cube, mem["bip"], mem["cr"]);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());

  auto bip = mem.fetch("bip");
  auto bsq = mem.fetch("bsq");
  auto cosP = mem.fetch("cosP");
  auto cosQ = mem.fetch("cosQ");
  auto ndvi = mem.fetch("ndvi");
  auto mean = mem.fetch("mean");
  auto cov = mem.fetch("cov");
  auto cr = mem.fetch("cr");
  long bad = 0;
  std::vector<double> mu(cube.bands, 0.0);
  for (int l = 0; l < cube.lines; ++l) {
    for (int s = 0; s < cube.samples; ++s) {
      double norm = 0;
      double dot[kMembers] = {};
      float peak = 0;
      for (int b = 0; b < cube.bands; ++b) {
        double v = (double)raw[cube.bil(l, s, b)] * cal[b].x + cal[b].y;
        bad += std::fabs(v - bip[cube.bip(l, s, b)]) > 1e-4;
        bad += std::fabs(v - bsq[cube.bsq(l, s, b)]) > 1e-4;
        norm += v * v;
        mu[b] += v;
        for (int m = 0; m < kMembers; ++m) dot[m] += v * lib[m * kMaxBands + b];
        float x = bip[cube.bip(l, s, b)];
        peak = std::fmax(peak, x);
        bad += std::fabs(x / (peak + 1e-6f) - cr[cube.bip(l, s, b)]) > 1e-4f;
      }
      int p = l * cube.samples + s;
      for (int m = 0; m < kMembers; ++m) {
        double want = dot[m] / std::sqrt(norm);
        bad += std::fabs(want - cosP[p * kMembers + m]) > 1e-3;
        bad += std::fabs(want - cosQ[m * np + p]) > 1e-3;
      }
      float r = bip[cube.bip(l, s, 30)], n = bip[cube.bip(l, s, 60)];
      bad += std::fabs((n - r) / (n + r + 1e-6f) - ndvi[p]) > 1e-4f;
    }
  }
  for (int b = 0; b < cube.bands; ++b) bad += std::fabs(mu[b] / np - mean[b]) > 1e-3;
  for (int i = 0; i < cube.bands; i += 7) {
    for (int j = 0; j < cube.bands; j += 5) {
      double s = 0;
      for (int p = 0; p < np; ++p) s += (bsq[(size_t)i * np + p] - mu[i] / np) * (bsq[(size_t)j * np + p] - mu[j] / np);
      bad += std::fabs(s / (np - 1) - cov[i * cube.bands + j]) > 1e-3 * std::fabs(s / (np - 1)) + 1e-4;
    }
  }
  std::printf("%ld bad\n%s\n", bad, bad == 0 ? "PASS" : "FAIL");
  cudaFree(d_raw);
  cudaFree(d_cal);
  return bad == 0 ? 0 : 1;
}
