/*
 * aes_ctr_crc_base64.cu - encrypt-then-armour pipeline for telemetry blobs
 *
 * AES-128 in counter mode (two table strategies), CRC-32 per 96 byte record,
 * base64 armouring, and a byte histogram of the ciphertext as a sanity statistic.
 *
 * Public domain.  No warranty.  Not side channel safe.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

typedef uint8_t  u8;
typedef uint32_t u32;

#define ROTR(x, n)   (((x) >> (n)) | ((x) << (32 - (n))))
#define BE32(p)      ((u32)(p)[0] << 24 | (u32)(p)[1] << 16 | (u32)(p)[2] << 8 | (u32)(p)[3])
#define RECORD       96

#define CUDA(f, ...) do { cudaError_t rc = cuda##f(__VA_ARGS__);                              \
        if (rc) { fprintf(stderr, "cuda" #f " line %d: %s\n", __LINE__, cudaGetErrorString(rc)); return 1; } } while (0)
#define LAUNCHED()   CUDA(GetLastError)

static u8  sbox[256];
static u32 te0[256], crctab[256];

__constant__ u32  c_rk[44];
__constant__ u8   c_sbox[256];
__constant__ char c_b64[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ------------------------------------------------------------------ device */

__device__ static inline u32 bswap(u32 x) { return __byte_perm(x, 0, 0x0123); }

#define FINAL(a, b, c, d, k) \
    (((u32)s_sb[(a) >> 24] << 24 | (u32)s_sb[((b) >> 16) & 255] << 16 | (u32)s_sb[((c) >> 8) & 255] << 8 | (u32)s_sb[(d) & 255]) ^ c_rk[k])

/* four 1 KiB tables in shared memory; one 16 byte block per thread */
__global__ void aes_ctr_4tables(const uint4 *in, uint4 *out, const u32 *te, u32 nonce0, u32 nonce1, u32 nonce2, int nblocks)
{
    __shared__ u32 T[4][256];
    __shared__ u8  s_sb[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        u32 t = te[i];
        T[0][i] = t;
        T[1][i] = ROTR(t, 8);
        T[2][i] = ROTR(t, 16);
        T[3][i] = ROTR(t, 24);
        s_sb[i] = c_sbox[i];
    }
    __syncthreads();

    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= nblocks)
        return;
    u32 a0 = nonce0 ^ c_rk[0], a1 = nonce1 ^ c_rk[1], a2 = nonce2 ^ c_rk[2], a3 = (u32)b ^ c_rk[3];
    for (int r = 1; r < 10; r++) {
#define COL(w, x, y, z) (T[0][(w) >> 24] ^ T[1][((x) >> 16) & 255] ^ T[2][((y) >> 8) & 255] ^ T[3][(z) & 255])
        u32 b0 = COL(a0, a1, a2, a3) ^ c_rk[4 * r];
        u32 b1 = COL(a1, a2, a3, a0) ^ c_rk[4 * r + 1];
        u32 b2 = COL(a2, a3, a0, a1) ^ c_rk[4 * r + 2];
        u32 b3 = COL(a3, a0, a1, a2) ^ c_rk[4 * r + 3];
        a0 = b0; a1 = b1; a2 = b2; a3 = b3;
#undef COL
    }
    uint4 p = in[b];
    p.x ^= bswap(FINAL(a0, a1, a2, a3, 40));
    p.y ^= bswap(FINAL(a1, a2, a3, a0, 41));
    p.z ^= bswap(FINAL(a2, a3, a0, a1, 42));
    p.w ^= bswap(FINAL(a3, a0, a1, a2, 43));
    out[b] = p;
}

