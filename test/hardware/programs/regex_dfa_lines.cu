/* grep on the GPU, homework 4: DFA for  [a-z]+@[a-z]+\.(com|org)
   over many text lines.  Line lengths vary. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_runtime.h>

typedef unsigned char u8;
enum { NSTATES = 12, NCLASS = 8 };
/* classes: 0 letter, 1 '@', 2 '.', 3 'c', 4 'o', 5 'm', 6 'r', 7 other; 'g' handled as class 0 below */

__constant__ u8 c_trans[NSTATES * 256];

static void die(const char *msg)
{
    fprintf(stderr, "%s\n", msg);
    exit(1);
}

static void cu(cudaError_t e)
{
    if (e != cudaSuccess)
        die(cudaGetErrorString(e));
}

/* flags for newline characters, one byte per thread */
__global__ void mark_newlines(const u8 *text, int n, unsigned *bits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool nl = i < n && text[i] == '\n';
    unsigned b = __ballot_sync(0xffffffff, nl);
    if ((threadIdx.x & 31) == 0 && i < n)
        bits[i / 32] = b;
}

/* block counts: each thread handles one word */
__global__ void count_words(const unsigned *bits, int nwords, int *blocksum)
{
    __shared__ int s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < nwords ? __popc(bits[i]) : 0;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d)
            s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        blocksum[blockIdx.x] = s[0];
}

/* single block exclusive scan, Hillis-Steele, up to 1024 */
__global__ void scan_blocks(int *sums, int n)
{
    __shared__ int s[1024];
    int t = threadIdx.x;
    int v = t < n ? sums[t] : 0;
    s[t] = v;
    __syncthreads();
    for (int d = 1; d < 1024; d *= 2) {
        int x = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += x;
        __syncthreads();
    }
    if (t < n)
        sums[t] = s[t] - v;
}

/* write start of each line */
__global__ void emit_lines(const unsigned *bits, int nwords, const int *base, int *start)
{
    __shared__ int warp_tot[8];
    int i = blockIdx.x * 256 + threadIdx.x;
    int lane = threadIdx.x & 31;
    int w = threadIdx.x >> 5;
    unsigned word = i < nwords ? bits[i] : 0;
    int c = __popc(word);
    int inc = c;
    for (int d = 1; d < 32; d <<= 1) {
        int y = __shfl_up_sync(0xffffffff, inc, d);
        if (lane >= d)
            inc += y;
    }
    if (lane == 31)
        warp_tot[w] = inc;
    __syncthreads();
    int off = base[blockIdx.x] + inc - c;
    for (int k = 0; k < w; k++)
        off += warp_tot[k];
    while (word) {
        int b = __ffs(word) - 1;
        word &= word - 1;
        start[++off] = i * 32 + b + 1;
    }
}

/* one thread per line: table in constant memory */
__global__ void match_line_const(const u8 *text, const int *start, int nlines, u8 *hit)
{
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    if (l >= nlines)
        return;
    int s = 0;
    for (int p = start[l]; p < start[l + 1]; p++)
        s = c_trans[s * 256 + text[p]];
    hit[l] = (s == NSTATES - 1);
}

/* same with the table in shared memory */
__global__ void match_line_shared(const u8 *text, const int *start, int nlines, const u8 *trans, u8 *hit)
{
    __shared__ __align__(4) u8 tab[NSTATES * 256];
    const unsigned *src = (const unsigned *)trans;
    for (int i = threadIdx.x; i < NSTATES * 64; i += blockDim.x)
        ((unsigned *)tab)[i] = src[i];
    __syncthreads();
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    if (l >= nlines)
        return;
    int s = 0;
    int e = start[l + 1];
    for (int p = start[l]; p < e; p++)
        s = tab[s * 256 + __ldg(text + p)];
    hit[l] = (s == NSTATES - 1);
}

/* warp per line: find the '@' count by coalesced reads */
__global__ void count_at(const u8 *text, const int *start, int nlines, int *cnt)
{
    int l = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (l >= nlines)
        return;
    int n = 0;
    for (int p = start[l] + lane; p < start[l + 1]; p += 32)
        n += (text[p] == '@');
    n = __reduce_add_sync(0xffffffff, n);
    if (lane == 0)
        cnt[l] = n;
}

static u8 trans[NSTATES * 256];

