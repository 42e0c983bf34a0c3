// Offline software synthesizer: FM voices, ADSR envelopes, mix bus with pan, comb/allpass reverb, waveshaper, limiter, PCM output.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

namespace synth {

struct Voice {
  float freq;
  float ratio;
  float index;
  float attack;
  float decay;
  float sustain;
  float release;
  float pan;
  int start;
  int length;
};

struct EffectParams {
  int frames;
  int channels;
  float drive;
  float wet;
};

constexpr int kRate = 48000;
constexpr int kCombs = 8;
constexpr int kTable = 2048;
__constant__ int c_delay[kCombs] = {1116, 1188, 1277, 1356, 1422, 1491, 1557, 1617};
const int h_delay[kCombs] = {1116, 1188, 1277, 1356, 1422, 1491, 1557, 1617};

inline void expect(cudaError_t e, const char* msg) {
  if (e != cudaSuccess) {
    std::printf("%s: %s\n", msg, cudaGetErrorString(e));
    std::exit(1);
  }
}

__host__ __device__ inline float envelope(const Voice& v, int t) {
  float x = t / (float)kRate;
  float end = v.length / (float)kRate;
  if (x < v.attack) return x / v.attack;
  float y = x - v.attack;
  float level = y < v.decay ? 1.0f - (1.0f - v.sustain) * y / v.decay : v.sustain;
  float tail = (end - x) / v.release;
  return tail < 1.0f ? level * fmaxf(tail, 0.0f) : level;
}

// voice-major: out[voice][t]; the sine comes from a table with interpolation
__global__ void render_voices(const Voice* __restrict__ voices, const float* __restrict__ sine, float* __restrict__ out, int frames) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int v = blockIdx.y;
  if (t >= frames) return;
  Voice p = voices[v];
  int k = t - p.start;
  float s = 0.0f;
  if (k >= 0 && k < p.length) {
    double cycles = (double)p.freq * k / kRate;
    double mod = (double)p.freq * p.ratio * k / kRate;
    float m = (float)(mod - floor(mod)) * kTable;
    int i = (int)m & (kTable - 1);
    float a = sine[i];
    float b = sine[(i + 1) & (kTable - 1)];
    float md = a + (m - (int)m) * (b - a);
    float ph = (float)(cycles - floor(cycles)) + p.index * md;
    ph -= floorf(ph);
    float q = ph * kTable;
    int j = (int)q & (kTable - 1);
    a = sine[j];
    b = sine[(j + 1) & (kTable - 1)];
    s = (a + (q - (int)q) * (b - a)) * envelope(p, k);
  }
  out[(size_t)v * frames + t] = s;
}

// interleaved stereo bus
__global__ void mix_bus(const Voice* __restrict__ voices, const float* __restrict__ in, float2* __restrict__ bus, int nv, int frames) {
  __shared__ float2 gain[64];
  if (threadIdx.x < nv) {
    float pan = voices[threadIdx.x].pan;
    gain[threadIdx.x] = make_float2(0.3f * (1.0f - pan), 0.3f * pan);
  }
  __syncthreads();
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= frames) return;
  float l = 0.0f, r = 0.0f;
  for (int v = 0; v < nv; ++v) {
    float x = in[(size_t)v * frames + t];
    l += gain[v].x * x;
    r += gain[v].y * x;
  }
  bus[t] = make_float2(l, r);
}

// comb filter y[t] = x[t] + g y[t-D]: the D residues are independent; block = (comb, channel)
__global__ void comb_bank(const float* __restrict__ bus, float* __restrict__ out, int frames, float g) {
  int comb = blockIdx.x;
  int ch = blockIdx.y;
  int D = c_delay[comb] + 23 * ch;
  float* y = out + (size_t)(comb * 2 + ch) * frames;
  for (int r = threadIdx.x; r < D; r += blockDim.x) {
    float s = 0.0f;
    for (int t = r; t < frames; t += D) {
      s = bus[2 * t + ch] + g * s;
      y[t] = s;
    }
  }
}

__global__ void shape_and_mix(const float* __restrict__ bus, const float* __restrict__ combs, float* __restrict__ out, EffectParams fx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= fx.frames * fx.channels) return;
  int t = i / fx.channels;
  int ch = i % fx.channels;
  float w = 0.0f;
