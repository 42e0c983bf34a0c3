/** Why a figure is not exact, in a sentence that fits a hover. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

const reasonOf = (elements: number): string => {
  const report = analyse(`
struct Rows { int start[${elements}]; };
__global__ void gather(Rows rows, const float* in, float* out) {
  int sum = 0;
  #pragma unroll
  for (int i = 0; i < ${elements}; i++) sum += rows.start[i];
  out[threadIdx.x] = in[sum + threadIdx.x];
}
// warplens: block=64
`);
  const load = report.kernels[0].launches[0].accesses.find((a) => a.expression.startsWith('in['));
  return load?.reason ?? '';
};

describe('the reason of a figure', () => {
  it('names what was assumed', () => {
    assert.match(reasonOf(2), /rests on assumed rows\.start\.0 = \d+, rows\.start\.1 = \d+/);
  });
  it('names some where they are many, and says how many more there are', () => {
    const reason = reasonOf(40);
    assert.match(reason, /rows\.start\.5 = \d+ and 3[45] more/);
    assert.doesNotMatch(reason, /start\.6/);
  });
});
