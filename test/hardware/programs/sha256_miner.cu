// Brute-force SHA-256d "miner" plus batch hashing of fixed-size records
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#define ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
#define CH(x, y, z) (((x) & (y)) ^ (~(x) & (z)))
#define MAJ(x, y, z) (((x) & (y)) ^ ((x) & (z)) ^ ((y) & (z)))
#define EP0(x) (ROTR(x, 2) ^ ROTR(x, 13) ^ ROTR(x, 22))
#define EP1(x) (ROTR(x, 6) ^ ROTR(x, 11) ^ ROTR(x, 25))
#define SIG0(x) (ROTR(x, 7) ^ ROTR(x, 18) ^ ((x) >> 3))
#define SIG1(x) (ROTR(x, 17) ^ ROTR(x, 19) ^ ((x) >> 10))

static const uint32_t hk[64] = {
    0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,
    0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,
    0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,
    0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,
    0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,
    0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,
    0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,
    0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2};
__constant__ uint32_t dk[64];

__host__ __device__ void sha_init(uint32_t *s)
{
    s[0]=0x6a09e667; s[1]=0xbb67ae85; s[2]=0x3c6ef372; s[3]=0xa54ff53a;
    s[4]=0x510e527f; s[5]=0x9b05688c; s[6]=0x1f83d9ab; s[7]=0x5be0cd19;
}

__host__ __device__ void sha_block(uint32_t *st, uint32_t *w)
{
    uint32_t a=st[0],b=st[1],c=st[2],d=st[3],e=st[4],f=st[5],g=st[6],h=st[7];
#pragma unroll 16
    for (int i = 0; i < 64; i++) {
        if (i >= 16) w[i & 15] += SIG1(w[(i - 2) & 15]) + w[(i - 7) & 15] + SIG0(w[(i - 15) & 15]);
#ifdef __CUDA_ARCH__
        uint32_t k = dk[i];
#else
        uint32_t k = hk[i];
#endif
        uint32_t t1 = h + EP1(e) + CH(e, f, g) + k + w[i & 15];
        uint32_t t2 = EP0(a) + MAJ(a, b, c);
        h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    st[0]+=a; st[1]+=b; st[2]+=c; st[3]+=d; st[4]+=e; st[5]+=f; st[6]+=g; st[7]+=h;
}

struct Header { uint32_t midstate[8]; uint32_t tail[3]; uint32_t target; };

__host__ __device__ uint32_t double_hash(const Header &hd, uint32_t nonce)
{
    uint32_t w[16], s[8], t[8];
    for (int i = 0; i < 8; i++) s[i] = hd.midstate[i];
    for (int i = 0; i < 16; i++) w[i] = 0;
    w[0]=hd.tail[0]; w[1]=hd.tail[1]; w[2]=hd.tail[2]; w[3]=nonce; w[4]=0x80000000; w[15]=640;
    sha_block(s, w);
    for (int i = 0; i < 8; i++) w[i] = s[i];
    w[8] = 0x80000000;
    for (int i = 9; i < 15; i++) w[i] = 0;
    w[15] = 256;
    sha_init(t);
    sha_block(t, w);
    return t[0];
}

__global__ void mine(Header hd, uint32_t base, uint32_t *found, unsigned *nfound, unsigned cap)
{
    uint32_t nonce = base + blockIdx.x * blockDim.x + threadIdx.x;
    if (double_hash(hd, nonce) < hd.target) {
        unsigned p = atomicAdd(nfound, 1u);
        if (p < cap) found[p] = nonce;
    }
}

// records of 48 bytes each, byte loads
__global__ void hash_records(const uint8_t *rec, uint32_t *digest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t w[16], s[8];
    const uint8_t *p = rec + i * 48;
    for (int k = 0; k < 12; k++)
        w[k] = (p[4 * k] << 24) | (p[4 * k + 1] << 16) | (p[4 * k + 2] << 8) | p[4 * k + 3];
    w[12] = 0x80000000; w[13] = w[14] = 0; w[15] = 48 * 8;
    sha_init(s);
    sha_block(s, w);
    for (int k = 0; k < 8; k++) digest[i * 8 + k] = s[k];
}

// the same with word loads, __byte_perm and column-major digests
__global__ void hash_records_v2(const uint4 *__restrict__ rec, uint32_t *__restrict__ digest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t w[16], s[8];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        uint4 v = rec[i * 3 + k];
        w[4 * k] = __byte_perm(v.x, 0, 0x0123); w[4 * k + 1] = __byte_perm(v.y, 0, 0x0123);
        w[4 * k + 2] = __byte_perm(v.z, 0, 0x0123); w[4 * k + 3] = __byte_perm(v.w, 0, 0x0123);
    }
    w[12] = 0x80000000; w[13] = w[14] = 0; w[15] = 48 * 8;
    sha_init(s);
    sha_block(s, w);
#pragma unroll
    for (int k = 0; k < 8; k++) digest[k * n + i] = s[k];
}

