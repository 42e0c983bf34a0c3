/** Algorithms of std::ranges over whole containers, and numbers that are counted through. */
const over = (name: string, parameters = '', passed = ''): string =>
  `template <class R${parameters.includes('F') ? ', class F' : ''}${parameters.includes('V') ? ', class V' : ''}> auto ${name}(R&& r${parameters}) { return std::${name}(r.begin(), r.end()${passed}); }`;

const plain = [
  'sort',
  'stable_sort',
  'reverse',
  'max_element',
  'min_element',
  'minmax_element',
  'is_sorted',
  'next_permutation',
];
const withFunction = [
  'sort',
  'stable_sort',
  'generate',
  'for_each',
  'count_if',
  'find_if',
  'any_of',
  'all_of',
  'none_of',
  'shuffle',
  'partition',
];
/** By what a function makes of each element. */
const withProjection = ['sort', 'stable_sort', 'max_element', 'min_element', 'minmax_element', 'is_sorted', 'unique'];
const byProjection = (name: string): string =>
  `template <class R, class F = ${name === 'unique' ? 'equal_to' : 'less'}<void>, class P> auto ${name}(R&& r, F f, P p) { return std::${name}(r.begin(), r.end(), [&](const auto& a, const auto& b) { return f(p(a), p(b)); }); }`;
const withTest = ['for_each', 'count_if', 'find_if', 'any_of', 'all_of', 'none_of', 'partition', 'remove_if'];
const byProjected = (name: string): string =>
  `template <class R, class F, class P> auto ${name}(R&& r, F f, P p) { return std::${name}(r.begin(), r.end(), [&](auto&& a) { return f(p(a)); }); }`;
const withValue = ['fill', 'count', 'find', 'lower_bound', 'upper_bound', 'binary_search', 'iota'];

export const hostRanges = `
namespace ranges {
${plain.map((name) => over(name)).join('\n')}
${withFunction.map((name) => over(name, ', F&& f', ', f')).join('\n')}
${withProjection.map(byProjection).join('\n')}
${withValue.map((name) => over(name, ', const V& x', ', x')).join('\n')}
${withTest.map(byProjected).join('\n')}
template <class R, class V, class P> auto find(R&& r, const V& x, P p) { return std::find_if(r.begin(), r.end(), [&](const auto& a) { return p(a) == x; }); }
template <class R, class V, class P> auto count(R&& r, const V& x, P p) { return std::count_if(r.begin(), r.end(), [&](const auto& a) { return p(a) == x; }); }
template <class R, class V, class F, class P> auto lower_bound(R&& r, const V& x, F f, P p) { return std::lower_bound(r.begin(), r.end(), x, [&](const auto& a, const V& y) { return f(p(a), y); }); }
template <class R, class V, class F, class P> auto upper_bound(R&& r, const V& x, F f, P p) { return std::upper_bound(r.begin(), r.end(), x, [&](const V& y, const auto& a) { return f(y, p(a)); }); }
template <class R, class O, class F, class P> auto transform(R&& r, O to, F f, P p) { return std::transform(r.begin(), r.end(), to, [&](const auto& a) { return f(p(a)); }); }
template <class R> ptrdiff_t distance(R&& r) { ptrdiff_t n = 0; auto last = r.end(); for (auto at = r.begin(); at != last; ++at) ++n; return n; }
template <class R, class O> auto copy(R&& r, O to) { return std::copy(r.begin(), r.end(), to); }
template <class R, class O, class F> auto copy_if(R&& r, O to, F&& f) { return std::copy_if(r.begin(), r.end(), to, f); }
template <class R, class O, class F> auto transform(R&& r, O to, F&& f) { return std::transform(r.begin(), r.end(), to, f); }
template <class R> auto max(R&& r) { return *std::max_element(r.begin(), r.end()); }
template <class R> auto min(R&& r) { return *std::min_element(r.begin(), r.end()); }
}
namespace views {
template <class T> struct __counter {
  T at_;
  T operator*() const { return at_; }
  __counter<T>& operator++() { at_ = at_ + 1; return *this; }
  __counter<T>& operator--() { at_ = at_ - 1; return *this; }
};
template <class T> bool operator!=(const __counter<T>& a, const __counter<T>& b) { return a.at_ != b.at_; }
template <class T> bool operator==(const __counter<T>& a, const __counter<T>& b) { return a.at_ == b.at_; }
template <class T> struct __numbers {
  static constexpr bool __is_view = true;
  T first_, last_;
  __counter<T> begin() const { return __counter<T>{first_}; }
  __counter<T> end() const { return __counter<T>{last_}; }
  size_t size() const { return last_ - first_; }
};
template <class T, class U> __numbers<U> iota(T a, U b) { return __numbers<U>{U(a), b}; }
template <class T> __numbers<T> iota(T a) { return __numbers<T>{a, numeric_limits<T>::max()}; }
}
namespace ranges { namespace views { using namespace std::views; } }
`;
