/**
 * Which side of a branch is taken rarely, where nothing but the form of its condition tells: a value below zero, or two floating-point
 * numbers that are equal (the opcode heuristic of Ball and Larus, "Branch prediction for free", PLDI 1993, right for 84 % of the
 * branches that it predicts). A negative value is what programs mend: a particle below the floor, a count that ran out.
 * And a thread's number equal to what all threads of the warp read: one thread of a row at most (`if (threadIdx.x == best[0])`).
 */
import { definitionsOf } from '../program/definitions';
import type { CompareOp, Instruction, Program, Register, ScalarType } from '../program/program';
import { divergentRegisters } from '../program/uniformity';

/** How the reason for what is executed on a rare side begins: how many lanes come there is not known, but they are few. */
export const RARE_CONDITION = 'condition that is rarely met';

export type Side = 'true' | 'false';

const floats: ReadonlySet<ScalarType> = new Set(['f16', 'bf16', 'f32', 'f64']);
const mirrored: Readonly<Record<CompareOp, CompareOp>> = { eq: 'eq', ne: 'ne', lt: 'gt', le: 'ge', gt: 'lt', ge: 'le' };
/** By comparison with zero. */
const rareAgainstZero: Readonly<Partial<Record<CompareOp, Side>>> = {
  lt: 'true',
  le: 'true',
  gt: 'false',
  ge: 'false',
};
const rareOfEqual: Readonly<Partial<Record<CompareOp, Side>>> = { eq: 'true', ne: 'false' };

/** The rare side of the branch that ends a block; undefined where its condition does not tell. */
export function rareSide(program: Program, block: number): Side | undefined {
  const { terminator, instructions } = program.blocks[block];
  if (terminator.kind !== 'branch') return undefined;
  const compare = instructions.findLast((i) => i.op === 'compare' && i.dst === terminator.condition);
  return compare?.op === 'compare' ? rareResult(program, compare) : undefined;
}

/**
 * The side on which the value of each lane is equal to a constant. Wu and Larus ("Static branch frequency and program profile
 * analysis", MICRO 1994) predict that it is not taken; flags of threads are set more often than that, but not in all of them.
 */
export function seldomSide(program: Program, block: number): Side | undefined {
  const { terminator, instructions } = program.blocks[block];
  if (terminator.kind !== 'branch' || divergentRegisters(program)[terminator.condition] === 0) return undefined;
  const compare = instructions.findLast((i) => i.op === 'compare' && i.dst === terminator.condition);
  if (compare?.op !== 'compare') return undefined;
  const isConstant = (register: number) => program.registers[register].role === 'constant';
  return isConstant(compare.a) === isConstant(compare.b) ? undefined : rareOfEqual[compare.fn];
}

function rareResult(program: Program, compare: Extract<Instruction, { op: 'compare' }>): Side | undefined {
  const { fn, type, a, b } = compare;
  if (!floats.has(type) && rareOfEqual[fn] && isOneThread(program, a, b)) return rareOfEqual[fn];
  // a number that is compared with itself is asked whether it is one
  if (floats.has(type) && a !== b && rareOfEqual[fn]) return rareOfEqual[fn];
  const isConstant = (register: number) => program.registers[register].role === 'constant';
  if (isConstant(a) === isConstant(b)) return undefined;
  const [op, constant] = isConstant(b) ? [fn, b] : [mirrored[fn], a];
  return program.registers[constant].value === 0 ? rareAgainstZero[op] : undefined;
}

/**
 * Whether about as many lanes of a warp take either side, and each for itself: of two values the greater, which both differ from lane to lane, as sorting asks.
 * Two lanes of a pair come then often enough for a conflict (H200: merge_networks.cu:23 and 24).
 */
export function isEvenChance(program: Program, block: number): boolean {
  const { terminator } = program.blocks[block];
  return terminator.kind === 'branch' && isEven(program, terminator.condition, 0);
}

function isEven(program: Program, condition: Register, depth: number): boolean {
  const [definition, ...others] = definitionsOf(program).of(condition);
  if (definition === undefined || others.length > 0 || depth > DEEPEST) return false;
  const either = (...registers: readonly Register[]) =>
    registers.some((register) => isEven(program, register, depth + 1));
  if (definition.op === 'unary' || definition.op === 'convert') return either(definition.a);
  if (definition.op === 'binary') return definition.type === 'pred' && either(definition.a, definition.b);
  if (definition.op !== 'compare') return false;
  const { fn, a, b } = definition;
  if (fn === 'eq' || fn === 'ne') return either(a, b);
  const divergent = divergentRegisters(program);
  return divergent[a] === 1 && divergent[b] === 1;
}

/** Whether one of the two is a thread's number and the other the same in all lanes. */
function isOneThread(program: Program, a: Register, b: Register): boolean {
  const divergent = divergentRegisters(program);
  if (divergent[a] === divergent[b]) return false;
  return isThreadNumber(program, divergent, divergent[a] === 1 ? a : b, 0);
}

/** Longer chains of instructions are not followed. */
const DEEPEST = 12;

/** What differs from thread to thread: its number, a sum of it and what is the same in all lanes, or the number within the warp. */
function isThreadNumber(program: Program, divergent: Uint8Array, register: Register, depth: number): boolean {
  const input = program.inputs.find((each) => each.register === register);
  if (input) return input.source.kind === 'laneId' || (input.source.kind === 'threadIdx' && input.source.axis === 0);
  const [definition, ...others] = definitionsOf(program).of(register);
  if (definition === undefined || others.length > 0 || depth > DEEPEST) return false;
  const goOn = (next: Register) => isThreadNumber(program, divergent, next, depth + 1);
  if (definition.op === 'convert' || (definition.op === 'unary' && definition.fn === 'mov')) return goOn(definition.a);
  if (definition.op !== 'binary') return false;
  const { fn, a, b } = definition;
  const [varying, same] = divergent[a] === 1 ? [a, b] : [b, a];
  if (divergent[same] === 1) return false;
  if (fn === 'and') return (program.registers[same].value ?? 0) === 31 && goOn(varying);
  return (fn === 'add' || fn === 'sub') && goOn(varying);
}
