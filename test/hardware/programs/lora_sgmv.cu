// Batched LoRA for multi-tenant serving: y += scale * (x A_i) B_i, where rows are grouped in segments.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace punica {

using bf16 = __nv_bfloat16;

template <typename T, int N>
struct alignas(sizeof(T) * N) Vec {
  T v[N];
};

struct SgmvParams {
  const bf16* const* a_ptrs;   // [num_lora] -> [rank, h_in]
  const bf16* const* b_ptrs;   // [num_lora] -> [h_out, rank]
  const int* seg_starts;       // [num_seg + 1]
  const int* seg_lora;         // [num_seg]
  int num_seg;
  int h_in;
  int h_out;
  float scale;
};

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}

// shrink: one block per (segment, rank index chunk); a warp per (row, r)
template <int kRank, int kVec>
__global__ void sgmv_shrink(SgmvParams p, const bf16* __restrict__ x, float* __restrict__ tmp) {
  const int seg = blockIdx.y;
  const int r = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int lo = p.seg_starts[seg];
  const int hi = p.seg_starts[seg + 1];
  const bf16* a = p.a_ptrs[p.seg_lora[seg]] + static_cast<size_t>(r) * p.h_in;
  for (int row = lo + warp; row < hi; row += blockDim.x / 32) {
    float acc = 0.f;
    for (int k = lane * kVec; k < p.h_in; k += 32 * kVec) {
      const auto xv = *reinterpret_cast<const Vec<bf16, kVec>*>(x + static_cast<size_t>(row) * p.h_in + k);
      const auto av = *reinterpret_cast<const Vec<bf16, kVec>*>(a + k);
#pragma unroll
      for (int j = 0; j < kVec; ++j) acc += __bfloat162float(xv.v[j]) * __bfloat162float(av.v[j]);
    }
    acc = warp_sum(acc);
    if (lane == 0) tmp[row * kRank + r] = acc;
  }
}

// expand: a thread per output column; B_i is [h_out, rank], read one row a thread
template <int kRank>
__global__ void sgmv_expand(SgmvParams p, const float* __restrict__ tmp, bf16* __restrict__ y) {
  __shared__ float s_tmp[8][kRank];
  const int seg = blockIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int lo = p.seg_starts[seg];
  const int hi = p.seg_starts[seg + 1];
  const bf16* b = p.b_ptrs[p.seg_lora[seg]] + static_cast<size_t>(col) * kRank;
  float breg[kRank];
#pragma unroll
  for (int r = 0; r < kRank; ++r) breg[r] = __bfloat162float(b[r]);
  for (int base = lo; base < hi; base += 8) {
    const int n = min(8, hi - base);
    for (int e = threadIdx.x; e < n * kRank; e += blockDim.x) s_tmp[e / kRank][e % kRank] = tmp[base * kRank + e];
    __syncthreads();
    for (int i = 0; i < n; ++i) {
      float acc = 0.f;
#pragma unroll
      for (int r = 0; r < kRank; ++r) acc += s_tmp[i][r] * breg[r];
      const size_t o = static_cast<size_t>(base + i) * p.h_out + col;
      y[o] = __float2bfloat16(__bfloat162float(y[o]) + p.scale * acc);
    }
    __syncthreads();
  }
}

