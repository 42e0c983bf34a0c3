// Elementwise / Reduce / Indexing / layer_norm kernels in the manner of aten/src/ATen/native/cuda.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define C10_HOST_DEVICE __host__ __device__
#define C10_LAUNCH_BOUNDS_1(n) __launch_bounds__(n)
#define C10_WARP_SIZE 32
#define C10_CUDA_CHECK(EXPR) do { const cudaError_t err_ = (EXPR); if (err_ != cudaSuccess) { \
  std::fprintf(stderr, "CUDA error %s (%s:%d)\n", cudaGetErrorString(err_), __FILE__, __LINE__); std::exit(1); } } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

namespace at::native {
constexpr int MAX_DIMS = 5;
template <typename Value> struct DivMod { Value div, mod; };

// Division by an invariant through multiplication by a magic number.
struct IntDivider {
  IntDivider() = default;
  IntDivider(unsigned int d) : divisor(d) {
    for (shift = 0; shift < 32; shift++) if ((1U << shift) >= divisor) break;
    const uint64_t one = 1;
    const uint64_t magic = ((one << 32) * ((one << shift) - divisor)) / divisor + 1;
    m1 = (unsigned int)magic;
  }
  C10_HOST_DEVICE inline unsigned int div(unsigned int n) const {
#if defined(__CUDA_ARCH__)
    unsigned int t = __umulhi(n, m1);
#else
    unsigned int t = ((uint64_t)n * m1) >> 32;
#endif
    return (t + n) >> shift;
  }
  C10_HOST_DEVICE inline DivMod<unsigned int> divmod(unsigned int n) const {
    unsigned int q = div(n);
    return {q, n - q * divisor};
  }
  unsigned int divisor = 1, m1 = 1, shift = 0;
};
template <int NARGS> struct OffsetCalculator {
  using offset_type = unsigned int;
  OffsetCalculator(int dims_, const int64_t* sizes, const std::array<const int64_t*, NARGS>& strides) : dims(dims_) {
    for (int i = 0; i < dims; i++) {
      sizes_[i] = IntDivider((unsigned int)sizes[i]);
      for (int a = 0; a < NARGS; a++) strides_[i][a] = (offset_type)strides[a][i];
    }
  }
  struct Offsets { offset_type v[NARGS]; C10_HOST_DEVICE offset_type operator[](int i) const { return v[i]; } };
  C10_HOST_DEVICE Offsets get(unsigned int linear_idx) const {
    Offsets offsets;
#pragma unroll
    for (int a = 0; a < NARGS; a++) offsets.v[a] = 0;
#pragma unroll
    for (int dim = 0; dim < MAX_DIMS; ++dim) {
      if (dim == dims) break;
      auto divmod = sizes_[dim].divmod(linear_idx);
      linear_idx = divmod.div;
#pragma unroll
      for (int a = 0; a < NARGS; a++) offsets.v[a] += divmod.mod * strides_[dim][a];
    }
    return offsets;
  }
  int dims;
  IntDivider sizes_[MAX_DIMS];
  offset_type strides_[MAX_DIMS][NARGS];
};
// ---------------------------------------------------------------- Loops.cuh
template <int nt, int vt, typename func_t>
C10_LAUNCH_BOUNDS_1(nt) __global__ void elementwise_kernel(int N, func_t f) {
  int tid = threadIdx.x;
  int nv = nt * vt;
  int idx = nv * blockIdx.x + tid;
#pragma unroll
  for (int i = 0; i < vt; i++) {
    if (idx < N) {
      f(idx);
      idx += nt;
    }
  }
}
template <typename op_t, typename scalar_t> struct BinaryLoop {
  scalar_t* out; const scalar_t* a; const scalar_t* b; OffsetCalculator<3> calc; op_t op;
  __device__ void operator()(int idx) const {
    auto offsets = calc.get(idx);
    out[offsets[0]] = op(a[offsets[1]], b[offsets[2]]);
  }
};
template <typename acc_t> struct AddAlpha {
  acc_t alpha;
  template <typename T> __device__ T operator()(T a, T b) const { return static_cast<T>(static_cast<acc_t>(a) + alpha * static_cast<acc_t>(b)); }
};
template <typename scalar_t, typename op_t>
void gpu_kernel_impl(int N, scalar_t* out, const scalar_t* a, const scalar_t* b, const OffsetCalculator<3>& calc, op_t op) {
  constexpr int nt = 128, vt = sizeof(scalar_t) >= 8 ? 2 : 4;
  BinaryLoop<op_t, scalar_t> loop{out, a, b, calc, op};
  elementwise_kernel<nt, vt><<<(N + nt * vt - 1) / (nt * vt), nt>>>(N, loop);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
// --------------------------------------------------------------- Reduce.cuh
template <typename acc_t> struct SumOps {
  static C10_HOST_DEVICE constexpr acc_t ident() { return acc_t(0); }
  __device__ acc_t combine(acc_t a, acc_t b) const { return a + b; }
};
template <typename acc_t> struct AbsMaxOps {
  static C10_HOST_DEVICE constexpr acc_t ident() { return acc_t(0); }
  __device__ acc_t combine(acc_t a, acc_t b) const { return fmax(fabs(a), fabs(b)); }
};
struct ReduceConfig { int num_inputs, num_outputs; int64_t in_stride, out_stride; bool block_x_reduce, block_y_reduce; };
template <int max_threads, int vt0, typename scalar_t, typename acc_t, typename ops_t>
C10_LAUNCH_BOUNDS_1(max_threads) __global__ void reduce_kernel(ReduceConfig config, const scalar_t* src, scalar_t* dst, ops_t ops) {
  extern __shared__ __align__(16) char shared_raw[];
  acc_t* shared = reinterpret_cast<acc_t*>(shared_raw);
  const int output_idx = config.block_x_reduce ? blockIdx.x * (config.block_y_reduce ? 1 : blockDim.y) + (config.block_y_reduce ? 0 : threadIdx.y)
                                               : blockIdx.x * blockDim.x + threadIdx.x;
  int idx = 0, stride = 1;
  if (config.block_x_reduce) { idx += threadIdx.x; stride *= blockDim.x; }
  if (config.block_y_reduce) { idx += threadIdx.y * stride; stride *= blockDim.y; }
  acc_t value = ops_t::ident();
  if (output_idx < config.num_outputs) {
    const scalar_t* data = src + output_idx * config.out_stride;
    acc_t value_list[vt0];
#pragma unroll
    for (int i = 0; i < vt0; i++) value_list[i] = ops_t::ident();
    scalar_t values[vt0];
    while (idx + (vt0 - 1) * stride < config.num_inputs) {
#pragma unroll
      for (int i = 0; i < vt0; i++) values[i] = data[(idx + i * stride) * config.in_stride];
      for (int i = 0; i < vt0; i++) value_list[i] = ops.combine(value_list[i], static_cast<acc_t>(values[i]));
      idx += stride * vt0;
    }
    for (int i = 0; idx < config.num_inputs && i < vt0; i++, idx += stride)
      value_list[i] = ops.combine(value_list[i], static_cast<acc_t>(data[idx * config.in_stride]));
#pragma unroll
    for (int i = 1; i < vt0; i++) value_list[0] = ops.combine(value_list[0], value_list[i]);
    value = value_list[0];
  }
  if (config.block_y_reduce) {
    shared[threadIdx.y * blockDim.x + threadIdx.x] = value;
    for (int offset = blockDim.y / 2; offset > 0; offset >>= 1) {
      __syncthreads();
      if (threadIdx.y < offset && threadIdx.y + offset < blockDim.y) {
        acc_t other = shared[(threadIdx.y + offset) * blockDim.x + threadIdx.x];
        value = ops.combine(value, other);
        shared[threadIdx.y * blockDim.x + threadIdx.x] = value;
      }
    }
  }
  if (config.block_x_reduce) {
    int dim_x = blockDim.x;
    if (dim_x > C10_WARP_SIZE) {
      const int address_base = threadIdx.x + threadIdx.y * blockDim.x;
      __syncthreads();
      shared[address_base] = value;
      for (int offset = dim_x / 2; offset >= C10_WARP_SIZE; offset >>= 1) {
        __syncthreads();
        if (threadIdx.x < offset && threadIdx.x + offset < blockDim.x) {
          value = ops.combine(value, shared[address_base + offset]);
          shared[address_base] = value;
        }
      }
      dim_x = C10_WARP_SIZE;
    }
    __syncthreads();
    for (int offset = 1; offset < dim_x; offset <<= 1) value = ops.combine(value, __shfl_down_sync(0xffffffff, value, offset));
  }
  if (output_idx < config.num_outputs && (!config.block_x_reduce || threadIdx.x == 0) && (!config.block_y_reduce || threadIdx.y == 0))
    dst[output_idx] = static_cast<scalar_t>(value);
}

// reduces a contiguous [rows, cols] tensor along `dim`
template <typename scalar_t, typename acc_t, typename ops_t> void gpu_reduce(const scalar_t* in, scalar_t* out, int rows, int cols, int dim, ops_t ops) {
  ReduceConfig c;
  dim3 block, grid;
  if (dim == 1) {
    const int bx = cols >= 512 ? 512 : 32;
    block = dim3(bx, bx == 32 ? 8 : 1);
    c = {cols, rows, 1, cols, true, false};
    grid = dim3((rows + block.y - 1) / block.y);
  } else {
    block = dim3(32, 16);
    c = {rows, cols, cols, 1, false, true};
    grid = dim3((cols + 31) / 32);
  }
  reduce_kernel<512, 4, scalar_t, acc_t><<<grid, block, block.x * block.y * sizeof(acc_t)>>>(c, in, out, ops);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
// -------------------------------------------------------------- Indexing.cu
template <typename T, typename IndexType, bool IndexIsMajor>
__global__ void indexSelectLargeIndex(T* dst, const T* src, const int64_t* indices, IndexType totalSize, IndexType innerSize, IndexType numIndices,
                                      IndexType dstSelStride, IndexType dstInnerStride, IndexType srcSelStride, IndexType srcInnerStride) {
  for (IndexType linearIndex = blockIdx.x * blockDim.x + threadIdx.x; linearIndex < totalSize; linearIndex += gridDim.x * blockDim.x) {
    IndexType dstIndex, elementInSlice;
    if (IndexIsMajor) { dstIndex = linearIndex / innerSize; elementInSlice = linearIndex % innerSize; }
    else { elementInSlice = linearIndex / numIndices; dstIndex = linearIndex % numIndices; }
    IndexType srcIndex = (IndexType)indices[dstIndex];
    dst[dstIndex * dstSelStride + elementInSlice * dstInnerStride] = src[srcIndex * srcSelStride + elementInSlice * srcInnerStride];
  }
}
// ----------------------------------------------------- layer_norm_kernel.cu
struct WelfordData { float mean, m2, nf; };
struct WelfordOps {
  __device__ WelfordData reduce(WelfordData acc, float data) const {
    float delta = data - acc.mean, nf = acc.nf + 1;
    float mean = acc.mean + delta / nf;
    return {mean, acc.m2 + delta * (data - mean), nf};
  }
  __device__ WelfordData combine(WelfordData a, WelfordData b) const {
    if (a.nf == 0) return b;
    if (b.nf == 0) return a;
    float delta = b.mean - a.mean, n = a.nf + b.nf, r = b.nf / n;
    return {a.mean + delta * r, a.m2 + b.m2 + delta * delta * a.nf * r, n};
  }
  __device__ WelfordData warp_shfl_down(WelfordData a, int offset) const {
    return {__shfl_down_sync(0xffffffff, a.mean, offset), __shfl_down_sync(0xffffffff, a.m2, offset), __shfl_down_sync(0xffffffff, a.nf, offset)};
  }
};
template <typename ops_t, typename data_t> __inline__ __device__ data_t BlockReduce(data_t val, const ops_t& op, data_t ident, data_t* shared) {
  const int lid = threadIdx.x % C10_WARP_SIZE, wid = threadIdx.x / C10_WARP_SIZE;
  for (int offset = 16; offset > 0; offset >>= 1) val = op.combine(val, op.warp_shfl_down(val, offset));
  __syncthreads();
  if (lid == 0) shared[wid] = val;
  __syncthreads();
  val = threadIdx.x < blockDim.x / C10_WARP_SIZE ? shared[lid] : ident;
  if (wid == 0) for (int offset = 16; offset > 0; offset >>= 1) val = op.combine(val, op.warp_shfl_down(val, offset));
  return val;
}
template <typename T> __global__ void RowwiseMomentsCUDAKernel(int64_t N, float eps, const T* X, float* mean, float* rstd) {
  __shared__ WelfordData val_shared[C10_WARP_SIZE];
  const int64_t i = blockIdx.x;
  WelfordOps ops;
  WelfordData val{0, 0, 0};
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) val = ops.reduce(val, static_cast<float>(X[i * N + j]));
  val = BlockReduce(val, ops, WelfordData{0, 0, 0}, val_shared);
  if (threadIdx.x == 0) {
    mean[i] = val.mean;
    rstd[i] = rsqrtf(val.m2 / val.nf + eps);
  }
}
template <typename T> __global__ void LayerNormForwardCUDAKernel(int64_t N, const T* X, const float* mean, const float* rstd, const T* gamma, const T* beta, T* Y) {
  const int64_t i = blockIdx.x;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) {
    const int64_t index = i * N + j;
    const float g = gamma == nullptr ? 1.f : static_cast<float>(gamma[j]), b = beta == nullptr ? 0.f : static_cast<float>(beta[j]);
    Y[index] = static_cast<T>((static_cast<float>(X[index]) - mean[i]) * rstd[i] * g + b);
  }
}

} // namespace at::native

