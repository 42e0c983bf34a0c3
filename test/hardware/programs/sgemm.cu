// C = alpha * A * B + beta * C, row major, fp32.
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

struct GemmParams {
  int m, n, k;
  float alpha, beta;
  const float* a;  // m x k
  const float* b;  // k x n   (or n x k for the transposed kernel)
  float* c;        // m x n
};

// Baseline with the row index on threadIdx.x.
__global__ void gemm_row_on_x(GemmParams p) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= p.m || col >= p.n) return;
  float acc = 0.f;
  for (int i = 0; i < p.k; ++i) acc += p.a[row * p.k + i] * p.b[i * p.n + col];
  p.c[row * p.n + col] = p.alpha * acc + p.beta * p.c[row * p.n + col];
}

// Textbook 32x32 tile, B given transposed (n x k).  kPad = 0 leaves the
// column walk over bs conflicted.
template <int kPad>
__global__ void gemm_tile32_bt(GemmParams p) {
  __shared__ float as[32][32];
  __shared__ float bs[32][32 + kPad];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 32 + ty, col0 = blockIdx.x * 32;
  float acc = 0.f;
  for (int k0 = 0; k0 < p.k; k0 += 32) {
    as[ty][tx] = p.a[row * p.k + k0 + tx];
    bs[ty][tx] = p.b[(col0 + ty) * p.k + k0 + tx];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i) acc += as[ty][i] * bs[tx][i];
    __syncthreads();
  }
  float* c = p.c + row * p.n + col0 + tx;
  *c = p.alpha * acc + p.beta * *c;
}

// Double-buffered BM x BN x BK tiles, TM x TN register tile per thread,
// float4 everywhere.  A is transposed on its way into shared memory.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 2)
    gemm_double_buffered(const GemmParams p) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  constexpr int kLoadsA = BM * BK / 4 / kThreads;
  constexpr int kLoadsB = BK * BN / 4 / kThreads;
  static_assert(kLoadsA >= 1 && kLoadsB >= 1 && TM % 4 == 0 && TN % 4 == 0);
  constexpr int kLdA = BM + 4;
  __shared__ __align__(16) float sa[2][BK][kLdA];
  __shared__ __align__(16) float sb[2][BK][BN];

  const int tid = threadIdx.x;
  const int tr = tid / (BN / TN), tc = tid % (BN / TN);
  const float* gA = p.a + size_t(blockIdx.y) * BM * p.k;
  const float* gB = p.b + size_t(blockIdx.x) * BN;

  float4 ra[kLoadsA], rb[kLoadsB];
  auto fetch = [&](int k0) {
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      const int v = tid + i * kThreads, r = v / (BK / 4), c = v % (BK / 4) * 4;
      ra[i] = *reinterpret_cast<const float4*>(gA + size_t(r) * p.k + k0 + c);
    }
#pragma unroll
    for (int i = 0; i < kLoadsB; ++i) {
      const int v = tid + i * kThreads, r = v / (BN / 4), c = v % (BN / 4) * 4;
      rb[i] = *reinterpret_cast<const float4*>(gB + size_t(k0 + r) * p.n + c);
    }
  };
  auto commit = [&](int buf) {
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      const int v = tid + i * kThreads, r = v / (BK / 4), c = v % (BK / 4) * 4;
      sa[buf][c + 0][r] = ra[i].x;
      sa[buf][c + 1][r] = ra[i].y;
      sa[buf][c + 2][r] = ra[i].z;
      sa[buf][c + 3][r] = ra[i].w;
    }
