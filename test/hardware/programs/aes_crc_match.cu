// Table-driven byte crunching: CRC32 (slice-by-4 tables in shared), AES-128 style rounds with T-tables in
// constant / shared memory, multi-pattern string matching with bit-parallel shift-and and KMP failure table.
#include <cstdio>
#include <cstring>
#include <cstdint>
#include <vector>
#include <string>
#include <cuda_runtime.h>

__constant__ uint32_t cT0[256];
__constant__ uint8_t cPattern[32];
__constant__ signed char cFail[32];

static uint8_t h_sbox[256];
static uint32_t h_T0[256], h_crc[4][256];

static uint8_t xt(uint8_t a) { return (a << 1) ^ ((a >> 7) * 0x1b); }

static void build_tables()
{
    uint8_t p = 1, q = 1;
    do {
        p = p ^ xt(p);
        q ^= q << 1; q ^= q << 2; q ^= q << 4;
        if (q & 0x80) q ^= 0x09;
        auto rot = [](uint8_t v, int s) { return uint8_t((v << s) | (v >> (8 - s))); };
        h_sbox[p] = q ^ rot(q, 1) ^ rot(q, 2) ^ rot(q, 3) ^ rot(q, 4) ^ 0x63;
    } while (p != 1);
    h_sbox[0] = 0x63;
    for (int i = 0; i < 256; ++i) {
        uint32_t s = h_sbox[i], s2 = xt(s), s3 = s2 ^ s;
        h_T0[i] = s2 | s << 8 | s << 16 | s3 << 24;
        uint32_t c = i;
        for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        h_crc[0][i] = c;
    }
    for (int i = 0; i < 256; ++i)
        for (int k = 1; k < 4; ++k) h_crc[k][i] = (h_crc[k - 1][i] >> 8) ^ h_crc[0][h_crc[k - 1][i] & 255];
}

// one message per thread, messages of 'len' bytes stored back to back
__global__ void crc32_slice4(const uint32_t* __restrict__ tables, const uint8_t* __restrict__ msgs, int len, int count, uint32_t* out)
{
    __shared__ uint32_t t[4][256];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) t[i >> 8][i & 255] = tables[i];
    __syncthreads();
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    const uint8_t* p = msgs + (size_t)id * len;
    uint32_t c = ~0u;
    int n = len;
    for (; n >= 4; n -= 4, p += 4) {
        c ^= *reinterpret_cast<const uint32_t*>(p);
        c = t[3][c & 255] ^ t[2][(c >> 8) & 255] ^ t[1][(c >> 16) & 255] ^ t[0][c >> 24];
    }
    while (n-- > 0) c = t[0][(c ^ *p++) & 255] ^ (c >> 8);
    out[id] = ~c;
}

__device__ __forceinline__ uint32_t rotl8(uint32_t v, int k) { return __funnelshift_l(v, v, 8 * k); }

template <bool SharedTable>
__global__ void aes_ctr_like(const uint4* __restrict__ in, uint4* __restrict__ out, const uint4* __restrict__ keys, int blocks)
{
    __shared__ uint32_t sT[SharedTable ? 256 : 1];
    if (SharedTable) {
        for (int i = threadIdx.x; i < 256; i += blockDim.x) sT[i] = cT0[i];
        __syncthreads();
    }
    const uint32_t* T = SharedTable ? sT : cT0;
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < blocks; b += gridDim.x * blockDim.x) {
        uint4 k = keys[0];
        uint32_t s[4] = {k.x ^ (uint32_t)b, k.y, k.z, k.w ^ 0x1000};
        #pragma unroll 1
        for (int r = 1; r <= 6; ++r) {
            uint32_t o[4];
            k = keys[r];
            const uint32_t kk[4] = {k.x, k.y, k.z, k.w};
            #pragma unroll
            for (int j = 0; j < 4; ++j)
                o[j] = T[s[j] & 255] ^ rotl8(T[(s[(j + 1) & 3] >> 8) & 255], 1) ^ rotl8(T[(s[(j + 2) & 3] >> 16) & 255], 2) ^ rotl8(T[s[(j + 3) & 3] >> 24], 3) ^ kk[j];
            #pragma unroll
            for (int j = 0; j < 4; ++j) s[j] = o[j];
        }
        uint4 v = in[b];
        v.x ^= s[0]; v.y ^= s[1]; v.z ^= s[2]; v.w ^= s[3];
        out[b] = v;
    }
}

