import assert from 'node:assert/strict';
import fc from 'fast-check';
import { conversion, heldForm, numberOf } from '../../../server/src/execute/conversion';
import type { Lanes } from '../../../server/src/execute/operation';
import { binaryOperation, comparison, fmaOperation, unaryOperation } from '../../../server/src/execute/operations';
import { isWide } from '../../../server/src/execute/value';
import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from '../../../server/src/program/program';

const bitsOf = { i8: 8, u8: 8, i16: 16, u16: 16, i32: 32, u32: 32, i64: 64, u64: 64 } as const;
type IntegerType = keyof typeof bitsOf;
const types = Object.keys(bitsOf) as IntegerType[];
const isSigned = (type: IntegerType) => type.startsWith('i');

function wrap(type: IntegerType, value: bigint): bigint {
  return isSigned(type) ? BigInt.asIntN(bitsOf[type], value) : BigInt.asUintN(bitsOf[type], value);
}

/** What the executor holds for an exact integer: 64-bit ones in their signed reading, undefined beyond 2^53. */
function held(type: IntegerType, value: bigint): number | undefined {
  const wrapped = bitsOf[type] === 64 ? BigInt.asIntN(64, value) : wrap(type, value);
  const number = Number(wrapped);
  if (!Number.isSafeInteger(number)) return undefined;
  return type === 'u32' ? number | 0 : number;
}

/** The exact integer that a held form stands for. */
function exact(type: IntegerType, value: number): bigint {
  return wrap(type, BigInt(value));
}

/** Any integer of a type that can be held, small and extreme ones often. */
function integer(type: IntegerType): fc.Arbitrary<bigint> {
  const bits = bitsOf[type];
  const far = bits === 64 ? 2n ** 53n - 1n : 2n ** BigInt(bits) - 1n;
  const near = fc.bigInt({ min: -40n, max: 40n });
  const power = fc.tuple(fc.nat({ max: Math.min(bits, 52) }), near).map(([k, d]) => 2n ** BigInt(k) + d);
  return fc.oneof(near, power, fc.bigInt({ min: -far, max: far })).map((value) => {
    const wrapped = wrap(type, value);
    return held(type, wrapped) === undefined ? 7n : wrapped;
  });
}

const width = (type: IntegerType) => BigInt(bitsOf[type]);
const truncated = (a: bigint, b: bigint) => a / b;
/** Exact results before wrapping; undefined where the result is not defined. */
const binaryDefinitions: Partial<Record<BinaryOp, (a: bigint, b: bigint, type: IntegerType) => bigint | undefined>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  mulhi: (a, b, type) => (a * b) >> width(type),
  div: (a, b) => (b === 0n ? undefined : truncated(a, b)),
  rem: (a, b) => (b === 0n ? undefined : a - truncated(a, b) * b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  min: (a, b) => (a - b < 0n ? a : b),
  max: (a, b) => (a - b > 0n ? a : b),
};

function vector(type: ScalarType, value: number): Lanes {
  return (isWide(type) ? new Float64Array(3) : new Int32Array(3)).fill(value);
}

/** The definition and the loop of an operation must both give `expected` (undefined: not known). */
function check(type: ScalarType, expected: number | undefined, scalar: number, loop: (d: Lanes) => number): void {
  const shown = Number.isNaN(scalar) ? undefined : scalar;
  assert.equal(shown, expected);
  const d = vector(type, 0);
  const failed = loop(d);
  if (expected === undefined) assert.notEqual(failed, 0);
  else if (failed === 0) assert.deepEqual([...d], [expected, expected, 0]);
}

