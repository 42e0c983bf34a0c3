/** Containers of fixed size: arrays, pairs, tuples, spans. Members lie as in libstdc++ (std) and libcu++ (cuda::std). */

export const containers = `
template <class T, size_t N> struct array {
  using value_type = T;
  using size_type = size_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using iterator = T*;
  using const_iterator = const T*;
  T elements[N];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
  constexpr T& at(size_t i) { return elements[i]; }
  constexpr T& front() { return elements[0]; }
  constexpr T& back() { return elements[N - 1]; }
  constexpr T* data() { return elements; }
  constexpr T* begin() { return elements; }
  constexpr T* end() { return elements + N; }
  constexpr const T* cbegin() { return elements; }
  constexpr const T* cend() { return elements + N; }
  constexpr bool empty() const { return N == 0; }
  static constexpr size_t size() { return N; }
  static constexpr size_t max_size() { return N; }
  constexpr void fill(const T& x) { for (size_t i = 0; i < N; i++) elements[i] = x; }
};
template <class T, class... R> array<T, 1 + sizeof...(R)> __guide_array(T, R...);

template <class T, size_t N> constexpr bool operator==(const array<T, N>& a, const array<T, N>& b) {
  for (size_t i = 0; i < N; i++) if (!(a.elements[i] == b.elements[i])) return false;
  return true;
}
template <class T, size_t N> constexpr bool operator!=(const array<T, N>& a, const array<T, N>& b) { return !(a == b); }
template <class T, size_t N> constexpr bool operator<(const array<T, N>& a, const array<T, N>& b) {
  for (size_t i = 0; i < N; i++) {
    if (a.elements[i] < b.elements[i]) return true;
    if (b.elements[i] < a.elements[i]) return false;
  }
  return false;
}
template <class T, size_t N> constexpr bool operator>(const array<T, N>& a, const array<T, N>& b) { return b < a; }

template <class A, class B> struct pair {
  using first_type = A;
  using second_type = B;
  A first;
  B second;
};
template <class A, class B> pair<A, B> __guide_pair(A, B);
template <class T> struct __unwrapped { using type = T; };
template <class T> constexpr T& __unwrap(T& x) { return x; }
template <class A, class B> constexpr pair<typename __unwrapped<A>::type, typename __unwrapped<B>::type> make_pair(A a, B b) {
  return pair<typename __unwrapped<A>::type, typename __unwrapped<B>::type>{__unwrap(a), __unwrap(b)};
}
template <class A, class B> constexpr bool operator==(const pair<A, B>& a, const pair<A, B>& b) { return a.first == b.first && a.second == b.second; }
template <class A, class B> constexpr bool operator!=(const pair<A, B>& a, const pair<A, B>& b) { return !(a == b); }
template <class A, class B> constexpr bool operator<(const pair<A, B>& a, const pair<A, B>& b) {
  return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}
template <class A, class B> constexpr bool operator>(const pair<A, B>& a, const pair<A, B>& b) { return b < a; }
template <class A, class B> constexpr bool operator<=(const pair<A, B>& a, const pair<A, B>& b) { return !(b < a); }
template <class A, class B> constexpr bool operator>=(const pair<A, B>& a, const pair<A, B>& b) { return !(a < b); }

template <class T, size_t N = size_t(-1)> struct span {
  using element_type = T;
  using value_type = typename remove_cv<T>::type;
  T* start_;
  size_t size_;
  constexpr span() : start_(nullptr), size_(0) {}
  constexpr span(T* p, size_t n) : start_(p), size_(n) {}
  constexpr span(T* a, T* b) : start_(a), size_(b - a) {}
  template <class U, size_t M> constexpr span(U (&a)[M]) : start_(a), size_(M) {}
  template <class U, size_t M> constexpr span(array<U, M>& a) : start_(a.elements), size_(M) {}
  template <class C> constexpr span(C& c) : start_(c.data()), size_(c.size()) {}
  constexpr T& operator[](size_t i) const { return start_[i]; }
  constexpr T& front() const { return start_[0]; }
  constexpr T& back() const { return start_[size_ - 1]; }
  constexpr T* data() const { return start_; }
  constexpr T* begin() const { return start_; }
  constexpr T* end() const { return start_ + size_; }
  constexpr size_t size() const { return size_; }
  constexpr size_t size_bytes() const { return size_ * sizeof(T); }
  constexpr bool empty() const { return size_ == 0; }
  constexpr span<T> subspan(size_t offset, size_t count) const { return span<T>(start_ + offset, count); }
  constexpr span<T> subspan(size_t offset) const { return span<T>(start_ + offset, size_ - offset); }
  constexpr span<T> first(size_t count) const { return span<T>(start_, count); }
  constexpr span<T> last(size_t count) const { return span<T>(start_ + (size_ - count), count); }
  template <size_t K> constexpr span<T> first() const { return span<T>(start_, K); }
  template <size_t K> constexpr span<T> last() const { return span<T>(start_ + (size_ - K), K); }
  template <size_t O, size_t K = size_t(-1)> constexpr span<T> subspan() const { return span<T>(start_ + O, K == size_t(-1) ? size_ - O : K); }
};
template <class T, size_t M> span<T> __guide_span(T (&)[M]);
template <class T> span<T> __guide_span(T*, size_t);
template <class C> span<typename C::value_type> __guide_span(C&);
template <class C> span<const typename C::value_type> __guide_span(const C&);

`;

