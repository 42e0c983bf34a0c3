/** What is executed only where loaded data are as they rarely are gives no warning: a few lanes move no more than they must. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

const kernel = (body: string) => `
  struct Body { float x, y, z, w, vx, vy, vz, m; };
  __global__ void k(Body* bodies, const float* state, const int* left, float t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Body& b = bodies[i];
    ${body}
  }
  int main() { k<<<100, 128>>>(0, 0, 0, 1.0f); }`;

/** Expressions with a finding, in order. */
function check(body: string, expected: string): void {
  const text = kernel(body);
  const lines = text.split('\n');
  const { diagnostics } = analyse(text);
  const found = diagnostics
    .filter((d) => d.rule === 'uncoalesced-global-access')
    .map((d) => lines[d.line - 1].slice(d.column - 1, d.endColumn - 1));
  assert.equal(found.join(', '), expected);
}

describe('conditions on loaded data that are rarely met', () => {
  it('a value below zero', () => check('if (state[i] < 0.0f) b.y = 1;', ''));
  it('the same, written the other way round', () => check('if (0 > left[i]) b.y = 1;', ''));
  it('not more than zero, as an integer', () => check('if (left[i] <= 0) b.y = 1;', ''));
  it('the other side of at least zero', () => check('if (state[i] >= 0) t = 2; else b.y = 1;', ''));
  it('a floating-point number equal to a constant', () => check('if (state[i] == 1.0f) b.y = 1;', ''));
  it('within a condition that says nothing', () => check('if (left[i] > 3) { if (state[i] < 0) b.y = 1; }', ''));

  it('a comparison with anything else may go either way', () => check('if (state[i] < t) b.y = 1;', 'b.y'));
  it('a flag may be set anywhere', () => check('if (left[i] == 1) b.y = 1;', 'b.y'));
  it('the usual side of it', () => check('if (state[i] > 0.0f) b.y = 1;', 'b.y'));
  it('a loop over what is left', () => check('for (int n = left[i]; n > 0; n--) b.y = n;', 'b.y'));
});
