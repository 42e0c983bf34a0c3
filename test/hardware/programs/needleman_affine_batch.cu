// needleman_affine_batch.cu
//
// Batched global alignment with affine gaps (Gotoh), three ways: a block per pair
// (writes the direction matrix for the traceback), a warp per pair, a thread per pair.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define MAXLEN      160          /* longest sequence */
#define GAP_OPEN    5
#define GAP_EXT     1
#define NEG_INF     (-1000000)
#define WARPS_PER_BLOCK 4

#define DIR_DIAG    0            /* direction byte */
#define DIR_LEFT    1
#define DIR_UP      2
#define DIR_HMASK   3
#define DIR_E_OPEN  4
#define DIR_F_OPEN  8

#define CK(call)                                                              \
    do {                                                                      \
        cudaError_t e_ = (call);                                              \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                \
                    cudaGetErrorString(e_));                                  \
            exit(2);                                                          \
        }                                                                     \
    } while (0)

static const int h_subst[25] = {   /* A C G T N */
    5, -4, -2, -4, -1,   -4, 5, -4, -2, -1,   -2, -4, 5, -4, -1,
    -4, -2, -4, 5, -1,   -1, -1, -1, -1, -1};

__constant__ int c_subst[25];

__device__ __forceinline__ int gap_cost(int k) { return -(GAP_OPEN + GAP_EXT * k); }

/* [pair][MAXLEN] -> [MAXLEN][npairs] so that neighbouring threads read
 * neighbouring bytes in the thread-per-pair kernel */
__global__ void interleave_seqs(const unsigned char *in, unsigned char *out, int npairs)
{
    __shared__ unsigned char tile[32][33];
    int pos  = blockIdx.x * 32 + threadIdx.x;
    int pair = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        if (pos < MAXLEN && pair + k < npairs)
            tile[threadIdx.y + k][threadIdx.x] = in[(pair + k) * MAXLEN + pos];
    }
    __syncthreads();
    pos  = blockIdx.x * 32 + threadIdx.y;
    pair = blockIdx.y * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8) {
        if (pos + k < MAXLEN && pair < npairs)
            out[(pos + k) * npairs + pair] = tile[threadIdx.x][threadIdx.y + k];
    }
}

/* One block per pair.  Thread t owns row i = t + 1 and walks the diagonals. */
__global__ void nw_block_diag(const unsigned char *qs, const unsigned char *ts,
                              const int *qlen, const int *tlen,
                              unsigned char *dirs, int *score)
{
    __shared__ int sub[25];
    __shared__ unsigned char sq[MAXLEN];
    __shared__ unsigned char st[MAXLEN];
    __shared__ int H[3][MAXLEN + 1];
    __shared__ int F[2][MAXLEN + 1];

    const int p   = blockIdx.x;
    const int tid = threadIdx.x;
    const int m   = qlen[p];
    const int n   = tlen[p];

    if (tid < 25) sub[tid] = c_subst[tid];
    if (tid < m) sq[tid] = qs[p * MAXLEN + tid];
    if (tid < n) st[tid] = ts[p * MAXLEN + tid];
    unsigned char *dir = dirs + (size_t)p * MAXLEN * MAXLEN;

    if (tid == 0) {
        H[0][0] = 0;
        H[1][0] = gap_cost(1);
        H[1][1] = gap_cost(1);
        F[1][0] = NEG_INF;
    }
    __syncthreads();

    const int i = tid + 1;
    int e = NEG_INF;                 /* E[i][j-1], stays with the row */
    for (int d = 2; d <= m + n; ++d) {
        const int cur = d % 3, one = (d + 2) % 3, two = (d + 1) % 3;
        const int j = d - i;
        if (i <= m && j >= 1 && j <= n) {
            int hleft = H[one][i];
            int hup   = H[one][i - 1];
            int hdiag = H[two][i - 1];
            int fup   = (j == d - 1 || i == 1) ? NEG_INF : F[(d + 1) & 1][i - 1];
            unsigned char flags = 0;

            int eo = hleft - GAP_OPEN - GAP_EXT;
            e -= GAP_EXT;
            if (eo >= e) { e = eo; flags |= DIR_E_OPEN; }

            int fo = hup - GAP_OPEN - GAP_EXT;
            int f  = fup - GAP_EXT;
            if (fo >= f) { f = fo; flags |= DIR_F_OPEN; }

            int h = hdiag + sub[sq[i - 1] * 5 + st[j - 1]];
            if (e > h) { h = e; flags = (flags & ~DIR_HMASK) | DIR_LEFT; }
            if (f > h) { h = f; flags = (flags & ~DIR_HMASK) | DIR_UP; }

            H[cur][i] = h;
            F[d & 1][i] = f;
            dir[(i - 1) * MAXLEN + (j - 1)] = flags;
            if (i == m && j == n) score[p] = h;
        }
        if (i == d && i <= m) H[cur][i] = gap_cost(d);       /* column 0 */
        if (tid == 0 && d <= n) H[cur][0] = gap_cost(d);     /* row 0    */
        __syncthreads();
    }
}

