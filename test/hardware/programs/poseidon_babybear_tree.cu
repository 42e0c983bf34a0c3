// nvcc: -std=c++20
// Poseidon2-like sponge over BabyBear in Montgomery form: leaf hashing in row- and column-major traces,
// Merkle layers, a shared-memory state variant, and proof-of-work grinding.
#include <cuda_runtime.h>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct bb31 {
    static constexpr u32 MOD = 0x78000001u, M = 0x77ffffffu, RR = 0x45dddde3u;  // M = -MOD^-1 mod 2^32, RR = 2^64 mod MOD
    u32 v;
    bb31() = default;
    static constexpr __host__ __device__ bb31 raw(u32 x) { bb31 r{}; r.v = x; return r; }
    static constexpr __host__ __device__ bb31 from(u32 x) { return mul(raw(x % MOD), raw(RR)); }
    static constexpr __host__ __device__ bb31 mul(bb31 a, bb31 b) {
        const u64 t = u64(a.v) * b.v;
        const u32 q = u32(t) * M;
        const u32 r = u32((t + u64(q) * MOD) >> 32);
        return raw(r >= MOD ? r - MOD : r);
    }
    friend constexpr __host__ __device__ bb31 operator*(bb31 a, bb31 b) { return mul(a, b); }
    friend constexpr __host__ __device__ bb31 operator+(bb31 a, bb31 b) { const u32 s = a.v + b.v; return raw(s >= MOD ? s - MOD : s); }
    constexpr __host__ __device__ u32 canonical() const { return mul(*this, raw(1)).v; }
    friend constexpr __host__ __device__ bool operator==(bb31 a, bb31 b) { return a.v == b.v; }
};
static_assert(bb31::from(1).canonical() == 1 && (bb31::from(12345) * bb31::from(678)).canonical() == 12345u * 678u);

template <class F>
concept PrimeField = requires(F a, F b) { { a + b } -> std::same_as<F>; { a * b } -> std::same_as<F>; { a.canonical() } -> std::convertible_to<u32>; };

inline constexpr int T = 16, RATE = 8, CAP = 8, RF = 8, RP = 13;

struct Params { bb31 ext[RF][T]; bb31 internal[RP]; bb31 diag[T]; };
__constant__ Params c_par;
static Params h_par;

template <PrimeField F> __host__ __device__ constexpr F sbox(F x) { const F x2 = x * x, x4 = x2 * x2; return x4 * x2 * x; }

template <PrimeField F> __host__ __device__ inline void mds4(F& a, F& b, F& c, F& d) {   // circ(2,3,1,1)
    const F s = a + b + c + d, a2 = a + a, b2 = b + b, c2 = c + c, d2 = d + d;
    const F na = s + a + b2, nb = s + b + c2, nc = s + c + d2, nd = s + d + a2;
    a = na; b = nb; c = nc; d = nd;
}

template <PrimeField F> __host__ __device__ inline void external_layer(F (&s)[T]) {
#pragma unroll
    for (int i = 0; i < T; i += 4) mds4(s[i], s[i + 1], s[i + 2], s[i + 3]);
    F sum[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = s[k] + s[k + 4] + s[k + 8] + s[k + 12];
#pragma unroll
    for (int i = 0; i < T; ++i) s[i] = s[i] + sum[i & 3];
}

template <PrimeField F> __host__ __device__ inline void permute(F (&s)[T], const Params& p) {
    external_layer(s);
    for (int r = 0; r < RF / 2; ++r) {
#pragma unroll
        for (int i = 0; i < T; ++i) s[i] = sbox(s[i] + p.ext[r][i]);
        external_layer(s);
    }
    for (int r = 0; r < RP; ++r) {
        s[0] = sbox(s[0] + p.internal[r]);
        F sum = s[0];
#pragma unroll
        for (int i = 1; i < T; ++i) sum = sum + s[i];
#pragma unroll
        for (int i = 0; i < T; ++i) s[i] = s[i] * p.diag[i] + sum;
    }
    for (int r = RF / 2; r < RF; ++r) {
#pragma unroll
        for (int i = 0; i < T; ++i) s[i] = sbox(s[i] + p.ext[r][i]);
        external_layer(s);
    }
}

struct RowMajor { const bb31* p; int rows, cols; __device__ bb31 operator()(int r, int c) const { return p[r * cols + c]; } };
struct ColMajor { const bb31* p; int rows, cols; __device__ bb31 operator()(int r, int c) const { return p[std::size_t(c) * rows + r]; } };
template <class M> concept Trace = requires(const M m) { { m.rows } -> std::convertible_to<int>; { m.cols } -> std::convertible_to<int>; };

// digest layouts: AoS of 8 words (32 bytes) per node
template <Trace M>
__global__ void hash_rows(M m, bb31* __restrict__ out) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= m.rows) return;
    bb31 s[T] = {};
    for (int c0 = 0; c0 < m.cols; c0 += RATE) {
#pragma unroll
        for (int k = 0; k < RATE; ++k)
            if (c0 + k < m.cols) s[k] = s[k] + m(r, c0 + k);
        permute(s, c_par);
    }
    uint4* o = reinterpret_cast<uint4*>(out + r * CAP);
    o[0] = make_uint4(s[0].v, s[1].v, s[2].v, s[3].v);
    o[1] = make_uint4(s[4].v, s[5].v, s[6].v, s[7].v);
}

