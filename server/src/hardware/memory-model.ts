/**
 * From the lane addresses of one warp access to the counters a profiler shows. Pure functions of the capability's
 * table row; the hot path allocates nothing.
 */

import type { AccessBytes, Capability } from './capabilities';
import { type Counter, globalCounter, localCounter } from './global-memory';
import { constantCounter, sharedCounter } from './shared-memory';

export type { AccessBytes } from './capabilities';

/** One machine access, as far as its cost depends on it. */
export interface AccessShape {
  space: 'shared' | 'global' | 'constant' | 'local' | 'texture';
  operation: 'load' | 'store' | 'atomic';
  /** Bytes a lane moves: 1, 2, 4, 8 or 16. Addresses are multiples of it (others fault on the hardware). */
  bytes: AccessBytes;
  /**
   * 'add-constant': the same constant added by every lane and the result unused, which compiles to a population-count
   * increment; 'integer' (the default): any other native form; 'float': a compare-and-swap loop in shared memory.
   */
  atomic?: 'add-constant' | 'integer' | 'float';
  resultUsed?: boolean;
  /** Whether a global load goes through L1; the capability's default when absent. */
  caching?: 'l1' | 'l2';
}

/** Counters of one warp access. Fields that do not apply to the access are 0. */
export interface WarpCounts {
  /** Shared memory: wavefronts. Constant memory: passes. */
  wavefronts: number;
  /** The least wavefronts an access of this width and these active lanes can take. */
  idealWavefronts: number;
  /** Global, local and texture: 32-byte sectors moved (on 1.x and for 2.x lines: bytes moved / 32). */
  sectors: number;
  idealSectors: number;
  /** Memory transactions: segments on 1.x, 128-byte lines of cached 2.x loads, sectors elsewhere. */
  transactions: number;
  /** Active lanes. */
  lanes: number;
}

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

/** Counters all at zero, to be handed to `count` again and again. */
export function emptyCounts(): WarpCounts {
  return { wavefronts: 0, idealWavefronts: 0, sectors: 0, idealSectors: 0, transactions: 0, lanes: 0 };
}

function countLanes(active: Uint8Array, first: number, lanes: number): number {
  let count = 0;
  for (let lane = first; lane < first + lanes; lane++) if (active[lane] !== 0) count++;
  return count;
}

/** The memory model of a capability. It owns scratch tables: keep one and reuse it. */
export function memoryModel(capability: Capability): MemoryModel {
  const counters: Readonly<Record<AccessShape['space'], Counter>> = {
    shared: sharedCounter(capability),
    constant: constantCounter(capability),
    global: globalCounter(capability),
    texture: globalCounter(capability),
    local: localCounter(capability),
  };
  return {
    count(shape, addresses, active, first, lanes, out) {
      out.wavefronts = 0;
      out.idealWavefronts = 0;
      out.sectors = 0;
      out.idealSectors = 0;
      out.transactions = 0;
      out.lanes = countLanes(active, first, lanes);
      if (out.lanes > 0) counters[shape.space](shape, addresses, active, first, lanes, out);
    },
  };
}
