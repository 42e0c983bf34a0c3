// Deformable convolution v1 (im2col + GEMM) and grid_sample, NCHW.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_KERNEL_LOOP(i, n) \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

#define CHECK_CUDA(e)                                                      \
  {                                                                        \
    cudaError_t r = (e);                                                   \
    if (r != cudaSuccess) {                                                \
      printf("error %s line %d\n", cudaGetErrorString(r), __LINE__);       \
      exit(1);                                                             \
    }                                                                      \
  }

template <typename scalar_t>
__host__ __device__ scalar_t bilinear(const scalar_t* in, int height, int width, scalar_t h, scalar_t w) {
  if (h <= -1 || height <= h || w <= -1 || width <= w) {
    return 0;
  }
  int h_low = (int)floorf(h);
  int w_low = (int)floorf(w);
  int h_high = h_low + 1;
  int w_high = w_low + 1;
  scalar_t lh = h - h_low;
  scalar_t lw = w - w_low;
  scalar_t hh = 1 - lh, hw = 1 - lw;
  scalar_t v1 = 0, v2 = 0, v3 = 0, v4 = 0;
  if (h_low >= 0 && w_low >= 0) v1 = in[h_low * width + w_low];
  if (h_low >= 0 && w_high <= width - 1) v2 = in[h_low * width + w_high];
  if (h_high <= height - 1 && w_low >= 0) v3 = in[h_high * width + w_low];
  if (h_high <= height - 1 && w_high <= width - 1) v4 = in[h_high * width + w_high];
  return hh * hw * v1 + hh * lw * v2 + lh * hw * v3 + lh * lw * v4;
}

template <typename scalar_t>
__global__ void deformable_im2col(int n, const scalar_t* input, const scalar_t* offset, int height, int width,
                                  int kh, int kw, int pad, scalar_t* columns) {
  CUDA_KERNEL_LOOP(index, n) {
    const int out_x = index % width;
    const int out_y = (index / width) % height;
    const int in_c = index / (width * height);
    scalar_t* col = columns + (size_t)(in_c * kh * kw) * height * width + out_y * width + out_x;
    const scalar_t* im = input + (size_t)in_c * height * width;
    for (int i = 0; i < kh; ++i) {
      for (int j = 0; j < kw; ++j) {
        const int oi = 2 * (i * kw + j);
        const scalar_t off_h = offset[(oi * height + out_y) * width + out_x];
        const scalar_t off_w = offset[((oi + 1) * height + out_y) * width + out_x];
        *col = bilinear(im, height, width, out_y - pad + i + off_h, out_x - pad + j + off_w);
        col += height * width;
      }
    }
  }
}

// out[m][n] = bias[m] + sum_k w[m][k] col[k][n]
__global__ void gemm_bias(const float* __restrict__ w, const float* __restrict__ col, const float* __restrict__ bias,
                          float* __restrict__ out, int M, int N, int K) {
  __shared__ float As[16][16];
  __shared__ float Bs[16][64];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty;
  const int col0 = blockIdx.x * 64;
  float acc[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < K; k0 += 16) {
    As[ty][tx] = (row < M && k0 + tx < K) ? w[row * K + k0 + tx] : 0.f;
    for (int q = 0; q < 4; ++q) {
      int c = col0 + tx + 16 * q;
      Bs[ty][tx + 16 * q] = (k0 + ty < K && c < N) ? col[(size_t)(k0 + ty) * N + c] : 0.f;
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
      float a = As[ty][k];
      for (int q = 0; q < 4; ++q) acc[q] += a * Bs[k][tx * 4 + q];
    }
    __syncthreads();
  }
  if (row >= M) return;
  for (int q = 0; q < 4; ++q) {
    int c = col0 + tx * 4 + q;
    if (c < N) out[(size_t)row * N + c] = acc[q] + bias[row];
  }
}

