// W4A16 linear layer with AWQ-style storage:
//   qweight [K][N/8]  uint32, eight nibbles per word, column order 0 2 4 6 1 3 5 7
//   qzeros  [K/G][N/8] same packing
//   scales  [K/G][N]   half
// Pipeline: group min/max quantisation -> nibble packing -> GEMV (batch 1) and a
// tiled GEMM with half tiles in shared memory and float accumulation.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define GPU_CHECK(call) gpu_check((call), #call, __LINE__)
static void gpu_check(cudaError_t e, const char* what, int line) {
  if (e != cudaSuccess) {
    fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
    exit(1);
  }
}

constexpr int GROUP = 128;
constexpr int PACK = 8;
__device__ __constant__ int kPackOrder[PACK] = {0, 2, 4, 6, 1, 3, 5, 7};
static const int hPackOrder[PACK] = {0, 2, 4, 6, 1, 3, 5, 7};

struct alignas(16) Half8 {
  __half2 v[4];
};

// (w >> 4i) & 0x000f000f holds columns 2i and 2i+1; 0x6400 is 1024.0 in half, so
// or-ing a nibble into the mantissa and subtracting 1024 converts without cvt.
__device__ __forceinline__ Half8 unpack_u4x8(uint32_t w) {
  Half8 r;
  const __half2 bias = __float2half2_rn(1024.f);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t bits = ((w >> (4 * i)) & 0x000f000fu) | 0x64006400u;
    __half2 h;
    memcpy(&h, &bits, sizeof(h));
    r.v[i] = __hsub2(h, bias);
  }
  return r;
}

__device__ __forceinline__ Half8 dequant_word(uint32_t w, const Half8& zero, const Half8& scale) {
  Half8 q = unpack_u4x8(w);
#pragma unroll
  for (int i = 0; i < 4; ++i) q.v[i] = __hmul2(__hsub2(q.v[i], zero.v[i]), scale.v[i]);
  return q;
}

__host__ __device__ inline int clamp_u4(float v) {
  return static_cast<int>(fminf(fmaxf(v, 0.f), 15.f));
}

// one thread per (group, column); walks down the column, neighbours are adjacent
__global__ void quantize_groups(const __half* __restrict__ w, uint8_t* __restrict__ q,
                                __half* __restrict__ scales, uint8_t* __restrict__ zeros, int N) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  const int g = blockIdx.y;
  if (n >= N) return;
  const __half* col = w + static_cast<size_t>(g) * GROUP * N + n;
  float lo = 0.f, hi = 0.f;
  for (int k = 0; k < GROUP; ++k) {
    const float v = __half2float(col[static_cast<size_t>(k) * N]);
    lo = fminf(lo, v);
    hi = fmaxf(hi, v);
  }
  const __half sh = __float2half(fmaxf((hi - lo) / 15.f, 1e-4f));
  const float s = __half2float(sh);
  const int z = clamp_u4(rintf(-lo / s));
  scales[g * N + n] = sh;
  zeros[g * N + n] = static_cast<uint8_t>(z);
  uint8_t* qc = q + static_cast<size_t>(g) * GROUP * N + n;
  for (int k = 0; k < GROUP; ++k) {
    const float v = __half2float(col[static_cast<size_t>(k) * N]);
    qc[static_cast<size_t>(k) * N] = static_cast<uint8_t>(clamp_u4(rintf(v / s) + z));
  }
}

// eight bytes in, one word out
__global__ void pack_nibbles(const uint8_t* __restrict__ q, uint32_t* __restrict__ packed, int words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= words) return;
  const uint8_t* src = q + static_cast<size_t>(i) * PACK;
  uint32_t out = 0;
#pragma unroll
  for (int nib = 0; nib < PACK; ++nib) {
    const uint32_t v = src[kPackOrder[nib]];
    out |= v << (4 * nib);
  }
  packed[i] = out;
}

// dense W^T [N][K] for debugging: reads are coalesced, the writes are not
__global__ void dequant_transposed(const uint32_t* __restrict__ qweight, const uint32_t* __restrict__ qzeros,
                                   const __half* __restrict__ scales, __half* __restrict__ wt, int K, int N) {
  const int word = blockIdx.x * blockDim.x + threadIdx.x;
  const int k = blockIdx.y;
  const int words = N / PACK;
  if (word >= words) return;
  const int g = k / GROUP;
  const Half8 zero = unpack_u4x8(qzeros[g * words + word]);
  const Half8 scale = reinterpret_cast<const Half8*>(scales)[g * words + word];
  const Half8 v = dequant_word(qweight[k * words + word], zero, scale);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    wt[static_cast<size_t>(word * PACK + 2 * i) * K + k] = __low2half(v.v[i]);
    wt[static_cast<size_t>(word * PACK + 2 * i + 1) * K + k] = __high2half(v.v[i]);
  }
}

