/**
 * A variable that is assigned several times, all in one block, is as many values there: `if (i < 0) i = -i;` has become a selection, and what is
 * computed from it is computed once for two calls with the same argument. Evidence: NVVM's SSA form (PTX of a reflected index that three taps of a
 * filter read at: one load, H100: wavelet_codec.cu:80 has five for seven).
 */
import { controlFlow } from '../program/control-flow';
import { writesInto } from '../program/operands';
import type { Block, Instruction, Program, Register } from '../program/program';
import { withOperands } from './common-expressions';

type Move = Instruction & { readonly op: 'unary' };

const isMove = (i: Instruction): i is Move => i.op === 'unary' && i.fn === 'mov';

export function forwardInBlocks(program: Program): Program {
  const { registers } = program;
  const home = homesOf(program);
  if (!home) return program;
  const renamed = new Int32Array(registers.length).fill(NONE);
  const blocks: Block[] = [...program.blocks];
  const now = (r: Register): Register => (renamed[r] < 0 ? r : renamed[r]);
  for (const block of controlFlow(program).order) {
    const kept: Instruction[] = [];
    const own: Register[] = [];
    for (const before of program.blocks[block].instructions) {
      const i = withOperands(before, now);
      const isCopy = isMove(i) && registers[i.a].role !== 'variable' && registers[i.a].type === registers[i.dst].type;
      if (isMove(i) && home[i.dst] === block) {
        renamed[i.dst] = isCopy ? i.a : NONE;
        own.push(i.dst);
      } else if (isMove(i) && isCopy && i.a !== (before as Move).a && registers[i.dst].role === 'temporary') {
        renamed[i.dst] = i.a;
        continue;
      }
      kept.push(i);
    }
    const { terminator } = program.blocks[block];
    const isBranch = terminator.kind === 'branch';
    blocks[block] = {
      instructions: kept,
      terminator: isBranch ? { ...terminator, condition: now(terminator.condition) } : terminator,
    };
    // elsewhere the variable is what it was assigned last
    for (const variable of own) renamed[variable] = NONE;
  }
  return { ...program, blocks };
}

const NONE = -1;
const SEVERAL = -2;

/** By register: the block in which a variable is assigned several times, and nowhere else; undefined where there is none. */
function homesOf(program: Program): Int32Array | undefined {
  const home = new Int32Array(program.registers.length).fill(NONE);
  const count = new Int32Array(program.registers.length);
  const writes: Register[] = [];
  program.blocks.forEach(({ instructions }, block) => {
    for (const i of instructions) {
      const written = writesInto(i, writes);
      for (let k = 0; k < written; k++) {
        const r = writes[k];
        if (program.registers[r].role !== 'variable') continue;
        home[r] = isMove(i) && (home[r] === NONE || home[r] === block) ? block : SEVERAL;
        count[r]++;
      }
    }
  });
  let isSome = false;
  for (let r = 0; r < home.length; r++) {
    if (home[r] >= 0 && count[r] < 2) home[r] = NONE;
    isSome ||= home[r] >= 0;
  }
  return isSome ? home : undefined;
}
