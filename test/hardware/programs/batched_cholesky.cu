// Batched Cholesky + solve for many small SPD systems (n = 16 and n = 32).
// Compares: thread per matrix (array of matrices), thread per matrix (interleaved), warp per matrix.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

#define TRY(x)                                                              \
  {                                                                         \
    cudaError_t st = x;                                                     \
    if (st != cudaSuccess) {                                                \
      fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(st));        \
      exit(1);                                                              \
    }                                                                       \
  }

// A is column major n x n, lower triangle referenced/overwritten. Matrix m starts at A + m*n*n.
template <int n>
__global__ void potrf_thread_aos(float *A, int batch, int *info) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= batch) return;
  float *a = A + (size_t)m * n * n;
  int bad = 0;
  for (int j = 0; j < n; j++) {
    float d = a[j + j * n];
    for (int k = 0; k < j; k++) {
      float l = a[j + k * n];
      d -= l * l;
    }
    if (d <= 0.0f) bad = j + 1;
    d = sqrtf(d);
    a[j + j * n] = d;
    float r = 1.0f / d;
    for (int i = j + 1; i < n; i++) {
      float s = a[i + j * n];
      for (int k = 0; k < j; k++) {
        s -= a[i + k * n] * a[j + k * n];
      }
      a[i + j * n] = s * r;
    }
  }
  info[m] = bad;
}

// element e of matrix m is at A[e*batch + m]
template <int n>
__global__ void potrf_thread_interleaved(float *A, int batch) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= batch) return;
  float *a = A + m;
  for (int j = 0; j < n; j++) {
    float row[n];
#pragma unroll
    for (int k = 0; k < n; k++) {
      row[k] = k < j ? a[(size_t)(j + k * n) * batch] : 0.0f;
    }
    float d = a[(size_t)(j + j * n) * batch];
#pragma unroll
    for (int k = 0; k < n; k++) {
      d -= row[k] * row[k];
    }
    d = sqrtf(d);
    a[(size_t)(j + j * n) * batch] = d;
    for (int i = j + 1; i < n; i++) {
      float s = a[(size_t)(i + j * n) * batch];
      for (int k = 0; k < j; k++) {
        s -= a[(size_t)(i + k * n) * batch] * a[(size_t)(j + k * n) * batch];
      }
      a[(size_t)(i + j * n) * batch] = s / d;
    }
  }
}

// layout change, out index runs fastest over the batch
__global__ void interleave(const float *aos, float *soa, int batch, int elems) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  int e = blockIdx.y;
  if (m < batch) {
    soa[(size_t)e * batch + m] = aos[(size_t)m * elems + e];
  }
}

// forward + backward substitution on the interleaved factors
template <int n>
__global__ void potrs_thread_interleaved(const float *A, float *B, int batch) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= batch) return;
  float x[n];
#pragma unroll
  for (int i = 0; i < n; i++) {
    float s = B[(size_t)i * batch + m];
#pragma unroll
    for (int k = 0; k < i; k++) {
      s -= A[(size_t)(i + k * n) * batch + m] * x[k];
    }
    x[i] = s / A[(size_t)(i + i * n) * batch + m];
  }
#pragma unroll
  for (int i = n - 1; i >= 0; i--) {
    float s = x[i];
#pragma unroll
    for (int k = i + 1; k < n; k++) {
      s -= A[(size_t)(k + i * n) * batch + m] * x[k];
    }
    x[i] = s / A[(size_t)(i + i * n) * batch + m];
    B[(size_t)i * batch + m] = x[i];
  }
}

// warp per 32x32 matrix, matrix rows in shared memory with a leading dimension chosen by the caller
template <int LD, int WARPS>
__global__ void potrf_warp(const float *A, float *L, int batch) {
  __shared__ float s[WARPS][32 * LD];
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  int w = threadIdx.x / 32;
  int lane = warp.thread_rank();
  int m = blockIdx.x * WARPS + w;
  if (m >= batch) return;
  const float *a = A + (size_t)m * 1024;
  float *t = s[w];
  // column major in global: consecutive lanes read consecutive rows of column c
  for (int c = 0; c < 32; c++) {
    t[lane * LD + c] = a[c * 32 + lane];
  }
  warp.sync();
  for (int j = 0; j < 32; j++) {
    float v = t[lane * LD + j];
    for (int k = 0; k < j; k++) {
      v -= t[lane * LD + k] * t[j * LD + k];
    }
    float d = sqrtf(warp.shfl(v, j));
    warp.sync();
    if (lane == j) {
      t[lane * LD + j] = d;
    } else if (lane > j) {
      t[lane * LD + j] = v / d;
    }
    warp.sync();
  }
  float *l = L + (size_t)m * 1024;
  for (int c = 0; c < 32; c++) {
    l[c * 32 + lane] = lane >= c ? t[lane * LD + c] : 0.0f;
  }
}

// warp per matrix solve with shuffles, L read from global: forward by columns, backward by rows of L^T
__global__ void potrs_warp(const float *L, float *B, int batch) {
  int m = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (m >= batch) return;
  const float *l = L + (size_t)m * 1024;
  float b = B[m * 32 + lane];
  for (int j = 0; j < 32; j++) {
    float c = l[j * 32 + lane];
    float x = __shfl_sync(0xffffffffu, b, j) / __shfl_sync(0xffffffffu, c, j);
    if (lane == j) {
      b = x;
    } else if (lane > j) {
      b -= c * x;
    }
  }
  for (int j = 31; j >= 0; j--) {
    float c = l[lane * 32 + j];   // row j of L: stride 32 between lanes
    float x = __shfl_sync(0xffffffffu, b, j) / __shfl_sync(0xffffffffu, c, j);
    if (lane == j) {
      b = x;
    } else if (lane < j) {
      b -= c * x;
    }
  }
  B[m * 32 + lane] = b;
}

