// Linear BVH (Karras 2012): Morton codes, radix tree over sorted codes, bottom-up bounds with
// atomic arrival flags, then box-overlap counting with a small stack.
#include <cuda_runtime.h>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <numeric>
#include <vector>

struct Aabb {
    float3 lo, hi;
};

struct __align__(16) Node {       // inner nodes first, leaf i is child ~i
    int left, right, parent, flag;
};

#define HD __host__ __device__ __forceinline__

HD unsigned spread3(unsigned v) {
    v &= 0x3ffu;
    v = (v | (v << 16)) & 0x030000ffu;
    v = (v | (v << 8)) & 0x0300f00fu;
    v = (v | (v << 4)) & 0x030c30c3u;
    v = (v | (v << 2)) & 0x09249249u;
    return v;
}
HD unsigned quantise(float x) {
    const int q = (int)(x * 1024.0f);
    return (unsigned)(q < 0 ? 0 : (q > 1023 ? 1023 : q));
}
HD unsigned morton(float3 c) { return (spread3(quantise(c.x)) << 2) | (spread3(quantise(c.y)) << 1) | spread3(quantise(c.z)); }
HD bool overlaps(const Aabb& a, const Aabb& b) {
    return a.lo.x <= b.hi.x && a.hi.x >= b.lo.x && a.lo.y <= b.hi.y && a.hi.y >= b.lo.y && a.lo.z <= b.hi.z && a.hi.z >= b.lo.z;
}

__global__ void mortonCodes(const Aabb* boxes, unsigned* codes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Aabb b = boxes[i];
    codes[i] = morton(make_float3(0.5f * (b.lo.x + b.hi.x), 0.5f * (b.lo.y + b.hi.y), 0.5f * (b.lo.z + b.hi.z)));
}

// common prefix of sorted keys i and j, index breaks ties
__device__ __forceinline__ int prefix(const unsigned* __restrict__ keys, int n, int i, int j) {
    if (j < 0 || j >= n) return -1;
    const unsigned a = keys[i], b = keys[j];
    return a != b ? __clz(a ^ b) : 32 + __clz((unsigned)i ^ (unsigned)j);
}

__global__ void buildTree(const unsigned* __restrict__ keys, Node* __restrict__ nodes, int* __restrict__ leafParent, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1) return;
    const int d = prefix(keys, n, i, i + 1) > prefix(keys, n, i, i - 1) ? 1 : -1;
    const int floorLen = prefix(keys, n, i, i - d);
    int reach = 2;
    while (prefix(keys, n, i, i + reach * d) > floorLen) reach <<= 1;
    int len = 0;
    for (int t = reach >> 1; t; t >>= 1)
        if (prefix(keys, n, i, i + (len + t) * d) > floorLen) len += t;
    const int j = i + len * d;
    const int nodeLen = prefix(keys, n, i, j);
    int split = 0;
    for (int t = len; t > 1;) {
        t = (t + 1) >> 1;
        if (prefix(keys, n, i, i + (split + t) * d) > nodeLen) split += t;
    }
    const int gamma = i + split * d + min(d, 0);
    const bool leftLeaf = min(i, j) == gamma, rightLeaf = max(i, j) == gamma + 1;
    nodes[i].left = leftLeaf ? ~gamma : gamma;
    nodes[i].right = rightLeaf ? ~(gamma + 1) : gamma + 1;
    if (leftLeaf) leafParent[gamma] = i; else nodes[gamma].parent = i;
    if (rightLeaf) leafParent[gamma + 1] = i; else nodes[gamma + 1].parent = i;
}

// the second child to arrive merges; plain stores are published by the fence before the atomic
__global__ void refit(const Aabb* __restrict__ boxes, const int* __restrict__ order, Node* nodes, const int* __restrict__ leafParent,
                      float* bounds, int n) {
    const int leaf = blockIdx.x * blockDim.x + threadIdx.x;
    if (leaf >= n) return;
    int node = leafParent[leaf];
    while (node >= 0) {
        __threadfence();
        if (atomicExch(&nodes[node].flag, 1) == 0) return;
        __threadfence();
        float b[6] = {FLT_MAX, FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
        const int child[2] = {nodes[node].left, nodes[node].right};
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            float c[6];
            if (child[k] < 0) {
                const Aabb a = boxes[order[~child[k]]];
                c[0] = a.lo.x; c[1] = a.lo.y; c[2] = a.lo.z; c[3] = a.hi.x; c[4] = a.hi.y; c[5] = a.hi.z;
            } else {
                for (int q = 0; q < 6; ++q) c[q] = __ldcg(&bounds[child[k] * 6 + q]);
            }
            for (int q = 0; q < 3; ++q) {
                b[q] = fminf(b[q], c[q]);
                b[q + 3] = fmaxf(b[q + 3], c[q + 3]);
            }
        }
        for (int q = 0; q < 6; ++q) __stcg(&bounds[node * 6 + q], b[q]);
        node = nodes[node].parent;
    }
}

