// Lookups: binary search in a sorted array, an implicit B-tree, and a decision forest.
#include <algorithm>
#include "common.h"

__global__ void lowerBounds(const int *__restrict__ sorted, int n, const int *queries, int *result, int q)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= q) return;
    int key = queries[i], lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (sorted[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    result[i] = lo;
}

// Nodes of 8 keys in breadth-first order; the 8 lanes of a group compare one key each.
__global__ void btreeFind(const int *nodes, int depth, const int *queries, int *leaf, int q)
{
    int group = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    int lane = threadIdx.x % 8;
    if (group >= q) return;
    int key = queries[group];
    int node = 0;
    unsigned int mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
    for (int level = 0; level < depth; ++level) {
        bool less = nodes[node * 8 + lane] < key;
        int child = __popc(__ballot_sync(mask, less));
        node = node * 9 + 1 + child;
    }
    if (lane == 0) leaf[group] = node;
}

struct TreeNode { int feature; float threshold; int left, right; };

__global__ void forest(const TreeNode *trees, int nodesPerTree, int treeCount, const float *x, int features, float *score, int samples)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= samples) return;
    float sum = 0;
    for (int t = 0; t < treeCount; ++t) {
        int n = 0;
        while (true) {
            TreeNode node = trees[t * nodesPerTree + n];
            if (node.feature < 0) { sum += node.threshold; break; }
            n = x[s * features + node.feature] < node.threshold ? node.left : node.right;
        }
    }
    score[s] = sum;
}

int main()
{
    bool ok = true;
    const int n = 100000, q = 20000;
    Random r(1);
    std::vector<int> sorted(n), queries(q), want(q);
    for (int &v : sorted) v = r.below(1000000);
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < q; ++i) {
        queries[i] = r.below(1000000);
        want[i] = (int)(std::lower_bound(sorted.begin(), sorted.end(), queries[i]) - sorted.begin());
    }
    int *dq = toDevice(queries), *dr = deviceZeros<int>(q);
    lowerBounds<<<(q + 255) / 256, 256>>>(toDevice(sorted), n, dq, dr, q);
    ok &= report("lowerBounds", toHost(dr, q) == want);

    const int depth = 4, nodeCount = 1 + 9 + 81 + 729;
    std::vector<int> nodes(nodeCount * 8);
    for (int node = 0; node < nodeCount; ++node) {
        for (int k = 0; k < 8; ++k) nodes[node * 8 + k] = r.below(1000000);
        std::sort(&nodes[node * 8], &nodes[node * 8] + 8);
    }
    for (int i = 0; i < q; ++i) {
        int node = 0;
        for (int l = 0; l < depth; ++l) {
            int child = 0;
            for (int k = 0; k < 8; ++k) child += nodes[node * 8 + k] < queries[i];
            node = node * 9 + 1 + child;
        }
        want[i] = node;
    }
    btreeFind<<<q * 8 / 128, 128>>>(toDevice(nodes), depth, dq, dr, q);
    ok &= report("btreeFind", toHost(dr, q) == want);

    const int trees = 10, per = 63, features = 12, samples = 5000;
    std::vector<TreeNode> t(trees * per);
    for (int k = 0; k < trees * per; ++k) {
        int i = k % per;
        if (i < per / 2) t[k] = {r.below(features), r.uniform(), 2 * i + 1, 2 * i + 2};
        else t[k] = {-1, r.uniform(), 0, 0};
    }
    std::vector<float> x(samples * features), score(samples);
    for (float &v : x) v = r.uniform();
    for (int s = 0; s < samples; ++s)
        for (int k = 0; k < trees; ++k) {
            int i = 0;
            while (t[k * per + i].feature >= 0) i = x[s * features + t[k * per + i].feature] < t[k * per + i].threshold ? t[k * per + i].left : t[k * per + i].right;
            score[s] += t[k * per + i].threshold;
        }
    float *ds = deviceZeros<float>(samples);
    forest<<<(samples + 127) / 128, 128>>>(toDevice(t), per, trees, toDevice(x), features, ds, samples);
    ok &= report("forest", allNear(toHost(ds, samples), score, 1e-5));
    return ok ? 0 : 1;
}
