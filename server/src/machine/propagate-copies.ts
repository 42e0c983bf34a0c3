/**
 * A variable that is assigned once, before all that reads it, is another name of what it was assigned: addresses made from it in two
 * loops are then the same. Evidence: NVVM keeps values in SSA form, where such copies do not exist.
 */
import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Block, Instruction, Program, Register } from '../program/program';
import { withOperands } from './common-expressions';

interface Place {
  readonly block: number;
  readonly index: number;
  readonly instruction: Instruction;
}

export function propagateCopies(program: Program): Program {
  const flow = controlFlow(program);
  const definitions = singleDefinitions(program, flow);
  const unread = lateReads(program, flow, definitions);
  const renamed = new Map<Register, Register>();
  const now = (r: Register): Register => renamed.get(r) ?? r;
  const { registers } = program;
  // in an order in which what is copied from is settled first
  for (const block of flow.order) {
    for (const i of program.blocks[block].instructions) {
      if (i.op !== 'unary' || i.fn !== 'mov' || definitions.get(i.dst)?.instruction !== i || unread.has(i.dst))
        continue;
      const source = now(i.a);
      if (registers[source].role === 'variable' || registers[source].type !== registers[i.dst].type) continue;
      if (registers[source].role === 'temporary' && flow.loopOf[block] >= 0 && registers[i.dst].role === 'variable')
        continue;
      renamed.set(i.dst, source);
    }
  }
  if (renamed.size === 0) return program;
  const blocks = program.blocks.map(
    (block): Block => ({
      instructions: block.instructions.flatMap((i) =>
        i.op === 'unary' && i.fn === 'mov' && renamed.has(i.dst) ? [] : [withOperands(i, now)],
      ),
      terminator:
        block.terminator.kind === 'branch'
          ? { ...block.terminator, condition: now(block.terminator.condition) }
          : block.terminator,
    }),
  );
  return { ...program, blocks };
}

/** Registers that one instruction assigns. */
function singleDefinitions(program: Program, flow: ControlFlow): Map<Register, Place> {
  const found = new Map<Register, Place>();
  const several = new Set<Register>();
  for (const block of flow.order) {
    program.blocks[block].instructions.forEach((instruction, index) => {
      for (const r of writesOf(instruction)) {
        if (found.has(r) || several.has(r)) {
          several.add(r);
          found.delete(r);
        } else found.set(r, { block, index, instruction });
      }
    });
  }
  return found;
}

/** Registers that something may read before they are assigned. */
function lateReads(program: Program, flow: ControlFlow, definitions: ReadonlyMap<Register, Place>): Set<Register> {
  const late = new Set<Register>();
  const look = (r: Register, block: number, index: number) => {
    const definition = definitions.get(r);
    if (!definition) return;
    const isAfter =
      definition.block === block ? definition.index < index : dominates(flow.dominator, definition.block, block);
    if (!isAfter) late.add(r);
  };
  for (const block of flow.order) {
    const { instructions, terminator } = program.blocks[block];
    instructions.forEach((i, index) => {
      for (const r of readsOf(i)) look(r, block, index);
    });
    if (terminator.kind === 'branch') look(terminator.condition, block, instructions.length);
  }
  return late;
}
