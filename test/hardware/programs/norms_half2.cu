// Row-wise softmax and layernorm on fp16 activations.
//   softmax_warp   : one warp per row, row held in registers as half2
//   softmax_block  : one block per row, fp16 row staged in dynamic shared memory
//   layernorm_block: one block per row, Welford-free two pass, half2
//   layernorm_naive: one thread per row (baseline kept for regression tests)
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define RUNTIME_CHECK(expr)                                                  \
  do {                                                                       \
    const cudaError_t status_ = (expr);                                      \
    if (status_ != cudaSuccess) {                                            \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(status_)); \
      std::exit(2);                                                          \
    }                                                                        \
  } while (false)

constexpr int kShortRows = 8192, kShortCols = 512;
constexpr int kLongRows = 1024, kLongCols = 4096;

template <int kCols, int kWarpsPerBlock>
__global__ __launch_bounds__(kWarpsPerBlock * 32) void softmax_warp(
    const half2* __restrict__ in, half2* __restrict__ out, int rows) {
  constexpr int kPairs = kCols / 2 / 32;
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int row = blockIdx.x * kWarpsPerBlock + warp.meta_group_rank();
  if (row >= rows) return;
  const half2* src = in + static_cast<size_t>(row) * (kCols / 2);
  half2* dst = out + static_cast<size_t>(row) * (kCols / 2);

  float2 x[kPairs];
  float peak = -INFINITY;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    x[i] = __half22float2(src[i * 32 + warp.thread_rank()]);
    peak = fmaxf(peak, fmaxf(x[i].x, x[i].y));
  }
  peak = cg::reduce(warp, peak, cg::greater<float>());
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    x[i].x = __expf(x[i].x - peak);
    x[i].y = __expf(x[i].y - peak);
    sum += x[i].x + x[i].y;
  }
  sum = cg::reduce(warp, sum, cg::plus<float>());
  const float inv = 1.f / sum;
#pragma unroll
  for (int i = 0; i < kPairs; ++i)
    dst[i * 32 + warp.thread_rank()] = __floats2half2_rn(x[i].x * inv, x[i].y * inv);
}

struct MaxOp {
  static constexpr float kIdentity = -3.0e38f;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct SumOp {
  static constexpr float kIdentity = 0.f;
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Op>
__device__ float block_reduce(float v, float* scratch) {
  const Op op{};
  const int lane = threadIdx.x % 32, wid = threadIdx.x / 32;
#pragma unroll
  for (int m = 16; m > 0; m /= 2) v = op(v, __shfl_xor_sync(~0u, v, m));
  __syncthreads();  // scratch may still be in use by an earlier call
  if (lane == 0) scratch[wid] = v;
  __syncthreads();
  v = lane < static_cast<int>(blockDim.x) / 32 ? scratch[lane] : Op::kIdentity;
#pragma unroll
  for (int m = 16; m > 0; m /= 2) v = op(v, __shfl_xor_sync(~0u, v, m));
  return v;
}

// Each thread touches scalar halves, so shared accesses are 2 bytes wide.
__global__ void softmax_block(const __half* __restrict__ in, __half* __restrict__ out, int cols) {
  extern __shared__ __align__(16) unsigned char dyn[];
  __half* buf = reinterpret_cast<__half*>(dyn);
  __shared__ float scratch[32];
  const size_t base = static_cast<size_t>(blockIdx.x) * cols;

  float peak = MaxOp::kIdentity;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const __half h = in[base + c];
    buf[c] = h;
    peak = fmaxf(peak, __half2float(h));
  }
  peak = block_reduce<MaxOp>(peak, scratch);
  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(__half2float(buf[c]) - peak);
  sum = block_reduce<SumOp>(sum, scratch);
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    out[base + c] = __float2half(expf(__half2float(buf[c]) - peak) / sum);
}

// 128-bit loads: four half2 at a time per thread.
template <int kThreads, int kCols>
__global__ __launch_bounds__(kThreads) void layernorm_block(
    const __half* __restrict__ in, const __half* __restrict__ gamma,
    const __half* __restrict__ beta, __half* __restrict__ out, float eps) {
  static_assert(kCols % (8 * kThreads) == 0);
  constexpr int kVecs = kCols / (8 * kThreads);
  __shared__ float scratch[32];
  const size_t base = static_cast<size_t>(blockIdx.x) * kCols;
  union Pack { uint4 raw; half2 h[4]; };
  Pack x[kVecs];
  float sum = 0.f, sq = 0.f;
#pragma unroll
  for (int v = 0; v < kVecs; ++v) {
    x[v].raw = reinterpret_cast<const uint4*>(in + base)[v * kThreads + threadIdx.x];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 f = __half22float2(x[v].h[k]);
      sum += f.x + f.y;
    }
  }
  const float mean = block_reduce<SumOp>(sum, scratch) / kCols;
#pragma unroll
  for (int v = 0; v < kVecs; ++v)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 f = __half22float2(x[v].h[k]);
      sq += (f.x - mean) * (f.x - mean) + (f.y - mean) * (f.y - mean);
    }
  const float rstd = rsqrtf(block_reduce<SumOp>(sq, scratch) / kCols + eps);
