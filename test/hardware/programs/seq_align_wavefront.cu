// seq_align_wavefront: batch pairwise alignment kernels
//   sw_affine      Smith-Waterman, affine gaps, one block per pair, one thread per query residue
//   nw_tile        Needleman-Wunsch, 32x32 tiles, one launch per tile anti-diagonal, many problems
//   myers          Levenshtein distance with Myers' bit vectors, one thread per read
//   kmer_spectrum  2-bit k-mer counting
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using std::vector;
static const int ALPHA = 20;          // residues
static const int NEG   = -(1 << 28);
static const int NT    = 32;          // tile edge
static const int K     = 6;           // k-mer length

__constant__ signed char c_sub[ALPHA * ALPHA];

#define CUDA_TRY(x) cuda_try((x), #x)
static void cuda_try(cudaError_t e, const char *s) {
    if (e != cudaSuccess) { fprintf(stderr, "%s\n  %s\n", s, cudaGetErrorString(e)); exit(1); }
}

// ------------------------------------------------------------------ local alignment
// Thread i owns row i. On diagonal d it is at column j = d - i. Three rolling diagonals of H,
// two of F; E and the left neighbour stay in registers. Index 0 of the buffers is the border.
__global__ void sw_affine(const uint8_t *query, int m, const uint8_t *target, int tpitch, const int *tlen,
                          int gap_open, int gap_ext, int *best)
{
    extern __shared__ int shm[];
    int *H = shm;                      // 3 * (m + 1)
    int *F = H + 3 * (m + 1);          // 2 * (m + 1)
    uint8_t *t = (uint8_t *)(F + 2 * (m + 1));
    __shared__ int block_best;

    const int pair = blockIdx.x, i = threadIdx.x, n = tlen[pair];
    for (int j = threadIdx.x; j < n; j += blockDim.x) t[j] = target[pair * tpitch + j];
    if (i < 3) H[i * (m + 1)] = 0;
    if (i < 2) F[i * (m + 1)] = NEG;
    if (i == 0) block_best = 0;
    __syncthreads();
    const int residue = i < m ? query[pair * m + i] : 0;
    int e = NEG, left = 0, top_score = 0;
    for (int d = 0; d < m + n - 1; d++) {
        const int j = d - i;
        if (i < m && j >= 0 && j < n) {
            const int up   = H[(d + 2) % 3 * (m + 1) + i];
            const int diag = j > 0 ? H[(d + 1) % 3 * (m + 1) + i] : 0;
            const int f    = max(up - gap_open, F[((d + 1) & 1) * (m + 1) + i] - gap_ext);
            e = max(left - gap_open, e - gap_ext);
            int h = max(diag + c_sub[residue * ALPHA + t[j]], 0);
            h = max(h, max(e, f));
            H[d % 3 * (m + 1) + i + 1] = h;
            F[(d & 1) * (m + 1) + i + 1] = f;
            left = h;
            top_score = max(top_score, h);
        }
        __syncthreads();
    }
    atomicMax(&block_best, top_score);
    __syncthreads();
    if (i == 0) best[pair] = block_best;
}

// ------------------------------------------------------------------ global alignment by tiles
__global__ void nw_tile(const char *a, const char *b, int *score, int len, int diag, int match, int mismatch, int gap)
{
    __shared__ int cell[NT + 1][NT + 1];
    __shared__ char sa[NT], sb[NT];
    const int tiles = len / NT, W = len + 1, t = threadIdx.x;
    const int bx = max(0, diag - tiles + 1) + (int)blockIdx.x, by = diag - bx;
    int *s = score + (size_t)blockIdx.y * W * W + (by * NT) * W + bx * NT;   // corner above-left of the tile

    sa[t] = a[blockIdx.y * len + by * NT + t];
    sb[t] = b[blockIdx.y * len + bx * NT + t];
    if (t == 0) cell[0][0] = s[0];
    cell[t + 1][0] = s[(t + 1) * W];
    cell[0][t + 1] = s[t + 1];
    __syncthreads();
    for (int d = 0; d < 2 * NT - 1; d++) {
        const int x = t + 1, y = d - t + 1;
        if (y >= 1 && y <= NT) {
            const int sub = cell[y - 1][x - 1] + (sa[y - 1] == sb[x - 1] ? match : mismatch);
            cell[y][x] = max(sub, max(cell[y - 1][x], cell[y][x - 1]) - gap);
        }
        __syncthreads();
    }
    for (int y = 1; y <= NT; y++) s[y * W + t + 1] = cell[y][t + 1];
}

