// Row-wise kernels of a small transformer library: softmax, layer norm, RMS norm, cross entropy.
// Row lengths are odd on purpose, so packed half2/bfloat162 code needs a head or a tail element.
//
//   row_normalize_c [rows] [cols] [reps]
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define CUDA_OK(...)                                                                     \
  do {                                                                                   \
    cudaError_t rc__ = (__VA_ARGS__);                                                    \
    if (rc__ != cudaSuccess) {                                                           \
      fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(rc__), __FILE__, __LINE__);    \
      abort();                                                                           \
    }                                                                                    \
  } while (0)

struct SumOp { __device__ float operator()(float a, float b) const { return a + b; } };
struct MaxOp { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };

template <class Op>
__device__ __forceinline__ float warp_all(float v, Op op) {
  for (int m = 16; m; m >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
  return v;
}

// Result in every thread. `scratch` holds one float per warp and can be used again right away.
template <int BLOCK, class Op>
__device__ __forceinline__ float block_all(float v, Op op, float neutral, float* scratch) {
  v = warp_all(v, op);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < BLOCK / 32 ? scratch[threadIdx.x % 32] : neutral;
  v = warp_all(v, op);
  __syncthreads();
  return v;
}

// One thread per row: three walks over the row, lanes are `cols` floats apart.
__global__ void softmax_thread_per_row(const float* in, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* x = in + (size_t)r * cols;
  float *y = out + (size_t)r * cols, m = -FLT_MAX, s = 0.f;
  for (int c = 0; c < cols; ++c) m = fmaxf(m, x[c]);
  for (int c = 0; c < cols; ++c) s += expf(x[c] - m);
  for (int c = 0; c < cols; ++c) y[c] = expf(x[c] - m) / s;
}

// One block per row, the row stays in dynamic shared memory.
template <int BLOCK>
__global__ void softmax_block_per_row(const float* __restrict__ in, float* __restrict__ out, int cols) {
  extern __shared__ float row[];
  __shared__ float scratch[BLOCK / 32];
  const float* x = in + (size_t)blockIdx.x * cols;
  float* y = out + (size_t)blockIdx.x * cols;
  float m = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += BLOCK) {
    row[c] = x[c];
    m = fmaxf(m, row[c]);
  }
  m = block_all<BLOCK>(m, MaxOp{}, -FLT_MAX, scratch);
  float s = 0.f;
  for (int c = threadIdx.x; c < cols; c += BLOCK) {
    row[c] = __expf(row[c] - m);
    s += row[c];
  }
  const float inv = 1.f / block_all<BLOCK>(s, SumOp{}, 0.f, scratch);
  for (int c = threadIdx.x; c < cols; c += BLOCK) y[c] = row[c] * inv;
}

// blockDim = (32, WARPS), one warp per row.
template <int WARPS>
__global__ void layernorm_warp_per_row(const float* __restrict__ in, const float* __restrict__ gamma,
                                       const float* __restrict__ beta, float* __restrict__ out,
                                       int rows, int cols, float eps) {
  const int r = blockIdx.x * WARPS + threadIdx.y;
  if (r >= rows) return;  // whole warp
  const float* x = in + (size_t)r * cols;
  float s = 0.f, q = 0.f;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[c];
  const float mean = warp_all(s, SumOp{}) / cols;
  for (int c = threadIdx.x; c < cols; c += 32) q += (x[c] - mean) * (x[c] - mean);
  const float rstd = rsqrtf(warp_all(q, SumOp{}) / cols + eps);
  for (int c = threadIdx.x; c < cols; c += 32)
    out[(size_t)r * cols + c] = (x[c] - mean) * rstd * gamma[c] + beta[c];
}

// ---------------------------------------------------------------- RMS norm, half2
// Rows are packed without padding: every other row starts in the middle of a half2.
template <int BLOCK>
__global__ void rmsnorm_half2(const __half* __restrict__ in, const __half* __restrict__ gamma,
                              __half* __restrict__ out, int cols, float eps) {
  __shared__ float scratch[BLOCK / 32];
  const size_t start = (size_t)blockIdx.x * cols;
  const int head = start & 1;
  const int pairs = (cols - head) / 2;
  const bool tail = (cols - head) & 1;
  const __half* x = in + start;
  __half* y = out + start;
  const __half2* x2 = reinterpret_cast<const __half2*>(x + head);
  __half2* y2 = reinterpret_cast<__half2*>(y + head);

  float s = 0.f;
  for (int p = threadIdx.x; p < pairs; p += BLOCK) {
    const float2 f = __half22float2(x2[p]);
    s += f.x * f.x + f.y * f.y;
  }
  if (threadIdx.x == 0 && head) s += __half2float(x[0]) * __half2float(x[0]);
  if (threadIdx.x == 1 && tail) s += __half2float(x[cols - 1]) * __half2float(x[cols - 1]);
  const float scale = rsqrtf(block_all<BLOCK>(s, SumOp{}, 0.f, scratch) / cols + eps);

  for (int p = threadIdx.x; p < pairs; p += BLOCK) {
    const float2 f = __half22float2(x2[p]);
    const __half* g = gamma + head + 2 * p;
    y2[p] = __floats2half2_rn(f.x * scale * __half2float(g[0]), f.y * scale * __half2float(g[1]));
  }
  const int c = threadIdx.x == 0 ? 0 : cols - 1;
  if ((threadIdx.x == 0 && head) || (threadIdx.x == 1 && tail))
    y[c] = __float2half(__half2float(x[c]) * scale * __half2float(gamma[c]));
}

