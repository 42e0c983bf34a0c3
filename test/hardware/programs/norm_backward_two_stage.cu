// Batch-norm backward (NHWC, two-stage reduction) and group-norm backward (NCHW, block per group).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace cg = cooperative_groups;

constexpr int C = 128, PIX = 16384, CHUNKS = 128;       // batch norm: PIX = N*H*W
constexpr int GN_N = 16, GN_G = 32, GN_CPG = 4, GN_HW = 784;  // group norm
constexpr int GN_LEN = GN_CPG * GN_HW;                  // 3136 elements per group

// stage 1: threads cover 32 channels x 8 pixel lanes; partial sums kept as [channel][chunk]
__global__ void __launch_bounds__(256)
bn_bwd_partial(const float* __restrict__ dy, const float* __restrict__ xhat,
               float* __restrict__ part_dg, float* __restrict__ part_db) {
  __shared__ float sg[8][32], sb[8][32];
  const int c = blockIdx.x * 32 + threadIdx.x;
  const int per = PIX / CHUNKS;
  const int p0 = blockIdx.y * per;
  float g = 0.f, b = 0.f;
  for (int p = p0 + threadIdx.y; p < p0 + per; p += 8) {
    const float d = dy[p * C + c];
    g = fmaf(d, xhat[p * C + c], g);
    b += d;
  }
  sg[threadIdx.y][threadIdx.x] = g;
  sb[threadIdx.y][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.y == 0) {
#pragma unroll
    for (int j = 1; j < 8; ++j) {
      g += sg[j][threadIdx.x];
      b += sb[j][threadIdx.x];
    }
    part_dg[c * CHUNKS + blockIdx.y] = g;   // scattered, 32 sectors per warp
    part_db[c * CHUNKS + blockIdx.y] = b;
  }
}

// stage 2 + apply: every block first folds the partials of its channels, then streams float4 of dx
__global__ void __launch_bounds__(256)
bn_bwd_apply(const float4* __restrict__ dy, const float4* __restrict__ xhat, const float* __restrict__ gamma,
             const float* __restrict__ istd, const float* __restrict__ part_dg, const float* __restrict__ part_db,
             float4* __restrict__ dx, float* __restrict__ dgamma, float* __restrict__ dbeta) {
  __shared__ __align__(16) float mg[C];
  __shared__ __align__(16) float mb[C];
  __shared__ __align__(16) float sc[C];
  const int t = threadIdx.x;
  // first half of the block folds dgamma, second half dbeta; one channel each
  const float* part = t < C ? part_dg : part_db;
  const int c = t % C;
  float s = 0.f;
  for (int k = 0; k < CHUNKS; ++k) s += part[c * CHUNKS + k];
  (t < C ? mg : mb)[c] = s * (1.f / PIX);
  if (t < C) sc[c] = gamma[c] * istd[c];
  if (blockIdx.x == 0) (t < C ? dgamma : dbeta)[c] = s;
  __syncthreads();
  const int q = t % (C / 4);
  const float4 g4 = reinterpret_cast<const float4*>(mg)[q];
  const float4 b4 = reinterpret_cast<const float4*>(mb)[q];
  const float4 s4 = reinterpret_cast<const float4*>(sc)[q];
  for (int p = blockIdx.x * 8 + t / (C / 4); p < PIX; p += gridDim.x * 8) {
    const int i = p * (C / 4) + q;
    const float4 d = dy[i], x = xhat[i];
    dx[i] = make_float4(s4.x * (d.x - b4.x - x.x * g4.x), s4.y * (d.y - b4.y - x.y * g4.y),
                        s4.z * (d.z - b4.z - x.z * g4.z), s4.w * (d.w - b4.w - x.w * g4.w));
  }
}

__device__ float block_sum(cg::thread_block blk, float v, float* scratch) {
  auto warp = cg::tiled_partition<32>(blk);
  v = cg::reduce(warp, v, cg::plus<float>());
  if (warp.thread_rank() == 0) scratch[warp.meta_group_rank()] = v;
  blk.sync();
  float r = warp.thread_rank() < warp.meta_group_size() ? scratch[warp.thread_rank()] : 0.f;
  r = cg::reduce(warp, r, cg::plus<float>());
  blk.sync();
  return r;
}

