/** What templates are told apart by on the host: types of members, packs, the answers of traits. */
import { check } from './support';

describe('templates of host code', () => {
  it('are told apart by the signatures of functions', () => {
    const traits = `struct Shape { int n; }; void one(Shape s); int two(float x, int n); template <class... A> void many(A... a);
      template <class F> struct Taken { static constexpr int count = 9; }; template <class R, class A> struct Taken<R (*)(A)> { using type = A; static constexpr int count = 1; };
      template <class R, class A, class B> struct Taken<R (*)(A, B)> { using type = B; static constexpr int count = 2; };
      template <class F> struct All; template <class R, class... A> struct All<R(A...)> { static constexpr int count = sizeof...(A); };
      template <class T> struct Kept { static int& of() { static int value = 3; return value; } };`;
    check(
      `${traits} int main() { k<<<Taken<decltype(&one)>::count, Taken<decltype(&two)>::count>>>(Taken<void (*)(Shape)>::count); k<<<All<decltype(two)>::count, 32>>>(All<void()>::count); }`,
      'k <<<(1,1,1),(2,1,1),0>>>(1)',
      'k <<<(2,1,1),(32,1,1),0>>>(0)',
    );
    check(
      `${traits} void one(Shape s) {} int main() { k<<<1, Taken<decltype(&one)>::count>>>(Taken<decltype(&many<int>)>::count); }`,
      'k <<<(1,1,1),(1,1,1),0>>>(?Taken::count)',
    );
    check(
      `${traits} int main() { Kept<Shape>::of() = 7; k<<<1, 32>>>(Kept<Taken<decltype(&one)>::type>::of()); }`,
      'k <<<(1,1,1),(32,1,1),0>>>(7)',
    );
  });
  it('are overloads by the parameters that name no template parameter', () => {
    const policies = `struct Flat { int n; }; struct Team { int teams, size; };
      template <class F> void forEach(const Flat& p, F f) { k<<<p.n, 64>>>(f); }
      template <class F> void forEach(const Team& p, F f) { k<<<p.teams, p.size>>>(f); }`;
    check(
      `${policies} int main() { forEach(Team{7, 96}, 1); forEach(Flat{5}, 2); }`,
      'k <<<(5,1,1),(64,1,1),0>>>(2)',
      'k <<<(7,1,1),(96,1,1),0>>>(1)',
    );
    check(
      `template <int N> void go(const double* p) { k<<<N, 32>>>(p); } template <int N> void go(const float* p) { k<<<N, 64>>>(p); }
       int main() { double* d; float* f; cudaMalloc(&d, 400); cudaMalloc(&f, 400); go<3>(f); go<4>(d); }`,
      'k <<<(4,1,1),(32,1,1),0>>>(d)',
      'k <<<(3,1,1),(64,1,1),0>>>(f)',
    );
    // what deduces is closer than what converts
    check(
      `struct Flat { int n; }; struct Own : Flat {}; template <class F> void go(const Flat& p, F f) { k<<<1, 32>>>(); }
       template <class P, class F> void go(const P& p, F f) { k<<<2, 32>>>(); } int main() { Own o; go(o, 1); Flat f; go(f, 1); }`,
      'k <<<(1,1,1),(32,1,1),0>>>()',
      'k <<<(2,1,1),(32,1,1),0>>>()',
    );
  });
  it('are one for each record whose member is the argument', () =>
    check(
      `struct Rows {}; struct Columns {}; template <class L> struct Table { struct Ref { int n; }; };
       template <class R> struct Sweep { R r; }; template <class R> __global__ void k();
       template <class R> void sweep(R r, int b) { Sweep<R> s{r}; k<Sweep<R>><<<1, b>>>(); }
       int main() { sweep(Table<Rows>::Ref{1}, 32); sweep(Table<Columns>::Ref{1}, 32); }`,
      'k<Sweep<Table<Rows>::Ref>> <<<(1,1,1),(32,1,1),0>>>()',
      'k<Sweep<Table<Columns>::Ref>> <<<(1,1,1),(32,1,1),0>>>()',
    ));
  it('deduce from the base that a parameter names, as expressions are handed on', () =>
    check(
      `template <class E> struct Expression { const E& self() const { return static_cast<const E&>(*this); } };
       struct Leaf : Expression<Leaf> { int n; Leaf(int n) : n(n) {} int size() const { return n; } };
       template <class Op, class A, class B> struct Both : Expression<Both<Op, A, B>> { A a; B b; Both(const A& a, const B& b) : a(a), b(b) {} int size() const { return a.size() + b.size(); } };
       struct Add {}; template <class A, class B> Both<Add, A, B> operator+(const Expression<A>& a, const Expression<B>& b) { return {a.self(), b.self()}; }
       template <class E> __global__ void k(); template <class E> void go(const Expression<E>& e) { k<E><<<e.self().size(), 32>>>(); }
       int main() { go(Leaf(2) + Leaf(3)); go(Leaf(4)); }`,
      'k<Both<Add, Leaf, Leaf>> <<<(5,1,1),(32,1,1),0>>>()',
      'k<Leaf> <<<(4,1,1),(32,1,1),0>>>()',
    ));
  it('ask what an operator of a function object would give', () =>
    check(
      `#include <utility>
       struct Square { unsigned long long operator()(int x) const { return (unsigned long long)x * x; } }; template <class T> struct Count { using value = T; };
       template <class F, class It> struct Map { using value = decltype(std::declval<F>()(std::declval<typename It::value>())); };
       template <class T> __global__ void k(); template <class It> void go() { k<typename It::value><<<sizeof(typename It::value), 32>>>(); }
       int main() { go<Map<Square, Count<int>>>(); }`,
      'k<unsigned long long> <<<(8,1,1),(32,1,1),0>>>()',
    ));
  it('deduce arguments of kernels that a using-directive of the function brings', () =>
    check(
      `namespace lib { namespace ops { template <int N, class G> __global__ void scan(G g); }
         template <class G> void go(G g) { using namespace ops; scan<4><<<1, 32>>>(g); } } struct Csr { int n; };
       int main() { lib::go(Csr{3}); }`,
      'scan<4, Csr> <<<(1,1,1),(32,1,1),0>>>({n: 3})',
    ));
  it('spread packs in constructors and in lists of arrays', () => {
    check(
      `template <class T, int R> struct Shape { int e[R], s;
         template <class... N> Shape(T first, N... n) { const int all[] = {static_cast<int>(n)..., 9}; s = sizeof(all) / sizeof(int);
           for (int i = 0; i < R; ++i) e[i] = all[i]; } };
       int main() { Shape<float, 2> s(1.f, 6, 7); k<<<s.s, 32>>>(s.e[0], s.e[1]); }`,
      'k <<<(3,1,1),(32,1,1),0>>>(6, 7)',
    );
    check(
      'template <class... N> void go(N... n) { int all[] = {1, n..., 5}; k<<<1, 32>>>(all[1], all[2], all[3]); } int main() { go(3, 4); }',
      'k <<<(1,1,1),(32,1,1),0>>>(3, 4, 5)',
    );
  });
  it('ask the traits of the standard library', () => {
    const ask = (question: string, ...blocks: string[]) =>
      check(
        `#include <type_traits>\ntemplate <class T> void go() { const int b = ${question} ? 64 : 128; k<<<1, b>>>(); }
         int main() { go<float>(); go<int*>(); go<unsigned>(); }`,
        ...blocks.map((b) => `k <<<(1,1,1),(${b},1,1),0>>>()`),
      );
    // launches that are alike are one
    ask('std::is_same<T, float>::value', '64', '128');
    ask('std::is_same_v<T, int *>', '128', '64');
    ask('std::is_floating_point<T>()', '64', '128');
    ask('(std::is_unsigned_v<T> || std::is_pointer<T>::value)', '128', '64');
    check(
      `template <class T> void go() { typename std::conditional<sizeof(T) == 4, short, double>::type x; k<<<1, 32 * sizeof(x)>>>(); }
       int main() { go<float>(); go<char>(); }`,
      'k <<<(1,1,1),(64,1,1),0>>>()',
      'k <<<(1,1,1),(256,1,1),0>>>()',
    );
    // what a name of an unread header is nobody knows
    check(
      'void go() { k<<<1, std::is_same<lib::Number, float>::value ? 64 : 128>>>(); } int main() { go(); }',
      'k <<<(1,1,1),(?,1,1),0>>>()',
    );
  });
});
