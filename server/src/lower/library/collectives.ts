/**
 * Reductions and scans over tiles of cooperative groups (reduce.h, scan.h), in our own words. Groups of which the members are known at run time
 * only (coalesced_threads) have results that are not known.
 */
const functors: Readonly<Record<string, string>> = {
  plus: 'a + b',
  less: 'b < a ? b : a',
  greater: 'a < b ? b : a',
  bit_and: 'a & b',
  bit_or: 'a | b',
  bit_xor: 'a ^ b',
};

const functor = ([name, result]: readonly [string, string]): string =>
  `template <class T> struct ${name} { __device__ T operator()(const T& a, const T& b) const { return ${result}; } };`;

/** What a scan is called with; without a function it adds. */
const scan = (name: string, last: string): string => `
template <class G, class T, class F> __device__ T ${name}(const G& g, T x, F f) {
  constexpr int size = __warplens_tile_size(g);
  if constexpr (size == 0) return __warplens_unknown<T>(x);
  int rank = g.thread_rank();
  #pragma unroll
  for (int by = 1; by < size; by *= 2) {
    T other = g.shfl_up(x, by);
    x = rank >= by ? f(other, x) : x;
  }
  ${last}
}
template <class G, class T> __device__ T ${name}(const G& g, T x) { return ${name}(g, x, plus<T>()); }`;

export const collectives = `
namespace cooperative_groups {
${Object.entries(functors).map(functor).join('\n')}
template <class G, class T, class F> __device__ T reduce(const G& g, T x, F f) {
  constexpr int size = __warplens_tile_size(g);
  if constexpr (size == 0) return __warplens_unknown<T>(x);
  #pragma unroll
  for (int by = size / 2; by > 0; by /= 2) x = f(x, g.shfl_xor(x, by));
  return x;
}
${scan('inclusive_scan', 'return x;')}
${scan('exclusive_scan', 'T before = g.shfl_up(x, 1); return rank > 0 ? before : T();')}
}
`;
