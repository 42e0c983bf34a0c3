/** Variables that every other pass of a loop leaves as they were: `buffer ^= 1`, `buffer = 1 - buffer`. */
import type * as ast from '../parse/ast';
import type { Register } from '../program/program';
import { constantOf } from './constants';
import type { Context } from './context';
import { assignedNames, constantVariable, nameOf } from './trip-count';

/** With the constants that they have before the loop, and so in front of every pass that holds an even number of bodies. */
export function turningVariables(ctx: Context, body: ast.Statement): Map<Register, Register> {
  const turning = new Map<Register, Register>();
  if (body.kind !== 'compound') return turning;
  for (const statement of body.body) {
    const name = turnedBy(ctx, statement);
    if (name === undefined) continue;
    const others = body.body.filter((other) => other !== statement);
    if (others.some((other) => assignedNames(other).has(name))) continue;
    const variable = constantVariable(ctx, name);
    if (variable)
      turning.set(variable.register, ctx.builder.constant(ctx.builder.typeOf(variable.register), variable.value));
  }
  return turning;
}

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
