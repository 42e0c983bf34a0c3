/**
 * Numbers that a kernel asks nothing of but whether they equal others: the key or digest that a search looks for. They are no sizes, and
 * a sample of them would tell nothing but that nothing is found.
 */
import { readsInto, readsOf, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';

export interface Key {
  /** It is compared with an index, where one lane of the grid or one pass of a loop is meant, or with what is loaded. */
  readonly isIndex: boolean;
}

const known = new WeakMap<Program, ReadonlyMap<Register, Key>>();

/** The inputs of a program that are keys, and what else is only compared. */
export function keysOf(program: Program): ReadonlyMap<Register, Key> {
  let keys = known.get(program);
  if (!keys) known.set(program, (keys = findKeys(program)));
  return keys;
}

function findKeys(program: Program): Map<Register, Key> {
  const read = new Uint8Array(program.registers.length);
  const reads: Register[] = [];
  const others = new Map<Register, Register[]>();
  for (const { instructions, terminator } of program.blocks) {
    for (const i of instructions) {
      if (
        i.op === 'compare' &&
        (i.fn === 'eq' || i.fn === 'ne') &&
        !isConstant(program, i.a) &&
        !isConstant(program, i.b)
      ) {
        others.set(i.a, [...(others.get(i.a) ?? []), i.b]);
        others.set(i.b, [...(others.get(i.b) ?? []), i.a]);
        continue;
      }
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) read[reads[k]] = 1;
    }
    if (terminator.kind === 'branch') read[terminator.condition] = 1;
  }
  const keys = new Map<Register, Key>();
  const onlyCompared = [...others].filter(([register]) => read[register] === 0);
  if (onlyCompared.length === 0) return keys;
  const definitions = definitionsOf(program);
  for (const [register, compared] of onlyCompared)
    keys.set(register, { isIndex: compared.some((r) => isIndex(definitions, r, 0)) });
  return keys;
}

/** What is compared with a constant chooses among ways: a flag or mode. */
const isConstant = ({ registers }: Program, register: Register): boolean => registers[register].role === 'constant';

/** By register that is written once. */
function definitionsOf({ blocks, registers }: Program): Map<Register, Instruction> {
  const found = new Map<Register, Instruction>();
  for (const { instructions } of blocks)
    for (const i of instructions) for (const r of writesOf(i)) if (registers[r].role === 'temporary') found.set(r, i);
  return found;
}

/** What indices are computed by has fewer steps one behind the other. */
const DEEPEST = 12;

/** Whether a number is computed as indices are (`(row + column) % 2`), or loaded: no hash, which is exclusive ors or many steps. */
function isIndex(definitions: ReadonlyMap<Register, Instruction>, register: Register, depth: number): boolean {
  const made = definitions.get(register);
  // inputs, constants and what loops change; what is loaded has its own reasons to be known
  if (!made || made.op === 'load') return true;
  if (depth > DEEPEST || (made.op === 'binary' && made.fn === 'xor')) return false;
  return readsOf(made).every((r) => isIndex(definitions, r, depth + 1));
}