/** What is the same however the members of tuples lie. */
const ofTuples = `
template <class T> struct tuple_size;
template <class T, size_t N> struct tuple_size<array<T, N>> : integral_constant<size_t, N> {};
template <class A, class B> struct tuple_size<pair<A, B>> : integral_constant<size_t, 2> {};
template <class T> struct tuple_size<const T> : tuple_size<T> {};
template <class T> inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t I, class T> struct tuple_element;
template <size_t I, class T, size_t N> struct tuple_element<I, array<T, N>> { using type = T; };
template <class A, class B> struct tuple_element<0, pair<A, B>> { using type = A; };
template <class A, class B> struct tuple_element<1, pair<A, B>> { using type = B; };
template <size_t I, class T> using tuple_element_t = typename tuple_element<I, T>::type;
template <size_t I, class T, size_t N> constexpr T& get(array<T, N>& a) { return a.elements[I]; }
template <size_t I, class A, class B> constexpr auto& get(pair<A, B>& p) {
  if constexpr (I == 0) return p.first; else return p.second;
}
template <class... T> tuple<T...> __guide_tuple(T...);
template <class... T> struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <class H, class... R> struct tuple_element<0, tuple<H, R...>> { using type = H; };
template <size_t I, class H, class... R> struct tuple_element<I, tuple<H, R...>> : tuple_element<I - 1, tuple<R...>> {};
template <size_t I, class A, class B> constexpr bool __equal(A& a, B& b) {
  if constexpr (I == tuple_size<typename remove_cvref<A>::type>::value) return true;
  else return get<I>(a) == get<I>(b) && __equal<I + 1>(a, b);
}
template <size_t I, class A, class B> constexpr bool __before(A& a, B& b) {
  if constexpr (I == tuple_size<typename remove_cvref<A>::type>::value) return false;
  else if constexpr (I + 1 == tuple_size<typename remove_cvref<A>::type>::value) return get<I>(a) < get<I>(b);
  else return get<I>(a) < get<I>(b) || (!(get<I>(b) < get<I>(a)) && __before<I + 1>(a, b));
}
template <class... A, class... B> constexpr bool operator==(const tuple<A...>& a, const tuple<B...>& b) { return __equal<0>(a, b); }
template <class... A, class... B> constexpr bool operator!=(const tuple<A...>& a, const tuple<B...>& b) { return !__equal<0>(a, b); }
template <class... A, class... B> constexpr bool operator<(const tuple<A...>& a, const tuple<B...>& b) { return __before<0>(a, b); }
template <class... A, class... B> constexpr bool operator>(const tuple<A...>& a, const tuple<B...>& b) { return __before<0>(b, a); }
template <class... T> constexpr tuple<typename __unwrapped<T>::type...> make_tuple(T... x) { return tuple<typename __unwrapped<T>::type...>(__unwrap(x)...); }
template <class... T> constexpr tuple<T&...> tie(T&... x) { return tuple<T&...>(x...); }
template <class... T> constexpr tuple<T&...> forward_as_tuple(T&&... x) { return tuple<T&...>(x...); }
template <size_t... I, size_t... J, class A, class B> constexpr auto __joined(A& a, B& b, index_sequence<I...>, index_sequence<J...>) { return make_tuple(get<I>(a)..., get<J>(b)...); }
template <class A, class B> constexpr auto tuple_cat(A a, B b) {
  return __joined(a, b, make_index_sequence<tuple_size<A>::value>{}, make_index_sequence<tuple_size<B>::value>{});
}
template <class F, class T, size_t... I> constexpr auto __applied(F&& f, T&& t, index_sequence<I...>) { return f(get<I>(t)...); }
template <class F, class T> constexpr auto apply(F&& f, T&& t) {
  return __applied(f, t, make_index_sequence<tuple_size<typename remove_cvref<T>::type>::value>{});
}
`;

