/*
 * Dynamic programming, one problem a block (or a thread):
 *   viterbi     most likely state path of a hidden Markov model, S states
 *   dtw         dynamic time warping over anti-diagonals
 *   knapsack    0/1 knapsack, value table in shared memory
 *   edit_rows   Levenshtein distance of short words, one pair a thread
 */
#include <cuda_runtime.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S        48            /* states */
#define SYMBOLS  20
#define T        120           /* observations of a sequence */
#define SEQS     132

#define LEN      200           /* dtw series length */
#define PAIRS    96

#define CAP      3000
#define ITEMS    40
#define SACKS    64

#define WORD     16
#define WORDS    40000

#define DIE_IF(e) do { cudaError_t r = (e); if (r) { printf("%s: %s\n", #e, cudaGetErrorString(r)); exit(1); } } while (0)
#define MIN3(a, b, c) min(a, min(b, c))

/* scores are integers (scaled logarithms), so that the paths are exact */
__global__ void viterbi(const int *trans, const int *emit, const unsigned char *obs, unsigned char *path)
{
    extern __shared__ int mem[];
    int *tr = mem;                            /* S x S, tr[from][to] */
    int *cur = tr + S * S;
    int *nxt = cur + S;
    unsigned char *back = (unsigned char *)(nxt + S);     /* T x S */
    int s = threadIdx.x;
    const unsigned char *o = obs + blockIdx.x * T;

    for (int i = s; i < S * S; i += blockDim.x) tr[i] = trans[i];
    cur[s] = emit[s * SYMBOLS + o[0]];
    __syncthreads();
    for (int t = 1; t < T; t++) {
        int best = cur[0] + tr[s], from = 0;
        for (int f = 1; f < S; f++) {
            int v = cur[f] + tr[f * S + s];
            if (v > best) { best = v; from = f; }
        }
        back[t * S + s] = (unsigned char)from;
        nxt[s] = best + emit[s * SYMBOLS + o[t]];
        __syncthreads();
        int *swap = cur; cur = nxt; nxt = swap;
    }
    if (s == 0) {
        int at = 0;
        for (int i = 1; i < S; i++) if (cur[i] > cur[at]) at = i;
        for (int t = T - 1; t >= 0; t--) {
            path[blockIdx.x * T + t] = (unsigned char)at;
            if (t > 0) at = back[t * S + at];
        }
    }
}

__global__ void dtw(const short *a, const short *b, int *out)
{
    __shared__ int diag[3][LEN + 1];
    __shared__ short sb[LEN];
    int i = threadIdx.x;                      /* row */
    short mine = i < LEN ? a[blockIdx.x * LEN + i] : 0;
    if (i < LEN) sb[i] = b[blockIdx.x * LEN + i];
    if (i <= LEN) diag[0][i] = diag[1][i] = diag[2][i] = INT_MAX / 2;
    __syncthreads();

    /* diag[d % 3][i + 1] is cell (i, d - i) */
    for (int d = 0; d < 2 * LEN - 1; d++) {
        int *now = diag[d % 3], *prev = diag[(d + 2) % 3], *prev2 = diag[(d + 1) % 3];
        int j = d - i;
        int v = INT_MAX / 2;
        if (i < LEN && j >= 0 && j < LEN) {
            int cost = abs(mine - sb[j]);
            int before = MIN3(prev[i], prev[i + 1], prev2[i]);
            v = cost + (d == 0 ? 0 : before);
        }
        __syncthreads();
        if (i < LEN) now[i + 1] = v;
        __syncthreads();
    }
    if (i == 0) out[blockIdx.x] = diag[(2 * LEN - 2) % 3][LEN];
}

