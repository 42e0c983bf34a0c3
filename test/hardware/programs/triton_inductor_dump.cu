// AOT dump of the fused kernels that an Inductor-like compiler emits for one small encoder block.
// Names, the linear-layout index arithmetic and the xmask/rmask style are left as generated;
// only the host wrapper ("call") and the checks were typed by a human.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cmath>
#include <vector>

struct __align__(16) v4f32 { float e[4]; };

// ---- helpers in the generated prologue -----------------------------------------------------
static __device__ __forceinline__ float tl_ld(const float* p, bool m, float other) { return m ? *p : other; }
static __device__ __forceinline__ v4f32 tl_ld4(const float* p, bool m) {
  v4f32 r;
  if (m) { r = *reinterpret_cast<const v4f32*>(p); }
  else { r.e[0] = 0.f; r.e[1] = 0.f; r.e[2] = 0.f; r.e[3] = 0.f; }
  return r;
}
static __device__ __forceinline__ void tl_st4(float* p, const v4f32& v, bool m) { if (m) *reinterpret_cast<v4f32*>(p) = v; }

// def triton_poi_fused_add_gelu_0(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : 512)  num_warps=4
__global__ void triton_poi_fused_add_gelu_0(const float* in_ptr0, const float* in_ptr1, float* out_ptr0, int xnumel) {
  const int tid = threadIdx.x;
  const int xoffset = blockIdx.x * 512;
  const int xindex = xoffset + (tid & 127) * 4;
  const bool xmask = xindex < xnumel;
  const int x0 = xindex % 768;
  v4f32 tmp0 = tl_ld4(in_ptr0 + xindex, xmask);
  v4f32 tmp1 = tl_ld4(in_ptr1 + x0, xmask);
  v4f32 tmp8;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float tmp2 = tmp0.e[i] + tmp1.e[i];
    float tmp3 = 0.5f;
    float tmp4 = tmp2 * tmp3;
    float tmp5 = tmp2 * 0.7071067811865476f;
    float tmp6 = erff(tmp5);
    float tmp7 = tmp6 + 1.0f;
    tmp8.e[i] = tmp4 * tmp7;
  }
  tl_st4(out_ptr0 + xindex, tmp8, xmask);
}

// def triton_per_fused_native_layer_norm_1(..., xnumel, rnumel=768, RBLOCK : 1024)  num_warps=8
__global__ void triton_per_fused_native_layer_norm_1(const float* in_ptr0, const float* in_ptr1, const float* in_ptr2,
                                                     float* out_ptr0, float* out_ptr1, int xnumel) {
  __shared__ float smem[8];
  const int tid = threadIdx.x;
  const int xindex = blockIdx.x;
  const int rindex = tid * 4;
  const bool rmask = rindex < 768;
  v4f32 tmp0 = tl_ld4(in_ptr0 + (rindex + 768 * xindex), rmask);
  float tmp1 = tmp0.e[0] + tmp0.e[1] + tmp0.e[2] + tmp0.e[3];
#pragma unroll
  for (int o = 16; o; o >>= 1) tmp1 += __shfl_xor_sync(0xffffffffu, tmp1, o);
  if ((tid & 31) == 0) smem[tid >> 5] = tmp1;
  __syncthreads();
  float tmp2 = smem[tid & 7];
#pragma unroll
  for (int o = 4; o; o >>= 1) tmp2 += __shfl_xor_sync(0xffffffffu, tmp2, o);
  float tmp3 = tmp2 / 768.0f;
  __syncthreads();
  float tmp4 = 0.f;
#pragma unroll
  for (int i = 0; i < 4; ++i) { float d = rmask ? tmp0.e[i] - tmp3 : 0.f; tmp4 += d * d; }
#pragma unroll
  for (int o = 16; o; o >>= 1) tmp4 += __shfl_xor_sync(0xffffffffu, tmp4, o);
  if ((tid & 31) == 0) smem[tid >> 5] = tmp4;
  __syncthreads();
  float tmp5 = smem[tid & 7];
#pragma unroll
  for (int o = 4; o; o >>= 1) tmp5 += __shfl_xor_sync(0xffffffffu, tmp5, o);
  float tmp6 = rsqrtf(tmp5 / 768.0f + 1e-5f);
  v4f32 tmp7 = tl_ld4(in_ptr1 + rindex, rmask);
  v4f32 tmp8 = tl_ld4(in_ptr2 + rindex, rmask);
  v4f32 tmp9;
#pragma unroll
  for (int i = 0; i < 4; ++i) tmp9.e[i] = (tmp0.e[i] - tmp3) * tmp6 * tmp7.e[i] + tmp8.e[i];
  tl_st4(out_ptr0 + (rindex + 768 * xindex), tmp9, rmask);
  if (tid == 0) out_ptr1[xindex] = tmp6;
}

