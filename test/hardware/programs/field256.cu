// Batch arithmetic in GF(p), p = 2^256 - 2^32 - 977 (secp256k1), 8 x 32-bit limbs.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Fe {
    uint32_t v[8];
};

#define CUDA_TRY(x)                                                  \
    do {                                                             \
        cudaError_t rc = (x);                                        \
        if (rc != cudaSuccess) {                                     \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(rc));    \
            std::exit(1);                                            \
        }                                                            \
    } while (0)

__constant__ uint32_t P[8] = {0xFFFFFC2Fu, 0xFFFFFFFEu, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu};

// a -= p, returns the borrow
__device__ __forceinline__ uint32_t sub_p(Fe& r, const Fe& a)
{
    uint64_t borrow = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        uint64_t d = (uint64_t)a.v[i] - P[i] - borrow;
        r.v[i] = (uint32_t)d;
        borrow = (d >> 32) & 1;
    }
    return (uint32_t)borrow;
}

__device__ __forceinline__ Fe fe_add(const Fe& a, const Fe& b)
{
    Fe s, t;
    uint64_t c = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        c += (uint64_t)a.v[i] + b.v[i];
        s.v[i] = (uint32_t)c;
        c >>= 32;
    }
    uint32_t borrow = sub_p(t, s);
    return (c || !borrow) ? t : s;
}

__device__ Fe fe_reduce(const uint32_t* w)
{
    Fe r, t;
    uint64_t c = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        uint64_t acc = (uint64_t)w[i] + (uint64_t)w[8 + i] * 977u + c;
        if (i > 0)
            acc += w[8 + i - 1];
        r.v[i] = (uint32_t)acc;
        c = acc >> 32;
    }
    uint64_t top = c + w[15];
    uint64_t acc = (uint64_t)r.v[0] + top * 977u;
    r.v[0] = (uint32_t)acc;
    acc = (acc >> 32) + r.v[1] + top;
    r.v[1] = (uint32_t)acc;
    c = acc >> 32;
#pragma unroll
    for (int i = 2; i < 8; i++) {
        acc = (uint64_t)r.v[i] + c;
        r.v[i] = (uint32_t)acc;
        c = acc >> 32;
    }
    if (c) {
        acc = (uint64_t)r.v[0] + 977u;
        r.v[0] = (uint32_t)acc;
        acc = (acc >> 32) + r.v[1] + 1u;
        r.v[1] = (uint32_t)acc;
        acc = (acc >> 32) + r.v[2];
        r.v[2] = (uint32_t)acc;
    }
    return sub_p(t, r) ? r : t;
}

__device__ __noinline__ Fe fe_mul(const Fe a, const Fe b)
{
    uint32_t w[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
        w[i] = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        uint64_t c = 0;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            c += (uint64_t)a.v[i] * b.v[j] + w[i + j];
            w[i + j] = (uint32_t)c;
            c >>= 32;
        }
        w[i + 8] = (uint32_t)c;
    }
    return fe_reduce(w);
}

// array of structures: every thread reads its 32 contiguous bytes limb by limb
__global__ void add_aos(const Fe* a, const Fe* b, Fe* r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Fe x = a[i];
    Fe y = b[i];
    r[i] = fe_add(x, y);
}

// AoS -> limb-major
__global__ void to_soa(const Fe* a, uint32_t* soa, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const uint32_t* src = a[i].v;
    for (int l = 0; l < 8; l++)
        soa[l * n + i] = src[l];
}

__global__ void mul_soa(const uint32_t* a, const uint32_t* b, uint32_t* r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Fe x, y;
#pragma unroll
    for (int l = 0; l < 8; l++) {
        x.v[l] = a[l * n + i];
        y.v[l] = b[l * n + i];
    }
    Fe z = fe_mul(x, y);
#pragma unroll
    for (int l = 0; l < 8; l++)
        r[l * n + i] = z.v[l];
}

__device__ Fe fe_inv(const Fe& a)
{
    // a^(p-2), plain square and multiply from the top bit
    Fe r = {{1, 0, 0, 0, 0, 0, 0, 0}};
    for (int bit = 255; bit >= 0; bit--) {
        r = fe_mul(r, r);
        uint32_t limb = P[bit >> 5];
        if ((bit >> 5) == 0)
            limb -= 2;
        if ((limb >> (bit & 31)) & 1)
            r = fe_mul(r, a);
    }
    return r;
}

// Montgomery's trick inside a thread: each thread inverts a run of K elements
template <int K>
__global__ void batch_inverse(const Fe* a, Fe* r, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int base = t * K;
    if (base >= n)
        return;
    Fe prefix[K];
    prefix[0] = a[base];
    for (int k = 1; k < K; k++)
        prefix[k] = fe_mul(prefix[k - 1], a[base + k]);
    Fe inv = fe_inv(prefix[K - 1]);
    for (int k = K - 1; k > 0; k--) {
        r[base + k] = fe_mul(inv, prefix[k - 1]);
        inv = fe_mul(inv, a[base + k]);
    }
    r[base] = inv;
}

