// One-sided Jacobi SVD, batch of 32x32 (warp a matrix pair ordering) and 3x3 (thread a matrix, AoS)
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>

namespace la {
constexpr int N = 32;
constexpr int LD = N + 1;

__device__ __forceinline__ void rotation(float alpha, float beta, float gamma, float& c, float& s) {
  if (fabsf(gamma) < 1e-12f) { c = 1.f; s = 0.f; return; }
  float zeta = (beta - alpha) / (2.f * gamma);
  float t = copysignf(1.f, zeta) / (fabsf(zeta) + sqrtf(1.f + zeta * zeta));
  c = rsqrtf(1.f + t * t);
  s = c * t;
}

// block of 16 half-warps: each pair of columns handled by 16 lanes, round-robin tournament
__global__ void __launch_bounds__(256) svd_block(const float* __restrict__ A, float* __restrict__ sv, int batch, int sweeps) {
  __shared__ float a[N * LD];   // column j at a[j*LD ..]
  const int m = blockIdx.x;
  for (int t = threadIdx.x; t < N * N; t += blockDim.x) a[(t % N) * LD + t / N] = A[(size_t)m * N * N + t];
  __syncthreads();
  const int pair = threadIdx.x / 16, lane = threadIdx.x % 16;
  for (int sw = 0; sw < sweeps; ++sw) {
    for (int r = 0; r < N - 1; ++r) {
      int p = pair == 0 ? N - 1 : (r + pair) % (N - 1);
      int q = pair == 0 ? r : (r + N - 1 - pair) % (N - 1);
      float* x = a + p * LD;
      float* y = a + q * LD;
      float al = 0, be = 0, ga = 0;
      for (int i = lane; i < N; i += 16) { al += x[i] * x[i]; be += y[i] * y[i]; ga += x[i] * y[i]; }
      for (int o = 8; o; o >>= 1) {
        al += __shfl_xor_sync(0xffffffff, al, o, 16);
        be += __shfl_xor_sync(0xffffffff, be, o, 16);
        ga += __shfl_xor_sync(0xffffffff, ga, o, 16);
      }
      float c, s;
      rotation(al, be, ga, c, s);
      for (int i = lane; i < N; i += 16) {
        float u = x[i], v = y[i];
        x[i] = c * u - s * v;
        y[i] = s * u + c * v;
      }
      __syncthreads();
    }
  }
  if (threadIdx.x < N) {
    float s = 0;
    for (int i = 0; i < N; ++i) { float v = a[threadIdx.x * LD + i]; s += v * v; }
    sv[m * N + threadIdx.x] = sqrtf(s);
  }
}

struct Mat3 { float m[9]; };   // 36 bytes
__global__ void svd3(const Mat3* A, float3* sv, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Mat3 M = A[i];
  for (int sw = 0; sw < 6; ++sw)
    for (int p = 0; p < 2; ++p)
      for (int q = p + 1; q < 3; ++q) {
        float al = 0, be = 0, ga = 0, c, s;
        for (int k = 0; k < 3; ++k) { float u = M.m[k * 3 + p], v = M.m[k * 3 + q]; al += u * u; be += v * v; ga += u * v; }
        rotation(al, be, ga, c, s);
        for (int k = 0; k < 3; ++k) { float u = M.m[k * 3 + p], v = M.m[k * 3 + q]; M.m[k * 3 + p] = c * u - s * v; M.m[k * 3 + q] = s * u + c * v; }
      }
  float s[3];
  for (int p = 0; p < 3; ++p) s[p] = sqrtf(M.m[p] * M.m[p] + M.m[3 + p] * M.m[3 + p] + M.m[6 + p] * M.m[6 + p]);
  if (s[0] < s[1]) { float t = s[0]; s[0] = s[1]; s[1] = t; }
  if (s[1] < s[2]) { float t = s[1]; s[1] = s[2]; s[2] = t; }
  if (s[0] < s[1]) { float t = s[0]; s[0] = s[1]; s[1] = t; }
  sv[i] = make_float3(s[0], s[1], s[2]);
}

// Frobenius norm check: one warp a matrix
__global__ void frob(const float* __restrict__ A, float* out, int len, int batch) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (w >= batch) return;
  float s = 0;
  for (int k = lane; k < len; k += 32) { float v = A[(size_t)w * len + k]; s = fmaf(v, v, s); }
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if (!lane) out[w] = sqrtf(s);
}
}  // namespace la

