/** Destructors of local objects that do more than give memory back (values of g++). */
import { check, upload } from './check-contents';

describe('destructors of the host', () => {
  it('run where scopes end, the last object first, and on the way out of loops and functions', () => {
    check(`
__global__ void k(const int* log) {}
${upload}
struct Scope {
  std::vector<int>& log;
  int id;
  Scope(std::vector<int>& l, int i) : log(l), id(i) { log.push_back(id); }
  ~Scope() { log.push_back(-id); }
};
int enter(std::vector<int>& log, int n) {
  Scope outer(log, n);
  if (n == 0) return 7;
  { Scope inner(log, n * 10); }
  return enter(log, n - 1) + 1;
}
int main() {
  std::vector<int> log;
  const int r = enter(log, 2);
  for (int i = 0; i < 3; i++) {
    Scope s(log, 100 + i);
    if (i == 1) continue;
    if (i == 2) break;
  }
  log.push_back(r);
  k<<<1, 32>>>(up(log)); //= log: 2 20 -20 1 10 -10 0 0 -1 -2 100 -100 101 -101 102 -102 9
}`);
  });

  it('not of what is returned, which is the caller’s, and of members with their object', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
static int alive = 0;
struct Counted { int v; Counted(int x) : v(x) { alive++; } ~Counted() { alive--; } };
Counted make(int x) { Counted made(x); made.v++; return made; }
int inside() { Counted a(1); Counted b(2); return alive * 10 + a.v; }
struct Timer { int& total; int t; Timer(int& x) : total(x), t(5) {} ~Timer() { total += t; } };
struct Stage { Timer timer; int id; Stage(int& total, int i) : timer(total), id(i) {} };
int main() {
  Counted kept = make(3);
  const int one = alive, three = inside();
  int total = 0;
  for (int i = 0; i < 3; i++) { Stage s(total, i); s.timer.t += i; }
  { auto t = Timer(total); t.t = 100; }
  k<<<1, 32>>>(up(std::vector<int>{one, three, alive, kept.v}), total); //= a: 1 31 1 4, n: 118
}`);
  });

  it('give no memory back that something else may hold', () => {
    check(`
__global__ void k(const int* a, int n) {}
int buffers = 0;
struct Buffer {
  int* p;
  explicit Buffer(int n) { cudaMalloc(&p, n * 4); buffers++; }
  Buffer(Buffer&& other) noexcept : p(other.p) { other.p = nullptr; }
  ~Buffer() { if (p) { cudaFree(p); buffers--; } }
};
int main() {
  int a[2] = {3, 4};
  std::vector<Buffer> all;
  for (int i = 0; i < 2; i++) {
    Buffer b(2);
    cudaMemcpy(b.p, a, 8, cudaMemcpyHostToDevice);
    all.push_back(std::move(b));
  }
  k<<<1, 32>>>(all[1].p, 1); //= a: 3 4
}`);
  });

  it('of temporaries, parameters, elements and of what pointers hold', () => {
    check(`
__global__ void k(int n) {}
static int ended = 0;
struct Noted { int v; Noted(int x) : v(x) {} Noted(Noted&& o) : v(o.v) { o.v = 0; } ~Noted() { ended += v; } };
int taken(Noted n) { return n.v; }
int main() {
  Noted(1);
  k<<<1, 32>>>(ended); //= n: 1
  taken(Noted(10));
  k<<<1, 32>>>(ended); //= n: 11
  {
    std::vector<Noted> all;
    for (int i = 0; i < 3; i++) all.emplace_back(100);
    all.pop_back();
    k<<<1, 32>>>(ended); //= n: 111
  }
  auto p = std::make_unique<Noted>(1000);
  k<<<1, 32>>>(ended); //= n: 311
  p.reset();
  k<<<1, 32>>>(ended); //= n: 1311
}`);
  });

  it('of the class that an object is of, and guards that were moved', () => {
    check(`
__global__ void k(int n, int m) {}
static int ended = 0;
struct Base { virtual ~Base() { ended += 1; } };
struct Derived : Base { ~Derived() override { ended += 10; } };
struct Guard {
  int* at;
  explicit Guard(int* p) : at(p) {}
  Guard(Guard&& o) : at(std::exchange(o.at, nullptr)) {}
  ~Guard() { if (at) ++*at; }
};
Guard made(int* p) { Guard g(p); return g; }
int main() {
  int guarded = 0;
  {
    std::vector<std::unique_ptr<Base>> all;
    all.push_back(std::make_unique<Derived>());
    all.emplace_back(new Base);
    Guard g = made(&guarded), h = std::move(g);
  }
  Base* p = new Derived;
  delete p;
  k<<<1, 32>>>(ended, guarded); //= n: 23, m: 1
}`);
  });

  it('count what is shared', () => {
    check(`
__global__ void k(int n, int m) {}
struct Node { std::weak_ptr<Node> parent; std::vector<std::shared_ptr<Node>> children; };
int main() {
  auto root = std::make_shared<Node>();
  for (int i = 0; i < 2; i++) {
    auto child = std::make_shared<Node>();
    child->parent = root;
    root->children.push_back(child);
  }
  auto other = root;
  std::weak_ptr<Node> seen = root->children[0];
  k<<<1, 32>>>(root.use_count(), seen.use_count()); //= n: 2, m: 1
  other.reset();
  root->children.clear();
  k<<<1, 32>>>(root.use_count(), seen.expired()); //= n: 1, m: 1
}`);
  });
});
