// nvcc: --extended-lambda
// Elementwise iterators (vectorised, unrolled, strided), a configurable reduction, index_select,
// bilinear upsampling and batch norm, in the manner of a tensor library's native CUDA code.
#include <cuda_runtime.h>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define C10_CUDA_CHECK(EXPR) do { const cudaError_t __err = EXPR; if (__err != cudaSuccess) { fprintf(stderr, "CUDA error: %s (%s:%d)\n", cudaGetErrorString(__err), __FILE__, __LINE__); exit(1); } } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define GPU_LAMBDA __host__ __device__

namespace at { namespace cuda { namespace detail {

template <typename Value> struct DivMod { Value div, mod; __host__ __device__ DivMod(Value d, Value m) : div(d), mod(m) {} };
template <typename Value> struct IntDivider;
template <> struct IntDivider<unsigned int> {
  IntDivider() = default;
  IntDivider(unsigned int d) : divisor(d) {
    for (shift = 0; shift < 32; shift++) if ((1U << shift) >= divisor) break;
    uint64_t one = 1;
    uint64_t magic = ((one << 32) * ((one << shift) - divisor)) / divisor + 1;
    m1 = magic;
  }
  __host__ __device__ inline unsigned int div(unsigned int n) const {
#if defined(__CUDA_ARCH__)
    unsigned int t = __umulhi(n, m1);
    return (t + n) >> shift;
#else
    uint64_t t = ((uint64_t)n * m1) >> 32;
    return (t + n) >> shift;
#endif
  }
  __host__ __device__ inline DivMod<unsigned int> divmod(unsigned int n) const { unsigned int q = div(n); return DivMod<unsigned int>(q, n - q * divisor); }
  unsigned int divisor, m1, shift;
};
}}}  // namespace at::cuda::detail

