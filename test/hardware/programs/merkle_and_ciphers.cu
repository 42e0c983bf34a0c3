// Storage integrity toy: ChaCha20 and AES-128-CTR encryption of a volume,
// SHA-256 of fixed size chunks, Merkle root, Adler-style checksums.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef uint8_t  u8;
typedef uint32_t u32;
typedef uint64_t u64;

enum { VOLUME_BYTES = 4 << 20, CHUNK = 512, CHUNKS = VOLUME_BYTES / CHUNK };
enum { CHACHA_BLOCKS = VOLUME_BYTES / 64, AES_BLOCKS = VOLUME_BYTES / 16 };

#define TRY(e)                                                                    \
    do {                                                                          \
        cudaError_t r_ = (e);                                                     \
        if (r_ != cudaSuccess) {                                                  \
            fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(r_));        \
            exit(9);                                                              \
        }                                                                         \
    } while (0)

#define ROTL(x, n) (((x) << (n)) | ((x) >> (32 - (n))))
#define ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

static const u32 kSha[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__constant__ u32 c_sha[64];
__constant__ u32 c_roundKeys[44];
__constant__ u32 c_chachaKey[8];

__host__ __device__ inline u32 bswap(u32 v)
{
    return (v >> 24) | ((v >> 8) & 0xff00u) | ((v << 8) & 0xff0000u) | (v << 24);
}

__host__ __device__ inline void shaInit(u32 h[8])
{
    h[0] = 0x6a09e667; h[1] = 0xbb67ae85; h[2] = 0x3c6ef372; h[3] = 0xa54ff53a;
    h[4] = 0x510e527f; h[5] = 0x9b05688c; h[6] = 0x1f83d9ab; h[7] = 0x5be0cd19;
}

__host__ __device__ inline void shaBlock(u32 h[8], u32 w[16], const u32* K)
{
    u32 a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], hh = h[7];
#pragma unroll
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            u32 x = w[(i + 1) & 15];
            u32 y = w[(i + 14) & 15];
            u32 s0 = ROTR(x, 7) ^ ROTR(x, 18) ^ (x >> 3);
            u32 s1 = ROTR(y, 17) ^ ROTR(y, 19) ^ (y >> 10);
            w[i & 15] += s0 + w[(i + 9) & 15] + s1;
        }
        u32 t1 = hh + (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i & 15];
        u32 t2 = (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        hh = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    h[0] += a; h[1] += b; h[2] += c; h[3] += d;
    h[4] += e; h[5] += f; h[6] += g; h[7] += hh;
}

__host__ __device__ inline void shaPair(const u32* left, const u32* right, u32* out, const u32* K)
{
    u32 h[8], w[16];
    shaInit(h);
    for (int i = 0; i < 8; i++) {
        w[i] = left[i];
        w[i + 8] = right[i];
    }
    shaBlock(h, w, K);
    for (int i = 0; i < 16; i++)
        w[i] = 0;
    w[0] = 0x80000000u;
    w[15] = 512;
    shaBlock(h, w, K);
    for (int i = 0; i < 8; i++)
        out[i] = h[i];
}

__host__ __device__ inline void chachaBlock(const u32 in[16], u32 x[16])
{
    for (int i = 0; i < 16; i++)
        x[i] = in[i];
#define QR(a, b, c, d)                                  \
    x[a] += x[b]; x[d] ^= x[a]; x[d] = ROTL(x[d], 16);  \
    x[c] += x[d]; x[b] ^= x[c]; x[b] = ROTL(x[b], 12);  \
    x[a] += x[b]; x[d] ^= x[a]; x[d] = ROTL(x[d], 8);   \
    x[c] += x[d]; x[b] ^= x[c]; x[b] = ROTL(x[b], 7);
    for (int r = 0; r < 10; r++) {
        QR(0, 4, 8, 12)
        QR(1, 5, 9, 13)
        QR(2, 6, 10, 14)
        QR(3, 7, 11, 15)
        QR(0, 5, 10, 15)
        QR(1, 6, 11, 12)
        QR(2, 7, 8, 13)
        QR(3, 4, 9, 14)
    }
    for (int i = 0; i < 16; i++)
        x[i] += in[i];
}

// every thread makes one 64 byte keystream block
__global__ void chacha20Xor(const uint4* __restrict__ in, uint4* __restrict__ out, u32 nonce, int blocks)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks)
        return;
    u32 st[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 8; i++)
        st[4 + i] = c_chachaKey[i];
    st[12] = b;
    st[13] = nonce;
    u32 ks[16];
    chachaBlock(st, ks);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint4 v = in[b * 4 + i];
        v.x ^= ks[4 * i];
        v.y ^= ks[4 * i + 1];
        v.z ^= ks[4 * i + 2];
        v.w ^= ks[4 * i + 3];
        out[b * 4 + i] = v;
    }
}

