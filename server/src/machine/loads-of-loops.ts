/**
 * What is read in front of a loop and needed in its passes alone is read by the lanes that have a pass, as what the passes themselves would read
 * (guard-preheaders.ts): of `float s = q[row]; for (i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] * s;` NVVM, and of what several blocks of the loop
 * need ptxas, makes the load behind the question whether there is a pass. Evidence: machine code of 44 small kernels, nvcc 13.0, sm_90 (H200: offsets of a row
 * and its end that a block wider than the row loads, 24 of 32 warps):
 *
 * - loads of global and shared memory, with what is computed of them (differences and products of two as well, a sum of a product not);
 * - not where the loop's condition needs it, its variable begins with it, or something behind the loop reads it, another loop among that;
 * - not across a barrier or a store that may go there.
 */
import type { Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { isPure } from './pure';
import { mayPass } from './sink-into-arms';

/** Loads at the end of a block in front of a loop that only its passes need. */
export function loadsOfLoop(program: Program, before: number, loop: Loop): ReadonlySet<Instruction> {
  const { instructions } = program.blocks[before];
  const moved = new Set<Instruction>();
  if (!instructions.some((i) => i.op === 'load')) return moved;
  const elsewhere = readElsewhere(program, before, loop);
  const behind: Instruction[] = [];
  for (let at = instructions.length - 1; at >= 0; at--) {
    const i = instructions[at];
    const isOpen = isMovable(program, i) && writesOf(i).every((r) => !elsewhere.has(r));
    if (isOpen && mayPass(program, i, behind)) {
      moved.add(i);
      continue;
    }
    behind.push(i);
    for (const r of readsOf(i)) elsewhere.add(r);
  }
  // what is computed of nothing that has moved stays where it is: it costs no access
  return new Set([...moved].filter((i) => i.op === 'load'));
}

function isMovable({ accesses, registers }: Program, i: Instruction): boolean {
  if (!writesOf(i).every((r) => registers[r].role === 'temporary')) return false;
  if (i.op === 'load') return !accesses[i.access].isVolatile && !accesses[i.access].isAssembly;
  return isPure(i) && i.op !== 'fma' && !(i.op === 'binary' && i.fn === 'add' && i.type.startsWith('f'));
}

/** What the loop's own condition and all code but its passes and the block in front reads. */
function readElsewhere({ blocks }: Program, before: number, loop: Loop): Set<Register> {
  const read = new Set<Register>();
  blocks.forEach(({ instructions, terminator }, block) => {
    if (block === before || (loop.contains[block] === 1 && block !== loop.header)) return;
    for (const i of instructions) for (const r of readsOf(i)) read.add(r);
    if (terminator.kind === 'branch') read.add(terminator.condition);
  });
  return read;
}
