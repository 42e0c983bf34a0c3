/** Containers that few programs use, functions that are bound, numbers from text. */
#include <charconv>
#include <cmath>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <vector>
struct Counter {
  int n = 3;
  int plus(int k) const { return n + k; }
  int next() { return ++n; }
};
static int weigh(int a, int b, int c) { return a * 100 + b * 10 + c; }
int main() {
  using namespace std::placeholders;
  auto swapped = std::bind(weigh, _3, _1, 7);
  show(swapped(1, 2, 5)); //~ 517
  auto f = std::bind(std::minus<int>(), 10, _1);
  show(f(3)); //~ 7
  Counter counter;
  auto bound = std::bind(&Counter::plus, &counter, _1);
  show(bound(4)); //~ 7
  std::function<int(int)> kept = std::bind(weigh, 1, _1, 2);
  show(kept(9)); //~ 192
  auto next = std::mem_fn(&Counter::next);
  next(counter);
  show(next(counter)); //~ 5
  int total = 0;
  auto add = std::bind([](int& t, int k) { t += k; }, std::ref(total), _1);
  add(5);
  add(6);
  show(total); //= 11
  std::unordered_multimap<int, int> um;
  for (int i = 0; i < 40; ++i) um.insert({i * 7 % 12, i});
  long order = 0;
  for (const auto& [key, value] : um) order = (order * 31 + key * 50 + value) % 1000000007;
  show(order); //= 314304359
  show(um.count(5) * 100 + um.size()); //= 340
  auto [from, to] = um.equal_range(8);
  long group = 0;
  for (auto it = from; it != to; ++it) group = group * 50 + it->second;
  show(group); //= 81008
  um.erase(8);
  show(um.size()); //= 37
  std::unordered_multiset<std::string> ms;
  const char* words[] = {"a", "bb", "a", "ccc", "bb", "a", "dd"};
  for (auto w : words) ms.insert(w);
  show(ms.count("a") * 10 + ms.count("bb")); //= 32
  order = 0;
  for (const auto& w : ms) order = order * 131 + w.size() * 7 + w[0];
  show(order); //= 580808874781970
  std::forward_list<int> fl{5, 1, 4};
  fl.push_front(9);
  auto at = fl.begin();
  ++at;
  fl.insert_after(at, 7);
  fl.sort();
  long code = 0;
  for (int x : fl) code = code * 10 + x;
  show(code); //= 14579
  fl.erase_after(fl.before_begin());
  fl.remove(7);
  fl.reverse();
  code = 0;
  for (auto it = fl.begin(); it != fl.end(); it++) code = code * 10 + *it;
  show(code); //= 954
  show(std::distance(fl.begin(), fl.end()) * 10 + fl.front()); //= 39
  std::valarray<double> va{1, 2, 3, 4, 5, 6};
  std::valarray<double> vb = va * 2.0 + 1.0;
  show(vb.sum() * 10 + vb.max()); //= 493
  va += vb;
  show(va[3] * 100 + va.min()); //= 1304
  std::valarray<double> row = va[std::slice(1, 3, 2)];
  show(row.size() * 1000 + row.sum()); //= 3039
  va[std::slice(0, 3, 1)] = 0.0;
  show(va.sum()); //= 48
  std::valarray<int> vi(4, 3);
  vi[2] = 8;
  show(vi.shift(1)[0] * 10 + vi.cshift(1)[1] + (vi * vi).sum()); //= 144
  std::valarray<double> roots = std::sqrt(vb);
  show(roots[3] * 1000); //= 3000
  show(vi.apply([](int x) { return x - 1; })[2]); //= 7
  const std::string text = "482,-17,ff";
  int x = 0;
  auto r = std::from_chars(text.data(), text.data() + text.size(), x);
  show(x * 10 + (r.ptr - text.data())); //= 4823
  r = std::from_chars(r.ptr + 1, text.data() + text.size(), x);
  show(x * 10 + (r.ec == std::errc())); //= -169
  r = std::from_chars(r.ptr + 1, text.data() + text.size(), x, 16);
  show(x); //= 255
  char buffer[16];
  auto end = std::to_chars(buffer, buffer + 16, -3071);
  show((end.ptr - buffer) * 100 + buffer[1]); //= 551
  end = std::to_chars(buffer, buffer + 16, 255, 2);
  show(end.ptr - buffer); //= 8
  std::list<int> l1{1, 4, 6}, l2{2, 3, 9};
  l1.merge(l2);
  code = 0;
  for (auto it = l1.rbegin(); it != l1.rend(); ++it) code = code * 10 + *it;
  show(code * 10 + l2.size()); //= 9643210
  show(l1 == std::list<int>{1, 2, 3, 4, 6, 9}); //= 1
  l1.unique([](int a, int b) { return b - a < 2; });
  show(l1.size()); //= 4
  return 0;
}
