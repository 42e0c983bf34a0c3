/**
 * Namespace cuda and cooperative groups' copies: barriers and pipelines (sizes of libcu++ 3.0, measured with nvcc 13.0), atomics, and how
 * a group divides a copy (CUDA 13.0, cooperative_groups/details/async.h: chunks of the type's alignment, a thread's own behind those of
 * the threads before it).
 */
const atomicMethods = `
  __device__ T load(int order = 0) const { return *(const volatile T*)at(); }
  __device__ void store(T x, int order = 0) { *(volatile T*)at() = x; }
  __device__ T exchange(T x, int order = 0) { return atomicExch(at(), x); }
  __device__ T fetch_add(T x, int order = 0) { return atomicAdd(at(), x); }
  __device__ T fetch_sub(T x, int order = 0) { return atomicSub(at(), x); }
  __device__ T fetch_and(T x, int order = 0) { return atomicAnd(at(), x); }
  __device__ T fetch_or(T x, int order = 0) { return atomicOr(at(), x); }
  __device__ T fetch_xor(T x, int order = 0) { return atomicXor(at(), x); }
  __device__ T fetch_min(T x, int order = 0) { return atomicMin(at(), x); }
  __device__ T fetch_max(T x, int order = 0) { return atomicMax(at(), x); }
  __device__ bool compare_exchange_strong(T& expected, T x, int order = 0, int fail = 0) { T old = atomicCAS(at(), expected, x); bool same = old == expected; expected = old; return same; }
  __device__ bool compare_exchange_weak(T& expected, T x, int order = 0, int fail = 0) { T old = atomicCAS(at(), expected, x); bool same = old == expected; expected = old; return same; }
  __device__ T operator++() { return atomicAdd(at(), 1) + 1; }
  __device__ T operator++(int) { return atomicAdd(at(), 1); }
  __device__ T operator--() { return atomicSub(at(), 1) - 1; }
  __device__ T operator+=(T x) { return atomicAdd(at(), x) + x; }
  __device__ T operator-=(T x) { return atomicSub(at(), x) - x; }
  __device__ T operator=(T x) { store(x); return x; }
  __device__ operator T() const { return load(); }
`;

