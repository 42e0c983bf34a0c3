/* DNA: pack to two bits, count k-mers in a hash table, pick minimizers, GC content of windows,
 * reverse complement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <unordered_map>
#include <vector>

#define K        15
#define WIN      10
#define TABLE    (1u << 20)
#define EMPTY    0xffffffffffffffffULL
#define CUDA_SAFE(x) if ((x) != cudaSuccess) { printf("CUDA failure at %s:%d\n", __FILE__, __LINE__); exit(1); }

__host__ __device__ static inline uint32_t base_code(char c)
{
    return ((uint32_t)c >> 1) & 3u;          /* A 0, C 1, T 2, G 3 */
}

__host__ __device__ static inline uint32_t mix(uint64_t x)
{
    x ^= x >> 33; x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ULL;
    x ^= x >> 33;
    return (uint32_t)x;
}

/* sixteen letters a thread */
__global__ void pack_bases(const char *seq, int words, uint32_t *packed)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words) return;
    uint32_t v = 0;
    for (int i = 0; i < 16; i++)
        v |= base_code(seq[w * 16 + i]) << (2 * i);
    packed[w] = v;
}

__device__ static uint64_t kmer_at(const uint32_t *packed, int pos)
{
    int w = pos >> 4, s = (pos & 15) * 2;
    uint32_t lo = __funnelshift_r(packed[w], packed[w + 1], s);
    return lo & ((1u << (2 * K)) - 1u);
}

__global__ void count_kmers(const uint32_t *__restrict__ packed, int n, unsigned long long *keys, unsigned int *counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + K > n) return;
    unsigned long long key = kmer_at(packed, i);
    uint32_t slot = mix(key) & (TABLE - 1);
    for (;;) {
        unsigned long long seen = atomicCAS(&keys[slot], EMPTY, key);
        if (seen == EMPTY || seen == key) {
            atomicAdd(&counts[slot], 1u);
            return;
        }
        slot = (slot + 1) & (TABLE - 1);
    }
}

/* position of the smallest hash among WIN neighbouring k-mers */
__global__ void minimizers(const uint32_t *__restrict__ packed, int n, int *where)
{
    extern __shared__ uint32_t h[];
    int first = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < (int)blockDim.x + WIN - 1; i += blockDim.x)
        h[i] = first + i + K <= n ? mix(kmer_at(packed, first + i)) : 0xffffffffu;
    __syncthreads();
    int i = first + threadIdx.x;
    if (i + WIN - 1 + K > n) return;
    int best = 0;
    for (int j = 1; j < WIN; j++)
        if (h[threadIdx.x + j] < h[threadIdx.x + best]) best = j;
    where[i] = i + best;
}

/* G and C letters in every stretch of 32, by ballot */
__global__ void gc_content(const char *seq, int n, unsigned char *gc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    char c = i < n ? seq[i] : 'A';
    unsigned int m = __ballot_sync(0xffffffffu, c == 'G' || c == 'C');
    if ((threadIdx.x & 31) == 0 && i < n)
        gc[i >> 5] = (unsigned char)__popc(m);
}

