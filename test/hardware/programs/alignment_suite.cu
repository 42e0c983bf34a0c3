// Pairwise local alignment (Smith-Waterman, affine gaps) for a read-mapper
// prototype.  Several parallelisations of the same recurrence.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>

#define MATCH 2
#define MISMATCH -3
#define GAP_OPEN 5
#define GAP_EXT 1
#define NEG_INF (-100000)

#define QLEN 128   // query (read) length
#define TLEN 160   // target window
#define NPAIR 2048
#define ALPHA 4

static void die(cudaError_t rc, int line)
{
    if (rc != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
        exit(1);
    }
}
#define CU(x) die((x), __LINE__)

typedef unsigned char base_t;

__constant__ int c_matrix[ALPHA * ALPHA];

// pack 16 bases (2 bit each) into a word, one thread per word
__global__ void pack_2bit(const base_t *seq, unsigned *packed, int nwords)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= nwords)
        return;
    unsigned acc = 0;
    for (int i = 0; i < 16; i++)
        acc |= (unsigned)(seq[w * 16 + i] & 3) << (2 * i);
    packed[w] = acc;
}

// same, but with a 16 byte load
__global__ void pack_2bit_vec(const uint4 *__restrict__ seq, unsigned *__restrict__ packed, int nwords)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= nwords)
        return;
    uint4 v = seq[w];
    unsigned lane[4] = {v.x, v.y, v.z, v.w};
    unsigned acc = 0;
#pragma unroll
    for (int q = 0; q < 4; q++) {
#pragma unroll
        for (int b = 0; b < 4; b++)
            acc |= ((lane[q] >> (8 * b)) & 3u) << (2 * (4 * q + b));
    }
    packed[w] = acc;
}

// Inter-task: one alignment per thread, rows H and E kept in global scratch.
// interleaved = 1 puts pair index fastest.
template <bool INTERLEAVED>
__global__ void sw_inter_task(const base_t *__restrict__ q, const base_t *__restrict__ t, short2 *scratch,
                              int *score, int npair)
{
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= npair)
        return;
    const size_t step = INTERLEAVED ? npair : 1;
    short2 *he = scratch + (INTERLEAVED ? (size_t)pair : (size_t)pair * QLEN);
    for (int i = 0; i < QLEN; i++)
        he[i * step] = make_short2(0, -1000);
    int best = 0;
    for (int j = 0; j < TLEN; j++) {
        int tb = t[pair * TLEN + j];
        int diag = 0, up = 0, f = -1000;
        for (int i = 0; i < QLEN; i++) {
            short2 cell = he[i * step];
            int e = max(cell.y - GAP_EXT, cell.x - GAP_OPEN);
            f = max(f - GAP_EXT, up - GAP_OPEN);
            int h = diag + c_matrix[q[pair * QLEN + i] * ALPHA + tb];
            h = max(max(h, 0), max(e, f));
            diag = cell.x;
            up = h;
            he[i * step] = make_short2((short)h, (short)e);
            best = max(best, h);
        }
    }
    score[pair] = best;
}

// Intra-task: one block per pair, wavefront over anti-diagonals in shared memory.
__global__ void sw_wavefront(const base_t *q, const base_t *t, int *score)
{
    __shared__ base_t sq[QLEN], st[TLEN];
    __shared__ int H[3][QLEN + 1], E[2][QLEN + 1], F[2][QLEN + 1];
    __shared__ int red[QLEN / 32];
    int pair = blockIdx.x;
    int i = threadIdx.x;              // query position
    sq[i] = q[pair * QLEN + i];
    for (int j = i; j < TLEN; j += QLEN)
        st[j] = t[pair * TLEN + j];
    for (int k = 0; k < 3; k++)
        H[k][i + 1] = 0;
    for (int k = 0; k < 2; k++) {
        E[k][i + 1] = NEG_INF;
        F[k][i + 1] = NEG_INF;
    }
    if (i == 0) {
        H[0][0] = H[1][0] = H[2][0] = 0;
        E[0][0] = E[1][0] = NEG_INF;
        F[0][0] = F[1][0] = NEG_INF;
    }
    __syncthreads();
    int best = 0;
    for (int d = 0; d < QLEN + TLEN - 1; d++) {
        int cur = d % 3, p1 = (d + 2) % 3, p2 = (d + 1) % 3;
        int c2 = d & 1, o2 = c2 ^ 1;
        int j = d - i;
        if (j >= 0 && j < TLEN) {
            // left neighbour (i, j-1) and upper neighbour (i-1, j) live on diagonal d-1
            int hl = j > 0 ? H[p1][i + 1] : 0;
            int el = j > 0 ? E[o2][i + 1] : NEG_INF;
            int hu = H[p1][i];
            int fu = F[o2][i];
            int hd = j > 0 ? H[p2][i] : 0;
            int e = max(el - GAP_EXT, hl - GAP_OPEN);
            int f = max(fu - GAP_EXT, hu - GAP_OPEN);
            int h = hd + c_matrix[sq[i] * ALPHA + st[j]];
            h = max(max(h, 0), max(e, f));
            H[cur][i + 1] = h;
            E[c2][i + 1] = e;
            F[c2][i + 1] = f;
            best = max(best, h);
        }
        __syncthreads();
    }
    for (int off = 16; off; off >>= 1)
        best = max(best, __shfl_down_sync(0xffffffff, best, off));
    if ((i & 31) == 0)
        red[i >> 5] = best;
    __syncthreads();
    if (i == 0) {
        for (int w = 1; w < QLEN / 32; w++)
            best = max(best, red[w]);
        score[pair] = best;
    }
}