// gradient of the offsets' sampling with respect to the input: scatter with atomics
__global__ void deformable_col2im(int n, const float* grad_col, const float* offset, int height, int width, int kh,
                                  int kw, int pad, float* grad_im) {
  CUDA_KERNEL_LOOP(index, n) {
    const int x = index % width;
    const int y = (index / width) % height;
    const int j = (index / width / height) % kw;
    const int i = (index / width / height / kw) % kh;
    const int c = index / width / height / kw / kh;
    const int oi = 2 * (i * kw + j);
    const float h = y - pad + i + offset[(oi * height + y) * width + x];
    const float w = x - pad + j + offset[((oi + 1) * height + y) * width + x];
    const float g = grad_col[index];
    const int h0 = (int)floorf(h);
    const int w0 = (int)floorf(w);
    for (int dh = 0; dh < 2; ++dh) {
      for (int dw = 0; dw < 2; ++dw) {
        const int hh = h0 + dh;
        const int ww = w0 + dw;
        if (hh < 0 || hh >= height || ww < 0 || ww >= width) continue;
        const float wt = (1 - fabsf(h - hh)) * (1 - fabsf(w - ww));
        atomicAdd(grad_im + (c * height + hh) * width + ww, wt * g);
      }
    }
  }
}

// grid_sample, align_corners = true, zero padding; grid is [H][W][2]
__global__ void grid_sampler(const float* input, const float2* grid, float* output, int C, int H, int W, int oH, int oW) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= oW || y >= oH) return;
  const float2 g = grid[y * oW + x];
  const float ix = (g.x + 1.f) * 0.5f * (W - 1);
  const float iy = (g.y + 1.f) * 0.5f * (H - 1);
  for (int c = 0; c < C; ++c) output[(c * oH + y) * oW + x] = bilinear(input + (size_t)c * H * W, H, W, iy, ix);
}

// NCHW -> NHWC, naive on purpose of the layout change for the next layer
__global__ void nchw_to_nhwc(const float* in, float* out, int C, int HW) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  const int c = blockIdx.y;
  if (p < HW) out[p * C + c] = in[c * HW + p];
}

