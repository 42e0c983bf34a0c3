// Fused transformer pieces in bf16: add + RMSNorm, GEGLU with bias, fused cross entropy (forward and gradient).
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CUDA_CHECK(expr)                                                                       \
  do {                                                                                         \
    cudaError_t err__ = (expr);                                                                \
    if (err__ != cudaSuccess) {                                                                \
      fprintf(stderr, "CUDA error %s at %s:%d\n", cudaGetErrorString(err__), __FILE__, __LINE__); \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T elem[N];
  __device__ T& operator[](int i) { return elem[i]; }
  __device__ const T& operator[](int i) const { return elem[i]; }
};

template <typename T, int N>
__device__ __forceinline__ Pack<T, N> load_pack(const T* p) {
  return *reinterpret_cast<const Pack<T, N>*>(p);
}
template <typename T, int N>
__device__ __forceinline__ void store_pack(T* p, const Pack<T, N>& v) {
  *reinterpret_cast<Pack<T, N>*>(p) = v;
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}
__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, m));
  return v;
}

template <int kThreads>
__device__ float block_sum(float v) {
  __shared__ float partial[kThreads / 32];
  __shared__ float total;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  v = warp_sum(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  if (warp == 0) {
    float w = lane < kThreads / 32 ? partial[lane] : 0.f;
    w = warp_sum(w);
    if (lane == 0) total = w;
  }
  __syncthreads();
  return total;
}

// residual += x; y = rmsnorm(residual) * weight. One block a token, the row kept in registers.
template <int kHidden, int kThreads>
__global__ void __launch_bounds__(kThreads)
add_rmsnorm_kernel(bf16* __restrict__ residual, const bf16* __restrict__ x, const bf16* __restrict__ weight,
                   bf16* __restrict__ y, float eps) {
  constexpr int kVec = 8;
  constexpr int kIters = kHidden / (kVec * kThreads);
  static_assert(kHidden % (kVec * kThreads) == 0, "hidden size");
  const size_t base = size_t(blockIdx.x) * kHidden;
  float v[kIters][kVec];
  float ss = 0.f;
#pragma unroll
  for (int it = 0; it < kIters; ++it) {
    const int col = (it * kThreads + threadIdx.x) * kVec;
    Pack<bf16, kVec> r = load_pack<bf16, kVec>(residual + base + col);
    Pack<bf16, kVec> a = load_pack<bf16, kVec>(x + base + col);
#pragma unroll
    for (int k = 0; k < kVec; ++k) {
      v[it][k] = __bfloat162float(r[k]) + __bfloat162float(a[k]);
      r[k] = __float2bfloat16(v[it][k]);
      ss += v[it][k] * v[it][k];
    }
    store_pack<bf16, kVec>(residual + base + col, r);
  }
  const float scale = rsqrtf(block_sum<kThreads>(ss) / kHidden + eps);
#pragma unroll
  for (int it = 0; it < kIters; ++it) {
    const int col = (it * kThreads + threadIdx.x) * kVec;
    const Pack<bf16, kVec> w = load_pack<bf16, kVec>(weight + col);
    Pack<bf16, kVec> o;
#pragma unroll
    for (int k = 0; k < kVec; ++k) o[k] = __float2bfloat16(v[it][k] * scale * __bfloat162float(w[k]));
    store_pack<bf16, kVec>(y + base + col, o);
  }
}

__device__ __forceinline__ float gelu_tanh(float x) {
  return 0.5f * x * (1.f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

// gate and up halves lie side by side in a row: [gate | up]
__global__ void geglu_kernel(const bf162* __restrict__ in, const bf162* __restrict__ bias, bf162* __restrict__ out,
                             int rows, int half_pairs) {
  const int n = rows * half_pairs;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int row = i / half_pairs, col = i % half_pairs;
    const bf162 g = __hadd2(in[row * 2 * half_pairs + col], bias[col]);
    const bf162 u = __hadd2(in[row * 2 * half_pairs + half_pairs + col], bias[half_pairs + col]);
    const float2 gf = __bfloat1622float2(g), uf = __bfloat1622float2(u);
    out[i] = __floats2bfloat162_rn(gelu_tanh(gf.x) * uf.x, gelu_tanh(gf.y) * uf.y);
  }
}

// interleaved variant: (gate, up) alternate, as some checkpoints have it
__global__ void geglu_interleaved_kernel(const bf16* __restrict__ in, bf16* __restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = __float2bfloat16(gelu_tanh(__bfloat162float(in[2 * i])) * __bfloat162float(in[2 * i + 1]));
}

// one warp a row; logits are overwritten by their gradient
template <int kWarps>
__global__ void fused_xent_kernel(float* __restrict__ logits, const int* __restrict__ target, float* __restrict__ loss,
                                  int rows, int vocab, float inv_rows) {
  const int row = blockIdx.x * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  if (row >= rows) return;
  float* p = logits + (size_t)row * vocab;
  float m = -INFINITY, s = 0.f;
  for (int j = lane; j < vocab; j += 32) {
    const float v = p[j];
    const float nm = fmaxf(m, v);
    s = s * __expf(m - nm) + __expf(v - nm);
    m = nm;
  }
  const float all = warp_max(m);
  s = warp_sum(s * __expf(m - all));
  const int t = target[row];
  if (lane == 0) loss[row] = logf(s) + all - p[t];
  __syncwarp();
  const float inv = 1.f / s;
  for (int j = lane; j < vocab; j += 32)
    p[j] = (__expf(p[j] - all) * inv - (j == t ? 1.f : 0.f)) * inv_rows;
}

void launch_add_rmsnorm(bf16* r, const bf16* x, const bf16* w, bf16* y, int rows, int hidden) {
  switch (hidden) {
    case 512: add_rmsnorm_kernel<512, 64><<<rows, 64>>>(r, x, w, y, 1e-5f); break;
    case 1024: add_rmsnorm_kernel<1024, 128><<<rows, 128>>>(r, x, w, y, 1e-5f); break;
    case 2048: add_rmsnorm_kernel<2048, 128><<<rows, 128>>>(r, x, w, y, 1e-5f); break;
    default: fprintf(stderr, "hidden %d not supported\n", hidden); exit(1);
  }
  CUDA_CHECK(cudaGetLastError());
}

static std::vector<bf16> to_bf16(const std::vector<float>& v) {
  std::vector<bf16> r(v.size());
  for (size_t i = 0; i < v.size(); ++i) r[i] = __float2bfloat16(v[i]);
  return r;
}

template <typename T>
static T* upload(const std::vector<T>& v) {
  T* d;
  CUDA_CHECK(cudaMalloc(&d, v.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

int main(int argc, char** argv) {
  const int rows = argc > 1 ? atoi(argv[1]) : 70;
  const int hidden = argc > 2 ? atoi(argv[2]) : 2048;
  const int vocab = 1003;
  std::mt19937 gen(7);
  std::normal_distribution<float> dist(0.f, 1.f);
  auto noise = [&](size_t n) { std::vector<float> v(n); for (auto& e : v) e = dist(gen); return v; };

  auto hr = to_bf16(noise(rows * hidden)), hx = to_bf16(noise(rows * hidden)), hw = to_bf16(noise(hidden));
  bf16 *r = upload(hr), *x = upload(hx), *w = upload(hw), *y = upload(hr);
  launch_add_rmsnorm(r, x, w, y, rows, hidden);
  bf16 *w2 = upload(hw), *r2 = upload(hr), *y2 = upload(hr);
  launch_add_rmsnorm(r2, x, w2, y2, rows * hidden / 512, 512);

  // the normalised rows are read as [gate | up]
  const int half_pairs = hidden / 4;
  bf16* bias = upload(to_bf16(std::vector<float>(hidden, 0.25f)));
  bf16* act = upload(std::vector<bf16>(rows * hidden / 2));
  geglu_kernel<<<24, 192>>>((const bf162*)y, (const bf162*)bias, (bf162*)act, rows, half_pairs);
  bf16* act2 = upload(std::vector<bf16>(rows * hidden / 2));
  const int pairs = rows * hidden / 2;
  geglu_interleaved_kernel<<<(pairs + 255) / 256, 256>>>(y, act2, pairs);

  auto hl = noise(rows * vocab);
  std::vector<int> ht(rows);
  for (int i = 0; i < rows; ++i) ht[i] = (i * 131 + 7) % vocab;
  float* logits = upload(hl);
  int* target = upload(ht);
  float* loss = upload(std::vector<float>(rows));
  fused_xent_kernel<4><<<(rows + 3) / 4, 128>>>(logits, target, loss, rows, vocab, 1.f / rows);
  CUDA_CHECK(cudaDeviceSynchronize());

  std::vector<bf16> gy(rows * hidden), ga(pairs), ga2(pairs);
  std::vector<float> gl(rows), gg(rows * vocab);
  CUDA_CHECK(cudaMemcpy(gy.data(), y, gy.size() * 2, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(ga.data(), act, ga.size() * 2, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(ga2.data(), act2, ga2.size() * 2, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(gl.data(), loss, gl.size() * 4, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(gg.data(), logits, gg.size() * 4, cudaMemcpyDeviceToHost));
  double worst = 0;
  auto note = [&](double got, double want, double tol) { worst = fmax(worst, fabs(got - want) / (tol * (1 + fabs(want)))); };
  auto f = [](bf16 b) { return __bfloat162float(b); };
  auto gelu = [](double v) { return 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v))); };
  for (int i = 0; i < rows; ++i) {
    double ss = 0;
    for (int j = 0; j < hidden; ++j) { double v = f(hr[i * hidden + j]) + f(hx[i * hidden + j]); ss += v * v; }
    for (int j = 0; j < hidden; ++j) {
      double v = f(hr[i * hidden + j]) + f(hx[i * hidden + j]);
      note(f(gy[i * hidden + j]), v / sqrt(ss / hidden + 1e-5) * f(hw[j]), 0.02);
    }
    for (int j = 0; j < hidden / 2; ++j) {
      const double g = f(gy[i * hidden + j]) + 0.25, u = f(gy[i * hidden + hidden / 2 + j]) + 0.25;
      note(f(ga[i * hidden / 2 + j]), gelu(g) * u, 0.05);
      note(f(ga2[i * hidden / 2 + j]), gelu(f(gy[i * hidden + 2 * j])) * f(gy[i * hidden + 2 * j + 1]), 0.05);
    }
    double m = -1e30, s = 0;
    for (int j = 0; j < vocab; ++j) m = fmax(m, hl[i * vocab + j]);
    for (int j = 0; j < vocab; ++j) s += exp(hl[i * vocab + j] - m);
    note(gl[i], log(s) + m - hl[i * vocab + ht[i]], 1e-3);
    for (int j = 0; j < vocab; ++j)
      note(gg[i * vocab + j], (exp(hl[i * vocab + j] - m) / s - (j == ht[i])) / rows, 1e-3);
  }
  printf("worst error in tolerances: %.3f\n%s\n", worst, worst <= 1 ? "PASS" : "FAIL");
  return worst <= 1 ? 0 : 1;
}
