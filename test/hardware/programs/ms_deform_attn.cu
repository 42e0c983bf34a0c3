/*!
**************************************************************************
* Multi-scale deformable attention: softmax over (level, point) weights,
* forward sampling and backward (value / location / weight gradients).
**************************************************************************
*/
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <vector>
#include <random>
#include <cuda_runtime.h>

#define CUDA_KERNEL_LOOP(i, n)                                          \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n);          \
       i += blockDim.x * gridDim.x)

const int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(const int N, const int num_threads)
{
  return (N + num_threads - 1) / num_threads;
}

static void check_last(const char *where)
{
  cudaError_t err = cudaGetLastError();
  if (err == cudaSuccess) return;
  printf("error in %s: %s\n", where, cudaGetErrorString(err));
  exit(1);
}

// one thread per (query, head): softmax over the num_levels * num_point logits, in place
template <int LP>
__global__ void attn_weight_softmax_kernel(const int n, float *attn)
{
  CUDA_KERNEL_LOOP(index, n)
  {
    float *row = attn + (size_t)index * LP;
    float v[LP];
    float mx = row[0];
    for (int i = 0; i < LP; ++i)
      mx = fmaxf(mx, v[i] = row[i]);
    float sum = 0;
    for (int i = 0; i < LP; ++i)
      sum += (v[i] = expf(v[i] - mx));
    const float inv = 1.f / sum;
    for (int i = 0; i < LP; ++i)
      row[i] = v[i] * inv;
  }
}

template <typename scalar_t>
__device__ scalar_t ms_deform_attn_im2col_bilinear(const scalar_t* &bottom_data,
    const int &height, const int &width, const int &nheads, const int &channels,
    const scalar_t &h, const scalar_t &w, const int &m, const int &c)
{
  const int h_low = floorf(h);
  const int w_low = floorf(w);
  const int h_high = h_low + 1;
  const int w_high = w_low + 1;

  const scalar_t lh = h - h_low;
  const scalar_t lw = w - w_low;
  const scalar_t hh = 1 - lh, hw = 1 - lw;

  const int w_stride = nheads * channels;
  const int h_stride = width * w_stride;
  const int h_low_ptr_offset = h_low * h_stride;
  const int h_high_ptr_offset = h_low_ptr_offset + h_stride;
  const int w_low_ptr_offset = w_low * w_stride;
  const int w_high_ptr_offset = w_low_ptr_offset + w_stride;
  const int base_ptr = m * channels + c;

  scalar_t v1 = 0, v2 = 0, v3 = 0, v4 = 0;
  if (h_low >= 0 && w_low >= 0)
    v1 = bottom_data[h_low_ptr_offset + w_low_ptr_offset + base_ptr];
  if (h_low >= 0 && w_high <= width - 1)
    v2 = bottom_data[h_low_ptr_offset + w_high_ptr_offset + base_ptr];
  if (h_high <= height - 1 && w_low >= 0)
    v3 = bottom_data[h_high_ptr_offset + w_low_ptr_offset + base_ptr];
  if (h_high <= height - 1 && w_high <= width - 1)
    v4 = bottom_data[h_high_ptr_offset + w_high_ptr_offset + base_ptr];

  const scalar_t w1 = hh * hw, w2 = hh * lw, w3 = lh * hw, w4 = lh * lw;
  return (w1 * v1 + w2 * v2 + w3 * v3 + w4 * v4);
}

