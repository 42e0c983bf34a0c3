/* scrypt (r = 1, p = 1) ROMix core in the three scratchpad layouts that miners fight about:
 *   flat    : each thread owns N * 128 contiguous bytes
 *   inter   : 16-byte words of all threads of the launch interleaved
 *   quad    : four lanes share one hash, Salsa20/8 on diagonals with shuffles
 *   shared  : tiny N, the scratchpad lives in shared memory
 * The PBKDF2 ends are replaced by a cheap expander so that the CPU check stays short. */
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

typedef uint32_t u32;
typedef uint64_t u64;

#define CUDA_SAFE_CALL(call)                                                           \
  do {                                                                                 \
    cudaError_t err = call;                                                            \
    if (cudaSuccess != err) {                                                          \
      fprintf(stderr, "Cuda error in '%s' line %i: %s\n", __FILE__, __LINE__,          \
              cudaGetErrorString(err));                                                \
      exit(EXIT_FAILURE);                                                              \
    }                                                                                  \
  } while (0)

#define ROTL(a, b) (((a) << (b)) | ((a) >> (32 - (b))))
#define QUARTER(a, b, c, d)   \
  b ^= ROTL((a + d), 7);      \
  c ^= ROTL((b + a), 9);      \
  d ^= ROTL((c + b), 13);     \
  a ^= ROTL((d + c), 18);

static constexpr int SCRYPT_N = 64;    /* big pad */
static constexpr int SMALL_N = 8;      /* shared-memory variant */

__host__ __device__ __forceinline__ u32 expand_word(u32 nonce, u32 i)
{
  u32 x = nonce * 0x9E3779B9u ^ (i + 1u) * 0x85EBCA6Bu;
  x ^= x >> 15; x *= 0x2C1B3C6Du;
  x ^= x >> 12; x *= 0x297A2D39u;
  return x ^ (x >> 15);
}

__host__ __device__ __forceinline__ void salsa8(u32 (&x)[16])
{
  u32 s[16];
#pragma unroll
  for (int i = 0; i < 16; i++) s[i] = x[i];
#pragma unroll 1
  for (int i = 0; i < 4; i++) {
    QUARTER(s[0], s[4], s[8], s[12]) QUARTER(s[5], s[9], s[13], s[1])
    QUARTER(s[10], s[14], s[2], s[6]) QUARTER(s[15], s[3], s[7], s[11])
    QUARTER(s[0], s[1], s[2], s[3]) QUARTER(s[5], s[6], s[7], s[4])
    QUARTER(s[10], s[11], s[8], s[9]) QUARTER(s[15], s[12], s[13], s[14])
  }
#pragma unroll
  for (int i = 0; i < 16; i++) x[i] += s[i];
}

__host__ __device__ __forceinline__ void blockmix(u32 (&lo)[16], u32 (&hi)[16])
{
#pragma unroll
  for (int i = 0; i < 16; i++) lo[i] ^= hi[i];
  salsa8(lo);
#pragma unroll
  for (int i = 0; i < 16; i++) hi[i] ^= lo[i];
  salsa8(hi);
}

/* state B: 32 words per hash, stored hash-major (AoS of 128 bytes) */
__global__ void k_expand(u32 first, u32 *B, int hashes)
{
  int gid = blockIdx.x * blockDim.x + threadIdx.x;
  if (gid >= hashes * 32) return;
  B[gid] = expand_word(first + gid / 32, gid % 32);
}

__device__ __forceinline__ void load_state(const u32 *B, int h, u32 (&lo)[16], u32 (&hi)[16])
{
  const uint4 *p = (const uint4 *)(B + h * 32);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    uint4 a = p[i], b = p[i + 4];
    lo[4 * i] = a.x; lo[4 * i + 1] = a.y; lo[4 * i + 2] = a.z; lo[4 * i + 3] = a.w;
    hi[4 * i] = b.x; hi[4 * i + 1] = b.y; hi[4 * i + 2] = b.z; hi[4 * i + 3] = b.w;
  }
}
__device__ __forceinline__ void store_state(u32 *B, int h, const u32 (&lo)[16], const u32 (&hi)[16])
{
  uint4 *p = (uint4 *)(B + h * 32);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    p[i] = make_uint4(lo[4 * i], lo[4 * i + 1], lo[4 * i + 2], lo[4 * i + 3]);
    p[i + 4] = make_uint4(hi[4 * i], hi[4 * i + 1], hi[4 * i + 2], hi[4 * i + 3]);
  }
}

