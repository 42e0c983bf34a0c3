// Block-sorting compressor stages on many small blocks: Burrows-Wheeler transform by rank sorting, move-to-front, zero-run
// coding, entropy estimate, and the inverse transform. Everything is checked byte for byte.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

using byte = unsigned char;

constexpr int BLK = 512;
constexpr int NBLK = 256;

static void gpu(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    std::printf("line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(1);
  }
}
#define GPU(e) gpu((e), __LINE__)

// compare rotations i and j of s, ties by position
__host__ __device__ inline bool rotation_less(const byte* s, int i, int j) {
  for (int k = 0; k < BLK; ++k) {
    int a = i + k < BLK ? i + k : i + k - BLK;
    int b = j + k < BLK ? j + k : j + k - BLK;
    if (s[a] != s[b]) return s[a] < s[b];
  }
  return i < j;
}

// rank by counting: thread = rotation, compares itself with all the others; text in shared memory
__global__ void bwt_rank(const byte* __restrict__ text, byte* __restrict__ out, int* __restrict__ primary) {
  __shared__ byte s[BLK];
  const byte* t = text + (size_t)blockIdx.x * BLK;
  for (int k = threadIdx.x; k < BLK; k += blockDim.x) s[k] = t[k];
  __syncthreads();
  int i = threadIdx.x;
  int rank = 0;
  for (int j = 0; j < BLK; ++j)
    if (j != i && rotation_less(s, j, i)) ++rank;
  out[(size_t)blockIdx.x * BLK + rank] = s[i == 0 ? BLK - 1 : i - 1];
  if (i == 0) primary[blockIdx.x] = rank;
}

// prefix doubling with a bitonic sort of (rank pair, index) keys in shared memory
__global__ void bwt_doubling(const byte* __restrict__ text, byte* __restrict__ out, int* __restrict__ primary) {
  __shared__ unsigned long long key[BLK];
  __shared__ int rank[BLK];
  __shared__ int flag[BLK];
  const byte* t = text + (size_t)blockIdx.x * BLK;
  int i = threadIdx.x;
  rank[i] = t[i];
  __syncthreads();
  for (int h = 1; h <= BLK; h *= 2) {
    key[i] = (unsigned long long)rank[i] << 40 | (unsigned long long)rank[(i + h / 2 * (h > 1)) & (BLK - 1)] << 16 | i;
    __syncthreads();
    for (int size = 2; size <= BLK; size *= 2) {
      for (int stride = size / 2; stride > 0; stride /= 2) {
        int j = i ^ stride;
        if (j > i) {
          unsigned long long a = key[i];
          unsigned long long b = key[j];
          bool up = (i & size) == 0;
          if ((a > b) == up) {
            key[i] = b;
            key[j] = a;
          }
        }
        __syncthreads();
      }
    }
    flag[i] = i > 0 && (key[i] >> 16) != (key[i - 1] >> 16) ? 1 : 0;
    __syncthreads();
    for (int o = 1; o < BLK; o *= 2) {
      int v = i >= o ? flag[i - o] : 0;
      __syncthreads();
      flag[i] += v;
      __syncthreads();
    }
    rank[key[i] & 0xffff] = flag[i];
    __syncthreads();
  }
  int at = (int)(key[i] & 0xffff);
  out[(size_t)blockIdx.x * BLK + i] = t[at == 0 ? BLK - 1 : at - 1];
  if (at == 0) primary[blockIdx.x] = i;
}

// move to front: one thread a block, list in local memory
__global__ void mtf_serial(const byte* __restrict__ in, byte* __restrict__ out) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= NBLK) return;
  byte list[256];
  for (int k = 0; k < 256; ++k) list[k] = (byte)k;
  for (int k = 0; k < BLK; ++k) {
    byte c = in[(size_t)b * BLK + k];
    int p = 0;
    byte carry = list[0];
    while (carry != c) {
      ++p;
      byte next = list[p];
      list[p] = carry;
      carry = next;
    }
    list[0] = c;
    out[(size_t)b * BLK + k] = (byte)p;
  }
}

// move to front by counting: position = number of distinct symbols since the last occurrence; a warp a block
__global__ void mtf_last_seen(const byte* __restrict__ in, byte* __restrict__ out) {
  __shared__ int last[4][256];
  int w = threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  int b = blockIdx.x * 4 + w;
  for (int k = lane; k < 256; k += 32) last[w][k] = -1 - k;
  __syncwarp();
  for (int k = 0; k < BLK; ++k) {
    int c = in[(size_t)b * BLK + k];
    int mine = last[w][c];
    int cnt = 0;
    for (int q = lane; q < 256; q += 32) cnt += last[w][q] > mine;
    cnt = __reduce_add_sync(0xffffffffu, cnt);
    if (lane == 0) {
      out[(size_t)b * BLK + k] = (byte)cnt;
      last[w][c] = k;
    }
    __syncwarp();
  }
}

__global__ void symbol_histogram(const byte* __restrict__ in, int* __restrict__ hist, int n) {
  __shared__ int h[256];
  h[threadIdx.x] = 0;
  __syncthreads();
  const uint32_t* words = reinterpret_cast<const uint32_t*>(in);
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n / 4; k += gridDim.x * blockDim.x) {
    uint32_t v = words[k];
    atomicAdd(&h[v & 255], 1);
    atomicAdd(&h[v >> 8 & 255], 1);
    atomicAdd(&h[v >> 16 & 255], 1);
    atomicAdd(&h[v >> 24], 1);
  }
  __syncthreads();
  atomicAdd(&hist[threadIdx.x], h[threadIdx.x]);
}

