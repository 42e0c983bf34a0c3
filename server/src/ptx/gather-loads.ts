/**
 * Loads that the assembler made elsewhere than the PTX has them. One that bears no machine instruction has gone into a wider one
 * of another block above it (`a.value > b.value || … a.index < b.index`: value and index are one LDS.64 before the branch,
 * H200: reduce_variants.cu:116; the last one to three elements of a loop written out by four are one LDS.128,
 * bitonic_sort.cu:87), or repeats what was loaded there. Where both arms of a branch begin with the same load and one of the two bears no
 * instruction, the other is made before the branch, by the lanes of both (a case of a switch and its default, H200: branches.cu:40).
 */
import { hoistLoads } from '../machine/hoist-common';
import { controlFlow } from '../program/control-flow';
import type { Instruction, LoadInstruction, Program } from '../program/program';

export function gatherLoads(program: Program): Program {
  const isGone = ({ access }: LoadInstruction) => program.accesses[access].machine?.length === 0;
  const hasGone = program.blocks.some((b) => b.instructions.some((i) => i.op === 'load' && isGone(i)));
  return hasGone ? hoistLoads(gathered(program, isGone), (a, b) => bearerOf(program, a, b)) : program;
}

/** Of two accesses that one bears the machine instruction of both; undefined where both have their own, or neither. */
function bearerOf({ accesses }: Program, a: number, b: number): number | undefined {
  const [first, second] = [a, b].map((access) => accesses[access].machine?.length);
  if (first === 0 && second) return b;
  return second === 0 && first ? a : undefined;
}

function gathered(program: Program, isGone: (load: LoadInstruction) => boolean): Program {
  const flow = controlFlow(program);
  const bearers = bearersOf(program);
  const blocks: Instruction[][] = program.blocks.map((block) => [...block.instructions]);
  for (const block of flow.order) {
    for (const load of program.blocks[block].instructions) {
      if (load.op !== 'load' || !isGone(load) || !isMovable(program, load)) continue;
      const fitting = bearers.get(load.address)?.filter((each) => isBearer(each, load)) ?? [];
      if (fitting.length === 0) continue;
      for (let above = block; above >= 0; above = flow.dominator[above]) {
        const bearer = fitting.findLast((each) => each.block === above);
        if (!bearer) continue;
        if (above === block) break;
        blocks[block].splice(blocks[block].indexOf(load), 1);
        blocks[above].splice(blocks[above].indexOf(bearer.load) + 1, 0, load);
        break;
      }
    }
  }
  return { ...program, blocks: program.blocks.map((block, index) => ({ ...block, instructions: blocks[index] })) };
}

/** A load that has a machine instruction. Those stay where they are. */
interface Bearer {
  readonly load: LoadInstruction;
  readonly block: number;
  /** Bytes of its widest machine instruction. */
  readonly width: number;
}

/** By register of the address, in the order of the program. */
function bearersOf({ accesses, blocks }: Program): Map<number, Bearer[]> {
  const bearers = new Map<number, Bearer[]>();
  blocks.forEach(({ instructions }, block) => {
    for (const load of instructions) {
      if (load.op !== 'load') continue;
      const width = Math.max(0, ...(accesses[load.access].machine ?? []).map(({ bytes }) => bytes ?? 0));
      if (width === 0) continue;
      const known = bearers.get(load.address);
      if (known) known.push({ load, block, width });
      else bearers.set(load.address, [{ load, block, width }]);
    }
  });
  return bearers;
}

/** What it loads may be computed for all lanes, and its address does not change. */
function isMovable({ registers }: Program, { dst, address }: LoadInstruction): boolean {
  return registers[address].role !== 'variable' && dst.every((each) => registers[each].role === 'temporary');
}

/** Whether the machine instruction of a load is wide enough for another load as well. */
const isBearer = (bearer: Bearer, { offset }: LoadInstruction): boolean =>
  bearer.load.offset !== offset && Math.abs(bearer.load.offset - offset) < bearer.width;
