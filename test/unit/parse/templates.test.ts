import { check, checkBody } from './parse-text';

describe('templates', () => {
  it('reads parameters of every kind', () => {
    check(
      'template <typename T, class U = float> void g(T, U);',
      '(fn <typename T, typename U = float> g (T, U) void)',
    );
    check(
      'template <int N = 4, bool B = (1 > 0), typename T::X V> void g();',
      '(fn <int N = 4, bool B = (> 1 0), T::X V> g () void)',
    );
    check(
      'template <typename... Ts, int... Ns> void g(Ts... a);',
      '(fn <typename... Ts, int... Ns> g (a: Ts...) void)',
    );
    check(
      'template <template <typename, int> class C, template <class...> typename D = E> void g();',
      '(fn <template C, template D = E> g () void)',
    );
    check('template <typename, int> void g();', '(fn <typename, int> g () void)');
    check('template <auto V, const char* S> void g();', '(fn <auto V, *const char S> g () void)');
    check(
      'template <typename T, std::enable_if_t<sizeof(T) == 4, int> = 0> void g();',
      '(fn <typename T, std::enable_if_t<(== (sizeof T) 4), int> = 0> g () void)',
    );
    check(
      'template <typename T, std::enable_if_t<(N > 1)>* = nullptr> void g();',
      '(fn <typename T, *std::enable_if_t<(> N 1)> = 0:nullptr> g () void)',
    );
    check(
      'template <typename T, typename = std::enable_if_t<A<T>::value && B<T>::value>> void g();',
      '(fn <typename T, typename = std::enable_if_t<(&& A<T>::value B<T>::value)>> g () void)',
    );
  });

  it('reads what can be a template', () => {
    check('template <typename T> struct A { T x; };', '(struct <typename T> A {(var x T)})');
    check('template <typename T> using P = T*;', '(alias <typename T> P *T)');
    check('template <int N> constexpr int twice = 2 * N;', '(var constexpr <int N> twice int = (* 2 N))');
    check(
      'template <typename T> __global__ void k(T* a) { a[0] = T(1); }',
      '(fn global <typename T> k (a: *T) void {(= (index a 0) (cast:functional T 1))})',
    );
    check(
      'template <typename T> template <typename U> void A<T>::g(U u) { }',
      '(fn <typename T, typename U> A<T>::g (u: U) void {})',
    );
    check(
      'struct A { template <typename T> A(T); template <typename T> T get() const; };',
      '(struct A {(fn <typename T> A (T) void) (fn <typename T> get () const T)})',
    );
    check('template <typename T> A<T>::A(int n) : x(n) { }', '(fn <typename T> A<T>::A (n: int) void : x(n) {})');
    check(
      'template <typename T> struct A { A(); A(const A<T>&); ~A(); };',
      '(struct <typename T> A {(fn A () void) (fn A (&const A<T>) void) (fn ~A () void)})',
    );
  });

  it('reads specialisations and instantiations', () => {
    check(
      'template <typename T> struct A; template <> struct A<int> { }; template <typename T> struct A<T*> { };',
      '(struct <typename T> A) (struct <> A<int> {}) (struct <typename T> A<*T> {})',
    );
    check('template <> void g<4>(int) { }', '(fn <> g<4> (int) void {})');
    check(
      'template void g<float>(float*); template class A<int>; extern template struct A<char>;',
      '(instance (fn g<float> (*float) void)) (instance (class A<int>)) (instance (struct A<char>))',
    );
    check('template __global__ void k<4>(int*);', '(instance (fn global k<4> (*int) void))');
  });

  it('reads guides as functions of a name that nobody writes', () => {
    check(
      'template <class T> struct A { A(T*, int); }; template <class T> A(T*, int) -> A<T>; A(float) -> A<int>;',
      '(struct <typename T> A {(fn A (*T, int) void)}) (fn <typename T> __guide_A (*T, int) A<T>) (fn __guide_A (float) A<int>)',
    );
  });

  it('reads template arguments', () => {
    checkBody('A<int, 4, float*> x;', '(var x A<int, 4, *float>)');
    checkBody('A<B<C<int>>> x;', '(var x A<B<C<int>?>?>)');
    checkBody('A<B<C<D<int>>>> x;', '(var x A<B<C<D<int>?>?>?>)');
    checkBody('A<(a > b)> x; A<a + 1, sizeof(int)> y;', '(var x A<(> a b)>); (var y A<(+ a 1), (sizeof int)>)');
    checkBody(
      'A<void(int)> x; A<int[3]> y; A<const T&> z;',
      '(var x A<fn(int) void>); (var y A<[3]int>); (var z A<&const T>)',
    );
    checkBody('A<void(T[])> x; A<auto(int)->float> y;', '(var x A<fn([]T) void>); (var y A<fn(int) float>)');
    check(
      'template <typename T, typename F = auto(T, T)->void> void g(F f);',
      '(fn <typename T, typename F = fn(T, T) void> g (f: F) void)',
    );
    check('template <class C, class T> struct A<T C::*> {};', '(struct <typename C, typename T> A<::*T> {})');
    checkBody('A<> x; A<Ts...> y; A<sizeof...(Ts)> z;', '(var x A<>); (var y A<Ts?...>); (var z A<(sizeof... Ts)>)');
    checkBody('A<T, T::value, typename T::type> x;', '(var x A<T, T::value?, T::type>)', 'struct T {};');
    checkBody('A<n, m> x; A<!B> y; A<-1> z;', '(var x A<n, m?>); (var y A<(! B)>); (var z A<(- 1)>)', 'int n;');
    checkBody('A<1 << 2> x;', '(var x A<(<< 1 2)>)');
    checkBody("A<'a', true, nullptr> x;", '(var x A<97:char, 1:bool, 0:nullptr>)');
  });

  it('reads dependent names', () => {
    check(
      'template <typename T> void g() { typename T::X a; T::template B<int> b; typename T::X(1); }',
      '(fn <typename T> g () void {(var a T::X); (var b T::B<int>); (cast:functional T::X 1)})',
    );
    check(
      'template <typename T> void g() { x = T::n < 3; y = A<T>::n * 2; a.template h<T>(); }',
      '(fn <typename T> g () void {(= x (< T::n 3)); (= y (* A<T>::n 2)); (call (. a h<T>))})',
    );
  });

  it('tells comparisons inside template arguments from their end', () => {
    checkBody('A<(n > 3)> x; A<n >= 3, 4> y;', '(var x A<(> n 3)>); (var y A<(>= n 3), 4>)', 'int n;');
    checkBody('x = A<n >= 3 ? 1 : 2>::v;', '(= x A<(? (>= n 3) 1 2)>::v)', 'int n; template <int> struct A;');
    checkBody('x = Shape<Int<!s ? n : m>, int>{};', '(= x (cast:braced Shape<Int<(? (! s) n m)>?, int> {}))');
    checkBody('x = is_same<T, int> || is_same<T, float>;', '(= x (|| is_same<T?, int> is_same<T?, float>))');
    checkBody('g<N == 3 ? 152 : 232>();', '(call g<(? (== N 3) 152 232)>)');
    checkBody(
      'w::g<N == 3 ? 152 : 232>(); x = a < b ? c : d > (e);',
      '(call w::g<(? (== N 3) 152 232)>); (= x (? (< a b) c (> d e)))',
    );
    check(
      'template <class T, T b, T e> using A = typename d::r<T, seq<T, (e - b > 0) ? (e - b) : 0>, b>::type;',
      '(alias <typename T, T b, T e> A d::r<T, seq<T, (? (> (- e b) 0) (- e b) 0)>?, b>::type)',
    );
    check('using A = seq<T, (e - b > 0) ? (e - b) : 0>;', '(alias A seq<T?, (? (> (- e b) 0) (- e b) 0)>)');
    checkBody('x = a ? b<T> : 0;', '(= x (? a b<T?> 0))');
    check(
      'template <class T, int N, bool B = size<T>::v >= 32> struct A;',
      '(struct <typename T, int N, bool B = (>= size<T>::v 32)> A)',
    );
    check(
      'using A = typename conditional<n >= D::k, int, float>::type;',
      '(alias A conditional<(>= n D::k), int, float>::type)',
    );
    check('struct S : Base<T, u ? 1 : 2> { };', '(struct S : Base<T?, (? u 1 2)> {})');
  });

  it('reads members of a decltype', () => {
    checkBody('x = decltype(f(t))::value;', '(= x decltype((call f t))::value)');
    checkBody('decltype(t)::type x;', '(var x decltype(t)::type)');
    checkBody('x = typename decltype(t)::Layout{};', '(= x (cast:braced decltype(t)::Layout {}))');
    checkBody('x = g<decltype(t)::value>(y);', '(= x (call g<decltype(t)::value?> y))');
    checkBody('if constexpr (decltype(t)::value == 3) ;', '(if-constexpr (== decltype(t)::value 3) _)');
  });

  it('reads constructors that name their template arguments', () => {
    check(
      'template <class T> struct A { explicit A<T>(int n) : n(n) {} A<T>& g(); int n; };',
      '(struct <typename T> A {(fn A (n: int) void : n(n) {}) (fn g () &A<T>) (var n int)})',
    );
  });

  it('reads initialisers of bases whose argument is a template', () => {
    check(
      'template <class T> struct A : B<C<T>> { A(int n) : B<C<T>>{C<T>{}}, n{n} {} int n; };',
      '(struct <typename T> A : B<C<T>?> {(fn A (n: int) void : B<C<T>?>({(cast:braced C<T> {})}) n({n}) {}) (var n int)})',
    );
  });

  it('reads fold expressions', () => {
    check(
      'template <typename... T> int g(T... t) { return (t + ...); }',
      '(fn <typename... T> g (t: T...) int {(return (fold:right + t))})',
    );
    check(
      'template <typename... T> int g(T... t) { return (... + t); }',
      '(fn <typename... T> g (t: T...) int {(return (fold:left + t))})',
    );
    check(
      'template <typename... T> int g(T... t) { return (0 + ... + t); }',
      '(fn <typename... T> g (t: T...) int {(return (fold:left + t 0))})',
    );
    check(
      'template <typename... T> int g(T... t) { return (t + ... + 0); }',
      '(fn <typename... T> g (t: T...) int {(return (fold:right + t 0))})',
    );
    check(
      'template <typename... T> void g(T... t) { (h(t), ...); }',
      '(fn <typename... T> g (t: T...) void {(fold:right , (call h t))})',
    );
    check(
      'template <int... N> int g() { return (N * ... * 2); }',
      '(fn <int... N> g () int {(return (fold:right * N 2))})',
    );
  });

  it('reads concepts as templates of truths, constrained autos as parameters', () => {
    check(
      'template <class T> concept C = requires(T t) { t.f(); typename T::u; };',
      '(var constexpr <typename T> C const bool = (requires 2))',
    );
    check(
      'int f(std::integral auto x, auto&& y);',
      '(fn <typename auto#0, typename auto#1> f (x: auto#0, y: &&auto#1) int)',
    );
  });

  it('reads constraints', () => {
    check('template <typename T> requires A<T> && (B<T> || C) void g(T);', '(fn <typename T> g (T) void)');
    check('template <typename T> void g(T) requires (sizeof(T) == 4);', '(fn <typename T> g (T) void)');
  });
});
