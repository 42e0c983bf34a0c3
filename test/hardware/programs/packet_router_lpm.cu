// A software router's data path: header checksum, RSS (Toeplitz) hashing, longest prefix match in two tables and in a trie,
// access lists, and per-flow counters.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;

static inline void die_on(cudaError_t rc, int line) {
  if (rc) {
    fprintf(stderr, "cuda %d at line %d\n", (int)rc, line);
    abort();
  }
}
#define TRY(x) die_on((x), __LINE__)

struct AclRule {
  u32 src, src_mask;
  u32 dst, dst_mask;
  u16 port_lo, port_hi;
  u8 proto;
  u8 verdict;
};

struct TrieNode {
  int child[2];
  int hop;
};

// packets lie in fixed slots of 64 bytes, as the NIC leaves them
constexpr int SLOT = 64;
constexpr int NRULES = 96;
__constant__ AclRule acl[NRULES];
__constant__ u8 rss_key[40];

__host__ __device__ inline u32 be32(const u8* p) { return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3]; }

__host__ __device__ inline u16 ip_checksum(const u8* h) {
  u32 sum = 0;
  for (int i = 0; i < 20; i += 2) sum += (u32)h[i] << 8 | h[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return (u16)~sum;
}

__host__ __device__ inline u32 toeplitz(const u8* key, const u8* in, int len) {
  u32 window = be32(key);
  u32 h = 0;
  for (int i = 0; i < len; ++i) {
    for (int b = 7; b >= 0; --b) {
      if (in[i] >> b & 1) h ^= window;
      window = window << 1 | (key[i + 4] >> b & 1);
    }
  }
  return h;
}

__global__ void verify_checksums(const u8* pkts, int n, u8* ok) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ok[i] = ip_checksum(pkts + (size_t)i * SLOT) == 0;
}

// whole headers go through shared memory first
__global__ void parse_headers(const u8* __restrict__ pkts, int n, u32* __restrict__ src, u32* __restrict__ dst, u16* __restrict__ dport,
                              u8* __restrict__ proto) {
  __shared__ uint4 stage[128 * 4];
  int first = blockIdx.x * 128;
  const uint4* in = reinterpret_cast<const uint4*>(pkts + (size_t)first * SLOT);
  int left = (n - first) * 4;
  for (int k = threadIdx.x; k < 128 * 4; k += 128) {
    if (k < left) stage[k] = in[k];
  }
  __syncthreads();
  int i = first + threadIdx.x;
  if (i >= n) return;
  const u8* h = reinterpret_cast<const u8*>(stage) + threadIdx.x * SLOT;
  src[i] = be32(h + 12);
  dst[i] = be32(h + 16);
  dport[i] = (u16)(h[22] << 8 | h[23]);
  proto[i] = h[9];
}

__global__ void rss_hash(const u8* __restrict__ pkts, int n, u32* __restrict__ hash) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u8 tuple[12];
  const u32* h = reinterpret_cast<const u32*>(pkts + (size_t)i * SLOT);
  u32 words[3] = {h[3], h[4], h[5]};
  memcpy(tuple, words, 12);
  hash[i] = toeplitz(rss_key, tuple, 12);
}

// DIR-16-8: the first table by the high 16 bits, the second by the next 8
__global__ void lpm_dir(const u32* __restrict__ dst, int n, const u16* __restrict__ tbl16, const u16* __restrict__ tbl8, u16* __restrict__ hop) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    u32 a = dst[i];
    u16 e = tbl16[a >> 16];
    if (e & 0x8000) e = tbl8[(e & 0x7fff) * 256 + (a >> 8 & 255)];
    hop[i] = e;
  }
}

__global__ void lpm_trie(const u32* __restrict__ dst, int n, const TrieNode* __restrict__ nodes, u16* __restrict__ hop) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32 a = dst[i];
  int node = 0;
  int best = 0;
  for (int bit = 31; node >= 0; --bit) {
    TrieNode t = nodes[node];
    if (t.hop >= 0) best = t.hop;
    if (bit < 0) break;
    node = t.child[a >> bit & 1];
  }
  hop[i] = (u16)best;
}

