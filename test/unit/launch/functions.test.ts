import assert from 'node:assert/strict';
import { check, checkMain, linkedLaunchesOf, show } from './support';

describe('host functions', () => {
  it('are inlined with their arguments', () => {
    check(
      'int up(int a, int b) { return (a + b - 1) / b; } int main() { k<<<up(1000, 256), 256>>>(); }',
      'k <<<(4,1,1),(256,1,1),0>>>()',
    );
    check(
      'void run(float* p, int n, int b = 128) { k<<<n / b, b>>>(p, n); } int main() { float* d; cudaMalloc(&d, 4096); run(d, 1024); }',
      'k <<<(8,1,1),(128,1,1),0>>>(d, 1024)',
    );
    check(
      'void set(int& a, int* b) { a = 7; *b = 9; } int main() { int x, y; set(x, &y); k<<<x, y>>>(); }',
      'k <<<(7,1,1),(9,1,1),0>>>()',
    );
    check(
      'constexpr int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); } int main() { k<<<1, fact(5)>>>(); }',
      'k <<<(1,1,1),(120,1,1),0>>>()',
    );
    check(
      'dim3 grid(int w, int h) { return dim3((w + 15) / 16, (h + 15) / 16); } int main() { k<<<grid(100, 50), dim3(16, 16)>>>(); }',
      'k <<<(7,4,1),(16,16,1),0>>>()',
    );
  });
  it('take a null pointer for pointers, and for no number', () => {
    const forwarded =
      'template <class K, class... A> void go(K f, unsigned n, A... a) { go(nullptr, "", f, n, a...); }';
    check(
      `template <class K, class... A> void go(const int* log, const char* name, K f, unsigned n, A... a) { f<<<n, 32>>>(a...); } ${forwarded} int main() { go(k, 8, 1.5f, 2); }`,
      'k <<<(8,1,1),(32,1,1),0>>>(1.5, 2)',
    );
    const both = 'void run(int n) { k<<<n, 32>>>(); } void run(float* p) { k<<<1, 64>>>(p); }';
    check(
      `${both} int main() { float* none = nullptr; run(nullptr); run(none); run(7); }`,
      'k <<<(7,1,1),(32,1,1),0>>>()',
      'k <<<(1,1,1),(64,1,1),0>>>(0)',
    );
    check(
      'void run(bool b) { k<<<1, b ? 32 : 64>>>(); } int main() { float* none = nullptr; run(none); auto p = nullptr; k<<<1, p == none ? 96 : 1>>>(p); }',
      'k <<<(1,1,1),(64,1,1),0>>>()',
      'k <<<(1,1,1),(96,1,1),0>>>(0)',
    );
  });
  it('make objects of what they are given: by a constructor, as a kernel and a result do', () => {
    const record = 'struct Range { int from, to; Range(int n) : from(0), to(2 * n) {} };';
    check(
      `${record} __global__ void each(Range r, int n); int main() { each<<<1, 32>>>(8, 3); }`,
      'each <<<(1,1,1),(32,1,1),0>>>({from: 0, to: 16}, 3)',
    );
    check(
      `${record} template <class R> __global__ void each(R r, int n); int main() { each<Range><<<1, 32>>>(8, 3); each<int><<<1, 64>>>(8, 3); }`,
      'each<Range> <<<(1,1,1),(32,1,1),0>>>({from: 0, to: 16}, 3)',
      'each<int> <<<(1,1,1),(64,1,1),0>>>(8, 3)',
    );
    check(
      `${record} Range half(int n) { return n / 2; } int main() { k<<<half(8).to, 32>>>(); }`,
      'k <<<(8,1,1),(32,1,1),0>>>()',
    );
  });
  it('are called through std::invoke and std::apply', () => {
    check(
      `struct K { void (*f)(int, int); dim3 g, b; template <class T> void operator()(T&& t) { std::apply([this](auto... a) { f<<<g, b>>>(a...); }, std::forward<T>(t)); } };
       __global__ void pair(int a, int b) {} void go(int n) { k<<<n, 32>>>(n); }
       int main() { K run{pair, 3, 64}; run(std::make_tuple(1, 2)); std::invoke(go, 5); std::apply(go, std::make_tuple(6)); std::invoke([](int n) { k<<<1, n>>>(n); }, 96); }`,
      'pair <<<(3,1,1),(64,1,1),0>>>(1, 2)',
      'k <<<(5,1,1),(32,1,1),0>>>(5)',
      'k <<<(6,1,1),(32,1,1),0>>>(6)',
      'k <<<(1,1,1),(96,1,1),0>>>(96)',
    );
  });
  it('a method of a base by its name, where the base has a constructor too', () => {
    check(
      `struct Step { int b; explicit Step(int b) : b(b) {} virtual void go(int n) { k<<<n / b, b>>>(n); } };
       struct Twice : Step { Twice() : Step(32) {} void go(int n) override { Step::go(n); Step::go(n / 2); } };
       int main() { Twice t; t.go(128); }`,
      'k <<<(4,1,1),(32,1,1),0>>>(128)',
      'k <<<(2,1,1),(32,1,1),0>>>(64)',
    );
  });
  it('reach objects through smart pointers, and the class that they are of', () => {
    const job = 'struct Job { int n, b; Job(int n, int b) : n(n), b(b) {} void go(int m) { k<<<n / b, b>>>(m); } };';
    check(
      `${job} int main() { auto a = std::make_unique<Job>(640, 64); a->go(1); auto c = std::make_shared<Job>(96, 32); c->go(2); std::unique_ptr<Job> d; d.reset(new Job(500, 50)); (*d).go(d->n); }`,
      'k <<<(10,1,1),(64,1,1),0>>>(1)',
      'k <<<(3,1,1),(32,1,1),0>>>(2)',
      'k <<<(10,1,1),(50,1,1),0>>>(500)',
    );
    check(
      `struct Step { virtual void go(int n) = 0; }; struct Wide : Step { int b; Wide(int b) : b(b) {} void go(int n) override { k<<<n / b, b>>>(n); } };
struct Flat : Step { void go(int n) override { k<<<1, 256>>>(n); } };
int main() { std::vector<std::unique_ptr<Step>> all; all.push_back(std::make_unique<Wide>(32)); all.emplace_back(new Flat()); for (auto& each : all) each->go(320); }`,
      'k <<<(10,1,1),(32,1,1),0>>>(320)',
      'k <<<(1,1,1),(256,1,1),0>>>(320)',
    );
  });
  it('keep what lambdas copy as it was when they were made', () => {
    check(
      'int main() { std::vector<std::function<void()>> jobs; for (int i = 1; i < 3; i++) jobs.push_back([=] { k<<<i, 32>>>(i); }); for (auto& job : jobs) job(); }',
      'k <<<(1,1,1),(32,1,1),0>>>(1)',
      'k <<<(2,1,1),(32,1,1),0>>>(2)',
    );
    check(
      'int main() { int n = 1; auto copy = [=] { k<<<n, 32>>>(); }; auto same = [&] { k<<<n, 64>>>(); }; n = 5; copy(); same(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
      'k <<<(5,1,1),(64,1,1),0>>>()',
    );
  });
  it('do not know objects that a constructor of another file makes', () =>
    check(
      'struct Rows { int first, last, count; Rows(const char* path, int most); int size() { return count; } }; int main() { Rows rows("x", 3); k<<<rows.size(), 64>>>(rows.first); }',
      'k <<<(?rows.count,1,1),(64,1,1),0>>>(?rows.first)',
    ));
  it('make objects of braces whose elements a constructor takes together', () =>
    check(
      'struct Shape { std::vector<int> sizes; Shape(std::initializer_list<int> s) : sizes(s) {} int all() const { int n = 1; for (auto s : sizes) n *= s; return n; } }; int main() { Shape s{4, 8, 2}; k<<<s.sizes.size(), s.all()>>>(s.sizes[1]); }',
      'k <<<(3,1,1),(64,1,1),0>>>(8)',
    ));
  it('make objects of braces that are an object which a constructor takes', () => {
    check(
      `struct Shape { int e[2], n; explicit Shape(std::array<int, 2> s) : e{s[0], s[1] * 2} { n = e[0] * s[1]; } };
       int main() { int w = 8; Shape s({4, w}); k<<<s.n, s.e[1]>>>(s.e[0]); }`,
      'k <<<(32,1,1),(16,1,1),0>>>(4)',
    );
    check(
      `struct Size { int w, h; }; struct Image { Size s; int n; Image(const Image&) = default; Image(const Size& s) : s(s), n(s.w * s.h) {} Image(int a, int b, int c) : n(a + b + c) {} };
       int main() { Image i({4, 16}); k<<<i.s.w, i.n>>>(); Image sum({1, 2, 3}); k<<<1, sum.n>>>(); }`,
      'k <<<(4,1,1),(64,1,1),0>>>()',
      'k <<<(1,1,1),(6,1,1),0>>>()',
    );
  });
  it('make objects of the class that they are members of', () => {
    const range =
      'struct Range { int n; Range(int n) : n(n) {} Range half() const { return Range(n / 2); } Range third() const { Range r(n / 3); return r; } int size() const { return n; } };';
    check(
      `${range} int main() { Range r(96); k<<<r.half().n, r.third().half().size()>>>(r.half().half().n); }`,
      'k <<<(48,1,1),(16,1,1),0>>>(24)',
    );
    check(
      `${range} int main() { std::vector<Range> all; all.push_back(Range(64)); while (all.back().size() > 20) all.push_back(all.back().half()); for (size_t i = 0; i < all.size(); ++i) k<<<all[i].n, 32>>>(i); }`,
      'k <<<(64,1,1),(32,1,1),0>>>(0)',
      'k <<<(32,1,1),(32,1,1),0>>>(1)',
      'k <<<(16,1,1),(32,1,1),0>>>(2)',
    );
    check(
      'template <class T> struct Pair { T a, b; Pair(T a, T b) : a(a), b(b) {} Pair turned() const { return Pair(b, a); } }; int main() { Pair<int> p(7, 64); k<<<p.turned().b, p.turned().a>>>(); }',
      'k <<<(7,1,1),(64,1,1),0>>>()',
    );
  });
  it('have the defaults that an earlier declaration gives', () => {
    check(
      'void run(float* p, int n, int b = 128); int main() { float* d; cudaMalloc(&d, 4096); run(d, 1024); } void run(float* p, const int n, int b) { k<<<n / b, b>>>(p, n); }',
      'k <<<(8,1,1),(128,1,1),0>>>(d, 1024)',
    );
    check(
      'template <int B = 96, class F> void each(int n, F f); template <int B, class G> void each(int n, G g) { k<<<n / B, B>>>(n); } int main() { each(192, 1.0f); each<64>(192, 1); }',
      'k <<<(2,1,1),(96,1,1),0>>>(192)',
      'k <<<(3,1,1),(64,1,1),0>>>(192)',
    );
    check(
      'namespace a { struct R { void go(int b = 32); }; } void a::R::go(int b) { k<<<1, b>>>(); } int main() { a::R r; r.go(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    // of another overload
    check(
      'void run(float f, int b = 128); void run(double* p, int b) { k<<<1, b>>>(); } int main() { double* d; run(d, 7); }',
      'k <<<(1,1,1),(7,1,1),0>>>()',
    );
    check(
      'template <class T, int B = 48> struct L; template <class T, int B> struct L { static void go() { k<<<1, B>>>(); } }; int main() { L<float>::go(); }',
      'k <<<(1,1,1),(48,1,1),0>>>()',
    );
  });
  it('are run on their own when nobody calls them', () => {
    check(
      'void launch(float* out, const float* in, int n) { k<<<1, 256>>>(out, in + 4, n); }',
      'k <<<(1,1,1),(256,1,1),0>>>(out, in+16, ?n)',
    );
    check(
      'extern "C" void launch(float* p) { k<<<1, 256>>>(p); } int other() { return 1; }',
      'k <<<(1,1,1),(256,1,1),0>>>(p)',
    );
    check(
      'void inner(int n) { k<<<1, n>>>(); } void outer() { inner(3); inner(4); }',
      'k <<<(1,1,1),(3,1,1),0>>>()',
      'k <<<(1,1,1),(4,1,1),0>>>()',
    );
  });
  it('may be unknown and change what they are given', () => {
    checkMain('int n = 5, m = 6; read(&n, m); k<<<1, 32>>>(n, m);', 'k <<<(1,1,1),(32,1,1),0>>>(?n, 6)');
    checkMain('int n = 5; scanf("%d", &n); k<<<1, 32>>>(n);', 'k <<<(1,1,1),(32,1,1),0>>>(?n)');
    checkMain('int n = 5; std::cin >> n; k<<<1, 32>>>(n);', 'k <<<(1,1,1),(32,1,1),0>>>(?n)');
    check('void get(int& n); int main() { int n = 5; get(n); k<<<1, 32>>>(n); }', 'k <<<(1,1,1),(32,1,1),0>>>(?n)');
  });
  it('may be lambdas', () => {
    checkMain(
      'int b = 64; auto run = [&](int n) { k<<<n / b, b>>>(n); }; run(128); b = 32; run(128);',
      'k <<<(2,1,1),(64,1,1),0>>>(128)',
      'k <<<(4,1,1),(32,1,1),0>>>(128)',
    );
    checkMain(
      'int b = 64; auto run = [b](auto n) { k<<<1, b>>>(n); }; b = 1; run(5);',
      'k <<<(1,1,1),(64,1,1),0>>>(5)',
    );
    checkMain(
      'int n = 6; auto run = [&]<int B, bool W = true>(auto x) { if (W) k<<<n, B>>>(x); else k<<<1, B * 2>>>(x); }; run.operator()<64>(1); run.template operator()<32, false>(2);',
      'k <<<(6,1,1),(64,1,1),0>>>(1)',
      'k <<<(1,1,1),(64,1,1),0>>>(2)',
    );
    check(
      'template <typename F> void times(int n, F f) { for (int i = 0; i < n; i++) f(); } int main() { int b = 96; times(3, [&] { k<<<1, b>>>(); }); }',
      'k <<<(1,1,1),(96,1,1),0>>>()',
    );
  });
  it('may be methods', () => {
    check(
      'struct R { int b; float* p; R(int b) : b(b), p(nullptr) { cudaMalloc(&p, 64); } void go() { k<<<1, b>>>(p); } }; int main() { R r(48); r.go(); }',
      'k <<<(1,1,1),(48,1,1),0>>>(r.p)',
    );
    check(
      'class R { int n = 7; public: void go() const; }; void R::go() const { k<<<1, n>>>(); } int main() { R r; r.go(); R* q = &r; q->go(); }',
      'k <<<(1,1,1),(7,1,1),0>>>()',
    );
    check(
      'class Layer { float* w_; int n_; public: void forward(float* x) { k<<<1, 32>>>(x, w_, n_); } };',
      'k <<<(1,1,1),(32,1,1),0>>>(x, w_, ?n_)',
    );
    check(
      'struct F { int n; int operator()(int x) const { return x * n; } }; int main() { F f{3}; k<<<1, f(32)>>>(); }',
      'k <<<(1,1,1),(96,1,1),0>>>()',
    );
    check(
      'struct B { int n = 4; }; struct D : B { int m() { return n * 2; } }; int main() { D d; d.n = 16; k<<<1, d.m()>>>(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
  });
});

describe('linked units', () => {
  const own = '__global__ void a(int n) {} void run(int n) { a<<<n, 64>>>(n); }';
  it('are run for what launches the kernels of the unit, and for nothing else', () => {
    const other = `__global__ void b(int n) {} template <int N> __global__ void c(int n) {} void run(int n);
      void elsewhere() { for (int i = 0; i < 9; i++) b<<<i, 32>>>(i); }
      int main() { if (0) c<4><<<1, 32>>>(1); run(7); }`;
    assert.deepEqual(linkedLaunchesOf(own, other).map(show), ['a <<<(7,1,1),(64,1,1),0>>>(7)']);
  });
  it('launch kernels of the unit that they are handed', () => {
    const other = `void run(int n); __global__ void a(int n); __global__ void b(int n) {}
      template <class K> void go(K kernel, int n) { kernel<<<n, 32>>>(n); } int main() { go(a, 3); go(b, 4); a<<<2, 32>>>(2); }`;
    assert.deepEqual(
      linkedLaunchesOf(own, other)
        .filter(({ kernel }) => kernel.name === 'a')
        .map(show),
      ['a <<<(?n,1,1),(64,1,1),0>>>(?n)', 'a <<<(3,1,1),(32,1,1),0>>>(3)', 'a <<<(2,1,1),(32,1,1),0>>>(2)'],
    );
  });
});

describe('constants as types', () => {
  it('give the template arguments that they were made of', () => {
    check(
      'template <bool B, int N> __global__ void k(std::bool_constant<B>, std::integral_constant<int, N>) {} int main() { k<<<1, 32>>>(std::bool_constant<true>{}, std::integral_constant<int, 5>{}); }',
      'k<1, 5> <<<(1,1,1),(32,1,1),0>>>(1, 5)',
    );
  });
});

describe('functions that the classes of the arguments bring', () => {
  const vectors = `namespace g {
    template <class T, int N> struct V { T t[N]; };
    template <class T> struct V<T, 2> { T x, y; V(T a, T b) : x(a), y(b) {} };
    template <class T> V<T, 3> min(const V<T, 3>& a, const V<T, 3>& b) { return a; }
    template <class T> V<T, 2> min(const V<T, 2>& a, const V<T, 2>& b) { return V<T, 2>(min(a.x, b.x), min(a.y, b.y)); }
    template <class T> V<T, 2> operator-(const V<T, 2>& a, const V<T, 2>& b) { return V<T, 2>(a.x - b.x, a.y - b.y); }
    template <class T> V<T, 2> operator-(const V<T, 2>& a, const T& b) { return V<T, 2>(a.x - b, a.y - b); }
  }`;
  it('are found in their namespaces, by name and as operators', () => {
    check(
      `${vectors} using V2 = g::V<int, 2>; int main() { const V2 a = min(V2(64, 9), V2(70, 3)); k<<<a.y, a.x>>>(); }`,
      'k <<<(3,1,1),(64,1,1),0>>>()',
    );
    check(
      `${vectors} int main() { g::V<int, 2> a(70, 9), b(4, 2); const auto c = a - 2 - b; k<<<c.y, c.x>>>(); }`,
      'k <<<(5,1,1),(64,1,1),0>>>()',
    );
  });
  it('are found among their friends', () => {
    check(
      'struct P { int v; friend P operator+(const P& a, const P& b) { return P{a.v + b.v}; } friend int twice(P p) { return 2 * p.v; } }; int main() { P a{3}, b{4}; k<<<(a + b).v, twice(a)>>>(); }',
      'k <<<(7,1,1),(6,1,1),0>>>()',
    );
  });
  it('are called once, with arguments evaluated once', () => {
    check(
      'namespace n { void check(int e) {} } int run(int n) { k<<<n, 32>>>(); return 0; } int main() { check(run(5)); }',
      'k <<<(5,1,1),(32,1,1),0>>>()',
    );
    check(
      'namespace n { struct S {}; S max(S a, S b); } int main() { int i = 3; int m = max(i++, 2); k<<<m, i>>>(); }',
      'k <<<(3,1,1),(4,1,1),0>>>()',
    );
  });
  it('take what is derived from the class that they name', () => {
    check(
      `template <class T, int N> struct Base { T n; }; template <class T, int N> struct Mat : Base<T, 3> {};
       template <class T> void run(const Base<T, 3>& b) { k<<<b.n, 32>>>(); } template <class T> void run(const Base<T, 4>& b, T c) {} template <class T> void run(T* p) {}
       int main() { Mat<int, 8> m; m.n = 6; run(m); }`,
      'k <<<(6,1,1),(32,1,1),0>>>()',
    );
  });
  it('leave null pointers to templates', () => {
    check(
      `template <class T> void run(T* a, const float* b, int n) { k<<<n, 32>>>(); } template <class T> void run(T a, const float* b, const char* c) {}
       int main() { float* d; cudaMalloc(&d, 64); run(d, 0, 7); }`,
      'k <<<(7,1,1),(32,1,1),0>>>()',
    );
  });
});

describe('arguments of class templates', () => {
  const field = 'template <class T> struct Field { T* p; int n;';
  it('follow from constructors, guides and the members of aggregates', () => {
    check(
      `${field} Field(int n) : n(n) {} Field(const std::vector<T>& h) : n(h.size()) { cudaMalloc(&p, n * sizeof(T)); } };
       template <class P, class T> __global__ void each(T* p, int n); template <class P, class T> void run(const Field<T>& f) { each<P><<<1, 32>>>(f.p, f.n); }
       int main() { std::vector<double> h(10); std::vector<short> g(20); Field f{h}; run<int>(f); run<char>(Field(g)); Field again = f; run<long>(again); }`,
      'each<int, double> <<<(1,1,1),(32,1,1),0>>>(f.p, 10)',
      'each<char, short> <<<(1,1,1),(32,1,1),0>>>(p, 20)',
      'each<long, double> <<<(1,1,1),(32,1,1),0>>>(f.p, 10)',
    );
    check(
      `${field} template <class I> Field(I from, I to) : n(7) {} }; template <class I> Field(I*, I*) -> Field<I>;
       template <class T> __global__ void each(Field<T> f); int main() { double a[4]; Field f(a, a + 4); each<<<f.n, 32>>>(f); }`,
      'each<double> <<<(7,1,1),(32,1,1),0>>>({p: ?, n: 7})',
    );
    check(
      `template <class A, class B> struct Two { A a; B b; }; template <class T> __global__ void each(T t);
       int main() { each<<<1, 32>>>(Two{1, 2.5f}); }`,
      'each<Two<int, float>> <<<(1,1,1),(32,1,1),0>>>({a: 1, b: 2.5})',
    );
  });
  it('choose specialisations with packs, empty ones too', () => {
    const chain = `template <class... F> struct Chain; template <> struct Chain<> {}; template <class F, class... R> struct Chain<F, R...> { F f; Chain<R...> rest; };
       struct One { int n; }; struct Two { int n; }; template <class C> __global__ void each(C c);`;
    check(
      `${chain} int main() { each<<<1, 32>>>(Chain<One, Two>{{1}, {{2}, {}}}); }`,
      'each<Chain<One, Two>> <<<(1,1,1),(32,1,1),0>>>({f: {n: 1}, rest: {f: {n: 2}, rest: {}}})',
    );
    check(
      `${chain} template <class... F> auto join(F... f) { if constexpr (sizeof...(F) == 0) return Chain<>{}; else return [](auto a, auto... r) { return Chain<decltype(a), decltype(r)...>{a, join(r...)}; }(f...); }
       int main() { each<<<1, 32>>>(join(One{3}, Two{4})); }`,
      'each<Chain<One, Two>> <<<(1,1,1),(32,1,1),0>>>({f: {n: 3}, rest: {f: {n: 4}, rest: {}}})',
    );
  });
});

describe('launchers by policy', () => {
  const policies = `template <int B> struct Flat {}; template <int X, int Y> struct Tile {}; template <class P> struct Launcher;
    template <int B> struct Launcher<Flat<B>> { template <class F> static void run(int n, F f) { k<<<(n + B - 1) / B, B>>>(f); } };
    template <int X, int Y> struct Launcher<Tile<X, Y>> { template <class F> static void run(int n, F f) { k<<<n, dim3(X, Y)>>>(f); } };
    template <class P, class... A> void forAll(A... a) { Launcher<P>::run(a...); }`;
  it('are the specialisation for the numbers of the policy', () =>
    check(
      `${policies} int main() { forAll<Flat<128>>(1000, 1); forAll<Tile<16, 8>>(3, 2); forAll<Tile<32, 4>>(5, 3); }`,
      'k <<<(8,1,1),(128,1,1),0>>>(1)',
      'k <<<(3,1,1),(16,8,1),0>>>(2)',
      'k <<<(5,1,1),(32,4,1),0>>>(3)',
    ));
  it('launch lambdas once for each class of what they capture', () => {
    const of = 'body<F> <<<(1,1,1),(32,1,1),0>>>(lambda(l: {pad: ?ask()}))';
    check(
      `struct Rows { int pad; }; struct Columns { int pad; }; int ask(); template <class F> __global__ void body(F f);
       template <class L> void go() { L l{ask()}; body<<<1, 32>>>([=] __device__(int i) { use(l, i); }); }
       int main() { go<Rows>(); go<Columns>(); go<Rows>(); }`,
      of,
      of,
    );
  });
});

describe('names that a block brings', () => {
  it('stand for what they name elsewhere', () => {
    const far = `namespace far { enum class Order { rows, columns }; struct Tile { static constexpr int size = 48; }; int half(int n) { return n / 2; } template <class T> struct Box { T v; }; }
       template <far::Order O> struct Plan { static constexpr int block = O == far::Order::columns ? 64 : 32; };`;
    check(
      `${far} int main() { using far::Order; using far::Tile; using far::half; using far::Box; using P = Plan<Order::columns>; Box<int> b{5}; k<<<half(Tile::size), P::block>>>(b.v); }`,
      'k <<<(24,1,1),(64,1,1),0>>>(5)',
    );
    check(
      `${far} int main() { namespace f = far; { using std::min; k<<<f::half(min(8, 20)), Plan<f::Order::rows>::block>>>(); } }`,
      'k <<<(4,1,1),(32,1,1),0>>>()',
    );
  });
});

describe('enumerators', () => {
  it('choose what takes their enumeration, and are promoted else', () => {
    check(
      `enum Format { Empty, Edges }; enum class Order { Rows = 3, Columns };
       struct Graph { int n; Graph(Format f = Empty, Order o = Order::Rows) { n = 5 + f + (o == Order::Columns); } Graph(int n, std::vector<int> e) : n(n) {} };
       void run(int n) { k<<<n, 32>>>(1); } void run(Order o) { k<<<(int)o, 32>>>(2); } void run(float x) { k<<<1, 32>>>(3); }
       int main() { run(2.5f); Graph g(Edges, Order::Columns); run(g.n); std::vector<int> e; Graph h(9, e); run(h.n); run(Order::Columns); run(Edges); }`,
      'k <<<(7,1,1),(32,1,1),0>>>(1)',
      'k <<<(9,1,1),(32,1,1),0>>>(1)',
      'k <<<(1,1,1),(32,1,1),0>>>(1)',
      'k <<<(4,1,1),(32,1,1),0>>>(2)',
      'k <<<(1,1,1),(32,1,1),0>>>(3)',
    );
  });
});

describe('methods that stand outside of their class', () => {
  const table = `struct Map { int size; };
    struct Table { Map map; int used; Table(int n); void grow(int n); void insert(int n); static int twice(int n); };
    Table::Table(int n) { used = 0; grow(n); }
    int Table::twice(int n) { return n * 2; }
    void Table::grow(int n) { Map other; other.size = twice(n); map = other; }`;
  it('call each other on the same object', () => {
    check(
      `${table}
       void Table::insert(int n) { if (used + n > map.size) grow(used + n); k<<<n, 32>>>(map); used += n; }
       int main() { Table t(2); t.insert(3); t.insert(5); t.insert(6); }`,
      'k <<<(3,1,1),(32,1,1),0>>>({size: 4})',
      'k <<<(5,1,1),(32,1,1),0>>>({size: 16})',
      'k <<<(6,1,1),(32,1,1),0>>>({size: 16})',
    );
  });
  it('so do those of templates and of bases', () => {
    check(
      `template <class T> struct Box { T n; void set(T v); void run(); }; template <class T> void Box<T>::set(T v) { n = v; }
       template <class T> void Box<T>::run() { set(n + 1); k<<<n, 32>>>(); }
       struct Base { int n; void set(int v); virtual int threads(); void run(int v); }; int Base::threads() { return 32; }
       void Base::set(int v) { n = v * 2; } void Base::run(int v) { set(v); k<<<n, threads()>>>(); }
       struct Derived : Base { int threads() override; }; int Derived::threads() { return 64; }
       int main() { Box<int> b; b.set(3); b.run(); Derived d; d.run(5); }`,
      'k <<<(4,1,1),(32,1,1),0>>>()',
      'k <<<(10,1,1),(64,1,1),0>>>()',
    );
  });
});