__global__ void __launch_bounds__(128)
countOverlaps(const Aabb* __restrict__ queries, int nq, const Aabb* __restrict__ boxes, const int* __restrict__ order,
              const Node* __restrict__ nodes, const Aabb* __restrict__ bounds, int* __restrict__ hits) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nq) return;
    const Aabb q = queries[i];
    int stack[64], top = 0, count = 0;
    stack[top++] = 0;
    while (top) {
        const int id = stack[--top];
        if (id < 0) {
            count += overlaps(q, boxes[order[~id]]);
        } else if (overlaps(q, bounds[id])) {
            const int4 nd = *reinterpret_cast<const int4*>(&nodes[id]);
            stack[top++] = nd.x;
            stack[top++] = nd.y;
        }
    }
    hits[i] = count;
}

static void die(const char* msg) { fprintf(stderr, "%s\n", msg); exit(1); }
static inline void api(cudaError_t e) { if (e != cudaSuccess) die(cudaGetErrorString(e)); }

static float frand(unsigned& s) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    return (s >> 8) * (1.0f / 16777216.0f);
}
static Aabb randomBox(unsigned& s, float size) {
    Aabb b;
    b.lo = make_float3(frand(s) * 0.95f, frand(s) * 0.95f, frand(s) * 0.95f);
    b.hi = make_float3(b.lo.x + size * frand(s), b.lo.y + size * frand(s), b.lo.z + size * frand(s));
    return b;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 20000, nq = 4096;
    unsigned seed = 2463534242u;
    std::vector<Aabb> boxes(n), queries(nq);
    for (auto& b : boxes) b = randomBox(seed, 0.03f);
    for (int i = 100; i < 140 && i < n; ++i) boxes[i] = boxes[99];      // equal keys
    for (auto& q : queries) q = randomBox(seed, 0.08f);

    Aabb *dBoxes, *dQueries; unsigned* dCodes; int *dOrder, *dLeafParent, *dHits; Node* dNodes; float* dBounds;
    api(cudaMalloc(&dBoxes, n * sizeof(Aabb)));
    api(cudaMalloc(&dQueries, nq * sizeof(Aabb)));
    api(cudaMalloc(&dCodes, n * sizeof(unsigned)));
    api(cudaMalloc(&dOrder, n * sizeof(int)));
    api(cudaMalloc(&dLeafParent, n * sizeof(int)));
    api(cudaMalloc(&dHits, nq * sizeof(int)));
    api(cudaMalloc(&dNodes, n * sizeof(Node)));
    api(cudaMalloc(&dBounds, n * 6 * sizeof(float)));
    api(cudaMemcpy(dBoxes, boxes.data(), n * sizeof(Aabb), cudaMemcpyHostToDevice));
    api(cudaMemcpy(dQueries, queries.data(), nq * sizeof(Aabb), cudaMemcpyHostToDevice));
    std::vector<Node> blank(n, Node{0, 0, -1, 0});
    api(cudaMemcpy(dNodes, blank.data(), n * sizeof(Node), cudaMemcpyHostToDevice));

    const int tpb = 256;
    mortonCodes<<<(n + tpb - 1) / tpb, tpb>>>(dBoxes, dCodes, n);
    std::vector<unsigned> codes(n), sorted(n);
    api(cudaMemcpy(codes.data(), dCodes, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return codes[a] < codes[b]; });
    for (int i = 0; i < n; ++i) sorted[i] = codes[order[i]];
    api(cudaMemcpy(dCodes, sorted.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    api(cudaMemcpy(dOrder, order.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    buildTree<<<(n + tpb - 2) / tpb, tpb>>>(dCodes, dNodes, dLeafParent, n);
    refit<<<(n + tpb - 1) / tpb, tpb>>>(dBoxes, dOrder, dNodes, dLeafParent, dBounds, n);
    countOverlaps<<<(nq + 127) / 128, 128>>>(dQueries, nq, dBoxes, dOrder, dNodes, reinterpret_cast<Aabb*>(dBounds), dHits);
    api(cudaGetLastError());
    api(cudaDeviceSynchronize());

    std::vector<int> hits(nq);
    Aabb root;
    api(cudaMemcpy(hits.data(), dHits, nq * sizeof(int), cudaMemcpyDeviceToHost));
    api(cudaMemcpy(&root, dBounds, sizeof(Aabb), cudaMemcpyDeviceToHost));
    int bad = 0;
    float lox = FLT_MAX, hiz = -FLT_MAX;
    for (int i = 0; i < n; ++i) {
        const Aabb& b = boxes[i];
        lox = std::min(lox, b.lo.x);
        hiz = std::max(hiz, b.hi.z);
    }
    bad += root.lo.x != lox || root.hi.z != hiz;
    for (int i = 0; i < nq; ++i) {
        int c = 0;
        for (const Aabb& b : boxes) c += overlaps(queries[i], b);
        bad += c != hits[i];
    }
    cudaFree(dBoxes); cudaFree(dQueries); cudaFree(dCodes); cudaFree(dOrder);
    cudaFree(dLeafParent); cudaFree(dHits); cudaFree(dNodes); cudaFree(dBounds);
    if (bad) { printf("%d mismatches\n", bad); return 1; }
    printf("OK\n");
    return 0;
}
