/**
 * IVF-PQ search on one GPU, small scale:
 *  - l2 norms of the coarse centroids
 *  - query x centroid distance tiles
 *  - k-select over the centroids (nprobe lists per query)
 *  - residual PQ distance tables per (query, probe)
 *  - list scan with the tables in shared memory
 *  - final k-select with a register/shared memory hybrid queue and bitonic merges
 */

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#define FAISS_LIKE_ASSERT(X)                                                  \
    do {                                                                      \
        if (!(X)) {                                                           \
            fprintf(stderr, "assertion '%s' failed at line %d\n", #X, __LINE__); \
            abort();                                                          \
        }                                                                     \
    } while (false)
#define CUDA_VERIFY(X) FAISS_LIKE_ASSERT((X) == cudaSuccess)

using idx_t = int64_t;

constexpr int kWarpSize = 32;

template <typename T>
constexpr __host__ __device__ auto divUp(T a, T b) -> decltype(a + b) {
    return (a + b - 1) / b;
}

/// Dense tensor with inner-contiguous layout
template <typename T, int Dim>
struct Tensor {
    T* data_;
    idx_t size_[Dim];
    __host__ __device__ idx_t getSize(int i) const { return size_[i]; }
    __device__ T* row(idx_t i) const { return data_ + i * size_[1]; }
};

// one warp per row
__global__ void l2NormRowMajor(Tensor<const float, 2> input, float* output) {
    idx_t row = (idx_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= input.getSize(0)) {
        return;
    }
    const float* p = input.row(row);
    float sum = 0;
    for (idx_t col = threadIdx.x; col < input.getSize(1); col += kWarpSize) {
        float v = p[col];
        sum += v * v;
    }
    for (int mask = kWarpSize / 2; mask > 0; mask >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, mask);
    }
    if (threadIdx.x == 0) {
        output[row] = sum;
    }
}

/// ||c||^2 - 2 <q, c>; the query norm does not change the order
template <int TileSize>
__global__ void coarseDistance(
        Tensor<const float, 2> queries,
        Tensor<const float, 2> centroids,
        const float* __restrict__ centroidNorms,
        Tensor<float, 2> distances) {
    __shared__ float queryTile[TileSize][TileSize + 1];
    __shared__ float centroidTile[TileSize][TileSize + 1];
    idx_t q = (idx_t)blockIdx.y * TileSize + threadIdx.y;
    idx_t c = (idx_t)blockIdx.x * TileSize + threadIdx.x;
    idx_t cLoad = (idx_t)blockIdx.x * TileSize + threadIdx.y;
    float dist = 0;
    for (idx_t limit = 0; limit < queries.getSize(1); limit += TileSize) {
        idx_t k = limit + threadIdx.x;
        bool kInBounds = k < queries.getSize(1);
        queryTile[threadIdx.y][threadIdx.x] =
                (q < queries.getSize(0) && kInBounds) ? queries.row(q)[k] : 0.0f;
        centroidTile[threadIdx.y][threadIdx.x] =
                (cLoad < centroids.getSize(0) && kInBounds) ? centroids.row(cLoad)[k] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TileSize; ++i) {
            dist += queryTile[threadIdx.y][i] * centroidTile[threadIdx.x][i];
        }
        __syncthreads();
    }
    if (q < queries.getSize(0) && c < centroids.getSize(0)) {
        distances.row(q)[c] = centroidNorms[c] - 2.0f * dist;
    }
}

struct KV {
    float k;
    int v;
};

__device__ inline bool before(const KV& a, const KV& b) {
    return a.k < b.k || (a.k == b.k && a.v < b.v);
}

/// Sorts one value per lane across the warp, ascending
__device__ inline KV warpBitonicSort(KV x) {
    int lane = threadIdx.x % kWarpSize;
#pragma unroll
    for (int size = 2; size <= kWarpSize; size *= 2) {
#pragma unroll
        for (int stride = size / 2; stride > 0; stride /= 2) {
            KV other;
            other.k = __shfl_xor_sync(0xffffffff, x.k, stride);
            other.v = __shfl_xor_sync(0xffffffff, x.v, stride);
            bool ascending = (lane & size) == 0;
            bool lower = (lane & stride) == 0;
            bool takeOther = (lower == ascending) ? before(other, x) : before(x, other);
            if (takeOther) {
                x = other;
            }
        }
    }
    return x;
}