__global__ void knapsack(const int *weight, const int *value, int *best)
{
    extern __shared__ int table[];
    int *from = table, *to = table + CAP + 1;
    const int *w = weight + blockIdx.x * ITEMS, *v = value + blockIdx.x * ITEMS;
    for (int c = threadIdx.x; c <= CAP; c += blockDim.x) from[c] = 0;
    for (int k = 0; k < ITEMS; k++) {
        __syncthreads();
        int wk = w[k], vk = v[k];
        for (int c = threadIdx.x; c <= CAP; c += blockDim.x) {
            int keep = from[c];
            if (c >= wk && from[c - wk] + vk > keep) keep = from[c - wk] + vk;
            to[c] = keep;
        }
        int *x = from; from = to; to = x;
    }
    __syncthreads();
    if (threadIdx.x == 0) best[blockIdx.x] = from[CAP];
}

__global__ void edit_rows(const char *a, const char *b, unsigned char *dist)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= WORDS) return;
    unsigned char row[WORD + 1];
    const char *wa = a + p * WORD, *wb = b + p * WORD;
    for (int j = 0; j <= WORD; j++) row[j] = j;
    for (int i = 0; i < WORD; i++) {
        char c = wa[i];
        int corner = row[0];
        row[0] = i + 1;
#pragma unroll
        for (int j = 0; j < WORD; j++) {
            int up = row[j + 1];
            row[j + 1] = MIN3(row[j] + 1, up + 1, corner + (c != wb[j]));
            corner = up;
        }
    }
    dist[p] = row[WORD];
}

static unsigned int state = 2024;
static unsigned int rnd(unsigned int n) { state = state * 1664525u + 1013904223u; return (state >> 10) % n; }

static void *to_dev(const void *h, size_t bytes)
{
    void *d;
    DIE_IF(cudaMalloc(&d, bytes));
    DIE_IF(h ? cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice) : cudaMemset(d, 0, bytes));
    return d;
}

static int trans[S * S], emit_[S * SYMBOLS];
static unsigned char obs[SEQS * T], path[SEQS * T];
static short sa[PAIRS * LEN], sb_[PAIRS * LEN];
static int wt[SACKS * ITEMS], val[SACKS * ITEMS], bestv[SACKS], cost[PAIRS];
static char wa[WORDS * WORD], wb[WORDS * WORD];
static unsigned char dist[WORDS];

