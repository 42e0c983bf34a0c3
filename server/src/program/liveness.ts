import { flowBackwards } from './backward-flow';
import type { ControlFlow } from './control-flow';
import { readsInto, writesInto } from './operands';
import type { Instruction, Program } from './program';

/** Which registers that are assigned lane by lane hold a value that is looked at later, at the start of every block. */
export interface Liveness {
  /**
   * By register: its bit number, -1 when it may be computed for all lanes at any time. Besides variables, temporaries of
   * a loop that are used outside of it have one: lanes that left early must keep theirs while the others go on.
   */
  readonly bitOf: Int32Array;
  /** By bit number: its register. */
  readonly registers: readonly number[];
  /** 32-bit words of a set. */
  readonly words: number;
  /** By block: the set at its start. */
  readonly liveIn: readonly Int32Array[];
  /** By block: variables it assigns. */
  readonly assigned: readonly Int32Array[];
  /** The same as lists of bit numbers, which are short: of thousands of variables a block assigns a few. */
  readonly assignedBits: readonly (readonly number[])[];
}

/**
 * Liveness of the variables over the given instructions of each block (the program's own, or what a slice kept of them).
 * Conditions of branches are read at the end of their blocks.
 */
export function liveness(
  program: Program,
  flow: ControlFlow,
  instructions: readonly (readonly Instruction[])[],
): Liveness {
  const bitOf = new Int32Array(program.registers.length).fill(-1);
  const registers: number[] = [];
  const escaping = escapingTemporaries(program, flow, instructions);
  const appears = appearing(program, instructions);
  program.registers.forEach((info, register) => {
    if (appears[register] === 1 && (info.role === 'variable' || escaping.has(register)))
      bitOf[register] = registers.push(register) - 1;
  });
  const words = Math.max(1, (registers.length + 31) >> 5);
  const liveIn = program.blocks.map(() => new Int32Array(words));
  const assigned = program.blocks.map(() => new Int32Array(words));
  const assignedBits = program.blocks.map((): number[] => []);
  const list: number[] = [];
  program.blocks.forEach((block, index) => {
    const read = (register: number) => {
      const bit = bitOf[register];
      if (bit >= 0 && !hasBit(assigned[index], bit)) setBit(liveIn[index], bit);
    };
    for (const instruction of instructions[index]) {
      const reading = readsInto(instruction, list);
      for (let k = 0; k < reading; k++) read(list[k]);
      const writing = writesInto(instruction, list);
      for (let k = 0; k < writing; k++) {
        const bit = bitOf[list[k]];
        if (bit < 0 || hasBit(assigned[index], bit)) continue;
        setBit(assigned[index], bit);
        assignedBits[index].push(bit);
      }
    }
    if (block.terminator.kind === 'branch') read(block.terminator.condition);
  });
  flowBackwards(flow, liveIn, assigned);
  return { bitOf, registers, words, liveIn, assigned, assignedBits };
}

/** By register: 1 when the instructions read or write it, or a branch does. */
function appearing(program: Program, instructions: readonly (readonly Instruction[])[]): Uint8Array {
  const appears = new Uint8Array(program.registers.length);
  const list: number[] = [];
  program.blocks.forEach(({ terminator }, block) => {
    for (const instruction of instructions[block]) {
      const reading = readsInto(instruction, list);
      for (let k = 0; k < reading; k++) appears[list[k]] = 1;
      const writing = writesInto(instruction, list);
      for (let k = 0; k < writing; k++) appears[list[k]] = 1;
    }
    if (terminator.kind === 'branch') appears[terminator.condition] = 1;
  });
  return appears;
}

/** Temporaries that are assigned in a loop and used outside of it. */
function escapingTemporaries(
  program: Program,
  flow: ControlFlow,
  instructions: readonly (readonly Instruction[])[],
): Set<number> {
  const escaping = new Set<number>();
  if (flow.loops.length === 0) return escaping;
  const list: number[] = [];
  const loopOf = new Int32Array(program.registers.length).fill(-1);
  for (const block of flow.order) {
    if (flow.loopOf[block] < 0) continue;
    for (const instruction of instructions[block]) {
      const writing = writesInto(instruction, list);
      for (let k = 0; k < writing; k++) loopOf[list[k]] = flow.loopOf[block];
    }
  }
  for (const block of flow.order) {
    const read = (register: number) => {
      const loop = loopOf[register];
      if (loop >= 0 && flow.loops[loop].contains[block] === 0) escaping.add(register);
    };
    for (const instruction of instructions[block]) {
      const reading = readsInto(instruction, list);
      for (let k = 0; k < reading; k++) read(list[k]);
    }
    const { terminator } = program.blocks[block];
    if (terminator.kind === 'branch') read(terminator.condition);
  }
  return escaping;
}

export function hasBit(set: Int32Array, bit: number): boolean {
  return (set[bit >> 5] & (1 << (bit & 31))) !== 0;
}

export function setBit(set: Int32Array, bit: number): void {
  set[bit >> 5] |= 1 << (bit & 31);
}