/* One warp per pair, strips of 32 rows, boundary row in shared memory. */
__global__ void nw_warp_strip(const unsigned char *qs, const unsigned char *ts,
                              const int *qlen, const int *tlen, int npairs, int *score)
{
    __shared__ int rowH[WARPS_PER_BLOCK][MAXLEN + 1];
    __shared__ int rowF[WARPS_PER_BLOCK][MAXLEN + 1];

    const int lane = threadIdx.x & 31;
    const int w    = threadIdx.x >> 5;
    const int p    = blockIdx.x * WARPS_PER_BLOCK + w;
    if (p >= npairs) return;
    const int m = qlen[p], n = tlen[p];
    const unsigned char *q = qs + p * MAXLEN;
    const unsigned char *t = ts + p * MAXLEN;

    for (int j = lane; j <= n; j += 32) {
        rowH[w][j] = j ? gap_cost(j) : 0;
        rowF[w][j] = NEG_INF;
    }
    __syncwarp();

    for (int base = 0; base < m; base += 32) {
        const int i    = base + lane + 1;
        const int qc   = (i <= m) ? q[i - 1] : 4;
        int h    = gap_cost(i);
        int e    = NEG_INF;
        int f    = NEG_INF;
        int diag = (i == 1) ? 0 : gap_cost(i - 1);
        for (int s = 0; s < n + 31; ++s) {
            const int j = s - lane + 1;
            int hup = __shfl_up_sync(0xffffffffu, h, 1);
            int fup = __shfl_up_sync(0xffffffffu, f, 1);
            const bool on = (j >= 1 && j <= n && i <= m);
            if (lane == 0 && on) {
                hup = rowH[w][j];
                fup = rowF[w][j];
            }
            if (on) {
                e = max(e - GAP_EXT, h - GAP_OPEN - GAP_EXT);
                f = max(fup - GAP_EXT, hup - GAP_OPEN - GAP_EXT);
                h = max(diag + c_subst[qc * 5 + t[j - 1]], max(e, f));
                diag = hup;
                if (lane == 31) {
                    rowH[w][j] = h;
                    rowF[w][j] = f;
                }
                if (i == m && j == n) score[p] = h;
            }
        }
        __syncwarp();
    }
}

/* One thread per pair; the running row lives in global memory, interleaved. */
__global__ void nw_thread_interleaved(const unsigned char *qT, const unsigned char *tT,
                                      const int *qlen, const int *tlen,
                                      int2 *rowHF, int npairs, int *score)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= npairs) return;
    const int m = qlen[p], n = tlen[p];
    for (int j = 1; j <= n; ++j)
        rowHF[j * npairs + p] = make_int2(gap_cost(j), NEG_INF);
    int h = 0;
    for (int i = 1; i <= m; ++i) {
        const int qc = qT[(i - 1) * npairs + p];
        int diag = (i == 1) ? 0 : gap_cost(i - 1);
        int e = NEG_INF;
        h = gap_cost(i);
        for (int j = 1; j <= n; ++j) {
            int2 up = rowHF[j * npairs + p];
            int tc  = tT[(j - 1) * npairs + p];
            e = max(e - GAP_EXT, h - GAP_OPEN - GAP_EXT);
            int f = max(up.y - GAP_EXT, up.x - GAP_OPEN - GAP_EXT);
            h = max(diag + c_subst[qc * 5 + tc], max(e, f));
            diag = up.x;
            rowHF[j * npairs + p] = make_int2(h, f);
        }
    }
    score[p] = h;
}

