/** Algorithms of Thrust that ask something of all elements, or add them up on the way. Sums run from the first element on: Thrust's own order differs, which shows in floats only. */
export const foldNames = `reduce transform_reduce inner_product count count_if max_element min_element minmax_element all_of any_of none_of equal find find_if
  find_if_not mismatch is_sorted is_sorted_until is_partitioned inclusive_scan exclusive_scan transform_inclusive_scan transform_exclusive_scan
  inclusive_scan_by_key exclusive_scan_by_key reduce_by_key`;

export const folds = `
template <class I, class V, class F> V reduce(I a, I b, V sum, F join) { for (; a != b; ++a) sum = join(sum, *a); return sum; }
template <class I, class V> V reduce(I a, I b, V sum) { return thrust::reduce(a, b, sum, plus<>()); }
template <class I> typename __valued<I>::type reduce(I a, I b) { return thrust::reduce(a, b, typename __valued<I>::type(), plus<>()); }
template <class I, class G, class V, class F> V transform_reduce(I a, I b, G of, V sum, F join) { for (; a != b; ++a) sum = join(sum, of(*a)); return sum; }
template <class I, class J, class V, class F, class G> V inner_product(I a, I b, J c, V sum, F join, G of) { for (; a != b; ++a, ++c) sum = join(sum, of(*a, *c)); return sum; }
template <class I, class J, class V> V inner_product(I a, I b, J c, V sum) { return thrust::inner_product(a, b, c, sum, plus<>(), multiplies<>()); }
template <class I, class V> ptrdiff_t count(I a, I b, const V& x) { ptrdiff_t n = 0; for (; a != b; ++a) if (*a == x) n = n + 1; return n; }
template <class I, class F> ptrdiff_t count_if(I a, I b, F f) { ptrdiff_t n = 0; for (; a != b; ++a) if (f(*a)) n = n + 1; return n; }
template <class I, class F> I max_element(I a, I b, F before) { I most = a; for (; a != b; ++a) if (before(*most, *a)) most = a; return most; }
template <class I> I max_element(I a, I b) { return thrust::max_element(a, b, less<>()); }
template <class I, class F> I min_element(I a, I b, F before) { I least = a; for (; a != b; ++a) if (before(*a, *least)) least = a; return least; }
template <class I> I min_element(I a, I b) { return thrust::min_element(a, b, less<>()); }
template <class I, class F> pair<I, I> minmax_element(I a, I b, F before) { return pair<I, I>{thrust::min_element(a, b, before), thrust::max_element(a, b, before)}; }
template <class I> pair<I, I> minmax_element(I a, I b) { return thrust::minmax_element(a, b, less<>()); }
template <class I, class F> I find_if(I a, I b, F f) { for (; a != b; ++a) if (f(*a)) return a; return b; }
template <class I, class F> I find_if_not(I a, I b, F f) { for (; a != b; ++a) if (!f(*a)) return a; return b; }
template <class I, class V> I find(I a, I b, const V& x) { for (; a != b; ++a) if (*a == x) return a; return b; }
template <class I, class F> bool all_of(I a, I b, F f) { for (; a != b; ++a) if (!f(*a)) return false; return true; }
template <class I, class F> bool any_of(I a, I b, F f) { for (; a != b; ++a) if (f(*a)) return true; return false; }
template <class I, class F> bool none_of(I a, I b, F f) { return !thrust::any_of(a, b, f); }
template <class I, class J, class F> pair<I, J> mismatch(I a, I b, J c, F same) { while (a != b && same(*a, *c)) { ++a; ++c; } return pair<I, J>{a, c}; }
template <class I, class J> pair<I, J> mismatch(I a, I b, J c) { return thrust::mismatch(a, b, c, equal_to<>()); }
template <class I, class J, class F> bool equal(I a, I b, J c, F same) { for (; a != b; ++a, ++c) if (!same(*a, *c)) return false; return true; }
template <class I, class J> bool equal(I a, I b, J c) { return thrust::equal(a, b, c, equal_to<>()); }
template <class I, class F> I is_sorted_until(I a, I b, F before) {
  if (a == b) return b;
  I last = a;
  for (++a; a != b; ++a, ++last) if (before(*a, *last)) return a;
  return b;
}
template <class I> I is_sorted_until(I a, I b) { return thrust::is_sorted_until(a, b, less<>()); }
template <class I, class F> bool is_sorted(I a, I b, F before) { return thrust::is_sorted_until(a, b, before) == b; }
template <class I> bool is_sorted(I a, I b) { return thrust::is_sorted(a, b, less<>()); }
template <class I, class F> bool is_partitioned(I a, I b, F f) { for (a = thrust::find_if_not(a, b, f); a != b; ++a) if (f(*a)) return false; return true; }

template <class I, class O, class G, class F> O transform_inclusive_scan(I a, I b, O to, G of, F join) {
  if (a == b) return to;
  auto sum = of(*a);
  *to = sum;
  for (++a, ++to; a != b; ++a, ++to) { sum = join(sum, of(*a)); *to = sum; }
  return to;
}
template <class I, class O, class G, class V, class F> O transform_inclusive_scan(I a, I b, O to, G of, V sum, F join) {
  for (; a != b; ++a, ++to) { sum = join(sum, of(*a)); *to = sum; }
  return to;
}
template <class I, class O, class G, class V, class F> O transform_exclusive_scan(I a, I b, O to, G of, V sum, F join) {
  for (; a != b; ++a, ++to) { V now = sum; sum = join(sum, of(*a)); *to = now; }
  return to;
}
template <class I, class O, class F> O inclusive_scan(I a, I b, O to, F join) {
  if (a == b) return to;
  typename __valued<I>::type sum = *a;
  *to = sum;
  for (++a, ++to; a != b; ++a, ++to) { sum = join(sum, *a); *to = sum; }
  return to;
}
template <class I, class O, class V, class F> O inclusive_scan(I a, I b, O to, V sum, F join) { for (; a != b; ++a, ++to) { sum = join(sum, *a); *to = sum; } return to; }
template <class I, class O> O inclusive_scan(I a, I b, O to) { return thrust::inclusive_scan(a, b, to, plus<>()); }
template <class I, class O, class V, class F> O exclusive_scan(I a, I b, O to, V sum, F join) { for (; a != b; ++a, ++to) { V now = sum; sum = join(sum, *a); *to = now; } return to; }
template <class I, class O, class V> O exclusive_scan(I a, I b, O to, V sum) { return thrust::exclusive_scan(a, b, to, sum, plus<>()); }
template <class I, class O> O exclusive_scan(I a, I b, O to) { return thrust::exclusive_scan(a, b, to, typename __valued<I>::type(), plus<>()); }

template <class K, class I, class O, class E, class F> O inclusive_scan_by_key(K k, K kb, I a, O to, E same, F join) {
  if (k == kb) return to;
  typename __valued<K>::type key = *k;
  typename __valued<I>::type sum = *a;
  *to = sum;
  for (++k, ++a, ++to; k != kb; ++k, ++a, ++to) {
    if (same(key, *k)) sum = join(sum, *a); else sum = *a;
    key = *k;
    *to = sum;
  }
  return to;
}
template <class K, class I, class O, class E> O inclusive_scan_by_key(K k, K kb, I a, O to, E same) { return thrust::inclusive_scan_by_key(k, kb, a, to, same, plus<>()); }
template <class K, class I, class O> O inclusive_scan_by_key(K k, K kb, I a, O to) { return thrust::inclusive_scan_by_key(k, kb, a, to, equal_to<>(), plus<>()); }
template <class K, class I, class O, class V, class E, class F> O exclusive_scan_by_key(K k, K kb, I a, O to, V first, E same, F join) {
  if (k == kb) return to;
  typename __valued<K>::type key = *k;
  V sum = first;
  for (; k != kb; ++k, ++a, ++to) {
    if (!same(key, *k)) sum = first;
    key = *k;
    V now = sum;
    sum = join(sum, *a);
    *to = now;
  }
  return to;
}
template <class K, class I, class O, class V, class E> O exclusive_scan_by_key(K k, K kb, I a, O to, V first, E same) { return thrust::exclusive_scan_by_key(k, kb, a, to, first, same, plus<>()); }
template <class K, class I, class O, class V> O exclusive_scan_by_key(K k, K kb, I a, O to, V first) { return thrust::exclusive_scan_by_key(k, kb, a, to, first, equal_to<>(), plus<>()); }
template <class K, class I, class O> O exclusive_scan_by_key(K k, K kb, I a, O to) { return thrust::exclusive_scan_by_key(k, kb, a, to, typename __valued<I>::type()); }
template <class K, class I, class L, class O, class E, class F> pair<L, O> reduce_by_key(K k, K kb, I a, L keys, O sums, E same, F join) {
  while (k != kb) {
    typename __valued<K>::type key = *k;
    typename __valued<I>::type sum = *a;
    for (++k, ++a; k != kb && same(key, *k); ++k, ++a) sum = join(sum, *a);
    *keys = key;
    *sums = sum;
    ++keys;
    ++sums;
  }
  return pair<L, O>{keys, sums};
}
template <class K, class I, class L, class O, class E> pair<L, O> reduce_by_key(K k, K kb, I a, L keys, O sums, E same) { return thrust::reduce_by_key(k, kb, a, keys, sums, same, plus<>()); }
template <class K, class I, class L, class O> pair<L, O> reduce_by_key(K k, K kb, I a, L keys, O sums) { return thrust::reduce_by_key(k, kb, a, keys, sums, equal_to<>(), plus<>()); }
`;
