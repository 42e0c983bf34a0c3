/*
 * Nucleus (top-p) token sampling without sorting the vocabulary.
 *
 * Probabilities are held as fixed-point integers, so that every sum over the vocabulary is exact and the kept set
 * does not depend on the order of additions. The pivot (smallest kept value) is found digit by digit with a
 * mass histogram in shared memory; the draw is an inverse-CDF walk over the kept tokens.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <queue>
#include <random>
#include <vector>

namespace cg = cooperative_groups;

namespace sampling {

constexpr uint32_t kFixedOne = 1u << 26;

inline void Check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "[%s] %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

struct SamplingParams {
  float* logits;                 // [batch, vocab]
  uint32_t* mass;                // [batch, vocab] fixed-point probability
  const int32_t* history_indptr; // [batch + 1]
  const int32_t* history_tokens; // tokens seen so far, unique within a request
  const float* temperature;      // [batch]
  const float* top_p;            // [batch]
  const float* uniform;          // [batch]
  uint32_t* pivot;               // [batch]
  uint32_t* kept_mass;           // [batch]
  int32_t* output;               // [batch]
  uint32_t batch, vocab;
  float penalty;
};

template <uint32_t BLOCK>
__device__ __forceinline__ float BlockMax(float v, float* scratch) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  v = cg::reduce(warp, v, cg::greater<float>());
  if (warp.thread_rank() == 0) scratch[warp.meta_group_rank()] = v;
  block.sync();
  if (warp.meta_group_rank() == 0) {
    float w = warp.thread_rank() < BLOCK / 32 ? scratch[warp.thread_rank()] : -INFINITY;
    w = cg::reduce(warp, w, cg::greater<float>());
    if (warp.thread_rank() == 0) scratch[0] = w;
  }
  block.sync();
  const float r = scratch[0];
  block.sync();
  return r;
}

template <typename T, uint32_t BLOCK>
__device__ __forceinline__ T BlockInclusiveScan(T v, T* scratch, T& total) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  for (uint32_t d = 1; d < 32; d <<= 1) {
    const T up = warp.shfl_up(v, d);
    if (warp.thread_rank() >= d) v += up;
  }
  if (warp.thread_rank() == 31) scratch[warp.meta_group_rank()] = v;
  block.sync();
  T before = 0;
  total = 0;
#pragma unroll
  for (uint32_t w = 0; w < BLOCK / 32; ++w) {
    const T s = scratch[w];
    if (w < warp.meta_group_rank()) before += s;
    total += s;
  }
  block.sync();
  return v + before;
}

// Scatter-style repetition penalty: only the rows' history tokens are touched.
__global__ void RepetitionPenaltyKernel(SamplingParams p) {
  const uint32_t row = blockIdx.x;
  const int32_t begin = p.history_indptr[row], end = p.history_indptr[row + 1];
  for (int32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const uint64_t at = (uint64_t)row * p.vocab + p.history_tokens[i];
    const float x = p.logits[at];
    p.logits[at] = x > 0.f ? x / p.penalty : x * p.penalty;
  }
}

template <uint32_t BLOCK>
__global__ void __launch_bounds__(BLOCK) SoftmaxFixedKernel(SamplingParams p) {
  __shared__ float scratch[BLOCK / 32];
  const uint32_t row = blockIdx.x;
  const float inv_t = 1.f / p.temperature[row];
  const float4* in = reinterpret_cast<const float4*>(p.logits + (uint64_t)row * p.vocab);
  uint4* out = reinterpret_cast<uint4*>(p.mass + (uint64_t)row * p.vocab);
  float mx = -INFINITY;
  for (uint32_t i = threadIdx.x; i < p.vocab / 4; i += BLOCK) {
    const float4 v = in[i];
    mx = fmaxf(mx, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  mx = BlockMax<BLOCK>(mx, scratch);
  float sum = 0.f;
  for (uint32_t i = threadIdx.x; i < p.vocab / 4; i += BLOCK) {
    const float4 v = in[i];
    sum += __expf((v.x - mx) * inv_t) + __expf((v.y - mx) * inv_t) + __expf((v.z - mx) * inv_t) + __expf((v.w - mx) * inv_t);
  }
  float total;
  BlockInclusiveScan<float, BLOCK>(sum, scratch, total);
  const float scale = (float)kFixedOne / total;
  for (uint32_t i = threadIdx.x; i < p.vocab / 4; i += BLOCK) {
    const float4 v = in[i];
    out[i] = make_uint4((uint32_t)(__expf((v.x - mx) * inv_t) * scale), (uint32_t)(__expf((v.y - mx) * inv_t) * scale),
                        (uint32_t)(__expf((v.z - mx) * inv_t) * scale), (uint32_t)(__expf((v.w - mx) * inv_t) * scale));
  }
}

// 3 digits of 9 bits cover values up to 2^27. bins[d] holds the summed mass of candidates with that digit.
template <uint32_t BLOCK>
__global__ void __launch_bounds__(BLOCK) FindPivotKernel(SamplingParams p) {
  constexpr uint32_t kBits = 9, kBins = 1u << kBits;
  static_assert(BLOCK == kBins, "one thread per bin");
  __shared__ uint32_t bins[kBins];
  __shared__ uint32_t scratch[BLOCK / 32];
  __shared__ uint32_t s_digit, s_above;
  const uint32_t row = blockIdx.x, tx = threadIdx.x;
  const uint32_t* mass = p.mass + (uint64_t)row * p.vocab;
  uint32_t prefix = 0, need = 0, above_all = 0;
  for (int shift = 2 * kBits; shift >= 0; shift -= kBits) {
    bins[tx] = 0;
    __syncthreads();
    for (uint32_t i = tx; i < p.vocab; i += BLOCK) {
      const uint32_t m = mass[i];
      if (m != 0 && (m >> (shift + kBits)) == prefix) atomicAdd(&bins[(m >> shift) & (kBins - 1)], m);
    }
    __syncthreads();
    // scan from the largest digit down
    const uint32_t mine = bins[kBins - 1 - tx];
    uint32_t total;
    const uint32_t inc = BlockInclusiveScan<uint32_t, BLOCK>(mine, scratch, total);
    if (shift == 2 * kBits) {
      need = max(1u, (uint32_t)(p.top_p[row] * (float)total));
      need = min(need, total);
    }
    if (inc >= need && inc - mine < need) {
      s_digit = kBins - 1 - tx;
      s_above = inc - mine;
    }
    __syncthreads();
    prefix = (prefix << kBits) | s_digit;
    need -= s_above;
    above_all += s_above;
    __syncthreads();
    if (shift == 0 && tx == 0) {
      p.pivot[row] = prefix;
      p.kept_mass[row] = above_all + bins[s_digit];
    }
  }
}

template <uint32_t BLOCK>
__global__ void __launch_bounds__(BLOCK) SampleKernel(SamplingParams p) {
  __shared__ uint32_t scratch[BLOCK / 32];
  const uint32_t row = blockIdx.x;
  const uint32_t* mass = p.mass + (uint64_t)row * p.vocab;
  const uint32_t pivot = p.pivot[row];
  const uint32_t target = min(p.kept_mass[row] - 1, (uint32_t)(p.uniform[row] * (float)p.kept_mass[row]));
  uint32_t run = 0;
  for (uint32_t base = 0; base < p.vocab; base += BLOCK) {
    const uint32_t i = base + threadIdx.x;
    uint32_t m = i < p.vocab ? mass[i] : 0;
    if (m < pivot) m = 0;
    uint32_t total;
    const uint32_t inc = run + BlockInclusiveScan<uint32_t, BLOCK>(m, scratch, total);
    if (m != 0 && inc > target && inc - m <= target) p.output[row] = (int32_t)i;
    run += total;
    if (run > target) break;
  }
}

}  // namespace sampling

int main() {
  using namespace sampling;
  constexpr uint32_t kBatch = 48, kVocab = 8192, kBlock = 512;
  std::mt19937 rng(314159);
  std::normal_distribution<float> norm(0.f, 2.2f);
  std::vector<float> logits(kBatch * kVocab), temp(kBatch), top_p(kBatch), uni(kBatch);
  for (auto& l : logits) l = norm(rng);
  std::vector<int32_t> indptr(1, 0), hist;
  for (uint32_t b = 0; b < kBatch; ++b) {
    temp[b] = 0.6f + 0.02f * b;
    top_p[b] = std::min(0.99f, 0.3f + 0.015f * b);
    uni[b] = std::uniform_real_distribution<float>(0.f, 1.f)(rng);
    std::vector<int32_t> toks(20 + rng() % 200);
    for (auto& t : toks) t = rng() % kVocab;
    std::sort(toks.begin(), toks.end());
    toks.erase(std::unique(toks.begin(), toks.end()), toks.end());
    std::shuffle(toks.begin(), toks.end(), rng);
    hist.insert(hist.end(), toks.begin(), toks.end());
    indptr.push_back((int32_t)hist.size());
  }
  cudaStream_t stream;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  auto upload = [&](auto& v) {
    typename std::decay_t<decltype(v)>::value_type* d = nullptr;
    Check(cudaMallocAsync(&d, v.size() * sizeof(v[0]), stream), "alloc");
    Check(cudaMemcpyAsync(d, v.data(), v.size() * sizeof(v[0]), cudaMemcpyHostToDevice, stream), "h2d");
    return d;
  };
  std::vector<uint32_t> mass(kBatch * kVocab, 0), pivot(kBatch, 0), kept(kBatch, 0);
  std::vector<int32_t> out(kBatch, -1);
  SamplingParams p{};
  p.logits = upload(logits);
  p.mass = upload(mass);
  p.history_indptr = upload(indptr);
  p.history_tokens = upload(hist);
  p.temperature = upload(temp);
  p.top_p = upload(top_p);
  p.uniform = upload(uni);
  p.pivot = upload(pivot);
  p.kept_mass = upload(kept);
  p.output = upload(out);
  p.batch = kBatch;
  p.vocab = kVocab;
  p.penalty = 1.3f;

  RepetitionPenaltyKernel<<<kBatch, 64, 0, stream>>>(p);
  SoftmaxFixedKernel<kBlock><<<kBatch, kBlock, 0, stream>>>(p);
  FindPivotKernel<kBlock><<<kBatch, kBlock, 0, stream>>>(p);
  SampleKernel<kBlock><<<kBatch, kBlock, 0, stream>>>(p);
  Check(cudaGetLastError(), "launch");
  std::vector<float> penalised(logits.size());
  Check(cudaMemcpyAsync(penalised.data(), p.logits, penalised.size() * 4, cudaMemcpyDeviceToHost, stream), "d2h");
  Check(cudaMemcpyAsync(mass.data(), p.mass, mass.size() * 4, cudaMemcpyDeviceToHost, stream), "d2h");
  Check(cudaMemcpyAsync(pivot.data(), p.pivot, kBatch * 4, cudaMemcpyDeviceToHost, stream), "d2h");
  Check(cudaMemcpyAsync(kept.data(), p.kept_mass, kBatch * 4, cudaMemcpyDeviceToHost, stream), "d2h");
  Check(cudaMemcpyAsync(out.data(), p.output, kBatch * 4, cudaMemcpyDeviceToHost, stream), "d2h");
  Check(cudaStreamSynchronize(stream), "sync");
  for (void* q : {(void*)p.logits, (void*)p.mass, (void*)p.history_indptr, (void*)p.history_tokens, (void*)p.temperature,
                  (void*)p.top_p, (void*)p.uniform, (void*)p.pivot, (void*)p.kept_mass, (void*)p.output})
    cudaFreeAsync(q, stream);
  cudaStreamDestroy(stream);

  int bad = 0;
  size_t kept_tokens = 0;
  for (uint32_t b = 0; b < kBatch; ++b) {
    std::vector<float> row(logits.begin() + b * kVocab, logits.begin() + (b + 1) * kVocab);
    for (int32_t i = indptr[b]; i < indptr[b + 1]; ++i) {
      float& x = row[hist[i]];
      x = x > 0.f ? x / 1.3f : x * 1.3f;
    }
    const float mx = *std::max_element(row.begin(), row.end());
    double z = 0;
    for (float x : row) z += std::exp((double)(x - mx) / temp[b]);
    std::priority_queue<uint32_t> heap;
    uint32_t total = 0;
    for (uint32_t i = 0; i < kVocab; ++i) {
      const double q = std::exp((double)(row[i] - mx) / temp[b]) / z * kFixedOne;
      const uint32_t m = mass[b * kVocab + i];
      if (std::abs(q - m) > 2.0 + 1e-4 * q || std::abs(penalised[b * kVocab + i] - row[i]) > 1e-5f) ++bad;
      heap.push(m);
      total += m;
    }
    const uint32_t need = std::min(total, std::max(1u, (uint32_t)(top_p[b] * (float)total)));
    uint32_t sum = 0, last = 0;
    while (!heap.empty() && (sum < need || heap.top() == last)) {  // ties of the pivot are all kept
      last = heap.top();
      sum += last;
      heap.pop();
      ++kept_tokens;
    }
    if (last != pivot[b] || sum != kept[b]) ++bad;
    const uint32_t target = std::min(sum - 1, (uint32_t)(uni[b] * (float)sum));
    uint32_t run = 0;
    int32_t token = -1;
    for (uint32_t i = 0; i < kVocab && token < 0; ++i) {
      const uint32_t m = mass[b * kVocab + i];
      if (m >= pivot[b]) run += m;
      if (run > target) token = (int32_t)i;
    }
    if (token != out[b]) ++bad;
  }
  std::printf("batch %u, mean kept tokens %.1f, mismatches %d\n", kBatch, (double)kept_tokens / kBatch, bad);
  std::printf("%s\n", bad == 0 ? "PASS" : "FAIL");
  return bad != 0;
}
