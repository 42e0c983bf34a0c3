// Histogram and prefix-sum variants over the same array of bytes / counts.
//
//   histogram: global atomics | per-block shared copy | warp-aggregated
//   scan:      Hillis-Steele per tile | Blelloch per tile (with/without bank padding) |
//              whole array, every block finds its own offset from the tile totals
//
// usage: histogram_scan_c [log2 elements] [grid blocks for the histograms]
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define checkCuda(e) checkCudaImpl((e), __FILE__, __LINE__)
static void checkCudaImpl(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess) {
    fprintf(stderr, "%s:%d CUDA: %s\n", file, line, cudaGetErrorString(e));
    exit(1);
  }
}

typedef unsigned int uint;
constexpr int kBins = 256;
constexpr int kTile = 1024;  // elements per scan tile
constexpr uint kFull = 0xffffffffu;

// ---------------------------------------------------------------- histograms
__global__ void histGlobal(const unsigned char* data, int n, uint* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&bins[data[i]], 1u);
}

__global__ void histShared(const uchar4* __restrict__ data4, int n4, uint* __restrict__ bins) {
  extern __shared__ uint local[];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += blockDim.x * gridDim.x) {
    const uchar4 v = data4[i];
    atomicAdd(&local[v.x], 1u);
    atomicAdd(&local[v.y], 1u);
    atomicAdd(&local[v.z], 1u);
    atomicAdd(&local[v.w], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x)
    if (local[b]) atomicAdd(&bins[b], local[b]);
}

// lanes with the same bin elect one of them to do the atomic for all
__global__ void histWarpAggregated(const unsigned char* __restrict__ data, int n,
                                   uint* __restrict__ bins) {
  const int lane = threadIdx.x & 31;
  for (int base = blockIdx.x * blockDim.x; base < n; base += blockDim.x * gridDim.x) {
    const int i = base + threadIdx.x;
    const uint bin = i < n ? data[i] : kBins;  // kBins: nothing to do
    const uint peers = __match_any_sync(kFull, bin);
    if (lane == __ffs(peers) - 1 && bin < kBins) atomicAdd(&bins[bin], (uint)__popc(peers));
  }
}

// ---------------------------------------------------------------- scans
// Inclusive, one element per thread, two buffers in shared memory.
__global__ void scanHillisSteele(const uint* in, uint* out, uint* tileTotals) {
  extern __shared__ uint temp[];
  const int tid = threadIdx.x, len = blockDim.x;
  const int g = blockIdx.x * len + tid;
  int cur = 0;
  temp[tid] = in[g];
  __syncthreads();
  for (int d = 1; d < len; d *= 2) {
    const int nxt = cur ^ 1;
    uint v = temp[cur * len + tid];
    if (tid >= d) v += temp[cur * len + tid - d];
    temp[nxt * len + tid] = v;
    cur = nxt;
    __syncthreads();
  }
  out[g] = temp[cur * len + tid];
  if (tid == len - 1) tileTotals[blockIdx.x] = temp[cur * len + tid];
}

template <bool kPadded>
__device__ __forceinline__ int slot(int i) {
  return kPadded ? i + (i >> 5) : i;
}

// Exclusive, two elements per thread, up-sweep and down-sweep over a balanced tree.
template <bool kPadded>
__global__ void scanBlelloch(const uint* __restrict__ in, uint* __restrict__ out) {
  extern __shared__ uint temp[];
  const int tid = threadIdx.x, len = 2 * blockDim.x;
  const uint* src = in + blockIdx.x * len;
  temp[slot<kPadded>(2 * tid)] = src[2 * tid];
  temp[slot<kPadded>(2 * tid + 1)] = src[2 * tid + 1];
  int stride = 1;
  for (int d = len >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (tid < d) {
      const int a = slot<kPadded>(stride * (2 * tid + 1) - 1);
      const int b = slot<kPadded>(stride * (2 * tid + 2) - 1);
      temp[b] += temp[a];
    }
    stride *= 2;
  }
  __syncthreads();
  if (tid == 0) temp[slot<kPadded>(len - 1)] = 0;
  for (int d = 1; d < len; d *= 2) {
    stride >>= 1;
    __syncthreads();
    if (tid < d) {
      const int a = slot<kPadded>(stride * (2 * tid + 1) - 1);
      const int b = slot<kPadded>(stride * (2 * tid + 2) - 1);
      const uint t = temp[a];
      temp[a] = temp[b];
      temp[b] += t;
    }
  }
  __syncthreads();
  uint* dst = out + blockIdx.x * len;
  dst[2 * tid] = temp[slot<kPadded>(2 * tid)];
  dst[2 * tid + 1] = temp[slot<kPadded>(2 * tid + 1)];
}

