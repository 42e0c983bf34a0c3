// Mask attack on a list of MD5 digests, in the manner of password-recovery
// kernels: words are packed into w[16], the first word is swept by an inner
// loop over a table of left-hand combinations, digests are pre-filtered by
// bitmaps, then searched in a sorted list, with hits reported through atomics.
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

typedef uint32_t u32;
typedef uint64_t u64;

#define HC_CHECK(x)                                                                        \
  do {                                                                                     \
    cudaError_t rc_ = (x);                                                                 \
    if (rc_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); exit(-1); } \
  } while (0)

#define DECLSPEC __host__ __device__ __forceinline__

DECLSPEC u32 hc_rotl32(u32 a, int n) { return (a << n) | (a >> (32 - n)); }

#define MD5_F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define MD5_G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define MD5_H(x, y, z) ((x) ^ (y) ^ (z))
#define MD5_I(x, y, z) ((y) ^ ((x) | ~(z)))

#define MD5_STEP(f, a, b, c, d, x, K, s) \
  {                                      \
    a += K + x + f(b, c, d);             \
    a = hc_rotl32(a, s) + b;             \
  }

struct digest_t { u32 v[4]; };
struct plain_t { u32 gid, il_pos, digest_pos, len; };
struct pw_t { u32 i[4]; u32 pw_len; };        // 20 bytes, as the dictionary arrives

