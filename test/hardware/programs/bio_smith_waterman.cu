// Batch Smith-Waterman (affine gap) local alignment scores: reads against reference windows.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <string>
#include <vector>
#include <algorithm>

#define MATCH 2
#define MISMATCH -3
#define GAP_OPEN 5
#define GAP_EXT 2
#define READ_LEN 100
#define WIN_LEN 160

struct AlnResult {
    int score;
    short qend, tend;
};

__constant__ int8_t c_sub[5 * 5];

struct Batch {
    const uint8_t *reads;    // one byte per base, concatenated
    const uint8_t *ref;
    const int *win_start;
    AlnResult *res;
    int n;
    int64_t ref_len;
};

// kernel 1: one thread per pair, DP row in local memory
__global__ void sw_thread(Batch b)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= b.n) return;
    const uint8_t *q = b.reads + (int64_t)t * READ_LEN;
    const uint8_t *r = b.ref + b.win_start[t];
    short H[READ_LEN + 1], E[READ_LEN + 1];
    for (int j = 0; j <= READ_LEN; j++) { H[j] = 0; E[j] = 0; }
    int best = 0, bq = 0, bt = 0;
    for (int i = 0; i < WIN_LEN; i++) {
        int diag = 0, F = 0, left = 0;
        uint8_t rc = r[i];
        for (int j = 1; j <= READ_LEN; j++) {
            int up = H[j];
            int e = max((int)E[j] - GAP_EXT, up - GAP_OPEN);
            F = max(F - GAP_EXT, left - GAP_OPEN);
            int h = diag + c_sub[rc * 5 + q[j - 1]];
            h = max(max(h, 0), max(e, F));
            diag = up;
            H[j] = h; E[j] = e; left = h;
            if (h > best) { best = h; bq = j; bt = i + 1; }
        }
    }
    b.res[t].score = best;
    b.res[t].qend = bq;
    b.res[t].tend = bt;
}

// kernel 2: one warp per pair, anti-diagonal wavefront, each lane owns 4 query columns
__global__ void sw_warp(Batch b)
{
    const int lane = threadIdx.x & 31;
    const int pair = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (pair >= b.n) return;
    const uint8_t *q = b.reads + (int64_t)pair * READ_LEN;
    const uint8_t *r = b.ref + b.win_start[pair];
    int H[4], E[4], qc[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        H[c] = E[c] = 0;
        int col = lane * 4 + c;
        qc[c] = col < READ_LEN ? q[col] : 4;
    }
    int best = 0, F = 0, h_right = 0, diag_in = 0;
    for (int step = 0; step < WIN_LEN + 31; step++) {
        int left = __shfl_up_sync(0xffffffff, h_right, 1);
        int f_in = __shfl_up_sync(0xffffffff, F, 1);
        if (lane == 0) { left = 0; f_in = 0; }
        int i = step - lane;
        if (i >= 0 && i < WIN_LEN) {
            int rc = r[i];
            int diag = diag_in;
            diag_in = left;
            F = f_in;
#pragma unroll
            for (int c = 0; c < 4; c++) {
                int up = H[c];
                E[c] = max(E[c] - GAP_EXT, up - GAP_OPEN);
                F = max(F - GAP_EXT, left - GAP_OPEN);
                int h = diag + c_sub[rc * 5 + qc[c]];
                h = max(max(h, 0), max(E[c], F));
                diag = up;
                H[c] = h;
                left = h;
                best = max(best, h);
            }
            h_right = left;
        }
    }
    for (int o = 16; o; o >>= 1) best = max(best, __shfl_down_sync(0xffffffff, best, o));
    if (lane == 0) b.res[pair].score = best;
}

