/** Comparisons of PTX by their names; of floating-point numbers those that hold for unordered operands too. */
import type { CompareOp } from '../program/program';

export const ptxComparisons: Readonly<Record<string, CompareOp>> = {
  eq: 'eq',
  ne: 'ne',
  lt: 'lt',
  le: 'le',
  gt: 'gt',
  ge: 'ge',
  lo: 'lt',
  ls: 'le',
  hi: 'gt',
  hs: 'ge',
  equ: 'eq',
  neu: 'ne',
  ltu: 'lt',
  leu: 'le',
  gtu: 'gt',
  geu: 'ge',
};

/** What holds where a comparison of integers does not. */
export const opposite: Readonly<Record<string, CompareOp>> = {
  eq: 'ne',
  ne: 'eq',
  lt: 'ge',
  ge: 'lt',
  le: 'gt',
  gt: 'le',
};
