// Proof-system building blocks: Goldilocks NTT, an x^7 sponge permutation with a Merkle tree, batched
// inversion, bucket MSM over a small curve, and a double-SHA256 nonce scan for good measure.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <vector>

#define HD __host__ __device__ __forceinline__
#define CHK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

// ---------------------------------------------------------------- Goldilocks p = 2^64 - 2^32 + 1
class gl_t {
  public:
    static constexpr uint64_t MOD = 0xffffffff00000001ull;
    uint64_t v;
    HD gl_t() {}
    HD gl_t(uint64_t x) : v(x) {}
    friend HD gl_t operator+(gl_t a, gl_t b) { uint64_t s = a.v + b.v; if (s < a.v || s >= MOD) s -= MOD; return s; }
    friend HD gl_t operator-(gl_t a, gl_t b) { uint64_t d = a.v - b.v; if (a.v < b.v) d += MOD; return d; }
    friend HD gl_t operator*(gl_t a, gl_t b) {
        uint64_t lo = a.v * b.v, hi;
#ifdef __CUDA_ARCH__
        hi = __umul64hi(a.v, b.v);
#else
        hi = (uint64_t)(((unsigned __int128)a.v * b.v) >> 64);
#endif
        uint64_t hh = hi >> 32, hl = hi & 0xffffffffull;
        uint64_t t = lo - hh; if (lo < hh) t -= 0xffffffffull;      // 2^96 == -1
        uint64_t m = (hl << 32) - hl;                               // 2^64 == 2^32 - 1
        uint64_t r = t + m; if (r < t) r += 0xffffffffull;
        return r >= MOD ? r - MOD : r;
    }
    HD gl_t pow(uint64_t e) const { gl_t b = *this, r = 1; while (e) { if (e & 1) r = r * b; b = b * b; e >>= 1; } return r; }
    HD gl_t inv() const { return pow(MOD - 2); }
};

__global__ void bit_rev_permutation(gl_t* __restrict__ out, const gl_t* __restrict__ in, uint32_t lg) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (1u << lg)) out[__brev(i) >> (32 - lg)] = in[i];
}
// the first LG stages inside one block of 2^LG elements
template <int LG, bool PAD>
__global__ void __launch_bounds__(1 << (LG - 1)) ntt_block(gl_t* __restrict__ d, const gl_t* __restrict__ tw, uint32_t lg_n) {
    constexpr int N = 1 << LG;
    __shared__ uint64_t s[N + (PAD ? N / 16 : 0)];
    auto ix = [](uint32_t i) { return PAD ? i + (i >> 4) : i; };
    gl_t* p = d + (size_t)blockIdx.x * N;
    for (uint32_t i = threadIdx.x; i < N; i += N / 2) s[ix(i)] = p[i].v;
    __syncthreads();
    for (int st = 0; st < LG; st++) {
        uint32_t half = 1u << st, j = threadIdx.x & (half - 1), base = ((threadIdx.x >> st) << (st + 1)) + j;
        gl_t w = tw[j << (lg_n - 1 - st)];
        gl_t a = s[ix(base)], b = gl_t(s[ix(base + half)]) * w;
        s[ix(base)] = (a + b).v;
        s[ix(base + half)] = (a - b).v;
        __syncthreads();
    }
    for (uint32_t i = threadIdx.x; i < N; i += N / 2) p[i] = s[ix(i)];
}
__global__ void ntt_stage(gl_t* __restrict__ d, const gl_t* __restrict__ tw, uint32_t lg_n, uint32_t st) {
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= (1u << (lg_n - 1))) return;
    uint32_t half = 1u << st, j = t & (half - 1), base = ((t >> st) << (st + 1)) + j;
    gl_t a = d[base], b = d[base + half] * tw[j << (lg_n - 1 - st)];
    d[base] = a + b;
    d[base + half] = a - b;
}
__global__ void pointwise_mul_scale(gl_t* a, const gl_t* b, gl_t scale, uint32_t n) {
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] = a[i] * b[i] * scale;
}
// Montgomery's trick, CHUNK values a thread kept in registers/local memory; strided across the grid
template <int CHUNK>
__global__ void batch_inverse(const gl_t* __restrict__ in, gl_t* __restrict__ out, uint32_t n) {
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    gl_t prefix[CHUNK], acc = 1;
    #pragma unroll
    for (int c = 0; c < CHUNK; c++) { uint32_t i = t + c * stride; prefix[c] = acc; if (i < n) acc = acc * in[i]; }
    acc = acc.inv();
    #pragma unroll
    for (int c = CHUNK - 1; c >= 0; c--) { uint32_t i = t + c * stride; if (i < n) { out[i] = acc * prefix[c]; acc = acc * in[i]; } }
}

