// AES-128 CTR: T-table in shared / constant, byte-wise S-box from global with __ldg
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vector>
typedef uint32_t u32; typedef uint8_t u8;
__constant__ u32 cT0[256];
__constant__ u8 cS[256];
__constant__ u32 cRK[44];
static u8 S[256]; static u32 T0[256], RK[44];
#define ROR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

static u8 xt(u8 a) { return (a << 1) ^ (a & 0x80 ? 0x1b : 0); }
static u8 gm(u8 a, u8 b) { u8 r = 0; for (; b; b >>= 1, a = xt(a)) if (b & 1) r ^= a; return r; }
static void tables(const u8 *key)
{
    for (int i = 0; i < 256; i++) {
        u8 inv = 0; if (i) for (int j = 1; j < 256; j++) if (gm(i, j) == 1) { inv = j; break; }
        u8 s = inv, r = inv; for (int k = 0; k < 4; k++) { s = (s << 1) | (s >> 7); r ^= s; }
        S[i] = r ^ 0x63;
        T0[i] = ((u32)gm(S[i], 2) << 24) | ((u32)S[i] << 16) | ((u32)S[i] << 8) | gm(S[i], 3);
    }
    for (int i = 0; i < 4; i++) RK[i] = (u32)key[4*i] << 24 | key[4*i+1] << 16 | key[4*i+2] << 8 | key[4*i+3];
    u8 rc = 1;
    for (int i = 4; i < 44; i++) {
        u32 t = RK[i - 1];
        if (i % 4 == 0) { t = (t << 8) | (t >> 24); t = (u32)S[t >> 24] << 24 | S[t >> 16 & 255] << 16 | S[t >> 8 & 255] << 8 | S[t & 255]; t ^= (u32)rc << 24; rc = xt(rc); }
        RK[i] = RK[i - 4] ^ t;
    }
}

template <class Tab, class Sb>
__host__ __device__ inline void encrypt(u32 *s, const Tab &T, const Sb &sb, const u32 *rk)
{
    for (int i = 0; i < 4; i++) s[i] ^= rk[i];
    for (int r = 1; r < 10; r++) {
        u32 t[4];
        for (int i = 0; i < 4; i++)
            t[i] = T(s[i] >> 24) ^ ROR(T(s[(i + 1) & 3] >> 16 & 255), 8) ^ ROR(T(s[(i + 2) & 3] >> 8 & 255), 16) ^ ROR(T(s[(i + 3) & 3] & 255), 24) ^ rk[4 * r + i];
        for (int i = 0; i < 4; i++) s[i] = t[i];
    }
    u32 t[4];
    for (int i = 0; i < 4; i++)
        t[i] = ((u32)sb(s[i] >> 24) << 24 | (u32)sb(s[(i + 1) & 3] >> 16 & 255) << 16 | (u32)sb(s[(i + 2) & 3] >> 8 & 255) << 8 | (u32)sb(s[(i + 3) & 3] & 255)) ^ rk[40 + i];
    for (int i = 0; i < 4; i++) s[i] = t[i];
}
struct ConstT { __device__ u32 operator()(u32 i) const { return cT0[i]; } };
struct ConstS { __device__ u8 operator()(u32 i) const { return cS[i]; } };
struct PtrT { const u32 *p; __host__ __device__ u32 operator()(u32 i) const { return p[i]; } };
struct PtrS { const u8 *p; __host__ __device__ u8 operator()(u32 i) const { return p[i]; } };
struct LdgS { const u8 *p; __device__ u8 operator()(u32 i) const { return __ldg(p + i); } };

__global__ void ctr_const(const uint4 *in, uint4 *out, int nblk, u32 nonce)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nblk) return;
    u32 s[4] = {nonce, 0, 0, (u32)i};
    encrypt(s, ConstT(), ConstS(), cRK);
    uint4 v = in[i];
    out[i] = make_uint4(v.x ^ s[0], v.y ^ s[1], v.z ^ s[2], v.w ^ s[3]);
}