// def triton_red_fused_mean_2(in_ptr0, out_ptr0, xnumel, rnumel, XBLOCK : 64, RBLOCK : 8)  num_warps=4
// reduction over the OUTER dim: x is contiguous
__global__ void triton_red_fused_mean_2(const float* in_ptr0, float* out_ptr0, int xnumel, int rnumel) {
  __shared__ float smem[8 * 64];
  const int tid = threadIdx.x;
  const int xoffset = blockIdx.x * 64;
  const int xbase = (tid & 15) * 4;
  const int rbase = tid >> 4;              // 8 row groups
  const int xindex = xoffset + xbase;
  const bool xmask = xindex < xnumel;
  float acc[4] = {0.f, 0.f, 0.f, 0.f};
  for (int roffset = 0; roffset < rnumel; roffset += 8) {
    const int rindex = roffset + rbase;
    const bool rmask = rindex < rnumel;
    v4f32 t = tl_ld4(in_ptr0 + (xindex + xnumel * rindex), rmask & xmask);
#pragma unroll
    for (int i = 0; i < 4; ++i) acc[i] += t.e[i];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) smem[(xbase + i) * 8 + rbase] = acc[i];
  __syncthreads();
  if (tid < 64) {
    float tmp2 = 0.f;
#pragma unroll
    for (int r = 0; r < 8; ++r) tmp2 += smem[tid * 8 + r];
    if (xoffset + tid < xnumel) out_ptr0[xoffset + tid] = tmp2 / (float)rnumel;
  }
}

// def triton_poi_fused_permute_clone_3: (S, H=12, D=64) -> (H, S, D), one element per lane, XBLOCK : 256
__global__ void triton_poi_fused_permute_clone_3(const float* in_ptr0, float* out_ptr0, int ks0, int xnumel) {
  const int xindex = blockIdx.x * 256 + threadIdx.x;
  const bool xmask = xindex < xnumel;
  const int x0 = xindex % 64;
  const int x1 = (xindex / 64) % ks0;
  const int x2 = xindex / (64 * ks0);
  float tmp0 = tl_ld(in_ptr0 + (x0 + 64 * x2 + 768 * x1), xmask, 0.f);
  if (xmask) out_ptr0[xindex] = tmp0;
}

// def triton_poi_fused_permute_clone_4: (H, S, D) -> (H, D, S); YBLOCK : 32, XBLOCK : 32 through smem with XOR order
__global__ void triton_poi_fused_permute_clone_4(const float* in_ptr0, float* out_ptr0, int ynumel, int xnumel) {
  __shared__ float smem[32 * 32];
  const int tid = threadIdx.x;
  const int yoffset = blockIdx.y * 32;     // s
  const int xoffset = blockIdx.x * 32;     // d
  const int z0 = blockIdx.z;
  const int c = tid & 31, r = tid >> 5;
#pragma unroll
  for (int i = 0; i < 32; i += 4) {
    const int yindex = yoffset + r + i;
    float v = tl_ld(in_ptr0 + ((xoffset + c) + 64 * yindex + 64 * ynumel * z0), yindex < ynumel && xoffset + c < xnumel, 0.f);
    smem[(r + i) * 32 + (c ^ (r + i))] = v;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 4) {
    const int xindex = xoffset + r + i;
    const int yindex = yoffset + c;
    if (yindex < ynumel && xindex < xnumel) out_ptr0[yindex + ynumel * xindex + 64 * ynumel * z0] = smem[c * 32 + ((r + i) ^ c)];
  }
}

