/** Concepts of the standard library, as far as traits and requires-expressions say what they demand. */

const iterators = ['input', 'forward', 'bidirectional', 'random_access']
  .map(
    (kind) =>
      `template <class T> concept ${kind}_range = range<T> && ${kind}_iterator<decltype(declval<T&>().begin())>;`,
  )
  .join('\n');

/** Words that ask for them. */
export const conceptNames =
  /^(?:same_as|derived_from|convertible_to|(?:(?:un)?signed_)?integral|floating_point|equality_comparable|totally_ordered|(?:regular_)?invocable|predicate|(?:input_or_output|input|forward|bidirectional|random_access)_iterator|(?:(?:sized|input|forward|bidirectional|random_access)_)?range)$/;

export const concepts = `namespace __warplens_std {
template <class A, class B> concept __same = is_same_v<A, B>;
template <class A, class B> concept same_as = __same<A, B> && __same<B, A>;
template <class D, class B> concept derived_from = is_base_of_v<B, D> && is_convertible_v<const D*, const B*>;
template <class A, class B> concept convertible_to = is_convertible_v<remove_cvref_t<A>, remove_cvref_t<B>>;
template <class T> concept integral = is_integral_v<T>;
template <class T> concept signed_integral = integral<T> && is_signed_v<T>;
template <class T> concept unsigned_integral = integral<T> && !signed_integral<T>;
template <class T> concept floating_point = is_floating_point_v<T>;
template <class T> concept equality_comparable = requires(const T& a, const T& b) { a == b; a != b; };
template <class T> concept totally_ordered = equality_comparable<T> && requires(const T& a, const T& b) { a < b; a > b; a <= b; a >= b; };
template <class F, class... A> concept invocable = requires(F f, A... a) { f(a...); };
template <class F, class... A> concept regular_invocable = invocable<F, A...>;
template <class F, class... A> concept predicate = regular_invocable<F, A...> && requires(F f, A... a) { { f(a...) } -> convertible_to<bool>; };
template <class I> concept input_or_output_iterator = requires(I i) { *i; ++i; i++; };
template <class I> concept input_iterator = input_or_output_iterator<I> && requires(I i) { i == i; };
template <class I> concept forward_iterator = input_iterator<I>;
template <class I> concept bidirectional_iterator = forward_iterator<I> && requires(I i) { --i; };
template <class I> concept random_access_iterator = bidirectional_iterator<I> && requires(I i, ptrdiff_t n) { i + n; i - n; i - i; i[n]; i < i; };
}
namespace std { namespace ranges {
template <class T> concept range = is_array_v<remove_reference_t<T>> || requires(T& t) { t.begin(); t.end(); };
template <class T> concept sized_range = range<T> && (is_array_v<remove_reference_t<T>> || requires(T& t) { t.size(); });
${iterators}
} }
`;