template <bool INTERLEAVED>
__global__ void k_romix(const u32 *Bin, u32 *Bout, uint4 *V, int hashes)
{
  const int h = blockIdx.x * blockDim.x + threadIdx.x;
  if (h >= hashes) return;
  u32 lo[16], hi[16];
  load_state(Bin, h, lo, hi);
  for (int n = 0; n < SCRYPT_N; n++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      size_t at0 = INTERLEAVED ? (size_t)(n * 8 + i) * hashes + h : (size_t)h * SCRYPT_N * 8 + n * 8 + i;
      size_t at1 = INTERLEAVED ? (size_t)(n * 8 + 4 + i) * hashes + h : (size_t)h * SCRYPT_N * 8 + n * 8 + 4 + i;
      V[at0] = make_uint4(lo[4 * i], lo[4 * i + 1], lo[4 * i + 2], lo[4 * i + 3]);
      V[at1] = make_uint4(hi[4 * i], hi[4 * i + 1], hi[4 * i + 2], hi[4 * i + 3]);
    }
    blockmix(lo, hi);
  }
  for (int n = 0; n < SCRYPT_N; n++) {
    const int j = hi[0] & (SCRYPT_N - 1);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      size_t at0 = INTERLEAVED ? (size_t)(j * 8 + i) * hashes + h : (size_t)h * SCRYPT_N * 8 + j * 8 + i;
      size_t at1 = INTERLEAVED ? (size_t)(j * 8 + 4 + i) * hashes + h : (size_t)h * SCRYPT_N * 8 + j * 8 + 4 + i;
      uint4 a = V[at0];
      uint4 b = V[at1];
      lo[4 * i] ^= a.x; lo[4 * i + 1] ^= a.y; lo[4 * i + 2] ^= a.z; lo[4 * i + 3] ^= a.w;
      hi[4 * i] ^= b.x; hi[4 * i + 1] ^= b.y; hi[4 * i + 2] ^= b.z; hi[4 * i + 3] ^= b.w;
    }
    blockmix(lo, hi);
  }
  store_state(Bout, h, lo, hi);
}

/* ---- quad version: lane q of 4 holds diagonal words (5q + 4j) mod 16 ---- */
__device__ __forceinline__ void salsa8_quad(uint4 &v, int q)
{
  uint4 s = v;
#pragma unroll 1
  for (int i = 0; i < 4; i++) {
    QUARTER(s.x, s.y, s.z, s.w)
    u32 b = __shfl_sync(0xffffffffu, s.w, q + 1, 4);
    u32 c = __shfl_sync(0xffffffffu, s.z, q + 2, 4);
    u32 d = __shfl_sync(0xffffffffu, s.y, q + 3, 4);
    QUARTER(s.x, b, c, d)
    s.w = __shfl_sync(0xffffffffu, b, q + 3, 4);
    s.z = __shfl_sync(0xffffffffu, c, q + 2, 4);
    s.y = __shfl_sync(0xffffffffu, d, q + 1, 4);
  }
  v.x += s.x; v.y += s.y; v.z += s.z; v.w += s.w;
}
__device__ __forceinline__ void xor4(uint4 &a, const uint4 &b) { a.x ^= b.x; a.y ^= b.y; a.z ^= b.z; a.w ^= b.w; }

