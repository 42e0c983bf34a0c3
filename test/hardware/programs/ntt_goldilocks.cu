// Number theoretic transform mod p = 2^64 - 2^32 + 1; radix-2 global stages, then shared-memory tail; polynomial product check
#include <cstdint>
#include <cstdio>
#include <vector>
typedef uint64_t u64;
typedef unsigned __int128 u128;
#define PRIME 0xFFFFFFFF00000001ULL

__host__ __device__ inline u64 addm(u64 a, u64 b) { u64 s = a + b; if (s < a || s >= PRIME) s -= PRIME; return s; }
__host__ __device__ inline u64 subm(u64 a, u64 b) { return a >= b ? a - b : a + PRIME - b; }
__host__ __device__ inline u64 mulm(u64 a, u64 b)
{
#ifdef __CUDA_ARCH__
    u64 lo = a * b, hi = __umul64hi(a, b);
#else
    u128 t = (u128)a * b; u64 lo = (u64)t, hi = (u64)(t >> 64);
#endif
    u64 hh = hi >> 32, hl = hi & 0xffffffffu;
    u64 t0 = lo - hh;
    if (lo < hh) t0 -= 0xffffffffu;
    u64 t1 = (hl << 32) - hl;
    u64 r = t0 + t1;
    if (r < t1) r += 0xffffffffu;
    return r >= PRIME ? r - PRIME : r;
}
static u64 powm(u64 a, u64 e) { u64 r = 1; for (; e; e >>= 1, a = mulm(a, a)) if (e & 1) r = mulm(r, a); return r; }

// two butterfly levels at once (radix-4 by two radix-2), DIF, natural in -> bit reversed out
__global__ void dif_stage2(u64 *a, const u64 *__restrict__ tw, int logn, int logh)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int n = 1 << logn;
    if (t >= n / 4) return;
    int h = 1 << logh;            // half size of the first level
    int q = h >> 1;
    int j = t & (q - 1);
    size_t base = ((size_t)(t >> (logh - 1)) << (logh + 1)) + j;
    u64 x0 = a[base], x1 = a[base + q], x2 = a[base + h], x3 = a[base + h + q];
    int st = n >> (logh + 1);
    u64 y0 = addm(x0, x2), y2 = mulm(subm(x0, x2), tw[j * st]);
    u64 y1 = addm(x1, x3), y3 = mulm(subm(x1, x3), tw[(j + q) * st]);
    u64 w = tw[2 * j * st];
    a[base] = addm(y0, y1);
    a[base + q] = mulm(subm(y0, y1), w);
    a[base + h] = addm(y2, y3);
    a[base + h + q] = mulm(subm(y2, y3), w);
}

// last LOGB levels inside a block
template <int LOGB>
__global__ void dif_tail(u64 *a, const u64 *__restrict__ tw, int logn)
{
    __shared__ u64 s[1 << LOGB];
    const int B = 1 << LOGB, n = 1 << logn;
    u64 *g = a + (size_t)blockIdx.x * B;
    for (int i = threadIdx.x; i < B; i += blockDim.x) s[i] = g[i];
    for (int l = LOGB - 1; l >= 0; l--) {
        __syncthreads();
        int h = 1 << l, st = n >> (l + 1);
        for (int t = threadIdx.x; t < B / 2; t += blockDim.x) {
            int j = t & (h - 1), i = ((t >> l) << (l + 1)) + j;
            u64 u = s[i], v = s[i + h];
            s[i] = addm(u, v);
            s[i + h] = mulm(subm(u, v), tw[j * st]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < B; i += blockDim.x) g[i] = s[i];
}

__global__ void pointwise_rev(const u64 *a, const u64 *b, u64 *c, int logn, u64 ninv)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >> logn) return;
    // undo the bit reversal while storing (scattered writes)
    c[__brev(i) >> (32 - logn)] = mulm(mulm(a[i], b[i]), ninv);
}

static int LOGN = 16;
static void ntt(u64 *d, const u64 *tw)
{
    int lev = LOGN - 1, n = 1 << LOGN;
    for (; lev >= 12; lev -= 2) dif_stage2<<<(n / 4 + 255) / 256, 256>>>(d, tw, LOGN, lev);
    if (lev == 11) dif_tail<12><<<n >> 12, 512>>>(d, tw, LOGN);
    else dif_tail<11><<<n >> 11, 512>>>(d, tw, LOGN);
}

int main()
{
    const int n = 1 << LOGN;
    u64 w = powm(7, (PRIME - 1) / n), wi = powm(w, PRIME - 2);
    std::vector<u64> tw(n), ti(n), a(n, 0), b(n, 0), c(n);
    tw[0] = ti[0] = 1;
    for (int i = 1; i < n; i++) { tw[i] = mulm(tw[i - 1], w); ti[i] = mulm(ti[i - 1], wi); }
    u64 s = 1;
    for (int i = 0; i < n / 2; i++) { s = s * 6364136223846793005ull + 1442695040888963407ull; a[i] = s % PRIME; b[i] = (s ^ (s >> 29)) * 3 % PRIME; }
    u64 *da, *db, *dc, *dtw, *dti;
    cudaMalloc(&da, n * 8); cudaMalloc(&db, n * 8); cudaMalloc(&dc, n * 8); cudaMalloc(&dtw, n * 8); cudaMalloc(&dti, n * 8);
    cudaMemcpy(da, a.data(), n * 8, cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), n * 8, cudaMemcpyHostToDevice);
    cudaMemcpy(dtw, tw.data(), n * 8, cudaMemcpyHostToDevice); cudaMemcpy(dti, ti.data(), n * 8, cudaMemcpyHostToDevice);
    ntt(da, dtw);
    ntt(db, dtw);
    pointwise_rev<<<n / 256, 256>>>(da, db, dc, LOGN, powm(n, PRIME - 2));
    ntt(dc, dti);
    cudaMemcpy(c.data(), dc, n * 8, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int k = 0; k < n; k += 9973) {
        u64 r = 0;
        for (int i = 0; i <= k && i < n / 2; i++) if (k - i < n / 2) r = addm(r, mulm(a[i], b[k - i]));
        u64 got;
        unsigned rev = 0; for (int t = 0; t < LOGN; t++) if (k >> t & 1) rev |= 1u << (LOGN - 1 - t);
        got = c[rev];
        bad += got != r;
    }
    printf("bad %d %s\n%s\n", bad, cudaGetErrorString(cudaGetLastError()), bad ? "FAIL" : "PASS");
    return bad;
}
