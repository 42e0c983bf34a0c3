import assert from 'node:assert/strict';
import fc from 'fast-check';
import { conversion } from '../../../server/src/execute/conversion';
import {
  linearBinary,
  linearComparison,
  linearConversion,
  linearFma,
  linearUnary,
} from '../../../server/src/execute/linear-values';
import { binaryOperation, comparison, fmaOperation, unaryOperation } from '../../../server/src/execute/operations';
import {
  changeSome,
  geometryOf,
  isWide,
  type LaneValue,
  newValue,
  overwrite,
  setLinear,
  setUniform,
  vectorOf,
} from '../../../server/src/execute/value';
import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from '../../../server/src/program/program';

const types = ['i32', 'u32', 'i64', 'u64'] as const;
const binaries: BinaryOp[] = ['add', 'sub', 'mul', 'shl', 'shr', 'div', 'rem', 'and', 'min', 'max'];
const compares: CompareOp[] = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'];

const block = fc.constantFrom<readonly [number, number, number]>(
  [32, 1, 1],
  [16, 16, 1],
  [7, 3, 2],
  [8, 4, 4],
  [64, 2, 1],
);
const coefficient = fc.oneof(
  fc.constantFrom(0, 1, 2, 4, 16, 32, -1, -4, 64),
  fc.integer({ min: -1000, max: 1000 }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
);
const form = fc.tuple(coefficient, coefficient, coefficient, coefficient);
/** Uniform values, often small and often powers of two less one. */
const flat = fc.oneof(fc.constantFrom(1, 2, 3, 7, 8, 16, 31, 32, 255), coefficient);

function linearValue(type: ScalarType, shape: readonly [number, number, number], form: readonly number[]): LaneValue {
  const value = newValue(type, geometryOf(shape, 32));
  const [scalar, kx, ky, kz] = form;
  setLinear(value, scalar, kx, ky, kz);
  return value;
}

const applied = { yes: 0, no: 0 };

/** Where a rule applies, its result must be that of the loop in every thread, and none of these may have failed. */
function check(
  out: LaneValue,
  applies: boolean,
  failed: (d: LaneValue['vector']) => number,
  shape: readonly [number, number, number],
): void {
  if (!applies) {
    applied.no++;
    return;
  }
  applied.yes++;
  const lanes = out.geometry.lanes;
  const threads = shape[0] * shape[1] * shape[2];
  const expected = out.wide ? new Float64Array(lanes) : new Int32Array(lanes);
  assert.equal(failed(expected), 0);
  assert.deepEqual([...vectorOf(out)].slice(0, threads), [...expected].slice(0, threads));
}

/** What a register may be given, one after the other. */
const assignments: Readonly<Record<string, (value: LaneValue, by: number) => void>> = {
  linear: (value, by) => setLinear(value, by, 3, 0, 0),
  vector: (value, by) => overwrite(value).fill(by),
  'some lanes': (value, by) => {
    changeSome(value)[5] = by;
  },
  uniform: setUniform,
};

describe('linear values', () => {
  it('keep nothing of what the register held before', () => {
    const history = fc.array(fc.tuple(fc.constantFrom(...Object.keys(assignments)), fc.integer({ min: 0, max: 99 })), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(history, (assigned) => {
        const shape = [64, 1, 1] as const;
        const a = newValue('i32', geometryOf(shape, 32));
        for (const [how, by] of assigned) assignments[how](a, by);
        const b = linearValue('i32', shape, [7, 1, 0, 0]);
        const out = newValue('i32', a.geometry);
        const applies = (a.uniform || a.linear) && linearBinary('add', 'i32')?.(out, a, b);
        check(
          out,
          applies === true,
          (d) => binaryOperation('add', 'i32').loop(d, vectorOf(a), vectorOf(b), 0, 64),
          shape,
        );
      }),
    );
  });

  it('binary operations agree with the loops', () => {
    fc.assert(
      fc.property(
        block,
        fc.constantFrom(...types),
        fc.constantFrom(...binaries),
        form,
        form,
        flat,
        fc.boolean(),
        (shape, type, fn, x, y, s, isFlat) => {
          const a = linearValue(type, shape, x);
          const b = linearValue(type, shape, isFlat ? [s, 0, 0, 0] : y);
          const out = newValue(type, geometryOf(shape, 32));
          const threads = shape[0] * shape[1] * shape[2];
          const applies = linearBinary(fn, type)?.(out, a, b) ?? false;
          check(out, applies, (d) => binaryOperation(fn, type).loop(d, vectorOf(a), vectorOf(b), 0, threads), shape);
        },
      ),
      { numRuns: 4000 },
    );
    assert.ok(applied.yes > 1000, `${applied.yes} of ${applied.yes + applied.no}`);
  });

  it('comparisons agree', () => {
    fc.assert(
      fc.property(
        block,
        fc.constantFrom(...types),
        fc.constantFrom(...compares),
        form,
        form,
        (shape, type, fn, x, y) => {
          const { operation, isSwapped } = comparison(fn, type);
          const [a, b] = isSwapped ? [y, x] : [x, y];
          const [first, second] = [linearValue(type, shape, a), linearValue(type, shape, b)];
          const out = newValue('pred', geometryOf(shape, 32));
          const threads = shape[0] * shape[1] * shape[2];
          const applies = linearComparison(fn, type)?.(out, first, second) ?? false;
          check(out, applies, (d) => operation.loop(d, vectorOf(first), vectorOf(second), 0, threads), shape);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('conversions, negation and fused multiplication agree', () => {
    fc.assert(
      fc.property(
        block,
        fc.constantFrom(...types),
        fc.constantFrom(...types),
        form,
        form,
        flat,
        (shape, from, to, x, y, s) => {
          const geometry = geometryOf(shape, 32);
          const threads = shape[0] * shape[1] * shape[2];
          const a = linearValue(from, shape, x);
          const converted = newValue(to, geometry);
          const isConverted = linearConversion(from, to)?.(converted, a) ?? false;
          check(converted, isConverted, (d) => conversion(from, to).loop(d, vectorOf(a), 0, threads), shape);
          for (const fn of ['neg', 'bitnot', 'mov'] as UnaryOp[]) {
            const out = newValue(from, geometry);
            const applies = linearUnary(fn, from)?.(out, a) ?? false;
            check(out, applies, (d) => unaryOperation(fn, from, from).loop(d, vectorOf(a), 0, threads), shape);
          }
          const [b, c] = [linearValue(from, shape, [s, 0, 0, 0]), linearValue(from, shape, y)];
          const out = newValue(from, geometry);
          const applies = linearFma(from)?.(out, b, a, c) ?? false;
          const fma = fmaOperation(from);
          check(out, applies, (d) => fma.loop(d, vectorOf(b), vectorOf(a), vectorOf(c), 0, threads), shape);
          assert.equal(out.wide, isWide(from));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
