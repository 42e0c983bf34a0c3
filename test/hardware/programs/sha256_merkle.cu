// SHA-256: leaf hashes of 64-byte records in two layouts, a Merkle root for every block of leaves, and a small nonce search.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define LEAVES_PER_BLOCK 128

typedef struct { uint32_t h[8]; } digest_t;

static const uint32_t k_host[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__constant__ uint32_t k_dev[64];

__host__ __device__ static inline uint32_t rotr(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

__host__ __device__ static inline uint32_t bswap(uint32_t x)
{
    return (x >> 24) | ((x >> 8) & 0xff00u) | ((x << 8) & 0xff0000u) | (x << 24);
}

// w: a rolling window of 16 words
__host__ __device__ static void compress(uint32_t st[8], uint32_t w[16])
{
#ifdef __CUDA_ARCH__
    const uint32_t *K = k_dev;
#else
    const uint32_t *K = k_host;
#endif
    uint32_t a = st[0], b = st[1], c = st[2], d = st[3], e = st[4], f = st[5], g = st[6], h = st[7];
#ifdef __CUDA_ARCH__
#pragma unroll 16
#endif
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            uint32_t w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
            w[i & 15] += (rotr(w15, 7) ^ rotr(w15, 18) ^ (w15 >> 3)) + w[(i + 9) & 15] + (rotr(w2, 17) ^ rotr(w2, 19) ^ (w2 >> 10));
        }
        uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i & 15];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1;
        d = c; c = b; b = a; a = t1 + t2;
    }
    st[0] += a; st[1] += b; st[2] += c; st[3] += d;
    st[4] += e; st[5] += f; st[6] += g; st[7] += h;
}

__host__ __device__ static void init_state(uint32_t st[8])
{
    st[0] = 0x6a09e667; st[1] = 0xbb67ae85; st[2] = 0x3c6ef372; st[3] = 0xa54ff53a;
    st[4] = 0x510e527f; st[5] = 0x9b05688c; st[6] = 0x1f83d9ab; st[7] = 0x5be0cd19;
}

// hash of exactly 64 bytes: the block and the padding block
__host__ __device__ static void sha256_64(uint32_t st[8], uint32_t w[16])
{
    init_state(st);
    compress(st, w);
    uint32_t pad[16] = {0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 512};
    compress(st, pad);
}

extern "C" {

// records one after the other
__global__ void sha_leaves(const uint32_t *records, int n, digest_t *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t w[16], st[8];
    for (int k = 0; k < 16; k++)
        w[k] = bswap(records[i * 16 + k]);
    sha256_64(st, w);
    for (int k = 0; k < 8; k++)
        out[i].h[k] = st[k];
}

// word k of all records together; digests likewise
__global__ void sha_leaves_interleaved(const uint32_t *words, int n, uint32_t *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t w[16], st[8];
    for (int k = 0; k < 16; k++)
        w[k] = bswap(words[k * n + i]);
    sha256_64(st, w);
    for (int k = 0; k < 8; k++)
        out[k * n + i] = st[k];
}

// a block reduces its leaves to one root
__global__ void merkle_blocks(const digest_t *leaves, digest_t *roots)
{
    __shared__ digest_t level[LEAVES_PER_BLOCK];
    int t = threadIdx.x;
    const uint4 *src = (const uint4 *)(leaves + blockIdx.x * LEAVES_PER_BLOCK);
    uint4 *dst = (uint4 *)level;
    for (int i = t; i < LEAVES_PER_BLOCK * 2; i += blockDim.x)
        dst[i] = src[i];
    __syncthreads();
    for (int width = LEAVES_PER_BLOCK / 2; width >= 1; width /= 2) {
        uint32_t w[16], st[8];
        if (t < width) {
            for (int k = 0; k < 8; k++) {
                w[k] = level[2 * t].h[k];
                w[8 + k] = level[2 * t + 1].h[k];
            }
            sha256_64(st, w);
        }
        __syncthreads();
        if (t < width)
            for (int k = 0; k < 8; k++)
                level[t].h[k] = st[k];
        __syncthreads();
    }
    if (t < 8)
        roots[blockIdx.x].h[t] = level[0].h[t];
}

// smallest nonce for which the hash of (header, nonce) has `zeros` leading zero bits
__global__ void find_nonce(const uint32_t *header, unsigned int range, int zeros, unsigned int *best)
{
    for (unsigned int nonce = blockIdx.x * blockDim.x + threadIdx.x; nonce < range; nonce += gridDim.x * blockDim.x) {
        uint32_t w[16], st[8];
        for (int k = 0; k < 15; k++) w[k] = header[k];
        w[15] = nonce;
        sha256_64(st, w);
        if ((st[0] >> (32 - zeros)) == 0)
            atomicMin(best, nonce);
    }
}

}  // extern "C"

