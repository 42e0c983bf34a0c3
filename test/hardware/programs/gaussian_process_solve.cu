// Gaussian process regression: kernel matrices by functors, blocked Cholesky
// (right looking), triangular solves, prediction.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr int N = 192;    // training points
constexpr int NT = 128;   // test points
constexpr int D = 8;
constexpr int NB = 64;

struct Rbf {
  float inv2l2;
  __host__ __device__ float operator()(float d2) const { return expf(-d2 * inv2l2); }
};

struct Matern32 {
  float s;
  __host__ __device__ float operator()(float d2) const {
    float r = s * sqrtf(d2);
    return (1.f + r) * expf(-r);
  }
};

static void must(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    printf("line %d %s\n", line, cudaGetErrorString(e));
    exit(1);
  }
}
#define MUST(e) must((e), __LINE__)

// x is [n][D]: thread (tx) reads with stride D
template <class Kern>
__global__ void kernel_matrix_naive(Kern k, const float* a, int na, const float* b, int nb, float* out) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= na || j >= nb) return;
  float d2 = 0.f;
  for (int d = 0; d < D; ++d) {
    float t = a[i * D + d] - b[j * D + d];
    d2 += t * t;
  }
  out[i * nb + j] = k(d2);
}

template <class Kern>
__global__ void kernel_matrix_shared(Kern k, const float* a, int na, const float* b, int nb, float* out, float noise) {
  __shared__ float sa[16][D];
  __shared__ float sb[16][D];
  int tid = threadIdx.y * 16 + threadIdx.x;
  if (tid < 16 * D) {
    sa[tid / D][tid % D] = a[blockIdx.y * 16 * D + tid];
    sb[tid / D][tid % D] = b[blockIdx.x * 16 * D + tid];
  }
  __syncthreads();
  int j = blockIdx.x * 16 + threadIdx.x;
  int i = blockIdx.y * 16 + threadIdx.y;
  float d2 = 0.f;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    float t = sa[threadIdx.y][d] - sb[threadIdx.x][d];
    d2 += t * t;
  }
  out[i * nb + j] = k(d2) + (i == j ? noise : 0.f);
}

// diagonal block, NB threads, one per row
__global__ void potrf_diag(float* A, int k0) {
  __shared__ float s[NB][NB];
  int r = threadIdx.x;
  for (int c = 0; c < NB; ++c) s[c][r] = A[(k0 + c) * N + k0 + r];
  __syncthreads();
  for (int k = 0; k < NB; ++k) {
    if (r == k) s[k][k] = sqrtf(s[k][k]);
    __syncthreads();
    if (r > k) s[r][k] /= s[k][k];
    __syncthreads();
    if (r > k) {
      for (int c = k + 1; c <= r; ++c) s[r][c] -= s[r][k] * s[c][k];
    }
    __syncthreads();
  }
  for (int c = 0; c < NB; ++c) {
    if (r <= c) A[(k0 + c) * N + k0 + r] = s[c][r];
  }
}

// panel below: one thread per row, solves x L^T = row
__global__ void trsm_panel(float* A, int k0) {
  __shared__ float L[NB][NB + 1];
  for (int t = threadIdx.x; t < NB * NB; t += blockDim.x) L[t / NB][t % NB] = A[(k0 + t / NB) * N + k0 + t % NB];
  __syncthreads();
  int row = k0 + NB + blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N) return;
  float* x = A + row * N + k0;
  for (int c = 0; c < NB; ++c) {
    float v = x[c];
    for (int m = 0; m < c; ++m) v -= x[m] * L[c][m];
    x[c] = v / L[c][c];
  }
}

__global__ void syrk_update(float* A, int k0) {
  __shared__ float p[16][NB];
  __shared__ float q[16][NB + 1];
  int i0 = k0 + NB + blockIdx.y * 16;
  int j0 = k0 + NB + blockIdx.x * 16;
  if (j0 > i0) return;
  for (int t = threadIdx.y * 16 + threadIdx.x; t < 16 * NB; t += 256) {
    p[t / NB][t % NB] = A[(i0 + t / NB) * N + k0 + t % NB];
    q[t / NB][t % NB] = A[(j0 + t / NB) * N + k0 + t % NB];
  }
  __syncthreads();
  float s = 0.f;
  for (int m = 0; m < NB; ++m) s += p[threadIdx.y][m] * q[threadIdx.x][m];
  A[(i0 + threadIdx.y) * N + j0 + threadIdx.x] -= s;
}

