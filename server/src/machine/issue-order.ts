/**
 * In which order NVVM writes two loads: that first whose value is used first, and of two that one operation or comparison takes first (`a = s[0]; b = s[1];
 * y = a + b`, `if (a > b)`) the second, whichever operand it is, but in a kernel of one block. ptxas merges shared loads at the place of the
 * first that is written, so that the pair bears the line of the second statement: `m = s[0]; for (…) m = fmaxf(m, s[i])` that of the loop's body, and
 * a network that sorts (`a = s[i]; b = s[i + 1]; if (a > b) …`) that of b. What other blocks do with the values is no matter; where both have further uses in this
 * one and it stores to shared memory behind them they stay in the order of the text, and so they do where such a store stands between the uses
 * (H200: the way down of a scan). Evidence: lines of 150 kernels, nvcc 13.0 (`a * 3 + b` keeps its order,
 * `a * (b + 1)` does not; constant addresses where a block has nothing else keep it); H200: a reduction over the maxima of four warps, H100: two
 * bitonic sorts (unsigned, 64 bits).
 */
import { readsInto } from '../program/operands';
import type { Instruction, LoadInstruction, Program, Register } from '../program/program';

/** Which of two loads is written first, the second standing behind the first. */
export function writtenFirst(
  program: Program,
  instructions: readonly Instruction[],
  first: LoadInstruction,
  second: LoadInstruction,
): LoadInstruction {
  if (first.dst.length !== 1 || second.dst.length !== 1) return first;
  const one = firstUse(instructions, first.dst[0]);
  const other = firstUse(instructions, second.dst[0]);
  if (!one || !other) return first;
  if (one.index < other.index) return first;
  // what stores to shared memory stays behind all loads before it, whatever it stores
  if (one.index > other.index) return storesToShared(program, instructions, other.index, one.index) ? first : second;
  const { op } = instructions[one.index];
  if (op !== 'binary' && op !== 'compare') return first;
  const areDone = one.isOnly && other.isOnly;
  return areDone || !storesToShared(program, instructions, one.index, instructions.length) ? second : first;
}

function storesToShared(
  { accesses }: Program,
  instructions: readonly Instruction[],
  from: number,
  before: number,
): boolean {
  for (let k = from; k < before; k++) {
    const i = instructions[k];
    if (i.op === 'store' && accesses[i.access].space === 'shared') return true;
  }
  return false;
}

interface Use {
  /** In the block. */
  readonly index: number;
  /** Nothing else in it uses the value. */
  readonly isOnly: boolean;
}

/** Copies that are followed. */
const MOST_COPIES = 4;

/** What is first to use a value, through copies that nothing else uses. */
function firstUse(instructions: readonly Instruction[], value: Register): Use | undefined {
  const uses = usesOf(instructions);
  let register = value;
  for (let copies = 0; copies < MOST_COPIES; copies++) {
    const use = uses.get(register);
    if (!use) return undefined;
    const by = instructions[use.index];
    if (!use.isOnly || by.op !== 'unary' || by.fn !== 'mov') return use;
    register = by.dst;
  }
  return undefined;
}

const known = new WeakMap<readonly Instruction[], ReadonlyMap<Register, Use>>();

/** By register: the first instruction of a block that reads it. */
function usesOf(instructions: readonly Instruction[]): ReadonlyMap<Register, Use> {
  const before = known.get(instructions);
  if (before) return before;
  const uses = new Map<Register, Use>();
  const reads: Register[] = [];
  instructions.forEach((i, index) => {
    const count = readsInto(i, reads);
    for (let k = 0; k < count; k++) {
      const use = uses.get(reads[k]);
      if (!use) uses.set(reads[k], { index, isOnly: true });
      else if (use.isOnly && use.index !== index) uses.set(reads[k], { ...use, isOnly: false });
    }
  });
  known.set(instructions, uses);
  return uses;
}
