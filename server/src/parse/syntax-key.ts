/** Syntax as a key: equal where two nodes say the same, wherever they stand. */
export function syntaxKey(node: unknown): string {
  return JSON.stringify(node, (name, value: unknown) => {
    if (name === 'first' || name === 'last') return undefined;
    // the value of a literal
    return typeof value === 'bigint' ? `${value}n` : value;
  });
}
