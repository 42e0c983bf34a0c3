/**
 * Sums, scans and the like of the host. What adds up in any order does so in libstdc++'s where elements lie one after the other (numeric of GCC):
 * four at once, which shows in floats.
 */
export const folds = `
template <class T, class V, class F> V reduce(T* a, T* b, V sum, F join) {
  for (; b - a >= 4; a += 4) {
    V first = join(a[0], a[1]), second = join(a[2], a[3]);
    V both = join(first, second);
    sum = join(sum, both);
  }
  for (; a != b; ++a) sum = join(sum, *a);
  return sum;
}
template <class I, class V, class F> V reduce(I a, I b, V sum, F join) { for (; a != b; ++a) sum = join(sum, *a); return sum; }
template <class I, class V> V reduce(I a, I b, V sum) { return reduce(a, b, sum, plus<>()); }
template <class T> T reduce(T* a, T* b) { return reduce(a, b, typename remove_cv<T>::type(), plus<>()); }
template <class T, class V, class F, class G> V transform_reduce(T* a, T* b, V sum, F join, G of) {
  for (; b - a >= 4; a += 4) {
    V first = join(of(a[0]), of(a[1])), second = join(of(a[2]), of(a[3]));
    V both = join(first, second);
    sum = join(sum, both);
  }
  for (; a != b; ++a) sum = join(sum, of(*a));
  return sum;
}
template <class I, class V, class F, class G> V transform_reduce(I a, I b, V sum, F join, G of) { for (; a != b; ++a) sum = join(sum, of(*a)); return sum; }
template <class T, class U, class V, class F, class G> V transform_reduce(T* a, T* b, U* c, V sum, F join, G of) {
  for (; b - a >= 4; a += 4, c += 4) {
    V first = join(of(a[0], c[0]), of(a[1], c[1])), second = join(of(a[2], c[2]), of(a[3], c[3]));
    V both = join(first, second);
    sum = join(sum, both);
  }
  for (; a != b; ++a, ++c) sum = join(sum, of(*a, *c));
  return sum;
}
template <class I, class J, class V, class F, class G> V transform_reduce(I a, I b, J c, V sum, F join, G of) { for (; a != b; ++a, ++c) sum = join(sum, of(*a, *c)); return sum; }
template <class I, class J, class V> V transform_reduce(I a, I b, J c, V sum) { return transform_reduce(a, b, c, sum, plus<>(), multiplies<>()); }
template <class I, class O, class F> O partial_sum(I a, I b, O to, F join) {
  if (a == b) return to;
  auto sum = *a;
  *to = sum;
  for (++a, ++to; a != b; ++a, ++to) { sum = join(sum, *a); *to = sum; }
  return to;
}
template <class I, class O> O partial_sum(I a, I b, O to) { return partial_sum(a, b, to, plus<>()); }
template <class I, class O> O inclusive_scan(I a, I b, O to) { return partial_sum(a, b, to, plus<>()); }
template <class I, class O, class F> O inclusive_scan(I a, I b, O to, F join) { return partial_sum(a, b, to, join); }
template <class I, class O, class F, class V> O inclusive_scan(I a, I b, O to, F join, V sum) { for (; a != b; ++a, ++to) { sum = join(sum, *a); *to = sum; } return to; }
template <class I, class O, class V, class F> O exclusive_scan(I a, I b, O to, V sum, F join) { for (; a != b; ++a, ++to) { V now = sum; sum = join(sum, *a); *to = now; } return to; }
template <class I, class O, class V> O exclusive_scan(I a, I b, O to, V sum) { return exclusive_scan(a, b, to, sum, plus<>()); }
template <class T> T __middle(T a, T b) {
  if constexpr (is_floating_point<T>::value) return (a + b) / 2;
  else {
    // the half is rounded towards the first
    unsigned long apart = a > b ? (unsigned long)a - (unsigned long)b : (unsigned long)b - (unsigned long)a;
    return a > b ? T(a - T(apart / 2)) : T(a + T(apart / 2));
  }
}
template <class T> T midpoint(T a, T b) { return __middle(a, b); }
template <class T> T* midpoint(T* a, T* b) { return a + (b - a) / 2; }
template <class T> T __between(T a, T b, T t) {
  if ((a <= 0 && b >= 0) || (a >= 0 && b <= 0)) return t * b + (1 - t) * a;
  if (t == 1) return b;
  T x = a + t * (b - a);
  return (t > 1) == (b > a) ? (b < x ? x : b) : (b > x ? x : b);
}
inline double lerp(double a, double b, double t) { return __between(a, b, t); }
inline float lerp(float a, float b, float t) { return __between(a, b, t); }
`;
