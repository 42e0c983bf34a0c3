// native/cuda style operators written against a toy TensorInfo / PackedTensorAccessor: grid_sampler_2d (bilinear,
// zeros/border padding), its input gradient with atomics, adaptive average pooling, max pooling with indices,
// pixel_shuffle and upsample_nearest on NHWC.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#define C10_CUDA_CHECK(EXPR) do { const cudaError_t __err = EXPR; if (__err != cudaSuccess) { \
  std::fprintf(stderr, "CUDA error: %s (%s:%d)\n", cudaGetErrorString(__err), __FILE__, __LINE__); std::exit(1); } } while (0)
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                              \
  int64_t _i_n_d_e_x = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;          \
  for (index_type i = _i_n_d_e_x; _i_n_d_e_x < (n); _i_n_d_e_x += blockDim.x * gridDim.x, i = _i_n_d_e_x)
#define C10_LAUNCH_BOUNDS_1(n) __launch_bounds__(n)

namespace at::native {

enum class GridSamplerPadding { Zeros, Border };
constexpr int CUDA_NUM_THREADS = 512;
inline int GET_BLOCKS(int64_t n, int t = CUDA_NUM_THREADS) { return static_cast<int>((n + t - 1) / t); }

template <typename T, typename index_t>
struct TensorInfo { T* data; index_t sizes[4]; index_t strides[4]; };

template <typename scalar_t>
__host__ __device__ scalar_t grid_sampler_unnormalize(scalar_t coord, int64_t size, bool align) {
  return align ? ((coord + 1.f) / 2) * (size - 1) : ((coord + 1.f) * size - 1) / 2;
}
template <typename scalar_t>
__host__ __device__ scalar_t clip_coordinates(scalar_t in, int64_t lim) { return fminf(static_cast<scalar_t>(lim - 1), fmaxf(in, 0.f)); }
__host__ __device__ inline bool within_bounds_2d(int h, int w, int H, int W) { return h >= 0 && h < H && w >= 0 && w < W; }

template <typename scalar_t, typename index_t>
C10_LAUNCH_BOUNDS_1(256)
__global__ void grid_sampler_2d_kernel(const index_t nthreads, TensorInfo<const scalar_t, index_t> input, TensorInfo<const scalar_t, index_t> grid,
                                       TensorInfo<scalar_t, index_t> output, const GridSamplerPadding padding, bool align) {
  const index_t C = input.sizes[1], inp_H = input.sizes[2], inp_W = input.sizes[3], out_H = grid.sizes[1], out_W = grid.sizes[2];
  CUDA_KERNEL_LOOP_TYPE(index, nthreads, index_t) {
    const index_t w = index % out_W, h = (index / out_W) % out_H, n = index / (out_H * out_W);
    const index_t grid_offset = n * grid.strides[0] + h * grid.strides[1] + w * grid.strides[2];
    scalar_t x = grid.data[grid_offset];
    scalar_t y = grid.data[grid_offset + grid.strides[3]];
    scalar_t ix = grid_sampler_unnormalize(x, inp_W, align), iy = grid_sampler_unnormalize(y, inp_H, align);
    if (padding == GridSamplerPadding::Border) { ix = clip_coordinates(ix, inp_W); iy = clip_coordinates(iy, inp_H); }
    const index_t ix_nw = static_cast<index_t>(floorf(ix)), iy_nw = static_cast<index_t>(floorf(iy));
    const index_t ix_se = ix_nw + 1, iy_se = iy_nw + 1;
    const scalar_t nw = (ix_se - ix) * (iy_se - iy), ne = (ix - ix_nw) * (iy_se - iy), sw = (ix_se - ix) * (iy - iy_nw), se = (ix - ix_nw) * (iy - iy_nw);
    auto inp_ptr_NC = input.data + n * input.strides[0];
    auto out_ptr_NCHW = output.data + n * output.strides[0] + h * output.strides[2] + w * output.strides[3];
    for (index_t c = 0; c < C; ++c, inp_ptr_NC += input.strides[1], out_ptr_NCHW += output.strides[1]) {
      scalar_t acc = 0;
      if (within_bounds_2d(iy_nw, ix_nw, inp_H, inp_W)) acc += inp_ptr_NC[iy_nw * input.strides[2] + ix_nw * input.strides[3]] * nw;
      if (within_bounds_2d(iy_nw, ix_se, inp_H, inp_W)) acc += inp_ptr_NC[iy_nw * input.strides[2] + ix_se * input.strides[3]] * ne;
      if (within_bounds_2d(iy_se, ix_nw, inp_H, inp_W)) acc += inp_ptr_NC[iy_se * input.strides[2] + ix_nw * input.strides[3]] * sw;
      if (within_bounds_2d(iy_se, ix_se, inp_H, inp_W)) acc += inp_ptr_NC[iy_se * input.strides[2] + ix_se * input.strides[3]] * se;
      *out_ptr_NCHW = acc;
    }
  }
}

template <typename scalar_t, typename index_t>
C10_LAUNCH_BOUNDS_1(256)
__global__ void grid_sampler_2d_backward_input_kernel(const index_t nthreads, TensorInfo<const scalar_t, index_t> grad_output,
                                                      TensorInfo<const scalar_t, index_t> grid, TensorInfo<scalar_t, index_t> grad_input, bool align) {
  const index_t C = grad_input.sizes[1], H = grad_input.sizes[2], W = grad_input.sizes[3], out_H = grid.sizes[1], out_W = grid.sizes[2];
  CUDA_KERNEL_LOOP_TYPE(index, nthreads, index_t) {
    const index_t w = index % out_W, h = (index / out_W) % out_H, n = index / (out_H * out_W);
    const index_t go = n * grid.strides[0] + h * grid.strides[1] + w * grid.strides[2];
    const scalar_t ix = grid_sampler_unnormalize(grid.data[go], W, align), iy = grid_sampler_unnormalize(grid.data[go + grid.strides[3]], H, align);
    const index_t x0 = static_cast<index_t>(floorf(ix)), y0 = static_cast<index_t>(floorf(iy));
    for (index_t c = 0; c < C; ++c) {
      const scalar_t g = grad_output.data[n * grad_output.strides[0] + c * grad_output.strides[1] + h * grad_output.strides[2] + w * grad_output.strides[3]];
      for (int k = 0; k < 4; ++k) {
        const index_t xx = x0 + (k & 1), yy = y0 + (k >> 1);
        const scalar_t wt = (k & 1 ? ix - x0 : x0 + 1 - ix) * (k >> 1 ? iy - y0 : y0 + 1 - iy);
        if (within_bounds_2d(yy, xx, H, W)) atomicAdd(grad_input.data + n * grad_input.strides[0] + c * grad_input.strides[1] + yy * grad_input.strides[2] + xx * grad_input.strides[3], wt * g);
      }
    }
  }
}

__host__ __device__ inline int start_index(int a, int b, int c) { return (a / b) * c + ((a % b) * c) / b; }
__host__ __device__ inline int end_index(int a, int b, int c) { return 1 + ((a + 1) * c - 1) / b; }

// 4D input: blockIdx.x is the plane (batch * channel); threads stride over the output
template <typename scalar_t>
__global__ void adaptive_average_pool(const scalar_t* input, scalar_t* output, int isizeH, int isizeW, int osizeH, int osizeW, int64_t istrideD, int64_t istrideH, int64_t istrideW) {
  const int ostartH = blockDim.y * blockIdx.y + threadIdx.y, ostepH = blockDim.y * gridDim.y;
  output = output + static_cast<int64_t>(blockIdx.x) * osizeH * osizeW;
  input = input + blockIdx.x * istrideD;
  for (int oh = ostartH; oh < osizeH; oh += ostepH) {
    const int h0 = start_index(oh, osizeH, isizeH), kH = end_index(oh, osizeH, isizeH) - h0;
    for (int ow = threadIdx.x; ow < osizeW; ow += blockDim.x) {
      const int w0 = start_index(ow, osizeW, isizeW), kW = end_index(ow, osizeW, isizeW) - w0;
      const scalar_t* p = input + h0 * istrideH + w0 * istrideW;
      scalar_t sum = 0;
      for (int ih = 0; ih < kH; ++ih, p += istrideH)
        for (int iw = 0; iw < kW; ++iw) sum += p[iw * istrideW];
      output[oh * osizeW + ow] = sum / kH / kW;
    }
  }
}

template <typename scalar_t>
C10_LAUNCH_BOUNDS_1(CUDA_NUM_THREADS)
__global__ void max_pool_forward_nchw(const int nthreads, const scalar_t* bottom, int channels, int height, int width, int pooled_h, int pooled_w,
                                      int kernel, int stride, int pad, scalar_t* top, int64_t* top_mask) {
  CUDA_KERNEL_LOOP_TYPE(index, nthreads, int) {
    const int pw = index % pooled_w, ph = (index / pooled_w) % pooled_h, c = (index / pooled_w / pooled_h) % channels, n = index / pooled_w / pooled_h / channels;
    int hs = ph * stride - pad, ws = pw * stride - pad;
    const int he = min(hs + kernel, height), we = min(ws + kernel, width);
    while (hs < 0) ++hs;
    while (ws < 0) ++ws;
    scalar_t maxval = -INFINITY;
    int maxidx = hs * width + ws;
    const scalar_t* btm = bottom + static_cast<int64_t>(n * channels + c) * height * width;
    for (int h = hs; h < he; ++h)
      for (int w = ws; w < we; ++w) {
        const scalar_t val = btm[h * width + w];
        if (val > maxval) { maxidx = h * width + w; maxval = val; }
      }
    top[index] = maxval;
    top_mask[index] = maxidx;
  }
}

template <typename scalar_t, typename F>
__global__ void unrolled_index_kernel(int N, scalar_t* out, F f) {   // vt = 4, nt = 128 like launch_legacy_kernel
  int idx = 128 * 4 * blockIdx.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (idx < N) { out[idx] = f(idx); idx += 128; }
}

struct PixelShuffle {
  const float* in; int C, H, W, r;
  __host__ __device__ float operator()(int i) const {
    const int x = i % (W * r), y = i / (W * r) % (H * r), c = i / (W * r * H * r) % C, n = i / (W * r * H * r * C);
    return in[(((n * C + c) * r + y % r) * r + x % r) * H * W + y / r * W + x / r];
  }
};
struct UpsampleNearestNHWC {
  const float* in; int C, H, W, oH, oW;
  __host__ __device__ float operator()(int i) const {
    const int c = i % C, x = i / C % oW, y = i / (C * oW) % oH, n = i / (C * oW * oH);
    return in[((n * H + y * H / oH) * W + x * W / oW) * C + c];
  }
};

}  // namespace at::native

