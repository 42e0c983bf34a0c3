/* Storage backend: Reed-Solomon (k data + m parity shards) over GF(2^8),
 * CRC32C scrubbing and XOR parity.  Shards are SHARD bytes each. */
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <vector>

#define K 10
#define M 4
#define SHARD (1 << 20)
#define CRC_BLOCK 512
#define NBLK (SHARD / CRC_BLOCK)
#define GF_POLY 0x11d

#define OK(call)                                                        \
    do {                                                                \
        cudaError_t e = call;                                           \
        if (e != cudaSuccess) {                                         \
            fprintf(stderr, "%s at %d\n", cudaGetErrorString(e), __LINE__); \
            return 1;                                                   \
        }                                                               \
    } while (0)

static uint8_t h_exp[512], h_log[256];

__constant__ uint8_t d_exp_c[512];
__constant__ uint8_t d_log_c[256];
__constant__ uint8_t d_coef[K * K];

typedef struct {
    const uint8_t *data[K];
    uint8_t *parity[M];
} shard_set;

static uint8_t gf_mul(uint8_t a, uint8_t b)
{
    if (!a || !b)
        return 0;
    return h_exp[h_log[a] + h_log[b]];
}

static uint8_t gf_inv(uint8_t a)
{
    return h_exp[255 - h_log[a]];
}

/* (1) byte per thread, log/exp tables straight out of constant memory */
__global__ void encode_bytes_const(shard_set s, int rows, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    for (int r = 0; r < rows; r++) {
        uint8_t acc = 0;
        for (int c = 0; c < K; c++) {
            uint8_t d = s.data[c][i];
            uint8_t g = d_coef[r * K + c];
            if (d && g)
                acc ^= d_exp_c[d_log_c[d] + d_log_c[g]];
        }
        s.parity[r][i] = acc;
    }
}

/* (2) full product table of each coefficient staged in shared memory */
__global__ void encode_table_shared(shard_set s, int row, int n, const uint8_t *__restrict__ mul_table)
{
    __shared__ uint8_t tab[K][256];
    for (int i = threadIdx.x; i < K * 256; i += blockDim.x)
        tab[i >> 8][i & 255] = mul_table[(size_t)d_coef[row * K + (i >> 8)] * 256 + (i & 255)];
    __syncthreads();
    for (int w = blockIdx.x * blockDim.x + threadIdx.x; w < n / 4; w += gridDim.x * blockDim.x) {
        uint32_t acc = 0;
#pragma unroll
        for (int c = 0; c < K; c++) {
            uint32_t v = ((const uint32_t *)s.data[c])[w];
            uint32_t p = tab[c][v & 255];
            p |= (uint32_t)tab[c][(v >> 8) & 255] << 8;
            p |= (uint32_t)tab[c][(v >> 16) & 255] << 16;
            p |= (uint32_t)tab[c][v >> 24] << 24;
            acc ^= p;
        }
        ((uint32_t *)s.parity[row])[w] = acc;
    }
}

/* multiply four packed field elements by x */
__device__ __forceinline__ uint32_t xtime4(uint32_t v)
{
    uint32_t hi = v & 0x80808080u;
    uint32_t carry = (hi >> 7) * (GF_POLY & 0xff);
    return ((v ^ hi) << 1) ^ carry;
}

__device__ __forceinline__ void mad4(uint4 &acc, uint4 v, uint32_t g)
{
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
        uint32_t on = 0u - ((g >> bit) & 1u);
        acc.x ^= v.x & on;
        acc.y ^= v.y & on;
        acc.z ^= v.z & on;
        acc.w ^= v.w & on;
        v.x = xtime4(v.x);
        v.y = xtime4(v.y);
        v.z = xtime4(v.z);
        v.w = xtime4(v.w);
    }
}

/* (3) bit-sliced arithmetic, 16 bytes per thread, no table at all */
__global__ void __launch_bounds__(128) encode_swar(shard_set s, int rows, int nvec)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= nvec)
        return;
    uint4 acc[M];
#pragma unroll
    for (int r = 0; r < M; r++)
        acc[r] = make_uint4(0, 0, 0, 0);
    for (int c = 0; c < K; c++) {
        uint4 v = __ldg((const uint4 *)s.data[c] + i);
#pragma unroll
        for (int r = 0; r < M; r++)
            mad4(acc[r], v, d_coef[r * K + c]);
    }