int main(void)
{
    int i, j, k, t, bad = 0;
    for (i = 0; i < S * S; i++) trans[i] = -(int)rnd(2000) - 1;
    for (i = 0; i < S * SYMBOLS; i++) emit_[i] = -(int)rnd(3000) - 1;
    for (i = 0; i < SEQS * T; i++) obs[i] = rnd(SYMBOLS);
    for (i = 0; i < PAIRS * LEN; i++) { sa[i] = (short)(1000 * sin(0.05 * i) + rnd(100)); sb_[i] = (short)(1000 * sin(0.05 * i + 0.4) + rnd(100)); }
    for (i = 0; i < SACKS * ITEMS; i++) { wt[i] = 20 + rnd(300); val[i] = 1 + rnd(1000); }
    for (i = 0; i < WORDS * WORD; i++) { wa[i] = 'a' + rnd(6); wb[i] = rnd(3) ? wa[i] : 'a' + rnd(6); }

    int *dtr = (int *)to_dev(trans, sizeof trans), *dem = (int *)to_dev(emit_, sizeof emit_);
    unsigned char *dobs = (unsigned char *)to_dev(obs, sizeof obs), *dpath = (unsigned char *)to_dev(NULL, sizeof path);
    short *da = (short *)to_dev(sa, sizeof sa), *db = (short *)to_dev(sb_, sizeof sb_);
    int *dcost = (int *)to_dev(NULL, sizeof cost);
    int *dw = (int *)to_dev(wt, sizeof wt), *dv = (int *)to_dev(val, sizeof val), *dbest = (int *)to_dev(NULL, sizeof bestv);
    char *dwa = (char *)to_dev(wa, sizeof wa), *dwb = (char *)to_dev(wb, sizeof wb);
    unsigned char *ddist = (unsigned char *)to_dev(NULL, sizeof dist);

    size_t vbytes = (S * S + 2 * S) * sizeof(int) + T * S;
    viterbi<<<SEQS, S, vbytes>>>(dtr, dem, dobs, dpath);
    dtw<<<PAIRS, 224>>>(da, db, dcost);
    knapsack<<<SACKS, 512, 2 * (CAP + 1) * sizeof(int)>>>(dw, dv, dbest);
    edit_rows<<<(WORDS + 127) / 128, 128>>>(dwa, dwb, ddist);
    DIE_IF(cudaGetLastError());
    DIE_IF(cudaMemcpy(path, dpath, sizeof path, cudaMemcpyDeviceToHost));
    DIE_IF(cudaMemcpy(cost, dcost, sizeof cost, cudaMemcpyDeviceToHost));
    DIE_IF(cudaMemcpy(bestv, dbest, sizeof bestv, cudaMemcpyDeviceToHost));
    DIE_IF(cudaMemcpy(dist, ddist, sizeof dist, cudaMemcpyDeviceToHost));

    for (k = 0; k < SEQS; k++) {
        static int sc[T][S], bp[T][S];
        for (i = 0; i < S; i++) sc[0][i] = emit_[i * SYMBOLS + obs[k * T]];
        for (t = 1; t < T; t++)
            for (i = 0; i < S; i++) {
                bp[t][i] = 0;
                for (j = 1; j < S; j++)
                    if (sc[t - 1][j] + trans[j * S + i] > sc[t - 1][bp[t][i]] + trans[bp[t][i] * S + i]) bp[t][i] = j;
                sc[t][i] = sc[t - 1][bp[t][i]] + trans[bp[t][i] * S + i] + emit_[i * SYMBOLS + obs[k * T + t]];
            }
        int at = 0;
        for (i = 1; i < S; i++) if (sc[T - 1][i] > sc[T - 1][at]) at = i;
        for (t = T - 1; t >= 0; t--) { bad += path[k * T + t] != at; if (t) at = bp[t][at]; }
    }
    printf("viterbi: %d wrong\n", bad);
    for (k = 0; k < PAIRS; k++) {
        static int m[LEN][LEN];
        for (i = 0; i < LEN; i++)
            for (j = 0; j < LEN; j++) {
                int b = i == 0 && j == 0 ? 0 : INT_MAX / 2;
                if (i && m[i - 1][j] < b) b = m[i - 1][j];
                if (j && m[i][j - 1] < b) b = m[i][j - 1];
                if (i && j && m[i - 1][j - 1] < b) b = m[i - 1][j - 1];
                m[i][j] = b + abs(sa[k * LEN + i] - sb_[k * LEN + j]);
            }
        bad += cost[k] != m[LEN - 1][LEN - 1];
    }
    for (k = 0; k < SACKS; k++) {
        static int f[CAP + 1];
        memset(f, 0, sizeof f);
        for (i = 0; i < ITEMS; i++)
            for (j = CAP; j >= wt[k * ITEMS + i]; j--)
                if (f[j - wt[k * ITEMS + i]] + val[k * ITEMS + i] > f[j]) f[j] = f[j - wt[k * ITEMS + i]] + val[k * ITEMS + i];
        bad += bestv[k] != f[CAP];
    }
    for (k = 0; k < WORDS; k++) {
        int m[WORD + 1][WORD + 1];
        for (i = 0; i <= WORD; i++)
            for (j = 0; j <= WORD; j++) {
                if (!i || !j) { m[i][j] = i + j; continue; }
                int v = m[i - 1][j - 1] + (wa[k * WORD + i - 1] != wb[k * WORD + j - 1]);
                if (m[i - 1][j] + 1 < v) v = m[i - 1][j] + 1;
                if (m[i][j - 1] + 1 < v) v = m[i][j - 1] + 1;
                m[i][j] = v;
            }
        bad += dist[k] != m[WORD][WORD];
    }
    printf("%s\n", bad ? "FAIL" : "OK");
    return bad != 0;
}
