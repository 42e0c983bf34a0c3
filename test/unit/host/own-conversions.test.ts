/** Objects that make objects of other classes of themselves (values of g++). */
import { check } from './check-contents';

const classes = `
__global__ void k(int a, int b, int c) {}
struct Other {};
struct Size {
  int n;
  Size() : n(0) {}
  Size(const char*) : n(5) {}
  Size(const Other&) : n(6) {}
};
struct Pitch {
  int m;
  operator Size() const { Size s; s.n = m; return s; }
};
struct Name {
  std::string held;
  operator std::string() const { return held + "!"; }
};
int length(const std::string& text) { return (int)text.size(); }
int twice(Size s) { return 2 * s.n; }`;

describe('conversions by a class of its own objects', () => {
  it('come before what constructors of the other class make of them', () => {
    check(`${classes}
int main() {
  Pitch p{3};
  Size s = p, t(p), u{p}, v;
  v = p;
  k<<<1, 32>>>(s.n, t.n, u.n); //= a: 3, b: 3, c: 3
  k<<<1, 32>>>(v.n, twice(p), static_cast<Size>(p).n); //= a: 3, b: 6, c: 3
  v = Other();
  k<<<1, 32>>>(v.n, Size("").n, Size(Other()).n); //= a: 6, b: 5, c: 6
}`);
  });

  it('give texts', () => {
    check(`${classes}
int main() {
  Name name{"abc"};
  std::string s = name, t(name), u;
  u = name;
  k<<<1, 32>>>((int)s.size(), (int)t.size(), (int)u.size()); //= a: 4, b: 4, c: 4
  k<<<1, 32>>>(length(name), s[3], u[0]); //= a: 4, b: 33, c: 97
}`);
  });

  it('are not asked for where the other class takes such an object itself', () => {
    check(`
__global__ void k(int a, int b, int c) {}
struct Pitch;
struct Size { int n; Size() : n(0) {} Size(const Pitch&); Size& operator=(const Pitch&) { n = 9; return *this; } };
struct Pitch { int m; operator Size() const { Size s; s.n = m; return s; } };
Size::Size(const Pitch&) : n(8) {}
int main() {
  Pitch p{3};
  Size s(p), t;
  t = p;
  k<<<1, 32>>>(s.n, t.n, 0); //= a: 8, b: 9, c: 0
}`);
  });
});