// message words of a single block: at most 15 characters in w0..w3
DECLSPEC void md5_transform(const u32 *w, u32 *digest)
{
  u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
  MD5_STEP(MD5_F, a, b, c, d, w[0], 0xd76aa478, 7);   MD5_STEP(MD5_F, d, a, b, c, w[1], 0xe8c7b756, 12);
  MD5_STEP(MD5_F, c, d, a, b, w[2], 0x242070db, 17);  MD5_STEP(MD5_F, b, c, d, a, w[3], 0xc1bdceee, 22);
  MD5_STEP(MD5_F, a, b, c, d, w[4], 0xf57c0faf, 7);   MD5_STEP(MD5_F, d, a, b, c, w[5], 0x4787c62a, 12);
  MD5_STEP(MD5_F, c, d, a, b, w[6], 0xa8304613, 17);  MD5_STEP(MD5_F, b, c, d, a, w[7], 0xfd469501, 22);
  MD5_STEP(MD5_F, a, b, c, d, w[8], 0x698098d8, 7);   MD5_STEP(MD5_F, d, a, b, c, w[9], 0x8b44f7af, 12);
  MD5_STEP(MD5_F, c, d, a, b, w[10], 0xffff5bb1, 17); MD5_STEP(MD5_F, b, c, d, a, w[11], 0x895cd7be, 22);
  MD5_STEP(MD5_F, a, b, c, d, w[12], 0x6b901122, 7);  MD5_STEP(MD5_F, d, a, b, c, w[13], 0xfd987193, 12);
  MD5_STEP(MD5_F, c, d, a, b, w[14], 0xa679438e, 17); MD5_STEP(MD5_F, b, c, d, a, w[15], 0x49b40821, 22);
  MD5_STEP(MD5_G, a, b, c, d, w[1], 0xf61e2562, 5);   MD5_STEP(MD5_G, d, a, b, c, w[6], 0xc040b340, 9);
  MD5_STEP(MD5_G, c, d, a, b, w[11], 0x265e5a51, 14); MD5_STEP(MD5_G, b, c, d, a, w[0], 0xe9b6c7aa, 20);
  MD5_STEP(MD5_G, a, b, c, d, w[5], 0xd62f105d, 5);   MD5_STEP(MD5_G, d, a, b, c, w[10], 0x02441453, 9);
  MD5_STEP(MD5_G, c, d, a, b, w[15], 0xd8a1e681, 14); MD5_STEP(MD5_G, b, c, d, a, w[4], 0xe7d3fbc8, 20);
  MD5_STEP(MD5_G, a, b, c, d, w[9], 0x21e1cde6, 5);   MD5_STEP(MD5_G, d, a, b, c, w[14], 0xc33707d6, 9);
  MD5_STEP(MD5_G, c, d, a, b, w[3], 0xf4d50d87, 14);  MD5_STEP(MD5_G, b, c, d, a, w[8], 0x455a14ed, 20);
  MD5_STEP(MD5_G, a, b, c, d, w[13], 0xa9e3e905, 5);  MD5_STEP(MD5_G, d, a, b, c, w[2], 0xfcefa3f8, 9);
  MD5_STEP(MD5_G, c, d, a, b, w[7], 0x676f02d9, 14);  MD5_STEP(MD5_G, b, c, d, a, w[12], 0x8d2a4c8a, 20);
  MD5_STEP(MD5_H, a, b, c, d, w[5], 0xfffa3942, 4);   MD5_STEP(MD5_H, d, a, b, c, w[8], 0x8771f681, 11);
  MD5_STEP(MD5_H, c, d, a, b, w[11], 0x6d9d6122, 16); MD5_STEP(MD5_H, b, c, d, a, w[14], 0xfde5380c, 23);
  MD5_STEP(MD5_H, a, b, c, d, w[1], 0xa4beea44, 4);   MD5_STEP(MD5_H, d, a, b, c, w[4], 0x4bdecfa9, 11);
  MD5_STEP(MD5_H, c, d, a, b, w[7], 0xf6bb4b60, 16);  MD5_STEP(MD5_H, b, c, d, a, w[10], 0xbebfbc70, 23);
  MD5_STEP(MD5_H, a, b, c, d, w[13], 0x289b7ec6, 4);  MD5_STEP(MD5_H, d, a, b, c, w[0], 0xeaa127fa, 11);
  MD5_STEP(MD5_H, c, d, a, b, w[3], 0xd4ef3085, 16);  MD5_STEP(MD5_H, b, c, d, a, w[6], 0x04881d05, 23);
  MD5_STEP(MD5_H, a, b, c, d, w[9], 0xd9d4d039, 4);   MD5_STEP(MD5_H, d, a, b, c, w[12], 0xe6db99e5, 11);
  MD5_STEP(MD5_H, c, d, a, b, w[15], 0x1fa27cf8, 16); MD5_STEP(MD5_H, b, c, d, a, w[2], 0xc4ac5665, 23);
  MD5_STEP(MD5_I, a, b, c, d, w[0], 0xf4292244, 6);   MD5_STEP(MD5_I, d, a, b, c, w[7], 0x432aff97, 10);
  MD5_STEP(MD5_I, c, d, a, b, w[14], 0xab9423a7, 15); MD5_STEP(MD5_I, b, c, d, a, w[5], 0xfc93a039, 21);
  MD5_STEP(MD5_I, a, b, c, d, w[12], 0x655b59c3, 6);  MD5_STEP(MD5_I, d, a, b, c, w[3], 0x8f0ccc92, 10);
  MD5_STEP(MD5_I, c, d, a, b, w[10], 0xffeff47d, 15); MD5_STEP(MD5_I, b, c, d, a, w[1], 0x85845dd1, 21);
  MD5_STEP(MD5_I, a, b, c, d, w[8], 0x6fa87e4f, 6);   MD5_STEP(MD5_I, d, a, b, c, w[15], 0xfe2ce6e0, 10);
  MD5_STEP(MD5_I, c, d, a, b, w[6], 0xa3014314, 15);  MD5_STEP(MD5_I, b, c, d, a, w[13], 0x4e0811a1, 21);
  MD5_STEP(MD5_I, a, b, c, d, w[4], 0xf7537e82, 6);   MD5_STEP(MD5_I, d, a, b, c, w[11], 0xbd3af235, 10);
  MD5_STEP(MD5_I, c, d, a, b, w[2], 0x2ad7d2bb, 15);  MD5_STEP(MD5_I, b, c, d, a, w[9], 0xeb86d391, 21);
  digest[0] = a + 0x67452301; digest[1] = b + 0xefcdab89;
  digest[2] = c + 0x98badcfe; digest[3] = d + 0x10325476;
}

// ----------------------------------------------------- compare with the list
struct kern_param_t {
  const u32 *bitmap_a, *bitmap_b;    // by digest words 0 and 2
  u32 bitmap_mask;
  const digest_t *digests;           // sorted by (v[0], v[1], v[2], v[3])
  u32 digests_cnt;
  u32 *digests_shown;
  plain_t *plains;
  u32 *result_cnt;
  u32 result_max;
};

