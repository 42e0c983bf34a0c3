/**
 * C++ arithmetic on JavaScript numbers: promotions, integer division, wrap-around, float rounding (LP64 data model).
 * A result that has no exact representation (64-bit integers beyond 2^53, division by zero) is undefined.
 */
import type { BuiltinTypeName } from '../parse/ast';

export interface ArithmeticType {
  readonly bytes: number;
  readonly signed: boolean;
  readonly floating: boolean;
  /** integer conversion rank ([conv.rank]); floating types above all integers */
  readonly rank: number;
}

const integer = (bytes: number, signed: boolean, rank: number): ArithmeticType => ({
  bytes,
  signed,
  floating: false,
  rank,
});
const floating = (bytes: number, rank: number): ArithmeticType => ({ bytes, signed: true, floating: true, rank });

/** Sizes of the LP64 model, which all CUDA platforms but Windows share (there `long` has 4 bytes). */
export const arithmeticTypes: Readonly<Record<BuiltinTypeName, ArithmeticType>> = {
  void: integer(1, false, 0),
  bool: integer(1, false, 0),
  char: integer(1, true, 1),
  'signed char': integer(1, true, 1),
  'unsigned char': integer(1, false, 1),
  char8_t: integer(1, false, 1),
  short: integer(2, true, 2),
  'unsigned short': integer(2, false, 2),
  char16_t: integer(2, false, 2),
  int: integer(4, true, 3),
  'unsigned int': integer(4, false, 3),
  wchar_t: integer(4, true, 3),
  char32_t: integer(4, false, 3),
  long: integer(8, true, 4),
  'unsigned long': integer(8, false, 4),
  'long long': integer(8, true, 5),
  'unsigned long long': integer(8, false, 5),
  __int128: integer(16, true, 6),
  'unsigned __int128': integer(16, false, 6),
  float: floating(4, 10),
  double: floating(8, 11),
  'long double': floating(16, 12),
};

export interface Arithmetic {
  readonly value: number;
  readonly of: BuiltinTypeName;
}

/** Converts a value to a type as an assignment does; undefined when the result is not defined or not representable. */
export function convertNumber(value: number, to: BuiltinTypeName): number | undefined {
  const type = arithmeticTypes[to];
  if (to === 'bool') return value !== 0 ? 1 : 0;
  if (type.floating) return to === 'float' ? Math.fround(value) : value;
  const whole = Math.trunc(value);
  if (!Number.isFinite(whole)) return undefined;
  return wrapInteger(whole, type);
}

function wrapInteger(value: number, type: ArithmeticType): number | undefined {
  if (type.bytes >= 8) {
    if (!Number.isSafeInteger(value)) return undefined;
    return value < 0 && !type.signed ? undefined : value + 0;
  }
  const range = 2 ** (8 * type.bytes);
  const wrapped = ((value % range) + range) % range;
  return type.signed && wrapped >= range / 2 ? wrapped - range : wrapped;
}

/** Integral promotion: types below int become int. */
export function promote(of: BuiltinTypeName): BuiltinTypeName {
  return arithmeticTypes[of].rank < 3 || of === 'wchar_t' ? 'int' : of;
}

/** The usual arithmetic conversions of two operand types. */
export function commonType(left: BuiltinTypeName, right: BuiltinTypeName): BuiltinTypeName {
  const a = promote(left);
  const b = promote(right);
  if (a === b) return a;
  const ta = arithmeticTypes[a];
  const tb = arithmeticTypes[b];
  if (ta.floating || tb.floating || ta.signed === tb.signed) return ta.rank >= tb.rank ? a : b;
  const unsigned = ta.signed ? b : a;
  const signed = ta.signed ? a : b;
  if (arithmeticTypes[unsigned].rank >= arithmeticTypes[signed].rank) return unsigned;
  if (arithmeticTypes[signed].bytes > arithmeticTypes[unsigned].bytes) return signed;
  return signed === 'long' ? 'unsigned long' : 'unsigned long long';
}

