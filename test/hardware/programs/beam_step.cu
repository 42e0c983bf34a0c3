// One decoding step of beam search: log-softmax, repetition penalty, two-stage top-k, beam gather.
#include <cuda_runtime.h>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr int BATCH = 8;
constexpr int BEAM = 4;
constexpr int ROWS = BATCH * BEAM;
constexpr int VOCAB = 32000;
constexpr int MAXLEN = 96;
constexpr int K2 = 2 * BEAM;
constexpr int SPLIT = 8;

#define CU(x) do { cudaError_t e = x; if (e) { std::printf("cuda: %s @%d\n", cudaGetErrorString(e), __LINE__); std::exit(3); } } while (0)

template <typename Op>
__device__ float blockReduce(float v, Op op, float identity) {
  static __shared__ float part[32];
  int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
  for (int m = 16; m > 0; m >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
  __syncthreads();
  if (lane == 0) part[wid] = v;
  __syncthreads();
  v = lane < (blockDim.x >> 5) ? part[lane] : identity;
  for (int m = 16; m > 0; m >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
  return v;
}

struct MaxOp {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct SumOp {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// each already generated token gets its logit divided or multiplied (each token once)
__global__ void repetitionPenalty(float* logits, const int* seqs, int len, float penalty) {
  __shared__ int toks[MAXLEN];
  int row = blockIdx.x;
  for (int t = threadIdx.x; t < len; t += blockDim.x) toks[t] = seqs[row * MAXLEN + t];
  __syncthreads();
  int t = threadIdx.x;
  if (t >= len) return;
  int tok = toks[t];
  for (int j = 0; j < t; ++j) {
    if (toks[j] == tok) return;
  }
  float v = logits[(size_t)row * VOCAB + tok];
  logits[(size_t)row * VOCAB + tok] = v < 0 ? v * penalty : v / penalty;
}

__global__ void logSoftmaxAdd(float* logits, const float* cum) {
  float4* row = reinterpret_cast<float4*>(logits + (size_t)blockIdx.x * VOCAB);
  float m = -FLT_MAX;
  for (int i = threadIdx.x; i < VOCAB / 4; i += blockDim.x) {
    float4 v = row[i];
    m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  m = blockReduce(m, MaxOp(), -FLT_MAX);
  float s = 0.f;
  for (int i = threadIdx.x; i < VOCAB / 4; i += blockDim.x) {
    float4 v = row[i];
    s += __expf(v.x - m) + __expf(v.y - m) + __expf(v.z - m) + __expf(v.w - m);
  }
  s = blockReduce(s, SumOp(), 0.f);
  float shift = cum[blockIdx.x] - m - logf(s);
  for (int i = threadIdx.x; i < VOCAB / 4; i += blockDim.x) {
    float4 v = row[i];
    v.x += shift;
    v.y += shift;
    v.z += shift;
    v.w += shift;
    row[i] = v;
  }
}

struct Cand {
  float score;
  int id;  // beam * VOCAB + token
};

__device__ __forceinline__ bool better(const Cand& a, const Cand& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

// stage 1: a block handles a slice of one row; each thread keeps a private top-K2, then the block takes K2 rounds
__global__ void topkStage1(const float* logits, Cand* out) {
  extern __shared__ Cand pool[];  // [blockDim.x][K2]
  __shared__ int winner;
  int row = blockIdx.x / SPLIT;
  int part = blockIdx.x % SPLIT;
  int beam = row % BEAM;
  int per = VOCAB / SPLIT;
  const float* src = logits + (size_t)row * VOCAB + part * per;
  Cand best[K2];
#pragma unroll
  for (int k = 0; k < K2; ++k) best[k] = {-FLT_MAX, 0x7fffffff};
  for (int i = threadIdx.x; i < per; i += blockDim.x) {
    Cand c = {src[i], beam * VOCAB + part * per + i};
    if (better(c, best[K2 - 1])) {
      best[K2 - 1] = c;
#pragma unroll
      for (int k = K2 - 1; k > 0; --k) {
        if (better(best[k], best[k - 1])) {
          Cand t = best[k];
          best[k] = best[k - 1];
          best[k - 1] = t;
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < K2; ++k) pool[threadIdx.x * K2 + k] = best[k];
  __syncthreads();
  int head = 0;
  __shared__ Cand warpBest[32];
  __shared__ int warpOwner[32];
  for (int round = 0; round < K2; ++round) {
    Cand c = {-FLT_MAX, 0x7fffffff};
    if (head < K2) c = pool[threadIdx.x * K2 + head];
    int owner = threadIdx.x;
    for (int d = 16; d > 0; d >>= 1) {
      Cand o;
      o.score = __shfl_down_sync(0xffffffffu, c.score, d);
      o.id = __shfl_down_sync(0xffffffffu, c.id, d);
      int oo = __shfl_down_sync(0xffffffffu, owner, d);
      if (better(o, c)) {
        c = o;
        owner = oo;
      }
    }
    if ((threadIdx.x & 31) == 0) {
      warpBest[threadIdx.x >> 5] = c;
      warpOwner[threadIdx.x >> 5] = owner;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int b = 0;
      for (int w = 1; w < blockDim.x / 32; ++w) {
        if (better(warpBest[w], warpBest[b])) b = w;
      }
      winner = warpOwner[b];
      out[blockIdx.x * K2 + round] = warpBest[b];
    }
    __syncthreads();
    if (winner == (int)threadIdx.x) ++head;
    __syncthreads();
  }
}

// stage 2: one warp per batch entry picks BEAM of BEAM*SPLIT*K2 candidates
__global__ void topkStage2(const Cand* cand, Cand* out) {
  const int n = BEAM * SPLIT * K2;
  __shared__ Cand c[BEAM * SPLIT * K2];
  for (int i = threadIdx.x; i < n; i += 32) c[i] = cand[blockIdx.x * n + i];
  __syncwarp();
  for (int k = 0; k < BEAM; ++k) {
    int bi = threadIdx.x;
    for (int i = threadIdx.x + 32; i < n; i += 32) {
      if (better(c[i], c[bi])) bi = i;
    }
    for (int d = 16; d > 0; d >>= 1) {
      int oi = __shfl_xor_sync(0xffffffffu, bi, d);
      if (better(c[oi], c[bi])) bi = oi;
    }
    __syncwarp();
    if (threadIdx.x == 0) {
      out[blockIdx.x * BEAM + k] = c[bi];
      c[bi].score = -FLT_MAX;
      c[bi].id = 0x7fffffff;
    }
    __syncwarp();
  }
}

__global__ void gatherBeams(const Cand* chosen, const int* seqIn, int* seqOut, float* cum, int len) {
  int b = blockIdx.x;
  int k = threadIdx.y;
  Cand c = chosen[b * BEAM + k];
  int parent = c.id / VOCAB;
  for (int t = threadIdx.x; t < len; t += blockDim.x)
    seqOut[(b * BEAM + k) * MAXLEN + t] = seqIn[(b * BEAM + parent) * MAXLEN + t];
  if (threadIdx.x == 0) {
    seqOut[(b * BEAM + k) * MAXLEN + len] = c.id % VOCAB;
    cum[b * BEAM + k] = c.score;
  }
}

int main() {
  std::mt19937 g(99);
  std::normal_distribution<float> nd(0.f, 2.f);
  std::vector<float> logits((size_t)ROWS * VOCAB), cum(ROWS);
  for (auto& v : logits) v = nd(g);
  for (auto& v : cum) v = -std::fabs(nd(g));
  const int len = 50;
  const float penalty = 1.2f;
  std::vector<int> seq(ROWS * MAXLEN, 0);
  for (int r = 0; r < ROWS; ++r)
    for (int t = 0; t < len; ++t) seq[r * MAXLEN + t] = (t % 7 == 6) ? seq[r * MAXLEN + t - 3] : (int)(g() % VOCAB);

  float *dL, *dCum;
  int *dSeq, *dSeq2;
  Cand *dC1, *dC2;
  CU(cudaMalloc(&dL, logits.size() * 4));
  CU(cudaMalloc(&dCum, ROWS * 4));
  CU(cudaMalloc(&dSeq, seq.size() * 4));
  CU(cudaMalloc(&dSeq2, seq.size() * 4));
  CU(cudaMalloc(&dC1, ROWS * SPLIT * K2 * sizeof(Cand)));
  CU(cudaMalloc(&dC2, ROWS * sizeof(Cand)));
  CU(cudaMemcpy(dL, logits.data(), logits.size() * 4, cudaMemcpyHostToDevice));
  CU(cudaMemcpy(dCum, cum.data(), ROWS * 4, cudaMemcpyHostToDevice));
  CU(cudaMemcpy(dSeq, seq.data(), seq.size() * 4, cudaMemcpyHostToDevice));
  CU(cudaMemset(dSeq2, 0, seq.size() * 4));

  repetitionPenalty<<<ROWS, MAXLEN>>>(dL, dSeq, len, penalty);
  logSoftmaxAdd<<<ROWS, 512>>>(dL, dCum);
  topkStage1<<<ROWS * SPLIT, 128, 128 * K2 * sizeof(Cand)>>>(dL, dC1);
  topkStage2<<<BATCH, 32>>>(dC1, dC2);
  gatherBeams<<<BATCH, dim3(32, BEAM)>>>(dC2, dSeq, dSeq2, dCum, len);
  CU(cudaDeviceSynchronize());

  std::vector<int> seq2(seq.size());
  std::vector<float> cum2(ROWS), lp(logits.size());
  CU(cudaMemcpy(seq2.data(), dSeq2, seq.size() * 4, cudaMemcpyDeviceToHost));
  CU(cudaMemcpy(cum2.data(), dCum, ROWS * 4, cudaMemcpyDeviceToHost));
  CU(cudaMemcpy(lp.data(), dL, lp.size() * 4, cudaMemcpyDeviceToHost));

  bool ok = true;
  double worst = 0;
  for (int r = 0; r < ROWS; ++r) {
    std::vector<float> row(logits.begin() + (size_t)r * VOCAB, logits.begin() + (size_t)(r + 1) * VOCAB);
    std::vector<int> uniq(seq.begin() + r * MAXLEN, seq.begin() + r * MAXLEN + len);
    std::sort(uniq.begin(), uniq.end());
    uniq.erase(std::unique(uniq.begin(), uniq.end()), uniq.end());
    for (int t : uniq) row[t] = row[t] < 0 ? row[t] * penalty : row[t] / penalty;
    double m = *std::max_element(row.begin(), row.end()), s = 0;
    for (float v : row) s += std::exp(v - m);
    for (int i = 0; i < VOCAB; ++i) worst = std::max(worst, std::fabs(cum[r] + row[i] - m - std::log(s) - lp[(size_t)r * VOCAB + i]));
  }
  // the choice is checked exactly against the device's own scores
  for (int b = 0; b < BATCH; ++b) {
    std::vector<std::pair<float, int>> all;
    for (int i = 0; i < BEAM * VOCAB; ++i) all.push_back({-lp[(size_t)b * BEAM * VOCAB + i], i});
    std::partial_sort(all.begin(), all.begin() + BEAM, all.end());
    for (int k = 0; k < BEAM; ++k) {
      int r = b * BEAM + k, parent = all[k].second / VOCAB;
      if (cum2[r] != -all[k].first) ok = false;
      if (seq2[r * MAXLEN + len] != all[k].second % VOCAB) ok = false;
      for (int t = 0; t < len; ++t)
        if (seq2[r * MAXLEN + t] != seq[(b * BEAM + parent) * MAXLEN + t]) ok = false;
    }
  }
  std::printf("log-softmax err %g\n", worst);
  ok = ok && worst < 1e-3;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
