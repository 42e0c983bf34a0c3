/* Bitonic sort in six moves: global only, swapped pairs per thread, shared tile, registers,
 * warp shuffles, and finally key/value pairs packed in 64 bits.
 * usage: ./bitonic [log2n]            (default 15)
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define TILE 1024
#define THREADS 256
#define TRY(e)                                                                    \
  if ((e) != cudaSuccess) {                                                       \
    fprintf(stderr, "CUDA error near line %d: %s\n", __LINE__,                    \
            cudaGetErrorString(cudaGetLastError()));                              \
    exit(1);                                                                      \
  }

using key_t32 = uint32_t;

__device__ __forceinline__ void cswap(key_t32 &a, key_t32 &b, bool up) {
  key_t32 lo = min(a, b);
  key_t32 hi = max(a, b);
  a = up ? lo : hi;
  b = up ? hi : lo;
}

// Move 1: a thread per element, half of them idle
__global__ void step_element(key_t32 *d, int n, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int ixj = i ^ j;
  if (i < n && ixj > i) {
    key_t32 a = d[i];
    key_t32 b = d[ixj];
    bool up = (i & k) == 0;
    if ((a > b) == up) {
      d[i] = b;
      d[ixj] = a;
    }
  }
}

// Move 2: a thread per pair
__global__ void step_pair(key_t32 *d, int pairs, int j, int k) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= pairs)
    return;
  int i = 2 * t - (t & (j - 1));
  key_t32 a = d[i];
  key_t32 b = d[i + j];
  cswap(a, b, (i & k) == 0);
  d[i] = a;
  d[i + j] = b;
}

// Move 3: two strides (j and j/2) in one go, four keys in registers
__global__ void step_two_strides(key_t32 *__restrict__ d, int quads, int j, int k) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= quads)
    return;
  int h = j >> 1;
  int i = ((t & ~(h - 1)) << 2) + (t & (h - 1));
  bool up = (i & k) == 0;
  key_t32 r0 = d[i];
  key_t32 r1 = d[i + h];
  key_t32 r2 = d[i + 2 * h];
  key_t32 r3 = d[i + 3 * h];
  cswap(r0, r2, up);
  cswap(r1, r3, up);
  cswap(r0, r1, up);
  cswap(r2, r3, up);
  d[i] = r0;
  d[i + h] = r1;
  d[i + 2 * h] = r2;
  d[i + 3 * h] = r3;
}

// Move 4: everything that fits in a tile happens in shared memory
__global__ void tile_sort(key_t32 *d) {
  __shared__ key_t32 s[TILE];
  int base = blockIdx.x * TILE;
  for (int i = threadIdx.x; i < TILE; i += blockDim.x)
    s[i] = d[base + i];
  for (int k = 2; k <= TILE; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      for (int t = threadIdx.x; t < TILE / 2; t += blockDim.x) {
        int i = 2 * t - (t & (j - 1));
        cswap(s[i], s[i + j], ((base + i) & k) == 0);
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < TILE; i += blockDim.x)
    d[base + i] = s[i];
}

__global__ void tile_merge(key_t32 *d, int k) {
  extern __shared__ __align__(16) key_t32 dyn[];
  int base = blockIdx.x * TILE;
  bool up = (base & k) == 0;
  uint4 *s4 = reinterpret_cast<uint4 *>(dyn);
  uint4 *g4 = reinterpret_cast<uint4 *>(d + base);
  s4[threadIdx.x] = g4[threadIdx.x];
  for (int j = TILE / 2; j > 0; j >>= 1) {
    __syncthreads();
    for (int t = threadIdx.x; t < TILE / 2; t += THREADS) {
      int i = 2 * t - (t & (j - 1));
      cswap(dyn[i], dyn[i + j], up);
    }
  }
  __syncthreads();
  g4[threadIdx.x] = s4[threadIdx.x];
}

// Move 5: blocked arrangement, KPT consecutive keys per thread.
// Strides below KPT stay in registers, below 32*KPT use shuffles, the rest goes through shared memory.
template <int KPT>
__device__ __forceinline__ void merge_in_registers(key_t32 (&r)[KPT], bool up) {
#pragma unroll
  for (int j = KPT / 2; j > 0; j >>= 1) {
#pragma unroll
    for (int i = 0; i < KPT; i++) {
      if ((i & j) == 0)
        cswap(r[i], r[i | j], up);
    }
  }
}

template <int KPT>
__global__ void tile_sort_shuffle(key_t32 *d) {
  __shared__ key_t32 s[THREADS * KPT];
  key_t32 r[KPT];
  int t = threadIdx.x;
  int first = blockIdx.x * THREADS * KPT + t * KPT;
#pragma unroll
  for (int i = 0; i < KPT; i++)
    r[i] = d[first + i];

  // sort KPT keys of each thread
#pragma unroll
  for (int k = 2; k <= KPT; k <<= 1) {
#pragma unroll
    for (int j = k >> 1; j > 0; j >>= 1) {
#pragma unroll
      for (int i = 0; i < KPT; i++) {
        if ((i & j) == 0)
          cswap(r[i], r[i | j], ((first + i) & k) == 0);
      }
    }
  }
  for (int k = 2 * KPT; k <= THREADS * KPT; k <<= 1) {
    bool up = (first & k) == 0;
    for (int tj = k / (2 * KPT); tj > 0; tj >>= 1) {
      bool lower = (t & tj) == 0;
      if (tj < 32) {
#pragma unroll
        for (int i = 0; i < KPT; i++) {
          key_t32 o = __shfl_xor_sync(0xffffffffu, r[i], tj);
          r[i] = lower == up ? min(r[i], o) : max(r[i], o);
        }
      } else {
#pragma unroll
        for (int i = 0; i < KPT; i++)
          s[t * KPT + i] = r[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < KPT; i++) {
          key_t32 o = s[(t ^ tj) * KPT + i];
          r[i] = lower == up ? min(r[i], o) : max(r[i], o);
        }
        __syncthreads();
      }
    }
    merge_in_registers<KPT>(r, up);
  }
#pragma unroll
  for (int i = 0; i < KPT; i++)
    d[first + i] = r[i];
}

// Move 6: many short segments of key/payload pairs, one warp per segment of 128
__global__ void warp_segments_kv(const key_t32 *__restrict__ keys, key_t32 *__restrict__ outKeys,
                                 key_t32 *__restrict__ outIdx, int segments) {
  int lane = threadIdx.x & 31;
  int seg = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (seg >= segments)
    return;
  unsigned long long v[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int p = i * 32 + lane;
    v[i] = ((unsigned long long)keys[seg * 128 + p] << 32) | (unsigned)p;
  }
  // element p = i*32 + lane: strides 1..16 across lanes, 32 and 64 across registers
  for (int k = 2; k <= 128; k <<= 1) {
#pragma unroll
    for (int j = 64; j > 0; j >>= 1) {
      if (j >= k)
        continue;
      if (j >= 32) {
        int rj = j >> 5;
#pragma unroll
        for (int i = 0; i < 4; i++) {
          if ((i & rj) == 0) {
            bool up = ((i * 32 + lane) & k) == 0;
            unsigned long long a = v[i];
            unsigned long long b = v[i | rj];
            if ((a > b) == up) {
              v[i] = b;
              v[i | rj] = a;
            }
          }
        }
      } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          bool up = ((i * 32 + lane) & k) == 0;
          bool lower = (lane & j) == 0;
          unsigned long long o = __shfl_xor_sync(0xffffffffu, v[i], j);
          bool takeMin = lower == up;
          v[i] = takeMin == (o < v[i]) ? o : v[i];
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    outKeys[seg * 128 + i * 32 + lane] = (key_t32)(v[i] >> 32);
    outIdx[seg * 128 + i * 32 + lane] = (key_t32)v[i];
  }
}

static void load(key_t32 *d, const std::vector<key_t32> &h, int n) {
  TRY(cudaMemcpy(d, h.data(), n * sizeof(key_t32), cudaMemcpyHostToDevice));
}

static bool same(const char *what, const key_t32 *d, const std::vector<key_t32> &want) {
  std::vector<key_t32> got(want.size());
  TRY(cudaGetLastError());
  TRY(cudaMemcpy(got.data(), d, got.size() * sizeof(key_t32), cudaMemcpyDeviceToHost));
  bool ok = got == want;
  printf("%-34s %s\n", what, ok ? "ok" : "WRONG");
  return ok;
}

static std::vector<key_t32> tiles_sorted(std::vector<key_t32> v, int tile) {
  for (size_t b = 0, q = 0; b < v.size(); b += tile, q++) {
    if (q & 1)
      std::sort(v.begin() + b, v.begin() + b + tile, std::greater<key_t32>());
    else
      std::sort(v.begin() + b, v.begin() + b + tile);
  }
  return v;
}

int main(int argc, char **argv) {
  int logn = 15;
  if (argc == 2)
    logn = atoi(argv[1]);
  const int n = 1 << logn;
  std::vector<key_t32> h(n);
  uint32_t x = 2463534242u;
  for (auto &v : h) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    v = x & 0xffffff;
  }
  key_t32 *d, *dk, *di;
  TRY(cudaMalloc(&d, n * sizeof(key_t32)));
  TRY(cudaMalloc(&dk, n * sizeof(key_t32)));
  TRY(cudaMalloc(&di, n * sizeof(key_t32)));
  bool pass = true;

  // moves 1, 2 and 3 are tried on the last merge of a 4096-key problem to save launches
  const int m = 4096;
  {
    std::vector<key_t32> part(h.begin(), h.begin() + m);
    std::sort(part.begin(), part.begin() + m / 2);
    std::sort(part.begin() + m / 2, part.end(), std::greater<key_t32>());
    std::vector<key_t32> want(part);
    std::sort(want.begin(), want.end());
    load(d, part, m);
    step_element<<<m / THREADS, THREADS>>>(d, m, m / 2, m);
    step_element<<<m / THREADS, THREADS>>>(d, m, m / 4, m);
    tile_merge<<<m / TILE, THREADS, TILE * sizeof(key_t32)>>>(d, m);
    pass &= same("1. thread per element", d, want);
    load(d, part, m);
    step_pair<<<m / 2 / THREADS, THREADS>>>(d, m / 2, m / 2, m);
    step_pair<<<m / 2 / THREADS, THREADS>>>(d, m / 2, m / 4, m);
    tile_merge<<<m / TILE, THREADS, TILE * sizeof(key_t32)>>>(d, m);
    pass &= same("2. thread per pair", d, want);
  }

  // whole sort with tiles: 1 + sum over the stages
  {
    std::vector<key_t32> want(h);
    std::sort(want.begin(), want.end());
    load(d, h, n);
    tile_sort<<<n / TILE, THREADS>>>(d);
    for (int k = 2 * TILE; k <= n && k > 0; k <<= 1) {
      int j = k >> 1;
      while (j >= 2 * TILE) {
        step_two_strides<<<n / 4 / THREADS, THREADS>>>(d, n / 4, j, k);
        j >>= 2;
      }
      if (j == TILE)
        step_pair<<<n / 2 / THREADS, THREADS>>>(d, n / 2, j, k);
      tile_merge<<<n / TILE, THREADS, TILE * sizeof(key_t32)>>>(d, k);
    }
    pass &= same("3+4. two strides, shared tiles", d, want);
  }

  load(d, h, n);
  tile_sort_shuffle<4><<<n / (THREADS * 4), THREADS>>>(d);
  pass &= same("5. shuffles, 4 keys per thread", d, tiles_sorted(h, THREADS * 4));
  load(d, h, n);
  tile_sort_shuffle<8><<<n / (THREADS * 8), THREADS>>>(d);
  pass &= same("5. shuffles, 8 keys per thread", d, tiles_sorted(h, THREADS * 8));

  {
    int segments = n / 128;
    std::vector<key_t32> wantK(n), wantI(n);
    for (int s = 0; s < segments; s++) {
      std::vector<std::pair<key_t32, key_t32>> p(128);
      for (int i = 0; i < 128; i++)
        p[i] = {h[s * 128 + i], (key_t32)i};
      std::sort(p.begin(), p.end());
      for (int i = 0; i < 128; i++) {
        wantK[s * 128 + i] = p[i].first;
        wantI[s * 128 + i] = p[i].second;
      }
    }
    load(d, h, n);
    warp_segments_kv<<<(segments * 32 + 127) / 128, 128>>>(d, dk, di, segments);
    pass &= same("6. warp segments, keys", dk, wantK);
    pass &= same("6. warp segments, payload", di, wantI);
  }
  puts(pass ? "PASS" : "FAIL");
  return !pass;
}
