// Batched small SPD systems: Cholesky + triangular solves.
// thread-per-matrix (interleaved and not) and warp-per-matrix versions, templated by order.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <memory>

template <typename T> struct DevDel { void operator()(T* p) const { cudaFree(p); } };
template <typename T> using dptr = std::unique_ptr<T[], DevDel<T>>;
template <typename T> dptr<T> dalloc(size_t n) { T* p = nullptr; cudaMalloc(&p, n * sizeof(T)); return dptr<T>(p); }

struct Packed {      // matrix b contiguous
  template <int N> static __host__ __device__ size_t a(int b, int i, int j, int batch) { return (size_t)b * N * N + i * N + j; }
  template <int N> static __host__ __device__ size_t v(int b, int i, int batch) { return (size_t)b * N + i; }
};
struct Interleaved { // matrix index fastest
  template <int N> static __host__ __device__ size_t a(int b, int i, int j, int batch) { return (size_t)(i * N + j) * batch + b; }
  template <int N> static __host__ __device__ size_t v(int b, int i, int batch) { return (size_t)i * batch + b; }
};

template <int N, class Layout>
__global__ void potrs_thread(const float* __restrict__ A, const float* __restrict__ rhs, float* __restrict__ x, int batch) {
  const int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= batch) return;
  float L[N][N], y[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
#pragma unroll
    for (int i = j; i < N; ++i) {
      float s = A[Layout::template a<N>(b, i, j, batch)];
#pragma unroll
      for (int k = 0; k < j; ++k) s -= L[i][k] * L[j][k];
      L[i][j] = i == j ? sqrtf(s) : s / L[j][j];
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    float s = rhs[Layout::template v<N>(b, i, batch)];
#pragma unroll
    for (int k = 0; k < i; ++k) s -= L[i][k] * y[k];
    y[i] = s / L[i][i];
  }
#pragma unroll
  for (int i = N - 1; i >= 0; --i) {
    float s = y[i];
#pragma unroll
    for (int k = i + 1; k < N; ++k) s -= L[k][i] * y[k];
    y[i] = s / L[i][i];
    x[Layout::template v<N>(b, i, batch)] = y[i];
  }
}

// a warp factors one N x N matrix (N <= 32): lane = row; shared per warp
template <int N, int WARPS>
__global__ void potrs_warp(const float* __restrict__ A, const float* __restrict__ rhs, float* __restrict__ x, int batch) {
  __shared__ float sL[WARPS][N][N + 1];
  const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, b = blockIdx.x * WARPS + w;
  if (b >= batch) return;
  float(*L)[N + 1] = sL[w];
  for (int t = lane; t < N * N; t += 32) L[t / N][t % N] = A[(size_t)b * N * N + t];
  __syncwarp();
  for (int j = 0; j < N; ++j) {
    if (lane == j) L[j][j] = sqrtf(L[j][j]);
    __syncwarp();
    if (lane > j && lane < N) L[lane][j] /= L[j][j];
    __syncwarp();
    if (lane > j && lane < N)
      for (int k = j + 1; k <= lane; ++k) L[lane][k] -= L[lane][j] * L[k][j];
    __syncwarp();
  }
  float y = lane < N ? rhs[(size_t)b * N + lane] : 0.f;
  for (int j = 0; j < N; ++j) {
    if (lane == j) y /= L[j][j];
    float yj = __shfl_sync(~0u, y, j);
    if (lane > j && lane < N) y -= L[lane][j] * yj;
  }
  for (int j = N - 1; j >= 0; --j) {
    if (lane == j) y /= L[j][j];
    float yj = __shfl_sync(~0u, y, j);
    if (lane < j) y -= L[j][lane] * yj;
  }
  if (lane < N) x[(size_t)b * N + lane] = y;
}

template <int N, class Layout, bool Warp>
bool test(int batch, const char* name) {
  std::vector<float> A((size_t)batch * N * N), r((size_t)batch * N), x(r.size());
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j <= i; ++j) {
        float v = i == j ? N + 1.f + (b % 7) : sinf(0.37f * (i * j + 1) + b * 0.01f);
        A[Layout::template a<N>(b, i, j, batch)] = A[Layout::template a<N>(b, j, i, batch)] = v;
      }
      r[Layout::template v<N>(b, i, batch)] = cosf(b * 0.1f + i);
    }
  auto dA = dalloc<float>(A.size()), dr = dalloc<float>(r.size()), dx = dalloc<float>(x.size());
  cudaMemcpy(dA.get(), A.data(), A.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dr.get(), r.data(), r.size() * 4, cudaMemcpyHostToDevice);
  if constexpr (Warp) potrs_warp<N, 4><<<(batch + 3) / 4, 128>>>(dA.get(), dr.get(), dx.get(), batch);
  else potrs_thread<N, Layout><<<(batch + 127) / 128, 128>>>(dA.get(), dr.get(), dx.get(), batch);
  cudaMemcpy(x.data(), dx.get(), x.size() * 4, cudaMemcpyDeviceToHost);
  double e = 0;
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < N; ++i) {
      double s = -r[Layout::template v<N>(b, i, batch)];
      for (int j = 0; j < N; ++j) s += (double)A[Layout::template a<N>(b, i, j, batch)] * x[Layout::template v<N>(b, j, batch)];
      e = fmax(e, fabs(s));
    }
  printf("%-24s N=%2d residual %g %s\n", name, N, e, cudaGetErrorString(cudaGetLastError()));
  return e < 1e-4;
}

int main() {
  bool ok = test<6, Packed, false>(100003, "thread packed");
  ok &= test<6, Interleaved, false>(100003, "thread interleaved");
  ok &= test<12, Interleaved, false>(30001, "thread interleaved");
  ok &= test<16, Packed, true>(20001, "warp");
  ok &= test<32, Packed, true>(5001, "warp");
  puts(ok ? "PASS" : "FAIL");
  return !ok;
}