namespace at { namespace native {

constexpr int MAX_DIMS = 6;
GPU_LAMBDA constexpr int num_threads() { return 128; }
GPU_LAMBDA constexpr int thread_work_size() { return 4; }
GPU_LAMBDA constexpr int block_work_size() { return num_threads() * thread_work_size(); }

template <typename T, int N> struct Array { T data[N]; GPU_LAMBDA T& operator[](int i) { return data[i]; } GPU_LAMBDA const T& operator[](int i) const { return data[i]; } };

template <int NARGS, typename index_t = uint32_t>
struct OffsetCalculator {
  using offset_type = Array<index_t, NARGS>;
  OffsetCalculator(int dims, const int64_t* sizes, const int64_t* const* strides) : dims(dims) {
    for (int i = 0; i < dims; i++) {
      sizes_[i] = cuda::detail::IntDivider<index_t>(sizes[i]);
      for (int arg = 0; arg < NARGS; arg++) strides_[i][arg] = strides[arg][i];
    }
  }
  GPU_LAMBDA offset_type get(index_t linear_idx) const {
    offset_type offsets;
#pragma unroll
    for (int arg = 0; arg < NARGS; arg++) offsets[arg] = 0;
#pragma unroll
    for (int dim = 0; dim < MAX_DIMS; ++dim) {
      if (dim == dims) break;
      auto divmod = sizes_[dim].divmod(linear_idx);
      linear_idx = divmod.div;
#pragma unroll
      for (int arg = 0; arg < NARGS; arg++) offsets[arg] += divmod.mod * strides_[dim][arg];
    }
    return offsets;
  }
  int dims;
  cuda::detail::IntDivider<index_t> sizes_[MAX_DIMS];
  index_t strides_[MAX_DIMS][NARGS];
};

template <typename scalar_t, int vec_size>
struct alignas(sizeof(scalar_t) * vec_size) aligned_vector { scalar_t val[vec_size]; };

// contiguous, aligned: binary functors
template <int vec_size, typename func_t, typename T>
__global__ void __launch_bounds__(128) vectorized_elementwise_kernel(int N, func_t f, T* out, const T* a, const T* b) {
  using vec_t = aligned_vector<T, vec_size>;
  const int base = block_work_size() * blockIdx.x;
  const int remaining = N - base;
  if (remaining < block_work_size()) {
    T ra[thread_work_size()], rb[thread_work_size()];
#pragma unroll
    for (int i = 0; i < thread_work_size(); i++) {
      int idx = threadIdx.x + i * num_threads();
      if (idx < remaining) { ra[i] = a[base + idx]; rb[i] = b[base + idx]; }
    }
#pragma unroll
    for (int i = 0; i < thread_work_size(); i++) {
      int idx = threadIdx.x + i * num_threads();
      if (idx < remaining) out[base + idx] = f(ra[i], rb[i]);
    }
  } else {
    constexpr int loop = thread_work_size() / vec_size;
    const vec_t* va = reinterpret_cast<const vec_t*>(a + base);
    const vec_t* vb = reinterpret_cast<const vec_t*>(b + base);
    vec_t* vo = reinterpret_cast<vec_t*>(out + base);
#pragma unroll
    for (int i = 0; i < loop; i++) {
      vec_t x = va[threadIdx.x + i * num_threads()], y = vb[threadIdx.x + i * num_threads()], r;
#pragma unroll
      for (int j = 0; j < vec_size; j++) r.val[j] = f(x.val[j], y.val[j]);
      vo[threadIdx.x + i * num_threads()] = r;
    }
  }
}

template <int nt, int vt, typename func_t>
__global__ void __launch_bounds__(nt, 4) elementwise_kernel(int N, func_t f) {
  int nv = nt * vt;
  int idx = nv * blockIdx.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < vt; i++) {
    if (idx < N) { f(idx); idx += nt; }
  }
}

template <typename func_t> static void gpu_kernel_contiguous(int N, float* out, const float* a, const float* b, const func_t& f) {
  int64_t grid = (N + block_work_size() - 1) / block_work_size();
  bool al = (((uintptr_t)out | (uintptr_t)a | (uintptr_t)b) % 16) == 0;
  if (al) vectorized_elementwise_kernel<4><<<grid, num_threads()>>>(N, f, out, a, b);
  else vectorized_elementwise_kernel<1><<<grid, num_threads()>>>(N, f, out, a, b);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
template <typename func_t> static void gpu_kernel_strided(int N, OffsetCalculator<3> calc, float* out, const float* a, const float* b, const func_t& f) {
  auto loop = [=] GPU_LAMBDA(int idx) {
    auto o = calc.get(idx);
    out[o[0]] = f(a[o[1]], b[o[2]]);
  };
  elementwise_kernel<128, 2><<<(N + 255) / 256, 128>>>(N, loop);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// ------------------------------------------------------------------ reduce
struct ReduceConfig {
  int num_inputs, num_outputs;   // per output, outputs
  int block_width, block_height; // x: along reduced or output dim
  bool reduce_x;                 // reduced dim is the contiguous one
  int64_t red_stride, out_stride;
  dim3 block() const { return dim3(block_width, block_height); }
  dim3 grid() const { return reduce_x ? dim3((num_outputs + block_height - 1) / block_height) : dim3((num_outputs + block_width - 1) / block_width); }
  int shared_memory_size() const { return block_width * block_height * 8; }
};
template <typename acc_t> struct NormTwoOps {
  GPU_LAMBDA acc_t identity() const { return 0; }
  GPU_LAMBDA acc_t reduce(acc_t acc, float v) const { return acc + (acc_t)v * v; }
  GPU_LAMBDA acc_t combine(acc_t a, acc_t b) const { return a + b; }
  GPU_LAMBDA float project(acc_t a) const { return sqrtf(a); }
  __device__ acc_t shfl(acc_t a, int o) const { return __shfl_down_sync(0xffffffff, a, o); }
};
struct ArgPair { float v; int i; };
struct ArgMaxOps {
  GPU_LAMBDA ArgPair identity() const { return {-INFINITY, 0x7fffffff}; }
  GPU_LAMBDA ArgPair reduce_idx(ArgPair a, float v, int i) const { return combine(a, {v, i}); }
  GPU_LAMBDA ArgPair combine(ArgPair a, ArgPair b) const { return (b.v > a.v || (b.v == a.v && b.i < a.i)) ? b : a; }
  GPU_LAMBDA float project(ArgPair a) const { return (float)a.i; }
  __device__ ArgPair shfl(ArgPair a, int o) const { return {__shfl_down_sync(0xffffffff, a.v, o), __shfl_down_sync(0xffffffff, a.i, o)}; }
};
template <typename O> GPU_LAMBDA inline auto do_reduce(const O& o, decltype(o.identity()) a, float v, int i) -> decltype(o.reduce_idx(a, v, i)) { return o.reduce_idx(a, v, i); }
GPU_LAMBDA inline float do_reduce(const NormTwoOps<float>& o, float a, float v, int) { return o.reduce(a, v); }

template <int vt0, typename ops_t>
__global__ void reduce_kernel(ReduceConfig config, ops_t ops, const float* __restrict__ in, float* __restrict__ out) {
  using arg_t = decltype(ops.identity());
  extern __shared__ char smem_raw[];
  arg_t* shared = reinterpret_cast<arg_t*>(smem_raw);
  const int output_idx = config.reduce_x ? blockIdx.x * blockDim.y + threadIdx.y : blockIdx.x * blockDim.x + threadIdx.x;
  const int input_idx = config.reduce_x ? threadIdx.x : threadIdx.y;
  const int stride = config.reduce_x ? blockDim.x : blockDim.y;
  arg_t value_list[vt0];
#pragma unroll
  for (int i = 0; i < vt0; i++) value_list[i] = ops.identity();
  if (output_idx < config.num_outputs) {
    const float* data = in + output_idx * config.out_stride;
    int idx = input_idx;
    const int end = config.num_inputs;
    while (idx + (vt0 - 1) * stride < end) {
      float values[vt0];
#pragma unroll
      for (int i = 0; i < vt0; i++) values[i] = data[(idx + i * stride) * config.red_stride];
#pragma unroll
      for (int i = 0; i < vt0; i++) value_list[i] = do_reduce(ops, value_list[i], values[i], idx + i * stride);
      idx += stride * vt0;
    }
#pragma unroll
    for (int i = 0; i < vt0; i++) {
      if (idx < end) value_list[i] = do_reduce(ops, value_list[i], data[idx * config.red_stride], idx);
      idx += stride;
    }
  }
#pragma unroll
  for (int i = 1; i < vt0; i++) value_list[0] = ops.combine(value_list[0], value_list[i]);
  arg_t value = value_list[0];
  if (config.reduce_x) {
    int dim_x = blockDim.x;
    if (dim_x > warpSize) {
      int base = threadIdx.x + threadIdx.y * blockDim.x;
      shared[base] = value;
      for (int offset = dim_x / 2; offset >= warpSize; offset >>= 1) {
        __syncthreads();
        if (threadIdx.x < offset) { value = ops.combine(value, shared[base + offset]); shared[base] = value; }
      }
      dim_x = warpSize;
    }
    __syncthreads();
    for (int offset = dim_x >> 1; offset > 0; offset >>= 1) value = ops.combine(value, ops.shfl(value, offset));
    if (threadIdx.x == 0 && output_idx < config.num_outputs) out[output_idx] = ops.project(value);
  } else {
    shared[threadIdx.x + threadIdx.y * blockDim.x] = value;
    for (int offset = blockDim.y / 2; offset > 0; offset >>= 1) {
      __syncthreads();
      if (threadIdx.y < offset) {
        value = ops.combine(value, shared[threadIdx.x + (threadIdx.y + offset) * blockDim.x]);
        shared[threadIdx.x + threadIdx.y * blockDim.x] = value;
      }
    }
    if (threadIdx.y == 0 && output_idx < config.num_outputs) out[output_idx] = ops.project(value);
  }
}

// ------------------------------------------------------------------ indexing
template <typename T, bool IndexIsMajor>
__global__ void indexSelectLargeIndex(T* dst, const T* src, const int64_t* indices, int64_t dstTotal, int64_t innerSize, int64_t numIdx, int64_t srcDim, int64_t outer) {
  for (int64_t linear = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; linear < dstTotal; linear += gridDim.x * (int64_t)blockDim.x) {
    int64_t dstIndex, elem;
    if (IndexIsMajor) { dstIndex = linear / innerSize; elem = linear % innerSize; }
    else { elem = linear / innerSize; dstIndex = linear % innerSize; }
    int64_t srcIndex = indices[dstIndex];
    assert(srcIndex < srcDim);
    if (IndexIsMajor) dst[dstIndex * innerSize + elem] = src[srcIndex * innerSize + elem];
    else dst[elem * numIdx + dstIndex] = src[elem * srcDim + srcIndex];
  }
}

// ------------------------------------------------------------------ upsample
__device__ __forceinline__ float area_pixel_compute_source_index(float scale, int dst_index, bool align_corners) {
  if (align_corners) return scale * dst_index;
  float src = scale * (dst_index + 0.5f) - 0.5f;
  return src < 0.f ? 0.f : src;
}
__global__ void upsample_bilinear2d_out_frame(const int n, const float rheight, const float rwidth, const bool align_corners, const float* __restrict__ idata, float* __restrict__ odata, int NC, int H1, int W1, int H2, int W2) {
  int index = threadIdx.x + blockIdx.x * blockDim.x;
  if (index < n) {
    const int w2 = index % W2, h2 = index / W2;
    const float h1r = area_pixel_compute_source_index(rheight, h2, align_corners);
    const int h1 = h1r, h1p = (h1 < H1 - 1) ? 1 : 0;
    const float h1lambda = h1r - h1, h0lambda = 1.f - h1lambda;
    const float w1r = area_pixel_compute_source_index(rwidth, w2, align_corners);
    const int w1 = w1r, w1p = (w1 < W1 - 1) ? 1 : 0;
    const float w1lambda = w1r - w1, w0lambda = 1.f - w1lambda;
    for (int c = 0; c < NC; ++c) {
      const float* p = idata + (size_t)c * H1 * W1 + h1 * W1 + w1;
      odata[(size_t)c * H2 * W2 + index] = h0lambda * (w0lambda * p[0] + w1lambda * p[w1p]) + h1lambda * (w0lambda * p[h1p * W1] + w1lambda * p[h1p * W1 + w1p]);
    }
  }
}

// ------------------------------------------------------------------ batch norm
__global__ void batch_norm_collect_statistics_kernel(const float* __restrict__ input, int N, int C, int S, float epsilon, float* save_mean, float* save_invstd) {
  __shared__ int shared_n[2 * 2 * 32 + 32];
  int plane = blockIdx.x;
  int tid = threadIdx.x + threadIdx.y * blockDim.x;
  float* shared_avg_var = (float*)&shared_n[32];
  float avg = 0, var_n = 0;
  int n = 0;
  for (int batch = threadIdx.y; batch < N; batch += blockDim.y)
    for (int x = threadIdx.x; x < S; x += blockDim.x) {
      float v = input[((size_t)batch * C + plane) * S + x];
      float d1 = v - avg;
      n++;
      avg += d1 / n;
      var_n += d1 * (v - avg);
    }
  for (int i = 0; i < 5; ++i) {
    float o_avg = __shfl_xor_sync(0xffffffff, avg, 1 << i);
    int o_n = __shfl_xor_sync(0xffffffff, n, 1 << i);
    float factor = 1.0f / fmaxf(1.0f, n + o_n);
    var_n += __shfl_xor_sync(0xffffffff, var_n, 1 << i) + (avg - o_avg) * (avg - o_avg) * n * o_n * factor;
    avg = (n * avg + o_n * o_avg) * factor;
    n += o_n;
  }
  __syncthreads();
  if (tid % 32 == 0) { shared_n[tid / 32] = n; shared_avg_var[tid / 32 * 2] = avg; shared_avg_var[tid / 32 * 2 + 1] = var_n; }
  __syncthreads();
  if (tid < 32) {
    int nw = blockDim.x * blockDim.y / 32;
    n = tid < nw ? shared_n[tid] : 0;
    avg = tid < nw ? shared_avg_var[2 * tid] : 0.f;
    var_n = tid < nw ? shared_avg_var[2 * tid + 1] : 0.f;
  }
  for (int i = 0; i < 5; ++i) {
    float o_avg = __shfl_xor_sync(0xffffffff, avg, 1 << i);
    int o_n = __shfl_xor_sync(0xffffffff, n, 1 << i);
    float factor = 1.0f / fmaxf(1.0f, n + o_n);
    var_n += __shfl_xor_sync(0xffffffff, var_n, 1 << i) + (avg - o_avg) * (avg - o_avg) * n * o_n * factor;
    avg = (n * avg + o_n * o_avg) * factor;
    n += o_n;
  }
  if (tid == 0) { save_mean[plane] = avg; save_invstd[plane] = rsqrtf(var_n / n + epsilon); }
}
__global__ void batch_norm_transform_input_kernel(const float* __restrict__ input, float* __restrict__ output, const float* mean_, const float* invstd_, const float* weight, const float* bias, int N, int C, int S) {
  int plane = blockIdx.x;
  if (plane >= C) return;
  float gamma = weight ? weight[plane] : 1.f, beta = bias ? bias[plane] : 0.f, mean = mean_[plane], invstd = invstd_[plane];
  int bstep = blockDim.y * gridDim.y;
  for (int batch = threadIdx.y + blockIdx.y * blockDim.y; batch < N; batch += bstep) {
    const float* i = input + ((size_t)batch * C + plane) * S;
    float* o = output + ((size_t)batch * C + plane) * S;
    for (int f = threadIdx.x; f < S; f += blockDim.x) o[f] = gamma * (i[f] - mean) * invstd + beta;
  }
}
}}  // namespace at::native

using namespace at::native;
static uint32_t seed = 7;
static float uni() { seed = seed * 747796405u + 2891336453u; return ((seed >> 9) & 0x7fff) / 16384.f - 1.f; }
static std::vector<float> randn(size_t n) { std::vector<float> v(n); for (auto& x : v) x = uni() + 0.5f * uni(); return v; }
template <typename T> T* cuda(const std::vector<T>& v) { T* p; C10_CUDA_CHECK(cudaMalloc(&p, v.size() * sizeof(T))); C10_CUDA_CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
static float* empty(size_t n) { float* p; C10_CUDA_CHECK(cudaMalloc(&p, n * 4)); C10_CUDA_CHECK(cudaMemset(p, 0, n * 4)); return p; }
static int failures = 0;
static void allclose(const char* what, const float* d, size_t n, std::function<double(size_t)> ref, double tol) {
  std::vector<float> h(n);
  C10_CUDA_CHECK(cudaMemcpy(h.data(), d, n * 4, cudaMemcpyDeviceToHost));
  double worst = 0;
  for (size_t i = 0; i < n; i++) { double r = ref(i); worst = fmax(worst, fabs(r - h[i]) / (1 + fabs(r))); }
  printf("%-36s max rel err %.2e%s\n", what, worst, worst <= tol ? "" : "   <-- FAILED");
  failures += !(worst <= tol);
}

int main() {
  {
    const int N = 300001;
    auto a = randn(N), b = randn(N);
    float *da = cuda(a), *db = cuda(b), *o = empty(N);
    auto gelu_mul = [] GPU_LAMBDA(float x, float y) -> float { return 0.5f * x * (1.f + erff(x * 0.70710678f)) * y; };
    gpu_kernel_contiguous(N, o, da, db, gelu_mul);
    allclose("gelu_mul contiguous", o, N, [&](size_t i) { return 0.5 * a[i] * (1 + erf(a[i] * 0.70710678)) * b[i]; }, 1e-4);
    gpu_kernel_contiguous(N - 3, o, da + 1, db + 3, [] GPU_LAMBDA(float x, float y) -> float { return x - 2.f * y; });
    allclose("sub misaligned", o, N - 3, [&](size_t i) { return a[i + 1] - 2.0 * b[i + 3]; }, 1e-5);
  }
  {  // out[i][j][k] = a[k][j][i] + b[j]   (permuted + broadcast)
    const int64_t D0 = 37, D1 = 50, D2 = 61;
    auto a = randn(D0 * D1 * D2), b = randn(D1);
    const int64_t sizes[3] = {D2, D1, D0};  // fastest first, as the iterator reorders them
    const int64_t so[3] = {1, D2, D1 * D2}, sa[3] = {D1 * D0, D0, 1}, sb[3] = {0, 1, 0};
    const int64_t* strides[3] = {so, sa, sb};
    float* o = empty(D0 * D1 * D2);
    gpu_kernel_strided(D0 * D1 * D2, OffsetCalculator<3>(3, sizes, strides), o, cuda(a), cuda(b), [] GPU_LAMBDA(float x, float y) -> float { return x + y; });
    allclose("add permuted/broadcast", o, D0 * D1 * D2, [&](size_t l) { size_t k = l % D2, j = l / D2 % D1, i = l / (D1 * D2); return (double)a[(k * D1 + j) * D0 + i] + b[j]; }, 1e-5);
  }
  {
    const int R = 257, C = 1200;
    auto x = randn(R * C);
    float *dx = cuda(x), *o = empty(C);
    ReduceConfig rows{C, R, 32, 4, true, 1, C};
    reduce_kernel<4><<<rows.grid(), rows.block(), rows.shared_memory_size()>>>(rows, NormTwoOps<float>(), dx, o);
    allclose("norm rows", o, R, [&](size_t r) { double s = 0; for (int c = 0; c < C; c++) s += (double)x[r * C + c] * x[r * C + c]; return sqrt(s); }, 1e-4);
    ReduceConfig cols{R, C, 32, 8, false, C, 1};
    reduce_kernel<4><<<cols.grid(), cols.block(), cols.shared_memory_size()>>>(cols, NormTwoOps<float>(), dx, o);
    allclose("norm cols", o, C, [&](size_t c) { double s = 0; for (int r = 0; r < R; r++) s += (double)x[r * C + c] * x[r * C + c]; return sqrt(s); }, 1e-4);
    ReduceConfig am{C, R, 256, 1, true, 1, C};
    reduce_kernel<4><<<am.grid(), am.block(), am.shared_memory_size()>>>(am, ArgMaxOps(), dx, o);
    allclose("argmax rows", o, R, [&](size_t r) { int b = 0; for (int c = 1; c < C; c++) if (x[r * C + c] > x[r * C + b]) b = c; return (double)b; }, 0);
    C10_CUDA_KERNEL_LAUNCH_CHECK();

    std::vector<int64_t> idx(333);
    for (size_t i = 0; i < idx.size(); i++) idx[i] = (i * i * 7 + 3 * i) % R;
    int64_t* di = cuda(idx);
    float* s1 = empty(idx.size() * C);
    indexSelectLargeIndex<float, true><<<264, 128>>>(s1, dx, di, (int64_t)idx.size() * C, C, idx.size(), R, 1);
    allclose("index_select dim 0", s1, idx.size() * C, [&](size_t l) { return x[idx[l / C] * C + l % C]; }, 0);
    indexSelectLargeIndex<float, false><<<264, 128>>>(s1, dx, di, (int64_t)idx.size() * R, idx.size(), idx.size(), C, R);
    allclose("index_select dim 1", s1, idx.size() * R, [&](size_t l) { return x[(l / idx.size()) * C + idx[l % idx.size()]]; }, 0);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  for (int ac = 0; ac < 2; ac++) {
    const int NC = 6, H1 = 33, W1 = 47, H2 = 80, W2 = 101;
    auto x = randn(NC * H1 * W1);
    float* o = empty(NC * H2 * W2);
    const float rh = ac ? float(H1 - 1) / (H2 - 1) : float(H1) / H2, rw = ac ? float(W1 - 1) / (W2 - 1) : float(W1) / W2;
    upsample_bilinear2d_out_frame<<<(H2 * W2 + 511) / 512, 512>>>(H2 * W2, rh, rw, ac, cuda(x), o, NC, H1, W1, H2, W2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    allclose(ac ? "upsample align_corners" : "upsample", o, NC * H2 * W2, [&](size_t l) {
      int w = l % W2, h = l / W2 % H2, c = l / (W2 * H2);
      double y = ac ? rh * (double)h : fmax(0.0, rh * (h + 0.5) - 0.5), xx = ac ? rw * (double)w : fmax(0.0, rw * (w + 0.5) - 0.5);
      int y0 = fmin(y, H1 - 1), x0 = fmin(xx, W1 - 1), y1 = y0 < H1 - 1 ? y0 + 1 : y0, x1 = x0 < W1 - 1 ? x0 + 1 : x0;
      double fy = y - y0, fx = xx - x0;
      auto p = [&](int yy, int xq) { return (double)x[(c * H1 + yy) * W1 + xq]; };
      return (1 - fy) * ((1 - fx) * p(y0, x0) + fx * p(y0, x1)) + fy * ((1 - fx) * p(y1, x0) + fx * p(y1, x1));
    }, 1e-3);
  }
  {
    const int N = 8, C = 70, S = 19 * 21;
    auto x = randn(N * C * S), w = randn(C), b = randn(C);
    float *dx = cuda(x), *o = empty(N * C * S), *m = empty(C), *is = empty(C);
    batch_norm_collect_statistics_kernel<<<C, dim3(32, 8)>>>(dx, N, C, S, 1e-5f, m, is);
    batch_norm_transform_input_kernel<<<dim3(C, 2), dim3(64, 4)>>>(dx, o, m, is, cuda(w), cuda(b), N, C, S);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    std::vector<double> mu(C, 0), iv(C, 0);
    for (int c = 0; c < C; c++) {
      for (int n = 0; n < N; n++) for (int s = 0; s < S; s++) mu[c] += x[(n * C + c) * S + s];
      mu[c] /= N * S;
      for (int n = 0; n < N; n++) for (int s = 0; s < S; s++) iv[c] += pow(x[(n * C + c) * S + s] - mu[c], 2);
      iv[c] = 1 / sqrt(iv[c] / (N * S) + 1e-5);
    }
    allclose("batch_norm", o, N * C * S, [&](size_t l) { int c = l / S % C; return w[c] * (x[l] - mu[c]) * iv[c] + b[c]; }, 1e-3);
  }
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  printf("%s\n", failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
