// Gradient histogram, split evaluation, row partitioning and prediction, after XGBoost's gpu_hist updater.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define XGBOOST_DEVICE __host__ __device__
#define XGBOOST_DEV_INLINE __device__ __forceinline__
#define dh_safe_cuda(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

namespace xgboost {
using bst_feature_t = uint32_t;
using bst_bin_t = int32_t;
template <typename T> class Span {
 public:
  Span() = default;
  XGBOOST_DEVICE Span(T* p, size_t n) : ptr_(p), size_(n) {}
  XGBOOST_DEVICE T& operator[](size_t i) const { return ptr_[i]; }
  XGBOOST_DEVICE T* data() const { return ptr_; }
  XGBOOST_DEVICE size_t size() const { return size_; }
 private:
  T* ptr_{nullptr};
  size_t size_{0};
};
struct GradientPair { float grad, hess; };
struct GradientPairInt64 {
  int64_t grad, hess;
  XGBOOST_DEVICE GradientPairInt64 operator+(const GradientPairInt64& o) const { return {grad + o.grad, hess + o.hess}; }
  XGBOOST_DEVICE GradientPairInt64 operator-(const GradientPairInt64& o) const { return {grad - o.grad, hess - o.hess}; }
  GradientPairInt64() = default;
  XGBOOST_DEVICE GradientPairInt64(int64_t g, int64_t h) : grad(g), hess(h) {}
};
struct GradientQuantiser {
  double to_fixed_point, to_floating_point;
  XGBOOST_DEVICE GradientPairInt64 ToFixedPoint(GradientPair const& g) const { return {(int64_t)(g.grad * to_fixed_point), (int64_t)(g.hess * to_fixed_point)}; }
  XGBOOST_DEVICE double ToFloat(int64_t v) const { return v * to_floating_point; }
};
struct EllpackDeviceAccessor {
  Span<const uint16_t> gidx;          // [n_rows * row_stride], global bin index
  Span<const uint32_t> feature_segments;
  uint32_t row_stride, n_rows;
};
struct TrainParam {
  double reg_lambda, min_child_weight;
  XGBOOST_DEVICE double CalcGain(double g, double h) const { return h <= 0 ? 0.0 : g * g / (h + reg_lambda); }
  XGBOOST_DEVICE double CalcWeight(double g, double h) const { return h <= 0 ? 0.0 : -g / (h + reg_lambda); }
};
struct DeviceSplitCandidate {
  double loss_chg{-1};
  int findex{-1};
  bst_bin_t bin{-1};
  GradientPairInt64 left_sum{0, 0};
};
// dh::LaunchN
template <typename L> __global__ void LaunchNKernel(size_t begin, size_t end, L lambda) {
  for (size_t i = begin + blockDim.x * blockIdx.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x) lambda(i);
}
template <int ITEMS_PER_THREAD = 8, int BLOCK_THREADS = 256, typename L> void LaunchN(size_t n, L lambda) {
  if (n == 0) return;
  const int GRID_SIZE = static_cast<int>((n + ITEMS_PER_THREAD * BLOCK_THREADS - 1) / (ITEMS_PER_THREAD * BLOCK_THREADS));
  LaunchNKernel<<<GRID_SIZE, BLOCK_THREADS>>>(static_cast<size_t>(0), n, lambda);
  dh_safe_cuda(cudaGetLastError());
}
struct LogisticGradient {
  Span<const float> preds, labels; Span<GradientPair> out; float scale_pos_weight;
  __device__ void operator()(size_t i) const {
    float p = 1.0f / (1.0f + expf(-preds[i]));
    float label = labels[i];
    float w = label == 1.0f ? scale_pos_weight : 1.0f;
    out[i] = GradientPair{(p - label) * w, fmaxf(p * (1.0f - p), 1e-16f) * w};
  }
};
struct SubtractionTrick {
  const GradientPairInt64 *parent, *built; GradientPairInt64* sibling;
  __device__ void operator()(size_t i) const { sibling[i] = parent[i] - built[i]; }
};
XGBOOST_DEV_INLINE void AtomicAddGpair(GradientPairInt64* dest, GradientPairInt64 const& gpair) {
  auto dst_ptr = reinterpret_cast<unsigned long long*>(dest);
  atomicAdd(dst_ptr, static_cast<unsigned long long>(gpair.grad));
  atomicAdd(dst_ptr + 1, static_cast<unsigned long long>(gpair.hess));
}
struct FeatureGroup { uint32_t start_feature, num_features, start_bin, num_bins; };
template <bool use_shared_memory_histograms, int kBlockThreads, int kItemsPerThread>
__global__ void __launch_bounds__(kBlockThreads)
    SharedMemHistKernel(EllpackDeviceAccessor matrix, const FeatureGroup* groups, Span<const uint32_t> d_ridx, GradientPairInt64* d_node_hist, const GradientPair* d_gpair,
                        GradientQuantiser rounding) {
  extern __shared__ __align__(16) char smem[];
  const FeatureGroup group = groups[blockIdx.y];
  auto smem_arr = reinterpret_cast<GradientPairInt64*>(smem);
  if (use_shared_memory_histograms) {
    for (uint32_t i = threadIdx.x; i < group.num_bins; i += kBlockThreads) smem_arr[i] = GradientPairInt64(0, 0);
    __syncthreads();
  }
  const size_t feature_stride = group.num_features;
  const size_t n_elements = feature_stride * d_ridx.size();
  constexpr size_t kTile = kBlockThreads * kItemsPerThread;
  for (size_t offset = blockIdx.x * kTile; offset < n_elements; offset += gridDim.x * kTile) {
    int gidx[kItemsPerThread];
    GradientPair gpair[kItemsPerThread];
#pragma unroll
    for (int i = 0; i < kItemsPerThread; i++) {
      const size_t idx = offset + i * kBlockThreads + threadIdx.x;
      gidx[i] = -1;
      if (idx < n_elements) {
        const uint32_t ridx = d_ridx[idx / feature_stride];
        const uint32_t fidx = group.start_feature + idx % feature_stride;
        gidx[i] = matrix.gidx[(size_t)ridx * matrix.row_stride + fidx];
        gpair[i] = d_gpair[ridx];
      }
    }
#pragma unroll
    for (int i = 0; i < kItemsPerThread; i++) {
      if (gidx[i] < 0) continue;
      auto adjusted = rounding.ToFixedPoint(gpair[i]);
      if (use_shared_memory_histograms) AtomicAddGpair(smem_arr + (gidx[i] - group.start_bin), adjusted);
      else AtomicAddGpair(d_node_hist + gidx[i], adjusted);
    }
  }
  if (use_shared_memory_histograms) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < group.num_bins; i += kBlockThreads) AtomicAddGpair(d_node_hist + group.start_bin + i, smem_arr[i]);
  }
}
XGBOOST_DEV_INLINE GradientPairInt64 WarpInclusiveScan(GradientPairInt64 v, int lane) {
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    long long g = __shfl_up_sync(0xffffffff, (long long)v.grad, o), h = __shfl_up_sync(0xffffffff, (long long)v.hess, o);
    if (lane >= o) { v.grad += g; v.hess += h; }
  }
  return v;
}
struct EvaluateSplitInputs { GradientPairInt64 parent_sum; const GradientPairInt64* hist; };
// one block per (feature, node)
template <int kBlockThreads>
__global__ void EvaluateSplitsKernel(int n_nodes, EvaluateSplitInputs in0, EvaluateSplitInputs in1, EllpackDeviceAccessor matrix, GradientQuantiser q, TrainParam param, DeviceSplitCandidate* out) {
  constexpr int kWarps = kBlockThreads / 32;
  __shared__ GradientPairInt64 warp_sums[kWarps];
  __shared__ double best_gain[kWarps];
  __shared__ int best_thread[kWarps];
  const int fidx = blockIdx.x, node = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const EvaluateSplitInputs in = node == 0 ? in0 : in1;
  const uint32_t begin = matrix.feature_segments[fidx], end = matrix.feature_segments[fidx + 1];
  const double pg = q.ToFloat(in.parent_sum.grad), ph = q.ToFloat(in.parent_sum.hess), parent_gain = param.CalcGain(pg, ph);
  GradientPairInt64 carry(0, 0);
  DeviceSplitCandidate best;
  for (uint32_t tile = begin; tile < end; tile += kBlockThreads) {
    const uint32_t bin = tile + threadIdx.x;
    GradientPairInt64 scan = WarpInclusiveScan(bin < end ? in.hist[bin] : GradientPairInt64(0, 0), lane);
    if (lane == 31) warp_sums[warp] = scan;
    __syncthreads();
    GradientPairInt64 total(0, 0), prefix(0, 0);
    for (int w = 0; w < kWarps; w++) {
      if (w < warp) prefix = prefix + warp_sums[w];
      total = total + warp_sums[w];
    }
    __syncthreads();
    const GradientPairInt64 left = carry + prefix + scan;
    const double lg = q.ToFloat(left.grad), lh = q.ToFloat(left.hess);
    if (bin + 1 < end && lh >= param.min_child_weight && ph - lh >= param.min_child_weight) {
      const double gain = param.CalcGain(lg, lh) + param.CalcGain(pg - lg, ph - lh) - parent_gain;
      if (gain > best.loss_chg) { best.loss_chg = gain; best.findex = fidx; best.bin = bin; best.left_sum = left; }
    }
    carry = carry + total;
  }
  double gain = best.loss_chg;
  int who = threadIdx.x;
  for (int o = 16; o > 0; o >>= 1) {
    const double g2 = __shfl_down_sync(0xffffffff, gain, o);
    const int w2 = __shfl_down_sync(0xffffffff, who, o);
    if (g2 > gain) { gain = g2; who = w2; }
  }
  if (lane == 0) { best_gain[warp] = gain; best_thread[warp] = who; }
  __syncthreads();
  int winner = 0;
  for (int w = 1; w < kWarps; w++) if (best_gain[w] > best_gain[winner]) winner = w;
  if (threadIdx.x == best_thread[winner]) out[node * gridDim.x + fidx] = best;
}
// Splits a node's row set in two, with warp aggregated counters.
__global__ void PartitionRowsKernel(EllpackDeviceAccessor matrix, Span<const uint32_t> ridx, DeviceSplitCandidate split, uint32_t* left, uint32_t* right, unsigned* counts) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  const bool valid = i < ridx.size();
  const uint32_t row = valid ? ridx[i] : 0;
  const bool go_left = valid && matrix.gidx[(size_t)row * matrix.row_stride + split.findex] <= split.bin;
  const unsigned lmask = __ballot_sync(0xffffffff, go_left), rmask = __ballot_sync(0xffffffff, valid && !go_left);
  const int lane = threadIdx.x % 32;
  unsigned lbase = 0, rbase = 0;
  if (lane == 0) {
    lbase = atomicAdd(&counts[0], __popc(lmask));
    rbase = atomicAdd(&counts[1], __popc(rmask));
  }
  lbase = __shfl_sync(0xffffffff, lbase, 0);
  rbase = __shfl_sync(0xffffffff, rbase, 0);
  const unsigned below = (1u << lane) - 1;
  if (go_left) left[lbase + __popc(lmask & below)] = row;
  else if (valid) right[rbase + __popc(rmask & below)] = row;
}
struct RegTreeNode { int cleft, cright, findex; bst_bin_t split_bin; float leaf_value; XGBOOST_DEVICE bool IsLeaf() const { return cleft < 0; } };

