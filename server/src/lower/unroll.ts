/** Which loops the compiler writes out. */
import type * as ast from '../parse/ast';
import { constantOf } from './constants';
import type { Context } from './context';

export type UnrollDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'full'; readonly trips: number }
  | { readonly kind: 'partial'; readonly factor: number };

/** Source tokens of the unrolled body up to which nvcc 13 writes a loop out without being asked. */
const FULL_UNROLL_TOKENS = 4000;

export function unrollDecision(ctx: Context, node: ast.ForStatement, trips: number | undefined): UnrollDecision {
  const pragma = node.unroll;
  const factor = pragma === undefined || pragma === 'full' ? undefined : constantOf(ctx, pragma);
  if (factor === 1 || factor === 0) return { kind: 'none' };
  if (trips === undefined) return { kind: 'none' };
  if (trips === 0) return { kind: 'full', trips };
  const tokens = (node.body.last - node.body.first + 1) * trips;
  const forced = pragma === 'full' || (factor !== undefined && factor >= trips);
  if (trips <= ctx.budget.unrolledIterations && (forced || (factor === undefined && tokens <= FULL_UNROLL_TOKENS)))
    return { kind: 'full', trips };
  const partial = factor ?? 4;
  return partial > 1 && partial <= 64 && trips % partial === 0
    ? { kind: 'partial', factor: partial }
    : { kind: 'none' };
}