// ---------------------------------------------------------------- cross entropy, bfloat162
// Rows are padded to an even stride; the last real column is handled alone. Online max and sum.
__device__ __forceinline__ void online_add(float& m, float& s, float v) {
  const float big = fmaxf(m, v);
  s = s * __expf(m - big) + __expf(v - big);
  m = big;
}

template <int BLOCK>
__global__ void cross_entropy_bf162(const __nv_bfloat16* __restrict__ logits,
                                    const int* __restrict__ label, float* __restrict__ loss,
                                    int cols, int stride) {
  __shared__ float scratch[BLOCK / 32];
  const __nv_bfloat16* x = logits + (size_t)blockIdx.x * stride;
  const __nv_bfloat162* x2 = reinterpret_cast<const __nv_bfloat162*>(x);
  float m = -FLT_MAX, s = 0.f;
  for (int p = threadIdx.x; p < cols / 2; p += BLOCK) {
    const float2 f = __bfloat1622float2(x2[p]);
    online_add(m, s, f.x);
    online_add(m, s, f.y);
  }
  if (cols % 2 && threadIdx.x == BLOCK - 1) online_add(m, s, __bfloat162float(x[cols - 1]));
  const float top = block_all<BLOCK>(m, MaxOp{}, -FLT_MAX, scratch);
  const float sum = block_all<BLOCK>(s * __expf(m - top), SumOp{}, 0.f, scratch);
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + top - __bfloat162float(x[label[blockIdx.x]]);
}

