/** Lists: places in them stay where they are. */
#include <list>
#include <iterator>
#include <map>
#include <string>
#include <vector>
template <class K, class V> class Cache {
  size_t room_;
  std::list<std::pair<K, V>> order_;
  std::map<K, typename std::list<std::pair<K, V>>::iterator> at_;
 public:
  explicit Cache(size_t room) : room_(room) {}
  void put(K k, V v) {
    auto it = at_.find(k);
    if (it != at_.end()) order_.erase(it->second);
    order_.push_front({k, v});
    at_[k] = order_.begin();
    if (order_.size() > room_) { at_.erase(order_.back().first); order_.pop_back(); }
  }
  V get(K k, V otherwise) {
    auto it = at_.find(k);
    if (it == at_.end()) return otherwise;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->second;
  }
};
int main() {
  std::list<int> l{1, 2, 3, 4};
  auto it = std::next(l.begin(), 2);
  l.insert(it, 20);
  l.push_front(0);
  show(*it); //= 3
  show(*std::prev(it)); //= 20
  auto gone = l.erase(it);
  show(*gone); //= 4
  show(l.size()); //= 5
  int digits = 0;
  for (int x : l) digits = digits * 10 + x % 10;
  show(digits); //= 1204
  l.reverse();
  l.sort();
  show(l.front() * 100 + l.back()); //= 20
  std::list<int> m{7, 8};
  l.splice(l.end(), m);
  show(l.size() * 10 + m.size()); //= 70
  l.remove_if([](int x) { return x % 2 == 0; });
  show(l.size()); //= 2
  Cache<int, int> cache(2);
  cache.put(1, 10);
  cache.put(2, 20);
  show(cache.get(1, -1)); //= 10
  cache.put(3, 30);
  show(cache.get(2, -1)); //= -1
  show(cache.get(1, -1) + cache.get(3, -1)); //= 40
  return 0;
}
