/** Which registers hold the same value in all lanes of a warp, provably: what the compiler may treat as a scalar. */
import { type ControlFlow, controlFlow, EXIT, reachableWithout } from './control-flow';
import { readsInto, writesInto } from './operands';
import type { Instruction, Program, Register } from './program';

const known = new WeakMap<Program, Uint8Array>();

/** By register: 1 when lanes of a warp may differ. */
export function divergentRegisters(program: Program): Uint8Array {
  let divergent = known.get(program);
  if (divergent === undefined) known.set(program, (divergent = findDivergent(program)));
  return divergent;
}

function findDivergent(program: Program): Uint8Array {
  const flow = controlFlow(program);
  const divergent = new Uint8Array(program.registers.length);
  for (const { register, source } of program.inputs)
    if (source.kind === 'threadIdx' || source.kind === 'laneId') divergent[register] = 1;
  const inBranch = new Uint8Array(program.blocks.length);
  const isMarked = new Uint8Array(program.blocks.length);
  const writes: Register[] = [];
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of flow.order) {
      for (const i of program.blocks[block].instructions) {
        const count = writesInto(i, writes);
        let isNew = false;
        for (let k = 0; k < count; k++) isNew ||= divergent[writes[k]] === 0;
        if (!isNew) continue;
        const differs = isDivergent(i, divergent);
        if (!differs && inBranch[block] === 0) continue;
        for (let k = 0; k < count; k++) {
          if (divergent[writes[k]] === 1 || !(differs || program.registers[writes[k]].role === 'variable')) continue;
          divergent[writes[k]] = 1;
          changed = true;
        }
      }
      const end = program.blocks[block].terminator;
      if (end.kind !== 'branch' || divergent[end.condition] === 0 || isMarked[block] === 1) continue;
      isMarked[block] = 1;
      for (const next of between(program, flow, block)) {
        if (inBranch[next] === 0) changed = true;
        inBranch[next] = 1;
      }
    }
  }
  return divergent;
}

/** What lies on both sides of a branch up to where they meet again; nothing where that is the end of the kernel, and no value of a side reaches the other. */
function between({ blocks }: Program, flow: ControlFlow, block: number): readonly number[] {
  const meets = flow.postDominator[block];
  const isEnd = meets === EXIT || (blocks[meets].instructions.length === 0 && blocks[meets].terminator.kind === 'exit');
  const sides = flow.successors[block].map((successor) => reachableWithout(flow.successors, successor, meets));
  if (!isEnd) return sides.flat();
  const [first, ...rest] = sides;
  const inFirst = new Set(first);
  return rest.some((side) => side.some((next) => inFirst.has(next))) ? sides.flat() : [];
}

/** What an instruction reads, for as long as it is looked at. */
const reads: Register[] = [];

function isDivergent(i: Instruction, divergent: Uint8Array): boolean {
  switch (i.op) {
    case 'atomic':
    case 'matrix':
      return true;
    case 'lane':
      return !(
        i.fn === 'ballot' ||
        i.fn === 'any' ||
        i.fn === 'all' ||
        i.fn === 'activeMask' ||
        i.fn.startsWith('reduce') ||
        i.fn.startsWith('block') ||
        i.fn.startsWith('block')
      );
    case 'unknown':
      return true;
    default: {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) if (divergent[reads[k]] === 1) return true;
      return false;
    }
  }
}
