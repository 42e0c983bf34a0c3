// AES-128: ECB with T-tables in constant memory, CTR with T-tables in shared memory, and a byte-wise version with the S-box only.
#include <cuda_runtime.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using Byte = std::uint8_t;
using Word = std::uint32_t;

#define CUDA_CALL(f) \
    if (cudaError_t rc = (f)) { std::fprintf(stderr, "%s -> %s\n", #f, cudaGetErrorString(rc)); std::exit(1); }

__constant__ Word cTable[4][256];
__constant__ Word cRoundKeys[44];
__constant__ Byte cSbox[256];

struct AesTables {
    std::array<Byte, 256> sbox{};
    std::array<std::array<Word, 256>, 4> t{};

    static constexpr Byte xtime(Byte b) { return static_cast<Byte>((b << 1) ^ ((b & 0x80) ? 0x1b : 0)); }

    AesTables()
    {
        Byte p = 1, q = 1;
        do {
            p = static_cast<Byte>(p ^ xtime(p));          // times 3
            q ^= static_cast<Byte>(q << 1);               // divided by 3
            q ^= static_cast<Byte>(q << 2);
            q ^= static_cast<Byte>(q << 4);
            if (q & 0x80) q ^= 0x09;
            auto rot = [&](int n) { return static_cast<Byte>((q << n) | (q >> (8 - n))); };
            sbox[p] = static_cast<Byte>(q ^ rot(1) ^ rot(2) ^ rot(3) ^ rot(4) ^ 0x63);
        } while (p != 1);
        sbox[0] = 0x63;
        for (int i = 0; i < 256; ++i) {
            const Word s = sbox[i], s2 = xtime(sbox[i]), s3 = s2 ^ s;
            t[0][i] = s2 << 24 | s << 16 | s << 8 | s3;
            for (int k = 1; k < 4; ++k) t[k][i] = t[k - 1][i] >> 8 | t[k - 1][i] << 24;
        }
    }
};

static std::array<Word, 44> expandKey(const AesTables &tab, const Byte key[16])
{
    std::array<Word, 44> rk{};
    for (int i = 0; i < 4; ++i) rk[i] = Word(key[4 * i]) << 24 | Word(key[4 * i + 1]) << 16 | Word(key[4 * i + 2]) << 8 | key[4 * i + 3];
    Byte rcon = 1;
    for (int i = 4; i < 44; ++i) {
        Word w = rk[i - 1];
        if (i % 4 == 0) {
            w = w << 8 | w >> 24;
            w = Word(tab.sbox[w >> 24]) << 24 | Word(tab.sbox[w >> 16 & 255]) << 16 | Word(tab.sbox[w >> 8 & 255]) << 8 | tab.sbox[w & 255];
            w ^= Word(rcon) << 24;
            rcon = AesTables::xtime(rcon);
        }
        rk[i] = rk[i - 4] ^ w;
    }
    return rk;
}

__host__ __device__ inline Word swap32(Word v) { return v >> 24 | (v >> 8 & 0xff00u) | (v << 8 & 0xff0000u) | v << 24; }

// T: something that gives T(table, index); B: the S-box
template <class T, class B>
__device__ __forceinline__ void encrypt(Word s[4], const T &table, const B &sub)
{
    for (int i = 0; i < 4; ++i) s[i] ^= cRoundKeys[i];
    Word n[4];
    for (int round = 1; round < 10; ++round) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            n[i] = table(0, s[i] >> 24) ^ table(1, s[(i + 1) & 3] >> 16 & 255) ^ table(2, s[(i + 2) & 3] >> 8 & 255) ^ table(3, s[(i + 3) & 3] & 255) ^
                   cRoundKeys[4 * round + i];
#pragma unroll
        for (int i = 0; i < 4; ++i) s[i] = n[i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        n[i] = (sub(s[i] >> 24) << 24 | sub(s[(i + 1) & 3] >> 16 & 255) << 16 | sub(s[(i + 2) & 3] >> 8 & 255) << 8 | sub(s[(i + 3) & 3] & 255)) ^ cRoundKeys[40 + i];
#pragma unroll
    for (int i = 0; i < 4; ++i) s[i] = n[i];
}

__global__ void ecbConstant(const uint4 *in, uint4 *out, int blocks)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= blocks) return;
    const uint4 v = in[i];
    Word s[4] = {swap32(v.x), swap32(v.y), swap32(v.z), swap32(v.w)};
    encrypt(s, [](int t, Word x) { return cTable[t][x]; }, [](Word x) -> Word { return cSbox[x]; });
    out[i] = make_uint4(swap32(s[0]), swap32(s[1]), swap32(s[2]), swap32(s[3]));
}

// one table, the other three by rotation
__global__ void ctrShared(const uint4 *__restrict__ in, uint4 *__restrict__ out, int blocks, const Word *__restrict__ table, const Byte *__restrict__ sbox, Word nonce)
{
    __shared__ Word t0[256];
    __shared__ Byte sb[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        t0[k] = table[k];
        sb[k] = sbox[k];
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += gridDim.x * blockDim.x) {
        Word s[4] = {nonce, ~nonce, 0, static_cast<Word>(i)};
        encrypt(s, [&](int t, Word x) { return __funnelshift_r(t0[x], t0[x], 8 * t); }, [&](Word x) -> Word { return sb[x]; });
        const uint4 v = in[i];
        out[i] = make_uint4(v.x ^ swap32(s[0]), v.y ^ swap32(s[1]), v.z ^ swap32(s[2]), v.w ^ swap32(s[3]));
    }
}

// byte by byte, state in a local array, four threads could do better
__global__ void ecbBytes(const Byte *in, Byte *out, int blocks, const Byte *sbox)
{
    extern __shared__ Byte state[];       // 16 bytes a thread
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= blocks) return;
    Byte *s = state + threadIdx.x * 16;
    auto key = [](int round, int k) { return static_cast<Byte>(cRoundKeys[4 * round + k / 4] >> (24 - 8 * (k % 4))); };
    for (int k = 0; k < 16; ++k) s[k] = in[i * 16 + k] ^ key(0, k);
    for (int round = 1; round <= 10; ++round) {
        Byte t[16];
#pragma unroll
        for (int k = 0; k < 16; ++k) t[k] = __ldg(sbox + s[(k + 4 * (k % 4)) % 16]);
#pragma unroll
        for (int c = 0; c < 16; c += 4) {
            if (round < 10) {
                const Byte all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3], first = t[c];
                for (int r = 0; r < 4; ++r) {
                    const Byte pair = t[c + r] ^ (r < 3 ? t[c + r + 1] : first);
                    s[c + r] = t[c + r] ^ all ^ static_cast<Byte>((pair << 1) ^ ((pair >> 7) * 0x1b)) ^ key(round, c + r);
                }
            } else {
                for (int r = 0; r < 4; ++r) s[c + r] = t[c + r] ^ key(round, c + r);
            }
        }
    }
    for (int k = 0; k < 16; ++k) out[i * 16 + k] = s[k];
}