/* states: 0 none; 1 letters; 2 '@'; 3 letters after '@'; 4 '.'; 5 c; 6 co; 7 o; 8 or; 11 accept (sticky) */
static void build_dfa(void)
{
    for (int s = 0; s < NSTATES; s++)
        for (int ch = 0; ch < 256; ch++) {
            bool letter = ch >= 'a' && ch <= 'z';
            int n = letter ? 1 : 0;
            switch (s) {
            case 1:
                if (ch == '@') n = 2;
                break;
            case 2:
                if (letter) n = 3;
                break;
            case 3:
                if (letter) n = 3;
                else if (ch == '.') n = 4;
                break;
            case 4:
                if (ch == 'c') n = 5;
                else if (ch == 'o') n = 7;
                break;
            case 5:
                if (ch == 'o') n = 6;
                else if (ch == '@') n = 2;
                break;
            case 6:
                if (ch == 'm') n = 11;
                else if (ch == '@') n = 2;
                break;
            case 7:
                if (ch == 'r') n = 8;
                else if (ch == '@') n = 2;
                break;
            case 8:
                if (ch == 'g') n = 11;
                else if (ch == '@') n = 2;
                break;
            case 11:
                n = 11;
                break;
            }
            trans[s * 256 + ch] = (u8)n;
        }
}

int main()
{
    build_dfa();
    unsigned r = 1;
    auto next = [&](unsigned m) {
        r = r * 22695477u + 1u;
        return (r >> 16) % m;
    };
    std::string text;
    const int NLINES = 30000;
    const char *doms[4] = {"com", "org", "net", "cox"};
    for (int l = 0; l < NLINES; l++) {
        int words = 1 + next(10);
        for (int w = 0; w < words; w++) {
            int len = 1 + next(8);
            for (int k = 0; k < len; k++)
                text += (char)('a' + next(26));
            unsigned kind = next(12);
            if (kind == 0) {
                text += "@";
                text += "host";
                text += ".";
                text += doms[next(4)];
            } else if (kind == 1) {
                text += "@";
            }
            text += ' ';
        }
        text += '\n';
    }
    int n = (int)text.size();
    int nwords = (n + 31) / 32;
    int nblk = (nwords + 255) / 256;
    if (nblk > 1024)
        die("text too long");
    u8 *d_text, *d_trans, *d_hit1, *d_hit2;
    unsigned *d_bits;
    int *d_sum, *d_start, *d_at;
    cu(cudaMalloc(&d_text, n));
    cu(cudaMalloc(&d_trans, sizeof trans));
    cu(cudaMalloc(&d_hit1, NLINES));
    cu(cudaMalloc(&d_hit2, NLINES));
    cu(cudaMalloc(&d_bits, nwords * 4));
    cu(cudaMalloc(&d_sum, nblk * 4));
    cu(cudaMalloc(&d_start, (NLINES + 1) * 4));
    cu(cudaMalloc(&d_at, NLINES * 4));
    cu(cudaMemcpy(d_text, text.data(), n, cudaMemcpyHostToDevice));
    cu(cudaMemcpy(d_trans, trans, sizeof trans, cudaMemcpyHostToDevice));
    cu(cudaMemcpyToSymbol(c_trans, trans, sizeof trans));
    cu(cudaMemset(d_start, 0, 4));

    mark_newlines<<<(n + 255) / 256, 256>>>(d_text, n, d_bits);
    count_words<<<nblk, 256>>>(d_bits, nwords, d_sum);
    scan_blocks<<<1, 1024>>>(d_sum, nblk);
    emit_lines<<<nblk, 256>>>(d_bits, nwords, d_sum, d_start);
    match_line_const<<<(NLINES + 127) / 128, 128>>>(d_text, d_start, NLINES, d_hit1);
    match_line_shared<<<(NLINES + 127) / 128, 128>>>(d_text, d_start, NLINES, d_trans, d_hit2);
    count_at<<<(NLINES * 32 + 255) / 256, 256>>>(d_text, d_start, NLINES, d_at);
    cu(cudaGetLastError());
    cu(cudaDeviceSynchronize());

    std::vector<u8> h1(NLINES), h2(NLINES);
    std::vector<int> at(NLINES), st(NLINES + 1);
    cu(cudaMemcpy(h1.data(), d_hit1, NLINES, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(h2.data(), d_hit2, NLINES, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(at.data(), d_at, NLINES * 4, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(st.data(), d_start, (NLINES + 1) * 4, cudaMemcpyDeviceToHost));
    int errors = 0, hits = 0, pos = 0;
    for (int l = 0; l < NLINES; l++) {
        int s = 0, a = 0;
        if (st[l] != pos)
            errors++;
        while (true) {
            u8 ch = (u8)text[pos++];
            s = trans[s * 256 + ch];
            a += ch == '@';
            if (ch == '\n')
                break;
        }
        int want = s == NSTATES - 1;
        hits += want;
        if (h1[l] != want || h2[l] != want || at[l] != a)
            errors++;
    }
    printf("%d of %d lines match, %d errors\n", hits, NLINES, errors);
    puts(errors ? "FAIL" : "PASS");
    return errors ? 1 : 0;
}