#pragma unroll
    for (int r = 0; r < M; r++)
        if (r < rows)
            ((uint4 *)s.parity[r])[i] = acc[r];
}

/* data comes from clients as stripes: byte j of stripe b goes to shard j % K */
__global__ void destripe(const uint8_t *__restrict__ object, uint8_t *__restrict__ shards, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int c = 0; c < K; c++)
            shards[(size_t)c * SHARD + i] = object[(size_t)i * K + c];
    }
}

/* (4) CRC32C of every block: one thread per block, table in shared */
__global__ void crc_thread_per_block(const uint8_t *__restrict__ buf, uint32_t *crc, int nblk, const uint32_t *table)
{
    __shared__ uint32_t t[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        t[i] = table[i];
    __syncthreads();
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= nblk)
        return;
    const uint32_t *p = (const uint32_t *)(buf + (size_t)b * CRC_BLOCK);
    uint32_t c = ~0u;
    for (int w = 0; w < CRC_BLOCK / 4; w++) {
        c ^= p[w];
        c = (c >> 8) ^ t[c & 255];
        c = (c >> 8) ^ t[c & 255];
        c = (c >> 8) ^ t[c & 255];
        c = (c >> 8) ^ t[c & 255];
    }
    crc[b] = ~c;
}

/* (5) the same with the data transposed through shared, a warp's 32 blocks at
 * a time, so that the global reads are along the block */
#define CW 32
__global__ void crc_staged(const uint32_t *__restrict__ buf, uint32_t *crc, int nblk, const uint32_t *__restrict__ table)
{
    __shared__ uint32_t t[256];
    __shared__ uint32_t stage[32][CW + 1];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32)
        t[i] = __ldg(&table[i]);
    int first = blockIdx.x * 32;
    uint32_t c = ~0u;
    for (int w0 = 0; w0 < CRC_BLOCK / 4; w0 += CW) {
        __syncwarp();
        for (int r = 0; r < 32; r++)
            if (first + r < nblk)
                stage[r][lane] = buf[(size_t)(first + r) * (CRC_BLOCK / 4) + w0 + lane];
        __syncwarp();
        for (int w = 0; w < CW; w++) {
            c ^= stage[lane][w];
            for (int q = 0; q < 4; q++)
                c = (c >> 8) ^ t[c & 255];
        }
    }
    if (first + lane < nblk)
        crc[first + lane] = ~c;
}

/* (6) compare two sets of checksums, collect the bad block numbers */
__global__ void collect_bad(const uint32_t *a, const uint32_t *b, int n, int *bad, int *nbad)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i] != b[i]) {
        int slot = atomicAdd(nbad, 1);
        bad[slot] = i;
    }
}

static int invert(uint8_t *a, uint8_t *inv, int n)
{
    for (int i = 0; i < n * n; i++)
        inv[i] = (i / n == i % n);
    for (int c = 0; c < n; c++) {
        int p = c;
        while (p < n && !a[p * n + c])
            p++;
        if (p == n)
            return -1;
        for (int j = 0; j < n && p != c; j++) {
            uint8_t t = a[c * n + j]; a[c * n + j] = a[p * n + j]; a[p * n + j] = t;
            t = inv[c * n + j]; inv[c * n + j] = inv[p * n + j]; inv[p * n + j] = t;
        }
        uint8_t f = gf_inv(a[c * n + c]);
        for (int j = 0; j < n; j++) {
            a[c * n + j] = gf_mul(a[c * n + j], f);
            inv[c * n + j] = gf_mul(inv[c * n + j], f);
        }
        for (int r = 0; r < n; r++) {
            uint8_t g = a[r * n + c];
            if (r == c || !g)
                continue;
            for (int j = 0; j < n; j++) {
                a[r * n + j] ^= gf_mul(g, a[c * n + j]);
                inv[r * n + j] ^= gf_mul(g, inv[c * n + j]);
            }
        }
    }
    return 0;
}

