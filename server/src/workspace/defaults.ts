/** What settings and command-line options have in common. */

export type Size = readonly [x: number, y: number, z: number];

/** The capability that is analysed for where nobody says. */
export const defaultCapability = '9.0';

/** A size of one to three positive numbers; the missing ones are 1. */
export function sizeOf(values: readonly number[]): Size | undefined {
  if (values.length < 1 || values.length > 3 || !values.every((n) => Number.isSafeInteger(n) && n > 0))
    return undefined;
  return [values[0], values[1] ?? 1, values[2] ?? 1];
}
