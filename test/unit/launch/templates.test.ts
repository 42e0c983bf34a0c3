/** Launches that go through templates of the host. */
import assert from 'node:assert/strict';
import { check, launchesOf } from './support';

describe('templates', () => {
  const kernel = 'template <typename T, int B> __global__ void t(T* p, int n) {}\n';
  it('pass types and values on to kernels', () => {
    check(
      `${kernel}int main() { float* d; cudaMalloc(&d, 4); t<float, 128><<<1, 128>>>(d, 1); }`,
      't<float, 128> <<<(1,1,1),(128,1,1),0>>>(d, 1)',
    );
    check(
      `${kernel}template <typename U, int C> void run(U* p) { t<U, C * 2><<<1, C>>>(p, sizeof(U)); } int main() { double* d; run<double, 64>(d); float* f; run<float, 32>(f); }`,
      't<double, 128> <<<(1,1,1),(64,1,1),0>>>(?p, 8)',
      't<float, 64> <<<(1,1,1),(32,1,1),0>>>(?p, 4)',
    );
    check(
      'template <typename T> __global__ void t(T* p) {}\nint main() { float* d; cudaMalloc(&d, 4); t<<<1, 32>>>(d); }',
      't<float> <<<(1,1,1),(32,1,1),0>>>(d)',
    );
    check(
      'template <typename T = int, int N = 4> __global__ void t() {}\nint main() { t<><<<1, 32>>>(); }',
      't<int, 4> <<<(1,1,1),(32,1,1),0>>>()',
    );
  });
  it('are run with open parameters when nobody instantiates them', () => {
    check(
      `${kernel}template <typename U, int C> void run(U* p, int n) { t<U, C><<<n, C>>>(p, n); }`,
      't<U, ?C> <<<(?n,1,1),(?C,1,1),0>>>(p, ?n)',
    );
    check(
      `${kernel}template <typename U, int C> void run(U* p) { t<U, C><<<1, C>>>(p, 0); } template void run<int, 32>(int*);`,
      't<int, 32> <<<(1,1,1),(32,1,1),0>>>(p, 0)',
    );
  });
  it('forward packs', () => {
    check(
      'template <typename K, typename... A> void go(K f, dim3 b, A&&... a) { f<<<1, b>>>(std::forward<A>(a)...); } int main() { int n = 3; go(k, dim3(16, 2), n, 4.5f); }',
      'k <<<(1,1,1),(16,2,1),0>>>(3, 4.5)',
    );
    check(
      'template <int... N> void all() { (k<<<1, N>>>(), ...); } int main() { all<32, 64>(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
  });
  it('spread packs of numbers and types', () => {
    const pack =
      'template <typename T, int> using At = T;\ntemplate <typename T, typename... P> __global__ void t(T* a, P... p) {}\n';
    check(
      `${pack}template <typename T, size_t... I> void run(T* a, T** in, std::index_sequence<I...>) { t<T, At<const T*, I>...><<<1, 32>>>(a, (const T*)in[I + 1]...); }
       void f(float* a, float** in) { run(a, in, std::make_index_sequence<2>{}); }`,
      't<float, float*, float*> <<<(1,1,1),(32,1,1),0>>>(a, in[1], in[2])',
    );
    const sizes =
      'template <int N> __global__ void t() {}\ntemplate <class T, T... N> void all(std::integer_sequence<T, N...>) { (t<32 << N><<<1, 32 << N>>>(), ...); }';
    check(
      `${sizes} int main() { all(std::make_integer_sequence<int, 2>{}); }`,
      't<32> <<<(1,1,1),(32,1,1),0>>>()',
      't<64> <<<(1,1,1),(64,1,1),0>>>()',
    );
    check(
      'template <int N> __global__ void t() {}\ntemplate <int... N> void all(std::integer_sequence<int, N...>) { (t<N><<<1, N>>>(), ...); } int main() { all(std::integer_sequence<int, 96, 32>{}); }',
      't<96> <<<(1,1,1),(96,1,1),0>>>()',
      't<32> <<<(1,1,1),(32,1,1),0>>>()',
    );
    check(
      'template <int N> __global__ void t() {}\ntemplate <int... N> struct List {}; template <int... N> void run(List<N...>) { (t<N><<<1, N>>>(), ...); } int main() { run(List<32, 64>()); }',
      't<32> <<<(1,1,1),(32,1,1),0>>>()',
      't<64> <<<(1,1,1),(64,1,1),0>>>()',
    );
  });
  it('are reached through functors', () => {
    const functor =
      'template <typename T> __global__ void t(T* a) {}\ntemplate <int B> struct Go { template <typename T> void operator()(T* a) { t<T><<<1, B>>>(a); } };';
    check(`${functor} void f(float* a) { Go<64> go; go(a); }`, 't<float> <<<(1,1,1),(64,1,1),0>>>(a)');
    check(
      `${functor} template <class F> void run(void* a, int type) { if (type == 0) F()((float*)a); else F()((int*)a); } void f(void* a, int type) { run<Go<32>>(a, type); }`,
      't<float> <<<(1,1,1),(32,1,1),0>>>(a)',
      't<int> <<<(1,1,1),(32,1,1),0>>>(a)',
    );
  });
  it('give constants through traits', () => {
    check(
      'template <typename T> struct Cfg { static const int B = 64; }; template <> struct Cfg<double> { static const int B = 32; }; template <typename T> void run() { k<<<1, Cfg<T>::B>>>(); } int main() { run<float>(); run<double>(); }',
      'k <<<(1,1,1),(64,1,1),0>>>()',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    check(
      'template <int A, int B> struct Tile { static constexpr int n = A * B; using Self = Tile; }; int main() { using T = Tile<4, 8>; k<<<1, T::n>>>(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    check(
      'template <int N> __global__ void t() {}\ntemplate <typename F> void dispatch(F f) { f(std::integral_constant<int, 4>{}); } int main() { dispatch([](auto c) { constexpr int n = c; t<n><<<1, 32>>>(); }); }',
      't<4> <<<(1,1,1),(32,1,1),0>>>()',
    );
    check(
      'template <bool F> void run() { if constexpr (F) k<<<1, 32>>>(); else k<<<1, 64>>>(); } int main() { run<true>(); run<false>(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
  });
  it('meet using declarations that are named as what they come from', () => {
    check(
      'template <typename T> struct Base { static const int B = 64; Base() {} }; struct Own : Base<float> { using Base<float>::Base; int size() { return Base<float>::B; } }; int main() { Own own; own.size(); k<<<1, 64>>>(); }',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
    check(
      'namespace part { const int part = 96; } namespace whole { using part::part; int size() { return part; } } int main() { k<<<1, whole::size()>>>(); }',
      'k <<<(1,1,1),(96,1,1),0>>>()',
    );
  });
  it('derive from other instances of themselves', () => {
    // which instance is not known
    check(
      'template <typename T, int N> struct Sum : public Sum<T, 1> { enum { size = N }; }; int main() { k<<<1, Sum<Missing, OPEN>::other>>>(); k<<<1, 32>>>(); }',
      'k <<<(1,1,1),(?Sum::other,1,1),0>>>()',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    check(
      'template <int N, int W> struct Sum : public Sum<1, W> { enum { size = N }; }; int main() { int open = read(); k<<<1, Sum<4, open>::other>>>(); k<<<1, 32>>>(); }',
      'k <<<(1,1,1),(?Sum::other,1,1),0>>>()',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
  });
  it('pass user types', () => {
    check(
      'namespace g { template <typename T> struct V { T x; }; } template <typename T> __global__ void t(T v) {}\nint main() { g::V<float> v{2.0f}; t<<<1, 32>>>(v); }',
      't<g::V<float>> <<<(1,1,1),(32,1,1),0>>>({x: 2})',
    );
  });
  it('run templates whose address is taken, in the instances that are named', () => {
    check(
      'template <int N> __global__ void t() {}\ntemplate <int N> void run(int n) { t<N><<<n, 32>>>(); } typedef void (*Run)(int); Run choose(int type) { switch (type) { case 1: return run<4>; default: return run<8>; } }',
      't<4> <<<(?n,1,1),(32,1,1),0>>>()',
      't<8> <<<(?n,1,1),(32,1,1),0>>>()',
    );
  });
  it('tell flags by the types of generic arguments', () => {
    check(
      'template <bool B> __global__ void t() {}\nvoid f(bool b) { const auto go = [&](auto flag) { constexpr bool set = decltype(flag)::value; t<set><<<1, 32>>>(); }; if (b) go(std::true_type{}); else go(std::false_type{}); }',
      't<1> <<<(1,1,1),(32,1,1),0>>>()',
      't<0> <<<(1,1,1),(32,1,1),0>>>()',
    );
  });
  it('know a type without a name by its alias', () => {
    check(
      'typedef struct { short d; char q[16]; } Block; template <class B> __global__ void t(B* p) {}\nint main() { Block* b; cudaMalloc(&b, 64); t<<<1, 32>>>(b); }',
      't<Block> <<<(1,1,1),(32,1,1),0>>>(b)',
    );
  });
  it('keep the launches of every kernel that goes through one wrapper', () => {
    const sizes = Array.from({ length: 30 }, (_, i) => `k<<<1, ${i + 1}>>>`);
    const report = launchesOf(
      `__global__ void a(int n) {} __global__ void b(int n) {} template <class K> void go(K kernel, int n) { kernel<<<1, 32>>>(n); }
       int main() { ${sizes.map((_, i) => `go(a, ${i});`).join(' ')} go(b, 7); }`,
    );
    assert.deepEqual([...new Set(report.map(({ kernel }) => kernel.name))], ['a', 'b']);
  });
  it('initialise a static variable once', () => {
    check(
      'int next() { static int n = 3; return n++; } int main() { next(); next(); k<<<1, 32>>>(next()); }',
      'k <<<(1,1,1),(32,1,1),0>>>(5)',
    );
    check(
      'template <int N> int next() { static int n = N; return n++; } int main() { next<1>(); k<<<1, 32>>>(next<7>()); }',
      'k <<<(1,1,1),(32,1,1),0>>>(7)',
    );
  });
});
