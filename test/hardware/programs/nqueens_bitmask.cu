// N-Queens: host expands a prefix, device threads finish with an explicit stack (two variants).
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdint>
#include <vector>

#define N 12
#define DEPTH 4
#define FULL ((1u << N) - 1)

struct Prefix {
    uint32_t cols, d1, d2;
};

static void expand(int row, Prefix p, std::vector<Prefix>& out) {
    if (row == DEPTH) {
        out.push_back(p);
        return;
    }
    for (uint32_t m = FULL & ~(p.cols | p.d1 | p.d2); m; m &= m - 1) {
        uint32_t b = m & -m;
        expand(row + 1, {p.cols | b, ((p.d1 | b) << 1) & FULL, (p.d2 | b) >> 1}, out);
    }
}
static uint64_t count_cpu(uint32_t c, uint32_t a, uint32_t b) {
    if (c == FULL) return 1;
    uint64_t s = 0;
    for (uint32_t m = FULL & ~(c | a | b); m; m &= m - 1) {
        uint32_t q = m & -m;
        s += count_cpu(c | q, (a | q) << 1, (b | q) >> 1);
    }
    return s;
}

// stack in local memory (dynamic indices => local loads/stores)
__global__ void solve_local_stack(const Prefix* p, int n, unsigned long long* total) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    Prefix st[N];
    uint32_t avail[N];
    int sp = 0;
    unsigned cnt = 0;
    st[0] = p[t];
    avail[0] = FULL & ~(st[0].cols | st[0].d1 | st[0].d2);
    while (sp >= 0) {
        if (!avail[sp]) {
            --sp;
            continue;
        }
        uint32_t b = avail[sp] & -avail[sp];
        avail[sp] ^= b;
        Prefix q = {st[sp].cols | b, (st[sp].d1 | b) << 1, (st[sp].d2 | b) >> 1};
        if (q.cols == FULL) {
            ++cnt;
            continue;
        }
        ++sp;
        st[sp] = q;
        avail[sp] = FULL & ~(q.cols | q.d1 | q.d2);
    }
    if (cnt) atomicAdd(total, (unsigned long long)cnt);
}

// stack in shared memory, one column per thread, plus block level accumulation
template <int BS>
__global__ void solve_shared_stack(const uint32_t* __restrict__ cols, const uint32_t* __restrict__ d1, const uint32_t* __restrict__ d2, int n, unsigned* per_prefix) {
    __shared__ uint32_t sc[N - DEPTH][BS], sa[N - DEPTH][BS], sb[N - DEPTH][BS], sm[N - DEPTH][BS];
    int x = threadIdx.x;
    for (int t = blockIdx.x * BS + x; t < n; t += gridDim.x * BS) {
        int sp = 0;
        unsigned cnt = 0;
        sc[0][x] = cols[t]; sa[0][x] = d1[t]; sb[0][x] = d2[t];
        sm[0][x] = FULL & ~(cols[t] | d1[t] | d2[t]);
        while (sp >= 0) {
            uint32_t m = sm[sp][x];
            if (m == 0) { --sp; continue; }
            uint32_t b = m & (0u - m);
            sm[sp][x] = m ^ b;
            uint32_t c = sc[sp][x] | b, a = (sa[sp][x] | b) << 1, d = (sb[sp][x] | b) >> 1;
            if (c == FULL) { ++cnt; continue; }
            uint32_t f = FULL & ~(c | a | d);
            if (!f) continue;
            ++sp;
            sc[sp][x] = c; sa[sp][x] = a; sb[sp][x] = d; sm[sp][x] = f;
        }
        per_prefix[t] = cnt;
    }
}

__global__ void split_prefix(const Prefix* p, int n, uint32_t* c, uint32_t* a, uint32_t* b) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) { c[t] = p[t].cols; a[t] = p[t].d1; b[t] = p[t].d2; }
}

int main() {
    std::vector<Prefix> pre;
    expand(0, {0, 0, 0}, pre);
    int n = pre.size();
    Prefix* dp; uint32_t *c, *a, *b; unsigned* cnt; unsigned long long* tot;
    cudaMalloc(&dp, n * sizeof(Prefix)); cudaMalloc(&c, n * 4); cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);
    cudaMalloc(&cnt, n * 4); cudaMalloc(&tot, 8);
    cudaMemset(tot, 0, 8);
    cudaMemcpy(dp, pre.data(), n * sizeof(Prefix), cudaMemcpyHostToDevice);
    solve_local_stack<<<(n + 63) / 64, 64>>>(dp, n, tot);
    split_prefix<<<(n + 255) / 256, 256>>>(dp, n, c, a, b);
    solve_shared_stack<96><<<40, 96>>>(c, a, b, n, cnt);
    unsigned long long t;
    std::vector<unsigned> h(n);
    cudaMemcpy(&t, tot, 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(h.data(), cnt, n * 4, cudaMemcpyDeviceToHost);
    int bad = cudaGetLastError() != cudaSuccess;
    uint64_t ref = 0;
    for (int i = 0; i < n; ++i) {
        uint64_t r = count_cpu(pre[i].cols, pre[i].d1, pre[i].d2);
        ref += r;
        if (r != h[i]) ++bad;
    }
    printf("%d prefixes, %llu solutions (ref %llu)\n", n, t, (unsigned long long)ref);
    bool ok = !bad && t == ref && ref == 14200;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
