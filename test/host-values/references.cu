/** Functions that give references: to members, elements, statics and what they are given. */
#include <vector>
#include <map>
#include <string>
struct S { int a; int b[3]; int& at(int i) { return b[i]; } int& first() { return a; } S& set(int x) { a = x; return *this; } };
struct Mat { int r, c; std::vector<int> d; Mat(int r, int c) : r(r), c(c), d(r * c) {} int& operator()(int i, int j) { return d[i * c + j]; } int& operator[](int i) { return d[i]; } const int& get(int i) const { return d[i]; } auto& raw() { return d; } };
static int& counter() { static int n = 0; return n; }
struct App { static App& get() { static App a; return a; } int n = 3; int& size() { return n; } };
template <class T> T& larger(T& a, T& b) { return a < b ? b : a; }
std::vector<int>& store() { static std::vector<int> v; return v; }
int main() {
  S s{1, {2, 3, 4}};
  int& r = s.at(1); r = 30;
  show(s.b[1]); //= 30
  auto& f = s.first(); f += 5;
  show(s.a); //= 6
  counter() = 4; ++counter();
  show(counter()); //= 5
  Mat m(2, 3); m(1, 2) = 6; m[0] = 2; m[0]++;
  show(m.d[5] * 10 + m.d[0]); //= 63
  show(m(1, 2) + m.get(0)); //= 9
  m.raw().push_back(9);
  show(m.d.size()); //= 7
  App::get().n = 8; App::get().size() += 1;
  show(App::get().n); //= 9
  int x = 1, y = 2; larger(x, y) = 10;
  show(y * 10 + x); //= 101
  larger(x, y) = 0;
  show(y * 10 + x); //= 1
  store().push_back(4); store().push_back(5);
  show(store().size()); //= 2
  s.set(3).set(7).at(0) = 1;
  show(s.a + s.b[0]); //= 8
  S copy = s.set(9); copy.a = 1;
  show(s.a); //= 9
  return 0;
}
