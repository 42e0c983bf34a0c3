/** Members that are reached by a number, and methods that differ in `const` alone (values of g++). */
import { check } from './check-contents';

const kernel = '__global__ void k(int a, int b, int c) {}';

describe('members by a number', () => {
  it('are chosen, or lie behind the first', () => {
    check(`${kernel}
struct Chosen { float x = 0, y = 0, z = 0; float operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; } float& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; } };
struct Behind { float x, y, z; float operator[](int i) const { return (&x)[i]; } float& operator[](int i) { return (&x)[i]; } };
struct Added { float x, y, z; float& at(int i) { return *(&x + i); } };
int main(int argc, char** argv) {
  Chosen a;
  Behind b{1, 2, 3};
  Added c{1, 2, 3};
  a[1] = b[1] = c.at(1) = 5;
  a[argc + 1] = b[argc + 1] = c.at(argc + 1) = 7;
  k<<<1, 32>>>((int)(a.y * 10 + a.z), (int)(b.y * 10 + b.z), (int)(c.y * 10 + c.z)); //= a: 57, b: 57, c: 57
}`);
  });

  it('the method that is const is that of a constant object', () => {
    check(`${kernel}
struct Counted { int reads = 0; int get() const { return 1; } int get() { ++reads; return 2; } };
int look(const Counted* c) { return c->get(); }
int main() {
  Counted c;
  const Counted d;
  const int first = c.get();
  k<<<1, 32>>>(first + c.reads, look(&c), d.get()); //= a: 3, b: 1, c: 1
}`);
  });
});
