/**
 * What NVVM leaves in a loop and ptxas takes out of it: loads that every pass begins with, before it parts for the first time. NVVM is not
 * sure that what stands behind the inline assembly of halves is executed, and takes shuffles and votes for writes; to ptxas neither is anything. Data that
 * only is read (`const __restrict__`) leaves whatever the loop stores, other data where it stores nothing to global memory, has no atomics and no barrier.
 * Evidence: machine code of 24 small kernels (nvcc 13.0, sm_90): with shuffles, stores to shared memory, inner loops and branches behind them loads
 * left the loop; behind a break or a branch, and with a barrier, an atomic or a store where the data may be written, they stayed. H100:
 * window_attention.cu:76 reads the 64 halves of a row once. They keep their line. Shared memory is read in front of loops that have shuffles or votes, store nothing to shared
 * memory and have no loop inside (machine code of 12 kernels: also with stores and atomics to global memory and before a break; not with `__syncwarp()` or an atomic on shared memory,
 * nor with halves that are converted: H200, lora_sgmv.cu:138).
 */
import type { ControlFlow, Loop } from '../program/control-flow';
import type { AccessSite, Instruction, LoadInstruction, Program, ScalarType } from '../program/program';
import { isFenceToAssembler, isReadOnly } from './memory-overlap';

/** Whether ptxas takes a load in a block of the loop out of it, if its address is fixed. */
export function hoistedAsAssembled(
  program: Program,
  flow: ControlFlow,
  loop: Loop,
): (load: LoadInstruction, block: number) => boolean {
  let writes = false;
  let keepsShared = false;
  let calls = false;
  for (const block of loop.blocks)
    for (const i of program.blocks[block].instructions) {
      writes ||= isFenceToAssembler(i) || writesGlobal(program, i);
      keepsShared ||= isFenceToAssembler(i) || isInlineAssembly(i) || mayWriteShared(program, i);
      calls ||= i.op === 'work' && i.fence === 'call';
    }
  const first = firstBlocks(program, flow, loop);
  const isInnermost = !flow.loops.some(({ parent }) => parent === loop.index);
  return ({ access }, block) => {
    if (calls || !first.has(block)) return false;
    const site = program.accesses[access];
    if (site.isVolatile || site.isAssembly) return false;
    switch (spaceOf(program, site)) {
      case 'global':
        return isReadOnly(site, program) || !writes;
      case 'shared':
        return isInnermost && !keepsShared;
      default:
        return false;
    }
  };
}

/** Blocks that every pass runs through before it parts: the loop's condition, as it stands behind the passes then, does not count. */
function firstBlocks(program: Program, flow: ControlFlow, loop: Loop): ReadonlySet<number> {
  const first = new Set<number>();
  for (let block: number | undefined = loop.header; block !== undefined && !first.has(block); ) {
    first.add(block);
    block = nextOf(program, flow, loop, block);
  }
  return first;
}

function nextOf({ blocks, branches }: Program, flow: ControlFlow, loop: Loop, block: number): number | undefined {
  const { terminator } = blocks[block];
  const isCondition =
    block === loop.header && terminator.kind === 'branch' && branches[terminator.branch].kind === 'loop';
  if (terminator.kind !== 'jump' && !isCondition) return undefined;
  const inside = flow.successors[block].filter((b) => loop.contains[b] === 1);
  return inside.length === 1 && flow.predecessors[inside[0]].length === 1 ? inside[0] : undefined;
}

const spaceOf = ({ objects }: Program, { object, space }: AccessSite): AccessSite['space'] =>
  object === undefined ? space : objects[object].space;

function writesGlobal(program: Program, i: Instruction): boolean {
  if (i.op === 'asyncCopy') return true;
  if (i.op !== 'store' && i.op !== 'atomic') return false;
  const space = spaceOf(program, program.accesses[i.access]);
  return space !== 'shared' && space !== 'local';
}

function mayWriteShared(program: Program, i: Instruction): boolean {
  if (i.op === 'asyncCopy') return true;
  if (i.op === 'matrix') return i.direction === 'store';
  if (i.op !== 'store' && i.op !== 'atomic') return false;
  const space = spaceOf(program, program.accesses[i.access]);
  return space !== 'global' && space !== 'local';
}

export function isInlineAssembly(i: Instruction): boolean {
  switch (i.op) {
    case 'convert':
      return isHalf(i.from) || isHalf(i.type);
    case 'binary':
    case 'fma':
    case 'compare':
      return isHalf(i.type);
    default:
      return false;
  }
}

const isHalf = (type: ScalarType): boolean => type === 'f16' || type === 'bf16';
