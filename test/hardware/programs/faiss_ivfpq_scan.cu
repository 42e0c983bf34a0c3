// IVFPQ search: residual lookup tables, inverted list scan and warp/block selection, in the manner of faiss/gpu.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define FAISS_ASSERT(X) do { if (!(X)) { fprintf(stderr, "Faiss assertion '%s' failed at %s:%d\n", #X, __FILE__, __LINE__); abort(); } } while (false)
#define CUDA_VERIFY(X) do { auto err__ = (X); if (err__ != cudaSuccess) { fprintf(stderr, "CUDA error %d %s\n", (int)err__, cudaGetErrorString(err__)); exit(1); } } while (0)
#define CUDA_TEST_ERROR() CUDA_VERIFY(cudaGetLastError())

namespace faiss::gpu {

constexpr int kWarpSize = 32;
using idx_t = int64_t;

template <typename T, int Dim> class Tensor {
 public:
  __host__ __device__ Tensor(T* data, std::initializer_list<int> sizes) : data_(data) {
    int i = 0;
    for (int s : sizes) size_[i++] = s;
    int st = 1;
    for (i = Dim - 1; i >= 0; i--) { stride_[i] = st; st *= size_[i]; }
  }
  __host__ __device__ int getSize(int i) const { return size_[i]; }
  __host__ __device__ T* data() const { return data_; }
  template <typename... I> __host__ __device__ T& operator()(I... idx) const {
    static_assert(sizeof...(I) == Dim, "wrong rank");
    const int ii[Dim] = {int(idx)...};
    size_t off = 0;
#pragma unroll
    for (int d = 0; d < Dim; d++) off += size_t(ii[d]) * stride_[d];
    return data_[off];
  }
 private:
  T* data_;
  int size_[Dim], stride_[Dim];
};

template <typename T> struct Comparator {
  static __device__ inline bool lt(T a, T b) { return a < b; }
  static __device__ inline bool gt(T a, T b) { return a > b; }
};
template <typename T> struct ConvertTo;
template <> struct ConvertTo<float> { static __device__ float to(float v) { return v; } static __device__ float from(float v) { return v; } };
template <> struct ConvertTo<half> { static __device__ half to(float v) { return __float2half(v); } static __device__ float from(half v) { return __half2float(v); } };

inline __device__ int getLaneId() { int laneId; asm("mov.u32 %0, %%laneid;" : "=r"(laneId)); return laneId; }

// Per-lane sorted thread queues; warp queue of NumWarpQ kept in shared memory.
template <typename K, typename V, typename Comp, int NumWarpQ, int NumThreadQ, int ThreadsPerBlock> struct BlockSelect {
  static constexpr int kNumWarps = ThreadsPerBlock / kWarpSize;
  static constexpr int kSlots = 2 * NumWarpQ;
  static_assert(NumThreadQ * kWarpSize <= NumWarpQ, "thread queues must fit");
  struct Storage { K k[kNumWarps * kSlots]; V v[kNumWarps * kSlots]; };

  __device__ inline BlockSelect(K initKVal, V initVVal, Storage* s, int k) : initK(initKVal), initV(initVVal), numVals(0), warpKTop(initKVal), kMinus1(k - 1) {
    laneId = getLaneId();
    warpId = threadIdx.x / kWarpSize;
    warpK = s->k + warpId * kSlots;
    warpV = s->v + warpId * kSlots;
#pragma unroll
    for (int i = 0; i < NumThreadQ; ++i) { threadK[i] = initK; threadV[i] = initV; }
    for (int i = laneId; i < kSlots; i += kWarpSize) { warpK[i] = initK; warpV[i] = initV; }
    __syncwarp();
  }
  __device__ inline void addThreadQ(K k, V v) {
    if (Comp::lt(k, warpKTop)) {
#pragma unroll
      for (int i = NumThreadQ - 1; i > 0; --i) { threadK[i] = threadK[i - 1]; threadV[i] = threadV[i - 1]; }
      threadK[0] = k;
      threadV[0] = v;
      ++numVals;
    }
  }
  __device__ inline void checkThreadQ() {
    const bool needSort = (numVals == NumThreadQ);
    if (!__any_sync(0xffffffff, needSort)) return;
    mergeWarpQ();
  }
  __device__ inline void sortWarp(int n) {
    for (int size = 2; size <= n; size *= 2) {
      for (int stride = size / 2; stride > 0; stride /= 2) {
        __syncwarp();
        for (int t = laneId; t < n / 2; t += kWarpSize) {
          const int lo = 2 * t - (t & (stride - 1)), hi = lo + stride;
          const bool up = (lo & size) == 0;
          const bool swap = up ? Comp::gt(warpK[lo], warpK[hi]) : Comp::lt(warpK[lo], warpK[hi]);
          if (swap) {
            K tk = warpK[lo]; warpK[lo] = warpK[hi]; warpK[hi] = tk;
            V tv = warpV[lo]; warpV[lo] = warpV[hi]; warpV[hi] = tv;
          }
        }
      }
    }
    __syncwarp();
  }
  __device__ inline void mergeWarpQ() {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < NumThreadQ; ++i) {
      warpK[NumWarpQ + i * kWarpSize + laneId] = threadK[i];
      warpV[NumWarpQ + i * kWarpSize + laneId] = threadV[i];
      threadK[i] = initK;
      threadV[i] = initV;
    }
    for (int i = NumWarpQ + NumThreadQ * kWarpSize + laneId; i < kSlots; i += kWarpSize) { warpK[i] = initK; warpV[i] = initV; }
    numVals = 0;
    sortWarp(kSlots);
    warpKTop = warpK[kMinus1];
    __syncwarp();
  }
  __device__ inline void add(K k, V v) { addThreadQ(k, v); checkThreadQ(); }
  // On return the block's best are at the front of warp 0's queue.
  __device__ inline void reduce() {
    mergeWarpQ();
    for (int half = kNumWarps / 2; half > 0; half /= 2) {
      __syncthreads();
      if (warpId < half) {
        for (int i = laneId; i < NumWarpQ; i += kWarpSize) {
          warpK[NumWarpQ + i] = warpK[half * kSlots + i];
          warpV[NumWarpQ + i] = warpV[half * kSlots + i];
        }
        sortWarp(kSlots);
      }
    }
    __syncthreads();
  }
  const K initK; const V initV;
  K threadK[NumThreadQ]; V threadV[NumThreadQ];
  K *warpK; V *warpV;
  int numVals; K warpKTop; int laneId, warpId, kMinus1;
};

