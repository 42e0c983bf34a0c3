/** The counters of a whole grid, told by access and by branch. */
import { ACCESS_FIELDS, type AccessNotes, BRANCH_FIELDS, type CounterLayout, field, spaces } from './counters';
import type { AccessCounts, BranchCounts } from './execution';
import type { Reasons } from './reasons';

/**
 * What each access counts in each space it was made in.
 * @param totals counters of the grid
 * @param notes by access and space; undefined where it was not made
 * @param differs by counter: blocks differ, and not all of them were executed
 */
export function accessCounts(
  totals: Float64Array,
  notes: readonly (AccessNotes | undefined)[],
  differs: Uint8Array,
  reasons: Reasons,
): AccessCounts[] {
  const textOf = (reason: number) => (reason === 0 ? undefined : reasons.text(reason));
  const result: AccessCounts[] = [];
  notes.forEach((each, index) => {
    if (!each) return;
    const { at } = each;
    result.push({
      access: Math.floor(index / spaces.length),
      space: spaces[index % spaces.length],
      bytesPerLane: each.bytesPerLane,
      requests: totals[at + field.requests],
      activeLanes: totals[at + field.activeLanes],
      wavefronts: totals[at + field.wavefronts],
      idealWavefronts: totals[at + field.idealWavefronts],
      sectors: totals[at + field.sectors],
      idealSectors: totals[at + field.idealSectors],
      transactions: totals[at + field.transactions],
      unknownRequests: totals[at + field.unknownRequests],
      unknownReason: textOf(each.unknownReason),
      speculative: textOf(each.speculative),
      isSampled: differs.subarray(at, at + ACCESS_FIELDS).includes(1),
      witness: each.witness,
    });
  });
  return result;
}

/** How often warps came to each branch, and how often they parted there. */
export function branchCounts(totals: Float64Array, layout: CounterLayout, branches: number): BranchCounts[] {
  return Array.from({ length: branches }, (_, branch) => {
    const at = layout.branches + BRANCH_FIELDS * branch;
    return { branch, executed: totals[at], divergent: totals[at + 1], unknown: totals[at + 2] };
  });
}
