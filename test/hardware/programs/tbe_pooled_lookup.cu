// Table-batched embedding: several tables of different height and width live in one flat weight buffer,
// a jagged (offsets, indices) input per (table, sample) bag, forward sum/mean pooling with optional per-sample
// weights, then a backward pass with the row-wise Adagrad update fused in (indices linearised and sorted on the host).
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#define CUDA_KERNEL_CHECK() cuda_ok(cudaGetLastError(), __FILE__, __LINE__)
#define CUDA_OK(x) cuda_ok((x), __FILE__, __LINE__)
static void cuda_ok(cudaError_t e, const char* f, int l) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s:%d %s\n", f, l, cudaGetErrorString(e));
  std::exit(1);
}

enum class PoolingMode : int { SUM = 0, MEAN = 1 };

template <typename T>
struct PackedAccessor1D {
  T* p;
  int64_t n;
  __host__ __device__ __forceinline__ T& operator[](int64_t i) const { return p[i]; }
  __host__ __device__ __forceinline__ int64_t size() const { return n; }
};

struct Vec4 {
  float4 acc;
  __device__ __forceinline__ Vec4() { acc = make_float4(0.f, 0.f, 0.f, 0.f); }
  __device__ __forceinline__ explicit Vec4(const float* p) { acc = *reinterpret_cast<const float4*>(p); }
  __device__ __forceinline__ void fma_(const Vec4& a, float w) {
    acc.x = fmaf(a.acc.x, w, acc.x);
    acc.y = fmaf(a.acc.y, w, acc.y);
    acc.z = fmaf(a.acc.z, w, acc.z);
    acc.w = fmaf(a.acc.w, w, acc.w);
  }
  __device__ __forceinline__ void scale_(float s) { acc.x *= s; acc.y *= s; acc.z *= s; acc.w *= s; }
  __device__ __forceinline__ float sumsq() const {
    return acc.x * acc.x + acc.y * acc.y + acc.z * acc.z + acc.w * acc.w;
  }
  __device__ __forceinline__ void store(float* p) const { *reinterpret_cast<float4*>(p) = acc; }
};

// One warp (threadIdx.y) per bag; bag id is t * B + b. Indices of 32 entries are read by the warp at a time
// and broadcast, so that the row gathers are independent of the index loads.
template <bool kWeighted>
__global__ __launch_bounds__(256) void tbe_forward_kernel(
    const PackedAccessor1D<const float> dev_weights, const PackedAccessor1D<const int64_t> weights_offsets,
    const PackedAccessor1D<const int32_t> D_offsets, const PackedAccessor1D<const int64_t> indices,
    const PackedAccessor1D<const int64_t> offsets, const float* __restrict__ indice_weights,
    PackedAccessor1D<float> output, int32_t B, int32_t T, PoolingMode mode) {
  const int32_t b_t = blockIdx.x * blockDim.y + threadIdx.y;
  if (b_t >= B * T) return;
  const int32_t t = b_t / B;
  const int32_t b = b_t % B;
  const int32_t D_start = D_offsets[t];
  const int32_t D = D_offsets[t + 1] - D_start;
  const int32_t total_D = D_offsets[T];
  const int64_t begin = offsets[b_t];
  const int32_t L = static_cast<int32_t>(offsets[b_t + 1] - begin);
  const float* weights = &dev_weights[weights_offsets[t]];

  Vec4 accumulators[2];
  for (int32_t l0 = 0; l0 < L; l0 += 32) {
    const int32_t l = l0 + threadIdx.x;
    const int64_t idx = l < L ? indices[begin + l] : 0;
    const float iw = (kWeighted && l < L) ? indice_weights[begin + l] : 1.f;
    const int32_t n = min(32, L - l0);
    for (int32_t j = 0; j < n; ++j) {
      const int64_t row = __shfl_sync(0xffffffffu, idx, j);
      const float w = __shfl_sync(0xffffffffu, iw, j);
#pragma unroll
      for (int32_t i = 0; i < 2; ++i) {
        const int32_t d = (i * 32 + threadIdx.x) * 4;
        if (d < D) accumulators[i].fma_(Vec4(weights + row * D + d), w);
      }
    }
  }
  const float inv = (mode == PoolingMode::MEAN && L > 0) ? 1.f / L : 1.f;
#pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    const int32_t d = (i * 32 + threadIdx.x) * 4;
    if (d < D) {
      accumulators[i].scale_(inv);
      accumulators[i].store(&output[(int64_t)b * total_D + D_start + d]);
    }
  }
}

struct RunInfo {  // bag that a sorted entry came from, and the entry's weight
  int32_t b_t;
  float weight;
};