// y[N] += x[K] * W.  Block (64 words) x (4 slices), grid.y splits K by group.
constexpr int GV_X = 64, GV_Y = 4;
__global__ void __launch_bounds__(GV_X* GV_Y)
    gemv_w4(const __half* __restrict__ x, const uint32_t* __restrict__ qweight,
            const uint32_t* __restrict__ qzeros, const __half* __restrict__ scales, float* __restrict__ y, int N) {
  __shared__ float xs[GROUP];
  __shared__ float red[GV_Y][GV_X * PACK];
  const int words = N / PACK;
  const int word = blockIdx.x * GV_X + threadIdx.x;
  const int g = blockIdx.y;
  const int tid = threadIdx.y * GV_X + threadIdx.x;
  if (tid < GROUP) xs[tid] = __half2float(x[g * GROUP + tid]);
  __syncthreads();

  const Half8 zero = unpack_u4x8(qzeros[g * words + word]);
  const Half8 scale = reinterpret_cast<const Half8*>(scales)[g * words + word];
  float acc[PACK] = {};
#pragma unroll 4
  for (int kk = threadIdx.y; kk < GROUP; kk += GV_Y) {
    const uint32_t w = qweight[static_cast<size_t>(g * GROUP + kk) * words + word];
    const Half8 d = dequant_word(w, zero, scale);
    const float xv = xs[kk];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 f = __half22float2(d.v[i]);
      acc[2 * i] += xv * f.x;
      acc[2 * i + 1] += xv * f.y;
    }
  }
#pragma unroll
  for (int c = 0; c < PACK; ++c) red[threadIdx.y][threadIdx.x * PACK + c] = acc[c];
  __syncthreads();
  for (int c = tid; c < GV_X * PACK; c += GV_X * GV_Y) {
    float s = 0.f;
#pragma unroll
    for (int r = 0; r < GV_Y; ++r) s += red[r][c];
    atomicAdd(&y[blockIdx.x * GV_X * PACK + c], s);
  }
}