export const cuda = `
namespace __warplens {
template <class S, class G> __device__ void copyBy(const G& g, void* to, const void* from, size_t bytes) {
  S* d = (S*)to;
  const S* s = (const S*)from;
  size_t count = bytes / sizeof(S);
  for (size_t i = g.thread_rank(); i < count; i += g.size()) __pipeline_memcpy_async(d + i, s + i, sizeof(S));
}
template <size_t A, class G> __device__ void groupCopy(const G& g, void* to, const void* from, size_t bytes) {
  if constexpr (A >= 16) copyBy<int4>(g, to, from, bytes);
  else if constexpr (A >= 8) copyBy<int2>(g, to, from, bytes);
  else if constexpr (A >= 4) copyBy<int>(g, to, from, bytes);
  else __warplens_open_copy(to, from);
}
struct one { __device__ unsigned thread_rank() const { return 0; } __device__ unsigned size() const { return 1; } };
}
namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
enum memory_order { memory_order_relaxed, memory_order_consume, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
enum class pipeline_role { producer, consumer };
template <size_t A> struct aligned_size_t {
  size_t value;
  __host__ __device__ aligned_size_t(size_t n) : value(n) {}
  __host__ __device__ operator size_t() const { return value; }
};
template <thread_scope S, class F = void> class barrier {
public:
  unsigned long long state;
  using arrival_token = unsigned long long;
  __device__ barrier() {}
  __device__ barrier(long long n) {}
  __device__ unsigned long long arrive(long long n = 1) { return __warplens_unknown<unsigned long long>(n); }
  __device__ void wait(unsigned long long token) const { __syncthreads(); }
  __device__ void wait_parity(bool parity) const { __syncthreads(); }
  __device__ bool try_wait(unsigned long long token) const { __syncthreads(); return __warplens_unknown<bool>(); }
  __device__ void arrive_and_wait() { __syncthreads(); }
  __device__ void arrive_and_drop() {}
};
template <thread_scope S, class N> __device__ void init(barrier<S>* b, N n) { __warplens_use(b, n); }
template <thread_scope S, unsigned char N> class pipeline_shared_state { public: unsigned long long stages[2 * N + 1]; __device__ pipeline_shared_state() {} };
template <thread_scope S> class pipeline {
public:
  __device__ pipeline() {}
  __device__ void producer_acquire() {}
  __device__ void producer_commit() {}
  __device__ void consumer_wait() { __syncwarp(); }
  __device__ void consumer_release() {}
  __device__ bool quit() { return true; }
};
__device__ pipeline<thread_scope_thread> make_pipeline() { return pipeline<thread_scope_thread>(); }
template <class G, class St> __device__ pipeline<thread_scope_block> make_pipeline(const G& g, St* s) { __warplens_use(s, g); return pipeline<thread_scope_block>(); }
template <class G, class St, class R> __device__ pipeline<thread_scope_block> make_pipeline(const G& g, St* s, R role) { __warplens_use(s, role); return pipeline<thread_scope_block>(); }
template <int N, class P> __device__ void pipeline_consumer_wait_prior(P& p) { __syncwarp(); }
template <class P> __device__ void pipeline_producer_commit(P& p) {}
template <class T, class U, size_t A, class P> __device__ void memcpy_async(T* to, const U* from, aligned_size_t<A> n, P& p) { __warplens::groupCopy<(A > alignof(T) ? A : alignof(T))>(__warplens::one(), to, from, n.value); }
template <class T, class U, class P> __device__ void memcpy_async(T* to, const U* from, size_t n, P& p) { __warplens::groupCopy<alignof(T)>(__warplens::one(), to, from, n); }
template <class G, class T, class U, size_t A, class P> __device__ void memcpy_async(const G& g, T* to, const U* from, aligned_size_t<A> n, P& p) { __warplens::groupCopy<(A > alignof(T) ? A : alignof(T))>(g, to, from, n.value); }
template <class G, class T, class U, class P> __device__ void memcpy_async(const G& g, T* to, const U* from, size_t n, P& p) { __warplens::groupCopy<alignof(T)>(g, to, from, n); }
template <class G, class T, class U, size_t A, thread_scope S> __device__ void memcpy_async(const G& g, T* to, const U* from, aligned_size_t<A> n, barrier<S>& p) { if constexpr (A >= 16) __warplens_open_copy(to, from); else __warplens::groupCopy<(A > alignof(T) ? A : alignof(T))>(g, to, from, n.value); }
template <class T, thread_scope S = thread_scope_system> class atomic {
public:
  T held;
  __host__ __device__ atomic() {}
  __host__ __device__ atomic(T x) : held(x) {}
  __device__ T* at() const { return (T*)&held; }
  ${atomicMethods}
};
template <class T, thread_scope S = thread_scope_system> class atomic_ref {
public:
  T* held;
  __host__ __device__ atomic_ref(T& x) : held(&x) {}
  __device__ T* at() const { return held; }
  ${atomicMethods}
};
__device__ inline void atomic_thread_fence(int order) {}
__device__ inline void atomic_thread_fence(int order, int scope) {}
template <class T, class U> __host__ __device__ T ceil_div(T a, U b) { return (a + b - 1) / b; }
}
namespace cooperative_groups {
// sm_80 and later need no memory for the barriers of large tiles: one byte, aligned and padded to eight (nvcc 13.0)
template <unsigned N = 1024> struct block_tile_memory { unsigned long long reserved; };
template <class G, class T, class U, size_t A> __device__ void memcpy_async(const G& g, T* to, const U* from, cuda::aligned_size_t<A> n) { __warplens::groupCopy<(A > alignof(T) ? A : alignof(T))>(g, to, from, n.value); }
template <class G, class T, class U> __device__ void memcpy_async(const G& g, T* to, const U* from, size_t n) { __warplens::groupCopy<alignof(T)>(g, to, from, n); }
template <class G, class T, class U> __device__ void memcpy_async(const G& g, T* to, size_t toCount, const U* from, size_t fromCount) { __warplens::groupCopy<alignof(T)>(g, to, from, sizeof(T) * min(toCount, fromCount)); }
}
`;
