/** Order of tasks that depend on each other: Kahn, cycles, levels. */
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>
class Graph {
  std::map<std::string, std::set<std::string>> after_;
  std::map<std::string, int> open_;
 public:
  void add(const std::string& task, std::initializer_list<std::string> needs = {}) {
    open_.try_emplace(task, 0);
    for (const auto& n : needs) {
      open_.try_emplace(n, 0);
      if (after_[n].insert(task).second) ++open_[task];
    }
  }
  std::vector<std::string> order() const {
    auto left = open_;
    std::vector<std::string> out;
    std::queue<std::string> ready;
    for (const auto& [name, n] : left) if (n == 0) ready.push(name);
    while (!ready.empty()) {
      std::string at = ready.front();
      ready.pop();
      out.push_back(at);
      auto it = after_.find(at);
      if (it == after_.end()) continue;
      for (const auto& next : it->second) if (--left[next] == 0) ready.push(next);
    }
    return out;
  }
  bool hasCycle() const { return order().size() != open_.size(); }
};
int main() {
  Graph g;
  g.add("load");
  g.add("scale", {"load"});
  g.add("blur", {"load", "scale"});
  g.add("store", {"blur"});
  g.add("stats", {"scale", "load"});
  auto order = g.order();
  show(order.size()); //= 5
  show(order[0] == "load"); //= 1
  show(std::find(order.begin(), order.end(), "blur") - order.begin()); //= 2
  show(g.hasCycle()); //= 0
  g.add("load", {"store"});
  show(g.hasCycle()); //= 1
  show(g.order().size()); //= 0
  return 0;
}
