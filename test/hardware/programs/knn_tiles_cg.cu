// k nearest neighbours with cooperative groups: distances by tiles of 16 lanes, a bitonic top-k in registers across
// a tile, and a vote for the class. Features are stored padded to float4.
#include <cooperative_groups.h>
#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

constexpr int DIM = 20;            // floats a point
constexpr int DIM4 = DIM / 4;
constexpr int K = 8;
constexpr int CLASSES = 5;

struct Neighbor {
    float dist;
    int   index;
};

__device__ __forceinline__ bool closer(const Neighbor &a, const Neighbor &b)
{
    return a.dist < b.dist || (a.dist == b.dist && a.index < b.index);
}

template <typename Tile>
__device__ __forceinline__ Neighbor exchange(const Tile &tile, Neighbor mine, int mask, bool keepSmall)
{
    Neighbor other;
    other.dist  = tile.shfl_xor(mine.dist, mask);
    other.index = tile.shfl_xor(mine.index, mask);
    return closer(mine, other) == keepSmall ? mine : other;
}

template <typename Tile>
__device__ Neighbor sortTile(const Tile &tile, Neighbor v)
{
    const int lane = tile.thread_rank();
#pragma unroll
    for (int size = 2; size <= Tile::size(); size *= 2) {
#pragma unroll
        for (int stride = size / 2; stride > 0; stride /= 2)
            v = exchange(tile, v, stride, ((lane & stride) == 0) == ((lane & size) == 0));
    }
    return v;
}

// A tile of 16 lanes answers one query; each lane walks over its share of the references.
template <int TILE>
__global__ void knnByTiles(const float4 *__restrict__ refs, int nRefs, const float4 *__restrict__ queries, int nQueries,
                           Neighbor *__restrict__ out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<TILE> tile = cg::tiled_partition<TILE>(block);
    extern __shared__ float4 sQuery[];             // tiles x DIM4
    const int tilesPerBlock = block.size() / TILE;
    const int q = block.group_index().x * tilesPerBlock + tile.meta_group_rank();
    float4 *query = sQuery + tile.meta_group_rank() * DIM4;
    if (q < nQueries)
        for (int d = tile.thread_rank(); d < DIM4; d += TILE) query[d] = queries[q * DIM4 + d];
    tile.sync();
    if (q >= nQueries) return;

    Neighbor best = {FLT_MAX, 0x7fffffff};         // sorted over the tile
    for (int base = 0; base < nRefs; base += TILE) {
        const int r = base + tile.thread_rank();
        Neighbor cand = {FLT_MAX, 0x7fffffff};
        if (r < nRefs) {
            float s = 0.0f;
#pragma unroll
            for (int d = 0; d < DIM4; ++d) {
                const float4 a = refs[r * DIM4 + d], b = query[d];
                s += (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z) + (a.w - b.w) * (a.w - b.w);
            }
            cand.dist = s;
            cand.index = r;
        }
        // any candidate better than the K-th?
        const float worst = tile.shfl(best.dist, K - 1);
        if (!tile.any(cand.dist < worst)) continue;
        cand = sortTile(tile, cand);
        // upper half of best against the mirrored candidates, then merge again
        Neighbor mirrored;
        mirrored.dist  = tile.shfl(cand.dist, TILE - 1 - tile.thread_rank());
        mirrored.index = tile.shfl(cand.index, TILE - 1 - tile.thread_rank());
        if (closer(mirrored, best)) best = mirrored;
#pragma unroll
        for (int stride = TILE / 2; stride > 0; stride /= 2)
            best = exchange(tile, best, stride, (tile.thread_rank() & stride) == 0);
    }
    if (tile.thread_rank() < K) out[q * K + tile.thread_rank()] = best;
}

// References transposed, one thread a query, insertion into a local list
__global__ void knnByThread(const float *__restrict__ refsT, int nRefs, const float *__restrict__ queries, int nQueries,
                            float *__restrict__ dist, int *__restrict__ index)
{
    __shared__ float tile[DIM][32];
    const int q = blockIdx.x * blockDim.x + threadIdx.x;
    float query[DIM];
    if (q < nQueries)
        for (int d = 0; d < DIM; ++d) query[d] = queries[q * DIM + d];
    float bestD[K];
    int bestI[K];
    for (int k = 0; k < K; ++k) { bestD[k] = FLT_MAX; bestI[k] = -1; }

    for (int base = 0; base < nRefs; base += 32) {
        __syncthreads();
        for (int i = threadIdx.x; i < DIM * 32; i += blockDim.x) {
            const int d = i / 32, r = base + i % 32;
            tile[d][i % 32] = r < nRefs ? refsT[d * nRefs + r] : 0.0f;
        }
        __syncthreads();
        const int count = min(32, nRefs - base);
        for (int r = 0; r < count; ++r) {
            float s = 0.0f;
#pragma unroll
            for (int d = 0; d < DIM; ++d) {
                const float t = tile[d][r] - query[d];
                s += t * t;
            }
            if (s < bestD[K - 1]) {
                int k = K - 1;
                while (k > 0 && bestD[k - 1] > s) {
                    bestD[k] = bestD[k - 1];
                    bestI[k] = bestI[k - 1];
                    --k;
                }
                bestD[k] = s;
                bestI[k] = base + r;
            }
        }
    }
    if (q < nQueries)
        for (int k = 0; k < K; ++k) {
            dist[k * nQueries + q] = bestD[k];
            index[k * nQueries + q] = bestI[k];
        }
}

