// sealed_log: encrypt a log with AES-128-CTR, commit to it with a SHA-256 Merkle tree and
// attach a small proof-of-work to the root.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <array>
#include <iomanip>
#include <random>
#include <sstream>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define CK(x) do { cudaError_t r = (x); if (r) { std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(r)); std::exit(1); } } while (0)

typedef uint32_t u32;
typedef uint8_t u8;
struct Digest { u32 w[8]; };

__constant__ u32 c_k[64];
__constant__ u32 c_rk[44];
__constant__ u8 c_sbox[256];

static const u32 h_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__host__ __device__ inline u32 rotr(u32 x, int n) { return (x >> n) | (x << (32 - n)); }
__host__ __device__ inline u32 bswap(u32 x) { return (x >> 24) | ((x >> 8) & 0xff00u) | ((x << 8) & 0xff0000u) | (x << 24); }
__host__ __device__ inline Digest sha_iv() {
    return {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

// w holds the 16 big-endian message words and is used as the rolling schedule
__host__ __device__ inline void sha_block(Digest& st, u32* w) {
#ifdef __CUDA_ARCH__
    const u32* k = c_k;
#else
    const u32* k = h_k;
#endif
    u32 a = st.w[0], b = st.w[1], c = st.w[2], d = st.w[3], e = st.w[4], f = st.w[5], g = st.w[6], h = st.w[7];
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        if (i >= 16) {
            u32 w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
            w[i & 15] += (rotr(w15, 7) ^ rotr(w15, 18) ^ (w15 >> 3)) + w[(i + 9) & 15] + (rotr(w2, 17) ^ rotr(w2, 19) ^ (w2 >> 10));
        }
        u32 t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i & 15];
        u32 t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    const u32 v[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) st.w[i] += v[i];
}

__host__ __device__ inline Digest sha_pair(const Digest& l, const Digest& r) {
    Digest st = sha_iv();
    u32 w[16];
    for (int i = 0; i < 8; ++i) { w[i] = l.w[i]; w[8 + i] = r.w[i]; }
    sha_block(st, w);
    for (int i = 0; i < 16; ++i) w[i] = 0;
    w[0] = 0x80000000u;
    w[15] = 512;
    sha_block(st, w);
    return st;
}

__host__ __device__ inline Digest sha_root_nonce(const Digest& root, u32 nonce) {
    Digest st = sha_iv();
    u32 w[16];
    for (int i = 0; i < 8; ++i) w[i] = root.w[i];
    w[8] = nonce;
    w[9] = 0x80000000u;
    for (int i = 10; i < 15; ++i) w[i] = 0;
    w[15] = 36 * 8;
    sha_block(st, w);
    return st;
}

// ------------------------------------------------------------------ AES-CTR, T-table in shared memory
__device__ __forceinline__ u32 xtime4(u32 x) { return ((x << 1) & 0xfefefefeu) ^ (((x >> 7) & 0x01010101u) * 0x1bu); }

__global__ void aes_ctr(const uint4* in, uint4* out, size_t nblocks, uint4 iv) {
    __shared__ u32 te[256];
    __shared__ u8 sb[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        u32 s = c_sbox[i], s2 = xtime4(s);
        te[i] = (s2 << 24) | (s << 16) | (s << 8) | (s ^ s2);
        sb[i] = (u8)s;
    }
    __syncthreads();
    for (size_t b = blockIdx.x * (size_t)blockDim.x + threadIdx.x; b < nblocks; b += (size_t)gridDim.x * blockDim.x) {
        u32 s0 = iv.x ^ c_rk[0], s1 = iv.y ^ c_rk[1], s2 = iv.z ^ c_rk[2], s3 = (iv.w + (u32)b) ^ c_rk[3];
#pragma unroll 1
        for (int r = 1; r < 10; ++r) {
            u32 t0 = te[s0 >> 24] ^ rotr(te[(s1 >> 16) & 255], 8) ^ rotr(te[(s2 >> 8) & 255], 16) ^ rotr(te[s3 & 255], 24) ^ c_rk[4 * r];
            u32 t1 = te[s1 >> 24] ^ rotr(te[(s2 >> 16) & 255], 8) ^ rotr(te[(s3 >> 8) & 255], 16) ^ rotr(te[s0 & 255], 24) ^ c_rk[4 * r + 1];
            u32 t2 = te[s2 >> 24] ^ rotr(te[(s3 >> 16) & 255], 8) ^ rotr(te[(s0 >> 8) & 255], 16) ^ rotr(te[s1 & 255], 24) ^ c_rk[4 * r + 2];
            u32 t3 = te[s3 >> 24] ^ rotr(te[(s0 >> 16) & 255], 8) ^ rotr(te[(s1 >> 8) & 255], 16) ^ rotr(te[s2 & 255], 24) ^ c_rk[4 * r + 3];
            s0 = t0; s1 = t1; s2 = t2; s3 = t3;
        }
        auto last = [&](u32 a, u32 bb, u32 c, u32 d, u32 k) {
            return (((u32)sb[a >> 24] << 24) | ((u32)sb[(bb >> 16) & 255] << 16) | ((u32)sb[(c >> 8) & 255] << 8) | sb[d & 255]) ^ k;
        };
        uint4 v = in[b];
        v.x ^= bswap(last(s0, s1, s2, s3, c_rk[40]));
        v.y ^= bswap(last(s1, s2, s3, s0, c_rk[41]));
        v.z ^= bswap(last(s2, s3, s0, s1, c_rk[42]));
        v.w ^= bswap(last(s3, s0, s1, s2, c_rk[43]));
        out[b] = v;
    }
}

// ------------------------------------------------------------------ Merkle tree
__global__ void hash_leaves(const u8* data, int leaf_bytes, int nleaves, Digest* out) {
    int leaf = blockIdx.x * blockDim.x + threadIdx.x;
    if (leaf >= nleaves) return;
    const u32* p = reinterpret_cast<const u32*>(data + (size_t)leaf * leaf_bytes);
    Digest st = sha_iv();
    u32 w[16];
    for (int off = 0; off < leaf_bytes / 4; off += 16) {
        for (int i = 0; i < 16; ++i) w[i] = bswap(p[off + i]);
        sha_block(st, w);
    }
    for (int i = 0; i < 16; ++i) w[i] = 0;
    w[0] = 0x80000000u;
    w[15] = leaf_bytes * 8;
    sha_block(st, w);
    out[leaf] = st;
}

__global__ void hash_level(const Digest* in, Digest* out, int nout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nout) out[i] = sha_pair(in[2 * i], in[2 * i + 1]);
}

