/** Work divided among ranks, tiles and levels; quadtrees; Hilbert curves; schedules. */
#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>
struct Range { int from, to; int size() const { return to - from; } bool empty() const { return from >= to; } };
std::vector<Range> divided(int n, int parts) { std::vector<Range> r; int at = 0; for (int i = 0; i < parts; i++) { int s = n / parts + (i < n % parts); r.push_back({at, at + s}); at += s; } return r; }
std::pair<int, int> shape(int n) { int a = std::sqrt((double)n); while (n % a) --a; return {a, n / a}; }
struct Quad { int x, y, size; std::vector<Quad> parts; };
Quad built(int x, int y, int size, const std::function<bool(int, int, int)>& splits) { Quad q{x, y, size, {}}; if (size > 1 && splits(x, y, size)) { int h = size / 2; for (int k = 0; k < 4; k++) q.parts.push_back(built(x + (k & 1) * h, y + (k >> 1) * h, h, splits)); } return q; }
int leaves(const Quad& q) { if (q.parts.empty()) return 1; int n = 0; for (auto& p : q.parts) n += leaves(p); return n; }
int hilbert(int n, int x, int y) { int d = 0; for (int s = n / 2; s > 0; s /= 2) { int rx = (x & s) > 0, ry = (y & s) > 0; d += s * s * ((3 * rx) ^ ry); if (ry == 0) { if (rx == 1) { x = n - 1 - x; y = n - 1 - y; } std::swap(x, y); } } return d; }
std::tuple<int, int, int> unflat(int i, int nx, int ny) { return {i % nx, i / nx % ny, i / (nx * ny)}; }
std::optional<int> firstOver(const std::vector<int>& v, int x) { auto it = std::find_if(v.begin(), v.end(), [x](int y) { return y > x; }); if (it == v.end()) return std::nullopt; return *it; }
int main() {
  auto r = divided(103, 8);
  show(r[6].from * 100 + r[7].size()); //= 7812
  show(std::count_if(r.begin(), r.end(), [](const Range& x) { return x.size() == 13; })); //= 7
  auto [a, b] = shape(48);
  show(a * 100 + b); //= 608
  Quad q = built(0, 0, 16, [](int x, int y, int s) { return x <= 5 && 5 < x + s && y <= 9 && 9 < y + s; });
  show(leaves(q)); //= 13
  show(q.parts[2].parts.size()); //= 4
  show(hilbert(8, 5, 3)); //= 52
  int x, y, z;
  std::tie(x, y, z) = unflat(1234, 10, 12);
  show(x * 10000 + y * 100 + z); //= 40310
  std::vector<int> loads{9, 7, 6, 5, 5, 4, 3, 2}, ranks(3);
  for (int l : loads) *std::min_element(ranks.begin(), ranks.end()) += l;
  show(*std::max_element(ranks.begin(), ranks.end())); //= 14
  show(firstOver(loads, 8).value_or(-1) * 100 + firstOver(loads, 10).value_or(-1)); //= 899
  int halo = 0;
  for (int level = 0, n = 128; n >= 16; level++, n >>= 1) halo += (n + 2) * (n + 2) - n * n + level;
  show(halo); //= 982
  std::vector<std::vector<int>> colors(3);
  for (int i = 0; i < 20; i++) colors[(i * 7 + i / 4) % 3].push_back(i);
  show(colors[1].size() * 100 + colors[1].back()); //= 618
  return 0;
}