static void cu(cudaError_t e)
{
    if (e) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); }
}

int main(int argc, char **argv)
{
    const int blocks = argc > 1 ? atoi(argv[1]) : 200;
    const int n = blocks * LEAVES_PER_BLOCK;
    std::vector<uint32_t> records(n * 16), turned(n * 16);
    uint32_t s = 0xC0FFEE;
    for (auto &r : records) { s = s * 1664525u + 1013904223u; r = s ^ (s >> 13); }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 16; k++) turned[k * n + i] = records[i * 16 + k];

    uint32_t *d_rec, *d_turned, *d_soa;
    digest_t *d_leaves, *d_roots;
    unsigned int *d_best, none = 0xffffffffu;
    const unsigned int range = 60000;
    const int zeros = 11;
    cu(cudaMalloc(&d_rec, n * 64));
    cu(cudaMalloc(&d_turned, n * 64));
    cu(cudaMalloc(&d_soa, n * 32));
    cu(cudaMalloc(&d_leaves, n * sizeof(digest_t)));
    cu(cudaMalloc(&d_roots, blocks * sizeof(digest_t)));
    cu(cudaMalloc(&d_best, 4));
    cu(cudaMemcpyToSymbol(k_dev, k_host, sizeof k_host));
    cu(cudaMemcpy(d_rec, records.data(), n * 64, cudaMemcpyHostToDevice));
    cu(cudaMemcpy(d_turned, turned.data(), n * 64, cudaMemcpyHostToDevice));
    cu(cudaMemcpy(d_best, &none, 4, cudaMemcpyHostToDevice));

    sha_leaves<<<(n + 127) / 128, 128>>>(d_rec, n, d_leaves);
    sha_leaves_interleaved<<<(n + 127) / 128, 128>>>(d_turned, n, d_soa);
    merkle_blocks<<<blocks, LEAVES_PER_BLOCK / 2>>>(d_leaves, d_roots);
    find_nonce<<<60, 128>>>(d_rec, range, zeros, d_best);
    cu(cudaDeviceSynchronize());

    std::vector<digest_t> leaves(n), roots(blocks), want(n);
    std::vector<uint32_t> soa(n * 8);
    unsigned int best;
    cu(cudaMemcpy(leaves.data(), d_leaves, n * 32, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(roots.data(), d_roots, blocks * 32, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(soa.data(), d_soa, n * 32, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(&best, d_best, 4, cudaMemcpyDeviceToHost));

    int bad = 0;
    // known answer: "abc"
    uint32_t st[8], w[16] = {0x61626380u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24};
    init_state(st);
    compress(st, w);
    if (st[0] != 0xba7816bfu || st[7] != 0xf20015adu) bad++;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 16; k++) w[k] = bswap(records[i * 16 + k]);
        sha256_64(want[i].h, w);
        bad += memcmp(&want[i], &leaves[i], 32) != 0;
        for (int k = 0; k < 8; k++) bad += soa[k * n + i] != want[i].h[k];
    }
    for (int b = 0; b < blocks; b++) {
        std::vector<digest_t> lv(want.begin() + b * LEAVES_PER_BLOCK, want.begin() + (b + 1) * LEAVES_PER_BLOCK);
        while (lv.size() > 1) {
            for (size_t i = 0; i < lv.size() / 2; i++) {
                memcpy(w, &lv[2 * i], 64);
                uint32_t h[8];
                sha256_64(h, w);
                memcpy(&lv[i], h, 32);
            }
            lv.resize(lv.size() / 2);
        }
        bad += memcmp(&lv[0], &roots[b], 32) != 0;
    }
    unsigned int expect = none;
    for (unsigned int v = 0; v < range && expect == none; v++) {
        memcpy(w, records.data(), 60);
        w[15] = v;
        sha256_64(st, w);
        if ((st[0] >> (32 - zeros)) == 0) expect = v;
    }
    bad += best != expect;
    printf("nonce %u (expected %u), %d mismatches\n", best, expect, bad);
    printf(bad ? "FAIL\n" : "OK\n");
    return bad != 0;
}
