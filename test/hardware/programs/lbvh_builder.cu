// Linear BVH for particles/triangles: Morton codes, Karras hierarchy,
// bottom-up refit, two flavours of closest-hit traversal.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace lbvh {

struct Triangle {
    float3 a, b, c;
};

struct alignas(16) Aabb {
    float3 lo;
    float pad0;
    float3 hi;
    float pad1;
};

struct Node {
    Aabb box;
    int left;
    int right;
    int parent;
    int prim;  // >= 0 for a leaf
};

struct Ray {
    float3 org;
    float3 dir;
};

struct Hit {
    float t;
    int prim;
};

#define LBVH_CHECK(stmt)                                                             \
    do {                                                                             \
        const cudaError_t rc_ = (stmt);                                              \
        if (rc_ != cudaSuccess) {                                                    \
            std::fprintf(stderr, "[lbvh] %s -> %s\n", #stmt, cudaGetErrorString(rc_)); \
            std::abort();                                                            \
        }                                                                            \
    } while (0)

__host__ __device__ inline float3 operator-(float3 a, float3 b) {
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}
__host__ __device__ inline float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float3 min3(float3 a, float3 b) {
    return make_float3(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z));
}
__host__ __device__ inline float3 max3(float3 a, float3 b) {
    return make_float3(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z));
}

__host__ __device__ inline std::uint32_t spread_bits(std::uint32_t v) {
    v = (v * 0x00010001u) & 0xFF0000FFu;
    v = (v * 0x00000101u) & 0x0F00F00Fu;
    v = (v * 0x00000011u) & 0xC30C30C3u;
    v = (v * 0x00000005u) & 0x49249249u;
    return v;
}

__host__ __device__ inline std::uint32_t morton3(float x, float y, float z) {
    const auto q = [](float f) {
        const float s = fminf(fmaxf(f * 1024.f, 0.f), 1023.f);
        return static_cast<std::uint32_t>(s);
    };
    return (spread_bits(q(x)) << 2) | (spread_bits(q(y)) << 1) | spread_bits(q(z));
}

__host__ __device__ inline bool intersect(const Triangle& tri, const Ray& r, float& t) {
    const float3 e1 = tri.b - tri.a;
    const float3 e2 = tri.c - tri.a;
    const float3 p = cross(r.dir, e2);
    const float det = dot(e1, p);
    if (fabsf(det) < 1e-12f) return false;
    const float inv = 1.f / det;
    const float3 s = r.org - tri.a;
    const float u = dot(s, p) * inv;
    if (u < 0.f || u > 1.f) return false;
    const float3 q = cross(s, e1);
    const float v = dot(r.dir, q) * inv;
    if (v < 0.f || u + v > 1.f) return false;
    t = dot(e2, q) * inv;
    return t > 0.f;
}

__device__ inline bool slab(const Aabb& b, const Ray& r, float3 inv, float tmax) {
    const float tx0 = (b.lo.x - r.org.x) * inv.x, tx1 = (b.hi.x - r.org.x) * inv.x;
    const float ty0 = (b.lo.y - r.org.y) * inv.y, ty1 = (b.hi.y - r.org.y) * inv.y;
    const float tz0 = (b.lo.z - r.org.z) * inv.z, tz1 = (b.hi.z - r.org.z) * inv.z;
    const float enter = fmaxf(fmaxf(fminf(tx0, tx1), fminf(ty0, ty1)), fminf(tz0, tz1));
    const float leave = fminf(fminf(fmaxf(tx0, tx1), fmaxf(ty0, ty1)), fmaxf(tz0, tz1));
    return enter <= leave * 1.00001f + 1e-5f && leave >= 0.f && enter <= tmax;
}

__global__ void morton_codes(const Triangle* tris, std::uint64_t* keys, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Triangle t = tris[i];
    const float third = 1.f / 3.f;
    const std::uint32_t code = morton3((t.a.x + t.b.x + t.c.x) * third, (t.a.y + t.b.y + t.c.y) * third,
                                       (t.a.z + t.b.z + t.c.z) * third);
    keys[i] = (static_cast<std::uint64_t>(code) << 32) | static_cast<std::uint32_t>(i);
}

