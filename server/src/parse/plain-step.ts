/** `i = i + 2` and `i = 2 + i` say what `i += 2` says, and the compiler knows no difference (PTX of nvcc 13.0). */
import type { AssignExpression, Expression } from './ast';

/** Operators whose operands may stand either way round. */
const commutative: ReadonlySet<string> = new Set(['+', '*']);
const others: ReadonlySet<string> = new Set(['-', '/', '<<', '>>']);

/** The same step with an operator that assigns; undefined for what is no step of one variable, or has such an operator already. */
export function compoundStep(node: Expression): AssignExpression | undefined {
  if (node.kind !== 'assign' || node.operator !== '=' || node.right.kind !== 'binary') return undefined;
  const { left, right: sum } = node;
  const name = nameOf(left);
  if (name === undefined) return undefined;
  const isCommutative = commutative.has(sum.operator);
  if (!isCommutative && !others.has(sum.operator)) return undefined;
  const by = nameOf(sum.left) === name ? sum.right : isCommutative && nameOf(sum.right) === name ? sum.left : undefined;
  return by && { ...node, operator: `${sum.operator}=`, right: by };
}

function nameOf(node: Expression): string | undefined {
  return node.kind === 'name' && node.name.parts.length === 1 ? node.name.parts[0].name : undefined;
}
