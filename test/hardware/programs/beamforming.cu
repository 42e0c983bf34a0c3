// beamforming.cu
// Phased array processing chain for a block of samples (no cuFFT: narrow-band weights + wide-band delays)
//   raw  : interleaved int16 I/Q, layout [sample][antenna]      (as it comes from the digitiser)
//   volt : complex float, layout [antenna][sample]
//   beams: complex float, layout [beam][sample]
#include <cstdio>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <cuda_runtime.h>

static void cudaCheckImpl(cudaError_t st, const char* expr, int line) {
  if (st == cudaSuccess) return;
  std::fprintf(stderr, "%s failed at %d: %s\n", expr, line, cudaGetErrorString(st));
  std::exit(1);
}
#define cudaCheck(e) cudaCheckImpl((e), #e, __LINE__)

namespace dsp {

constexpr int ANTENNAS = 64;
constexpr int SAMPLES  = 4096;
constexpr int BEAMS    = 48;

// ------------------------------------------------------------------ complex helpers
__device__ __forceinline__ float2 cmul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
// acc += a * conj(b)
__device__ __forceinline__ void cmac_conj(float2& acc, float2 a, float2 b) {
  acc.x += a.x * b.x + a.y * b.y;
  acc.y += a.y * b.x - a.x * b.y;
}

// ------------------------------------------------------------------ corner turn
// [sample][antenna] short2 -> [antenna][sample] float2
__global__ void corner_turn(const short2* __restrict__ raw, float2* __restrict__ volt,
                            int antennas, int samples, float scale) {
  constexpr int T = 32;
  __shared__ float2 tile[T][T + 1];
  const int a0 = blockIdx.x * T, s0 = blockIdx.y * T;
  for (int y = threadIdx.y; y < T; y += blockDim.y) {
    const short2 v = raw[(s0 + y) * antennas + a0 + threadIdx.x];
    tile[y][threadIdx.x] = make_float2(scale * v.x, scale * v.y);
  }
  __syncthreads();
  for (int y = threadIdx.y; y < T; y += blockDim.y)
    volt[(a0 + y) * samples + s0 + threadIdx.x] = tile[threadIdx.x][y];
}

// ------------------------------------------------------------------ narrow-band delay and sum
// direct version: thread = sample, y = beam
__global__ void das_direct(const float2* __restrict__ volt, const float2* __restrict__ weights,
                           float2* __restrict__ beams, int antennas, int samples) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = blockIdx.y;
  if (s >= samples) return;
  float2 acc = make_float2(0.f, 0.f);
  for (int a = 0; a < antennas; ++a)
    cmac_conj(acc, volt[a * samples + s], weights[b * antennas + a]);
  beams[b * samples + s] = acc;
}

// same thing straight from the digitiser layout, beams along x
__global__ void das_raw(const short2* __restrict__ raw, const float2* __restrict__ weights,
                        float2* __restrict__ beams_t, int antennas, int n_beams, float scale) {
  extern __shared__ float2 snap[];               // one snapshot per thread row
  const int s = blockIdx.x * blockDim.y + threadIdx.y;
  float2* mine = snap + threadIdx.y * antennas;
  for (int a = threadIdx.x; a < antennas; a += blockDim.x) {
    const short2 v = raw[s * antennas + a];
    mine[a] = make_float2(scale * v.x, scale * v.y);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < n_beams; b += blockDim.x) {
    float2 acc = make_float2(0.f, 0.f);
    for (int a = 0; a < antennas; ++a)
      cmac_conj(acc, mine[a], weights[b * antennas + a]);
    beams_t[s * n_beams + b] = acc;
  }
}

