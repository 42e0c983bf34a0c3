// CNN layers NCHW: im2col, direct conv with shared weights, max-pool, global average, batch norm, bias+relu.
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Shape { int n, c, h, w; __host__ __device__ int size() const { return n * c * h * w; } };

#define CUDA_1D_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
constexpr int kThreads = 256;
inline int blocks_for(int n) { return (n + kThreads - 1) / kThreads; }

__global__ void im2col(int n, const float* im, int height, int width, int ksize, int pad, int stride, int oh, int ow, float* col) {
  CUDA_1D_KERNEL_LOOP(index, n) {
    int w_out = index % ow, t = index / ow;
    int h_out = t % oh, c_in = t / oh;
    int c_out = c_in * ksize * ksize;
    int h_in = h_out * stride - pad, w_in = w_out * stride - pad;
    float* dst = col + (c_out * oh + h_out) * ow + w_out;
    const float* src = im + (c_in * height + h_in) * width + w_in;
    for (int i = 0; i < ksize; ++i)
      for (int j = 0; j < ksize; ++j) {
        int h = h_in + i, w = w_in + j;
        *dst = (h >= 0 && w >= 0 && h < height && w < width) ? src[i * width + j] : 0;
        dst += oh * ow;
      }
  }
}

template <int KS, int CI>
__global__ void conv_direct(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias,
                            float* __restrict__ y, Shape in, int co) {
  __shared__ float sw[CI * KS * KS];
  const int oc = blockIdx.z % co, n = blockIdx.z / co;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < CI * KS * KS; i += blockDim.x * blockDim.y) sw[i] = w[oc * CI * KS * KS + i];
  __syncthreads();
  const int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y;
  if (ox >= in.w || oy >= in.h) return;
  float acc = bias[oc];
  for (int c = 0; c < CI; ++c) {
#pragma unroll
    for (int ky = 0; ky < KS; ++ky) {
      int iy = oy + ky - KS / 2;
      if (iy < 0 || iy >= in.h) continue;
#pragma unroll
      for (int kx = 0; kx < KS; ++kx) {
        int ix = ox + kx - KS / 2;
        if (ix >= 0 && ix < in.w) acc += x[((n * CI + c) * in.h + iy) * in.w + ix] * sw[(c * KS + ky) * KS + kx];
      }
    }
  }
  y[((n * co + oc) * in.h + oy) * in.w + ox] = acc;
}

__global__ void maxpool2(const float* __restrict__ x, float* __restrict__ y, Shape in) {
  int ow = in.w / 2, oh = in.h / 2;
  int total = in.n * in.c * oh * ow;
  CUDA_1D_KERNEL_LOOP(i, total) {
    int px = i % ow, py = (i / ow) % oh, nc = i / (ow * oh);
    const float* p = x + (nc * in.h + 2 * py) * in.w + 2 * px;
    y[i] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[in.w], p[in.w + 1]));
  }
}

__global__ void bn_stats(const float* x, float* mean, float* var, Shape s) {
  __shared__ float s1[kThreads], s2[kThreads];
  int c = blockIdx.x, hw = s.h * s.w;
  float a = 0, b = 0;
  for (int i = threadIdx.x; i < s.n * hw; i += blockDim.x) {
    float v = x[((i / hw) * s.c + c) * hw + i % hw];
    a += v;
    b += v * v;
  }
  s1[threadIdx.x] = a;
  s2[threadIdx.x] = b;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (threadIdx.x < k) { s1[threadIdx.x] += s1[threadIdx.x + k]; s2[threadIdx.x] += s2[threadIdx.x + k]; }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    float m = s1[0] / (s.n * hw);
    mean[c] = m;
    var[c] = s2[0] / (s.n * hw) - m * m;
  }
}

__global__ void bn_relu(float* x, const float* mean, const float* var, const float* g, const float* b, Shape s) {
  CUDA_1D_KERNEL_LOOP(i, s.size()) {
    int c = (i / (s.h * s.w)) % s.c;
    float v = (x[i] - mean[c]) * rsqrtf(var[c] + 1e-5f) * g[c] + b[c];
    x[i] = v > 0 ? v : 0;
  }
}

__global__ void gap(const float* x, float* y, int hw) {
  float s = 0;
  const float* p = x + (blockIdx.y * gridDim.x + blockIdx.x) * hw;
  for (int i = threadIdx.x; i < hw; i += 32) s += p[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if (threadIdx.x == 0) y[blockIdx.y * gridDim.x + blockIdx.x] = s / hw;
}

int main(int argc, char** argv) {
  Shape in{2, 3, 30, 30};
  if (argc > 2) { in.h = atoi(argv[1]); in.w = atoi(argv[2]); }
  const int co = 8;
  std::vector<float> hx(in.size(), 1.f);
  float *x, *col, *w, *b, *y, *z, *mean, *var, *g;
  cudaMalloc(&x, in.size() * 4);
  cudaMalloc(&col, in.c * 9 * in.h * in.w * 4);
  cudaMalloc(&w, co * in.c * 9 * 4);
  cudaMalloc(&b, co * 4);
  Shape mid{in.n, co, in.h, in.w};
  cudaMalloc(&y, mid.size() * 4);
  cudaMalloc(&z, mid.size());
  cudaMalloc(&mean, co * 4);
  cudaMalloc(&var, co * 4);
  cudaMalloc(&g, in.n * co * 4);
  cudaMemcpy(x, hx.data(), hx.size() * 4, cudaMemcpyHostToDevice);
  int oh = (in.h + 2 - 3) / 1 + 1, ow = (in.w + 2 - 3) / 1 + 1;
  int cols = in.c * oh * ow;
  for (int n = 0; n < in.n; ++n)
    im2col<<<blocks_for(cols), kThreads>>>(cols, x + n * in.c * in.h * in.w, in.h, in.w, 3, 1, 1, oh, ow, col);
  dim3 t(16, 8), gr((in.w + 15) / 16, (in.h + 7) / 8, co * in.n);
  conv_direct<3, 3><<<gr, t>>>(x, w, b, y, in, co);
  bn_stats<<<co, kThreads>>>(y, mean, var, mid);
  bn_relu<<<blocks_for(mid.size()), kThreads>>>(y, mean, var, b, b, mid);
  maxpool2<<<4, kThreads>>>(y, z, mid);
  gap<<<dim3(co, in.n), 32>>>(z, g, (in.h / 2) * (in.w / 2));
  std::vector<float> out(in.n * co);
  cudaMemcpy(out.data(), g, out.size() * 4, cudaMemcpyDeviceToHost);
  printf("%f\n", out[0]);
  return 0;
}
