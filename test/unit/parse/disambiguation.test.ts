import { check, checkBody } from './parse-text';

describe('what a name is decides how a line is read', () => {
  it('takes a declaration with arguments as a variable, one with parameters as a function', () => {
    checkBody('int n; T x(n);', '(var n int); (var x T (n))');
    checkBody('dim3 grid(blocks, 2);', '(var grid dim3 (blocks 2))');
    checkBody('Foo y(n * 2);', '(var y Foo ((* n 2)))');
    checkBody('int n; Foo y(n);', '(var n int); (var y Foo (n))');
    checkBody('float3 v(float(a), 0);', '(var v float3 ((cast:functional float a) 0))');
    checkBody('int a, b; T x(a * b);', '(var a int) (var b int); (var x T ((* a b)))');
    checkBody('T x(int a);', '(fn x (a: int) T)');
    checkBody('T x();', '(fn x () T)');
    checkBody(
      'typename A::It it(typename A::It::Params{p.s()}, p.q + 1, {n, 2}, t);',
      '(var it A::It ((cast:braced A::It::Params {(call (. p s))}) (+ (. p q) 1) {n 2} t))',
    );
    checkBody('Acc acc(Params{1, 1}, n);', '(var acc Acc ((cast:braced Params {1 1}) n))');
    checkBody('extern void g(float*, dim3);', '(fn extern g (*float, dim3) void)');
    check('Foo g(Bar);', '(fn g (Bar) Foo)');
    check('Foo g(Bar* a, Baz& b);', '(fn g (a: *Bar, b: &Baz) Foo)');
    check('int n; Foo g(n);', '(var n int) (var g Foo (n))');
    check('void g(Bar);', '(fn g (Bar) void)');
  });

  it('tells (T)(e) from a call', () => {
    checkBody('x = (T)(e);', '(= x (cast:c T e))', 'struct T {};');
    checkBody('x = (half)(e);', '(= x (cast:c half e))');
    checkBody('x = (my_type_t)(e);', '(= x (cast:c my_type_t e))');
    checkBody('x = (Unknown)(e);', '(= x (cast:c Unknown e))');
    checkBody('int g; x = (g)(e);', '(var g int); (= x (call g e))');
    checkBody('x = (std::max)(a, b);', '(= x (call std::max a b))');
  });

  it('tells (T)-1 from a subtraction', () => {
    checkBody('x = (T)-1;', '(= x (cast:c T (- 1)))', 'typedef unsigned T;');
    checkBody('x = (size_t)-1;', '(= x (cast:c size_t (- 1)))');
    checkBody('int n; x = (n)-1;', '(var n int); (= x (- n 1))');
    checkBody('x = (N)-1;', '(= x (- N 1))');
    checkBody('x = (N)*p;', '(= x (* N p))');
    checkBody('x = (T)*p;', '(= x (cast:c T (* p)))', 'typedef unsigned T;');
    checkBody('x = (T*)&p;', '(= x (cast:c *T (& p)))');
    checkBody('Dtype y = 0; x = (Dtype)-1;', '(var y Dtype = 0); (= x (cast:c Dtype (- 1)))');
    checkBody('x = (a)[1];', '(= x (index a 1))');
    checkBody('x = (a) ? b : c;', '(= x (? a b c))');
  });

  it('tells a < b && c > d from a template', () => {
    checkBody('int a; x = a < b && c > d;', '(var a int); (= x (&& (< a b) (> c d)))');
    checkBody('x = a < b && c > d;', '(= x (&& (< a b) (> c d)))');
    checkBody('x = a < b && c > (d);', '(= x (&& (< a b) (> c d)))');
    checkBody('if (i < n || j > (m)) ;', '(if (|| (< i n) (> j m)) _)');
    checkBody('int a, c; g(a < b, c > (d));', '(var a int) (var c int); (call g (< a b) (> c d))');
    checkBody('x = p.min < b && c > (d);', '(= x (&& (< (. p min) b) (> c d)))');
    checkBody('x = t < (b) ? c : d > (e);', '(= x (? (< t b) c (> d e)))');
    checkBody('x = g<3>(a);', '(= x (call g<3> a))', 'template <int N> int g(int);');
    checkBody('x = g<int>(a);', '(= x (call g<int> a))');
    checkBody('x = g<a && b>(c);', '(= x (call g<(&& a b)> c))', 'template <bool B> int g(int);');
    checkBody('x = threadIdx.x < 32 && threadIdx.y > (n);', '(= x (&& (< (. threadIdx x) 32) (> (. threadIdx y) n)))');
    checkBody('for (int i = 0; i<n>>1; i++) ;', '(for (var i int = 0); (< i (>> n 1)); (post++ i) _)');
  });

  it('tells p.x < static_cast<T>(n) from a method of a template', () => {
    checkBody('x = p.x < static_cast<int>(n);', '(= x (< (. p x) (cast:static int n)))');
    checkBody('x = p->x < reinterpret_cast<long>(n) ? a : b;', '(= x (? (< (-> p x) (cast:reinterpret long n)) a b))');
    checkBody('x = p.get<int>(n);', '(= x (call (. p get<int>) n))');
  });

  it('takes T * name as a declaration unless T is a value', () => {
    checkBody('Foo* a = b;', '(var a *Foo = b)');
    checkBody('Foo *a, b;', '(var a *Foo) (var b Foo)');
    checkBody('Foo& a = b;', '(var a &Foo = b)');
    checkBody('const Foo& a = b;', '(var a &const Foo = b)');
    checkBody('Foo const* a = b;', '(var a *const Foo = b)');
    checkBody('Foo&& a = b;', '(var a &&Foo = b)');
    checkBody('ok && g(a);', '(&& ok (call g a))');
    checkBody('int Foo; Foo * a;', '(var Foo int); (* Foo a)');
    checkBody('Foo<3> a;', '(var a Foo<3>)');
    checkBody('ns::Foo<T>::Bar* a = 0;', '(var a *ns::Foo<T?>::Bar = 0)');
    checkBody('a * b + c;', '(+ (* a b) c)');
    checkBody('f(a * b);', '(call f (* a b))');
    checkBody('a[i] * b;', '(* (index a i) b)');
  });

  it('hides outer names with inner ones', () => {
    checkBody('int T; T * a;', '(var T int); (* T a)', 'struct T {};');
    checkBody('{ int T; } T * a;', '{(var T int)}; (var a *T)', 'struct T {};');
    check('struct T {}; void g(int T) { T * a; }', '(struct T {}) (fn g (T: int) void {(* T a)})');
    check(
      'template <int T> void g() { x = (T)-1; } struct T {};',
      '(fn <int T> g () void {(= x (- T 1))}) (struct T {})',
    );
  });

  it('knows the names of namespaces, bases and records', () => {
    checkBody('n::T * a;', '(var a *n::T)', 'namespace n { struct T {}; }');
    checkBody('x = n::v < 3 && 4 > (a);', '(= x (&& (< n::v 3) (> 4 a)))', 'namespace n { int v; }');
    checkBody('x = (T)-1;', '(= x (cast:c T (- 1)))', 'namespace n { struct T {}; } using namespace n;');
    checkBody('x = (T)-1;', '(= x (cast:c T (- 1)))', 'namespace n { struct T {}; } using n::T;');
    checkBody('x = (T)-1;', '(= x (cast:c T (- 1)))', 'namespace { struct T {}; }');
    check(
      'struct B { typedef int T; int v; }; struct D : B { void g() { v < 1 && 2 > (v); x = (T)-1; } };',
      '(struct B {(alias T int) (var v int)}) (struct D : B {(fn g () void {(&& (< v 1) (> 2 v)); (= x (cast:c T (- 1)))})})',
    );
    check(
      'struct A { int v; void g(); }; void A::g() { v < 1 && 2 > (v); }',
      '(struct A {(var v int) (fn g () void)}) (fn A::g () void {(&& (< v 1) (> 2 v))})',
    );
    check(
      'struct A { void g() { v < 1 && 2 > (v); } int v; };',
      '(struct A {(fn g () void {(&& (< v 1) (> 2 v))}) (var v int)})',
    );
  });

  it('reads macros of unread headers as a person would', () => {
    checkBody('f(FILE_LINE " failed" "a");', '(call f " faileda")');
    check('FOO_API void g(int a);', '(fn g (a: int) void)');
    check('FOO_API int* g();', '(fn g () *int)');
    check('FOO_INLINE Bar g() { }', '(fn g () Bar {})');
    check('FOO_API std::string g();', '(fn g () std::string)');
    check('static FOO_INLINE void g() {}', '(fn static g () void {})');
    check('FOO_BOUNDS(256) void g() {}', '(fn g () void {})');
    check('void FOO_CALL g() {}', '(fn g () void {})');
    check('__global__ void FOO_BOUNDS(256) g(int a) {}', '(fn global g (a: int) void {})');
    check('struct FOO_API A { int a; };', '(struct A {(var a int)})');
    check('typedef struct NODE_T Node;', '(alias Node NODE_T)');
    check('struct NODE_T { int a; }; struct NODE_T head;', '(struct NODE_T {(var a int)}) (var head NODE_T)');
    check('void g() FOO_NOEXCEPT;', '(fn g () void)');
    checkBody('FOO_SHARED float s[4];', '(var s [4]float)');
    checkBody('FOO_UNROLL for (;;) ;', '_; (for _; _; _ _)');
    checkBody('FOO_SYNC\n a = 1;', '_; (= a 1)');
    checkBody('FOO_CHECK(x)\n a = 1;', '(call FOO_CHECK x); (= a 1)');
    checkBody('FOO_CHECK(x)\n int a;', '(call FOO_CHECK x); (var a int)');
    checkBody('if (a) FOO_CHECK(x)\n else b = 1;', '(if a (call FOO_CHECK x) else (= b 1))');
  });
});