// One warp per pair, each lane keeps QLEN/32 query rows in registers and the
// boundary goes to the next lane by shuffle.
#define RPL (QLEN / 32)
__global__ void sw_warp_registers(const base_t *__restrict__ q, const base_t *__restrict__ t, int *score, int npair)
{
    int lane = threadIdx.x & 31;
    int pair = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (pair >= npair)
        return;
    uchar4 qq = reinterpret_cast<const uchar4 *>(q + (size_t)pair * QLEN)[lane];
    int qb[RPL] = {qq.x, qq.y, qq.z, qq.w};
    int h[RPL], e[RPL];
#pragma unroll
    for (int r = 0; r < RPL; r++) {
        h[r] = 0;
        e[r] = NEG_INF;
    }
    int out_h = 0, out_f = NEG_INF, prev_in_h = 0, best = 0;
    for (int s = 0; s < TLEN + 31; s++) {
        int in_h = __shfl_up_sync(0xffffffff, out_h, 1);
        int in_f = __shfl_up_sync(0xffffffff, out_f, 1);
        if (lane == 0) {
            in_h = 0;
            in_f = NEG_INF;
        }
        int j = s - lane;
        if (j >= 0 && j < TLEN) {
            int tb = t[(size_t)pair * TLEN + j];
            int diag = prev_in_h;
            int up = in_h, f = in_f;
#pragma unroll
            for (int r = 0; r < RPL; r++) {
                int old = h[r];
                e[r] = max(e[r] - GAP_EXT, old - GAP_OPEN);
                f = max(f - GAP_EXT, up - GAP_OPEN);
                int v = diag + (qb[r] == tb ? MATCH : MISMATCH);
                v = max(max(v, 0), max(e[r], f));
                diag = old;
                h[r] = v;
                up = v;
                best = max(best, v);
            }
            out_h = up;
            out_f = f;
            prev_in_h = in_h;
        }
    }
    best = __reduce_max_sync(0xffffffff, best);
    if (lane == 0)
        score[pair] = best;
}

// k-mer seeds shared between read and window: every read k-mer probes a
// direct-address bitmap of the target kept in shared memory
#define KMER 7
__global__ void count_seeds(const unsigned *__restrict__ pq, const base_t *__restrict__ t, int *seeds)
{
    __shared__ unsigned bitmap[(1 << (2 * KMER)) / 32];
    int pair = blockIdx.x;
    for (int w = threadIdx.x; w < (1 << (2 * KMER)) / 32; w += blockDim.x)
        bitmap[w] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j + KMER <= TLEN; j += blockDim.x) {
        unsigned code = 0;
        for (int k = 0; k < KMER; k++)
            code |= (unsigned)t[pair * TLEN + j + k] << (2 * k);
        atomicOr(&bitmap[code >> 5], 1u << (code & 31));
    }
    __syncthreads();
    int n = 0;
    const unsigned *mine = pq + pair * (QLEN / 16);
    for (int i = threadIdx.x; i + KMER <= QLEN; i += blockDim.x) {
        int word = i >> 4, sh = 2 * (i & 15);
        unsigned lo = mine[word];
        unsigned hi = word + 1 < QLEN / 16 ? mine[word + 1] : 0;
        unsigned code = __funnelshift_r(lo, hi, sh) & ((1u << (2 * KMER)) - 1);
        n += (bitmap[code >> 5] >> (code & 31)) & 1;
    }
    n = __reduce_add_sync(0xffffffff, n);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(&seeds[pair], n);
}

static int sw_cpu(const base_t *q, const base_t *t)
{
    std::vector<int> H(QLEN + 1, 0), E(QLEN + 1, NEG_INF);
    int best = 0;
    for (int j = 0; j < TLEN; j++) {
        int diag = 0, f = NEG_INF;
        for (int i = 1; i <= QLEN; i++) {
            E[i] = std::max(E[i] - GAP_EXT, H[i] - GAP_OPEN);
            f = std::max(f - GAP_EXT, H[i - 1] - GAP_OPEN);
            int h = diag + (q[i - 1] == t[j] ? MATCH : MISMATCH);
            h = std::max(std::max(h, 0), std::max(E[i], f));
            diag = H[i];
            H[i] = h;
            best = std::max(best, h);
        }
    }
    return best;
}

static unsigned rng_state = 99;
static unsigned rnd()
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 17;
    rng_state ^= rng_state << 5;
    return rng_state;
}

