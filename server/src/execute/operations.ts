/** Finds the operation of an instruction by its name and type. */

import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from '../program/program';
import { bitcast, copyOf } from './conversion';
import { binaryFloat, fmaFloat, isFloatType, unaryFloat } from './floating';
import { binary32, compare32, fma32, isNarrow, unary32 } from './integer32';
import { binary64, compareWide, fma64, unary64 } from './integer64';
import type { Binary, Ternary, Unary } from './operation';

export function unaryOperation(fn: UnaryOp, type: ScalarType, from: ScalarType): Unary {
  if (fn === 'mov') return copyOf(type);
  if (fn === 'bitcast') return bitcast(from, type);
  if (isFloatType(type)) return unaryFloat(fn, type);
  return isNarrow(type) ? unary32(fn, type) : unary64(fn, type as 'i64' | 'u64');
}

export function binaryOperation(fn: BinaryOp, type: ScalarType): Binary {
  if (isFloatType(type)) return binaryFloat(fn, type);
  return isNarrow(type) ? binary32(fn, type) : binary64(fn, type as 'i64' | 'u64');
}

/** 'gt' and 'ge' are done as 'lt' and 'le' with the operands exchanged. */
export function comparison(fn: CompareOp, type: ScalarType): { operation: Binary; isSwapped: boolean } {
  const isSwapped = fn === 'gt' || fn === 'ge';
  const plain = fn === 'gt' ? 'lt' : fn === 'ge' ? 'le' : fn;
  return { operation: isNarrow(type) ? compare32(plain, type) : compareWide(plain, type === 'u64'), isSwapped };
}

export function fmaOperation(type: ScalarType): Ternary {
  if (isFloatType(type)) return fmaFloat(type);
  return isNarrow(type) ? fma32(type) : fma64();
}
