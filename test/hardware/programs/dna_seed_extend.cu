// nvcc -O3 dna_seed_extend.cu
// short read mapper: 2-bit genome, direct-address k-mer index, ungapped filter by xor/popcount on
// packed words, gapped extension with four alignments per 32-bit register (video instructions)
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <climits>

typedef uint32_t u32;
typedef unsigned long long u64;

const int K          = 9;
const int BUCKETS    = 1 << (2 * K);      // 262144
const int GENOME     = 180003;
const int READ_LEN   = 100;
const int READ_WORDS = (READ_LEN + 15) / 16;     // 7
const int N_READS    = 3002;
const int MAX_OCC    = 24;
const int PAD        = 8;
const int WIN        = READ_LEN + 2 * PAD;       // 116 columns
const int MATCH = 2, MISMATCH = 3, GAP_OPEN = 5, GAP_EXT = 1;

#define cudaTry(x) { cudaError_t r = (x); if (r != cudaSuccess) { printf("%s: %s\nFAIL\n", #x, cudaGetErrorString(r)); exit(1); } }

__host__ __device__ inline u32 hash32(u32 x) { x ^= x >> 16; x *= 0x45d9f3bu; x ^= x >> 16; x *= 0x45d9f3bu; x ^= x >> 16; return x; }

// some repeats, so that buckets are uneven
__host__ __device__ inline u32 genome_base(int i)
{
    if (i % 5000 > 4700) return hash32(i % 5000) & 3;
    return hash32(i * 3 + 11) >> 7 & 3;
}
__host__ __device__ inline int read_origin(int r) { return (int)(hash32(r + 77777) % (u32)(GENOME - READ_LEN - 64)) + 32; }
__host__ __device__ inline u32 read_base(int r, int j)
{
    int shift = 0;
    if (r % 7 == 3 && j > 60) shift = 2;                 // deletion of two bases
    u32 b = genome_base(read_origin(r) + j + shift);
    u32 h = hash32(r * 131 + j * 7919);
    if (h % 40 == 0) b = (b + 1 + (h >> 20) % 3) & 3;    // substitution
    return b;
}
__host__ __device__ inline u32 unpack(const u32 *w, int i) { return w[i >> 4] >> (2 * (i & 15)) & 3; }

__global__ void pack_genome(u32 *out, int n, int words)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words) return;
    u32 v = 0;
#pragma unroll 4
    for (int i = 0; i < 16; i++) { int p = w * 16 + i; if (p < n) v |= genome_base(p) << (2 * i); }
    out[w] = v;
}

// reads as fixed rows of READ_WORDS words
__global__ void pack_reads(u32 *out, int nreads)
{
    int r = blockIdx.x * blockDim.y + threadIdx.y;
    int w = threadIdx.x;
    if (r >= nreads || w >= READ_WORDS) return;
    u32 v = 0;
    for (int i = 0; i < 16; i++) { int j = w * 16 + i; if (j < READ_LEN) v |= read_base(r, j) << (2 * i); }
    out[r * READ_WORDS + w] = v;
}

__device__ __forceinline__ u32 kmer_at(const u32 *__restrict__ g, int pos)
{
    int w = pos >> 4, s = 2 * (pos & 15);
    return __funnelshift_r(g[w], g[w + 1], s) & (BUCKETS - 1);
}

__global__ void index_count(const u32 *__restrict__ g, int n, int *cnt)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p + K <= n) atomicAdd(&cnt[kmer_at(g, p)], 1);
}

// exclusive scan of 1024 counters per block (256 threads x 4)
__global__ void scan_tiles(const int *__restrict__ cnt, int *__restrict__ ofs, int *__restrict__ sums)
{
    __shared__ int wsum[8];
    int t = threadIdx.x, lane = t & 31, wid = t >> 5;
    int4 v = reinterpret_cast<const int4 *>(cnt)[blockIdx.x * 256 + t];
    int s = v.x + v.y + v.z + v.w, inc = s;
    for (int d = 1; d < 32; d <<= 1) { int o = __shfl_up_sync(~0u, inc, d); if (lane >= d) inc += o; }
    if (lane == 31) wsum[wid] = inc;
    __syncthreads();
    int base = 0;
    for (int w = 0; w < wid; w++) base += wsum[w];
    int e = base + inc - s;
    int4 o = make_int4(e, e + v.x, e + v.x + v.y, e + v.x + v.y + v.z);
    reinterpret_cast<int4 *>(ofs)[blockIdx.x * 256 + t] = o;
    if (t == 255) sums[blockIdx.x] = base + inc;
}