// AES with one 1 KiB T table (the other three are rotations) and the S-box,
// both in shared memory
__global__ void aesCtr(const uint4* __restrict__ in, uint4* __restrict__ out, const u32* __restrict__ te,
                       const u8* __restrict__ sbox, u32 nonce, int blocks)
{
    __shared__ u32 T[256];
    __shared__ u8 S[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        T[i] = te[i];
        S[i] = sbox[i];
    }
    __syncthreads();
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < blocks; b += gridDim.x * blockDim.x) {
        u32 s0 = nonce ^ c_roundKeys[0];
        u32 s1 = 0x01234567u ^ c_roundKeys[1];
        u32 s2 = c_roundKeys[2];
        u32 s3 = (u32)b ^ c_roundKeys[3];
        for (int r = 1; r < 10; r++) {
            u32 t0 = T[s0 >> 24] ^ ROTR(T[(s1 >> 16) & 255], 8) ^ ROTR(T[(s2 >> 8) & 255], 16) ^ ROTR(T[s3 & 255], 24);
            u32 t1 = T[s1 >> 24] ^ ROTR(T[(s2 >> 16) & 255], 8) ^ ROTR(T[(s3 >> 8) & 255], 16) ^ ROTR(T[s0 & 255], 24);
            u32 t2 = T[s2 >> 24] ^ ROTR(T[(s3 >> 16) & 255], 8) ^ ROTR(T[(s0 >> 8) & 255], 16) ^ ROTR(T[s1 & 255], 24);
            u32 t3 = T[s3 >> 24] ^ ROTR(T[(s0 >> 16) & 255], 8) ^ ROTR(T[(s1 >> 8) & 255], 16) ^ ROTR(T[s2 & 255], 24);
            s0 = t0 ^ c_roundKeys[4 * r];
            s1 = t1 ^ c_roundKeys[4 * r + 1];
            s2 = t2 ^ c_roundKeys[4 * r + 2];
            s3 = t3 ^ c_roundKeys[4 * r + 3];
        }
        u32 k0 = ((u32)S[s0 >> 24] << 24) | ((u32)S[(s1 >> 16) & 255] << 16) | ((u32)S[(s2 >> 8) & 255] << 8) | S[s3 & 255];
        u32 k1 = ((u32)S[s1 >> 24] << 24) | ((u32)S[(s2 >> 16) & 255] << 16) | ((u32)S[(s3 >> 8) & 255] << 8) | S[s0 & 255];
        u32 k2 = ((u32)S[s2 >> 24] << 24) | ((u32)S[(s3 >> 16) & 255] << 16) | ((u32)S[(s0 >> 8) & 255] << 8) | S[s1 & 255];
        u32 k3 = ((u32)S[s3 >> 24] << 24) | ((u32)S[(s0 >> 16) & 255] << 16) | ((u32)S[(s1 >> 8) & 255] << 8) | S[s2 & 255];
        uint4 v = in[b];
        v.x ^= bswap(k0 ^ c_roundKeys[40]);
        v.y ^= bswap(k1 ^ c_roundKeys[41]);
        v.z ^= bswap(k2 ^ c_roundKeys[42]);
        v.w ^= bswap(k3 ^ c_roundKeys[43]);
        out[b] = v;
    }
}

// thread per chunk, walks through its own 512 bytes
__global__ void hashChunks(const u32* __restrict__ data, u32* __restrict__ digest)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= CHUNKS)
        return;
    u32 h[8], w[16];
    shaInit(h);
    for (int blk = 0; blk < CHUNK / 64; blk++) {
        for (int i = 0; i < 16; i++)
            w[i] = bswap(data[c * (CHUNK / 4) + blk * 16 + i]);
        shaBlock(h, w, c_sha);
    }
    for (int i = 0; i < 16; i++)
        w[i] = 0;
    w[0] = 0x80000000u;
    w[15] = CHUNK * 8;
    shaBlock(h, w, c_sha);
    for (int i = 0; i < 8; i++)
        digest[c * 8 + i] = h[i];
}

__global__ void merkleLevel(const u32* __restrict__ child, u32* __restrict__ parent, int parents)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < parents)
        shaPair(child + 16 * p, child + 16 * p + 8, parent + 8 * p, c_sha);
}