// One warp per distinct (table,row): sum the gradients of all bags that touched it, row-wise Adagrad on the spot.
__global__ __launch_bounds__(128) void tbe_backward_rowwise_adagrad_kernel(
    PackedAccessor1D<float> dev_weights, PackedAccessor1D<float> momentum, const float* __restrict__ grad_output,
    const int64_t* __restrict__ weights_offsets, const int64_t* __restrict__ rows_cumsum,
    const int32_t* __restrict__ D_offsets, const int64_t* __restrict__ run_linear, const int32_t* __restrict__ run_start,
    const RunInfo* __restrict__ infos, int32_t num_runs, int32_t B, int32_t T, float lr, float eps) {
  const int32_t run = blockIdx.x * blockDim.y + threadIdx.y;
  if (run >= num_runs) return;
  const int64_t linear = run_linear[run];
  int32_t t = 0;
  while (linear >= rows_cumsum[t + 1]) ++t;
  const int64_t row = linear - rows_cumsum[t];
  const int32_t D_start = D_offsets[t], D = D_offsets[t + 1] - D_start, total_D = D_offsets[T];

  Vec4 grad[2];
  for (int32_t s = run_start[run]; s < run_start[run + 1]; ++s) {
    const RunInfo info = infos[s];
    const float* g = grad_output + (int64_t)(info.b_t % B) * total_D + D_start;
#pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      const int32_t d = (i * 32 + threadIdx.x) * 4;
      if (d < D) grad[i].fma_(Vec4(g + d), info.weight);
    }
  }
  float local = grad[0].sumsq() + grad[1].sumsq();
  for (int32_t m = 16; m > 0; m >>= 1) local += __shfl_xor_sync(0xffffffffu, local, m);
  float step = 0.f;
  if (threadIdx.x == 0) {
    const float v = momentum[linear] + local / D;
    momentum[linear] = v;
    step = lr / (sqrtf(v) + eps);
  }
  step = __shfl_sync(0xffffffffu, step, 0);
  float* w = &dev_weights[weights_offsets[t] + row * D];
#pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    const int32_t d = (i * 32 + threadIdx.x) * 4;
    if (d < D) {
      Vec4 cur(w + d);
      cur.fma_(grad[i], -step);
      cur.store(w + d);
    }
  }
}

template <typename T>
std::shared_ptr<T> to_device(const std::vector<T>& v) {
  T* p = nullptr;
  CUDA_OK(cudaMalloc(&p, std::max<size_t>(v.size(), 1) * sizeof(T)));
  CUDA_OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return std::shared_ptr<T>(p, [](T* q) { cudaFree(q); });
}

