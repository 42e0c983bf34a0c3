import assert from 'node:assert/strict';
import fc from 'fast-check';
import { binaryArithmetic, commonType, convertNumber } from '../../../server/src/launch/arithmetic';
import type { BuiltinTypeName } from '../../../server/src/parse/ast';

function check(
  left: number,
  leftType: BuiltinTypeName,
  operator: string,
  right: number,
  rightType: BuiltinTypeName,
  expected: string,
) {
  const result = binaryArithmetic(operator, { value: left, of: leftType }, { value: right, of: rightType });
  assert.equal(result ? `${result.value} ${result.of}` : 'not defined', expected);
}

describe('host arithmetic', () => {
  it('divides integers towards zero', () => {
    check(7, 'int', '/', 2, 'int', '3 int');
    check(-7, 'int', '/', 2, 'int', '-3 int');
    check(-7, 'int', '%', 2, 'int', '-1 int');
    check(7, 'int', '/', 2, 'double', '3.5 double');
    check(7, 'int', '/', 0, 'int', 'not defined');
  });
  it('wraps around', () => {
    check(2 ** 31 - 1, 'int', '+', 1, 'int', '-2147483648 int');
    check(0, 'unsigned int', '-', 1, 'int', '4294967295 unsigned int');
    check(65536, 'int', '*', 65536, 'int', '0 int');
    check(65536, 'long', '*', 65536, 'int', '4294967296 long');
  });
  it('compares signed with unsigned as C++ does', () => {
    check(-1, 'int', '<', 1, 'unsigned int', '0 bool');
    check(-1, 'int', '<', 1, 'long', '1 bool');
  });
  it('rounds to float', () => {
    check(1, 'float', '/', 3, 'float', `${Math.fround(1 / 3)} float`);
    check(16777216, 'float', '+', 1, 'int', '16777216 float');
  });
  it('shifts in the type of the left operand', () => {
    check(1, 'int', '<<', 20, 'int', '1048576 int');
    check(1, 'int', '<<', 31, 'int', '-2147483648 int');
    check(1, 'int', '<<', 32, 'int', 'not defined');
    check(-8, 'int', '>>', 1, 'int', '-4 int');
  });
  it('promotes small types to int', () => {
    check(200, 'unsigned char', '+', 100, 'unsigned char', '300 int');
    assert.equal(commonType('unsigned int', 'long'), 'long');
    assert.equal(commonType('unsigned long', 'long long'), 'unsigned long long');
  });
  it('converts', () => {
    assert.equal(convertNumber(3.9, 'int'), 3);
    assert.equal(convertNumber(-3.9, 'int'), -3);
    assert.equal(convertNumber(300, 'unsigned char'), 44);
    assert.equal(convertNumber(2, 'bool'), 1);
    assert.equal(convertNumber(Number.NaN, 'int'), undefined);
  });

  const integerTypes = fc.constantFrom<BuiltinTypeName>('int', 'unsigned int', 'long', 'unsigned long');
  const operators: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
    '+': (a, b) => a + b,
    '-': (a, b) => a - b,
    '*': (a, b) => a * b,
    '&': (a, b) => a & b,
    '^': (a, b) => a ^ b,
    '/': (a, b) => a / b,
    '%': (a, b) => a % b,
  };
  it('agrees with exact arithmetic modulo the width', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer(),
        integerTypes,
        fc.constantFrom(...Object.keys(operators)),
        (x, y, of, operator) => {
          const isUnsigned = of.startsWith('unsigned');
          const bits = of.endsWith('int') ? 32 : 64;
          const wrap = (v: bigint) => (isUnsigned ? BigInt.asUintN(bits, v) : BigInt.asIntN(bits, v));
          const [a, b] = [wrap(BigInt(x)), wrap(BigInt(y))];
          if (b === 0n && (operator === '/' || operator === '%')) return;
          const result = binaryArithmetic(operator, { value: Number(a), of }, { value: Number(b), of });
          const exact = wrap(operators[operator](a, b));
          const isRepresentable = [a, b, exact].every((v) => Number.isSafeInteger(Number(v)));
          if (isRepresentable) assert.equal(result?.value, Number(exact));
          else if (result) assert.equal(BigInt(result.value), exact);
        },
      ),
    );
  });
});
