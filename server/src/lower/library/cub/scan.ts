/**
 * CUB's scans (3.0, nvcc 13.0). By default every thread stores its value, the threads of one warp go over a segment each, twice, and every thread reads its
 * own back; with BLOCK_SCAN_WARP_SCANS the last lane of every warp stores, and all threads read what all warps stored. The warps themselves shuffle.
 */
import { collective, ofBlock } from './common';

const warp = `
template <int W, class T, class Op> __device__ T __scanWarp(T x, Op op) {
  int lane = __lane<W>();
  #pragma unroll
  for (int by = 1; by < W; by *= 2) {
    T other = __below<W>(x, by);
    if (lane >= by) x = op(other, x);
  }
  return x;
}
template <class T, int N, bool WARPS> struct __ScanStorage {
  __WarpScanStorage<T, __Raking<T, N>::THREADS, (__Raking<T, N>::THREADS & (__Raking<T, N>::THREADS - 1)) == 0> warp;
  typename __Raking<T, N>::Grid grid;
  T aggregate;
};
template <class T, int N> struct __ScanStorage<T, N, true> {
  struct alignas(32) { T aggregates[(N + 31) / 32]; unsigned char warps[(N + 31) / 32]; T prefix; };
};
struct __NoPrefix { template <class T> __device__ T operator()(T x) { return x; } };
enum { __ALONE, __AGGREGATE, __PREFIX };`;

const byWarps = `
  template <bool INCLUSIVE, bool FIRST, int WANTED, class Op, class P>
  __device__ void ofWarps(T x, T& out, T first, Op op, T& aggregate, P& prefix) {
    int linear = thread(), warp = linear / 32, lane = linear % 32;
    T upTo = __scanWarp<32>(x, op);
    T below = __below<32>(upTo, 1);
    if (lane == 31) storage->aggregates[warp] = upTo;
    __syncthreads();
    T before = first;
    T total = storage->aggregates[0];
    #pragma unroll
    for (int w = 1; w < WARPS; ++w) {
      if (warp == w) before = total;
      total = op(total, storage->aggregates[w]);
    }
    if (FIRST) before = warp == 0 ? first : op(first, before);
    if (INCLUSIVE) out = FIRST || warp != 0 ? op(before, upTo) : upTo;
    else out = lane == 0 ? before : FIRST || warp != 0 ? op(before, below) : below;
    if (WANTED == __AGGREGATE) aggregate = total;
    if (WANTED == __PREFIX) {
      if (warp == 0) {
        T given = prefix(total);
        if (lane == 0) { storage->prefix = given; out = INCLUSIVE ? out : given; }
      }
      __syncthreads();
      T given = storage->prefix;
      if (INCLUSIVE || linear > 0) out = op(given, out);
    }
  }`;

const byRaking = `
  template <bool FIRST, int WANTED, class Op, class P>
  __device__ T beforeSegment(T sum, T first, Op op, T& aggregate, P& prefix) {
    constexpr int W = __roundedUp(R::THREADS);
    T upTo = __scanWarp<W>(sum, op);
    T below = __below<W>(upTo, 1);
    bool isFirst = thread() == 0;
    if (WANTED == __AGGREGATE) aggregate = __from<W>(upTo, R::THREADS - 1);
    if (FIRST) below = isFirst ? first : op(first, below);
    if (WANTED == __PREFIX) {
      T given = __from<W>(prefix(__from<W>(upTo, R::THREADS - 1)), 0);
      below = isFirst ? given : op(given, below);
    }
    return below;
  }
  template <bool INCLUSIVE, bool FIRST, int WANTED, class Op, class P>
  __device__ void ofSegments(T x, T& out, T first, Op op, T& aggregate, P& prefix) {
    int linear = thread();
    if constexpr (R::THREADS == THREADS) {
      T below = beforeSegment<FIRST, WANTED>(x, first, op, aggregate, prefix);
      out = !INCLUSIVE ? below : FIRST || WANTED == __PREFIX || linear != 0 ? op(below, x) : x;
    } else {
      T* place = R::place(storage->grid, linear);
      *place = x;
      __syncthreads();
      if (linear < R::THREADS) {
        T* segment = R::segment(storage->grid, linear);
        T cached[R::SEGMENT];
        #pragma unroll
        for (int i = 0; i < R::SEGMENT; ++i) cached[i] = segment[i];
        T sum = cached[0];
        #pragma unroll
        for (int i = 1; i < R::SEGMENT; ++i) if (R::UNGUARDED || linear * R::SEGMENT + i < THREADS) sum = op(sum, cached[i]);
        T below = beforeSegment<FIRST, WANTED>(sum, first, op, aggregate, prefix);
        if (!MEMOIZED) {
          #pragma unroll
          for (int i = 0; i < R::SEGMENT; ++i) cached[i] = segment[i];
        }
        #pragma unroll
        for (int i = 0; i < R::SEGMENT; ++i) {
          T upTo = i > 0 || FIRST || WANTED == __PREFIX || linear != 0 ? op(below, cached[i]) : cached[i];
          cached[i] = INCLUSIVE ? upTo : below;
          below = upTo;
        }
        #pragma unroll
        for (int i = 0; i < R::SEGMENT; ++i) segment[i] = cached[i];
        if (WANTED == __AGGREGATE && linear == (FIRST ? 0 : R::THREADS - 1)) storage->aggregate = aggregate;
      }
      __syncthreads();
      out = *place;
      if (WANTED == __AGGREGATE) aggregate = storage->aggregate;
    }
  }`;

