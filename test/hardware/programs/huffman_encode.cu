// huffman_encode.cu - chunked Huffman encoder
//   histogram -> (host) code lengths + canonical codes -> size of every chunk -> scan -> bit packing
// Every chunk of 2048 symbols starts on a fresh 32 bit word so that chunks can be decoded in parallel.
// Bits are packed most-significant-first.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <cmath>
#include <queue>
#include <random>
#include <vector>

typedef unsigned char u8;
typedef uint32_t u32;
typedef uint64_t u64;

static void die(cudaError_t e, int line) {
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s\nFAIL\n", line, cudaGetErrorString(e));
        exit(1);
    }
}
#define CU(x) die((x), __LINE__)

const int NSYM      = 256;
const int THREADS   = 256;
const int PER_THR   = 8;
const int CHUNK     = THREADS * PER_THR;
const int HIST_WARPS = 8;
const int MAXLEN    = 32;

struct CodeEntry {
    u32 bits;
    u32 len;
};

// one 256-bin histogram per warp in shared memory, merged at the end
__global__ void histogram256(const uchar4* __restrict__ data, int n4, u32* __restrict__ hist)
{
    __shared__ u32 sub[HIST_WARPS][NSYM];
    for (int i = threadIdx.x; i < HIST_WARPS * NSYM; i += blockDim.x)
        (&sub[0][0])[i] = 0;
    __syncthreads();

    u32* mine = sub[threadIdx.x >> 5];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        uchar4 v = data[i];
        atomicAdd(&mine[v.x], 1u);
        atomicAdd(&mine[v.y], 1u);
        atomicAdd(&mine[v.z], 1u);
        atomicAdd(&mine[v.w], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < NSYM; b += blockDim.x) {
        u32 s = 0;
        for (int w = 0; w < HIST_WARPS; w++) s += sub[w][b];
        if (s) atomicAdd(&hist[b], s);
    }
}

// number of 32 bit words every chunk will need
__global__ void chunk_sizes(const u8* __restrict__ data, const u8* __restrict__ lens,
                            u32* __restrict__ words)
{
    __shared__ u32 wsum[THREADS / 32];
    const u8* src = data + (size_t)blockIdx.x * CHUNK;
    u32 bits = 0;
    for (int i = threadIdx.x; i < CHUNK; i += THREADS)
        bits += lens[src[i]];
    for (int o = 16; o; o >>= 1)
        bits += __shfl_down_sync(~0u, bits, o);
    if ((threadIdx.x & 31) == 0) wsum[threadIdx.x >> 5] = bits;
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 t = 0;
        for (int w = 0; w < THREADS / 32; w++) t += wsum[w];
        words[blockIdx.x] = (t + 31) / 32;
    }
}

// Blelloch exclusive scan, one block, n = 2 * blockDim.x (power of two)
__global__ void scan_exclusive(const u32* in, u32* out, u32* total, int n)
{
    extern __shared__ u32 temp[];
    int t = threadIdx.x;
    temp[2 * t]     = in[2 * t];
    temp[2 * t + 1] = in[2 * t + 1];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1;
            int bi = offset * (2 * t + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (t == 0) {
        *total = temp[n - 1];
        temp[n - 1] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1;
            int bi = offset * (2 * t + 2) - 1;
            u32 x = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += x;
        }
    }
    __syncthreads();
    out[2 * t]     = temp[2 * t];
    out[2 * t + 1] = temp[2 * t + 1];
}

__device__ inline u32 block_scan_excl(u32 v, u32* warp_tot)
{
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 x = v;
    for (int o = 1; o < 32; o <<= 1) {
        u32 y = __shfl_up_sync(~0u, x, o);
        if (lane >= o) x += y;
    }
    if (lane == 31) warp_tot[warp] = x;
    __syncthreads();
    u32 base = 0;
    for (int w = 0; w < warp; w++) base += warp_tot[w];
    return base + x - v;
}

