// nvcc: -std=c++17
// Overlap-save convolution of a multichannel recording with a long FIR filter.
// The FFT length is 960 = 5 * 4 * 4 * 4 * 3; the plan is built by recursion on the host and
// every stage (Stockham autosort) is an instantiation of one kernel template.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dsp {

class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(cudaError_t e, const char* where) {
  if (e != cudaSuccess)
    throw CudaError(std::string(where) + ": " + cudaGetErrorString(e));
}

class Stream {
 public:
  Stream() { require(cudaStreamCreate(&s_), "stream"); }
  ~Stream() {
    if (s_ != nullptr)
      cudaStreamDestroy(s_);
  }
  Stream(Stream&& o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }
  void wait() const { require(cudaStreamSynchronize(s_), "synchronize"); }

 private:
  cudaStream_t s_ = nullptr;
};

template <typename T>
struct Buffer {
  T* p = nullptr;
  size_t n = 0;
  explicit Buffer(size_t count) : n(count) { require(cudaMalloc((void**)&p, n * sizeof(T)), "malloc"); }
  Buffer(const std::vector<T>& h) : Buffer(h.size()) {
    require(cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  Buffer(Buffer&& o) noexcept : p(std::exchange(o.p, nullptr)), n(o.n) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { cudaFree(p); }
  std::vector<T> get() const {
    std::vector<T> h(n);
    require(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return h;
  }
};

struct alignas(8) Complex {
  float re;
  float im;
};

__device__ inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// roots of unity of the radices in use
template <int R>
struct Roots;
template <>
struct Roots<3> {
  __device__ static Complex at(int k) {
    constexpr float c[3] = {1.0f, -0.5f, -0.5f};
    constexpr float s[3] = {0.0f, -0.86602540f, 0.86602540f};
    return {c[k], s[k]};
  }
};
template <>
struct Roots<4> {
  __device__ static Complex at(int k) {
    constexpr float c[4] = {1.0f, 0.0f, -1.0f, 0.0f};
    constexpr float s[4] = {0.0f, -1.0f, 0.0f, 1.0f};
    return {c[k], s[k]};
  }
};
template <>
struct Roots<5> {
  __device__ static Complex at(int k) {
    constexpr float c[5] = {1.0f, 0.30901699f, -0.80901699f, -0.80901699f, 0.30901699f};
    constexpr float s[5] = {0.0f, -0.95105652f, -0.58778525f, 0.58778525f, 0.95105652f};
    return {c[k], s[k]};
  }
};

// Stockham pass: `span` is the product of the radices already done.
template <int R>
__global__ void stockham_pass(const Complex* __restrict__ in, Complex* __restrict__ out,
                              const Complex* __restrict__ twiddle, int n, int span) {
  const int butterflies = n / R;
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= butterflies) return;
  const size_t base = static_cast<size_t>(blockIdx.y) * n;
  const int k = j % span;
  const int tw_step = n / (span * R);
  Complex v[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const Complex x = in[base + j + r * butterflies];
    v[r] = x * twiddle[r * k * tw_step];
  }
  const int dst = (j / span) * span * R + k;
#pragma unroll
  for (int q = 0; q < R; ++q) {
    Complex acc = v[0];
#pragma unroll
    for (int r = 1; r < R; ++r)
      acc = acc + v[r] * Roots<R>::at((q * r) % R);
    out[base + dst + q * span] = acc;
  }
}

// Interleaved samples (frame-major, channel fastest) into overlapping complex blocks.
__global__ void segment(const float* __restrict__ pcm, Complex* __restrict__ blocks, int frames, int channels, int n,
                        int hop, int history) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int block = blockIdx.y;
  const int channel = blockIdx.z;
  if (t >= n) return;
  const int frame = block * hop + t - history;
  float x = 0.0f;
  if (frame >= 0 && frame < frames)
    x = pcm[frame * channels + channel];
  blocks[(static_cast<size_t>(channel) * gridDim.y + block) * n + t] = Complex{x, 0.0f};
}

// Product with the filter spectrum; the conjugate prepares the inverse transform.
__global__ void multiply_spectrum(Complex* __restrict__ blocks, const Complex* __restrict__ filter, int n, int total) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
    const Complex y = blocks[i] * filter[i % n];
    blocks[i] = Complex{y.re, -y.im};
  }
}