const assignment = `
  template <class A, class B> constexpr tuple& operator=(const pair<A, B>& p) { head = p.first; REST.head = p.second; return *this; }
  template <class... U> constexpr tuple& operator=(const tuple<U...>& t) { assign(t); return *this; }`;

/** libstdc++: later members lie first, each tuple is the base of the one that has a member more. */
export const reversedTuple = `
template <class... T> struct tuple;
template <> struct tuple<> { constexpr void assign(const tuple<>& t) {} };
template <class H, class... R> struct tuple<H, R...> : tuple<R...> {
  H head;
  constexpr tuple() {}
  constexpr tuple(const H& h, const R&... r) : tuple<R...>(r...), head(h) {}
  template <class V, class... U> constexpr void assign(const tuple<V, U...>& t) { head = t.head; static_cast<tuple<R...>&>(*this).assign(static_cast<const tuple<U...>&>(t)); }
  ${assignment.replace('REST', 'static_cast<tuple<R...>&>(*this)')}
};
template <size_t I, class H, class... R> constexpr auto& get(tuple<H, R...>& t) {
  if constexpr (I == 0) return t.head; else return get<I - 1>(static_cast<tuple<R...>&>(t));
}
template <class W, class H, class... R> constexpr W& get(tuple<H, R...>& t) {
  if constexpr (is_same<W, H>::value) return t.head; else return get<W>(static_cast<tuple<R...>&>(t));
}
${ofTuples}`;

/** libcu++: members lie in their order. */
export const orderedTuple = `
template <class... T> struct tuple;
template <> struct tuple<> { constexpr void assign(const tuple<>& t) {} };
template <class H> struct tuple<H> {
  H head;
  constexpr tuple() {}
  constexpr tuple(const H& h) : head(h) {}
  template <class V> constexpr void assign(const tuple<V>& t) { head = t.head; }
  template <class... U> constexpr tuple& operator=(const tuple<U...>& t) { assign(t); return *this; }
};
template <class H, class N, class... R> struct tuple<H, N, R...> {
  H head;
  tuple<N, R...> rest;
  constexpr tuple() {}
  constexpr tuple(const H& h, const N& n, const R&... r) : head(h), rest(n, r...) {}
  template <class V, class... U> constexpr void assign(const tuple<V, U...>& t) { head = t.head; rest.assign(t.rest); }
  ${assignment.replace('REST', 'rest')}
};
template <size_t I, class H, class... R> constexpr auto& get(tuple<H, R...>& t) {
  if constexpr (I == 0) return t.head; else return get<I - 1>(t.rest);
}
template <class W, class H, class... R> constexpr W& get(tuple<H, R...>& t) {
  if constexpr (is_same<W, H>::value) return t.head; else return get<W>(t.rest);
}
${ofTuples}`;
