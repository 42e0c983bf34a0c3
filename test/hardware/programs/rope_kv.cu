// Decoder pieces: rotary embedding, kv-cache append, one-query attention with split reduction, silu*gate, argmax.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <typename T> struct Vec2;
template <> struct Vec2<__half> {
  using type = __half2;
  static __device__ float2 load(const type& v) { return __half22float2(v); }
  static __device__ type store(float a, float b) { return __floats2half2_rn(a, b); }
};
template <> struct Vec2<__nv_bfloat16> {
  using type = __nv_bfloat162;
  static __device__ float2 load(const type& v) { return __bfloat1622float2(v); }
  static __device__ type store(float a, float b) { return __floats2bfloat162_rn(a, b); }
};

// one block per (token, head), a thread per pair; interleaved pairs
template <typename T>
__global__ void rope(T* qk, const int* positions, int heads, int head_dim, float theta) {
  const int token = blockIdx.x, head = blockIdx.y, pair = threadIdx.x;
  if (pair >= head_dim / 2) return;
  using V = typename Vec2<T>::type;
  V* p = reinterpret_cast<V*>(qk + ((size_t)token * heads + head) * head_dim) + pair;
  float2 v = Vec2<T>::load(*p);
  float ang = positions[token] * powf(theta, -2.0f * pair / head_dim);
  float s, c;
  sincosf(ang, &s, &c);
  *p = Vec2<T>::store(v.x * c - v.y * s, v.x * s + v.y * c);
}

// half-rotated layout
__global__ void rope_neox(float* x, int heads, int head_dim, const float* __restrict__ cos_sin) {
  const int half = head_dim / 2;
  float* row = x + blockIdx.x * heads * head_dim;
  const float* cs = cos_sin + blockIdx.x * head_dim;
  for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
    int h = i / half, d = i % half;
    float a = row[h * head_dim + d], b = row[h * head_dim + d + half];
    float c = cs[d], s = cs[half + d];
    row[h * head_dim + d] = a * c - b * s;
    row[h * head_dim + d + half] = b * c + a * s;
  }
}

__global__ void append_kv(const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ kc, float* __restrict__ vc,
                          int pos, int max_seq, int head_dim) {
  int h = blockIdx.x, d = threadIdx.x;
  kc[(h * max_seq + pos) * head_dim + d] = k[h * head_dim + d];
  vc[(h * head_dim + d) * max_seq + pos] = v[h * head_dim + d];  // transposed cache
}

template <int HEAD_DIM>
__global__ void decode_attention(const float* __restrict__ q, const float* __restrict__ kc, const float* __restrict__ vc,
                                 float* __restrict__ out, int len, int max_seq) {
  extern __shared__ float scores[];
  __shared__ float red[4];
  const int h = blockIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int PER = HEAD_DIM / 32;
  float qr[PER];
#pragma unroll
  for (int i = 0; i < PER; ++i) qr[i] = q[h * HEAD_DIM + i * 32 + lane];
  for (int t = warp; t < len; t += 4) {
    const float* kr = kc + (h * max_seq + t) * HEAD_DIM;
    float s = 0;
#pragma unroll
    for (int i = 0; i < PER; ++i) s += qr[i] * kr[i * 32 + lane];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (lane == 0) scores[t] = s * rsqrtf((float)HEAD_DIM);
  }
  __syncthreads();
  float m = -FLT_MAX;
  for (int t = threadIdx.x; t < len; t += blockDim.x) m = fmaxf(m, scores[t]);
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (lane == 0) red[warp] = m;
  __syncthreads();
  m = fmaxf(fmaxf(red[0], red[1]), fmaxf(red[2], red[3]));
  __syncthreads();
  float l = 0;
  for (int t = threadIdx.x; t < len; t += blockDim.x) {
    float e = __expf(scores[t] - m);
    scores[t] = e;
    l += e;
  }
  for (int o = 16; o; o >>= 1) l += __shfl_xor_sync(~0u, l, o);
  if (lane == 0) red[warp] = l;
  __syncthreads();
  l = red[0] + red[1] + red[2] + red[3];
  for (int d = threadIdx.x; d < HEAD_DIM; d += blockDim.x) {
    float acc = 0;
    for (int t = 0; t < len; ++t) acc += scores[t] * vc[(h * HEAD_DIM + d) * max_seq + t];
    out[h * HEAD_DIM + d] = acc / l;
  }
}

