/**
 * Stores that a later one of the same block and the same bytes covers before anybody can have read them are not made. Evidence: PTX and machine code of
 * 48 small kernels, nvcc 13.0, sm_90 (`a[i] = s; …; a[i] = s + 1`, twelve kinds of instructions between them, four kinds of pointers): ptxas drops the
 * first across shuffles, votes and volatile assembly, not across barriers and `__threadfence()`; NVVM across these too where the pointer is
 * `__restrict__`, but not across a call (`printf`; 4 kernels). A load of the same space that may be of another place keeps it. So does the loop that
 * reduces large arguments of sine, cosine and tangent; of 13 other functions of the library none does, whatever branches it has (15 kernels).
 * What a loop leaves (`s[t] += p[i]` in registers) is stored in a block of its own, where not all may enter the loop: `s[t] /= n` behind it covers nothing (8 kernels).
 */
import type { Instruction, Program, UnaryOp } from '../program/program';
import { AvailableLoads, rangeOf } from './available-loads';
import { withChangedBlocks } from './changed-blocks';
import { isReadOnly } from './memory-overlap';

/** Functions of full precision with a loop for large arguments. */
const hasReduction: ReadonlySet<UnaryOp> = new Set(['sin', 'cos', 'tan']);

export const dropDeadStores = (program: Program): Program =>
  withChangedBlocks(program, (instructions) => (hasTwo(instructions) ? dropIn(program, instructions) : instructions));

function hasTwo(instructions: readonly Instruction[]): boolean {
  let stores = 0;
  for (const { op } of instructions) if (op === 'store' && ++stores > 1) return true;
  return false;
}

/** From the end to the front: what is written behind, until somebody may read it. */
function dropIn(program: Program, instructions: readonly Instruction[]): readonly Instruction[] {
  const written = new AvailableLoads(program);
  const dead = new Set<Instruction>();
  for (let at = instructions.length - 1; at >= 0; at--) {
    const i = instructions[at];
    if (i.op !== 'store') {
      forgetSeen(program, written, i);
      continue;
    }
    const site = program.accesses[i.access];
    if (site.isVolatile || program.registers[i.address].role === 'variable') continue;
    if (!i.isOfLoop && written.find(i.address, i.offset, i.type, i.values.length)) dead.add(i);
    else written.add(site, false, rangeOf(i.address, i.offset, i.type, i.values.length), i.type, i.values);
  }
  return dead.size === 0 ? instructions : instructions.filter((i) => !dead.has(i));
}

/** Forgets what somebody may read at an instruction. */
function forgetSeen(program: Program, written: AvailableLoads, i: Instruction): void {
  switch (i.op) {
    case 'barrier':
      written.fence();
      return;
    case 'work':
      // of a call NVVM does not know that it comes back: what was written before may be all that the kernel does
      if (i.fence === 'call') written.forgetWritten();
      else if (i.fence === 'memory') written.fence();
      return;
    case 'load': {
      const site = program.accesses[i.access];
      if (!isReadOnly(site, program)) written.store(site, rangeOf(i.address, i.offset, i.type, i.dst.length));
      return;
    }
    case 'atomic':
      written.store(program.accesses[i.access]);
      return;
    case 'unary':
      if (hasReduction.has(i.fn) && i.branches === 'long') written.forgetWritten();
      return;
    case 'asyncCopy':
    case 'matrix':
      written.forgetWritten();
  }
}
