/** Atomics of the compiler itself (`__nv_atomic_…`, CUDA 12.8 and later): loads and stores that are made as written, the rest as the library's. */
const operations: readonly (readonly [name: string, atomic: string])[] = [
  ['add', 'atomicAdd(p, v)'],
  ['sub', 'atomicSub(p, v)'],
  ['and', 'atomicAnd(p, v)'],
  ['or', 'atomicOr(p, v)'],
  ['xor', 'atomicXor(p, v)'],
  ['min', 'atomicMin(p, v)'],
  ['max', 'atomicMax(p, v)'],
];

const ofOperation = ([name, atomic]: readonly [string, string]): string => `
template <class T> __device__ T __nv_atomic_fetch_${name}(T* p, T v, int order, int scope = 0) { return ${atomic}; }
template <class T> __device__ void __nv_atomic_${name}(T* p, T v, int order, int scope = 0) { ${atomic}; }`;

export const atomicBuiltins = `
constexpr int __NV_ATOMIC_RELAXED = 0, __NV_ATOMIC_CONSUME = 1, __NV_ATOMIC_ACQUIRE = 2, __NV_ATOMIC_RELEASE = 3;
constexpr int __NV_ATOMIC_ACQ_REL = 4, __NV_ATOMIC_SEQ_CST = 5;
constexpr int __NV_THREAD_SCOPE_THREAD = 0, __NV_THREAD_SCOPE_BLOCK = 1, __NV_THREAD_SCOPE_CLUSTER = 2;
constexpr int __NV_THREAD_SCOPE_DEVICE = 3, __NV_THREAD_SCOPE_SYSTEM = 4;
template <class T> __device__ T __nv_atomic_load_n(T* p, int order, int scope = 0) { return *(volatile T*)p; }
template <class T> __device__ void __nv_atomic_load(T* p, T* v, int order, int scope = 0) { *v = *(volatile T*)p; }
template <class T> __device__ void __nv_atomic_store_n(T* p, T v, int order, int scope = 0) { *(volatile T*)p = v; }
template <class T> __device__ void __nv_atomic_store(T* p, T* v, int order, int scope = 0) { *(volatile T*)p = *v; }
template <class T> __device__ T __nv_atomic_exchange_n(T* p, T v, int order, int scope = 0) { return atomicExch(p, v); }
template <class T> __device__ bool __nv_atomic_compare_exchange_n(T* p, T* expected, T v, bool weak, int order, int fail, int scope = 0) {
  T old = atomicCAS(p, *expected, v);
  bool same = old == *expected;
  *expected = old;
  return same;
}
inline __device__ void __nv_atomic_thread_fence(int order, int scope = 0) { __threadfence(); }
${operations.map(ofOperation).join('')}
`;