// queries x coarse centroids, one warp per pair
__global__ void l2CoarseDistance(Tensor<const float, 2> queries, Tensor<const float, 2> centroids, Tensor<float, 2> out) {
  const int pair = blockIdx.x * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  const int nlist = centroids.getSize(0), dim = centroids.getSize(1);
  if (pair >= queries.getSize(0) * nlist) return;
  const int q = pair / nlist, c = pair % nlist;
  float d = 0;
  for (int i = getLaneId(); i < dim; i += kWarpSize) { const float t = queries(q, i) - centroids(c, i); d += t * t; }
  for (int o = kWarpSize / 2; o > 0; o /= 2) d += __shfl_xor_sync(0xffffffff, d, o);
  if (getLaneId() == 0) out(q, c) = d;
}

template <int ThreadsPerBlock, int NumWarpQ, int NumThreadQ>
__global__ void l2SelectMinK(Tensor<const float, 2> in, Tensor<float, 2> outK, Tensor<idx_t, 2> outV, int k) {
  using Select = BlockSelect<float, idx_t, Comparator<float>, NumWarpQ, NumThreadQ, ThreadsPerBlock>;
  __shared__ typename Select::Storage smem;
  Select heap(3.0e38f, -1, &smem, k);
  const int row = blockIdx.x, n = in.getSize(1), limit = (n / kWarpSize) * kWarpSize;
  int i = threadIdx.x;
  for (; i < limit; i += ThreadsPerBlock) heap.add(in(row, i), i);
  if (i < n) heap.addThreadQ(in(row, i), i);
  heap.reduce();
  for (int j = threadIdx.x; j < k; j += ThreadsPerBlock) { outK(row, j) = smem.k[j]; outV(row, j) = smem.v[j]; }
}

