// Gradient boosting, one tree grown level by level: quantised features, gradient histograms, split search, row partition.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#define HANDLE_ERROR(e) HandleError(e, __LINE__)
static void HandleError(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    printf("error at %d: %s\n", line, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
  }
}

constexpr int kBins = 64;
constexpr int kFeatures = 24;
constexpr int kDepth = 3;

// gradients are rounded to integers so that the sums do not depend on the order
struct GradPair {
  int g;
  int h;
};

struct Split {
  int feature;
  int bin;
  float gain;
};

__host__ __device__ inline float score(long long g, long long h) { return (float)g * (float)g / ((float)h + 256.0f); }

__global__ void quantise(const float* __restrict__ x, const float* __restrict__ cuts, uint8_t* __restrict__ rowMajor,
                         uint8_t* __restrict__ colMajor, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int f = blockIdx.y;
  if (r >= n) return;
  float v = x[r * kFeatures + f];
  const float* c = cuts + f * kBins;
  int lo = 0;
  int hi = kBins - 1;
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (v <= c[mid])
      hi = mid;
    else
      lo = mid + 1;
  }
  rowMajor[r * kFeatures + f] = (uint8_t)lo;
  colMajor[f * n + r] = (uint8_t)lo;
}

__global__ void gradients(const float* __restrict__ pred, const float* __restrict__ y, GradPair* __restrict__ gp, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) gp[r] = {(int)rintf((pred[r] - y[r]) * 256.0f), 256};
}

// rows of every node lie together in order[]; block (part, feature, node)
__global__ void histColumn(const uint8_t* __restrict__ colMajor, const GradPair* __restrict__ gp, const int* __restrict__ order,
                           const int* __restrict__ nodeBegin, GradPair* __restrict__ hist, int n) {
  __shared__ GradPair sh[kBins];
  int f = blockIdx.y;
  int node = blockIdx.z;
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) sh[b] = {0, 0};
  __syncthreads();
  int end = nodeBegin[node + 1];
  for (int k = nodeBegin[node] + blockIdx.x * blockDim.x + threadIdx.x; k < end; k += gridDim.x * blockDim.x) {
    int r = order[k];
    int b = colMajor[f * n + r];
    atomicAdd(&sh[b].g, gp[r].g);
    atomicAdd(&sh[b].h, gp[r].h);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) {
    GradPair* out = &hist[(node * kFeatures + f) * kBins + b];
    if (sh[b].h) {
      atomicAdd(&out->g, sh[b].g);
      atomicAdd(&out->h, sh[b].h);
    }
  }
}

// all features of a row at once: histogram of the node in dynamic shared memory
__global__ void histRow(const uint8_t* __restrict__ rowMajor, const GradPair* __restrict__ gp, const int* __restrict__ order,
                        const int* __restrict__ nodeBegin, GradPair* __restrict__ hist) {
  extern __shared__ int mem[];
  int* sg = mem;
  int* shh = mem + kFeatures * kBins;
  int node = blockIdx.y;
  for (int i = threadIdx.x; i < kFeatures * kBins; i += blockDim.x) {
    sg[i] = 0;
    shh[i] = 0;
  }
  __syncthreads();
  int begin = nodeBegin[node];
  int len = nodeBegin[node + 1] - begin;
  int cells = len * kFeatures;
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < cells; c += gridDim.x * blockDim.x) {
    int r = order[begin + c / kFeatures];
    int f = c % kFeatures;
    int slot = f * kBins + rowMajor[r * kFeatures + f];
    atomicAdd(&sg[slot], gp[r].g);
    atomicAdd(&shh[slot], gp[r].h);
  }
  __syncthreads();
  GradPair* out = hist + node * kFeatures * kBins;
  for (int i = threadIdx.x; i < kFeatures * kBins; i += blockDim.x) {
    if (shh[i]) {
      atomicAdd(&out[i].g, sg[i]);
      atomicAdd(&out[i].h, shh[i]);
    }
  }
}

