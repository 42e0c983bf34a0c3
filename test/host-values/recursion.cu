/** Functions that call themselves: queens, Ackermann, flood, subsets, expressions. */
#include <cctype>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>
int queens(int n, int row, unsigned cols, unsigned d1, unsigned d2) {
  if (row == n) return 1;
  int count = 0;
  for (unsigned free = ((1u << n) - 1) & ~(cols | d1 | d2); free; free &= free - 1) {
    unsigned bit = free & -free;
    count += queens(n, row + 1, cols | bit, (d1 | bit) << 1, (d2 | bit) >> 1);
  }
  return count;
}
int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
struct Image { int w, h; std::vector<int> p; };
int flood(Image& im, int x, int y, int from, int to) {
  if (x < 0 || y < 0 || x >= im.w || y >= im.h || im.p[y * im.w + x] != from) return 0;
  im.p[y * im.w + x] = to;
  return 1 + flood(im, x + 1, y, from, to) + flood(im, x - 1, y, from, to) + flood(im, x, y + 1, from, to) + flood(im, x, y - 1, from, to);
}
struct Parser {
  std::string s;
  size_t at = 0;
  int expression() { int v = term(); while (at < s.size() && (s[at] == '+' || s[at] == '-')) { char op = s[at++]; int r = term(); v = op == '+' ? v + r : v - r; } return v; }
  int term() { int v = factor(); while (at < s.size() && s[at] == '*') { at++; v *= factor(); } return v; }
  int factor() {
    if (s[at] == '(') { at++; int v = expression(); at++; return v; }
    int v = 0;
    while (at < s.size() && std::isdigit(s[at])) v = v * 10 + (s[at++] - '0');
    return v;
  }
};
void subsets(const std::vector<int>& v, size_t i, int left, std::vector<int>& chosen, std::vector<std::vector<int>>& out) {
  if (left == 0) { out.push_back(chosen); return; }
  if (i == v.size() || left < 0) return;
  chosen.push_back(v[i]);
  subsets(v, i + 1, left - v[i], chosen, out);
  chosen.pop_back();
  subsets(v, i + 1, left, chosen, out);
}
void hanoi(int n, int a, int b, int c, std::vector<std::pair<int, int>>& moves) { if (n == 0) return; hanoi(n - 1, a, c, b, moves); moves.emplace_back(a, b); hanoi(n - 1, c, b, a, moves); }
bool even(int n);
bool odd(int n) { return n == 0 ? false : even(n - 1); }
bool even(int n) { return n == 0 ? true : odd(n - 1); }
long memo(int n) { static std::map<int, long> known; if (n < 2) return n; auto it = known.find(n); if (it != known.end()) return it->second; return known[n] = memo(n - 1) + memo(n - 2); }
int main() {
  show(queens(6, 0, 0, 0, 0)); //= 4
  show(queens(8, 0, 0, 0, 0)); //= 92
  show(ackermann(2, 3)); //= 9
  Image im{6, 5, std::vector<int>(30)};
  for (int i = 0; i < 30; i++) im.p[i] = i % 7 == 0;
  show(flood(im, 1, 0, 0, 5)); //= 15
  show(im.p[29]); //= 5
  show(Parser{"2*(3+4)*5-6"}.expression()); //= 64
  std::vector<std::vector<int>> out;
  std::vector<int> chosen;
  subsets({1, 2, 3, 4, 5, 6}, 0, 9, chosen, out);
  show(out.size()); //= 5
  show(out.back().size()); //= 2
  std::vector<std::pair<int, int>> moves;
  hanoi(5, 0, 1, 2, moves);
  show(moves.size() * 100 + moves[15].first * 10 + moves[15].second); //= 3101
  show(even(10) * 10 + odd(7)); //= 11
  show(memo(50)); //= 12586269025
  std::function<int(int, int)> gcd = [&](int a, int b) -> int { return b == 0 ? a : gcd(b, a % b); };
  show(gcd(1071, 462)); //= 21
  auto walk = [](auto&& self, int n) -> int { return n <= 1 ? 1 : n * self(self, n - 1); };
  show(walk(walk, 6)); //= 720
  return 0;
}