using namespace at::native;
using TI = TensorInfo<float, int>;
using CTI = TensorInfo<const float, int>;

static float* dev(const std::vector<float>& v) { float* p; C10_CUDA_CHECK(cudaMalloc(&p, v.size() * 4)); C10_CUDA_CHECK(cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice)); return p; }
static bool allclose(const std::string& name, const float* d, const std::vector<float>& ref, double tol) {
  std::vector<float> h(ref.size());
  C10_CUDA_CHECK(cudaMemcpy(h.data(), d, h.size() * 4, cudaMemcpyDeviceToHost));
  double worst = 0;
  for (size_t i = 0; i < h.size(); ++i) { const double e = std::fabs((double)h[i] - ref[i]); if (!(e <= worst)) worst = e; }
  std::printf("%-28s %.2e\n", name.c_str(), worst);
  return worst <= tol;
}

int main() {
  uint64_t st = 7;
  auto rnd = [&] { st = st * 6364136223846793005ULL + 1442695040888963407ULL; return float(st >> 40) / 16777216.f; };
  const int N = 2, C = 6, H = 61, W = 75, oH = 40, oW = 53;
  std::vector<float> in(N * C * H * W), grid(N * oH * oW * 2), go(N * C * oH * oW);
  for (auto& v : in) v = rnd() * 2 - 1;
  for (auto& v : go) v = rnd();
  for (int n = 0; n < N; ++n) for (int y = 0; y < oH; ++y) for (int x = 0; x < oW; ++x) {   // a rotation, partly outside
    const float u = 2.f * x / oW - 1, v = 2.f * y / oH - 1, a = 0.4f + 0.3f * n;
    float* g = &grid[((n * oH + y) * oW + x) * 2];
    g[0] = cosf(a) * u - sinf(a) * v + 0.001f; g[1] = sinf(a) * u + cosf(a) * v - 0.002f;
  }
  float *d_in = dev(in), *d_grid = dev(grid), *d_go = dev(go), *d_out = dev(go), *d_gi = dev(std::vector<float>(in.size(), 0.f));
  CTI ti{d_in, {N, C, H, W}, {C * H * W, H * W, W, 1}}, tl{d_in, {N, C, H, W}, {C * H * W, 1, W * C, C}}, tg{d_grid, {N, oH, oW, 2}, {oH * oW * 2, oW * 2, 2, 1}}, tgo{d_go, {N, C, oH, oW}, {C * oH * oW, oH * oW, oW, 1}};
  TI to{d_out, {N, C, oH, oW}, {C * oH * oW, oH * oW, oW, 1}}, tgi{d_gi, {N, C, H, W}, {C * H * W, H * W, W, 1}};
  const int cnt = N * oH * oW;
  auto sample_ref = [&](const CTI& t, bool border, bool align, std::vector<float>* grad) {
    std::vector<float> out(go.size());
    std::vector<double> gi(in.size(), 0.0);
    for (int n = 0; n < N; ++n) for (int y = 0; y < oH; ++y) for (int x = 0; x < oW; ++x) {
      const float* g = &grid[((n * oH + y) * oW + x) * 2];
      float ix = grid_sampler_unnormalize(g[0], W, align), iy = grid_sampler_unnormalize(g[1], H, align);
      if (border) { ix = clip_coordinates(ix, W); iy = clip_coordinates(iy, H); }
      const int x0 = (int)floorf(ix), y0 = (int)floorf(iy);
      for (int c = 0; c < C; ++c) {
        double s = 0;
        for (int k = 0; k < 4; ++k) {
          const int xx = x0 + (k & 1), yy = y0 + (k >> 1);
          const double w = (k & 1 ? ix - x0 : x0 + 1 - ix) * (k >> 1 ? iy - y0 : y0 + 1 - iy);
          if (!within_bounds_2d(yy, xx, H, W)) continue;
          s += w * in[n * t.strides[0] + c * t.strides[1] + yy * t.strides[2] + xx * t.strides[3]];
          gi[((n * C + c) * H + yy) * W + xx] += w * go[((n * C + c) * oH + y) * oW + x];
        }
        out[((n * C + c) * oH + y) * oW + x] = (float)s;
      }
    }
    if (grad) grad->assign(gi.begin(), gi.end());
    return out;
  };
  bool ok = true;
  std::vector<float> gref;
  grid_sampler_2d_kernel<float, int><<<GET_BLOCKS(cnt, 256), 256>>>(cnt, ti, tg, to, GridSamplerPadding::Zeros, false);
  ok &= allclose("grid_sampler zeros", d_out, sample_ref(ti, false, false, &gref), 1e-3);
  grid_sampler_2d_kernel<float, int><<<GET_BLOCKS(cnt, 256), 256>>>(cnt, tl, tg, to, GridSamplerPadding::Border, true);
  ok &= allclose("grid_sampler border, NHWC", d_out, sample_ref(tl, true, true, nullptr), 1e-3);
  grid_sampler_2d_backward_input_kernel<float, int><<<GET_BLOCKS(cnt, 256), 256>>>(cnt, tgo, tg, tgi, false);
  ok &= allclose("grid_sampler grad input", d_gi, gref, 1e-3);

  const int pH = 7, pW = 9;
  std::vector<float> pool(N * C * pH * pW), poolT(pool.size());
  for (int v = 0; v < 2; ++v) for (int p = 0; p < N * C; ++p) for (int y = 0; y < pH; ++y) for (int x = 0; x < pW; ++x) {
    const int h0 = start_index(y, pH, v ? W : H), h1 = end_index(y, pH, v ? W : H), w0 = start_index(x, pW, v ? H : W), w1 = end_index(x, pW, v ? H : W);
    double s = 0;
    for (int h = h0; h < h1; ++h) for (int w = w0; w < w1; ++w) s += in[p * H * W + (v ? w * W + h : h * W + w)];
    (v ? poolT : pool)[(p * pH + y) * pW + x] = float(s / (h1 - h0) / (w1 - w0));
  }
  float* d_pool = dev(pool);
  C10_CUDA_CHECK(cudaMemset(d_pool, 0, pool.size() * 4));
  adaptive_average_pool<float><<<dim3(N * C, 2), dim3(32, 4)>>>(d_in, d_pool, H, W, pH, pW, H * W, W, 1);
  ok &= allclose("adaptive_avg_pool2d", d_pool, pool, 1e-5);
  adaptive_average_pool<float><<<dim3(N * C, 2), dim3(32, 4)>>>(d_in, d_pool, W, H, pH, pW, H * W, 1, W);   // transposed view
  ok &= allclose("adaptive_avg_pool2d .mT", d_pool, poolT, 1e-5);

  const int mh = (H + 2 - 3) / 2 + 1, mw = (W + 2 - 3) / 2 + 1, mt = N * C * mh * mw;
  std::vector<float> mref(mt);
  std::vector<int64_t> mi(mt), gi(mt);
  for (int i = 0; i < mt; ++i) {
    const int pw = i % mw, ph = i / mw % mh, p = i / (mw * mh);
    float b = -INFINITY;
    for (int h = std::max(ph * 2 - 1, 0); h < std::min(ph * 2 + 2, H); ++h) for (int w = std::max(pw * 2 - 1, 0); w < std::min(pw * 2 + 2, W); ++w)
      if (in[(p * H + h) * W + w] > b) { b = in[(p * H + h) * W + w]; mi[i] = h * W + w; }
    mref[i] = b;
  }
  float* d_m = dev(mref);
  int64_t* d_mi;
  C10_CUDA_CHECK(cudaMalloc(&d_mi, mt * 8));
  C10_CUDA_CHECK(cudaMemset(d_m, 0, mt * 4));
  max_pool_forward_nchw<float><<<GET_BLOCKS(mt), CUDA_NUM_THREADS>>>(mt, d_in, C, H, W, mh, mw, 3, 2, 1, d_m, d_mi);
  ok &= allclose("max_pool2d", d_m, mref, 0);
  C10_CUDA_CHECK(cudaMemcpy(gi.data(), d_mi, mt * 8, cudaMemcpyDeviceToHost));
  ok &= gi == mi;

  const int r = 3, sC = 4, sH = 20, sW = 23, sn = 2 * sC * r * r * sH * sW;
  const int uC = 10, uH = 15, uW = 17, uoH = 37, uoW = 41, un = 2 * uC * uoH * uoW;
  std::vector<float> sref(sn), uref(un);
  PixelShuffle ps{in.data(), sC, sH, sW, r};
  UpsampleNearestNHWC us{in.data(), uC, uH, uW, uoH, uoW};
  for (int i = 0; i < sn; ++i) sref[i] = ps(i);
  for (int i = 0; i < un; ++i) uref[i] = us(i);
  ps.in = us.in = d_in;
  float *d_s = dev(std::vector<float>(sn)), *d_u = dev(std::vector<float>(un));
  unrolled_index_kernel<float, PixelShuffle><<<(sn + 511) / 512, 128>>>(sn, d_s, ps);
  unrolled_index_kernel<float, UpsampleNearestNHWC><<<(un + 511) / 512, 128>>>(un, d_u, us);
  ok &= allclose("pixel_shuffle", d_s, sref, 0);
  ok &= allclose("upsample_nearest2d NHWC", d_u, uref, 0);
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
