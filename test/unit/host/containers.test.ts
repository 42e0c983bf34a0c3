/** Containers, threads and constants of the host: numbers and orders are what g++ 12 prints. */
import { check } from './check-contents';

/** Kernels that are given a number. */
const k = '__global__ void k(const int* a, int n) { if (a[0]) __nanosleep(n); }';
const digits = 'int digits(int so_far, int next) { return (so_far * 31 + next) % 1000003; }';

function checkMain(body: string): void {
  check(`${k}\n${digits}\nint main() {\n  int* d;\n  cudaMalloc(&d, 16);\n${body}\n}`);
}

describe('the program of the host', () => {
  it('runs through hashed containers in their order', () => {
    checkMain(`
  std::unordered_map<int, int> m;
  for (int i = 0; i < 40; i++) m[(i * 37) % 101] = i;
  m.erase(37);
  m.erase(5);
  m[500] = 1;
  int n = 0;
  for (auto& [a, b] : m) n = digits(n, a * 7 + b);
  k<<<1, 32>>>(d, n); //= n: 877283
  std::unordered_map<std::string, int> named = {{"saxpy", 1}, {"gemm", 2}, {"reduce_long_name", 3}};
  named["scan"] = 4;
  n = 0;
  for (auto& [a, b] : named) n = n * 10 + b;
  k<<<1, 32>>>(d, n); //= n: 4321
  std::unordered_set<int> s = {8, 16, 3, 7, 9, 100, -1};
  n = 0;
  for (int x : s) n = digits(n, x);
  k<<<1, 32>>>(d, n); //= n: 929083`);
  });

  it('grows, shrinks and erases in hashed containers', () => {
    checkMain(`
  std::unordered_set<int> s;
  int v[300];
  for (int i = 0; i < 300; i++) v[i] = (i * 7919) % 1009;
  s.insert(v, v + 300);
  k<<<1, 32>>>(d, (int)s.bucket_count()); //= n: 541
  for (int i = 0; i < 900; i += 3) s.erase(i);
  s.reserve(64);
  s.insert(5000);
  k<<<1, 32>>>(d, (int)s.bucket_count()); //= n: 227
  int n = 0;
  for (int x : s) n = digits(n, x);
  k<<<1, 32>>>(d, n); //= n: 916729
  std::unordered_map<double, int> m;
  for (int i = 0; i < 30; i++) m[i * 0.5] = i;
  n = 0;
  for (auto& p : m) n = digits(n, p.second);
  k<<<1, 32>>>(d, n); //= n: 192078`);
  });

  it('looks up in hashed and ordered tables of functions', () => {
    check(`
template <int R> __global__ void k(const int* a, int n) { if (a[0]) __nanosleep(n * R); }
template <int R> int experiment(int users) {
  int* d;
  cudaMalloc(&d, 16);
  k<R><<<users / R, R>>>(d, users + R); //= n: 1008; n: 1016
  return 0;
}
int main() {
  const std::unordered_map<int, std::function<int(int)>> table = {{8, experiment<8>}, {16, experiment<16>}};
  for (int rank : {8, 16}) table.at(rank)(1000);
}`);
  });

  it('keeps the order that a map is told, and finds bounds', () => {
    checkMain(`
  std::map<int, int, std::greater<int>> down;
  down[1] = 2;
  down[5] = 7;
  k<<<1, 32>>>(d, down.begin()->second); //= n: 7
  std::map<int, int> up = {{1, 2}, {5, 7}};
  auto at = up.lower_bound(3);
  k<<<1, 32>>>(d, at->second * 10 + up.rbegin()->first); //= n: 75
  std::multimap<int, int> several;
  several.insert({3, 4});
  several.insert({1, 9});
  several.insert({3, 5});
  int n = 0;
  for (auto& [a, b] : several) n = n * 10 + b;
  k<<<1, 32>>>(d, n); //= n: 945`);
  });

  it('does what threads, futures and atomics do', () => {
    checkMain(`
  int n = 0;
  std::thread t([&] { n = 6; });
  t.join();
  auto later = std::async(std::launch::async, [] { return 8; });
  std::atomic<int> count{2};
  count++;
  k<<<1, 32>>>(d, n * 100 + later.get() * 10 + count.load()); //= n: 683`);
  });

  it('does what is done later at once: without a policy, without a result, once only, by a promise', () => {
    checkMain(`
  int n = 0;
  std::jthread t([&] { n = 1; });
  auto number = std::async([](int x) { return x + 1; }, 1);
  std::vector<std::future<void>> done;
  for (int i = 0; i < 2; ++i) done.push_back(std::async(std::launch::async, [&n] { n += 2; }));
  for (auto& each : done) each.get();
  k<<<1, 32>>>(d, n * 10 + number.get()); //= n: 52
  std::once_flag flag;
  for (int i = 0; i < 3; ++i) std::call_once(flag, [&n, i] { n = 7 + i; });
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread sets([&promise] { promise.set_value(4); });
  k<<<1, 32>>>(d, n * 10 + future.get()); //= n: 74`);
  });

  it('makes a whole dim3 of one number in braces, and a vector of several', () => {
    checkMain(`
  struct Shape { dim3 grid, block; int4 more; int last; };
  Shape s{3, 32, 1, 2, 3, 4, 5};
  Shape* at = new Shape{6, {7, 8}, {1}, 9};
  k<<<1, 32>>>(d, s.grid.y * 10000 + s.block.x * 100 + s.more.w * 10 + s.last); //= n: 13245
  k<<<1, 32>>>(d, at->grid.x * 1000 + at->grid.z * 100 + at->block.y * 10 + at->last); //= n: 6189`);
  });

  it('knows a constant that was first named where control did not come by', () => {
    checkMain(`
  std::string s = "k=512";
  auto p = s.find('=');
  k<<<1, 32>>>(d, std::stoi(s.substr(p + 1))); //= n: 512
  std::vector<int> v = {1, 2, 3};
  int n = 1;
  while (std::next_permutation(v.begin(), v.end())) n++;
  k<<<1, 32>>>(d, n); //= n: 6`);
  });

  it('lists in braces are inserted, assigned, and told from elements that braces make', () => {
    check(`
__global__ void k(const int* a, int n) {}
int main() {
  std::vector<int> all;
  auto end = [&] { all.push_back(-1); };
  std::set<int> s;
  s.insert({5, 1, 3});
  s.insert(4);
  for (int x : s) all.push_back(x);
  end();
  std::vector<int> v;
  v.assign({7, 8});
  v.insert(v.begin(), {1});
  v.insert(v.end(), {v[0] + 1, 9});
  for (int x : v) all.push_back(x);
  end();
  std::map<int, int> m;
  m.insert({{3, 1}, {2, 9}});
  m.insert({7, 7});
  for (auto& p : m) all.push_back(p.first * 10 + p.second);
  end();
  std::vector<std::vector<int>> rows;
  rows.push_back({1, 2, 3});
  rows.insert(rows.end(), {{4}, {5, 6}});
  for (auto& row : rows) all.push_back(row.size());
  end();
  std::vector<std::pair<int, int>> pairs;
  pairs.insert(pairs.end(), {{1, 2}, {3, 4}});
  pairs.insert(pairs.end(), {5, 6});
  for (auto& p : pairs) all.push_back(p.first * 10 + p.second);
  int* d;
  cudaMalloc(&d, 4 * all.size());
  cudaMemcpy(d, all.data(), 4 * all.size(), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, all.size()); //= a: 1 3 4 5 -1 1 7 8 2 9 -1 29 31 77 -1 3 1 2 -1 12 34 56, n: 22
}`);
  });

  it('a shared pointer is given an object with a deleter, in braces or later', () => {
    check(`
__global__ void k(const int* a, int n) {}
std::shared_ptr<int> onDevice(const int* from) {
  int* p;
  cudaMalloc(&p, 8);
  cudaMemcpy(p, from, 8, cudaMemcpyHostToDevice);
  return {p, [](int* q) { cudaFree(q); }};
}
int main() {
  int* p;
  cudaMalloc(&p, 8);
  std::shared_ptr<int> s;
  s.reset(p, [](int* q) { cudaFree(q); });
  int values[2] = {3, 4};
  cudaMemcpy(s.get(), values, sizeof values, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(s.get(), s.use_count()); //= a: 3 4, n: 1
  std::shared_ptr<int> t = onDevice(values);
  k<<<1, 32>>>(t.get(), t.use_count()); //= a: 3 4, n: 1
}`);
  });

  it('swaps classes and smart pointers', () => {
    checkMain(`
  struct Range { int first, last; };
  Range a{1, 2}, b{3, 4};
  std::swap(a, b);
  k<<<1, 32>>>(d, a.first * 1000 + a.last * 100 + b.first * 10 + b.last); //= n: 3412
  std::unique_ptr<int[]> p(new int[2]), q(new int[2]);
  p[0] = 5;
  q[0] = 6;
  std::swap(p, q);
  k<<<1, 32>>>(d, p[0] * 10 + q[0]); //= n: 65
  p.swap(q);
  k<<<1, 32>>>(d, p[0] * 10 + q[0]); //= n: 56
  std::string s = "ab", t = "c";
  std::vector<int> v(3), w(4);
  std::swap(s, t);
  std::swap(v, w);
  int x = 7, y = 8;
  std::swap(x, y);
  k<<<1, 32>>>(d, (int)s.size() * 1000 + (int)v.size() * 100 + x * 10 + y); //= n: 1487`);
  });

  it('makes containers of what others hold', () => {
    checkMain(`
  std::unordered_map<std::string, int> hashed;
  hashed["b"] = 1;
  hashed["a"] = 2;
  hashed["c"] = 4;
  int n = 0;
  for (auto& f : std::map<std::string, int>(hashed.begin(), hashed.end())) n = n * 10 + f.second;
  k<<<1, 32>>>(d, n); //= n: 214
  std::vector<std::pair<std::string, int>> pairs(hashed.begin(), hashed.end());
  std::unordered_map<std::string, int> again(pairs.begin(), pairs.end());
  k<<<1, 32>>>(d, (int)pairs.size() * 10 + again["c"]); //= n: 34
  std::vector<int> v = {5, 3, 5, 1};
  std::unordered_set<int> some(v.begin(), v.end());
  std::set<int> sorted(some.begin(), some.end());
  n = 0;
  for (int x : sorted) n = n * 10 + x;
  k<<<1, 32>>>(d, n); //= n: 135
  std::vector<int> reversed(v.rbegin(), v.rend());
  k<<<1, 32>>>(d, reversed[0] * 10 + reversed[2]); //= n: 13`);
  });

  it('knows nothing of an object that no constructor it knows makes', () => {
    checkMain(`
  std::unordered_set<int> some = {4, 9};
  std::priority_queue<int> queue(some.begin(), some.end());
  k<<<1, 32>>>(d, (int)queue.size()); //= n: ?`);
  });

  it('assigns objects whole beside assignments of what they convert to', () => {
    checkMain(`
  std::vector<std::optional<int>> v(3);
  v[1] = 7;
  k<<<1, 32>>>(d, (v[0] ? 100 : 200) + (v[1] ? *v[1] : 1)); //= n: 207
  std::optional<int> none, some(3);
  some = none;
  k<<<1, 32>>>(d, some ? 1 : 2); //= n: 2`);
  });

  it('maps and sets that functions are given in braces', () => {
    check(`
__global__ void k(const int* a, int n) {}
int sum(const std::map<int, int>& m) { int n = 0; for (auto& [key, value] : m) n = n * 100 + key * 10 + value; return n; }
int count(const std::set<int>& s) { return (int)s.size(); }
int main() {
  int* d;
  cudaMalloc(&d, 4);
  k<<<1, 32>>>(d, sum({{3, 4}, {1, 2}}) + count({7, 7, 8})); //= n: 1236
}`);
  });
});
