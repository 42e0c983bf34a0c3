// Lecture 14: graphs on the GPU.  Push (scatter) against pull (gather),
// shown on breadth-first search and on one PageRank sweep.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

static void checkCuda(cudaError_t err, const char *what)
{
    if (err != cudaSuccess) {
        printf("%s failed: %s\n", what, cudaGetErrorString(err));
        exit(1);
    }
}

// PUSH: every vertex of the frontier visits its neighbours.
// Claiming a vertex needs an atomic; so does growing the queue.
__global__ void bfsPush(const int *rowPtr, const int *colIdx,
                        const int *frontier, int frontierSize,
                        int *nextFrontier, int *nextSize, int *dist, int level)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= frontierSize) return;

    int u = frontier[t];
    for (int e = rowPtr[u]; e < rowPtr[u + 1]; e++) {
        int v = colIdx[e];
        if (dist[v] < 0) {
            if (atomicCAS(&dist[v], -1, level + 1) == -1) {
                int slot = atomicAdd(nextSize, 1);
                nextFrontier[slot] = v;
            }
        }
    }
}

// PULL: every unvisited vertex looks for a parent on the current level.
// The queue grows by one atomic per warp.
__global__ void bfsPull(const int *rowPtr, const int *colIdx, int n,
                        int *nextFrontier, int *nextSize, int *dist, int level)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;

    bool found = false;
    if (v < n && dist[v] < 0) {
        int end = rowPtr[v + 1];
        for (int e = rowPtr[v]; e < end && !found; e++)
            if (dist[colIdx[e]] == level) found = true;
    }
    unsigned mask = __ballot_sync(0xffffffffu, found);
    if (mask == 0) return;

    int base = 0;
    if (lane == 0) base = atomicAdd(nextSize, __popc(mask));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (found) {
        dist[v] = level + 1;
        nextFrontier[base + __popc(mask & ((1u << lane) - 1u))] = v;
    }
}

// PageRank by gathering from the neighbours: no atomics, irregular loads.
__global__ void rankPull(const int *rowPtr, const int *colIdx, int n,
                         const float *rank, float *next, float damping)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    float sum = 0.0f;
    for (int e = rowPtr[v]; e < rowPtr[v + 1]; e++) {
        int u = colIdx[e];
        int degree = rowPtr[u + 1] - rowPtr[u];
        sum += rank[u] / degree;
    }
    next[v] = (1.0f - damping) / n + damping * sum;
}

// PageRank by scattering: one warp spreads the rank of one vertex.
__global__ void rankPush(const int *rowPtr, const int *colIdx, int n,
                         const float *rank, float *next, float damping)
{
    int u = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (u >= n) return;
    int begin = rowPtr[u], end = rowPtr[u + 1];
    float share = damping * rank[u] / (end - begin);
    for (int e = begin + lane; e < end; e += 32)
        atomicAdd(&next[colIdx[e]], share);
}

