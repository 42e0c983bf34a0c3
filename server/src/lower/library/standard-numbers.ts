/** Complex numbers of std, cuda::std and Thrust. libstdc++ aligns them as their parts, libcu++ and Thrust to twice that. */
const operations = `
  complex() : re_(), im_() {}
  complex(const T& re) : re_(re), im_() {}
  complex(const T& re, const T& im) : re_(re), im_(im) {}
  constexpr T real() const { return re_; }
  constexpr T imag() const { return im_; }
  constexpr void real(T x) { re_ = x; }
  constexpr void imag(T x) { im_ = x; }
  constexpr complex& operator+=(const complex& b) { re_ += b.re_; im_ += b.im_; return *this; }
  constexpr complex& operator-=(const complex& b) { re_ -= b.re_; im_ -= b.im_; return *this; }
  constexpr complex& operator*=(const complex& b) { T re = re_ * b.re_ - im_ * b.im_; im_ = re_ * b.im_ + im_ * b.re_; re_ = re; return *this; }
  constexpr complex& operator/=(const complex& b) { T s = b.re_ * b.re_ + b.im_ * b.im_; T re = (re_ * b.re_ + im_ * b.im_) / s; im_ = (im_ * b.re_ - re_ * b.im_) / s; re_ = re; return *this; }
  constexpr complex& operator+=(const T& b) { re_ += b; return *this; }
  constexpr complex& operator-=(const T& b) { re_ -= b; return *this; }
  constexpr complex& operator*=(const T& b) { re_ *= b; im_ *= b; return *this; }
  constexpr complex& operator/=(const T& b) { re_ /= b; im_ /= b; return *this; }
  constexpr complex& operator=(const T& b) { re_ = b; im_ = T(); return *this; }`;

const between = (sign: string): string => `
template <class T> constexpr complex<T> operator${sign}(const complex<T>& a, const complex<T>& b) { complex<T> c = a; c ${sign}= b; return c; }
template <class T> constexpr complex<T> operator${sign}(const complex<T>& a, const T& b) { complex<T> c = a; c ${sign}= complex<T>(b); return c; }
template <class T> constexpr complex<T> operator${sign}(const T& a, const complex<T>& b) { complex<T> c(a); c ${sign}= b; return c; }`;

const complexNumbers = (alignment: string): string => `
template <class T> struct ${alignment} complex {
  using value_type = T;
  T re_, im_;
  ${operations}
};
${['+', '-', '*', '/'].map(between).join('')}
template <class T> constexpr complex<T> operator-(const complex<T>& a) { return complex<T>(-a.real(), -a.imag()); }
template <class T> constexpr bool operator==(const complex<T>& a, const complex<T>& b) { return a.real() == b.real() && a.imag() == b.imag(); }
template <class T> constexpr bool operator!=(const complex<T>& a, const complex<T>& b) { return a.real() != b.real() || a.imag() != b.imag(); }
template <class T> constexpr T real(const complex<T>& a) { return a.real(); }
template <class T> constexpr T imag(const complex<T>& a) { return a.imag(); }
template <class T> constexpr complex<T> conj(const complex<T>& a) { return complex<T>(a.real(), -a.imag()); }
template <class T> constexpr T norm(const complex<T>& a) { return a.real() * a.real() + a.imag() * a.imag(); }
template <class T> T abs(const complex<T>& a) { return sqrt(norm(a)); }
template <class T> T arg(const complex<T>& a) { return atan2(a.imag(), a.real()); }
template <class T> complex<T> polar(const T& r, const T& t) { return complex<T>(r * cos(t), r * sin(t)); }
template <class T> complex<T> exp(const complex<T>& a) { T e = exp(a.real()); return complex<T>(e * cos(a.imag()), e * sin(a.imag())); }
template <class T> complex<T> sqrt(const complex<T>& a) { T r = sqrt(abs(a)); return complex<T>(r, a.imag()); }
`;

export const plainComplex = complexNumbers('');
export const alignedComplex = complexNumbers('alignas(2 * sizeof(T))');

