/** Sizes that nobody gives, of fields with a border of one around them: what is badly aligned for all powers of two may be well aligned for others. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

function severities(index: string): readonly string[] {
  const { diagnostics } = analyse(`
__global__ void flags(int* out, const int* in, int n) {
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, row = n + 2;
  if (x < row && y < row) out[blockIdx.x * 256 + threadIdx.y * 8 + threadIdx.x] = in[${index}];
}
void run(int* out, const int* in, int n) {
  flags<<<dim3((n + 9) / 8, (n + 9) / 8), dim3(8, 8)>>>(out, in, n);
}`);
  return diagnostics.filter((d) => d.rule.endsWith('global-access')).map((d) => `${d.severity}: ${d.message}`);
}

function check(index: string, expected: RegExp): void {
  const found = severities(index);
  assert.equal(found.length, 1, found.join('\n'));
  assert.match(found[0], expected);
}

describe('sizes with a border', () => {
  it('make no warning of rows that may be aligned', () =>
    check('y * row + x', /^information: .* For some n, not for all\./));

  it('leave warnings of what no size mends', () => {
    check('(y + 1) * row + x + 1', /^warning: /);
    check('x * row + y', /^warning: /);
  });
});