template <int N>
__global__ void hash_top(const Digest* in, Digest* root) {
    __shared__ Digest s[N];
    for (int i = threadIdx.x; i < N; i += blockDim.x) s[i] = in[i];
    for (int n = N / 2; n >= 1; n /= 2) {
        __syncthreads();
        Digest d;
        if (threadIdx.x < n) d = sha_pair(s[2 * threadIdx.x], s[2 * threadIdx.x + 1]);
        __syncthreads();
        if (threadIdx.x < n) s[threadIdx.x] = d;
    }
    if (threadIdx.x == 0) *root = s[0];
}

__global__ void search_nonce(const Digest* root, u32 limit, u32 target, u32* best) {
    const Digest r = *root;
    for (u32 n = blockIdx.x * blockDim.x + threadIdx.x; n < limit; n += gridDim.x * blockDim.x) {
        if (n > *(volatile u32*)best) return;
        if (sha_root_nonce(r, n).w[0] < target) { atomicMin(best, n); return; }
    }
}

// ------------------------------------------------------------------ host reference, byte oriented
struct HostAes {
    std::array<u8, 256> sbox{};
    std::array<u32, 44> rk{};
    static u8 mul(u8 a, u8 b) {
        u8 r = 0;
        for (; b; b >>= 1, a = u8((a << 1) ^ ((a >> 7) * 0x1b))) if (b & 1) r ^= a;
        return r;
    }
    explicit HostAes(const std::array<u8, 16>& key) {
        for (int i = 0; i < 256; ++i) {
            u8 inv = 0;
            for (int j = 1; j < 256 && i; ++j) if (mul(u8(i), u8(j)) == 1) { inv = u8(j); break; }
            u8 s = inv;
            for (int k = 1; k < 5; ++k) s ^= u8((inv << k) | (inv >> (8 - k)));
            sbox[i] = s ^ 0x63;
        }
        for (int i = 0; i < 4; ++i) rk[i] = u32(key[4 * i]) << 24 | key[4 * i + 1] << 16 | key[4 * i + 2] << 8 | key[4 * i + 3];
        u8 rcon = 1;
        for (int i = 4; i < 44; ++i) {
            u32 t = rk[i - 1];
            if (i % 4 == 0) {
                t = rotr(t, 24);
                t = u32(sbox[t >> 24]) << 24 | sbox[(t >> 16) & 255] << 16 | sbox[(t >> 8) & 255] << 8 | sbox[t & 255];
                t ^= u32(rcon) << 24;
                rcon = mul(rcon, 2);
            }
            rk[i] = rk[i - 4] ^ t;
        }
    }
    void encrypt(const u8* in, u8* out) const {
        u8 s[16], t[16];
        auto add = [&](int r) { for (int i = 0; i < 16; ++i) s[i] ^= u8(rk[4 * r + i / 4] >> (24 - 8 * (i % 4))); };
        auto dbl = [](u8 a) { return u8((a << 1) ^ ((a >> 7) * 0x1b)); };
        std::memcpy(s, in, 16);
        add(0);
        for (int r = 1; r <= 10; ++r) {
            for (int c = 0; c < 4; ++c) for (int j = 0; j < 4; ++j) t[4 * c + j] = sbox[s[4 * ((c + j) % 4) + j]];
            for (int c = 0; c < 4; ++c) {
                const u8* q = t + 4 * c;
                for (int j = 0; j < 4; ++j)
                    s[4 * c + j] = r == 10 ? q[j] : u8(dbl(q[j]) ^ dbl(q[(j + 1) & 3]) ^ q[(j + 1) & 3] ^ q[(j + 2) & 3] ^ q[(j + 3) & 3]);
            }
            add(r);
        }
        std::memcpy(out, s, 16);
    }
};

