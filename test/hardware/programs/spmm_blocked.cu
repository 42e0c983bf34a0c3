// spmm_blocked.cu
// Block-sparse (BSR, CSR of dense tiles) times dense:  C[M x N] = A_bsr[M x K] * B[K x N]
// All dense operands are row-major.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

namespace bsr {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

template <typename T>
class device_vector {
 public:
  explicit device_vector(std::size_t n) : n_(n) {
    check(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T)), "cudaMalloc");
  }
  explicit device_vector(const std::vector<T>& h) : device_vector(h.size()) {
    check(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "H2D");
  }
  ~device_vector() { cudaFree(p_); }
  device_vector(const device_vector&) = delete;
  device_vector& operator=(const device_vector&) = delete;

  T* data() { return p_; }
  const T* data() const { return p_; }
  std::size_t size() const { return n_; }

  std::vector<T> to_host() const {
    std::vector<T> h(n_);
    check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "D2H");
    return h;
  }

 private:
  T* p_ = nullptr;
  std::size_t n_ = 0;
};

struct Pattern {
  int block_rows = 0;
  int block_cols = 0;
  std::vector<int> row_ptr;   // block_rows + 1
  std::vector<int> col_idx;   // nnz tiles
  std::vector<int> row_idx;   // nnz tiles (COO copy of the row)
  int nnzb() const { return static_cast<int>(col_idx.size()); }
};

// ---------------------------------------------------------------------------
// dense -> tile storage, one thread block per stored tile
template <int BS, typename T>
__global__ void gather_tiles(const T* __restrict__ dense, int ld,
                             const int* __restrict__ row_idx,
                             const int* __restrict__ col_idx,
                             T* __restrict__ tiles) {
  const int t = blockIdx.x;
  const int r0 = row_idx[t] * BS;
  const int c0 = col_idx[t] * BS;
  T* dst = tiles + static_cast<std::size_t>(t) * BS * BS;
  for (int r = threadIdx.y; r < BS; r += blockDim.y)
    dst[r * BS + threadIdx.x] = dense[static_cast<std::size_t>(r0 + r) * ld + c0 + threadIdx.x];
}

// ---------------------------------------------------------------------------
// tiles[t][r][k] -> tiles_t[t][k][r]
template <int BS, typename T>
__global__ void transpose_tiles(const T* __restrict__ in, T* __restrict__ out) {
  __shared__ T s[BS][BS];
  const std::size_t base = static_cast<std::size_t>(blockIdx.x) * BS * BS;
  for (int r = threadIdx.y; r < BS; r += blockDim.y)
    s[r][threadIdx.x] = in[base + r * BS + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < BS; r += blockDim.y)
    out[base + r * BS + threadIdx.x] = s[threadIdx.x][r];
}

// ---------------------------------------------------------------------------
// Reference-style kernel: x = row of C, y = column of C.
template <int BS, typename T>
__global__ void spmm_scalar(const int* __restrict__ row_ptr, const int* __restrict__ col_idx,
                            const T* __restrict__ tiles, const T* __restrict__ B,
                            T* __restrict__ C, int m, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  const int br = row / BS;
  const int lr = row % BS;
  T acc = T(0);
  for (int t = row_ptr[br]; t < row_ptr[br + 1]; ++t) {
    const T* a = tiles + (static_cast<std::size_t>(t) * BS + lr) * BS;
    const T* b = B + static_cast<std::size_t>(col_idx[t]) * BS * n + col;
    for (int k = 0; k < BS; ++k) acc += a[k] * b[static_cast<std::size_t>(k) * n];
  }
  C[static_cast<std::size_t>(row) * n + col] = acc;
}