__global__ void k_romix_quad(const u32 *Bin, u32 *Bout, uint4 *V, int hashes)
{
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int q = t & 3;
  const int h = t >> 2;
  const int hc = h < hashes ? h : hashes - 1;     /* keep the warp whole for the shuffles */
  const u32 *src = Bin + hc * 32;
  uint4 lo, hi;
  lo.x = src[(5 * q) & 15];      lo.y = src[(5 * q + 4) & 15];
  lo.z = src[(5 * q + 8) & 15];  lo.w = src[(5 * q + 12) & 15];
  hi.x = src[16 + ((5 * q) & 15)];     hi.y = src[16 + ((5 * q + 4) & 15)];
  hi.z = src[16 + ((5 * q + 8) & 15)]; hi.w = src[16 + ((5 * q + 12) & 15)];
  uint4 *pad = V + (size_t)hc * SCRYPT_N * 8;
  for (int n = 0; n < SCRYPT_N; n++) {
    pad[n * 8 + q] = lo;
    pad[n * 8 + 4 + q] = hi;
    xor4(lo, hi); salsa8_quad(lo, q);
    xor4(hi, lo); salsa8_quad(hi, q);
  }
  for (int n = 0; n < SCRYPT_N; n++) {
    const int j = __shfl_sync(0xffffffffu, hi.x, 0, 4) & (SCRYPT_N - 1);
    xor4(lo, pad[j * 8 + q]);
    xor4(hi, pad[j * 8 + 4 + q]);
    xor4(lo, hi); salsa8_quad(lo, q);
    xor4(hi, lo); salsa8_quad(hi, q);
  }
  if (h >= hashes) return;
  u32 *dst = Bout + h * 32;
  dst[(5 * q) & 15] = lo.x;      dst[(5 * q + 4) & 15] = lo.y;
  dst[(5 * q + 8) & 15] = lo.z;  dst[(5 * q + 12) & 15] = lo.w;
  dst[16 + ((5 * q) & 15)] = hi.x;     dst[16 + ((5 * q + 4) & 15)] = hi.y;
  dst[16 + ((5 * q + 8) & 15)] = hi.z; dst[16 + ((5 * q + 12) & 15)] = hi.w;
}

/* ---- shared scratchpad: word w of entry n of thread t at (n * 32 + w) * T + t, or thread-major if ROWS ---- */
template <int T, bool ROWS>
__global__ void k_romix_shared(const u32 *Bin, u32 *Bout, int hashes)
{
  extern __shared__ u32 pad[];
  const int t = threadIdx.x;
  const int h = blockIdx.x * T + t;
  if (h >= hashes) return;
  u32 lo[16], hi[16];
  load_state(Bin, h, lo, hi);
  for (int n = 0; n < SMALL_N; n++) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      pad[ROWS ? (t * SMALL_N + n) * 32 + i : (n * 32 + i) * T + t] = lo[i];
      pad[ROWS ? (t * SMALL_N + n) * 32 + 16 + i : (n * 32 + 16 + i) * T + t] = hi[i];
    }
    blockmix(lo, hi);
  }
  for (int n = 0; n < SMALL_N; n++) {
    const int j = hi[0] & (SMALL_N - 1);
#pragma unroll
    for (int i = 0; i < 16; i++) {
      lo[i] ^= pad[ROWS ? (t * SMALL_N + j) * 32 + i : (j * 32 + i) * T + t];
      hi[i] ^= pad[ROWS ? (t * SMALL_N + j) * 32 + 16 + i : (j * 32 + 16 + i) * T + t];
    }
    blockmix(lo, hi);
  }
  store_state(Bout, h, lo, hi);
}

__global__ void k_check_target(const u32 *B, int hashes, u32 target, u32 first, u32 *found, u32 *count, int cap)
{
  int h = blockIdx.x * blockDim.x + threadIdx.x;
  if (h < hashes && B[h * 32 + 31] <= target) {
    u32 slot = atomicAdd(count, 1u);
    if (slot < (u32)cap) found[slot] = first + h;
  }
}

static void cpu_romix(u32 nonce, int N, u32 *out)
{
  u32 lo[16], hi[16];
  std::vector<u32> V((size_t)N * 32);
  for (int i = 0; i < 16; i++) { lo[i] = expand_word(nonce, i); hi[i] = expand_word(nonce, i + 16); }
  for (int n = 0; n < N; n++) {
    memcpy(&V[n * 32], lo, 64); memcpy(&V[n * 32 + 16], hi, 64);
    blockmix(lo, hi);
  }
  for (int n = 0; n < N; n++) {
    int j = hi[0] & (N - 1);
    for (int i = 0; i < 16; i++) { lo[i] ^= V[j * 32 + i]; hi[i] ^= V[j * 32 + 16 + i]; }
    blockmix(lo, hi);
  }
  memcpy(out, lo, 64); memcpy(out + 16, hi, 64);
}