template <typename scalar_t>
__device__ void ms_deform_attn_col2im_bilinear(const scalar_t* &bottom_data,
    const int &height, const int &width, const int &nheads, const int &channels,
    const scalar_t &h, const scalar_t &w, const int &m, const int &c,
    const scalar_t &top_grad, const scalar_t &attn_weight,
    scalar_t* &grad_value, scalar_t* grad_sampling_loc, scalar_t* grad_attn_weight)
{
  const int h_low = floorf(h);
  const int w_low = floorf(w);
  const int h_high = h_low + 1;
  const int w_high = w_low + 1;
  const scalar_t lh = h - h_low, lw = w - w_low;
  const scalar_t hh = 1 - lh, hw = 1 - lw;
  const int w_stride = nheads * channels;
  const int h_stride = width * w_stride;
  const int base_ptr = m * channels + c;

  const scalar_t w1 = hh * hw, w2 = hh * lw, w3 = lh * hw, w4 = lh * lw;
  const scalar_t top_grad_value = top_grad * attn_weight;
  scalar_t grad_h_weight = 0, grad_w_weight = 0;

  scalar_t v1 = 0;
  if (h_low >= 0 && w_low >= 0)
  {
    const int ptr1 = h_low * h_stride + w_low * w_stride + base_ptr;
    v1 = bottom_data[ptr1];
    grad_h_weight -= hw * v1;
    grad_w_weight -= hh * v1;
    atomicAdd(grad_value + ptr1, w1 * top_grad_value);
  }
  scalar_t v2 = 0;
  if (h_low >= 0 && w_high <= width - 1)
  {
    const int ptr2 = h_low * h_stride + w_high * w_stride + base_ptr;
    v2 = bottom_data[ptr2];
    grad_h_weight -= lw * v2;
    grad_w_weight += hh * v2;
    atomicAdd(grad_value + ptr2, w2 * top_grad_value);
  }
  scalar_t v3 = 0;
  if (h_high <= height - 1 && w_low >= 0)
  {
    const int ptr3 = h_high * h_stride + w_low * w_stride + base_ptr;
    v3 = bottom_data[ptr3];
    grad_h_weight += hw * v3;
    grad_w_weight -= lh * v3;
    atomicAdd(grad_value + ptr3, w3 * top_grad_value);
  }
  scalar_t v4 = 0;
  if (h_high <= height - 1 && w_high <= width - 1)
  {
    const int ptr4 = h_high * h_stride + w_high * w_stride + base_ptr;
    v4 = bottom_data[ptr4];
    grad_h_weight += lw * v4;
    grad_w_weight += lh * v4;
    atomicAdd(grad_value + ptr4, w4 * top_grad_value);
  }

  const scalar_t val = (w1 * v1 + w2 * v2 + w3 * v3 + w4 * v4);
  *grad_attn_weight = top_grad * val;
  *grad_sampling_loc = width * grad_w_weight * top_grad_value;
  *(grad_sampling_loc + 1) = height * grad_h_weight * top_grad_value;
}

template <typename scalar_t>
__global__ void ms_deformable_im2col_gpu_kernel(const int n,
    const scalar_t *data_value, const int *data_spatial_shapes, const int *data_level_start_index,
    const scalar_t *data_sampling_loc, const scalar_t *data_attn_weight,
    const int batch_size, const int spatial_size, const int num_heads, const int channels,
    const int num_levels, const int num_query, const int num_point, scalar_t *data_col)
{
  CUDA_KERNEL_LOOP(index, n)
  {
    int _temp = index;
    const int c_col = _temp % channels;
    _temp /= channels;
    const int sampling_index = _temp;
    const int m_col = _temp % num_heads;
    _temp /= num_heads;
    const int b_col = _temp / num_query;

    scalar_t *data_col_ptr = data_col + index;
    int data_weight_ptr = sampling_index * num_levels * num_point;
    int data_loc_w_ptr = data_weight_ptr << 1;
    const int qid_stride = num_heads * channels;
    const int data_value_ptr_init_offset = b_col * spatial_size * qid_stride;
    scalar_t col = 0;

    for (int l_col = 0; l_col < num_levels; ++l_col)
    {
      const int level_start_id = data_level_start_index[l_col];
      const int spatial_h_ptr = l_col << 1;
      const int spatial_h = data_spatial_shapes[spatial_h_ptr];
      const int spatial_w = data_spatial_shapes[spatial_h_ptr + 1];
      const scalar_t *data_value_ptr = data_value + (data_value_ptr_init_offset + level_start_id * qid_stride);
      for (int p_col = 0; p_col < num_point; ++p_col)
      {
        const scalar_t loc_w = data_sampling_loc[data_loc_w_ptr];
        const scalar_t loc_h = data_sampling_loc[data_loc_w_ptr + 1];
        const scalar_t weight = data_attn_weight[data_weight_ptr];

        const scalar_t h_im = loc_h * spatial_h - 0.5;
        const scalar_t w_im = loc_w * spatial_w - 0.5;

        if (h_im > -1 && w_im > -1 && h_im < spatial_h && w_im < spatial_w)
        {
          col += ms_deform_attn_im2col_bilinear(data_value_ptr, spatial_h, spatial_w, num_heads, channels, h_im, w_im, m_col, c_col) * weight;
        }

        data_weight_ptr += 1;
        data_loc_w_ptr += 2;
      }
    }
    *data_col_ptr = col;
  }
}

