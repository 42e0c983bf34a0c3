// nvcc: -std=c++17
// One level of gradient-boosted tree growth on quantised features:
// gradient computation, per-node histograms, subtraction trick, best split,
// row partition, and forest inference.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace cg = cooperative_groups;

namespace gbdt {

inline void SafeCall(cudaError_t rc, char const* file, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(rc));
    std::exit(4);
  }
}
#define safe_cuda(x) ::gbdt::SafeCall((x), __FILE__, __LINE__)

using bst_bin = std::uint8_t;
constexpr int kBins = 64;
constexpr int kFeatures = 28;

struct GradientPair {
  float grad;
  float hess;
};

// fixed point so that the accumulation order does not matter
struct GradientPairInt64 {
  long long grad;
  long long hess;
};
constexpr float kToFixed = 1048576.0f;

template <typename T>
class Span {
 public:
  __host__ __device__ Span(T* p, std::size_t n) : ptr_{p}, size_{n} {}
  __host__ __device__ T& operator[](std::size_t i) const { return ptr_[i]; }
  __host__ __device__ std::size_t size() const { return size_; }
  __host__ __device__ T* data() const { return ptr_; }

 private:
  T* ptr_;
  std::size_t size_;
};

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(std::size_t n) : n_{n} { safe_cuda(cudaMalloc(&p_, n * sizeof(T))); }
  explicit DeviceVector(std::vector<T> const& h) : DeviceVector{h.size()} {
    safe_cuda(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceVector(DeviceVector const&) = delete;
  ~DeviceVector() { cudaFree(p_); }
  Span<T> span() { return {p_, n_}; }
  Span<T const> cspan() const { return {p_, n_}; }
  T* get() { return p_; }
  void Zero() { safe_cuda(cudaMemset(p_, 0, n_ * sizeof(T))); }
  std::vector<T> Host() const {
    std::vector<T> h(n_);
    safe_cuda(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  T* p_{nullptr};
  std::size_t n_;
};

struct RowMajorEllpack {
  bst_bin const* bins;
  int n_rows;
  __device__ bst_bin At(int row, int fid) const { return bins[static_cast<std::size_t>(row) * kFeatures + fid]; }
};

struct ColumnMajorEllpack {
  bst_bin const* bins;
  int n_rows;
  __device__ bst_bin At(int row, int fid) const { return bins[static_cast<std::size_t>(fid) * n_rows + row]; }
};

struct LogisticLoss {
  __device__ static GradientPair Compute(float margin, float label) {
    float const p = 1.0f / (1.0f + expf(-margin));
    return {p - label, fmaxf(p * (1.0f - p), 1e-16f)};
  }
};

template <typename Loss>
__global__ void GetGradientKernel(Span<float const> margin, Span<float const> label, Span<GradientPair> out) {
  std::size_t const i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < out.size()) {
    out[i] = Loss::Compute(margin[i], label[i]);
  }
}

__device__ inline void AtomicAddPair(GradientPairInt64* dst, GradientPair g) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&dst->grad),
            static_cast<unsigned long long>(__float2ll_rn(g.grad * kToFixed)));
  atomicAdd(reinterpret_cast<unsigned long long*>(&dst->hess),
            static_cast<unsigned long long>(__float2ll_rn(g.hess * kToFixed)));
}

// entry-parallel: one thread per (row of the node, feature), global atomics
template <typename Matrix>
__global__ void HistogramGlobalKernel(Matrix m, Span<int const> ridx, GradientPair const* __restrict__ gpair,
                                      GradientPairInt64* hist) {
  std::size_t const total = ridx.size() * kFeatures;
  for (std::size_t e = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; e < total;
       e += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    int const row = ridx[e / kFeatures];
    int const fid = e % kFeatures;
    AtomicAddPair(hist + fid * kBins + m.At(row, fid), gpair[row]);
  }
}

// feature group in blockIdx.y, shared-memory histogram
template <typename Matrix, int kGroup>
__global__ void __launch_bounds__(256) HistogramSharedKernel(Matrix m, Span<int const> ridx,
                                                             GradientPair const* __restrict__ gpair,
                                                             GradientPairInt64* hist) {
  extern __shared__ char smem_raw[];
  auto* local = reinterpret_cast<GradientPairInt64*>(smem_raw);
  int const first = blockIdx.y * kGroup;
  for (int i = threadIdx.x; i < kGroup * kBins; i += blockDim.x) {
    local[i] = GradientPairInt64{0, 0};
  }
  __syncthreads();
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < static_cast<int>(ridx.size()); k += gridDim.x * blockDim.x) {
    int const row = ridx[k];
    GradientPair const g = gpair[row];
#pragma unroll
    for (int f = 0; f < kGroup; ++f) {
      AtomicAddPair(local + f * kBins + m.At(row, first + f), g);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kGroup * kBins; i += blockDim.x) {
    auto* dst = reinterpret_cast<unsigned long long*>(hist + first * kBins + i);
    atomicAdd(dst, static_cast<unsigned long long>(local[i].grad));
    atomicAdd(dst + 1, static_cast<unsigned long long>(local[i].hess));
  }
}

