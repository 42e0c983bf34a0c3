// Batched 1024-point complex FFT, radix-4 Stockham, one transform per block,
// 256 threads x 4 points.  Exchange through shared memory in three layouts.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static constexpr int kN = 1024;
static constexpr int kThreads = kN / 4;
static constexpr int kBatch = 1024;

#define CU(x)                                                                     \
  do {                                                                            \
    cudaError_t r = (x);                                                          \
    if (r != cudaSuccess) {                                                       \
      fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(r));              \
      exit(EXIT_FAILURE);                                                         \
    }                                                                             \
  } while (0)

__device__ inline float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ inline float2 operator*(float2 a, float2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
__device__ inline float2 mulNegI(float2 a) { return {a.y, -a.x}; }

__device__ inline float2 twiddle(float frac) {  // exp(-2 pi i frac)
  float s, c;
  sincospif(-2.0f * frac, &s, &c);
  return {c, s};
}

__device__ inline void butterfly4(float2 (&v)[4]) {
  const float2 a = v[0] + v[2], b = v[0] - v[2];
  const float2 c = v[1] + v[3], d = mulNegI(v[1] - v[3]);
  v[0] = a + c;
  v[1] = b + d;
  v[2] = a - c;
  v[3] = b - d;
}

// ---- exchange policies -------------------------------------------------
// Interleaved complex numbers, no padding: stride-4 float2 stores.
struct ExchangeAoS {
  static constexpr int kFloats = 2 * kN;
  float2* p;
  __device__ explicit ExchangeAoS(float* raw) : p(reinterpret_cast<float2*>(raw)) {}
  __device__ void put(int i, float2 v) { p[i] = v; }
  __device__ float2 get(int i) const { return p[i]; }
};
// Split planes, one pad word every 32.
struct ExchangePadded {
  static constexpr int kPlane = kN + kN / 32;
  static constexpr int kFloats = 2 * kPlane;
  float *re, *im;
  __device__ explicit ExchangePadded(float* raw) : re(raw), im(raw + kPlane) {}
  __device__ static int pos(int i) { return i + (i >> 5); }
  __device__ void put(int i, float2 v) { re[pos(i)] = v.x; im[pos(i)] = v.y; }
  __device__ float2 get(int i) const { return {re[pos(i)], im[pos(i)]}; }
};
// Split planes, xor swizzle of the low five bits.
struct ExchangeSwizzled {
  static constexpr int kFloats = 2 * kN;
  float *re, *im;
  __device__ explicit ExchangeSwizzled(float* raw) : re(raw), im(raw + kN) {}
  __device__ static int pos(int i) { return i ^ ((i >> 5) & 31); }
  __device__ void put(int i, float2 v) { re[pos(i)] = v.x; im[pos(i)] = v.y; }
  __device__ float2 get(int i) const { return {re[pos(i)], im[pos(i)]}; }
};

template <class Exchange>
__device__ void fft1024(float2 (&v)[4], Exchange& ex) {
  const int t = threadIdx.x;
#pragma unroll
  for (int ns = 1; ns < kN; ns *= 4) {
    const int k = t & (ns - 1);
    if (ns > 1) {
      const float frac = float(k) / float(ns * 4);
      const float2 w1 = twiddle(frac);
      const float2 w2 = w1 * w1;
      v[1] = v[1] * w1;
      v[2] = v[2] * w2;
      v[3] = v[3] * (w2 * w1);
    }
    butterfly4(v);
    const int dst = (t - k) * 4 + k;
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 4; ++r) ex.put(dst + r * ns, v[r]);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 4; ++r) v[r] = ex.get(t + r * kThreads);
  }
}

// transforms are contiguous rows
template <class Exchange>
__global__ void __launch_bounds__(kThreads) fft_rows(const float2* __restrict__ in,
                                                     float2* __restrict__ out) {
  __shared__ __align__(16) float raw[Exchange::kFloats];
  Exchange ex(raw);
  const size_t base = size_t(blockIdx.x) * kN;
  float2 v[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) v[r] = in[base + threadIdx.x + r * kThreads];
  fft1024(v, ex);
#pragma unroll
  for (int r = 0; r < 4; ++r) out[base + threadIdx.x + r * kThreads] = v[r];
}

