// Single-pass prefix sum with decoupled look-back, stream compaction on top of ballots, expansion by load-balancing search.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#define CHECK(stmt) check_((stmt), #stmt, __LINE__)
inline void check_(cudaError_t e, const char* what, int line) {
  if (e == cudaSuccess) return;
  std::cerr << "line " << line << ": " << what << ": " << cudaGetErrorString(e) << std::endl;
  std::exit(1);
}

constexpr unsigned FULL = 0xffffffffu;

// status of a tile: upper 2 bits state (0 none, 1 aggregate, 2 inclusive prefix), the rest the value
using Status = unsigned int;
constexpr Status kAggregate = 1u << 30, kPrefix = 2u << 30, kValue = (1u << 30) - 1;

template <int THREADS, int ITEMS>
__global__ void scanLookback(const int* __restrict__ in, int* __restrict__ out, int n, volatile Status* status, unsigned* ticket) {
  __shared__ int tile[THREADS * ITEMS];
  __shared__ int warpTotals[THREADS / 32];
  __shared__ unsigned myTile;
  __shared__ int exclusive;
  if (threadIdx.x == 0) myTile = atomicAdd(ticket, 1u);
  __syncthreads();
  const int base = myTile * THREADS * ITEMS;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int i = base + k * THREADS + threadIdx.x;
    tile[k * THREADS + threadIdx.x] = i < n ? in[i] : 0;
  }
  __syncthreads();

  int items[ITEMS], sum = 0;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    items[k] = tile[threadIdx.x * ITEMS + k];
    sum += items[k];
  }
  int inclusive = sum;
  for (int d = 1; d < 32; d <<= 1) {
    const int v = __shfl_up_sync(FULL, inclusive, d);
    if (lane >= d) inclusive += v;
  }
  if (lane == 31) warpTotals[warp] = inclusive;
  __syncthreads();
  int before = 0, total = 0;
#pragma unroll
  for (int w = 0; w < THREADS / 32; ++w) {
    if (w == warp) before = total;
    total += warpTotals[w];
  }

  if (warp == 0) {
    if (lane == 0) {
      status[myTile] = (myTile == 0 ? kPrefix : kAggregate) | static_cast<Status>(total);
      __threadfence();
    }
    int prefix = 0;
    if (myTile > 0) {
      int look = static_cast<int>(myTile) - 1 - lane;
      for (;;) {
        Status s = kPrefix;
        if (look >= 0) {
          do s = status[look]; while ((s >> 30) == 0);
        }
        const unsigned done = __ballot_sync(FULL, (s >> 30) == 2);
        const int last = done ? __ffs(done) - 1 : 31;
        prefix += __reduce_add_sync(FULL, lane <= last ? static_cast<int>(s & kValue) : 0);
        if (done) break;
        look -= 32;
      }
      if (lane == 0) {
        status[myTile] = kPrefix | static_cast<Status>(prefix + total);
        __threadfence();
      }
    }
    if (lane == 0) exclusive = prefix;
  }
  __syncthreads();

  int run = exclusive + before + inclusive - sum;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    tile[threadIdx.x * ITEMS + k] = run;
    run += items[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int i = base + k * THREADS + threadIdx.x;
    if (i < n) out[i] = tile[k * THREADS + threadIdx.x];
  }
}

struct Record {
  int key;
  float weight;
  short kind;
};

struct IsHeavy {
  float limit;
  __host__ __device__ bool operator()(const Record& r) const { return r.weight > limit && r.kind != 3; }
};

// order is kept inside a warp only; one atomic a warp
template <typename Pred>
__global__ void compact(const Record* in, int n, Record* out, int* count, Pred pred) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x % warpSize;
  Record r{};
  const bool keep = i < n && (r = in[i], pred(r));
  const unsigned votes = __ballot_sync(FULL, keep);
  if (votes == 0) return;
  int slot = 0;
  const int leader = __ffs(votes) - 1;
  if (lane == leader) slot = atomicAdd(count, __popc(votes));
  slot = __shfl_sync(FULL, slot, leader);
  if (keep) out[slot + __popc(votes & ((1u << lane) - 1))] = r;
}

