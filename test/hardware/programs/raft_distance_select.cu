// Pairwise distances with tiling policies and warp-sort top-k selection in the manner of RAPIDS raft.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define DI __device__ __forceinline__
#define HDI __host__ __device__ __forceinline__
#define RAFT_CUDA_TRY(call) do { cudaError_t const status = (call); if (status != cudaSuccess) { \
  std::fprintf(stderr, "CUDA error at %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); std::exit(1); } } while (0)

namespace raft {
static constexpr int WarpSize = 32;
template <typename IntType> constexpr HDI IntType ceildiv(IntType a, IntType b) { return (a + b - 1) / b; }

template <typename T, int N> struct alignas(sizeof(T) * N) TxN_t {
  T data[N];
  DI void load(const T* p) { *this = *reinterpret_cast<const TxN_t*>(p); }
  DI void store(T* p) const { *reinterpret_cast<TxN_t*>(p) = *this; }
};

namespace linalg {
template <typename DataT, int _veclen, int _kblk, int _rpt, int _cpt, int _tr, int _tc> struct KernelPolicy {
  enum {
    Kblk = _kblk, Veclen = _veclen, AccRowsPerTh = _rpt, AccColsPerTh = _cpt, AccThRows = _tr, AccThCols = _tc,
    Mblk = _rpt * _tr, Nblk = _cpt * _tc, Nthreads = _tr * _tc,
    LdgThRow = Kblk / Veclen, LdgRows = Nthreads / LdgThRow, LdgPerThX = Mblk / LdgRows, LdgPerThY = Nblk / LdgRows,
    SmemStride = Kblk + Veclen, SmemPageX = SmemStride * Mblk, SmemPageY = SmemStride * Nblk, SmemPage = SmemPageX + SmemPageY,
    SmemSize = 2 * SmemPage * sizeof(DataT),
  };
  static_assert(LdgPerThX > 0 && LdgPerThY > 0, "tile too small");
};
template <typename DataT, int _veclen> struct Policy4x4 { using Policy = KernelPolicy<DataT, _veclen, 32, 4, 4, 16, 16>; };
template <typename DataT, int _veclen> struct Policy2x8 { using Policy = KernelPolicy<DataT, _veclen, 16, 2, 8, 8, 32>; };

template <typename OutT> __global__ void rowNormKernel(OutT* out, const OutT* in, int D, int N) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= N) return;
  OutT acc = 0;
  for (int i = threadIdx.x; i < D; i += WarpSize) acc += in[(size_t)row * D + i] * in[(size_t)row * D + i];
  for (int o = WarpSize / 2; o > 0; o /= 2) acc += __shfl_xor_sync(0xffffffffu, acc, o);
  if (threadIdx.x == 0) out[row] = acc;
}
}  // namespace linalg

