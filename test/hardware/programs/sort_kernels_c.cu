// Building blocks of GPU sorting, each checked on its own:
//   bitonic network per block, odd-even transposition per block, one merge-path pass over the
//   bitonic runs, and two 4-bit passes of a stable least-significant-digit radix sort.
//
// usage: sort_kernels_c [tiles of 1024 keys] [seed]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define GPU(call)                                                                      \
  do {                                                                                 \
    if (cudaError_t err = (call); err != cudaSuccess) {                                \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err));      \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

using Key = unsigned;
constexpr int kTile = 1024;
constexpr int kRadixBits = 4;
constexpr int kDigits = 1 << kRadixBits;
__constant__ int c_shift[2];  // bit position of each radix pass

// ------------------------------------------------------------ sorting networks
// blockDim.x == keys / 2, keys a power of two
__global__ void bitonic_block(const Key* in, Key* out, int keys) {
  extern __shared__ Key s[];
  const int tid = threadIdx.x, half = keys / 2;
  in += blockIdx.x * keys;
  out += blockIdx.x * keys;
  s[tid] = in[tid];
  s[tid + half] = in[tid + half];
  for (int k = 2; k <= keys; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      const int lo = 2 * tid - (tid & (j - 1)), hi = lo + j;
      const bool ascending = (lo & k) == 0;
      const Key a = s[lo], b = s[hi];
      if ((a > b) == ascending) {
        s[lo] = b;
        s[hi] = a;
      }
    }
  }
  __syncthreads();
  out[tid] = s[tid];
  out[tid + half] = s[tid + half];
}

template <int KEYS>
__global__ void odd_even_block(const Key* __restrict__ in, Key* __restrict__ out) {
  __shared__ Key s[KEYS];
  const int tid = threadIdx.x;
  const Key* src = in + blockIdx.x * KEYS;
  Key* dst = out + blockIdx.x * KEYS;
  s[2 * tid] = src[2 * tid];
  s[2 * tid + 1] = src[2 * tid + 1];
  for (int phase = 0; phase < KEYS; ++phase) {
    __syncthreads();
    const int i = 2 * tid + (phase & 1);
    if (i + 1 < KEYS && s[i] > s[i + 1]) {
      const Key t = s[i];
      s[i] = s[i + 1];
      s[i + 1] = t;
    }
  }
  __syncthreads();
  dst[2 * tid] = s[2 * tid];
  dst[2 * tid + 1] = s[2 * tid + 1];
}