__global__ void swiglu(const __nv_bfloat16* __restrict__ gate_up, __nv_bfloat16* __restrict__ out, int inner) {
  const __nv_bfloat16* g = gate_up + (size_t)blockIdx.y * 2 * inner;
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (i >= inner) return;
  uint4 a = *reinterpret_cast<const uint4*>(g + i), b = *reinterpret_cast<const uint4*>(g + inner + i);
  uint4 r;
  const __nv_bfloat162* pa = reinterpret_cast<const __nv_bfloat162*>(&a);
  const __nv_bfloat162* pb = reinterpret_cast<const __nv_bfloat162*>(&b);
  __nv_bfloat162* pr = reinterpret_cast<__nv_bfloat162*>(&r);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float2 x = __bfloat1622float2(pa[k]), y = __bfloat1622float2(pb[k]);
    pr[k] = __floats2bfloat162_rn(x.x / (1.f + __expf(-x.x)) * y.x, x.y / (1.f + __expf(-x.y)) * y.y);
  }
  *reinterpret_cast<uint4*>(out + (size_t)blockIdx.y * inner + i) = r;
}

struct Best { float v; int i; };

__global__ void argmax(const float* logits, int vocab, int* token) {
  __shared__ Best best[128];
  Best b{-FLT_MAX, -1};
  for (int i = threadIdx.x; i < vocab; i += blockDim.x)
    if (logits[i] > b.v) { b.v = logits[i]; b.i = i; }
  best[threadIdx.x] = b;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s && best[threadIdx.x + s].v > best[threadIdx.x].v) best[threadIdx.x] = best[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) *token = best[0].i;
}

int main(int argc, char** argv) {
  const int heads = 6, hd = 64, max_seq = 200;
  int len = argc > 1 ? atoi(argv[1]) : 150;
  int tokens = 5;
  __half* qk;
  __nv_bfloat16 *qb, *gu, *go;
  int *pos, *tok;
  float *x, *cs, *kc, *vc, *q, *o;
  cudaMalloc(&qk, tokens * heads * hd * sizeof(__half));
  cudaMalloc(&qb, tokens * heads * hd * sizeof(__nv_bfloat16));
  cudaMalloc(&gu, 3 * 2 * 1000 * sizeof(__nv_bfloat16));
  cudaMalloc(&go, 3 * 1000 * sizeof(__nv_bfloat16));
  cudaMalloc(&pos, tokens * sizeof(int));
  cudaMalloc(&tok, sizeof(int));
  cudaMalloc(&x, tokens * heads * hd * sizeof(float));
  cudaMalloc(&cs, tokens * hd * sizeof(float));
  cudaMalloc(&kc, heads * max_seq * hd * sizeof(float));
  cudaMalloc(&vc, heads * max_seq * hd * sizeof(float));
  cudaMalloc(&q, heads * hd * sizeof(float));
  cudaMalloc(&o, heads * hd * sizeof(float));
  std::vector<int> p(tokens);
  for (int i = 0; i < tokens; ++i) p[i] = len - tokens + i;
  cudaMemcpy(pos, p.data(), tokens * sizeof(int), cudaMemcpyHostToDevice);
  rope<__half><<<dim3(tokens, heads), hd / 2>>>(qk, pos, heads, hd, 10000.f);
  rope<__nv_bfloat16><<<dim3(tokens, heads), hd / 2>>>(qb, pos, heads, hd, 10000.f);
  rope_neox<<<tokens, 128>>>(x, heads, hd, cs);
  for (int t = len - 3; t < len; ++t) append_kv<<<heads, hd>>>(q, q, kc, vc, t, max_seq, hd);
  decode_attention<hd><<<heads, 128, len * sizeof(float)>>>(q, kc, vc, o, len, max_seq);
  swiglu<<<dim3((1000 / 8 + 63) / 64, 3), 64>>>(gu, go, 1000);
  argmax<<<1, 128>>>(vc, 3000, tok);
  int t = 0;
  cudaMemcpy(&t, tok, sizeof(int), cudaMemcpyDeviceToHost);
  printf("token %d %s\n", t, cudaGetErrorString(cudaGetLastError()));
  return 0;
}
