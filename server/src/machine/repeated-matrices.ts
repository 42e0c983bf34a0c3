/**
 * Matrices that `ldmatrix` loads again from the same rows: `volatile` keeps all of them in NVVM, and ptxas, which looks at one block of straight code at a time,
 * loads them once. A loop over tiles that is written out and loads the fragment of B for every one of A does so. Evidence (machine code of 17 kernels,
 * nvcc 13.0, sm_90; H200): as many matrices, transposed both times or not at all; a store to shared memory between them, to another array too, an
 * asynchronous copy, a barrier and `__syncwarp()` end it; stores to global memory, shuffles, loads and a clobber of "memory" do not.
 */
import type { Instruction, MatrixLoadInstruction, Program, Register } from '../program/program';
import { withChangedBlocks } from './changed-blocks';

export function dropRepeatedMatrices(program: Program): Program {
  return withChangedBlocks(program, (instructions) =>
    instructions.filter(isLoad).length < 2 ? instructions : withoutRepeated(program, instructions),
  );
}

const isLoad = (i: Instruction): i is MatrixLoadInstruction =>
  i.op === 'matrix' && i.direction === 'load' && i.dst.length > 0;

function withoutRepeated(program: Program, instructions: readonly Instruction[]): readonly Instruction[] {
  const known = new Map<string, readonly Register[]>();
  const kept: Instruction[] = [];
  let drops = false;
  for (const i of instructions) {
    if (changesRows(program, i)) known.clear();
    if (!isLoad(i) || program.registers[i.address].role === 'variable') {
      kept.push(i);
      continue;
    }
    const rows = `${i.address} ${i.matrices} ${i.isTransposed === true}`;
    const loaded = known.get(rows);
    if (loaded) {
      drops = true;
      for (const [k, dst] of i.dst.entries()) kept.push({ op: 'unary', fn: 'mov', type: 'u32', dst, a: loaded[k] });
    } else {
      known.set(rows, i.dst);
      kept.push(i);
    }
  }
  return drops ? kept : instructions;
}

/** Whether something may have been written to shared memory, by this lane or by others. */
function changesRows({ accesses }: Program, i: Instruction): boolean {
  switch (i.op) {
    case 'barrier':
    case 'asyncCopy':
      return true;
    case 'matrix':
      return i.direction === 'store';
    case 'store':
    case 'atomic':
      return accesses[i.access].space === 'shared' || accesses[i.access].space === 'generic';
    case 'work':
      return i.fence === 'call';
    default:
      return false;
  }
}
