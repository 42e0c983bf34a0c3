/** Views of ranges: filters, transformations, slices, their order turned; what is written through them, and what algorithms make of them. */
#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <vector>
#include <list>
#include <array>
namespace rv = std::views;
struct P { int a, b; };
int main() {
  {
    std::vector<int> v(20);
    std::iota(v.begin(), v.end(), 1);
    int sum = 0;
    for (int x : v | std::views::filter([](int x) { return x % 3 == 0; }) | std::views::transform([](int x) { return x * x; })) sum += x;
    show(sum); //= 819
    sum = 0;
    for (int x : v | std::views::drop(3) | std::views::take(4)) sum = sum * 10 + x;
    show(sum); //= 4567
    sum = 0;
    for (int x : v | std::views::reverse | std::views::take(3)) sum = sum * 100 + x;
    show(sum); //= 201918
    sum = 0;
    for (int i : std::views::iota(0, 10)) sum += i * v[i];
    show(sum); //= 330
    std::vector<int> even;
    std::ranges::copy(v | std::views::filter([](int x) { return x % 2 == 0; }), std::back_inserter(even));
    show(even.size() * 100 + even.back()); //= 1020
    std::ranges::sort(v, std::greater{});
    show(v[0] * 100 + v[19]); //= 2001
    show(std::ranges::count_if(v, [](int x) { return x > 15; }) + *std::ranges::max_element(v) + std::ranges::distance(v)); //= 45
    show(std::ranges::find(v, 7) - v.begin()); //= 13
  }
  {
    std::vector<int> v{5, 2, 8, 1, 9, 4};
    for (int& x : v | std::views::filter([](int x) { return x > 4; })) x = 0;
    show(std::accumulate(v.begin(), v.end(), 0)); //= 7
  }
  {
    std::vector<int> v{5, 2, 8, 1, 9, 4};
    auto odd = v | rv::filter([](int x) { return x % 2; });
    v[1] = 7;
    int s = 0;
    for (int x : odd) s = s * 10 + x;
    show(s); //= 5719
  }
  {
    std::map<int, int> m{{3, 30}, {1, 10}, {2, 20}};
    int s = 0;
    for (int k : m | std::views::keys) s = s * 10 + k;
    for (int k : m | std::views::values) s += k;
    show(s); //= 183
  }
  {
    int limit = 3;
    int s = 0;
    for (int x : std::views::iota(1) | std::views::transform([limit](int i) { return i * limit; }) | std::views::take(4)) s = s * 100 + x;
    show(s); //= 3060912
  }
  {
    std::vector<int> v{1, 2, 3, 4, 5, 6};
    int s = 0;
    for (int x : v | rv::transform([](int x) { return x * x; }) | rv::reverse | rv::drop(1)) s = s * 100 + x;
    show(s); //= -1778876895
  }
  {
    std::vector<int> v{1, 2, 3, 9, 1, 2};
    int s = 0;
    for (int x : v | rv::take_while([](int x) { return x < 5; })) s = s * 10 + x;
    for (int x : v | rv::drop_while([](int x) { return x < 5; })) s = s * 10 + x;
    show(s); //= 123912
  }
  {
    std::vector<P> v{{1, 2}, {3, 4}};
    auto bs = v | rv::transform(&P::b);
    show(std::accumulate(bs.begin(), bs.end(), 0)); //= 6
  }
  {
    std::vector<int> v{1, 2, 3, 4, 5, 6};
    auto w = v | rv::filter([](int x) { return x % 2 == 0; }) | rv::reverse;
    std::vector<int> made(w.begin(), w.end());
    show(made[0] * 100 + made[2] * 10 + made.size()); //= 623
  }
  {
    std::list<int> l{4, 5, 6};
    int s = 0;
    for (int x : l | rv::reverse) s = s * 10 + x;
    show(s); //= 654
  }
  {
    std::array<int, 4> a{1, 2, 3, 4};
    int s = 0;
    for (auto i : rv::iota(0, 4) | rv::filter([&](int i) { return a[i] != 2; })) s = s * 10 + i;
    show(s); //= 23
  }
  {
    std::vector<int> v{1, 2, 3, 4, 5, 6};
    auto t = rv::take(v, 3);
    show(t.size() * 10 + std::ranges::distance(v | rv::drop(2))); //= 34
  }
  {
    std::vector<int> v{3, 1, 2};
    std::ranges::for_each(v | rv::transform([](int x) { return x + 1; }), [&](int x) { show(x); }); //= 4 2 3
  }
  {
    int c[5] = {1, 2, 3, 4, 5};
    int s = 0;
    for (int x : c | rv::filter([](int x) { return x != 3; })) s = s * 10 + x;
    show(s); //= 1245
  }
  {
    auto evens = rv::filter([](int x) { return x % 2 == 0; }) | rv::transform([](int x) { return x / 2; });
    std::vector<int> v{1, 2, 3, 4};
    int s = 0;
    for (int x : v | evens) s = s * 10 + x;
    show(s); //= 12
  }
  {
    std::vector<std::vector<int>> g{{1, 2}, {3}, {4, 5}};
    int s = 0;
    for (auto& row : g | rv::drop(1)) for (int x : row | rv::reverse) s = s * 10 + x;
    show(s); //= 354
  }
  {
    std::vector<int> v{1, 2, 3, 4, 5, 6};
    auto f = std::ranges::max(v | rv::transform([](int x) { return x * (7 - x); }));
    show(f * 10 + std::ranges::count_if(v | rv::drop(1), [](int x) { return x > 3; })); //= 123
  }
  return 0;
}