/** Views of several dimensions: sizes known or given, rows or columns together, or strides. */
export const views = `
// the real one is 2^64 - 1, which no number here holds
inline constexpr size_t dynamic_extent = 4294967295u;
template <class I, size_t... E> struct extents {
  using index_type = I;
  I given[sizeof...(E)];
  constexpr extents() : given{I(E)...} {}
  template <class... J> constexpr extents(J... n) : given{I(n)...} {}
  static constexpr size_t rank() { return sizeof...(E); }
  constexpr I extent(size_t d) const { constexpr size_t fixed[sizeof...(E)] = {E...}; return fixed[d] == dynamic_extent ? given[d] : I(fixed[d]); }
};
template <class I, size_t N, size_t... E> struct __dextents : __dextents<I, N - 1, dynamic_extent, E...> {};
template <class I, size_t... E> struct __dextents<I, 0, E...> { using type = extents<I, E...>; };
template <class I, size_t N> using dextents = typename __dextents<I, N>::type;
struct layout_right {
  template <class X, class... J> static constexpr size_t at(const X& x, J... j) { size_t d = 0, at = 0; ((at = at * x.extent(d) + j, d++), ...); return at; }
  template <class X> static constexpr size_t stride(const X& x, size_t d) { size_t s = 1; for (size_t i = X::rank() - 1; i > d; i--) s *= x.extent(i); return s; }
};
struct layout_left {
  template <class X, class... J> static constexpr size_t at(const X& x, J... j) { size_t d = 0, at = 0, s = 1; ((at += j * s, s *= x.extent(d), d++), ...); return at; }
  template <class X> static constexpr size_t stride(const X& x, size_t d) { size_t s = 1; for (size_t i = 0; i < d; i++) s *= x.extent(i); return s; }
};
template <class T, class X, class L = layout_right> struct mdspan {
  using element_type = T;
  using index_type = typename X::index_type;
  T* data_;
  X sizes_;
  constexpr mdspan(T* p) : data_(p) {}
  constexpr mdspan(T* p, const X& x) : data_(p), sizes_(x) {}
  template <class... J> constexpr mdspan(T* p, J... n) : data_(p), sizes_(n...) {}
  template <class... J> constexpr T& operator()(J... j) const { return data_[L::at(sizes_, j...)]; }
  constexpr T* data_handle() const { return data_; }
  constexpr index_type extent(size_t d) const { return sizes_.extent(d); }
  constexpr index_type stride(size_t d) const { return L::stride(sizes_, d); }
  constexpr const X& extents() const { return sizes_; }
  static constexpr size_t rank() { return X::rank(); }
};
`;

