/**
 * Neighbouring accesses of one block become one wider access where their alignment is provable: four loads of s[k] … s[k+3]
 * are one of 16 bytes. Loads move up to the first of them, stores down to the last, so nothing in between may touch the same
 * memory. Evidence: NVVM's load-store vectoriser and ptxas on kernels compiled with nvcc 13.0; shared arrays are merged even
 * when declared with their element's alignment, because the compiler itself lays them out. The merged access bears the line of
 * the last of them (H200: scan_blocks.cu:34 for stores, :57 for loads).
 */
import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type StoreInstruction,
} from '../program/program';
import { alignments } from './alignment';
import { mayTouch } from './reuse-loads';

type Access = LoadInstruction | StoreInstruction;

interface Candidate {
  readonly index: number;
  readonly instruction: Access;
  readonly bytes: number;
}

export function mergeNeighbours(program: Program): Program {
  const aligned = alignments(program);
  return {
    ...program,
    blocks: program.blocks.map((block) => ({
      ...block,
      instructions: mergeBlock(program, block.instructions, aligned),
    })),
  };
}

const countOf = (i: Access): number => (i.op === 'load' ? i.dst.length : i.values.length);

function mergeBlock(
  program: Program,
  instructions: readonly Instruction[],
  aligned: Uint16Array,
): readonly Instruction[] {
  const groups = new Map<string, Candidate[]>();
  instructions.forEach((instruction, index) => {
    if (instruction.op !== 'load' && instruction.op !== 'store') return;
    const site = program.accesses[instruction.access];
    if (site.isVolatile || program.registers[instruction.address].role === 'variable') return;
    const key = `${instruction.op}:${instruction.address}:${instruction.type}:${site.readOnly ?? false}`;
    const candidate = { index, instruction, bytes: bytesOf[instruction.type] * countOf(instruction) };
    const list = groups.get(key);
    if (list) list.push(candidate);
    else groups.set(key, [candidate]);
  });
  const replaced = new Map<number, Instruction | null>();
  for (const group of groups.values())
    if (group.length > 1) mergeGroup(program, instructions, group, aligned, replaced);
  if (replaced.size === 0) return instructions;
  return instructions.flatMap((instruction, index) => {
    const other = replaced.get(index);
    return other === undefined ? [instruction] : other === null ? [] : [other];
  });
}

/** Greedy from each aligned start: 16 bytes, then 8. */
function mergeGroup(
  program: Program,
  instructions: readonly Instruction[],
  group: readonly Candidate[],
  aligned: Uint16Array,
  replaced: Map<number, Instruction | null>,
): void {
  const byOffset = new Map<number, Candidate>();
  for (const c of group) if (!byOffset.has(c.instruction.offset)) byOffset.set(c.instruction.offset, c);
  const base = aligned[group[0].instruction.address];
  const offsets = [...byOffset.keys()].sort((a, b) => a - b);
  for (const start of offsets) {
    for (const width of [16, 8, 4]) {
      const run = runFrom(byOffset, start, width);
      if (!run || Math.min(base, alignmentOfOffset(start)) < width || run.some((c) => replaced.has(c.index))) continue;
      if (!mayMove(program, instructions, run)) continue;
      apply(run, replaced);
      break;
    }
  }
}

const alignmentOfOffset = (offset: number): number => (offset === 0 ? 256 : offset & -offset);

/** Consecutive accesses that fill exactly `width` bytes from `start`. */
function runFrom(byOffset: ReadonlyMap<number, Candidate>, start: number, width: number): Candidate[] | undefined {
  const run: Candidate[] = [];
  for (let at = start; at < start + width; ) {
    const next = byOffset.get(at);
    if (!next || next.bytes > start + width - at) return undefined;
    run.push(next);
    at += next.bytes;
  }
  return run.length > 1 ? run : undefined;
}

/** Nothing between the first and the last of them may touch the same memory. */
function mayMove(program: Program, instructions: readonly Instruction[], run: readonly Candidate[]): boolean {
  const indices = run.map((c) => c.index);
  const members = new Set(indices);
  const isLoad = run[0].instruction.op === 'load';
  const site = program.accesses[run[0].instruction.access];
  if (isLoad && site.readOnly) return true;
  for (let k = Math.min(...indices) + 1; k < Math.max(...indices); k++) {
    if (members.has(k)) continue;
    const other = instructions[k];
    if (other.op === 'barrier') return false;
    if (other.op === 'atomic' && mayTouch(program, site, program.accesses[other.access])) return false;
    if (other.op === 'asyncCopy') return false;
    const writes = other.op === 'store';
    const reads = other.op === 'load' && !isLoad;
    if ((writes || reads) && mayTouch(program, site, program.accesses[other.access]) && !disjoint(other, run))
      return false;
  }
  return true;
}

/** Same base, other bytes. */
function disjoint(other: Access, run: readonly Candidate[]): boolean {
  if (other.address !== run[0].instruction.address) return false;
  const size = bytesOf[other.type] * countOf(other);
  return run.every(
    (c) => other.offset + size <= c.instruction.offset || other.offset >= c.instruction.offset + c.bytes,
  );
}

function apply(run: readonly Candidate[], replaced: Map<number, Instruction | null>): void {
  const first = run.reduce((a, b) => (b.index < a.index ? b : a));
  const last = run.reduce((a, b) => (b.index > a.index ? b : a));
  for (const c of run) replaced.set(c.index, null);
  const start = run[0].instruction;
  if (start.op === 'load') {
    replaced.set(first.index, {
      ...start,
      access: last.instruction.access,
      dst: run.flatMap((c) => (c.instruction.op === 'load' ? c.instruction.dst : [])),
    });
  } else {
    replaced.set(last.index, {
      ...start,
      access: last.instruction.access,
      values: run.flatMap((c) => (c.instruction.op === 'store' ? c.instruction.values : [])),
    });
  }
}
