// CRTP layers, std::array parameters, variadic pack of arrays, unions and bit-fields, static shared in a device function.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

template <class Derived>
struct Activation {
  __device__ float operator()(float v) const { return static_cast<const Derived*>(this)->apply(v); }
};
struct Relu : Activation<Relu> { __device__ float apply(float v) const { return v > 0.f ? v : 0.f; } };
struct Leaky : Activation<Leaky> {
  float slope;
  __host__ __device__ explicit Leaky(float s) : slope(s) {}
  __device__ float apply(float v) const { return v > 0.f ? v : slope * v; }
};

template <class Act>
__global__ void dense(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* __restrict__ y,
                      int in, int out, Act act) {
  int o = blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y;
  if (o >= out) return;
  float acc = b[o];
#pragma unroll 4
  for (int i = 0; i < in; ++i) acc += x[n * in + i] * w[i * out + o];
  y[n * out + o] = act(acc);
}

template <typename T, size_t N>
struct Pack {
  T v[N];
  __host__ __device__ const T& operator[](size_t i) const { return v[i]; }
  __host__ __device__ static constexpr size_t size() { return N; }
};

template <size_t N>
__global__ void weighted_sum(Pack<const float*, N> src, Pack<float, N> coef, float* dst, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
#pragma unroll
  for (size_t k = 0; k < N; ++k) s += src[k][i] * coef[k];
  dst[i] = s;
}

template <typename... Ptrs>
__global__ void zero_all(int n, Ptrs... ptrs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ((ptrs[i] = 0), ...);
}

union Pixel {
  uint32_t word;
  struct { uint8_t r, g, b, a; } c;
};

__global__ void blend(const Pixel* __restrict__ a, const Pixel* __restrict__ b, Pixel* __restrict__ o, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    Pixel p = a[i], q = b[i], r;
    int t = p.c.a;
    r.c.r = (p.c.r * t + q.c.r * (255 - t)) / 255;
    r.c.g = (p.c.g * t + q.c.g * (255 - t)) / 255;
    r.c.b = (p.c.b * t + q.c.b * (255 - t)) / 255;
    r.c.a = 255;
    o[i].word = r.word;
  }
}

struct Flags {
  unsigned alive : 1;
  unsigned kind : 3;
  unsigned count : 12;
  unsigned spare : 16;
};

__global__ void bump(Flags* f, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n && f[i].alive) f[i].count += f[i].kind;
}

template <typename T>
__device__ T* scratch() {
  static __shared__ T mem[256];
  return mem;
}

__global__ void shared_helper(const float* in, float* out, int n) {
  float* s = scratch<float>();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  float l = threadIdx.x ? s[threadIdx.x - 1] : s[255];
  float r = s[(threadIdx.x + 1) % 256];
  if (i < n) out[i] = (l + s[threadIdx.x] + r) / 3.f;
}

__device__ float g_table[64];
__device__ int g_counter;
__managed__ float m_scale = 1.5f;

__global__ void fill_table() { g_table[threadIdx.x] = threadIdx.x * m_scale; }
__global__ void use_table(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = g_table[i % 64] + g_table[(i * 2) % 64];
    if (out[i] > 100.f) atomicAdd(&g_counter, 1);
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 5000;
  float *a, *b, *c, *d;
  cudaMalloc(&a, n * 16); cudaMalloc(&b, n * 16); cudaMalloc(&c, n * 16); cudaMalloc(&d, n * 16);
  const int g = (n + 255) / 256;
  zero_all<<<g, 256>>>(n, a, b, (double*)c, (int*)d);
  dense<<<dim3(2, 20), 100>>>(a, b, c, d, 70, 150, Relu{});
  dense<Leaky><<<dim3(3, 20), 64>>>(a, b, c, d, 70, 150, Leaky(0.1f));
  Pack<const float*, 3> src{{a, b, c}};
  Pack<float, 3> coef{{0.2f, 0.3f, 0.5f}};
  weighted_sum<3><<<g, 256>>>(src, coef, d, n);
  blend<<<g, 256>>>((Pixel*)a, (Pixel*)b, (Pixel*)c, n);
  Flags* hf = (Flags*)calloc(n, sizeof(Flags));
  for (int i = 0; i < n; ++i) { hf[i].alive = i % 3 != 0; hf[i].kind = i % 7; }
  cudaMemcpy(d, hf, n * sizeof(Flags), cudaMemcpyHostToDevice);
  bump<<<g, 256>>>((Flags*)d, n);
  shared_helper<<<g, 256>>>(a, b, n);
  fill_table<<<1, 64>>>();
  use_table<<<g, 256>>>(a, n);
  int count = 0;
  cudaMemcpyFromSymbol(&count, g_counter, sizeof(int));
  printf("count %d\n", count);
  return 0;
}
