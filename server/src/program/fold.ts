/** Compile-time arithmetic on constants, with the exact semantics of the executor: both fold to the same values. */
import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from './program';

const widths: Partial<Record<ScalarType, number>> = {
  i8: 8,
  u8: 8,
  i16: 16,
  u16: 16,
  i32: 32,
  u32: 32,
  i64: 64,
  u64: 64,
};
const signed = new Set<ScalarType>(['i8', 'i16', 'i32', 'i64']);
const floats = new Set<ScalarType>(['f16', 'bf16', 'f32', 'f64']);

/** Wraps an exact integer to the type; undefined when the result is not representable as a double. */
export function wrapInteger(type: ScalarType, value: bigint): number | undefined {
  const bits = widths[type];
  if (bits === undefined) return undefined;
  const wrapped = signed.has(type) ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  const number = Number(wrapped);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** The same of a safe integer, without big ones. */
function wrapSafe(type: ScalarType, value: number): number | undefined {
  switch (type) {
    case 'i8':
      return (value << 24) >> 24;
    case 'u8':
      return value & 0xff;
    case 'i16':
      return (value << 16) >> 16;
    case 'u16':
      return value & 0xffff;
    case 'i32':
      return value | 0;
    case 'u32':
      return value >>> 0;
    case 'i64':
      // no -0
      return value + 0;
    case 'u64':
      // what a negative one becomes is far beyond 2^53
      return value < 0 ? undefined : value + 0;
    default:
      return undefined;
  }
}

/** Rounds to the precision of a floating type (f16 and bf16 are kept as f32). */
export function roundFloat(type: ScalarType, value: number): number {
  return type === 'f64' ? value : Math.fround(value);
}

export function foldConvert(from: ScalarType, to: ScalarType, a: number | undefined): number | undefined {
  if (a === undefined) return undefined;
  if (to === 'pred') return a !== 0 ? 1 : 0;
  if (floats.has(to)) return roundFloat(to, a);
  if (floats.has(from)) {
    if (!Number.isFinite(a)) return undefined;
    const truncated = Math.trunc(a);
    return Number.isSafeInteger(truncated) && wrapInteger(to, BigInt(truncated)) === truncated ? truncated : undefined;
  }
  return Number.isSafeInteger(a) ? wrapSafe(to, a) : wrapInteger(to, BigInt(a));
}

const unaryFunctions: Partial<Record<UnaryOp, (a: number) => number>> = {
  neg: (a) => -a,
  abs: Math.abs,
  sqrt: Math.sqrt,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  exp: Math.exp,
  exp2: (a) => 2 ** a,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
};

export function foldUnary(fn: UnaryOp, type: ScalarType, a: number | undefined): number | undefined {
  if (a === undefined) return undefined;
  if (fn === 'mov') return a;
  if (fn === 'lognot') return a ? 0 : 1;
  if (fn === 'bitcast') return undefined;
  if (floats.has(type)) {
    const f = unaryFunctions[fn];
    return f ? roundFloat(type, f(a)) : undefined;
  }
  if (fn === 'neg') return wrapInteger(type, -BigInt(a));
  if (fn === 'bitnot') return wrapInteger(type, ~BigInt(a));
  if (fn === 'abs') return wrapInteger(type, BigInt(Math.abs(a)));
  const bits = BigInt.asUintN(widths[type] ?? 32, BigInt(a)).toString(2);
  const width = widths[type] ?? 32;
  const padded = bits.padStart(width, '0');
  if (fn === 'popc') return padded.split('1').length - 1;
  if (fn === 'clz') return padded.indexOf('1') < 0 ? width : padded.indexOf('1');
  if (fn === 'ffs') return padded.lastIndexOf('1') < 0 ? 0 : width - padded.lastIndexOf('1');
  return undefined;
}

const floatBinary: Partial<Record<BinaryOp, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: Math.min,
  max: Math.max,
  pow: (a, b) => a ** b,
  fmod: (a, b) => a % b,
  atan2: Math.atan2,
  hypot: Math.hypot,
};

const integerBinary: Partial<Record<BinaryOp, (a: bigint, b: bigint, bits: bigint) => bigint>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
  shl: (a, b, bits) => (b >= bits || b < 0n ? 0n : a << b),
  shr: (a, b, bits) => (b >= bits || b < 0n ? (a < 0n ? -1n : 0n) : a >> b),
  mulhi: (a, b, bits) => (a * b) >> bits,
};

/** Sums and the like of safe integers: exact where the result is safe again; undefined where it is not, or for what else there is. */
function exactBinary(fn: BinaryOp, a: number, b: number): number | undefined {
  const result = fn === 'add' ? a + b : fn === 'sub' ? a - b : fn === 'mul' ? a * b : undefined;
  return result !== undefined && Number.isSafeInteger(result) ? result : undefined;
}

/** The folded value, 'a' or 'b' where the result is that operand, or undefined. */
export function foldBinary(
  fn: BinaryOp,
  type: ScalarType,
  a: number | undefined,
  b: number | undefined,
): number | 'a' | 'b' | undefined {
  if (type === 'pred') return foldLogical(fn, a, b);
  if (a !== undefined && b !== undefined) return foldBoth(fn, type, a, b);
  if (floats.has(type)) return undefined;
  if (b === 0 && (fn === 'add' || fn === 'sub' || fn === 'or' || fn === 'xor' || fn === 'shl' || fn === 'shr'))
    return 'a';
  if (a === 0 && (fn === 'add' || fn === 'or' || fn === 'xor')) return 'b';
  if (b === 1 && (fn === 'mul' || fn === 'div')) return 'a';
  if (a === 1 && fn === 'mul') return 'b';
  if ((a === 0 || b === 0) && (fn === 'mul' || fn === 'and')) return 0;
  if (b === 1 && fn === 'rem') return 0;
  return undefined;
}

function foldLogical(fn: BinaryOp, a: number | undefined, b: number | undefined): number | 'a' | 'b' | undefined {
  if (fn === 'and') {
    if (a !== undefined) return a ? 'b' : 0;
    if (b !== undefined) return b ? 'a' : 0;
  } else if (fn === 'or') {
    if (a !== undefined) return a ? 1 : 'b';
    if (b !== undefined) return b ? 1 : 'a';
  } else if (a !== undefined && b !== undefined) return a !== b ? 1 : 0;
  return undefined;
}

function foldBoth(fn: BinaryOp, type: ScalarType, a: number, b: number): number | undefined {
  if (floats.has(type)) {
    const f = floatBinary[fn];
    return f ? roundFloat(type, f(a, b)) : undefined;
  }
  const width = widths[type];
  if (width === undefined) return undefined;
  const exact = Number.isSafeInteger(a) && Number.isSafeInteger(b) ? exactBinary(fn, a, b) : undefined;
  if (exact !== undefined) return wrapSafe(type, exact);
  if (fn === 'div' || fn === 'rem') {
    if (b === 0) return undefined;
    return wrapInteger(type, fn === 'div' ? BigInt(a) / BigInt(b) : BigInt(a) % BigInt(b));
  }
  const f = integerBinary[fn];
  return f ? wrapInteger(type, f(BigInt(a), BigInt(b), BigInt(width))) : undefined;
}

const comparisons: Record<CompareOp, (a: number, b: number) => boolean> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

export function foldCompare(
  fn: CompareOp,
  _type: ScalarType,
  a: number | undefined,
  b: number | undefined,
): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  return comparisons[fn](a, b) ? 1 : 0;
}
