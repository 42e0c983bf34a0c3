// Recommender embedding tables on jagged (offset based) inputs.
// Half precision tables, vector loads, per-table parameter structs.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

enum class Pooling { kSum, kMean, kMax };

constexpr int kTables = 4;
constexpr int kDim = 64;
constexpr int kBatch = 1024;
constexpr int kRows = 20000;

struct BagArgs {
  const __half* weights;    // [table][row][dim]
  const int32_t* indices;
  const int32_t* offsets;   // [table * batch + 1]
  float* out;               // [batch][table][dim]
  int batch;
  int rows;
};

#define CUDA_OK(x)                                                          \
  do {                                                                      \
    cudaError_t err = (x);                                                  \
    if (err != cudaSuccess) {                                               \
      printf("CUDA error %s line %d\n", cudaGetErrorString(err), __LINE__); \
      return 2;                                                             \
    }                                                                       \
  } while (0)

template <Pooling P>
__device__ __forceinline__ float combine(float a, float b) {
  if constexpr (P == Pooling::kMax) {
    return fmaxf(a, b);
  } else {
    return a + b;
  }
}

// warp per bag, half2 per lane (64 dims = 32 lanes x 2)
template <Pooling P>
__global__ void bag_forward_warp(BagArgs args) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (warp >= args.batch * kTables) return;
  int table = warp / args.batch;
  int b = warp % args.batch;
  int begin = args.offsets[warp];
  int end = args.offsets[warp + 1];
  const __half2* w = reinterpret_cast<const __half2*>(args.weights + (size_t)table * args.rows * kDim);
  float init = P == Pooling::kMax ? -65504.f : 0.f;
  float2 acc = make_float2(init, init);
  for (int base = begin; base < end; base += 32) {
    int mine = base + lane < end ? args.indices[base + lane] : 0;
    int cnt = min(32, end - base);
    for (int k = 0; k < cnt; ++k) {
      int row = __shfl_sync(0xffffffffu, mine, k);
      float2 v = __half22float2(w[(size_t)row * (kDim / 2) + lane]);
      acc.x = combine<P>(acc.x, v.x);
      acc.y = combine<P>(acc.y, v.y);
    }
  }
  if constexpr (P == Pooling::kMean) {
    float inv = end > begin ? 1.f / (end - begin) : 0.f;
    acc.x *= inv;
    acc.y *= inv;
  }
  if (begin == end) acc = make_float2(0.f, 0.f);
  float2* o = reinterpret_cast<float2*>(args.out + ((size_t)b * kTables + table) * kDim);
  o[lane] = acc;
}

// naive version: thread per (bag), loops over dimension, as in first drafts
__global__ void bag_forward_naive(BagArgs args) {
  int bag = blockIdx.x * blockDim.x + threadIdx.x;
  if (bag >= args.batch * kTables) return;
  int table = bag / args.batch;
  int b = bag % args.batch;
  const __half* w = args.weights + (size_t)table * args.rows * kDim;
  for (int d = 0; d < kDim; ++d) {
    float acc = 0.f;
    for (int i = args.offsets[bag]; i < args.offsets[bag + 1]; ++i) {
      acc += __half2float(w[(size_t)args.indices[i] * kDim + d]);
    }
    args.out[((size_t)b * kTables + table) * kDim + d] = acc;
  }
}

// Pairwise dot interaction of the kTables pooled vectors, one block per sample
__global__ void dot_interaction(const float* __restrict__ pooled, float* __restrict__ inter) {
  __shared__ float s[kTables][kDim];
  int b = blockIdx.x;
  for (int i = threadIdx.x; i < kTables * kDim; i += blockDim.x) {
    s[i / kDim][i % kDim] = pooled[(size_t)b * kTables * kDim + i];
  }
  __syncthreads();
  int pair = threadIdx.x;
  if (pair < kTables * kTables) {
    int p = pair / kTables;
    int q = pair % kTables;
    float acc = 0.f;
    for (int d = 0; d < kDim; ++d) acc += s[p][d] * s[q][d];
    inter[b * kTables * kTables + pair] = acc;
  }
}