int main(void)
{
    int x = 1;
    for (int i = 0; i < 255; i++) {
        h_exp[i] = h_exp[i + 255] = (uint8_t)x;
        h_log[x] = (uint8_t)i;
        x <<= 1;
        if (x & 0x100)
            x ^= GF_POLY;
    }
    std::vector<uint8_t> mul(65536);
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++)
            mul[a * 256 + b] = gf_mul(a, b);
    uint32_t crc_tab[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int j = 0; j < 8; j++)
            c = (c & 1) ? (c >> 1) ^ 0x82f63b78u : c >> 1;
        crc_tab[i] = c;
    }
    /* Cauchy coding matrix */
    uint8_t coef[K * K];
    memset(coef, 0, sizeof coef);
    for (int r = 0; r < M; r++)
        for (int c = 0; c < K; c++)
            coef[r * K + c] = gf_inv((uint8_t)((K + r) ^ c));

    std::vector<uint8_t> object((size_t)K * SHARD), shards((size_t)K * SHARD), parity((size_t)M * SHARD, 0);
    uint32_t seed = 17;
    for (size_t i = 0; i < object.size(); i++) {
        seed = seed * 1103515245u + 12345u;
        object[i] = (uint8_t)(seed >> 16);
    }
    for (size_t i = 0; i < object.size(); i++)
        shards[(i % K) * SHARD + i / K] = object[i];
    for (int r = 0; r < M; r++)
        for (int c = 0; c < K; c++) {
            const uint8_t *row = &mul[(size_t)coef[r * K + c] * 256];
            for (int i = 0; i < SHARD; i++)
                parity[(size_t)r * SHARD + i] ^= row[shards[(size_t)c * SHARD + i]];
        }

    uint8_t *d_obj, *d_shards, *d_par, *d_mul, *d_rec;
    uint32_t *d_tab, *d_crc1, *d_crc2;
    int *d_bad, *d_nbad;
    OK(cudaMalloc((void **)&d_obj, object.size()));
    OK(cudaMalloc((void **)&d_shards, shards.size()));
    OK(cudaMalloc((void **)&d_par, parity.size()));
    OK(cudaMalloc((void **)&d_rec, (size_t)M * SHARD));
    OK(cudaMalloc((void **)&d_mul, mul.size()));
    OK(cudaMalloc((void **)&d_tab, sizeof crc_tab));
    OK(cudaMalloc((void **)&d_crc1, K * NBLK * 4));
    OK(cudaMalloc((void **)&d_crc2, K * NBLK * 4));
    OK(cudaMalloc((void **)&d_bad, K * NBLK * 4));
    OK(cudaMalloc((void **)&d_nbad, 4));
    OK(cudaMemcpy(d_obj, object.data(), object.size(), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_mul, mul.data(), mul.size(), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_tab, crc_tab, sizeof crc_tab, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToSymbol(d_exp_c, h_exp, sizeof h_exp));
    OK(cudaMemcpyToSymbol(d_log_c, h_log, sizeof h_log));
    OK(cudaMemcpyToSymbol(d_coef, coef, sizeof coef));
    OK(cudaMemset(d_nbad, 0, 4));

    shard_set s;
    for (int c = 0; c < K; c++)
        s.data[c] = d_shards + (size_t)c * SHARD;
    for (int r = 0; r < M; r++)
        s.parity[r] = d_par + (size_t)r * SHARD;

    int fails = 0;
    std::vector<uint8_t> back(shards.size());
    destripe<<<SHARD / 256, 256>>>(d_obj, d_shards, SHARD);
    OK(cudaMemcpy(back.data(), d_shards, shards.size(), cudaMemcpyDeviceToHost));
    fails += back != shards;
    printf("destripe   %s\n", fails ? "bad" : "ok");

    std::vector<uint8_t> pb(parity.size());
    for (int method = 0; method < 3; method++) {
        OK(cudaMemset(d_par, 0xee, parity.size()));
        if (method == 0)
            encode_bytes_const<<<SHARD / 256, 256>>>(s, M, SHARD);
        else if (method == 1)
            for (int r = 0; r < M; r++)
                encode_table_shared<<<264, 256>>>(s, r, SHARD, d_mul);
        else
            encode_swar<<<SHARD / 16 / 128, 128>>>(s, M, SHARD / 16);
        OK(cudaGetLastError());
        OK(cudaMemcpy(pb.data(), d_par, parity.size(), cudaMemcpyDeviceToHost));
        int bad = pb != parity;
        printf("encode %d   %s\n", method, bad ? "bad" : "ok");
        fails += bad;
    }

    /* checksums, then damage three blocks and find them again */
    crc_thread_per_block<<<(K * NBLK + 127) / 128, 128>>>(d_shards, d_crc1, K * NBLK, d_tab);
    std::vector<uint32_t> crc(K * NBLK);
    OK(cudaMemcpy(crc.data(), d_crc1, crc.size() * 4, cudaMemcpyDeviceToHost));
    int crc_bad = 0;
    for (int b = 0; b < K * NBLK; b += 7) {
        uint32_t c = ~0u;
        for (int i = 0; i < CRC_BLOCK; i++)
            c = (c >> 8) ^ crc_tab[(c ^ shards[(size_t)b * CRC_BLOCK + i]) & 255];
        crc_bad += crc[b] != ~c;
    }
    printf("crc        %s\n", crc_bad ? "bad" : "ok");
    fails += crc_bad;
    const int hurt[3] = {41, 2 * NBLK + 3, 7 * NBLK + 1000};
    for (int i = 0; i < 3; i++)
        OK(cudaMemset(d_shards + (size_t)hurt[i] * CRC_BLOCK + 100, 0x5a, 64));
    crc_staged<<<(K * NBLK + 31) / 32, 32>>>((const uint32_t *)d_shards, d_crc2, K * NBLK, d_tab);
    collect_bad<<<(K * NBLK + 255) / 256, 256>>>(d_crc1, d_crc2, K * NBLK, d_bad, d_nbad);
    int nbad = 0, list[3] = {-1, -1, -1};
    OK(cudaMemcpy(&nbad, d_nbad, 4, cudaMemcpyDeviceToHost));
    if (nbad == 3)
        OK(cudaMemcpy(list, d_bad, 12, cudaMemcpyDeviceToHost));
    int sum = 0, want = 0;
    for (int i = 0; i < 3; i++) {
        sum += list[i];
        want += hurt[i];
    }
    printf("scrub      %s (%d bad blocks)\n", nbad == 3 && sum == want ? "ok" : "bad", nbad);
    fails += !(nbad == 3 && sum == want);

    /* shards 0, 2 and 7 are lost: survivors are 7 data + parities 0..2 */
    const int lost[3] = {0, 2, 7};
    int surv[K], ns = 0;
    for (int c = 0; c < K; c++)
        if (c != 0 && c != 2 && c != 7)
            surv[ns++] = c;
    for (int r = 0; r < 3; r++)
        surv[ns++] = K + r;
    uint8_t mat[K * K], inv[K * K], dec[K * K];
    for (int i = 0; i < K; i++)
        for (int c = 0; c < K; c++)
            mat[i * K + c] = surv[i] < K ? (surv[i] == c) : coef[(surv[i] - K) * K + c];
    if (invert(mat, inv, K)) {
        puts("singular\nFAIL");
        return 1;
    }
    memset(dec, 0, sizeof dec);
    for (int i = 0; i < 3; i++)
        memcpy(dec + i * K, inv + lost[i] * K, K);
    OK(cudaMemcpyToSymbol(d_coef, dec, sizeof dec));
    shard_set rec;
    for (int i = 0; i < K; i++)
        rec.data[i] = surv[i] < K ? s.data[surv[i]] : s.parity[surv[i] - K];
    for (int r = 0; r < M; r++)
        rec.parity[r] = d_rec + (size_t)r * SHARD;
    encode_swar<<<SHARD / 16 / 128, 128>>>(rec, 3, SHARD / 16);
    std::vector<uint8_t> rb((size_t)3 * SHARD);
    OK(cudaMemcpy(rb.data(), d_rec, rb.size(), cudaMemcpyDeviceToHost));
    int rec_bad = 0;
    for (int i = 0; i < 3; i++)
        rec_bad += memcmp(&rb[(size_t)i * SHARD], &shards[(size_t)lost[i] * SHARD], SHARD) != 0;
    printf("rebuild    %s\n", rec_bad ? "bad" : "ok");
    fails += rec_bad;
    puts(fails ? "FAIL" : "PASS");
    return fails ? 1 : 0;
}