using namespace at::native;
template <typename T> struct DeviceTensor {
  T* p; size_t n;
  explicit DeviceTensor(size_t n_) : n(n_) { C10_CUDA_CHECK(cudaMalloc(&p, n * sizeof(T))); C10_CUDA_CHECK(cudaMemset(p, 0, n * sizeof(T))); }
  explicit DeviceTensor(const std::vector<T>& h) : DeviceTensor(h.size()) { C10_CUDA_CHECK(cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  ~DeviceTensor() { cudaFree(p); }
  std::vector<T> cpu() const { std::vector<T> h(n); C10_CUDA_CHECK(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
};
template <typename T> bool allclose(const char* what, const std::vector<T>& got, const std::vector<double>& ref, double rtol, double atol) {
  size_t bad = 0;
  for (size_t i = 0; i < ref.size(); i++) if (!(std::fabs((double)(float)got[i] - ref[i]) <= atol + rtol * std::fabs(ref[i]))) bad++;
  std::printf("%-22s %zu mismatches\n", what, bad);
  return bad == 0;
}
template <typename T> bool test_elementwise(int D, int H, int W, std::mt19937& g) {
  // out = a.transpose(0, 2) (+) b broadcast over dim 1
  std::normal_distribution<float> nd;
  const int N = D * H * W;
  std::vector<T> a(N), b(D * W);
  for (auto& v : a) v = nd(g);
  for (auto& v : b) v = nd(g);
  DeviceTensor<T> da(a), db(b), dout(N);
  const int64_t sizes[3] = {W, H, D};
  const int64_t so[3] = {1, W, (int64_t)H * W}, sa[3] = {(int64_t)H * D, D, 1}, sb[3] = {1, 0, W};
  OffsetCalculator<3> calc(3, sizes, {so, sa, sb});
  std::vector<double> ref(N);
  for (int d = 0; d < D; d++) for (int h = 0; h < H; h++) for (int w = 0; w < W; w++) {
    const double x = a[(w * H + h) * D + d], y = b[d * W + w];
    ref[(d * H + h) * W + w] = x + 2.5 * y;
  }
  gpu_kernel_impl<T>(N, dout.p, da.p, db.p, calc, AddAlpha<T>{T(2.5)});
  return allclose("add(alpha)", dout.cpu(), ref, 1e-5, 1e-5);
}

int main() {
  std::mt19937 g(2024);
  std::normal_distribution<float> nd;
  bool ok = test_elementwise<float>(37, 64, 130, g);
  ok &= test_elementwise<double>(20, 33, 50, g);
  const int R = 700, C = 1100;
  std::vector<float> x(R * C);
  for (auto& v : x) v = nd(g);
  std::vector<double> rsum(R), csum(C), rmax(R * C / 44, 0.0);
  for (int r = 0; r < R; r++) for (int c = 0; c < C; c++) {
    rsum[r] += x[r * C + c];
    csum[c] += x[r * C + c];
    double& m = rmax[(r * C + c) / 44];
    m = std::max(m, (double)std::fabs(x[r * C + c]));
  }
  DeviceTensor<float> dx(x), drow(R), dcol(C), dmax(rmax.size());
  gpu_reduce<float, float>(dx.p, drow.p, R, C, 1, SumOps<float>{});
  ok &= allclose("sum(dim=1)", drow.cpu(), rsum, 1e-4, 2e-3);
  gpu_reduce<float, double>(dx.p, dcol.p, R, C, 0, SumOps<double>{});
  ok &= allclose("sum(dim=0)", dcol.cpu(), csum, 1e-4, 2e-3);
  gpu_reduce<float, float>(dx.p, dmax.p, (int)rmax.size(), 44, 1, AbsMaxOps<float>{});
  ok &= allclose("abs().amax(dim=1)", dmax.cpu(), rmax, 1e-6, 0);
  const int K = 900;
  std::vector<int64_t> idx(K);
  std::vector<double> sel0(K * C), sel1(R * K);
  for (auto& i : idx) i = g() % R;
  for (int k = 0; k < K; k++) {
    for (int c = 0; c < C; c++) sel0[k * C + c] = x[idx[k] * C + c];
    for (int r = 0; r < R; r++) sel1[r * K + k] = x[r * C + idx[k]];
  }
  DeviceTensor<int64_t> didx(idx);
  DeviceTensor<float> dsel0(K * C), dsel1(R * K);
  indexSelectLargeIndex<float, unsigned, true><<<1056, 128>>>(dsel0.p, dx.p, didx.p, K * C, C, K, C, 1, C, 1);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  ok &= allclose("index_select(0)", dsel0.cpu(), sel0, 0, 0);
  indexSelectLargeIndex<float, unsigned, false><<<1056, 128>>>(dsel1.p, dx.p, didx.p, R * K, R, K, 1, K, 1, C);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  ok &= allclose("index_select(1)", dsel1.cpu(), sel1, 0, 0);
  std::vector<__half> xh(R * C), gamma(C), beta(C);
  for (int i = 0; i < R * C; i++) xh[i] = __float2half(x[i] + 3.f);
  for (int c = 0; c < C; c++) { gamma[c] = __float2half(1.f + 0.1f * nd(g)); beta[c] = __float2half(nd(g)); }
  std::vector<double> ln(R * C);
  for (int r = 0; r < R; r++) {
    double m = 0, v = 0;
    for (int c = 0; c < C; c++) m += __half2float(xh[r * C + c]);
    m /= C;
    for (int c = 0; c < C; c++) v += std::pow(__half2float(xh[r * C + c]) - m, 2);
    for (int c = 0; c < C; c++) ln[r * C + c] = (__half2float(xh[r * C + c]) - m) / std::sqrt(v / C + 1e-5) * __half2float(gamma[c]) + __half2float(beta[c]);
  }
  DeviceTensor<__half> dxh(xh), dg(gamma), dbt(beta), dy(R * C);
  DeviceTensor<float> dmean(R), drstd(R);
  RowwiseMomentsCUDAKernel<__half><<<R, 512>>>(C, 1e-5f, dxh.p, dmean.p, drstd.p);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  LayerNormForwardCUDAKernel<__half><<<R, 256>>>(C, dxh.p, dmean.p, drstd.p, dg.p, dbt.p, dy.p);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  ok &= allclose("layer_norm(half)", dy.cpu(), ln, 4e-3, 4e-3);
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
