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
  return loadsIn(text) / 4;
}

/** Loads of a kernel. */
function loadsIn(text: string): number {
  const source = preprocess({ path: 'k.cu', text, defines: predefinedMacros('9.0'), include: () => undefined });
  const tree = parse(source.tokens, source.pragmas);
  const unit = createUnitContext(tree, source.tokens);
  const [{ declaration, scope }] = findKernels(tree, unit.scope);
  const { blocks } = lowerKernel(unit, { declaration, scope, templateArguments: [] });
  return blocks.flatMap(({ instructions }) => instructions.filter((i) => i.op === 'load')).length;
}

/** Copies of a pass that multiplies a column with a row of shared memory, both kept in registers, of 64 passes. */
function tileCopies(rows: number, columns: number): number {
  const text = `__global__ void k(const float* a, const float* b, float* o, int n) {
    __shared__ float left[64 * 64], right[64 * 64];
    float sum[${rows}][${columns}] = {};
    const float *p = left + threadIdx.x / 8 * ${rows * 64}, *q = right + threadIdx.x % 8 * ${columns};
    for (int s = 0; s < n; s += 64) {
      left[threadIdx.x] = a[s];
      right[threadIdx.x] = b[s];
      __syncthreads();
      for (int k = 0; k < 64; k++) {
        float x[${rows}], y[${columns}];
        for (int i = 0; i < ${rows}; i++) x[i] = p[i * 64 + k];
        for (int j = 0; j < ${columns}; j++) y[j] = q[k * 64 + j];
        for (int i = 0; i < ${rows}; i++)
          for (int j = 0; j < ${columns}; j++) sum[i][j] += x[i] * y[j];
      }
      __syncthreads();
    }
    for (int i = 0; i < ${rows}; i++)
      for (int j = 0; j < ${columns}; j++) o[(threadIdx.x * ${rows} + i) * ${columns} + j] = sum[i][j];
  }`;
  const filled = 2;
  return (loadsIn(text) - filled) / (rows + columns);
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

  it('counts what is left of a tile in registers, whose indices are no instructions', () => {
    const told = [
      [4, 2, 4],
      [4, 4, 8],
      [6, 4, 2],
      [8, 4, 4],
      [8, 5, 4],
      [8, 6, 1],
      [8, 7, 1],
      [8, 8, 1],
    ];
    for (const [rows, columns, expected] of told)
      assert.equal(tileCopies(rows, columns), expected, `${rows} × ${columns}`);
  });
});