__global__ void PredictKernel(const RegTreeNode* nodes, int n_nodes, EllpackDeviceAccessor matrix, float* preds, float eta) {
  extern __shared__ __align__(16) char tree_smem[];
  RegTreeNode* tree = reinterpret_cast<RegTreeNode*>(tree_smem);
  for (int i = threadIdx.x; i < n_nodes; i += blockDim.x) tree[i] = nodes[i];
  __syncthreads();
  const uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= matrix.n_rows) return;
  int nid = 0;
  while (!tree[nid].IsLeaf()) nid = matrix.gidx[(size_t)row * matrix.row_stride + tree[nid].findex] <= tree[nid].split_bin ? tree[nid].cleft : tree[nid].cright;
  preds[row] += eta * tree[nid].leaf_value;
}
}  // namespace xgboost

using namespace xgboost;
template <typename T> T* Upload(const std::vector<T>& h) {
  T* p;
  dh_safe_cuda(cudaMalloc(&p, h.size() * sizeof(T)));
  dh_safe_cuda(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <typename T> std::vector<T> Download(const T* p, size_t n) {
  std::vector<T> h(n);
  dh_safe_cuda(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return h;
}
static bool g_ok = true;
static void Expect(bool c, const char* what) { if (!c) { std::printf("mismatch: %s\n", what); g_ok = false; } }

int main() {
  const uint32_t n_rows = 60000, n_features = 20;
  std::mt19937 rng(99);
  std::vector<uint32_t> segments{0};
  for (uint32_t f = 0; f < n_features; f++) segments.push_back(segments.back() + (f % 3 == 0 ? 256 : 64 + f));
  const uint32_t n_bins = segments.back();
  std::vector<uint16_t> gidx((size_t)n_rows * n_features);
  std::vector<float> labels(n_rows), preds(n_rows);
  std::normal_distribution<float> nd;
  for (uint32_t r = 0; r < n_rows; r++) {
    for (uint32_t f = 0; f < n_features; f++) gidx[(size_t)r * n_features + f] = segments[f] + rng() % (segments[f + 1] - segments[f]);
    labels[r] = (gidx[(size_t)r * n_features + 3] - segments[3]) / 256.f + 0.4f * nd(rng) > 0.55f;
    preds[r] = 0.3f * nd(rng);
  }
  std::vector<FeatureGroup> groups;
  for (uint32_t f = 0; f < n_features; f += 5) groups.push_back({f, 5, segments[f], segments[f + 5] - segments[f]});
  uint32_t max_group_bins = 0;
  for (auto& g : groups) max_group_bins = std::max(max_group_bins, g.num_bins);
  auto *d_gidx = Upload(gidx); auto *d_seg = Upload(segments); auto *d_groups = Upload(groups);
  auto *d_labels = Upload(labels), *d_preds = Upload(preds);
  auto *d_gpair = Upload(std::vector<GradientPair>(n_rows));
  EllpackDeviceAccessor matrix{{d_gidx, gidx.size()}, {d_seg, segments.size()}, n_features, n_rows};
  LaunchN(n_rows, LogisticGradient{{d_preds, n_rows}, {d_labels, n_rows}, {d_gpair, n_rows}, 1.5f});
  auto gpair = Download(d_gpair, n_rows);
  for (uint32_t r = 0; r < n_rows; r++) {
    const double p = 1 / (1 + std::exp(-(double)preds[r])), w = labels[r] == 1 ? 1.5 : 1;
    if (std::fabs(gpair[r].grad - (p - labels[r]) * w) > 1e-5 || std::fabs(gpair[r].hess - p * (1 - p) * w) > 1e-5) { Expect(false, "gradient"); break; }
  }
  GradientQuantiser quantiser{std::ldexp(1.0, 40), std::ldexp(1.0, -40)};
  TrainParam param{1.0, 5.0};
  auto cpu_hist = [&](const std::vector<uint32_t>& rows) {
    std::vector<GradientPairInt64> h(n_bins);
    for (auto r : rows) { auto g = quantiser.ToFixedPoint(gpair[r]); for (uint32_t f = 0; f < n_features; f++) { auto& b = h[gidx[(size_t)r * n_features + f]]; b = b + g; } }
    return h;
  };
  auto hist_equal = [&](const GradientPairInt64* d, const std::vector<GradientPairInt64>& ref, const char* what) {
    auto h = Download(d, n_bins);
    for (uint32_t i = 0; i < n_bins; i++) if (h[i].grad != ref[i].grad || h[i].hess != ref[i].hess) { Expect(false, what); return; }
  };
  auto cpu_best = [&](const std::vector<GradientPairInt64>& h, GradientPairInt64 parent) {
    double best = -1;
    const double pg = quantiser.ToFloat(parent.grad), ph = quantiser.ToFloat(parent.hess);
    for (uint32_t f = 0; f < n_features; f++) {
      GradientPairInt64 l(0, 0);
      for (uint32_t b = segments[f]; b + 1 < segments[f + 1]; b++) {
        l = l + h[b];
        const double lg = quantiser.ToFloat(l.grad), lh = quantiser.ToFloat(l.hess);
        if (lh >= 5.0 && ph - lh >= 5.0) best = std::max(best, param.CalcGain(lg, lh) + param.CalcGain(pg - lg, ph - lh) - param.CalcGain(pg, ph));
      }
    }
    return best;
  };
  std::vector<uint32_t> rows(n_rows);
  GradientPairInt64 root_sum(0, 0);
  for (uint32_t r = 0; r < n_rows; r++) { rows[r] = r; root_sum = root_sum + quantiser.ToFixedPoint(gpair[r]); }
  auto *d_rows = Upload(rows), *d_left = Upload(rows), *d_right = Upload(rows);
  GradientPairInt64* d_hist[3];
  for (auto& h : d_hist) h = Upload(std::vector<GradientPairInt64>(n_bins));
  const size_t smem_bytes = max_group_bins * sizeof(GradientPairInt64);
  auto shared_kernel = SharedMemHistKernel<true, 1024, 8>;
  dh_safe_cuda(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem_bytes));
  shared_kernel<<<dim3(32, groups.size()), 1024, smem_bytes>>>(matrix, d_groups, {d_rows, n_rows}, d_hist[0], d_gpair, quantiser);
  dh_safe_cuda(cudaGetLastError());
  auto root_hist = cpu_hist(rows);
  hist_equal(d_hist[0], root_hist, "root histogram");
  auto* d_cand = Upload(std::vector<DeviceSplitCandidate>(2 * n_features));
  EvaluateSplitInputs root_in{root_sum, d_hist[0]};
  EvaluateSplitsKernel<128><<<dim3(n_features, 1), 128>>>(1, root_in, root_in, matrix, quantiser, param, d_cand);
  dh_safe_cuda(cudaGetLastError());
  auto pick = [&](int node) {
    auto c = Download(d_cand, 2 * n_features);
    return *std::max_element(c.begin() + node * n_features, c.begin() + (node + 1) * n_features, [](auto& a, auto& b) { return a.loss_chg < b.loss_chg; });
  };
  auto split = pick(0);
  Expect(std::fabs(split.loss_chg - cpu_best(root_hist, root_sum)) <= 1e-6 * std::fabs(split.loss_chg), "root split gain");
  auto* d_counts = Upload(std::vector<unsigned>(2, 0u));
  PartitionRowsKernel<<<(n_rows + 255) / 256, 256>>>(matrix, {d_rows, n_rows}, split, d_left, d_right, d_counts);
  dh_safe_cuda(cudaGetLastError());
  auto counts = Download(d_counts, 2);
  Expect(counts[0] + counts[1] == n_rows, "partition counts");
  if (!g_ok) { std::printf("FAIL\n"); return 1; }
  std::vector<uint32_t> lref, rref;
  for (auto r : rows) (gidx[(size_t)r * n_features + split.findex] <= split.bin ? lref : rref).push_back(r);
  auto lrows = Download(d_left, counts[0]);
  std::sort(lrows.begin(), lrows.end());
  Expect(lrows == lref, "left row set");

  SharedMemHistKernel<false, 256, 4><<<dim3(64, groups.size()), 256>>>(matrix, d_groups, {d_left, counts[0]}, d_hist[1], d_gpair, quantiser);
  dh_safe_cuda(cudaGetLastError());
  LaunchN<4, 128>(n_bins, SubtractionTrick{d_hist[0], d_hist[1], d_hist[2]});
  auto lhist = cpu_hist(lref), rhist = cpu_hist(rref);
  hist_equal(d_hist[1], lhist, "left histogram");
  hist_equal(d_hist[2], rhist, "right histogram");
  const GradientPairInt64 sums[2] = {split.left_sum, root_sum - split.left_sum};
  EvaluateSplitsKernel<64><<<dim3(n_features, 2), 64>>>(2, {sums[0], d_hist[1]}, {sums[1], d_hist[2]}, matrix, quantiser, param, d_cand);
  dh_safe_cuda(cudaGetLastError());
  std::vector<RegTreeNode> tree(7, RegTreeNode{-1, -1, -1, -1, 0.f});
  tree[0] = {1, 2, split.findex, split.bin, 0.f};
  for (int n = 0; n < 2; n++) {
    auto s = pick(n);
    Expect(std::fabs(s.loss_chg - cpu_best(n ? rhist : lhist, sums[n])) <= 1e-6 * std::fabs(s.loss_chg), "child split gain");
    const GradientPairInt64 ch[2] = {s.left_sum, sums[n] - s.left_sum};
    tree[1 + n] = {3 + 2 * n, 4 + 2 * n, s.findex, s.bin, 0.f};
    for (int c = 0; c < 2; c++) tree[3 + 2 * n + c].leaf_value = param.CalcWeight(quantiser.ToFloat(ch[c].grad), quantiser.ToFloat(ch[c].hess));
  }
  auto* d_tree = Upload(tree);
  PredictKernel<<<(n_rows + 127) / 128, 128, tree.size() * sizeof(RegTreeNode)>>>(d_tree, tree.size(), matrix, d_preds, 0.3f);
  dh_safe_cuda(cudaGetLastError());
  auto out = Download(d_preds, n_rows);
  for (uint32_t r = 0; r < n_rows; r++) {
    int nid = 0;
    while (!tree[nid].IsLeaf()) nid = gidx[(size_t)r * n_features + tree[nid].findex] <= tree[nid].split_bin ? tree[nid].cleft : tree[nid].cright;
    if (std::fabs(out[r] - (preds[r] + 0.3f * tree[nid].leaf_value)) > 1e-4f) { Expect(false, "prediction"); break; }
  }
  std::printf("%s\n", g_ok ? "PASS" : "FAIL");
  return g_ok ? 0 : 1;
}