// transforms run down the columns of a kN x width matrix: one block = one
// column, so global accesses are width complex numbers apart
template <class Exchange>
__global__ void __launch_bounds__(kThreads) fft_columns(const float2* __restrict__ in,
                                                        float2* __restrict__ out, int width) {
  __shared__ __align__(16) float raw[Exchange::kFloats];
  Exchange ex(raw);
  const int col = blockIdx.x;
  float2 v[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) v[r] = in[(threadIdx.x + r * kThreads) * width + col];
  fft1024(v, ex);
#pragma unroll
  for (int r = 0; r < 4; ++r) out[(threadIdx.x + r * kThreads) * width + col] = v[r];
}

using cd = std::complex<double>;
static void hostFft(std::vector<cd>& a) {
  const size_t n = a.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  for (size_t len = 2; len <= n; len *= 2)
    for (size_t k = 0; k < len / 2; ++k) {
      const cd w = std::polar(1.0, -2.0 * 3.14159265358979323846 * double(k) / double(len));
      for (size_t i = k; i < n; i += len) {
        const cd x = a[i], y = a[i + len / 2];
        const cd yw(y.real() * w.real() - y.imag() * w.imag(),
                    y.real() * w.imag() + y.imag() * w.real());
        a[i] = x + yw;
        a[i + len / 2] = x - yw;
      }
    }
}

int main() {
  const size_t count = size_t(kN) * kBatch;
  std::vector<float2> h(count), g(count);
  unsigned s = 99991u;
  auto next = [&s] {
    s = s * 1103515245u + 12345u;
    return float((s >> 9) & 0x3fff) / 8192.0f - 1.0f;
  };
  for (auto& z : h) { z.x = next(); z.y = next(); }

  float2 *dIn, *dOut;
  CU(cudaMalloc(&dIn, count * sizeof(float2)));
  CU(cudaMalloc(&dOut, count * sizeof(float2)));
  CU(cudaMemcpy(dIn, h.data(), count * sizeof(float2), cudaMemcpyHostToDevice));

  bool pass = true;
  auto verify = [&](const char* tag, bool columns) {
    CU(cudaGetLastError());
    CU(cudaMemcpy(g.data(), dOut, count * sizeof(float2), cudaMemcpyDeviceToHost));
    CU(cudaMemset(dOut, 0, count * sizeof(float2)));
    double worst = 0;
    std::vector<cd> a(kN);
    for (int b = 0; b < kBatch; b += 31) {
      auto idx = [&](int i) { return columns ? size_t(i) * kBatch + b : size_t(b) * kN + i; };
      for (int i = 0; i < kN; ++i) a[i] = cd(h[idx(i)].x, h[idx(i)].y);
      hostFft(a);
      for (int i = 0; i < kN; ++i) {
        const double e = std::abs(a[i] - cd(g[idx(i)].x, g[idx(i)].y));
        if (!(e <= worst)) worst = e;
      }
    }
    printf("%-12s max error %.2e\n", tag, worst);
    pass &= worst < 2e-3;
  };

  fft_rows<ExchangeAoS><<<kBatch, kThreads>>>(dIn, dOut);
  verify("rows aos", false);
  fft_rows<ExchangePadded><<<kBatch, kThreads>>>(dIn, dOut);
  verify("rows padded", false);
  fft_rows<ExchangeSwizzled><<<kBatch, kThreads>>>(dIn, dOut);
  verify("rows swizzle", false);
  fft_columns<ExchangePadded><<<kBatch, kThreads>>>(dIn, dOut, kBatch);
  verify("columns", true);

  cudaFree(dIn);
  cudaFree(dOut);
  puts(pass ? "PASS" : "FAIL");
  return !pass;
}
