// Fused optimiser step: gradient-norm reduction (same kernel folds its own partials on a second launch),
// vectorised AdamW with tail handling and clipping, and an SGD+momentum kernel in "chunk per thread" form.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace opt {

struct AdamParams { float lr, beta1, beta2, eps, decay, bias1, bias2, max_norm; };

constexpr int kThreads = 256;
constexpr int kNormBlocks = 264;

struct Square   { __device__ static float apply(float v) { return v * v; } };
struct Identity { __device__ static float apply(float v) { return v; } };

template <class Map>
__global__ void __launch_bounds__(kThreads) reduce_sum(const float* __restrict__ g, float* __restrict__ out, int n) {
  __shared__ float warp_sums[kThreads / 32];
  const int n4 = n >> 2;
  const int stride = gridDim.x * kThreads;
  const int gid = blockIdx.x * kThreads + threadIdx.x;
  const float4* g4 = reinterpret_cast<const float4*>(g);
  float s = 0.f;
  for (int i = gid; i < n4; i += stride) {
    const float4 v = g4[i];
    s += (Map::apply(v.x) + Map::apply(v.y)) + (Map::apply(v.z) + Map::apply(v.w));
  }
  if (gid < (n & 3)) s += Map::apply(g[4 * n4 + gid]);
#pragma unroll
  for (int d = 16; d; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
  if ((threadIdx.x & 31) == 0) warp_sums[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < kThreads / 32 ? warp_sums[threadIdx.x] : 0.f;
#pragma unroll
    for (int d = 4; d; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
  }
}

__host__ __device__ inline float adam_one(float& p, float g, float& m, float& v, float scale, const AdamParams& a) {
  g *= scale;
  m = a.beta1 * m + (1.f - a.beta1) * g;
  v = a.beta2 * v + (1.f - a.beta2) * g * g;
  p -= a.lr * ((m / a.bias1) / (sqrtf(v / a.bias2) + a.eps) + a.decay * p);
  return p;
}

__host__ __device__ inline float clip_scale(float norm_sq, float max_norm) {
  const float norm = sqrtf(norm_sq);
  return norm > max_norm ? max_norm / norm : 1.f;
}

// parameters, moments in fp32 plus an fp16 shadow copy for the next forward pass
__global__ void __launch_bounds__(kThreads) adamw_vec4(float* __restrict__ p, const float* __restrict__ g,
                                                       float* __restrict__ m, float* __restrict__ v,
                                                       __half* __restrict__ shadow, const float* __restrict__ norm_sq,
                                                       int n, AdamParams a) {
  const float scale = clip_scale(*norm_sq, a.max_norm);
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (4 * i + 3 < n) {
    float4 p4 = reinterpret_cast<float4*>(p)[i];
    const float4 g4 = reinterpret_cast<const float4*>(g)[i];
    float4 m4 = reinterpret_cast<float4*>(m)[i];
    float4 v4 = reinterpret_cast<float4*>(v)[i];
    const float h0 = adam_one(p4.x, g4.x, m4.x, v4.x, scale, a);
    const float h1 = adam_one(p4.y, g4.y, m4.y, v4.y, scale, a);
    const float h2 = adam_one(p4.z, g4.z, m4.z, v4.z, scale, a);
    const float h3 = adam_one(p4.w, g4.w, m4.w, v4.w, scale, a);
    reinterpret_cast<float4*>(p)[i] = p4;
    reinterpret_cast<float4*>(m)[i] = m4;
    reinterpret_cast<float4*>(v)[i] = v4;
    reinterpret_cast<__half2*>(shadow)[2 * i] = __floats2half2_rn(h0, h1);
    reinterpret_cast<__half2*>(shadow)[2 * i + 1] = __floats2half2_rn(h2, h3);
  } else {
    for (int j = 4 * i; j < n; ++j) shadow[j] = __float2half(adam_one(p[j], g[j], m[j], v[j], scale, a));
  }
}

// ported from a CPU loop: every thread owns Chunk consecutive parameters
template <int Chunk>
__global__ void sgd_chunk(float* p, const float* g, float* mom, int n, float lr, float mu) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * Chunk;
  const int last = first + Chunk < n ? first + Chunk : n;
  for (int i = first; i < last; ++i) {
    mom[i] = mu * mom[i] + g[i];
    p[i] -= lr * mom[i];
  }
}

}  // namespace opt

static float* to_device(const std::vector<float>& h) {
  float* d = nullptr;
  cudaMalloc(&d, h.size() * sizeof(float));
  cudaMemcpy(d, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice);
  return d;
}

int main() {
  using namespace opt;
  constexpr int n = 3 * 1000 * 1000 + 7;
  const AdamParams a{1e-2f, 0.9f, 0.999f, 1e-8f, 0.01f, 0.19f, 0.001999f, 50.f};
  std::vector<float> p(n), g(n), m(n), v(n);
  unsigned s = 2463534242u;
  auto uni = [&s] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return (s >> 8) * (1.f / 16777216.f); };
  for (int i = 0; i < n; ++i) {
    p[i] = 2.f * uni() - 1.f;
    g[i] = 0.2f * uni() - 0.1f;
    m[i] = 0.02f * uni() - 0.01f;
    v[i] = 0.001f + 0.001f * uni();
  }
  float *dp = to_device(p), *dq = to_device(p), *dg = to_device(g), *dm = to_device(m), *dmom = to_device(m), *dv = to_device(v);
  float *dpart = nullptr, *dnorm = nullptr;
  __half* dshadow = nullptr;
  cudaMalloc(&dpart, kNormBlocks * sizeof(float));
  cudaMalloc(&dnorm, sizeof(float));
  cudaMalloc(&dshadow, n * sizeof(__half));

  reduce_sum<Square><<<kNormBlocks, kThreads>>>(dg, dpart, n);
  reduce_sum<Identity><<<1, kThreads>>>(dpart, dnorm, kNormBlocks);
  const int vecs = (n + 3) / 4;
  adamw_vec4<<<(vecs + kThreads - 1) / kThreads, kThreads>>>(dp, dg, dm, dv, dshadow, dnorm, n, a);
  constexpr int chunk = 16;
  const int owners = (n + chunk - 1) / chunk;
  sgd_chunk<chunk><<<(owners + 127) / 128, 128>>>(dq, dg, dmom, n, 0.1f, 0.9f);
  bool ok = cudaDeviceSynchronize() == cudaSuccess;

  float norm_sq = 0.f;
  std::vector<float> gp(n), gq(n);
  std::vector<__half> gs(n);
  cudaMemcpy(&norm_sq, dnorm, sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(gp.data(), dp, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(gq.data(), dq, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(gs.data(), dshadow, n * sizeof(__half), cudaMemcpyDeviceToHost);
  double ref = 0;
  for (float x : g) ref += double(x) * x;
  ok &= std::fabs(norm_sq - ref) < 1e-3 * ref;
  const float scale = clip_scale(static_cast<float>(ref), a.max_norm);
  for (int i = 0; i < n; ++i) {
    const float sgd = p[i] - 0.1f * (0.9f * m[i] + g[i]);
    ok &= std::fabs(gq[i] - sgd) < 1e-5f;
    float pi = p[i], mi = m[i], vi = v[i];
    adam_one(pi, g[i], mi, vi, scale, a);
    ok &= std::fabs(gp[i] - pi) < 1e-4f;
    ok &= std::fabs(__half2float(gs[i]) - pi) < 2e-3f;
  }
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