int main(void)
{
    std::vector<base_t> q(NPAIR * QLEN), t(NPAIR * TLEN);
    for (size_t i = 0; i < t.size(); i++)
        t[i] = rnd() & 3;
    for (int p = 0; p < NPAIR; p++) {
        int off = rnd() % (TLEN - QLEN - 20), src = off;
        for (int i = 0; i < QLEN; i++) {
            unsigned r = rnd() % 100;
            if (r < 2)
                src++;
            q[p * QLEN + i] = r > 92 ? (base_t)(rnd() & 3) : t[p * TLEN + std::min(src, TLEN - 1)];
            if (r != 50)
                src++;
        }
    }
    std::vector<int> ref(NPAIR), seeds_ref(NPAIR, 0);
    std::vector<unsigned> packed_ref(NPAIR * QLEN / 16, 0);
    for (size_t i = 0; i < q.size(); i++)
        packed_ref[i / 16] |= (unsigned)q[i] << (2 * (i % 16));
    for (int p = 0; p < NPAIR; p++) {
        ref[p] = sw_cpu(&q[p * QLEN], &t[p * TLEN]);
        std::vector<char> present(1 << (2 * KMER), 0);
        for (int j = 0; j + KMER <= TLEN; j++) {
            unsigned c = 0;
            for (int k = 0; k < KMER; k++) c |= (unsigned)t[p * TLEN + j + k] << (2 * k);
            present[c] = 1;
        }
        for (int i = 0; i + KMER <= QLEN; i++) {
            unsigned c = 0;
            for (int k = 0; k < KMER; k++) c |= (unsigned)q[p * QLEN + i + k] << (2 * k);
            seeds_ref[p] += present[c];
        }
    }
    int matrix[ALPHA * ALPHA];
    for (int a = 0; a < ALPHA; a++)
        for (int b = 0; b < ALPHA; b++)
            matrix[a * ALPHA + b] = a == b ? MATCH : MISMATCH;
    CU(cudaMemcpyToSymbol(c_matrix, matrix, sizeof matrix));

    base_t *dq, *dt;
    unsigned *dp;
    short2 *dscr;
    int *dscore, *dseeds;
    const int nwords = NPAIR * QLEN / 16;
    CU(cudaMalloc(&dq, q.size()));
    CU(cudaMalloc(&dt, t.size()));
    CU(cudaMalloc(&dp, nwords * sizeof(unsigned)));
    CU(cudaMalloc(&dscr, sizeof(short2) * NPAIR * QLEN));
    CU(cudaMalloc(&dscore, sizeof(int) * NPAIR));
    CU(cudaMalloc(&dseeds, sizeof(int) * NPAIR));
    CU(cudaMemcpy(dq, q.data(), q.size(), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dt, t.data(), t.size(), cudaMemcpyHostToDevice));
    CU(cudaMemset(dseeds, 0, sizeof(int) * NPAIR));

    int failures = 0;
    std::vector<int> out(NPAIR);
    std::vector<unsigned> pk(nwords);
    auto check = [&](const char *what) {
        CU(cudaGetLastError());
        CU(cudaMemcpy(out.data(), dscore, sizeof(int) * NPAIR, cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int p = 0; p < NPAIR; p++)
            wrong += out[p] != ref[p];
        printf("%-24s wrong %d\n", what, wrong);
        failures += wrong;
        CU(cudaMemset(dscore, 0, sizeof(int) * NPAIR));
    };
    auto check_pack = [&](const char *what) {
        CU(cudaMemcpy(pk.data(), dp, nwords * sizeof(unsigned), cudaMemcpyDeviceToHost));
        int wrong = memcmp(pk.data(), packed_ref.data(), nwords * sizeof(unsigned)) != 0;
        printf("%-24s wrong %d\n", what, wrong);
        failures += wrong;
        CU(cudaMemset(dp, 0, nwords * sizeof(unsigned)));
    };

    pack_2bit<<<(nwords + 127) / 128, 128>>>(dq, dp, nwords);
    check_pack("pack");
    pack_2bit_vec<<<(nwords + 127) / 128, 128>>>((const uint4 *)dq, dp, nwords);
    CU(cudaMemcpy(pk.data(), dp, nwords * sizeof(unsigned), cudaMemcpyDeviceToHost));
    failures += pk != packed_ref;

    count_seeds<<<NPAIR, 64>>>(dp, dt, dseeds);
    CU(cudaMemcpy(out.data(), dseeds, sizeof(int) * NPAIR, cudaMemcpyDeviceToHost));
    failures += out != seeds_ref;

    sw_inter_task<true><<<NPAIR / 32, 32>>>(dq, dt, dscr, dscore, NPAIR);
    check("inter-task interleaved");
    sw_inter_task<false><<<NPAIR / 32, 32>>>(dq, dt, dscr, dscore, NPAIR);
    check("inter-task per pair");
    sw_wavefront<<<NPAIR, QLEN>>>(dq, dt, dscore);
    check("wavefront");
    sw_warp_registers<<<NPAIR / 4, 128>>>(dq, dt, dscore, NPAIR);
    check("warp registers");

    CU(cudaDeviceSynchronize());
    puts(failures ? "FAIL" : "PASS");
    return failures ? 1 : 0;
}