// blockDim.x == channels, one block per (batch, query, head)
template <typename scalar_t, unsigned int blockSize>
__global__ void ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce(const int n,
    const scalar_t *grad_col, const scalar_t *data_value, const int *data_spatial_shapes,
    const int *data_level_start_index, const scalar_t *data_sampling_loc, const scalar_t *data_attn_weight,
    const int spatial_size, const int num_heads, const int channels,
    const int num_levels, const int num_query, const int num_point,
    scalar_t *grad_value, scalar_t *grad_sampling_loc, scalar_t *grad_attn_weight)
{
  CUDA_KERNEL_LOOP(index, n)
  {
    __shared__ scalar_t cache_grad_sampling_loc[blockSize * 2];
    __shared__ scalar_t cache_grad_attn_weight[blockSize];
    unsigned int tid = threadIdx.x;
    int _temp = index;
    const int c_col = _temp % channels;
    _temp /= channels;
    const int sampling_index = _temp;
    const int m_col = _temp % num_heads;
    _temp /= num_heads;
    const int b_col = _temp / num_query;

    const scalar_t top_grad = grad_col[index];
    int data_weight_ptr = sampling_index * num_levels * num_point;
    int data_loc_w_ptr = data_weight_ptr << 1;
    scalar_t *grad_sampling_loc_p = grad_sampling_loc + (data_weight_ptr << 1);
    scalar_t *grad_attn_weight_p = grad_attn_weight + data_weight_ptr;
    const int qid_stride = num_heads * channels;
    const int data_value_ptr_init_offset = b_col * spatial_size * qid_stride;

    for (int l_col = 0; l_col < num_levels; ++l_col)
    {
      const int level_start_id = data_level_start_index[l_col];
      const int spatial_h = data_spatial_shapes[l_col << 1];
      const int spatial_w = data_spatial_shapes[(l_col << 1) + 1];
      const int value_ptr_offset = data_value_ptr_init_offset + level_start_id * qid_stride;
      const scalar_t *data_value_ptr = data_value + value_ptr_offset;
      scalar_t *grad_value_ptr = grad_value + value_ptr_offset;

      for (int p_col = 0; p_col < num_point; ++p_col)
      {
        const scalar_t loc_w = data_sampling_loc[data_loc_w_ptr];
        const scalar_t loc_h = data_sampling_loc[data_loc_w_ptr + 1];
        const scalar_t weight = data_attn_weight[data_weight_ptr];
        const scalar_t h_im = loc_h * spatial_h - 0.5;
        const scalar_t w_im = loc_w * spatial_w - 0.5;
        *(cache_grad_sampling_loc + (threadIdx.x << 1)) = 0;
        *(cache_grad_sampling_loc + ((threadIdx.x << 1) + 1)) = 0;
        *(cache_grad_attn_weight + threadIdx.x) = 0;
        if (h_im > -1 && w_im > -1 && h_im < spatial_h && w_im < spatial_w)
        {
          ms_deform_attn_col2im_bilinear(
              data_value_ptr, spatial_h, spatial_w, num_heads, channels, h_im, w_im, m_col, c_col,
              top_grad, weight, grad_value_ptr,
              cache_grad_sampling_loc + (threadIdx.x << 1), cache_grad_attn_weight + threadIdx.x);
        }
        __syncthreads();

        for (unsigned int s = blockSize / 2; s > 0; s >>= 1)
        {
          if (tid < s)
          {
            const unsigned int xid1 = tid << 1;
            const unsigned int xid2 = (tid + s) << 1;
            cache_grad_attn_weight[tid] += cache_grad_attn_weight[tid + s];
            cache_grad_sampling_loc[xid1] += cache_grad_sampling_loc[xid2];
            cache_grad_sampling_loc[xid1 + 1] += cache_grad_sampling_loc[xid2 + 1];
          }
          __syncthreads();
        }

        if (tid == 0)
        {
          *grad_sampling_loc_p = cache_grad_sampling_loc[0];
          *(grad_sampling_loc_p + 1) = cache_grad_sampling_loc[1];
          *grad_attn_weight_p = cache_grad_attn_weight[0];
        }
        __syncthreads();
        data_weight_ptr += 1;
        data_loc_w_ptr += 2;
        grad_attn_weight_p += 1;
        grad_sampling_loc_p += 2;
      }
    }
  }
}

template <typename T>
T *gpu(const std::vector<T> &v)
{
  T *p = nullptr;
  cudaMalloc((void **)&p, v.size() * sizeof(T));
  cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}