namespace distance {
template <typename T> struct l2_exp_op {
  static constexpr bool use_norms = true;
  bool sqrt;
  DI void core(T& acc, const T& x, const T& y) const { acc += x * y; }
  DI T epilog(T acc, T xn, T yn) const {
    T val = xn + yn - T(2) * acc;
    val = val > T(0) ? val : T(0);
    return sqrt ? ::sqrt(val) : val;
  }
};
template <typename T> struct l1_op {
  static constexpr bool use_norms = false;
  DI void core(T& acc, const T& x, const T& y) const { acc += fabs(x - y); }
  DI T epilog(T acc, T, T) const { return acc; }
};
template <typename T> struct canberra_op {
  static constexpr bool use_norms = false;
  DI void core(T& acc, const T& x, const T& y) const {
    const T diff = fabs(x - y), add = fabs(x) + fabs(y);
    acc += add != T(0) ? diff / add : T(0);
  }
  DI T epilog(T acc, T, T) const { return acc; }
};

template <typename P, typename DataT, typename OpT>
__global__ __launch_bounds__(P::Nthreads, 2) void pairwise_matrix_kernel(OpT op, const DataT* x, const DataT* y, const DataT* xn, const DataT* yn, int m, int n, int k, DataT* out) {
  extern __shared__ __align__(16) char smem_raw[];
  DataT* sx = reinterpret_cast<DataT*>(smem_raw);
  DataT* sy = sx + P::SmemPageX;
  const int srowid = threadIdx.x / P::LdgThRow, scolid = (threadIdx.x % P::LdgThRow) * P::Veclen;
  const int accrowid = threadIdx.x / P::AccThCols, acccolid = threadIdx.x % P::AccThCols;
  TxN_t<DataT, P::Veclen> ldgX[P::LdgPerThX], ldgY[P::LdgPerThY];

  const int grid_m = ceildiv<int>(m, P::Mblk), grid_n = ceildiv<int>(n, P::Nblk);
  for (int tile = blockIdx.x; tile < grid_m * grid_n; tile += gridDim.x) {
    const int row0 = (tile / grid_n) * P::Mblk, col0 = (tile % grid_n) * P::Nblk;
    DataT acc[P::AccRowsPerTh][P::AccColsPerTh];
#pragma unroll
    for (int i = 0; i < P::AccRowsPerTh; ++i)
#pragma unroll
      for (int j = 0; j < P::AccColsPerTh; ++j) acc[i][j] = DataT(0);
    auto ldg_tile = [&](auto& regs, const DataT* base, int r0, int rows, int kidx, int per_th) {
      for (int i = 0; i < per_th; ++i) {
        const int r = r0 + srowid + i * P::LdgRows, c = kidx + scolid;
        if (r < rows && c < k) regs[i].load(base + (size_t)r * k + c);
        else
          for (int v = 0; v < P::Veclen; ++v) regs[i].data[v] = DataT(0);
      }
    };
    auto ldgXY = [&](int kidx) { ldg_tile(ldgX, x, row0, m, kidx, P::LdgPerThX); ldg_tile(ldgY, y, col0, n, kidx, P::LdgPerThY); };
    auto stsXY = [&](int page) {
#pragma unroll
      for (int i = 0; i < P::LdgPerThX; ++i) ldgX[i].store(sx + page * P::SmemPage + (srowid + i * P::LdgRows) * P::SmemStride + scolid);
#pragma unroll
      for (int i = 0; i < P::LdgPerThY; ++i) ldgY[i].store(sy + page * P::SmemPage + (srowid + i * P::LdgRows) * P::SmemStride + scolid);
    };
    auto accumulate = [&](int page) {
#pragma unroll
      for (int ki = 0; ki < P::Kblk; ki += P::Veclen) {
        TxN_t<DataT, P::Veclen> regx[P::AccRowsPerTh], regy[P::AccColsPerTh];
#pragma unroll
        for (int i = 0; i < P::AccRowsPerTh; ++i) regx[i].load(sx + page * P::SmemPage + (accrowid + i * P::AccThRows) * P::SmemStride + ki);
#pragma unroll
        for (int j = 0; j < P::AccColsPerTh; ++j) regy[j].load(sy + page * P::SmemPage + (acccolid + j * P::AccThCols) * P::SmemStride + ki);
#pragma unroll
        for (int i = 0; i < P::AccRowsPerTh; ++i)
#pragma unroll
          for (int j = 0; j < P::AccColsPerTh; ++j)
#pragma unroll
            for (int v = 0; v < P::Veclen; ++v) op.core(acc[i][j], regx[i].data[v], regy[j].data[v]);
      }
    };
    int page = 0;
    ldgXY(0);
    stsXY(page);
    __syncthreads();
    for (int kidx = P::Kblk; kidx < k; kidx += P::Kblk) {
      ldgXY(kidx);
      accumulate(page);
      page ^= 1;
      stsXY(page);
      __syncthreads();
    }
    accumulate(page);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < P::AccRowsPerTh; ++i) {
      const int row = row0 + accrowid + i * P::AccThRows;
#pragma unroll
      for (int j = 0; j < P::AccColsPerTh; ++j) {
        const int col = col0 + acccolid + j * P::AccThCols;
        if (row < m && col < n) out[(size_t)row * n + col] = op.epilog(acc[i][j], OpT::use_norms ? xn[row] : DataT(0), OpT::use_norms ? yn[col] : DataT(0));
      }
    }
  }
}

