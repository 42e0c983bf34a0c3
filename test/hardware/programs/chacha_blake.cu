// Encrypt-then-hash of many records: ChaCha20 stream (two layouts) and BLAKE2s digests, then a Merkle root.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace crypto {

__host__ __device__ __forceinline__ uint32_t rotl(uint32_t x, int n) { return (x << n) | (x >> (32 - n)); }
__host__ __device__ __forceinline__ uint32_t rotr(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

__host__ __device__ __forceinline__ void quarter(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  a += b; d = rotl(d ^ a, 16);
  c += d; b = rotl(b ^ c, 12);
  a += b; d = rotl(d ^ a, 8);
  c += d; b = rotl(b ^ c, 7);
}

struct ChaKey {
  uint32_t key[8];
  uint32_t nonce[3];
};

__host__ __device__ inline void chacha_block(const ChaKey& k, uint32_t counter, uint32_t* out) {
  uint32_t s[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, k.key[0], k.key[1], k.key[2], k.key[3],
                    k.key[4], k.key[5], k.key[6], k.key[7], counter, k.nonce[0], k.nonce[1], k.nonce[2]};
  uint32_t x[16];
  for (int i = 0; i < 16; ++i) x[i] = s[i];
  for (int r = 0; r < 10; ++r) {
    quarter(x[0], x[4], x[8], x[12]);
    quarter(x[1], x[5], x[9], x[13]);
    quarter(x[2], x[6], x[10], x[14]);
    quarter(x[3], x[7], x[11], x[15]);
    quarter(x[0], x[5], x[10], x[15]);
    quarter(x[1], x[6], x[11], x[12]);
    quarter(x[2], x[7], x[8], x[13]);
    quarter(x[3], x[4], x[9], x[14]);
  }
  for (int i = 0; i < 16; ++i) out[i] = x[i] + s[i];
}

__constant__ uint8_t d_sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
static uint8_t h_sigma[10][16];

__host__ __device__ __forceinline__ uint32_t iv(int i) {
  const uint32_t v[8] = {0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au, 0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u};
  return v[i];
}

__host__ __device__ __forceinline__ void mix(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t x, uint32_t y) {
  a = a + b + x; d = rotr(d ^ a, 16);
  c = c + d;     b = rotr(b ^ c, 12);
  a = a + b + y; d = rotr(d ^ a, 8);
  c = c + d;     b = rotr(b ^ c, 7);
}

// m may live in local, shared or global memory with an arbitrary stride
__host__ __device__ inline void blake2s_compress(const uint8_t (*sigma)[16], uint32_t* h, const uint32_t* m, int stride, uint32_t t, bool last) {
  uint32_t v[16];
  for (int i = 0; i < 8; ++i) {
    v[i] = h[i];
    v[i + 8] = iv(i);
  }
  v[12] ^= t;
  if (last) v[14] = ~v[14];
  for (int r = 0; r < 10; ++r) {
    const uint8_t* s = sigma[r];
    mix(v[0], v[4], v[8], v[12], m[s[0] * stride], m[s[1] * stride]);
    mix(v[1], v[5], v[9], v[13], m[s[2] * stride], m[s[3] * stride]);
    mix(v[2], v[6], v[10], v[14], m[s[4] * stride], m[s[5] * stride]);
    mix(v[3], v[7], v[11], v[15], m[s[6] * stride], m[s[7] * stride]);
    mix(v[0], v[5], v[10], v[15], m[s[8] * stride], m[s[9] * stride]);
    mix(v[1], v[6], v[11], v[12], m[s[10] * stride], m[s[11] * stride]);
    mix(v[2], v[7], v[8], v[13], m[s[12] * stride], m[s[13] * stride]);
    mix(v[3], v[4], v[9], v[14], m[s[14] * stride], m[s[15] * stride]);
  }
  for (int i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

__host__ __device__ inline void blake2s_begin(uint32_t* h) {
  for (int i = 0; i < 8; ++i) h[i] = iv(i);
  h[0] ^= 0x01010020u;
}

// thread per 64-byte block; every thread streams its own 64 bytes
__global__ void chacha_xor_simple(ChaKey k, uint32_t ctr0, const uint32_t* in, uint32_t* out, int nblocks) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= nblocks) return;
  uint32_t ks[16];
  chacha_block(k, ctr0 + b, ks);
#pragma unroll
  for (int i = 0; i < 16; ++i) out[b * 16 + i] = in[b * 16 + i] ^ ks[i];
}

// keystream staged through shared memory so that the xor is coalesced
__global__ void __launch_bounds__(128) chacha_xor_staged(ChaKey k, uint32_t ctr0, const uint4* in, uint4* out, int nblocks) {
  __shared__ uint32_t stage[128 * 17];
  int b = blockIdx.x * 128 + threadIdx.x;
  uint32_t ks[16];
  chacha_block(k, ctr0 + b, ks);
#pragma unroll
  for (int i = 0; i < 16; ++i) stage[threadIdx.x * 17 + i] = ks[i];
  __syncthreads();
  for (int e = threadIdx.x; e < 128 * 4; e += 128) {
    int blk = e / 4;
    if (blockIdx.x * 128 + blk >= nblocks) break;
    const uint32_t* s = &stage[blk * 17 + (e % 4) * 4];
    uint4 v = in[blockIdx.x * 512 + e];
    v.x ^= s[0];
    v.y ^= s[1];
    v.z ^= s[2];
    v.w ^= s[3];
    out[blockIdx.x * 512 + e] = v;
  }
}

// thread per record, words read straight from the row-major record array
__global__ void blake_records(const uint32_t* data, int words_per_rec, int nrec, uint32_t* digest) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= nrec) return;
  uint32_t h[8];
  blake2s_begin(h);
  for (int w = 0; w < words_per_rec; w += 16)
    blake2s_compress(d_sigma, h, data + (size_t)r * words_per_rec + w, 1, (w + 16) * 4, w + 16 == words_per_rec);
  for (int i = 0; i < 8; ++i) digest[r * 8 + i] = h[i];
}