int main() {
  const int32_t T = 5, B = 384;
  const int64_t E[T] = {4000, 120, 900, 20000, 33};
  const int32_t Dim[T] = {64, 32, 128, 16, 256};
  std::vector<int64_t> w_off(T + 1, 0), rows_cum(T + 1, 0);
  std::vector<int32_t> d_off(T + 1, 0);
  for (int32_t t = 0; t < T; ++t) {
    w_off[t + 1] = w_off[t] + E[t] * Dim[t];
    rows_cum[t + 1] = rows_cum[t] + E[t];
    d_off[t + 1] = d_off[t] + Dim[t];
  }
  std::mt19937_64 gen(77);
  std::uniform_real_distribution<float> uni(-0.5f, 0.5f);
  std::vector<float> weights(w_off[T]), moment(rows_cum[T], 0.01f);
  for (auto& v : weights) v = uni(gen);
  std::vector<int64_t> offsets{0}, indices;
  std::vector<float> iw;
  for (int32_t t = 0; t < T; ++t) {
    std::geometric_distribution<int> len(t == 1 ? 0.03 : 0.12);
    for (int32_t b = 0; b < B; ++b) {
      const int L = len(gen);
      for (int l = 0; l < L; ++l) {  // power-law popularity
        const double u = std::uniform_real_distribution<double>(0, 1)(gen);
        indices.push_back(std::min<int64_t>(E[t] - 1, (int64_t)(std::pow(u, 3.0) * E[t])));
        iw.push_back(0.5f + uni(gen));
      }
      offsets.push_back((int64_t)indices.size());
    }
  }
  const int64_t total_D = d_off[T];
  std::vector<float> grad_out((size_t)B * total_D);
  for (auto& g : grad_out) g = uni(gen);

  // sort by linear row
  std::vector<int32_t> perm(indices.size()), bag(indices.size());
  for (int32_t b_t = 0; b_t < B * T; ++b_t)
    for (int64_t i = offsets[b_t]; i < offsets[b_t + 1]; ++i) bag[i] = b_t, perm[i] = (int32_t)i;
  auto linear = [&](int32_t i) { return rows_cum[bag[i] / B] + indices[i]; };
  std::stable_sort(perm.begin(), perm.end(), [&](int32_t a, int32_t c) { return linear(a) < linear(c); });
  std::vector<int64_t> run_linear;
  std::vector<int32_t> run_start;
  std::vector<RunInfo> infos;
  for (int32_t p : perm) {
    if (run_linear.empty() || run_linear.back() != linear(p)) {
      run_linear.push_back(linear(p));
      run_start.push_back((int32_t)infos.size());
    }
    infos.push_back({bag[p], iw[p]});
  }
  run_start.push_back((int32_t)infos.size());
  const int32_t num_runs = (int32_t)run_linear.size();

  auto dw = to_device(weights), dm = to_device(moment), diw = to_device(iw), dgo = to_device(grad_out);
  auto dwo = to_device(w_off), drc = to_device(rows_cum), didx = to_device(indices), doff = to_device(offsets);
  auto ddo = to_device(d_off), drs = to_device(run_start);
  auto drl = to_device(run_linear);
  auto dinf = to_device(infos);
  auto out_w = to_device(std::vector<float>(B * total_D, -7.f)), out_m = to_device(std::vector<float>(B * total_D, -7.f));

  const dim3 fwd_block(32, 8);
  const int fwd_grid = (B * T + 7) / 8;
  PackedAccessor1D<const float> aw{dw.get(), w_off[T]};
  PackedAccessor1D<const int64_t> awo{dwo.get(), T + 1}, ai{didx.get(), (int64_t)indices.size()}, ao{doff.get(), B * T + 1};
  PackedAccessor1D<const int32_t> ad{ddo.get(), T + 1};
  tbe_forward_kernel<true><<<fwd_grid, fwd_block>>>(aw, awo, ad, ai, ao, diw.get(),
                                                    PackedAccessor1D<float>{out_w.get(), B * total_D}, B, T, PoolingMode::SUM);
  CUDA_KERNEL_CHECK();
  tbe_forward_kernel<false><<<fwd_grid, fwd_block>>>(aw, awo, ad, ai, ao, nullptr,
                                                     PackedAccessor1D<float>{out_m.get(), B * total_D}, B, T, PoolingMode::MEAN);
  CUDA_KERNEL_CHECK();
  std::vector<float> got_w(B * total_D), got_m(B * total_D), got_weights(weights.size()), got_mom(moment.size());
  CUDA_OK(cudaMemcpy(got_w.data(), out_w.get(), got_w.size() * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(got_m.data(), out_m.get(), got_m.size() * 4, cudaMemcpyDeviceToHost));
  const float lr = 0.05f, eps = 1e-6f;
  tbe_backward_rowwise_adagrad_kernel<<<(num_runs + 3) / 4, dim3(32, 4)>>>(
      PackedAccessor1D<float>{dw.get(), w_off[T]}, PackedAccessor1D<float>{dm.get(), rows_cum[T]}, dgo.get(), dwo.get(),
      drc.get(), ddo.get(), drl.get(), drs.get(), dinf.get(), num_runs, B, T, lr, eps);
  CUDA_KERNEL_CHECK();
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaMemcpy(got_weights.data(), dw.get(), weights.size() * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(got_mom.data(), dm.get(), moment.size() * 4, cudaMemcpyDeviceToHost));

  double e_fwd = 0, e_bwd = 0;
  for (int32_t b_t = 0; b_t < B * T; ++b_t) {
    const int32_t t = b_t / B, b = b_t % B, D = Dim[t];
    const int64_t lo = offsets[b_t], hi = offsets[b_t + 1];
    for (int32_t d = 0; d < D; ++d) {
      double s = 0, sw = 0;
      for (int64_t i = lo; i < hi; ++i) {
        const double v = weights[w_off[t] + indices[i] * D + d];
        s += v;
        sw += v * iw[i];
      }
      if (hi > lo) s /= (double)(hi - lo);
      e_fwd = std::max({e_fwd, std::abs(sw - got_w[b * total_D + d_off[t] + d]), std::abs(s - got_m[b * total_D + d_off[t] + d])});
    }
  }
  std::vector<float> ref_w = weights, ref_m = moment;
  for (int32_t r = 0; r < num_runs; ++r) {
    const int32_t t = infos[run_start[r]].b_t / B, D = Dim[t];
    std::vector<double> g(D, 0.0);
    for (int32_t s = run_start[r]; s < run_start[r + 1]; ++s)
      for (int32_t d = 0; d < D; ++d) g[d] += infos[s].weight * grad_out[(infos[s].b_t % B) * total_D + d_off[t] + d];
    double sq = 0;
    for (double v : g) sq += v * v;
    ref_m[run_linear[r]] += (float)(sq / D);
    const double step = lr / (std::sqrt((double)ref_m[run_linear[r]]) + eps);
    for (int32_t d = 0; d < D; ++d) ref_w[w_off[t] + (run_linear[r] - rows_cum[t]) * D + d] -= (float)(step * g[d]);
  }
  for (size_t i = 0; i < ref_w.size(); ++i) e_bwd = std::max(e_bwd, (double)std::abs(ref_w[i] - got_weights[i]));
  for (size_t i = 0; i < ref_m.size(); ++i)
    e_bwd = std::max(e_bwd, (double)std::abs(ref_m[i] - got_mom[i]) / (1.0 + std::abs(ref_m[i])));
  const bool ok = e_fwd < 1e-4 && e_bwd < 1e-4;
  printf("bags %d, lookups %zu, distinct rows %d, err fwd %.2e bwd %.2e\n", B * T, indices.size(), num_runs, e_fwd, e_bwd);
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
