/** A plain walk over the syntax tree. */
import type { LaunchExpression, NameExpression, VariableDeclaration } from '../parse/ast';

/** The kinds of node a visitor is called for. */
export interface Visitor {
  readonly launch?: (launch: LaunchExpression) => void;
  readonly variable?: (variable: VariableDeclaration) => void;
  readonly name?: (name: NameExpression) => void;
}

/** Visits the launches and variable declarations under a node, in the order of the text. Does not recurse natively. */
export function walk(root: object, visitor: Visitor): void {
  const stack: unknown[] = [root];
  while (stack.length > 0) {
    const node = stack.pop();
    if (typeof node !== 'object' || node === null || node instanceof Set) continue;
    const kind = 'kind' in node ? node.kind : undefined;
    if (kind === 'launch') visitor.launch?.(node as LaunchExpression);
    if (kind === 'name' && 'name' in node) visitor.name?.(node as NameExpression);
    if (kind === 'variable') visitor.variable?.(node as VariableDeclaration);
    const children = Object.values(node);
    for (let at = children.length - 1; at >= 0; at--) stack.push(children[at]);
  }
}