// def triton_per_fused_softmax_5(in_ptr0, out_ptr0, xnumel, rnumel, XBLOCK : 4, RBLOCK : 128)  num_warps=4
__global__ void triton_per_fused_softmax_5(const float* in_ptr0, float* out_ptr0, int xnumel, int rnumel) {
  const int xindex = blockIdx.x * 4 + (threadIdx.x >> 5);
  const bool xmask = xindex < xnumel;
  const int r0 = threadIdx.x & 31;
  float t[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) t[i] = tl_ld(in_ptr0 + (r0 + 32 * i + rnumel * xindex), xmask & (r0 + 32 * i < rnumel), -INFINITY);
  float m = fmaxf(fmaxf(t[0], t[1]), fmaxf(t[2], t[3]));
#pragma unroll
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
  float s = 0.f;
#pragma unroll
  for (int i = 0; i < 4; ++i) { t[i] = xmask && (r0 + 32 * i < rnumel) ? __expf(t[i] - m) : 0.f; s += t[i]; }
#pragma unroll
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (xmask & (r0 + 32 * i < rnumel)) out_ptr0[r0 + 32 * i + rnumel * xindex] = t[i] / s;
}

// def triton_poi_fused_cat_6: cat([a(:, 96), b(:, 161)], dim=1): two masked sources, XBLOCK : 128
__global__ void triton_poi_fused_cat_6(const float* in_ptr0, const float* in_ptr1, float* out_ptr0, int xnumel) {
  const int xindex = blockIdx.x * 128 + threadIdx.x;
  const bool xmask = xindex < xnumel;
  const int x0 = xindex % 257;
  const int x1 = xindex / 257;
  const bool tmp3 = x0 < 96;
  float tmp4 = tl_ld(in_ptr0 + (96 * x1 + x0), tmp3 & xmask, 0.f);
  float tmp7 = tl_ld(in_ptr1 + (161 * x1 + (x0 - 96)), (!tmp3) & xmask, 0.f);
  float tmp8 = tmp3 ? tmp4 : tmp7;
  if (xmask) out_ptr0[xindex] = tmp8;
}

// ---- human-typed wrapper -------------------------------------------------------------------
static uint32_t g_seed = 20240611u;
static float frand() { g_seed = g_seed * 1664525u + 1013904223u; return (float)(g_seed >> 9) / 4194304.0f - 1.0f; }
static std::vector<float> randn(size_t n) { std::vector<float> v(n); for (auto& x : v) x = frand(); return v; }
static float* empty_strided_cuda(size_t n) { float* p; if (cudaMalloc(&p, n * 4) != cudaSuccess) exit(3); cudaMemset(p, 0, n * 4); return p; }
static float* to_cuda(const std::vector<float>& v) { float* p = empty_strided_cuda(v.size()); cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice); return p; }
static std::vector<float> cpu(const float* p, size_t n) { std::vector<float> v(n); cudaMemcpy(v.data(), p, n * 4, cudaMemcpyDeviceToHost); return v; }
static int cdiv(int a, int b) { return (a + b - 1) / b; }
static int check(const char* what, const std::vector<float>& got, const std::vector<float>& want, float tol) {
  size_t bad = 0; double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    double e = std::fabs((double)got[i] - want[i]) / (1.0 + std::fabs(want[i]));
    if (!(e <= tol)) ++bad;
    if (e > worst) worst = e;
  }
  printf("%-28s max err %.3g %s\n", what, worst, bad ? "BAD" : "ok");
  return bad != 0;
}