__global__ void encode_chunks(const u8* __restrict__ data, const CodeEntry* __restrict__ table,
                              const u32* __restrict__ word_off, const u32* __restrict__ word_cnt,
                              u32* __restrict__ out)
{
    extern __shared__ u32 buf[];              // packed words of this chunk
    __shared__ CodeEntry tab[NSYM];
    __shared__ u32 warp_tot[THREADS / 32];

    const int tid = threadIdx.x;
    const u32 nw = word_cnt[blockIdx.x];
    tab[tid] = table[tid];                    // THREADS == NSYM
    for (u32 i = tid; i <= nw; i += THREADS) buf[i] = 0;

    __align__(8) u8 sym[PER_THR];
    *reinterpret_cast<uint2*>(sym) =
        reinterpret_cast<const uint2*>(data + (size_t)blockIdx.x * CHUNK)[tid];
    __syncthreads();

    u32 mybits = 0;
    for (int k = 0; k < PER_THR; k++) mybits += tab[sym[k]].len;
    u32 pos = block_scan_excl(mybits, warp_tot);

    for (int k = 0; k < PER_THR; k++) {
        CodeEntry c = tab[sym[k]];
        u64 v = (u64)c.bits << (64 - c.len - (pos & 31));
        u32 w = pos >> 5;
        atomicOr(&buf[w], (u32)(v >> 32));
        if ((u32)v) atomicOr(&buf[w + 1], (u32)v);
        pos += c.len;
    }
    __syncthreads();
    u32* dst = out + word_off[blockIdx.x];
    for (u32 i = tid; i < nw; i += THREADS) dst[i] = buf[i];
}

// simple check decoder: one thread per chunk, bit by bit (canonical codes)
__global__ void decode_chunks(const u32* __restrict__ in, const u32* __restrict__ word_off,
                              const u32* __restrict__ count, const u8* __restrict__ sorted,
                              u8* __restrict__ out, int nchunks)
{
    __shared__ u32 cnt[MAXLEN + 1];
    __shared__ u8 syms[NSYM];
    for (int i = threadIdx.x; i <= MAXLEN; i += blockDim.x) cnt[i] = count[i];
    for (int i = threadIdx.x; i < NSYM; i += blockDim.x) syms[i] = sorted[i];
    __syncthreads();

    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= nchunks) return;
    const u32* src = in + word_off[c];
    u8* dst = out + (size_t)c * CHUNK;
    u32 word = 0;
    int left = 0;
    for (int s = 0; s < CHUNK; s++) {
        u32 code = 0, first = 0, index = 0;
        for (int len = 1; len <= MAXLEN; len++) {
            if (left == 0) { word = *src++; left = 32; }
            code |= word >> 31;
            word <<= 1;
            left--;
            u32 n = cnt[len];
            if (code < first + n) { index += code - first; break; }
            index += n;
            first = (first + n) << 1;
            code <<= 1;
        }
        dst[s] = syms[index & 255];
    }
}

// ---------------------------------------------------------------------------------- host side
static std::vector<u8> code_lengths(const std::vector<u32>& hist)
{
    struct Node { u64 w; int l, r; };
    std::vector<Node> nodes;
    typedef std::pair<u64, int> Item;
    std::priority_queue<Item, std::vector<Item>, std::greater<Item>> q;
    std::vector<int> leaf_of(NSYM, -1);
    for (int s = 0; s < NSYM; s++) {
        nodes.push_back({hist[s], -1, -1});
        if (hist[s]) q.push({hist[s], s});
    }
    while (q.size() > 1) {
        Item a = q.top(); q.pop();
        Item b = q.top(); q.pop();
        nodes.push_back({a.first + b.first, a.second, b.second});
        q.push({a.first + b.first, (int)nodes.size() - 1});
    }
    std::vector<u8> len(NSYM, 0);
    std::vector<std::pair<int, int>> stack(1, std::make_pair(q.top().second, 0));
    while (!stack.empty()) {
        auto [n, d] = stack.back();
        stack.pop_back();
        if (nodes[n].l < 0) { len[n] = (u8)std::max(d, 1); continue; }
        stack.push_back({nodes[n].l, d + 1});
        stack.push_back({nodes[n].r, d + 1});
    }
    return len;
}