struct AlnStats { int matches, mismatches, gap_opens, columns; };

__global__ void traceback(const unsigned char *dirs, const unsigned char *qs,
                          const unsigned char *ts, const int *qlen, const int *tlen,
                          int npairs, AlnStats *out)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= npairs) return;
    const unsigned char *dir = dirs + (size_t)p * MAXLEN * MAXLEN;
    int i = qlen[p], j = tlen[p];
    AlnStats s = {0, 0, 0, 0};
    int state = DIR_DIAG;
    while (i > 0 && j > 0) {
        int b = dir[(i - 1) * MAXLEN + (j - 1)];
        if (state == DIR_DIAG) {
            state = b & DIR_HMASK;
            if (state == DIR_DIAG) {
                if (qs[p * MAXLEN + i - 1] == ts[p * MAXLEN + j - 1]) s.matches++;
                else s.mismatches++;
                s.columns++;
                --i;
                --j;
                continue;
            }
            s.gap_opens++;
        }
        s.columns++;
        if (state == DIR_LEFT) {
            if (b & DIR_E_OPEN) state = DIR_DIAG;
            --j;
        } else {
            if (b & DIR_F_OPEN) state = DIR_DIAG;
            --i;
        }
    }
    s.columns += i + j;
    out[p] = s;
}

static int cpu_align(const unsigned char *q, int m, const unsigned char *t, int n, AlnStats *st)
{
    static int H[MAXLEN + 1][MAXLEN + 1], E[MAXLEN + 1][MAXLEN + 1], F[MAXLEN + 1][MAXLEN + 1];
    static unsigned char D[MAXLEN + 1][MAXLEN + 1];
    for (int i = 0; i <= m; ++i) { H[i][0] = i ? -(GAP_OPEN + GAP_EXT * i) : 0; E[i][0] = NEG_INF; }
    for (int j = 0; j <= n; ++j) { H[0][j] = j ? -(GAP_OPEN + GAP_EXT * j) : 0; F[0][j] = NEG_INF; }
    for (int i = 1; i <= m; ++i)
        for (int j = 1; j <= n; ++j) {
            int fl = 0, eo = H[i][j - 1] - GAP_OPEN - GAP_EXT, fo = H[i - 1][j] - GAP_OPEN - GAP_EXT;
            int e = E[i][j - 1] - GAP_EXT, f = F[i - 1][j] - GAP_EXT;
            if (eo >= e) { e = eo; fl |= DIR_E_OPEN; }
            if (fo >= f) { f = fo; fl |= DIR_F_OPEN; }
            int h = H[i - 1][j - 1] + h_subst[q[i - 1] * 5 + t[j - 1]], c = DIR_DIAG;
            if (e > h) { h = e; c = DIR_LEFT; }
            if (f > h) { h = f; c = DIR_UP; }
            H[i][j] = h; E[i][j] = e; F[i][j] = f; D[i][j] = (unsigned char)(fl | c);
        }
    int i = m, j = n, state = DIR_DIAG;
    memset(st, 0, sizeof *st);
    while (i > 0 && j > 0) {
        int b = D[i][j];
        if (state == DIR_DIAG) {
            state = b & DIR_HMASK;
            if (state == DIR_DIAG) {
                if (q[i - 1] == t[j - 1]) st->matches++; else st->mismatches++;
                st->columns++; --i; --j; continue;
            }
            st->gap_opens++;
        }
        st->columns++;
        if (state == DIR_LEFT) { if (b & DIR_E_OPEN) state = DIR_DIAG; --j; }
        else                   { if (b & DIR_F_OPEN) state = DIR_DIAG; --i; }
    }
    st->columns += i + j;
    return H[m][n];
}

