// Educational FlashAttention-2: tiled forward with online softmax, and the backward pass.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CUDA_ERROR_CHECK(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) { fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line); exit(1); }
}

struct Flash_params {
  const float *q, *k, *v;       // [B, H, N, d]
  float *o, *lse;               // lse: [B, H, N]
  const float *dout;
  float *dq, *dk, *dv, *delta;
  int B, H, N, d;
  float softmax_scale;
};

template <int kHeadDim_, int kBlockM_, int kBlockN_, int kNWarps_>
struct Flash_traits {
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kBlockM = kBlockM_;
  static constexpr int kBlockN = kBlockN_;
  static constexpr int kNWarps = kNWarps_;
  static constexpr int kNThreads = kNWarps * 32;
  static constexpr int kRowsPerWarp = kBlockM / kNWarps;
  static constexpr int kSmemStride = kHeadDim + 1;
  static constexpr int kSmemFwd = ((kBlockM + 2 * kBlockN) * kSmemStride + kBlockM * kBlockN) * sizeof(float);
  static_assert(kBlockN == 32, "one key per lane");
  static_assert(kBlockM % kNWarps == 0 && kHeadDim % 32 == 0, "bad tile");
};

struct MaxOp { __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); } };
struct SumOp { __device__ __forceinline__ float operator()(float a, float b) const { return a + b; } };
template <int THREADS> struct Allreduce {
  template <typename Op> static __device__ __forceinline__ float run(float x, Op op) {
    constexpr int OFFSET = THREADS / 2;
    x = op(x, __shfl_xor_sync(0xffffffffu, x, OFFSET));
    if constexpr (OFFSET > 1) return Allreduce<OFFSET>::run(x, op);
    else return x;
  }
};

template <typename Traits>
__device__ __forceinline__ void load_tile(float* s, const float* g, int row0, int rows, int n) {
  for (int i = threadIdx.x; i < rows * Traits::kHeadDim; i += Traits::kNThreads) {
    const int r = i / Traits::kHeadDim, c = i % Traits::kHeadDim;
    s[r * Traits::kSmemStride + c] = row0 + r < n ? g[(size_t)(row0 + r) * Traits::kHeadDim + c] : 0.f;
  }
}

template <typename Traits, bool Is_causal>
__global__ void __launch_bounds__(Traits::kNThreads) flash_fwd_kernel(const Flash_params params) {
  constexpr int d = Traits::kHeadDim, LD = Traits::kSmemStride, M = Traits::kBlockM, Nn = Traits::kBlockN, R = Traits::kRowsPerWarp;
  extern __shared__ float smem[];
  float* sQ = smem;
  float* sK = sQ + M * LD;
  float* sV = sK + Nn * LD;
  float* sP = sV + Nn * LD;

  const int m_block = blockIdx.x, bh = blockIdx.z * params.H + blockIdx.y, N = params.N;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const size_t base = (size_t)bh * N * d;

  load_tile<Traits>(sQ, params.q + base, m_block * M, M, N);

  float acc_o[R][d / 32], row_max[R], row_sum[R];
#pragma unroll
  for (int r = 0; r < R; r++) {
    row_max[r] = -INFINITY;
    row_sum[r] = 0.f;
#pragma unroll
    for (int c = 0; c < d / 32; c++) acc_o[r][c] = 0.f;
  }

  int n_block_max = CEIL_DIV(N, Nn);
  if (Is_causal) n_block_max = min(n_block_max, CEIL_DIV((m_block + 1) * M, Nn));
  for (int n_block = 0; n_block < n_block_max; n_block++) {
    __syncthreads();
    load_tile<Traits>(sK, params.k + base, n_block * Nn, Nn, N);
    load_tile<Traits>(sV, params.v + base, n_block * Nn, Nn, N);
    __syncthreads();
    const int col = n_block * Nn + lane;
#pragma unroll
    for (int r = 0; r < R; r++) {
      const int lrow = warp * R + r, row = m_block * M + lrow;
      float s = 0.f;
#pragma unroll 8
      for (int x = 0; x < d; x++) s += sQ[lrow * LD + x] * sK[lane * LD + x];
      s *= params.softmax_scale;
      if (col >= N || (Is_causal && col > row)) s = -INFINITY;
      const float m_new = fmaxf(row_max[r], Allreduce<32>::run(s, MaxOp()));
      const float m_use = m_new == -INFINITY ? 0.f : m_new;
      const float p = __expf(s - m_use);
      const float correction = __expf(row_max[r] - m_use);
      row_sum[r] = row_sum[r] * correction + Allreduce<32>::run(p, SumOp());
      row_max[r] = m_new;
      sP[lrow * Nn + lane] = p;
#pragma unroll
      for (int c = 0; c < d / 32; c++) acc_o[r][c] *= correction;
    }
    __syncwarp();
#pragma unroll 4
    for (int j = 0; j < Nn; j++) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        const float p = sP[(warp * R + r) * Nn + j];
#pragma unroll
        for (int c = 0; c < d / 32; c++) acc_o[r][c] += p * sV[j * LD + c * 32 + lane];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; r++) {
    const int row = m_block * M + warp * R + r;
    if (row >= N) break;
    const float inv_sum = row_sum[r] == 0.f ? 1.f : 1.f / row_sum[r];
#pragma unroll
    for (int c = 0; c < d / 32; c++) params.o[base + (size_t)row * d + c * 32 + lane] = acc_o[r][c] * inv_sum;
    if (lane == 0) params.lse[(size_t)bh * N + row] = row_max[r] + logf(row_sum[r]);
  }
}

