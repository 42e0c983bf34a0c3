/**
 * How much stores write once they are merged with their neighbours: members of an aligned record that are stored one behind the other are
 * one store by the time NVVM looks for loads that are not needed. It is asked for where a variable is read that may be smaller (memory-overlap.ts).
 * Evidence: PTX of 9 kernels, nvcc 13.0, sm_90: a `__device__ int` leaves a loop that stores x and y of a float2, of a record aligned so, or of a
 * float4, and not one that stores y and z of a float4, or has a load or a store between the two that may go there.
 */
import type { Program, StoreInstruction } from '../program/program';
import { widthOf } from './memory-overlap';
import { mergeNeighbours } from './merge-neighbours';

/** Bytes of a store at most. */
const WIDEST = 16;

const known = new WeakMap<Program, ReadonlyMap<number, number> | null>();

/** Bytes of a lane that a store writes, together with those that become part of it. */
export function writtenBytes(program: Program, store: StoreInstruction): number {
  let widths = known.get(program);
  if (widths === undefined) known.set(program, (widths = readsSmallVariable(program) ? mergedWidths(program) : null));
  return widths === null ? widthOf(store) : Math.max(widthOf(store), widths.get(store.access) ?? WIDEST);
}

function readsSmallVariable({ accesses, objects }: Program): boolean {
  return accesses.some(({ operation, object }) => {
    const { bytes, isDynamic, space } = objects[object ?? -1] ?? {};
    return operation === 'load' && space === 'global' && !isDynamic && bytes !== undefined && bytes < WIDEST;
  });
}

/** By access: the fewest bytes that one of its stores writes; none where all are part of another then. */
function mergedWidths(program: Program): ReadonlyMap<number, number> {
  const widths = new Map<number, number>();
  for (const { instructions } of mergeNeighbours(program).blocks)
    for (const i of instructions)
      if (i.op === 'store') widths.set(i.access, Math.min(widths.get(i.access) ?? WIDEST, widthOf(i)));
  return widths;
}