__global__ void compress_layer(const bb31* __restrict__ in, bb31* __restrict__ out, int parents) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= parents) return;
    bb31 s[T];
    const uint4* q = reinterpret_cast<const uint4*>(in + std::size_t(i) * 2 * CAP);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const uint4 v = q[k];
        s[4 * k] = bb31::raw(v.x); s[4 * k + 1] = bb31::raw(v.y); s[4 * k + 2] = bb31::raw(v.z); s[4 * k + 3] = bb31::raw(v.w);
    }
    permute(s, c_par);
#pragma unroll
    for (int k = 0; k < CAP; ++k) out[i * CAP + k] = s[k];     // eight 4-byte stores, 32-byte pitch
}

// 16 lanes per state; the linear layers go through shared memory with a selectable pitch
template <int PITCH>
__global__ void compress_lanes(const bb31* __restrict__ in, bb31* __restrict__ out, int parents) {
    __shared__ u32 st[8][PITCH];
    const int g = threadIdx.x / T, l = threadIdx.x % T, i = blockIdx.x * 8 + g;
    const bool live = i < parents;
    bb31 x = live ? in[std::size_t(i) * T + l] : bb31::raw(0);
    auto external = [&] {
        st[g][l] = x.v;
        __syncwarp();
        const int b = l & ~3, k = l & 3;
        auto at = [&](int j) { return bb31::raw(st[g][j]); };
        const bb31 n = at(b + (k + 1) % 4);
        const bb31 y = at(b) + at(b + 1) + at(b + 2) + at(b + 3) + x + n + n;
        __syncwarp();
        st[g][l] = y.v;
        __syncwarp();
        x = y + at(k) + at(k + 4) + at(k + 8) + at(k + 12);
        __syncwarp();
    };
    external();
    for (int r = 0; r < RF / 2; ++r) { x = sbox(x + c_par.ext[r][l]); external(); }
    for (int r = 0; r < RP; ++r) {
        if (l == 0) x = sbox(x + c_par.internal[r]);
        bb31 sum = x;
#pragma unroll
        for (int o = 8; o; o >>= 1) sum = sum + bb31::raw(__shfl_xor_sync(0xffffffffu, sum.v, o, T));
        x = x * c_par.diag[l] + sum;
    }
    for (int r = RF / 2; r < RF; ++r) { x = sbox(x + c_par.ext[r][l]); external(); }
    if (live && l < CAP) out[i * CAP + l] = x;
}

__global__ void grind(const bb31* __restrict__ root, u32 mask, u32 first, u32 count, u32* best) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    bb31 s[T] = {};
#pragma unroll
    for (int k = 0; k < CAP; ++k) s[k] = root[k];
    s[CAP] = bb31::from(first + t);
    permute(s, c_par);
    if ((s[0].canonical() & mask) == 0) atomicMin(best, first + t);
}

#define OK(x) do { if ((x) != cudaSuccess) { std::printf("cuda error, line %d\nFAIL\n", __LINE__); return 2; } } while (0)

