/** How often ptxas writes out what NVVM has left as a loop: machine code of nvcc 13.0 for sm_90, counted in loads. */
import assert from 'node:assert/strict';
import { findKernels } from '../../../server/src/analysis/kernels';
import { createUnitContext, lowerKernel } from '../../../server/src/lower/lower-kernel';
import { parse } from '../../../server/src/parse/parse';
import { predefinedMacros } from '../../../server/src/preprocess/predefined';
import { preprocess } from '../../../server/src/preprocess/preprocess';

/** Copies of a body of four loads and so many products that are added up, in a loop of so many passes. */
function copies(trips: number, sums: number): number {
  const sum = (j: number) => `s${j % 4} = s${j % 4} * v${j % 4} + ${j + 1}.5f;`;
  const text = `__global__ void k(const float* __restrict__ a, float* o) {
    float s0 = 0, s1 = 1, s2 = 2, s3 = 3;
    a += threadIdx.x;
    for (int k = 0; k < ${trips}; k++) {
      float v0 = a[k * 4], v1 = a[k * 4 + 1], v2 = a[k * 4 + 2], v3 = a[k * 4 + 3];
      ${Array.from({ length: sums }, (_, j) => sum(j)).join(' ')}
    }
    o[threadIdx.x] = s0 + s1 + s2 + s3;
  }`;
  const source = preprocess({ path: 'k.cu', text, defines: predefinedMacros('9.0'), include: () => undefined });
  const tree = parse(source.tokens, source.pragmas);
  const unit = createUnitContext(tree, source.tokens);
  const [{ declaration, scope }] = findKernels(tree, unit.scope);
  const { blocks } = lowerKernel(unit, { declaration, scope, templateArguments: [] });
  return blocks.flatMap(({ instructions }) => instructions.filter((i) => i.op === 'load')).length / 4;
}

const table: readonly (readonly [trips: number, sums: number, copies: number])[] = [
  [64, 56, 4],
  [64, 60, 4],
  [64, 68, 1],
  [64, 96, 1],
  [16, 36, 2],
  [16, 56, 4],
  [16, 68, 1],
  [8, 56, 4],
  [8, 84, 1],
  [4, 36, 4],
  [4, 76, 4],
  [4, 84, 4],
  [4, 92, 1],
];

describe('ptxas writes out', () => {
  for (const [trips, sums, expected] of table)
    it(`${expected} of ${trips} passes of ${sums} sums`, () => assert.equal(copies(trips, sums), expected));
});
