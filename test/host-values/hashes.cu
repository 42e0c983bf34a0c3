/** Hash tables: the library's, and the user's with open addressing for a kernel. */
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
template <class K, class V> class Table {
  struct Slot { K key; V value; bool used = false; };
  std::vector<Slot> slots_;
  size_t count_ = 0;
  static size_t hash(K k) { uint32_t x = k; x ^= x >> 16; x *= 0x7feb352dU; x ^= x >> 15; x *= 0x846ca68bU; x ^= x >> 16; return x; }
  void grow() { std::vector<Slot> old = std::move(slots_); slots_ = std::vector<Slot>(old.size() * 2); count_ = 0; for (auto& s : old) if (s.used) put(s.key, s.value); }
 public:
  explicit Table(size_t n) : slots_(n) {}
  void put(K k, V v) {
    if (count_ * 4 >= slots_.size() * 3) grow();
    size_t i = hash(k) & (slots_.size() - 1);
    while (slots_[i].used && slots_[i].key != k) i = (i + 1) & (slots_.size() - 1);
    if (!slots_[i].used) count_++;
    slots_[i] = {k, v, true};
  }
  const V* find(K k) const {
    for (size_t i = hash(k) & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) { if (!slots_[i].used) return nullptr; if (slots_[i].key == k) return &slots_[i].value; }
  }
  size_t size() const { return count_; }
  size_t room() const { return slots_.size(); }
  size_t longest() const { size_t best = 0, run = 0; for (auto& s : slots_) { run = s.used ? run + 1 : 0; if (run > best) best = run; } return best; }
};
struct PairHash { size_t operator()(const std::pair<int, int>& p) const { return std::hash<int>()(p.first) * 31 + std::hash<int>()(p.second); } };
int main() {
  Table<int, int> t(8);
  for (int i = 0; i < 40; i++) t.put(i * 17 % 64, i);
  show(t.size()); //= 40
  show(t.room()); //= 64
  show(*t.find(17)); //= 1
  show(t.find(63) == nullptr); //= 0
  show(t.longest()); //= 13
  std::unordered_map<int, int> m{{1, 10}, {2, 20}};
  m[3] += 5;
  m.insert({2, 99});
  m.insert_or_assign(1, 11);
  show(m[1] * 10000 + m[2] * 100 + m[3]); //= 112005
  show(m.size()); //= 3
  show(m.erase(2) * 10 + m.count(2)); //= 10
  if (auto it = m.find(3); it != m.end()) it->second *= 4;
  show(m.at(3)); //= 20
  std::unordered_set<std::string> words{"a", "b", "a", "c"};
  show(words.size()); //= 3
  show(words.contains("b") + words.contains("z") * 10); //= 1
  std::unordered_set<std::pair<int, int>, PairHash> edges;
  for (int i = 0; i < 20; i++) edges.insert({i % 4, i % 3});
  show(edges.size()); //= 12
  std::unordered_map<std::string, std::vector<int>> groups;
  for (int i = 0; i < 10; i++) groups[i % 3 ? "rest" : "three"].push_back(i);
  show(groups["three"].size() * 10 + groups["rest"].size()); //= 46
  int sum = 0;
  for (const auto& [k, v] : m) sum += k * v;
  show(sum); //= 71
  std::unordered_multimap<int, int> multi;
  multi.insert({1, 2}); multi.insert({1, 3}); multi.emplace(2, 4);
  show(multi.count(1)); //~ 2
  show(std::hash<int>{}(77)); //= 77
  return 0;
}