// group norm backward with respect to the input; group staged in dynamic shared memory
__global__ void gn_bwd_dx(const float* __restrict__ dy, const float* __restrict__ xhat, const float* __restrict__ gamma,
                          const float* __restrict__ istd, float* __restrict__ dx) {
  extern __shared__ float stage[];           // GN_LEN of dy*gamma, then 32 scratch floats
  float* scratch = stage + GN_LEN;
  auto blk = cg::this_thread_block();
  const int ng = blockIdx.x, g = ng % GN_G;
  const size_t base = size_t(ng) * GN_LEN;
  float s1 = 0.f, s2 = 0.f;
  for (int i = blk.thread_rank(); i < GN_LEN; i += blk.size()) {
    const float d = dy[base + i] * gamma[g * GN_CPG + i / GN_HW];
    stage[i] = d;
    s1 += d;
    s2 += d * xhat[base + i];
  }
  s1 = block_sum(blk, s1, scratch) * (1.f / GN_LEN);
  s2 = block_sum(blk, s2, scratch) * (1.f / GN_LEN);
  const float is = istd[ng];
  for (int i = blk.thread_rank(); i < GN_LEN; i += blk.size())
    dx[base + i] = is * (stage[i] - s1 - xhat[base + i] * s2);
}

struct Buf {
  std::vector<float> h;
  float* d = nullptr;
  explicit Buf(size_t n) : h(n) { cudaMalloc(&d, n * sizeof(float)); }
  void push() { cudaMemcpy(d, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice); }
  void pull() { cudaMemcpy(h.data(), d, h.size() * sizeof(float), cudaMemcpyDeviceToHost); }
};

int main() {
  std::mt19937 gen(99);
  auto fill = [&gen](Buf& b, float lo, float hi) {
    for (auto& v : b.h) v = lo + (hi - lo) * (gen() >> 8) * (1.f / 16777216.f);
    b.push();
  };
  Buf dy(size_t(PIX) * C), xh(size_t(PIX) * C), dx(size_t(PIX) * C), gam(C), ist(C);
  Buf pg(C * CHUNKS), pb(C * CHUNKS), dg(C), db(C);
  const size_t gn = size_t(GN_N) * GN_G * GN_LEN;
  Buf gdy(gn), gxh(gn), gdx(gn), gist(GN_N * GN_G);
  fill(dy, -1, 1); fill(xh, -2, 2); fill(gam, 0.5f, 1.5f); fill(ist, 0.5f, 2);
  fill(gdy, -1, 1); fill(gxh, -2, 2); fill(gist, 0.5f, 2);

  bn_bwd_partial<<<dim3(C / 32, CHUNKS), dim3(32, 8)>>>(dy.d, xh.d, pg.d, pb.d);
  bn_bwd_apply<<<264, 256>>>((const float4*)dy.d, (const float4*)xh.d, gam.d, ist.d, pg.d, pb.d, (float4*)dx.d, dg.d, db.d);
  gn_bwd_dx<<<GN_N * GN_G, 512, (GN_LEN + 32) * sizeof(float)>>>(gdy.d, gxh.d, gam.d, gist.d, gdx.d);
  bool ok = cudaDeviceSynchronize() == cudaSuccess;
  dx.pull(); dg.pull(); db.pull(); gdx.pull();

  std::vector<double> rg(C, 0.0), rb(C, 0.0);
  for (int p = 0; p < PIX; ++p)
    for (int c = 0; c < C; ++c) { rb[c] += dy.h[p * C + c]; rg[c] += double(dy.h[p * C + c]) * xh.h[p * C + c]; }
  for (int c = 0; c < C; ++c) ok &= std::fabs(rg[c] - dg.h[c]) < 0.05 && std::fabs(rb[c] - db.h[c]) < 0.05;
  for (int p = 0; p < PIX; ++p)
    for (int c = 0; c < C; ++c) {
      const int i = p * C + c;
      ok &= std::fabs(gam.h[c] * ist.h[c] * (dy.h[i] - rb[c] / PIX - xh.h[i] * rg[c] / PIX) - dx.h[i]) < 1e-3;
    }
  for (int ng = 0; ng < GN_N * GN_G; ++ng) {
    double s1 = 0, s2 = 0;
    const size_t o = size_t(ng) * GN_LEN;
    auto d = [&](int i) { return double(gdy.h[o + i]) * gam.h[ng % GN_G * GN_CPG + i / GN_HW]; };
    for (int i = 0; i < GN_LEN; ++i) { s1 += d(i); s2 += d(i) * gxh.h[o + i]; }
    for (int i = 0; i < GN_LEN; ++i)
      ok &= std::fabs(gist.h[ng] * (d(i) - s1 / GN_LEN - gxh.h[o + i] * s2 / GN_LEN) - gdx.h[o + i]) < 1e-3;
  }
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