__global__ void reverse_complement(const char *__restrict__ in, char *__restrict__ out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        char c = in[n - 1 - i];
        out[i] = c == 'A' ? 'T' : c == 'T' ? 'A' : c == 'C' ? 'G' : 'C';
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) & ~31 : 1 << 19;
    char *seq = (char *)malloc(n);
    uint32_t s = 1;
    for (int i = 0; i < n; i++) {
        s = s * 1103515245u + 12345u;
        /* copy earlier stretches now and then, so that k-mers repeat */
        if (i > 5000 && (i / 1000) % 3 == 2) seq[i] = seq[i - 3777];
        else seq[i] = "ACGT"[(s >> 20) & 3];
    }

    int words = n / 16;
    char *d_seq, *d_rc;
    uint32_t *d_packed;
    unsigned long long *d_keys;
    unsigned int *d_counts;
    int *d_where;
    unsigned char *d_gc;
    CUDA_SAFE(cudaMalloc((void **)&d_seq, n));
    CUDA_SAFE(cudaMalloc((void **)&d_rc, n));
    CUDA_SAFE(cudaMalloc((void **)&d_packed, (words + 1) * 4));
    CUDA_SAFE(cudaMalloc((void **)&d_keys, TABLE * 8));
    CUDA_SAFE(cudaMalloc((void **)&d_counts, TABLE * 4));
    CUDA_SAFE(cudaMalloc((void **)&d_where, n * 4));
    CUDA_SAFE(cudaMalloc((void **)&d_gc, n / 32));
    CUDA_SAFE(cudaMemcpy(d_seq, seq, n, cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemset(d_packed, 0, (words + 1) * 4));
    CUDA_SAFE(cudaMemset(d_keys, 0xff, TABLE * 8));
    CUDA_SAFE(cudaMemset(d_counts, 0, TABLE * 4));

    pack_bases<<<(words + 127) / 128, 128>>>(d_seq, words, d_packed);
    count_kmers<<<(n + 255) / 256, 256>>>(d_packed, n, d_keys, d_counts);
    minimizers<<<(n + 255) / 256, 256, (256 + WIN - 1) * sizeof(uint32_t)>>>(d_packed, n, d_where);
    gc_content<<<(n + 255) / 256, 256>>>(d_seq, n, d_gc);
    reverse_complement<<<128, 256>>>(d_seq, d_rc, n);
    CUDA_SAFE(cudaDeviceSynchronize());

    std::vector<unsigned long long> keys(TABLE);
    std::vector<unsigned int> counts(TABLE);
    std::vector<int> where(n);
    std::vector<unsigned char> gc(n / 32);
    std::vector<char> rc(n);
    CUDA_SAFE(cudaMemcpy(keys.data(), d_keys, TABLE * 8, cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(counts.data(), d_counts, TABLE * 4, cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(where.data(), d_where, n * 4, cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(gc.data(), d_gc, n / 32, cudaMemcpyDeviceToHost));
    CUDA_SAFE(cudaMemcpy(rc.data(), d_rc, n, cudaMemcpyDeviceToHost));

    std::vector<uint64_t> kmer(n - K + 1);
    std::unordered_map<uint64_t, unsigned int> want;
    for (int i = 0; i + K <= n; i++) {
        uint64_t v = 0;
        for (int j = 0; j < K; j++) v |= (uint64_t)base_code(seq[i + j]) << (2 * j);
        kmer[i] = v;
        want[v]++;
    }
    long errors = 0;
    size_t found = 0;
    for (uint32_t t = 0; t < TABLE; t++)
        if (keys[t] != EMPTY) {
            found++;
            auto it = want.find(keys[t]);
            if (it == want.end() || it->second != counts[t]) errors++;
        }
    if (found != want.size()) errors++;
    for (int i = 0; i + WIN - 1 + K <= n; i++) {
        int best = 0;
        for (int j = 1; j < WIN; j++)
            if (mix(kmer[i + j]) < mix(kmer[i + best])) best = j;
        if (where[i] != i + best) errors++;
    }
    for (int w = 0; w < n / 32; w++) {
        int c = 0;
        for (int j = 0; j < 32; j++) c += seq[w * 32 + j] == 'G' || seq[w * 32 + j] == 'C';
        if (gc[w] != c) errors++;
    }
    for (int i = 0; i < n; i++) {
        const char *p = strchr("ATCGA", seq[i]);
        char comp = seq[i] == 'A' ? 'T' : seq[i] == 'T' ? 'A' : seq[i] == 'C' ? 'G' : 'C';
        if (!p || rc[n - 1 - i] != comp) errors++;
    }
    printf("%zu different %d-mers, %ld errors\n%s\n", found, K, errors, errors ? "FAILED" : "OK");
    return errors ? 1 : 0;
}