// same digests, one 64-byte message block per thread staged in shared memory, transposed
__global__ void blake_records_shared(const uint32_t* data, int words_per_rec, int nrec, uint32_t* digest) {
  extern __shared__ uint32_t msg[];  // [16][blockDim.x]
  int r0 = blockIdx.x * blockDim.x;
  uint32_t h[8];
  blake2s_begin(h);
  for (int w = 0; w < words_per_rec; w += 16) {
    __syncthreads();
    for (int e = threadIdx.x; e < 16 * (int)blockDim.x; e += blockDim.x) {
      int rec = e / 16;
      int word = e % 16;
      msg[word * blockDim.x + rec] = r0 + rec < nrec ? data[(size_t)(r0 + rec) * words_per_rec + w + word] : 0;
    }
    __syncthreads();
    blake2s_compress(d_sigma, h, msg + threadIdx.x, blockDim.x, (w + 16) * 4, w + 16 == words_per_rec);
  }
  if (r0 + threadIdx.x < nrec)
    for (int i = 0; i < 8; ++i) digest[(r0 + threadIdx.x) * 8 + i] = h[i];
}

// one tree level: parent = H(left || right); exactly one 64-byte block
__global__ void merkle_level(const uint32_t* child, uint32_t* parent, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t m[16];
  const uint4* src = reinterpret_cast<const uint4*>(child + i * 16);
  for (int q = 0; q < 4; ++q) {
    uint4 v = src[q];
    m[4 * q] = v.x;
    m[4 * q + 1] = v.y;
    m[4 * q + 2] = v.z;
    m[4 * q + 3] = v.w;
  }
  uint32_t h[8];
  blake2s_begin(h);
  blake2s_compress(d_sigma, h, m, 1, 64, true);
  for (int q = 0; q < 8; ++q) parent[i * 8 + q] = h[q];
}

}  // namespace crypto

