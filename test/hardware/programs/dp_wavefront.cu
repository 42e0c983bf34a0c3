/* Sequence alignment by dynamic programming.
 *   lcs_wave     one block per pair, anti-diagonals rolled through shared memory
 *   nw_tiles     Needleman-Wunsch, one warp per pair, 32x32 tiles with the whole
 *                matrix of scores kept in global memory
 *   lcs_private  one thread per short pair, its DP row in global scratch,
 *                either row by row or interleaved over the pairs
 */
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>

typedef unsigned char u8;

#define SIGMA 20          /* alphabet */
#define WAVE_LEN 512
#define WAVE_PAIRS 128
#define NW_LEN 192
#define NW_PAIRS 128
#define NW_DIM (NW_LEN + 1)
#define TB 32
#define GAP 3
#define SHORT_LEN 48
#define SHORT_PAIRS 8192

#define CHECKED(c)                                                          \
    do {                                                                    \
        cudaError_t r = (c);                                                \
        if (r != cudaSuccess) {                                             \
            printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(r)); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

__constant__ int c_score[SIGMA * SIGMA];

__global__ void lcs_wave(const u8 *seqA, const u8 *seqB, int *result)
{
    __shared__ u8 b[WAVE_LEN];
    __shared__ int diag[3][WAVE_LEN + 1];

    const int t = threadIdx.x;
    const int row = t + 1;
    const u8 mine = seqA[blockIdx.x * WAVE_LEN + t];
    b[t] = seqB[blockIdx.x * WAVE_LEN + t];
    diag[0][row] = diag[1][row] = diag[2][row] = 0;
    if (t == 0) diag[0][0] = diag[1][0] = diag[2][0] = 0;
    __syncthreads();

    /* cell (row, c) lives on anti-diagonal d = row + c, stored by its row */
    for (int d = 2; d <= 2 * WAVE_LEN; ++d) {
        int *cur = diag[d % 3];
        const int *prev = diag[(d + 2) % 3];
        const int *prev2 = diag[(d + 1) % 3];
        const int c = d - row;
        if (c >= 1 && c <= WAVE_LEN)
            cur[row] = (mine == b[c - 1]) ? prev2[row - 1] + 1
                                          : max(prev[row - 1], prev[row]);
        __syncthreads();
    }
    if (row == WAVE_LEN)
        result[blockIdx.x] = diag[(2 * WAVE_LEN) % 3][WAVE_LEN];
}

__global__ void __launch_bounds__(TB)
nw_tiles(const u8 *__restrict__ seqA, const u8 *__restrict__ seqB, int *matrices)
{
    __shared__ int cell[TB + 1][TB + 1];
    __shared__ u8 sb[TB];

    int *m = matrices + (size_t)blockIdx.x * NW_DIM * NW_DIM;
    const u8 *a = seqA + blockIdx.x * NW_LEN;
    const u8 *b = seqB + blockIdx.x * NW_LEN;
    const int t = threadIdx.x;

    for (int k = t; k < NW_DIM; k += TB) {
        m[k] = -GAP * k;                     /* first row    */
        m[k * NW_DIM] = -GAP * k;            /* first column */
    }
    __syncthreads();

    for (int ti = 0; ti < NW_LEN / TB; ++ti)
        for (int tj = 0; tj < NW_LEN / TB; ++tj) {
            int *corner = m + (ti * TB) * NW_DIM + tj * TB;
            const int ca = a[ti * TB + t];
            sb[t] = b[tj * TB + t];
            cell[0][t + 1] = corner[t + 1];
            cell[t + 1][0] = corner[(t + 1) * NW_DIM];
            if (t == 0) cell[0][0] = corner[0];
            __syncthreads();

            for (int step = 0; step < 2 * TB - 1; ++step) {
                const int j = step - t;
                if (j >= 0 && j < TB) {
                    int best = cell[t][j] + c_score[ca * SIGMA + sb[j]];
                    best = max(best, cell[t][j + 1] - GAP);
                    best = max(best, cell[t + 1][j] - GAP);
                    cell[t + 1][j + 1] = best;
                }
                __syncthreads();
            }
            for (int r = 1; r <= TB; ++r)
                corner[r * NW_DIM + t + 1] = cell[r][t + 1];
            __syncthreads();
        }
}

template <bool INTERLEAVED>
__global__ void lcs_private(const u8 *seqA, const u8 *seqB, short *scratch, int *result, int pairs)
{
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs) return;
    const int step = INTERLEAVED ? pairs : 1;
    short *row = INTERLEAVED ? scratch + p : scratch + p * (SHORT_LEN + 1);

    for (int j = 0; j <= SHORT_LEN; ++j) row[j * step] = 0;
    for (int i = 0; i < SHORT_LEN; ++i) {
        const u8 ca = seqA[p * SHORT_LEN + i];
        int corner = 0, left = 0;
        for (int j = 1; j <= SHORT_LEN; ++j) {
            const int above = row[j * step];
            const int v = ca == seqB[p * SHORT_LEN + j - 1] ? corner + 1 : max(above, left);
            row[j * step] = (short)v;
            corner = above;
            left = v;
        }
    }
    result[p] = row[SHORT_LEN * step];
}