int main(int argc, char **argv)
{
  const int hashes = argc > 1 ? atoi(argv[1]) : 1500;
  const u32 first = 0x00C0FFEEu, target = 0x10000000u;
  const int CAP = 1024;
  u32 *dB, *dO, *dFound, *dCount;
  uint4 *dV;
  CUDA_SAFE_CALL(cudaMalloc(&dB, hashes * 128));
  CUDA_SAFE_CALL(cudaMalloc(&dO, hashes * 128));
  CUDA_SAFE_CALL(cudaMalloc(&dV, (size_t)hashes * SCRYPT_N * 128));
  CUDA_SAFE_CALL(cudaMalloc(&dFound, CAP * 4));
  CUDA_SAFE_CALL(cudaMalloc(&dCount, 4));
  CUDA_SAFE_CALL(cudaFuncSetAttribute(k_romix_shared<64, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * SMALL_N * 128));
  CUDA_SAFE_CALL(cudaFuncSetAttribute(k_romix_shared<64, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * SMALL_N * 128));

  std::vector<u32> big(hashes * 32), small(hashes * 32), got(hashes * 32);
  for (int h = 0; h < hashes; h++) { cpu_romix(first + h, SCRYPT_N, &big[h * 32]); cpu_romix(first + h, SMALL_N, &small[h * 32]); }

  k_expand<<<(hashes * 32 + 255) / 256, 256>>>(first, dB, hashes);
  int bad = 0;
  const char *names[5] = {"flat", "inter", "quad", "shared", "shared-rows"};
  for (int v = 0; v < 5; v++) {
    CUDA_SAFE_CALL(cudaMemset(dO, 0, hashes * 128));
    if (v == 0) k_romix<false><<<(hashes + 127) / 128, 128>>>(dB, dO, dV, hashes);
    else if (v == 1) k_romix<true><<<(hashes + 127) / 128, 128>>>(dB, dO, dV, hashes);
    else if (v == 2) k_romix_quad<<<(hashes * 4 + 127) / 128, 128>>>(dB, dO, dV, hashes);
    else if (v == 3) k_romix_shared<64, false><<<(hashes + 63) / 64, 64, 64 * SMALL_N * 128>>>(dB, dO, hashes);
    else k_romix_shared<64, true><<<(hashes + 63) / 64, 64, 64 * SMALL_N * 128>>>(dB, dO, hashes);
    CUDA_SAFE_CALL(cudaDeviceSynchronize());
    CUDA_SAFE_CALL(cudaMemcpy(got.data(), dO, hashes * 128, cudaMemcpyDeviceToHost));
    int e = memcmp(got.data(), v < 3 ? big.data() : small.data(), hashes * 128) != 0;
    printf("%-12s %s\n", names[v], e ? "mismatch" : "ok");
    bad += e;
    if (v == 2) {
      CUDA_SAFE_CALL(cudaMemset(dCount, 0, 4));
      k_check_target<<<(hashes + 255) / 256, 256>>>(dO, hashes, target, first, dFound, dCount, CAP);
      u32 cnt, want = 0, wx = 0, gx = 0, f[CAP];
      CUDA_SAFE_CALL(cudaMemcpy(&cnt, dCount, 4, cudaMemcpyDeviceToHost));
      CUDA_SAFE_CALL(cudaMemcpy(f, dFound, CAP * 4, cudaMemcpyDeviceToHost));
      for (int h = 0; h < hashes; h++) if (big[h * 32 + 31] <= target) { want++; wx += (first + h) * 2654435761u; }
      for (u32 i = 0; i < cnt && i < (u32)CAP; i++) gx += f[i] * 2654435761u;
      printf("golden nonces %u (expected %u)\n", cnt, want);
      bad += cnt != want || (cnt <= (u32)CAP && gx != wx);
    }
  }
  printf("%s\n", bad ? "FAIL" : "PASS");
  return bad != 0;
}
