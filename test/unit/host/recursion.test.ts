/** Recursions of the host: followed to their ends (values of g++), and what is known behind those that cannot be. */
import { check, upload } from './check-contents';

describe('data of the host', () => {
  it('goes on behind a recursion that cannot be followed without what it may have changed', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
int calls = 0;
template <class... T> int depth(int n, T... t) { calls++; return n == 0 ? 0 : 1 + depth(n - 1, t...); }
template <class... T> void count(int n, int& total, T... t) { if (n > 0) { total++; count(n - 1, total, t...); } }
int main() {
  std::vector<int> a(1, 1);
  k<<<1, 32>>>(up(a), calls); //= a: 1, n: 0
  a[0] = depth(100);
  k<<<1, 32>>>(up(a), calls); //= a: ?, n: ?
  a[0] = 3;
  int total = 5;
  k<<<1, 32>>>(up(a), total); //= a: 3, n: 5
  count(100, total);
  k<<<1, 32>>>(up(a), total); //= a: 3, n: ?
}`);
  });

  it('keeps behind such a recursion what it was given to read', () => {
    check(`
__global__ void k(const int* a, const int* b, const int* c) {}
${upload}
struct Item { float x; int id; };
struct View { const int* at; };
template <class... T>
int halve(const std::vector<Item>& items, const int* keys, std::vector<int>& order, int b, int e, T... t) {
  if (e - b < 2) return order[b] = keys[b] + items[b].id;
  return halve(items, keys, order, b, (b + e) / 2, t...) + halve(items, keys, order, (b + e) / 2, e, t...);
}
int main() {
  std::vector<Item> items(4000);
  std::vector<int> keys(4000), order(4000, 9), ids(1);
  for (int i = 0; i < 4000; i++) { items[i].id = 2 * i; keys[i] = i + 5; }
  halve(items, keys.data(), order, 0, 4000);
  ids[0] = items[3].id;
  k<<<1, 32>>>(up(ids), up(keys), up(order)); //= a: 6, b: 5 6, c: ? ?
}`);
  });

  it('a container that such a recursion may have made larger leads to no other memory', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
template <class... T> int grow(std::vector<int>& nodes, int b, int e, T... t) {
  int me = nodes.size();
  nodes.push_back(0);
  if (e - b > 1) { grow(nodes, b, (b + e) / 2, t...); grow(nodes, (b + e) / 2, e, t...); }
  nodes[me] = e;
  return me;
}
int main() {
  std::vector<int> a(2, 7), nodes;
  grow(nodes, 0, 4000);
  nodes[0] = 4;
  k<<<1, 32>>>(up(a), a[1]); //= a: 7 7, n: 7
}`);
  });

  it('behind a recursion that gives a pointer keeps nothing that it may lead to', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
\${upload}
template <class... T> int* last(int* from, int* to, T... t) { return to - from < 2 ? from : last(from + 1, to, t...); }
int main() {
  int a[2] = {1, 1}, b[900];
  int *da, *db;
  cudaMalloc(&da, sizeof a);
  cudaMalloc(&db, sizeof b);
  *last(b, b + 900) = 5;
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(da, db); //= a: ?, b: ?
}`);
  });

  it('is followed to its end, whatever its size', () => {
    const body = Array.from({ length: 60 }, (_, i) => `if (v[(i + ${i}) % n] < 0) v[j] += v[(i + ${i}) % n];`).join(
      '\n',
    );
    check(`
__global__ void k(const int* a, const int* b) {}
${upload}
void arrange(int* v, int n, int i, int j) {
  ${body}
  if (j - i > 1) { arrange(v, n, i, (i + j) / 2); arrange(v, n, (i + j) / 2, j); }
  else v[i] += i;
}
int main() {
  std::vector<int> a(64, 1), b(64, 2);
  arrange(b.data(), 64, 0, 64);
  k<<<1, 32>>>(up(a), up(b)); //= a: 1 1, b: 2 3 4
}`);
  });

  it('every run has variables, arrays and containers of its own', () => {
    check(`
__global__ void k(const int* nodes, const int* sums, int most) {}
${upload}
struct Node { int axis, left, right, point; };
struct Tree {
  std::vector<Node> nodes;
  std::vector<float> x;
  int build(std::vector<int> ids, int depth) {
    if (ids.empty()) return -1;
    std::sort(ids.begin(), ids.end(), [&](int a, int b) { return x[a] < x[b]; });
    const size_t middle = ids.size() / 2;
    const int me = (int)nodes.size();
    nodes.push_back({depth % 2, -1, -1, ids[middle]});
    const int left = build(std::vector<int>(ids.begin(), ids.begin() + middle), depth + 1);
    const int right = build(std::vector<int>(ids.begin() + middle + 1, ids.end()), depth + 1);
    nodes[me].left = left;
    nodes[me].right = right;
    return me;
  }
};
int sum(const int* a, int n, int* depth) {
  int part[2];
  ++*depth;
  if (n == 1) return a[0];
  part[0] = sum(a, n / 2, depth);
  part[1] = sum(a + n / 2, n - n / 2, depth);
  return part[0] + part[1];
}
struct Range { int low, high; };
Range range(const int* a, int n) {
  if (n == 1) return {a[0], a[0]};
  const Range l = range(a, n / 2), r = range(a + n / 2, n - n / 2);
  return {std::min(l.low, r.low), std::max(l.high, r.high)};
}
int main() {
  Tree tree;
  std::vector<int> ids;
  for (int i = 0; i < 40; i++) { tree.x.push_back(i * 17 % 40); ids.push_back(i); }
  tree.build(ids, 0);
  int calls = 0;
  const int total = sum(ids.data(), 40, &calls);
  std::vector<int> found{total, calls, range(ids.data(), 40).low, range(ids.data(), 40).high};
  const int* nodes = (int*)up(tree.nodes);
  k<<<1, 32>>>(nodes, up(found), (int)tree.nodes.size()); //= nodes: 0 1 21 20 1 2 12 10 0 3 8 5, sums: 780 79 0 39, most: 40
}`);
  });

  it('of lambdas, by std::function, by themselves, and through what they are given', () => {
    check(`
__global__ void k(const int* order, const int* found) {}
${upload}
template <class F> void split(int low, int high, const F& leaf) {
  if (high - low == 1) { leaf(low); return; }
  split(low, (low + high) / 2, leaf);
  split((low + high) / 2, high, leaf);
}
int main() {
  std::vector<std::vector<int>> next(60);
  for (int i = 1; i < 60; i++) next[(i - 1) / 2].push_back(i);
  std::vector<int> order, found;
  int deepest = 0, calls = 0, total = 0;
  std::function<int(int, int)> visit = [&](int v, int depth) -> int {
    order.push_back(v);
    if (depth > deepest) deepest = depth;
    int n = 1;
    for (int w : next[v]) n += visit(w, depth + 1);
    return n;
  };
  found.push_back(visit(0, 0));
  found.push_back(deepest);
  auto fibonacci = [&](auto& self, int n) -> int { calls++; return n < 2 ? n : self(self, n - 1) + self(self, n - 2); };
  found.push_back(fibonacci(fibonacci, 12));
  found.push_back(calls);
  split(0, 50, [&](int i) { total += i * i; });
  found.push_back(total);
  k<<<1, 32>>>(up(order), up(found)); //= order: 0 1 3 7 15 31, found: 60 5 144 465 40425
}`);
  });

  it('of functions in one another, with references and through both', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
bool even(int n);
bool odd(int n) { return n == 0 ? false : even(n - 1); }
bool even(int n) { return n == 0 ? true : odd(n - 1); }
int inner(int n) { return n == 0 ? 1 : inner(n - 1) + inner(n / 2) % 7; }
int outer(int n) {
  if (n <= 0) return inner(9);
  int s = 0;
  for (int i = 0; i < 2; i++) s += outer(n - 1 - i);
  return s + inner(n);
}
int& slot(std::vector<int>& a, int i, int depth) { return depth == 0 ? a[i] : slot(a, (i * 2 + 1) % a.size(), depth - 1); }
int main() {
  std::vector<int> a(31), found{even(40), odd(33), outer(6), inner(11)};
  slot(a, 3, 12) = 9;
  slot(a, 4, 7) += 2;
  int sum = 0;
  for (int x : a) sum += x;
  k<<<1, 32>>>(up(found), sum); //= a: 1 1 780 32, n: 11
}`);
  });

  it('changes what it refers to wherever that lives: elements, bindings, captures, members, temporaries', () => {
    check(`
__global__ void k(const int* a) {}
${upload}
void add(int& x, int depth) { if (depth == 0) return; x += depth; add(x, depth - 1); }
struct Counter {
  int n = 0;
  void go(int depth) { if (depth == 0) return; n += depth; go(depth - 1); }
  Counter& self(int depth) { if (depth == 0) return *this; n++; return self(depth - 1); }
};
int main() {
  std::vector<int> v{1, 2, 3};
  std::map<std::string, int> m{{"a", 1}};
  for (auto& x : v) add(x, 3);
  for (auto& [name, count] : m) add(count, 4);
  auto [p, q] = std::pair<int, int>{1, 2};
  add(q, 2);
  int z = 0;
  auto grow = [z]() mutable { add(z, 3); return z; };
  Counter c, d;
  c.go(4);
  d.self(3).n += 10;
  std::vector<int> a{v[2], m["a"], q, grow(), c.n, d.n, Counter{}.self(2).n};
  k<<<1, 32>>>(up(a)); //= a: 9 11 5 6 10 13 2
}`);
  });

  it('what is not known in one of its runs makes unknown what the others find, and no more', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
${upload}
int mystery();
int fill(std::vector<int>& a, std::vector<int>& b, int n) {
  if (n == 0) return 0;
  b[n] = n;
  if (n == 5 && mystery() > 3) a[0] = 7;
  return 1 + fill(a, b, n - 1);
}
int main() {
  std::vector<int> a(4, 2), b(12);
  a[1] = fill(a, b, 11);
  k<<<1, 32>>>(up(a), up(b)); //= a: ? 11 ?, b: 0 1 2 3
}`);
  });

  it('kernels of cycles of grids are launched at every level', () => {
    check(`
__global__ void smooth(float* u, int n) {}
__global__ void last(float* u, int n) {}
void cycle(float* u, int n) {
  if (n < 2) { last<<<1, 32>>>(u, n); return; } //= n: 1
  smooth<<<(n + 31) / 32, 32>>>(u, n); //= n: 4096
  cycle(u, n / 2);
  smooth<<<(n + 31) / 32, 32>>>(u, n); //= n: 2
}
int main() {
  float* u;
  cudaMalloc(&u, 4096 * 4);
  cycle(u, 4096);
}`);
  });

  it('methods that call themselves while their object is made', () => {
    check(`
__global__ void k(int leaves, int first, int sum) {}
struct Node { int count = 0; std::unique_ptr<Node> left, right; };
class Tree {
 public:
  explicit Tree(std::vector<int> v) : values_(std::move(v)) { root_ = build(0, (int)values_.size()); }
  int leaves() const { return leaves_; }
  int first() const { return root_->left->left->count; }
  int sum() const { return sum_; }
 private:
  std::unique_ptr<Node> build(int first, int last) {
    auto node = std::make_unique<Node>();
    node->count = last - first;
    if (last - first <= 3) { ++leaves_; for (int i = first; i < last; ++i) sum_ += values_[i]; return node; }
    const int mid = (first + last) / 2;
    node->left = build(first, mid);
    node->right = build(mid, last);
    return node;
  }
  std::vector<int> values_;
  std::unique_ptr<Node> root_;
  int leaves_ = 0, sum_ = 0;
};
int main() {
  std::vector<int> v;
  for (int i = 0; i < 50; ++i) v.push_back(i * 7 % 13);
  Tree tree(v);
  k<<<1, 32>>>(tree.leaves(), tree.first(), tree.sum()); //= leaves: 18, first: 12, sum: 294
}`);
  });
});
