/**
 * CUB's sorts and histograms (3.0, nvcc 13.0). Where an item is stored and read from is decided by the keys: such accesses are there, at addresses that
 * are not known. The sizes of their storage are.
 */
import { collective, ofBlock } from './common';

const moved = `
  template <class K> __device__ void move(K& items) {
    T* shared = (T*)storage;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) shared[__warplens_unknown<int>(items[i])] = items[i];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) items[i] = shared[__warplens_unknown<int>(items[i])];
  }`;
const method = (name: string, more: string): string => `
  template <class K> __device__ void ${name}(K& keys${more}) { move(keys); }
  template <class K, class V> __device__ void ${name}(K& keys, V& values${more}) { move(keys); move(values); }`;
const radixSorts = ['Sort', 'SortDescending', 'SortBlockedToStriped', 'SortDescendingBlockedToStriped']
  .flatMap((name) => ['', ', int begin', ', int begin, int end'].map((more) => method(name, more)))
  .join('');

const mergeSorts = ['Sort', 'StableSort']
  .map(
    (name) => `
  template <class K, class Op> __device__ void ${name}(K& keys, Op op) { move(keys); }
  template <class K, class Op> __device__ void ${name}(K& keys, Op op, int valid, T otherwise) { move(keys); }
  template <class K, class V, class Op> __device__ void ${name}(K& keys, V& values, Op op) { move(keys); move(values); }
  template <class K, class V, class Op> __device__ void ${name}(K& keys, V& values, Op op, int valid, T otherwise) { move(keys); move(values); }`,
  )
  .join('');

const histogram = `
  template <class C> __device__ void InitHistogram(C* histogram) {
    int linear = thread();
    #pragma unroll
    for (int at = 0; at < BINS; at += THREADS) if (at + THREADS <= BINS || at + linear < BINS) histogram[at + linear] = 0;
  }
  template <class K, class C> __device__ void Composite(K& items, C* histogram) {
    if constexpr (A == BLOCK_HISTO_ATOMIC) {
      #pragma unroll
      for (int i = 0; i < ITEMS; ++i) atomicAdd(histogram + items[i], 1);
    } else {
      move(items);
      __syncthreads();
      int linear = thread();
      #pragma unroll
      for (int at = 0; at < BINS; at += THREADS) if (at + THREADS <= BINS || at + linear < BINS) histogram[at + linear] += __warplens_unknown<C>(items);
    }
  }
  template <class K, class C> __device__ void Histogram(K& items, C* histogram) { InitHistogram(histogram); __syncthreads(); Composite(items, histogram); }`;

const radixStorage = `
template <class T, int N, int ITEMS, class V, int BITS, bool WARPS, bool WIDE> struct __RadixStorage {
  using Counter = typename __bits<(WIDE ? 8 : 4)>::type;
  static constexpr int LANES = 1 << (BITS > (WIDE ? 2 : 1) ? BITS - (WIDE ? 2 : 1) : 0);
  struct alignas(16) Ranks { Counter counters[(LANES + 1) * N]; __ScanStorage<Counter, N, WARPS> scan; };
  union { Ranks ranks; __ExchangeStorage<T, N * ITEMS, ITEMS> keys; __ExchangeStorage<V, N * ITEMS, ITEMS> values; };
};
template <class T, class V, int N> struct __MergeStorage { union { T keys[N + 1]; V values[N + 1]; }; };
template <class T, int N, int ITEMS, int BINS, bool SORTS> struct __HistogramStorage { unsigned char none; };
template <class T, int N, int ITEMS, int BINS> struct __HistogramStorage<T, N, ITEMS, BINS, true> {
  struct Runs { T first[N]; T last[N]; unsigned begin[BINS]; unsigned end[BINS]; };
  union { __RadixStorage<T, N, ITEMS, NullType, 4, N % 32 == 0, false> sort; Runs runs; };
};`;

export const sorts = `
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };
${radixStorage}
${collective('BlockRadixSort', 'class T, int X, int ITEMS, class V = NullType, int BITS = 4, bool M = true, int S = BLOCK_SCAN_WARP_SCANS, int C = 1, int Y = 1, int Z = 1, int CC = 0', 'using TempStorage = __RadixStorage<T, X * Y * Z, ITEMS, V, BITS, S == BLOCK_SCAN_WARP_SCANS && X * Y * Z % 32 == 0, C == 2>;', `${ofBlock}${moved}${radixSorts}`)}
${collective('BlockMergeSort', 'class T, int X, int ITEMS, class V = NullType, int Y = 1, int Z = 1', 'using TempStorage = __MergeStorage<T, V, X * Y * Z * ITEMS>;', `${ofBlock}${moved}${mergeSorts}`)}
${collective('WarpMergeSort', 'class T, int ITEMS, int W = 32, class V = NullType', 'using TempStorage = __MergeStorage<T, V, W * ITEMS>;', `${moved.replaceAll('__syncthreads', '__syncwarp')}${mergeSorts}`)}
${collective('BlockHistogram', 'class T, int X, int ITEMS, int BINS, BlockHistogramAlgorithm A = BLOCK_HISTO_SORT, int Y = 1, int Z = 1, int CC = 0', 'using TempStorage = __HistogramStorage<T, X * Y * Z, ITEMS, BINS, A == BLOCK_HISTO_SORT>;', `${ofBlock}${moved}${histogram}`)}
`;
