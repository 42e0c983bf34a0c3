/**
 * `(c ? a : b) = v;`, `++(c ? a : b);`: of variables in registers, which have no address, each is assigned on its side of a branch. NVVM does the same
 * before it puts them into registers (PTX of four kernels, nvcc 13.0: two selections, no local memory).
 */
import type * as ast from '../parse/ast';
import { choice } from './conditional';
import type { Context } from './context';
import { toPredicate } from './conversions';
import { expression } from './expressions';
import { peeked, rvalue } from './places';
import type { Value } from './values';

/**
 * What is assigned to one of two variables; undefined where the target is no such choice.
 * @param before what is evaluated before both, made once
 */
export function onChosenSide<T>(
  ctx: Context,
  target: ast.Expression,
  before: () => T,
  assign: (side: ast.Expression, given: T) => Value,
): Value | undefined {
  if (ctx.unit.isHost || target.kind !== 'conditional' || !isOfVariables(ctx, target)) return undefined;
  const given = before();
  const onSide = (side: ast.Expression): Value =>
    onChosenSide(ctx, side, () => given, assign) ?? rvalue(ctx, assign(side, given), side);
  const condition = toPredicate(
    ctx,
    peeked(ctx, expression(ctx, target.condition), target.condition),
    target.condition,
  );
  const constant = ctx.builder.constantValue(condition);
  if (constant !== undefined) return onSide(constant ? target.then : target.else);
  return choice(
    ctx,
    target,
    condition,
    () => onSide(target.then),
    () => onSide(target.else),
  );
}

/** Names of variables, or members of them, at least one of which has no address. */
function isOfVariables(ctx: Context, node: ast.ConditionalExpression): boolean {
  const sides = [node.then, node.else];
  return sides.every(isPlain) && sides.some((side) => isInRegisters(ctx, side));
}

function isInRegisters(ctx: Context, side: ast.Expression): boolean {
  if (side.kind === 'conditional') return isOfVariables(ctx, side);
  const value = expression(ctx, side);
  return value.kind === 'place' && value.place.kind === 'storage';
}

/** Looking at it once more does nothing. */
const isPlain = (side: ast.Expression): boolean =>
  side.kind === 'name' ||
  (side.kind === 'member' && !side.arrow && isPlain(side.object)) ||
  (side.kind === 'conditional' && isPlain(side.then) && isPlain(side.else));
