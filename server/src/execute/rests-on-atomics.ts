/** Kernels whose blocks meet in what their atomics change. */

import { mayAlias } from '../program/aliasing';
import { dependencies } from '../program/dependence';
import type { AccessSite, Program } from '../program/program';

const resting = new WeakMap<Program, boolean>();
const nothing = { addressLoads: [], executionLoads: [] };

/** Whether addresses or masks rest on what atomics of the kernel change in global memory, or on what they give back. */
export function restsOnAtomics(program: Program): boolean {
  let known = resting.get(program);
  if (known === undefined) {
    const isGlobal = ({ space }: AccessSite) => space === 'global' || space === 'generic';
    const atomics = program.accesses.filter((site) => site.operation === 'atomic' && isGlobal(site));
    const { addressLoads, executionLoads } = atomics.length > 0 ? dependencies(program) : nothing;
    known = [...addressLoads, ...executionLoads].some((loads) =>
      [...loads].some((access) => {
        const site = program.accesses[access];
        return isGlobal(site) && atomics.some((atomic) => mayAlias(site, atomic));
      }),
    );
    resting.set(program, known);
  }
  return known;
}
