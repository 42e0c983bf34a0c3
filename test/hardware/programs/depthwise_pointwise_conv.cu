/*
 * MobileNet-style separable convolution block, inference, NCHW fp32:
 *
 *     y = relu6( PW( relu6( DW(x) + b_dw ) ) + b_pw ),  pool = mean_hw(y)
 *
 * Depthwise: direct version and a shared-memory tile version.
 * Pointwise: direct version and a tiled GEMM (weights [Cout][Cin]).
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#define CUDA_OK(x)                                                                     \
  do {                                                                                 \
    cudaError_t err__ = (x);                                                           \
    if (err__ != cudaSuccess) {                                                        \
      std::cerr << #x << " -> " << cudaGetErrorString(err__) << std::endl;             \
      std::exit(EXIT_FAILURE);                                                         \
    }                                                                                  \
  } while (0)

enum class Act : int { None = 0, Relu = 1, Relu6 = 2 };

template <Act A>
__host__ __device__ __forceinline__ float activate(float v) {
  if (A == Act::Relu) return fmaxf(v, 0.f);
  if (A == Act::Relu6) return fminf(fmaxf(v, 0.f), 6.f);
  return v;
}

struct ConvShape {
  int n, c_in, c_out, h, w;
  __host__ __device__ int hw() const { return h * w; }
};

// ---------------------------------------------------------------- depthwise

// one thread per output element, grid-stride
template <Act A>
__global__ void dw3x3_direct(const float* __restrict__ x, const float* __restrict__ wgt,
                             const float* __restrict__ bias, float* __restrict__ y, ConvShape s) {
  const int total = s.n * s.c_in * s.hw();
  for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < total; idx += gridDim.x * blockDim.x) {
    const int ow = idx % s.w;
    const int oh = (idx / s.w) % s.h;
    const int c = (idx / s.hw()) % s.c_in;
    const float* plane = x + (idx / s.hw()) * s.hw();
    float acc = bias[c];
#pragma unroll
    for (int kh = 0; kh < 3; ++kh) {
      const int ih = oh + kh - 1;
      if (ih < 0 || ih >= s.h) continue;
#pragma unroll
      for (int kw = 0; kw < 3; ++kw) {
        const int iw = ow + kw - 1;
        if (iw >= 0 && iw < s.w) {
          acc += plane[ih * s.w + iw] * wgt[c * 9 + kh * 3 + kw];
        }
      }
    }
    y[idx] = activate<A>(acc);
  }
}

// one block per (tile, channel, image); halo tile in shared memory, each thread
// makes ROWS vertically adjacent outputs
template <Act A, int TW, int TH, int ROWS>
__global__ void __launch_bounds__(TW* TH / ROWS)
    dw3x3_tiled(const float* __restrict__ x, const float* __restrict__ wgt,
                const float* __restrict__ bias, float* __restrict__ y, ConvShape s) {
  constexpr int SW = TW + 2, SH = TH + 2;
  __shared__ float tile[SH][SW];
  __shared__ float k[9];

  const int tiles_x = (s.w + TW - 1) / TW;
  const int x0 = (blockIdx.x % tiles_x) * TW;
  const int y0 = (blockIdx.x / tiles_x) * TH;
  const int c = blockIdx.y;
  const size_t plane_off = (size_t(blockIdx.z) * s.c_in + c) * s.hw();
  const float* plane = x + plane_off;
  const int tid = threadIdx.y * TW + threadIdx.x;

  if (tid < 9) k[tid] = wgt[c * 9 + tid];
  for (int i = tid; i < SW * SH; i += TW * TH / ROWS) {
    const int ty = i / SW, tx = i % SW;
    const int gy = y0 + ty - 1, gx = x0 + tx - 1;
    float v = 0.f;
    if (gy >= 0 && gy < s.h && gx >= 0 && gx < s.w) v = plane[gy * s.w + gx];
    tile[ty][tx] = v;
  }
  __syncthreads();

  const float b = bias[c];
  float acc[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) acc[r] = b;
#pragma unroll
  for (int r = 0; r < ROWS + 2; ++r) {
    const float l = tile[threadIdx.y * ROWS + r][threadIdx.x];
    const float m = tile[threadIdx.y * ROWS + r][threadIdx.x + 1];
    const float q = tile[threadIdx.y * ROWS + r][threadIdx.x + 2];
#pragma unroll
    for (int o = 0; o < ROWS; ++o) {
      const int kr = r - o;
      if (kr >= 0 && kr < 3) acc[o] += l * k[kr * 3] + m * k[kr * 3 + 1] + q * k[kr * 3 + 2];
    }
  }
  const int gx = x0 + threadIdx.x;
#pragma unroll
  for (int o = 0; o < ROWS; ++o) {
    const int gy = y0 + threadIdx.y * ROWS + o;
    if (gx < s.w && gy < s.h) y[plane_off + gy * s.w + gx] = activate<A>(acc[o]);
  }
}

// ---------------------------------------------------------------- pointwise

// threadIdx.x walks output channels: weights are read with a stride of c_in and
// the output is written with a stride of H*W
template <Act A>
__global__ void pw1x1_channel_major(const float* __restrict__ x, const float* __restrict__ wgt,
                                    const float* __restrict__ bias, float* __restrict__ y, ConvShape s) {
  const int co = blockIdx.y * blockDim.x + threadIdx.x;
  const int px = blockIdx.x * blockDim.y + threadIdx.y;
  const int img = blockIdx.z;
  if (co >= s.c_out || px >= s.hw()) return;
  const float* xi = x + size_t(img) * s.c_in * s.hw() + px;
  float acc = 0.f;
  for (int ci = 0; ci < s.c_in; ++ci) {
    acc += xi[ci * s.hw()] * wgt[co * s.c_in + ci];
  }
  y[(size_t(img) * s.c_out + co) * s.hw() + px] = activate<A>(acc + bias[co]);
}

// GEMM view: Y[Cout x HW] = W[Cout x Cin] * X[Cin x HW].  64x64 tile, 16x16
// threads, 4x4 outputs each.
constexpr int BM = 64, BN = 64, BK = 16;

template <Act A>
__global__ void __launch_bounds__(256)
    pw1x1_gemm(const float* __restrict__ x, const float* __restrict__ wgt,
               const float* __restrict__ bias, float* __restrict__ y, ConvShape s) {
  __shared__ float Ws[BK][BM];       // transposed on the way in
  __shared__ float4 Xs[BK][BN / 4];
  const int hw = s.hw();
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  const float* xi = x + size_t(blockIdx.z) * s.c_in * hw;

  float acc[4][4] = {};
  for (int k0 = 0; k0 < s.c_in; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += 256) {
      const int m = i / BK, k = i % BK;
      Ws[k][m] = (m0 + m < s.c_out) ? wgt[(m0 + m) * s.c_in + k0 + k] : 0.f;
    }
    {
      const int k = threadIdx.x / 16, n4 = threadIdx.x % 16;
      const int n = n0 + n4 * 4;
      float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
      if (n < hw) v = *reinterpret_cast<const float4*>(xi + size_t(k0 + k) * hw + n);
      Xs[k][n4] = v;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = Ws[k][ty * 4 + i];
      const float4 b = Xs[k][tx];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        acc[i][0] += a[i] * b.x;
        acc[i][1] += a[i] * b.y;
        acc[i][2] += a[i] * b.z;
        acc[i][3] += a[i] * b.w;
      }
    }
    __syncthreads();
  }
  const int n = n0 + tx * 4;
  if (n >= hw) return;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int m = m0 + ty * 4 + i;
    if (m >= s.c_out) break;
    const float b = bias[m];
    float4 o;
    o.x = activate<A>(acc[i][0] + b);
    o.y = activate<A>(acc[i][1] + b);
    o.z = activate<A>(acc[i][2] + b);
    o.w = activate<A>(acc[i][3] + b);
    *reinterpret_cast<float4*>(y + (size_t(blockIdx.z) * s.c_out + m) * hw + n) = o;
  }
}

// one warp per (image, channel) plane
__global__ void global_avg_pool(const float* __restrict__ y, float* __restrict__ pooled, int planes, int hw) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  const int lane = threadIdx.x % warpSize;
  if (warp >= planes) return;
  const float* p = y + size_t(warp) * hw;
  float sum = 0.f;
  for (int i = lane; i < hw; i += warpSize) sum += p[i];
  for (int d = warpSize / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) pooled[warp] = sum / hw;
}

// ---------------------------------------------------------------- host side

struct CudaFree { void operator()(float* p) const { cudaFree(p); } };
using DevPtr = std::unique_ptr<float, CudaFree>;

static DevPtr dev_alloc(size_t n) {
  float* p = nullptr;
  CUDA_OK(cudaMalloc(&p, n * sizeof(float)));
  return DevPtr(p);
}
static DevPtr upload(const std::vector<float>& v) {
  DevPtr d = dev_alloc(v.size());
  CUDA_OK(cudaMemcpy(d.get(), v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
  return d;
}
static std::vector<float> download(const DevPtr& d, size_t n) {
  std::vector<float> v(n);
  CUDA_OK(cudaMemcpy(v.data(), d.get(), n * sizeof(float), cudaMemcpyDeviceToHost));
  return v;
}

static bool compare(const char* name, const std::vector<float>& got, const std::vector<float>& ref, float tol) {
  double worst = 0;
  for (size_t i = 0; i < ref.size(); ++i) {
    const double e = std::abs(double(got[i]) - ref[i]) / (1.0 + std::abs(ref[i]));
    if (!(e <= worst)) worst = e;
  }
  const bool ok = worst <= tol;
  std::cout << name << ": max err " << worst << (ok ? "" : "  <-- bad") << "\n";
  return ok;
}

int main() {
  const ConvShape s{2, 64, 96, 56, 56};
  const int hw = s.hw();
  std::mt19937 rng(2024);
  std::normal_distribution<float> nd(0.f, 1.f);
  auto rnd = [&](size_t n, float scale) {
    std::vector<float> v(n);
    for (auto& e : v) e = scale * nd(rng);
    return v;
  };
  const auto x = rnd(size_t(s.n) * s.c_in * hw, 1.f);
  const auto wdw = rnd(size_t(s.c_in) * 9, 0.4f), bdw = rnd(s.c_in, 0.1f);
  const auto wpw = rnd(size_t(s.c_out) * s.c_in, 0.15f), bpw = rnd(s.c_out, 0.1f);

  DevPtr dx = upload(x), dwdw = upload(wdw), dbdw = upload(bdw), dwpw = upload(wpw), dbpw = upload(bpw);
  const size_t mid_n = x.size(), out_n = size_t(s.n) * s.c_out * hw;
  DevPtr dmid1 = dev_alloc(mid_n), dmid2 = dev_alloc(mid_n);
  DevPtr dy1 = dev_alloc(out_n), dy2 = dev_alloc(out_n), dpool = dev_alloc(size_t(s.n) * s.c_out);

  dw3x3_direct<Act::Relu6><<<264, 256>>>(dx.get(), dwdw.get(), dbdw.get(), dmid1.get(), s);

  constexpr int TW = 32, TH = 16, ROWS = 4;
  const dim3 dwGrid(((s.w + TW - 1) / TW) * ((s.h + TH - 1) / TH), s.c_in, s.n);
  dw3x3_tiled<Act::Relu6, TW, TH, ROWS>
      <<<dwGrid, dim3(TW, TH / ROWS)>>>(dx.get(), dwdw.get(), dbdw.get(), dmid2.get(), s);

  const dim3 cb(32, 8);
  pw1x1_channel_major<Act::Relu6>
      <<<dim3((hw + 7) / 8, (s.c_out + 31) / 32, s.n), cb>>>(dmid1.get(), dwpw.get(), dbpw.get(), dy1.get(), s);
  pw1x1_gemm<Act::Relu6><<<dim3((hw + BN - 1) / BN, (s.c_out + BM - 1) / BM, s.n), 256>>>(
      dmid2.get(), dwpw.get(), dbpw.get(), dy2.get(), s);

  const int planes = s.n * s.c_out;
  global_avg_pool<<<(planes * 32 + 127) / 128, 128>>>(dy2.get(), dpool.get(), planes, hw);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());

  // reference
  std::vector<float> mid(mid_n), out(out_n), pool(planes);
  for (int nc = 0; nc < s.n * s.c_in; ++nc)
    for (int oh = 0; oh < s.h; ++oh)
      for (int ow = 0; ow < s.w; ++ow) {
        const int c = nc % s.c_in;
        float acc = bdw[c];
        for (int kh = 0; kh < 3; ++kh)
          for (int kw = 0; kw < 3; ++kw) {
            const int ih = oh + kh - 1, iw = ow + kw - 1;
            if (ih >= 0 && ih < s.h && iw >= 0 && iw < s.w)
              acc += x[size_t(nc) * hw + ih * s.w + iw] * wdw[c * 9 + kh * 3 + kw];
          }
        mid[size_t(nc) * hw + oh * s.w + ow] = activate<Act::Relu6>(acc);
      }
  std::vector<float> row(hw);
  for (int n = 0; n < s.n; ++n)
    for (int co = 0; co < s.c_out; ++co) {
      std::fill(row.begin(), row.end(), bpw[co]);
      for (int ci = 0; ci < s.c_in; ++ci) {
        const float wv = wpw[co * s.c_in + ci];
        const float* m = &mid[(size_t(n) * s.c_in + ci) * hw];
        for (int p = 0; p < hw; ++p) row[p] += wv * m[p];
      }
      double mean = 0;
      for (int p = 0; p < hw; ++p) {
        const float v = activate<Act::Relu6>(row[p]);
        out[(size_t(n) * s.c_out + co) * hw + p] = v;
        mean += v;
      }
      pool[n * s.c_out + co] = float(mean / hw);
    }

  bool ok = compare("dw direct", download(dmid1, mid_n), mid, 1e-4f);
  ok &= compare("dw tiled", download(dmid2, mid_n), mid, 1e-4f);
  ok &= compare("pw channel-major", download(dy1, out_n), out, 5e-4f);
  ok &= compare("pw gemm", download(dy2, out_n), out, 5e-4f);
  ok &= compare("avg pool", download(dpool, planes), pool, 5e-4f);
  std::cout << (ok ? "PASS" : "FAIL") << std::endl;
  return ok ? 0 : 1;
}
