// Small batched factorisations: LU with a block per matrix, Cholesky with a warp per matrix, thread per 3x3 inverse.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

template <typename T, int N>
__global__ void lu_block(T* __restrict__ mats, int batch) {
  __shared__ T a[N][N + 1];
  if (blockIdx.x >= batch) return;
  T* m = mats + (size_t)blockIdx.x * N * N;
  const int c = threadIdx.x, r0 = threadIdx.y;
  for (int r = r0; r < N; r += blockDim.y) a[r][c] = m[r * N + c];
  __syncthreads();
  for (int k = 0; k < N - 1; ++k) {
    if (r0 == 0 && c > k) a[c][k] /= a[k][k];
    __syncthreads();
    for (int r = k + 1 + r0; r < N; r += blockDim.y)
      if (c > k) a[r][c] -= a[r][k] * a[k][c];
    __syncthreads();
  }
  for (int r = r0; r < N; r += blockDim.y) m[r * N + c] = a[r][c];
}

template <int N>
__global__ void cholesky_warp(float* mats, int batch) {
  __shared__ float sh[4][N][N];
  int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  int id = blockIdx.x * 4 + w;
  if (id >= batch) return;
  float* g = mats + id * N * N;
  for (int i = lane; i < N * N; i += 32) sh[w][i / N][i % N] = g[i];
  __syncwarp();
  for (int j = 0; j < N; ++j) {
    if (lane == 0) {
      float s = sh[w][j][j];
      for (int k = 0; k < j; ++k) s -= sh[w][j][k] * sh[w][j][k];
      sh[w][j][j] = sqrtf(s);
    }
    __syncwarp();
    int i = j + 1 + lane;
    if (i < N) {
      float s = sh[w][i][j];
      for (int k = 0; k < j; ++k) s -= sh[w][i][k] * sh[w][j][k];
      sh[w][i][j] = s / sh[w][j][j];
    }
    __syncwarp();
  }
  for (int i = lane; i < N * N; i += 32) {
    int r = i / N, c = i % N;
    g[i] = c <= r ? sh[w][r][c] : 0.f;
  }
}

struct Mat3 {
  double m[9];
  __device__ double det() const {
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
  }
};

__global__ void inv3(const Mat3* in, Mat3* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Mat3 a = in[i], b;
  double id = 1.0 / a.det();
  b.m[0] = (a.m[4] * a.m[8] - a.m[5] * a.m[7]) * id;
  b.m[1] = (a.m[2] * a.m[7] - a.m[1] * a.m[8]) * id;
  b.m[2] = (a.m[1] * a.m[5] - a.m[2] * a.m[4]) * id;
  b.m[3] = (a.m[5] * a.m[6] - a.m[3] * a.m[8]) * id;
  b.m[4] = (a.m[0] * a.m[8] - a.m[2] * a.m[6]) * id;
  b.m[5] = (a.m[2] * a.m[3] - a.m[0] * a.m[5]) * id;
  b.m[6] = (a.m[3] * a.m[7] - a.m[4] * a.m[6]) * id;
  b.m[7] = (a.m[1] * a.m[6] - a.m[0] * a.m[7]) * id;
  b.m[8] = (a.m[0] * a.m[4] - a.m[1] * a.m[3]) * id;
  out[i] = b;
}

__global__ void trsv_lower(const float* L, float* x, int n) {
  extern __shared__ float xs[];
  int t = threadIdx.x;
  xs[t] = x[blockIdx.x * n + t];
  const float* A = L + (size_t)blockIdx.x * n * n;
  for (int j = 0; j < n; ++j) {
    __syncthreads();
    if (t == j) xs[j] /= A[j * n + j];
    __syncthreads();
    if (t > j) xs[t] -= A[t * n + j] * xs[j];
  }
  x[blockIdx.x * n + t] = xs[t];
}

int main(int argc, char** argv) {
  int batch = argc > 1 ? atoi(argv[1]) : 61;
  const int N = 24;
  std::vector<double> h(batch * N * N);
  std::vector<float> hf(batch * 16 * 16);
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j) h[(b * N + i) * N + j] = i == j ? N : 1.0 / (1 + i + j + b);
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) hf[(b * 16 + i) * 16 + j] = i == j ? 16.f : 0.5f;
  double* d;
  float *df, *dx;
  Mat3 *ma, *mb;
  cudaMalloc(&d, h.size() * sizeof(double));
  cudaMalloc(&df, hf.size() * sizeof(float));
  cudaMalloc(&dx, batch * 16 * sizeof(float));
  cudaMalloc(&ma, 500 * sizeof(Mat3));
  cudaMalloc(&mb, 500 * sizeof(Mat3));
  cudaMemcpy(d, h.data(), h.size() * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(df, hf.data(), hf.size() * sizeof(float), cudaMemcpyHostToDevice);
  lu_block<double, N><<<batch, dim3(N, 8)>>>(d, batch);
  cholesky_warp<16><<<(batch + 3) / 4, 128>>>(df, batch);
  trsv_lower<<<batch, 16, 16 * sizeof(float)>>>(df, dx, 16);
  inv3<<<(500 + 95) / 96, 96>>>(ma, mb, 500);
  cudaMemcpy(h.data(), d, h.size() * sizeof(double), cudaMemcpyDeviceToHost);
  printf("%g %s\n", h[N + 1], cudaGetErrorString(cudaGetLastError()));
  return 0;
}
