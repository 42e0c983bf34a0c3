/** Numbers are taken apart as the library does it: what kernels compute of their parts is known. */
import { check } from '../analysis/check-accesses';

const storing = (x: string, statements: string, index: string, words: string) =>
  check(`
__global__ void k(float x, double z) {
  __shared__ volatile int s[4096];
  int t = threadIdx.x, e, r;
  float f;
  double d;
  ${statements}
    s[t * (${index})] = 1;
  //^${'^'.repeat(`s[t * (${index})]`.length - 1)} shared store ${words}
}
int main() { k<<<1, 32>>>(${x}f, ${x}); }
`);

describe('functions that take numbers apart', () => {
  it('frexp of floats', () => {
    storing('5.5', 'f = frexpf(x, &e);', 'e + 1', '4-way');
    storing('5.5', 'f = frexp(x, &e);', '(int)(f * 32) + 10', '32-way');
    storing('0.25', 'f = std::frexp(-x, &e);', '5 + e', '4-way');
    storing('0.25', 'f = frexp(-x, &e);', '(int)(f * -16)', '8-way');
    storing('0.0', 'f = frexp(x, &e);', 'e + 8', '8-way');
  });
  it('frexp of doubles', () => {
    storing('5.5', 'd = frexp(z, &e);', 'e + 1', '4-way');
    storing('5.5', 'd = frexp(z, &e);', '(int)(d * 32) + 10', '32-way');
    storing('0.25', 'd = std::frexp(-z, &e);', '(int)(d * -16)', '8-way');
    storing('8.0', 'd = frexp(z, &e);', 'e * 2', '8-way');
  });
  it('modf', () => {
    storing('8.25', 'f = modff(x, &f);', '(int)(f * 16)', '4-way');
    storing('8.25', 'e = modf(x, &f) * 64;', 'e', '16-way');
    storing('8.25', 'r = modf(z, &d) * 64;', '(int)d + r - r', '8-way');
  });
});
