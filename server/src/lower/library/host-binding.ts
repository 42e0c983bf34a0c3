/** `std::bind` with its placeholders, and functions that are members. */
const counts = [1, 2, 3, 4, 5];

const bound = (n: number): string => {
  const of = (each: (i: number) => string) => Array.from({ length: n }, (_, i) => each(i)).join(', ');
  return `template <class F, ${of((i) => `class A${i}`)}> auto bind(F f, ${of((i) => `A${i} a${i}`)}) {
  return [f, ${of((i) => `a${i}`)}](auto&&... given) mutable { return invoke(f, ${of((i) => `__bound(a${i}, given...)`)}); };
}`;
};

export const binding = `
namespace std {
template <int N> struct __placeholder {};
namespace placeholders {
${[...counts, 6].map((n) => `inline constexpr __placeholder<${n}> _${n}{};`).join('\n')}
}
template <int N, class A, class... R> auto& __given(A& a, R&... more) { if constexpr (N == 1) return a; else return __given<N - 1>(more...); }
template <class T, class... R> T& __bound(T& held, R&... given) { return held; }
template <class T, class... R> T& __bound(reference_wrapper<T>& held, R&... given) { return held.get(); }
template <int N, class... R> auto& __bound(__placeholder<N>& held, R&... given) { return __given<N>(given...); }
template <int N, class... R> auto& __bound(const __placeholder<N>& held, R&... given) { return __given<N>(given...); }
template <class F> auto bind(F f) { return [f](auto&&... given) mutable { return invoke(f); }; }
${counts.map(bound).join('\n')}
}
`;