// 8 bits at a time, one block per digit pass would be overkill here: rank by
// counting in tiles.  Each block sorts a tile bitonically...
template <int Tile>
__global__ void sort_tiles(std::uint64_t* keys, int n) {
    __shared__ std::uint64_t s[Tile];
    const int base = blockIdx.x * Tile;
    for (int i = threadIdx.x; i < Tile; i += blockDim.x) {
        s[i] = base + i < n ? keys[base + i] : ~0ull;
    }
    __syncthreads();
    for (int size = 2; size <= Tile; size <<= 1) {
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            for (int p = threadIdx.x; p < Tile / 2; p += blockDim.x) {
                const int lo = 2 * p - (p & (stride - 1));
                const int hi = lo + stride;
                const bool up = (lo & size) == 0;
                const std::uint64_t x = s[lo], y = s[hi];
                if ((x > y) == up) {
                    s[lo] = y;
                    s[hi] = x;
                }
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < Tile; i += blockDim.x) {
        if (base + i < n) keys[base + i] = s[i];
    }
}

// ... and tiles are merged pairwise by rank search
__global__ void merge_runs(const std::uint64_t* __restrict__ in, std::uint64_t* __restrict__ out, int n, int run) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const std::uint64_t key = in[i];
    const int pair = i / (2 * run) * (2 * run);
    const bool in_left = i - pair < run;
    const int other_lo = in_left ? min(pair + run, n) : pair;
    const int other_hi = in_left ? min(pair + 2 * run, n) : min(pair + run, n);
    int lo = other_lo, hi = other_hi;
    while (lo < hi) {
        const int mid = (lo + hi) >> 1;
        if (in[mid] < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    const int own_rank = in_left ? i - pair : i - pair - run;
    out[pair + own_rank + (lo - other_lo)] = key;
}

__device__ inline int prefix(const std::uint64_t* keys, int n, int i, int j) {
    if (j < 0 || j >= n) return -1;
    return __clzll(static_cast<long long>(keys[i] ^ keys[j]));
}

__global__ void build_hierarchy(const std::uint64_t* __restrict__ keys, Node* nodes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1) return;
    const int d = prefix(keys, n, i, i + 1) > prefix(keys, n, i, i - 1) ? 1 : -1;
    const int floor_len = prefix(keys, n, i, i - d);
    int lmax = 2;
    while (prefix(keys, n, i, i + lmax * d) > floor_len) lmax <<= 1;
    int len = 0;
    for (int t = lmax >> 1; t >= 1; t >>= 1) {
        if (prefix(keys, n, i, i + (len + t) * d) > floor_len) len += t;
    }
    const int j = i + len * d;
    const int node_len = prefix(keys, n, i, j);
    int s = 0;
    int t = len;
    do {
        t = (t + 1) >> 1;
        if (prefix(keys, n, i, i + (s + t) * d) > node_len) s += t;
    } while (t > 1);
    const int gamma = i + s * d + min(d, 0);
    const int left = min(i, j) == gamma ? n - 1 + gamma : gamma;
    const int right = max(i, j) == gamma + 1 ? n - 1 + gamma + 1 : gamma + 1;
    nodes[i].left = left;
    nodes[i].right = right;
    nodes[i].prim = -1;
    nodes[left].parent = i;
    nodes[right].parent = i;
    if (i == 0) nodes[0].parent = -1;
}

__global__ void refit(const Triangle* __restrict__ tris, const std::uint64_t* __restrict__ keys, Node* nodes,
                      unsigned* visits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int prim = static_cast<int>(keys[i] & 0xffffffffu);
    const Triangle t = tris[prim];
    Node* leaf = nodes + n - 1 + i;
    leaf->box.lo = min3(t.a, min3(t.b, t.c));
    leaf->box.hi = max3(t.a, max3(t.b, t.c));
    leaf->left = leaf->right = -1;
    leaf->prim = prim;
    int p = leaf->parent;
    while (p >= 0) {
        __threadfence();
        if (atomicAdd(&visits[p], 1u) == 0) return;
        __threadfence();
        const volatile Node* l = nodes + nodes[p].left;
        const volatile Node* r = nodes + nodes[p].right;
        const float3 llo = make_float3(l->box.lo.x, l->box.lo.y, l->box.lo.z);
        const float3 lhi = make_float3(l->box.hi.x, l->box.hi.y, l->box.hi.z);
        const float3 rlo = make_float3(r->box.lo.x, r->box.lo.y, r->box.lo.z);
        const float3 rhi = make_float3(r->box.hi.x, r->box.hi.y, r->box.hi.z);
        nodes[p].box.lo = min3(llo, rlo);
        nodes[p].box.hi = max3(lhi, rhi);
        p = nodes[p].parent;
    }
}

// private stack in local memory
__global__ void trace_local_stack(const Node* __restrict__ nodes, const Triangle* __restrict__ tris,
                                  const Ray* __restrict__ rays, Hit* __restrict__ hits, int count) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= count) return;
    const Ray ray = rays[r];
    const float3 inv = make_float3(1.f / ray.dir.x, 1.f / ray.dir.y, 1.f / ray.dir.z);
    Hit best{FLT_MAX, -1};
    int stack[64];
    int top = 0;
    stack[top++] = 0;
    while (top > 0) {
        const Node& nd = nodes[stack[--top]];
        if (!slab(nd.box, ray, inv, best.t)) continue;
        if (nd.prim >= 0) {
            float t;
            if (intersect(tris[nd.prim], ray, t) && t < best.t) {
                best.t = t;
                best.prim = nd.prim;
            }
        } else {
            stack[top++] = nd.right;
            stack[top++] = nd.left;
        }
    }
    hits[r] = best;
}