static void hostEncrypt(const AesTables &tab, const std::array<Word, 44> &rk, const Byte in[16], Byte out[16])
{
    Byte s[16], t[16];
    auto key = [&](int round, int k) { return static_cast<Byte>(rk[4 * round + k / 4] >> (24 - 8 * (k % 4))); };
    for (int k = 0; k < 16; ++k) s[k] = in[k] ^ key(0, k);
    for (int round = 1; round <= 10; ++round) {
        for (int k = 0; k < 16; ++k) t[k] = tab.sbox[s[(k + 4 * (k % 4)) % 16]];
        for (int k = 0; k < 16; ++k) {
            const int c = k & ~3, r = k & 3;
            auto x2 = [](Byte b) { return AesTables::xtime(b); };
            const Byte a = t[c + r], b = t[c + (r + 1) % 4], d = t[c + (r + 2) % 4], e = t[c + (r + 3) % 4];
            s[k] = (round < 10 ? Byte(x2(a) ^ x2(b) ^ b ^ d ^ e) : a) ^ key(round, k);
        }
    }
    std::memcpy(out, s, 16);
}

int main()
{
    const AesTables tab;
    const Byte key[16] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f};
    const auto rk = expandKey(tab, key);
    const int blocks = 60000, bytes = blocks * 16;
    std::vector<Byte> plain(bytes), cipher(bytes), got(bytes);
    for (int i = 0; i < bytes; ++i) plain[i] = i < 16 ? Byte(i * 0x11) : Byte((i * 2246822519u) >> 21);
    for (int b = 0; b < blocks; ++b) hostEncrypt(tab, rk, &plain[b * 16], &cipher[b * 16]);
    const Byte fips[4] = {0x69, 0xc4, 0xe0, 0xd8};
    bool ok = std::memcmp(cipher.data(), fips, 4) == 0;

    Byte *dIn, *dOut, *dSbox;
    Word *dTable;
    CUDA_CALL(cudaMalloc(&dIn, bytes))
    CUDA_CALL(cudaMalloc(&dOut, bytes))
    CUDA_CALL(cudaMalloc(&dSbox, 256))
    CUDA_CALL(cudaMalloc(&dTable, 1024))
    CUDA_CALL(cudaMemcpy(dIn, plain.data(), bytes, cudaMemcpyHostToDevice))
    CUDA_CALL(cudaMemcpy(dSbox, tab.sbox.data(), 256, cudaMemcpyHostToDevice))
    CUDA_CALL(cudaMemcpy(dTable, tab.t[0].data(), 1024, cudaMemcpyHostToDevice))
    CUDA_CALL(cudaMemcpyToSymbol(cTable, tab.t.data(), 4096))
    CUDA_CALL(cudaMemcpyToSymbol(cRoundKeys, rk.data(), 176))
    CUDA_CALL(cudaMemcpyToSymbol(cSbox, tab.sbox.data(), 256))
    auto fetch = [&] {
        CUDA_CALL(cudaGetLastError())
        CUDA_CALL(cudaMemcpy(got.data(), dOut, bytes, cudaMemcpyDeviceToHost))
        CUDA_CALL(cudaMemset(dOut, 0, bytes))
    };

    ecbConstant<<<(blocks + 255) / 256, 256>>>(reinterpret_cast<uint4 *>(dIn), reinterpret_cast<uint4 *>(dOut), blocks);
    fetch();
    std::printf("ecb, constant tables: %d\n", got == cipher);
    ok = ok && got == cipher;

    ecbBytes<<<(blocks + 127) / 128, 128, 128 * 16>>>(dIn, dOut, blocks, dSbox);
    fetch();
    std::printf("ecb, bytes:           %d\n", got == cipher);
    ok = ok && got == cipher;

    const Word nonce = 0x13579bdf;
    ctrShared<<<100, 192>>>(reinterpret_cast<uint4 *>(dIn), reinterpret_cast<uint4 *>(dOut), blocks, dTable, dSbox, nonce);
    fetch();
    bool ctr = true;
    for (int b = 0; b < blocks; ++b) {
        const Word counter[4] = {swap32(nonce), swap32(~nonce), 0, swap32(Word(b))};
        Byte stream[16];
        hostEncrypt(tab, rk, reinterpret_cast<const Byte *>(counter), stream);
        for (int k = 0; k < 16; ++k) ctr = ctr && got[b * 16 + k] == (plain[b * 16 + k] ^ stream[k]);
    }
    std::printf("ctr, shared table:    %d\n", ctr);
    ok = ok && ctr;
    std::puts(ok ? "OK" : "FAIL");
    return !ok;
}