/* one table, 32 copies, copy number = lane; grid stride; dynamic shared memory (32 KiB + sbox) */
__global__ void aes_ctr_replicated(const uint4 *in, uint4 *out, const u32 *te, u32 nonce0, u32 nonce1, u32 nonce2, int nblocks)
{
    extern __shared__ u32 R[];
    u8 *s_sb = (u8 *)(R + 256 * 32);
    const int lane = threadIdx.x & 31;
    for (int i = threadIdx.x; i < 256 * 32; i += blockDim.x)
        R[i] = te[i >> 5];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        s_sb[i] = c_sbox[i];
    __syncthreads();
    const u32 *T = R + lane;

    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < nblocks; b += gridDim.x * blockDim.x) {
        u32 a0 = nonce0 ^ c_rk[0], a1 = nonce1 ^ c_rk[1], a2 = nonce2 ^ c_rk[2], a3 = (u32)b ^ c_rk[3];
        for (int r = 1; r < 10; r++) {
#define TT(x)           T[(x) * 32]
#define COL(w, x, y, z) (TT((w) >> 24) ^ ROTR(TT(((x) >> 16) & 255), 8) ^ ROTR(TT(((y) >> 8) & 255), 16) ^ ROTR(TT((z) & 255), 24))
            u32 b0 = COL(a0, a1, a2, a3) ^ c_rk[4 * r];
            u32 b1 = COL(a1, a2, a3, a0) ^ c_rk[4 * r + 1];
            u32 b2 = COL(a2, a3, a0, a1) ^ c_rk[4 * r + 2];
            u32 b3 = COL(a3, a0, a1, a2) ^ c_rk[4 * r + 3];
            a0 = b0; a1 = b1; a2 = b2; a3 = b3;
#undef COL
#undef TT
        }
        uint4 p = in[b];
        p.x ^= bswap(FINAL(a0, a1, a2, a3, 40));
        p.y ^= bswap(FINAL(a1, a2, a3, a0, 41));
        p.z ^= bswap(FINAL(a2, a3, a0, a1, 42));
        p.w ^= bswap(FINAL(a3, a0, a1, a2, 43));
        out[b] = p;
    }
}

/* plain byte-at-a-time CRC-32, one record per thread */
__global__ void crc32_records(const u8 *data, const u32 *tab, u32 *crc, int nrec)
{
    __shared__ u32 t[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        t[i] = tab[i];
    __syncthreads();
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < nrec) {
        u32 c = 0xFFFFFFFFu;
        const u8 *p = data + r * RECORD;
        for (int i = 0; i < RECORD; i++)
            c = t[(c ^ p[i]) & 255] ^ (c >> 8);
        crc[r] = ~c;
    }
}

/* 3 bytes in, 4 characters out */
__global__ void base64_encode(const u8 *in, uchar4 *out, int ntriples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= ntriples)
        return;
    u32 v = (u32)in[3 * i] << 16 | (u32)in[3 * i + 1] << 8 | in[3 * i + 2];
    out[i] = make_uchar4(c_b64[v >> 18], c_b64[(v >> 12) & 63], c_b64[(v >> 6) & 63], c_b64[v & 63]);
}

/* 4 interleaved sub-histograms per block, words read as 4 bytes */
__global__ void byte_histogram(const u32 *data, u32 *hist, int nwords)
{
    __shared__ u32 h[256 * 4];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        h[i] = 0;
    __syncthreads();
    const int sub = threadIdx.x & 3;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nwords; i += gridDim.x * blockDim.x) {
        u32 w = data[i];
        atomicAdd(&h[(w & 255) * 4 + sub], 1u);
        atomicAdd(&h[((w >> 8) & 255) * 4 + sub], 1u);
        atomicAdd(&h[((w >> 16) & 255) * 4 + sub], 1u);
        atomicAdd(&h[(w >> 24) * 4 + sub], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&hist[i], h[4 * i] + h[4 * i + 1] + h[4 * i + 2] + h[4 * i + 3]);
}

/* -------------------------------------------------------------------- host */

static u8 xt(u8 x) { return (u8)(x << 1 ^ (x & 0x80 ? 0x1b : 0)); }

