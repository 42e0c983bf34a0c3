/** Up to how many passes loops over arrays in memory are written out without being asked (plain-cost.ts; PTX of nvcc 13.0). */
import assert from 'node:assert/strict';
import { findKernels } from '../../../server/src/analysis/kernels';
import { createUnitContext, lowerKernel } from '../../../server/src/lower/lower-kernel';
import { parse } from '../../../server/src/parse/parse';
import { predefinedMacros } from '../../../server/src/preprocess/predefined';
import { preprocess } from '../../../server/src/preprocess/preprocess';
import { controlFlow } from '../../../server/src/program/control-flow';

function isWrittenOut(body: string, passes: number): boolean {
  const text = `__global__ void k(const float* __restrict__ a, const float* __restrict__ b, const int* __restrict__ c, float* __restrict__ y, float t) {
    __shared__ float m[4096];
    int i = threadIdx.x, k = 0; float s = 0;
    m[i] = t;
    for (int j = 0; j < ${passes}; j++) { ${body} }
    y[i + 9000] = s + k + m[i + 7]; }`;
  const source = preprocess({ path: 'k.cu', text, defines: predefinedMacros('9.0'), include: () => undefined });
  const tree = parse(source.tokens, source.pragmas);
  const unit = createUnitContext(tree, source.tokens);
  const [{ declaration, scope }] = findKernels(tree, unit.scope);
  return controlFlow(lowerKernel(unit, { declaration, scope, templateArguments: [] })).loops.length === 0;
}

/** Body, passes up to which it is written out, passes with which it is not. */
const limits: readonly (readonly [string, number, number])[] = [
  ['s += a[j];', 160, 200],
  ['s += a[i + j * 64];', 112, 128],
  ['s += a[i + j * 64] * b[j];', 64, 80],
  ['float d = a[j] - b[j]; s += d * d;', 64, 80],
  ['y[i + j * 64] = a[i + j * 64];', 80, 96],
  ['y[j] = a[j] * t;', 112, 128],
  ['y[j] = a[j] * t + y[j];', 64, 80],
  ['if (a[j] > t) s += 1;', 112, 128],
  ['s += a[j] > t ? a[j] : t;', 64, 80],
  ['s = fmaxf(s, a[j]);', 160, 200],
  ['k += c[(i + j) & 63];', 80, 96],
  ['k += c[(i + j) % 7];', 48, 56],
];

/** The same of passes that cannot be divided by eight: what the compiler sees at its first look decides. */
const oddLimits: readonly (readonly [string, number, number])[] = [
  ['s += a[j];', 79, 81],
  ['s += a[i + j];', 67, 69],
  ['s += a[j * 32 + i];', 57, 59],
  ['y[j] = t;', 99, 101],
  ['y[i * 50 + j] = a[j] + t;', 43, 45],
  ['s += a[j] / t;', 43, 45],
  ['y[i + j] += t;', 57, 59],
  ['s += m[j];', 99, 101],
  ['s += m[i * 50 + j - 1];', 79, 81],
  ['m[i * 50 + j + 1] = m[i * 50 + j] * t;', 49, 51],
  ['float d = a[j] * m[i * 50 + j]; m[i * 50 + j + 1] = d;', 35, 37],
];

describe('plain loops of odd length', () => {
  for (const [body, most, tooMany] of oddLimits)
    it(`${body} is written out up to ${most} times`, () => {
      assert.equal(isWrittenOut(body, most), true, `${most} passes`);
      assert.equal(isWrittenOut(body, tooMany), false, `${tooMany} passes`);
    });
});

describe('plain loops', () => {
  for (const [body, most, tooMany] of limits)
    it(`${body} is written out up to ${most} times`, () => {
      assert.equal(isWrittenOut(body, most), true, String(most));
      assert.equal(isWrittenOut(body, tooMany), false, String(tooMany));
    });
  it('what reads an array in registers is left to the measure in tokens', () =>
    assert.equal(isWrittenOut('float r[2] = {t, s}; s += r[j % 2] * a[j] + b[j];', 100), true));
});
