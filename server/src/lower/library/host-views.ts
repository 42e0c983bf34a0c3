/** Views of ranges: what they go through stays where it is, and is asked for when it is gone through. Iterators over values of their own give values. */
const bidirectional = (name: string, parameters: string): string => `
template <${parameters.replace(/\w+/g, 'class $&')}> bool operator==(const ${name}<${parameters}>& a, const ${name}<${parameters}>& b) { return a.at_ == b.at_; }
template <${parameters.replace(/\w+/g, 'class $&')}> bool operator!=(const ${name}<${parameters}>& a, const ${name}<${parameters}>& b) { return !(a.at_ == b.at_); }`;

/** `r | name(x)` and `name(r, x)` */
const maker = (name: string, view: string): string => `
template <class X> struct __${name}_maker : __maker_base { X x_; __${name}_maker(X x) : x_(x) {} };
template <class X> __${name}_maker<X> ${name}(X x) { return __${name}_maker<X>(x); }
template <class R, class X> auto ${name}(R&& r, X x) { return ${view}<decltype(__viewed(r)), X>{__viewed(r), x}; }`;

const piped = (name: string): string => `
template <class R, class X> requires (!views::__isMaker<R>) auto operator|(R&& r, views::__${name}_maker<X> m) { return views::${name}(r, m.x_); }`;

/** `r | name` */
const plain = (name: string, view: string): string => `
struct __${name}_maker : __maker_base { template <class R> auto operator()(R&& r) const { return ${view}<decltype(__viewed(r))>{__viewed(r)}; } };
inline constexpr __${name}_maker ${name}{};`;

const plainPiped = (name: string): string => `
template <class R> requires (!views::__isMaker<R>) auto operator|(R&& r, views::__${name}_maker m) { return m(r); }`;