// ------------------------------------------------------------------ edit distance
struct ReadMajor { static __device__ int at(int read, int pos, int, int len) { return read * len + pos; } };
struct PosMajor  { static __device__ int at(int read, int pos, int count, int) { return pos * count + read; } };

static __host__ __device__ inline int code(char c) { return (c >> 1) & 3; }   // A C T G -> 0 1 2 3

template <class Layout, bool SplitPeq>
__global__ void myers(const char *pattern, int m, const char *text, int n, int count, int *dist)
{
    extern __shared__ unsigned long long peq[];       // four words a thread
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= count) return;                           // no barrier below
    auto slot = [=](int c) { return SplitPeq ? c * blockDim.x + threadIdx.x : threadIdx.x * 4 + c; };
    for (int c = 0; c < 4; c++) peq[slot(c)] = 0;
    for (int p = 0; p < m; p++) peq[slot(code(pattern[Layout::at(r, p, count, m)]))] |= 1ull << p;
    unsigned long long pv = ~0ull, mv = 0, last = 1ull << (m - 1);
    int score = m;
    for (int j = 0; j < n; j++) {
        const unsigned long long eq = peq[slot(code(text[Layout::at(r, j, count, n)]))];
        const unsigned long long xv = eq | mv;
        const unsigned long long xh = (((eq & pv) + pv) ^ pv) | eq;
        unsigned long long ph = mv | ~(xh | pv);
        unsigned long long mh = pv & xh;
        score += (ph & last) != 0;
        score -= (mh & last) != 0;
        ph = ph << 1 | 1; mh <<= 1;
        pv = mh | ~(xv | ph); mv = ph & xv;
    }
    dist[r] = score;
}

