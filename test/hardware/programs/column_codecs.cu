/*
 * Column-store codecs: frame-of-reference bit packing (encoded with ballots, decoded two ways), delta coding, run lengths,
 * and a dictionary column filtered and summed.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK_CUDA(call)                                                        \
  {                                                                             \
    cudaError_t err = call;                                                     \
    if (err != cudaSuccess) {                                                   \
      fprintf(stderr, "%s (%s:%d)\n", cudaGetErrorString(err), __FILE__, __LINE__); \
      exit(EXIT_FAILURE);                                                       \
    }                                                                           \
  }

constexpr int N = 1 << 20;
constexpr int MINI = 32;                    // values of a vertical mini block: one warp
constexpr int FRAME = 128;                  // values of a horizontal frame
constexpr int DELTA_TILE = 1024;

template <typename T>
struct Column {
  T* d = nullptr;
  size_t n;
  explicit Column(size_t count) : n(count) { CHECK_CUDA(cudaMalloc((void**)&d, n * sizeof(T))); CHECK_CUDA(cudaMemset(d, 0, n * sizeof(T))); }
  explicit Column(const std::vector<T>& h) : Column(h.size()) { CHECK_CUDA(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  ~Column() { cudaFree(d); }
  operator T*() { return d; }
  std::vector<T> get() const {
    std::vector<T> h(n);
    CHECK_CUDA(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
};

// Vertical layout: word b of a mini block has bit b of its 32 values.
template <int BITS>
__global__ void packVertical(const uint32_t* in, uint32_t reference, uint32_t* out) {
  const int lane = threadIdx.x % 32, block = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const uint32_t v = in[block * MINI + lane] - reference;
  uint32_t mine = 0;
#pragma unroll
  for (int b = 0; b < BITS; ++b) {
    const uint32_t w = __ballot_sync(0xffffffffu, (v >> b) & 1u);
    if (lane == b) mine = w;
  }
  if (lane < BITS) out[block * BITS + lane] = mine;
}

template <int BITS>
__global__ void unpackVertical(const uint32_t* __restrict__ in, uint32_t reference, uint32_t* __restrict__ out) {
  const int lane = threadIdx.x % 32, block = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const uint32_t w = lane < BITS ? in[block * BITS + lane] : 0u;
  uint32_t v = 0;
#pragma unroll
  for (int b = 0; b < BITS; ++b) v |= ((__shfl_sync(0xffffffffu, w, b) >> lane) & 1u) << b;
  out[block * MINI + lane] = v + reference;
}

// Horizontal layout, width of its own for each frame: [reference, width, words...] from a table of offsets.
__global__ void unpackFrames(const uint32_t* data, const uint32_t* frameStart, uint32_t* out) {
  extern __shared__ uint32_t words[];
  const uint32_t start = frameStart[blockIdx.x], count = frameStart[blockIdx.x + 1] - start;
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) words[i] = data[start + i];
  __syncthreads();
  const uint32_t reference = words[0], width = words[1], bit = threadIdx.x * width;
  const uint64_t two = words[2 + bit / 32] | (uint64_t)words[2 + bit / 32 + 1] << 32;
  out[blockIdx.x * FRAME + threadIdx.x] = reference + ((uint32_t)(two >> (bit % 32)) & (uint32_t)((1ull << width) - 1));
}

// Zig-zag deltas to values, a tile per block, four per thread.
__global__ void __launch_bounds__(DELTA_TILE / 4) decodeDelta(const ushort4* zigzag, const int* first, int4* out) {
  __shared__ int warpSum[DELTA_TILE / 128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  auto plain = [](unsigned short z) { return (int)(z >> 1) ^ -(int)(z & 1); };
  const ushort4 z = zigzag[i];
  int4 v;
  v.x = plain(z.x);
  v.y = v.x + plain(z.y);
  v.z = v.y + plain(z.z);
  v.w = v.z + plain(z.w);
  int sum = v.w;
  for (int o = 1; o < 32; o <<= 1) {
    const int t = __shfl_up_sync(0xffffffffu, sum, o);
    if (lane >= o) sum += t;
  }
  if (lane == 31) warpSum[warp] = sum;
  __syncthreads();
  int base = first[blockIdx.x] + sum - v.w;
  for (int w = 0; w < warp; ++w) base += warpSum[w];
  out[i] = make_int4(base + v.x, base + v.y, base + v.z, base + v.w);
}

// Each output value looks for its run.
__global__ void decodeRuns(const uint8_t* value, const int* runEnd, int runs, uint8_t* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int lo = 0, hi = runs - 1;
    while (lo < hi) {
      const int mid = (lo + hi) >> 1;
      if (runEnd[mid] > i) hi = mid; else lo = mid + 1;
    }
    out[i] = value[lo];
  }
}

struct InRange {
  uint32_t lo, hi;
  __host__ __device__ bool operator()(uint32_t v) const { return v >= lo && v < hi; }
};

// SELECT sum(dictionary[code]) WHERE predicate(key): the dictionary in shared memory, four codes at a time.
template <class Predicate>
__global__ void filterSum(const uint32_t* key, const uchar4* code, const int* dictionary, Predicate keep, int n4,
                          unsigned long long* total, unsigned* rows) {
  __shared__ int dict[256];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) dict[k] = dictionary[k];
  __syncthreads();
  long long sum = 0;
  unsigned count = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    const uchar4 c = code[i];
    const uint32_t k0 = key[4 * i], k1 = key[4 * i + 1], k2 = key[4 * i + 2], k3 = key[4 * i + 3];
    if (keep(k0)) { sum += dict[c.x]; ++count; }
    if (keep(k1)) { sum += dict[c.y]; ++count; }
    if (keep(k2)) { sum += dict[c.z]; ++count; }
    if (keep(k3)) { sum += dict[c.w]; ++count; }
  }
  for (int o = 16; o; o /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, o);
    count += __shfl_down_sync(0xffffffffu, count, o);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(total, (unsigned long long)sum);
    atomicAdd(rows, count);
  }
}

template <typename A, typename B>
static int differ(const char* name, const A& got, const B& want) {
  size_t bad = got.size() != want.size();
  for (size_t i = 0; i < want.size(); ++i) bad += got[i] != want[i];
  printf("%-18s %s\n", name, bad ? "WRONG" : "ok");
  return bad != 0;
}

int main() {
  int errors = 0;
  uint32_t s = 777;
  auto rnd = [&s]() { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; };

  constexpr int BITS = 11;
  std::vector<uint32_t> keys(N);
  for (auto& k : keys) k = 100000 + rnd() % (1u << BITS);
  {
    Column<uint32_t> in(keys), packed((size_t)N / MINI * BITS), out(N);
    packVertical<BITS><<<N / 256, 256>>>(in, 100000, packed);
    unpackVertical<BITS><<<N / 128, 128>>>(packed, 100000, out);
    CHECK_CUDA(cudaGetLastError());
    std::vector<uint32_t> want((size_t)N / MINI * BITS, 0);
    for (int i = 0; i < N; ++i)
      for (int b = 0; b < BITS; ++b) want[i / MINI * BITS + b] |= ((keys[i] - 100000) >> b & 1) << (i % MINI);
    errors += differ("packVertical", packed.get(), want);
    errors += differ("unpackVertical", out.get(), keys);
  }
  {
    std::vector<uint32_t> start{0}, data, want(N);
    size_t longest = 0;
    for (int f = 0; f < N / FRAME; ++f) {
      const uint32_t width = 3 + rnd() % 19, ref = rnd() >> 8;
      const size_t at = data.size();
      data.resize(at + 2 + (FRAME * width + 31) / 32 + 1, 0);          // a word of slack for the 64-bit window
      data[at] = ref;
      data[at + 1] = width;
      for (int i = 0; i < FRAME; ++i) {
        const uint64_t v = rnd() & ((1u << width) - 1), bit = (uint64_t)i * width;
        want[f * FRAME + i] = ref + (uint32_t)v;
        data[at + 2 + bit / 32] |= (uint32_t)(v << (bit % 32));
        data[at + 3 + bit / 32] |= (uint32_t)(v << (bit % 32) >> 32);
      }
      start.push_back((uint32_t)data.size());
      if (data.size() - at > longest) longest = data.size() - at;
    }
    Column<uint32_t> d(data), st(start), out(N);
    unpackFrames<<<N / FRAME, FRAME, longest * sizeof(uint32_t)>>>(d, st, out);
    CHECK_CUDA(cudaGetLastError());
    errors += differ("unpackFrames", out.get(), want);
  }
  {
    std::vector<uint16_t> zz(N);
    std::vector<int> first(N / DELTA_TILE), want(N);
    for (int t = 0; t < N / DELTA_TILE; ++t) {
      int run = first[t] = (int)(rnd() >> 4);
      for (int i = 0; i < DELTA_TILE; ++i) {
        const int delta = i ? (int)(rnd() % 4001) - 2000 : 0;
        zz[t * DELTA_TILE + i] = (uint16_t)((delta << 1) ^ (delta >> 31));
        want[t * DELTA_TILE + i] = run += delta;
      }
    }
    Column<uint16_t> z(zz);
    Column<int> f(first), out(N);
    decodeDelta<<<N / DELTA_TILE, DELTA_TILE / 4>>>((const ushort4*)z.d, f, (int4*)out.d);
    CHECK_CUDA(cudaGetLastError());
    errors += differ("decodeDelta", out.get(), want);
  }
  {
    std::vector<uint8_t> value, want;
    std::vector<int> end;
    while ((int)want.size() < N) {
      int len = 1 + rnd() % 60;
      if ((int)want.size() + len > N) len = N - (int)want.size();
      value.push_back((uint8_t)rnd());
      want.insert(want.end(), len, value.back());
      end.push_back((int)want.size());
    }
    Column<uint8_t> v(value), out(N);
    Column<int> e(end);
    decodeRuns<<<1024, 256>>>(v, e, (int)end.size(), out, N);
    CHECK_CUDA(cudaGetLastError());
    errors += differ("decodeRuns", out.get(), want);
  }
  {
    std::vector<uint8_t> codes(N);
    std::vector<int> dict(256);
    for (auto& c : codes) c = (uint8_t)(rnd() >> 3 & rnd() >> 7);      // skewed to small counts of bits
    for (int k = 0; k < 256; ++k) dict[k] = (k * 7919) % 10007 - 3000;
    const InRange keep{100300, 101500};
    Column<uint32_t> k(keys);
    Column<uint8_t> c(codes);
    Column<int> d(dict);
    Column<unsigned long long> total(1);
    Column<unsigned> rows(1);
    filterSum<<<264, 256>>>(k.d, (const uchar4*)c.d, d.d, keep, N / 4, total.d, rows.d);
    CHECK_CUDA(cudaGetLastError());
    long long want = 0;
    unsigned wantRows = 0;
    for (int i = 0; i < N; ++i)
      if (keep(keys[i])) { want += dict[codes[i]]; ++wantRows; }
    errors += differ("filterSum", total.get(), std::vector<unsigned long long>{(unsigned long long)want});
    errors += differ("filterSum rows", rows.get(), std::vector<unsigned>{wantRows});
  }
  return errors;
}
