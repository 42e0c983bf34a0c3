/** Where the lanes of a witness are within the array they access. */
import { layoutOf } from '../execute/layout';
import { addressWindows } from '../program/addresses';
import type { AccessWitness } from '../report/report';
import type { RuleContext } from './rule';
import { launchAt, type WorstAccess } from './worst-access';

export interface Placed {
  /** byte offset within the array */
  readonly offset: number;
  readonly lane: number;
}

/** Offsets of the active lanes within the accessed shared array; from the start of shared memory where it is not known. */
export function offsetsInArray(context: RuleContext, worst: WorstAccess, witness: AccessWitness): Placed[] {
  const launch = launchAt(context, worst.launchIndex);
  const layout = layoutOf(launch.program, launch.plan.dynamicSharedBytes);
  const index = launch.program.objects.findIndex((o) => o.name === worst.access.object?.name && o.space === 'shared');
  const base = index < 0 ? 0 : (layout.addresses[index] ?? addressWindows.shared) - addressWindows.shared;
  return witness.addresses.flatMap((a, lane) => (a === null ? [] : [{ offset: a - base, lane }]));
}
