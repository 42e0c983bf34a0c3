// Weight-only int4 (group 128, scales + zeros in half) GEMV and small-batch GEMM; int8 dp4a variant
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cmath>
#include <vector>

static constexpr int kGroup = 128;

__device__ __forceinline__ float warp_reduce(float v) {
#pragma unroll
  for (int i = 16; i >= 1; i >>= 1) v += __shfl_xor_sync(0xffffffff, v, i);
  return v;
}

// weight: [OC, IC/8] packed; scales/zeros: [OC, IC/kGroup]; one warp an output channel; each lane 32 weights (uint4)
template <int Batch>
__global__ void gemv_w4a16(const half* __restrict__ x, const uint32_t* __restrict__ w, const half* __restrict__ scale, const uint8_t* __restrict__ zero, half* __restrict__ y, int IC, int OC) {
  const int oc = blockIdx.x * blockDim.y + threadIdx.y;
  if (oc >= OC) return;
  const uint4* wrow = reinterpret_cast<const uint4*>(w + (size_t)oc * (IC / 8));
  const int groups = IC / kGroup;
  float acc[Batch] = {};
  for (int p = threadIdx.x; p < IC / 32; p += 32) {
    uint4 pk = wrow[p];
    const int g = p * 32 / kGroup;
    const float s = __half2float(scale[oc * groups + g]);
    const float z = zero[oc * groups + g];
    const uint32_t words[4] = {pk.x, pk.y, pk.z, pk.w};
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      float wf[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) wf[i] = s * ((float)((words[q] >> (4 * i)) & 0xF) - z);
#pragma unroll
      for (int b = 0; b < Batch; ++b) {
        const uint4 xv = *reinterpret_cast<const uint4*>(x + (size_t)b * IC + p * 32 + q * 8);
        const half2* xh = reinterpret_cast<const half2*>(&xv);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float2 f = __half22float2(xh[i]);
          acc[b] += wf[2 * i] * f.x + wf[2 * i + 1] * f.y;
        }
      }
    }
  }
#pragma unroll
  for (int b = 0; b < Batch; ++b) {
    float v = warp_reduce(acc[b]);
    if (threadIdx.x == 0) y[(size_t)b * OC + oc] = __float2half(v);
  }
}

// dynamic quantisation of activations to int8, a block a row
__global__ void quantize_row(const half* x, int8_t* q, float* s, int IC) {
  __shared__ float red[8];
  const half* r = x + (size_t)blockIdx.x * IC;
  float m = 0.f;
  for (int i = threadIdx.x; i < IC; i += blockDim.x) m = fmaxf(m, fabsf(__half2float(r[i])));
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = m;
  __syncthreads();
  m = red[0];
  for (int i = 1; i < blockDim.x / 32; ++i) m = fmaxf(m, red[i]);
  float inv = 127.f / m;
  for (int i = threadIdx.x; i < IC; i += blockDim.x) q[(size_t)blockIdx.x * IC + i] = (int8_t)__float2int_rn(__half2float(r[i]) * inv);
  if (threadIdx.x == 0) s[blockIdx.x] = m / 127.f;
}

// C[b, o] = sum_k q[b,k] * w8[o,k], tiles of 16x16 outputs, 4-byte dp4a words in shared
__global__ void gemm_s8(const int* __restrict__ q, const int* __restrict__ w8, const float* s, int* __restrict__ C, int B, int OC, int K4) {
  __shared__ int qs[16][16], ws[16][17];
  int b = blockIdx.y * 16 + threadIdx.y, o = blockIdx.x * 16 + threadIdx.x, acc = 0;
  for (int k = 0; k < K4; k += 16) {
    qs[threadIdx.y][threadIdx.x] = b < B ? q[b * K4 + k + threadIdx.x] : 0;
    int wo = blockIdx.x * 16 + threadIdx.y;
    ws[threadIdx.y][threadIdx.x] = wo < OC ? w8[wo * K4 + k + threadIdx.x] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) acc = __dp4a(qs[threadIdx.y][i], ws[threadIdx.x][i], acc);
    __syncthreads();
  }
  if (b < B && o < OC) C[b * OC + o] = acc;
}

