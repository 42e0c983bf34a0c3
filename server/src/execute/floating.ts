/** Arithmetic of floating types, all held as doubles and rounded to their precision after every operation. */

import type { BinaryOp, ScalarType, UnaryOp } from '../program/program';
import { floatLoops } from './floating-loops';
import type { LaneCodeName } from './lane-code';
import { type Binary, binary, type Ternary, ternary, type Unary, unary } from './operation';

export type FloatType = 'f16' | 'bf16' | 'f32' | 'f64';

const parts = new Float64Array(1);
const words = new Uint32Array(parts.buffer);
/** The word with sign and exponent. */
const HIGH = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;
/** Digits of a double, and what its exponent is stored with. */
const DIGITS = 53;
const BIAS = 1023;

/**
 * Rounds to nearest even with `digits` binary digits, the least exponent and the largest finite value given: by an addition whose sum
 * has its last digit where the result has. 1.5 times a power of two, so that numbers of both signs stay within the power.
 */
function roundBinary(x: number, digits: number, leastExponent: number, largest: number): number {
  if (x === 0 || !Number.isFinite(x)) return x;
  parts[0] = x;
  const exponent = Math.max(((words[HIGH] >>> 20) & 0x7ff) - BIAS, leastExponent);
  // beyond any that are finite, whose sum need not be one
  if (exponent > BIAS - DIGITS) return Math.sign(x) * Number.POSITIVE_INFINITY;
  words[HIGH] = ((exponent + DIGITS - digits + BIAS) << 20) | 0x80000;
  words[1 - HIGH] = 0;
  const shift = parts[0];
  const rounded = x + shift - shift;
  // zeros keep their sign
  if (rounded === 0) return x < 0 ? -0 : 0;
  return Math.abs(rounded) > largest ? Math.sign(x) * Number.POSITIVE_INFINITY : rounded;
}

export const roundings: Readonly<Record<FloatType, (x: number) => number>> = {
  f16: (x) => roundBinary(x, 11, -14, 65504),
  bf16: (x) => roundBinary(x, 8, -126, 3.3895313892515355e38),
  f32: Math.fround,
  f64: (x) => x,
};

function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

function roundHalfAway(x: number): number {
  const whole = Math.trunc(x);
  return Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole;
}

/** Sum of 2^n x^(2n+1) / (1·3·…·(2n+1)), times 2/√π·exp(-x²): converges everywhere. */
function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; n < 200 && Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** C's fmin and fmax give the other operand where one is not a number. */
function least(x: number, y: number): number {
  return Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y);
}
function greatest(x: number, y: number): number {
  return Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y);
}

const halves = new DataView(new ArrayBuffer(8));

/** 32 of the bits of a number: with all 64 an integer could not be held. */
function wordOf(x: number, offset: 0 | 4): number {
  halves.setFloat64(0, x);
  return halves.getUint32(offset);
}

function ofWords(low: number, high: number): number {
  halves.setUint32(0, high);
  halves.setUint32(4, low);
  return halves.getFloat64(0);
}

/** Mathematical functions of one number, before rounding to a type. */
export const unaryFunctions: Partial<Record<UnaryOp, (x: number) => number>> = {
  neg: (x) => -x,
  abs: Math.abs,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  rcp: (x) => 1 / x,
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  exp10: (x) => 10 ** x,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  erf,
  cbrt: Math.cbrt,
  floor: Math.floor,
  ceil: Math.ceil,
  round: roundHalfAway,
  rint: roundHalfEven,
  trunc: Math.trunc,
  lognot: (x) => (x === 0 ? 1 : 0),
  isnan: (x) => (Number.isNaN(x) ? 1 : 0),
  isinf: (x) => (Math.abs(x) === Number.POSITIVE_INFINITY ? 1 : 0),
  lowWord: (x) => wordOf(x, 4),
  highWord: (x) => wordOf(x, 0),
};

/** The same of two numbers. */
export const binaryFunctions: Partial<Record<BinaryOp, (x: number, y: number) => number>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  rem: (x, y) => x % y,
  fmod: (x, y) => x % y,
  min: least,
  max: greatest,
  pow: (x, y) => x ** y,
  atan2: Math.atan2,
  hypot: Math.hypot,
  copysign: (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x)),
  words: ofWords,
};

const NOT_DEFINED = 'operation not defined for floating-point numbers';

export function isFloatType(type: ScalarType): type is FloatType {
  return type in roundings;
}

export function unaryFloat(fn: UnaryOp, type: FloatType): Unary {
  const exact = unaryFunctions[fn];
  const round = roundings[type];
  if (!exact) return unary(() => Number.NaN, undefined, NOT_DEFINED);
  const loop = loopsOf(type)?.unary[fn];
  const code = laneCode[type]?.unary[fn];
  return type === 'f64' ? unary(exact, loop, undefined, code) : unary((x) => round(exact(x)), loop, undefined, code);
}

export function binaryFloat(fn: BinaryOp, type: FloatType): Binary {
  const exact = binaryFunctions[fn];
  const round = roundings[type];
  if (!exact) return binary(() => Number.NaN, undefined, { fails: NOT_DEFINED });
  const loop = loopsOf(type)?.binary[fn];
  const code = laneCode[type]?.binary[fn];
  return type === 'f64' ? binary(exact, loop, { code }) : binary((x, y) => round(exact(x, y)), loop, { code });
}

/** The product is exact for types up to f32; for f64 it is rounded once more than the hardware does. */
export function fmaFloat(type: FloatType): Ternary {
  const round = roundings[type];
  return ternary((x, y, z) => round(x * y + z), loopsOf(type)?.fma, undefined, laneCode[type]?.fma);
}

interface Codes {
  readonly unary: Partial<Record<UnaryOp, LaneCodeName>>;
  readonly binary: Partial<Record<BinaryOp, LaneCodeName>>;
  readonly fma: LaneCodeName;
}

const exactCode = {
  unary: { neg: 'negDouble', abs: 'absDouble', floor: 'floorDouble', ceil: 'ceilDouble', trunc: 'truncDouble' },
  binary: { min: 'minDouble', max: 'maxDouble' },
} as const;

const laneCode: Partial<Record<FloatType, Codes>> = {
  f32: {
    unary: { ...exactCode.unary, sqrt: 'sqrtFloat', rcp: 'rcpFloat', rsqrt: 'rsqrtFloat' },
    binary: { ...exactCode.binary, add: 'addFloat', sub: 'subFloat', mul: 'mulFloat', div: 'divFloat' },
    fma: 'fmaFloat',
  },
  f64: {
    unary: { ...exactCode.unary, sqrt: 'sqrtDouble' },
    binary: { ...exactCode.binary, add: 'addDouble', sub: 'subDouble', mul: 'mulDouble', div: 'divDouble' },
    fma: 'fmaDouble',
  },
};

const loopsOf = (type: FloatType) => (type === 'f32' || type === 'f64' ? floatLoops[type] : undefined);
