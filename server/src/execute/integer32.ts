/** Arithmetic of integers up to 32 bits and of predicates, all held as 32-bit integers (u32 as its bits). */

import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from '../program/program';
import { type Binary, binary, type Ternary, ternary, type Unary, unary } from './operation';
import type { Lanes32 } from './value';

export const DIVISION_BY_ZERO = 'division by zero';
const NOT_DEFINED = 'operation not defined for integers';

// ---- loops for what address arithmetic is made of ----

function addLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] + y[i];
  return 0;
}
function subLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] - y[i];
  return 0;
}
function mulLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.imul(x[i], y[i]);
  return 0;
}
function fmaLoop(d: Lanes32, x: Lanes32, y: Lanes32, z: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.imul(x[i], y[i]) + z[i];
  return 0;
}
function andLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] & y[i];
  return 0;
}
function orLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] | y[i];
  return 0;
}
function xorLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] ^ y[i];
  return 0;
}
function shlLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = y[i] >>> 0 < 32 ? x[i] << y[i] : 0;
  return 0;
}
function shrLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] >> (y[i] >>> 0 < 32 ? y[i] : 31);
  return 0;
}
function shrUnsignedLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = y[i] >>> 0 < 32 ? x[i] >>> y[i] : 0;
  return 0;
}
function divLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    if (y[i] === 0) failed = 1;
    d[i] = (x[i] / y[i]) | 0;
  }
  return failed;
}
function remLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    if (y[i] === 0) failed = 1;
    d[i] = (x[i] % y[i]) | 0;
  }
  return failed;
}
function divUnsignedLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    if (y[i] === 0) failed = 1;
    d[i] = ((x[i] >>> 0) / (y[i] >>> 0)) >>> 0;
  }
  return failed;
}
function remUnsignedLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  let failed = 0;
  for (let i = lo; i < hi; i++) {
    if (y[i] === 0) failed = 1;
    d[i] = ((x[i] >>> 0) % (y[i] >>> 0)) >>> 0;
  }
  return failed;
}
function minLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.min(x[i], y[i]);
  return 0;
}
function maxLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.max(x[i], y[i]);
  return 0;
}
function eqLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] === y[i] ? 1 : 0;
  return 0;
}
function neLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] !== y[i] ? 1 : 0;
  return 0;
}
function ltLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] < y[i] ? 1 : 0;
  return 0;
}
function leLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] <= y[i] ? 1 : 0;
  return 0;
}
function ltUnsignedLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] >>> 0 < y[i] >>> 0 ? 1 : 0;
  return 0;
}
function leUnsignedLoop(d: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] >>> 0 <= y[i] >>> 0 ? 1 : 0;
  return 0;
}
function wrapLoop(d: Lanes32, lo: number, hi: number, shift: number, isSigned: boolean): void {
  if (isSigned) for (let i = lo; i < hi; i++) d[i] = (d[i] << shift) >> shift;
  else for (let i = lo; i < hi; i++) d[i] = (d[i] << shift) >>> shift;
}

// ---- definitions ----

/** High 32 bits of the product of two unsigned 32-bit integers given as their bits. */
export function multiplyHighUnsigned(x: number, y: number): number {
  const xl = x & 0xffff;
  const xh = x >>> 16;
  const yl = y & 0xffff;
  const yh = y >>> 16;
  const middle = xh * yl + ((xl * yl) >>> 16);
  const low = (middle & 0xffff) + xl * yh;
  return (xh * yh + Math.floor(middle / 0x10000) + Math.floor(low / 0x10000)) | 0;
}

function multiplyHigh(x: number, y: number): number {
  return (multiplyHighUnsigned(x, y) - (x < 0 ? y : 0) - (y < 0 ? x : 0)) | 0;
}

const byZero = { fails: DIVISION_BY_ZERO };
const undefinedHere = binary(() => Number.NaN, undefined, { fails: NOT_DEFINED });