int main() {
  const int IC = 4096, OC = 6001, B = 4;
  std::vector<half> x(B * IC), sc(OC * IC / kGroup), y(B * OC);
  std::vector<uint32_t> w((size_t)OC * IC / 8); std::vector<uint8_t> z(OC * IC / kGroup);
  std::vector<int8_t> w8((size_t)OC * IC);
  uint32_t s = 1;
  auto rnd = [&] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; };
  for (auto& v : x) v = __float2half((rnd() % 2001) / 1000.f - 1.f);
  for (auto& v : sc) v = __float2half(0.002f + (rnd() % 100) * 1e-5f);
  for (auto& v : z) v = 6 + rnd() % 4;
  for (auto& v : w) v = rnd();
  for (size_t i = 0; i < w8.size(); ++i) w8[i] = (int)(i * 2654435761u >> 24) - 128;
  half *dx, *dsc, *dy; uint32_t* dw; uint8_t* dz; int8_t *dq, *dw8; float* ds; int* dC;
  cudaMalloc(&dx, x.size() * 2); cudaMalloc(&dsc, sc.size() * 2); cudaMalloc(&dy, y.size() * 2); cudaMalloc(&dw, w.size() * 4); cudaMalloc(&dz, z.size());
  cudaMalloc(&dq, x.size()); cudaMalloc(&dw8, w8.size()); cudaMalloc(&ds, B * 4); cudaMalloc(&dC, B * OC * 4);
  cudaMemcpy(dx, x.data(), x.size() * 2, cudaMemcpyHostToDevice); cudaMemcpy(dsc, sc.data(), sc.size() * 2, cudaMemcpyHostToDevice);
  cudaMemcpy(dw, w.data(), w.size() * 4, cudaMemcpyHostToDevice); cudaMemcpy(dz, z.data(), z.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dw8, w8.data(), w8.size(), cudaMemcpyHostToDevice);
  dim3 blk(32, 4);
  gemv_w4a16<1><<<(OC + 3) / 4, blk>>>(dx, dw, dsc, dz, dy, IC, OC);
  gemv_w4a16<B><<<(OC + 3) / 4, blk>>>(dx, dw, dsc, dz, dy, IC, OC);
  quantize_row<<<B, 256>>>(dx, dq, ds, IC);
  gemm_s8<<<dim3((OC + 15) / 16, 1), dim3(16, 16)>>>((int*)dq, (int*)dw8, ds, dC, B, OC, IC / 4);
  std::vector<int8_t> q(x.size()); std::vector<int> C(B * OC);
  cudaMemcpy(y.data(), dy, y.size() * 2, cudaMemcpyDeviceToHost); cudaMemcpy(q.data(), dq, q.size(), cudaMemcpyDeviceToHost); cudaMemcpy(C.data(), dC, C.size() * 4, cudaMemcpyDeviceToHost);
  double e = 0; int bad = 0;
  for (int b = 0; b < B; ++b)
    for (int o = 0; o < OC; o += 23) {
      double t = 0; int c = 0;
      for (int k = 0; k < IC; ++k) {
        int g = o * (IC / kGroup) + k / kGroup, wi = (w[(size_t)o * IC / 8 + k / 8] >> (4 * (k % 8))) & 15;
        t += (double)__half2float(sc[g]) * (wi - z[g]) * __half2float(x[b * IC + k]);
        c += (int)q[b * IC + k] * w8[(size_t)o * IC + k];
      }
      e = fmax(e, fabs(t - __half2float(y[b * OC + o])));
      bad += c != C[b * OC + o];
    }
  printf("w4a16 err %g, s8 mismatches %d %s\n%s\n", e, bad, cudaGetErrorString(cudaGetLastError()), e < 1e-2 && !bad ? "PASS" : "FAIL");
}
