// An open-addressing hash table: insert with compare-and-swap, then look up.
#include <cstdint>
#include <cstdio>
#include <vector>

struct KeyValue { uint32_t key; uint32_t value; };

const uint32_t kHashTableCapacity = 64 * 1024;
const uint32_t kEmpty = 0xffffffff;

__device__ uint32_t hash(uint32_t k)
{
    k ^= k >> 16;
    k *= 0x85ebca6b;
    k ^= k >> 13;
    k *= 0xc2b2ae35;
    k ^= k >> 16;
    return k & (kHashTableCapacity - 1);
}

__global__ void clear(KeyValue *table)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kHashTableCapacity) {
        table[i].key = kEmpty;
        table[i].value = kEmpty;
    }
}

__global__ void insert(KeyValue *hashtable, const KeyValue *kvs, unsigned int numkvs)
{
    unsigned int threadid = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadid < numkvs) {
        uint32_t key = kvs[threadid].key;
        uint32_t value = kvs[threadid].value;
        uint32_t slot = hash(key);
        while (true) {
            uint32_t prev = atomicCAS(&hashtable[slot].key, kEmpty, key);
            if (prev == kEmpty || prev == key) {
                hashtable[slot].value = value;
                return;
            }
            slot = (slot + 1) & (kHashTableCapacity - 1);
        }
    }
}

__global__ void lookup(const KeyValue *hashtable, KeyValue *kvs, unsigned int numkvs)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= numkvs) return;
    KeyValue q = kvs[i];
    for (uint32_t slot = hash(q.key);; slot = (slot + 1) & (kHashTableCapacity - 1)) {
        KeyValue found = hashtable[slot];
        if (found.key == q.key) { kvs[i].value = found.value; return; }
        if (found.key == kEmpty) { kvs[i].value = kEmpty; return; }
    }
}

int main()
{
    const unsigned n = 30000;
    std::vector<KeyValue> kv(n);
    for (unsigned i = 0; i < n; i++) kv[i] = {i * 7919u + 13u, i};
    KeyValue *table, *d;
    cudaMalloc(&table, sizeof(KeyValue) * kHashTableCapacity);
    cudaMalloc(&d, sizeof(KeyValue) * n);
    cudaMemcpy(d, kv.data(), sizeof(KeyValue) * n, cudaMemcpyHostToDevice);
    clear<<<kHashTableCapacity / 256, 256>>>(table);
    insert<<<(n + 255) / 256, 256>>>(table, d, n);
    for (auto &e : kv) e.value = 0;
    cudaMemcpy(d, kv.data(), sizeof(KeyValue) * n, cudaMemcpyHostToDevice);
    lookup<<<(n + 127) / 128, 128>>>(table, d, n);
    bool ok = cudaMemcpy(kv.data(), d, sizeof(KeyValue) * n, cudaMemcpyDeviceToHost) == cudaSuccess;
    for (unsigned i = 0; i < n && ok; i++) ok = kv[i].value == i;
    printf("hash table %s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