#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e_)); std::exit(1); } } while (0)

int main() {
  using namespace crypto;
  const int NREC = 4096, WPR = 128, NB = NREC * WPR / 16;
  const size_t words = (size_t)NREC * WPR;
  std::vector<uint32_t> plain(words), ref(words), c1(words), c2(words);
  uint64_t s = 0x9E3779B97F4A7C15ull;
  for (auto& w : plain) {
    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
    w = uint32_t((s * 2685821657736338717ull) >> 32);
  }
  ChaKey key;
  for (int i = 0; i < 8; ++i) key.key[i] = 0x03020100u + 0x04040404u * i;
  key.nonce[0] = 0x09000000u;
  key.nonce[1] = 0x4a000000u;
  key.nonce[2] = 0;

  uint32_t *dP, *dC1, *dC2, *dD1, *dD2, *dT;
  OK(cudaMalloc(&dP, words * 4));
  OK(cudaMalloc(&dC1, words * 4));
  OK(cudaMalloc(&dC2, words * 4));
  OK(cudaMalloc(&dD1, NREC * 32));
  OK(cudaMalloc(&dD2, NREC * 32));
  OK(cudaMalloc(&dT, NREC * 32));
  OK(cudaMemcpy(dP, plain.data(), words * 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpyFromSymbol(h_sigma, d_sigma, sizeof(h_sigma)));

  chacha_xor_simple<<<(NB + 255) / 256, 256>>>(key, 1, dP, dC1, NB);
  chacha_xor_staged<<<(NB + 127) / 128, 128>>>(key, 1, (const uint4*)dP, (uint4*)dC2, NB);
  blake_records<<<NREC / 64, 64>>>(dC1, WPR, NREC, dD1);
  blake_records_shared<<<NREC / 64, 64, 16 * 64 * 4>>>(dC2, WPR, NREC, dD2);
  std::vector<uint32_t> d1(NREC * 8), d2(NREC * 8);
  OK(cudaMemcpy(d1.data(), dD1, NREC * 32, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(d2.data(), dD2, NREC * 32, cudaMemcpyDeviceToHost));
  uint32_t *a = dD1, *b = dT;
  for (int n = NREC / 2; n >= 1; n /= 2) {
    merkle_level<<<(n + 127) / 128, 128>>>(a, b, n);
    std::swap(a, b);
  }
  uint32_t root[8];
  OK(cudaMemcpy(root, a, 32, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(c1.data(), dC1, words * 4, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(c2.data(), dC2, words * 4, cudaMemcpyDeviceToHost));

  for (int blk = 0; blk < NB; ++blk) {
    uint32_t ks[16];
    chacha_block(key, 1 + blk, ks);
    for (int i = 0; i < 16; ++i) ref[blk * 16 + i] = plain[blk * 16 + i] ^ ks[i];
  }
  std::vector<uint32_t> dig(NREC * 8);
  for (int r = 0; r < NREC; ++r) {
    uint32_t* h = &dig[r * 8];
    blake2s_begin(h);
    for (int w = 0; w < WPR; w += 16) blake2s_compress(h_sigma, h, &ref[(size_t)r * WPR + w], 1, (w + 16) * 4, w + 16 == WPR);
  }
  bool ok = ref == c1 && ref == c2 && dig == d1 && dig == d2;
  for (int n = NREC / 2; n >= 1; n /= 2)
    for (int i = 0; i < n; ++i) {
      uint32_t m[16], h[8];
      std::memcpy(m, &dig[i * 16], 64);
      blake2s_begin(h);
      blake2s_compress(h_sigma, h, m, 1, 64, true);
      std::memcpy(&dig[i * 8], h, 32);
    }
  ok = ok && std::memcmp(root, dig.data(), 32) == 0;
  std::printf("root %08x%08x...\n%s\n", root[0], root[1], ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
