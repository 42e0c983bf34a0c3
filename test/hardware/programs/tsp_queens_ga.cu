// Search kernels: n-queens by prefix enumeration with explicit stacks, TSP 2-opt best move, genetic algorithm generation (tournament, crossover, mutation)
#include <cstdio>
#include <cmath>
#include <cstdlib>
#include <vector>
#include <numeric>
#include <algorithm>
#include <cuda_runtime.h>

// ---------- n-queens -------------
struct Prefix { unsigned cols, dl, dr; };

template <int N, int DEPTH, int BLOCK>
__global__ void queens(const Prefix* pre, int count, unsigned long long* total)
{
    __shared__ unsigned st_c[N - DEPTH + 1][BLOCK], st_l[N - DEPTH + 1][BLOCK], st_r[N - DEPTH + 1][BLOCK], st_free[N - DEPTH + 1][BLOCK];
    const int t = threadIdx.x, id = blockIdx.x * BLOCK + t;
    const unsigned all = (1u << N) - 1;
    unsigned found = 0;
    if (id < count) {
        int sp = 0;
        Prefix p = pre[id];
        st_c[0][t] = p.cols; st_l[0][t] = p.dl; st_r[0][t] = p.dr;
        st_free[0][t] = all & ~(p.cols | p.dl | p.dr);
        while (sp >= 0) {
            unsigned f = st_free[sp][t];
            if (!f) { --sp; continue; }
            unsigned bit = f & -f;
            st_free[sp][t] = f ^ bit;
            unsigned c = st_c[sp][t] | bit;
            if (c == all) { ++found; continue; }
            unsigned l = (st_l[sp][t] | bit) << 1, r = (st_r[sp][t] | bit) >> 1;
            ++sp;
            st_c[sp][t] = c; st_l[sp][t] = l; st_r[sp][t] = r;
            st_free[sp][t] = all & ~(c | l | r);
        }
    }
    found = __reduce_add_sync(0xffffffffu, found);
    if (!(t & 31)) atomicAdd(total, (unsigned long long)found);
}

// ---------- 2-opt ----------------
__device__ __forceinline__ float edge(const float2& a, const float2& b) { return hypotf(a.x - b.x, a.y - b.y); }

__global__ void two_opt_best(const float2* __restrict__ city, const unsigned short* __restrict__ tour, int n, unsigned long long* best)
{
    extern __shared__ float2 ord[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) ord[i] = city[tour[i]];
    __syncthreads();
    unsigned long long mine = ~0ull;
    for (int i = blockIdx.x; i < n - 2; i += gridDim.x) {
        const float2 a = ord[i], b = ord[i + 1];
        const float ab = edge(a, b);
        for (int j = n - 1 - threadIdx.x; j > i + 1; j -= blockDim.x) {
            float2 c = ord[j], d = ord[j + 1 == n ? 0 : j + 1];
            float delta = edge(a, c) + edge(b, d) - ab - edge(c, d);
            if (delta < -1e-4f) {
                unsigned key = 0x7fffffffu - (unsigned)__float2int_rd(-delta * 65536.f);
                unsigned long long v = ((unsigned long long)key << 32) | (unsigned)(i << 16 | j);
                mine = min(mine, v);
            }
        }
    }
    if (mine != ~0ull) atomicMin(best, mine);
}

__global__ void two_opt_apply(unsigned short* tour, unsigned long long* best, int* moves)
{
    unsigned long long v = *best;
    if (v == ~0ull) return;
    int i = ((unsigned)v >> 16) + 1, j = (unsigned)v & 0xffff;
    for (int l = i + threadIdx.x, r = j - threadIdx.x; l < r; l += blockDim.x, r -= blockDim.x) {
        unsigned short tmp = tour[l]; tour[l] = tour[r]; tour[r] = tmp;
    }
    __syncthreads();
    if (threadIdx.x == 0) { *best = ~0ull; ++*moves; }
}

// ---------- GA: maximise ones in blocks (royal road) -----------
constexpr int GENES = 80;
__device__ unsigned rng(unsigned& s) { s = s * 747796405u + 2891336453u; unsigned w = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u; return (w >> 22) ^ w; }

__global__ void fitness(const bool* pop, int* fit, int n)
{
    int ind = (blockIdx.x * blockDim.x + threadIdx.x) >> 3, l = threadIdx.x & 7;
    int s = 0;
    if (ind < n)
        for (int b = l; b < GENES / 8; b += 8) {
            int ones = 0;
            for (int k = 0; k < 8; ++k) ones += pop[ind * GENES + b * 8 + k];
            s += ones == 8 ? 16 : ones;
        }
    for (int o = 4; o; o >>= 1) s += __shfl_down_sync(~0u, s, o, 8);
    if (l == 0 && ind < n) fit[ind] = s;
}

