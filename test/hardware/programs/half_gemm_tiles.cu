// GEMM study: three ways to feed C(MxN) = A(MxK) * B with 16-bit inputs and float accumulation.
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace gemm {

struct Shape { int m, n, k; };

template <typename T> struct Num;
template <> struct Num<__nv_bfloat16> {
  static __host__ __device__ float up(__nv_bfloat16 v) { return __bfloat162float(v); }
  static __host__ __nv_bfloat16 down(float v) { return __float2bfloat16(v); }
};
template <> struct Num<__half> {
  static __host__ __device__ float up(__half v) { return __half2float(v); }
  static __host__ __half down(float v) { return __float2half(v); }
};

// B given as N x K ("NT").  threadIdx.x walks rows of A, so neighbouring lanes are K apart.
__global__ void naive_nt(const __nv_bfloat16* A, const __nv_bfloat16* Bt, float* C, Shape s) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= s.m || col >= s.n) return;
  float acc = 0.f;
  for (int k = 0; k < s.k; ++k)
    acc += Num<__nv_bfloat16>::up(A[row * s.k + k]) * Num<__nv_bfloat16>::up(Bt[col * s.k + k]);
  C[row * s.n + col] = acc;
}

template <int Tile, int Pad> struct SquarePolicy {
  static constexpr int tile = Tile;
  static constexpr int pitch = Tile + Pad;
};

// B given as N x K; tile kept as it came, so the inner product reads Bs down a column.
template <typename T, typename Policy>
__global__ void tiled_nt(const T* __restrict__ A, const T* __restrict__ Bt, float* __restrict__ C, Shape s) {
  constexpr int TL = Policy::tile;
  __shared__ float As[TL][Policy::pitch];
  __shared__ float Bs[TL][Policy::pitch];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TL + ty;
  const int col0 = blockIdx.x * TL;
  float acc = 0.f;
  for (int k0 = 0; k0 < s.k; k0 += TL) {
    As[ty][tx] = Num<T>::up(A[row * s.k + k0 + tx]);
    Bs[ty][tx] = Num<T>::up(Bt[(col0 + ty) * s.k + k0 + tx]);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < TL; ++kk) acc += As[ty][kk] * Bs[tx][kk];
    __syncthreads();
  }
  C[row * s.n + col0 + tx] = acc;
}

// 64x64x32 block tile, 256 threads, 4x4 outputs per thread, 16-byte global loads.  B is K x N.
__global__ void __launch_bounds__(256) regtile_nn(const __half* __restrict__ A, const __half* __restrict__ B,
                                                  float* __restrict__ C, Shape s) {
  __shared__ __half As[32][64 + 8];              // [k][m]
  __shared__ __align__(16) __half Bs[32][64];    // [k][n]
  const int t = threadIdx.x;
  const int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  const int ar = t >> 2, ac = (t & 3) * 8;
  const int br = t >> 3, bc = (t & 7) * 8;
  const int tm = (t >> 4) * 4, tn = (t & 15) * 4;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < s.k; k0 += 32) {
    const uint4 va = *reinterpret_cast<const uint4*>(A + (m0 + ar) * s.k + k0 + ac);
    const uint4 vb = *reinterpret_cast<const uint4*>(B + (k0 + br) * s.n + n0 + bc);
    const __half* ha = reinterpret_cast<const __half*>(&va);
#pragma unroll
    for (int i = 0; i < 8; ++i) As[ac + i][ar] = ha[i];
    *reinterpret_cast<uint4*>(&Bs[br][bc]) = vb;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; ++kk) {
      float a[4], b[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = __half2float(As[kk][tm + i]);
        b[i] = __half2float(Bs[kk][tn + i]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<float4*>(C + (m0 + tm + i) * s.n + n0 + tn) =
        make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

template <typename T> T* upload(const std::vector<T>& h) {
  T* d = nullptr;
  cudaMalloc(&d, h.size() * sizeof(T));
  cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}
}  // namespace gemm

int main() {
  using namespace gemm;
  constexpr Shape s{512, 768, 384};
  std::mt19937 rng(1234);
  auto draw = [&rng] { return (static_cast<int>(rng() % 17) - 8) * 0.125f; };
  std::vector<float> fa(s.m * s.k), fb(s.k * s.n);
  for (auto& v : fa) v = draw();
  for (auto& v : fb) v = draw();
  std::vector<__nv_bfloat16> a16(fa.size()), bt16(fb.size());
  std::vector<__half> ah(fa.size()), bth(fb.size()), bh(fb.size());
  for (size_t i = 0; i < fa.size(); ++i) { a16[i] = Num<__nv_bfloat16>::down(fa[i]); ah[i] = Num<__half>::down(fa[i]); }
  for (int k = 0; k < s.k; ++k)
    for (int n = 0; n < s.n; ++n) {
      bh[k * s.n + n] = Num<__half>::down(fb[k * s.n + n]);
      bth[n * s.k + k] = bh[k * s.n + n];
      bt16[n * s.k + k] = Num<__nv_bfloat16>::down(fb[k * s.n + n]);
    }
  auto *da16 = upload(a16), *dbt16 = upload(bt16);
  auto *dah = upload(ah), *dbh = upload(bh), *dbth = upload(bth);
  float* dC = nullptr;
  cudaMalloc(&dC, sizeof(float) * s.m * s.n);
  std::vector<float> c(s.m * s.n);

  auto check = [&](const char* name) {
    const bool launched = cudaDeviceSynchronize() == cudaSuccess;
    cudaMemcpy(c.data(), dC, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemset(dC, 0, c.size() * sizeof(float));
    int bad = launched ? 0 : 1;
    for (int i = 0; i < s.m; i += 7)
      for (int j = i % 5; j < s.n; j += 5) {
        double r = 0;
        for (int k = 0; k < s.k; ++k) r += double(fa[i * s.k + k]) * fb[k * s.n + j];
        if (std::fabs(r - c[i * s.n + j]) > 1e-2) ++bad;
      }
    std::printf("%-20s %s\n", name, bad ? "mismatch" : "ok");
    return bad == 0;
  };
  bool ok = true;
  naive_nt<<<dim3(s.m / 32, s.n / 8), dim3(32, 8)>>>(da16, dbt16, dC, s);
  ok &= check("naive bf16");
  tiled_nt<__nv_bfloat16, SquarePolicy<16, 0>><<<dim3(s.n / 16, s.m / 16), dim3(16, 16)>>>(da16, dbt16, dC, s);
  ok &= check("tiled bf16 pad 0");
  tiled_nt<__half, SquarePolicy<32, 1>><<<dim3(s.n / 32, s.m / 32), dim3(32, 32)>>>(dah, dbth, dC, s);
  ok &= check("tiled half pad 1");
  regtile_nn<<<dim3(s.n / 64, s.m / 64), 256>>>(dah, dbh, dC, s);
  ok &= check("register tile half");
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
