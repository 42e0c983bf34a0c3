// Random forest inference, several node and feature layouts. Class votes are integers => exact check.
#include <cuda_runtime.h>
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kTrees = 64;
constexpr int kDepth = 8;                      // complete trees
constexpr int kInner = (1 << kDepth) - 1;
constexpr int kLeaves = 1 << kDepth;
constexpr int kFeatures = 28;
constexpr int kClasses = 10;
constexpr int kSamples = 16384;

// "sklearn style" node: explicit children, leaves have feature == -1
struct TreeNode {
  int feature;
  float threshold;
  int left;
  int right;
  int klass;
};

inline void gpu(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <class T>
class device_vector {
 public:
  explicit device_vector(size_t n) : n_(n) { gpu(cudaMalloc(&p_, n * sizeof(T))); }
  explicit device_vector(const std::vector<T>& h) : device_vector(h.size()) {
    gpu(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~device_vector() { cudaFree(p_); }
  device_vector(const device_vector&) = delete;
  device_vector& operator=(const device_vector&) = delete;
  T* get() { return p_; }
  void zero() { gpu(cudaMemset(p_, 0, n_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> h(n_);
    gpu(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  T* p_ = nullptr;
  size_t n_ = 0;
};

// 1. one thread per sample, pointer-ish trees, features row-major [sample][feature]
__global__ void predict_aos(const TreeNode* nodes, const int* roots, const float* x, int* votes) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= kSamples) return;
  for (int t = 0; t < kTrees; ++t) {
    int n = roots[t];
    while (nodes[n].feature >= 0) {
      const TreeNode nd = nodes[n];
      n = x[s * kFeatures + nd.feature] <= nd.threshold ? nd.left : nd.right;
    }
    votes[s * kClasses + nodes[n].klass] += 1;
  }
}

// 2. features transposed [feature][sample], implicit heap-ordered trees, votes kept in registers/local
__global__ void predict_soa(const int* __restrict__ feat, const float* __restrict__ thr,
                            const unsigned char* __restrict__ leaf, const float* __restrict__ xt,
                            int* __restrict__ votes) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= kSamples) return;
  int local[kClasses];
#pragma unroll
  for (int c = 0; c < kClasses; ++c) local[c] = 0;
  for (int t = 0; t < kTrees; ++t) {
    int n = 0;
    for (int d = 0; d < kDepth; ++d) {
      const int f = feat[t * kInner + n];
      const float th = thr[t * kInner + n];
      n = 2 * n + (xt[f * kSamples + s] <= th ? 1 : 2);
    }
    const int k = leaf[t * kLeaves + n - kInner];
#pragma unroll
    for (int c = 0; c < kClasses; ++c) local[c] += (c == k);
  }
#pragma unroll
  for (int c = 0; c < kClasses; ++c) votes[c * kSamples + s] = local[c];
}

// 3. a tree per blockIdx.y staged in shared memory, grid-stride over samples, atomics on the votes
__global__ void __launch_bounds__(256) predict_tree_in_shared(const int* feat, const float* thr,
                                                               const unsigned char* leaf, const float* xt, int* votes) {
  __shared__ int sf[kInner];
  __shared__ float st[kInner];
  __shared__ unsigned char sl[kLeaves];
  const int t = blockIdx.y;
  for (int i = threadIdx.x; i < kInner; i += blockDim.x) {
    sf[i] = feat[t * kInner + i];
    st[i] = thr[t * kInner + i];
  }
  for (int i = threadIdx.x; i < kLeaves; i += blockDim.x) {
    sl[i] = leaf[t * kLeaves + i];
  }
  __syncthreads();
  for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < kSamples; s += gridDim.x * blockDim.x) {
    int n = 0;
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      n = 2 * n + (xt[sf[n] * kSamples + s] <= st[n] ? 1 : 2);
    }
    atomicAdd(&votes[s * kClasses + sl[n - kInner]], 1);
  }
}

// 4. warp per sample: the sample's features in shared memory, lanes own trees
__global__ void predict_warp_per_sample(const int* feat, const float* thr, const unsigned char* leaf,
                                        const float* x, unsigned char* label) {
  __shared__ float row[4][32];
  __shared__ int hist[4][kClasses];
  const int w = threadIdx.x >> 5;
  const int lane = threadIdx.x & 31;
  const int s = blockIdx.x * 4 + w;
  if (lane < kFeatures) row[w][lane] = x[s * kFeatures + lane];
  if (lane < kClasses) hist[w][lane] = 0;
  __syncwarp();
  for (int t = lane; t < kTrees; t += 32) {
    int n = 0;
    for (int d = 0; d < kDepth; ++d) {
      const int f = feat[t * kInner + n];
      n = 2 * n + (row[w][f] <= thr[t * kInner + n] ? 1 : 2);
    }
    atomicAdd(&hist[w][leaf[t * kLeaves + n - kInner]], 1);
  }
  __syncwarp();
  if (lane == 0) {
    int best = 0;
    for (int c = 1; c < kClasses; ++c) {
      if (hist[w][c] > hist[w][best]) best = c;
    }
    label[s] = best;
  }
}

// feature transpose with a padded tile
__global__ void transpose_features(const float* x, float* xt) {
  __shared__ float tile[32][33];
  const int s0 = blockIdx.x * 32;
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    if (threadIdx.x < kFeatures) {
      tile[r][threadIdx.x] = x[(s0 + r) * kFeatures + threadIdx.x];
    }
  }
  __syncthreads();
  for (int f = threadIdx.y; f < kFeatures; f += blockDim.y) {
    xt[f * kSamples + s0 + threadIdx.x] = tile[threadIdx.x][f];
  }
}