// ---------------------------------------------------------------- sponge permutation
constexpr int WIDTH = 8, FULL = 8, PARTIAL = 14;
__constant__ uint64_t d_rc[(FULL + PARTIAL) * WIDTH];
static uint64_t h_rc[(FULL + PARTIAL) * WIDTH];
HD gl_t sbox(gl_t x) { gl_t x2 = x * x, x4 = x2 * x2; return x4 * x2 * x; }
HD uint64_t rc(int i) {
#ifdef __CUDA_ARCH__
    return d_rc[i];
#else
    return h_rc[i];
#endif
}
HD void mds(gl_t (&s)[WIDTH]) {
    const uint64_t circ[WIDTH] = {17, 15, 41, 16, 2, 28, 13, 39};
    gl_t o[WIDTH];
    #pragma unroll
    for (int r = 0; r < WIDTH; r++) {
        o[r] = 0;
        #pragma unroll
        for (int c = 0; c < WIDTH; c++) o[r] = o[r] + gl_t(circ[(c - r + WIDTH) % WIDTH]) * s[c];
    }
    #pragma unroll
    for (int r = 0; r < WIDTH; r++) s[r] = o[r];
}
HD void permute(gl_t (&s)[WIDTH]) {
    for (int r = 0; r < FULL + PARTIAL; r++) {
        bool full = r < FULL / 2 || r >= FULL / 2 + PARTIAL;
        #pragma unroll
        for (int i = 0; i < WIDTH; i++) s[i] = s[i] + gl_t(rc(r * WIDTH + i));
        s[0] = sbox(s[0]);
        if (full) {
            #pragma unroll
            for (int i = 1; i < WIDTH; i++) s[i] = sbox(s[i]);
        }
        mds(s);
    }
}
struct digest_t { gl_t e[4]; };
__global__ void hash_leaves(const gl_t* __restrict__ columns, uint32_t n_cols, uint32_t n_rows, digest_t* __restrict__ out) {   // column-major trace
    uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    gl_t s[WIDTH];
    for (int i = 0; i < WIDTH; i++) s[i] = 0;
    for (uint32_t c = 0; c < n_cols; c += 4) {
        #pragma unroll
        for (uint32_t k = 0; k < 4; k++) if (c + k < n_cols) s[k] = columns[(size_t)(c + k) * n_rows + row];
        permute(s);
    }
    for (int i = 0; i < 4; i++) out[row].e[i] = s[i];
}
__global__ void merkle_level(const digest_t* __restrict__ in, digest_t* __restrict__ out, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    gl_t s[WIDTH];
    #pragma unroll
    for (int k = 0; k < 4; k++) { s[k] = in[2 * i].e[k]; s[k + 4] = in[2 * i + 1].e[k]; }
    permute(s);
    #pragma unroll
    for (int k = 0; k < 4; k++) out[i].e[k] = s[k];
}

