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
/** The same in kernels that are too large when written out. */
const KEPT_LOOP_TOKENS = 200;

export function unrollDecision(ctx: Context, node: ast.ForStatement, trips: number | undefined): UnrollDecision {
  if (ctx.unit.isHost) return { kind: 'none' };
  const pragma = node.unroll;
  const factor = pragma === undefined || pragma === 'full' ? undefined : constantOf(ctx, pragma);
  if (factor === 1 || factor === 0) return { kind: 'none' };
  if (trips === undefined) return { kind: 'none' };
  if (trips === 0) return { kind: 'full', trips };
  const tokens = weightOf(ctx, node.body) * trips;
  if (ctx.budget.keepsLoops) return tokens <= KEPT_LOOP_TOKENS ? { kind: 'full', trips } : { kind: 'none' };
  const forced = pragma === 'full' || (factor !== undefined && factor >= trips);
  if (trips <= ctx.budget.unrolledIterations && (forced || (factor === undefined && tokens <= FULL_UNROLL_TOKENS)))
    return { kind: 'full', trips };
  const partial = factor ?? 4;
  return partial > 1 && partial <= 64 && trips % partial === 0
    ? { kind: 'partial', factor: partial }
    : { kind: 'none' };
}

/**
 * A loop with a second condition, which may end it earlier: written out where a pragma asks for it, and where it has one iteration
 * (PTX of twelve small kernels, nvcc 13.0: `i < n && k < 4` stays a loop without).
 */
export function guardedDecision(ctx: Context, node: ast.ForStatement, most: number): UnrollDecision {
  const factor = node.unroll === undefined || node.unroll === 'full' ? undefined : constantOf(ctx, node.unroll);
  const isAsked = node.unroll === 'full' || (factor !== undefined && factor >= most);
  const fits = most <= ctx.budget.unrolledIterations && !ctx.budget.keepsLoops;
  return most <= 1 || (isAsked && fits) ? { kind: 'full', trips: most } : { kind: 'none' };
}

/** Tokens of a body with the loops of known length inside it written out (H200: attention.cu:72, 32 × 32 passes, stays a loop). */
function weightOf(ctx: Context, body: ast.Statement): number {
  let weight = body.last - body.first + 1;
  for (const inner of innerLoopsOf(body)) weight += weightOf(ctx, inner.body) * (innerTrips(ctx, inner) - 1);
  return weight;
}

/** The same syntax is asked for at every pass of the loops around it. */
const innerLoopCache = new WeakMap<ast.Statement, readonly ast.ForStatement[]>();

function innerLoopsOf(body: ast.Statement): readonly ast.ForStatement[] {
  let loops = innerLoopCache.get(body);
  if (!loops) {
    const found: ast.ForStatement[] = [];
    collectLoops(body, found, 0);
    innerLoopCache.set(body, (loops = found));
  }
  return loops;
}

function collectLoops(value: unknown, found: ast.ForStatement[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth > 60 || value instanceof Set) return;
  if (Array.isArray(value)) for (const v of value) collectLoops(v, found, depth + 1);
  else if ((value as ast.Statement).kind === 'for') found.push(value as ast.ForStatement);
  else for (const v of Object.values(value)) collectLoops(v, found, depth + 1);
}

/** Of `for (int i = 0; i < 32; ++i)`; 1 where it is not as plain as that. */
function innerTrips(ctx: Context, node: ast.ForStatement): number {
  const { condition, increment } = node;
  if (condition?.kind !== 'binary' || condition.operator !== '<' || increment?.kind !== 'unary') return 1;
  const bound = constantOf(ctx, condition.right);
  return bound !== undefined && bound > 0 && bound <= 4096 ? bound : 1;
}
