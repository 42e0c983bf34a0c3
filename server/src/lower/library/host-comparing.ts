/** Algorithms that compare and search sequences, beside those that most programs use (host-algorithms.ts). Over iterators of any kind. */
export const comparing = `
namespace std {
template <class I, class J, class F, class = enable_if_t<!is_same<F, J>::value>> bool equal(I a, I b, J c, F same) { for (; a != b; ++a, ++c) if (!same(*a, *c)) return false; return true; }
template <class I, class J> bool equal(I a, I b, J c, J d) { for (; a != b && c != d; ++a, ++c) if (!(*a == *c)) return false; return a == b && c == d; }
template <class I, class J, class F> bool equal(I a, I b, J c, J d, F same) { for (; a != b && c != d; ++a, ++c) if (!same(*a, *c)) return false; return a == b && c == d; }
template <class I, class J> pair<I, J> mismatch(I a, I b, J c) { while (a != b && *a == *c) { ++a; ++c; } return pair<I, J>{a, c}; }
template <class I, class J, class F, class = enable_if_t<!is_same<F, J>::value>> pair<I, J> mismatch(I a, I b, J c, F same) { while (a != b && same(*a, *c)) { ++a; ++c; } return pair<I, J>{a, c}; }
template <class I, class J> pair<I, J> mismatch(I a, I b, J c, J d) { while (a != b && c != d && *a == *c) { ++a; ++c; } return pair<I, J>{a, c}; }
template <class I, class J, class F> pair<I, J> mismatch(I a, I b, J c, J d, F same) { while (a != b && c != d && same(*a, *c)) { ++a; ++c; } return pair<I, J>{a, c}; }
template <class I, class J, class F> I search(I a, I b, J c, J d, F same) {
  for (; ; ++a) {
    I at = a;
    J of = c;
    for (; of != d && at != b && same(*at, *of); ++of) ++at;
    if (of == d) return a;
    if (at == b) return b;
  }
}
template <class I, class J> I search(I a, I b, J c, J d) { return search(a, b, c, d, equal_to<>()); }
template <class I, class J, class F> I find_end(I a, I b, J c, J d, F same) {
  I found = b;
  if (c == d) return b;
  for (I at = search(a, b, c, d, same); at != b; at = search(at, b, c, d, same)) { found = at; ++at; }
  return found;
}
template <class I, class J> I find_end(I a, I b, J c, J d) { return find_end(a, b, c, d, equal_to<>()); }
template <class I, class J> I find_first_of(I a, I b, J c, J d) { for (; a != b; ++a) for (J of = c; of != d; ++of) if (*a == *of) return a; return b; }
template <class I, class J, class F> I find_first_of(I a, I b, J c, J d, F same) { for (; a != b; ++a) for (J of = c; of != d; ++of) if (same(*a, *of)) return a; return b; }
template <class I, class F> I find_if_not(I a, I b, F f) { while (a != b && f(*a)) ++a; return a; }
template <class I, class N, class V, class F> I search_n(I a, I b, N n, const V& x, F same) {
  if (n <= 0) return a;
  N run = 0;
  I from = a;
  for (; a != b; ++a) {
    if (!same(*a, x)) { run = 0; continue; }
    if (run == 0) from = a;
    run = run + 1;
    if (run == n) return from;
  }
  return b;
}
template <class I, class N, class V> I search_n(I a, I b, N n, const V& x) { return search_n(a, b, n, x, equal_to<>()); }
template <class T, class F> T* is_heap_until(T* a, T* b, F before) {
  size_t n = b - a;
  for (size_t k = 1; k < n; ++k) if (before(a[(k - 1) / 2], a[k])) return a + k;
  return b;
}
template <class T> T* is_heap_until(T* a, T* b) { return is_heap_until(a, b, less<>()); }
template <class T, class F> bool is_heap(T* a, T* b, F before) { return is_heap_until(a, b, before) == b; }
template <class T> bool is_heap(T* a, T* b) { return is_heap_until(a, b, less<>()) == b; }
template <class I, class F> bool is_partitioned(I a, I b, F f) {
  while (a != b && f(*a)) ++a;
  for (; a != b; ++a) if (f(*a)) return false;
  return true;
}
template <class I, class F> I is_sorted_until(I a, I b, F before) {
  if (a == b) return b;
  I last = a;
  for (++a; a != b; ++a) { if (before(*a, *last)) return a; last = a; }
  return b;
}
template <class I> I is_sorted_until(I a, I b) { return is_sorted_until(a, b, less<>()); }
template <class I, class V, class F> size_t __times(I a, I b, const V& x, F& same) { size_t n = 0; for (; a != b; ++a) if (same(x, *a)) n = n + 1; return n; }
template <class I, class J, class F> bool is_permutation(I a, I b, J c, J d, F same) {
  size_t n = 0, m = 0;
  for (I p = a; p != b; ++p) n = n + 1;
  for (J p = c; p != d; ++p) m = m + 1;
  if (n != m) return false;
  for (I p = a; p != b; ++p) if (__times(a, b, *p, same) != __times(c, d, *p, same)) return false;
  return true;
}
template <class I, class J> bool is_permutation(I a, I b, J c, J d) { return is_permutation(a, b, c, d, equal_to<>()); }
template <class I, class J> J __as_far(I a, I b, J c) { for (; a != b; ++a) ++c; return c; }
template <class I, class J> bool is_permutation(I a, I b, J c) { return is_permutation(a, b, c, __as_far(a, b, c), equal_to<>()); }
template <class I, class J, class F, class = enable_if_t<!is_same<F, J>::value>> bool is_permutation(I a, I b, J c, F same) { return is_permutation(a, b, c, __as_far(a, b, c), same); }
template <class I, class N, class F> I for_each_n(I a, N n, F f) { for (N i = 0; i < n; ++i) { f(*a); ++a; } return a; }
}
`;
