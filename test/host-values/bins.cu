/** Histograms, buckets and particle cells. */
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <vector>
template <size_t N> class Histogram {
  std::array<int, N> bins_{};
  float low_, high_;
 public:
  Histogram(float low, float high) : low_(low), high_(high) {}
  void add(float x) { int b = std::clamp(int((x - low_) / (high_ - low_) * N), 0, int(N) - 1); ++bins_[b]; }
  int operator[](size_t i) const { return bins_[i]; }
  size_t fullest() const { return std::max_element(bins_.begin(), bins_.end()) - bins_.begin(); }
  int total() const { return std::accumulate(bins_.begin(), bins_.end(), 0); }
};
struct Key { int x, y; bool operator==(const Key& o) const { return x == o.x && y == o.y; } };
struct KeyHash { size_t operator()(const Key& k) const { return k.x * 73856093u ^ k.y * 19349663u; } };
int main() {
  Histogram<8> h(-1, 1);
  for (int i = 0; i < 100; i++) h.add(std::sin(i * 0.37f));
  show(h.total()); //= 100
  show(h[0]); //= 24
  show(h.fullest()); //= 0
  std::unordered_map<Key, std::vector<int>, KeyHash> cells;
  for (int i = 0; i < 50; i++) cells[{i * i % 7, i % 5}].push_back(i);
  show(cells.size()); //= 20
  show(cells[{1, 1}].size()); //= 4
  size_t most = 0;
  for (const auto& [key, list] : cells) most = std::max(most, list.size());
  show(most); //= 4
  show(cells.find({6, 6}) == cells.end()); //= 1
  std::vector<std::vector<int>> buckets(10);
  for (int i = 0; i < 64; i++) buckets[i * 7 % 10].emplace_back(i);
  std::vector<int> flat, offsets{0};
  for (auto& b : buckets) { flat.insert(flat.end(), b.begin(), b.end()); offsets.push_back(flat.size()); }
  show(offsets[5]); //= 33
  show(flat[20]); //= 9
  std::map<int, int, std::greater<int>> counts;
  for (int x : flat) ++counts[x % 6];
  show(counts.begin()->first * 100 + counts.begin()->second); //= 510
  show(counts.rbegin()->second); //= 11
  std::vector<int> radix(256);
  std::iota(radix.begin(), radix.end(), 0);
  for (int pass = 0; pass < 2; pass++) {
    std::array<int, 17> c{};
    std::vector<int> out(radix.size());
    auto digit = [&](int x) { return ((x * 167 + 13) & 255) >> (4 * pass) & 15; };
    for (int x : radix) c[digit(x) + 1]++;
    for (int d = 0; d < 16; d++) c[d + 1] += c[d];
    for (int x : radix) out[c[digit(x)]++] = x;
    radix = std::move(out);
  }
  show(radix[0] * 1000 + radix[255]); //= 213190
  return 0;
}
