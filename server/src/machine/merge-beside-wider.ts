/**
 * An access of 8 or 16 bytes tells the assembler how its address is aligned, and with it what else stands behind the same register: elements of an array
 * in a record with a `double` are read two at once (`struct { float w[3]; double d; }`: LDG.64 of w[0] and w[1]), also next to a `float4` that is
 * read or written through a cast. NVVM has left them apart, since their own type promises no more than their size. Evidence (machine code of 35 kernels,
 * nvcc 13.0, sm_90; H200: a loop over an array of such records):
 *
 * - the wider access is a load or a store, of the same block, before or behind them, or of one that dominates it (a barrier between changes
 *   nothing); an atomic operation tells nothing, nor does what stands behind another register, as that of another pass does;
 * - loads: 8 or 16 bytes, three words of 16 too; of two bytes each 4 and 8, three of 8 too, where a word tells the alignment; never single bytes;
 * - stores: exactly 4, 8 or 16 bytes, never single bytes;
 * - neither across a quotient, a root or a function with a slow path, which ends the block (machine code of 62 kernels: 31 kinds of arithmetic between two
 *   loads or stores; only signed quotients of integers keep them apart as well).
 */
import { controlFlow, dominates } from '../program/control-flow';
import type { Block, Instruction, Program, Register, RegisterInfo } from '../program/program';
import { accessBytes, bearerOf, type MergeWork, mayMove, modulo, within } from './merge-neighbours';
import { hasSlowPath } from './pure';
import { type Access, type Candidate, replaceByOne } from './wide-access';

/** What an access tells of the register behind it. */
interface Told {
  readonly block: number;
  readonly bytes: number;
  readonly offset: number;
}

const widths: readonly number[] = [16, 8, 4];

export function mergeBesideWider(program: Program): Program {
  const told = toldAlignments(program);
  if (told.size === 0) return program;
  const registers: RegisterInfo[] = [...program.registers];
  const work = { program, registers };
  let isOther = false;
  const blocks = program.blocks.map((block, index): Block => {
    const instructions = mergeBlock(work, told, index, block.instructions);
    if (instructions === block.instructions) return block;
    isOther = true;
    return { ...block, instructions };
  });
  return isOther ? { ...program, blocks, registers } : program;
}

/** By register: its accesses outside of shared memory, where some are wider than others. */
function toldAlignments(program: Program): Map<Register, readonly Told[]> {
  const told = new Map<Register, Told[]>();
  program.blocks.forEach(({ instructions }, block) => {
    for (const i of instructions) {
      if (!isCandidate(program, i)) continue;
      const list = told.get(i.address);
      const own = { block, bytes: accessBytes(i), offset: i.offset };
      if (list) list.push(own);
      else told.set(i.address, [own]);
    }
  });
  for (const [register, list] of told) if (list.every(({ bytes }) => bytes === list[0].bytes)) told.delete(register);
  return told;
}

function isCandidate(program: Program, i: Instruction): i is Access {
  if (i.op !== 'load' && i.op !== 'store') return false;
  const { space, isVolatile, isAssembly } = program.accesses[i.access];
  return space === 'global' && !isVolatile && !isAssembly && program.registers[i.address].role !== 'variable';
}

function mergeBlock(
  work: Work,
  told: ReadonlyMap<Register, readonly Told[]>,
  block: number,
  instructions: readonly Instruction[],
): readonly Instruction[] {
  const { program } = work;
  const replaced = new Map<number, readonly Instruction[]>();
  const { dominator } = controlFlow(program);
  for (const group of groupsOf(program, told, instructions)) {
    const { address } = group[0].instruction;
    const base = (told.get(address) ?? [])
      .filter((each) => Number.isInteger(Math.log2(each.bytes)) && dominates(dominator, each.block, block))
      .reduce((best, each) => (each.bytes > best.bytes ? each : best), { block, bytes: 1, offset: 0 });
    mergeGroup(work, instructions, group, base, replaced);
  }
  if (replaced.size === 0) return instructions;
  return instructions.flatMap((instruction, index) => replaced.get(index) ?? [instruction]);
}

type Work = Pick<MergeWork, 'program' | 'registers'>;

/** Accesses behind one register that nothing keeps apart: of one direction, each place once. */
function groupsOf(
  program: Program,
  told: ReadonlyMap<Register, readonly Told[]>,
  instructions: readonly Instruction[],
): Candidate[][] {
  const open = new Map<string, Candidate[]>();
  const groups: Candidate[][] = [];
  instructions.forEach((instruction, index) => {
    if (instruction.op === 'barrier' || hasSlowPath(instruction)) open.clear();
    if (!isCandidate(program, instruction) || !told.has(instruction.address)) return;
    if (instruction.aligned?.isAlone) return;
    const { readOnly } = program.accesses[instruction.access];
    const key = `${instruction.op} ${instruction.address} ${readOnly}`;
    const group = open.get(key);
    const candidate = { index, instruction, bytes: accessBytes(instruction) };
    if (group?.every((each) => each.instruction.offset !== instruction.offset)) group.push(candidate);
    else {
      const next = [candidate];
      open.set(key, next);
      groups.push(next);
    }
  });
  return groups.filter((group) => group.length > 1);
}

function mergeGroup(
  work: Work,
  instructions: readonly Instruction[],
  group: readonly Candidate[],
  base: Told,
  replaced: Map<number, readonly Instruction[]>,
): void {
  const byOffset = new Map(group.map((each) => [each.instruction.offset, each]));
  for (const width of widths) {
    if (width > base.bytes) continue;
    const starts = new Set(group.map(({ instruction: { offset } }) => offset - modulo(offset - base.offset, width)));
    for (const start of [...starts].sort((a, b) => a - b)) {
      const run = within(byOffset, start, width).filter((each) => !replaced.has(each.index));
      if (!isMergeable(run, width) || !mayMove(work, instructions, run, width)) continue;
      replaceByOne(work.registers, run, start, width, replaced, bearerOf(work, instructions, run, width));
    }
  }
}

function isMergeable(run: readonly Candidate[], width: number): boolean {
  if (run.length < 2) return false;
  const covered = run.reduce((sum, { bytes }) => sum + bytes, 0);
  const smallest = Math.min(...run.map(({ bytes }) => bytes));
  if (smallest < 2 || (smallest < 4 && width > 8)) return false;
  if (covered === width) return true;
  return run[0].instruction.op === 'load' && covered === width - smallest && width === 4 * smallest;
}