const choose = `
  using R = __Raking<T, X * Y * Z>;
  static constexpr bool MEMOIZED = A == BLOCK_SCAN_RAKING_MEMOIZE;
  template <bool INCLUSIVE, bool FIRST, int WANTED, class Op, class P>
  __device__ void scan(T x, T& out, T first, Op op, T& aggregate, P& prefix) {
    if constexpr (A == BLOCK_SCAN_WARP_SCANS && THREADS % 32 == 0) ofWarps<INCLUSIVE, FIRST, WANTED>(x, out, first, op, aggregate, prefix);
    else ofSegments<INCLUSIVE, FIRST, WANTED>(x, out, first, op, aggregate, prefix);
  }
  template <bool INCLUSIVE, bool FIRST, int WANTED, int N, class Op, class P>
  __device__ void scan(T (&in)[N], T (&out)[N], T first, Op op, T& aggregate, P& prefix) {
    T below;
    scan<false, FIRST, WANTED>(ThreadReduce(in, op), below, first, op, aggregate, prefix);
    bool isFirst = thread() == 0;
    #pragma unroll
    for (int i = 0; i < N; ++i) {
      T upTo = i > 0 || FIRST || WANTED == __PREFIX || !isFirst ? op(below, in[i]) : in[i];
      out[i] = INCLUSIVE ? upTo : below;
      below = upTo;
    }
  }`;

/** The overloads of one scan, of a value and of an array of them. */
const overloads = (name: string, inclusive: boolean, [template, values]: readonly [string, string]): string => {
  const method = (parameters: string, given: string, call: string, body = ''): string => {
    const all = [template, parameters].filter(Boolean).join(', ');
    return `
  ${all ? `template <${all}> ` : ''}__device__ void ${name}(${values}${given}) { T none; __NoPrefix no; ${body}scan<${inclusive}, ${call}); }`;
  };
  const isSum = name.endsWith('Sum');
  const first = `${isSum && !inclusive}`;
  const op = isSum ? 'cub::Sum()' : 'op';
  const p = isSum ? '' : 'class Op';
  const g = isSum ? '' : ', Op op';
  const out = [
    method(p, g, `${first}, __ALONE>(in, out, T(), ${op}, none, no`),
    method(p, `${g}, T& aggregate`, `${first}, __AGGREGATE>(in, out, T(), ${op}, aggregate, no`),
    method(
      [p, 'class P'].filter(Boolean).join(', '),
      `${g}, P& prefix`,
      `false, __PREFIX>(in, out, T(), ${op}, none, prefix`,
    ),
  ];
  if (!isSum)
    out.push(
      method(p, ', T first, Op op', 'true, __ALONE>(in, out, first, op, none, no'),
      method(p, ', T first, Op op, T& aggregate', 'true, __AGGREGATE>(in, out, first, op, aggregate, no'),
    );
  return out.join('');
};
const scans = [
  ['InclusiveSum', true],
  ['ExclusiveSum', false],
  ['InclusiveScan', true],
  ['ExclusiveScan', false],
] as const;
const value = ['', 'T in, T& out'] as const;
const array = ['int N', 'T (&in)[N], T (&out)[N]'] as const;

const warpMethods = `
  static constexpr int WIDTH = __roundedUp(W);
  template <bool INCLUSIVE, bool FIRST, int WANTED, class Op, class P>
  __device__ void scan(T x, T& out, T first, Op op, T& aggregate, P& none) {
    T upTo = __scanWarp<WIDTH>(x, op);
    if (WANTED == __AGGREGATE) aggregate = __from<WIDTH>(upTo, W - 1);
    if (FIRST) upTo = op(first, upTo);
    T below = __below<WIDTH>(upTo, 1);
    out = INCLUSIVE ? upTo : FIRST && __lane<WIDTH>() == 0 ? first : below;
  }
  template <class Op> __device__ void Scan(T in, T& inclusive, T& exclusive, Op op) { InclusiveScan(in, inclusive, op); exclusive = __below<WIDTH>(inclusive, 1); }
  template <class Op> __device__ void Scan(T in, T& inclusive, T& exclusive, T first, Op op) { InclusiveScan(in, inclusive, first, op); exclusive = __lane<WIDTH>() == 0 ? first : __below<WIDTH>(inclusive, 1); }
  __device__ T Broadcast(T x, unsigned lane) { return __from<WIDTH>(x, lane); }`;

export const scan = `
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
${warp}
${collective('BlockScan', 'class T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int CC = 0', 'using TempStorage = __ScanStorage<T, X * Y * Z, A == BLOCK_SCAN_WARP_SCANS && X * Y * Z % 32 == 0>;', `${ofBlock}${byWarps}${byRaking}${choose}${scans.map(([name, inclusive]) => overloads(name, inclusive, value) + overloads(name, inclusive, array)).join('')}`)}
${collective('WarpScan', 'class T, int W = 32, int CC = 0', 'using TempStorage = __WarpScanStorage<T, W, (W & (W - 1)) == 0>;', `${warpMethods}${scans.map(([name, inclusive]) => overloads(name, inclusive, value)).join('')}`)}
`;