// ---------------------------------------------------------------------------
// Shared-memory kernel. One thread block = one block row x 64 columns.
// 16 x 16 threads, every thread owns rows {ty, ty+16} and 4 neighbouring columns.
// Works on the transposed tiles so that the inner product walks down k.
template <int BS>
__global__ void __launch_bounds__(256)
spmm_shared(const int* __restrict__ row_ptr, const int* __restrict__ col_idx,
            const float* __restrict__ tiles_t, const float* __restrict__ B,
            float* __restrict__ C, int n) {
  constexpr int TN = 64;
  static_assert(BS == 32, "thread mapping assumes 32 x 32 tiles");
  __shared__ __align__(16) float sa[BS][BS];
  __shared__ __align__(16) float sb[BS][TN];

  const int tid = threadIdx.y * 16 + threadIdx.x;
  const int br = blockIdx.y;
  const int c0 = blockIdx.x * TN;

  float4 acc0 = make_float4(0.f, 0.f, 0.f, 0.f);
  float4 acc1 = acc0;

  const int t_end = row_ptr[br + 1];
  for (int t = row_ptr[br]; t < t_end; ++t) {
    // 32x32 floats of A: exactly one float4 per thread
    const float4* a4 = reinterpret_cast<const float4*>(tiles_t + static_cast<std::size_t>(t) * BS * BS);
    reinterpret_cast<float4*>(&sa[0][0])[tid] = a4[tid];
    // 32x64 floats of B: two float4 per thread
    const int k0 = col_idx[t] * BS;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int k = threadIdx.y + i * 16;
      *reinterpret_cast<float4*>(&sb[k][threadIdx.x * 4]) =
          *reinterpret_cast<const float4*>(&B[static_cast<std::size_t>(k0 + k) * n + c0 + threadIdx.x * 4]);
    }
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < BS; ++k) {
      const float a0 = sa[k][threadIdx.y];
      const float a1 = sa[k][threadIdx.y + 16];
      const float4 b = *reinterpret_cast<const float4*>(&sb[k][threadIdx.x * 4]);
      acc0.x += a0 * b.x; acc0.y += a0 * b.y; acc0.z += a0 * b.z; acc0.w += a0 * b.w;
      acc1.x += a1 * b.x; acc1.y += a1 * b.y; acc1.z += a1 * b.z; acc1.w += a1 * b.w;
    }
    __syncthreads();
  }
  const int row = br * BS + threadIdx.y;
  float* c = C + static_cast<std::size_t>(row) * n + c0 + threadIdx.x * 4;
  *reinterpret_cast<float4*>(c) = acc0;
  *reinterpret_cast<float4*>(c + static_cast<std::size_t>(16) * n) = acc1;
}

// ---------------------------------------------------------------------------
// squared row norms of C, one warp per row
__global__ void row_norms(const float* __restrict__ C, float* __restrict__ norms, int m, int n) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * (blockDim.x / 32) + warp.meta_group_rank();
  if (row >= m) return;
  float s = 0.f;
  for (int c = warp.thread_rank(); c < n; c += warp.size()) {
    const float v = C[static_cast<std::size_t>(row) * n + c];
    s += v * v;
  }
  s = cg::reduce(warp, s, cg::plus<float>());
  if (warp.thread_rank() == 0) norms[row] = s;
}

// ---------------------------------------------------------------------------
Pattern make_pattern(int brows, int bcols, int per_row, std::mt19937& rng) {
  Pattern p;
  p.block_rows = brows;
  p.block_cols = bcols;
  p.row_ptr.push_back(0);
  std::vector<int> all(bcols);
  for (int i = 0; i < bcols; ++i) all[i] = i;
  for (int r = 0; r < brows; ++r) {
    std::shuffle(all.begin(), all.end(), rng);
    const int cnt = per_row / 2 + static_cast<int>(rng() % (per_row + 1));
    std::vector<int> cols(all.begin(), all.begin() + std::min(cnt, bcols));
    std::sort(cols.begin(), cols.end());
    for (int c : cols) {
      p.col_idx.push_back(c);
      p.row_idx.push_back(r);
    }
    p.row_ptr.push_back(static_cast<int>(p.col_idx.size()));
  }
  return p;
}