__global__ void acl_match(const u32* src, const u32* dst, const u16* dport, const u8* proto, int n, u8* verdict) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32 s = src[i], d = dst[i];
  u16 p = dport[i];
  u8 pr = proto[i];
  u8 v = 0;
  for (int r = 0; r < NRULES; ++r) {
    const AclRule& a = acl[r];
    if ((s & a.src_mask) == a.src && (d & a.dst_mask) == a.dst && p >= a.port_lo && p <= a.port_hi && (a.proto == 0 || a.proto == pr)) {
      v = a.verdict;
      break;
    }
  }
  verdict[i] = v;
}

struct PortStat {
  u32 packets;
  u32 bytes;
  u32 drops;
  u32 reserved;
};

__global__ void account(const u8* pkts, const u16* hop, const u8* verdict, int n, PortStat* stats) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const u8* h = pkts + (size_t)i * SLOT;
  PortStat* s = stats + hop[i];
  atomicAdd(&s->packets, 1u);
  atomicAdd(&s->bytes, (u32)(h[2] << 8 | h[3]));
  if (verdict[i] == 2) atomicAdd(&s->drops, 1u);
}

template <typename T>
struct Dev {
  T* p;
  size_t n;
  Dev(size_t count) : n(count) {
    TRY(cudaMalloc(&p, n * sizeof(T)));
    TRY(cudaMemset(p, 0, n * sizeof(T)));
  }
  Dev(const std::vector<T>& v) : Dev(v.size()) { TRY(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  ~Dev() { cudaFree(p); }
  std::vector<T> get() const {
    std::vector<T> v(n);
    TRY(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
};

int main() {
  const int n = 200000;
  u32 s = 0xC0FFEE;
  auto rnd = [&s]() {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
  };
  // routes: prefixes of at most 24 bits
  struct Route {
    u32 net;
    int len;
    u16 hop;
  };
  std::vector<Route> routes;
  for (int i = 0; i < 4000; ++i) {
    int len = i % 4 == 0 ? 8 + rnd() % 9 : 17 + rnd() % 8;
    u32 net = rnd() & (0xffffffffu << (32 - len));
    if (len > 16) net = (net & 0x00ffffffu) | (10u + rnd() % 2) << 24;
    routes.push_back({net, len, (u16)(1 + rnd() % 60)});
  }
  std::vector<TrieNode> trie(1, TrieNode{{-1, -1}, -1});
  for (auto& r : routes) {
    int node = 0;
    for (int b = 0; b < r.len; ++b) {
      int side = r.net >> (31 - b) & 1;
      if (trie[node].child[side] < 0) {
        trie[node].child[side] = (int)trie.size();
        trie.push_back(TrieNode{{-1, -1}, -1});
      }
      node = trie[node].child[side];
    }
    trie[node].hop = r.hop;
  }
  auto lookup = [&](u32 a) {
    int best = 0;
    for (int node = 0, bit = 31; node >= 0; node = trie[node].child[a >> bit & 1], --bit) {
      if (trie[node].hop >= 0) best = trie[node].hop;
      if (bit < 0) break;
    }
    return (u16)best;
  };
  std::vector<u16> tbl16(65536);
  std::vector<u16> tbl8;
  std::vector<u8> deep(65536, 0);
  for (auto& r : routes)
    if (r.len > 16) deep[r.net >> 16] = 1;
  for (u32 hi = 0; hi < 65536; ++hi) {
    if (!deep[hi]) {
      tbl16[hi] = lookup(hi << 16);
      continue;
    }
    tbl16[hi] = (u16)(0x8000 | (tbl8.size() / 256));
    for (u32 k = 0; k < 256; ++k) tbl8.push_back(lookup(hi << 16 | k << 8));
  }
  std::vector<u8> pkts((size_t)n * SLOT);
  for (int i = 0; i < n; ++i) {
    u8* h = &pkts[(size_t)i * SLOT];
    for (int k = 0; k < SLOT; k += 4) {
      u32 r = rnd();
      memcpy(h + k, &r, 4);
    }
    h[0] = 0x45;
    h[2] = 0;
    h[9] = rnd() & 1 ? 6 : 17;
    h[10] = h[11] = 0;
    if (rnd() % 3) h[16] = (u8)(10 + rnd() % 2);
    u16 c = ip_checksum(h);
    h[10] = (u8)(c >> 8);
    h[11] = (u8)c;
    if (i % 97 == 0) h[8] ^= 0x10;
  }
  std::vector<AclRule> rules(NRULES);
  for (auto& r : rules) {
    int sl = rnd() % 9, dl = 4 + rnd() % 5;
    r.src_mask = sl ? 0xffffffffu << (32 - sl) : 0;
    r.dst_mask = 0xffffffffu << (32 - dl);
    r.src = rnd() & r.src_mask;
    r.dst = rnd() & r.dst_mask;
    r.port_lo = rnd() % 30000;
    r.port_hi = (u16)(r.port_lo + 20000);
    r.proto = rnd() % 3 == 0 ? 6 : 0;
    r.verdict = (u8)(1 + rnd() % 2);
  }
  u8 key[40];
  for (u8& k : key) k = (u8)rnd();
  TRY(cudaMemcpyToSymbol(acl, rules.data(), sizeof(AclRule) * NRULES));
  TRY(cudaMemcpyToSymbol(rss_key, key, sizeof key));

  Dev<u8> d_pkts(pkts), d_ok(n), d_proto(n), d_verdict(n);
  Dev<u32> d_src(n), d_dst(n), d_hash(n);
  Dev<u16> d_port(n), d_hop(n), d_hop2(n), d_t16(tbl16), d_t8(tbl8);
  Dev<TrieNode> d_trie(trie);
  Dev<PortStat> d_stats(64);
  int sms = 0;
  TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  const int g = (n + 127) / 128;
  verify_checksums<<<g, 128>>>(d_pkts.p, n, d_ok.p);
  parse_headers<<<g, 128>>>(d_pkts.p, n, d_src.p, d_dst.p, d_port.p, d_proto.p);
  rss_hash<<<g, 128>>>(d_pkts.p, n, d_hash.p);
  lpm_dir<<<sms * 4, 256>>>(d_dst.p, n, d_t16.p, d_t8.p, d_hop.p);
  lpm_trie<<<g, 128>>>(d_dst.p, n, d_trie.p, d_hop2.p);
  acl_match<<<g, 128>>>(d_src.p, d_dst.p, d_port.p, d_proto.p, n, d_verdict.p);
  account<<<g, 128>>>(d_pkts.p, d_hop.p, d_verdict.p, n, d_stats.p);
  TRY(cudaGetLastError());
  TRY(cudaDeviceSynchronize());

  auto ok = d_ok.get();
  auto verdict = d_verdict.get();
  auto hash = d_hash.get();
  auto hop = d_hop.get();
  auto hop2 = d_hop2.get();
  auto stats = d_stats.get();
  std::vector<PortStat> ref(64, PortStat{0, 0, 0, 0});
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    const u8* h = &pkts[(size_t)i * SLOT];
    wrong += ok[i] != (ip_checksum(h) == 0);
    wrong += hash[i] != toeplitz(key, h + 12, 12);
    u32 a = be32(h + 12), d = be32(h + 16);
    u16 want = lookup(d);
    wrong += hop[i] != want;
    wrong += hop2[i] != want;
    u16 p = (u16)(h[22] << 8 | h[23]);
    u8 v = 0;
    for (auto& r : rules) {
      bool m = (a & r.src_mask) == r.src && (d & r.dst_mask) == r.dst && p >= r.port_lo && p <= r.port_hi && (r.proto == 0 || r.proto == h[9]);
      if (m) {
        v = r.verdict;
        break;
      }
    }
    wrong += verdict[i] != v;
    ref[want].packets++;
    ref[want].bytes += h[2] << 8 | h[3];
    ref[want].drops += v == 2;
  }
  wrong += memcmp(ref.data(), stats.data(), sizeof(PortStat) * 64) != 0;
  printf("%ld wrong, %zu trie nodes, %zu second-level tables\n", wrong, trie.size(), tbl8.size() / 256);
  puts(wrong ? "FAIL" : "PASS");
  return wrong ? 1 : 0;
}