// stack carved from dynamic shared memory; Strided picks [entry][thread] or [thread][entry]
template <bool Strided, int Depth>
__global__ void trace_shared_stack(const Node* __restrict__ nodes, const Triangle* __restrict__ tris,
                                   const Ray* __restrict__ rays, Hit* __restrict__ hits, int count) {
    extern __shared__ int pool[];
    int* stack = Strided ? pool + threadIdx.x : pool + threadIdx.x * Depth;
    const int step = Strided ? blockDim.x : 1;
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < count; r += gridDim.x * blockDim.x) {
        const Ray ray = rays[r];
        const float3 inv = make_float3(1.f / ray.dir.x, 1.f / ray.dir.y, 1.f / ray.dir.z);
        Hit best{FLT_MAX, -1};
        int top = 0;
        stack[step * top++] = 0;
        while (top > 0) {
            const int id = stack[step * --top];
            const Node& nd = nodes[id];
            if (!slab(nd.box, ray, inv, best.t)) continue;
            if (nd.prim >= 0) {
                float t;
                if (intersect(tris[nd.prim], ray, t) && t < best.t) {
                    best.t = t;
                    best.prim = nd.prim;
                }
            } else {
                stack[step * top++] = nd.right;
                stack[step * top++] = nd.left;
            }
        }
        hits[r] = best;
    }
}

template <class T>
T* upload(const std::vector<T>& v) {
    T* p = nullptr;
    LBVH_CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
    LBVH_CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

}  // namespace lbvh