__device__ __forceinline__ bool check_bitmap(const u32 *bitmap, u32 mask, u32 digest)
{
  return bitmap[(digest & mask) >> 5] & (1u << (digest & 0x1f));
}

__device__ int hash_comp(const u32 *d1, const digest_t *d2)
{
  for (int k = 0; k < 4; k++) {
    if (d1[k] > d2->v[k]) return 1;
    if (d1[k] < d2->v[k]) return -1;
  }
  return 0;
}

__device__ void mark_hash(const kern_param_t &p, u32 gid, u32 il_pos, u32 digest_pos, u32 len)
{
  if (atomicAdd(&p.digests_shown[digest_pos], 1u) != 0) return;    // only the first report
  const u32 idx = atomicAdd(p.result_cnt, 1u);
  if (idx >= p.result_max) return;
  p.plains[idx].gid = gid;
  p.plains[idx].il_pos = il_pos;
  p.plains[idx].digest_pos = digest_pos;
  p.plains[idx].len = len;
}

__device__ void compare_m(const kern_param_t &p, const u32 *digest, u32 gid, u32 il_pos, u32 len)
{
  if (!check_bitmap(p.bitmap_a, p.bitmap_mask, digest[0])) return;
  if (!check_bitmap(p.bitmap_b, p.bitmap_mask, digest[2])) return;
  u32 l = 0, r = p.digests_cnt;
  while (l < r) {
    const u32 m = (l + r) >> 1;
    const int cmp = hash_comp(digest, p.digests + m);
    if (cmp == 0) { mark_hash(p, gid, il_pos, m, len); return; }
    if (cmp > 0) l = m + 1; else r = m;
  }
}

// mask kernel: words_buf_r holds all combinations of characters 0..3
__global__ void __launch_bounds__(256)
m00000_m(const kern_param_t p, const u32 *__restrict__ words_buf_r, u32 il_cnt, const u32 *pws_right,
         u32 right_words, u32 len, u64 gid_max)
{
  const u64 gid = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (gid >= gid_max) return;
  u32 w[16] = {0};
  for (u32 k = 0; k < right_words; k++) w[1 + k] = pws_right[gid * right_words + k];
  w[14] = len * 8;
  for (u32 il_pos = 0; il_pos < il_cnt; il_pos++) {
    w[0] = words_buf_r[il_pos];
    u32 digest[4];
    md5_transform(w, digest);
    compare_m(p, digest, (u32)gid, il_pos, len);
  }
}

// dictionary kernel with a rule (append a two-digit number); the suffixes are
// staged in shared memory and the words come as 20-byte structures
__global__ void m00000_a0(const kern_param_t p, const pw_t *__restrict__ pws, u64 gid_max, const u32 *suffix, u32 n_suffix)
{
  __shared__ u32 s_suffix[100];
  for (u32 i = threadIdx.x; i < n_suffix; i += blockDim.x) s_suffix[i] = suffix[i];
  __syncthreads();
  const u64 gid = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (gid >= gid_max) return;
  const u32 len = pws[gid].pw_len;
  u32 base[4];
  for (int k = 0; k < 4; k++) base[k] = pws[gid].i[k];
  for (u32 il_pos = 0; il_pos < n_suffix; il_pos++) {
    u32 w[16] = {base[0], base[1], base[2], base[3]};
    const u32 tail = s_suffix[il_pos] | 0x800000u;             // two digits and the end bit
    const u64 wide = (u64)tail << (8 * (len & 3));
    const u32 at = len >> 2;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
      if (k == at) w[k] |= (u32)wide;
      if (k == at + 1) w[k] |= (u32)(wide >> 32);
    }
    w[14] = (len + 2) * 8;
    u32 digest[4];
    md5_transform(w, digest);
    compare_m(p, digest, (u32)gid, il_pos, len + 2);
  }
}

