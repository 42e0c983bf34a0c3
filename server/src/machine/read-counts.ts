import { readsInto } from '../program/operands';
import type { Program, Register } from '../program/program';

/** By register: how often instructions and branches read it. */
export function countReads({ blocks, registers }: Program): number[] {
  const counts: number[] = registers.map(() => 0);
  const found: Register[] = [];
  for (const { instructions, terminator } of blocks) {
    for (const i of instructions) {
      const count = readsInto(i, found);
      for (let k = 0; k < count; k++) counts[found[k]]++;
    }
    if (terminator.kind === 'branch') counts[terminator.condition]++;
  }
  return counts;
}
