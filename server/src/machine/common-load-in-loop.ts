/**
 * Where a load from global memory is shown that both arms of an `if` in a loop begin with: it has lost its line, and takes that of what the machine code has
 * before it. Where the condition rests on a load of the same pass that is this load, since what is loaded is issued first: `if (col[p] == r) d = v[p];
 * else acc -= v[p];` reads v at the line of col (of two that the condition needs at the one that the text has first, which comes last). Where an arm
 * goes on from that load (`else acc -= v[p] * x[col[p]]`) and neither keeps its branch, the address of x is computed in front of the load, which
 * is then shown at that arm. Evidence (nvcc 13.0, machine code of 31 bodies, float and double, one pass at a time): some 48 of 62 loads, counted by eye, 4 of them at
 * the head of the loop, where all would be otherwise; in loops that are written out most of the copies.
 */
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, LoadInstruction, Program, Register, SourcePlace } from '../program/program';
import type { Rest } from './common-load-lines';
import { isPure } from './pure';

/** Undefined where the condition rests on no load of the pass. */
export function placeInPass(
  program: Program,
  block: number,
  arms: readonly number[],
  rest: Rest,
): SourcePlace | undefined {
  const decisive = decisiveLoads(program, block);
  if (decisive.length === 0) return undefined;
  const further = [rest.first, rest.second].flatMap((loads, k) => {
    const load = loads.find((each) => restsOn(program, [block, arms[k]], each, decisive));
    return load ? [load] : [];
  });
  const [shown] = further.length === 1 && isPredicated(program, arms) ? further : decisive;
  const { charged, place } = program.accesses[shown.access];
  return charged ?? place;
}

/** The loads of a block that its condition is computed of, in order; not what their addresses are loaded by. */
function decisiveLoads({ blocks, accesses }: Program, block: number): LoadInstruction[] {
  const { instructions, terminator } = blocks[block];
  if (terminator.kind !== 'branch') return [];
  return sourcesOf(instructions, [terminator.condition]).filter(({ access }) => {
    const { space } = accesses[access];
    return space === 'global' || space === 'shared' || space === 'generic';
  });
}

/** The loads among instructions that these registers rest on directly. */
function sourcesOf(instructions: readonly Instruction[], registers: readonly Register[]): LoadInstruction[] {
  const needed = new Set(registers);
  const found: LoadInstruction[] = [];
  const reads: Register[] = [];
  for (const i of instructions.toReversed()) {
    if (!writesOf(i).some((r) => needed.has(r))) continue;
    if (i.op === 'load') {
      found.unshift(i);
      continue;
    }
    const count = readsInto(i, reads);
    for (let k = 0; k < count; k++) needed.add(reads[k]);
  }
  return found;
}

/** Whether a load of an arm has its address from one of these. */
function restsOn(
  { blocks }: Program,
  way: readonly number[],
  { address }: LoadInstruction,
  loads: readonly LoadInstruction[],
): boolean {
  const instructions = way.flatMap((block) => blocks[block].instructions);
  return sourcesOf(instructions, [address]).some((source) => loads.includes(source));
}

/** Whether the assembler makes both arms without a branch: short, and no more than loads and what is computed of them. */
function isPredicated({ blocks }: Program, arms: readonly number[]): boolean {
  const targets = arms.map((arm) => {
    const { instructions, terminator } = blocks[arm];
    const isPlain = instructions.every((i) => i.op === 'load' || (isPure(i) && !('branches' in i && i.branches)));
    return isPlain && instructions.length <= LONGEST && terminator.kind === 'jump' ? terminator.target : undefined;
  });
  return targets[0] !== undefined && targets[0] === targets[1];
}

const LONGEST = 16;