#pragma unroll
  for (int c = 0; c < kCombs; ++c) w += combs[(size_t)(c * 2 + ch) * fx.frames + t];
  float x = bus[i] + fx.wet * w;
  out[i] = tanhf(fx.drive * x);
}

// peak of every block of 480 frames
__global__ void peak_meter(const float2* __restrict__ in, float* __restrict__ peak, int frames) {
  int t0 = blockIdx.x * 480;
  float m = 0.0f;
  for (int k = threadIdx.x; k < 480 && t0 + k < frames; k += blockDim.x) {
    float2 v = in[t0 + k];
    m = fmaxf(m, fmaxf(fabsf(v.x), fabsf(v.y)));
  }
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
  __shared__ float w[4];
  if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = m;
  __syncthreads();
  if (threadIdx.x == 0) peak[blockIdx.x] = fmaxf(fmaxf(w[0], w[1]), fmaxf(w[2], w[3]));
}

// gain from the neighbouring peaks; 24-bit packed PCM, 3 bytes a sample
__global__ void limiter_pcm24(const float* __restrict__ in, const float* __restrict__ peak, uint8_t* __restrict__ pcm, int frames, int blocks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 2 * frames) return;
  int b = i / 2 / 480;
  float p = fmaxf(peak[b], fmaxf(peak[max(b - 1, 0)], peak[min(b + 1, blocks - 1)]));
  float gain = p > 0.7f ? 0.7f / p : 1.0f;
  int q = (int)rintf(in[i] * gain * 8388607.0f);
  pcm[3 * i] = (uint8_t)(q & 255);
  pcm[3 * i + 1] = (uint8_t)((q >> 8) & 255);
  pcm[3 * i + 2] = (uint8_t)((q >> 16) & 255);
}

class Renderer {
 public:
  Renderer(int frames, int voices) : frames_(frames), nv_(voices) {
    alloc(&voices_, voices);
    alloc(&sine_, kTable);
    alloc(&dry_, (size_t)voices * frames);
    alloc(&bus_, 2 * frames);
    alloc(&combs_, (size_t)2 * kCombs * frames);
    alloc(&out_, 2 * frames);
    alloc(&peak_, blocks());
    alloc(&pcm_, 6 * frames);
  }
  ~Renderer() {
    for (void* p : owned_) cudaFree(p);
  }
  int blocks() const { return (frames_ + 479) / 480; }
  void render(const std::vector<Voice>& v, const std::vector<float>& sine, const EffectParams& fx, float g) {
    expect(cudaMemcpy(voices_, v.data(), v.size() * sizeof(Voice), cudaMemcpyHostToDevice), "voices");
    expect(cudaMemcpy(sine_, sine.data(), sine.size() * 4, cudaMemcpyHostToDevice), "table");
    render_voices<<<dim3((frames_ + 255) / 256, nv_), 256>>>(voices_, sine_, dry_, frames_);
    mix_bus<<<(frames_ + 127) / 128, 128>>>(voices_, dry_, reinterpret_cast<float2*>(bus_), nv_, frames_);
    comb_bank<<<dim3(kCombs, 2), 512>>>(bus_, combs_, frames_, g);
    shape_and_mix<<<(2 * frames_ + 255) / 256, 256>>>(bus_, combs_, out_, fx);
    peak_meter<<<blocks(), 128>>>(reinterpret_cast<const float2*>(out_), peak_, frames_);
    limiter_pcm24<<<(2 * frames_ + 255) / 256, 256>>>(out_, peak_, pcm_, frames_, blocks());
    expect(cudaGetLastError(), "launch");
    expect(cudaDeviceSynchronize(), "render");
  }
  std::vector<float> dry() const { return get(dry_, (size_t)nv_ * frames_); }
  std::vector<float> bus() const { return get(bus_, 2 * frames_); }
  std::vector<float> combs() const { return get(combs_, (size_t)2 * kCombs * frames_); }
  std::vector<float> out() const { return get(out_, 2 * frames_); }
  std::vector<float> peak() const { return get(peak_, blocks()); }
  std::vector<uint8_t> pcm() const { return get(pcm_, 6 * frames_); }

