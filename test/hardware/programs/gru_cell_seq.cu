// GRU over a short sequence. x-projection as one tiled GEMM, recurrent part one kernel a step.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <random>
#include <algorithm>

constexpr int kBatch = 64, kIn = 200, kHid = 256, kSteps = 5;

__device__ __forceinline__ float sigmoidf(float x) { return 1.f / (1.f + __expf(-x)); }

// out[r, o] = sum_k x[r, k] * W[o, k] + b[o]; rows = steps*batch
template <int T>
__global__ void linear_fwd(const float* __restrict__ x, const float* __restrict__ W, const float* __restrict__ b, float* __restrict__ out, int R, int K, int O) {
  __shared__ float xs[T][T + 1], ws[T][T + 1];
  int r = blockIdx.y * T + threadIdx.y, o = blockIdx.x * T + threadIdx.x;
  float acc = 0.f;
  for (int k0 = 0; k0 < K; k0 += T) {
    int k = k0 + threadIdx.x, wo = blockIdx.x * T + threadIdx.y;
    xs[threadIdx.y][threadIdx.x] = r < R && k < K ? x[r * K + k] : 0.f;
    ws[threadIdx.y][threadIdx.x] = wo < O && k < K ? W[wo * K + k] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < T; ++i) acc += xs[threadIdx.y][i] * ws[threadIdx.x][i];
    __syncthreads();
  }
  if (r < R && o < O) out[r * O + o] = acc + b[o];
}

// one warp per (batch, hidden unit) -- gates r, z, n
__global__ void gru_step(const float* __restrict__ gx, const float* __restrict__ h, const float* __restrict__ U, const float* __restrict__ bh, float* __restrict__ hn, int B, int H) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (warp >= B * H) return;
  const int b = warp / H, j = warp % H;
  const float4* hv = reinterpret_cast<const float4*>(h + b * H);
  const float4* u0 = reinterpret_cast<const float4*>(U + j * H);
  const float4* u1 = reinterpret_cast<const float4*>(U + (H + j) * H);
  const float4* u2 = reinterpret_cast<const float4*>(U + (2 * H + j) * H);
  float a0 = 0, a1 = 0, a2 = 0;
  for (int k = lane; k < H / 4; k += 32) {
    float4 q = hv[k], w = u0[k];
    a0 += q.x * w.x + q.y * w.y + q.z * w.z + q.w * w.w;
    w = u1[k];
    a1 += q.x * w.x + q.y * w.y + q.z * w.z + q.w * w.w;
    w = u2[k];
    a2 += q.x * w.x + q.y * w.y + q.z * w.z + q.w * w.w;
  }
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
    a0 += __shfl_down_sync(~0u, a0, o); a1 += __shfl_down_sync(~0u, a1, o); a2 += __shfl_down_sync(~0u, a2, o);
  }
  if (lane == 0) {
    const float* g = gx + b * 3 * H;
    float r = sigmoidf(g[j] + a0 + bh[j]);
    float z = sigmoidf(g[H + j] + a1 + bh[H + j]);
    float n = tanhf(g[2 * H + j] + r * (a2 + bh[2 * H + j]));
    hn[b * H + j] = (1.f - z) * n + z * h[b * H + j];
  }
}

// second version: a thread per unit, weights stored transposed [H, 3H], hidden state of the batch row in shared
__global__ void gru_step_t(const float* __restrict__ gx, const float* __restrict__ h, const float* __restrict__ Ut, const float* __restrict__ bh, float* __restrict__ hn, int H) {
  extern __shared__ float hs[];
  const int b = blockIdx.x, j = threadIdx.x;
  hs[j] = h[b * H + j];
  __syncthreads();
  float a[3] = {bh[j], bh[H + j], bh[2 * H + j]};
  for (int k = 0; k < H; ++k)
#pragma unroll
    for (int g = 0; g < 3; ++g) a[g] = fmaf(hs[k], Ut[k * 3 * H + g * H + j], a[g]);
  const float* g = gx + b * 3 * H;
  float r = sigmoidf(g[j] + a[0]), z = sigmoidf(g[H + j] + a[1]);
  float n = tanhf(g[2 * H + j] + r * a[2]);
  hn[b * H + j] = n + z * (hs[j] - n);
}

int main() {
  const int R = kSteps * kBatch, G = 3 * kHid;
  std::mt19937 gen(11);
  std::uniform_real_distribution<float> u(-0.08f, 0.08f);
  std::vector<float> x(R * kIn), W(G * kIn), U(G * kHid), Ut(G * kHid), bi(G), bh(G), h(kBatch * kHid, 0.f), h2;
  for (auto* v : {&x, &W, &U, &bi, &bh}) for (auto& e : *v) e = u(gen);
  for (auto& e : x) e *= 12;
  for (int i = 0; i < G; ++i) for (int k = 0; k < kHid; ++k) Ut[k * G + i] = U[i * kHid + k];
  auto up = [](const std::vector<float>& v) { float* p; cudaMalloc(&p, v.size() * 4); cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice); return p; };
  float *dx = up(x), *dW = up(W), *dU = up(U), *dUt = up(Ut), *dbi = up(bi), *dbh = up(bh), *dh[2] = {up(h), up(h)}, *dg;
  cudaMalloc(&dg, R * G * 4);
  linear_fwd<32><<<dim3((G + 31) / 32, (R + 31) / 32), dim3(32, 32)>>>(dx, dW, dbi, dg, R, kIn, G);
  for (int t = 0; t < kSteps; ++t) {
    const float* g = dg + t * kBatch * G;
    if (t % 2 == 0) gru_step<<<(kBatch * kHid * 32 + 255) / 256, 256>>>(g, dh[0], dU, dbh, dh[1], kBatch, kHid);
    else gru_step_t<<<kBatch, kHid, kHid * sizeof(float)>>>(g, dh[0], dUt, dbh, dh[1], kHid);
    std::swap(dh[0], dh[1]);
  }
  std::vector<float> out(kBatch * kHid);
  cudaMemcpy(out.data(), dh[0], out.size() * 4, cudaMemcpyDeviceToHost);
  double err = 0;
  for (int b = 0; b < kBatch; b += 9) {
    std::vector<double> s(kHid, 0.0), s2(kHid);
    for (int t = 0; t < kSteps; ++t) {
      auto gate = [&](int i, double& gx, double& gh) {
        gx = bi[i]; gh = bh[i];
        for (int k = 0; k < kIn; ++k) gx += (double)x[(t * kBatch + b) * kIn + k] * W[i * kIn + k];
        for (int k = 0; k < kHid; ++k) gh += s[k] * U[i * kHid + k];
      };
      for (int j = 0; j < kHid; ++j) {
        double a, c, r, z, n;
        gate(j, a, c); r = 1 / (1 + exp(-a - c));
        gate(kHid + j, a, c); z = 1 / (1 + exp(-a - c));
        gate(2 * kHid + j, a, c); n = tanh(a + r * c);
        s2[j] = (1 - z) * n + z * s[j];
      }
      s = s2;
    }
    for (int j = 0; j < kHid; ++j) err = std::max(err, std::fabs(s[j] - out[b * kHid + j]));
  }
  printf("max err %g %s\n%s\n", err, cudaGetErrorString(cudaGetLastError()), err < 1e-4 ? "PASS" : "FAIL");
}
