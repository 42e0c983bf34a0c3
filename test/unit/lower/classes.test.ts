/** Classes and class templates in kernels: construction, members, bases. */
import { check } from '../analysis/check-accesses';
import { equals, index } from './check-index';

describe('objects with virtual methods', () => {
  it('begin with a pointer to the table of these, once in bases and derived classes', () => {
    const classes = `
template <class T> struct Shape { __device__ virtual ~Shape() {} __device__ virtual T area() = 0; };
struct Disc : Shape<float> { float r; __device__ float area() { return r; } };
struct Box : Shape<float> { int w; int* edges; int h; __device__ virtual float area() { return w; } };
struct Tall : Box { long d; __device__ float area() { return d; } };
struct Plain { int a; }; struct Late : Plain { int b; __device__ virtual int sum() { return a + b; } };`;
    equals('', 'sizeof(Shape<float>) / 4', 2, classes);
    equals('', 'sizeof(Disc) / 4', 4, classes);
    equals('', 'sizeof(Box) / 8', 4, classes);
    equals('', 'sizeof(Tall) / 8', 5, classes);
    equals('', 'sizeof(Late) / 4', 4, classes);
  });

  it('lie so far apart in arrays', () =>
    check(`
struct Body { float x, y; __device__ virtual void move() {} };
// warplens: block=32 grid=1
__global__ void k(Body* bodies) {
  bodies[threadIdx.x].x = 1;
//^^^^^^^^^^^^^^^^^^^^^ global store 16/4 sectors exact
}`));
});

describe('constructors', () => {
  const view = `
struct View {
  int step, first;
  __device__ View(int s, int f) : step(s), first(f) {}
  __device__ int at(int i) const { return first + i * step; }
};`;

  it('initialise members by their lists', () => {
    index('View v(2, 0);', 'v.at(threadIdx.x)', 2, view);
    index('View v{4, 0};', 'v.at(threadIdx.x)', 4, view);
    index('', 'View(3, 0).at(threadIdx.x)', 3, view);
    index('auto v = View(5, 0);', 'v.at(threadIdx.x)', 5, view);
    index('auto n{2 * threadIdx.x}; auto& r{n};', 'r', 2, view);
  });

  it('may compute from other members, in the order of the members', () => {
    const pair = 'struct P { int a, b; __device__ P(int x) : a{x + 1}, b(a * 2) {} };';
    equals('P p(2);', 'p.b', 6, pair);
  });

  it('pass arguments to bases and to other constructors', () => {
    const derived = `
struct Base { int step; __device__ Base(int s) : step(s) {} };
struct Twice : Base { int extra; __device__ Twice(int s) : Base(2 * s), extra(1) {} __device__ Twice() : Twice(3) {} };`;
    equals('Twice t(2);', 't.step + t.extra', 5, derived);
    equals('Twice t;', 't.step + t.extra', 7, derived);
  });

  it('convert numbers to records', () => {
    const wrap = 'struct W { int v; __device__ W(int x) : v(x) {} }; __device__ int of(W w) { return w.v; }';
    equals('', 'of(3)', 3, wrap);
    equals('W w = 2;', 'w.v', 2, wrap);
  });

  it('keep default member initialisers that the list does not replace', () => {
    equals('S s(2);', 's.a + s.b', 5, 'struct S { int a = 1, b = 3; __device__ S(int x) : a(x) {} };');
  });

  it('take what stands in braces, wherever an object is made', () => {
    const pair = `
struct P { int a, b; __device__ P(int a = 0, int b = 0) : a(a), b(b) {} };
struct Q { P p, q; int c; };
__device__ int of(P p) { return p.a + p.b; }
__device__ P made(int n) { return {n, 1}; }
__device__ Q both(int n) { return {{n, 1}, {2}, 3}; }
__device__ void set(Q& q) { q.p = {1, 2}; q.q = {1}; q.c = 1; }`;
    equals('P p; p = {2, 3};', 'p.a + p.b', 5, pair);
    equals('P p[2]; p[1] = {2, 3}; p[0] = {};', 'p[1].a + p[1].b + p[0].a', 5, pair);
    equals('Q q; set(q);', 'q.p.a + q.p.b + q.q.a + q.q.b + q.c', 5, pair);
    equals('', 'of({2, 3})', 5, pair);
    equals('P p = made(4);', 'p.a + p.b', 5, pair);
    equals('Q q = both(1);', 'q.p.a + q.p.b + q.q.a + q.q.b + q.c', 7, pair);
  });

  it('of a pack of bases', () => {
    const all = `
struct A { int a; __device__ A(int x) : a(x) {} };
struct B { int b; __device__ B(int x) : b(x) {} };
template <class... P> struct All : P... { __device__ All(P... p) : P(p)... {} };`;
    equals('All<A, B> all(A(2), B(5));', 'all.a + all.b', 7, all);
  });

  it('of templates too', () => {
    const box = `
template <class T> struct Box { T v; __device__ Box(T x) : v(x) {} };
template <class B> struct Outer : B { __device__ Outer(int x) : B(x) {} };`;
    equals('Box<int> b(4);', 'b.v', 4, box);
    equals('Outer<Box<int>> b(4);', 'b.v', 4, box);
  });
});

