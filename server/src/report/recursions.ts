/** Functions that call themselves, of which some calls are not followed: what they access is counted as far as it goes. */
import type { Program, SourcePlace } from '../program/program';

/** How the reason of such figures begins. */
export const PART_OF_RECURSION = 'calls of the function within itself are followed some levels only';

/** Whether an access is made in such a function, or in what that calls. */
export function isOfRecursion({ accesses, skipped }: Program, site: number): boolean {
  return skipped.some(({ recursion }) => recursion !== undefined && isInside(accesses[site].place, recursion));
}

function isInside(place: SourcePlace, { first, last }: SourcePlace): boolean {
  for (let at: SourcePlace | undefined = place; at; at = at.call) if (first <= at.first && at.last <= last) return true;
  return false;
}
