/** Topological orders, a schedule of tasks, an allocator and an event queue. */
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
template <class T> struct Arena {
  using value_type = T;
  static inline std::size_t total = 0;
  Arena() = default;
  template <class U> Arena(const Arena<U>&) {}
  T* allocate(std::size_t n) { total += n * sizeof(T); return static_cast<T*>(::operator new(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { ::operator delete(p); }
};
class Scheduler {
 public:
  struct Task { std::string name; int cost; std::vector<int> needs; };
  int add(std::string name, int cost, std::initializer_list<int> needs = {}) {
    tasks_.push_back({std::move(name), cost, needs});
    return static_cast<int>(tasks_.size()) - 1;
  }
  std::optional<std::vector<int>> order() const {
    std::vector<int> open(tasks_.size(), 0), result;
    std::vector<std::vector<int>> followers(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      for (int d : tasks_[i].needs) { ++open[i]; followers[d].push_back(i); }
    auto later = [this](int a, int b) { return tasks_[a].cost != tasks_[b].cost ? tasks_[a].cost < tasks_[b].cost : a > b; };
    std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
    for (std::size_t i = 0; i < open.size(); ++i) if (open[i] == 0) ready.push(i);
    while (!ready.empty()) {
      int t = ready.top();
      ready.pop();
      result.push_back(t);
      for (int f : followers[t]) if (--open[f] == 0) ready.push(f);
    }
    if (result.size() != tasks_.size()) return std::nullopt;
    return result;
  }
  int makespan(int workers) const {
    auto sorted = order();
    if (!sorted) throw std::logic_error("cycle");
    std::vector<int> finish(tasks_.size()), free(workers, 0);
    for (int t : *sorted) {
      int start = 0;
      for (int d : tasks_[t].needs) start = std::max(start, finish[d]);
      auto w = std::min_element(free.begin(), free.end());
      finish[t] = *w = std::max(start, *w) + tasks_[t].cost;
    }
    return *std::max_element(finish.begin(), finish.end());
  }
  void link(int from, int to) { tasks_[to].needs.push_back(from); }
 private:
  std::vector<Task> tasks_;
};
struct Arrive { int who; };
struct Leave { int who; int paid; };
struct Tick {};
using Event = std::variant<Arrive, Leave, Tick>;
struct Timed { int at; Event event; bool operator>(const Timed& o) const { return at > o.at; } };
struct Shop {
  std::unordered_set<int> inside;
  int earned = 0, ticks = 0, most = 0;
  void operator()(const Arrive& a) { inside.insert(a.who); most = std::max(most, (int)inside.size()); }
  void operator()(const Leave& l) { if (inside.erase(l.who)) earned += l.paid; }
  void operator()(Tick) { ++ticks; }
};
int main() {
  Scheduler s;
  const int load = s.add("load", 3), parse = s.add("parse", 4, {load}), sort = s.add("sort", 6, {parse});
  const int index = s.add("index", 2, {parse}), copy = s.add("copy", 5, {load}), run = s.add("run", 7, {sort, index, copy});
  auto order = s.order();
  int code = 0;
  for (int t : *order) code = code * 10 + t;
  show(code); //= 41235
  show(s.makespan(1) * 100 + s.makespan(2)); //= 2720
  s.link(run, load);
  show(s.order().has_value()); //= 0
  int failed = 0;
  try { s.makespan(2); } catch (const std::logic_error&) { failed = 1; }
  show(failed); //= 1
  std::priority_queue<Timed, std::vector<Timed>, std::greater<Timed>> events;
  for (int i = 0; i < 6; ++i) { events.push({i * 3, Arrive{i}}); events.push({i * 4 + 5, Leave{i, 10 + i}}); }
  events.push({7, Tick{}});
  events.push({1, Leave{9, 100}});
  Shop shop;
  int last = 0;
  while (!events.empty()) { Timed e = events.top(); events.pop(); std::visit(shop, e.event); last = e.at; }
  show(shop.earned * 10 + shop.most); //= 753
  show(shop.ticks * 100 + last); //= 125
  std::vector<int, Arena<int>> v;
  v.reserve(10);
  for (int i = 0; i < 10; ++i) v.push_back(i * i);
  show(v.back()); //= 81
  std::map<std::string, std::function<int(int)>> table{{"double", [](int x) { return 2 * x; }}, {"square", [](int x) { return x * x; }}};
  table["negate"] = std::negate<int>();
  int x = 3;
  for (auto& [name, f] : table) x = f(x) + (int)name.size();
  show(x); //= 42
  std::unordered_map<std::string, std::vector<int>> groups;
  const char* names[] = {"ant", "bee", "cow", "dog", "elk", "fox"};
  for (int i = 0; i < 6; ++i) groups[i % 2 ? "odd" : "even"].push_back(names[i][0]);
  show(groups["odd"][2] * 10 + groups.size()); //= 1022
  std::shared_ptr<int> shared = std::make_shared<int>(5);
  std::weak_ptr<int> weak = shared;
  { auto other = shared; *other += 2; }
  show(*shared * 10 + shared.use_count()); //= 71
  shared.reset();
  show(weak.expired()); //= 1
  return 0;
}
