// nvcc: -std=c++17
// Strided tensors a la PyTorch: OffsetCalculator, elementwise functors, broadcasting, reductions.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#define C10_CHECK(expr)                                                               \
  do {                                                                                \
    cudaError_t err__ = (expr);                                                       \
    if (err__ != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s at %d: %s\n", #expr, __LINE__, cudaGetErrorString(err__)); \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (0)

constexpr int MAX_DIMS = 4;
constexpr int kThreads = 128;
constexpr int kWork = 4;

// sizes/strides with the fastest dimension first (like TensorIterator after reorder)
template <int NARGS>
struct OffsetCalculator {
  int dims;
  int sizes[MAX_DIMS];
  int strides[NARGS][MAX_DIMS];

  __device__ void get(int linear, int (&off)[NARGS]) const {
#pragma unroll
    for (int a = 0; a < NARGS; ++a) {
      off[a] = 0;
    }
    for (int d = 0; d < dims; ++d) {
      const int q = linear / sizes[d];
      const int r = linear - q * sizes[d];
#pragma unroll
      for (int a = 0; a < NARGS; ++a) {
        off[a] += r * strides[a][d];
      }
      linear = q;
    }
  }
};

struct AddMul {
  float alpha;
  __host__ __device__ float operator()(float a, float b) const { return a + alpha * b; }
};

struct GeluTanh {
  __host__ __device__ float operator()(float x) const {
    const float k = 0.7978845608f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(k));
  }
};

// ---- contiguous unary, vectorised by 4 with a scalar tail
template <typename F>
__global__ void vectorized_unary_kernel(const float* in, float* out, int n, F f) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 v = *reinterpret_cast<const float4*>(in + i);
    v.x = f(v.x);
    v.y = f(v.y);
    v.z = f(v.z);
    v.w = f(v.w);
    *reinterpret_cast<float4*>(out + i) = v;
  } else {
    for (int k = i; k < n; ++k) {
      out[k] = f(in[k]);
    }
  }
}

// ---- generic strided binary; every thread does kWork elements spaced by blockDim
template <typename F>
__global__ void __launch_bounds__(kThreads)
strided_binary_kernel(float* out, const float* a, const float* b, int n, OffsetCalculator<3> oc, F f) {
  int idx = blockIdx.x * kThreads * kWork + threadIdx.x;
#pragma unroll
  for (int w = 0; w < kWork; ++w) {
    if (idx < n) {
      int off[3];
      oc.get(idx, off);
      out[off[0]] = f(a[off[1]], b[off[2]]);
    }
    idx += kThreads;
  }
}

// ---- contiguous dtype cast, one element per thread
template <typename To, typename From>
__global__ void cast_kernel(const From* in, To* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = static_cast<To>(in[i]);
  }
}

// ---- bf16x2 pairwise scale
__global__ void scale_bf16x2_kernel(__nv_bfloat162* x, float s, int n2) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n2; i += gridDim.x * blockDim.x) {
    float2 v = __bfloat1622float2(x[i]);
    v.x *= s;
    v.y *= s;
    x[i] = __float22bfloat162_rn(v);
  }
}

// ---- reduce the innermost dimension: a block per row
__global__ void reduce_inner_kernel(const float* in, float* out, int cols) {
  __shared__ float smem[32];
  const float* row = in + static_cast<size_t>(blockIdx.x) * cols;
  float acc = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    acc += row[c];
  }
  for (int o = 16; o > 0; o >>= 1) {
    acc += __shfl_down_sync(0xffffffffu, acc, o);
  }
  if ((threadIdx.x & 31) == 0) {
    smem[threadIdx.x >> 5] = acc;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    acc = threadIdx.x < blockDim.x / 32 ? smem[threadIdx.x] : 0.0f;
    for (int o = 16; o > 0; o >>= 1) {
      acc += __shfl_down_sync(0xffffffffu, acc, o);
    }
    if (threadIdx.x == 0) {
      out[blockIdx.x] = acc;
    }
  }
}

