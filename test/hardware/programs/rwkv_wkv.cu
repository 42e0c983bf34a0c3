// RWKV-4 block pieces: token shift, wkv recurrence (forward), channel mix. half weights, float state.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

#define CUDA_OK(call) do { cudaError_t err = (call); if (err != cudaSuccess) { fprintf(stderr, "CUDA %s (%s:%d)\n", cudaGetErrorString(err), __FILE__, __LINE__); exit(1); } } while (0)

static const int B = 4, T = 64, C = 512, F = 1024;

// x_mix = x * mix + x_prev * (1 - mix), three outputs at once
__global__ void token_shift_kernel(const int T, const int C, const float* __restrict__ x,
                                   const float* __restrict__ mk, const float* __restrict__ mv, const float* __restrict__ mr,
                                   __half* __restrict__ xk, __half* __restrict__ xv, __half* __restrict__ xr) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int t = blockIdx.y;
  const int b = blockIdx.z;
  if (c >= C) return;
  const size_t idx = ((size_t)b * T + t) * C + c;
  const float cur = x[idx];
  const float prev = t > 0 ? x[idx - C] : 0.f;
  xk[idx] = __float2half(cur * mk[c] + prev * (1.f - mk[c]));
  xv[idx] = __float2half(cur * mv[c] + prev * (1.f - mv[c]));
  xr[idx] = __float2half(cur * mr[c] + prev * (1.f - mr[c]));
}

enum Act { ACT_NONE, ACT_SIGMOID, ACT_SQRELU };

template <int A> __device__ __forceinline__ float act(float v) {
  if (A == ACT_SIGMOID) return 1.f / (1.f + __expf(-v));
  if (A == ACT_SQRELU) { v = fmaxf(v, 0.f); return v * v; }
  return v;
}

// y[m][n] = act(sum_k x[m][k] * w[n][k]); 32x32 tile, half2 loads of k
template <int A, typename OutT>
__global__ void linear_kernel(const __half* __restrict__ x, const __half* __restrict__ w, OutT* __restrict__ y,
                              int M, int N, int K) {
  __shared__ __half2 sx[32][17];
  __shared__ __half2 sw[32][17];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int m0 = blockIdx.y * 32;
  const int n0 = blockIdx.x * 32;
  float acc[4] = {0.f, 0.f, 0.f, 0.f};
  const int lid = ty * 32 + tx;
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int e = lid; e < 32 * 16; e += 256) {
      const int r = e / 16;
      const int c = e % 16;
      sx[r][c] = *reinterpret_cast<const __half2*>(x + (size_t)(m0 + r) * K + k0 + 2 * c);
      sw[r][c] = *reinterpret_cast<const __half2*>(w + (size_t)(n0 + r) * K + k0 + 2 * c);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const float2 b = __half22float2(sw[tx][k]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 a = __half22float2(sx[ty + 8 * i][k]);
        acc[i] += a.x * b.x + a.y * b.y;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    y[(size_t)(m0 + ty + 8 * i) * N + n0 + tx] = (OutT)act<A>(acc[i]);
  }
}

// as in the RWKV-LM repository: one thread per (b, c), loop over time
__global__ void wkv_forward(const int T, const int C, const float* __restrict__ _w, const float* __restrict__ _u,
                            const float* __restrict__ _k, const float* __restrict__ _v, float* __restrict__ _y) {
  const int idx = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = idx / C;
  const int c = idx % C;
  const int offset = b * T * C + c;
  const float u = _u[c];
  const float w = _w[c];
  const float* k = _k + offset;
  const float* v = _v + offset;
  float* y = _y + offset;
  float p = 0, q = 0, o = -1e38f;
  for (int i = 0; i < T; i++) {
    const int ii = i * C;
    float no = fmaxf(o, u + k[ii]);
    float A = expf(o - no);
    float Bf = expf(u + k[ii] - no);
    y[ii] = (A * p + Bf * v[ii]) / (A * q + Bf);
    no = fmaxf(w + o, k[ii]);
    A = expf(w + o - no);
    Bf = expf(k[ii] - no);
    p = A * p + Bf * v[ii];
    q = A * q + Bf;
    o = no;
  }
}

