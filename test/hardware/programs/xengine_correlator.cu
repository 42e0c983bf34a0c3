// nvcc: -std=c++17
// Radio interferometer, FX style: quantised 4+4 bit samples, corner turn, X-engine (all antenna pairs), delay/phase
// calibration, power spectra for flagging, and a tied-array beam.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fx {

template <int Antennas, int Channels, int Times>
struct Layout {
  static constexpr int A = Antennas;
  static constexpr int C = Channels;
  static constexpr int T = Times;
  static constexpr int baselines = A * (A + 1) / 2;
  // as it comes from the digitisers: [antenna][time][channel]
  __host__ __device__ static int wire(int a, int t, int c) { return (a * T + t) * C + c; }
  // as the correlator wants it: [channel][time][antenna]
  __host__ __device__ static int turned(int c, int t, int a) { return (c * T + t) * A + a; }
  __host__ __device__ static int visibility(int c, int i, int j) { return c * baselines + i * (i + 1) / 2 + j; }
};

using Tel = Layout<32, 128, 256>;

inline void ok(cudaError_t e, std::string_view what) {
  if (e != cudaSuccess) {
    std::printf("%.*s: %s\n", (int)what.size(), what.data(), cudaGetErrorString(e));
    std::exit(1);
  }
}

__host__ __device__ inline int2 unpack(uint8_t b) {
  int re = (int)(b >> 4) - 8;
  int im = (int)(b & 15) - 8;
  return make_int2(re, im);
}

template <class L>
__global__ void corner_turn_plain(const uint8_t* __restrict__ in, uint8_t* __restrict__ out) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int t = blockIdx.y;
  int a = blockIdx.z;
  if (c < L::C) out[L::turned(c, t, a)] = in[L::wire(a, t, c)];
}

// a slab (one time, all antennas, 32 channels) in shared memory
template <class L>
__global__ void corner_turn_tiled(const uint8_t* __restrict__ in, uint8_t* __restrict__ out) {
  static_assert(L::A == 32, "tile is written for 32 antennas");
  __shared__ uint8_t tile[32][33];
  int t = blockIdx.y;
  int c0 = blockIdx.x * 32;
  for (int a = threadIdx.y; a < 32; a += blockDim.y) tile[a][threadIdx.x] = in[L::wire(a, t, c0 + threadIdx.x)];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += blockDim.y) out[L::turned(c0 + k, t, threadIdx.x)] = tile[threadIdx.x][k];
}

// one thread a baseline and channel, straight from the wire order
template <class L>
__global__ void correlate_wire(const uint8_t* __restrict__ in, int2* __restrict__ vis) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  if (c >= L::C) return;
  int i = (int)((sqrtf(8.0f * b + 1.0f) - 1.0f) * 0.5f);
  while ((i + 1) * (i + 2) / 2 <= b) ++i;
  while (i * (i + 1) / 2 > b) --i;
  int j = b - i * (i + 1) / 2;
  int re = 0, im = 0;
  for (int t = 0; t < L::T; ++t) {
    int2 x = unpack(in[L::wire(i, t, c)]);
    int2 y = unpack(in[L::wire(j, t, c)]);
    re += x.x * y.x + x.y * y.y;
    im += x.y * y.x - x.x * y.y;
  }
  vis[L::visibility(c, i, j)] = make_int2(re, im);
}

