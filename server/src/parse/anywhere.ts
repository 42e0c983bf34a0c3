/** Questions about everything that stands in a piece of syntax. */
import type { Expression, Statement } from './ast';

/**
 * Whether a test holds for some node under a root, the root included. Does not recurse natively.
 * @param test 'closed': no, and what is in the node is not looked at
 */
export function anywhere(
  root: object | undefined,
  test: (node: Expression | Statement) => boolean | 'closed',
): boolean {
  const stack: unknown[] = [root];
  while (stack.length > 0) {
    const node = stack.pop();
    if (typeof node !== 'object' || node === null || node instanceof Set || node instanceof Map) continue;
    if ('kind' in node) {
      const answer = test(node as Expression | Statement);
      if (answer === true) return true;
      if (answer === 'closed') continue;
    }
    for (const child of Object.values(node)) stack.push(child);
  }
  return false;
}

/** What a node itself assigns: the left of `a = b`, the operand of `a++`. */
export function assignedBy(node: Expression | Statement): Expression | undefined {
  if (node.kind === 'assign') return node.left;
  return node.kind === 'unary' && /\+\+|--/.test(node.operator) ? node.operand : undefined;
}
