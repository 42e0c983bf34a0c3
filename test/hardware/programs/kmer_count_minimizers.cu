// k-mer counting and minimizers, quick prototype for the assembler (C++17)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>
#include <cuda_runtime.h>

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int K = 15;
constexpr int W = 10;
constexpr int READ_LEN = 160;
constexpr int NUM_READS = 4096;
constexpr int KMERS = READ_LEN - K + 1;
constexpr int WINDOWS = KMERS - W + 1;
constexpr u32 EMPTY = 0xffffffffu;
constexpr u32 TABLE = 1u << 21;

__constant__ unsigned char kCode[4] = {'A', 'C', 'G', 'T'};

#define CU(x)                                                        \
    if (cudaError_t e = (x); e != cudaSuccess) {                     \
        fprintf(stderr, "%s at %d\n", cudaGetErrorString(e), __LINE__); \
        exit(2);                                                     \
    }

__host__ __device__ inline u32 mix(u32 h)
{
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}

__global__ void encodeReads(const uchar4 *__restrict__ text, uchar4 *__restrict__ codes, int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4)
        return;
    uchar4 t = text[i];
    uchar4 c = make_uchar4(0, 0, 0, 0);
    for (int v = 0; v < 4; ++v) {
        unsigned char ch = kCode[v];
        if (t.x == ch) c.x = v;
        if (t.y == ch) c.y = v;
        if (t.z == ch) c.z = v;
        if (t.w == ch) c.w = v;
    }
    codes[i] = c;
}

// rolling k-mer, one thread per read
__global__ void rollKmers(const unsigned char *codes, u32 *kmers, int reads)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= reads)
        return;
    const u32 mask = (1u << (2 * K)) - 1;
    u32 word = 0;
    for (int p = 0; p < READ_LEN; ++p) {
        word = ((word << 2) | codes[r * READ_LEN + p]) & mask;
        if (p >= K - 1)
            kmers[r * KMERS + p - (K - 1)] = word;
    }
}

__global__ void insertKmers(const u32 *kmers, int n, u32 *keys, u32 *counts)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        u32 key = kmers[i];
        u32 slot = mix(key) & (TABLE - 1);
        while (true) {
            u32 old = atomicCAS(&keys[slot], EMPTY, key);
            if (old == EMPTY || old == key) {
                atomicAdd(&counts[slot], 1u);
                break;
            }
            slot = (slot + 1) & (TABLE - 1);
        }
    }
}

// one block per read: window minimum of hashes
__global__ void minimizers(const u32 *__restrict__ kmers, u32 *__restrict__ mins)
{
    extern __shared__ u32 hashes[];
    const int read = blockIdx.x;
    for (int i = threadIdx.x; i < KMERS; i += blockDim.x)
        hashes[i] = mix(kmers[read * KMERS + i]);
    __syncthreads();
    for (int w = threadIdx.x; w < WINDOWS; w += blockDim.x) {
        u32 best = hashes[w];
        for (int j = 1; j < W; ++j)
            best = min(best, hashes[w + j]);
        mins[read * WINDOWS + w] = best;
    }
}

// spectrum of multiplicities, privatised per block
template <int BINS>
__global__ void spectrum(const u32 *keys, const u32 *counts, u32 *hist)
{
    __shared__ u32 local[BINS];
    if (threadIdx.x < BINS)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (u32 s = blockIdx.x * blockDim.x + threadIdx.x; s < TABLE; s += gridDim.x * blockDim.x) {
        if (keys[s] != EMPTY) {
            u32 c = counts[s];
            atomicAdd(&local[c < BINS ? c : BINS - 1], 1u);
        }
    }
    __syncthreads();
    if (threadIdx.x < BINS)
        atomicAdd(&hist[threadIdx.x], local[threadIdx.x]);
}

// distinct consecutive minimizers of each read, by warp ballot
__global__ void chainLength(const u32 *mins, int *len, int reads)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= reads)
        return;
    const u32 *row = mins + warp * WINDOWS;
    int total = 0;
    for (int base = 0; base < WINDOWS; base += 32) {
        int w = base + lane;
        bool fresh = w < WINDOWS && (w == 0 || row[w] != row[w - 1]);
        total += __popc(__ballot_sync(0xffffffffu, fresh));
    }
    if (lane == 0)
        len[warp] = total;
}

