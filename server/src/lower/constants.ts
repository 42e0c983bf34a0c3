import { anywhere, assignedBy } from '../parse/anywhere';
import type { Expression } from '../parse/ast';
import type { Context } from './context';
import { numberOf } from './conversions';
import { expression } from './expressions';
import { rvalue } from './places';

const changing = new WeakMap<Expression, boolean>();

/** Whether something in it changes a variable: to ask for its value would change it once more. */
function changesSomething(node: Expression): boolean {
  let changes = changing.get(node);
  if (changes === undefined)
    changing.set(
      node,
      (changes = anywhere(node, (n) => (n.kind === 'lambda' ? 'closed' : assignedBy(n) !== undefined))),
    );
  return changes;
}

/**
 * The value of a constant expression, undefined when it is not constant. It is lowered like any expression: what is constant
 * folds; what is not leaves instructions that nobody uses and that are dropped later.
 */
export function constantOf(ctx: Context, node: Expression): number | undefined {
  if (changesSomething(node)) return undefined;
  const value = numberOf(ctx, rvalue(ctx, expression(ctx, node), node), node);
  return value.kind === 'scalar' ? ctx.builder.constantValue(value.register) : undefined;
}
