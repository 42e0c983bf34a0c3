// Dynamic programming: LCS by anti-diagonals (global rolling arrays), Smith-Waterman one warp a pair,
// 0/1 knapsack ping-pong, edit distance with a function-local row.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

// one block processes all diagonals; three rolling diagonals in shared memory (short)
__global__ void lcs_diagonal(const char* __restrict__ a, int la, const char* __restrict__ b, int lb, int* result)
{
    extern __shared__ short diag[];
    const int L = la + 1;
    short *d0 = diag, *d1 = diag + L, *d2 = diag + 2 * L;
    for (int i = threadIdx.x; i < 3 * L; i += blockDim.x) diag[i] = 0;
    __syncthreads();
    for (int s = 2; s <= la + lb; ++s) {
        int lo = max(1, s - lb), hi = min(la, s - 1);
        for (int i = lo + threadIdx.x; i <= hi; i += blockDim.x) {
            int j = s - i;
            short best = max(d1[i - 1], d1[i]);
            if (a[i - 1] == b[j - 1]) best = max(best, (short)(d0[i - 1] + 1));
            d2[i] = best;
        }
        __syncthreads();
        short* t = d0; d0 = d1; d1 = d2; d2 = t;
        for (int i = threadIdx.x; i < L; i += blockDim.x) d2[i] = 0;
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = d1[la];
}

struct Scoring { int match, mismatch, gap; };

// query of 32 columns per strip; lanes pass H values by shuffles, strip border kept in shared memory
__global__ void smith_waterman(const char* queries, const char* targets, int qlen, int tlen, int pairs, Scoring sc, int* scores)
{
    __shared__ int border[2][256];
    const int w = threadIdx.x / 32, lane = threadIdx.x % 32, pair = blockIdx.x * 2 + w;
    if (pair >= pairs) return;
    const char* q = queries + pair * qlen;
    const char* t = targets + pair * tlen;
    int best = 0;
    for (int j = lane; j < tlen; j += 32) border[w][j] = 0;
    __syncwarp();
    for (int strip = 0; strip < qlen; strip += 32) {
        const int i = strip + lane;
        const char qc = i < qlen ? q[i] : '#';
        int left = 0, diagv = 0, h = 0;
        for (int step = 0; step < tlen + 31; ++step) {
            int j = step - lane;
            int up = __shfl_up_sync(~0u, h, 1);
            if (lane == 0) up = (j >= 0 && j < tlen) ? border[w][j] : 0;
            if (j >= 0 && j < tlen) {
                int v = diagv + (qc == t[j] ? sc.match : sc.mismatch);
                v = max(max(v, 0), max(up, left) + sc.gap);
                if (i >= qlen) v = 0;
                diagv = up;
                left = h = v;
                best = max(best, v);
            }
            __syncwarp();
            if (lane == 31 && j >= 0 && j < tlen) border[w][j] = h;
        }
        __syncwarp();
    }
    best = __reduce_max_sync(~0u, best);
    if (lane == 0) scores[pair] = best;
}

__global__ void knapsack_item(const int* __restrict__ prev, int* __restrict__ next, int cap, int weight, int value)
{
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c <= cap; c += gridDim.x * blockDim.x)
        next[c] = c >= weight ? max(prev[c], prev[c - weight] + value) : prev[c];
}

// words stored 16 bytes each; one thread per (dictionary word)
__global__ void edit_distance(const char* __restrict__ dict, int nwords, const char* __restrict__ probe, unsigned char* dist)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= nwords) return;
    const int4 packed = reinterpret_cast<const int4*>(dict)[id];
    const char* word = reinterpret_cast<const char*>(&packed);
    unsigned char row[17];
    int lp = 0, lw = 0;
    while (lp < 16 && probe[lp]) ++lp;
    while (lw < 16 && word[lw]) ++lw;
    for (int j = 0; j <= lp; ++j) row[j] = j;
    for (int i = 1; i <= lw; ++i) {
        unsigned char diag = row[0];
        row[0] = i;
        for (int j = 1; j <= lp; ++j) {
            unsigned char old = row[j];
            unsigned char sub = diag + (word[i - 1] != probe[j - 1]);
            row[j] = min(min((int)sub, old + 1), row[j - 1] + 1);
            diag = old;
        }
    }
    dist[id] = row[lp];
}