// ------------------------------------------------------------------ antenna correlation (covariance) matrix
// R[i][j] = sum_s volt[i][s] * conj(volt[j][s]),  z-slices of the sample axis are combined with atomics
template <int T>
__global__ void correlate(const float2* __restrict__ volt, float2* __restrict__ R, int antennas,
                          int samples, int samples_per_slice) {
  __shared__ float2 xi[T][T];
  __shared__ float2 xj[T][T + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int i = blockIdx.y * T + ty;
  const int j = blockIdx.x * T + tx;
  const int first = blockIdx.z * samples_per_slice;
  float2 acc = make_float2(0.f, 0.f);
  for (int s = first; s < first + samples_per_slice; s += T) {
    xi[ty][tx] = volt[i * samples + s + tx];
    xj[ty][tx] = volt[(blockIdx.x * T + ty) * samples + s + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < T; ++k) cmac_conj(acc, xi[ty][k], xj[tx][k]);
    __syncthreads();
  }
  float* out = reinterpret_cast<float*>(&R[i * antennas + j]);
  atomicAdd(out, acc.x);
  atomicAdd(out + 1, acc.y);
}

// ------------------------------------------------------------------ wide-band delay and sum
// linear interpolation of every antenna signal at (s + delay[b][a]), real fractional delays
__global__ void das_wideband(const float2* __restrict__ volt, const float* __restrict__ delay,
                             float2* __restrict__ out, int antennas, int samples) {
  __shared__ float d[ANTENNAS];
  const int b = blockIdx.y;
  if (threadIdx.x < antennas) d[threadIdx.x] = delay[b * antennas + threadIdx.x];
  __syncthreads();
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= samples) return;
  float2 acc = make_float2(0.f, 0.f);
  for (int a = 0; a < antennas; ++a) {
    const float fl = floorf(d[a]);
    const float w = d[a] - fl;
    const int k = s + static_cast<int>(fl);
    if (k < 0 || k + 1 >= samples) continue;
    const float2 p = volt[a * samples + k];
    const float2 q = volt[a * samples + k + 1];
    acc.x += p.x + w * (q.x - p.x);
    acc.y += p.y + w * (q.y - p.y);
  }
  out[b * samples + s] = acc;
}

// ------------------------------------------------------------------ beam power from the [sample][beam] layout
// one block per beam
__global__ void beam_power(const float2* __restrict__ beams_t, float* __restrict__ power, int n_beams,
                           int samples) {
  __shared__ float part[32];
  const int b = blockIdx.x;
  float p = 0.f;
  for (int s = threadIdx.x; s < samples; s += blockDim.x) {
    const float2 v = beams_t[s * n_beams + b];
    p += v.x * v.x + v.y * v.y;
  }
  for (int o = 16; o > 0; o >>= 1) p += __shfl_down_sync(0xffffffff, p, o);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = p;
  __syncthreads();
  if (threadIdx.x < 32) {
    p = threadIdx.x < (blockDim.x >> 5) ? part[threadIdx.x] : 0.f;
    for (int o = 16; o > 0; o >>= 1) p += __shfl_down_sync(0xffffffff, p, o);
    if (threadIdx.x == 0) power[b] = p / samples;
  }
}

}  // namespace dsp

template <typename T>
using dev_ptr = std::unique_ptr<T, cudaError_t (*)(void*)>;

