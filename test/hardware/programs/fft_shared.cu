// Radix-2 FFTs: one block per signal in shared memory (float2 and split), and a global multi-pass Stockham.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

using cpx = float2;
__device__ __forceinline__ cpx cadd(cpx a, cpx b) { return {a.x + b.x, a.y + b.y}; }
__device__ __forceinline__ cpx csub(cpx a, cpx b) { return {a.x - b.x, a.y - b.y}; }
__device__ __forceinline__ cpx cmul(cpx a, cpx b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

template <int LOGN>
__global__ void fft_block(cpx* __restrict__ data) {
  constexpr int N = 1 << LOGN;
  __shared__ cpx s[N];
  cpx* sig = data + blockIdx.x * N;
  for (int i = threadIdx.x; i < N; i += blockDim.x) s[__brev(i) >> (32 - LOGN)] = sig[i];
  __syncthreads();
  for (int half = 1; half < N; half <<= 1) {
    int k = threadIdx.x;
    int pos = k & (half - 1);
    int i = ((k - pos) << 1) + pos;
    float sn, cs;
    __sincosf(-3.14159265f * pos / half, &sn, &cs);
    cpx a = s[i], b = cmul(s[i + half], cpx{cs, sn});
    __syncthreads();
    s[i] = cadd(a, b);
    s[i + half] = csub(a, b);
    __syncthreads();
  }
  for (int i = threadIdx.x; i < N; i += blockDim.x) sig[i] = s[i];
}

__global__ void fft_split(float* re, float* im, int n, const float2* __restrict__ tw) {
  extern __shared__ float sm[];
  float* sr = sm;
  float* si = sm + n;
  int t = threadIdx.x;
  re += blockIdx.x * n;
  im += blockIdx.x * n;
  sr[t] = re[t]; sr[t + n / 2] = re[t + n / 2];
  si[t] = im[t]; si[t + n / 2] = im[t + n / 2];
  __syncthreads();
  // decimation in frequency, output stays permuted
  for (int span = n / 2, step = 1; span > 0; span >>= 1, step <<= 1) {
    int j = t % span, base = (t / span) * 2 * span;
    float ar = sr[base + j], ai = si[base + j];
    float br = sr[base + j + span], bi = si[base + j + span];
    float2 w = tw[j * step];
    sr[base + j] = ar + br;
    si[base + j] = ai + bi;
    float dr = ar - br, di = ai - bi;
    sr[base + j + span] = dr * w.x - di * w.y;
    si[base + j + span] = dr * w.y + di * w.x;
    __syncthreads();
  }
  re[t] = sr[t]; re[t + n / 2] = sr[t + n / 2];
  im[t] = si[t]; im[t + n / 2] = si[t + n / 2];
}

__global__ void stockham_pass(const cpx* __restrict__ in, cpx* __restrict__ out, int n, int p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 2) return;
  int k = i & (p - 1);
  int j = ((i - k) << 1) + k;
  float ang = -3.14159265f * k / p;
  cpx w = {cosf(ang), sinf(ang)};
  cpx a = in[i], b = cmul(w, in[i + n / 2]);
  out[j] = cadd(a, b);
  out[j + p] = csub(a, b);
}

int main(int argc, char** argv) {
  int signals = argc > 1 ? atoi(argv[1]) : 30;
  constexpr int LOGN = 10, N = 1 << LOGN;
  std::vector<cpx> h(signals * N);
  for (size_t i = 0; i < h.size(); ++i) h[i] = cpx{cosf(0.1f * i), 0.f};
  cpx *d, *e, *tw;
  cudaMalloc(&d, h.size() * sizeof(cpx));
  cudaMalloc(&e, h.size() * sizeof(cpx));
  cudaMalloc(&tw, 256 * sizeof(cpx));
  cudaMemcpy(d, h.data(), h.size() * sizeof(cpx), cudaMemcpyHostToDevice);
  fft_block<LOGN><<<signals, N / 2>>>(d);
  std::vector<cpx> t(256);
  for (int i = 0; i < 256; i++) t[i] = {cosf(-2 * M_PI * i / 512), sinf(-2 * M_PI * i / 512)};
  cudaMemcpy(tw, t.data(), t.size() * sizeof(cpx), cudaMemcpyHostToDevice);
  float *re, *im;
  cudaMalloc(&re, 8 * 512 * sizeof(float));
  cudaMalloc(&im, 8 * 512 * sizeof(float));
  cudaMemset(re, 0, 8 * 512 * sizeof(float));
  cudaMemset(im, 0, 8 * 512 * sizeof(float));
  fft_split<<<8, 256, 2 * 512 * sizeof(float)>>>(re, im, 512, tw);
  int n = 8192;
  cpx *src = d, *dst = e;
  for (int p = 1; p < n; p *= 2) {
    stockham_pass<<<n / 2 / 128, 128>>>(src, dst, n, p);
    cpx* x = src; src = dst; dst = x;
  }
  cudaMemcpy(h.data(), src, n * sizeof(cpx), cudaMemcpyDeviceToHost);
  printf("%f %f\n", h[0].x, h[0].y);
  return cudaGetLastError();
}