static double compare(const char *name, const std::vector<double> &ref, const float *dev)
{
  std::vector<float> h(ref.size());
  cudaMemcpy(h.data(), dev, h.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (size_t i = 0; i < h.size(); ++i)
    worst = std::max(worst, std::fabs(ref[i] - h[i]) / (1 + std::fabs(ref[i])));
  printf("  %-16s %zu values, max err %.3e\n", name, h.size(), worst);
  return worst;
}

int main()
{
  const int B = 2, M = 8, D = 32, Lq = 150, L = 4, P = 4;
  const std::vector<int> shapes = {32, 40, 16, 20, 8, 10, 4, 5};
  std::vector<int> start(L, 0);
  int S = 0;
  for (int l = 0; l < L; ++l)
  {
    start[l] = S;
    S += shapes[2 * l] * shapes[2 * l + 1];
  }

  std::mt19937 gen(2021);
  std::uniform_real_distribution<float> uni(0.f, 1.f);
  std::vector<float> value((size_t)B * S * M * D), loc((size_t)B * Lq * M * L * P * 2), attn((size_t)B * Lq * M * L * P), gout((size_t)B * Lq * M * D);
  for (auto &v : value) v = uni(gen) - 0.5f;
  for (auto &v : attn) v = 3.f * uni(gen);
  for (auto &v : gout) v = uni(gen) - 0.5f;
  // keep the samples away from cell borders, the location gradient is not defined there
  for (size_t i = 0; i < loc.size(); i += 2)
  {
    const int l = (i / 2 / P) % L, H = shapes[2 * l], W = shapes[2 * l + 1];
    loc[i] = ((int)(gen() % (W + 2)) - 1 + 0.05f + 0.9f * uni(gen) + 0.5f) / W;
    loc[i + 1] = ((int)(gen() % (H + 2)) - 1 + 0.05f + 0.9f * uni(gen) + 0.5f) / H;
  }

  float *d_value = gpu(value), *d_loc = gpu(loc), *d_attn = gpu(attn), *d_gout = gpu(gout);
  int *d_shapes = gpu(shapes), *d_start = gpu(start);
  float *d_out = gpu(std::vector<float>(gout.size(), 0.f)), *d_gv = gpu(std::vector<float>(value.size(), 0.f));
  float *d_gl = gpu(std::vector<float>(loc.size(), 0.f)), *d_ga = gpu(std::vector<float>(attn.size(), 0.f));

  const int rows = B * Lq * M, num_kernels = B * Lq * M * D;
  attn_weight_softmax_kernel<16><<<GET_BLOCKS(rows, 128), 128>>>(rows, d_attn);
  check_last("softmax");
  ms_deformable_im2col_gpu_kernel<float><<<GET_BLOCKS(num_kernels, CUDA_NUM_THREADS), CUDA_NUM_THREADS>>>(
      num_kernels, d_value, d_shapes, d_start, d_loc, d_attn, B, S, M, D, L, Lq, P, d_out);
  check_last("ms_deformable_im2col_cuda");
  switch (D)
  {
    case 32:
      ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce<float, 32><<<GET_BLOCKS(num_kernels, 32), 32>>>(
          num_kernels, d_gout, d_value, d_shapes, d_start, d_loc, d_attn, S, M, D, L, Lq, P, d_gv, d_gl, d_ga);
      break;
    default:
      return 1;
  }
  check_last("ms_deformable_col2im_cuda");

  std::vector<double> r_out(gout.size(), 0.0), r_gv(value.size(), 0.0), r_gl(loc.size(), 0.0), r_ga(attn.size(), 0.0);
  for (int r = 0; r < rows; ++r)
  {
    const int m = r % M, b = r / M / Lq;
    double a[64], sum = 0;
    for (int i = 0; i < L * P; ++i) sum += (a[i] = std::exp((double)attn[r * L * P + i]));
    for (int i = 0; i < L * P; ++i)
    {
      const int l = i / P, H = shapes[2 * l], W = shapes[2 * l + 1];
      const size_t at = (size_t)r * L * P + i;
      const double w = a[i] / sum, x = (double)loc[2 * at] * W - 0.5, y = (double)loc[2 * at + 1] * H - 0.5;
      if (!(y > -1 && x > -1 && y < H && x < W)) continue;
      const int x0 = (int)std::floor(x), y0 = (int)std::floor(y);
      for (int k = 0; k < 4; ++k)
      {
        const int xi = x0 + (k & 1), yi = y0 + (k >> 1);
        if (xi < 0 || yi < 0 || xi >= W || yi >= H) continue;
        const double wx = (k & 1) ? x - x0 : 1 - (x - x0), wy = (k >> 1) ? y - y0 : 1 - (y - y0);
        const double sx = (k & 1) ? 1 : -1, sy = (k >> 1) ? 1 : -1;
        const size_t vp = ((size_t)(b * S + start[l] + yi * W + xi) * M + m) * D;
        for (int c = 0; c < D; ++c)
        {
          const double v = value[vp + c], g = gout[(size_t)r * D + c];
          r_out[(size_t)r * D + c] += w * wx * wy * v;
          r_gv[vp + c] += w * wx * wy * g;
          r_ga[at] += wx * wy * v * g;
          r_gl[2 * at] += W * sx * wy * v * w * g;
          r_gl[2 * at + 1] += H * sy * wx * v * w * g;
        }
      }
    }
  }
  double worst = compare("output", r_out, d_out);
  worst = std::max(worst, compare("grad_value", r_gv, d_gv));
  worst = std::max(worst, compare("grad_loc", r_gl, d_gl));
  worst = std::max(worst, compare("grad_attn", r_ga, d_ga));
  check_last("compare");
  printf("%s\n", worst < 1e-3 ? "PASS" : "FAIL");
  return worst < 1e-3 ? 0 : 1;
}