describe('integer operations', () => {
  for (const [fn, define] of Object.entries(binaryDefinitions)) {
    it(`${fn}, all types, as exact arithmetic that wraps`, () => {
      for (const type of types) {
        const operation = binaryOperation(fn as BinaryOp, type);
        fc.assert(
          fc.property(integer(type), integer(type), (a, b) => {
            const result = define(a, b, type);
            const expected = result === undefined ? undefined : held(type, result);
            const [x, y] = [held(type, a) ?? 0, held(type, b) ?? 0];
            check(type, expected, operation.scalar(x, y), (d) =>
              operation.loop(d, vector(type, x), vector(type, y), 0, 2),
            );
          }),
          { numRuns: 150 },
        );
      }
    });
  }

  for (const fn of ['shl', 'shr'] as const) {
    it(`${fn}, counts from 0 to beyond the width`, () => {
      for (const type of types) {
        const operation = binaryOperation(fn, type);
        fc.assert(
          fc.property(integer(type), fc.nat({ max: 80 }), (a, count) => {
            const by = BigInt(count);
            const limit = width(type);
            const shifted = fn === 'shl' ? (by >= limit ? 0n : a << by) : a >> (by >= limit ? limit : by);
            const x = held(type, a) ?? 0;
            const expected = held(type, shifted);
            check(type, expected, operation.scalar(x, count), (d) =>
              operation.loop(d, vector(type, x), vector(type, count), 0, 2),
            );
          }),
        );
      }
    });
  }

  it('compares signed and unsigned', () => {
    const definitions: Record<CompareOp, (a: bigint, b: bigint) => boolean> = {
      eq: (a, b) => a === b,
      ne: (a, b) => a !== b,
      lt: (a, b) => a < b,
      le: (a, b) => a <= b,
      gt: (a, b) => a > b,
      ge: (a, b) => a >= b,
    };
    for (const type of types) {
      for (const fn of Object.keys(definitions) as CompareOp[]) {
        const { operation, isSwapped } = comparison(fn, type);
        fc.assert(
          fc.property(integer(type), integer(type), (a, b) => {
            const [x, y] = [held(type, a) ?? 0, held(type, b) ?? 0];
            const [p, q] = isSwapped ? [y, x] : [x, y];
            check('pred', definitions[fn](a, b) ? 1 : 0, operation.scalar(p, q), (d) =>
              operation.loop(d, vector(type, p), vector(type, q), 0, 2),
            );
          }),
          { numRuns: 60 },
        );
      }
    }
  });

  it('fma', () => {
    for (const type of types) {
      const operation = fmaOperation(type);
      fc.assert(
        fc.property(integer(type), integer(type), integer(type), (a, b, c) => {
          const [x, y, z] = [a, b, c].map((value) => held(type, value) ?? 0);
          check(type, held(type, a * b + c), operation.scalar(x, y, z), (d) =>
            operation.loop(d, vector(type, x), vector(type, y), vector(type, z), 0, 2),
          );
        }),
      );
    }
  });

  it('unary operations', () => {
    const bits = (type: IntegerType, a: bigint) =>
      BigInt.asUintN(bitsOf[type], a).toString(2).padStart(bitsOf[type], '0');
    const definitions: Partial<Record<UnaryOp, (a: bigint, type: IntegerType) => bigint>> = {
      neg: (a) => -a,
      bitnot: (a) => ~a,
      abs: (a) => (a < 0n ? -a : a),
      popc: (a, type) => BigInt(bits(type, a).split('1').length - 1),
      clz: (a, type) => BigInt(`${bits(type, a)}1`.indexOf('1')),
      ffs: (a, type) => BigInt([...bits(type, a)].reverse().indexOf('1') + 1),
      brev: (a, type) => BigInt(`0b${[...bits(type, a)].reverse().join('')}`),
    };
    for (const type of types) {
      for (const [fn, define] of Object.entries(definitions)) {
        const operation = unaryOperation(fn as UnaryOp, type, type);
        const countsBits = ['popc', 'clz', 'ffs'].includes(fn);
        fc.assert(
          fc.property(integer(type), (a) => {
            const result = define(a, type);
            const expected = held(countsBits ? 'i32' : type, result);
            const x = held(type, a) ?? 0;
            check(type, expected, operation.scalar(x), (d) => operation.loop(d, vector(type, x), 0, 2));
          }),
          { numRuns: 60 },
        );
      }
    }
  });

  it('converts between integers by value, wrapping', () => {
    for (const from of types) {
      for (const to of types) {
        const operation = conversion(from, to);
        fc.assert(
          fc.property(integer(from), (a) => {
            const x = held(from, a) ?? 0;
            check(to, held(to, a), operation.scalar(x), (d) => operation.loop(d, vector(from, x), 0, 2));
          }),
          { numRuns: 40 },
        );
      }
    }
  });

  it('holds every value so that it comes back', () => {
    for (const type of types) {
      fc.assert(fc.property(integer(type), (a) => assert.equal(exact(type, held(type, a) ?? 0), a)));
    }
    assert.equal(numberOf('u32')(-1), 2 ** 32 - 1);
    assert.ok(Number.isNaN(heldForm('u64', 2 ** 60)));
  });
});

