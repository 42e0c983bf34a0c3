/**
 * Accesses merged as the machine code has them: of neighbours that the assembler made one wider instruction, one PTX
 * instruction bears it and the others bear none. Where they lie in one block the PTX tier merges exactly these, whether or
 * not an alignment can be proven, and none that the machine code has one by one (of 9,300 accesses of the kernels of test/hardware
 * all but 14 have the width of the machine code then).
 */
import { congruences } from '../machine/alignment';
import {
  type Access,
  accessBytes,
  type Candidate,
  type MergeWork,
  replaceByOne,
  within,
} from '../machine/merge-neighbours';
import type { Instruction, Program } from '../program/program';

export function mergeAsAssembled(program: Program): Program {
  const work: MergeWork = { program, registers: [...program.registers], known: congruences(program) };
  const blocks = program.blocks.map((block) => ({ ...block, instructions: mergeBlock(work, block.instructions) }));
  return { ...program, blocks, registers: work.registers };
}

function mergeBlock(work: MergeWork, instructions: readonly Instruction[]): readonly Instruction[] {
  const { program } = work;
  const open = new Map<string, Candidate[]>();
  const groups: Candidate[][] = [];
  instructions.forEach((instruction, index) => {
    if (instruction.op === 'barrier') open.clear();
    if (instruction.op !== 'load' && instruction.op !== 'store') return;
    if (program.registers[instruction.address].role === 'variable') return;
    if (program.accesses[instruction.access].machine === undefined) return;
    const key = `${instruction.op} ${instruction.address}`;
    let group = open.get(key);
    // The same place again: memory may have changed meanwhile.
    if (!group || group.some((each) => each.instruction.offset === instruction.offset)) {
      open.set(key, (group = []));
      groups.push(group);
    }
    group.push({ index, instruction, bytes: accessBytes(instruction) });
  });
  const replaced = new Map<number, readonly Instruction[]>();
  for (const group of groups) if (group.length > 1) mergeGroup(work, group, replaced);
  if (replaced.size === 0) return instructions;
  return instructions.flatMap((instruction, index) => replaced.get(index) ?? [instruction]);
}

function mergeGroup(work: MergeWork, group: readonly Candidate[], replaced: Map<number, readonly Instruction[]>): void {
  const byOffset = new Map(group.map((each) => [each.instruction.offset, each]));
  for (const bearer of group) {
    const width = widestOf(work, bearer.instruction);
    if (width <= bearer.bytes || replaced.has(bearer.index)) continue;
    const found = windowOf(work, byOffset, bearer, width, replaced);
    if (found) replaceByOne(work, found.run, found.start, width, replaced, bearer.instruction.access);
  }
}

/** Bytes of the widest machine instruction that an access became; 0 for none. */
function widestOf({ program }: MergeWork, { access }: Access): number {
  return Math.max(0, ...(program.accesses[access].machine ?? []).map(({ bytes }) => bytes ?? 0));
}

interface Run {
  readonly run: readonly Candidate[];
  readonly start: number;
}

/** The bytes around an access that its machine instruction moves: those with the most accesses that have none of their own. */
function windowOf(
  work: MergeWork,
  byOffset: ReadonlyMap<number, Candidate>,
  bearer: Candidate,
  width: number,
  replaced: ReadonlyMap<number, unknown>,
): Run | undefined {
  const { offset, address, op } = bearer.instruction;
  const { modulus, remainder } = work.known;
  const step = Math.min(...[...byOffset.values()].map(({ bytes }) => bytes));
  let best: Run | undefined;
  let most = bearer.bytes;
  for (let start = offset; start > offset + bearer.bytes - width - 1; start -= step) {
    if (modulus[address] >= width && (start + remainder[address]) % width !== 0) continue;
    const run = within(byOffset, start, width).filter((each) => !replaced.has(each.index));
    if (!run.every((each) => each === bearer || isPartOf(work, each, bearer))) continue;
    const covered = run.reduce((sum, { bytes }) => sum + bytes, 0);
    // A load may read what nobody asked for, a store writes what it is given.
    if (run.length < 2 || covered <= most || (op === 'store' && covered < width)) continue;
    best = { run, start };
    most = covered;
  }
  return best;
}

/**
 * Whether an access may have gone into the machine instruction of another: it has none of its own, is a copy of the same
 * PTX instruction, or both stand in a loop that is written out, whose rest has them one by one.
 */
function isPartOf({ program }: MergeWork, part: Candidate, bearer: Candidate): boolean {
  const own = program.accesses[part.instruction.access].machine ?? [];
  const its = program.accesses[bearer.instruction.access].machine ?? [];
  if (own.length === 0 || own === its) return true;
  return its.some(({ bytes }) => bytes === bearer.bytes) && own.every(({ bytes }) => bytes === part.bytes);
}
