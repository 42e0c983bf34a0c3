import type { ControlFlow } from './control-flow';

/**
 * What holds at the start of a block because something behind it asks for it: backward data flow over sets of bits, in place.
 * Only blocks behind which something has changed are looked at again, which in most rounds are few.
 * @param starts by block: the set at its start as far as the block itself asks for it; what it becomes
 * @param ended by block: what asks for nothing in front of the block any more
 * @param rounds through all blocks, after which it ends unfinished
 */
export function flowBackwards(
  { order, successors, predecessors }: ControlFlow,
  starts: readonly Int32Array[],
  ended: readonly Int32Array[],
  rounds = Number.POSITIVE_INFINITY,
): void {
  const isOpen = new Uint8Array(starts.length).fill(1);
  for (let changed = true, round = 0; changed && round < rounds; round++) {
    changed = false;
    for (let at = order.length - 1; at >= 0; at--) {
      const block = order[at];
      if (isOpen[block] === 0) continue;
      isOpen[block] = 0;
      if (!grow(starts[block], ended[block], successors[block], starts)) continue;
      changed = true;
      for (const before of predecessors[block]) isOpen[before] = 1;
    }
  }
}

/** Whether the set has grown by what its successors have. */
function grow(
  set: Int32Array,
  ended: Int32Array,
  successors: readonly number[],
  starts: readonly Int32Array[],
): boolean {
  let changed = false;
  for (const next of successors) {
    const other = starts[next];
    for (let word = 0; word < set.length; word++) {
      const now = set[word] | (other[word] & ~ended[word]);
      if (now === set[word]) continue;
      set[word] = now;
      changed = true;
    }
  }
  return changed;
}

/** The bits of a set, ascending. */
export function forEachBit(set: Int32Array, each: (bit: number) => void): void {
  for (let word = 0; word < set.length; word++)
    for (let bits = set[word]; bits !== 0; bits &= bits - 1) each(word * 32 + (31 - Math.clz32(bits & -bits)));
}