int main()
{
    const int n = 1 << 17;
    const int pairs = 6 * n;
    const int T = 256;

    // ---- build an undirected graph with some popular vertices ----
    unsigned s = 12345u;
    auto next01 = [&s]() {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        return (s >> 8) * (1.0 / 16777216.0);
    };
    std::vector<std::pair<int, int>> edges(pairs);
    std::vector<int> rowPtr(n + 1, 0);
    for (int i = 0; i < pairs; i++) {
        int a = (int)(next01() * n);
        double r = next01();
        int b = (i % 8 == 0) ? (int)(r * r * n) : (int)(r * n);
        edges[i] = {a, b};
        rowPtr[a + 1]++;
        rowPtr[b + 1]++;
    }
    for (int v = 0; v < n; v++) rowPtr[v + 1] += rowPtr[v];
    std::vector<int> fill(rowPtr.begin(), rowPtr.end() - 1);
    std::vector<int> colIdx(2 * pairs);
    for (auto &e : edges) {
        colIdx[fill[e.first]++] = e.second;
        colIdx[fill[e.second]++] = e.first;
    }

    // ---- CPU answers ----
    const int source = 0;
    std::vector<int> refDist(n, -1), queue(1, source);
    refDist[source] = 0;
    for (size_t head = 0; head < queue.size(); head++) {
        int u = queue[head];
        for (int e = rowPtr[u]; e < rowPtr[u + 1]; e++)
            if (refDist[colIdx[e]] < 0) {
                refDist[colIdx[e]] = refDist[u] + 1;
                queue.push_back(colIdx[e]);
            }
    }
    const float damping = 0.85f;
    std::vector<float> rank(n);
    for (auto &r : rank) r = (float)((0.5 + next01()) / n);
    std::vector<double> refRank(n, (1.0 - damping) / n);
    for (int u = 0; u < n; u++)
        for (int e = rowPtr[u]; e < rowPtr[u + 1]; e++)
            refRank[colIdx[e]] += (double)damping * rank[u] / (rowPtr[u + 1] - rowPtr[u]);

    // ---- device data ----
    int *dRow, *dCol, *dDist, *dFront, *dNext, *dSize;
    float *dRank, *dOut;
    checkCuda(cudaMalloc(&dRow, (n + 1) * sizeof(int)), "malloc");
    checkCuda(cudaMalloc(&dCol, 2 * pairs * sizeof(int)), "malloc");
    checkCuda(cudaMalloc(&dDist, n * sizeof(int)), "malloc");
    checkCuda(cudaMalloc(&dFront, n * sizeof(int)), "malloc");
    checkCuda(cudaMalloc(&dNext, n * sizeof(int)), "malloc");
    checkCuda(cudaMalloc(&dSize, sizeof(int)), "malloc");
    checkCuda(cudaMalloc(&dRank, n * sizeof(float)), "malloc");
    checkCuda(cudaMalloc(&dOut, n * sizeof(float)), "malloc");
    checkCuda(cudaMemcpy(dRow, rowPtr.data(), (n + 1) * sizeof(int), cudaMemcpyHostToDevice), "copy");
    checkCuda(cudaMemcpy(dCol, colIdx.data(), 2 * pairs * sizeof(int), cudaMemcpyHostToDevice), "copy");
    checkCuda(cudaMemcpy(dRank, rank.data(), n * sizeof(float), cudaMemcpyHostToDevice), "copy");

    // ---- BFS, choosing the direction by the frontier's size ----
    int size = 1, zero = 0;
    checkCuda(cudaMemset(dDist, 0xff, n * sizeof(int)), "memset");
    checkCuda(cudaMemcpy(dDist + source, &zero, sizeof(int), cudaMemcpyHostToDevice), "copy");
    checkCuda(cudaMemcpy(dFront, &source, sizeof(int), cudaMemcpyHostToDevice), "copy");
    for (int level = 0; size > 0; level++) {
        checkCuda(cudaMemset(dSize, 0, sizeof(int)), "memset");
        bool pull = size > n / 12;
        if (pull)
            bfsPull<<<(n + T - 1) / T, T>>>(dRow, dCol, n, dNext, dSize, dDist, level);
        else
            bfsPush<<<(size + T - 1) / T, T>>>(dRow, dCol, dFront, size, dNext, dSize, dDist, level);
        checkCuda(cudaGetLastError(), "launch");
        printf("level %d: %6d vertices, %s\n", level, size, pull ? "pull" : "push");
        checkCuda(cudaMemcpy(&size, dSize, sizeof(int), cudaMemcpyDeviceToHost), "copy");
        std::swap(dFront, dNext);
    }
    std::vector<int> dist(n);
    checkCuda(cudaMemcpy(dist.data(), dDist, n * sizeof(int), cudaMemcpyDeviceToHost), "copy");
    int badDist = 0;
    for (int v = 0; v < n; v++) badDist += dist[v] != refDist[v];

    // ---- PageRank both ways ----
    std::vector<float> out(n);
    int badRank = 0;
    for (int way = 0; way < 2; way++) {
        if (way == 0) {
            rankPull<<<(n + T - 1) / T, T>>>(dRow, dCol, n, dRank, dOut, damping);
        } else {
            std::vector<float> base(n, (1.0f - damping) / n);
            checkCuda(cudaMemcpy(dOut, base.data(), n * sizeof(float), cudaMemcpyHostToDevice), "copy");
            rankPush<<<(n * 32) / T, T>>>(dRow, dCol, n, dRank, dOut, damping);
        }
        checkCuda(cudaGetLastError(), "launch");
        checkCuda(cudaMemcpy(out.data(), dOut, n * sizeof(float), cudaMemcpyDeviceToHost), "copy");
        for (int v = 0; v < n; v++) badRank += !(std::fabs(out[v] - refRank[v]) <= 1e-3 * refRank[v]);
    }
    printf("bfs errors %d, rank errors %d\n", badDist, badRank);
    bool pass = badDist == 0 && badRank == 0;
    printf(pass ? "PASS\n" : "FAIL\n");
    return pass ? 0 : 1;
}