static std::string hex(const Digest& d) {
    std::ostringstream os;
    for (u32 w : d.w) os << std::hex << std::setw(8) << std::setfill('0') << w;
    return os.str();
}

static bool self_test() {
    std::array<u8, 16> key, pt, ct;
    for (int i = 0; i < 16; ++i) { key[i] = u8(i); pt[i] = u8(0x11 * i); }
    HostAes(key).encrypt(pt.data(), ct.data());
    const std::array<u8, 16> want = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
    Digest st = sha_iv();
    u32 w[16] = {0x61626380};
    w[15] = 24;
    sha_block(st, w);
    return ct == want && hex(st) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
}

int main(int argc, char** argv) {
    if (!self_test()) { std::puts("known answer test failed\nFAIL"); return 1; }
    const int leaf_bytes = 512, nleaves = 4096;
    const u32 nonce_limit = 1u << 22, target = 1u << (argc > 1 ? std::atoi(argv[1]) : 15);
    const size_t bytes = (size_t)leaf_bytes * nleaves;

    std::mt19937 rng(0xC0FFEE);
    std::vector<u8> plain(bytes);
    for (size_t i = 0; i < bytes; ++i) plain[i] = "0123456789abcdef,;:-+ \n"[rng() % 23];
    std::array<u8, 16> key;
    for (auto& k : key) k = u8(rng());
    const uint4 iv = make_uint4(rng(), rng(), rng(), 0xfffffff0u & rng() & 0x0fffffffu);
    const HostAes aes(key);

    CK(cudaMemcpyToSymbol(c_k, h_k, sizeof h_k));
    CK(cudaMemcpyToSymbol(c_rk, aes.rk.data(), sizeof(u32) * 44));
    CK(cudaMemcpyToSymbol(c_sbox, aes.sbox.data(), 256));
    u8 *d_plain, *d_cipher;
    Digest *d_a, *d_b, *d_root;
    u32* d_best;
    CK(cudaMalloc(&d_plain, bytes));
    CK(cudaMalloc(&d_cipher, bytes));
    CK(cudaMalloc(&d_a, nleaves * sizeof(Digest)));
    CK(cudaMalloc(&d_b, nleaves / 2 * sizeof(Digest)));
    CK(cudaMalloc(&d_root, sizeof(Digest)));
    CK(cudaMalloc(&d_best, sizeof(u32)));
    cudaStream_t st;
    CK(cudaStreamCreate(&st));
    CK(cudaMemcpyAsync(d_plain, plain.data(), bytes, cudaMemcpyHostToDevice, st));
    CK(cudaMemsetAsync(d_best, 0xff, sizeof(u32), st));

    aes_ctr<<<96, 256, 0, st>>>((const uint4*)d_plain, (uint4*)d_cipher, bytes / 16, iv);
    hash_leaves<<<(nleaves + 63) / 64, 64, 0, st>>>(d_cipher, leaf_bytes, nleaves, d_a);
    Digest *src = d_a, *dst = d_b;
    int n = nleaves;
    for (; n > 256; n /= 2) {
        hash_level<<<(n / 2 + 127) / 128, 128, 0, st>>>(src, dst, n / 2);
        std::swap(src, dst);
    }
    hash_top<256><<<1, 128, 0, st>>>(src, d_root);
    search_nonce<<<128, 256, 0, st>>>(d_root, nonce_limit, target, d_best);
    CK(cudaGetLastError());

    std::vector<u8> cipher(bytes);
    Digest root;
    u32 best;
    CK(cudaMemcpyAsync(cipher.data(), d_cipher, bytes, cudaMemcpyDeviceToHost, st));
    CK(cudaMemcpyAsync(&root, d_root, sizeof root, cudaMemcpyDeviceToHost, st));
    CK(cudaMemcpyAsync(&best, d_best, sizeof best, cudaMemcpyDeviceToHost, st));
    CK(cudaStreamSynchronize(st));

    size_t bad = 0;
    std::vector<u8> ref(bytes);
    for (size_t b = 0; b < bytes / 16; ++b) {
        const u32 ctr[4] = {bswap(iv.x), bswap(iv.y), bswap(iv.z), bswap(iv.w + (u32)b)};
        u8 ks[16];
        aes.encrypt(reinterpret_cast<const u8*>(ctr), ks);
        for (int i = 0; i < 16; ++i) {
            ref[16 * b + i] = plain[16 * b + i] ^ ks[i];
            bad += ref[16 * b + i] != cipher[16 * b + i];
        }
    }
    std::vector<Digest> level(nleaves);
    for (int l = 0; l < nleaves; ++l) {
        level[l] = sha_iv();
        u32 w[16];
        for (int off = 0; off <= leaf_bytes; off += 64) {
            for (int i = 0; i < 16; ++i) {
                u32 v = 0;
                if (off < leaf_bytes) std::memcpy(&v, &ref[(size_t)l * leaf_bytes + off + 4 * i], 4);
                w[i] = bswap(v);
            }
            if (off == leaf_bytes) { w[0] = 0x80000000u; w[15] = leaf_bytes * 8; }
            sha_block(level[l], w);
        }
    }
    while (level.size() > 1) {
        std::vector<Digest> up(level.size() / 2);
        for (size_t i = 0; i < up.size(); ++i) up[i] = sha_pair(level[2 * i], level[2 * i + 1]);
        level.swap(up);
    }
    u32 nonce = 0xffffffffu;
    for (u32 k = 0; k < nonce_limit; ++k)
        if (sha_root_nonce(level[0], k).w[0] < target) { nonce = k; break; }

    const bool ok = bad == 0 && hex(root) == hex(level[0]) && nonce == best;
    std::printf("cipher mismatches %zu\nroot  %s\nref   %s\nnonce %u ref %u\n%s\n", bad, hex(root).c_str(), hex(level[0]).c_str(), best, nonce, ok ? "PASS" : "FAIL");
    for (void* p : {(void*)d_plain, (void*)d_cipher, (void*)d_a, (void*)d_b, (void*)d_root, (void*)d_best}) cudaFree(p);
    cudaStreamDestroy(st);
    return ok ? 0 : 1;
}
