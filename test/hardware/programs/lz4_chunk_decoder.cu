/* Parallel decoder for our chunked LZ4 container.
 *
 * Every chunk (8 KiB of plain data by default) is an independent LZ4 block;
 * a table at the front holds the offsets.  Three decoders of growing effort,
 * an xxHash32 check of every chunk, and a byte histogram that the ingest job
 * wants anyway.  The compressor (host, greedy, one hash probe) is at the
 * bottom so that the test needs no external library.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <random>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define CHUNK      8192u
#define MINMATCH   4u
#define MFLIMIT    12u
#define LASTLITS   5u

#define CU(expr) do { cudaError_t rc_ = (expr); if (rc_ != cudaSuccess) { \
        fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(rc_)); return 2; } } while (0)

/* ------------------------------------------------------------- decoders */

/* v1: one thread decodes one chunk, byte by byte */
__global__ void lz4_decode_thread(const uint8_t *in, const uint32_t *off, uint32_t nchunks, uint8_t *out, uint32_t *outlen)
{
    uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= nchunks) return;
    const uint8_t *ip = in + off[c], *iend = in + off[c + 1];
    uint8_t *op = out + (size_t)c * CHUNK, *o0 = op;
    while (ip < iend) {
        uint32_t token = *ip++;
        uint32_t lit = token >> 4;
        if (lit == 15) { uint32_t b; do { b = *ip++; lit += b; } while (b == 255); }
        for (uint32_t i = 0; i < lit; i++) op[i] = ip[i];
        op += lit;
        ip += lit;
        if (ip >= iend) break;
        uint32_t dist = ip[0] | (ip[1] << 8);
        ip += 2;
        uint32_t len = (token & 15) + MINMATCH;
        if ((token & 15) == 15) { uint32_t b; do { b = *ip++; len += b; } while (b == 255); }
        for (uint32_t i = 0; i < len; i++) op[i] = op[(int)i - (int)dist];
        op += len;
    }
    outlen[c] = (uint32_t)(op - o0);
}

/* v2: a warp per chunk; every lane parses, all lanes copy */
__global__ void lz4_decode_warp(const uint8_t *in, const uint32_t *off, uint32_t nchunks, uint8_t *out, uint32_t *outlen)
{
    uint32_t lane = threadIdx.x & 31u;
    uint32_t c = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (c >= nchunks) return;
    uint32_t ip = off[c], iend = off[c + 1];
    uint8_t *dst = out + (size_t)c * CHUNK;
    uint32_t op = 0;
    while (ip < iend) {
        uint32_t token = in[ip++];
        uint32_t lit = token >> 4;
        if (lit == 15) { uint32_t b; do { b = in[ip++]; lit += b; } while (b == 255); }
        for (uint32_t i = lane; i < lit; i += 32) dst[op + i] = in[ip + i];
        op += lit;
        ip += lit;
        if (ip >= iend) break;
        uint32_t dist = in[ip] | (in[ip + 1] << 8);
        ip += 2;
        uint32_t len = (token & 15) + MINMATCH;
        if ((token & 15) == 15) { uint32_t b; do { b = in[ip++]; len += b; } while (b == 255); }
        __syncwarp();
        /* an overlapping match repeats its first `dist` bytes */
        for (uint32_t i = lane; i < len; i += 32) dst[op + i] = dst[op - dist + (dist < len ? i % dist : i)];
        __syncwarp();
        op += len;
    }
    if (lane == 0) outlen[c] = op;
}

/* v3: as v2, the plain chunk lives in shared memory and leaves as uint4 */
template <int WARPS>
__global__ void __launch_bounds__(WARPS * 32) lz4_decode_staged(const uint8_t *__restrict__ in, const uint32_t *__restrict__ off,
                                                               uint32_t nchunks, uint8_t *__restrict__ out, uint32_t *outlen)
{
    extern __shared__ __align__(16) uint8_t plain[];
    const uint32_t lane = threadIdx.x & 31u, w = threadIdx.x >> 5;
    const uint32_t c = blockIdx.x * WARPS + w;
    if (c >= nchunks) return;
    uint8_t *dst = plain + w * CHUNK;
    uint32_t ip = off[c], op = 0;
    const uint32_t iend = off[c + 1];
    while (ip < iend) {
        /* one coalesced look at the next 32 bytes, then shuffles */
        uint32_t look = ip + lane < iend ? in[ip + lane] : 0u;
        uint32_t token = __shfl_sync(0xffffffffu, look, 0);
        uint32_t lit = token >> 4;
        ip++;
        if (lit == 15) { uint32_t b; do { b = in[ip++]; lit += b; } while (b == 255); }
        for (uint32_t i = lane; i < lit; i += 32) dst[op + i] = in[ip + i];
        op += lit;
        ip += lit;
        if (ip >= iend) break;
        uint32_t dist = in[ip] | (in[ip + 1] << 8);
        ip += 2;
        uint32_t len = (token & 15) + MINMATCH;
        if ((token & 15) == 15) { uint32_t b; do { b = in[ip++]; len += b; } while (b == 255); }
        __syncwarp();
        if (dist >= len) for (uint32_t i = lane; i < len; i += 32) dst[op + i] = dst[op - dist + i];
        else             for (uint32_t i = lane; i < len; i += 32) dst[op + i] = dst[op - dist + i % dist];
        __syncwarp();
        op += len;
    }
    __syncwarp();
    uint4 *g = reinterpret_cast<uint4 *>(out + (size_t)c * CHUNK);
    const uint4 *s = reinterpret_cast<const uint4 *>(dst);
    for (uint32_t i = lane; i < (op + 15) / 16; i += 32) g[i] = s[i];
    if (lane == 0) outlen[c] = op;
}

