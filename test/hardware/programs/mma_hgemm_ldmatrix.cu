// fp16 GEMM with ldmatrix + mma.sync.m16n8k16, fp32 accumulation; B given as N x K ("TN")
#include <cuda_fp16.h>
#include <mma.h>
#include <cstdint>
#include <cstdio>
#include <cmath>
#include <vector>

#define LDMATRIX_X4(R0, R1, R2, R3, addr)                                              \
  asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"     \
               : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3) : "r"(addr))
#define LDMATRIX_X2(R0, R1, addr)                                               \
  asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];\n"     \
               : "=r"(R0), "=r"(R1) : "r"(addr))
#define HMMA16816F32(D, A, B)                                                                   \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n" \
               : "+f"(D[0]), "+f"(D[1]), "+f"(D[2]), "+f"(D[3])                                  \
               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]))

template <bool kSwizzle>
__device__ __forceinline__ int sidx(int row, int col8) {  // 32 halves (4 x 16 byte) in a row
  if constexpr (kSwizzle) return row * 32 + ((col8 ^ ((row >> 1) & 3)) << 3);
  else return row * 32 + (col8 << 3);
}

// block 64x64, 4 warps as 2x2, each 32x32, BK = 32
template <bool kSwizzle>
__global__ void __launch_bounds__(128) hgemm_mma(const half* __restrict__ A, const half* __restrict__ B,
                                                 half* __restrict__ C, int M, int N, int K) {
  __shared__ __align__(128) half sA[64 * 32];
  __shared__ __align__(128) half sB[64 * 32];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int wm = (warp & 1) * 32, wn = (warp >> 1) * 32;
  const int bm = blockIdx.y * 64, bn = blockIdx.x * 64;
  float acc[2][4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int c = tid + i * 128, r = c >> 2, q = c & 3;
      *reinterpret_cast<uint4*>(&sA[sidx<kSwizzle>(r, q)]) = *reinterpret_cast<const uint4*>(&A[(bm + r) * K + k0 + q * 8]);
      *reinterpret_cast<uint4*>(&sB[sidx<kSwizzle>(r, q)]) = *reinterpret_cast<const uint4*>(&B[(bn + r) * K + k0 + q * 8]);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t ra[2][4], rb[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        uint32_t ad = __cvta_generic_to_shared(&sA[sidx<kSwizzle>(wm + i * 16 + (lane & 15), kk * 2 + (lane >> 4))]);
        LDMATRIX_X4(ra[i][0], ra[i][1], ra[i][2], ra[i][3], ad);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t ad = __cvta_generic_to_shared(&sB[sidx<kSwizzle>(wn + j * 8 + (lane & 7), kk * 2 + ((lane >> 3) & 1))]);
        LDMATRIX_X2(rb[j][0], rb[j][1], ad);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) HMMA16816F32(acc[i][j], ra[i], rb[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int r = bm + wm + i * 16 + (lane >> 2), c = bn + wn + j * 8 + (lane & 3) * 2;
      *reinterpret_cast<half2*>(&C[r * N + c]) = __floats2half2_rn(acc[i][j][0], acc[i][j][1]);
      *reinterpret_cast<half2*>(&C[(r + 8) * N + c]) = __floats2half2_rn(acc[i][j][2], acc[i][j][3]);
    }
}

// reference path: wmma straight from global memory, one warp a 16x16 tile
__global__ void hgemm_wmma_naive(const half* A, const half* B, half* C, int M, int N, int K) {
  using namespace nvcuda::wmma;
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int tm = warp / (N / 16) * 16, tn = warp % (N / 16) * 16;
  if (tm >= M) return;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, half> fc;
  fill_fragment(fc, __float2half(0.f));
  for (int k = 0; k < K; k += 16) {
    load_matrix_sync(fa, A + tm * K + k, K);
    load_matrix_sync(fb, B + tn * K + k, K);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(C + tm * N + tn, fc, N, mem_row_major);
}

__global__ void init_half(half* p, int n, unsigned s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { unsigned h = (i + s) * 2654435761u; h ^= h >> 16; p[i] = __float2half((h % 1024) / 2048.f - 0.25f); }
}

int main() {
  const int M = 1024, N = 768, K = 512;
  half *A, *B, *C;
  cudaMalloc(&A, M * K * 2); cudaMalloc(&B, N * K * 2); cudaMalloc(&C, M * N * 2);
  init_half<<<(M * K + 255) / 256, 256>>>(A, M * K, 3);
  init_half<<<(N * K + 255) / 256, 256>>>(B, N * K, 500009);
  std::vector<half> a(M * K), b(N * K), c(M * N);
  cudaMemcpy(a.data(), A, M * K * 2, cudaMemcpyDeviceToHost);
  cudaMemcpy(b.data(), B, N * K * 2, cudaMemcpyDeviceToHost);
  bool ok = true;
  for (int v = 0; v < 3; ++v) {
    cudaMemset(C, 0, M * N * 2);
    dim3 g(N / 64, M / 64);
    if (v == 0) hgemm_mma<false><<<g, 128>>>(A, B, C, M, N, K);
    if (v == 1) hgemm_mma<true><<<g, 128>>>(A, B, C, M, N, K);
    if (v == 2) hgemm_wmma_naive<<<(M / 16) * (N / 16) / 4, 128>>>(A, B, C, M, N, K);
    cudaMemcpy(c.data(), C, M * N * 2, cudaMemcpyDeviceToHost);
    double e = 0;
    for (int t = 0; t < 4000; ++t) {
      int i = t * 31 % M, j = t * 17 % N;
      double s = 0;
      for (int k = 0; k < K; ++k) s += (double)__half2float(a[i * K + k]) * __half2float(b[j * K + k]);
      e = fmax(e, fabs(s - __half2float(c[i * N + j])));
    }
    printf("variant %d err %g %s\n", v, e, cudaGetErrorString(cudaGetLastError()));
    ok &= e < 0.05;
  }
  puts(ok ? "PASS" : "FAIL");
}