// one warp a (node, feature): scan over the bins, two bins a lane
__global__ void bestSplit(const GradPair* __restrict__ hist, Split* __restrict__ best, int nodes) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (w >= nodes * kFeatures) return;
  const GradPair* h = hist + w * kBins;
  GradPair a = h[2 * lane];
  GradPair b = h[2 * lane + 1];
  long long g = a.g + b.g;
  long long s = a.h + b.h;
  for (int o = 1; o < 32; o <<= 1) {
    long long tg = __shfl_up_sync(0xffffffffu, g, o);
    long long ts = __shfl_up_sync(0xffffffffu, s, o);
    if (lane >= o) {
      g += tg;
      s += ts;
    }
  }
  long long G = __shfl_sync(0xffffffffu, g, 31);
  long long H = __shfl_sync(0xffffffffu, s, 31);
  float g1 = score(g - b.g, s - b.h) + score(G - g + b.g, H - s + b.h);
  float g2 = score(g, s) + score(G - g, H - s);
  int bin = 2 * lane;
  float gain = g1;
  if (g2 > g1) {
    gain = g2;
    bin = 2 * lane + 1;
  }
  for (int o = 16; o; o >>= 1) {
    float og = __shfl_down_sync(0xffffffffu, gain, o);
    int ob = __shfl_down_sync(0xffffffffu, bin, o);
    if (og > gain) {
      gain = og;
      bin = ob;
    }
  }
  if (lane == 0) best[w] = {w % kFeatures, bin, gain};
}

__global__ void assignRows(const uint8_t* __restrict__ rowMajor, const Split* __restrict__ split, int* __restrict__ nodeOf, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  int node = nodeOf[r];
  Split s = split[node];
  nodeOf[r] = 2 * node + (rowMajor[r * kFeatures + s.feature] > s.bin ? 1 : 0);
}

