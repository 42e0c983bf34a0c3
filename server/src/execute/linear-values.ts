/**
 * Arithmetic on values that are linear in the thread index: a few operations for a whole block. Each rule gives its result
 * only where it is exact in every lane, else it does nothing and says so, and the vectors are used.
 */

import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from '../program/program';
import { copyLanes, isFloat, type LaneValue, setLinear, setUniform } from './value';

/** Rules give false when they do not apply. Operands are uniform or linear. */
export type LinearUnary = (out: LaneValue, a: LaneValue) => boolean;
export type LinearBinary = (out: LaneValue, a: LaneValue, b: LaneValue) => boolean;
export type LinearTernary = (out: LaneValue, a: LaneValue, b: LaneValue, c: LaneValue) => boolean;

const SAFE = Number.MAX_SAFE_INTEGER;
const TWO32 = 2 ** 32;

function isInteger32(type: ScalarType): boolean {
  return type === 'i32' || type === 'u32';
}

function isInteger64(type: ScalarType): boolean {
  return type === 'i64' || type === 'u64';
}

// ---- extremes over the block ----

let lowest = 0;
let highest = 0;

/** Sets lowest and highest of scalar + kx x + ky y + kz z over the block of `value`. */
function findExtremes(value: LaneValue, scalar: number, kx: number, ky: number, kz: number): void {
  const { width, height, depth } = value.geometry;
  const [x, y, z] = [kx * (width - 1), ky * (height - 1), kz * (depth - 1)];
  lowest = scalar + Math.min(0, x) + Math.min(0, y) + Math.min(0, z);
  highest = scalar + Math.max(0, x) + Math.max(0, y) + Math.max(0, z);
}

/** The scalar of a value as the number it stands for, if no lane wraps; sets the extremes. */
function numberIfExact(value: LaneValue, type: ScalarType): number | undefined {
  const scalar = type === 'u32' ? value.scalar >>> 0 : value.scalar;
  findExtremes(value, scalar, value.kx, value.ky, value.kz);
  switch (type) {
    case 'i32':
      return lowest >= -(2 ** 31) && highest < 2 ** 31 ? scalar : undefined;
    case 'u32':
      return lowest >= 0 && highest < TWO32 ? scalar : undefined;
    case 'u64':
      return lowest >= 0 ? scalar : undefined;
    case 'i64':
      return scalar;
    default:
      return undefined;
  }
}

/** A 64-bit result, if no lane is beyond 2^53. */
function setWide(out: LaneValue, scalar: number, kx: number, ky: number, kz: number): boolean {
  findExtremes(out, scalar, kx, ky, kz);
  if (!(lowest >= -SAFE && highest <= SAFE)) return false;
  // A zero may have come out negative.
  setLinear(out, scalar + 0, kx, ky, kz);
  return true;
}

/** 32-bit results are linear modulo 2^32, always. */
function setNarrow(out: LaneValue, scalar: number, kx: number, ky: number, kz: number): true {
  setLinear(out, scalar | 0, kx | 0, ky | 0, kz | 0);
  return true;
}

// ---- sums and products ----

function addNarrow(out: LaneValue, a: LaneValue, b: LaneValue): boolean {
  return setNarrow(out, a.scalar + b.scalar, a.kx + b.kx, a.ky + b.ky, a.kz + b.kz);
}

function addWide(out: LaneValue, a: LaneValue, b: LaneValue): boolean {
  return setWide(out, a.scalar + b.scalar, a.kx + b.kx, a.ky + b.ky, a.kz + b.kz);
}

const narrowRules: Partial<Record<BinaryOp, LinearBinary>> = {
  add: addNarrow,
  sub: (out, a, b) => setNarrow(out, a.scalar - b.scalar, a.kx - b.kx, a.ky - b.ky, a.kz - b.kz),
  mul: (out, a, b) => (b.uniform ? scaleNarrow(out, a, b.scalar) : a.uniform && scaleNarrow(out, b, a.scalar)),
  shl: (out, a, b) => b.uniform && b.scalar >= 0 && b.scalar < 32 && scaleNarrow(out, a, 1 << b.scalar),
};