// zero runs: length written at the head of each run
__global__ void zero_runs(const byte* __restrict__ in, unsigned short* __restrict__ run) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= NBLK * BLK) return;
  int pos = i % BLK;
  unsigned short len = 0;
  if (in[i] == 0 && (pos == 0 || in[i - 1] != 0)) {
    while (pos + len < BLK && in[i + len] == 0) ++len;
  }
  run[i] = len;
}

// inverse BWT: counts and ranks in parallel, then the chain is walked by one thread
__global__ void inverse_bwt(const byte* __restrict__ bwt, const int* __restrict__ primary, byte* __restrict__ text) {
  __shared__ byte s[BLK];
  __shared__ int start[256];
  __shared__ unsigned short prev[BLK];
  const byte* in = bwt + (size_t)blockIdx.x * BLK;
  for (int k = threadIdx.x; k < BLK; k += blockDim.x) s[k] = in[k];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) start[k] = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < 256; c += blockDim.x) {
    int less = 0;
    for (int k = 0; k < BLK; ++k) less += s[k] < c;
    start[c] = less;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < BLK; i += blockDim.x) {
    int before = 0;
    for (int k = 0; k < i; ++k) before += s[k] == s[i];
    prev[i] = (unsigned short)(start[s[i]] + before);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int r = primary[blockIdx.x];
    for (int k = BLK - 1; k >= 0; --k) {
      text[(size_t)blockIdx.x * BLK + k] = s[r];
      r = prev[r];
    }
  }
}

int main() {
  const int n = BLK * NBLK;
  std::string words[] = {"kernel", "memory", "warp", " the ", "bank", "shared", "of a", "\n", "texture", ", ", "thread", "is"};
  std::vector<byte> text;
  uint32_t s = 20;
  while ((int)text.size() < n) {
    s = s * 1664525u + 1013904223u;
    const std::string& w = words[(s >> 20) % 12];
    text.insert(text.end(), w.begin(), w.end());
    if ((s >> 16) % 7 == 0) text.push_back((byte)(s >> 24));
  }
  text.resize(n);
  byte *dtext, *db1, *db2, *dm1, *dm2, *dback;
  int *dp1, *dp2, *dh;
  unsigned short* drun;
  for (byte** p : {&dtext, &db1, &db2, &dm1, &dm2, &dback}) GPU(cudaMalloc(p, n));
  GPU(cudaMalloc(&dp1, NBLK * 4));
  GPU(cudaMalloc(&dp2, NBLK * 4));
  GPU(cudaMalloc(&dh, 1024));
  GPU(cudaMalloc(&drun, n * 2));
  GPU(cudaMemset(dh, 0, 1024));
  GPU(cudaMemcpy(dtext, text.data(), n, cudaMemcpyHostToDevice));

  bwt_rank<<<NBLK, BLK>>>(dtext, db1, dp1);
  bwt_doubling<<<NBLK, BLK>>>(dtext, db2, dp2);
  mtf_serial<<<NBLK / 32, 32>>>(db1, dm1);
  mtf_last_seen<<<NBLK / 4, 128>>>(db1, dm2);
  symbol_histogram<<<32, 256>>>(dm1, dh, n);
  zero_runs<<<(n + 255) / 256, 256>>>(dm1, drun);
  inverse_bwt<<<NBLK, 128>>>(db1, dp1, dback);
  GPU(cudaGetLastError());
  GPU(cudaDeviceSynchronize());

  std::vector<byte> b1(n), b2(n), m1(n), m2(n), back(n);
  std::vector<int> p1(NBLK), p2(NBLK), h(256), hh(256, 0);
  std::vector<unsigned short> run(n);
  GPU(cudaMemcpy(b1.data(), db1, n, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(b2.data(), db2, n, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(m1.data(), dm1, n, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(m2.data(), dm2, n, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(back.data(), dback, n, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(p1.data(), dp1, NBLK * 4, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(p2.data(), dp2, NBLK * 4, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(h.data(), dh, 1024, cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(run.data(), drun, n * 2, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int b = 0; b < NBLK; ++b) {
    const byte* t = &text[b * BLK];
    std::vector<int> sa(BLK);
    std::iota(sa.begin(), sa.end(), 0);
    std::sort(sa.begin(), sa.end(), [&](int i, int j) { return i != j && rotation_less(t, i, j); });
    std::vector<byte> list(256);
    for (int k = 0; k < 256; ++k) list[k] = (byte)k;
    for (int k = 0; k < BLK; ++k) {
      byte c = t[sa[k] == 0 ? BLK - 1 : sa[k] - 1];
      bad += b1[b * BLK + k] != c || b2[b * BLK + k] != c;
      if (sa[k] == 0) bad += p1[b] != k || p2[b] != k;
      int p = (int)(std::find(list.begin(), list.end(), c) - list.begin());
      list.erase(list.begin() + p);
      list.insert(list.begin(), c);
      bad += m1[b * BLK + k] != p || m2[b * BLK + k] != p;
      hh[p]++;
    }
    for (int k = 0; k < BLK;) {
      if (m1[b * BLK + k]) {
        bad += run[b * BLK + k] != 0;
        ++k;
        continue;
      }
      int e = k;
      while (e < BLK && m1[b * BLK + e] == 0) ++e;
      bad += run[b * BLK + k] != e - k;
      k = e;
    }
  }
  bad += back != text || h != hh;
  double bits = 0;
  for (int c : h)
    if (c) bits -= c * std::log2((double)c / n);
  std::printf("%.3f bits a byte, %d bad\n%s\n", bits / n, bad, bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