/// Merges two ascending warp registers, keeps the 32 smallest, ascending
__device__ inline KV warpMergeKeepLow(KV a, KV b) {
    int lane = threadIdx.x % kWarpSize;
    KV r;
    r.k = __shfl_sync(0xffffffff, b.k, kWarpSize - 1 - lane);
    r.v = __shfl_sync(0xffffffff, b.v, kWarpSize - 1 - lane);
    KV x = before(r, a) ? r : a;
#pragma unroll
    for (int stride = kWarpSize / 2; stride > 0; stride /= 2) {
        KV other;
        other.k = __shfl_xor_sync(0xffffffff, x.k, stride);
        other.v = __shfl_xor_sync(0xffffffff, x.v, stride);
        bool lower = (lane & stride) == 0;
        bool takeOther = lower ? before(other, x) : before(x, other);
        if (takeOther) {
            x = other;
        }
    }
    return x;
}

/// k <= 32 smallest of every row. Each warp keeps a sorted queue in registers plus a small
/// thread queue; warps are merged through shared memory in the end.
template <int ThreadsPerBlock, int NumThreadQ>
__global__ void blockSelect(
        Tensor<const float, 2> in,
        const int* rowLengths,
        Tensor<float, 2> outK,
        Tensor<int, 2> outV,
        int k) {
    constexpr int kNumWarps = ThreadsPerBlock / kWarpSize;
    __shared__ float smemK[kNumWarps * kWarpSize];
    __shared__ int smemV[kNumWarps * kWarpSize];

    idx_t row = blockIdx.x;
    int warpId = threadIdx.x / kWarpSize;
    int lane = threadIdx.x % kWarpSize;
    int num = rowLengths ? rowLengths[row] : (int)in.getSize(1);
    const float* p = in.row(row);

    KV warpQ = {FLT_MAX, -1};
    float threadK[NumThreadQ];
    int threadV[NumThreadQ];
    int numVals = 0;
    float warpKTop = FLT_MAX;
#pragma unroll
    for (int i = 0; i < NumThreadQ; ++i) {
        threadK[i] = FLT_MAX;
        threadV[i] = -1;
    }

    auto mergeQueues = [&]() {
#pragma unroll
        for (int i = 0; i < NumThreadQ; ++i) {
            KV x = {threadK[i], threadV[i]};
            x = warpBitonicSort(x);
            warpQ = warpMergeKeepLow(warpQ, x);
            threadK[i] = FLT_MAX;
            threadV[i] = -1;
        }
        numVals = 0;
        warpKTop = __shfl_sync(0xffffffff, warpQ.k, k - 1);
    };

    int limit = divUp(num, ThreadsPerBlock) * ThreadsPerBlock;
    for (int i = threadIdx.x; i < limit; i += ThreadsPerBlock) {
        float v = i < num ? p[i] : FLT_MAX;
        if (i < num && v <= warpKTop) {
            // push onto the thread queue
#pragma unroll
            for (int j = NumThreadQ - 1; j > 0; --j) {
                threadK[j] = threadK[j - 1];
                threadV[j] = threadV[j - 1];
            }
            threadK[0] = v;
            threadV[0] = i;
            ++numVals;
        }
        if (__any_sync(0xffffffff, numVals == NumThreadQ)) {
            mergeQueues();
        }
    }
    mergeQueues();

    smemK[threadIdx.x] = warpQ.k;
    smemV[threadIdx.x] = warpQ.v;
    __syncthreads();
    for (int stride = kNumWarps / 2; stride > 0; stride /= 2) {
        if (warpId < stride) {
            KV a = {smemK[threadIdx.x], smemV[threadIdx.x]};
            KV b = {smemK[threadIdx.x + stride * kWarpSize], smemV[threadIdx.x + stride * kWarpSize]};
            a = warpMergeKeepLow(a, b);
            smemK[threadIdx.x] = a.k;
            smemV[threadIdx.x] = a.v;
        }
        __syncthreads();
    }
    if (warpId == 0 && lane < k) {
        outK.row(row)[lane] = smemK[lane];
        outV.row(row)[lane] = smemV[lane];
    }
}