__global__ void score_histogram(const AlnResult *res, int n, unsigned *hist)
{
    __shared__ unsigned h[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&h[min(res[i].score, 255)], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        if (h[k]) atomicAdd(&hist[k], h[k]);
}

static int cpu_sw(const uint8_t *q, const uint8_t *r, const int8_t *sub)
{
    std::vector<int> H(READ_LEN + 1, 0), E(READ_LEN + 1, 0);
    int best = 0;
    for (int i = 0; i < WIN_LEN; i++) {
        int diag = 0, F = 0;
        for (int j = 1; j <= READ_LEN; j++) {
            int up = H[j];
            E[j] = std::max(E[j] - GAP_EXT, up - GAP_OPEN);
            F = std::max(F - GAP_EXT, H[j - 1] - GAP_OPEN);
            int h = std::max({0, diag + sub[r[i] * 5 + q[j - 1]], E[j], F});
            diag = up; H[j] = h; best = std::max(best, h);
        }
    }
    return best;
}

int main()
{
    const int n = 20011;
    const int64_t ref_len = 1 << 20;
    std::vector<uint8_t> ref(ref_len), reads((size_t)n * READ_LEN);
    std::vector<int> ws(n);
    uint64_t s = 88172645463325252ull;
    auto rnd = [&]() { s ^= s << 7; s ^= s >> 9; return s; };
    for (auto &c : ref) c = rnd() & 3;
    for (int i = 0; i < n; i++) {
        ws[i] = rnd() % (ref_len - WIN_LEN);
        int off = rnd() % (WIN_LEN - READ_LEN - 8), p = ws[i] + off;
        for (int j = 0; j < READ_LEN; j++) {
            if (rnd() % 50 == 0) p++;                       // deletion
            reads[(size_t)i * READ_LEN + j] = rnd() % 30 == 0 ? rnd() & 3 : ref[p];
            p++;
            if (p >= ref_len) p = 0;
        }
    }
    int8_t sub[25];
    for (int a = 0; a < 5; a++) for (int c = 0; c < 5; c++)
        sub[a * 5 + c] = (a == 4 || c == 4) ? -100 : a == c ? MATCH : MISMATCH;
    cudaMemcpyToSymbol(c_sub, sub, sizeof(sub));
    uint8_t *d_reads, *d_ref; int *d_ws; AlnResult *d_r1, *d_r2; unsigned *d_hist;
    cudaMalloc(&d_reads, reads.size()); cudaMalloc(&d_ref, ref_len);
    cudaMalloc(&d_ws, n * sizeof(int));
    cudaMalloc(&d_r1, n * sizeof(AlnResult)); cudaMalloc(&d_r2, n * sizeof(AlnResult));
    cudaMalloc(&d_hist, 256 * sizeof(unsigned)); cudaMemset(d_hist, 0, 256 * sizeof(unsigned));
    cudaMemcpy(d_reads, reads.data(), reads.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(d_ref, ref.data(), ref_len, cudaMemcpyHostToDevice);
    cudaMemcpy(d_ws, ws.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    Batch b{d_reads, d_ref, d_ws, d_r1, n, ref_len};
    sw_thread<<<(n + 63) / 64, 64>>>(b);
    b.res = d_r2;
    sw_warp<<<(n * 32 + 127) / 128, 128>>>(b);
    score_histogram<<<(n + 255) / 256, 256>>>(d_r1, n, d_hist);
    std::vector<AlnResult> r1(n), r2(n);
    unsigned hist[256];
    cudaMemcpy(r1.data(), d_r1, n * sizeof(AlnResult), cudaMemcpyDeviceToHost);
    cudaMemcpy(r2.data(), d_r2, n * sizeof(AlnResult), cudaMemcpyDeviceToHost);
    cudaMemcpy(hist, d_hist, sizeof(hist), cudaMemcpyDeviceToHost);
    int bad = 0; unsigned tot = 0;
    for (int i = 0; i < n; i++) bad += r1[i].score != r2[i].score;
    for (int i = 0; i < n; i += 53) bad += r1[i].score != cpu_sw(&reads[(size_t)i * READ_LEN], &ref[ws[i]], sub);
    for (unsigned h : hist) tot += h;
    printf("err=%s bad=%d hist=%u first score %d\n", cudaGetErrorString(cudaGetLastError()), bad, tot, r1[0].score);
    puts(bad == 0 && tot == (unsigned)n ? "PASS" : "FAIL");
    return bad != 0;
}
