/** Every element of a fragment is moved by one lane; number and width of the accesses are those of nvcc's machine code for sm_90. */
import assert from 'node:assert/strict';
import { type Fragment, laneMoves, matrixLoads, movesOf } from '../../../server/src/hardware/matrix-fragments';

type Shape = readonly [m: number, n: number, k: number];

const check =
  (use: Fragment['use'], [m, n, k]: Shape, order: 'row' | 'col', bytes: number, expected: string) =>
  () => {
    const moves = movesOf({ use, m, n, k, isByRows: order === 'row', bytes });
    assert.ok(moves);
    const { rows, columns } = moves;
    const seen = new Uint8Array(rows * columns);
    const see = (row: number, column: number) => {
      assert.ok(row < rows && column < columns, `${row} ${column}`);
      seen[row * columns + column]++;
    };
    const plain = laneMoves(moves);
    for (const { isAcross, step, row, column, count } of plain) {
      for (let lane = 0; lane < 32; lane++) {
        const [quarter, pair] = [lane >> 2, step * (lane & 3)];
        for (let e = 0; e < count; e++)
          see(row + (isAcross ? pair : quarter), column + (isAcross ? quarter : pair) + e);
      }
    }
    assert.ok(seen.every((times) => times === 1));
    const widths = new Set(plain.map(({ count }) => count * bytes));
    let told = `${plain.length} of ${[...widths].join()} bytes`;
    if (moves.isMatrixLoad) {
      seen.fill(0);
      const loads = matrixLoads(moves);
      for (const { matrices, period, row, column } of loads)
        for (let lane = 0; lane < 8 * matrices; lane++)
          for (let e = 0; e < 16 / bytes; e++) see(row + (lane % period), 8 * Math.floor(lane / period) + column + e);
      assert.ok(seen.every((times) => times === 1));
      told += `, ${loads.map(({ matrices }) => `x${matrices}`).join(' ')}`;
    }
    assert.equal(told, expected);
  };

describe('Lanes of wmma fragments', () => {
  const [square, wide, high]: Shape[] = [
    [16, 16, 16],
    [8, 32, 16],
    [32, 8, 16],
  ];
  for (const order of ['row', 'col'] as const) {
    it(`a of 16 × 16 by ${order}`, check('a', square, order, 2, '4 of 4 bytes, x4'));
    it(`b of 16 × 16 by ${order}`, check('b', square, order, 2, '4 of 4 bytes, x4'));
    it(`a of 8 × 32 by ${order}`, check('a', wide, order, 2, '2 of 4 bytes, x2'));
    it(`b of 8 × 32 by ${order}`, check('b', wide, order, 2, '8 of 4 bytes, x4 x4'));
    it(`a of 32 × 8 by ${order}`, check('a', high, order, 2, '8 of 4 bytes, x4 x4'));
    it(`b of 32 × 8 by ${order}`, check('b', high, order, 2, '2 of 4 bytes, x2'));
    for (const shape of [square, wide, high])
      it(`halves of ${shape.join(' × ')} by ${order}`, check('accumulator', shape, order, 2, '4 of 4 bytes'));
  }
  for (const shape of [square, high]) {
    it(`floats of ${shape.join(' × ')} by rows`, check('accumulator', shape, 'row', 4, '4 of 8 bytes'));
    it(`floats of ${shape.join(' × ')} by columns`, check('accumulator', shape, 'col', 4, '8 of 4 bytes'));
  }
  it('floats of 8 × 32 by rows', check('accumulator', wide, 'row', 4, '8 of 4 bytes'));
  it('floats of 8 × 32 by columns', check('accumulator', wide, 'col', 4, '4 of 8 bytes'));
  for (const order of ['row', 'col'] as const)
    for (const use of ['a', 'b'] as const)
      it(`tf32, ${use} by ${order}`, check(use, [16, 16, 8], order, 4, '4 of 4 bytes'));
  for (const [use, along, across] of [
    ['a', 'row', 'col'],
    ['b', 'col', 'row'],
  ] as const) {
    const [few, many] = use === 'a' ? [wide, high] : [high, wide];
    it(`bytes, ${use} of 16 × 16 side by side`, check(use, square, along, 1, '2 of 4 bytes, x2'));
    it(`bytes, ${use} of 16 × 16 across`, check(use, square, across, 1, '8 of 1 bytes'));
    it(`bytes, ${use} with 8 rows`, check(use, few, along, 1, '1 of 4 bytes, x1'));
    it(`bytes, ${use} with 8 rows across`, check(use, few, across, 1, '4 of 1 bytes'));
    it(`bytes, ${use} with 32 rows`, check(use, many, along, 1, '4 of 4 bytes, x2 x2'));
    it(`bytes, ${use} with 32 rows across`, check(use, many, across, 1, '16 of 1 bytes'));
  }
  it('results of tf32 by rows', check('accumulator', [16, 16, 8], 'row', 4, '4 of 8 bytes'));
  it('results of tf32 by columns', check('accumulator', [16, 16, 8], 'col', 4, '8 of 4 bytes'));
  it('other shapes and elements are not known', () => {
    const known = { use: 'a', m: 16, n: 16, k: 16, isByRows: true, bytes: 2 } as const;
    assert.equal(movesOf({ ...known, k: 8 }), undefined);
    assert.equal(movesOf({ ...known, use: 'accumulator', bytes: 1 }), undefined);
    assert.equal(movesOf({ ...known, bytes: 4 }), undefined);
  });
});