// Keep the valid part of every block and interleave again.
__global__ void overlap_save(const Complex* __restrict__ blocks, float* __restrict__ pcm, int frames, int channels, int n,
                             int hop, int history, int block_count) {
  const int channel = threadIdx.x;
  const int frame = blockIdx.x * blockDim.y + threadIdx.y;
  if (channel >= channels || frame >= frames) return;
  const int block = frame / hop;
  const int t = frame - block * hop + history;
  const float y = blocks[(static_cast<size_t>(channel) * block_count + block) * n + t].re;
  pcm[frame * channels + channel] = y / n;
}

// Peak and energy per channel, one block each.
__global__ void channel_meter(const float* __restrict__ pcm, int frames, int channels, float2* __restrict__ meter) {
  __shared__ float peak[8];
  __shared__ float energy[8];
  const int channel = blockIdx.x;
  float p = 0.0f;
  float e = 0.0f;
  for (int f = threadIdx.x; f < frames; f += blockDim.x) {
    const float x = pcm[f * channels + channel];
    p = fmaxf(p, fabsf(x));
    e += x * x;
  }
  for (int d = 16; d > 0; d >>= 1) {
    p = fmaxf(p, __shfl_down_sync(~0u, p, d));
    e += __shfl_down_sync(~0u, e, d);
  }
  if (threadIdx.x % 32 == 0) {
    peak[threadIdx.x / 32] = p;
    energy[threadIdx.x / 32] = e;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < static_cast<int>(blockDim.x / 32); ++w) {
      p = fmaxf(p, peak[w]);
      e += energy[w];
    }
    meter[channel] = make_float2(p, e / frames);
  }
}

class Plan {
 public:
  static std::optional<Plan> make(int n) {
    std::vector<int> radices;
    if (!factor(n, radices)) return std::nullopt;
    return Plan(n, std::move(radices));
  }

  // Ping-pongs between a and b and returns the buffer that holds the result.
  Complex* execute(Complex* a, Complex* b, int batch, cudaStream_t stream) const {
    int span = 1;
    for (int radix : radices_) {
      const int butterflies = n_ / radix;
      const dim3 grid((butterflies + threads - 1) / threads, batch);
      switch (radix) {
        case 3:
          stockham_pass<3><<<grid, threads, 0, stream>>>(a, b, twiddle_.p, n_, span);
          break;
        case 4:
          stockham_pass<4><<<grid, threads, 0, stream>>>(a, b, twiddle_.p, n_, span);
          break;
        case 5:
          stockham_pass<5><<<grid, threads, 0, stream>>>(a, b, twiddle_.p, n_, span);
          break;
        default:
          throw std::logic_error("radix");
      }
      require(cudaGetLastError(), "stockham_pass");
      span *= radix;
      std::swap(a, b);
    }
    return a;
  }
  int size() const { return n_; }

 private:
  static constexpr int threads = 96;
  static bool factor(int n, std::vector<int>& out) {
    if (n == 1) return true;
    for (int r : {5, 4, 3}) {
      if (n % r == 0) {
        out.push_back(r);
        if (factor(n / r, out)) return true;
        out.pop_back();
      }
    }
    return false;
  }
  static std::vector<Complex> table(int n) {
    std::vector<Complex> t(n);
    for (int k = 0; k < n; ++k) {
      const double a = -2.0 * 3.14159265358979323846 * k / n;
      t[k] = Complex{static_cast<float>(std::cos(a)), static_cast<float>(std::sin(a))};
    }
    return t;
  }
  Plan(int n, std::vector<int> radices) : n_(n), radices_(std::move(radices)), twiddle_(table(n)) {}
  int n_;
  std::vector<int> radices_;
  Buffer<Complex> twiddle_;
};

