// Attention forward pieces: QK^T scores, row softmax (one pass, online), and a fused flash-like kernel.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace cg = cooperative_groups;

constexpr int kHeads = 8, kSeq = 512, kDim = 64;
constexpr float kScale = 0.125f;

// scores[h][i][j] = scale * q_i . k_j ; 16x16 outputs per block, half2 tiles without padding
__global__ void qk_scores(const __half2* __restrict__ q, const __half2* __restrict__ k, float* __restrict__ s) {
  constexpr int D2 = kDim / 2;
  __shared__ __half2 qs[16][D2];
  __shared__ __half2 ks[16][D2];
  const int h = blockIdx.z, i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
  const int tx = threadIdx.x, ty = threadIdx.y;
  for (int c = tx; c < D2; c += 16) {
    qs[ty][c] = q[(h * kSeq + i0 + ty) * D2 + c];
    ks[ty][c] = k[(h * kSeq + j0 + ty) * D2 + c];
  }
  __syncthreads();
  float acc = 0.f;
#pragma unroll 8
  for (int c = 0; c < D2; ++c) {
    const float2 a = __half22float2(qs[ty][c]);
    const float2 b = __half22float2(ks[tx][c]);   // lanes 32 words apart
    acc += a.x * b.x + a.y * b.y;
  }
  s[(h * kSeq + i0 + ty) * kSeq + j0 + tx] = acc * kScale;
}

// one warp per row, running (max, sum) pair per lane merged at the end
__global__ void __launch_bounds__(128) softmax_rows_online(float* __restrict__ s, int rows) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row >= rows) return;
  float4* p = reinterpret_cast<float4*>(s + static_cast<size_t>(row) * kSeq);
  float m = -INFINITY, l = 0.f;
  auto push = [&](float v) {
    const float mn = fmaxf(m, v);
    l = l * __expf(m - mn) + __expf(v - mn);
    m = mn;
  };
  for (int c = warp.thread_rank(); c < kSeq / 4; c += 32) {
    const float4 v = p[c];
    push(v.x); push(v.y); push(v.z); push(v.w);
  }
  const float mAll = cg::reduce(warp, m, cg::greater<float>());
  const float lAll = cg::reduce(warp, l * __expf(m - mAll), cg::plus<float>());
  const float inv = 1.f / lAll;
  for (int c = warp.thread_rank(); c < kSeq / 4; c += 32) {
    float4 v = p[c];
    v.x = __expf(v.x - mAll) * inv;
    v.y = __expf(v.y - mAll) * inv;
    v.z = __expf(v.z - mAll) * inv;
    v.w = __expf(v.w - mAll) * inv;
    p[c] = v;
  }
}

// fused: each thread owns one query row in registers, K and V tiles broadcast from dynamic shared memory
template <int TileKeys>
__global__ void __launch_bounds__(64) flash_one_row_per_thread(const __half2* __restrict__ q, const __half2* __restrict__ k,
                                                               const __half2* __restrict__ v, float* __restrict__ o) {
  constexpr int D2 = kDim / 2;
  extern __shared__ __half2 smem[];
  __half2* kt = smem;
  __half2* vt = smem + TileKeys * D2;
  const int h = blockIdx.y;
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 qr[D2];
  float acc[kDim];
#pragma unroll
  for (int c = 0; c < D2; ++c) {
    qr[c] = q[(h * kSeq + row) * D2 + c];
    acc[2 * c] = acc[2 * c + 1] = 0.f;
  }
  float m = -INFINITY, l = 0.f;
  for (int j0 = 0; j0 < kSeq; j0 += TileKeys) {
    __syncthreads();
    for (int e = threadIdx.x; e < TileKeys * D2; e += blockDim.x) {
      kt[e] = k[(h * kSeq + j0) * D2 + e];
      vt[e] = v[(h * kSeq + j0) * D2 + e];
    }
    __syncthreads();
    for (int j = 0; j < TileKeys; ++j) {
      float d = 0.f;
#pragma unroll
      for (int c = 0; c < D2; ++c) {
        const float2 a = __half22float2(qr[c]), b = __half22float2(kt[j * D2 + c]);
        d = fmaf(a.x, b.x, fmaf(a.y, b.y, d));
      }
      d *= kScale;
      const float mn = fmaxf(m, d);
      const float corr = __expf(m - mn), w = __expf(d - mn);
      l = l * corr + w;
      m = mn;
#pragma unroll
      for (int c = 0; c < D2; ++c) {
        const float2 b = __half22float2(vt[j * D2 + c]);
        acc[2 * c] = acc[2 * c] * corr + w * b.x;
        acc[2 * c + 1] = acc[2 * c + 1] * corr + w * b.y;
      }
    }
  }
  const float inv = 1.f / l;
#pragma unroll
  for (int c = 0; c < kDim; ++c) o[(h * kSeq + row) * kDim + c] = acc[c] * inv;
}

int main() {
  constexpr size_t n = size_t(kHeads) * kSeq * kDim;
  std::mt19937 gen(2024);
  std::uniform_real_distribution<float> dist(-1.f, 1.f);
  std::vector<__half> host[3];
  __half2* dev[3];
  for (int t = 0; t < 3; ++t) {
    host[t].resize(n);
    for (auto& e : host[t]) e = __float2half(dist(gen));
    cudaMalloc(&dev[t], n * sizeof(__half));
    cudaMemcpy(dev[t], host[t].data(), n * sizeof(__half), cudaMemcpyHostToDevice);
  }
  float *dS, *dO;
  cudaMalloc(&dS, sizeof(float) * kHeads * kSeq * kSeq);
  cudaMalloc(&dO, sizeof(float) * n);
  qk_scores<<<dim3(kSeq / 16, kSeq / 16, kHeads), dim3(16, 16)>>>(dev[0], dev[1], dS);
  softmax_rows_online<<<kHeads * kSeq / 4, 128>>>(dS, kHeads * kSeq);
  constexpr int tile = 32;
  flash_one_row_per_thread<tile><<<dim3(kSeq / 64, kHeads), 64, 2 * tile * kDim * sizeof(__half)>>>(dev[0], dev[1], dev[2], dO);
  bool ok = cudaDeviceSynchronize() == cudaSuccess;
  std::vector<float> P(size_t(kHeads) * kSeq * kSeq), O(n);
  cudaMemcpy(P.data(), dS, P.size() * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(O.data(), dO, O.size() * 4, cudaMemcpyDeviceToHost);

  for (int h = 0; h < kHeads; ++h)
    for (int i = h; i < kSeq; i += 37) {
      std::vector<double> e(kSeq), out(kDim, 0.0);
      double sum = 0;
      for (int j = 0; j < kSeq; ++j) {
        double d = 0;
        for (int c = 0; c < kDim; ++c)
          d += double(__half2float(host[0][(h * kSeq + i) * kDim + c])) * __half2float(host[1][(h * kSeq + j) * kDim + c]);
        sum += e[j] = std::exp(d * kScale);
      }
      for (int j = 0; j < kSeq; ++j) {
        ok &= std::fabs(P[(size_t(h) * kSeq + i) * kSeq + j] - e[j] / sum) < 1e-4;
        for (int c = 0; c < kDim; ++c) out[c] += e[j] / sum * __half2float(host[2][(h * kSeq + j) * kDim + c]);
      }
      for (int c = 0; c < kDim; ++c) ok &= std::fabs(O[(h * kSeq + i) * kDim + c] - out[c]) < 1e-3;
    }
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
