// Row softmax and layernorm: block per row, warp per row, half2 and float4 loads.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct MaxOp { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } static constexpr float id = -FLT_MAX; };
struct SumOp { __device__ float operator()(float a, float b) const { return a + b; } static constexpr float id = 0.f; };

template <class Op>
__device__ float warp_reduce(float v, Op op = Op()) {
#pragma unroll
  for (int m = 16; m >= 1; m /= 2) v = op(v, __shfl_xor_sync(0xffffffff, v, m, 32));
  return v;
}

template <class Op, int NT>
__device__ float block_reduce(float v) {
  static_assert(NT % 32 == 0, "whole warps");
  __shared__ float s[NT / 32];
  v = warp_reduce<Op>(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < NT / 32 ? s[threadIdx.x] : Op::id;
  if (threadIdx.x < 32) v = warp_reduce<Op>(v);
  if (threadIdx.x == 0) s[0] = v;
  __syncthreads();
  return s[0];
}

template <int NT>
__global__ void softmax_block(const float* __restrict__ x, float* __restrict__ y, int cols) {
  const float* row = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  float m = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += NT) m = fmaxf(m, row[c]);
  m = block_reduce<MaxOp, NT>(m);
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += NT) s += __expf(row[c] - m);
  s = block_reduce<SumOp, NT>(s);
  const float inv = 1.0f / s;
  for (int c = threadIdx.x; c < cols; c += NT) out[c] = __expf(row[c] - m) * inv;
}

template <int COLS>
__global__ void softmax_warp_h2(const __half* x, __half* y, int rows) {
  constexpr int PER = COLS / 64;
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const __half2* in = reinterpret_cast<const __half2*>(x + (size_t)row * COLS);
  __half2* out = reinterpret_cast<__half2*>(y + (size_t)row * COLS);
  float2 v[PER];
  float m = -INFINITY;
#pragma unroll
  for (int i = 0; i < PER; ++i) {
    v[i] = __half22float2(in[i * 32 + threadIdx.x]);
    m = fmaxf(m, fmaxf(v[i].x, v[i].y));
  }
  m = warp_reduce<MaxOp>(m);
  float s = 0.f;
#pragma unroll
  for (int i = 0; i < PER; ++i) {
    v[i].x = expf(v[i].x - m);
    v[i].y = expf(v[i].y - m);
    s += v[i].x + v[i].y;
  }
  s = warp_reduce<SumOp>(s);
#pragma unroll
  for (int i = 0; i < PER; ++i) out[i * 32 + threadIdx.x] = __floats2half2_rn(v[i].x / s, v[i].y / s);
}

__global__ void layernorm_vec4(const float* __restrict__ in, float* __restrict__ out, const float* __restrict__ gamma,
                               const float* __restrict__ beta, int dim, float eps) {
  const float4* x4 = reinterpret_cast<const float4*>(in + (size_t)blockIdx.x * dim);
  float4* o4 = reinterpret_cast<float4*>(out + (size_t)blockIdx.x * dim);
  const float4* g4 = reinterpret_cast<const float4*>(gamma);
  const float4* b4 = reinterpret_cast<const float4*>(beta);
  float sum = 0.f, sq = 0.f;
  for (int i = threadIdx.x; i < dim / 4; i += blockDim.x) {
    float4 v = x4[i];
    sum += v.x + v.y + v.z + v.w;
    sq += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  sum = block_reduce<SumOp, 128>(sum);
  sq = block_reduce<SumOp, 128>(sq);
  const float mean = sum / dim;
  const float rstd = rsqrtf(sq / dim - mean * mean + eps);
  for (int i = threadIdx.x; i < dim / 4; i += blockDim.x) {
    float4 v = x4[i], g = g4[i], b = b4[i], r;
    r.x = (v.x - mean) * rstd * g.x + b.x;
    r.y = (v.y - mean) * rstd * g.y + b.y;
    r.z = (v.z - mean) * rstd * g.z + b.z;
    r.w = (v.w - mean) * rstd * g.w + b.w;
    o4[i] = r;
  }
}

int main(int argc, char** argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 77;
  int cols = argc > 2 ? atoi(argv[2]) : 1000;
  std::vector<float> h(rows * cols);
  for (size_t i = 0; i < h.size(); ++i) h[i] = sinf(0.01f * i);
  float *x, *y, *g, *b;
  cudaMalloc(&x, h.size() * 4);
  cudaMalloc(&y, h.size() * 4);
  cudaMalloc(&g, cols * 4);
  cudaMalloc(&b, cols * 4);
  cudaMemcpy(x, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  cudaMemset(g, 0, cols * 4);
  cudaMemset(b, 0, cols * 4);
  cudaStream_t st;
  cudaStreamCreate(&st);
  softmax_block<256><<<rows, 256, 0, st>>>(x, y, cols);
  layernorm_vec4<<<rows, 128, 0, st>>>(x, y, g, b, cols, 1e-5f);
  const int hr = 130;
  std::vector<__half> hh(hr * 256);
  for (size_t i = 0; i < hh.size(); ++i) hh[i] = __float2half(0.001f * (i % 511));
  __half *hx, *hy;
  cudaMalloc(&hx, hh.size() * sizeof(__half));
  cudaMalloc(&hy, hh.size() * sizeof(__half));
  cudaMemcpyAsync(hx, hh.data(), hh.size() * sizeof(__half), cudaMemcpyHostToDevice, st);
  dim3 blk(32, 4);
  softmax_warp_h2<256><<<(hr + blk.y - 1) / blk.y, blk, 0, st>>>(hx, hy, hr);
  cudaStreamSynchronize(st);
  std::vector<__half> ho(hh.size());
  cudaMemcpy(ho.data(), hy, ho.size() * sizeof(__half), cudaMemcpyDeviceToHost);
  float s = 0;
  for (int i = 0; i < 256; ++i) s += __half2float(ho[i]);
  printf("row sum %f\n", s);
  cudaStreamDestroy(st);
  return fabsf(s - 1) > 0.05f;
}