static void make_tables(void)
{
    u8 p = 1, q = 1;
    do {
        p = p ^ xt(p);                                  /* multiply by 3 */
        q ^= q << 1; q ^= q << 2; q ^= q << 4;          /* divide by 3 */
        if (q & 0x80) q ^= 0x09;
        u8 x = q ^ (u8)(q << 1 | q >> 7) ^ (u8)(q << 2 | q >> 6) ^ (u8)(q << 3 | q >> 5) ^ (u8)(q << 4 | q >> 4);
        sbox[p] = x ^ 0x63;
    } while (p != 1);
    sbox[0] = 0x63;
    for (int i = 0; i < 256; i++) {
        u8 s = sbox[i];
        te0[i] = (u32)xt(s) << 24 | (u32)s << 16 | (u32)s << 8 | (u32)(xt(s) ^ s);
        u32 c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        crctab[i] = c;
    }
}

static void expand_key(const u8 key[16], u32 rk[44])
{
    u8 rcon = 1;
    for (int i = 0; i < 4; i++) rk[i] = BE32(key + 4 * i);
    for (int i = 4; i < 44; i++) {
        u32 t = rk[i - 1];
        if (i % 4 == 0) {
            t = t << 8 | t >> 24;
            t = (u32)sbox[t >> 24] << 24 | (u32)sbox[t >> 16 & 255] << 16 | (u32)sbox[t >> 8 & 255] << 8 | sbox[t & 255];
            t ^= (u32)rcon << 24;
            rcon = xt(rcon);
        }
        rk[i] = rk[i - 4] ^ t;
    }
}

/* textbook byte oriented cipher */
static void aes_ref(const u32 rk[44], const u8 in[16], u8 out[16])
{
    u8 s[16], t[16];
    for (int i = 0; i < 16; i++) s[i] = in[i] ^ (u8)(rk[i / 4] >> (24 - 8 * (i % 4)));
    for (int r = 1; r <= 10; r++) {
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 4; i++) t[4 * c + i] = sbox[s[4 * ((c + i) % 4) + i]];
        for (int c = 0; c < 4; c++) {
            u8 *a = t + 4 * c, all = a[0] ^ a[1] ^ a[2] ^ a[3], a0 = a[0];
            if (r == 10) continue;
            for (int i = 0; i < 4; i++) a[i] ^= all ^ xt(a[i] ^ (i == 3 ? a0 : a[i + 1]));
        }
        for (int i = 0; i < 16; i++) s[i] = t[i] ^ (u8)(rk[4 * r + i / 4] >> (24 - 8 * (i % 4)));
    }
    memcpy(out, s, 16);
}