template <typename P, typename DataT, typename OpT> void pairwise_matrix(OpT op, const DataT* x, const DataT* y, const DataT* xn, const DataT* yn, int m, int n, int k, DataT* out) {
  const int tiles = ceildiv<int>(m, P::Mblk) * ceildiv<int>(n, P::Nblk);
  auto kernel = pairwise_matrix_kernel<P, DataT, OpT>;
  RAFT_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)P::SmemSize));
  kernel<<<std::min(tiles, 264), P::Nthreads, P::SmemSize>>>(op, x, y, xn, yn, m, n, k, out);
  RAFT_CUDA_TRY(cudaGetLastError());
}
template <typename DataT, typename OpT> void pairwise_distance_dispatch(OpT op, const DataT* x, const DataT* y, const DataT* xn, const DataT* yn, int m, int n, int k, DataT* out) {
  const size_t bytes = sizeof(DataT) * k;
  if (bytes % 16 == 0) pairwise_matrix<typename linalg::Policy4x4<DataT, 16 / sizeof(DataT)>::Policy>(op, x, y, xn, yn, m, n, k, out);
  else if (bytes % 8 == 0) pairwise_matrix<typename linalg::Policy4x4<DataT, 8 / sizeof(DataT)>::Policy>(op, x, y, xn, yn, m, n, k, out);
  else pairwise_matrix<typename linalg::Policy2x8<DataT, 1>::Policy>(op, x, y, xn, yn, m, n, k, out);
}
}  // namespace distance