#pragma unroll
    for (int i = 0; i < kLoadsB; ++i) {
      const int v = tid + i * kThreads, r = v / (BN / 4), c = v % (BN / 4) * 4;
      *reinterpret_cast<float4*>(&sb[buf][r][c]) = rb[i];
    }
  };

  float acc[TM][TN] = {};
  fetch(0);
  commit(0);
  __syncthreads();

  int buf = 0;
  for (int k0 = 0; k0 < p.k; k0 += BK, buf ^= 1) {
    const bool more = k0 + BK < p.k;
    if (more) fetch(k0 + BK);
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float fa[TM], fb[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) {
        const float4 t = *reinterpret_cast<const float4*>(&sa[buf][kk][tr * TM + i]);
        fa[i] = t.x; fa[i + 1] = t.y; fa[i + 2] = t.z; fa[i + 3] = t.w;
      }
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const float4 t = *reinterpret_cast<const float4*>(&sb[buf][kk][tc * TN + j]);
        fb[j] = t.x; fb[j + 1] = t.y; fb[j + 2] = t.z; fb[j + 3] = t.w;
      }
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
    }
    if (more) commit(buf ^ 1);
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    float* row = p.c + size_t(blockIdx.y * BM + tr * TM + i) * p.n + blockIdx.x * BN + tc * TN;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      float4 c = *reinterpret_cast<float4*>(row + j);
      c.x = p.alpha * acc[i][j + 0] + p.beta * c.x;
      c.y = p.alpha * acc[i][j + 1] + p.beta * c.y;
      c.z = p.alpha * acc[i][j + 2] + p.beta * c.z;
      c.w = p.alpha * acc[i][j + 3] + p.beta * c.w;
      *reinterpret_cast<float4*>(row + j) = c;
    }
  }
}

static void orDie(cudaError_t e) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "CUDA failure: %s\n", cudaGetErrorString(e));
    std::exit(1);
  }
}

int main() {
  constexpr int M = 768, N = 1024, K = 512;
  std::mt19937 rng(7);
  auto fill = [&rng](std::vector<float>& v) {
    for (auto& x : v) x = float(rng() >> 8) / 16777216.0f - 0.5f;
  };
  std::vector<float> a(size_t(M) * K), b(size_t(K) * N), bt(b.size()), c0(size_t(M) * N), c(c0.size());
  fill(a); fill(b); fill(c0);
  for (int i = 0; i < K; ++i)
    for (int j = 0; j < N; ++j) bt[size_t(j) * K + i] = b[size_t(i) * N + j];

  float *da, *db, *dbt, *dc;
  orDie(cudaMalloc(&da, a.size() * 4));
  orDie(cudaMalloc(&db, b.size() * 4));
  orDie(cudaMalloc(&dbt, b.size() * 4));
  orDie(cudaMalloc(&dc, c.size() * 4));
  orDie(cudaMemcpy(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
  orDie(cudaMemcpy(db, b.data(), b.size() * 4, cudaMemcpyHostToDevice));
  orDie(cudaMemcpy(dbt, bt.data(), b.size() * 4, cudaMemcpyHostToDevice));
  const GemmParams normal{M, N, K, 1.25f, -0.5f, da, db, dc};
  GemmParams trans = normal;
  trans.b = dbt;

  bool pass = true;
  auto trial = [&](const char* name, auto&& launch) {
    orDie(cudaMemcpy(dc, c0.data(), c0.size() * 4, cudaMemcpyHostToDevice));
    launch();
    orDie(cudaGetLastError());
    orDie(cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (size_t e = 0; e < c.size(); e += 101) {
      const size_t i = e / N, j = e % N;
      double ref = 0;
      for (int k = 0; k < K; ++k) ref += double(a[i * K + k]) * bt[j * K + k];
      ref = normal.alpha * ref + normal.beta * c0[e];
      const double err = std::fabs(ref - c[e]);
      if (!(err <= worst)) worst = err;
    }
    std::printf("%-22s max err %.2e\n", name, worst);
    pass = pass && worst < 1e-3;
  };

  trial("row on x", [&] { gemm_row_on_x<<<dim3(M / 32, N / 8), dim3(32, 8)>>>(normal); });
  trial("tile32 B^T, no pad", [&] { gemm_tile32_bt<0><<<dim3(N / 32, M / 32), dim3(32, 32)>>>(trans); });
  trial("tile32 B^T, padded", [&] { gemm_tile32_bt<1><<<dim3(N / 32, M / 32), dim3(32, 32)>>>(trans); });
  trial("double buffered", [&] {
    constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;
    gemm_double_buffered<BM, BN, BK, TM, TN><<<dim3(N / BN, M / BM), (BM / TM) * (BN / TN)>>>(normal);
  });

  for (float* p : {da, db, dbt, dc}) cudaFree(p);
  std::puts(pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
