/* Spell checker: for every misspelt word find the dictionary word with the smallest Levenshtein distance.
 * The words are packed one after another in a char array with offsets (like our CPU version keeps them).
 *
 *   pass A  letter signatures of all words, 26 letters x 2 bits in a 64 bit integer
 *   pass B  candidate pruning by length and signature, counts per query
 *   pass C  exclusive scan of the counts (one block), then the candidate lists are filled
 *   pass D  edit distance per candidate pair: full row in local memory, or Myers' bit vectors
 *   pass E  best candidate per query
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>
#include <algorithm>

typedef unsigned long long u64;
#define MAXLEN 24
#define NDICT  3000
#define NQUERY 400
#define LIMIT  3

#define CU(call)                                                        \
    do {                                                                \
        cudaError_t cu_err = call;                                      \
        if (cu_err != cudaSuccess) {                                    \
            fprintf(stderr, "%s\n", cudaGetErrorString(cu_err));        \
            return 1;                                                   \
        }                                                               \
    } while (0)

struct Words { const char *text; const int *start; int n; };    /* start has n + 1 entries */
struct Pair { int query, word; };

__device__ __host__ inline u64 signature_of(const char *w, int len)
{
    u64 s = 0;
    for (int i = 0; i < len; i++) {
        int sh = 2 * (w[i] - 'a');
        if (((s >> sh) & 3) < 3) s += 1ull << sh;
    }
    return s;
}

/* lower bound: letters (up to 3 of each) that one word has more of than the other */
__device__ __host__ inline int signature_gap(u64 a, u64 b)
{
    int more = 0, less = 0;
    for (int k = 0; k < 52; k += 2) {
        int d = (int)((a >> k) & 3) - (int)((b >> k) & 3);
        if (d > 0) more += d; else less -= d;
    }
    return more > less ? more : less;
}

__global__ void make_signatures(Words w, u64 *sig, unsigned char *len)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    int s = w.start[i], l = w.start[i + 1] - s;
    sig[i] = signature_of(w.text + s, l);
    len[i] = (unsigned char)l;
}

/* a block per query; fill == 0 counts, fill == 1 writes the pairs (order inside a query is arbitrary) */
__global__ void prune(const u64 *qsig, const unsigned char *qlen, const u64 *dsig, const unsigned char *dlen, int nd,
                      int fill, int *count, const int *where, Pair *pairs)
{
    __shared__ int n_here;
    int q = blockIdx.x;
    if (threadIdx.x == 0) n_here = 0;
    __syncthreads();
    u64 mine = qsig[q];
    int ml = qlen[q];
    for (int i = threadIdx.x; i < nd; i += blockDim.x) {
        int dl = dlen[i] - ml;
        if (dl > LIMIT || dl < -LIMIT) continue;
        if (signature_gap(mine, dsig[i]) > LIMIT) continue;
        int slot = atomicAdd(&n_here, 1);
        if (fill) {
            Pair p;
            p.query = q;
            p.word = i;
            pairs[where[q] + slot] = p;
        }
    }
    __syncthreads();
    if (!fill && threadIdx.x == 0) count[q] = n_here;
}

/* Hillis-Steele in shared memory, n <= 512 */
__global__ void scan_counts(const int *count, int *where, int n)
{
    __shared__ int a[512];
    int t = threadIdx.x;
    a[t] = t < n ? count[t] : 0;
    __syncthreads();
    for (int d = 1; d < 512; d <<= 1) {
        int v = t >= d ? a[t - d] : 0;
        __syncthreads();
        a[t] += v;
        __syncthreads();
    }
    if (t == 0) where[0] = 0;
    if (t < n) where[t + 1] = a[t];
}

__global__ void distance_rows(Words q, Words d, const Pair *pairs, int n, int *dist)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pair p = pairs[i];
    const char *a = q.text + q.start[p.query], *b = d.text + d.start[p.word];
    int la = q.start[p.query + 1] - q.start[p.query], lb = d.start[p.word + 1] - d.start[p.word];
    int row[MAXLEN + 1];
    for (int k = 0; k <= la; k++) row[k] = k;
    for (int j = 1; j <= lb; j++) {
        int diag = row[0];
        row[0] = j;
        for (int k = 1; k <= la; k++) {
            int up = row[k];
            int best = diag + (a[k - 1] != b[j - 1]);
            best = min(best, min(up, row[k - 1]) + 1);
            diag = up;
            row[k] = best;
        }
    }
    dist[i] = row[la];
}

