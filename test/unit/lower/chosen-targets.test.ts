/** Assignments to one of two variables: `(c ? a : b) = v;`. */
import { check } from '../analysis/check-accesses';
import { equals, index } from './check-index';

describe('what is assigned to a choice of variables', () => {
  it('changes the one that is meant, and the other not', () => {
    equals('int a = 1, b = 2; (threadIdx.x > 99 ? a : b) = 4;', 'a + b', 5);
    index('int a = 0, b = 0; (threadIdx.x < 64 ? a : b) = threadIdx.x;', 'a * 3 + b', 3);
    index(
      'int a = 0, b = 0; (threadIdx.x & 1 ? a : b) += threadIdx.x * 2; (threadIdx.x & 1 ? a : b) = threadIdx.x * 2;',
      'a + b',
      2,
    );
  });
  it('may be counted up, and be a member or a choice itself', () => {
    equals('int a = 1, b = 2; ++(threadIdx.x < 99 ? a : b); (threadIdx.x > 99 ? a : b)--;', 'a * 2 + b', 5);
    equals('struct { int low, high; } r = {3, 5}; (threadIdx.x < 99 ? r.low : r.high) -= 2;', 'r.high - r.low', 4);
    equals('int a = 0, b = 0, c = 0; (threadIdx.x > 99 ? a : threadIdx.x < 99 ? b : c) = 3;', 'a * 4 + b + c * 4', 3);
  });
  it('is evaluated once', () => equals('int a = 0, b = 0, k = 0; (threadIdx.x < 99 ? a : b) = ++k;', 'a + k', 2));
  it('is known to change in a loop', () =>
    equals('int a = 0, b = 8; while (a + 1 < b) { int m = (a + b) / 2; (m <= 5 ? a : b) = m; }', 'a', 5));
  it('is an address where both lie in memory', () =>
    check(`
// warplens: block=32 grid=1
__global__ void k(int *p, int *q) {
  (threadIdx.x < 16 ? p[threadIdx.x] : q[threadIdx.x]) = 3;
//${'^'.repeat('(threadIdx.x < 16 ? p[threadIdx.x] : q[threadIdx.x])'.length)} global store x1
}
`));
});
