import type { Node } from './ast';
import { Name } from './names';
import type { Parser } from './parser';

/** Whether a name of a parameter pack stands among an expression's tokens. */
export function containsPack(p: Parser, node: Node): boolean {
  for (let i = node.first; i <= node.last; i++) {
    if (p.isName(i) && (p.lookup(p.text[i])?.bits ?? 0) & Name.pack) return true;
  }
  return false;
}