/* the row of every thread lives in shared memory as row[k][thread] */
__global__ void distance_shared(Words q, Words d, const Pair *pairs, int n, int *dist)
{
    __shared__ unsigned char row[MAXLEN + 1][64];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    if (i >= n) return;
    int qs = q.start[pairs[i].query], la = q.start[pairs[i].query + 1] - qs;
    int ds = d.start[pairs[i].word], lb = d.start[pairs[i].word + 1] - ds;
    for (int k = 0; k <= la; k++) row[k][t] = k;
    for (int j = 1; j <= lb; j++) {
        char c = d.text[ds + j - 1];
        int diag = j - 1, left = j;
        for (int k = 1; k <= la; k++) {
            int up = row[k][t];
            left = min(diag + (q.text[qs + k - 1] != c), min(up, left) + 1);
            diag = up;
            row[k][t] = left;
        }
    }
    dist[i] = row[la][t];
}

/* Myers 1999, the pattern masks come from a table [query][32] built below */
__global__ void pattern_masks(Words q, unsigned *peq)
{
    int k = blockIdx.x, letter = threadIdx.x;
    unsigned m = 0;
    int s = q.start[k], l = q.start[k + 1] - s;
    for (int i = 0; i < l; i++) if (q.text[s + i] - 'a' == letter) m |= 1u << i;
    peq[k * 32 + letter] = m;
}
__global__ void distance_bits(Words q, Words d, const unsigned *peq, const Pair *pairs, int n, int *dist)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int2 p = reinterpret_cast<const int2 *>(pairs)[i];
    int la = q.start[p.x + 1] - q.start[p.x];
    unsigned pv = ~0u, mv = 0, top = 1u << (la - 1);
    int score = la;
    for (int s = d.start[p.y]; s < d.start[p.y + 1]; s++) {
        unsigned eq = peq[p.x * 32 + d.text[s] - 'a'];
        unsigned xv = eq | mv, xh = (((eq & pv) + pv) ^ pv) | eq;
        unsigned ph = mv | ~(xh | pv), mh = pv & xh;
        score += (ph & top) != 0;
        score -= (mh & top) != 0;
        ph = (ph << 1) | 1u;
        mh <<= 1;
        pv = mh | ~(xv | ph);
        mv = ph & xv;
    }
    dist[i] = score;
}

__global__ void best_per_query(const Pair *pairs, const int *dist, int n, int *best)  /* best = dist << 16 | word */
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMin(&best[pairs[i].query], dist[i] << 16 | pairs[i].word);
}

static int host_distance(const std::string &a, const std::string &b)
{
    std::vector<std::vector<int> > t(a.size() + 1, std::vector<int>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); i++)
        for (size_t j = 0; j <= b.size(); j++) {
            if (!i || !j) { t[i][j] = (int)(i + j); continue; }
            t[i][j] = std::min(t[i - 1][j - 1] + (a[i - 1] != b[j - 1]), std::min(t[i - 1][j], t[i][j - 1]) + 1);
        }
    return t[a.size()][b.size()];
}