/* ------------------------------------------------------------- xxHash32 */
#define P1 2654435761u
#define P2 2246822519u
#define P3 3266489917u
#define P4 668265263u
#define P5 374761393u
__host__ __device__ static inline uint32_t rotl(uint32_t v, int r) { return (v << r) | (v >> (32 - r)); }
__host__ __device__ static inline uint32_t rd32(const uint8_t *p) { return p[0] | (p[1] << 8) | (p[2] << 16) | ((uint32_t)p[3] << 24); }

__host__ __device__ static uint32_t xxh_tail(uint32_t h, const uint8_t *p, uint32_t n)
{
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) h = rotl(h + rd32(p + i) * P3, 17) * P4;
    for (; i < n; i++) h = rotl(h + p[i] * P5, 11) * P1;
    h ^= h >> 15; h *= P2; h ^= h >> 13; h *= P3; h ^= h >> 16;
    return h;
}
static uint32_t xxh32(const uint8_t *p, uint32_t n)
{
    uint32_t h, i = 0;
    if (n >= 16) {
        uint32_t v[4] = { P1 + P2, P2, 0u, 0u - P1 };
        for (; i + 16 <= n; i += 16)
            for (int k = 0; k < 4; k++) v[k] = rotl(v[k] + rd32(p + i + 4 * k) * P2, 13) * P1;
        h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
    } else h = P5;
    return xxh_tail(h + n, p + i, n - i);
}
/* four threads per chunk, one per xxHash lane; eight chunks per warp */
__global__ void xxh32_chunks(const uint8_t *data, const uint32_t *len, uint32_t nchunks, uint32_t *hash)
{
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x, c = t >> 2, k = t & 3;
    bool live = c < nchunks;
    uint32_t n = live ? len[c] : 0, body = n & ~15u;
    const uint8_t *p = data + (size_t)(live ? c : 0) * CHUNK;
    uint32_t v = k == 0 ? P1 + P2 : k == 1 ? P2 : k == 2 ? 0u : 0u - P1;
    for (uint32_t i = 0; i < body; i += 16) v = rotl(v + *(const uint32_t *)(p + i + 4 * k) * P2, 13) * P1;
    v = rotl(v, k == 0 ? 1 : k == 1 ? 7 : k == 2 ? 12 : 18);
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    v += __shfl_xor_sync(0xffffffffu, v, 2);
    if (live && k == 0) hash[c] = xxh_tail((n >= 16 ? v : P5) + n, p + body, n - body);
}

/* byte histogram, one private copy per warp */
__global__ void byte_histogram(const uint32_t *words, uint32_t n, uint32_t *bins)
{
    __shared__ uint32_t h[8][256];
    for (uint32_t i = threadIdx.x; i < 8 * 256; i += blockDim.x) (&h[0][0])[i] = 0;
    __syncthreads();
    uint32_t w = threadIdx.x >> 5;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t v = words[i];
        atomicAdd(&h[w][v & 255], 1u);
        atomicAdd(&h[w][(v >> 8) & 255], 1u);
        atomicAdd(&h[w][(v >> 16) & 255], 1u);
        atomicAdd(&h[w][v >> 24], 1u);
    }
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < 256; b += blockDim.x) {
        uint32_t s = 0;
        for (int k = 0; k < 8; k++) s += h[k][b];
        if (s) atomicAdd(&bins[b], s);
    }
}

/* ------------------------------------------------------------- compressor */
static void put_len(std::vector<uint8_t> &o, uint32_t v) { while (v >= 255) { o.push_back(255); v -= 255; } o.push_back((uint8_t)v); }

static void emit(std::vector<uint8_t> &o, const uint8_t *lits, uint32_t nl, uint32_t dist, uint32_t len)
{
    uint32_t ml = len ? len - MINMATCH : 0;
    o.push_back((uint8_t)((nl < 15 ? nl : 15) << 4 | (ml < 15 ? ml : 15)));
    if (nl >= 15) put_len(o, nl - 15);
    o.insert(o.end(), lits, lits + nl);
    if (!len) return;
    o.push_back(dist & 255);
    o.push_back(dist >> 8);
    if (ml >= 15) put_len(o, ml - 15);
}

