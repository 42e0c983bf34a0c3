/** Sequences that are compared and searched, with functions, over containers of several kinds. */
#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <numeric>
#include <set>
#include <string>
#include <vector>
struct Point { int x, y; };
static bool isClose(double a, double b) { return a - b < 0.01 && b - a < 0.01; }
int main() {
  std::vector<int> a{1, 2, 3, 4, 5, 4, 3, 2, 1};
  std::array<int, 9> b{1, 2, 3, 4, 5, 4, 3, 2, 1};
  std::deque<int> d(a.begin(), a.end());
  std::list<int> l(a.begin(), a.end());
  int raw[] = {1, 2, 3, 9};
  show(std::equal(a.begin(), a.end(), b.begin())); //= 1
  show(std::equal(a.begin(), a.end(), raw, raw + 4)); //~ 0
  show(std::equal(a.begin(), a.end(), d.begin(), d.end())); //~ 1
  show(std::equal(l.begin(), l.end(), a.begin())); //~ 1
  std::vector<double> p{1.0, 2.0, 3.0}, q{1.001, 1.999, 3.002};
  show(std::equal(p.begin(), p.end(), q.begin(), isClose)); //~ 1
  show(std::equal(p.begin(), p.end(), q.begin(), q.end(), [](double x, double y) { return x == y; })); //~ 0
  auto [ia, ir] = std::mismatch(a.begin(), a.end(), raw);
  show((ia - a.begin()) * 100 + *ia * 10 + *ir); //~ 349
  auto m = std::mismatch(a.begin(), a.end(), raw, raw + 3);
  show((m.first - a.begin()) * 10 + (m.second - raw)); //~ 33
  int needle[] = {4, 3};
  show(std::search(a.begin(), a.end(), needle, needle + 2) - a.begin()); //~ 5
  show(std::find_end(a.begin(), a.end(), std::begin(needle), std::begin(needle) + 1) - a.begin()); //~ 5
  show(std::find_first_of(a.begin(), a.end(), std::begin(needle), std::end(needle)) - a.begin()); //~ 2
  show(*std::find_if_not(a.begin(), a.end(), [](int x) { return x < 4; })); //~ 4
  int same[] = {0, 7, 7, 7, 2, 7, 7};
  show(std::search_n(same, same + 7, 3, 7) - same); //~ 1
  show(std::search_n(std::begin(same), std::end(same), 4, 7) - same); //~ 7
  show(std::is_heap(a.begin(), a.end()) * 2 + std::is_heap(std::begin(needle), std::end(needle))); //~ 1
  std::vector<int> h(a);
  std::make_heap(h.begin(), h.end());
  show(std::is_heap(h.begin(), h.end())); //~ 1
  show(std::is_heap_until(a.begin(), a.end(), std::greater<int>()) - a.begin()); //~ 7
  show(std::is_partitioned(a.begin(), a.end(), [](int x) { return x < 3; }) * 2 + std::is_partitioned(raw, raw + 4, [](int x) { return x < 3; })); //~ 1
  show(std::is_permutation(a.begin(), a.end(), d.rbegin())); //~ 1
  show(std::is_permutation(raw, raw + 4, needle, needle + 2)); //~ 0
  show(std::is_sorted_until(a.begin(), a.end()) - a.begin()); //~ 5
  show(std::adjacent_find(same, same + 7, [](int x, int y) { return x == y + 5; }) - same); //~ 3
  int sum = 0;
  std::for_each_n(a.begin(), 4, [&](int x) { sum += x * x; });
  show(sum); //~ 30
  show(std::accumulate(l.begin(), l.end(), 1L, [](long s, int x) { return s * 3 + x; })); //~ 34324
  show(std::count_if(l.begin(), l.end(), [](int x) { return x % 2 == 0; }) * 100 + std::count(d.begin(), d.end(), 3)); //~ 402
  std::set<int> s(a.begin(), a.end());
  show(std::accumulate(s.begin(), s.end(), 0) * 10 + std::distance(s.begin(), s.find(4))); //~ 153
  show(std::inner_product(a.begin(), a.end(), b.begin(), 0, std::plus<>(), [](int x, int y) { return x * y + 1; })); //~ 94
  show(std::inner_product(l.begin(), l.end(), d.begin(), 7)); //~ 92
  std::string text = "the quick brown fox";
  std::string word = "brown";
  show(std::search(text.begin(), text.end(), word.begin(), word.end()) - text.begin()); //~ 10
  show(std::lexicographical_compare(raw, raw + 3, needle, needle + 2)); //~ 1
  show(*std::max_element(l.begin(), l.end(), [](int x, int y) { return x % 5 < y % 5; })); //~ 4
  auto mm = std::minmax_element(a.begin(), a.end(), [](int x, int y) { return x * 7 % 5 < y * 7 % 5; });
  show((mm.first - a.begin()) * 10 + (mm.second - a.begin())); //~ 47
  show(std::clamp(17, 3, 12) * 100 + std::max({3, 9, 4}) * 10 + std::min({3, 9, 4})); //~ 1293
  auto er = std::equal_range(raw, raw + 4, 2, std::less<int>());
  show((er.first - raw) * 10 + (er.second - raw)); //~ 12
  show(std::binary_search(raw, raw + 4, 9, std::less<>())); //~ 1
  show(std::any_of(l.begin(), l.end(), [](int x) { return x == 5; }) + std::all_of(s.begin(), s.end(), [](int x) { return x < 5; })); //~ 1
  show(std::includes(a.begin(), a.begin() + 5, raw, raw + 3, std::less<int>())); //~ 1
  show(*std::next(l.begin(), 3) * 10 + *std::prev(l.end(), 2)); //~ 42
  return 0;
}
