// Pair-representation block of a protein folding network:
// layernorm -> gated projections -> triangle multiplication (outgoing)
// -> triangle attention on starting node -> residual.  bf16 storage.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr int kL = 64;    // residues
constexpr int kC = 32;    // pair channels
constexpr int kHeads = 4;
constexpr int kD = kC / kHeads;
using bf16 = __nv_bfloat16;

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    std::exit(3);
  }
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}

__device__ __forceinline__ float sigmoid(float x) { return 1.f / (1.f + __expf(-x)); }

// One warp per (i,j) pair; channel = lane
template <int WARPS>
__global__ void layernorm_pair(const float* __restrict__ z, bf16* __restrict__ out, int pairs) {
  int lane = threadIdx.x & 31;
  int row = blockIdx.x * WARPS + (threadIdx.x >> 5);
  if (row >= pairs) return;
  float v = z[row * kC + lane];
  float mean = warp_sum(v) * (1.f / kC);
  float d = v - mean;
  float var = warp_sum(d * d) * (1.f / kC);
  out[row * kC + lane] = __float2bfloat16(d * rsqrtf(var + 1e-5f));
}

// gate/projection: y = sigmoid(x Wg) * (x Wp), one thread per output channel
__global__ void gated_proj(const bf16* __restrict__ x, const float* __restrict__ wg,
                           const float* __restrict__ wp, float* __restrict__ y, int pairs) {
  __shared__ float xs[8][kC];
  int c = threadIdx.x;
  int r = threadIdx.y;
  int row = blockIdx.x * 8 + r;
  xs[r][c] = row < pairs ? __bfloat162float(x[row * kC + c]) : 0.f;
  __syncthreads();
  float g = 0.f;
  float p = 0.f;
#pragma unroll 8
  for (int k = 0; k < kC; ++k) {
    g += xs[r][k] * wg[k * kC + c];
    p += xs[r][k] * wp[k * kC + c];
  }
  if (row < pairs) y[row * kC + c] = sigmoid(g) * p;
}

// Naive: out[i][j][c] = sum_k a[i][k][c] * b[j][k][c]; channel fastest
__global__ void triangle_mul_outgoing(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ out) {
  int c = threadIdx.x;
  int j = blockIdx.x * blockDim.y + threadIdx.y;
  int i = blockIdx.y;
  float acc = 0.f;
  for (int k = 0; k < kL; ++k) {
    acc += a[(i * kL + k) * kC + c] * b[(j * kL + k) * kC + c];
  }
  out[(i * kL + j) * kC + c] = acc;
}

// Channel-major variant after a permutation; thread walks rows (strided)
__global__ void permute_to_channel_major(const float* __restrict__ src, float* __restrict__ dst) {
  int ij = blockIdx.x * blockDim.x + threadIdx.x;
  if (ij >= kL * kL) return;
  for (int c = 0; c < kC; ++c) {
    dst[c * kL * kL + ij] = src[ij * kC + c];
  }
}

__global__ void triangle_mul_tiled(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ out) {
  constexpr int T = 16;
  __shared__ float as[T][T];
  __shared__ float bs[T][T];
  const float* A = a + blockIdx.z * kL * kL;
  const float* B = b + blockIdx.z * kL * kL;
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int i = blockIdx.y * T + ty;
  int j = blockIdx.x * T + tx;
  float acc = 0.f;
  for (int k0 = 0; k0 < kL; k0 += T) {
    as[ty][tx] = A[i * kL + k0 + tx];
    bs[ty][tx] = B[(blockIdx.x * T + ty) * kL + k0 + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < T; ++k) acc += as[ty][k] * bs[tx][k];
    __syncthreads();
  }
  out[blockIdx.z * kL * kL + i * kL + j] = acc;
}

// Triangle attention about starting node: for fixed i and head h, tokens j.
// One block per (i,h), one thread per query j. K/V rows cached in shared.
__global__ void triangle_attention(const bf16* __restrict__ x, const float* __restrict__ bias,
                                   float* __restrict__ out) {
  __shared__ float kv[kL][kD];
  int j = threadIdx.x;
  int i = blockIdx.x;
  int h = blockIdx.y;
  const __nv_bfloat162* src = reinterpret_cast<const __nv_bfloat162*>(x + (i * kL + j) * kC + h * kD);
  float q[kD];
#pragma unroll
  for (int d = 0; d < kD / 2; ++d) {
    float2 f = __bfloat1622float2(src[d]);
    q[2 * d] = f.x;
    q[2 * d + 1] = f.y;
    kv[j][2 * d] = f.x;
    kv[j][2 * d + 1] = f.y;
  }
  __syncthreads();
  float m = -1e30f;
  float l = 0.f;
  float acc[kD] = {};
  for (int k = 0; k < kL; ++k) {
    float s = bias[(j * kL + k) * kHeads + h];
#pragma unroll
    for (int d = 0; d < kD; ++d) s += q[d] * kv[k][d] * 0.35355339f;
    float mn = fmaxf(m, s);
    float corr = __expf(m - mn);
    float p = __expf(s - mn);
    l = l * corr + p;
#pragma unroll
    for (int d = 0; d < kD; ++d) acc[d] = acc[d] * corr + p * kv[k][d];
    m = mn;
  }
  float inv = 1.f / l;
#pragma unroll
  for (int d = 0; d < kD; ++d) out[(i * kL + j) * kC + h * kD + d] = acc[d] * inv;
}

