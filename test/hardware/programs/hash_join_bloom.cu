// Database style: build a linear probing hash table (64-bit CAS), bloom filter prefilter, probe, group-by aggregate
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <unordered_map>
#include <vector>

#define EMPTY 0xFFFFFFFFFFFFFFFFull

template <typename K> struct murmur { __host__ __device__ uint32_t operator()(K k, uint32_t seed = 0) const {
  uint32_t h = (uint32_t)k ^ seed; h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16; return h; } };

struct Table { unsigned long long* slots; uint32_t mask; };       // key in high word, value in low
struct Bloom { uint32_t* words; uint32_t nbits; };
struct LineItem { uint32_t key; uint32_t qty; float price; uint32_t flags; };

class HashJoin {
public:
  Table t; Bloom b;
  explicit HashJoin(uint32_t cap) {
    uint32_t c = 1; while (c < cap * 2) c <<= 1;
    t.mask = c - 1; b.nbits = cap * 10;
    cudaMalloc(&t.slots, (size_t)c * 8); cudaMemset(t.slots, 0xff, (size_t)c * 8);
    cudaMalloc(&b.words, b.nbits / 8 + 4); cudaMemset(b.words, 0, b.nbits / 8 + 4);
  }
  ~HashJoin() { cudaFree(t.slots); cudaFree(b.words); }
};

__global__ void build(Table t, Bloom b, const uint32_t* __restrict__ keys, const uint32_t* __restrict__ vals, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t k = keys[i];
  unsigned long long kv = ((unsigned long long)k << 32) | vals[i];
  murmur<uint32_t> h;
  uint32_t s = h(k) & t.mask;
  while (true) {
    unsigned long long old = atomicCAS(&t.slots[s], EMPTY, kv);
    if (old == EMPTY) break;
    s = (s + 1) & t.mask;
  }
#pragma unroll
  for (uint32_t j = 1; j <= 3; ++j) {
    uint32_t bit = h(k, j * 0x9e3779b9u) % b.nbits;
    atomicOr(&b.words[bit >> 5], 1u << (bit & 31));
  }
}

template <bool USE_BLOOM>
__global__ void probe(Table t, Bloom b, const LineItem* __restrict__ rows, int n, uint32_t* __restrict__ group, unsigned* matches) {
  murmur<uint32_t> h;
  unsigned local = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint32_t k = rows[i].key, g = 0xffffffffu;
    bool maybe = true;
    if (USE_BLOOM)
      for (uint32_t j = 1; j <= 3 && maybe; ++j) {
        uint32_t bit = h(k, j * 0x9e3779b9u) % b.nbits;
        maybe = b.words[bit >> 5] >> (bit & 31) & 1;
      }
    if (maybe) {
      uint32_t s = h(k) & t.mask;
      for (unsigned long long e; (e = t.slots[s]) != EMPTY; s = (s + 1) & t.mask)
        if ((uint32_t)(e >> 32) == k) { g = (uint32_t)e; ++local; break; }
    }
    group[i] = g;
  }
  for (int o = 16; o; o >>= 1) local += __shfl_down_sync(0xffffffffu, local, o);
  if (threadIdx.x % 32 == 0) atomicAdd(matches, local);
}

// sum(qty * flag) by group; privatised in shared memory for few groups
__global__ void aggregate(const LineItem* rows, const uint32_t* group, int n, unsigned long long* sums, int ngroups) {
  extern __shared__ unsigned long long sh[];
  for (int g = threadIdx.x; g < ngroups; g += blockDim.x) sh[g] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint32_t g = group[i];
    if (g != 0xffffffffu && (rows[i].flags & 1)) atomicAdd(&sh[g], (unsigned long long)rows[i].qty);
  }
  __syncthreads();
  for (int g = threadIdx.x; g < ngroups; g += blockDim.x)
    if (sh[g]) atomicAdd(&sums[g], sh[g]);
}

int main() {
  const int nb = 150000, np = 1500007, ng = 97;
  std::vector<uint32_t> keys(nb), vals(nb);
  std::vector<LineItem> rows(np);
  std::unordered_map<uint32_t, uint32_t> ref;
  for (int i = 0; i < nb; ++i) { keys[i] = i * 2654435761u; vals[i] = (i * 31u) % ng; ref[keys[i]] = vals[i]; }
  uint64_t s = 77;
  for (auto& r : rows) {
    s = s * 6364136223846793005ull + 1; uint32_t x = s >> 33;
    r.key = x % 3 == 0 ? keys[x % nb] : x * 2246822519u; r.qty = x % 50; r.price = x * 0.01f; r.flags = x >> 5;
  }
  std::vector<unsigned long long> rs(ng, 0), gs(ng); unsigned rm = 0;
  for (auto& r : rows) { auto it = ref.find(r.key); if (it != ref.end()) { ++rm; if (r.flags & 1) rs[it->second] += r.qty; } }
  HashJoin j(nb);
  uint32_t *dk, *dv, *dg; LineItem* dr; unsigned* dm; unsigned long long* dsum;
  cudaMalloc(&dk, nb * 4); cudaMalloc(&dv, nb * 4); cudaMalloc(&dg, np * 4); cudaMalloc(&dr, np * sizeof(LineItem));
  cudaMallocManaged(&dm, 2 * sizeof(unsigned)); cudaMalloc(&dsum, ng * 8);
  cudaMemcpy(dk, keys.data(), nb * 4, cudaMemcpyHostToDevice); cudaMemcpy(dv, vals.data(), nb * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dr, rows.data(), np * sizeof(LineItem), cudaMemcpyHostToDevice);
  dm[0] = dm[1] = 0; cudaMemset(dsum, 0, ng * 8);
  build<<<(nb + 255) / 256, 256>>>(j.t, j.b, dk, dv, nb);
  probe<false><<<528, 256>>>(j.t, j.b, dr, np, dg, dm);
  probe<true><<<528, 256>>>(j.t, j.b, dr, np, dg, dm + 1);
  aggregate<<<132, 512, ng * sizeof(unsigned long long)>>>(dr, dg, np, dsum, ng);
  cudaError_t e = cudaDeviceSynchronize();
  cudaMemcpy(gs.data(), dsum, ng * 8, cudaMemcpyDeviceToHost);
  bool ok = dm[0] == rm && dm[1] == rm && gs == rs;
  printf("matches %u %u ref %u %s\n%s\n", dm[0], dm[1], rm, cudaGetErrorString(e), ok ? "PASS" : "FAIL");
}
