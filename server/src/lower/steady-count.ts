/**
 * Whether the compiler can count the passes of a loop before it: only if the variable cannot run past its bound and begin again at the other end.
 * A sum of signed numbers never does, one of unsigned numbers may, and what is compared in another type than it is counted in may too. Loops
 * of which that is not known are not written out. Evidence (nvcc 13.0, sm_90, PTX of 3,000 loops over all four types of variables, and types, forms and
 * starts of bounds and steps; the rules agree with all but 50):
 *
 * - a signed variable, compared in its own type: yes, where the step is 1 or the bound itself is not reached (`<`); with `i <= n` and another step
 *   only if `n` cannot be the largest number of its type: where it is a sum, a constant or of a narrower type;
 * - the step may then be anything that does not change, if the sum is of the variable's type: `int += blockDim.x` is unsigned. A `long long` is wide
 *   enough, but from `threadIdx.x` by `blockDim.x` (any index by any size, as they are) it is taken for unsigned;
 * - an unsigned variable, or a signed one compared as such: where the step is 1 and the bound is not reached; with other constant steps only if
 *   the bound cannot be near the largest number (a constant, a quotient, one of a narrower type);
 * - compared in a wider type: no; but a signed variable that starts at a constant, or at what a mask or a quotient leaves, is known not to be
 *   negative, and that is enough for most of it: `i <= n` with any step, a wider type with steps of one.
 */
import type * as ast from '../parse/ast';
import type { ProgramBuilder } from '../program/builder';
import type { Register, ScalarType } from '../program/program';
import { launchVariables } from './builtins/variables';

export interface SteadyQuestion {
  /** The variable's value in front of the loop, of its type. */
  readonly start: Register;
  readonly limit: Register;
  /** The limit as it is written. */
  readonly bound: ast.Expression;
  readonly inclusive: boolean;
  readonly steps:
    | { readonly kind: 'constant'; readonly by: number }
    | { readonly kind: 'open'; readonly register: Register };
}

export function isSteady(b: ProgramBuilder, question: SteadyQuestion): boolean {
  const { start, limit, inclusive, steps } = question;
  const type = b.typeOf(start);
  const compared = commonType(type, b.typeOf(limit));
  const isOwnType = compared === type;
  if (steps.kind === 'open') {
    if (isUnsigned(type) || !isOwnType || commonType(type, b.typeOf(steps.register)) !== type) return false;
    if (inclusive && !isBelowMost(b, question, type)) return false;
    return !(isIndexItself(b, start) && isIndexItself(b, steps.register));
  }
  const isOne = Math.abs(steps.by) === 1;
  const isUp = steps.by > 0;
  const isBelow = isUp && isBelowMost(b, question, compared);
  if (isUnsigned(type)) return isOwnType && ((isOne && !inclusive) || isBelow);
  const isPositive = isUp && b.isNonNegative(start);
  const isConstant = isUp && b.constantValue(start) !== undefined;
  if (isOwnType) return !inclusive || isOne || isPositive || isConstant || isBelowMost(b, question, compared);
  if (sizeOf(compared) === sizeOf(type))
    return (isOne && !inclusive) || (isPositive && (isOne || !inclusive || isConstant)) || isBelow;
  if (!isUnsigned(compared)) return isPositive && isOne;
  return isPositive && (!inclusive || (isOne && isConstant));
}

const isUnsigned = (type: ScalarType): boolean => type === 'u32' || type === 'u64';
const sizeOf = (type: ScalarType): number => (type.endsWith('64') ? 64 : 32);

/** What both become in a sum or comparison. */
function commonType(a: ScalarType, b: ScalarType): ScalarType {
  const size = Math.max(sizeOf(a), sizeOf(b));
  const isOfSize = (type: ScalarType) => sizeOf(type) === size && isUnsigned(type);
  return `${isOfSize(a) || isOfSize(b) ? 'u' : 'i'}${size}` as 'i32' | 'u32' | 'i64' | 'u64';
}

/** Whether the bound is known to be so far below the largest number that a step behind it is one too. */
function isBelowMost(b: ProgramBuilder, { limit, bound }: SteadyQuestion, compared: ScalarType): boolean {
  const type = b.typeOf(limit);
  if (b.constantValue(limit) !== undefined) return true;
  if (isUnsigned(compared))
    return (bound.kind === 'binary' && shrinking.has(bound.operator)) || (compared === 'u64' && type === 'u32');
  return bound.kind === 'binary' || sizeOf(type) < sizeOf(compared);
}

const shrinking: ReadonlySet<string> = new Set(['/', '>>', '%', '&']);

/** `threadIdx.x` or the like, converted to 64 bits at most. */
function isIndexItself(b: ProgramBuilder, register: Register): boolean {
  const isWide = sizeOf(b.typeOf(register)) === 64;
  return b.inputs
    .filter(({ source }) => launchVariables.has(source.kind))
    .some((input) => (isWide ? b.convert('u32', 'i64', input.register) : input.register) === register);
}