// ---------------------------------------------------------------- toy curve y^2 = x^3 + 7 over 2^31 - 1
typedef uint32_t fp;
constexpr fp P31 = 0x7fffffffu;
HD fp fadd(fp a, fp b) { fp s = a + b; return s >= P31 ? s - P31 : s; }
HD fp fsub(fp a, fp b) { return a >= b ? a - b : a + P31 - b; }
HD fp fmul(fp a, fp b) { uint64_t t = (uint64_t)a * b; fp r = (fp)(t & P31) + (fp)(t >> 31); return r >= P31 ? r - P31 : r; }
struct affine_t { fp x, y; };
struct jac_t { fp x, y, z; static HD jac_t inf() { return {1, 1, 0}; } HD bool is_inf() const { return z == 0; } };
HD jac_t dbl(const jac_t& p) {
    if (p.is_inf() || p.y == 0) return jac_t::inf();
    fp a = fmul(p.x, p.x), b = fmul(p.y, p.y), c = fmul(b, b), t = fadd(p.x, b);
    fp d = fsub(fsub(fmul(t, t), a), c); d = fadd(d, d);
    fp e = fadd(fadd(a, a), a), f = fmul(e, e);
    jac_t r; r.x = fsub(f, fadd(d, d));
    fp c8 = fadd(c, c); c8 = fadd(c8, c8); c8 = fadd(c8, c8);
    r.y = fsub(fmul(e, fsub(d, r.x)), c8);
    r.z = fmul(p.y, p.z); r.z = fadd(r.z, r.z);
    return r;
}
HD jac_t add(const jac_t& p, const jac_t& q) {
    if (p.is_inf()) return q;
    if (q.is_inf()) return p;
    fp z1 = fmul(p.z, p.z), z2 = fmul(q.z, q.z), u1 = fmul(p.x, z2), u2 = fmul(q.x, z1);
    fp s1 = fmul(p.y, fmul(z2, q.z)), s2 = fmul(q.y, fmul(z1, p.z));
    fp h = fsub(u2, u1), r = fsub(s2, s1);
    if (h == 0) return r == 0 ? dbl(p) : jac_t::inf();
    fp h2 = fmul(h, h), h3 = fmul(h2, h), v = fmul(u1, h2);
    jac_t o; o.x = fsub(fsub(fmul(r, r), h3), fadd(v, v));
    o.y = fsub(fmul(r, fsub(v, o.x)), fmul(s1, h3));
    o.z = fmul(fmul(p.z, q.z), h);
    return o;
}
HD bool same(const jac_t& a, const jac_t& b) {
    if (a.is_inf() || b.is_inf()) return a.is_inf() == b.is_inf();
    fp za = fmul(a.z, a.z), zb = fmul(b.z, b.z);
    return fmul(a.x, zb) == fmul(b.x, za) && fmul(a.y, fmul(zb, b.z)) == fmul(b.y, fmul(za, a.z));
}
__global__ void split_scalars(const uint32_t* __restrict__ scalars, uint32_t* __restrict__ counts, uint32_t n, uint32_t c, uint32_t nwin) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (uint32_t w = 0; w < nwin; w++) atomicAdd(&counts[(w << c) + ((scalars[i] >> (w * c)) & ((1u << c) - 1))], 1u);
}
// a thread per bucket; buckets ordered by size so that warps are balanced, or not
__global__ void accumulate_buckets(const affine_t* __restrict__ pts, const uint32_t* __restrict__ idx, const uint32_t* __restrict__ offs, const uint32_t* __restrict__ order, jac_t* __restrict__ buckets, uint32_t nb, uint32_t mask) {
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nb) return;
    uint32_t b = order ? order[t] : t;
    jac_t acc = jac_t::inf();
    if (b & mask) for (uint32_t i = offs[b]; i < offs[b + 1]; i++) { affine_t p = pts[idx[i]]; acc = add(acc, jac_t{p.x, p.y, 1}); }
    buckets[b] = acc;
}
// sum_k k * bucket[k] per window: chunked running sums, then a tree in shared memory
__global__ void reduce_buckets(const jac_t* __restrict__ buckets, jac_t* __restrict__ win, uint32_t c) {
    __shared__ jac_t sh[32];
    const uint32_t per = (1u << c) / 32, lo = threadIdx.x * per;
    const jac_t* b = buckets + (blockIdx.x << c);
    jac_t run = jac_t::inf(), sum = jac_t::inf();
    for (uint32_t k = per; k-- > 0;) { run = add(run, b[lo + k]); if (k) sum = add(sum, run); }
    jac_t m = run;                                   // sum += lo * run
    jac_t acc = jac_t::inf();
    for (uint32_t e = lo; e; e >>= 1) { if (e & 1) acc = add(acc, m); m = dbl(m); }
    sh[threadIdx.x] = add(sum, acc);
    __syncthreads();
    for (uint32_t o = 16; o; o >>= 1) { if (threadIdx.x < o) sh[threadIdx.x] = add(sh[threadIdx.x], sh[threadIdx.x + o]); __syncthreads(); }
    if (threadIdx.x == 0) win[blockIdx.x] = sh[0];
}

