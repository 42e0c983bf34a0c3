/**
 * Functions of a kernel that call themselves are followed some levels. One with two calls of itself in its body doubles with each level, and what stands behind it in the
 * kernel would find no instructions left: such a kernel is lowered again with a level or two. Templates that another instance ends are no recursion.
 */
import type { Context } from './context';
import { callsWithin } from './host/recursion';
import type { ChosenFunction } from './overloads';

/** Calls within calls of itself that are followed where the kernel is too large with all of them. */
export const FEW_OWN_CALLS = 1;

/** Whether the budget follows no more calls of this instance; the context learns that there is one within another. */
export function isBeyondOwnCalls(ctx: Context, chosen: ChosenFunction): boolean {
  const within = callsWithin(ctx, chosen);
  if (within > FEW_OWN_CALLS) ctx.callsItself = true;
  return within > (ctx.budget.ownCalls ?? Number.POSITIVE_INFINITY);
}
