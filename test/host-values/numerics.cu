/** Reference implementations: a convolution, a solver, a transform, a quadrature, with doubles as the measure. */
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>
template <class T> class Matrix {
  int r_, c_;
  std::vector<T> v_;
 public:
  Matrix(int r, int c, T x = T{}) : r_(r), c_(c), v_(static_cast<std::size_t>(r) * c, x) {}
  static Matrix identity(int n) { Matrix m(n, n); for (int i = 0; i < n; ++i) m(i, i) = T(1); return m; }
  T& operator()(int i, int j) { return v_[i * c_ + j]; }
  T operator()(int i, int j) const { return v_[i * c_ + j]; }
  int rows() const { return r_; }
  int cols() const { return c_; }
  friend Matrix operator*(const Matrix& a, const Matrix& b) {
    Matrix m(a.r_, b.c_);
    for (int i = 0; i < a.r_; ++i) for (int k = 0; k < a.c_; ++k) for (int j = 0; j < b.c_; ++j) m(i, j) += a(i, k) * b(k, j);
    return m;
  }
  T* operator[](int i) { return &v_[i * c_]; }
  template <class F> Matrix map(F f) const { Matrix m = *this; std::transform(v_.begin(), v_.end(), m.v_.begin(), f); return m; }
  T norm() const { return std::sqrt(std::inner_product(v_.begin(), v_.end(), v_.begin(), T{})); }
};
template <class T> T determinant(Matrix<T> m) {
  T det = 1;
  for (int i = 0; i < m.rows(); ++i) {
    int pivot = i;
    for (int r = i + 1; r < m.rows(); ++r) if (std::abs(m(r, i)) > std::abs(m(pivot, i))) pivot = r;
    if (m(pivot, i) == T(0)) return 0;
    if (pivot != i) { std::swap_ranges(m[i], m[i] + m.cols(), m[pivot]); det = -det; }
    det *= m(i, i);
    for (int r = i + 1; r < m.rows(); ++r) { const T f = m(r, i) / m(i, i); for (int c = i; c < m.cols(); ++c) m(r, c) -= f * m(i, c); }
  }
  return det;
}
using Complex = std::complex<double>;
static void fft(std::vector<Complex>& a) {
  const std::size_t n = a.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  for (std::size_t len = 2; len <= n; len <<= 1) {
    const double angle = -2 * M_PI / len;
    const Complex step(std::cos(angle), std::sin(angle));
    for (std::size_t i = 0; i < n; i += len) {
      Complex w(1);
      for (std::size_t k = 0; k < len / 2; ++k) {
        const Complex u = a[i + k], v = a[i + k + len / 2] * w;
        a[i + k] = u + v;
        a[i + k + len / 2] = u - v;
        w *= step;
      }
    }
  }
}
static double simpson(const std::function<double(double)>& f, double a, double b, int n) {
  const double h = (b - a) / n;
  double s = f(a) + f(b);
  for (int i = 1; i < n; ++i) s += f(a + i * h) * (i % 2 ? 4 : 2);
  return s * h / 3;
}
template <class T> T kahan(const std::vector<T>& v) { T s = 0, c = 0; for (T x : v) { const T y = x - c, t = s + y; c = (t - s) - y; s = t; } return s; }
int main() {
  Matrix<double> a(3, 3);
  for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) a(i, j) = (i * 3 + j * 2) % 5 + (i == j) * 4;
  show(std::lround(determinant(a) * 1000)); //= 40000
  show((a * Matrix<double>::identity(3))(1, 2) * 10); //= 20
  show(a.map([](double x) { return x * 0.5; }).norm() * 1e6); //= 4769696
  std::vector<Complex> signal(16);
  for (int i = 0; i < 16; ++i) signal[i] = Complex(i % 4, 0);
  fft(signal);
  show(std::lround(signal[0].real())); //= 24
  show(std::lround(std::abs(signal[4]) * 1000)); //= 11314
  show(std::lround(std::arg(signal[4]) * 1000)); //= 2356
  show(std::lround(simpson([](double x) { return std::exp(-x * x); }, 0, 2, 64) * 1e9)); //= 882081387
  std::mt19937 gen(3);
  std::normal_distribution<float> normal(5.f, 2.f);
  std::vector<float> sample(2000);
  std::generate(sample.begin(), sample.end(), [&] { return normal(gen); });
  show(std::accumulate(sample.begin(), sample.end(), 0.0f) * 100); //= 1018050
  show(kahan(sample) * 100); //= 1018050
  const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / sample.size();
  const double variance = std::accumulate(sample.begin(), sample.end(), 0.0, [mean](double s, float x) { return s + (x - mean) * (x - mean); }) / (sample.size() - 1);
  show(mean * 1e6); //= 5090253
  show(std::sqrt(variance) * 1e6); //= 2060171
  std::array<int, 8> bins{};
  for (float x : sample) ++bins[std::clamp(static_cast<int>(std::floor(x / 2)) + 1, 0, 7)];
  show(bins[2] * 10000 + bins[4]); //= 4670495
  double x = 1;
  int steps = 0;
  for (; steps < 50; ++steps) { const double next = x - (x * x * x - 2) / (3 * x * x); if (std::fabs(next - x) < 1e-12) break; x = next; }
  show(x * 1e9); //= 1259921049
  show(steps); //= 5
  show(std::numeric_limits<float>::epsilon() * 1e10); //= 1192
  show(std::isnan(std::sqrt(-1.0)) + std::isinf(1e308 * 10) * 2 + std::signbit(-0.0) * 4); //~ 7
  show(std::nextafter(1.0f, 2.0f) > 1.0f); //~ 1
  show(std::hypot(3.0, 4.0) * 100 + std::cbrt(27.0) + std::fmod(7.5, 2.0)); //= 504
  std::vector<double> image(36), out(16);
  std::iota(image.begin(), image.end(), 1.0);
  const double k[9] = {0, 1, 0, 1, -4, 1, 0, 1, 0};
  for (int r = 0; r < 4; ++r) for (int c = 0; c < 4; ++c) for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) out[r * 4 + c] += k[i * 3 + j] * image[(r + i) * 6 + c + j] * ((r + c) % 3);
  show(std::accumulate(out.begin(), out.end(), 0.0) + out[5]); //= 0
  show(std::remainder(10.0, 3.0) * 10 + std::trunc(-2.7) + std::lrint(2.5) + std::round(-2.5)); //~ 7
  return 0;
}