static float* to_device(const std::vector<float>& v) {
  float* d;
  CHECK_CUDA(cudaMalloc(&d, v.size() * sizeof(float)));
  CHECK_CUDA(cudaMemcpy(d, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
  return d;
}
static std::vector<float> to_host(const float* d, size_t n) {
  std::vector<float> v(n);
  CHECK_CUDA(cudaMemcpy(v.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost));
  return v;
}
static unsigned seed = 1;
static float rnd(float lo, float hi) {
  seed = seed * 1103515245u + 12345u;
  return lo + (hi - lo) * ((seed >> 9) & 0x3fffff) / 4194304.f;
}

int main() {
  const int C = 24, H = 72, W = 90, KH = 3, KW = 3, OC = 40, HW = H * W, K = C * KH * KW;
  std::vector<float> in(C * HW), off(2 * KH * KW * HW), wt(OC * K), bias(OC), gcol((size_t)K * HW);
  for (auto& v : in) v = rnd(-1, 1);
  for (auto& v : off) v = rnd(-2, 2);
  for (auto& v : wt) v = rnd(-0.1f, 0.1f);
  for (auto& v : bias) v = rnd(-1, 1);
  for (auto& v : gcol) v = rnd(-1, 1);
  const int oH = 100, oW = 60;
  std::vector<float> grid(oH * oW * 2);
  for (int y = 0; y < oH; ++y)
    for (int x = 0; x < oW; ++x) {
      float a = 0.4f, u = 2.2f * x / oW - 1.1f, v = 2.2f * y / oH - 1.1f;
      grid[2 * (y * oW + x)] = cosf(a) * u - sinf(a) * v;
      grid[2 * (y * oW + x) + 1] = sinf(a) * u + cosf(a) * v;
    }
  float *d_in = to_device(in), *d_off = to_device(off), *d_wt = to_device(wt), *d_bias = to_device(bias);
  float *d_gcol = to_device(gcol), *d_grid = to_device(grid);
  float *d_col, *d_out, *d_gim, *d_gs, *d_nhwc;
  CHECK_CUDA(cudaMalloc(&d_col, sizeof(float) * K * HW));
  CHECK_CUDA(cudaMalloc(&d_out, sizeof(float) * OC * HW));
  CHECK_CUDA(cudaMalloc(&d_nhwc, sizeof(float) * OC * HW));
  CHECK_CUDA(cudaMalloc(&d_gim, sizeof(float) * C * HW));
  CHECK_CUDA(cudaMalloc(&d_gs, sizeof(float) * C * oH * oW));
  CHECK_CUDA(cudaMemset(d_gim, 0, sizeof(float) * C * HW));

  deformable_im2col<float><<<512, 256>>>(C * HW, d_in, d_off, H, W, KH, KW, 1, d_col);
  gemm_bias<<<dim3((HW + 63) / 64, (OC + 15) / 16), dim3(16, 16)>>>(d_wt, d_col, d_bias, d_out, OC, HW, K);
  nchw_to_nhwc<<<dim3((HW + 127) / 128, OC), 128>>>(d_out, d_nhwc, OC, HW);
  deformable_col2im<<<1024, 256>>>(K * HW, d_gcol, d_off, H, W, KH, KW, 1, d_gim);
  grid_sampler<<<dim3((oW + 15) / 16, (oH + 15) / 16), dim3(16, 16)>>>(d_in, (const float2*)d_grid, d_gs, C, H, W, oH, oW);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());

  std::vector<float> col = to_host(d_col, (size_t)K * HW), nhwc = to_host(d_nhwc, OC * HW);
  std::vector<float> gim = to_host(d_gim, C * HW), gs = to_host(d_gs, C * oH * oW);
  double e_col = 0, e_out = 0, e_gim = 0, e_gs = 0;
  std::vector<double> ref(C * HW, 0.0);
  for (int c = 0; c < C; ++c)
    for (int i = 0; i < KH; ++i)
      for (int j = 0; j < KW; ++j)
        for (int y = 0; y < H; ++y)
          for (int x = 0; x < W; ++x) {
            int k = (c * KH + i) * KW + j, oi = 2 * (i * KW + j);
            float h = y - 1 + i + off[(oi * H + y) * W + x], w = x - 1 + j + off[((oi + 1) * H + y) * W + x];
            e_col = fmax(e_col, fabs(bilinear(in.data() + c * HW, H, W, h, w) - col[(size_t)k * HW + y * W + x]));
            int h0 = (int)floorf(h), w0 = (int)floorf(w);
            for (int q = 0; q < 4; ++q) {
              int hh = h0 + q / 2, ww = w0 + q % 2;
              if (hh >= 0 && hh < H && ww >= 0 && ww < W)
                ref[(c * H + hh) * W + ww] += (1 - fabsf(h - hh)) * (1 - fabsf(w - ww)) * gcol[(size_t)k * HW + y * W + x];
            }
          }
  for (int i = 0; i < C * HW; ++i) e_gim = fmax(e_gim, fabs(ref[i] - gim[i]));
  for (int p = 0; p < HW; p += 3)
    for (int m = 0; m < OC; ++m) {
      double s = bias[m];
      for (int k = 0; k < K; ++k) s += (double)wt[m * K + k] * col[(size_t)k * HW + p];
      e_out = fmax(e_out, fabs(s - nhwc[p * OC + m]));
    }
  for (int c = 0; c < C; ++c)
    for (int p = 0; p < oH * oW; ++p) {
      float ix = (grid[2 * p] + 1.f) * 0.5f * (W - 1), iy = (grid[2 * p + 1] + 1.f) * 0.5f * (H - 1);
      e_gs = fmax(e_gs, fabs(bilinear(in.data() + c * HW, H, W, iy, ix) - gs[c * oH * oW + p]));
    }
  printf("im2col %.2e conv %.2e grad %.2e grid_sample %.2e\n", e_col, e_out, e_gim, e_gs);
  bool ok = e_col < 1e-3 && e_out < 1e-3 && e_gim < 2e-3 && e_gs < 1e-3;
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
