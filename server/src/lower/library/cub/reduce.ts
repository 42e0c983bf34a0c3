/**
 * CUB's reductions (3.0, nvcc 13.0). By default the first lane of every warp stores what its warp has and the first thread reads what the other warps
 * stored; raking, all threads store and those of one warp read a segment each. The warps themselves shuffle.
 */
import { collective, ofBlock } from './common';

const warp = `
template <int W, bool FULL, class T, class Op> __device__ T __reduceWarp(T x, Op op, int valid) {
  int lane = __lane<W>();
  #pragma unroll
  for (int by = 1; by < W; by *= 2) {
    T other = __above<W>(x, by);
    if (FULL ? lane + by < W : lane + by < valid) x = op(x, other);
  }
  return x;
}`;

const byWarps = `
  template <bool FULL, class Op> __device__ T ofWarps(T x, Op op, int valid) {
    int linear = thread(), warp = linear / 32;
    constexpr int W = THREADS < 32 ? __roundedUp(THREADS) : 32;
    x = FULL && THREADS % 32 == 0 ? __reduceWarp<W, true>(x, op, W) : __reduceWarp<W, false>(x, op, valid - warp * 32);
    if (linear % 32 == 0) storage->aggregates[warp] = x;
    __syncthreads();
    if (linear == 0) {
      #pragma unroll
      for (int w = 1; w < WARPS; ++w) if (FULL || w * 32 < valid) x = op(x, storage->aggregates[w]);
    }
    return x;
  }`;

const byRaking = `
  template <bool FULL, class R, class Op> __device__ T ofSegments(typename R::Grid& grid, T x, Op op, int valid) {
    int linear = thread();
    *R::place(grid, linear) = x;
    __syncthreads();
    if (linear < R::THREADS) {
      T* segment = R::segment(grid, linear);
      x = segment[0];
      #pragma unroll
      for (int i = 1; i < R::SEGMENT; ++i) if ((FULL && R::UNGUARDED) || linear * R::SEGMENT + i < valid) x = op(x, segment[i]);
      x = __reduceWarp<__roundedUp(R::THREADS), false>(x, op, FULL ? R::THREADS : (valid + R::SEGMENT - 1) / R::SEGMENT);
    }
    return x;
  }
  // the first warp keeps its own values and adds to them what the others stored
  template <class R, class Op> __device__ T ofOthers(typename R::Grid& grid, T x, Op op) {
    int linear = thread();
    if (linear >= 32) *R::place(grid, linear - 32) = x;
    __syncthreads();
    if (linear < 32) {
      T* segment = R::segment(grid, linear);
      #pragma unroll
      for (int i = 0; i < (THREADS - 32) / 32; ++i) x = op(x, segment[i]);
      x = __reduceWarp<32, true>(x, op, 32);
    }
    return x;
  }`;

const storage = `
  template <class T, int N, BlockReduceAlgorithm A> struct __ReduceStorage {
    union { unsigned char warp; typename __Raking<T, N>::Grid grid; };
  };
  template <class T, int N> struct __ReduceStorage<T, N, BLOCK_REDUCE_WARP_REDUCTIONS> {
    __WarpReduceStorage<T, (N < 32 ? N : 32), N >= 32 || (N & (N - 1)) == 0> warps[(N + 31) / 32];
    T aggregates[(N + 31) / 32];
    T prefix;
  };
  template <class T, int N> struct __ReduceStorage<T, N, BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY> {
    struct Others { unsigned char warp; typename __Raking<T, (N > 32 ? N - 32 : 1)>::Grid grid; };
    union { Others others; typename __Raking<T, N>::Grid grid; };
  };`;

const methods = `
  template <bool FULL, class Op> __device__ T choose(T x, Op op, int valid) {
    using Own = __Raking<T, THREADS>;
    if constexpr (A == BLOCK_REDUCE_WARP_REDUCTIONS) return ofWarps<FULL>(x, op, valid);
    else if constexpr (Own::THREADS == THREADS) return __reduceWarp<__roundedUp(THREADS), false>(x, op, valid);
    else if constexpr (A == BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY && FULL && THREADS % 32 == 0)
      return ofOthers<__Raking<T, (THREADS > 32 ? THREADS - 32 : 1)>>(storage->others.grid, x, op);
    else return ofSegments<FULL, Own>(storage->grid, x, op, valid);
  }
  template <class Op> __device__ T Reduce(T x, Op op) { return choose<true>(x, op, THREADS); }
  template <int N, class Op> __device__ T Reduce(T (&x)[N], Op op) { return choose<true>(ThreadReduce(x, op), op, THREADS); }
  template <class Op> __device__ T Reduce(T x, Op op, int valid) { if (valid >= THREADS) return choose<true>(x, op, valid); return choose<false>(x, op, valid); }
  __device__ T Sum(T x) { return Reduce(x, cub::Sum()); }
  template <int N> __device__ T Sum(T (&x)[N]) { return Reduce(x, cub::Sum()); }
  __device__ T Sum(T x, int valid) { return Reduce(x, cub::Sum(), valid); }`;

const warpMethods = `
  template <class Op> __device__ T Reduce(T x, Op op) { return __reduceWarp<__roundedUp(W), (W & (W - 1)) == 0>(x, op, W); }
  template <int N, class Op> __device__ T Reduce(T (&x)[N], Op op) { return Reduce(ThreadReduce(x, op), op); }
  template <class Op> __device__ T Reduce(T x, Op op, int valid) { return __reduceWarp<__roundedUp(W), false>(x, op, valid); }
  ${['Sum', 'Max', 'Min']
    .map(
      (name) => `
  __device__ T ${name}(T x) { return Reduce(x, cub::${name}()); }
  template <int N> __device__ T ${name}(T (&x)[N]) { return Reduce(x, cub::${name}()); }
  __device__ T ${name}(T x, int valid) { return Reduce(x, cub::${name}(), valid); }`,
    )
    .join('')}
  ${['Head', 'Tail']
    .map(
      (end) => `
  template <class F> __device__ T ${end}SegmentedSum(T x, F flag) { return __warplens_unknown<T>(x, flag); }
  template <class F, class Op> __device__ T ${end}SegmentedReduce(T x, F flag, Op op) { return __warplens_unknown<T>(x, flag); }`,
    )
    .join('')}`;

export const reduce = `
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
${warp}
${storage}
${collective('BlockReduce', 'class T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int CC = 0', 'using TempStorage = __ReduceStorage<T, X * Y * Z, A>;', `${ofBlock}${byWarps}${byRaking}${methods}`)}
${collective('WarpReduce', 'class T, int W = 32, int CC = 0', 'using TempStorage = __WarpReduceStorage<T, W, (W & (W - 1)) == 0>;', warpMethods)}
`;
