/** CUB's loads and stores of a thread, a warp and a block (3.0, nvcc 13.0): the user's data by one of several orders, through an exchange where the order is transposed. */
import { collective, ofBlock } from './common';

const algorithms = (name: string, prefix: string, list: readonly string[]): string =>
  `enum ${name}Algorithm { ${list.map((a) => `${prefix}_${a}`).join(', ')} };`;
const ofBlocks = ['DIRECT', 'STRIPED', 'VECTORIZE', 'TRANSPOSE', 'WARP_TRANSPOSE', 'WARP_TRANSPOSE_TIMESLICED'];
const ofWarps = ['DIRECT', 'STRIPED', 'VECTORIZE', 'TRANSPOSE'];

const loadModifiers: readonly (readonly [string, string])[] = [
  ['LOAD_CA', '__ldca'],
  ['LOAD_CG', '__ldcg'],
  ['LOAD_CS', '__ldcs'],
  ['LOAD_CV', '__ldcv'],
  ['LOAD_LDG', '__ldg'],
];
const storeModifiers: readonly (readonly [string, string])[] = [
  ['STORE_WB', '__stwb'],
  ['STORE_CG', '__stcg'],
  ['STORE_CS', '__stcs'],
  ['STORE_WT', '__stwt'],
];
const threads = `
template <CacheLoadModifier M, class T> __device__ T ThreadLoad(T* p) {
  ${loadModifiers.map(([m, f]) => `if constexpr (M == ${m} && !__is_class(T)) return ${f}(p); else `).join('')}return *p;
}
template <CacheLoadModifier M, class P> __device__ auto ThreadLoad(P p) { return *p; }
template <CacheStoreModifier M, class P, class T> __device__ void ThreadStore(P p, T x) {
  ${storeModifiers.map(([m, f]) => `if constexpr (M == ${m} && !__is_class(T)) ${f}(p, x); else `).join('')}*p = x;
}`;

const orders = {
  Blocked: { template: '', at: 'linear * (int)(sizeof(A) / sizeof(items[0])) + i' },
  Striped: { template: 'int B, ', at: 'linear + i * B' },
  WarpStriped: { template: '', at: 'linear / 32 * 32 * (int)(sizeof(A) / sizeof(items[0])) + linear % 32 + i * 32' },
};
const functions = Object.entries(orders)
  .map(([order, { template, at }]) => {
    const loop = (statement: string) => `
  #pragma unroll
  for (int i = 0; i < sizeof(A) / sizeof(items[0]); i++) ${statement}`;
    return `
template <${template}class P, class A> __device__ void LoadDirect${order}(int linear, P p, A& items) {${loop(`items[i] = p[${at}];`)} }
template <${template}class P, class A> __device__ void LoadDirect${order}(int linear, P p, A& items, int valid) {${loop(`if (${at} < valid) items[i] = p[${at}];`)} }
template <${template}class P, class A, class D> __device__ void LoadDirect${order}(int linear, P p, A& items, int valid, D otherwise) {${loop(`items[i] = ${at} < valid ? p[${at}] : otherwise;`)} }
template <${template}class P, class A> __device__ void StoreDirect${order}(int linear, P p, A& items) {${loop(`p[${at}] = items[i];`)} }
template <${template}class P, class A> __device__ void StoreDirect${order}(int linear, P p, A& items, int valid) {${loop(`if (${at} < valid) p[${at}] = items[i];`)} }`;
  })
  .join('');