// product of all elements of a block's slice, tree in shared memory
__global__ void block_product(const Fe* a, Fe* out, int n)
{
    __shared__ Fe s[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    Fe one = {{1, 0, 0, 0, 0, 0, 0, 0}};
    s[threadIdx.x] = i < n ? a[i] : one;
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1) {
        if (threadIdx.x < h) {
            Fe p = fe_mul(s[threadIdx.x], s[threadIdx.x + h]);
            s[threadIdx.x] = p;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = s[0];
}

// ---- host reference on 4 x 64 bits ----
typedef unsigned __int128 u128;
struct H4 {
    uint64_t v[4];
};
static const uint64_t HP[4] = {0xFFFFFFFEFFFFFC2Full, ~0ull, ~0ull, ~0ull};
static const uint64_t KC = 0x1000003D1ull;

static H4 fromFe(const Fe& a)
{
    H4 r;
    for (int i = 0; i < 4; i++)
        r.v[i] = (uint64_t)a.v[2 * i + 1] << 32 | a.v[2 * i];
    return r;
}
static bool geP(const H4& a)
{
    for (int i = 3; i >= 0; i--)
        if (a.v[i] != HP[i])
            return a.v[i] > HP[i];
    return true;
}
static H4 addK(H4 a, u128 k, uint64_t* carry)
{
    u128 c = k;
    for (int i = 0; i < 4; i++) {
        c += a.v[i];
        a.v[i] = (uint64_t)c;
        c >>= 64;
    }
    *carry = (uint64_t)c;
    return a;
}
static H4 norm(H4 a)
{
    uint64_t c;
    if (geP(a))
        a = addK(a, KC, &c);
    return a;
}
static H4 hadd(const H4& a, const H4& b)
{
    H4 r;
    u128 c = 0;
    for (int i = 0; i < 4; i++) {
        c += (u128)a.v[i] + b.v[i];
        r.v[i] = (uint64_t)c;
        c >>= 64;
    }
    uint64_t d;
    if (c)
        r = addK(r, KC, &d);
    return norm(r);
}
static H4 hmul(const H4& a, const H4& b)
{
    uint64_t w[8] = {0};
    for (int i = 0; i < 4; i++) {
        u128 c = 0;
        for (int j = 0; j < 4; j++) {
            c += (u128)a.v[i] * b.v[j] + w[i + j];
            w[i + j] = (uint64_t)c;
            c >>= 64;
        }
        w[i + 4] = (uint64_t)c;
    }
    H4 r;
    u128 c = 0;
    for (int i = 0; i < 4; i++) {
        c += (u128)w[4 + i] * KC + w[i];
        r.v[i] = (uint64_t)c;
        c >>= 64;
    }
    uint64_t carry;
    r = addK(r, c * KC, &carry);
    if (carry)
        r = addK(r, KC, &carry);
    return norm(r);
}
static bool same(const H4& a, const H4& b) { return std::memcmp(&a, &b, sizeof(H4)) == 0; }

int main()
{
    const int n = 32768;
    std::vector<Fe> a(n), b(n);
    uint64_t st = 42;
    auto rnd = [&]() {
        st = st * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(st >> 32);
    };
    for (int i = 0; i < n; i++)
        for (int l = 0; l < 8; l++) {
            a[i].v[l] = rnd();
            b[i].v[l] = rnd();
        }
    for (int l = 0; l < 8; l++) {
        a[0].v[l] = l == 0 ? 0xFFFFFC2Eu : (l == 1 ? 0xFFFFFFFEu : 0xFFFFFFFFu);  // p - 1
        b[0].v[l] = a[0].v[l];
    }
    Fe *da, *db, *ds, *di, *dp;
    uint32_t *sa, *sb, *sr;
    CUDA_TRY(cudaMalloc(&da, n * sizeof(Fe)));
    CUDA_TRY(cudaMalloc(&db, n * sizeof(Fe)));
    CUDA_TRY(cudaMalloc(&ds, n * sizeof(Fe)));
    CUDA_TRY(cudaMalloc(&di, n * sizeof(Fe)));
    CUDA_TRY(cudaMalloc(&dp, n / 128 * sizeof(Fe)));
    CUDA_TRY(cudaMalloc(&sa, n * sizeof(Fe)));
    CUDA_TRY(cudaMalloc(&sb, n * sizeof(Fe)));
    CUDA_TRY(cudaMalloc(&sr, n * sizeof(Fe)));
    CUDA_TRY(cudaMemcpy(da, a.data(), n * sizeof(Fe), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(db, b.data(), n * sizeof(Fe), cudaMemcpyHostToDevice));

    const int tb = 128;
    add_aos<<<(n + tb - 1) / tb, tb>>>(da, db, ds, n);
    to_soa<<<(n + tb - 1) / tb, tb>>>(da, sa, n);
    to_soa<<<(n + tb - 1) / tb, tb>>>(db, sb, n);
    mul_soa<<<(n + tb - 1) / tb, tb>>>(sa, sb, sr, n);
    batch_inverse<8><<<(n / 8 + 63) / 64, 64>>>(da, di, n);
    block_product<<<n / 128, 128>>>(da, dp, n);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaDeviceSynchronize());

    std::vector<Fe> hs(n), hi(n), hp(n / 128);
    std::vector<uint32_t> hr(n * 8);
    CUDA_TRY(cudaMemcpy(hs.data(), ds, n * sizeof(Fe), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(hi.data(), di, n * sizeof(Fe), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(hp.data(), dp, hp.size() * sizeof(Fe), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(hr.data(), sr, n * sizeof(Fe), cudaMemcpyDeviceToHost));
    const H4 one = {{1, 0, 0, 0}};
    int bad = 0;
    for (int i = 0; i < n; i++) {
        H4 x = fromFe(a[i]), y = fromFe(b[i]);
        Fe m;
        for (int l = 0; l < 8; l++)
            m.v[l] = hr[l * n + i];
        bad += !same(hadd(x, y), fromFe(hs[i]));
        bad += !same(hmul(x, y), fromFe(m));
        bad += !same(hmul(x, fromFe(hi[i])), one);
    }
    for (int g = 0; g < n / 128; g++) {
        H4 p = one;
        for (int k = 0; k < 128; k++)
            p = hmul(p, fromFe(a[g * 128 + k]));
        bad += !same(p, fromFe(hp[g]));
    }
    std::printf("%d wrong\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
