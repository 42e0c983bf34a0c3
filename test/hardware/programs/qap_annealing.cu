// Quadratic assignment by simulated annealing, many chains in parallel.
// place N workshops on N sites: minimise sum flow[i][j] * dist[p[i]][p[j]].
// All costs are integers and acceptance uses an integer table, so a chain can be replayed on the CPU bit by bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

#define CHECK_RT(c) do { if ((c) != cudaSuccess) { std::printf("runtime error, line %d\n", __LINE__); std::exit(1); } } while (0)

constexpr int N = 20;              // workshops
constexpr int CHAINS = 1536;
constexpr int BLOCK = 96;
constexpr int MOVES = 160;         // per launch (= per temperature)
constexpr int LEVELS = 10;
constexpr int BUCKETS = 64;        // acceptance table

// Philox 4x32-10, written as a counter object: rng() gives the next 32 bits
class Philox {
public:
    __host__ __device__ Philox(uint32_t key0, uint32_t key1, uint32_t start) : k0(key0), k1(key1), counter(start), left(0) {}

    __host__ __device__ uint32_t operator()()
    {
        if (left == 0) refill();
        --left;
        return left == 3 ? out[0] : left == 2 ? out[1] : left == 1 ? out[2] : out[3];
    }
    __host__ __device__ uint32_t below(uint32_t n) { return static_cast<uint32_t>((static_cast<uint64_t>((*this)()) * n) >> 32); }
    __host__ __device__ uint32_t position() const { return counter; }

private:
    __host__ __device__ void refill()
    {
        uint32_t c0 = counter++, c1 = 0, c2 = 0x51ed2701u, c3 = 7, a = k0, b = k1;
        for (int r = 0; r < 10; ++r) {
            uint64_t m0 = 0xD2511F53ull * c0, m1 = 0xCD9E8D57ull * c2;
            uint32_t n0 = static_cast<uint32_t>(m1 >> 32) ^ c1 ^ a, n2 = static_cast<uint32_t>(m0 >> 32) ^ c3 ^ b;
            c1 = static_cast<uint32_t>(m1);
            c3 = static_cast<uint32_t>(m0);
            c0 = n0;
            c2 = n2;
            a += 0x9E3779B9u;
            b += 0xBB67AE85u;
        }
        out[0] = c0; out[1] = c1; out[2] = c2; out[3] = c3;
        left = 4;
    }
    uint32_t k0, k1, counter;
    int left;
    uint32_t out[4];
};

struct Chain {                       // lives in global memory between temperatures
    uint8_t site[N];
    int cost;
    int best;
    uint32_t rng_pos;
};

__constant__ uint32_t accept_table[BUCKETS];
__constant__ short flow_c[N][N];

// strided access to a permutation in shared memory, looks like a plain array
struct Column {
    uint8_t* base;
    __device__ uint8_t& operator[](int i) const { return base[i * BLOCK]; }
};

template <class Perm, class FlowRow, class DistRow>
__host__ __device__ inline int swap_delta(const Perm& p, const FlowRow& f, const DistRow& d, int a, int b)
{
    int pa = p[a], pb = p[b], delta = 0;
    for (int k = 0; k < N; ++k) {
        if (k == a || k == b) continue;
        int pk = p[k];
        delta += (f[a][k] - f[b][k]) * (d[pb][pk] - d[pa][pk]);
    }
    return 2 * delta;                // both matrices are symmetric
}

__global__ void start_chains(Chain* chains, const short (*dist)[N])
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= CHAINS) return;
    Philox rng(id, 1, 0);
    Chain c;
    for (int i = 0; i < N; ++i) c.site[i] = i;
    for (int i = N - 1; i > 0; --i) {
        int j = rng.below(i + 1);
        uint8_t t = c.site[i]; c.site[i] = c.site[j]; c.site[j] = t;
    }
    int cost = 0;
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) cost += flow_c[i][j] * dist[c.site[i]][c.site[j]];
    c.cost = c.best = cost;
    c.rng_pos = 0;
    chains[id] = c;
}

