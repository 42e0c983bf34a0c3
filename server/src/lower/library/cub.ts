/**
 * CUB's block and warp primitives. What they compute is not known here and what they do in their temporary storage is theirs; its
 * size is CUB 3.0's (measured with nvcc 13.0 for 64 to 1024 threads of 1, 4 and 8 bytes), because occupancy depends on it.
 */
const blockLike = (
  name: string,
  parameters: string,
  bytes: string,
  body: string,
  [own, given]: readonly [string, string] = ['', ''],
): string => `
template <${parameters}> class ${name} {
public:
  struct TempStorage { alignas(16) unsigned char bytes[${bytes}]; };
  __device__ ${name}() { ${own} }
  __device__ ${name}(TempStorage& storage) { ${given} }
  __device__ ${name}(TempStorage& storage, int linear) { ${given} }
  ${body}
};`;

const scans = ['InclusiveSum', 'ExclusiveSum', 'InclusiveScan', 'ExclusiveScan'];
const scanMethods = (sync: string): string =>
  scans
    .map(
      (name) => `
  template <class I, class O> __device__ void ${name}(const I& in, O& out) { ${sync} __warplens_use(in); __warplens_change(out); }
  template <class I, class O, class A> __device__ void ${name}(const I& in, O& out, A& third) { ${sync} __warplens_use(in); __warplens_change(out, third); }
  template <class I, class O, class A, class B> __device__ void ${name}(const I& in, O& out, const A& third, const B& fourth) { ${sync} __warplens_use(in); __warplens_change(out); }
  template <class I, class O, class A, class B, class C> __device__ void ${name}(const I& in, O& out, const A& third, const B& fourth, C& fifth) { ${sync} __warplens_use(in); __warplens_change(out, fifth); }`,
    )
    .join('');

const reductions = (sync: string, names: readonly string[]): string =>
  names
    .map(
      (name) => `
  template <class A> __device__ T ${name}(const A& x) { ${sync} return __warplens_unknown<T>(x); }
  template <class A, class B> __device__ T ${name}(const A& x, const B& y) { ${sync} return __warplens_unknown<T>(x); }
  template <class A, class B, class C> __device__ T ${name}(const A& x, const B& y, const C& z) { ${sync} return __warplens_unknown<T>(x); }`,
    )
    .join('');

/**
 * A block's reduction as CUB 3.0 does it by default: the first lane of every warp stores what its warp has, the first thread reads what
 * the other warps stored (PTX of nvcc 13.0). The warps themselves shuffle.
 */
const blockReduction = `
  TempStorage* storage;
  __device__ T aggregate(T x) {
    if (A != BLOCK_REDUCE_WARP_REDUCTIONS) { __syncthreads(); return x; }
    constexpr int warps = (X * Y * Z + 31) / 32;
    int thread = threadIdx.x + X * (threadIdx.y + Y * threadIdx.z);
    T* aggregates = (T*)(storage->bytes + (warps + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    if (thread % 32 == 0) aggregates[thread / 32] = x;
    __syncthreads();
    if (thread == 0) {
      #pragma unroll
      for (int warp = 1; warp < warps; ++warp) __warplens_use(aggregates[warp]);
    }
    return __warplens_unknown<T>(x);
  }`;
const blockReductions = ['Sum', 'Reduce']
  .map(
    (name) => `
  template <class A1> __device__ T ${name}(const A1& x) { return aggregate(__warplens_unknown<T>(x)); }
  template <class A1, class B> __device__ T ${name}(const A1& x, const B& y) { return aggregate(__warplens_unknown<T>(x)); }
  template <class A1, class B, class C> __device__ T ${name}(const A1& x, const B& y, const C& z) { return aggregate(__warplens_unknown<T>(x)); }`,
  )
  .join('');

const grid = 'sizeof(T) * (X * Y * Z + ((X * Y * Z / 32) % 2 == 0 && X * Y * Z / 32 > 2 ? 32 : 0))';
const warps = '((X * Y * Z + 31) / 32)';
const radix = '36 * X * Y * Z + (4 * X * Y * Z / 32 + 32 + X * Y * Z / 32 + 4 + 31) / 32 * 32';
const reduceBytes = `A == BLOCK_REDUCE_WARP_REDUCTIONS ? (${warps} + sizeof(T) - 1) / sizeof(T) * sizeof(T) + (${warps} + 1) * sizeof(T) : ${grid}`;
const scanBytes = `A == BLOCK_SCAN_WARP_SCANS ? ((${warps} * sizeof(T) + 31) / 32 * 32 + ${warps} + sizeof(T) + 31) / 32 * 32 : (16 + ${grid} + sizeof(T) + 15) / 16 * 16`;

const direct = (method: string, statement: string): string => `
  template <class P, class V> __device__ void ${method}(P p, V& items) { ${statement} }
  template <class P, class V> __device__ void ${method}(P p, V& items, int valid) { ${statement.replace('; i++)', '; i++) if (position(i) < valid)')} }`;
const filled = `
  template <class P, class V, class D> __device__ void Load(P p, V& items, int valid, D otherwise) {
    for (int i = 0; i < ITEMS; i++) items[i] = position(i) < valid ? p[position(i)] : otherwise;
  }`;
const position = (striped: string): string => `
  __device__ int position(int i) {
    int thread = threadIdx.x + X * (threadIdx.y + Y * threadIdx.z);
    if (A == ${striped}_STRIPED || A == ${striped}_TRANSPOSE) return thread + i * (X * Y * Z);
    if (A == ${striped}_WARP_TRANSPOSE || A == ${striped}_WARP_TRANSPOSE_TIMESLICED) return thread / 32 * 32 * ITEMS + thread % 32 + i * 32;
    return thread * ITEMS + i;
  }`;
