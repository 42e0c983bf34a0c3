/** Algorithms that write one sequence from another, beside those that most programs use (host-algorithms.ts). Over iterators of any kind. */
export const copying = `
namespace std {
template <class I, class O> O copy_backward(I a, I b, O to) { while (a != b) { --b; --to; *to = *b; } return to; }
template <class I, class O> O move_backward(I a, I b, O to) { while (a != b) { --b; --to; *to = move(*b); } return to; }
template <class I, class O, class V> O remove_copy(I a, I b, O to, const V& x) { for (; a != b; ++a) if (!(*a == x)) { *to = *a; ++to; } return to; }
template <class I, class O, class F> O remove_copy_if(I a, I b, O to, F f) { for (; a != b; ++a) if (!f(*a)) { *to = *a; ++to; } return to; }
template <class I, class O, class V> O replace_copy(I a, I b, O to, const V& x, const V& y) { for (; a != b; ++a, ++to) if (*a == x) *to = y; else *to = *a; return to; }
template <class I, class O, class F, class V> O replace_copy_if(I a, I b, O to, F f, const V& y) { for (; a != b; ++a, ++to) if (f(*a)) *to = y; else *to = *a; return to; }
template <class I, class O> O reverse_copy(I a, I b, O to) { while (a != b) { --b; *to = *b; ++to; } return to; }
template <class I, class O> O rotate_copy(I a, I m, I b, O to) {
  for (I at = m; at != b; ++at, ++to) *to = *at;
  for (; a != m; ++a, ++to) *to = *a;
  return to;
}
template <class I, class O, class F> O unique_copy(I a, I b, O to, F same) {
  if (a == b) return to;
  I kept = a;
  *to = *a;
  ++to;
  for (++a; a != b; ++a) if (!same(*kept, *a)) { *to = *a; ++to; kept = a; }
  return to;
}
template <class I, class O> O unique_copy(I a, I b, O to) { return unique_copy(a, b, to, equal_to<>()); }
template <class I, class O, class P, class F> pair<O, P> partition_copy(I a, I b, O yes, P no, F f) {
  for (; a != b; ++a) if (f(*a)) { *yes = *a; ++yes; } else { *no = *a; ++no; }
  return pair<O, P>{yes, no};
}
template <class I, class J, class O, class F> O set_symmetric_difference(I a, I b, J c, J d, O to, F before) {
  while (a != b || c != d) {
    bool first = c == d || (a != b && before(*a, *c));
    bool second = !first && (a == b || before(*c, *a));
    if (first) { *to = *a; ++to; ++a; }
    else if (second) { *to = *c; ++to; ++c; }
    else { ++a; ++c; }
  }
  return to;
}
template <class I, class J, class O> O set_symmetric_difference(I a, I b, J c, J d, O to) { return set_symmetric_difference(a, b, c, d, to, less<>()); }
template <class T, class F> void inplace_merge(T* a, T* m, T* b, F before) { __merge_sort(a, b - a, before); }
template <class T> void inplace_merge(T* a, T* m, T* b) { __merge_sort(a, b - a, less<>()); }
template <class I, class T, class F> T* partial_sort_copy(I a, I b, T* c, T* d, F before) {
  size_t room = d - c, n = 0;
  for (; a != b && n < room; ++a) { c[n] = *a; n = n + 1; }
  if (n == 0) return c;
  __make_heap(c, n, before);
  for (; a != b; ++a) if (before(*a, c[0])) { T x = *a; __sink(c, 0, n, x, before); }
  __sort_heap(c, n, before);
  return c + n;
}
template <class I, class T> T* partial_sort_copy(I a, I b, T* c, T* d) { return partial_sort_copy(a, b, c, d, less<>()); }
template <class T, class F> bool prev_permutation(T* a, T* b, F before) { return next_permutation(a, b, [&](const T& x, const T& y) { return before(y, x); }); }
template <class T> bool prev_permutation(T* a, T* b) { return next_permutation(a, b, greater<>()); }
// of libstdc++: one element after the other is taken with the chance that is left, two from one number where the generator's range allows it
template <class I, class O, class N, class G> O sample(I a, I b, O to, N n, G&& g) {
  unsigned long left = 0;
  for (I at = a; at != b; ++at) left = left + 1;
  unsigned long wanted = (unsigned long)n < left ? (unsigned long)n : left;
  if (wanted == 0) return to;
  unsigned long range = (unsigned long)(g.max() - g.min());
  if (range / left >= left) {
    while (wanted != 0 && left >= 2) {
      unsigned long both = __uniform<unsigned long>(g, 0, left * (left - 1) - 1);
      unsigned long first = both / (left - 1), second = both % (left - 1);
      left = left - 1;
      if (first < wanted) { *to = *a; ++to; wanted = wanted - 1; }
      ++a;
      if (wanted == 0) break;
      left = left - 1;
      if (second < wanted) { *to = *a; ++to; wanted = wanted - 1; }
      ++a;
    }
  }
  for (; wanted != 0; ++a) {
    left = left - 1;
    if (__uniform<unsigned long>(g, 0, left) < wanted) { *to = *a; ++to; wanted = wanted - 1; }
  }
  return to;
}
template <class I, class O, class V, class F, class G> O transform_exclusive_scan(I a, I b, O to, V sum, F join, G of) {
  for (; a != b; ++a, ++to) { V now = sum; sum = join(sum, of(*a)); *to = now; }
  return to;
}
template <class I, class O, class F, class G, class V> O transform_inclusive_scan(I a, I b, O to, F join, G of, V sum) {
  for (; a != b; ++a, ++to) { sum = join(sum, of(*a)); *to = sum; }
  return to;
}
template <class I, class O, class F, class G> O transform_inclusive_scan(I a, I b, O to, F join, G of) {
  if (a == b) return to;
  auto sum = of(*a);
  *to = sum;
  for (++a, ++to; a != b; ++a, ++to) { sum = join(sum, of(*a)); *to = sum; }
  return to;
}
template <class I, class T> T* uninitialized_copy(I a, I b, T* to) { for (; a != b; ++a, ++to) __warplens_place(*to, *a); return to; }
template <class I, class N, class T> T* uninitialized_copy_n(I a, N n, T* to) { for (N i = 0; i < n; ++i) { __warplens_place(*to, *a); ++a; ++to; } return to; }
template <class I, class T> T* uninitialized_move(I a, I b, T* to) { for (; a != b; ++a, ++to) __warplens_place(*to, move(*a)); return to; }
template <class T, class V> void uninitialized_fill(T* a, T* b, const V& x) { for (; a != b; ++a) __warplens_place(*a, T(x)); }
template <class T, class N, class V> T* uninitialized_fill_n(T* a, N n, const V& x) { for (N i = 0; i < n; ++i, ++a) __warplens_place(*a, T(x)); return a; }
template <class T> void uninitialized_value_construct(T* a, T* b) { for (; a != b; ++a) __warplens_place(*a, T()); }
template <class T, class... A> T* construct_at(T* p, A&&... a) { __warplens_place(*p, T(forward<A>(a)...)); return p; }
template <class T> void destroy_at(T* p) { __warplens_end(*p); }
template <class T> void destroy(T* a, T* b) { for (; a != b; ++a) __warplens_end(*a); }
}
`;