static int cpu_lcs(const u8 *a, const u8 *b, int len)
{
    std::vector<int> row(len + 1, 0);
    for (int i = 0; i < len; ++i) {
        int corner = 0;
        for (int j = 1; j <= len; ++j) {
            int above = row[j];
            row[j] = a[i] == b[j - 1] ? corner + 1 : std::max(above, row[j - 1]);
            corner = above;
        }
    }
    return row[len];
}

static std::vector<u8> letters(size_t n, unsigned seed, unsigned alphabet)
{
    std::vector<u8> v(n);
    for (auto &c : v) c = (u8)(((seed = seed * 1103515245u + 12345u) >> 16) % alphabet);
    return v;
}

static u8 *send(const std::vector<u8> &v)
{
    u8 *p; CHECKED(cudaMalloc(&p, v.size()));
    CHECKED(cudaMemcpy(p, v.data(), v.size(), cudaMemcpyHostToDevice));
    return p;
}

int main()
{
    int wrong = 0, *d_result;
    std::vector<int> result(SHORT_PAIRS);
    CHECKED(cudaMalloc(&d_result, SHORT_PAIRS * sizeof(int)));

    /* long pairs, one block each */
    auto a = letters(WAVE_PAIRS * WAVE_LEN, 1, 4), b = letters(WAVE_PAIRS * WAVE_LEN, 2, 4);
    u8 *d_a = send(a), *d_b = send(b);
    lcs_wave<<<WAVE_PAIRS, WAVE_LEN>>>(d_a, d_b, d_result);
    CHECKED(cudaGetLastError());
    CHECKED(cudaMemcpy(result.data(), d_result, WAVE_PAIRS * sizeof(int), cudaMemcpyDeviceToHost));
    for (int p = 0; p < WAVE_PAIRS; ++p)
        wrong += result[p] != cpu_lcs(&a[p * WAVE_LEN], &b[p * WAVE_LEN], WAVE_LEN);
    printf("lcs_wave: %d wrong\n", wrong);

    /* Needleman-Wunsch with a made-up substitution matrix */
    int score[SIGMA * SIGMA];
    for (int i = 0; i < SIGMA; ++i)
        for (int j = 0; j < SIGMA; ++j)
            score[i * SIGMA + j] = i == j ? 5 + i % 3 : -((i * j + i + j) % 5);
    CHECKED(cudaMemcpyToSymbol(c_score, score, sizeof(score)));
    a = letters(NW_PAIRS * NW_LEN, 3, SIGMA); b = letters(NW_PAIRS * NW_LEN, 4, SIGMA);
    d_a = send(a); d_b = send(b);
    const size_t cells = (size_t)NW_PAIRS * NW_DIM * NW_DIM;
    int *d_m;
    CHECKED(cudaMalloc(&d_m, cells * sizeof(int)));
    nw_tiles<<<NW_PAIRS, TB>>>(d_a, d_b, d_m);
    CHECKED(cudaGetLastError());
    std::vector<int> got(cells), ref(NW_DIM * NW_DIM);
    CHECKED(cudaMemcpy(got.data(), d_m, cells * sizeof(int), cudaMemcpyDeviceToHost));
    for (int p = 0; p < NW_PAIRS; ++p) {
        for (int k = 0; k < NW_DIM; ++k) ref[k] = ref[k * NW_DIM] = -GAP * k;
        for (int i = 1; i < NW_DIM; ++i)
            for (int j = 1; j < NW_DIM; ++j)
                ref[i * NW_DIM + j] = std::max(
                    ref[(i - 1) * NW_DIM + j - 1] + score[a[p * NW_LEN + i - 1] * SIGMA + b[p * NW_LEN + j - 1]],
                    std::max(ref[(i - 1) * NW_DIM + j], ref[i * NW_DIM + j - 1]) - GAP);
        wrong += !std::equal(ref.begin(), ref.end(), got.begin() + (size_t)p * NW_DIM * NW_DIM);
    }
    printf("after nw_tiles: %d wrong\n", wrong);

    /* short pairs, one thread each, both scratch layouts */
    a = letters(SHORT_PAIRS * SHORT_LEN, 5, 4); b = letters(SHORT_PAIRS * SHORT_LEN, 6, 4);
    d_a = send(a); d_b = send(b);
    short *d_scratch;
    CHECKED(cudaMalloc(&d_scratch, SHORT_PAIRS * (SHORT_LEN + 1) * sizeof(short)));
    for (int way = 0; way < 2; ++way) {
        auto kernel = way ? lcs_private<true> : lcs_private<false>;
        CHECKED(cudaMemset(d_result, 0xff, SHORT_PAIRS * sizeof(int)));
        kernel<<<SHORT_PAIRS / 64, 64>>>(d_a, d_b, d_scratch, d_result, SHORT_PAIRS);
        CHECKED(cudaGetLastError());
        CHECKED(cudaMemcpy(result.data(), d_result, SHORT_PAIRS * sizeof(int), cudaMemcpyDeviceToHost));
        for (int p = way; p < SHORT_PAIRS; p += 2)
            wrong += result[p] != cpu_lcs(&a[p * SHORT_LEN], &b[p * SHORT_LEN], SHORT_LEN);
    }
    printf("after lcs_private: %d wrong\n", wrong);
    puts(wrong ? "FAIL" : "PASS");
    return wrong ? 1 : 0;
}