/** Vectors of up to four words, where the pointer is aligned to them. */
const vectors = `
template <class T, int N> struct __Vectors {
  static constexpr int WORD = alignof(T) > 16 ? 16 : alignof(T);
  static constexpr int WORDS = sizeof(T) * N / WORD;
  static constexpr int WIDTH = WORDS % 4 == 0 ? 4 : WORDS % 2 == 0 ? 2 : 1;
  static constexpr int COUNT = WORDS / WIDTH;
  using type = typename __Vector<WORD, WIDTH>::type;
};
// a warp's are vectors only through pointers that may write
template <class P, class T> struct __VectorsOf { static constexpr bool value = false; };
template <class T> struct __VectorsOf<T*, T> { static constexpr bool value = true; };
template <class T, int N> __device__ void LoadDirectBlockedVectorized(int linear, T* p, T (&items)[N]) {
  using V = typename __Vectors<T, N>::type;
  if ((size_t)p % alignof(V) == 0) {
    V held[__Vectors<T, N>::COUNT];
    #pragma unroll
    for (int i = 0; i < __Vectors<T, N>::COUNT; i++) held[i] = ((const V*)p)[linear * __Vectors<T, N>::COUNT + i];
    #pragma unroll
    for (int i = 0; i < N; i++) items[i] = ((T*)held)[i];
  } else LoadDirectBlocked(linear, p, items);
}
template <class T, int N> __device__ void StoreDirectBlockedVectorized(int linear, T* p, T (&items)[N]) {
  constexpr int WIDTH = N % 4 == 0 ? 4 : N % 2 == 0 ? 2 : 1;
  using V = typename __Vector<sizeof(T), WIDTH>::type;
  V held[N / WIDTH];
  #pragma unroll
  for (int i = 0; i < N; i++) ((T*)held)[i] = items[i];
  #pragma unroll
  for (int i = 0; i < N / WIDTH; i++) ((V*)p)[linear * (N / WIDTH) + i] = held[i];
}`;

/** The methods of a load or store: for whole tiles, up to a number of valid items, and with a value for the others; `given` are the arguments that are more. */
const methodsOf = (isLoad: boolean): readonly { readonly given: string; readonly head: string }[] => {
  const whole = `__device__ void ${isLoad ? 'Load' : 'Store'}(P p, T (&items)[ITEMS]`;
  const some = { given: 'valid', head: `template <class P> ${whole}, int valid)` };
  const others = { given: 'valid, otherwise', head: `template <class P, class D> ${whole}, int valid, D otherwise)` };
  return [{ given: '', head: `template <class P> ${whole})` }, some, ...(isLoad ? [others] : [])];
};

/** What differs between loads and stores of a block: the words in the names, and whether the exchange comes behind or before. */
const blockMethod = (isLoad: boolean): string => {
  const prefix = isLoad ? 'BLOCK_LOAD' : 'BLOCK_STORE';
  const verb = isLoad ? 'Load' : 'Store';
  return methodsOf(isLoad)
    .map(({ given, head }) => {
      const pass = (valid: string) => given && `, ${given.replace('valid', valid)}`;
      // all threads read the number that the first one was given
      const shared = !isLoad && given ? '\n      if (linear == 0) storage->valid = valid;\n      __syncthreads();' : '';
      const transposed = (direct: string, toBlocked: string, fromBlocked: string) =>
        isLoad
          ? `${direct}(linear, p, items${pass('valid')}); EXCHANGE(storage->exchange).${toBlocked}(items);`
          : `T held[ITEMS]; EXCHANGE(storage->exchange).${fromBlocked}(items, held);${shared} ${direct}(linear, p, held${pass('storage->valid')});`;
      return `
  ${head} {
    int linear = thread();
    if constexpr (A == ${prefix}_STRIPED) ${verb}DirectStriped<THREADS>(linear, p, items${pass('valid')});
    else if constexpr (A == ${prefix}_TRANSPOSE) { ${transposed(`${verb}DirectStriped<THREADS>`, 'StripedToBlocked', 'BlockedToStriped')} }
    else if constexpr (A == ${prefix}_WARP_TRANSPOSE || A == ${prefix}_WARP_TRANSPOSE_TIMESLICED) { ${transposed(`${verb}DirectWarpStriped`, 'WarpStripedToBlocked', 'BlockedToWarpStriped')} }
    ${given ? '' : `else if constexpr (A == ${prefix}_VECTORIZE && __is_pointer(P)) ${verb}DirectBlockedVectorized(linear, (T*)p, items);`}
    else ${verb}DirectBlocked(linear, p, items${pass('valid')});
  }`;
    })
    .join('');
};