// ---- reduce the outer dimension: block.x over columns, block.y over rows, then down in shared
__global__ void reduce_outer_kernel(const float* in, float* out, int rows, int cols) {
  __shared__ float smem[16][32];
  const int c = blockIdx.x * 32 + threadIdx.x;
  float acc = 0.0f;
  if (c < cols) {
    for (int r = threadIdx.y; r < rows; r += blockDim.y) {
      acc += in[static_cast<size_t>(r) * cols + c];
    }
  }
  smem[threadIdx.y][threadIdx.x] = acc;
  __syncthreads();
  for (int s = 8; s > 0; s >>= 1) {
    if (threadIdx.y < s) {
      smem[threadIdx.y][threadIdx.x] += smem[threadIdx.y + s][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && c < cols) {
    out[c] = smem[0][threadIdx.x];
  }
}

// ---- fallback reduction for arbitrary strides: one thread per output, walks the reduced dim
struct StridedReduce {
  int outSize;
  int outStride;
  int redSize;
  int redStride;
};

template <typename Acc, typename Op>
__global__ void reduce_strided_kernel(const float* in, Acc* out, StridedReduce p, Acc init, Op op) {
  const int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o < p.outSize) {
    Acc a = init;
    for (int r = 0; r < p.redSize; ++r) {
      a = op(a, in[o * p.outStride + r * p.redStride]);
    }
    out[o] = a;
  }
}

struct MaxOp {
  __host__ __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <typename T>
T* device_alloc(size_t n) {
  void* p = nullptr;
  C10_CHECK(cudaMalloc(&p, n * sizeof(T)));
  return static_cast<T*>(p);
}

template <typename T>
std::vector<T> to_host(const T* p, size_t n) {
  std::vector<T> v(n);
  C10_CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

int main() {
  // logical tensor x[B][C][H][W] contiguous
  constexpr int B = 8, C = 48, H = 56, Wd = 60;
  constexpr int N = B * C * H * Wd;
  std::mt19937 rng(11);
  std::uniform_real_distribution<float> uni(-2.0f, 2.0f);
  std::vector<float> x(N), bias(C);
  for (auto& v : x) v = uni(rng);
  for (auto& v : bias) v = uni(rng);

  float* dx = device_alloc<float>(N);
  float* dbias = device_alloc<float>(C);
  float* dg = device_alloc<float>(N);
  float* dadd = device_alloc<float>(N);
  float* dperm = device_alloc<float>(N);
  float* dinner = device_alloc<float>(B * C * H);
  float* douter = device_alloc<float>(H * Wd);
  float* dmax = device_alloc<float>(B * C);
  __nv_bfloat16* dbf = device_alloc<__nv_bfloat16>(N);
  C10_CHECK(cudaMemcpy(dx, x.data(), N * sizeof(float), cudaMemcpyHostToDevice));
  C10_CHECK(cudaMemcpy(dbias, bias.data(), C * sizeof(float), cudaMemcpyHostToDevice));

  vectorized_unary_kernel<<<ceil_div(N, 1024), 256>>>(dx, dg, N, GeluTanh{});

  // broadcast add over channels: bias stride is 0 except for the C dimension
  OffsetCalculator<3> bc = {4, {Wd, H, C, B}, {{1, Wd, H * Wd, C * H * Wd}, {1, Wd, H * Wd, C * H * Wd}, {0, 0, 1, 0}}};
  strided_binary_kernel<<<ceil_div(N, kThreads * kWork), kThreads>>>(dadd, dx, dbias, N, bc, AddMul{0.5f});

  // out is channels-last: iterate in the input's order, write with stride C
  OffsetCalculator<3> cl = {4, {Wd, H, C, B}, {{C, Wd * C, 1, C * H * Wd}, {1, Wd, H * Wd, C * H * Wd}, {1, Wd, H * Wd, C * H * Wd}}};
  strided_binary_kernel<<<ceil_div(N, kThreads * kWork), kThreads>>>(dperm, dx, dg, N, cl, AddMul{-1.0f});

  cast_kernel<__nv_bfloat16, float><<<ceil_div(N, 256), 256>>>(dx, dbf, N);
  scale_bf16x2_kernel<<<264, 256>>>(reinterpret_cast<__nv_bfloat162*>(dbf), 0.25f, N / 2);
  reduce_inner_kernel<<<B * C * H, 64>>>(dx, dinner, Wd);
  reduce_outer_kernel<<<ceil_div(H * Wd, 32), dim3(32, 16)>>>(dx, douter, B * C, H * Wd);
  StridedReduce sr = {B * C, H * Wd, H * Wd, 1};
  reduce_strided_kernel<<<ceil_div(B * C, 64), 64>>>(dx, dmax, sr, -1e30f, MaxOp{});
  C10_CHECK(cudaGetLastError());
  C10_CHECK(cudaDeviceSynchronize());

  auto g = to_host(dg, N);
  auto add = to_host(dadd, N);
  auto perm = to_host(dperm, N);
  auto inner = to_host(dinner, B * C * H);
  auto outer = to_host(douter, H * Wd);
  auto mx = to_host(dmax, B * C);
  auto bf = to_host(dbf, N);

  long bad = 0;
  auto near = [&](float a, double b, double tol) {
    if (!(std::fabs(a - b) <= tol)) ++bad;
  };
  std::vector<double> ri(B * C * H, 0.0), ro(H * Wd, 0.0);
  std::vector<float> rm(B * C, -1e30f);
  for (int i = 0; i < N; ++i) {
    const int w = i % Wd, h = (i / Wd) % H, c = (i / (Wd * H)) % C, b = i / (Wd * H * C);
    const float ge = GeluTanh{}(x[i]);
    near(g[i], ge, 1e-4);
    near(add[i], x[i] + 0.5f * bias[c], 1e-5);
    near(perm[((b * H + h) * Wd + w) * C + c], x[i] - ge, 1e-4);
    near(__bfloat162float(bf[i]), 0.25f * x[i], 0.01);
    ri[i / Wd] += x[i];
    ro[i % (H * Wd)] += x[i];
    rm[i / (H * Wd)] = std::fmax(rm[i / (H * Wd)], x[i]);
  }
  for (int i = 0; i < B * C * H; ++i) near(inner[i], ri[i], 1e-3);
  for (int i = 0; i < H * Wd; ++i) near(outer[i], ro[i], 1e-2);
  for (int i = 0; i < B * C; ++i) near(mx[i], rm[i], 0.0);
  std::printf("%s (%ld mismatches)\n", bad ? "FAIL" : "PASS", bad);
  return bad ? 1 : 0;
}
