/**
 * Accesses merged as the machine code has them: of neighbours that the assembler made one wider instruction, one PTX
 * instruction bears it and the others bear none. Where they lie in one block the PTX tier merges exactly these, whether or
 * not an alignment can be proven, and none that the machine code has one by one (of 9,300 accesses of the kernels of test/hardware
 * all but 14 have the width of the machine code then).
 */
import { congruences } from '../machine/alignment';
import { accessBytes, type MergeWork, within } from '../machine/merge-neighbours';
import { type Access, type Candidate, replaceByOne } from '../machine/wide-access';
import type { Instruction, Program } from '../program/program';

export function mergeAsAssembled(program: Program): Program {
  const work: MergeWork = {
    program,
    registers: [...program.registers],
    // most kernels have nothing to merge: nobody asks then
    get known() {
      return congruences(program);
    },
  };
  const merged = program.blocks.map(({ instructions }) => mergeBlock(work, instructions));
  if (merged.every((instructions, at) => instructions === program.blocks[at].instructions)) return program;
  const blocks = program.blocks.map((block, at) => ({ ...block, instructions: merged[at] }));
  return { ...program, blocks, registers: work.registers };
}

function mergeBlock(work: MergeWork, instructions: readonly Instruction[]): readonly Instruction[] {
  const { program } = work;
  const open = new Map<number, Candidate[]>();
  const groups: Candidate[][] = [];
  instructions.forEach((instruction, index) => {
    if (instruction.op === 'barrier') open.clear();
    if (instruction.op !== 'load' && instruction.op !== 'store') return;
    if (program.registers[instruction.address].role === 'variable') return;
    if (program.accesses[instruction.access].machine === undefined) return;
    const key = 2 * instruction.address + (instruction.op === 'load' ? 0 : 1);
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
  for (const width of [16, 8, 4, 2]) {
    const bearers = group.filter((each) => widestOf(work, each.instruction) === width && width > each.bytes);
    if (bearers.length === 0) continue;
    for (const { bearer, run, start } of bestRuns(work, group, bearers, width, replaced))
      replaceByOne(work.registers, run, start, width, replaced, bearer.instruction.access);
  }
}

/** Bytes of the widest machine instruction that an access became; 0 for none. */
function widestOf({ program }: MergeWork, { access }: Access): number {
  return Math.max(0, ...(program.accesses[access].machine ?? []).map(({ bytes }) => bytes ?? 0));
}

interface Run {
  readonly bearer: Candidate;
  readonly run: readonly Candidate[];
  readonly start: number;
}

/**
 * What the machine instructions of one width move. Each is aligned to its width, so the windows of all have one remainder:
 * the one that follows from the address, else that under which they take up the most.
 */
function bestRuns(
  work: MergeWork,
  group: readonly Candidate[],
  bearers: readonly Candidate[],
  width: number,
  replaced: ReadonlyMap<number, unknown>,
): readonly Run[] {
  const { modulus, remainder } = work.known;
  const { address } = group[0].instruction;
  const byOffset = new Map(group.map((each) => [each.instruction.offset, each]));
  const step = Math.min(...group.map(({ bytes }) => bytes));
  let best: readonly Run[] = [];
  let most = 0;
  for (let first = 0; first < width; first += step) {
    const start = bearers[0].instruction.offset - first;
    if (modulus[address] >= width && (start + remainder[address]) % width !== 0) continue;
    const runs = runsFrom(work, byOffset, bearers, { start, width }, replaced);
    const covered = runs.reduce((sum, { run }) => run.reduce((bytes, each) => bytes + each.bytes, sum), 0);
    if (covered > most) [best, most] = [runs, covered];
  }
  return best;
}

/** The windows around the bearers that are a multiple of the width away from a start, as far as something is merged in them. */
function runsFrom(
  work: MergeWork,
  byOffset: ReadonlyMap<number, Candidate>,
  bearers: readonly Candidate[],
  { start, width }: { readonly start: number; readonly width: number },
  replaced: ReadonlyMap<number, unknown>,
): Run[] {
  const runs: Run[] = [];
  const taken = new Set<Candidate>();
  for (const bearer of bearers) {
    const { offset, op } = bearer.instruction;
    const at = start + width * Math.floor((offset - start) / width);
    if (taken.has(bearer) || replaced.has(bearer.index) || offset + bearer.bytes > at + width) continue;
    const run = within(byOffset, at, width).filter((each) => !replaced.has(each.index) && !taken.has(each));
    if (run.length < 2 || !run.every((each) => each === bearer || isPartOf(work, each, bearer))) continue;
    const covered = run.reduce((sum, { bytes }) => sum + bytes, 0);
    // A load may read what nobody asked for, a store writes what it is given.
    if (op === 'store' && covered < width) continue;
    for (const each of run) taken.add(each);
    runs.push({ bearer, run, start: at });
  }
  return runs;
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
