#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#define AT_CUDA_CHECK(EXPR)                                                        \
  do {                                                                             \
    cudaError_t __err = EXPR;                                                      \
    if (__err != cudaSuccess) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(__err)); \
      abort();                                                                     \
    }                                                                              \
  } while (0)

#define CUDA_1D_KERNEL_LOOP_T(i, n, index_t)                                \
  for (index_t i = (blockIdx.x * blockDim.x) + threadIdx.x; i < (n);        \
       i += (blockDim.x * gridDim.x))
#define CUDA_1D_KERNEL_LOOP(i, n) CUDA_1D_KERNEL_LOOP_T(i, n, int)

enum class ScalarType { Float, Double };

#define PRIVATE_CASE_TYPE(enum_type, type, ...) \
  case enum_type: {                             \
    using scalar_t = type;                      \
    __VA_ARGS__();                              \
    break;                                      \
  }
#define DISPATCH_FLOATING_TYPES(TYPE, NAME, ...)                     \
  switch (TYPE) {                                                    \
    PRIVATE_CASE_TYPE(ScalarType::Float, float, __VA_ARGS__)         \
    PRIVATE_CASE_TYPE(ScalarType::Double, double, __VA_ARGS__)       \
    default:                                                         \
      fprintf(stderr, #NAME " not implemented\n");                   \
      abort();                                                       \
  }

namespace vision {
namespace ops {

template <typename integer>
constexpr __host__ __device__ inline integer ceil_div(integer n, integer m) {
  return (n + m - 1) / m;
}

template <typename T>
__host__ __device__ T bilinear_interpolate(const T* input, int height, int width, T y, T x) {
  // deal with cases that inverse elements are out of feature map boundary
  if (y < -1.0 || y > height || x < -1.0 || x > width) {
    // empty
    return 0;
  }

  if (y <= 0) y = 0;
  if (x <= 0) x = 0;

  int y_low = (int)y;
  int x_low = (int)x;
  int y_high;
  int x_high;

  if (y_low >= height - 1) {
    y_high = y_low = height - 1;
    y = (T)y_low;
  } else {
    y_high = y_low + 1;
  }
  if (x_low >= width - 1) {
    x_high = x_low = width - 1;
    x = (T)x_low;
  } else {
    x_high = x_low + 1;
  }

  T ly = y - y_low;
  T lx = x - x_low;
  T hy = 1. - ly, hx = 1. - lx;

  // do bilinear interpolation
  T v1 = input[y_low * width + x_low];
  T v2 = input[y_low * width + x_high];
  T v3 = input[y_high * width + x_low];
  T v4 = input[y_high * width + x_high];
  T w1 = hy * hx, w2 = hy * lx, w3 = ly * hx, w4 = ly * lx;
  return (w1 * v1 + w2 * v2 + w3 * v3 + w4 * v4);
}

template <typename T>
__global__ void roi_align_forward_kernel_impl(
    int nthreads,
    const T* input,
    const T spatial_scale,
    int channels,
    int height,
    int width,
    int pooled_height,
    int pooled_width,
    int sampling_ratio,
    bool aligned,
    const T* rois,
    T* output) {
  CUDA_1D_KERNEL_LOOP(index, nthreads) {
    // (n, c, ph, pw) is an element in the pooled output
    int pw = index % pooled_width;
    int ph = (index / pooled_width) % pooled_height;
    int c = (index / pooled_width / pooled_height) % channels;
    int n = index / pooled_width / pooled_height / channels;

    const T* offset_rois = rois + n * 5;
    int roi_batch_ind = offset_rois[0];

    // Do not using rounding; this implementation detail is critical
    T offset = aligned ? (T)0.5 : (T)0.0;
    T roi_start_w = offset_rois[1] * spatial_scale - offset;
    T roi_start_h = offset_rois[2] * spatial_scale - offset;
    T roi_end_w = offset_rois[3] * spatial_scale - offset;
    T roi_end_h = offset_rois[4] * spatial_scale - offset;

    T roi_width = roi_end_w - roi_start_w;
    T roi_height = roi_end_h - roi_start_h;
    if (!aligned) {
      // Force malformed ROIs to be 1x1
      roi_width = max(roi_width, (T)1.);
      roi_height = max(roi_height, (T)1.);
    }
    T bin_size_h = static_cast<T>(roi_height) / static_cast<T>(pooled_height);
    T bin_size_w = static_cast<T>(roi_width) / static_cast<T>(pooled_width);

    const T* offset_input = input + (roi_batch_ind * channels + c) * height * width;

    // We use roi_bin_grid to sample the grid and mimic integral
    int roi_bin_grid_h = sampling_ratio;
    int roi_bin_grid_w = sampling_ratio;
    const T count = max(roi_bin_grid_h * roi_bin_grid_w, 1);

    T output_val = 0.;
    for (int iy = 0; iy < roi_bin_grid_h; iy++) {
      const T y = roi_start_h + ph * bin_size_h +
          static_cast<T>(iy + .5f) * bin_size_h / static_cast<T>(roi_bin_grid_h);
      for (int ix = 0; ix < roi_bin_grid_w; ix++) {
        const T x = roi_start_w + pw * bin_size_w +
            static_cast<T>(ix + .5f) * bin_size_w / static_cast<T>(roi_bin_grid_w);
        T val = bilinear_interpolate(offset_input, height, width, y, x);
        output_val += val;
      }
    }
    output_val /= count;
    output[index] = output_val;
  }
}

template <typename T>
__global__ void roi_align_backward_kernel_impl(
    int nthreads,
    const T* grad_output,
    const T spatial_scale,
    int channels,
    int height,
    int width,
    int pooled_height,
    int pooled_width,
    int sampling_ratio,
    bool aligned,
    T* grad_input,
    const T* rois,
    int n_stride,
    int c_stride,
    int h_stride,
    int w_stride) {
  CUDA_1D_KERNEL_LOOP(index, nthreads) {
    int pw = index % pooled_width;
    int ph = (index / pooled_width) % pooled_height;
    int c = (index / pooled_width / pooled_height) % channels;
    int n = index / pooled_width / pooled_height / channels;

    const T* offset_rois = rois + n * 5;
    int roi_batch_ind = offset_rois[0];
    T offset = aligned ? (T)0.5 : (T)0.0;
    T roi_start_w = offset_rois[1] * spatial_scale - offset;
    T roi_start_h = offset_rois[2] * spatial_scale - offset;
    T roi_width = offset_rois[3] * spatial_scale - offset - roi_start_w;
    T roi_height = offset_rois[4] * spatial_scale - offset - roi_start_h;
    if (!aligned) {
      roi_width = max(roi_width, (T)1.);
      roi_height = max(roi_height, (T)1.);
    }
    T bin_size_h = roi_height / static_cast<T>(pooled_height);
    T bin_size_w = roi_width / static_cast<T>(pooled_width);
    T* gi = grad_input + (roi_batch_ind * channels + c) * height * width;
    const T go = grad_output[n * n_stride + c * c_stride + ph * h_stride + pw * w_stride] /
        (sampling_ratio * sampling_ratio);

    for (int iy = 0; iy < sampling_ratio; iy++) {
      T y = roi_start_h + ph * bin_size_h + static_cast<T>(iy + .5f) * bin_size_h / static_cast<T>(sampling_ratio);
      for (int ix = 0; ix < sampling_ratio; ix++) {
        T x = roi_start_w + pw * bin_size_w + static_cast<T>(ix + .5f) * bin_size_w / static_cast<T>(sampling_ratio);
        if (y < -1.0 || y > height || x < -1.0 || x > width) continue;
        T yy = max(y, (T)0), xx = max(x, (T)0);
        int y_low = (int)yy, x_low = (int)xx, y_high, x_high;
        if (y_low >= height - 1) { y_high = y_low = height - 1; yy = (T)y_low; } else y_high = y_low + 1;
        if (x_low >= width - 1) { x_high = x_low = width - 1; xx = (T)x_low; } else x_high = x_low + 1;
        T ly = yy - y_low, lx = xx - x_low, hy = 1. - ly, hx = 1. - lx;
        atomicAdd(gi + y_low * width + x_low, go * hy * hx);
        atomicAdd(gi + y_low * width + x_high, go * hy * lx);
        atomicAdd(gi + y_high * width + x_low, go * ly * hx);
        atomicAdd(gi + y_high * width + x_high, go * ly * lx);
      } // ix
    } // iy
  } // CUDA_1D_KERNEL_LOOP
}

int const threadsPerBlock = sizeof(unsigned long long) * 8;

template <typename T>
__device__ inline bool devIoU(T const* const a, T const* const b, const float threshold) {
  T left = max(a[0], b[0]), right = min(a[2], b[2]);
  T top = max(a[1], b[1]), bottom = min(a[3], b[3]);
  T width = max(right - left, (T)0), height = max(bottom - top, (T)0);
  T interS = width * height;
  T Sa = (a[2] - a[0]) * (a[3] - a[1]);
  T Sb = (b[2] - b[0]) * (b[3] - b[1]);
  return (interS / (Sa + Sb - interS)) > threshold;
}

template <typename T>
__global__ void nms_kernel_impl(int n_boxes, double iou_threshold, const T* dev_boxes, unsigned long long* dev_mask) {
  const int row_start = blockIdx.y;
  const int col_start = blockIdx.x;

  if (row_start > col_start)
    return;

  const int row_size = min(n_boxes - row_start * threadsPerBlock, threadsPerBlock);
  const int col_size = min(n_boxes - col_start * threadsPerBlock, threadsPerBlock);

  __shared__ T block_boxes[threadsPerBlock * 4];
  if (threadIdx.x < col_size) {
    block_boxes[threadIdx.x * 4 + 0] = dev_boxes[(threadsPerBlock * col_start + threadIdx.x) * 4 + 0];
    block_boxes[threadIdx.x * 4 + 1] = dev_boxes[(threadsPerBlock * col_start + threadIdx.x) * 4 + 1];
    block_boxes[threadIdx.x * 4 + 2] = dev_boxes[(threadsPerBlock * col_start + threadIdx.x) * 4 + 2];
    block_boxes[threadIdx.x * 4 + 3] = dev_boxes[(threadsPerBlock * col_start + threadIdx.x) * 4 + 3];
  }
  __syncthreads();

  if (threadIdx.x < row_size) {
    const int cur_box_idx = threadsPerBlock * row_start + threadIdx.x;
    const T* cur_box = dev_boxes + cur_box_idx * 4;
    int i = 0;
    unsigned long long t = 0;
    int start = 0;
    if (row_start == col_start) {
      start = threadIdx.x + 1;
    }
    for (i = start; i < col_size; i++) {
      if (devIoU<T>(cur_box, block_boxes + i * 4, iou_threshold)) {
        t |= 1ULL << i;
      }
    }
    const int col_blocks = ceil_div(n_boxes, threadsPerBlock);
    dev_mask[cur_box_idx * col_blocks + col_start] = t;
  }
}

} // namespace ops
} // namespace vision

using namespace vision::ops;

struct Problem {
  int batch, channels, height, width, n_rois, pooled, sampling;
};

template <typename scalar_t>
int run_roi_align(const Problem& p, bool aligned, double tol) {
  std::mt19937 gen(99);
  std::uniform_real_distribution<double> u(0., 1.);
  const double scale = 0.25;
  std::vector<scalar_t> input((size_t)p.batch * p.channels * p.height * p.width), rois(p.n_rois * 5);
  for (auto& v : input) v = (scalar_t)(u(gen) - 0.5);
  for (int i = 0; i < p.n_rois; i++) {
    double x = u(gen) * p.width / scale * 0.8, y = u(gen) * p.height / scale * 0.8;
    rois[i * 5 + 0] = (scalar_t)(gen() % p.batch);
    rois[i * 5 + 1] = (scalar_t)x;
    rois[i * 5 + 2] = (scalar_t)y;
    rois[i * 5 + 3] = (scalar_t)(x + 4 + u(gen) * 60);
    rois[i * 5 + 4] = (scalar_t)(y + 4 + u(gen) * 60);
  }
  const int out_n = p.n_rois * p.channels * p.pooled * p.pooled;
  std::vector<scalar_t> go(out_n), out(out_n), gi(input.size());
  for (auto& v : go) v = (scalar_t)(u(gen) - 0.5);

  scalar_t *d_in, *d_rois, *d_out, *d_go, *d_gi;
  AT_CUDA_CHECK(cudaMalloc(&d_in, input.size() * sizeof(scalar_t)));
  AT_CUDA_CHECK(cudaMalloc(&d_gi, input.size() * sizeof(scalar_t)));
  AT_CUDA_CHECK(cudaMalloc(&d_rois, rois.size() * sizeof(scalar_t)));
  AT_CUDA_CHECK(cudaMalloc(&d_out, out_n * sizeof(scalar_t)));
  AT_CUDA_CHECK(cudaMalloc(&d_go, out_n * sizeof(scalar_t)));
  AT_CUDA_CHECK(cudaMemcpy(d_in, input.data(), input.size() * sizeof(scalar_t), cudaMemcpyHostToDevice));
  AT_CUDA_CHECK(cudaMemcpy(d_rois, rois.data(), rois.size() * sizeof(scalar_t), cudaMemcpyHostToDevice));
  AT_CUDA_CHECK(cudaMemcpy(d_go, go.data(), out_n * sizeof(scalar_t), cudaMemcpyHostToDevice));
  AT_CUDA_CHECK(cudaMemset(d_gi, 0, input.size() * sizeof(scalar_t)));

  dim3 grid(std::min(ceil_div(out_n, 512), 4096));
  dim3 block(512);
  roi_align_forward_kernel_impl<scalar_t><<<grid, block>>>(
      out_n, d_in, (scalar_t)scale, p.channels, p.height, p.width, p.pooled, p.pooled, p.sampling, aligned, d_rois, d_out);
  const int hw = p.pooled * p.pooled;
  roi_align_backward_kernel_impl<scalar_t><<<grid, block>>>(
      out_n, d_go, (scalar_t)scale, p.channels, p.height, p.width, p.pooled, p.pooled, p.sampling, aligned, d_gi, d_rois,
      p.channels * hw, hw, p.pooled, 1);
  AT_CUDA_CHECK(cudaGetLastError());
  AT_CUDA_CHECK(cudaMemcpy(out.data(), d_out, out_n * sizeof(scalar_t), cudaMemcpyDeviceToHost));
  AT_CUDA_CHECK(cudaMemcpy(gi.data(), d_gi, gi.size() * sizeof(scalar_t), cudaMemcpyDeviceToHost));

  // forward against the same interpolation in double; <out, go> == <input, gi> covers the adjoint
  double worst = 0, dot_f = 0, dot_b = 0, mag = 0;
  std::vector<double> in_d(input.begin(), input.end());
  for (int idx = 0; idx < out_n; idx++) {
    int pw = idx % p.pooled, ph = idx / p.pooled % p.pooled, c = idx / hw % p.channels, n = idx / hw / p.channels;
    const scalar_t* r = &rois[n * 5];
    double off = aligned ? 0.5 : 0, x0 = r[1] * scale - off, y0 = r[2] * scale - off, w = r[3] * scale - off - x0, h = r[4] * scale - off - y0;
    if (!aligned) { w = std::max(w, 1.0); h = std::max(h, 1.0); }
    double acc = 0;
    for (int iy = 0; iy < p.sampling; iy++)
      for (int ix = 0; ix < p.sampling; ix++)
        acc += bilinear_interpolate(&in_d[((int)r[0] * p.channels + c) * p.height * p.width], p.height, p.width,
                                    y0 + (ph + (iy + .5) / p.sampling) * h / p.pooled, x0 + (pw + (ix + .5) / p.sampling) * w / p.pooled);
    acc /= p.sampling * p.sampling;
    worst = std::max(worst, std::fabs(acc - out[idx]));
    dot_f += (double)out[idx] * go[idx];
    mag += std::fabs((double)out[idx] * go[idx]);
  }
  for (size_t i = 0; i < gi.size(); i++) dot_b += (double)gi[i] * input[i];
  printf("roi_align sizeof %zu aligned %d: fwd %.2e adjoint %.2e\n", sizeof(scalar_t), aligned, worst, std::fabs(dot_f - dot_b) / mag);
  for (scalar_t* q : {d_in, d_gi, d_rois, d_out, d_go}) cudaFree(q);
  return !(worst < tol && std::fabs(dot_f - dot_b) < tol * mag);
}

int run_nms(int n_boxes, float thr) {
  std::mt19937 gen(3);
  std::vector<float> boxes(n_boxes * 4);  // already sorted by score
  for (int i = 0; i < n_boxes; i++) {
    int x = gen() % 480, y = gen() % 320;
    boxes[i * 4 + 0] = x; boxes[i * 4 + 1] = y;
    boxes[i * 4 + 2] = x + 16 + gen() % 100; boxes[i * 4 + 3] = y + 16 + gen() % 100;
  }
  const int col_blocks = ceil_div(n_boxes, threadsPerBlock);
  float* d_boxes;
  unsigned long long* d_mask;
  AT_CUDA_CHECK(cudaMalloc(&d_boxes, boxes.size() * sizeof(float)));
  AT_CUDA_CHECK(cudaMalloc(&d_mask, (size_t)n_boxes * col_blocks * sizeof(unsigned long long)));
  AT_CUDA_CHECK(cudaMemset(d_mask, 0, (size_t)n_boxes * col_blocks * sizeof(unsigned long long)));
  AT_CUDA_CHECK(cudaMemcpy(d_boxes, boxes.data(), boxes.size() * sizeof(float), cudaMemcpyHostToDevice));
  dim3 blocks(col_blocks, col_blocks), threads(threadsPerBlock);
  nms_kernel_impl<float><<<blocks, threads>>>(n_boxes, thr, d_boxes, d_mask);
  AT_CUDA_CHECK(cudaGetLastError());
  std::vector<unsigned long long> mask((size_t)n_boxes * col_blocks), remv(col_blocks, 0);
  AT_CUDA_CHECK(cudaMemcpy(mask.data(), d_mask, mask.size() * sizeof(unsigned long long), cudaMemcpyDeviceToHost));
  std::vector<int> keep, ref;
  for (int i = 0; i < n_boxes; i++) {
    if (remv[i / threadsPerBlock] >> (i % threadsPerBlock) & 1) continue;
    keep.push_back(i);
    for (int j = i / threadsPerBlock; j < col_blocks; j++) remv[j] |= mask[(size_t)i * col_blocks + j];
  }
  for (int i = 0; i < n_boxes; i++) {
    const float* a = &boxes[i * 4];
    bool ok = true;
    for (int k : ref) {
      const float* b = &boxes[k * 4];
      float w = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), 0.f), h = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), 0.f);
      float inter = w * h, uni = (b[2] - b[0]) * (b[3] - b[1]) + (a[2] - a[0]) * (a[3] - a[1]) - inter;
      if (inter / uni > thr) { ok = false; break; }
    }
    if (ok) ref.push_back(i);
  }
  printf("nms: kept %zu / %d (ref %zu)\n", keep.size(), n_boxes, ref.size());
  cudaFree(d_boxes);
  cudaFree(d_mask);
  return keep != ref;
}

int main() {
  int fails = 0;
  Problem p{2, 24, 50, 68, 60, 7, 2};
  for (ScalarType t : {ScalarType::Float, ScalarType::Double})
    DISPATCH_FLOATING_TYPES(t, "roi_align", [&] {
      fails += run_roi_align<scalar_t>(p, t == ScalarType::Float, sizeof(scalar_t) == 4 ? 1e-4 : 1e-10);
    });
  fails += run_nms(2500, 0.5f);
  puts(fails ? "FAIL" : "PASS");
  return fails ? 1 : 0;
}