template <class T>
static T* upload(const std::vector<T>& host) {
  T* dev;
  CUDA_OK(cudaMalloc(&dev, host.size() * sizeof(T)));
  CUDA_OK(cudaMemcpy(dev, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return dev;
}

template <class Launch>
static float bench(int reps, Launch&& launch) {
  cudaEvent_t a, b;
  CUDA_OK(cudaEventCreate(&a));
  CUDA_OK(cudaEventCreate(&b));
  float ms = 0.f;
  launch();  // warm-up
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaEventRecord(a));
  for (int i = 0; i < reps; ++i) launch();
  CUDA_OK(cudaEventRecord(b));
  CUDA_OK(cudaEventSynchronize(b));
  CUDA_OK(cudaEventElapsedTime(&ms, a, b));
  return ms / reps;
}

static bool all_ok = true;
static void verdict(const char* name, float ms, double worst, double tol) {
  printf("%-24s %8.4f ms   max error %.2e  %s\n", name, ms, worst, worst <= tol ? "ok" : "WRONG");
  all_ok = all_ok && worst <= tol;
}
static double larger(double worst, double diff) { return diff <= worst ? worst : diff > worst ? diff : INFINITY; }

int main(int argc, char** argv) {
  const int rows = argc > 1 ? atoi(argv[1]) : 1500;
  const int cols = argc > 2 ? atoi(argv[2]) : 1021;
  const int reps = argc > 3 ? atoi(argv[3]) : 1;
  if (rows < 1 || cols < 3 || cols > 8191 || reps < 1) return fprintf(stderr, "bad arguments\n"), 1;
  const size_t n = (size_t)rows * cols;
  const int stride = (cols + 1) / 2 * 2;  // bf16 rows
  const float eps = 1e-5f;

  std::vector<float> x(n), gamma(cols), beta(cols), got(n), ref(n);
  std::vector<__half> xh(n), gh(cols), goth(n, __float2half(0.f));
  std::vector<__nv_bfloat16> xb((size_t)rows * stride, __float2bfloat16(0.f));
  for (size_t i = 0; i < n; ++i) {
    x[i] = (float)((i * 7919u) % 2003u) / 500.f - 2.f;
    xh[i] = __float2half(x[i]);
    xb[i / cols * stride + i % cols] = __float2bfloat16(x[i]);
  }
  for (int c = 0; c < cols; ++c) {
    gh[c] = __float2half(gamma[c] = 0.75f + 0.5f * (c % 9) / 9.f);
    beta[c] = 0.01f * (c % 17) - 0.08f;
  }
  float *d_x = upload(x), *d_y = upload(got), *d_gamma = upload(gamma), *d_beta = upload(beta);
  __half *d_xh = upload(xh), *d_yh = upload(goth), *d_gh = upload(gh);
  __nv_bfloat16* d_xb = upload(xb);
  float* loss;
  int* label;
  CUDA_OK(cudaMallocManaged(&loss, rows * sizeof(float)));
  CUDA_OK(cudaMallocManaged(&label, rows * sizeof(int)));
  for (int r = 0; r < rows; ++r) label[r] = (r * 31 + 5) % cols;
  for (int r = 0; r < rows; ++r) {  // softmax reference
    const float *p = &x[(size_t)r * cols], m = *std::max_element(p, p + cols);
    double s = 0;
    for (int c = 0; c < cols; ++c) s += ref[(size_t)r * cols + c] = std::exp(p[c] - m);
    for (int c = 0; c < cols; ++c) ref[(size_t)r * cols + c] /= (float)s;
  }
  for (int v = 0; v < 2; ++v) {
    CUDA_OK(cudaMemset(d_y, 0xff, n * sizeof(float)));
    const float ms = bench(reps, [&] {
      if (v == 0) softmax_thread_per_row<<<(rows + 127) / 128, 128>>>(d_x, d_y, rows, cols);
      else softmax_block_per_row<256><<<rows, 256, cols * sizeof(float)>>>(d_x, d_y, cols);
    });
    CUDA_OK(cudaMemcpy(got.data(), d_y, n * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (size_t i = 0; i < n; ++i) worst = larger(worst, std::fabs(got[i] - ref[i]) * cols);
    verdict(v ? "softmax block/row" : "softmax thread/row", ms, worst, 1e-3);
  }
  {
    CUDA_OK(cudaMemset(d_y, 0xff, n * sizeof(float)));
    const float ms = bench(reps, [&] {
      layernorm_warp_per_row<4><<<(rows + 3) / 4, dim3(32, 4)>>>(d_x, d_gamma, d_beta, d_y, rows, cols, eps);
    });
    CUDA_OK(cudaMemcpy(got.data(), d_y, n * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int r = 0; r < rows; ++r) {
      const float* p = &x[(size_t)r * cols];
      double mean = 0, var = 0;
      for (int c = 0; c < cols; ++c) mean += p[c] / (double)cols;
      for (int c = 0; c < cols; ++c) var += (p[c] - mean) * (p[c] - mean) / cols;
      const double rstd = 1.0 / std::sqrt(var + eps);
      for (int c = 0; c < cols; ++c)
        worst = larger(worst, std::fabs(got[(size_t)r * cols + c] - ((p[c] - mean) * rstd * gamma[c] + beta[c])));
    }
    verdict("layernorm warp/row", ms, worst, 1e-3);
  }
  {
    CUDA_OK(cudaMemset(d_yh, 0xff, n * sizeof(__half)));
    const float ms = bench(reps, [&] { rmsnorm_half2<128><<<rows, 128>>>(d_xh, d_gh, d_yh, cols, eps); });
    CUDA_OK(cudaMemcpy(goth.data(), d_yh, n * sizeof(__half), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int r = 0; r < rows; ++r) {
      const __half* p = &xh[(size_t)r * cols];
      double sq = 0;
      for (int c = 0; c < cols; ++c) sq += (double)__half2float(p[c]) * __half2float(p[c]);
      const double scale = 1.0 / std::sqrt(sq / cols + eps);
      for (int c = 0; c < cols; ++c)
        worst = larger(worst, std::fabs(__half2float(goth[(size_t)r * cols + c]) - __half2float(p[c]) * scale * __half2float(gh[c])));
    }
    verdict("rmsnorm half2", ms, worst, 4e-3);
  }
  {
    const float ms = bench(reps, [&] { cross_entropy_bf162<256><<<rows, 256>>>(d_xb, label, loss, cols, stride); });
    double worst = 0;
    for (int r = 0; r < rows; ++r) {
      const __nv_bfloat16* p = &xb[(size_t)r * stride];
      double s = 0;
      for (int c = 0; c < cols; ++c) s += std::exp(__bfloat162float(p[c]));
      worst = larger(worst, std::fabs(loss[r] - (std::log(s) - __bfloat162float(p[label[r]]))));
    }
    verdict("cross entropy bf162", ms, worst, 1e-3);
  }
  void* all[] = {d_x, d_y, d_gamma, d_beta, d_xh, d_yh, d_gh, d_xb, loss, label};
  for (void* p : all) CUDA_OK(cudaFree(p));
  puts(all_ok ? "PASS" : "FAIL");
  return all_ok ? 0 : 1;
}
