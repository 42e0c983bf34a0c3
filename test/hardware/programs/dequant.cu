#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
struct block_q4 { half d; uint8_t qs[16]; };
struct block_q8 { half d; int8_t qs[32]; };
static_assert(sizeof(block_q4) == 18, "");
__global__ void dequant_q4(const block_q4* __restrict__ x, float* __restrict__ y, int nb) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  int ib = i / 16, iq = i % 16;
  if (ib >= nb) return;
  float d = __half2float(x[ib].d);
  uint8_t q = x[ib].qs[iq];
  y[ib*32 + iq] = ((q & 0xF) - 8)*d;
  y[ib*32 + iq + 16] = ((q >> 4) - 8)*d;
}
__global__ void dequant_q8(const block_q8* __restrict__ x, half* __restrict__ y, int n) {
  int i = 2*(blockIdx.x*blockDim.x + threadIdx.x);
  if (i >= n) return;
  const block_q8* b = x + i/32;
  float d = __half2float(b->d);
  reinterpret_cast<half2*>(y)[i >> 1] = __floats2half2_rn(b->qs[i % 32]*d, b->qs[i % 32 + 1]*d);
}
template <int G>
__global__ void gemv_w4(const uint32_t* __restrict__ W, const half* __restrict__ scale, const half* __restrict__ x, float* __restrict__ y, int K, int N) {
  int row = blockIdx.x*blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (row >= N) return;
  const uint32_t* wr = W + (size_t)row*(K/8);
  float acc = 0;
  for (int k8 = lane; k8 < K/8; k8 += 32) {
    uint32_t p = __ldcs(wr + k8);
    float s = __half2float(scale[row*(K/G) + k8*8/G]);
    uint4 xv = *reinterpret_cast<const uint4*>(x + k8*8);
    const half* xh = reinterpret_cast<const half*>(&xv);
#pragma unroll
    for (int j = 0; j < 8; ++j) acc += float(int((p >> (4*j)) & 15) - 8)*s*__half2float(xh[j]);
  }
#pragma unroll
  for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(~0u, acc, o);
  if (!lane) y[row] = acc;
}
__global__ void int8_gemm_dp4a(const int* __restrict__ A, const int* __restrict__ B, int* __restrict__ C, int M, int N, int K4) {
  __shared__ int As[16][17], Bs[16][17];
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y*16 + ty, c = blockIdx.x*16 + tx, acc = 0;
  for (int k = 0; k < K4; k += 16) {
    As[ty][tx] = A[r*K4 + k + tx];
    Bs[ty][tx] = B[(blockIdx.x*16 + ty)*K4 + k + tx];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) acc = __dp4a(As[ty][i], Bs[tx][i], acc);
    __syncthreads();
  }
  C[r*N + c] = acc;
}
__global__ void quant_rows(const float* __restrict__ x, int8_t* __restrict__ q, float* __restrict__ s, int K) {
  __shared__ float red[32];
  const float4* xr = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x*K);
  float m = 0;
  for (int i = threadIdx.x; i < K/4; i += blockDim.x) { float4 v = xr[i]; m = fmaxf(m, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)))); }
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = m;
  __syncthreads();
  if (threadIdx.x < 32) { m = threadIdx.x < blockDim.x/32 ? red[threadIdx.x] : 0; for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o)); if (!threadIdx.x) red[0] = m; }
  __syncthreads();
  float inv = 127.f/red[0];
  for (int i = threadIdx.x; i < K/4; i += blockDim.x) { float4 v = xr[i]; char4 c = make_char4(rintf(v.x*inv), rintf(v.y*inv), rintf(v.z*inv), rintf(v.w*inv)); reinterpret_cast<char4*>(q + (size_t)blockIdx.x*K)[i] = c; }
  if (threadIdx.x == 0) s[blockIdx.x] = red[0]/127.f;
}
int main() {
  int K = 4096, N = 1024; block_q4* q4; block_q8* q8; float *y, *s; half* h; uint32_t* W; int8_t* q;
  cudaMalloc(&q4, K*N/32*18); cudaMalloc(&q8, K*N/32*34); cudaMalloc(&y, K*N*4); cudaMalloc(&h, K*N*2); cudaMalloc(&W, K*N/2); cudaMalloc(&q, K*N); cudaMalloc(&s, N*4);
  dequant_q4<<<K*N/32*16/256, 256>>>(q4, y, K*N/32);
  dequant_q8<<<K*N/2/256, 256>>>(q8, h, K*N);
  gemv_w4<128><<<N/4, dim3(32,4)>>>(W, h, h, y, K, N);
  quant_rows<<<N, 256>>>(y, q, s, K);
  int8_gemm_dp4a<<<dim3(N/16,N/16), dim3(16,16)>>>((int*)q, (int*)q, (int*)y, N, N, K/4);
  cudaDeviceSynchronize(); puts("ok");
}
