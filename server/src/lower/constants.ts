import type { Expression } from '../parse/ast';
import type { Context } from './context';
import { numberOf } from './conversions';
import { expression } from './expressions';
import { rvalue } from './places';

/**
 * The value of a constant expression, undefined when it is not constant. It is lowered like any expression: what is constant
 * folds; what is not leaves instructions that nobody uses and that are dropped later.
 */
export function constantOf(ctx: Context, node: Expression): number | undefined {
  const value = numberOf(ctx, rvalue(ctx, expression(ctx, node), node), node);
  return value.kind === 'scalar' ? ctx.builder.constantValue(value.register) : undefined;
}