function scaleNarrow(out: LaneValue, a: LaneValue, factor: number): boolean {
  const { scalar, kx, ky, kz } = a;
  return setNarrow(out, Math.imul(scalar, factor), Math.imul(kx, factor), Math.imul(ky, factor), Math.imul(kz, factor));
}

const wideRules: Partial<Record<BinaryOp, LinearBinary>> = {
  add: addWide,
  sub: (out, a, b) => setWide(out, a.scalar - b.scalar, a.kx - b.kx, a.ky - b.ky, a.kz - b.kz),
  mul: (out, a, b) => (b.uniform ? scaleWide(out, a, b.scalar) : a.uniform && scaleWide(out, b, a.scalar)),
  shl: (out, a, b) => b.uniform && b.scalar >= 0 && b.scalar < 53 && scaleWide(out, a, 2 ** b.scalar),
};

function scaleWide(out: LaneValue, a: LaneValue, factor: number): boolean {
  return setWide(out, a.scalar * factor, a.kx * factor, a.ky * factor, a.kz * factor);
}

// ---- quotients ----

/** ⌊a / divisor⌋ or a mod divisor, where what is no multiple of the divisor stays within one multiple in all lanes. */
function divide(
  out: LaneValue,
  a: LaneValue,
  divisor: number,
  type: ScalarType,
  part: 'quotient' | 'remainder',
  isTruncating: boolean,
): boolean {
  const scalar = numberIfExact(a, type);
  if (scalar === undefined || divisor <= 0 || (isTruncating && lowest < 0)) return false;
  const q = Math.floor(scalar / divisor);
  const qx = Math.trunc(a.kx / divisor);
  const qy = Math.trunc(a.ky / divisor);
  const qz = Math.trunc(a.kz / divisor);
  const rest = [scalar - q * divisor, a.kx - qx * divisor, a.ky - qy * divisor, a.kz - qz * divisor] as const;
  findExtremes(a, ...rest);
  if (lowest < 0 || highest >= divisor) return false;
  if (part === 'remainder') setLinear(out, type === 'u32' ? rest[0] | 0 : rest[0], rest[1], rest[2], rest[3]);
  else setLinear(out, type === 'u32' ? q | 0 : q, qx, qy, qz);
  return true;
}

function quotientRule(fn: BinaryOp, type: ScalarType): LinearBinary | undefined {
  const width = isInteger32(type) ? 32 : 53;
  switch (fn) {
    case 'div':
      return (out, a, b) => b.uniform && divide(out, a, divisorOf(b, type), type, 'quotient', true);
    case 'rem':
      return (out, a, b) => b.uniform && divide(out, a, divisorOf(b, type), type, 'remainder', true);
    case 'shr':
      return (out, a, b) =>
        b.uniform && b.scalar >= 0 && b.scalar < width && divide(out, a, 2 ** b.scalar, type, 'quotient', false);
    case 'and':
      return (out, a, b) =>
        b.uniform ? maskWith(out, a, b.scalar, type) : a.uniform && maskWith(out, b, a.scalar, type);
    default:
      return undefined;
  }
}

function divisorOf(b: LaneValue, type: ScalarType): number {
  return type === 'u32' ? b.scalar >>> 0 : b.scalar;
}

/** a & 0…01…1 is a modulo a power of two. */
function maskWith(out: LaneValue, a: LaneValue, mask: number, type: ScalarType): boolean {
  if (mask < 0 || !Number.isInteger(Math.log2(mask + 1))) return false;
  return divide(out, a, mask + 1, type, 'remainder', false);
}

// ---- order ----

/** Sets the extremes to those of a - b; false where some lane wraps. */
function findDifference(a: LaneValue, b: LaneValue, type: ScalarType): boolean {
  const x = numberIfExact(a, type);
  const y = numberIfExact(b, type);
  if (x === undefined || y === undefined) return false;
  findExtremes(a, x - y, a.kx - b.kx, a.ky - b.ky, a.kz - b.kz);
  return true;
}

