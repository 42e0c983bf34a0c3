/** Which rounds of a host loop stand for all of them. */

/**
 * All rounds where they are few; else the first, one in the middle and the last, then one of each other shape, then more at even distances, as
 * far as there is room: a network of comparisons or the stages of a transform read at another distance in every round.
 * @param count rounds that launch something different
 * @param most rounds that are reported, at least three
 * @param shapeOf grid and block of a round, as a text
 * @returns their numbers, ascending
 */
export function reportedRounds(count: number, most: number, shapeOf: (round: number) => string): number[] {
  if (count <= most) return Array.from({ length: count }, (_, round) => round);
  const last = count - 1;
  const picked = new Set([0, Math.floor(last / 2), last]);
  const shapes = new Set([...picked].map(shapeOf));
  for (let round = 0; round < count && picked.size < most; round++) {
    if (shapes.has(shapeOf(round))) continue;
    shapes.add(shapeOf(round));
    picked.add(round);
  }
  for (let part = 1; part < most && picked.size < most; part++) picked.add(Math.round((last * part) / (most - 1)));
  return [...picked].sort((a, b) => a - b);
}
