/** Inner braces that lists leave out, sizes and types of operands that are not evaluated (values of g++). */
import { check } from './check-contents';

describe('lists of the host', () => {
  it('leave inner braces out', () => {
    check(`
struct P { int x, y; int sum() const { return x + y; } };
struct Dims { int d[3]; int s; };
struct Config { std::array<int, 3> tile; P at; int stages = 3; };
__global__ void k(int a, int b, int c) {}
__global__ void ofDims(const int* p, Dims dims) { if (p[0]) __nanosleep(dims.s); }
static const P corners[] = {1, 2, 3, 4};
int main() {
  P p[] = {1, 2, 3, 4, 5, 6};
  k<<<1, 32>>>((int)(sizeof(p) / sizeof(P)), p[2].x, p[1].sum()); //= a: 3, b: 5, c: 7
  k<<<1, 32>>>((int)(sizeof(corners) / sizeof(P)), corners[1].x, corners[1].y); //= a: 2, b: 3, c: 4
  Config f{1, 2, 3, 4, 5};
  k<<<1, 32>>>(f.tile[2], f.at.y, f.stages); //= a: 3, b: 5, c: 3
  std::array<std::array<int, 2>, 2> q{1, 2, 3, 4};
  std::vector<Dims> v{{256, 4000, 2, 10}};
  k<<<1, 32>>>(q[1][0], v[0].d[1], v[0].s); //= a: 3, b: 4000, c: 10
  int* d;
  cudaMalloc(&d, 16);
  ofDims<<<1, 32>>>(d, {256, 4096, 1, 7}); //= dims.s: 7
}`);
  });

  it('have sizes and types of their own', () => {
    check(`
__global__ void k(int a, double b) {}
int main() {
  const bool isSmall = true;
  k<<<1, 32>>>((int)sizeof("abcd"), 1 / (isSmall ? 2 : 1.0)); //= a: 5, b: 0.5
  k<<<1, 32>>>((int)sizeof(isSmall ? 1 : 2.0), (isSmall ? 7 : 2u) / 2); //= a: 8, b: 3
}`);
  });
});
