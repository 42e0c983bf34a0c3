/**
 * Which side of a branch is taken rarely, where nothing but the form of its condition tells: a value below zero, or a floating-point
 * number equal to a constant (the opcode heuristic of Ball and Larus, "Branch prediction for free", PLDI 1993, right for 84 % of the
 * branches that it predicts). A negative value is what programs mend: a particle below the floor, a count that ran out.
 */
import type { CompareOp, Instruction, Program, ScalarType } from '../program/program';

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

function rareResult(program: Program, { fn, type, a, b }: Extract<Instruction, { op: 'compare' }>): Side | undefined {
  const isConstant = (register: number) => program.registers[register].role === 'constant';
  if (isConstant(a) === isConstant(b)) return undefined;
  const [op, constant] = isConstant(b) ? [fn, b] : [mirrored[fn], a];
  if (floats.has(type) && rareOfEqual[op]) return rareOfEqual[op];
  return program.registers[constant].value === 0 ? rareAgainstZero[op] : undefined;
}
