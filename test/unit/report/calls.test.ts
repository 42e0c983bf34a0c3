/** Which of several calls of a function an access is told of. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

const relatedOf = (body: string) => {
  const { diagnostics } = analyse(`
struct Point { double x, y; };
__device__ double first(const Point& p) { return p.x; }
__global__ void both(const Point* even, const Point* spread, double* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
${body}
}
// warplens: block=64 grid=64
`);
  const found = diagnostics.find((d) => d.rule === 'uncoalesced-global-access' && d.line === 3);
  return found?.related.map(({ line, message }) => `${line} ${message}`) ?? [];
};

describe('an access of a function that is called for several arrays', () => {
  it('is told of the call that does worst, wherever it stands', () => {
    const mild = '  out[i] = first(even[blockIdx.x]);';
    const bad = '  out[i + gridDim.x * blockDim.x] = first(spread[i]);';
    for (const lines of [
      [mild, bad],
      [bad, mild],
    ]) {
      const related = relatedOf(lines.join('\n'));
      assert.ok(related.includes('4 spread is declared here'), related.join('; '));
      assert.ok(related.includes(`${lines[0] === bad ? 6 : 7} reached from both by this call`), related.join('; '));
    }
  });
});