// C[M][N] = A[M][K] * W, 256 threads, BM x BN tile, 4x4 outputs per thread
template <int BM, int BN, int BK>
__global__ void __launch_bounds__(256)
    gemm_w4a16(const __half* __restrict__ A, const uint32_t* __restrict__ qweight,
               const uint32_t* __restrict__ qzeros, const __half* __restrict__ scales, __half* __restrict__ C,
               int M, int N, int K) {
  static_assert(BM == 64 && BN == 64 && BK == 32, "loader assumes 64x64x32");
  __shared__ __align__(16) __half As[BM][BK + 8];
  __shared__ __align__(16) __half Ws[BK][BN];
  const int tid = threadIdx.x;
  const int tx = tid % 16, ty = tid / 16;
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  const int words = N / PACK;

  const int a_row = tid / 4, a_col = (tid % 4) * 8;
  const int w_row = tid / 8, w_word = tid % 8;
  const __half* a_src = A + static_cast<size_t>(m0 + a_row) * K + a_col;
  const uint32_t* w_src = qweight + static_cast<size_t>(w_row) * words + n0 / PACK + w_word;

  float acc[4][4] = {};
  Half8 zero, scale;
  for (int k0 = 0; k0 < K; k0 += BK) {
    if (k0 % GROUP == 0) {
      const int off = (k0 / GROUP) * words + n0 / PACK + w_word;
      zero = unpack_u4x8(qzeros[off]);
      scale = reinterpret_cast<const Half8*>(scales)[off];
    }
    Half8 a{};
    if (m0 + a_row < M) a = *reinterpret_cast<const Half8*>(a_src + k0);
    *reinterpret_cast<Half8*>(&As[a_row][a_col]) = a;
    const Half8 d = dequant_word(w_src[static_cast<size_t>(k0) * words], zero, scale);
    *reinterpret_cast<Half8*>(&Ws[w_row][w_word * PACK]) = d;
    __syncthreads();

#pragma unroll 8
    for (int k = 0; k < BK; ++k) {
      float av[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) av[i] = __half2float(As[ty * 4 + i][k]);
      const __half2* wrow = reinterpret_cast<const __half2*>(&Ws[k][tx * 4]);
      const float2 b0 = __half22float2(wrow[0]);
      const float2 b1 = __half22float2(wrow[1]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        acc[i][0] = fmaf(av[i], b0.x, acc[i][0]);
        acc[i][1] = fmaf(av[i], b0.y, acc[i][1]);
        acc[i][2] = fmaf(av[i], b1.x, acc[i][2]);
        acc[i][3] = fmaf(av[i], b1.y, acc[i][3]);
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int m = m0 + ty * 4 + i;
    if (m < M) {
      __half2* dst = reinterpret_cast<__half2*>(C + static_cast<size_t>(m) * N + n0 + tx * 4);
      dst[0] = __floats2half2_rn(acc[i][0], acc[i][1]);
      dst[1] = __floats2half2_rn(acc[i][2], acc[i][3]);
    }
  }
}

template <typename T>
struct Dev {
  T* p;
  size_t n;
  explicit Dev(size_t count) : p(nullptr), n(count) { GPU_CHECK(cudaMalloc(&p, n * sizeof(T))); }
  ~Dev() { cudaFree(p); }
  Dev(const Dev&) = delete;
  void put(const std::vector<T>& h) { GPU_CHECK(cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  std::vector<T> get() const {
    std::vector<T> h(n);
    GPU_CHECK(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
};

int main(int argc, char** argv) {
  const int M = argc > 1 ? atoi(argv[1]) : 80;
  const int N = 1024, K = 1024;
  const int G = K / GROUP, W = N / PACK;

  std::mt19937 rng(31337);
  std::normal_distribution<float> nd;
  std::vector<__half> w(size_t(K) * N), a(size_t(M) * K);
  for (auto& e : w) e = __float2half(0.05f * nd(rng));
  for (auto& e : a) e = __float2half(nd(rng));

  Dev<__half> dw(w.size()), da(a.size()), dscale(size_t(G) * N), dwt(w.size()), dc(size_t(M) * N);
  Dev<uint8_t> dq(w.size()), dz(size_t(G) * N);
  Dev<uint32_t> dqw(size_t(K) * W), dqz(size_t(G) * W);
  Dev<float> dy(N);
  dw.put(w);
  da.put(a);
  GPU_CHECK(cudaMemset(dy.p, 0, N * sizeof(float)));

  quantize_groups<<<dim3(N / 128, G), 128>>>(dw.p, dq.p, dscale.p, dz.p, N);
  pack_nibbles<<<K * W / 256, 256>>>(dq.p, dqw.p, K * W);
  pack_nibbles<<<(G * W + 255) / 256, 256>>>(dz.p, dqz.p, G * W);
  dequant_transposed<<<dim3(W / 128, K), 128>>>(dqw.p, dqz.p, dscale.p, dwt.p, K, N);
  gemv_w4<<<dim3(W / GV_X, G), dim3(GV_X, GV_Y)>>>(da.p, dqw.p, dqz.p, dscale.p, dy.p, N);
  gemm_w4a16<64, 64, 32><<<dim3(N / 64, (M + 63) / 64), 256>>>(da.p, dqw.p, dqz.p, dscale.p, dc.p, M, N, K);
  GPU_CHECK(cudaGetLastError());
  GPU_CHECK(cudaDeviceSynchronize());

  const auto scale = dscale.get(), wt = dwt.get(), c = dc.get();
  const auto zero = dz.get(), q = dq.get();
  const auto qw = dqw.get();
  const auto y = dy.get();

  // quantisation and packing
  long qbad = 0, pbad = 0, tbad = 0;
  std::vector<float> wd(size_t(K) * N), af(a.size());
  for (int g = 0; g < G; ++g)
    for (int n = 0; n < N; ++n) {
      float lo = 0.f, hi = 0.f;
      for (int k = 0; k < GROUP; ++k) {
        const float v = __half2float(w[size_t(g * GROUP + k) * N + n]);
        lo = std::fmin(lo, v);
        hi = std::fmax(hi, v);
      }
      const float s = __half2float(__float2half(std::fmax((hi - lo) / 15.f, 1e-4f)));
      const int z = clamp_u4(std::rint(-lo / s));
      qbad += s != __half2float(scale[g * N + n]) || z != zero[g * N + n];
      for (int k = 0; k < GROUP; ++k) {
        const size_t i = size_t(g * GROUP + k) * N + n;
        qbad += clamp_u4(std::rint(__half2float(w[i]) / s) + z) != q[i];
        const __half d = __float2half((int(q[i]) - int(zero[g * N + n])) * __half2float(scale[g * N + n]));
        wd[i] = __half2float(d);
        tbad += wd[i] != __half2float(wt[size_t(n) * K + g * GROUP + k]);
      }
    }
  for (size_t i = 0; i < qw.size(); ++i)
    for (int nib = 0; nib < PACK; ++nib) pbad += ((qw[i] >> (4 * nib)) & 15u) != q[i * PACK + hPackOrder[nib]];

  // product
  for (size_t i = 0; i < a.size(); ++i) af[i] = __half2float(a[i]);
  double gemm_err = 0, gemv_err = 0;
  std::vector<float> row(N);
  for (int m = 0; m < M; ++m) {
    std::fill(row.begin(), row.end(), 0.f);
    for (int k = 0; k < K; ++k) {
      const float x = af[size_t(m) * K + k];
      const float* wr = &wd[size_t(k) * N];
      for (int n = 0; n < N; ++n) row[n] += x * wr[n];
    }
    for (int n = 0; n < N; ++n) {
      const double e = std::fabs(__half2float(c[size_t(m) * N + n]) - row[n]) / (1.0 + std::fabs(row[n]));
      if (!(e <= gemm_err)) gemm_err = e;
      const double e1 = m == 0 ? std::fabs(y[n] - row[n]) / (1.0 + std::fabs(row[n])) : 0.0;
      if (!(e1 <= gemv_err)) gemv_err = e1;
    }
  }
  printf("quant mismatches %ld, pack %ld, dequant %ld; gemv err %.2e, gemm err %.2e\n", qbad, pbad, tbad, gemv_err,
         gemm_err);
  const bool pass = qbad <= 16 && pbad == 0 && tbad == 0 && gemv_err < 1e-4 && gemm_err < 2e-3;
  printf(pass ? "PASS\n" : "FAIL\n");
  return pass ? 0 : 1;
}