// Backward of sum pooling: scatter gradient to dense fp32 grad of table 0..T-1
__global__ void bag_backward_scatter(const float* __restrict__ gout, const int32_t* __restrict__ indices,
                                     const int32_t* __restrict__ offsets, float* __restrict__ gw, int batch,
                                     int rows) {
  int bag = blockIdx.x;
  int table = bag / batch;
  int b = bag % batch;
  float g = gout[((size_t)b * kTables + table) * kDim + threadIdx.x];
  for (int i = offsets[bag] + threadIdx.y; i < offsets[bag + 1]; i += blockDim.y) {
    atomicAdd(&gw[((size_t)table * rows + indices[i]) * kDim + threadIdx.x], g);
  }
}

// Row-wise adagrad: one row per warp; float4 not needed with 64 dims
__global__ void rowwise_adagrad(__half* __restrict__ w, const float* __restrict__ gw, float* __restrict__ state,
                                int nrows, float lr) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= nrows) return;
  float2 g = reinterpret_cast<const float2*>(gw + (size_t)row * kDim)[threadIdx.x];
  float sq = g.x * g.x + g.y * g.y;
  for (int o = 16; o; o /= 2) sq += __shfl_down_sync(0xffffffffu, sq, o);
  sq = __shfl_sync(0xffffffffu, sq, 0);
  float st = state[row] + sq / kDim;
  if (threadIdx.x == 0) state[row] = st;
  float step = lr * rsqrtf(st + 1e-6f);
  __half2* wp = reinterpret_cast<__half2*>(w + (size_t)row * kDim) + threadIdx.x;
  float2 v = __half22float2(*wp);
  *wp = __floats2half2_rn(v.x - step * g.x, v.y - step * g.y);
}

static void launch_forward(Pooling p, const BagArgs& a, cudaStream_t st) {
  int bags = a.batch * kTables;
  int blocks = (bags * 32 + 255) / 256;
  switch (p) {
    case Pooling::kSum:
      bag_forward_warp<Pooling::kSum><<<blocks, 256, 0, st>>>(a);
      break;
    case Pooling::kMean:
      bag_forward_warp<Pooling::kMean><<<blocks, 256, 0, st>>>(a);
      break;
    case Pooling::kMax:
      bag_forward_warp<Pooling::kMax><<<blocks, 256, 0, st>>>(a);
      break;
  }
}