__global__ void scan_sums(int *sums)      // one block of 256, Hillis-Steele in shared memory
{
    __shared__ int a[2][BUCKETS / 1024];
    int t = threadIdx.x, cur = 0;
    int own = sums[t];
    a[0][t] = own;
    __syncthreads();
    for (int d = 1; d < (int)blockDim.x; d *= 2) {
        int v = a[cur][t];
        if (t >= d) v += a[cur][t - d];
        a[cur ^ 1][t] = v;
        cur ^= 1;
        __syncthreads();
    }
    sums[t] = a[cur][t] - own;
}

__global__ void scan_add(int *ofs, const int *sums, int *cursor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = ofs[i] + sums[i >> 10];
    ofs[i] = v;
    cursor[i] = v;
}

__global__ void index_fill(const u32 *__restrict__ g, int n, int *cursor, int *pos)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p + K <= n) pos[atomicAdd(&cursor[kmer_at(g, p)], 1)] = p;
}

// a warp per read. Lane l handles seed offset 3*l; hits are verified on packed words.
__global__ void __launch_bounds__(128)
seed_filter(const u32 *__restrict__ g, const u32 *__restrict__ reads, const int *__restrict__ ofs,
            const int *__restrict__ cnt, const int *__restrict__ pos, u64 *best, int nreads)
{
    __shared__ u32 rd[4][READ_WORDS + 1];
    int wid = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int r = blockIdx.x * 4 + wid;
    if (r < nreads && lane <= READ_WORDS) rd[wid][lane] = lane < READ_WORDS ? reads[r * READ_WORDS + lane] : 0;
    __syncthreads();
    if (r >= nreads) return;
    u64 key = ~0ull;
    int off = 3 * lane;
    if (off + K <= READ_LEN) {
        u32 km = __funnelshift_r(rd[wid][off >> 4], rd[wid][(off >> 4) + 1], 2 * (off & 15)) & (BUCKETS - 1);
        int c = cnt[km], o = ofs[km];
        if (c <= MAX_OCC) {
            for (int i = 0; i < c; i++) {
                int start = pos[o + i] - off;
                if (start < PAD || start + READ_LEN + PAD >= GENOME) continue;
                int w0 = start >> 4, sh = 2 * (start & 15), mism = 0;
#pragma unroll
                for (int w = 0; w < READ_WORDS; w++) {
                    u32 x = __funnelshift_r(g[w0 + w], g[w0 + w + 1], sh) ^ rd[wid][w];
                    x = (x | x >> 1) & 0x55555555u;
                    if (w == READ_WORDS - 1) x &= (1u << (2 * (READ_LEN % 16))) - 1;
                    mism += __popc(x);
                }
                u64 k2 = (u64)mism << 32 | (u32)start;
                key = k2 < key ? k2 : key;
            }
        }
    }
    for (int d = 16; d; d >>= 1) { u64 o = __shfl_xor_sync(~0u, key, d); key = o < key ? o : key; }
    if (lane == 0) best[r] = key;
}

