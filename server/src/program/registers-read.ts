/** Which registers of a program anything reads. */
import { readsInto } from './operands';
import type { Program, Register } from './program';

const known = new WeakMap<Program['blocks'], Uint8Array>();

/** By register: 1 where an instruction or a branch reads it. */
export function registersRead(program: Program): Uint8Array {
  let used = known.get(program.blocks);
  if (!used) known.set(program.blocks, (used = computeRead(program)));
  return used;
}

function computeRead({ registers, blocks }: Program): Uint8Array {
  const used = new Uint8Array(registers.length);
  const reads: Register[] = [];
  for (const { instructions, terminator } of blocks) {
    for (const i of instructions) {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) used[reads[k]] = 1;
    }
    if (terminator.kind === 'branch') used[terminator.condition] = 1;
  }
  return used;
}
