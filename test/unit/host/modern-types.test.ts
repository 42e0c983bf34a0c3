/** Types of modern C++ in host code (values of g++). */
import { check, upload } from './check-contents';

describe('data of the host', () => {
  it('orders of sets, maps, queues, arrays and tuples', () => {
    check(`
__global__ void k(const int* a, const int* b, const int* c) {}
${upload}
struct Item { int x, y; };
int main() {
  std::vector<int> w{5, 1, 4, 2}, a, b, c;
  auto lighter = [&w](int i, int j) { return w[i] < w[j]; };
  std::set<int, decltype(lighter)> byWeight(lighter);
  for (int i = 0; i < 4; i++) byWeight.insert(i);
  for (int i : byWeight) a.push_back(i);
  auto nearer = [](const std::pair<float, int>& p, const std::pair<float, int>& q) { return p.first > q.first; };
  std::priority_queue<std::pair<float, int>, std::vector<std::pair<float, int>>, decltype(nearer)> open(nearer);
  open.push({3.f, 1});
  open.push({1.f, 2});
  open.push({2.f, 3});
  while (!open.empty()) { a.push_back(open.top().second); open.pop(); }
  k<<<1, 32>>>(up(a), up(w), up(w)); //= a: 1 3 2 0 2 3 1
  std::map<std::pair<int, int>, int> edges;
  const int ends[5][2] = {{1, 2}, {2, 1}, {0, 3}, {3, 0}, {1, 3}};
  for (auto& e : ends) {
    const auto [it, isNew] = edges.try_emplace(std::minmax(e[0], e[1]), (int)edges.size());
    b.push_back(it->second * 10 + isNew);
  }
  std::map<std::array<int, 3>, int> corners;
  for (int axis = 0; axis < 3; axis++) {
    std::array<int, 3> at;
    at[axis] = 1;
    at[(axis + 1) % 3] = 2;
    at[(axis + 2) % 3] = 3;
    corners.emplace(at, axis);
  }
  for (auto& [at, axis] : corners) b.push_back(at[0] * 10 + axis);
  std::vector<Item> items{{2, 1}, {1, 9}, {1, 3}};
  std::sort(items.begin(), items.end(), [](const Item& p, const Item& q) { return std::tie(p.x, p.y) < std::tie(q.x, q.y); });
  for (auto& i : items) c.push_back(i.y);
  std::set<int, std::greater<int>> down{3, 8, 5};
  c.push_back(*down.begin());
  c.push_back(*std::set<int>(w.begin(), w.end()).lower_bound(3));
  k<<<1, 32>>>(up(a), up(b), up(c)); //= b: 1 0 11 10 21 10 22 31, c: 3 9 1 8 4
}`);
  });

  it('variants of containers and pointers, visited by one lambda or by one of several', () => {
    check(`
__global__ void k(const int* a) {}
${upload}
struct Whole { std::vector<int> v; };
struct Real { std::vector<float> v; };
using Any = std::variant<const Whole*, const Real*>;
using Result = std::variant<Whole, Real>;
template <class... F> struct overloaded : F... { using F::operator()...; };
template <class... F> overloaded(F...) -> overloaded<F...>;
int main() {
  Whole w{{1, 2, 3}};
  Real r{{4.f, 5.f}};
  const std::array<Any, 3> all = {&w, &r, &w};
  std::vector<int> a;
  std::vector<Result> results;
  for (const Any& each : all) {
    a.push_back(std::visit([](auto p) { return (int)(p->v[1] * 2); }, each));
    results.push_back(std::visit([](auto p) -> Result { auto copy = *p; copy.v.push_back(9); return copy; }, each));
  }
  a.push_back((int)std::get<Whole>(results[0]).v.size());
  a.push_back((int)results[1].index());
  std::vector<std::variant<int, float, std::string>> mixed{1, 2.5f, std::string("abc")};
  for (auto& each : mixed)
    a.push_back(std::visit(overloaded{[](int i) { return i; }, [](float f) { return (int)(f * 4); }, [](const std::string& s) { return (int)s.size(); }}, each));
  k<<<1, 32>>>(up(a)); //= a: 4 10 4 4 1 1 10 3
}`);
  });

  it('members that a list leaves out, members that refer, operators of classes, aliases of classes that name them', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
${upload}
struct Options { int n = 64; float scale = 0.5f; std::vector<int> sizes{2, 3}; };
struct Sink { std::vector<int>& to; int times; void add(int x) const { for (int i = 0; i < times; i++) to.push_back(x); } };
struct Node;
using NodePtr = std::unique_ptr<Node>;
struct Node { int op, value = 0; NodePtr left, right; };
NodePtr leaf(int op, int value = 0) { auto n = std::make_unique<Node>(); n->op = op; n->value = value; return n; }
NodePtr join(int op, NodePtr a, NodePtr b) { auto n = leaf(op); n->left = std::move(a); n->right = std::move(b); return n; }
NodePtr operator&&(NodePtr a, NodePtr b) { return join(1, std::move(a), std::move(b)); }
NodePtr operator<(NodePtr a, NodePtr b) { return join(2, std::move(a), std::move(b)); }
void compile(const Node& n, std::vector<int>& code) {
  if (n.left != nullptr) compile(*n.left, code);
  if (n.right) compile(*n.right, code);
  code.push_back(n.op * 100 + n.value);
}
int main() {
  std::vector<int> a, code;
  const Options all = Options{}, some{.scale = 2.f}, one{7};
  for (const Options& o : {all, some, one}) { a.push_back(o.n); a.push_back((int)(o.scale * 4)); }
  a.push_back(all.sizes[1]);
  Sink sink{a, 2};
  sink.add(5);
  compile(*((leaf(0, 3) < leaf(0, 4)) && leaf(0, 5)), code);
  k<<<1, 32>>>(up(a), up(code)); //= a: 64 2 64 8 7 2 3 5 5, b: 3 4 200 5 100
}`);
  });

  it('packs before what is deduced, elements by their type, columns of a table', () => {
    check(`
__global__ void k(const int* a) {}
${upload}
template <class T> struct Column { T* p; int n; explicit Column(const std::vector<T>& v) : n((int)v.size()) { p = new T[n]; for (int i = 0; i < n; i++) p[i] = v[i]; } T* data() { return p; } };
struct Place { int x; };
struct Speed { int y; };
template <class... C> class Table {
  std::tuple<Column<C>...> columns_;
 public:
  Table(const std::vector<C>&... init) : columns_(Column<C>(init)...) {}
  template <class X> Column<X>& get() { return std::get<Column<X>>(columns_); }
  template <class... Wanted, class F> void each(F f) { f(get<Wanted>().data()...); }
};
int main() {
  std::vector<Place> places{{1}, {2}};
  std::vector<Speed> speeds{{3}, {4}};
  Table<Place, Speed> table(places, speeds);
  std::vector<int> a;
  table.each<Place, Speed>([&](Place* p, Speed* s) { a.push_back(p[1].x); a.push_back(s[0].y); });
  auto both = [&](auto& t) { t.template each<Speed>([&](Speed* s) { a.push_back(s[1].y); }); };
  both(table);
  k<<<1, 32>>>(up(a)); //= a: 2 3 4
}`);
  });

  it('classes made of a list as a whole, numbers with suffixes, sets of bits', () => {
    check(`
__global__ void k(int n) {}
template <class T, int R, int C> struct Matrix {
  T a[R][C]{};
  Matrix() = default;
  Matrix(std::initializer_list<T> values) { int i = 0; for (const T& v : values) { a[i / C][i % C] = v; ++i; } }
  T& operator()(int r, int c) { return a[r][c]; }
};
constexpr unsigned long long operator""_KiB(unsigned long long n) { return n << 10; }
int main() {
  Matrix<int, 2, 3> m{1, 2, 3, 4, 5, 6};
  k<<<1, 32>>>(m(0, 1) * 10 + m(1, 2)); //= n: 26
  k<<<1, 32>>>(48_KiB + 1); //= n: 49153
  std::bitset<64> bits(0xF0F0u);
  bits.set(40).flip(4);
  bits <<= 3;
  k<<<1, 32>>>(bits.count() * 100 + bits.test(43)); //= n: 801
}`);
  });

  it('what a function that is not followed returns, arrays within it too', () => {
    check(`
__global__ void k(int n, int m) {}
struct Words { unsigned w[4]; int n; };
Words other(int);
int main() {
  Words x{{1, 2, 3, 4}, 5};
  k<<<1, 32>>>(x.w[1], x.n); //= n: 2, m: 5
  x = other(3);
  k<<<1, 32>>>(x.w[1], x.n); //= n: ?, m: ?
}`);
  });

  it('virtual methods of local objects', () => {
    check(`
__global__ void k(int n) {}
struct Leaf;
struct Visitor { virtual void on(const Leaf&) = 0; };
struct Node { virtual ~Node() = default; virtual void accept(Visitor& v) const = 0; };
template <class D> struct Base : Node { void accept(Visitor& v) const override { v.on(static_cast<const D&>(*this)); } };
struct Leaf : Base<Leaf> { int n; Leaf(int n) : n(n) {} };
struct Sum : Visitor { int sum = 0; void on(const Leaf& leaf) override { sum += leaf.n; } };
int main() {
  Sum s;
  Leaf a(3);
  a.accept(s);
  std::unique_ptr<Node> b = std::make_unique<Leaf>(4);
  b->accept(s);
  k<<<1, 32>>>(s.sum); //= n: 7
}`);
  });

  it('variants of records are told by their type, and may lead to themselves through pointers', () => {
    check(`
__global__ void k(const int* code, int n, int width) {}
struct Number { float value; };
struct Variable { int index; };
struct Minus;
struct Plus;
using Node = std::variant<Number, Variable, std::unique_ptr<Minus>, std::unique_ptr<Plus>>;
struct Minus { Node of; };
struct Plus { Node left, right; };
template <class... F> struct overloaded : F... { using F::operator()...; };
template <class... F> overloaded(F...) -> overloaded<F...>;
int widthOf(const Node& n) {
  return std::visit(overloaded{[](Number) { return 1; }, [](Variable v) { return 10 + v.index; }, [](const auto&) { return 0; }}, n);
}
void compile(const Node& n, std::vector<int>& code) {
  std::visit(overloaded{
    [&](const Number& c) { code.push_back(int(c.value * 2)); },
    [&](const Variable& v) { code.push_back(100 + v.index); },
    [&](const std::unique_ptr<Minus>& m) { compile(m->of, code); code.push_back(-1); },
    [&](const std::unique_ptr<Plus>& p) { compile(p->left, code); compile(p->right, code); code.push_back(-2); },
  }, n);
}
int main() {
  Node three = Variable{3};
  Node sum = std::make_unique<Plus>(Plus{Variable{7}, std::make_unique<Minus>(Minus{Number{1.5f}})});
  std::vector<int> code;
  compile(three, code);
  compile(sum, code);
  int* d;
  cudaMalloc(&d, 4 * code.size());
  cudaMemcpy(d, code.data(), 4 * code.size(), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, code.size(), widthOf(three)); //= code: 103 107 3 -1 -2, n: 5, width: 13
}`);
  });
  it('classes by the signature of a function, and a table of functions that variables fill before main', () => {
    check(`
__global__ void k(const int* out, int n, int count) {}
struct Job { int* out; int n; };
template <class F> struct Taken;
template <class R, class A> struct Taken<R (*)(A)> { using type = A; static constexpr int count = 1; };
template <class R, class... A> struct Taken<R (*)(int, A...)> { static constexpr int count = 10 + sizeof...(A); };
template <class T> struct Table {
  using Entry = void (*)(T);
  static std::map<std::string, Entry>& all() { static std::map<std::string, Entry> table; return table; }
  static bool add(const std::string& name, Entry entry) { all()[name] = entry; return true; }
};
int three(int a, float b, Job c);
void fill(Job job) { k<<<1, 32>>>(job.out, job.n, Taken<decltype(&three)>::count); } //= n: 20, count: 12
int three(int a, float b, Job c) { return a; }
namespace { const bool isAdded = Table<Taken<decltype(&fill)>::type>::add("fill", fill); }
int main() {
  Job job;
  cudaMalloc(&job.out, 128);
  sscanf("20", "%d", &job.n);
  auto found = Table<Job>::all().find("fill");
  if (found != Table<Job>::all().end()) found->second(job);
}`);
  });
});
