/**
 * A variable in shared memory that every pass of a loop reads, where the loop is written out: LICM has taken the load out of the loop before that, without its line, so that
 * the line table goes on with what stands before it. Right behind a barrier that is the barrier (`__syncthreads(); for (j …) v[j] += offset;`; machine code of six kernels,
 * nvcc 13.0, sm_90, with and without stores to global memory in the loop). Behind a condition it is what follows, or its own line: not told.
 */
import type { AccessSite, Instruction, LoadInstruction, Program, SourcePlace } from '../program/program';
import { hasLine } from './invariant-lines';

export function placeInvariantsOfCopies(program: Program): Program {
  const accesses = [...program.accesses];
  const fixed = new Set(program.objects.filter((o) => o.space === 'shared').map((o) => o.register));
  const blocks = program.blocks.map((block) => {
    const copied = repeatedLoads(program, block.instructions).filter((i) => fixed.has(i.address));
    if (copied.length === 0) return block;
    const instructions = block.instructions.map((i, at): Instruction => {
      const barrier = copied.includes(i as LoadInstruction) ? barrierBefore(block.instructions, at, copied) : undefined;
      return barrier && i.op === 'load' ? { ...i, access: moved(accesses, i.access, barrier) } : i;
    });
    return { ...block, instructions };
  });
  return accesses.length === program.accesses.length ? program : { ...program, blocks, accesses };
}

const moved = (accesses: AccessSite[], access: number, charged: SourcePlace): number =>
  accesses.push({ ...accesses[access], charged }) - 1;

/** The first of several copies of a load from shared memory between which nothing changes it. */
function repeatedLoads({ accesses }: Program, instructions: readonly Instruction[]): LoadInstruction[] {
  const open = new Map<string, LoadInstruction>();
  const repeated = new Set<LoadInstruction>();
  for (const i of instructions) {
    if (i.op === 'barrier' || i.op === 'atomic') open.clear();
    else if (i.op === 'store' && accesses[i.access].space !== 'global') open.clear();
    if (i.op !== 'load') continue;
    const { isVolatile, charged } = accesses[i.access];
    const key = `${i.access}:${i.address}:${i.offset}`;
    const first = open.get(key);
    if (first) repeated.add(first);
    else if (!isVolatile && !charged) open.set(key, i);
  }
  return [...repeated];
}

/** The barrier that the loads of a loop stand right behind. */
function barrierBefore(
  instructions: readonly Instruction[],
  at: number,
  copied: readonly LoadInstruction[],
): SourcePlace | undefined {
  const before = instructions.slice(0, at).findLast((i) => hasLine(i) && !copied.includes(i as LoadInstruction));
  return before?.op === 'barrier' ? before.place : undefined;
}
