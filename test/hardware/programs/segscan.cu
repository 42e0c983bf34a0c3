// Segmented inclusive scan (sum) over float values with head flags.
// Warp-shuffle based; block totals carried with a (flag,value) monoid.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>

template <typename T>
struct SegPair {
  T value;
  int flag;
};

// (a . b): b restarts when its flag is set
template <typename T>
__host__ __device__ inline SegPair<T> combine(const SegPair<T>& a, const SegPair<T>& b) {
  return SegPair<T>{b.flag ? b.value : a.value + b.value, a.flag | b.flag};
}

__device__ inline SegPair<float> make_pair_of(float v, int head) { return {v, head}; }

struct DeviceDeleter {
  void operator()(void* p) const { cudaFree(p); }
};
template <typename T>
using device_ptr = std::unique_ptr<T[], DeviceDeleter>;

inline void ok_or_die(cudaError_t e) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(e));
    std::exit(1);
  }
}

template <typename T>
device_ptr<T> device_alloc(size_t n) {
  void* p = nullptr;
  ok_or_die(cudaMalloc(&p, n * sizeof(T)));
  return device_ptr<T>(static_cast<T*>(p));
}

template <typename T>
__device__ __forceinline__ SegPair<T> warp_segscan(SegPair<T> x) {
  const unsigned lane = threadIdx.x & 31u;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    SegPair<T> y;
    y.value = __shfl_up_sync(0xffffffffu, x.value, d);
    y.flag = __shfl_up_sync(0xffffffffu, x.flag, d);
    if (lane >= static_cast<unsigned>(d)) x = combine(y, x);
  }
  return x;
}

template <typename T, int THREADS>
__device__ SegPair<T> block_segscan(SegPair<T> x) {
  constexpr int kWarps = THREADS / 32;
  static_assert(kWarps <= 32);
  __shared__ SegPair<T> totals[kWarps];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  x = warp_segscan(x);
  if (lane == 31) totals[warp] = x;
  __syncthreads();
  if (warp == 0) {
    SegPair<T> t = lane < kWarps ? totals[lane] : SegPair<T>{T(0), 0};
    t = warp_segscan(t);
    if (lane < kWarps) totals[lane] = t;
  }
  __syncthreads();
  if (warp > 0) x = combine(totals[warp - 1], x);
  return x;
}

// Each thread scans ITEMS consecutive elements.  VEC selects float4/uchar4
// loads; the scalar path is the thread-strided one.
template <typename T, int THREADS, int ITEMS, bool VEC>
__global__ void __launch_bounds__(THREADS)
    segscan_tiles(const T* __restrict__ in, const uint8_t* __restrict__ heads,
                  T* __restrict__ out, SegPair<T>* __restrict__ tileTotals) {
  static_assert(ITEMS % 4 == 0 && std::is_same_v<T, float>);
  __shared__ SegPair<T> lastOf[THREADS];
  const size_t base = (size_t(blockIdx.x) * THREADS + threadIdx.x) * ITEMS;
  SegPair<T> item[ITEMS];
  if constexpr (VEC) {
#pragma unroll
    for (int v = 0; v < ITEMS / 4; ++v) {
      const float4 f = reinterpret_cast<const float4*>(in + base)[v];
      const uchar4 h = reinterpret_cast<const uchar4*>(heads + base)[v];
      item[4 * v + 0] = make_pair_of(f.x, h.x);
      item[4 * v + 1] = make_pair_of(f.y, h.y);
      item[4 * v + 2] = make_pair_of(f.z, h.z);
      item[4 * v + 3] = make_pair_of(f.w, h.w);
    }
  } else {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) item[i] = {in[base + i], heads[base + i]};
  }
