// Fused (residual add +) RMSNorm and SiLU-and-mul activations, in the layout of an inference library.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <type_traits>

namespace ops {

enum class DType { kFloat32, kFloat16, kBFloat16 };

template <typename T, int N>
struct alignas(sizeof(T) * N) AlignedVec {
  T val[N];
  __device__ __forceinline__ T& operator[](int i) { return val[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return val[i]; }
};

template <typename T> struct Cvt;
template <> struct Cvt<float> {
  static __host__ __device__ float to(float x) { return x; }
  static __host__ __device__ float from(float x) { return x; }
};
template <> struct Cvt<__half> {
  static __host__ __device__ float to(__half x) { return __half2float(x); }
  static __host__ __device__ __half from(float x) { return __float2half(x); }
};
template <> struct Cvt<__nv_bfloat16> {
  static __host__ __device__ float to(__nv_bfloat16 x) { return __bfloat162float(x); }
  static __host__ __device__ __nv_bfloat16 from(float x) { return __float2bfloat16(x); }
};

#define DISPATCH_CASE(TYPE, NAME, ...) \
  case NAME: {                         \
    using scalar_t = TYPE;             \
    __VA_ARGS__();                     \
    break;                             \
  }
#define DISPATCH_FLOATING(DT, ...)                                    \
  switch (DT) {                                                       \
    DISPATCH_CASE(float, ops::DType::kFloat32, __VA_ARGS__)           \
    DISPATCH_CASE(__half, ops::DType::kFloat16, __VA_ARGS__)          \
    DISPATCH_CASE(__nv_bfloat16, ops::DType::kBFloat16, __VA_ARGS__)  \
  }

template <int NUM_WARPS>
__device__ __forceinline__ float block_sum(float v, float* smem) {
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffff, v, m);
  if ((threadIdx.x & 31) == 0) smem[threadIdx.x >> 5] = v;
  __syncthreads();
  v = (threadIdx.x & 31) < NUM_WARPS ? smem[threadIdx.x & 31] : 0.f;
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffff, v, m);
  return v;
}

template <typename scalar_t, int VEC, int THREADS>
__global__ void fused_add_rms_norm_kernel(scalar_t* __restrict__ input,     // [tokens, hidden]
                                          scalar_t* __restrict__ residual,  // [tokens, hidden]
                                          const scalar_t* __restrict__ weight, const float eps,
                                          const int hidden) {
  using vec_t = AlignedVec<scalar_t, VEC>;
  __shared__ float red[THREADS / 32];
  const int vec_hidden = hidden / VEC;
  vec_t* in = reinterpret_cast<vec_t*>(input) + (int64_t)blockIdx.x * vec_hidden;
  vec_t* res = reinterpret_cast<vec_t*>(residual) + (int64_t)blockIdx.x * vec_hidden;
  const vec_t* w = reinterpret_cast<const vec_t*>(weight);
  float ss = 0.f;
  for (int i = threadIdx.x; i < vec_hidden; i += THREADS) {
    vec_t a = in[i];
    vec_t b = res[i];
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
      float x = Cvt<scalar_t>::to(a[j]) + Cvt<scalar_t>::to(b[j]);
      b[j] = Cvt<scalar_t>::from(x);
      x = Cvt<scalar_t>::to(b[j]);
      ss += x * x;
    }
    res[i] = b;
  }
  const float scale = rsqrtf(block_sum<THREADS / 32>(ss, red) / hidden + eps);
  for (int i = threadIdx.x; i < vec_hidden; i += THREADS) {
    vec_t b = res[i];
    vec_t g = w[i];
    vec_t o;
#pragma unroll
    for (int j = 0; j < VEC; ++j)
      o[j] = Cvt<scalar_t>::from(Cvt<scalar_t>::to(b[j]) * scale * Cvt<scalar_t>::to(g[j]));
    in[i] = o;
  }
}

// out[t, d] = silu(x[t, d]) * x[t, D + d]
template <typename scalar_t>
__global__ void silu_and_mul_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ x, const int D) {
  const int64_t t = blockIdx.x;
  for (int64_t d = threadIdx.x; d < D; d += blockDim.x) {
    const float a = Cvt<scalar_t>::to(__ldg(&x[t * 2 * D + d]));
    const float b = Cvt<scalar_t>::to(__ldg(&x[t * 2 * D + D + d]));
    out[t * D + d] = Cvt<scalar_t>::from(a / (1.f + __expf(-a)) * b);
  }
}

