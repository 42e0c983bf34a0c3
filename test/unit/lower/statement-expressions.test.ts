/** `({ …; e; })` in kernels and in what a kernel's constants rest on. */
import { check } from '../analysis/check-accesses';
import { equals, index } from './check-index';

const smaller = `
#define smaller(x, y) ({ __typeof__(x) _a = (x); __typeof__(y) _b = (y); _a < _b ? _a : _b; })
#define larger(x, y) ({ typeof(x) _a = (x); typeof(y) _b = (y); _a > _b ? _a : _b; })
`;

describe('blocks as expressions', () => {
  it('give the value of their last statement', () => {
    equals('', 'smaller(3, n * 0 + 5)', 3, smaller);
    equals('', '({ int s = 0; for (int i = 0; i < 4; i++) s += i; s; })', 6);
    equals('int k = 2; ({ k = 5; });', 'k', 5);
    equals('int t = 4; int u = ({ int t = 1; t++; t; });', 't + u', 6);
    equals('float h[3] = {1, 2, 3}; float* p = ({ h; });', 'int(p[1])', 2);
  });

  it('nest, in macros too', () => {
    equals('', 'smaller(larger(1, 4), larger(2, 7))', 4, smaller);
    equals('', 'larger(smaller(3, 9), smaller(larger(2, 1), 8))', 3, smaller);
  });

  it('have the type of what they name', () => {
    index('unsigned char b = 255; unsigned char c = ({ __typeof__(b) d = b + 3; d; });', 'c * threadIdx.x', 2);
    index('__typeof__(double) d = 2.5;', 'int(d * 2) * threadIdx.x', 5);
  });

  it('count the passes of a loop', () => {
    check(`${smaller}
// warplens: block=32 grid=1
__global__ void k(int* out) {
  for (int i = larger(1, 0); i <= smaller(3, 90); i += smaller(1, 2))
    out[threadIdx.x + 32 * i] = 1;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors x3 exact
}`);
  });

  it('may leave the function', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* out) {
  int i = ({ if (threadIdx.x > 7) return; threadIdx.x; });
  out[i] = 1;
//^^^^^^ global store 1/1 sectors 8 lanes exact
}`);
  });

  it('fold in functions of constants', () => {
    equals(
      '',
      'least(7)',
      5,
      `${smaller} constexpr int least(int n) { int s = 9; for (int i = n; i > 4; i--) s = smaller(s, i); return s; }`,
    );
  });

  it('discard what their last statement gives where nobody asks for it', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* out) {
  ({ atomicAdd(&out[threadIdx.x], 1); });
//   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global reduction 4/4 sectors
}`);
  });
});