const transposed = (name: string): string =>
  `A == ${name}_TRANSPOSE || A == ${name}_WARP_TRANSPOSE ? sizeof(T) * X * Y * Z * ITEMS : 1`;
const algorithms = (name: string): string =>
  `enum ${name}Algorithm { ${['DIRECT', 'STRIPED', 'VECTORIZE', 'TRANSPOSE', 'WARP_TRANSPOSE', 'WARP_TRANSPOSE_TIMESLICED'].map((a) => `${name === 'BlockLoad' ? 'BLOCK_LOAD' : 'BLOCK_STORE'}_${a}`).join(', ')} };`;

const sync = '__syncthreads();';
const sort = (name: string) => `
  template <class K> __device__ void ${name}(K& keys) { ${sync} __warplens_change(keys); }
  template <class K> __device__ void ${name}(K& keys, int begin, int end) { ${sync} __warplens_change(keys); }
  template <class K, class V> __device__ void ${name}(K& keys, V& values) { ${sync} __warplens_change(keys, values); }
  template <class K, class V> __device__ void ${name}(K& keys, V& values, int begin, int end) { ${sync} __warplens_change(keys, values); }`;
const exchanges = ['StripedToBlocked', 'BlockedToStriped', 'WarpStripedToBlocked', 'BlockedToWarpStriped'];

export const cub = `
namespace cub {
template <size_t N> struct __bits { using type = unsigned char; };
template <> struct __bits<2> { using type = unsigned short; };
template <> struct __bits<4> { using type = unsigned int; };
template <> struct __bits<8> { using type = unsigned long long; };
template <class T> struct Traits {
  using UnsignedBits = typename __bits<sizeof(T)>::type;
  static UnsignedBits TwiddleIn(UnsignedBits x) { return __warplens_unknown<UnsignedBits>(x); }
  static UnsignedBits TwiddleOut(UnsignedBits x) { return __warplens_unknown<UnsignedBits>(x); }
};
template <class T> struct NumericTraits : Traits<T> {};
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
${algorithms('BlockLoad')}
${algorithms('BlockStore')}
struct Sum { template <class A, class B> __host__ __device__ A operator()(A a, B b) const { return a + b; } };
struct Max { template <class A, class B> __host__ __device__ A operator()(A a, B b) const { return a > b ? a : b; } };
struct Min { template <class A, class B> __host__ __device__ A operator()(A a, B b) const { return a < b ? a : b; } };
template <class K, class V> struct KeyValuePair { K key; V value; };
${blockLike('BlockReduce', 'class T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int CC = 0', reduceBytes, `${blockReduction}${blockReductions}`, ['__shared__ TempStorage unnamed; this->storage = &unnamed;', 'this->storage = &storage;'])}
${blockLike('BlockScan', 'class T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int CC = 0', scanBytes, scanMethods(sync))}
${blockLike('WarpReduce', 'class T, int W = 32, int CC = 0', '1', reductions('', ['Sum', 'Reduce', 'Max', 'Min', 'HeadSegmentedSum', 'TailSegmentedSum', 'HeadSegmentedReduce', 'TailSegmentedReduce']))}
${blockLike('WarpScan', 'class T, int W = 32, int CC = 0', '1', `${scanMethods('')} template <class A> __device__ T Broadcast(const A& x, unsigned lane) { return __shfl_sync(0xffffffff, x, lane); }`)}
${blockLike('BlockRadixSort', 'class T, int X, int ITEMS, class V = void, int BITS = 4, bool M = true, int S = 0, int C = 0, int Y = 1, int Z = 1, int CC = 0', radix, ['Sort', 'SortDescending', 'SortBlockedToStriped', 'SortDescendingBlockedToStriped'].map(sort).join(''))}
${blockLike('BlockExchange', 'class T, int X, int ITEMS, bool SLICED = false, int Y = 1, int Z = 1, int CC = 0', 'sizeof(T) * X * Y * Z * ITEMS', exchanges.map((name) => `template <class A> __device__ void ${name}(A& items) { ${sync} __warplens_change(items); } template <class A, class B> __device__ void ${name}(const A& items, B& out) { ${sync} __warplens_use(items); __warplens_change(out); }`).join(' '))}
${blockLike('BlockDiscontinuity', 'class T, int X, int Y = 1, int Z = 1, int CC = 0', '2 * sizeof(T) * X * Y * Z', ['FlagHeads', 'FlagTails'].map((name) => `template <class F, class A, class O> __device__ void ${name}(F& flags, const A& items, O op) { ${sync} __warplens_use(items); __warplens_change(flags); } template <class F, class A, class O> __device__ void ${name}(F& flags, const A& items, O op, T edge) { ${sync} __warplens_use(items); __warplens_change(flags); }`).join(' '))}
${blockLike('BlockLoad', 'class T, int X, int ITEMS, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int CC = 0', transposed('BLOCK_LOAD'), `${position('BLOCK_LOAD')}${direct('Load', 'for (int i = 0; i < ITEMS; i++) items[i] = p[position(i)];')}${filled}`)}
${blockLike('BlockStore', 'class T, int X, int ITEMS, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int CC = 0', `(${transposed('BLOCK_STORE')}) + 16`, `${position('BLOCK_STORE')}${direct('Store', 'for (int i = 0; i < ITEMS; i++) p[position(i)] = items[i];')}`)}
}
`;