#pragma unroll
  for (int i = 1; i < ITEMS; ++i) item[i] = combine(item[i - 1], item[i]);

  const SegPair<T> mine = block_segscan<T, THREADS>(item[ITEMS - 1]);
  lastOf[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x == THREADS - 1) tileTotals[blockIdx.x] = mine;
  if (threadIdx.x > 0) {
    const SegPair<T> prev = lastOf[threadIdx.x - 1];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) item[i] = combine(prev, item[i]);
  }
  if constexpr (VEC) {
#pragma unroll
    for (int v = 0; v < ITEMS / 4; ++v)
      reinterpret_cast<float4*>(out + base)[v] =
          make_float4(item[4 * v].value, item[4 * v + 1].value, item[4 * v + 2].value,
                      item[4 * v + 3].value);
  } else {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) out[base + i] = item[i].value;
  }
}

// One block: scan of tile totals, left as inclusive.
template <typename T, int THREADS>
__global__ void segscan_totals(SegPair<T>* totals, int n) {
  __shared__ SegPair<T> carry;
  if (threadIdx.x == 0) carry = SegPair<T>{T(0), 0};
  __syncthreads();
  for (int start = 0; start < n; start += THREADS) {
    const int i = start + threadIdx.x;
    SegPair<T> x = i < n ? totals[i] : SegPair<T>{T(0), 0};
    x = combine(carry, block_segscan<T, THREADS>(x));
    if (i < n) totals[i] = x;
    __syncthreads();
    if (threadIdx.x == THREADS - 1) carry = x;
    __syncthreads();
  }
}

// Adds the carry of the previous tile up to the tile's first head.
template <typename T>
__global__ void segscan_apply(T* out, const uint8_t* heads, const SegPair<T>* totals,
                              int tileSize) {
  __shared__ int firstHead;
  const int tile = blockIdx.x + 1;
  if (threadIdx.x == 0) firstHead = tileSize;
  __syncthreads();
  const size_t base = size_t(tile) * tileSize;
  for (int i = threadIdx.x; i < tileSize; i += blockDim.x)
    if (heads[base + i]) atomicMin(&firstHead, i);
  __syncthreads();
  const T add = totals[tile - 1].value;
  for (int i = threadIdx.x; i < firstHead; i += blockDim.x) out[base + i] += add;
}

int main() {
  constexpr int kThreads = 256, kItems = 8, kTile = kThreads * kItems;
  constexpr int kTiles = 768, n = kTile * kTiles;
  std::mt19937 gen(20240607);
  std::vector<float> in(n), ref(n), got(n);
  std::vector<uint8_t> heads(n);
  for (int i = 0; i < n; ++i) {
    in[i] = float(gen() & 15u);              // small integers: sums are exact
    heads[i] = (gen() % 5000u) == 0u;
  }
  float run = 0;
  for (int i = 0; i < n; ++i) ref[i] = run = heads[i] ? in[i] : run + in[i];

  auto dIn = device_alloc<float>(n);
  auto dOut = device_alloc<float>(n);
  auto dHeads = device_alloc<uint8_t>(n);
  auto dTot = device_alloc<SegPair<float>>(kTiles);
  ok_or_die(cudaMemcpy(dIn.get(), in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  ok_or_die(cudaMemcpy(dHeads.get(), heads.data(), n, cudaMemcpyHostToDevice));

  bool pass = true;
  auto finish = [&](const char* what) {
    segscan_totals<float, 512><<<1, 512>>>(dTot.get(), kTiles);
    segscan_apply<float><<<kTiles - 1, 256>>>(dOut.get(), dHeads.get(), dTot.get(), kTile);
    ok_or_die(cudaGetLastError());
    ok_or_die(cudaMemcpy(got.data(), dOut.get(), n * sizeof(float), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int i = 0; i < n; ++i) bad += got[i] != ref[i];
    std::printf("%s: %d wrong\n", what, bad);
    pass = pass && bad == 0;
  };

  segscan_tiles<float, kThreads, kItems, false>
      <<<kTiles, kThreads>>>(dIn.get(), dHeads.get(), dOut.get(), dTot.get());
  finish("scalar");
  ok_or_die(cudaMemset(dOut.get(), 0, n * sizeof(float)));
  segscan_tiles<float, kThreads, kItems, true>
      <<<kTiles, kThreads>>>(dIn.get(), dHeads.get(), dOut.get(), dTot.get());
  finish("vector");

  std::puts(pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
