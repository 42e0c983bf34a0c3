// FM-index over DNA: build Occ checkpoints on the GPU, exact backward search, locate with a sampled suffix array.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#define CUDACHECK(cmd)                                                              \
    if ((cmd) != cudaSuccess) {                                                     \
        fprintf(stderr, "CUDA failure at %d: %s\n", __LINE__, cudaGetErrorString(cudaGetLastError())); \
        exit(EXIT_FAILURE);                                                         \
    }

constexpr int BLK = 64;        // symbols per checkpoint block
constexpr int SA_RATE = 16;
constexpr int QLEN = 24;

// 32 bytes: four counters and 64 symbols of two bits
struct __align__(16) OccBlock {
    uint32_t cnt[4];
    uint32_t bits[4];
};

struct FmIndex {
    const OccBlock* occ;
    const uint32_t* mark;      // sampled rows, bit vector
    const uint32_t* markRank;  // rank of every word
    const int* samples;
    int C[5];
    int n;                     // rows, sentinel included
    int dollar;                // row whose BWT symbol is the sentinel
};

__device__ __forceinline__ int occAt(const FmIndex& fm, int c, int row)
{
    // occurrences of c in bwt[0, row)
    const OccBlock* b = fm.occ + row / BLK;
    int r = row % BLK;
    int n = b->cnt[c];
    uint32_t lo = (c & 1) ? 0u : 0x55555555u;
    uint32_t hi = (c & 2) ? 0u : 0x55555555u;
    for (int w = 0; w * 16 < r; ++w) {
        uint32_t x = b->bits[w];
        uint32_t m = (x ^ lo) & ((x >> 1) ^ hi) & 0x55555555u;
        int left = r - w * 16;
        if (left < 16)
            m &= (1u << (2 * left)) - 1;
        n += __popc(m);
    }
    // the sentinel is stored as A
    if (c == 0 && fm.dollar < row && fm.dollar >= row - r)
        --n;
    return n;
}

// one thread per block of 64 symbols packs the bits and counts (strided byte reads)
__global__ void packBlocks(const uint8_t* __restrict__ bwt, OccBlock* occ, int n, int nblk)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= nblk)
        return;
    OccBlock o;
    for (int k = 0; k < 4; ++k) {
        o.cnt[k] = 0;
        o.bits[k] = 0;
    }
    for (int i = 0; i < BLK; ++i) {
        int p = b * BLK + i;
        if (p >= n)
            break;
        uint8_t s = bwt[p];
        uint32_t code = s == 4 ? 0 : s;
        o.bits[i / 16] |= code << (2 * (i % 16));
        if (s < 4) {
            o.cnt[0] += s == 0;
            o.cnt[1] += s == 1;
            o.cnt[2] += s == 2;
            o.cnt[3] += s == 3;
        }
    }
    occ[b] = o;
}

// exclusive scan of the four counters, one warp per letter, grid of one block
__global__ void scanCounters(OccBlock* occ, int nblk)
{
    int c = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    uint32_t carry = 0;
    for (int base = 0; base < nblk; base += 32) {
        int b = base + lane;
        uint32_t v = b < nblk ? occ[b].cnt[c] : 0;
        uint32_t x = v;
        for (int d = 1; d < 32; d <<= 1) {
            uint32_t y = __shfl_up_sync(0xffffffffu, x, d);
            if (lane >= d)
                x += y;
        }
        if (b < nblk)
            occ[b].cnt[c] = carry + x - v;
        carry += __shfl_sync(0xffffffffu, x, 31);
    }
}

// query q, thread per query; queries are row-major text
__global__ void searchRows(FmIndex fm, const uint8_t* __restrict__ queries, int nq, int2* __restrict__ range)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= nq)
        return;
    int lo = 0;
    int hi = fm.n;
    for (int i = QLEN - 1; i >= 0 && lo < hi; --i) {
        int c = queries[q * QLEN + i];
        lo = fm.C[c] + occAt(fm, c, lo);
        hi = fm.C[c] + occAt(fm, c, hi);
    }
    range[q] = make_int2(lo, hi);
}

