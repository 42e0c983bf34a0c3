/** Syntax nodes under other token numbers, so that nodes of several texts can be told apart by them. */

/** Adds `by` to the token numbers of every node under a value, in place. */
export function renumber(value: unknown, by: number): void {
  const seen = new Set<object>();
  const stack: unknown[] = [value];
  while (stack.length > 0) {
    const node = stack.pop();
    if (typeof node !== 'object' || node === null || seen.has(node)) continue;
    seen.add(node);
    const range = node as { first?: unknown; last?: unknown };
    if (typeof range.first === 'number') range.first += by;
    if (typeof range.last === 'number') range.last += by;
    stack.push(...Object.values(node));
  }
}