/// table[query][probe][subq][code] = || (q - c)_subq - codebook_subq,code ||^2
template <int SubDim>
__global__ void pqCodeDistances(
        Tensor<const float, 2> queries,
        Tensor<const float, 2> centroids,
        Tensor<const int, 2> coarseIds,
        const float* __restrict__ pqCentroids, // [subq][SubDim][code], transposed
        int numSubQuantizers,
        float* __restrict__ tables) {
    __shared__ float residual[SubDim];
    int probe = blockIdx.x, subq = blockIdx.y, query = blockIdx.z;
    int nprobe = gridDim.x, code = threadIdx.x, numCodes = blockDim.x;
    if (threadIdx.x < SubDim) {
        int d = subq * SubDim + threadIdx.x;
        residual[threadIdx.x] = queries.row(query)[d] - centroids.row(coarseIds.row(query)[probe])[d];
    }
    __syncthreads();
    float dist = 0;
#pragma unroll
    for (int d = 0; d < SubDim; ++d) {
        float diff = residual[d] - pqCentroids[(subq * SubDim + d) * numCodes + code];
        dist += diff * diff;
    }
    tables[(((idx_t)query * nprobe + probe) * numSubQuantizers + subq) * numCodes + code] = dist;
}

/// Distances of all vectors of the probed list. Codes are packed 4 sub-quantizers per word.
template <int NumSubQuantizers>
__global__ void pqScanLists(
        const uint8_t* const* listCodes,
        const int* listLengths,
        Tensor<const int, 2> coarseIds,
        const int* __restrict__ outOffsets, // (query, nprobe)
        const float* __restrict__ tables,
        Tensor<float, 2> distances) {
    constexpr int kCodes = 256;
    extern __shared__ float smemTable[];
    int probe = blockIdx.x, query = blockIdx.y, nprobe = gridDim.x;
    int list = coarseIds.row(query)[probe];
    const float4* t4 = reinterpret_cast<const float4*>(
            tables + ((idx_t)query * nprobe + probe) * NumSubQuantizers * kCodes);
    for (int i = threadIdx.x; i < NumSubQuantizers * kCodes / 4; i += blockDim.x) {
        reinterpret_cast<float4*>(smemTable)[i] = t4[i];
    }
    __syncthreads();
    const uint32_t* codes = reinterpret_cast<const uint32_t*>(listCodes[list]);
    float* out = distances.row(query) + outOffsets[query * nprobe + probe];
    int n = listLengths[list];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float dist = 0;
#pragma unroll
        for (int w = 0; w < NumSubQuantizers / 4; ++w) {
            uint32_t code4 = codes[i * (NumSubQuantizers / 4) + w];
#pragma unroll
            for (int b = 0; b < 4; ++b) {
                dist += smemTable[(w * 4 + b) * kCodes + ((code4 >> (8 * b)) & 0xff)];
            }
        }
        out[i] = dist;
    }
}

