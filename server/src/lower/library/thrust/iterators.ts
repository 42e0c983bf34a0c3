/** Thrust's iterators that compute what they give: each says how it moves, how far it is from another, and what stands there. */

interface Iterator {
  readonly name: string;
  readonly parameters: string;
  /** The name with its parameters. */
  readonly self: string;
  readonly members: string;
  readonly move: string;
  /** To another one, `b`. */
  readonly distance: string;
  readonly value: string;
}

const iterator = ({ name, parameters, self, members, move, distance, value }: Iterator): string => `
template <${parameters}> struct ${name} {
  ${members}
  typedef ptrdiff_t difference_type;
  ${name}& operator+=(ptrdiff_t n) { ${move} return *this; }
  ${name}& operator-=(ptrdiff_t n) { return *this += -n; }
  ${name}& operator++() { return *this += 1; }
  ${name}& operator--() { return *this += -1; }
  ${name} operator++(int) { ${name} a = *this; *this += 1; return a; }
  ${name} operator--(int) { ${name} a = *this; *this += -1; return a; }
  ${self} operator+(ptrdiff_t n) const { ${self} a = *this; a += n; return a; }
  ${self} operator-(ptrdiff_t n) const { ${self} a = *this; a += -n; return a; }
  ptrdiff_t operator-(const ${self}& b) const { return ${distance}; }
  bool operator==(const ${self}& b) const { return *this - b == 0; }
  bool operator!=(const ${self}& b) const { return *this - b != 0; }
  bool operator<(const ${self}& b) const { return *this - b < 0; }
  decltype(auto) operator*() const { ${value} }
  decltype(auto) operator[](ptrdiff_t n) const { return *(*this + n); }
};`;

const counting = iterator({
  name: 'counting_iterator',
  parameters: 'class T',
  self: 'counting_iterator<T>',
  members:
    'typedef T value_type; T at_; counting_iterator() : at_() {} counting_iterator(T x) : at_(x) {} T base() const { return at_; }',
  move: 'at_ = T(at_ + n);',
  distance: '(ptrdiff_t)at_ - (ptrdiff_t)b.at_',
  value: 'return at_;',
});

const constant = iterator({
  name: 'constant_iterator',
  parameters: 'class T',
  self: 'constant_iterator<T>',
  members: `typedef T value_type; T x_; ptrdiff_t at_; constant_iterator(T x) : x_(x), at_(0) {} constant_iterator(T x, ptrdiff_t at) : x_(x), at_(at) {}`,
  move: 'at_ += n;',
  distance: 'at_ - b.at_',
  value: 'return x_;',
});

const discarding = `
struct __discarded { template <class T> const __discarded& operator=(const T& x) const { return *this; } };
${iterator({
  name: '__discarding',
  parameters: 'class T',
  self: '__discarding<T>',
  members: 'typedef T value_type; ptrdiff_t at_; __discarding() : at_(0) {}',
  move: 'at_ += n;',
  distance: 'at_ - b.at_',
  value: 'return __discarded();',
})}
using discard_iterator = __discarding<int>;
inline discard_iterator make_discard_iterator() { return discard_iterator(); }`;

const transforming = iterator({
  name: 'transform_iterator',
  parameters: 'class F, class I',
  self: 'transform_iterator<F, I>',
  members: `I at_; F f_;
  transform_iterator(I at, F f) : at_(at), f_(f) {}
  typedef typename remove_cvref<decltype(f_(*at_))>::type value_type;`,
  move: 'at_ += n;',
  distance: 'at_ - b.at_',
  value: 'return value_type(f_(*at_));',
});

const permuting = iterator({
  name: 'permutation_iterator',
  parameters: 'class E, class I',
  self: 'permutation_iterator<E, I>',
  members: `typedef typename __valued<E>::type value_type; E elements_; I at_; permutation_iterator(E elements, I at) : elements_(elements), at_(at) {}`,
  move: 'at_ += n;',
  distance: 'at_ - b.at_',
  value: 'return elements_[*at_];',
});

const reversing = iterator({
  name: 'reverse_iterator',
  parameters: 'class I',
  self: 'reverse_iterator<I>',
  members: `typedef typename __valued<I>::type value_type; I at_; reverse_iterator(I at) : at_(at) {} I base() const { return at_; }`,
  move: 'at_ -= n;',
  distance: 'b.at_ - at_',
  value: 'return *(at_ - 1);',
});

const zipping = `
struct __moved { ptrdiff_t n; template <class... I> auto operator()(I... a) const { return tuple<I...>(a + n...); } };
struct __referred { template <class... I> auto operator()(I... a) const { return tuple<decltype(*a)...>(*a...); } };
template <class T> struct __of_zip;
template <class... I> struct __of_zip<tuple<I...>> { typedef tuple<typename __valued<I>::type...> value_type; };
${iterator({
  name: 'zip_iterator',
  parameters: 'class T',
  self: 'zip_iterator<T>',
  members: `typedef typename __of_zip<T>::value_type value_type; typedef T iterator_tuple; T at_; zip_iterator(const T& at) : at_(at) {}
  const T& get_iterator_tuple() const { return at_; }`,
  move: 'at_ = apply(__moved{n}, at_);',
  distance: 'get<0>(at_) - get<0>(b.at_)',
  value: 'return apply(__referred(), at_);',
})}
struct __toucher { template <class... I> int operator()(I... a) const { (__touch(a), ...); return 0; } };
template <class T> void __touch(const zip_iterator<T>& a) { apply(__toucher(), a.at_); }
template <class E, class I> void __touch(const permutation_iterator<E, I>& a) { __touch(a.elements_); }
template <class... I> zip_iterator<tuple<I...>> make_zip_iterator(tuple<I...> t) { return zip_iterator<tuple<I...>>(t); }
template <class A, class B, class... I> zip_iterator<tuple<A, B, I...>> make_zip_iterator(A a, B b, I... more) { return zip_iterator<tuple<A, B, I...>>(tuple<A, B, I...>(a, b, more...)); }
template <class F> struct zip_function { F f_; zip_function(F f) : f_(f) {} template <class T> decltype(auto) operator()(T t) const { return apply(f_, t); } };
template <class F> zip_function<F> make_zip_function(F f) { return zip_function<F>(f); }`;

export const iterators = `
${counting}
${constant}
${discarding}
${transforming}
${permuting}
${reversing}
${zipping}
template <class T> counting_iterator<T> make_counting_iterator(T x) { return counting_iterator<T>(x); }
template <class T> constant_iterator<T> make_constant_iterator(T x) { return constant_iterator<T>(x); }
template <class T> constant_iterator<T> make_constant_iterator(T x, ptrdiff_t at) { return constant_iterator<T>(x, at); }
template <class I, class F> transform_iterator<F, I> make_transform_iterator(I at, F f) { return transform_iterator<F, I>(at, f); }
template <class E, class I> permutation_iterator<E, I> make_permutation_iterator(E elements, I at) { return permutation_iterator<E, I>(elements, at); }
template <class I> reverse_iterator<I> make_reverse_iterator(I at) { return reverse_iterator<I>(at); }
`;
