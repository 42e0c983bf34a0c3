// One decoder step's kernels: RMS norm in bf16, rotary embedding in half2, int4 and int8 weight GEMV, SiLU gate.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define C10_CHECK(EXPR)                                                             \
  do {                                                                              \
    const cudaError_t __err = EXPR;                                                 \
    if (__err != cudaSuccess) {                                                     \
      fprintf(stderr, "error '%s' in %s\n", cudaGetErrorString(__err), __func__);   \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

constexpr int kHidden = 2048;
constexpr int kRows = 1536;
constexpr int kGroup = 64;
constexpr int kTokens = 48;
constexpr int kHeads = 16;
constexpr int kHeadDim = 128;

template <typename T>
__inline__ __device__ T warpReduceSum(T val) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(0xffffffff, val, mask, 32);
  return val;
}

__inline__ __device__ float blockReduceSum(float val) {
  __shared__ float shared[32];
  const int lane = threadIdx.x & 0x1f, wid = threadIdx.x >> 5;
  val = warpReduceSum(val);
  if (lane == 0) shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < (blockDim.x >> 5)) ? shared[lane] : 0.0f;
  if (wid == 0) {
    val = warpReduceSum(val);
    if (lane == 0) shared[0] = val;
  }
  __syncthreads();
  return shared[0];
}

__global__ void rmsnorm_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ weight, float eps) {
  const __nv_bfloat162* src = reinterpret_cast<const __nv_bfloat162*>(in + blockIdx.x * kHidden);
  __nv_bfloat162* dst = reinterpret_cast<__nv_bfloat162*>(out + blockIdx.x * kHidden);
  const __nv_bfloat162* w2 = reinterpret_cast<const __nv_bfloat162*>(weight);
  float ss = 0.0f;
  for (int i = threadIdx.x; i < kHidden / 2; i += blockDim.x) {
    const float2 v = __bfloat1622float2(src[i]);
    ss += v.x * v.x + v.y * v.y;
  }
  const float scale = rsqrtf(blockReduceSum(ss) / kHidden + eps);
  for (int i = threadIdx.x; i < kHidden / 2; i += blockDim.x) {
    const float2 v = __bfloat1622float2(src[i]), w = __bfloat1622float2(w2[i]);
    dst[i] = __floats2bfloat162_rn(v.x * scale * w.x, v.y * scale * w.y);
  }
}

// pairs (d, d + dim / 2)
__global__ void rope_neox_kernel(__half* q, const float* __restrict__ cosSin, const int* __restrict__ positions) {
  const int token = blockIdx.x;
  const float* cs = cosSin + positions[token] * kHeadDim;
  for (int i = threadIdx.x; i < kHeads * kHeadDim / 2; i += blockDim.x) {
    const int head = i / (kHeadDim / 2), d = i % (kHeadDim / 2);
    __half* base = q + (token * kHeads + head) * kHeadDim;
    const float x = __half2float(base[d]), y = __half2float(base[d + kHeadDim / 2]);
    const float c = __ldg(cs + d), s = __ldg(cs + kHeadDim / 2 + d);
    base[d] = __float2half(x * c - y * s);
    base[d + kHeadDim / 2] = __float2half(y * c + x * s);
  }
}

// weights: eight nibbles a word, row major; a warp a row
__global__ void gemv_w4_kernel(const uint32_t* __restrict__ qweight, const __half2* __restrict__ scaleZero, const __half* __restrict__ x, float* __restrict__ y) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= kRows) return;
  const uint32_t* w = qweight + row * (kHidden / 8);
  float acc = 0.0f;
  for (int i = threadIdx.x; i < kHidden / 8; i += 32) {
    uint32_t packed = w[i];
    const float2 sz = __half22float2(scaleZero[row * (kHidden / kGroup) + i * 8 / kGroup]);
    const int4 raw = *reinterpret_cast<const int4*>(x + i * 8);
    const __half2* xv = reinterpret_cast<const __half2*>(&raw);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 f = __half22float2(xv[j]);
      acc += (float(packed & 0xf) - sz.y) * sz.x * f.x;
      acc += (float((packed >> 4) & 0xf) - sz.y) * sz.x * f.y;
      packed >>= 8;
    }
  }
  acc = warpReduceSum(acc);
  if (threadIdx.x == 0) y[row] = acc;
}

