/** Lambdas in members, registries and tables. */
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
struct Stage {
  std::string name;
  std::function<int(int)> work;
  int runs = 0;
  int operator()(int x) { runs++; return work(x); }
};
class Pipeline {
  std::vector<Stage> stages_;
  std::function<void(int, int)> watch_;
 public:
  Pipeline& add(std::string name, std::function<int(int)> f) { stages_.push_back({std::move(name), std::move(f)}); return *this; }
  void onStep(std::function<void(int, int)> f) { watch_ = std::move(f); }
  int run(int x) {
    int i = 0;
    for (auto& s : stages_) { x = s(x); if (watch_) watch_(i++, x); }
    return x;
  }
  int runs() const { int n = 0; for (const auto& s : stages_) n += s.runs; return n; }
};
template <class F> struct Twice { F f; auto operator()(int x) const { return f(f(x)); } };
struct Options { std::function<int()> blocks = [] { return 64; }; int (*threads)(int) = [](int n) { return n < 256 ? n : 256; }; };
int main() {
  int offset = 3;
  Pipeline p;
  p.add("scale", [](int x) { return x * 2; }).add("shift", [offset](int x) { return x + offset; }).add("ref", [&offset](int x) { return x - offset; });
  int steps = 0, last = 0;
  p.onStep([&](int i, int x) { steps += i + 1; last = x; });
  offset = 10;
  show(p.run(5)); //= 3
  show(steps); //= 6
  show(last); //= 3
  p.run(1);
  show(p.runs()); //= 6
  std::unordered_map<std::string, std::function<int(int, int)>> ops;
  ops["add"] = [](int a, int b) { return a + b; };
  ops["mul"] = std::multiplies<int>();
  ops["max"] = [](int a, int b) { return a > b ? a : b; };
  show(ops["add"](3, 4) * 100 + ops["mul"](3, 4)); //= 712
  show(ops.count("sub") + ops.size()); //= 3
  Twice t{[=](int x) { return x * offset; }};
  show(t(2)); //= 200
  Options o;
  show(o.blocks() + o.threads(1000)); //= 320
  o.blocks = [n = 5]() mutable { return n++; };
  show(o.blocks() * 10 + o.blocks()); //= 56
  std::function<int(int)> fib = [&fib](int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); };
  show(fib(12)); //= 144
  return 0;
}
