#include <cstdio>
#include <vector>
#include <tuple>
#include <utility>
#include <type_traits>
#include <cuda_runtime.h>
static __device__ constexpr int kTaps[5] = {1, 4, 6, 4, 1};
template <typename F, typename... A> __global__ void apply(F f, int n, A... a) { int i = blockIdx.x*blockDim.x + threadIdx.x; if (i < n) f(i, a...); }
template <typename... P> __global__ void sum_all(float* __restrict__ out, int n, const P* __restrict__... p) { int i = blockIdx.x*blockDim.x + threadIdx.x; if (i < n) out[i] = (p[i] + ...); }
template <int... Is> __device__ float tap(const float* p, std::integer_sequence<int, Is...>) { return ((p[Is]*kTaps[Is]) + ...); }
__global__ void fold_conv(const float* in, float* out, int n) { int i = blockIdx.x*blockDim.x + threadIdx.x; if (i + 4 < n) out[i] = tap(in + i, std::make_integer_sequence<int, 5>{})/16.f; }
template <template <typename> class Op, typename T, int VEC>
__global__ void map_vec(const T* __restrict__ a, T* __restrict__ b, int n) {
  struct alignas(sizeof(T)*VEC) Pack { T v[VEC]; };
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i*VEC >= n) return;
  Pack p = reinterpret_cast<const Pack*>(a)[i];
#pragma unroll
  for (int k = 0; k < VEC; ++k) {
    if constexpr (std::is_floating_point_v<T>) p.v[k] = Op<T>{}(p.v[k]); else p.v[k] = (T)Op<float>{}((float)p.v[k]);
  }
  reinterpret_cast<Pack*>(b)[i] = p;
}
template <typename T> struct Relu { __device__ T operator()(T x) const { return x > T(0) ? x : T(0); } };
template <typename T> struct Half { __device__ T operator()(T x) const { return x/T(2); } };
struct ScaleOp { float s; __device__ void operator()(int i, float* p, const float* q) const { p[i] = s*q[i]; } };
struct ShiftOp { float* a; const float* b; int off; __device__ void operator()(int i) const { a[i] = b[i + off]; } };
struct MinMax { float lo, hi; };
__device__ MinMax mm(float a, float b) { return {fminf(a, b), fmaxf(a, b)}; }
__global__ void sort_pairs(float* d, int n) {
  int i = 2*(blockIdx.x*blockDim.x + threadIdx.x);
  if (i + 1 < n) { auto [lo, hi] = mm(d[i], d[i+1]); d[i] = lo; d[i+1] = hi; }
}
class BatchedAxpy {
  float* y; const float* x; long sx, sy; float a;
public:
  BatchedAxpy(float* y_, const float* x_, long sx_, long sy_, float a_) : y(y_), x(x_), sx(sx_), sy(sy_), a(a_) {}
  __device__ void operator()(int b, int i) const { y[b*sy + i] += a*x[b*sx + i]; }
};
template <typename F> __global__ void batched(F f, int m) { for (int i = threadIdx.x; i < m; i += blockDim.x) f(blockIdx.x, i); }
#define DEFINE_EW(NAME, EXPR) __global__ void ew_##NAME(const double* a, const double* b, double* c, int n) { for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < n; i += gridDim.x*blockDim.x) { double x = a[i], y = b[i]; c[i] = (EXPR); } }
DEFINE_EW(add, x + y) DEFINE_EW(hyp, sqrt(x*x + y*y)) DEFINE_EW(left, x)
template <class F> void for_each_width(F f) { f(std::integral_constant<int, 1>{}); f(std::integral_constant<int, 4>{}); }
int main() {
  const int n = 1 << 20; float *a, *b, *c; double* d;
  cudaMalloc(&a, n*8); cudaMalloc(&b, n*8); cudaMalloc(&c, n*8); cudaMalloc(&d, n*24);
  std::vector<cudaStream_t> ss(4); for (auto& s : ss) cudaStreamCreate(&s);
  float alpha = 2.f; int off = 3;
  apply<<<n/256, 256, 0, ss[0]>>>(ScaleOp{alpha}, n, a, (const float*)b);
  apply<<<n/256, 256, 0, ss[1]>>>(ShiftOp{a, b, off}, n - off);
  sum_all<<<n/128, 128>>>(c, n, a, b, (const int*)a, (const short*)b);
  fold_conv<<<n/256, 256>>>(a, b, n);
  for_each_width([&](auto w) { map_vec<Relu, float, decltype(w)::value><<<n/256/decltype(w)::value, 256>>>(a, b, n); });
  map_vec<Half, unsigned char, 8><<<n/8/256, 256>>>((unsigned char*)a, (unsigned char*)b, n);
  map_vec<Half, short, 2><<<n/2/256, 256>>>((short*)a, (short*)b, n);
  sort_pairs<<<n/2/256, 256>>>(a, n);
  batched<<<64, 128>>>(BatchedAxpy(a, b, 1000, 1024, 0.5f), 1000);
  for (int s = 0; s < 4; ++s) { int chunk = n/4; ew_add<<<64, 256, 0, ss[s]>>>(d + s*chunk, d + n + s*chunk, d + 2*n + s*chunk, chunk); }
  ew_hyp<<<64,256>>>(d, d + n, d + 2*n, n); ew_left<<<64,256>>>(d, d + n, d + 2*n, n);
  cudaDeviceSynchronize(); puts("ok");
}