template <typename T>
T* toDevice(const std::vector<T>& v) {
    T* p;
    CUDA_VERIFY(cudaMalloc((void**)&p, v.size() * sizeof(T)));
    CUDA_VERIFY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

int main() {
    constexpr int dim = 64, M = 8, subDim = dim / M, codes = 256;
    const int nq = 40, nlist = 180, nprobe = 6, k = 20;
    std::mt19937 rng(123);
    std::normal_distribution<float> gauss;
    auto gen = [&](size_t n, float s) { std::vector<float> v(n); for (auto& x : v) x = s * gauss(rng); return v; };
    auto queries = gen((size_t)nq * dim, 1.f), centroids = gen((size_t)nlist * dim, 1.f), pq = gen((size_t)dim * codes, 0.3f);
    std::vector<std::vector<uint8_t>> lists(nlist);
    std::vector<int> lengths(nlist);
    std::vector<uint8_t*> ptrs(nlist);
    for (int l = 0; l < nlist; ++l) {
        lengths[l] = 150 + rng() % 500;
        lists[l].resize((size_t)lengths[l] * M);
        for (auto& c : lists[l]) c = rng() & 255;
        ptrs[l] = toDevice(lists[l]);
    }
    const int maxCand = nprobe * 650;

    const float *dQ = toDevice(queries), *dC = toDevice(centroids), *dPQ = toDevice(pq);
    float* dNorm = toDevice(std::vector<float>(nlist));
    float* dCoarse = toDevice(std::vector<float>((size_t)nq * nlist));
    float* dProbeK = toDevice(std::vector<float>(nq * nprobe));
    int* dProbeV = toDevice(std::vector<int>(nq * nprobe));
    float* dTables = toDevice(std::vector<float>((size_t)nq * nprobe * M * codes));
    float* dDist = toDevice(std::vector<float>((size_t)nq * maxCand));
    float* dOutK = toDevice(std::vector<float>(nq * k));
    int* dOutV = toDevice(std::vector<int>(nq * k));
    uint8_t** dPtrs = toDevice(ptrs);
    int* dLengths = toDevice(lengths);
    Tensor<const float, 2> tQ{dQ, {nq, dim}}, tC{dC, {nlist, dim}};
    Tensor<float, 2> tCoarse{dCoarse, {nq, nlist}}, tDist{dDist, {nq, maxCand}};    Tensor<const int, 2> tIds{dProbeV, {nq, nprobe}};

    l2NormRowMajor<<<divUp(nlist, 4), dim3(32, 4)>>>(tC, dNorm);
    coarseDistance<16><<<dim3(divUp(nlist, 16), divUp(nq, 16)), dim3(16, 16)>>>(tQ, tC, dNorm, tCoarse);
    blockSelect<128, 2><<<nq, 128>>>({dCoarse, {nq, nlist}}, nullptr, {dProbeK, {nq, nprobe}}, {dProbeV, {nq, nprobe}}, nprobe);
    pqCodeDistances<subDim><<<dim3(nprobe, M, nq), codes>>>(tQ, tC, tIds, dPQ, M, dTables);
    std::vector<int> probes(nq * nprobe), offsets(nq * nprobe), total(nq, 0);
    CUDA_VERIFY(cudaMemcpy(probes.data(), dProbeV, probes.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int q = 0; q < nq; ++q)
        for (int p = 0; p < nprobe; ++p) {
            FAISS_LIKE_ASSERT(probes[q * nprobe + p] >= 0 && probes[q * nprobe + p] < nlist);
            offsets[q * nprobe + p] = total[q];
            total[q] += lengths[probes[q * nprobe + p]];
        }
    int *dOffsets = toDevice(offsets), *dTotal = toDevice(total);
    pqScanLists<M><<<dim3(nprobe, nq), 192, M * codes * sizeof(float)>>>(dPtrs, dLengths, tIds, dOffsets, dTables, tDist);
    blockSelect<128, 3><<<nq, 128>>>({dDist, {nq, maxCand}}, dTotal, {dOutK, {nq, k}}, {dOutV, {nq, k}}, k);
    CUDA_VERIFY(cudaGetLastError());
    CUDA_VERIFY(cudaDeviceSynchronize());

    std::vector<float> outK(nq * k);
    std::vector<int> outV(nq * k);
    CUDA_VERIFY(cudaMemcpy(outK.data(), dOutK, outK.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_VERIFY(cudaMemcpy(outV.data(), dOutV, outV.size() * sizeof(int), cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int q = 0; q < nq; ++q) {
        // probes: compare by distance, neighbours may swap within rounding
        std::vector<double> cd(nlist);
        for (int c = 0; c < nlist; ++c)
            for (int d = 0; d < dim; ++d) { double e = (double)queries[q * dim + d] - centroids[c * dim + d]; cd[c] += e * e; }
        auto sorted = cd;
        std::sort(sorted.begin(), sorted.end());
        std::vector<double> cand;
        for (int p = 0; p < nprobe; ++p) {
            const int l = probes[q * nprobe + p];
            bad += std::fabs(cd[l] - sorted[p]) > 1e-3;
            std::vector<double> t(M * codes);
            for (int m = 0; m < M; ++m)
                for (int c = 0; c < codes; ++c)
                    for (int d = m * subDim; d < (m + 1) * subDim; ++d) {
                        double e = (double)queries[q * dim + d] - centroids[l * dim + d] - pq[d * codes + c];
                        t[m * codes + c] += e * e;
                    }
            for (int i = 0; i < lengths[l]; ++i) {
                double s = 0;
                for (int m = 0; m < M; ++m) s += t[m * codes + lists[l][i * M + m]];
                cand.push_back(s);
            }
        }
        auto best = cand;
        std::sort(best.begin(), best.end());
        std::vector<int> ids;
        for (int i = 0; i < k; ++i) {
            const int v = outV[q * k + i];
            if (v < 0 || v >= (int)cand.size()) { ++bad; continue; }
            bad += std::fabs(cand[v] - outK[q * k + i]) > 1e-3 * (1 + cand[v]) || std::fabs(best[i] - outK[q * k + i]) > 1e-3 * (1 + best[i]);
            ids.push_back(v);
        }
        std::sort(ids.begin(), ids.end());
        bad += std::unique(ids.begin(), ids.end()) != ids.end();
    }
    printf("%d queries, %d probes, k %d: %d bad entries\n", nq, nprobe, k, bad);
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