// block = channel, 16x16 threads with a 2x2 register tile each; samples unpacked into shared memory in chunks of time
template <class L>
__global__ void correlate_tiled(const uint8_t* __restrict__ in, int2* __restrict__ vis) {
  constexpr int kChunk = 32;
  __shared__ int2 s[kChunk][L::A];
  int c = blockIdx.x;
  int tid = threadIdx.y * 16 + threadIdx.x;
  int re[2][2] = {};
  int im[2][2] = {};
  for (int t0 = 0; t0 < L::T; t0 += kChunk) {
    for (int k = tid; k < kChunk * L::A; k += 256) s[k / L::A][k % L::A] = unpack(in[L::turned(c, t0, 0) + k]);
    __syncthreads();
    for (int t = 0; t < kChunk; ++t) {
      int2 x[2] = {s[t][2 * threadIdx.y], s[t][2 * threadIdx.y + 1]};
      int2 y[2] = {s[t][2 * threadIdx.x], s[t][2 * threadIdx.x + 1]};
#pragma unroll
      for (int p = 0; p < 2; ++p) {
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          re[p][q] += x[p].x * y[q].x + x[p].y * y[q].y;
          im[p][q] += x[p].y * y[q].x - x[p].x * y[q].y;
        }
      }
    }
    __syncthreads();
  }
  for (int p = 0; p < 2; ++p) {
    for (int q = 0; q < 2; ++q) {
      int i = 2 * threadIdx.y + p;
      int j = 2 * threadIdx.x + q;
      if (j <= i) vis[L::visibility(c, i, j)] = make_int2(re[p][q], im[p][q]);
    }
  }
}

// apply the delays: phase ramp over the channels, visibility as float
template <class L>
__global__ void calibrate(const int2* __restrict__ vis, const float* __restrict__ delay, float2* __restrict__ out) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  int c = blockIdx.y;
  if (b >= L::baselines) return;
  int i = 0;
  while ((i + 1) * (i + 2) / 2 <= b) ++i;
  int j = b - i * (i + 1) / 2;
  float s, k;
  sincospif(-2.0f * (delay[i] - delay[j]) * c / L::C, &s, &k);
  int2 v = vis[c * L::baselines + b];
  out[c * L::baselines + b] = make_float2(v.x * k - v.y * s, v.x * s + v.y * k);
}

// total power of each antenna and channel for the RFI flagger
template <class L>
__global__ void power(const uint8_t* __restrict__ wire, int* __restrict__ p) {
  int c = threadIdx.x;
  int a = blockIdx.x;
  int s = 0;
  for (int t = 0; t < L::T; ++t) {
    int2 v = unpack(wire[L::wire(a, t, c)]);
    s += v.x * v.x + v.y * v.y;
  }
  p[a * L::C + c] = s;
}

// coherent sum over the antennas, lanes = antennas
template <class L>
__global__ void tied_beam(const uint8_t* __restrict__ turned, const float2* __restrict__ w, float* __restrict__ beam) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  int a = threadIdx.x % 32;
  if (row >= L::C * L::T) return;
  int c = row / L::T;
  int2 v = unpack(turned[row * L::A + a]);
  float2 k = w[c * L::A + a];
  float re = v.x * k.x - v.y * k.y;
  float im = v.x * k.y + v.y * k.x;
#pragma unroll
  for (int o = 16; o; o >>= 1) {
    re += __shfl_xor_sync(0xffffffffu, re, o);
    im += __shfl_xor_sync(0xffffffffu, im, o);
  }
  if (a == 0) beam[row] = re * re + im * im;
}

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);
  T* p_ = nullptr;
  size_t n_;

 public:
  explicit Array(size_t n) : n_(n) { ok(cudaMalloc(&p_, n * sizeof(T)), "alloc"); }
  explicit Array(const std::vector<T>& h) : Array(h.size()) { ok(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "upload"); }
  Array(const Array&) = delete;
  ~Array() { cudaFree(p_); }
  T* operator*() const { return p_; }
  std::vector<T> host() const {
    std::vector<T> h(n_);
    ok(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return h;
  }
};

}  // namespace fx

