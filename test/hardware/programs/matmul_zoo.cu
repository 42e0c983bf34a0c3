// Course-style matmuls: naive (row/col order), tiled runtime tile width in dynamic shared memory, float4, K-split with atomics, 1-D thread tiling.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define cdiv(a, b) (((a) + (b)-1) / (b))

__global__ void mm_naive(const float *a, const float *b, float *c, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    float v = 0;
    for (int i = 0; i < k; i++) v += a[row * k + i] * b[i * n + col];
    c[row * n + col] = v;
  }
}

__global__ void mm_swapped(const float *a, const float *b, float *c, int m, int n, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float v = 0;
  for (int i = 0; i < k; i++) v += a[row * k + i] * b[i * n + col];
  c[row * n + col] = v;
}

__global__ void mm_tiled_dyn(const float *a, const float *b, float *c, int m, int n, int k, int tw) {
  extern __shared__ float ab[];
  float *as = ab, *bs = ab + tw * tw;
  int ty = threadIdx.y, tx = threadIdx.x;
  int row = blockIdx.y * tw + ty, col = blockIdx.x * tw + tx;
  float acc = 0.0f;
  for (int ph = 0; ph < cdiv(k, tw); ph++) {
    as[ty * tw + tx] = (row < m && ph * tw + tx < k) ? a[row * k + ph * tw + tx] : 0.0f;
    bs[ty * tw + tx] = (ph * tw + ty < k && col < n) ? b[(ph * tw + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < tw; i++) acc += as[ty * tw + i] * bs[i * tw + tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = acc;
}

#define BM 64
#define BN 64
#define BK 8
#define TM 8

__global__ void mm_1d_tile(const float *A, const float *B, float *C, int M, int N, int K) {
  const uint cRow = blockIdx.y, cCol = blockIdx.x;
  const int threadCol = threadIdx.x % BN, threadRow = threadIdx.x / BN;
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  A += cRow * BM * K;
  B += cCol * BN;
  C += cRow * BM * N + cCol * BN;
  assert(BM * BK == blockDim.x);
  const uint innerColA = threadIdx.x % BK, innerRowA = threadIdx.x / BK;
  const uint innerColB = threadIdx.x % BN, innerRowB = threadIdx.x / BN;
  float res[TM] = {0.0};
  for (uint bk = 0; bk < K; bk += BK) {
    As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
    Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint d = 0; d < BK; ++d) {
      float tmpB = Bs[d * BN + threadCol];
      for (uint r = 0; r < TM; ++r) res[r] += As[(threadRow * TM + r) * BK + d] * tmpB;
    }
    __syncthreads();
  }
  for (uint r = 0; r < TM; ++r) C[(threadRow * TM + r) * N + threadCol] = res[r];
}

__global__ void mm_vec4(float *A, float *B, float *C, int M, int N, int K) {
  // 64x64 tile, 256 threads, 4x4 per thread, transposed A tile
  __shared__ float As[16][64];
  __shared__ float Bs[16][64];
  int tid = threadIdx.x, tr = tid / 16, tc = tid % 16;
  float acc[4][4] = {{0}};
  float regM[4], regN[4];
  for (int k0 = 0; k0 < K; k0 += 16) {
    int ar = tid / 4, ac = tid % 4 * 4;
    float4 v = reinterpret_cast<float4 *>(&A[(blockIdx.y * 64 + ar) * K + k0 + ac])[0];
    As[ac + 0][ar] = v.x;
    As[ac + 1][ar] = v.y;
    As[ac + 2][ar] = v.z;
    As[ac + 3][ar] = v.w;
    int br = tid / 16, bc = tid % 16 * 4;
    reinterpret_cast<float4 *>(&Bs[br][bc])[0] = reinterpret_cast<float4 *>(&B[(k0 + br) * N + blockIdx.x * 64 + bc])[0];
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
      for (int i = 0; i < 4; ++i) regM[i] = As[k][tr * 4 + i];
      for (int i = 0; i < 4; ++i) regN[i] = Bs[k][tc * 4 + i];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += regM[i] * regN[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    float4 o = {acc[i][0], acc[i][1], acc[i][2], acc[i][3]};
    *(float4 *)&C[(blockIdx.y * 64 + tr * 4 + i) * N + blockIdx.x * 64 + tc * 4] = o;
  }
}

__global__ void mm_splitk(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k, int chunk) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  int k0 = blockIdx.z * chunk, k1 = min(k, k0 + chunk);
  if (col >= n) return;
  float acc = 0;
  for (int i = k0; i < k1; ++i) acc = fmaf(a[row * k + i], b[i * n + col], acc);
  atomicAdd(c + row * n + col, acc);
}

int main(int argc, char **argv) {
  int m = 128, n = 192, k = 64;
  if (argc == 4) { m = atoi(argv[1]); n = atoi(argv[2]); k = atoi(argv[3]); }
  float *ha = (float *)malloc(m * k * 4), *hb = (float *)malloc(k * n * 4), *hc = (float *)malloc(m * n * 4);
  for (int i = 0; i < m * k; i++) ha[i] = rand() % 4;
  for (int i = 0; i < k * n; i++) hb[i] = rand() % 3;
  float *a, *b, *c;
  cudaMalloc(&a, m * k * 4); cudaMalloc(&b, k * n * 4); cudaMalloc(&c, m * n * 4);
  cudaMemcpy(a, ha, m * k * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, hb, k * n * 4, cudaMemcpyHostToDevice);
  dim3 tpb(16, 16);
  mm_naive<<<dim3(cdiv(n, tpb.x), cdiv(m, tpb.y)), tpb>>>(a, b, c, m, n, k);
  mm_swapped<<<dim3(cdiv(m, tpb.x), cdiv(n, tpb.y)), tpb>>>(a, b, c, m, n, k);
  for (int tw = 8; tw <= 32; tw *= 2) mm_tiled_dyn<<<dim3(cdiv(n, tw), cdiv(m, tw)), dim3(tw, tw), 2 * tw * tw * sizeof(float)>>>(a, b, c, m, n, k, tw);
  mm_1d_tile<<<dim3(cdiv(n, BN), cdiv(m, BM)), (BM * BN) / TM>>>(a, b, c, m, n, k);
  mm_vec4<<<dim3(n / 64, m / 64), 256>>>(a, b, c, m, n, k);
  cudaMemset(c, 0, m * n * 4);
  mm_splitk<<<dim3(cdiv(n, 64), m, 4), 64>>>(a, b, c, n, k, cdiv(k, 4));
  cudaMemcpy(hc, c, m * n * 4, cudaMemcpyDeviceToHost);
  double err = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int x = 0; x < k; x++) s += ha[i * k + x] * hb[x * n + j];
      err += s != hc[i * n + j];
    }
  printf("err %g\n", err);
  return err > 0;
}
