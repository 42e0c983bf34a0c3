/** Dense matrices: elimination, powers, blocks, determinants, strides. */
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>
using Row = std::vector<double>;
using Dense = std::vector<Row>;
Dense identity(int n) { Dense m(n, Row(n)); for (int i = 0; i < n; i++) m[i][i] = 1; return m; }
Dense product(const Dense& a, const Dense& b) {
  Dense c(a.size(), Row(b[0].size(), 0.0));
  for (size_t i = 0; i < a.size(); i++) for (size_t k = 0; k < b.size(); k++) for (size_t j = 0; j < b[0].size(); j++) c[i][j] += a[i][k] * b[k][j];
  return c;
}
double determinant(Dense m) {
  double d = 1;
  int n = m.size();
  for (int c = 0; c < n; c++) {
    int p = c;
    for (int r = c + 1; r < n; r++) if (std::fabs(m[r][c]) > std::fabs(m[p][c])) p = r;
    if (m[p][c] == 0) return 0;
    if (p != c) { std::swap(m[p], m[c]); d = -d; }
    d *= m[c][c];
    for (int r = c + 1; r < n; r++) { double f = m[r][c] / m[c][c]; for (int k = c; k < n; k++) m[r][k] -= f * m[c][k]; }
  }
  return d;
}
Dense power(Dense m, int e) { Dense r = identity(m.size()); for (; e; e >>= 1) { if (e & 1) r = product(r, m); m = product(m, m); } return r; }
template <class T> class View {
  T* p_; int rows_, cols_, stride_;
 public:
  View(T* p, int r, int c, int s) : p_(p), rows_(r), cols_(c), stride_(s) {}
  T& operator()(int r, int c) { return p_[r * stride_ + c]; }
  View block(int r, int c, int h, int w) { return View(p_ + r * stride_ + c, h, w, stride_); }
  T sum() const { T s{}; for (int r = 0; r < rows_; r++) for (int c = 0; c < cols_; c++) s += p_[r * stride_ + c]; return s; }
};
int main() {
  Dense a{{2, 1, 3}, {0, 4, 1}, {5, 2, 1}};
  show(std::lround(determinant(a))); //= -51
  show(a[0][0]); //= 2
  Dense f = power({{1, 1}, {1, 0}}, 30);
  show(f[0][1]); //= 832040
  Dense b = a;
  std::swap(b[0], b[2]);
  show(b[0][0] * 10 + a[0][0]); //= 52
  b.push_back(Row(3, 7));
  b.erase(b.begin());
  show(b.size() * 100 + b.back()[2]); //= 307
  std::array<float, 64> data;
  std::iota(data.begin(), data.end(), 0.f);
  View<float> v(data.data(), 8, 8, 8);
  auto block = v.block(2, 4, 2, 3);
  show(block.sum()); //= 150
  block(1, 1) = 100;
  show(data[29]); //= 100
  double trace = 0;
  for (size_t i = 0; i < a.size(); i++) trace += a[i][i];
  show(trace); //= 7
  int spiral[4][5], n = 0;
  for (int l = 0, t = 0, r = 4, d = 3; l <= r && t <= d;) {
    for (int j = l; j <= r; j++) spiral[t][j] = n++;
    t++;
    for (int i = t; i <= d; i++) spiral[i][r] = n++;
    r--;
    if (t <= d) for (int j = r; j >= l; j--) spiral[d][j] = n++;
    d--;
    if (l <= r) for (int i = d; i >= t; i--) spiral[i][l] = n++;
    l++;
  }
  show(spiral[2][2] * 100 + spiral[1][1]); //= 1814
  return 0;
}
