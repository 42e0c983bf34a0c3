/** Algorithms of the standard library that only the host uses. Over pointers, which most iterators are here, where elements are not gone through in turn. */
import { folds } from './host-folds';
import { sorting } from './host-sorting';

export const hostAlgorithms = `
${sorting}
${folds}
template <class T> void __relocate(T* to, T* from) { if constexpr (__warplens_is_plain(T)) *to = *from; else memcpy(to, from, sizeof(T)); }
template <class T, class F> void __merge_sort(T* first, size_t n, F before) {
  T* from = first;
  T* to = (T*)__warplens_allocate(n * sizeof(T));
  T* spare = to;
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t low = 0; low < n; low += 2 * width) {
      size_t middle = low + width < n ? low + width : n;
      size_t high = low + 2 * width < n ? low + 2 * width : n;
      size_t i = low;
      size_t j = middle;
      size_t k = low;
      for (; i < middle && j < high; ++k) {
        size_t right = before(from[j], from[i]);
        T* next = right ? from + j : from + i;
        __relocate(to + k, next);
        j += right;
        i += 1 - right;
      }
      for (; i < middle; ++i, ++k) __relocate(to + k, from + i);
      for (; j < high; ++j, ++k) __relocate(to + k, from + j);
    }
    T* t = from; from = to; to = t;
  }
  if (from != first) memcpy(first, from, n * sizeof(T));
  __warplens_release(spare);
}
template <class T, class F> void sort(T* a, T* b, F before) { __sort(a, b - a, before); }
template <class T> void sort(T* a, T* b) {
  // equal numbers are the same wherever they lie
  if constexpr (is_arithmetic<T>::value) __merge_sort(a, b - a, less<>()); else __sort(a, b - a, less<>());
}
template <class T> void sort(reverse_iterator<T> a, reverse_iterator<T> b) { __sort(b.at_, a.at_ - b.at_, greater<>()); }
template <class T, class F> void sort(reverse_iterator<T> a, reverse_iterator<T> b, F before) {
  __sort(b.at_, a.at_ - b.at_, [&](const T& x, const T& y) { return before(y, x); });
}
template <class T> void stable_sort(T* a, T* b) { __merge_sort(a, b - a, less<>()); }
template <class T, class F> void stable_sort(T* a, T* b, F before) { __merge_sort(a, b - a, before); }
template <class T, class F> void partial_sort(T* a, T* m, T* b, F before) { __heap_select(a, m - a, b - a, before); __sort_heap(a, m - a, before); }
template <class T> void partial_sort(T* a, T* m, T* b) { partial_sort(a, m, b, less<>()); }
template <class T, class F> void nth_element(T* a, T* m, T* b, F before) {
  size_t low = 0, high = b - a, at = m - a, left = 0;
  if (at == high) return;
  for (size_t k = high; k > 1; k = k / 2) left = left + 2;
  while (high - low > 3) {
    if (left == 0) {
      __heap_select(a + low, at + 1 - low, high - low, before);
      iter_swap(a + low, a + at);
      return;
    }
    left = left - 1;
    size_t cut = __cut(a, low, high, before);
    if (cut <= at) low = cut; else high = cut;
  }
  __insert_all(a, low, high, before);
}
template <class T> void nth_element(T* a, T* m, T* b) { nth_element(a, m, b, less<>()); }
template <class T, class F> void make_heap(T* a, T* b, F before) { __make_heap(a, b - a, before); }
template <class T> void make_heap(T* a, T* b) { __make_heap(a, b - a, less<>()); }
template <class T, class F> void push_heap(T* a, T* b, F before) { T x = move(b[-1]); __push_heap(a, b - a - 1, 0, x, before); }
template <class T> void push_heap(T* a, T* b) { push_heap(a, b, less<>()); }
template <class T, class F> void pop_heap(T* a, T* b, F before) { if (b - a > 1) __pop_heap(a, b - a - 1, b - a - 1, before); }
template <class T> void pop_heap(T* a, T* b) { pop_heap(a, b, less<>()); }
template <class T, class F> void sort_heap(T* a, T* b, F before) { __sort_heap(a, b - a, before); }
template <class T> void sort_heap(T* a, T* b) { __sort_heap(a, b - a, less<>()); }
template <class T, class V> T* lower_bound(T* a, T* b, const V& x) {
  size_t low = 0;
  size_t n = b - a;
  while (n > 0) {
    size_t half = n / 2;
    if (a[low + half] < x) { low += half + 1; n -= half + 1; } else n = half;
  }
  return a + low;
}
template <class T, class V> T* upper_bound(T* a, T* b, const V& x) {
  size_t low = 0;
  size_t n = b - a;
  while (n > 0) {
    size_t half = n / 2;
    if (!(x < a[low + half])) { low += half + 1; n -= half + 1; } else n = half;
  }
  return a + low;
}
template <class T, class F> T* partition_point(T* a, T* b, F f) {
  size_t first = 0, n = b - a;
  while (n > 0) {
    size_t half = n / 2;
    if (f(a[first + half])) { first = first + half + 1; n = n - half - 1; } else n = half;
  }
  return a + first;
}
template <class T, class U> bool lexicographical_compare(T* a, T* b, U* c, U* d) {
  size_t n = b - a, m = d - c, k = 0;
  while (k < n && k < m && a[k] == c[k]) ++k;
  return k < n && k < m ? a[k] < c[k] : n < m;
}
template <class T, class U, class F> bool lexicographical_compare(T* a, T* b, U* c, U* d, F before) {
  size_t n = b - a, m = d - c, k = 0;
  while (k < n && k < m && !before(a[k], c[k]) && !before(c[k], a[k])) ++k;
  return k < n && k < m ? before(a[k], c[k]) : n < m;
}
template <class T, class V> bool binary_search(T* a, T* b, const V& x) { T* p = lower_bound(a, b, x); return p != b && !(x < *p); }
template <class T> T* unique(T* a, T* b) {
  size_t n = b - a;
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) if (i == 0 || !(a[i] == a[kept - 1])) { if (i != kept) a[kept] = move(a[i]); kept = kept + 1; }
  return a + kept;
}
template <class T> void reverse(T* a, T* b) {
  size_t n = b - a;
  for (size_t i = 0; i < n / 2; ++i) { T t = move(a[i]); a[i] = move(a[n - 1 - i]); a[n - 1 - i] = move(t); }
}
template <class I, class F> void generate(I a, I b, F&& make) { for (; a != b; ++a) *a = make(); }
template <class I, class N, class F> I generate_n(I a, N n, F&& make) { for (N i = 0; i < n; ++i, ++a) *a = make(); return a; }
template <class T> T* max_element(T* a, T* b) { size_t n = b - a; size_t best = 0; for (size_t i = 1; i < n; ++i) if (a[best] < a[i]) best = i; return a + best; }
template <class T> T* min_element(T* a, T* b) { size_t n = b - a; size_t best = 0; for (size_t i = 1; i < n; ++i) if (a[i] < a[best]) best = i; return a + best; }
template <class I> I max_element(I a, I b) { I best = a; for (; a != b; ++a) if (*best < *a) best = a; return best; }
template <class I> I min_element(I a, I b) { I best = a; for (; a != b; ++a) if (*a < *best) best = a; return best; }
template <class I, class V> I find(I a, I b, const V& x) { while (a != b && !(*a == x)) ++a; return a; }
template <class I, class V> ptrdiff_t count(I a, I b, const V& x) { ptrdiff_t n = 0; for (; a != b; ++a) if (*a == x) ++n; return n; }
template <class I, class F> ptrdiff_t count_if(I a, I b, F&& f) { ptrdiff_t n = 0; for (; a != b; ++a) if (f(*a)) ++n; return n; }
template <class I, class J> bool equal(I a, I b, J c) { bool same = true; for (; a != b; ++a, ++c) same = same && *a == *c; return same; }
template <class T> T* rotate(T* a, T* m, T* b) { reverse(a, m); reverse(m, b); reverse(a, b); return a + (b - m); }
template <class I, class J> void iter_swap(I a, J b) { auto t = move(*a); *a = move(*b); *b = move(t); }
template <class T> void iter_swap(T* a, T* b) { T t = move(*a); *a = move(*b); *b = move(t); }
template <class T> T* next(T* p, ptrdiff_t n = 1) { return p + n; }
template <class T> T* prev(T* p, ptrdiff_t n = 1) { return p - n; }
template <class T> ptrdiff_t distance(T* a, T* b) { return b - a; }
template <class T> void advance(T*& p, ptrdiff_t n) { p = p + n; }
template <class C> auto rbegin(C& c) { return reverse_iterator<typename C::value_type>{c.data() + c.size()}; }
template <class C> auto rend(C& c) { return reverse_iterator<typename C::value_type>{c.data()}; }
template <class C> bool empty(const C& c) { return c.empty(); }
template <class C> ptrdiff_t ssize(const C& c) { return c.size(); }
template <class T, class V, class F> pair<T*, T*> equal_range(T* a, T* b, const V& x, F before) { return pair<T*, T*>{lower_bound(a, b, x, before), upper_bound(a, b, x, before)}; }
template <class T, class V, class F> bool binary_search(T* a, T* b, const V& x, F before) { T* p = lower_bound(a, b, x, before); return p != b && !before(x, *p); }
template <class T, class V> pair<T*, T*> equal_range(T* a, T* b, const V& x) { return pair<T*, T*>{lower_bound(a, b, x), upper_bound(a, b, x)}; }
template <class T, class V, class F> T* lower_bound(T* a, T* b, const V& x, F before) {
  size_t low = 0;
  size_t n = b - a;
  while (n > 0) {
    size_t half = n / 2;
    if (before(a[low + half], x)) { low += half + 1; n -= half + 1; } else n = half;
  }
  return a + low;
}
template <class T, class V, class F> T* upper_bound(T* a, T* b, const V& x, F before) {
  size_t low = 0;
  size_t n = b - a;
  while (n > 0) {
    size_t half = n / 2;
    if (!before(x, a[low + half])) { low += half + 1; n -= half + 1; } else n = half;
  }
  return a + low;
}
template <class I, class F> I max_element(I a, I b, F before) { I best = a; for (; a != b; ++a) if (before(*best, *a)) best = a; return best; }
template <class I, class F> I min_element(I a, I b, F before) { I best = a; for (; a != b; ++a) if (before(*a, *best)) best = a; return best; }
template <class T, class F> T* max_element(T* a, T* b, F before) { size_t n = b - a; size_t best = 0; for (size_t i = 1; i < n; ++i) if (before(a[best], a[i])) best = i; return a + best; }
template <class T, class F> T* min_element(T* a, T* b, F before) { size_t n = b - a; size_t best = 0; for (size_t i = 1; i < n; ++i) if (before(a[i], a[best])) best = i; return a + best; }
template <class T, class F> T* unique(T* a, T* b, F same) {
  size_t n = b - a;
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) if (i == 0 || !same(a[kept - 1], a[i])) { if (i != kept) a[kept] = move(a[i]); kept = kept + 1; }
  return a + kept;
}
template <class T, class F> T* stable_partition(T* a, T* b, F f) {
  size_t n = b - a, kept = 0;
  T* rest = (T*)__warplens_allocate(n * sizeof(T));
  size_t other = 0;
  for (size_t i = 0; i < n; ++i) {
    if (f(a[i])) { if (i != kept) __relocate(a + kept, a + i); kept = kept + 1; }
    else { __relocate(rest + other, a + i); other = other + 1; }
  }
  for (size_t i = 0; i < other; ++i) __relocate(a + kept + i, rest + i);
  return a + kept;
}
template <class C> auto begin(C& c) { return c.begin(); }
template <class C> auto end(C& c) { return c.end(); }
template <class C> auto size(const C& c) { return c.size(); }
template <class C> auto data(C& c) { return c.data(); }
template <class T, size_t N> T* begin(T (&a)[N]) { return a; }
template <class T, size_t N> T* end(T (&a)[N]) { return a + N; }
template <class T, size_t N> size_t size(T (&a)[N]) { return N; }
template <class T, class G> void shuffle(T* first, T* last, G&& g) {
  size_t n = last - first;
  if (n < 2) return;
  unsigned long range = (unsigned long)(g.max() - g.min());
  size_t i = 1;
  if (range / n >= n) {
    if (n % 2 == 0) {
      size_t k = __uniform<unsigned long>(g, 0, 1);
      iter_swap(first + 1, first + k);
      i = 2;
    }
    while (i < n) {
      unsigned long here = i + 1;
      unsigned long both = __uniform<unsigned long>(g, 0, here * (here + 1) - 1);
      iter_swap(first + i, first + both / (here + 1));
      iter_swap(first + i + 1, first + both % (here + 1));
      i = i + 2;
    }
    return;
  }
  for (; i < n; ++i) { size_t k = __uniform<unsigned long>(g, 0, i); iter_swap(first + i, first + k); }
}
`;