 private:
  template <class T>
  void alloc(T** p, size_t n) {
    expect(cudaMalloc(p, n * sizeof(T)), "alloc");
    owned_.push_back(*p);
  }
  template <class T>
  std::vector<T> get(const T* p, size_t n) const {
    std::vector<T> h(n);
    expect(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "get");
    return h;
  }
  int frames_, nv_;
  Voice* voices_;
  float *sine_, *dry_, *bus_, *combs_, *out_, *peak_;
  uint8_t* pcm_;
  std::vector<void*> owned_;
};

}  // namespace synth

int main() {
  using namespace synth;
  const int frames = 72000;
  const int nv = 40;
  std::vector<Voice> v(nv);
  uint32_t s = 9;
  auto rnd = [&s] {
    s = s * 1664525u + 1013904223u;
    return (s >> 8) / 16777216.0f;
  };
  for (int i = 0; i < nv; ++i) {
    v[i] = {55.0f * powf(2.0f, (i * 7 % 36) / 12.0f), 1.0f + (float)(i % 4), 0.4f * rnd(), 0.01f + 0.05f * rnd(), 0.1f + 0.2f * rnd(), 0.3f + 0.5f * rnd(), 0.05f + 0.1f * rnd(), rnd(), (int)(rnd() * 40000), 15000 + (int)(rnd() * 15000)};
  }
  std::vector<float> sine(kTable);
  for (int i = 0; i < kTable; ++i) sine[i] = (float)std::sin(2.0 * M_PI * i / kTable);
  EffectParams fx{frames, 2, 0.8f, 0.02f};
  Renderer r(frames, nv);
  const float g = 0.84f;
  r.render(v, sine, fx, g);

  auto dry = r.dry();
  auto bus = r.bus();
  auto combs = r.combs();
  auto out = r.out();
  auto peak = r.peak();
  auto pcm = r.pcm();
  long bad = 0;
  for (int i = 0; i < nv; ++i) {
    for (int t = 0; t < frames; t += 3) {
      int k = t - v[i].start;
      double want = 0;
      if (k >= 0 && k < v[i].length) {
        double m = std::sin(2.0 * M_PI * std::fmod((double)v[i].freq * v[i].ratio * k / kRate, 1.0));
        want = std::sin(2.0 * M_PI * ((double)v[i].freq * k / kRate + v[i].index * m)) * envelope(v[i], k);
      }
      bad += std::fabs(want - dry[(size_t)i * frames + t]) > 2e-3;
    }
  }
  for (int t = 0; t < frames; ++t) {
    double l = 0;
    for (int i = 0; i < nv; ++i) l += 0.3 * (1.0 - v[i].pan) * dry[(size_t)i * frames + t];
    bad += std::fabs(l - bus[2 * t]) > 1e-4;
  }
  for (int c = 0; c < kCombs; ++c) {
    for (int ch = 0; ch < 2; ++ch) {
      const float* y = &combs[(size_t)(c * 2 + ch) * frames];
      int D = h_delay[c] + 23 * ch;
      for (int t = 0; t < frames; ++t) {
        float prev = t >= D ? y[t - D] : 0.0f;
        bad += std::fabs(bus[2 * t + ch] + g * prev - y[t]) > 1e-4f;
      }
    }
  }
  for (int i = 0; i < 2 * frames; ++i) {
    int t = i / 2, ch = i % 2;
    double w = 0;
    for (int c = 0; c < kCombs; ++c) w += combs[(size_t)(c * 2 + ch) * frames + t];
    bad += std::fabs(std::tanh(0.8 * (bus[i] + 0.02 * w)) - out[i]) > 1e-4;
    int b = t / 480;
    float p = std::max(peak[b], std::max(peak[std::max(b - 1, 0)], peak[std::min(b + 1, r.blocks() - 1)]));
    bad += std::fabs(out[i]) > peak[b];
    float gain = p > 0.7f ? 0.7f / p : 1.0f;
    int q = pcm[3 * i] | pcm[3 * i + 1] << 8 | pcm[3 * i + 2] << 16;
    if (q & 0x800000) q -= 0x1000000;
    bad += std::fabs(q - out[i] * gain * 8388607.0) > 8.0;
  }
  std::printf("%ld samples differ\n%s\n", bad, bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