const common: Readonly<Record<BinaryOp, Binary>> = {
  add: binary((x, y) => (x + y) | 0, addLoop, { code: 'add32' }),
  sub: binary((x, y) => (x - y) | 0, subLoop, { code: 'sub32' }),
  mul: binary(Math.imul, mulLoop, { absorbs: 0, code: 'mul32' }),
  mulhi: binary(multiplyHigh, undefined, { code: 'high32' }),
  div: binary((x, y) => (y === 0 ? Number.NaN : (x / y) | 0), divLoop, { ...byZero, code: 'div32' }),
  rem: binary((x, y) => (y === 0 ? Number.NaN : (x % y) | 0), remLoop, { ...byZero, code: 'rem32' }),
  and: binary((x, y) => x & y, andLoop, { absorbs: 0, code: 'and32' }),
  or: binary((x, y) => x | y, orLoop, { absorbs: -1, code: 'or32' }),
  xor: binary((x, y) => x ^ y, xorLoop, { code: 'xor32' }),
  shl: binary((x, y) => (y >>> 0 < 32 ? x << y : 0), shlLoop, { code: 'shl32' }),
  shr: binary((x, y) => x >> (y >>> 0 < 32 ? y : 31), shrLoop, { code: 'shr32' }),
  min: binary(Math.min, minLoop, { code: 'min32' }),
  max: binary(Math.max, maxLoop, { code: 'max32' }),
  pow: undefinedHere,
  fmod: undefinedHere,
  atan2: undefinedHere,
  hypot: undefinedHere,
  copysign: undefinedHere,
  words: undefinedHere,
};

const unsigned32: Readonly<Record<BinaryOp, Binary>> = {
  ...common,
  mulhi: binary(multiplyHighUnsigned, undefined, { code: 'highUnsigned32' }),
  div: binary((x, y) => (y === 0 ? Number.NaN : ((x >>> 0) / (y >>> 0)) | 0), divUnsignedLoop, {
    ...byZero,
    code: 'divUnsigned32',
  }),
  rem: binary((x, y) => (y === 0 ? Number.NaN : ((x >>> 0) % (y >>> 0)) | 0), remUnsignedLoop, {
    ...byZero,
    code: 'remUnsigned32',
  }),
  shr: binary((x, y) => (y >>> 0 < 32 ? (x >>> y) | 0 : 0), shrUnsignedLoop, { code: 'shrUnsigned32' }),
  min: binary((x, y) => (x >>> 0 < y >>> 0 ? x : y), undefined, { code: 'minUnsigned32' }),
  max: binary((x, y) => (x >>> 0 > y >>> 0 ? x : y), undefined, { code: 'maxUnsigned32' }),
};

const predicate: Readonly<Record<BinaryOp, Binary>> = {
  ...common,
  or: binary((x, y) => x | y, orLoop, { absorbs: 1, code: 'or32' }),
};

/** Wraps the result of an operation to a type narrower than 32 bits. */
function narrowed(operation: Binary, bits: number, isSigned: boolean): Binary {
  const shift = 32 - bits;
  const wrap = wrapper(bits, isSigned);
  return {
    ...operation,
    code: undefined,
    // NaN (failed) must stay NaN.
    scalar: (x, y) => {
      const r = operation.scalar(x, y);
      return Number.isNaN(r) ? r : wrap(r);
    },
    loop: (d, x, y, lo, hi) => {
      const failed = operation.loop(d, x, y, lo, hi);
      wrapLoop(d as Lanes32, lo, hi, shift, isSigned);
      return failed;
    },
  };
}

function narrowTable(bits: number, isSigned: boolean): Readonly<Record<BinaryOp, Binary>> {
  const entries = Object.entries(common).map(([fn, operation]) => [fn, narrowed(operation, bits, isSigned)]);
  const wrap = wrapper(bits, isSigned);
  return {
    ...(Object.fromEntries(entries) as Record<BinaryOp, Binary>),
    mulhi: binary((x, y) => wrap(Math.floor((x * y) / 2 ** bits))),
  };
}

type NarrowType = 'pred' | 'i8' | 'u8' | 'i16' | 'u16' | 'i32' | 'u32';

const bitsOf: Readonly<Record<NarrowType, number>> = { pred: 1, i8: 8, u8: 8, i16: 16, u16: 16, i32: 32, u32: 32 };
const signed = new Set<ScalarType>(['i8', 'i16', 'i32']);

/** Wraps a 32-bit integer to a type; the identity for 32-bit types. */
function wrapper(bits: number, isSigned: boolean): (x: number) => number {
  const shift = 32 - bits;
  return isSigned ? (x) => (x << shift) >> shift : (x) => ((x << shift) >>> shift) | 0;
}

export function isNarrow(type: ScalarType): type is NarrowType {
  return type in bitsOf;
}

