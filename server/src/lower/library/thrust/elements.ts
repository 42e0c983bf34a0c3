/** Algorithms of Thrust that write each element by itself. */
export const elementNames = `fill fill_n uninitialized_fill uninitialized_fill_n copy copy_n uninitialized_copy uninitialized_copy_n sequence transform transform_if
  for_each for_each_n generate generate_n tabulate replace replace_if replace_copy replace_copy_if swap_ranges reverse reverse_copy gather gather_if scatter
  scatter_if adjacent_difference`;

export const elements = `
template <class I, class V> void fill(I a, I b, const V& x) { for (; a != b; ++a) *a = x; }
template <class I, class N, class V> I fill_n(I a, N n, const V& x) { for (N i = 0; i < n; ++i, ++a) *a = x; return a; }
template <class I, class V> void uninitialized_fill(I a, I b, const V& x) { thrust::fill(a, b, x); }
template <class I, class N, class V> I uninitialized_fill_n(I a, N n, const V& x) { return thrust::fill_n(a, n, x); }
template <class I, class O> O copy(I a, I b, O to) { for (; a != b; ++a, ++to) *to = *a; return to; }
template <class I, class N, class O> O copy_n(I a, N n, O to) { for (N i = 0; i < n; ++i, ++a, ++to) *to = *a; return to; }
template <class I, class O> O uninitialized_copy(I a, I b, O to) { return thrust::copy(a, b, to); }
template <class I, class N, class O> O uninitialized_copy_n(I a, N n, O to) { return thrust::copy_n(a, n, to); }
template <class I> void sequence(I a, I b) { typedef typename __valued<I>::type T; ptrdiff_t n = b - a; for (ptrdiff_t i = 0; i < n; ++i) a[i] = T(i); }
template <class I, class V> void sequence(I a, I b, V x) { typedef typename __valued<I>::type T; ptrdiff_t n = b - a; for (ptrdiff_t i = 0; i < n; ++i) a[i] = T(x) + T(i); }
template <class I, class V, class W> void sequence(I a, I b, V x, W step) { typedef typename __valued<I>::type T; ptrdiff_t n = b - a; for (ptrdiff_t i = 0; i < n; ++i) a[i] = T(x) + T(i) * T(step); }
template <class I, class O, class F> O transform(I a, I b, O to, F f) { for (; a != b; ++a, ++to) *to = f(*a); return to; }
template <class I, class J, class O, class F> O transform(I a, I b, J c, O to, F f) { for (; a != b; ++a, ++c, ++to) *to = f(*a, *c); return to; }
template <class I, class O, class F, class P> O transform_if(I a, I b, O to, F f, P p) { for (; a != b; ++a, ++to) if (p(*a)) *to = f(*a); return to; }
template <class I, class S, class O, class F, class P> O transform_if(I a, I b, S mask, O to, F f, P p) { for (; a != b; ++a, ++mask, ++to) if (p(*mask)) *to = f(*a); return to; }
template <class I, class F> I for_each(I a, I b, F f) { for (; a != b; ++a) f(*a); return a; }
template <class I, class N, class F> I for_each_n(I a, N n, F f) { for (N i = 0; i < n; ++i, ++a) f(*a); return a; }
template <class I, class G> void generate(I a, I b, G g) { for (; a != b; ++a) *a = g(); }
template <class I, class N, class G> I generate_n(I a, N n, G g) { for (N i = 0; i < n; ++i, ++a) *a = g(); return a; }
template <class I, class F> void tabulate(I a, I b, F f) { typedef typename __valued<I>::type T; ptrdiff_t n = b - a; for (ptrdiff_t i = 0; i < n; ++i) a[i] = f(T(i)); }
template <class I, class V> void replace(I a, I b, const V& x, const V& y) { for (; a != b; ++a) if (*a == x) *a = y; }
template <class I, class F, class V> void replace_if(I a, I b, F f, const V& y) { for (; a != b; ++a) if (f(*a)) *a = y; }
template <class I, class S, class F, class V> void replace_if(I a, I b, S mask, F f, const V& y) { for (; a != b; ++a, ++mask) if (f(*mask)) *a = y; }
template <class I, class O, class V> O replace_copy(I a, I b, O to, const V& x, const V& y) { for (; a != b; ++a, ++to) if (*a == x) *to = y; else *to = *a; return to; }
template <class I, class O, class F, class V> O replace_copy_if(I a, I b, O to, F f, const V& y) { for (; a != b; ++a, ++to) if (f(*a)) *to = y; else *to = *a; return to; }
template <class I, class J> J swap_ranges(I a, I b, J c) { for (; a != b; ++a, ++c) { auto x = *a; *a = *c; *c = x; } return c; }
template <class I> void reverse(I a, I b) { typedef typename __valued<I>::type T; ptrdiff_t n = b - a; for (ptrdiff_t i = 0; i < n / 2; ++i) { T x = a[i]; a[i] = a[n - 1 - i]; a[n - 1 - i] = x; } }
template <class I, class O> O reverse_copy(I a, I b, O to) { while (a != b) { --b; *to = *b; ++to; } return to; }
template <class I, class E, class O> O gather(I a, I b, E from, O to) { for (; a != b; ++a, ++to) *to = from[*a]; return to; }
template <class I, class S, class E, class O> O gather_if(I a, I b, S mask, E from, O to) { for (; a != b; ++a, ++mask, ++to) if (*mask) *to = from[*a]; return to; }
template <class I, class S, class E, class O, class F> O gather_if(I a, I b, S mask, E from, O to, F f) { for (; a != b; ++a, ++mask, ++to) if (f(*mask)) *to = from[*a]; return to; }
template <class I, class M, class O> void scatter(I a, I b, M map, O to) { for (; a != b; ++a, ++map) to[*map] = *a; }
template <class I, class M, class S, class O> void scatter_if(I a, I b, M map, S mask, O to) { for (; a != b; ++a, ++map, ++mask) if (*mask) to[*map] = *a; }
template <class I, class M, class S, class O, class F> void scatter_if(I a, I b, M map, S mask, O to, F f) { for (; a != b; ++a, ++map, ++mask) if (f(*mask)) to[*map] = *a; }
template <class I, class O, class F> O adjacent_difference(I a, I b, O to, F f) {
  typedef typename __valued<I>::type T;
  if (a == b) return to;
  T before = *a;
  *to = before;
  for (++a, ++to; a != b; ++a, ++to) { T now = *a; *to = f(now, before); before = now; }
  return to;
}
template <class I, class O> O adjacent_difference(I a, I b, O to) { return thrust::adjacent_difference(a, b, to, minus<>()); }
`;
