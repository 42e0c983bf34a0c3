// "How to make a matrix-vector product fast", post 2 of 4.
// y = A x, with A row-major M x N.  v1 naive ... v5 several rows per warp
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <functional>

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define cudaCheck(e) do { cudaError_t _e = (e); if (_e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(_e)); exit(EXIT_FAILURE); } } while (0)

// v1: one thread per row. Every lane walks its own row.
__global__ void gemv_v1(const float* A, const float* x, float* y, int M, int N) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M) return;
  float s = 0.f;
  for (int j = 0; j < N; ++j) s += A[(size_t)row * N + j] * x[j];
  y[row] = s;
}

// v2: one block per row, tree in shared memory
template <int BLOCK>
__global__ void gemv_v2(const float* A, const float* x, float* y, int M, int N) {
  __shared__ float buf[BLOCK];
  const int row = blockIdx.x;
  float s = 0.f;
  for (int j = threadIdx.x; j < N; j += BLOCK) s += A[(size_t)row * N + j] * x[j];
  buf[threadIdx.x] = s;
  __syncthreads();
  for (int stride = BLOCK / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) buf[threadIdx.x] += buf[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[row] = buf[0];
}

// v3: one warp per row, shuffles
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}

__global__ void gemv_v3(const float* __restrict__ A, const float* __restrict__ x,
                        float* __restrict__ y, int M, int N) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= M) return;
  const float* a = A + (size_t)row * N;
  float s = 0.f;
  for (int j = threadIdx.x; j < N; j += 32) s += a[j] * x[j];
  s = warp_sum(s);
  if (threadIdx.x == 0) y[row] = s;
}

// v4: same with 128-bit loads (N must be a multiple of 4)
__global__ void gemv_v4(const float* __restrict__ A, const float* __restrict__ x,
                        float* __restrict__ y, int M, int N) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= M) return;
  const float4* a = reinterpret_cast<const float4*>(A + (size_t)row * N);
  const float4* v = reinterpret_cast<const float4*>(x);
  float s = 0.f;
#pragma unroll 4
  for (int j = threadIdx.x; j < N / 4; j += 32) {
    float4 p = a[j];
    float4 q = v[j];
    s += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  }
  s = warp_sum(s);
  if (threadIdx.x == 0) y[row] = s;
}

// v5: a warp owns ROWS rows, x staged in shared memory chunk by chunk
template <int WARPS, int ROWS, int CHUNK>
__global__ __launch_bounds__(WARPS * 32) void gemv_v5(const float* __restrict__ A,
                                                     const float* __restrict__ x,
                                                     float* __restrict__ y, int M, int N) {
  __shared__ float4 xs[CHUNK / 4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = (blockIdx.x * WARPS + warp) * ROWS;
  float acc[ROWS] = {};
  for (int base = 0; base < N; base += CHUNK) {
    const int len = min(CHUNK, N - base) / 4;
    __syncthreads();
    for (int i = threadIdx.x; i < len; i += WARPS * 32)
      xs[i] = reinterpret_cast<const float4*>(x + base)[i];
    __syncthreads();
    for (int j = lane; j < len; j += 32) {
      const float4 q = xs[j];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        if (row0 + r < M) {
          const float4 p = __ldg(reinterpret_cast<const float4*>(A + (size_t)(row0 + r) * N + base) + j);
          acc[r] = fmaf(p.x, q.x, acc[r]);
          acc[r] = fmaf(p.y, q.y, acc[r]);
          acc[r] = fmaf(p.z, q.z, acc[r]);
          acc[r] = fmaf(p.w, q.w, acc[r]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float s = warp_sum(acc[r]);
    if (lane == 0 && row0 + r < M) y[row0 + r] = s;
  }
}

int main() {
  const int M = 5000, N = 2052;
  std::vector<float> A((size_t)M * N), x(N), ref(M), y(M);
  unsigned s = 42;
  for (auto& v : A) { s = s * 1664525u + 1013904223u; v = (float)(s >> 16) / 65536.f - 0.5f; }
  for (int j = 0; j < N; ++j) x[j] = sinf(0.01f * j);
  for (int i = 0; i < M; ++i) {
    double t = 0;
    for (int j = 0; j < N; ++j) t += (double)A[(size_t)i * N + j] * x[j];
    ref[i] = (float)t;
  }
  float *dA, *dx, *dy;
  cudaCheck(cudaMalloc(&dA, A.size() * sizeof(float)));
  cudaCheck(cudaMalloc(&dx, N * sizeof(float)));
  cudaCheck(cudaMalloc(&dy, M * sizeof(float)));
  cudaCheck(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(dx, x.data(), N * sizeof(float), cudaMemcpyHostToDevice));

  bool all = true;
  auto bench = [&](const char* name, std::function<void()> f) {
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0); cudaEventCreate(&t1);
    cudaCheck(cudaMemset(dy, 0, M * sizeof(float)));
    cudaEventRecord(t0);
    f();
    cudaEventRecord(t1);
    cudaCheck(cudaEventSynchronize(t1));
    float ms; cudaEventElapsedTime(&ms, t0, t1);
    cudaCheck(cudaMemcpy(y.data(), dy, M * sizeof(float), cudaMemcpyDeviceToHost));
    double e = 0;
    for (int i = 0; i < M; ++i) e = fmax(e, fabs(y[i] - ref[i]));
    printf("%-24s %8.3f ms %8.1f GB/s  max err %.2e\n", name, ms, 4e-6 * M * N / ms, e);
    all = all && e < 5e-3;
  };
  bench("v1 thread per row", [&] { gemv_v1<<<CEIL_DIV(M, 256), 256>>>(dA, dx, dy, M, N); });
  bench("v2 block per row", [&] { gemv_v2<128><<<M, 128>>>(dA, dx, dy, M, N); });
  dim3 b(32, 8);
  bench("v3 warp per row", [&] { gemv_v3<<<CEIL_DIV(M, 8), b>>>(dA, dx, dy, M, N); });
  bench("v4 float4", [&] { gemv_v4<<<CEIL_DIV(M, 8), b>>>(dA, dx, dy, M, N); });
  bench("v5 multi row", [&] { gemv_v5<4, 4, 1024><<<CEIL_DIV(M, 16), 128>>>(dA, dx, dy, M, N); });
  puts(all ? "PASS" : "FAIL");
  cudaFree(dA); cudaFree(dx); cudaFree(dy);
  return !all;
}