describe('floating-point operations', () => {
  const convert = (from: ScalarType, to: ScalarType, x: number) => {
    const result = conversion(from, to).scalar(x);
    return Number.isNaN(result) ? undefined : result;
  };

  it('truncates to integers, out of range is not known', () => {
    assert.equal(convert('f32', 'i32', -1.9), -1);
    assert.equal(convert('f32', 'u32', 3e9), 3e9 | 0);
    assert.equal(convert('f32', 'u32', -1.5), undefined);
    assert.equal(convert('f64', 'i32', 2 ** 31), undefined);
    assert.equal(convert('f64', 'i64', Number.NaN), undefined);
    assert.equal(convert('f64', 'u8', 255.9), 255);
  });

  /** Numbers of all sizes, halfway between neighbours of 16 bits often. */
  const number = fc.oneof(
    fc.double(),
    fc.tuple(fc.integer({ min: -8191, max: 8191 }), fc.integer({ min: -40, max: 16 })).map(([n, e]) => n * 2 ** e),
  );
  /** Digits, the least exponent and the largest number of the types of 16 bits. */
  const formats = { f16: [11, -14, 65504], bf16: [8, -126, 3.3895313892515355e38] } as const;

  it('rounds to the nearest number of 16 bits, of two to the even one', () => {
    for (const [type, [digits, least, largest]] of Object.entries(formats)) {
      const round = conversion('f64', type as ScalarType).scalar;
      fc.assert(
        fc.property(number, (x) => {
          const exponent = Math.max(least, x === 0 ? least : Math.floor(Math.log2(Math.abs(x))));
          const unit = 2 ** (exponent - digits + 1);
          const rounded = round(x);
          if (!Number.isFinite(x)) assert.ok(Object.is(rounded, x));
          else if (!Number.isFinite(rounded)) assert.ok(Math.abs(x) >= largest + unit / 2);
          else {
            assert.ok(Math.abs(rounded - x) <= unit / 2 && Number.isInteger(rounded / unit));
            if (Math.abs(rounded - x) === unit / 2) assert.equal((rounded / unit) % 2, 0 * rounded);
          }
        }),
        { numRuns: 2000 },
      );
    }
  });

  it('does the same for many lanes as for one', () => {
    const same = (type: ScalarType, expected: number, loop: (d: Lanes) => number) => {
      const d = vector(type, 0);
      loop(d);
      assert.ok(Object.is(d[0], expected) && Object.is(d[1], expected));
    };
    for (const type of ['f16', 'bf16', 'f32', 'f64'] as const) {
      const held = fc.double().map(conversion('f64', type).scalar);
      const lanes = (x: number) => vector(type, x);
      fc.assert(
        fc.property(held, held, held, (x, y, z) => {
          for (const fn of ['neg', 'abs', 'sqrt', 'rcp'] as const) {
            const operation = unaryOperation(fn, type, type);
            same(type, operation.scalar(x), (d) => operation.loop(d, lanes(x), 0, 2));
          }
          for (const fn of ['add', 'sub', 'mul', 'div', 'min'] as const) {
            const operation = binaryOperation(fn, type);
            same(type, operation.scalar(x, y), (d) => operation.loop(d, lanes(x), lanes(y), 0, 2));
          }
          const fma = fmaOperation(type);
          same(type, fma.scalar(x, y, z), (d) => fma.loop(d, lanes(x), lanes(y), lanes(z), 0, 2));
          for (const to of ['f16', 'bf16', 'f32', 'f64'] as const) {
            const operation = conversion(type, to);
            same(to, operation.scalar(x), (d) => operation.loop(d, lanes(x), 0, 2));
          }
        }),
      );
      for (const from of ['i32', 'u32', 'i16', 'i64'] as const)
        fc.assert(
          fc.property(fc.integer(), (n) => {
            const operation = conversion(from, type);
            const x = from === 'i16' ? (n << 16) >> 16 : n;
            same(type, operation.scalar(x), (d) => operation.loop(d, vector(from, x), 0, 2));
          }),
        );
    }
  });

  it('rounds to the precision of the type', () => {
    assert.equal(binaryOperation('add', 'f32').scalar(1, 2 ** -30), 1);
    assert.equal(binaryOperation('add', 'f64').scalar(1, 2 ** -30), 1 + 2 ** -30);
    assert.equal(convert('f32', 'f16', 2049), 2048);
    assert.equal(convert('f32', 'f16', 2051), 2052);
    assert.equal(convert('f32', 'f16', 70000), Number.POSITIVE_INFINITY);
    assert.equal(convert('f32', 'f16', 2 ** -25), 0);
    assert.equal(convert('f32', 'bf16', 257), 256);
    assert.equal(convert('u64', 'f32', -1), 2 ** 64);
    assert.equal(convert('u32', 'f64', -1), 2 ** 32 - 1);
  });

  it('reinterprets bits', () => {
    const cast = (from: ScalarType, to: ScalarType, x: number) => unaryOperation('bitcast', to, from).scalar(x);
    assert.equal(cast('f32', 'i32', 1), 0x3f800000);
    assert.equal(cast('i32', 'f32', 0x40490fdb), Math.fround(Math.PI));
    assert.equal(cast('f16', 'u16', -2), 0xc000);
    assert.equal(cast('u16', 'f16', 0x3555), 0.333251953125);
    const isNumber = (bits: number) => (bits & 0x7fff) <= 0x7c00;
    const other = Array.from({ length: 0x10000 }, (_, bits) => bits).filter(isNumber);
    assert.deepEqual(
      other.filter((bits) => cast('f16', 'u16', cast('u16', 'f16', bits)) !== bits),
      [],
    );
    assert.equal(cast('bf16', 'u16', 1), 0x3f80);
    assert.equal(cast('f64', 'i64', 0), 0);
    assert.ok(Number.isNaN(cast('f64', 'i64', 1)));
  });

  it('functions', () => {
    const unary = (fn: UnaryOp, x: number) => unaryOperation(fn, 'f64', 'f64').scalar(x);
    const shown = (['floor', 'ceil', 'round', 'rint', 'trunc'] as const).map((fn) => unary(fn, -2.5));
    assert.deepEqual(shown, [-3, -2, -3, -2, -2]);
    assert.equal(unary('rint', 3.5), 4);
    assert.equal(unary('rsqrt', 4), 0.5);
    assert.ok(Math.abs(unary('erf', 0.5) - 0.5204998778130465) < 1e-15);
    assert.ok(Math.abs(unary('erf', -3) + 0.9999779095030014) < 1e-15);
    assert.equal(binaryOperation('min', 'f32').scalar(Number.NaN, 2), 2);
    assert.equal(binaryOperation('copysign', 'f64').scalar(3, -0), -3);
    assert.equal(comparison('lt', 'f32').operation.scalar(Number.NaN, 1), 0);
    assert.equal(comparison('ne', 'f32').operation.scalar(Number.NaN, 1), 1);
  });
});