// builds words 1.. on the device from mixed-radix counters
__global__ void r_markov(u32 *out, u32 right_words, u32 right_chars, const unsigned char *charset, u32 cs_len, u64 gid_max)
{
  const u64 gid = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (gid >= gid_max) return;
  u64 s = gid;
  u32 w[3] = {0, 0, 0};
  for (u32 c = 0; c < right_chars; c++) {
    w[c / 4] |= (u32)charset[s % cs_len] << (8 * (c % 4));
    s /= cs_len;
  }
  w[right_chars / 4] |= 0x80u << (8 * (right_chars % 4));
  for (u32 k = 0; k < right_words; k++) out[gid * right_words + k] = w[k];
}

__global__ void gpu_bitmap_set(const digest_t *digests, u32 n, u32 *bitmap, u32 mask, int word)
{
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const u32 d = digests[i].v[word];
    atomicOr(&bitmap[(d & mask) >> 5], 1u << (d & 0x1f));
  }
}

// ------------------------------------------------------------------- host
static digest_t md5_host(const std::string &s)
{
  u32 w[16] = {0};
  unsigned char buf[64] = {0};
  memcpy(buf, s.data(), s.size());
  buf[s.size()] = 0x80;
  memcpy(w, buf, 64);
  w[14] = (u32)s.size() * 8;
  digest_t d;
  md5_transform(w, d.v);
  return d;
}

struct cuda_deleter { void operator()(void *p) const { cudaFree(p); } };
template <class T> using cu_mem = std::unique_ptr<T, cuda_deleter>;
template <class T> cu_mem<T> cu_alloc(size_t n, const T *src = nullptr)
{
  T *p = nullptr;
  HC_CHECK(cudaMalloc(&p, n * sizeof(T)));
  if (src) HC_CHECK(cudaMemcpy(p, src, n * sizeof(T), cudaMemcpyHostToDevice));
  else HC_CHECK(cudaMemset(p, 0, n * sizeof(T)));
  return cu_mem<T>(p);
}

