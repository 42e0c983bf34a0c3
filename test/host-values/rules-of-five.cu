/** Classes that copy what they own: a matrix with a raw array, a string of the user's, a shared handle with its own count. */
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>
class Matrix {
  int r_, c_;
  float* p_;
 public:
  Matrix(int r, int c, float x = 0) : r_(r), c_(c), p_(new float[r * c]) { std::fill(p_, p_ + r * c, x); }
  Matrix(const Matrix& o) : r_(o.r_), c_(o.c_), p_(new float[o.r_ * o.c_]) { std::copy(o.p_, o.p_ + r_ * c_, p_); }
  Matrix(Matrix&& o) noexcept : r_(o.r_), c_(o.c_), p_(o.p_) { o.p_ = nullptr; o.r_ = o.c_ = 0; }
  Matrix& operator=(Matrix o) { swap(*this, o); return *this; }
  ~Matrix() { delete[] p_; }
  friend void swap(Matrix& a, Matrix& b) { using std::swap; swap(a.r_, b.r_); swap(a.c_, b.c_); swap(a.p_, b.p_); }
  float& operator()(int r, int c) { return p_[r * c_ + c]; }
  float operator()(int r, int c) const { return p_[r * c_ + c]; }
  int rows() const { return r_; }
  int size() const { return r_ * c_; }
};
Matrix scaled(Matrix m, float s) { for (int i = 0; i < m.rows(); i++) m(i, 0) *= s; return m; }
class Handle {
  int* count_;
 public:
  Handle() : count_(new int(1)) {}
  Handle(const Handle& o) : count_(o.count_) { ++*count_; }
  Handle& operator=(const Handle& o) { if (count_ != o.count_) { drop(); count_ = o.count_; ++*count_; } return *this; }
  ~Handle() { drop(); }
  void drop() { if (count_ && --*count_ == 0) delete count_; count_ = nullptr; }
  int count() const { return *count_; }
};
class Text {
  char* s_; size_t n_;
 public:
  Text(const char* s) : n_(std::strlen(s)) { s_ = new char[n_ + 1]; std::memcpy(s_, s, n_ + 1); }
  Text(const Text& o) : Text(o.s_) {}
  Text(Text&& o) : s_(o.s_), n_(o.n_) { o.s_ = nullptr; o.n_ = 0; }
  Text& operator=(Text&& o) { std::swap(s_, o.s_); std::swap(n_, o.n_); return *this; }
  ~Text() { delete[] s_; }
  size_t size() const { return n_; }
  char& operator[](size_t i) { return s_[i]; }
};
int main() {
  Matrix a(3, 2, 1.0f);
  Matrix b = a;
  b(0, 0) = 5;
  show(a(0, 0) * 10 + b(0, 0)); //= 15
  Matrix c = scaled(a, 3);
  show(a(1, 0) * 10 + c(1, 0)); //= 13
  a = c;
  a(2, 1) = 9;
  show(c(2, 1) * 10 + a(2, 0)); //= 13
  Matrix d = std::move(c);
  show(c.size() * 10 + d.size()); //= 6
  std::vector<Matrix> all(2, a);
  all[0](0, 0) = 100;
  show(all[1](0, 0) + a(0, 0) * 10); //= 33
  Handle h;
  show(h.count()); //= 1
  { Handle g = h; Handle f; f = g; show(h.count()); } //= 3
  show(h.count()); //= 1
  std::vector<Handle> handles(3, h);
  show(h.count()); //= 4
  handles.clear();
  show(h.count()); //= 1
  Text t("hello"), u = t;
  u[0] = 'j';
  show(t[0] * 1000 + u[0]); //= 104106
  t = std::move(u);
  show(t[0] * 1000 + u.size()); //= 106005
  Text v = std::move(t);
  show(t.size() * 10 + v.size()); //= 5
  return 0;
}