namespace matrix::select {
template <typename T> HDI T upper_bound() { return sizeof(T) == 4 ? T(3.4e38f) : T(1.7e308); }
// Capacity elements striped over the lanes of a warp: element e = i * 32 + lane.
template <int Capacity, typename T, typename IdxT> struct warp_sort_immediate {
  static constexpr int kLen = Capacity / WarpSize;
  T val_[kLen], buf_val_[kLen];
  IdxT idx_[kLen], buf_idx_[kLen];
  int buf_fill_ = 0;
  DI warp_sort_immediate() { reset(val_, idx_); reset(buf_val_, buf_idx_); }
  static DI void reset(T (&v)[kLen], IdxT (&x)[kLen]) {
#pragma unroll
    for (int i = 0; i < kLen; i++) { v[i] = upper_bound<T>(); x[i] = IdxT(-1); }
  }
  static DI bool less(T a, IdxT ia, T b, IdxT ib) { return a < b || (a == b && ia < ib); }
  template <int size, int stride> static DI void step(T (&v)[kLen], IdxT (&x)[kLen], bool ascending, int lane) {
    if constexpr (stride >= WarpSize) {
#pragma unroll
      for (int i = 0; i < kLen; i++) {
        constexpr int s = stride / WarpSize;
        if ((i & s) == 0) {
          const bool up = (((i * WarpSize + lane) & size) == 0) == ascending;
          if (less(v[i + s], x[i + s], v[i], x[i]) == up) {
            T tv = v[i]; v[i] = v[i + s]; v[i + s] = tv;
            IdxT tx = x[i]; x[i] = x[i + s]; x[i + s] = tx;
          }
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kLen; i++) {
        const T ov = __shfl_xor_sync(0xffffffffu, v[i], stride);
        const IdxT ox = __shfl_xor_sync(0xffffffffu, x[i], stride);
        const bool up = (((i * WarpSize + lane) & size) == 0) == ascending;
        const bool lower = (lane & stride) == 0;
        const bool take = (lower == up) ? less(ov, ox, v[i], x[i]) : less(v[i], x[i], ov, ox);
        if (take) { v[i] = ov; x[i] = ox; }
      }
    }
    if constexpr (stride > 1) step<size, stride / 2>(v, x, ascending, lane);
  }
  template <int size = 2> static DI void sort(T (&v)[kLen], IdxT (&x)[kLen], bool ascending, int lane) {
    step<size, size / 2>(v, x, ascending, lane);
    if constexpr (size < Capacity) sort<size * 2>(v, x, ascending, lane);
  }
  // val_ ascending, incoming descending: keep the element-wise smaller, which is bitonic.
  DI void merge_in(T (&v)[kLen], IdxT (&x)[kLen], int lane) {
#pragma unroll
    for (int i = 0; i < kLen; i++) if (less(v[i], x[i], val_[i], idx_[i])) { val_[i] = v[i]; idx_[i] = x[i]; }
    step<Capacity, Capacity / 2>(val_, idx_, true, lane);
  }
  DI void add(T val, IdxT idx, int lane) {
#pragma unroll
    for (int i = 0; i < kLen; i++) if (i == buf_fill_) { buf_val_[i] = val; buf_idx_[i] = idx; }
    if (++buf_fill_ == kLen) flush(lane);
  }
  DI void flush(int lane) {
    sort(buf_val_, buf_idx_, false, lane);
    merge_in(buf_val_, buf_idx_, lane);
    reset(buf_val_, buf_idx_);
    buf_fill_ = 0;
  }
};

template <int Capacity, typename T, typename IdxT> __global__ void block_kernel(const T* in, int len, int k, T* out, IdxT* out_idx) {
  extern __shared__ __align__(16) char select_smem[];
  const int lane = threadIdx.x % WarpSize, warp = threadIdx.x / WarpSize, num_warps = blockDim.x / WarpSize;
  T* val_smem = reinterpret_cast<T*>(select_smem);
  IdxT* idx_smem = reinterpret_cast<IdxT*>(val_smem + num_warps / 2 * Capacity);
  in += (size_t)blockIdx.x * len;
  using queue_t = warp_sort_immediate<Capacity, T, IdxT>;
  queue_t queue;
  for (int base = 0; base < len; base += blockDim.x) {
    const int i = base + threadIdx.x;
    queue.add(i < len ? in[i] : upper_bound<T>(), i < len ? IdxT(i) : IdxT(-1), lane);
  }
  queue.flush(lane);
  for (int half = num_warps / 2; half > 0; half /= 2) {
    if (warp >= half && warp < 2 * half) {
#pragma unroll
      for (int i = 0; i < queue_t::kLen; i++) {
        val_smem[(warp - half) * Capacity + i * WarpSize + lane] = queue.val_[i];
        idx_smem[(warp - half) * Capacity + i * WarpSize + lane] = queue.idx_[i];
      }
    }
    __syncthreads();
    if (warp < half) {
#pragma unroll
      for (int i = 0; i < queue_t::kLen; i++) { // reversed
        queue.buf_val_[i] = val_smem[warp * Capacity + Capacity - 1 - (i * WarpSize + lane)];
        queue.buf_idx_[i] = idx_smem[warp * Capacity + Capacity - 1 - (i * WarpSize + lane)];
      }
      queue.merge_in(queue.buf_val_, queue.buf_idx_, lane);
    }
    __syncthreads();
  }
  if (warp == 0) {
#pragma unroll
    for (int i = 0; i < queue_t::kLen; i++) {
      const int e = i * WarpSize + lane;
      if (e < k) { out[(size_t)blockIdx.x * k + e] = queue.val_[i]; out_idx[(size_t)blockIdx.x * k + e] = queue.idx_[i]; }
    }
  }
}

template <typename T, typename IdxT> void select_k(const T* in, int batch, int len, int k, T* out, IdxT* out_idx) {
  const int warps = len > 1024 ? 8 : 4;
  auto smem = [&](int cap) { return warps / 2 * cap * (sizeof(T) + sizeof(IdxT)); };
  if (k <= 32) block_kernel<32, T, IdxT><<<batch, warps * 32, smem(32)>>>(in, len, k, out, out_idx);
  else if (k <= 64) block_kernel<64, T, IdxT><<<batch, warps * 32, smem(64)>>>(in, len, k, out, out_idx);
  else block_kernel<128, T, IdxT><<<batch, warps * 32, smem(128)>>>(in, len, k, out, out_idx);
  RAFT_CUDA_TRY(cudaGetLastError());
}
}  // namespace matrix::select
}  // namespace raft