// Four reads per thread, one in each byte. H and E columns live in shared memory.
// PLAIN: a thread's column is contiguous (row pitch READ_LEN words);  otherwise interleaved by thread.
template <bool PLAIN>
__global__ void extend4(const u32 *__restrict__ g, const u32 *__restrict__ reads, const u64 *__restrict__ best,
                        int *__restrict__ score, int nreads)
{
    extern __shared__ u32 sm[];
    const int T = blockDim.x, t = threadIdx.x;
    u32 *H = sm, *E = sm + READ_LEN * T;
#define AT(j) (PLAIN ? t * READ_LEN + (j) : (j) * T + t)
    int r0 = (blockIdx.x * T + t) * 4;
    if (r0 >= nreads) return;
    int start[4];
    const u32 *rp[4];
    for (int q = 0; q < 4; q++) {
        int r = min(r0 + q, nreads - 1);
        u64 b = best[r];
        start[q] = b == ~0ull ? 0 : (int)(u32)b - PAD;
        rp[q] = reads + r * READ_WORDS;
    }
    for (int j = 0; j < READ_LEN; j++) { H[AT(j)] = 0; E[AT(j)] = 0; }
    u32 top = 0;
    for (int c = 0; c < WIN; c++) {
        u32 ref = 0;
        for (int q = 0; q < 4; q++) ref |= unpack(g, start[q] + c) << (8 * q);
        u32 diag = 0, F = 0, up = 0;
        u32 w0 = 0, w1 = 0, w2 = 0, w3 = 0;
        for (int j = 0; j < READ_LEN; j++) {
            if ((j & 15) == 0) { w0 = rp[0][j >> 4]; w1 = rp[1][j >> 4]; w2 = rp[2][j >> 4]; w3 = rp[3][j >> 4]; }
            u32 qb = (w0 & 3) | (w1 & 3) << 8 | (w2 & 3) << 16 | (w3 & 3) << 24;
            w0 >>= 2; w1 >>= 2; w2 >>= 2; w3 >>= 2;
            u32 eq = __vcmpeq4(qb, ref);
            u32 hl = H[AT(j)];
            u32 e = __vmaxu4(__vsubus4(E[AT(j)], 0x01010101u * GAP_EXT), __vsubus4(hl, 0x01010101u * GAP_OPEN));
            F = __vmaxu4(__vsubus4(F, 0x01010101u * GAP_EXT), __vsubus4(up, 0x01010101u * GAP_OPEN));
            u32 h = __vaddus4(diag, eq & (0x01010101u * MATCH));
            h = __vsubus4(h, ~eq & (0x01010101u * MISMATCH));
            h = __vmaxu4(h, __vmaxu4(e, F));
            diag = hl;
            up = h;
            H[AT(j)] = h;
            E[AT(j)] = e;
            top = __vmaxu4(top, h);
        }
    }
    for (int q = 0; q < 4; q++) if (r0 + q < nreads) score[r0 + q] = best[r0 + q] == ~0ull ? -1 : (int)(top >> (8 * q) & 255);
#undef AT
}

static int sw_host(const std::vector<u32> &g, const u32 *read, int start)
{
    int H[READ_LEN] = {0}, E[READ_LEN] = {0}, top = 0;
    for (int c = 0; c < WIN; c++) {
        u32 ref = unpack(g.data(), start + c);
        int diag = 0, up = 0, F = 0;
        for (int j = 0; j < READ_LEN; j++) {
            int hl = H[j];
            int e = std::max({0, E[j] - GAP_EXT, hl - GAP_OPEN});
            F = std::max({0, F - GAP_EXT, up - GAP_OPEN});
            int h = unpack(read, j) == ref ? std::min(255, diag + MATCH) : std::max(0, diag - MISMATCH);
            h = std::max({h, e, F});
            diag = hl; up = h; H[j] = h; E[j] = e;
            top = std::max(top, h);
        }
    }
    return top;
}

