/** Algorithms of Thrust that keep some of the elements. */
export const selectionNames = `copy_if remove remove_if remove_copy remove_copy_if unique unique_copy unique_count unique_by_key unique_by_key_copy partition
  stable_partition partition_copy stable_partition_copy`;

export const selections = `
template <class I, class S, class O, class F> O copy_if(I a, I b, S mask, O to, F f) { for (; a != b; ++a, ++mask) if (f(*mask)) { *to = *a; ++to; } return to; }
template <class I, class O, class F> O copy_if(I a, I b, O to, F f) { for (; a != b; ++a) if (f(*a)) { *to = *a; ++to; } return to; }
template <class I, class S, class O, class F> O remove_copy_if(I a, I b, S mask, O to, F f) { for (; a != b; ++a, ++mask) if (!f(*mask)) { *to = *a; ++to; } return to; }
template <class I, class O, class F> O remove_copy_if(I a, I b, O to, F f) { for (; a != b; ++a) if (!f(*a)) { *to = *a; ++to; } return to; }
template <class I, class O, class V> O remove_copy(I a, I b, O to, const V& x) { for (; a != b; ++a) if (!(*a == x)) { *to = *a; ++to; } return to; }
template <class I, class F> I remove_if(I a, I b, F f) { return thrust::remove_copy_if(a, b, a, f); }
template <class I, class S, class F> I remove_if(I a, I b, S mask, F f) { return thrust::remove_copy_if(a, b, mask, a, f); }
template <class I, class V> I remove(I a, I b, const V& x) { return thrust::remove_copy(a, b, a, x); }
template <class I, class O, class E> O unique_copy(I a, I b, O to, E same) {
  if (a == b) return to;
  typename __valued<I>::type kept = *a;
  *to = kept;
  ++to;
  for (++a; a != b; ++a) if (!same(kept, *a)) { kept = *a; *to = kept; ++to; }
  return to;
}
template <class I, class O> O unique_copy(I a, I b, O to) { return thrust::unique_copy(a, b, to, equal_to<>()); }
template <class I, class E> I unique(I a, I b, E same) { return thrust::unique_copy(a, b, a, same); }
template <class I> I unique(I a, I b) { return thrust::unique_copy(a, b, a, equal_to<>()); }
template <class I> ptrdiff_t unique_count(I a, I b) {
  ptrdiff_t n = 0;
  for (; a != b; ) { typename __valued<I>::type kept = *a; n = n + 1; for (++a; a != b && *a == kept; ++a) {} }
  return n;
}
template <class K, class I, class L, class O, class E> pair<L, O> unique_by_key_copy(K k, K kb, I a, L keys, O values, E same) {
  while (k != kb) {
    typename __valued<K>::type key = *k;
    *keys = key;
    *values = *a;
    ++keys;
    ++values;
    for (++k, ++a; k != kb && same(key, *k); ++k, ++a) {}
  }
  return pair<L, O>{keys, values};
}
template <class K, class I, class L, class O> pair<L, O> unique_by_key_copy(K k, K kb, I a, L keys, O values) { return thrust::unique_by_key_copy(k, kb, a, keys, values, equal_to<>()); }
template <class K, class I, class E> pair<K, I> unique_by_key(K k, K kb, I a, E same) { return thrust::unique_by_key_copy(k, kb, a, k, a, same); }
template <class K, class I> pair<K, I> unique_by_key(K k, K kb, I a) { return thrust::unique_by_key_copy(k, kb, a, k, a, equal_to<>()); }
template <class I, class O, class P, class F> pair<O, P> partition_copy(I a, I b, O yes, P no, F f) {
  for (; a != b; ++a) if (f(*a)) { *yes = *a; ++yes; } else { *no = *a; ++no; }
  return pair<O, P>{yes, no};
}
template <class I, class O, class P, class F> pair<O, P> stable_partition_copy(I a, I b, O yes, P no, F f) { return thrust::partition_copy(a, b, yes, no, f); }
template <class I, class S, class F> I stable_partition(I a, I b, S mask, F f) {
  std::vector<typename __valued<I>::type> rest;
  I to = a;
  for (; a != b; ++a, ++mask) if (f(*mask)) { *to = *a; ++to; } else rest.push_back(*a);
  thrust::copy(rest.begin(), rest.end(), to);
  return to;
}
template <class I, class F> I stable_partition(I a, I b, F f) { return thrust::stable_partition(a, b, a, f); }
template <class I, class F> I partition(I a, I b, F f) { return thrust::stable_partition(a, b, a, f); }
template <class I, class S, class F> I partition(I a, I b, S mask, F f) { return thrust::stable_partition(a, b, mask, f); }
`;
