// Flash-style attention forward with float4 tiles, block per (head, query tile); causal; head dim templated.
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

template <int D, int BR, int BC>
__global__ void flash_fwd(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V, float* __restrict__ O,
                          float* __restrict__ L, int T, float scale, bool causal) {
  __shared__ float4 Ks[BC][D / 4];
  __shared__ float4 Vs[BC][D / 4];
  const int head = blockIdx.y, q0 = blockIdx.x * BR, t = threadIdx.x;
  const float4* Kh = reinterpret_cast<const float4*>(K + (size_t)head * T * D);
  const float4* Vh = reinterpret_cast<const float4*>(V + (size_t)head * T * D);
  const int row = q0 + t;
  float4 q[D / 4], o[D / 4];
  const float4* Qr = reinterpret_cast<const float4*>(Q + ((size_t)head * T + row) * D);
#pragma unroll
  for (int i = 0; i < D / 4; ++i) {
    q[i] = row < T ? Qr[i] : make_float4(0, 0, 0, 0);
    o[i] = make_float4(0, 0, 0, 0);
  }
  float m = -FLT_MAX, l = 0.f;
  const int last = causal ? min(T, q0 + BR) : T;
  for (int k0 = 0; k0 < last; k0 += BC) {
    for (int i = t; i < BC * D / 4; i += BR) {
      int r = i / (D / 4), c = i % (D / 4);
      bool ok = k0 + r < T;
      Ks[r][c] = ok ? Kh[(k0 + r) * (D / 4) + c] : make_float4(0, 0, 0, 0);
      Vs[r][c] = ok ? Vh[(k0 + r) * (D / 4) + c] : make_float4(0, 0, 0, 0);
    }
    __syncthreads();
    float s[BC], mx = m;
#pragma unroll
    for (int j = 0; j < BC; ++j) {
      float acc = 0.f;
#pragma unroll
      for (int i = 0; i < D / 4; ++i) {
        float4 k = Ks[j][i];
        acc += q[i].x * k.x + q[i].y * k.y + q[i].z * k.z + q[i].w * k.w;
      }
      const int col = k0 + j;
      s[j] = (col >= T || (causal && col > row)) ? -FLT_MAX : acc * scale;
      mx = fmaxf(mx, s[j]);
    }
    float corr = __expf(m - mx);
    l *= corr;
#pragma unroll
    for (int i = 0; i < D / 4; ++i) { o[i].x *= corr; o[i].y *= corr; o[i].z *= corr; o[i].w *= corr; }
#pragma unroll
    for (int j = 0; j < BC; ++j) {
      float p = __expf(s[j] - mx);
      l += p;
#pragma unroll
      for (int i = 0; i < D / 4; ++i) {
        float4 v = Vs[j][i];
        o[i].x += p * v.x; o[i].y += p * v.y; o[i].z += p * v.z; o[i].w += p * v.w;
      }
    }
    m = mx;
    __syncthreads();
  }
  if (row < T) {
    float inv = 1.f / l;
    float4* Or = reinterpret_cast<float4*>(O + ((size_t)head * T + row) * D);
#pragma unroll
    for (int i = 0; i < D / 4; ++i) Or[i] = make_float4(o[i].x * inv, o[i].y * inv, o[i].z * inv, o[i].w * inv);
    L[head * T + row] = m + logf(l);
  }
}

// naive scores for checking
__global__ void naive_scores(const float* Q, const float* K, float* S, int T, int D, float scale) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < T && j < T) {
    float acc = 0;
    for (int d = 0; d < D; ++d) acc += Q[i * D + d] * K[j * D + d];
    S[i * T + j] = acc * scale;
  }
}

template <int D>
int run(int heads, int T, bool causal) {
  size_t n = (size_t)heads * T * D;
  std::vector<float> h(n);
  for (size_t i = 0; i < n; ++i) h[i] = cosf(i * 0.37f);
  float *q, *k, *v, *o, *l, *s;
  cudaMalloc(&q, n * 4); cudaMalloc(&k, n * 4); cudaMalloc(&v, n * 4); cudaMalloc(&o, n * 4);
  cudaMalloc(&l, heads * T * 4);
  cudaMalloc(&s, T * T * 4);
  cudaMemcpy(q, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(k, h.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(v, h.data(), n * 4, cudaMemcpyHostToDevice);
  constexpr int BR = 64, BC = 16;
  flash_fwd<D, BR, BC><<<dim3((T + BR - 1) / BR, heads), BR>>>(q, k, v, o, l, T, 1.f / sqrtf(D), causal);
  dim3 t(16, 16);
  naive_scores<<<dim3((T + 15) / 16, (T + 15) / 16), t>>>(q, k, s, T, D, 1.f / sqrtf(D));
  std::vector<float> out(n);
  cudaMemcpy(out.data(), o, n * 4, cudaMemcpyDeviceToHost);
  for (float* p : {q, k, v, o, l, s}) cudaFree(p);
  return std::isnan(out[n - 1]);
}

int main(int argc, char** argv) {
  int T = argc > 1 ? atoi(argv[1]) : 150;
  int rc = run<32>(2, T, false) + run<64>(1, T, true);
  printf("rc %d\n", rc);
  return rc;
}