describe('an arrow of a class', () => {
  it('leads to what its operator gives', () =>
    check(`
struct Step { int first, by; __device__ int twice() const { return 2 * by; } };
template <class T> struct Handle { T *p; __device__ T *operator->() const { return p; } };
// warplens: block=32 grid=1
__global__ void k(Step *steps, int *out) {
  Handle<Step> h{steps + threadIdx.x};
  h->first = 1;
//^^^^^^^^ global store 8/4 sectors exact
  h->by = 2;
//^^^^^ global store 8/4 sectors exact
}`));
});

describe('functions that a class names as friends', () => {
  const pair = `
template <class T> struct Pair {
  T a, b;
  __device__ Pair(T x, T y) : a(x), b(y) {}
  __device__ friend inline Pair<T> turned(const Pair<T> &p) { return Pair<T>(p.b, p.a); }
  __device__ friend T first(const Pair<T> &p) { return p.a; }
};`;
  it('are found by their arguments', () => equals('Pair<int> p(2, 5);', 'first(turned(p))', 5, pair));
  it('are found beside others of the name that do not take them', () =>
    equals(
      'Pair<int> p(2, 5);',
      'first(turned(p)) + first(3)',
      8,
      `struct Other {}; __device__ int first(int x) { return x; } ${pair} __device__ int turned(Other);`,
    ));
});

describe('members of class templates', () => {
  it('may be templates that are defined for single arguments, outside and for one instance', () => {
    const source = `
template <class T> struct Source {
  T step;
  template <class R> __device__ R next();
  __device__ int kind();
};
template <> template <> __device__ int Source<int>::next<int>() { return step + 1; }
template <> template <> __device__ long Source<int>::next<long>() { return next<int>() + 10; }
template <> template <> __device__ int Source<float>::next<int>() { return 100; }
template <class T> __device__ int Source<T>::kind() { return 1; }
template <> __device__ int Source<float>::kind() { return 2; }
template <class R, class S> __device__ R drawn(S s) { return s.template next<R>(); }`;
    equals('Source<int> s{3};', 'drawn<int>(s)', 4, source);
    equals('Source<int> s{3};', '(int)s.next<long>()', 14, source);
    equals('Source<float> s{3};', 'drawn<int>(s)', 100, source);
    equals('Source<float> s{3}; Source<int> t{3};', '10 * s.kind() + t.kind()', 21, source);
  });
  it('static constants belong to their instance', () => {
    const size = 'template <int N> struct Size { static constexpr int value = N; };';
    equals('', 'Size<1>::value + Size<4>::value', 5, size);
    index('int a = Size<2>::value; int b = Size<3>::value;', 'threadIdx.x * (b - a)', 1, size);
  });

  it('are reached through objects', () => {
    equals('Size<3> s;', 's.value', 3, 'template <int N> struct Size { static constexpr int value = N; };');
    equals('D d;', 'd.value', 3, 'struct B { static constexpr int value = 3; }; struct D : B {};');
    equals(
      'auto s = Size<3>{};',
      'decltype(s)::value',
      3,
      'template <int N> struct Size { static constexpr int value = N; };',
    );
  });

  it('const and plain arguments make different instances', () => {
    const pick = `
template <class T> struct Pick { static constexpr int v = 2; };
template <class T> struct Pick<const T> { static constexpr int v = 5; };`;
    equals('int a = Pick<float>::v;', 'a + Pick<const float>::v', 7, pick);
  });

  it('variable templates and their specialisations', () => {
    equals('', 'width<int> + width<double>', 6, 'template <class T> constexpr int width = sizeof(T) / 2;');
    equals(
      '',
      'rank<int> + rank<float>',
      4,
      'template <class T> constexpr int rank = 1; template <> constexpr int rank<float> = 3;',
    );
  });
});

