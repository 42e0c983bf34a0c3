/** Classes with operators: fractions, matrices, polynomials, fixed-point numbers. */
#include <array>
#include <compare>
#include <initializer_list>
#include <numeric>
#include <vector>
struct Fraction {
  long n, d;
  Fraction(long a = 0, long b = 1) : n(a), d(b) { reduce(); }
  void reduce() { long g = std::gcd(n, d); if (g) { n /= g; d /= g; } if (d < 0) { n = -n; d = -d; } }
  friend Fraction operator+(Fraction a, const Fraction& b) { return {a.n * b.d + b.n * a.d, a.d * b.d}; }
  friend Fraction operator*(const Fraction& a, const Fraction& b) { return Fraction(a.n * b.n, a.d * b.d); }
  Fraction operator-() const { return Fraction(-n, d); }
  Fraction& operator+=(const Fraction& o) { return *this = *this + o; }
  bool operator==(const Fraction& o) const { return n == o.n && d == o.d; }
  auto operator<=>(const Fraction& o) const { return n * o.d <=> o.n * d; }
  explicit operator double() const { return double(n) / d; }
};
template <int R, int C> struct Matrix {
  std::array<std::array<int, C>, R> a{};
  Matrix() = default;
  Matrix(std::initializer_list<int> l) { int i = 0; for (int x : l) { a[i / C][i % C] = x; i++; } }
  int& operator()(int r, int c) { return a[r][c]; }
  int operator()(int r, int c) const { return a[r][c]; }
  template <int K> Matrix<R, K> operator*(const Matrix<C, K>& o) const {
    Matrix<R, K> m;
    for (int i = 0; i < R; i++) for (int j = 0; j < K; j++) for (int k = 0; k < C; k++) m(i, j) += a[i][k] * o(k, j);
    return m;
  }
};
template <class T> T power(T x, int n) { T r = x; for (int i = 1; i < n; i++) r = r * x; return r; }
class Poly {
  std::vector<int> c_;
 public:
  Poly(std::vector<int> c) : c_(std::move(c)) {}
  Poly operator*(const Poly& o) const { std::vector<int> r(c_.size() + o.c_.size() - 1); for (size_t i = 0; i < c_.size(); i++) for (size_t j = 0; j < o.c_.size(); j++) r[i + j] += c_[i] * o.c_[j]; return r; }
  int operator()(int x) const { int y = 0; for (auto it = c_.rbegin(); it != c_.rend(); ++it) y = y * x + *it; return y; }
  int operator[](size_t i) const { return i < c_.size() ? c_[i] : 0; }
};
struct Counter { int n = 0; Counter& operator++() { ++n; return *this; } Counter operator++(int) { Counter old = *this; ++n; return old; } operator int() const { return n; } };
int operator""_KiB(unsigned long long n) { return n * 1024; }
int main() {
  Fraction a(1, 2), b(1, 3), c = a + b * Fraction(3);
  show(c.n * 10 + c.d); //= 32
  c += -a;
  show(c == Fraction(2, 2)); //= 1
  show(a > b); //= 1
  show(double(a) * 100); //= 50
  Matrix<2, 2> f{1, 1, 1, 0};
  show(power(f, 10)(0, 1)); //= 55
  Matrix<2, 3> p{1, 2, 3, 4, 5, 6};
  Matrix<3, 1> v{1, 0, 2};
  auto q = p * v;
  show(q(0, 0) * 100 + q(1, 0)); //= 716
  Poly x({1, 2}), y({-1, 0, 3});
  show((x * y)(5)); //= 814
  show((x * y)[3]); //= 6
  Counter k;
  int first = k++, second = ++k;
  show(first * 100 + second * 10 + k); //= 22
  show(4_KiB); //= 4096
  return 0;
}
