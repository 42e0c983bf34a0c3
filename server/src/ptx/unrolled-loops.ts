/**
 * Loops that only the assembler wrote out. NVVM writes out most loops already in the PTX; ptxas goes on with short ones of a constant
 * number of passes whose body is one block, and neighbouring shared loads of several passes then merge: `p = s[32 * t + j]` in a
 * loop over j is one LDS.128 every fourth pass (H200: attention.cu:83, flash_attention.cu:59; sgemm_ladder.cu:58 every second one, the PTX
 * having two). It shows in the machine code as a load wider than all that one pass of the PTX reads there. Written out without
 * such a merge a loop counts the same, so it is left as it is.
 */
import type { MachineInstruction } from '../program/program';
import { assignedBy, type FlatGraph } from './blocks';
import type { FlatInstruction } from './flatten';
import type { Operand } from './module';

/** What the assembler made of an access; undefined where that is not known. */
export type MachineOf = (instruction: FlatInstruction) => readonly MachineInstruction[] | undefined;

const MOST_PASSES = 4096;
const WIDEST = 16;

/** By block: passes that are made in one, for those with more than one. */
export function unrolledLoops(graph: FlatGraph, machineOf: MachineOf): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  graph.blocks.forEach(({ end, instructions }, block) => {
    if (end.kind !== 'branch' || end.equals !== undefined) return;
    if (end.ifTrue !== block && end.ifFalse !== block) return;
    const factor = factorOf(instructions, machineOf);
    if (factor < 2) return;
    const passes = passesOf(graph, block, end.register, end.ifTrue === block);
    if (passes !== undefined && passes % factor === 0) found.set(block, factor);
  });
  return found;
}

interface Access {
  readonly instruction: FlatInstruction;
  readonly bytes: number;
  /** Bytes of its widest machine instruction; 0 for none. */
  readonly widest: number;
}

/** How many passes the machine instructions of the block take together: their width over the bytes of one pass. */
function factorOf(instructions: readonly FlatInstruction[], machineOf: MachineOf): number {
  const accesses = instructions.flatMap((instruction): Access[] => {
    if (instruction.opcode.base !== 'ld' && instruction.opcode.base !== 'st') return [];
    const machine = machineOf(instruction);
    if (machine === undefined) return [];
    const widest = Math.max(0, ...machine.map((each) => each.bytes ?? 0));
    return [{ instruction, bytes: bytesOfAccess(instruction), widest }];
  });
  const bearers = accesses.filter(({ bytes, widest }) => widest > bytes && widest <= WIDEST);
  const gone = new Set(accesses.filter(({ widest }) => widest === 0));
  let factor = 1;
  for (const bearer of bearers) {
    const parts = [...gone].filter((each) => isBeside(each, bearer));
    for (const part of parts) gone.delete(part);
    const covered = parts.reduce((sum, { bytes }) => sum + bytes, bearer.bytes);
    factor = Math.max(factor, bearer.widest / covered);
  }
  // What has gone elsewhere may have taken others along: better not to guess.
  return gone.size === 0 && Number.isInteger(factor) ? factor : 1;
}

/** Whether an access may be part of the machine instruction of another, by its address. */
function isBeside({ instruction }: Access, bearer: Access): boolean {
  const [own, its] = [addressOf(instruction), addressOf(bearer.instruction)];
  if (instruction.opcode.base !== bearer.instruction.opcode.base || own?.register !== its?.register) return false;
  return own !== undefined && its !== undefined && Math.abs(own.offset - its.offset) < bearer.widest;
}

function addressOf({ opcode, operands }: FlatInstruction): { register: number; offset: number } | undefined {
  const address = operands[opcode.base === 'ld' ? 1 : 0];
  return address?.kind === 'address' ? { register: registerOf(address.base), offset: address.offset } : undefined;
}

function bytesOfAccess({ opcode: { parts } }: FlatInstruction): number {
  const vector = parts.find((part) => /^v[248]$/.test(part));
  const bits = /\d+$/.exec(parts[parts.length - 1])?.[0];
  return ((vector === undefined ? 1 : Number(vector.slice(1))) * Number(bits ?? 32)) / 8;
}

type Compare = (a: number, b: number) => boolean;
const comparisons: Readonly<Record<string, Compare>> = {
  ne: (a, b) => a !== b,
  eq: (a, b) => a === b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

/** Passes of a loop of one block that counts from one constant to another; undefined for all others. */
function passesOf(graph: FlatGraph, block: number, predicate: number, goesOnIfTrue: boolean): number | undefined {
  const { instructions } = graph.blocks[block];
  const test = instructions.findLast((each) => assignedBy(each).includes(predicate));
  if (test?.opcode.base !== 'setp' || test.guard) return undefined;
  const compare = comparisons[test.opcode.parts[1]];
  const counter = registerOf(test.operands[1]);
  const limit = constantOf(test.operands[2]);
  if (compare === undefined || counter < 0 || limit === undefined) return undefined;
  const steps = instructions.filter((each) => assignedBy(each).includes(counter));
  const starts = graph.blocks.flatMap((each, index) =>
    index === block ? [] : each.instructions.filter((i) => assignedBy(i).includes(counter)),
  );
  const step = steps.length === 1 ? stepOf(steps[0], counter) : undefined;
  const start = starts.length === 1 && starts[0].opcode.base === 'mov' ? constantOf(starts[0].operands[1]) : undefined;
  if (step === undefined || start === undefined || starts[0].guard) return undefined;
  const isBefore = instructions.indexOf(test) < instructions.indexOf(steps[0]);
  let value = start;
  for (let pass = 1; pass <= MOST_PASSES; pass++) {
    const before = value;
    value += step;
    if (compare(isBefore ? before : value, limit) !== goesOnIfTrue) return pass;
  }
  return undefined;
}

/** What `add` adds to a register; undefined for anything else. */
export function stepOf({ opcode, operands, guard }: FlatInstruction, register: number): number | undefined {
  if (guard || (opcode.base !== 'add' && opcode.base !== 'sub') || registerOf(operands[1]) !== register)
    return undefined;
  const by = constantOf(operands[2]);
  return by === undefined ? undefined : opcode.base === 'sub' ? -by : by;
}

export const registerOf = (operand: Operand | undefined): number =>
  operand?.kind === 'register' ? operand.register : -1;

export const constantOf = (operand: Operand | undefined): number | undefined =>
  operand?.kind === 'integer' ? Number(operand.value) : undefined;