// the same, a lane pair shares a query: even lane does lo, odd lane does hi; queries staged in shared memory
__global__ void searchPairs(FmIndex fm, const uint8_t* __restrict__ queries, int nq, int2* __restrict__ range)
{
    extern __shared__ uint8_t sq[];
    int perBlock = blockDim.x / 2;
    int first = blockIdx.x * perBlock;
    for (int i = threadIdx.x; i < perBlock * QLEN; i += blockDim.x) {
        int g = first * QLEN + i;
        sq[i] = g < nq * QLEN ? queries[g] : 0;
    }
    __syncthreads();
    int local = threadIdx.x / 2;
    int q = first + local;
    int pos = (threadIdx.x & 1) ? fm.n : 0;
    for (int i = QLEN - 1; i >= 0; --i) {
        int c = sq[local * QLEN + i];
        int next = fm.C[c] + occAt(fm, c, pos);
        int mate = __shfl_xor_sync(0xffffffffu, pos, 1);
        if (mate != pos)
            pos = next;
    }
    int mate = __shfl_xor_sync(0xffffffffu, pos, 1);
    if (q < nq && (threadIdx.x & 1) == 0)
        range[q] = make_int2(pos, mate);
}

// walk LF from the first row of every non-empty range to a sampled row
__global__ void locateFirst(FmIndex fm, const int2* __restrict__ range, int nq, int* __restrict__ where)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= nq)
        return;
    int2 r = range[q];
    if (r.x >= r.y) {
        where[q] = -1;
        return;
    }
    int row = r.x;
    int steps = 0;
    while (!(fm.mark[row >> 5] >> (row & 31) & 1)) {
        int c = (fm.occ[row / BLK].bits[row % BLK / 16] >> (2 * (row % 16))) & 3;
        row = fm.C[c] + occAt(fm, c, row);
        ++steps;
    }
    int rank = fm.markRank[row >> 5] + __popc(fm.mark[row >> 5] & ((1u << (row & 31)) - 1));
    where[q] = fm.samples[rank] + steps;
}

__global__ void verifyHits(const uint8_t* __restrict__ text, const uint8_t* __restrict__ queries, const int* __restrict__ where, int nq, int* mism)
{
    int q = blockIdx.x;
    int p = where[q];
    bool bad = p >= 0 && threadIdx.x < QLEN && text[p + threadIdx.x] != queries[q * QLEN + threadIdx.x];
    unsigned m = __ballot_sync(0xffffffffu, bad);
    if (threadIdx.x == 0 && m)
        atomicAdd(mism, __popc(m));
}

