/** Syntax nodes under other token numbers, so that nodes of several texts can be told apart by them. */

/**
 * Adds `by` to the token numbers of every node under a value, in place.
 * @param by more than any of them: a node that has a larger number was met before
 */
export function renumber(value: object, by: number): void {
  const seen = new Set<object>();
  const stack: object[] = [value];
  // the nodes of a header are a hundred thousand: no list of their values is made, and lists are walked without their keys
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (Array.isArray(node)) {
      for (const inner of node) if (typeof inner === 'object' && inner !== null) stack.push(inner);
      continue;
    }
    const range = node as { first?: unknown; last?: unknown };
    if (typeof range.first === 'number' && range.first >= 0) {
      if (range.first >= by) continue;
    } else {
      if (seen.has(node)) continue;
      seen.add(node);
    }
    if (typeof range.first === 'number') range.first += by;
    if (typeof range.last === 'number') range.last += by;
    const inside = node as Record<string, unknown>;
    for (const key in inside) {
      const inner = inside[key];
      if (typeof inner === 'object' && inner !== null) stack.push(inner);
    }
  }
}