__device__ __forceinline__ uint warpInclusive(uint v) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const uint o = __shfl_up_sync(kFull, v, d);
    if (lane >= d) v += o;
  }
  return v;
}

// Inclusive over the whole array. No second launch for the offsets: a block sums the totals of all
// tiles in front of its own, then scans its tile with shuffles, four elements per thread.
template <int BLOCK>
__global__ void scanDecoupled(const uint4* __restrict__ in, uint4* __restrict__ out,
                              const uint* __restrict__ tileTotals) {
  __shared__ uint warpPart[BLOCK / 32];
  __shared__ uint prefix;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  if (tid == 0) prefix = 0;
  __syncthreads();
  uint before = 0;
  for (int t = tid; t < blockIdx.x; t += BLOCK) before += tileTotals[t];
#pragma unroll
  for (int d = 16; d > 0; d /= 2) before += __shfl_xor_sync(kFull, before, d);
  if (lane == 0) atomicAdd(&prefix, before);

  uint4 v = in[blockIdx.x * BLOCK + tid];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  const uint incl = warpInclusive(v.w);
  if (lane == 31) warpPart[warp] = incl;
  __syncthreads();
  uint add = prefix + incl - v.w;
  for (int k = 0; k < warp; ++k) add += warpPart[k];
  out[blockIdx.x * BLOCK + tid] = make_uint4(v.x + add, v.y + add, v.z + add, v.w + add);
}

// ---------------------------------------------------------------- driver
struct Bench {
  cudaEvent_t a, b;
  Bench() { checkCuda(cudaEventCreate(&a)); checkCuda(cudaEventCreate(&b)); }
  ~Bench() { cudaEventDestroy(a); cudaEventDestroy(b); }
  template <typename L>
  void operator()(const char* name, cudaStream_t s, L launch) {
    float ms;
    checkCuda(cudaEventRecord(a, s));
    launch();
    checkCuda(cudaGetLastError());
    checkCuda(cudaEventRecord(b, s));
    checkCuda(cudaEventSynchronize(b));
    checkCuda(cudaEventElapsedTime(&ms, a, b));
    printf("%-28s %8.4f ms\n", name, ms);
  }
};

static bool report(const char* what, bool good) {
  printf("   check %-22s %s\n", what, good ? "ok" : "WRONG");
  return good;
}