__global__ void vote(const Neighbor *__restrict__ nn, const unsigned char *__restrict__ labels, unsigned char *__restrict__ result,
                     int *__restrict__ histogram, int nQueries)
{
    __shared__ int sHist[CLASSES];
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() < CLASSES) sHist[block.thread_rank()] = 0;
    block.sync();
    const int q = block.group_index().x * block.size() + block.thread_rank();
    if (q < nQueries) {
        int counts[CLASSES] = {};
        for (int k = 0; k < K; ++k) counts[labels[nn[q * K + k].index]]++;
        int winner = 0;
#pragma unroll
        for (int c = 1; c < CLASSES; ++c)
            if (counts[c] > counts[winner]) winner = c;
        result[q] = (unsigned char)winner;
        atomicAdd(&sHist[winner], 1);
    }
    cg::sync(block);
    if (block.thread_rank() < CLASSES) atomicAdd(&histogram[block.thread_rank()], sHist[block.thread_rank()]);
}

#define CU(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("FAIL: %s (%d)\n", cudaGetErrorString(e), __LINE__); return 1; } } while (0)

int main(int argc, char **argv)
{
    const int nRefs = argc > 1 ? atoi(argv[1]) : 777;
    const int nQueries = argc > 2 ? atoi(argv[2]) : 250;
    std::vector<float> refs(nRefs * DIM), queries(nQueries * DIM), refsT(nRefs * DIM);
    std::vector<unsigned char> labels(nRefs);
    srand(99);
    for (int i = 0; i < nRefs; ++i) {
        labels[i] = rand() % CLASSES;
        for (int d = 0; d < DIM; ++d) refs[i * DIM + d] = refsT[d * nRefs + i] = rand() / (float)RAND_MAX + 0.3f * ((labels[i] + d) % CLASSES);
    }
    for (auto &v : queries) v = rand() / (float)RAND_MAX * 1.8f;

    float4 *dRefs, *dQueries; float *dRefsT, *dDist; int *dIndex, *dHist; Neighbor *dNn; unsigned char *dLabels, *dResult;
    CU(cudaMalloc(&dRefs, refs.size() * 4));
    CU(cudaMalloc(&dQueries, queries.size() * 4));
    CU(cudaMalloc(&dRefsT, refs.size() * 4));
    CU(cudaMalloc(&dDist, nQueries * K * 4));
    CU(cudaMalloc(&dIndex, nQueries * K * 4));
    CU(cudaMalloc(&dHist, CLASSES * 4));
    CU(cudaMalloc(&dNn, nQueries * K * sizeof(Neighbor)));
    CU(cudaMalloc(&dLabels, nRefs));
    CU(cudaMalloc(&dResult, nQueries));
    CU(cudaMemcpy(dRefs, refs.data(), refs.size() * 4, cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dRefsT, refsT.data(), refs.size() * 4, cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dQueries, queries.data(), queries.size() * 4, cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dLabels, labels.data(), nRefs, cudaMemcpyHostToDevice));
    CU(cudaMemset(dHist, 0, CLASSES * 4));

    constexpr int TILE = 16, THREADS = 128, PER_BLOCK = THREADS / TILE;
    knnByTiles<TILE><<<(nQueries + PER_BLOCK - 1) / PER_BLOCK, THREADS, PER_BLOCK * DIM4 * sizeof(float4)>>>(dRefs, nRefs, dQueries, nQueries, dNn);
    knnByThread<<<(nQueries + 63) / 64, 64>>>(dRefsT, nRefs, (const float *)dQueries, nQueries, dDist, dIndex);
    vote<<<(nQueries + THREADS - 1) / THREADS, THREADS>>>(dNn, dLabels, dResult, dHist, nQueries);
    CU(cudaDeviceSynchronize());

    std::vector<Neighbor> nn(nQueries * K);
    std::vector<int> index(nQueries * K), hist(CLASSES);
    std::vector<unsigned char> result(nQueries);
    CU(cudaMemcpy(nn.data(), dNn, nn.size() * sizeof(Neighbor), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(index.data(), dIndex, index.size() * 4, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(hist.data(), dHist, CLASSES * 4, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(result.data(), dResult, nQueries, cudaMemcpyDeviceToHost));
    int bad = 0, sum = 0;
    for (int q = 0; q < nQueries; ++q) {
        std::vector<std::pair<double, int>> all(nRefs);
        for (int r = 0; r < nRefs; ++r) {
            double s = 0;
            for (int d = 0; d < DIM; ++d) { double t = refs[r * DIM + d] - queries[q * DIM + d]; s += t * t; }
            all[r] = {s, r};
        }
        std::partial_sort(all.begin(), all.begin() + K, all.end());
        for (int k = 0; k < K; ++k) {
            if (std::abs(nn[q * K + k].dist - all[k].first) > 1e-4) ++bad;
            if (nn[q * K + k].index != all[k].second && index[k * nQueries + q] != all[k].second) ++bad;
        }
    }
    for (int h : hist) sum += h;
    if (sum != nQueries) ++bad;
    printf("%d wrong\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