int main(int argc, char** argv) {
  const int S = argc > 1 ? atoi(argv[1]) : 407;   // sequence length, deliberately odd
  const int C = 768, H = 12, D = 64;
  auto x = randn((size_t)S * C), bias = randn(C), w = randn(C), b = randn(C);
  float *arg0 = to_cuda(x), *arg1 = to_cuda(bias), *arg2 = to_cuda(w), *arg3 = to_cuda(b);
  float *buf0 = empty_strided_cuda((size_t)S * C), *buf1 = empty_strided_cuda((size_t)S * C), *buf2 = empty_strided_cuda(S);
  float *buf3 = empty_strided_cuda(C), *buf4 = empty_strided_cuda((size_t)S * C), *buf5 = empty_strided_cuda((size_t)S * C);
  triton_poi_fused_add_gelu_0<<<cdiv(S * C, 512), 128>>>(arg0, arg1, buf0, S * C);
  triton_per_fused_native_layer_norm_1<<<S, 256>>>(buf0, arg2, arg3, buf1, buf2, S);
  triton_red_fused_mean_2<<<cdiv(C, 64), 128>>>(buf1, buf3, C, S);
  triton_poi_fused_permute_clone_3<<<cdiv(S * C, 256), 256>>>(buf1, buf4, S, S * C);
  triton_poi_fused_permute_clone_4<<<dim3(cdiv(D, 32), cdiv(S, 32), H), 128>>>(buf4, buf5, S, D);
  const int R = 99, X = 1003;
  auto lg = randn((size_t)X * R);
  float *arg4 = to_cuda(lg), *buf6 = empty_strided_cuda((size_t)X * R);
  triton_per_fused_softmax_5<<<cdiv(X, 4), 128>>>(arg4, buf6, X, R);
  const int N = 300;
  auto ca = randn((size_t)N * 96), cb = randn((size_t)N * 161);
  float *arg5 = to_cuda(ca), *arg6 = to_cuda(cb), *buf7 = empty_strided_cuda((size_t)N * 257);
  triton_poi_fused_cat_6<<<cdiv(N * 257, 128), 128>>>(arg5, arg6, buf7, N * 257);
  if (cudaDeviceSynchronize() != cudaSuccess) { puts("launch failure\nFAIL"); return 2; }

  int fail = 0;
  std::vector<float> r0((size_t)S * C), r1((size_t)S * C), r2(S), r3(C), r4((size_t)S * C), r5((size_t)S * C);
  for (int i = 0; i < S * C; ++i) { double t = (double)x[i] + bias[i % C]; r0[i] = (float)(0.5 * t * (1 + erf(t * 0.7071067811865476))); }
  std::vector<double> col(C, 0.0);
  for (int s = 0; s < S; ++s) {
    double m = 0, v = 0;
    for (int c = 0; c < C; ++c) m += r0[(size_t)s * C + c];
    m /= C;
    for (int c = 0; c < C; ++c) { double d = r0[(size_t)s * C + c] - m; v += d * d; }
    double rs = 1.0 / sqrt(v / C + 1e-5);
    r2[s] = (float)rs;
    for (int c = 0; c < C; ++c) { r1[(size_t)s * C + c] = (float)((r0[(size_t)s * C + c] - m) * rs * w[c] + b[c]); col[c] += r1[(size_t)s * C + c]; }
  }
  for (int c = 0; c < C; ++c) r3[c] = (float)(col[c] / S);
  for (int h = 0; h < H; ++h) for (int s = 0; s < S; ++s) for (int d = 0; d < D; ++d) {
    float v = r1[(size_t)s * C + h * D + d];
    r4[((size_t)h * S + s) * D + d] = v;
    r5[((size_t)h * D + d) * S + s] = v;
  }
  fail |= check("add_gelu", cpu(buf0, r0.size()), r0, 1e-5f);
  fail |= check("native_layer_norm", cpu(buf1, r1.size()), r1, 1e-4f);
  fail |= check("rstd", cpu(buf2, S), r2, 1e-4f);
  fail |= check("mean over rows", cpu(buf3, C), r3, 1e-4f);
  fail |= check("permute S,H,D", cpu(buf4, r4.size()), r4, 1e-4f);
  fail |= check("permute H,D,S", cpu(buf5, r5.size()), r5, 1e-4f);
  std::vector<float> r6((size_t)X * R), r7((size_t)N * 257);
  for (int i = 0; i < X; ++i) {
    double s = 0; float m = -1e30f;
    for (int j = 0; j < R; ++j) m = fmaxf(m, lg[(size_t)i * R + j]);
    for (int j = 0; j < R; ++j) s += exp((double)lg[(size_t)i * R + j] - m);
    for (int j = 0; j < R; ++j) r6[(size_t)i * R + j] = (float)(exp((double)lg[(size_t)i * R + j] - m) / s);
  }
  for (int i = 0; i < N; ++i) for (int j = 0; j < 257; ++j) r7[(size_t)i * 257 + j] = j < 96 ? ca[i * 96 + j] : cb[i * 161 + j - 96];
  fail |= check("softmax", cpu(buf6, r6.size()), r6, 1e-5f);
  fail |= check("cat", cpu(buf7, r7.size()), r7, 0.f);
  puts(fail ? "FAIL" : "PASS");
  return fail;
}