__global__ void gate_kernel(const float* __restrict__ r, const float* __restrict__ y, __half* __restrict__ out, int n4) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  const float4 a = reinterpret_cast<const float4*>(r)[i];
  const float4 b = reinterpret_cast<const float4*>(y)[i];
  __half2 h0 = __floats2half2_rn(a.x * b.x, a.y * b.y);
  __half2 h1 = __floats2half2_rn(a.z * b.z, a.w * b.w);
  reinterpret_cast<__half2*>(out)[2 * i] = h0;
  reinterpret_cast<__half2*>(out)[2 * i + 1] = h1;
}

// layer norm, one warp a row, for the residual stream
__global__ void layernorm_kernel(const float* __restrict__ x, const __half* __restrict__ g, float* __restrict__ y, int rows, int C) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float s = 0.f, s2 = 0.f;
  for (int c = threadIdx.x; c < C; c += 32) {
    const float v = x[(size_t)row * C + c] + __half2float(g[(size_t)row * C + c]);
    s += v;
    s2 += v * v;
  }
  for (int m = 16; m; m >>= 1) {
    s += __shfl_xor_sync(~0u, s, m);
    s2 += __shfl_xor_sync(~0u, s2, m);
  }
  const float mean = s / C;
  const float rstd = rsqrtf(s2 / C - mean * mean + 1e-5f);
  for (int c = threadIdx.x; c < C; c += 32) {
    const float v = x[(size_t)row * C + c] + __half2float(g[(size_t)row * C + c]);
    y[(size_t)row * C + c] = (v - mean) * rstd;
  }
}

static unsigned rng_state = 12345u;
static float frand() {
  rng_state = rng_state * 1664525u + 1013904223u;
  return (float)(rng_state >> 8) / 16777216.f * 2.f - 1.f;
}

template <typename T_> static T_* upload(const std::vector<T_>& h) {
  T_* d;
  CUDA_OK(cudaMalloc(&d, h.size() * sizeof(T_)));
  CUDA_OK(cudaMemcpy(d, h.data(), h.size() * sizeof(T_), cudaMemcpyHostToDevice));
  return d;
}
template <typename T_> static T_* dalloc(size_t n) {
  T_* d;
  CUDA_OK(cudaMalloc(&d, n * sizeof(T_)));
  return d;
}
template <typename T_> static std::vector<T_> download(const T_* d, size_t n) {
  std::vector<T_> h(n);
  CUDA_OK(cudaMemcpy(h.data(), d, n * sizeof(T_), cudaMemcpyDeviceToHost));
  return h;
}