// delta_i = sum_d dO_id * O_id, one warp per row
template <int kHeadDim>
__global__ void flash_bwd_dot_do_o_kernel(const Flash_params params, int total_rows) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= total_rows) return;
  float acc = 0.f;
#pragma unroll
  for (int c = lane; c < kHeadDim; c += 32) acc += params.dout[(size_t)row * kHeadDim + c] * params.o[(size_t)row * kHeadDim + c];
  acc = Allreduce<32>::run(acc, SumOp());
  if (lane == 0) params.delta[row] = acc;
}

// One block owns a tile of keys; loops over query rows. Each warp holds whole score rows.
template <typename Traits, bool Is_causal>
__global__ void __launch_bounds__(Traits::kNThreads) flash_bwd_kernel(const Flash_params params) {
  constexpr int d = Traits::kHeadDim, LD = Traits::kSmemStride, M = Traits::kBlockM, Nn = Traits::kBlockN, R = Traits::kRowsPerWarp;
  extern __shared__ float smem[];
  float* sK = smem;
  float* sV = sK + Nn * LD;
  float* sQ = sV + Nn * LD;
  float* sdO = sQ + M * LD;
  float* sP = sdO + M * LD;
  float* sdS = sP + M * Nn;

  const int n_block = blockIdx.x, bh = blockIdx.z * params.H + blockIdx.y, N = params.N;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const size_t base = (size_t)bh * N * d;
  load_tile<Traits>(sK, params.k + base, n_block * Nn, Nn, N);
  load_tile<Traits>(sV, params.v + base, n_block * Nn, Nn, N);

  constexpr int kPerThread = Nn * d / Traits::kNThreads;
  float acc_dk[kPerThread], acc_dv[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; i++) acc_dk[i] = acc_dv[i] = 0.f;

  const int m_start = Is_causal ? n_block * Nn / M : 0;
  for (int m_block = m_start; m_block < CEIL_DIV(N, M); m_block++) {
    __syncthreads();
    load_tile<Traits>(sQ, params.q + base, m_block * M, M, N);
    load_tile<Traits>(sdO, params.dout + base, m_block * M, M, N);
    __syncthreads();
    const int col = n_block * Nn + lane;
    for (int r = 0; r < R; r++) {
      const int lrow = warp * R + r, row = m_block * M + lrow;
      float s = 0.f, dp = 0.f;
#pragma unroll 8
      for (int x = 0; x < d; x++) {
        s += sQ[lrow * LD + x] * sK[lane * LD + x];
        dp += sdO[lrow * LD + x] * sV[lane * LD + x];
      }
      const bool valid = row < N && col < N && !(Is_causal && col > row);
      const float p = valid ? __expf(s * params.softmax_scale - params.lse[(size_t)bh * N + row]) : 0.f;
      sP[lrow * Nn + lane] = p;
      sdS[lrow * Nn + lane] = valid ? p * (dp - params.delta[(size_t)bh * N + row]) * params.softmax_scale : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPerThread; i++) {
      const int e = threadIdx.x + i * Traits::kNThreads, j = e / d, c = e % d;
      for (int m = 0; m < M; m++) {
        acc_dv[i] += sP[m * Nn + j] * sdO[m * LD + c];
        acc_dk[i] += sdS[m * Nn + j] * sQ[m * LD + c];
      }
    }
    for (int e = threadIdx.x; e < M * d; e += Traits::kNThreads) {
      const int m = e / d, c = e % d;
      if (m_block * M + m >= N) continue;
      float dq = 0.f;
#pragma unroll 8
      for (int j = 0; j < Nn; j++) dq += sdS[m * Nn + j] * sK[j * LD + c];
      atomicAdd(&params.dq[base + (size_t)(m_block * M + m) * d + c], dq);
    }
  }
#pragma unroll
  for (int i = 0; i < kPerThread; i++) {
    const int e = threadIdx.x + i * Traits::kNThreads, j = e / d, c = e % d;
    if (n_block * Nn + j >= N) continue;
    params.dk[base + (size_t)(n_block * Nn + j) * d + c] = acc_dk[i];
    params.dv[base + (size_t)(n_block * Nn + j) * d + c] = acc_dv[i];
  }
}

