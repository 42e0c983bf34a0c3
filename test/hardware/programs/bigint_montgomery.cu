// Batched 256-bit modular exponentiation (Montgomery, CIOS). One thread a number; PTX carries in add/sub.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>
#define LIMBS 8

typedef struct { uint32_t w[LIMBS]; } u256;
struct MontCtx { u256 n, rr, one; uint32_t n0inv; };
__constant__ MontCtx ctx;

__device__ __forceinline__ uint32_t add_cc8(uint32_t *r, const uint32_t *a, const uint32_t *b)
{
    uint32_t c;
    asm("add.cc.u32 %0,%9,%17; addc.cc.u32 %1,%10,%18; addc.cc.u32 %2,%11,%19; addc.cc.u32 %3,%12,%20;"
        "addc.cc.u32 %4,%13,%21; addc.cc.u32 %5,%14,%22; addc.cc.u32 %6,%15,%23; addc.cc.u32 %7,%16,%24; addc.u32 %8,0,0;"
        : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5]), "=&r"(r[6]), "=&r"(r[7]), "=&r"(c)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
          "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    return c;
}

__host__ __device__ inline void mont_mul(uint32_t *r, const uint32_t *a, const uint32_t *b, const uint32_t *n, uint32_t n0)
{
    uint32_t t[LIMBS + 2] = {0};
#pragma unroll
    for (int i = 0; i < LIMBS; i++) {
        uint64_t c = 0;
#pragma unroll
        for (int j = 0; j < LIMBS; j++) { c += (uint64_t)a[j] * b[i] + t[j]; t[j] = (uint32_t)c; c >>= 32; }
        c += t[LIMBS]; t[LIMBS] = (uint32_t)c; t[LIMBS + 1] = c >> 32;
        uint32_t m = t[0] * n0;
        c = (uint64_t)m * n[0] + t[0]; c >>= 32;
#pragma unroll
        for (int j = 1; j < LIMBS; j++) { c += (uint64_t)m * n[j] + t[j]; t[j - 1] = (uint32_t)c; c >>= 32; }
        c += t[LIMBS]; t[LIMBS - 1] = (uint32_t)c; t[LIMBS] = t[LIMBS + 1] + (uint32_t)(c >> 32);
    }
    uint32_t s[LIMBS]; int64_t br = 0;
#pragma unroll
    for (int j = 0; j < LIMBS; j++) { br += (int64_t)t[j] - n[j]; s[j] = (uint32_t)br; br >>= 32; }
    bool ge = t[LIMBS] || br == 0;
#pragma unroll
    for (int j = 0; j < LIMBS; j++) r[j] = ge ? s[j] : t[j];
}

// base and result as arrays of structs
__global__ void modexp_kernel(const u256 *base, const uint32_t *expo, u256 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[LIMBS], y[LIMBS];
    u256 b = base[i];
    mont_mul(x, b.w, ctx.rr.w, ctx.n.w, ctx.n0inv);
    for (int k = 0; k < LIMBS; k++) y[k] = ctx.one.w[k];
    uint32_t e = expo[i];
    while (e) {
        if (e & 1) mont_mul(y, y, x, ctx.n.w, ctx.n0inv);
        mont_mul(x, x, x, ctx.n.w, ctx.n0inv);
        e >>= 1;
    }
    uint32_t one[LIMBS] = {1};
    mont_mul(y, y, one, ctx.n.w, ctx.n0inv);
    for (int k = 0; k < LIMBS; k++) out[i].w[k] = y[k];
}

// limb-major layout: a[k * n + i], plain addition with carry out
__global__ void add_limb_major(const uint32_t *__restrict__ a, const uint32_t *__restrict__ b, uint32_t *__restrict__ r, uint8_t *carry, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[LIMBS], y[LIMBS], z[LIMBS];
#pragma unroll
    for (int k = 0; k < LIMBS; k++) { x[k] = a[k * n + i]; y[k] = b[k * n + i]; }
    carry[i] = add_cc8(z, x, y);
#pragma unroll
    for (int k = 0; k < LIMBS; k++) r[k * n + i] = z[k];
}