__global__ void breed(const bool* __restrict__ pop, bool* __restrict__ next, const int* __restrict__ fit, int n, unsigned seed)
{
    __shared__ int parent[2], cut;
    const int child = blockIdx.x;
    unsigned s = seed ^ (child * 2654435761u) ^ (threadIdx.x << 20);
    if (threadIdx.x < 2) {
        int a = rng(s) % n, b = rng(s) % n;
        parent[threadIdx.x] = fit[a] > fit[b] ? a : b;
    }
    if (threadIdx.x == 2) cut = rng(s) % GENES;
    __syncthreads();
    for (int g = threadIdx.x; g < GENES; g += blockDim.x) {
        bool v = pop[parent[g >= cut] * GENES + g];
        if (rng(s) % 200 == 0) v = !v;
        next[child * GENES + g] = v;
    }
}

static double length(const std::vector<float2>& c, const std::vector<unsigned short>& t)
{
    double s = 0;
    for (size_t i = 0; i < t.size(); ++i) { float2 a = c[t[i]], b = c[t[(i + 1) % t.size()]]; s += hypot(a.x - b.x, a.y - b.y); }
    return s;
}

int main()
{
    std::vector<Prefix> pre; const unsigned all = (1u << 10) - 1;
    for (int a = 0; a < 10; ++a) for (int b = 0; b < 10; ++b) {
        unsigned A = 1u << a, B = 1u << b, l = A << 1, r = A >> 1;
        if (B & (A | l | r)) continue;
        pre.push_back({A | B, ((l | B) << 1) & all, (r | B) >> 1});
    }
    Prefix* dp; unsigned long long *cnt, *best; cudaMalloc(&dp, pre.size() * sizeof(Prefix)); cudaMalloc(&cnt, 8); cudaMalloc(&best, 8);
    cudaMemcpy(dp, pre.data(), pre.size() * sizeof(Prefix), cudaMemcpyHostToDevice); cudaMemset(cnt, 0, 8); cudaMemset(best, 0xff, 8);
    queens<10, 2, 32><<<((int)pre.size() + 31) / 32, 32>>>(dp, (int)pre.size(), cnt);

    const int n = 250; std::vector<float2> city(n); std::vector<unsigned short> tour(n), out(n); std::iota(tour.begin(), tour.end(), 0);
    srand(6); for (auto& c : city) c = make_float2(rand() % 1000 * 0.1f, rand() % 1000 * 0.1f);
    float2* dc; unsigned short* dt; int* mv; cudaMalloc(&dc, n * 8); cudaMalloc(&dt, n * 2); cudaMalloc(&mv, 4); cudaMemset(mv, 0, 4);
    cudaMemcpy(dc, city.data(), n * 8, cudaMemcpyHostToDevice); cudaMemcpy(dt, tour.data(), n * 2, cudaMemcpyHostToDevice);
    for (int it = 0; it < 2; ++it) {
        two_opt_best<<<24, 96, n * sizeof(float2)>>>(dc, dt, n, best);
        two_opt_apply<<<1, 64>>>(dt, best, mv);
    }
    const int pn = 300; bool *p0, *p1; int* fit; cudaMalloc(&p0, pn * GENES); cudaMalloc(&p1, pn * GENES); cudaMalloc(&fit, pn * 4);
    std::vector<char> init(pn * GENES); for (auto& b : init) b = rand() & 1;
    cudaMemcpy(p0, init.data(), init.size(), cudaMemcpyHostToDevice);
    std::vector<int> f0(pn), f1(pn);
    fitness<<<(pn * 8 + 127) / 128, 128>>>(p0, fit, pn); cudaMemcpy(f0.data(), fit, pn * 4, cudaMemcpyDeviceToHost);
    breed<<<pn, 40>>>(p0, p1, fit, pn, 99u);
    fitness<<<(pn * 8 + 127) / 128, 128>>>(p1, fit, pn); cudaMemcpy(f1.data(), fit, pn * 4, cudaMemcpyDeviceToHost);
    unsigned long long q; int moves; cudaMemcpy(&q, cnt, 8, cudaMemcpyDeviceToHost); cudaMemcpy(&moves, mv, 4, cudaMemcpyDeviceToHost); cudaMemcpy(out.data(), dt, n * 2, cudaMemcpyDeviceToHost);
    double l0 = length(city, tour), l1 = length(city, out); long s0 = std::accumulate(f0.begin(), f0.end(), 0L), s1 = std::accumulate(f1.begin(), f1.end(), 0L);
    std::sort(out.begin(), out.end()); bool perm = out == tour;
    printf("10-queens %llu (724), tour %.1f -> %.1f in %d moves, mean fitness %.2f -> %.2f\n", q, l0, l1, moves, s0 / (double)pn, s1 / (double)pn);
    return q != 724 || !perm || l1 >= l0 || s1 <= s0;
}
