/** Registries, variants, optionals, views of ranges, ordered containers as programs make their data with them. */
#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <deque>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
struct Op { int scale; int bias; Op(int s, int b = 1) : scale(s), bias(b) {} virtual int run(int x) const { return x * scale + bias; } virtual ~Op() = default; };
struct Doubled : Op { using Op::Op; int run(int x) const override { return 2 * Op::run(x); } };
struct Named : Doubled { std::string name = "n"; using Doubled::Doubled; };
template <class... F> struct overloaded : F... { using F::operator()...; };
template <class... F> overloaded(F...) -> overloaded<F...>;
struct Sphere { float r; }; struct Cube { float a; }; struct Mesh { std::vector<int> faces; };
using Shape = std::variant<Sphere, Cube, Mesh>;
std::optional<std::pair<int, int>> firstPair(const std::vector<int>& v, int sum) {
  std::unordered_map<int, int> seen;
  for (int i = 0; i < (int)v.size(); i++) {
    if (auto it = seen.find(sum - v[i]); it != seen.end()) return std::make_pair(it->second, i);
    seen[v[i]] = i;
  }
  return std::nullopt;
}
struct Event { double time; int id; };
struct Later { bool operator()(const Event& a, const Event& b) const { return a.time > b.time; } };
int main() {
  std::map<std::string, std::function<int(int, int)>> registry;
  registry["add"] = [](int a, int b) { return a + b; };
  registry["mul"] = [](int a, int b) { return a * b; };
  int offset = 5;
  registry.emplace("off", [offset](int a, int b) { return a - b + offset; });
  show(registry["add"](2, 3) * 100 + registry.at("mul")(2, 3)); //= 506
  int total = 0;
  for (auto& [name, f] : registry) total = total * 10 + f(4, 2) + (int)name.size();
  show(total); //= 1020
  show(registry.count("div") + registry.contains("off")); //= 1
  Doubled d(3);
  Named n(4, 2);
  show(d.run(5) * 100 + n.run(1)); //= 3212
  std::map<std::string, std::unique_ptr<Op>> ops;
  ops["a"] = std::make_unique<Op>(2);
  ops["b"] = std::make_unique<Doubled>(2, 0);
  ops.try_emplace("c", new Named(1));
  for (const auto& [key, op] : ops) show(op->run(7)); //= 15 28 16
  auto found = firstPair({2, 7, 11, 15}, 26);
  show(found ? found->first * 10 + found->second : -1); //= 23
  show(firstPair({1, 2}, 9).has_value()); //= 0
  show(firstPair({1, 2}, 9).value_or(std::make_pair(8, 9)).second); //= 9
  std::vector<Shape> shapes{Sphere{1.5f}, Cube{2.f}, Mesh{{1, 2, 3}}};
  int codes = 0;
  for (auto& s : shapes) codes = codes * 10 + std::visit(overloaded{[](const Sphere& x) { return (int)(x.r * 2); }, [](const Cube& x) { return (int)x.a; }, [](const Mesh& m) { return (int)m.faces.size() + 4; }}, s);
  show(codes); //= 327
  show(std::holds_alternative<Cube>(shapes[1]) * 10 + shapes[2].index()); //= 12
  shapes[0] = Cube{9};
  show(std::get<Cube>(shapes[0]).a + (std::get_if<Sphere>(&shapes[0]) == nullptr)); //= 10
  std::priority_queue<Event, std::vector<Event>, Later> queue;
  for (int i = 0; i < 6; i++) queue.push({(i * 7) % 5 + 0.25 * i, i});
  int order = 0;
  while (!queue.empty()) { order = order * 10 + queue.top().id; queue.pop(); }
  show(order); //= 53142
  auto less = [](const std::pair<int, int>& a, const std::pair<int, int>& b) { return a.second < b.second; };
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, decltype(less)> byValue(less);
  byValue.emplace(1, 5);
  byValue.emplace(2, 9);
  byValue.push({3, 7});
  show(byValue.top().first * 10 + byValue.size()); //= 23
  std::bitset<16> bits(0b1011);
  bits.set(7).flip(0);
  show(bits.count() * 1000 + bits.to_ulong()); //= 3138
  show((bits << 2).test(3) + 2 * bits.any() + 4 * (bits & std::bitset<16>(2)).none()); //= 3
  std::deque<int> dq{3, 4};
  dq.push_front(2);
  dq.push_back(5);
  dq.pop_front();
  show(dq.front() * 100 + dq[1] * 10 + dq.size()); //= 343
  std::list<int> l{5, 1, 4};
  l.sort();
  l.push_front(0);
  l.remove(4);
  l.insert(std::next(l.begin()), 9);
  int joined = 0;
  for (int x : l) joined = joined * 10 + x;
  show(joined); //= 915
  std::multimap<int, int> mm{{2, 1}, {1, 5}, {2, 3}};
  auto [lo, hi] = mm.equal_range(2);
  int inRange = 0;
  for (auto it = lo; it != hi; ++it) inRange = inRange * 10 + it->second;
  show(inRange * 10 + mm.count(2)); //= 132
  std::string numbers = "12,7,-30,4";
  std::vector<int> parsed;
  const char* at = numbers.data();
  const char* end = at + numbers.size();
  while (at < end) { int x = 0; auto [next, error] = std::from_chars(at, end, x); if (error != std::errc()) break; parsed.push_back(x); at = next + 1; }
  show(std::accumulate(parsed.begin(), parsed.end(), 0) * 10 + parsed.size()); //= -66
  std::map<std::pair<int, int>, int> edges;
  edges[{1, 2}] = 3;
  edges[{0, 5}] = 4;
  edges[{1, 0}]++;
  int walked = 0;
  for (const auto& [key, w] : edges) { const auto& [a, b] = key; walked = walked * 100 + a * b + w; }
  show(walked); //= 40105
  return 0;
}