const warpMethod = (isLoad: boolean): string => {
  const prefix = isLoad ? 'WARP_LOAD' : 'WARP_STORE';
  const verb = isLoad ? 'Load' : 'Store';
  return methodsOf(isLoad)
    .map(({ given, head }) => {
      const pass = given && `, ${given}`;
      const transposed = isLoad
        ? `LoadDirectStriped<W>(lane, p, items${pass}); EXCHANGE(storage->exchange).StripedToBlocked(items, items);`
        : `T held[ITEMS]; EXCHANGE(storage->exchange).BlockedToStriped(items, held); StoreDirectStriped<W>(lane, p, held${pass});`;
      return `
  ${head} {
    int lane = __lane<W>();
    if constexpr (A == ${prefix}_STRIPED) ${verb}DirectStriped<W>(lane, p, items${pass});
    else if constexpr (A == ${prefix}_TRANSPOSE) { ${transposed} }
    ${given ? '' : `else if constexpr (A == ${prefix}_VECTORIZE && __VectorsOf<P, T>::value) ${verb}DirectBlockedVectorized(lane, (T*)p, items);`}
    else ${verb}DirectBlocked(lane, p, items${pass});
  }`;
    })
    .join('');
};

const blockClass = (isLoad: boolean): string => {
  const [name, prefix] = isLoad ? ['BlockLoad', 'BLOCK_LOAD'] : ['BlockStore', 'BLOCK_STORE'];
  const storageName = `__${name}Storage`;
  const transposes = `A == ${prefix}_TRANSPOSE || A == ${prefix}_WARP_TRANSPOSE || A == ${prefix}_WARP_TRANSPOSE_TIMESLICED`;
  const exchange = `BlockExchange<T, X, ITEMS, A == ${prefix}_WARP_TRANSPOSE_TIMESLICED, Y, Z>`;
  return `
template <class E, bool TRANSPOSED> struct ${storageName} { unsigned char none; };
template <class E> struct ${storageName}<E, true> { typename E::TempStorage exchange; ${isLoad ? '' : 'volatile int valid;'} };
${collective(name, `class T, int X, int ITEMS, ${name}Algorithm A = ${prefix}_DIRECT, int Y = 1, int Z = 1, int CC = 0`, `using EXCHANGE = ${exchange}; using TempStorage = ${storageName}<EXCHANGE, ${transposes}>;`, `${ofBlock}${blockMethod(isLoad)}`)}`;
};

const warpClass = (isLoad: boolean): string => {
  const [name, prefix] = isLoad ? ['WarpLoad', 'WARP_LOAD'] : ['WarpStore', 'WARP_STORE'];
  const storage = `using EXCHANGE = WarpExchange<T, ITEMS, W>; using TempStorage = __BlockLoadStorage<EXCHANGE, A == ${prefix}_TRANSPOSE>;`;
  return collective(
    name,
    `class T, int ITEMS, ${name}Algorithm A = ${prefix}_DIRECT, int W = 32, int CC = 0`,
    storage,
    warpMethod(isLoad),
  );
};

export const loads = `
${algorithms('BlockLoad', 'BLOCK_LOAD', ofBlocks)}
${algorithms('BlockStore', 'BLOCK_STORE', ofBlocks)}
${algorithms('WarpLoad', 'WARP_LOAD', ofWarps)}
${algorithms('WarpStore', 'WARP_STORE', ofWarps)}
${threads}
${functions}
${vectors}
${blockClass(true)}
${blockClass(false)}
${warpClass(true)}
${warpClass(false)}
`;
