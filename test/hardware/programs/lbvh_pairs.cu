// Broad phase: LBVH (Karras 2012) over spheres' boxes, overlapping pair count and emission.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

typedef unsigned long long u64;

struct Aabb {
    float3 lo;
    float3 hi;
};

struct Node {          // 40 bytes, internal nodes first [0, n-1), leaves [n-1, 2n-1)
    Aabb box;
    int left;
    int right;
    int parent;
    int object;
};

static const int NOBJ = 6000;
static const int MAXPAIRS = 1 << 18;

static void ok(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) {
        std::printf("FAIL (%s: %s)\n", what, cudaGetErrorString(e));
        std::exit(1);
    }
}

__host__ __device__ inline bool overlaps(const Aabb& a, const Aabb& b)
{
    return a.lo.x <= b.hi.x && b.lo.x <= a.hi.x && a.lo.y <= b.hi.y && b.lo.y <= a.hi.y && a.lo.z <= b.hi.z && b.lo.z <= a.hi.z;
}

__device__ inline unsigned expandBits(unsigned v)
{
    v = (v * 0x00010001u) & 0xFF0000FFu;
    v = (v * 0x00000101u) & 0x0F00F00Fu;
    v = (v * 0x00000011u) & 0xC30C30C3u;
    v = (v * 0x00000005u) & 0x49249249u;
    return v;
}

__global__ void computeBoxes(const float4* spheres, Aabb* boxes, u64* keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 s = spheres[i];
    boxes[i].lo = make_float3(s.x - s.w, s.y - s.w, s.z - s.w);
    boxes[i].hi = make_float3(s.x + s.w, s.y + s.w, s.z + s.w);
    unsigned x = min(max((int)(s.x * 1024.0f), 0), 1023);
    unsigned y = min(max((int)(s.y * 1024.0f), 0), 1023);
    unsigned z = min(max((int)(s.z * 1024.0f), 0), 1023);
    unsigned m = expandBits(x) * 4 + expandBits(y) * 2 + expandBits(z);
    keys[i] = ((u64)m << 32) | (unsigned)i;
}

// rank sort: count the smaller keys. Quadratic but n is tiny and it needs no scratch.
__global__ void rankSort(const u64* keys, u64* sorted, int n)
{
    __shared__ u64 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 k = i < n ? keys[i] : ~0ull;
    int rank = 0;
    for (int base = 0; base < n; base += 128) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? keys[j] : ~0ull;
        __syncthreads();
#pragma unroll 8
        for (int t = 0; t < 128; t++)
            rank += tile[t] < k;
        __syncthreads();
    }
    if (i < n)
        sorted[rank] = k;
}

__device__ inline int delta(const u64* k, int n, int i, int j)
{
    if (j < 0 || j >= n)
        return -1;
    return __clzll(k[i] ^ k[j]);
}

__global__ void buildTree(const u64* k, Node* nodes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1)
        return;
    int d = delta(k, n, i, i + 1) > delta(k, n, i, i - 1) ? 1 : -1;
    int dmin = delta(k, n, i, i - d);
    int lmax = 2;
    while (delta(k, n, i, i + lmax * d) > dmin)
        lmax *= 2;
    int l = 0;
    for (int t = lmax / 2; t >= 1; t /= 2) {
        if (delta(k, n, i, i + (l + t) * d) > dmin)
            l += t;
    }
    int j = i + l * d;
    int dnode = delta(k, n, i, j);
    int s = 0;
    int t = l;
    do {
        t = (t + 1) / 2;
        if (delta(k, n, i, i + (s + t) * d) > dnode)
            s += t;
    } while (t > 1);
    int gamma = i + s * d + min(d, 0);
    int left = min(i, j) == gamma ? n - 1 + gamma : gamma;
    int right = max(i, j) == gamma + 1 ? n - 1 + gamma + 1 : gamma + 1;
    nodes[i].left = left;
    nodes[i].right = right;
    nodes[i].object = -1;
    nodes[left].parent = i;
    nodes[right].parent = i;
    if (i == 0)
        nodes[0].parent = -1;
}