int main() {
  const int M = B * T;
  std::vector<float> x(M * C), mk(C), mv(C), mr(C), w(C), u(C);
  for (auto& v : x) v = frand();
  for (int c = 0; c < C; ++c) {
    mk[c] = 0.5f + 0.4f * frand();
    mv[c] = 0.5f + 0.4f * frand();
    mr[c] = 0.5f + 0.4f * frand();
    w[c] = -expf(frand());
    u[c] = frand();
  }
  const float sc = 1.5f / sqrtf((float)C);
  std::vector<__half> wk(C * C), wv(C * C), wr(C * C), fk(F * C);
  for (auto* m : {&wk, &wv, &wr, &fk})
    for (auto& v : *m) v = __float2half(frand() * sc);

  float *dx = upload(x), *dmk = upload(mk), *dmv = upload(mv), *dmr = upload(mr), *dw = upload(w), *du = upload(u);
  __half *dwk = upload(wk), *dwv = upload(wv), *dwr = upload(wr), *dfk = upload(fk);
  __half *xk = dalloc<__half>(M * C), *xv = dalloc<__half>(M * C), *xr = dalloc<__half>(M * C), *g = dalloc<__half>(M * C);
  float *k = dalloc<float>(M * C), *v = dalloc<float>(M * C), *r = dalloc<float>(M * C), *y = dalloc<float>(M * C), *ln = dalloc<float>(M * C);
  __half* ff = dalloc<__half>(M * F);

  token_shift_kernel<<<dim3(C / 256, T, B), 256>>>(T, C, dx, dmk, dmv, dmr, xk, xv, xr);
  const dim3 blk(32, 8);
  linear_kernel<ACT_NONE, float><<<dim3(C / 32, M / 32), blk>>>(xk, dwk, k, M, C, C);
  linear_kernel<ACT_NONE, float><<<dim3(C / 32, M / 32), blk>>>(xv, dwv, v, M, C, C);
  linear_kernel<ACT_SIGMOID, float><<<dim3(C / 32, M / 32), blk>>>(xr, dwr, r, M, C, C);
  wkv_forward<<<B * C / 32, 32>>>(T, C, dw, du, k, v, y);
  gate_kernel<<<(M * C / 4 + 255) / 256, 256>>>(r, y, g, M * C / 4);
  layernorm_kernel<<<M / 4, dim3(32, 4)>>>(dx, g, ln, M, C);
  linear_kernel<ACT_SQRELU, __half><<<dim3(F / 32, M / 32), blk>>>(g, dfk, ff, M, F, C);
  CUDA_OK(cudaDeviceSynchronize());

  // every stage is checked against the host from its own device inputs
  auto hxk = download(xk, M * C);
  auto hxr = download(xr, M * C);
  auto hk = download(k, M * C);
  auto hv = download(v, M * C);
  auto hr = download(r, M * C);
  auto hy = download(y, M * C);
  auto hg = download(g, M * C);
  auto hln = download(ln, M * C);
  auto hff = download(ff, M * F);
  double e_shift = 0, e_lin = 0, e_wkv = 0, e_gate = 0, e_ln = 0, e_ff = 0;
  for (int i = 0; i < M * C; ++i) {
    const int c = i % C, t = i / C % T;
    const float prev = t ? x[i - C] : 0.f;
    e_shift = fmax(e_shift, fabs(__half2float(hxk[i]) - (x[i] * mk[c] + prev * (1 - mk[c]))));
    e_gate = fmax(e_gate, fabs(__half2float(hg[i]) - hr[i] * hy[i]));
  }
  for (int s = 0; s < 3000; ++s) {
    const int m = (s * 131) % M, n = (s * 71) % C;
    double a = 0, b = 0, f = 0;
    const int nf = (s * 57) % F;
    for (int c = 0; c < C; ++c) {
      a += (double)__half2float(hxk[m * C + c]) * __half2float(wk[n * C + c]);
      b += (double)__half2float(hxr[m * C + c]) * __half2float(wr[n * C + c]);
      f += (double)__half2float(hg[m * C + c]) * __half2float(fk[nf * C + c]);
    }
    e_lin = fmax(e_lin, fabs(a - hk[m * C + n]));
    e_lin = fmax(e_lin, fabs(1.0 / (1.0 + exp(-b)) - hr[m * C + n]));
    f = f > 0 ? f * f : 0;
    e_ff = fmax(e_ff, fabs(f - __half2float(hff[m * F + nf])) / (1.0 + f));
  }
  for (int b = 0; b < B; ++b)
    for (int c = 0; c < C; ++c) {
      double p = 0, q = 0;
      for (int t = 0; t < T; ++t) {
        const size_t i = ((size_t)b * T + t) * C + c;
        const double ek = exp((double)hk[i]), eu = exp((double)hk[i] + u[c]);
        e_wkv = fmax(e_wkv, fabs((p + eu * hv[i]) / (q + eu) - hy[i]));
        p = exp((double)w[c]) * p + ek * hv[i];
        q = exp((double)w[c]) * q + ek;
      }
    }
  for (int m = 0; m < M; ++m) {
    double s = 0, s2 = 0;
    for (int c = 0; c < C; ++c) {
      const double z = x[m * C + c] + __half2float(hg[m * C + c]);
      s += z;
      s2 += z * z;
    }
    const double mean = s / C, rstd = 1.0 / sqrt(s2 / C - mean * mean + 1e-5);
    for (int c = 0; c < C; ++c)
      e_ln = fmax(e_ln, fabs((x[m * C + c] + __half2float(hg[m * C + c]) - mean) * rstd - hln[m * C + c]));
  }
  printf("shift %.2e linear %.2e wkv %.2e gate %.2e ln %.2e ff %.2e\n", e_shift, e_lin, e_wkv, e_gate, e_ln, e_ff);
  const bool ok = e_shift < 2e-3 && e_lin < 2e-3 && e_wkv < 1e-3 && e_gate < 4e-3 && e_ln < 1e-3 && e_ff < 4e-3;
  printf(ok ? "PASS\n" : "FAIL\n");
  return ok ? 0 : 1;
}
