// 3x3 same-padded convolution, NHWC activations, direct and implicit-GEMM forms + bias/relu epilogue.
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <vector>

#define CUDA_OK(x)                                                                        \
  do {                                                                                    \
    cudaError_t e_ = (x);                                                                 \
    if (e_ != cudaSuccess) {                                                              \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));          \
      printf("FAIL\n");                                                                   \
      return 1;                                                                           \
    }                                                                                     \
  } while (0)

static constexpr int kN = 4, kH = 28, kW = 28, kC = 32, kK = 64, kR = 3, kS = 3;
static constexpr int kM = kN * kH * kW;       // 3136 output pixels
static constexpr int kGemmK = kR * kS * kC;   // 288

// Direct form. Filter is KRSC: each lane (one output channel) walks its own 1152-byte filter.
__global__ void conv_direct_krsc(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y) {
  const int k = threadIdx.x;
  const int pix = blockIdx.x * blockDim.y + threadIdx.y;
  if (pix >= kM) return;
  const int q = pix % kW, p = (pix / kW) % kH, n = pix / (kW * kH);
  float acc = 0.0f;
  for (int r = 0; r < kR; ++r) {
    const int ih = p + r - 1;
    if (ih < 0 || ih >= kH) continue;
    for (int s = 0; s < kS; ++s) {
      const int iw = q + s - 1;
      if (iw < 0 || iw >= kW) continue;
      const float* xp = x + ((n * kH + ih) * kW + iw) * kC;
      const float* wp = w + ((k * kR + r) * kS + s) * kC;
      for (int c = 0; c < kC; ++c) acc += xp[c] * wp[c];
    }
  }
  y[pix * kK + k] = acc;
}

// Implicit GEMM: 32 pixels x 64 channels per block, reduction in slices of 16 channels.
// Filter pre-packed as RSCK so that a slice is 16 x 64 contiguous floats.
__global__ void __launch_bounds__(128, 4)
conv_implicit_gemm(const float* __restrict__ x, const float* __restrict__ wp, float* __restrict__ y) {
  __shared__ float xs[16][33];
  __shared__ __align__(16) float ws[16][64];
  const int tid = threadIdx.x;
  const int pix0 = blockIdx.x * 32;
  // loader role: 4 threads per pixel, one float4 of channels each
  const int lp = tid >> 2, lc = (tid & 3) * 4;
  const int pix = pix0 + lp;
  const int q = pix % kW, p = (pix / kW) % kH, n = pix / (kW * kH);
  // compute role: 4 pixels x 4 channels
  const int m0 = (tid >> 4) * 4, n0 = (tid & 15) * 4;
  float acc[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) acc[i][j] = 0.f;

  for (int kt = 0; kt < kGemmK; kt += 16) {
    const int rs = kt / kC, c0 = kt % kC;
    const int ih = p + rs / kS - 1, iw = q + rs % kS - 1;
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (pix < kM && (unsigned)ih < (unsigned)kH && (unsigned)iw < (unsigned)kW)
      v = *reinterpret_cast<const float4*>(x + ((n * kH + ih) * kW + iw) * kC + c0 + lc);
    xs[lc + 0][lp] = v.x;
    xs[lc + 1][lp] = v.y;
    xs[lc + 2][lp] = v.z;
    xs[lc + 3][lp] = v.w;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int e = tid + i * 128;
      reinterpret_cast<float4*>(&ws[0][0])[e] = reinterpret_cast<const float4*>(wp + kt * kK)[e];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      const float4 b = *reinterpret_cast<const float4*>(&ws[kk][n0]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float a = xs[kk][m0 + i];
        acc[i][0] = fmaf(a, b.x, acc[i][0]);
        acc[i][1] = fmaf(a, b.y, acc[i][1]);
        acc[i][2] = fmaf(a, b.z, acc[i][2]);
        acc[i][3] = fmaf(a, b.w, acc[i][3]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (pix0 + m0 + i < kM)
      *reinterpret_cast<float4*>(y + (pix0 + m0 + i) * kK + n0) =
          make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

// Epilogue: bias + relu and NHWC -> NCHW; the write side is left strided.
__global__ void bias_relu_to_nchw(const float* __restrict__ y, const float* __restrict__ bias, float* __restrict__ out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kM * kK) return;
  const int k = i % kK, pix = i / kK;
  const int hw = pix % (kH * kW), n = pix / (kH * kW);
  out[(n * kK + k) * (kH * kW) + hw] = fmaxf(y[i] + bias[k], 0.f);
}

int main() {
  std::vector<float> x(kM * kC), w(kK * kGemmK), wp(kK * kGemmK), bias(kK);
  uint32_t seed = 77;
  auto rnd = [&]() { seed = seed * 1664525u + 1013904223u; return (float)(seed >> 8) / 16777216.f - 0.5f; };
  for (auto& v : x) v = rnd();
  for (auto& v : w) v = rnd();
  for (auto& v : bias) v = rnd();
  for (int k = 0; k < kK; ++k)
    for (int e = 0; e < kGemmK; ++e) wp[e * kK + k] = w[k * kGemmK + e];
  float *dx, *dw, *dwp, *db, *dy1, *dy2, *dout;
  const size_t yb = sizeof(float) * kM * kK;
  CUDA_OK(cudaMalloc(&dx, x.size() * 4)); CUDA_OK(cudaMalloc(&dw, w.size() * 4));
  CUDA_OK(cudaMalloc(&dwp, wp.size() * 4)); CUDA_OK(cudaMalloc(&db, bias.size() * 4));
  CUDA_OK(cudaMalloc(&dy1, yb)); CUDA_OK(cudaMalloc(&dy2, yb)); CUDA_OK(cudaMalloc(&dout, yb));
  CUDA_OK(cudaMemcpy(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dw, w.data(), w.size() * 4, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dwp, wp.data(), wp.size() * 4, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(db, bias.data(), bias.size() * 4, cudaMemcpyHostToDevice));
  conv_direct_krsc<<<(kM + 3) / 4, dim3(kK, 4)>>>(dx, dw, dy1);
  conv_implicit_gemm<<<(kM + 31) / 32, 128>>>(dx, dwp, dy2);
  bias_relu_to_nchw<<<(kM * kK + 255) / 256, 256>>>(dy2, db, dout);
  CUDA_OK(cudaGetLastError());
  std::vector<float> y1(kM * kK), out(kM * kK);
  CUDA_OK(cudaMemcpy(y1.data(), dy1, yb, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(out.data(), dout, yb, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int pix = 0; pix < kM; pix += 3) {
    const int q = pix % kW, p = (pix / kW) % kH, n = pix / (kW * kH);
    for (int k = pix % 4; k < kK; k += 4) {
      float r = 0.f;
      for (int e = 0; e < kGemmK; ++e) {
        const int c = e % kC, ih = p + e / kC / kS - 1, iw = q + e / kC % kS - 1;
        if (ih >= 0 && ih < kH && iw >= 0 && iw < kW) r += x[((n * kH + ih) * kW + iw) * kC + c] * w[k * kGemmK + e];
      }
      if (fabsf(r - y1[pix * kK + k]) > 1e-3f) ++bad;
      const float ref = fmaxf(r + bias[k], 0.f);
      if (fabsf(ref - out[(n * kK + k) * kH * kW + p * kW + q]) > 1e-3f) ++bad;
    }
  }
  printf("%s (%d bad)\n", bad ? "FAIL" : "PASS", bad);
  return bad ? 1 : 0;
}