int main()
{
    constexpr int BINS = 64;
    const int genomeLen = 60000;
    u32 seed = 2024;
    auto rnd = [&seed]() {
        seed = seed * 1664525u + 1013904223u;
        return seed >> 8;
    };
    std::vector<unsigned char> genome(genomeLen);
    for (auto &g : genome)
        g = "ACGT"[(rnd() >> 6) & 3];
    std::vector<unsigned char> text(NUM_READS * READ_LEN);
    for (int r = 0; r < NUM_READS; ++r) {
        int start = rnd() % (genomeLen - READ_LEN);
        for (int p = 0; p < READ_LEN; ++p)
            text[r * READ_LEN + p] = genome[start + p];
    }

    const int nk = NUM_READS * KMERS;
    unsigned char *dText, *dCodes;
    u32 *dKmers, *dKeys, *dCounts, *dMins, *dHist;
    int *dLen;
    CU(cudaMalloc(&dText, text.size()));
    CU(cudaMalloc(&dCodes, text.size()));
    CU(cudaMalloc(&dKmers, nk * sizeof(u32)));
    CU(cudaMalloc(&dKeys, TABLE * sizeof(u32)));
    CU(cudaMalloc(&dCounts, TABLE * sizeof(u32)));
    CU(cudaMalloc(&dMins, NUM_READS * WINDOWS * sizeof(u32)));
    CU(cudaMalloc(&dHist, BINS * sizeof(u32)));
    CU(cudaMalloc(&dLen, NUM_READS * sizeof(int)));
    CU(cudaMemcpy(dText, text.data(), text.size(), cudaMemcpyHostToDevice));
    CU(cudaMemset(dKeys, 0xff, TABLE * sizeof(u32)));
    CU(cudaMemset(dCounts, 0, TABLE * sizeof(u32)));
    CU(cudaMemset(dHist, 0, BINS * sizeof(u32)));

    int n4 = (int)text.size() / 4;
    encodeReads<<<(n4 + 255) / 256, 256>>>((const uchar4 *)dText, (uchar4 *)dCodes, n4);
    rollKmers<<<NUM_READS / 128, 128>>>(dCodes, dKmers, NUM_READS);
    insertKmers<<<264, 256>>>(dKmers, nk, dKeys, dCounts);
    minimizers<<<NUM_READS, 128, KMERS * sizeof(u32)>>>(dKmers, dMins);
    spectrum<BINS><<<132, 256>>>(dKeys, dCounts, dHist);
    chainLength<<<NUM_READS / 4, 128>>>(dMins, dLen, NUM_READS);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    std::vector<u32> hist(BINS), mins(NUM_READS * WINDOWS);
    std::vector<int> len(NUM_READS);
    CU(cudaMemcpy(hist.data(), dHist, BINS * sizeof(u32), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(mins.data(), dMins, mins.size() * sizeof(u32), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(len.data(), dLen, len.size() * sizeof(int), cudaMemcpyDeviceToHost));

    std::unordered_map<u32, u32> table;
    int bad = 0;
    for (int r = 0; r < NUM_READS; ++r) {
        std::vector<u32> h;
        u32 word = 0;
        for (int p = 0; p < READ_LEN; ++p) {
            unsigned char ch = text[r * READ_LEN + p];
            u32 code = ch == 'A' ? 0 : ch == 'C' ? 1 : ch == 'G' ? 2 : 3;
            word = ((word << 2) | code) & ((1u << (2 * K)) - 1);
            if (p >= K - 1) {
                table[word]++;
                h.push_back(mix(word));
            }
        }
        int chain = 0;
        u32 prev = 0;
        for (int w = 0; w < WINDOWS; ++w) {
            u32 m = *std::min_element(h.begin() + w, h.begin() + w + W);
            bad += mins[r * WINDOWS + w] != m;
            chain += w == 0 || m != prev;
            prev = m;
        }
        bad += chain != len[r];
    }
    std::vector<u32> ref(BINS, 0);
    for (auto &kv : table)
        ref[std::min<u32>(kv.second, BINS - 1)]++;
    for (int b = 0; b < BINS; ++b)
        bad += ref[b] != hist[b];
    printf("distinct %zu, errors %d\n%s\n", table.size(), bad, bad == 0 ? "PASS" : "FAIL");
    return bad == 0 ? 0 : 1;
}