int main()
{
    const int nchunks = 512;
    const size_t n = (size_t)nchunks * CHUNK;
    std::vector<u8> data(n);
    std::mt19937 rng(42);
    std::uniform_real_distribution<double> U(1e-9, 1.0);
    for (auto& b : data) b = (u8)std::min(255, (int)(-14.0 * std::log(U(rng))));

    u8 *d_data, *d_lens, *d_sorted, *d_dec;
    u32 *d_hist, *d_cnt, *d_off, *d_total, *d_lencount;
    CodeEntry* d_table;
    CU(cudaMalloc(&d_data, n));
    CU(cudaMalloc(&d_dec, n));
    CU(cudaMalloc(&d_lens, NSYM));
    CU(cudaMalloc(&d_sorted, NSYM));
    CU(cudaMalloc(&d_hist, NSYM * 4));
    CU(cudaMalloc(&d_cnt, nchunks * 4));
    CU(cudaMalloc(&d_off, nchunks * 4));
    CU(cudaMalloc(&d_total, 4));
    CU(cudaMalloc(&d_lencount, (MAXLEN + 1) * 4));
    CU(cudaMalloc(&d_table, NSYM * sizeof(CodeEntry)));
    CU(cudaMemcpy(d_data, data.data(), n, cudaMemcpyHostToDevice));
    CU(cudaMemset(d_hist, 0, NSYM * 4));

    histogram256<<<64, HIST_WARPS * 32>>>((const uchar4*)d_data, (int)(n / 4), d_hist);
    CU(cudaGetLastError());
    std::vector<u32> hist(NSYM), ref_hist(NSYM, 0);
    CU(cudaMemcpy(hist.data(), d_hist, NSYM * 4, cudaMemcpyDeviceToHost));
    for (u8 b : data) ref_hist[b]++;
    bool ok = hist == ref_hist;
    if (!ok) { printf("histogram differs\nFAIL\n"); return 1; }

    // canonical code book
    std::vector<u8> lens = code_lengths(hist);
    std::vector<u32> lencount(MAXLEN + 1, 0), next(MAXLEN + 2, 0);
    int maxlen = 0;
    for (u8 l : lens) { if (l) lencount[l]++; maxlen = std::max<int>(maxlen, l); }
    if (maxlen > MAXLEN) { printf("code too long\nFAIL\n"); return 1; }
    for (int l = 1; l <= MAXLEN; l++) next[l + 1] = (next[l] + lencount[l]) << 1;
    std::vector<CodeEntry> table(NSYM);
    std::vector<u8> sorted(NSYM, 0);
    int k = 0;
    for (int l = 1; l <= maxlen; l++)
        for (int s = 0; s < NSYM; s++)
            if (lens[s] == l) { table[s] = {next[l]++, (u32)l}; sorted[k++] = (u8)s; }
    CU(cudaMemcpy(d_lens, lens.data(), NSYM, cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_table, table.data(), NSYM * sizeof(CodeEntry), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_sorted, sorted.data(), NSYM, cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_lencount, lencount.data(), (MAXLEN + 1) * 4, cudaMemcpyHostToDevice));

    chunk_sizes<<<nchunks, THREADS>>>(d_data, d_lens, d_cnt);
    scan_exclusive<<<1, nchunks / 2, nchunks * sizeof(u32)>>>(d_cnt, d_off, d_total, nchunks);
    CU(cudaGetLastError());
    u32 total = 0;
    CU(cudaMemcpy(&total, d_total, 4, cudaMemcpyDeviceToHost));

    u32* d_out;
    CU(cudaMalloc(&d_out, (size_t)total * 4 + 4));
    size_t smem = ((size_t)CHUNK * maxlen / 32 + 2) * sizeof(u32);
    encode_chunks<<<nchunks, THREADS, smem>>>(d_data, d_table, d_off, d_cnt, d_out);
    CU(cudaGetLastError());
    decode_chunks<<<(nchunks + 63) / 64, 64>>>(d_out, d_off, d_lencount, d_sorted, d_dec, nchunks);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    std::vector<u32> out(total), ref;
    std::vector<u8> dec(n);
    CU(cudaMemcpy(out.data(), d_out, (size_t)total * 4, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(dec.data(), d_dec, n, cudaMemcpyDeviceToHost));
    for (int c = 0; c < nchunks; c++) {
        u64 acc = 0;
        int have = 0;
        for (int i = 0; i < CHUNK; i++) {
            CodeEntry e = table[data[(size_t)c * CHUNK + i]];
            acc = (acc << e.len) | e.bits;
            have += e.len;
            if (have >= 32) { have -= 32; ref.push_back((u32)(acc >> have)); acc &= ((u64)1 << have) - 1; }
        }
        if (have) ref.push_back((u32)(acc << (32 - have)));
    }
    bool same = ref.size() == total && std::equal(ref.begin(), ref.end(), out.begin());
    bool round = dec == data;
    printf("in %zu bytes, out %zu bytes, longest code %d, stream %s, round trip %s\n", n, (size_t)total * 4,
           maxlen, same ? "ok" : "BAD", round ? "ok" : "BAD");
    ok = ok && same && round;
    CU(cudaFree(d_data)); CU(cudaFree(d_dec)); CU(cudaFree(d_lens)); CU(cudaFree(d_sorted));
    CU(cudaFree(d_hist)); CU(cudaFree(d_cnt)); CU(cudaFree(d_off)); CU(cudaFree(d_total));
    CU(cudaFree(d_lencount)); CU(cudaFree(d_table)); CU(cudaFree(d_out));
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