__global__ void anneal(Chain* chains, const short (*dist_g)[N], int scale)
{
    __shared__ short dist[N][N];
    __shared__ uint8_t perm[N * BLOCK];
    for (int k = threadIdx.x; k < N * N; k += BLOCK) dist[k / N][k % N] = dist_g[k / N][k % N];
    __syncthreads();

    int id = blockIdx.x * BLOCK + threadIdx.x;
    Chain& mine = chains[id];
    Column p{perm + threadIdx.x};
    for (int i = 0; i < N; ++i) p[i] = mine.site[i];
    int cost = mine.cost, best = mine.best;
    Philox rng(id, 2, mine.rng_pos);
    for (int m = 0; m < MOVES; ++m) {
        int a = rng.below(N), b = rng.below(N - 1);
        b += b >= a;
        int delta = swap_delta(p, flow_c, dist, a, b);
        uint32_t coin = rng();
        int bucket = delta / scale;
        if (delta <= 0 || (bucket < BUCKETS && coin < accept_table[bucket])) {
            uint8_t t = p[a]; p[a] = p[b]; p[b] = t;
            cost += delta;
            best = cost < best ? cost : best;
        }
    }
    for (int i = 0; i < N; ++i) mine.site[i] = p[i];
    mine.cost = cost;
    mine.best = best;
    mine.rng_pos = rng.position();
}

// smallest (cost, chain) pair; the key is packed in 64 bits
__global__ void champion(const Chain* chains, unsigned long long* result)
{
    unsigned long long key = ~0ull;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < CHAINS; i += gridDim.x * blockDim.x) {
        unsigned long long k = (static_cast<unsigned long long>(chains[i].best) << 32) | i;
        key = k < key ? k : key;
    }
    for (int off = 16; off > 0; off >>= 1) {
        unsigned long long other = __shfl_xor_sync(0xffffffffu, key, off);
        key = other < key ? other : key;
    }
    if ((threadIdx.x & 31) == 0) atomicMin(result, key);
}

// the worse chain of every pair (i, i + half) copies the better one; its random stream stays its own
__global__ void tournament(Chain* chains, int half)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= half) return;
    Chain &a = chains[i], &b = chains[i + half];
    Chain* good = a.cost <= b.cost ? &a : &b;
    Chain* poor = a.cost <= b.cost ? &b : &a;
    for (int k = 0; k < N; ++k) poor->site[k] = good->site[k];
    poor->cost = good->cost;
    poor->best = good->best < poor->best ? good->best : poor->best;
}

