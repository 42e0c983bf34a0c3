import { check } from './parse-text';

describe('declarations', () => {
  it('reads arithmetic types however their words are ordered', () => {
    check(
      'unsigned a; long unsigned int b; short c; signed char d;',
      '(var a unsigned int) (var b unsigned long) (var c short) (var d signed char)',
    );
    check(
      'long long int a; int long unsigned long b; long double c;',
      '(var a long long) (var b unsigned long long) (var c long double)',
    );
    check(
      'int const volatile a = 1; wchar_t b; __int128 c;',
      '(var a const volatile int = 1) (var b wchar_t) (var c __int128)',
    );
    check('const unsigned char* const* a;', '(var a *const *const unsigned char)');
  });

  it('reads declarators from the inside out', () => {
    check('int* a[3];', '(var a [3]*int)');
    check('int (*a)[3];', '(var a *[3]int)');
    check('int a[2][3];', '(var a [2][3]int)');
    check('int (*a)(float, int*);', '(var a *fn(float, *int) int)');
    check('void (*a[4])(int);', '(var a [4]*fn(int) void)');
    check('float (*g(int))(char);', '(fn g (int) *fn(char) float)');
    check('int (&a)[4] = b;', '(var a &[4]int = b)');
    check('int A::*a;', '(var a ::*int)');
    check('int (A::*a)(float);', '(var a ::*fn(float) int)');
    check('float* __restrict__ a;', '(var restrict a *restrict float)');
    check('float* const __restrict a = 0;', '(var restrict a const *restrict float = 0)');
  });

  it('reads functions', () => {
    check('int g();', '(fn g () int)');
    check('int g(void);', '(fn g () int)');
    check('int g(int, float b = 1.f, ...);', '(fn g (int, b: float = 1f, ...) int)');
    check('void g(int a[], float (*h)(int), int (&r)[4]);', '(fn g (a: []int, h: *fn(int) float, r: &[4]int) void)');
    check('auto g(int a) -> decltype(a) { return a; }', '(fn g (a: int) decltype(a) {(return a)})');
    check('void g() noexcept(true);', '(fn g () void)');
    check('main() { }', '(fn main () int {})');
    check('static inline constexpr int g() { return 1; }', '(fn static constexpr inline g () int {(return 1)})');
    check('[[nodiscard]] int g();', '(fn g () int)');
    check('int g() __attribute__((noinline));', '(fn noinline g () int)');
    check('struct S* g(struct S a);', '(fn g (a: S) *S)');
    check('void n::g(int) { }', '(fn n::g (int) void {})');
    check(
      'bool operator==(A a, A b); A& operator[](int); void operator()(); void* operator new(size_t);',
      '(fn operator== (a: A, b: A) bool) (fn operator[] (int) &A) (fn operator() () void) (fn operator new (size_t) *void)',
    );
    check('long double operator""_m(long double x);', '(fn operator""_m (x: long double) long double)');
  });

  it('reads records', () => {
    check('struct A; class B; union C;', '(struct A) (class B) (union C)');
    check(
      'struct A { int a, *b; float c[4] = {}; int d{3}; };',
      '(struct A {(var a int) (var b *int) (var c [4]float = {}) (var d int {3})})',
    );
    check(
      'struct A { unsigned a : 3, : 5, b : 24; };',
      '(struct A {(var a unsigned int :3) (var _ unsigned int :5) (var b unsigned int :24)})',
    );
    check('class A : public B, virtual private C<int> { };', '(class A : B, C<int> {})');
    check('struct A { public: int a; private: int b; };', '(struct A {(var a int) (var b int)})');
    check(
      'struct A { union { int a; float b; }; struct { int c; } d; };',
      '(struct A {(union {(var a int) (var b float)}) (var d (struct {(var c int)}))})',
    );
    check(
      'struct A { static const int N = 4; typedef int T; using U = float; enum { X }; };',
      '(struct A {(var static N const int = 4) (alias T int) (alias U float) (enum {X})})',
    );
    check('struct alignas(16) A { float4 a; };', '(struct align(16) A {(var a float4)})');
    check('struct __align__(8) A { int a; };', '(struct align(8) A {(var a int)})');
    check('struct __attribute__((packed)) A { int a; };', '(struct packed A {(var a int)})');
    check('struct A { int a; } b, *c;', '(var b (struct A {(var a int)})) (var c *(struct A {(var a int)}))');
    check('struct A final : B { };', '(struct A : B {})');
    check(
      'struct A { friend class B; friend A operator+(A a, A b) { return a; } };',
      '(struct A {(fn friend operator+ (a: A, b: A) A {(return a)})})',
    );
  });

  it('reads methods', () => {
    check(
      'struct A { A(); A(int a) : b(a), c{a} { } explicit A(float); ~A() = default; int b, c; };',
      '(struct A {(fn A () void) (fn A (a: int) void : b(a) c({a}) {}) (fn A (float) void) (fn ~A () void) (var b int) (var c int)})',
    );
    check(
      'struct A { int g() const { return 1; } virtual void h() = 0; A& operator=(const A&) = delete; };',
      '(struct A {(fn g () const int {(return 1)}) (fn h () void) (fn operator= (&const A) &A)})',
    );
    check(
      'struct A { operator float() const; explicit operator bool(); operator const int*(); };',
      '(struct A {(fn operator float () const float) (fn operator bool () bool) (fn operator const int * () *const int)})',
    );
    check(
      'struct A : B { A() : B<int>(1), x(2) {} void g() override final; };',
      '(struct A : B {(fn A () void : B<int>(1) x(2) {}) (fn g () void)})',
    );
    check(
      'A::A(int a) : b(a) { } A::~A() { } A::operator int() { return 1; }',
      '(fn A::A (a: int) void : b(a) {}) (fn A::~A () void {}) (fn A::operator int () int {(return 1)})',
    );
    check('int A::x = 3; const float A::y[2] = {1, 2};', '(var A::x int = 3) (var A::y [2]const float = {1 2})');
  });

  it('reads enums', () => {
    check('enum A { x, y = 2, z = y << 1, };', '(enum A {x y=2 z=(<< y 1)})');
    check('enum class A : unsigned char { x };', '(enum-class A : unsigned char {x})');
    check('enum { x };', '(enum {x})');
    check('enum A : int; enum A a;', '(enum A : int) (var a A)');
    check('typedef enum { x, y } A; A a;', '(alias A (enum {x y})) (var a A)');
  });

  it('reads aliases', () => {
    check('typedef unsigned int uint, *puint;', '(alias uint unsigned int) (alias puint *unsigned int)');
    check(
      'typedef struct { float x; } P; typedef int A[3]; typedef void (*F)(int);',
      '(alias P (struct {(var x float)})) (alias A [3]int) (alias F *fn(int) void)',
    );
    check('typedef struct Q { struct Q* next; } Q;', '(alias Q (struct Q {(var next *Q)}))');
    check('using A = int (*)(float); using B = float[4];', '(alias A *fn(float) int) (alias B [4]float)');
  });

  it('reads namespaces', () => {
    check(
      'namespace a { int x; } namespace a::b { int y; } namespace { int z; }',
      '(namespace a {(var x int)}) (namespace a {(namespace b {(var y int)})}) (namespace {(var z int)})',
    );
    check(
      'inline namespace v1 { } namespace c = a::b; using namespace a; using a::x;',
      '(inline namespace v1 {}) (namespace c = a::b) (using namespace a) (using a::x)',
    );
    check('extern "C" { int x; void g(); } extern "C" void h();', '(var x int) (fn g () void) (fn extern h () void)');
  });

  it('reads variables', () => {
    check('int a = 1, b(2), c{3}, *d = &a;', '(var a int = 1) (var b int (2)) (var c int {3}) (var d *int = (& a))');
    check(
      'extern int a; static float b[] = {1, 2}; constexpr int c = 4;',
      '(var extern a int) (var static b []float = {1 2}) (var constexpr c int = 4)',
    );
    check('std::vector<std::pair<int, float>> a;', '(var a std::vector<std::pair<int, float>>)');
    check('alignas(float4) char a[16];', '(var align(float4) a [16]char)');
    check('int a __attribute__((aligned(16))), b;', '(var align(16) a int) (var b int)');
    check('decltype(a) b; decltype(auto) c = d; auto e = 1;', '(var b decltype(a)) (var c auto = d) (var e auto = 1)');
    check('unsigned long long a = 0xffULL;', '(var a unsigned long long = 255ull)');
    check('std::function<void(int, float*)> a;', '(var a std::function<fn(int, *float) void>)');
    check('std::vector<std::function<void()>> a;', '(var a std::vector<std::function<fn() void>>)');
    check('static_assert(true); ;', '(static_assert)');
  });
});