int main() {
  using namespace fx;
  constexpr int A = Tel::A, C = Tel::C, T = Tel::T, B = Tel::baselines;
  std::vector<uint8_t> wire(A * C * T);
  uint32_t s = 1;
  for (auto& b : wire) {
    s = s * 1664525u + 1013904223u;
    b = (uint8_t)(s >> 24);
  }
  std::vector<float> delay(A);
  for (int a = 0; a < A; ++a) delay[a] = 0.37f * a - 3.0f;
  std::vector<float2> weights(C * A);
  for (int c = 0; c < C; ++c)
    for (int a = 0; a < A; ++a) weights[c * A + a] = make_float2(std::cos(0.1f * a * c), std::sin(0.1f * a * c));
  Array<uint8_t> dwire(wire), t1(wire.size()), t2(wire.size());
  Array<float> ddelay(delay), beam(C * T);
  Array<float2> dw(weights), cal(C * B);
  Array<int2> v1(C * B), v2(C * B);
  Array<int> pw(A * C);

  corner_turn_plain<Tel><<<dim3(C / 64, T, A), 64>>>(*dwire, *t1);
  corner_turn_tiled<Tel><<<dim3(C / 32, T), dim3(32, 8)>>>(*dwire, *t2);
  correlate_wire<Tel><<<dim3(C / 64, B), 64>>>(*dwire, *v1);
  correlate_tiled<Tel><<<C, dim3(16, 16)>>>(*t2, *v2);
  calibrate<Tel><<<dim3((B + 127) / 128, C), 128>>>(*v2, *ddelay, *cal);
  power<Tel><<<A, C>>>(*dwire, *pw);
  tied_beam<Tel><<<C * T / 4, 128>>>(*t2, *dw, *beam);
  ok(cudaGetLastError(), "launch");
  ok(cudaDeviceSynchronize(), "sync");

  auto h1 = t1.host();
  auto h2 = t2.host();
  auto g1 = v1.host();
  auto g2 = v2.host();
  auto gc = cal.host();
  auto gp = pw.host();
  auto gb = beam.host();
  long bad = 0;
  for (int a = 0; a < A; ++a) {
    for (int c = 0; c < C; ++c) {
      int sum = 0;
      for (int t = 0; t < T; ++t) {
        uint8_t w = wire[Tel::wire(a, t, c)];
        bad += h1[Tel::turned(c, t, a)] != w || h2[Tel::turned(c, t, a)] != w;
        int2 v = unpack(w);
        sum += v.x * v.x + v.y * v.y;
      }
      bad += gp[a * C + c] != sum;
    }
  }
  for (int c = 0; c < C; c += 3) {
    for (int i = 0; i < A; ++i) {
      for (int j = 0; j <= i; ++j) {
        int re = 0, im = 0;
        for (int t = 0; t < T; ++t) {
          int2 x = unpack(wire[Tel::wire(i, t, c)]), y = unpack(wire[Tel::wire(j, t, c)]);
          re += x.x * y.x + x.y * y.y;
          im += x.y * y.x - x.x * y.y;
        }
        int k = Tel::visibility(c, i, j);
        bad += g1[k].x != re || g1[k].y != im || g2[k].x != re || g2[k].y != im;
        double ph = -2.0 * M_PI * ((double)delay[i] - delay[j]) * c / C;
        double wr = re * std::cos(ph) - im * std::sin(ph), wi = re * std::sin(ph) + im * std::cos(ph);
        bad += std::fabs(gc[k].x - wr) > 0.5 || std::fabs(gc[k].y - wi) > 0.5;
      }
    }
  }
  for (int c = 0; c < C; c += 5) {
    for (int t = 0; t < T; ++t) {
      double re = 0, im = 0;
      for (int a = 0; a < A; ++a) {
        int2 v = unpack(wire[Tel::wire(a, t, c)]);
        float2 k = weights[c * A + a];
        re += v.x * k.x - v.y * k.y;
        im += v.x * k.y + v.y * k.x;
      }
      double want = re * re + im * im;
      bad += std::fabs(gb[c * T + t] - want) > 1e-3 * want + 0.05;
    }
  }
  std::printf("%ld bad\n%s\n", bad, bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
