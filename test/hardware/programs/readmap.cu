/*
 * readmap.cu -- toy short-read mapper for my thesis chapter 3
 *
 *   1. index the reference by minimizers (window W, k-mer size K): counting sort by hash bucket
 *   2. each read votes for a diagonal using its minimizers
 *   3. banded affine-gap alignment around the best diagonal (one warp per read)
 *
 * usage: readmap [n_reads] [seed]
 */
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line) {
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(1);
    }
}

#define K 13
#define W 8
#define BUCKET_BITS 16
#define READ_LEN 150
#define BAND 32                 /* diagonals -16 .. +15 around the seed */
#define MAX_OCC 16
#define NEG (-100000)

struct scoring { int match, mismatch, gap_open, gap_ext; };
__constant__ scoring d_sc;

__host__ __device__ inline uint32_t kmer_hash(uint32_t x) {
    x &= (1u << (2 * K)) - 1;
    x = (~x + (x << 11)) & ((1u << (2 * K)) - 1);
    x ^= x >> 14;
    x = (x * 0x9E3779B1u) & ((1u << (2 * K)) - 1);
    x ^= x >> 7;
    return x;
}

__host__ __device__ inline uint32_t base_at(const uint32_t *packed, int i) {
    return (packed[i >> 4] >> ((i & 15) * 2)) & 3u;
}

/* position of the minimizer of the window starting at i (leftmost smallest hash) */
__host__ __device__ inline int window_minimizer(const uint32_t *packed, int i, uint32_t *out_hash) {
    uint32_t best = 0xffffffffu, kmer = 0;
    int pos = i;
    for (int j = 0; j < K - 1; j++) kmer = (kmer << 2) | base_at(packed, i + j);
    for (int j = 0; j < W; j++) {
        kmer = (kmer << 2) | base_at(packed, i + j + K - 1);
        uint32_t h = kmer_hash(kmer);
        if (h < best) { best = h; pos = i + j; }
    }
    *out_hash = best;
    return pos;
}

/* ------------------------------------------------------------------ */
__global__ void pack_bases(const char *seq, uint32_t *packed, int n) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w * 16 >= n) return;
    uint32_t v = 0;
    for (int i = 0; i < 16; i++) {
        int p = w * 16 + i;
        char c = p < n ? seq[p] : 'A';
        uint32_t code;
        switch (c) {
            case 'C': code = 1; break;
            case 'G': code = 2; break;
            case 'T': code = 3; break;
            default:  code = 0;
        }
        v |= code << (2 * i);
    }
    packed[w] = v;
}

/* pass 0 counts, pass 1 writes positions */
template <int PASS>
__global__ void index_reference(const uint32_t *packed, int n_windows, int *bucket, int *positions) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_windows) return;
    uint32_t h, hprev;
    int p = window_minimizer(packed, i, &h);
    if (i > 0 && window_minimizer(packed, i - 1, &hprev) == p) return;
    int b = h & ((1 << BUCKET_BITS) - 1);
    int slot = atomicAdd(&bucket[b], 1);
    if (PASS == 1) positions[slot] = p;
}

/* single block exclusive scan over the 65536 buckets, each thread takes a contiguous chunk */
__global__ void scan_buckets(const int *count, int *start, int *cursor, int n) {
    __shared__ int sums[1024];
    int per = n / blockDim.x, t = threadIdx.x, s = 0;
    for (int i = 0; i < per; i++) s += count[t * per + i];
    sums[t] = s;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d <<= 1) {
        int v = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }
    int run = sums[t] - s;
    for (int i = 0; i < per; i++) {
        start[t * per + i] = run;
        cursor[t * per + i] = run;
        run += count[t * per + i];
    }
    if (t == blockDim.x - 1) start[n] = run;
}