__global__ void SubtractKernel(longlong2 const* __restrict__ parent, longlong2 const* __restrict__ left,
                               longlong2* __restrict__ right, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    longlong2 const p = parent[i];
    longlong2 const l = left[i];
    right[i] = make_longlong2(p.x - l.x, p.y - l.y);
  }
}

struct SplitCandidate {
  double gain;
  int fid;
  int bin;
};

// one warp per feature, two bins per lane
__global__ void EvaluateSplitsKernel(GradientPairInt64 const* hist, SplitCandidate* best, double lambda) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int const fid = blockIdx.x;
  auto const* h = hist + fid * kBins;
  int const lane = warp.thread_rank();
  long long const g0 = h[2 * lane].grad, g1 = h[2 * lane + 1].grad;
  long long const h0 = h[2 * lane].hess, h1 = h[2 * lane + 1].hess;
  long long const gs = cg::inclusive_scan(warp, g0 + g1);
  long long const hs = cg::inclusive_scan(warp, h0 + h1);
  double const G = static_cast<double>(warp.shfl(gs, 31)) / kToFixed;
  double const H = static_cast<double>(warp.shfl(hs, 31)) / kToFixed;
  double gain = -1.0;
  int bin = -1;
  for (int k = 0; k < 2; ++k) {
    double const gl = static_cast<double>(k == 0 ? gs - g1 : gs) / kToFixed;
    double const hl = static_cast<double>(k == 0 ? hs - h1 : hs) / kToFixed;
    double const gr = G - gl, hr = H - hl;
    double const v = gl * gl / (hl + lambda) + gr * gr / (hr + lambda) - G * G / (H + lambda);
    if (v > gain) {
      gain = v;
      bin = 2 * lane + k;
    }
  }
  double const top = cg::reduce(warp, gain, cg::greater<double>());
  unsigned const who = warp.ballot(gain == top);
  if (lane == __ffs(who) - 1) {
    best[fid] = SplitCandidate{top, fid, bin};
  }
}

// stable partition of row indices: flags, block scan, scatter
template <int kBlock>
__global__ void CountLeftKernel(ColumnMajorEllpack m, Span<int const> ridx, int fid, int bin, int* block_left) {
  int const i = blockIdx.x * kBlock + threadIdx.x;
  bool const left = i < static_cast<int>(ridx.size()) && m.At(ridx[i], fid) <= bin;
  int const n = __syncthreads_count(left);
  if (threadIdx.x == 0) {
    block_left[blockIdx.x] = n;
  }
}

// serial exclusive scan of the block counts by a single thread: nblocks is small
__global__ void ScanCountsKernel(int* counts, int n, int* total) {
  int run = 0;
  for (int i = 0; i < n; ++i) {
    int const c = counts[i];
    counts[i] = run;
    run += c;
  }
  *total = run;
}

template <int kBlock>
__global__ void PartitionKernel(ColumnMajorEllpack m, Span<int const> ridx, int fid, int bin, int const* block_left,
                                int const* total_left, int* out) {
  __shared__ int warp_left[kBlock / 32];
  int const i = blockIdx.x * kBlock + threadIdx.x;
  bool const valid = i < static_cast<int>(ridx.size());
  int const row = valid ? ridx[i] : 0;
  bool const left = valid && m.At(row, fid) <= bin;
  unsigned const mask = __ballot_sync(0xffffffffu, left);
  int const lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  if (lane == 0) {
    warp_left[w] = __popc(mask);
  }
  __syncthreads();
  int before = block_left[blockIdx.x];
  for (int k = 0; k < w; ++k) {
    before += warp_left[k];
  }
  before += __popc(mask & ((1u << lane) - 1));
  if (valid) {
    out[left ? before : *total_left + (i - before)] = row;
  }
}

struct TreeNode {
  std::int16_t fid;   // -1: leaf
  std::uint8_t bin;
  std::uint8_t pad;
  float leaf;
};

// complete trees of depth kDepth in breadth-first order
template <typename Matrix, int kDepth>
__global__ void PredictKernel(Matrix m, TreeNode const* __restrict__ forest, int n_trees, float* __restrict__ margin) {
  constexpr int kNodes = (1 << (kDepth + 1)) - 1;
  int const row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m.n_rows) return;
  float acc = 0.0f;
  for (int t = 0; t < n_trees; ++t) {
    TreeNode const* tree = forest + t * kNodes;
    int nid = 0;
    TreeNode nd = tree[0];
    while (nd.fid >= 0) {
      nid = 2 * nid + 1 + (m.At(row, nd.fid) > nd.bin);
      nd = tree[nid];
    }
    acc += nd.leaf;
  }
  margin[row] = acc;
}

}  // namespace gbdt