__global__ void to_limb_major(const u256 *in, uint32_t *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n * LIMBS) out[(t % LIMBS) * n + t / LIMBS] = in[t / LIMBS].w[t % LIMBS];
}

int main()
{
    const int n = 100003;
    MontCtx h;   // 2^255 - 19
    for (int i = 0; i < 8; i++) { h.n.w[i] = 0xffffffffu; h.rr.w[i] = h.one.w[i] = 0; }
    h.n.w[0] = 0xffffffedu; h.n.w[7] = 0x7fffffffu;
    h.one.w[0] = 38; h.rr.w[0] = 38 * 38;     // R = 2^256 = 38 mod n
    uint32_t inv = 1;
    for (int i = 0; i < 5; i++) inv *= 2 - h.n.w[0] * inv;
    h.n0inv = -inv;
    cudaMemcpyToSymbol(ctx, &h, sizeof(h));
    std::vector<u256> b(n), o(n); std::vector<uint32_t> e(n);
    uint64_t s = 0x12345;
    auto rnd = [&] { s = s * 6364136223846793005ull + 1442695040888963407ull; return (uint32_t)(s >> 32); };
    for (int i = 0; i < n; i++) { for (auto &w : b[i].w) w = rnd(); b[i].w[7] &= 0x3fffffff; e[i] = rnd() >> (i % 16); }
    u256 *db, *dout; uint32_t *de, *dl, *dm, *dr; uint8_t *dc;
    cudaMalloc(&db, n * sizeof(u256)); cudaMalloc(&dout, n * sizeof(u256)); cudaMalloc(&de, n * 4);
    cudaMalloc(&dl, n * 32); cudaMalloc(&dm, n * 32); cudaMalloc(&dr, n * 32); cudaMalloc(&dc, n);
    cudaMemcpy(db, b.data(), n * sizeof(u256), cudaMemcpyHostToDevice); cudaMemcpy(de, e.data(), n * 4, cudaMemcpyHostToDevice);
    modexp_kernel<<<(n + 127) / 128, 128>>>(db, de, dout, n);
    to_limb_major<<<(n * LIMBS + 255) / 256, 256>>>(db, dl, n);
    to_limb_major<<<(n * LIMBS + 255) / 256, 256>>>(dout, dm, n);
    add_limb_major<<<(n + 255) / 256, 256>>>(dl, dm, dr, dc, n);
    std::vector<uint32_t> r(n * 8); std::vector<uint8_t> c(n);
    cudaMemcpy(o.data(), dout, n * sizeof(u256), cudaMemcpyDeviceToHost);
    cudaMemcpy(r.data(), dr, n * 32, cudaMemcpyDeviceToHost); cudaMemcpy(c.data(), dc, n, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < n; i += 41) {
        uint32_t x[8], y[8], one[8] = {1};
        mont_mul(x, b[i].w, h.rr.w, h.n.w, h.n0inv);
        for (int k = 0; k < 8; k++) y[k] = h.one.w[k];
        for (int bit = 31; bit >= 0; bit--) {       // left to right on the host
            mont_mul(y, y, y, h.n.w, h.n0inv);
            if (e[i] >> bit & 1) mont_mul(y, y, x, h.n.w, h.n0inv);
        }
        mont_mul(y, y, one, h.n.w, h.n0inv);
        for (int k = 0; k < 8; k++) bad += y[k] != o[i].w[k];
    }
    for (int i = 0; i < n; i++) {
        uint64_t cy = 0;
        for (int k = 0; k < 8; k++) { cy += (uint64_t)b[i].w[k] + o[i].w[k]; bad += (uint32_t)cy != r[k * n + i]; cy >>= 32; }
        bad += cy != c[i];
    }
    printf("bad %d %s\n%s\n", bad, cudaGetErrorString(cudaGetLastError()), bad ? "FAIL" : "PASS");
}
