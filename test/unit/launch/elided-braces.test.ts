/** Inner braces that lists leave out, braces as arguments, and what the text knows of the types of operands. */
import { check, checkMain } from './support';

const pass = (list: string) => `k <<<(1,1,1),(1,1,1),0>>>(${list})`;

describe('inner braces that are left out', () => {
  it('of arrays of arrays', () => {
    checkMain('int m[2][3] = {1, 2, 3, 4}; k<<<1, 1>>>(m[0][2], m[1][0], m[1][1]);', pass('3, 4, 0'));
  });
  it('of arrays of records, whose length they give', () => {
    check(
      'struct P { int x, y; }; int main() { P p[] = {1, 2, 3, 4, 5, 6}; k<<<1, 1>>>((int)(sizeof(p) / sizeof(P)), p[2].x); }',
      pass('3, 5'),
    );
  });
  it('of arrays in records, also where a list is an argument', () => {
    const record = 'struct Dims { int d[3]; int s; }; __global__ void k(const int* a, Dims d);';
    check(
      `${record} int main() { Dims d = {256, 4096, 1, 7}; k<<<1, 1>>>(nullptr, d); k<<<1, 1>>>(nullptr, {256, 4096, 1, 7}); }`,
      pass('0, {d: [256, 4096, 1], s: 7}'),
      pass('0, {d: [256, 4096, 1], s: 7}'),
    );
    check(
      `${record} int main() { std::vector<Dims> all{{256, 4000, 2, 10}}; k<<<1, 1>>>(nullptr, all[0]); }`,
      pass('0, {d: [256, 4000, 2], s: 10}'),
    );
  });
  it('of vectors; a dim3 is made of one number', () => {
    checkMain(
      'struct S { dim3 g; dim3 b; int4 v; int n; }; S s = {4, 32, 1, 2, 3, 4, 5}; k<<<s.g, s.b>>>(s.v.w, s.n);',
      'k <<<(4,1,1),(32,1,1),0>>>(4, 5)',
    );
  });
  it('of records in records', () => {
    check(
      'struct P { int x, y; }; struct C { P a, b; int n = 9; }; int main() { int two = 2; C c{1, two, 3, 4}; C d{c.a, 7, 8, 5}; k<<<1, 1>>>(c, d.b.y, d.n); }',
      pass('{a: {x: 1, y: 2}, b: {x: 3, y: 4}, n: 9}, 8, 5'),
    );
  });
});

describe('arguments in braces', () => {
  it('braces are an object of the parameter’s type', () => {
    check(
      `struct Shape { dim3 grid{1}; dim3 block{32}; int n = 7; }; void by_reference(const Shape& s) { k<<<s.grid, s.block>>>(s.n); } void by_value(Shape s) { k<<<s.grid, s.block>>>(s.n); }
       struct Runner { void go(const Shape& s, dim3 more, std::vector<int> v) { k<<<s.grid, more>>>(v[1]); } };
       int main() { by_reference({.grid = {4, 2}, .block = 128}); by_value({{3, 1}, 64, 2}); by_reference({}); Runner r; int n = 5; r.go({n}, {8, 8}, {1, 2}); }`,
      'k <<<(4,2,1),(128,1,1),0>>>(7)',
      'k <<<(1,1,1),(32,1,1),0>>>(7)',
      'k <<<(3,1,1),(64,1,1),0>>>(2)',
      'k <<<(5,1,1),(8,8,1),0>>>(2)',
    );
  });
  it('braces that do something do it once', () => {
    check(
      `struct P { int a, b; }; void by(P p) {} int made = 0; int next() { return ++made; }
       int main() { int n = 0; by({++n, 5}); by({next(), 5}); by({n, int(made)}); k<<<n, made>>>(1); }`,
      'k <<<(1,1,1),(1,1,1),0>>>(1)',
    );
  });
});

describe('operands of two types', () => {
  it('what is chosen of two numbers has the type of both', () => {
    checkMain(
      'bool isSmall = true; k<<<1, 1>>>(1 / (isSmall ? 2 : 1.0) * 10, (int)sizeof(isSmall ? 1 : 2.0));',
      pass('5, 8'),
    );
  });
});