#pragma unroll
  for (int v = 0; v < kVecs; ++v) {
    Pack g, b, y;
    g.raw = reinterpret_cast<const uint4*>(gamma)[v * kThreads + threadIdx.x];
    b.raw = reinterpret_cast<const uint4*>(beta)[v * kThreads + threadIdx.x];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 f = __half22float2(x[v].h[k]);
      const half2 n = __floats2half2_rn((f.x - mean) * rstd, (f.y - mean) * rstd);
      y.h[k] = __hfma2(n, g.h[k], b.h[k]);
    }
    reinterpret_cast<uint4*>(out + base)[v * kThreads + threadIdx.x] = y.raw;
  }
}

__global__ void layernorm_naive(const __half* in, const __half* gamma, const __half* beta,
                                __half* out, int rows, int cols, float eps) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const __half* x = in + static_cast<size_t>(row) * cols;
  float sum = 0.f, sq = 0.f;
  for (int c = 0; c < cols; ++c) {
    sum += __half2float(x[c]);
    sq += __half2float(x[c]) * __half2float(x[c]);
  }
  const float mean = sum / cols, rstd = rsqrtf(sq / cols - mean * mean + eps);
  for (int c = 0; c < cols; ++c)
    out[static_cast<size_t>(row) * cols + c] = __float2half(
        (__half2float(x[c]) - mean) * rstd * __half2float(gamma[c]) + __half2float(beta[c]));
}

int main() {
  constexpr size_t n = size_t(kShortRows) * kShortCols;
  static_assert(n == size_t(kLongRows) * kLongCols, "one buffer serves both shapes");
  std::vector<__half> h(n), gb(2 * kLongCols), got(n);
  std::vector<float> f(n), gbf(2 * kLongCols);
  uint32_t s = 1u;
  auto uniform = [&] { s = s * 1664525u + 1013904223u; return float(s >> 8) / 16777216.f; };
  for (size_t i = 0; i < n; ++i) { h[i] = __float2half(6.f * uniform() - 3.f); f[i] = __half2float(h[i]); }
  for (int i = 0; i < 2 * kLongCols; ++i) { gb[i] = __float2half(uniform()); gbf[i] = __half2float(gb[i]); }

  __half *dIn, *dOut, *dGb;
  RUNTIME_CHECK(cudaMalloc(&dIn, n * sizeof(__half)));
  RUNTIME_CHECK(cudaMalloc(&dOut, n * sizeof(__half)));
  RUNTIME_CHECK(cudaMalloc(&dGb, gb.size() * sizeof(__half)));
  RUNTIME_CHECK(cudaMemcpy(dIn, h.data(), n * sizeof(__half), cudaMemcpyHostToDevice));
  RUNTIME_CHECK(cudaMemcpy(dGb, gb.data(), gb.size() * sizeof(__half), cudaMemcpyHostToDevice));

  bool pass = true;
  auto verify = [&](const char* name, int cols, bool softmax) {
    RUNTIME_CHECK(cudaGetLastError());
    RUNTIME_CHECK(cudaMemcpy(got.data(), dOut, n * sizeof(__half), cudaMemcpyDeviceToHost));
    RUNTIME_CHECK(cudaMemset(dOut, 0xff, n * sizeof(__half)));
    double worst = 0;
    for (size_t base = 0; base < n; base += size_t(cols) * 7) {
      double sum = 0, mean = 0, var = 0;
      for (int c = 0; c < cols; ++c) { sum += std::exp(f[base + c]); mean += f[base + c] / cols; }
      for (int c = 0; c < cols; ++c) var += (f[base + c] - mean) * (f[base + c] - mean) / cols;
      for (int c = 0; c < cols; ++c) {
        const double want = softmax ? std::exp(f[base + c]) / sum
                                    : (f[base + c] - mean) / std::sqrt(var + 1e-5) * gbf[c] + gbf[kLongCols + c];
        const double err = std::fabs(__half2float(got[base + c]) - want) / (softmax ? want + 1e-5 : 1.0);
        if (!(err <= worst)) worst = err;
      }
    }
    std::printf("%-16s %.3e\n", name, worst);
    pass = pass && worst < 1e-2;
  };

  softmax_warp<kShortCols, 4><<<kShortRows / 4, 128>>>(reinterpret_cast<half2*>(dIn), reinterpret_cast<half2*>(dOut), kShortRows);
  verify("softmax_warp", kShortCols, true);
  softmax_block<<<kLongRows, 256, kLongCols * sizeof(__half)>>>(dIn, dOut, kLongCols);
  verify("softmax_block", kLongCols, true);
  layernorm_block<256, kLongCols><<<kLongRows, 256>>>(dIn, dGb, dGb + kLongCols, dOut, 1e-5f);
  verify("layernorm_block", kLongCols, false);
  layernorm_naive<<<kShortRows / 64, 64>>>(dIn, dGb, dGb + kLongCols, dOut, kShortRows, kShortCols, 1e-5f);
  verify("layernorm_naive", kShortCols, false);

  cudaFree(dIn); cudaFree(dOut); cudaFree(dGb);
  std::puts(pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