static void compress_chunk(const uint8_t *src, uint32_t n, std::vector<uint8_t> &o)
{
    int table[4096];
    memset(table, 0xff, sizeof table);
    uint32_t anchor = 0, i = 0;
    while (n > MFLIMIT && i + MFLIMIT < n) {
        uint32_t seq = rd32(src + i), h = (seq * P1) >> 20;
        int cand = table[h];
        table[h] = (int)i;
        if (cand >= 0 && rd32(src + cand) == seq) {
            uint32_t len = MINMATCH;
            while (i + len + LASTLITS < n && src[cand + len] == src[i + len]) len++;
            emit(o, src + anchor, i - anchor, i - cand, len);
            i += len;
            anchor = i;
        } else i++;
    }
    emit(o, src + anchor, n - anchor, 0, 0);
}

static std::vector<uint8_t> make_log(size_t bytes)
{
    static const char *level[] = { "INFO", "WARN", "DEBUG", "ERROR" };
    static const char *what[] = { "connection accepted", "cache miss for key", "retrying request to shard", "checkpoint written",
                                  "queue depth", "user session expired", "compaction finished in", "---------------------------------------------" };
    std::mt19937 rng(5);
    std::string s;
    unsigned t = 1700000000u;
    while (s.size() < bytes) {
        char line[160];
        t += rng() % 3;
        snprintf(line, sizeof line, "%u [%s] node-%02u: %s %u\n", t, level[rng() % 4], (unsigned)(rng() % 40), what[rng() % 8], (unsigned)(rng() % 100000));
        s += line;
        if (rng() % 97 == 0) for (int i = 0; i < 300; i++) s += (char)(rng() & 255);       /* a binary dump */
    }
    return std::vector<uint8_t>(s.begin(), s.begin() + bytes);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? (size_t)strtoul(argv[1], 0, 0) : 1500000;
    bytes &= ~(size_t)3;
    std::vector<uint8_t> plain = make_log(bytes), packed;
    std::vector<uint32_t> off(1, 0u), want;
    uint32_t n = (uint32_t)((bytes + CHUNK - 1) / CHUNK);
    for (uint32_t c = 0; c < n; c++) {
        uint32_t len = (uint32_t)(bytes - (size_t)c * CHUNK < CHUNK ? bytes - (size_t)c * CHUNK : CHUNK);
        compress_chunk(&plain[(size_t)c * CHUNK], len, packed);
        off.push_back((uint32_t)packed.size());
        want.push_back(xxh32(&plain[(size_t)c * CHUNK], len));
    }
    printf("%zu bytes in %u chunks, packed to %zu (%.2f:1)\n", bytes, n, packed.size(), (double)bytes / packed.size());

    uint8_t *d_in, *d_out;
    uint32_t *d_off, *d_len, *d_hash, *d_bins;
    size_t cap = (size_t)n * CHUNK;
    CU(cudaMalloc(&d_in, packed.size()));
    CU(cudaMalloc(&d_out, cap));
    CU(cudaMalloc(&d_off, off.size() * 4));
    CU(cudaMalloc(&d_len, n * 4));
    CU(cudaMalloc(&d_hash, n * 4));
    CU(cudaMalloc(&d_bins, 256 * 4));
    CU(cudaMemcpy(d_in, packed.data(), packed.size(), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(d_off, off.data(), off.size() * 4, cudaMemcpyHostToDevice));

    int ok = 1;
    std::vector<uint8_t> got(cap);
    std::vector<uint32_t> len(n), hash(n), bins(256), ref(256, 0u);
    for (uint8_t b : plain) ref[b]++;
    for (int v = 1; v <= 3; v++) {
        CU(cudaMemset(d_out, 0, cap));
        CU(cudaMemset(d_len, 0, n * 4));
        switch (v) {
        case 1: lz4_decode_thread<<<(n + 31) / 32, 32>>>(d_in, d_off, n, d_out, d_len); break;
        case 2: lz4_decode_warp<<<(n * 32 + 127) / 128, 128>>>(d_in, d_off, n, d_out, d_len); break;
        case 3: lz4_decode_staged<4><<<(n + 3) / 4, 128, 4 * CHUNK>>>(d_in, d_off, n, d_out, d_len); break;
        }
        CU(cudaGetLastError());
        xxh32_chunks<<<(n * 4 + 127) / 128, 128>>>(d_out, d_len, n, d_hash);
        CU(cudaGetLastError());
        CU(cudaMemcpy(got.data(), d_out, cap, cudaMemcpyDeviceToHost));
        CU(cudaMemcpy(len.data(), d_len, n * 4, cudaMemcpyDeviceToHost));
        CU(cudaMemcpy(hash.data(), d_hash, n * 4, cudaMemcpyDeviceToHost));
        size_t total = 0;
        for (uint32_t l : len) total += l;
        int good = total == bytes && memcmp(got.data(), plain.data(), bytes) == 0 && hash == want;
        printf("decoder v%d: %zu bytes, hashes %s, %s\n", v, total, hash == want ? "match" : "differ", good ? "ok" : "BAD");
        ok &= good;
    }
    CU(cudaMemset(d_bins, 0, 256 * 4));
    byte_histogram<<<64, 256>>>((const uint32_t *)d_out, (uint32_t)(bytes / 4), d_bins);
    CU(cudaMemcpy(bins.data(), d_bins, 256 * 4, cudaMemcpyDeviceToHost));
    ok &= bins == ref;
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