static unsigned lcg_state = 2463534242u;
static float frand() {
  lcg_state = lcg_state * 1664525u + 1013904223u;
  return (lcg_state >> 8) / 16777216.0f - 0.5f;
}

// A = n*I + symmetric noise  (diagonally dominant), rhs = A * x_true
static void make_problem(int n, int batch, std::vector<float> &A, std::vector<float> &B, std::vector<float> &X) {
  A.resize((size_t)batch * n * n);
  B.assign((size_t)batch * n, 0.0f);
  X.resize((size_t)batch * n);
  for (int m = 0; m < batch; m++) {
    float *a = &A[(size_t)m * n * n];
    for (int j = 0; j < n; j++) {
      X[m * n + j] = 2.0f * frand();
      for (int i = j; i < n; i++) {
        float v = frand() * 2.0f;
        if (i == j) v = n + v;
        a[i + j * n] = v;
        a[j + i * n] = v;
      }
    }
    for (int i = 0; i < n; i++) {
      double s = 0;
      for (int j = 0; j < n; j++) s += (double)a[i + j * n] * X[m * n + j];
      B[m * n + i] = (float)s;
    }
  }
}

static double factor_error(int n, int batch, const std::vector<float> &A, const std::vector<float> &L) {
  double worst = 0;
  for (int m = 0; m < batch; m += 37) {
    const float *a = &A[(size_t)m * n * n];
    const float *l = &L[(size_t)m * n * n];
    for (int j = 0; j < n; j++)
      for (int i = j; i < n; i++) {
        double s = 0;
        for (int k = 0; k <= j; k++) s += (double)l[i + k * n] * l[j + k * n];
        double e = fabs(s - a[i + j * n]);
        if (!(e <= worst)) worst = e;
      }
  }
  return worst;
}

template <typename T>
static T *upload(const std::vector<T> &v) {
  T *p;
  TRY(cudaMalloc(&p, v.size() * sizeof(T)));
  TRY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

int main() {
  const int n1 = 16, batch1 = 4096;
  const int n2 = 32, batch2 = 1500;
  std::vector<float> A1, B1, X1, A2, B2, X2;
  make_problem(n1, batch1, A1, B1, X1);
  make_problem(n2, batch2, A2, B2, X2);
  float *dA1 = upload(A1), *dB1 = upload(B1), *dA2 = upload(A2), *dB2 = upload(B2);
  float *dI1, *dBi, *dL2a, *dL2b;
  int *dinfo;
  TRY(cudaMalloc(&dI1, A1.size() * 4));
  TRY(cudaMalloc(&dBi, B1.size() * 4));
  TRY(cudaMalloc(&dL2a, A2.size() * 4));
  TRY(cudaMalloc(&dL2b, A2.size() * 4));
  TRY(cudaMalloc(&dinfo, batch1 * 4));

  dim3 gi((batch1 + 127) / 128, n1 * n1);
  dim3 gb((batch1 + 127) / 128, n1);
  interleave<<<gi, 128>>>(dA1, dI1, batch1, n1 * n1);
  interleave<<<gb, 128>>>(dB1, dBi, batch1, n1);
  potrf_thread_aos<n1><<<(batch1 + 63) / 64, 64>>>(dA1, batch1, dinfo);
  potrf_thread_interleaved<n1><<<(batch1 + 63) / 64, 64>>>(dI1, batch1);
  potrs_thread_interleaved<n1><<<(batch1 + 63) / 64, 64>>>(dI1, dBi, batch1);
  potrf_warp<32, 4><<<(batch2 + 3) / 4, 128>>>(dA2, dL2a, batch2);
  potrf_warp<33, 4><<<(batch2 + 3) / 4, 128>>>(dA2, dL2b, batch2);
  potrs_warp<<<(batch2 * 32 + 127) / 128, 128>>>(dL2b, dB2, batch2);
  TRY(cudaGetLastError());
  TRY(cudaDeviceSynchronize());

  std::vector<float> L1(A1.size()), xi(B1.size()), La(A2.size()), Lb(A2.size()), x2(B2.size());
  std::vector<int> info(batch1);
  TRY(cudaMemcpy(L1.data(), dA1, L1.size() * 4, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(xi.data(), dBi, xi.size() * 4, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(La.data(), dL2a, La.size() * 4, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(Lb.data(), dL2b, Lb.size() * 4, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(x2.data(), dB2, x2.size() * 4, cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(info.data(), dinfo, batch1 * 4, cudaMemcpyDeviceToHost));

  double e1 = factor_error(n1, batch1, A1, L1);
  double e2 = factor_error(n2, batch2, A2, La);
  double e3 = factor_error(n2, batch2, A2, Lb);
  double ex = 0;
  int bad = 0;
  for (int m = 0; m < batch1; m++) {
    bad += info[m] != 0;
    for (int i = 0; i < n1; i++) {
      double e = fabs(xi[(size_t)i * batch1 + m] - X1[m * n1 + i]);
      if (!(e <= ex)) ex = e;
    }
  }
  for (size_t i = 0; i < x2.size(); i++) {
    double e = fabs(x2[i] - X2[i]);
    if (!(e <= ex)) ex = e;
  }
  printf("factor errors %.2e %.2e %.2e  solve error %.2e info %d\n", e1, e2, e3, ex, bad);
  bool ok = e1 < 1e-3 && e2 < 1e-3 && e3 < 1e-3 && ex < 1e-3 && bad == 0;
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
