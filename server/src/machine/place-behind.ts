/** What stands behind the arms of a branch: code that was made of both has no line of its own, and the line table goes on with it. */
import type { ControlFlow } from '../program/control-flow';
import { writesOf } from '../program/operands';
import type { Instruction, Program, RegisterInfo, SourcePlace } from '../program/program';
import { headOf } from './loop-head';

/** Blocks without code of a line that are passed over. */
const MOST_BLOCKS = 4;

/**
 * The place of the first instruction from a block on that has one; of the head of a loop where its next pass follows.
 * @param skipsBarriers what stands behind a barrier counts, not the barrier
 */
export function placeBehind(
  program: Program,
  flow: ControlFlow,
  block: number,
  skipsBarriers = false,
): SourcePlace | undefined {
  for (let at = block, blocks = 0; blocks < MOST_BLOCKS; blocks++) {
    const { instructions, terminator } = program.blocks[at];
    for (const i of instructions) {
      const place = skipsBarriers && i.op === 'barrier' ? undefined : placeOf(program, i);
      if (place) return place;
    }
    if (terminator.kind === 'branch') return program.branches[terminator.branch].place;
    if (terminator.kind === 'exit') return undefined;
    const loop = flow.loops[flow.loopAtHeader[terminator.target]];
    if (loop?.contains[at]) return headOf(program, loop);
    at = terminator.target;
  }
  return undefined;
}

/** The line of an instruction: where its access or barrier stands, or the statement that it was made for. */
export function placeOf({ accesses, registers }: Program, i: Instruction): SourcePlace | undefined {
  switch (i.op) {
    case 'load':
    case 'store':
    case 'atomic':
      return accesses[i.access].place;
    case 'barrier':
      return i.place;
    case 'unknown':
      // a variable that is not initialised makes no instruction
      return undefined;
  }
  const [dst] = writesOf(i);
  return dst === undefined ? undefined : statementOf(registers[dst]);
}

/** The beginning of the statement that a register was made for. */
export function statementOf({ statement, call }: RegisterInfo): SourcePlace | undefined {
  return statement === undefined ? undefined : { first: statement, last: statement, statement, call };
}
