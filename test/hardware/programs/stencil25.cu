// 3-D 25-point (8th order in space) wave-equation style Laplacian.
// Three flavours: naive with the wrong thread mapping, naive with the right
// one, and the classic "2.5-D" version: register queue along z, xy-plane in
// shared memory.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

namespace cfg {
constexpr int R  = 4;                 // stencil radius
constexpr int NX = 256, NY = 160, NZ = 80;   // interior + halo
constexpr int BX = 32, BY = 16;
constexpr size_t total = size_t(NX + 2 * R) * (NY + 2 * R) * (NZ + 2 * R);
constexpr int PX = NX + 2 * R;        // pitches
constexpr int PXY = PX * (NY + 2 * R);
}  // namespace cfg

__constant__ float c_coef[cfg::R + 1];

#define GUARD(expr)                                                           \
  if (cudaError_t err__ = (expr); err__ != cudaSuccess) {                      \
    std::fprintf(stderr, "CUDA: %s at line %d\n", cudaGetErrorString(err__),   \
                 __LINE__);                                                    \
    std::exit(1);                                                              \
  }

__host__ __device__ constexpr int at(int x, int y, int z) {
  return (z + cfg::R) * cfg::PXY + (y + cfg::R) * cfg::PX + (x + cfg::R);
}

// threadIdx.x walks y: neighbouring lanes are PX floats apart
__global__ void lap_naive_yfast(const float* in, float* out) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (x >= cfg::NX || y >= cfg::NY) return;
  const int o = at(x, y, z);
  float acc = 3.0f * c_coef[0] * in[o];
  for (int r = 1; r <= cfg::R; ++r) {
    acc += c_coef[r] * (in[o - r] + in[o + r] + in[o - r * cfg::PX] +
                        in[o + r * cfg::PX] + in[o - r * cfg::PXY] +
                        in[o + r * cfg::PXY]);
  }
  out[o] = acc;
}

__global__ void lap_naive_xfast(const float* __restrict__ in,
                                float* __restrict__ out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (x >= cfg::NX || y >= cfg::NY) return;
  const int o = at(x, y, z);
  float acc = 3.0f * c_coef[0] * __ldg(in + o);
#pragma unroll
  for (int r = 1; r <= cfg::R; ++r) {
    acc += c_coef[r] * (__ldg(in + o - r) + __ldg(in + o + r) +
                        __ldg(in + o - r * cfg::PX) + __ldg(in + o + r * cfg::PX) +
                        __ldg(in + o - r * cfg::PXY) + __ldg(in + o + r * cfg::PXY));
  }
  out[o] = acc;
}

// Each block owns a BX x BY column and marches through zChunk planes.
template <int R, int BX, int BY>
__global__ __launch_bounds__(BX* BY) void lap_regqueue(
    const float* __restrict__ in, float* __restrict__ out, int zChunk) {
  __shared__ float plane[BY + 2 * R][BX + 2 * R];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x = blockIdx.x * BX + tx;
  const int y = blockIdx.y * BY + ty;
  const int z0 = blockIdx.z * zChunk;
  const int z1 = min(z0 + zChunk, cfg::NZ);

  float behind[R], ahead[R], current;
  int o = at(x, y, z0);
#pragma unroll
  for (int r = 0; r < R; ++r) behind[r] = in[o - (r + 1) * cfg::PXY];
  current = in[o];
#pragma unroll
  for (int r = 0; r < R; ++r) ahead[r] = in[o + (r + 1) * cfg::PXY];

  for (int z = z0; z < z1; ++z, o += cfg::PXY) {
    __syncthreads();
    plane[ty + R][tx + R] = current;
    if (ty < R) {  // top and bottom halo
      plane[ty][tx + R] = in[o - R * cfg::PX];
      plane[ty + BY + R][tx + R] = in[o + BY * cfg::PX];
    }
    if (tx < R) {  // left and right halo
      plane[ty + R][tx] = in[o - R];
      plane[ty + R][tx + BX + R] = in[o + BX];
    }
    __syncthreads();

    float acc = 3.0f * c_coef[0] * current;
#pragma unroll
    for (int r = 1; r <= R; ++r) {
      acc += c_coef[r] *
             (ahead[r - 1] + behind[r - 1] + plane[ty + R - r][tx + R] +
              plane[ty + R + r][tx + R] + plane[ty + R][tx + R - r] +
              plane[ty + R][tx + R + r]);
    }
    out[o] = acc;

    // rotate the queue
#pragma unroll
    for (int r = R - 1; r > 0; --r) behind[r] = behind[r - 1];
    behind[0] = current;
    current = ahead[0];
#pragma unroll
    for (int r = 0; r < R - 1; ++r) ahead[r] = ahead[r + 1];
    if (z + 1 < z1) ahead[R - 1] = in[o + (R + 1) * cfg::PXY];
  }
}

