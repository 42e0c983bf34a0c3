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
  const tokens = weightOf(ctx, node.body) * trips;
  const forced = pragma === 'full' || (factor !== undefined && factor >= trips);
  if (trips <= ctx.budget.unrolledIterations && (forced || (factor === undefined && tokens <= FULL_UNROLL_TOKENS)))
    return { kind: 'full', trips };
  const partial = factor ?? 4;
  return partial > 1 && partial <= 64 && trips % partial === 0
    ? { kind: 'partial', factor: partial }
    : { kind: 'none' };
}

/** Tokens of a body with the loops of known length inside it written out (H200: attention.cu:72, 32 × 32 passes, stays a loop). */
function weightOf(ctx: Context, body: ast.Statement): number {
  let weight = body.last - body.first + 1;
  for (const inner of innerLoops(body, 0)) weight += weightOf(ctx, inner.body) * (innerTrips(ctx, inner) - 1);
  return weight;
}

function innerLoops(value: unknown, depth: number): ast.ForStatement[] {
  if (typeof value !== 'object' || value === null || depth > 60 || value instanceof Set) return [];
  if (Array.isArray(value)) return value.flatMap((v) => innerLoops(v, depth + 1));
  const node = value as ast.Statement;
  if (node.kind === 'for') return [node];
  return Object.values(node).flatMap((v) => innerLoops(v, depth + 1));
}

/** Of `for (int i = 0; i < 32; ++i)`; 1 where it is not as plain as that. */
function innerTrips(ctx: Context, node: ast.ForStatement): number {
  const { condition, increment } = node;
  if (condition?.kind !== 'binary' || condition.operator !== '<' || increment?.kind !== 'unary') return 1;
  const bound = constantOf(ctx, condition.right);
  return bound !== undefined && bound > 0 && bound <= 4096 ? bound : 1;
}