int main(int argc, char** argv) {
  const int logn = argc > 1 ? atoi(argv[1]) : 20;
  const int blocks = argc > 2 ? atoi(argv[2]) : 264;
  if (logn < 12 || logn > 26 || blocks < 1) {
    fprintf(stderr, "usage: %s [12..26] [blocks]\n", argv[0]);
    return 1;
  }
  const int n = 1 << logn, tiles = n / kTile;
  std::vector<unsigned char> bytes(n);
  std::vector<uint> vals(n), got(n), incl(n);
  std::vector<uint> wantBins(kBins, 0);
  uint lcg = 2024u, run = 0;
  for (int i = 0; i < n; ++i) {
    lcg = lcg * 1103515245u + 12345u;
    const uint a = (lcg >> 16) & 255u, b = (lcg >> 24) & 255u;
    bytes[i] = (unsigned char)((a * b) >> 8);  // skewed towards small bins
    vals[i] = bytes[i] & 7u;
    run += vals[i];
    incl[i] = run;
    ++wantBins[bytes[i]];
  }

  cudaStream_t s;
  checkCuda(cudaStreamCreate(&s));
  unsigned char* dBytes;
  uint *dVals, *dOut, *dTotals, *bins;
  checkCuda(cudaMalloc(&dBytes, n));
  checkCuda(cudaMalloc(&dVals, n * sizeof(uint)));
  checkCuda(cudaMalloc(&dOut, n * sizeof(uint)));
  checkCuda(cudaMalloc(&dTotals, tiles * sizeof(uint)));
  checkCuda(cudaMalloc(&bins, 3 * kBins * sizeof(uint)));
  checkCuda(cudaMemcpyAsync(dBytes, bytes.data(), n, cudaMemcpyHostToDevice, s));
  checkCuda(cudaMemcpyAsync(dVals, vals.data(), n * sizeof(uint), cudaMemcpyHostToDevice, s));

  Bench bench;
  bool ok = true;
  checkCuda(cudaMemsetAsync(bins, 0, 3 * kBins * sizeof(uint), s));
  histShared<<<blocks, 256, kBins * sizeof(uint), s>>>((const uchar4*)dBytes, n / 4, bins);  // warm-up
  checkCuda(cudaGetLastError());
  checkCuda(cudaMemsetAsync(bins, 0, 3 * kBins * sizeof(uint), s));
  bench("histogram global", s, [&] { histGlobal<<<blocks, 256, 0, s>>>(dBytes, n, bins); });
  bench("histogram shared", s, [&] {
    histShared<<<blocks, 256, kBins * sizeof(uint), s>>>((const uchar4*)dBytes, n / 4, bins + kBins);
  });
  bench("histogram warp-aggregated", s,
        [&] { histWarpAggregated<<<blocks, 256, 0, s>>>(dBytes, n, bins + 2 * kBins); });
  std::vector<uint> h(3 * kBins);
  checkCuda(cudaMemcpyAsync(h.data(), bins, h.size() * sizeof(uint), cudaMemcpyDeviceToHost, s));
  checkCuda(cudaStreamSynchronize(s));
  for (int v = 0; v < 3; ++v) {
    bool same = true;
    for (int b = 0; b < kBins; ++b) same = same && h[v * kBins + b] == wantBins[b];
    ok &= report("histogram", same);
  }

  auto fetch = [&] {
    checkCuda(cudaMemcpyAsync(got.data(), dOut, n * sizeof(uint), cudaMemcpyDeviceToHost, s));
    checkCuda(cudaStreamSynchronize(s));
  };
  auto tileBase = [&](int i) { return i < kTile ? 0u : incl[i / kTile * kTile - 1]; };

  bench("scan Hillis-Steele (tiles)", s, [&] {
    scanHillisSteele<<<tiles, kTile, 2 * kTile * sizeof(uint), s>>>(dVals, dOut, dTotals);
  });
  fetch();
  bool same = true;
  for (int i = 0; i < n; ++i) same = same && got[i] == incl[i] - tileBase(i);
  ok &= report("Hillis-Steele", same);

  for (int padded = 0; padded < 2; ++padded) {
    const size_t smemBytes = (kTile + (padded ? kTile / 32 : 0)) * sizeof(uint);
    bench(padded ? "scan Blelloch padded" : "scan Blelloch", s, [&] {
      if (padded) scanBlelloch<true><<<tiles, kTile / 2, smemBytes, s>>>(dVals, dOut);
      else scanBlelloch<false><<<tiles, kTile / 2, smemBytes, s>>>(dVals, dOut);
    });
    fetch();
    same = true;
    for (int i = 0; i < n; ++i) same = same && got[i] == incl[i] - vals[i] - tileBase(i);
    ok &= report("Blelloch", same);
  }

  bench("scan decoupled (all)", s, [&] {
    scanDecoupled<kTile / 4><<<tiles, kTile / 4, 0, s>>>((const uint4*)dVals, (uint4*)dOut, dTotals);
  });
  fetch();
  ok &= report("decoupled", got == incl);

  checkCuda(cudaFree(dBytes));
  checkCuda(cudaFree(dVals));
  checkCuda(cudaFree(dOut));
  checkCuda(cudaFree(dTotals));
  checkCuda(cudaFree(bins));
  checkCuda(cudaStreamDestroy(s));
  printf("%s\n", ok ? "PASS" : "FAIL");
  return !ok;
}