const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

const exactOperations: Readonly<Record<string, (a: bigint, b: bigint) => bigint | undefined>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0n ? undefined : a / b),
  '%': (a, b) => (b === 0n ? undefined : a % b),
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
};

const floatOperations: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

/** True for operators that binaryArithmetic knows. */
export function isArithmeticOperator(operator: string): boolean {
  return operator in exactOperations || operator in comparisons || operator === '<<' || operator === '>>';
}

export function isComparison(operator: string): boolean {
  return operator in comparisons;
}

/** `left operator right` with C++ types; undefined where the value is not defined or not representable. */
export function binaryArithmetic(operator: string, left: Arithmetic, right: Arithmetic): Arithmetic | undefined {
  if (operator === '<<' || operator === '>>') return shift(operator, left, right);
  const of = commonType(left.of, right.of);
  const a = convertNumber(left.value, of);
  const b = convertNumber(right.value, of);
  if (a === undefined || b === undefined) return undefined;
  const compare = comparisons[operator];
  if (compare) return { value: compare(a, b) ? 1 : 0, of: 'bool' };
  if (arithmeticTypes[of].floating) {
    const compute = floatOperations[operator];
    return compute && rounded(compute(a, b), of);
  }
  return integerOperation(operator, a, b, of);
}

function integerOperation(operator: string, a: number, b: number, of: BuiltinTypeName): Arithmetic | undefined {
  const quick = quickInteger(operator, a, b);
  if (quick !== undefined) return rounded(quick, of);
  const compute = exactOperations[operator];
  const exact = compute?.(BigInt(a), BigInt(b));
  return exact === undefined ? undefined : wrapExact(exact, of);
}

/** The operations whose result is surely exact as a double; undefined asks for the exact way. */
function quickInteger(operator: string, a: number, b: number): number | undefined {
  let result: number;
  if (operator === '+') result = a + b;
  else if (operator === '-') result = a - b;
  else if (operator === '*') result = a * b;
  else if (operator === '/' && b !== 0) result = Math.trunc(a / b);
  else if (operator === '%' && b !== 0) result = a % b;
  else return undefined;
  return Math.abs(result) <= 2 ** 52 && (operator !== '/' || Math.abs(a) <= 2 ** 52) ? result + 0 : undefined;
}

function wrapExact(value: bigint, of: BuiltinTypeName): Arithmetic | undefined {
  const type = arithmeticTypes[of];
  const bits = 8 * type.bytes;
  const wrapped = Number(type.signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value));
  return Number.isSafeInteger(wrapped) ? { value: wrapped, of } : undefined;
}

function shift(operator: '<<' | '>>', left: Arithmetic, right: Arithmetic): Arithmetic | undefined {
  const of = promote(left.of);
  const type = arithmeticTypes[of];
  const value = convertNumber(left.value, of);
  const count = right.value;
  if (type.floating || value === undefined || !Number.isInteger(count)) return undefined;
  if (count < 0 || count >= 8 * type.bytes) return undefined;
  const exact = BigInt(value);
  return wrapExact(operator === '<<' ? exact << BigInt(count) : exact >> BigInt(count), of);
}

/** `operator value` for + - ~ !. */
export function unaryArithmetic(operator: string, operand: Arithmetic): Arithmetic | undefined {
  if (operator === '!') return { value: operand.value === 0 ? 1 : 0, of: 'bool' };
  const of = promote(operand.of);
  const value = convertNumber(operand.value, of);
  if (value === undefined) return undefined;
  if (operator === '+') return { value, of };
  if (operator === '-') return arithmeticTypes[of].floating ? { value: -value, of } : wrapExact(-BigInt(value), of);
  if (operator === '~' && !arithmeticTypes[of].floating) return wrapExact(~BigInt(value), of);
  return undefined;
}

function rounded(value: number, of: BuiltinTypeName): Arithmetic | undefined {
  const result = convertNumber(value, of);
  return result === undefined ? undefined : { value: result, of };
}
