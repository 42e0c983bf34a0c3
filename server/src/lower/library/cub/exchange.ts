/**
 * CUB's exchanges between the ways items may lie in a block or warp (3.0, nvcc 13.0): all through shared memory; arrays of more than four items, a power of
 * two of them, have a gap behind every 32. With time slices one warp after the other goes through the memory of one.
 */
import { collective, ofBlock } from './common';

const storing = (count: string, at: string): string => `
    #pragma unroll
    for (int i = 0; i < ${count}; i++) storage->items[padded(${at})] = in[i];`;
const loading = (count: string, at: string): string => `
    #pragma unroll
    for (int i = 0; i < ${count}; i++) out[i] = storage->items[padded(${at})];`;

const blocked = 'linear * ITEMS + i';
const striped = 'i * THREADS + linear';
const inWarp = { blocked: 'base + lane * ITEMS + i', striped: 'base + i * WIDTH + lane' };

/** One warp at a time stores or loads its items; all threads do so with those of the slice that are theirs. */
const slicedStore = `
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) storage->items[padded(lane * ITEMS + i)] = in[i];`;
const slicedLoad = `
        #pragma unroll
        for (int i = 0; i < ITEMS; i++) held[i] = storage->items[padded(lane * ITEMS + i)];`;
const strips = (statement: string): string => `
      #pragma unroll
      for (int i = 0; i < ITEMS; i++) {
        if (slice * SLICE < (i + 1) * THREADS && (slice + 1) * SLICE > i * THREADS) {
          int at = i * THREADS + linear - slice * SLICE;
          if (at >= 0 && at < SLICE) ${statement};
        }
      }`;

/** @param everyone what all threads do in a slice @param owner what the slice's warp does */
const sliced = (everyone: string, owner: string, ownerFirst: boolean): string => {
  const own = `if (warp == slice) {${owner}
      }`;
  const [first, second] = ownerFirst ? [own, everyone] : [everyone, own];
  return `
    T held[ITEMS];
    #pragma unroll
    for (int slice = 0; slice < WARPS; slice++) {
      __syncthreads();
      ${first}
      __syncthreads();
      ${second}
    }
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) out[i] = held[i];`;
};
const slicedWarps = (store: string, load: string): string => `
    #pragma unroll
    for (int slice = 0; slice < WARPS; slice++) {
      __syncthreads();
      if (warp == slice) {${store}
        __syncwarp();${load}
      }
    }`;

const own = 'int linear = thread(), warp = linear / 32, lane = linear % 32, base = SLICED ? 0 : warp * WIDTH * ITEMS;';
const method = (name: string, plain: string, slices: string): string => `
  template <class I, class O> __device__ void ${name}(const I& in, O& out) {
    ${own}
    if constexpr (SLICED) {${slices}
    } else {${plain}
    }
  }
  template <class I> __device__ void ${name}(I& items) { ${name}(items, items); }`;
const throughBlock = (store: string, load: string) => `${storing('ITEMS', store)}
    __syncthreads();${loading('ITEMS', load)}`;
const throughWarp = (store: string, load: string) => `${storing('ITEMS', store)}
    __syncwarp();${loading('ITEMS', load)}`;

const scatter = (name: string, guard: string, load: string, parameters: string, extra: string): string => `
  template <class I, class O, class R${extra && ', class V'}> __device__ void ${name}(const I& in, O& out, R& ranks${parameters}) {
    int linear = thread();
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) ${guard}storage->items[padded(ranks[i])] = in[i];
    __syncthreads();${loading('ITEMS', load)}
  }
  template <class I, class R${extra && ', class V'}> __device__ void ${name}(I& items, R& ranks${parameters}) { ${name}(items, items, ranks${extra}); }`;

const blockMethods = `
  static constexpr int WIDTH = THREADS < 32 ? THREADS : 32;
  static constexpr int SLICE = WIDTH * ITEMS;
  __device__ int padded(int at) { return ITEMS > 4 && (ITEMS & (ITEMS - 1)) == 0 ? at + (at >> 5) : at; }
  ${method('BlockedToStriped', throughBlock(blocked, striped), sliced(strips('held[i] = storage->items[padded(at)]'), slicedStore, true))}
  ${method('StripedToBlocked', throughBlock(striped, blocked), sliced(strips('storage->items[padded(at)] = in[i]'), slicedLoad, false))}
  ${method('BlockedToWarpStriped', throughWarp(inWarp.blocked, inWarp.striped), slicedWarps(storing('ITEMS', inWarp.blocked), loading('ITEMS', inWarp.striped)))}
  ${method('WarpStripedToBlocked', throughWarp(inWarp.striped, inWarp.blocked), slicedWarps(storing('ITEMS', inWarp.striped), loading('ITEMS', inWarp.blocked)))}
  ${scatter('ScatterToBlocked', '', blocked, '', '')}
  ${scatter('ScatterToStriped', '', striped, '', '')}
  ${scatter('ScatterToStripedGuarded', 'if (ranks[i] >= 0) ', striped, '', '')}
  ${scatter('ScatterToStripedFlagged', 'if (valid[i]) ', striped, ', V& valid', ', valid')}`;

const warpMethods = `
  __device__ int padded(int at) { return at; }
  __device__ int gap(int at) { return ITEMS > 4 && (ITEMS & (ITEMS - 1)) == 0 ? at + (at >> 5) : at; }
  ${['BlockedToStriped', 'StripedToBlocked']
    .map((name) => {
      const [from, to] = name.startsWith('Blocked')
        ? ['lane * ITEMS + i', 'i * W + lane']
        : ['i * W + lane', 'lane * ITEMS + i'];
      return `
  template <class I, class O> __device__ void ${name}(const I& in, O& out) {
    int lane = __lane<W>();${throughWarp(from, to)}
  }`;
    })
    .join('')}
  template <class I, class O, class R> __device__ void ScatterToStriped(const I& in, O& out, R& ranks) {
    int lane = __lane<W>();${storing('ITEMS', 'gap(ranks[i])')}
    __syncwarp();${loading('ITEMS', 'gap(i * W + lane)')}
  }
  template <class I, class R> __device__ void ScatterToStriped(I& items, R& ranks) { ScatterToStriped(items, items, ranks); }`;

export const exchange = `
enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };
template <class T, int N, int ITEMS> struct __ExchangeStorage {
  struct alignas(16) { T items[N + (ITEMS > 4 && (ITEMS & (ITEMS - 1)) == 0 ? N / 32 : 0)]; };
};
template <class T, int N, int ITEMS> struct __WarpExchangeStorage { T items[N + 1 + (ITEMS > 4 && (ITEMS & (ITEMS - 1)) == 0 ? (N + 1) / 32 : 0)]; };
${collective('BlockExchange', 'class T, int X, int ITEMS, bool SLICED = false, int Y = 1, int Z = 1, int CC = 0', 'using TempStorage = __ExchangeStorage<T, (SLICED && X * Y * Z > 32 ? 32 : X * Y * Z) * ITEMS, ITEMS>;', `${ofBlock}${blockMethods}`)}
${collective('WarpExchange', 'class T, int ITEMS, int W = 32, WarpExchangeAlgorithm A = WARP_EXCHANGE_SMEM, int CC = 0', 'using TempStorage = __WarpExchangeStorage<T, W * ITEMS, ITEMS>;', warpMethods)}
`;
