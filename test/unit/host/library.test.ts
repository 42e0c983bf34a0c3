/** What the programs of the host use of the C++ library: numbers and orders are what g++ 12 prints. */
import { check } from './check-contents';

const common = `
__global__ void kernel(const int* a, int n) { if (a[0]) __nanosleep(n); }
int digits(int so_far, int next) { return (so_far * 31 + next) % 1000003; }
template <class R> int all(const R& r) { int n = 0; for (int x : r) n = digits(n, x); return n; }`;

function checkMain(body: string, declarations = ''): void {
  check(`${common}\n${declarations}\nint main() {\n  int* d_;\n  cudaMalloc(&d_, 16);\n${body}\n}`);
}

describe('the library in programs of the host', () => {
  it('spans of vectors, arrays and parts of them', () => {
    checkMain(
      `
  std::vector<int> x(32, 5);
  std::span<int> s{x};
  for (size_t i = 0; i < s.size(); ++i) s[i] = i * 3;
  for (int& y : s.subspan(4, 8)) y = 9;
  auto head = s.first(3);
  head[0] = 1;
  kernel<<<1, 32>>>(d_, all(x)); //= n: 530978
  std::vector<int> y(s.begin() + 3, s.begin() + 6);
  kernel<<<1, 32>>>(d_, sum(y)); //= n: 27
  int a[3] = {1, 2, 3};
  std::span<int> t(a);
  kernel<<<1, 32>>>(d_, sum(t)); //= n: 6`,
      `int sum(std::span<const int> s) { int n = 0; for (int x : s) n += x; return n; }`,
    );
  });

  it('static members that are defined outside of their class', () => {
    checkMain(
      `
  S::n++;
  kernel<<<1, 32>>>(d_, S::n); //= n: 6
  kernel<<<1, 32>>>(d_, (int)S::shape.y); //= n: 2
  kernel<<<1, 32>>>(d_, S::factors[1] + (int)S::names.size()); //= n: 33
  P<int>::m += 2;
  kernel<<<1, 32>>>(d_, P<int>::m); //= n: 8
  kernel<<<1, 32>>>(d_, P<float>::m); //= n: 6
  kernel<<<1, 32>>>(d_, P<char>::m); //= n: 60
  kernel<<<1, 32>>>(d_, (int)S::pair.size() + S::inside); //= n: 9`,
      `struct S { static int n; static dim3 shape; static int factors[2]; static std::vector<int> names; static inline std::vector<int> pair{1, 2}; static inline int inside = 7; };
int S::n = 5;
dim3 S::shape(4, 2);
int S::factors[2] = {3, 30};
std::vector<int> S::names{1, 2, 3};
template <class T> struct P { static int m; };
template <class T> int P<T>::m = 6;
template <> int P<char>::m = 60;`,
    );
  });

  it('pointers to pointers that become constant on the way', () => {
    checkMain(
      `
  float* rows[2] = {nullptr, nullptr};
  int** p = nullptr;
  kernel<<<1, 32>>>(d_, count(rows, 2)); //= n: 2
  kernel<<<1, 32>>>(d_, count(p, 3)); //= n: 30`,
      `int count(const float* const* rows, int n) { return n; }
int count(int const* const* rows, int n) { return 10 * n; }`,
    );
  });

  it('variables of namespaces without a name', () => {
    checkMain(
      `
  step++;
  kernel<<<1, 32>>>(d_, step); //= n: 9
  kernel<<<1, 32>>>(d_, app::table[2] + app::later); //= n: 12
  kernel<<<1, 32>>>(d_, (int)names.size()); //= n: 3`,
      `namespace { int step = 8; std::vector<int> names{1, 2, 3}; }
namespace app { namespace { int table[4] = {1, 2, 3, 4}; } int later = table[3] + 5; }`,
    );
  });

  it('a switch that declares what it looks at', () => {
    checkMain(
      `
  int n = 0;
  switch (Mode m = pick(1)) { case Mode::slow: n += 1; break; case Mode::fast: n += 10; }
  switch (int r = n % 4; r) { case 2: n += 100; break; default: n += 1000; }
  kernel<<<1, 32>>>(d_, n); //= n: 110`,
      `enum class Mode { slow, fast }; Mode pick(int i) { return i ? Mode::fast : Mode::slow; }`,
    );
  });

  it('lambdas keep the numbers that they captured by value, and state of their own', () => {
    checkMain(`
  int k = 3;
  auto times = [k](int x) { return x * k; };
  auto copy = [=] { return k; };
  auto add = [&k, step = k * 2](int x) { k += x; return step; };
  k = 5;
  kernel<<<1, 32>>>(d_, times(1) + 10 * copy()); //= n: 33
  kernel<<<1, 32>>>(d_, add(2) + 10 * k); //= n: 76
  auto next = [i = 10]() mutable { return i++; };
  next();
  kernel<<<1, 32>>>(d_, next()); //= n: 11
  std::vector<int> w(5);
  std::generate(w.begin(), w.end(), [n = 1]() mutable { n *= 2; return n; });
  kernel<<<1, 32>>>(d_, all(w)); //= n: 974419`);
  });

  it('what is sorted without regard to equal elements lies as in libstdc++', () => {
    checkMain(
      `
  std::mt19937 g(7);
  std::vector<P> p(500);
  for (int i = 0; i < 500; ++i) p[i] = {int(g() % 20), i};
  auto before = [](const P& a, const P& b) { return a.key < b.key; };
  std::vector<P> q = p;
  std::sort(q.begin(), q.end(), before);
  kernel<<<1, 32>>>(d_, ids(q)); //= n: 614937
  q = p;
  std::nth_element(q.begin(), q.begin() + 60, q.end(), before);
  kernel<<<1, 32>>>(d_, ids(q)); //= n: 837381
  std::partial_sort(q.begin(), q.begin() + 50, q.end(), before);
  kernel<<<1, 32>>>(d_, ids(q)); //= n: 51547
  std::make_heap(q.begin(), q.end(), before);
  std::pop_heap(q.begin(), q.end(), before);
  q.back() = {3, 1000};
  std::push_heap(q.begin(), q.end(), before);
  kernel<<<1, 32>>>(d_, ids(q)); //= n: 164650
  std::sort_heap(q.begin(), q.end(), before);
  kernel<<<1, 32>>>(d_, ids(q)); //= n: 872301
  std::stable_sort(p.begin(), p.end(), before);
  kernel<<<1, 32>>>(d_, ids(p)); //= n: 192609
  std::priority_queue<P> heap;
  for (int i = 0; i < 300; ++i) heap.push({(i * 37) % 10, i});
  int n = 0;
  for (; !heap.empty(); heap.pop()) n = digits(n, heap.top().id);
  kernel<<<1, 32>>>(d_, n); //= n: 299160`,
      `struct P { int key; int id; bool operator<(const P& b) const { return key < b.key; } };
int ids(const std::vector<P>& v) { int n = 0; for (auto& p : v) n = digits(n, p.id); return n; }`,
    );
  });

  it('alternatives are visited, tuples joined and applied', () => {
    checkMain(`
  std::variant<int, float> v = 3;
  kernel<<<1, 32>>>(d_, std::visit([](auto a) { return int(a * 2); }, v)); //= n: 6
  v = 2.5f;
  kernel<<<1, 32>>>(d_, std::visit([](auto a) { return int(a * 2); }, v)); //= n: 5
  auto t = std::tuple_cat(std::make_tuple(1, 2), std::make_tuple(3));
  int n = 0;
  std::apply([&](auto... x) { ((n = digits(n, x)), ...); }, t);
  kernel<<<1, 32>>>(d_, n); //= n: 1026`);
  });

  it('elements are appended through iterators, and erased by a condition', () => {
    checkMain(`
  std::vector<int> v{5, 2, 8, 1, 9}, w;
  std::copy_if(v.begin(), v.end(), std::back_inserter(w), [](int x) { return x & 1; });
  std::transform(v.begin(), v.end(), std::back_inserter(w), [](int x) { return x + 1; });
  kernel<<<1, 32>>>(d_, all(w)); //= n: 459676
  std::erase_if(w, [](int x) { return x % 3 == 0; });
  kernel<<<1, 32>>>(d_, all(w)); //= n: 149988
  std::transform(v.begin(), v.end(), v.begin(), v.begin(), [](int a, int b) { return a * b; });
  kernel<<<1, 32>>>(d_, all(v)); //= n: 268736
  std::deque<int> d{1, 2};
  d.push_front(7);
  kernel<<<1, 32>>>(d_, all(d)); //= n: 6760
  std::list<int> l{3, 1, 2};
  l.sort();
  l.remove(2);
  kernel<<<1, 32>>>(d_, all(l)); //= n: 34
  std::bitset<40> b(11);
  b.set(12);
  kernel<<<1, 32>>>(d_, int((b >> 1).to_ulong()) + (int)b.count()); //= n: 2057`);
  });

  it('algorithms of ranges, and numbers that are counted through', () => {
    checkMain(`
  std::vector<int> v(8);
  std::ranges::generate(v, [i = 0]() mutable { return i++ * 2 % 7; });
  std::ranges::sort(v, std::greater<>{});
  kernel<<<1, 32>>>(d_, all(v)); //= n: 41891
  std::ranges::reverse(v);
  int n = *std::ranges::max_element(v);
  for (int i : std::views::iota(2, 6)) n = digits(n, i * v[i]);
  kernel<<<1, 32>>>(d_, n); //= n: 606851`);
  });

  it('complex numbers', () => {
    checkMain(`
  std::complex<double> z(1, 2);
  z = z * z + std::conj(z);
  kernel<<<1, 32>>>(d_, int(z.real() * 10 + z.imag())); //= n: -18
  z = std::polar(2.0, 0.5) * z;
  kernel<<<1, 32>>>(d_, int(std::abs(z) * 100)); //= n: 565
  std::vector<std::complex<float>> x(3);
  x[1] = {3.0f, 4.0f};
  x[2] = x[1] / std::complex<float>(0, 1);
  kernel<<<1, 32>>>(d_, int(std::norm(x[2]) + x[2].real())); //= n: 29`);
  });

  it('distributions', () => {
    checkMain(`
  std::mt19937 g(5);
  std::discrete_distribution<int> d{1, 2, 3};
  std::poisson_distribution<int> p(4.0);
  std::geometric_distribution<int> e(0.3);
  std::lognormal_distribution<float> l(0.5f, 0.25f);
  std::gamma_distribution<double> a(0.7, 2.0);
  std::weibull_distribution<double> w(1.5, 2.0);
  int n = 0;
  for (int i = 0; i < 50; ++i) {
    n = digits(n, d(g));
    n = digits(n, p(g));
    n = digits(n, e(g));
    n = digits(n, int(l(g) * 1000));
    n = digits(n, int(a(g) * 1000));
    n = digits(n, int(w(g) * 1000));
  }
  kernel<<<1, 32>>>(d_, n); //= n: 896721`);
  });

  it('a static variable of a function that is inlined twice begins with the call that came first', () => {
    checkMain(
      `
  int none = 0;
  for (int i = 1; i < 1; i++) none += first(7);
  kernel<<<1, 32>>>(d_, first(5)); //= n: 5
  kernel<<<1, 32>>>(d_, first(9)); //= n: 5`,
      'int first(int n) { static int kept = n; return kept; }',
    );
  });

  it('sorts and searches as C does: what compares equal keeps its order', () => {
    check(`
__global__ void k(const int* keys, const double* d, int found, int missing) {}
typedef struct { int key, was; } Entry;
static int byKey(const void* a, const void* b) { return ((const Entry*)a)->key - ((const Entry*)b)->key; }
static int up(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
int main() {
  Entry e[5] = {{4, 0}, {1, 1}, {4, 2}, {0, 3}, {1, 4}};
  qsort(e, 5, sizeof(Entry), byKey);
  double d[4] = {2.5, -1, 7, 0};
  std::qsort(d + 1, 3, sizeof *d, up);
  Entry four = {4, 9}, three = {3, 9};
  Entry* at = (Entry*)bsearch(&four, e, 5, sizeof(Entry), byKey);
  bool isMissing = bsearch(&three, e, 5, sizeof(Entry), byKey) == NULL;
  int* keys;
  double* values;
  cudaMalloc(&keys, sizeof e);
  cudaMalloc(&values, sizeof d);
  cudaMemcpy(keys, e, sizeof e, cudaMemcpyHostToDevice);
  cudaMemcpy(values, d, sizeof d, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(keys, values, at->key, isMissing); //= keys: 0 3 1 1 1 4 4 0 4 2, d: 2.5 -1 0 7, found: 4, missing: 1
}`);
  });

  it('ranges are sorted by what a function makes of each element, with the default comparison in braces', () => {
    checkMain(
      `
  std::vector<Entry> e = {{3, 1}, {1, 5}, {1, 4}};
  std::ranges::sort(e, {}, [](const Entry& x) { return std::tuple(x.key, x.value); });
  int n = 0;
  for (auto& x : e) n = n * 100 + x.key * 10 + x.value;
  kernel<<<1, 32>>>(d_, n); //= n: 141531
  std::ranges::stable_sort(e, std::greater<>(), [](const Entry& x) { return x.value; });
  n = 0;
  for (auto& x : e) n = n * 100 + x.key * 10 + x.value;
  kernel<<<1, 32>>>(d_, n); //= n: 151431
  auto least = std::ranges::min_element(e, {}, [](const Entry& x) { return x.value - 3 * x.key; });
  kernel<<<1, 32>>>(d_, least->key); //= n: 3`,
      'struct Entry { int key, value; };',
    );
  });
});