#define BOOL_SWITCH(COND, CONST_NAME, ...)      \
  [&] {                                         \
    if (COND) {                                 \
      constexpr static bool CONST_NAME = true;  \
      return __VA_ARGS__();                     \
    } else {                                    \
      constexpr static bool CONST_NAME = false; \
      return __VA_ARGS__();                     \
    }                                           \
  }()

template <typename Traits, bool Is_causal> void run_flash(Flash_params& p) {
  auto fwd = &flash_fwd_kernel<Traits, Is_causal>;
  CUDA_ERROR_CHECK(cudaFuncSetAttribute(fwd, cudaFuncAttributeMaxDynamicSharedMemorySize, Traits::kSmemFwd));
  fwd<<<dim3(CEIL_DIV(p.N, Traits::kBlockM), p.H, p.B), Traits::kNThreads, Traits::kSmemFwd>>>(p);
  CUDA_ERROR_CHECK(cudaGetLastError());
  const int rows = p.B * p.H * p.N;
  flash_bwd_dot_do_o_kernel<Traits::kHeadDim><<<CEIL_DIV(rows, 4), 128>>>(p, rows);
  CUDA_ERROR_CHECK(cudaGetLastError());
  using Bwd = Flash_traits<Traits::kHeadDim, 32, 32, 8>;
  constexpr int smem_bwd = ((2 * Bwd::kBlockN + 2 * Bwd::kBlockM) * Bwd::kSmemStride + 2 * Bwd::kBlockM * Bwd::kBlockN) * sizeof(float);
  auto bwd = &flash_bwd_kernel<Bwd, Is_causal>;
  CUDA_ERROR_CHECK(cudaFuncSetAttribute(bwd, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bwd));
  bwd<<<dim3(CEIL_DIV(p.N, Bwd::kBlockN), p.H, p.B), Bwd::kNThreads, smem_bwd>>>(p);
  CUDA_ERROR_CHECK(cudaGetLastError());
}

void run_mha(Flash_params& p, bool causal) {
  BOOL_SWITCH(causal, Is_causal, [&] {
    if (p.d == 32) run_flash<Flash_traits<32, 64, 32, 4>, Is_causal>(p);
    else if (p.d == 64) run_flash<Flash_traits<64, 64, 32, 8>, Is_causal>(p);
    else if (p.d == 128) run_flash<Flash_traits<128, 32, 32, 8>, Is_causal>(p);
    else { fprintf(stderr, "head dim %d not supported\n", p.d); exit(1); }
  });
}