static void pack(const std::vector<std::string> &w, std::string &text, std::vector<int> &start)
{
    for (size_t i = 0; i < w.size(); i++) { start.push_back((int)text.size()); text += w[i]; }
    start.push_back((int)text.size());
}
static int to_device(const std::string &text, const std::vector<int> &start, Words *w)
{
    char *t; int *s;
    CU(cudaMalloc(&t, text.size()));
    CU(cudaMalloc(&s, start.size() * sizeof(int)));
    CU(cudaMemcpy(t, text.data(), text.size(), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(s, start.data(), start.size() * sizeof(int), cudaMemcpyHostToDevice));
    w->text = t; w->start = s; w->n = (int)start.size() - 1;
    return 0;
}

int main()
{
    srand(1066);
    const char *syl[] = {"ka", "lo", "mi", "ter", "an", "sto", "vel", "qui", "pre", "ion", "dis", "er", "ub", "wy"};
    std::vector<std::string> dict, query;
    for (int i = 0; i < NDICT; i++) {
        std::string w;
        int parts = 2 + rand() % 5;
        for (int k = 0; k < parts; k++) w += syl[rand() % 14];
        dict.push_back(w);
    }
    for (int i = 0; i < NQUERY; i++) {
        std::string w = dict[rand() % NDICT];
        for (int e = rand() % 4; e > 0; e--) {
            int at = rand() % w.size(), kind = rand() % 3;
            if (kind == 0) w[at] = (char)('a' + rand() % 26);
            else if (kind == 1 && w.size() > 3) w.erase(at, 1);
            else if (w.size() < MAXLEN) w.insert(at, 1, (char)('a' + rand() % 26));
        }
        query.push_back(w);
    }
    std::string dt, qt; std::vector<int> ds, qs;
    pack(dict, dt, ds); pack(query, qt, qs);
    Words D, Q;
    if (to_device(dt, ds, &D) || to_device(qt, qs, &Q)) return 1;
    u64 *dsig, *qsig; unsigned char *dlen, *qlen; int *count, *where, *best; unsigned *peq;
    CU(cudaMalloc(&dsig, NDICT * sizeof(u64))); CU(cudaMalloc(&qsig, NQUERY * sizeof(u64)));
    CU(cudaMalloc(&dlen, NDICT)); CU(cudaMalloc(&qlen, NQUERY));
    CU(cudaMalloc(&count, NQUERY * sizeof(int))); CU(cudaMalloc(&where, (NQUERY + 1) * sizeof(int)));
    CU(cudaMalloc(&best, NQUERY * sizeof(int))); CU(cudaMalloc(&peq, NQUERY * 32 * sizeof(unsigned)));
    CU(cudaMemset(best, 0x7f, NQUERY * sizeof(int)));

    make_signatures<<<(NDICT + 127) / 128, 128>>>(D, dsig, dlen);
    make_signatures<<<(NQUERY + 127) / 128, 128>>>(Q, qsig, qlen);
    prune<<<NQUERY, 128>>>(qsig, qlen, dsig, dlen, NDICT, 0, count, where, (Pair *)0);
    scan_counts<<<1, 512>>>(count, where, NQUERY);
    int n = 0;
    CU(cudaMemcpy(&n, where + NQUERY, sizeof(int), cudaMemcpyDeviceToHost));
    Pair *pairs; int *dist[3];
    CU(cudaMalloc(&pairs, n * sizeof(Pair)));
    for (int k = 0; k < 3; k++) CU(cudaMalloc(&dist[k], n * sizeof(int)));
    prune<<<NQUERY, 128>>>(qsig, qlen, dsig, dlen, NDICT, 1, count, where, pairs);
    pattern_masks<<<NQUERY, 32>>>(Q, peq);
    distance_rows<<<(n + 127) / 128, 128>>>(Q, D, pairs, n, dist[0]);
    distance_shared<<<(n + 63) / 64, 64>>>(Q, D, pairs, n, dist[1]);
    distance_bits<<<(n + 255) / 256, 256>>>(Q, D, peq, pairs, n, dist[2]);
    best_per_query<<<(n + 255) / 256, 256>>>(pairs, dist[2], n, best);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    std::vector<Pair> hp(n); std::vector<int> h[3], hb(NQUERY), ref(NQUERY, 0x7f7f7f7f);
    CU(cudaMemcpy(&hp[0], pairs, n * sizeof(Pair), cudaMemcpyDeviceToHost));
    for (int k = 0; k < 3; k++) {
        h[k].resize(n);
        CU(cudaMemcpy(&h[k][0], dist[k], n * sizeof(int), cudaMemcpyDeviceToHost));
    }
    CU(cudaMemcpy(&hb[0], best, NQUERY * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0, expect = 0, found = 0;
    for (int q = 0; q < NQUERY; q++) {
        u64 s = signature_of(query[q].data(), (int)query[q].size());
        for (int w = 0; w < NDICT; w++) {
            if (abs((int)query[q].size() - (int)dict[w].size()) > LIMIT) continue;
            if (signature_gap(s, signature_of(dict[w].data(), (int)dict[w].size())) > LIMIT) continue;
            expect++;
            ref[q] = std::min(ref[q], host_distance(query[q], dict[w]) << 16 | w);
        }
        wrong += ref[q] != hb[q];
        found += (hb[q] >> 16) <= LIMIT;
    }
    wrong += expect != n;
    for (int i = 0; i < n; i++) wrong += h[0][i] != h[2][i] || h[1][i] != h[2][i];
    for (int i = 0; i < n; i += 17) wrong += h[0][i] != host_distance(query[hp[i].query], dict[hp[i].word]);
    printf("%d candidate pairs, %d of %d words corrected, %d errors\n", n, found, NQUERY, wrong);
    printf("%s\n", wrong ? "FAIL" : "PASS");
    return wrong ? 1 : 0;
}