// z += tri (channel major -> channel last through a padded tile) + attn
__global__ void residual_add(float* __restrict__ z, const float* __restrict__ tri_cm,
                             const float* __restrict__ attn) {
  __shared__ float tile[32][33];
  int ij0 = blockIdx.x * 32;
  for (int c = threadIdx.y; c < kC; c += blockDim.y) {
    tile[c][threadIdx.x] = tri_cm[c * kL * kL + ij0 + threadIdx.x];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    int idx = (ij0 + r) * kC + threadIdx.x;
    z[idx] += 0.1f * tile[threadIdx.x][r] + attn[idx];
  }
}

template <class T>
T* upload(const std::vector<T>& v) {
  T* p = nullptr;
  check(cudaMalloc(&p, v.size() * sizeof(T)), "malloc");
  check(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "h2d");
  return p;
}

template <class T>
std::vector<T> download(const T* p, size_t n) {
  std::vector<T> v(n);
  check(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
  return v;
}

}  // namespace

int main() {
  constexpr int P = kL * kL;
  std::mt19937 rng(7);
  std::normal_distribution<float> nd(0.f, 1.f);
  auto rnd = [&](size_t n, float s) {
    std::vector<float> v(n);
    for (auto& e : v) e = s * nd(rng);
    return v;
  };
  auto hz = rnd(P * kC, 1.f);
  auto hwg = rnd(kC * kC, 0.2f);
  auto hwa = rnd(kC * kC, 0.2f);
  auto hwb = rnd(kC * kC, 0.2f);
  auto hbias = rnd(P * kHeads, 0.5f);
  float* z = upload(hz);
  float* wg = upload(hwg);
  float* wa = upload(hwa);
  float* wb = upload(hwb);
  float* bias = upload(hbias);
  std::vector<float> zero(P * kC, 0.f);
  float* a = upload(zero);
  float* b = upload(zero);
  float* acm = upload(zero);
  float* bcm = upload(zero);
  float* tri = upload(zero);
  float* tri_cm = upload(zero);
  float* attn = upload(zero);
  bf16* x = nullptr;
  check(cudaMalloc(&x, P * kC * sizeof(bf16)), "malloc x");

  layernorm_pair<4><<<P / 4, 128>>>(z, x, P);
  gated_proj<<<P / 8, dim3(kC, 8)>>>(x, wg, wa, a, P);
  gated_proj<<<P / 8, dim3(kC, 8)>>>(x, wg, wb, b, P);
  triangle_mul_outgoing<<<dim3(kL / 8, kL), dim3(kC, 8)>>>(a, b, tri);
  permute_to_channel_major<<<P / 128, 128>>>(a, acm);
  permute_to_channel_major<<<P / 128, 128>>>(b, bcm);
  triangle_mul_tiled<<<dim3(kL / 16, kL / 16, kC), dim3(16, 16)>>>(acm, bcm, tri_cm);
  triangle_attention<<<dim3(kL, kHeads), kL>>>(x, bias, attn);
  residual_add<<<P / 32, dim3(32, 8)>>>(z, tri_cm, attn);
  check(cudaGetLastError(), "launch");
  check(cudaDeviceSynchronize(), "sync");

  auto gx = download(x, P * kC);
  auto ga = download(a, P * kC);
  auto gb = download(b, P * kC);
  auto gtri = download(tri, P * kC);
  auto gz = download(z, P * kC);
  std::vector<float> fx(P * kC);
  for (int i = 0; i < P * kC; ++i) fx[i] = __bfloat162float(gx[i]);
  double worst = 0;
  for (int r = 0; r < P; ++r) {
    double m = 0, v = 0;
    for (int c = 0; c < kC; ++c) m += hz[r * kC + c];
    m /= kC;
    for (int c = 0; c < kC; ++c) v += (hz[r * kC + c] - m) * (hz[r * kC + c] - m);
    double inv = 1 / std::sqrt(v / kC + 1e-5);
    for (int c = 0; c < kC; ++c) {
      double ref = (hz[r * kC + c] - m) * inv;
      worst = std::max(worst, std::abs(ref - fx[r * kC + c]) - 0.01 * std::abs(ref));
    }
  }
  for (int r = 0; r < P; r += 37) {
    for (int c = 0; c < kC; ++c) {
      double g = 0, p = 0;
      for (int k = 0; k < kC; ++k) {
        g += fx[r * kC + k] * hwg[k * kC + c];
        p += fx[r * kC + k] * hwa[k * kC + c];
      }
      worst = std::max(worst, std::abs(p / (1 + std::exp(-g)) - ga[r * kC + c]));
    }
  }
  for (int i = 0; i < kL; i += 5) {
    for (int j = 0; j < kL; j += 3) {
      for (int c = 0; c < kC; ++c) {
        double t = 0;
        for (int k = 0; k < kL; ++k) t += (double)ga[(i * kL + k) * kC + c] * gb[(j * kL + k) * kC + c];
        worst = std::max(worst, std::abs(t - gtri[(i * kL + j) * kC + c]));
        int h = c / kD;
        double num = 0, den = 0;
        for (int k = 0; k < kL; ++k) {
          double s = hbias[(j * kL + k) * kHeads + h];
          for (int d = 0; d < kD; ++d)
            s += (double)fx[(i * kL + j) * kC + h * kD + d] * fx[(i * kL + k) * kC + h * kD + d] * 0.35355339;
          double e = std::exp(s);
          num += e * fx[(i * kL + k) * kC + c];
          den += e;
        }
        double ref = hz[(i * kL + j) * kC + c] + 0.1 * t + num / den;
        worst = std::max(worst, std::abs(ref - gz[(i * kL + j) * kC + c]));
      }
    }
  }
  std::printf("worst error %g\n", worst);
  bool ok = worst < 0.01;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
