// Verification step of tree-structured speculative decoding in a serving engine.
// A draft proposes a token tree (built by recursion on the host). The step penalises repeated
// tokens, computes row statistics, walks the tree accepting or rejecting tokens, picks the bonus token and compacts the paged KV cache.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace serve {
constexpr int kBatch = 12;
constexpr int kVocab = 4096;
constexpr int kHeads = 4;
constexpr int kDim = 64;
constexpr int kPage = 16;
constexpr int kPagesPerSeq = 6;
constexpr int kHistory = 48;  // tokens already in the cache
constexpr int kMaxNodes = 32;

#define TRY(x) \
  if (cudaError_t c_ = (x); c_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(c_))
template <typename T>
class Tensor {
 public:
  Tensor(const Tensor&) = delete;
  explicit Tensor(std::size_t n) : n_(n) {
    TRY(cudaMalloc(&d_, n * sizeof(T)));
    TRY(cudaMemset(d_, 0, n * sizeof(T)));
  }
  Tensor(const std::vector<T>& v) : Tensor(v.size()) { TRY(cudaMemcpy(d_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice)); }
  ~Tensor() { cudaFree(d_); }
  T* ptr() const { return d_; }
  std::vector<T> cpu() const {
    std::vector<T> v(n_);
    TRY(cudaMemcpy(v.data(), d_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  T* d_ = nullptr;
  std::size_t n_ = 0;
};
// ---- token tree -------------------------------------------------------------------------
struct TreeShape {
  int nodes;
  std::int8_t parent[kMaxNodes];
  std::int8_t first_child[kMaxNodes];
  std::int8_t children[kMaxNodes];
};

using Pending = std::pair<int, int>;  // parent, depth

// Children of one node are numbered consecutively, level by level.
TreeShape grow(const std::vector<int>& branching) {
  TreeShape t{};
  std::vector<Pending> level{{-1, 0}};
  auto expand = [&](auto&& self, std::vector<Pending> now) -> void {
    std::vector<Pending> next;
    const int begin = t.nodes;
    for (const Pending& p : now)
      t.parent[t.nodes++] = static_cast<std::int8_t>(p.first);
    int child = t.nodes;
    for (std::size_t k = 0; k < now.size(); ++k) {
      const int id = begin + static_cast<int>(k);
      const int width = now[k].second < static_cast<int>(branching.size()) ? branching[now[k].second] : 0;
      t.first_child[id] = static_cast<std::int8_t>(child);
      t.children[id] = static_cast<std::int8_t>(width);
      for (int c = 0; c < width; ++c)
        next.push_back({id, now[k].second + 1});
      child += width;
    }
    if (!next.empty()) self(self, std::move(next));
  };
  expand(expand, level);
  return t;
}
// ---- kernels ----------------------------------------------------------------------------
// Scatter over the distinct history tokens of a sequence, for each row of the tree.
__global__ void repetition_penalty(__half* __restrict__ logits, const int* __restrict__ seen, const int* __restrict__ seen_begin, int nodes,
                                   float penalty) {
  const int seq = blockIdx.y;
  const int node = blockIdx.x;
  __half* row = logits + (static_cast<std::size_t>(seq) * nodes + node) * kVocab;
  for (int k = seen_begin[seq] + threadIdx.x; k < seen_begin[seq + 1]; k += blockDim.x) {
    const float x = __half2float(row[seen[k]]);
    row[seen[k]] = __float2half_rn(x > 0.0f ? x / penalty : x * penalty);
  }
}
struct RowStats {
  float max;
  float sum;
};

__device__ inline RowStats merge(RowStats a, RowStats b) {
  const float m = fmaxf(a.max, b.max);
  return {m, a.sum * __expf(a.max - m) + b.sum * __expf(b.max - m)};
}

template <int Threads>
__global__ void __launch_bounds__(Threads) softmax_stats(const __half* __restrict__ logits, RowStats* __restrict__ stats) {
  __shared__ RowStats warp_stats[Threads / 32];
  const uint4* row = reinterpret_cast<const uint4*>(logits + static_cast<std::size_t>(blockIdx.x) * kVocab);
  RowStats s{-1e30f, 0.0f};
  for (int i = threadIdx.x; i < kVocab / 8; i += Threads) {
    const uint4 packed = row[i];
    const __half2* pair = reinterpret_cast<const __half2*>(&packed);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 f = __half22float2(pair[k]);
      s = merge(s, RowStats{f.x, 1.0f});
      s = merge(s, RowStats{f.y, 1.0f});
    }
  }
  for (int d = 16; d > 0; d /= 2) {
    const RowStats other{__shfl_xor_sync(0xffffffffu, s.max, d), __shfl_xor_sync(0xffffffffu, s.sum, d)};
    s = merge(s, other);
  }
  if (threadIdx.x % 32 == 0)
    warp_stats[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < Threads / 32; ++w)
      s = merge(s, warp_stats[w]);
    stats[blockIdx.x] = s;
  }
}

// Paged cache: [page][head][slot in page][dim]
struct PagedCache {
  __half* base;
  const int* table;  // [seq][kPagesPerSeq]
  __device__ __half* row(int seq, int head, int position) const {
    const int page = table[seq * kPagesPerSeq + position / kPage];
    return base + ((static_cast<std::size_t>(page) * kHeads + head) * kPage + position % kPage) * kDim;
  }
};

struct Verdict {
  int accepted;           // number of draft tokens accepted
  int last;               // last accepted node
  std::uint32_t path;     // nodes on the path
};
// One thread walks one tree.
__global__ void walk_tree(const __half* __restrict__ logits, const RowStats* __restrict__ stats, const int* __restrict__ tokens,
                          const float* __restrict__ draft_prob, const float* __restrict__ uniforms, TreeShape tree,
                          Verdict* __restrict__ verdicts) {
  const int seq = blockIdx.x * blockDim.x + threadIdx.x;
  if (seq >= kBatch) return;
  Verdict v{0, 0, 1u};
  for (bool moved = true; moved;) {
    moved = false;
    const int row = seq * tree.nodes + v.last;
    const RowStats s = stats[row];
    const int first = tree.first_child[v.last];
    for (int c = first; c < first + tree.children[v.last]; ++c) {
      const int token = tokens[seq * tree.nodes + c];
      const float p = expf(__half2float(logits[static_cast<std::size_t>(row) * kVocab + token]) - s.max) / s.sum;
      if (p >= uniforms[seq * tree.nodes + c] * draft_prob[seq * tree.nodes + c]) {
        v.last = c;
        v.path |= 1u << c;
        ++v.accepted;
        moved = true;
        break;
      }
    }
  }
  verdicts[seq] = v;
}
// Greedy bonus token after the last accepted node; ties go to the smaller id.
__global__ void bonus_token(const __half* __restrict__ logits, const Verdict* __restrict__ verdicts, int nodes, int* __restrict__ bonus) {
  __shared__ unsigned long long best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  const __half* row = logits + (static_cast<std::size_t>(blockIdx.x) * nodes + verdicts[blockIdx.x].last) * kVocab;
  unsigned long long mine = 0;
  const int chunk = kVocab / blockDim.x;
  for (int i = threadIdx.x * chunk; i < (threadIdx.x + 1) * chunk; ++i) {
    const int bits = __float_as_int(__half2float(row[i]));
    const unsigned int key = bits >= 0 ? bits ^ 0x80000000u : ~static_cast<unsigned int>(bits);
    const unsigned long long candidate = static_cast<unsigned long long>(key) << 32 | static_cast<unsigned int>(kVocab - 1 - i);
    mine = max(mine, candidate);
  }
  atomicMax(&best, mine);
  __syncthreads();
  if (threadIdx.x == 0)
    bonus[blockIdx.x] = kVocab - 1 - static_cast<int>(best & 0xffffffffu);
}

// Move the rows of the accepted path right behind the history. The destination never lies behind
// the source, so nodes are moved in order by one block per (head, sequence).
__global__ void compact_cache(PagedCache cache, const Verdict* __restrict__ verdicts, int nodes) {
  const int head = blockIdx.x;
  const int seq = blockIdx.y;
  const std::uint32_t path = verdicts[seq].path;
  int target = 0;
  for (int node = 0; node < nodes; ++node) {
    if ((path >> node & 1u) == 0) continue;
    if (node != target) {
      const uint4* from = reinterpret_cast<const uint4*>(cache.row(seq, head, kHistory + node));
      uint4* to = reinterpret_cast<uint4*>(cache.row(seq, head, kHistory + target));
      for (int i = threadIdx.x; i < kDim / 8; i += blockDim.x)
        to[i] = from[i];
    }
    __syncthreads();
    ++target;
  }
}

int run() {
  const TreeShape tree = grow({3, 2, 2});
  const int nodes = tree.nodes;
  const int rows = kBatch * nodes;
  std::mt19937 rng(31337);
  auto uniform = [&rng] { return static_cast<float>(rng() >> 8) * (1.0f / 16777216.0f); };

  std::vector<int> tokens(rows);
  std::vector<float> draft(rows), chance(rows);
  std::vector<__half> logits(static_cast<std::size_t>(rows) * kVocab);
  for (__half& x : logits)
    x = __float2half_rn(uniform() * 4.0f - 2.0f);
  for (int r = 0; r < rows; ++r) {
    tokens[r] = rng() % kVocab;
    draft[r] = 0.2f + 0.6f * uniform();
    chance[r] = uniform();
  }
  for (int seq = 0; seq < kBatch; ++seq) {
    for (int n = 1; n < nodes; ++n) {
      // the target model likes about half of the proposals
      const std::size_t row = static_cast<std::size_t>(seq) * nodes + tree.parent[n];
      logits[row * kVocab + tokens[seq * nodes + n]] = __float2half_rn(5.0f + 5.0f * uniform());
    }
  }
  std::vector<int> seen;
  std::vector<int> seen_begin{0};
  for (int seq = 0; seq < kBatch; ++seq) {
    std::set<int> distinct;
    for (int k = 0; k < kHistory; ++k)
      distinct.insert(rng() % kVocab);
    seen.insert(seen.end(), distinct.begin(), distinct.end());
    seen_begin.push_back(static_cast<int>(seen.size()));
  }
  std::vector<int> table(kBatch * kPagesPerSeq);
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), rng);
  std::vector<__half> cache(table.size() * kHeads * kPage * kDim);
  for (__half& x : cache)
    x = __float2half_rn(uniform() - 0.5f);
  Tensor<__half> d_logits(logits), d_cache(cache);
  Tensor<int> d_tokens(tokens), d_seen(seen), d_seen_begin(seen_begin), d_table(table), d_bonus(kBatch);
  Tensor<float> d_draft(draft), d_chance(chance);
  Tensor<RowStats> d_stats(rows);
  Tensor<Verdict> d_verdicts(kBatch);
  const PagedCache paged{d_cache.ptr(), d_table.ptr()};
  repetition_penalty<<<dim3(nodes, kBatch), 32>>>(d_logits.ptr(), d_seen.ptr(), d_seen_begin.ptr(), nodes, 1.25f);
  softmax_stats<128><<<rows, 128>>>(d_logits.ptr(), d_stats.ptr());
  walk_tree<<<1, 32>>>(d_logits.ptr(), d_stats.ptr(), d_tokens.ptr(), d_draft.ptr(), d_chance.ptr(), tree, d_verdicts.ptr());
  bonus_token<<<kBatch, 256>>>(d_logits.ptr(), d_verdicts.ptr(), nodes, d_bonus.ptr());
  compact_cache<<<dim3(kHeads, kBatch), 32>>>(paged, d_verdicts.ptr(), nodes);
  TRY(cudaGetLastError());
  TRY(cudaDeviceSynchronize());
  // ---- host
  int bad = 0;
  int accepted = 0;
  auto offset = [&](int seq, int head, int position) {
    const std::size_t page = table[seq * kPagesPerSeq + position / kPage];
    return ((page * kHeads + head) * kPage + position % kPage) * kDim;
  };
  const auto got_logits = d_logits.cpu();
  const auto got_stats = d_stats.cpu();
  const auto got_verdicts = d_verdicts.cpu();
  const auto got_bonus = d_bonus.cpu();
  const auto got_cache = d_cache.cpu();
  for (int seq = 0; seq < kBatch; ++seq) {
    for (int n = 0; n < nodes; ++n) {
      __half* row = logits.data() + (static_cast<std::size_t>(seq) * nodes + n) * kVocab;
      for (int k = seen_begin[seq]; k < seen_begin[seq + 1]; ++k) {
        const float x = __half2float(row[seen[k]]);
        row[seen[k]] = __float2half_rn(x > 0.0f ? x / 1.25f : x * 1.25f);
      }
    }
  }
  for (std::size_t i = 0; i < logits.size(); ++i)
    bad += std::fabs(__half2float(logits[i]) - __half2float(got_logits[i])) > 4e-3f;
  std::vector<double> sums(rows, 0.0);
  std::vector<float> peaks(rows, -1e30f);
  for (int r = 0; r < rows; ++r) {
    const __half* row = got_logits.data() + static_cast<std::size_t>(r) * kVocab;
    for (int i = 0; i < kVocab; ++i)
      peaks[r] = std::max(peaks[r], __half2float(row[i]));
    for (int i = 0; i < kVocab; ++i)
      sums[r] += std::exp(static_cast<double>(__half2float(row[i])) - peaks[r]);
    bad += got_stats[r].max != peaks[r] || std::fabs(got_stats[r].sum - sums[r]) > 1e-3 * sums[r];
  }
  for (int seq = 0; seq < kBatch; ++seq) {
    Verdict v{0, 0, 1u};
    for (bool moved = true; moved;) {
      moved = false;
      const int row = seq * nodes + v.last;
      const int first = tree.first_child[v.last];
      for (int c = first; c < first + tree.children[v.last] && !moved; ++c) {
        const int token = tokens[seq * nodes + c];
        const double p = std::exp(static_cast<double>(__half2float(got_logits[static_cast<std::size_t>(row) * kVocab + token])) - peaks[row]) / sums[row];
        if (p >= static_cast<double>(chance[seq * nodes + c]) * draft[seq * nodes + c]) {
          v.last = c;
          v.path |= 1u << c;
          ++v.accepted;
          moved = true;
        }
      }
    }
    accepted += v.accepted;
    bad += v.last != got_verdicts[seq].last || v.path != got_verdicts[seq].path || v.accepted != got_verdicts[seq].accepted;
    const __half* row = got_logits.data() + (static_cast<std::size_t>(seq) * nodes + v.last) * kVocab;
    int best = 0;
    for (int i = 1; i < kVocab; ++i)
      best = __half2float(row[i]) > __half2float(row[best]) ? i : best;
    bad += best != got_bonus[seq];
    for (int head = 0; head < kHeads; ++head) {
      int target = 0;
      for (int n = 0; n < nodes; ++n) {
        if ((v.path >> n & 1u) == 0) continue;
        for (int d = 0; d < kDim; ++d)
          bad += __half2float(got_cache[offset(seq, head, kHistory + target) + d]) != __half2float(cache[offset(seq, head, kHistory + n) + d]);
        ++target;
      }
    }
  }
  std::printf("%d nodes per tree, %d tokens accepted in %d sequences, %d errors: %s\n", nodes, accepted, kBatch, bad, bad == 0 ? "PASS" : "FAIL");
  return bad == 0 ? 0 : 1;
}

}  // namespace serve

int main() {
  try {
    return serve::run();
  } catch (const std::exception& e) {
    std::printf("FAIL: %s\n", e.what());
    return 1;
  }
}