// ---------------------------------------------------------------- sha256d
#define K256_LIST 0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2
__constant__ uint32_t d_K[64] = {K256_LIST};
static const uint32_t h_K[64] = {K256_LIST};
#define ROR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
HD void sha256_block(uint32_t (&st)[8], uint32_t (&w)[16]) {
    uint32_t a = st[0], b = st[1], c = st[2], d = st[3], e = st[4], f = st[5], g = st[6], h = st[7];
    #pragma unroll
    for (int i = 0; i < 64; i++) {
#ifdef __CUDA_ARCH__
        uint32_t k = d_K[i];
#else
        uint32_t k = h_K[i];
#endif
        if (i >= 16) { uint32_t x = w[(i + 1) & 15], y = w[(i + 14) & 15]; w[i & 15] += (ROR(x, 7) ^ ROR(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (ROR(y, 17) ^ ROR(y, 19) ^ (y >> 10)); }
        uint32_t t1 = h + (ROR(e, 6) ^ ROR(e, 11) ^ ROR(e, 25)) + ((e & f) ^ (~e & g)) + k + w[i & 15];
        uint32_t t2 = (ROR(a, 2) ^ ROR(a, 13) ^ ROR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    st[0] += a; st[1] += b; st[2] += c; st[3] += d; st[4] += e; st[5] += f; st[6] += g; st[7] += h;
}
HD void sha_init(uint32_t (&s)[8]) { s[0] = 0x6a09e667; s[1] = 0xbb67ae85; s[2] = 0x3c6ef372; s[3] = 0xa54ff53a; s[4] = 0x510e527f; s[5] = 0x9b05688c; s[6] = 0x1f83d9ab; s[7] = 0x5be0cd19; }
struct work_t { uint32_t mid[8], tail[3]; };
HD uint32_t sha256d_top(const work_t& wk, uint32_t nonce) {
    uint32_t s[8], w[16] = {wk.tail[0], wk.tail[1], wk.tail[2], nonce, 0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 640};
    for (int i = 0; i < 8; i++) s[i] = wk.mid[i];
    sha256_block(s, w);
    uint32_t w2[16] = {s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], 0x80000000u, 0, 0, 0, 0, 0, 0, 256}, s2[8];
    sha_init(s2);
    sha256_block(s2, w2);
    return s2[7];
}
__global__ void scan_nonces(work_t wk, uint32_t first, uint32_t target, uint32_t* __restrict__ found, uint32_t cap) {
    uint32_t nonce = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (sha256d_top(wk, nonce) < target) { uint32_t k = atomicAdd(&found[0], 1u); if (k < cap) found[1 + k] = nonce; }
}

template <typename T> static T* up(const std::vector<T>& v) { T* p; CHK(cudaMalloc(&p, v.size() * sizeof(T))); CHK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
template <typename T> static std::vector<T> down(const T* p, size_t n) { std::vector<T> v(n); CHK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
static uint64_t rs = 42;
static uint64_t rnd() { rs += 0x9e3779b97f4a7c15ull; uint64_t z = rs; z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull; z = (z ^ (z >> 27)) * 0x94d049bb133111ebull; return z ^ (z >> 31); }

int main() {
    bool ok = true;
    auto verdict = [&](const char* n, bool g) { printf("%-12s %s\n", n, g ? "ok" : "WRONG"); ok &= g; };
    {
        const uint32_t lg = 13, n = 1u << lg; constexpr int LB = 10;
        std::vector<gl_t> a(n), b(n, gl_t(0)), tw(n / 2), itw(n / 2), ref(n, gl_t(0));
        for (auto& x : a) x = rnd() % gl_t::MOD;
        for (int i = 0; i < 40; i++) b[rnd() % n] = rnd() % gl_t::MOD;
        gl_t w = gl_t(7).pow((gl_t::MOD - 1) / n), wi = w.inv(); tw[0] = itw[0] = 1;
        for (uint32_t i = 1; i < n / 2; i++) { tw[i] = tw[i - 1] * w; itw[i] = itw[i - 1] * wi; }
        gl_t *da = up(a), *db = up(b), *dt = up(tw), *dit = up(itw), *fa = up(a), *fb = up(b);
        auto ntt = [&](gl_t* out, const gl_t* in, const gl_t* t, bool pad) {
            bit_rev_permutation<<<n / 256, 256>>>(out, in, lg);
            if (pad) ntt_block<LB, true><<<n >> LB, 1 << (LB - 1)>>>(out, t, lg); else ntt_block<LB, false><<<n >> LB, 1 << (LB - 1)>>>(out, t, lg);
            for (uint32_t st = LB; st < lg; st++) ntt_stage<<<n / 2 / 128, 128>>>(out, t, lg, st);
        };
        ntt(fa, da, dt, false); ntt(fb, db, dt, true);
        pointwise_mul_scale<<<16, 128>>>(fa, fb, gl_t(n).inv(), n);
        ntt(da, fa, dit, true);
        CHK(cudaGetLastError());
        for (uint32_t j = 0; j < n; j++) if (b[j].v) for (uint32_t i = 0; i < n; i++) ref[(i + j) % n] = ref[(i + j) % n] + a[i] * b[j];
        auto g = down(da, n); bool good = true; for (uint32_t i = 0; i < n; i++) good &= g[i].v == ref[i].v;
        verdict("ntt conv", good);
        const uint32_t m = 5003; gl_t* dinv = db;
        CHK(cudaMemcpy(da, a.data(), n * 8, cudaMemcpyHostToDevice));
        batch_inverse<8><<<5, 128>>>(da, dinv, m);
        auto iv = down(dinv, m); good = true; for (uint32_t i = 0; i < m; i++) good &= (iv[i] * a[i]).v == 1;
        verdict("inverse", good);
    }
    {
        for (auto& x : h_rc) x = rnd() % gl_t::MOD;
        CHK(cudaMemcpyToSymbol(d_rc, h_rc, sizeof(h_rc)));
        const uint32_t rows = 1024, cols = 10;
        std::vector<gl_t> tr(rows * cols); for (auto& x : tr) x = rnd() % gl_t::MOD;
        digest_t *d0, *d1; CHK(cudaMalloc(&d0, rows * sizeof(digest_t))); CHK(cudaMalloc(&d1, rows * sizeof(digest_t)));
        hash_leaves<<<rows / 64, 64>>>(up(tr), cols, rows, d0);
        for (uint32_t n = rows / 2; n; n /= 2) { merkle_level<<<(n + 63) / 64, 64>>>(d0, d1, n); std::swap(d0, d1); }
        CHK(cudaGetLastError());
        std::vector<digest_t> t(rows);
        for (uint32_t r = 0; r < rows; r++) { gl_t s[WIDTH]; for (auto& x : s) x = 0; for (uint32_t c = 0; c < cols; c += 4) { for (uint32_t k = 0; k < 4 && c + k < cols; k++) s[k] = tr[(c + k) * rows + r]; permute(s); } for (int i = 0; i < 4; i++) t[r].e[i] = s[i]; }
        for (uint32_t n = rows / 2; n; n /= 2) for (uint32_t i = 0; i < n; i++) { gl_t s[WIDTH]; for (int k = 0; k < 4; k++) { s[k] = t[2 * i].e[k]; s[k + 4] = t[2 * i + 1].e[k]; } permute(s); for (int k = 0; k < 4; k++) t[i].e[k] = s[k]; }
        auto root = down(d0, 1); bool good = true; for (int k = 0; k < 4; k++) good &= root[0].e[k].v == t[0].e[k].v;
        verdict("merkle root", good);
    }
    {
        const uint32_t n = 3000, c = 8, nwin = 2, nb = nwin << c;
        std::vector<affine_t> pts; std::vector<uint32_t> sc(n);
        for (fp x = 5; pts.size() < n; x += 3) {
            fp rhs = fadd(fmul(fmul(x, x), x), 7), y = 1, b = rhs;
            for (uint32_t e = (P31 + 1) / 4; e; e >>= 1) { if (e & 1) y = fmul(y, b); b = fmul(b, b); }
            if (fmul(y, y) == rhs) pts.push_back({x, y});
        }
        for (uint32_t i = 0; i < n; i++) sc[i] = i % 5 == 0 ? (rnd() & 7) : (rnd() & 0xffff);      // some skew
        uint32_t* dcnt; CHK(cudaMalloc(&dcnt, nb * 4)); CHK(cudaMemset(dcnt, 0, nb * 4));
        split_scalars<<<(n + 255) / 256, 256>>>(up(sc), dcnt, n, c, nwin);
        auto cnt = down(dcnt, nb);
        std::vector<uint32_t> offs(nb + 1, 0), fill, idx(n * nwin), order(nb);
        for (uint32_t b = 0; b < nb; b++) { offs[b + 1] = offs[b] + cnt[b]; order[b] = b; }
        fill = offs;
        for (uint32_t w = 0; w < nwin; w++) for (uint32_t i = 0; i < n; i++) { uint32_t b = (w << c) + ((sc[i] >> (w * c)) & 255); if (fill[b] < idx.size()) idx[fill[b]++] = i; }
        std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return cnt[x] > cnt[y]; });
        affine_t* dp = up(pts); uint32_t *di = up(idx), *doff = up(offs), *dord = up(order);
        jac_t *bk0, *bk1, *dw; CHK(cudaMalloc(&bk0, nb * sizeof(jac_t))); CHK(cudaMalloc(&bk1, nb * sizeof(jac_t))); CHK(cudaMalloc(&dw, nwin * sizeof(jac_t)));
        accumulate_buckets<<<(nb + 63) / 64, 64>>>(dp, di, doff, nullptr, bk0, nb, (1 << c) - 1);
        accumulate_buckets<<<(nb + 63) / 64, 64>>>(dp, di, doff, dord, bk1, nb, (1 << c) - 1);
        reduce_buckets<<<nwin, 32>>>(bk1, dw, c);
        CHK(cudaGetLastError());
        auto b0 = down(bk0, nb), b1 = down(bk1, nb), win = down(dw, nwin);
        bool good = true; for (uint32_t b = 0; b < nb; b++) good &= same(b0[b], b1[b]);
        verdict("buckets", good);
        jac_t r = win[1]; for (uint32_t i = 0; i < c; i++) r = dbl(r); r = add(r, win[0]);
        jac_t ref = jac_t::inf();
        for (uint32_t i = 0; i < n; i++) { jac_t m{pts[i].x, pts[i].y, 1}; for (uint32_t e = sc[i]; e; e >>= 1) { if (e & 1) ref = add(ref, m); m = dbl(m); } }
        verdict("msm", same(r, ref) && !ref.is_inf());
    }
    {
        work_t wk; uint32_t s[8], w[16]; sha_init(s); for (auto& x : w) x = (uint32_t)rnd(); sha256_block(s, w);
        for (int i = 0; i < 8; i++) wk.mid[i] = s[i]; for (auto& x : wk.tail) x = (uint32_t)rnd();
        const uint32_t N = 1 << 15, target = 1u << 24, cap = 1023;
        uint32_t* df; CHK(cudaMalloc(&df, 4096)); CHK(cudaMemset(df, 0, 4096));
        scan_nonces<<<N / 128, 128>>>(wk, 1000, target, df, cap);
        auto f = down(df, 1024); std::vector<uint32_t> got(f.begin() + 1, f.begin() + 1 + std::min(f[0], cap)), ref;
        std::sort(got.begin(), got.end());
        for (uint32_t i = 0; i < N; i++) if (sha256d_top(wk, 1000 + i) < target) ref.push_back(1000 + i);
        printf("%zu nonces\n", ref.size()); verdict("sha256d", got == ref && !ref.empty());
    }
    CHK(cudaDeviceSynchronize());
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