// out[j] = owner of the j-th work item, found in the scanned counts
__global__ void expandOwners(const int* __restrict__ offsets, int owners, int total, int* __restrict__ owner, unsigned short* __restrict__ rank) {
  for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < total; j += gridDim.x * blockDim.x) {
    int lo = 0, hi = owners;
    while (hi - lo > 1) {
      const int mid = (lo + hi) / 2;
      if (__ldg(offsets + mid) <= j) lo = mid;
      else hi = mid;
    }
    owner[j] = lo;
    rank[j] = static_cast<unsigned short>(j - offsets[lo]);
  }
}

template <typename T>
struct Dev {
  T* ptr{};
  size_t n{};
  Dev(size_t count, int fill = 0) : n(count) {
    CHECK(cudaMalloc(&ptr, n * sizeof(T)));
    CHECK(cudaMemset(ptr, fill, n * sizeof(T)));
  }
  Dev(const std::vector<T>& v) : Dev(v.size()) { CHECK(cudaMemcpy(ptr, v.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  ~Dev() { cudaFree(ptr); }
  Dev(const Dev&) = delete;
  operator T*() { return ptr; }
  std::vector<T> get() const {
    std::vector<T> v(n);
    CHECK(cudaMemcpy(v.data(), ptr, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
};

int main() {
  uint64_t s = 0x9E3779B97F4A7C15ull;
  auto rnd = [&s] {
    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
    return static_cast<uint32_t>((s * 2685821657736338717ull) >> 32);
  };
  const int n = 300007;
  constexpr int kThreads = 128, kItems = 8;
  const int tiles = (n + kThreads * kItems - 1) / (kThreads * kItems);

  std::vector<int> counts(n);
  for (auto& c : counts) c = rnd() % 4 == 0 ? rnd() % 12 : 0;
  std::vector<int> offsets(n);
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  const int total = offsets.back() + counts.back();

  Dev<int> dCounts(counts), dOffsets(n), dOwner(total), dKept(1);
  Dev<unsigned short> dRank(total);
  Dev<Status> dStatus(tiles);
  Dev<unsigned> dTicket(1);
  scanLookback<kThreads, kItems><<<tiles, kThreads>>>(dCounts, dOffsets, n, dStatus, dTicket);
  CHECK(cudaGetLastError());
  expandOwners<<<220, 256>>>(dOffsets, n, total, dOwner, dRank);
  CHECK(cudaGetLastError());

  std::vector<Record> records(n);
  for (int i = 0; i < n; ++i) records[i] = {i, (rnd() >> 8) / 16777216.0f, static_cast<short>(rnd() % 5)};
  Dev<Record> dRecords(records), dOut(n);
  const IsHeavy heavy{0.7f};
  compact<<<(n + 255) / 256, 256>>>(dRecords, n, dOut, dKept, heavy);
  CHECK(cudaDeviceSynchronize());

  bool scanOk = dOffsets.get() == offsets, expandOk = true, compactOk = true;
  const auto owner = dOwner.get();
  const auto rank = dRank.get();
  for (int i = 0, j = 0; i < n; ++i)
    for (int r = 0; r < counts[i]; ++r, ++j) expandOk = expandOk && owner[j] == i && rank[j] == r;

  std::vector<Record> want, got = dOut.get();
  std::copy_if(records.begin(), records.end(), std::back_inserter(want), heavy);
  got.resize(dKept.get()[0]);
  std::sort(got.begin(), got.end(), [](const Record& a, const Record& b) { return a.key < b.key; });
  compactOk = got.size() == want.size() && std::equal(got.begin(), got.end(), want.begin(), [](const Record& a, const Record& b) {
                return a.key == b.key && a.weight == b.weight && a.kind == b.kind;
              });
  std::cout << "scan " << scanOk << ", expand " << expandOk << " (" << total << " items), compact " << compactOk << " (" << want.size() << " kept)\n";
  const bool ok = scanOk && expandOk && compactOk;
  std::cout << (ok ? "OK" : "FAIL") << std::endl;
  return ok ? 0 : 1;
}