template <typename T>
dev_ptr<T> dev_alloc(size_t n) {
  void* p = nullptr;
  cudaCheck(cudaMalloc(&p, n * sizeof(T)));
  cudaCheck(cudaMemset(p, 0, n * sizeof(T)));
  return dev_ptr<T>(static_cast<T*>(p), cudaFree);
}
template <typename T>
dev_ptr<T> dev_copy(const std::vector<T>& v) {
  auto p = dev_alloc<T>(v.size());
  cudaCheck(cudaMemcpy(p.get(), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <typename T>
std::vector<T> fetch(const dev_ptr<T>& p, size_t n) {
  std::vector<T> v(n);
  cudaCheck(cudaMemcpy(v.data(), p.get(), n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

int main() {
  using namespace dsp;
  using cd = std::complex<double>;
  const int A = ANTENNAS, S = SAMPLES, B = BEAMS;
  const float scale = 1.f / 1024.f;
  const double pi = 3.14159265358979323846;

  std::mt19937 rng(2024);
  std::normal_distribution<double> noise(0.0, 300.0);
  std::vector<short2> raw(size_t(S) * A);
  for (int s = 0; s < S; ++s)
    for (int a = 0; a < A; ++a) {
      const double ph = 0.11 * s + pi * a * std::sin(0.35);
      raw[size_t(s) * A + a] = make_short2(short(700 * std::cos(ph) + noise(rng)), short(700 * std::sin(ph) + noise(rng)));
    }
  std::vector<float2> weights(size_t(B) * A);
  std::vector<float> delay(size_t(B) * A);
  for (int b = 0; b < B; ++b) {
    const double st = -0.9 + 1.8 * b / (B - 1);
    for (int a = 0; a < A; ++a) {
      const double ph = pi * a * st;
      weights[size_t(b) * A + a] = make_float2(float(std::cos(ph) / A), float(std::sin(ph) / A));
      delay[size_t(b) * A + a] = float(st * 0.73 * (a - A / 2));
    }
  }

  auto d_raw = dev_copy(raw);
  auto d_w = dev_copy(weights);
  auto d_delay = dev_copy(delay);
  auto d_volt = dev_alloc<float2>(size_t(A) * S);
  auto d_b1 = dev_alloc<float2>(size_t(B) * S);
  auto d_b2 = dev_alloc<float2>(size_t(B) * S);
  auto d_b3 = dev_alloc<float2>(size_t(B) * S);
  auto d_R = dev_alloc<float2>(size_t(A) * A);
  auto d_pow = dev_alloc<float>(B);

  corner_turn<<<dim3(A / 32, S / 32), dim3(32, 8)>>>(d_raw.get(), d_volt.get(), A, S, scale);
  das_direct<<<dim3((S + 255) / 256, B), 256>>>(d_volt.get(), d_w.get(), d_b1.get(), A, S);
  const dim3 rb(16, 8);
  das_raw<<<S / rb.y, rb, rb.y * A * sizeof(float2)>>>(d_raw.get(), d_w.get(), d_b2.get(), A, B, scale);
  const int slices = 16;
  correlate<16><<<dim3(A / 16, A / 16, slices), dim3(16, 16)>>>(d_volt.get(), d_R.get(), A, S, S / slices);
  das_wideband<<<dim3((S + 255) / 256, B), 256>>>(d_volt.get(), d_delay.get(), d_b3.get(), A, S);
  beam_power<<<B, 256>>>(d_b2.get(), d_pow.get(), B, S);
  cudaCheck(cudaGetLastError());
  cudaCheck(cudaDeviceSynchronize());

  const auto b1 = fetch(d_b1, size_t(B) * S), b2 = fetch(d_b2, size_t(B) * S), b3 = fetch(d_b3, size_t(B) * S);
  const auto R = fetch(d_R, size_t(A) * A);
  const auto pw = fetch(d_pow, B);

  // ---- reference
  std::vector<cd> v(size_t(A) * S);
  for (int a = 0; a < A; ++a)
    for (int s = 0; s < S; ++s) {
      const short2 r = raw[size_t(s) * A + a];
      v[size_t(a) * S + s] = cd(r.x * double(scale), r.y * double(scale));
    }
  double e1 = 0, e2 = 0, e3 = 0, er = 0, ep = 0;
  auto track = [](double& w, double d) { if (!(d <= w)) w = d; };
  for (int b = 0; b < B; ++b) {
    double p = 0;
    std::vector<cd> n(S, 0.0), wb(S, 0.0);
    for (int a = 0; a < A; ++a) {
      const float2 wf = weights[size_t(b) * A + a];
      const cd w = std::conj(cd(wf.x, wf.y));
      const float dl = delay[size_t(b) * A + a];
      const float fl = std::floor(dl);
      const double fr = double(dl - fl);
      const cd* x = &v[size_t(a) * S];
      for (int s = 0; s < S; ++s) {
        n[s] += x[s] * w;
        const int k = s + int(fl);
        if (k >= 0 && k + 1 < S) wb[s] += x[k] + fr * (x[k + 1] - x[k]);
      }
    }
    for (int s = 0; s < S; ++s) {
      const float2 g1 = b1[size_t(b) * S + s], g2 = b2[size_t(s) * B + b], g3 = b3[size_t(b) * S + s];
      track(e1, std::abs(n[s] - cd(g1.x, g1.y)));
      track(e2, std::abs(n[s] - cd(g2.x, g2.y)));
      track(e3, std::abs(wb[s] - cd(g3.x, g3.y)));
      p += std::norm(n[s]);
    }
    track(ep, std::fabs(p / S - pw[b]) / (p / S));
  }
  for (int i = 0; i < A; ++i)
    for (int j = 0; j < A; ++j) {
      cd acc = 0;
      for (int s = 0; s < S; ++s) acc += v[size_t(i) * S + s] * std::conj(v[size_t(j) * S + s]);
      const float2 g = R[size_t(i) * A + j];
      track(er, std::abs(acc - cd(g.x, g.y)) / S);
    }
  std::printf("direct %.1e raw %.1e wideband %.1e corr %.1e power %.1e\n", e1, e2, e3, er, ep);
  const bool ok = e1 < 1e-4 && e2 < 1e-4 && e3 < 1e-3 && er < 1e-4 && ep < 1e-3;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