// (query, probe, subquantizer, code) -> partial distance
template <typename LookupT, int DimsPerSubQuantizer>
__global__ void pqCodeDistances(Tensor<const float, 2> queries, Tensor<const float, 2> coarse, Tensor<const float, 3> pqCentroids, Tensor<const idx_t, 2> topLists, Tensor<LookupT, 4> out) {
  const int probe = blockIdx.x, q = blockIdx.y, subQ = blockIdx.z, numCodes = pqCentroids.getSize(1);
  __shared__ float residual[DimsPerSubQuantizer];
  const idx_t list = topLists(q, probe);
  if (threadIdx.x < DimsPerSubQuantizer) residual[threadIdx.x] = queries(q, subQ * DimsPerSubQuantizer + threadIdx.x) - coarse(list, subQ * DimsPerSubQuantizer + threadIdx.x);
  __syncthreads();
  for (int code = threadIdx.x; code < numCodes; code += blockDim.x) {
    float dist = 0;
    const float* c = pqCentroids.data() + (size_t(subQ) * numCodes + code) * DimsPerSubQuantizer;
#pragma unroll
    for (int d = 0; d < DimsPerSubQuantizer; d++) { const float t = residual[d] - c[d]; dist += t * t; }
    out(q, probe, subQ, code) = ConvertTo<LookupT>::to(dist);
  }
}

template <int NumBytes> struct LoadCode32 {
  static_assert(NumBytes % 4 == 0, "codes are read as words");
  static inline __device__ void load(unsigned int code32[NumBytes / 4], const uint8_t* p, int offset) {
    const unsigned int* w = reinterpret_cast<const unsigned int*>(p + size_t(offset) * NumBytes);
#pragma unroll
    for (int i = 0; i < NumBytes / 4; i++) code32[i] = __ldg(w + i);
  }
};

template <int NumSubQuantizers, typename LookupT>
__global__ void pqScanPrecomputedMultiPass(Tensor<const LookupT, 4> codeDistances, Tensor<const idx_t, 2> topLists, const uint8_t* const* listCodes, const int* listLengths, const int* prefixSumOffsets,
                                           int numProbes, float* distance, int distStride) {
  extern __shared__ __align__(16) char smemCodeDistances[];
  LookupT* table = reinterpret_cast<LookupT*>(smemCodeDistances);
  const int q = blockIdx.y, probe = blockIdx.x, codesPerSubQ = codeDistances.getSize(3);
  const idx_t listId = topLists(q, probe);
  const LookupT* src = &codeDistances(q, probe, 0, 0);
  for (int i = threadIdx.x; i < NumSubQuantizers * codesPerSubQ; i += blockDim.x) table[i] = src[i];
  __syncthreads();
  float* out = distance + size_t(q) * distStride + prefixSumOffsets[q * numProbes + probe];
  const uint8_t* codes = listCodes[listId];
  const int limit = listLengths[listId];
  for (int i = threadIdx.x; i < limit; i += blockDim.x) {
    unsigned int code32[NumSubQuantizers / 4];
    LoadCode32<NumSubQuantizers>::load(code32, codes, i);
    float dist = 0.0f;
#pragma unroll
    for (int word = 0; word < NumSubQuantizers / 4; ++word)
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) dist += ConvertTo<LookupT>::from(table[(word * 4 + byte) * codesPerSubQ + ((code32[word] >> (8 * byte)) & 0xff)]);
    out[i] = dist;
  }
}
}  // namespace faiss::gpu

