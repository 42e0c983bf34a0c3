/** Sines and cosines of doubles read a table: three times 16 bytes a call, in one of two rows 64 bytes apart. */

import assert from 'node:assert/strict';
import { analyse, check } from '../analysis/check-accesses';

const kernel = (statement: string, below = '', parameters = 'double* x') => `
// warplens: block=32 grid=1
__global__ void k(${parameters}) {
  int i = threadIdx.x;
  ${statement}
${below}
}`;

const globalLoads = (statement: string, parameters?: string): number =>
  analyse(kernel(statement, '', parameters))
    .kernels[0].launches[0].accesses.filter((a) => a.operation === 'load' && a.space === 'global')
    .reduce((n, a) => n + a.requests, 0);

describe('sines and cosines of doubles', () => {
  it('of lanes in quadrants of both kinds read both rows', () => {
    check(kernel('x[i] = sin(i * 0.7);', '//       ^^^^^^^^^^^^ global load 2/2 sectors 16 bytes x3 exact'));
    check(kernel('x[i] = cospi(i * 0.5);', '//       ^^^^^^^^^^^^^^ global load 2/2 sectors 16 bytes x3 exact'));
  });

  it('of lanes in one quadrant read one', () =>
    check(kernel('x[i] = cos(i * 0.01);', '//       ^^^^^^^^^^^^^ global load 1/1 sectors 16 bytes x3 exact')));

  it('of what is loaded are not known', () =>
    check(kernel('x[i] = std::cos(x[i]);', '//       ^^^^^^^^^^^^^^ global load 16 bytes unknown')));

  it('at once read no table, and nothing is skipped', () => {
    const both = 'double s, c; float f, g; sincos(i * 0.5, &s, &c); __sincosf(i, &f, &g); x[i] = s + c + f + g;';
    const [k] = analyse(kernel(both)).kernels;
    assert.deepEqual(k.skipped, []);
    assert.equal(globalLoads(both), 0);
  });

  it('are none of constants, of floats and of other functions', () => {
    assert.equal(globalLoads('x[i] = sin(0.5) + tan(i * 0.5) + exp(i * 0.5);'), 0);
    assert.equal(globalLoads('x[i] = sin(i * 0.5f) + cosf(i);', 'float* x'), 0);
  });
});
