/**
 * Loops from a number that is not known, but not negative, to a constant: `for (int i = lane & 31; i < 256; i += 8)`. That bounds their passes.
 * Evidence (PTX of 190 loops, nvcc 13.0, sm_90):
 *
 * - with `#pragma unroll` up to 64 passes are written out, each behind the question whether there is one, but those that are sure to be;
 * - without, up to 20 passes stay a loop, which would be written in fours if it had more;
 * - of an unsigned variable it is one pass more that counts, since nothing is known of where it starts;
 * - `int i = threadIdx.x` may be negative to it.
 */
import type * as ast from '../parse/ast';
import type { Interval } from '../program/intervals';
import type { Context } from './context';
import { assignedNames, heldVariable, loopVariable, stepOf, testOf } from './trip-count';

/** Passes up to which a pragma writes them out, and up to which a loop without one stays. */
const MOST_WRITTEN_OUT = 64;
const MOST_KEPT = 20;

export interface OpenStart {
  readonly most: number;
  /** Written out, as a pragma asks for; it stays a loop otherwise. */
  readonly isWrittenOut: boolean;
  /** Passes that all lanes make: nothing is asked in front of them. */
  readonly sure: number;
}

/** After the initialiser was lowered; undefined for any other loop, and for those with more passes. */
export function openStart(ctx: Context, node: ast.ForStatement): OpenStart | undefined {
  if (ctx.unit.isHost || !node.condition || !node.increment || (node.unroll !== undefined && node.unroll !== 'full'))
    return undefined;
  const name = loopVariable(node.increment);
  if (!name || assignedNames(node.body).has(name)) return undefined;
  const start = startOf(ctx, name);
  const step = stepOf(ctx, node.increment);
  const test = testOf(ctx, node.condition, name);
  if (!start || !step || !test) return undefined;
  // passes are counted of what is added each time, not of what doubles
  const by = step(0);
  if (by <= 0 || step(1) !== 1 + by) return undefined;
  const passes = (from: number) => {
    let count = 0;
    for (let value = from; test(value) && count <= MOST_WRITTEN_OUT; value = step(value)) count++;
    return count;
  };
  const most = passes(start.least);
  const isWrittenOut = node.unroll === 'full' && !ctx.budget.keepsLoops;
  if (most + (start.isAny ? 1 : 0) > (isWrittenOut ? MOST_WRITTEN_OUT : MOST_KEPT)) return undefined;
  return { most, isWrittenOut, sure: passes(start.most) };
}

/** Where the variable starts: nothing is told of one whose value is known, or may be negative. */
function startOf(ctx: Context, name: string): (Interval & { readonly isAny: boolean }) | undefined {
  const variable = heldVariable(ctx, name);
  if (!variable || ctx.builder.constantValue(variable.held) !== undefined) return undefined;
  const known = ctx.builder.intervalOf(variable.held);
  const isUnsigned = ctx.builder.typeOf(variable.register) === 'u32';
  if (known && known.least >= 0) return { ...known, isAny: false };
  return isUnsigned ? { least: 0, most: Number.POSITIVE_INFINITY, isAny: true } : undefined;
}
