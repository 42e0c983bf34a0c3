/**
 * Loads that every pass of a loop begins with, and that what follows the loop begins with as well: `s[t] = min(s[t], …)` behind a barrier, and `out[t] = s[t]`
 * behind the loop. To NVVM these are both arms of the question for another pass, so that there is one load in front of it, which has lost
 * its line; in a loop that is written out it comes right behind the barrier before it, and is shown there. In the last pass ptxas takes the other
 * loads first, which have their line. Evidence (nvcc 13.0, PTX and lines of 19 loops of 4, 8 and 16 passes; H200: relaxation of a tile,
 * sixteen passes): not where the pass begins with another load (`s[t] += s[q]`, `min(s[q], s[t])`), not where the loop is followed by another.
 */
import type { Block, Instruction, LoadInstruction, Program, SourcePlace } from '../program/program';
import { isPure } from './pure';

type Barrier = Extract<Instruction, { readonly op: 'barrier' }>;

/** A load that is the first thing behind a barrier. */
interface Beginning {
  readonly barrier: SourcePlace;
  readonly at: number;
  readonly load: LoadInstruction;
}

export function placeLoadsOfPasses(program: Program): Program {
  const accesses = [...program.accesses];
  const blocks = program.blocks.map((block): Block => {
    const charged = chargedIn(program, block.instructions);
    if (charged.size === 0) return block;
    const instructions = block.instructions.map((i, at): Instruction => {
      const place = charged.get(at);
      if (!place || i.op !== 'load') return i;
      return { ...i, access: accesses.push({ ...accesses[i.access], charged: place }) - 1 };
    });
    return { ...block, instructions };
  });
  return accesses.length === program.accesses.length ? program : { ...program, blocks, accesses };
}

/** By place in the block: where a load is shown. */
function chargedIn(program: Program, instructions: readonly Instruction[]): Map<number, SourcePlace> {
  const charged = new Map<number, SourcePlace>();
  if (instructions.filter(({ op }) => op === 'barrier').length < LEAST_PASSES + 1) return charged;
  const beginnings = beginningsOf(program, instructions);
  for (let start = 0; start < beginnings.length; ) {
    const first = beginnings[start];
    let end = start + 1;
    while (end < beginnings.length && isNextPass(first, beginnings[start + 1], beginnings[end])) end++;
    const passes = beginnings.slice(start, end);
    const behind = beginnings[end];
    if (
      passes.length >= LEAST_PASSES &&
      behind &&
      isSamePlace(passes[1].barrier, behind.barrier) &&
      isSame(first.load, behind.load)
    )
      for (const { at, barrier } of [...passes.slice(0, -1), behind]) charged.set(at, barrier);
    start = end;
  }
  return charged;
}

const LEAST_PASSES = 3;

const isSamePlace = (a: SourcePlace, b: SourcePlace): boolean => a.first === b.first;

const isSame = (a: LoadInstruction, b: LoadInstruction): boolean =>
  a.address === b.address && a.offset === b.offset && a.type === b.type && a.dst.length === b.dst.length;

/** Whether it begins another pass of the loop whose first and second pass are known: the same access, behind the barrier of the loop. */
const isNextPass = (first: Beginning, second: Beginning, next: Beginning): boolean =>
  next.load.access === first.load.access && isSame(first.load, next.load) && isSamePlace(second.barrier, next.barrier);

/** Loads from shared memory behind barriers, in order; one that is not alone behind its barrier ends what could be a loop. */
function beginningsOf({ accesses }: Program, instructions: readonly Instruction[]): Beginning[] {
  const found: Beginning[] = [];
  let barrier: Barrier | undefined;
  instructions.forEach((i, at) => {
    if (i.op === 'barrier') barrier = i;
    else if (barrier && !isPure(i)) {
      const site = i.op === 'load' ? accesses[i.access] : undefined;
      if (i.op === 'load' && barrier.place && site?.space === 'shared' && !site.isVolatile && !site.charged)
        found.push({ barrier: barrier.place, at, load: i });
      barrier = undefined;
    }
  });
  return found;
}