class Convolver {
 public:
  Convolver(Plan plan, const std::vector<float>& taps) : plan_(std::move(plan)), taps_(static_cast<int>(taps.size())), spectrum_(plan_.size()) {
    std::vector<Complex> padded(plan_.size(), Complex{0.0f, 0.0f});
    for (int i = 0; i < taps_; ++i)
      padded[i].re = taps[i];
    Buffer<Complex> a(padded);
    Buffer<Complex> b(plan_.size());
    const Complex* r = plan_.execute(a.p, b.p, 1, stream_);
    require(cudaMemcpyAsync(spectrum_.p, r, plan_.size() * sizeof(Complex), cudaMemcpyDeviceToDevice, stream_), "spectrum");
    stream_.wait();
  }

  void run(const float* pcm_in, float* pcm_out, int frames, int channels) {
    const int n = plan_.size();
    const int history = taps_ - 1;
    const int hop = n - history;
    const int blocks = (frames + hop - 1) / hop;
    const int total = n * blocks * channels;
    Buffer<Complex> a(total);
    Buffer<Complex> b(total);
    segment<<<dim3((n + 191) / 192, blocks, channels), 192, 0, stream_>>>(pcm_in, a.p, frames, channels, n, hop, history);
    Complex* freq = plan_.execute(a.p, b.p, blocks * channels, stream_);
    Complex* other = freq == a.p ? b.p : a.p;
    multiply_spectrum<<<264, 256, 0, stream_>>>(freq, spectrum_.p, n, total);
    Complex* time = plan_.execute(freq, other, blocks * channels, stream_);
    const dim3 tile(channels, 256 / channels);
    overlap_save<<<(frames + tile.y - 1) / tile.y, tile, 0, stream_>>>(time, pcm_out, frames, channels, n, hop, history, blocks);
    require(cudaGetLastError(), "overlap_save");
    stream_.wait();
  }
  const Stream& stream() const { return stream_; }

 private:
  Stream stream_;
  Plan plan_;
  int taps_;
  Buffer<Complex> spectrum_;
};

}  // namespace dsp

int main() {
  using namespace dsp;
  try {
    constexpr int channels = 6;
    constexpr int frames = 40000;
    constexpr int tap_count = 193;
    std::mt19937 rng(77);
    std::vector<float> pcm(frames * channels);
    for (float& x : pcm)
      x = static_cast<float>(rng() >> 8) / 16777216.0f - 0.5f;
    std::vector<float> taps(tap_count);
    for (int i = 0; i < tap_count; ++i)
      taps[i] = std::exp(-i / 40.0f) * std::cos(0.3f * i);
    std::optional<Plan> plan = Plan::make(960);
    if (!plan) {
      std::puts("FAIL: no plan");
      return 1;
    }
    Buffer<float> in(pcm);
    Buffer<float> out(pcm.size());
    Buffer<float2> meter(channels);
    Convolver convolver(std::move(*plan), taps);
    convolver.run(in.p, out.p, frames, channels);
    channel_meter<<<channels, 256, 0, convolver.stream()>>>(out.p, frames, channels, meter.p);
    require(cudaGetLastError(), "channel_meter");
    convolver.stream().wait();

    const std::vector<float> y = out.get();
    const std::vector<float2> m = meter.get();
    double worst = 0.0;
    std::vector<double> peak(channels, 0.0);
    std::vector<double> energy(channels, 0.0);
    for (int f = 0; f < frames; ++f) {
      for (int c = 0; c < channels; ++c) {
        double acc = 0.0;
        for (int i = 0; i < tap_count && i <= f; ++i)
          acc += static_cast<double>(taps[i]) * pcm[(f - i) * channels + c];
        worst = std::fmax(worst, std::fabs(acc - y[f * channels + c]));
        peak[c] = std::fmax(peak[c], std::fabs(acc));
        energy[c] += acc * acc / frames;
      }
    }
    bool ok = worst < 2e-4;
    for (int c = 0; c < channels; ++c)
      ok = ok && std::fabs(m[c].x - peak[c]) < 1e-3 && std::fabs(m[c].y - energy[c]) < 1e-3 * energy[c];
    std::printf("worst %.3e %s\n", worst, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
  } catch (const std::exception& e) {
    std::printf("FAIL: %s\n", e.what());
    return 1;
  }
}