// decode path: no segments, row -> lora map, one block a row does both halves (BGMV)
template <int kRank>
__global__ void bgmv_fused(SgmvParams p, const int* __restrict__ row_lora, const bf16* __restrict__ x,
                           bf16* __restrict__ y) {
  extern __shared__ float smem[];
  float* s_x = smem;
  float* s_r = smem + p.h_in;
  const int row = blockIdx.x;
  const int id = row_lora[row];
  for (int k = threadIdx.x; k < p.h_in; k += blockDim.x)
    s_x[k] = __bfloat162float(x[static_cast<size_t>(row) * p.h_in + k]);
  __syncthreads();
  const int warp = threadIdx.x >> 5;
  const int lane = threadIdx.x & 31;
  for (int r = warp; r < kRank; r += blockDim.x >> 5) {
    const bf16* a = p.a_ptrs[id] + static_cast<size_t>(r) * p.h_in;
    float acc = 0.f;
    for (int k = lane; k < p.h_in; k += 32) acc += s_x[k] * __bfloat162float(a[k]);
    acc = warp_sum(acc);
    if (lane == 0) s_r[r] = acc;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < p.h_out; c += blockDim.x) {
    const auto* b = reinterpret_cast<const Vec<bf16, 8>*>(p.b_ptrs[id] + static_cast<size_t>(c) * kRank);
    float acc = 0.f;
#pragma unroll
    for (int q = 0; q < kRank / 8; ++q) {
      const Vec<bf16, 8> bv = b[q];
#pragma unroll
      for (int j = 0; j < 8; ++j) acc += s_r[q * 8 + j] * __bfloat162float(bv.v[j]);
    }
    y[static_cast<size_t>(row) * p.h_out + c] = __float2bfloat16(p.scale * acc);
  }
}

// merge an adapter into a base weight: W[o][i] += scale * sum_r B[o][r] A[r][i]
template <int kRank>
__global__ void merge_weight(bf16* __restrict__ w, const bf16* __restrict__ a, const bf16* __restrict__ b, int h_in,
                             float scale) {
  __shared__ bf16 s_a[kRank][64];
  __shared__ bf16 s_b[16][kRank];
  const int i0 = blockIdx.x * 64;
  const int o0 = blockIdx.y * 16;
  const int t = threadIdx.y * 32 + threadIdx.x;
  for (int e = t; e < kRank * 64; e += 256) s_a[e / 64][e % 64] = a[static_cast<size_t>(e / 64) * h_in + i0 + e % 64];
  for (int e = t; e < 16 * kRank; e += 256) s_b[e / kRank][e % kRank] = b[static_cast<size_t>(o0) * kRank + e];
  __syncthreads();
  for (int o = threadIdx.y; o < 16; o += 8) {
    float2 acc = make_float2(0.f, 0.f);
    for (int r = 0; r < kRank; ++r) {
      const float2 av = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&s_a[r][2 * threadIdx.x]));
      const float bv = __bfloat162float(s_b[o][r]);
      acc.x += av.x * bv;
      acc.y += av.y * bv;
    }
    auto* dst = reinterpret_cast<__nv_bfloat162*>(w + static_cast<size_t>(o0 + o) * h_in + i0) + threadIdx.x;
    const float2 old = __bfloat1622float2(*dst);
    *dst = __floats2bfloat162_rn(old.x + scale * acc.x, old.y + scale * acc.y);
  }
}

}  // namespace punica

#define PCHECK(expr)                                                   \
  if (cudaError_t err = (expr); err != cudaSuccess) {                  \
    std::fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(err)); \
    std::exit(EXIT_FAILURE);                                           \
  }

