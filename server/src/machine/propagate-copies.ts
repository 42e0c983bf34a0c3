/**
 * A variable that is assigned once, before all that reads it, is another name of what it was assigned: addresses made from it in two
 * loops are then the same. Evidence: NVVM keeps values in SSA form, where such copies do not exist.
 */
import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import { readsInto, writesInto } from '../program/operands';
import type { Block, Instruction, Program, Register } from '../program/program';
import { withOperands } from './common-expressions';

type Move = Instruction & { readonly op: 'unary' };

const isMove = (i: Instruction): i is Move => i.op === 'unary' && i.fn === 'mov';

export function propagateCopies(program: Program): Program {
  const flow = controlFlow(program);
  const definitions = singleDefinitions(program, flow);
  if (!definitions.hasMoves) return program;
  const isLate = lateReads(program, flow, definitions);
  const { registers } = program;
  const renamed = new Int32Array(registers.length).fill(-1);
  const now = (r: Register): Register => (renamed[r] < 0 ? r : renamed[r]);
  let changes = false;
  // in an order in which what is copied from is settled first
  for (const block of flow.order) {
    for (const i of program.blocks[block].instructions) {
      if (!isMove(i) || definitions.block[i.dst] < 0 || isLate[i.dst] === 1) continue;
      const source = registers[now(i.a)];
      if (source.role === 'variable' || source.type !== registers[i.dst].type) continue;
      if (source.role === 'temporary' && flow.loopOf[block] >= 0 && registers[i.dst].role === 'variable') continue;
      renamed[i.dst] = now(i.a);
      changes = true;
    }
  }
  if (!changes) return program;
  const blocks = program.blocks.map((block): Block => {
    const instructions: Instruction[] = [];
    for (const i of block.instructions) if (!isMove(i) || renamed[i.dst] < 0) instructions.push(withOperands(i, now));
    const { terminator } = block;
    const condition = terminator.kind === 'branch' ? now(terminator.condition) : -1;
    return { instructions, terminator: terminator.kind === 'branch' ? { ...terminator, condition } : terminator };
  });
  return { ...program, blocks };
}

/** Where the moves stand that alone assign their register. */
interface Definitions {
  /** By register: the block, -1 for what is assigned by something else or at several places. */
  readonly block: Int32Array;
  /** By register: the position in the block. */
  readonly index: Int32Array;
  readonly hasMoves: boolean;
}

const NONE = -1;
const OTHERWISE = -2;

function singleDefinitions(program: Program, flow: ControlFlow): Definitions {
  const place = new Int32Array(program.registers.length).fill(NONE);
  const index = new Int32Array(program.registers.length);
  const writes: Register[] = [];
  let hasMoves = false;
  for (const block of flow.order) {
    const { instructions } = program.blocks[block];
    for (let at = 0; at < instructions.length; at++) {
      const i = instructions[at];
      const count = writesInto(i, writes);
      for (let k = 0; k < count; k++) {
        const r = writes[k];
        const isSingle = place[r] === NONE && isMove(i);
        place[r] = isSingle ? block : OTHERWISE;
        index[r] = at;
        hasMoves ||= isSingle;
      }
    }
  }
  return { block: place, index, hasMoves };
}

/** By register: 1 where something may read what a move gives it before the move. */
function lateReads(program: Program, flow: ControlFlow, definitions: Definitions): Uint8Array {
  const late = new Uint8Array(program.registers.length);
  const look = (r: Register, block: number, index: number) => {
    const from = definitions.block[r];
    if (from < 0 || late[r] === 1) return;
    const isAfter = from === block ? definitions.index[r] < index : dominates(flow.dominator, from, block);
    if (!isAfter) late[r] = 1;
  };
  const reads: Register[] = [];
  for (const block of flow.order) {
    const { instructions, terminator } = program.blocks[block];
    for (let at = 0; at < instructions.length; at++) {
      const count = readsInto(instructions[at], reads);
      for (let k = 0; k < count; k++) look(reads[k], block, at);
    }
    if (terminator.kind === 'branch') look(terminator.condition, block, instructions.length);
  }
  return late;
}