describe('parameters that are references', () => {
  it('stand for objects in managed memory', () => {
    check(`
struct Settings { int n; float scale; };
__global__ void apply(float (&a)[64], const Settings &s) {
  if (threadIdx.x < s.n) a[threadIdx.x] = s.scale;
  //                ^^^ global load 4 bytes x2 exact
  //                     ^^^^^^^^^^^^^^ global store 4 bytes x2 4/4 sectors
}
int main() {
  Settings *s; cudaMallocManaged(&s, sizeof(Settings));
  float (*a)[64]; cudaMallocManaged(&a, sizeof(*a));
  apply<<<1, 64>>>(*a, *s);
}
`);
  });
});

describe('classes that convert to a pointer', () => {
  it('are subscripted and dereferenced, and so is what is derived from them', () => {
    check(`
template <class T> struct Buffer { T *p; __host__ __device__ operator T *() const { return p; } };
struct Row : Buffer<float> { int n; };
__global__ void k(Buffer<float> in, Row row, float *out) {
  out[threadIdx.x] = in[threadIdx.x];
  //                 ^^^^^^^^^^^^^^^ global load 4 bytes x1 4/4 sectors
  out[threadIdx.x + 64] = row[2 * threadIdx.x];
  //                      ^^^^^^^^^^^^^^^^^^^^ global load 4 bytes x1 8/4 sectors
  out[threadIdx.x + 32] = *in;
  //                      ^^^ global load 4 bytes x1 1/1 sectors
}
int main() {
  float *y, *z; cudaMalloc(&y, 4096); cudaMalloc(&z, 4096);
  Buffer<float> b{z}; Row r; r.p = z; r.n = 3;
  k<<<1, 32>>>(b, r, y);
}
`);
  });
});

describe('operators of a class in its namespace', () => {
  it('fit better than those of the library in sight that it could be converted for', () => {
    check(`
#include <complex>
namespace dual {
template <class T> struct Number { T value, slope; __device__ Number(T v, T s = 0) : value(v), slope(s) {} };
template <class T> __device__ Number<T> operator*(const Number<T>& a, const Number<T>& b) { return {a.value * b.value, a.slope + b.slope}; }
}
using namespace std;
// warplens: block=32 grid=1
__global__ void k(int* out) {
  dual::Number<int> two(2, 1), three(3);
  auto six = two * two * three;
  out[(six.value - 10) * threadIdx.x + six.slope - 2] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}`);
  });
});

describe('arguments in braces', () => {
  it('make no record of more than it has, nor a number of several', () => {
    const types = `struct Row { int v[3]; int last; };
struct Pair { int a, b; };
__device__ int of(Pair p) { return p.a * 10 + p.b; }
__device__ int of(Row r) { return r.v[0] * 1000 + r.v[1] * 100 + r.v[2] * 10 + r.last; }`;
    equals('', 'of({{1, 2, 3}, 4})', 1234, types);
  });
});