int main(int argc, char **argv)
{
    int npairs = (argc > 1) ? atoi(argv[1]) : 512;
    size_t seqBytes = (size_t)npairs * MAXLEN;
    unsigned char *q = (unsigned char *)calloc(seqBytes, 1), *t = (unsigned char *)calloc(seqBytes, 1);
    int *ql = (int *)malloc(npairs * sizeof(int)), *tl = (int *)malloc(npairs * sizeof(int));
    srand(1234);
    for (int p = 0; p < npairs; ++p) {
        ql[p] = 110 + rand() % 41;
        int k = 0;
        for (int i = 0; i < ql[p]; ++i) q[p * MAXLEN + i] = (rand() % 50) ? rand() % 4 : 4;
        for (int i = 0; i < ql[p] && k < MAXLEN; ++i) {      /* mutated copy */
            int r = rand() % 100;
            if (r < 6) continue;                              /* deletion */
            t[p * MAXLEN + k++] = (r < 18) ? rand() % 4 : q[p * MAXLEN + i];
            if (r > 95 && k < MAXLEN) t[p * MAXLEN + k++] = rand() % 4;
        }
        tl[p] = k;
    }
    unsigned char *d_q, *d_t, *d_qT, *d_tT, *d_dir;
    int *d_ql, *d_tl, *d_score;          /* three score arrays in one */
    int2 *d_row;
    AlnStats *d_st;
    unsigned char **seqBufs[4] = {&d_q, &d_t, &d_qT, &d_tT};
    for (int b = 0; b < 4; ++b) CK(cudaMalloc(seqBufs[b], seqBytes));
    CK(cudaMalloc(&d_dir, seqBytes * MAXLEN));
    CK(cudaMalloc(&d_ql, npairs * sizeof(int)));
    CK(cudaMalloc(&d_tl, npairs * sizeof(int)));
    CK(cudaMalloc(&d_score, 3 * npairs * sizeof(int)));
    CK(cudaMalloc(&d_row, (size_t)npairs * (MAXLEN + 1) * sizeof(int2)));
    CK(cudaMalloc(&d_st, npairs * sizeof(AlnStats)));
    CK(cudaMemcpy(d_q, q, seqBytes, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_t, t, seqBytes, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_ql, ql, npairs * sizeof(int), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_tl, tl, npairs * sizeof(int), cudaMemcpyHostToDevice));
    CK(cudaMemcpyToSymbol(c_subst, h_subst, sizeof(h_subst)));
    dim3 tb(32, 8), tg((MAXLEN + 31) / 32, (npairs + 31) / 32);
    interleave_seqs<<<tg, tb>>>(d_q, d_qT, npairs);
    interleave_seqs<<<tg, tb>>>(d_t, d_tT, npairs);
    nw_block_diag<<<npairs, MAXLEN>>>(d_q, d_t, d_ql, d_tl, d_dir, d_score);
    nw_warp_strip<<<(npairs + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK, 32 * WARPS_PER_BLOCK>>>(
        d_q, d_t, d_ql, d_tl, npairs, d_score + npairs);
    nw_thread_interleaved<<<(npairs + 63) / 64, 64>>>(d_qT, d_tT, d_ql, d_tl, d_row, npairs,
                                                      d_score + 2 * npairs);
    traceback<<<(npairs + 63) / 64, 64>>>(d_dir, d_q, d_t, d_ql, d_tl, npairs, d_st);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    int *score = (int *)malloc(3 * npairs * sizeof(int));
    AlnStats *st = (AlnStats *)malloc(npairs * sizeof(AlnStats));
    CK(cudaMemcpy(score, d_score, 3 * npairs * sizeof(int), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(st, d_st, npairs * sizeof(AlnStats), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int p = 0; p < npairs; ++p) {
        AlnStats ref;
        int s = cpu_align(q + p * MAXLEN, ql[p], t + p * MAXLEN, tl[p], &ref);
        if (s != score[p] || s != score[npairs + p] || s != score[2 * npairs + p] ||
            memcmp(&ref, &st[p], sizeof ref)) {
            if (bad++ < 5)
                printf("pair %d: cpu %d gpu %d %d %d\n", p, s, score[p], score[npairs + p], score[2 * npairs + p]);
        }
    }
    printf("%d pairs, %d wrong\n%s\n", npairs, bad, bad ? "FAIL" : "PASS");
    cudaFree(d_q); cudaFree(d_t); cudaFree(d_qT); cudaFree(d_tT); cudaFree(d_dir);
    cudaFree(d_ql); cudaFree(d_tl); cudaFree(d_score); cudaFree(d_row); cudaFree(d_st);
    free(q); free(t); free(ql); free(tl); free(score); free(st);
    return bad ? 1 : 0;
}
