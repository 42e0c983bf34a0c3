/** Which loads of a kernel its figures rest on. */
import { readsOf, writesOf } from './operands';
import type { Instruction, Program, Register } from './program';
import { type Slice, sliceForCounters, sliceWith } from './slice';

const wanting = new WeakMap<Program, readonly number[]>();
const deciding = new WeakMap<Program, readonly number[]>();

/**
 * Accesses that load from global (or constant) memory what addresses, conditions or what follows from them rest on, atomics that give it
 * back among them; tables whose contents the source gives are none.
 */
export function dataLoads(program: Program): readonly number[] {
  let loads = wanting.get(program);
  if (!loads) wanting.set(program, (loads = loadsIn(program, sliceForCounters(program))));
  return loads;
}

/**
 * The same of a program that the passes of `machine` have not seen: a load of which one side of a selection is computed (`b.flag ? b.value :
 * a.value + b.value`) goes to that side there, and what selects decides whether it is executed.
 */
export function decidingLoads(program: Program): readonly number[] {
  let loads = deciding.get(program);
  if (!loads) deciding.set(program, (loads = findDeciding(program)));
  return loads;
}

function findDeciding(program: Program): readonly number[] {
  const choosing = new Set(program.blocks.flatMap(({ instructions }) => choicesOfLoads(instructions)));
  if (choosing.size === 0) return dataLoads(program);
  return loadsIn(
    program,
    sliceWith(program, (i) => (i.op === 'select' && choosing.has(i) ? i.p : undefined)),
  );
}

function loadsIn(program: Program, { needed, kept }: Slice): readonly number[] {
  const found = new Set<number>();
  for (const i of kept.flat()) {
    if (i.op !== 'load' && i.op !== 'atomic') continue;
    if (!writesOf(i).some((r) => needed[r] === 1)) continue;
    const { space, object } = program.accesses[i.access];
    const isTable = object !== undefined && program.objects[object]?.contents !== undefined;
    if ((space === 'global' || space === 'generic' || space === 'constant') && !isTable) found.add(i.access);
  }
  return [...found];
}

/** A side computed of more is no load that moves. */
const MOST_LOADS = 8;

/** Selections of which one side alone is computed of something that the block loads. */
function choicesOfLoads(instructions: readonly Instruction[]): Instruction[] {
  const loadsOf = new Map<Register, ReadonlySet<Instruction>>();
  const lacks = (a: Register, b: Register) => [...(loadsOf.get(b) ?? [])].some((load) => !loadsOf.get(a)?.has(load));
  return instructions.filter((i) => {
    const loads = i.op === 'load' ? [i] : readsOf(i).flatMap((r) => [...(loadsOf.get(r) ?? [])]);
    if (loads.length > 0 && loads.length <= MOST_LOADS) for (const r of writesOf(i)) loadsOf.set(r, new Set(loads));
    return i.op === 'select' && (lacks(i.a, i.b) || lacks(i.b, i.a));
  });
}
