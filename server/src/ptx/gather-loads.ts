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
  const blocks: Instruction[][] = program.blocks.map((block) => [...block.instructions]);
  for (const block of flow.order) {
    for (const load of program.blocks[block].instructions) {
      if (load.op !== 'load' || !isGone(load) || !isMovable(program, load)) continue;
      for (let above = block; above >= 0; above = flow.dominator[above]) {
        const at = blocks[above].findLastIndex((each) => isBearer(program, each, load));
        if (at < 0) continue;
        if (above === block) break;
        blocks[block].splice(blocks[block].indexOf(load), 1);
        blocks[above].splice(at + 1, 0, load);
        break;
      }
    }
  }
  return { ...program, blocks: program.blocks.map((block, index) => ({ ...block, instructions: blocks[index] })) };
}

/** What it loads may be computed for all lanes, and its address does not change. */
function isMovable({ registers }: Program, { dst, address }: LoadInstruction): boolean {
  return registers[address].role !== 'variable' && dst.every((each) => registers[each].role === 'temporary');
}

/** Whether an instruction is a load whose machine instruction is wide enough for another load as well. */
function isBearer({ accesses }: Program, i: Instruction, load: LoadInstruction): boolean {
  if (i.op !== 'load' || i.address !== load.address || i.offset === load.offset) return false;
  const width = Math.max(0, ...(accesses[i.access].machine ?? []).map(({ bytes }) => bytes ?? 0));
  return Math.abs(i.offset - load.offset) < width;
}