template <typename T>
static T* dalloc(size_t n) {
  void* p;
  HANDLE_ERROR(cudaMalloc(&p, n * sizeof(T)));
  HANDLE_ERROR(cudaMemset(p, 0, n * sizeof(T)));
  return static_cast<T*>(p);
}
template <typename T>
static void push(T* d, const std::vector<T>& h) { HANDLE_ERROR(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice)); }
template <typename T>
static std::vector<T> pull(const T* d, size_t n) {
  std::vector<T> h(n);
  HANDLE_ERROR(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
  return h;
}

int main() {
  const int n = 60000;
  std::mt19937 rng(5);
  std::vector<float> x(n * kFeatures), y(n), pred(n, 0.0f), cuts(kFeatures * kBins);
  for (auto& v : x) v = (rng() >> 8) / 16777216.0f;
  for (int r = 0; r < n; ++r) y[r] = (x[r * kFeatures] > 0.4f ? 2.0f : -1.0f) + 3.0f * x[r * kFeatures + 5] * x[r * kFeatures + 9];
  for (int f = 0; f < kFeatures; ++f)
    for (int b = 0; b < kBins; ++b) cuts[f * kBins + b] = (b + 1) / (float)kBins;
  float* dx = dalloc<float>(x.size());
  float* dy = dalloc<float>(n);
  float* dp = dalloc<float>(n);
  float* dc = dalloc<float>(cuts.size());
  uint8_t* drow = dalloc<uint8_t>(x.size());
  uint8_t* dcol = dalloc<uint8_t>(x.size());
  GradPair* dgp = dalloc<GradPair>(n);
  int* dorder = dalloc<int>(n);
  int* dbegin = dalloc<int>(16);
  int* dnode = dalloc<int>(n);
  const size_t histLen = 8 * kFeatures * kBins;
  GradPair* dh1 = dalloc<GradPair>(histLen);
  GradPair* dh2 = dalloc<GradPair>(histLen);
  Split* dbest = dalloc<Split>(8 * kFeatures);
  Split* dchosen = dalloc<Split>(8);
  push(dx, x);
  push(dy, y);
  push(dp, pred);
  push(dc, cuts);

  quantise<<<dim3((n + 255) / 256, kFeatures), 256>>>(dx, dc, drow, dcol, n);
  gradients<<<(n + 255) / 256, 256>>>(dp, dy, dgp, n);
  HANDLE_ERROR(cudaGetLastError());
  auto rows = pull(drow, x.size());
  auto cols = pull(dcol, x.size());
  auto gp = pull(dgp, n);
  int bad = 0;
  for (int r = 0; r < n; ++r) {
    for (int f = 0; f < kFeatures; ++f) {
      int b = (int)(std::lower_bound(&cuts[f * kBins], &cuts[f * kBins] + kBins - 1, x[r * kFeatures + f]) - &cuts[f * kBins]);
      bad += rows[r * kFeatures + f] != b || cols[f * n + r] != b;
    }
    bad += std::abs(gp[r].g + (int)std::rint(y[r] * 256.0f)) > 1;
  }

  std::vector<int> nodeOf(n, 0);
  for (int level = 0; level < kDepth; ++level) {
    int nodes = 1 << level;
    std::vector<int> order(n), begin(16, 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return nodeOf[a] < nodeOf[b]; });
    for (int r = 0; r < n; ++r) begin[nodeOf[r] + 1]++;
    for (int k = 0; k < 15; ++k) begin[k + 1] += begin[k];
    push(dorder, order);
    push(dbegin, begin);
    HANDLE_ERROR(cudaMemset(dh1, 0, histLen * sizeof(GradPair)));
    HANDLE_ERROR(cudaMemset(dh2, 0, histLen * sizeof(GradPair)));
    histColumn<<<dim3(8, kFeatures, nodes), 256>>>(dcol, dgp, dorder, dbegin, dh1, n);
    histRow<<<dim3(64, nodes), 256, 2 * kFeatures * kBins * sizeof(int)>>>(drow, dgp, dorder, dbegin, dh2);
    bestSplit<<<(nodes * kFeatures * 32 + 127) / 128, 128>>>(dh1, dbest, nodes);
    HANDLE_ERROR(cudaGetLastError());
    auto h1 = pull(dh1, histLen);
    auto h2 = pull(dh2, histLen);
    auto best = pull(dbest, nodes * kFeatures);
    std::vector<GradPair> ref(histLen, GradPair{0, 0});
    for (int r = 0; r < n; ++r) {
      for (int f = 0; f < kFeatures; ++f) {
        GradPair& c = ref[(nodeOf[r] * kFeatures + f) * kBins + rows[r * kFeatures + f]];
        c.g += gp[r].g;
        c.h += gp[r].h;
      }
    }
    for (size_t i = 0; i < histLen; ++i) bad += ref[i].g != h1[i].g || ref[i].h != h1[i].h || ref[i].g != h2[i].g || ref[i].h != h2[i].h;
    std::vector<Split> chosen(8, Split{0, 0, 0});
    for (int node = 0; node < nodes; ++node) {
      for (int f = 0; f < kFeatures; ++f) {
        const GradPair* h = &ref[(node * kFeatures + f) * kBins];
        long long G = 0, H = 0, g = 0, s = 0;
        for (int b = 0; b < kBins; ++b) {
          G += h[b].g;
          H += h[b].h;
        }
        float top = -1;
        for (int b = 0; b < kBins; ++b) {
          g += h[b].g;
          s += h[b].h;
          top = std::max(top, score(g, s) + score(G - g, H - s));
        }
        Split c = best[node * kFeatures + f];
        bad += std::fabs(c.gain - top) > 1e-4f * top + 1e-3f;
        if (c.gain > chosen[node].gain) chosen[node] = c;
      }
    }
    push(dchosen, chosen);
    assignRows<<<(n + 255) / 256, 256>>>(drow, dchosen, dnode, n);
    auto next = pull(dnode, n);
    for (int r = 0; r < n; ++r) {
      const Split& s = chosen[nodeOf[r]];
      bad += next[r] != 2 * nodeOf[r] + (rows[r * kFeatures + s.feature] > s.bin ? 1 : 0);
    }
    nodeOf = next;
    printf("level %d: root split on feature %d bin %d gain %g\n", level, chosen[0].feature, chosen[0].bin, chosen[0].gain);
  }
  puts(bad ? "FAIL" : "PASS");
  return bad != 0;
}
