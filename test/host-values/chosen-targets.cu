/** What is assigned to one of two variables, and objects that a constructor takes in braces. */
#include <algorithm>
#include <array>
struct Shape { int e[2]; explicit Shape(std::array<int, 2> s) : e{s[0], s[1] * 2} {} int all() const { return e[0] * e[1]; } };
struct Box { int w, h; Box(int a, int b) : w(a), h(b) {} };
struct Holder { Box b; int n; Holder(Box x) : b(x), n(x.w) {} };
struct List { int n; List(std::array<int, 3> a) : n(a[0] + a[1] + a[2]) {} };
static void add(int& x, int by) { x += by; }
int main() {
  int a = 1, b = 2;
  for (int i = 0; i < 5; i++) (i % 2 ? a : b) += i;
  show(a); //= 5
  show(b); //= 8
  ++(a > b ? a : b);
  show(a * 100 + b); //= 509
  const int old = (a < b ? a : b)++;
  show(old * 1000 + a * 100 + b); //= 5609
  int& r = a > b ? a : b;
  r += 20;
  show(a * 100 + b); //= 629
  add(a < b ? a : b, 3);
  show(a * 100 + b); //= 929
  *(a > b ? &a : &b) = 1;
  show(a * 100 + b); //= 901
  int of[3] = {4, 5, 6};
  (a > b ? of[0] : of[b]) *= 3;
  show(of[0] * 100 + of[1]); //= 1205
  (a == 0 ? a : b == 0 ? b : of[2]) = 9;
  show(of[2] + a + b); //= 19
  int lo = 0, hi = 100;
  while (lo + 1 < hi) { int m = (lo + hi) / 2; (m * m <= 50 ? lo : hi) = m; }
  show(lo); //= 7
  Shape s({3, 4});
  show(s.all()); //= 24
  Holder h({7, 8});
  show(h.n * 10 + h.b.h); //= 78
  List l({1, 2, 3});
  show(l.n); //= 6
}