__global__ void kmp_search(const char* text, int n, int m, int chunk, int* hits)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int beg = t * chunk, end = min(n, beg + chunk + m - 1), q = 0, found = 0;
    for (int i = beg; i < end; ++i) {
        char c = text[i];
        while (q > 0 && (char)cPattern[q] != c) q = cFail[q - 1];
        if ((char)cPattern[q] == c) ++q;
        if (q == m) { ++found; q = cFail[q - 1]; }
    }
    if (found) atomicAdd(hits, found);
}

__global__ void naive_search(const char* __restrict__ text, int n, const char* __restrict__ pat, int m, int* hits)
{
    extern __shared__ char s[];
    int base = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x + m && base + i < n; i += blockDim.x) s[i] = text[base + i];
    __syncthreads();
    int i = base + threadIdx.x, k = 0;
    if (i + m <= n) while (k < m && s[threadIdx.x + k] == pat[k]) ++k;
    int c = __syncthreads_count(k == m);
    if (threadIdx.x == 0 && c) atomicAdd(hits, c);
}

int main()
{
    build_tables();
    const int len = 108, count = 300, nb = 3000, n = 20000;
    std::vector<uint8_t> msg(len * count); std::vector<uint32_t> crc(count);
    for (size_t i = 0; i < msg.size(); ++i) msg[i] = (i * i + 3 * i) >> 2;
    std::string text(n, 'a');
    for (int i = 0; i < n; ++i) text[i] = "ab"[((i * 2654435761u) >> 29) & 1];
    std::string pat = text.substr(1234, 6);
    int m = pat.size(); signed char fail[32] = {0};
    for (int i = 1, k = 0; i < m; ++i) { while (k && pat[k] != pat[i]) k = fail[k - 1]; if (pat[k] == pat[i]) ++k; fail[i] = k; }
    cudaMemcpyToSymbol(cT0, h_T0, sizeof h_T0); cudaMemcpyToSymbol(cPattern, pat.data(), m); cudaMemcpyToSymbol(cFail, fail, 32);
    uint8_t* dm; uint32_t *dt, *dc; uint4 *a, *b, *c, *key; char *tx, *dp; int* hits;
    cudaMalloc(&dm, msg.size()); cudaMalloc(&dt, 4096); cudaMalloc(&dc, count * 4); cudaMalloc(&a, nb * 16); cudaMalloc(&b, nb * 16); cudaMalloc(&c, nb * 16);
    cudaMalloc(&key, 7 * 16); cudaMalloc(&tx, n); cudaMalloc(&dp, 32); cudaMalloc(&hits, 8);
    cudaMemcpy(dm, msg.data(), msg.size(), cudaMemcpyHostToDevice); cudaMemcpy(dt, h_crc, 4096, cudaMemcpyHostToDevice);
    cudaMemset(a, 0x5a, nb * 16); cudaMemcpy(key, h_T0, 7 * 16, cudaMemcpyHostToDevice);
    cudaMemcpy(tx, text.data(), n, cudaMemcpyHostToDevice); cudaMemcpy(dp, pat.data(), m, cudaMemcpyHostToDevice); cudaMemset(hits, 0, 8);
    crc32_slice4<<<(count + 63) / 64, 64>>>(dt, dm, len, count, dc);
    aes_ctr_like<false><<<8, 128>>>(a, b, key, nb);
    aes_ctr_like<true><<<8, 192>>>(b, c, key, nb);       // ctr twice = identity
    kmp_search<<<(n / 50 + 63) / 64, 64>>>(tx, n, m, 50, hits);
    naive_search<<<(n + 159) / 160, 160, 160 + 32>>>(tx, n, dp, m, hits + 1);
    std::vector<uint8_t> back(nb * 16); int h[2];
    cudaMemcpy(crc.data(), dc, count * 4, cudaMemcpyDeviceToHost); cudaMemcpy(back.data(), c, nb * 16, cudaMemcpyDeviceToHost); cudaMemcpy(h, hits, 8, cudaMemcpyDeviceToHost);
    int bad = 0, ref = 0;
    for (int i = 0; i < count; ++i) { uint32_t v = ~0u; for (int k = 0; k < len; ++k) v = h_crc[0][(v ^ msg[i * len + k]) & 255] ^ (v >> 8); bad += crc[i] != ~v; }
    for (auto v : back) bad += v != 0x5a;
    for (int i = 0; i + m <= n; ++i) ref += !memcmp(&text[i], pat.data(), m);
    printf("bad %d, matches %d %d of %d\n", bad, h[0], h[1], ref);
    return bad || h[0] != ref || h[1] != ref;
}
