// Connected components: label propagation and ECL-like union-find hooking
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include <numeric>
#include <algorithm>
#include <functional>

using vid = unsigned int;
struct Edge { vid u, v; };

__global__ void init_labels(vid* p, vid n)
{
    for (vid i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = i;
}

__device__ vid find_root(volatile vid* p, vid x)
{
    vid cur = p[x];
    if (cur != x) {
        vid prev = x, next;
        while (cur > (next = p[cur])) {
            p[prev] = next;       // path halving
            prev = cur;
            cur = next;
        }
    }
    return cur;
}

__global__ void hook(const Edge* __restrict__ e, size_t m, vid* p)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    vid a = find_root(p, e[i].u), b = find_root(p, e[i].v);
    while (a != b) {
        if (a < b) { vid t = a; a = b; b = t; }
        vid old = atomicCAS(&p[a], a, b);
        if (old == a) break;
        a = find_root(p, old);
        b = find_root(p, b);
    }
}

__global__ void flatten(vid* p, vid n)
{
    vid i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    vid r = p[i];
    while (r != p[r]) r = p[r];
    p[i] = r;
}

// one round of min label propagation over edges + pointer jump
__global__ void propagate(const Edge* e, size_t m, vid* lab, int* changed)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool c = false;
    if (i < m) {
        vid a = lab[e[i].u], b = lab[e[i].v];
        if (a < b) { atomicMin(&lab[e[i].v], a); atomicMin(&lab[b], a); c = true; }
        else if (b < a) { atomicMin(&lab[e[i].u], b); atomicMin(&lab[a], b); c = true; }
    }
    if (__syncthreads_or(c) && threadIdx.x == 0) *changed = 1;
}

__global__ void component_sizes(const vid* p, unsigned* size, unsigned* ncomp, vid n)
{
    vid i = blockIdx.x * blockDim.x + threadIdx.x;
    bool root = false;
    if (i < n) {
        vid r = p[i];
        root = r == i;
        unsigned peers = __match_any_sync(__activemask(), r);
        if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&size[r], __popc(peers));
    }
    int c = __syncthreads_count(root);
    if (threadIdx.x == 0) atomicAdd(ncomp, c);
}

int main()
{
    const vid n = 400000;
    const size_t m = 420001;
    std::vector<Edge> e(m);
    unsigned long long s = 2463534242ull;
    auto rnd = [&]() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; };
    for (auto& x : e) {
        x.u = rnd() % n;
        x.v = rnd() % 3 ? (x.u + rnd() % 100) % n : rnd() % (n / 50 + 1) * 50 % n;
    }
    std::vector<vid> ref(n);
    std::iota(ref.begin(), ref.end(), 0u);
    std::function<vid(vid)> find = [&](vid x) { while (ref[x] != x) x = ref[x] = ref[ref[x]]; return x; };
    for (auto& x : e) { vid a = find(x.u), b = find(x.v); if (a != b) ref[std::max(a, b)] = std::min(a, b); }
    unsigned rc = 0, big = 0;
    std::vector<unsigned> rs(n, 0);
    for (vid i = 0; i < n; i++) { rc += find(i) == i; big = std::max(big, ++rs[find(i)]); }

    Edge* de; vid *dp, *dl; unsigned *dsz, *dnc; int* ch;
    cudaMalloc(&de, m * sizeof(Edge)); cudaMalloc(&dp, n * 4); cudaMalloc(&dl, n * 4);
    cudaMalloc(&dsz, n * 4); cudaMalloc(&dnc, 4); cudaMallocManaged(&ch, 4);
    cudaMemcpy(de, e.data(), m * sizeof(Edge), cudaMemcpyHostToDevice);
    cudaMemset(dsz, 0, n * 4); cudaMemset(dnc, 0, 4);
    const unsigned gm = (m + 255) / 256, gn = (n + 255) / 256;
    init_labels<<<120, 256>>>(dp, n);
    hook<<<gm, 256>>>(de, m, dp);
    flatten<<<gn, 256>>>(dp, n);
    component_sizes<<<gn, 256>>>(dp, dsz, dnc, n);
    cudaMemcpy(dl, dp, n * 4, cudaMemcpyDeviceToDevice);
    *ch = 0;
    propagate<<<gm, 256>>>(de, m, dl, ch);     // must be stable already
    cudaDeviceSynchronize();
    int stable = !*ch;
    init_labels<<<120, 256>>>(dl, n);
    for (int r = 0; r < 2; r++) { propagate<<<gm, 256>>>(de, m, dl, ch); flatten<<<gn, 256>>>(dl, n); }
    std::vector<vid> p(n), l(n); std::vector<unsigned> sz(n); unsigned nc;
    cudaMemcpy(p.data(), dp, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(l.data(), dl, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(sz.data(), dsz, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&nc, dnc, 4, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (vid i = 0; i < n; i++) { bad += p[i] != find(i); bad += find(l[i]) != find(i); }
    unsigned gbig = *std::max_element(sz.begin(), sz.end());
    printf("components %u (ref %u), largest %u (ref %u), bad %d, stable %d, %s\n", nc, rc, gbig, big, bad, stable, cudaGetErrorString(cudaGetLastError()));
    puts(!bad && nc == rc && gbig == big && stable ? "PASS" : "FAIL");
}
