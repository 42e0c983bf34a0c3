/** Thrust's sorts, which keep equal elements in their order, and what is asked of sorted elements. */
export const orderingNames = `sort stable_sort sort_by_key stable_sort_by_key merge lower_bound upper_bound binary_search equal_range set_union set_intersection set_difference`;

const bound = (name: string, goesOn: string): string => `
template <class I, class V, class F> I ${name}(I a, I b, const V& x, F before) {
  ptrdiff_t low = 0, high = b - a;
  while (low < high) {
    ptrdiff_t middle = low + (high - low) / 2;
    if (${goesOn}) low = middle + 1; else high = middle;
  }
  return a + low;
}
template <class I, class V> I ${name}(I a, I b, const V& x) { return thrust::${name}(a, b, x, less<>()); }
template <class I, class J, class O, class F> O ${name}(I a, I b, J c, J d, O to, F before) { for (; c != d; ++c, ++to) *to = thrust::${name}(a, b, *c, before) - a; return to; }
template <class I, class J, class O> O ${name}(I a, I b, J c, J d, O to) { return thrust::${name}(a, b, c, d, to, less<>()); }`;

export const orderings = `
template <class T, class F> void __stable(T* a, T* b, F before) { std::stable_sort(a, b, before); }
template <class I, class F> void __stable(I a, I b, F before) {
  std::vector<typename __valued<I>::type> all(b - a);
  thrust::copy(a, b, all.begin());
  std::stable_sort(all.begin(), all.end(), before);
  thrust::copy(all.begin(), all.end(), a);
}
template <class I, class F> void stable_sort(I a, I b, F before) { thrust::__stable(__bare(a), __bare(b), before); }
template <class I> void stable_sort(I a, I b) { thrust::__stable(__bare(a), __bare(b), less<>()); }
template <class I, class F> void sort(I a, I b, F before) { thrust::__stable(__bare(a), __bare(b), before); }
template <class I> void sort(I a, I b) { thrust::__stable(__bare(a), __bare(b), less<>()); }
template <class K, class I, class F> void stable_sort_by_key(K k, K kb, I a, F before) {
  typedef typename __valued<K>::type Key;
  size_t n = kb - k;
  std::vector<Key> keys(n);
  std::vector<typename __valued<I>::type> values(n);
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) { keys[i] = k[i]; values[i] = a[i]; order[i] = i; }
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return before(keys[x], keys[y]); });
  for (size_t i = 0; i < n; ++i) { k[i] = keys[order[i]]; a[i] = values[order[i]]; }
}
template <class K, class I> void stable_sort_by_key(K k, K kb, I a) { thrust::stable_sort_by_key(k, kb, a, less<>()); }
template <class K, class I, class F> void sort_by_key(K k, K kb, I a, F before) { thrust::stable_sort_by_key(k, kb, a, before); }
template <class K, class I> void sort_by_key(K k, K kb, I a) { thrust::stable_sort_by_key(k, kb, a, less<>()); }
template <class I, class J, class O, class F> O merge(I a, I b, J c, J d, O to, F before) {
  while (a != b && c != d) {
    if (before(*c, *a)) { *to = *c; ++c; } else { *to = *a; ++a; }
    ++to;
  }
  to = thrust::copy(a, b, to);
  return thrust::copy(c, d, to);
}
template <class I, class J, class O> O merge(I a, I b, J c, J d, O to) { return thrust::merge(a, b, c, d, to, less<>()); }
${bound('lower_bound', 'before(a[middle], x)')}
${bound('upper_bound', '!before(x, a[middle])')}
template <class I, class V> bool binary_search(I a, I b, const V& x) { I at = thrust::lower_bound(a, b, x); return at != b && !(x < *at); }
template <class I, class J, class O> O binary_search(I a, I b, J c, J d, O to) { for (; c != d; ++c, ++to) *to = thrust::binary_search(a, b, *c); return to; }
template <class I, class V> pair<I, I> equal_range(I a, I b, const V& x) { return pair<I, I>{thrust::lower_bound(a, b, x), thrust::upper_bound(a, b, x)}; }
template <class I, class J, class O> O set_union(I a, I b, J c, J d, O to) {
  while (a != b && c != d) {
    if (*c < *a) { *to = *c; ++c; } else { if (!(*a < *c)) ++c; *to = *a; ++a; }
    ++to;
  }
  to = thrust::copy(a, b, to);
  return thrust::copy(c, d, to);
}
template <class I, class J, class O> O set_intersection(I a, I b, J c, J d, O to) {
  while (a != b && c != d) { if (*a < *c) ++a; else if (*c < *a) ++c; else { *to = *a; ++to; ++a; ++c; } }
  return to;
}
template <class I, class J, class O> O set_difference(I a, I b, J c, J d, O to) {
  while (a != b && c != d) { if (*a < *c) { *to = *a; ++to; ++a; } else if (*c < *a) ++c; else { ++a; ++c; } }
  return thrust::copy(a, b, to);
}
`;