int main(void)
{
    static const u8 fips_ct[16] = { 0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a };
    const u32 nonce[3] = { 0xCAFEBABEu, 0xFACEDBADu, 0xDECAF888u };
    const int nbytes = RECORD * 2503, nblk = nbytes / 16, nrec = nbytes / RECORD, ntri = nbytes / 3;
    u8 key[16], pt[16], ct[16];
    u32 rk[44];
    int bad = 0;

    make_tables();
    for (int i = 0; i < 16; i++) { key[i] = (u8)i; pt[i] = (u8)(i * 0x11); }
    expand_key(key, rk);
    aes_ref(rk, pt, ct);
    if (memcmp(ct, fips_ct, 16)) { printf("reference cipher is broken\nFAIL\n"); return 1; }

    u8 *msg = (u8 *)malloc(nbytes), *ref = (u8 *)malloc(nbytes), *got = (u8 *)malloc(nbytes);
    u32 *crc = (u32 *)malloc(nrec * 4), hist[256], hr[256];
    char *b64 = (char *)malloc(ntri * 4);
    for (int i = 0; i < nbytes; i++) msg[i] = (u8)(i * 7 + (i >> 9) + (i % 11 == 0 ? i >> 3 : 0));
    for (int b = 0; b < nblk; b++) {
        u8 ctr[16], ks[16];
        for (int i = 0; i < 12; i++) ctr[i] = (u8)(nonce[i / 4] >> (24 - 8 * (i % 4)));
        for (int i = 0; i < 4; i++) ctr[12 + i] = (u8)((u32)b >> (24 - 8 * i));
        aes_ref(rk, ctr, ks);
        for (int i = 0; i < 16; i++) ref[16 * b + i] = msg[16 * b + i] ^ ks[i];
    }

    u8 *d_msg, *d_ct, *d_b64;
    u32 *d_te, *d_tab, *d_crc, *d_hist;
    CUDA(Malloc, (void **)&d_msg, nbytes);
    CUDA(Malloc, (void **)&d_ct, nbytes);
    CUDA(Malloc, (void **)&d_b64, ntri * 4);
    CUDA(Malloc, (void **)&d_te, sizeof te0);
    CUDA(Malloc, (void **)&d_tab, sizeof crctab);
    CUDA(Malloc, (void **)&d_crc, nrec * 4);
    CUDA(Malloc, (void **)&d_hist, sizeof hist);
    CUDA(Memcpy, d_msg, msg, nbytes, cudaMemcpyHostToDevice);
    CUDA(Memcpy, d_te, te0, sizeof te0, cudaMemcpyHostToDevice);
    CUDA(Memcpy, d_tab, crctab, sizeof crctab, cudaMemcpyHostToDevice);
    CUDA(MemcpyToSymbol, c_rk, rk, sizeof rk);
    CUDA(MemcpyToSymbol, c_sbox, sbox, sizeof sbox);
    CUDA(Memset, d_hist, 0, sizeof hist);

    for (int variant = 0; variant < 2; variant++) {
        CUDA(Memset, d_ct, 0, nbytes);
        if (variant == 0)
            aes_ctr_4tables<<<(nblk + 127) / 128, 128>>>((uint4 *)d_msg, (uint4 *)d_ct, d_te, nonce[0], nonce[1], nonce[2], nblk);
        else
            aes_ctr_replicated<<<40, 256, 256 * 32 * 4 + 256>>>((uint4 *)d_msg, (uint4 *)d_ct, d_te, nonce[0], nonce[1], nonce[2], nblk);
        LAUNCHED();
        CUDA(Memcpy, got, d_ct, nbytes, cudaMemcpyDeviceToHost);
        if (memcmp(got, ref, nbytes)) { printf("variant %d: ciphertext differs\n", variant); bad++; }
    }
    crc32_records<<<(nrec + 63) / 64, 64>>>(d_ct, d_tab, d_crc, nrec);
    LAUNCHED();
    base64_encode<<<(ntri + 191) / 192, 192>>>(d_ct, (uchar4 *)d_b64, ntri);
    LAUNCHED();
    byte_histogram<<<20, 256>>>((u32 *)d_ct, d_hist, nbytes / 4);
    LAUNCHED();
    CUDA(Memcpy, crc, d_crc, nrec * 4, cudaMemcpyDeviceToHost);
    CUDA(Memcpy, b64, d_b64, ntri * 4, cudaMemcpyDeviceToHost);
    CUDA(Memcpy, hist, d_hist, sizeof hist, cudaMemcpyDeviceToHost);

    for (int r = 0; r < nrec; r++) {
        u32 c = ~0u;
        for (int i = 0; i < RECORD; i++) {          /* bitwise on purpose */
            c ^= ref[r * RECORD + i];
            for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        }
        if (crc[r] != ~c) bad++;
    }
    static const char alpha[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < ntri; i++)
        for (int k = 0; k < 4; k++) {
            int six = 0;
            for (int bit = 0; bit < 6; bit++) {
                int at = 6 * k + bit;
                six = six << 1 | (ref[3 * i + at / 8] >> (7 - at % 8) & 1);
            }
            if (b64[4 * i + k] != alpha[six]) bad++;
        }
    memset(hr, 0, sizeof hr);
    for (int i = 0; i < nbytes; i++) hr[ref[i]]++;
    if (memcmp(hr, hist, sizeof hist)) { printf("histogram differs\n"); bad++; }
    printf("first record crc %08x, armour %.16s...\n", crc[0], b64);

    CUDA(Free, d_msg); CUDA(Free, d_ct); CUDA(Free, d_b64); CUDA(Free, d_te);
    CUDA(Free, d_tab); CUDA(Free, d_crc); CUDA(Free, d_hist);
    free(msg); free(ref); free(got); free(crc); free(b64);
    puts(bad ? "FAIL" : "PASS");
    return bad != 0;
}