/** A value or none, one of several: the value (or a union of the alternatives), and behind it which (libstdc++, libcu++). */
const choicesWith = (check: (holds: string, error: string) => string): string => `
struct nullopt_t {};
inline constexpr nullopt_t nullopt{};
template <class T> struct optional {
  using value_type = T;
  T value_;
  bool engaged_;
  constexpr optional() : engaged_(false) {}
  constexpr optional(nullopt_t) : engaged_(false) {}
  constexpr optional(const T& x) : value_(x), engaged_(true) {}
  constexpr bool has_value() const { return engaged_; }
  constexpr operator bool() const { return engaged_; }
  constexpr T& operator*() { return value_; }
  constexpr T* operator->() { return &value_; }
  constexpr T& value() { ${check('engaged_', 'bad_optional_access')}return value_; }
  template <class U> constexpr T value_or(U x) const { return engaged_ ? value_ : T(x); }
  constexpr void reset() { engaged_ = false; }
  constexpr optional& operator=(nullopt_t) { engaged_ = false; return *this; }
  constexpr optional& operator=(const T& x) { value_ = x; engaged_ = true; return *this; }
  template <class... A> constexpr T& emplace(A&&... a) { value_ = T(a...); engaged_ = true; return value_; }
};
template <class T> constexpr bool operator==(const optional<T>& a, nullopt_t) { return !a.engaged_; }
template <class T> constexpr bool operator!=(const optional<T>& a, nullopt_t) { return a.engaged_; }
template <class T> constexpr bool operator==(const optional<T>& a, const optional<T>& b) { return a.engaged_ == b.engaged_ && (!a.engaged_ || a.value_ == b.value_); }
template <class T> constexpr bool operator!=(const optional<T>& a, const optional<T>& b) { return !(a == b); }
template <class T> constexpr bool operator==(const optional<T>& a, const T& b) { return a.engaged_ && a.value_ == b; }
template <class T> constexpr bool operator!=(const optional<T>& a, const T& b) { return !a.engaged_ || a.value_ != b; }
template <class T> constexpr bool operator<(const optional<T>& a, const T& b) { return !a.engaged_ || a.value_ < b; }
template <class T> constexpr bool operator>(const optional<T>& a, const T& b) { return a.engaged_ && a.value_ > b; }
template <class T> constexpr optional<T> make_optional(T x) { return optional<T>(x); }
template <class T, class H, class... R> struct __position { static constexpr int value = 1 + __position<T, R...>::value; };
template <class T, class... R> struct __position<T, T, R...> { static constexpr int value = 0; };
template <class U, class... T> constexpr bool __is_one_of = (is_same<U, T>::value || ...);
template <class U, class H, class... R> struct __convertible { static constexpr int value = is_convertible<U, H>::value ? 0 : 1 + __convertible<U, R...>::value; };
template <class U, class H> struct __convertible<U, H> { static constexpr int value = 0; };
template <class U, class... T> constexpr int __fit() {
  if constexpr (__is_one_of<U, T...>) return __position<U, T...>::value; else return __convertible<U, T...>::value;
}
template <class... T> union __alternatives;
template <class H> union __alternatives<H> { H head; };
template <class H, class N, class... R> union __alternatives<H, N, R...> { H head; __alternatives<N, R...> rest; };
template <int I, class A> constexpr auto& __alternative(A& all) { if constexpr (I == 0) return all.head; else return __alternative<I - 1>(all.rest); }
template <class... T> struct variant {
  __alternatives<T...> all_;
  unsigned char index_;
  constexpr variant() : index_(0) {}
  template <class U> constexpr variant(U x) : index_(__fit<U, T...>()) { __alternative<__fit<U, T...>()>(all_) = x; }
  constexpr size_t index() const { return index_; }
  template <class U> constexpr variant& operator=(const U& x) { index_ = __fit<U, T...>(); __alternative<__fit<U, T...>()>(all_) = x; return *this; }
  template <class U, class... A> constexpr U& emplace(A&&... a) { index_ = __position<U, T...>::value; __alternative<__position<U, T...>::value>(all_) = U(a...); return __alternative<__position<U, T...>::value>(all_); }
};
template <size_t I, class... T> constexpr auto& get(variant<T...>& v) { ${check('v.index_ == I', 'bad_variant_access')}return __alternative<I>(v.all_); }
template <class U, class... T> constexpr U& get(variant<T...>& v) { ${check('v.index_ == __position<U, T...>::value', 'bad_variant_access')}return __alternative<__position<U, T...>::value>(v.all_); }
template <class U, class... T> constexpr U* get_if(variant<T...>* v) { return v->index_ == __position<U, T...>::value ? &__alternative<__position<U, T...>::value>(v->all_) : nullptr; }
template <size_t I, class F, class... T> constexpr auto __visited(F& f, variant<T...>& v) {
  if constexpr (I + 1 >= sizeof...(T)) return f(__alternative<I>(v.all_));
  else {
    if (v.index_ == I) return f(__alternative<I>(v.all_));
    return __visited<I + 1>(f, v);
  }
}
template <class F, class... T> constexpr auto visit(F&& f, variant<T...>& v) { return __visited<0>(f, v); }
template <class F, class... T, class... U> constexpr auto visit(F&& f, variant<T...>& v, variant<U...>& w) {
  return __visited<0>([&](auto& x) { return __visited<0>([&](auto& y) { return f(x, y); }, w); }, v);
}
template <class U, class... T> constexpr bool holds_alternative(const variant<T...>& v) { return v.index_ == __position<U, T...>::value; }
`;

export const choices = choicesWith(() => '');

/** On the host what is asked for and not there is thrown where anybody would take it. */
export const checkedChoices = choicesWith(
  (holds, error) => `if constexpr (__warplens_caught()) if (!(${holds})) throw ${error}(); `,
);
