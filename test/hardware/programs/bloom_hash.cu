// Bloom filter, open addressing hash table with 64-bit CAS, chained table from pool, cuckoo-like lookup statistics
#include <iostream>
#include <vector>
#include <unordered_map>
#include <cstdint>
#include <cuda_runtime.h>

typedef unsigned long long u64;

__host__ __device__ inline uint32_t murmur(uint32_t h, uint32_t seed)
{
    h ^= seed; h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; h ^= h >> 16;
    return h;
}

class BloomFilter {
public:
    static constexpr int kHashes = 4;
    uint32_t* words; uint32_t nbits;
    __device__ void insert(uint32_t key) {
        #pragma unroll
        for (int i = 0; i < kHashes; ++i) {
            uint32_t b = murmur(key, 0x9747b28c * (i + 1)) % nbits;
            uint32_t m = 1u << (b & 31);
            if (!(words[b >> 5] & m)) atomicOr(&words[b >> 5], m);
        }
    }
    __device__ bool query(uint32_t key) const {
        for (int i = 0; i < kHashes; ++i) {
            uint32_t b = murmur(key, 0x9747b28c * (i + 1)) % nbits;
            if (((words[b >> 5] >> (b & 31)) & 1) == 0) return false;
        }
        return true;
    }
};

__global__ void bloom_build(BloomFilter f, const uint32_t* keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f.insert(keys[i]);
}

__global__ void bloom_probe(const BloomFilter f, const uint32_t* __restrict__ keys, int n, uint8_t* __restrict__ hit, int* count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool h = i < n && f.query(keys[i]);
    if (i < n) hit[i] = h;
    int c = __syncthreads_count(h);
    if (threadIdx.x == 0) atomicAdd(count, c);
}

struct Slot { uint32_t key, value; };
constexpr u64 EMPTY = ~0ull;

// count occurrences: key -> count, linear probing
__global__ void count_keys(u64* table, uint32_t cap, const uint32_t* keys, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t k = keys[i], pos = murmur(k, 1) & (cap - 1);
        for (;;) {
            u64 cur = table[pos];
            if (cur == EMPTY) {
                cur = atomicCAS(&table[pos], EMPTY, (u64)k << 32);
                if (cur == EMPTY) cur = (u64)k << 32;
            }
            if ((uint32_t)(cur >> 32) == k) { atomicAdd(&table[pos], 1ull); break; }
            pos = (pos + 1) & (cap - 1);
        }
    }
}

// an aligned group of 4 lanes probes together
__global__ void lookup_group4(const u64* __restrict__ table, uint32_t cap, const uint32_t* __restrict__ q, int n, int* out)
{
    int g = (blockIdx.x * blockDim.x + threadIdx.x) / 4, r = threadIdx.x & 3;
    if (g >= n) return;
    unsigned mask = 0xfu << (threadIdx.x & 28);
    uint32_t k = q[g], pos = murmur(k, 1);
    int res = 0;
    while (true) {
        u64 v = table[(pos + r) & (cap - 1)];
        bool found = v != EMPTY && (uint32_t)(v >> 32) == k, stop = v == EMPTY;
        unsigned f = __ballot_sync(mask, found), s = __ballot_sync(mask, stop);
        if (f) { if (found) out[g] = (int)(uint32_t)v; res = 1; break; }
        if (s) break;
        pos += 4;
    }
    if (!res && r == 0) out[g] = 0;
}

struct Node { int next; uint32_t key; float weight; };
__global__ void chain_insert(int* heads, Node* pool, int* used, const uint32_t* keys, int n, int buckets)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int id = atomicAdd(used, 1);
    uint32_t k = keys[i];
    pool[id].key = k;
    pool[id].weight = 0.25f * (k & 7);
    pool[id].next = atomicExch(&heads[murmur(k, 9) % buckets], id);
}

__global__ void chain_sum(const int* heads, const Node* pool, int buckets, float* sums, int* longest)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= buckets) return;
    float s = 0; int len = 0;
    for (int p = heads[b]; p >= 0; p = pool[p].next, ++len) s += pool[p].weight;
    sums[b] = s;
    atomicMax(longest, len);
}

int main()
{
    const int n = 6000, buckets = 1501;
    const uint32_t cap = 4096, nbits = 60013;
    std::vector<uint32_t> keys(n), probe(n);
    uint32_t s = 2463534242u;
    for (int i = 0; i < n; ++i) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; keys[i] = s % 2500 * 7919; probe[i] = (s >> 3) % 5000 * 7919; }
    std::unordered_map<uint32_t, int> ref; double wsum = 0;
    for (auto k : keys) { ref[k]++; wsum += 0.25 * (k & 7); }
    uint32_t *dk, *dp; uint8_t* hit; int *cnt, *out, *heads; u64* table; Node* pool; float* sums; BloomFilter f;
    f.nbits = nbits;
    cudaMalloc(&f.words, nbits / 8 + 8); cudaMemset(f.words, 0, nbits / 8 + 8);
    cudaMalloc(&dk, n * 4); cudaMalloc(&dp, n * 4); cudaMalloc(&hit, n); cudaMalloc(&cnt, 16); cudaMalloc(&out, n * 4);
    cudaMalloc(&heads, buckets * 4); cudaMalloc(&table, cap * 8); cudaMalloc(&pool, n * sizeof(Node)); cudaMalloc(&sums, buckets * 4);
    cudaMemset(cnt, 0, 16); cudaMemset(table, 0xff, cap * 8); cudaMemset(heads, 0xff, buckets * 4);
    cudaMemcpy(dk, keys.data(), n * 4, cudaMemcpyHostToDevice); cudaMemcpy(dp, probe.data(), n * 4, cudaMemcpyHostToDevice);
    bloom_build<<<(n + 127) / 128, 128>>>(f, dk, n);
    bloom_probe<<<(n + 99) / 100, 100>>>(f, dp, n, hit, cnt);
    count_keys<<<12, 256>>>(table, cap, dk, n);
    lookup_group4<<<(4 * n + 127) / 128, 128>>>(table, cap, dp, n, out);
    chain_insert<<<(n + 191) / 192, 192>>>(heads, pool, cnt + 1, dk, n, buckets);
    chain_sum<<<(buckets + 63) / 64, 64>>>(heads, pool, buckets, sums, cnt + 2);
    std::vector<uint8_t> hh(n); std::vector<int> ho(n); std::vector<float> hs(buckets); int hc[4];
    cudaMemcpy(hh.data(), hit, n, cudaMemcpyDeviceToHost); cudaMemcpy(ho.data(), out, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hs.data(), sums, buckets * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hc, cnt, 16, cudaMemcpyDeviceToHost);
    int bad = 0, fp = 0;
    for (int i = 0; i < n; ++i) {
        auto it = ref.find(probe[i]);
        int want = it == ref.end() ? 0 : it->second;
        bad += ho[i] != want;
        bad += want && !hh[i];
        fp += !want && hh[i];
    }
    double ws = 0; for (float v : hs) ws += v;
    std::cout << "errors " << bad << " bloom hits " << hc[0] << " false positives " << fp << " longest chain " << hc[2] << " weight " << ws << "/" << wsum << std::endl;
    return bad || ws != wsum;
}