void fused_add_rms_norm(void* in, void* res, const void* w, float eps, int tokens, int hidden, DType dt,
                        cudaStream_t st) {
  constexpr int kThreads = 256;
  DISPATCH_FLOATING(dt, [&] {
    constexpr int VEC = 16 / sizeof(scalar_t);
    if (hidden % VEC == 0)
      fused_add_rms_norm_kernel<scalar_t, VEC, kThreads><<<tokens, kThreads, 0, st>>>(
          (scalar_t*)in, (scalar_t*)res, (const scalar_t*)w, eps, hidden);
    else
      fused_add_rms_norm_kernel<scalar_t, 1, kThreads><<<tokens, kThreads, 0, st>>>(
          (scalar_t*)in, (scalar_t*)res, (const scalar_t*)w, eps, hidden);
  });
}

void silu_and_mul(void* out, const void* x, int tokens, int D, DType dt, cudaStream_t st) {
  DISPATCH_FLOATING(dt, [&] {
    silu_and_mul_kernel<scalar_t><<<tokens, D < 1024 ? D : 1024, 0, st>>>((scalar_t*)out, (const scalar_t*)x, D);
  });
}
}  // namespace ops

template <typename T>
bool run_case(ops::DType dt, int tokens, int hidden, float tol) {
  using C = ops::Cvt<T>;
  const size_t n = (size_t)tokens * hidden;
  std::vector<T> in(n), res(n), w(hidden), out(n), act(n / 2);
  uint32_t s = 7u + hidden;
  auto rnd = [&] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return (s & 0xffff) / 32768.f - 1.f; };
  for (auto& v : in) v = C::from(rnd());
  for (auto& v : res) v = C::from(rnd());
  for (auto& v : w) v = C::from(1.f + 0.2f * rnd());
  T *di, *dr, *dw, *da;
  cudaMalloc(&di, n * sizeof(T)); cudaMalloc(&dr, n * sizeof(T));
  cudaMalloc(&dw, hidden * sizeof(T)); cudaMalloc(&da, n / 2 * sizeof(T));
  cudaMemcpy(di, in.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(dr, res.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(dw, w.data(), hidden * sizeof(T), cudaMemcpyHostToDevice);
  cudaStream_t st; cudaStreamCreate(&st);
  ops::fused_add_rms_norm(di, dr, dw, 1e-5f, tokens, hidden, dt, st);
  ops::silu_and_mul(da, di, tokens, hidden / 2, dt, st);
  cudaStreamSynchronize(st);
  cudaMemcpy(out.data(), di, n * sizeof(T), cudaMemcpyDeviceToHost);
  cudaMemcpy(act.data(), da, n / 2 * sizeof(T), cudaMemcpyDeviceToHost);
  double err = 0;
  for (int t = 0; t < tokens; t += 97) {
    double ss = 0;
    std::vector<float> r(hidden);
    for (int h = 0; h < hidden; ++h) {
      r[h] = C::to(C::from(C::to(in[(size_t)t * hidden + h]) + C::to(res[(size_t)t * hidden + h])));
      ss += r[h] * r[h];
    }
    double sc = 1.0 / sqrt(ss / hidden + 1e-5);
    for (int h = 0; h < hidden; ++h)
      err = fmax(err, fabs(r[h] * sc * C::to(w[h]) - C::to(out[(size_t)t * hidden + h])));
    for (int d = 0; d < hidden / 2; ++d) {
      double a = C::to(out[(size_t)t * hidden + d]), b = C::to(out[(size_t)t * hidden + hidden / 2 + d]);
      err = fmax(err, fabs(a / (1 + exp(-a)) * b - C::to(act[(size_t)t * hidden / 2 + d])));
    }
  }
  cudaStreamDestroy(st);
  cudaFree(di); cudaFree(dr); cudaFree(dw); cudaFree(da);
  printf("hidden %d dtype %d: max err %g (%s)\n", hidden, (int)dt, err, cudaGetErrorString(cudaGetLastError()));
  return err < tol;
}

int main() {
  bool ok = run_case<float>(ops::DType::kFloat32, 1000, 2048, 1e-3f);
  ok &= run_case<__half>(ops::DType::kFloat16, 1500, 4096, 3e-2f);
  ok &= run_case<__nv_bfloat16>(ops::DType::kBFloat16, 777, 5120, 2e-1f);
  ok &= run_case<__half>(ops::DType::kFloat16, 300, 1002, 3e-2f);
  printf(ok ? "PASS\n" : "FAIL\n");
  return ok ? 0 : 1;
}