function extremeRule(fn: BinaryOp, type: ScalarType): LinearBinary | undefined {
  if (fn !== 'min' && fn !== 'max') return undefined;
  return (out, a, b) => {
    if (!findDifference(a, b, type)) return false;
    if (highest > 0 && lowest < 0) return false;
    copyLanes(out, highest <= 0 === (fn === 'min') ? a : b);
    return true;
  };
}

/** 1 and 0 where all lanes agree, undefined where they do not. */
const outcomes: Readonly<Record<CompareOp, () => 0 | 1 | undefined>> = {
  eq: () => (lowest === 0 && highest === 0 ? 1 : lowest > 0 || highest < 0 ? 0 : undefined),
  ne: () => (lowest === 0 && highest === 0 ? 0 : lowest > 0 || highest < 0 ? 1 : undefined),
  lt: () => (highest < 0 ? 1 : lowest >= 0 ? 0 : undefined),
  le: () => (highest <= 0 ? 1 : lowest > 0 ? 0 : undefined),
  gt: () => (lowest > 0 ? 1 : highest <= 0 ? 0 : undefined),
  ge: () => (lowest >= 0 ? 1 : highest < 0 ? 0 : undefined),
};

// ---- rules by operation ----

export function linearBinary(fn: BinaryOp, type: ScalarType): LinearBinary | undefined {
  if (!isInteger32(type) && !isInteger64(type)) return undefined;
  const rules = isInteger32(type) ? narrowRules : wideRules;
  return rules[fn] ?? quotientRule(fn, type) ?? extremeRule(fn, type);
}

/** The rule of a comparison whose operands are already in the order in which 'gt' is 'lt'. */
export function linearComparison(fn: CompareOp, type: ScalarType): LinearBinary | undefined {
  if (!isInteger32(type) && !isInteger64(type)) return undefined;
  const outcome = outcomes[fn === 'gt' ? 'lt' : fn === 'ge' ? 'le' : fn];
  return (out, a, b) => {
    const result = findDifference(a, b, type) ? outcome() : undefined;
    if (result === undefined) return false;
    setUniform(out, result);
    return true;
  };
}

export function linearFma(type: ScalarType): LinearTernary | undefined {
  if (!isInteger32(type) && !isInteger64(type)) return undefined;
  const scale = isInteger32(type) ? scaleNarrow : scaleWide;
  const add = isInteger32(type) ? addNarrow : addWide;
  return (out, a, b, c) => {
    if (!a.uniform && !b.uniform) return false;
    const isScaled = b.uniform ? scale(out, a, b.scalar) : scale(out, b, a.scalar);
    return isScaled && add(out, out, c);
  };
}

export function linearUnary(fn: UnaryOp, type: ScalarType): LinearUnary | undefined {
  if (fn === 'mov') {
    return (out, a) => {
      copyLanes(out, a);
      return true;
    };
  }
  if (!isInteger32(type) && !isInteger64(type)) return undefined;
  const set = isInteger32(type) ? setNarrow : setWide;
  if (fn === 'neg') return (out, a) => set(out, 0 - a.scalar, 0 - a.kx, 0 - a.ky, 0 - a.kz);
  if (fn === 'bitnot') return (out, a) => set(out, -1 - a.scalar, 0 - a.kx, 0 - a.ky, 0 - a.kz);
  return undefined;
}

export function linearConversion(from: ScalarType, to: ScalarType): LinearUnary | undefined {
  if (isFloat(from) || isFloat(to)) return undefined;
  const isSame = (isInteger32(from) && isInteger32(to)) || (isInteger64(from) && isInteger64(to));
  if (isSame) return linearUnary('mov', to);
  if (isInteger64(from) && isInteger32(to)) return (out, a) => setNarrow(out, a.scalar, a.kx, a.ky, a.kz);
  if (!isInteger32(from) || !isInteger64(to)) return undefined;
  return (out, a) => {
    const scalar = numberIfExact(a, from);
    if (scalar === undefined) return false;
    setLinear(out, scalar, a.kx, a.ky, a.kz);
    return true;
  };
}