int main() {
    using namespace lbvh;
    constexpr int n = 20000, nrays = 16384, tile = 1024, depth = 64, check_rays = 2000;
    std::mt19937 rng(77);
    std::uniform_real_distribution<float> u01(0.f, 1.f), jit(-0.02f, 0.02f);
    std::vector<Triangle> tris(n);
    for (auto& t : tris) {
        const float3 c = make_float3(u01(rng), u01(rng), u01(rng));
        const auto near_c = [&] { return make_float3(c.x + jit(rng), c.y + jit(rng), c.z + jit(rng)); };
        t.a = near_c();
        t.b = near_c();
        t.c = near_c();
    }
    std::vector<Ray> rays(nrays);
    for (int i = 0; i < nrays; ++i) {
        const int px = i % 128, py = i / 128;
        rays[i].org = make_float3(0.5f, 0.5f, -1.5f);
        rays[i].dir = make_float3((px - 63.3f) / 180.f, (py - 63.7f) / 180.f, 1.f);
    }
    std::vector<Node> blank(2 * n - 1);
    std::vector<unsigned> zeros(n, 0);
    Triangle* d_tris = upload(tris);
    Ray* d_rays = upload(rays);
    Node* d_nodes = upload(blank);
    unsigned* d_visits = upload(zeros);
    std::uint64_t* d_keys[2];
    Hit* d_hits;
    for (auto& k : d_keys) LBVH_CHECK(cudaMalloc(&k, n * sizeof(std::uint64_t)));
    LBVH_CHECK(cudaMalloc(&d_hits, nrays * sizeof(Hit)));

    const int blocks = (n + 127) / 128;
    morton_codes<<<blocks, 128>>>(d_tris, d_keys[0], n);
    std::vector<std::uint64_t> want(n), got(n);
    LBVH_CHECK(cudaMemcpy(want.data(), d_keys[0], n * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
    std::sort(want.begin(), want.end());
    sort_tiles<tile><<<(n + tile - 1) / tile, 256>>>(d_keys[0], n);
    int cur = 0;
    for (int run = tile; run < n; run *= 2) {
        merge_runs<<<blocks, 128>>>(d_keys[cur], d_keys[cur ^ 1], n, run);
        cur ^= 1;
    }
    LBVH_CHECK(cudaMemcpy(got.data(), d_keys[cur], n * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
    bool ok = got == want;
    std::printf("sort %s\n", ok ? "ok" : "WRONG");
    if (!ok) {
        std::puts("FAIL");
        return 1;
    }

    build_hierarchy<<<blocks, 128>>>(d_keys[cur], d_nodes, n);
    refit<<<blocks, 128>>>(d_tris, d_keys[cur], d_nodes, d_visits, n);
    LBVH_CHECK(cudaDeviceSynchronize());
    std::vector<Node> nodes(2 * n - 1);
    LBVH_CHECK(cudaMemcpy(nodes.data(), d_nodes, nodes.size() * sizeof(Node), cudaMemcpyDeviceToHost));
    float3 lo = tris[0].a, hi = tris[0].a;
    for (const auto& t : tris) {
        lo = min3(lo, min3(t.a, min3(t.b, t.c)));
        hi = max3(hi, max3(t.a, max3(t.b, t.c)));
    }
    ok = ok && nodes[0].box.lo.x == lo.x && nodes[0].box.hi.z == hi.z && nodes[0].box.hi.y == hi.y;
    std::printf("root box %s\n", ok ? "ok" : "WRONG");

    std::vector<float> t_ref(check_rays, FLT_MAX);
    const auto ray_of = [&](int i) { return i * 8 + 3; };
    for (int i = 0; i < check_rays; ++i) {
        for (int k = 0; k < n; ++k) {
            float t;
            if (intersect(tris[k], rays[ray_of(i)], t)) t_ref[i] = std::min(t_ref[i], t);
        }
    }
    std::vector<Hit> hits(nrays);
    const auto verify = [&](const char* name) {
        LBVH_CHECK(cudaGetLastError());
        LBVH_CHECK(cudaMemcpy(hits.data(), d_hits, nrays * sizeof(Hit), cudaMemcpyDeviceToHost));
        int bad = 0;
        for (int i = 0; i < check_rays; ++i) {
            bad += !(std::fabs(hits[ray_of(i)].t - t_ref[i]) <= 1e-3f * t_ref[i]);
        }
        // rays grazing an edge may fall either side of the test
        std::printf("%-22s differing rays %d\n", name, bad);
        ok = ok && bad <= 8;
        LBVH_CHECK(cudaMemset(d_hits, 0, nrays * sizeof(Hit)));
    };
    trace_local_stack<<<nrays / 64, 64>>>(d_nodes, d_tris, d_rays, d_hits, nrays);
    verify("local stack");
    trace_shared_stack<true, depth><<<nrays / 64, 64, 64 * depth * sizeof(int)>>>(d_nodes, d_tris, d_rays, d_hits, nrays);
    verify("shared stack, strided");
    trace_shared_stack<false, depth><<<nrays / 64, 64, 64 * depth * sizeof(int)>>>(d_nodes, d_tris, d_rays, d_hits, nrays);
    verify("shared stack, rows");
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