// ------------------------------------------------------------ merge path
// Number of keys taken from a[] among the first `diag` keys of the merged sequence.
__device__ int merge_path_search(const Key* a, int na, const Key* b, int nb, int diag) {
  int lo = max(0, diag - nb), hi = min(diag, na);
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    if (a[mid] <= b[diag - 1 - mid]) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

// Each block merges two neighbouring sorted runs, each thread writes PER consecutive keys.
template <int RUN, int PER>
__global__ void merge_runs(const Key* __restrict__ in, Key* __restrict__ out) {
  __shared__ Key s[2 * RUN];
  const size_t base = (size_t)blockIdx.x * 2 * RUN;
  for (int i = threadIdx.x; i < 2 * RUN; i += blockDim.x) s[i] = in[base + i];
  __syncthreads();
  const Key *a = s, *b = s + RUN;
  const int diag = threadIdx.x * PER;
  int ia = merge_path_search(a, RUN, b, RUN, diag), ib = diag - ia;
#pragma unroll
  for (int k = 0; k < PER; ++k) {
    const bool from_a = ib >= RUN || (ia < RUN && a[ia] <= b[ib]);
    out[base + diag + k] = from_a ? a[ia++] : b[ib++];
  }
}

// ------------------------------------------------------------ radix sort, one 4-bit pass
template <int BLOCK>
__global__ void radix_count(const Key* __restrict__ keys, unsigned* __restrict__ counts, int pass) {
  __shared__ unsigned hist[kDigits];
  if (threadIdx.x < kDigits) hist[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < kTile; i += BLOCK) {
    const Key k = keys[blockIdx.x * kTile + i];
    atomicAdd(&hist[(k >> c_shift[pass]) & (kDigits - 1)], 1u);
  }
  __syncthreads();
  // digit-major, so that one scan over everything gives the scatter offsets
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = hist[threadIdx.x];
}

__device__ __forceinline__ unsigned warp_scan(unsigned v, int lane) {
  for (int d = 1; d < 32; d <<= 1) {
    const unsigned o = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += o;
  }
  return v;
}

// Exclusive scan in place, a single block of 1024 threads marches over the array.
__global__ void radix_scan(unsigned* counts, int n) {
  __shared__ unsigned sums[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned carry = 0;
  for (int base = 0; base < n; base += 1024) {
    const int i = base + threadIdx.x;
    const unsigned own = i < n ? counts[i] : 0;
    const unsigned incl = warp_scan(own, lane);
    if (lane == 31) sums[warp] = incl;
    __syncthreads();
    if (warp == 0) sums[lane] = warp_scan(sums[lane], lane);
    __syncthreads();
    if (i < n) counts[i] = carry + (warp ? sums[warp - 1] : 0) + incl - own;
    carry += sums[31];
    __syncthreads();
  }
}

// Stable: the tile is handled in slices of BLOCK keys, ranks come from match_any inside a warp.
template <int BLOCK>
__global__ void radix_scatter(const Key* __restrict__ in, Key* __restrict__ out,
                              const unsigned* __restrict__ offsets, int pass) {
  constexpr int WARPS = BLOCK / 32;
  static_assert(BLOCK >= WARPS * kDigits, "one thread per counter");
  __shared__ unsigned next[kDigits];
  __shared__ unsigned slots[WARPS][kDigits];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  if (tid < kDigits) next[tid] = offsets[tid * gridDim.x + blockIdx.x];
  for (int slice = 0; slice < kTile; slice += BLOCK) {
    if (tid < WARPS * kDigits) (&slots[0][0])[tid] = 0;
    __syncthreads();
    const Key k = in[blockIdx.x * kTile + slice + tid];
    const unsigned digit = (k >> c_shift[pass]) & (kDigits - 1);
    const unsigned peers = __match_any_sync(~0u, digit);
    const int rank = __popc(peers & ((1u << lane) - 1));
    if (rank == 0) slots[warp][digit] = __popc(peers);
    __syncthreads();
    if (tid < kDigits) {
      unsigned at = next[tid];
      for (int w = 0; w < WARPS; ++w) {
        const unsigned c = slots[w][tid];
        slots[w][tid] = at;
        at += c;
      }
      next[tid] = at;
    }
    __syncthreads();
    out[slots[warp][digit] + rank] = k;
    __syncthreads();
  }
}

// ------------------------------------------------------------ host
struct Context {
  cudaStream_t stream;
  cudaEvent_t begin, end;
  int failures = 0;
  template <class F>
  void step(const char* what, F launch) {
    float ms = 0;
    GPU(cudaEventRecord(begin, stream));
    launch();
    GPU(cudaGetLastError());
    GPU(cudaEventRecord(end, stream));
    GPU(cudaEventSynchronize(end));
    GPU(cudaEventElapsedTime(&ms, begin, end));
    printf("%-22s %8.4f ms\n", what, ms);
  }
  void expect(const Key* d_got, Key* h_got, const std::vector<Key>& want) {
    GPU(cudaMemcpyAsync(h_got, d_got, want.size() * sizeof(Key), cudaMemcpyDeviceToHost, stream));
    GPU(cudaStreamSynchronize(stream));
    const bool good = std::equal(want.begin(), want.end(), h_got);
    printf("    -> %s\n", good ? "ok" : "MISMATCH");
    failures += !good;
  }
};

static std::vector<Key> sorted_runs(std::vector<Key> v, int run) {
  for (size_t i = 0; i < v.size(); i += run) std::sort(v.begin() + i, v.begin() + i + run);
  return v;
}

int main(int argc, char** argv) {
  int tiles = argc > 1 ? atoi(argv[1]) : 256;
  Key state = argc > 2 ? (Key)atoi(argv[2]) : 4711u;
  if (tiles < 2 || tiles > 8192) {
    fprintf(stderr, "usage: %s [2..8192] [seed]\n", argv[0]);
    return 1;
  }
  tiles &= ~1;  // runs are merged in pairs
  const int n = tiles * kTile;
  const size_t bytes = n * sizeof(Key);
  std::vector<Key> keys(n);
  for (Key& k : keys) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    k = state;
  }

  Key *d_in, *d_a, *d_b, *h_buf;
  unsigned* d_counts;
  GPU(cudaMalloc(&d_in, bytes));
  GPU(cudaMalloc(&d_a, bytes));
  GPU(cudaMalloc(&d_b, bytes));
  GPU(cudaMalloc(&d_counts, tiles * kDigits * sizeof(unsigned)));
  GPU(cudaMallocHost(&h_buf, bytes));
  const int shifts[2] = {0, kRadixBits};
  GPU(cudaMemcpyToSymbol(c_shift, shifts, sizeof(shifts)));

  Context ctx;
  GPU(cudaStreamCreate(&ctx.stream));
  GPU(cudaEventCreate(&ctx.begin));
  GPU(cudaEventCreate(&ctx.end));
  std::copy(keys.begin(), keys.end(), h_buf);
  GPU(cudaMemcpyAsync(d_in, h_buf, bytes, cudaMemcpyHostToDevice, ctx.stream));
  GPU(cudaStreamSynchronize(ctx.stream));

  const size_t smem = kTile * sizeof(Key);
  bitonic_block<<<tiles, kTile / 2, smem, ctx.stream>>>(d_in, d_a, kTile);  // warm-up
  GPU(cudaGetLastError());
  ctx.step("bitonic 1024", [&] { bitonic_block<<<tiles, kTile / 2, smem, ctx.stream>>>(d_in, d_a, kTile); });
  ctx.expect(d_a, h_buf, sorted_runs(keys, kTile));

  ctx.step("merge path 2 x 1024", [&] { merge_runs<kTile, 8><<<tiles / 2, 256, 0, ctx.stream>>>(d_a, d_b); });
  ctx.expect(d_b, h_buf, sorted_runs(keys, 2 * kTile));

  ctx.step("odd-even 256", [&] { odd_even_block<256><<<n / 256, 128, 0, ctx.stream>>>(d_in, d_a); });
  ctx.expect(d_a, h_buf, sorted_runs(keys, 256));

  const Key* src = d_in;
  Key* dst = d_a;
  for (int pass = 0; pass < 2; ++pass) {
    ctx.step("radix count", [&] { radix_count<128><<<tiles, 128, 0, ctx.stream>>>(src, d_counts, pass); });
    ctx.step("radix scan", [&] { radix_scan<<<1, 1024, 0, ctx.stream>>>(d_counts, tiles * kDigits); });
    ctx.step("radix scatter", [&] {
      radix_scatter<256><<<tiles, 256, 0, ctx.stream>>>(src, dst, d_counts, pass);
    });
    src = dst;
    dst = d_b;
  }
  std::vector<Key> by_byte = keys;
  std::stable_sort(by_byte.begin(), by_byte.end(), [](Key a, Key b) { return (a & 255u) < (b & 255u); });
  ctx.expect(src, h_buf, by_byte);

  GPU(cudaEventDestroy(ctx.begin));
  GPU(cudaEventDestroy(ctx.end));
  GPU(cudaStreamDestroy(ctx.stream));
  for (void* p : {(void*)d_in, (void*)d_a, (void*)d_b, (void*)d_counts}) GPU(cudaFree(p));
  GPU(cudaFreeHost(h_buf));
  printf("%s\n", ctx.failures ? "FAIL" : "PASS");
  return ctx.failures ? 1 : 0;
}
