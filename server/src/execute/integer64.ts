/**
 * Arithmetic of 64-bit integers held as doubles in their signed reading. Results beyond ±(2^53 - 1), after wrapping to
 * 64 bits, are not representable and become unknown.
 */

import type { BinaryOp, CompareOp, UnaryOp } from '../program/program';
import { bits32, DIVISION_BY_ZERO } from './integer32';
import { type Binary, binary, type Ternary, ternary, type Unary, unary } from './operation';
import type { Lanes32, Lanes64 } from './value';

export const TOO_LARGE = '64-bit value beyond 2^53';
const BY_ZERO_OR_TOO_LARGE = `${DIVISION_BY_ZERO} or ${TOO_LARGE}`;
const SAFE = Number.MAX_SAFE_INTEGER;
const TWO32 = 2 ** 32;
/** Powers of two: looking one up takes a tenth of the time that making it takes. */
const POWER = Float64Array.from({ length: 64 }, (_, exponent) => 2 ** exponent);

function isSafe(x: number): boolean {
  return x <= SAFE && x >= -SAFE;
}

function fromBig(x: bigint): number {
  const wrapped = Number(BigInt.asIntN(64, x));
  return isSafe(wrapped) ? wrapped : Number.NaN;
}

function unsignedBig(x: bigint): bigint {
  return BigInt.asUintN(64, x);
}
/** By way of integers of any size. Lanes that are not known may hold what is no number. */
function exactly(x: number, y: number, compute: (x: bigint, y: bigint) => bigint): number {
  return Number.isNaN(x) || Number.isNaN(y) ? Number.NaN : fromBig(compute(BigInt(x), BigInt(y)));
}

function add(x: number, y: number): number {
  const r = x + y;
  return isSafe(r) ? r : Number.NaN;
}
function sub(x: number, y: number): number {
  const r = x - y;
  return isSafe(r) ? r : Number.NaN;
}
function mul(x: number, y: number): number {
  const r = x * y;
  return isSafe(r) ? r + 0 : exactly(x, y, (a, b) => a * b);
}
function fma(x: number, y: number, z: number): number {
  const r = x * y;
  if (isSafe(r)) return add(r, z);
  return Number.isNaN(z) ? Number.NaN : exactly(x, y, (a, b) => a * b + BigInt(z));
}
/** Exact: the dividend less its remainder is a multiple of the divisor, and `%` of doubles is exact. */
function div(x: number, y: number): number {
  return y === 0 ? Number.NaN : (x - (x % y)) / y + 0;
}
function rem(x: number, y: number): number {
  return y === 0 ? Number.NaN : (x % y) + 0;
}
function divUnsigned(x: number, y: number): number {
  if (x >= 0 && y > 0) return div(x, y);
  return y === 0 ? Number.NaN : exactly(x, y, (a, b) => unsignedBig(a) / unsignedBig(b));
}
function remUnsigned(x: number, y: number): number {
  if (x >= 0 && y > 0) return rem(x, y);
  return y === 0 ? Number.NaN : exactly(x, y, (a, b) => unsignedBig(a) % unsignedBig(b));
}
function shl(x: number, y: number): number {
  if (y < 0 || y >= 64) return 0;
  const r = x * POWER[y];
  if (isSafe(r) || Number.isNaN(r)) return r;
  // what is left of it within 64 bits, by halves
  const low = x | 0;
  if (y >= 32) return join(low << (y - 32), 0);
  return join((Math.floor(x / TWO32) << y) | (low >>> (32 - y)), low << y);
}
function shr(x: number, y: number): number {
  return Math.floor(x / POWER[y < 0 || y > 63 ? 63 : y]);
}
function shrUnsigned(x: number, y: number): number {
  if (y < 0 || y >= 64) return 0;
  if (x >= 0 || y === 0) return Math.floor(x / POWER[y]);
  const high = Math.floor(x / TWO32) + TWO32;
  if (y >= 32) return Math.floor(high / POWER[y - 32]);
  const r = high * POWER[32 - y] + ((x >>> 0) >>> y);
  return isSafe(r) ? r : Number.NaN;
}
/** Bit operations on the high 22 bits (with sign) and the low 32 bits of the doubles. */
function join(high: number, low: number): number {
  const r = high * TWO32 + (low >>> 0);
  return isSafe(r) ? r : Number.NaN;
}
function and(x: number, y: number): number {
  return join(Math.floor(x / TWO32) & Math.floor(y / TWO32), x & y);
}
function or(x: number, y: number): number {
  return join(Math.floor(x / TWO32) | Math.floor(y / TWO32), x | y);
}
function xor(x: number, y: number): number {
  return join(Math.floor(x / TWO32) ^ Math.floor(y / TWO32), x ^ y);
}
function isBelowUnsigned(x: number, y: number): boolean {
  return x < 0 === y < 0 ? x < y : y < 0;
}

