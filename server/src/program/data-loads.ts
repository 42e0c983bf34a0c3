/** Which loads of a kernel its figures rest on. */
import type { Program } from './program';
import { sliceForCounters } from './slice';

const wanting = new WeakMap<Program, readonly number[]>();

/**
 * Accesses that load from global (or constant) memory what addresses, conditions or what follows from them rest on; tables whose contents
 * the source gives are none.
 */
export function dataLoads(program: Program): readonly number[] {
  let loads = wanting.get(program);
  if (!loads) {
    const { needed, kept } = sliceForCounters(program);
    const found = new Set<number>();
    for (const i of kept.flat()) {
      if (i.op !== 'load' || !i.dst.some((r) => needed[r] === 1)) continue;
      const { space, object } = program.accesses[i.access];
      const isTable = object !== undefined && program.objects[object]?.contents !== undefined;
      if ((space === 'global' || space === 'generic' || space === 'constant') && !isTable) found.add(i.access);
    }
    wanting.set(program, (loads = [...found]));
  }
  return loads;
}
