/**
 * Registers that the machine code of an operation needs besides its operands and its result.
 *
 * Evidence (ptxas 13.0, sm_90, 158 kernels): each function once alone between a load and a store, once in a loop while 20 other values live; what these
 * needed more than the same kernels with a product in its place. Where the two differ (they do by up to 10), what lies between is taken.
 */
import type { Instruction, ScalarType } from '../program/program';

type Table = Readonly<Record<string, number>>;

const ofFloat: Table = {
  div: 4,
  sqrt: 3,
  exp: 2,
  cbrt: 4,
  sinh: 5,
  tanh: 5,
  hypot: 4,
  fmod: 2,
  atan2: 5,
  asin: 4,
  acos: 4,
  erf: 4,
};
const ofDouble: Table = {
  div: 11,
  sqrt: 8,
  rsqrt: 3,
  exp: 3,
  log: 6,
  log2: 6,
  log10: 6,
  pow: 15,
  fmod: 5,
  hypot: 8,
  cbrt: 8,
  sin: 4,
  cos: 4,
  tan: 13,
  asin: 7,
  acos: 9,
  atan: 2,
  atan2: 13,
  sinh: 16,
  cosh: 1,
  tanh: 4,
  erf: 5,
};
const ofInteger: Table = { div: 4, rem: 4 };
const ofLong: Table = { div: 6, rem: 6 };

const byFunction: Partial<Record<ScalarType, Table>> = {
  f32: ofFloat,
  f64: ofDouble,
  i32: ofInteger,
  u32: ofInteger,
  i64: ofLong,
  u64: ofInteger,
};

/** Of full precision only; the forms with two underscores need none. */
const precise: Readonly<Record<string, number>> = { sin: 12, cos: 12, tan: 12, pow: 4 };

/** Fragments of matrices have no values here: two operands and the sum of a 16 × 16 product. */
const FRAGMENTS = 24;
/** What lives while a function runs that is called lies behind the 16 registers that it may use. */
const CALL = 14;

export function scratchRegisters(i: Instruction): number {
  if (i.op === 'work') return i.unit === 'tensor' ? FRAGMENTS : i.fence === 'call' ? CALL : 0;
  if (i.op !== 'unary' && i.op !== 'binary') return 0;
  const found = byFunction[i.type]?.[i.fn];
  if (found !== undefined) return found;
  return i.type === 'f32' && i.branches !== undefined ? (precise[i.fn] ?? 0) : 0;
}
