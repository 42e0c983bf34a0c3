import assert from 'node:assert/strict';
import fc from 'fast-check';
import { conversion } from '../../../server/src/execute/conversion';
import { LaneMemory } from '../../../server/src/execute/lane-memory';
import { type Frame, Mask } from '../../../server/src/execute/mask';
import { binaryOperation, comparison, fmaOperation, unaryOperation } from '../../../server/src/execute/operations';
import { binaryStep, commit, selectStep, ternaryStep, unaryStep } from '../../../server/src/execute/steps';
import {
  type Geometry,
  geometryOf,
  isUnknownIn,
  isWide,
  type Lanes32,
  type LaneValue,
  laneOf,
  newValue,
  overwrite,
  setLinear,
  setUniform,
  vectorOf,
} from '../../../server/src/execute/value';
import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from '../../../server/src/program/program';

const LANES = 64;
const FAILURE = 1;
const SAFE = Number.MAX_SAFE_INTEGER;

/** Numbers that operations treat in a way of their own, in the form that registers hold them in. */
const special: Partial<Record<ScalarType, readonly number[]>> = {
  pred: [0, 1],
  i32: [0, 1, -1, 2, 5, 31, 32, 33, 255, -128, 32767, 65536, 2 ** 31 - 1, -(2 ** 31)],
  u32: [0, 1, -1, 2, 5, 31, 32, 33, 255, -128, 32767, 65536, 2 ** 31 - 1, -(2 ** 31)],
  i64: [0, 1, -1, 2, 31, 32, 52, 62, 63, 64, 2 ** 32, -(2 ** 33) - 5, 2 ** 31, SAFE, -SAFE],
  u64: [0, 1, -1, 2, 31, 32, 52, 62, 63, 64, 2 ** 32, -(2 ** 33) - 5, 2 ** 31, SAFE, -SAFE],
  f32: [0, -0, 1, -1, 0.5, -0.5, 2.5, 2 ** 31, 2 ** 32, -(2 ** 31), 2 ** -149, 3e38, NaN, Infinity, -Infinity].map(
    Math.fround,
  ),
  f64: [0, -0, 1, -1, 0.5, -0.5, 2.5, 2 ** 31, 2 ** 32, -(2 ** 31), 1e-310, 1e300, NaN, Infinity, -Infinity],
};
const types = Object.keys(special) as ScalarType[];

const numbers = (type: ScalarType): fc.Arbitrary<number> => {
  const chosen = fc.constantFrom(...(special[type] ?? []));
  if (type === 'pred') return chosen;
  if (type === 'f64') return fc.oneof(chosen, fc.double());
  if (type === 'f32') return fc.oneof(chosen, fc.float());
  return fc.oneof(chosen, isWide(type) ? fc.integer({ min: -SAFE, max: SAFE }) : fc.integer());
};
const vectors = (type: ScalarType) => fc.array(numbers(type), { minLength: LANES, maxLength: LANES });
const marks = fc.array(fc.boolean(), { minLength: LANES, maxLength: LANES });

let memory: LaneMemory;

function frameOf(active: readonly boolean[], geometry: Geometry): Frame {
  const mask = new Mask(LANES / 32, geometry.memory);
  active.forEach((isActive, lane) => {
    mask.lanes[lane] = isActive ? 1 : 0;
  });
  mask.recount();
  return { mask, lo: mask.lo, hi: mask.hi, full: false, kept: Int32Array.of(-1), speculative: 0 };
}

function vectorValue(type: ScalarType, geometry: Geometry, from: readonly number[]): LaneValue {
  const value = newValue(type, geometry);
  overwrite(value).set(from);
  return value;
}

const contents = (value: LaneValue, active: readonly boolean[]) =>
  active.map((isActive, lane) => (!isActive ? 'off' : isUnknownIn(value, lane) ? 'unknown' : laneOf(value, lane)));

/** Does the same with vectors in the lanes' memory and elsewhere. */
function agree(
  active: readonly boolean[],
  operands: readonly { type: ScalarType; from: readonly number[] }[],
  outType: ScalarType,
  run: (out: LaneValue, operands: readonly LaneValue[], frame: Frame) => void,
): void {
  if (!active.includes(true)) return;
  const results = [undefined, memory].map((each) => {
    const geometry = geometryOf([LANES, 1, 1], 32, each);
    const out = newValue(outType, geometry);
    run(
      out,
      operands.map(({ type, from }) => vectorValue(type, geometry, from)),
      frameOf(active, geometry),
    );
    return contents(out, active);
  });
  assert.deepEqual(results[1], results[0]);
}

