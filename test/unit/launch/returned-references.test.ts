/** Functions that give references: what is assigned to these is assigned to what they refer to. */
import { check } from './support';

const pass = (list: string) => `k <<<(1,1,1),(1,1,1),0>>>(${list})`;

describe('references that functions give', () => {
  it('are members, elements and what outlives the call', () => {
    check(
      `struct S { int a; int b[3]; int& at(int i) { return b[i]; } int& operator[](int i) { return b[i]; } };
int& counter() { static int n = 0; return n; }
int main() { S s{1, {2, 3, 4}}; int& r = s.at(1); r = 30; s[2] = 7; s[2]++; counter() = 4; ++counter(); k<<<1, 1>>>(s.b[1], s.b[2], counter()); }`,
      pass('30, 8, 5'),
    );
    check(
      `std::vector<int>& store() { static std::vector<int> v; return v; }
struct App { static App& get() { static App a; return a; } int n = 3; };
int main() { store().push_back(4); store().push_back(5); App::get().n = 8; k<<<1, 1>>>((int)store().size(), App::get().n); }`,
      pass('2, 8'),
    );
  });
  it('are one of those they are given', () => {
    check(
      'template <class T> T& larger(T& a, T& b) { return a < b ? b : a; } int main() { int x = 1, y = 2; larger(x, y) = 10; k<<<1, 1>>>(x, y); }',
      pass('1, 10'),
    );
  });
  it('are not followed into what an object owns, whose copies are not', () => {
    check(
      'struct M { int* p; M() : p(new int[2]) {} M(const M& o) : p(new int[2]) { p[0] = o.p[0]; } int& at(int i) { return p[i]; } }; int main() { M a; a.at(0) = 1; M b = a; b.at(0) = 5; k<<<1, 1>>>(a.at(0)); }',
      pass('?'),
    );
  });
  it('may be asked for their class', () => {
    check(
      'struct B { virtual ~B() {} }; struct D : B { int n = 4; }; struct E : B {}; struct H { D d; B& get() { return d; } }; int main() { H h; auto* d = dynamic_cast<D*>(&h.get()); k<<<1, 1>>>(d ? d->n : 0, dynamic_cast<E*>(&h.get()) == nullptr); }',
      pass('4, 1'),
    );
  });
});