void attention_ref(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v, const std::vector<float>& dout, std::vector<float>* out,
                   int BH, int N, int d, float scale, bool causal) {
  auto &o = out[0], &dq = out[1], &dk = out[2], &dv = out[3];
  std::vector<float> p(N), dp(N);
  for (int b = 0; b < BH; b++) {
    const size_t base = (size_t)b * N * d;
    for (int i = 0; i < N; i++) {
      const int lim = causal ? i + 1 : N;
      float m = -1e30f, sum = 0.f, delta = 0.f;
      for (int j = 0; j < lim; j++) {
        float s = 0.f, t = 0.f;
        for (int x = 0; x < d; x++) { s += q[base + i * d + x] * k[base + j * d + x]; t += dout[base + i * d + x] * v[base + j * d + x]; }
        p[j] = s * scale; dp[j] = t;
        m = std::max(m, p[j]);
      }
      for (int j = 0; j < lim; j++) sum += (p[j] = std::exp(p[j] - m));
      for (int j = 0; j < lim; j++) { p[j] /= sum; delta += p[j] * dp[j]; }
      for (int j = 0; j < lim; j++) {
        const float ds = p[j] * (dp[j] - delta) * scale;
        for (int x = 0; x < d; x++) {
          o[base + i * d + x] += p[j] * v[base + j * d + x];
          dq[base + i * d + x] += ds * k[base + j * d + x];
          dk[base + j * d + x] += ds * q[base + i * d + x];
          dv[base + j * d + x] += p[j] * dout[base + i * d + x];
        }
      }
    }
  }
}

bool test(int B, int H, int N, int d, bool causal, unsigned seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<float> dist;
  const size_t n = (size_t)B * H * N * d;
  std::vector<float> h[4];
  float* dev[10];
  for (int i = 0; i < 10; i++) {
    CUDA_ERROR_CHECK(cudaMalloc(&dev[i], n * sizeof(float)));
    CUDA_ERROR_CHECK(cudaMemset(dev[i], 0, n * sizeof(float)));
    if (i >= 4) continue;
    h[i].resize(n);
    for (auto& x : h[i]) x = dist(gen);
    CUDA_ERROR_CHECK(cudaMemcpy(dev[i], h[i].data(), n * sizeof(float), cudaMemcpyHostToDevice));
  }
  Flash_params p{dev[0], dev[1], dev[2], dev[4], dev[8], dev[3], dev[5], dev[6], dev[7], dev[9], B, H, N, d, 1.f / std::sqrt((float)d)};
  run_mha(p, causal);
  std::vector<float> ref[4];
  for (auto& r : ref) r.assign(n, 0.f);
  attention_ref(h[0], h[1], h[2], h[3], ref, B * H, N, d, p.softmax_scale, causal);
  bool ok = true;
  const char* names[4] = {"O", "dQ", "dK", "dV"};
  std::vector<float> got(n);
  for (int t = 0; t < 4; t++) {
    CUDA_ERROR_CHECK(cudaMemcpy(got.data(), dev[4 + t], n * sizeof(float), cudaMemcpyDeviceToHost));
    double err = 0;
    for (size_t i = 0; i < n; i++) { const double e = std::fabs(got[i] - ref[t][i]) / (1.0 + std::fabs(ref[t][i])); err = std::max(err, std::isfinite(e) ? e : 1e9); }
    printf("N=%d d=%d causal=%d %-2s max err %.2e\n", N, d, causal, names[t], err);
    ok &= err < 2e-3;
  }
  for (float* x : dev) CUDA_ERROR_CHECK(cudaFree(x));
  return ok;
}

int main() {
  bool ok = test(2, 4, 256, 64, false, 1);
  ok &= test(1, 4, 300, 64, true, 2);
  ok &= test(2, 3, 193, 32, true, 3);
  ok &= test(1, 2, 160, 128, false, 4);
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