// leaves climb; the second visitor of a node merges the children
__global__ void refit(const u64* k, const Aabb* boxes, Node* nodes, int* visits, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int id = n - 1 + i;
    int obj = (int)(k[i] & 0xffffffffu);
    nodes[id].box = boxes[obj];
    nodes[id].object = obj;
    nodes[id].left = -1;
    nodes[id].right = -1;
    __threadfence();
    int p = nodes[id].parent;
    while (p >= 0) {
        if (atomicAdd(&visits[p], 1) == 0)
            return;
        __threadfence();
        const volatile float* a = (const volatile float*)&nodes[nodes[p].left].box;
        const volatile float* b = (const volatile float*)&nodes[nodes[p].right].box;
        float* o = (float*)&nodes[p].box;
        for (int c = 0; c < 3; c++) {
            o[c] = fminf(a[c], b[c]);
            o[3 + c] = fmaxf(a[3 + c], b[3 + c]);
        }
        __threadfence();
        p = nodes[p].parent;
    }
}

// traversal in Morton order, every pair reported once (smaller object id first)
__global__ void findPairs(const Node* nodes, int2* pairs, int* count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Node me = nodes[n - 1 + i];
    int stack[64];
    int sp = 0;
    stack[sp++] = 0;
    while (sp > 0) {
        const Node* nd = &nodes[stack[--sp]];
        int c[2] = {nd->left, nd->right};
        for (int s = 0; s < 2; s++) {
            const Node* ch = &nodes[c[s]];
            if (!overlaps(me.box, ch->box))
                continue;
            if (ch->object >= 0) {
                if (ch->object > me.object) {
                    int slot = atomicAdd(count, 1);
                    if (slot < MAXPAIRS)
                        pairs[slot] = make_int2(me.object, ch->object);
                }
            } else {
                stack[sp++] = c[s];
            }
        }
    }
}

// brute force with a shared tile of boxes, warp-aggregated counter
__global__ void brutePairs(const Aabb* boxes, int* count, int n)
{
    __shared__ Aabb tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Aabb me;
    if (i < n)
        me = boxes[i];
    int found = 0;
    for (int base = blockIdx.x * 128; base < n; base += 128) {
        if (base + threadIdx.x < n)
            tile[threadIdx.x] = boxes[base + threadIdx.x];
        __syncthreads();
        int lim = min(128, n - base);
        for (int t = 0; t < lim; t++) {
            if (i < n && base + t > i && overlaps(me, tile[t]))
                found++;
        }
        __syncthreads();
    }
    for (int o = 16; o > 0; o >>= 1)
        found += __shfl_down_sync(0xffffffffu, found, o);
    if ((threadIdx.x & 31) == 0 && found)
        atomicAdd(count, found);
}

// exact sphere test on the candidate pairs (random gathers)
__global__ void narrowPhase(const float4* s, const int2* pairs, const int* count, unsigned char* hit)
{
    int n = min(*count, MAXPAIRS);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 a = s[pairs[i].x];
        float4 b = s[pairs[i].y];
        float dx = a.x - b.x;
        float dy = a.y - b.y;
        float dz = a.z - b.z;
        float r = a.w + b.w;
        hit[i] = dx * dx + dy * dy + dz * dz <= r * r;
    }
}