int main() {
  using namespace gbdt;
  constexpr int kRows = 100000, kDepth = 5, kTrees = 20, kBlock = 256, kGroup = 4;
  constexpr int kTreeNodes = (1 << (kDepth + 1)) - 1;
  std::mt19937 rng{42};
  std::vector<bst_bin> rm(std::size_t{kRows} * kFeatures), cm(rm.size());
  std::vector<float> label(kRows), margin(kRows);
  for (int r = 0; r < kRows; ++r) {
    int score = 0;
    for (int f = 0; f < kFeatures; ++f) {
      int b = rng() % kBins;
      if (f % 7 == 2) b = b * b / kBins;
      rm[std::size_t(r) * kFeatures + f] = cm[std::size_t(f) * kRows + r] = static_cast<bst_bin>(b);
      score += f == 9 ? 3 * b : (f == 4 ? -b : 0);
    }
    label[r] = score + static_cast<int>(rng() % 40) > 70 ? 1.0f : 0.0f;
    margin[r] = (rng() % 1000) / 2000.0f - 0.25f;
  }
  std::vector<TreeNode> forest(kTrees * kTreeNodes);
  for (int t = 0; t < kTrees; ++t) {
    for (int n = 0; n < kTreeNodes; ++n) {
      bool const leaf = n >= (1 << kDepth) - 1 || (n > 2 && rng() % 8 == 0);
      forest[t * kTreeNodes + n] = TreeNode{static_cast<std::int16_t>(leaf ? -1 : int(rng() % kFeatures)),
                                            static_cast<std::uint8_t>(rng() % kBins), 0, (rng() % 256) / 256.0f - 0.5f};
    }
  }
  std::vector<int> all(kRows);
  for (int i = 0; i < kRows; ++i) all[i] = i;

  DeviceVector<bst_bin> d_rm{rm}, d_cm{cm};
  DeviceVector<float> d_label{label}, d_margin{margin}, d_pred{std::size_t{kRows}};
  DeviceVector<GradientPair> d_gpair{std::size_t{kRows}};
  DeviceVector<int> d_ridx{all}, d_part{std::size_t{kRows}}, d_counts{std::size_t{(kRows + kBlock - 1) / kBlock}}, d_total{std::size_t{1}};
  constexpr std::size_t kHist = std::size_t{kFeatures} * kBins;
  DeviceVector<GradientPairInt64> h_root{kHist}, h_root2{kHist}, h_left{kHist}, h_right{kHist}, h_right2{kHist};
  DeviceVector<SplitCandidate> d_best{std::size_t{kFeatures}};
  DeviceVector<TreeNode> d_forest{forest};
  for (auto* h : {&h_root, &h_root2, &h_left, &h_right, &h_right2}) h->Zero();

  RowMajorEllpack row_m{d_rm.get(), kRows};
  ColumnMajorEllpack col_m{d_cm.get(), kRows};
  constexpr int kBlocks = (kRows + kBlock - 1) / kBlock;
  constexpr std::size_t kSmem = kGroup * kBins * sizeof(GradientPairInt64);
  dim3 const hist_grid(40, kFeatures / kGroup);

  GetGradientKernel<LogisticLoss><<<kBlocks, kBlock>>>(d_margin.cspan(), d_label.cspan(), d_gpair.span());
  HistogramGlobalKernel<<<528, 256>>>(row_m, d_ridx.cspan(), d_gpair.get(), h_root.get());
  HistogramSharedKernel<ColumnMajorEllpack, kGroup><<<hist_grid, 256, kSmem>>>(col_m, d_ridx.cspan(), d_gpair.get(), h_root2.get());
  EvaluateSplitsKernel<<<kFeatures, 32>>>(h_root2.get(), d_best.get(), 1.0);
  safe_cuda(cudaGetLastError());
  auto const gpair = d_gpair.Host();
  auto const cand = d_best.Host();
  SplitCandidate split = cand[0];
  for (auto const& c : cand) {
    if (c.gain > split.gain) split = c;
  }
  std::printf("root split: feature %d bin %d gain %.3f\n", split.fid, split.bin, split.gain);

  CountLeftKernel<kBlock><<<kBlocks, kBlock>>>(col_m, d_ridx.cspan(), split.fid, split.bin, d_counts.get());
  ScanCountsKernel<<<1, 1>>>(d_counts.get(), kBlocks, d_total.get());
  PartitionKernel<kBlock><<<kBlocks, kBlock>>>(col_m, d_ridx.cspan(), split.fid, split.bin, d_counts.get(), d_total.get(), d_part.get());
  int const n_left = d_total.Host()[0];
  if (n_left <= 0 || n_left >= kRows) {
    std::puts("degenerate split\nFAIL");
    return 1;
  }
  Span<int const> left_rows{d_part.get(), std::size_t(n_left)};
  Span<int const> right_rows{d_part.get() + n_left, std::size_t(kRows - n_left)};
  HistogramSharedKernel<RowMajorEllpack, kGroup><<<hist_grid, 256, kSmem>>>(row_m, left_rows, d_gpair.get(), h_left.get());
  HistogramSharedKernel<ColumnMajorEllpack, kGroup><<<hist_grid, 256, kSmem>>>(col_m, right_rows, d_gpair.get(), h_right2.get());
  SubtractKernel<<<(kHist + 127) / 128, 128>>>(reinterpret_cast<longlong2*>(h_root.get()), reinterpret_cast<longlong2*>(h_left.get()),
                                               reinterpret_cast<longlong2*>(h_right.get()), int(kHist));
  safe_cuda(cudaGetLastError());
  long bad = 0;

  // host checks
  std::vector<GradientPairInt64> ref(kHist, GradientPairInt64{0, 0});
  for (int r = 0; r < kRows; ++r) {
    float const p = 1.0f / (1.0f + std::exp(-margin[r]));
    bad += std::fabs(gpair[r].grad - (p - label[r])) > 1e-5f || std::fabs(gpair[r].hess - p * (1 - p)) > 1e-5f;
    for (int f = 0; f < kFeatures; ++f) {
      auto& h = ref[f * kBins + rm[std::size_t(r) * kFeatures + f]];
      h.grad += std::llrint(gpair[r].grad * kToFixed);
      h.hess += std::llrint(gpair[r].hess * kToFixed);
    }
  }
  auto differ = [](std::vector<GradientPairInt64> const& a, std::vector<GradientPairInt64> const& b) {
    long n = 0;
    for (std::size_t i = 0; i < a.size(); ++i) n += a[i].grad != b[i].grad || a[i].hess != b[i].hess;
    return n;
  };
  long const hist_bad = differ(h_root.Host(), ref) + differ(h_root2.Host(), ref) + differ(h_right.Host(), h_right2.Host());
  double ref_gain = -1;
  for (int f = 0; f < kFeatures; ++f) {
    double G = 0, H = 0, gl = 0, hl = 0;
    for (int b = 0; b < kBins; ++b) {
      G += ref[f * kBins + b].grad / double(kToFixed);
      H += ref[f * kBins + b].hess / double(kToFixed);
    }
    for (int b = 0; b < kBins; ++b) {
      gl += ref[f * kBins + b].grad / double(kToFixed);
      hl += ref[f * kBins + b].hess / double(kToFixed);
      ref_gain = std::max(ref_gain, gl * gl / (hl + 1) + (G - gl) * (G - gl) / (H - hl + 1) - G * G / (H + 1));
    }
  }
  bool const gain_ok = std::fabs(ref_gain - split.gain) < 1e-6 * ref_gain;
  auto const part = d_part.Host();
  std::vector<int> want, right;
  for (int r = 0; r < kRows; ++r) (cm[std::size_t(split.fid) * kRows + r] <= split.bin ? want : right).push_back(r);
  bool const part_ok = int(want.size()) == n_left && (want.insert(want.end(), right.begin(), right.end()), want == part);

  std::vector<float> pred_ref(kRows, 0.0f);
  for (int r = 0; r < kRows; ++r) {
    for (int t = 0; t < kTrees; ++t) {
      int nid = 0;
      while (forest[t * kTreeNodes + nid].fid >= 0) {
        auto const& nd = forest[t * kTreeNodes + nid];
        nid = 2 * nid + 1 + (rm[std::size_t(r) * kFeatures + nd.fid] > nd.bin);
      }
      pred_ref[r] += forest[t * kTreeNodes + nid].leaf;
    }
  }
  for (int layout = 0; layout < 2; ++layout) {
    d_pred.Zero();
    if (layout == 0) {
      PredictKernel<RowMajorEllpack, kDepth><<<(kRows + 127) / 128, 128>>>(row_m, d_forest.get(), kTrees, d_pred.get());
    } else {
      PredictKernel<ColumnMajorEllpack, kDepth><<<(kRows + 127) / 128, 128>>>(col_m, d_forest.get(), kTrees, d_pred.get());
    }
    auto const pred = d_pred.Host();
    for (int r = 0; r < kRows; ++r) bad += std::fabs(pred[r] - pred_ref[r]) > 1e-4f;
  }
  safe_cuda(cudaDeviceSynchronize());
  std::printf("bad %ld, histogram %ld, gain %d, partition %d\n", bad, hist_bad, gain_ok, part_ok);
  bool const pass = bad == 0 && hist_bad == 0 && gain_ok && part_ok;
  std::puts(pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
