/**
 * Values that are read in another type than they were stored in: members of a record that are loaded together, a half of a word, bytes
 * of words that a block has copied as such. Of halves of floating point nothing is known.
 */

/** The tags of memory.ts: sizes of what they stand for. */
const sizes: readonly number[] = [0, 1, 2, 4, 8, 0, 0, 4, 8];
const WIDEST = 8;
const HALF = 2 ** 32;

const from = new DataView(new ArrayBuffer(WIDEST));
const into = new DataView(new ArrayBuffer(WIDEST + WIDEST));

/** Whether values of the kind are put together of bytes. */
export const isAssembled = (tag: number): boolean => sizes[tag] > 0;

/**
 * Takes bytes of a stored value for one that is being put together.
 * @param skipped bytes before them
 * @param done bytes that were taken before
 * @returns how many they are; 0 where they are not known
 */
export function takeBytes(tag: number, value: number, skipped: number, done: number): number {
  const size = sizes[tag] ?? 0;
  if (skipped >= size) return 0;
  if (tag === 7) from.setFloat32(0, value, true);
  else if (tag === 8) from.setFloat64(0, value, true);
  else {
    from.setUint32(0, value, true);
    if (size === WIDEST) from.setInt32(4, Math.floor(value / HALF), true);
  }
  for (let k = skipped; k < size; k++) into.setUint8(done + k - skipped, from.getUint8(k));
  return size - skipped;
}

/** One of the bytes that were taken. */
export const byteTaken = (k: number): number => into.getUint8(k);

/** The value that the bytes taken make; undefined where a double does not hold it. */
export function assembled(tag: number): number | undefined {
  switch (tag) {
    case 1:
      return into.getUint8(0);
    case 2:
      return into.getUint16(0, true);
    case 3:
      return into.getInt32(0, true);
    case 7:
      return into.getFloat32(0, true);
    case 8:
      return into.getFloat64(0, true);
    default: {
      const word = into.getInt32(4, true) * HALF + into.getUint32(0, true);
      return Number.isSafeInteger(word) ? word : undefined;
    }
  }
}
