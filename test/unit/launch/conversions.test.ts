/** Conversions that classes define, parts of objects, texts that are written character by character. */
import { check, checkMain } from './support';

const pass = (list: string) => `k <<<(1,1,1),(1,1,1),0>>>(${list})`;

describe('objects as numbers', () => {
  it('are what their class makes of them', () => {
    check(
      'struct Meters { float v; operator int() const { return int(v * 100); } }; int use(int n) { return n + 1; } int main() { Meters m{1.5f}; int x = m; k<<<1, 1>>>(x, use(m), (int)m); }',
      pass('150, 151, 150'),
    );
    check(
      'struct Size { int w, h; operator int() const { return w * h; } operator float() const { return w; } }; int main() { Size s{3, 4}; int a = s; float w = s; k<<<1, 1>>>(a, w); }',
      pass('12, 3'),
    );
  });
  it('are assigned to as their class does', () => {
    check(
      'template <class T> struct Twice { T value; Twice& operator=(T x) { value = x * 2; return *this; } }; int main() { Twice<int> t{4}; t = 5; k<<<1, 1>>>(t.value); }',
      pass('10'),
    );
  });
  it('keep what is of a base where they are copied to one', () => {
    check(
      'struct B { int n = 1; int f() { return n; } }; struct D : B { int m = 2; int f() { return n * 10; } }; int g(B b) { return b.f(); } int main() { D d; d.n = 3; B b = d; k<<<1, 1>>>(b.f(), d.f(), g(d)); }',
      pass('3, 30, 3'),
    );
  });
});

describe('arrays', () => {
  it('of characters are written one by one', () => {
    checkMain(
      'char s[8] = "abc"; s[1] = \'z\'; char* p = s; p[2] = 0; k<<<1, 1>>>(s[1], (int)strlen(s), strcmp(s, "az"));',
      pass('122, 2, 0'),
    );
    checkMain(
      'char s[] = "n=12"; s[1] = 0; k<<<1, 1>>>(atoi(s + 2), (int)sizeof(s), (int)strlen(s));',
      pass('12, 5, 1'),
    );
  });
  it('have names for their elements', () => {
    checkMain(
      'int a[2] = {1, 2}; auto& [x, y] = a; x = 9; std::array<int, 2> b{3, 4}; auto& [u, v] = b; v = 7; auto [p, q] = b; q = 1; k<<<1, 1>>>(a[0], b[1], p, q);',
      pass('9, 7, 3, 1'),
    );
  });
});