int main()
{
    cudaMemcpyToSymbol(dk, hk, sizeof(hk));
    Header hd;
    sha_init(hd.midstate);
    uint32_t w[16];
    for (int i = 0; i < 16; i++) w[i] = i * 0x01010101u + 0x11;
    sha_block(hd.midstate, w);
    hd.tail[0] = 0xdeadbeef; hd.tail[1] = 0x5f5e1000; hd.tail[2] = 0x1d00ffff; hd.target = 0x00004000;
    uint32_t *d_found; unsigned *d_n;
    cudaMalloc(&d_found, 4096 * 4); cudaMalloc(&d_n, 4); cudaMemset(d_n, 0, 4);
    const int per = 1 << 21;
    for (int it = 0; it < 2; it++) mine<<<per / 256, 256>>>(hd, it * per, d_found, d_n, 4096);
    unsigned nf; cudaMemcpy(&nf, d_n, 4, cudaMemcpyDeviceToHost);
    std::vector<uint32_t> f(4096); cudaMemcpy(f.data(), d_found, 4096 * 4, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (unsigned i = 0; i < nf && i < 4096; i++) bad += double_hash(hd, f[i]) >= hd.target;
    unsigned cpu = 0, gpu = 0;
    for (uint32_t k = 0; k < 100000; k++) cpu += double_hash(hd, k) < hd.target;
    for (unsigned i = 0; i < nf; i++) gpu += f[i] < 100000;

    const int n = 200003;
    std::vector<uint8_t> rec(n * 48);
    for (size_t i = 0; i < rec.size(); i++) rec[i] = (i * 131 + (i >> 8)) & 255;
    uint8_t *d_rec; uint32_t *d1, *d2;
    cudaMalloc(&d_rec, rec.size()); cudaMalloc(&d1, n * 32); cudaMalloc(&d2, n * 32);
    cudaMemcpy(d_rec, rec.data(), rec.size(), cudaMemcpyHostToDevice);
    hash_records<<<(n + 127) / 128, 128>>>(d_rec, d1, n);
    hash_records_v2<<<(n + 127) / 128, 128>>>((const uint4 *)d_rec, d2, n);
    std::vector<uint32_t> a(n * 8), b(n * 8);
    cudaMemcpy(a.data(), d1, n * 32, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), d2, n * 32, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) for (int k = 0; k < 8; k++) bad += a[i * 8 + k] != b[k * n + i];
    for (int i = 0; i < n; i += 77) {
        uint32_t s[8], v[16] = {0};
        for (int k = 0; k < 12; k++) { const uint8_t *p = &rec[i * 48 + 4 * k]; v[k] = ((uint32_t)p[0] << 24) | (p[1] << 16) | (p[2] << 8) | p[3]; }
        v[12] = 0x80000000; v[15] = 384;
        sha_init(s); sha_block(s, v);
        bad += memcmp(s, &a[i * 8], 32) != 0;
    }
    printf("found %u, first 1e5: cpu %u gpu %u, bad %d, %s\n", nf, cpu, gpu, bad, cudaGetErrorString(cudaGetLastError()));
    puts(bad == 0 && cpu == gpu && nf > 0 ? "PASS" : "FAIL");
    return 0;
}