// forward and back substitution in one block; vector in shared
__global__ void solve_llt(const float* L, const float* y, float* alpha) {
  __shared__ float v[N];
  int t = threadIdx.x;
  v[t] = y[t];
  __syncthreads();
  for (int k = 0; k < N; ++k) {
    if (t == k) v[k] /= L[k * N + k];
    __syncthreads();
    if (t > k) v[t] -= L[t * N + k] * v[k];   // column walk
    __syncthreads();
  }
  for (int k = N - 1; k >= 0; --k) {
    if (t == k) v[k] /= L[k * N + k];
    __syncthreads();
    if (t < k) v[t] -= L[k * N + t] * v[k];
    __syncthreads();
  }
  alpha[t] = v[t];
}

// warp per test point
__global__ void predict(const float* Ks, const float* alpha, float* mean) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (w >= NT) return;
  const float4* row = reinterpret_cast<const float4*>(Ks + w * N);
  const float4* al = reinterpret_cast<const float4*>(alpha);
  float s = 0.f;
  for (int c = lane; c < N / 4; c += 32) {
    float4 a = row[c];
    float4 b = al[c];
    s += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (lane == 0) mean[w] = s;
}

template <class Kern>
static bool regress(Kern k, const char* name, const std::vector<float>& x, const std::vector<float>& xt,
                    const std::vector<float>& y) {
  const float noise = 0.1f;
  float *dx, *dxt, *dy, *dK, *dKs, *da, *dm;
  MUST(cudaMalloc(&dx, N * D * 4));
  MUST(cudaMalloc(&dxt, NT * D * 4));
  MUST(cudaMalloc(&dy, N * 4));
  MUST(cudaMalloc(&dK, N * N * 4));
  MUST(cudaMalloc(&dKs, NT * N * 4));
  MUST(cudaMalloc(&da, N * 4));
  MUST(cudaMalloc(&dm, NT * 4));
  MUST(cudaMemcpy(dx, x.data(), N * D * 4, cudaMemcpyHostToDevice));
  MUST(cudaMemcpy(dxt, xt.data(), NT * D * 4, cudaMemcpyHostToDevice));
  MUST(cudaMemcpy(dy, y.data(), N * 4, cudaMemcpyHostToDevice));
  kernel_matrix_shared<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(k, dx, N, dx, N, dK, noise);
  kernel_matrix_naive<<<dim3(N / 32, NT / 8), dim3(32, 8)>>>(k, dxt, NT, dx, N, dKs);
  for (int k0 = 0; k0 < N; k0 += NB) {
    potrf_diag<<<1, NB>>>(dK, k0);
    int rest = N - k0 - NB;
    if (rest > 0) {
      trsm_panel<<<rest / 64, 64>>>(dK, k0);
      syrk_update<<<dim3(rest / 16, rest / 16), dim3(16, 16)>>>(dK, k0);
    }
  }
  solve_llt<<<1, N>>>(dK, dy, da);
  predict<<<NT / 4, 128>>>(dKs, da, dm);
  MUST(cudaGetLastError());
  MUST(cudaDeviceSynchronize());
  std::vector<float> a(N), m(NT);
  MUST(cudaMemcpy(a.data(), da, N * 4, cudaMemcpyDeviceToHost));
  MUST(cudaMemcpy(m.data(), dm, NT * 4, cudaMemcpyDeviceToHost));

  auto dist = [](const float* p, const float* q) {
    float s = 0;
    for (int d = 0; d < D; ++d) s += (p[d] - q[d]) * (p[d] - q[d]);
    return s;
  };
  double res = 0, perr = 0;
  for (int i = 0; i < N; ++i) {
    double s = noise * a[i];
    for (int j = 0; j < N; ++j) s += (double)k(dist(&x[i * D], &x[j * D])) * a[j];
    res = std::fmax(res, std::fabs(s - y[i]));
  }
  for (int i = 0; i < NT; ++i) {
    double s = 0;
    for (int j = 0; j < N; ++j) s += (double)k(dist(&xt[i * D], &x[j * D])) * a[j];
    perr = std::fmax(perr, std::fabs(s - m[i]));
  }
  printf("%s residual %g prediction error %g\n", name, res, perr);
  cudaFree(dx);
  cudaFree(dxt);
  cudaFree(dy);
  cudaFree(dK);
  cudaFree(dKs);
  cudaFree(da);
  cudaFree(dm);
  return res < 5e-3 && perr < 5e-3;
}

int main() {
  std::mt19937 g(1234);
  std::uniform_real_distribution<float> u(-1.f, 1.f);
  std::vector<float> x(N * D), xt(NT * D), y(N);
  for (auto& v : x) v = u(g);
  for (auto& v : xt) v = u(g);
  for (int i = 0; i < N; ++i) y[i] = std::sin(3 * x[i * D]) + 0.5f * x[i * D + 1];
  bool ok = regress(Rbf{0.5f}, "rbf", x, xt, y);
  ok = regress(Matern32{1.2f}, "matern", x, xt, y) && ok;
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
