/** The request of an access that costs most above its ideal, kept to be shown. */
import type { WarpCounts } from '../hardware/memory-model';
import { addressWindows } from '../program/addresses';
import type { AccessPlan } from './access-plan';
import { spaces } from './counters';
import type { Witness } from './execution';
import { WARP } from './mask';

/** Where addresses of a space are told from: shared, local and constant memory from the start of their windows. */
const origins: readonly number[] = spaces.map((space) => (space === 'global' ? 0 : addressWindows[space]));

/**
 * What a request asked for and what it cost, for people to check.
 * @param block the block it is of
 * @param space index into `spaces`
 * @param counts what the request costs
 * @param first lane of the block that the warp begins with
 * @param sources addresses that an asynchronous copy reads, where its cost comes from them
 */
export function witness(
  block: readonly [number, number, number],
  counts: WarpCounts,
  plan: AccessPlan,
  space: number,
  addresses: Float64Array,
  lanes: Uint8Array,
  first: number,
  sources?: Float64Array,
): Witness {
  const inLanes = (from: Float64Array, origin: number) =>
    Array.from({ length: WARP }, (_, i) => (lanes[first + i] !== 0 ? from[first + i] - origin : Number.NaN));
  return {
    block,
    firstThread: first,
    addresses: inLanes(addresses, origins[space]),
    sources: sources && inLanes(sources, 0),
    bytes: plan.bytes,
    wavefronts: counts.wavefronts,
    idealWavefronts: counts.idealWavefronts,
    sectors: counts.sectors,
    idealSectors: counts.idealSectors,
  };
}