__global__ void ctr_shared(const uint4 *__restrict__ in, uint4 *__restrict__ out, int nblk, u32 nonce)
{
    __shared__ u32 t[256], rk[44];
    __shared__ u8 sb[256];
    if (threadIdx.x < 256) { t[threadIdx.x] = cT0[threadIdx.x]; sb[threadIdx.x] = cS[threadIdx.x]; }
    if (threadIdx.x < 44) rk[threadIdx.x] = cRK[threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nblk; i += blockDim.x * gridDim.x) {
        u32 s[4] = {nonce, 0, 0, (u32)i};
        encrypt(s, PtrT{t}, PtrS{sb}, rk);
        uint4 v = in[i];
        out[i] = make_uint4(v.x ^ s[0], v.y ^ s[1], v.z ^ s[2], v.w ^ s[3]);
    }
}

// words of a block are strided by nblk (structure of arrays); T-table from global
__global__ void ctr_soa(const u32 *in, u32 *out, const u32 *gT, const u8 *gS, int nblk, u32 nonce)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nblk) return;
    u32 s[4] = {nonce, 0, 0, (u32)i};
    encrypt(s, PtrT{gT}, LdgS{gS}, cRK);
    for (int k = 0; k < 4; k++) out[k * nblk + i] = in[k * nblk + i] ^ s[k];
}

int main()
{
    u8 key[16] = {0x2b,0x7e,0x15,0x16,0x28,0xae,0xd2,0xa6,0xab,0xf7,0x15,0x88,0x09,0xcf,0x4f,0x3c};
    tables(key);
    u32 kat[4] = {0x6bc1bee2, 0x2e409f96, 0xe93d7e11, 0x7393172a};
    encrypt(kat, PtrT{T0}, PtrS{S}, RK);
    int bad = kat[0] != 0x3ad77bb4;
    const int n = 1000001;
    std::vector<u32> in(4 * n), o(4 * n), ref(4 * n);
    for (int i = 0; i < 4 * n; i++) in[i] = i * 2654435761u;
    for (int i = 0; i < n; i++) { u32 s[4] = {0xcafe, 0, 0, (u32)i}; encrypt(s, PtrT{T0}, PtrS{S}, RK); for (int k = 0; k < 4; k++) ref[4 * i + k] = s[k]; }
    u32 *di, *dout, *gT; u8 *gS;
    cudaMalloc(&di, n * 16); cudaMalloc(&dout, n * 16); cudaMalloc(&gT, 1024); cudaMalloc(&gS, 256);
    cudaMemcpy(di, in.data(), n * 16, cudaMemcpyHostToDevice); cudaMemcpy(gT, T0, 1024, cudaMemcpyHostToDevice); cudaMemcpy(gS, S, 256, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(cT0, T0, 1024); cudaMemcpyToSymbol(cS, S, 256); cudaMemcpyToSymbol(cRK, RK, sizeof(RK));
    for (int v = 0; v < 3; v++) {
        cudaMemset(dout, 0, n * 16);
        if (v == 0) ctr_const<<<(n + 255) / 256, 256>>>((uint4 *)di, (uint4 *)dout, n, 0xcafe);
        if (v == 1) ctr_shared<<<528, 256>>>((uint4 *)di, (uint4 *)dout, n, 0xcafe);
        if (v == 2) ctr_soa<<<(n + 127) / 128, 128>>>(di, dout, gT, gS, n, 0xcafe);
        cudaMemcpy(o.data(), dout, n * 16, cudaMemcpyDeviceToHost);
        for (int i = 0; i < n; i++) for (int k = 0; k < 4; k++) { int a = v == 2 ? k * n + i : 4 * i + k; bad += o[a] != (in[a] ^ ref[4 * i + k]); }
        printf("variant %d bad %d %s\n", v, bad, cudaGetErrorString(cudaGetLastError()));
    }
    puts(bad ? "FAIL" : "PASS");
}