__global__ void gemv_w8_kernel(const int4* __restrict__ weight, const int4* __restrict__ x, const float* __restrict__ scale, float* __restrict__ y) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= kRows) return;
  int acc = 0;
  for (int i = threadIdx.x; i < kHidden / 16; i += 32) {
    const int4 a = __ldg(weight + row * (kHidden / 16) + i), b = __ldg(x + i);
    acc = __dp4a(a.x, b.x, acc);
    acc = __dp4a(a.y, b.y, acc);
    acc = __dp4a(a.z, b.z, acc);
    acc = __dp4a(a.w, b.w, acc);
  }
  acc = warpReduceSum(acc);
  if (threadIdx.x == 0) y[row] = acc * scale[row];
}

// in: [tokens][gate | up], out: [tokens][dim]
__global__ void silu_and_mul_kernel(__half* __restrict__ out, const __half* __restrict__ in, int dim) {
  const __half* gate = in + blockIdx.x * 2 * dim;
  const __half* up = gate + dim;
  for (int i = threadIdx.x; i < dim; i += blockDim.x) {
    const float g = __half2float(__ldg(gate + i));
    out[blockIdx.x * dim + i] = __float2half(g / (1.0f + __expf(-g)) * __half2float(__ldg(up + i)));
  }
}

template <typename T>
T* device(const std::vector<T>& v) {
  T* p;
  C10_CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
  C10_CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <typename T>
std::vector<T> host(const T* p, size_t n) {
  std::vector<T> v(n);
  C10_CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

int main() {
  uint32_t seed = 777;
  auto rnd = [&seed] { seed = seed * 1664525u + 1013904223u; return float(seed >> 8) / 8388608.0f - 1.0f; };
  int bad = 0;
  auto expect = [&bad](const char* what, size_t i, double got, double want, double tol) {
    if (!(std::fabs(got - want) <= tol * (1 + std::fabs(want))) && bad++ < 5) printf("%s[%zu] = %g, want %g\n", what, i, got, want);
  };

  {  // rms norm
    std::vector<__nv_bfloat16> in(kTokens * kHidden), w(kHidden), zero(kTokens * kHidden);
    for (auto& v : in) v = __float2bfloat16(2 * rnd());
    for (auto& v : w) v = __float2bfloat16(1 + 0.25f * rnd());
    auto *dIn = device(in), *dW = device(w), *dOut = device(zero);
    rmsnorm_kernel<<<kTokens, 256>>>(dOut, dIn, dW, 1e-5f);
    auto out = host(dOut, zero.size());
    for (int t = 0; t < kTokens; ++t) {
      double ss = 0;
      for (int i = 0; i < kHidden; ++i) ss += std::pow(double(__bfloat162float(in[t * kHidden + i])), 2);
      const double scale = 1 / std::sqrt(ss / kHidden + 1e-5);
      for (int i = 0; i < kHidden; ++i)
        expect("rmsnorm", t * kHidden + i, __bfloat162float(out[t * kHidden + i]), __bfloat162float(in[t * kHidden + i]) * scale * __bfloat162float(w[i]), 1e-2);
    }
  }
  {  // rotary
    std::vector<__half> q(kTokens * kHeads * kHeadDim);
    std::vector<float> table(256 * kHeadDim);
    std::vector<int> pos(kTokens);
    for (auto& v : q) v = __float2half(rnd());
    for (int p = 0; p < 256; ++p)
      for (int d = 0; d < kHeadDim / 2; ++d) {
        const double angle = p * std::pow(10000.0, -2.0 * d / kHeadDim);
        table[p * kHeadDim + d] = float(std::cos(angle));
        table[p * kHeadDim + kHeadDim / 2 + d] = float(std::sin(angle));
      }
    for (int t = 0; t < kTokens; ++t) pos[t] = (t * 5 + 3) % 256;
    auto* dQ = device(q);
    rope_neox_kernel<<<kTokens, 256>>>(dQ, device(table), device(pos));
    auto out = host(dQ, q.size());
    for (size_t i = 0; i < q.size(); ++i) {
      const int t = int(i) / (kHeads * kHeadDim), d = int(i) % kHeadDim, half = kHeadDim / 2;
      const float c = table[pos[t] * kHeadDim + d % half], s = table[pos[t] * kHeadDim + half + d % half];
      const float me = __half2float(q[i]);
      const float want = d < half ? me * c - __half2float(q[i + half]) * s : me * c + __half2float(q[i - half]) * s;
      expect("rope", i, __half2float(out[i]), want, 2e-3);
    }
  }
  {  // int4
    std::vector<uint32_t> qw(kRows * kHidden / 8);
    std::vector<__half2> sz(kRows * kHidden / kGroup);
    std::vector<__half> x(kHidden);
    for (auto& v : qw) { rnd(); v = seed ^ (seed >> 15); }
    for (auto& v : sz) v = __floats2half2_rn(0.02f + 0.01f * rnd(), 8.0f);
    for (auto& v : x) v = __float2half(rnd());
    auto* dY = device(std::vector<float>(kRows));
    gemv_w4_kernel<<<kRows / 8, dim3(32, 8)>>>(device(qw), device(sz), device(x), dY);
    auto y = host(dY, kRows);
    for (int r = 0; r < kRows; ++r) {
      double sum = 0;
      for (int k = 0; k < kHidden; ++k) {
        const __half2 g = sz[r * (kHidden / kGroup) + k / kGroup];
        const int nib = (qw[r * (kHidden / 8) + k / 8] >> (4 * (k % 8))) & 0xf;
        sum += (nib - double(__half2float(__high2half(g)))) * __half2float(__low2half(g)) * __half2float(x[k]);
      }
      expect("w4", r, y[r], sum, 1e-3);
    }
  }
  {  // int8
    std::vector<int4> w(kRows * kHidden / 16), x(kHidden / 16);
    std::vector<float> scale(kRows);
    auto bytes = [&](std::vector<int4>& v) { for (size_t i = 0; i < v.size() * 16; ++i) reinterpret_cast<int8_t*>(v.data())[i] = int8_t(127 * rnd()); };
    bytes(w);
    bytes(x);
    for (auto& v : scale) v = 0.001f * (2 + rnd());
    auto* dY = device(std::vector<float>(kRows));
    gemv_w8_kernel<<<kRows / 4, dim3(32, 4)>>>(device(w), device(x), device(scale), dY);
    auto y = host(dY, kRows);
    const auto *wb = reinterpret_cast<const int8_t*>(w.data()), *xb = reinterpret_cast<const int8_t*>(x.data());
    for (int r = 0; r < kRows; ++r) {
      long sum = 0;
      for (int k = 0; k < kHidden; ++k) sum += wb[r * kHidden + k] * xb[k];
      expect("w8", r, y[r], double(sum) * scale[r], 1e-4);
    }
  }
  {  // gate; an odd width
    const int dim = 1365;
    std::vector<__half> in(kTokens * 2 * dim), zero(kTokens * dim);
    for (auto& v : in) v = __float2half(3 * rnd());
    auto* dOut = device(zero);
    silu_and_mul_kernel<<<kTokens, 512>>>(dOut, device(in), dim);
    auto out = host(dOut, zero.size());
    for (int t = 0; t < kTokens; ++t)
      for (int i = 0; i < dim; ++i) {
        const double g = __half2float(in[t * 2 * dim + i]), u = __half2float(in[(t * 2 + 1) * dim + i]);
        expect("silu", t * dim + i, __half2float(out[t * dim + i]), g / (1 + std::exp(-g)) * u, 3e-3);
      }
  }
  C10_CHECK(cudaDeviceSynchronize());
  puts(bad ? "FAILED" : "OK");
  return bad ? 1 : 0;
}
