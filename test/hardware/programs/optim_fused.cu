// Adam with mixed precision master weights, gradient clipping by global norm, multi-tensor chunks by a pointer table.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kMaxTensors = 8, kMaxBlocks = 64;
struct TensorList {
  float* addr[3][kMaxTensors];
  int sizes[kMaxTensors];
  unsigned char block_to_tensor[kMaxBlocks];
  int block_to_chunk[kMaxBlocks];
};

template <int CHUNK, int ILP>
__global__ void multi_axpby(TensorList tl, float a, float b) {
  int t = tl.block_to_tensor[blockIdx.x], chunk = tl.block_to_chunk[blockIdx.x];
  int n = tl.sizes[t] - chunk * CHUNK;
  const float* x = tl.addr[0][t] + chunk * CHUNK;
  const float* y = tl.addr[1][t] + chunk * CHUNK;
  float* o = tl.addr[2][t] + chunk * CHUNK;
  for (int i0 = 0; i0 < n && i0 < CHUNK; i0 += blockDim.x * ILP) {
    float rx[ILP], ry[ILP];
#pragma unroll
    for (int k = 0; k < ILP; ++k) {
      int i = i0 + threadIdx.x + k * blockDim.x;
      rx[k] = ry[k] = 0;
      if (i < n && i < CHUNK) { rx[k] = x[i]; ry[k] = y[i]; }
    }
#pragma unroll
    for (int k = 0; k < ILP; ++k) {
      int i = i0 + threadIdx.x + k * blockDim.x;
      if (i < n && i < CHUNK) o[i] = a * rx[k] + b * ry[k];
    }
  }
}

struct AdamConfig { float lr, beta1, beta2, eps, wd, c1, c2; };

__global__ void adam_bf16(__nv_bfloat16* __restrict__ p, float* __restrict__ master, const __nv_bfloat16* __restrict__ g,
                          float* __restrict__ m, float* __restrict__ v, int n, AdamConfig c) {
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2; i < n; i += gridDim.x * blockDim.x * 2) {
    float2 gr = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(g + i));
    float2 w = *reinterpret_cast<float2*>(master + i);
    float2 mm = *reinterpret_cast<float2*>(m + i), vv = *reinterpret_cast<float2*>(v + i);
    mm.x = c.beta1 * mm.x + (1 - c.beta1) * gr.x;
    mm.y = c.beta1 * mm.y + (1 - c.beta1) * gr.y;
    vv.x = c.beta2 * vv.x + (1 - c.beta2) * gr.x * gr.x;
    vv.y = c.beta2 * vv.y + (1 - c.beta2) * gr.y * gr.y;
    w.x -= c.lr * (mm.x * c.c1 / (sqrtf(vv.x * c.c2) + c.eps) + c.wd * w.x);
    w.y -= c.lr * (mm.y * c.c1 / (sqrtf(vv.y * c.c2) + c.eps) + c.wd * w.y);
    *reinterpret_cast<float2*>(m + i) = mm;
    *reinterpret_cast<float2*>(v + i) = vv;
    *reinterpret_cast<float2*>(master + i) = w;
    *reinterpret_cast<__nv_bfloat162*>(p + i) = __floats2bfloat162_rn(w.x, w.y);
  }
}

template <unsigned BLOCK>
__global__ void l2_partial(const __nv_bfloat16* __restrict__ g, int n, float* __restrict__ out) {
  float s = 0;
  const int4* g8 = reinterpret_cast<const int4*>(g);
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n / 8; i += BLOCK * gridDim.x) {
    int4 q = g8[i];
    const __nv_bfloat16* e = reinterpret_cast<const __nv_bfloat16*>(&q);
#pragma unroll
    for (int k = 0; k < 8; ++k) { float f = __bfloat162float(e[k]); s += f * f; }
  }
  __shared__ float sh[BLOCK / 32];
#pragma unroll
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
  if (threadIdx.x % 32 == 0) sh[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < BLOCK / 32) {
    s = sh[threadIdx.x];
#pragma unroll
    for (int o = BLOCK / 64; o; o >>= 1) s += __shfl_xor_sync((1u << (BLOCK / 32)) - 1, s, o);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
  }
}

__global__ void clip_scale(const float* __restrict__ parts, int count, float max_norm, float* __restrict__ scale) {
  float s = 0;
  for (int i = 0; i < count; ++i) s += parts[i];
  float nrm = sqrtf(s);
  *scale = nrm > max_norm ? max_norm / nrm : 1.f;
}

__global__ void apply_scale(__nv_bfloat16* g, const float* __restrict__ scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) g[i] = __float2bfloat16(__bfloat162float(g[i]) * *scale);
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 20000;
  __nv_bfloat16 *p, *g;
  float *w, *m, *v, *parts, *scale;
  cudaMalloc(&p, n * 2); cudaMalloc(&g, n * 2);
  cudaMalloc(&w, n * 4); cudaMalloc(&m, n * 4); cudaMalloc(&v, n * 4);
  cudaMalloc(&parts, 64 * 4); cudaMalloc(&scale, 4);
  cudaMemset(g, 0, n * 2);
  l2_partial<256><<<20, 256>>>(g, n, parts);
  clip_scale<<<1, 1>>>(parts, 20, 1.f, scale);
  apply_scale<<<(n + 255) / 256, 256>>>(g, scale, n);
  for (int step = 1; step <= 3; ++step) {
    AdamConfig c{1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, 1.f / (1 - powf(0.9f, step)), 1.f / (1 - powf(0.999f, step))};
    adam_bf16<<<24, 128>>>(p, w, g, m, v, n, c);
  }
  TensorList tl{};
  const int chunk = 2048;
  int blocks = 0;
  int sizes[3] = {5000, 1111, 4096};
  for (int t = 0, off = 0; t < 3; ++t) {
    tl.addr[0][t] = w + off; tl.addr[1][t] = m + off; tl.addr[2][t] = v + off;
    tl.sizes[t] = sizes[t];
    for (int c = 0; c < (sizes[t] + chunk - 1) / chunk; ++c) {
      tl.block_to_tensor[blocks] = t;
      tl.block_to_chunk[blocks++] = c;
    }
    off += sizes[t];
  }
  multi_axpby<chunk, 4><<<blocks, 128>>>(tl, 1.f, 0.5f);
  float s = 0;
  cudaMemcpy(&s, scale, 4, cudaMemcpyDeviceToHost);
  printf("scale %f\n", s);
  return cudaGetLastError() != cudaSuccess;
}