static double worstDiff(const std::vector<float>& a, const std::vector<float>& b) {
  double w = 0;
  for (int z = 0; z < cfg::NZ; ++z)
    for (int y = 0; y < cfg::NY; ++y)
      for (int x = 0; x < cfg::NX; ++x) {
        const double d = std::fabs(double(a[at(x, y, z)]) - b[at(x, y, z)]);
        if (!(d <= w)) w = d;
      }
  return w;
}

int main() {
  const float coef[cfg::R + 1] = {-2.847222f, 1.6f, -0.2f, 0.025396f, -0.001786f};
  std::vector<float> h(cfg::total), ref(cfg::total, 0.f), got(cfg::total);
  uint32_t s = 2463534242u;
  for (auto& v : h) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    v = float(s & 0xffff) / 65536.0f;
  }
  for (int z = 0; z < cfg::NZ; ++z)
    for (int y = 0; y < cfg::NY; ++y)
      for (int x = 0; x < cfg::NX; ++x) {
        const int o = at(x, y, z);
        float a = 3.0f * coef[0] * h[o];
        for (int r = 1; r <= cfg::R; ++r)
          a += coef[r] * (h[o - r] + h[o + r] + h[o - r * cfg::PX] + h[o + r * cfg::PX] +
                          h[o - r * cfg::PXY] + h[o + r * cfg::PXY]);
        ref[o] = a;
      }

  float *dIn = nullptr, *dOut = nullptr;
  const size_t bytes = cfg::total * sizeof(float);
  GUARD(cudaMalloc(&dIn, bytes));
  GUARD(cudaMalloc(&dOut, bytes));
  GUARD(cudaMemcpy(dIn, h.data(), bytes, cudaMemcpyHostToDevice));
  GUARD(cudaMemcpyToSymbol(c_coef, coef, sizeof(coef)));

  bool ok = true;
  auto verify = [&](const char* name) {
    GUARD(cudaGetLastError());
    GUARD(cudaMemcpy(got.data(), dOut, bytes, cudaMemcpyDeviceToHost));
    GUARD(cudaMemset(dOut, 0, bytes));
    const double w = worstDiff(ref, got);
    std::printf("%-18s worst diff %.3e\n", name, w);
    ok = ok && w < 1e-4;
  };

  lap_naive_yfast<<<dim3(cfg::NY / 32, cfg::NX / 8, cfg::NZ), dim3(32, 8)>>>(dIn, dOut);
  verify("naive, y fast");
  lap_naive_xfast<<<dim3(cfg::NX / 64, cfg::NY / 4, cfg::NZ), dim3(64, 4)>>>(dIn, dOut);
  verify("naive, x fast");
  constexpr int zChunk = 40;
  const dim3 g(cfg::NX / cfg::BX, cfg::NY / cfg::BY, (cfg::NZ + zChunk - 1) / zChunk);
  lap_regqueue<cfg::R, cfg::BX, cfg::BY><<<g, dim3(cfg::BX, cfg::BY)>>>(dIn, dOut, zChunk);
  verify("register queue");

  cudaFree(dIn);
  cudaFree(dOut);
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
