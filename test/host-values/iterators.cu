/** Iterators of the user's, ranges, spans and views. */
#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>
class Range {
  int from_, to_, by_;
 public:
  struct Iterator {
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    int at, by;
    int operator*() const { return at; }
    Iterator& operator++() { at += by; return *this; }
    bool operator!=(const Iterator& o) const { return at < o.at; }
  };
  Range(int from, int to, int by = 1) : from_(from), to_(to), by_(by) {}
  Iterator begin() const { return {from_, by_}; }
  Iterator end() const { return {to_, by_}; }
};
template <class T> struct Grid {
  int w, h;
  std::vector<T> cells;
  Grid(int w, int h, T x = T()) : w(w), h(h), cells(w * h, x) {}
  std::span<T> row(int y) { return std::span<T>(cells).subspan(y * w, w); }
  T& at(int x, int y) { return cells[y * w + x]; }
  auto begin() { return cells.begin(); }
  auto end() { return cells.end(); }
};
int sum(std::span<const int> s) { return std::accumulate(s.begin(), s.end(), 0); }
int main() {
  int total = 0;
  for (int i : Range(0, 100, 7)) total += i;
  show(total); //= 735
  Grid<int> g(5, 4);
  int n = 0;
  for (int& c : g) c = n++;
  show(sum(g.row(2))); //= 60
  g.row(1)[3] = 100;
  show(g.at(3, 1)); //= 100
  std::array<int, 4> a{4, 3, 2, 1};
  int c[] = {5, 6, 7};
  show(sum(a) * 100 + sum(c)); //= 1018
  show(std::size(c) + *std::rbegin(a)); //= 4
  std::vector<int> v(10);
  std::generate(v.begin(), v.end(), [k = 1]() mutable { return k *= 2; });
  show(v[9]); //= 1024
  auto even = v | std::views::filter([](int x) { return x % 3 == 1; }) | std::views::transform([](int x) { return x + 1; });
  int s = 0;
  for (int x : even) s += x;
  show(s); //~ 1369
  for (int i : std::views::iota(3, 6)) s += i;
  show(s); //~ 1381
  std::ranges::sort(v, std::greater{});
  show(v[0]); //~ 1024
  show(std::ranges::count_if(v, [](int x) { return x > 100; })); //~ 4
  std::string_view text = "alpha,beta,,gamma";
  int words = 0, longest = 0;
  while (true) {
    auto at = text.find(',');
    auto word = text.substr(0, at);
    if (!word.empty()) words++;
    longest = std::max(longest, (int)word.size());
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  show(words * 10 + longest); //~ 35
  auto it = v.begin();
  std::advance(it, 3);
  show(*it + std::distance(it, v.end())); //~ 135
  auto last = v.crbegin();
  show(*++last); //~ 4
  std::vector<int> w;
  std::copy_if(v.begin(), v.end(), std::back_inserter(w), [](int x) { return x < 50; });
  std::transform(w.begin(), w.end(), w.begin(), [](int x) { return -x; });
  show(w.front() * 10 + w.size()); //~ -315
  for (auto [i, x] = std::tuple{0, 1}; i < 3; ++i) s += x;
  show(s); //~ 1384
  return 0;
}