static std::vector<double> ref_sv(const float* A, int n) {
  std::vector<double> a(A, A + n * n), s(n);
  for (int sw = 0; sw < 15; ++sw)
    for (int p = 0; p < n; ++p) for (int q = p + 1; q < n; ++q) {
      double al = 0, be = 0, ga = 0;
      for (int k = 0; k < n; ++k) { double u = a[k * n + p], v = a[k * n + q]; al += u * u; be += v * v; ga += u * v; }
      if (fabs(ga) < 1e-30) continue;
      double z = (be - al) / (2 * ga), t = copysign(1.0, z) / (fabs(z) + sqrt(1 + z * z)), c = 1 / sqrt(1 + t * t), si = c * t;
      for (int k = 0; k < n; ++k) { double u = a[k * n + p], v = a[k * n + q]; a[k * n + p] = c * u - si * v; a[k * n + q] = si * u + c * v; }
    }
  for (int p = 0; p < n; ++p) { double t = 0; for (int k = 0; k < n; ++k) t += a[k * n + p] * a[k * n + p]; s[p] = sqrt(t); }
  std::sort(s.rbegin(), s.rend());
  return s;
}

int main() {
  const int batch = 1500, n3 = 200001;
  std::vector<float> A((size_t)batch * la::N * la::N), sv(batch * la::N), fr(batch); std::vector<la::Mat3> B(n3); std::vector<float3> s3(n3);
  unsigned s = 1;
  auto rnd = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 8388608.f - 1.f; };
  for (auto& v : A) v = rnd();
  for (auto& M : B) for (auto& v : M.m) v = rnd();
  float *dA, *ds, *df; la::Mat3* dB; float3* d3;
  cudaMalloc(&dA, A.size() * 4); cudaMalloc(&ds, sv.size() * 4); cudaMalloc(&df, batch * 4); cudaMalloc(&dB, n3 * sizeof(la::Mat3)); cudaMalloc(&d3, n3 * sizeof(float3));
  cudaMemcpy(dA, A.data(), A.size() * 4, cudaMemcpyHostToDevice); cudaMemcpy(dB, B.data(), n3 * sizeof(la::Mat3), cudaMemcpyHostToDevice);
  la::svd_block<<<batch, 256>>>(dA, ds, batch, 10);
  la::svd3<<<(n3 + 127) / 128, 128>>>(dB, d3, n3);
  la::frob<<<(batch * 32 + 255) / 256, 256>>>(dA, df, la::N * la::N, batch);
  cudaMemcpy(sv.data(), ds, sv.size() * 4, cudaMemcpyDeviceToHost); cudaMemcpy(s3.data(), d3, n3 * sizeof(float3), cudaMemcpyDeviceToHost); cudaMemcpy(fr.data(), df, batch * 4, cudaMemcpyDeviceToHost);
  double e1 = 0, e2 = 0, e3 = 0;
  for (int m = 0; m < batch; ++m) {
    double t = 0; for (int k = 0; k < la::N; ++k) t += (double)sv[m * la::N + k] * sv[m * la::N + k];
    e3 = std::max(e3, fabs(sqrt(t) - fr[m]));
    if (m % 100 == 0) {
      auto r = ref_sv(&A[(size_t)m * la::N * la::N], la::N); std::vector<float> g(&sv[m * la::N], &sv[m * la::N] + la::N); std::sort(g.rbegin(), g.rend());
      for (int k = 0; k < la::N; ++k) e1 = std::max(e1, fabs(r[k] - g[k]));
    }
  }
  for (int i = 0; i < n3; i += 101) { auto r = ref_sv(B[i].m, 3); e2 = std::max({e2, fabs(r[0] - s3[i].x), fabs(r[1] - s3[i].y), fabs(r[2] - s3[i].z)}); }
  printf("err %g %g frob %g %s\n%s\n", e1, e2, e3, cudaGetErrorString(cudaGetLastError()), e1 < 1e-3 && e2 < 1e-3 && e3 < 1e-3 ? "PASS" : "FAIL");
}