template <int BS>
std::vector<float> reference(const Pattern& p, const std::vector<float>& A, int K,
                             const std::vector<float>& B, int N) {
  std::vector<float> C(static_cast<std::size_t>(p.block_rows) * BS * N, 0.f);
  for (int br = 0; br < p.block_rows; ++br)
    for (int t = p.row_ptr[br]; t < p.row_ptr[br + 1]; ++t)
      for (int r = 0; r < BS; ++r)
        for (int k = 0; k < BS; ++k) {
          const int row = br * BS + r, kk = p.col_idx[t] * BS + k;
          const float a = A[static_cast<std::size_t>(row) * K + kk];
          const float* b = &B[static_cast<std::size_t>(kk) * N];
          float* c = &C[static_cast<std::size_t>(row) * N];
          for (int j = 0; j < N; ++j) c[j] += a * b[j];
        }
  return C;
}

double max_diff(const std::vector<float>& a, const std::vector<float>& b) {
  double d = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double e = std::fabs(double(a[i]) - double(b[i]));
    if (!(e <= d)) d = e;   // NaN sticks
  }
  return d;
}

}  // namespace bsr

int main() try {
  using namespace bsr;
  constexpr int BS = 32;
  const int brows = 48, bcols = 40, N = 256;
  const int M = brows * BS, K = bcols * BS;

  std::mt19937 rng(1234);
  std::uniform_real_distribution<float> uni(-1.f, 1.f);
  Pattern pat = make_pattern(brows, bcols, 6, rng);
  std::vector<float> A(static_cast<std::size_t>(M) * K), B(static_cast<std::size_t>(K) * N);
  for (auto& v : A) v = uni(rng);
  for (auto& v : B) v = uni(rng);

  device_vector<float> dA(A), dB(B);
  device_vector<int> d_ptr(pat.row_ptr), d_col(pat.col_idx), d_row(pat.row_idx);
  const int nnzb = pat.nnzb();
  device_vector<float> tiles(static_cast<std::size_t>(nnzb) * BS * BS);
  device_vector<float> tiles_t(tiles.size());
  device_vector<float> C1(static_cast<std::size_t>(M) * N), C2(C1.size()), norms(M);

  gather_tiles<BS, float><<<nnzb, dim3(BS, 8)>>>(dA.data(), K, d_row.data(), d_col.data(), tiles.data());
  transpose_tiles<BS, float><<<nnzb, dim3(BS, 8)>>>(tiles.data(), tiles_t.data());

  dim3 tb(32, 4);
  dim3 gb((M + tb.x - 1) / tb.x, (N + tb.y - 1) / tb.y);
  spmm_scalar<BS, float><<<gb, tb>>>(d_ptr.data(), d_col.data(), tiles.data(), dB.data(), C1.data(), M, N);

  spmm_shared<BS><<<dim3(N / 64, brows), dim3(16, 16)>>>(d_ptr.data(), d_col.data(), tiles_t.data(),
                                                         dB.data(), C2.data(), N);
  row_norms<<<(M + 7) / 8, 256>>>(C2.data(), norms.data(), M, N);
  check(cudaGetLastError(), "launch");
  check(cudaDeviceSynchronize(), "sync");

  const auto ref = reference<BS>(pat, A, K, B, N);
  const double e1 = max_diff(C1.to_host(), ref);
  const double e2 = max_diff(C2.to_host(), ref);
  const auto hn = norms.to_host();
  double en = 0;
  for (int r = 0; r < M; ++r) {
    double s = 0;
    for (int j = 0; j < N; ++j) s += double(ref[std::size_t(r) * N + j]) * ref[std::size_t(r) * N + j];
    const double e = std::fabs(hn[r] - s) / (s + 1.0);
    if (!(e <= en)) en = e;
  }
  std::printf("tiles %d  scalar %.2e  shared %.2e  norms %.2e\n", nnzb, e1, e2, en);
  const bool ok = e1 < 1e-3 && e2 < 1e-3 && en < 1e-3;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\nFAIL\n", e.what());
  return 2;
}
