/** Ordered containers whose elements stay where they are: references and iterators beside insertions, many keys, bounds, erasing. */
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>
static std::map<int, long> known;
static long ways(int n) {
  if (n < 2) return 1;
  long& memo = known[n];
  if (memo == 0) memo = ways(n - 1) + ways(n - 2);
  return memo;
}
struct Node {
  int x = 0;
  std::vector<std::string> below;
};
struct Longer {
  bool operator()(const std::string& a, const std::string& b) const { return a.size() != b.size() ? a.size() > b.size() : a < b; }
};
int main() {
  show(ways(40)); //= 165580141
  show(known.size() * 100 + known.begin()->first); //= 3902
  std::map<std::string, Node> nodes;
  Node& parent = nodes["m"];
  for (const char* name : {"z", "a", "q", "b", "k", "c", "y", "d", "e", "f", "g"}) {
    nodes[name].x = name[0];
    parent.below.push_back(name);
  }
  parent.x = 7;
  show(nodes["m"].x * 100 + nodes.at("m").below.size()); //= 711
  std::map<int, int> m;
  auto first = m.emplace(50, 1).first;
  int* value = &first->second;
  for (int i = 0; i < 100; ++i) m[i * 37 % 101] += i;
  *value += 1000;
  for (int i = 0; i < 100; i += 3) if (i != 50) m.erase(i);
  show(first->second * 1000 + std::next(first)->first * 10 + std::prev(first)->first % 10); //= 1016529
  long order = 0;
  for (auto& [key, x] : m) order = (order * 31 + key * 7 + x) % 1000003;
  show(order); //= 353582
  for (auto it = m.rbegin(); it != m.rend(); ++it) order = (order * 31 + it->first) % 1000003;
  show(order); //= 453694
  for (auto it = m.begin(); it != m.end();) it = it->second % 2 ? m.erase(it) : std::next(it);
  show(std::accumulate(m.begin(), m.end(), 0, [](int n, const auto& p) { return n + p.first; })); //= 1845
  show(std::max_element(m.begin(), m.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first); //= 50
  m.erase(m.lower_bound(20), m.upper_bound(60));
  show(m.size() * 1000 + m.lower_bound(20)->first); //= 20065
  std::mt19937 random(7);
  std::map<int, int> many;
  for (int i = 0; i < 12000; ++i) many[random() % 1000000] = i;
  show(many.size()); //= 11922
  show(many.lower_bound(500000)->first); //= 500050
  std::map<std::tuple<int, int, int>, float> cells;
  for (int i = 0; i < 3000; ++i) cells[{(int)(random() % 30), (int)(random() % 30), (int)(random() % 30)}] += 0.5f;
  show(cells.size()); //= 2841
  show(std::get<1>(std::next(cells.begin(), 1000)->first)); //= 24
  std::map<int, int> copy = m, taken;
  copy[1000] = 3;
  show((copy == m) * 100 + copy.size() - m.size()); //= 1
  taken = std::move(copy);
  std::swap(taken, m);
  show(m.rbegin()->first + m.count(1000) + taken.count(1000)); //= 1001
  std::set<std::string, Longer> words = {"on", "tree", "a", "leaf", "of"};
  words.insert("branch");
  std::string all;
  for (const auto& word : words) all += word;
  show(all == "branchleaftreeofona"); //= 1
  auto later = [](int a, int b) { return a % 10 > b % 10; };
  std::multiset<int, decltype(later)> by(later);
  for (int i = 0; i < 40; ++i) by.insert(i * 7 % 40);
  order = 0;
  for (int x : by) order = (order * 31 + x) % 1000003;
  show(order); //= 245707
  show(by.erase(17) * 100 + by.count(8)); //= 404
  std::multimap<int, std::string, std::greater<int>> rows;
  for (int i = 0; i < 9; ++i) rows.emplace(i % 3, std::string(i + 1, 'x'));
  auto [low, high] = rows.equal_range(1);
  show(std::distance(low, high) * 100 + low->second.size() * 10 + std::prev(high)->second.size()); //= 328
  std::vector<std::pair<int, int>> flat(m.begin(), m.end());
  show(flat.size() == m.size() && flat.back().first == 1000); //= 1
  std::set<std::pair<int, int>> open = {{5, 0}};
  std::vector<int> dist(200, 1000000);
  dist[0] = 0;
  for (long steps = 0; !open.empty(); ++steps) {
    auto [d, at] = *open.begin();
    open.erase(open.begin());
    for (int to : {at * 2 + 1, at * 3 + 2, at - 1})
      if (to >= 0 && to < 200 && d + at % 7 + 1 < dist[to]) {
        open.erase({dist[to], to});
        dist[to] = d + at % 7 + 1;
        open.insert({dist[to], to});
      }
  }
  show(std::accumulate(dist.begin(), dist.end(), 0L)); //= 4486
}
