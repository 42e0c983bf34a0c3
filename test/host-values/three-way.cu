/** Comparisons that classes leave to the compiler or write as one operator. */
#include <algorithm>
#include <compare>
#include <set>
#include <string>
#include <vector>
struct Version {
  int major, minor;
  std::string tag;
  auto operator<=>(const Version&) const = default;
};
struct Cell {
  int x, y;
  friend bool operator==(const Cell&, const Cell&) = default;
};
struct Length {
  double metres;
  std::partial_ordering operator<=>(const Length& o) const { return metres <=> o.metres; }
  bool operator==(const Length& o) const { return metres == o.metres; }
};
struct Name {
  std::string text;
  std::weak_ordering operator<=>(const Name& o) const {
    if (auto c = text.size() <=> o.text.size(); c != 0) return c;
    return text[0] < o.text[0] ? std::weak_ordering::less : text[0] > o.text[0] ? std::weak_ordering::greater : std::weak_ordering::equivalent;
  }
};
struct Box {
  Cell corners[2];
  int level;
  constexpr auto operator<=>(const Box& o) const { return level <=> o.level; }
};
int main() {
  Version a{1, 2, "b"}, b{1, 3, "a"}, c{1, 2, "a"};
  show((a < b) * 8 + (b > c) * 4 + (a <= c) * 2 + (a == a)); //= 13
  show((a != c) * 2 + (c >= a)); //= 2
  std::vector<Version> all{b, a, c};
  std::sort(all.begin(), all.end());
  show(all[0].tag[0] * 10 + all[2].minor); //= 973
  std::set<Version> some(all.begin(), all.end());
  some.insert(a);
  show(some.size()); //= 3
  Cell p{1, 2}, q{1, 3};
  show((p == q) * 4 + (p != q) * 2 + (p == Cell{1, 2})); //= 3
  Length m{2.5}, n{2.75};
  show((m < n) * 4 + (m > n) * 2 + (m != n)); //= 5
  show((Name{"bb"} < Name{"a"}) * 4 + (Name{"b"} > Name{"a"}) * 2 + (Name{"x"} <= Name{"x"})); //= 3
  show((3 <=> 5 < 0) * 2 + (5 <=> 5 == 0)); //= 3
  Box u{{p, q}, 2}, v{{q, p}, 1};
  show((u < v) * 2 + (u > v)); //= 1
  show(std::max(u, v).level * 10 + std::min({a, b, c}).minor); //= 22
  return 0;
}