int main()
{
    static short flow[N][N], dist[N][N];
    uint32_t s = 123456789u;
    auto xs = [&s]() { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; };
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < i; ++j) {
            flow[i][j] = flow[j][i] = xs() % 3 ? 0 : xs() % 30;
            dist[i][j] = dist[j][i] = std::abs(i % 5 - j % 5) + std::abs(i / 5 - j / 5);
        }
    uint32_t table[BUCKETS];
    for (int b = 0; b < BUCKETS; ++b) table[b] = static_cast<uint32_t>(4294967295.0 * std::exp(-(b + 0.5) / 12.0));

    CHECK_RT(cudaMemcpyToSymbol(flow_c, flow, sizeof flow));
    CHECK_RT(cudaMemcpyToSymbol(accept_table, table, sizeof table));
    Chain* d_chains;
    short (*d_dist)[N];
    unsigned long long *d_best, best = ~0ull;
    CHECK_RT(cudaMalloc(&d_chains, CHAINS * sizeof(Chain)));
    CHECK_RT(cudaMalloc(&d_dist, sizeof dist));
    CHECK_RT(cudaMalloc(&d_best, sizeof best));
    CHECK_RT(cudaMemcpy(d_dist, dist, sizeof dist, cudaMemcpyHostToDevice));
    CHECK_RT(cudaMemcpy(d_best, &best, sizeof best, cudaMemcpyHostToDevice));

    std::vector<int> scale;
    for (int l = 0; l < LEVELS; ++l) scale.push_back(std::max(1, 14 - l * 3 / 2));
    start_chains<<<CHAINS / 128, 128>>>(d_chains, d_dist);
    for (int l = 0; l < LEVELS; ++l) {
        anneal<<<CHAINS / BLOCK, BLOCK>>>(d_chains, d_dist, scale[l]);
        if (l % 3 == 2) tournament<<<(CHAINS / 2 + 127) / 128, 128>>>(d_chains, CHAINS / 2);
    }
    champion<<<4, 128>>>(d_chains, d_best);
    CHECK_RT(cudaGetLastError());
    std::vector<Chain> got(CHAINS), ref(CHAINS);
    CHECK_RT(cudaMemcpy(got.data(), d_chains, CHAINS * sizeof(Chain), cudaMemcpyDeviceToHost));
    CHECK_RT(cudaMemcpy(&best, d_best, sizeof best, cudaMemcpyDeviceToHost));

    // replay on the CPU
    auto full_cost = [&](const uint8_t* p) {
        int c = 0;
        for (int i = 0; i < N; ++i) for (int j = 0; j < N; ++j) c += flow[i][j] * dist[p[i]][p[j]];
        return c;
    };
    for (int id = 0; id < CHAINS; ++id) {
        Philox rng(id, 1, 0);
        std::iota(ref[id].site, ref[id].site + N, 0);
        for (int i = N - 1; i > 0; --i) std::swap(ref[id].site[i], ref[id].site[rng.below(i + 1)]);
        ref[id].cost = ref[id].best = full_cost(ref[id].site);
        ref[id].rng_pos = 0;
    }
    const int first_cost = ref[0].cost;
    for (int l = 0; l < LEVELS; ++l) {
        for (int id = 0; id < CHAINS; ++id) {
            Chain& c = ref[id];
            Philox rng(id, 2, c.rng_pos);
            for (int m = 0; m < MOVES; ++m) {
                int a = rng.below(N), b = rng.below(N - 1);
                b += b >= a;
                int delta = swap_delta(c.site, flow, dist, a, b);
                uint32_t coin = rng();
                if (delta <= 0 || (delta / scale[l] < BUCKETS && coin < table[delta / scale[l]])) {
                    std::swap(c.site[a], c.site[b]);
                    c.cost += delta;
                    c.best = std::min(c.best, c.cost);
                }
            }
            c.rng_pos = rng.position();
        }
        if (l % 3 == 2)
            for (int i = 0; i < CHAINS / 2; ++i) {
                Chain &a = ref[i], &b = ref[i + CHAINS / 2];
                Chain& good = a.cost <= b.cost ? a : b;
                Chain& poor = a.cost <= b.cost ? b : a;
                std::copy(good.site, good.site + N, poor.site);
                poor.cost = good.cost;
                poor.best = std::min(good.best, poor.best);
            }
    }
    int bad = 0, lowest = first_cost;
    for (int id = 0; id < CHAINS; ++id) {
        bad += !std::equal(ref[id].site, ref[id].site + N, got[id].site) || ref[id].cost != got[id].cost
            || ref[id].best != got[id].best || ref[id].rng_pos != got[id].rng_pos || full_cost(got[id].site) != got[id].cost;
        lowest = std::min(lowest, ref[id].best);
    }
    if (static_cast<int>(best >> 32) != lowest) ++bad;
    std::printf("first random cost %d, best %d (chain %u), %d bad chains\n", first_cost, lowest, static_cast<unsigned>(best), bad);
    cudaFree(d_chains); cudaFree(d_dist); cudaFree(d_best);
    std::puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