describe('code for lanes', () => {
  beforeEach(() => {
    const opened = LaneMemory.open();
    assert.ok(opened);
    memory = opened;
  });
  // every example takes memory of its own
  const check = (property: fc.IProperty<unknown>) => fc.assert(property, { numRuns: 25 });
  afterEach(() => memory.release());

  const binaries: readonly BinaryOp[] = [
    'add',
    'sub',
    'mul',
    'mulhi',
    'div',
    'rem',
    'and',
    'or',
    'xor',
    'shl',
    'shr',
    'min',
    'max',
  ];
  for (const type of types) {
    it(`does what the loops do with two numbers of ${type}`, () => {
      for (const fn of binaries) {
        const operation = binaryOperation(fn, type);
        if (!operation.code) continue;
        check(
          fc.property(marks, vectors(type), vectors(type), (active, x, y) => {
            const operands = [x, y].map((from) => ({ type, from }));
            agree(active, operands, type, (out, [a, b], frame) =>
              binaryStep(out, a, b, operation, operation.fails === undefined ? 0 : FAILURE)(frame),
            );
          }),
        );
      }
    });

    it(`compares numbers of ${type} as the loops do`, () => {
      for (const fn of ['eq', 'ne', 'lt', 'le'] satisfies CompareOp[]) {
        const { operation } = comparison(fn, type);
        check(
          fc.property(marks, vectors(type), vectors(type), (active, x, y) => {
            const operands = [x, y].map((from) => ({ type, from }));
            agree(active, operands, 'pred', (out, [a, b], frame) => binaryStep(out, a, b, operation, 0)(frame));
          }),
        );
      }
    });

    it(`does what the loops do with one number of ${type}`, () => {
      const fns: readonly UnaryOp[] = [
        'mov',
        'neg',
        'bitnot',
        'lognot',
        'abs',
        'popc',
        'clz',
        'sqrt',
        'rsqrt',
        'rcp',
        'floor',
        'ceil',
        'trunc',
      ];
      for (const fn of fns) {
        const operation = unaryOperation(fn, type, type);
        if (!operation.code) continue;
        check(
          fc.property(marks, vectors(type), (active, from) => {
            agree(active, [{ type, from }], type, (out, [a], frame) => unaryStep(out, a, operation, 0)(frame));
          }),
        );
      }
    });

    it(`converts numbers of ${type} as the loops do`, () => {
      for (const to of [...types, 'i8', 'u8', 'i16', 'u16'] as ScalarType[]) {
        for (const operation of [conversion(type, to), unaryOperation('bitcast', to, type)]) {
          if (!operation.code) continue;
          check(
            fc.property(marks, vectors(type), (active, from) => {
              agree(active, [{ type, from }], to, (out, [a], frame) =>
                unaryStep(out, a, operation, operation.fails === undefined ? 0 : FAILURE)(frame),
              );
            }),
          );
        }
      }
    });

    it(`adds to products, selects, assigns and fills numbers of ${type} as the loops do`, () => {
      const operation = fmaOperation(type);
      check(
        fc.property(marks, vectors(type), vectors(type), vectors(type), vectors('pred'), (active, x, y, z, p) => {
          const operands = [x, y, z].map((from) => ({ type, from }));
          if (type !== 'pred')
            agree(active, operands, type, (out, [a, b, c], frame) =>
              ternaryStep(out, a, b, c, operation, operation.fails === undefined ? 0 : FAILURE)(frame),
            );
          agree(active, [...operands, { type: 'pred', from: p }], type, (out, [a, b, , isFirst], frame) =>
            selectStep(out, isFirst as LaneValue<Lanes32>, a, b, 9)(frame),
          );
          const all = active.map(() => true);
          agree(all, operands, type, (out, [a, b, c], frame) => {
            overwrite(out).set(vectorOf(a));
            const some = frameOf(
              active.map((_, lane) => lane % 3 === 0),
              out.geometry,
            );
            commit(out, b, 0, some);
            setUniform(c, x[0]);
            commit(
              out,
              c,
              0,
              frameOf(
                active.map((isActive) => !isActive),
                out.geometry,
              ),
            );
            if (!active.includes(false)) return;
            assert.equal(frame.mask.count, LANES);
          });
          if (type.startsWith('f')) return;
          agree(all, [], type, (out) => {
            setLinear(out, x[0] % 1000, y[0] % 1000, 0, 0);
            vectorOf(out);
          });
        }),
      );
    });
  }
});