static int cpu_sw(const char* q, int n, const char* t, int m, Scoring s)
{
    std::vector<int> h(m + 1, 0); int best = 0;
    for (int i = 0; i < n; ++i) { int d = 0; for (int j = 1; j <= m; ++j) { int o = h[j]; h[j] = std::max(std::max(0, d + (q[i] == t[j - 1] ? s.match : s.mismatch)), std::max(h[j], h[j - 1]) + s.gap); d = o; best = std::max(best, h[j]); } }
    return best;
}

int main()
{
    const int la = 300, lb = 270, pairs = 41, ql = 75, tl = 140, cap = 1000, words = 700;
    srand(8);
    std::string a(la, 0), b(lb, 0), q(pairs * ql, 0), t(pairs * tl, 0);
    for (auto* s : {&a, &b, &q, &t}) for (auto& c : *s) c = "ACGT"[rand() % 4];
    std::vector<char> dict(words * 16, 0);
    for (int i = 0; i < words; ++i) for (int k = 0, l = 3 + rand() % 12; k < l; ++k) dict[i * 16 + k] = 'a' + rand() % 5;
    char *da, *db, *dq, *dt, *dd, *dp; int *res, *sc, *k0, *k1; unsigned char* ed;
    cudaMalloc(&da, la); cudaMalloc(&db, lb); cudaMalloc(&dq, q.size()); cudaMalloc(&dt, t.size()); cudaMalloc(&dd, dict.size()); cudaMalloc(&dp, 16);
    cudaMalloc(&res, 4); cudaMalloc(&sc, pairs * 4); cudaMalloc(&k0, (cap + 1) * 4); cudaMalloc(&k1, (cap + 1) * 4); cudaMalloc(&ed, words);
    cudaMemcpy(da, a.data(), la, cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), lb, cudaMemcpyHostToDevice);
    cudaMemcpy(dq, q.data(), q.size(), cudaMemcpyHostToDevice); cudaMemcpy(dt, t.data(), t.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(dd, dict.data(), dict.size(), cudaMemcpyHostToDevice); cudaMemcpy(dp, dict.data(), 16, cudaMemcpyHostToDevice);
    cudaMemset(k0, 0, (cap + 1) * 4);
    lcs_diagonal<<<1, 128, 3 * (la + 1) * sizeof(short)>>>(da, la, db, lb, res);
    Scoring s{3, -2, -3};
    smith_waterman<<<(pairs + 1) / 2, 64>>>(dq, dt, ql, tl, pairs, s, sc);
    int wgt[4] = {113, 57, 240, 391}, val[4] = {10, 4, 25, 37};
    for (int i = 0; i < 4; ++i) { knapsack_item<<<3, 160>>>(k0, k1, cap, wgt[i], val[i]); std::swap(k0, k1); }
    edit_distance<<<(words + 63) / 64, 64>>>(dd, words, dp, ed);
    int lcs, best; std::vector<int> hs(pairs); std::vector<unsigned char> he(words);
    cudaMemcpy(&lcs, res, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&best, k0 + cap, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hs.data(), sc, pairs * 4, cudaMemcpyDeviceToHost); cudaMemcpy(he.data(), ed, words, cudaMemcpyDeviceToHost);
    std::vector<std::vector<int>> m(la + 1, std::vector<int>(lb + 1, 0));
    for (int i = 1; i <= la; ++i) for (int j = 1; j <= lb; ++j) m[i][j] = a[i - 1] == b[j - 1] ? m[i - 1][j - 1] + 1 : std::max(m[i - 1][j], m[i][j - 1]);
    int bad = lcs != m[la][lb];
    for (int p = 0; p < pairs; ++p) bad += hs[p] != cpu_sw(&q[p * ql], ql, &t[p * tl], tl, s);
    printf("lcs %d/%d, knapsack %d, dist[0] %d, errors %d\n", lcs, m[la][lb], best, he[0], bad);
    return bad || best != 76 || he[0] != 0;
}
