/** Hashed containers whose elements stay where they are: references and iterators beside insertions, erasing, many keys. */
#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
struct Node {
  int x = 0;
  std::vector<std::string> below;
};
static std::unordered_map<long, long> known;
static long steps(long n) {
  if (n == 1) return 0;
  long& memo = known[n];
  if (memo == 0) memo = 1 + steps(n % 2 ? 3 * n + 1 : n / 2);
  return memo;
}
int main() {
  show(steps(97)); //= 118
  show(known.size()); //= 118
  long order = 0;
  for (const auto& [n, count] : known) order = (order * 31 + n * 7 + count) % 1000003;
  show(order); //= 931246
  std::unordered_map<std::string, Node> nodes;
  Node& parent = nodes["root"];
  Node* other = &nodes["other"];
  for (int i = 0; i < 40; ++i) {
    std::string name = "node" + std::to_string(i);
    nodes[name].x = i;
    parent.below.push_back(name);
    other->x += i;
  }
  parent.x = 5;
  show(nodes["root"].x * 1000 + nodes["root"].below.size()); //= 5040
  show(nodes.at("other").x * 100 + nodes.size()); //= 78042
  std::unordered_map<int, int> m;
  auto at = m.emplace(4, 40).first;
  for (int i = 0; i < 300; ++i) m.try_emplace(i * 7 % 301, i);
  at->second += 2;
  show(m[4] * 1000 + m.size()); //= 42044
  for (auto it = m.begin(); it != m.end();) it = it->second % 3 ? m.erase(it) : std::next(it);
  order = 0;
  for (auto& p : m) order = (order * 31 + p.first * 7 + p.second) % 1000003;
  show(order); //= 100291
  show(std::distance(m.begin(), m.end()) * 1000 + m.count(4) * 100 + m.count(21)); //= 16101
  show(std::accumulate(m.begin(), m.end(), 0, [](int n, const auto& p) { return n + p.second; })); //= 357
  show(std::max_element(m.begin(), m.end(), [](auto& a, auto& b) { return a.second < b.second; })->first); //= 294
  std::unordered_map<int, int> copy = m, taken;
  m.erase(m.begin(), m.end());
  m[9] = 1;
  taken = std::move(copy);
  copy = m;
  show(m.size() * 1000 + taken.size() * 10 + copy.begin()->first); //= 1169
  order = 0;
  for (auto& p : taken) order = (order * 31 + p.first) % 1000003;
  show(order); //= 528135
  std::vector<std::pair<int, int>> flat(taken.begin(), taken.end());
  std::sort(flat.begin(), flat.end());
  show(flat.front().first * 1000 + flat.back().first); //= 294
  std::unordered_set<std::string> words;
  const std::string& kept = *words.insert("first").first;
  for (int i = 0; i < 30; ++i) words.insert(std::string(i % 7 + 1, 'a' + i % 5));
  show(words.size() * 100 + kept.size()); //= 3105
  auto shared = std::make_shared<int>(3);
  std::unordered_map<int, std::shared_ptr<int>> owners;
  for (int i = 0; i < 20; ++i) owners[i] = shared;
  owners.erase(3);
  owners.erase(owners.find(4));
  show(shared.use_count()); //= 19
  owners.clear();
  show(shared.use_count()); //= 1
  unsigned x = 7;
  std::unordered_map<unsigned, int> many;
  for (int i = 0; i < 10000; ++i) {
    x = x * 1664525u + 1013904223u;
    many[x >> 12] += i;
  }
  show(many.size()); //= 9958
  show(many.begin()->first); //= 723675
}
