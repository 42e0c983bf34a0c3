/** Sliding windows, rolling hashes, prefix sums, medians of streams. */
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
template <class T, class Compare = std::less<T>> class WindowExtreme {
  std::deque<std::pair<int, T>> held_;
  int size_;
  Compare before_;
 public:
  explicit WindowExtreme(int size, Compare before = Compare()) : size_(size), before_(before) {}
  T push(int i, T x) {
    while (!held_.empty() && !before_(held_.back().second, x)) held_.pop_back();
    held_.emplace_back(i, x);
    if (held_.front().first <= i - size_) held_.pop_front();
    return held_.front().second;
  }
};
class Median {
  std::priority_queue<int> low_;
  std::priority_queue<int, std::vector<int>, std::greater<int>> high_;
 public:
  void add(int x) {
    if (low_.empty() || x <= low_.top()) low_.push(x); else high_.push(x);
    if (low_.size() > high_.size() + 1) { high_.push(low_.top()); low_.pop(); }
    else if (high_.size() > low_.size()) { low_.push(high_.top()); high_.pop(); }
  }
  double get() const { return low_.size() > high_.size() ? low_.top() : (low_.top() + high_.top()) / 2.0; }
};
template <int K> struct LruCache {
  std::list<std::pair<int, int>> order;
  std::unordered_map<int, std::list<std::pair<int, int>>::iterator> where;
  int hits = 0;
  int get(int key) {
    auto it = where.find(key);
    if (it == where.end()) return -1;
    ++hits;
    order.splice(order.begin(), order, it->second);
    return it->second->second;
  }
  void put(int key, int value) {
    if (get(key) >= 0) { where[key]->second = value; return; }
    if (order.size() == K) { where.erase(order.back().first); order.pop_back(); }
    order.emplace_front(key, value);
    where[key] = order.begin();
  }
};
int main() {
  std::vector<int> data(64);
  unsigned state = 12345;
  for (int& x : data) { state = state * 1103515245u + 12345u; x = state >> 16 & 0xff; }
  show(data[0] * 1000 + data[63]); //= 220253
  WindowExtreme<int> least(8);
  WindowExtreme<int, std::greater<int>> most(8);
  long mins = 0, maxs = 0;
  for (int i = 0; i < 64; ++i) { mins += least.push(i, data[i]); maxs += most.push(i, data[i]); }
  show(mins); //= 1045
  show(maxs); //= 14782
  Median median;
  double sum = 0;
  for (int x : data) { median.add(x); sum += median.get(); }
  show(median.get() * 10); //= 1045
  show(sum * 10); //= 68500
  std::vector<long> prefix(65);
  std::partial_sum(data.begin(), data.end(), prefix.begin() + 1);
  int best = 0;
  for (int i = 16; i <= 64; ++i) if (prefix[i] - prefix[i - 16] > prefix[best + 16] - prefix[best]) best = i - 16;
  show(best); //= 35
  std::array<double, 5> kernel{1, 4, 6, 4, 1};
  std::vector<double> smooth(60);
  for (std::size_t i = 0; i < smooth.size(); ++i) smooth[i] = std::inner_product(kernel.begin(), kernel.end(), data.begin() + i, 0.0) / 16;
  show(smooth[30] * 16); //= 1561
  show(std::distance(smooth.begin(), std::max_element(smooth.begin(), smooth.end()))); //= 7
  const std::string text = "abracadabra alakazam abracadabra";
  std::unordered_map<std::uint64_t, int> seen;
  int repeats = 0;
  const std::uint64_t base = 131, mod = (1ull << 61) - 1;
  for (std::size_t i = 0; i + 4 <= text.size(); ++i) {
    std::uint64_t h = 0;
    for (std::size_t k = i; k < i + 4; ++k) h = (h * base + text[k]) % mod;
    if (seen[h]++) ++repeats;
  }
  show(repeats * 100 + seen.size()); //= 920
  std::size_t longest = 0;
  std::array<int, 256> last;
  last.fill(-1);
  for (int i = 0, from = 0; i < (int)text.size(); ++i) {
    from = std::max(from, last[(unsigned char)text[i]] + 1);
    last[(unsigned char)text[i]] = i;
    longest = std::max<std::size_t>(longest, i - from + 1);
  }
  show(longest); //= 5
  std::multiset<int> window(data.begin(), data.begin() + 9);
  long medians = 0;
  for (int i = 9; i <= 64; ++i) {
    medians += *std::next(window.begin(), 4);
    if (i == 64) break;
    window.erase(window.find(data[i - 9]));
    window.insert(data[i]);
  }
  show(medians); //= 6123
  LruCache<4> cache;
  int misses = 0;
  for (int x : data) { if (cache.get(x % 7) < 0) { ++misses; cache.put(x % 7, x); } }
  show(misses * 100 + cache.hits); //= 2836
  show(cache.order.front().first * 10 + cache.order.back().first); //= 10
  double mean = 0, m2 = 0;
  int n = 0;
  for (int x : data) { ++n; const double d = x - mean; mean += d / n; m2 += d * (x - mean); }
  show(std::sqrt(m2 / (n - 1)) * 1000); //= 83094
  float ema = 0.f;
  for (int x : data) ema = std::fma(0.125f, x - ema, ema);
  show(ema * 1000); //= 139555
  return 0;
}