int main() {
  using namespace punica;
  constexpr int kRank = 16;
  const int num_lora = 6, h_in = 1024, h_out = 768, rows = 96;
  const std::vector<int> starts = {0, 1, 9, 30, 31, 64, 80, 96};
  const std::vector<int> seg_lora = {3, 0, 5, 1, 3, 2, 4};
  const int num_seg = static_cast<int>(seg_lora.size());

  std::mt19937 gen(7);
  std::normal_distribution<float> nd(0.f, 1.f);
  auto fill = [&](std::vector<bf16>& v, float s) {
    for (auto& e : v) e = __float2bfloat16(nd(gen) * s);
  };
  std::vector<bf16> a(num_lora * kRank * h_in), b(num_lora * h_out * kRank), x(rows * h_in), y0(rows * h_out), w(h_out * h_in);
  fill(a, 0.03f);
  fill(b, 0.25f);
  fill(x, 1.f);
  fill(y0, 1.f);
  fill(w, 0.1f);
  std::vector<int> row_lora(rows);
  for (int s = 0; s < num_seg; ++s)
    for (int r = starts[s]; r < starts[s + 1]; ++r) row_lora[r] = seg_lora[s];

  auto up = [](const auto& h) {
    typename std::decay_t<decltype(h)>::value_type* d = nullptr;
    PCHECK(cudaMalloc(&d, h.size() * sizeof(h[0])));
    PCHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(h[0]), cudaMemcpyHostToDevice));
    return d;
  };
  bf16 *d_a = up(a), *d_b = up(b), *d_x = up(x), *d_y = up(y0), *d_y2 = up(y0), *d_w = up(w);
  int *d_starts = up(starts), *d_seg = up(seg_lora), *d_row = up(row_lora);
  std::vector<const bf16*> ap, bp;
  for (int i = 0; i < num_lora; ++i) {
    ap.push_back(d_a + i * kRank * h_in);
    bp.push_back(d_b + i * h_out * kRank);
  }
  const bf16** d_ap = up(ap);
  const bf16** d_bp = up(bp);
  float* d_tmp;
  PCHECK(cudaMalloc(&d_tmp, rows * kRank * sizeof(float)));

  SgmvParams p{d_ap, d_bp, d_starts, d_seg, num_seg, h_in, h_out, 0.5f};
  cudaStream_t s0, s1;
  PCHECK(cudaStreamCreate(&s0));
  PCHECK(cudaStreamCreate(&s1));
  sgmv_shrink<kRank, 8><<<dim3(kRank, num_seg), 128, 0, s0>>>(p, d_x, d_tmp);
  sgmv_expand<kRank><<<dim3(h_out / 128, num_seg), 128, 0, s0>>>(p, d_tmp, d_y);
  bgmv_fused<kRank><<<rows, 256, (h_in + kRank) * sizeof(float), s1>>>(p, d_row, d_x, d_y2);
  merge_weight<kRank><<<dim3(h_in / 64, h_out / 16), dim3(32, 8), 0, s1>>>(d_w, ap[2], bp[2], h_in, 0.5f);
  PCHECK(cudaGetLastError());
  PCHECK(cudaDeviceSynchronize());

  std::vector<bf16> y(rows * h_out), y2(rows * h_out), w2(h_out * h_in);
  PCHECK(cudaMemcpy(y.data(), d_y, y.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
  PCHECK(cudaMemcpy(y2.data(), d_y2, y2.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
  PCHECK(cudaMemcpy(w2.data(), d_w, w2.size() * sizeof(bf16), cudaMemcpyDeviceToHost));

  auto f = [](bf16 v) { return static_cast<double>(__bfloat162float(v)); };
  double worst = 0;
  auto cmp = [&](double ref, bf16 got) {
    const double e = std::fabs(ref - f(got)) / (1.0 + std::fabs(ref));
    if (!(e <= worst)) worst = e;
  };
  for (int r = 0; r < rows; ++r) {
    const int id = row_lora[r];
    double t[kRank];
    for (int j = 0; j < kRank; ++j) {
      t[j] = 0;
      for (int k = 0; k < h_in; ++k) t[j] += f(x[r * h_in + k]) * f(a[(id * kRank + j) * h_in + k]);
    }
    for (int c = 0; c < h_out; ++c) {
      double acc = 0;
      for (int j = 0; j < kRank; ++j) acc += t[j] * f(b[(id * h_out + c) * kRank + j]);
      cmp(f(y0[r * h_out + c]) + 0.5 * acc, y[r * h_out + c]);
      cmp(0.5 * acc, y2[r * h_out + c]);
    }
  }
  for (int o = 0; o < h_out; o += 5)
    for (int i = 0; i < h_in; ++i) {
      double acc = 0;
      for (int j = 0; j < kRank; ++j) acc += f(b[(2 * h_out + o) * kRank + j]) * f(a[(2 * kRank + j) * h_in + i]);
      cmp(f(w[o * h_in + i]) + 0.5 * acc, w2[o * h_in + i]);
    }
  std::printf("worst relative error %.4g\n", worst);
  const bool ok = worst < 0.01;
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