function addLoop(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    const r = x[i] + y[i];
    d[i] = r;
    if (r > SAFE || r < -SAFE) failed = 1;
  }
  return failed;
}
function subLoop(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    const r = x[i] - y[i];
    d[i] = r;
    if (r > SAFE || r < -SAFE) failed = 1;
  }
  return failed;
}
function mulLoop(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    const r = x[i] * y[i];
    d[i] = r + 0;
    if (r > SAFE || r < -SAFE) failed = 1;
  }
  return failed;
}
function fmaLoop(d: Lanes64, x: Lanes64, y: Lanes64, z: Lanes64, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    const product = x[i] * y[i];
    const r = product + z[i];
    d[i] = r;
    if (product > SAFE || product < -SAFE || r > SAFE || r < -SAFE) failed = 1;
  }
  return failed;
}
function shlLoop(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    const count = y[i];
    const r = count >= 0 && count < 31 ? x[i] * (1 << count) : shl(x[i], count);
    d[i] = r;
    if (!(r <= SAFE && r >= -SAFE)) failed = 1;
  }
  return failed;
}
function eqLoop(d: Lanes32, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] === y[i] ? 1 : 0;
  return 0;
}
function neLoop(d: Lanes32, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] !== y[i] ? 1 : 0;
  return 0;
}
function ltLoop(d: Lanes32, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] < y[i] ? 1 : 0;
  return 0;
}
function leLoop(d: Lanes32, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] <= y[i] ? 1 : 0;
  return 0;
}
function ltUnsignedLoop(d: Lanes32, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] < 0 === y[i] < 0 ? (x[i] < y[i] ? 1 : 0) : y[i] < 0 ? 1 : 0;
  return 0;
}

const large = { fails: TOO_LARGE };
const divided = { fails: BY_ZERO_OR_TOO_LARGE };
const undefinedHere = binary(() => Number.NaN, undefined, { fails: 'operation not defined for integers' });

const signedTable: Readonly<Record<BinaryOp, Binary>> = {
  add: binary(add, addLoop, { ...large, code: 'add64' }),
  sub: binary(sub, subLoop, { ...large, code: 'sub64' }),
  mul: binary(mul, mulLoop, { fails: TOO_LARGE, absorbs: 0, code: 'mul64' }),
  mulhi: binary((x, y) => exactly(x, y, (a, b) => (a * b) >> 64n), undefined, large),
  div: binary(div, undefined, divided),
  rem: binary(rem, undefined, divided),
  and: binary(and, undefined, { fails: TOO_LARGE, absorbs: 0, code: 'and64' }),
  or: binary(or, undefined, { fails: TOO_LARGE, absorbs: -1, code: 'or64' }),
  xor: binary(xor, undefined, { ...large, code: 'xor64' }),
  shl: binary(shl, shlLoop, { ...large, code: 'shl64' }),
  shr: binary(shr, undefined, { code: 'shr64' }),
  min: binary(Math.min),
  max: binary(Math.max),
  pow: undefinedHere,
  fmod: undefinedHere,
  atan2: undefinedHere,
  hypot: undefinedHere,
  copysign: undefinedHere,
  words: undefinedHere,
};

