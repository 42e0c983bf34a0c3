/** Which registers hold the same value in all lanes of a warp, provably: what the compiler may treat as a scalar. */
import { type ControlFlow, controlFlow, EXIT } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, Program } from '../program/program';

/** By register: 1 when lanes of a warp may differ. */
export function divergentRegisters(program: Program): Uint8Array {
  const flow = controlFlow(program);
  const divergent = new Uint8Array(program.registers.length);
  for (const { register, source } of program.inputs)
    if (source.kind === 'threadIdx' || source.kind === 'laneId') divergent[register] = 1;
  const inBranch = new Uint8Array(program.blocks.length);
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of flow.order) {
      for (const i of program.blocks[block].instructions) {
        if (!isDivergent(i, divergent) && inBranch[block] === 0) continue;
        for (const r of writesOf(i)) {
          const differs = isDivergent(i, divergent) || program.registers[r].role === 'variable';
          if (divergent[r] === 1 || !differs) continue;
          divergent[r] = 1;
          changed = true;
        }
      }
      const end = program.blocks[block].terminator;
      if (end.kind !== 'branch' || divergent[end.condition] === 0) continue;
      for (const next of between(program, flow, block)) {
        if (inBranch[next] === 0) changed = true;
        inBranch[next] = 1;
      }
    }
  }
  return divergent;
}

/** What lies on both sides of a branch up to where they meet again; nothing where that is the end of the kernel, and no value of a side reaches the other. */
function between({ blocks }: Program, flow: ControlFlow, block: number): Set<number> {
  const meets = flow.postDominator[block];
  const isEnd = meets === EXIT || (blocks[meets].instructions.length === 0 && blocks[meets].terminator.kind === 'exit');
  const sides = flow.successors[block].map((successor) => {
    const seen = new Set<number>();
    const work = [successor];
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      if (next === meets || next === EXIT || seen.has(next)) continue;
      seen.add(next);
      work.push(...flow.successors[next]);
    }
    return seen;
  });
  const [first, ...rest] = sides;
  if (isEnd && !rest.some((side) => [...side].some((next) => first.has(next)))) return new Set();
  return new Set(sides.flatMap((side) => [...side]));
}

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
        i.fn.startsWith('reduce')
      );
    case 'unknown':
      return true;
    default:
      return readsOf(i).some((r) => divergent[r] === 1);
  }
}