/* one block per read; vote on diagonals / 8 in a shared table */
__global__ void vote_diagonals(const uint32_t *ref, const uint32_t *reads, int words_per_read, int ref_len,
                               const int *start, const int *positions, int *best_diag, int *best_votes) {
    extern __shared__ int votes[];
    __shared__ unsigned long long best;
    const uint32_t *read = reads + (size_t)blockIdx.x * words_per_read;
    int bins = (ref_len + READ_LEN) / 8 + 1;
    for (int i = threadIdx.x; i < bins; i += blockDim.x) votes[i] = 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    int nwin = READ_LEN - K - W + 2;
    for (int i = threadIdx.x; i < nwin; i += blockDim.x) {
        uint32_t h, hp;
        int p = window_minimizer(read, i, &h);
        if (i > 0 && window_minimizer(read, i - 1, &hp) == p) continue;
        int b = h & ((1 << BUCKET_BITS) - 1);
        int e = min(start[b + 1], start[b] + 65536);
        if (e - start[b] > MAX_OCC) continue;
        for (int q = start[b]; q < e; q++)
            atomicAdd(&votes[(positions[q] - p + READ_LEN) / 8], 1);
    }
    __syncthreads();
    unsigned long long mine = 0;
    for (int i = threadIdx.x; i < bins; i += blockDim.x) {
        int v = votes[i] + (i + 1 < bins ? votes[i + 1] : 0);
        unsigned long long key = ((unsigned long long)v << 32) | (unsigned)(bins - i);
        mine = key > mine ? key : mine;
    }
    atomicMax(&best, mine);
    __syncthreads();
    if (threadIdx.x == 0) {
        int bin = bins - (int)(best & 0xffffffffu);
        best_votes[blockIdx.x] = (int)(best >> 32);
        best_diag[blockIdx.x] = bin * 8 + 8 - READ_LEN;
    }
}

/* banded gotoh, local; lane l owns diagonal (diag - 16 + l). row by row, the horizontal gap
 * state is resolved inside the warp with a max-scan */
__global__ void banded_align(const uint32_t *ref, int ref_len, const uint32_t *reads, int words_per_read, int n_reads,
                             const int *diag, int *score, int2 *end_pos) {
    int read_id = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (read_id >= n_reads) return;
    const uint32_t *read = reads + (size_t)read_id * words_per_read;
    const int open = d_sc.gap_open, ext = d_sc.gap_ext;
    int off = diag[read_id] - BAND / 2 + lane;

    int h = 0, e = NEG;
    int best = 0, brow = 0, bcol = 0;
    for (int i = 0; i < READ_LEN; i++) {
        int j = i + off;
        bool in = j >= 0 && j < ref_len;
        /* from above: same column, previous row = diagonal lane+1 */
        int hu = __shfl_down_sync(0xffffffffu, h, 1);
        int eu = __shfl_down_sync(0xffffffffu, e, 1);
        if (lane == 31) { hu = NEG; eu = NEG; }
        e = max(hu - open, eu - ext);
        int s = NEG;
        if (in) s = base_at(read, i) == base_at(ref, j) ? d_sc.match : -d_sc.mismatch;
        int m = max(0, max(in ? h + s : NEG, e));
        if (!in) { m = 0; e = NEG; }
        /* f[l] = max_{p<l} m[p] - open - (l-p-1)*ext */
        int scan = m + lane * ext;
        for (int d = 1; d < 32; d <<= 1) {
            int o = __shfl_up_sync(0xffffffffu, scan, d);
            if (lane >= d) scan = max(scan, o);
        }
        int prev = __shfl_up_sync(0xffffffffu, scan, 1);
        int f = lane ? prev - (lane - 1) * ext - open : NEG;
        h = in ? max(m, f) : 0;
        if (h > best) { best = h; brow = i; bcol = j; }
    }
    /* best score, then lowest row, then lowest lane */
    unsigned long long key = ((unsigned long long)best << 32) | ((unsigned)(READ_LEN - brow) << 8) | (unsigned)(31 - lane);
    unsigned long long k = key;
    for (int d = 16; d; d >>= 1) {
        unsigned long long o = __shfl_xor_sync(0xffffffffu, k, d);
        k = o > k ? o : k;
    }
    if (k == key) {
        score[read_id] = best;
        end_pos[read_id] = make_int2(brow, bcol);
    }
}

