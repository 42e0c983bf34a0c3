/** A sparse solver's set-up: triplets from a stencil, CSR, degrees, reordering, colouring, row blocks of even work. */
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <queue>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
struct Triplet { int row, col; double value; friend bool operator<(const Triplet& a, const Triplet& b) { return std::tie(a.row, a.col) < std::tie(b.row, b.col); } };
struct Csr {
  std::vector<int> offsets, columns;
  std::vector<double> values;
  int rows() const { return static_cast<int>(offsets.size()) - 1; }
  std::span<const int> row(int r) const { return {columns.data() + offsets[r], static_cast<size_t>(offsets[r + 1] - offsets[r])}; }
};
class Builder {
 public:
  explicit Builder(int n) : n_(n) {}
  Builder& add(int r, int c, double v) { list_.push_back({r, c, v}); return *this; }
  Csr finish() && {
    std::stable_sort(list_.begin(), list_.end());
    Csr m;
    m.offsets.assign(n_ + 1, 0);
    for (size_t i = 0; i < list_.size(); ++i) {
      const auto& [r, c, v] = list_[i];
      if (i > 0 && list_[i - 1].row == r && list_[i - 1].col == c) { m.values.back() += v; continue; }
      m.columns.push_back(c);
      m.values.push_back(v);
      ++m.offsets[r + 1];
    }
    std::partial_sum(m.offsets.begin(), m.offsets.end(), m.offsets.begin());
    return m;
  }
 private:
  int n_;
  std::vector<Triplet> list_;
};
static std::vector<int> reverseCuthillMcKee(const Csr& m) {
  std::vector<int> order;
  std::vector<char> seen(m.rows());
  auto degree = [&](int v) { return m.offsets[v + 1] - m.offsets[v]; };
  for (int start = 0; start < m.rows(); ++start) {
    if (seen[start]) continue;
    std::queue<int> open;
    open.push(start);
    seen[start] = 1;
    while (!open.empty()) {
      const int v = open.front();
      open.pop();
      order.push_back(v);
      std::vector<int> next;
      for (int w : m.row(v)) if (!seen[w]) { seen[w] = 1; next.push_back(w); }
      std::sort(next.begin(), next.end(), [&](int a, int b) { return std::pair(degree(a), a) < std::pair(degree(b), b); });
      for (int w : next) open.push(w);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}
static int bandwidth(const Csr& m, const std::vector<int>& at) {
  int most = 0;
  for (int r = 0; r < m.rows(); ++r) for (int c : m.row(r)) most = std::max(most, std::abs(at[r] - at[c]));
  return most;
}
static std::vector<int> colours(const Csr& m) {
  std::vector<int> colour(m.rows(), -1);
  for (int r = 0; r < m.rows(); ++r) {
    uint64_t taken = 0;
    for (int c : m.row(r)) if (colour[c] >= 0) taken |= 1ull << colour[c];
    colour[r] = __builtin_ctzll(~taken);
  }
  return colour;
}
template <class T> struct Ell { int width; std::vector<T> values; std::vector<int> columns; };
template <class T> Ell<T> toEll(const Csr& m, T pad = T{}) {
  Ell<T> e{0, {}, {}};
  for (int r = 0; r < m.rows(); ++r) e.width = std::max(e.width, m.offsets[r + 1] - m.offsets[r]);
  e.values.assign(static_cast<size_t>(e.width) * m.rows(), pad);
  e.columns.assign(e.values.size(), -1);
  for (int r = 0; r < m.rows(); ++r)
    for (int k = m.offsets[r], j = 0; k < m.offsets[r + 1]; ++k, ++j) {
      e.values[j * m.rows() + r] = static_cast<T>(m.values[k]);
      e.columns[j * m.rows() + r] = m.columns[k];
    }
  return e;
}
int main() {
  constexpr int nx = 7, ny = 5;
  Builder builder(nx * ny);
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x) {
      const int me = y * nx + x;
      builder.add(me, me, 4.0);
      for (auto [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
        const int u = x + dx, v = y + dy;
        if (u < 0 || v < 0 || u >= nx || v >= ny) continue;
        builder.add(me, v * nx + u, -1.0);
      }
      if (x % 3 == 0) builder.add(me, me, 0.5);
    }
  const Csr m = std::move(builder).finish();
  show(m.rows()); //= 35
  show(m.columns.size()); //= 151
  show(m.offsets[10] * 100 + m.offsets[11]); //= 4045
  show(std::accumulate(m.values.begin(), m.values.end(), 0.0) * 10); //= 315
  std::vector<int> identity(m.rows());
  std::iota(identity.begin(), identity.end(), 0);
  show(bandwidth(m, identity)); //= 7
  const auto order = reverseCuthillMcKee(m);
  std::vector<int> at(order.size());
  for (size_t i = 0; i < order.size(); ++i) at[order[i]] = static_cast<int>(i);
  show(bandwidth(m, at)); //= 6
  show(order[0] * 10000 + order[1] * 100 + order[17]); //= 343317
  const auto colour = colours(m);
  show(*std::max_element(colour.begin(), colour.end()) + 1); //= 2
  show(std::count(colour.begin(), colour.end(), 1)); //= 17
  const auto ell = toEll<float>(m);
  show(ell.width); //= 5
  show(ell.values[2 * m.rows() + 8] * 10); //= 40
  show(std::count(ell.columns.begin(), ell.columns.end(), -1)); //= 24
  std::map<int, int> histogram;
  for (int r = 0; r < m.rows(); ++r) ++histogram[static_cast<int>(m.row(r).size())];
  for (const auto& [size, count] : histogram) show(size * 100 + count); //= 304 416 515
  std::vector<int> cuts{0};
  const int target = static_cast<int>(m.columns.size()) / 4;
  for (int part = 1; part < 4; ++part) cuts.push_back(std::lower_bound(m.offsets.begin(), m.offsets.end(), part * target) - m.offsets.begin());
  cuts.push_back(m.rows());
  for (int i = 0; i + 1 < (int)cuts.size(); ++i) show(m.offsets[cuts[i + 1]] - m.offsets[cuts[i]]); //= 40 38 33 40
  return 0;
}