int main()
{
    const int gwords = (GENOME + 15) / 16 + 2;        // two extra so that unaligned reads stay inside
    u32 *d_g, *d_reads;
    int *d_cnt, *d_ofs, *d_cur, *d_sums, *d_pos, *d_score[2];
    u64 *d_best;
    cudaTry(cudaMalloc(&d_g, gwords * 4));
    cudaTry(cudaMalloc(&d_reads, N_READS * READ_WORDS * 4));
    cudaTry(cudaMalloc(&d_cnt, BUCKETS * 4));
    cudaTry(cudaMalloc(&d_ofs, BUCKETS * 4));
    cudaTry(cudaMalloc(&d_cur, BUCKETS * 4));
    cudaTry(cudaMalloc(&d_sums, BUCKETS / 1024 * 4));
    cudaTry(cudaMalloc(&d_pos, GENOME * 4));
    cudaTry(cudaMalloc(&d_best, N_READS * 8));
    for (int i = 0; i < 2; i++) cudaTry(cudaMalloc(&d_score[i], N_READS * 4));
    cudaTry(cudaMemset(d_cnt, 0, BUCKETS * 4));

    pack_genome<<<(gwords + 127) / 128, 128>>>(d_g, GENOME, gwords);
    pack_reads<<<(N_READS + 15) / 16, dim3(8, 16)>>>(d_reads, N_READS);
    index_count<<<(GENOME + 255) / 256, 256>>>(d_g, GENOME, d_cnt);
    scan_tiles<<<BUCKETS / 1024, 256>>>(d_cnt, d_ofs, d_sums);
    scan_sums<<<1, BUCKETS / 1024>>>(d_sums);
    scan_add<<<BUCKETS / 512, 512>>>(d_ofs, d_sums, d_cur);
    index_fill<<<(GENOME + 255) / 256, 256>>>(d_g, GENOME, d_cur, d_pos);
    seed_filter<<<(N_READS + 3) / 4, 128>>>(d_g, d_reads, d_ofs, d_cnt, d_pos, d_best, N_READS);
    const int T = 32;
    const size_t smem = 2 * READ_LEN * T * sizeof(u32);
    const int blocks = (N_READS + 4 * T - 1) / (4 * T);
    extend4<true><<<blocks, T, smem>>>(d_g, d_reads, d_best, d_score[0], N_READS);
    extend4<false><<<blocks, T, smem>>>(d_g, d_reads, d_best, d_score[1], N_READS);
    cudaTry(cudaGetLastError());
    cudaTry(cudaDeviceSynchronize());

    // reference
    std::vector<u32> g(gwords, 0), reads(N_READS * READ_WORDS, 0);
    for (int i = 0; i < GENOME; i++) g[i >> 4] |= genome_base(i) << (2 * (i & 15));
    for (int r = 0; r < N_READS; r++)
        for (int j = 0; j < READ_LEN; j++) reads[r * READ_WORDS + (j >> 4)] |= read_base(r, j) << (2 * (j & 15));
    std::vector<std::vector<int>> idx(BUCKETS);
    u32 km = 0;
    for (int p = 0; p < GENOME; p++) {
        km = km >> 2 | genome_base(p) << (2 * K - 2);
        if (p >= K - 1) idx[km].push_back(p - K + 1);
    }
    std::vector<u64> best(N_READS);
    std::vector<int> s0(N_READS), s1(N_READS);
    cudaTry(cudaMemcpy(best.data(), d_best, N_READS * 8, cudaMemcpyDeviceToHost));
    cudaTry(cudaMemcpy(s0.data(), d_score[0], N_READS * 4, cudaMemcpyDeviceToHost));
    cudaTry(cudaMemcpy(s1.data(), d_score[1], N_READS * 4, cudaMemcpyDeviceToHost));

    int bad = 0, mapped = 0, right = 0;
    for (int r = 0; r < N_READS; r++) {
        u64 key = ~0ull;
        for (int off = 0; off + K <= READ_LEN && off < 96; off += 3) {
            u32 m = 0;
            for (int i = 0; i < K; i++) m |= unpack(&reads[r * READ_WORDS], off + i) << (2 * i);
            if ((int)idx[m].size() > MAX_OCC) continue;
            for (int p : idx[m]) {
                int st = p - off;
                if (st < PAD || st + READ_LEN + PAD >= GENOME) continue;
                int mism = 0;
                for (int j = 0; j < READ_LEN; j++) mism += unpack(&reads[r * READ_WORDS], j) != unpack(g.data(), st + j);
                key = std::min(key, (u64)mism << 32 | (u32)st);
            }
        }
        if (key != best[r]) { if (bad++ < 5) printf("read %d: %llx / %llx\n", r, best[r], key); continue; }
        if (s0[r] != s1[r]) bad++;
        if (key == ~0ull) { if (s0[r] != -1) bad++; continue; }
        mapped++;
        right += std::abs((int)(u32)key - read_origin(r)) <= 2;
        if (r % 8 == 0 && s0[r] != sw_host(g, &reads[r * READ_WORDS], (int)(u32)key - PAD)) {
            if (bad++ < 5) printf("read %d: score %d\n", r, s0[r]);
        }
    }
    printf("%d reads, %d mapped, %d at the right place\n", N_READS, mapped, right);
    if (right < N_READS * 9 / 10) bad++;
    printf(bad ? "FAIL\n" : "PASS\n");
    return bad != 0;
}