/* ------------------------------------------------------------------ */
static std::vector<uint32_t> pack_host(const std::string &s) {
    std::vector<uint32_t> p((s.size() + 15) / 16, 0);
    for (size_t i = 0; i < s.size(); i++) p[i / 16] |= (uint32_t)std::string("ACGT").find(s[i]) << ((i % 16) * 2);
    return p;
}

template <typename T> T *upload(const T *src, size_t n) {
    T *d;
    gpuErrchk(cudaMalloc(&d, n * sizeof(T)));
    if (src) { gpuErrchk(cudaMemcpy(d, src, n * sizeof(T), cudaMemcpyHostToDevice)); }
    else { gpuErrchk(cudaMemset(d, 0, n * sizeof(T))); }
    return d;
}

int main(int argc, char **argv) {
    int n_reads = argc > 1 ? atoi(argv[1]) : 1500;
    std::mt19937 rng(argc > 2 ? atoi(argv[2]) : 42);
    const int ref_len = 60000;
    const scoring sc = {2, 3, 5, 2};
    std::string ref(ref_len, 'A');
    for (auto &c : ref) c = "ACGT"[rng() & 3];
    for (int r = 0; r < 6; r++)                                  /* some repeats */
        ref.replace(rng() % (ref_len - 400), 300, ref.substr(5000, 300));

    const int wpr = (READ_LEN + 15) / 16;
    std::string all;                                             /* reads padded to wpr*16 */
    std::vector<uint32_t> reads_packed;
    for (int r = 0; r < n_reads; r++) {
        std::string rd = ref.substr(rng() % (ref_len - READ_LEN - 20), READ_LEN + 10);
        for (size_t i = 0; i < rd.size(); i++) {
            int x = rng() % 200;
            if (x < 4) rd[i] = "ACGT"[rng() & 3];
            else if (x == 4) rd.erase(i, 1);
            else if (x == 5) rd.insert(i, 1, "ACGT"[rng() & 3]);
        }
        while ((int)rd.size() < READ_LEN) rd += "ACGT"[rng() & 3];
        rd.resize(READ_LEN);
        rd.append(wpr * 16 - READ_LEN, 'A');
        all += rd;
        auto p = pack_host(rd);
        reads_packed.insert(reads_packed.end(), p.begin(), p.end());
    }
    std::vector<uint32_t> ref_packed = pack_host(ref);

    /* ---- gpu ---- */
    gpuErrchk(cudaMemcpyToSymbol(d_sc, &sc, sizeof(sc)));
    char *d_refc = upload(ref.data(), ref.size()), *d_readc = upload(all.data(), all.size());
    uint32_t *d_ref = upload<uint32_t>(nullptr, ref_packed.size()), *d_reads = upload<uint32_t>(nullptr, reads_packed.size());
    const int NB = 1 << BUCKET_BITS, nwin = ref_len - K - W + 2;
    int *d_count = upload<int>(nullptr, NB), *d_start = upload<int>(nullptr, NB + 1), *d_cur = upload<int>(nullptr, NB);
    int *d_pos = upload<int>(nullptr, nwin), *d_diag = upload<int>(nullptr, n_reads), *d_votes = upload<int>(nullptr, n_reads);
    int *d_score = upload<int>(nullptr, n_reads);
    int2 *d_end = upload<int2>(nullptr, n_reads);

    pack_bases<<<((int)ref_packed.size() + 127) / 128, 128>>>(d_refc, d_ref, ref_len);
    pack_bases<<<((int)reads_packed.size() + 127) / 128, 128>>>(d_readc, d_reads, (int)all.size());
    index_reference<0><<<(nwin + 255) / 256, 256>>>(d_ref, nwin, d_count, d_pos);
    scan_buckets<<<1, 1024>>>(d_count, d_start, d_cur, NB);
    index_reference<1><<<(nwin + 255) / 256, 256>>>(d_ref, nwin, d_cur, d_pos);
    gpuErrchk(cudaGetLastError());
    int bins = (ref_len + READ_LEN) / 8 + 1;
    vote_diagonals<<<n_reads, 64, bins * sizeof(int)>>>(d_ref, d_reads, wpr, ref_len, d_start, d_pos, d_diag, d_votes);
    gpuErrchk(cudaGetLastError());
    banded_align<<<(n_reads + 3) / 4, 128>>>(d_ref, ref_len, d_reads, wpr, n_reads, d_diag, d_score, d_end);
    gpuErrchk(cudaGetLastError());
    gpuErrchk(cudaDeviceSynchronize());

    std::vector<int> diag(n_reads), votes(n_reads), score(n_reads), start(NB + 1);
    std::vector<int2> end(n_reads);
    gpuErrchk(cudaMemcpy(diag.data(), d_diag, n_reads * sizeof(int), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(votes.data(), d_votes, n_reads * sizeof(int), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(score.data(), d_score, n_reads * sizeof(int), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(end.data(), d_end, n_reads * sizeof(int2), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(start.data(), d_start, (NB + 1) * sizeof(int), cudaMemcpyDeviceToHost));

    /* ---- cpu ---- */
    auto minimizers = [](const uint32_t *p, int n) {
        std::vector<std::pair<uint32_t, int>> v;
        int last = -1;
        for (int i = 0; i < n; i++) {
            uint32_t h;
            int pos = window_minimizer(p, i, &h);
            if (pos != last) v.push_back({h & ((1u << BUCKET_BITS) - 1), pos});
            last = pos;
        }
        return v;
    };
    std::vector<std::vector<int>> index(NB);
    for (auto &[h, p] : minimizers(ref_packed.data(), nwin)) index[h].push_back(p);
    int bad_index = 0, bad_vote = 0, bad_align = 0;
    for (int b = 0; b < NB; b++) bad_index += (start[b + 1] - start[b]) != (int)index[b].size();
    long total = 0;
    for (int r = 0; r < n_reads; r++) {
        const uint32_t *rd = &reads_packed[(size_t)r * wpr];
        std::vector<int> vt(bins + 1, 0);
        for (auto &[h, p] : minimizers(rd, READ_LEN - K - W + 2))
            if ((int)index[h].size() <= MAX_OCC)
                for (int q : index[h]) vt[(q - p + READ_LEN) / 8]++;
        int bi = 0;
        for (int i = 1; i < bins; i++) if (vt[i] + vt[i + 1] > vt[bi] + vt[bi + 1]) bi = i;
        int dg = bi * 8 + 8 - READ_LEN;
        bad_vote += dg != diag[r] || vt[bi] + vt[bi + 1] != votes[r];

        std::vector<int> H(BAND + 1, 0), E(BAND + 1, NEG);
        H[BAND] = NEG;
        int best = 0, br = 0, bl = 0;
        for (int i = 0; i < READ_LEN; i++) {
            int f = NEG;
            for (int l = 0; l < BAND; l++) {
                int j = i + dg - BAND / 2 + l;
                int e = std::max(H[l + 1] - sc.gap_open, E[l + 1] - sc.gap_ext);
                int h = 0;
                if (j < 0 || j >= ref_len) e = NEG;
                else h = std::max({0, H[l] + (base_at(rd, i) == base_at(ref_packed.data(), j) ? sc.match : -sc.mismatch), e});
                int hf = (j < 0 || j >= ref_len) ? 0 : std::max(h, f);
                f = std::max(h - sc.gap_open, f - sc.gap_ext);
                H[l] = hf; E[l] = e;
                if (hf > best || (hf == best && best > 0 && i == br && l < bl)) { best = hf; br = i; bl = l; }
            }
        }
        total += best;
        bad_align += best != score[r] || (best > 0 && (end[r].x != br || end[r].y != br + dg - BAND / 2 + bl));
    }
    printf("%d reads, mean score %.1f; bad buckets %d, bad votes %d, bad alignments %d\n", n_reads, (double)total / n_reads, bad_index, bad_vote, bad_align);
    bool ok = !bad_index && !bad_vote && !bad_align;
    printf("%s\n", ok ? "PASS" : "FAIL");
    for (void *p : {(void *)d_refc, (void *)d_readc, (void *)d_ref, (void *)d_reads, (void *)d_count, (void *)d_start, (void *)d_cur,
                    (void *)d_pos, (void *)d_diag, (void *)d_votes, (void *)d_score, (void *)d_end}) cudaFree(p);
    return ok ? 0 : 1;
}