const unsignedTable: Readonly<Record<BinaryOp, Binary>> = {
  ...signedTable,
  mulhi: binary((x, y) => exactly(x, y, (a, b) => (unsignedBig(a) * unsignedBig(b)) >> 64n), undefined, large),
  div: binary(divUnsigned, undefined, divided),
  rem: binary(remUnsigned, undefined, divided),
  shr: binary(shrUnsigned, undefined, { ...large, code: 'shrUnsigned64' }),
  min: binary((x, y) => (isBelowUnsigned(x, y) ? x : y)),
  max: binary((x, y) => (isBelowUnsigned(x, y) ? y : x)),
};

export function binary64(fn: BinaryOp, type: 'i64' | 'u64'): Binary {
  return (type === 'i64' ? signedTable : unsignedTable)[fn];
}

/** Comparisons of doubles: floats (false with NaN, but for 'ne') and signed 64-bit integers. */
const comparisons: Readonly<Record<Exclude<CompareOp, 'gt' | 'ge'>, Binary>> = {
  eq: binary((x, y) => (x === y ? 1 : 0), eqLoop, { code: 'eqDouble' }),
  ne: binary((x, y) => (x !== y ? 1 : 0), neLoop, { code: 'neDouble' }),
  lt: binary((x, y) => (x < y ? 1 : 0), ltLoop, { code: 'ltDouble' }),
  le: binary((x, y) => (x <= y ? 1 : 0), leLoop, { code: 'leDouble' }),
};

const lessUnsigned = binary((x, y) => (isBelowUnsigned(x, y) ? 1 : 0), ltUnsignedLoop, { code: 'ltUnsigned64' });
const lessEqualUnsigned = binary((x, y) => (isBelowUnsigned(y, x) ? 0 : 1));

export function compareWide(fn: Exclude<CompareOp, 'gt' | 'ge'>, isUnsigned: boolean): Binary {
  if (isUnsigned && fn === 'lt') return lessUnsigned;
  if (isUnsigned && fn === 'le') return lessEqualUnsigned;
  return comparisons[fn];
}

const fusedMultiplyAdd = ternary(fma, fmaLoop, TOO_LARGE, 'fma64');

export function fma64(): Ternary {
  return fusedMultiplyAdd;
}

function highHalf(x: number): number {
  return Math.floor(x / TWO32) | 0;
}

export function unary64(fn: UnaryOp, type: 'i64' | 'u64'): Unary {
  switch (fn) {
    case 'neg':
      return unary((x) => 0 - x);
    case 'bitnot':
      return unary((x) => sub(-1, x), undefined, TOO_LARGE);
    case 'lognot':
      return unary((x) => (x === 0 ? 1 : 0));
    case 'abs':
      return type === 'u64' ? unary((x) => x) : unary((x) => Math.abs(x));
    case 'popc':
      return unary((x) => bits32.bitCount(highHalf(x)) + bits32.bitCount(x | 0));
    case 'clz':
      return unary((x) => (highHalf(x) !== 0 ? Math.clz32(highHalf(x)) : 32 + Math.clz32(x | 0)));
    case 'ffs':
      return unary((x) => {
        if ((x | 0) !== 0) return bits32.findFirstSet(x | 0);
        return highHalf(x) === 0 ? 0 : 32 + bits32.findFirstSet(highHalf(x));
      });
    case 'brev':
      return unary((x) => join(bits32.reverseBits(x | 0), bits32.reverseBits(highHalf(x))), undefined, TOO_LARGE);
    case 'floor':
    case 'ceil':
    case 'round':
    case 'rint':
    case 'trunc':
      return unary((x) => x);
    case 'isnan':
    case 'isinf':
      return unary(() => 0);
    default:
      return unary(() => Number.NaN, undefined, 'operation not defined for integers');
  }
}