int main()
{
  const std::string charset = "etaoinshr";                 // 9 characters
  const u32 cs = (u32)charset.size();
  std::mt19937 rng(424242);
  std::vector<std::string> dict;
  for (int i = 0; i < 4097; i++) {
    std::string s;
    const int len = 3 + rng() % 8;
    for (int k = 0; k < len; k++) s += (char)('a' + rng() % 26);
    dict.push_back(s);
  }
  // secrets: mask words of length 6 and 7, dictionary words with suffixes, and noise
  std::set<std::string> secrets;
  auto mask_word = [&](int len) { std::string s; for (int k = 0; k < len; k++) s += charset[rng() % cs]; return s; };
  while (secrets.size() < 60) secrets.insert(mask_word(6 + rng() % 2));
  while (secrets.size() < 140) {
    const int n = rng() % 100;
    secrets.insert(dict[rng() % dict.size()] + char('0' + n / 10) + char('0' + n % 10));
  }
  std::vector<digest_t> digests;
  std::map<std::array<u32, 4>, std::string> answer;
  for (auto &s : secrets) {
    digest_t d = md5_host(s);
    digests.push_back(d);
    answer[{d.v[0], d.v[1], d.v[2], d.v[3]}] = s;
  }
  while (digests.size() < 1000) digests.push_back({{(u32)rng(), (u32)rng(), (u32)rng(), (u32)rng()}});
  std::sort(digests.begin(), digests.end(), [](const digest_t &a, const digest_t &b) {
    return std::lexicographical_compare(a.v, a.v + 4, b.v, b.v + 4); });
  const digest_t known = md5_host("abc");
  bool ok = known.v[0] == 0x98500190u && known.v[3] == 0x727fe128u;

  const u32 bitmap_bits = 16, mask = (1u << bitmap_bits) - 1;
  auto d_digests = cu_alloc<digest_t>(digests.size(), digests.data());
  auto bm_a = cu_alloc<u32>(1u << (bitmap_bits - 5)), bm_b = cu_alloc<u32>(1u << (bitmap_bits - 5));
  auto shown = cu_alloc<u32>(digests.size()), cnt = cu_alloc<u32>(1);
  auto plains = cu_alloc<plain_t>(256);
  gpu_bitmap_set<<<4, 128>>>(d_digests.get(), (u32)digests.size(), bm_a.get(), mask, 0);
  gpu_bitmap_set<<<4, 128>>>(d_digests.get(), (u32)digests.size(), bm_b.get(), mask, 2);
  kern_param_t p{bm_a.get(), bm_b.get(), mask, d_digests.get(), (u32)digests.size(), shown.get(), plains.get(), cnt.get(), 256};

  std::vector<std::string> cracked;
  auto collect = [&](auto rebuild) {
    u32 n = 0;
    HC_CHECK(cudaMemcpy(&n, cnt.get(), sizeof n, cudaMemcpyDeviceToHost));
    n = std::min(n, 256u);
    std::vector<plain_t> got(n);
    if (n) HC_CHECK(cudaMemcpy(got.data(), plains.get(), n * sizeof(plain_t), cudaMemcpyDeviceToHost));
    for (auto &g : got) {
      const std::string s = rebuild(g);
      const digest_t &d = digests[g.digest_pos];
      auto it = answer.find({d.v[0], d.v[1], d.v[2], d.v[3]});
      ok &= it != answer.end() && it->second == s;
      cracked.push_back(s);
    }
    HC_CHECK(cudaMemset(cnt.get(), 0, sizeof(u32)));
    printf("%u hits\n", n);
  };

  // mask attack: the first four characters in the inner loop
  std::vector<u32> left;
  for (u32 i = 0; i < cs * cs * cs * cs; i++) {
    u32 x = i, w = 0;
    for (int k = 0; k < 4; k++) { w |= (u32)(unsigned char)charset[x % cs] << (8 * k); x /= cs; }
    left.push_back(w);
  }
  auto d_left = cu_alloc<u32>(left.size(), left.data());
  auto d_cs = cu_alloc<unsigned char>(cs, (const unsigned char *)charset.data());
  for (u32 len = 6; len <= 7; len++) {
    const u32 right = len - 4, words = right / 4 + 1;
    u64 gid_max = 1;
    for (u32 k = 0; k < right; k++) gid_max *= cs;
    auto d_right = cu_alloc<u32>(gid_max * words);
    const u32 blocks = (u32)((gid_max + 255) / 256);
    r_markov<<<blocks, 256>>>(d_right.get(), words, right, d_cs.get(), cs, gid_max);
    // slices of the inner loop, as a tuner would issue them
    m00000_m<<<blocks, 256>>>(p, d_left.get(), 4000, d_right.get(), words, len, gid_max);
    collect([&](const plain_t &g) {
      std::string s((const char *)&left[g.il_pos], 4);
      u64 x = g.gid;
      for (u32 k = 0; k < right; k++) { s += charset[x % cs]; x /= cs; }
      return s;
    });
    const u32 rest = (u32)left.size() - 4000;
    m00000_m<<<blocks, 256>>>(p, d_left.get() + 4000, rest, d_right.get(), words, len, gid_max);
    collect([&](const plain_t &g) {
      std::string s((const char *)&left[4000 + g.il_pos], 4);
      u64 x = g.gid;
      for (u32 k = 0; k < right; k++) { s += charset[x % cs]; x /= cs; }
      return s;
    });
  }

  // dictionary attack
  std::vector<pw_t> pws(dict.size());
  for (size_t i = 0; i < dict.size(); i++) {
    memset(&pws[i], 0, sizeof(pw_t));
    memcpy(pws[i].i, dict[i].data(), dict[i].size());
    pws[i].pw_len = (u32)dict[i].size();
  }
  std::vector<u32> suffix;
  for (u32 i = 0; i < 100; i++) suffix.push_back(('0' + i / 10) | (('0' + i % 10) << 8));
  auto d_pws = cu_alloc<pw_t>(pws.size(), pws.data());
  auto d_suffix = cu_alloc<u32>(100, suffix.data());
  m00000_a0<<<(unsigned)(pws.size() + 127) / 128, 128>>>(p, d_pws.get(), pws.size(), d_suffix.get(), 100);
  HC_CHECK(cudaGetLastError());
  collect([&](const plain_t &g) {
    return dict[g.gid] + (char)(suffix[g.il_pos] & 0xff) + (char)(suffix[g.il_pos] >> 8); });
  std::sort(cracked.begin(), cracked.end());
  ok &= std::vector<std::string>(secrets.begin(), secrets.end()) == cracked;
  printf("%zu of %zu recovered\n", cracked.size(), secrets.size());
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