// last 128 nodes down to the root inside one block
__global__ void merkleTop(const u32* __restrict__ nodes, u32* root)
{
    __shared__ u32 s[128][8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) {
        s[2 * t][i] = nodes[16 * t + i];
        s[2 * t + 1][i] = nodes[16 * t + 8 + i];
    }
    __syncthreads();
    for (int n = 64; n >= 1; n /= 2) {
        u32 d[8];
        if (t < n)
            shaPair(s[2 * t], s[2 * t + 1], d, c_sha);
        __syncthreads();
        if (t < n) {
            for (int i = 0; i < 8; i++)
                s[t][i] = d[i];
        }
        __syncthreads();
    }
    if (t < 8)
        root[t] = s[0][t];
}

// two running sums over the bytes of each chunk, warp per chunk
__global__ void chunkChecksum(const uchar4* __restrict__ data, u32* __restrict__ sums)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    u32 a = 0, b = 0;
    for (int k = lane; k < CHUNK / 4; k += 32) {
        uchar4 v = data[warp * (CHUNK / 4) + k];
        u32 part = v.x + v.y + v.z + v.w;
        a += part;
        b += (CHUNK - 4 * k) * part - (v.y + 2 * v.z + 3 * v.w);
    }
    a = __reduce_add_sync(0xffffffffu, a);
    b = __reduce_add_sync(0xffffffffu, b);
    if (lane == 0)
        sums[warp] = ((b % 65521u) << 16) | (a % 65521u);
}

static u8 gmul(u8 a, u8 b)
{
    u8 r = 0;
    while (b) {
        if (b & 1)
            r ^= a;
        a = (u8)((a << 1) ^ (a & 0x80 ? 0x1b : 0));
        b >>= 1;
    }
    return r;
}

static void aesEncryptHost(const u32* rk, const u8* sbox, const u8 in[16], u8 out[16])
{
    u8 s[16], t[16];
    for (int i = 0; i < 16; i++)
        s[i] = in[i] ^ (u8)(rk[i / 4] >> (24 - 8 * (i % 4)));
    for (int r = 1; r <= 10; r++) {
        for (int c = 0; c < 4; c++)
            for (int q = 0; q < 4; q++)
                t[4 * c + q] = sbox[s[4 * ((c + q) % 4) + q]];
        for (int c = 0; c < 4; c++) {
            u8* x = t + 4 * c;
            u8 y[4] = {x[0], x[1], x[2], x[3]};
            for (int q = 0; q < 4 && r < 10; q++)
                x[q] = gmul(y[q], 2) ^ gmul(y[(q + 1) % 4], 3) ^ y[(q + 2) % 4] ^ y[(q + 3) % 4];
        }
        for (int i = 0; i < 16; i++)
            s[i] = t[i] ^ (u8)(rk[4 * r + i / 4] >> (24 - 8 * (i % 4)));
    }
    memcpy(out, s, 16);
}