template <class T>
static T* put(const std::vector<T>& v)
{
    T* d = nullptr;
    CUDACHECK(cudaMalloc(&d, v.size() * sizeof(T)));
    CUDACHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

int main()
{
    const int L = 100000;
    const int NQ = 8192;
    uint32_t s = 2463534242u;
    auto rnd = [&]() {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        return s >> 3;
    };
    std::vector<uint8_t> text(L);
    for (auto& c : text)
        c = rnd() & 3;
    for (int k = 0; k < 40; ++k) {
        int a = rnd() % (L - 300), b = rnd() % (L - 300);
        for (int i = 0; i < 150; ++i)
            text[b + i] = text[a + i];
    }
    const int n = L + 1;
    std::vector<int> sa(n);
    std::iota(sa.begin(), sa.end(), 0);
    std::sort(sa.begin(), sa.end(), [&](int a, int b) {
        return std::lexicographical_compare(text.begin() + a, text.end(), text.begin() + b, text.end());
    });
    std::vector<uint8_t> bwt(n);
    FmIndex fm;
    fm.n = n;
    for (int i = 0; i < n; ++i) {
        bwt[i] = sa[i] ? text[sa[i] - 1] : 4;
        if (sa[i] == 0)
            fm.dollar = i;
    }
    int cnt[4] = {0, 0, 0, 0};
    for (auto c : text)
        cnt[c]++;
    fm.C[0] = 1;
    for (int c = 0; c < 4; ++c)
        fm.C[c + 1] = fm.C[c] + cnt[c];
    std::vector<uint32_t> mark(n / 32 + 1, 0), rank(n / 32 + 1, 0);
    std::vector<int> samples;
    for (int i = 0; i < n; ++i) {
        if (i % 32 == 0)
            rank[i / 32] = (uint32_t)samples.size();
        if (sa[i] % SA_RATE == 0) {
            mark[i / 32] |= 1u << (i % 32);
            samples.push_back(sa[i]);
        }
    }
    std::vector<uint8_t> queries(NQ * QLEN);
    for (int q = 0; q < NQ; ++q) {
        int p = rnd() % (L - QLEN);
        for (int i = 0; i < QLEN; ++i)
            queries[q * QLEN + i] = text[p + i];
        if (q % 5 == 0)
            queries[q * QLEN + rnd() % QLEN] ^= 1;
    }
    const int nblk = n / BLK + 1;
    uint8_t* dText = put(text);
    uint8_t* dBwt = put(bwt);
    uint8_t* dQ = put(queries);
    OccBlock* dOcc;
    int2 *dR1, *dR2;
    int *dWhere, *dMis;
    CUDACHECK(cudaMalloc(&dOcc, nblk * sizeof(OccBlock)));
    CUDACHECK(cudaMalloc(&dR1, NQ * sizeof(int2)));
    CUDACHECK(cudaMalloc(&dR2, NQ * sizeof(int2)));
    CUDACHECK(cudaMalloc(&dWhere, NQ * sizeof(int)));
    CUDACHECK(cudaMalloc(&dMis, sizeof(int)));
    CUDACHECK(cudaMemset(dMis, 0, sizeof(int)));
    fm.occ = dOcc;
    fm.mark = put(mark);
    fm.markRank = put(rank);
    fm.samples = put(samples);

    packBlocks<<<(nblk + 63) / 64, 64>>>(dBwt, dOcc, n, nblk);
    scanCounters<<<1, 128>>>(dOcc, nblk);
    searchRows<<<NQ / 128, 128>>>(fm, dQ, NQ, dR1);
    searchPairs<<<NQ / 64, 128, 64 * QLEN>>>(fm, dQ, NQ, dR2);
    locateFirst<<<NQ / 128, 128>>>(fm, dR1, NQ, dWhere);
    verifyHits<<<NQ, 32>>>(dText, dQ, dWhere, NQ, dMis);
    CUDACHECK(cudaDeviceSynchronize());

    std::vector<int2> r1(NQ), r2(NQ);
    std::vector<int> where(NQ);
    int mis;
    CUDACHECK(cudaMemcpy(r1.data(), dR1, NQ * sizeof(int2), cudaMemcpyDeviceToHost));
    CUDACHECK(cudaMemcpy(r2.data(), dR2, NQ * sizeof(int2), cudaMemcpyDeviceToHost));
    CUDACHECK(cudaMemcpy(where.data(), dWhere, NQ * sizeof(int), cudaMemcpyDeviceToHost));
    CUDACHECK(cudaMemcpy(&mis, dMis, sizeof(int), cudaMemcpyDeviceToHost));
    int bad = 0, found = 0;
    for (int q = 0; q < NQ; ++q) {
        const uint8_t* pat = &queries[q * QLEN];
        auto cmpPrefix = [&](int a) {
            // -1, 0, 1: suffix a against the pattern as prefix
            for (int i = 0; i < QLEN; ++i) {
                if (a + i >= L)
                    return -1;
                if (text[a + i] != pat[i])
                    return text[a + i] < pat[i] ? -1 : 1;
            }
            return 0;
        };
        int lo = std::partition_point(sa.begin(), sa.end(), [&](int a) { return cmpPrefix(a) < 0; }) - sa.begin();
        int hi = std::partition_point(sa.begin(), sa.end(), [&](int a) { return cmpPrefix(a) <= 0; }) - sa.begin();
        int c1 = std::max(0, r1[q].y - r1[q].x), c2 = std::max(0, r2[q].y - r2[q].x);
        bad += c1 != hi - lo || c2 != hi - lo;
        if (hi > lo) {
            ++found;
            bad += r1[q].x != lo || r2[q].x != lo || where[q] != sa[lo];
        } else {
            bad += where[q] != -1;
        }
    }
    printf("%d of %d found, %d wrong, %d mismatching letters\n", found, NQ, bad, mis);
    bool ok = bad == 0 && mis == 0;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
