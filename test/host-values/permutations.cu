/** Orders: sorts, permutations, ranks, partitions. */
#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>
struct Particle { float x, y; int cell; };
template <class T> std::vector<size_t> order(const std::vector<T>& v) {
  std::vector<size_t> i(v.size());
  std::iota(i.begin(), i.end(), size_t{0});
  std::stable_sort(i.begin(), i.end(), [&](size_t a, size_t b) { return v[a] < v[b]; });
  return i;
}
template <class T> void permute(std::vector<T>& v, const std::vector<size_t>& by) { std::vector<T> out; out.reserve(v.size()); for (size_t i : by) out.push_back(v[i]); v.swap(out); }
int main() {
  std::vector<int> keys;
  for (int i = 0; i < 25; i++) keys.push_back((i * 37 + 11) % 50);
  auto by = order(keys);
  show(by[0] * 100 + by[24]); //= 2024
  permute(keys, by);
  show(std::is_sorted(keys.begin(), keys.end())); //= 1
  std::vector<size_t> inverse(by.size());
  for (size_t i = 0; i < by.size(); i++) inverse[by[i]] = i;
  show(inverse[3]); //= 11
  std::vector<Particle> ps;
  for (int i = 0; i < 30; i++) ps.push_back({i * 7 % 10 * 0.1f, i * 3 % 10 * 0.1f, 0});
  for (auto& p : ps) p.cell = int(p.y * 4) * 4 + int(p.x * 4);
  std::sort(ps.begin(), ps.end(), [](auto& a, auto& b) { return a.cell != b.cell ? a.cell < b.cell : a.x < b.x; });
  show(ps[10].cell); //= 6
  std::vector<int> start(17);
  for (auto& p : ps) start[p.cell + 1]++;
  std::partial_sum(start.begin(), start.end(), start.begin());
  show(start[8]); //= 15
  auto middle = std::partition(keys.begin(), keys.end(), [](int k) { return k % 2 == 0; });
  show(middle - keys.begin()); //= 12
  std::nth_element(keys.begin(), keys.begin() + 12, keys.end());
  show(keys[12]); //= 25
  std::partial_sort(keys.begin(), keys.begin() + 3, keys.end(), std::greater<>());
  show(keys[0] * 10000 + keys[1] * 100 + keys[2]); //= 494846
  std::vector<int> u{1, 1, 2, 2, 2, 3, 5, 5};
  u.erase(std::unique(u.begin(), u.end()), u.end());
  show(u.size() * 10 + u.back()); //= 45
  std::rotate(u.begin(), u.begin() + 1, u.end());
  show(u.front() * 10 + u.back()); //= 21
  std::string s = "bca";
  int count = 0;
  do count++; while (std::next_permutation(s.begin(), s.end()));
  show(count); //= 3
  auto range = std::equal_range(keys.begin() + 3, keys.end(), 10);
  std::vector<int> a{1, 3, 5, 7}, b{3, 4, 5, 8}, both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  show(both.size() * 10 + both[1]); //= 25
  both.clear();
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  show(both.size()); //= 6
  std::reverse(both.begin(), both.end());
  show(both[0]); //= 8
  show(std::inner_product(a.begin(), a.end(), b.begin(), 0)); //= 96
  std::vector<int> sorted = a;
  std::make_heap(sorted.begin(), sorted.end());
  std::pop_heap(sorted.begin(), sorted.end());
  show(sorted.back() * 10 + sorted.front()); //= 75
  show(std::transform_reduce(a.begin(), a.end(), 0, std::plus<>(), [](int x) { return x * x; })); //= 84
  return 0;
}