__global__ void argmax_rows(const int* votes, unsigned char* label) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= kSamples) return;
  int best = 0;
  int bv = votes[s * kClasses];
  for (int c = 1; c < kClasses; ++c) {
    const int v = votes[s * kClasses + c];
    if (v > bv) {
      bv = v;
      best = c;
    }
  }
  label[s] = best;
}

// confusion matrix of two labelings, shared-memory privatised
__global__ void confusion(const unsigned char* a, const unsigned char* b, int* m) {
  __shared__ int sm[kClasses * kClasses];
  for (int i = threadIdx.x; i < kClasses * kClasses; i += blockDim.x) sm[i] = 0;
  __syncthreads();
  for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < kSamples; s += gridDim.x * blockDim.x) {
    atomicAdd(&sm[a[s] * kClasses + b[s]], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kClasses * kClasses; i += blockDim.x) {
    if (sm[i]) atomicAdd(&m[i], sm[i]);
  }
}

static void growTree(int n, int depth, const int* feat, const float* thr, const unsigned char* leaf,
                     std::vector<TreeNode>& out) {
  const int me = int(out.size());
  out.push_back({});
  if (depth == kDepth) {
    out[me] = {-1, 0.0f, -1, -1, leaf[n - kInner]};
    return;
  }
  const int l = int(out.size());
  growTree(2 * n + 1, depth + 1, feat, thr, leaf, out);
  const int r = int(out.size());
  growTree(2 * n + 2, depth + 1, feat, thr, leaf, out);
  out[me] = {feat[n], thr[n], l, r, -1};
}

int run() {
  std::mt19937 rng(1234);
  std::normal_distribution<float> gauss(0.0f, 1.0f);
  std::vector<float> x(size_t(kSamples) * kFeatures);
  for (auto& v : x) v = gauss(rng);
  std::vector<int> feat(kTrees * kInner);
  std::vector<float> thr(kTrees * kInner);
  std::vector<unsigned char> leaf(kTrees * kLeaves);
  for (auto& f : feat) f = rng() % kFeatures;
  for (auto& t : thr) t = 0.7f * gauss(rng);
  for (auto& l : leaf) l = rng() % kClasses;
  std::vector<TreeNode> nodes;
  std::vector<int> roots;
  for (int t = 0; t < kTrees; ++t) {
    roots.push_back(int(nodes.size()));
    growTree(0, 0, &feat[t * kInner], &thr[t * kInner], &leaf[t * kLeaves], nodes);
  }

  device_vector<float> dx(x), dxt(x.size());
  device_vector<int> dfeat(feat), droots(roots);
  device_vector<float> dthr(thr);
  device_vector<unsigned char> dleaf(leaf), lab1(kSamples), lab2(kSamples);
  device_vector<TreeNode> dnodes(nodes);
  device_vector<int> v1(size_t(kSamples) * kClasses), v2(size_t(kSamples) * kClasses), v3(size_t(kSamples) * kClasses);
  device_vector<int> conf(kClasses * kClasses);
  v1.zero();
  v3.zero();
  conf.zero();

  const int block = 128;
  const int grid = (kSamples + block - 1) / block;
  transpose_features<<<kSamples / 32, dim3(32, 8)>>>(dx.get(), dxt.get());
  predict_aos<<<grid, block>>>(dnodes.get(), droots.get(), dx.get(), v1.get());
  predict_soa<<<grid, block>>>(dfeat.get(), dthr.get(), dleaf.get(), dxt.get(), v2.get());
  predict_tree_in_shared<<<dim3(8, kTrees), 256>>>(dfeat.get(), dthr.get(), dleaf.get(), dxt.get(), v3.get());
  predict_warp_per_sample<<<kSamples / 4, 128>>>(dfeat.get(), dthr.get(), dleaf.get(), dx.get(), lab2.get());
  argmax_rows<<<grid, block>>>(v3.get(), lab1.get());
  confusion<<<32, 256>>>(lab1.get(), lab2.get(), conf.get());
  gpu(cudaGetLastError());
  gpu(cudaDeviceSynchronize());

  const auto h1 = v1.host();
  const auto h2 = v2.host();
  const auto h3 = v3.host();
  const auto l1 = lab1.host();
  const auto l2 = lab2.host();
  const auto cm = conf.host();
  int bad = 0;
  for (int s = 0; s < kSamples; ++s) {
    int ref[kClasses] = {0};
    for (int t = 0; t < kTrees; ++t) {
      int n = 0;
      for (int d = 0; d < kDepth; ++d) {
        n = 2 * n + (x[size_t(s) * kFeatures + feat[t * kInner + n]] <= thr[t * kInner + n] ? 1 : 2);
      }
      ++ref[leaf[t * kLeaves + n - kInner]];
    }
    const int best = int(std::max_element(ref, ref + kClasses) - ref);
    for (int c = 0; c < kClasses; ++c) {
      bad += h1[s * kClasses + c] != ref[c];
      bad += h2[c * kSamples + s] != ref[c];
      bad += h3[s * kClasses + c] != ref[c];
    }
    bad += l1[s] != best;
    bad += l2[s] != best;
  }
  int diag = 0;
  for (int c = 0; c < kClasses; ++c) diag += cm[c * kClasses + c];
  bad += diag != kSamples;
  std::cout << (bad ? "FAIL" : "PASS") << " " << bad << " differences\n";
  return bad ? 1 : 0;
}

int main() {
  try {
    return run();
  } catch (const std::exception& e) {
    std::cout << "FAIL " << e.what() << "\n";
    return 2;
  }
}
