/** Copies, moves and ends of objects (values of g++). */
import { check } from './check-contents';

describe('copies and moves of the host', () => {
  it('elements that are given one value have memory each, and so have references to what was made for them', () => {
    check(`
__global__ void k(int n, int m) {}
int first(const std::vector<int>& v) { std::vector<int> w = v; w[0] = 9; return v[0]; }
int main() {
  std::vector<std::vector<int>> rows(3, std::vector<int>(2, 1));
  rows[1][0] = 5;
  k<<<1, 32>>>(rows[0][0] * 10 + rows[1][0], first(std::vector<int>{4})); //= n: 15, m: 4
}`);
  });

  it('what was moved from is empty, but for classes that say how they are copied only', () => {
    check(`
__global__ void k(int n, int m) {}
struct Plain { std::vector<int> v; int n = 3; };
struct Copied { std::vector<int> v; Copied(std::vector<int> x) : v(x) {} Copied(const Copied& o) : v(o.v) {} };
int main() {
  std::vector<int> a{1, 2, 3}, b = std::move(a);
  Plain p{{1, 2}}, q = std::move(p);
  k<<<1, 32>>>(a.size() * 10 + b.size(), p.v.size() * 100 + q.v.size() * 10 + p.n); //= n: 3, m: 23
  Copied c({1, 2}), d = std::move(c);
  std::string s = "text", t;
  t = std::move(s);
  k<<<1, 32>>>(c.v.size() * 10 + d.v.size(), s.size() * 10 + t.size()); //= n: 22, m: 4
}`);
  });

  it('constructors and assignments that take what nobody else needs', () => {
    check(`
__global__ void k(int n, int m) {}
struct Buffer {
  int* p = nullptr;
  int n = 0;
  explicit Buffer(int x) : p(new int[x]), n(x) {}
  Buffer(Buffer&& o) : p(std::exchange(o.p, nullptr)), n(std::exchange(o.n, 0)) {}
  Buffer& operator=(Buffer&& o) { if (this != &o) { p = o.p; n = o.n; o.p = nullptr; o.n = 0; } return *this; }
};
int main() {
  Buffer a(5), b = std::move(a), c(2);
  c = std::move(b);
  k<<<1, 32>>>(a.n * 100 + b.n * 10 + c.n, b.p == nullptr); //= n: 5, m: 1
  std::vector<Buffer> all;
  all.push_back(std::move(c));
  all.emplace_back(7);
  Buffer d = std::move(all[0]);
  k<<<1, 32>>>(c.n * 100 + all[0].n * 10 + d.n, all[1].n); //= n: 5, m: 7
}`);
  });

  it('copying constructors are called, also where elements are copied', () => {
    check(`
__global__ void k(int n, int m) {}
static int copies = 0;
struct Row {
  int* p;
  explicit Row(int x) : p(new int[2]) { p[0] = x; }
  Row(const Row& o) : p(new int[2]) { p[0] = o.p[0]; copies++; }
  Row& operator=(Row o) { std::swap(p, o.p); return *this; }
};
int main() {
  Row a(1), b = a;
  b.p[0] = 2;
  std::vector<Row> rows(2, a);
  rows[0].p[0] = 7;
  a = b;
  k<<<1, 32>>>(a.p[0] * 100 + rows[1].p[0] * 10 + b.p[0], copies); //= n: 212, m: 4
}`);
  });

  it('the value of an increment behind the object, what is assigned before what it is assigned to', () => {
    check(`
__global__ void k(int n, int m) {}
struct Counter { int n = 0; Counter& operator++() { ++n; return *this; } Counter operator++(int) { Counter old = *this; ++n; return old; } };
int depth(int n) { static std::map<int, int> known; return n < 2 ? n : known[n] = depth(n - 1) + depth(n - 2); }
int main() {
  Counter c;
  const int before = (c++).n;
  k<<<1, 32>>>(before * 10 + (++c).n, depth(10)); //= n: 2, m: 55
}`);
  });

  it('a template of containers takes no other class', () => {
    check(`
__global__ void k(int n) {}
struct Pair { std::vector<int> v; int n; };
int main() {
  Pair a{{1, 2}, 3}, b{{4}, 5};
  std::swap(a, b);
  k<<<1, 32>>>(a.v[0] * 100 + b.v.size() * 10 + a.n); //= n: 425
}`);
  });
});
