/** Variables that every other pass of a loop leaves as they were: `buffer ^= 1`, `buffer = 1 - buffer`. */
import type * as ast from '../parse/ast';
import type { Register } from '../program/program';
import { constantOf } from './constants';
import type { Context } from './context';
import { mayAssign } from './flow';
import { constantVariable, nameOf } from './trip-count';

/**
 * With the constants that they have before the loop, and so in front of every pass that holds an even number of bodies.
 * @param around the condition and the increment, which may change them too
 */
export function turningVariables(
  ctx: Context,
  body: ast.Statement,
  around: readonly (object | undefined)[],
): Map<Register, Register> {
  const turning = new Map<Register, Register>();
  if (body.kind !== 'compound') return turning;
  for (const statement of body.body) {
    const name = turnedBy(ctx, statement);
    if (name === undefined) continue;
    const others = [...body.body.filter((other) => other !== statement), ...around];
    if (others.some((other) => other && mayAssign(other).names.has(name))) continue;
    const variable = constantVariable(ctx, name);
    // of other numbers `!` leaves 0 and 1
    if (variable && (variable.value === 0 || variable.value === 1 || !isNegated(statement)))
      turning.set(variable.register, ctx.builder.constant(ctx.builder.typeOf(variable.register), variable.value));
  }
  return turning;
}

const isNegated = (statement: ast.Statement): boolean =>
  statement.kind === 'expression' &&
  statement.expression.kind === 'assign' &&
  statement.expression.right.kind === 'unary' &&
  statement.expression.right.operator === '!';

function turnedBy(ctx: Context, statement: ast.Statement): string | undefined {
  if (statement.kind !== 'expression' || statement.expression.kind !== 'assign') return undefined;
  const { operator, left, right } = statement.expression;
  const name = nameOf(left);
  const isConstant = (node: ast.Expression) => constantOf(ctx, node) !== undefined;
  if (name === undefined) return undefined;
  if (operator === '^=') return isConstant(right) ? name : undefined;
  if (operator !== '=') return undefined;
  if (right.kind === 'unary') return right.operator === '!' && nameOf(right.operand) === name ? name : undefined;
  if (right.kind !== 'binary') return undefined;
  const isDifference = right.operator === '-' && nameOf(right.right) === name && isConstant(right.left);
  const isExclusive = right.operator === '^' && nameOf(right.left) === name && isConstant(right.right);
  return isDifference || isExclusive ? name : undefined;
}