// ------------------------------------------------------------------ k-mers, CHUNK windows per thread
template <int CHUNK>
__global__ void kmer_spectrum(const char *__restrict__ genome, int len, unsigned *__restrict__ table)
{
    __shared__ unsigned local[1 << 2 * K];
    for (int i = threadIdx.x; i < 1 << 2 * K; i += blockDim.x) local[i] = 0;
    __syncthreads();
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * CHUNK;
    const int end = min(first + CHUNK, len - K + 1);  // windows [first, end)
    if (first < end) {
        unsigned word = 0;
        for (int i = 0; i < K - 1; i++) word = word << 2 | code(genome[first + i]);
        for (int w = first; w < end; w++) {
            word = (word << 2 | code(genome[w + K - 1])) & ((1u << 2 * K) - 1);
            atomicAdd(&local[word], 1u);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1 << 2 * K; i += blockDim.x)
        if (local[i]) atomicAdd(&table[i], local[i]);
}

// ------------------------------------------------------------------ host
template <typename T> struct DeviceArray {
    T *p; size_t n;
    explicit DeviceArray(const vector<T> &h) : n(h.size()) {
        CUDA_TRY(cudaMalloc(&p, n * sizeof(T)));
        CUDA_TRY(cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    DeviceArray(const DeviceArray &) = delete;
    ~DeviceArray() { cudaFree(p); }
    vector<T> download() const { vector<T> h(n); CUDA_TRY(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
};

static uint32_t g_seed = 0x9E3779B9u;
static uint32_t rng() { g_seed ^= g_seed << 13; g_seed ^= g_seed >> 17; g_seed ^= g_seed << 5; return g_seed; }
static char base() { return "ACGT"[rng() >> 7 & 3]; }

// copy with substitutions / shifts so that there is something to align
static void mutate(const char *src, int m, char *dst, int n) {
    for (int j = 0, i = 0; j < n; j++) {
        const uint32_t r = rng() % 100;
        if (r < 4) i++;
        dst[j] = (r < 12 || i >= m) ? base() : src[i];
        if (r < 96) i++;
    }
}

int main(int argc, char **argv)
{
    const int pairs = argc > 1 ? atoi(argv[1]) : 96; int failures = 0;
    auto verdict = [&failures](const std::string &name, int bad) {
        CUDA_TRY(cudaGetLastError());
        printf("%-22s %s (%d)\n", name.c_str(), bad ? "differs" : "agrees", bad);
        failures += bad != 0;
    };

    { // ---- Smith-Waterman
        const int m = 100, pitch = 260, open = 11, ext = 2;
        vector<signed char> sub(ALPHA * ALPHA);
        for (int a = 0; a < ALPHA; a++)
            for (int b = 0; b < ALPHA; b++) sub[a * ALPHA + b] = (signed char)(a == b ? 5 + a % 4 : (a + b) * 7 % 6 - 4);
        vector<uint8_t> q(pairs * m), t(pairs * pitch);
        vector<int> tlen(pairs), best(pairs, -1);
        for (auto &x : q) x = rng() % ALPHA;
        for (int p = 0; p < pairs; p++) {
            tlen[p] = 130 + (p * 53) % 131;
            for (int j = 0; j < pitch; j++) {
                const int i = j - 20 - p % 30;
                t[p * pitch + j] = (i >= 0 && i < m && rng() % 4) ? q[p * m + i] : (uint8_t)(rng() % ALPHA);
            }
        }
        CUDA_TRY(cudaMemcpyToSymbol(c_sub, sub.data(), sub.size()));
        DeviceArray<uint8_t> dq(q), dt(t);
        DeviceArray<int> dlen(tlen), dbest(best);
        sw_affine<<<pairs, 128, 5 * (m + 1) * sizeof(int) + pitch>>>(dq.p, m, dt.p, pitch, dlen.p, open, ext, dbest.p);
        const auto got = dbest.download();
        int bad = 0;
        for (int p = 0; p < pairs; p++) {
            vector<int> h(tlen[p] + 1, 0), f(tlen[p] + 1, NEG);
            int top = 0;
            for (int i = 0; i < m; i++) {
                int diag = 0, e = NEG;
                for (int j = 1; j <= tlen[p]; j++) {
                    f[j] = std::max(h[j] - open, f[j] - ext);
                    e = std::max(h[j - 1] - open, e - ext);
                    const int v = std::max({0, diag + sub[q[p * m + i] * ALPHA + t[p * pitch + j - 1]], e, f[j]});
                    diag = h[j]; h[j] = v; top = std::max(top, v);
                }
            }
            bad += top != got[p];
        }
        verdict("smith-waterman", bad);
    }
    { // ---- Needleman-Wunsch
        const int len = 3 * NT, W = len + 1, batch = 80, match = 3, mismatch = -2, gap = 4, tiles = len / NT;
        vector<char> a(batch * len), b(batch * len);
        vector<int> s((size_t)batch * W * W, 0);
        for (auto &x : a) x = base();
        for (int k = 0; k < batch; k++) {
            mutate(&a[k * len], len, &b[k * len], len);
            for (int i = 0; i < W; i++) s[(size_t)k * W * W + i] = s[(size_t)k * W * W + i * W] = -gap * i;
        }
        DeviceArray<char> da(a), db(b); DeviceArray<int> ds(s);
        for (int d = 0; d < 2 * tiles - 1; d++) {
            const int width = d < tiles ? d + 1 : 2 * tiles - 1 - d;
            nw_tile<<<dim3(width, batch), NT>>>(da.p, db.p, ds.p, len, d, match, mismatch, gap);
            CUDA_TRY(cudaGetLastError());
        }
        for (int k = 0; k < batch; k++) {
            int *m = &s[(size_t)k * W * W];
            for (int i = 1; i < W; i++)
                for (int j = 1; j < W; j++)
                    m[i * W + j] = std::max(m[(i - 1) * W + j - 1] + (a[k * len + i - 1] == b[k * len + j - 1] ? match : mismatch),
                                            std::max(m[(i - 1) * W + j], m[i * W + j - 1]) - gap);
        }
        const auto got = ds.download();
        int bad = 0;
        for (size_t i = 0; i < s.size(); i++) bad += s[i] != got[i];
        verdict("needleman-wunsch", bad);
    }
    { // ---- edit distance, both layouts
        const int m = 60, n = 75, count = 5000, tpb = 96;
        vector<char> p(count * m), t(count * n), pT(count * m), tT(count * n);
        for (auto &x : p) x = base();
        for (int r = 0; r < count; r++) mutate(&p[r * m], m, &t[r * n], n);
        for (int r = 0; r < count; r++) {
            for (int i = 0; i < m; i++) pT[i * count + r] = p[r * m + i];
            for (int i = 0; i < n; i++) tT[i * count + r] = t[r * n + i];
        }
        DeviceArray<char> dp(p), dt(t), dpT(pT), dtT(tT);
        DeviceArray<int> d1(vector<int>(count, -1)), d2(vector<int>(count, -1));
        const int blocks = (count + tpb - 1) / tpb;
        const size_t smem = 4 * tpb * sizeof(unsigned long long);
        myers<ReadMajor, false><<<blocks, tpb, smem>>>(dp.p, m, dt.p, n, count, d1.p);
        CUDA_TRY(cudaGetLastError());
        myers<PosMajor, true><<<blocks, tpb, smem>>>(dpT.p, m, dtT.p, n, count, d2.p);
        const auto g1 = d1.download(), g2 = d2.download();
        int bad1 = 0, bad2 = 0; vector<int> row(n + 1);
        for (int r = 0; r < count; r++) {
            for (int j = 0; j <= n; j++) row[j] = j;
            for (int i = 1; i <= m; i++) {
                int diag = row[0]; row[0] = i;
                for (int j = 1; j <= n; j++) {
                    const int v = std::min(diag + (p[r * m + i - 1] != t[r * n + j - 1]), std::min(row[j], row[j - 1]) + 1);
                    diag = row[j]; row[j] = v;
                }
            }
            bad1 += g1[r] != row[n];
            bad2 += g2[r] != row[n];
        }
        verdict("myers, read-major", bad1);
        verdict("myers, pos-major", bad2);
    }
    { // ---- k-mer spectrum
        const int len = 250007, chunk = 16, windows = len - K + 1;
        vector<char> g(len);
        for (auto &c : g) c = base();
        vector<unsigned> want(1 << 2 * K, 0);
        for (int w = 0; w < windows; w++) {
            unsigned word = 0;
            for (int i = 0; i < K; i++) word = word << 2 | code(g[w + i]);
            want[word]++;
        }
        DeviceArray<char> dg(g);
        DeviceArray<unsigned> table(vector<unsigned>(1 << 2 * K, 0));
        const int threads = (windows + chunk - 1) / chunk;
        kmer_spectrum<chunk><<<(threads + 255) / 256, 256>>>(dg.p, len, table.p);
        const auto got = table.download();
        int bad = 0;
        for (size_t i = 0; i < want.size(); i++) bad += got[i] != want[i];
        verdict("k-mer spectrum", bad);
    }
    puts(failures ? "FAIL" : "PASS"); return failures ? 1 : 0;
}