int main() {
  std::mt19937 rng(2024);
  std::vector<__half> w((size_t)kTables * kRows * kDim);
  for (auto& v : w) v = __float2half(((int)(rng() % 2001) - 1000) * 1e-3f);
  std::vector<int32_t> offsets(1, 0), indices;
  for (int i = 0; i < kTables * kBatch; ++i) {
    int len = rng() % 24;
    for (int k = 0; k < len; ++k) indices.push_back((int)(((uint64_t)(rng() % kRows) * (rng() % kRows)) / kRows));
    offsets.push_back((int)indices.size());
  }
  __half* dw;
  int32_t *dind, *doff;
  float *dout, *dmean, *dmax, *dnaive, *dinter, *dgw, *dstate;
  size_t on = (size_t)kBatch * kTables * kDim;
  size_t gn = (size_t)kTables * kRows * kDim;
  CUDA_OK(cudaMalloc(&dw, w.size() * 2));
  CUDA_OK(cudaMalloc(&dind, indices.size() * 4));
  CUDA_OK(cudaMalloc(&doff, offsets.size() * 4));
  CUDA_OK(cudaMalloc(&dout, on * 4));
  CUDA_OK(cudaMalloc(&dmean, on * 4));
  CUDA_OK(cudaMalloc(&dmax, on * 4));
  CUDA_OK(cudaMalloc(&dnaive, on * 4));
  CUDA_OK(cudaMalloc(&dinter, kBatch * kTables * kTables * 4));
  CUDA_OK(cudaMalloc(&dgw, gn * 4));
  CUDA_OK(cudaMalloc(&dstate, kTables * kRows * 4));
  CUDA_OK(cudaMemcpy(dw, w.data(), w.size() * 2, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dind, indices.data(), indices.size() * 4, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(doff, offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemset(dgw, 0, gn * 4));
  CUDA_OK(cudaMemset(dstate, 0, kTables * kRows * 4));
  cudaStream_t st;
  CUDA_OK(cudaStreamCreate(&st));
  CUDA_OK(cudaDeviceSynchronize());

  BagArgs args{dw, dind, doff, dout, kBatch, kRows};
  launch_forward(Pooling::kSum, args, st);
  args.out = dmean;
  launch_forward(Pooling::kMean, args, st);
  args.out = dmax;
  launch_forward(Pooling::kMax, args, st);
  args.out = dnaive;
  bag_forward_naive<<<kTables * kBatch / 64, 64, 0, st>>>(args);
  dot_interaction<<<kBatch, 64, 0, st>>>(dout, dinter);
  bag_backward_scatter<<<kTables * kBatch, dim3(kDim, 2), 0, st>>>(dout, dind, doff, dgw, kBatch, kRows);
  rowwise_adagrad<<<kTables * kRows / 8, dim3(32, 8), 0, st>>>(dw, dgw, dstate, kTables * kRows, 0.01f);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaStreamSynchronize(st));

  std::vector<float> o(on), om(on), ox(on), onv(on), oi(kBatch * kTables * kTables), state(kTables * kRows);
  CUDA_OK(cudaMemcpy(o.data(), dout, on * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(om.data(), dmean, on * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(ox.data(), dmax, on * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(onv.data(), dnaive, on * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(oi.data(), dinter, oi.size() * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(state.data(), dstate, state.size() * 4, cudaMemcpyDeviceToHost));
  std::vector<double> gw(gn, 0.0);
  int bad = 0;
  for (int bag = 0; bag < kTables * kBatch; ++bag) {
    int t = bag / kBatch, b = bag % kBatch;
    int n = offsets[bag + 1] - offsets[bag];
    for (int d = 0; d < kDim; ++d) {
      float s = 0, m = -65504.f;
      for (int i = offsets[bag]; i < offsets[bag + 1]; ++i) {
        float v = __half2float(w[((size_t)t * kRows + indices[i]) * kDim + d]);
        s += v;
        m = fmaxf(m, v);
      }
      size_t k = ((size_t)b * kTables + t) * kDim + d;
      if (std::fabs(o[k] - s) > 1e-3f || std::fabs(onv[k] - s) > 1e-3f) ++bad;
      if (std::fabs(om[k] - (n ? s / n : 0.f)) > 1e-3f) ++bad;
      if (std::fabs(ox[k] - (n ? m : 0.f)) > 1e-3f) ++bad;
      for (int i = offsets[bag]; i < offsets[bag + 1]; ++i) gw[((size_t)t * kRows + indices[i]) * kDim + d] += s;
    }
  }
  for (int b = 0; b < kBatch; ++b) {
    for (int p = 0; p < kTables * kTables; ++p) {
      double a = 0;
      for (int d = 0; d < kDim; ++d)
        a += (double)o[(b * kTables + p / kTables) * kDim + d] * o[(b * kTables + p % kTables) * kDim + d];
      if (std::fabs(a - oi[b * kTables * kTables + p]) > 1e-2 + 1e-4 * std::fabs(a)) ++bad;
    }
  }
  for (int r = 0; r < kTables * kRows; ++r) {
    double a = 0;
    for (int d = 0; d < kDim; ++d) a += gw[(size_t)r * kDim + d] * gw[(size_t)r * kDim + d];
    if (std::fabs(a / kDim - state[r]) > 1e-2 + 1e-3 * a / kDim) ++bad;
  }
  printf("bad = %d, nnz = %zu\n", bad, indices.size());
  printf(bad ? "FAIL\n" : "PASS\n");
  return bad != 0;
}