template <typename T> struct device_uvector {
  T* ptr; size_t n;
  explicit device_uvector(size_t n_) : n(n_) { RAFT_CUDA_TRY(cudaMalloc(&ptr, n * sizeof(T))); }
  explicit device_uvector(const std::vector<T>& h) : device_uvector(h.size()) { RAFT_CUDA_TRY(cudaMemcpy(ptr, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  ~device_uvector() { cudaFree(ptr); }
  std::vector<T> host() const { std::vector<T> h(n); RAFT_CUDA_TRY(cudaMemcpy(h.data(), ptr, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
};
enum class DistanceType { L2Expanded, L2SqrtExpanded, L1, Canberra };

template <typename T> bool run(DistanceType metric, int m, int n, int k, int topk, unsigned seed) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<T> u(-1, 1);
  std::vector<T> x((size_t)m * k), y((size_t)n * k);
  for (auto& v : x) v = u(gen);
  for (auto& v : y) v = u(gen);
  device_uvector<T> dx(x), dy(y), xn(m), yn(n), dist((size_t)m * n), vals((size_t)m * topk);
  device_uvector<int> idx((size_t)m * topk);
  using namespace raft;
  if (metric == DistanceType::L2Expanded || metric == DistanceType::L2SqrtExpanded) {
    linalg::rowNormKernel<T><<<ceildiv(m, 4), dim3(32, 4)>>>(xn.ptr, dx.ptr, k, m);
    linalg::rowNormKernel<T><<<ceildiv(n, 4), dim3(32, 4)>>>(yn.ptr, dy.ptr, k, n);
    RAFT_CUDA_TRY(cudaGetLastError());
  }
  switch (metric) {
    case DistanceType::L2Expanded: distance::pairwise_distance_dispatch<T>(distance::l2_exp_op<T>{false}, dx.ptr, dy.ptr, xn.ptr, yn.ptr, m, n, k, dist.ptr); break;
    case DistanceType::L2SqrtExpanded: distance::pairwise_distance_dispatch<T>(distance::l2_exp_op<T>{true}, dx.ptr, dy.ptr, xn.ptr, yn.ptr, m, n, k, dist.ptr); break;
    case DistanceType::L1: distance::pairwise_distance_dispatch<T>(distance::l1_op<T>{}, dx.ptr, dy.ptr, xn.ptr, yn.ptr, m, n, k, dist.ptr); break;
    case DistanceType::Canberra: distance::pairwise_distance_dispatch<T>(distance::canberra_op<T>{}, dx.ptr, dy.ptr, xn.ptr, yn.ptr, m, n, k, dist.ptr); break;
  }
  matrix::select::select_k<T, int>(dist.ptr, m, n, topk, vals.ptr, idx.ptr);
  auto hd = dist.host();
  size_t bad = 0;
  for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
    double s = 0;
    for (int c = 0; c < k; c++) {
      const double a = x[(size_t)i * k + c], b = y[(size_t)j * k + c];
      if (metric == DistanceType::L1) s += std::fabs(a - b);
      else if (metric == DistanceType::Canberra) s += std::fabs(a - b) / (std::fabs(a) + std::fabs(b));
      else s += (a - b) * (a - b);
    }
    if (metric == DistanceType::L2SqrtExpanded) s = std::sqrt(s);
    if (!(std::fabs(hd[(size_t)i * n + j] - s) <= 1e-3 * (1 + s))) bad++;
  }
  auto hv = vals.host();
  auto hi = idx.host();
  size_t bad_sel = 0;
  for (int i = 0; i < m; i++) {
    std::vector<std::pair<T, int>> row(n);
    for (int j = 0; j < n; j++) row[j] = {hd[(size_t)i * n + j], j};
    std::partial_sort(row.begin(), row.begin() + topk, row.end());
    for (int t = 0; t < topk; t++) bad_sel += hv[(size_t)i * topk + t] != row[t].first || hi[(size_t)i * topk + t] != row[t].second;
  }
  std::printf("metric %d m=%d n=%d k=%d: %zu bad distances, %zu bad selections\n", (int)metric, m, n, k, bad, bad_sel);
  return bad == 0 && bad_sel == 0;
}

int main() {
  bool ok = run<float>(DistanceType::L2SqrtExpanded, 500, 3000, 64, 32, 1);
  ok &= run<float>(DistanceType::L1, 333, 1001, 46, 50, 2);
  ok &= run<float>(DistanceType::Canberra, 200, 2100, 33, 100, 3);
  ok &= run<double>(DistanceType::L2Expanded, 130, 900, 50, 10, 4);
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