/** A double that holds an integer, wrapped to an integer type of at most 32 bits. */
export function wrapTo(type: NarrowType): (x: number) => number {
  return type === 'pred' ? (x) => (x !== 0 ? 1 : 0) : wrapper(bitsOf[type], signed.has(type));
}

const binaryTables: Readonly<Record<NarrowType, Readonly<Record<BinaryOp, Binary>>>> = {
  pred: predicate,
  i8: narrowTable(8, true),
  u8: narrowTable(8, false),
  i16: narrowTable(16, true),
  u16: narrowTable(16, false),
  i32: common,
  u32: unsigned32,
};

export function binary32(fn: BinaryOp, type: NarrowType): Binary {
  return binaryTables[type][fn];
}

const isEqual = binary((x, y) => (x === y ? 1 : 0), eqLoop, { code: 'eq32' });
const isDifferent = binary((x, y) => (x !== y ? 1 : 0), neLoop, { code: 'ne32' });
const signedLess = binary((x, y) => (x < y ? 1 : 0), ltLoop, { code: 'lt32' });
const signedLessEqual = binary((x, y) => (x <= y ? 1 : 0), leLoop, { code: 'le32' });
const unsignedLess = binary((x, y) => (x >>> 0 < y >>> 0 ? 1 : 0), ltUnsignedLoop, { code: 'ltUnsigned32' });
const unsignedLessEqual = binary((x, y) => (x >>> 0 <= y >>> 0 ? 1 : 0), leUnsignedLoop, { code: 'leUnsigned32' });

/** Comparisons as functions of (a, b); 'gt' and 'ge' are 'lt' and 'le' with the operands exchanged. */
export function compare32(fn: Exclude<CompareOp, 'gt' | 'ge'>, type: NarrowType): Binary {
  switch (fn) {
    case 'eq':
      return isEqual;
    case 'ne':
      return isDifferent;
    case 'lt':
      return type === 'u32' ? unsignedLess : signedLess;
    case 'le':
      return type === 'u32' ? unsignedLessEqual : signedLessEqual;
  }
}

const fma = ternary((x, y, z) => (Math.imul(x, y) + z) | 0, fmaLoop, undefined, 'fma32');

export function fma32(type: NarrowType): Ternary {
  if (bitsOf[type] === 32) return fma;
  const wrap = wrapTo(type);
  return ternary((x, y, z) => wrap(Math.imul(x, y) + z));
}

function bitCount(x: number): number {
  let v = x - ((x >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function reverseBits(x: number): number {
  let r = 0;
  for (let i = 0; i < 32; i++) r = (r << 1) | ((x >>> i) & 1);
  return r;
}

/** 1-based position of the lowest set bit, 0 for none. */
function findFirstSet(x: number): number {
  return x === 0 ? 0 : 32 - Math.clz32(x & -x);
}

export const bits32 = { bitCount, reverseBits, findFirstSet };

export function unary32(fn: UnaryOp, type: NarrowType): Unary {
  const wrap = wrapTo(type);
  const bits = bitsOf[type];
  const clear = bits === 32 ? -1 : (1 << bits) - 1;
  switch (fn) {
    case 'neg':
      return unary((x) => wrap(-x), undefined, undefined, bits === 32 ? 'neg32' : undefined);
    case 'bitnot':
      return type === 'pred'
        ? unary((x) => x ^ 1, undefined, undefined, 'flip')
        : unary((x) => wrap(~x), undefined, undefined, bits === 32 ? 'not32' : undefined);
    case 'lognot':
      return unary((x) => (x === 0 ? 1 : 0), undefined, undefined, 'isZero32');
    case 'abs':
      return type === 'u32'
        ? unary((x) => x, undefined, undefined, 'copy32')
        : unary((x) => wrap(Math.abs(x)), undefined, undefined, bits === 32 ? 'abs32' : undefined);
    case 'popc':
      return unary((x) => bitCount(x & clear), undefined, undefined, bits === 32 ? 'popc32' : undefined);
    case 'clz':
      return unary((x) => Math.clz32(x & clear) - (32 - bits), undefined, undefined, bits === 32 ? 'clz32' : undefined);
    case 'ffs':
      return unary((x) => findFirstSet(x & clear));
    case 'brev':
      return unary((x) => wrap(reverseBits(x & clear) >>> (32 - bits)));
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
      return unary(() => Number.NaN, undefined, NOT_DEFINED);
  }
}