int main()
{
    std::mt19937 rng(808);
    std::uniform_real_distribution<float> u(0.0f, 1.0f);
    std::vector<float4> sp(NOBJ);
    for (auto& s : sp)
        s = make_float4(u(rng), u(rng), u(rng) * 0.6f, 0.005f + 0.02f * u(rng));

    float4* dS;
    Aabb* dB;
    u64 *dK, *dK2;
    Node* dN;
    int *dV, *dC;
    int2* dP;
    unsigned char* dH;
    ok(cudaMalloc(&dS, NOBJ * sizeof(float4)), "malloc");
    ok(cudaMalloc(&dB, NOBJ * sizeof(Aabb)), "malloc");
    ok(cudaMalloc(&dK, NOBJ * sizeof(u64)), "malloc");
    ok(cudaMalloc(&dK2, NOBJ * sizeof(u64)), "malloc");
    ok(cudaMalloc(&dN, (2 * NOBJ - 1) * sizeof(Node)), "malloc");
    ok(cudaMalloc(&dV, NOBJ * sizeof(int)), "malloc");
    ok(cudaMalloc(&dC, 2 * sizeof(int)), "malloc");
    ok(cudaMalloc(&dP, MAXPAIRS * sizeof(int2)), "malloc");
    ok(cudaMalloc(&dH, MAXPAIRS), "malloc");
    ok(cudaMemcpy(dS, sp.data(), NOBJ * sizeof(float4), cudaMemcpyHostToDevice), "copy");
    ok(cudaMemset(dV, 0, NOBJ * sizeof(int)), "memset");
    ok(cudaMemset(dC, 0, 2 * sizeof(int)), "memset");

    const int B = 128;
    const int G = (NOBJ + B - 1) / B;
    computeBoxes<<<G, B>>>(dS, dB, dK, NOBJ);
    rankSort<<<G, B>>>(dK, dK2, NOBJ);
    buildTree<<<G, B>>>(dK2, dN, NOBJ);
    refit<<<G, B>>>(dK2, dB, dN, dV, NOBJ);
    findPairs<<<G, B>>>(dN, dP, dC, NOBJ);
    brutePairs<<<G, B>>>(dB, dC + 1, NOBJ);
    narrowPhase<<<64, B>>>(dS, dP, dC, dH);
    ok(cudaGetLastError(), "launch");
    ok(cudaDeviceSynchronize(), "sync");

    int cnt[2];
    std::vector<Aabb> boxes(NOBJ);
    std::vector<u64> keys(NOBJ);
    ok(cudaMemcpy(cnt, dC, sizeof(cnt), cudaMemcpyDeviceToHost), "count");
    ok(cudaMemcpy(boxes.data(), dB, NOBJ * sizeof(Aabb), cudaMemcpyDeviceToHost), "boxes");
    ok(cudaMemcpy(keys.data(), dK2, NOBJ * sizeof(u64), cudaMemcpyDeviceToHost), "keys");
    std::vector<std::pair<int, int>> want, got;
    for (int i = 0; i < NOBJ; i++)
        for (int j = i + 1; j < NOBJ; j++)
            if (overlaps(boxes[i], boxes[j]))
                want.emplace_back(i, j);
    bool good = cnt[0] == (int)want.size() && cnt[1] == (int)want.size() && cnt[0] <= MAXPAIRS;
    good = good && std::is_sorted(keys.begin(), keys.end());
    if (good) {
        std::vector<int2> p(cnt[0]);
        std::vector<unsigned char> hit(cnt[0]);
        ok(cudaMemcpy(p.data(), dP, p.size() * sizeof(int2), cudaMemcpyDeviceToHost), "pairs");
        ok(cudaMemcpy(hit.data(), dH, hit.size(), cudaMemcpyDeviceToHost), "hits");
        for (int i = 0; i < cnt[0]; i++) {
            got.emplace_back(p[i].x, p[i].y);
            float4 a = sp[p[i].x], b = sp[p[i].y];
            double d2 = double(a.x - b.x) * (a.x - b.x) + double(a.y - b.y) * (a.y - b.y) + double(a.z - b.z) * (a.z - b.z);
            double r2 = double(a.w + b.w) * (a.w + b.w);
            if (std::abs(d2 - r2) > 1e-7 && (d2 <= r2) != (hit[i] != 0))
                good = false;
        }
        std::sort(got.begin(), got.end());
        good = good && got == want;
    }
    std::printf("pairs: bvh %d brute %d cpu %zu\n%s\n", cnt[0], cnt[1], want.size(), good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
