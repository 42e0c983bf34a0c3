/**
 * From the lane addresses of one warp access to the counters a profiler shows. Pure functions of the capability's
 * table row; the hot path allocates nothing.
 */

import type { AccessShape, Counter, WarpCounts } from './access';
import type { Capability } from './capabilities';
import { globalCounter, localCounter, textureCounter } from './global-memory';
import { countActive } from './lanes';
import { constantCounter, sharedCounter } from './shared-memory';

export { type AccessShape, emptyCounts, type WarpCounts } from './access';
export type { AccessBytes } from './capabilities';

export interface MemoryModel {
  /**
   * Counts one warp's access into `out`.
   * @param addresses byte addresses (whole numbers up to 2^53) at first … first + lanes - 1; in shared memory from the
   *   start of the block's shared memory, in local memory the offset in the thread's own local memory
   * @param active non-zero where the lane takes part
   * @param lanes at most 32
   */
  count(
    shape: AccessShape,
    addresses: Float64Array,
    active: Uint8Array,
    first: number,
    lanes: number,
    out: WarpCounts,
  ): void;
}

/** The memory model of a capability. It owns scratch tables: keep one and reuse it. */
export function memoryModel(capability: Capability): MemoryModel {
  const shared = sharedCounter(capability);
  const global = globalCounter(capability);
  const others: Readonly<Record<AccessShape['space'], Counter>> = {
    shared,
    global,
    constant: constantCounter(capability),
    texture: textureCounter(capability),
    local: localCounter(capability),
  };
  return {
    count(shape, addresses, active, first, lanes, out) {
      out.wavefronts = 0;
      out.idealWavefronts = 0;
      out.leastWavefronts = 0;
      out.sectors = 0;
      out.idealSectors = 0;
      out.transactions = 0;
      out.lanes = countActive(active, first, first + lanes);
      if (out.lanes === 0) return;
      // The two frequent spaces are called directly: a keyed look-up costs as much as a third of the count.
      if (shape.space === 'shared') shared(shape, addresses, active, first, lanes, out);
      else if (shape.space === 'global') global(shape, addresses, active, first, lanes, out);
      else others[shape.space](shape, addresses, active, first, lanes, out);
    },
  };
}