int main()
{
    std::vector<u8> vol(VOLUME_BYTES);
    u64 z = 88172645463325252ull;
    for (auto& b : vol) {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        b = (u8)(z >> 40);
    }
    u8 sbox[256];
    u32 te[256], rk[44], ck[8];
    for (int i = 0; i < 256; i++) {
        u8 inv = 0;
        for (int j = 1; j < 256 && i; j++) {
            if (gmul((u8)i, (u8)j) == 1)
                inv = (u8)j;
        }
        u8 r = inv;
        for (int k = 1; k < 5; k++)
            r ^= (u8)((inv << k) | (inv >> (8 - k)));
        sbox[i] = r ^ 0x63;
        te[i] = ((u32)gmul(sbox[i], 2) << 24) | ((u32)sbox[i] << 16) | ((u32)sbox[i] << 8) | gmul(sbox[i], 3);
    }
    const u32 key[4] = {0x2b7e1516, 0x28aed2a6, 0xabf71588, 0x09cf4f3c};
    u32 rcon = 1;
    for (int i = 0; i < 44; i++) {
        if (i < 4) {
            rk[i] = key[i];
            continue;
        }
        u32 t = rk[i - 1];
        if (i % 4 == 0) {
            t = ROTL(t, 8);
            t = ((u32)sbox[t >> 24] << 24) | ((u32)sbox[(t >> 16) & 255] << 16) | ((u32)sbox[(t >> 8) & 255] << 8) | sbox[t & 255];
            t ^= rcon << 24;
            rcon = gmul((u8)rcon, 2);
        }
        rk[i] = rk[i - 4] ^ t;
    }
    for (int i = 0; i < 8; i++)
        ck[i] = 0x03020100u + 0x04040404u * i;

    TRY(cudaMemcpyToSymbol(c_sha, kSha, sizeof(kSha)));
    TRY(cudaMemcpyToSymbol(c_roundKeys, rk, sizeof(rk)));
    TRY(cudaMemcpyToSymbol(c_chachaKey, ck, sizeof(ck)));
    u8 *dVol, *dCha, *dAes, *dSbox;
    u32 *dTe, *dA, *dB, *dRoot, *dSums;
    TRY(cudaMalloc(&dVol, VOLUME_BYTES));
    TRY(cudaMalloc(&dCha, VOLUME_BYTES));
    TRY(cudaMalloc(&dAes, VOLUME_BYTES));
    TRY(cudaMalloc(&dSbox, 256));
    TRY(cudaMalloc(&dTe, sizeof(te)));
    TRY(cudaMalloc(&dA, CHUNKS * 32));
    TRY(cudaMalloc(&dB, CHUNKS * 16));
    TRY(cudaMalloc(&dRoot, 32));
    TRY(cudaMalloc(&dSums, CHUNKS * 4));
    TRY(cudaMemcpy(dVol, vol.data(), VOLUME_BYTES, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dSbox, sbox, 256, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dTe, te, sizeof(te), cudaMemcpyHostToDevice));

    const u32 nonce = 0xdeadbeefu;
    chacha20Xor<<<CHACHA_BLOCKS / 128, 128>>>((const uint4*)dVol, (uint4*)dCha, nonce, CHACHA_BLOCKS);
    aesCtr<<<264, 256>>>((const uint4*)dVol, (uint4*)dAes, dTe, dSbox, nonce, AES_BLOCKS);
    chunkChecksum<<<CHUNKS / 8, 256>>>((const uchar4*)dCha, dSums);
    hashChunks<<<(CHUNKS + 63) / 64, 64>>>((const u32*)dCha, dA);
    u32 *src = dA, *dst = dB;
    for (int n = CHUNKS / 2; n >= 128; n /= 2) {
        merkleLevel<<<(n + 127) / 128, 128>>>(src, dst, n);
        u32* t = src;
        src = dst;
        dst = t;
    }
    merkleTop<<<1, 64>>>(src, dRoot);
    TRY(cudaGetLastError());
    TRY(cudaDeviceSynchronize());

    std::vector<u8> cha(VOLUME_BYTES), aes(VOLUME_BYTES);
    std::vector<u32> sums(CHUNKS);
    u32 root[8];
    TRY(cudaMemcpy(cha.data(), dCha, VOLUME_BYTES, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(aes.data(), dAes, VOLUME_BYTES, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(sums.data(), dSums, CHUNKS * 4, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(root, dRoot, 32, cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int b = 0; b < CHACHA_BLOCKS; b++) {
        u32 st[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, ks[16];
        memcpy(st + 4, ck, 32);
        st[12] = b;
        st[13] = nonce;
        chachaBlock(st, ks);
        const u8* kb = (const u8*)ks;
        for (int i = 0; i < 64; i++)
            bad += cha[b * 64 + i] != (u8)(vol[b * 64 + i] ^ kb[i]);
    }
    for (int b = 0; b < AES_BLOCKS; b += 7) {
        u32 ctr[4] = {nonce, 0x01234567u, 0u, (u32)b};
        u8 in[16], ks[16];
        for (int i = 0; i < 16; i++)
            in[i] = (u8)(ctr[i / 4] >> (24 - 8 * (i % 4)));
        aesEncryptHost(rk, sbox, in, ks);
        for (int i = 0; i < 16; i++)
            bad += aes[b * 16 + i] != (u8)(vol[b * 16 + i] ^ ks[i]);
    }
    std::vector<u32> level(CHUNKS * 8);
    for (int c = 0; c < CHUNKS; c++) {
        u32* h = &level[c * 8];
        shaInit(h);
        u32 w[16];
        for (int blk = 0; blk < CHUNK / 64; blk++) {
            memcpy(w, &cha[c * CHUNK + blk * 64], 64);
            for (int i = 0; i < 16; i++)
                w[i] = bswap(w[i]);
            shaBlock(h, w, kSha);
        }
        memset(w, 0, sizeof(w));
        w[0] = 0x80000000u;
        w[15] = CHUNK * 8;
        shaBlock(h, w, kSha);
        u32 a = 0, s = 0;
        for (int i = 0; i < CHUNK; i++) {
            a += cha[c * CHUNK + i];
            s += a;
        }
        bad += sums[c] != (((s % 65521u) << 16) | (a % 65521u));
    }
    for (int n = CHUNKS / 2; n >= 1; n /= 2) {
        for (int p = 0; p < n; p++) {
            u32 o[8];
            shaPair(&level[16 * p], &level[16 * p + 8], o, kSha);
            memcpy(&level[8 * p], o, 32);
        }
    }
    bad += memcmp(level.data(), root, 32) != 0;
    printf("root %08x%08x..., mismatches %d\n%s\n", root[0], root[1], bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