export const rangeViews = `namespace std {
namespace views {
template <class I> inline constexpr bool __gives_values = false;
template <class T> inline constexpr bool __gives_values<__counter<T>> = true;
struct __maker_base { static constexpr bool __is_maker = true; };
template <class M> concept __isMaker = requires { M::__is_maker; };
template <class A, class B> struct __composed : __maker_base { A a_; B b_; __composed(A a, B b) : a_(a), b_(b) {} };
struct __view_base { static constexpr bool __is_view = true; };
template <class R> struct __referred : __view_base {
  R* r_;
  auto begin() const { return r_->begin(); }
  auto end() const { return r_->end(); }
  size_t size() const { return r_->size(); }
};
template <class R> concept __isView = requires { R::__is_view; };
template <class R> __referred<R> __viewed(R& r) { __referred<R> view; view.r_ = &r; return view; }
template <class T> struct __array_view : __view_base {
  T* first_; size_t size_;
  __array_view(T* first, size_t size) : first_(first), size_(size) {}
  T* begin() const { return first_; }
  T* end() const { return first_ + size_; }
  size_t size() const { return size_; }
};
template <class T, size_t N> __array_view<T> __viewed(T (&a)[N]) { return __array_view<T>(a, N); }
template <class R> requires __isView<R> R __viewed(R& r) { return r; }
template <class R> using __iterator_of = decltype(declval<R&>().begin());

template <class I, class F> struct __filter_iterator {
  I at_, last_; F f_;
  auto& operator*() const requires (!__gives_values<I>) { return *at_; }
  auto operator*() const requires (__gives_values<I>) { return *at_; }
  __filter_iterator& operator++() { ++at_; while (at_ != last_ && !f_(*at_)) ++at_; return *this; }
  __filter_iterator& operator--() { --at_; while (!f_(*at_)) --at_; return *this; }
};
template <class I, class F> inline constexpr bool __gives_values<__filter_iterator<I, F>> = __gives_values<I>;
${bidirectional('__filter_iterator', 'I, F')}
template <class R, class F> struct __filtered : __view_base {
  R r_; F f_;
  __filtered(R r, F f) : r_(r), f_(f) {}
  auto begin() const { auto at = r_.begin(); auto last = r_.end(); while (at != last && !f_(*at)) ++at; return __filter_iterator<__iterator_of<R>, F>{at, last, f_}; }
  auto end() const { return __filter_iterator<__iterator_of<R>, F>{r_.end(), r_.end(), f_}; }
};
template <class I, class F> struct __transform_iterator {
  I at_; F f_;
  auto operator*() const { return f_(*at_); }
  __transform_iterator& operator++() { ++at_; return *this; }
  __transform_iterator& operator--() { --at_; return *this; }
};
template <class I, class F> inline constexpr bool __gives_values<__transform_iterator<I, F>> = true;
${bidirectional('__transform_iterator', 'I, F')}
template <class R, class F> struct __transformed : __view_base {
  R r_; F f_;
  __transformed(R r, F f) : r_(r), f_(f) {}
  auto begin() const { return __transform_iterator<__iterator_of<R>, F>{r_.begin(), f_}; }
  auto end() const { return __transform_iterator<__iterator_of<R>, F>{r_.end(), f_}; }
  size_t size() const requires requires(const R& r) { r.size(); } { return r_.size(); }
};
template <class I> struct __reverse_iterator {
  I at_;
  auto& operator*() const requires (!__gives_values<I>) { I before = at_; --before; return *before; }
  auto operator*() const requires (__gives_values<I>) { I before = at_; --before; return *before; }
  __reverse_iterator& operator++() { --at_; return *this; }
  __reverse_iterator& operator--() { ++at_; return *this; }
};
template <class I> inline constexpr bool __gives_values<__reverse_iterator<I>> = __gives_values<I>;
${bidirectional('__reverse_iterator', 'I')}
template <class R> struct __reversed : __view_base {
  R r_;
  __reversed(R r) : r_(r) {}
  auto begin() const { return __reverse_iterator<__iterator_of<R>>{r_.end()}; }
  auto end() const { return __reverse_iterator<__iterator_of<R>>{r_.begin()}; }
  size_t size() const requires requires(const R& r) { r.size(); } { return r_.size(); }
};
template <class R, class N> struct __dropped : __view_base {
  R r_; N n_;
  __dropped(R r, N n) : r_(r), n_(n) {}
  auto begin() const { auto at = r_.begin(); auto last = r_.end(); for (N i = 0; i < n_ && at != last; ++i) ++at; return at; }
  auto end() const { return r_.end(); }
  size_t size() const requires requires(const R& r) { r.size(); } { size_t all = r_.size(); return all > size_t(n_) ? all - n_ : 0; }
};
template <class R, class N> struct __taken : __view_base {
  R r_; N n_;
  __taken(R r, N n) : r_(r), n_(n) {}
  auto begin() const { return r_.begin(); }
  auto end() const { auto at = r_.begin(); auto last = r_.end(); for (N i = 0; i < n_ && at != last; ++i) ++at; return at; }
  size_t size() const requires requires(const R& r) { r.size(); } { size_t all = r_.size(); return all < size_t(n_) ? all : n_; }
};
template <class R, class F> struct __taken_while : __view_base {
  R r_; F f_;
  __taken_while(R r, F f) : r_(r), f_(f) {}
  auto begin() const { return r_.begin(); }
  auto end() const { auto at = r_.begin(); auto last = r_.end(); while (at != last && f_(*at)) ++at; return at; }
};
template <class R, class F> struct __dropped_while : __view_base {
  R r_; F f_;
  __dropped_while(R r, F f) : r_(r), f_(f) {}
  auto begin() const { auto at = r_.begin(); auto last = r_.end(); while (at != last && f_(*at)) ++at; return at; }
  auto end() const { return r_.end(); }
};
struct __first_of { template <class P> auto operator()(const P& p) const { return p.first; } };
struct __second_of { template <class P> auto operator()(const P& p) const { return p.second; } };
template <class R> struct __keys : __transformed<R, __first_of> { __keys(R r) : __transformed<R, __first_of>(r, __first_of{}) {} };
template <class R> struct __values : __transformed<R, __second_of> { __values(R r) : __transformed<R, __second_of>(r, __second_of{}) {} };
${maker('filter', '__filtered')}
${maker('transform', '__transformed')}
${maker('take', '__taken')}
${maker('drop', '__dropped')}
${maker('take_while', '__taken_while')}
${maker('drop_while', '__dropped_while')}
${plain('reverse', '__reversed')}
${plain('keys', '__keys')}
${plain('values', '__values')}
}
${['filter', 'transform', 'take', 'drop', 'take_while', 'drop_while'].map(piped).join('')}
${['reverse', 'keys', 'values'].map(plainPiped).join('')}
template <class A, class B> requires (views::__isMaker<A> && views::__isMaker<B>) auto operator|(A a, B b) { return views::__composed<A, B>(a, b); }
template <class R, class A, class B> requires (!views::__isMaker<R>) auto operator|(R&& r, views::__composed<A, B> c) { return r | c.a_ | c.b_; }
}`;