int main(int argc, char** argv) {
    const int logn = argc > 1 ? std::atoi(argv[1]) : 11, n = 1 << logn, cols = 21;
    u64 seed = 0x1234567;
    auto next = [&] { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return bb31::from(u32(seed >> 20)); };
    for (auto& r : h_par.ext) for (auto& c : r) c = next();
    for (auto& c : h_par.internal) c = next();
    for (int i = 0; i < T; ++i) h_par.diag[i] = bb31::from(i == 0 ? bb31::MOD - 2 : 1u << (i - 1));
    std::vector<bb31> rm(std::size_t(n) * cols), cm(rm.size());
    for (int r = 0; r < n; ++r) for (int c = 0; c < cols; ++c) cm[std::size_t(c) * n + r] = rm[std::size_t(r) * cols + c] = next();

    bb31 *d_rm, *d_cm, *d_a, *d_b; u32* d_best;
    OK(cudaMemcpyToSymbol(c_par, &h_par, sizeof h_par));
    OK(cudaMalloc(&d_rm, rm.size() * 4)); OK(cudaMalloc(&d_cm, cm.size() * 4));
    OK(cudaMalloc(&d_a, std::size_t(2) * n * 32)); OK(cudaMalloc(&d_b, std::size_t(2) * n * 32)); OK(cudaMalloc(&d_best, 4));
    OK(cudaMemcpy(d_rm, rm.data(), rm.size() * 4, cudaMemcpyHostToDevice)); OK(cudaMemcpy(d_cm, cm.data(), cm.size() * 4, cudaMemcpyHostToDevice));
    // heap order by layers: leaves at [0, n), their parents at [n, n + n/2), ...
    hash_rows<<<(n + 127) / 128, 128>>>(RowMajor{d_rm, n, cols}, d_a);
    hash_rows<<<(n + 127) / 128, 128>>>(ColMajor{d_cm, n, cols}, d_b);
    int at = 0, depth = 0;
    for (int w = n; w > 1; w /= 2, ++depth) {
        const int p = w / 2;
        if (depth < 4) {
            compress_layer<<<(p + 63) / 64, 64>>>(d_a + std::size_t(at) * CAP, d_a + std::size_t(at + w) * CAP, p);
            if (depth % 2) compress_lanes<16><<<(p + 7) / 8, 128>>>(d_b + std::size_t(at) * CAP, d_b + std::size_t(at + w) * CAP, p);
            else compress_lanes<20><<<(p + 7) / 8, 128>>>(d_b + std::size_t(at) * CAP, d_b + std::size_t(at + w) * CAP, p);
        } else {
            compress_layer<<<(p + 63) / 64, 64>>>(d_a + std::size_t(at) * CAP, d_a + std::size_t(at + w) * CAP, p);
        }
        at += w;
    }
    const u32 none = ~0u, mask = 0xff, tries = 3000;
    OK(cudaMemcpy(d_best, &none, 4, cudaMemcpyHostToDevice));
    grind<<<(tries + 255) / 256, 256>>>(d_a + std::size_t(at) * CAP, mask, 1000, tries, d_best);
    OK(cudaDeviceSynchronize());

    std::vector<bb31> ref(std::size_t(2 * n) * CAP), ga(ref.size()), gb(ref.size());
    for (int r = 0; r < n; ++r) {
        bb31 s[T] = {};
        for (int c0 = 0; c0 < cols; c0 += RATE) { for (int k = 0; k < RATE && c0 + k < cols; ++k) s[k] = s[k] + rm[std::size_t(r) * cols + c0 + k]; permute(s, h_par); }
        for (int k = 0; k < CAP; ++k) ref[std::size_t(r) * CAP + k] = s[k];
    }
    int a2 = 0, upto = 0, d = 0;
    for (int w = n; w > 1; w /= 2, ++d) {
        for (int i = 0; i < w / 2; ++i) {
            bb31 s[T];
            for (int k = 0; k < T; ++k) s[k] = ref[(std::size_t(a2) + 2 * i) * CAP + k];
            permute(s, h_par);
            for (int k = 0; k < CAP; ++k) ref[(std::size_t(a2) + w + i) * CAP + k] = s[k];
        }
        a2 += w;
        if (d < 4) upto = a2 + w / 2;
    }
    u32 want = none, best;
    for (u32 t = 0; t < tries && want == none; ++t) {
        bb31 s[T] = {};
        for (int k = 0; k < CAP; ++k) s[k] = ref[std::size_t(a2) * CAP + k];
        s[CAP] = bb31::from(1000 + t);
        permute(s, h_par);
        if ((s[0].canonical() & mask) == 0) want = 1000 + t;
    }
    OK(cudaMemcpy(ga.data(), d_a, ga.size() * 4, cudaMemcpyDeviceToHost)); OK(cudaMemcpy(gb.data(), d_b, gb.size() * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&best, d_best, 4, cudaMemcpyDeviceToHost));
    std::size_t bad_a = 0, bad_b = 0;
    for (std::size_t i = 0; i < std::size_t(a2 + 1) * CAP; ++i) bad_a += !(ga[i] == ref[i]);
    for (std::size_t i = 0; i < std::size_t(upto) * CAP; ++i) bad_b += !(gb[i] == ref[i]);
    std::printf("root %08x  tree %zu wrong, lane tree %zu wrong, nonce %u (%u)\n", ref[std::size_t(a2) * CAP].canonical(), bad_a, bad_b, best, want);
    const bool ok = !bad_a && !bad_b && best == want;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