using namespace faiss::gpu;
template <typename T> T* toDevice(const std::vector<T>& v) {
  T* p;
  CUDA_VERIFY(cudaMalloc(&p, v.size() * sizeof(T)));
  CUDA_VERIFY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <typename T> std::vector<T> toHost(const T* p, size_t n) {
  std::vector<T> v(n);
  CUDA_VERIFY(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

template <typename LookupT, int M, int DSub> bool testSearch(int nq, int nlist, int nb, int nprobe, int k, unsigned seed) {
  constexpr int dim = M * DSub, ksub = 256;
  std::mt19937 rng(seed);
  std::normal_distribution<float> nd;
  std::vector<float> queries(nq * dim), coarse(nlist * dim), pq((size_t)M * ksub * DSub);
  for (auto* v : {&queries, &coarse, &pq}) for (auto& x : *v) x = nd(rng);
  std::vector<std::vector<uint8_t>> lists(nlist);
  for (int i = 0; i < nb; i++) { auto& l = lists[rng() % nlist]; for (int m = 0; m < M; m++) l.push_back(rng() % ksub); }
  std::vector<const uint8_t*> ptrs;
  std::vector<int> lens;
  int maxLen = 0;
  for (auto& l : lists) { FAISS_ASSERT(!l.empty()); ptrs.push_back(toDevice(l)); lens.push_back(l.size() / M); maxLen = std::max(maxLen, lens.back()); }
  auto *dQ = toDevice(queries), *dC = toDevice(coarse), *dPQ = toDevice(pq);
  auto** dPtrs = toDevice(ptrs);
  auto* dLens = toDevice(lens);
  float* dCoarseDist = toDevice(std::vector<float>(nq * nlist));
  float* dProbeDist = toDevice(std::vector<float>(nq * nprobe));
  idx_t* dProbe = toDevice(std::vector<idx_t>(nq * nprobe));
  LookupT* dTable; 
  CUDA_VERIFY(cudaMalloc(&dTable, sizeof(LookupT) * nq * nprobe * M * ksub));

  Tensor<const float, 2> tQ(dQ, {nq, dim}), tC(dC, {nlist, dim});
  l2CoarseDistance<<<(nq * nlist + 7) / 8, 256>>>(tQ, tC, Tensor<float, 2>(dCoarseDist, {nq, nlist}));
  CUDA_TEST_ERROR();
  l2SelectMinK<128, 64, 2><<<nq, 128>>>(Tensor<const float, 2>(dCoarseDist, {nq, nlist}), Tensor<float, 2>(dProbeDist, {nq, nprobe}), Tensor<idx_t, 2>(dProbe, {nq, nprobe}), nprobe);
  CUDA_TEST_ERROR();
  const auto probes = toHost(dProbe, nq * nprobe);
  const auto coarseD = toHost(dCoarseDist, nq * nlist);
  bool ok = true;
  for (int q = 0; q < nq; q++) {
    std::vector<float> ref(nlist);
    for (int c = 0; c < nlist; c++) {
      double d = 0;
      for (int i = 0; i < dim; i++) { const double t = queries[q * dim + i] - coarse[c * dim + i]; d += t * t; }
      ok &= std::fabs(d - coarseD[q * nlist + c]) <= 1e-3 * (1 + d);
    }
    for (int c = 0; c < nlist; c++) ref[c] = coarseD[q * nlist + c];
    std::sort(ref.begin(), ref.end());
    for (int p = 0; p < nprobe; p++) ok &= probes[q * nprobe + p] >= 0 && coarseD[q * nlist + probes[q * nprobe + p]] == ref[p];
  }
  printf("coarse quantizer %s\n", ok ? "ok" : "BAD");
  if (!ok) return false;
  pqCodeDistances<LookupT, DSub><<<dim3(nprobe, nq, M), 128>>>(tQ, tC, Tensor<const float, 3>(dPQ, {M, ksub, DSub}), Tensor<const idx_t, 2>(dProbe, {nq, nprobe}), Tensor<LookupT, 4>(dTable, {nq, nprobe, M, ksub}));
  CUDA_TEST_ERROR();
  std::vector<int> prefix(nq * nprobe);
  const int stride = nprobe * maxLen;
  for (int q = 0; q < nq; q++) { int o = 0; for (int p = 0; p < nprobe; p++) { prefix[q * nprobe + p] = o; o += lens[probes[q * nprobe + p]]; } }
  auto* dPrefix = toDevice(prefix);
  float* dDist = toDevice(std::vector<float>((size_t)nq * stride, 2.0e38f));
  pqScanPrecomputedMultiPass<M, LookupT><<<dim3(nprobe, nq), 256, M * ksub * sizeof(LookupT)>>>(
      Tensor<const LookupT, 4>(dTable, {nq, nprobe, M, ksub}), Tensor<const idx_t, 2>(dProbe, {nq, nprobe}), dPtrs, dLens, dPrefix, nprobe, dDist, stride);
  CUDA_TEST_ERROR();
  float* dOutK = toDevice(std::vector<float>(nq * k));
  idx_t* dOutV = toDevice(std::vector<idx_t>(nq * k));
  Tensor<const float, 2> tD(dDist, {nq, stride});
  Tensor<float, 2> tOutK(dOutK, {nq, k});
  Tensor<idx_t, 2> tOutV(dOutV, {nq, k});
  if (k <= 32) l2SelectMinK<128, 32, 1><<<nq, 128>>>(tD, tOutK, tOutV, k);
  else l2SelectMinK<256, 128, 3><<<nq, 256>>>(tD, tOutK, tOutV, k);
  CUDA_TEST_ERROR();
  const auto dist = toHost(dDist, (size_t)nq * stride), outK = toHost(dOutK, nq * k);
  const auto outV = toHost(dOutV, nq * k);
  const double tol = sizeof(LookupT) == 2 ? 4e-3 : 1e-4;
  for (int q = 0; q < nq; q++) {
    std::vector<float> row(dist.begin() + (size_t)q * stride, dist.begin() + (size_t)(q + 1) * stride);
    for (int p = 0; p < nprobe; p++) {
      const idx_t l = probes[q * nprobe + p];
      for (int i = 0; i < lens[l]; i++) {
        double d = 0;
        for (int m = 0; m < M; m++) for (int s = 0; s < DSub; s++) {
          const double t = (double)queries[q * dim + m * DSub + s] - coarse[l * dim + m * DSub + s] - pq[(m * ksub + lists[l][(size_t)i * M + m]) * DSub + s];
          d += t * t;
        }
        ok &= std::fabs(d - row[prefix[q * nprobe + p] + i]) <= tol * (1 + d);
      }
    }
    std::vector<float> sorted = row;
    std::partial_sort(sorted.begin(), sorted.begin() + k, sorted.end());
    for (int j = 0; j < k; j++) ok &= outK[q * k + j] == sorted[j] && outV[q * k + j] >= 0 && row[outV[q * k + j]] == sorted[j];
  }
  printf("M=%d dsub=%d lookup=%zu bytes k=%d %s\n", M, DSub, sizeof(LookupT), k, ok ? "ok" : "BAD");
  for (auto* p : ptrs) CUDA_VERIFY(cudaFree(const_cast<uint8_t*>(p)));
  for (void* p : {(void*)dQ, (void*)dC, (void*)dPQ, (void*)dPtrs, (void*)dLens, (void*)dCoarseDist, (void*)dProbeDist, (void*)dProbe, (void*)dTable, (void*)dPrefix, (void*)dDist, (void*)dOutK, (void*)dOutV}) CUDA_VERIFY(cudaFree(p));
  return ok;
}

int main() {
  bool ok = testSearch<float, 16, 4>(24, 100, 40000, 10, 20, 5);
  ok &= testSearch<half, 32, 2>(16, 77, 30000, 8, 100, 6);
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
